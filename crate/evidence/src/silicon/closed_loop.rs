//! The requests of a measured run, as its client sent them: a closed loop, the first ones of which start together.

use servescope_workload::stream::Stream;
use servescope_workload::trace::{ClosedLoop, NO_REQUEST, Request};
use servescope_workload::{BASE_MODEL, Trace};

use super::file::SiliconRow;

/// Requests of a run for each one in flight, as InferenceX and AIConfigurator's own client have it.
pub(super) const REQUESTS_PER_SLOT: u32 = 10;
/// Shortest length as a share of the nominal one.
const SHORTEST_SHARE: f64 = 0.8;
/// Seed of the lengths.
const SEED: u64 = 42;

/// Least tokens of a prompt or output, of the nominal number.
fn shortest(nominal: u32) -> u32 {
    ((f64::from(nominal) * SHORTEST_SHARE) as u32).clamp(1, nominal)
}

/// The same of a row's client.
pub(super) fn shortest_of(row: &SiliconRow, nominal: u32) -> u32 {
    if row.has_fixed_lengths() { nominal } else { shortest(nominal) }
}

/// A length of a request of InferenceX's client: uniform from 0.8 of the nominal one on.
pub(crate) fn nominal_length(stream: &Stream, place: u32, nominal: u32) -> u32 {
    length_from(stream, place, shortest(nominal), nominal)
}

fn length_from(stream: &Stream, place: u32, low: u32, nominal: u32) -> u32 {
    let width = f64::from(nominal - low) + 1.0;
    (low + (stream.item(place as usize).uniform() * width) as u32).min(nominal)
}

/// Mean tokens of a prompt.
pub(super) fn mean_length(row: &SiliconRow) -> f64 {
    f64::midpoint(shortest_of(row, row.input_tokens).into(), row.input_tokens.into())
}

/// The requests of a run: the first ones start together, and each end lets the next one go.
pub(super) fn requests(row: &SiliconRow, in_flight: u32) -> Trace {
    let count = in_flight.saturating_mul(REQUESTS_PER_SLOT);
    let mut trace = Trace::with_capacity(count as usize);
    let mut closed_loop = ClosedLoop { is_shared: true, ..ClosedLoop::default() };
    let streams = ["silicon_input", "silicon_output"].map(|name| Stream::named(SEED, name));
    let length = |stream, place, nominal| length_from(stream, place, shortest_of(row, nominal), nominal);
    for place in 0..count {
        let output_tokens = length(&streams[1], place, row.output_tokens);
        trace.push(Request {
            arrival_us: 0.0,
            user: 0,
            adapter: BASE_MODEL,
            input_tokens: length(&streams[0], place, row.input_tokens),
            output_tokens,
            max_tokens: output_tokens,
        });
        closed_loop.push(if place < in_flight { NO_REQUEST } else { 0 }, 0.0);
    }
    trace.closed_loop = Some(Box::new(closed_loop));
    trace
}
