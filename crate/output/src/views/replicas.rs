//! What the replicas of a fleet do, over time: their lanes, iterations by operator, batches, use of the GPU, preemptions.

use servescope_cost::{OperatorClass, Peak};
use servescope_engine::metrics::columns::TimeColumns;
use servescope_engine::metrics::operators::peak;
use servescope_engine::metrics::usage::{UsageColumns, UsageWindow};
use servescope_engine::{PoolReport, ReplicaLife};
use servescope_lab::run::Run;
use servescope_workload::statistics::{sort, sort_by_number};

use super::{Axis, AxisKind, Chart, ChartWindow, Mark, Role, ScaleKind, Series, empty, y_axis_from_zero};

/// Most lanes that can be distinguished.
const MOST_LANES: usize = 32;
/// Most places over all lanes at which a bar may begin.
const MOST_BARS: usize = 12_000;

/// The charts of a fleet.
pub(super) const NAMES: [&str; 6] =
    ["lanes", "replica_count", "operators", "batch", "utilisation", "preemptions"];

/// What the replicas that are there have of something over the window, all together: the mean of each column.
pub(super) fn fleet_over_time(
    run: &Run,
    window: &ChartWindow,
    columns: usize,
    of: impl Fn(&PoolReport) -> f64,
) -> Vec<f64> {
    let mut all = TimeColumns::new(window.start_us, window.end_us, columns);
    for life in &run.report.replicas {
        all.add(
            life.ready_us,
            life.stop_us.min(window.end_us),
            of(&run.report.pools[usize::from(life.pool)]),
        );
    }
    all.values()
}

/// A line at what the fleet's replicas have of something: straight where they are the same all the time.
pub(super) fn memory_of_fleet(
    run: &Run,
    window: &ChartWindow,
    columns: usize,
    of: impl Fn(&PoolReport) -> f64,
) -> Series {
    let lives = &run.report.replicas;
    let stays = |life: &ReplicaLife| life.ready_us == 0.0 && life.stop_us == f64::INFINITY;
    if lives.iter().all(stays) {
        let all = lives.iter().map(|life| of(&run.report.pools[usize::from(life.pool)])).sum();
        return Series {
            role: Role::Pool,
            mark: Mark::RuleY,
            x: vec![0.0],
            y: vec![all],
            ..Series::default()
        };
    }
    let mut x: Vec<f64> = TimeColumns::new(window.start_us, window.end_us, columns)
        .starts_us()
        .iter()
        .map(|us| us / 1e6)
        .collect();
    let mut y = fleet_over_time(run, window, columns, of);
    x.push(window.end_us / 1e6);
    y.push(y[y.len() - 1]);
    Series { role: Role::Pool, mark: Mark::Step, x, y, ..Series::default() }
}

/// What the replicas did over the window, as columns.
pub(super) fn columns(run: &Run, window: &ChartWindow) -> UsageColumns {
    let lanes = run.report.replicas.len().min(MOST_LANES);
    run.usage_columns(&UsageWindow {
        start_us: window.start_us,
        end_us: window.end_us,
        // Single iterations would hide the trend: a column is two pixels wide.
        columns: window.columns / 2,
        gpu_columns: window.columns,
        lanes,
        lane_columns: window.columns.min(MOST_BARS / lanes.max(1)),
    })
}

/// [`NAMES`].
pub(super) fn all(run: &Run, columns: &UsageColumns, window: &ChartWindow) -> Vec<Chart> {
    vec![
        lanes(run, &columns.lanes, window),
        replica_count(run, window),
        operators(columns, window),
        batch(columns, window),
        utilisation(run, columns, window),
        preemptions(run, window),
    ]
}

fn seconds(columns: &UsageColumns) -> Vec<f64> {
    columns.iterations.starts_us().iter().map(|us| us / 1e6).collect()
}

