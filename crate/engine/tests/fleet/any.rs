//! Any trace, fleet, order of service and cost.

use proptest::prelude::*;
use servescope_engine::fleet::{
    AdapterConfig, AdapterLoading, AdapterMemory, FleetConfig, Preemption, RouterKind, SchedulerKind,
};
use servescope_engine::scheduler::accounts::Charging;
use servescope_engine::scheduler::round_robin::RoundRobin;
use servescope_engine::scheduler::vtc::{Fair, Lift, Prediction, TokenCost};
use servescope_engine::scheduler::{Client, Order, Queueing};
use servescope_workload::trace::{Chain, Extra, NOBODY, PrefixBlocks, Request};
use servescope_workload::{BASE_MODEL, Trace};

use super::toy::Toy;

pub(crate) const ROUTERS: [RouterKind; 8] = [
    RouterKind::RoundRobin,
    RouterKind::Random,
    RouterKind::LeastOutstanding,
    RouterKind::ShortestLine,
    RouterKind::PowerOfTwo,
    RouterKind::LeastKv,
    RouterKind::AdapterAffinity,
    RouterKind::PrefixAffinity,
];

prop_compose! {
    pub(crate) fn any_trace()(
        rows in prop::collection::vec((prop_oneof![Just(0u32), 0u32..4_000], 1u32..90, 1u32..60, 0u32..4), 1..50),
        block_tokens in prop::sample::select(&[4u32, 8, 16][..]),
        cancels in prop_oneof![Just(vec![]), prop::collection::vec((0u32..60_000, 0usize..50), 1..12)],
        waits in prop::option::weighted(0.3, prop::collection::vec((0u32..70, 0u32..900), 50)),
    ) -> Trace {
        let mut trace = Trace { adapter_rank: vec![8, 16, 64, 8], ..Trace::default() };
        let mut now = 0.0;
        let mut prefix = PrefixBlocks { block_tokens, ..PrefixBlocks::default() };
        for (gap, input, output, adapter) in rows {
            // Prompts of one adapter begin alike, for a part of their length.
            let own = u64::from(gap) << 32;
            prefix.push((0..u64::from(input.div_ceil(block_tokens))).map(|i| {
                if i < 5 { u64::from(adapter) << 8 | i } else { own | u64::from(output) << 16 | i }
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
        trace.extra = Some(Box::new(Extra { prefix, ..Extra::default() }));
        trace.cancellations =
            cancels.into_iter().map(|(at, id)| (f64::from(at), (id % trace.len()) as u32)).collect();
        trace.sort_cancellations();
        trace.chain = waits.map(|waits| {
            let mut chain = Chain::default();
            for (id, &(before, think)) in (0..).zip(&waits[..trace.len()]) {
                chain.push(if before < id { before } else { NOBODY }, f64::from(think / 3 * 3));
            }
            Box::new(chain)
        });
        trace
    }
}

prop_compose! {
    pub(crate) fn any_config()(
        scheduler in prop::sample::select(&SchedulerKind::ALL[..]),
        router in prop::sample::select(&ROUTERS[..]),
        replicas in 1u32..4,
        blocks in 10u32..80,
        block_size in prop::sample::select(&[1u32, 4, 16][..]),
        watermark_blocks in 0u32..4,
        max_requests in 1u32..12,
        max_batch_tokens in 40u32..300,
        chunk_tokens in 4u32..64,
        decode_steps_between_prefills in 0u32..12,
        original in any::<bool>(),
        prefix_cache in any::<bool>(),
        max_in_system in prop_oneof![3 => Just(u32::MAX), 1 => 1u32..20],
        reserve in prop::bool::weighted(0.25),
        preemption in prop_oneof![
            Just(Preemption::Recompute),
            Just(Preemption::Regenerate),
            (0u32..60, prop_oneof![Just(0.0), Just(7.0), 0.0..40.0f64])
                .prop_map(|(host_blocks, us_per_block)| Preemption::Swap { host_blocks, us_per_block }),
        ],
        patience_us in prop_oneof![3 => Just(f64::INFINITY), 1 => (0u32..9_000).prop_map(f64::from)],
        adapters in any_adapters(),
    ) -> FleetConfig {
        let config = FleetConfig {
            replicas, router, scheduler, block_size, watermark_blocks, max_requests, max_batch_tokens, chunk_tokens,
            decode_steps_between_prefills, original, prefix_cache,
            max_in_system, patience_us, reserve, preemption, adapters,
            max_request_tokens: 160,
            max_slots: 6,
            seed: 7,
            blocks: if block_size == 1 { blocks * 8 } else { blocks },
        };
        match scheduler {
            SchedulerKind::LightLlm => FleetConfig { block_size: 1, blocks: blocks * 8, ..config },
            SchedulerKind::VllmV1 => FleetConfig { max_batch_tokens: max_batch_tokens.max(max_requests), ..config },
            _ => config,
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

/// Every order of service that a fleet keeps, and one that it cannot.
pub(crate) fn any_order() -> impl Strategy<Value = Order> {
    let weights = || prop::collection::vec(prop_oneof![Just(1.0), Just(3.0), 0.1..5.0f64], 1..4);
    let charging = || prop_oneof![Just(Charging::Slora), Just(Charging::Ideal), Just(Charging::Artifact)];
    let lift = prop_oneof![Just(Lift::Waiting), Just(Lift::Paper), Just(Lift::Never), Just(Lift::Max)];
    let prediction = prop_oneof![
        2 => Just(Prediction::None),
        1 => Just(Prediction::History),
        1 => Just(Prediction::Given)
    ];
    let cost = prop_oneof![2 => Just(TokenCost::Linear), 1 => Just(TokenCost::Profile)];
    let fair =
        (weights(), 0.0..2.0f64, prop_oneof![Just(2.0), 0.0..3.0f64], cost, charging(), lift, prediction)
            .prop_map(|(weights, input_price, output_price, cost, charging, lift, prediction)| {
                Order::Fair(Fair { weights, input_price, output_price, cost, charging, lift, prediction })
            });
    let turns = (weights(), charging(), prop_oneof![Just(None), (1.0..200.0f64).prop_map(Some)]).prop_map(
        |(weights, charging, quantum)| {
            Order::RoundRobin(RoundRobin { weights, charging, quantum, ..RoundRobin::default() })
        },
    );
    prop_oneof![
        2 => Just(Order::Fcfs),
        1 => Just(Order::Lifo),
        1 => Just(Order::Shortest),
        1 => (prop::collection::vec(0.0..3.0f64, 1..4), prop_oneof![Just(0.0), 0.0..9e3f64])
            .prop_map(|(classes, ageing_us)| Order::Priority { classes, ageing_us }),
        1 => (1u32..9).prop_map(|limit| Order::Rpm { limit }),
        1 => Just(Order::Peft),
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
    ) -> (Trace, Queueing) {
        let mut trace = trace;
        let count = trace.len();
        trace.user.copy_from_slice(&users[..count]);
        (trace, Queueing { order, client, predictions })
    }
}

pub(crate) fn any_cost() -> impl Strategy<Value = Toy> {
    (prop_oneof![3 => Just(1u32), 1 => 2u32..4], prop_oneof![Just(0.0), Just(0.37)], 1u64..20)
        .prop_map(|(stages, growth_us, hold)| Toy { stages, growth_us, hold })
}
