//! Everything that the simulator is held against, as tables.

use servescope_lab::capacity::steadiness::{self, SearchExtent, Steadiness};
use servescope_lab::closed_forms::{self, ClosedForm, ClosedFormCheck};
use servescope_lab::threads::on_threads;

use crate::measured::operators::{self, ErrorQuantiles, Formula, MEASURED};
use crate::measured::splitwise::{self, Predictor, Quantity};
use crate::published::peft::{self, ServerComparison};
use crate::published::policies::{self, PolicyComparison};
use crate::published::sglang::{self, SlotComparison};
use crate::published::single_run::{self, ONE_RUN, OneRunPrediction};
use crate::published::vtc::{MeasuredRecording, VtcComparison};
use crate::published::{self, PublishedComparison};
use crate::thresholds::BoundCheck;

/// How thoroughly closed forms are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Requests of a run.
    pub requests: u32,
    /// Seeds at least: a standard error estimated from few runs is itself uncertain.
    pub least_seeds: u32,
    /// Parts of a closed form's full number of seeds that are run: 1 = all, 10 = a tenth.
    pub seeds_divisor: u32,
}

impl Effort {
    /// Standard errors of at most half a per cent.
    pub const WHOLE: Self = Self { requests: 1_000_000, least_seeds: 32, seeds_divisor: 1 };
    /// Some seconds.
    pub const QUICK: Self = Self { requests: 40_000, least_seeds: 16, seeds_divisor: 8 };

    fn seeds(self, form: &ClosedForm) -> u32 {
        (form.seeds / self.seeds_divisor).max(self.least_seeds)
    }
}

/// Searches the capacity of every setting, on `threads` threads; the result does not depend on how many.
pub fn steadiness(extent: SearchExtent, threads: usize) -> Vec<Steadiness> {
    let settings: Vec<_> = steadiness::settings().into_iter().step_by(extent.every).collect();
    on_threads(settings.len(), threads, |place| steadiness::check(&settings[place], extent.seeds))
}

/// Each closed form has seeds of its own, so that their errors are independent.
const SEEDS_APART: u32 = 1_000;

/// Checks every closed form, on `threads` threads; the result does not depend on how many.
pub fn closed_forms(effort: Effort, threads: usize) -> Vec<ClosedFormCheck> {
    let forms = closed_forms::all();
    // The closed forms with most seeds come last in the list and are begun first.
    let mut checks = on_threads(forms.len(), threads, |taken| {
        let place = forms.len() - 1 - taken;
        let form = &forms[place];
        closed_forms::check(form, SEEDS_APART * place as u32, effort.seeds(form), effort.requests)
    });
    checks.reverse();
    checks
}

/// Simulates every published row.
pub fn published() -> Vec<PublishedComparison> {
    published::on_a10g().map(published::compare).collect()
}

/// The closed forms as a table.
pub fn closed_forms_table(checks: &[ClosedFormCheck]) -> String {
    let mut lines = vec![format!(
        "{:<4}{:<72}{:>10}{:>12}{:>9}{:>8}  ",
        "", "closed form", "value", "measured", "s.e. %", "apart"
    )];
    for c in checks {
        lines.push(format!(
            "{:<4}{:<72}{:>10.4}{:>12.4}{:>9.3}{:>8.2}  {}",
            c.form.id,
            c.form.title,
            c.form.value,
            c.mean,
            100.0 * c.error / c.mean,
            c.errors_apart(),
            verdict(c.is_met())
        ));
    }
    let little = checks.iter().map(|c| c.little_gap).fold(0.0, f64::max);
    lines.push(format!(
        "A18 Little's law on the running set, every run above: largest relative gap {little:.1e}"
    ));
    lines.join("\n")
}

