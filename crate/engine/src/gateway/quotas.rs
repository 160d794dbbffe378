//! The clients' quotas: requests a minute, and input, output and all tokens a minute.
//!
//! Tokens are charged as predicted when a request is let through and corrected when it ends, or only then. Where idle quota
//! is lent (LiteLLM's dynamic limiter does so), all quotas of a kind make a pool. A client may always use the floor of its
//! own quota; the rest of it as long as the pool is not used up by borrowers; and beyond it, while the pressure is below the
//! threshold, what the pool has left less the floors of those who are idle.

use super::Refusal;
use super::config::{Charge, Quotas};
use super::ledger::{Kind, Ledger, Taken};
use super::meters::Meters;
use super::window::{Quota, Window};

/// How soon a client tries again whose quota depends on what others do, microseconds.
const TRY_AGAIN_US: f64 = 1e6;

/// What was charged for a request.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Paid {
    pub(super) at_us: f64,
    /// The charge's number in the ledger, where one is kept.
    number: u64,
    /// Input and output tokens.
    pub(super) tokens: [u32; 2],
}

/// What clients have used.
#[derive(Debug)]
enum Counts {
    /// In the last minute.
    Sliding(Ledger),
    /// However else a minute is counted.
    Metered(Meters),
}

/// A client's quota, and all clients' as one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    pub(super) own: Quota,
    pub(super) all: Quota,
}

/// Everybody's quotas.
#[derive(Debug)]
pub(super) struct QuotaBook {
    rules: Quotas,
    clients: usize,
    rpm: Option<Bound>,
    tpm: [Option<Bound>; 3],
    /// Whether there is any of them.
    has_any: bool,
    counts: Counts,
}

impl QuotaBook {
    pub(super) fn new(rules: Quotas, clients: usize) -> Self {
        let bound = |per_minute: f64| {
            let quota = |per_minute| Quota { per_minute, window: rules.window };
            let all = quota(per_minute * clients as f64);
            (per_minute < f64::INFINITY).then_some(Bound { own: quota(per_minute), all })
        };
        let (rpm, tpm) = (bound(rules.rpm), rules.tpm.map(bound));
        let counts = match rules.window {
            Window::Sliding => Counts::Sliding(Ledger::new(clients)),
            _ => Counts::Metered(Meters::new(rpm, tpm, clients, rules.lending.is_some())),
        };
        let has_any = rpm.is_some() || tpm.iter().any(Option::is_some);
        Self { rules, clients, rpm, tpm, has_any, counts }
    }

    /// Whether what is charged on arrival has to be remembered while a request waits.
    pub(super) fn pays_on_arrival(&self) -> bool {
        self.rules.refuses && self.rules.charge == Charge::Ahead && self.tpm.iter().any(Option::is_some)
    }

    /// A request comes in. Where quotas refuse, this one is charged to the requests a minute.
    pub(super) fn on_arrival_rpm(&mut self, client: u32, now_us: f64) -> Result<(), (Refusal, Option<f64>)> {
        if !self.rules.refuses {
            return Ok(());
        }
        if let Err(until_us) = self.allows_request(client, now_us) {
            return Err((Refusal::RateLimit, until_us.map(|at| at - now_us)));
        }
        match (&mut self.counts, &self.rpm) {
            (_, None) => {}
            (Counts::Sliding(ledger), _) => {
                ledger.charge(client, Taken { requests: 1, ..Taken::default() }, now_us);
            }
            (Counts::Metered(meters), Some(bound)) => meters.charge_request(client, bound, now_us),
        }
        Ok(())
    }

    /// A request comes in. Where quotas refuse, its tokens are charged now if they are charged ahead.
    pub(super) fn on_arrival_tpm(
        &mut self,
        client: u32,
        tokens: [u32; 2],
        pressure: f64,
        paid: &mut Paid,
        now_us: f64,
    ) -> Result<(), (Refusal, Option<f64>)> {
        if !self.rules.refuses {
            return Ok(());
        }
        if let Err(until_us) = self.allows(client, tokens, pressure, now_us) {
            return Err((Refusal::TokenQuota, until_us.map(|at| at - now_us)));
        }
        *paid = self.charge(client, 0, tokens, now_us);
        Ok(())
    }

