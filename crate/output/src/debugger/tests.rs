use super::sentences::{REASONS, SENTENCES};
use super::*;
use servescope_engine::{Rejection, ScalingDecision};

fn debugger(settings: &[(&str, &str)]) -> Debugger {
    let mut scenario = Scenario::of_version(4);
    for (path, value) in [("workload.duration_s", "30"), ("workload.rate_rps", "6")].iter().chain(settings) {
        scenario.set_text(path, value).unwrap();
    }
    Debugger::simulate(&scenario, None).unwrap()
}

#[test]
fn every_sentence_has_its_numbers_in_every_scheduler() {
    for kind in ["slora", "static", "orca", "vllm", "sarathi", "lightllm", "vllm_v1", "sglang", "trtllm"] {
        // SGLang's and TensorRT-LLM's waiting queues know no clients.
        let order = match kind {
            "sglang" => "priority",
            "trtllm" => "fcfs",
            _ => "vtc",
        };
        for more in [&[("gateway.kind", "proxy")][..], &[("scheduler.order", order)][..]] {
            let mut all = vec![("scheduler.kind", kind), ("scheduler.max_running_requests", "4")];
            all.extend(more);
            let mut debugger = debugger(&all);
            for place in 0..debugger.len() {
                debugger.go(Move::To(place)).unwrap();
                let view = debugger.view().unwrap();
                let test = view.test.as_ref().map(|test| &test.sentence);
                for reported in [Some(&view.sentence), test].into_iter().flatten() {
                    assert!(!reported.text.contains('{'), "{kind}: {}", reported.text);
                    assert!(SENTENCES.iter().any(|row| row.0 == reported.code), "{}", reported.code);
                }
                if place % 7 == 0 {
                    lanes_are_whole(&debugger);
                }
                if let Some(peak) = &view.memory_test {
                    let test = view.test.as_ref().unwrap();
                    assert_eq!(Some(peak.need), test.need.map(i64::from), "{kind} step {place}");
                    assert_eq!(peak.rows[peak.worst].tokens, peak.need);
                }
                for rule in [Some(view.rule), view.queue.map(|queue| queue.rule)].into_iter().flatten() {
                    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
                    assert!(rules::CODES.contains(&rule.code), "{rule:?}");
                    assert!(root.join(rule.source).is_file() && root.join(rule.doc).is_file(), "{rule:?}");
                }
            }
        }
    }
}

/// The phases of each lane follow one another without a gap from arrival to end.
fn lanes_are_whole(debugger: &Debugger) {
    let report = debugger.report();
    let gantt = debugger.gantt();
    assert!(gantt.lanes.len() == gantt.count.min(40));
    for lane in &gantt.lanes {
        let id = lane.name.request as usize;
        let mut spans: Vec<[f64; 2]> = lane
            .phases
            .iter()
            .flat_map(|phase| phase.spans_s.chunks(2))
            .map(|span| [span[0], span[1]])
            .collect();
        spans.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let mut at_s = report.trace.arrival_us[id] / 1e6;
        for [start_s, end_s] in spans {
            assert!(start_s == at_s && end_s > at_s, "request {id} from {at_s}: {lane:?}");
            at_s = end_s;
        }
        let finish_us = report.results[id].finish_us;
        assert!(
            finish_us.is_none_or(|finish_us| finish_us / 1e6 == at_s),
            "request {id} to {at_s}: {lane:?}"
        );
    }
}

#[test]
fn every_reason_has_a_name() {
    assert!(Rejection::ALL.iter().all(|reason| REASONS.iter().any(|row| row.0 == reason.name())));
}

#[test]
fn a_place_that_is_not_there_is_an_error_with_the_bounds() {
    let mut debugger = debugger(&[]);
    let last = debugger.len() - 1;
    let message = |error: Result<(), Diagnostic>| error.unwrap_err().message;
    assert!(message(debugger.go(Move::By(-1))).contains('0'));
    assert!(message(debugger.go(Move::To(last + 1))).contains(&last.to_string()));
    assert!(message(debugger.go(Move::Time(f64::NAN))).contains("time_s"));
    assert!(message(debugger.go(Move::Time(1e9))).contains("time_s"));
    assert!(message(debugger.go(Move::Request(1_000_000))).contains("request"));
    debugger.go(Move::To(last)).unwrap();
    assert!(message(debugger.go(Move::By(1))).contains(&last.to_string()));
    assert!(message(debugger.go(Move::Next(DebugStepKind::Preemption))).contains("preemption"));
    assert_eq!(debugger.place(), last, "the reader stays");
    for (way, number, kind) in
        [("to", -1.0, ""), ("request", 0.5, ""), ("to", f64::NAN, ""), ("next", 0.0, "swap"), ("", 0.0, "")]
    {
        assert!(Move::read(way, number, kind).is_err(), "{way} {number} {kind}");
    }
    assert_eq!(Move::read("previous", 0.0, "load"), Ok(Move::Previous(DebugStepKind::Load)));
}

