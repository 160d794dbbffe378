//! Compact profiles against Vidur's operator tables, and end to end over every run.
//!
//! A profile is fitted to the operator tables, and one to the raw medians of the run's GPU and model where the folder
//! `SERVESCOPE_PROFILING` names has them with attention. Measured times of messages scatter, and a profile of raw medians
//! smooths them, where Vidur's forests keep some of the scatter: an all-reduce of 8 tokens takes it half as long again as one
//! of 16. So the profile of raw medians is held against the operator tables with their messages smoothed in the same way.

use servescope_cost::memory_plan::vidur::MODELS;
use servescope_cost::profile::{
    By, CompactTables, LayerSettings, OperatorError, Profile, RawTables, TimedOrigin,
};
use servescope_cost::{Batch, BatchCost, StageTime};
use servescope_engine::metrics::summary::SummaryContext;
use servescope_engine::metrics::token_gaps::InterTokenLatencies;
use servescope_engine::metrics::{Slo, Summary, summarise};
use servescope_engine::{Fleet, Report};
use servescope_settings::profiles::{self, Fitted, OnDisk};

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
        |p: &Profile| p.degree(degree).is_some_and(|d| d.attention.origin != TimedOrigin::Modelled);
    let same = |f: &&Fitted| f.raw.gpu == look_ups.gpu && f.raw.model == look_ups.model;
    fitted.iter().find(same).map(|f| &f.profile).filter(|p| has_attention(p))
}

/// The compact tables of operator tables whose messages are smoothed as measured ones are.
fn with_smooth_messages(mut look_ups: RawTables, settings: LayerSettings) -> CompactTables {
    let lines = look_ups.degrees.iter_mut().flat_map(|degree| &mut degree.lines).chain(&mut look_ups.lines);
    lines.filter(|line| line.operator.by == By::Bytes).for_each(|line| line.origin = TimedOrigin::Measured);
    let (profile, _) = Profile::fit(&look_ups).expect("the same with other origins");
    profile.tables(settings).expect("the degree of the tables").with_roundings()
}

fn report_errors(profile: &Profile, look_ups: &RawTables, source: &str) {
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
    let mut reported = Vec::new();
    for case in cases() {
        let Some(setup) = case.setup() else { continue };
        let name = case.name();
        let look_ups = look_ups(&setup);
        let (from_tables, _) = Profile::fit(&look_ups).unwrap_or_else(|e| panic!("{name}: {e}"));
        let from_raw = of_raw(&fitted, &look_ups);
        let of_tables = [(&from_tables, "operator tables")];
        let profiles: Vec<_> = of_tables.into_iter().chain(from_raw.map(|p| (p, "raw medians"))).collect();
        let seen = (look_ups.gpu.clone(), look_ups.model.clone(), look_ups.degrees[0].degree);
        if !reported.contains(&seen) {
            profiles.iter().for_each(|(profile, source)| report_errors(profile, &look_ups, source));
            reported.push(seen);
        }
        let settings = *setup.cost.settings();
        let compact = |profile: &Profile| {
            profile.tables(settings).unwrap_or_else(|e| panic!("{name}: {e}")).with_roundings()
        };
        hold(&case, &setup, &setup.operators, (compact(&from_tables), "operator tables"));
        if let Some(profile) = from_raw {
            let smooth = with_smooth_messages(look_ups, settings);
            hold(&case, &setup, &smooth, (compact(profile), "raw medians"));
        }
    }
}

/// Runs a case with exact times, and holds the times of compact tables and the picture that they give against it.
fn hold<C: BatchCost + Clone + 'static>(
    case: &Case,
    setup: &Setup,
    exact: &C,
    (compact, source): (CompactTables, &str),
) {
    let name = case.name();
    let report = setup.run.begin(setup.trace.clone(), exact.clone()).run();
    let off = iteration_error(&report, exact, &compact);
    println!("{name} from {source}: its iterations are off by {:+.2} % together", 100.0 * off);
    assert!(off.abs() < 0.01, "{name} from {source}: {off}");
    compare(case, setup, (exact, &summary(&report)), (compact, source));
}

