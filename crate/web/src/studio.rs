//! The studio of a worker: it reads files of every known format, shows what is in them, and hands traces over to the
//! simulator or writes them in another format.

use std::sync::Arc;

use js_sys::Uint8Array;
use serde_json::json;
use servescope_lab::run::trace_of;
use servescope_lab::views;
use servescope_lab::workload::Trace;
use servescope_lab::workload::formats::{self, Format};
use servescope_lab::workload::statistics::Statistics;
use servescope_lab::{Failure, LoadedTrace};
use wasm_bindgen::prelude::*;

use crate::convert::{charts, object, scenario_of, thrown};
use crate::hand_over::columns;
use crate::types::{JsCharts, JsFailure, JsPatch, JsSourceInfo, JsTraceColumns};

/// Reads, shows and writes traffic. It holds one source at a time: a file, or what a scenario generates.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Studio {
    /// The file as far as it has come.
    bytes: Vec<u8>,
    file: Option<LoadedTrace>,
    shown: Option<Arc<Trace>>,
}

#[wasm_bindgen]
impl Studio {
    /// A studio without a source.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for a file of `bytes`; what was fed of another is forgotten.
    pub fn reserve(&mut self, bytes: usize) {
        self.bytes = Vec::with_capacity(bytes);
    }

    /// Takes the next part of the file.
    pub fn feed(&mut self, part: &[u8]) {
        self.bytes.extend_from_slice(part);
    }

    /// Reads the file that was fed. The former file stays when this one is bad.
    ///
    /// # Errors
    /// What is wrong with the file, with row and column.
    pub fn open(&mut self, name: &str) -> Result<JsSourceInfo, JsFailure> {
        let bytes = std::mem::take(&mut self.bytes);
        let loaded = LoadedTrace::read(name, &bytes).map_err(|failure| thrown(vec![failure]))?;
        let info = object(&info(&loaded));
        self.shown = Some(Arc::clone(&loaded.trace));
        self.file = Some(loaded);
        Ok(info.unchecked_into())
    }

    /// Forgets the file.
    pub fn close(&mut self) {
        self.file = None;
        self.shown = None;
    }

    /// Looks at what a scenario simulates: generated requests, or the file's as its settings scale them.
    ///
    /// # Errors
    /// What is wrong with the scenario.
    pub fn look(&mut self, scenario: &JsPatch) -> Result<(), JsFailure> {
        self.shown = Some(trace_of(&scenario_of(scenario)?, self.file.as_ref()).map_err(thrown)?);
        Ok(())
    }

    /// The charts of what is looked at.
    ///
    /// # Errors
    /// When there is nothing to look at.
    pub fn charts(&self, columns: usize) -> Result<JsCharts, JsFailure> {
        let views = views::traffic(&[("arrivals", self.shown()?)], columns);
        Ok(JsValue::from(charts(&views)).unchecked_into())
    }

    /// What is looked at, for the simulator.
    ///
    /// # Errors
    /// When there is nothing to look at.
    pub fn columns(&self) -> Result<JsTraceColumns, JsFailure> {
        Ok(columns(self.shown()?))
    }

    /// What is looked at as a file.
    ///
    /// # Errors
    /// When there is nothing, or no such format to write.
    pub fn export(&self, format: &str) -> Result<Uint8Array, JsFailure> {
        let text = Format::from_name(format).and_then(|known| formats::write(self.shown().ok()?, known));
        let text = text.ok_or_else(|| {
            let message = format!("a trace cannot be written as {format}");
            thrown(vec![Failure::new("unknown_option", "format", message).text("value", format)])
        })?;
        Ok(Uint8Array::from(text.as_bytes()))
    }

    fn shown(&self) -> Result<&Trace, JsFailure> {
        self.shown
            .as_deref()
            .ok_or_else(|| thrown(vec![Failure::new("no_trace", "", "there is no trace yet".to_owned())]))
    }
}

/// Names of the formats that can be written.
#[wasm_bindgen]
pub fn writable_formats() -> Vec<String> {
    Format::writable().map(|format| format.name().to_owned()).collect()
}

fn info(loaded: &LoadedTrace) -> serde_json::Value {
    let statistics = Statistics::of(&loaded.trace);
    json!({
        "name": loaded.name,
        "format": loaded.format.map_or("", Format::name),
        "requests": statistics.requests,
        "span_s": statistics.span_s,
        "rate_rps": statistics.rate_rps,
        "input_tokens_mean": statistics.input_tokens.map_or(0.0, |s| s.mean),
        "output_tokens_mean": statistics.output_tokens.map_or(0.0, |s| s.mean),
        "warnings": loaded.warnings,
    })
}
