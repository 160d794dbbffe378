//! Errors, warnings and notes as data: a severity, a code and parameters that a page turns into words of its language, and the
//! English text.

use std::collections::BTreeMap;

use serde::Serialize;
use servescope_workload::formats::{FormatError, Warning};
use servescope_workload::transform::StepError;

/// A parameter of a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "MessageParameter"))]
#[serde(untagged)]
pub enum Param {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

/// How much a [`Diagnostic`] matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// There is no result.
    Error,
    /// There is a result, and it may mislead.
    Warning,
    /// There is a result; this says how it was made, or what it leaves out.
    Note,
}

impl Severity {
    /// Its name, as in a terminal.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// What is wrong with an input, or what a reader of a result should know. A function that returns it as its error gives
/// [`Severity::Error`].
#[derive(Debug, Clone, PartialEq, Serialize, thiserror::Error)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
#[error("{message}")]
pub struct Diagnostic {
    /// How much it matters.
    pub severity: Severity,
    /// One of [`CODES`].
    pub code: &'static str,
    /// The parameter's path, or the file's name, or "".
    pub path: String,
    /// In English, with the place, the bound and the value.
    pub message: String,
    /// What the page fills its own message with.
    pub params: BTreeMap<&'static str, Param>,
}

/// Every code of a [`Diagnostic`].
pub const CODES: &[&str] = &[
    "unknown_parameter",
    "not_a_number",
    "not_an_amount",
    "not_whole",
    "not_a_flag",
    "not_a_list",
    "not_a_text",
    "unknown_option",
    "out_of_range",
    "empty_list",
    "bounds_crossed",
    "bad_curve",
    "bad_sampling",
    "aliased_curve",
    "bad_lengths",
    "too_many_blocks",
    "too_many_requests",
    "no_requests",
    "no_sessions",
    "no_arrivals",
    "bodies_too_large",
    "batch_below_request",
    "host_cache_groups",
    "positions_rise",
    "draft_ranges",
    "budget_below_drafts",
    "budget_below_running",
    "lockstep_in_stages",
    "experts_not_even",
    "lockstep_with_host_cache",
    "disaggregation_beside",
    "streaming_beside",
    "disaggregation_groups",
    "disaggregation_differs",
    "prefill_replicas_cut",
    "chunk_not_in_pages",
    "unified_not_sglang",
    "unified_not_trtllm",
    "bad_json",
    "bad_overlay",
    "not_an_object",
    "not_a_scenario",
    "other_kind",
    "repeated_key",
    "bad_link",
    "bad_columns",
    "bad_gzip",
    "unpacks_too_large",
    "file_too_large",
    "needs_table",
    "other_table",
    "unknown_check",
    "blocking_behind_proxy",
    "order_needs_slora",
    "policy_without_priority",
    "order_not_sglang",
    "order_not_trtllm",
    "not_vllm",
    "not_sglang",
    "not_trtllm",
    "most_failures",
    "stuck_at_gateway",
    "no_rate",
    "bad_axis",
    "bad_pool",
    "bad_schedule",
    "pool_setting_without_effect",
    "bad_sweep",
    "unknown_metric",
    "no_user_index",
    "no_adapter_index",
    "no_such_user",
    "no_such_adapter",
    "does_not_fit",
    "adapters_do_not_fit",
    "adapters_over_pool",
    "kv_does_not_fit",
    "longest_does_not_fit",
    "one_stage",
    "more_stages_than_layers",
    "heads_not_shared",
    "kv_heads_not_shared",
    "config_too_long",
    "config_no_object",
    "config_missing",
    "config_not_a_number",
    "config_not_a_flag",
    "config_not_a_list",
    "config_out_of_range",
    "config_kinds",
    "config_known",
    "config_encoder",
    "config_other_layers",
    "config_type",
    "config_assumed",
    "config_weights",
    "config_ignored",
    "config_adapter_dora",
    "config_adapter_modules",
    "config_adapter_slots",
    "config_cost",
    "vidur_dense_only",
    "no_profile",
    "no_host_profile",
    "no_network",
    "bad_curve_file",
    "no_kernels",
    "no_kernels_of_format",
    "no_kernels_of_model",
    "bad_row",
    "bad_profile",
    "unused_attention",
    "unused_host",
    "degrees_left_out",
    "empty_file",
    "no_rows",
    "no_lengths",
    "no_times",
    "not_text",
    "unknown_format",
    "cell_count",
    "bad_cell",
    "cell_out_of_range",
    "wrong_unit",
    "rank_conflict",
    "too_many_rows",
    "no_column",
    "bad_step",
    "cancelled",
    "reordered",
    "failed_rows",
    "output_assumed_given",
    "output_assumed_median",
    "output_assumed_default",
    "empty_entries",
    "bad_rows",
    "stamped_times",
    "zero_gaps",
    "outputs_named",
    "turns_without_blocks",
    "odd_blocks",
    "block_size",
    "no_trace",
    "no_steps",
    "no_step_of_request",
    "no_step_of_kind",
    "no_more_steps",
    "share_list_short",
    "all_refused",
    "some_refused",
    "limits_too_low",
    "outputs_cut",
    "overloaded",
    "backlog_at_gateway",
    "backlog_burst",
    "backlog_short",
    "backlog_short_trace",
    "stuck",
    "loop_ran_out",
    "budget_below_prompt",
    "no_effect",
    "no_effect_file",
    "no_effect_needs_file",
    "no_effect_capacity",
    "no_effect_bodies",
    "no_effect_service",
    "no_effect_no_draw",
    "no_effect_no_choice",
    "no_effect_no_preemption",
    "no_effect_same_run",
    "no_effect_same_requests",
    "short_run",
    "short_trace",
    "changing_traffic",
    "capacity_of_cut_outputs",
    "other_rate",
    "axis_without_effect",
    "modelled_times",
    "no_effect_tables",
    "file_missing",
];

/// Every reason that a sentence of a [`Diagnostic`] gives for itself, as `reason_code`, with the parameters of its message. The English
/// sentence is the parameter `reason`; a page has it in other languages by this code.
pub const REASONS: &[(&str, &[&str])] = &[
    ("range_form", &[]),
    ("sweep_form", &[]),
    ("range_no_number", &[]),
    ("range_downwards", &["from", "to"]),
    ("range_log_from", &["from"]),
    ("range_count", &["count", "max"]),
    ("values_too_many", &["max"]),
    ("values_count", &["count", "max"]),
    ("value_twice", &["value"]),
    ("no_parameter", &[]),
    ("no_list", &[]),
    ("sweep_of_seed", &[]),
    ("sweep_of_capacity", &[]),
    ("sweep_axes", &["count", "max"]),
    ("sweep_no_metric", &[]),
    ("sweep_axis_twice", &[]),
    ("sweep_runs", &["runs", "max"]),
    ("curve_out_of_range", &["value", "min", "max"]),
    ("curve_negative", &["amplitude", "mean"]),
    ("curve_no_points", &[]),
    ("curve_order", &["place", "time", "former"]),
    ("curve_arrivals", &["max"]),
    ("curve_pairs", &["count"]),
    ("curve_samples", &[]),
    ("bins_count", &["count"]),
    ("bin_edge", &["value"]),
    ("bin_order", &["lower", "upper"]),
    ("bin_weight", &["value"]),
    ("bin_no_weight", &[]),
    ("pairs_count", &["count"]),
    ("stop_empty", &[]),
    ("stop_pinned", &["count"]),
    ("sampling_unknown", &["system"]),
    ("profile_no_mlp", &[]),
    ("profile_alone", &[]),
    ("profile_twice", &["other"]),
    ("profile_bounds", &["key", "value", "max"]),
    ("fit_count", &["count", "max"]),
    ("fit_unknown", &["constant"]),
    ("fit_no_number", &["constant"]),
    ("fit_twice", &["constant"]),
    ("fit_no_effect", &["constant"]),
    ("fit_no_times", &[]),
    ("overlay_no_pairs", &[]),
    ("overlay_not_text", &["file"]),
    ("pool_form", &["value"]),
    ("pool_fleet_setting", &["name"]),
    ("pool_set_twice", &["name"]),
    ("pool_name_twice", &["name"]),
];

/// Why something was rejected: the code of [`REASONS`] and its parameters. The sentence is the caller's.
#[derive(Debug, Clone, PartialEq)]
pub struct Reason {
    code: &'static str,
    params: Vec<(&'static str, Param)>,
}

impl Reason {
    /// One of [`REASONS`].
    pub fn new(code: &'static str) -> Self {
        Self { code, params: Vec::new() }
    }

