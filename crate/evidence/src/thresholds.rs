//! What a saturated server serves: bounds by the batch and by the KV memory, in settings where they are known.
//!
//! Iterations take 20 ms whatever they hold, prompts of 100 tokens are free, and the memory has room for 4,000 tokens. A
//! policy that lets requests in for their whole length serves M / (step E[o (s + o)]) requests a second of constant length;
//! none serves more than M / (step E[s o + o (o + 1) / 2]) (Nie, Si and Zhou, ICML 2026). Between them is what blocks on
//! demand serve when the newest give way and generate their answers again; those figures are of an independent
//! simulation of this setting, without closed form. By the batch, at most c requests at a time in iterations of a + b c
//! serve c / (m (a + b c)).

use servescope_engine::Outcome;
use servescope_lab::run::Run;
use servescope_settings::scenario::Scenario;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Requests served a second.
    Rate,
    /// Mean share of the KV memory in use.
    KvUse,
}

/// A figure and the scenario in which it holds.
#[derive(Debug, Clone)]
pub struct Threshold {
    /// Short name.
    pub id: &'static str,
    /// What it says.
    pub title: &'static str,
    /// The run.
    pub scenario: Scenario,
    /// What is measured.
    pub measure: Measure,
    /// What it should be.
    pub value: f64,
    /// Relative difference that is allowed.
    pub tolerance: f64,
}

/// A figure beside what was measured.
#[derive(Debug, Clone)]
pub struct BoundCheck {
    /// The figure.
    pub threshold: Threshold,
    /// What was measured.
    pub found: f64,
}

impl BoundCheck {
    /// Relative difference.
    pub fn error(&self) -> f64 {
        self.found / self.threshold.value - 1.0
    }

    /// Whether it is small enough.
    pub fn is_met(&self) -> bool {
        self.error().abs() <= self.threshold.tolerance
    }
}

fn scenario(settings: &[(&str, &str)]) -> Scenario {
    let mut scenario = Scenario::of_version(4);
    let base = [
        ("scheduler.kind", "sarathi"),
        ("scheduler.chunk_tokens", "100000"),
        ("workload.arrivals.kind", "poisson"),
        ("workload.rate_rps", "40"),
        ("workload.duration_s", "500"),
        ("workload.adapters.count", "0"),
        ("workload.input_tokens.kind", "fixed"),
        ("workload.output_tokens.kind", "fixed"),
        ("cost.linear.prefill_base_ms", "0"),
        ("cost.linear.prefill_per_token_ms", "0"),
        ("cost.linear.decode_per_kv_token_ms", "0"),
        ("cost.linear.overhead_ms", "0"),
        ("scheduler.max_running_requests", "100000"),
        ("scheduler.block_size", "1"),
        ("scheduler.allocation", "on_demand"),
    ];
    for (path, value) in base.iter().chain(settings) {
        scenario.set_text(path, value).expect("the settings are within their bounds");
    }
    scenario
}

/// The memory's bound: `output` is the distribution of output lengths, `allocation` how memory is handed out.
fn of_memory(output: &[(&str, &str)], allocation: &str) -> Scenario {
    let base = [
        ("workload.input_tokens.value", "100"),
        ("cost.linear.decode_base_ms", "20"),
        ("cost.linear.decode_per_request_ms", "0"),
        ("scheduler.max_total_tokens", "4000"),
        ("scheduler.max_request_tokens", "4000"),
        ("scheduler.allocation", allocation),
    ];
    scenario(&[&base, output].concat())
}

/// The batch's bound: at most `most` requests, of one prompt token and 200 that are decoded.
fn of_batch(most: &str) -> Scenario {
    scenario(&[
        ("workload.input_tokens.value", "1"),
        ("workload.output_tokens.value", "201"),
        ("cost.linear.decode_base_ms", "12"),
        ("cost.linear.decode_per_request_ms", "0.25"),
        ("scheduler.max_total_tokens", "10000000"),
        ("scheduler.max_running_requests", most),
    ])
}

