//! Any trace, fleet, scheduling policy and cost.

use proptest::prelude::*;
use servescope_engine::queue::DrrConfig;
use servescope_engine::queue::OutputAccounting;
use servescope_engine::queue::{Client, QueueConfig, QueuePolicy};
use servescope_engine::queue::{Lift, Prediction, TokenCost, VtcConfig};
use servescope_engine::{
    Acceptance, AdapterConfig, AdapterLoading, AdapterMemory, CapacityPolicy, ChunkingPolicy, DataParallel,
    DraftMethod, DraftSchedule, Equals, HostCache, HostEviction, KvGroup, KvGroups, KvGroupsOfKind,
    LongPrefill, MOST_DRAFTS, OffloadConnector, PoolConfig, Preemption, RadixEviction, RetractionPolicy,
    SchedulePolicy, SchedulerKind, SglangRules, Speculation, TrtllmRules, VllmRules,
};
use servescope_workload::trace::{ClosedLoop, LabelMaker, NO_REQUEST, PrefixBlocks, Request, TraceMetadata};
use servescope_workload::{BASE_MODEL, Trace};

use super::toy::Toy;

prop_compose! {
    pub(crate) fn any_trace()(
        rows in prop::collection::vec((prop_oneof![Just(0u32), 0u32..4_000], 1u32..90, 1u32..60, 0u32..4), 1..50),
        block_tokens in prop::sample::select(&[4u32, 8, 16][..]),
        cancels in prop_oneof![Just(vec![]), prop::collection::vec((0u32..60_000, 0usize..50), 1..12)],
        waits in prop::option::weighted(0.3, prop::collection::vec((0u32..70, 0u32..900), 50)),
        talks in any::<bool>(),
    ) -> Trace {
        let mut trace = Trace { adapter_rank: vec![8, 16, 64, 8], ..Trace::default() };
        let mut now = 0.0;
        let mut prefix = PrefixBlocks::new(block_tokens);
        let (mut session, mut session_names) = (LabelMaker::default(), Vec::<String>::new());
        for (place, (gap, mut input, output, mut adapter)) in rows.into_iter().enumerate() {
            // Half of the requests go on in the session of one of the four before them.
            let before = (talks && output % 2 == 0).then(|| place.checked_sub(1 + gap as usize % 4)).flatten();
            let said = before.map(|id| trace.input_tokens[id] + trace.output_tokens[id]).filter(|&said| said < 70);
            if let Some((said, id)) = said.zip(before) {
                input = said + input % 20;
                adapter = if trace.adapter[id] == BASE_MODEL { 0 } else { trace.adapter[id] };
            }
            let name = said.map_or_else(|| place.to_string(), |_| session_names[before.unwrap_or(place)].clone());
            session.push(Some(&name));
            session_names.push(name);
            let past: Vec<u64> = match said.and(before) {
                Some(id) => prefix.of(id)[..(trace.input_tokens[id] / block_tokens) as usize].to_vec(),
                None => Vec::new(),
            };
            // Prompts of one adapter begin alike, for a part of their length.
            let own = u64::from(gap) << 32;
            prefix.push((0..u64::from(input.div_ceil(block_tokens))).map(|i| {
                let fresh = if i < 5 { u64::from(adapter) << 8 | i } else { own | u64::from(output) << 16 | i };
                past.get(i as usize).copied().unwrap_or(fresh)
            }));
            now += f64::from(gap);
            trace.push(Request {
                arrival_us: now,
                user: 0,
                adapter: if adapter == 0 { BASE_MODEL } else { adapter },
                input_tokens: input,
                output_tokens: output,
                max_tokens: output + adapter,
            });
        }
        let session = session.finish();
        trace.metadata = Some(Box::new(TraceMetadata { prefix, session, ..TraceMetadata::default() }));
        if talks {
            trace.name_outputs();
        }
        trace.cancellations =
            cancels.into_iter().map(|(at, id)| (f64::from(at), (id % trace.len()) as u32)).collect();
        trace.sort_cancellations();
        trace.closed_loop = waits.map(|waits| {
            let mut closed_loop = ClosedLoop::default();
            for (id, &(before, think)) in (0..).zip(&waits[..trace.len()]) {
                closed_loop.push(if before < id { before } else { NO_REQUEST }, f64::from(think / 3 * 3));
            }
            Box::new(closed_loop)
        });
        trace
    }
}

