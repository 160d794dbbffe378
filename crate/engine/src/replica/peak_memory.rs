//! The memory test of S-LoRA and LightLLM: how many KV tokens will the batch need at its worst moment?
//!
//! With the requests sorted by tokens left, descending, the k-th leaves when it has `left_k` to go; at that moment the k
//! longest are still there: need = max over k of (left_k k + used_1 + … + used_k).
//!
//! In the coordinates f = step + left and u = used - step, with `step` the number of decode iterations so far, the same
//! need is max over k of (k f_k + u_1 + … + u_k), and a decode iteration changes neither f nor u. So entries are touched
//! only when a request joins or leaves.
//!
//! A candidate is no entry: it would start now, so its f grows and its u falls with every iteration. One that is rejected
//! may fit later although no request left; [`PeakKvEstimator::next_admissible_step`] says when.

/// One request in the coordinates that decoding leaves alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvFootprint {
    /// Decode step after which it has nothing left: step + left.
    pub finish: i64,
    /// Tokens it holds, less the step: used - step.
    pub held: i64,
}

impl KvFootprint {
    /// A request at decode step `step` that holds `used` tokens and may produce `left` more.
    pub fn new(step: u64, used: u32, left: u32) -> Self {
        Self { finish: step as i64 + i64::from(left), held: i64::from(used) - step as i64 }
    }
}

/// The requests of the batch, by `finish` descending.
#[derive(Debug, Clone, Default)]
pub struct PeakKvEstimator {
    entries: Vec<KvFootprint>,
    held: i64,
    reserved: i64,
}

