//! Traffic as the studio shows it: sources, steps and fits.

use std::collections::BTreeMap;

use serde::Serialize;
use servescope_settings::diagnostic::{Diagnostic, Severity};
use servescope_settings::notes::Traffic;
use servescope_settings::ordered::Ordered;
use servescope_traces::inspect;
use servescope_traces::loaded_trace::LoadedTrace;
use servescope_workload::Trace;
use servescope_workload::fit::{ArrivalModel, DistributionDistance, Fit, LengthFit, compare};
use servescope_workload::formats::{BadRows, Format, MappingError, ROLES, guess};
use servescope_workload::statistics::Statistics;
use servescope_workload::transform::{
    Absence, Field, JOINS, STEPS, StepEffect, StepError, StepFact, StepKind, TraceExtent,
};

use crate::views::Chart;

/// Windows at which a twin's dispersion is compared, seconds.
const WINDOWS_S: [f64; 3] = [1.0, 10.0, 60.0];

/// A row that could not be read.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct ListedRow {
    /// Line of the file, the header included.
    pub row: u64,
    /// The column, or "" where the row as a whole is bad.
    pub column: String,
    /// What is wrong with it.
    pub error: Diagnostic,
}

/// Rows that could not be read and were left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct RowsLeftOut {
    /// All of them.
    pub total: usize,
    /// The first ones.
    pub listed: Vec<ListedRow>,
}

/// What was read of a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct SourceInfo {
    /// Its name.
    pub name: String,
    /// Its format, or "".
    pub format: &'static str,
    /// Number of requests.
    pub requests: usize,
    /// From the first arrival to the last, seconds.
    pub span_s: f64,
    /// Requests a second over the span.
    pub rate_rps: Option<f64>,
    /// Mean prompt, tokens.
    pub input_tokens_mean: f64,
    /// Mean output, tokens.
    pub output_tokens_mean: f64,
    /// Prompt tokens for each output token (P:D).
    pub pd_ratio: Option<f64>,
    /// What a reader should know.
    pub warnings: Vec<Diagnostic>,
    /// The file's own number for each parameter of the workload that it decides, where it has one.
    pub settings: Ordered<f64>,
    /// What the requests carry.
    pub traffic: Traffic,
    /// Rows that could not be read and were left out.
    pub bad_rows: RowsLeftOut,
    /// Requests whose output length the file does not have.
    pub assumed_outputs: usize,
    /// The length in tokens that each of them was given; 0 = none.
    pub assumed_output_tokens: u32,
}

impl SourceInfo {
    /// Of a trace.
    pub fn of(loaded: &LoadedTrace) -> Self {
        let statistics = Statistics::of(&loaded.trace);
        let pd_ratio = statistics.pd_ratio();
        let settings = inspect::settings(&loaded.trace, &statistics);
        Self {
            name: loaded.name.clone(),
            format: loaded.format.map_or("", Format::name),
            requests: statistics.requests,
            span_s: statistics.span_s,
            rate_rps: statistics.rate_rps,
            input_tokens_mean: statistics.input_tokens.map_or(0.0, |s| s.mean),
            output_tokens_mean: statistics.output_tokens.map_or(0.0, |s| s.mean),
            pd_ratio,
            warnings: loaded.warnings.clone(),
            settings: settings.into_iter().map(|(id, value)| (id.row().id.to_owned(), value)).collect(),
            traffic: Traffic::of(&loaded.trace),
            bad_rows: RowsLeftOut::default(),
            assumed_outputs: 0,
            assumed_output_tokens: 0,
        }
    }

