// Types of what is made without a struct; those of structs are in `boundary.d.ts`, which is generated. Both are appended to
// wasm-bindgen's declarations, and a test (`tests/browser.rs`) compares keys with what is serialised.

/** A parameter's value: numbers for number and integer, text for choice and text, flags for boolean, numbers for list. */
export type ParameterValue = number | string | boolean | number[];

/** Values by dotted path ("workload.rate_rps"); a path that is absent has its default. */
export type ScenarioPatch = Record<string, ParameterValue>;

export interface SliderRange { min: number; max: number; scale: "linear" | "log"; step: number }

/** One row of the parameter table. */
export interface Parameter {
  id: string;
  /** Short key of the address. */
  key: string;
  group: string;
  type: "number" | "integer" | "choice" | "boolean" | "list" | "text";
  /** "" | "req/s" | "s" | "ms" | "tokens" | … */
  unit: string;
  /** Hard bounds, for number and integer, and for each entry of a list. */
  min?: number;
  max?: number;
  slider?: SliderRange;
  /** Meaningful places on the slider: value and message key ("mark.poisson"). */
  marks: { value: number; message: string }[];
  options: string[];
  /** What the options are called in every language; empty where each language has its own names. */
  names: string[];
  /** In the default scenario; `Resolution.moved` has the default beside other settings. */
  default: ParameterValue;
  /** All must hold for the parameter to have an effect. */
  applies: Condition[];
  /** "score": the run stays as it is, only its judgement changes (the SLO). */
  changes: "run" | "score";
  /** 0 is no value but none: a limit or a bound that is not set. */
  off_at_zero?: true;
}

/** A condition on another parameter: one of these values, none of them, a number above this one, entries that differ, a check in the chain; or one or all of several conditions. */
export type Condition =
  | { parameter: string; in: ParameterValue[] } | { parameter: string; not: ParameterValue[] } | { parameter: string; above: number }
  | { parameter: string; varied: true } | { parameter: string; check: string } | { any: Condition[] } | { all: Condition[] };

export interface Schema {
  version: number;
  groups: string[];
  /** The sections of the controls: the parameters that each begins with, and its groups. */
  sections: { name: string; first: string[]; groups: string[] }[];
  /** Names of reasons why a parameter has no effect that are no conditions. */
  reasons: string[];
  parameters: Parameter[];
  calibrations: { id: string; gpu: string; model: string; source: string }[];
}

/** Files of measurements, or one fitted profile, and what they do not say. */
export interface ProfileFiles { files: { name: string; text: string }[]; gpu: string; model: string; layers: number }

/** A profile that was loaded; degree 0: of all degrees. Without points there was nothing to compare with. */
export interface FittedProfile {
  name: string;
  gpu: string;
  model: string;
  text: string;
  degrees: number[];
  errors: { degree: number; name: string; origin: TimedOrigin; points: number; median: number; p95: number }[];
  notes: Failure[];
}

export type TimedOrigin = "measured" | "reconstructed" | "synthetic" | "modelled";

/** Thrown by every fallible call. */
export interface Failures { failures: Failure[] }

/** How to look at the monitor: `sort` is the name of a column, or "id"; `window` the part of the run that the charts show. */
export interface MonitorOptions {
  client: "user" | "adapter"; sort: string; descending: boolean; rows: number; window: [number, number] | null;
}

/** What each client used. Values stand in the order of the columns; `refused_…` are those of reasons that occurred. */
export interface MonitorView {
  client: "user" | "adapter";
  /** How many clients there are; `rows` has the first of them as they are sorted. */
  clients: number;
  columns: { name: string; kind: "count" | "number" | "seconds" | "share" }[];
  /** -1 is the base model. */
  rows: { id: number; values: (number | null)[] }[];
  /** Who has which colour in the charts; all others are the last series. */
  charted: { role: string; id: number }[];
  jain: number | null;
  largest_gap_per_s: number | null;
  wasted_tokens: number;
  /** Prompt and output tokens of all clients. */
  computed_tokens: number;
  /** Requests whose KV memory over time is interpolated. */
  kv_interpolated: number;
  charts: ChartData[];
}

/** Every configuration with all that it changes of the defaults; `columns` are those of the ranking's CSV; notes name the axes that have no effect. */
export interface CapacityGrid { axes: string[]; columns: string[]; notes: Failure[]; configurations: { values: string[]; scenario: ScenarioPatch }[] }

/** The usual metrics of a run, in their order; null where the summary has none. */
export interface MeasuredRun { values: (number | null)[]; digest: string }

/** A metric of A and B over the seeds: means, the difference B - A with its 95 % interval, and the same relative to A. */
export interface ComparedMetric {
  a: number | null; b: number | null;
  difference: number | null; low: number | null; high: number | null;
  relative: number | null; relative_low: number | null; relative_high: number | null;
  /** Seeds that have the metric in both runs. */
  seeds: number;
  /** Batches of one run in place of seeds. */
  batches: number | null;
  common_random_numbers_factor: number | null;
  /** In English, as the terminal prints them. */
  sentence: string; note: string | null;
}

