//! Rows of a replica's waiting queue and scheduler, and of fairness between clients.

use crate::parameters::builder::{choice, number, row, whole};
use crate::parameters::choices;
use crate::parameters::conditions::{
    BY_CLIENT, COUNTED, DRR, FAIR, FORMS_AHEAD, HAS_ADAPTERS, PREDICTS, PRIORITY, SGLANG, SGLANG_PRIORITY,
    SLORA, SOME_USERS, TRTLLM, VLLM_V1, VTC, above, any, when_in, when_not_in,
};
use crate::parameters::id::Id;
use crate::parameters::kind::{Kind, Parameter};

// A row is a paragraph of two to five lines; formatted it would be fifteen.
#[rustfmt::skip]
pub(super) const ROWS: &[(Id, Parameter)] = &[
    (Id::BatchMaxTokens, row("scheduler.batch_max_tokens", "batch", "queue", whole(1.0, 100_000_000.0, 8192.0)).unit("tokens").log(64.0, 16_384.0, 1.0)
        .also(&["scheduler.max_num_batched_tokens"])
        .when(&[
            when_not_in(Id::SchedulerKind, &["sarathi", "sglang"]),
            any(&[when_not_in(Id::SchedulerKind, &["static", "orca"]), when_in(Id::MemoryPlan, &["whole"])]),
        ])
        .doc("Token budget", "vLLM v1: most tokens of one iteration, prompts and decoding together (--max-num-batched-tokens), by default 2048, 8192 on an H100, 16384 on a GPU with 160 GB; at least the longest request where chunked prefill is off. TensorRT-LLM: the same (--max_num_tokens), by default 8192; a longer prompt is rejected where chunked prefill is off. The others: most prompt tokens of one prefill (S-LoRA's batch_max_tokens), by default a sixth of the pool, at least the longest request.")),
    (Id::MaxRunning, row("scheduler.max_running_requests", "run", "queue", whole(1.0, 1_000_000.0, 1024.0)).unit("requests").log(1.0, 1000.0, 1.0)
        .also(&["scheduler.max_num_seqs"])
        .doc("Max running requests", "Most requests that run together (vLLM's --max-num-seqs). vLLM v1's default is 256, 1024 on a GPU from 80 GB (the A100 left out), and never above the token budget; SGLang's (--max-running-requests) 2048 to 4096 by its pool, and never above half of the pool's tokens; TensorRT-LLM's (--max_batch_size) 2048.")),
    (Id::MaxRequestTokens, row("scheduler.max_request_tokens", "maxreq", "queue", whole(2.0, 100_000_000.0, 40_960.0)).unit("tokens").log(64.0, 16_384.0, 1.0)
        .also(&["scheduler.max_model_len"])
        .doc("Max request length", "A request whose prompt and max_tokens together exceed this is rejected. vLLM v1 (--max-model-len) rejects only a prompt that leaves no room for a token, and ends an output at this length; SGLang (--context-length) cuts outputs, too, and rejects a prompt that leaves no more than six tokens; TensorRT-LLM (--max_seq_len) does as vLLM, at what its KV pool holds if that is less; the default of the three is the model's longest context, or where the iteration-time model is linear, which names no model, the KV pool (--max-model-len auto).")),
    (Id::MaxInputTokens, row("scheduler.max_input_tokens", "maxin", "queue", whole(1.0, 100_000_000.0, 2048.0)).unit("tokens").log(16.0, 16_384.0, 1.0)
        .when(SLORA)
        .doc("Max prompt length", "A longer prompt is rejected (S-LoRA's max_req_input_len).")),
    (Id::DecodeSteps, row("scheduler.decode_steps_between_prefills", "steps", "queue", whole(0.0, 1_000_000.0, 10.0)).unit("iterations").linear(0.0, 50.0, 1.0)
        .when(&[when_in(Id::SchedulerKind, &["slora", "lightllm"])])
        .doc("Decode steps between prefills", "Minimum number of decode iterations between two prefills of a running batch; 0 lets waiting requests join at once.")),
    (Id::IdlePoll, row("scheduler.idle_poll_ms", "poll", "queue", number(0.0, 60_000.0, 10.0)).unit("ms").linear(0.0, 100.0, 1.0)
        .when(SLORA)
        .doc("Idle poll", "How long an idle S-LoRA scheduler sleeps before it polls for requests; 0 wakes it at the arrival.")),
    (Id::OriginalBlocking, row("scheduler.original_blocking", "block", "queue", Kind::Flag(false))
        .when(&[any(&[when_not_in(Id::SchedulerKind, &["vllm_v1"]), when_in(Id::Router, &["random"])])])
        .doc("Head-of-line blocking as in S-LoRA", "A request that can never fit stays in the waiting queue and blocks it, as in S-LoRA and Vidur; off: it is rejected.")),
    (Id::SchedulerKind, row("scheduler.kind", "sched", "queue", choice(choices::SCHEDULER)).usual("vllm_v1")
        .doc("Scheduler", "How requests are admitted to the batch of a replica. S-LoRA and LightLLM count KV memory in tokens, the others in blocks. Where adapters are kept is a setting of its own: Adapter memory.")),
    (Id::ReserveFullIsl, row("scheduler.reserve_full_isl", "isl", "queue", Kind::Flag(true))
        .also(&["scheduler.scheduler_reserve_full_isl"])
        .when(VLLM_V1)
        .doc("Whole prompt must fit", "A waiting request is admitted only where the blocks of its whole prompt are free, though it takes those of its first chunk only (vLLM's --scheduler-reserve-full-isl).")),
    (Id::AsyncScheduling, row("scheduler.async_scheduling", "asy", "queue", Kind::Flag(true))
        .when(FORMS_AHEAD)
        .doc("Asynchronous scheduling", "An iteration is scheduled when the one before it begins, so that the GPU never waits for the scheduler; an arrival waits up to one iteration longer (vLLM's --async-scheduling, the overlap schedulers of SGLang and TensorRT-LLM). Across pipeline stages a request decodes in one of as many iterations as there are stages, and the first stage waits until the request's last token has left the last one.")),
    (Id::ChunkedPrefill, row("scheduler.enable_chunked_prefill", "ecp", "queue", Kind::Flag(true))
        .when(&[when_in(Id::SchedulerKind, &["vllm_v1", "trtllm"])])
        .doc("Chunked prefill", "A prompt that does not fit into the rest of the token budget is cut; switched off, it waits (vLLM's --enable-chunked-prefill; TensorRT-LLM's enable_chunked_prefill, which is off by default).")),
    (Id::LongPrefillTokens, row("scheduler.long_prefill_token_threshold", "lpt", "queue", whole(0.0, 100_000_000.0, 0.0)).unit("tokens").linear(0.0, 8192.0, 16.0)
        .when(VLLM_V1)
        .off_at_zero().doc("Long prefill threshold", "Most tokens of one prompt in an iteration, unless its request is alone (vLLM's --long-prefill-token-threshold). 0 = no limit.")),
    (Id::LongPrefillAdaptive, row("scheduler.long_prefill_token_threshold_adaptive", "lpa", "queue", Kind::Flag(false))
        .when(&[when_in(Id::SchedulerKind, &["vllm_v1"]), above(Id::LongPrefillTokens, 0.0)])
        .doc("Adaptive threshold", "The long prefill threshold is never below the token budget divided by the number of requests that run and wait (vLLM's long_prefill_token_threshold_adaptive).")),
    (Id::PrefillInterval, row("scheduler.prefill_schedule_interval", "psi", "queue", whole(1.0, 1_000_000.0, 1.0)).unit("iterations").linear(1.0, 32.0, 1.0)
        .when(VLLM_V1)
        .doc("Prefill interval", "Iterations from one with prompts to the next while requests decode (vLLM's prefill_schedule_interval).")),
    (Id::MaxActiveSeqs, row("scheduler.max_num_active_seqs", "mas", "queue", whole(0.0, 1_000_000.0, 0.0)).unit("requests").linear(0.0, 1000.0, 1.0)
        .when(VLLM_V1)
        .off_at_zero().doc("Max active requests", "Most requests that run, where that is less than the max running requests (vLLM's max_num_active_seqs). 0 = no limit.")),
    (Id::MaxQueuedTokens, row("scheduler.max_num_queued_tokens", "mqt", "queue", whole(0.0, 100_000_000.0, 0.0)).unit("tokens").linear(0.0, 1_000_000.0, 1000.0)
        .when(VLLM_V1)
        .off_at_zero().doc("Max queued tokens", "A request is rejected (503) while prompts of this many tokens wait for their first output token (vLLM's max_num_queued_tokens). 0 = no limit.")),
    (Id::CapacityPolicy, row("scheduler.capacity_scheduler_policy", "csp", "queue", choice(choices::CAPACITY_POLICY))
        .when(TRTLLM)
        .doc("Capacity policy", "By which memory TensorRT-LLM admits a request: with blocks for its prompt and all its max_tokens, so that none is ever paused; or with blocks for its prompt, where the last started request is paused and recomputed when a block is missing (capacity_scheduler_policy).")),
    (Id::ChunkingPolicy, row("scheduler.context_chunking_policy", "xcp", "queue", choice(choices::CHUNKING_POLICY))
        .when(&[when_in(Id::SchedulerKind, &["trtllm"]), when_in(Id::ChunkedPrefill, &["true"])])
        .doc("Chunking policy", "How TensorRT-LLM gives the token budget to prompts that do not fit it together: to one after the other, or a block to each in turn (context_chunking_policy).")),
    (Id::PrefillChunk, row("scheduler.chunked_prefill_size", "cps", "queue", whole(0.0, 100_000_000.0, 8192.0)).unit("tokens").linear(0.0, 16_384.0, 128.0)
        .when(SGLANG)
        .off_at_zero().doc("Chunked prefill size", "Most prompt tokens of a batch of prompts; a longer prompt is cut, and the rest of it goes first in the next one (SGLang's --chunked-prefill-size). Its default follows the GPU's memory: 2048 below 20 GiB, 4096 below 60, 8192 below 160, 16384 above. 0 = off (-1 there): prompts are not cut.")),
    (Id::MaxPrefillTokens, row("scheduler.max_prefill_tokens", "mpt", "queue", whole(1.0, 100_000_000.0, 16_384.0)).unit("tokens").log(64.0, 131_072.0, 1.0)
        .when(SGLANG)
        .doc("Max prefill tokens", "Prompt tokens at which a batch of prompts takes no further one; a single prompt may have more (SGLang's --max-prefill-tokens).")),
    (Id::PrefillMaxRequests, row("scheduler.prefill_max_requests", "pmr", "queue", whole(0.0, 1_000_000.0, 0.0)).unit("requests").linear(0.0, 64.0, 1.0)
        .when(SGLANG)
        .off_at_zero().doc("Max prompts of a batch", "Most prompts in a batch of prompts (SGLang's --prefill-max-requests). 0 = no limit.")),
    (Id::SchedulePolicy, row("scheduler.schedule_policy", "spo", "queue", choice(choices::SCHEDULE_POLICY))
        .when(SGLANG)
        .doc("SGLang schedule policy", "In which order SGLang considers waiting requests (--schedule-policy): as they came; longest cached prefix first (lpm); by the radix tree, the branch with most requests first (dfs-weight); largest max_tokens first (lof); highest response ratio next (hrrn); fewest tokens to compute first. lpm and hrrn act as fcfs while more than 128 wait. With priorities it is fcfs or lof.")),
    (Id::Conservativeness, row("scheduler.schedule_conservativeness", "scv", "queue", number(0.0, 10.0, 1.0)).linear(0.0, 2.0, 0.05)
        .when(SGLANG)
        .doc("Schedule conservativeness", "How much of what is left of its max_tokens a running request is expected to need, as a factor of .7 to begin with (SGLang's --schedule-conservativeness): the new token ratio falls to .14 of that in 600 decodes, and a retraction raises it. Lower admits more requests, and retracts more.")),
    (Id::MixedChunk, row("scheduler.enable_mixed_chunk", "emc", "queue", Kind::Flag(false))
        .when(&[when_in(Id::SchedulerKind, &["sglang"]), above(Id::PrefillChunk, 0.0)])
        .doc("Mixed chunk", "Running requests decode in batches of prompts, too, and take from the chunk (SGLang's --enable-mixed-chunk); off: they wait while prompts are processed.")),
    (Id::RadixEviction, row("scheduler.radix_eviction_policy", "rdx", "queue", choice(choices::RADIX_EVICTION))
        .when(&[when_in(Id::SchedulerKind, &["sglang"]), when_in(Id::PrefixCache, &["true"])])
        .doc("Radix eviction policy", "Which leaf of the radix tree of cached prefixes is evicted first when memory is needed (SGLang's --radix-eviction-policy).")),
    (Id::ClipMaxNewTokens, row("scheduler.clip_max_new_tokens", "cmn", "queue", whole(1.0, 100_000_000.0, 4096.0)).unit("tokens").log(16.0, 131_072.0, 1.0)
        .when(SGLANG)
        .doc("Clip of max_tokens", "Most tokens that an output is expected to need when a request is admitted, whatever its max_tokens are (SGLang's environment variable SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION).")),
    (Id::MaxQueuedRequests, row("scheduler.max_queued_requests", "mxq", "queue", whole(0.0, 1_000_000.0, 0.0)).unit("requests").linear(0.0, 1000.0, 1.0)
        .when(SGLANG)
        .off_at_zero().doc("Max queued requests", "Most waiting requests of a replica; the next one is rejected (503), with priorities the worst one (SGLang's --max-queued-requests). 0 = no limit.")),
    (Id::DecodeInterval, row("scheduler.prefill_decode_interval", "pdi", "queue", whole(0.0, 1_000_000.0, 0.0)).unit("iterations").linear(0.0, 32.0, 1.0)
        .when(SGLANG)
        .doc("Prefill-decode interval", "So many batches of decodes come after a batch of prompts, also between two chunks of a prompt (SGLang's prefill_decode_interval).")),
    (Id::DecodeIntervalLeast, row("scheduler.prefill_decode_interval_min_bs", "pdm", "queue", whole(0.0, 1_000_000.0, 0.0)).unit("requests").linear(0.0, 256.0, 1.0)
        .when(&[when_in(Id::SchedulerKind, &["sglang"]), above(Id::DecodeInterval, 0.0)])
        .doc("Smallest batch of the interval", "With fewer running requests than this, prompts do not wait for the interval (SGLang's prefill_decode_interval_min_bs).")),
    (Id::RecvInterval, row("scheduler.recv_interval", "rci", "queue", whole(1.0, 1_000_000.0, 1.0)).unit("iterations").linear(1.0, 64.0, 1.0)
        .when(SGLANG)
        .doc("Receive interval", "While requests decode, the scheduler looks for new requests only every so many iterations; after a batch of prompts it looks at once (SGLang's --scheduler-recv-interval). Larger saves host time and delays prompts: an arrival waits for half of the interval on average.")),
    (Id::MinFreeSlots, row("scheduler.min_free_slots_delay", "mfs", "queue", whole(0.0, 1_000_000.0, 0.0)).unit("requests").linear(0.0, 256.0, 1.0)
        .when(SGLANG)
        .off_at_zero().doc("Min free slots", "While requests run, prompts wait until so many requests may join (SGLang's min_free_slots_delay). 0 = off.")),
    (Id::SlotPreemption, row("scheduler.priority_preemption", "ppr", "queue", Kind::Flag(true))
        .when(&[SGLANG_PRIORITY])
        .doc("Priority preemption", "Where all request slots are taken, a waiting request takes those of running ones of lower priority (off: SGLang's --disable-priority-preemption).")),
    (Id::SlotPreemptionThreshold, row("scheduler.priority_preemption_threshold", "ppt", "queue", whole(0.0, 1_000_000.0, 10.0)).linear(0.0, 100.0, 1.0)
        .when(&[SGLANG_PRIORITY, when_in(Id::SlotPreemption, &["true"])])
        .doc("Preemption threshold", "By more than this a waiting request has to be better, in classes, to take the slot of a running one (SGLang's --priority-scheduling-preemption-threshold).")),
    (Id::RetractionPolicy, row("scheduler.retraction_policy", "rtp", "queue", choice(choices::RETRACTION_POLICY))
        .when(&[SGLANG_PRIORITY])
        .doc("Retraction policy", "Which running requests keep their memory when it runs out: those with most output, or those of the better priority first (SGLang's --retraction-policy).")),
    (Id::SchedulerOrder, row("scheduler.order", "order", "queue", choice(choices::Order::SCHEDULER))
        .doc("Scheduling policy", "The order in which waiting requests are considered, in each replica's waiting queue. Early abort, adapter clustering, one adapter a batch and least padding need S-LoRA's batches.")),
    (Id::OrderClient, row("scheduler.client", "oc", "queue", choice(choices::QUEUE_CLIENT))
        .when(&[when_in(Id::SchedulerOrder, BY_CLIENT), any(&[SOME_USERS, HAS_ADAPTERS])])
        .doc("Scheduling clients", "Client (tenant): whether fairness and limits apply per user, or per adapter as in S-LoRA and VTC.")),
    (Id::FairWeights, row("scheduler.fair.weights", "fw", "queue", Kind::List { min: 0.01, max: 1e6, whole: false, default: &[1.0] })
        .when(&[FAIR])
        .doc("Weights", "Share of service due to each client in turn; clients beyond the list weigh 1.")),
    (Id::FairCost, row("scheduler.fair.cost", "fc", "queue", choice(choices::TOKEN_COST))
        .when(&[COUNTED])
        .doc("Cost of a token", "Fixed weights per token, or the time that VTC's authors measured on an A10G for such a request.")),
    (Id::FairInputPrice, row("scheduler.fair.input_price", "fi", "queue", number(0.0, 1000.0, 1.0)).linear(0.0, 4.0, 0.1)
        .when(&[FAIR, any(&[DRR, when_in(Id::FairCost, &["linear"])])])
        .doc("Weight of a prompt token", "What a prompt token adds to its client's counter.")),
    (Id::FairOutputPrice, row("scheduler.fair.output_price", "fo", "queue", number(0.0, 1000.0, 2.0)).linear(0.0, 4.0, 0.1)
        .when(&[FAIR, any(&[DRR, when_in(Id::FairCost, &["linear"])])])
        .doc("Weight of an output token", "What an output token adds to its client's counter.")),
    (Id::FairCharging, row("scheduler.fair.charging", "fch", "queue", choice(choices::OUTPUT_ACCOUNTING))
        .when(&[FAIR])
        .doc("Charging", "S-LoRA does not charge the first output token; ideal charges every token once; the artifact charges a whole batch again whenever a request of it ends.")),
    (Id::FairLift, row("scheduler.fair.lift", "fl", "queue", choice(choices::FairLift::ID))
        .when(&[VTC])
        .doc("Counter lift", "What the counter of a client that returns is raised to: the minimum of the waiting clients (those are VTC's active ones; a client that only runs is not counted); if none waits, the counter of the last client that left (paper); or all counters near the maximum before each decision.")),
    (Id::FairPrediction, row("scheduler.fair.prediction", "fp", "queue", choice(choices::OUTPUT_PREDICTION))
        .when(&[COUNTED])
        .doc("Charge in advance", "Output that is charged at admission and corrected at the end of the request: none, the mean of the client's last outputs, or a prediction.")),
    (Id::PredictionOf, row("scheduler.prediction.of", "po", "queue", choice(choices::PredictionOf::ID))
        .when(&[PREDICTS, when_in(Id::MaxTokensKind, &["cap"])])
        .doc("Predicted length", "Predictions are centred on the true output length, or on the request's max_tokens.")),
    (Id::PredictionRange, row("scheduler.prediction.range", "pr", "queue", number(0.0, 1.0, 0.0)).linear(0.0, 1.0, 0.01)
        .when(&[PREDICTS])
        .doc("Error of predictions", "Predictions are uniform within this share below and above; 0 is an oracle.")),
    (Id::DrrQuantum, row("scheduler.round_robin.quantum", "dq", "queue", number(0.0, 1e9, 0.0)).unit("tokens").linear(0.0, 10_000.0, 10.0)
        .when(&[DRR])
        .doc("DRR quantum", "Service credited to a client in each turn; 0 is a twentieth of the memory pool.")),
    (Id::RpmLimit, row("scheduler.rpm.limit", "rl", "queue", whole(1.0, 1_000_000.0, 20.0)).unit("requests").linear(1.0, 60.0, 1.0)
        .when(&[when_in(Id::SchedulerOrder, &["rpm"])])
        .doc("Request limit of the policy", "Accepted requests per client in any 60 s; further ones are rejected.")),
    (Id::AbortBound, row("scheduler.early_abort.bound_s", "eb", "queue", number(0.5, 100_000.0, 6.0)).unit("s").linear(0.5, 30.0, 0.1)
        .when(&[when_in(Id::SchedulerOrder, &["early_abort"])])
        .doc("Early-abort deadline", "A request whose first token cannot come by then is rejected (early abort); that is decided 0.5 s before.")),
    (Id::ClusterAdapters, row("scheduler.cluster.adapters", "ca", "queue", whole(1.0, 1_000_000.0, 8.0)).unit("adapters").linear(1.0, 64.0, 1.0)
        .when(&[when_in(Id::SchedulerOrder, &["cluster"])])
        .doc("Adapter-clustering threshold", "Once a batch uses this many adapters, requests for those come first (batch_num_adapters).")),
    (Id::PriorityClasses, row("scheduler.priority.classes", "pc", "queue", Kind::List { min: 0.0, max: 1e6, whole: false, default: &[0.0, 1.0] })
        .when(&[PRIORITY])
        .doc("Priority classes", "Priority class of each client, assigned cyclically; a lower number is served first.")),
    (Id::PriorityAgeing, row("scheduler.priority.ageing_s", "pa", "queue", number(0.0, 1e7, 10.0)).unit("s").linear(0.0, 120.0, 1.0)
        .when(&[PRIORITY, any(&[when_not_in(Id::SchedulerKind, &["sglang"]), when_in(Id::GatewayOrder, &["priority"])])])
        .doc("Aging", "Waiting this long makes up for one class; 0 is first come, first served.")),
    (Id::PrefetchAdapters, row("scheduler.prefetch_adapters", "pre", "queue", Kind::Flag(false))
        .when(&[
            HAS_ADAPTERS,
            when_in(Id::AdapterMemory, &["unified"]),
            any(&[
                when_not_in(Id::SchedulerKind, &["slora"]),
                when_in(Id::SchedulerOrder, &["fcfs", "lifo", "shortest", "priority", "rpm", "early_abort", "cluster", "pets"]),
            ]),
        ])
        .doc("Prefetch adapters", "Copies adapters to the GPU while iterations run: in S-LoRA those of waiting requests, twice between two prefills; with other schedulers that of the next request.")),
];
