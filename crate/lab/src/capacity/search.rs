//! Bisection of the rate, on runs that are as long as the answer needs.

use serde::Serialize;
use servescope_engine::metrics::CutOutputs;
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::expected_error::ExpectedError;
use servescope_settings::parameters::{Id, Value};
use servescope_settings::scenario::{MAX_REQUESTS, Scenario};
use servescope_traces::loaded_trace::LoadedTrace;
use servescope_workload::statistics::sort_by_number;

use super::goal::Goal;
use super::lateness::{Lateness, deviation};
use super::limits::{BindingLimit, LimitSearch, MORE};
use super::price::FleetPrice;
use super::probe::{Measures, Miss, Probe};
use crate::run::SimulationHandle;
use crate::run::growth::{GrowthVerdict, TELLING};
use crate::run::limits::with_counts;

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct Capacity {
    /// The highest rate that was seen to meet the goal, as the run had it; none when the lowest fails already.
    pub rate_rps: Option<f64>,
    /// The rate that was asked for in that run: `workload.rate_rps`.
    pub asked_rps: Option<f64>,
    /// The lowest rate that was seen to fail, as the run had it; none when the highest that can be asked for passes.
    pub missed_rps: Option<f64>,
    /// Why that rate fails.
    pub miss: Option<Miss>,
    /// What the run at `rate_rps` showed.
    pub measures: Option<Measures>,
    /// How long that run was, seconds.
    pub run_s: Option<f64>,
    /// One standard deviation of the rate, as a share of it; none where the runs do not give it.
    pub deviation: Option<f64>,
    /// Where the runs were too short for the tolerance: how long they should be, seconds.
    pub needs_s: Option<f64>,
    /// What a reader of the rate should know: that the runs were too short, or that their rate is not the one asked for.
    pub notes: Vec<Diagnostic>,
    /// What the GPUs cost.
    pub price: FleetPrice,
    /// The limit of the scheduler without which it serves clearly more; none where none was found, or none was looked for.
    pub binding: Option<BindingLimit>,
    /// How far the iteration times are to be expected from a real server's.
    pub expected_error: Option<ExpectedError>,
    /// The scenario's own load, requests a second: the mean over its duration where the rate changes, and that of a file at
    /// its own speed.
    pub load_rps: f64,
    /// What the replicas serve when they are saturated, requests a second; missing where that was not simulated.
    pub saturated_rps: Option<f64>,
    /// Every run, in the order in which they were made.
    pub probes: Vec<Probe>,
}

/// Runs are made so long that the standard deviations of the rate found and of the load are at most this many tolerances.
const AIM: f64 = 1.0;

/// Up to this many tolerances the answer is not called short.
const ENOUGH: f64 = 1.5;

/// The rate of a run may be off by this many standard deviations.
const BURSTS: f64 = 3.0;

/// Runs that are longer than wanted by up to this factor are taken as they are: what is wanted is an estimate too.
const SLACK: f64 = 1.3;

/// Requests, and sessions, may take up to this share of a run before the load is what it stays.
const MOST_WARM_UP: f64 = 0.125;

/// In the shortest run, this many requests or gaps may be late.
const LEAST_LATE: f64 = 5.0;

/// No run is made longer than thirty days, seconds: no traffic stays the same for longer.
pub(super) const LONGEST_S: f64 = 30.0 * 86_400.0;

/// A run is made longer by these factors at least and at most.
const LONGER: [f64; 2] = [1.25, 16.0];

/// A search under way, for callers that want to show progress or to stop.
#[derive(Debug)]
pub struct Search {
    scenario: Scenario,
    loaded: Option<LoadedTrace>,
    goal: Goal,
    /// Rates that the search keeps within.
    bounds: [f64; 2],
    /// How long traffic goes on now, seconds.
    duration_s: f64,
    /// Most requests of a run that is made longer; 0 where none is.
    most_requests: f64,
    probes: Vec<Probe>,
    /// The first probe of the present duration.
    first: usize,
    passed: Option<usize>,
    missed: Option<usize>,
    /// The factor to the next rate while one side is open.
    step: f64,
    running: Option<(f64, SimulationHandle)>,
    shown: f64,
    is_over: bool,
    /// Whether it ends with the search for a limit of the scheduler that binds.
    asks_limits: bool,
    limits: Option<LimitSearch>,
}

