//! Why did this request wait? Its time, taken apart, and what stood in its way.

mod by_request;
pub mod cause;
pub mod delays;
mod gateway;
mod holders;
mod iterations;
mod queue;
pub mod request_time;

use crate::gateway::config::Check;
use crate::gateway::log::GatewayHoldReason;
use crate::report::{LatencyBreakdown, Report};
use crate::request::{BlockReason, Outcome};

/// What a request mostly waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It was refused, or its client went away before it was served.
    NotServed,
    /// It never got its turn: the head of the waiting queue can never be admitted.
    StuckForever,
    /// The head of the waiting queue found no memory.
    Memory,
    /// The prompts before it filled `batch_max_tokens`.
    PromptBudget,
    /// The batch was at `max_running_requests`.
    RunningCap,
    /// Every LoRA slot was used by another adapter.
    LoraSlots,
    /// The rule of so many decode iterations between prefills, an iteration under way, or the idle poll.
    NextDecision,
    /// It stood still while others were prefilled.
    Stalled,
    /// It was preempted to make room for others.
    Evicted,
    /// A quota of its client at the gateway, or its client's concurrency.
    GatewayQuota,
    /// The gateway foresaw no room in KV memory, or the engine had as many requests as it may.
    GatewayRoom,
    /// Others were before it in the gateway's order of service, or its client had had more than its share.
    GatewayOrder,
    /// It was refused, and came again later.
    GatewayRetry,
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
            Self::LoraSlots => "why.lora_slots",
            Self::NextDecision => "why.next_decision",
            Self::Stalled => "why.stalled",
            Self::Evicted => "why.evicted",
            Self::GatewayQuota => "why.gateway_quota",
            Self::GatewayRoom => "why.gateway_room",
            Self::GatewayOrder => "why.gateway_order",
            Self::GatewayRetry => "why.gateway_retry",
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
    pub split: LatencyBreakdown,
    /// Time in the waiting queue while the head found no memory, microseconds.
    pub memory_us: f64,
    /// Time in the waiting queue while the prompt budget was full.
    pub prompt_budget_us: f64,
    /// Time in the waiting queue while the batch was full.
    pub running_cap_us: f64,
    /// Time in the waiting queue while every LoRA slot was used by another adapter.
    pub lora_slots_us: f64,
    /// Time in the waiting queue until the next decision, with nothing else in the way.
    pub next_decision_us: f64,
    /// Time at the gateway in its last attempt, and what held it there last; before that, with its client.
    pub gateway_us: f64,
    /// Of those.
    pub held: GatewayHoldReason,
    /// Time from its first attempt to its last one.
    pub retrying_us: f64,
    /// Time from its last iteration before each eviction to the next one.
    pub evicted_us: f64,
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
    let (running, kv_tokens) = batch_at(report, report.replica(id), arrival);
    let mut why = Explanation {
        reason: Reason::NotServed,
        split: report.split(id).unwrap_or_default(),
        memory_us: 0.0,
        prompt_budget_us: 0.0,
        running_cap_us: 0.0,
        lora_slots_us: 0.0,
        next_decision_us: 0.0,
        gateway_us: 0.0,
        held: GatewayHoldReason::Nothing,
        retrying_us: 0.0,
        evicted_us: evicted_us(report, id),
        ahead: waiting_ahead(report, id),
        running,
        kv_tokens,
    };
    let came_in = pass_gateway(report, id, &mut why).unwrap_or(arrival);
    if let Some(scheduled) = report.scheduled_us(id) {
        share_out_queue(report, id, came_in, scheduled, &mut why);
        why.reason = main_reason(&why);
    } else if report.results[id].outcome == Outcome::Unfinished {
        why.reason = Reason::StuckForever;
    }
    why
}

/// The time before the engine knew of a request, and when that was.
fn pass_gateway(report: &Report, id: usize, why: &mut Explanation) -> Option<f64> {
    let log = report.gateway.as_deref()?;
    let (passage, forwarded_us) = (&log.passages[id], log.forwarded_us[id]);
    let came_in = Some(forwarded_us).filter(|at| !at.is_nan())?;
    why.gateway_us = forwarded_us - passage.asked_us;
    why.retrying_us = passage.asked_us - report.trace.arrival_us[id];
    why.held = passage.held;
    Some(came_in)
}