impl PeakKvEstimator {
    /// Number of requests.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The requests, by `finish` descending.
    pub fn entries(&self) -> &[KvFootprint] {
        &self.entries
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a request.
    pub fn insert(&mut self, entry: KvFootprint) {
        let place = self.place(entry.finish);
        self.entries.insert(place, entry);
        self.held += entry.held;
        self.reserved += entry.finish + entry.held;
    }

    /// Removes a request that was inserted with these coordinates.
    pub fn remove(&mut self, entry: KvFootprint) {
        // Mostly it is the one that finishes first.
        if self.entries.pop_if(|last| *last == entry).is_none() {
            let place = self.place_of(entry);
            self.entries.remove(place);
        }
        self.held -= entry.held;
        self.reserved -= entry.finish + entry.held;
    }

    /// A request that was inserted with the coordinates `old` has `new` ones, which finish no later.
    pub fn replace(&mut self, old: KvFootprint, new: KvFootprint) {
        debug_assert!(new.finish <= old.finish, "{new:?} in place of {old:?}");
        let mut place = self.place_of(old);
        while let Some(&behind) = self.entries.get(place + 1).filter(|behind| behind.finish > new.finish) {
            self.entries[place] = behind;
            place += 1;
        }
        self.entries[place] = new;
        self.held += new.held - old.held;
        self.reserved += new.finish + new.held - (old.finish + old.held);
    }

    /// The first place of requests that finish at this step, or earlier.
    fn place(&self, finish: i64) -> usize {
        self.entries.partition_point(|e| e.finish > finish)
    }

    /// The place of a request that was inserted.
    fn place_of(&self, entry: KvFootprint) -> usize {
        let from = self.place(entry.finish);
        let behind = self.entries[from..].iter().position(|e| *e == entry);
        from + behind.expect("the entry was inserted")
    }

    /// The need in tokens with `candidate` added.
    pub fn need_with(&self, candidate: KvFootprint) -> i64 {
        let place = self.entries.partition_point(|e| e.finish > candidate.finish);
        let (before, after) = self.entries.split_at(place);
        let (mut count, mut held, mut need) = (0, 0, i64::MIN);
        let mut add = |entry: &KvFootprint| {
            count += 1;
            held += entry.held;
            need = need.max(count * entry.finish + held);
        };
        before.iter().for_each(&mut add);
        add(&candidate);
        after.iter().for_each(&mut add);
        need
    }

    /// Whether the need with `candidate` added is below `limit`. Two sums decide most cases without a scan: all requests
    /// at their largest are never less than the need, what they hold when the last of them joins is never more.
    pub fn fits(&self, candidate: KvFootprint, limit: i64) -> bool {
        if self.reserved + candidate.finish + candidate.held < limit {
            return true;
        }
        let last = self.entries.last().map_or(candidate.finish, |e| e.finish.min(candidate.finish));
        let all = self.entries.len() as i64 + 1;
        if all * last + self.held + candidate.held >= limit {
            return false;
        }
        self.need_with(candidate) < limit
    }
}

impl PeakKvEstimator {
    /// The first decode step from `step` on at which a candidate that would hold `used` tokens and may produce `left` more
    /// fits, if no request joins or leaves; `None` if it never does.
    ///
    /// With p requests ahead of it in the order, the candidate's own term grows by p a step, the terms of those behind it
    /// fall by 1 a step, and those ahead stay. As its f grows it moves ahead, so each p holds for one interval of steps, in
    /// which the conditions are linear.
    pub fn next_admissible_step(&self, step: u64, used: u32, left: u32, limit: i64) -> Option<u64> {
        let (now, used, left) = (step as i64, i64::from(used), i64::from(left));
        let n = self.entries.len();
        let ahead_now = self.entries.partition_point(|e| e.finish > now + left);
        // Largest term of those ahead of place p: `ahead[p]`; of those from place p on, the candidate counted: `behind`.
        let mut held = Vec::with_capacity(n + 1);
        let mut ahead = Vec::with_capacity(n + 1);
        let (mut sum, mut worst) = (0, i64::MIN);
        for (j, entry) in (1..).zip(&self.entries) {
            held.push(sum);
            ahead.push(worst);
            sum += entry.held;
            worst = worst.max(j * entry.finish + sum);
        }
        held.push(sum);
        ahead.push(worst);
        let mut behind = i64::MIN;
        for (place, entry) in self.entries.iter().enumerate().skip(ahead_now) {
            behind = behind.max((place as i64 + 2) * entry.finish + held[place + 1]);
        }
        for p in (0..=ahead_now).rev() {
            if p < ahead_now {
                behind = behind.max((p as i64 + 2) * self.entries[p].finish + held[p + 1]);
            }
            let places = p as i64;
            // The candidate has p ahead of it while its f lies below the p-th and not below the next.
            let from = self.entries.get(p).map_or(now, |next| (next.finish - left).max(now));
            let until = if p == 0 { i64::MAX } else { self.entries[p - 1].finish - left - 1 };
            if ahead[p] >= limit {
                continue;
            }
            let first = if behind == i64::MIN { from } else { from.max(behind + used - limit + 1) };
            let own = (places + 1) * left + held[p] + used;
            let last = match places {
                0 if own < limit => until,
                0 => continue,
                _ => until.min((limit - 1 - own).div_euclid(places)),
            };
            if first <= last {
                return Some(first as u64);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The formula as written in S-LoRA: sort by left, descending; need = max(left k + cumulated used).
    fn by_the_book(mut requests: Vec<(u32, u32)>) -> i64 {
        requests.sort_by_key(|&(_, left)| std::cmp::Reverse(left));
        let mut held = 0;
        let needs = requests.iter().zip(1..).map(|(&(used, left), k)| {
            held += i64::from(used);
            i64::from(left) * k + held
        });
        needs.max().unwrap_or(0)
    }

    proptest! {
        #[test]
        fn the_next_admissible_step_is_the_first(
            requests in prop::collection::vec((1u32..60, 0u32..80), 0..12),
            candidate in (1u32..60, 0u32..120),
            step in 0u64..50,
            limit in 1i64..900,
        ) {
            let mut estimate = PeakKvEstimator::default();
            for &(used, left) in &requests {
                estimate.insert(KvFootprint::new(step, used, left));
            }
            // The estimate as it stands, asked again at every later step.
            let fits = |later: &u64| estimate.need_with(KvFootprint::new(*later, candidate.0, candidate.1)) < limit;
            let by_trial = (step..step + 3_000).find(fits);
            prop_assert_eq!(estimate.next_admissible_step(step, candidate.0, candidate.1, limit), by_trial);
        }

        #[test]
        fn need_is_the_books_and_decoding_leaves_it_alone(
            requests in prop::collection::vec((1u32..500, 0u32..300), 0..40),
            candidate in (1u32..500, 0u32..300),
            step in 0u64..1000,
            later in 0u64..300,
        ) {
            let mut estimate = PeakKvEstimator::default();
            for &(used, left) in &requests {
                estimate.insert(KvFootprint::new(step, used, left));
            }
            let entry = KvFootprint::new(step, candidate.0, candidate.1);
            let mut all = requests.clone();
            all.push(candidate);
            let need = estimate.need_with(entry);
            prop_assert_eq!(need, by_the_book(all));
            for limit in [need - 1, need, need + 1] {
                prop_assert_eq!(estimate.fits(entry, limit), need < limit);
            }
            // One of them finishes earlier.
            let (mut replaced, mut anew) = (estimate.clone(), estimate.clone());
            if let Some((&(used, left), earlier)) = requests.first().zip(Some(later.min(9) as u32)) {
                let (old, new) = (KvFootprint::new(step, used, left), KvFootprint::new(step, used, left.saturating_sub(earlier)));
                replaced.replace(old, new);
                anew.remove(old);
                anew.insert(new);
            }
            prop_assert_eq!(replaced.need_with(entry), anew.need_with(entry));
            prop_assert_eq!((replaced.held, replaced.reserved), (anew.held, anew.reserved));
            prop_assert!(replaced.entries.is_sorted_by_key(|e| std::cmp::Reverse(e.finish)));
            // `later` steps on, with the same requests each one token further.
            let mut moved = PeakKvEstimator::default();
            let still: Vec<_> = requests.iter().filter(|r| u64::from(r.1) >= later).collect();
            for r in &still {
                moved.insert(KvFootprint::new(step + later, r.0 + later as u32, r.1 - later as u32));
            }
            for r in requests.iter().filter(|r| u64::from(r.1) < later) {
                estimate.remove(KvFootprint::new(step, r.0, r.1));
            }
            prop_assert_eq!(&moved.entries.len(), &estimate.entries.len());
            let late = KvFootprint::new(step + later, candidate.0, candidate.1);
            prop_assert_eq!(moved.need_with(late), estimate.need_with(late));
        }
    }
}