/// What a search does next.
enum NextProbe {
    Rate(f64),
    /// The same rates again, over a time that is longer by this factor.
    Longer(f64),
    Over,
}

impl Search {
    /// A search that begins at the rate of the scenario, or of the trace.
    ///
    /// # Errors
    /// Every [`Diagnostic`] of the scenario, or that its requests have no rate to search.
    pub fn new(scenario: &Scenario, loaded: Option<LoadedTrace>) -> Result<Self, Vec<Diagnostic>> {
        // What a file holds cannot go on, and what changes over the run would be another one.
        let grows = loaded.is_none() && scenario.changes_with_time().is_none();
        let mut search = Self {
            bounds: [0.0; 2],
            duration_s: scenario.number(Id::Duration),
            most_requests: if grows { scenario.number(Id::CapacityMostRequests) } else { 0.0 },
            scenario: scenario.clone(),
            loaded,
            goal: Goal::of(scenario),
            probes: Vec::new(),
            first: 0,
            passed: None,
            missed: None,
            step: 2.0,
            running: None,
            shown: 0.0,
            is_over: false,
            asks_limits: false,
            limits: None,
        };
        let first = search.first_rate()?;
        search.bounds = search.rate_bounds();
        search.begin(first.clamp(search.bounds[0], search.bounds[1]))?;
        Ok(search)
    }

    /// The same search, which then looks for a limit of the scheduler that keeps the capacity down.
    #[must_use]
    pub fn with_limits(mut self) -> Self {
        self.asks_limits = true;
        self
    }

    fn first_rate(&self) -> Result<f64, Vec<Diagnostic>> {
        if self.loaded.is_some() {
            return Ok(self.natural_rate() / self.scenario.number(Id::TimeScale));
        }
        if !self.scenario.is_active(Id::Rate) {
            let path = Id::Loop.row().id;
            let message = format!("{path}: a closed loop has no rate to search; its users set it");
            return Err(vec![Diagnostic::error("no_rate", path, message)]);
        }
        Ok(self.scenario.number(Id::Rate))
    }

    /// The scenario's own load.
    fn load_rps(&self) -> f64 {
        if self.loaded.is_some() {
            return self.natural_rate() / self.scenario.number(Id::TimeScale);
        }
        let changes = self.scenario.changes_with_time().is_some();
        let (spec, rate) = (self.scenario.workload(), self.scenario.number(Id::Rate));
        spec.curve.filter(|_| changes).map_or(rate, |curve| curve.integral(spec.duration_s) / spec.duration_s)
    }

    /// The rate of the loaded trace at its own speed.
    fn natural_rate(&self) -> f64 {
        self.loaded.as_ref().map_or(0.0, |loaded| natural_rate(&self.scenario, loaded))
    }

    fn rate_bounds(&self) -> [f64; 2] {
        let (id, most) = if self.loaded.is_some() {
            (Id::TimeScale, f64::INFINITY)
        } else {
            (Id::Rate, MAX_REQUESTS / self.scenario.number(Id::Duration))
        };
        let (low, high) = id.row().bounds().unwrap_or((0.0, f64::INFINITY));
        if self.loaded.is_some() {
            // A time scale of 2 is half the rate.
            return [self.natural_rate() / high, self.natural_rate() / low];
        }
        // Below one request in all there is nothing to run, where the run is not made longer for it.
        let one = if self.most_requests > 0.0 { 0.0 } else { 1.0 / self.scenario.number(Id::Duration) };
        [low.max(one), high.min(most)]
    }