/// What the replicas do: a row each. A column shows what its row did for most of it.
fn lanes(run: &Run, time: &[[TimeColumns; 4]], window: &ChartWindow) -> Chart {
    let Some([first, ..]) = time.first() else { return empty("lanes", "empty.no_iterations", window.axis()) };
    let (columns, width_us) = (first.len(), first.width_us());
    let edge_s = |column: usize| (window.start_us + column as f64 * width_us) / 1e6;
    let mut bars: Vec<(usize, f64, f64, usize)> = Vec::new();
    for (lane, kinds) in time.iter().enumerate() {
        let values = [0, 1, 2, 3].map(|kind| kinds[kind].values());
        let most_of = |column: usize| {
            let busy: f64 = values.iter().map(|v| v[column]).sum();
            let best =
                (1..4).fold(0, |best, k| if values[k][column] > values[best][column] { k } else { best });
            // Micro-batches of several stages overlap; a single lane is busy at most all the time.
            (busy >= 0.5).then_some(best)
        };
        let mut from = 0;
        for column in 1..=columns {
            if column == columns || most_of(column) != most_of(from) {
                if let Some(kind) = most_of(from) {
                    bars.push((kind, edge_s(from), edge_s(column), lane));
                }
                from = column;
            }
        }
    }
    sort_by_number(&mut bars, |bar| bar.1);
    let series = |kind: usize, role| {
        let own = || bars.iter().filter(move |bar| bar.0 == kind);
        Series {
            role,
            mark: Mark::Bars,
            x: own().map(|bar| bar.1).collect(),
            x2: own().map(|bar| bar.2).collect(),
            y: own().map(|bar| bar.3 as f64 + 0.4).collect(),
            y0: own().map(|bar| bar.3 as f64 - 0.4).collect(),
            ..Series::default()
        }
    };
    let mut all = vec![series(0, Role::Prefill), series(1, Role::Decode), series(2, Role::Mixed)];
    let waits = series(3, Role::Stalled);
    all.extend((!waits.x.is_empty()).then_some(waits));
    let y = Axis {
        unit: if run.report.replicas.iter().any(|life| life.rank > 0) { "rank" } else { "replica" },
        scale: ScaleKind::Linear,
        kind: AxisKind::Index,
        min: -0.5,
        max: time.len() as f64 - 0.5,
    };
    window.chart("lanes", y, all)
}

/// Whether a replica is in a state at a time.
type InState = fn(&ReplicaLife, f64) -> bool;

/// How many replicas are ready, start and drain, one above the other, at every change; and how many autoscalers wish for.
fn replica_count(run: &Run, window: &ChartWindow) -> Chart {
    // The ranks of a replica live and end together.
    let lives: Vec<&ReplicaLife> = run.report.replicas.iter().filter(|life| life.rank == 0).collect();
    let times = lives.iter().flat_map(|life| [life.start_us, life.ready_us, life.drain_us, life.stop_us]);
    let mut x: Vec<f64> = times.filter(|&us| us > window.start_us && us < window.end_us).collect();
    x.extend([window.start_us, window.end_us]);
    sort(&mut x);
    x.dedup();
    let count = |at_us: f64, is: InState| lives.iter().filter(|life| is(life, at_us)).count() as f64;
    let states: [(Role, InState); 3] = [
        (Role::Running, |life, us| life.ready_us <= us && us < life.drain_us),
        (Role::Load, |life, us| life.start_us <= us && us < life.ready_us.min(life.drain_us)),
        (Role::Refused, |life, us| life.drain_us <= us && us < life.stop_us),
    ];
    let seconds: Vec<f64> = x.iter().map(|us| us / 1e6).collect();
    let mut base = vec![0.0; x.len()];
    let mut series = Vec::new();
    for (role, is) in states {
        // A step goes on to the next change; the end of the window has the state before it.
        let last = x.len() - 1;
        let own = (0..x.len()).map(|at| count(x[if at == last { last - 1 } else { at }], is));
        let y: Vec<f64> = base.iter().zip(own).map(|(below, own)| below + own).collect();
        if y != base {
            let y0 = std::mem::replace(&mut base, y.clone());
            series.push(stair(role, &seconds, &y, &y0));
        }
    }
    series.extend(wished(run, window));
    window.chart_from_zero("replica_count", "replicas", series)
}

/// How many replicas the rules of all pools wish for together, before anything bounds that; none where not every pool has a rule.
fn wished(run: &Run, window: &ChartWindow) -> Option<Series> {
    let mut latest: Vec<Option<u32>> = vec![None; run.report.pools.len()];
    let (mut x, mut y): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    for decision in run.report.scaling.iter().filter(|decision| decision.time_us < window.end_us) {
        latest[usize::from(decision.pool)] = Some(decision.wished);
        let Some(sum) = latest.iter().copied().sum::<Option<u32>>() else { continue };
        if decision.time_us <= window.start_us {
            x.clear();
            y.clear();
        }
        x.push(decision.time_us.max(window.start_us) / 1e6);
        y.push(sum.into());
    }
    y.push(*y.last()?);
    x.push(window.end_us / 1e6);
    Some(Series { role: Role::Expected, mark: Mark::Step, x, y, ..Series::default() })
}

