//! `servescope bench`: how fast generator and engine are, one JSON object a line. `cargo xtask bench` calls it.

use std::hint::black_box;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use servescope_lab::views::{self, ViewOptions};
use servescope_lab::{Run, Running, Scenario};

use crate::output::{Failed, print};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Prints JSON (the only form there is).
    #[arg(long)]
    json: bool,
}

/// Load of about 0.8 of what the default server can serve.
const RATE_RPS: f64 = 1.45;

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failed> {
    if !arguments.json {
        return Err(Failed::input("bench prints JSON: say --json"));
    }
    for requests in [1_000u32, 10_000, 100_000, 1_000_000] {
        let mut scenario = Scenario::default();
        let duration = f64::from(requests) / RATE_RPS + 0.01;
        scenario.set_text("workload.rate_rps", &RATE_RPS.to_string())?;
        scenario.set_text("workload.duration_s", &duration.to_string())?;
        let rounds = (300_000 / requests).clamp(3, 50);
        let mut best = [f64::INFINITY; 4];
        for _ in 0..rounds {
            let start = Instant::now();
            let mut running = Running::begin(&scenario, None)?;
            let begun = start.elapsed().as_secs_f64();
            while running.advance(usize::MAX) < 1.0 {}
            let simulated = start.elapsed().as_secs_f64();
            let run: Run = running.finish();
            black_box(run.summary());
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