    /// Of a file, with what of it was left out.
    pub fn of_file(loaded: &LoadedTrace, bad: &BadRows) -> Self {
        let listed = bad.listed.iter().map(|row| ListedRow {
            row: row.row,
            column: row.column.clone(),
            error: Diagnostic::of_file(&loaded.name, &row.error),
        });
        let metadata = loaded.trace.metadata.as_ref();
        let assumed = metadata.map_or(&[][..], |metadata| &metadata.assumed_output);
        let first = assumed.iter().position(|is_assumed| *is_assumed);
        Self {
            assumed_outputs: assumed.iter().filter(|is_assumed| **is_assumed).count(),
            assumed_output_tokens: first.map_or(0, |id| loaded.trace.output_tokens[id]),
            bad_rows: RowsLeftOut { total: bad.total, listed: listed.collect() },
            ..Self::of(loaded)
        }
    }
}

/// A column of a table of no known format.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct PeekedColumn {
    /// Its name.
    pub name: String,
    /// Its first values.
    pub values: Vec<String>,
}

/// What a column can be.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct PeekedRole {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub help: &'static str,
    /// Whether a table must have it.
    pub required: bool,
    /// Its units.
    pub units: &'static [&'static str],
    /// The column that it seems to be, or "".
    pub column: String,
    /// The unit of that column, or "".
    pub unit: String,
}

/// The columns of a table of no known format, and what each could be.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct Peeked {
    /// The columns.
    pub columns: Vec<PeekedColumn>,
    /// Every role with a guess.
    pub roles: Vec<PeekedRole>,
}

impl Peeked {
    /// Of columns with their first values.
    pub fn of(columns: &[(String, Vec<String>)]) -> Self {
        let guess = guess(columns);
        let role = |role: &servescope_workload::formats::ColumnRole| {
            let (column, unit) = guess.get(role.name).unwrap_or(("", role.units[0]));
            PeekedRole {
                name: role.name,
                help: role.help,
                required: role.required,
                units: role.units,
                column: column.to_owned(),
                unit: unit.to_owned(),
            }
        };
        let column = |(name, values): &(String, Vec<String>)| PeekedColumn {
            name: name.clone(),
            values: values.clone(),
        };
        Self { columns: columns.iter().map(column).collect(), roles: ROLES.iter().map(role).collect() }
    }
}

/// A trace in four numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct TraceShape {
    /// Number of requests.
    pub requests: usize,
    /// From the first arrival to the last, seconds.
    pub span_s: f64,
    /// Requests a second over the span.
    pub rate_rps: Option<f64>,
    /// Standard deviation over mean of the gaps between arrivals.
    pub gap_cv: Option<f64>,
}

impl TraceShape {
    fn of(&TraceExtent { requests, span_s, rate_rps, gap_cv }: &TraceExtent) -> Self {
        Self { requests, span_s, rate_rps, gap_cv }
    }
}

/// A finding: `code` and `params` fill a message of the page.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "Fact"))]
pub struct FactView {
    /// Key of the page's message.
    pub code: &'static str,
    /// The English text.
    pub message: String,
    /// The numbers of the message.
    pub params: BTreeMap<&'static str, f64>,
}

impl FactView {
    fn of(fact: &StepFact) -> Self {
        Self { code: fact.code, message: fact.to_text(), params: fact.params.iter().copied().collect() }
    }
}

/// What a step did.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct StepNote {
    /// The step.
    pub step: &'static str,
    /// The trace before; of several the first.
    pub before: TraceShape,
    /// The trace after.
    pub after: TraceShape,
    /// What else there is to report.
    pub facts: Vec<FactView>,
}

/// What the steps made of the sources.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct Shaped {
    /// The traffic.
    pub info: SourceInfo,
    /// A note for each step.
    pub notes: Vec<StepNote>,
}

impl Shaped {
    /// Of the traffic that steps made.
    pub fn of(traffic: &LoadedTrace, notes: &[StepEffect]) -> Self {
        let note = |note: &StepEffect| StepNote {
            step: note.step,
            before: TraceShape::of(&note.before),
            after: TraceShape::of(&note.after),
            facts: note.facts.iter().map(FactView::of).collect(),
        };
        Self { info: SourceInfo::of(traffic), notes: notes.iter().map(note).collect() }
    }
}

