//! One constructed case a cause: there the named cause is the right one. Those of the gateway are in `gateway.rs`.

use std::sync::Arc;

use crate::given::requests;
use servescope_engine::explain::cause::{ByCause, Cause};
use servescope_engine::explain::delays::DelayHolder;
use servescope_engine::explain::request_time::WhyTables;
use servescope_engine::queue::Client;
use servescope_engine::{AdapterConfig, AdapterMemory, Fleet, PoolConfig, Preemption, Report, SchedulerKind};
use servescope_workload::{BASE_MODEL, RequestId, Trace};

use super::toy::TOY;
use super::why::causes;

/// Each request is of its own user: (arrival in microseconds, prompt, output, adapter).
fn simulated(config: PoolConfig, rows: &[(f64, u32, u32, u32)]) -> Report {
    let of_users =
        (0..).zip(rows).map(|(user, &(at, input, output, adapter))| (at, user, adapter, input, output));
    let trace = Trace { adapter_rank: vec![8, 8], ..requests(of_users) };
    Fleet::of_pool(Arc::new(trace), config, Box::new(TOY)).with_decisions().run()
}

/// Without adapters: (arrival, prompt, output).
fn of(config: PoolConfig, rows: &[(f64, u32, u32)]) -> Vec<ByCause> {
    let rows: Vec<_> = rows.iter().map(|&(at, input, output)| (at, input, output, BASE_MODEL)).collect();
    causes(&simulated(PoolConfig { watermark_blocks: 0, ..config }, &rows))
}

/// The largest delay.
fn delay(sums: &ByCause) -> Cause {
    let delays = Cause::ALL.into_iter().filter(|cause| cause.is_delay());
    delays.max_by_key(|&cause| sums[cause as usize]).unwrap()
}

fn us(sums: &ByCause, cause: Cause) -> f64 {
    sums[cause as usize] as f64 / 1e3
}

const CONTINUOUS: [SchedulerKind; 3] = [SchedulerKind::Vllm, SchedulerKind::Sarathi, SchedulerKind::VllmV1];

fn plain(scheduler: SchedulerKind) -> PoolConfig {
    PoolConfig { scheduler, ..PoolConfig::default() }
}

#[test]
fn kv_memory() {
    // The first needs 10 blocks of 12 from the start, or 7; the second 7 more.
    let rows = [(0.0, 100, 50), (1.0, 100, 5)];
    for scheduler in CONTINUOUS {
        let config = PoolConfig { blocks: 12, reserve: true, ..plain(scheduler) };
        assert_eq!(delay(&of(config, &rows)[1]), Cause::KvMemory, "{scheduler:?}");
    }
    let slora = PoolConfig { blocks: 200, idle_poll_us: 0.0, ..PoolConfig::slora() };
    assert_eq!(delay(&of(slora, &rows)[1]), Cause::KvMemory);
}

#[test]
fn the_request_that_held_the_memory_is_named() {
    let rows = [(0.0, 100, 50, BASE_MODEL), (1.0, 100, 5, BASE_MODEL)];
    let config = PoolConfig { blocks: 12, reserve: true, watermark_blocks: 0, ..PoolConfig::default() };
    let report = simulated(config, &rows);
    let tables = WhyTables::of(&report).unwrap();
    let longest = tables.delays_of(1)[0].clone();
    assert_eq!(longest.cause, Cause::KvMemory);
    let behind = longest.behind.unwrap();
    assert_eq!((behind.user, behind.requests, behind.of_all, behind.share), (0, 1, 1, 1.0));
    assert_eq!(behind.most, [DelayHolder { request: RequestId::new(0), user: 0, share: 1.0 }]);
    // 100 tokens and 4 of the output are 7 blocks; the first one holds 10 of 12.
    assert_eq!(longest.compared, Some((7, 2)));
    let delays = tables.delays(Client::User);
    let second = delays.groups.iter().find(|group| group.of == Some(1)).unwrap();
    let first = delays.groups.iter().position(|group| group.of == Some(0)).unwrap();
    assert!(second.delayed_by[first] >= second.causes[Cause::KvMemory as usize]);
    assert_eq!(second.delayed_by.iter().sum::<u64>(), second.delayed_by[first]);
}

#[test]
fn token_budget() {
    // Each prompt fills the budget of an iteration.
    let rows: Vec<(f64, u32, u32)> = (0..12).map(|_| (0.0, 90, 1)).collect();
    for scheduler in CONTINUOUS {
        let config = PoolConfig { max_batch_tokens: 100, chunk_tokens: 100, ..plain(scheduler) };
        let sums = of(config, &rows);
        assert_eq!(delay(&sums[11]), Cause::TokenBudget, "{scheduler:?}");
    }
    let slora = PoolConfig { max_batch_tokens: 100, idle_poll_us: 0.0, ..PoolConfig::slora() };
    assert_eq!(delay(&of(slora, &rows)[11]), Cause::TokenBudget);
}