/// What saturated servers serve, as a table.
pub fn thresholds_table(rows: &[BoundCheck]) -> String {
    let mut lines =
        vec![format!("{:<4}{:<44}{:>10}{:>12}{:>9}", "", "saturated", "figure", "measured", "error")];
    for row in rows {
        let threshold = &row.threshold;
        lines.push(format!(
            "{:<4}{:<44}{:>10.3}{:>12.3}{:>+8.1}%  {}",
            threshold.id,
            threshold.title,
            threshold.value,
            row.found,
            100.0 * row.error(),
            verdict(row.is_met())
        ));
    }
    lines.join("\n")
}

/// The published rows as a table.
pub fn published_table(comparisons: &[PublishedComparison]) -> String {
    let mut lines = vec![
        "S-LoRA on an A10G, authors' workloads (seed 42): simulated / recorded".to_owned(),
        format!(
            "{:<7}{:>5}{:>6}{:>5}{:>4}{:>15}{:>8}{:>15}{:>16}{:>15}",
            "sweep", "n", "alpha", "R", "cv", "req/s", "error", "latency s", "first token s", "attainment"
        ),
    ];
    for c in comparisons {
        let row = &c.row;
        let pair = |ours: Option<f64>, theirs: f64, digits: usize| {
            format!("{:.digits$}/{theirs:.digits$}", ours.unwrap_or(f64::NAN))
        };
        lines.push(format!(
            "{:<3}{:<5}{:>4}{:>6}{:>5}{:>4}{:>15}{:>7.1}%{:>15}{:>16}{:>15}  {}",
            row.suite,
            row.sweep,
            row.adapters,
            row.alpha,
            row.rate_rps,
            row.cv,
            pair(c.ours.throughput_rps, row.throughput_rps, 3),
            100.0 * c.throughput_error(),
            pair(c.ours.e2e_s.mean, row.e2e_s, 1),
            pair(c.ours.ttft_s.mean, row.first_token_s, 1),
            pair(c.ours.slo.attainment, row.attainment, 3),
            verdict(c.is_within())
        ));
    }
    lines.join("\n")
}

/// Simulates the recorded runs of S-LoRA's admission policies.
pub fn policies() -> Vec<PolicyComparison> {
    policies::on_a10g().map(policies::compare).collect()
}

/// The policies as a table.
pub fn policies_table(comparisons: &[PolicyComparison]) -> String {
    let mut lines = vec![
        "S-LoRA's policies against burstiness (A10G, 200 adapters, R = 2): simulated / recorded".to_owned(),
        format!("{:<4}{:<13}{:>4}{:>15}{:>8}{:>14}", "", "policy", "cv", "attainment", "error", "rejected"),
    ];
    for c in comparisons {
        let row = &c.row;
        lines.push(format!(
            "{:<4}{:<13}{:>4}{:>9.3}/{:<5.3}{:>+8.3}{:>9}/{:<5}{}",
            row.suite,
            row.policy.name(),
            row.cv,
            c.ours.slo.attainment.unwrap_or(f64::NAN),
            row.attainment,
            c.attainment_error(),
            c.ours.requests.rejected_total,
            row.rejected,
            verdict(c.is_within())
        ));
    }
    let order = verdict(policies::is_in_order(comparisons));
    lines.push(format!("early abort >= LIFO > FCFS at every cv: {order}"));
    lines.join("\n")
}

/// Simulates the paper's rows of S-LoRA and of a server that batches by adapter.
pub fn servers() -> Vec<ServerComparison> {
    peft::recorded().iter().map(peft::compare).collect()
}

