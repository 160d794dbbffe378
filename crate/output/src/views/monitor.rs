//! Usage by client over time: service, KV memory held and reserved by client, stacked, and the counters of the orders of
//! service.

use std::borrow::Cow;

use servescope_engine::metrics::monitor::{Cell, Monitor};
use servescope_engine::queue::Client;
use servescope_lab::run::Run;
use servescope_lab::run::monitor::{CHART_WINDOWS, CHARTED};

use super::client_roles::roles_of;
use super::replicas::memory_of_fleet;
use super::{Chart, ChartWindow, Mark, Role, Series, ViewOptions, empty, y_axis_from_zero};
use crate::files::{CounterSource, counters};

/// The charts, and the monitor that their series are of: row for row, in the order of [`charted`].
pub fn monitor<'a>(run: &'a Run, client: Client, options: &ViewOptions) -> (Vec<Chart>, Cow<'a, Monitor>) {
    let window = ChartWindow::of(run, options);
    let monitor = if options.window_s.is_none() {
        Cow::Borrowed(run.monitor(client))
    } else {
        let part = Some((window.start_us, window.end_us));
        Cow::Owned(run.monitor_of(client, part, CHART_WINDOWS, CHARTED))
    };
    let mut views = vec![service(&monitor, &window), kv(run, &monitor, &window)];
    if monitor.clients.first().is_some_and(|client| client.reserved_token_s.is_some()) {
        views.push(reserved(&monitor, &window));
    }
    // Where neither keeps counters the engine's chart says so.
    let at_gateway = CounterSource::Gateway.of(run).is_some();
    if !at_gateway || CounterSource::Engine.of(run).is_some() {
        views.push(counted(run, &monitor, CounterSource::Engine, &window));
    }
    if at_gateway {
        views.push(counted(run, &monitor, CounterSource::Gateway, &window));
    }
    (views, monitor)
}

/// The charted clients, the best served first, and their colours; all others are one more row.
pub fn charted(monitor: &Monitor) -> impl Iterator<Item = (i64, Role)> {
    let own = monitor.cells.rows() - usize::from(monitor.cells.has_others());
    let ids: Vec<i64> = monitor.clients[..own].iter().map(|client| client.id).collect();
    let roles = roles_of(&ids);
    ids.into_iter().zip(roles)
}

/// Colours of the rows; the last is that of all others, where there are any.
fn roles(monitor: &Monitor) -> Vec<Role> {
    let others = monitor.cells.has_others().then_some(Role::Slo);
    charted(monitor).map(|(_, role)| role).chain(others).collect()
}

/// One area a row, each on those before it.
fn stacked(monitor: &Monitor, height: impl Fn(&Cell) -> f64) -> Vec<Series> {
    let grid = &monitor.cells.grid;
    let windows = grid.windows();
    // Each window is flat: its two ends are points.
    let edges = |w: usize| [grid.edge_us(w) / 1e6, grid.edge_us(w + 1) / 1e6];
    let x: Vec<f64> = (0..windows).flat_map(edges).collect();
    let mut base = vec![0.0; x.len()];
    roles(monitor)
        .into_iter()
        .enumerate()
        .map(|(row, role)| {
            let own = monitor.cells.row(row).iter().flat_map(|cell| [height(cell); 2]);
            let y: Vec<f64> = base.iter().zip(own).map(|(below, own)| below + own).collect();
            let y0 = std::mem::replace(&mut base, y.clone());
            Series { role, mark: Mark::Area, x: x.clone(), y, y0, ..Series::default() }
        })
        .collect()
}

/// Input + 2 output tokens a second.
fn service(monitor: &Monitor, window: &ChartWindow) -> Chart {
    let width_s = monitor.cells.grid.width_us() / 1e6;
    let series = stacked(monitor, |cell| cell.service() / width_s);
    if series.iter().all(|series| series.y.iter().all(|&y| y <= 0.0)) {
        return empty("client_service", "empty.no_service", window.axis());
    }
    window.chart_from_zero("client_service", "tokens/s", series)
}

/// KV tokens held, with the pool of all replicas.
fn kv(run: &Run, monitor: &Monitor, window: &ChartWindow) -> Chart {
    let width_us = monitor.cells.grid.width_us();
    let mut series = stacked(monitor, |cell| cell.kv_token_us / width_us);
    series.push(memory_of_fleet(run, window, window.columns, |pool| f64::from(pool.kv_tokens)));
    window.chart_from_zero("client_kv", "tokens", series)
}

