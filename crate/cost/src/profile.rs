//! Iteration times from profiles of single operators: a layer's GEMMs, norms and attention, the collectives, the host.
//!
//! One stage takes (layers of the stage) x (sum of its operators) + sending on + host overhead. Which operators there
//! are, and by what each is looked up, follows Vidur (Agrawal et al., MLSys 2024).

pub mod compact;
pub mod exact;
pub mod table;

pub use compact::{CompactTables, TableError};
pub use exact::{ExactTables, LayerSettings};
pub use table::ProfileError;
