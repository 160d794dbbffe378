//! Every parameter.

use servescope_cost::calibration::CALIBRATION_IDS;
use servescope_cost::gpus::GPU_IDS;
use servescope_cost::models::MODEL_IDS;
use servescope_workload::prompts::sampling::{MAX_PENALTY, MAX_TEMPERATURE, MIN_TOP_P};

use super::choices::{self, ChoiceId};
use super::kind::{Condition, Kind, Mark, Parameter, Scale, Slider};

macro_rules! table {
    ($($name:ident = $row:expr;)*) => {
        /// A parameter, by name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the table's rows describe them")]
        pub enum Id { $($name,)* }

        impl Id {
            /// Every parameter, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$name,)*];
        }

        /// The rows, by [`Id`].
        pub static TABLE: [Parameter; Id::ALL.len()] = [$($row,)*];
    };
}

const fn row(id: &'static str, key: &'static str, group: &'static str, kind: Kind) -> Parameter {
    Parameter {
        id,
        aliases: &[],
        key,
        group,
        kind,
        unit: "",
        slider: None,
        marks: &[],
        applies: &[],
        beyond_tables: None,
        scores_only: false,
        off_at_zero: false,
        label: "",
        help: "",
    }
}

const fn number(min: f64, max: f64, default: f64) -> Kind {
    Kind::Number { min, max, default }
}

const fn whole(min: f64, max: f64, default: f64) -> Kind {
    Kind::Whole { min, max, default }
}

const fn choice<C>(of: ChoiceId<C>) -> Kind {
    Kind::Choice(of.names())
}

impl Parameter {
    const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    const fn also(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn linear(mut self, min: f64, max: f64, step: f64) -> Self {
        self.slider = Some(Slider { min, max, scale: Scale::Linear, step });
        self
    }

    const fn log(mut self, min: f64, max: f64, step: f64) -> Self {
        self.slider = Some(Slider { min, max, scale: Scale::Log, step });
        self
    }

    const fn marks(mut self, marks: &'static [Mark]) -> Self {
        self.marks = marks;
        self
    }

    const fn when(mut self, applies: &'static [Condition]) -> Self {
        self.applies = applies;
        self
    }

    const fn beyond_tables(mut self, one_of: &'static [Condition]) -> Self {
        self.beyond_tables = Some(Condition::Any(one_of));
        self
    }

    const fn scores(mut self) -> Self {
        self.scores_only = true;
        self
    }

    const fn off_at_zero(mut self) -> Self {
        self.off_at_zero = true;
        self
    }

    const fn says(mut self, label: &'static str, help: &'static str) -> Self {
        if cfg!(feature = "texts") {
            self.label = label;
            self.help = help;
        }
        self
    }
}

const fn is(id: Id, is: &'static [&'static str]) -> Condition {
    Condition::Is(id, is)
}

const fn is_not(id: Id, is: &'static [&'static str]) -> Condition {
    Condition::IsNot(id, is)
}

const fn above(id: Id, bound: f64) -> Condition {
    Condition::Above(id, bound)
}

const fn any(of: &'static [Condition]) -> Condition {
    Condition::Any(of)
}

const fn all(of: &'static [Condition]) -> Condition {
    Condition::All(of)
}

/// Lengths: most tokens of a drawn length.
const MOST: f64 = 1_000_000.0;
/// Costs that know the hardware and the model.
const HARDWARE: &[Condition] = &[is(Id::CostKind, &["profile", "roofline"])];
const ROOFLINE: &[Condition] = &[is(Id::CostKind, &["roofline"])];
/// Schedulers whose requests take block after block as they grow, in more than one way.
const PAGED: &[&str] = &["vllm", "sarathi"];
const SWAPS: &[Condition] = &[is(Id::Preemption, &["swap"])];
const PROXY: &[Condition] = &[is(Id::GatewayKind, &["proxy"])];
const LENDING: &[Condition] = &[is(Id::GatewayKind, &["proxy"]), is(Id::Lending, &["true"])];
const RETRIES: &[Condition] =
    &[is(Id::GatewayKind, &["proxy"]), is(Id::RetryKind, &["at_once", "backoff", "honour"])];
const HISTORY: &[Condition] =
    &[is(Id::GatewayKind, &["proxy"]), is(Id::PredictKind, &["p90", "p95", "average"])];
const LINEAR: Condition = is(Id::CostKind, &["linear"]);
const HAS_ADAPTERS: Condition = above(Id::Adapters, 0.0);
/// LoRA slots.
const SLOTS: Condition = is(Id::AdapterMemory, &["slots"]);
/// Memories in which adapters come and go.
const LOADED: Condition = is(Id::AdapterMemory, &["unified", "slots"]);
const SOME_ADAPTERS: Condition = above(Id::Adapters, 1.0);
const SOME_USERS: Condition = above(Id::Users, 1.0);
/// Orders that know clients.
const BY_CLIENT: &[&str] = &["priority", "vtc", "lcf", "drr", "rpm"];
/// Several clients of the engine's waiting queue.
const ENGINE_CLIENTS: Condition = any(&[
    all(&[is(Id::OrderClient, &["user"]), SOME_USERS]),
    all(&[is(Id::OrderClient, &["adapter"]), HAS_ADAPTERS]),
]);
/// Several clients of the gateway's.
const GATEWAY_CLIENTS: Condition = any(&[
    all(&[is(Id::GatewayClient, &["user"]), SOME_USERS]),
    all(&[is(Id::GatewayClient, &["adapter"]), HAS_ADAPTERS]),
]);
/// One of the two waiting queues has such an order, and several clients.
const FAIR: Condition = any(&[
    all(&[is(Id::SchedulerOrder, &["vtc", "lcf", "drr"]), ENGINE_CLIENTS]),
    all(&[is(Id::GatewayOrder, &["vtc", "lcf", "drr"]), GATEWAY_CLIENTS]),
]);
const COUNTED: Condition = any(&[
    all(&[is(Id::SchedulerOrder, &["vtc", "lcf"]), ENGINE_CLIENTS]),
    all(&[is(Id::GatewayOrder, &["vtc", "lcf"]), GATEWAY_CLIENTS]),
]);
const VTC: Condition = any(&[
    all(&[is(Id::SchedulerOrder, &["vtc"]), ENGINE_CLIENTS]),
    all(&[is(Id::GatewayOrder, &["vtc"]), GATEWAY_CLIENTS]),
]);
const DRR: Condition = any(&[
    all(&[is(Id::SchedulerOrder, &["drr"]), ENGINE_CLIENTS]),
    all(&[is(Id::GatewayOrder, &["drr"]), GATEWAY_CLIENTS]),
]);
const PRIORITY: Condition = any(&[
    all(&[is(Id::SchedulerOrder, &["priority"]), ENGINE_CLIENTS]),
    all(&[is(Id::GatewayOrder, &["priority"]), GATEWAY_CLIENTS]),
]);
const PREDICTS: Condition =
    any(&[is(Id::SchedulerOrder, &["shortest"]), is(Id::FairPrediction, &["predicted"])]);
/// Where runs depend on which user sends a request.
const KNOWS_USERS: &[Condition] = &[
    is(Id::OrderClient, &["user"]),
    is(Id::GatewayClient, &["user"]),
    is(Id::ClientKind, &["each"]),
    is(Id::Loop, &["closed"]),
    above(Id::UserTokens, 0.0),
];
/// Where they depend on which adapter it asks for. Under the linear model adapters of one rank that are all in memory cost the
/// same.
const KNOWS_ADAPTERS: &[Condition] = &[
    LOADED,
    is(Id::CostKind, &["profile", "roofline"]),
    Condition::Varied(Id::Ranks),
    is(Id::OrderClient, &["adapter"]),
    is(Id::GatewayClient, &["adapter"]),
    is(Id::Router, &["adapter_affinity"]),
    above(Id::AdapterTokens, 0.0),
];
/// Quotas that are checked.
const RPM: Condition = all(&[Condition::Checks("rpm"), above(Id::GatewayRpm, 0.0)]);
const TPM: Condition = all(&[
    Condition::Checks("tpm"),
    any(&[
        above(Id::GatewayTpmInput, 0.0),
        above(Id::GatewayTpmOutput, 0.0),
        above(Id::GatewayTpmTotal, 0.0),
    ]),
]);
const CLIENT_BOUND: Condition = all(&[Condition::Checks("concurrency"), above(Id::ClientConcurrency, 0.0)]);
const ENGINE_BOUND: Condition = all(&[Condition::Checks("concurrency"), above(Id::MaxInSystem, 0.0)]);
/// What can keep a request at the gateway.
const HELD: Condition = any(&[
    all(&[any(&[RPM, TPM, CLIENT_BOUND]), is(Id::OverQuota, &["wait"])]),
    ENGINE_BOUND,
    Condition::Checks("kv"),
    is(Id::LoadPolicy, &["fair_share"]),
]);
/// What can make the gateway reject a request that it may accept later.
const REJECTED: Condition = any(&[
    all(&[any(&[RPM, TPM, CLIENT_BOUND]), is(Id::OverQuota, &["refuse"])]),
    all(&[
        Condition::Checks("queue"),
        any(&[above(Id::QueueRequests, 0.0), above(Id::QueueTokens, 0.0)]),
        HELD,
    ]),
    Condition::Checks("ttft"),
    all(&[any(&[above(Id::QueueTimeout, 0.0), is(Id::TimeoutKind, &["estimated"])]), HELD]),
    is(Id::LoadPolicy, &["shed"]),
]);
const SLORA: &[Condition] = &[is(Id::SchedulerKind, &["slora"])];
const VLLM_V1: &[Condition] = &[is(Id::SchedulerKind, &["vllm_v1"])];
const PATTERNS: &[&str] =
    &["quick_rising", "slow_rising", "slight_fluctuation", "severe_fluctuation", "sine"];
const CHANGES: &[&str] = &["ramp", "step", "spike"];
/// Law by law, not in pairs.
const BY_LAW: Condition = is(Id::LengthSource, &["laws"]);
/// Kinds of sessions.
const TALKS: &[&str] = &["held", "timed"];
const BOUNDED: &[&str] = &[
    "uniform",
    "bounded_pareto",
    "lognormal",
    "normal",
    "percentiles",
    "mixture",
    "zipf",
    "bounded_geometric",
];

