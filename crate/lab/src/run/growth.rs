//! Whether more arrives than can be served, decided by the number of requests in the system.
//!
//! Where load is below 1 the number in the system stays bounded; above 1 it grows by the surplus. At load 1, the border, what
//! is left over after n arrivals is a random walk: its variance is n (I + c²), with I the index of dispersion of the count of
//! arrivals and c the coefficient of variation of the service that requests take (the heavy-traffic limit of G/G/1, Iglehart
//! and Whitt 1970). Three quarters of a standard deviation of that walk are what growth must exceed: below load 1 the walk is
//! pushed back and exceeds it ever more rarely as the run goes on, above load 1 the surplus exceeds it ever more surely.
//!
//! What a system holds while it serves the load that it is given is no growth. So growth is counted from the time at which
//! the first requests have left, and it must exceed the mean number in the system meanwhile as well: a queue that grows
//! without end grows by twice its mean, one that stays bounded grows by a part of it, also where requests that share the server
//! fill it slowly. The same is asked of the requests that wait, from the start of the run on: they are no part of what a
//! system holds while it serves, and in a short run they show more.
//!
//! A run in which one standard deviation is more than [`TELLING`] of the arrivals is too short to decide.
//!
//! ```
//! use servescope_lab::run::growth::{Growth, GrowthVerdict, Sojourn};
//! // A request each second, and a server that takes 2 s.
//! let sojourns: Vec<Sojourn> = (0..1000).map(|i| {
//!     let (arrive_us, start_us) = (f64::from(i) * 1e6, f64::from(i) * 2e6);
//!     Sojourn { arrive_us, start_us: Some(start_us), leave_us: Some(start_us + 2e6) }
//! }).collect();
//! assert_eq!(Growth::of(&sojourns, [0.0, 999e6]).verdict(), GrowthVerdict::Growing);
//! ```

use servescope_engine::{Outcome, Report};
use servescope_workload::statistics::{Dispersion, sort};

/// The largest share of the arrivals that one standard deviation may be in a run that decides.
pub const TELLING: f64 = 0.04;

/// Standard deviations of the walk that growth must exceed. Below load 1 the walk seldom gets so far, above it soon does.
const SURE: f64 = 0.75;

/// The largest share of the arrivals that growth must exceed in a run that shows that there is none.
const STEADY: f64 = 0.06;

/// A run is this many times as long as its first requests stay.
const LEAST_FILLS: f64 = 4.0;

/// Growth by this many standard deviations is seen in any run.
const OBVIOUS: f64 = 3.0;

/// Windows in which arrivals are counted for their dispersion: long against bursts, and enough to estimate a variance.
const WINDOWS: f64 = 20.0;

/// Requests are whole: where nothing is random at all, the number in the system still moves by some.
const WHOLE: f64 = 2.0;

/// The share of the arrivals that show how long a system takes to fill.
const FIRST: f64 = 0.05;

/// When one request came, began to be served and left, microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sojourn {
    /// Arrival.
    pub arrive_us: f64,
    /// Start of its service; none where it was not served.
    pub start_us: Option<f64>,
    /// When it left, finished or not; none where it never did.
    pub leave_us: Option<f64>,
}

/// What the number of requests in the system did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// By how much it grew, as a share of the arrivals meanwhile: those in the system, or those that wait, whichever shows
    /// more.
    pub share: f64,
    /// One standard deviation at load 1, as such a share.
    pub walk: f64,
    /// The mean number in the system meanwhile, as such a share.
    pub level: f64,
    /// Duration of the run, seconds.
    pub run_s: f64,
    /// Time that the system took to fill, seconds.
    pub fill_s: f64,
}

/// What [`Growth`] says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GrowthVerdict {
    /// The number in the system does not grow.
    Steady,
    /// It does: more arrives than can be served.
    Growing,
    /// The run is too short to decide.
    TooShort {
        /// A duration that is long enough, seconds.
        needs_s: f64,
    },
}

