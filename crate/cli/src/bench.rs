//! `servescope bench`: how fast generator and engine are, one JSON object a line. `cargo xtask bench` calls it.

use std::hint::black_box;
use std::num::NonZero;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use servescope_lab::run::{Run, SimulationHandle, TABLE_ROWS};
use servescope_output::views::{self, ViewOptions};
use servescope_settings::scenario::Scenario;
use servescope_workload::generate;

use crate::output::{CliError, print};
use crate::scenario_args::ScenarioArguments;

#[derive(Args)]
pub(crate) struct BenchArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    /// How often a scenario is run; the fastest of each part counts.
    #[arg(long, value_name = "N", default_value = "3")]
    rounds: NonZero<u32>,
    /// Prints JSON (the only form there is).
    #[arg(long)]
    json: bool,
    /// Measures the generator alone, with every option on.
    #[arg(long)]
    generator: bool,
    /// Measures 10^6 requests of 1,000 users with every check of the gateway on, against the same without a gateway.
    #[arg(long)]
    gateway: bool,
}

/// Load of about 0.8 of what the default server can serve.
const RATE_RPS: f64 = 1.45;

pub(crate) fn run(arguments: &BenchArguments) -> Result<(), CliError> {
    if !arguments.json {
        return Err(CliError::input("bench prints JSON: say --json"));
    }
    if arguments.generator {
        return generator();
    }
    if arguments.gateway {
        return gateway();
    }
    if arguments.scenario.is_given() {
        return one(&arguments.scenario.scenario()?, arguments.rounds.get());
    }
    for requests in [1_000u32, 10_000, 100_000, 1_000_000] {
        let mut scenario = Scenario::of_version(4);
        let duration = f64::from(requests) / RATE_RPS + 0.01;
        scenario.set_text("workload.rate_rps", &RATE_RPS.to_string())?;
        scenario.set_text("workload.duration_s", &duration.to_string())?;
        let rounds = (300_000 / requests).clamp(3, 50);
        let mut best = [f64::INFINITY; 4];
        for _ in 0..rounds {
            let start = Instant::now();
            let mut running = SimulationHandle::begin(&scenario, None)?;
            let begun = start.elapsed().as_secs_f64();
            while running.advance(usize::MAX) < 1.0 {}
            let simulated = start.elapsed().as_secs_f64();
            let run: Run = running.finish();
            black_box(run.summary_without_load(TABLE_ROWS));
            let summarised = start.elapsed().as_secs_f64();
            black_box(views::all(&run, &ViewOptions::default()));
            let viewed = start.elapsed().as_secs_f64();
            let parts = [begun, simulated - begun, summarised - simulated, viewed - summarised];
            best.iter_mut().zip(parts).for_each(|(best, part)| *best = best.min(part));
        }
        let rate = |seconds: f64| (f64::from(requests) / seconds).round();
        let line = json!({
            "name": "default scenario, load 0.8",
            "requests": requests,
            "generate_rps": rate(best[0]),
            "simulate_rps": rate(best[1]),
            "summarise_rps": rate(best[2]),
            "views_rps": rate(best[3]),
            "total_ms": best.iter().sum::<f64>() * 1e3,
        });
        print(&format!("{line}\n"))?;
    }
    Ok(())
}

/// One scenario: how long its parts took, what memory it needed, and what came of it.
fn one(scenario: &Scenario, rounds: u32) -> Result<(), CliError> {
    let mut best_s = [f64::INFINITY; 4];
    let mut simulated_bytes = None;
    let mut summary = None;
    for round in 0..rounds {
        let resident = process_bytes("VmRSS:");
        let start = Instant::now();
        let mut running = SimulationHandle::begin(scenario, None)?;
        let begun = start.elapsed().as_secs_f64();
        while running.advance(usize::MAX) < 1.0 {}
        let run = running.finish();
        let simulated = start.elapsed().as_secs_f64();
        if round == 0 {
            // Later rounds find the memory that this one gave back.
            simulated_bytes = process_bytes("VmHWM:").zip(resident).map(|(most, before)| most - before);
        }
        let viewing = Instant::now();
        black_box(views::all(&run, &ViewOptions::default()));
        let viewed = viewing.elapsed().as_secs_f64();
        summary = Some(black_box(run.summary_without_load(TABLE_ROWS)));
        let parts = [begun, simulated - begun, viewing.elapsed().as_secs_f64() - viewed, viewed];
        best_s.iter_mut().zip(parts).for_each(|(best, part)| *best = best.min(part));
    }
    let Some(summary) = summary.map(|summary| summary.run) else { return Ok(()) };
    let line = json!({
        "requests": summary.requests.offered,
        "completed": summary.requests.completed,
        "iterations": summary.batch.iterations,
        "generate_s": best_s[0],
        "simulate_s": best_s[1],
        "summarise_s": best_s[2],
        "views_s": best_s[3],
        "bytes_per_request": simulated_bytes.map(|bytes| bytes / summary.requests.offered as f64),
        "ttft_p50_s": summary.ttft_s.p50,
        "ttft_p99_s": summary.ttft_s.p99,
        "output_tokens_per_s": summary.output_tokens_per_s,
    });
    print(&format!("{line}\n"))
}

