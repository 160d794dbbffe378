//! Many runs of one question: which load a setting serves, which of two settings is better, what a number does over a range.

pub mod blame;
pub mod capacity;
pub mod compare;
pub mod metric;
pub mod replications;
pub mod sweep;
pub(crate) mod threads;
pub mod turn;
