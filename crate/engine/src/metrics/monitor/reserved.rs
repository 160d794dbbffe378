//! KV tokens reserved for each client at the gateway, as integrals over the cells.
//!
//! The gateway has written them down over cells of its own, exactly; within one of them they count as even.

use super::cells::WindowedTotals;
use crate::client::{Client, ClientId};
use crate::report::Report;

/// The place of a client among `count`, that of `known` clients has `client`: a trace of which some requests were never sent
/// may know fewer, and the base model is always the last adapter.
pub(super) fn place(client: ClientId, known: usize, count: usize, kind: Client) -> usize {
    let client = client.index();
    if kind == Client::Adapter && client + 1 == known { count - 1 } else { client }
}

/// Fills the cells and returns each client's integral, token microseconds; `None` where nothing was written down.
pub(super) fn reserved(
    report: &Report,
    client: Client,
    count: usize,
    cells: &mut WindowedTotals,
    end_us: f64,
) -> Option<Vec<f64>> {
    let reported = report.gateway.as_deref()?.reserved.as_ref()?;
    let known = reported.clients(client);
    let mut totals = vec![0.0; count];
    let mut spread = cells.spread();
    for part in reported.parts(client, end_us) {
        let own = place(part.client, known, count, client);
        totals[own] += part.token_us;
        let height = part.token_us / (part.to_us - part.from_us);
        cells.add(&mut spread, ClientId::new(own as u32), part.from_us, part.to_us, height);
    }
    cells.set_reserved(&spread);
    Some(totals)
}
