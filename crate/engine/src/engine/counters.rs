//! What clients' counters stand at over a run: the sum over the replicas, each of which keeps its own.

use crate::client::ClientId;
use crate::replica_index::ReplicaIndex;
use servescope_workload::{RequestId, Trace};

use super::Fleet;
use crate::record::sampler::Sampler;
use crate::replica::queue::policy::QueueConfig;
use crate::report::Counters;

/// The clients seen so far and the samples.
#[derive(Debug, Clone, Default)]
pub(super) struct Counting {
    sampler: Sampler,
    seen: Vec<ClientId>,
    /// Place in `seen` of each client; empty where no counters are kept.
    places: Vec<Option<u32>>,
}

impl Counting {
    /// Of lines that keep counters.
    pub(super) fn new(queueing: &QueueConfig, trace: &Trace) -> Self {
        let clients = queueing.client.count(trace);
        Self { sampler: Sampler::of(clients, 0.0), seen: Vec::new(), places: vec![None; clients] }
    }

    /// A request comes in.
    pub(super) fn see(&mut self, queueing: &QueueConfig, trace: &Trace, id: RequestId) {
        if self.places.is_empty() {
            return;
        }
        let client = queueing.client.of(trace, id, self.places.len());
        let place = &mut self.places[client];
        if place.is_none() {
            *place = Some(self.seen.len() as u32);
            self.seen.push(client);
        }
    }
}

impl Fleet {
    /// Takes the samples that are due before what happens at `now_us`.
    #[inline]
    pub(super) fn sample_counters(&mut self, now_us: f64) {
        while let Some(at_us) = self.counting.sampler.next_us().filter(|&at| at <= now_us) {
            self.ends_are_over = false;
            let values = self.sums(at_us);
            self.counting.sampler.take(values, at_us);
        }
    }

    /// Counters at a time that is not over, in the order of the clients' first requests.
    fn sums(&mut self, at_us: f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.counting.seen.len()];
        for place in ReplicaIndex::first(self.replicas.len()) {
            let (replica, context, _) = self.parts(place, at_us);
            replica.charge_ended(&context);
            let counters = replica.counters();
            for (client, value) in counters {
                if let Some(Some(place)) = self.counting.places.get(client.index()) {
                    sums[*place as usize] += value;
                }
            }
        }
        sums
    }

    /// The counters at the end.
    pub(super) fn final_counters(&mut self) -> Option<Counters> {
        if self.counting.places.is_empty() {
            return None;
        }
        let sums = self.sums(f64::INFINITY);
        let counting = std::mem::take(&mut self.counting);
        let (client, clients) = (self.queueing.client, counting.places.len());
        let values = counting.seen.into_iter().zip(sums).collect();
        Some(Counters { client, clients, values, samples: counting.sampler.into_samples() })
    }
}
