//! The authors' points and this simulator's curves, a sweep at a time; how far predictions are off.

use servescope_evidence::published::figures::{policies, sweep};
use servescope_evidence::silicon;
use servescope_output::replies::FiguresReply;
use servescope_output::views::published::figure;
use wasm_bindgen::prelude::*;

use servescope_boundary::convert::{object, with_charts};
use servescope_boundary::types::{JsFigures, JsMaybeErrors};

/// The figures of a suite ("S1", "S2", "S4") and a sweep ("n", "R", "cv", "alpha"), or of its "policies", simulated now;
/// none where nothing was recorded.
#[wasm_bindgen]
pub fn published_figures(suite: &str, of: &str) -> JsFigures {
    let figures = if of == "policies" { policies(suite) } else { sweep(suite, of) };
    let reply = FiguresReply { charts: figures.iter().map(figure).collect(), figures };
    with_charts(&reply, [("charts", &reply.charts[..])]).unchecked_into()
}

/// How far predictions are off what was measured, place by place; nothing where there is none.
#[wasm_bindgen]
pub fn relative_errors(predicted: &[f64], measured: &[f64]) -> JsMaybeErrors {
    let pairs: Vec<(f64, f64)> = predicted.iter().copied().zip(measured.iter().copied()).collect();
    object(&silicon::errors(&pairs)).unchecked_into()
}
