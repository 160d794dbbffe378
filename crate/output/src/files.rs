//! The files of `--out`: requests, batches, operators, events, clients, decisions, causes, and a Chrome trace.

mod batches;
mod causes;
mod chrome_trace;
mod clients;
mod decisions;
mod event_trace;
mod events;
mod operators;
mod requests;
mod scaling;

pub use batches::{batches_csv, write_batches_csv};
pub use causes::{write_causes_csv, write_delays_csv};
pub use chrome_trace::{chrome_trace, write_chrome_trace};
pub(crate) use clients::{CounterSource, counters};
pub use clients::{clients_csv, clients_over_time_csv, write_clients_csv, write_clients_over_time_csv};
pub use decisions::{decisions_csv, write_decisions_csv};
pub use event_trace::{event_trace, write_event_trace};
pub use events::{events_csv, write_events_csv};
pub use operators::{has_operators, operators_csv, write_operators_csv};
pub use requests::{RequestColumn, Values, request_columns, requests_csv};
pub use scaling::write_scaling_csv;

use servescope_engine::Report;
use servescope_engine::timeline::IterationRun;

/// About how many events a run has, which `event_trace.json` and `trace.json` grow with: a batch enters and leaves each stage, and a
/// request arrives, is scheduled and ends.
pub fn event_count(report: &Report) -> u64 {
    let stages = report.pools.iter().map(|pool| pool.cost.stages().max(1)).max().unwrap_or(1);
    2 * u64::from(stages) * report.timeline.iterations.len() as u64 + 3 * report.results.len() as u64
}

