//! Charts of the engine over time: request rates, running and waiting requests, memory, tokens.

use servescope_engine::Outcome;
use servescope_engine::metrics::columns::{GpuColumns, TimeColumns};
use servescope_lab::run::Run;

use super::replicas::{fleet_over_time, memory_of_fleet};
use super::{Chart, ChartWindow, Mark, Role, Series};

/// The charts that need the GPU's columns.
pub(super) const OF_GPU: [&str; 2] = ["memory", "tokens"];

fn seconds(us: &[f64]) -> Vec<f64> {
    us.iter().map(|t| t / 1e6).collect()
}

/// Arrivals, completions and rejections a second. Bins are wider than columns, for a rate needs a few events.
pub(super) fn rates(run: &Run, window: &ChartWindow) -> Chart {
    let report = &run.report;
    let trace = &report.trace;
    let arrived = trace.arrival_us.iter().filter(|&&t| t >= window.start_us && t <= window.end_us).count();
    let bins = (arrived / 10).clamp(12, window.columns.min(120));
    let blank = TimeColumns::new(window.start_us, window.end_us, bins);
    let (mut offered, mut served, mut refused) = (blank.clone(), blank.clone(), blank);
    let mut any_refused = false;
    for (id, result) in report.results.iter().enumerate() {
        offered.add_event(trace.arrival_us[id], 1.0);
        match (result.outcome, result.finish_us) {
            (Outcome::Completed, Some(finish)) => served.add_event(finish, 1.0),
            (Outcome::Rejected(_), _) => {
                any_refused = true;
                refused.add_event(trace.arrival_us[id], 1.0);
            }
            _ => {}
        }
    }
    let each_s = offered.width_us() / 1e6;
    let mut x = seconds(&offered.starts_us());
    x.push(window.end_us / 1e6);
    let series = |role, counts: &TimeColumns| {
        let mut y: Vec<f64> = counts.values().iter().map(|n| n / each_s).collect();
        y.push(y[y.len() - 1]);
        Series { role, mark: Mark::Step, x: x.clone(), y, ..Series::default() }
    };
    let mut all = vec![series(Role::Arrivals, &offered), series(Role::Served, &served)];
    let spec = &run.workload;
    let in_step = run.generated && spec.closed_requests.is_none() && spec.sessions.is_none();
    if let Some(curve) = spec.curve.as_ref().filter(|_| in_step) {
        // What the curve asks for in each bin.
        let expected = |from: f64, to: f64| (curve.integral(to) - curve.integral(from)) / (to - from);
        let mut y: Vec<f64> = x.windows(2).map(|w| expected(w[0], w[1])).collect();
        y.push(y[y.len() - 1]);
        all.push(Series { role: Role::Expected, mark: Mark::Step, x: x.clone(), y, ..Series::default() });
    }
    if any_refused {
        all.push(series(Role::Refused, &refused));
    }
    window.chart_from_zero("rates", "req/s", all)
}

/// Requests in the batch and in the waiting queue.
pub(super) fn running_waiting(run: &Run, window: &ChartWindow) -> Chart {
    let report = &run.report;
    let blank = TimeColumns::new(window.start_us, window.end_us, window.columns);
    let (mut running, mut waiting) = (blank.clone(), blank);
    let end = window.end_us;
    for (id, result) in report.results.iter().enumerate() {
        let arrival = report.trace.arrival_us[id];
        match (report.scheduled_us(id), result.outcome) {
            (Some(scheduled), _) => {
                waiting.add(arrival, scheduled, 1.0);
                running.add(scheduled, result.finish_us.unwrap_or(end), 1.0);
            }
            (None, Outcome::Unfinished) => waiting.add(arrival, end, 1.0),
            (None, _) => {}
        }
    }
    for &(at, id) in &report.trace.cancellations {
        let id = id as usize;
        if report.results[id].outcome == Outcome::Cancelled && report.scheduled_us(id).is_none() {
            waiting.add(report.trace.arrival_us[id], at, 1.0);
        }
    }
    let x = seconds(&running.starts_us());
    let series = vec![
        Series {
            role: Role::Waiting,
            mark: Mark::Area,
            x: x.clone(),
            y: waiting.values(),
            ..Series::default()
        },
        Series { role: Role::Running, mark: Mark::Step, x, y: running.values(), ..Series::default() },
    ];
    window.chart_from_zero("running_waiting", "requests", series)
}

/// KV cache and adapters in the pool.
pub(super) fn memory(run: &Run, gpu: &GpuColumns, window: &ChartWindow) -> Chart {
    let x = seconds(&gpu.kv_tokens.starts_us());
    let kv = gpu.kv_tokens.values();
    let kv_columns = kv.len();
    // What is set apart for adapters beside the KV pool is theirs, whatever lies in it.
    let reserved = f64::from(run.report.adapters.reserved_tokens);
    let set_apart = fleet_over_time(run, window, kv.len(), |_| reserved);
    let adapters = gpu.adapter_tokens.values();
    let top: Vec<f64> =
        adapters.iter().zip(&kv).zip(&set_apart).map(|((adapters, kv), own)| adapters + kv + own).collect();
    let series = vec![
        Series { role: Role::Kv, mark: Mark::Area, x: x.clone(), y: kv.clone(), ..Series::default() },
        Series { role: Role::Adapters, mark: Mark::Area, x, y: top, y0: kv, ..Series::default() },
        memory_of_fleet(run, window, kv_columns, |pool| f64::from(pool.kv_tokens) + reserved),
    ];
    window.chart_from_zero("memory", "tokens", series)
}

/// Prompt and output tokens a second, over two columns each: single iterations would hide the trend.
pub(super) fn tokens(gpu: &GpuColumns, window: &ChartWindow) -> Chart {
    let x = seconds(&gpu.kv_tokens.starts_us()).into_iter().step_by(2).collect::<Vec<f64>>();
    let each_second = |columns: &TimeColumns| {
        let pairs = columns.values();
        pairs.chunks(2).map(|pair| 1e6 * pair.iter().sum::<f64>() / pair.len() as f64).collect::<Vec<f64>>()
    };
    let decode = each_second(&gpu.decode_tokens);
    let top: Vec<f64> = each_second(&gpu.prefill_tokens).iter().zip(&decode).map(|(p, d)| p + d).collect();
    let series = vec![
        Series { role: Role::Decode, mark: Mark::Area, x: x.clone(), y: decode.clone(), ..Series::default() },
        Series { role: Role::Prefill, mark: Mark::Area, x, y: top, y0: decode, ..Series::default() },
    ];
    window.chart_from_zero("tokens", "tokens/s", series)
}
