//! How much a deployment can take: the highest rate that meets a goal, and the same for every configuration of a grid, ranked
//! by what the load costs ([`plan`]).
//!
//! The goal bounds a quantile of TTFT, TBT, E2E time or queueing delay over everything that was offered, and asks that
//! the number of requests in the system does not grow. The rate is bisected with common random numbers: every probe has
//! the same seed, so that a higher rate is the same traffic closer together. Vidur-Search (Agrawal et al., MLSys 2024)
//! bisects likewise, on scheduling delay alone.
//!
//! ```
//! use servescope_lab::capacity::Search;
//! use servescope_settings::scenario::Scenario;
//! let mut scenario = Scenario::default();
//! scenario.set_text("capacity.ttft_s", "6").unwrap();
//! let mut search = Search::new(&scenario, None).unwrap();
//! while search.advance(usize::MAX) < 1.0 {}
//! let capacity = search.finish();
//! assert!(capacity.rate_rps.unwrap() < capacity.missed_rps.unwrap());
//! ```

mod check;
mod goal;
mod grid;
mod lateness;
mod limits;
mod plan;
mod price;
mod probe;
mod ranking;
mod rates;
mod search;
mod standing;
pub mod steadiness;
pub mod token_prices;

pub use check::{CHECKED, CapacityCheck, Checked, Limit};
pub use goal::{Goal, METRICS};
pub use grid::{Configuration, ConfigurationGrid, GridAxis, MAX_CONFIGURATIONS, is_of_workload};
pub use limits::BindingLimit;
pub use plan::{plan, search, to_json};
pub use price::{FleetPrice, Quote, quote};
pub use probe::{Measures, Miss, Probe};
pub use ranking::{Found, Ranked, columns, csv, rank, rank_again};
pub use rates::{CapacityRates, quick_search};
pub use search::{Capacity, Search};
pub use standing::{CapacityEntry, CapacityStanding, Need, Tried, Unranked, costs, standings};