/// The charts of traffic.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct TrafficCharts {
    /// Of what is looked at, with its twins.
    #[serde(skip_serializing)]
    pub charts: Vec<Chart>,
    /// Of the first source, where steps changed it.
    #[serde(skip_serializing)]
    pub before: Vec<Chart>,
}

/// A field of a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "StepField"))]
pub struct FieldView {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub help: &'static str,
    /// Its unit, or "".
    pub unit: &'static str,
    /// What may stand in it.
    #[cfg_attr(feature = "types", ts(type = "'number' | 'whole' | 'choice' | 'text'"))]
    pub kind: &'static str,
    /// Smallest number.
    pub min: f64,
    /// Largest number.
    pub max: f64,
    /// What it is where nothing is said.
    pub default: String,
    /// Whether it may be empty.
    pub optional: bool,
    /// The options of a choice.
    pub options: &'static [&'static str],
}

impl FieldView {
    fn of(field: &Field) -> Self {
        let default = match field.default {
            Absence::Number(number) => number.to_string(),
            Absence::FirstOption => field.options.first().copied().unwrap_or_default().to_owned(),
            Absence::Text(text) => text.to_owned(),
            Absence::Empty => String::new(),
        };
        Self {
            name: field.name,
            help: field.help,
            unit: field.unit,
            kind: field.kind.name(),
            min: field.min,
            max: field.max,
            default,
            optional: field.default == Absence::Empty,
            options: field.options,
        }
    }
}

/// A step that traffic can take.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "StepKind"))]
pub struct StepKindView {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub help: &'static str,
    /// Its fields.
    pub fields: Vec<FieldView>,
}

/// The table of steps, and of joins of several sources.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct StepKinds {
    /// Steps of one trace.
    pub steps: Vec<StepKindView>,
    /// Joins of several.
    pub joins: Vec<StepKindView>,
}

impl StepKinds {
    /// All that there are.
    pub fn all() -> Self {
        let kind = |kind: &StepKind| StepKindView {
            name: kind.name,
            help: kind.help,
            fields: kind.fields.iter().map(FieldView::of).collect(),
        };
        Self { steps: STEPS.iter().map(kind).collect(), joins: JOINS.iter().map(kind).collect() }
    }
}

/// A [`Diagnostic`] whose code is the studio's own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepRefusal {
    severity: Severity,
    code: String,
    path: String,
    message: String,
    params: BTreeMap<&'static str, f64>,
}

impl StepRefusal {
    /// Of a step: its own code, at the path of its field.
    pub fn of_step(at: &str, error: &StepError) -> Self {
        let field = error.field().map_or_else(String::new, |field| format!(".{field}"));
        Self {
            severity: Severity::Error,
            code: format!("step.{}", error.code()),
            path: format!("{at}{field}"),
            message: error.to_string(),
            params: error.params().into_iter().collect(),
        }
    }

    /// Of a mapping of a file's columns.
    pub fn of_mapping(name: &str, error: &MappingError) -> Self {
        let (code, message) = ("mapping_refused".to_owned(), error.to_string());
        Self { severity: Severity::Error, code, path: name.to_owned(), message, params: BTreeMap::new() }
    }
}

/// [`CallErrors`](super::CallErrors) of the studio's own code.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepRefusals {
    /// The rejection.
    pub errors: [StepRefusal; 1],
}

/// How far a twin is from its source: Kolmogorov distances, and its index of dispersion over the source's.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct FitRow {
    /// The model of arrivals.
    pub model: &'static str,
    /// What it is, in English.
    pub about: &'static str,
    /// Distance of the gaps between arrivals.
    pub gaps: Option<f64>,
    /// Of the prompt lengths.
    pub input: Option<f64>,
    /// Of the output lengths.
    pub output: Option<f64>,
    /// Of the requests by user.
    pub users: Option<f64>,
    /// Indices of dispersion over the source's at 1, 10 and 60 s.
    pub dispersion: [Option<f64>; 3],
}

