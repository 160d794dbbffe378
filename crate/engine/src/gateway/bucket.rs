//! A token bucket: a quota of so many tokens a second, of which at most a burst is saved up (RFC 2697's committed rate).
//!
//! A request takes what it may need, input + max_tokens, when it arrives, or is refused and takes nothing. Whatever
//! arrives, the tokens that are let in during any time T are at most rate x T + burst.

/// The quota.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quota {
    /// Tokens that come back, a second.
    pub tokens_per_s: f64,
    /// Most tokens saved up, and what a bucket begins with.
    pub burst_tokens: f64,
}

/// What is left of a quota.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    tokens: f64,
    at_us: f64,
}

impl Bucket {
    /// A full bucket.
    pub fn full(quota: &Quota) -> Self {
        Self { tokens: quota.burst_tokens, at_us: 0.0 }
    }

    /// Takes `tokens` at `now_us` if they are there. Times never decrease.
    pub fn take(&mut self, quota: &Quota, tokens: f64, now_us: f64) -> bool {
        let back = (now_us - self.at_us) / 1e6 * quota.tokens_per_s;
        self.tokens = (self.tokens + back).min(quota.burst_tokens);
        self.at_us = now_us;
        let takes = tokens <= self.tokens;
        if takes {
            self.tokens -= tokens;
        }
        takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_window_lets_in_more_than_rate_and_burst(
            requests in prop::collection::vec((0.0..5e6f64, 1.0..400.0f64), 1..150),
            tokens_per_s in 0.1..500.0f64,
            burst_tokens in 1.0..2_000.0f64,
        ) {
            let quota = Quota { tokens_per_s, burst_tokens };
            let mut bucket = Bucket::full(&quota);
            let mut let_in = Vec::new();
            let mut now = 0.0;
            for (gap, tokens) in requests {
                now += gap;
                if bucket.take(&quota, tokens, now) {
                    let_in.push((now, tokens));
                }
            }
            for (i, &(from, _)) in let_in.iter().enumerate() {
                let mut sum = 0.0;
                for &(to, tokens) in &let_in[i..] {
                    sum += tokens;
                    let most = tokens_per_s * (to - from) / 1e6 + burst_tokens;
                    prop_assert!(sum <= most * (1.0 + 1e-9), "{sum} tokens from {from} to {to}, at most {most}");
                }
            }
        }
    }

    #[test]
    fn in_the_long_run_the_rate_is_let_in() {
        // Requests of 50 tokens; 80 tokens a second come back.
        let quota = Quota { tokens_per_s: 80.0, burst_tokens: 500.0 };
        for rate_rps in [1.0, 1.5, 2.0, 8.0] {
            let mut bucket = Bucket::full(&quota);
            let taken = |i: &u32| bucket.take(&quota, 50.0, f64::from(*i) * 1e6 / rate_rps);
            let share = (0..100_000u32).filter(taken).count() as f64 / 1e5;
            let law = (quota.tokens_per_s / (rate_rps * 50.0)).min(1.0);
            assert!((share - law).abs() < 2e-3, "{rate_rps} req/s: {share}, expected {law}");
        }
    }
}
