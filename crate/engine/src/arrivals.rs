//! Which request arrives next: requests at their own times, and held ones when those before them have ended.
//!
//! An open trace costs a place in its columns. Where requests are held, an end puts its followers into a heap by the time
//! at which they are sent, so that an arrival costs O(log n).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use servescope_workload::trace::{ClosedLoop, NO_REQUEST};
use servescope_workload::{RequestId, Trace};

use crate::request::RequestResult;

/// The arrivals of a trace, as far as they are known.
#[derive(Debug, Clone)]
pub(crate) struct KnownArrivals {
    /// The next request that waits for no request, and when it arrives; infinite where there is none.
    next: usize,
    next_us: f64,
    held: Option<Box<WaitingTurn>>,
}

/// The part of [`KnownArrivals`] for a trace in which a request waits for another.
#[derive(Debug, Clone)]
struct WaitingTurn {
    /// Followers of each request, one request after another: those of `i` end at `ends[i]`.
    followers: Vec<RequestId>,
    ends: Vec<u32>,
    /// Where any end lets the next request go: the place in `followers` of the next one.
    next_shared: usize,
    /// (time as bits, whose end let it go, request). Bits of numbers from 0 on are in the order of the numbers.
    due: BinaryHeap<Reverse<(u64, RequestId, RequestId)>>,
    /// Requests in the order in which they were sent, and when.
    sent: Vec<RequestId>,
    /// When each request was sent; infinite = not yet.
    sent_us: Vec<f64>,
}

impl WaitingTurn {
    /// Sorts requests by the request that they wait for (counting sort).
    fn of(closed_loop: &ClosedLoop) -> Self {
        let n = closed_loop.depends_on.len();
        if closed_loop.is_shared {
            let held =
                RequestId::first(n).zip(&closed_loop.depends_on).filter(|&(_, &before)| before != NO_REQUEST);
            return Self { followers: held.map(|(id, _)| id).collect(), ..Self::unsorted(n) };
        }
        let waits =
            || RequestId::first(n).zip(&closed_loop.depends_on).filter(|&(_, &before)| (before as usize) < n);
        let mut ends = vec![0u32; n];
        waits().for_each(|(_, &before)| ends[before as usize] += 1);
        let mut total = 0;
        for end in &mut ends {
            // The start of each stretch; filling it moves it to the end.
            total += std::mem::replace(end, total);
        }
        let mut followers = vec![RequestId::default(); total as usize];
        for (id, &before) in waits() {
            let end = &mut ends[before as usize];
            followers[*end as usize] = id;
            *end += 1;
        }
        Self { followers, ends, ..Self::unsorted(n) }
    }

    /// No request waits for another yet.
    fn unsorted(n: usize) -> Self {
        Self {
            followers: Vec::new(),
            ends: Vec::new(),
            next_shared: 0,
            due: BinaryHeap::new(),
            sent: Vec::with_capacity(n),
            sent_us: vec![f64::INFINITY; n],
        }
    }

    /// The followers that the end of request `i` sends next, as places.
    fn release_followers(&mut self, closed_loop: &ClosedLoop, i: usize) -> std::ops::Range<usize> {
        if closed_loop.is_shared {
            let next = self.next_shared;
            self.next_shared = (next + 1).min(self.followers.len());
            return next..self.next_shared;
        }
        let start = i.checked_sub(1).map_or(0, |before| self.ends[before]);
        start as usize..self.ends[i] as usize
    }

    fn due_us(&self) -> f64 {
        self.due.peek().map_or(f64::INFINITY, |&Reverse((bits, ..))| f64::from_bits(bits))
    }
}

impl KnownArrivals {
    pub(crate) fn of(trace: &Trace) -> Self {
        let held = trace.closed_loop.as_ref().map(|closed_loop| Box::new(WaitingTurn::of(closed_loop)));
        let mut arrivals = Self { next: 0, next_us: f64::INFINITY, held };
        arrivals.go_to(trace, 0);
        arrivals
    }

