//! Closed forms of queueing theory, and runs that they hold for exactly.
//!
//! Each closed form is checked through the same interface that a page or a terminal uses: a scenario, a run, its report. The mean
//! over independent seeds must lie within three of its standard errors of the closed form.

use servescope_engine::Report;
use servescope_engine::timeline::IterationRun;
use servescope_settings::parameters::{Id, Value};
use servescope_settings::scenario::Scenario;

use crate::run::Run;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClosedFormMeasure {
    /// Mean time in the waiting queue, seconds.
    Wait,
    /// Mean end-to-end time, seconds.
    EndToEnd,
    /// Share of the requests that were rejected or timed out.
    Lost,
}

/// A closed form and the scenario in which it holds.
#[derive(Debug, Clone)]
pub struct ClosedForm {
    /// Short name.
    pub id: &'static str,
    /// What it says.
    pub title: String,
    /// The run, but for seed and duration.
    pub scenario: Scenario,
    /// What is measured.
    pub measure: ClosedFormMeasure,
    /// The closed form's value, in the measure's unit.
    pub value: f64,
    /// Half an iteration, which a request that finds others running waits for the next one; 0 where there is no such wait.
    pub join_delay: f64,
    /// Seeds by a million requests that bring the standard error below half a per cent.
    pub seeds: u32,
}

/// A closed form beside what was measured.
#[derive(Debug, Clone)]
pub struct ClosedFormCheck {
    /// The closed form.
    pub form: ClosedForm,
    /// Mean over seeds.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
    /// Largest relative gap between the number in the system by the timeline and by Little's law, over the seeds.
    pub little_gap: f64,
}

impl ClosedFormCheck {
    /// Distance from the closed form in standard errors; from the closed form with the join delay where that is nearer.
    pub fn errors_apart(&self) -> f64 {
        let apart = |target: f64| (self.mean - target).abs() / self.error;
        apart(self.form.value).min(apart(self.form.value + self.form.join_delay))
    }

    /// Whether closed form and measurement agree.
    pub fn is_met(&self) -> bool {
        self.errors_apart() <= 3.0 && self.little_gap < 1e-6
    }
}

/// The server of the closed forms before a form says anything of it.
pub(crate) fn open_server() -> Scenario {
    scenario(&[])
}

fn scenario(settings: &[(Id, Value)]) -> Scenario {
    let mut scenario = Scenario::of_version(4);
    let open = [
        (Id::Calibration, Value::Choice("unit")),
        (Id::Adapters, Value::Number(0.0)),
        (Id::Users, Value::Number(1.0)),
        (Id::DecodeSteps, Value::Number(0.0)),
        (Id::IdlePoll, Value::Number(0.0)),
        (Id::MaxTotalTokens, Value::Number(1e8)),
        (Id::BatchMaxTokens, Value::Number(1e8)),
        (Id::MaxRequestTokens, Value::Number(1e8)),
        (Id::MaxInputTokens, Value::Number(1e8)),
        (Id::MaxRunning, Value::Number(1e6)),
        (Id::InputKind, Value::Choice("fixed")),
        (Id::InputValue, Value::Number(1.0)),
    ];
    for (id, value) in open.into_iter().chain(settings.iter().cloned()) {
        scenario.set(id, value).expect("the settings of a closed form are within bounds");
    }
    scenario
}

/// Mean service time of the single-server closed forms, seconds, and mean answer in tokens.
const SERVICE_S: f64 = 1.0;
const ANSWER_TOKENS: f64 = 1000.0;
/// Arrival rate times mean service time of the closed forms that have one server.
pub const LOAD: f64 = 0.8;

/// One request at a time: a prefill as long as a decode iteration makes the service time exactly tokens x iteration.
fn single_server(
    id: &'static str,
    title: &str,
    cv: f64,
    output: &[(Id, Value)],
    mean_tokens: f64,
    value: f64,
    seeds: u32,
) -> ClosedForm {
    let iteration_ms = SERVICE_S * 1e3 / mean_tokens;
    let mut settings = vec![
        (Id::MaxRunning, Value::Number(1.0)),
        (Id::DecodeBase, Value::Number(iteration_ms)),
        (Id::PrefillBase, Value::Number(iteration_ms)),
        (Id::Rate, Value::Number(LOAD / SERVICE_S)),
        (Id::Cv, Value::Number(cv)),
    ];
    settings.extend(output.iter().cloned());
    ClosedForm {
        id,
        title: title.to_owned(),
        scenario: scenario(&settings),
        measure: ClosedFormMeasure::Wait,
        value,
        join_delay: 0.0,
        seeds,
    }
}

