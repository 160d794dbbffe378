//! How long a step of the scheduler debugger takes, forward, back and to any place, in a run of many requests.
//!
//! `cargo run --release -p servescope-output --example debugger_speed -- 100000 gateway.kind=proxy`

use std::time::Instant;

use servescope_output::debugger::{Debugger, Move};
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::scenario::Scenario;

/// Load of about 0.8 of what the default server can serve.
const RATE_RPS: f64 = 1.45;

/// Prints statistics of durations in milliseconds.
fn print_durations(name: &str, mut times_ms: Vec<f64>) {
    times_ms.sort_by(f64::total_cmp);
    let mean = times_ms.iter().sum::<f64>() / times_ms.len() as f64;
    let last = times_ms.len() - 1;
    let (median, p95, longest) = (times_ms[last / 2], times_ms[last * 95 / 100], times_ms[last]);
    println!(
        "{name}: {} steps, mean {mean:.2} ms, median {median:.2} ms, P95 {p95:.2} ms, longest {longest:.2} ms",
        times_ms.len()
    );
}

fn main() -> Result<(), Vec<Diagnostic>> {
    let requests = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100_000.0);
    let given: Vec<String> = std::env::args().skip(2).collect();
    let given = || given.iter().filter_map(|setting| setting.split_once('='));
    for scheduler in ["slora", "vllm_v1", "sarathi", "vllm", "lightllm", "orca", "static"] {
        let mut scenario = Scenario::of_version(4);
        let settings = [
            ("workload.rate_rps", RATE_RPS.to_string()),
            ("workload.duration_s", (requests / RATE_RPS).to_string()),
            ("scheduler.kind", scheduler.to_owned()),
        ];
        let given = given().map(|(path, value)| (path, value.to_owned()));
        for (path, value) in settings.into_iter().chain(given) {
            scenario.set_text(path, &value).map_err(|error| vec![error])?;
        }
        let begun = Instant::now();
        let mut debugger = Debugger::simulate(&scenario, None)?;
        let steps = debugger.len();
        let took_ms = begun.elapsed().as_secs_f64() * 1e3;
        println!("{scheduler}: {requests} requests, {steps} steps, ready after {took_ms:.0} ms");
        let mut timed = |to: Move| {
            let begun = Instant::now();
            let _ = debugger.go(to);
            let _ = debugger.view();
            begun.elapsed().as_secs_f64() * 1e3
        };
        // Places spread over the run without an order.
        let place = |i: usize| Move::To((i * 7_919 * 104_729) % steps);
        print_durations("  to any place", (0..40).map(|i| timed(place(i))).collect());
        let one_back = (0..40).map(|i| {
            timed(place(i * 13 + 5));
            timed(Move::By(-1))
        });
        print_durations("  one step back from any place", one_back.collect());
        for (name, by) in [("  forward", 1), ("  back", -1)] {
            let times = (0..10).flat_map(|i| {
                timed(place(i * 31 + 7));
                (0..10).map(|_| timed(Move::By(by))).collect::<Vec<_>>()
            });
            print_durations(name, times.collect());
        }
    }
    Ok(())
}
