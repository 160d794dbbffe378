//! The names that results have in TypeScript.

use wasm_bindgen::prelude::*;

/// Written by `cargo xtask generate` from the structs.
#[wasm_bindgen(typescript_custom_section)]
const BOUNDARY: &str = include_str!("boundary.d.ts");

#[wasm_bindgen(typescript_custom_section)]
const BY_HAND: &str = include_str!("by_hand.d.ts");

#[wasm_bindgen]
extern "C" {
    /// The parameter table.
    #[wasm_bindgen(typescript_type = "Schema")]
    pub type JsSchema;
    /// Values by path.
    #[wasm_bindgen(typescript_type = "ScenarioPatch")]
    pub type JsPatch;
    /// A scenario in full.
    #[wasm_bindgen(typescript_type = "Resolution")]
    pub type JsResolution;
    /// What a trace carries.
    #[wasm_bindgen(typescript_type = "Traffic")]
    pub type JsTraffic;
    /// The metrics of a run.
    #[wasm_bindgen(typescript_type = "MeasuredRun")]
    pub type JsMeasured;
    /// The metrics of several runs.
    #[wasm_bindgen(typescript_type = "readonly MeasuredRun[]")]
    pub type JsMeasuredRuns;
    /// Two runs of one seed.
    #[wasm_bindgen(typescript_type = "ComparedPair")]
    pub type JsComparedPair;
    /// A step of the scheduler debugger.
    #[wasm_bindgen(typescript_type = "DebuggerStep")]
    pub type JsDebuggerStep;
    /// A measured run as the studio has read it.
    #[wasm_bindgen(typescript_type = "ReadResult")]
    pub type JsReadResult;
    /// A measured run over its simulation.
    #[wasm_bindgen(typescript_type = "OverlayReply")]
    pub type JsOverlay;
    /// What is said of each metric.
    #[wasm_bindgen(typescript_type = "Comparison")]
    pub type JsComparison;
    /// A search for where the better of two settings changes.
    #[wasm_bindgen(typescript_type = "CrossoverSpec")]
    pub type JsCrossoverSpec;
    /// What its runs showed so far.
    #[wasm_bindgen(typescript_type = "CrossoverKnown[]")]
    pub type JsCrossoverKnown;
    /// What is to be simulated next, or what was found.
    #[wasm_bindgen(typescript_type = "CrossoverStep")]
    pub type JsCrossoverStep;
    /// What is swept.
    #[wasm_bindgen(typescript_type = "SweepSpec")]
    pub type JsSweepSpec;
    /// What the runs of a sweep have in common.
    #[wasm_bindgen(typescript_type = "SweepPlan")]
    pub type JsSweepPlan;
    /// What the runs of a sweep say.
    #[wasm_bindgen(typescript_type = "SweepResults")]
    pub type JsSweepResults;
    /// A parsed address.
    #[wasm_bindgen(typescript_type = "ParsedLink")]
    pub type JsLink;
    /// What is thrown.
    #[wasm_bindgen(typescript_type = "CallErrors")]
    pub type JsCallErrors;
    /// Colours by role.
    #[wasm_bindgen(typescript_type = "Record<string, string>")]
    pub type JsPalette;
    /// What was read of a file.
    #[wasm_bindgen(typescript_type = "SourceInfo")]
    pub type JsSourceInfo;
    /// A file, and names of what it does not hold.
    #[wasm_bindgen(typescript_type = "{ bytes: Uint8Array<ArrayBuffer>; lost: string[] }")]
    pub type JsExport;
    /// The columns of a table.
    #[wasm_bindgen(typescript_type = "Peeked")]
    pub type JsPeeked;
    /// What steps made of a source.
    #[wasm_bindgen(typescript_type = "Shaped")]
    pub type JsShaped;
    /// The table of steps.
    #[wasm_bindgen(typescript_type = "StepKinds")]
    pub type JsStepKinds;
    /// Distances of twins.
    #[wasm_bindgen(typescript_type = "FitReply")]
    pub type JsFitReply;
    /// The charts of traffic.
    #[wasm_bindgen(typescript_type = "TrafficCharts")]
    pub type JsStudioCharts;
    /// A trace as columns.
    #[wasm_bindgen(typescript_type = "TraceColumns")]
    pub type JsTraceColumns;
    /// How to look at a run.
    #[wasm_bindgen(typescript_type = "RunOptions")]
    pub type JsRunOptions;
    /// The headline numbers of several runs.
    #[wasm_bindgen(typescript_type = "(Headline | null)[]")]
    pub type JsHeadlines;
    /// The axes of bands, or none.
    #[wasm_bindgen(typescript_type = "SeedSpans | null")]
    pub type JsSeedSpans;
    /// A run of a further seed.
    #[wasm_bindgen(typescript_type = "SeedRun")]
    pub type JsSeedRun;
    /// The curves of several runs.
    #[wasm_bindgen(typescript_type = "SeedRun['curves'][]")]
    pub type JsSeedCurves;
    /// Ranges over seeds.
    #[wasm_bindgen(typescript_type = "Record<string, SeedRange>")]
    pub type JsSeedRanges;
    /// Where the time of all requests went.
    #[wasm_bindgen(typescript_type = "Why")]
    pub type JsWhy;
    /// Where the time of one request went.
    #[wasm_bindgen(typescript_type = "RequestWhy")]
    pub type JsRequestWhy;
    /// Requests that were delayed.
    #[wasm_bindgen(typescript_type = "Delayed[]")]
    pub type JsDelayed;
    /// Summary and charts.
    #[wasm_bindgen(typescript_type = "RunReply")]
    pub type JsRun;
    /// What a capacity search found, and its chart.
    #[wasm_bindgen(typescript_type = "CapacityReply")]
    pub type JsCapacity;
    /// The load of the replicas.
    #[wasm_bindgen(typescript_type = "ReplicaLoad")]
    pub type JsLoad;
    /// What makes requests wait.
    #[wasm_bindgen(typescript_type = "WaitCause[]")]
    pub type JsCauses;
    /// What is wrong, or should be known.
    #[wasm_bindgen(typescript_type = "Diagnostic[]")]
    pub type JsDiagnostics;
    /// What simulated replicas showed at the load.
    #[wasm_bindgen(typescript_type = "CapacityChecked")]
    pub type JsChecked;
    /// Published points beside simulated curves.
    #[wasm_bindgen(typescript_type = "FiguresReply")]
    pub type JsFigures;
    /// How far predictions are off.
    #[wasm_bindgen(typescript_type = "RelativeErrors | null")]
    pub type JsMaybeErrors;
    /// The configurations of a grid.
    #[wasm_bindgen(typescript_type = "CapacityGrid")]
    pub type JsGrid;
    /// What the order of configurations depends on.
    #[wasm_bindgen(typescript_type = "CapacityEntry[]")]
    pub type JsEntries;
    /// The order of configurations, and the charts of their cost.
    #[wasm_bindgen(typescript_type = "StandingsReply")]
    pub type JsStandings;
    /// Charts.
    #[wasm_bindgen(typescript_type = "ChartData[]")]
    pub type JsCharts;
    /// Hardware, memory and the origin of times.
    #[wasm_bindgen(typescript_type = "DeploymentView")]
    pub type JsDeployment;
    /// A fleet's own part of the summary.
    #[wasm_bindgen(typescript_type = "FleetSummary")]
    pub type JsFleet;
    /// The service at one time.
    #[wasm_bindgen(typescript_type = "Moment")]
    pub type JsMoment;
    /// How to look at the monitor.
    #[wasm_bindgen(typescript_type = "MonitorOptions")]
    pub type JsMonitorOptions;
    /// What each client used.
    #[wasm_bindgen(typescript_type = "MonitorView")]
    pub type JsMonitor;
    /// Files of measurements, and what they do not say.
    #[wasm_bindgen(typescript_type = "ProfileFiles")]
    pub type JsProfileFiles;
    /// A profile that was loaded.
    #[wasm_bindgen(typescript_type = "FittedProfile")]
    pub type JsFittedProfile;
    /// A scenario that draws its lengths from a file.
    #[wasm_bindgen(typescript_type = "LengthsFile")]
    pub type JsLengthsFile;
    /// What a file is.
    #[wasm_bindgen(typescript_type = "RecognisedFile")]
    pub type JsRecognisedFile;
    /// A scenario with the model of a config.json.
    #[wasm_bindgen(typescript_type = "OwnModel")]
    pub type JsOwnModel;
    /// Why a request waited.
    #[wasm_bindgen(typescript_type = "RequestFacts")]
    pub type JsRequestFacts;
    /// Where the data of a chart lies.
    #[wasm_bindgen(typescript_type = "PlotFrame")]
    pub type JsPlotFrame;
    /// A chart, or none.
    #[wasm_bindgen(typescript_type = "ChartData | null")]
    pub type JsMaybeChart;

    /// A chart.
    #[wasm_bindgen(typescript_type = "ChartData")]
    pub type JsChart;
    /// Its axis along.
    #[wasm_bindgen(method, getter)]
    pub fn x(this: &JsChart) -> JsAxis;
    /// Its axis upwards.
    #[wasm_bindgen(method, getter)]
    pub fn y(this: &JsChart) -> JsAxis;
    /// What it shows.
    #[wasm_bindgen(method, getter)]
    pub fn series(this: &JsChart) -> js_sys::Array;
    /// Names of the places of an axis of categories.
    #[wasm_bindgen(method, getter)]
    pub fn categories(this: &JsChart) -> js_sys::Array;

    /// An axis.
    #[wasm_bindgen(typescript_type = "Axis")]
    pub type JsAxis;
    /// Linear or logarithmic.
    #[wasm_bindgen(method, getter)]
    pub fn scale(this: &JsAxis) -> String;
    /// Numbers, times or categories.
    #[wasm_bindgen(method, getter)]
    pub fn kind(this: &JsAxis) -> String;
    /// Its lower end.
    #[wasm_bindgen(method, getter)]
    pub fn min(this: &JsAxis) -> f64;
    /// Its upper end.
    #[wasm_bindgen(method, getter)]
    pub fn max(this: &JsAxis) -> f64;

    /// A series.
    #[wasm_bindgen(typescript_type = "Series")]
    pub type JsSeries;
    /// What it stands for.
    #[wasm_bindgen(method, getter)]
    pub fn role(this: &JsSeries) -> String;
    /// How it is drawn.
    #[wasm_bindgen(method, getter)]
    pub fn mark(this: &JsSeries) -> String;
    /// Places along.
    #[wasm_bindgen(method, getter)]
    pub fn x(this: &JsSeries) -> js_sys::Float64Array;
    /// Values.
    #[wasm_bindgen(method, getter)]
    pub fn y(this: &JsSeries) -> js_sys::Float64Array;
    /// Lower ends, where a mark has two.
    #[wasm_bindgen(method, getter)]
    pub fn y0(this: &JsSeries) -> js_sys::Float64Array;
    /// Right ends, where a mark has two.
    #[wasm_bindgen(method, getter)]
    pub fn x2(this: &JsSeries) -> js_sys::Float64Array;
    /// What stands at its line, or "".
    #[wasm_bindgen(method, getter)]
    pub fn label(this: &JsSeries) -> String;
}