/// What an iteration does.
pub(crate) fn kind(run: &IterationRun) -> &'static str {
    match (run.prompts, run.decodes) {
        (_, 0) => "prefill",
        (0, _) => "decode",
        _ => "mixed",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;
    use servescope_lab::run::Run;
    use servescope_settings::scenario::Scenario;

    fn report(settings: &[(&str, &str)]) -> Report {
        let mut scenario = Scenario::of_version(4);
        for (path, value) in settings.iter().chain(&[("workload.duration_s", "20")]) {
            scenario.set_text(path, value).unwrap();
        }
        Run::simulate(&scenario, None).unwrap().report
    }

    /// What the trace event format asks of an event; a slice of its lane must begin after the one before.
    fn check_event(event: &Value, over_us: &mut BTreeMap<(u64, u64), f64>) {
        let lane = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
        assert!(event["name"].is_string() && event["args"].is_object());
        match event["ph"].as_str().unwrap() {
            "X" => {
                let (start, duration) = (event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap());
                let over = over_us.entry(lane).or_insert(0.0);
                // An end is a start and a duration, which rounds once.
                assert!(duration >= 0.0 && start >= *over * (1.0 - 1e-15), "{event} overlaps");
                *over = start + duration;
            }
            "C" => {
                assert!(event["ts"].as_f64().is_some_and(|ts| ts >= 0.0));
                let values = event["args"].as_object().unwrap();
                assert!(values.values().all(|value| value.as_f64().is_some_and(|value| value >= 0.0)));
            }
            "M" => {
                assert!(["process_name", "thread_name"].contains(&event["name"].as_str().unwrap()));
                assert!(event["args"]["name"].is_string());
            }
            other => panic!("an event of kind {other}"),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..servescope_testkit::cases(8, 24) })]

        #[test]
        fn files_of_any_run_are_sound(
            scheduler in prop::sample::select(&["slora", "static", "orca", "vllm", "sarathi", "lightllm", "vllm_v1", "sglang", "trtllm"][..]),
            replicas in 1u32..5, rate in 0.5..12f64, pool in prop::sample::select(&["3000", "9000"][..]), seed in 0u32..99,
        ) {
            let (replicas, rate, seed) = (replicas.to_string(), rate.to_string(), seed.to_string());
            let report = report(&[
                ("scheduler.kind", scheduler), ("fleet.replicas", &replicas), ("workload.rate_rps", &rate),
                ("scheduler.max_total_tokens", pool), ("seed", &seed),
            ]);
            let trace: Value = serde_json::from_str(&chrome_trace(&report)).unwrap();
            let mut over_us = BTreeMap::new();
            trace["traceEvents"].as_array().unwrap().iter().for_each(|event| check_event(event, &mut over_us));
            let at_work: BTreeSet<u64> = over_us.keys().map(|lane| lane.0).collect();
            prop_assert!(at_work.iter().all(|&pid| pid < report.replicas.len() as u64));
            check_batches(&report);
            check_events(&report, scheduler == "vllm_v1");
            check_event_trace(&report);
        }
    }

    /// Parts of a row add up to its duration; rows of a replica do not overlap.
    fn check_batches(report: &Report) {
        let text = batches_csv(report);
        let mut rows = text.lines().map(|row| row.split(',').collect::<Vec<_>>());
        let heading = rows.next().unwrap();
        let place = |name: &str| heading.iter().position(|&column| column == name);
        let parts: Vec<usize> = (0..heading.len()).filter(|&i| heading[i].ends_with("_ms")).collect();
        let mut count = 0;
        for row in rows {
            assert_eq!(row.len(), heading.len());
            let number = |column: usize| row[column].parse::<f64>().unwrap();
            let duration_ms = number(place("duration_s").unwrap()) * 1e3;
            if !parts.is_empty() {
                let sum: f64 = parts.iter().map(|&column| number(column)).sum();
                assert!((sum - duration_ms).abs() <= 1e-9 * duration_ms, "{row:?}");
            }
            count += 1;
        }
        let iterations: u32 = report.timeline.iterations.iter().map(|run| run.iterations).sum();
        assert_eq!(count, iterations as usize);
        assert!(!parts.is_empty());
    }

    /// Every event once and in order of time; batches enter and leave each stage, and hold every token.
    fn check_event_trace(report: &Report) {
        let events: Vec<Value> = serde_json::from_str(&event_trace(report)).unwrap();
        assert!(events.windows(2).all(|w| w[0]["time_s"].as_f64() <= w[1]["time_s"].as_f64()));
        let of = |name: &'static str| events.iter().filter(move |event| event["event"] == name);
        assert_eq!(of("arrived").count(), report.results.len());
        assert_eq!(
            of("finished").count(),
            (0..report.results.len()).filter(|&id| report.is_completed(id)).count()
        );
        assert_eq!(of("batch_stage_start").count(), of("batch_stage_end").count());
        assert_eq!(
            of("batch_stage_end").map(|event| event["iterations"].as_u64().unwrap()).sum::<u64>() as usize,
            batches_csv(report).lines().count() - 1
        );
        let decoded: u64 = of("batch_stage_end").map(|event| event["decode_tokens"].as_u64().unwrap()).sum();
        let produced: u64 = report.results.iter().map(|result| u64::from(result.produced)).sum();
        // The end of a prompt gives a token, again where it was recomputed after a preemption.
        let recomputed: u64 = (0..report.results.len()).map(|id| u64::from(report.preemptions(id))).sum();
        let reported = decoded + of("first_token").count() as u64;
        assert!((reported..=reported + recomputed).contains(&produced), "{reported} of {produced} tokens");
    }

    /// Events come in order of time, and of a request in the order of its life.
    fn check_events(report: &Report, is_async: bool) {
        let text = events_csv(report);
        let mut before = 0.0;
        let mut of_request: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for row in text.lines().skip(1) {
            let cells: Vec<&str> = row.split(',').collect();
            let time: f64 = cells[0].parse().unwrap();
            assert!(time >= before, "{row} comes too late");
            before = time;
            let id: usize = cells[2].parse().unwrap();
            assert_eq!(cells.len(), 6, "{row}");
            assert_eq!(
                cells[3].is_empty(),
                matches!(report.results[id].outcome, servescope_engine::Outcome::Rejected(_))
            );
            of_request.entry(id).or_default().push(cells[1]);
        }
        assert_eq!(of_request.len(), report.results.len());
        for (id, events) in of_request {
            let preempted = events.iter().filter(|&&event| event == "preempted").count();
            assert_eq!(preempted, usize::from(report.preemptions(id)));
            let resumed = events.iter().filter(|&&event| event == "resumed").count();
            // With asynchronous scheduling the last token may be under way at the preemption.
            let came_back = resumed == preempted || (is_async && resumed + 1 == preempted);
            assert!(came_back || !report.is_completed(id), "request {id} never came back");
            let rest: Vec<&str> =
                events.into_iter().filter(|&event| !["preempted", "resumed"].contains(&event)).collect();
            if report.is_completed(id) {
                assert_eq!(rest, ["arrived", "scheduled", "first_token", "finished"], "request {id}");
            } else {
                assert_eq!(rest[0], "arrived");
            }
        }
    }

    #[test]
    fn a_fleet_has_views_of_its_own_and_no_lane_overlaps() {
        let mut scenario = Scenario::of_version(4);
        for (path, value) in
            [("scheduler.kind", "vllm_v1"), ("fleet.replicas", "40"), ("workload.rate_rps", "20")]
        {
            scenario.set_text(path, value).unwrap();
        }
        scenario.set_text("workload.duration_s", "20").unwrap();
        let run = Run::simulate(&scenario, None).unwrap();
        let views = crate::views::all(&run, &crate::views::ViewOptions::default());
        let view = |name: &str| views.iter().find(|view| view.name == name).unwrap();
        let mut bars: Vec<(i64, f64, f64)> = Vec::new();
        for series in &view("lanes").series {
            assert!(series.x.is_sorted());
            bars.extend(
                (0..series.x.len()).map(|i| (series.y0[i].round() as i64, series.x[i], series.x2[i])),
            );
        }
        bars.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        assert!(bars.windows(2).all(|w| w[0].0 != w[1].0 || w[0].2 <= w[1].1));
        assert_eq!(bars.last().map(|bar| bar.0), Some(31), "no more lanes than can be told apart");
        // The mean time of an iteration over the run is that of the summary.
        let top = view("operators").series.last().unwrap();
        assert!(top.y.iter().all(|y| y.is_finite() && *y >= 0.0));
        assert_eq!(view("utilisation").empty, "empty.no_peak");
        assert_eq!(view("preemptions").empty, "empty.no_preemptions");
    }
}