    /// How long traffic goes on at a rate: at least so long that some requests may be late.
    fn duration_at(&self, rate_rps: f64) -> f64 {
        if self.most_requests == 0.0 {
            return self.duration_s;
        }
        let strictest = self.goal.quantiles.iter().copied().fold(0.0, f64::max);
        let least = (LEAST_LATE / (1.0 - strictest)).min(self.most_requests);
        self.duration_s.max((least / rate_rps).min(LONGEST_S)).min(MAX_REQUESTS / rate_rps)
    }

    fn begin(&mut self, asked_rps: f64) -> Result<(), Vec<Diagnostic>> {
        let scenario = at_rate(&self.scenario, self.loaded.as_ref(), asked_rps, self.duration_at(asked_rps))?;
        self.running = Some((asked_rps, SimulationHandle::begin(&scenario, self.loaded.as_ref())?));
        Ok(())
    }

    /// Takes at most `steps` steps of the current run and gives an estimate of the share that is done; 1 is the end.
    pub fn advance(&mut self, steps: usize) -> f64 {
        let Some((asked_rps, mut running)) = self.running.take() else { return self.advance_limits(steps) };
        let share = running.advance(steps);
        if share < 1.0 {
            self.running = Some((asked_rps, running));
            return self.progress(share);
        }
        let probe = Probe::of(asked_rps, &running.finish(), &self.goal);
        let side = if probe.miss.is_none() { &mut self.passed } else { &mut self.missed };
        *side = Some(self.probes.len());
        self.probes.push(probe);
        let rate_rps = match self.next() {
            NextProbe::Rate(rate_rps) => Some(rate_rps),
            NextProbe::Longer(factor) => Some(self.lengthen(factor)),
            NextProbe::Over => None,
        };
        // The scenario was good at one rate; one that it cannot be run at ends the search where it stands.
        self.is_over = rate_rps.is_none_or(|rate_rps| self.begin(rate_rps).is_err());
        if self.is_over && self.asks_limits {
            self.limits = self.limit_search();
        }
        self.progress(0.0)
    }

    fn advance_limits(&mut self, steps: usize) -> f64 {
        let goes_on = self.limits.as_mut().is_some_and(|limits| limits.advance(steps));
        if goes_on { self.shown } else { 1.0 }
    }

    /// The search for what binds, a little above the rate that failed.
    fn limit_search(&self) -> Option<LimitSearch> {
        let missed = &self.probes[self.missed?];
        if matches!(missed.miss, Some(Miss::TooLong { .. })) || self.passed.is_none() {
            return None;
        }
        let asked_rps = (MORE * missed.asked_rps).min(self.bounds[1]);
        let (loaded, duration_s) = (self.loaded.as_ref(), self.duration_at(asked_rps));
        let scenario = at_rate(&self.scenario, loaded, asked_rps, duration_s).ok()?;
        Some(LimitSearch::new(scenario, self.loaded.clone(), asked_rps, self.goal, missed.most_running))
    }

    fn asked(&self, side: Option<usize>) -> Option<f64> {
        side.map(|place| self.probes[place].asked_rps)
    }

    fn next(&mut self) -> NextProbe {
        let [low, high] = self.bounds;
        if let Some(Miss::TooLong { requests, offered }) = self.probes.last().and_then(|probe| probe.miss) {
            return self.when_too_long(requests as f64, offered as f64);
        }
        match (self.asked(self.passed), self.asked(self.missed)) {
            (Some(passed), None) if passed < high => NextProbe::Rate((self.widened() * passed).min(high)),
            (None, Some(missed)) if missed > low => NextProbe::Rate((missed / self.widened()).max(low)),
            (Some(passed), Some(missed)) if passed < missed => {
                let deviation = self.deviation();
                let is_close = missed <= passed * (1.0 + self.goal.tolerance);
                if (is_close || missed <= passed * (1.0 + deviation.min(0.5)))
                    && let Some(factor) = self.possible(self.wanted(deviation, AIM))
                {
                    return NextProbe::Longer(factor);
                }
                if is_close { NextProbe::Over } else { NextProbe::Rate(f64::sqrt(passed * missed)) }
            }
            // At the lowest rate a few late ones in a short run are no answer.
            (None, Some(_)) => match self.possible(LONGER[1]) {
                Some(factor) if self.is_doubtful() => NextProbe::Longer(factor),
                _ => NextProbe::Over,
            },
            _ => NextProbe::Over,
        }
    }