/// Those as a table.
pub fn servers_table(comparisons: &[ServerComparison]) -> String {
    let mut lines = vec![
        "S-LoRA beside batches of one adapter (A100-80, Llama-7B, rank 8, R = 10): simulated / published"
            .to_owned(),
        format!("{:<8}{:>6}{:>14}{:>8}", "server", "n", "req/s", "error"),
    ];
    for c in comparisons {
        lines.push(format!(
            "{:<8}{:>6}{:>9.2}/{:<4.2}{:>+7.1}%  {}",
            c.row.server.name(),
            c.row.adapters,
            c.ours.throughput_rps.unwrap_or(f64::NAN),
            c.row.throughput_rps,
            100.0 * c.throughput_error(),
            verdict(c.is_within())
        ));
    }
    lines.push(format!(
        "PEFT's two rows settle {:.1} ms an iteration and {} requests a batch; order as published: {}",
        peft::ITERATION_MS,
        peft::MOST_IN_BATCH,
        verdict(peft::is_in_order(comparisons))
    ));
    lines.join("\n")
}

/// Simulates the measured runs of SGLang with adapters.
pub fn slots() -> Vec<SlotComparison> {
    sglang::recorded().iter().map(sglang::compare).collect()
}

/// Those as a table.
pub fn slots_table(comparisons: &[SlotComparison]) -> String {
    let mut lines = vec![
        format!(
            "SGLang with {} adapter slots (Llama-3.1-8B, TP 2 on H100, R = 4): first token, s; recorded, and here by the rule for \
             a request without a slot",
            sglang::SLOTS
        ),
        format!(
            "{:<9}{:>16}{:>22}{:>12}{:>22}{:>12}",
            "adapters", "recorded median", "passed over: median", "mean", "blocks: median", "mean"
        ),
    ];
    for c in comparisons {
        let [(passed_median, passed_mean), (blocks_median, blocks_mean)] = [&c.passed_over, &c.blocks]
            .map(|ours| (ours.ttft_s.p50.unwrap_or(f64::NAN), ours.ttft_s.mean.unwrap_or(f64::NAN)));
        lines.push(format!(
            "{:<9}{:>16.3}{passed_median:>22.3}{passed_mean:>12.3}{blocks_median:>22.3}{blocks_mean:>12.3}  {}",
            c.row.adapters,
            c.row.first_token_s,
            verdict(c.is_explained())
        ));
    }
    lines.push(format!(
        "ok: within {:.0} % where every adapter has a slot; otherwise recorded between the two rules, as SGLang's lies between: it \
         stops at such a request until one ends",
        100.0 * sglang::BOUND
    ));
    lines.join("\n")
}

/// Every row of S-LoRA's, predicted by the calibration on one run a GPU.
pub fn predictions() -> Vec<OneRunPrediction> {
    let rows = published::recorded().iter().map(single_run::predict);
    rows.chain(policies::recorded().iter().map(single_run::predict_policy)).collect()
}

/// The predictions as a table. The rows that settled the calibration stand among them, and are not counted.
pub fn predictions_table(predictions: &[OneRunPrediction]) -> String {
    let mut lines = vec!["Calibrated on one run a GPU, the rest predicted: simulated / recorded".to_owned()];
    for one in &ONE_RUN {
        let (suite, sweep, n, rate, cv) = one.row;
        lines.push(format!(
            "{}: {:.1} ms of overhead from {}; {:.2} ms of loading a rank from {suite} {sweep} n={n} R={rate} cv={cv}",
            one.title, one.overhead_ms, one.recording, one.load_per_rank_ms
        ));
    }
    let columns = ["throughput", "attainment"];
    lines.push(format!(
        "{:<9}{:<13}{:>4}{:>6}{:>5}{:>4}{:>13}{:>8}{:>14}{:>8}",
        "sweep", "policy", "n", "alpha", "R", "cv", columns[0], "error", columns[1], "error"
    ));
    for p in predictions {
        let row = &p.row;
        let (throughput, error) = p.throughput_error().map_or_else(Default::default, |error| {
            let ours = p.ours.throughput_rps.unwrap_or(f64::NAN);
            (format!("{ours:.3}/{:.3}", row.throughput_rps), format!("{:+.1}%", 100.0 * error))
        });
        let verdict = if p.is_settling() { "settles it" } else { verdict(p.is_within()) };
        lines.push(format!(
            "{:<3}{:<6}{:<13}{:>4}{:>6}{:>5}{:>4}{throughput:>13}{error:>8}{:>8.3}/{:.3}{:>+8.3}  {verdict}",
            row.suite,
            row.sweep,
            p.policy.name(),
            row.adapters,
            row.alpha,
            row.rate_rps,
            row.cv,
            p.ours.slo.attainment.unwrap_or(f64::NAN),
            row.attainment,
            p.attainment_error(),
        ));
    }
    let counted = || predictions.iter().filter(|p| !p.is_settling());
    let within = counted().filter(|p| p.is_within()).count();
    lines.push(format!(
        "{within} of {} predictions within {:.0} % of throughput and {:.2} of attainment; early abort >= LIFO > FCFS at every cv: {}",
        counted().count(),
        100.0 * single_run::THROUGHPUT_BOUND,
        single_run::ATTAINMENT_BOUND,
        verdict(single_run::is_in_order(predictions))
    ));
    lines.join("\n")
}

