//! Fits of real traces: the twin of bursts has the source's index of dispersion at 1, 10 and 60 s, which a single gamma
//! distribution has not; and the distributions of clients that `docs/which-user-distribution.md` describes.
//!
//! The folder is the one that `SERVESCOPE_TRACES` names; any folder with traces will do. Twins are compared as
//! their recorder would have stamped them: a trace in batches of one stamp keeps its stamps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use servescope_workload::fit::{self, ArrivalModel, FitOptions, fit_clients};
use servescope_workload::formats::{self, Contents, TraceFile};
use servescope_workload::{Popularity, Trace};

/// Twins of each model.
const SEEDS: u64 = 10;
/// Windows that must agree, seconds.
const WINDOWS_S: [f64; 3] = [1.0, 10.0, 60.0];
/// Most that a twin's dispersion may be off, as a share of the source's.
const TOLERANCE: f64 = 0.25;
/// Largest file that is fitted here, bytes: twins of six models and ten seeds are drawn from each.
const MOST_BYTES: u64 = 5_000_000;

fn opened(path: &Path) -> Option<TraceFile> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    formats::open(&bytes).ok()
}

fn files() -> Option<Vec<PathBuf>> {
    let root = servescope_tests::named_folder("SERVESCOPE_TRACES")?;
    let traces = |name: &str| [".csv", ".jsonl", ".gz"].iter().any(|end| name.ends_with(end));
    let files = servescope_tests::files(&root, traces);
    let small = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|m| m.len() <= MOST_BYTES);
    Some(files.into_iter().filter(small).collect())
}

/// What twins of one model are like: distances of gaps, and dispersions over the source's, each in ascending order.
struct Twins {
    gaps: Vec<f64>,
    ratios: [Vec<f64>; 3],
}

fn twins(source: &Trace, fitted: &fit::Fit, model: ArrivalModel) -> Twins {
    let mut twins = Twins { gaps: Vec::new(), ratios: [const { Vec::new() }; 3] };
    for seed in 0..SEEDS {
        let apart = fit::compare(source, &fitted.twin(seed, model));
        twins.gaps.push(apart.gap_distance);
        for (ratios, window) in twins.ratios.iter_mut().zip(WINDOWS_S) {
            // A twin too short for the window counts as having no dispersion at all.
            ratios.push(apart.dispersion_ratio(window).unwrap_or(0.0));
        }
        // Two samples of one distribution are further apart once in a hundred thousand times.
        let chance = 2.5 * f64::sqrt(2.0 / source.len() as f64);
        assert!(apart.input_distance.max(apart.output_distance) < chance, "{model:?}, seed {seed}: lengths");
    }
    twins.gaps.sort_by(f64::total_cmp);
    twins.ratios.iter_mut().for_each(|ratios| ratios.sort_by(f64::total_cmp));
    twins
}

fn median(sorted: &[f64]) -> f64 {
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}

fn agrees(ratio: f64) -> bool {
    (ratio - 1.0).abs() <= TOLERANCE
}

#[test]
fn twins_of_bursts_have_the_dispersion_of_their_source_and_a_single_gamma_has_not() {
    let Some(files) = files() else { return };
    let mut off = Vec::new();
    for path in files {
        let Some(Ok(read)) = opened(&path).map(TraceFile::into_trace) else { continue };
        let source = read.trace;
        let fitted = fit::fit(&source, &FitOptions::default());
        let Some(_) = fitted.dispersion.at(60.0) else { continue };
        // A trace replayed in sessions has gaps of its own making; its statistics are not those of arrivals.
        if fitted.sessions.is_some() {
            continue;
        }
        let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        println!("{name}: median of {SEEDS} seeds (least, largest)");
        let mut cases = 0;
        for model in ArrivalModel::ALL {
            let twins = twins(&source, &fitted, model);
            print!("  {:<12} gap distance {:.3}", model.name(), median(&twins.gaps));
            for (ratios, window) in twins.ratios.iter().zip(WINDOWS_S) {
                let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
                print!("  {window} s {:.2} ({least:.2}, {most:.2})", median(ratios));
                if model == ArrivalModel::Bursts && !(agrees(least) && agrees(most)) {
                    off.push(format!("{name}: bursts at {window} s: {least:.3} to {most:.3}"));
                }
                cases += usize::from(model == ArrivalModel::Bursts);
            }
            println!();
            if model == ArrivalModel::Gamma && fitted.findings.iter().any(|n| n.code == "no_single_gamma") {
                let fails = twins.ratios.iter().any(|ratios| !agrees(median(ratios)));
                assert!(
                    fails,
                    "{name}: a single gamma distribution should fail where two ways to fit it disagree"
                );
                cases += 1;
            }
        }
        servescope_tests::report_cases(&path, cases);
    }
    assert!(off.is_empty(), "{}", off.join("\n"));
}