/// The distribution that fits best.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct BestDistribution {
    /// Its name.
    pub distribution: &'static str,
    /// Kolmogorov's distance.
    pub distance: Option<f64>,
}

/// The distribution of users that fits best.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct BestUsers {
    /// Its name.
    pub distribution: &'static str,
    /// Its parameter.
    pub parameter: Option<f64>,
    /// Divergence of the shares from it, nats.
    pub divergence_nats: Option<f64>,
}

/// The distributions that were fitted.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct FittedDistributions {
    /// Requests a second.
    pub rate_rps: f64,
    /// Coefficient of variation of the gaps.
    pub cv: Option<f64>,
    /// The same within minutes.
    pub cv_within_minutes: Option<f64>,
    /// Shape of the gamma distribution of the gaps.
    pub gamma_shape: Option<f64>,
    /// Shape of the Weibull distribution.
    pub weibull_shape: Option<f64>,
    /// Index of dispersion at 1, 10 and 60 s.
    pub dispersion: [Option<f64>; 3],
    /// Of the prompt lengths.
    pub input: Option<BestDistribution>,
    /// Of the output lengths.
    pub output: Option<BestDistribution>,
    /// Rank correlation of prompt and output length.
    pub length_correlation: Option<f64>,
    /// Of the users.
    pub users: Option<BestUsers>,
}

/// A fit and its twins.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct FitReply {
    /// How far each twin is from its source.
    pub models: Vec<FitRow>,
    /// What is to be said of the fit.
    pub findings: Vec<FactView>,
    /// The distributions.
    pub distributions: FittedDistributions,
}

fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

impl FitReply {
    /// Of a fit to `source` and the twin by each model.
    pub fn of(fitted: &Fit, source: &Trace, twins: &[(ArrivalModel, Trace)]) -> Self {
        let row = |(model, twin): &(ArrivalModel, Trace)| {
            let c = compare(source, twin);
            FitRow {
                model: model.name(),
                about: model.describe(),
                gaps: finite(c.gap_distance),
                input: finite(c.input_distance),
                output: finite(c.output_distance),
                users: finite(c.user_distance),
                dispersion: WINDOWS_S.map(|window_s| c.dispersion_ratio(window_s)),
            }
        };
        let findings = fitted.findings.iter().map(|n| FactView {
            code: n.code,
            message: n.message.clone(),
            params: n.values.iter().copied().collect(),
        });
        Self {
            models: twins.iter().map(row).collect(),
            findings: findings.collect(),
            distributions: FittedDistributions::of(fitted),
        }
    }
}

impl FittedDistributions {
    fn of(fitted: &Fit) -> Self {
        let shape = |fit: Option<DistributionDistance>| fit.map(|l| l.shape);
        let length = |fit: &LengthFit| {
            fit.best().map(|l| BestDistribution { distribution: l.name, distance: finite(l.distance) })
        };
        let users = fitted.users.as_ref().and_then(|users| {
            let best =
                users.distributions.iter().min_by(|a, b| a.divergence_nats.total_cmp(&b.divergence_nats))?;
            Some(BestUsers {
                distribution: best.distribution,
                parameter: best.parameter,
                divergence_nats: finite(best.divergence_nats),
            })
        });
        Self {
            rate_rps: fitted.rate_rps,
            cv: fitted.gaps.cv,
            cv_within_minutes: fitted.cv_within_minutes,
            gamma_shape: shape(fitted.gaps.gamma),
            weibull_shape: shape(fitted.gaps.weibull),
            dispersion: WINDOWS_S.map(|w| fitted.dispersion.at(w)),
            input: length(&fitted.input),
            output: length(&fitted.output),
            length_correlation: fitted.length_correlation,
            users,
        }
    }
}