/// Recorded runs of VTC's artifact as a table.
pub fn vtc_table(comparisons: &[VtcComparison]) -> String {
    let mut lines = vec![
        "VTC's recorded runs (A10G, Llama-7B, pool 10,000; sec6.4: A100-80, Llama-13B): simulated / recorded"
            .to_owned(),
        format!(
            "{:<24}{:<24}{:>11}{:>8}{:>12}{:>16}{:>8}{:>9}{:>16}{:>16}{:>9}  {}",
            "scheduler",
            "workload",
            "tokens/s",
            "error",
            "rejected",
            "service gap",
            "bound",
            "of FCFS",
            "table max",
            "table mean",
            "ordered",
            "first token of the first four clients, s"
        ),
    ];
    lines.extend(comparisons.iter().map(vtc_line));
    let predicted = || comparisons.iter().filter(|c| !c.is_settling && !c.is_beyond_the_profile());
    let within = predicted().filter(|c| c.is_within()).count();
    lines.push(format!("{within} of {} predictions within all bounds", predicted().count()));
    lines.join("\n")
}

fn vtc_line(c: &VtcComparison) -> String {
    let (ours, theirs) = (&c.ours, &c.recorded);
    let mean = |m: &MeasuredRecording| {
        let few = m.first_token_s.iter().take(4).flatten();
        few.map(|t| format!("{t:.0}")).collect::<Vec<_>>().join(" ")
    };
    let pair = |a: f64, b: f64, digits: usize| format!("{a:.digits$}/{b:.digits$}");
    let tokens = pair(ours.tokens_per_s, theirs.tokens_per_s, 0);
    let rejected = format!("{}/{}", ours.rejected, theirs.rejected);
    let gap = pair(ours.service_gap, theirs.service_gap, 0);
    let bound = c.gap_bound.map_or_else(|| "-".to_owned(), |bound| format!("{bound:.0}"));
    let share = 100.0 * ours.service_gap / c.fcfs_gap;
    let (largest, usual) =
        (pair(ours.table_gap.0, theirs.table_gap.0, 1), pair(ours.table_gap.1, theirs.table_gap.1, 1));
    let (right, all) = c.ordered_pairs();
    let first = format!("{}/{}", mean(ours), mean(theirs));
    let note = match c.server.largest_measured_batch {
        Some(most) if c.is_beyond_the_profile() => {
            format!("not predicted: batches of {}, the profile knows {most}", c.largest_batch)
        }
        _ if c.is_settling => "settles the overhead".to_owned(),
        _ => verdict(c.is_within()).to_owned(),
    };
    format!(
        "{:<24}{:<24}{tokens:>11}{:>+7.1}%{rejected:>12}{gap:>16}{bound:>8}{share:>8.1}%{largest:>16}{usual:>16}{:>9}  {first:<34}{note}",
        c.scheduler,
        c.workload,
        100.0 * c.tokens_error(),
        format!("{right}/{all}"),
    )
}

