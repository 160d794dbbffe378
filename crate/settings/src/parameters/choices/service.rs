//! Choices of the scheduler, the fleet and the cost model.

use super::{Choice, ChoiceId};
use crate::parameters::Id;

choices! {
    /// The scheduler of an engine.
    SchedulerKind (ID = SchedulerKind) {
        /// S-LoRA: prefill-only iterations; a request is admitted where the batch and its adapters will fit at their worst moment.
        Slora = "slora",
        /// Static batches, as in FasterTransformer.
        Static = "static",
        /// Orca.
        Orca = "orca",
        /// vLLM of 2023.
        Vllm = "vllm",
        /// Sarathi-Serve: chunked prefill.
        Sarathi = "sarathi",
        /// LightLLM.
        LightLlm = "lightllm",
        /// vLLM's engine of 2025.
        VllmV1 = "vllm_v1",
    }

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

    /// What counts as one client.
    Client (SCHEDULER = OrderClient, GATEWAY = GatewayClient) {
        /// A user.
        User = "user",
        /// An adapter.
        Adapter = "adapter",
    }

    /// What a token adds to the counter of its client.
    FairCost (ID = FairCost) {
        /// A fixed price for each input token and each output token.
        Linear = "linear",
        /// The time that VTC's authors measured on an A10G.
        Profile = "profile",
    }

    /// When tokens are added to the counter of their client.
    FairCharging (ID = FairCharging) {
        /// As in S-LoRA: the first output token is free.
        Slora = "slora",
        /// Every token once.
        Ideal = "ideal",
        /// As in VTC's artifact: a whole batch again whenever a request of it ends.
        Artifact = "artifact",
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

    /// Output tokens that are charged when a request is scheduled and settled at its end.
    FairPrediction (ID = FairPrediction) {
        /// None.
        None = "none",
        /// The mean of the client's finished outputs.
        History = "history",
        /// A predicted length.
        Predicted = "predicted",
    }

    /// What predicted lengths lie around.
    PredictionOf (ID = PredictionOf) {
        /// The true output length.
        Output = "output",
        /// The `max_tokens` of the request.
        MaxTokens = "max_tokens",
    }

    /// The format of the matrices of the layers.
    Weights (ID = Weights) {
        /// 16 bits.
        Bf16 = "bf16",
        /// 8-bit floating point.
        Fp8 = "fp8",
        /// 8-bit integers.
        Int8 = "int8",
        /// 4-bit integers in groups.
        Int4 = "int4",
    }

    /// The format of cached keys and values.
    KvFormat (ID = KvFormat) {
        /// 16 bits.
        Bf16 = "bf16",
        /// 8-bit floating point.
        Fp8 = "fp8",
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

    /// What the memory plan counts.
    MemoryPlan (ID = MemoryPlan) {
        /// Everything.
        Whole = "whole",
        /// As Vidur: the matrices of the layers, and whole requests of the longest length.
        Vidur = "vidur",
    }

    /// Where adapters are kept.
    AdapterMemory (ID = AdapterMemory) {
        /// In the KV pool, as long as they are used.
        Unified = "unified",
        /// In slots beside it, the least recently used replaced.
        Slots = "slots",
        /// All of them beside it, from the start.
        Resident = "resident",
    }

    /// The replica that a request is sent to.
    Router (ID = Router) {
        /// Each in turn.
        RoundRobin = "round_robin",
        /// A random one.
        Random = "random",
        /// The one with the fewest requests that wait or run.
        LeastOutstanding = "least_outstanding",
        /// The one with the fewest requests that wait.
        ShortestLine = "shortest_line",
        /// The better of two random ones.
        PowerOfTwo = "power_of_two",
        /// The one with the fewest KV blocks in use or needed by its waiting queue.
        LeastKv = "least_kv",
        /// One that was sent the adapter, unless it is overloaded.
        AdapterAffinity = "adapter_affinity",
        /// The one that was sent the longest matching prefix, unless it is overloaded.
        PrefixAffinity = "prefix_affinity",
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

    /// The listed prices that the capacity search compares.
    PriceKind (ID = PriceKind) {
        /// Rented by the hour, at the list price.
        OnDemand = "on_demand",
        /// Rented for months or years.
        Reserved = "reserved",
        /// Rented by the hour, and may be taken back.
        Spot = "spot",
        /// What owning it costs, by a cost model.
        Estimate = "estimate",
    }
}
