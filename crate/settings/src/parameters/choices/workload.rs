//! Choices of the workload.

use super::{Choice, ChoiceId};
use crate::parameters::Id;

choices! {
    /// Where the lengths of a request come from.
    LengthSource (ID = LengthSource) {
        /// A distribution of inputs and one of outputs.
        Distributions = "distributions",
        /// A list of pairs of both.
        Pairs = "pairs",
    }

    /// The distribution of input or output lengths.
    LengthKind (INPUT = InputKind, OUTPUT = OutputKind) {
        /// Uniform between bounds.
        Uniform = "uniform",
        /// One length.
        Fixed = "fixed",
        /// Geometric from 1 token on.
        Geometric = "geometric",
        /// Pareto between bounds.
        BoundedPareto = "bounded_pareto",
        /// Lognormal between bounds.
        Lognormal = "lognormal",
        /// Normal between bounds.
        Normal = "normal",
        /// Through the median, P90 and P99.
        Percentiles = "percentiles",
        /// Lognormal, mixed with a second distribution.
        Mixture = "mixture",
        /// Uniform within each bin of a histogram.
        Histogram = "histogram",
        /// Zipf between bounds.
        Zipf = "zipf",
        /// Geometric between bounds.
        BoundedGeometric = "bounded_geometric",
    }

    /// The second distribution of a mixture of lengths.
    MixtureKind (INPUT = InputMixKind, OUTPUT = OutputMixKind) {
        /// Pareto between bounds.
        BoundedPareto = "bounded_pareto",
        /// Lognormal between bounds.
        Lognormal = "lognormal",
    }

    /// The `max_tokens` of a request.
    MaxTokensKind (ID = MaxTokensKind) {
        /// The length of its output.
        Output = "output",
        /// One cap for all.
        Cap = "cap",
    }

    /// The distribution of requests over adapters or users.
    Popularity (
        ADAPTERS = Popularity,
        USERS = UserPopularity [Zipf, Lognormal, Geometric, Power, Uniform, List]
    ) {
        /// S-LoRA's power distribution.
        Power = "power",
        /// Zipf.
        Zipf = "zipf",
        /// Equal shares.
        Uniform = "uniform",
        /// A list of weights.
        List = "list",
        /// Lognormal shares.
        Lognormal = "lognormal",
        /// Shares that fall by a constant ratio.
        Geometric = "geometric",
    }

    /// Whether users have arrival processes of their own.
    ClientKind (ID = ClientKind) {
        /// All users share one process.
        Together = "together",
        /// Each has a process, lengths and an adapter of its own.
        Each = "each",
    }

    /// What makes a user send the next request.
    Loop (ID = Loop) {
        /// The arrival process.
        Open = "open",
        /// The answer to the request before it, and a think time.
        Closed = "closed",
    }

    /// The distribution of think times.
    ThinkKind (ID = ThinkKind) {
        /// Exponential.
        Exponential = "exponential",
        /// One time.
        Fixed = "fixed",
        /// Lognormal.
        Lognormal = "lognormal",
        /// The measured times of the tools of coding agents.
        Tools = "tools",
    }

    /// Whether requests are the turns of sessions.
    SessionKind (ID = SessionKind) {
        /// Single requests.
        None = "none",
        /// Each turn waits for the answer to the turn before it.
        Held = "held",
        /// Each turn arrives at a time fixed in advance.
        Timed = "timed",
        /// The input of a session comes in chunks, whether the answer before has ended or not (vLLM's streaming input).
        StreamingInput = "streaming_input",
    }

    /// The distribution of the number of turns in a session.
    TurnKind (ID = TurnKind) {
        /// Geometric.
        Geometric = "geometric",
        /// One number.
        Fixed = "fixed",
        /// Lognormal.
        Lognormal = "lognormal",
    }

    /// Whether inputs share prefixes.
    PrefixKind (ID = PrefixKind) {
        /// They do not.
        None = "none",
        /// A prefix for all, one for each adapter, one for each user, and the session's own context.
        Tree = "tree",
    }

    /// When the turns of a loaded trace's sessions arrive.
    TraceTurns (ID = TraceTurns) {
        /// At the times of the trace.
        Timed = "timed",
        /// When the answer to the turn before is there.
        Held = "held",
        /// At the times of the trace, each as a further chunk of its session's input (vLLM's streaming input).
        StreamingInput = "streaming_input",
    }

    /// The rate over time.
    CurveKind (ID = CurveKind) {
        /// Constant.
        Constant = "constant",
        /// A linear change between two times.
        Ramp = "ramp",
        /// A sudden change.
        Step = "step",
        /// A change that ends.
        Spike = "spike",
        /// A cosine around the mean with its crest at a given time.
        Diurnal = "diurnal",
        /// AIBrix's pattern of this name.
        QuickRising = "quick_rising",
        /// AIBrix's pattern of this name.
        SlowRising = "slow_rising",
        /// AIBrix's pattern of this name.
        SlightFluctuation = "slight_fluctuation",
        /// AIBrix's pattern of this name.
        SevereFluctuation = "severe_fluctuation",
        /// AIBrix's configured pattern: a sine that starts at the mean.
        Sine = "sine",
        /// Straight between given points.
        Points = "points",
    }

    /// What lengths are multiplied by over time.
    LengthCurveKind (INPUT = InputCurveKind, OUTPUT = OutputCurveKind) {
        /// Nothing.
        Constant = "constant",
        /// A linear change between two times.
        Ramp = "ramp",
        /// A sudden change.
        Step = "step",
        /// A change that ends.
        Spike = "spike",
        /// A cosine around 1.
        Diurnal = "diurnal",
        /// AIBrix's pattern of this name.
        QuickRising = "quick_rising",
        /// AIBrix's pattern of this name.
        SlowRising = "slow_rising",
        /// AIBrix's pattern of this name.
        SlightFluctuation = "slight_fluctuation",
        /// AIBrix's pattern of this name.
        SevereFluctuation = "severe_fluctuation",
        /// Straight between given points.
        Points = "points",
    }

    /// How the rate is taken from its curve.
    CurveSampling (ID = CurveSampling) {
        /// At every time.
        Continuous = "continuous",
        /// As AIBrix: in samples with noise, rounded to whole requests.
        Aibrix = "aibrix",
    }

    /// The distribution of the gaps between arrivals.
    ArrivalKind (ID = ArrivalKind) {
        /// Gamma.
        Gamma = "gamma",
        /// Exponential.
        Poisson = "poisson",
        /// Equal gaps.
        Even = "even",
        /// Weibull.
        Weibull = "weibull",
        /// Poisson with a rate that switches between a calm and a busy state.
        Modulated = "modulated",
        /// Several requests at the same time, the batches Poisson.
        Batch = "batch",
    }
}
