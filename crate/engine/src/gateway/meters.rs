//! The meters of every client's quotas where a minute is not the last 60 s: input, output and all tokens, and requests.

use std::collections::VecDeque;

use super::config::Charge;
use super::ledger::Kind;
use super::quotas::{Bound, Paid};
use super::window::{MINUTE_US, Meter};

/// The meters.
#[derive(Debug)]
pub(super) struct Meters {
    /// Of each client, in the order of [`Kind`]; none where there is no quota.
    own: [Vec<Meter>; 4],
    /// Of all clients together, where quotas are lent.
    all: [Option<Meter>; 4],
    /// Where quotas are lent: when each client was charged last, and the charges of the last minute.
    charged_us: Vec<f64>,
    charges: VecDeque<(f64, u32)>,
    /// Clients charged in the last minute.
    active: usize,
}

impl Meters {
    pub(super) fn new(rpm: Option<Bound>, tpm: [Option<Bound>; 3], clients: usize, lends: bool) -> Self {
        let [input, output, total] = tpm;
        let bounds = [input, output, total, rpm];
        let own = |bound: Option<Bound>| bound.map_or_else(Vec::new, |b| vec![Meter::new(&b.own); clients]);
        let all = |bound: Option<Bound>| bound.filter(|_| lends).map(|bound| Meter::new(&bound.all));
        Self {
            own: bounds.map(own),
            all: bounds.map(all),
            charged_us: if lends { vec![f64::NEG_INFINITY; clients] } else { Vec::new() },
            charges: VecDeque::new(),
            active: 0,
        }
    }

    /// A client's meter of a quota that there is.
    pub(super) fn own(&mut self, kind: Kind, client: u32) -> &mut Meter {
        &mut self.own[kind as usize][client as usize]
    }

    /// All clients' meter.
    pub(super) fn all(&mut self, kind: Kind) -> Option<&mut Meter> {
        self.all[kind as usize].as_mut()
    }

    /// Charges a request to the requests a minute.
    pub(super) fn charge_request(&mut self, client: u32, bound: &Bound, now_us: f64) {
        self.own(Kind::Requests, client).charge(&bound.own, 1.0, now_us);
    }

    /// Charges tokens to every quota of tokens.
    pub(super) fn charge(&mut self, client: u32, tpm: &[Option<Bound>; 3], tokens: [u32; 2], now_us: f64) {
        for (kind, bound) in Kind::TOKENS.into_iter().zip(tpm) {
            let Some(bound) = bound else { continue };
            let amount = kind.amount(tokens);
            self.own(kind, client).charge(&bound.own, amount, now_us);
            if let Some(all) = self.all(kind) {
                all.charge(&bound.all, amount, now_us);
            }
        }
    }

    /// What was paid ahead is corrected to what was spent, or that is charged.
    pub(super) fn settle(
        &mut self,
        client: u32,
        tpm: &[Option<Bound>; 3],
        charge: Charge,
        paid: &Paid,
        spent: [u32; 2],
        now_us: f64,
    ) {
        if charge == Charge::After {
            return self.charge(client, tpm, spent, now_us);
        }
        for (kind, bound) in Kind::TOKENS.into_iter().zip(tpm) {
            let Some(bound) = bound else { continue };
            let difference = kind.amount(spent) - kind.amount(paid.tokens);
            if difference != 0.0 {
                self.own(kind, client).settle(&bound.own, paid.at_us, difference, now_us);
                if let Some(all) = self.all(kind) {
                    all.settle(&bound.all, paid.at_us, difference, now_us);
                }
            }
        }
    }

    /// A client is charged: where quotas are lent it counts as active for a minute.
    pub(super) fn count_active(&mut self, client: u32, now_us: f64) {
        if self.charged_us.is_empty() {
            return;
        }
        self.forget_idle(now_us);
        let last = std::mem::replace(&mut self.charged_us[client as usize], now_us);
        self.active += usize::from(last == f64::NEG_INFINITY);
        self.charges.push_back((now_us, client));
    }

    /// Who was not charged in the last minute is idle.
    pub(super) fn forget_idle(&mut self, now_us: f64) {
        while let Some(&(at_us, client)) = self.charges.front().filter(|c| c.0 + MINUTE_US <= now_us) {
            self.charges.pop_front();
            if self.charged_us[client as usize] == at_us {
                self.charged_us[client as usize] = f64::NEG_INFINITY;
                self.active -= 1;
            }
        }
    }

    /// Clients that count as active, and whether this one does not.
    pub(super) fn active(&self, client: u32) -> (usize, bool) {
        let is_idle = self.charged_us.get(client as usize).is_some_and(|&last| last == f64::NEG_INFINITY);
        (self.active, is_idle)
    }
}