prop_compose! {
    /// Any settings of vLLM's engine, and its longest request.
    fn any_rules()(
        flags in any::<[bool; 4]>(),
        long_prefill_token_threshold in prop_oneof![
            2 => Just(LongPrefill::Unbounded),
            1 => (1u32..40).prop_map(LongPrefill::Tokens),
            1 => (1u32..40).prop_map(LongPrefill::Share),
        ],
        prefill_schedule_interval in prop_oneof![2 => Just(1), 1 => 2u32..6],
        max_num_active_seqs in prop::option::weighted(0.3, 1u32..12),
        max_num_queued_tokens in prop::option::weighted(0.2, 1u32..500),
        max_model_len in prop_oneof![Just(160), 40u32..160],
    ) -> (VllmRules, u32) {
        let [scheduler_reserve_full_isl, async_scheduling, stages_wait_for_tokens, enable_chunked_prefill] = flags;
        let rules = VllmRules {
            scheduler_reserve_full_isl, async_scheduling, stages_wait_for_tokens, long_prefill_token_threshold,
            enable_chunked_prefill, prefill_schedule_interval,
            max_num_active_seqs, max_num_queued_tokens,
            // With the other rule of vLLM a run may not end.
            equals: Equals::LastAdmitted,
        };
        (rules, max_model_len)
    }
}

prop_compose! {
    /// Rules of SGLang's scheduler that its server starts with.
    pub(crate) fn any_sglang()(
        (chunked_prefill_size, prefill_max_requests) in (prop::option::weighted(0.8, 8u32..200), prop::option::weighted(0.2, 1u32..4)),
        max_prefill_tokens in prop_oneof![Just(16_384u32), 40u32..300],
        schedule_policy in prop::sample::select(&[
            SchedulePolicy::Fcfs, SchedulePolicy::LongestPrefix, SchedulePolicy::DfsWeight, SchedulePolicy::LongestOutput,
            SchedulePolicy::ResponseRatio, SchedulePolicy::ShortestPrefill,
        ][..]),
        schedule_conservativeness in prop_oneof![Just(1.0), Just(0.1), 0.0..1.5f64],
        [enable_mixed_chunk, overlap_schedule, has_priorities] in any::<[bool; 3]>(),
        radix_eviction_policy in prop::sample::select(&[
            RadixEviction::Lru, RadixEviction::Lfu, RadixEviction::Fifo, RadixEviction::Filo, RadixEviction::Mru,
            RadixEviction::Slru, RadixEviction::Priority,
        ][..]),
        threshold in prop::option::of(0u32..3),
        retraction_policy in prop_oneof![Just(RetractionPolicy::Length), Just(RetractionPolicy::Priority)],
        max_queued_requests in prop::option::weighted(0.2, 1u32..8),
        (prefill_decode_interval, prefill_decode_interval_min_bs) in (prop_oneof![3 => Just(0u32), 1 => 1u32..5], 0u32..4),
        (min_free_slots_delay, max_loras_per_batch) in (prop::option::weighted(0.2, 1u32..5), prop::option::of(1u32..4)),
        (clip_max_new_tokens, recv_interval) in (prop_oneof![Just(4096u32), 4u32..60], prop_oneof![2 => Just(1u32), 1 => 2u32..12]),
    ) -> SglangRules {
        let takes_priorities = matches!(schedule_policy, SchedulePolicy::Fcfs | SchedulePolicy::LongestOutput);
        SglangRules {
            chunked_prefill_size, max_prefill_tokens, prefill_max_requests, schedule_policy, schedule_conservativeness,
            enable_mixed_chunk, overlap_schedule, radix_eviction_policy,
            enable_priority_scheduling: has_priorities && takes_priorities,
            schedule_low_priority_values_first: false,
            priority_scheduling_preemption_threshold: threshold,
            retraction_policy, max_queued_requests, prefill_decode_interval, prefill_decode_interval_min_bs,
            min_free_slots_delay, max_loras_per_batch, clip_max_new_tokens, recv_interval,
        }
    }
}

