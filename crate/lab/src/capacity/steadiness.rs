//! The capacity of short runs beside that of long ones, for traffic of many kinds: what `servescope validate` prints.

use servescope_settings::scenario::Scenario;
use servescope_workload::statistics::sort;

use super::search::{Capacity, Search};

/// How long the runs are, seconds.
const SHORT_S: &str = "300";
const LONG_S: &str = "30000";

/// The seed of the long run; the short ones have the seeds from 1 on.
const LONG_SEED: u32 = 42;

/// How far the rate of a short run may lie from that of the long one, as a share of it.
pub const APART: f64 = 0.1;

/// The share of the short runs that must be as near.
const NEAR: f64 = 0.9;

/// A scenario whose capacity is searched.
#[derive(Debug, Clone)]
pub struct Setting {
    /// What serves, and what arrives.
    pub title: String,
    /// The scenario, but for seed and duration.
    pub scenario: Scenario,
}

/// What was found for a setting.
#[derive(Debug, Clone)]
pub struct Steadiness {
    /// The setting's title.
    pub title: String,
    /// The capacity by the long run.
    pub long: Capacity,
    /// The capacity by each short run.
    pub short: Vec<Capacity>,
}

/// How much is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchExtent {
    /// Of the settings, every how many-th.
    pub every: usize,
    /// Seeds of the short runs.
    pub seeds: u32,
}

impl SearchExtent {
    /// All of it: some minutes.
    pub const WHOLE: Self = Self { every: 1, seeds: 10 };
    /// Some seconds.
    pub const QUICK: Self = Self { every: 5, seeds: 2 };
}

impl Steadiness {
    /// How far each short run's rate lies from the long one's, as a share of it.
    pub fn apart(&self) -> Vec<f64> {
        let long = self.long.rate_rps.unwrap_or(f64::NAN);
        self.short.iter().map(|short| short.rate_rps.unwrap_or(f64::NAN) / long - 1.0).collect()
    }

    /// Short runs whose rate is near the long one's.
    pub fn near(&self) -> usize {
        self.apart().iter().filter(|apart| apart.abs() <= APART).count()
    }

    /// Short runs that say that they are too short.
    pub fn too_short(&self) -> usize {
        self.short.iter().filter(|short| short.needs_s.is_some()).count()
    }

    /// Whether nine of ten short runs are near.
    pub fn is_near(&self) -> bool {
        self.near() as f64 >= NEAR * self.short.len() as f64
    }

    /// Whether every short run that is not near says that it is too short.
    pub fn misses_are_reported(&self) -> bool {
        let described = |(apart, short): (&f64, &Capacity)| apart.abs() <= APART || short.needs_s.is_some();
        self.apart().iter().zip(&self.short).all(described)
    }
}

/// Whether all are near, but for at most one in ten that say that they are too short.
pub fn is_met(all: &[Steadiness]) -> bool {
    let off: Vec<&Steadiness> = all.iter().filter(|one| !one.is_near()).collect();
    10 * off.len() <= all.len() && off.iter().all(|one| one.misses_are_reported())
}

/// A name, and the settings behind it.
type Named = (&'static str, &'static [(&'static str, &'static str)]);

/// What serves, with its settings.
const SERVICES: [Named; 2] = [
    (
        "vLLM v1",
        &[
            ("scheduler.kind", "vllm_v1"),
            ("cost.kind", "roofline"),
            ("workload.adapters.count", "0"),
            ("capacity.ttft_s", "2"),
            ("capacity.tbt_s", "0.1"),
            ("capacity.tpot_s", "100000"),
        ],
    ),
    ("S-LoRA", &[("capacity.ttft_s", "6"), ("capacity.tpot_s", "100000")]),
];