/// An area between steps: each value holds until the next change.
fn stair(role: Role, x: &[f64], top: &[f64], bottom: &[f64]) -> Series {
    let (mut xs, mut y, mut y0) = (Vec::new(), Vec::new(), Vec::new());
    for (at, &x) in x.iter().enumerate() {
        if at > 0 {
            xs.push(x);
            y.push(top[at - 1]);
            y0.push(bottom[at - 1]);
        }
        xs.push(x);
        y.push(top[at]);
        y0.push(bottom[at]);
    }
    Series { role, mark: Mark::Area, x: xs, y, y0, ..Series::default() }
}

/// Mean time of an iteration, stacked by class of operator; several stages together.
fn operators(sums: &UsageColumns, window: &ChartWindow) -> Chart {
    let iterations = sums.iterations.values();
    let x = seconds(sums);
    let mut base = vec![0.0; x.len()];
    let mut series = Vec::new();
    for (class, columns) in OperatorClass::ALL.into_iter().zip(&sums.parts) {
        let us = columns.values();
        if us.iter().all(|&us| us <= 0.0) {
            continue;
        }
        let each_s = us.iter().zip(&iterations).map(|(us, n)| if *n > 0.0 { us / n / 1e6 } else { 0.0 });
        let y: Vec<f64> = base.iter().zip(each_s).map(|(below, own)| below + own).collect();
        let y0 = std::mem::replace(&mut base, y.clone());
        series.push(Series {
            role: role_of(class),
            mark: Mark::Area,
            x: x.clone(),
            y,
            y0,
            ..Series::default()
        });
    }
    if series.is_empty() {
        return empty("operators", "empty.no_iterations", window.axis());
    }
    let y = y_axis_from_zero("s", &series);
    window.chart("operators", y, series)
}

fn role_of(class: OperatorClass) -> Role {
    match class {
        OperatorClass::PrefillAttention => Role::Prefill,
        OperatorClass::DecodeAttention => Role::Decode,
        OperatorClass::Linear => Role::Linear,
        OperatorClass::Pointwise => Role::Pointwise,
        OperatorClass::Communication => Role::Communication,
        OperatorClass::Adapters => Role::Adapters,
        OperatorClass::Host => Role::Host,
        OperatorClass::Unattributed => Role::Whole,
    }
}

/// Requests and tokens in an iteration: means over each column, on a scale of ratios, for one prompt is a thousand tokens.
fn batch(sums: &UsageColumns, window: &ChartWindow) -> Chart {
    let iterations = sums.iterations.values();
    let x = seconds(sums);
    let line = |role, columns: &TimeColumns| {
        let mean = |(sum, n): (f64, &f64)| if *n > 0.0 { sum / n } else { f64::NAN };
        let y = columns.values().into_iter().zip(&iterations).map(mean).collect();
        Series { role, mark: Mark::Step, x: x.clone(), y, ..Series::default() }
    };
    let series = vec![line(Role::Input, &sums.tokens), line(Role::Running, &sums.requests)];
    let top = y_axis_from_zero("", &series).max;
    let y = Axis {
        unit: "per_iteration",
        scale: ScaleKind::Log,
        kind: AxisKind::Value,
        min: 1.0,
        max: top.max(10.0),
    };
    window.chart("batch", y, series)
}

/// FLOPs and bytes over what the GPUs could do at most.
fn utilisation(run: &Run, sums: &UsageColumns, window: &ChartWindow) -> Chart {
    let is_known = run.usage().knows_work() && run.report.pools.iter().all(|pool| peak(pool).is_some());
    if !is_known {
        return empty("utilisation", "empty.no_peak", window.axis());
    }
    let x = seconds(sums);
    let line = |role, columns: &TimeColumns, most: fn(Peak) -> f64| {
        let of_pool =
            |pool: &PoolReport| peak(pool).map_or(0.0, |(peak, stages)| most(peak) * f64::from(stages) / 1e6);
        let all = fleet_over_time(run, window, columns.len(), of_pool);
        let share = |(rate, most): (f64, f64)| if most > 0.0 { rate / most } else { 0.0 };
        let y = columns.values().into_iter().zip(all).map(share).collect();
        Series { role, mark: Mark::Step, x: x.clone(), y, ..Series::default() }
    };
    let series = vec![
        line(Role::Mfu, &sums.flops, |peak| peak.flops),
        line(Role::Bandwidth, &sums.bytes, |peak| peak.bytes),
    ];
    let y = y_axis_from_zero("share", &series);
    window.chart("utilisation", y, series)
}