    /// Whether the run that failed may have done so by chance.
    fn is_doubtful(&self) -> bool {
        let Some(missed) = self.missed.map(|place| &self.probes[place]) else { return false };
        !missed.late.is_surely_too_much() || self.off(missed) > BURSTS * self.goal.tolerance
    }

    /// How far the rate of a run is from the one that was asked for: a run that is off lacks bursts, or has too many.
    fn off(&self, probe: &Probe) -> f64 {
        if self.loaded.is_some() { 0.0 } else { (probe.rate_rps / probe.asked_rps - 1.0).abs() }
    }

    /// The factor to the next rate on an open side; it grows from a small one.
    fn widened(&mut self) -> f64 {
        let step = self.step;
        self.step = (step * step).min(2.0);
        step
    }

    /// Requests that are too long for the service meet no goal at any rate; where their share may be chance, more are drawn.
    fn when_too_long(&mut self, requests: f64, offered: f64) -> NextProbe {
        let share = requests / offered;
        let error = f64::sqrt(share * (1.0 - share) / offered);
        let is_sure = share - 3.0 * error > 1.0 - self.goal.served();
        match self.possible(8.0) {
            Some(factor) if !is_sure => NextProbe::Longer(factor),
            _ => {
                self.passed = None;
                NextProbe::Over
            }
        }
    }

    /// One standard deviation of the logarithm of the rate found; infinite where the runs do not give it.
    fn deviation(&self) -> f64 {
        let Some(missed) = self.missed.map(|place| &self.probes[place]) else { return f64::INFINITY };
        if let Some(Miss::Growing { .. }) = missed.miss {
            return missed.measures.growth_noise;
        }
        let mut runs: Vec<(f64, &Lateness)> =
            self.probes[self.first..].iter().map(|probe| (probe.asked_rps, &probe.late)).collect();
        sort_by_number(&mut runs, |run| run.0);
        deviation(&runs)
    }

    /// By what factor the runs should be longer; 1 where they are long enough. Standard deviations may be
    /// `tolerances`.
    fn wanted(&self, deviation: f64, tolerances: f64) -> f64 {
        let Some(passed) = self.passed.map(|place| &self.probes[place]) else { return 1.0 };
        let known = tolerances * self.goal.tolerance;
        let of_rate = squared(deviation / known);
        // The rate cannot be known better than the load is.
        let of_load = squared(passed.queue_growth.walk / known);
        let of_bursts = squared(self.off(passed) / (BURSTS * known));
        let of_growth = self.wanted_for_growth(passed);
        let of_warm_up = passed.warm_up / MOST_WARM_UP;
        let wanted = of_rate.max(of_load).max(of_bursts).max(of_growth).max(of_warm_up);
        if wanted > SLACK { wanted } else { 1.0 }
    }

    /// The same where no bound would be broken by a queue that grows unseen: waits of a surplus over the whole run.
    fn wanted_for_growth(&self, passed: &Probe) -> f64 {
        let [ttft, _, e2e, queue, _] = self.goal.limits_s;
        let wait_s = ttft.min(e2e).min(queue);
        match passed.queue_growth.verdict() {
            GrowthVerdict::TooShort { needs_s } if wait_s > TELLING * passed.queue_growth.run_s => {
                needs_s / passed.queue_growth.run_s
            }
            _ => 1.0,
        }
    }

    /// The factor by which the runs can be longer, where they should.
    fn possible(&self, wanted: f64) -> Option<f64> {
        let [least, most] = LONGER;
        let rate_rps = self.asked(self.missed).or(self.asked(self.passed))?;
        let longest = (self.most_requests / rate_rps).min(LONGEST_S);
        let room = longest / self.duration_at(rate_rps);
        (wanted > 1.0 && room >= least).then(|| (SLACK * wanted).clamp(least, most.min(room)))
    }