/// Every figure.
pub fn thresholds() -> Vec<Threshold> {
    let constant = [("workload.output_tokens.value", "100")];
    let varied = [
        ("workload.output_tokens.kind", "uniform"),
        ("workload.output_tokens.low", "1"),
        ("workload.output_tokens.high", "199"),
    ];
    let of = |id, title, scenario: Scenario, measure, value, tolerance| Threshold {
        id,
        title,
        scenario,
        measure,
        value,
        tolerance,
    };
    let reserved = of_memory(&varied, "reserve");
    vec![
        of("B1", "rate of 64 at a time", of_batch("64"), Measure::Rate, 64.0 / (200.0 * 0.028), 0.02),
        of("B1", "rate of 32 at a time", of_batch("32"), Measure::Rate, 32.0 / (200.0 * 0.020), 0.02),
        of(
            "B3",
            "bound of any policy, o = 100",
            of_memory(&constant, "on_demand"),
            Measure::Rate,
            13.29,
            0.02,
        ),
        of(
            "B3",
            "bound of any policy, o of 1 to 199",
            of_memory(&varied, "on_demand"),
            Measure::Rate,
            11.98,
            0.02,
        ),
        of("B4", "reserved, o = 100", of_memory(&constant, "reserve"), Measure::Rate, 10.0, 0.01),
        of("B5", "reserved, o of 1 to 199", reserved.clone(), Measure::Rate, 8.36, 0.02),
        of("B5", "the same: use of memory", reserved, Measure::KvUse, 0.70, 0.02),
    ]
}

/// Runs the scenario of each figure.
pub fn check(thresholds: Vec<Threshold>) -> Vec<BoundCheck> {
    let mut met: Vec<BoundCheck> = Vec::new();
    let mut last: Option<(Scenario, Run)> = None;
    for threshold in thresholds {
        let run = match last.take() {
            Some((scenario, run)) if scenario == threshold.scenario => run,
            _ => Run::simulate(&threshold.scenario, None).expect("the scenario is sound"),
        };
        met.push(BoundCheck { found: measure(&run, threshold.measure), threshold: threshold.clone() });
        last = Some((threshold.scenario, run));
    }
    met
}

fn measure(run: &Run, measure: Measure) -> f64 {
    let report = &run.report;
    debug_assert!(report.results.iter().all(|result| result.outcome == Outcome::Completed));
    let end_us = report.results.iter().filter_map(|result| result.finish_us).fold(0.0, f64::max);
    match measure {
        Measure::Rate => report.results.len() as f64 / end_us * 1e6,
        Measure::KvUse => {
            let held = (report.timeline.iterations.iter())
                .map(|run| (run.end_us - run.start_us) * 0.5 * (run.kv_tokens + run.kv_tokens_at_end()));
            held.sum::<f64>() / end_us / f64::from(report.pools[0].kv_tokens)
        }
    }
}

#[cfg(test)]
mod tests {
    use servescope_lab::applicable::{ClosedFormValue, Obstacle, closed_form_of};
    use servescope_lab::metric::{Measured, Metric};
    use servescope_settings::parameters::{Id, Value};

    use super::*;

    fn bound(scenario: &Scenario, path: &str) -> Result<ClosedFormValue, Vec<Obstacle>> {
        closed_form_of(scenario, &Metric::parse(path).unwrap()).unwrap()
    }

    #[test]
    fn no_scheduler_serves_more_than_the_bound() {
        for check in thresholds() {
            let mut scenario = check.scenario;
            let run = Run::simulate(&scenario, None).unwrap();
            let metric = Metric::parse("throughput_rps").unwrap();
            let served = Measured::of(&run, std::slice::from_ref(&metric)).values[0].unwrap();
            let form_value = bound(&scenario, metric.path()).unwrap();
            assert_eq!(
                form_value.name,
                if check.id == "B1" { "upper bound: full batch" } else { "upper bound: KV memory" }
            );
            assert!(served <= form_value.value, "{}: {served} of {form_value:?}", check.title);
            scenario.set(Id::Rate, Value::Number(1.0)).unwrap();
            assert_eq!(
                bound(&scenario, metric.path()),
                Ok(ClosedFormValue { name: "upper bound: offered rate", value: 1.0 })
            );
        }
    }
}