prop_compose! {
    /// Rules of TensorRT-LLM's scheduler.
    pub(crate) fn any_trtllm()(
        capacity_scheduler_policy in prop_oneof![
            Just(CapacityPolicy::GuaranteedNoEvict), Just(CapacityPolicy::MaxUtilization),
        ],
        context_chunking in prop_oneof![
            Just(None), Just(Some(ChunkingPolicy::FirstComeFirstServed)), Just(Some(ChunkingPolicy::EqualProgress)),
        ],
        overlap_schedule in any::<bool>(),
    ) -> TrtllmRules {
        TrtllmRules { capacity_scheduler_policy, context_chunking, overlap_schedule }
    }
}

prop_compose! {
    pub(crate) fn any_config()(
        scheduler in prop::sample::select(&SchedulerKind::ALL[..]),
        replicas in 1u32..4,
        blocks in 10u32..80,
        block_size in prop::sample::select(&[1u32, 4, 16][..]),
        watermark_blocks in 0u32..4,
        max_requests in 1u32..12,
        max_batch_tokens in 40u32..300,
        chunk_tokens in 4u32..64,
        decode_steps_between_prefills in 0u32..12,
        reference_quirks in any::<bool>(),
        prefix_cache in any::<bool>(),
        reserve in prop::bool::weighted(0.25),
        preemption in prop_oneof![
            Just(Preemption::Recompute),
            Just(Preemption::Regenerate),
            (0u32..60, prop_oneof![Just(0.0), Just(7.0), 0.0..40.0f64])
                .prop_map(|(host_blocks, us_per_block)| Preemption::Swap { host_blocks, us_per_block }),
        ],
        lora_compute in any::<bool>(),
        (rules, max_model_len) in any_rules(),
        (sglang, trtllm) in (any_sglang(), any_trtllm()),
        adapters in any_adapters(),
        kv_groups in any_groups(),
        speculation in any_speculation(),
    ) -> PoolConfig {
        let config = PoolConfig {
            replicas, scheduler, block_size, watermark_blocks, max_requests, max_batch_tokens, chunk_tokens,
            decode_steps_between_prefills, reference_quirks, prefix_cache,
            reserve, preemption, adapters,
            max_request_tokens: 160,
            max_slots: 6,
            kv_groups,
            max_input_tokens: 120,
            idle_poll_us: 0.0,
            lora_compute,
            host_cache: None,
            kv_transfer: None,
            data_parallel: DataParallel::ONE,
            vllm: VllmRules::default(),
            sglang: SglangRules::default(),
            trtllm,
            speculation,
            blocks: if block_size == 1 { blocks * 8 } else { blocks },
        };
        match scheduler {
            SchedulerKind::LightLlm | SchedulerKind::Slora => PoolConfig { block_size: 1, blocks: blocks * 8, ..config },
            SchedulerKind::Sglang => {
                let chunk = sglang.chunked_prefill_size.map(|size| size.next_multiple_of(block_size));
                PoolConfig {
                    sglang: SglangRules { chunked_prefill_size: chunk, ..sglang },
                    max_request_tokens: max_model_len,
                    ..config
                }
            }
            SchedulerKind::Trtllm => PoolConfig { max_request_tokens: max_model_len, ..config },
            SchedulerKind::VllmV1 => {
                let config = PoolConfig { max_batch_tokens: max_batch_tokens.max(max_requests), ..config };
                // Without chunks the longest request has to fit the budget.
                let wholes = if rules.enable_chunked_prefill { 0 } else { max_model_len };
                let max_batch_tokens = config.max_batch_tokens.max(wholes);
                PoolConfig { vllm: rules, max_request_tokens: max_model_len, max_batch_tokens, ..config }
            }
            _ => config,
        }
    }
}

