//! Every parameter.

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
        key,
        group,
        kind,
        unit: "",
        slider: None,
        marks: &[],
        applies: &[],
        scores_only: false,
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

impl Parameter {
    const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
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

    const fn scores(mut self) -> Self {
        self.scores_only = true;
        self
    }

    const fn says(mut self, label: &'static str, help: &'static str) -> Self {
        self.label = label;
        self.help = help;
        self
    }
}

const fn is(id: Id, is: &'static [&'static str]) -> Condition {
    Condition { id, is }
}

/// Lengths: most tokens of a drawn length.
const MOST: f64 = 1_000_000.0;
const LAWS: &[&str] = &["uniform", "fixed", "geometric", "bounded_pareto", "lognormal", "normal"];
const CURVES: &[&str] = &[
    "constant",
    "ramp",
    "step",
    "spike",
    "diurnal",
    "quick_rising",
    "slow_rising",
    "slight_fluctuation",
    "severe_fluctuation",
    "points",
];
/// Schedulers that run a fleet of replicas.
const FLEETS: &[&str] = &["static", "orca", "vllm", "sarathi", "lightllm", "vllm_v1"];
const SLORA: &[Condition] = &[is(Id::SchedulerKind, &["slora"])];
const BOUNDED: &[&str] = &["uniform", "bounded_pareto", "lognormal", "normal"];

