//! A quota of so much a minute, counted in one of the ways that are in use.
//!
//! - A sliding window: what was taken in the last 60 s; of that [`super::ledger`] keeps account.
//! - Fixed windows: each full minute begins anew, so that twice the quota may pass around its start.
//! - Sub-windows of 1 or 10 s (as Azure OpenAI checks requests a minute): each is good for its part of the quota, and is
//!   open while something of that is left; what goes beyond is taken from the following ones.
//! - A token bucket (RFC 2697's committed rate): the quota comes back evenly, and so much of it is saved up.
//! - GCRA (ITU-T I.371), the same seen as a theoretical arrival time; decides like the bucket.

pub(super) const MINUTE_US: f64 = 60e6;

/// How a minute is counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Window {
    /// The last 60 s.
    Sliding,
    /// Full minutes.
    Fixed,
    /// Parts of a minute, microseconds each.
    Sub(f64),
    /// A bucket that saves up the quota of this many microseconds.
    Bucket(f64),
    /// The generic cell rate algorithm with that tolerance, microseconds.
    Gcra(f64),
}

/// A quota.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quota {
    /// How much a minute.
    pub per_minute: f64,
    /// How a minute is counted.
    pub window: Window,
}

impl Quota {
    /// The most that can be taken at one moment.
    pub fn capacity(&self) -> f64 {
        match self.window {
            Window::Sliding | Window::Fixed => self.per_minute,
            Window::Sub(length_us) => self.per_minute * length_us / MINUTE_US,
            Window::Bucket(burst_us) | Window::Gcra(burst_us) => self.per_minute * burst_us / MINUTE_US,
        }
    }

    /// Length of a sub-window, microseconds.
    fn part_us(&self) -> f64 {
        if let Window::Sub(length_us) = self.window { length_us } else { MINUTE_US }
    }

    /// Sub-windows a minute.
    fn parts(&self) -> f64 {
        MINUTE_US / self.part_us()
    }

    /// Whether anything is left of a sub-window when `taken` was taken since one that is `later` windows before it.
    fn is_open(&self, taken: f64, later: f64) -> bool {
        taken * self.parts() < self.per_minute * (later + 1.0)
    }

    /// How many sub-windows after the first the next open one is, when `taken` was taken since the first.
    fn opens_after(&self, taken: f64) -> f64 {
        let mut later = (taken * self.parts() / self.per_minute).floor();
        // The quotient rounds; what decides is the product.
        while later > 0.0 && self.is_open(taken, later - 1.0) {
            later -= 1.0;
        }
        while !self.is_open(taken, later) {
            later += 1.0;
        }
        later
    }

    /// Whether a request of this cost is admitted at some time.
    pub fn ever_allows(&self, cost: f64) -> bool {
        matches!(self.window, Window::Sub(_)) || cost <= self.capacity()
    }
}

/// What one client has used, of any window but the sliding one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Meter(WindowState);

#[derive(Debug, Clone, PartialEq)]
enum WindowState {
    /// Number of the full minute, and what was used in it.
    Minute(f64, f64),
    /// Numbers of the first sub-window since nothing was owed and of the present one, and what was taken since the first.
    /// Amounts are whole and each window is worth the same, so that what is left is one product away from exact.
    Parts { first: f64, present: f64, taken: f64 },
    /// What is left, and at which time.
    Bucket(f64, f64),
    /// When the next conforming unit was expected.
    Gcra(f64),
}

impl Meter {
    /// Nothing used yet.
    pub(super) fn new(quota: &Quota) -> Self {
        Self(match quota.window {
            Window::Sliding | Window::Fixed => WindowState::Minute(0.0, 0.0),
            Window::Sub(_) => WindowState::Parts { first: 0.0, present: 0.0, taken: 0.0 },
            Window::Bucket(_) => WindowState::Bucket(quota.capacity(), 0.0),
            Window::Gcra(_) => WindowState::Gcra(0.0),
        })
    }

