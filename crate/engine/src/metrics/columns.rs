//! Quantities over time as columns of equal width, each holding the quantity's mean over its width.

use crate::record::timeline::IterationRun;
use crate::replica_index::ReplicaIndex;
use crate::report::Report;

/// Columns of equal width over a window of time. Adding an interval costs O(1) or the number of columns it crosses.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeColumns {
    start_us: f64,
    width_us: f64,
    /// Integral over each column of what lies in it partly.
    partial: Vec<f64>,
    /// Change, from each column on, of the height of what covers whole columns.
    whole: Vec<f64>,
}

/// A stretch of time among [`TimeColumns`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach {
    /// Ends, in widths of a column.
    from: f64,
    to: f64,
    /// The columns that they lie in.
    first: usize,
    last: usize,
}

impl TimeColumns {
    /// `count` columns over `start_us..end_us`.
    pub fn new(start_us: f64, end_us: f64, count: usize) -> Self {
        let count = count.max(1);
        let width_us = ((end_us - start_us) / count as f64).max(1e-6);
        Self { start_us, width_us, partial: vec![0.0; count], whole: vec![0.0; count + 1] }
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.partial.len()
    }

    /// Never: there is at least one column.
    pub fn is_empty(&self) -> bool {
        self.partial.is_empty()
    }

    /// Width of a column, microseconds.
    pub fn width_us(&self) -> f64 {
        self.width_us
    }

    fn place(&self, time_us: f64) -> f64 {
        ((time_us - self.start_us) / self.width_us).clamp(0.0, self.len() as f64)
    }

    /// Where a stretch of time lies in these columns, and in all others of the same window and number; `None` outside.
    pub fn reach(&self, from_us: f64, to_us: f64) -> Option<Reach> {
        let (from, to) = (self.place(from_us), self.place(to_us));
        let (first, last) = (from as usize, (to as usize).min(self.len() - 1));
        (to > from).then_some(Reach { from, to, first, last })
    }

    /// Adds a quantity of constant `height` over a stretch.
    pub fn add_over(&mut self, reach: &Reach, height: f64) {
        let Reach { from, to, first, last } = *reach;
        if first == last {
            self.partial[first] += height * (to - from);
        } else {
            self.partial[first] += height * ((first + 1) as f64 - from);
            self.partial[last] += height * (to - last as f64);
            self.whole[first + 1] += height;
            self.whole[last] -= height;
        }
    }

    /// Adds a quantity of constant `height` from `from_us` to `to_us`.
    pub fn add(&mut self, from_us: f64, to_us: f64, height: f64) {
        if let Some(reach) = self.reach(from_us, to_us) {
            self.add_over(&reach, height);
        }
    }

    /// Adds a quantity that runs straight from `height` at `from_us` to `end_height` at `to_us`.
    pub fn add_slope(&mut self, from_us: f64, to_us: f64, height: f64, end_height: f64) {
        let Some(Reach { from, to, first, last }) = self.reach(from_us, to_us) else { return };
        let slope = (end_height - height) / ((to_us - from_us) / self.width_us);
        let origin = (from_us - self.start_us) / self.width_us;
        for column in first..=last {
            let (a, b) = (from.max(column as f64), to.min(column as f64 + 1.0));
            self.partial[column] += (b - a) * (height + slope * (0.5 * (a + b) - origin));
        }
    }

    /// Adds one event, as `weight` spread over its column.
    pub fn add_event(&mut self, time_us: f64, weight: f64) {
        let place = (time_us - self.start_us) / self.width_us;
        if (0.0..self.len() as f64).contains(&place) {
            self.partial[place as usize] += weight;
        } else if place == self.len() as f64 {
            let last = self.len() - 1;
            self.partial[last] += weight;
        }
    }

    /// The mean of the quantity over each column (for events: their number).
    pub fn values(&self) -> Vec<f64> {
        let mut height = 0.0;
        self.partial
            .iter()
            .zip(&self.whole)
            .map(|(part, change)| {
                height += change;
                // Sums of heights that cancel leave rounding behind.
                let value = height + part;
                if value.abs() < 1e-9 { 0.0 } else { value }
            })
            .collect()
    }

    /// Start of each column, microseconds.
    pub fn starts_us(&self) -> Vec<f64> {
        (0..self.len()).map(|i| self.start_us + i as f64 * self.width_us).collect()
    }
}

/// What the GPU and its memory did over time.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuColumns {
    /// KV tokens held, those that requests share once.
    pub kv_tokens: TimeColumns,
    /// Pool tokens of resident adapters.
    pub adapter_tokens: TimeColumns,
    /// Prompt tokens processed, for each microsecond.
    pub prefill_tokens: TimeColumns,
    /// Tokens decoded, for each microsecond.
    pub decode_tokens: TimeColumns,
    /// Tokens of a KV block, of each replica.
    block_tokens: Vec<f64>,
}

/// The GPU's columns over a window.
pub fn gpu_columns(report: &Report, start_us: f64, end_us: f64, count: usize) -> GpuColumns {
    let mut gpu = GpuColumns::new(report, start_us, end_us, count);
    report.timeline.iterations.iter().for_each(|run| gpu.add(run));
    gpu
}

impl GpuColumns {
    /// Nothing yet.
    pub fn new(report: &Report, start_us: f64, end_us: f64, count: usize) -> Self {
        let blank = TimeColumns::new(start_us, end_us, count);
        Self {
            block_tokens: ReplicaIndex::first(report.replicas.len())
                .map(|replica| report.pool(replica).block_tokens())
                .collect(),
            kv_tokens: blank.clone(),
            adapter_tokens: blank.clone(),
            prefill_tokens: blank.clone(),
            decode_tokens: blank,
        }
    }

    /// Adds the gaps of equal iterations.
    pub fn add(&mut self, run: &IterationRun) {
        // Attention reads what is shared once for each request; its blocks are there once.
        let held = f64::from(run.blocks) * self.block_tokens[run.replica];
        let [kv, after] = [run.kv_tokens, run.kv_tokens_at_end()].map(|tokens| tokens.min(held));
        self.kv_tokens.add_slope(run.start_us, run.end_us, kv, after);
        if run.adapter_tokens > 0 {
            self.adapter_tokens.add(run.start_us, run.end_us, f64::from(run.adapter_tokens));
        }
        let begin = run.begins_us();
        let duration = run.end_us - begin;
        if let Some(worked) = self.decode_tokens.reach(begin, run.end_us) {
            if run.prompts > 0 {
                self.prefill_tokens.add_over(&worked, f64::from(run.prompt_tokens) / duration);
            }
            self.decode_tokens.add_over(&worked, run.decoded_tokens() / duration);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_hold_means() {
        let mut columns = TimeColumns::new(0.0, 40.0, 4);
        columns.add(5.0, 35.0, 2.0);
        columns.add(12.0, 14.0, 10.0);
        columns.add(-100.0, 200.0, 1.0);
        assert_eq!(columns.values(), [2.0, 5.0, 3.0, 2.0]);
        let mut slope = TimeColumns::new(0.0, 40.0, 4);
        slope.add_slope(0.0, 40.0, 0.0, 40.0);
        assert_eq!(slope.values(), [5.0, 15.0, 25.0, 35.0]);
        let mut zoomed = TimeColumns::new(10.0, 30.0, 2);
        zoomed.add_slope(0.0, 40.0, 0.0, 40.0);
        zoomed.add_event(10.0, 1.0);
        assert_eq!(zoomed.values(), [16.0, 25.0]);
    }
}
