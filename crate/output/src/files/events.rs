//! `events.csv`: what happened to requests, in order of time.

use std::fmt;

use servescope_engine::gateway::log::Retry;
use servescope_engine::metrics::departures::left_us;
use servescope_engine::{Outcome, Rejection, Report};

/// What happens to a request. Events at the same time come in this order, but never against the order of their request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    /// It is sent for the first time.
    Arrived,
    /// The gateway rejected an attempt, and the client will send it again.
    AttemptRejected,
    /// An attempt timed out at the gateway, and the client will send it again.
    AttemptTimedOut,
    /// It is sent again.
    Retried,
    /// The gateway passed it on to the engine.
    Admitted,
    /// It was rejected for good.
    Refused,
    /// It waited longer than it may, for good.
    TimedOut,
    /// Its client went away.
    Left,
    /// It joined an iteration for the first time.
    Scheduled,
    /// It lost its place in the batch.
    Preempted,
    /// It joined an iteration again.
    Resumed,
    /// Its first token is there.
    FirstToken,
    /// Its last token is there.
    Finished,
}

impl EventKind {
    /// Whether it happens before a gateway passes its request on, so that no replica is chosen yet.
    fn is_before_router(self) -> bool {
        matches!(self, Self::Arrived | Self::AttemptRejected | Self::AttemptTimedOut | Self::Retried)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Arrived => "arrived",
            Self::AttemptRejected => "attempt_rejected",
            Self::AttemptTimedOut => "attempt_timed_out",
            Self::Retried => "retried",
            Self::Admitted => "admitted",
            Self::Refused => "refused",
            Self::TimedOut => "timed_out",
            Self::Left => "left",
            Self::Scheduled => "scheduled",
            Self::Preempted => "preempted",
            Self::Resumed => "resumed",
            Self::FirstToken => "first_token",
            Self::Finished => "finished",
        }
    }
}

/// One event.
#[derive(Debug, Clone, Copy)]
struct EventRow {
    time_us: f64,
    /// Its place among events of the same time.
    rank: EventKind,
    kind: EventKind,
    id: u32,
    /// Number of the attempt at a gateway; 0 = it belongs to none.
    attempt: u8,
    reason: Option<Rejection>,
}

/// The file as text.
pub fn events_csv(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_events_csv(report, &mut text);
    text
}

/// Writes the file: seconds, the event, the request, its replica where one was chosen by then, the number of the attempt where
/// the event is one of a gateway, and the reason of a rejection.
///
/// # Errors
/// Those of `to`.
pub fn write_events_csv(report: &Report, to: &mut dyn fmt::Write) -> fmt::Result {
    to.write_str("time_s,event,request,replica,attempt,reason\n")?;
    for EventRow { time_us, kind, id, attempt, reason, .. } in events(report) {
        write!(to, "{},{},{id},", time_us / 1e6, kind.name())?;
        if has_replica(report, id as usize) && !(report.gateway.is_some() && kind.is_before_router()) {
            write!(to, "{}", report.replica(id as usize))?;
        }
        to.write_char(',')?;
        if attempt > 0 {
            write!(to, "{attempt}")?;
        }
        writeln!(to, ",{}", reason.map_or("", Rejection::name))?;
    }
    Ok(())
}

/// Whether a request was given to a replica.
fn has_replica(report: &Report, id: usize) -> bool {
    let is_refused = matches!(report.results[id].outcome, Outcome::Rejected(_));
    !is_refused && report.gateway.as_deref().is_none_or(|log| !log.forwarded_us[id].is_nan())
}

/// All events in the order of the file.
fn events(report: &Report) -> Vec<EventRow> {
    let mut parts = EventParts::of(report);
    let mut events: Vec<EventRow> = Vec::with_capacity(4 * report.results.len());
    for id in 0..report.results.len() {
        let first = events.len();
        parts.story(report, id, &mut events);
        for place in first + 1..events.len() {
            let before = events[place - 1];
            if before.time_us == events[place].time_us {
                events[place].rank = events[place].rank.max(before.rank);
            }
        }
    }
    // Stable: events of one request stay in their order.
    events.sort_by(|a, b| a.time_us.total_cmp(&b.time_us).then(a.rank.cmp(&b.rank)).then(a.id.cmp(&b.id)));
    events
}

