//! How much of the prompts a prefix cache finds, by its size.

use servescope_lab::run::Run;

use super::{Axis, AxisKind, Chart, Mark, Role, ScaleKind, Series, empty};

pub(super) const NAME: &str = "hits_by_capacity";
/// Blocks of prompts up to which the curve is computed with every run.
const MOST_BLOCKS: usize = 3_000_000;
/// Sizes at which the curve is looked at.
const POINTS: usize = 160;

/// The share of prompt blocks that a cache of each size finds, which forgets the least recently used block; what one without limit
/// finds; and the size of the KV caches of all replicas together, and of their host memory, which has copies of the same blocks. `None`: the trace has no blocks, or
/// nothing caches them.
pub(super) fn hits_by_capacity(run: &Run) -> Option<Chart> {
    let report = &run.report;
    let prefix = &report.trace.metadata.as_deref()?.prefix;
    if prefix.prompts.ids.is_empty() || report.prefix_lookups.is_empty() {
        return None;
    }
    let axis =
        |min: f64, max: f64| Axis { unit: "tokens", scale: ScaleKind::Log, kind: AxisKind::Value, min, max };
    if prefix.prompts.ids.len() > MOST_BLOCKS {
        return Some(empty(NAME, "empty.too_many_blocks", axis(1.0, 10.0)));
    }
    let (curve, block) = (run.hit_curve()?, f64::from(prefix.block_tokens.max(1)));
    let pools = report.replicas.iter().filter_map(|life| report.pools.get(usize::from(life.pool)));
    let (gpu, host) = pools.fold((0.0, 0.0), |(gpu, host), pool| {
        (gpu + f64::from(pool.kv_tokens), host + pool.host_kv_tokens as f64)
    });
    let largest = f64::from(curve.largest().max(1)) * block;
    let max = 1.5 * largest.max(gpu).max(host).max(2.0 * block);
    let min = block.max(max * 1e-4);
    let x: Vec<f64> =
        (0..POINTS).map(|i| min * libm::pow(max / min, i as f64 / (POINTS - 1) as f64)).collect();
    let y: Vec<f64> = x.iter().map(|tokens| curve.share((tokens / block) as u64)).collect();
    let most = curve.share(u64::from(u32::MAX));
    let rule =
        |role, mark, x: f64, y: f64| Series { role, mark, x: vec![x], y: vec![y], ..Series::default() };
    let mut series = vec![
        rule(Role::Expected, Mark::RuleY, 0.0, most),
        Series { role: Role::Served, mark: Mark::Line, x, y, ..Series::default() },
        rule(Role::Kv, Mark::RuleX, gpu, 0.0),
    ];
    if host > 0.0 {
        series.push(rule(Role::Host, Mark::RuleX, host, 0.0));
    }
    let y = Axis { unit: "share", scale: ScaleKind::Linear, kind: AxisKind::Value, min: 0.0, max: 1.0 };
    Some(Chart { name: NAME, x: axis(min, max), y, series, empty: "", categories: Vec::new() })
}

#[cfg(test)]
mod tests {
    use servescope_settings::scenario::Scenario;

    use super::*;
    use crate::views::{ViewOptions, all};

    fn chart(settings: &[(&str, &str)]) -> Option<Chart> {
        let scenario = Scenario::of_version(5).with(settings).expect("settings");
        let run = Run::simulate(&scenario, None).expect("a run");
        all(&run, &ViewOptions::default()).into_iter().find(|chart| chart.name == NAME)
    }

    #[test]
    fn the_curve_rises_to_what_a_cache_without_limit_finds() {
        let settings = [
            ("workload.duration_s", "30"),
            ("workload.prefix.kind", "tree"),
            ("workload.sessions.kind", "held"),
            ("workload.adapters.count", "0"),
            ("fleet.host_cache.gib", "100"),
        ];
        let of = chart(&settings).expect("a chart");
        let curve = &of.series[1].y;
        assert!(curve.is_sorted() && curve[0] < 0.5);
        assert_eq!(curve.last(), of.series[0].y.first());
        // The two sizes of memory lie on the axis.
        let sizes = [of.series[2].x[0], of.series[3].x[0]];
        assert!(of.x.min < sizes[0] && sizes[0] < sizes[1] && sizes[1] < of.x.max, "{sizes:?}");
        assert!(chart(&[("workload.duration_s", "30")]).is_none(), "a trace without blocks");
    }
}
