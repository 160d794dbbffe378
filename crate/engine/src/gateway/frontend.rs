//! What comes in at the engine: straight from the clients, or through the proxy.

use std::sync::Arc;

use servescope_workload::{RequestId, Trace};

use super::config::GatewayConfig;
use super::log::GatewayLog;
use super::proxy::{EngineEvent, GatewayOutcome, KvUsageProbe, Proxy};
use crate::arrivals::KnownArrivals;
use crate::record::decisions::DecisionLog;
use crate::replica::batch_scheduler::EngineArrivals;
use crate::request::RequestResult;

/// When something happens next at the proxy or comes in, if that is by `until_us`.
#[inline]
fn due_until(proxy: &mut Proxy, arrivals: &KnownArrivals, until_us: f64) -> Option<f64> {
    let due_us = arrivals.due_us().min(proxy.due_us());
    (due_us < f64::INFINITY && due_us <= until_us).then_some(due_us)
}

/// Lets happen at the proxy what is due at `due_us`.
#[inline]
fn happens(
    proxy: &mut Proxy,
    arrivals: &mut KnownArrivals,
    trace: &Trace,
    due_us: f64,
    probe: &dyn KvUsageProbe,
) {
    if proxy.due_us() <= due_us {
        proxy.advance_to(trace, due_us, probe);
    } else if let Some((id, at_us)) = arrivals.next_until(trace, due_us) {
        if proxy.is_gone(id) {
            arrivals.ended(trace, id, at_us);
        } else {
            proxy.submit_attempt(trace, id, at_us, probe);
        }
    }
}

/// The clients of a trace and, if there is one, the proxy before the engine.
#[derive(Debug, Clone)]
pub(crate) struct Frontend {
    arrivals: KnownArrivals,
    proxy: Option<Box<Proxy>>,
}

impl EngineArrivals for Frontend {
    fn sent_us(&self) -> Option<&[f64]> {
        match self.proxy.as_deref() {
            Some(proxy) => Some(proxy.forwarded_us()),
            None => self.arrivals.sent_us(),
        }
    }
}

impl Frontend {
    pub(crate) fn direct(trace: &Trace) -> Self {
        Self { arrivals: KnownArrivals::of(trace), proxy: None }
    }

    /// Puts the proxy in between; nothing must have come in yet.
    pub(crate) fn set_proxy(&mut self, config: GatewayConfig, trace: &Trace) {
        self.proxy = Some(Box::new(Proxy::new(config, trace)));
    }

    /// Keeps the proxy's decisions from now on.
    pub(crate) fn keep_decisions(&mut self) {
        if let Some(proxy) = self.proxy() {
            proxy.keep_decisions();
        }
    }

    /// The proxy's decisions so far.
    pub(crate) fn take_decisions(&mut self) -> DecisionLog {
        self.proxy().map(Proxy::take_decisions).unwrap_or_default()
    }

    /// Whether requests come in straight from the clients.
    #[inline]
    pub(crate) fn is_direct(&self) -> bool {
        self.proxy.is_none()
    }

    /// The proxy, if there is one.
    #[inline]
    pub(crate) fn proxy(&mut self) -> Option<&mut Proxy> {
        self.proxy.as_deref_mut()
    }

    /// How many requests have come in from their clients.
    pub(crate) fn seen(&self) -> usize {
        self.arrivals.seen()
    }

    /// The requests that clients sent, in that order, where some are held.
    pub(crate) fn sent(&self) -> Option<&[RequestId]> {
        self.arrivals.sent()
    }

    /// When something may come in next, as far as is known; infinite where nothing does.
    #[inline]
    pub(crate) fn due_us(&mut self) -> f64 {
        if self.proxy.is_none() { self.arrivals.due_us() } else { self.due_through_us() }
    }

    /// The same through the proxy.
    fn due_through_us(&mut self) -> f64 {
        let arrival_us = self.arrivals.due_us();
        self.proxy().map_or(arrival_us, |proxy| arrival_us.min(proxy.due_us()))
    }

