//! How much of the prompts is found in caches: over time, and by the size of a cache.

use servescope_lab::run::Run;

use super::{Axis, AxisKind, Chart, ChartWindow, Mark, Role, ScaleKind, Series, empty};

/// Blocks of prompts up to which the curve is computed with every run.
const MOST_BLOCKS: usize = 3_000_000;
/// Sizes at which the curve is looked at.
const POINTS: usize = 160;

/// Columns over which the prompts of a time chart are summed: single requests would hide the trend.
const EACH: usize = 8;

/// Of the prompts that were admitted at a time, the share that was found in the KV cache, that was loaded from host memory, and that
/// was computed. `None`: nothing caches prompts, or none was found.
pub(super) fn hits_over_time(run: &Run, window: &ChartWindow) -> Option<Chart> {
    let report = &run.report;
    let columns = (window.columns / EACH).max(1);
    let width_us = (window.end_us - window.start_us) / columns as f64;
    // Prompt tokens of each column: found on the GPU, on the host, and all.
    let mut sums = vec![[0u64; 3]; columns];
    for id in 0..report.results.len() {
        let (Some(found), Some(at_us)) = (report.found_prompt(id), report.scheduled_us(id)) else { continue };
        let column = (at_us - window.start_us) / width_us;
        if column >= 0.0
            && let Some(sums) = sums.get_mut(column as usize)
        {
            let all = report.trace.input_tokens[id];
            let tokens = [found.cached_tokens, found.host_tokens, all];
            sums.iter_mut().zip(tokens).for_each(|(sum, tokens)| *sum += u64::from(tokens));
        }
    }
    let [gpu, host] = [0, 1].map(|tier| sums.iter().map(|sums| sums[tier]).sum::<u64>());
    if gpu + host == 0 {
        return None;
    }
    // Where none was admitted there is nothing to share.
    let admitted: Vec<usize> = (0..columns).filter(|&column| sums[column][2] > 0).collect();
    let middle_s = |&column: &usize| (window.start_us + (column as f64 + 0.5) * width_us) / 1e6;
    let x: Vec<f64> = admitted.iter().map(middle_s).collect();
    let upto = |tiers: usize| -> Vec<f64> {
        let share = |&column: &usize| {
            let found: u64 = sums[column][..tiers].iter().sum();
            found.min(sums[column][2]) as f64 / sums[column][2] as f64
        };
        admitted.iter().map(share).collect()
    };
    let area =
        |role, y: Vec<f64>, y0| Series { role, mark: Mark::Area, x: x.clone(), y, y0, ..Series::default() };
    let mut series = vec![area(Role::Kv, upto(1), Vec::new())];
    if host > 0 {
        series.push(area(Role::Host, upto(2), upto(1)));
    }
    series.push(area(Role::Prefill, vec![1.0; x.len()], upto(2)));
    let y = Axis { unit: "share", scale: ScaleKind::Linear, kind: AxisKind::Value, min: 0.0, max: 1.0 };
    Some(window.chart("hits_over_time", y, series))
}

/// The share of prompt blocks that a cache of each size finds, which forgets the least recently used block; what one without limit
/// finds; and the size of the KV caches of all replicas together, and of their host memory, which has copies of the same blocks.
/// `None`: the trace has no blocks, or nothing caches them.
pub(super) fn hits_by_capacity(run: &Run) -> Option<Chart> {
    let report = &run.report;
    let prefix = &report.trace.metadata.as_deref()?.prefix;
    if prefix.prompts.ids.is_empty() || report.prefix_lookups.is_empty() {
        return None;
    }
    let axis =
        |min: f64, max: f64| Axis { unit: "tokens", scale: ScaleKind::Log, kind: AxisKind::Value, min, max };
    if prefix.prompts.ids.len() > MOST_BLOCKS {
        return Some(empty("hits_by_capacity", "empty.too_many_blocks", axis(1.0, 10.0)));
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
    Some(Chart { name: "hits_by_capacity", x: axis(min, max), y, series, empty: "", categories: Vec::new() })
}

#[cfg(test)]
mod tests {
    use servescope_settings::scenario::Scenario;

    use super::*;
    use crate::views::{ViewOptions, all};

    const AGENTS: [(&str, &str); 5] = [
        ("workload.duration_s", "30"),
        ("workload.prefix.kind", "tree"),
        ("workload.sessions.kind", "held"),
        ("workload.adapters.count", "0"),
        ("fleet.host_cache.gib", "100"),
    ];

    fn run(settings: &[(&str, &str)]) -> Run {
        Run::simulate(&Scenario::of_version(5).with(settings).expect("settings"), None).expect("a run")
    }

    fn chart(run: &Run, name: &str) -> Option<Chart> {
        all(run, &ViewOptions::default()).into_iter().find(|chart| chart.name == name)
    }

    #[test]
    fn the_curve_rises_to_what_a_cache_without_limit_finds() {
        let of = chart(&run(&AGENTS), "hits_by_capacity").expect("a chart");
        let curve = &of.series[1].y;
        assert!(curve.is_sorted() && curve[0] < 0.5);
        assert_eq!(curve.last(), of.series[0].y.first());
        // The two sizes of memory lie on the axis.
        let sizes = [of.series[2].x[0], of.series[3].x[0]];
        assert!(of.x.min < sizes[0] && sizes[0] < sizes[1] && sizes[1] < of.x.max, "{sizes:?}");
        assert!(chart(&run(&[("workload.duration_s", "30")]), "hits_by_capacity").is_none(), "no blocks");
    }

    /// What is drawn over time are the tokens that the summary counts.
    #[test]
    fn shares_over_time_are_of_the_tokens_that_were_found() {
        let small = [
            ("fleet.kv_pool", "given"),
            ("scheduler.max_total_tokens", "24000"),
            ("workload.rate_rps", "2"),
            ("workload.think.mean_s", "20"),
        ];
        let run = run(&[&AGENTS[..], &small, &[("workload.duration_s", "120")]].concat());
        let of = chart(&run, "hits_over_time").expect("a chart");
        let roles: Vec<Role> = of.series.iter().map(|series| series.role).collect();
        assert_eq!(roles, [Role::Kv, Role::Host, Role::Prefill]);
        let found = (0..run.report.results.len()).filter_map(|id| run.report.found_prompt(id));
        let sums = found.fold([0, 0], |sums, found| {
            [sums[0] + u64::from(found.cached_tokens), sums[1] + u64::from(found.host_tokens)]
        });
        let summary = run.summary().run;
        let (gpu, host) = (summary.prefix_cache.expect("a cache"), summary.host_cache.expect("a tier"));
        assert!(summary.preemptions == 0, "each request was admitted once");
        assert_eq!(sums, [gpu.cached_tokens, host.loaded_tokens]);
        for (kv, host) in of.series[0].y.iter().zip(&of.series[1].y) {
            assert!((0.0..=1.0).contains(kv) && kv <= host && *host <= 1.0);
        }
    }
}