/// Preemptions a second.
fn preemptions(run: &Run, window: &ChartWindow) -> Chart {
    let preemptions = &run.report.timeline.preemptions;
    if preemptions.is_empty() {
        return empty("preemptions", "empty.no_preemptions", window.axis());
    }
    let mut counts = TimeColumns::new(window.start_us, window.end_us, window.columns.min(120));
    preemptions.iter().for_each(|preemption| counts.add_event(preemption.time_us, 1.0));
    let each_s = counts.width_us() / 1e6;
    let mut x: Vec<f64> = counts.starts_us().iter().map(|us| us / 1e6).collect();
    x.push(window.end_us / 1e6);
    let mut y: Vec<f64> = counts.values().iter().map(|n| n / each_s).collect();
    y.push(y[y.len() - 1]);
    let series = vec![Series { role: Role::Refused, mark: Mark::Step, x, y, ..Series::default() }];
    let y = y_axis_from_zero("per_s", &series);
    window.chart("preemptions", y, series)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::{ViewOptions, all, build_charts};
    use servescope_cost::{Batch, BatchCost, LinearCost, Peak, StageParts, StageTime, Work};
    use servescope_engine::Fleet;
    use servescope_engine::metrics::fleet::ReplicaRow;
    use servescope_engine::metrics::fleet_summary;
    use servescope_settings::scenario::Scenario;

    /// A linear model that also knows what it asks for.
    #[derive(Debug)]
    struct KnownWork(LinearCost);

    impl BatchCost for KnownWork {
        fn stages(&self) -> u32 {
            1
        }

        fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime {
            self.0.stage_time(batch, is_last)
        }

        fn stage_parts(&self, batch: &Batch<'_>) -> [StageParts; 2] {
            self.0.stage_parts(batch)
        }

        fn work(&self, batch: &Batch<'_>) -> Option<Work> {
            let tokens = f64::from(batch.prompt_tokens() + batch.decodes);
            Some(Work { flops: 2e9 * tokens, bytes: 1e8 + 100.0 * batch.decode_kv_tokens })
        }

        fn peak(&self) -> Option<Peak> {
            Some(Peak { flops: 1e13, bytes: 1e11 })
        }
    }

    fn known() -> Run {
        let mut scenario = Scenario::of_version(4);
        for (path, value) in [
            ("scheduler.kind", "vllm"),
            ("fleet.replicas", "2"),
            ("workload.rate_rps", "6"),
            ("workload.duration_s", "30"),
            ("scheduler.max_total_tokens", "3000"),
        ] {
            scenario.set_text(path, value).unwrap();
        }
        let trace = servescope_traces::arrivals::trace_of(&scenario, None).unwrap();
        let fleet = Fleet::of_pool(trace, scenario.pool(), Box::new(KnownWork(scenario.cost())));
        Run::of(fleet.run(), &scenario)
    }

    fn view<'a>(views: &'a [Chart], name: &str) -> &'a Chart {
        views.iter().find(|view| view.name == name).unwrap()
    }

    #[test]
    fn charts_hold_the_summary_s_means() {
        let run = known();
        let views = all(&run, &ViewOptions::default());
        let fleet = fleet_summary(&run.report, run.usage());
        let mean = |series: &Series| series.y.iter().sum::<f64>() / series.y.len() as f64;
        let use_of = &view(&views, "utilisation").series;
        for (series, of) in use_of.iter().zip([|row: &ReplicaRow| row.mfu, |row: &ReplicaRow| row.bandwidth])
        {
            let reported = fleet.mean(of).unwrap();
            assert!((mean(series) / reported - 1.0).abs() < 1e-9, "{} of {reported}", mean(series));
            assert!(reported > 0.0 && reported < 1.0);
        }
        let summary = run.summary();
        assert_eq!(summary.run.gpu.mfu, fleet.mean(|row| row.mfu));
        assert_eq!(summary.run.gpu.bandwidth, fleet.mean(|row| row.bandwidth));
        let thrown = &view(&views, "preemptions").series[0];
        let width_s = thrown.x[1] - thrown.x[0];
        let counted: f64 = thrown.y[1..].iter().sum::<f64>() * width_s;
        assert!(run.report.preemptions > 0);
        // The last column is drawn twice, as a step needs its end.
        assert!(
            (counted + (thrown.y[0] - thrown.y[thrown.y.len() - 1]) * width_s
                - run.report.preemptions as f64)
                .abs()
                < 1e-6
        );
    }

    #[test]
    fn the_wish_of_a_rule_stands_above_the_replicas_that_it_gets() {
        let settings = [
            ("workload.rate_rps", "4"),
            ("workload.duration_s", "120"),
            ("fleet.autoscaling.kind", "hpa"),
            ("fleet.autoscaling.max", "3"),
            ("fleet.cold_start.delay_s", "20"),
        ];
        let run = Run::simulate(&Scenario::of_version(4).with(&settings).unwrap(), None).unwrap();
        let charts = all(&run, &ViewOptions::default());
        let [.., top, wished] = &view(&charts, "replica_count").series[..] else { panic!("no wish") };
        assert_eq!((wished.role, wished.mark), (Role::Expected, Mark::Step));
        let most = |series: &Series| series.y.iter().copied().fold(0.0, f64::max);
        assert!(most(wished) > 3.0 && most(top) <= 3.0, "{} of {}", most(wished), most(top));
        let decided: Vec<f64> = run.report.scaling.iter().map(|decision| decision.time_us / 1e6).collect();
        assert_eq!(wished.x[..wished.x.len() - 1], decided[..wished.x.len() - 1]);
        let without = Run::simulate(&Scenario::of_version(4).with(&settings[..2]).unwrap(), None).unwrap();
        let charts = all(&without, &ViewOptions::default());
        assert!(view(&charts, "replica_count").series.iter().all(|series| series.role != Role::Expected));
    }

    #[test]
    fn a_chart_alone_is_the_one_among_all() {
        let options = ViewOptions::default();
        let (run, mut behind) = (known(), Scenario::of_version(4));
        for (path, value) in
            [("gateway.kind", "proxy"), ("scheduler.kind", "vllm_v1"), ("workload.duration_s", "20")]
        {
            behind.set_text(path, value).unwrap();
        }
        // What is nowhere is no number, and no number equals itself.
        let reported = |views: &[Chart]| format!("{views:?}");
        let runs = [&behind, &Scenario::of_version(4)].map(|scenario| Run::simulate(scenario, None).unwrap());
        for run in runs.iter().chain([&run]) {
            let views = all(run, &options);
            for view in &views {
                let alone = build_charts(run, &options, &|name| name == view.name);
                assert_eq!(reported(&alone), reported(std::slice::from_ref(view)));
            }
            let (first, others): (Vec<Chart>, Vec<Chart>) =
                views.into_iter().partition(|view| view.name.len() % 2 == 0);
            assert_eq!(reported(&build_charts(run, &options, &|name| name.len() % 2 == 0)), reported(&first));
            assert_eq!(
                reported(&build_charts(run, &options, &|name| name.len() % 2 == 1)),
                reported(&others)
            );
        }
    }

    #[test]
    fn a_part_of_the_run_is_looked_at_alone() {
        let run = known();
        let whole = all(&run, &ViewOptions::default());
        let part = all(&run, &ViewOptions { window_s: Some((5.0, 6.0)), ..ViewOptions::default() });
        for name in ["lanes", "operators", "batch", "utilisation"] {
            let (whole, part) = (view(&whole, name), view(&part, name));
            assert_eq!((part.x.min, part.x.max), (5.0, 6.0));
            let inside = part.series.iter().flat_map(|series| &series.x).all(|x| (5.0..=6.0).contains(x));
            assert!(inside, "{name}");
            assert_eq!(part.series.is_empty(), whole.series.is_empty());
        }
        let stack = &view(&part, "operators").series;
        let parts: Vec<Role> = stack.iter().map(|series| series.role).collect();
        assert!(parts.contains(&Role::Decode) && parts.contains(&Role::Whole), "{parts:?}");
        // A second of the run has a handful of iterations: the top of the stack is the time of one of them.
        let times: Vec<f64> = run.report.timeline.iterations.iter().map(|run| run.first_us / 1e6).collect();
        let longest = times.iter().copied().fold(0.0, f64::max);
        assert!(stack[stack.len() - 1].y.iter().all(|&y| y <= longest * (1.0 + 1e-9)));
    }
    #[test]
    fn data_parallel_ranks_have_a_row_each() {
        let of = |ranks| {
            let settings = [
                ("scheduler.kind", "vllm_v1"),
                ("fleet.data_parallel_size", ranks),
                ("fleet.rank_passes", "together"),
                ("workload.adapters.count", "0"),
                ("workload.duration_s", "10"),
            ];
            let scenario = Scenario::of_version(4).with(&settings).unwrap();
            let views = all(&Run::simulate(&scenario, None).unwrap(), &ViewOptions::default());
            let lanes = view(&views, "lanes");
            (lanes.y.unit, lanes.y.max)
        };
        assert_eq!([of("1"), of("2")], [("replica", 0.5), ("rank", 1.5)]);
    }
}