/// Decoding without a cap: an iteration takes a + b x batch, the answer is `tokens` iterations after a free first token.
fn processor_sharing(
    id: &'static str,
    title: String,
    (a_ms, b_ms): (f64, f64),
    rate: f64,
    output: &[(Id, Value)],
    seeds: u32,
) -> ClosedForm {
    let tokens = 200.0;
    let (a, b) = (a_ms / 1e3, b_ms / 1e3);
    let value = tokens * (a + b) / (1.0 - rate * tokens * b);
    let mean_batch = rate * value;
    let mut settings = vec![
        (Id::DecodeBase, Value::Number(a_ms)),
        (Id::DecodePerRequest, Value::Number(b_ms)),
        (Id::Rate, Value::Number(rate)),
    ];
    settings.extend(output.iter().cloned());
    ClosedForm {
        id,
        title,
        scenario: scenario(&settings),
        measure: ClosedFormMeasure::EndToEnd,
        value,
        join_delay: 0.5 * (a + b * mean_batch),
        seeds,
    }
}

/// Every closed form that is checked, each with the numbers of its classical form.
pub fn all() -> Vec<ClosedForm> {
    let geometric =
        |mean: f64| vec![(Id::OutputKind, Value::Choice("geometric")), (Id::OutputMean, Value::Number(mean))];
    let fixed = |tokens: f64| {
        vec![(Id::OutputKind, Value::Choice("fixed")), (Id::OutputValue, Value::Number(tokens))]
    };
    let uniform = vec![
        (Id::OutputKind, Value::Choice("uniform")),
        (Id::OutputLow, Value::Number(8.0)),
        (Id::OutputHigh, Value::Number(512.0)),
    ];
    let (uniform_mean, uniform_square) = {
        let n = 505.0;
        let variance = (n * n - 1.0) / 12.0;
        (260.0, variance + 260.0 * 260.0)
    };
    // Pollaczek-Khinchine: Wq = lambda E[S^2] / (2 (1 - rho)), with S in units of its mean.
    let pollaczek = |square: f64| LOAD * square / (2.0 * (1.0 - LOAD));
    let mut forms = vec![
        single_server(
            "A1",
            "M/M/1, rho 0.8: mean wait",
            1.0,
            &geometric(ANSWER_TOKENS),
            ANSWER_TOKENS,
            pollaczek(2.0 - 1.0 / ANSWER_TOKENS),
            8,
        ),
        single_server(
            "A2",
            "M/D/1, rho 0.8: mean wait",
            1.0,
            &fixed(ANSWER_TOKENS),
            ANSWER_TOKENS,
            pollaczek(1.0),
            6,
        ),
        single_server(
            "A3",
            "M/G/1, uniform lengths 8..512, rho 0.8: mean wait",
            1.0,
            &uniform,
            uniform_mean,
            pollaczek(uniform_square / (uniform_mean * uniform_mean)),
            6,
        ),
    ];
    let infinite = |name: &str, output: &[(Id, Value)]| {
        processor_sharing(
            "A5",
            format!("M/G/inf, 200 iterations of 20 ms, {name} lengths: mean E2E"),
            (20.0, 0.0),
            5.0,
            output,
            2,
        )
    };
    forms.push(infinite("geometric", &geometric(201.0)));
    forms.push(infinite("constant", &fixed(201.0)));
    for (cv, seeds) in [(0.5, 4), (1.0, 8), (2.0, 16), (4.0, 48), (8.0, 176)] {
        forms.push(single_server(
            "A6",
            &format!("GI/M/1, gamma gaps of cv {cv}, rho 0.8: mean wait"),
            cv,
            &geometric(ANSWER_TOKENS),
            ANSWER_TOKENS,
            gamma_over_exponential(cv, LOAD),
            seeds,
        ));
    }
    for (rate, seeds) in [(8.0, 1), (14.0, 2), (17.0, 6)] {
        for (name, output) in [("geometric", geometric(201.0)), ("constant", fixed(201.0))] {
            let title = format!("batching as processor sharing, {rate} req/s, {name} lengths: mean E2E");
            forms.push(processor_sharing("A9", title, (12.0, 0.25), rate, &output, seeds));
        }
    }
    for (name, output) in [("geometric", geometric(LOSS_TOKENS)), ("constant", fixed(LOSS_TOKENS))] {
        forms.push(erlang_b(name, 10, 8.0, &output));
    }
    for (load, patience_s) in [(0.8, 2.0), (1.2, 2.0), (0.95, 5.0)] {
        forms.push(impatient(load, patience_s, &geometric(LOSS_TOKENS)));
    }
    for (servers, load, seeds) in [(4, 0.8, 8), (16, 0.9, 16)] {
        forms.push(several_servers(servers, load, seeds, &geometric(LOSS_TOKENS)));
    }
    forms
}