/// The roofline against measured operators as a table: what its corrections were fitted on, models that they were not fitted
/// on, and other GPUs.
pub fn operators_table() -> String {
    let samples = operators::samples();
    let mut lines = vec![
        "Roofline against measured operators (Vidur's profiles): error, median and P95 in %".to_owned(),
        format!("{:<24}{:>20}{:>20}{:>20}", "fitted on all", "a100_80_sxm", "h100_sxm", "a40"),
    ];
    let both = |e: &ErrorQuantiles| {
        if e.count == 0 {
            "not measured".to_owned()
        } else {
            format!("{:.1} {:>5.1} ({})", 100.0 * e.median, 100.0 * e.p95, e.count)
        }
    };
    for (formula, name) in Formula::ALL {
        let cells = MEASURED.map(|gpu| both(&operators::fitted_errors(&samples, gpu, formula)));
        lines.push(format!("{name:<24}{:>20}{:>20}{:>20}", cells[0], cells[1], cells[2]));
    }
    lines.push(format!("{:<38}{:>18}{:>18}{:>18}", "held out", "products", "pointwise", "whole layer"));
    let row = |name: String, [products, pointwise, layer]: [&ErrorQuantiles; 3]| {
        let short = |e: &ErrorQuantiles| format!("{:.1} {:>5.1}", 100.0 * e.median, 100.0 * e.p95);
        format!("{name:<38}{:>18}{:>18}{:>18}", short(products), short(pointwise), short(layer))
    };
    for h in operators::held_out(&samples) {
        let name = format!("{} {}, {} pairs", h.gpu, h.model, h.fits);
        lines.push(row(name, [&h.products, &h.pointwise, &h.layer]));
    }
    for (gpu, [products, pointwise, layer]) in operators::across_gpus(&samples) {
        lines.push(row(format!("{gpu} by what an A100 reaches"), [&products, &pointwise, &layer]));
    }
    lines.join("\n")
}

/// The roofline against Splitwise's medians as a table.
pub fn splitwise_table() -> String {
    let points = splitwise::points();
    let launch = |gpu| splitwise::launch_per_layer_us(&points, gpu);
    let mut lines = vec![
        "Roofline against Splitwise's medians: median error, median size and largest size in %".to_owned(),
        format!(
            "launching a layer, from Llama-2-70B TP 8 batch 1: A100 {:.0} us, H100 {:.0} us",
            launch("a100_80_sxm"),
            launch("h100_sxm")
        ),
    ];
    let mut settings: Vec<_> = points.iter().map(|p| p.deployment).collect();
    settings.dedup();
    for (what, name) in Quantity::ALL {
        let ways = Predictor::ALL.map(|(_, way)| format!("{way:>20}")).concat();
        lines.push(format!("{name:<32}{:>6}{ways}", "points"));
        let line = |title: String, wanted: &dyn Fn(&splitwise::MeasuredPoint) -> bool| {
            let offs = Predictor::ALL.map(|(way, _)| splitwise::errors_of(&points, what, way, wanted));
            let cell = |off: &splitwise::ErrorStats| {
                let percent = [off.signed, off.size, off.most].map(|x| 100.0 * x);
                if off.count == 0 {
                    "-".to_owned()
                } else {
                    format!("{:+.0} {:>4.0} {:>4.0}", percent[0], percent[1], percent[2])
                }
            };
            let cells = offs.map(|off| format!("{:>20}", cell(&off))).concat();
            format!("{title:<32}{:>6}{cells}", offs[0].count)
        };
        for setting in &settings {
            let title = format!("{} {} TP {}", setting.gpu.id, setting.model.id, setting.tensor_parallel);
            lines.push(line(title, &|p| p.deployment == *setting));
        }
        lines.push(line("all".to_owned(), &|_| true));
    }
    lines.join("\n")
}

fn verdict(good: bool) -> &'static str {
    if good { "ok" } else { "OFF" }
}
