//! Fast-forward of replicas of one stage whose scheduler keeps no lockstep: iterations that differ by a token of each
//! request only take the times of one [`Run`], and as many of them as nothing can change end in one event.

use super::{Fleet, Run};

impl Fleet {
    /// The stage takes a batch; says when it is done with it.
    pub(super) fn begin_iteration(&mut self, place: usize, slot: u32, now_us: f64) -> f64 {
        let mut flights = std::mem::take(&mut self.pipelines[place].flights);
        let flight = &mut flights[slot as usize];
        let (replica, world, cost) = self.parts(place, now_us);
        let is_next = |run: &Run| {
            run.composition == flight.composition
                && run.done < run.holds
                && run.in_memory == flight.in_memory
                && run.time_after(run.done) == now_us
        };
        flight.goes_on = flight.composition > 0 && replica.run.as_ref().is_some_and(is_next);
        if !flight.goes_on {
            let time = cost.stage_time(&flight.batch(), true);
            replica.run = Some(Run::begin(replica, &world, flight, time, 0));
        }
        replica.leap = 1;
        let mut end_us = now_us;
        if let Some(run) = &replica.run {
            flight.first_us = run.time_model.iteration_us(run.done);
            flight.growth_us = run.time_model.growth_us();
            end_us = run.time_after(run.done + 1);
        }
        self.pipelines[place].flights = flights;
        end_us
    }

    /// Puts the end of the iteration under way off to that of the last one of those in which nothing can change.
    pub(super) fn fast_forward(&mut self, place: usize, now_us: f64) {
        if !self.pipelines[place].is_steady() {
            return;
        }
        let longest = self.longest_leap;
        let (replica, mut world, _) = self.parts(place, now_us);
        let Some(run) = replica.run else { return };
        let most = longest.min(run.holds - run.done);
        let leap = world.config.policy().iterations_alike(replica, &mut world, most);
        if leap > 1 {
            replica.leap = leap;
            self.expect(run.time_after(run.done + leap), place);
        }
    }

    /// The iterations under way end, all but the last one of them at once.
    pub(super) fn end_alike(&mut self, place: usize) {
        let (replica, _, _) = self.parts(place, 0.0);
        let before = std::mem::replace(&mut replica.leap, 1) - 1;
        let Some(run) = &mut replica.run else { return };
        run.done += before + 1;
        if before == 0 {
            return;
        }
        let began_us = run.time_after(run.done - 1);
        let formed_before_us = run.time_after(run.done - 2);
        let first_us = run.time_model.iteration_us(run.done - 1);
        let served = self.pipelines[place].stages[0].serves;
        let mut flights = std::mem::take(&mut self.pipelines[place].flights);
        let (replica, mut world, _) = self.parts(place, began_us);
        let last_blocks = world.config.policy().end_alike(replica, &mut world, before);
        let blocks = replica.kv.used() - last_blocks;
        replica.formed += u64::from(before);
        for (slot, flight) in (0..).zip(&mut flights).filter(|(_, flight)| flight.steady.is_some()) {
            let is_served = Some(slot) == served;
            if is_served {
                replica.write(&mut world, flight, before, flight.decodes, blocks);
                (flight.goes_on, flight.first_us, flight.began_us) = (true, first_us, began_us);
            }
            // Where two are under way, the one on the stage was formed when the one before it began.
            let has_waited = replica.in_flight > 1 && is_served;
            flight.formed_us = if has_waited { formed_before_us } else { began_us };
            flight.moves_on(before);
        }
        self.pipelines[place].flights = flights;
    }
}
