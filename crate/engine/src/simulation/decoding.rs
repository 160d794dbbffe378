//! A run of decode iterations of one batch, and its clock.

use servescope_cost::{DecodeRun, DecodeShape};

/// The decode iterations since the batch last changed.
#[derive(Debug, Clone, Copy)]
pub(super) struct DecodingRun<D> {
    pub(super) start_us: f64,
    pub(super) law: D,
    pub(super) iterations: u32,
    pub(super) shape: DecodeShape,
}

impl<D: DecodeRun> DecodingRun<D> {
    pub(super) fn time_after(&self, iterations: u32) -> f64 {
        self.start_us + self.law.elapsed_us(iterations)
    }

    /// The first iteration, counted from the run's start and at least `from`, that starts at `time_us` or later.
    pub(super) fn first_at_or_after(&self, time_us: f64, from: u32) -> u32 {
        const MOST: u32 = u32::MAX / 4;
        if self.time_after(from) >= time_us {
            return from;
        }
        let mut k = self.law.iterations_until(time_us - self.start_us).clamp(from, MOST);
        // `start + elapsed` rounds once more than `time - start`: settle the last iteration on the clock itself.
        while k > from && self.time_after(k - 1) >= time_us {
            k -= 1;
        }
        while k < MOST && self.time_after(k) < time_us {
            k += 1;
        }
        k
    }
}
