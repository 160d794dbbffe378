//! The same setting run with further seeds: what of a number is the setting's and what the seed's.

mod paired;

pub use paired::{CLEAR, CONFIDENCE, LEAST_PAIRS, PairedDifference, paired_interval, t_quantile};