/// This many requests at a time, each in iterations whose length does not depend on the batch.
fn several_servers(servers: u32, load: f64, seeds: u32, output: &[(Id, Value)]) -> ClosedForm {
    let offered = f64::from(servers) * load;
    let iteration_ms = 1e3 / (LOSS_TOKENS - 1.0);
    let mut settings = vec![
        (Id::MaxRunning, Value::Number(f64::from(servers))),
        (Id::DecodeBase, Value::Number(iteration_ms)),
        (Id::Rate, Value::Number(offered)),
    ];
    settings.extend(output.iter().cloned());
    ClosedForm {
        id: "A4",
        title: format!("M/M/{servers}, rho {load}: mean wait"),
        scenario: scenario(&settings),
        measure: ClosedFormMeasure::Wait,
        value: erlang_c_wait(servers, offered),
        join_delay: 0.0,
        seeds,
    }
}

/// Answers of the closed forms about lost requests: long, so that half an iteration of 1 s / tokens is nothing.
const LOSS_TOKENS: f64 = 10_000.0;

/// Erlang's loss formula: the share that finds all of this many slots busy.
pub(crate) fn erlang_b_share(slots: u32, offered: f64) -> f64 {
    (1..=slots).fold(1.0, |b, k| offered * b / (f64::from(k) + offered * b))
}

/// Erlang's formula of waiting: the mean wait of M/M/c in service times.
pub(crate) fn erlang_c_wait(servers: u32, offered: f64) -> f64 {
    let (c, blocked) = (f64::from(servers), erlang_b_share(servers, offered));
    let waits = c * blocked / (c - offered * (1.0 - blocked));
    waits / (c - offered)
}

/// This many slots and no queue: a request that finds all of them busy is rejected. Erlang's loss formula, whatever the
/// distribution of lengths.
fn erlang_b(name: &str, slots: u32, offered: f64, output: &[(Id, Value)]) -> ClosedForm {
    let mut settings = vec![
        (Id::MaxRunning, Value::Number(f64::from(slots))),
        (Id::MaxInSystem, Value::Number(f64::from(slots))),
        (Id::DecodeBase, Value::Number(1e3 / LOSS_TOKENS)),
        (Id::Rate, Value::Number(offered)),
    ];
    settings.extend(output.iter().cloned());
    ClosedForm {
        id: "A11",
        title: format!("Erlang B, {slots} slots, load {offered}, {name} lengths: share rejected"),
        scenario: scenario(&settings),
        measure: ClosedFormMeasure::Lost,
        value: erlang_b_share(slots, offered),
        join_delay: 0.0,
        seeds: 2,
    }
}

/// The share that leaves the queue of one server after a fixed wait, M/M/1+D (Barrer 1957): with e = exp(-(mu - lambda) tau),
/// (1 - rho) rho e / (1 - rho^2 e); its limit at load 1. `patience` is in service times.
pub(crate) fn impatient_share(load: f64, patience: f64) -> f64 {
    if load == 1.0 {
        return 1.0 / (2.0 + patience);
    }
    let e = libm::exp(-(1.0 - load) * patience);
    (1.0 - load) * load * e / (1.0 - load * load * e)
}

