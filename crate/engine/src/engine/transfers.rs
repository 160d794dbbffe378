//! Copies of KV blocks from replica to replica, which share the links of both.
//!
//! Every replica has a way out and a way in. The copies under way have max-min fair rates (Bertsekas and Gallager, Data Networks,
//! section 6.5): all rates grow alike until a link is full, whose copies keep their rate, and so on.

use servescope_workload::RequestId;

use crate::config::disaggregation::LinkSharing;
use crate::replica::iteration::CopyId;
use crate::replica_index::ReplicaIndex;

/// A copy of whole blocks.
#[derive(Debug, Clone)]
pub(super) struct Transfer {
    pub(super) request: RequestId,
    pub(super) route: Route,
    /// What the replica that it goes to calls it.
    pub(super) copy: CopyId,
    /// How long it takes alone from its beginning, microseconds.
    pub(super) alone_us: f64,
    blocks: u32,
    /// When its first byte is sent.
    first_byte_us: f64,
    /// Since when the rate holds, and the blocks that were left then.
    since_us: f64,
    left: f64,
    /// How long a block takes now, microseconds; infinite before the first byte.
    block_us: f64,
}

impl Transfer {
    fn end_us(&self) -> f64 {
        if self.block_us < f64::INFINITY { self.since_us + self.left * self.block_us } else { f64::INFINITY }
    }
}

/// What a copy has to pass: the way out of one replica and the way into another, each with the time that a block takes alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Route {
    pub(super) from: (ReplicaIndex, f64),
    pub(super) to: (ReplicaIndex, f64),
}

impl Route {
    /// How long a block takes that shares neither way.
    fn block_us(&self) -> f64 {
        self.from.1.max(self.to.1)
    }
}

/// The copies under way.
#[derive(Debug, Clone)]
pub(super) struct Transfers {
    sharing: LinkSharing,
    base_us: f64,
    all: Vec<Transfer>,
}

impl Transfers {
    pub(super) fn new(sharing: LinkSharing, base_us: f64) -> Self {
        Self { sharing, base_us, all: Vec::new() }
    }

    /// A copy begins.
    pub(super) fn begin(
        &mut self,
        (request, copy): (RequestId, CopyId),
        route: Route,
        blocks: u32,
        now_us: f64,
    ) {
        let first_byte_us = now_us + self.base_us;
        self.all.push(Transfer {
            request,
            route,
            copy,
            alone_us: self.base_us + f64::from(blocks) * route.block_us(),
            blocks,
            first_byte_us,
            since_us: first_byte_us,
            left: f64::from(blocks),
            block_us: f64::INFINITY,
        });
    }

    /// Takes those out that have ended by a time, in the order in which they began, and shares the links among the others.
    pub(super) fn take_ended(&mut self, now_us: f64) -> Vec<Transfer> {
        let all = std::mem::take(&mut self.all);
        let (ended, rest) = all.into_iter().partition(|own| own.end_us() <= now_us);
        self.all = rest;
        self.share(now_us);
        ended
    }

    /// The copies out of replicas that fail end at this time. Says whose they are, where they go, and how many whole blocks are there.
    pub(super) fn fail_from(
        &mut self,
        replicas: &[ReplicaIndex],
        now_us: f64,
    ) -> Vec<(RequestId, ReplicaIndex, u32)> {
        let base_us = self.base_us;
        let of_failed = self.all.iter_mut().filter(|own| replicas.contains(&own.route.from.0));
        let fail = |own: &mut Transfer| {
            let sent =
                if own.block_us < f64::INFINITY { (now_us - own.since_us) / own.block_us } else { 0.0 };
            let there = f64::from(own.blocks) - own.left + sent;
            own.alone_us = own.alone_us.min(now_us - (own.first_byte_us - base_us));
            (own.first_byte_us, own.since_us, own.left, own.block_us) =
                (now_us, now_us, 0.0, own.route.block_us());
            (own.request, own.route.to.0, there as u32)
        };
        of_failed.map(fail).collect()
    }

    /// When the next copy ends or sends its first byte, whichever is first; infinite: nothing is under way.
    pub(super) fn next_us(&self) -> f64 {
        let next =
            |own: &Transfer| if own.block_us < f64::INFINITY { own.end_us() } else { own.first_byte_us };
        self.all.iter().map(next).fold(f64::INFINITY, f64::min)
    }

    /// Gives each copy whose first byte is due its rate from now on.
    fn share(&mut self, now_us: f64) {
        let sending: Vec<&mut Transfer> =
            self.all.iter_mut().filter(|own| own.first_byte_us <= now_us).collect();
        let routes: Vec<Route> = sending.iter().map(|own| own.route).collect();
        let times_us = match self.sharing {
            LinkSharing::Alone => routes.iter().map(Route::block_us).collect(),
            LinkSharing::MaxMin => max_min_block_us(&routes),
        };
        for (own, block_us) in sending.into_iter().zip(times_us) {
            if own.block_us == block_us {
                continue;
            }
            if own.block_us < f64::INFINITY {
                own.left = (own.left - (now_us - own.since_us) / own.block_us).max(0.0);
                own.since_us = now_us;
            }
            own.block_us = block_us;
        }
    }
}