prop_compose! {
    /// A drafter whose drafts are right more or less often, or none.
    fn any_speculation()(
        method in prop::sample::select(&[
            DraftMethod::Ngram, DraftMethod::DraftModel, DraftMethod::Eagle, DraftMethod::Dflash, DraftMethod::Dspark,
        ][..]),
        num_speculative_tokens in 0u32..7,
        ranges in prop::option::weighted(0.3, (0u32..6, 2u32..6, 0u32..6)),
        rate in prop_oneof![Just(0.0), 0.0..1.0f64, Just(1.0)],
        [is_on, parallel_drafting, lookahead_block_hashes] in any::<[bool; 3]>(),
        seed in any::<u64>(),
    ) -> Option<Speculation> {
        let mut survival = [0.0; MOST_DRAFTS];
        survival.iter_mut().fold(1.0, |before, chance| {
            *chance = before * rate;
            *chance
        });
        is_on.then_some(Speculation {
            method, parallel_drafting, num_speculative_tokens, lookahead_block_hashes,
            by_batch_size: ranges.and_then(|(few, from, many)| DraftSchedule::new(&[(1, few), (from, many)])),
            acceptance: Acceptance::Drawn { survival, seed },
        })
    }
}

/// Groups of layers with and without windows.
pub(crate) fn any_groups() -> impl Strategy<Value = KvGroups> {
    let group = prop_oneof![
        2 => Just(KvGroup::Full),
        4 => (1u32..50).prop_map(KvGroup::SlidingWindow),
        // Parts are whole blocks.
        1 => prop_oneof![Just(16), Just(48)].prop_map(KvGroup::ChunkedLocal),
        1 => Just(KvGroup::State),
    ];
    let ratio = prop_oneof![4 => Just(1u32), 1 => Just(2), 1 => Just(3)];
    let of_kind =
        (group, 1u32..3, ratio).prop_map(|(kind, count, ratio)| KvGroupsOfKind { kind, count, ratio });
    let groups = prop::collection::vec(of_kind, 1..4);
    prop_oneof![
        1 => Just(KvGroups::FULL),
        1 => groups.prop_map(|groups| KvGroups::new(&groups).expect("at most three kinds")),
    ]
}

prop_compose! {
    /// A tier of host memory that is large or small, on a fast or a slow link.
    fn any_host_cache()(
        connector in prop_oneof![Just(OffloadConnector::Offloading), Just(OffloadConnector::SimpleCpu)],
        eviction in prop_oneof![Just(HostEviction::Lru), Just(HostEviction::Arc)],
        blocks in prop_oneof![2u32..12, 12u32..400],
        store_threshold in prop_oneof![2 => Just(0u32), 1 => 1u32..4],
        [prompts_only, lazy] in any::<[bool; 2]>(),
        (base_us, block_us) in (prop_oneof![Just(0.0), 0.0..300.0f64], prop_oneof![Just(0.0), 0.0..60.0f64]),
    ) -> HostCache {
        HostCache {
            connector, blocks, eviction, store_threshold, prompts_only, lazy, base_us,
            load_block_us: block_us, store_block_us: 0.5 * block_us,
        }
    }
}

/// Adapters in any memory, with and without loading times.
pub(crate) fn any_adapters() -> impl Strategy<Value = AdapterConfig> {
    let memory = prop_oneof![
        1 => Just(AdapterMemory::Unified),
        2 => Just(AdapterMemory::Slots),
        1 => Just(AdapterMemory::Resident)
    ];
    let us = || prop_oneof![Just(0.0), Just(3.0), 0.0..40.0f64];
    let counts = (1u32..4, 0u32..3, prop_oneof![3 => Just(64u32), 1 => Just(16)]);
    (memory, counts, prop_oneof![Just(0.0), Just(0.25), Just(1.0)], (us(), us(), us()), any::<bool>())
        .prop_map(|(memory, (max_loras, more, max_lora_rank), tokens_per_rank, loading, prefetch)| {
            AdapterConfig {
                memory,
                max_loras,
                max_lora_rank,
                max_cpu_loras: max_loras + more,
                reserved_tokens: 0,
                tokens_per_rank,
                prefetch,
                loading: AdapterLoading {
                    base_us: loading.0,
                    host_us_per_rank: loading.1,
                    disk_us_per_rank: loading.2,
                },
            }
        })
}