impl Growth {
    /// Growth from `from_us` to `until_us`. The order of `sojourns` does not matter.
    pub fn of(sojourns: &[Sojourn], [from_us, until_us]: [f64; 2]) -> Self {
        let mut arrive_us: Vec<f64> =
            sojourns.iter().map(|s| s.arrive_us).filter(|at| (from_us..=until_us).contains(at)).collect();
        sort(&mut arrive_us);
        let run_us = until_us - from_us;
        let fill_us = fill(sojourns, &arrive_us, until_us).min(0.5 * run_us);
        let full_us = from_us + fill_us;
        let arrive_s: Vec<f64> = arrive_us.iter().map(|us| us / 1e6).collect();
        let dispersion = Dispersion::of(&arrive_s, &[run_us / (1e6 * WINDOWS)]).index[0];
        let dispersion = if dispersion.is_finite() { dispersion } else { 1.0 };
        let variance = dispersion + service_variation(sojourns, until_us);
        let of = |since_us: f64, ends: &dyn Fn(&Sojourn) -> Option<f64>| {
            let come = (arrive_us.len() - arrive_us.partition_point(|&at| at <= since_us)) as f64;
            if come == 0.0 {
                return Self {
                    share: 0.0,
                    walk: 1.0,
                    level: 0.0,
                    run_s: run_us / 1e6,
                    fill_s: fill_us / 1e6,
                };
            }
            let [at_first, at_last] = [since_us, until_us].map(|at| number(sojourns, ends, at));
            Self {
                share: (at_last - at_first) / come,
                walk: f64::sqrt(variance * come + WHOLE * WHOLE) / come,
                level: mean_number(sojourns, ends, [since_us, until_us]) / come,
                run_s: run_us / 1e6,
                fill_s: fill_us / 1e6,
            }
        };
        // What waits needs no time to fill, and shows a surplus sooner; where all are served at once nothing ever waits.
        let present = of(full_us, &|sojourn| sojourn.leave_us);
        let waiting = of(from_us, &|sojourn| sojourn.start_us.or(sojourn.leave_us));
        if waiting.share * present.noise() > present.share * waiting.noise() { waiting } else { present }
    }

    /// Growth over the requests of a run that arrive in a window of time.
    pub fn of_report(report: &Report, window_us: [f64; 2]) -> Self {
        let sojourn = |id: usize| {
            let (result, arrive_us) = (&report.results[id], report.trace.arrival_us[id]);
            // A request that was rejected or whose client left has no finish, and left as it came.
            let at_once = (result.outcome != Outcome::Unfinished).then_some(arrive_us);
            Sojourn { arrive_us, start_us: report.scheduled_us(id), leave_us: result.finish_us.or(at_once) }
        };
        let sojourns: Vec<Sojourn> = (0..report.results.len()).map(sojourn).collect();
        Self::of(&sojourns, window_us)
    }

    /// Whether the number in the system grows.
    pub fn verdict(&self) -> GrowthVerdict {
        let is_long = self.walk <= TELLING && LEAST_FILLS * self.fill_s <= self.run_s;
        if self.share > self.noise() && (is_long || self.share > OBVIOUS * self.walk.max(TELLING)) {
            GrowthVerdict::Growing
        } else if is_long && self.noise() <= STEADY {
            GrowthVerdict::Steady
        } else {
            // Both fall with the duration: the walk with its root, the number in the system with itself.
            let of_walk = self.walk * self.walk / (TELLING * TELLING);
            let longer = of_walk.max(self.level / (STEADY - TELLING)).max(1.0);
            let needs_s = f64::max(self.run_s * longer, LEAST_FILLS * self.fill_s);
            GrowthVerdict::TooShort { needs_s }
        }
    }

    /// What growth must exceed, as a share of the arrivals.
    pub fn noise(&self) -> f64 {
        f64::sqrt(SURE * SURE * self.walk * self.walk + self.level * self.level)
    }
}

