//! Rows of the iteration-time model, of the SLOs and of the capacity search.

use servescope_cost::calibration::CALIBRATION_IDS;
use servescope_cost::launches::CAPTURED_TOKENS;
use servescope_cost::models::MODEL_IDS;

use crate::acceptance_tables::TABLE_NAMES;
use crate::parameters::builder::{choice, number, row, whole};
use crate::parameters::choices;
use crate::parameters::conditions::{
    COUNTS_GRAPHS, DRAFTS_BY_MODEL, DRAFTS_BY_RATIO, HANDS_OVER, HAS_ADAPTERS, LAUNCHES_ADAPTERS, LINEAR,
    LOADED, ON_HARDWARE, ROOFLINE, SPECULATES, VLLM_V1, any, when_in,
};
use crate::parameters::id::Id;
use crate::parameters::kind::{Kind, Parameter};

// A row is a paragraph of two to five lines; formatted it would be fifteen.
#[rustfmt::skip]
pub(super) const ROWS: &[(Id, Parameter)] = &[
    (Id::Calibration, row("cost.calibration", "cal", "cost", Kind::Choice(&CALIBRATION_IDS))
        .when(&[LINEAR])
        .doc("Calibration", "A named set of coefficients with its origin; it sets the defaults of all others here and of the memory pool.")),
    (Id::CostKind, row("cost.kind", "cost", "cost", choice(choices::CostKind::ID)).usual("kernels")
        .doc("Iteration-time model", "How the time of an iteration is computed: linear in tokens and requests, where a long prompt costs no more a token than a short one; from operators that Vidur timed in 2024, whose attention over a prompt grows with its square; a roofline of FLOPs and bytes; or from kernels of vLLM, SGLang or TensorRT-LLM that were timed one by one. The last two have that square, too.")),
    (Id::ErrorBias, row("cost.error.bias", "ceb", "cost", number(-0.9, 10.0, 0.0)).linear(-0.5, 0.5, 0.01)
        .doc("Error of iteration times", "By which share of itself every iteration takes longer than the iteration-time model says: .09 is 9 % slower, -.09 faster. Try both, to see whether a decision stands an error of that size.")),
    (Id::ErrorNoise, row("cost.error.noise", "cen", "cost", number(0.0, 1.0, 0.0)).linear(0.0, 0.5, 0.01)
        .doc("Noise of iteration times", "Standard deviation of a random factor on the time of each iteration, whose mean is 1: a lognormal factor for each number of decoding requests and KV tokens, or for each set of prompts, so that equal iterations are off by the same. The seed draws the factors.")),
    (Id::Corrections, row("cost.corrections", "cfit", "cost", choice(choices::Corrections::ID))
        .when(ROOFLINE)
        .doc("Corrections", "Efficiencies and fixed times fitted on measured operators, or none: the data sheet's peaks.")),
    (Id::HostOverhead, row("cost.host_overhead", "ho", "cost", choice(choices::HostOverhead::ID))
        .when(&[when_in(Id::CostKind, &["profile"])])
        .doc("CPU overhead", "CPU overhead of an iteration by batch size, measured on vLLM (early 2024); or none, as in Vidur.")),
    (Id::HostBase, row("cost.host.base_ms", "hb", "cost", number(0.0, 10_000.0, 0.126)).unit("ms").linear(0.0, 10.0, 0.01)
        .when(ROOFLINE)
        .doc("Host, constant", "Scheduling and preparing an iteration, in each pipeline stage; the defaults are BLIS's fit to vLLM on an H100.")),
    (Id::HostPerRequest, row("cost.host.per_request_ms", "hr", "cost", number(0.0, 100.0, 0.0044)).unit("ms").linear(0.0, 0.1, 0.0001)
        .when(ROOFLINE)
        .doc("Host, each request", "Added for each request of the iteration; vLLM of early 2024 took about 0.05 ms.")),
    (Id::HostLaunch, row("cost.host.launch_per_layer_ms", "hl", "cost", number(0.0, 100.0, 0.0)).unit("ms").linear(0.0, 1.0, 0.01)
        .when(ROOFLINE)
        .doc("Launch, each layer", "An iteration takes at least this for each layer, while the host launches its kernels; 0 where CUDA graphs are replayed, about 0.5 without them in 2023.")),
    (Id::KernelEngine, row("cost.kernel_engine", "cke", "cost", choice(choices::KERNEL_ENGINE))
        .when(&[when_in(Id::CostKind, &["kernels"])])
        .doc("Kernels of", "The engine whose measured kernels run, with the time around them that was calibrated on its measured deployments. Its default is the engine of the scheduler. What an engine has not timed on a GPU is taken from vLLM's tables.")),
    (Id::CapturedTokens, row("cost.max_cudagraph_capture_size", "cgs", "cost", whole(1.0, 1_000_000.0, CAPTURED_TOKENS as f64)).unit("tokens").log(1.0, 8192.0, 1.0)
        .when(&[any(&[when_in(Id::CostKind, &["kernels"]), COUNTS_GRAPHS, LAUNCHES_ADAPTERS])])
        .doc("Largest CUDA graph", "Largest iteration that a CUDA graph is captured of (vLLM's --max-cudagraph-capture-size). Its default is vLLM's: twice the bound on running requests, at most 512 (1024 on B200, B300, GB200 and GB300) and at most the token budget. In a longer iteration with prompts the host launches the kernels one by one, ahead of the GPU: it takes at least the time of these launches, and no longer where the GPU is busy anyway.")),
    (Id::SpecMethod, row("cost.speculation.method", "spm", "cost", choice(choices::SpecMethod::ID))
        .when(VLLM_V1)
        .doc("Speculative decoding", "What proposes tokens that the model then verifies in one iteration: nothing; n-grams of the request's own text; a smaller model; an EAGLE layer; or the model's own layer for further tokens (MTP). Accepted drafts save iterations, rejected ones cost rows of an iteration.")),
    (Id::SpecTokens, row("cost.speculation.num_speculative_tokens", "spk", "cost", whole(1.0, 16.0, 3.0)).unit("tokens").linear(1.0, 8.0, 1.0)
        .when(&[SPECULATES])
        .doc("Drafts", "Most drafts of a request in an iteration (vLLM's num_speculative_tokens): each is one row more.")),
    (Id::SpecAcceptance, row("cost.speculation.acceptance", "spa", "cost", choice(choices::SpecAcceptance::ID))
        .when(&[SPECULATES])
        .doc("Acceptance", "How many drafts are accepted: by one rate, by the chance of each position, by the mean length, or by the lengths that were measured for a model. One number is drawn for each verification, by the request and how many it had before.")),
    (Id::SpecRate, row("cost.speculation.rate", "spr", "cost", number(0.0, 1.0, 0.7)).linear(0.0, 1.0, 0.01)
        .when(&[SPECULATES, when_in(Id::SpecAcceptance, &["rate"])])
        .doc("Acceptance rate", "The chance that a draft is accepted whose predecessors are accepted.")),
    (Id::SpecPositions, row("cost.speculation.positions", "sps", "cost", Kind::List { min: 0.0, max: 1.0, whole: false, default: &[0.7, 0.5, 0.35] })
        .when(&[SPECULATES, when_in(Id::SpecAcceptance, &["positions"])])
        .doc("Acceptance by position", "The share of verifications in which at least the first, the first two, … drafts are accepted, as vLLM's counter spec_decode_num_accepted_tokens_per_pos has them over its number of drafts; it cannot rise. Beyond the list no draft is accepted.")),
    (Id::SpecLength, row("cost.speculation.length", "spl", "cost", number(1.0, 17.0, 2.5)).unit("tokens").linear(1.0, 6.0, 0.05)
        .when(&[SPECULATES, when_in(Id::SpecAcceptance, &["length"])])
        .doc("Acceptance length", "Mean tokens of a verification: the accepted drafts and one more. They vary as little as they can: 2.5 are 2 or 3 by turns.")),
    (Id::SpecTable, row("cost.speculation.table", "spt", "cost", Kind::Choice(&TABLE_NAMES))
        .when(&[SPECULATES, when_in(Id::SpecAcceptance, &["table"])])
        .doc("Measured acceptance", "Acceptance lengths that InferenceX measured on code with vLLM on a B300, for 1 to 8 drafts. Beyond 8 no draft is accepted.")),
    (Id::SpecGate, row("cost.speculation.gate", "spg", "cost", choice(choices::SpecGate::ID))
        .when(&[SPECULATES])
        .doc("Drafts are made", "Always; only behind iterations with fewer requests than a bound; or as many as a list says for the number of requests (vLLM's num_speculative_tokens_per_batch_size).")),
    (Id::SpecBelow, row("cost.speculation.batch_below", "spb", "cost", whole(2.0, 100_000.0, 32.0)).unit("requests").log(2.0, 1024.0, 1.0)
        .when(&[SPECULATES, when_in(Id::SpecGate, &["batch_below"])])
        .doc("Batch below", "Drafts are made behind iterations with fewer requests than this.")),
    (Id::SpecSchedule, row("cost.speculation.schedule", "spd", "cost", Kind::List { min: 0.0, max: 1e9, whole: true, default: &[1.0, 16.0, 3.0, 17.0, 64.0, 1.0, 65.0, 1024.0, 0.0] })
        .when(&[SPECULATES, when_in(Id::SpecGate, &["dynamic"])])
        .doc("Drafts by batch", "First and last number of requests and the drafts behind such an iteration, in turn: 1, 16, 3, 17, 64, 1 means 3 for up to 16 requests and 1 for more. The first range begins at 1; a gap has the drafts of the range before it. At most 8 ranges.")),
    (Id::SpecDraftModel, row("cost.speculation.draft_model", "spf", "cost", Kind::Choice(&MODEL_IDS)).usual("llama-3.2-1b")
        .when(&[DRAFTS_BY_MODEL])
        .doc("Draft model", "The smaller model. It is on the same GPUs: its weights and its keys and values take memory of them, and each draft is a pass of it.")),
    (Id::SpecCostRatio, row("cost.speculation.draft_cost_ratio", "spc", "cost", number(0.0, 10.0, 0.1)).linear(0.0, 1.0, 0.01)
        .when(&[DRAFTS_BY_RATIO])
        .doc("Cost of a draft", "How long one pass of the drafter takes over what an iteration of the model without drafts takes. Under the roofline and measured kernels it follows from the drafter's dimensions.")),
    (Id::PrefillBase, row("cost.linear.prefill_base_ms", "pb", "cost", number(0.0, 100_000.0, 5.0)).unit("ms").linear(0.0, 100.0, 0.1)
        .when(&[LINEAR])
        .doc("Prefill, constant", "Time of a prefill iteration without any token.")),
    (Id::PrefillPerToken, row("cost.linear.prefill_per_token_ms", "pt", "cost", number(0.0, 1000.0, 0.22)).unit("ms").linear(0.0, 1.0, 0.001)
        .when(&[LINEAR])
        .doc("Prefill, each token", "Added for each prompt token.")),
    (Id::DecodeBase, row("cost.linear.decode_base_ms", "db", "cost", number(0.0, 100_000.0, 18.16)).unit("ms").linear(0.0, 100.0, 0.01)
        .when(&[LINEAR])
        .doc("Decode, constant", "Time of a decode iteration without any request.")),
    (Id::DecodePerRequest, row("cost.linear.decode_per_request_ms", "dr", "cost", number(0.0, 1000.0, 0.216)).unit("ms").linear(0.0, 2.0, 0.001)
        .when(&[LINEAR])
        .doc("Decode, each request", "Added for each request of the batch.")),
    (Id::DecodePerKv, row("cost.linear.decode_per_kv_token_ms", "dk", "cost", number(0.0, 10.0, 0.00189)).unit("ms").linear(0.0, 0.02, 0.00001)
        .when(&[LINEAR])
        .doc("Decode, each KV token", "Added for each token that attention reads.")),
    (Id::Overhead, row("cost.linear.overhead_ms", "oh", "cost", number(0.0, 10_000.0, 1.45)).unit("ms").linear(0.0, 20.0, 0.05)
        .when(&[LINEAR])
        .doc("Overhead", "Scheduling and sampling, added to each decode iteration.")),
    (Id::LoadBase, row("cost.adapters.load_base_ms", "lb", "cost", number(0.0, 100_000.0, 4.0)).unit("ms").linear(0.0, 50.0, 0.1)
        .when(&[LINEAR, HAS_ADAPTERS, LOADED])
        .doc("Adapter load, constant", "Time to bring one adapter to the GPU, without its weights.")),
    (Id::LoadPerRank, row("cost.adapters.load_per_rank_ms", "lr", "cost", number(0.0, 1000.0, 1.8)).unit("ms").linear(0.0, 10.0, 0.01)
        .when(&[LINEAR, HAS_ADAPTERS, LOADED])
        .doc("Adapter load, each rank", "Added for each unit of the adapter's rank.")),
    (Id::DecodePerRank, row("cost.adapters.decode_per_rank_ms", "dpr", "cost", number(0.0, 100.0, 0.003)).unit("ms").linear(0.0, 0.05, 0.0001)
        .when(&[LINEAR, HAS_ADAPTERS])
        .doc("Decode, each rank", "Added to a decode iteration for each unit of rank, summed over the batch.")),
    (Id::DecodeActive, row("cost.adapters.decode_active_ms", "da", "cost", number(0.0, 1000.0, 0.5)).unit("ms").linear(0.0, 10.0, 0.01)
        .when(&[LINEAR, HAS_ADAPTERS])
        .doc("Decode with adapters", "Added to a decode iteration when any request uses an adapter.")),
    (Id::PrefillFactor, row("cost.adapters.prefill_factor", "pf", "cost", number(1.0, 100.0, 1.04)).linear(1.0, 2.0, 0.01)
        .when(&[LINEAR, HAS_ADAPTERS])
        .doc("Prefill with adapters", "A prefill takes this many times as long when any request uses an adapter.")),

    (Id::SloTtft, row("slo.ttft_s", "slot", "slo", number(0.001, 100_000.0, 1.0)).unit("s").log(0.1, 60.0, 0.1).scores()
        .doc("TTFT bound", "A request meets the SLO if its first token comes sooner than this.")),
    (Id::SloTpot, row("slo.tpot_s", "slob", "slo", number(0.0, 100_000.0, 0.05)).unit("s").linear(0.0, 1.0, 0.01).scores()
        .off_at_zero().doc("TPOT bound", "A request meets the SLO if its mean time per output token after the first (TPOT) is at most this. 0 = off.")),
    (Id::SloTbt, row("slo.tbt_s", "sltb", "slo", number(0.0, 100_000.0, 0.0)).unit("s").linear(0.0, 2.0, 0.01).scores()
        .off_at_zero().doc("TBT bound", "A request meets the SLO if the largest gap between two of its tokens (TBT) is at most this. 0 = off.")),
    (Id::TtftAtPrefill, row("slo.ttft_at_prefill_end", "slpe", "slo", Kind::Flag(false))
        .when(&[HANDS_OVER])
        .doc("TTFT at the end of prefill", "Whether the first token counts when a prefill replica has computed the prompt, as DistServe and Splitwise count it; TPOT then has the KV transfer in it. Otherwise it counts when the client gets it, from the decode replica.")),

    (Id::CapacityQuantile, row("capacity.quantile", "cpq", "capacity", number(0.5, 0.999, 0.99)).linear(0.5, 0.999, 0.001).scores()
        .doc("Quantile", "Percentile at which each SLO must hold, as a share.")),
    (Id::CapacityTtft, row("capacity.ttft_s", "cpt", "capacity", number(0.0, 100_000.0, 0.0)).unit("s").linear(0.0, 20.0, 0.1).scores()
        .off_at_zero().doc("TTFT at most", "The quantile of TTFT may be at most this. 0 = use the SLO's TTFT bound. For no limit, set a large value.")),
    (Id::CapacityTbt, row("capacity.tbt_s", "cpb", "capacity", number(0.0, 100_000.0, 0.0)).unit("s").linear(0.0, 1.0, 0.01).scores()
        .off_at_zero().doc("TBT at most", "The quantile of the gaps between tokens may be at most this. 0 = use the SLO's TBT bound. For no limit, set a large value.")),
    (Id::CapacityTpot, row("capacity.tpot_s", "cpo", "capacity", number(0.0, 100_000.0, 0.0)).unit("s").linear(0.0, 1.0, 0.01).scores()
        .off_at_zero().doc("TPOT at most", "The quantile of the time per output token may be at most this. 0 = use the SLO's TPOT bound. For no limit, set a large value.")),
    (Id::CapacityE2e, row("capacity.e2e_s", "cpe", "capacity", number(0.0, 100_000.0, 0.0)).unit("s").linear(0.0, 120.0, 1.0).scores()
        .off_at_zero().doc("E2E at most", "The quantile of the end-to-end time may be at most this. 0 = no limit.")),
    (Id::CapacityQueue, row("capacity.queue_s", "cpw", "capacity", number(0.0, 100_000.0, 5.0)).unit("s").linear(0.0, 20.0, 0.1).scores()
        .off_at_zero().doc("Queueing at most", "The quantile of the time in the waiting queue may be at most this, as in Vidur's search. 0 = no limit.")),
    (Id::CapacityQueueQuantile, row("capacity.queue_quantile", "cqq", "capacity", number(0.5, 0.999, 0.99)).linear(0.5, 0.999, 0.001).scores()
        .doc("Quantile of queueing", "The share of requests that must meet the bound on queueing; Sarathi-Serve's authors bound the median, 0.5.")),
    (Id::CapacityTolerance, row("capacity.tolerance", "cpl", "capacity", number(0.001, 1.0, 0.02)).log(0.001, 0.2, 0.001).scores()
        .doc("Tolerance", "The search ends when the rate that fails is at most this share above the rate that passes.")),
    (Id::CapacityMostRequests, row("capacity.most_requests", "cpn", "capacity", whole(0.0, 5_000_000.0, 500_000.0)).log(1000.0, 1_000_000.0, 1000.0).scores()
        .doc("Longest run", "Where a run of the duration is too short for the tolerance, it is made longer, up to this many requests; 0 keeps the duration.")),
    (Id::UsdPerGpuHour, row("capacity.usd_per_gpu_hour", "cpp", "capacity", number(0.0, 100_000.0, 0.0)).unit("USD").linear(0.0, 10.0, 0.01).scores()
        .doc("Price of a GPU hour", "Your own price, for every GPU; 0 takes the listed price of the GPU, where there is one.")),
    (Id::PriceKind, row("capacity.price_kind", "cpi", "capacity", choice(choices::PRICE_KIND)).scores()
        .when(&[ON_HARDWARE, when_in(Id::UsdPerGpuHour, &["0"])])
        .doc("Kind of price", "Which listed prices are compared; only GPUs with a price of this kind are ranked. Estimates are what owning a GPU costs, by a cost model.")),
    (Id::CapacityGrid, row("capacity.grid", "cpg", "capacity", Kind::Text { most: 2000 }).scores()
        .doc("Grid", "Parameters with the values to try, as fleet.replicas=1,2,4|scheduler.kind=vllm,sarathi: every combination is searched.")),
];
