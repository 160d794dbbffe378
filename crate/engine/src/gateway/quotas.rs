//! The clients' quotas: requests a minute, and input, output and all tokens a minute.
//!
//! Tokens are charged as predicted when a request is let through and corrected when it ends, or only then. Where idle quota
//! is lent (LiteLLM's dynamic limiter does so), all quotas of a kind make a pool. A client may always use the floor of its
//! own quota; the rest of it as long as the pool is not used up by borrowers; and beyond it, while the pressure is below the
//! threshold, what the pool has left less the floors of those who are idle.

use std::collections::VecDeque;

use super::Refusal;
use super::config::{Charge, Quotas};
use super::window::{Meter, Quota, Ticket};

const MINUTE_US: f64 = 60e6;

/// How soon a client tries again whose quota depends on what others do, microseconds.
const TRY_AGAIN_US: f64 = 1e6;

/// One kind of quota.
#[derive(Debug)]
struct Counted {
    quota: Quota,
    meters: Vec<Meter>,
    /// All clients' quotas as one.
    pool: Option<(Quota, Meter)>,
}

/// What was charged for a request.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Paid {
    tickets: [(Ticket, Ticket); 3],
    /// Input and output tokens.
    cost: [f64; 2],
}

/// Everybody's quotas.
#[derive(Debug)]
pub(super) struct QuotaBook {
    rules: Quotas,
    rpm: Option<Counted>,
    tpm: [Option<Counted>; 3],
    /// When each client was charged last, and the charges of the last minute.
    charged_us: Vec<f64>,
    charges: VecDeque<(f64, u32)>,
    /// Clients charged in the last minute.
    active: usize,
}

/// What a request costs of the input, output and total quota.
fn amount(kind: usize, [input, output]: [f64; 2]) -> f64 {
    match kind {
        0 => input,
        1 => output,
        _ => input + output,
    }
}

impl Counted {
    fn new(per_minute: f64, rules: &Quotas, clients: usize, is_lent: bool) -> Option<Self> {
        if per_minute == f64::INFINITY {
            return None;
        }
        let quota = Quota { per_minute, window: rules.window };
        let all = Quota { per_minute: per_minute * clients as f64, window: rules.window };
        Some(Self {
            quota,
            meters: vec![Meter::new(&quota); clients],
            pool: is_lent.then(|| (all, Meter::new(&all))),
        })
    }

    fn charge(&mut self, client: u32, cost: f64, now_us: f64) -> (Ticket, Ticket) {
        let own = self.meters[client as usize].charge(&self.quota, cost, now_us);
        let pool = self.pool.as_mut().map(|(quota, meter)| meter.charge(quota, cost, now_us));
        (own, pool.unwrap_or_default())
    }

    fn settle(&mut self, client: u32, (own, shared): (Ticket, Ticket), difference: f64, now_us: f64) {
        self.meters[client as usize].settle(&self.quota, own, difference, now_us);
        if let Some((quota, meter)) = &mut self.pool {
            meter.settle(quota, shared, difference, now_us);
        }
    }
}

impl QuotaBook {
    pub(super) fn new(rules: Quotas, clients: usize) -> Self {
        let lends = rules.lending.is_some();
        Self {
            rpm: Counted::new(rules.rpm, &rules, clients, false),
            tpm: rules.tpm.map(|per_minute| Counted::new(per_minute, &rules, clients, lends)),
            charged_us: if lends { vec![f64::NEG_INFINITY; clients] } else { Vec::new() },
            charges: VecDeque::new(),
            active: 0,
            rules,
        }
    }

    /// Whether what is charged on arrival has to be remembered while a request waits.
    pub(super) fn pays_on_arrival(&self) -> bool {
        self.rules.refuses && self.rules.charge == Charge::Ahead && self.tpm.iter().any(Option::is_some)
    }