    /// The next that comes in, or ends before it does, up to `until_us`, with its time.
    #[inline]
    pub(crate) fn next_until(
        &mut self,
        trace: &Trace,
        until_us: f64,
        probe: &dyn KvUsageProbe,
    ) -> Option<(GatewayOutcome, f64)> {
        if let Some(proxy) = self.proxy.as_deref_mut() {
            if proxy.decided_us().is_none() {
                let due_us = due_until(proxy, &self.arrivals, until_us)?;
                happens(proxy, &mut self.arrivals, trace, due_us, probe);
            }
            return self.next_through(trace, until_us, probe);
        }
        self.arrivals.next_until(trace, until_us).map(|(id, at_us)| (GatewayOutcome::Forward(id), at_us))
    }

    /// The same through the proxy.
    fn next_through(
        &mut self,
        trace: &Trace,
        until_us: f64,
        probe: &dyn KvUsageProbe,
    ) -> Option<(GatewayOutcome, f64)> {
        let Self { proxy, arrivals } = self;
        let proxy = proxy.as_deref_mut()?;
        let (given, at_us) = loop {
            if let Some(given) = proxy.take() {
                break given;
            }
            let due_us = due_until(proxy, arrivals, until_us)?;
            happens(proxy, arrivals, trace, due_us, probe);
        };
        if let GatewayOutcome::Rejected(id, _) | GatewayOutcome::TimedOut(id) = given {
            arrivals.ended(trace, id, at_us);
        }
        Some((given, at_us))
    }

    /// Requests at the engine hold memory from now on; they are taken out of the list.
    pub(crate) fn are_scheduled(&mut self, requests: &mut Vec<RequestId>) {
        if let Some(proxy) = self.proxy() {
            proxy.are_scheduled(requests);
        }
    }

    /// A request at the engine has its first token.
    #[inline]
    pub(crate) fn first_token(&mut self, id: RequestId, at_us: f64) {
        if let Some(proxy) = self.proxy() {
            proxy.notify(id, EngineEvent::FirstToken, at_us);
        }
    }

    /// A request at the engine has ended, complete or not: the request that waits for it thinks, and sends.
    #[inline]
    pub(crate) fn ended(&mut self, trace: &Trace, id: RequestId, at_us: f64, produced: u32, completed: bool) {
        if let Some(proxy) = self.proxy() {
            proxy.notify(id, EngineEvent::Ended { produced, completed }, at_us);
        }
        self.arrivals.ended(trace, id, at_us);
    }

    /// The client of a request goes away that the engine has not begun. One that is not sent yet ends when it is. Says
    /// whether the engine does not know it.
    pub(crate) fn client_cancelled(&mut self, trace: &Trace, id: RequestId, at_us: f64) -> bool {
        self.arrivals.client_cancelled(trace, id, at_us);
        let Some(proxy) = self.proxy() else { return !self.arrivals.has_sent(id) };
        let ends_here = proxy.cancel(trace, id, at_us);
        if !ends_here {
            proxy.notify(id, EngineEvent::Ended { produced: 0, completed: false }, at_us);
        }
        ends_here
    }

    /// Whether a request is with its client or the proxy, so that the engine does not know it.
    pub(crate) fn is_not_yet_at_engine(&self, id: RequestId) -> bool {
        match self.proxy.as_deref() {
            Some(proxy) => !proxy.is_at_engine(id),
            None => !self.arrivals.has_sent(id),
        }
    }

    /// The requests that were sent, in that order and with those times, their results, and what the proxy wrote down. An open
    /// trace is as it was.
    pub(crate) fn finish(
        self,
        trace: Arc<Trace>,
        results: Vec<RequestResult>,
    ) -> (Arc<Trace>, Vec<RequestResult>, Option<Box<GatewayLog>>) {
        let log = self.proxy.map(|proxy| {
            let log = proxy.into_log(&trace);
            Box::new(match self.arrivals.sent() {
                Some(sent) => log.select(sent),
                None => log,
            })
        });
        let (trace, results) = self.arrivals.into_sent(trace, results);
        (trace, results, log)
    }
}
