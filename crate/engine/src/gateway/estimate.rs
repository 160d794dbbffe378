//! How long the first token of a request will take that comes now: the prompt tokens before it over the speed at which
//! those that wait have become fewer lately, and one step.
//!
//! The speed is what prompts came to their first token, or stopped waiting for it, during the time in which any waited, both
//! forgotten exponentially. Who gives up makes room for those behind: counting the served alone would foretell a queue that
//! no request waits through. Before the first token of all nothing is estimated.

/// Part of a new step time in the mean.
const STEP_WEIGHT: f64 = 1.0 / 16.0;

/// The estimator.
#[derive(Debug, Clone)]
pub struct Estimator {
    over_us: f64,
    /// Prompt tokens that wait, here or at the engine.
    backlog: u64,
    at_us: f64,
    tokens: f64,
    busy_us: f64,
    step_us: f64,
    is_warm: bool,
}

impl Estimator {
    /// An estimator that averages over `over_us`.
    pub fn new(over_us: f64) -> Self {
        Self { over_us, backlog: 0, at_us: 0.0, tokens: 0.0, busy_us: 0.0, step_us: 0.0, is_warm: false }
    }

    /// Lets time pass; while a request waits, it counts.
    fn decay_to(&mut self, now_us: f64) {
        let passed = now_us - self.at_us;
        if self.backlog > 0 && passed > 0.0 {
            let kept = libm::exp(-passed / self.over_us);
            self.tokens *= kept;
            self.busy_us = self.busy_us * kept + passed;
        }
        self.at_us = now_us;
    }

    /// Prompts begin to wait.
    pub fn arrives(&mut self, input_tokens: u64, now_us: f64) {
        self.decay_to(now_us);
        self.backlog += input_tokens;
    }

    /// Prompts that wait are ahead of no other any more, although nothing was done for them.
    pub fn sets_aside(&mut self, input_tokens: u64, now_us: f64) {
        self.decay_to(now_us);
        self.backlog -= input_tokens;
    }

    /// Prompt tokens that wait.
    #[cfg(test)]
    pub(super) fn backlog(&self) -> u64 {
        self.backlog
    }

    /// A prompt that waits goes away.
    pub fn on_dequeue(&mut self, input_tokens: u32, now_us: f64) {
        self.decay_to(now_us);
        self.backlog -= u64::from(input_tokens);
        self.tokens += f64::from(input_tokens);
    }

    /// A prompt has its first token.
    pub fn first_token(&mut self, input_tokens: u32, now_us: f64) {
        self.on_dequeue(input_tokens, now_us);
        self.is_warm = true;
    }

    /// A request ended whose tokens came so far apart.
    pub fn step(&mut self, gap_us: f64) {
        let weight = if self.step_us == 0.0 { 1.0 } else { STEP_WEIGHT };
        self.step_us += (gap_us - self.step_us) * weight;
    }

    /// Mean time between two tokens lately, microseconds; 0 = none was seen.
    pub fn step_us(&self) -> f64 {
        self.step_us
    }

    /// Prompt tokens fewer a microsecond, while any waited.
    fn speed(&self) -> Option<f64> {
        (self.is_warm && self.tokens > 0.0 && self.busy_us > 0.0).then(|| self.tokens / self.busy_us)
    }

    /// Estimated time to first token of a prompt that comes behind all that wait, microseconds.
    pub fn ttft_us(&self, input_tokens: u32) -> Option<f64> {
        let ahead = (self.backlog + u64::from(input_tokens)) as f64;
        self.speed().map(|speed| ahead / speed + self.step_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_speed_is_learnt_while_prompts_wait() {
        let mut estimator = Estimator::new(30e6);
        assert_eq!(estimator.ttft_us(100), None);
        let mut now = 0.0;
        for _ in 0..1_000 {
            // A prompt of 100 tokens takes 50 ms; then no request comes for a second.
            estimator.arrives(100, now);
            estimator.first_token(100, now + 50e3);
            now += 1e6;
        }
        estimator.step(20e3);
        let expected = 200.0 / 2e-3 + 20e3;
        let reported = estimator.ttft_us(200).expect("something was seen");
        assert!((reported / expected - 1.0).abs() < 2e-3, "{reported} us, expected {expected}");
        estimator.arrives(1_000, now);
        let behind = estimator.ttft_us(200).expect("something was seen");
        assert!((behind - reported - 1_000.0 / 2e-3).abs() < 2e3, "the prompt ahead adds its time");
    }
}
