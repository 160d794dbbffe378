//! Rate limits of the clients, their quotas: requests a minute, and input, output and all tokens a minute.
//!
//! Tokens are charged as predicted when a request is let through and corrected when it ends, or only then. Where idle quota
//! is lent (LiteLLM's dynamic limiter does so), each client keeps the floor of its quota for itself, and the rest of all
//! quotas of a kind makes a pool. A client may always use its floor; the rest of its own quota as long as the pool has it; and
//! beyond that, while the pressure is below the threshold, what the pool has left. So no floor is ever lent, and all clients
//! together never take more than their quotas.

use super::charge::{QuotaCharge, QuotaDemand, QuotaLimit};
use super::config::{Charge, Quotas};
use super::ledger::{QuotaKind, SlidingWindowLog, Taken};
use super::meters::WindowCounters;
use super::window::{Quota, Window};
use crate::client::ClientId;
use crate::request::Rejection;

/// How soon a client tries again whose quota depends on what others do, microseconds.
const TRY_AGAIN_US: f64 = 1e6;

/// What clients have used.
#[derive(Debug, Clone)]
enum Counts {
    /// In the last minute.
    Sliding(SlidingWindowLog),
    /// However else a minute is counted.
    Metered(WindowCounters),
}

/// The quotas of all clients.
#[derive(Debug, Clone)]
pub(super) struct RateLimiter {
    rules: Quotas,
    rpm: Option<QuotaLimit>,
    tpm: [Option<QuotaLimit>; 3],
    /// Whether there is any of them.
    has_any: bool,
    counts: Counts,
}

impl RateLimiter {
    pub(super) fn new(rules: Quotas, clients: usize) -> Self {
        // Where all of a quota is a floor nothing is lent.
        let lending = rules.lending.filter(|lending| lending.floor < 1.0);
        let rules = Quotas { lending, ..rules };
        let bound = |per_minute: f64| {
            let quota = |per_minute| Quota { per_minute, window: rules.window };
            // Whole tokens, so that sums of them are exact.
            let floor = lending.map_or(0.0, |lending| (lending.floor * per_minute).floor());
            let pool = quota((per_minute - floor) * clients as f64);
            (per_minute < f64::INFINITY).then_some(QuotaLimit {
                own: quota(per_minute),
                floor: quota(floor),
                pool,
            })
        };
        let (rpm, tpm) = (bound(rules.rpm), rules.tpm.map(bound));
        let floors = tpm.map(|bound| bound.map_or(0, |bound| bound.floor.per_minute as i64));
        let counts = match rules.window {
            Window::Sliding if lending.is_some() => {
                Counts::Sliding(SlidingWindowLog::new(clients).with_floors(floors))
            }
            Window::Sliding => Counts::Sliding(SlidingWindowLog::new(clients)),
            _ => Counts::Metered(WindowCounters::new(rpm, tpm, clients, rules.lending.is_some())),
        };
        let has_any = rpm.is_some() || tpm.iter().any(Option::is_some);
        Self { rules, rpm, tpm, has_any, counts }
    }

    /// Whether what is charged on arrival has to be remembered while a request waits.
    pub(super) fn pays_on_arrival(&self) -> bool {
        self.rules.refuses && self.rules.charge == Charge::Ahead && self.tpm.iter().any(Option::is_some)
    }

