//! A trace as it comes from the studio. It is checked like any foreign value: the columns might be anything.

use js_sys::{Float64Array, Reflect, Uint32Array};
use servescope_settings::diagnostic::Diagnostic;
use servescope_workload::Trace;
use servescope_workload::formats::MAX_ROWS;
use servescope_workload::trace::{ClosedLoop, Labels, NO_LABEL, TraceMetadata};
use wasm_bindgen::prelude::*;

use crate::types::JsTraceColumns;

/// The trace of columns.
///
/// # Errors
/// The column that is absent, too short, or out of order.
pub fn trace(columns: &JsTraceColumns) -> Result<Trace, Diagnostic> {
    let field = |key: &'static str| Reflect::get(columns, &key.into()).unwrap_or_default();
    let doubles = |key| -> Result<Vec<f64>, Diagnostic> {
        field(key).dyn_into::<Float64Array>().map(|a| a.to_vec()).map_err(|_| bad(key))
    };
    let wholes = |key| -> Result<Vec<u32>, Diagnostic> {
        field(key).dyn_into::<Uint32Array>().map(|a| a.to_vec()).map_err(|_| bad(key))
    };
    let arrival_us = doubles("arrival_us")?;
    let n = arrival_us.len();
    if !arrival_us.is_sorted() || arrival_us.iter().any(|t| !t.is_finite()) {
        return Err(bad("arrival_us"));
    }
    let each = |key| wholes(key).and_then(|c| if c.len() == n { Ok(c) } else { Err(bad(key)) });
    let cancellations = doubles("cancellations")?;
    let cancellations: Vec<(f64, u32)> =
        cancellations.chunks(2).map(|c| (c[0], c[c.len() - 1] as u32)).collect();
    if cancellations.iter().any(|&(_, id)| id as usize >= n) {
        return Err(bad("cancellations"));
    }
    let [after, session] = ["after", "session"].map(|key| match wholes(key)? {
        column if column.is_empty() || column.len() == n => Ok(column),
        _ => Err(bad(key)),
    });
    let [think_us, recorded_latency_s] = ["think_us", "took_s"].map(|key| match doubles(key)? {
        column if column.is_empty() || column.len() == n => Ok(column),
        _ => Err(bad(key)),
    });
    let session = session?;
    if session.iter().any(|&session| session != NO_LABEL && session as usize >= MAX_ROWS) {
        return Err(bad("session"));
    }
    let (after, think_us, until_us) = (after?, think_us?, doubles("until_us")?);
    let [until_us] = until_us[..] else { return Err(bad("until_us")) };
    if until_us.is_nan() {
        return Err(bad("until_us"));
    }
    if after.len() != think_us.len() || think_us.iter().any(|t| !(0.0..f64::INFINITY).contains(t)) {
        return Err(bad("think_us"));
    }
    // The sessions' names stay behind: only which requests belong together matters here.
    let session = Labels { index: session, names: Vec::new() };
    let metadata =
        TraceMetadata { session, recorded_latency_s: recorded_latency_s?, ..TraceMetadata::default() };
    Ok(Trace {
        user: each("user")?,
        adapter: each("adapter")?,
        input_tokens: each("input_tokens")?,
        output_tokens: each("output_tokens")?,
        max_tokens: each("max_tokens")?,
        adapter_rank: wholes("adapter_rank")?,
        cancellations,
        arrival_us,
        closed_loop: (!after.is_empty())
            .then(|| Box::new(ClosedLoop { depends_on: after, think_us, until_us, is_shared: false })),
        metadata: (!metadata.is_empty()).then(|| Box::new(metadata)),
    })
}

fn bad(column: &'static str) -> Diagnostic {
    Diagnostic::error(
        "bad_columns",
        column,
        format!("{column}: no such column, or not one entry a request in order"),
    )
    .text("column", column)
}