prop_compose! {
    /// A fleet of vLLM's engine.
    pub(crate) fn any_vllm()(
        config in any_config(),
        (rules, max_request_tokens) in any_rules(),
        host_cache in prop::option::weighted(0.4, any_host_cache()),
    ) -> PoolConfig {
        // A token takes a block of its own in LightLLM's memory.
        let block_size = if config.scheduler == SchedulerKind::LightLlm { 16 } else { config.block_size };
        let wholes = if rules.enable_chunked_prefill { 0 } else { max_request_tokens };
        let max_batch_tokens = config.max_batch_tokens.max(config.max_requests).max(wholes);
        PoolConfig {
            scheduler: SchedulerKind::VllmV1, block_size, max_batch_tokens, vllm: rules, max_request_tokens,
            kv_groups: if host_cache.is_some() { KvGroups::FULL } else { config.kv_groups },
            host_cache, ..config
        }
    }
}

/// Every scheduling policy that a fleet keeps, and one that it cannot.
pub(crate) fn any_order() -> impl Strategy<Value = QueuePolicy> {
    let weights = || prop::collection::vec(prop_oneof![Just(1.0), Just(3.0), 0.1..5.0f64], 1..4);
    let accounting = || {
        prop_oneof![
            Just(OutputAccounting::Slora),
            Just(OutputAccounting::Ideal),
            Just(OutputAccounting::Artifact)
        ]
    };
    let lift = prop_oneof![Just(Lift::Waiting), Just(Lift::Paper), Just(Lift::Never), Just(Lift::Max)];
    let prediction = prop_oneof![
        2 => Just(Prediction::None),
        1 => Just(Prediction::History),
        1 => Just(Prediction::Given)
    ];
    let cost = prop_oneof![2 => Just(TokenCost::Linear), 1 => Just(TokenCost::Profile)];
    let fair =
        (weights(), 0.0..2.0f64, prop_oneof![Just(2.0), 0.0..3.0f64], cost, accounting(), lift, prediction)
            .prop_map(|(weights, input_price, output_price, cost, accounting, lift, prediction)| {
                QueuePolicy::Vtc(VtcConfig {
                    weights,
                    input_price,
                    output_price,
                    cost,
                    accounting,
                    lift,
                    prediction,
                })
            });
    let turns = (weights(), accounting(), prop_oneof![Just(None), (1.0..200.0f64).prop_map(Some)]).prop_map(
        |(weights, accounting, quantum)| {
            QueuePolicy::Drr(DrrConfig { weights, accounting, quantum, ..DrrConfig::default() })
        },
    );
    prop_oneof![
        2 => Just(QueuePolicy::Fcfs),
        1 => Just(QueuePolicy::Lifo),
        1 => Just(QueuePolicy::Sjf),
        1 => (prop::collection::vec(0.0..3.0f64, 1..4), prop_oneof![Just(0.0), 0.0..9e3f64])
            .prop_map(|(classes, ageing_us)| QueuePolicy::Priority { classes, ageing_us }),
        1 => (1u32..9).prop_map(|limit| QueuePolicy::Rpm { limit }),
        1 => Just(QueuePolicy::Peft),
        4 => fair,
        3 => turns,
    ]
}

prop_compose! {
    /// A trace of several users, and how a fleet's lines are kept for it.
    pub(crate) fn sent_by_users()(
        trace in any_trace(),
        users in prop::collection::vec(0u32..5, 50),
        order in any_order(),
        client in prop_oneof![Just(Client::User), Just(Client::Adapter)],
        predictions in prop::option::of(prop::collection::vec(0.0..80.0f64, 50)),
    ) -> (Trace, QueueConfig) {
        let mut trace = trace;
        let count = trace.len();
        trace.user.copy_from_slice(&users[..count]);
        (trace, QueueConfig { policy: order, client, predictions })
    }
}

/// A model on this many stages as a scheduler runs on.
pub(crate) fn on_its_stages(scheduler: SchedulerKind, cost: Toy) -> Toy {
    match scheduler {
        SchedulerKind::LightLlm | SchedulerKind::Slora | SchedulerKind::Sglang | SchedulerKind::Trtllm => {
            Toy { stages: 1, ..cost }
        }
        _ => cost,
    }
}

pub(crate) fn any_cost() -> impl Strategy<Value = Toy> {
    (prop_oneof![3 => Just(1u32), 1 => 2u32..4], prop_oneof![Just(0.0), Just(0.37)], 1u64..20)
        .prop_map(|(stages, growth_us, hold)| Toy { stages, growth_us, hold })
}