    /// With a number for its sentence.
    pub fn number(mut self, name: &'static str, value: f64) -> Self {
        self.params.push((name, Param::Number(value)));
        self
    }

    /// With a text for its sentence.
    pub fn text(mut self, name: &'static str, value: &str) -> Self {
        self.params.push((name, Param::Text(value.to_owned())));
        self
    }
}

impl Diagnostic {
    fn new(severity: Severity, code: &'static str, path: &str, message: String) -> Self {
        debug_assert!(CODES.contains(&code), "{code}");
        Self { severity, code, path: path.to_owned(), message, params: BTreeMap::new() }
    }

    /// An error at `path`.
    pub fn error(code: &'static str, path: &str, message: String) -> Self {
        Self::new(Severity::Error, code, path, message)
    }

    /// A warning at `path`.
    pub fn warning(code: &'static str, path: &str, message: String) -> Self {
        Self::new(Severity::Warning, code, path, message)
    }

    /// A note at `path`.
    pub fn note(code: &'static str, path: &str, message: String) -> Self {
        Self::new(Severity::Note, code, path, message)
    }

    /// The same where nothing is left to go on with.
    pub fn into_error(self) -> Self {
        Self { severity: Severity::Error, ..self }
    }

    /// With a number for the message.
    pub fn number(mut self, name: &'static str, value: f64) -> Self {
        self.params.insert(name, Param::Number(value));
        self
    }

