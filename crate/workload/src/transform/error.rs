//! Why a step was rejected.

/// Why a step was rejected: the step, its field, the bound and the value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StepError {
    /// There is no such step.
    #[error("there is no step {name:?}; known are {known}")]
    UnknownStep {
        /// The name.
        name: String,
        /// Every step.
        known: String,
    },
    /// The step has no such field.
    #[error("{step} has no field {field:?}; it has {known}")]
    UnknownField {
        /// The step.
        step: &'static str,
        /// The field's name.
        field: String,
        /// Every field of the step.
        known: String,
    },
    /// A field is said twice.
    #[error("{step}.{field} is said twice")]
    Twice {
        /// The step.
        step: &'static str,
        /// The field.
        field: &'static str,
    },
    /// A part of the text is not FIELD=VALUE.
    #[error("{step}: FIELD=VALUE expected, got {text:?}")]
    NoAssignment {
        /// The step.
        step: &'static str,
        /// The part.
        text: String,
    },
    /// A value is not what the field holds.
    #[error("{step}.{field}: {expected} expected, got {value:?}")]
    BadValue {
        /// The step.
        step: &'static str,
        /// The field.
        field: &'static str,
        /// What was expected.
        expected: String,
        /// The value.
        value: String,
    },
    /// A number is outside its bounds.
    #[error("{step}.{field}: {value} is not between {min} and {max}")]
    OutOfRange {
        /// The step.
        step: &'static str,
        /// The field.
        field: &'static str,
        /// The value.
        value: f64,
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
    },
    /// The step takes several traces.
    #[error("{step} takes several traces and cannot stand in a pipeline")]
    NeedsSeveral {
        /// The step.
        step: &'static str,
    },
    /// The step takes one trace.
    #[error("{step} takes one trace and cannot put several together")]
    TakesOne {
        /// The step.
        step: &'static str,
    },
    /// No request is left.
    #[error("{step} leaves no request")]
    NothingLeft {
        /// The step.
        step: &'static str,
    },
    /// The trace has no sessions.
    #[error("{step}: no request of the trace belongs to a session")]
    NoSessions {
        /// The step.
        step: &'static str,
    },
    /// All requests arrive at once, so that the trace has no rate.
    #[error("{step}: all requests arrive at one time, which is no rate that could be changed")]
    NoRate {
        /// The step.
        step: &'static str,
    },
    /// Thinning cannot raise a rate.
    #[error(
        "{step}.rate_rps: {target} is above the trace's own {rate}, which thinning cannot give; stretch or copy"
    )]
    AboveRate {
        /// The step.
        step: &'static str,
        /// The rate that was asked for, requests a second.
        target: f64,
        /// The trace's rate, requests a second.
        rate: f64,
    },
    /// No interval between time stamps could be found.
    #[error("{step}: the times show no stamp interval; give interval_s")]
    NoStamps {
        /// The step.
        step: &'static str,
    },
    /// A request would arrive before time 0.
    #[error("{step}: the first request would arrive at {first_s} s, before time 0")]
    BeforeStart {
        /// The step.
        step: &'static str,
        /// Its time, seconds.
        first_s: f64,
    },
    /// The last request would arrive later than a file may say.
    #[error("{step}: the last request would arrive at {last_s} s, and {max} s is the latest")]
    TooLate {
        /// The step.
        step: &'static str,
        /// Its time, seconds.
        last_s: f64,
        /// Latest time, seconds.
        max: f64,
    },
    /// There would be more requests than a trace may have.
    #[error("{step} makes {count} requests, at most {max} can be held")]
    TooManyRequests {
        /// The step.
        step: &'static str,
        /// How many.
        count: usize,
        /// Most requests.
        max: usize,
    },
    /// There would be more prefix blocks than fit into memory.
    #[error("{step} makes {count} prefix blocks, at most {max} can be held")]
    TooManyBlocks {
        /// The step.
        step: &'static str,
        /// How many.
        count: f64,
        /// Most.
        max: f64,
    },
    /// There would be more users or adapters than a trace may have.
    #[error("{step} makes {count} users or adapters, at most {max} can be held; say identity=shared")]
    TooManyNames {
        /// The step.
        step: &'static str,
        /// How many.
        count: u32,
        /// Most.
        max: u32,
    },
    /// Two traces give one adapter two ranks.
    #[error(
        "{step}: adapter {adapter} has rank {rank} here and {former} in a trace before; say identity=separate"
    )]
    RankConflict {
        /// The step.
        step: &'static str,
        /// Index of the adapter.
        adapter: usize,
        /// Its rank in the later trace.
        rank: u32,
        /// Its rank in the trace before.
        former: u32,
    },
}
