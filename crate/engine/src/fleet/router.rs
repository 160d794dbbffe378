//! Which replica gets an arrival. Whoever is given to one stays there.

use servescope_workload::mersenne::MersenneTwister;
use servescope_workload::stream::Stream;
use servescope_workload::{BASE_MODEL, Trace};

use super::config::{FleetConfig, RouterKind};
use super::replica::Replica;

/// A router and what it remembers.
#[derive(Debug)]
pub(super) struct Router {
    kind: RouterKind,
    turn: usize,
    draws: Stream,
    /// What Vidur's random router draws from, where the original is wanted.
    original: Option<MersenneTwister>,
}

impl Router {
    pub(super) fn new(config: &FleetConfig) -> Self {
        let is_original = config.original && config.router == RouterKind::Random;
        Self {
            kind: config.router,
            turn: 0,
            draws: Stream::named(config.seed, "fleet.router"),
            original: is_original.then(|| MersenneTwister::of_python(config.seed)),
        }
    }

    /// The replica for request `id`. Where several are equal, the first.
    pub(super) fn pick(
        &mut self,
        config: &FleetConfig,
        replicas: &[Replica],
        trace: &Trace,
        id: u32,
        now_us: f64,
    ) -> usize {
        let count = replicas.len();
        if count == 1 {
            return 0;
        }
        match self.kind {
            RouterKind::RoundRobin => {
                let turn = self.turn;
                self.turn = (turn + 1) % count;
                turn
            }
            RouterKind::Random => match &mut self.original {
                Some(words) => words.below(count as u32) as usize,
                None => self.draw(id, count),
            },
            RouterKind::LeastOutstanding => least(replicas, |r| u64::from(r.outstanding)),
            RouterKind::ShortestLine => least(replicas, |r| u64::from(r.line)),
            RouterKind::PowerOfTwo => {
                let first = self.draw(id, count);
                let second = (first + 1 + self.draw(id ^ 0x8000_0000, count - 1)) % count;
                let busy = |i: usize| (replicas[i].outstanding, i);
                if busy(second) < busy(first) { second } else { first }
            }
            RouterKind::LeastKv => least(replicas, |r| u64::from(r.used_at(config, now_us)) + r.promised),
            RouterKind::AdapterAffinity => {
                let adapter = trace.adapter[id as usize];
                let key = if adapter == BASE_MODEL { u64::MAX } else { u64::from(adapter) };
                near(replicas, key)
            }
            RouterKind::PrefixAffinity => near(replicas, prefix_key(trace, id)),
        }
    }

    fn draw(&self, item: u32, count: usize) -> usize {
        let mut stream = self.draws.item(item as usize);
        ((stream.uniform() * count as f64) as usize).min(count - 1)
    }
}

fn least(replicas: &[Replica], load: impl Fn(&Replica) -> u64) -> usize {
    let mut best = 0;
    for (i, replica) in replicas.iter().enumerate().skip(1) {
        if load(replica) < load(&replicas[best]) {
            best = i;
        }
    }
    best
}

/// Rendezvous hashing with bounded load (Thaler and Ravishankar 1998; Mirrokni et al. 2018): of the replicas that have at
/// most 25 % more requests than the mean, the one that the key prefers.
fn near(replicas: &[Replica], key: u64) -> usize {
    let all: u64 = replicas.iter().map(|r| u64::from(r.outstanding)).sum();
    let bound = (5 * (all + 1)).div_ceil(4 * replicas.len() as u64);
    let free = replicas.iter().enumerate().filter(|(_, r)| u64::from(r.outstanding) < bound);
    free.max_by_key(|&(i, _)| (mix(key ^ mix(i as u64 + 1)), std::cmp::Reverse(i))).map_or(0, |(i, _)| i)
}

/// The first block of a prompt, or else its session; without either, itself.
fn prefix_key(trace: &Trace, id: u32) -> u64 {
    let extra = trace.extra.as_deref();
    let block = extra.and_then(|e| e.prefix.of(id as usize).first().copied());
    let session = || {
        let place = *extra?.session.index.get(id as usize)?;
        (place != servescope_workload::trace::NO_LABEL).then_some(u64::from(place) | 1 << 40)
    };
    block.or_else(session).unwrap_or(u64::from(id) | 1 << 41)
}

/// The finaliser of SplitMix64.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