    /// Whether a waiting request may go as far as requests a minute are concerned; otherwise when, `None`: at no time.
    pub(super) fn on_dispatch_rpm(&mut self, client: u32, now_us: f64) -> Result<(), Option<f64>> {
        if self.rules.refuses { Ok(()) } else { self.allows_request(client, now_us) }
    }

    /// The same for its tokens.
    pub(super) fn on_dispatch_tpm(
        &mut self,
        client: u32,
        tokens: [u32; 2],
        pressure: f64,
        now_us: f64,
    ) -> Result<(), Option<f64>> {
        if self.rules.refuses { Ok(()) } else { self.allows(client, tokens, pressure, now_us) }
    }

    /// A waiting request is let through.
    pub(super) fn pay(&mut self, client: u32, tokens: [u32; 2], now_us: f64) -> Paid {
        if self.rules.refuses || !self.has_any {
            return Paid::default();
        }
        if let (Counts::Metered(meters), Some(bound)) = (&mut self.counts, &self.rpm) {
            meters.charge_request(client, bound, now_us);
        }
        self.charge(client, 1, tokens, now_us)
    }

    /// A request has ended, or left before it was let through, and took what it took.
    pub(super) fn settle(&mut self, client: u32, paid: &Paid, spent: [u32; 2], now_us: f64) {
        if !self.has_any {
            return;
        }
        let ledger = match &mut self.counts {
            Counts::Sliding(ledger) => ledger,
            Counts::Metered(meters) => {
                return meters.settle(client, &self.tpm, self.rules.charge, paid, spent, now_us);
            }
        };
        if self.rules.charge == Charge::After {
            ledger.charge(client, Taken { tokens: spent, ..Taken::default() }, now_us);
            return;
        }
        let less = |one: [u32; 2], other: [u32; 2]| [0, 1].map(|i| one[i].saturating_sub(other[i]));
        let (more, back) = (less(spent, paid.tokens), less(paid.tokens, spent));
        if more != [0, 0] {
            ledger.charge(client, Taken { tokens: more, ..Taken::default() }, now_us);
        }
        if back != [0, 0] {
            ledger.give_back(paid.number, back, now_us);
        }
    }

    /// Charges a request and, where they are charged ahead, its tokens.
    fn charge(&mut self, client: u32, requests: u32, tokens: [u32; 2], now_us: f64) -> Paid {
        let is_ahead = self.rules.charge == Charge::Ahead;
        let number = match &mut self.counts {
            Counts::Sliding(ledger) => {
                let charged = if is_ahead { tokens } else { [0, 0] };
                ledger.charge(client, Taken { requests, tokens: charged, is_use: true }, now_us)
            }
            Counts::Metered(meters) => {
                meters.count_active(client, now_us);
                if is_ahead {
                    meters.charge(client, &self.tpm, tokens, now_us);
                }
                0
            }
        };
        Paid { at_us: now_us, number, tokens }
    }

    /// Whether requests a minute allow one more; otherwise when, `None`: at no time.
    fn allows_request(&mut self, client: u32, now_us: f64) -> Result<(), Option<f64>> {
        let Some(bound) = &self.rpm else { return Ok(()) };
        self.counts.pass(now_us);
        if self.counts.allows(Kind::Requests, client, bound, 1.0, now_us) {
            return Ok(());
        }
        Err(self.counts.when(Kind::Requests, client, bound, 1.0, now_us))
    }