#[test]
fn batch_cap() {
    let rows = [(0.0, 100, 50), (1.0, 100, 5)];
    for scheduler in [SchedulerKind::Vllm, SchedulerKind::Sarathi, SchedulerKind::VllmV1, SchedulerKind::Orca]
    {
        let config = PoolConfig { max_requests: 1, ..plain(scheduler) };
        assert_eq!(delay(&of(config, &rows)[1]), Cause::BatchCap, "{scheduler:?}");
    }
}

#[test]
fn the_requests_with_the_largest_parts_come_first() {
    // 24 blocks of 26 are held until the outputs end; by tokens at the end: 90, 130, 70 and 64.
    let rows = [(0.0, 40, 50), (0.0, 80, 50), (0.0, 20, 50), (0.0, 14, 50), (1.0, 100, 5)];
    let rows: Vec<_> = rows.iter().map(|&(at, input, output)| (at, input, output, BASE_MODEL)).collect();
    let config = PoolConfig { blocks: 26, reserve: true, watermark_blocks: 0, ..PoolConfig::default() };
    let report = simulated(config, &rows);
    let longest = WhyTables::of(&report).unwrap().delays_of(4)[0].clone();
    assert_eq!(longest.cause, Cause::KvMemory);
    let behind = longest.behind.unwrap();
    assert_eq!((behind.user, behind.requests, behind.of_all), (1, 1, 4));
    let most: Vec<RequestId> = behind.most.iter().map(|holder| holder.request).collect();
    assert_eq!(most, [1, 0, 2].map(RequestId::new));
    assert_eq!(behind.most[0].share, behind.share);
    assert!(behind.most.iter().map(|holder| holder.share).sum::<f64>() < 1.0);
}

/// Adapters in one slot.
fn one_slot(scheduler: SchedulerKind) -> PoolConfig {
    let adapters = AdapterConfig {
        memory: AdapterMemory::Slots,
        max_loras: 1,
        max_cpu_loras: 2,
        max_lora_rank: 8,
        ..AdapterConfig::FREE
    };
    PoolConfig { adapters, ..plain(scheduler) }
}

#[test]
fn adapter_slots() {
    for scheduler in CONTINUOUS {
        let report = simulated(one_slot(scheduler), &[(0.0, 20, 40, 0), (1.0, 20, 5, 1)]);
        assert_eq!(delay(&causes(&report)[1]), Cause::AdapterSlots, "{scheduler:?}");
        let behind = WhyTables::of(&report).unwrap().delays_of(1)[0].behind.clone().unwrap();
        assert_eq!((behind.user, behind.requests), (0, 1));
    }
}

#[test]
fn adapter_loading() {
    for scheduler in CONTINUOUS {
        let mut config = one_slot(scheduler);
        config.adapters.loading.base_us = 700.0;
        let sums = causes(&simulated(config, &[(0.0, 20, 5, 0)]));
        assert_eq!(us(&sums[0], Cause::AdapterLoading), 700.0, "{scheduler:?}");
        assert_eq!(delay(&sums[0]), Cause::AdapterLoading);
    }
}

#[test]
fn interleaving_rule() {
    // The second comes within the first decode iteration; nine more are decoded before the next prefill.
    let rows = [(0.0, 20, 50), (100.0, 20, 5)];
    for scheduler in [SchedulerKind::Slora, SchedulerKind::LightLlm] {
        let config = PoolConfig { idle_poll_us: 0.0, ..PoolConfig::slora() };
        let sums = of(PoolConfig { scheduler, ..config }, &rows);
        assert_eq!(delay(&sums[1]), Cause::InterleavingRule, "{scheduler:?}");
        let (rule, iteration) =
            (us(&sums[1], Cause::InterleavingRule), us(&sums[1], Cause::RunningIteration));
        assert!((8.5 * 53.4..10.0 * 54.5).contains(&rule), "{scheduler:?}: {rule}");
        assert!(iteration < 54.5, "{scheduler:?}: {iteration}");
    }
    // vLLM's prefill_schedule_interval: prompts in every eighth iteration.
    let mut config = plain(SchedulerKind::VllmV1);
    config.vllm.prefill_schedule_interval = 8;
    config.vllm.async_scheduling = false;
    let sums = of(config, &[(0.0, 20, 50), (100.0, 20, 5)]);
    assert_eq!(delay(&sums[1]), Cause::InterleavingRule);
}

#[test]
fn prefill_stall() {
    // While the first decodes, a prompt of 2,000 tokens is processed: alone or beside it.
    let rows = [(0.0, 20, 20), (300.0, 2_000, 1)];
    for scheduler in [SchedulerKind::Vllm, SchedulerKind::Orca, SchedulerKind::VllmV1, SchedulerKind::Slora] {
        let base = if scheduler == SchedulerKind::Slora { PoolConfig::slora() } else { plain(scheduler) };
        let sums = of(PoolConfig { idle_poll_us: 0.0, ..base }, &rows);
        assert_eq!(delay(&sums[0]), Cause::PrefillStall, "{scheduler:?}");
        let stalled = us(&sums[0], Cause::PrefillStall);
        assert!((3_400.0..3_460.0).contains(&stalled), "{scheduler:?}: {stalled}");
    }
}

