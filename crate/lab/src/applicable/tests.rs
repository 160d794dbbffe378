use super::*;
use crate::closed_forms::{ClosedFormMeasure, all};
use crate::run::Run;

fn of(scenario: &Scenario, path: &str) -> Result<ClosedFormValue, Vec<Obstacle>> {
    closed_form_of(scenario, &Metric::parse(path).unwrap()).unwrap()
}

#[test]
fn every_closed_form_of_a_time_is_found() {
    let mut found = Vec::new();
    for form in all() {
        let path = match (form.measure, form.id) {
            (ClosedFormMeasure::Wait, _) => "queue_s.mean",
            (ClosedFormMeasure::EndToEnd, _) => "e2e_s.mean",
            (ClosedFormMeasure::Lost, "A11") => "requests.rejected_total",
            (ClosedFormMeasure::Lost, _) => "requests.timed_out",
        };
        let scale = if form.measure == ClosedFormMeasure::Lost {
            1.0 / (form.scenario.number(Id::Rate) * form.scenario.number(Id::Duration))
        } else {
            1.0
        };
        let form_value = of(&form.scenario, path).unwrap_or_else(|why| panic!("{}: {why:?}", form.title));
        // Where the form takes a thousand geometric tokens for an exponential time, or counts the free first token.
        let apart = if ["A6", "A11", "A12"].contains(&form.id) { 1e-3 } else { 1e-9 };
        let value = form_value.value * scale;
        assert!((value / form.value - 1.0).abs() < apart, "{}: {form_value:?}, {}", form.title, form.value);
        found.push(form_value.name);
    }
    found.dedup();
    let names = ["M/M/1", "M/D/1", "M/G/1", "M/G/∞", "GI/M/1", "M/M/1", "GI/M/1", "M/G/1-PS"];
    assert_eq!(found, [&names[..], &["Erlang B", "M/M/1+D", "M/M/c"]].concat());
}

#[test]
fn violated_conditions_are_named() {
    let named = |scenario: &Scenario, path: &str| -> Vec<&'static str> {
        of(scenario, path).unwrap_err().iter().map(|obstacle| obstacle.id.row().id).collect()
    };
    let single = all()[0].scenario.clone();
    let with = |settings: &[(&str, &str)]| {
        let mut scenario = single.clone();
        for (path, value) in settings {
            scenario.set_text(path, value).unwrap();
        }
        scenario
    };
    let lengths = with(&[("workload.output_tokens.kind", "lognormal")]);
    assert_eq!(named(&lengths, "queue_s.mean"), ["workload.output_tokens.kind"]);
    let burst = with(&[("workload.output_tokens.kind", "fixed"), ("workload.arrivals.cv", "2")]);
    assert_eq!(named(&burst, "queue_s.mean"), ["workload.output_tokens.kind"]);
    assert_eq!(named(&with(&[("scheduler.order", "lifo")]), "e2e_s.mean"), ["scheduler.order"]);
    assert_eq!(named(&with(&[("workload.rate_rps", "1")]), "queue_s.mean"), ["workload.rate_rps"]);
    let four = [("scheduler.max_running_requests", "4")];
    assert_eq!(named(&with(&four), "queue_s.mean"), ["cost.linear.prefill_base_ms"]);
    assert_eq!(
        named(&with(&four), "e2e_s.mean"),
        ["scheduler.max_running_requests", "cost.linear.prefill_base_ms"]
    );
    assert_eq!(named(&single, "requests.timed_out"), ["gateway.queue_timeout_s"]);
    let profile = with(&[("cost.kind", "roofline")]);
    assert_eq!(named(&profile, "throughput_rps"), ["cost.kind"]);
    assert!(named(&Scenario::of_version(4), "queue_s.mean").contains(&"cost.linear.prefill_per_token_ms"));
    assert!(closed_form_of(&single, &Metric::parse("ttft_s.p99").unwrap()).is_none());
}

#[test]
fn clients_that_wait_for_answers_offer_no_set_rate() {
    let mut scenario = all()[0].scenario.clone();
    assert_eq!(of(&scenario, "throughput_rps").unwrap().name, "upper bound: offered rate");
    scenario.set_text("workload.loop", "closed").unwrap();
    assert_eq!(of(&scenario, "throughput_rps").unwrap().name, "upper bound: full batch");
}

/// Long prompts and a small budget: both schedulers with a token budget are bounded by it, and come near it.
#[test]
fn a_token_budget_bounds_throughput() {
    for (kind, budget) in [("sarathi", "scheduler.chunk_tokens"), ("vllm_v1", "scheduler.batch_max_tokens")] {
        let mut scenario = Scenario::of_version(4)
            .with(&[
                ("workload.rate_rps", "40"),
                ("workload.duration_s", "100"),
                ("workload.adapters.count", "0"),
                ("workload.input_tokens.kind", "fixed"),
                ("workload.input_tokens.value", "800"),
                ("workload.output_tokens.kind", "fixed"),
                ("workload.output_tokens.value", "8"),
                ("scheduler.kind", kind),
                ("scheduler.max_total_tokens", "200000"),
                ("cost.linear.prefill_base_ms", "20"),
                ("cost.linear.prefill_per_token_ms", "0.01"),
                ("cost.linear.decode_base_ms", "0.5"),
                ("cost.linear.overhead_ms", "20"),
            ])
            .unwrap();
        scenario.set_text(budget, "256").unwrap();
        let metric = Metric::parse("throughput_rps").unwrap();
        let form_value = of(&scenario, metric.path()).unwrap();
        assert_eq!(form_value.name, "upper bound: token budget", "{kind}");
        let run = Run::simulate(&scenario, None).unwrap();
        let served = crate::metric::Measured::of(&run, std::slice::from_ref(&metric)).values[0].unwrap();
        assert!(
            served <= form_value.value && served > 0.4 * form_value.value,
            "{kind}: {served} of {form_value:?}"
        );
    }
}
