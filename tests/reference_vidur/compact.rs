//! Compact profiles against Vidur's operator tables, and end to end over every run.
//!
//! A profile is fitted to the operator tables, and one to the raw medians of the run's GPU and model where the folder
//! `SERVESCOPE_PROFILING` names has them with attention.

use servescope_cost::memory_plan::vidur::MODELS;
use servescope_cost::profile::{CompactTables, OperatorError, Origin, Profile, RawTables};
use servescope_cost::{Batch, BatchCost, StageTime};
use servescope_engine::metrics::summary::SummaryContext;
use servescope_engine::metrics::token_gaps::InterTokenLatencies;
use servescope_engine::metrics::{Slo, Summary, summarise};
use servescope_engine::{Fleet, Report};
use servescope_lab::profiles::{self, Fitted, OnDisk};

use super::{Case, Setup, cases};

fn summary(report: &Report) -> Summary {
    let context = SummaryContext {
        slo: Slo { ttft_s: 1.0, tpot_s: 1.0, tbt_s: 1.0 },
        rate_rps: None,
        flops: None,
        table_rows: 0,
    };
    summarise(report, &InterTokenLatencies::of(&report.timeline), &context)
}

/// The same hardware, this many times slower: what 1 % does to TTFT is what an error of 1 % does.
#[derive(Debug)]
struct Slower<C>(C, f64);

impl<C: BatchCost> BatchCost for Slower<C> {
    fn stages(&self) -> u32 {
        self.0.stages()
    }

    fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime {
        let time = self.0.stage_time(batch, is_last);
        StageTime { first_us: self.1 * time.first_us, growth_us: self.1 * time.growth_us, ..time }
    }
}

/// The operator tables of a run, as raw tables.
fn look_ups(setup: &Setup) -> RawTables {
    let name = |key: &str| setup.meta[key].as_str().expect("meta.json names GPU and model");
    let (gpu, model) = (name("device"), name("model"));
    let shape = MODELS.iter().find(|m| m.0 == model).expect("a model of Vidur's").1;
    let [token_ops, decode, prefill] = &setup.texts;
    let degree = setup.cost.settings().tensor_parallel;
    RawTables::of_look_ups([gpu, model], shape, degree, [token_ops, decode, prefill])
        .unwrap_or_else(|e| panic!("{gpu} {model}: {e}"))
}

/// Profiles fitted to the raw folder, where it is there.
fn fitted() -> Vec<Fitted> {
    let Some(path) = servescope_tests::named_folder("SERVESCOPE_PROFILING") else { return Vec::new() };
    profiles::build(&OnDisk(&path)).unwrap_or_else(|e| panic!("{e}"))
}

/// The profile fitted to the raw medians, where they hold this degree with its attention.
fn of_raw<'a>(fitted: &'a [Fitted], look_ups: &RawTables) -> Option<&'a Profile> {
    let degree = look_ups.degrees[0].degree;
    let has_attention =
        |p: &Profile| p.degree(degree).is_some_and(|d| d.attention.origin != Origin::Modelled);
    let same = |f: &&Fitted| f.raw.gpu == look_ups.gpu && f.raw.model == look_ups.model;
    fitted.iter().find(same).map(|f| &f.profile).filter(|p| has_attention(p))
}

fn tell_errors(profile: &Profile, look_ups: &RawTables, source: &str) {
    let degree = look_ups.degrees[0].degree;
    let is_ours = |e: &OperatorError| e.points > 0 && [0, degree].contains(&e.degree);
    let errors: Vec<_> = profile.errors(look_ups).into_iter().filter(is_ours).collect();
    let (gpu, model) = (&look_ups.gpu, &look_ups.model);
    println!(
        "{gpu} {model}, fitted to {source}, against operator tables:\n{}",
        profiles::errors_table(&errors)
    );
}

#[test]
fn compact_tables_give_the_same_picture() {
    let fitted = fitted();
    let mut told = Vec::new();
    for case in cases() {
        let Some(setup) = case.setup() else { continue };
        let name = case.name();
        let look_ups = look_ups(&setup);
        let (from_tables, _) = Profile::fit(&look_ups).unwrap_or_else(|e| panic!("{name}: {e}"));
        let from_raw = of_raw(&fitted, &look_ups);
        let of_tables = [(&from_tables, "operator tables")];
        let profiles: Vec<_> = of_tables.into_iter().chain(from_raw.map(|p| (p, "raw medians"))).collect();
        let seen = (look_ups.gpu.clone(), look_ups.model.clone(), look_ups.degrees[0].degree);
        if !told.contains(&seen) {
            profiles.iter().for_each(|(profile, source)| tell_errors(profile, &look_ups, source));
            told.push(seen);
        }
        let report = setup.run();
        let exact = summary(&report);
        for (profile, source) in profiles {
            let compact = profile
                .tables(*setup.cost.settings())
                .unwrap_or_else(|e| panic!("{name}: {e}"))
                .with_roundings();
            let off = iteration_error(&setup, &report, &compact);
            println!("{name} from {source}: its iterations are off by {:+.2} % together", 100.0 * off);
            assert!(off.abs() < 0.01, "{name} from {source}: {off}");
            compare(&case, &setup, &exact, (compact, source));
        }
    }
}