table! {
    Rate = row("workload.rate_rps", "R", "heroes", number(0.001, 100_000.0, 2.0)).unit("req/s").log(0.1, 50.0, 0.01)
        .when(&[is(Id::Loop, &["open"])])
        .says("Rate R", "Mean number of requests that arrive each second, all users together.");
    Cv = row("workload.arrivals.cv", "cv", "heroes", number(0.05, 32.0, 1.0)).log(0.1, 8.0, 0.01)
        .marks(&[Mark { value: 1.0, message: "mark.poisson" }])
        .when(&[is(Id::ArrivalKind, &["gamma"]), is(Id::ClientKind, &["together"])])
        .says("Burstiness cv", "Standard deviation of the gaps between arrivals over their mean: below 1 is steadier than chance, above 1 comes in bursts. Where one process serves all adapters, an adapter with share p has a cv of √(1 + p (cv² − 1)), nearer to 1; workload.arrivals.per = adapter gives each adapter the full cv.");
    Alpha = row("workload.adapters.alpha", "alpha", "heroes", number(0.01, 32.0, 1.0)).linear(0.05, 1.0, 0.01)
        .marks(&[Mark { value: 1.0, message: "mark.uniform" }])
        .when(&[is(Id::Popularity, &["power"])])
        .beyond_tables(KNOWS_ADAPTERS)
        .says("Skew alpha", "Smaller puts more requests on the first adapters and 1 spreads them evenly; above 1 (type it in) skew returns, toward the last adapter.");
    Adapters = row("workload.adapters.count", "n", "heroes", whole(0.0, 100_000.0, 200.0)).linear(0.0, 400.0, 1.0)
        .marks(&[Mark { value: 0.0, message: "mark.base_model" }])
        .says("LoRA adapters n", "How many adapters share the server; 0 sends every request to the base model.");

    LengthSource = row("workload.lengths.from", "lf", "lengths", choice(choices::LengthSource::ID))
        .says("Lengths from", "Independent distributions of prompts and outputs, or empirical (prompt, output) pairs from a list of your own.");
    LengthPairs = row("workload.lengths.pairs", "lp", "lengths", Kind::List { min: 1.0, max: MOST, whole: true, default: &[32.0, 256.0, 256.0, 128.0, 480.0, 16.0] })
        .when(&[is(Id::LengthSource, &["pairs"])])
        .says("Pairs of lengths", "Prompt and output lengths in tokens, in turn; every pair is drawn equally often, as it stands.");
    InputKind = row("workload.input_tokens.kind", "in", "lengths", choice(choices::LengthKind::INPUT))
        .when(&[BY_LAW])
        .says("Prompt lengths", "Distribution of prompt lengths.");
    InputValue = row("workload.input_tokens.value", "inv", "lengths", whole(1.0, MOST, 256.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[BY_LAW, is(Id::InputKind, &["fixed"])])
        .says("Prompt length", "Every prompt has this length.");
    InputLow = row("workload.input_tokens.low", "inl", "lengths", whole(1.0, MOST, 8.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[BY_LAW, is(Id::InputKind, BOUNDED)])
        .says("Shortest prompt", "No prompt is shorter than this.");
    InputHigh = row("workload.input_tokens.high", "inh", "lengths", whole(1.0, MOST, 511.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[BY_LAW, is(Id::InputKind, BOUNDED)])
        .says("Longest prompt", "No prompt is longer than this (inclusive).");
    InputMean = row("workload.input_tokens.mean", "inm", "lengths", number(1.0, MOST, 256.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[BY_LAW, is(Id::InputKind, &["geometric", "bounded_geometric", "normal"])])
        .says("Mean prompt length", "Mean of the geometric distribution on 1, 2, and so on, before bounds where it has any, or of the normal distribution before its bounds.");
    InputDeviation = row("workload.input_tokens.deviation", "inw", "lengths", number(0.0, MOST, 80.0)).unit("tokens").linear(0.0, 1000.0, 1.0)
        .when(&[BY_LAW, is(Id::InputKind, &["normal"])])
        .says("Deviation of prompt lengths", "Standard deviation of the normal distribution before its bounds.");
    InputExponent = row("workload.input_tokens.exponent", "ine", "lengths", number(0.05, 20.0, 1.1)).linear(0.1, 4.0, 0.01)
        .when(&[BY_LAW, is(Id::InputKind, &["bounded_pareto"])])
        .says("Prompt tail exponent", "Smaller makes long prompts more common: the share longer than x falls like x to the power of minus this.");
    InputTheta = row("workload.input_tokens.theta", "inz", "lengths", number(0.0, 10.0, 0.6)).linear(0.0, 2.0, 0.01)
        .when(&[BY_LAW, is(Id::InputKind, &["zipf"])])
        .says("Zipf exponent of prompt lengths", "Length low + k has a probability proportional to (k + 1) to the power of minus this (Vidur: theta); 0 makes all lengths equally likely.");
    InputMedian = row("workload.input_tokens.median", "ind", "lengths", number(1.0, MOST, 200.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[BY_LAW, is(Id::InputKind, &["lognormal", "percentiles", "mixture"])])
        .says("Median prompt length", "Half of the prompts are shorter than this.");
    InputSigma = row("workload.input_tokens.sigma", "ins", "lengths", number(0.01, 5.0, 0.8)).linear(0.05, 2.5, 0.01)
        .when(&[BY_LAW, is(Id::InputKind, &["lognormal", "mixture"])])
        .says("Spread of prompt lengths", "Standard deviation of the logarithm of the length.");
    InputP90 = row("workload.input_tokens.p90", "in9", "lengths", number(1.0, MOST, 400.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[BY_LAW, is(Id::InputKind, &["percentiles"])])
        .says("P90 of prompts", "Nine of ten prompts are no longer than this; lognormal through the median up to P90, extrapolated to P99.");
    InputP99 = row("workload.input_tokens.p99", "in99", "lengths", number(1.0, MOST, 500.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[BY_LAW, is(Id::InputKind, &["percentiles"])])
        .says("P99 of prompts", "99 of 100 prompts are no longer than this; the longest ones follow the slope from P90 to here.");
    InputHistogram = row("workload.input_tokens.histogram", "inhg", "lengths", Kind::List { min: 0.0, max: 1e9, whole: false, default: &[8.0, 3.0, 128.0, 1.0, 511.0] })
        .when(&[BY_LAW, is(Id::InputKind, &["histogram"])])
        .says("Histogram of prompts", "Alternating bin edges (tokens) and weights: 8, 3, 128, 1, 511 = 75 % uniform on 8 to 127, 25 % on 128 to 511.");
    InputMixShare = row("workload.input_tokens.mixture.share", "inms", "lengths", number(0.0, 1.0, 0.1)).linear(0.0, 1.0, 0.01)
        .when(&[BY_LAW, is(Id::InputKind, &["mixture"])])
        .says("Weight of second prompt component", "The share of prompts from the second component; the others are lognormal with the median and spread above.");
    InputMixKind = row("workload.input_tokens.mixture.kind", "inmk", "lengths", choice(choices::MixtureKind::INPUT))
        .when(&[BY_LAW, is(Id::InputKind, &["mixture"])])
        .says("Second prompt component", "What is mixed in: a power-law tail, as ServeGen finds for prompts, or a second lognormal mode.");
    InputMixLow = row("workload.input_tokens.mixture.low", "inml", "lengths", whole(1.0, MOST, 256.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[BY_LAW, is(Id::InputKind, &["mixture"]), is(Id::InputMixKind, &["bounded_pareto"])])
        .says("Prompt tail begins", "The shortest prompt of the power-law tail.");
    InputMixExponent = row("workload.input_tokens.mixture.exponent", "inme", "lengths", number(0.05, 20.0, 1.1)).linear(0.1, 4.0, 0.01)
        .when(&[BY_LAW, is(Id::InputKind, &["mixture"]), is(Id::InputMixKind, &["bounded_pareto"])])
        .says("Exponent of the prompt tail", "Smaller makes the longest prompts more common.");
    InputMixMedian = row("workload.input_tokens.mixture.median", "inmd", "lengths", number(1.0, MOST, 400.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[BY_LAW, is(Id::InputKind, &["mixture"]), is(Id::InputMixKind, &["lognormal"])])
        .says("Median of second prompt component", "Half of the prompts of the second component are shorter than this.");
    InputMixSigma = row("workload.input_tokens.mixture.sigma", "inmg", "lengths", number(0.01, 5.0, 0.3)).linear(0.05, 2.5, 0.01)
        .when(&[BY_LAW, is(Id::InputKind, &["mixture"]), is(Id::InputMixKind, &["lognormal"])])
        .says("Spread of second prompt component", "Standard deviation of the logarithm of its lengths.");

    OutputKind = row("workload.output_tokens.kind", "out", "lengths", choice(choices::LengthKind::OUTPUT))
        .when(&[BY_LAW])
        .says("Output lengths", "Distribution of output lengths.");
    OutputValue = row("workload.output_tokens.value", "outv", "lengths", whole(1.0, MOST, 256.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[BY_LAW, is(Id::OutputKind, &["fixed"])])
        .says("Output length", "Every output has this length.");
    OutputLow = row("workload.output_tokens.low", "outl", "lengths", whole(1.0, MOST, 8.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[BY_LAW, is(Id::OutputKind, BOUNDED)])
        .says("Shortest output", "No output is shorter than this.");
    OutputHigh = row("workload.output_tokens.high", "outh", "lengths", whole(1.0, MOST, 511.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[BY_LAW, is(Id::OutputKind, BOUNDED)])
        .says("Longest output", "No output is longer than this (inclusive).");
    OutputMean = row("workload.output_tokens.mean", "outm", "lengths", number(1.0, MOST, 256.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[BY_LAW, is(Id::OutputKind, &["geometric", "bounded_geometric", "normal"])])
        .says("Mean output length", "Mean of the geometric distribution on 1, 2, and so on, before bounds where it has any, or of the normal distribution before its bounds.");
    OutputDeviation = row("workload.output_tokens.deviation", "outw", "lengths", number(0.0, MOST, 80.0)).unit("tokens").linear(0.0, 1000.0, 1.0)
        .when(&[BY_LAW, is(Id::OutputKind, &["normal"])])
        .says("Deviation of output lengths", "Standard deviation of the normal distribution before its bounds.");
    OutputExponent = row("workload.output_tokens.exponent", "oute", "lengths", number(0.05, 20.0, 1.1)).linear(0.1, 4.0, 0.01)
        .when(&[BY_LAW, is(Id::OutputKind, &["bounded_pareto"])])
        .says("Output tail exponent", "Smaller makes long outputs more common: the share longer than x falls like x to the power of minus this.");
    OutputTheta = row("workload.output_tokens.theta", "outz", "lengths", number(0.0, 10.0, 0.6)).linear(0.0, 2.0, 0.01)
        .when(&[BY_LAW, is(Id::OutputKind, &["zipf"])])
        .says("Zipf exponent of output lengths", "Length low + k has a probability proportional to (k + 1) to the power of minus this (Vidur: theta); 0 makes all lengths equally likely.");
    OutputMedian = row("workload.output_tokens.median", "outd", "lengths", number(1.0, MOST, 200.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[BY_LAW, is(Id::OutputKind, &["lognormal", "percentiles", "mixture"])])
        .says("Median output length", "Half of the outputs are shorter than this.");
    OutputSigma = row("workload.output_tokens.sigma", "outs", "lengths", number(0.01, 5.0, 0.8)).linear(0.05, 2.5, 0.01)
        .when(&[BY_LAW, is(Id::OutputKind, &["lognormal", "mixture"])])
        .says("Spread of output lengths", "Standard deviation of the logarithm of the length.");
    OutputP90 = row("workload.output_tokens.p90", "out9", "lengths", number(1.0, MOST, 400.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[BY_LAW, is(Id::OutputKind, &["percentiles"])])
        .says("P90 of outputs", "Nine of ten outputs are no longer than this; lognormal through the median up to P90, extrapolated to P99.");
    OutputP99 = row("workload.output_tokens.p99", "out99", "lengths", number(1.0, MOST, 500.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[BY_LAW, is(Id::OutputKind, &["percentiles"])])
        .says("P99 of outputs", "99 of 100 outputs are no longer than this; the longest ones follow the slope from P90 to here.");
    OutputHistogram = row("workload.output_tokens.histogram", "outhg", "lengths", Kind::List { min: 0.0, max: 1e9, whole: false, default: &[8.0, 3.0, 128.0, 1.0, 511.0] })
        .when(&[BY_LAW, is(Id::OutputKind, &["histogram"])])
        .says("Histogram of outputs", "Alternating bin edges (tokens) and weights: 8, 3, 128, 1, 511 = 75 % uniform on 8 to 127, 25 % on 128 to 511.");
    OutputMixShare = row("workload.output_tokens.mixture.share", "outms", "lengths", number(0.0, 1.0, 0.1)).linear(0.0, 1.0, 0.01)
        .when(&[BY_LAW, is(Id::OutputKind, &["mixture"])])
        .says("Weight of second output component", "The share of outputs from the second component; the others are lognormal with the median and spread above.");
    OutputMixKind = row("workload.output_tokens.mixture.kind", "outmk", "lengths", choice(choices::MixtureKind::OUTPUT))
        .when(&[BY_LAW, is(Id::OutputKind, &["mixture"])])
        .says("Second output component", "What is mixed in: a power-law tail, as ServeGen finds for prompts, or a second lognormal mode.");
    OutputMixLow = row("workload.output_tokens.mixture.low", "outml", "lengths", whole(1.0, MOST, 256.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[BY_LAW, is(Id::OutputKind, &["mixture"]), is(Id::OutputMixKind, &["bounded_pareto"])])
        .says("Output tail begins", "The shortest output of the power-law tail.");
    OutputMixExponent = row("workload.output_tokens.mixture.exponent", "outme", "lengths", number(0.05, 20.0, 1.1)).linear(0.1, 4.0, 0.01)
        .when(&[BY_LAW, is(Id::OutputKind, &["mixture"]), is(Id::OutputMixKind, &["bounded_pareto"])])
        .says("Exponent of the output tail", "Smaller makes the longest outputs more common.");
    OutputMixMedian = row("workload.output_tokens.mixture.median", "outmd", "lengths", number(1.0, MOST, 400.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[BY_LAW, is(Id::OutputKind, &["mixture"]), is(Id::OutputMixKind, &["lognormal"])])
        .says("Median of second output component", "Half of the outputs of the second component are shorter than this.");
    OutputMixSigma = row("workload.output_tokens.mixture.sigma", "outmg", "lengths", number(0.01, 5.0, 0.3)).linear(0.05, 2.5, 0.01)
        .when(&[BY_LAW, is(Id::OutputKind, &["mixture"]), is(Id::OutputMixKind, &["lognormal"])])
        .says("Spread of second output component", "Standard deviation of the logarithm of its lengths.");
    LengthCorrelation = row("workload.length_correlation", "rho", "lengths", number(-1.0, 1.0, 0.0)).linear(-1.0, 1.0, 0.01)
        .when(&[BY_LAW])
        .says("Prompt–output correlation", "Rank correlation of prompt and output lengths: 0 draws them independently, 1 gives the longest prompt the longest output.");
    MaxTokensKind = row("workload.max_tokens.kind", "mt", "lengths", choice(choices::MaxTokensKind::ID))
        .says("max_tokens sent", "max_tokens of each request: its exact output length, or one fixed cap.");
    MaxTokensCap = row("workload.max_tokens.cap", "cap", "lengths", whole(1.0, MOST, 1024.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[is(Id::MaxTokensKind, &["cap"])])
        .says("max_tokens cap", "The max_tokens that every client sends; a longer output raises its own bound to its length.");

    BatchMaxTokens = row("scheduler.batch_max_tokens", "batch", "queue", whole(1.0, 100_000_000.0, 3072.0)).unit("tokens").log(64.0, 16_384.0, 1.0)
        .also(&["scheduler.max_num_batched_tokens"])
        .when(&[
            is_not(Id::SchedulerKind, &["sarathi"]),
            any(&[is_not(Id::SchedulerKind, &["static", "orca"]), is(Id::MemoryPlan, &["whole"])]),
        ])
        .says("Token budget", "vLLM v1: most tokens of one iteration, prompts and decoding together (--max-num-batched-tokens), by default 2048, 8192 on an H100, 16384 on a GPU with 160 GB. The others: most prompt tokens of one prefill (S-LoRA's batch_max_tokens), by default a sixth of the pool, at least the longest request.");
    MaxRunning = row("scheduler.max_running_requests", "run", "queue", whole(1.0, 1_000_000.0, 1000.0)).unit("requests").log(1.0, 1000.0, 1.0)
        .also(&["scheduler.max_num_seqs"])
        .says("Max running requests", "Most requests that run together (vLLM's --max-num-seqs). vLLM v1's default is 256, 1024 on a GPU from 80 GB (the A100 left out), and never above the token budget.");
    MaxRequestTokens = row("scheduler.max_request_tokens", "maxreq", "queue", whole(2.0, 100_000_000.0, 3072.0)).unit("tokens").log(64.0, 16_384.0, 1.0)
        .also(&["scheduler.max_model_len"])
        .says("Max request length", "A request whose prompt and max_tokens together exceed this is rejected. vLLM v1 (--max-model-len) rejects only a prompt that leaves no room for a token, and ends an output at this length.");
    MaxInputTokens = row("scheduler.max_input_tokens", "maxin", "queue", whole(1.0, 100_000_000.0, 2048.0)).unit("tokens").log(16.0, 16_384.0, 1.0)
        .when(SLORA)
        .says("Max prompt length", "A longer prompt is rejected (S-LoRA's max_req_input_len).");
    DecodeSteps = row("scheduler.decode_steps_between_prefills", "steps", "queue", whole(0.0, 1_000_000.0, 10.0)).unit("iterations").linear(0.0, 50.0, 1.0)
        .when(&[is(Id::SchedulerKind, &["slora", "lightllm"])])
        .says("Decode steps between prefills", "Minimum number of decode iterations between two prefills of a running batch; 0 lets waiting requests join at once.");
    IdlePoll = row("scheduler.idle_poll_ms", "poll", "queue", number(0.0, 60_000.0, 10.0)).unit("ms").linear(0.0, 100.0, 1.0)
        .when(SLORA)
        .says("Idle poll", "How long an idle router sleeps before it polls for requests; 0 wakes it at the arrival.");
    OriginalBlocking = row("scheduler.original_blocking", "block", "queue", Kind::Flag(false))
        .when(&[any(&[is_not(Id::SchedulerKind, &["vllm_v1"]), is(Id::Router, &["random"])])])
        .says("Head-of-line blocking as in S-LoRA", "A request that can never fit stays in the waiting queue and blocks it, as in S-LoRA and Vidur; off: it is rejected.");
    SchedulerKind = row("scheduler.kind", "sched", "queue", choice(choices::SchedulerKind::ID))
        .says("Scheduler", "How requests are admitted to the batch of a replica. S-LoRA and LightLLM count KV memory in tokens, the others in blocks; where adapters are kept is adapters.memory.");
    ReserveFullIsl = row("scheduler.reserve_full_isl", "isl", "queue", Kind::Flag(true))
        .also(&["scheduler.scheduler_reserve_full_isl"])
        .when(VLLM_V1)
        .says("Whole prompt must fit", "A waiting request is admitted only where the blocks of its whole prompt are free, though it takes those of its first chunk only (vLLM's --scheduler-reserve-full-isl).");
    AsyncScheduling = row("scheduler.async_scheduling", "asy", "queue", Kind::Flag(true))
        .when(VLLM_V1)
        .says("Asynchronous scheduling", "An iteration is scheduled when the one before it begins, so that the GPU never waits for the scheduler; an arrival waits up to one iteration longer (vLLM's --async-scheduling).");
    ChunkedPrefill = row("scheduler.enable_chunked_prefill", "ecp", "queue", Kind::Flag(true))
        .when(VLLM_V1)
        .says("Chunked prefill", "A prompt that does not fit into the rest of the token budget is cut; switched off, it waits (vLLM's --enable-chunked-prefill).");
    LongPrefillTokens = row("scheduler.long_prefill_token_threshold", "lpt", "queue", whole(0.0, 100_000_000.0, 0.0)).unit("tokens").linear(0.0, 8192.0, 16.0)
        .when(VLLM_V1)
        .off_at_zero().says("Long prefill threshold", "Most tokens of one prompt in an iteration, unless its request is alone (vLLM's --long-prefill-token-threshold). 0 = no limit.");
    LongPrefillAdaptive = row("scheduler.long_prefill_token_threshold_adaptive", "lpa", "queue", Kind::Flag(false))
        .when(&[is(Id::SchedulerKind, &["vllm_v1"]), above(Id::LongPrefillTokens, 0.0)])
        .says("Adaptive threshold", "The long prefill threshold is never below the token budget divided by the number of requests that run and wait (vLLM's long_prefill_token_threshold_adaptive).");
    PrefillInterval = row("scheduler.prefill_schedule_interval", "psi", "queue", whole(1.0, 1_000_000.0, 1.0)).unit("iterations").linear(1.0, 32.0, 1.0)
        .when(VLLM_V1)
        .says("Prefill interval", "Iterations from one with prompts to the next while requests decode (vLLM's prefill_schedule_interval).");
    MaxActiveSeqs = row("scheduler.max_num_active_seqs", "mas", "queue", whole(0.0, 1_000_000.0, 0.0)).unit("requests").linear(0.0, 1000.0, 1.0)
        .when(VLLM_V1)
        .off_at_zero().says("Max active requests", "Most requests that run, where that is less than the max running requests (vLLM's max_num_active_seqs). 0 = no limit.");
    MaxQueuedTokens = row("scheduler.max_num_queued_tokens", "mqt", "queue", whole(0.0, 100_000_000.0, 0.0)).unit("tokens").linear(0.0, 1_000_000.0, 1000.0)
        .when(VLLM_V1)
        .off_at_zero().says("Max queued tokens", "A request is rejected (429) while prompts of this many tokens wait for their first output token (vLLM's max_num_queued_tokens). 0 = no limit.");
    SchedulerOrder = row("scheduler.order", "order", "queue", choice(choices::Order::SCHEDULER))
        .says("Scheduling policy", "The order in which waiting requests are considered, in each replica's waiting queue. Early abort, adapter clustering, one adapter a batch and least padding need S-LoRA's batches.");
    OrderClient = row("scheduler.client", "oc", "queue", choice(choices::Client::SCHEDULER))
        .when(&[is(Id::SchedulerOrder, BY_CLIENT), any(&[SOME_USERS, HAS_ADAPTERS])])
        .says("Clients are", "Whose requests and service is counted together: a user's, or an adapter's as in S-LoRA and VTC.");
    FairWeights = row("scheduler.fair.weights", "fw", "queue", Kind::List { min: 0.01, max: 1e6, whole: false, default: &[1.0] })
        .when(&[FAIR])
        .says("Weights", "Share of service due to each client in turn; clients beyond the list weigh 1.");
    FairCost = row("scheduler.fair.cost", "fc", "queue", choice(choices::FairCost::ID))
        .when(&[COUNTED])
        .says("Cost of a token", "Fixed prices, or the time that VTC's authors measured on an A10G for such a request.");
    FairInputPrice = row("scheduler.fair.input_price", "fi", "queue", number(0.0, 1000.0, 1.0)).linear(0.0, 4.0, 0.1)
        .when(&[FAIR, any(&[DRR, is(Id::FairCost, &["linear"])])])
        .says("Price of a prompt token", "What a prompt token adds to its client's counter.");
    FairOutputPrice = row("scheduler.fair.output_price", "fo", "queue", number(0.0, 1000.0, 2.0)).linear(0.0, 4.0, 0.1)
        .when(&[FAIR, any(&[DRR, is(Id::FairCost, &["linear"])])])
        .says("Price of an output token", "What an output token adds to its client's counter.");
    FairCharging = row("scheduler.fair.charging", "fch", "queue", choice(choices::FairCharging::ID))
        .when(&[FAIR])
        .says("Charging", "S-LoRA does not charge the first output token; ideal charges every token once; the artifact charges a whole batch again whenever a request of it ends.");
    FairLift = row("scheduler.fair.lift", "fl", "queue", choice(choices::FairLift::ID))
        .when(&[VTC])
        .says("Counter lift", "What the counter of a client that returns is raised to: the minimum of the waiting clients; if none waits, the counter of the last client that left (paper); or all counters near the maximum before each decision.");
    FairPrediction = row("scheduler.fair.prediction", "fp", "queue", choice(choices::FairPrediction::ID))
        .when(&[COUNTED])
        .says("Charged ahead", "Output that is charged at admission and settled at the end of the request: none, the mean of the client's last outputs, or a prediction.");
    PredictionOf = row("scheduler.prediction.of", "po", "queue", choice(choices::PredictionOf::ID))
        .when(&[PREDICTS, is(Id::MaxTokensKind, &["cap"])])
        .says("Prediction of", "Predictions are centred on the true output length, or on the request's max_tokens.");
    PredictionRange = row("scheduler.prediction.range", "pr", "queue", number(0.0, 1.0, 0.0)).linear(0.0, 1.0, 0.01)
        .when(&[PREDICTS])
        .says("Error of predictions", "Predictions are uniform within this share below and above; 0 is an oracle.");
    DrrQuantum = row("scheduler.round_robin.quantum", "dq", "queue", number(0.0, 1e9, 0.0)).unit("tokens").linear(0.0, 10_000.0, 10.0)
        .when(&[DRR])
        .says("DRR quantum", "Service credited to a client in each turn; 0 is a twentieth of the memory pool.");
    RpmLimit = row("scheduler.rpm.limit", "rl", "queue", whole(1.0, 1_000_000.0, 20.0)).unit("requests").linear(1.0, 60.0, 1.0)
        .when(&[is(Id::SchedulerOrder, &["rpm"])])
        .says("Requests a minute", "A client with as many accepted requests in the last 60 s is rejected.");
    AbortBound = row("scheduler.early_abort.bound_s", "eb", "queue", number(0.5, 100_000.0, 6.0)).unit("s").linear(0.5, 30.0, 0.1)
        .when(&[is(Id::SchedulerOrder, &["early_abort"])])
        .says("Early-abort deadline", "A request that cannot have its first token by then is rejected; that is decided 0.5 s before.");
    ClusterAdapters = row("scheduler.cluster.adapters", "ca", "queue", whole(1.0, 1_000_000.0, 8.0)).unit("adapters").linear(1.0, 64.0, 1.0)
        .when(&[is(Id::SchedulerOrder, &["cluster"])])
        .says("Adapter-clustering threshold", "Once a batch uses this many adapters, requests for those come first (batch_num_adapters).");
    PriorityClasses = row("scheduler.priority.classes", "pc", "queue", Kind::List { min: 0.0, max: 1e6, whole: false, default: &[0.0, 1.0] })
        .when(&[PRIORITY])
        .says("Priority classes", "Priority class of each client, assigned cyclically; a lower number is served first.");
    PriorityAgeing = row("scheduler.priority.ageing_s", "pa", "queue", number(0.0, 1e7, 10.0)).unit("s").linear(0.0, 120.0, 1.0)
        .when(&[PRIORITY])
        .says("Ageing", "Waiting this long makes up for one class; 0 is first come, first served.");
    PrefetchAdapters = row("scheduler.prefetch_adapters", "pre", "queue", Kind::Flag(false))
        .when(&[
            HAS_ADAPTERS,
            is(Id::AdapterMemory, &["unified"]),
            any(&[
                is_not(Id::SchedulerKind, &["slora"]),
                is(Id::SchedulerOrder, &["fcfs", "lifo", "shortest", "priority", "rpm", "early_abort", "cluster", "pets"]),
            ]),
        ])
        .says("Prefetch adapters", "Copies adapters to the GPU while iterations run: in S-LoRA those of waiting requests, twice between two prefills; with other schedulers that of the next request.");

    GatewayKind = row("gateway.kind", "gk", "gateway", choice(choices::GatewayKind::ID))
        .says("Admission gateway", "Direct: requests join the engine's waiting queue at once. Proxy: an admission gateway checks them, queues them, or rejects them (429).");
    GatewayChecks = row("gateway.checks", "gch", "gateway", Kind::Text { most: 80 })
        .when(PROXY)
        .says("Chain of checks", "Names with | between them, in the order in which they are made: rpm, tpm, concurrency, queue, kv, ttft; or none. Empty is rpm|tpm|concurrency|queue, which change nothing until a limit is set; kv reserves KV memory for each predicted output.");
    GatewayClient = row("gateway.client", "gcl", "gateway", choice(choices::Client::GATEWAY))
        .when(&[
            is(Id::GatewayKind, &["proxy"]),
            any(&[
                RPM,
                TPM,
                CLIENT_BOUND,
                all(&[is(Id::GatewayOrder, &["priority", "vtc", "lcf", "drr"]), HELD]),
                is(Id::PredictKind, &["p90", "p95", "average"]),
                is(Id::LoadPolicy, &["fair_share"]),
            ]),
            any(&[SOME_USERS, HAS_ADAPTERS]),
        ])
        .says("Clients are", "Who has a quota and a share of service: a user, or an adapter.");
    GatewayRpm = row("gateway.rpm", "grp", "gateway", number(0.0, 1e9, 0.0)).unit("requests").linear(0.0, 240.0, 1.0)
        .when(&[is(Id::GatewayKind, &["proxy"]), Condition::Checks("rpm")])
        .off_at_zero().says("Requests a minute", "Quota of each client (RPM); 0 = no limit.");
    GatewayTpmInput = row("gateway.tpm.input", "gti", "gateway", number(0.0, 1e12, 0.0)).unit("tokens").linear(0.0, 100_000.0, 100.0)
        .when(&[is(Id::GatewayKind, &["proxy"]), Condition::Checks("tpm")])
        .off_at_zero().says("Input tokens a minute", "Quota of each client on prompt tokens; 0 = no limit.");
    GatewayTpmOutput = row("gateway.tpm.output", "gto", "gateway", number(0.0, 1e12, 0.0)).unit("tokens").linear(0.0, 100_000.0, 100.0)
        .when(&[is(Id::GatewayKind, &["proxy"]), Condition::Checks("tpm")])
        .off_at_zero().says("Output tokens a minute", "Quota of each client on output tokens; 0 = no limit.");
    GatewayTpmTotal = row("gateway.tpm.total", "gtt", "gateway", number(0.0, 1e12, 0.0)).unit("tokens").linear(0.0, 100_000.0, 100.0)
        .when(&[is(Id::GatewayKind, &["proxy"]), Condition::Checks("tpm")])
        .off_at_zero().says("Tokens a minute", "Quota of each client on prompt and output tokens together (TPM); 0 = no limit.");
    GatewayCharge = row("gateway.tpm.charge", "gtc", "gateway", choice(choices::GatewayCharge::ID))
        .when(&[is(Id::GatewayKind, &["proxy"]), TPM])
        .says("Tokens are charged", "At admission: as predicted, reconciled at completion. At completion: in-flight requests can exceed the quota.");
    GatewayWindow = row("gateway.window", "gw", "gateway", choice(choices::GatewayWindow::ID))
        .when(&[is(Id::GatewayKind, &["proxy"]), any(&[RPM, TPM])])
        .says("Rate-limit window", "Sliding 60 s; fixed minutes; sub-windows of 10 s or 1 s, each with its part of the quota; a token bucket; or GCRA, which decides like the bucket.");
    GatewayBurst = row("gateway.burst_s", "gb", "gateway", number(0.01, 3600.0, 60.0)).unit("s").log(1.0, 300.0, 1.0)
        .when(&[is(Id::GatewayKind, &["proxy"]), is(Id::GatewayWindow, &["bucket", "gcra"])])
        .says("Burst capacity", "Unused quota accumulates up to this many seconds.");
    OverQuota = row("gateway.over_quota", "goq", "gateway", choice(choices::OverQuota::ID))
        .when(&[is(Id::GatewayKind, &["proxy"]), any(&[RPM, TPM, CLIENT_BOUND])])
        .says("When over quota", "A request over its client's quota or concurrency waits at the gateway, or is rejected at once.");
    Lending = row("gateway.lending.on", "gl", "gateway", Kind::Flag(false))
        .when(&[is(Id::GatewayKind, &["proxy"]), TPM])
        .says("Lend idle quota", "Dynamic TPM: what clients leave of their token quotas beyond their floors is lent out while the service is not saturated.");
    LendingThreshold = row("gateway.lending.threshold", "glt", "gateway", number(0.0, 100.0, 0.8)).linear(0.0, 1.5, 0.05)
        .when(LENDING)
        .says("Lending threshold", "Load pressure from which no quota is lent; 1 is overload.");
    LendingFloor = row("gateway.lending.floor", "glf", "gateway", number(0.0, 1.0, 0.25)).linear(0.0, 1.0, 0.01)
        .when(LENDING)
        .says("Guaranteed share", "Share of its token quota that no other client can borrow, whatever the client used lately; at 1 nothing is lent.");
    MaxInSystem = row("gateway.concurrency", "gc", "gateway", whole(0.0, 1_000_000.0, 0.0)).unit("requests").linear(0.0, 200.0, 1.0)
        .when(&[any(&[is(Id::GatewayKind, &["direct"]), Condition::Checks("concurrency")])])
        .off_at_zero().says("Max concurrent requests", "Direct: a request that finds this many waiting and running is rejected (429; vLLM's max_num_queued_reqs). Proxy: at most this many are at the engine. 0 = no limit.");
    ClientConcurrency = row("gateway.client_concurrency", "gcc", "gateway", whole(0.0, 1_000_000.0, 0.0)).unit("requests").linear(0.0, 50.0, 1.0)
        .when(&[is(Id::GatewayKind, &["proxy"]), Condition::Checks("concurrency")])
        .off_at_zero().says("Max concurrent requests of a client", "Most requests of one client at the engine. 0 = no limit.");
    QueueRequests = row("gateway.queue.requests", "gqr", "gateway", whole(0.0, 1_000_000_000.0, 0.0)).unit("requests").linear(0.0, 500.0, 1.0)
        .when(&[is(Id::GatewayKind, &["proxy"]), Condition::Checks("queue"), HELD])
        .off_at_zero().says("Max queued requests", "Requests that wait at the gateway; one more is rejected. 0 = no limit.");
    QueueTokens = row("gateway.queue.tokens", "gqt", "gateway", number(0.0, 1e12, 0.0)).unit("tokens").linear(0.0, 200_000.0, 1000.0)
        .when(&[is(Id::GatewayKind, &["proxy"]), Condition::Checks("queue"), HELD])
        .off_at_zero().says("Max queued tokens at the gateway", "Predicted tokens of requests that wait at the gateway; a request beyond is rejected. 0 = no limit.");
    GatewayPool = row("gateway.kv.pool_tokens", "gkp", "gateway", whole(0.0, 1e12, 0.0)).unit("tokens").linear(0.0, 500_000.0, 1000.0)
        .when(PROXY)
        .says("KV pool of the proxy", "KV memory of the whole service that the proxy reckons with, in the check kv and in the load state; it may differ from what the engine has. 0 takes the engine's own.");
    KvHeadroom = row("gateway.kv.headroom", "gkh", "gateway", number(0.0, 0.9, 0.05)).linear(0.0, 0.5, 0.01)
        .when(&[is(Id::GatewayKind, &["proxy"]), Condition::Checks("kv")])
        .says("KV headroom", "Share of KV memory that the feasibility check leaves free: a request is admitted if its predicted KV is at most free − headroom − reserved.");
    KvLag = row("gateway.kv.lag_s", "gkl", "gateway", number(0.0, 3600.0, 0.1)).unit("s").linear(0.0, 10.0, 0.1)
        .when(&[is(Id::GatewayKind, &["proxy"]), Condition::Checks("kv")])
        .says("KV metric staleness", "How old the engine's KV usage may be when the proxy decides.");
    KvLeak = row("gateway.kv.leak", "gkx", "gateway", Kind::Flag(false))
        .when(&[is(Id::GatewayKind, &["proxy"]), Condition::Checks("kv")])
        .says("Leak reservations", "Fault injection: what is left of a KV reservation when its request ends is never released.");
    QueueTimeout = row("gateway.queue_timeout_s", "gt", "gateway", number(0.0, 10_000_000.0, 0.0)).unit("s").linear(0.0, 120.0, 1.0)
        .off_at_zero().says("Queue timeout", "A request that has waited this long leaves the queue (429). 0 = no limit.");
    TimeoutKind = row("gateway.timeout.kind", "gtk", "gateway", choice(choices::TimeoutKind::ID))
        .when(&[is(Id::GatewayKind, &["proxy"]), HELD])
        .says("Timeout is", "Fixed, or a multiple of the TTFT estimated at arrival, with the queue timeout (or 10 minutes) as its bound.");
    TimeoutTimes = row("gateway.timeout.times", "gtx", "gateway", number(0.01, 1000.0, 2.0)).linear(0.5, 10.0, 0.1)
        .when(&[is(Id::GatewayKind, &["proxy"]), is(Id::TimeoutKind, &["estimated"]), HELD])
        .says("Multiple of the estimate", "A request waits at most this multiple of its estimated TTFT.");
    Sweep = row("gateway.sweep_ms", "gs", "gateway", number(1.0, 60_000.0, 50.0)).unit("ms").linear(1.0, 1000.0, 1.0)
        .when(&[is(Id::GatewayKind, &["proxy"]), HELD])
        .says("Deadline sweep", "How often the gateway looks at deadlines and at quotas that have come back.");
    TtftBound = row("gateway.ttft.bound_s", "gtb", "gateway", number(0.0, 1e6, 0.0)).unit("s").linear(0.0, 60.0, 0.5)
        .when(&[is(Id::GatewayKind, &["proxy"]), Condition::Checks("ttft")])
        .says("TTFT deadline", "The check ttft rejects a request whose estimated TTFT is above this; 0 takes the SLO on TTFT.");
    EstimateOver = row("gateway.ttft.average_s", "gta", "gateway", number(0.1, 3600.0, 30.0)).unit("s").log(1.0, 300.0, 1.0)
        .when(PROXY)
        .says("TTFT estimate averages over", "TTFT estimate = waiting prompts ÷ the recent rate of first tokens, averaged over about this time.");
    RetryKind = row("gateway.retry.kind", "grk", "gateway", choice(choices::RetryKind::ID))
        .when(&[is(Id::GatewayKind, &["proxy"]), REJECTED])
        .says("Rejected clients", "No retry; retry at once; exponential backoff; or wait as long as Retry-After says.");
    RetryAttempts = row("gateway.retry.attempts", "gra", "gateway", whole(1.0, 100.0, 5.0)).linear(1.0, 20.0, 1.0)
        .when(RETRIES)
        .says("Attempts", "Most attempts of a request, the first included.");
    RoundTrip = row("gateway.retry.round_trip_s", "grt", "gateway", number(0.001, 3600.0, 0.05)).unit("s").log(0.001, 10.0, 0.001)
        .when(RETRIES)
        .says("Immediate-retry delay", "From a rejection to the next attempt of a client that retries at once.");
    RetryBase = row("gateway.retry.base_s", "grb", "gateway", number(0.001, 3600.0, 0.5)).unit("s").log(0.01, 60.0, 0.01)
        .when(&[is(Id::GatewayKind, &["proxy"]), is(Id::RetryKind, &["backoff"])])
        .says("Initial backoff", "Wait after the first rejection; it doubles each time.");
    RetryCap = row("gateway.retry.cap_s", "grc", "gateway", number(0.001, 36_000.0, 60.0)).unit("s").log(0.1, 600.0, 0.1)
        .when(&[is(Id::GatewayKind, &["proxy"]), is(Id::RetryKind, &["backoff"])])
        .says("Max backoff", "Backoff waits no longer.");
    RetryJitter = row("gateway.retry.jitter", "grj", "gateway", number(0.0, 1.0, 1.0)).linear(0.0, 1.0, 0.01)
        .when(&[is(Id::GatewayKind, &["proxy"]), is(Id::RetryKind, &["backoff", "honour"])])
        .says("Jitter", "Random part of a wait: backoff is shortened, Retry-After lengthened by up to this share.");
    PredictKind = row("gateway.predict.kind", "gp", "gateway", choice(choices::PredictKind::ID))
        .when(PROXY)
        .says("Output is predicted by", "max_tokens; the true length; that with noise and bias; P90 or P95 of the client's history; or its mean.");
    PredictBias = row("gateway.predict.bias", "gpb", "gateway", number(0.01, 100.0, 1.0)).log(0.2, 5.0, 0.01)
        .when(&[is(Id::GatewayKind, &["proxy"]), is(Id::PredictKind, &["noisy"])])
        .says("Bias", "Factor on the true length: above 1 predicts too much, below too little.");
    PredictNoise = row("gateway.predict.noise", "gpn", "gateway", number(0.0, 3.0, 0.3)).linear(0.0, 1.5, 0.01)
        .when(&[is(Id::GatewayKind, &["proxy"]), is(Id::PredictKind, &["noisy"])])
        .says("Noise", "Standard deviation of the logarithm of a lognormal factor on the true length.");
    PredictHalfLife = row("gateway.predict.half_life", "gph", "gateway", number(1.0, 1e6, 100.0)).unit("requests").log(1.0, 1000.0, 1.0)
        .when(HISTORY)
        .says("History half-life", "After this many more outputs of its client an output counts half.");
    PredictCold = row("gateway.predict.cold_start", "gpc", "gateway", whole(1.0, 10_000.0, 5.0)).unit("requests").linear(1.0, 50.0, 1.0)
        .when(HISTORY)
        .says("Cold start", "Before a client has this many outputs, max_tokens is taken.");
    LoadKv = row("gateway.load.kv", "glk", "gateway", number(0.0, 1.0, 0.95)).linear(0.0, 1.0, 0.01)
        .when(PROXY)
        .off_at_zero().says("Overload: KV use", "Share of KV memory in use that counts as overload; 0 leaves it out.");
    LoadWait = row("gateway.load.wait_s", "glw", "gateway", number(0.0, 1e6, 5.0)).unit("s").linear(0.0, 60.0, 0.5)
        .when(&[is(Id::GatewayKind, &["proxy"]), HELD])
        .off_at_zero().says("Overload: wait", "Longest wait at the gateway for the engine that counts as overload; waits of a client over its own quota or concurrency do not count. 0 leaves it out.");
    LoadStep = row("gateway.load.step_ms", "gls", "gateway", number(0.0, 1e6, 0.0)).unit("ms").linear(0.0, 500.0, 1.0)
        .when(PROXY)
        .off_at_zero().says("Overload: step", "Time between tokens that counts as overload; 0 leaves it out.");
    LoadNear = row("gateway.load.near", "gln", "gateway", number(0.01, 1.0, 0.8)).linear(0.1, 1.0, 0.01)
        .when(PROXY)
        .says("Nearly overloaded from", "Pressure at which the service counts as nearly overloaded; 1 is overload.");
    LoadHysteresis = row("gateway.load.hysteresis", "glh", "gateway", number(0.0, 0.95, 0.1)).linear(0.0, 0.5, 0.01)
        .when(PROXY)
        .says("Hysteresis", "The exit threshold lies this fraction below the entry threshold; 0 allows flapping.");
    LoadAverage = row("gateway.load.average_s", "gla", "gateway", number(0.0, 3600.0, 2.0)).unit("s").linear(0.0, 30.0, 0.5)
        .when(PROXY)
        .says("Pressure averages over", "Time constant of the average of the pressure.");
    LoadDwell = row("gateway.load.dwell_s", "gld", "gateway", number(0.0, 3600.0, 2.0)).unit("s").linear(0.0, 60.0, 0.5)
        .when(PROXY)
        .says("Minimum dwell time", "A load state lasts at least this long.");
    LoadPolicy = row("gateway.load.policy", "glp", "gateway", choice(choices::LoadPolicy::ID))
        .when(PROXY)
        .says("When overloaded", "Admit all; throttle clients above an equal share; or load shedding: reject all new requests.");
    GatewayOrder = row("gateway.order", "gor", "gateway", choice(choices::Order::GATEWAY))
        .when(&[is(Id::GatewayKind, &["proxy"]), HELD])
        .says("Scheduling policy of the gateway", "The order in which the gateway admits requests. Prices, weights, lift, quantum and classes are those of the engine's scheduling policies.");

    FleetGpu = row("fleet.gpu", "gpu", "fleet", Kind::Choice(&GPU_IDS))
        .when(HARDWARE)
        .says("GPU", "What the replicas run on.");
    FleetModel = row("fleet.model", "mdl", "fleet", Kind::Choice(&MODEL_IDS))
        .when(HARDWARE)
        .says("Model", "What they serve.");
    TensorParallel = row("fleet.tensor_parallel", "tp", "fleet", whole(1.0, 64.0, 1.0)).unit("GPUs").linear(1.0, 8.0, 1.0)
        .when(HARDWARE)
        .says("Tensor parallel", "How many GPUs share every layer; two all-reduces per layer.");
    PipelineParallel = row("fleet.pipeline_parallel", "pp", "fleet", whole(1.0, 64.0, 1.0)).linear(1.0, 8.0, 1.0)
        .when(HARDWARE)
        .says("Pipeline stages", "Into how many stages the layers are cut; each has its own GPUs and sends its activations to the next.");
    Weights = row("fleet.weights", "wt", "fleet", choice(choices::Weights::ID))
        .when(ROOFLINE)
        .says("Weights", "Format of the layers' matrices. Products run at FP8 where weights are FP8 and the GPU has it, else at 16 bits.");
    KvFormat = row("fleet.kv_format", "kvf", "fleet", choice(choices::KvFormat::ID))
        .when(ROOFLINE)
        .says("KV format", "Format of cached keys and values.");
    KvPool = row("fleet.kv_pool", "kvp", "fleet", choice(choices::KvPool::ID))
        .when(HARDWARE)
        .says("KV memory", "GPU memory minus weights, activations and margin; or the memory pool that you set.");
    MemoryPlan = row("fleet.memory_plan", "mpl", "fleet", choice(choices::MemoryPlan::ID))
        .when(&[is(Id::KvPool, &["planned"])])
        .says("Memory plan", "Counts everything, or as Vidur does: the layers' matrices only, and whole requests of the longest length.");
    MemoryMargin = row("fleet.memory_margin", "mmg", "fleet", number(0.0, 0.9, 0.1)).linear(0.0, 0.5, 0.01)
        .when(&[
            is(Id::KvPool, &["planned"]),
            any(&[is_not(Id::MemoryPlan, &["whole"]), is(Id::KvCacheGib, &["0"])]),
        ])
        .says("Memory margin", "Share of each GPU's memory that is left alone.");
    KvCacheGib = row("fleet.kv_cache_gib", "kvg", "fleet", number(0.0, 100_000.0, 0.0)).unit("GiB").linear(0.0, 128.0, 0.5)
        .when(&[is(Id::MemoryPlan, &["whole"])])
        .says("KV cache size", "Memory of each GPU for the KV cache (vLLM's --kv-cache-memory-bytes, which is per GPU, too); the bytes of a token make the replica's number of tokens of it, and the memory margin is not used. 0 = planned.");
    Replicas = row("fleet.replicas", "rep", "fleet", whole(1.0, 1024.0, 1.0)).linear(1.0, 16.0, 1.0)
        .says("Replicas", "How many equal servers share the traffic; each has its own waiting queue and memory pool.");
    Router = row("fleet.router", "rt", "fleet", choice(choices::Router::ID))
        .when(&[above(Id::Replicas, 1.0)])
        .says("Router", "Load-balancing policy; requests do not migrate. Prefix affinity takes the replica that was sent the longest matching prefix (cache_aware of SGLang's router), adapter affinity one that was sent the adapter, unless it is overloaded; what many requests share is kept on many replicas.");
    ChunkTokens = row("scheduler.chunk_tokens", "chk", "queue", whole(1.0, 1_000_000.0, 512.0)).unit("tokens").log(16.0, 8192.0, 1.0)
        .when(&[is(Id::SchedulerKind, &["sarathi"])])
        .says("Chunk size", "Chunked prefill: decode tokens and chunks of prompts together are at most this many tokens an iteration.");

    BlockSize = row("scheduler.block_size", "blk", "memory", whole(1.0, 4096.0, 16.0)).unit("tokens").log(1.0, 256.0, 1.0)
        .when(&[is(Id::SchedulerKind, &["static", "orca", "vllm", "sarathi", "vllm_v1"])])
        .says("KV block size", "KV memory is allocated in blocks of this many tokens; S-LoRA and LightLLM allocate it token by token.");
    Allocation = row("scheduler.allocation", "alc", "memory", choice(choices::Allocation::ID))
        .when(&[is(Id::SchedulerKind, PAGED)])
        .says("Allocation", "How KV blocks are allocated: as requests grow, with or without a share left free at an admission; or all that the longest output may need at once, so that no request is preempted. vLLM v1 allocates as requests grow.");
    Watermark = row("scheduler.watermark", "wmk", "memory", number(0.0, 1.0, 0.01)).linear(0.0, 0.2, 0.005)
        .when(&[any(&[is(Id::Allocation, &["watermark"]), is(Id::SchedulerKind, &["vllm_v1"])])])
        .says("Watermark", "The share of KV blocks that an admission leaves free for the outputs of the running requests. vLLM v1's default is 0.");
    Preemption = row("scheduler.preemption", "evi", "memory", choice(choices::Preemption::ID))
        .when(&[is(Id::Allocation, &["watermark", "on_demand"])])
        .says("Preemption", "What becomes of a preempted request: its prompt and output so far are recomputed, or swapped to the host and back, or the output is generated again token by token (where prompts are prefilled in chunks). vLLM v1 recomputes.");
    SwapRate = row("fleet.swap_gb_per_s", "swr", "memory", number(0.001, 100_000.0, 31.5)).unit("GB/s").log(1.0, 1000.0, 0.5)
        .when(SWAPS)
        .says("Link to the host", "How fast each GPU copies KV blocks to its host and back; PCIe 4.0 with 16 lanes carries 31.5 GB/s.");
    SwapSpace = row("fleet.swap_space_gib", "sws", "memory", number(0.0, 1_000_000.0, 4.0)).unit("GiB").linear(0.0, 64.0, 0.5)
        .when(SWAPS)
        .says("Swap space", "Host memory for preempted requests, for each GPU (vLLM: 4 GiB); requests that do not fit are recomputed.");
    KvBytesPerToken = row("fleet.kv_bytes_per_token", "kvb", "memory", whole(1.0, 100_000_000.0, 524_288.0)).unit("bytes").log(10_000.0, 2_000_000.0, 1.0)
        .when(&[is(Id::Preemption, &["swap"]), is(Id::CostKind, &["linear"])])
        .says("KV bytes a token", "Keys and values of one token on one GPU; a 7B Llama has 2 x 32 layers x 4096 numbers of 2 bytes.");
    PrefixCache = row("scheduler.prefix_cache", "pfx", "memory", Kind::Flag(true))
        .also(&["scheduler.enable_prefix_caching"])
        .when(VLLM_V1)
        .says("Prefix caching", "Full KV blocks of prompts and outputs are kept, for requests whose prompts begin alike, where the traffic tells which do, and for preempted requests (vLLM's --enable-prefix-caching).");
    MaxTotalTokens = row("scheduler.max_total_tokens", "pool", "memory", whole(16.0, 100_000_000.0, 14_500.0)).unit("tokens").log(1000.0, 200_000.0, 1.0)
        .when(&[any(&[LINEAR, is(Id::KvPool, &["given"])])])
        .says("Memory pool", "KV cache and adapters share this many token slots (max_total_token_num); LoRA slots and resident adapters are taken from it when the server starts. Where KV memory is planned from the GPU, it sets only the default of the token budget.");

    AdapterMemory = row("adapters.memory", "am", "memory", choice(choices::AdapterMemory::ID))
        .when(&[HAS_ADAPTERS])
        .says("Adapter memory", "Unified: in the KV pool while requests use them, as in S-LoRA, its default and LightLLM's. Slots: adapters.max_loras slots of one size, set apart when the server starts, the least recently used replaced, as in vLLM, the default of the others. Resident: all in GPU memory from the start.");
    MaxLoras = row("adapters.max_loras", "aml", "memory", whole(1.0, 100_000.0, 8.0)).linear(1.0, 64.0, 1.0)
        .when(&[SLOTS])
        .says("LoRA slots", "Most distinct adapters of running requests (vLLM's --max-loras); a waiting request whose adapter would be one more is passed over. The default of 8 is our choice: vLLM's is 1.");
    MaxLoraRank = row("adapters.max_lora_rank", "amr", "memory", whole(0.0, 4096.0, 0.0)).linear(0.0, 512.0, 8.0)
        .when(&[SLOTS])
        .says("Largest LoRA rank", "Rank for which each slot has memory and to which LoRA operators pad (vLLM's --max-lora-rank); a request whose adapter has a larger one is rejected. 0 is the largest rank of the workload.");
    MaxCpuLoras = row("adapters.max_cpu_loras", "amc", "memory", whole(0.0, 100_000.0, 0.0)).linear(0.0, 400.0, 1.0)
        .when(&[SLOTS, is(Id::CostKind, &["profile", "roofline"])])
        .says("LoRAs on the host", "Adapters that the host keeps, those in slots counted (vLLM's --max-cpu-loras); others are read from the disk. 0 is as many as slots, vLLM's default.");
    HostRate = row("adapters.host_gb_per_s", "ahr", "memory", number(0.001, 100_000.0, 31.5)).unit("GB/s").log(1.0, 1000.0, 0.5)
        .when(&[is(Id::AdapterMemory, &["unified", "slots"]), is(Id::CostKind, &["profile", "roofline"])])
        .says("Adapters from the host", "How fast an adapter is copied to each GPU; PCIe 4.0 with 16 lanes carries 31.5 GB/s. The linear cost has cost.adapters.load_base_ms and load_per_rank_ms in its place.");
    DiskRate = row("adapters.disk_gb_per_s", "adr", "memory", number(0.001, 100_000.0, 3.5)).unit("GB/s").log(0.1, 100.0, 0.1)
        .when(&[SLOTS, is(Id::CostKind, &["profile", "roofline"])])
        .says("Adapters from the disk", "How fast an adapter that the host does not keep is read; an NVMe disk on PCIe 3.0 gives 3.5 GB/s.");

    Popularity = row("workload.adapters.popularity", "pop", "adapters", choice(choices::Popularity::ADAPTERS))
        .when(&[SOME_ADAPTERS])
        .beyond_tables(KNOWS_ADAPTERS)
        .says("Adapter popularity", "Distribution of the adapters that requests ask for.");
    AdapterZipf = row("workload.adapters.zipf_s", "as", "adapters", number(0.0, 10.0, 1.0)).linear(0.0, 3.0, 0.01)
        .when(&[is(Id::Popularity, &["zipf"])])
        .beyond_tables(KNOWS_ADAPTERS)
        .says("Zipf exponent of adapters", "The k-th adapter gets a share proportional to k to the power of minus this.");
    AdapterSigma = row("workload.adapters.sigma", "al", "adapters", number(0.0, 10.0, 2.0)).linear(0.0, 4.0, 0.01)
        .when(&[is(Id::Popularity, &["lognormal"])])
        .beyond_tables(KNOWS_ADAPTERS)
        .says("Lognormal spread of adapters", "Standard deviation of the logarithm of the adapters' rates; 0 makes all alike.");
    AdapterDecay = row("workload.adapters.decay", "ag", "adapters", number(0.0, 10.0, 0.2)).linear(0.0, 1.0, 0.001)
        .when(&[is(Id::Popularity, &["geometric"])])
        .beyond_tables(KNOWS_ADAPTERS)
        .says("Decay of adapters", "Each adapter gets exp(-decay) times the share of the one before it.");
    AdapterShares = row("workload.adapters.shares", "shares", "adapters", Kind::List { min: 0.0, max: 1e9, whole: false, default: &[7.0, 2.0, 1.0] })
        .when(&[is(Id::Popularity, &["list"])])
        .beyond_tables(KNOWS_ADAPTERS)
        .says("Shares", "Relative share of each adapter in turn; adapters beyond the list get none.");
    Ranks = row("workload.adapters.ranks", "ranks", "adapters", Kind::List { min: 1.0, max: 4096.0, whole: true, default: &[8.0] })
        .when(&[HAS_ADAPTERS])
        .says("Ranks", "LoRA ranks, assigned to the adapters cyclically.");

    Users = row("workload.users.count", "u", "users", whole(1.0, 1_000_000.0, 10.0)).log(1.0, 1000.0, 1.0)
        .beyond_tables(KNOWS_USERS)
        .says("Users", "How many users send requests; the label is drawn independently of the adapter.");
    UserPopularity = row("workload.users.popularity", "up", "users", choice(choices::Popularity::USERS))
        .when(&[is(Id::Loop, &["open"]), SOME_USERS])
        .beyond_tables(KNOWS_USERS)
        .says("User popularity", "Distribution of the users' shares.");
    UserSigma = row("workload.users.sigma", "ul", "users", number(0.0, 10.0, 2.0)).linear(0.0, 4.0, 0.01)
        .when(&[is(Id::UserPopularity, &["lognormal"])])
        .beyond_tables(KNOWS_USERS)
        .says("Lognormal spread of users", "Standard deviation of the logarithm of the users' rates; 0 makes all alike.");
    UserDecay = row("workload.users.decay", "ug", "users", number(0.0, 10.0, 0.2)).linear(0.0, 1.0, 0.001)
        .when(&[is(Id::UserPopularity, &["geometric"])])
        .beyond_tables(KNOWS_USERS)
        .says("Decay of users", "Each user sends exp(-decay) times what the one before sends.");
    UserAlpha = row("workload.users.alpha", "ua", "users", number(0.01, 32.0, 0.3)).linear(0.05, 1.0, 0.01)
        .when(&[is(Id::UserPopularity, &["power"])])
        .beyond_tables(KNOWS_USERS)
        .says("Skew of users", "S-LoRA's power law over users: smaller puts more requests on the first.");
    UserShares = row("workload.users.shares", "ush", "users", Kind::List { min: 0.0, max: 1e9, whole: false, default: &[7.0, 2.0, 1.0] })
        .when(&[is(Id::UserPopularity, &["list"])])
        .beyond_tables(KNOWS_USERS)
        .says("Shares of users", "Relative share of each user in turn; users beyond the list send nothing.");
    UserZipf = row("workload.users.zipf_s", "us", "users", number(0.0, 10.0, 1.0)).linear(0.0, 3.0, 0.01)
        .when(&[is(Id::UserPopularity, &["zipf"])])
        .beyond_tables(KNOWS_USERS)
        .says("Zipf exponent of users", "The k-th user sends a share proportional to k to the power of minus this; 0 makes all alike.");

    ClientKind = row("workload.clients.kind", "clk", "clients", choice(choices::ClientKind::ID))
        .says("Users as clients", "Whether all users share one arrival process, or each is a client with a process, lengths and an adapter of its own.");
    ClientCvs = row("workload.clients.cvs", "clc", "clients", Kind::List { min: 0.05, max: 32.0, whole: false, default: &[1.0] })
        .when(&[is(Id::ClientKind, &["each"]), is(Id::ArrivalKind, &["gamma"])])
        .says("Burstiness of clients", "The cv of each client's own arrivals, assigned cyclically.");
    ClientInputScales = row("workload.clients.input_scales", "cli", "clients", Kind::List { min: 0.001, max: 1000.0, whole: false, default: &[1.0] })
        .when(&[is(Id::ClientKind, &["each"])])
        .says("Prompt factors of clients", "Prompt lengths of each client are multiplied by these, assigned cyclically.");
    ClientOutputScales = row("workload.clients.output_scales", "clo", "clients", Kind::List { min: 0.001, max: 1000.0, whole: false, default: &[1.0] })
        .when(&[is(Id::ClientKind, &["each"])])
        .says("Output factors of clients", "Output lengths of each client are multiplied by these, assigned cyclically.");
    ClientAdapters = row("workload.clients.adapters", "cla", "clients", Kind::List { min: -1.0, max: 99_999.0, whole: true, default: &[-1.0] })
        .when(&[is(Id::ClientKind, &["each"]), HAS_ADAPTERS])
        .beyond_tables(KNOWS_ADAPTERS)
        .says("Adapters of clients", "The adapter that each client always asks for, assigned cyclically; -1 draws one by the adapters' own shares.");

    Loop = row("workload.loop", "loop", "sessions", choice(choices::Loop::ID))
        .says("Loop", "Open: requests arrive at their rate, whatever the server does. Closed: each user waits for the output of its request, thinks, and sends the next one.");
    ClosedRequests = row("workload.closed.requests", "cr", "sessions", whole(1.0, 5_000_000.0, 10_000.0)).unit("requests").log(100.0, 100_000.0, 1.0)
        .when(&[is(Id::Loop, &["closed"])])
        .says("Most requests", "The closed loop ends after this many requests, shared out evenly among the users, or at the duration D, whichever comes first.");
    ThinkKind = row("workload.think.kind", "tk", "sessions", choice(choices::ThinkKind::ID))
        .when(&[any(&[is(Id::Loop, &["closed"]), is(Id::SessionKind, TALKS)])])
        .says("Think times", "Distribution of the time between an output and the same user's next request.");
    ThinkMean = row("workload.think.mean_s", "tm", "sessions", number(0.0, 1_000_000.0, 10.0)).unit("s").linear(0.0, 120.0, 0.1)
        .when(&[any(&[is(Id::Loop, &["closed"]), is(Id::SessionKind, TALKS)])])
        .says("Mean think time", "How long a user thinks in the mean before the next request.");
    ThinkSigma = row("workload.think.sigma", "tg", "sessions", number(0.01, 3.0, 1.0)).linear(0.05, 2.5, 0.01)
        .when(&[is(Id::ThinkKind, &["lognormal"])])
        .says("Spread of think times", "Standard deviation of the logarithm of a think time.");
    SessionKind = row("workload.sessions.kind", "sk", "sessions", choice(choices::SessionKind::ID))
        .says("Sessions", "Single requests, or multi-turn chats with growing context: the next turn after the previous reply, or at times fixed in advance.");
    TurnKind = row("workload.sessions.turns.kind", "tuk", "sessions", choice(choices::TurnKind::ID))
        .when(&[is(Id::SessionKind, TALKS)])
        .says("Turns", "Distribution of the number of requests in a session. The rate R stays that of requests.");
    TurnMean = row("workload.sessions.turns.mean", "tum", "sessions", number(1.0, 10_000.0, 4.0)).log(1.0, 100.0, 0.1)
        .when(&[is(Id::SessionKind, TALKS)])
        .says("Mean turns", "Mean number of requests in a session; a fixed number is rounded to a whole one.");
    TurnSigma = row("workload.sessions.turns.sigma", "tus", "sessions", number(0.01, 3.0, 0.8)).linear(0.05, 2.5, 0.01)
        .when(&[is(Id::TurnKind, &["lognormal"])])
        .says("Spread of turns", "Standard deviation of the logarithm of the number of turns.");
    ContextCap = row("workload.sessions.context_cap", "cc", "sessions", whole(1.0, MOST, 2048.0)).unit("tokens").log(256.0, 131_072.0, 1.0)
        .when(&[is(Id::SessionKind, TALKS)])
        .says("Longest context", "No prompt of a session is longer than this.");
    AtCap = row("workload.sessions.at_cap", "ac", "sessions", choice(choices::AtCap::ID))
        .when(&[is(Id::SessionKind, TALKS)])
        .says("At the longest context", "Drop the oldest part, end the session, or begin anew with the user's own words.");
    AnswerTime = row("workload.sessions.answer_s", "sa", "sessions", number(0.0, 100_000.0, 5.0)).unit("s").linear(0.0, 60.0, 0.1)
        .when(&[is(Id::SessionKind, &["timed"]), is(Id::Loop, &["open"])])
        .says("Assumed output time", "With times fixed in advance, how long each output is taken to last.");

    PrefixKind = row("workload.prefix.kind", "pk", "prefix", choice(choices::PrefixKind::ID))
        .says("Shared prefixes", "Whether prompts share prefixes: a text for all, then one for each adapter, then one for each user, then the session so far.");
    BlockTokens = row("workload.prefix.block_tokens", "pbt", "prefix", whole(1.0, 65_536.0, 16.0)).unit("tokens").log(1.0, 1024.0, 1.0)
        .when(&[is(Id::PrefixKind, &["tree"])])
        .says("Prefix block size", "Prefixes are given in blocks of this many tokens: vLLM's caches have 16, Mooncake's trace 512.");
    SystemTokens = row("workload.prefix.system_tokens", "pst", "prefix", whole(0.0, MOST, 128.0)).unit("tokens").linear(0.0, 4096.0, 1.0)
        .when(&[is(Id::PrefixKind, &["tree"])])
        .says("System prompt", "Every prompt begins with these; they come on top of the drawn length.");
    AdapterTokens = row("workload.prefix.adapter_tokens", "pat", "prefix", whole(0.0, MOST, 64.0)).unit("tokens").linear(0.0, 4096.0, 1.0)
        .when(&[is(Id::PrefixKind, &["tree"])])
        .says("Per-adapter prefix", "Tokens that the requests of one adapter share behind the system prompt.");
    UserTokens = row("workload.prefix.user_tokens", "put", "prefix", whole(0.0, MOST, 0.0)).unit("tokens").linear(0.0, 4096.0, 1.0)
        .when(&[is(Id::PrefixKind, &["tree"])])
        .says("Per-user prefix", "Tokens that one user's requests to an adapter share behind that.");

    Calibration = row("cost.calibration", "cal", "cost", Kind::Choice(&CALIBRATION_IDS))
        .when(&[LINEAR])
        .says("Calibration", "A named set of coefficients with its origin; it sets the defaults of all others here and of the memory pool.");
    CostKind = row("cost.kind", "cost", "cost", choice(choices::CostKind::ID))
        .says("Iteration-time model", "How the time of an iteration is computed: linear in tokens and requests, from operators that Vidur timed, or a roofline of FLOPs and bytes.");
    Corrections = row("cost.corrections", "cfit", "cost", choice(choices::Corrections::ID))
        .when(ROOFLINE)
        .says("Corrections", "Efficiencies and fixed times fitted on measured operators, or none: the data sheet's peaks.");
    HostOverhead = row("cost.host_overhead", "ho", "cost", choice(choices::HostOverhead::ID))
        .when(&[is(Id::CostKind, &["profile"])])
        .says("CPU overhead", "CPU overhead of an iteration by batch size, measured on vLLM (early 2024); or none, as in Vidur.");
    HostBase = row("cost.host.base_ms", "hb", "cost", number(0.0, 10_000.0, 0.126)).unit("ms").linear(0.0, 10.0, 0.01)
        .when(ROOFLINE)
        .says("Host, constant", "Scheduling and preparing an iteration, in each pipeline stage; the defaults are BLIS's fit to vLLM on an H100.");
    HostPerRequest = row("cost.host.per_request_ms", "hr", "cost", number(0.0, 100.0, 0.0044)).unit("ms").linear(0.0, 0.1, 0.0001)
        .when(ROOFLINE)
        .says("Host, each request", "Added for each request of the iteration; vLLM of early 2024 took about 0.05 ms.");
    HostLaunch = row("cost.host.launch_per_layer_ms", "hl", "cost", number(0.0, 100.0, 0.0)).unit("ms").linear(0.0, 1.0, 0.01)
        .when(ROOFLINE)
        .says("Launch, each layer", "An iteration takes at least this for each layer, while the host launches its kernels; 0 where CUDA graphs are replayed, about 0.5 without them in 2023.");
    PrefillBase = row("cost.linear.prefill_base_ms", "pb", "cost", number(0.0, 100_000.0, 5.0)).unit("ms").linear(0.0, 100.0, 0.1)
        .when(&[LINEAR])
        .says("Prefill, constant", "Time of a prefill iteration without any token.");
    PrefillPerToken = row("cost.linear.prefill_per_token_ms", "pt", "cost", number(0.0, 1000.0, 0.22)).unit("ms").linear(0.0, 1.0, 0.001)
        .when(&[LINEAR])
        .says("Prefill, each token", "Added for each prompt token.");
    DecodeBase = row("cost.linear.decode_base_ms", "db", "cost", number(0.0, 100_000.0, 18.16)).unit("ms").linear(0.0, 100.0, 0.01)
        .when(&[LINEAR])
        .says("Decode, constant", "Time of a decode iteration without any request.");
    DecodePerRequest = row("cost.linear.decode_per_request_ms", "dr", "cost", number(0.0, 1000.0, 0.216)).unit("ms").linear(0.0, 2.0, 0.001)
        .when(&[LINEAR])
        .says("Decode, each request", "Added for each request of the batch.");
    DecodePerKv = row("cost.linear.decode_per_kv_token_ms", "dk", "cost", number(0.0, 10.0, 0.00189)).unit("ms").linear(0.0, 0.02, 0.00001)
        .when(&[LINEAR])
        .says("Decode, each KV token", "Added for each token that attention reads.");
    Overhead = row("cost.linear.overhead_ms", "oh", "cost", number(0.0, 10_000.0, 1.45)).unit("ms").linear(0.0, 20.0, 0.05)
        .when(&[LINEAR])
        .says("Overhead", "Scheduling and sampling, added to each decode iteration.");
    LoadBase = row("cost.adapters.load_base_ms", "lb", "cost", number(0.0, 100_000.0, 4.0)).unit("ms").linear(0.0, 50.0, 0.1)
        .when(&[LINEAR, HAS_ADAPTERS, LOADED])
        .says("Adapter load, constant", "Time to bring one adapter to the GPU, without its weights.");
    LoadPerRank = row("cost.adapters.load_per_rank_ms", "lr", "cost", number(0.0, 1000.0, 1.8)).unit("ms").linear(0.0, 10.0, 0.01)
        .when(&[LINEAR, HAS_ADAPTERS, LOADED])
        .says("Adapter load, each rank", "Added for each unit of the adapter's rank.");
    DecodePerRank = row("cost.adapters.decode_per_rank_ms", "dpr", "cost", number(0.0, 100.0, 0.003)).unit("ms").linear(0.0, 0.05, 0.0001)
        .when(&[LINEAR, HAS_ADAPTERS])
        .says("Decode, each rank", "Added to a decode iteration for each unit of rank, summed over the batch.");
    DecodeActive = row("cost.adapters.decode_active_ms", "da", "cost", number(0.0, 1000.0, 0.5)).unit("ms").linear(0.0, 10.0, 0.01)
        .when(&[LINEAR, HAS_ADAPTERS])
        .says("Decode with adapters", "Added to a decode iteration when any request uses an adapter.");
    PrefillFactor = row("cost.adapters.prefill_factor", "pf", "cost", number(1.0, 100.0, 1.04)).linear(1.0, 2.0, 0.01)
        .when(&[LINEAR, HAS_ADAPTERS])
        .says("Prefill with adapters", "A prefill takes this many times as long when any request uses an adapter.");

    SloTtft = row("slo.ttft_s", "slot", "slo", number(0.001, 100_000.0, 6.0)).unit("s").log(0.1, 60.0, 0.1).scores()
        .says("TTFT bound", "A request meets the SLO if its first token comes sooner than this.");
    SloTpot = row("slo.tpot_s", "slob", "slo", number(0.0, 100_000.0, 0.2)).unit("s").linear(0.0, 1.0, 0.01).scores()
        .off_at_zero().says("TPOT bound", "A request meets the SLO if its mean time per output token after the first (TPOT) is at most this. 0 = off.");
    SloTbt = row("slo.tbt_s", "sltb", "slo", number(0.0, 100_000.0, 0.0)).unit("s").linear(0.0, 2.0, 0.01).scores()
        .off_at_zero().says("TBT bound", "A request meets the SLO if the largest gap between two of its tokens (TBT) is at most this. 0 = off.");

    CapacityQuantile = row("capacity.quantile", "cpq", "capacity", number(0.5, 0.999, 0.99)).linear(0.5, 0.999, 0.001).scores()
        .says("Quantile", "Percentile at which each SLO must hold, as a share.");
    CapacityTtft = row("capacity.ttft_s", "cpt", "capacity", number(0.0, 100_000.0, 0.0)).unit("s").linear(0.0, 20.0, 0.1).scores()
        .off_at_zero().says("TTFT at most", "The quantile of TTFT may be at most this. 0 = no limit.");
    CapacityTbt = row("capacity.tbt_s", "cpb", "capacity", number(0.0, 100_000.0, 0.0)).unit("s").linear(0.0, 1.0, 0.01).scores()
        .off_at_zero().says("TBT at most", "The quantile of the gaps between tokens may be at most this. 0 = no limit.");
    CapacityE2e = row("capacity.e2e_s", "cpe", "capacity", number(0.0, 100_000.0, 0.0)).unit("s").linear(0.0, 120.0, 1.0).scores()
        .off_at_zero().says("E2E at most", "The quantile of the end-to-end time may be at most this. 0 = no limit.");
    CapacityQueue = row("capacity.queue_s", "cpw", "capacity", number(0.0, 100_000.0, 5.0)).unit("s").linear(0.0, 20.0, 0.1).scores()
        .off_at_zero().says("Queueing at most", "The quantile of the time in the waiting queue may be at most this, as in Vidur's search. 0 = no limit.");
    CapacityQueueQuantile = row("capacity.queue_quantile", "cqq", "capacity", number(0.5, 0.999, 0.99)).linear(0.5, 0.999, 0.001).scores()
        .says("Quantile of queueing", "The share of requests that must meet the bound on queueing; Sarathi-Serve's authors bound the median, 0.5.");
    CapacityTolerance = row("capacity.tolerance", "cpl", "capacity", number(0.001, 1.0, 0.02)).log(0.001, 0.2, 0.001).scores()
        .says("Tolerance", "The search ends when the rate that fails is at most this share above the rate that passes.");
    CapacityMostRequests = row("capacity.most_requests", "cpn", "capacity", whole(0.0, 5_000_000.0, 500_000.0)).log(1000.0, 1_000_000.0, 1000.0).scores()
        .says("Longest run", "Where a run of the duration is too short for the tolerance, it is made longer, up to this many requests; 0 keeps the duration.");
    UsdPerGpuHour = row("capacity.usd_per_gpu_hour", "cpp", "capacity", number(0.0, 100_000.0, 0.0)).unit("USD").linear(0.0, 10.0, 0.01).scores()
        .says("Price of a GPU hour", "Your own price, for every GPU; 0 takes the listed price of the GPU, where there is one.");
    PriceKind = row("capacity.price_kind", "cpi", "capacity", choice(choices::PriceKind::ID)).scores()
        .when(&[is(Id::CostKind, &["profile", "roofline"]), is(Id::UsdPerGpuHour, &["0"])])
        .says("Kind of price", "Which listed prices are compared; only GPUs with a price of this kind are ranked. Estimates are what owning a GPU costs, by a cost model.");
    CapacityGrid = row("capacity.grid", "cpg", "capacity", Kind::Text { most: 2000 }).scores()
        .says("Grid", "Parameters with the values to try, as fleet.replicas=1,2,4|scheduler.kind=vllm,sarathi: every combination is searched.");

    TimeScale = row("workload.trace.time_scale", "ts", "trace", number(0.0001, 10_000.0, 1.0)).log(0.1, 10.0, 0.01)
        .says("Time scale", "Multiplies every time of a loaded file: 2 is half as fast, with bursts stretched too.");
    TraceTurns = row("workload.trace.turns", "tt", "trace", choice(choices::TraceTurns::ID))
        .when(&[is(Id::SessionKind, TALKS)])
        .says("Turns of sessions", "Send the turns of a loaded file's sessions at their own times, or hold each until the output before it is there.");
    RateScale = row("workload.trace.rate_scale", "rs", "trace", number(0.001, 1000.0, 1.0)).log(0.1, 10.0, 0.01)
        .says("Rate scale", "Thins a loaded file or overlays time-shifted copies of it, so that its rate is multiplied and its clock stays.");

    CurveKind = row("workload.curve.kind", "ck", "curve", choice(choices::CurveKind::ID))
        .when(&[is(Id::Loop, &["open"])])
        .says("Rate over time", "How the rate moves around R: constant, a simple shape, one of AIBrix's four patterns, a sine that starts at R as theirs do, or points of your own.");
    CurveFactor = row("workload.curve.factor", "cf", "curve", number(0.0, 10_000.0, 2.0)).linear(0.0, 10.0, 0.1)
        .when(&[is(Id::CurveKind, CHANGES)])
        .says("Changed rate", "The rate after the ramp or step, or in the spike, as a multiple of R.");
    CurveStart = row("workload.curve.start_s", "cs", "curve", number(0.0, 10_000_000.0, 100.0)).unit("s").linear(0.0, 1000.0, 1.0)
        .when(&[is(Id::CurveKind, CHANGES)])
        .says("Change begins", "When the ramp, the step or the spike begins.");
    CurveEnd = row("workload.curve.end_s", "ce", "curve", number(0.0, 10_000_000.0, 200.0)).unit("s").linear(0.0, 1000.0, 1.0)
        .when(&[is(Id::CurveKind, &["ramp", "spike"])])
        .says("Change ends", "When the ramp or the spike ends.");
    CurveSwing = row("workload.curve.swing", "csw", "curve", number(0.0, 1.0, 0.5)).linear(0.0, 1.0, 0.01)
        .when(&[is(Id::CurveKind, &["diurnal", "sine"])])
        .says("Amplitude", "Peak above R, as a share of R.");
    CurvePeriod = row("workload.curve.period_s", "cp", "curve", number(1.0, 10_000_000.0, 100.0)).unit("s").log(10.0, 86_400.0, 1.0)
        .when(&[is(Id::CurveKind, &["diurnal", "sine"])])
        .says("Period", "From crest to crest; a day is 86,400 s.");
    CurvePeak = row("workload.curve.peak_s", "cpk", "curve", number(0.0, 10_000_000.0, 50.0)).unit("s").linear(0.0, 1000.0, 1.0)
        .when(&[is(Id::CurveKind, &["diurnal"])])
        .says("Crest", "A time at which the rate is largest.");
    CurvePoints = row("workload.curve.points", "pts", "curve", Kind::List { min: 0.0, max: 1e7, whole: false, default: &[0.0, 0.5, 100.0, 2.0, 200.0, 1.0] })
        .when(&[is(Id::CurveKind, &["points"])])
        .says("Points", "Times in seconds and multiples of R in turn: 0, 0.5, 100, 2 goes from half of R to twice R in 100 s.");
    DoSample = row("workload.sampling.do_sample", "sds", "sampling", Kind::Flag(false))
        .says("Sample tokens", "In request bodies (do_sample): samples tokens by their probability; off takes the likeliest.");
    Temperature = row("workload.sampling.temperature", "st", "sampling", number(0.0, MAX_TEMPERATURE, 1.0)).linear(0.0, 2.0, 0.01)
        .says("Temperature", "Above 1 flattens the probabilities, below 1 sharpens them; 0 takes the likeliest.");
    TopP = row("workload.sampling.top_p", "stp", "sampling", number(MIN_TOP_P, 1.0, 1.0)).linear(0.01, 1.0, 0.01)
        .says("top_p", "Draws from the likeliest tokens that together have this probability.");
    TopK = row("workload.sampling.top_k", "stk", "sampling", whole(-1.0, 1_000_000.0, -1.0)).linear(-1.0, 200.0, 1.0)
        .says("top_k", "Draws from this many of the likeliest tokens; -1 and 0 draw from all.");
    PresencePenalty = row("workload.sampling.presence_penalty", "spp", "sampling", number(-MAX_PENALTY, MAX_PENALTY, 0.0)).linear(-2.0, 2.0, 0.01)
        .says("Presence penalty", "Taken off the score of a token that has come up; S-LoRA takes none below 0.");
    FrequencyPenalty = row("workload.sampling.frequency_penalty", "sfp", "sampling", number(-MAX_PENALTY, MAX_PENALTY, 0.0)).linear(-2.0, 2.0, 0.01)
        .says("Frequency penalty", "Taken off the score of a token for each time it has come up; S-LoRA takes none below 0.");
    IgnoreEos = row("workload.sampling.ignore_eos", "seos", "sampling", Kind::Flag(false))
        .says("Ignore end of sequence", "Outputs go on to max_tokens even where the model would end.");
    MaxNewTokens = row("workload.sampling.max_new_tokens", "smax", "sampling", whole(0.0, MOST, 0.0)).unit("tokens").linear(0.0, 4096.0, 1.0)
        .off_at_zero().says("Cap on new tokens", "No request body asks for more tokens than this. 0 = no limit.");
    StopSequences = row("workload.sampling.stop_sequences", "sstop", "sampling", Kind::Text { most: 1000 })
        .says("BlockReason sequences", "Texts that end an output, with | between them; \\n is a new line, \\| a bar, \\\\ a backslash.");
    PinOutput = row("workload.sampling.pin_output", "spin", "sampling", Kind::Flag(false))
        .says("Pin output lengths", "Request bodies hold every output to its length: end of sequence ignored, min_tokens and max_tokens equal to it.");
    CharactersPerToken = row("workload.sampling.characters_per_token", "scpt", "sampling", number(0.25, 64.0, 4.0)).linear(1.0, 8.0, 0.1)
        .says("Characters a token", "Prompts made or counted without a tokenizer have this many characters for each token; English prose has about 4. A Chinese, Japanese or Korean character counts as one token, or more where this is below 1.");
    CurveRise = row("workload.curve.only_rise", "cor", "curve", Kind::Flag(false))
        .when(&[is(Id::CurveKind, &["sine"])])
        .says("Monotonic", "Keeps the rate at its highest so far (AIBrix's only_rise).");
    CurveSampling = row("workload.curve.sampling", "csm", "curve", choice(choices::CurveSampling::ID))
        .when(&[is(Id::CurveKind, PATTERNS)])
        .says("Sampling", "The curve itself in fractions of a request, or AIBrix's samples of it: with noise, rounded half to even to whole requests a second.");
    CurveInterval = row("workload.curve.interval_s", "ci", "curve", number(0.001, 1_000_000.0, 1.0)).unit("s").log(0.1, 60.0, 0.1)
        .when(&[is(Id::CurveKind, PATTERNS), is(Id::CurveSampling, &["aibrix"])])
        .says("Sampling interval", "How long one sampled rate holds (AIBrix's interval-ms).");
    CurveNoise = row("workload.curve.noise_rps", "cn", "curve", number(0.0, 100_000.0, 0.1)).unit("req/s").linear(0.0, 5.0, 0.1)
        .when(&[is(Id::CurveKind, PATTERNS), is(Id::CurveSampling, &["aibrix"])])
        .says("Noise", "Standard deviation of the normal noise that is added to each sample before rounding; AIBrix's patterns have 0.1.");
    InputCurveKind = row("workload.input_tokens.curve.kind", "inck", "length_curve", choice(choices::LengthCurveKind::INPUT))
        .says("Prompts over time", "How prompts grow and shrink during the run: every length that is drawn is multiplied by this curve.");
    InputCurveFactor = row("workload.input_tokens.curve.factor", "incf", "length_curve", number(0.0, 1000.0, 2.0)).linear(0.0, 10.0, 0.1)
        .when(&[is(Id::InputCurveKind, &["ramp", "step", "spike", "diurnal"])])
        .says("Factor of prompts", "By what lengths are multiplied after the ramp or step, in the spike, or at the crest of a diurnal wave (there at most 2).");
    InputCurveStart = row("workload.input_tokens.curve.start_s", "incs", "length_curve", number(0.0, 10_000_000.0, 100.0)).unit("s").linear(0.0, 1000.0, 1.0)
        .when(&[is(Id::InputCurveKind, &["ramp", "step", "spike", "diurnal"])])
        .says("Change of prompts begins", "When the ramp, the step or the spike begins; of a diurnal wave, a crest.");
    InputCurveEnd = row("workload.input_tokens.curve.end_s", "ince", "length_curve", number(0.0, 10_000_000.0, 200.0)).unit("s").linear(0.0, 1000.0, 1.0)
        .when(&[is(Id::InputCurveKind, &["ramp", "spike", "diurnal"])])
        .says("Change of prompts ends", "When the ramp or the spike ends; of a diurnal wave, the next crest.");
    InputCurvePoints = row("workload.input_tokens.curve.points", "incp", "length_curve", Kind::List { min: 0.0, max: 1e7, whole: false, default: &[0.0, 0.5, 100.0, 2.0, 200.0, 1.0] })
        .when(&[is(Id::InputCurveKind, &["points"])])
        .says("Points of prompts", "Times in seconds and factors in turn: 0, 0.5, 100, 2 goes from half to twice the length in 100 s.");
    OutputCurveKind = row("workload.output_tokens.curve.kind", "outck", "length_curve", choice(choices::LengthCurveKind::OUTPUT))
        .says("Outputs over time", "How outputs grow and shrink during the run: every length that is drawn is multiplied by this curve.");
    OutputCurveFactor = row("workload.output_tokens.curve.factor", "outcf", "length_curve", number(0.0, 1000.0, 2.0)).linear(0.0, 10.0, 0.1)
        .when(&[is(Id::OutputCurveKind, &["ramp", "step", "spike", "diurnal"])])
        .says("Factor of outputs", "By what lengths are multiplied after the ramp or step, in the spike, or at the crest of a diurnal wave (there at most 2).");
    OutputCurveStart = row("workload.output_tokens.curve.start_s", "outcs", "length_curve", number(0.0, 10_000_000.0, 100.0)).unit("s").linear(0.0, 1000.0, 1.0)
        .when(&[is(Id::OutputCurveKind, &["ramp", "step", "spike", "diurnal"])])
        .says("Change of outputs begins", "When the ramp, the step or the spike begins; of a diurnal wave, a crest.");
    OutputCurveEnd = row("workload.output_tokens.curve.end_s", "outce", "length_curve", number(0.0, 10_000_000.0, 200.0)).unit("s").linear(0.0, 1000.0, 1.0)
        .when(&[is(Id::OutputCurveKind, &["ramp", "spike", "diurnal"])])
        .says("Change of outputs ends", "When the ramp or the spike ends; of a diurnal wave, the next crest.");
    OutputCurvePoints = row("workload.output_tokens.curve.points", "outcp", "length_curve", Kind::List { min: 0.0, max: 1e7, whole: false, default: &[0.0, 0.5, 100.0, 2.0, 200.0, 1.0] })
        .when(&[is(Id::OutputCurveKind, &["points"])])
        .says("Points of outputs", "Times in seconds and factors in turn: 0, 0.5, 100, 2 goes from half to twice the length in 100 s.");
    Duration = row("workload.duration_s", "D", "run", number(0.1, 100_000_000.0, 300.0)).unit("s").log(10.0, 10_000.0, 1.0)
        .says("Duration D", "⌊R·D⌋ requests are generated; the last may arrive a little later than this.");
    CutAtDuration = row("workload.cut_at_duration", "cut", "run", Kind::Flag(false))
        .when(&[is(Id::Loop, &["open"])])
        .says("Cut at D", "Drops the requests that arrive after the duration, which S-LoRA's generator keeps.");
    ArrivalKind = row("workload.arrivals.kind", "arr", "run", choice(choices::ArrivalKind::ID))
        .when(&[is(Id::Loop, &["open"])])
        .says("Arrival process", "Distribution of the gaps between arrivals.");
    ArrivalsPer = row("workload.arrivals.per", "arp", "run", choice(choices::ArrivalsPer::ID))
        .when(&[is(Id::Loop, &["open"]), is(Id::ClientKind, &["together"])])
        .says("One arrival process per", "All: one process for all requests, each request draws its adapter (S-LoRA's generator). Adapter: an independent process of the same distribution for each adapter, with its share of R; the number of requests is then random with mean R D.");
    WeibullShape = row("workload.arrivals.shape", "wk", "run", number(0.1, 10.0, 0.7)).linear(0.2, 3.0, 0.01)
        .marks(&[Mark { value: 1.0, message: "mark.poisson" }])
        .when(&[is(Id::ArrivalKind, &["weibull"])])
        .says("Weibull shape", "Below 1 arrivals come in bursts, 1 is Poisson, above 1 they are steadier.");
    BusyFactor = row("workload.arrivals.busy_factor", "mf", "run", number(1.0, 1000.0, 8.0)).log(1.0, 100.0, 0.1)
        .when(&[is(Id::ArrivalKind, &["modulated"])])
        .says("Busy-to-calm rate ratio", "How many times the calm rate arrives while traffic is busy; the mean rate stays R.");
    BusyShare = row("workload.arrivals.busy_share", "ms", "run", number(0.01, 0.99, 0.1)).linear(0.01, 0.9, 0.01)
        .when(&[is(Id::ArrivalKind, &["modulated"])])
        .says("Busy share of time", "The share of time in which traffic is busy.");
    BusySpell = row("workload.arrivals.busy_s", "md", "run", number(1.0, 1_000_000.0, 20.0)).unit("s").log(1.0, 600.0, 1.0)
        .when(&[is(Id::ArrivalKind, &["modulated"])])
        .says("Mean busy sojourn", "Mean duration of a busy period.");
    BatchSize = row("workload.arrivals.batch_size", "bs", "run", whole(1.0, 100_000.0, 8.0)).unit("requests").log(1.0, 200.0, 1.0)
        .when(&[is(Id::ArrivalKind, &["batch"])])
        .says("Batch size", "How many requests arrive at the same instant; the batches are Poisson.");
    Seed = row("seed", "seed", "run", whole(0.0, 9_007_199_254_740_991.0, 42.0)).linear(0.0, 1000.0, 1.0)
        .says("Seed", "Equal seeds give equal runs, here and in the terminal.");
}
