//! Workloads from the generator's parts, with the random numbers of named streams: the same seed gives the same workload,
//! which AIBrix promises for agent sessions only.

use std::collections::BTreeMap;

use super::AibrixError;
use super::agent::{self, AgentConfig, Moment};
use super::arrivals::{self, Arrival, Scales, Steps, Target};
use super::concat::Entry;
use super::curve::{Pattern, sample_count};
use super::grouping::AzureRow;
use super::matching::{self, ERROR_STEP, Match, PromptLengths};
use super::poisson::poisson;
use super::sessions::{Deck, SessionPool, below};
use super::stat::Statistics;
use crate::distribution;
use crate::stream::Stream;

/// A workload from curves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Synthetic {
    /// Rates, requests a second.
    pub rate: Pattern,
    /// Prompt lengths, tokens; `None` = any.
    pub input: Option<Pattern>,
    /// Completion lengths, tokens; `None` = any.
    pub output: Option<Pattern>,
    /// Duration, milliseconds.
    pub duration_ms: f64,
    /// Time between samples of the curves, milliseconds.
    pub interval_ms: f64,
}

fn normals(seed: u64, name: &str) -> impl FnMut() -> f64 {
    let mut stream = Stream::named(seed, name);
    move || distribution::normal_quantile(stream.uniform())
}

/// The arrivals of steps, with the gaps of a named stream.
pub(super) fn draw(
    steps: &Steps,
    duration_ms: f64,
    scales: &Scales,
    seed: u64,
) -> Result<Vec<Arrival>, AibrixError> {
    let mut stream = Stream::named(seed, "aibrix arrivals");
    arrivals::arrivals(steps, duration_ms, scales, || distribution::exponential(stream.uniform()))
}

/// The samples of a curve of rates, requests a second, with the noise that [`Synthetic::steps`] gives them.
///
/// Noise alone can push a rate that touches zero below it, and a deep wave can: such a rate is zero here.
pub fn rate_samples(rate: &Pattern, count: usize, seed: u64) -> Vec<f64> {
    let rates = rate.rates(count, normals(seed, "aibrix rate noise"));
    rates.into_iter().map(|rate| rate.max(0) as f64).collect()
}

impl Synthetic {
    /// The curves' samples, each held for the interval it was made for.
    ///
    /// # Errors
    /// As [`sample_count`].
    pub fn steps(&self, seed: u64) -> Result<Steps, AibrixError> {
        let count = sample_count(self.duration_ms, self.interval_ms)?;
        let lengths = |curve: Option<Pattern>, name: &str| -> Option<Vec<f64>> {
            let lengths = curve?.lengths(count, normals(seed, name));
            Some(lengths.into_iter().map(|length| length as f64).collect())
        };
        let rates = self.rate.rates(count, normals(seed, "aibrix rate noise"));
        let mut steps = Steps {
            step_ms: self.interval_ms,
            rates_rps: rates.into_iter().map(|rate| rate as f64).collect(),
            input_tokens: lengths(self.input, "aibrix input noise"),
            output_tokens: lengths(self.output, "aibrix output noise"),
        };
        // Noise alone can push a rate that touches zero below it; a trend below zero stays, and is rejected later.
        for (k, rate) in steps.rates_rps.iter_mut().enumerate() {
            if *rate < 0.0 && self.rate.trend(k, count) >= 0.0 {
                *rate = 0.0;
            }
        }
        Ok(steps)
    }

    /// The arrivals.
    ///
    /// # Errors
    /// As [`sample_count`] and [`arrivals::arrivals`].
    pub fn arrivals(&self, seed: u64) -> Result<Vec<Arrival>, AibrixError> {
        draw(&self.steps(seed)?, self.duration_ms, &Scales::default(), seed)
    }
}

/// Arrivals at one rate and one pair of lengths.
///
/// # Errors
/// As [`arrivals::constant`] and [`arrivals::arrivals`].
pub fn constant(
    rate_rps: f64,
    target: Target,
    duration_ms: f64,
    interval_ms: f64,
    seed: u64,
) -> Result<Vec<Arrival>, AibrixError> {
    let steps = arrivals::constant(rate_rps, target, duration_ms, interval_ms)?;
    draw(&steps, duration_ms, &Scales::default(), seed)
}