    /// Makes the runs longer, and gives the rate that they begin with.
    fn lengthen(&mut self, factor: f64) -> f64 {
        let deviation = self.deviation();
        let sides = [self.asked(self.passed), self.asked(self.missed)];
        let rate_rps = match sides {
            [Some(passed), Some(missed)] => f64::sqrt(passed * missed),
            [passed, missed] => passed.or(missed).unwrap_or(self.bounds[0]),
        };
        self.step = 1.0 + (2.0 * deviation).clamp(2.0 * self.goal.tolerance, 1.0);
        self.duration_s = self.duration_at(rate_rps) * factor;
        self.first = self.probes.len();
        (self.passed, self.missed) = (None, None);
        rate_rps
    }

    /// An estimate: a factor of two on both sides, then halves of what is left. It never goes back.
    fn progress(&mut self, of_run: f64) -> f64 {
        if self.is_over {
            return if self.limits.is_some() { self.shown } else { 1.0 };
        }
        let halvings = |ratio: f64| libm::log2(libm::log(ratio) / libm::log1p(self.goal.tolerance)).max(0.0);
        let left = match (self.asked(self.passed), self.asked(self.missed)) {
            (Some(passed), Some(missed)) if passed < missed => halvings(missed / passed),
            _ => 1.0 + halvings(self.step),
        };
        let done = self.probes.len() as f64 + of_run;
        self.shown = (done / (done + left + 1.0)).clamp(self.shown, 0.99);
        self.shown
    }

    /// The runs so far.
    pub fn probes(&self) -> &[Probe] {
        &self.probes
    }

    /// What was found up to now.
    pub fn finish(self) -> Capacity {
        let deviation = self.deviation();
        let wanted = self.wanted(deviation, ENOUGH);
        let [passed, missed] = [self.passed, self.missed].map(|place| place.map(|i| &self.probes[i]));
        let is_bracketed = passed.is_some() && missed.is_some();
        // A file goes on for as long as its requests take at the rate found.
        let run_s = passed.map(|p| {
            if self.loaded.is_some() { p.measures.requests as f64 / p.rate_rps } else { p.duration_s }
        });
        // Where nothing is known of it, the next longer run would show more.
        let needs_s = run_s
            .filter(|_| is_bracketed && wanted > 1.0)
            .map(|s| s * if wanted.is_finite() { wanted } else { LONGER[1] });
        let mut notes: Vec<Diagnostic> = Vec::new();
        // Of traffic that changes over the run its parts do not show how well the rate is known.
        let changing = self.scenario.changes_with_time().filter(|_| self.loaded.is_none());
        let needs_s = needs_s.filter(|_| changing.is_none());
        let deviation = if changing.is_some() { f64::INFINITY } else { deviation };
        if let (Some(run_s), Some(needs_s)) = (run_s, needs_s) {
            notes.push(short_run(run_s, needs_s, self.loaded.is_some()));
        }
        notes.extend(passed.and_then(|p| cut_outputs(p.measures.cut_outputs, &self.scenario)));
        notes.extend(changing.zip(run_s).map(|(id, run_s)| changing_traffic(id, run_s)));
        notes.extend(passed.filter(|_| self.loaded.is_none()).and_then(|p| other_rate(p, &self.goal)));
        Capacity {
            rate_rps: passed.map(|p| p.rate_rps),
            asked_rps: passed.map(|p| p.asked_rps),
            missed_rps: missed.map(|p| p.rate_rps),
            miss: missed.and_then(|p| p.miss),
            measures: passed.map(|p| p.measures),
            run_s,
            // The jackknife sees only what happened; the load of another run would be another.
            deviation: passed
                .map(|p| deviation.max(p.queue_growth.walk))
                .filter(|d| is_bracketed && d.is_finite()),
            needs_s,
            notes,
            price: FleetPrice::of(&self.scenario),
            binding: self.limits.as_ref().and_then(LimitSearch::found),
            expected_error: self.scenario.expected_error(),
            load_rps: self.load_rps(),
            saturated_rps: None,
            probes: self.probes,
        }
    }
}

