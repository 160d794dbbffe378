//! What the default scenario promises: each of the sliders above the charts moves the mean TTFT, whatever the seed, and another
//! seed tells the same story.

use servescope_lab::run::Run;
use servescope_settings::scenario::Scenario;

const SEEDS: u64 = 8;

fn mean_ttft_s(seed: u64, setting: Option<(&str, &str)>) -> f64 {
    let seed = seed.to_string();
    let settings: Vec<(&str, &str)> = [("seed", &*seed)].into_iter().chain(setting).collect();
    let scenario = Scenario::default().with(&settings).unwrap();
    let summary = Run::simulate(&scenario, None).unwrap().summary();
    assert_eq!(summary.run.requests.offered, summary.run.requests.completed, "{settings:?}");
    summary.run.ttft_s.mean.unwrap()
}

#[test]
fn every_slider_above_the_charts_moves_the_mean_ttft() {
    println!("mean TTFT, s, mean over {SEEDS} seeds (seeds in which it rose by a tenth or more)");
    for (path, from, to) in [
        ("workload.rate_rps", "3.6", "7.8"),
        ("workload.arrivals.cv", "0.5", "5"),
        ("workload.adapters.alpha", "0.1", "1"),
        ("workload.adapters.count", "4", "200"),
        ("workload.input_tokens.median", "200", "800"),
    ] {
        let pairs: Vec<[f64; 2]> =
            (1..=SEEDS).map(|seed| [from, to].map(|value| mean_ttft_s(seed, Some((path, value))))).collect();
        let rose = pairs.iter().filter(|[low, high]| *high >= 1.1 * low).count();
        let mean = |end: usize| pairs.iter().map(|pair| pair[end]).sum::<f64>() / SEEDS as f64;
        println!("{path} {from} -> {to}: {:.3} -> {:.3} ({rose} of {SEEDS})", mean(0), mean(1));
        assert!(rose * 4 >= 3 * pairs.len(), "{path}: {pairs:?}");
    }
}

#[test]
fn another_seed_tells_the_same_story() {
    for seed in 1..=SEEDS {
        let ttft_s = mean_ttft_s(seed, None);
        // Most requests hardly wait, those of the peak do.
        assert!((0.1..0.5).contains(&ttft_s), "seed {seed}: {ttft_s}");
    }
}
