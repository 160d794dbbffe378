//! S-LoRA's generator as it ran: NumPy's legacy random stream (`RandomState`), which NumPy keeps frozen.
//!
//! Used for the authors' workloads only.

use servescope_workload::Trace;
use servescope_workload::numpy::Legacy;
use servescope_workload::trace::Request;

/// The arguments of S-LoRA's generator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Workload {
    /// Number of adapters.
    pub adapters: usize,
    /// Skew.
    pub alpha: f64,
    /// Rate, requests a second.
    pub rate_rps: f64,
    /// Burstiness.
    pub cv: f64,
    /// Duration, seconds.
    pub duration_s: f64,
    /// Lengths: low, and high which is excluded.
    pub lengths: (u32, u32),
}

impl Workload {
    /// The trace under `seed`: adapters, inputs, outputs and gaps from one stream, in this order. Ranks are left empty.
    pub fn draw(&self, seed: u32) -> Trace {
        let mut random = Legacy::seeded(seed);
        let count = (self.rate_rps * self.duration_s) as usize;
        let n = self.adapters as f64;
        let adapters: Vec<u32> = (0..count).map(|_| (random.power(self.alpha) * n) as u32).collect();
        let inputs: Vec<u32> = (0..count).map(|_| random.integer(self.lengths)).collect();
        let outputs: Vec<u32> = (0..count).map(|_| random.integer(self.lengths)).collect();
        let (shape, scale) = (1.0 / (self.cv * self.cv), self.cv * self.cv / self.rate_rps);
        let mut trace = Trace::with_capacity(count);
        let mut now_s = 0.0;
        for ((adapter, input_tokens), output_tokens) in adapters.into_iter().zip(inputs).zip(outputs) {
            now_s += scale * random.gamma(shape);
            trace.push(Request {
                arrival_us: now_s * 1e6,
                user: 0,
                adapter,
                input_tokens,
                output_tokens,
                max_tokens: output_tokens,
            });
        }
        trace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_draws_of_seed_42() {
        let workload = Workload {
            adapters: 200,
            alpha: 1.0,
            rate_rps: 2.0,
            cv: 1.0,
            duration_s: 300.0,
            lengths: (8, 512),
        };
        let trace = workload.draw(42);
        assert_eq!(trace.len(), 600);
        assert_eq!(trace.adapter[..3], [74, 190, 146]);
        assert_eq!(trace.input_tokens[..3], [12, 473, 99]);
        assert_eq!(trace.output_tokens[..3], [410, 43, 292]);
        for (ours, published) in trace.arrival_us.iter().zip([0.159_845_581, 3.085_609_962, 3.363_330_857]) {
            assert!((ours / 1e6 - published).abs() < 1e-9);
        }
    }
}
