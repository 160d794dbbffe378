//! Every parameter: its rows are in the files of the folder beside, in this order.

use servescope_cost::calibration::CALIBRATION_IDS;
use servescope_cost::gpus::GPU_IDS;
use servescope_cost::kernels::CAPTURED_TOKENS;
use servescope_workload::prompts::sampling::{MAX_PENALTY, MAX_TEMPERATURE, MIN_TOP_P};

use super::builder::{choice, number, row, whole};
use super::choices::{self, MODEL_NAMES};
use super::conditions::{
    BOUNDED, BY_CLIENT, CHANGES, CLIENT_BOUND, COUNTED, DRR, ENGINE_BOUND, FAIR, FORMATS, HARDWARE,
    HAS_ADAPTERS, HELD, HISTORY, INDEPENDENT_LENGTHS, KNOWS_ADAPTERS, KNOWS_USERS, LENDING, LINEAR, LOADED,
    MOST, ON_HARDWARE, OWN_EXPERTS, OWN_MODEL, PAGED, PATTERNS, PREDICTS, PRIORITY, PROXY, REJECTED, RETRIES,
    ROOFLINE, RPM, SLORA, SLOTS, SOME_ADAPTERS, SOME_USERS, SWAPS, TALKS, TPM, VLLM_V1, VTC, above, all, any,
    when_in, when_not_in,
};
use super::id::Id;
use super::kind::{Condition, Kind, Parameter, SliderStop};

// Each file has a macro that puts its rows behind those before it and hands all of them to the next one, and the last one to
// whatever is made of them: the rows here, and beside this file the names. So a row is written once.
macro_rules! rows {
    ($make:ident [$file:ident $($next:ident)*] $($rows:tt)*) => {
        $file! { $make [$($next)*] $($rows)* }
    };
    ($make:ident [] $($rows:tt)*) => {
        $make! { $($rows)* }
    };
}

/// Hands every row to a macro, in the order of the table.
macro_rules! every_row {
    ($make:ident) => {
        rows! { $make [traffic queue gateway replicas model clients cost run] }
    };
}

macro_rules! table {
    ($($name:ident = $row:expr;)*) => {
        /// The rows, by [`Id`].
        pub static TABLE: [Parameter; Id::ALL.len()] = [$($row,)*];
    };
}

#[macro_use]
mod traffic;
#[macro_use]
mod queue;
#[macro_use]
mod gateway;
#[macro_use]
mod replicas;
#[macro_use]
mod model;
#[macro_use]
mod clients;
#[macro_use]
mod cost;
#[macro_use]
mod run;

every_row! { table }
