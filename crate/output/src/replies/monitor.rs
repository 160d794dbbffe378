//! What each client used, for the page's monitor: a table sorted here, for it has every client, and its charts.

use serde::{Deserialize, Serialize};
use servescope_engine::metrics::monitor::ClientTotals;
use servescope_lab::run::Run;
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::parameters::choices::{Choice, QUEUE_CLIENT};

use crate::monitor::{MonitorHeading, Sorting, Whole, sorted};
use crate::views::monitor::{charted, monitor};
use crate::views::{Chart, ViewOptions};

/// How to look at the monitor.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "MonitorOptions"))]
#[serde(deny_unknown_fields)]
pub struct MonitorRequest {
    /// Whether a client is a user or an adapter.
    #[cfg_attr(feature = "types", ts(type = "'user' | 'adapter'"))]
    pub client: String,
    /// The name of a column, or "id".
    pub sort: String,
    /// Whether the largest comes first.
    pub descending: bool,
    /// Rows of the table.
    pub rows: f64,
    /// The part of the run that the charts show, seconds.
    pub window: Option<(f64, f64)>,
}

/// A column of the table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct MonitorColumn {
    /// Its name; `refused_…` are those of reasons that occurred.
    pub name: String,
    /// What kind of number stands under it.
    #[cfg_attr(feature = "types", ts(type = "'count' | 'number' | 'seconds' | 'share'"))]
    pub kind: &'static str,
}

/// A client's row.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct MonitorRow {
    /// Index of the user or adapter; -1 is the base model.
    pub id: i64,
    /// In the order of the columns.
    pub values: Vec<Option<f64>>,
}

/// A charted client and its colour.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct ChartedClient {
    /// The role of its series.
    pub role: &'static str,
    /// Index of the user or adapter; -1 is the base model.
    pub id: i64,
}

/// What each client used.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct MonitorView {
    /// Whether a client is a user or an adapter.
    #[cfg_attr(feature = "types", ts(type = "'user' | 'adapter'"))]
    pub client: &'static str,
    /// How many clients there are.
    pub clients: usize,
    /// Columns of the table.
    pub columns: Vec<MonitorColumn>,
    /// The first of the clients as they are sorted.
    pub rows: Vec<MonitorRow>,
    /// Which client has which colour in the charts; all others are the last series.
    pub charted: Vec<ChartedClient>,
    /// Jain's index of the service.
    pub jain: Option<f64>,
    /// Largest difference between the services of two clients that wait, tokens a second.
    pub largest_gap_per_s: Option<f64>,
    /// Tokens that were computed for requests that never completed, or computed again.
    pub wasted_tokens: f64,
    /// Prompt and output tokens of all clients.
    pub computed_tokens: f64,
    /// Requests whose KV memory over time is interpolated.
    pub kv_interpolated: f64,
    /// Service and memory over time.
    #[serde(skip_serializing)]
    pub charts: Vec<Chart>,
}

impl MonitorView {
    /// Of a run.
    ///
    /// # Errors
    /// Clients that are neither users nor adapters.
    pub fn of(run: &Run, request: MonitorRequest) -> Result<Self, Diagnostic> {
        let client = QUEUE_CLIENT.find(&request.client).ok_or_else(|| {
            let message = format!("{} is neither user nor adapter", request.client);
            Diagnostic::error("bad_json", "options.client", message)
        })?;
        let look = ViewOptions { window_s: request.window, ..ViewOptions::default() };
        let (charts, monitor) = monitor(run, client, &look);
        let whole = Whole::of(&monitor);
        let any_refused = |place: usize| monitor.clients.iter().any(|client| client.refused[place] > 0);
        let headings = MonitorHeading::all(any_refused);
        let sorting = Sorting { by: request.sort, descending: request.descending };
        let rows = sorted(&monitor, &sorting).into_iter().take(request.rows.max(0.0) as usize);
        let row = |place: u32| {
            let client = &monitor.clients[place as usize];
            let values = headings.iter().map(|heading| heading.of(client, &whole)).collect();
            MonitorRow { id: client.id, values }
        };
        let sum = |of: fn(&ClientTotals) -> u64| monitor.clients.iter().map(of).sum::<u64>() as f64;
        Ok(Self {
            client: client.name(),
            clients: monitor.clients.len(),
            columns: headings.iter().map(|h| MonitorColumn { name: h.name(), kind: h.kind() }).collect(),
            rows: rows.map(row).collect(),
            charted: charted(&monitor).map(|(id, role)| ChartedClient { role: role.name(), id }).collect(),
            jain: monitor.jain,
            largest_gap_per_s: monitor.largest_gap_per_s,
            wasted_tokens: sum(|client| client.wasted_tokens),
            computed_tokens: sum(|client| client.input_tokens + client.output_tokens),
            kv_interpolated: monitor.kv_interpolated as f64,
            charts,
        })
    }
}