/// Many requests at once with five drafts each, and a budget for eight of them and a part of one more.
fn drafting(settings: &[(&str, &str)]) -> Debugger {
    let own = [
        ("scheduler.kind", "vllm_v1"),
        ("workload.duration_s", "1"),
        ("workload.rate_rps", "40"),
        ("workload.arrivals.kind", "even"),
        ("workload.adapters.count", "0"),
        ("workload.input_tokens.kind", "fixed"),
        ("workload.input_tokens.value", "32"),
        ("workload.output_tokens.kind", "fixed"),
        ("workload.output_tokens.value", "200"),
        ("scheduler.max_num_batched_tokens", "50"),
        ("cost.speculation.method", "ngram"),
        ("cost.speculation.num_speculative_tokens", "5"),
        ("cost.speculation.rate", "0.5"),
    ];
    debugger(&[&own[..], settings].concat())
}

#[test]
fn a_step_stops_where_drafts_do_not_fit_the_budget_and_shows_those_of_each_request() {
    let mut debugger = drafting(&[]);
    debugger.go(Move::First(DebugStepKind::Drafts)).unwrap();
    let view = debugger.view().unwrap();
    assert_eq!((view.verdict, view.rule.code), ("drafts_dropped", "drafts"));
    let test = view.test.expect("the budget decided");
    assert_eq!(
        (test.name, test.need),
        ("token_budget", Some(6)),
        "a row for the last token, five for drafts"
    );
    assert!(test.have < Some(6));
    let holders = view.kv.expect("a look").holders;
    let own =
        holders.iter().find(|holder| Some(holder.name.request) == view.candidate.map(|own| own.name.request));
    assert_eq!(own.map(|holder| holder.drafts), Some(5), "{holders:?}");
    assert!(holders.iter().any(|holder| holder.accepted_drafts > 0));
    assert!(holders.iter().all(|holder| holder.accepted_drafts <= holder.verified_drafts));
    // With room for all, none is dropped.
    let mut roomy = drafting(&[("scheduler.max_num_batched_tokens", "512")]);
    assert!(roomy.go(Move::First(DebugStepKind::Drafts)).is_err());
}

/// A prompt whose beginning of 32 tokens is cached joins requests with drafts: one token of it is left to compute.
#[test]
fn a_step_stops_where_a_request_is_padded() {
    let mut debugger = drafting(&[
        ("scheduler.max_num_batched_tokens", "512"),
        ("scheduler.prefix_cache", "true"),
        ("workload.prefix.kind", "tree"),
        ("workload.prefix.system_tokens", "32"),
        ("workload.prefix.adapter_tokens", "0"),
        ("workload.prefix.user_tokens", "0"),
        ("workload.input_tokens.value", "1"),
    ]);
    debugger.go(Move::First(DebugStepKind::Drafts)).unwrap();
    assert_eq!(debugger.view().unwrap().verdict, "drafts_padded");
}

/// A failure is a step with what it cost, in time with what was decided then.
#[test]
fn failures_of_replicas_are_steps() {
    let mut debugger = debugger(&[
        ("fleet.replicas", "2"),
        ("fleet.failures.at_s", "4,9"),
        ("fleet.cold_start.delay_s", "3"),
    ]);
    let failures = debugger.report().failures.clone();
    assert_eq!(failures.len(), 2);
    for failure in failures {
        debugger.go(Move::Next(DebugStepKind::Failure)).unwrap();
        let view = debugger.view().unwrap();
        assert_eq!((view.time_s, view.verdict), (failure.time_us / 1e6, "failed"));
        let lost = format!("are lost: {}.", failure.lost);
        assert!(view.sentence.text.contains(&lost), "{}", view.sentence.text);
        assert!(!view.replicas.is_empty());
    }
    debugger.go(Move::Previous(DebugStepKind::Failure)).unwrap();
    assert_eq!(debugger.view().unwrap().time_s, 4.0);
}

/// Each decision of an autoscaler is a step with its numbers, forward and back.
#[test]
fn decisions_of_autoscalers_are_steps() {
    let mut debugger = debugger(&[
        ("fleet.autoscaling.kind", "hpa"),
        ("fleet.autoscaling.interval_s", "5"),
        ("fleet.autoscaling.scrape_s", "4"),
        ("fleet.autoscaling.max", "3"),
        ("fleet.cold_start.delay_s", "8"),
    ]);
    let actions: Vec<_> =
        debugger.report().scaling.iter().copied().filter(ScalingDecision::is_action).collect();
    debugger.go(Move::First(DebugStepKind::Scaling)).unwrap();
    let view = debugger.view().unwrap();
    assert_eq!((view.time_s, view.verdict), (actions[0].time_us / 1e6, "scaled"));
    let read = format!("The autoscaler reads num_requests_waiting: {}, compared with 5.", actions[0].value);
    assert!(view.sentence.text.starts_with(&read), "{}", view.sentence.text);
    let limit = view.test.unwrap();
    assert_eq!((limit.have, limit.need), (Some(actions[0].desired), Some(actions[0].wished)));
    assert!(limit.sentence.text.contains("the most that are allowed"), "{}", limit.sentence.text);
    assert_eq!(view.replicas.len(), 1, "before the decision there is one replica");
    let decided = debugger.report().scaling.len();
    let is_scaled = |place: usize, debugger: &mut Debugger| {
        debugger.go(Move::To(place)).unwrap();
        let view = debugger.view().unwrap();
        for sentence in
            [Some(&view.sentence), view.test.as_ref().map(|test| &test.sentence)].into_iter().flatten()
        {
            assert!(!sentence.text.contains('{'), "{}", sentence.text);
        }
        view.verdict == "scaled"
    };
    let steps = (0..debugger.len()).rev().filter(|&place| is_scaled(place, &mut debugger)).count();
    assert_eq!(steps, decided);
}