    /// A request comes in. Where quotas refuse, this one is charged to the requests a minute.
    pub(super) fn on_arrival_rpm(
        &mut self,
        client: ClientId,
        now_us: f64,
    ) -> Result<(), (Rejection, Option<f64>)> {
        if !self.rules.refuses {
            return Ok(());
        }
        if let Err(until_us) = self.allows_request(client, now_us) {
            return Err((Rejection::RateLimit, until_us.map(|at| at - now_us)));
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
        client: ClientId,
        tokens: [u32; 2],
        pressure: f64,
        paid: &mut QuotaCharge,
        now_us: f64,
    ) -> Result<(), (Rejection, Option<f64>)> {
        if !self.rules.refuses {
            return Ok(());
        }
        if let Err(until_us) = self.allows(client, tokens, pressure, now_us) {
            return Err((Rejection::TokenQuota, until_us.map(|at| at - now_us)));
        }
        *paid = self.charge(client, 0, tokens, now_us);
        Ok(())
    }

    /// Whether a waiting request may go as far as requests a minute are concerned; otherwise when, `None`: at no time.
    pub(super) fn on_dispatch_rpm(&mut self, client: ClientId, now_us: f64) -> Result<(), Option<f64>> {
        if self.rules.refuses { Ok(()) } else { self.allows_request(client, now_us) }
    }

    /// The same for its tokens.
    pub(super) fn on_dispatch_tpm(
        &mut self,
        client: ClientId,
        tokens: [u32; 2],
        pressure: f64,
        now_us: f64,
    ) -> Result<(), Option<f64>> {
        if self.rules.refuses { Ok(()) } else { self.allows(client, tokens, pressure, now_us) }
    }

    /// A waiting request is let through.
    pub(super) fn pay(&mut self, client: ClientId, tokens: [u32; 2], now_us: f64) -> QuotaCharge {
        if self.rules.refuses || !self.has_any {
            return QuotaCharge::default();
        }
        if let (Counts::Metered(meters), Some(bound)) = (&mut self.counts, &self.rpm) {
            meters.charge_request(client, bound, now_us);
        }
        self.charge(client, 1, tokens, now_us)
    }

    /// A request has ended, or left before it was let through, and took what it took.
    pub(super) fn settle(&mut self, client: ClientId, paid: &QuotaCharge, spent: [u32; 2], now_us: f64) {
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
            ledger.charge(client, Taken { tokens: spent, requests: 0 }, now_us);
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
    fn charge(&mut self, client: ClientId, requests: u32, tokens: [u32; 2], now_us: f64) -> QuotaCharge {
        let is_ahead = self.rules.charge == Charge::Ahead;
        let mut paid = QuotaCharge { at_us: now_us, tokens, ..QuotaCharge::default() };
        match &mut self.counts {
            Counts::Sliding(ledger) => {
                let charged = if is_ahead { tokens } else { [0, 0] };
                paid.number = ledger.charge(client, Taken { requests, tokens: charged }, now_us);
            }
            Counts::Metered(meters) if is_ahead => {
                paid.pooled = meters.charge(client, &self.tpm, tokens, now_us);
            }
            Counts::Metered(_) => {}
        }
        paid
    }

    /// Whether requests a minute allow one more; otherwise when, `None`: at no time.
    fn allows_request(&mut self, client: ClientId, now_us: f64) -> Result<(), Option<f64>> {
        let Some(limit) = &self.rpm else { return Ok(()) };
        self.counts.advance_to(now_us);
        let demand = QuotaDemand { kind: QuotaKind::Requests, client, limit, cost: 1.0, now_us };
        if self.counts.allows(demand) {
            return Ok(());
        }
        Err(self.counts.when(demand))
    }

    /// Whether every token quota allows a request; otherwise when, `None`: at no time.
    fn allows(
        &mut self,
        client: ClientId,
        tokens: [u32; 2],
        pressure: f64,
        now_us: f64,
    ) -> Result<(), Option<f64>> {
        self.counts.advance_to(now_us);
        let mut until_us = now_us;
        for (kind, limit) in QuotaKind::TOKENS.into_iter().zip(&self.tpm) {
            let Some(limit) = limit else { continue };
            // What it will cost is not known where it is charged afterwards: something has to be left.
            let cost = match self.rules.charge {
                Charge::Ahead => kind.amount(tokens),
                Charge::After => 1.0,
            };
            let demand = QuotaDemand { kind, client, limit, cost, now_us };
            let Some(lending) = self.rules.lending else {
                until_us = until_us.max(self.counts.when(demand).ok_or(None)?);
                continue;
            };
            // Below a threshold of 0 lies no pressure: nothing is ever lent.
            let most_lent =
                if lending.threshold > 0.0 { limit.floor.capacity() + limit.pool.capacity() } else { 0.0 };
            if !limit.own.ever_allows(cost) && cost > most_lent {
                return Err(None);
            }
            let pooled = self.counts.beyond_floor(demand);
            let may_borrow = pressure < lending.threshold;
            let is_allowed = pooled <= 0.0
                || (self.counts.pool_allows(QuotaDemand { cost: pooled, ..demand })
                    && (may_borrow || self.counts.allows(demand)));
            if !is_allowed {
                until_us = until_us.max(now_us + TRY_AGAIN_US);
            }
        }
        if until_us > now_us { Err(Some(until_us)) } else { Ok(()) }
    }
}

impl Counts {
    /// It is `now_us`, for everything that is asked below.
    fn advance_to(&mut self, now_us: f64) {
        match self {
            Self::Sliding(ledger) => ledger.advance_to(now_us),
            Self::Metered(_) => {}
        }
    }

    /// What of a cost a client's floor has not left, so that the pool would have to give it.
    fn beyond_floor(&mut self, demand: QuotaDemand<'_>) -> f64 {
        let QuotaDemand { kind, client, limit, cost, .. } = demand;
        match self {
            Self::Sliding(ledger) => {
                let left = limit.floor.per_minute - ledger.used(kind, client);
                cost - left.clamp(0.0, cost)
            }
            Self::Metered(meters) => cost - meters.left_of_floor(demand),
        }
    }

    /// Whether the pool of what is lent holds so much.
    fn pool_allows(&mut self, demand: QuotaDemand<'_>) -> bool {
        match self {
            Self::Sliding(ledger) => {
                ledger.beyond_floors(demand.kind) + demand.cost <= demand.limit.pool.per_minute
            }
            Self::Metered(meters) => meters.pool_allows(demand),
        }
    }

    /// Whether a client's own quota allows so much.
    fn allows(&mut self, demand: QuotaDemand<'_>) -> bool {
        let QuotaDemand { kind, client, limit, cost, now_us } = demand;
        match self {
            Self::Sliding(ledger) => ledger.used(kind, client) + cost <= limit.own.per_minute,
            Self::Metered(meters) => meters.own(kind, client).allows(&limit.own, cost, now_us),
        }
    }

    /// From when on a client's own quota allows so much, never before the demand; `None`: at no time.
    fn when(&mut self, demand: QuotaDemand<'_>) -> Option<f64> {
        let QuotaDemand { kind, client, limit, cost, now_us } = demand;
        let ledger = match self {
            Self::Sliding(ledger) => ledger,
            Self::Metered(meters) => return meters.own(kind, client).when(&limit.own, cost, now_us),
        };
        let fits = |used: f64| used + cost <= limit.own.per_minute;
        if fits(ledger.used(kind, client)) {
            return Some(now_us);
        }
        let falls = limit.own.ever_allows(cost);
        falls.then(|| ledger.falls_to_us(kind, client, fits, now_us).max(now_us))
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::Lending;
    use super::super::window::Window;
    use super::*;
    use proptest::prelude::*;

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

    /// Tokens that a client gets that asks for requests of 10 + 10 tokens at one moment.
    fn taken(book: &mut RateLimiter, client: ClientId, pressure: f64, now_us: f64) -> f64 {
        let mut sum = 0.0;
        while book.on_dispatch_tpm(client, [10, 10], pressure, now_us).is_ok() && sum < 1e6 {
            book.pay(client, [10, 10], now_us);
            sum += 20.0;
        }
        sum
    }

    const WINDOWS: [Window; 3] = [Window::Sliding, Window::Bucket(60e6), Window::Gcra(60e6)];

    #[test]
    fn idle_quota_is_lent_and_floors_are_not() {
        let lending = Lending { threshold: 0.8, floor: 0.25 };
        for window in WINDOWS {
            let mut book = RateLimiter::new(rules(window, Some(lending)), 4);
            // Three are idle: the first may use all but their floors.
            assert_eq!(taken(&mut book, ClientId::new(0), 0.5, 1e6), 3_240.0, "{window:?}");
            // The others have their floors, and the pool the ten tokens that are left of it.
            assert_eq!(taken(&mut book, ClientId::new(1), 0.5, 1e6), 260.0, "{window:?}");
            assert_eq!(taken(&mut book, ClientId::new(2), 0.5, 1e6), 240.0, "{window:?}");
            assert_eq!(taken(&mut book, ClientId::new(3), 0.5, 1e6), 240.0, "{window:?}");
            // Above the threshold nothing is lent: own quotas only.
            let mut book = RateLimiter::new(rules(window, Some(lending)), 4);
            assert_eq!(taken(&mut book, ClientId::new(0), 0.9, 1e6), 1_000.0, "{window:?}");
            assert_eq!(taken(&mut book, ClientId::new(1), 0.9, 1e6), 1_000.0, "{window:?}");
        }
    }

    #[test]
    fn a_floor_is_not_lent_whatever_its_client_used_lately() {
        for (floor, most) in [(0.0, 3_940.0), (0.25, 3_240.0), (0.5, 2_500.0), (1.0, 1_000.0)] {
            for window in WINDOWS {
                let lending = Lending { threshold: 0.8, floor };
                let mut book = RateLimiter::new(rules(window, Some(lending)), 4);
                // The others use a little of theirs, and it does not make their floors any smaller.
                (1..4).for_each(|client| {
                    book.pay(ClientId::new(client), [10, 10], 1e6);
                });
                assert_eq!(taken(&mut book, ClientId::new(0), 0.5, 1e6), most, "{window:?}, floor {floor}");
                for client in 1..4 {
                    assert!(
                        taken(&mut book, ClientId::new(client), 0.5, 1e6) + 20.0 >= 1_000.0 * floor - 10.0
                    );
                }
            }
        }
    }

    #[test]
    fn what_a_bucket_gets_back_of_a_floor_is_not_lent_either() {
        // 16 tokens a second come back to each of four; a quarter of that stays with each.
        for window in [Window::Bucket(6e6), Window::Gcra(6e6), Window::Sub(10e6), Window::Fixed] {
            let lending = Lending { threshold: 0.8, floor: 0.25 };
            let four = Quotas { tpm: [f64::INFINITY, f64::INFINITY, 960.0], ..rules(window, Some(lending)) };
            let mut book = RateLimiter::new(four, 4);
            let sum: f64 = (0..36_000)
                .map(|tenth| taken(&mut book, ClientId::new(0), 0.0, f64::from(tenth) * 1e5))
                .sum();
            let rate = sum / 3_600.0;
            assert!((rate - 16.0 * 3.25).abs() < 0.6, "{window:?}: {rate} tokens a second");
        }
    }

    #[test]
    fn after_a_minute_the_pool_is_whole_again() {
        let lending = Lending { threshold: 0.8, floor: 0.5 };
        let mut book = RateLimiter::new(rules(Window::Sliding, Some(lending)), 2);
        assert_eq!(taken(&mut book, ClientId::new(0), 0.0, 0.0), 1_500.0);
        assert_eq!(taken(&mut book, ClientId::new(1), 0.0, 0.0), 500.0);
        assert_eq!(taken(&mut book, ClientId::new(1), 0.0, 60e6), 1_500.0);
    }

    proptest! {
        /// In the last minute all clients together had at most their quotas, what others left of their floors included, and
        /// a client with some of its floor left may take it, whatever other clients used and however great the pressure is.
        #[test]
        fn all_together_take_their_quotas_at_most_and_no_client_takes_a_floor(
            asked in prop::collection::vec((0..4u32, 0..4_000_000u32, 1..120u32, 0.0..1.6f64), 1..300),
            floor in 0.0..1.0f64,
        ) {
            let lending = Lending { threshold: 0.8, floor };
            let mut book = RateLimiter::new(rules(Window::Sliding, Some(lending)), 4);
            let kept = (1_000.0 * floor).floor();
            let (mut now, mut paid) = (0.0, Vec::new());
            for (client, gap, cost, pressure) in asked {
                now += f64::from(gap);
                let tokens = [cost, 2 * cost];
                let of = |client: ClientId, paid: &[(f64, u32, f64)]| {
                    let own = paid.iter().filter(|p| p.1 == client.get() && p.0 + 60e6 > now);
                    own.map(|p| p.2).sum::<f64>()
                };
                let is_floor = of(ClientId::new(client), &paid) + f64::from(3 * cost) <= kept;
                let allowed = book.on_dispatch_tpm(ClientId::new(client), tokens, pressure, now).is_ok();
                prop_assert!(allowed || !is_floor, "client {} has some of its floor left", client);
                if allowed {
                    book.pay(ClientId::new(client), tokens, now);
                    paid.push((now, client, f64::from(3 * cost)));
                }
                let all: f64 = (0..4).map(|client| of(ClientId::new(client), &paid).max(kept)).sum();
                prop_assert!(all <= 4_000.0, "{} with the floors", all);
            }
        }
    }

    #[test]
    fn what_was_predicted_too_large_goes_back_where_it_was_taken() {
        for window in [Window::Sliding, Window::Bucket(60e6), Window::Gcra(60e6), Window::Fixed] {
            let lending = Lending { threshold: 0.8, floor: 0.5 };
            let mut book = RateLimiter::new(rules(window, Some(lending)), 2);
            // 1,500 of its own and of the pool, of which 1,200 go back.
            let paid = book.pay(ClientId::new(0), [100, 1_400], 1e6);
            assert_eq!(taken(&mut book, ClientId::new(1), 0.0, 1e6), 500.0, "{window:?}");
            book.settle(ClientId::new(0), &paid, [100, 200], 1e6);
            assert_eq!(taken(&mut book, ClientId::new(1), 0.0, 1e6), 1_000.0, "{window:?}");
            assert_eq!(taken(&mut book, ClientId::new(0), 0.0, 1e6), 200.0, "{window:?}");
        }
    }

    #[test]
    fn charging_afterwards_overshoots_by_what_is_under_way() {
        let after = Quotas { charge: Charge::After, ..rules(Window::Sliding, None) };
        let mut book = RateLimiter::new(after, 1);
        let mut under_way = Vec::new();
        for _ in 0..5 {
            assert!(book.on_dispatch_tpm(ClientId::new(0), [300, 300], 0.0, 0.0).is_ok());
            under_way.push(book.pay(ClientId::new(0), [300, 300], 0.0));
        }
        for paid in &under_way[..2] {
            book.settle(ClientId::new(0), paid, [300, 300], 1e6);
        }
        assert_eq!(book.on_dispatch_tpm(ClientId::new(0), [1, 1], 0.0, 1e6), Err(Some(61e6)));
    }

    #[test]
    fn a_prediction_that_was_too_large_is_given_back() {
        let mut book = RateLimiter::new(rules(Window::Sliding, None), 1);
        let paid = book.pay(ClientId::new(0), [100, 900], 0.0);
        assert_eq!(book.on_dispatch_tpm(ClientId::new(0), [50, 50], 0.0, 1e6), Err(Some(60e6)));
        book.settle(ClientId::new(0), &paid, [100, 200], 2e6);
        assert_eq!(book.on_dispatch_tpm(ClientId::new(0), [50, 650], 0.0, 2e6), Ok(()));
        assert_eq!(
            book.on_dispatch_tpm(ClientId::new(0), [50, 960], 0.0, 2e6),
            Err(None),
            "more than the quota"
        );
    }
}