/// KV tokens that the gateway has reserved beyond those.
fn reserved(monitor: &Monitor, window: &ChartWindow) -> Chart {
    let width_us = monitor.cells.grid.width_us();
    window.chart_from_zero(
        "client_reserved",
        "tokens",
        stacked(monitor, |cell| cell.reserved_token_us / width_us),
    )
}

/// What the charted clients' counters stand at.
fn counted(run: &Run, monitor: &Monitor, keeper: CounterSource, window: &ChartWindow) -> Chart {
    let name = match keeper {
        CounterSource::Engine => "client_counters",
        CounterSource::Gateway => "client_gateway_counters",
    };
    let why = match keeper.of(run) {
        None => "empty.no_counters",
        Some(kept) if kept.client != monitor.client => match kept.client {
            Client::User => "empty.counters_by_user",
            Client::Adapter => "empty.counters_by_adapter",
        },
        Some(_) => "",
    };
    if !why.is_empty() {
        return empty(name, why, window.axis());
    }
    let series: Vec<Series> = charted(monitor)
        .enumerate()
        .map(|(row, (_, role))| {
            let inside = |time_us: &f64| (window.start_us..=window.end_us).contains(time_us);
            let kept = counters(run, monitor, keeper, monitor.clients[row].id);
            let (x, y) = kept.into_iter().filter(|(time, _)| inside(time)).map(|(t, v)| (t / 1e6, v)).unzip();
            Series { role, mark: Mark::Line, x, y, ..Series::default() }
        })
        .collect();
    let mut y = y_axis_from_zero("tokens", &series);
    // A deficit counter may be below nought.
    let least = series.iter().flat_map(|s| s.y.iter().copied()).fold(0.0, f64::min);
    y.min = least * 1.06;
    window.chart(name, y, series)
}

#[cfg(test)]
mod tests {
    use servescope_engine::metrics::monitor::ClientTotals;
    use servescope_settings::scenario::Scenario;

    use super::*;

    fn run(settings: &[(&str, &str)]) -> Run {
        let scenario = Scenario::of_version(4).with(settings).unwrap();
        Run::simulate(&scenario, None).unwrap()
    }

    /// The top of a stack, averaged over time.
    fn mean_top(view: &Chart) -> f64 {
        let top = view.series.iter().rfind(|series| series.mark == Mark::Area).unwrap();
        top.y.iter().sum::<f64>() / top.y.len() as f64
    }

    #[test]
    fn stacks_are_the_whole_run() {
        let run = run(&[("workload.users.count", "30"), ("workload.duration_s", "60")]);
        let (views, monitor) = monitor(&run, Client::User, &ViewOptions::default());
        let seconds = monitor.end_us / 1e6;
        let service: f64 = monitor.clients.iter().map(ClientTotals::service).sum();
        assert!((mean_top(&views[0]) * seconds / service - 1.0).abs() < 1e-9);
        let kv = run.summary().run.kv.mean_usage.unwrap() * f64::from(run.report.pools[0].kv_tokens);
        assert!((mean_top(&views[1]) / kv - 1.0).abs() < 1e-9, "{} of {kv}", mean_top(&views[1]));
        assert_eq!(views[0].series.len(), CHARTED + 1);
        assert_eq!(views[0].series.last().unwrap().role, Role::Slo);
        assert_eq!(views[2].empty, "empty.no_counters");
    }

    #[test]
    fn kv_memory_of_whole_prompts_is_the_summarys() {
        for kind in ["slora", "orca", "vllm", "lightllm", "vllm_v1"] {
            let settings = [
                ("workload.users.count", "30"),
                ("workload.duration_s", "60"),
                ("scheduler.kind", kind),
                ("scheduler.batch_max_tokens", "100000"),
                ("scheduler.max_total_tokens", "100000"),
            ];
            let run = run(&settings);
            assert_eq!(run.report.preemptions, 0, "{kind}");
            let (views, monitor) = monitor(&run, Client::Adapter, &ViewOptions::default());
            assert_eq!(monitor.kv_interpolated, 0);
            let kv = run.summary().run.kv.mean_usage.unwrap() * f64::from(run.report.pools[0].kv_tokens);
            assert!((mean_top(&views[1]) / kv - 1.0).abs() < 1e-9, "{kind}: {} of {kv}", mean_top(&views[1]));
        }
    }

