//! How fast the fleet engine runs: `cargo run --release -p servescope-tests --example fleet_speed`.
//!
//! The settings are those of the speed table that was measured of Vidur (1,500 requests/s and 5,000 iterations/s at best),
//! with synthetic operator times of their size, and a million requests on four replicas; then a million requests of the
//! default workload with adapters through every scheduler.
//!
//! Memory is by how much the resident pages of the process are more at their peak than before the run, when the trace is
//! made: what the engine holds while it runs and the report that it hands over. Then the summary is made.
//!
//! `fleet_speed count SCHEDULER STAGES` runs one fleet, for a count of instructions, which other work on the machine does not
//! change: `valgrind --tool=callgrind --collect-atstart=no --toggle-collect='*counted*' fleet_speed count orca 4`. With one stage
//! it runs 20,000 requests of the default workload with its linear cost model, without adapters, or with them where the name ends
//! with a `+`; with more stages 3,000 requests with the synthetic operator times.

use std::fmt::Write as _;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use servescope_cost::profile::{ExactTables, LayerSettings};
use servescope_engine::metrics::token_gaps::InterTokenLatencies;
use servescope_engine::{Fleet, PoolConfig, SchedulerKind};
use servescope_lab::run::SimulationHandle;
use servescope_settings::scenario::Scenario;
use servescope_traces::loaded_trace::LoadedTrace;
use servescope_workload::stream::Stream;
use servescope_workload::trace::Request;
use servescope_workload::{BASE_MODEL, Trace, generate};

/// Operator times of the size of a 7B model's on an A100.
fn tables(stages: u32) -> ExactTables {
    let settings = LayerSettings {
        layers: 32,
        stages,
        tensor_parallel: 1,
        launch_ms: 0.0,
        skew_ms: 0.0,
        prefill_penalty: 0.0,
        decode_penalty: 0.0,
        kv_granularity: 64,
        cpu_ms: 0.0,
    };
    let operators = "attn_pre_proj,attn_rope,attn_post_proj,input_layernorm,mlp_up_proj,mlp_act,mlp_down_proj,add,send_recv";
    let mut tokens = format!("num_tokens,{operators}\n");
    for step in 1..=512 {
        let each = (0.28 + 0.0019 * f64::from(8 * step)) / 8.0;
        let _ = writeln!(tokens, "{}{},0.01", 8 * step, format!(",{each}").repeat(8));
    }
    let mut decode = "batch_size,kv_cache_size,attn_decode_ms\n".to_owned();
    for batch in 1..=128 {
        for kv in (0..=4096).step_by(64) {
            let _ = writeln!(decode, "{batch},{kv},{}", 0.009 + 1.1e-5 * f64::from(batch * kv));
        }
    }
    let mut prefill = "kv_cache_size,chunk_from,chunk_to,attn_prefill_ms\n".to_owned();
    for kv in (0..=4096).step_by(64) {
        for chunk in (1..=4096).step_by(48) {
            let time = 0.015 + 3e-8 * f64::from(chunk) * f64::from(chunk + kv);
            let _ = writeln!(prefill, "{kv},{chunk},{},{time}", (chunk + 47).min(4096));
        }
    }
    ExactTables::read(settings, &tokens, &decode, &prefill).expect("the tables are whole")
}

/// Poisson arrivals with lengths uniform between bounds.
fn trace(count: usize, rate_rps: f64, input: [f64; 2], output: [f64; 2]) -> Arc<Trace> {
    let mut draws = Stream::named(1, "fleet_speed");
    let mut trace = Trace::with_capacity(count);
    let mut now_us = 0.0;
    for _ in 0..count {
        now_us -= libm::log(draws.uniform()) / rate_rps * 1e6;
        let mut length = |[low, high]: [f64; 2]| (low + draws.uniform() * (high - low)) as u32;
        let (input_tokens, output_tokens) = (length(input), length(output));
        trace.push(Request {
            arrival_us: now_us,
            user: 0,
            adapter: BASE_MODEL,
            input_tokens,
            output_tokens,
            max_tokens: output_tokens,
        });
    }
    Arc::new(trace)
}

/// A number of kB in this process's status, in bytes; 0 where the system reports none.
fn resident(field: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes =
        line.and_then(|rest| rest.trim_start_matches(':').split_whitespace().next()?.parse().ok());
    1_024.0 * kilobytes.unwrap_or(0.0)
}

/// Bytes by which the peak of resident memory during `work` is above what there was before.
fn peak_growth<T>(work: impl FnOnce() -> T) -> (T, f64) {
    // 5 sets the peak back to what is resident now (proc(5)).
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let before = resident("VmRSS");
    let result = work();
    (result, resident("VmHWM") - before)
}

/// A million requests of the default workload at 0.8 of what S-LoRA serves, through a scheduler. In a process of its own: what
/// another run gave back would be used again, and not counted.
fn one_scheduler(scheduler: &str) {
    let set = |scenario: &mut Scenario, path: &str, text: &str| {
        scenario.set_text(path, text).expect("the parameter is known");
    };
    let mut scenario = Scenario::of_version(4);
    set(&mut scenario, "workload.rate_rps", "1.45");
    set(&mut scenario, "workload.duration_s", "690000");
    set(&mut scenario, "scheduler.kind", scheduler);
    let loaded = LoadedTrace::from_trace("default workload", generate(&scenario.workload()));
    let begun = Instant::now();
    let (run, bytes) =
        peak_growth(|| SimulationHandle::begin(&scenario, Some(&loaded)).map(SimulationHandle::run));
    let requests = run.map_or(0, |run| run.report.results.len());
    let (took_s, each) = (begun.elapsed().as_secs_f64(), bytes / requests as f64);
    println!("{scheduler}: {requests} requests in {took_s:.3} s, {each:.0} B a request");
}

