//! Any scenario, any window: the run, its charts, tables, moments, explanations, debugger steps and files are finite, and nothing
//! panics.

use std::fmt::Debug;

use proptest::prelude::*;
use servescope_engine::queue::Client;
use servescope_lab::metric::{Measured, Metric};
use servescope_lab::run::{Run, SimulationHandle};
use servescope_output::debugger::{Debugger, Move};
use servescope_output::files;
use servescope_output::replies::{DebuggerStep, MonitorRequest, MonitorView, RequestFacts};
use servescope_output::views::{self, Chart, SplitBy, ViewOptions};
use servescope_output::why::{most_delayed, why, why_requests};
use servescope_settings::notes::Reason;
use servescope_settings::parameters::{Id, Kind, Scale, Value};
use servescope_settings::scenario::Scenario;
use servescope_traces::arrivals::trace_of;

/// A setting, and where among its values it stands, from 0 to 1.
type Drawn = (usize, f64);

/// Most requests of a run that is looked at; most times at which something may happen in it.
const MOST_REQUESTS: usize = 3_000;
const MOST_TIMES: usize = 3_000_000;

/// A value within the bounds of a row: an end, one of the slider, or one anywhere.
fn value(id: Id, share: f64) -> Option<Value> {
    let row = id.row();
    let within = |share: f64, min: f64, max: f64, scale: Scale| match scale {
        Scale::Log if min > 0.0 => min * libm::pow(max / min, share),
        Scale::Linear | Scale::Log => min + share * (max - min),
    };
    let number = |share: f64| {
        let (min, max) = row.bounds()?;
        let slider = row.slider.map_or((min, max, Scale::Log), |s| (s.min, s.max, s.scale));
        Some(match share {
            ..0.1 => min,
            0.1..0.15 => max,
            0.15..0.7 => within((share - 0.15) / 0.55, slider.0, slider.1, slider.2),
            _ => within((share - 0.7) / 0.3, min.max(1e-3).min(max), max, Scale::Log),
        })
    };
    Some(match row.kind {
        Kind::Choice(names) => Value::Choice(names[(share * names.len() as f64) as usize]),
        Kind::Flag(_) => Value::Flag(share < 0.5),
        Kind::Number { .. } => Value::Number(number(share)?),
        Kind::Whole { .. } => Value::Number(number(share)?.round()),
        Kind::List { whole, .. } => {
            let tidy = |x: f64| if whole { x.round() } else { x };
            let count = 1 + (share * 997.0) as usize % 4;
            let entry = |i: usize| number((share + 0.37 * i as f64).fract()).map(tidy);
            Value::List((0..count).map(entry).collect::<Option<_>>()?)
        }
        Kind::Text { .. } if id == Id::GatewayChecks => {
            const CHAINS: [&str; 4] = ["rpm|tpm|concurrency|queue|kv|ttft", "kv", "tpm|rpm|kv", "none"];
            Value::Text(CHAINS[(share * 4.0) as usize].to_owned())
        }
        Kind::Text { .. } => return None,
    })
}

/// A small load with each of the settings that it takes beside those before.
fn scenario(load: (f64, f64), drawn: &[Drawn]) -> Scenario {
    let mut scenario = Scenario::of_version(4);
    let tidy = |x: f64| Value::Number((x * 100.0).round() / 100.0);
    for (id, value) in [
        (Id::Rate, tidy(load.0)),
        (Id::Duration, tidy(load.1)),
        (Id::FleetGpu, Value::Choice("a100_80_sxm")),
        (Id::FleetModel, Value::Choice("llama-2-7b")),
    ] {
        scenario.set(id, value).expect("a value within bounds");
    }
    with_drawn(scenario, drawn)
}

/// The scenario with each of the settings that it takes beside those before.
fn with_drawn(mut scenario: Scenario, drawn: &[Drawn]) -> Scenario {
    for &(place, share) in drawn {
        let id = Id::ALL[place];
        let mut changed = scenario.clone();
        let is_taken = ![Id::Rate, Id::Duration].contains(&id)
            && value(id, share).is_some_and(|value| changed.set(id, value).is_ok());
        if is_taken && changed.problems().is_empty() {
            scenario = changed;
        }
    }
    scenario
}

/// No number is infinite or none, wherever it stands: what is missing is null, not NaN.
fn assert_finite(what: &str, value: &impl Debug) {
    let text = format!("{value:?}");
    let is_bad = |word: &str| matches!(word, "NaN" | "inf");
    let bad = text.split(|c: char| !c.is_alphanumeric() && c != '_').position(is_bad);
    assert!(bad.is_none(), "{what} has a number that is not finite: {text}");
}