    /// Whether every token quota allows a request; otherwise when, `None`: at no time.
    fn allows(
        &mut self,
        client: u32,
        tokens: [u32; 2],
        pressure: f64,
        now_us: f64,
    ) -> Result<(), Option<f64>> {
        self.counts.pass(now_us);
        let (active, is_idle) = match &self.counts {
            Counts::Sliding(ledger) => ledger.active(client),
            Counts::Metered(meters) => meters.active(client),
        };
        let idle_others = self.clients.saturating_sub(active + usize::from(is_idle));
        let mut until_us = now_us;
        for (kind, bound) in Kind::TOKENS.into_iter().zip(&self.tpm) {
            let Some(bound) = bound else { continue };
            // What it will cost is not known where it is charged afterwards: something has to be left.
            let cost = match self.rules.charge {
                Charge::Ahead => kind.amount(tokens),
                Charge::After => 1.0,
            };
            let Some(lending) = self.rules.lending else {
                until_us = until_us.max(self.counts.when(kind, client, bound, cost, now_us).ok_or(None)?);
                continue;
            };
            let floor = lending.floor * bound.own.capacity();
            if !bound.own.ever_allows(cost) {
                let most_lent = bound.all.capacity() - floor * self.clients.saturating_sub(1) as f64;
                // Below a threshold of 0 no pressure lies: nothing is ever lent.
                if cost > most_lent || lending.threshold <= 0.0 {
                    return Err(None);
                }
            }
            let is_within_floor = self.counts.used(kind, client, bound, now_us) + cost <= floor;
            // Who asks a meter brings it to the present, and a bucket rounds then; a ledger is as it was.
            if is_within_floor && matches!(self.counts, Counts::Sliding(_)) {
                continue;
            }
            let is_own = self.counts.allows(kind, client, bound, cost, now_us)
                && self.counts.all_allow(kind, bound, cost, 0.0, now_us);
            let kept = floor * idle_others as f64;
            let is_lent =
                pressure < lending.threshold && self.counts.all_allow(kind, bound, cost, kept, now_us);
            if !(is_within_floor || is_own || is_lent) {
                until_us = until_us.max(now_us + TRY_AGAIN_US);
            }
        }
        if until_us > now_us { Err(Some(until_us)) } else { Ok(()) }
    }
}

impl Counts {
    /// It is `now_us`, for everything that is asked below.
    fn pass(&mut self, now_us: f64) {
        match self {
            Self::Sliding(ledger) => ledger.pass(now_us),
            Self::Metered(meters) => meters.forget_idle(now_us),
        }
    }

    /// What a client has used of its quota.
    fn used(&mut self, kind: Kind, client: u32, bound: &Bound, now_us: f64) -> f64 {
        match self {
            Self::Sliding(ledger) => ledger.used(kind, client),
            Self::Metered(meters) => meters.own(kind, client).used(&bound.own, now_us),
        }
    }

    /// Whether a client's own quota allows so much.
    fn allows(&mut self, kind: Kind, client: u32, bound: &Bound, cost: f64, now_us: f64) -> bool {
        match self {
            Self::Sliding(ledger) => ledger.used(kind, client) + cost <= bound.own.per_minute,
            Self::Metered(meters) => meters.own(kind, client).allows(&bound.own, cost, now_us),
        }
    }

    /// Whether all clients' quotas together allow so much and `kept` is still left then.
    fn all_allow(&mut self, kind: Kind, bound: &Bound, cost: f64, kept: f64, now_us: f64) -> bool {
        match self {
            Self::Sliding(ledger) => ledger.used_by_all(kind) + cost + kept <= bound.all.per_minute,
            Self::Metered(meters) => {
                meters.all(kind).is_none_or(|all| all.allows_beside(&bound.all, cost, kept, now_us))
            }
        }
    }

