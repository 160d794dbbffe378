//! Times measured by others, and how near the roofline comes to them: operators of single layers (Vidur's profiles, MIT) and
//! whole iterations (Splitwise's, MIT). The files beside this one hold a part of the medians.

use servescope_workload::statistics::sort;

pub mod operators;
pub mod splitwise;
pub mod startup;

/// The share `q` of errors lies at or below this, which is one of them: nothing is interpolated. NaN for none.
fn quantile(errors: &mut [f64], q: f64) -> f64 {
    sort(errors);
    let place = (q * errors.len() as f64) as usize;
    errors.get(place.min(errors.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}
