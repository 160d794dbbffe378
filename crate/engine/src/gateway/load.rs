//! The state of the service: underload, nearly overloaded, overloaded.
//!
//! The pressure is the largest of KV use, the longest wait for the engine and the time between tokens, each over the value at
//! which it stands for overload, and averaged exponentially. A state is entered at one threshold and left at a lower one, and
//! kept for a minimum time; without the two it flaps.

/// The states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum LoadState {
    /// Below both thresholds.
    #[default]
    Under,
    /// Above the first.
    Near,
    /// Above the second.
    Over,
}

impl LoadState {
    /// Every state, calm first.
    pub const ALL: [Self; 3] = [Self::Under, Self::Near, Self::Over];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Under => "underload",
            Self::Near => "near",
            Self::Over => "overload",
        }
    }
}

/// What follows from overload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadPolicy {
    /// Nothing.
    AdmitAll,
    /// Clients that used more than an equal share lately wait.
    FairShare,
    /// New requests are rejected.
    Shed,
}

/// When the service counts as overloaded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OverloadConfig {
    /// Share of KV memory in use; infinite = does not count.
    pub kv_share: f64,
    /// Longest wait at the gateway for the engine, microseconds; infinite = does not count.
    pub wait_us: f64,
    /// Time between tokens, microseconds; infinite = does not count.
    pub step_us: f64,
    /// Pressure from which it is nearly overloaded; overloaded it is from 1 on.
    pub near: f64,
    /// How much lower than it is entered a state is left.
    pub hysteresis: f64,
    /// Over how long the pressure is averaged, microseconds.
    pub average_us: f64,
    /// How long a state is kept at least, microseconds.
    pub dwell_us: f64,
    /// What follows.
    pub policy: LoadPolicy,
}

/// What the pressure is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadSignals {
    /// Share of KV memory in use.
    pub kv_share: f64,
    /// Longest wait for the engine, microseconds: not that of a client that a limit of its own holds back.
    pub wait_us: f64,
    /// Time between tokens, microseconds.
    pub step_us: f64,
}

/// The state machine.
#[derive(Debug, Clone)]
pub struct OverloadDetector {
    rule: OverloadConfig,
    state: LoadState,
    since_us: f64,
    at_us: f64,
    pressure: f64,
    /// The time between two looks, and the share of the new one in the average.
    last: (f64, f64),
}

impl OverloadDetector {
    /// Calm.
    pub fn new(rule: OverloadConfig) -> Self {
        Self {
            rule,
            state: LoadState::Under,
            since_us: 0.0,
            at_us: 0.0,
            pressure: 0.0,
            last: (f64::NAN, 0.0),
        }
    }

    /// The present state.
    pub fn state(&self) -> LoadState {
        self.state
    }

    /// The averaged pressure; 1 is overload.
    pub fn pressure(&self) -> f64 {
        self.pressure
    }

    /// Looks at the service, and says whether the state changes.
    pub fn sample(&mut self, signals: LoadSignals, now_us: f64) -> bool {
        let LoadSignals { kv_share, wait_us, step_us } = signals;
        let rule = &self.rule;
        let raw = (kv_share / rule.kv_share).max(wait_us / rule.wait_us).max(step_us / rule.step_us);
        let passed = now_us - self.at_us;
        self.at_us = now_us;
        if self.last.0 != passed {
            let new = if rule.average_us > 0.0 { 1.0 - libm::exp(-passed / rule.average_us) } else { 1.0 };
            self.last = (passed, new);
        }
        self.pressure += (raw - self.pressure) * self.last.1;
        // From time 0 on it may change at once: nothing was kept yet.
        if now_us - self.since_us < rule.dwell_us && self.since_us > 0.0 {
            return false;
        }
        let next = self.next();
        let changes = next != self.state;
        if changes {
            (self.state, self.since_us) = (next, now_us);
        }
        changes
    }

    fn next(&self) -> LoadState {
        let leaves = |entered: f64| entered * (1.0 - self.rule.hysteresis);
        let holds = |state: LoadState, entered: f64| {
            let bound = if self.state >= state { leaves(entered) } else { entered };
            self.pressure >= bound && self.pressure > 0.0
        };
        if holds(LoadState::Over, 1.0) {
            LoadState::Over
        } else if holds(LoadState::Near, self.rule.near) {
            LoadState::Near
        } else {
            LoadState::Under
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule() -> OverloadConfig {
        OverloadConfig {
            kv_share: 0.9,
            wait_us: 2e6,
            step_us: f64::INFINITY,
            near: 0.8,
            hysteresis: 0.2,
            average_us: 0.0,
            dwell_us: 0.0,
            policy: LoadPolicy::AdmitAll,
        }
    }

    fn states(rule: OverloadConfig, kv: &[f64]) -> Vec<LoadState> {
        let mut load = OverloadDetector::new(rule);
        let sample = |(i, &kv_share): (usize, &f64)| {
            load.sample(LoadSignals { kv_share, wait_us: 0.0, step_us: 0.0 }, 1e6 * (i + 1) as f64);
            load.state()
        };
        kv.iter().enumerate().map(sample).collect()
    }

    #[test]
    fn a_state_is_left_below_where_it_is_entered() {
        use LoadState::{Near, Over, Under};
        // Over from .9 to below .72, near from .72 to below .576.
        let kv = [0.5, 0.71, 0.73, 0.89, 0.91, 0.85, 0.73, 0.71, 0.6, 0.57];
        assert_eq!(states(rule(), &kv), [Under, Under, Near, Near, Over, Over, Over, Near, Near, Under]);
    }

    #[test]
    fn without_hysteresis_it_flaps_and_a_minimum_time_damps_that() {
        let kv: Vec<f64> = (0..100).map(|i| if i % 2 == 0 { 0.91 } else { 0.89 }).collect();
        let changes = |rule| states(rule, &kv).windows(2).filter(|pair| pair[0] != pair[1]).count();
        let bare = OverloadConfig { hysteresis: 0.0, ..rule() };
        assert_eq!(changes(bare), 99);
        assert_eq!(changes(rule()), 0);
        assert!(changes(OverloadConfig { dwell_us: 9.5e6, ..bare }) <= 10);
    }
}
