//! Why did this request wait? Its time, taken apart, and what stood in its way.

use crate::report::{Outcome, Report, Split};
use crate::scheduler::Stop;
use crate::timeline::{IterationRun, Span};

/// What a request mostly waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It was refused, or its client went away before it was served.
    NotServed,
    /// It never got its turn: the head of the line can never be admitted.
    StuckForever,
    /// The head of the line found no memory.
    Memory,
    /// The prompts before it filled `batch_max_tokens`.
    PromptBudget,
    /// The batch was at `max_running_requests`.
    RunningCap,
    /// The rule of so many decode iterations between prefills, an iteration under way, or the idle poll.
    NextDecision,
    /// It stood still while others were prefilled.
    Stalled,
    /// Adapters were loaded.
    AdapterLoad,
    /// Its own prompt.
    Prefill,
    /// Its own answer: nothing held it up.
    Decode,
}

impl Reason {
    /// The message key of the page.
    pub fn key(self) -> &'static str {
        match self {
            Self::NotServed => "why.not_served",
            Self::StuckForever => "why.stuck",
            Self::Memory => "why.memory",
            Self::PromptBudget => "why.prompt_budget",
            Self::RunningCap => "why.running_cap",
            Self::NextDecision => "why.next_decision",
            Self::Stalled => "why.stalled",
            Self::AdapterLoad => "why.adapter_load",
            Self::Prefill => "why.prefill",
            Self::Decode => "why.decode",
        }
    }
}

/// Why one request took as long as it did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Explanation {
    /// The largest part that is not its own work, or its own work where nothing held it up.
    pub reason: Reason,
    /// Where its time went; zeros for a request that was not served.
    pub split: Split,
    /// Time in the line while the head found no memory, microseconds.
    pub memory_us: f64,
    /// Time in the line while the prompt budget was full.
    pub prompt_budget_us: f64,
    /// Time in the line while the batch was full.
    pub running_cap_us: f64,
    /// Time in the line until the next decision, with nothing else in the way.
    pub next_decision_us: f64,
    /// Requests waiting in front of it when it arrived.
    pub ahead: u32,
    /// Requests in the batch when it arrived.
    pub running: u32,
    /// KV tokens in use when it arrived.
    pub kv_tokens: f64,
}

/// Explains request `id`.
pub fn explain(report: &Report, id: usize) -> Explanation {
    let arrival = report.trace.arrival_us[id];
    let (running, kv_tokens) = batch_at(report, arrival);
    let mut why = Explanation {
        reason: Reason::NotServed,
        split: report.split(id).unwrap_or_default(),
        memory_us: 0.0,
        prompt_budget_us: 0.0,
        running_cap_us: 0.0,
        next_decision_us: 0.0,
        ahead: waiting_ahead(report, id),
        running,
        kv_tokens,
    };
    if let Some(scheduled) = report.scheduled_us(id) {
        share_out_queue(report, arrival, scheduled, &mut why);
        why.reason = main_reason(&why);
    } else if report.fates[id].outcome == Outcome::Unfinished {
        why.reason = Reason::StuckForever;
    }
    why
}

/// Splits the time in line by what the decisions before its own stopped at.
fn share_out_queue(report: &Report, arrival: f64, scheduled: f64, why: &mut Explanation) {
    let holds = &report.timeline.holds;
    let last_before = holds.partition_point(|h| h.start_us <= arrival).saturating_sub(1);
    let mut from = arrival;
    for (i, hold) in holds.iter().enumerate().skip(last_before) {
        if hold.start_us >= scheduled {
            break;
        }
        let until = holds.get(i + 1).map_or(scheduled, |next| next.start_us).clamp(arrival, scheduled);
        // A decision before the arrival stopped at somebody else; it says what the line stood for all the same.
        let waited = (until - from).max(0.0);
        match hold.stop {
            Some(Stop::Memory) => why.memory_us += waited,
            Some(Stop::PromptBudget) => why.prompt_budget_us += waited,
            Some(Stop::RunningCap) => why.running_cap_us += waited,
            None => why.next_decision_us += waited,
        }
        from = until.max(from);
    }
    why.next_decision_us += (scheduled - from).max(0.0);
}

fn main_reason(why: &Explanation) -> Reason {
    let held_up = [
        (Reason::Memory, why.memory_us),
        (Reason::PromptBudget, why.prompt_budget_us),
        (Reason::RunningCap, why.running_cap_us),
        (Reason::NextDecision, why.next_decision_us),
        (Reason::Stalled, why.split.stalled_us),
        (Reason::AdapterLoad, why.split.load_us),
    ];
    let (reason, most) = held_up.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).expect("there are six");
    let own = why.split.prefill_us + why.split.decode_us;
    if most >= 0.1 * own {
        reason
    } else if why.split.prefill_us > why.split.decode_us {
        Reason::Prefill
    } else {
        Reason::Decode
    }
}

/// Requests of the line that were in front of `id`: arrived earlier, not yet scheduled, not gone.
fn waiting_ahead(report: &Report, id: usize) -> u32 {
    let arrival = report.trace.arrival_us[id];
    let ahead = (0..id).filter(|&other| match report.fates[other].outcome {
        Outcome::Refused(_) => false,
        _ => report.scheduled_us(other).is_none_or(|t| t > arrival),
    });
    ahead.count() as u32
}

/// Size and KV tokens of the batches at a time.
fn batch_at(report: &Report, time_us: f64) -> (u32, f64) {
    if report.served.is_some() {
        return batches_at(report, time_us);
    }
    for span in report.timeline.spans() {
        match span {
            Span::Prefill(p) if p.end_us > time_us => {
                return if p.start_us <= time_us {
                    (p.stalled + p.requests, f64::from(p.kv_tokens))
                } else {
                    (0, 0.0)
                };
            }
            Span::Decode(d) if d.end_us > time_us => {
                if d.start_us > time_us {
                    return (0, 0.0);
                }
                let done = (time_us - d.start_us) / (d.end_us - d.start_us) * f64::from(d.iterations);
                return (d.requests, f64::from(d.kv_tokens) + done.floor() * f64::from(d.requests));
            }
            _ => {}
        }
    }
    (0, 0.0)
}

/// The same over all replicas of a fleet.
fn batches_at(report: &Report, time_us: f64) -> (u32, f64) {
    let under_way = |run: &IterationRun| run.start_us <= time_us && time_us < run.end_us;
    report.timeline.iterations.iter().filter(under_way).fold((0, 0.0), |(requests, kv_tokens), run| {
        let done = (time_us - run.start_us) / (run.end_us - run.start_us) * f64::from(run.iterations);
        (requests + run.requests(), kv_tokens + run.kv_tokens + done.floor() * f64::from(run.decodes))
    })
}
