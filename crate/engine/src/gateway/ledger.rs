//! What clients took in the last 60 s, requests and tokens: the quotas of a sliding window.
//!
//! One list in order of time holds all clients' charges, and a client's own are chained in it. So a charge is one entry however
//! many quotas it counts for, what is over leaves the list once, and a client's sums stand in one place.

use crate::client::ClientId;
use std::collections::VecDeque;

use super::window::MINUTE_US;

/// What a charge takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// Requests.
    pub(super) requests: u32,
    /// Input and output tokens.
    pub(super) tokens: [u32; 2],
}

#[derive(Debug, Clone, Copy)]
struct LedgerEntry {
    at_us: f64,
    client: ClientId,
    /// How many places further on the client's next entry stands; 0 = there is none yet.
    next: u32,
    taken: Taken,
}

/// Sums of what was taken.
#[derive(Debug, Clone, Copy, Default)]
struct ChargeSums {
    requests: i64,
    tokens: [i64; 2],
}

impl ChargeSums {
    fn add(&mut self, taken: &Taken, times: i64) {
        self.requests += times * i64::from(taken.requests);
        self.tokens[0] += times * i64::from(taken.tokens[0]);
        self.tokens[1] += times * i64::from(taken.tokens[1]);
    }

    /// Of what is counted for that quota.
    fn of(&self, kind: QuotaKind) -> i64 {
        match kind {
            QuotaKind::Requests => self.requests,
            QuotaKind::Input => self.tokens[0],
            QuotaKind::Output => self.tokens[1],
            QuotaKind::Total => self.tokens[0] + self.tokens[1],
        }
    }
}

/// What a quota counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuotaKind {
    Input,
    Output,
    Total,
    Requests,
}

impl QuotaKind {
    /// The kinds of token quotas, in the order in which they are set.
    pub(super) const TOKENS: [Self; 3] = [Self::Input, Self::Output, Self::Total];