/// Events of requests that have lists of their own, by request and then in order of time.
struct EventParts {
    left_us: Vec<f64>,
    retries: Vec<Retry>,
    /// When a request was preempted, and resumed.
    preempted: Vec<(u32, f64)>,
    resumed: Vec<(u32, f64)>,
    /// How many of each list are written.
    written: [usize; 3],
}

impl EventParts {
    fn of(report: &Report) -> Self {
        let mut retries = report.gateway.as_deref().map_or_else(Vec::new, |log| log.retries.kept().to_vec());
        let timeline = &report.timeline;
        let mut preempted: Vec<(u32, f64)> =
            timeline.preemptions.iter().map(|e| (e.id.get(), e.time_us)).collect();
        let mut resumed: Vec<(u32, f64)> =
            timeline.preemption_intervals.iter().map(|a| (a.request.get(), a.end_us)).collect();
        // Each list is in order of time.
        retries.sort_by_key(|retry| retry.id);
        preempted.sort_by_key(|event| event.0);
        resumed.sort_by_key(|event| event.0);
        Self { left_us: left_us(report).0, retries, preempted, resumed, written: [0; 3] }
    }

    /// The events of the next request, in their order.
    fn story(&mut self, report: &Report, place: usize, events: &mut Vec<EventRow>) {
        let (id, result) = (place as u32, &report.results[place]);
        let mut add = |time_us: f64, kind: EventKind, attempt: u8, reason: Option<Rejection>| {
            events.push(EventRow { time_us, rank: kind, kind, id, attempt, reason });
        };
        let log = report.gateway.as_deref();
        let attempts = log.map_or(0, |log| log.passages[place].attempts);
        add(report.trace.arrival_us[place], EventKind::Arrived, attempts.min(1), None);
        while let Some(retry) = self.retries.get(self.written[0]).filter(|retry| retry.id.get() == id) {
            self.written[0] += 1;
            let kind =
                if retry.reason.is_some() { EventKind::AttemptRejected } else { EventKind::AttemptTimedOut };
            add(retry.answered_us, kind, retry.attempt, retry.reason);
            // Unless its client went away before.
            if attempts > retry.attempt {
                add(retry.again_us, EventKind::Retried, retry.attempt + 1, None);
            }
        }
        if let Some(forwarded_us) = log.map(|log| log.forwarded_us[place]).filter(|at| !at.is_nan()) {
            add(forwarded_us, EventKind::Admitted, attempts, None);
        }
        if let Some(scheduled_us) = report.scheduled_us(place) {
            add(scheduled_us, EventKind::Scheduled, 0, None);
        }
        let mut first_token_us = report.first_token_us(place);
        while let Some(&(_, out_us)) = self.preempted.get(self.written[1]).filter(|event| event.0 == id) {
            self.written[1] += 1;
            if let Some(first_us) = first_token_us.filter(|&at| at <= out_us) {
                first_token_us = None;
                add(first_us, EventKind::FirstToken, 0, None);
            }
            add(out_us, EventKind::Preempted, 0, None);
            if let Some(&(_, back_us)) = self.resumed.get(self.written[2]).filter(|event| event.0 == id) {
                self.written[2] += 1;
                // A token that was under way at the preemption.
                if let Some(first_us) = first_token_us.take_if(|at| *at <= back_us) {
                    add(first_us, EventKind::FirstToken, 0, None);
                }
                add(back_us, EventKind::Resumed, 0, None);
            }
        }
        if let Some(first_us) = first_token_us {
            add(first_us, EventKind::FirstToken, 0, None);
        }
        let left_us = self.left_us[place];
        match result.outcome {
            Outcome::Completed => add(left_us, EventKind::Finished, 0, None),
            Outcome::Cancelled => add(left_us, EventKind::Left, 0, None),
            Outcome::TimedOut => add(left_us, EventKind::TimedOut, attempts, None),
            Outcome::Rejected(reason) => add(left_us, EventKind::Refused, attempts, Some(reason)),
            Outcome::Unfinished => {}
        }
    }
}
