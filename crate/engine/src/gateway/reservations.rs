//! What the proxy counts of KV memory: the engine's usage as it was last seen, and what was let through and is not in that
//! usage yet.
//!
//! A request is let through when `free - headroom - reserved >= predicted`. Its reservation is what is predicted of it,
//! prompt and output, less the tokens of it that the engine holds: it shrinks as tokens appear and is gone when the request
//! has ended, complete or not. The usage is looked at when the proxy decides and its last look is too old.
//!
//! A request that waits at the engine holds nothing, so a look asks only for the requests that joined a batch since the last one and
//! those that held something then: it costs O(running requests), however many wait.
//!
//! What was reserved for a request over a time is kept without looking at it: with changes d at times t it is
//! left x now - sum of d t, so each change costs one multiplication.

use servescope_workload::RequestId;

/// No place.
const NOWHERE: u32 = u32::MAX;

/// What is reserved for a request at the engine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KvReservation {
    /// Which request.
    pub id: RequestId,
    /// Predicted tokens, prompt and output.
    pub predicted: u32,
    /// How many of them were not in the usage at the last look.
    pub left: u32,
    /// Whether the next look asks for it; of any other one all that is predicted is left.
    is_watched: bool,
    /// Changes of `left`, each times when it came, since the last cut, token microseconds.
    moment: f64,
}

impl KvReservation {
    /// Token microseconds since the last cut, this many microseconds ago.
    fn token_us(&self, since_us: f64) -> f64 {
        // Rounding may leave less than nothing of a reservation that was used up at once.
        (f64::from(self.left) * since_us - self.moment).max(0.0)
    }
}

/// What a request leaves behind that has ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ended<T> {
    /// Its note.
    pub note: T,
    /// What was still reserved for it.
    pub left: u32,
    /// Token microseconds reserved since the last cut.
    pub token_us: f64,
}

/// The reservations of the requests at the engine, each with a note.
#[derive(Debug, Clone)]
pub struct KvReservations<T> {
    open: Vec<KvReservation>,
    notes: Vec<T>,
    /// Place of each request in `open`.
    place: Vec<u32>,
    /// The requests that the next look asks for, and some that have ended.
    watched: Vec<RequestId>,
    reserved: u64,
    leaks: bool,
    leaked: u64,
    /// When the last cut was, microseconds.
    cut_us: f64,
    /// Integral of all that is reserved up to the last change, token microseconds, and when that was.
    total_token_us: f64,
    changed_us: f64,
}

impl<T> KvReservations<T> {
    /// No reservation, for this many requests. `leaks`: what is left at a request's end is not given back.
    pub fn new(requests: usize, leaks: bool) -> Self {
        Self {
            open: Vec::new(),
            notes: Vec::new(),
            place: vec![NOWHERE; requests],
            watched: Vec::new(),
            reserved: 0,
            leaks,
            leaked: 0,
            cut_us: 0.0,
            total_token_us: 0.0,
            changed_us: 0.0,
        }
    }

    /// The requests at the engine, in no order that means anything.
    pub fn open(&self) -> &[KvReservation] {
        &self.open
    }

    /// The same with their notes.
    pub fn noted(&self) -> impl Iterator<Item = (&KvReservation, &T)> {
        self.open.iter().zip(&self.notes)
    }

    /// Tokens reserved, with those that leaked.
    pub fn reserved(&self) -> u64 {
        self.reserved + self.leaked
    }

    /// Tokens reserved for requests that have ended.
    pub fn leaked(&self) -> u64 {
        self.leaked
    }

    /// Integral of what was reserved up to a time, token microseconds.
    pub fn total_token_us(&self, at_us: f64) -> f64 {
        self.total_token_us + self.reserved() as i64 as f64 * (at_us - self.changed_us)
    }

    fn changes(&mut self, at_us: f64) {
        self.total_token_us = self.total_token_us(at_us);
        self.changed_us = at_us;
    }

    /// The note of a request at the engine.
    pub fn note_mut(&mut self, id: RequestId) -> Option<&mut T> {
        self.notes.get_mut(self.place[id] as usize)
    }

    /// A request is let through. Times of calls never go back.
    pub fn admit(&mut self, id: RequestId, predicted: u32, note: T, at_us: f64) {
        debug_assert!(self.place[id] == NOWHERE, "a request is at the engine once");
        self.place[id] = self.open.len() as u32;
        self.changes(at_us);
        let moment = f64::from(predicted) * (at_us - self.cut_us);
        self.open.push(KvReservation { id, predicted, left: predicted, is_watched: false, moment });
        self.notes.push(note);
        self.reserved += u64::from(predicted);
    }

    /// A request holds memory at the engine from now on, or may. One that is not at the engine changes nothing.
    pub fn watch(&mut self, id: RequestId) {
        if let Some(entry) = self.open.get_mut(self.place[id] as usize)
            && !entry.is_watched
        {
            entry.is_watched = true;
            self.watched.push(id);
        }
    }

    /// The requests that may hold memory, in the order of [`Self::open`].
    pub fn watched(&mut self) -> &[RequestId] {
        let Self { open, place, watched, .. } = self;
        watched.retain(|&id| open.get(place[id] as usize).is_some_and(|entry| entry.is_watched));
        watched.sort_unstable_by_key(|&id| place[id]);
        // One that ended and came again is there twice.
        watched.dedup();
        watched
    }

