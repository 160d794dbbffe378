//! Choices of the scheduler, the fleet and the cost model.

use super::{Choice, ChoiceId};
use crate::parameters::Id;

choices! {
    /// The order of a waiting queue. The gateway has those that need no knowledge of the batch.
    Order (SCHEDULER = SchedulerOrder, GATEWAY = GatewayOrder [Fcfs, Lifo, Shortest, Priority, Vtc, Lcf, Drr]) {
        /// First come, first served.
        Fcfs = "fcfs",
        /// Last come, first served.
        Lifo = "lifo",
        /// Shortest predicted output first.
        Shortest = "shortest",
        /// By priority class, with ageing.
        Priority = "priority",
        /// Virtual token counter.
        Vtc = "vtc",
        /// Least counter first: the virtual token counter without lift.
        Lcf = "lcf",
        /// Deficit round robin.
        Drr = "drr",
        /// First come, first served below a number of requests per minute and client.
        Rpm = "rpm",
        /// S-LoRA's early abort.
        EarlyAbort = "early_abort",
        /// Requests for running adapters first.
        Cluster = "cluster",
        /// One adapter at a time.
        Peft = "peft",
        /// Least padding first.
        Pets = "pets",
    }

    /// What the counter of a returning client is raised to.
    FairLift (ID = FairLift) {
        /// The least counter of the clients that wait.
        Waiting = "waiting",
        /// That, or the counter of the client that was last to stop waiting.
        Paper = "paper",
        /// Every counter, before each decision, to near the largest.
        Max = "max",
    }

    /// What predicted lengths lie around.
    PredictionOf (ID = PredictionOf) {
        /// The true output length.
        Output = "output",
        /// The `max_tokens` of the request.
        MaxTokens = "max_tokens",
    }

    /// Whose messages between GPUs an iteration with timed operators has.
    NodeNetwork (ID = FleetNetwork) {
        /// The node that the profile was taken in.
        Profile = "profile",
        /// A node of four GPUs with NVLink between two each.
        PairwiseNvlink = "pairwise_nvlink",
    }

    /// The size of the KV cache.
    KvPool (ID = KvPool) {
        /// What the GPUs have left beside weights, activations and margin.
        Planned = "planned",
        /// The number of tokens of the memory pool.
        Given = "given",
    }

    /// Whether data-parallel ranks run every forward pass together.
    RankPasses (ID = RankPasses) {
        /// Each runs by itself.
        Apart = "apart",
        /// They do, and share the experts.
        Together = "together",
    }

    /// Whether prefill and decode are apart.
    DisaggregationKind (ID = Disaggregation) {
        /// Every replica serves whole requests.
        Off = "off",
        /// Prefill replicas compute prompts, and decode replicas pull their KV blocks.
        Nixl = "nixl",
    }

    /// Which requests are disaggregated.
    DisaggregationPolicy (ID = DisaggregationPolicy) {
        /// Every one.
        Always = "always",
        /// None: decode replicas serve whole requests.
        Never = "never",
        /// Those with so many tokens that are not cached.
        Threshold = "threshold",
        /// Dynamo's, by the length of what is not cached.
        IslBounding = "isl_bounding",
        /// Dynamo's, by the load of the prefill replica.
        PrefillLoad = "prefill_load",
        /// Either of them keeps a request.
        IslOrLoad = "isl_or_load",
    }

    /// Which prefill replica computes a prompt.
    PrefillRouter (ID = PrefillRouter) {
        /// The one with the fewest KV blocks in use or promised.
        LeastKv = "least_kv",
        /// The one with the fewest requests.
        LeastOutstanding = "least_outstanding",
        /// The one with the shortest queue.
        FewestWaiting = "fewest_waiting",
        /// The better of two drawn at random.
        PowerOfTwo = "power_of_two",
        /// The one that was sent the longest matching prefix, unless it is overloaded.
        PrefixAffinity = "prefix_affinity",
        /// In turn.
        RoundRobin = "round_robin",
        /// At random.
        Random = "random",
    }

    /// What becomes of a request whose pull failed.
    KvLoadFailure (ID = KvLoadFailure) {
        /// It ends with an error.
        Fail = "fail",
        /// The decode replica computes what is missing.
        Recompute = "recompute",
    }

    /// How pulls share links.
    TransferSharing (ID = TransferSharing) {
        /// Max-min fair.
        Shared = "shared",
        /// Each as if it were alone.
        None = "none",
    }

    /// What the memory plan counts.
    MemoryPlan (ID = MemoryPlan) {
        /// Everything.
        Whole = "whole",
        /// As Vidur: the matrices of the layers, and whole requests of the longest length.
        Vidur = "vidur",
    }

    /// What proposes tokens in speculative decoding.
    SpecMethod (ID = SpecMethod) {
        /// Nothing: no speculative decoding.
        None = "none",
        /// What followed the last tokens before, in the request's own text.
        Ngram = "ngram",
        /// A smaller model.
        DraftModel = "draft_model",
        /// A layer trained beside the model.
        Eagle = "eagle",
        /// The model's own layer for further tokens.
        Mtp = "mtp",
    }

    /// How it is said how many drafts are accepted.
    SpecAcceptance (ID = SpecAcceptance) {
        /// The same chance for each behind a right one.
        Rate = "rate",
        /// The chance of each position.
        Positions = "positions",
        /// The mean number of tokens of a verification.
        Length = "length",
        /// That mean as measured for a model, by the number of drafts.
        Table = "table",
    }

    /// When drafts are made.
    SpecGate (ID = SpecGate) {
        /// Always.
        Always = "always",
        /// Behind small iterations.
        BatchBelow = "batch_below",
        /// As many as a list says for the size of the iteration.
        Dynamic = "dynamic",
    }

    /// The kernels that compute adapters in slots.
    LoraKernels (ID = LoraKernels) {
        /// Those of vLLM from 0.8 on.
        Newer = "newer",
        /// Those of 2024.
        Older = "older",
        /// Those of S-LoRA, Punica and SGLang.
        Grouped = "grouped",
    }

    /// What the attention of a model of one's own keeps for a token.
    ModelAttention (ID = ModelAttention) {
        /// Keys and values of each KV head.
        Grouped = "grouped",
        /// One compressed vector for all heads.
        Latent = "latent",
    }

    /// How the window of layers with one moves.
    ModelWindowKind (ID = ModelWindowKind) {
        /// The last tokens.
        Sliding = "sliding",
        /// Windows side by side.
        Chunked = "chunked",
    }

    /// What layers with a state of fixed size compute.
    ModelStateKind (ID = ModelStateKind) {
        /// The gated delta rule.
        GatedDelta = "gated_delta",
        /// Mamba-2.
        Mamba2 = "mamba2",
    }

    /// How KV blocks are allocated.
    Allocation (ID = Allocation) {
        /// As requests grow; a share stays free when a request is admitted.
        Watermark = "watermark",
        /// As requests grow.
        OnDemand = "on_demand",
        /// All that the longest output may need, when a request is admitted.
        Reserve = "reserve",
    }

    /// What becomes of a request that finds no free KV block.
    Preemption (ID = Preemption) {
        /// Its input and its output so far are recomputed by a prefill.
        Recompute = "recompute",
        /// Its KV blocks are copied to the host and back.
        Swap = "swap",
        /// Its input is recomputed, and its output is generated again token by token.
        Regenerate = "regenerate",
    }

    /// What sets the number of replicas during a run.
    Autoscaler (ID = ScalingKind) {
        /// Given times.
        Schedule = "schedule",
        /// Kubernetes' horizontal pod autoscaler.
        Hpa = "hpa",
        /// KEDA on waiting requests.
        Keda = "keda",
        /// KEDA on prompt tokens and KV memory.
        KedaTokens = "keda_tokens",
        /// `AIBrix`'s autoscaler for pods.
        Apa = "apa",
        /// Knative's autoscaler as `AIBrix` has it.
        Kpa = "kpa",
        /// llm-d's workload variant autoscaler by saturation.
        WvaSaturation = "wva_saturation",
        /// Dynamo's load planner.
        DynamoLoad = "dynamo_load",
    }

    /// What Dynamo's load planner holds.
    PlannerTarget (ID = OptimizationTarget) {
        /// Throughput, by bounds on shares.
        Throughput = "throughput",
        /// Latency, by lower bounds on shares.
        Latency = "latency",
        /// Latency targets, by estimates.
        Sla = "sla",
    }

    /// How the time is given that a replica takes to start.
    ColdStartKind (ID = ColdStartKind) {
        /// As a whole.
        Total = "total",
        /// By its parts.
        Parts = "parts",
    }

    /// The model of iteration times.
    CostKind (ID = CostKind) {
        /// Linear in tokens and requests.
        Linear = "linear",
        /// Operators that were timed.
        Profile = "profile",
        /// The operations and bytes of the GPU and the model.
        Roofline = "roofline",
        /// Kernels of vLLM that were timed.
        Kernels = "kernels",
    }

    /// The corrections of the roofline.
    Corrections (ID = Corrections) {
        /// Efficiencies and fixed times that were fitted to measured operators.
        Fitted = "fitted",
        /// None: the peaks of the data sheet.
        None = "none",
    }

    /// The time of the host in an iteration with timed operators.
    HostOverhead (ID = HostOverhead) {
        /// None.
        None = "none",
        /// As measured in vLLM.
        Measured = "measured",
    }
}
