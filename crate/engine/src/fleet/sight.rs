//! How the proxy sees the fleet: all replicas' memory as one, and the tokens of a request in it.

use servescope_workload::Trace;

use super::config::FleetConfig;
use super::replica::Replica;
use super::requests::{Place, Requests};
use crate::gateway::proxy::Sight;

/// The fleet at the present time.
pub(super) struct Engines<'a> {
    pub(super) config: &'a FleetConfig,
    pub(super) trace: &'a Trace,
    pub(super) requests: &'a Requests,
    pub(super) replicas: &'a [Replica],
    /// Whether what ends now has ended: at equal times arrivals come before it.
    pub(super) ends_are_over: bool,
}

impl Sight for Engines<'_> {
    fn used_tokens(&self, at_us: f64) -> f64 {
        let blocks: u64 =
            self.replicas.iter().map(|replica| u64::from(replica.used_at(self.config, at_us))).sum();
        (blocks * u64::from(self.config.block_size)) as f64
    }

    /// Every replica has steps of its own.
    fn steps(&self, _at_us: f64) -> u64 {
        0
    }

    fn held_tokens(&self, id: u32, at_us: f64, _steps: u64) -> u32 {
        let i = id as usize;
        let place = self.requests.place[i];
        if matches!(place, Place::Waiting | Place::Gone) {
            return 0;
        }
        let replica = &self.replicas[usize::from(self.requests.replica[i])];
        let done = self.requests.done[i];
        let tokens = if place == Place::Decoding && replica.is_single() {
            let over = match &replica.run {
                Some(run) if replica.in_flight > 0 && replica.flight.decodes > 0 => {
                    let next = run.first_end_from(at_us, run.done + replica.leap);
                    let is_over = self.ends_are_over && run.time_after(next) <= at_us;
                    next - run.done - u32::from(!is_over)
                }
                _ => 0,
            };
            done.wrapping_add(replica.lockstep.step).wrapping_add(over)
        } else {
            done
        };
        tokens.min(self.trace.input_tokens[i] + self.trace.output_tokens[i])
    }
}
