//! Who uses what, for the page's monitor: a table sorted here, for it has every client, and its charts.

use serde::{Deserialize, Serialize};
use servescope_lab::Failure;
use servescope_lab::monitor::{Heading, Sorting, Whole, client_name, client_named, sorted};
use servescope_lab::views::ViewOptions;
use servescope_lab::views::monitor::{charted, monitor};
use wasm_bindgen::prelude::*;

use crate::simulator::Simulator;
use servescope_boundary::convert::{charts, object, to_js_error};
use servescope_boundary::types::{JsFailure, JsMonitor, JsMonitorOptions};

/// What to look at.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MonitorRequest {
    client: String,
    sort: String,
    descending: bool,
    rows: f64,
    window: Option<(f64, f64)>,
}

#[derive(Debug, Serialize)]
struct ColumnReply {
    name: String,
    kind: &'static str,
}

#[derive(Debug, Serialize)]
struct RowReply {
    id: i64,
    values: Vec<Option<f64>>,
}

/// A charted client and its colour.
#[derive(Debug, Serialize)]
struct Charted {
    role: &'static str,
    id: i64,
}

/// The answer, its charts apart.
#[derive(Debug, Serialize)]
struct Reply {
    client: &'static str,
    clients: usize,
    columns: Vec<ColumnReply>,
    rows: Vec<RowReply>,
    charted: Vec<Charted>,
    jain: Option<f64>,
    largest_gap_per_s: Option<f64>,
    wasted_tokens: f64,
    computed_tokens: f64,
    kv_interpolated: f64,
}

#[wasm_bindgen]
impl Simulator {
    /// What each client of the finished run used.
    ///
    /// # Errors
    /// When there is no run, or the options are bad.
    pub fn monitor(&self, options: &JsMonitorOptions) -> Result<JsMonitor, JsFailure> {
        let bad = |path: &str, message: String| to_js_error(vec![Failure::new("bad_json", path, message)]);
        let options: MonitorRequest = serde_wasm_bindgen::from_value(options.into())
            .map_err(|error| bad("options", error.to_string()))?;
        let client = client_named(&options.client).ok_or_else(|| {
            bad("options.client", format!("{} is neither user nor adapter", options.client))
        })?;
        let run = self.finished()?;
        let look = ViewOptions { window_s: options.window, ..ViewOptions::default() };
        let (views, monitor) = monitor(run, client, &look);
        let whole = Whole::of(&monitor);
        let any_refused = |place: usize| monitor.clients.iter().any(|client| client.refused[place] > 0);
        let headings = Heading::all(any_refused);
        let sorting = Sorting { by: options.sort, descending: options.descending };
        let rows = sorted(&monitor, &sorting).into_iter().take(options.rows.max(0.0) as usize);
        let row = |place: u32| {
            let client = &monitor.clients[place as usize];
            let values = headings.iter().map(|heading| heading.of(client, &whole)).collect();
            RowReply { id: client.id, values }
        };
        let sum = |of: fn(&servescope_lab::engine::metrics::monitor::ClientTotals) -> u64| {
            monitor.clients.iter().map(of).sum::<u64>() as f64
        };
        let reply = Reply {
            client: client_name(client),
            clients: monitor.clients.len(),
            rows: rows.map(row).collect(),
            charted: charted(&monitor).map(|(id, role)| Charted { role: role.name(), id }).collect(),
            jain: monitor.jain,
            largest_gap_per_s: monitor.largest_gap_per_s,
            wasted_tokens: sum(|client| client.wasted_tokens),
            computed_tokens: sum(|client| client.input_tokens + client.output_tokens),
            kv_interpolated: monitor.kv_interpolated as f64,
            columns: headings.iter().map(|h| ColumnReply { name: h.name(), kind: h.kind() }).collect(),
        };
        let target = object(&reply);
        let _ = js_sys::Reflect::set(&target, &"charts".into(), &charts(&views));
        Ok(target.unchecked_into())
    }
}