/// Arrivals from statistics files.
///
/// # Errors
/// As [`arrivals::arrivals`].
pub fn stat(
    statistics: &Statistics,
    duration_ms: f64,
    scales: &Scales,
    seed: u64,
) -> Result<Vec<Arrival>, AibrixError> {
    draw(&stat_steps(statistics, seed), duration_ms, scales, seed)
}

/// The rates and lengths of statistics, second by second.
pub fn stat_steps(statistics: &Statistics, seed: u64) -> Steps {
    let mut counts = Stream::named(seed, "aibrix counts");
    statistics.steps(
        |mean| poisson(mean, &mut counts),
        normals(seed, "aibrix input lengths"),
        normals(seed, "aibrix output lengths"),
    )
}

/// Agent sessions; the seed is the configuration's.
///
/// # Errors
/// As [`agent::sessions`].
pub fn agents(config: &AgentConfig) -> Result<BTreeMap<u64, Moment>, AibrixError> {
    agent::sessions(config, &mut Stream::named(config.seed as u64, "aibrix agents"))
}

/// Arrivals as lines of a workload.
pub fn entries(arrivals: &[Arrival]) -> Vec<Entry<Target>> {
    let line = |arrival: &Arrival| Entry {
        timestamp_ms: arrival.timestamp_ms as f64,
        requests: arrival.request.into_iter().collect(),
        other: (),
    };
    arrivals.iter().map(line).collect()
}

/// Groups of an Azure trace as lines of a workload.
pub fn azure_entries(groups: &[Entry<AzureRow>]) -> Vec<Entry<Target>> {
    let target = |row: &AzureRow| Target {
        input_tokens: Some(row.context_tokens.into()),
        output_tokens: Some(row.generated_tokens.into()),
    };
    let line = |group: &Entry<AzureRow>| Entry {
        timestamp_ms: group.timestamp_ms,
        requests: group.requests.iter().map(target).collect(),
        other: (),
    };
    groups.iter().map(line).collect()
}

/// What requests are taken from.
#[derive(Debug, Clone, Copy)]
pub enum Collection<'a> {
    /// Prompts on their own.
    Plain(&'a [PromptLengths]),
    /// The turns of each session.
    Sessions(&'a [Vec<PromptLengths>]),
}

/// The prompt that stands for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// Place of the prompt, or of the session, in its collection.
    pub item: usize,
    /// Turn of the session; 0 for prompts on their own.
    pub turn: usize,
    /// Lengths of the prompt.
    pub lengths: PromptLengths,
}

/// Chooses a prompt for every request.
///
/// Prompts on their own come in shuffled order without replacement where no length is wanted, and by the matching rule
/// ([`matching::find`], first half-width `initial_error`) where one is. Sessions come turn by turn from up to
/// `max_concurrent_sessions` of them, whatever lengths are wanted; 0 = from all, by the matching rule on their next turns.
/// Used-up sessions leave lines without requests.
pub fn choose(
    lines: &[Entry<Target>],
    collection: Collection<'_>,
    max_concurrent_sessions: usize,
    initial_error: f64,
    seed: u64,
) -> Vec<Entry<Choice>> {
    let mut chooser = chooser(collection, max_concurrent_sessions, initial_error, seed);
    lines
        .iter()
        .map(|line| Entry {
            timestamp_ms: line.timestamp_ms,
            requests: line.requests.iter().filter_map(|&target| chooser(target)).collect(),
            other: (),
        })
        .collect()
}