    /// Moves on to a request, or behind it to the next that waits for no request. One that waits for a request that is not there
    /// is never sent.
    fn go_to(&mut self, trace: &Trace, next: usize) {
        self.next = next;
        if let Some(closed_loop) = &trace.closed_loop {
            while closed_loop.depends_on.get(self.next).is_some_and(|&before| before != NO_REQUEST) {
                self.next += 1;
            }
        }
        self.next_us = trace.arrival_us.get(self.next).copied().unwrap_or(f64::INFINITY);
    }

    /// How many requests have arrived.
    pub(crate) fn seen(&self) -> usize {
        self.held.as_ref().map_or(self.next, |held| held.sent.len())
    }

    /// Whether a request has come in.
    pub(crate) fn has_sent(&self, id: RequestId) -> bool {
        let i = id.index();
        self.held.as_ref().map_or(i < self.next, |held| held.sent_us[i] < f64::INFINITY)
    }

    /// When each request came in, where requests are held.
    pub(crate) fn sent_us(&self) -> Option<&[f64]> {
        self.held.as_ref().map(|held| held.sent_us.as_slice())
    }

    /// The requests that came in, in that order, where requests are held.
    pub(crate) fn sent(&self) -> Option<&[RequestId]> {
        self.held.as_ref().map(|held| held.sent.as_slice())
    }

    /// When the next request arrives, as far as is known, infinite where none does; at equal times those that wait for no request
    /// come first.
    #[inline]
    pub(crate) fn due_us(&self) -> f64 {
        match &self.held {
            None => self.next_us,
            Some(held) => self.next_us.min(held.due_us()),
        }
    }

    /// The next request that arrives up to `until_us`, with its time.
    #[inline]
    pub(crate) fn next_until(&mut self, trace: &Trace, until_us: f64) -> Option<(RequestId, f64)> {
        let at_us = self.due_us();
        if at_us > until_us || at_us == f64::INFINITY {
            return None;
        }
        if self.held.is_some() {
            return self.next_held(trace, at_us);
        }
        let id = RequestId::new(self.next as u32);
        self.go_to(trace, self.next + 1);
        Some((id, at_us))
    }

    /// The request that arrives at a time, where requests are held.
    fn next_held(&mut self, trace: &Trace, at_us: f64) -> Option<(RequestId, f64)> {
        let id = if self.next_us == at_us {
            let id = RequestId::new(self.next as u32);
            self.go_to(trace, self.next + 1);
            id
        } else {
            self.held.as_mut()?.due.pop()?.0.2
        };
        if let Some(held) = &mut self.held {
            held.sent.push(id);
            held.sent_us[id] = at_us;
        }
        Some((id, at_us))
    }

    /// A request has come to its end: the request that waits for it thinks, and sends.
    pub(crate) fn ended(&mut self, trace: &Trace, id: RequestId, at_us: f64) {
        let (Some(held), Some(closed_loop)) = (&mut self.held, &trace.closed_loop) else { return };
        for place in held.release_followers(closed_loop, id.index()) {
            let follower = held.followers[place];
            let earliest = trace.arrival_us[follower];
            // Adding 0 turns -0, whose bits are out of order, into 0.
            let due = (at_us + closed_loop.think_us[follower]).max(earliest) + 0.0;
            if due < closed_loop.until_us {
                held.due.push(Reverse((due.to_bits(), id, follower)));
            }
        }
    }

    /// The client of a waiting request goes away. One that is not sent yet ends when it is.
    pub(crate) fn client_cancelled(&mut self, trace: &Trace, id: RequestId, at_us: f64) {
        if self.held.as_ref().is_some_and(|held| held.sent_us[id] <= at_us) {
            self.ended(trace, id, at_us);
        }
    }

    /// The requests that were sent, in that order and with those times, and their results. An open trace is as it was.
    pub(crate) fn into_sent(
        self,
        trace: Arc<Trace>,
        results: Vec<RequestResult>,
    ) -> (Arc<Trace>, Vec<RequestResult>) {
        let Some(held) = self.held else { return (trace, results) };
        let mut sent = trace.select(&held.sent.iter().map(|id| id.get()).collect::<Vec<_>>());
        for (time, &id) in sent.arrival_us.iter_mut().zip(&held.sent) {
            *time = held.sent_us[id];
        }
        (Arc::new(sent), held.sent.iter().map(|&id| results[id]).collect())
    }
}