    /// With a text for the message.
    pub fn text(mut self, name: &'static str, value: &str) -> Self {
        self.params.insert(name, Param::Text(value.to_owned()));
        self
    }

    /// With why, for a sentence in another language.
    pub fn because(mut self, reason: Reason) -> Self {
        debug_assert!(
            REASONS.iter().any(|(code, names)| {
                *code == reason.code && reason.params.iter().map(|(name, _)| name).eq(names.iter())
            }),
            "{reason:?}"
        );
        self.params.insert("reason_code", Param::Text(reason.code.to_owned()));
        self.params.extend(reason.params);
        self
    }

    /// A value outside its bounds.
    pub fn out_of_range(path: &str, value: f64, min: f64, max: f64) -> Self {
        Self::error("out_of_range", path, format!("{path}: {value} is not between {min} and {max}"))
            .number("value", value)
            .number("min", min)
            .number("max", max)
    }

    /// A step that was rejected. The page has words for the kinds of error of every parameter; what is special to a step
    /// comes in English.
    pub fn of_step(error: &StepError) -> Self {
        let message = error.to_string();
        match error {
            StepError::OutOfRange { step, field, value, min, max } => {
                Self::out_of_range(&format!("{step}.{field}"), *value, *min, *max)
            }
            _ => Self::error("bad_step", "", message.clone()).text("reason", &message),
        }
    }

    /// What should be known about a trace file.
    pub fn of_warning(name: &str, warning: &Warning) -> Self {
        let message = format!("{name}: {}", warning.to_text());
        let severity = if warning.is_note() { Severity::Note } else { Severity::Warning };
        let diagnostic = Self::new(severity, warning.code, name, message).text("file", name);
        warning.params.iter().fold(diagnostic, |diagnostic, &(param, value)| diagnostic.number(param, value))
    }

    /// A trace file that was rejected.
    pub fn of_file(name: &str, error: &FormatError) -> Self {
        let diagnostic = Self::error(error.code(), name, format!("{name}: {error}")).text("file", name);
        match error {
            FormatError::Packed { bytes } => diagnostic.number("bytes", *bytes as f64),
            FormatError::EmptyFile | FormatError::NoRows | FormatError::Cancelled => diagnostic,
            FormatError::NoColumn { column, known } => diagnostic.text("column", column).text("known", known),
            FormatError::NoTimes { format } => diagnostic.text("format", format),
            FormatError::NotText { row, byte } => {
                diagnostic.number("row", *row as f64).number("byte", *byte as f64)
            }
            FormatError::UnknownFormat { found, known } => {
                diagnostic.text("found", found).text("known", known)
            }
            FormatError::CellCount { row, found, expected } => diagnostic
                .number("row", *row as f64)
                .number("found", *found as f64)
                .number("expected", *expected as f64),
            FormatError::BadCell { row, column, expected, value } => diagnostic
                .number("row", *row as f64)
                .text("column", column)
                .text("expected", expected)
                .text("value", value),
            FormatError::OutOfRange { row, column, value, min, max } => diagnostic
                .number("row", *row as f64)
                .text("column", column)
                .text("value", value)
                .number("min", *min)
                .number("max", *max),
            FormatError::WrongUnit { row, column, value, min, max, unit, likely } => diagnostic
                .number("row", *row as f64)
                .text("column", column)
                .text("value", value)
                .number("min", *min)
                .number("max", *max)
                .text("unit", unit)
                .text("likely", likely),
            FormatError::UnpacksTooLarge { max_bytes } => {
                diagnostic.number("max_mib", (max_bytes >> 20) as f64).number("max", *max_bytes as f64)
            }
            FormatError::RankConflict { row, adapter, rank, former } => diagnostic
                .number("row", *row as f64)
                .number("adapter", f64::from(*adapter))
                .number("rank", f64::from(*rank))
                .number("former", f64::from(*former)),
            FormatError::TooManyRows { row, max } => {
                diagnostic.number("row", *row as f64).number("max", *max as f64)
            }
        }
    }
}

/// Most characters of a foreign text in a message.
const MOST_SHOWN: usize = 60;

/// A text of a foreign file as messages have it: its beginning, where it is long.
pub(crate) fn shown(text: &str) -> String {
    let mut characters = text.chars();
    let beginning: String = characters.by_ref().take(MOST_SHOWN).collect();
    if characters.next().is_some() { beginning + "…" } else { beginning }
}