fn every_scheduler() {
    let program = std::env::current_exe().expect("the program knows where it is");
    for scheduler in ["slora", "static", "orca", "vllm", "sarathi", "lightllm", "vllm_v1"] {
        let ended = Command::new(&program).arg(scheduler).status();
        assert!(ended.is_ok_and(|status| status.success()), "{scheduler}");
    }
}

/// What callgrind counts: from the fleet to its report.
#[inline(never)]
fn counted(run: impl FnOnce() -> usize) -> usize {
    std::hint::black_box(run())
}

fn count_instructions(scheduler: &str, stages: u32) {
    let set = |scenario: &mut Scenario, path: &str, text: &str| {
        scenario.set_text(path, text).expect("the parameter is known");
    };
    let mut scenario = Scenario::of_version(4);
    set(&mut scenario, "scheduler.kind", scheduler.trim_end_matches('+'));
    set(&mut scenario, "workload.rate_rps", "1.45");
    set(&mut scenario, "workload.duration_s", "13800");
    if !scheduler.ends_with('+') {
        set(&mut scenario, "workload.adapters.count", "0");
    }
    if stages == 1 {
        let loaded = LoadedTrace::from_trace("default workload", generate(&scenario.workload()));
        let handle = SimulationHandle::begin(&scenario, Some(&loaded)).expect("the scenario runs");
        let requests = counted(move || handle.run().report.results.len());
        println!("{requests} requests");
        return;
    }
    let kinds = [
        ("static", SchedulerKind::Static),
        ("orca", SchedulerKind::Orca),
        ("vllm", SchedulerKind::Vllm),
        ("sarathi", SchedulerKind::Sarathi),
        ("vllm_v1", SchedulerKind::VllmV1),
    ];
    let kind = kinds.iter().find(|(name, _)| *name == scheduler).expect("a scheduler that has stages").1;
    let config = PoolConfig { scheduler: kind, ..PoolConfig::default() };
    let fleet =
        Fleet::of_pool(trace(3_000, 7.0, [64.0, 1536.0], [16.0, 384.0]), config, Box::new(tables(stages)));
    let requests = counted(move || fleet.run().results.len());
    println!("{requests} requests");
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {}
        [scheduler] => return one_scheduler(scheduler),
        ["count", scheduler, stages] => {
            return count_instructions(scheduler, stages.parse().expect("a number of stages"));
        }
        _ => panic!("[SCHEDULER | count SCHEDULER STAGES]"),
    }
    every_scheduler();
    let base = PoolConfig::default();
    let of = |scheduler, replicas| PoolConfig { scheduler, replicas, ..base };
    let (short, wide) = ([64.0, 1536.0], [16.0, 384.0]);
    let runs = [
        (
            1,
            "vllm, 512/128, 1 replica",
            of(SchedulerKind::Vllm, 1),
            trace(1_000, 13.0, [512.0; 2], [128.0; 2]),
        ),
        (
            1,
            "sarathi 512, uniform, 1 replica",
            of(SchedulerKind::Sarathi, 1),
            trace(10_000, 7.0, short, wide),
        ),
        (1, "vllm, uniform, 4 replicas", of(SchedulerKind::Vllm, 4), trace(10_000, 29.0, short, wide)),
        (
            2,
            "vllm v1 2048, uniform, 1 replica of 2 stages",
            PoolConfig { max_batch_tokens: 2_048, ..of(SchedulerKind::VllmV1, 1) },
            trace(10_000, 9.0, short, wide),
        ),
        (
            1,
            "vllm v1 2048, uniform, 4 replicas",
            PoolConfig { max_batch_tokens: 2_048, ..of(SchedulerKind::VllmV1, 4) },
            trace(1_000_000, 25.0, short, wide),
        ),
    ];
    for (stages, name, config, trace) in runs {
        let requests = trace.len();
        let cost = Box::new(tables(stages));
        let begun = Instant::now();
        let (report, bytes) = peak_growth(|| Fleet::of_pool(trace, config, cost).run());
        let took_s = begun.elapsed().as_secs_f64();
        let (gaps, more_bytes) = peak_growth(|| InterTokenLatencies::of(&report.timeline));
        let gaps_s = begun.elapsed().as_secs_f64() - took_s;
        let iterations: u64 = report.timeline.iterations.iter().map(|run| u64::from(run.iterations)).sum();
        let each = |bytes: f64| bytes / requests as f64;
        println!(
            "{name}: {requests} requests, {iterations} iterations in {took_s:.3} s: {:.0} requests/s, {:.0} \
             iterations/s, {:.0} B a request; {} gaps between tokens in {gaps_s:.3} s, {:.0} B a request",
            requests as f64 / took_s,
            iterations as f64 / took_s,
            each(bytes),
            gaps.count(),
            each(more_bytes),
        );
    }
}