/// Chooses a prompt for one request after another, as [`choose`] does for the lines of a workload; `None` when sessions are
/// used up.
pub fn chooser<'a>(
    collection: Collection<'a>,
    max_concurrent_sessions: usize,
    initial_error: f64,
    seed: u64,
) -> Box<dyn FnMut(Target) -> Option<Choice> + 'a> {
    let mut stream = Stream::named(seed, "aibrix prompts");
    match collection {
        Collection::Plain(prompts) => {
            let mut deck = Deck::new(prompts.len(), || stream.uniform());
            // Neighbours often want the same, and a search reads the whole collection.
            let mut last: Option<(Target, Option<Match>)> = None;
            Box::new(move |target| {
                let item = if target == Target::default() {
                    deck.draw(|| stream.uniform())
                } else {
                    if last.as_ref().is_none_or(|(former, _)| *former != target) {
                        last = Some((target, matching::find(prompts, target, initial_error, ERROR_STEP)));
                    }
                    let found = last.as_ref().and_then(|(_, found)| found.as_ref());
                    pick(found, &mut stream)
                }?;
                Some(Choice { item, turn: 0, lengths: prompts[item] })
            })
        }
        Collection::Sessions(sessions) => {
            let mut pool = SessionPool::new(sessions.iter().map(Vec::len).collect(), max_concurrent_sessions);
            Box::new(move |target| {
                let (item, turn) = if max_concurrent_sessions > 0 || target == Target::default() {
                    pool.draw(|| stream.uniform())
                } else {
                    let next: Vec<PromptLengths> =
                        pool.open().iter().map(|&(session, turn)| sessions[session][turn]).collect();
                    let found = matching::find(&next, target, initial_error, ERROR_STEP);
                    pick(found.as_ref(), &mut stream).and_then(|place| pool.take(place))
                }?;
                Some(Choice { item, turn, lengths: sessions[item][turn] })
            })
        }
    }
}

fn pick(found: Option<&Match>, stream: &mut Stream) -> Option<usize> {
    match found? {
        Match::Band { prompts, .. } => Some(prompts[below(prompts.len(), || stream.uniform())]),
        Match::Nearest(prompt) => Some(*prompt),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aibrix::curve::{NAMED_MEAN_RPS, NamedPattern};

    fn severe() -> Synthetic {
        Synthetic {
            rate: NamedPattern::SevereFluctuation.pattern(NAMED_MEAN_RPS),
            input: None,
            output: None,
            duration_ms: 600_000.0,
            interval_ms: 1000.0,
        }
    }

    #[test]
    fn equal_seeds_give_equal_workloads_and_lengths_leave_arrivals_alone() {
        let times = |spec: &Synthetic, seed| -> Vec<u64> {
            spec.arrivals(seed).expect("the rates are good").iter().map(|a| a.timestamp_ms).collect()
        };
        let with_lengths = Synthetic { input: Some(NamedPattern::SlowRising.pattern(1024.0)), ..severe() };
        assert_eq!(times(&severe(), 1), times(&with_lengths, 1));
        assert_ne!(times(&severe(), 1), times(&severe(), 2));
        // Six a second for ten minutes; the rule of gaps shifts the mean by a few per cent.
        assert!((times(&severe(), 1).len() as f64 / 3600.0 - 1.0).abs() < 0.15);
    }

    #[test]
    fn an_interval_of_five_seconds_lasts_the_whole_run() {
        let long = Synthetic { interval_ms: 5000.0, ..severe() };
        let last = long.arrivals(1).expect("the rates are good").last().map(|a| a.timestamp_ms);
        assert!(last.is_some_and(|t| t > 590_000));
    }

    #[test]
    fn sessions_leave_empty_lines_when_used_up_and_match_on_next_turns() {
        let turn = |input| PromptLengths { input_tokens: input, output_tokens: None };
        let sessions = [vec![turn(10), turn(1000)], vec![turn(500)]];
        let want = |input| Entry {
            timestamp_ms: 0.0,
            requests: vec![Target { input_tokens: Some(input), output_tokens: None }],
            other: (),
        };
        let lines: Vec<_> = [480.0, 1000.0, 12.0, 1.0].map(want).to_vec();
        let chosen = |most| -> Vec<Option<(usize, usize)>> {
            let made = choose(&lines, Collection::Sessions(&sessions), most, 0.5, 1);
            made.iter().map(|line| line.requests.first().map(|c| (c.item, c.turn))).collect()
        };
        assert_eq!(chosen(0), [Some((1, 0)), Some((0, 0)), Some((0, 1)), None]);
        assert_eq!(chosen(1), [Some((0, 0)), Some((0, 1)), Some((1, 0)), None]);
    }
}