/// How far compact tables are off over all the iterations of a run together.
fn iteration_error(setup: &Setup, report: &Report, compact: &CompactTables) -> f64 {
    let iterations = &report.timeline.iterations;
    let (mut theirs, mut ours) = (0.0, 0.0);
    for run in iterations {
        let chunks = iterations.chunks(&run);
        for k in 0..run.iterations {
            let batch = run.batch(&chunks, k.into());
            for is_last in [true, false].into_iter().take(setup.cost.stages().min(2) as usize) {
                theirs += setup.cost.stage_time(&batch, is_last).first_us;
                ours += compact.stage_time(&batch, is_last).first_us;
            }
        }
    }
    ours / theirs - 1.0
}

fn off(ours: Option<f64>, theirs: Option<f64>) -> f64 {
    ours.zip(theirs).map_or(0.0, |(a, b)| a / b - 1.0)
}

/// What mean times may be off by, and from where on a run's own jitter makes more of it.
const MEANS: f64 = 0.03;
const JITTER: f64 = 0.01;

/// Runs a case with compact tables and holds the picture against the exact one.
///
/// A router that looks at lines sends requests elsewhere after any change of an iteration's time, and where lengths have
/// heavy tails the means jump: then one run says little, of the exact tables as well. There the means of several are held
/// against each other, at times that are the same shares longer and shorter.
fn compare(case: &Case, setup: &Setup, exact: &Summary, (compact, source): (CompactTables, &str)) {
    let name = format!("{} from {source}", case.name());
    let run =
        |cost: Box<dyn BatchCost>| summary(&Fleet::new(setup.trace.clone(), setup.run.fleet, cost).run());
    let (ours, slower) = (run(Box::new(compact.clone())), run(Box::new(Slower(compact.clone(), 1.01))));
    let tbt = off(ours.tbt_s.mean, exact.tbt_s.mean);
    let tail = off(ours.tbt_s.p99, exact.tbt_s.p99);
    let e2e = off(ours.e2e_s.mean, exact.e2e_s.mean);
    let ttft = off(ours.ttft_s.mean, exact.ttft_s.mean);
    let load = case.config["offered_load_of_capacity"].as_f64().unwrap_or(1.0);
    let sensitivity = off(slower.ttft_s.mean, ours.ttft_s.mean);
    let tbt_sensitivity = off(slower.tbt_s.mean, ours.tbt_s.mean);
    println!(
        "{name}: load {load}: mean TBT {:+.2} %, P99 TBT {:+.2} %, mean E2E {:+.2} %, mean TTFT {:+.2} % (1 % of \
         iteration time moves mean TTFT by {:+.2} %, mean TBT by {:+.2} %)",
        100.0 * tbt,
        100.0 * tail,
        100.0 * e2e,
        100.0 * ttft,
        100.0 * sensitivity,
        100.0 * tbt_sensitivity
    );
    if tbt.abs() >= MEANS || e2e.abs() >= MEANS {
        let exact = Neighbours::of(|times| run(Box::new(Slower(setup.cost.clone(), times))));
        let ours = Neighbours::of(|times| run(Box::new(Slower(compact.clone(), times))));
        let [tbt, e2e] = [0, 1].map(|i| ours.mean(i) / exact.mean(i) - 1.0);
        println!(
            "{name}: with the exact tables, 1 % of iteration time and less makes the mean TBT jump by {:.2} %; over such \
             runs mean TBT {:+.2} %, mean E2E {:+.2} %",
            100.0 * exact.jitter(),
            100.0 * tbt,
            100.0 * e2e
        );
        assert!(exact.jitter() > JITTER, "{name}: one run is not within {MEANS}, and does not jump");
        assert!(tbt.abs() < MEANS && e2e.abs() < MEANS, "{name}: mean TBT {tbt}, mean E2E {e2e}");
    }
    assert!(tail.abs() < 0.08, "{name}: P99 TBT {tail}");
    assert!(load > 0.8 || ttft.abs() < 0.05, "{name}: mean TTFT {ttft}");
}

/// Runs with iteration times up to 1 % shorter and longer: (how many times as long, mean TBT and mean E2E).
struct Neighbours(Vec<(f64, [f64; 2])>);

impl Neighbours {
    fn of(run: impl Fn(f64) -> Summary) -> Self {
        let times = (-5..=5).map(|step| 1.0 + 0.002 * f64::from(step));
        let means = |s: Summary| [s.tbt_s.mean, s.e2e_s.mean].map(|mean| mean.unwrap_or(0.0));
        Self(times.map(|times| (times, means(run(times)))).collect())
    }

    fn mean(&self, which: usize) -> f64 {
        self.0.iter().map(|(_, means)| means[which]).sum::<f64>() / self.0.len() as f64
    }

    /// How far the mean TBT lies from a straight line through all: its standard deviation over the mean.
    fn jitter(&self) -> f64 {
        let mean = self.mean(0);
        let slope = self.0.iter().map(|(x, y)| (x - 1.0) * (y[0] - mean)).sum::<f64>()
            / self.0.iter().map(|(x, _)| (x - 1.0) * (x - 1.0)).sum::<f64>();
        let off = |(x, y): &(f64, [f64; 2])| y[0] - mean - slope * (x - 1.0);
        let squares: f64 = self.0.iter().map(|run| off(run) * off(run)).sum();
        (squares / (self.0.len() - 2) as f64).sqrt() / mean
    }
}