/// What arrives, with its settings.
const TRAFFIC: [Named; 11] = [
    ("even", &[("workload.arrivals.kind", "even")]),
    ("cv 0.05", &[("workload.arrivals.cv", "0.05")]),
    ("cv 0.3", &[("workload.arrivals.cv", "0.3")]),
    ("cv 1", &[]),
    ("cv 2", &[("workload.arrivals.cv", "2")]),
    ("cv 4", &[("workload.arrivals.cv", "4")]),
    ("cv 8", &[("workload.arrivals.cv", "8")]),
    ("modulated", &[("workload.arrivals.kind", "modulated")]),
    ("answers of sigma 1.5", HEAVY),
    ("held sessions", &[("workload.sessions.kind", "held"), ("workload.sessions.turns.mean", "10")]),
    ("timed sessions", &[("workload.sessions.kind", "timed")]),
];

const HEAVY: &[(&str, &str)] = &[
    ("workload.arrivals.cv", "0.5"),
    ("workload.output_tokens.kind", "lognormal"),
    ("workload.output_tokens.median", "100"),
    ("workload.output_tokens.sigma", "1.5"),
    ("workload.output_tokens.high", "1500"),
];

/// Every service with every traffic.
pub fn settings() -> Vec<Setting> {
    let pairs = SERVICES.iter().flat_map(|service| TRAFFIC.iter().map(move |traffic| (service, traffic)));
    let of = |((service, served), (traffic, arriving)): (&Named, &Named)| {
        let mut scenario = Scenario::of_version(4);
        for (path, value) in served.iter().chain(*arriving) {
            scenario.set_text(path, value).expect("the setting is sound");
        }
        Setting { title: format!("{service}, {traffic}"), scenario }
    };
    pairs.map(of).collect()
}

/// Searches a setting.
pub fn check(setting: &Setting, seeds: u32) -> Steadiness {
    let found = |seed: u32, duration_s: &str| {
        let mut scenario = setting.scenario.clone();
        for (path, value) in [("seed", seed.to_string().as_str()), ("workload.duration_s", duration_s)] {
            scenario.set_text(path, value).expect("the setting is sound");
        }
        let mut search = Search::new(&scenario, None).expect("the setting is sound");
        while search.advance(usize::MAX) < 1.0 {}
        search.finish()
    };
    Steadiness {
        title: setting.title.clone(),
        long: found(LONG_SEED, LONG_S),
        short: (1..=seeds).map(|seed| found(seed, SHORT_S)).collect(),
    }
}

/// Every setting on a line.
pub fn table(all: &[Steadiness], extent: SearchExtent) -> String {
    let mut lines = vec![format!(
        "Capacity from {SHORT_S} s, {} seeds, beside that from {LONG_S} s (requests/s; within {:.0} %, or reported as too short)",
        extent.seeds,
        100.0 * APART
    )];
    lines.push(format!(
        "{:<34}{:>10}{:>10}{:>10}{:>8}{:>8}{:>12}",
        "", "long", "lowest", "highest", "within", "reported", "run s"
    ));
    for one in all {
        let rates: Vec<f64> = one.short.iter().map(|short| short.rate_rps.unwrap_or(f64::NAN)).collect();
        let mut runs_s: Vec<f64> = one.short.iter().filter_map(|short| short.run_s).collect();
        sort(&mut runs_s);
        let verdict = match (one.is_near(), one.misses_are_reported()) {
            (true, _) => "ok",
            (false, true) => "reported",
            (false, false) => "OFF",
        };
        lines.push(format!(
            "{:<34}{:>10.4}{:>10.4}{:>10.4}{:>8}{:>8}{:>12.0}  {verdict}",
            one.title,
            one.long.rate_rps.unwrap_or(f64::NAN),
            rates.iter().copied().fold(f64::INFINITY, f64::min),
            rates.iter().copied().fold(0.0, f64::max),
            format!("{}/{}", one.near(), one.short.len()),
            one.too_short(),
            runs_s.get(runs_s.len() / 2).copied().unwrap_or(f64::NAN),
        ));
    }
    lines.join("\n")
}