    /// The usage is looked at: `held` says how many tokens the engine holds of each request of [`Self::watched`], and `each` is
    /// called with them; one that holds none and waits is watched no more. A preempted request holds fewer than before, and its
    /// reservation grows again.
    pub fn look(
        &mut self,
        at_us: f64,
        held: &[Option<u32>],
        mut each: impl FnMut(&KvReservation, &mut T, u32),
    ) {
        self.changes(at_us);
        let since_us = at_us - self.cut_us;
        let Self { open, notes, place, watched, reserved, .. } = self;
        debug_assert!(held.len() == watched.len(), "those that are watched were asked for");
        let mut model = held.iter();
        watched.retain(|&id| {
            let place = place[id] as usize;
            let (entry, note) = (&mut open[place], &mut notes[place]);
            let model = model.next().copied().flatten();
            let held = model.unwrap_or(0);
            each(entry, note, held);
            let left = entry.predicted.saturating_sub(held);
            entry.moment += (i64::from(left) - i64::from(entry.left)) as f64 * since_us;
            *reserved = *reserved - u64::from(entry.left) + u64::from(left);
            entry.left = left;
            entry.is_watched = model.is_some();
            entry.is_watched
        });
    }

    /// Hands out what was reserved for each request at the engine since the last cut, token microseconds, and begins anew.
    pub fn cut(&mut self, at_us: f64, mut each: impl FnMut(&KvReservation, f64)) {
        let since_us = at_us - self.cut_us;
        for entry in &mut self.open {
            each(entry, entry.token_us(since_us));
            entry.moment = 0.0;
        }
        self.cut_us = at_us;
    }

    /// A request has ended. One that never was let through changes nothing.
    pub fn release(&mut self, id: RequestId, at_us: f64) -> Option<Ended<T>> {
        let place = std::mem::replace(&mut self.place[id], NOWHERE);
        if place == NOWHERE {
            return None;
        }
        let entry = self.open.swap_remove(place as usize);
        let note = self.notes.swap_remove(place as usize);
        if let Some(moved) = self.open.get(place as usize) {
            self.place[moved.id] = place;
        }
        self.changes(at_us);
        self.reserved -= u64::from(entry.left);
        if self.leaks {
            self.leaked += u64::from(entry.left);
        }
        Some(Ended { note, left: entry.left, token_us: entry.token_us(at_us - self.cut_us) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use servescope_workload::stream::Stream;

    fn recounted(reservations: &KvReservations<()>) -> u64 {
        reservations.open().iter().map(|entry| u64::from(entry.left)).sum()
    }

    /// What is left of a request by the look that asks for every request.
    fn left_of(predicted: u32, held: Option<u32>) -> u32 {
        predicted.saturating_sub(held.unwrap_or(0))
    }

    #[test]
    fn a_million_admissions_looks_and_ends_of_every_kind_leave_nothing() {
        const REQUESTS: usize = 2_000;
        let mut draws = Stream::named(7, "reservations");
        let mut reservations = KvReservations::new(REQUESTS, false);
        let mut held = vec![None; REQUESTS];
        let mut left = vec![0; REQUESTS];
        let mut is_there = [false; REQUESTS];
        for step in 0..1_000_000u32 {
            let id = (draws.bits() % REQUESTS as u64) as usize;
            match draws.bits() % 16 {
                // Admission of one that is not there, a retry included.
                0..=7 if !is_there[id] => {
                    let predicted = (draws.bits() % 4_000) as u32;
                    reservations.admit(RequestId::new(id as u32), predicted, (), f64::from(step));
                    (is_there[id], held[id], left[id]) = (true, None, predicted);
                }
                // Tokens appear, or a preemption takes some or all of them away.
                0..=10 => {
                    held[id] = (!draws.bits().is_multiple_of(4)).then(|| (draws.bits() % 5_000) as u32);
                    if held[id].is_some() {
                        reservations.watch(RequestId::new(id as u32));
                    }
                }
                // Completion, cancellation, timeout; also of one that is not there.
                11..=14 => {
                    assert_eq!(
                        reservations.release(RequestId::new(id as u32), f64::from(step)).is_some(),
                        is_there[id]
                    );
                    is_there[id] = false;
                }
                _ if step % 64 == 0 => {
                    let seen: Vec<_> = reservations.watched().iter().map(|&id| held[id]).collect();
                    reservations.look(f64::from(step), &seen, |_, (), _| {});
                    for entry in reservations.open() {
                        left[entry.id] = left_of(entry.predicted, held[entry.id]);
                    }
                }
                _ => {}
            }
            if step % 1_000 == 0 {
                assert_eq!(reservations.reserved(), recounted(&reservations));
                assert!(reservations.open().iter().all(|entry| entry.left == left[entry.id]));
                assert_eq!(reservations.open().len(), is_there.iter().filter(|&&there| there).count());
            }
        }
        for id in 0..REQUESTS {
            reservations.release(RequestId::new(id as u32), 1e6);
        }
        assert_eq!((reservations.reserved(), reservations.open().len()), (0, 0));
    }

    proptest! {
        #[test]
        fn a_look_leaves_what_is_not_seen(
            requests in prop::collection::vec((0u32..5_000, 0u32..6_000), 1..50),
            leaks in any::<bool>(),
        ) {
            let mut reservations = KvReservations::new(requests.len(), leaks);
            for (id, &(predicted, _)) in requests.iter().enumerate() {
                reservations.admit(RequestId::new(id as u32), predicted, (), 0.0);
            }
            RequestId::first(requests.len()).for_each(|id| reservations.watch(id));
            let held: Vec<_> = reservations.watched().iter().map(|&id| Some(requests[id.index()].1)).collect();
            reservations.look(1.0, &held, |_, (), _| {});
            let left: u64 = requests.iter().map(|&(p, h)| u64::from(p.saturating_sub(h))).sum();
            prop_assert_eq!(reservations.reserved(), left);
            RequestId::first(requests.len()).for_each(|id| {
                reservations.release(id, 2.0);
            });
            prop_assert_eq!(reservations.reserved(), if leaks { left } else { 0 });
        }
    }
}