    /// Brings the state to `now_us`. Times never decrease.
    fn advance_to(&mut self, quota: &Quota, now_us: f64) {
        match &mut self.0 {
            WindowState::Minute(minute, used) => {
                let present = (now_us / MINUTE_US).floor();
                if present > *minute {
                    (*minute, *used) = (present, 0.0);
                }
            }
            WindowState::Parts { first, present, taken } => {
                *present = present.max((now_us / quota.part_us()).floor());
                if *taken * quota.parts() <= quota.per_minute * (*present - *first) {
                    (*first, *taken) = (*present, 0.0);
                }
            }
            WindowState::Bucket(level, at_us) => {
                let back = (now_us - *at_us) * quota.per_minute / MINUTE_US;
                *level = (*level + back).min(quota.capacity());
                *at_us = now_us;
            }
            WindowState::Gcra(expected_us) => *expected_us = expected_us.max(now_us),
        }
    }

    /// What of [`Quota::capacity`] is used at `now_us`.
    pub(super) fn used(&mut self, quota: &Quota, now_us: f64) -> f64 {
        self.advance_to(quota, now_us);
        match &self.0 {
            WindowState::Minute(_, used) => *used,
            WindowState::Parts { first, present, taken } => {
                (*taken * quota.parts() - quota.per_minute * (present - first)) / quota.parts()
            }
            WindowState::Bucket(level, _) => quota.capacity() - level,
            WindowState::Gcra(expected_us) => (expected_us - now_us) * quota.per_minute / MINUTE_US,
        }
    }

    /// Whether `cost` may be taken at `now_us`.
    pub(super) fn allows(&mut self, quota: &Quota, cost: f64, now_us: f64) -> bool {
        self.advance_to(quota, now_us);
        match (&self.0, quota.window) {
            (WindowState::Parts { first, present, taken }, _) => quota.is_open(*taken, present - first),
            (WindowState::Bucket(level, _), _) => cost <= *level,
            (WindowState::Gcra(expected_us), Window::Gcra(burst_us)) => {
                expected_us - now_us + cost * MINUTE_US / quota.per_minute <= burst_us
            }
            _ => self.used(quota, now_us) + cost <= quota.per_minute,
        }
    }

    /// How much of a request of this cost may be taken at `now_us` and leaves nothing owed: all of it where a sub-window is
    /// open, whose excess the following ones pay.
    pub(super) fn part_left(&mut self, quota: &Quota, cost: f64, now_us: f64) -> f64 {
        if matches!(quota.window, Window::Sub(_)) {
            return if self.allows(quota, cost, now_us) { cost } else { 0.0 };
        }
        (quota.capacity() - self.used(quota, now_us)).clamp(0.0, cost)
    }

    /// From when on `cost` may be taken if no request takes anything before, never before `now_us`; `None`: at no time.
    pub(super) fn when(&mut self, quota: &Quota, cost: f64, now_us: f64) -> Option<f64> {
        if self.allows(quota, cost, now_us) {
            return Some(now_us);
        }
        if !quota.ever_allows(cost) {
            return None;
        }
        let at_us = match (&self.0, quota.window) {
            (WindowState::Parts { first, taken, .. }, _) => {
                (first + quota.opens_after(*taken)) * quota.part_us()
            }
            (WindowState::Minute(minute, _), _) => (minute + 1.0) * MINUTE_US,
            (WindowState::Bucket(level, _), _) => now_us + (cost - level) * MINUTE_US / quota.per_minute,
            (WindowState::Gcra(expected_us), Window::Gcra(burst_us)) => {
                expected_us + cost * MINUTE_US / quota.per_minute - burst_us
            }
            (WindowState::Gcra(_), _) => now_us,
        };
        Some(at_us.max(now_us))
    }

    /// Takes `cost`, allowed or not.
    pub(super) fn charge(&mut self, quota: &Quota, cost: f64, now_us: f64) {
        self.advance_to(quota, now_us);
        match &mut self.0 {
            WindowState::Minute(_, used) => *used += cost,
            WindowState::Parts { taken, .. } => *taken += cost,
            WindowState::Bucket(level, _) => *level -= cost,
            WindowState::Gcra(expected_us) => *expected_us += cost * MINUTE_US / quota.per_minute,
        }
    }