/// How far compact tables are off over all the iterations of a run together.
fn iteration_error(report: &Report, exact: &impl BatchCost, compact: &CompactTables) -> f64 {
    let iterations = &report.timeline.iterations;
    let (mut theirs, mut ours) = (0.0, 0.0);
    for run in iterations {
        let chunks = iterations.chunks(run);
        for k in 0..run.iterations {
            let batch = run.batch(chunks, k.into());
            for is_last in [true, false].into_iter().take(exact.stages().min(2) as usize) {
                theirs += exact.stage_time(&batch, is_last).first_us;
                ours += compact.stage_time(&batch, is_last).first_us;
            }
        }
    }
    ours / theirs - 1.0
}

/// What a figure may be off by.
const FIGURES: [(&str, f64); 4] =
    [("mean TBT", 0.03), ("mean E2E", 0.03), ("mean TTFT", 0.05), ("P99 TBT", 0.08)];
/// Above this load a mean TTFT says little.
const HEAVY_LOAD: f64 = 0.8;

fn figures(summary: &Summary) -> [f64; FIGURES.len()] {
    let Summary { tbt_s, e2e_s, ttft_s, .. } = summary;
    [tbt_s.mean, e2e_s.mean, ttft_s.mean, tbt_s.p99].map(|figure| figure.unwrap_or(0.0))
}

/// How far `ours` is off, as a share.
fn off(ours: f64, theirs: f64) -> f64 {
    if theirs > 0.0 { ours / theirs - 1.0 } else { 0.0 }
}

/// Runs a case with compact tables and holds the picture against the exact one.
///
/// A router that looks at lines sends requests elsewhere after any change of an iteration's time; where lengths have heavy
/// tails, or a request just misses a batch, means jump; and where iterations with prompts are a hundredth of all, a P99 is at a
/// cliff. Then one run says little, of the exact tables as well. There the means of several are held against each other, at
/// times that are the same shares longer and shorter.
fn compare<C: BatchCost + Clone + 'static>(
    case: &Case,
    setup: &Setup,
    (exact_cost, exact): (&C, &Summary),
    (compact, source): (CompactTables, &str),
) {
    let name = format!("{} from {source}", case.name());
    let run = |cost: Box<dyn BatchCost>| {
        figures(&summary(&Fleet::of_pool(setup.trace.clone(), setup.run.pool, cost).run()))
    };
    let exact = figures(exact);
    let (ours, slower) = (run(Box::new(compact.clone())), run(Box::new(Slower(compact.clone(), 1.01))));
    let load = case.config["offered_load_of_capacity"].as_f64().unwrap_or(1.0);
    let mut neighbours = None;
    for (i, (figure, bound)) in FIGURES.into_iter().enumerate() {
        let error = off(ours[i], exact[i]);
        let sensitivity = off(slower[i], ours[i]);
        println!(
            "{name}: load {load}: {figure} {:+.2} % (1 % of iteration time moves it by {:+.2} %)",
            100.0 * error,
            100.0 * sensitivity
        );
        // Iteration times may be off by 1 %, which near saturation moves a figure by more.
        let bound = bound.max(1.5 * sensitivity.abs());
        if error.abs() < bound || figure == "mean TTFT" && load > HEAVY_LOAD {
            continue;
        }
        let (exact, ours) = neighbours.get_or_insert_with(|| {
            let exact = around(|times| run(Box::new(Slower(exact_cost.clone(), times))));
            (exact, around(|times| run(Box::new(Slower(compact.clone(), times)))))
        });
        let error = off(ours[i], exact[i]);
        println!(
            "{name}: over runs of up to 1 % shorter and longer times {figure} is off by {:+.2} %",
            100.0 * error
        );
        assert!(error.abs() < bound, "{name}: {figure} {error}");
    }
}

/// Figures of runs with iteration times up to 1 % shorter and longer: their means.
fn around(run: impl Fn(f64) -> [f64; FIGURES.len()]) -> [f64; FIGURES.len()] {
    let runs: Vec<_> = (-5..=5).map(|step| run(1.0 + 0.002 * f64::from(step))).collect();
    std::array::from_fn(|i| runs.iter().map(|figures| figures[i]).sum::<f64>() / runs.len() as f64)
}
