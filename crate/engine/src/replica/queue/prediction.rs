//! How many output tokens are expected of a request before it ends.

use servescope_workload::stream::Stream;

/// What is charged for output when a request is admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Prediction {
    /// Nothing.
    #[default]
    None,
    /// The running mean of the client's finished outputs (`vtc_len_predict`).
    History,
    /// [`super::QueueConfig::predictions`] (`vtc_oracle`).
    Given,
}

/// Predictions around these lengths, uniform from length (1 - range) to length (1 + range). Each request has a substream of
/// its own. VTC's artifact takes max_tokens, which in its experiments is the true length.
pub fn around(lengths: &[u32], range: f64, seed: u64) -> Vec<f64> {
    let stream = Stream::named(seed, "scheduler.prediction");
    let draw = |(id, &tokens): (usize, &u32)| {
        let tokens = f64::from(tokens);
        if range == 0.0 { tokens } else { tokens * (1.0 - range + 2.0 * range * stream.item(id).uniform()) }
    };
    lengths.iter().enumerate().map(draw).collect()
}

/// The mean of a client's finished lengths, each new one with weight 1/5 (`vtc_len_predict`): 0 before the first.
pub fn updated_mean(old: f64, produced: f64) -> f64 {
    const WINDOW: f64 = 5.0;
    if old == 0.0 { produced } else { (old * (WINDOW - 1.0) + produced) / WINDOW }
}