/// Splits the time in line by what held its head.
fn share_out_queue(report: &Report, id: usize, arrival: f64, scheduled: f64, why: &mut Explanation) {
    let replica = report.replica(id);
    let mut holds = report.timeline.holds.iter().filter(|hold| hold.replica == replica).peekable();
    // A fleet says when a waiting queue begins; S-LoRA's first decision says what there was before it.
    let mut stop = holds.peek().filter(|_| report.cost.is_none()).and_then(|first| first.stop);
    let mut from = arrival;
    let mut add = |stop: Option<BlockReason>, waited: f64| match stop {
        Some(BlockReason::Memory) => why.memory_us += waited,
        Some(BlockReason::PromptBudget) => why.prompt_budget_us += waited,
        Some(BlockReason::RunningCap) => why.running_cap_us += waited,
        Some(BlockReason::LoraSlots) => why.lora_slots_us += waited,
        None => why.next_decision_us += waited,
    };
    for hold in holds.take_while(|hold| hold.start_us < scheduled) {
        // A decision before the arrival stopped at another request; it says what the waiting queue stood for all the same.
        if hold.start_us > arrival {
            add(stop, hold.start_us - from);
            from = hold.start_us;
        }
        stop = hold.stop;
    }
    add(stop, (scheduled - from).max(0.0));
}

fn main_reason(why: &Explanation) -> Reason {
    let held_up = [
        (Reason::Memory, why.memory_us),
        (Reason::PromptBudget, why.prompt_budget_us),
        (Reason::RunningCap, why.running_cap_us),
        (Reason::LoraSlots, why.lora_slots_us),
        (Reason::NextDecision, why.next_decision_us),
        (Reason::Stalled, why.split.stalled_us - why.evicted_us),
        (Reason::Evicted, why.evicted_us),
        (Reason::AdapterLoad, why.split.load_us),
        (Reason::GatewayRetry, why.retrying_us),
        (at_gateway(why.held), why.gateway_us),
    ];
    let (reason, most) = held_up.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).expect("there are ten");
    let own = why.split.prefill_us + why.split.decode_us;
    if most >= 0.1 * own {
        reason
    } else if why.split.prefill_us > why.split.decode_us {
        Reason::Prefill
    } else {
        Reason::Decode
    }
}

/// What a wait at the gateway was for.
fn at_gateway(held: GatewayHoldReason) -> Reason {
    match held {
        GatewayHoldReason::By(Check::Rpm | Check::Tpm) => Reason::GatewayQuota,
        GatewayHoldReason::By(_) => Reason::GatewayRoom,
        GatewayHoldReason::Nothing | GatewayHoldReason::Behind | GatewayHoldReason::FairShare => {
            Reason::GatewayOrder
        }
    }
}

/// Requests of the waiting queue that were in front of `id`: arrived earlier, were not yet scheduled, nor gone, and were not
/// admitted after it, whatever the order of service.
fn waiting_ahead(report: &Report, id: usize) -> u32 {
    let (arrival, own) = (report.trace.arrival_us[id], report.scheduled_us(id).unwrap_or(f64::INFINITY));
    let ahead = (0..id).filter(|&other| match report.results[other].outcome {
        Outcome::Rejected(_) => false,
        _ if report.replica(other) != report.replica(id) => false,
        _ => report.scheduled_us(other).is_none_or(|t| t > arrival && t <= own),
    });
    ahead.count() as u32
}

/// Time that a request was out of the batch between its iterations.
fn evicted_us(report: &Report, id: usize) -> f64 {
    let its_own = report.timeline.preemption_intervals.iter().filter(|out| out.request as usize == id);
    its_own.map(|out| out.end_us - out.start_us).sum()
}

/// Requests that hold memory on a replica and their KV tokens at a time, over the batches in the stages.
fn batch_at(report: &Report, replica: u16, time_us: f64) -> (u32, f64) {
    let runs = report.timeline.iterations.of_replica(replica).take_while(|run| run.start_us <= time_us);
    runs.filter(|run| time_us < run.end_us).fold((0, 0.0), |(requests, kv_tokens), run| {
        let done = (time_us - run.start_us) / (run.end_us - run.start_us) * f64::from(run.iterations);
        let kv_tokens = kv_tokens + run.kv_tokens + done.floor() * f64::from(run.decodes);
        (requests + run.requests() + run.stalled, kv_tokens)
    })
}