    /// What this many tokens, input and output, count for it.
    pub(super) fn amount(self, [input, output]: [u32; 2]) -> f64 {
        match self {
            Self::Input => f64::from(input),
            Self::Output => f64::from(output),
            Self::Total => f64::from(input) + f64::from(output),
            Self::Requests => 1.0,
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct ClientWindow {
    sums: ChargeSums,
    /// Numbers of its first and last entry, as long as it has any.
    first: u64,
    last: u64,
    entries: u32,
}

/// The list, and the sums.
#[derive(Debug, Clone)]
pub(super) struct SlidingWindowLog {
    entries: VecDeque<LedgerEntry>,
    /// The number of the first entry: how many have left.
    gone: u64,
    /// When the first entry leaves; infinite where there is none.
    leaves_us: f64,
    clients: Vec<ClientWindow>,
    /// Where quotas are lent, of each kind of tokens: how many a client may always take, and what all of them together took
    /// beyond that.
    floors: Option<[i64; 3]>,
    beyond: [i64; 3],
}

impl SlidingWindowLog {
    pub(super) fn new(clients: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            gone: 0,
            leaves_us: f64::INFINITY,
            clients: vec![ClientWindow::default(); clients],
            floors: None,
            beyond: [0; 3],
        }
    }

    /// The same with floors, tokens, in the order of [`QuotaKind::TOKENS`].
    pub(super) fn with_floors(self, floors: [i64; 3]) -> Self {
        Self { floors: Some(floors), ..self }
    }

    /// Adds to what a client took.
    fn add(&mut self, client: ClientId, taken: &Taken, times: i64) {
        let sums = &mut self.clients[client].sums;
        let before = *sums;
        sums.add(taken, times);
        let Some(floors) = &self.floors else { return };
        for ((beyond, kind), floor) in self.beyond.iter_mut().zip(QuotaKind::TOKENS).zip(floors) {
            *beyond += (sums.of(kind) - floor).max(0) - (before.of(kind) - floor).max(0);
        }
    }

    /// It is `now_us`: what is a minute old leaves. Times never decrease.
    #[inline]
    pub(super) fn advance_to(&mut self, now_us: f64) {
        while self.leaves_us <= now_us {
            self.drop_first();
        }
    }

    fn drop_first(&mut self) {
        let Some(LedgerEntry { client, next, taken, .. }) = self.entries.pop_front() else { return };
        self.add(client, &taken, -1);
        let own = &mut self.clients[client];
        own.first += u64::from(next);
        own.entries -= 1;
        self.gone += 1;
        self.leaves_us = self.entries.front().map_or(f64::INFINITY, |entry| entry.at_us + MINUTE_US);
    }

    /// What a client took in the last minute.
    pub(super) fn used(&self, kind: QuotaKind, client: ClientId) -> f64 {
        self.clients[client].sums.of(kind) as f64
    }

    /// What all clients together took beyond their floors in the last minute; 0 where there are none.
    pub(super) fn beyond_floors(&self, kind: QuotaKind) -> f64 {
        self.beyond.get(kind as usize).map_or(0.0, |&beyond| beyond as f64)
    }

    /// Enters a charge, allowed or not, and gives its number.
    pub(super) fn charge(&mut self, client: ClientId, taken: Taken, now_us: f64) -> u64 {
        self.advance_to(now_us);
        let number = self.gone + self.entries.len() as u64;
        let own = &mut self.clients[client];
        if own.entries == 0 {
            own.first = number;
        } else {
            self.entries[(own.last - self.gone) as usize].next = (number - own.last) as u32;
        }
        own.last = number;
        own.entries += 1;
        self.add(client, &taken, 1);
        if self.entries.is_empty() {
            self.leaves_us = now_us + MINUTE_US;
        }
        self.entries.push_back(LedgerEntry { at_us: now_us, client, next: 0, taken });
        number
    }

    /// The charge of that number was for this many tokens and should be for fewer, as far as it still counts.
    pub(super) fn give_back(&mut self, number: u64, tokens: [u32; 2], now_us: f64) {
        self.advance_to(now_us);
        let place = number.checked_sub(self.gone);
        let Some(entry) = place.and_then(|place| self.entries.get_mut(place as usize)) else { return };
        let back = Taken { tokens, ..Taken::default() };
        entry.taken.tokens = [0, 1].map(|i| entry.taken.tokens[i] - tokens[i]);
        let client = entry.client;
        self.add(client, &back, -1);
    }

    /// From when on a client's use is at most `most`, if it takes nothing before; it is more now.
    pub(super) fn falls_to_us(
        &self,
        kind: QuotaKind,
        client: ClientId,
        most: impl Fn(f64) -> bool,
        now_us: f64,
    ) -> f64 {
        let own = &self.clients[client];
        let mut left = own.sums;
        let mut number = own.first;
        for _ in 0..own.entries {
            let entry = &self.entries[(number - self.gone) as usize];
            left.add(&entry.taken, -1);
            if most(left.of(kind) as f64) {
                return entry.at_us + MINUTE_US;
            }
            number += u64::from(entry.next);
        }
        now_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CLIENTS: u32 = 3;
    const KINDS: [QuotaKind; 4] =
        [QuotaKind::Input, QuotaKind::Output, QuotaKind::Total, QuotaKind::Requests];

    /// Charges as they were made: when, whose, what.
    type Told = Vec<(f64, u32, Taken)>;

    fn counted(charges: &Told, whose: impl Fn(u32) -> bool, kind: QuotaKind, now_us: f64) -> f64 {
        let counts = charges.iter().filter(|t| whose(t.1) && t.0 + MINUTE_US > now_us);
        counts.fold(0.0, |sum, (_, _, taken)| match kind {
            QuotaKind::Requests => sum + f64::from(taken.requests),
            kind => sum + kind.amount(taken.tokens),
        })
    }

    proptest! {
        #[test]
        fn the_sums_are_those_of_the_last_minute(
            moves in prop::collection::vec(
                (0u32..30_000_000, 0..CLIENTS, 0u32..3, [0u32..400, 0u32..400], any::<bool>()), 1..150,
            ),
            cost in 1.0..300.0f64,
            quota in 300.0..900.0f64,
            floors in [0i64..900, 0i64..900, 0i64..900],
        ) {
            let mut ledger = SlidingWindowLog::new(CLIENTS as usize).with_floors(floors);
            let mut charges = Told::new();
            let mut now = 0.0;
            for (gap, client, requests, tokens, gives_back) in moves {
                now += f64::from(gap / 4) * f64::from(requests);
                let taken = Taken { requests, tokens };
                prop_assert_eq!(ledger.charge(ClientId::new(client), taken, now), charges.len() as u64);
                charges.push((now, client, taken));
                let early = charges.len().saturating_sub(7);
                if gives_back {
                    // Of an earlier charge, perhaps of one that counts no more.
                    let back = charges[early].2.tokens.map(|tokens| tokens / 2);
                    ledger.give_back(early as u64, back, now);
                    charges[early].2.tokens = [0, 1].map(|i| charges[early].2.tokens[i] - back[i]);
                }
                for (kind, floor) in QuotaKind::TOKENS.into_iter().zip(floors) {
                    let used = (0..CLIENTS).map(|client| counted(&charges, |other| other == client, kind, now));
                    let beyond: f64 = used.map(|used| (used - floor as f64).max(0.0)).sum();
                    prop_assert_eq!(ledger.beyond_floors(kind), beyond);
                }
                for client in 0..CLIENTS {
                    for kind in KINDS {
                        let used = counted(&charges, |other| other == client, kind, now);
                        prop_assert_eq!(ledger.used(kind, ClientId::new(client)), used);
                        if used + cost > quota {
                            // When it falls: at the end of one of its charges, and no earlier one.
                            let fits = |used: f64| used + cost <= quota;
                            let at = ledger.falls_to_us(kind, ClientId::new(client), fits, now);
                            let then = |at: f64| counted(&charges, |other| other == client, kind, at);
                            prop_assert!(at > now && fits(then(at)) && !fits(then(at - 0.125)), "{at}");
                        }
                    }
                }
            }
            ledger.advance_to(now + MINUTE_US);
            prop_assert!(KINDS.iter().all(|&kind| ledger.beyond_floors(kind) == 0.0));
            prop_assert!((0..CLIENTS).all(|client| KINDS.iter().all(|&kind| ledger.used(kind, ClientId::new(client)) == 0.0)));
        }
    }
}