/// One server and a queue that requests leave after a fixed wait.
fn impatient(load: f64, patience_s: f64, output: &[(Id, Value)]) -> ClosedForm {
    let iteration_ms = 1e3 / LOSS_TOKENS;
    let mut settings = vec![
        (Id::MaxRunning, Value::Number(1.0)),
        (Id::DecodeBase, Value::Number(iteration_ms)),
        (Id::PrefillBase, Value::Number(iteration_ms)),
        (Id::QueueTimeout, Value::Number(patience_s)),
        (Id::Rate, Value::Number(load)),
    ];
    settings.extend(output.iter().cloned());
    ClosedForm {
        id: "A12",
        title: format!("M/M/1+D, rho {load}, patience {patience_s} s: share lost"),
        scenario: scenario(&settings),
        measure: ClosedFormMeasure::Lost,
        value: impatient_share(load, patience_s),
        join_delay: 0.0,
        seeds: 4,
    }
}

/// Mean wait of GI/M/1 with gamma gaps at service rate 1: sigma / (1 - sigma), sigma the root in (0, 1) of
/// sigma = (1 + theta (1 - sigma))^-k with k = 1/cv^2, theta = cv^2 / rho.
pub(crate) fn gamma_over_exponential(cv: f64, load: f64) -> f64 {
    let (k, theta) = (1.0 / (cv * cv), cv * cv / load);
    let excess = |sigma: f64| libm::pow(1.0 + theta * (1.0 - sigma), -k) - sigma;
    let (mut low, mut high) = (0.0, 1.0 - 1e-9);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if excess(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    low / (1.0 - low)
}

/// Checks a closed form with `seeds` runs of `requests` requests each, whose seeds count up from `first_seed`.
pub fn check(form: &ClosedForm, first_seed: u32, seeds: u32, requests: u32) -> ClosedFormCheck {
    let runs: Vec<(f64, f64)> =
        (first_seed..first_seed + seeds).map(|seed| run_once(form, seed, requests)).collect();
    let n = f64::from(seeds);
    let mean = runs.iter().map(|r| r.0).sum::<f64>() / n;
    let variance = runs.iter().map(|r| (r.0 - mean) * (r.0 - mean)).sum::<f64>() / (n - 1.0).max(1.0);
    let little_gap = runs.iter().map(|r| r.1).fold(0.0, f64::max);
    ClosedFormCheck { form: form.clone(), mean, error: f64::sqrt(variance / n), little_gap }
}

/// The measured mean of one run and its gap in Little's law.
pub fn run_once(form: &ClosedForm, seed: u32, requests: u32) -> (f64, f64) {
    let mut scenario = form.scenario.clone();
    let duration = f64::from(requests) / scenario.number(Id::Rate);
    let set = |scenario: &mut Scenario, id, x| scenario.set(id, Value::Number(x)).expect("within bounds");
    set(&mut scenario, Id::Duration, duration * (1.0 + 1e-9));
    set(&mut scenario, Id::Seed, f64::from(seed));
    let report = Run::simulate(&scenario, None).expect("a closed form's scenario has no problem").report;
    // The empty start is left out.
    let from = report.results.len() / 50;
    let count = (report.results.len() - from) as f64;
    if form.measure == ClosedFormMeasure::Lost {
        let lost = |id: &usize| !report.is_completed(*id);
        return ((from..report.results.len()).filter(lost).count() as f64 / count, little_gap(&report));
    }
    let of = |id: usize| match form.measure {
        ClosedFormMeasure::Wait => report.scheduled_us(id).map(|t| t - report.trace.arrival_us[id]),
        ClosedFormMeasure::EndToEnd | ClosedFormMeasure::Lost => report.e2e_us(id),
    };
    let values = (from..report.results.len()).filter_map(of);
    (values.sum::<f64>() / count / 1e6, little_gap(&report))
}

/// Little's law on the running set: its size summed over the timeline against the sojourns of its requests.
pub fn little_gap(report: &Report) -> f64 {
    let held = |run: &IterationRun| (run.end_us - run.start_us) * f64::from(run.requests() + run.stalled);
    let by_timeline: f64 = report.timeline.iterations.iter().map(held).sum();
    let ids = 0..report.results.len();
    let by_requests: f64 =
        ids.filter_map(|id| Some(report.results[id].finish_us? - report.scheduled_us(id)?)).sum();
    (by_timeline - by_requests).abs() / by_requests.max(1.0)
}