#[test]
fn preemption() {
    // With 14 blocks both begin; the first grows, the second makes room.
    let rows = [(0.0, 100, 50), (1.0, 100, 30)];
    for scheduler in CONTINUOUS {
        let sums = of(PoolConfig { blocks: 14, ..plain(scheduler) }, &rows);
        assert_eq!(delay(&sums[1]), Cause::Preemption, "{scheduler:?}");
        assert_eq!(us(&sums[0], Cause::Preemption), 0.0, "{scheduler:?}");
    }
}

#[test]
fn swap() {
    let rows = [(0.0, 100, 50), (1.0, 100, 30)];
    for scheduler in [SchedulerKind::Vllm, SchedulerKind::Sarathi] {
        let preemption = Preemption::Swap { host_blocks: 1_000, us_per_block: 7.0 };
        let sums = of(PoolConfig { blocks: 14, preemption, ..plain(scheduler) }, &rows);
        assert_eq!(delay(&sums[1]), Cause::Swap, "{scheduler:?}");
        assert_eq!(us(&sums[1], Cause::Preemption), 0.0, "{scheduler:?}");
        assert!(
            us(&sums[0], Cause::Swap) >= 7.0,
            "the copy lengthens the first one's iteration, {scheduler:?}"
        );
    }
}

#[test]
fn running_iteration() {
    // What is under way when it comes takes longer than its own prompt.
    let rows = [(0.0, 4_000, 1), (1.0, 10, 1)];
    for scheduler in [SchedulerKind::Vllm, SchedulerKind::Orca] {
        let sums = of(plain(scheduler), &rows);
        assert_eq!(delay(&sums[1]), Cause::RunningIteration, "{scheduler:?}");
    }
}

#[test]
fn idle_poll() {
    // S-LoRA's router looks every 10 ms while nothing runs.
    let sums = of(PoolConfig::slora(), &[(1_000.0, 20, 5)]);
    assert_eq!(delay(&sums[0]), Cause::IdlePoll);
    assert_eq!(us(&sums[0], Cause::IdlePoll), 9_000.0);
}

#[test]
fn static_batch() {
    let config = PoolConfig { max_request_tokens: 200, ..plain(SchedulerKind::Static) };
    let sums = of(config, &[(0.0, 20, 60), (1.0, 20, 5)]);
    assert_eq!(delay(&sums[1]), Cause::StaticBatch);
    let continuous = of(plain(SchedulerKind::Orca), &[(0.0, 20, 60), (1.0, 20, 5)]);
    assert_eq!(us(&continuous[1], Cause::StaticBatch), 0.0);
    assert!(us(&continuous[1], Cause::RunningIteration) < us(&sums[1], Cause::StaticBatch));
}

#[test]
fn shared_prefill() {
    // A short and a long prompt in one prefill.
    let sums = of(plain(SchedulerKind::Vllm), &[(0.0, 10, 1), (0.0, 1_000, 1)]);
    assert_eq!(delay(&sums[0]), Cause::SharedPrefill);
    assert!((us(&sums[0], Cause::SharedPrefill) - 1_700.0).abs() < 0.01);
    assert!((us(&sums[1], Cause::SharedPrefill) - 17.0).abs() < 0.01);
}

#[test]
fn batch_size() {
    let rows = [(0.0, 10, 50); 8];
    for scheduler in [SchedulerKind::Vllm, SchedulerKind::Orca, SchedulerKind::VllmV1, SchedulerKind::Sarathi]
    {
        let sums = of(plain(scheduler), &rows);
        assert_eq!(delay(&sums[3]), Cause::BatchSize, "{scheduler:?}");
        // Seven others cost 3.1 us each in 49 iterations.
        let slower = us(&sums[3], Cause::BatchSize);
        assert!((slower - 49.0 * 7.0 * 3.1).abs() < 1.0, "{scheduler:?}: {slower}");
    }
}

#[test]
fn own_prompt_and_output() {
    for scheduler in SchedulerKind::ALL {
        let base = if scheduler == SchedulerKind::Slora { PoolConfig::slora() } else { plain(scheduler) };
        let sums = of(PoolConfig { idle_poll_us: 0.0, ..base }, &[(0.0, 100, 40)]);
        for cause in Cause::ALL.into_iter().filter(|cause| cause.is_delay()) {
            assert!(us(&sums[0], cause) < 0.01, "{scheduler:?}: {cause:?} {}", us(&sums[0], cause));
        }
        assert!((us(&sums[0], Cause::OwnPrefill) - 220.3).abs() < 0.01, "{scheduler:?}");
        assert!(us(&sums[0], Cause::OwnDecode) > 39.0 * 53.4, "{scheduler:?}");
    }
}
