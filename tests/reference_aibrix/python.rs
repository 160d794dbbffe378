//! The ways in which Python's `random` module, which AIBrix's generator draws from, turns words into numbers.

use servescope_workload::aibrix::agent::Draws;
use servescope_workload::mersenne::MersenneTwister;

/// Python's `random.Random(seed)`.
pub(crate) struct Python(MersenneTwister);

impl Python {
    pub(crate) fn seeded(seed: i64) -> Self {
        Self(MersenneTwister::of_python(seed.unsigned_abs()))
    }
}

impl Draws for Python {
    fn integer(&mut self, low: u64, high: u64) -> u64 {
        let count =
            u32::try_from(high - low + 1).expect("Python draws more than one word for a range this wide");
        low + u64::from(self.0.below(count))
    }

    fn uniform(&mut self) -> f64 {
        self.0.uniform()
    }

    fn exponential(&mut self) -> f64 {
        let u = self.uniform();
        servescope_workload::distribution::exponential(1.0 - u)
    }
}

#[test]
fn first_numbers_of_python() {
    let mut python = Python::seeded(1);
    let drawn: Vec<u64> = (0..5).map(|_| python.integer(1, 100)).collect();
    assert_eq!(drawn, [18, 73, 98, 9, 33]);
}