#[test]
fn distributions_of_clients_are_those_of_the_page() {
    let Some(files) = files() else { return };
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/which-user-distribution.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    for path in files {
        let Some(TraceFile { contents: Contents::Windows(windows), .. }) = opened(&path) else { continue };
        let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let fitted = fit_clients(&windows).expect("the file has clients");
        let Some(section) = page
            .split("\n### ")
            .find(|section| section.lines().next().is_some_and(|title| title.contains(&name)))
        else {
            println!("{name}: not on the page");
            continue;
        };
        let rows = fitted.shares.distributions.iter().map(|distribution| (distribution, String::new()));
        let second = format!(", q = {:.2}", fitted.offset);
        let mut cases = 0;
        for (distribution, second) in rows.chain([(&fitted.zipf_mandelbrot, second)]) {
            let parameter = distribution.parameter.map_or("-".to_owned(), |x| format!("{x:.3}"));
            let row = format!(
                "| {} | {parameter}{second} | {:.4} | {:.4} | {:.3} |",
                distribution.distribution,
                distribution.divergence_nats,
                distribution.distance,
                distribution.top_share
            );
            assert!(section.contains(&row), "{name}: the page should have the row\n{row}");
            cases += 1;
        }
        let [half, most, nearly_all] = fitted.shares.labels_for;
        let line = format!(
            "{} clients; the busiest sends {:.3} of all requests; {half}, {most} and {nearly_all} clients send 50, 80 and \
             90 %",
            fitted.names.len(),
            fitted.shares.shares[0]
        );
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat(section).contains(&line), "{name}: the page should say\n{line}");
        let mut days: BTreeMap<&str, usize> = BTreeMap::new();
        fitted.nearest_by_day.iter().for_each(|distribution| *days.entry(distribution).or_default() += 1);
        let days: Vec<String> =
            days.iter().map(|(distribution, days)| format!("{distribution} {days}")).collect();
        let by_day = format!("day by day: {}.", days.join(", "));
        assert!(section.contains(&by_day), "{name}: the page should say\n{by_day}");
        servescope_tests::report_cases(&path, cases + 2);
    }
}

#[test]
fn what_each_distribution_claims_beyond_the_papers_figure_is_as_the_page_says() {
    const CLIENTS: usize = 2412;
    const TOP: usize = 29;
    const SHARE: f64 = 0.9;
    type Make = fn(f64) -> Popularity;
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/which-user-distribution.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    // Bounds at which the distribution is least and most skewed.
    let distributions: [(&str, Make, f64, f64); 4] = [
        ("zipf", |s| Popularity::Zipf { s }, 0.0, 6.0),
        ("lognormal", |sigma| Popularity::Lognormal { sigma }, 0.0, 10.0),
        ("geometric", |decay| Popularity::Geometric { decay }, 0.0, 3.0),
        ("power", |alpha| Popularity::Power { alpha }, 1.0, 0.001),
    ];
    for (name, distribution, mut even, mut skewed) in distributions {
        for _ in 0..60 {
            let middle = f64::midpoint(even, skewed);
            let top: f64 = distribution(middle).shares(CLIENTS)[..TOP].iter().sum();
            if top < SHARE { even = middle } else { skewed = middle }
        }
        let shares = distribution(even).shares(CLIENTS);
        let heard = shares.iter().filter(|&&share| share > 1e-6).count();
        let beyond: f64 = shares[100..].iter().sum();
        let row = format!("| {name} | {even:.3} | {:.3} | {heard} | {beyond:.4} |", shares[0]);
        assert!(page.contains(&row), "the page should have the row\n{row}");
    }
}
