//! NumPy's legacy random stream (`RandomState`), which NumPy keeps frozen: for drawing what a reference implementation drew.
//!
//! The stream is MT19937 (Matsumoto and Nishimura 1998); the samplers are those of `numpy/random/src/legacy` (Jöhnk and
//! Marsaglia-Tsang for gamma, polar normals, masked rejection for integers, Fisher and Yates for permutations).

use crate::mersenne::MersenneTwister;

/// The Mersenne Twister with NumPy's legacy samplers on top.
#[derive(Debug)]
pub struct Legacy {
    words: MersenneTwister,
    spare_normal: Option<f64>,
}

impl Legacy {
    /// As `numpy.random.RandomState(seed)` begins.
    pub fn seeded(seed: u32) -> Self {
        Self { words: MersenneTwister::seeded(seed), spare_normal: None }
    }

    /// Uniform on [0, 1): `random_sample`.
    pub fn uniform(&mut self) -> f64 {
        self.words.uniform()
    }

    /// Standard exponential.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.uniform())
    }

    /// `power(alpha)`: density alpha x^(alpha - 1) on [0, 1].
    pub fn power(&mut self, alpha: f64) -> f64 {
        libm::pow(1.0 - libm::exp(-self.exponential()), 1.0 / alpha)
    }

    /// Uniform on `low..high`: `randint`.
    pub fn integer(&mut self, (low, high): (u32, u32)) -> u32 {
        low + self.up_to(high - low - 1)
    }

    /// Uniform on `0..=most`, by masked rejection.
    fn up_to(&mut self, most: u32) -> u32 {
        let mask =
            most.checked_next_power_of_two().map_or(u32::MAX, |p| if p == most { 2 * p - 1 } else { p - 1 });
        loop {
            let x = self.words.word() & mask;
            if x <= most {
                return x;
            }
        }
    }

    /// The numbers `0..count` in random order: `permutation(count)`.
    pub fn permutation(&mut self, count: u32) -> Vec<u32> {
        let mut order: Vec<u32> = (0..count).collect();
        for last in (1..order.len()).rev() {
            let other = self.up_to(last as u32);
            order.swap(last, other as usize);
        }
        order
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f64 {
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

    /// Gamma of the given shape and scale 1: `standard_gamma`.
    pub fn gamma(&mut self, shape: f64) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutations_are_numpys() {
        // numpy.random.RandomState(42).permutation(10), as in many tutorials.
        assert_eq!(Legacy::seeded(42).permutation(10), [8, 1, 5, 0, 7, 2, 9, 4, 3, 6]);
        assert_eq!(Legacy::seeded(0).permutation(10), [2, 8, 4, 9, 1, 6, 7, 3, 0, 5]);
        assert!(Legacy::seeded(1).permutation(0).is_empty());
    }
}
