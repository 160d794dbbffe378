//! Named independent random streams, all from one seed.
//!
//! A stream depends on the seed and its own name only, so changing the distribution of the lengths leaves the arrival times as
//! they were. The generator is xoshiro256++: 64-bit arithmetic alone, the fastest good one on wasm32.

use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Open01};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Stream {
    root: u64,
    generator: Xoshiro256PlusPlus,
}

impl Stream {
    /// The stream called `name` under `seed`.
    pub fn named(seed: u64, name: &str) -> Self {
        let tag = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self::rooted(mix(seed.wrapping_add(mix(tag))))
    }

    /// The substream of item `index`.
    ///
    /// Distributions that reject draws take one of these for each item: a rejection then changes that item only, and a small
    /// change of a parameter moves every item a little in place of drawing all of them again.
    pub fn item(&self, index: usize) -> Self {
        Self::rooted(mix(self.root ^ mix(index as u64 + 1)))
    }

    fn rooted(root: u64) -> Self {
        Self { root, generator: Xoshiro256PlusPlus::seed_from_u64(root) }
    }

    /// A number strictly between 0 and 1.
    pub fn uniform(&mut self) -> f64 {
        Open01.sample(&mut self.generator)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_name_and_seed_and_repeat() {
        let first = Stream::named(42, "arrivals").bits();
        assert_eq!(first, Stream::named(42, "arrivals").bits());
        assert_ne!(first, Stream::named(42, "lengths").bits());
        assert_ne!(first, Stream::named(43, "arrivals").bits());
    }

    #[test]
    fn neighbouring_items_are_uncorrelated() {
        let stream = Stream::named(1, "x");
        let u: Vec<f64> = (0..20_000).map(|i| stream.item(i).uniform() - 0.5).collect();
        let lag: f64 = u.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / 20_000.0;
        assert!(lag.abs() < 4.0 / 12.0 / f64::sqrt(20_000.0), "lag-1 covariance {lag}");
    }
}