/// How long the first arrivals stay in the system: it takes this long to fill.
fn fill(sojourns: &[Sojourn], arrive_us: &[f64], until_us: f64) -> f64 {
    let Some(&first) = arrive_us.first() else { return 0.0 };
    let place = ((FIRST * arrive_us.len() as f64) as usize).min(arrive_us.len() - 1);
    let early = sojourns.iter().filter(|s| s.arrive_us >= first && s.arrive_us <= arrive_us[place]);
    early.map(|s| s.leave_us.unwrap_or(until_us).min(until_us) - s.arrive_us).fold(0.0, f64::max)
}

/// How many have come by a time, and not come to their end.
fn number(sojourns: &[Sojourn], ends: &dyn Fn(&Sojourn) -> Option<f64>, at_us: f64) -> f64 {
    let is_there =
        |sojourn: &&Sojourn| sojourn.arrive_us <= at_us && ends(sojourn).is_none_or(|end_us| end_us > at_us);
    sojourns.iter().filter(is_there).count() as f64
}

/// The mean of that number from one time to another.
fn mean_number(
    sojourns: &[Sojourn],
    ends: &dyn Fn(&Sojourn) -> Option<f64>,
    [from_us, until_us]: [f64; 2],
) -> f64 {
    let within = |sojourn: &Sojourn| {
        let end_us = ends(sojourn).unwrap_or(until_us).min(until_us);
        (end_us - sojourn.arrive_us.max(from_us)).max(0.0)
    };
    sojourns.iter().map(within).sum::<f64>() / (until_us - from_us)
}