    /// A request comes in. Where quotas refuse, this one is charged to the requests a minute.
    pub(super) fn on_arrival_rpm(&mut self, client: u32, now_us: f64) -> Result<(), (Refusal, Option<f64>)> {
        let Some(counted) = self.rpm.as_mut().filter(|_| self.rules.refuses) else { return Ok(()) };
        let meter = &mut counted.meters[client as usize];
        if !meter.allows(&counted.quota, 1.0, now_us) {
            let until_us = meter.when(&counted.quota, 1.0, now_us);
            return Err((Refusal::RateLimit, until_us.map(|at| at - now_us)));
        }
        meter.charge(&counted.quota, 1.0, now_us);
        Ok(())
    }

    /// A request comes in. Where quotas refuse, its tokens are charged now if they are charged ahead.
    pub(super) fn on_arrival_tpm(
        &mut self,
        client: u32,
        cost: [f64; 2],
        pressure: f64,
        paid: &mut Paid,
        now_us: f64,
    ) -> Result<(), (Refusal, Option<f64>)> {
        if !self.rules.refuses {
            return Ok(());
        }
        if let Err(until_us) = self.allows(client, cost, pressure, now_us) {
            return Err((Refusal::TokenQuota, until_us.map(|at| at - now_us)));
        }
        *paid = self.charge(client, cost, now_us);
        Ok(())
    }

    /// Whether a waiting request may go as far as requests a minute are concerned; otherwise when, `None`: at no time.
    pub(super) fn on_dispatch_rpm(&mut self, client: u32, now_us: f64) -> Result<(), Option<f64>> {
        let Some(counted) = self.rpm.as_mut().filter(|_| !self.rules.refuses) else { return Ok(()) };
        let meter = &mut counted.meters[client as usize];
        if meter.allows(&counted.quota, 1.0, now_us) {
            return Ok(());
        }
        Err(meter.when(&counted.quota, 1.0, now_us))
    }

    /// The same for its tokens.
    pub(super) fn on_dispatch_tpm(
        &mut self,
        client: u32,
        cost: [f64; 2],
        pressure: f64,
        now_us: f64,
    ) -> Result<(), Option<f64>> {
        if self.rules.refuses { Ok(()) } else { self.allows(client, cost, pressure, now_us) }
    }

    /// A waiting request is let through.
    pub(super) fn pay(&mut self, client: u32, cost: [f64; 2], now_us: f64) -> Paid {
        if self.rules.refuses {
            return Paid::default();
        }
        if let Some(counted) = &mut self.rpm {
            counted.meters[client as usize].charge(&counted.quota, 1.0, now_us);
        }
        self.charge(client, cost, now_us)
    }

    /// A request has ended, or left before it was let through, and took what it took.
    pub(super) fn settle(&mut self, client: u32, paid: &Paid, spent: [f64; 2], now_us: f64) {
        for (kind, counted) in self.tpm.iter_mut().enumerate() {
            let Some(counted) = counted else { continue };
            let spent = amount(kind, spent);
            match self.rules.charge {
                Charge::Ahead => {
                    let difference = spent - amount(kind, paid.cost);
                    if difference != 0.0 {
                        counted.settle(client, paid.tickets[kind], difference, now_us);
                    }
                }
                Charge::After => {
                    counted.charge(client, spent, now_us);
                }
            }
        }
    }

    fn charge(&mut self, client: u32, cost: [f64; 2], now_us: f64) -> Paid {
        self.count_active(client, now_us);
        let mut paid = Paid { cost, ..Paid::default() };
        if self.rules.charge == Charge::Ahead {
            for (kind, counted) in self.tpm.iter_mut().enumerate() {
                if let Some(counted) = counted {
                    paid.tickets[kind] = counted.charge(client, amount(kind, cost), now_us);
                }
            }
        }
        paid
    }

