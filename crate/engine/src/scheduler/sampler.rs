//! What clients' counters stand at while a run goes on, on a grid of simulated time.
//!
//! The grid begins fine; when all places are taken every second sample is dropped and the grid is twice as wide. So memory is
//! bounded and a run of any length has between half and all of its samples.

use super::line::Line;

/// Spacing of the first grid, microseconds.
const FIRST_SPACING_US: f64 = 250_000.0;
/// Most samples, and most counters in all of them together.
const MOST_SAMPLES: usize = 256;
const MOST_COUNTERS: usize = 1 << 20;
/// Samples that are kept however many clients there are.
const FEWEST_SAMPLES: usize = 8;

/// The counters at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterSample {
    /// When, microseconds.
    pub time_us: f64,
    /// Counters of the clients seen so far, in the order of their first requests.
    pub values: Vec<f64>,
}

/// Takes the samples.
#[derive(Debug, Clone)]
pub struct Sampler {
    next_us: f64,
    spacing_us: f64,
    most: usize,
    samples: Vec<CounterSample>,
}

impl Sampler {
    /// Samples of an order of service among `clients`; none where it keeps no counters.
    pub fn of(line: &Line, clients: usize) -> Self {
        let most = (MOST_COUNTERS / clients.max(1)).clamp(FEWEST_SAMPLES, MOST_SAMPLES) / 2 * 2;
        let next_us = if line.keeps_counters() { FIRST_SPACING_US } else { f64::INFINITY };
        Self { next_us, spacing_us: FIRST_SPACING_US, most, samples: Vec::new() }
    }

    /// When the next sample is due, microseconds.
    #[inline]
    pub fn next_us(&self) -> f64 {
        if cfg!(feature = "orders") { self.next_us } else { f64::INFINITY }
    }

    /// The sample that is due.
    pub fn take(&mut self, line: &mut Line, now_us: f64) {
        let Some((_, counters)) = line.counters() else { return };
        if self.samples.len() == self.most {
            let mut place = 0;
            self.samples.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.spacing_us *= 2.0;
        }
        self.samples.push(CounterSample {
            time_us: now_us,
            values: counters.into_iter().map(|(_, value)| value).collect(),
        });
        self.next_us = ((now_us / self.spacing_us).floor() + 1.0) * self.spacing_us;
    }

    /// The samples, in order of time.
    pub fn into_samples(self) -> Vec<CounterSample> {
        self.samples
    }
}