/// A figure of this process's memory, where the system reports it as Linux does.
fn process_bytes(name: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kib: f64 =
        status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024.0)
}

/// The default scenario with these settings, each PATH=VALUE.
fn with(settings: &[&str]) -> Result<Scenario, CliError> {
    let mut scenario = Scenario::of_version(4);
    for setting in settings {
        let (path, value) = setting.split_once('=').unwrap_or((setting, ""));
        scenario.set_text(path, value)?;
    }
    Ok(scenario)
}

/// A proxy with every check on, against the same traffic without one, before S-LoRA and before vLLM v1: whole runs
/// from generation to summary, in turn.
fn gateway() -> Result<(), CliError> {
    const TRAFFIC: &[&str] = &[
        "workload.rate_rps=1.3",
        "workload.duration_s=769230",
        "workload.adapters.count=0",
        "workload.users.count=1000",
        "workload.users.zipf_s=0.5",
    ];
    const GATEWAY: &[&str] = &[
        "gateway.kind=proxy",
        "gateway.checks=rpm|tpm|concurrency|queue|kv|ttft",
        "gateway.rpm=600",
        "gateway.tpm.input=400000",
        "gateway.tpm.output=400000",
        "gateway.tpm.total=500000",
        "gateway.lending.on=true",
        "gateway.concurrency=200",
        "gateway.client_concurrency=100",
        "gateway.queue.requests=500",
        "gateway.queue.tokens=500000",
        "gateway.queue_timeout_s=60",
        "gateway.ttft.bound_s=60",
        "gateway.retry.kind=backoff",
        "gateway.load.policy=fair_share",
        "gateway.order=vtc",
        "gateway.predict.kind=p90",
    ];
    for scheduler in ["slora", "vllm_v1"] {
        let mut scenarios = vec![with(TRAFFIC)?, with(&[TRAFFIC, GATEWAY].concat())?];
        for scenario in &mut scenarios {
            scenario.set_text("scheduler.kind", scheduler)?;
        }
        let mut best_s = [f64::INFINITY; 2];
        for _ in 0..3 {
            for (best, scenario) in best_s.iter_mut().zip(&scenarios) {
                let start = Instant::now();
                black_box(Run::simulate(scenario, None)?.summary_without_load(TABLE_ROWS));
                *best = best.min(start.elapsed().as_secs_f64());
            }
        }
        let line = json!({
            "name": format!("every check of the gateway on, {scheduler}"),
            "requests": 999_999,
            "without_s": best_s[0],
            "with_s": best_s[1],
            "times": best_s[1] / best_s[0],
        });
        print(&format!("{line}\n"))?;
    }
    Ok(())
}

/// The generator alone with every option on, distribution by distribution of the arrivals and lengths that cost most.
fn generator() -> Result<(), CliError> {
    const REQUESTS: f64 = 1e6;
    const COMMON: &[&str] = &[
        "workload.rate_rps=1000",
        "workload.duration_s=1000",
        "workload.length_correlation=0.5",
        "workload.input_tokens.curve.kind=diurnal",
        "workload.output_tokens.curve.kind=severe_fluctuation",
        "workload.adapters.popularity=zipf",
        "workload.adapters.count=1000",
        "workload.users.popularity=lognormal",
        "workload.users.count=10000",
        "workload.max_tokens.kind=cap",
    ];
    for arrivals in ["gamma", "weibull", "modulated"] {
        for curve in ["diurnal", "points"] {
            for lengths in ["lognormal", "percentiles", "mixture", "histogram"] {
                let mut scenario = with(COMMON)?;
                scenario.set_text("workload.arrivals.kind", arrivals)?;
                scenario.set_text("workload.curve.kind", curve)?;
                scenario.set_text("workload.curve.points", "0,1,500,1.5,1000,0.5")?;
                scenario.set_text("workload.input_tokens.kind", lengths)?;
                scenario.set_text("workload.output_tokens.kind", lengths)?;
                let mut best = f64::INFINITY;
                let mut made = 0;
                for _ in 0..3 {
                    let start = Instant::now();
                    made = black_box(generate(&scenario.workload())).len();
                    best = best.min(start.elapsed().as_secs_f64() * REQUESTS / made as f64);
                }
                let line = json!({
                    "name": format!("generator, every option on: {arrivals}, {curve}, {lengths}"),
                    "requests": made,
                    "million_requests_s": best,
                });
                print(&format!("{line}\n"))?;
            }
        }
    }
    Ok(())
}
