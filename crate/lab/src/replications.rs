//! The same setting run with further seeds: what of a number is the setting's and what the seed's.

mod paired;
mod range;

use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::parameters::{Id, Value};
use servescope_settings::scenario::Scenario;

pub use paired::{CLEAR, CONFIDENCE, LEAST_PAIRS, PairedDifference, paired_interval, t_quantile};
pub use range::{SeedRange, ValueRange, ranges};

/// Most seeds of one setting.
pub const MAX_SEEDS: usize = 10_000;

/// The scenario's own seed and those that follow it.
///
/// # Errors
/// [`Diagnostic`] for none, for more than [`MAX_SEEDS`], or for seeds beyond the largest.
pub fn seeds(scenario: &Scenario, count: usize) -> Result<Vec<u64>, Diagnostic> {
    if count == 0 || count > MAX_SEEDS {
        return Err(Diagnostic::out_of_range("seeds", count as f64, 1.0, MAX_SEEDS as f64));
    }
    let first = scenario.number(Id::Seed);
    let last = first + (count - 1) as f64;
    Id::Seed.row().check(&Value::Number(last))?;
    Ok((0..count as u64).map(|i| first as u64 + i).collect())
}

/// A scenario with another seed.
pub fn with_seed(scenario: &Scenario, seed: u64) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.set(Id::Seed, Value::Number(seed as f64)).expect("the seeds were checked as they were made");
    scenario
}