/** By metric, a key path of the summary. */
export type Comparison = Record<string, ComparedMetric>;

/** A sweep as the terminal's `sweep` takes it: `over` has a text for each parameter, PATH=FROM:TO:N, PATH=FROM:TO:N:log or PATH=VALUE,VALUE. */
export interface SweepSpec { scenario: ScenarioPatch; over: readonly string[]; metrics: readonly string[]; seeds: number }

/** What the runs of a sweep have in common. Run `index` is of point `index / seeds`; the last axis moves fastest. */
export interface SweepPlan {
  /** Digest of everything that its results depend on, but for the simulator itself. */
  sweep: string;
  runs: number; seeds: number;
  over: { path: string; values: ParameterValue[] }[];
  metrics: string[];
  /** The bound that the SLO sets to each metric. */
  bounds: (number | null)[];
  /** What laws of queueing theory say of each metric: null where none speaks of it. */
  expected: (SweepExpected | null)[];
  /** The terminal's command for the same. */
  command: string;
}

/** A value each point in the order of the sweep, null where no law holds, and what breaks the law at the first of these. */
export interface SweepExpected {
  points: ({ law: string; value: number } | null)[];
  obstacles: { path: string; value: ParameterValue; kind: 'is' | 'at_least' | 'above' | 'below'; wanted: ParameterValue[] }[];
}

/** A metric of a point over its seeds: the mean with its 95 % interval. */
export interface SweepCell { mean: number | null; low: number | null; high: number | null; seeds: number }

/** As the terminal's `sweep --json` has it. */
export interface SweepPoint {
  point: Record<string, ParameterValue>; metrics: Record<string, SweepCell>;
  /** By metric, where a law speaks of it. */
  expected?: Record<string, { law: string; value: number }>;
  error?: string;
}

/** What a chart of a sweep shows, and what its roles stand for: values of the other parameters. */
export interface SweepView {
  metric: string; x: string;
  /** Names of the laws that are drawn. */
  laws: string[];
  curves: { role: string; point: Record<string, ParameterValue> }[];
  /** Of a heat map: the parameter upwards, the values of the others, and what its shades mean. */
  y: string | null; fixed: Record<string, ParameterValue>; shades: { role: string; low: number; high: number }[];
}

/** What the runs so far say; `charts` go with `views`. */
export interface SweepResults { points: SweepPoint[]; views: SweepView[]; charts: ChartData[] }

/** A measured run as one module has read it for the other; times of requests in seconds. */
export interface ReadResult { tool: string; requests: object[]; notes: string[] }

/** A quantity in a measured run and in its simulation; times in seconds, errors as shares. */
export interface OverlaidMetric { measured: number | null; simulated: number | null; mape: number | null; bias: number | null; correlation: number | null }

/** A constant that was fitted on one half of the requests, and the errors on both halves. */
export interface OverlayFit {
  constants: Record<string, { before: number; after: number }>;
  runs: number;
  fitted_half: { before: Record<string, OverlaidMetric>; after: Record<string, OverlaidMetric> };
  left_out_half: { before: Record<string, OverlaidMetric>; after: Record<string, OverlaidMetric> };
}

/** A measured run over its simulation: the terminal's `overlay --json`, with the number of requests in their place. */
export interface OverlayTold {
  tool: string; in_flight: number | null; requests: number; unfinished: number;
  notes: string[];
  taken_over: { path: string; value: string; from: string }[];
  /** The settings of the simulation, with the constants as fitted. */
  scenario: ScenarioPatch;
  metrics: Record<string, OverlaidMetric>;
  by_input_length: { from_tokens: number; to_tokens: number; requests: number; ttft_bias: number | null; tpot_bias: number | null; e2e_bias: number | null }[];
  /** The terminal's sentence. */
  likely_cause: string;
  cause: { culprit: string; floor_s: number | null; slope_s_per_token: number | null; drift_s: number | null };
  fit?: OverlayFit;
  charts: ChartData[];
}

/** Times in seconds. */
export interface ComparedRequest { id: number; arrival_s: number; a_ttft_s: number; b_ttft_s: number; difference_s: number }

export interface ComparedRequests {
  paired: number; equal: number;
  unpaired: { a: number; b: number };
  first_token: { sooner_in_b: number; later_in_b: number; same: number; only_in_a: number; only_in_b: number };
  gained_most: ComparedRequest[]; lost_most: ComparedRequest[];
}

/** A decision of gateway or scheduler: whom it is about, what was decided, and which test compared what. */
export interface DecisionTold {
  time_s: number; replica: number | null; request: number | null; verdict: string; test: string;
  need: number | null; have: number | null; for_request: number | null;
  /** In English, as the terminal prints it. */
  sentence: string;
}

/** Two runs with the same seed. */
export interface ComparedPair {
  a: MeasuredRun; b: MeasuredRun;
  requests: ComparedRequests;
  /** Null where every decision is the same. */
  first_different_decision: { time_s: number; a: DecisionTold | null; b: DecisionTold | null } | null;
  /** Of a file: batches of its one run. */
  one_run: Comparison | null;
  charts_a: ChartData[]; charts_b: ChartData[]; charts: ChartData[];
}