/// A link while rates are shared out.
#[derive(Debug)]
struct SharedLink {
    replica: ReplicaIndex,
    is_out: bool,
    block_us: f64,
    /// Blocks a microsecond of copies whose rate is fixed, and how many have none yet.
    used: f64,
    open: u32,
}

impl SharedLink {
    /// How long a block of each open copy takes if they share what is left.
    fn block_us(&self) -> f64 {
        if self.used == 0.0 {
            return self.block_us * f64::from(self.open);
        }
        let left = (1.0 / self.block_us - self.used).max(f64::MIN_POSITIVE);
        f64::from(self.open) / left
    }
}

/// How long a block of each copy takes, microseconds.
fn max_min_block_us(routes: &[Route]) -> Vec<f64> {
    let mut links: Vec<SharedLink> = Vec::new();
    let mut place_of = |replica: ReplicaIndex, is_out: bool, block_us: f64| {
        let known = links.iter().position(|link| (link.replica, link.is_out) == (replica, is_out));
        let place = known.unwrap_or_else(|| {
            links.push(SharedLink { replica, is_out, block_us, used: 0.0, open: 0 });
            links.len() - 1
        });
        links[place].open += 1;
        place
    };
    let ways: Vec<[usize; 2]> = routes
        .iter()
        .map(|route| [place_of(route.from.0, true, route.from.1), place_of(route.to.0, false, route.to.1)])
        .collect();
    let mut times_us: Vec<Option<f64>> = vec![None; routes.len()];
    // The slowest share is fixed first: every other link leaves its copies at least as much.
    while let Some((tight, block_us)) = links
        .iter()
        .enumerate()
        .filter(|(_, link)| link.open > 0)
        .map(|(place, link)| (place, link.block_us()))
        .reduce(|slowest, other| if other.1 > slowest.1 { other } else { slowest })
    {
        for (copy, way) in ways.iter().enumerate() {
            if times_us[copy].is_some() || !way.contains(&tight) {
                continue;
            }
            times_us[copy] = Some(block_us);
            for &link in way {
                links[link].open -= 1;
                links[link].used += 1.0 / block_us;
            }
        }
    }
    times_us.into_iter().map(Option::unwrap_or_default).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(from: u16, to: u16) -> Route {
        Route { from: (ReplicaIndex::new(from), 0.1), to: (ReplicaIndex::new(to), 0.1) }
    }

    #[test]
    fn three_copies_to_one_replica_have_a_third_each_and_half_when_one_has_ended() {
        // Links of 10 blocks a microsecond; 30 blocks each, the first 10.
        let mut transfers = Transfers::new(LinkSharing::MaxMin, 0.0);
        for (from, blocks) in [(0, 10), (1, 30), (2, 30)] {
            let id = RequestId::new(from.into());
            transfers.begin((id, u64::from(from)), route(from, 9), blocks, 0.0);
        }
        assert!(transfers.take_ended(0.0).is_empty());
        assert!((transfers.next_us() - 3.0).abs() < 1e-9, "10 blocks at 10/3 a microsecond");
        assert_eq!(transfers.take_ended(transfers.next_us()).len(), 1);
        // 20 blocks are left of each of the two others, at 5 a microsecond.
        assert!((transfers.next_us() - 7.0).abs() < 1e-9);
        assert_eq!(transfers.take_ended(7.0 + 1e-9).len(), 2);
        assert!(transfers.next_us().is_infinite());
    }

    #[test]
    fn what_a_slow_copy_leaves_goes_to_the_others() {
        // The way into 8 is ten times slower; the way out of 0 has the rest for the copy to 9.
        let slow = Route { from: (ReplicaIndex::new(0), 0.1), to: (ReplicaIndex::new(8), 1.0) };
        let times_us = max_min_block_us(&[slow, route(0, 9)]);
        assert!((times_us[0] - 1.0).abs() < 1e-12 && (times_us[1] - 1.0 / 9.0).abs() < 1e-12, "{times_us:?}");
    }

    #[test]
    fn a_copy_alone_takes_as_long_as_without_sharing() {
        for sharing in [LinkSharing::MaxMin, LinkSharing::Alone] {
            let mut transfers = Transfers::new(sharing, 0.3);
            transfers.begin((RequestId::new(0), 0), route(0, 1), 7, 1.0);
            assert!(transfers.take_ended(1.0).is_empty());
            let first_byte_us = transfers.next_us();
            assert!(transfers.take_ended(first_byte_us).is_empty());
            assert_eq!((first_byte_us, transfers.next_us()), (1.0 + 0.3, 1.0 + 0.3 + 7.0 * 0.1));
        }
    }
}
