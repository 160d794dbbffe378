//! What clients' counters stand at while a run goes on, on a grid of simulated time.
//!
//! The grid begins fine; when all places are taken every second sample is dropped and the grid is twice as wide. So memory is
//! bounded and a run of any length has between half and all of its samples.

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

/// Takes the samples. Nothing where no scheduling policy keeps counters.
#[derive(Debug, Clone, Default)]
pub struct Sampler {
    grid: Option<SampleGrid>,
}

/// The samples so far and their grid.
#[derive(Debug, Clone)]
struct SampleGrid {
    next_us: f64,
    spacing_us: f64,
    most: usize,
    samples: Vec<CounterSample>,
}

impl Sampler {
    /// Samples of this many counters in a run that lasts at least so long, as far as is known, microseconds.
    pub fn of(clients: usize, lasts_us: f64) -> Self {
        let most = (MOST_COUNTERS / clients.max(1)).clamp(FEWEST_SAMPLES, MOST_SAMPLES) / 2 * 2;
        let mut spacing_us = FIRST_SPACING_US;
        while spacing_us * most as f64 <= lasts_us {
            spacing_us *= 2.0;
        }
        Self { grid: Some(SampleGrid { next_us: spacing_us, spacing_us, most, samples: Vec::new() }) }
    }

    /// When the next sample is due, microseconds; `None`: never.
    #[inline]
    pub fn next_us(&self) -> Option<f64> {
        self.grid.as_ref().map(|grid| grid.next_us)
    }

    /// The sample that is due: counters of the clients seen so far, in the order of their first requests.
    pub fn take(&mut self, values: Vec<f64>, now_us: f64) {
        let Some(grid) = &mut self.grid else { return };
        if grid.samples.len() == grid.most {
            let mut place = 0;
            grid.samples.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            grid.spacing_us *= 2.0;
        }
        grid.samples.push(CounterSample { time_us: now_us, values });
        grid.next_us = ((now_us / grid.spacing_us).floor() + 1.0) * grid.spacing_us;
    }

    /// The samples, in order of time.
    pub fn into_samples(self) -> Vec<CounterSample> {
        self.grid.map_or_else(Vec::new, |grid| grid.samples)
    }
}
