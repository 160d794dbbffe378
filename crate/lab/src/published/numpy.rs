//! S-LoRA's generator as it ran: NumPy's legacy random stream (`RandomState`), which NumPy keeps frozen.
//!
//! The stream is MT19937 (Matsumoto and Nishimura 1998); the samplers are those of `numpy/random/src/legacy` (Jöhnk and
//! Marsaglia-Tsang for gamma, polar normals, masked rejection for integers). Used for the authors' workloads only.

use servescope_workload::Trace;
use servescope_workload::mersenne::MersenneTwister;
use servescope_workload::trace::Request;

/// The Mersenne Twister with NumPy's legacy samplers on top.
struct Legacy {
    words: MersenneTwister,
    spare_normal: Option<f64>,
}

impl Legacy {
    fn seeded(seed: u32) -> Self {
        Self { words: MersenneTwister::seeded(seed), spare_normal: None }
    }

    fn uniform(&mut self) -> f64 {
        self.words.uniform()
    }

    fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.uniform())
    }

    fn power(&mut self, alpha: f64) -> f64 {
        libm::pow(1.0 - libm::exp(-self.exponential()), 1.0 / alpha)
    }

    /// Uniform on `low..high`.
    fn integer(&mut self, (low, high): (u32, u32)) -> u32 {
        let range = high - low - 1;
        let mask = range
            .checked_next_power_of_two()
            .map_or(u32::MAX, |p| if p == range { 2 * p - 1 } else { p - 1 });
        loop {
            let x = self.words.word() & mask;
            if x <= range {
                return low + x;
            }
        }
    }

    fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare_normal.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let r2 = x * x + y * y;
            if r2 < 1.0 && r2 != 0.0 {
                let f = f64::sqrt(-2.0 * libm::log(r2) / r2);
                self.spare_normal = Some(f * x);
                return f * y;
            }
        }
    }

    fn gamma(&mut self, shape: f64) -> f64 {
        if shape == 1.0 {
            return self.exponential();
        }
        if shape < 1.0 {
            loop {
                let (u, v) = (self.uniform(), self.exponential());
                if u <= 1.0 - shape {
                    let x = libm::pow(u, 1.0 / shape);
                    if x <= v {
                        return x;
                    }
                } else {
                    let y = -libm::log((1.0 - u) / shape);
                    let x = libm::pow(1.0 - shape + shape * y, 1.0 / shape);
                    if x <= v + y {
                        return x;
                    }
                }
            }
        }
        let b = shape - 1.0 / 3.0;
        let c = 1.0 / f64::sqrt(9.0 * b);
        loop {
            let (x, v) = loop {
                let x = self.normal();
                let v = 1.0 + c * x;
                if v > 0.0 {
                    break (x, v * v * v);
                }
            };
            let u = self.uniform();
            if u < 1.0 - 0.0331 * (x * x) * (x * x)
                || libm::log(u) < 0.5 * x * x + b * (1.0 - v + libm::log(v))
            {
                return b * v;
            }
        }
    }
}

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