/// Every number of a chart is finite, but for heights: one that is none parts a line.
fn assert_charts(charts: &[Chart]) {
    for chart in charts {
        for axis in [&chart.x, &chart.y] {
            assert!(
                axis.min.is_finite() && axis.max.is_finite() && axis.min <= axis.max,
                "{}: {axis:?}",
                chart.name
            );
        }
        for series in &chart.series {
            let of = [&series.x, &series.x2, &series.y0, &series.id];
            let is_sound = of.iter().all(|column| column.iter().all(|number| number.is_finite()))
                && series.y.iter().all(|number| !number.is_infinite());
            assert!(is_sound, "{}: {series:?}", chart.name);
        }
    }
}

/// No cell of a table is a number that is none.
fn assert_table(what: &str, text: &str) {
    let is_bad = |cell: &str| matches!(cell, "NaN" | "inf" | "-inf");
    let bad = text.lines().find(|row| row.split(',').any(is_bad));
    assert!(bad.is_none(), "{what}: {bad:?}");
}

/// The run, where it is small enough to look at.
fn run(scenario: &Scenario) -> Option<Run> {
    trace_of(scenario, None).ok().filter(|trace| trace.len() <= MOST_REQUESTS)?;
    let mut running = SimulationHandle::begin(scenario, None).ok()?.with_decisions();
    (running.advance(MOST_TIMES) >= 1.0).then(|| running.finish())
}

fn look_at(run: &Run, window_s: Option<(f64, f64)>, columns: usize, split_by: SplitBy) {
    let options = ViewOptions { columns, window_s, split_by, drain: columns.is_multiple_of(2) };
    assert_charts(&views::all(run, &options));
    assert_finite("the summary", &run.summary());
    assert_finite("the page's summary", &run.summary_without_utilization());
    assert_finite("the headline", &Measured::of(run, &Metric::headline()).values);
    for client in ["user", "adapter"] {
        let request = MonitorRequest {
            client: client.to_owned(),
            sort: "id".to_owned(),
            descending: false,
            rows: 20.0,
            window: window_s,
        };
        let view = MonitorView::of(run, request).expect("a kind of client");
        assert_charts(&view.charts);
        assert_finite("the monitor", &MonitorView { charts: Vec::new(), ..view });
    }
    let (start_s, end_s) = window_s.unwrap_or((0.0, run.report.end_us() / 1e6));
    for time_s in [start_s, 0.5 * (start_s + end_s), end_s] {
        assert_finite("a moment", &views::moment::moment(run, time_s, 1.0));
    }
    let count = run.report.results.len();
    for id in [0, count / 2, count.saturating_sub(1), count] {
        assert_finite("a request", &RequestFacts::of(run, id));
    }
    assert_finite("why", &why(&run.report));
    let delayed = most_delayed(&run.report, None);
    assert_finite("the most delayed", &delayed);
    most_delayed(&run.report, Some((Client::User, 0)));
    let ids: Vec<usize> = delayed.iter().map(|one| one.id).collect();
    assert_finite("why of requests", &why_requests(&run.report, &ids));
    assert_table("requests.csv", &files::requests_csv(&run.report));
    assert_table("batches.csv", &files::batches_csv(&run.report));
    assert_table("events.csv", &files::events_csv(&run.report));
    assert_table("decisions.csv", &files::decisions_csv(&run.report));
    assert_table("clients.csv", &files::clients_csv(run));
    assert_table("clients_over_time.csv", &files::clients_over_time_csv(run));
    for json in [files::chrome_trace(&run.report), files::event_trace(&run.report)] {
        serde_json::from_str::<serde_json::Value>(&json).expect("a file of JSON");
    }
}

fn step_through(scenario: &Scenario, share: f64) {
    let Ok(mut debugger) = Debugger::simulate(scenario, None) else { return };
    let last = debugger.len().saturating_sub(1);
    for step in [0, (share * last as f64) as usize, last] {
        debugger.go(Move::To(step)).expect("a step of the run");
        assert_finite("a step", &DebuggerStep::of(&mut debugger));
    }
}

