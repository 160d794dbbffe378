//! What stands side by side: a request in both runs, and a quantity of both.

use serde::Serialize;
use servescope_engine::metrics::distribution::Distribution;

/// Times of a request, seconds; none where they are not known.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Times {
    /// Time to first token.
    pub ttft_s: Option<f64>,
    /// Mean time between tokens: the time after the first one over the tokens after it.
    pub tpot_s: Option<f64>,
    /// Mean gap between chunks.
    pub itl_s: Option<f64>,
    /// End-to-end time.
    pub e2e_s: Option<f64>,
}

/// A request in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// Its place in the order of sending.
    pub id: usize,
    /// Its name in the file.
    pub name: String,
    /// When it was sent in the measured run, seconds after the first one.
    pub sent_s: f64,
    /// Prompt tokens.
    pub input_tokens: u32,
    /// Output tokens.
    pub output_tokens: u32,
    /// Measured.
    pub measured: Times,
    /// Simulated.
    pub simulated: Times,
}

impl Pair {
    /// Both values of a time.
    pub(super) fn both(&self, of: fn(&Times) -> Option<f64>) -> Option<(f64, f64)> {
        Some((of(&self.measured)?, of(&self.simulated)?))
    }
}

/// A quantity in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairedMetric {
    /// Its name.
    pub name: &'static str,
    /// Mean, or rate, measured.
    pub measured: Option<f64>,
    /// The same simulated.
    pub simulated: Option<f64>,
    /// Mean of the absolute errors of single requests over what was measured of each; of windows of time for rates.
    pub mape: Option<f64>,
    /// Simulated mean over measured mean, less 1.
    pub bias: Option<f64>,
    /// Pearson's correlation over requests; over windows of time for rates.
    pub correlation: Option<f64>,
    /// Distribution of what was measured; nothing of rates.
    pub measured_distribution: Distribution,
    /// The same simulated.
    pub simulated_distribution: Distribution,
}