/// The squared coefficient of variation of the service that requests took by `until_us`. The service of a request is its
/// part of the time: those that are served at the same time share it equally.
fn service_variation(sojourns: &[Sojourn], until_us: f64) -> f64 {
    let mut events: Vec<(f64, u32, bool)> = Vec::with_capacity(2 * sojourns.len());
    for (id, sojourn) in (0..).zip(sojourns) {
        if let (Some(start), Some(leave)) = (sojourn.start_us, sojourn.leave_us)
            && start <= until_us
        {
            events.push((start, id, true));
            events.push((leave.max(start), id, false));
        }
    }
    events.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(b.2.cmp(&a.2)).then(a.1.cmp(&b.1)));
    let mut began = vec![0.0; sojourns.len()];
    let (mut clock, mut now, mut served) = (0.0, 0.0, 0.0);
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for (at, id, is_start) in events {
        if served > 0.0 {
            clock += (at - now) / served;
        }
        now = at;
        if is_start {
            began[id as usize] = clock;
            served += 1.0;
        } else {
            served -= 1.0;
            let part = clock - began[id as usize];
            count += 1.0;
            sum += part;
            squares += part * part;
        }
    }
    let mean: f64 = sum / count;
    if mean > 0.0 { (squares / count / (mean * mean) - 1.0).max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use servescope_workload::arrivals::Arrivals;
    use servescope_workload::stream::Stream;

    const SEEDS: u64 = 200;

    /// A queue with one server.
    fn queue(arrivals: Arrivals, service: Arrivals, load: f64, count: usize, seed: u64) -> Vec<Sojourn> {
        let arrive = arrivals.times_us(load, count, Stream::named(seed, "arrivals"));
        let ends = service.times_us(1.0, count, Stream::named(seed, "service"));
        let (mut free, mut before) = (0.0f64, 0.0);
        let serve = |(&arrive_us, &end): (&f64, &f64)| {
            let start_us = free.max(arrive_us);
            free = start_us + (end - before);
            before = end;
            Sojourn { arrive_us, start_us: Some(start_us), leave_us: Some(free) }
        };
        arrive.iter().zip(&ends).map(serve).collect()
    }

    fn verdicts(arrivals: Arrivals, service: Arrivals, load: f64, count: usize) -> [usize; 3] {
        let mut counts = [0; 3];
        for seed in 0..SEEDS {
            let sojourns = queue(arrivals, service, load, count, seed);
            let place = match Growth::of(&sojourns, [0.0, sojourns[count - 1].arrive_us]).verdict() {
                GrowthVerdict::Steady => 0,
                GrowthVerdict::Growing => 1,
                GrowthVerdict::TooShort { .. } => 2,
            };
            counts[place] += 1;
        }
        println!("{arrivals:?} {service:?} load {load}, {count} arrivals: {counts:?}");
        counts
    }

    #[test]
    fn one_server_is_overloaded_above_load_one_only() {
        let poisson = Arrivals::Poisson;
        let counts: &[usize] =
            if servescope_testkit::is_whole() { &[2000, 5000, 20_000] } else { &[2000, 5000] };
        for &count in counts {
            for load in [0.8, 0.95] {
                let [_, growing, short] = verdicts(poisson, poisson, load, count);
                assert!(growing <= 16 && short <= 4, "{growing} of {SEEDS} at {load}, {short} too short");
            }
            let [_, growing, _] = verdicts(poisson, poisson, 1.1, count);
            assert!(growing >= 190, "{growing} of {SEEDS}");
        }
    }

    #[test]
    fn other_arrivals_and_services_are_told_as_well() {
        let kinds =
            [Arrivals::Even, Arrivals::Gamma { cv: 0.3 }, Arrivals::Poisson, Arrivals::Gamma { cv: 2.0 }];
        let all = kinds.iter().flat_map(|a| kinds.map(|s| (*a, s)));
        // Each kind of arrivals and of services once; the whole check takes every pair.
        let apart = if servescope_testkit::is_whole() { 1 } else { kinds.len() + 1 };
        for (arrivals, service) in all.step_by(apart) {
            let [_, false_alarms, _] = verdicts(arrivals, service, 0.8, 8000);
            let [missed, _, _] = verdicts(arrivals, service, 1.2, 8000);
            assert!(false_alarms <= 4 && missed <= 4, "{false_alarms} and {missed} of {SEEDS}");
        }
    }

    #[test]
    fn short_runs_say_so_unless_it_is_plain() {
        let poisson = Arrivals::Poisson;
        let [steady, growing, short] = verdicts(poisson, poisson, 0.95, 300);
        assert!(steady == 0 && growing <= 4 && short >= 196);
        let [_, growing, _] = verdicts(poisson, poisson, 2.0, 300);
        assert!(growing >= 198);
        let sojourns = queue(poisson, poisson, 0.9, 500, 1);
        let growth = Growth::of(&sojourns, [0.0, sojourns[499].arrive_us]);
        let GrowthVerdict::TooShort { needs_s } = growth.verdict() else { panic!("{growth:?}") };
        // Twice the run in the square of the noise, which is 2 / n here.
        assert!((2.0..5.0).contains(&(needs_s / growth.run_s)), "{needs_s} of {}", growth.run_s);
    }

    #[test]
    fn what_is_served_at_once_is_no_growth() {
        // Even arrivals whose service has no queue: the number served varies, and there is never more of it.
        for seed in 0..SEEDS {
            let ends = Arrivals::Poisson.times_us(1.0, 3000, Stream::named(seed, "service"));
            let sojourns: Vec<Sojourn> = (0..3000)
                .map(|i| {
                    let arrive_us = 1e5 * i as f64;
                    let stay_us = 20.0 * if i == 0 { ends[0] } else { ends[i] - ends[i - 1] };
                    Sojourn { arrive_us, start_us: Some(arrive_us), leave_us: Some(arrive_us + stay_us) }
                })
                .collect();
            let growth = Growth::of(&sojourns, [0.0, 300e6]);
            assert_ne!(growth.verdict(), GrowthVerdict::Growing, "seed {seed}: {growth:?}");
        }
    }

    #[test]
    fn nothing_is_told_of_nothing() {
        let one = [Sojourn { arrive_us: 5.0, start_us: None, leave_us: None }];
        assert!(matches!(Growth::of(&one, [5.0, 5.0]).verdict(), GrowthVerdict::TooShort { .. }));
        assert!(matches!(Growth::of(&[], [0.0, 0.0]).verdict(), GrowthVerdict::TooShort { .. }));
    }
}
