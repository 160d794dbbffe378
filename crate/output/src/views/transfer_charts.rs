//! Use of the links over which KV blocks go from prefill to decode replicas.

use servescope_engine::metrics::columns::TimeColumns;
use servescope_engine::{KvRole, KvTransfer, PoolReport, ReplicaIndex};
use servescope_lab::run::Run;

use super::replicas::fleet_over_time;
use super::{Chart, ChartWindow, Mark, Role, Series};

/// Columns that are summed up: a single pull is much shorter than what is seen.
const EACH: usize = 4;

/// Of what the links of replicas can carry, the share that they do: out of prefill replicas and into decode replicas, mean over each. `None`:
/// no request is disaggregated.
pub(super) fn kv_links(run: &Run, window: &ChartWindow) -> Option<Chart> {
    let report = &run.report;
    let columns = (window.columns / EACH).max(1);
    let block_us = |place: ReplicaIndex| report.pool(place).kv_transfer.map_or(0.0, |own| own.block_us);
    // Seconds of work for the links of each side in a second.
    let mut sides = [KvRole::Producer, KvRole::Consumer]
        .map(|role| (role, TimeColumns::new(window.start_us, window.end_us, columns)));
    let mut any = false;
    for copy in report.timeline.kv_copies.iter().filter(|copy| copy.is_load) {
        let Some(legs) = copy.requests.first().and_then(|id| report.legs(id.index())) else { continue };
        let took_us = copy.end_us - copy.start_us;
        if took_us > 0.0 {
            any = true;
            for ((_, work), place) in sides.iter_mut().zip([legs.prefill, copy.replica]) {
                let share = f64::from(copy.blocks) * block_us(place) / took_us;
                work.add(copy.start_us, copy.end_us, share.min(1.0));
            }
        }
    }
    if !any {
        return None;
    }
    let width_us = (window.end_us - window.start_us) / columns as f64;
    let x: Vec<f64> =
        (0..columns).map(|column| (window.start_us + (column as f64 + 0.5) * width_us) / 1e6).collect();
    let line = |(role, work): (KvRole, TimeColumns)| {
        let has_role = |own: &KvTransfer| own.role == role;
        let count = |pool: &PoolReport| f64::from(u8::from(pool.kv_transfer.as_ref().is_some_and(has_role)));
        let replicas = fleet_over_time(run, window, columns, count);
        let share = |(work, replicas): (f64, f64)| (work / replicas.max(1.0)).min(1.0);
        let role = if role == KvRole::Producer { Role::Prefill } else { Role::Decode };
        let y = work.values().into_iter().zip(replicas).map(share).collect();
        Series { role, mark: Mark::Line, x: x.clone(), y, ..Series::default() }
    };
    Some(window.chart_from_zero("kv_links", "share", sides.into_iter().map(line).collect()))
}

#[cfg(test)]
mod tests {
    use servescope_settings::scenario::Scenario;

    use super::*;
    use crate::views::{ViewOptions, all};

    fn chart(settings: &[(&str, &str)]) -> Option<Chart> {
        let own = [
            ("workload.adapters.count", "0"),
            ("workload.duration_s", "60"),
            ("workload.rate_rps", "4"),
            ("workload.curve.kind", "constant"),
            ("fleet.replicas", "3"),
            ("fleet.disaggregation.kind", "nixl"),
        ];
        let scenario = Scenario::of_version(5).with(&own).expect("own").with(settings).expect("settings");
        let run = Run::simulate(&scenario, None).expect("a run");
        all(&run, &ViewOptions::default()).into_iter().find(|chart| chart.name == "kv_links")
    }

    fn mean(series: &Series) -> f64 {
        series.y.iter().sum::<f64>() / series.y.len() as f64
    }

    /// What leaves one prefill replica comes to two decode replicas of the same link, each of which has half of it; a link half as
    /// fast is used twice as much.
    #[test]
    fn what_leaves_one_side_comes_to_the_other() {
        let of = |rate| chart(&[("fleet.transfer.gb_per_s", rate)]).expect("pulls").series;
        let quick = of("20");
        let [out, into] = [mean(&quick[0]), mean(&quick[1])];
        assert!(out > 0.0 && (out / into - 2.0).abs() < 0.05, "{out} {into}");
        let slow = mean(&of("10")[0]);
        assert!((slow / out - 2.0).abs() < 0.1, "{slow} {out}");
    }

    #[test]
    fn whole_requests_have_no_links() {
        assert_eq!(chart(&[("fleet.disaggregation.prefill_replicas", "0")]), None);
    }
}
