//! The meters of every client's quotas where a minute is not the last 60 s: input, output and all tokens, and requests.

use super::charge::{QuotaCharge, QuotaDemand, QuotaLimit};
use super::config::Charge;
use super::ledger::QuotaKind;
use super::window::Meter;
use crate::client::ClientId;

/// Where quotas of a kind of tokens are lent: each client's floor, and what is lent of all of them.
#[derive(Debug, Clone)]
struct Lent {
    floors: Vec<Meter>,
    pool: Meter,
}

/// The meters.
#[derive(Debug, Clone)]
pub(super) struct WindowCounters {
    /// Of each client, in the order of [`QuotaKind`]; none where there is no quota.
    own: [Vec<Meter>; 4],
    /// Of each kind of tokens, in the order of [`QuotaKind::TOKENS`].
    lent: [Option<Lent>; 3],
}

impl WindowCounters {
    pub(super) fn new(
        rpm: Option<QuotaLimit>,
        tpm: [Option<QuotaLimit>; 3],
        clients: usize,
        lends: bool,
    ) -> Self {
        let [input, output, total] = tpm;
        let bounds = [input, output, total, rpm];
        let own =
            |bound: Option<QuotaLimit>| bound.map_or_else(Vec::new, |b| vec![Meter::new(&b.own); clients]);
        let lent = |bound: Option<QuotaLimit>| {
            bound.filter(|_| lends).map(|bound| Lent {
                floors: vec![Meter::new(&bound.floor); clients],
                pool: Meter::new(&bound.pool),
            })
        };
        Self { own: bounds.map(own), lent: tpm.map(lent) }
    }

    /// A client's meter of a quota that there is.
    pub(super) fn own(&mut self, kind: QuotaKind, client: ClientId) -> &mut Meter {
        &mut self.own[kind as usize][client]
    }

    /// What of a cost a client's floor has left.
    pub(super) fn left_of_floor(&mut self, demand: QuotaDemand<'_>) -> f64 {
        let QuotaDemand { kind, client, limit, cost, now_us } = demand;
        let Some(lent) = &mut self.lent[kind as usize] else { return 0.0 };
        lent.floors[client].part_left(&limit.floor, cost, now_us)
    }

    /// Whether the pool of what is lent holds so much.
    pub(super) fn pool_allows(&mut self, demand: QuotaDemand<'_>) -> bool {
        let QuotaDemand { kind, limit, cost, now_us, .. } = demand;
        self.lent[kind as usize].as_mut().is_none_or(|lent| lent.pool.allows(&limit.pool, cost, now_us))
    }

    /// Charges a request to the requests a minute.
    pub(super) fn charge_request(&mut self, client: ClientId, bound: &QuotaLimit, now_us: f64) {
        self.own(QuotaKind::Requests, client).charge(&bound.own, 1.0, now_us);
    }

    /// Charges tokens to every quota of tokens, and says what of them the pool of each kind gave.
    pub(super) fn charge(
        &mut self,
        client: ClientId,
        tpm: &[Option<QuotaLimit>; 3],
        tokens: [u32; 2],
        now_us: f64,
    ) -> [f64; 3] {
        let mut pooled = [0.0; 3];
        for (kind, limit) in QuotaKind::TOKENS.into_iter().zip(tpm) {
            if let Some(limit) = limit {
                let cost = kind.amount(tokens);
                pooled[kind as usize] = self.charge_kind(QuotaDemand { kind, client, limit, cost, now_us });
            }
        }
        pooled
    }

    /// A client's floor gives what it has left, the pool gives the rest.
    fn charge_kind(&mut self, demand: QuotaDemand<'_>) -> f64 {
        let QuotaDemand { kind, client, limit, cost, now_us } = demand;
        self.own(kind, client).charge(&limit.own, cost, now_us);
        let Some(lent) = &mut self.lent[kind as usize] else { return 0.0 };
        let floor = &mut lent.floors[client];
        let given = floor.part_left(&limit.floor, cost, now_us);
        if given > 0.0 {
            floor.charge(&limit.floor, given, now_us);
        }
        if cost > given {
            lent.pool.charge(&limit.pool, cost - given, now_us);
        }
        cost - given
    }

    /// What was paid ahead is corrected to what was spent, or that is charged.
    pub(super) fn settle(
        &mut self,
        client: ClientId,
        tpm: &[Option<QuotaLimit>; 3],
        charge: Charge,
        paid: &QuotaCharge,
        spent: [u32; 2],
        now_us: f64,
    ) {
        if charge == Charge::After {
            self.charge(client, tpm, spent, now_us);
            return;
        }
        for (kind, limit) in QuotaKind::TOKENS.into_iter().zip(tpm) {
            let Some(limit) = limit else { continue };
            let difference = kind.amount(spent) - kind.amount(paid.tokens);
            if difference > 0.0 {
                self.charge_kind(QuotaDemand { kind, client, limit, cost: difference, now_us });
            } else if difference < 0.0 {
                self.own(kind, client).settle(&limit.own, paid.at_us, difference, now_us);
                let Some(lent) = &mut self.lent[kind as usize] else { continue };
                // The pool gave the last of it.
                let to_pool = (-difference).min(paid.pooled[kind as usize]);
                if to_pool > 0.0 {
                    lent.pool.settle(&limit.pool, paid.at_us, -to_pool, now_us);
                }
                if -difference > to_pool {
                    let floor = &mut lent.floors[client];
                    floor.settle(&limit.floor, paid.at_us, difference + to_pool, now_us);
                }
            }
        }
    }
}