    #[test]
    fn what_the_gateway_keeps_is_drawn_too() {
        let proxied = |more: &[(&'static str, &'static str)]| {
            let settings = [
                ("workload.users.count", "30"),
                ("workload.duration_s", "60"),
                ("gateway.kind", "proxy"),
                ("gateway.checks", "kv"),
            ];
            run(&[&settings[..], more].concat())
        };
        let names = |views: &[Chart]| views.iter().map(|view| view.name).collect::<Vec<_>>();
        let fair = proxied(&[("gateway.order", "vtc")]);
        for client in [Client::User, Client::Adapter] {
            let (views, monitor) = monitor(&fair, client, &ViewOptions::default());
            let expected = ["client_service", "client_kv", "client_reserved", "client_gateway_counters"];
            assert_eq!(names(&views), expected);
            let seconds = monitor.end_us / 1e6;
            let reported = fair.report.gateway.as_ref().unwrap().reserved.as_ref().unwrap();
            let total = reported.total_token_us(monitor.end_us) / 1e6;
            assert!(total > 0.0 && (mean_top(&views[2]) * seconds / total - 1.0).abs() < 1e-9);
            let column = crate::monitor::COLUMNS.iter().find(|c| c.name == "reserved_tokens_mean").unwrap();
            let whole = crate::monitor::Whole::of(&monitor);
            let mean: f64 = monitor.clients.iter().map(|c| column.of(c, &whole).unwrap()).sum();
            assert!((mean * seconds / total - 1.0).abs() < 1e-9, "{mean} of {total}");
            if client == Client::Adapter {
                assert_eq!(views[3].empty, "empty.counters_by_user");
                continue;
            }
            for (series, client) in views[3].series.iter().zip(&monitor.clients) {
                assert!(series.x.len() > 50 && series.x.is_sorted() && series.y.is_sorted());
                assert_eq!(series.y.last().copied(), client.gateway_counter);
            }
        }
        let both = proxied(&[("gateway.order", "drr"), ("scheduler.order", "vtc")]);
        let (views, _) = monitor(&both, Client::User, &ViewOptions::default());
        assert_eq!(names(&views)[3..], ["client_counters", "client_gateway_counters"]);
        assert!(views[3].empty.is_empty() && views[4].empty.is_empty());
        let csv = crate::files::clients_over_time_csv(&both);
        let heading: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
        let place = |name: &str| heading.iter().position(|column| *column == name).unwrap();
        let last =
            csv.lines().rfind(|line| line.starts_with("user,0,")).unwrap().split(',').collect::<Vec<_>>();
        assert_eq!(last.len(), heading.len());
        for name in ["reserved_tokens_mean", "counter", "gateway_counter"] {
            assert!(
                last[place(name)].parse::<f64>().is_ok_and(f64::is_finite),
                "{name}: {}",
                last[place(name)]
            );
        }
    }

    #[test]
    fn counters_are_drawn_for_those_who_have_them() {
        let run =
            run(&[("workload.users.count", "3"), ("scheduler.order", "vtc"), ("workload.duration_s", "60")]);
        let (views, watched) = monitor(&run, Client::User, &ViewOptions::default());
        assert_eq!(views[2].series.len(), 3);
        for (series, client) in views[2].series.iter().zip(&watched.clients) {
            assert!(series.x.len() > 50 && series.x.is_sorted() && series.y.is_sorted());
            assert_eq!(series.y.last().copied(), client.counter);
        }
        let (views, watched) = monitor(&run, Client::Adapter, &ViewOptions::default());
        assert_eq!(views[2].empty, "empty.counters_by_user");
        assert!(watched.clients.iter().all(|client| client.counter.is_none()));
        let part = ViewOptions { window_s: Some((10.0, 20.0)), ..ViewOptions::default() };
        let (views, _) = monitor(&run, Client::User, &part);
        for view in &views {
            assert_eq!((view.x.min, view.x.max), (10.0, 20.0));
            let inside = view.series.iter().filter(|s| s.mark != Mark::RuleY).flat_map(|s| &s.x);
            assert!(inside.into_iter().all(|x| (10.0 - 1e-9..=20.0 + 1e-9).contains(x)), "{}", view.name);
        }
    }
}
