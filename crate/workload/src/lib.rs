//! What arrives: requests, the distributions that make them, and the files that hold them.
//!
//! A [`Trace`] is the one thing that leaves this crate. It is made from a [`WorkloadSpec`] or read from a file, and
//! nothing downstream knows which.
//!
//! ```
//! use servescope_workload::{WorkloadSpec, generate};
//! let trace = generate(&WorkloadSpec { rate_rps: 2.0, duration_s: 300.0, ..WorkloadSpec::default() });
//! assert_eq!(trace.len(), 600); // floor(R D), as S-LoRA's generator does
//! ```

pub mod aibrix;
pub mod arrivals;
pub mod clients;
mod copula;
pub mod curve;
pub mod distribution;
pub mod fit;
pub mod formats;
pub mod generate;
pub mod lengths;
pub mod mersenne;
mod message;
pub mod numpy;
mod order;
pub mod output_bounds;
pub mod popularity;
pub mod prefix;
pub mod prompts;
pub mod scale;
mod session_generator;
pub mod sessions;
pub mod share_fit;
mod spec;
pub mod statistics;
pub mod stream;
pub mod think;
pub mod trace;
pub mod transform;
pub mod vidur;

pub use arrivals::Arrivals;
pub use clients::ClientSpec;
pub use generate::generate;
pub use lengths::LengthDistribution;
pub use output_bounds::OutputBounds;
pub use popularity::Popularity;
pub use prefix::PrefixSpec;
pub use sessions::SessionSpec;
pub use spec::{AdapterSpec, ArrivalsPer, MaxTokens, UserSpec, WorkloadSpec};
pub use think::Think;
pub use trace::{BASE_MODEL, RequestId, Trace};