fn windows() -> impl Strategy<Value = Option<(f64, f64)>> {
    let edge =
        || prop_oneof![4 => 0.0..30f64, 1 => -5.0..1e9f64, 1 => Just(f64::NAN), 1 => Just(f64::INFINITY)];
    prop::option::of((edge(), edge()))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..servescope_testkit::cases(120, 6_000) })]

    #[test]
    fn whatever_runs_can_be_looked_at(
        load in (0.1..12f64, 0.5..15f64),
        stack in (0.0..1f64, 0.0..1f64, 0.0..1f64, 0.0..1f64),
        drawn in prop::collection::vec((0..Id::ALL.len(), 0.0..1f64), 0..12),
        window_s in windows(),
        columns in prop_oneof![1usize..900, Just(1), Just(2)],
        split_by in prop::sample::select(&[SplitBy::Adapter, SplitBy::User, SplitBy::Length][..]),
        share in 0.0..1f64,
    ) {
        let kinds = [
            (Id::SchedulerKind, stack.0), (Id::CostKind, stack.1), (Id::ArrivalKind, stack.2), (Id::GatewayKind, stack.3),
        ];
        let kinds: Vec<Drawn> = kinds.map(|(id, share)| (id as usize, share)).into();
        let scenario = scenario(load, &[kinds, drawn].concat());
        if let Some(run) = run(&scenario) {
            look_at(&run, window_s, columns, split_by);
            if run.report.results.len() < 200 {
                step_through(&scenario, share);
            }
        }
    }
}

/// Equal gaps: the division of the histogram rounds up to one bar too many.
#[test]
fn even_arrivals_have_a_histogram() {
    for (rate, duration) in [(0.77, 5.3), (1.03, 4.0), (2.05, 2.0)] {
        let scenario = scenario((rate, duration), &[]);
        let mut even = scenario.clone();
        even.set_text("workload.arrivals.kind", "even").unwrap();
        let run = run(&even).expect("a small run");
        look_at(&run, None, 100, SplitBy::User);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..servescope_testkit::cases(60, 3_000) })]

    #[test]
    fn a_setting_has_a_note_exactly_where_it_changes_nothing(
        load in (0.5..12f64, 1.0..10f64),
        stack in (0.0..1f64, 0.0..1f64, 0.0..1f64),
        drawn in prop::collection::vec((0..Id::ALL.len(), 0.0..1f64), 0..8),
        one in (0..Id::ALL.len(), 0.0..1f64),
    ) {
        let kinds = [(Id::SchedulerKind, stack.0), (Id::CostKind, stack.1), (Id::GatewayKind, stack.2)];
        let kinds: Vec<Drawn> = kinds.map(|(id, share)| (id as usize, share)).into();
        let id = Id::ALL[one.0];
        let mut without = scenario(load, &[kinds, drawn].concat());
        without.reset(id);
        let with = with_drawn(without.clone(), &[one]);
        if with.get(id) == without.get(id) || !without.problems().is_empty() {
            return Ok(());
        }
        let (Some(before), Some(mut after)) = (run(&without), run(&with)) else { return Ok(()) };
        after.find_unneeded(None);
        let note = after.notes().into_iter().find(|note| note.id == id);
        let is_same = before.report.digest() == after.report.digest();
        let reported = format!("{} = {} of {}: {note:?}", id.row().id, with.get(id).to_text(), without.to_json());
        match note.map(|note| note.reason) {
            // Who sent a request is part of the digest.
            Some(Reason::Tables(_)) => {}
            Some(Reason::SameRequests) => prop_assert!(is_same, "it has a note and changes requests: {reported}"),
            Some(_) => {
                let is_alike = is_same && numbers(&before) == numbers(&after);
                prop_assert!(is_alike, "it has a note and changes the run: {reported}");
            }
            None => {
                let judges = id.row().scores_only && numbers(&before) != numbers(&after);
                prop_assert!(!is_same || judges, "it has no note and changes nothing: {reported}");
            }
        }
    }
}

/// Every number of the summary.
fn numbers(run: &Run) -> String {
    // The load is measured by a run of its own, in which a setting may act that this one did not need.
    let mut json = serde_json::json!(run.summary_without_load(servescope_lab::run::TABLE_ROWS));
    // A cache that found nothing still counts what it was asked for.
    if json["prefix_cache"]["cached_tokens"] == 0 {
        json["prefix_cache"] = serde_json::Value::Null;
    }
    json["warnings"] = serde_json::Value::Null;
    json.to_string().replace(r#""prefix_hit_rate":0.0"#, r#""prefix_hit_rate":null"#)
}
