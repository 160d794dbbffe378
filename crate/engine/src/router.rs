//! Which replica gets an arrival. A request stays at its replica.

mod affinity;

use crate::replica_index::ReplicaIndex;
use servescope_workload::mersenne::MersenneTwister;
use servescope_workload::stream::Stream;
use servescope_workload::trace::NO_LABEL;
use servescope_workload::{BASE_MODEL, RequestId, Trace};

use crate::config::{FleetConfig, RouterKind};
use crate::replica::Replica;
use crate::router::affinity::Affinity;

/// A router and what it remembers.
#[derive(Debug, Clone)]
pub(crate) struct Router {
    kind: RouterKind,
    turn: usize,
    draws: Stream,
    /// What Vidur's random router draws from, where Vidur is wanted.
    python_random: Option<MersenneTwister>,
    /// What replicas were given, of the routers that look at it.
    affinity: Affinity,
}

impl Router {
    pub(crate) fn new(config: &FleetConfig, trace: &Trace) -> Self {
        let is_of_python = config.reference_quirks && config.router == RouterKind::Random;
        Self {
            kind: config.router,
            turn: 0,
            draws: Stream::named(config.seed, "fleet.router"),
            python_random: is_of_python.then(|| MersenneTwister::of_python(config.seed)),
            affinity: Affinity::new(config.replicas as usize, most_keys(config, trace)),
        }
    }

    /// The replica for request `id`. Where several are equal, the first.
    pub(crate) fn pick(
        &mut self,
        config: &FleetConfig,
        replicas: &[Replica],
        trace: &Trace,
        id: RequestId,
        now_us: f64,
    ) -> ReplicaIndex {
        let count = replicas.len();
        if count == 1 {
            return ReplicaIndex::default();
        }
        match self.kind {
            RouterKind::RoundRobin => {
                let turn = self.turn;
                self.turn = (turn + 1) % count;
                place(turn)
            }
            RouterKind::Random => match &mut self.python_random {
                Some(words) => place(words.below(count as u32) as usize),
                None => place(self.draw(id.get(), count)),
            },
            RouterKind::LeastOutstanding => least(replicas, |r| u64::from(r.outstanding)),
            RouterKind::ShortestLine => least(replicas, |r| u64::from(r.num_waiting)),
            RouterKind::PowerOfTwo => {
                let first = self.draw(id.get(), count);
                let second = (first + 1 + self.draw(id.get() ^ 0x8000_0000, count - 1)) % count;
                let busy = |i: usize| (replicas[i].outstanding, i);
                place(if busy(second) < busy(first) { second } else { first })
            }
            RouterKind::LeastKv => {
                least(replicas, |r| u64::from(r.used_at(config, now_us)) + r.waiting_prompt_blocks)
            }
            RouterKind::AdapterAffinity => {
                let adapter = trace.adapter[id];
                let key = (adapter != BASE_MODEL).then_some(u64::from(adapter));
                self.affinity.pick(key.as_slice(), |i| replicas[i].outstanding)
            }
            RouterKind::PrefixAffinity => {
                let (blocks, session) = prefix_of(trace, id);
                let keys = if blocks.is_empty() { session.as_slice() } else { blocks };
                self.affinity.pick(keys, |i| replicas[i].outstanding)
            }
        }
    }

    fn draw(&self, item: u32, count: usize) -> usize {
        let mut stream = self.draws.item(item as usize);
        ((stream.uniform() * count as f64) as usize).min(count - 1)
    }
}

/// The index of the replica at a place.
fn place(place: usize) -> ReplicaIndex {
    ReplicaIndex::new(place as u16)
}

fn least(replicas: &[Replica], load: impl Fn(&Replica) -> u64) -> ReplicaIndex {
    let mut best = 0;
    for (i, replica) in replicas.iter().enumerate().skip(1) {
        if load(replica) < load(&replicas[best]) {
            best = i;
        }
    }
    place(best)
}

/// Keys that are remembered of a replica: prefix blocks as many as its KV cache has room for; every adapter or session.
fn most_keys(config: &FleetConfig, trace: &Trace) -> usize {
    let blocks =
        trace.metadata.as_deref().map(|metadata| &metadata.prefix).filter(|prefix| !prefix.is_empty());
    match blocks {
        Some(prefix) if config.router == RouterKind::PrefixAffinity => {
            let tokens = u64::from(config.blocks) * u64::from(config.block_size);
            (tokens / u64::from(prefix.block_tokens.max(1))).max(1) as usize
        }
        _ => usize::MAX,
    }
}

/// The blocks of a prompt, and the session of a request for prompts that are not given in blocks.
fn prefix_of(trace: &Trace, id: RequestId) -> (&[u64], Option<u64>) {
    let Some(metadata) = trace.metadata.as_deref() else { return (&[], None) };
    let session = metadata.session.index.get(id.index()).filter(|&&place| place != NO_LABEL);
    (metadata.prefix.of(id.index()), session.map(|&place| u64::from(place)))
}