/// The rate of a loaded trace at its own speed.
fn natural_rate(scenario: &Scenario, loaded: &LoadedTrace) -> f64 {
    let arrival = &loaded.trace.arrival_us;
    let span = arrival.last().zip(arrival.first()).map_or(0.0, |(last, first)| last - first);
    let requests = arrival.len() as f64 * scenario.number(Id::RateScale);
    requests * 1e6 / span.max(1.0)
}

/// A scenario at another rate: generated requests for so long, or its file played faster or slower.
///
/// # Errors
/// That a parameter cannot have the value.
pub(super) fn at_rate(
    scenario: &Scenario,
    loaded: Option<&LoadedTrace>,
    rate_rps: f64,
    duration_s: f64,
) -> Result<Scenario, Vec<Diagnostic>> {
    let settings = match loaded {
        Some(loaded) => vec![(Id::TimeScale, natural_rate(scenario, loaded) / rate_rps)],
        None => vec![(Id::Rate, rate_rps), (Id::Duration, duration_s)],
    };
    let mut scenario = scenario.clone();
    for (id, value) in settings {
        let (low, high) = id.row().bounds().unwrap_or((0.0, f64::INFINITY));
        scenario.set(id, Value::Number(value.clamp(low, high))).map_err(|error| vec![error])?;
    }
    Ok(scenario)
}

fn squared(x: f64) -> f64 {
    x * x
}

/// That the runs were too short for the tolerance.
fn short_run(run_s: f64, needs_s: f64, is_loaded: bool) -> Diagnostic {
    let path = Id::Duration.row().id;
    let [run_s, needs_s] = [run_s, needs_s].map(libm::ceil);
    // The duration of a file is its own.
    if is_loaded {
        let message =
            format!("the trace, which lasts {run_s} s at this rate, is too short for the tolerance");
        return Diagnostic::warning("short_trace", Id::TimeScale.row().id, message).number("run", run_s);
    }
    let message =
        format!("{path}: a run of {run_s} s is too short for the tolerance; about {needs_s} s are needed");
    Diagnostic::warning("short_run", path, message).number("run", run_s).number("needs", needs_s)
}

/// That the rate found is one of shorter outputs than asked for.
fn cut_outputs(cut: CutOutputs, scenario: &Scenario) -> Option<Diagnostic> {
    let CutOutputs { requests, of_requests, tokens, of_tokens } = cut;
    (requests > 0).then(|| {
        let (path, limit) = (Id::MaxRequestTokens.row().id, scenario.number(Id::MaxRequestTokens));
        let message = format!(
            "{path}: {requests} of {of_requests} outputs were cut at max_model_len ({limit} tokens); {tokens} of {of_tokens} tokens not \
             made: the capacity is that of the shorter outputs"
        );
        let warning = Diagnostic::warning("capacity_of_cut_outputs", path, message);
        with_counts(warning, cut).number("limit", limit)
    })
}

/// That traffic changes over the run, by this parameter, so that a longer one would be another.
fn changing_traffic(id: Id, run_s: f64) -> Diagnostic {
    let (path, run_s) = (id.row().id, libm::ceil(run_s));
    let message = format!(
        "{path}: traffic changes over the run: the rate is the mean over its {run_s} s, and the run is not made longer"
    );
    Diagnostic::warning("changing_traffic", path, message).number("run", run_s)
}

/// That the rate which the run had is not the one that was asked for.
fn other_rate(probe: &Probe, goal: &Goal) -> Option<Diagnostic> {
    let (rate, asked) = (probe.rate_rps, probe.asked_rps);
    ((rate / asked - 1.0).abs() > goal.tolerance).then(|| {
        let path = Id::Rate.row().id;
        let message = format!("{path}: where {asked:.4} requests/s were asked for, {rate:.4} arrived");
        Diagnostic::warning("other_rate", path, message).number("asked", asked).number("rate", rate)
    })
}