    fn count_active(&mut self, client: u32, now_us: f64) {
        if self.charged_us.is_empty() {
            return;
        }
        self.forget_idle(now_us);
        let last = std::mem::replace(&mut self.charged_us[client as usize], now_us);
        self.active += usize::from(last == f64::NEG_INFINITY);
        self.charges.push_back((now_us, client));
    }

    fn forget_idle(&mut self, now_us: f64) {
        while let Some(&(at_us, client)) = self.charges.front().filter(|c| c.0 + MINUTE_US <= now_us) {
            self.charges.pop_front();
            if self.charged_us[client as usize] == at_us {
                self.charged_us[client as usize] = f64::NEG_INFINITY;
                self.active -= 1;
            }
        }
    }

    /// Whether every token quota allows a request; otherwise when, `None`: at no time.
    fn allows(&mut self, client: u32, cost: [f64; 2], pressure: f64, now_us: f64) -> Result<(), Option<f64>> {
        if self.rules.lending.is_some() {
            self.forget_idle(now_us);
        }
        let clients = self.charged_us.len();
        let is_idle = self.charged_us.get(client as usize).is_some_and(|&last| last == f64::NEG_INFINITY);
        let idle_others = clients.saturating_sub(self.active + usize::from(is_idle));
        let mut until_us = now_us;
        for (kind, counted) in self.tpm.iter_mut().enumerate() {
            let Some(Counted { quota, meters, pool }) = counted else { continue };
            // What it will cost is not known where it is charged afterwards: something has to be left.
            let cost = match self.rules.charge {
                Charge::Ahead => amount(kind, cost),
                Charge::After => 1.0,
            };
            let meter = &mut meters[client as usize];
            let (Some(lending), Some((pool_quota, pool))) = (self.rules.lending, pool) else {
                until_us = until_us.max(meter.when(quota, cost, now_us).ok_or(None)?);
                continue;
            };
            let floor = lending.floor * quota.capacity();
            let most_lent = pool_quota.capacity() - floor * clients.saturating_sub(1) as f64;
            if !quota.ever_allows(cost) && cost > most_lent {
                return Err(None);
            }
            let is_within_floor = meter.used(quota, now_us) + cost <= floor;
            let is_own = meter.allows(quota, cost, now_us) && pool.allows(pool_quota, cost, now_us);
            let is_lent = pressure < lending.threshold
                && pool.allows_beside(pool_quota, cost, floor * idle_others as f64, now_us);
            if !(is_within_floor || is_own || is_lent) {
                until_us = until_us.max(now_us + TRY_AGAIN_US);
            }
        }
        if until_us > now_us { Err(Some(until_us)) } else { Ok(()) }
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
        while book.on_dispatch_tpm(client, [10.0, 10.0], pressure, now_us).is_ok() && sum < 1e6 {
            book.pay(client, [10.0, 10.0], now_us);
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
            assert!(book.on_dispatch_tpm(0, [300.0, 300.0], 0.0, 0.0).is_ok());
            under_way.push(book.pay(0, [300.0, 300.0], 0.0));
        }
        for paid in &under_way[..2] {
            book.settle(0, paid, [300.0, 300.0], 1e6);
        }
        assert_eq!(book.on_dispatch_tpm(0, [1.0, 1.0], 0.0, 1e6), Err(Some(61e6)));
    }

    #[test]
    fn a_prediction_that_was_too_large_is_given_back() {
        let mut book = QuotaBook::new(rules(Window::Sliding, None), 1);
        let paid = book.pay(0, [100.0, 900.0], 0.0);
        assert_eq!(book.on_dispatch_tpm(0, [50.0, 50.0], 0.0, 1e6), Err(Some(60e6)));
        book.settle(0, &paid, [100.0, 200.0], 2e6);
        assert_eq!(book.on_dispatch_tpm(0, [50.0, 650.0], 0.0, 2e6), Ok(()));
        assert_eq!(book.on_dispatch_tpm(0, [50.0, 960.0], 0.0, 2e6), Err(None), "more than the quota");
    }
}
