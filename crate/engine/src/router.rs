//! Which replica gets an arrival. A request stays at its replica.

mod affinity;

use crate::replica_index::ReplicaIndex;
use servescope_workload::mersenne::MersenneTwister;
use servescope_workload::stream::Stream;
use servescope_workload::trace::NO_LABEL;
use servescope_workload::{BASE_MODEL, RequestId, Trace};

use crate::config::{FleetConfig, PoolConfig, RouterKind};
use crate::replica::Replica;
use crate::router::affinity::{Affinity, Candidate};

/// A router and what it remembers.
#[derive(Debug, Clone)]
pub(crate) struct Router {
    kind: RouterKind,
    /// Round robin: the index after that of the replica that got the last request.
    turn: usize,
    draws: Stream,
    /// What Python's `random` draws, where that is wanted.
    python_random: Option<MersenneTwister>,
    /// What replicas were given, of the routers that look at it.
    affinity: Affinity,
}

/// What a router sees when a request arrives.
pub(crate) struct RoutingView<'a> {
    /// The settings of a pool, by its place.
    pub(crate) config_of: &'a dyn Fn(u16) -> &'a PoolConfig,
    pub(crate) replicas: &'a [Replica],
    pub(crate) trace: &'a Trace,
    pub(crate) now_us: f64,
}

impl Router {
    pub(crate) fn new(config: &FleetConfig) -> Self {
        let is_of_python = config.draws_as_python && config.router == RouterKind::Random;
        Self {
            kind: config.router,
            turn: 0,
            draws: Stream::named(config.seed, "fleet.router"),
            python_random: is_of_python.then(|| MersenneTwister::of_python(config.seed)),
            affinity: Affinity::default(),
        }
    }

    /// The replica for request `id` among those that it may be given to, of which there is one at least, in their order. Where
    /// several are equal, the first.
    pub(crate) fn pick(
        &mut self,
        view: &RoutingView<'_>,
        candidates: &[ReplicaIndex],
        id: RequestId,
    ) -> ReplicaIndex {
        let count = candidates.len();
        if view.replicas.len() == 1 {
            return candidates[0];
        }
        let outstanding = |place: ReplicaIndex| view.replicas[place].outstanding;
        match self.kind {
            RouterKind::RoundRobin => {
                let next = candidates.iter().find(|place| place.index() >= self.turn);
                let place = *next.unwrap_or(&candidates[0]);
                self.turn = place.index() + 1;
                place
            }
            RouterKind::Random => match &mut self.python_random {
                Some(words) => candidates[words.below(count as u32) as usize],
                None => candidates[self.draw(id.get(), count)],
            },
            RouterKind::LeastOutstanding => least(candidates, |place| u64::from(outstanding(place))),
            RouterKind::FewestWaiting => {
                least(candidates, |place| u64::from(view.replicas[place].num_waiting))
            }
            RouterKind::PowerOfTwo => {
                let first = self.draw(id.get(), count);
                // Of one replica there is no second one to draw.
                let others = self.draw(id.get() ^ 0x8000_0000, (count - 1).max(1));
                let second = (first + 1 + others) % count;
                let busy = |at: usize| (outstanding(candidates[at]), at);
                candidates[if busy(second) < busy(first) { second } else { first }]
            }
            RouterKind::LeastKv => least(candidates, |place| view.kv_tokens(place)),
            RouterKind::AdapterAffinity => {
                let adapter = view.trace.adapter[id];
                let key = (adapter != BASE_MODEL).then_some(u64::from(adapter));
                self.affinity.pick(key.as_slice(), view.by_load(candidates))
            }
            RouterKind::PrefixAffinity => {
                let (blocks, session) = prefix_of(view.trace, id);
                let keys = if blocks.is_empty() { session.as_slice() } else { blocks };
                let candidates = view
                    .by_load(candidates)
                    .map(|candidate| Candidate { most_keys: view.most_keys(candidate.place), ..candidate });
                self.affinity.pick(keys, candidates)
            }
        }
    }

    fn draw(&self, item: u32, count: usize) -> usize {
        let mut stream = self.draws.item(item as usize);
        ((stream.uniform() * count as f64) as usize).min(count - 1)
    }
}

fn least(candidates: &[ReplicaIndex], load: impl Fn(ReplicaIndex) -> u64) -> ReplicaIndex {
    candidates.iter().copied().min_by_key(|&place| load(place)).unwrap_or_default()
}

impl RoutingView<'_> {
    fn config(&self, place: ReplicaIndex) -> &PoolConfig {
        (self.config_of)(self.replicas[place].life.pool)
    }

    /// KV memory of a replica that is in use or promised to its waiting queue, in tokens: blocks of pools may differ in size.
    fn kv_tokens(&self, place: ReplicaIndex) -> u64 {
        let (replica, config) = (&self.replicas[place], self.config(place));
        let blocks = u64::from(replica.used_at(self.now_us)) + replica.waiting_prompt_blocks;
        config.tokens_in(blocks)
    }

    fn by_load(&self, candidates: &[ReplicaIndex]) -> impl Iterator<Item = Candidate> {
        candidates.iter().map(|&place| Candidate {
            place,
            load: self.replicas[place].outstanding,
            most_keys: usize::MAX,
        })
    }

    /// Blocks of prompts that are remembered of a replica: as many as its KV cache has room for.
    fn most_keys(&self, place: ReplicaIndex) -> usize {
        let prefix = self.trace.metadata.as_deref().map(|metadata| &metadata.prefix);
        let tokens = u64::from(self.config(place).kv_tokens());
        prefix
            .filter(|prefix| !prefix.is_empty())
            .map_or(usize::MAX, |prefix| (tokens / u64::from(prefix.block_tokens.max(1))).max(1) as usize)
    }
}

/// The blocks of a prompt, and the session of a request for prompts that are not given in blocks.
fn prefix_of(trace: &Trace, id: RequestId) -> (&[u64], Option<u64>) {
    let Some(metadata) = trace.metadata.as_deref() else { return (&[], None) };
    let session = metadata.session.index.get(id.index()).filter(|&&place| place != NO_LABEL);
    (metadata.prefix.of(id.index()), session.map(|&place| u64::from(place)))
}