/** What was read of a file. */
export interface SourceInfo {
  name: string; format: string; requests: number; span_s: number; rate_rps: number | null;
  input_tokens_mean: number; output_tokens_mean: number;
  /** Prompt tokens for each output token (P:D). */
  pd_ratio: number | null;
  /** The file's own number for each parameter of the workload that it decides, where it has one. */
  settings: { [id: string]: number };
  warnings: Failure[];
  traffic: Traffic;
  /** Rows that could not be read and were left out: all are counted, the first are listed. */
  bad_rows: { total: number; listed: { row: number; column: string; failure: Failure }[] };
  /** Requests whose output length the file does not have, and the length in tokens that each was given; 0 = none. */
  assumed_outputs: number; assumed_output_tokens: number;
}

/** The columns of a table of no known format, and what each role could be: its column and unit are a guess, or "". */
export interface Peeked {
  columns: { name: string; values: string[] }[];
  roles: { name: string; help: string; required: boolean; units: string[]; column: string; unit: string }[];
}

/** A field of a step. */
export interface StepField {
  name: string; help: string; unit: string; kind: "number" | "whole" | "choice" | "text";
  min: number; max: number; default: string;
  /** Whether it may be empty. */
  optional: boolean;
  options: string[];
}

export interface StepKind { name: string; help: string; fields: StepField[] }

/** The table of steps, and of joins of several sources. */
export interface StepKinds { steps: StepKind[]; joins: StepKind[] }

/** A trace in four numbers. */
export interface TraceShape { requests: number; span_s: number; rate_rps: number | null; gap_cv: number | null }

/** Something to tell: `code` and `params` fill a message of the page, `message` is the English text. */
export interface Fact { code: string; message: string; params: Record<string, number> }

/** What a step did. */
export interface StepNote { step: string; before: TraceShape; after: TraceShape; facts: Fact[] }

/** What the steps made of the sources. */
export interface Shaped { info: SourceInfo; notes: StepNote[] }

/** How far a twin is from its source: Kolmogorov distances, and its index of dispersion over the source's at 1, 10 and 60 s. */
export interface FitRow {
  model: string; about: string;
  gaps: number | null; input: number | null; output: number | null; users: number | null;
  dispersion: (number | null)[];
}

export interface FitReply {
  models: FitRow[];
  noticed: Fact[];
  laws: {
    rate_rps: number; cv: number | null; cv_within_minutes: number | null;
    gamma_shape: number | null; weibull_shape: number | null; dispersion: (number | null)[];
    input: { law: string; distance: number | null } | null;
    output: { law: string; distance: number | null } | null;
    length_correlation: number | null;
    users: { law: string; parameter: number | null; divergence_nats: number | null } | null;
  };
}

/** A trace, one entry a request in order of arrival in every column that does not say otherwise. */
export interface TraceColumns {
  arrival_us: Float64Array;
  user: Uint32Array;
  /** 4294967295 is the base model. */
  adapter: Uint32Array;
  input_tokens: Uint32Array; output_tokens: Uint32Array; max_tokens: Uint32Array;
  /** The request whose end is waited for, 4294967295 for none, and the time after it; empty where no request waits. */
  after: Uint32Array; think_us: Float64Array;
  /** One time, from which on nothing that waited is sent; it may be infinite. */
  until_us: Float64Array;
  /** Who belongs to one session (4294967295: none), and what the original system took; each may be empty. */
  session: Uint32Array; took_s: Float64Array;
  /** Rank by adapter. */
  adapter_rank: Uint32Array;
  /** Pairs of microseconds and request. */
  cancellations: Float64Array;
}

/** Where a chart's data lies on its canvas, CSS pixels and data units: hover is arithmetic on this. */
export interface PlotFrame { left: number; top: number; right: number; bottom: number; x_min: number; x_max: number; y_min: number; y_max: number }

/** One request: its lengths, its times in seconds, and what it found when it arrived. */
export interface RequestFacts {
  id: number; user: number; adapter: number; rank: number;
  input_tokens: number; output_tokens: number; max_tokens: number; outcome: string;
  arrival_s: number; scheduled_s: number | null; first_token_s: number | null; finish_s: number | null;
  queue_s: number; adapter_load_s: number; prefill_s: number; stalled_s: number; decode_s: number;
  /** Waiting requests in front of it when it arrived, running ones, and KV tokens in use. */
  ahead: number; running_at_arrival: number; kv_tokens_at_arrival: number;
}

export interface RunOptions {
  /** Columns of the time charts, about one a pixel. */
  columns: number;
  /** Zoom of the time charts in seconds, or null for the whole run. */
  window: [number, number] | null;
  /** Split of `time_split`: "adapter", "user" or "length". */
  split_by: string;
  /** Names of the charts that are looked at just now: they come with the summary, the others when asked for. Null: all. */
  in_sight: string[] | null;
}

/** The headline numbers of a run by key path; null where the run has too few requests for one. */
export type Headline = Record<string, number | null>;

/** A run of a further seed: its headline numbers, and its curves on those axes. */
export interface SeedRun { headline: Headline; curves: { chart: string; role: string; y: number[] }[] }