    /// The charge of `charged_us` was off by `difference`: what was too little is taken now, what was too much is given back as
    /// far as it still counts.
    pub(super) fn settle(&mut self, quota: &Quota, charged_us: f64, difference: f64, now_us: f64) {
        if difference > 0.0 {
            self.charge(quota, difference, now_us);
            return;
        }
        self.advance_to(quota, now_us);
        match &mut self.0 {
            WindowState::Minute(minute, used) => {
                if (charged_us / MINUTE_US).floor() == *minute {
                    *used += difference;
                }
            }
            WindowState::Parts { taken, .. } => {
                *taken += difference;
                self.advance_to(quota, now_us);
            }
            WindowState::Bucket(level, _) => *level = (*level - difference).min(quota.capacity()),
            WindowState::Gcra(expected_us) => {
                *expected_us = (*expected_us + difference * MINUTE_US / quota.per_minute).max(now_us);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn windows() -> impl Strategy<Value = Window> {
        prop_oneof![
            Just(Window::Fixed),
            Just(Window::Sub(1e6)),
            Just(Window::Sub(10e6)),
            (0.1..120e6f64).prop_map(Window::Bucket),
            (0.1..120e6f64).prop_map(Window::Gcra),
        ]
    }

    /// The most that a window may admit during `span_us`, where the largest request costs `most`.
    fn bound(quota: &Quota, span_us: f64, most: f64) -> f64 {
        let per_us = quota.per_minute / MINUTE_US;
        match quota.window {
            Window::Sliding | Window::Fixed => ((span_us / MINUTE_US).floor() + 2.0) * quota.per_minute,
            Window::Sub(length_us) => per_us * (span_us + 2.0 * length_us) + most,
            Window::Bucket(burst_us) | Window::Gcra(burst_us) => per_us * (span_us + burst_us),
        }
    }

    proptest! {
        #[test]
        fn no_span_admits_more_than_the_bound(
            requests in prop::collection::vec((0.0..20e6f64, 1.0..400.0f64), 1..120),
            per_minute in 1.0..5_000.0f64,
            window in windows(),
        ) {
            let quota = Quota { per_minute, window };
            let mut meter = Meter::new(&quota);
            let (mut let_in, mut now) = (Vec::new(), 0.0);
            for (gap, cost) in requests {
                now += gap;
                let cost = cost.floor();
                if meter.allows(&quota, cost, now) {
                    meter.charge(&quota, cost, now);
                    let_in.push((now, cost));
                }
            }
            for (i, &(from, _)) in let_in.iter().enumerate() {
                let mut sum = 0.0;
                for &(to, cost) in &let_in[i..] {
                    sum += cost;
                    let most = bound(&quota, to - from, 400.0);
                    prop_assert!(sum <= most * (1.0 + 1e-9), "{sum} from {from} to {to}, at most {most}");
                }
            }
        }

        #[test]
        fn when_is_the_first_time_that_allows(
            taken in prop::collection::vec((0.0..30e6f64, 1.0..300.0f64), 0..20),
            cost in 1.0..300.0f64,
            per_minute in 1.0..2_000.0f64,
            window in windows(),
        ) {
            let quota = Quota { per_minute, window };
            let mut meter = Meter::new(&quota);
            let mut now = 0.0;
            for (gap, amount) in taken {
                now += gap;
                meter.charge(&quota, amount.floor(), now);
            }
            let cost = cost.floor();
            let allows = |at: f64| meter.clone().allows(&quota, cost, at);
            match meter.clone().when(&quota, cost, now) {
                None => prop_assert!(!quota.ever_allows(cost) && !allows(now + 1e12)),
                Some(at) => {
                    prop_assert!(at >= now);
                    prop_assert!(allows(at + 1.0), "a microsecond after {at}");
                    prop_assert!(at == now || !allows(at - 1.0_f64.max(at * 1e-9)), "before {at}");
                }
            }
        }

        #[test]
        fn the_bucket_and_gcra_decide_alike(
            requests in prop::collection::vec((0u32..30_000_000, 1u32..400, 0u32..100), 1..100),
            burst_s in 1u32..100,
        ) {
            // Numbers on a grid on which both are exact, so that no decision depends on rounding.
            let per_minute = 60_000.0;
            let bucket = Quota { per_minute, window: Window::Bucket(f64::from(burst_s) * 1e6) };
            let gcra = Quota { per_minute, window: Window::Gcra(f64::from(burst_s) * 1e6) };
            let (mut one, mut other) = (Meter::new(&bucket), Meter::new(&gcra));
            let mut now = 0.0;
            for (gap, cost, back) in requests {
                now += f64::from(gap / 1_000) * 1_000.0;
                let cost = f64::from(cost) * 100.0;
                let allowed = one.allows(&bucket, cost, now);
                prop_assert_eq!(allowed, other.allows(&gcra, cost, now));
                if allowed {
                    one.charge(&bucket, cost, now);
                    other.charge(&gcra, cost, now);
                    let back = -f64::from(back).min(cost);
                    one.settle(&bucket, now, back, now);
                    other.settle(&gcra, now, back, now);
                }
            }
        }

        #[test]
        fn what_is_given_back_was_never_taken(
            requests in prop::collection::vec((0u32..30_000_000, 1u32..400), 1..60),
        ) {
            let quota = Quota { per_minute: 1_000.0, window: Window::Fixed };
            let (mut meter, mut plain) = (Meter::new(&quota), Meter::new(&quota));
            let mut now = 0.0;
            for (gap, cost) in requests {
                now += f64::from(gap);
                let cost = f64::from(cost);
                meter.charge(&quota, cost + 7.0, now);
                meter.settle(&quota, now, -7.0, now);
                plain.charge(&quota, cost, now);
                prop_assert_eq!(meter.used(&quota, now), plain.used(&quota, now));
            }
        }
    }

    #[test]
    fn in_the_long_run_the_rate_is_let_in() {
        // Requests of 50 tokens; 80 tokens a second come back.
        for window in [Window::Fixed, Window::Sub(10e6), Window::Bucket(6e6), Window::Gcra(6e6)] {
            let quota = Quota { per_minute: 4_800.0, window };
            for rate_rps in [1.0, 2.0, 8.0] {
                let mut meter = Meter::new(&quota);
                let mut take = |i: &u32| {
                    let now = f64::from(*i) * 1e6 / rate_rps;
                    let allowed = meter.allows(&quota, 50.0, now);
                    if allowed {
                        meter.charge(&quota, 50.0, now);
                    }
                    allowed
                };
                let share = (0..100_000u32).filter(|i| take(i)).count() as f64 / 1e5;
                let expected = (80.0 / (rate_rps * 50.0)).min(1.0);
                assert!(
                    (share - expected).abs() < 3e-3,
                    "{window:?}, {rate_rps} req/s: {share}, expected {expected}"
                );
            }
        }
    }

    #[test]
    fn parts_of_a_minute_let_in_what_whole_numbers_say() {
        for (length_us, parts) in [(10e6, 6u64), (1e6, 60)] {
            for per_minute in 1..=150u64 {
                let quota = Quota { per_minute: per_minute as f64, window: Window::Sub(length_us) };
                let mut meter = Meter::new(&quota);
                let (mut first, mut taken) = (0u64, 0u64);
                for window in 0..400u64 {
                    let now = window as f64 * length_us + 0.25 * length_us;
                    if taken * parts <= per_minute * (window - first) {
                        (first, taken) = (window, 0);
                    }
                    // As many as are admitted, for most windows.
                    while window % 7 != 3 && taken * parts < per_minute * (window - first + 1) {
                        assert!(meter.allows(&quota, 1.0, now), "{per_minute} a minute, window {window}");
                        meter.charge(&quota, 1.0, now);
                        taken += 1;
                    }
                    let is_open = taken * parts < per_minute * (window - first + 1);
                    assert_eq!(
                        meter.allows(&quota, 1.0, now),
                        is_open,
                        "{per_minute} a minute, window {window}"
                    );
                }
            }
        }
    }

    #[test]
    fn sixty_a_minute_in_sub_windows_are_one_a_second() {
        let quota = Quota { per_minute: 60.0, window: Window::Sub(1e6) };
        let mut meter = Meter::new(&quota);
        assert!(meter.allows(&quota, 1.0, 0.0));
        meter.charge(&quota, 1.0, 0.0);
        assert!(
            !meter.allows(&quota, 1.0, 0.9e6),
            "the quota of the minute is not used up, that of the second is"
        );
        assert_eq!(meter.when(&quota, 1.0, 0.9e6), Some(1e6));
        assert!(meter.allows(&quota, 1.0, 1e6));
    }
}
