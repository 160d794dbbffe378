//! Measured over simulated: the result file of a load generator, its requests and its server's settings simulated, and both
//! runs compared request by request.
//!
//! Times are the client's, except where a tool writes the server's (LLMServingSim). A run that kept a number of requests in
//! flight is simulated as that closed loop; any other one sends its requests at the measured times.

mod cause;
mod compare;
mod fit;
mod measured;
mod pair;
mod read;
mod report;
mod taken;

pub use cause::{Culprit, OverlayCause};
pub use compare::{LengthBucket, Overlay};
pub use fit::{CostFit, FitError, FitSearch, MAX_CONSTANTS, RefittedConstant, fit, fittable};
pub use measured::{MAX_REQUESTS, Means, MeasuredRequest, MeasuredRun, MeasuredTime, Sending};
pub use pair::{Pair, PairedMetric, Times};
pub use read::{ReadError, read, read_among, read_benchmark};
pub use report::{
    FittedConstant, FittedHalf, OverlaidMetric, OverlayFit, document, overlaid_metrics, requests_csv,
};
pub use taken::{Taken, TakenSetting, take_over};
