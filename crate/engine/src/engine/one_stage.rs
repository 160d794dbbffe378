//! Iterations of a replica of one stage that keeps its running requests in a lockstep: formed, charged at once or one by one,
//! ended.

use super::Fleet;
use crate::replica::run::Run;
use crate::replica::{requests, scheduler};

impl Fleet {
    /// What the replica does at once ends with the iteration under way.
    pub(super) fn shorten(&mut self, place: usize, now_us: f64) {
        let least = self.config.policy().least_leap(&self.replicas[place]);
        let replica = &mut self.replicas[place];
        let Some(run) = replica.run.as_ref().filter(|_| replica.leap > 1) else { return };
        let last = run.done + replica.leap;
        let end = run.first_end_from(now_us, last).max(run.done + least);
        if end < last {
            let (time_us, leap) = (run.time_after(end), end - run.done);
            replica.leap = leap;
            self.expect(time_us, place);
        }
    }

    /// Forms the next iteration of a replica of one stage, and begins it.
    pub(super) fn form(&mut self, place: usize, now_us: f64) {
        let longest = self.longest_leap;
        let (replica, mut world, cost) = self.parts(place, now_us);
        let mut flight = replica.flight.take().unwrap_or_default();
        flight.clear();
        flight.formed_us = now_us;
        scheduler::form_or_retry(replica, &mut world, &mut flight);
        if flight.is_empty() {
            replica.flight = Some(flight);
            let wakes_us = world.config.policy().wakes_us(replica);
            if wakes_us < f64::INFINITY {
                self.expect(wakes_us, place);
            }
            return;
        }
        let goes_on = flight.chunks.is_empty() && replica.run.is_some_and(|run| run.done < run.holds);
        if !goes_on {
            replica.close_run(&mut world);
            let time = cost.stage_time(&flight.batch(), true);
            debug_assert!(
                flight.decodes == 0 || flight.decode_kv_tokens == replica.lockstep.kv_tokens,
                "what decodes is told by what is in memory"
            );
            replica.chunks.clone_from(&flight.chunks);
            let stalled = if flight.decodes > 0 { 0 } else { replica.lockstep.count };
            replica.run = Some(Run::begin(replica, &world, &flight, time, stalled));
        }
        let most = scheduler::leap(replica, &world, &flight).min(longest);
        replica.flight = Some(flight);
        let Some(run) = &replica.run else { return };
        let leap = most.min(run.holds - run.done);
        let end_us = run.time_after(run.done + leap);
        replica.leap = leap;
        replica.charged = 0;
        replica.in_flight = 1;
        self.expect(end_us, place);
    }

    /// The iterations under way end: requests have their tokens, finish, or go on.
    pub(super) fn end_iterations(&mut self, place: usize, now_us: f64) {
        let (replica, mut world, _) = self.parts(place, now_us);
        let world = &mut world;
        let scheduler = world.config.policy();
        let mut flight = replica.flight.take().unwrap_or_default();
        replica.in_flight = 0;
        let leap = replica.leap;
        if let Some(run) = &mut replica.run {
            run.done += leap;
        }
        if flight.decodes > 0 {
            replica.charge(leap - replica.charged);
            replica.kv.allocate(scheduler::later_blocks(replica, world.config, leap));
            replica.lockstep.advance(leap);
            replica.decoded_us = now_us;
            scheduler.decoded(replica, world, leap);
        } else if replica.lockstep.count > 0 {
            replica.stall_us += now_us - flight.formed_us;
        }
        let mut finished = 0;
        if !flight.chunks.is_empty() || replica.lockstep.has_ended() {
            replica.close_run(world);
            let mut ended = std::mem::take(&mut replica.ended);
            while let Some(id) = replica.lockstep.pop_ended() {
                // An entry may be left over from before an eviction, and be the same as the one that counts.
                let is_over = world.requests.place[id as usize] == requests::Place::Decoding
                    && replica.tokens(world, id) >= world.total(id)
                    && ended.last() != Some(&id);
                if is_over {
                    ended.push(id);
                }
            }
            scheduler.order_ended(world, &mut ended);
            finished += ended.len() as u32;
            for id in ended.drain(..) {
                replica.finish_decoding(world, id);
            }
            replica.ended = ended;
            let before = replica.holders;
            replica.end_prompts(world, &flight);
            finished += before - replica.holders;
        }
        if finished > 0 {
            replica.waiting.finishing();
        }
        if !replica.leaving.is_empty() {
            replica.let_leaving_go(world, &flight);
        }
        scheduler.ended(replica, world, &mut flight, finished);
        replica.adapters.offload_unused(&mut replica.kv);
        replica.flight = Some(flight);
    }
}
