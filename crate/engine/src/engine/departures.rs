//! Clients that go away, and requests that wait longer than they may.
//!
//! A waiting request leaves the queue at once. A request of the iteration under way leaves when that ends, with the token that it
//! makes;
//! its memory is then free.

use super::Fleet;
use crate::record::timeline::Departure;
use crate::replica::requests::Place;
use crate::request::Outcome;

impl Fleet {
    /// When the next request will have waited too long.
    pub(super) fn deadline_us(&mut self) -> Option<f64> {
        while let Some(&(at_us, id)) = self.deadlines.front() {
            let i = id as usize;
            if self.requests.place[i] == Place::Waiting && self.requests.scheduled_us[i].is_nan() {
                return Some(at_us);
            }
            self.deadlines.pop_front();
        }
        None
    }

    /// The request with the next deadline is given up.
    pub(super) fn time_out(&mut self, now_us: f64) {
        let Some((_, id)) = self.deadlines.pop_front() else { return };
        self.record.fates[id as usize].outcome = Outcome::TimedOut;
        self.record.departures.push(Departure { time_us: now_us, id });
        self.leave_line(id, now_us);
    }

    /// A client goes away.
    pub(super) fn cancel(&mut self, id: u32, now_us: f64) {
        let i = id as usize;
        if self.replicas[0].state.reads_mail() {
            return self.cancel_by_mail(id, now_us);
        }
        let fate = &mut self.record.fates[i];
        if fate.outcome != Outcome::Unfinished {
            return;
        }
        fate.outcome = Outcome::Cancelled;
        if self.intake.is_outside(id) {
            self.intake.gave_up(&self.trace, id, now_us);
            return;
        }
        if self.requests.place[i] == Place::Waiting {
            return self.leave_line(id, now_us);
        }
        let place = usize::from(self.requests.replica[i]);
        let in_flight = match self.pipelines.get(place) {
            None => self.replicas[place].in_flight > 0,
            Some(pipeline) => pipeline.holds(id),
        };
        if in_flight {
            self.replicas[place].leaving.push(id);
            self.shorten(place, now_us);
        } else {
            let (replica, mut world, _) = self.parts(place, now_us);
            world.config.policy().let_go(replica, &mut world, id);
            self.touched.push(place as u32);
        }
    }

    /// The same where the replica learns of it between two iterations.
    fn cancel_by_mail(&mut self, id: u32, now_us: f64) {
        let i = id as usize;
        let place = usize::from(self.requests.replica[i]);
        if self.record.fates[i].outcome == Outcome::Unfinished {
            let is_outside = self.intake.is_outside(id);
            if is_outside || self.requests.place[i] == Place::Waiting {
                self.record.fates[i].outcome = Outcome::Cancelled;
            }
            if is_outside {
                self.intake.gave_up(&self.trace, id, now_us);
            } else if self.requests.place[i] == Place::Waiting {
                let (replica, mut world, _) = self.parts(place, now_us);
                replica.give_up(&mut world, id);
            }
        }
        self.replicas[place].state.hears_of_end(id, Outcome::Cancelled);
        self.touched.push(place as u32);
    }

    fn leave_line(&mut self, id: u32, now_us: f64) {
        let place = usize::from(self.requests.replica[id as usize]);
        let (replica, mut world, _) = self.parts(place, now_us);
        let outcome = world.record.fates[id as usize].outcome;
        let may_be_next = replica.give_up(&mut world, id);
        // Behind its head a queue is not scanned, unless requests are skipped whose adapters have no slot.
        if replica.state.hears_of_end(id, outcome) || may_be_next {
            self.touched.push(place as u32);
        }
    }
}