table! {
    Rate = row("workload.rate_rps", "R", "heroes", number(0.001, 100_000.0, 2.0)).unit("req/s").log(0.1, 50.0, 0.01)
        .says("Rate R", "Mean number of requests that arrive each second, all users together.");
    Cv = row("workload.arrivals.cv", "cv", "heroes", number(0.05, 32.0, 1.0)).log(0.1, 8.0, 0.01)
        .marks(&[Mark { value: 1.0, message: "mark.poisson" }])
        .when(&[is(Id::ArrivalKind, &["gamma"])])
        .says("Burstiness cv", "Standard deviation of the gaps between arrivals over their mean: below 1 is steadier than chance, above 1 comes in bursts.");
    Alpha = row("workload.adapters.alpha", "alpha", "heroes", number(0.01, 32.0, 1.0)).linear(0.05, 1.0, 0.01)
        .marks(&[Mark { value: 1.0, message: "mark.uniform" }])
        .when(&[is(Id::Popularity, &["power"])])
        .says("Skew alpha", "Smaller puts more requests on the first adapters and 1 spreads them evenly; above 1 (type it in) skew returns, toward the last adapter.");
    Adapters = row("workload.adapters.count", "n", "heroes", whole(0.0, 100_000.0, 200.0)).linear(0.0, 400.0, 1.0)
        .marks(&[Mark { value: 0.0, message: "mark.base_model" }])
        .says("LoRA adapters n", "How many adapters share the server; 0 sends every request to the base model.");

    InputKind = row("workload.input_tokens.kind", "in", "lengths", Kind::Choice(LAWS))
        .says("Prompt lengths", "The law from which prompt lengths are drawn.");
    InputValue = row("workload.input_tokens.value", "inv", "lengths", whole(1.0, MOST, 256.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[is(Id::InputKind, &["fixed"])])
        .says("Prompt length", "Every prompt has this length.");
    InputLow = row("workload.input_tokens.low", "inl", "lengths", whole(1.0, MOST, 8.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[is(Id::InputKind, BOUNDED)])
        .says("Shortest prompt", "No prompt is shorter than this.");
    InputHigh = row("workload.input_tokens.high", "inh", "lengths", whole(1.0, MOST, 511.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[is(Id::InputKind, BOUNDED)])
        .says("Longest prompt", "No prompt is longer than this (inclusive).");
    InputMean = row("workload.input_tokens.mean", "inm", "lengths", number(1.0, MOST, 256.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[is(Id::InputKind, &["geometric", "normal"])])
        .says("Mean prompt length", "Mean of the geometric law on 1, 2, and so on, or of the normal law before its bounds.");
    InputDeviation = row("workload.input_tokens.deviation", "inw", "lengths", number(0.0, MOST, 80.0)).unit("tokens").linear(0.0, 1000.0, 1.0)
        .when(&[is(Id::InputKind, &["normal"])])
        .says("Spread of prompts", "Standard deviation of the normal law before its bounds.");
    InputExponent = row("workload.input_tokens.exponent", "ine", "lengths", number(0.05, 20.0, 1.1)).linear(0.1, 4.0, 0.01)
        .when(&[is(Id::InputKind, &["bounded_pareto"])])
        .says("Prompt tail exponent", "Smaller makes long prompts more common: the share longer than x falls like x to the power of minus this.");
    InputMedian = row("workload.input_tokens.median", "ind", "lengths", number(1.0, MOST, 200.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[is(Id::InputKind, &["lognormal"])])
        .says("Median prompt length", "Half of the prompts are shorter than this.");
    InputSigma = row("workload.input_tokens.sigma", "ins", "lengths", number(0.01, 5.0, 0.8)).linear(0.05, 2.5, 0.01)
        .when(&[is(Id::InputKind, &["lognormal"])])
        .says("Spread of prompt lengths", "Standard deviation of the logarithm of the length.");

    OutputKind = row("workload.output_tokens.kind", "out", "lengths", Kind::Choice(LAWS))
        .says("Answer lengths", "The law from which answer lengths are drawn.");
    OutputValue = row("workload.output_tokens.value", "outv", "lengths", whole(1.0, MOST, 256.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[is(Id::OutputKind, &["fixed"])])
        .says("Answer length", "Every answer has this length.");
    OutputLow = row("workload.output_tokens.low", "outl", "lengths", whole(1.0, MOST, 8.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[is(Id::OutputKind, BOUNDED)])
        .says("Shortest answer", "No answer is shorter than this.");
    OutputHigh = row("workload.output_tokens.high", "outh", "lengths", whole(1.0, MOST, 511.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[is(Id::OutputKind, BOUNDED)])
        .says("Longest answer", "No answer is longer than this (inclusive).");
    OutputMean = row("workload.output_tokens.mean", "outm", "lengths", number(1.0, MOST, 256.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[is(Id::OutputKind, &["geometric", "normal"])])
        .says("Mean answer length", "Mean of the geometric law on 1, 2, and so on, or of the normal law before its bounds.");
    OutputDeviation = row("workload.output_tokens.deviation", "outw", "lengths", number(0.0, MOST, 80.0)).unit("tokens").linear(0.0, 1000.0, 1.0)
        .when(&[is(Id::OutputKind, &["normal"])])
        .says("Spread of answers", "Standard deviation of the normal law before its bounds.");
    OutputExponent = row("workload.output_tokens.exponent", "oute", "lengths", number(0.05, 20.0, 1.1)).linear(0.1, 4.0, 0.01)
        .when(&[is(Id::OutputKind, &["bounded_pareto"])])
        .says("Answer tail exponent", "Smaller makes long answers more common: the share longer than x falls like x to the power of minus this.");
    OutputMedian = row("workload.output_tokens.median", "outd", "lengths", number(1.0, MOST, 200.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[is(Id::OutputKind, &["lognormal"])])
        .says("Median answer length", "Half of the answers are shorter than this.");
    OutputSigma = row("workload.output_tokens.sigma", "outs", "lengths", number(0.01, 5.0, 0.8)).linear(0.05, 2.5, 0.01)
        .when(&[is(Id::OutputKind, &["lognormal"])])
        .says("Spread of answer lengths", "Standard deviation of the logarithm of the length.");
    LengthCorrelation = row("workload.length_correlation", "rho", "lengths", number(-1.0, 1.0, 0.0)).linear(-1.0, 1.0, 0.01)
        .says("Prompt and answer", "Rank correlation of prompt and answer lengths: 0 draws them independently, 1 gives the longest prompt the longest answer.");
    MaxTokensKind = row("workload.max_tokens.kind", "mt", "lengths", Kind::Choice(&["output", "cap"]))
        .says("max_tokens sent", "What the server is told of an answer's length: exactly that, or one cap for all requests.");
    MaxTokensCap = row("workload.max_tokens.cap", "cap", "lengths", whole(1.0, MOST, 1024.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[is(Id::MaxTokensKind, &["cap"])])
        .says("max_tokens cap", "The bound that every client sends; a longer answer raises its own bound to its length.");

    BatchMaxTokens = row("scheduler.batch_max_tokens", "batch", "queue", whole(1.0, 100_000_000.0, 3072.0)).unit("tokens").log(64.0, 16_384.0, 1.0)
        .says("Prompt budget", "Most prompt tokens in one prefill (batch_max_tokens); the default is the larger of a sixth of the pool and the longest request.");
    MaxRunning = row("scheduler.max_running_requests", "run", "queue", whole(1.0, 1_000_000.0, 1000.0)).unit("requests").log(1.0, 1000.0, 1.0)
        .says("Largest batch", "Most requests that run together.");
    MaxRequestTokens = row("scheduler.max_request_tokens", "maxreq", "queue", whole(2.0, 100_000_000.0, 3072.0)).unit("tokens").log(64.0, 16_384.0, 1.0)
        .says("Longest request", "A request whose prompt and max_tokens together exceed this is refused.");
    MaxInputTokens = row("scheduler.max_input_tokens", "maxin", "queue", whole(1.0, 100_000_000.0, 2048.0)).unit("tokens").log(16.0, 16_384.0, 1.0)
        .when(SLORA)
        .says("Longest prompt let in", "A longer prompt is refused.");
    DecodeSteps = row("scheduler.decode_steps_between_prefills", "steps", "queue", whole(0.0, 1_000_000.0, 10.0)).unit("iterations").linear(0.0, 50.0, 1.0)
        .when(&[is(Id::SchedulerKind, &["slora", "lightllm"])])
        .says("Iterations between prefills", "While a batch runs, newcomers wait for at least this many decode iterations; 0 lets them join at once.");
    IdlePoll = row("scheduler.idle_poll_ms", "poll", "queue", number(0.0, 60_000.0, 10.0)).unit("ms").linear(0.0, 100.0, 1.0)
        .when(SLORA)
        .says("Idle poll", "How long an idle router sleeps before it looks for requests; 0 wakes it at the arrival.");
    OriginalBlocking = row("scheduler.original_blocking", "block", "queue", Kind::Flag(false))
        .says("Block as the original does", "Lets requests in that can never be admitted, which then block the queue for ever as in S-LoRA, in place of refusing them.");
    SchedulerKind = row("scheduler.kind", "sched", "queue", Kind::Choice(&["slora", "static", "orca", "vllm", "sarathi", "lightllm", "vllm_v1"]))
        .says("Scheduler", "How requests are admitted to the batch. All but S-LoRA run a fleet of replicas with KV blocks, where adapters cost compute time but neither memory nor loading.");
    SchedulerOrder = row("scheduler.order", "order", "queue", Kind::Choice(&["fcfs"]))
        .says("Order of service", "Who is looked at first in the waiting line.");

    Replicas = row("fleet.replicas", "rep", "fleet", whole(1.0, 1024.0, 1.0)).linear(1.0, 16.0, 1.0)
        .when(&[is(Id::SchedulerKind, FLEETS)])
        .says("Replicas", "How many equal servers share the traffic; each has its own waiting line and memory pool.");
    Router = row("fleet.router", "rt", "fleet", Kind::Choice(&["round_robin", "random", "least_outstanding", "shortest_line", "power_of_two", "least_kv", "adapter_affinity", "prefix_affinity"]))
        .when(&[is(Id::SchedulerKind, FLEETS)])
        .says("Router", "Which replica gets an arrival; who is given to one stays there.");
    ChunkTokens = row("scheduler.chunk_tokens", "chk", "queue", whole(1.0, 1_000_000.0, 512.0)).unit("tokens").log(16.0, 8192.0, 1.0)
        .when(&[is(Id::SchedulerKind, &["sarathi"])])
        .says("Chunk size", "Prompts are read in pieces: decoding and pieces of prompts together make at most this many tokens an iteration.");

    BlockSize = row("scheduler.block_size", "blk", "memory", whole(1.0, 4096.0, 16.0)).unit("tokens").log(1.0, 256.0, 1.0)
        .when(&[is(Id::SchedulerKind, &["static", "orca", "vllm", "sarathi", "vllm_v1"])])
        .says("KV block", "KV memory is handed out in blocks of this many tokens; LightLLM hands it out token by token.");
    Watermark = row("scheduler.watermark", "wmk", "memory", number(0.0, 1.0, 0.01)).linear(0.0, 0.2, 0.005)
        .when(&[is(Id::SchedulerKind, &["vllm", "sarathi", "vllm_v1"])])
        .says("Watermark", "The share of KV blocks that letting a request in leaves free, for the answers of those who run.");
    PrefixCache = row("scheduler.prefix_cache", "pfx", "memory", Kind::Flag(false))
        .when(&[is(Id::SchedulerKind, &["vllm_v1"])])
        .says("Prefix cache", "Keeps the KV blocks of prompts and shares them with prompts that begin alike, where the traffic tells which do.");
    MaxTotalTokens = row("scheduler.max_total_tokens", "pool", "memory", whole(16.0, 100_000_000.0, 14_500.0)).unit("tokens").log(1000.0, 200_000.0, 1.0)
        .says("Memory pool", "KV cache and adapters share this many token slots (max_total_token_num).");

    Popularity = row("workload.adapters.popularity", "pop", "adapters", Kind::Choice(&["power", "zipf", "uniform", "list", "lognormal", "geometric"]))
        .says("Adapter popularity", "The law by which requests choose their adapter.");
    AdapterZipf = row("workload.adapters.zipf_s", "as", "adapters", number(0.0, 10.0, 1.0)).linear(0.0, 3.0, 0.01)
        .when(&[is(Id::Popularity, &["zipf"])])
        .says("Zipf exponent of adapters", "The k-th adapter gets a share proportional to k to the power of minus this.");
    AdapterSigma = row("workload.adapters.sigma", "al", "adapters", number(0.0, 10.0, 2.0)).linear(0.0, 4.0, 0.01)
        .when(&[is(Id::Popularity, &["lognormal"])])
        .says("Lognormal spread of adapters", "Standard deviation of the logarithm of the adapters' rates; 0 makes all alike.");
    AdapterDecay = row("workload.adapters.decay", "ag", "adapters", number(0.0, 10.0, 0.2)).linear(0.0, 1.0, 0.001)
        .when(&[is(Id::Popularity, &["geometric"])])
        .says("Decay of adapters", "Each adapter gets exp(-decay) times the share of the one before it.");
    AdapterShares = row("workload.adapters.shares", "shares", "adapters", Kind::List { min: 0.0, max: 1e9, whole: false, default: &[7.0, 2.0, 1.0] })
        .when(&[is(Id::Popularity, &["list"])])
        .says("Shares", "Relative share of each adapter in turn; adapters beyond the list get none.");
    Ranks = row("workload.adapters.ranks", "ranks", "adapters", Kind::List { min: 1.0, max: 4096.0, whole: true, default: &[8.0] })
        .says("Ranks", "LoRA ranks, dealt out to the adapters in turn.");

    Users = row("workload.users.count", "u", "users", whole(1.0, 1_000_000.0, 10.0)).log(1.0, 1000.0, 1.0)
        .says("Users", "How many users send requests; the label is drawn independently of the adapter.");
    UserPopularity = row("workload.users.popularity", "up", "users", Kind::Choice(&["zipf", "lognormal", "geometric", "power", "uniform", "list"]))
        .says("User popularity", "The law of the users' shares.");
    UserSigma = row("workload.users.sigma", "ul", "users", number(0.0, 10.0, 2.0)).linear(0.0, 4.0, 0.01)
        .when(&[is(Id::UserPopularity, &["lognormal"])])
        .says("Lognormal spread of users", "Standard deviation of the logarithm of the users' rates; 0 makes all alike.");
    UserDecay = row("workload.users.decay", "ug", "users", number(0.0, 10.0, 0.2)).linear(0.0, 1.0, 0.001)
        .when(&[is(Id::UserPopularity, &["geometric"])])
        .says("Decay of users", "Each user sends exp(-decay) times what the one before sends.");
    UserAlpha = row("workload.users.alpha", "ua", "users", number(0.01, 32.0, 0.3)).linear(0.05, 1.0, 0.01)
        .when(&[is(Id::UserPopularity, &["power"])])
        .says("Skew of users", "S-LoRA's power law over users: smaller puts more requests on the first.");
    UserShares = row("workload.users.shares", "ush", "users", Kind::List { min: 0.0, max: 1e9, whole: false, default: &[7.0, 2.0, 1.0] })
        .when(&[is(Id::UserPopularity, &["list"])])
        .says("Shares of users", "Relative share of each user in turn; users beyond the list send nothing.");
    UserZipf = row("workload.users.zipf_s", "us", "users", number(0.0, 10.0, 1.0)).linear(0.0, 3.0, 0.01)
        .when(&[is(Id::UserPopularity, &["zipf"])])
        .says("Zipf exponent of users", "The k-th user sends a share proportional to k to the power of minus this; 0 makes all alike.");

    Calibration = row("cost.calibration", "cal", "cost", Kind::Choice(&["a10g-llama-7b", "a100-80-opt-13b", "unit"]))
        .says("Calibration", "A named set of coefficients with its origin; it sets the defaults of all others here and of the memory pool.");
    CostKind = row("cost.kind", "cost", "cost", Kind::Choice(&["linear"]))
        .says("Cost model", "How the time of an iteration is computed.");
    PrefillBase = row("cost.linear.prefill_base_ms", "pb", "cost", number(0.0, 100_000.0, 5.0)).unit("ms").linear(0.0, 100.0, 0.1)
        .says("Prefill, constant", "Time of a prefill iteration without any token.");
    PrefillPerToken = row("cost.linear.prefill_per_token_ms", "pt", "cost", number(0.0, 1000.0, 0.22)).unit("ms").linear(0.0, 1.0, 0.001)
        .says("Prefill, each token", "Added for each prompt token.");
    DecodeBase = row("cost.linear.decode_base_ms", "db", "cost", number(0.0, 100_000.0, 18.16)).unit("ms").linear(0.0, 100.0, 0.01)
        .says("Decode, constant", "Time of a decode iteration without any request.");
    DecodePerRequest = row("cost.linear.decode_per_request_ms", "dr", "cost", number(0.0, 1000.0, 0.216)).unit("ms").linear(0.0, 2.0, 0.001)
        .says("Decode, each request", "Added for each request of the batch.");
    DecodePerKv = row("cost.linear.decode_per_kv_token_ms", "dk", "cost", number(0.0, 10.0, 0.00189)).unit("ms").linear(0.0, 0.02, 0.00001)
        .says("Decode, each KV token", "Added for each token that attention reads.");
    Overhead = row("cost.linear.overhead_ms", "oh", "cost", number(0.0, 10_000.0, 1.45)).unit("ms").linear(0.0, 20.0, 0.05)
        .says("Overhead", "Scheduling and sampling, added to each decode iteration.");
    LoadBase = row("cost.adapters.load_base_ms", "lb", "cost", number(0.0, 100_000.0, 4.0)).unit("ms").linear(0.0, 50.0, 0.1)
        .says("Adapter load, constant", "Time to bring one adapter to the GPU, without its weights.");
    LoadPerRank = row("cost.adapters.load_per_rank_ms", "lr", "cost", number(0.0, 1000.0, 1.8)).unit("ms").linear(0.0, 10.0, 0.01)
        .says("Adapter load, each rank", "Added for each unit of the adapter's rank.");
    DecodePerRank = row("cost.adapters.decode_per_rank_ms", "dpr", "cost", number(0.0, 100.0, 0.003)).unit("ms").linear(0.0, 0.05, 0.0001)
        .says("Decode, each rank", "Added to a decode iteration for each unit of rank, summed over the batch.");
    DecodeActive = row("cost.adapters.decode_active_ms", "da", "cost", number(0.0, 1000.0, 0.5)).unit("ms").linear(0.0, 10.0, 0.01)
        .says("Decode with adapters", "Added to a decode iteration when any request uses an adapter.");
    PrefillFactor = row("cost.adapters.prefill_factor", "pf", "cost", number(1.0, 100.0, 1.04)).linear(1.0, 2.0, 0.01)
        .says("Prefill with adapters", "A prefill takes this many times as long when any request uses an adapter.");

    SloTtft = row("slo.ttft_s", "slot", "slo", number(0.001, 100_000.0, 6.0)).unit("s").log(0.1, 60.0, 0.1).scores()
        .says("TTFT bound", "A request meets the objective if its first token comes sooner than this.");
    SloTbt = row("slo.tbt_s", "slob", "slo", number(0.001, 100_000.0, 0.2)).unit("s").log(0.01, 2.0, 0.01).scores()
        .says("TBT bound", "A request counts toward goodput if its mean gap between tokens is at most this.");

    TimeScale = row("workload.trace.time_scale", "ts", "trace", number(0.0001, 10_000.0, 1.0)).log(0.1, 10.0, 0.01)
        .says("Time scale", "Multiplies every time of a loaded file: 2 is half as fast, with bursts stretched too.");
    RateScale = row("workload.trace.rate_scale", "rs", "trace", number(0.001, 1000.0, 1.0)).log(0.1, 10.0, 0.01)
        .says("Rate scale", "Thins a loaded file or superposes rotated copies of it, so that its rate is multiplied and its clock stays.");

    CurveKind = row("workload.curve.kind", "ck", "curve", Kind::Choice(CURVES))
        .says("Rate over time", "How the rate moves around R: constant, a simple shape, one of AIBrix's four patterns, or points of your own.");
    CurveFactor = row("workload.curve.factor", "cf", "curve", number(0.0, 10_000.0, 2.0)).linear(0.0, 10.0, 0.1)
        .when(&[is(Id::CurveKind, &["ramp", "step", "spike"])])
        .says("Changed rate", "The rate after the ramp or step, or in the spike, as a multiple of R.");
    CurveStart = row("workload.curve.start_s", "cs", "curve", number(0.0, 10_000_000.0, 100.0)).unit("s").linear(0.0, 1000.0, 1.0)
        .when(&[is(Id::CurveKind, &["ramp", "step", "spike"])])
        .says("Change begins", "When the ramp, the step or the spike begins.");
    CurveEnd = row("workload.curve.end_s", "ce", "curve", number(0.0, 10_000_000.0, 200.0)).unit("s").linear(0.0, 1000.0, 1.0)
        .when(&[is(Id::CurveKind, &["ramp", "spike"])])
        .says("Change ends", "When the ramp or the spike ends.");
    CurveSwing = row("workload.curve.swing", "csw", "curve", number(0.0, 1.0, 0.5)).linear(0.0, 1.0, 0.01)
        .when(&[is(Id::CurveKind, &["diurnal"])])
        .says("Swing", "How far the crest lies above R, as a share of R.");
    CurvePeriod = row("workload.curve.period_s", "cp", "curve", number(1.0, 10_000_000.0, 100.0)).unit("s").log(10.0, 86_400.0, 1.0)
        .when(&[is(Id::CurveKind, &["diurnal"])])
        .says("Period", "From crest to crest; a day is 86,400 s.");
    CurvePeak = row("workload.curve.peak_s", "cpk", "curve", number(0.0, 10_000_000.0, 50.0)).unit("s").linear(0.0, 1000.0, 1.0)
        .when(&[is(Id::CurveKind, &["diurnal"])])
        .says("Crest", "A time at which the rate is largest.");
    CurvePoints = row("workload.curve.points", "pts", "curve", Kind::List { min: 0.0, max: 1e7, whole: false, default: &[0.0, 0.5, 100.0, 2.0, 200.0, 1.0] })
        .when(&[is(Id::CurveKind, &["points"])])
        .says("Points", "Times in seconds and multiples of R in turn: 0, 0.5, 100, 2 goes from half of R to twice R in 100 s.");
    Duration = row("workload.duration_s", "D", "run", number(0.1, 100_000_000.0, 300.0)).unit("s").log(10.0, 10_000.0, 1.0)
        .says("Duration D", "floor(R D) requests are made; the last may arrive a little later than this.");
    CutAtDuration = row("workload.cut_at_duration", "cut", "run", Kind::Flag(false))
        .says("Cut at D", "Drops the requests that arrive after the duration, which S-LoRA's generator keeps.");
    ArrivalKind = row("workload.arrivals.kind", "arr", "run", Kind::Choice(&["gamma", "poisson", "even", "weibull", "modulated", "batch"]))
        .says("Arrival process", "The law of the gaps between arrivals.");
    WeibullShape = row("workload.arrivals.shape", "wk", "run", number(0.1, 10.0, 0.7)).linear(0.2, 3.0, 0.01)
        .marks(&[Mark { value: 1.0, message: "mark.poisson" }])
        .when(&[is(Id::ArrivalKind, &["weibull"])])
        .says("Weibull shape", "Below 1 arrivals come in bursts, 1 is Poisson, above 1 they are steadier.");
    BusyFactor = row("workload.arrivals.busy_factor", "mf", "run", number(1.0, 1000.0, 8.0)).log(1.0, 100.0, 0.1)
        .when(&[is(Id::ArrivalKind, &["modulated"])])
        .says("Busy rate factor", "How many times the calm rate arrives while traffic is busy; the mean rate stays R.");
    BusyShare = row("workload.arrivals.busy_share", "ms", "run", number(0.01, 0.99, 0.1)).linear(0.01, 0.9, 0.01)
        .when(&[is(Id::ArrivalKind, &["modulated"])])
        .says("Busy share of time", "The share of time in which traffic is busy.");
    BusySpell = row("workload.arrivals.busy_s", "md", "run", number(1.0, 1_000_000.0, 20.0)).unit("s").log(1.0, 600.0, 1.0)
        .when(&[is(Id::ArrivalKind, &["modulated"])])
        .says("Busy spell", "Mean duration of a busy spell.");
    BatchSize = row("workload.arrivals.batch_size", "bs", "run", whole(1.0, 100_000.0, 8.0)).unit("requests").log(1.0, 200.0, 1.0)
        .when(&[is(Id::ArrivalKind, &["batch"])])
        .says("Batch size", "How many requests arrive at the same instant; the batches are Poisson.");
    Seed = row("seed", "seed", "run", whole(0.0, 9_007_199_254_740_991.0, 42.0)).linear(0.0, 1000.0, 1.0)
        .says("Seed", "Equal seeds give equal runs, here and in the terminal.");
}
