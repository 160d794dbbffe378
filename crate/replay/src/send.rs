//! A whole run: requests sent when they are due, each in a thread, until all have ended or the time is over.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, Scope, scope};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::answer::Answer;
use crate::exchange::{Client, Exchange, Failure, agent};
use crate::exposition::Exposition;
use crate::plan::{Limits, Plan};
use crate::schedule::Schedule;
use crate::server::{Usage, agent as asking, text, usage};
use crate::target::Target;

/// Stack of a request's thread, bytes.
const STACK: usize = 1 << 18;
/// Time between two looks at the server's metrics.
const LOOK: Duration = Duration::from_secs(1);

/// A request that was sent. Times are microseconds from the start of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    /// Its place in the plan.
    pub place: usize,
    /// When it was due.
    pub due_us: f64,
    /// When it was sent.
    pub sent_us: f64,
    /// When the header of its answer had come.
    pub headers_us: Option<f64>,
    /// When each chunk with text came.
    pub chunks_us: Vec<f64>,
    /// When its answer ended.
    pub end_us: f64,
    /// What the answer says.
    pub answer: Answer,
    /// Why it has no whole answer.
    pub failure: Option<Failure>,
}

impl Sent {
    /// Output tokens: by the server's count, else the chunks with text.
    pub fn output_tokens(&self) -> u32 {
        self.answer.completion_tokens.unwrap_or(self.answer.chunks as u32)
    }
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Every request that was sent, in the order of sending.
    pub sent: Vec<Sent>,
    /// Requests that were not sent because the time of the run was over.
    pub not_sent: usize,
    /// Requests of a closed loop whose time lies behind the end of the workload.
    pub dropped: usize,
    /// The start by the clock of all times.
    pub epoch: Instant,
    /// The start by the wall clock, nanoseconds since 1970.
    pub epoch_ns: u64,
    /// How long the run took, seconds.
    pub took_s: f64,
    /// How full the server was, where it reports it.
    pub usage: Option<Usage>,
}

/// How late requests were sent, seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Lateness {
    /// Half of the requests were sent at most so late.
    pub p50_s: f64,
    /// 99 % of them.
    pub p99_s: f64,
    /// All of them.
    pub max_s: f64,
}

impl Outcome {
    /// How late requests were sent.
    pub fn lateness(&self) -> Lateness {
        let mut late_s: Vec<f64> = self.sent.iter().map(|sent| (sent.sent_us - sent.due_us) / 1e6).collect();
        late_s.sort_by(f64::total_cmp);
        let at = |share: f64| match late_s.len() {
            0 => 0.0,
            count => late_s[((share * count as f64).ceil() as usize).clamp(1, count) - 1],
        };
        Lateness { p50_s: at(0.5), p99_s: at(0.99), max_s: at(1.0) }
    }
}

/// Sends a plan's requests; `ended` is notified of each that has ended, with how many have.
pub fn replay(
    target: &Target,
    plan: &Plan,
    limits: &Limits,
    api_key: Option<&str>,
    looks_at_metrics: bool,
    mut ended: impl FnMut(&Sent, usize),
) -> Outcome {
    let is_cut = AtomicBool::new(false);
    let epoch_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let client = Client {
        agent: agent(target, limits),
        target,
        api_key,
        limits,
        epoch: Instant::now(),
        is_cut: &is_cut,
    };
    let seen = Mutex::new(None);
    let (stop, stopped) = channel();
    let place = &seen;
    let (mut sent, dropped) = scope(|threads| {
        if looks_at_metrics {
            threads.spawn(move || watch(target, api_key, &stopped, place));
        }
        let sent = run(threads, &client, plan, &mut ended);
        drop(stop);
        sent
    });
    sent.sort_by(|a, b| a.sent_us.total_cmp(&b.sent_us));
    let usage = seen.into_inner().unwrap_or_default();
    Outcome {
        not_sent: plan.requests.len() - sent.len() - dropped,
        dropped,
        sent,
        epoch: client.epoch,
        epoch_ns,
        took_s: client.now_us() / 1e6,
        usage,
    }
}

type Ended = (usize, f64, Exchange);

fn run<'s, 'c: 's>(
    threads: &'s Scope<'s, 'c>,
    client: &'c Client<'c>,
    plan: &'c Plan,
    ended: &mut impl FnMut(&Sent, usize),
) -> (Vec<Sent>, usize) {
    let (done, exchanges): (Sender<Ended>, Receiver<Ended>) = channel();
    let mut schedule = Schedule::new(plan, client.limits);
    let mut all = Vec::new();
    let last_us = client.limits.run_s * 1e6;
    while !schedule.is_over() {
        let now_us = client.now_us();
        if now_us >= last_us {
            break;
        }
        if let Some((place, due_us)) = schedule.take(now_us) {
            start(threads, client, plan, &done, (place, due_us));
            continue;
        }
        let next_us = schedule.next_us().unwrap_or(last_us).min(last_us);
        let wait = Duration::from_secs_f64((next_us - now_us).max(0.0) / 1e6);
        match exchanges.recv_timeout(wait) {
            Ok(exchange) => take(exchange, &mut schedule, &mut all, ended),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    if schedule.in_flight() > 0 {
        client.is_cut.store(true, Ordering::Relaxed);
        client.agent.clone().shutdown();
        while schedule.in_flight() > 0 {
            let Ok(exchange) = exchanges.recv() else { break };
            take(exchange, &mut schedule, &mut all, ended);
        }
    }
    (all, schedule.dropped())
}

fn start<'s, 'c: 's>(
    threads: &'s Scope<'s, 'c>,
    client: &'c Client<'c>,
    plan: &'c Plan,
    done: &Sender<Ended>,
    (place, due_us): (usize, f64),
) {
    let ended = done.clone();
    let spawned = Builder::new().stack_size(STACK).spawn_scoped(threads, move || {
        // The receiver is there until the last request has ended.
        let _ = ended.send((place, due_us, client.exchange(&plan.requests[place])));
    });
    if let Err(error) = spawned {
        let _ = done.send((place, due_us, client.without_thread(&error)));
    }
}

fn take(
    (place, due_us, exchange): Ended,
    schedule: &mut Schedule<'_>,
    all: &mut Vec<Sent>,
    ended: &mut impl FnMut(&Sent, usize),
) {
    schedule.ended(place, exchange.end_us);
    let Exchange { sent_us, headers_us, chunks_us, end_us, answer, failure } = exchange;
    all.push(Sent { place, due_us, sent_us, headers_us, chunks_us, end_us, answer, failure });
    if let Some(last) = all.last() {
        ended(last, all.len());
    }
}

/// Looks at the server's metrics until the run has ended, and once more.
fn watch(target: &Target, api_key: Option<&str>, stopped: &Receiver<()>, seen: &Mutex<Option<Usage>>) {
    let agent = asking(target);
    let look = || {
        text(&agent, target, "/metrics", api_key).ok().flatten().map(|text| usage(&Exposition::read(&text)))
    };
    let Some(first) = look() else { return };
    let mut over = first;
    loop {
        let is_over = stopped.recv_timeout(LOOK) != Err(RecvTimeoutError::Timeout);
        if let Some(later) = look() {
            over = over.then(later);
        }
        if is_over {
            break;
        }
    }
    if let Ok(mut place) = seen.lock() {
        *place = Some(over.since(&first));
    }
}
