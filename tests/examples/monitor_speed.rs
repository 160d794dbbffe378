//! How long the monitor takes beside its run: `cargo run --release -p servescope-tests --example monitor_speed`.
//!
//! A million requests of a thousand users, once through S-LoRA's loop under FCFS and under VTC, once through a fleet.

use std::time::Instant;

use servescope_engine::metrics::Slo;
use servescope_engine::metrics::monitor::{Monitor, MonitorOptions};
use servescope_engine::queue::Client;
use servescope_lab::run::Run;
use servescope_settings::scenario::Scenario;

fn main() {
    let base = [
        ("workload.rate_rps", "200"),
        ("workload.duration_s", "5000"),
        ("workload.users.count", "1000"),
        ("workload.output_tokens.high", "64"),
        ("scheduler.max_total_tokens", "1000000"),
        ("scheduler.max_running_requests", "2000"),
        ("cost.linear.prefill_per_token_ms", "0.001"),
        ("cost.linear.decode_per_request_ms", "0.001"),
        ("cost.linear.decode_per_kv_token_ms", "0"),
        ("cost.linear.decode_base_ms", "2"),
        ("cost.linear.prefill_base_ms", "1"),
    ];
    for kind in [("scheduler.order", "fcfs"), ("scheduler.order", "vtc"), ("scheduler.kind", "vllm_v1")] {
        let mut scenario = Scenario::of_version(4);
        for (path, value) in base.iter().chain(&[kind]) {
            scenario.set_text(path, value).expect("the settings are within their bounds");
        }
        let begun = Instant::now();
        let run = Run::simulate(&scenario, None).expect("the scenario is sound");
        let ran_s = begun.elapsed().as_secs_f64();
        for (client, most) in [(Client::User, 7), (Client::User, 1_000), (Client::Adapter, 7)] {
            let begun = Instant::now();
            let options =
                MonitorOptions { client, window_us: None, windows: 120, most, slo: Slo::of_ttft(5.0) };
            let monitor = Monitor::measure(&run.report, &options);
            println!(
                "{}: {} requests in {ran_s:.2} s; {client:?}, {} clients, {} of them in 120 windows: {:.3} s, Jain {:.4}, gap {:?}",
                kind.1,
                run.report.results.len(),
                monitor.clients.len(),
                monitor.cells.rows(),
                begun.elapsed().as_secs_f64(),
                monitor.jain.unwrap_or(0.0),
                monitor.largest_gap_per_s,
            );
        }
    }
}
