//! How the proxy sees the fleet: all replicas' memory as one, and the tokens of a request in it.

use servescope_workload::{RequestId, Trace};

use super::pools::PoolState;
use crate::gateway::proxy::KvUsageProbe;
use crate::record::request_state::RequestStatus;
use crate::replica::Replica;
use crate::replica::requests::Requests;

/// The fleet at the present time.
pub(super) struct ReplicaView<'a> {
    pub(super) pools: &'a [PoolState],
    pub(super) trace: &'a Trace,
    pub(super) requests: &'a Requests,
    pub(super) replicas: &'a [Replica],
    /// Whether what ends now has ended: at equal times arrivals come before it.
    pub(super) ends_are_over: bool,
}

impl KvUsageProbe for ReplicaView<'_> {
    fn used_tokens(&self, at_us: f64) -> f64 {
        let tokens = |replica: &Replica| {
            let config = &self.pool(replica).config;
            let blocks = u64::from(replica.used_at(at_us));
            config.tokens_in(blocks) + u64::from(replica.adapters_in_memory().1)
        };
        self.replicas.iter().map(tokens).sum::<u64>() as f64
    }

    fn held_tokens(&self, requests: &[RequestId], at_us: f64, held: &mut Vec<Option<u32>>) {
        held.extend(requests.iter().map(|&id| {
            let i = id.index();
            let place = self.requests[i].status;
            if matches!(place, RequestStatus::Waiting | RequestStatus::Finished) {
                return None;
            }
            let number = self.requests[i].leg.replica;
            let replica = &self.replicas[number];
            let done = self.requests[i].done;
            let tokens = if place == RequestStatus::Decoding && replica.is_single() {
                replica.decode_batch.tokens(done).wrapping_add(self.over_at(replica, at_us))
            } else if place == RequestStatus::Decoding {
                let lists = self.pool(replica).facts.lists_running;
                let unwritten =
                    lists.then(|| replica.running_list.unwritten_tokens(self.requests, id)).flatten();
                done + unwritten.map_or(0, |tokens| tokens + self.over_at(replica, at_us))
            } else {
                done
            };
            Some(tokens.min(self.trace.input_tokens[i] + self.trace.output_tokens[i]))
        }));
    }
}

impl ReplicaView<'_> {
    fn pool(&self, replica: &Replica) -> &PoolState {
        &self.pools[usize::from(replica.life.pool)]
    }

    /// Iterations of what a replica works on that are over at a time.
    fn over_at(&self, replica: &Replica, at_us: f64) -> u32 {
        match &replica.run {
            Some(run) if replica.in_flight > 0 && (replica.decodes() > 0 || replica.fast_forwarded > 1) => {
                let next = run.first_end_from(at_us, run.done + replica.fast_forwarded);
                let is_over = self.ends_are_over && run.time_after(next) <= at_us;
                next - run.done - u32::from(!is_over)
            }
            _ => 0,
        }
    }
}