    /// From when on a client's own quota allows so much, never before `now_us`; `None`: at no time.
    fn when(&mut self, kind: Kind, client: u32, bound: &Bound, cost: f64, now_us: f64) -> Option<f64> {
        let ledger = match self {
            Self::Sliding(ledger) => ledger,
            Self::Metered(meters) => return meters.own(kind, client).when(&bound.own, cost, now_us),
        };
        let fits = |used: f64| used + cost <= bound.own.per_minute;
        if fits(ledger.used(kind, client)) {
            return Some(now_us);
        }
        let falls = bound.own.ever_allows(cost);
        falls.then(|| ledger.falls_to_us(kind, client, fits, now_us).max(now_us))
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::Lending;
    use super::super::window::Window;
    use super::*;

    fn rules(window: Window, lending: Option<Lending>) -> Quotas {
        Quotas {
            rpm: f64::INFINITY,
            tpm: [f64::INFINITY, f64::INFINITY, 1_000.0],
            window,
            charge: Charge::Ahead,
            refuses: false,
            lending,
        }
    }

    /// Tokens that a client gets who asks for requests of 10 + 10 tokens at one moment.
    fn taken(book: &mut QuotaBook, client: u32, pressure: f64, now_us: f64) -> f64 {
        let mut sum = 0.0;
        while book.on_dispatch_tpm(client, [10, 10], pressure, now_us).is_ok() && sum < 1e6 {
            book.pay(client, [10, 10], now_us);
            sum += 20.0;
        }
        sum
    }

    #[test]
    fn idle_quota_is_lent_and_taken_back() {
        let lending = Lending { threshold: 0.8, floor: 0.25 };
        for window in [Window::Sliding, Window::Bucket(60e6), Window::Gcra(60e6)] {
            let mut book = QuotaBook::new(rules(window, Some(lending)), 4);
            // Three are idle: the first may use all but their floors.
            assert_eq!(taken(&mut book, 0, 0.5, 1e6), 3_240.0, "{window:?}");
            // A newcomer has of its own what the borrower left in the pool, the next ones their floors.
            assert_eq!(taken(&mut book, 1, 0.5, 1e6), 760.0, "{window:?}");
            assert_eq!(taken(&mut book, 2, 0.5, 1e6), 240.0, "{window:?}");
            // Above the threshold nothing is lent: own quotas only.
            let mut book = QuotaBook::new(rules(window, Some(lending)), 4);
            assert_eq!(taken(&mut book, 0, 0.9, 1e6), 1_000.0, "{window:?}");
            assert_eq!(taken(&mut book, 1, 0.9, 1e6), 1_000.0, "{window:?}");
        }
    }

    #[test]
    fn after_a_minute_a_client_counts_as_idle_again() {
        let lending = Lending { threshold: 0.8, floor: 0.5 };
        let mut book = QuotaBook::new(rules(Window::Sliding, Some(lending)), 2);
        assert_eq!(taken(&mut book, 0, 0.0, 0.0), 1_500.0);
        assert_eq!(taken(&mut book, 1, 0.0, 0.0), 500.0);
        assert_eq!(taken(&mut book, 1, 0.0, 60e6), 1_500.0, "the other has been idle for a minute");
    }

    #[test]
    fn charging_afterwards_overshoots_by_what_is_under_way() {
        let after = Quotas { charge: Charge::After, ..rules(Window::Sliding, None) };
        let mut book = QuotaBook::new(after, 1);
        let mut under_way = Vec::new();
        for _ in 0..5 {
            assert!(book.on_dispatch_tpm(0, [300, 300], 0.0, 0.0).is_ok());
            under_way.push(book.pay(0, [300, 300], 0.0));
        }
        for paid in &under_way[..2] {
            book.settle(0, paid, [300, 300], 1e6);
        }
        assert_eq!(book.on_dispatch_tpm(0, [1, 1], 0.0, 1e6), Err(Some(61e6)));
    }

    #[test]
    fn a_prediction_that_was_too_large_is_given_back() {
        let mut book = QuotaBook::new(rules(Window::Sliding, None), 1);
        let paid = book.pay(0, [100, 900], 0.0);
        assert_eq!(book.on_dispatch_tpm(0, [50, 50], 0.0, 1e6), Err(Some(60e6)));
        book.settle(0, &paid, [100, 200], 2e6);
        assert_eq!(book.on_dispatch_tpm(0, [50, 650], 0.0, 2e6), Ok(()));
        assert_eq!(book.on_dispatch_tpm(0, [50, 960], 0.0, 2e6), Err(None), "more than the quota");
    }
}
