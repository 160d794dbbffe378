//! Usage by client: the monitor's table, its columns in one list for the page and for the files.

use servescope_engine::Rejection;
use servescope_engine::metrics::monitor::{ClientTotals, Monitor};
use servescope_workload::statistics::sort_places;

/// One number of a client.
#[derive(Debug, Clone, Copy)]
pub struct ClientColumn {
    /// Name in tables and files.
    pub name: &'static str,
    /// `count`, `number`, `seconds` or `share`.
    pub kind: &'static str,
    of: fn(&ClientTotals, &Whole) -> Option<f64>,
}

/// What shares and means are of.
#[derive(Debug, Clone, Copy)]
pub struct Whole {
    service: f64,
    duration_s: f64,
}

impl ClientColumn {
    /// The number, where there is one.
    pub fn of(&self, client: &ClientTotals, whole: &Whole) -> Option<f64> {
        (self.of)(client, whole)
    }
}

impl Whole {
    /// Of a run.
    pub fn of(monitor: &Monitor) -> Self {
        Self {
            service: monitor.clients.iter().map(ClientTotals::service).sum(),
            duration_s: monitor.end_us / 1e6,
        }
    }
}

macro_rules! column {
    ($name:literal, $kind:literal, $of:expr) => {
        ClientColumn { name: $name, kind: $kind, of: $of }
    };
}

/// The columns, those of the reasons for a rejection apart, which stand behind [`REFUSED`].
pub const COLUMNS: [ClientColumn; 28] = [
    column!("offered", "count", |c, _| Some(c.offered.into())),
    column!("admitted", "count", |c, _| Some(c.admitted.into())),
    column!("completed", "count", |c, _| Some(c.completed.into())),
    column!("refused", "count", |c, _| Some(c.refused_total().into())),
    column!("timed_out", "count", |c, _| Some(c.timed_out.into())),
    column!("cancelled", "count", |c, _| Some(c.cancelled.into())),
    column!("unfinished", "count", |c, _| Some(c.unfinished.into())),
    column!("input_tokens", "count", |c, _| Some(c.input_tokens as f64)),
    column!("output_tokens", "count", |c, _| Some(c.output_tokens as f64)),
    column!("service", "count", |c, _| Some(c.service())),
    column!("service_share", "share", |c, whole| (whole.service > 0.0).then(|| c.service() / whole.service)),
    column!("wasted_tokens", "count", |c, _| Some(c.wasted_tokens as f64)),
    column!("kv_tokens_mean", "number", |c, whole| Some(c.kv_token_s / whole.duration_s)),
    column!("reserved_tokens_mean", "number", |c, whole| Some(c.reserved_token_s? / whole.duration_s)),
    column!("in_system_mean", "number", |c, whole| Some(c.in_system_s / whole.duration_s)),
    column!("ttft_p50_s", "seconds", |c, _| c.tails.ttft_s.p50),
    column!("ttft_p95_s", "seconds", |c, _| c.tails.ttft_s.p95),
    column!("ttft_p99_s", "seconds", |c, _| c.tails.ttft_s.p99),
    column!("tpot_p50_s", "seconds", |c, _| c.tails.tpot_s.p50),
    column!("tpot_p95_s", "seconds", |c, _| c.tails.tpot_s.p95),
    column!("tpot_p99_s", "seconds", |c, _| c.tails.tpot_s.p99),
    column!("e2e_p50_s", "seconds", |c, _| c.tails.e2e_s.p50),
    column!("e2e_p95_s", "seconds", |c, _| c.tails.e2e_s.p95),
    column!("e2e_p99_s", "seconds", |c, _| c.tails.e2e_s.p99),
    column!("attainment", "share", |c, _| c.attainment()),
    column!("attainment_all", "share", |c, _| c.attainment_all()),
    column!("counter", "number", |c, _| c.counter),
    column!("gateway_counter", "number", |c, _| c.gateway_counter),
];

/// Place of the column with all rejections.
pub const REFUSED: usize = 3;

/// One heading of a table.
#[derive(Debug, Clone, Copy)]
pub enum MonitorHeading {
    /// A column of the list.
    Column(ClientColumn),
    /// Rejections for one reason, by its place in [`Rejection::ALL`].
    Reason(usize),
}

impl MonitorHeading {
    /// Every heading, with one for each reason that `wanted` names.
    pub fn all(wanted: impl Fn(usize) -> bool) -> Vec<Self> {
        let reasons = (0..Rejection::ALL.len()).filter(|&place| wanted(place)).map(Self::Reason);
        let mut all: Vec<Self> = COLUMNS[..=REFUSED].iter().copied().map(Self::Column).collect();
        all.extend(reasons);
        all.extend(COLUMNS[REFUSED + 1..].iter().copied().map(Self::Column));
        all
    }

    /// Name in tables and files; a reason's begins with `refused_`.
    pub fn name(&self) -> String {
        match self {
            Self::Column(column) => column.name.to_owned(),
            Self::Reason(place) => format!("refused_{}", Rejection::ALL[*place].name()),
        }
    }

    /// What kind of number stands under it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Column(column) => column.kind,
            Self::Reason(_) => "count",
        }
    }

    /// The number, where there is one.
    pub fn of(&self, client: &ClientTotals, whole: &Whole) -> Option<f64> {
        match self {
            Self::Column(column) => column.of(client, whole),
            Self::Reason(place) => Some(client.refused[*place].into()),
        }
    }
}

/// How the table is sorted.
#[derive(Debug, Clone, PartialEq)]
pub struct Sorting {
    /// Name of a heading, or `id`.
    pub by: String,
    /// Whether the largest come first. Clients without the number come last either way.
    pub descending: bool,
}

/// Places of the clients of a monitor in the order that is asked for; equal ones stay as they are.
pub fn sorted(monitor: &Monitor, sorting: &Sorting) -> Vec<u32> {
    let whole = Whole::of(monitor);
    let heading = MonitorHeading::all(|_| true).into_iter().find(|heading| heading.name() == sorting.by);
    let sign = if sorting.descending { -1.0 } else { 1.0 };
    let key = |client: &ClientTotals| {
        let number = match &heading {
            Some(heading) => heading.of(client, &whole),
            None => Some(client.id as f64),
        };
        // Adding 0 makes one of the two noughts, which would not be equal otherwise.
        number.map_or(f64::INFINITY, |number| sign * number + 0.0)
    };
    sort_places(&monitor.clients.iter().map(key).collect::<Vec<f64>>())
}
