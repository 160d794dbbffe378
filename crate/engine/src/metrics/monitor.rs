//! Usage by client: every client's part of a run, as totals and over time.
//!
//! A client is a user or an adapter. Its service is input + 2 output tokens, as in VTC (Sheng et al., OSDI 2024): a prompt
//! counts when its first token is there, and so does that token; the others come evenly from there to the end. All is
//! computed from the report, in time that grows with requests and with windows x clients looked at.

mod cells;
mod kv;
mod reserved;
mod tails;

use crate::client::ClientId;
use servescope_workload::statistics::sort_places;
use servescope_workload::{RequestId, Trace};

pub use cells::{Cell, WindowGrid, WindowedTotals};
pub use tails::{Tail, TailLatencies};

use super::departures::left_us;
use super::fairness::{ServedRequest, Ticks, largest_gap};
use super::slo::{Slo, SloCount};
use crate::client::Client;
use crate::report::Report;
use crate::request::{Outcome, Rejection};
use tails::TailSamples;

/// Reasons for a rejection.
pub const REASONS: usize = Rejection::ALL.len();
/// Service of an output token in prompt tokens.
pub const OUTPUT_PRICE: f64 = 2.0;
/// Clients up to which the largest gap is looked for: every pair of window and client has a number.
const MOST_IN_GAP: usize = 20_000;

/// What to measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MonitorOptions {
    /// What counts as one client.
    pub client: Client,
    /// Part of the run that the windows cover, microseconds; `None`: all of it.
    pub window_us: Option<(f64, f64)>,
    /// Number of windows.
    pub windows: usize,
    /// Clients with windows of their own, the best served ones; all others share theirs.
    pub most: usize,
    /// The bounds by which requests are judged.
    pub slo: Slo,
}

/// One client's totals.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClientTotals {
    /// Index of the user or adapter; -1 is the base model.
    pub id: i64,
    /// Requests sent.
    pub offered: u32,
    /// Requests that joined a batch.
    pub admitted: u32,
    /// Requests served to the end.
    pub completed: u32,
    /// Requests rejected, in the order of [`Rejection::ALL`].
    pub refused: [u32; REASONS],
    /// Requests that waited too long.
    pub timed_out: u32,
    /// Requests whose clients went away.
    pub cancelled: u32,
    /// Requests without an end.
    pub unfinished: u32,
    /// Prompt tokens of requests that got a first token.
    pub input_tokens: u64,
    /// Tokens produced.
    pub output_tokens: u64,
    /// Tokens computed for requests that came to nothing, and tokens computed again after a preemption.
    pub wasted_tokens: u64,
    /// Requests within the bounds of the SLO.
    pub slo: SloCount,
    /// Integral of KV tokens held, token seconds.
    pub kv_token_s: f64,
    /// Integral of KV tokens reserved at the gateway beyond those, token seconds, where it checks KV memory.
    pub reserved_token_s: Option<f64>,
    /// Integral of requests in the system, request seconds.
    pub in_system_s: f64,
    /// Times of completed requests.
    pub tails: TailLatencies,
    /// Its counter at the end, where the scheduling policy keeps one for it.
    pub counter: Option<f64>,
    /// That of the scheduling policy of the gateway's queue.
    pub gateway_counter: Option<f64>,
}

impl ClientTotals {
    /// Requests rejected for any reason.
    pub fn refused_total(&self) -> u32 {
        self.refused.iter().sum()
    }

    /// Input + 2 output tokens.
    pub fn service(&self) -> f64 {
        service(self.input_tokens, self.output_tokens)
    }

    /// Share of its requests with a first token within the bound on TTFT.
    pub fn attainment(&self) -> Option<f64> {
        self.slo.shares(self.offered)[0]
    }

    /// Share of its requests that meet every bound of the SLO.
    pub fn attainment_all(&self) -> Option<f64> {
        self.slo.shares(self.offered)[1]
    }
}

/// What every client used.
#[derive(Debug, Clone, PartialEq)]
pub struct Monitor {
    /// What counts as one client.
    pub client: Client,
    /// Every client that sent a request, the best served first.
    pub clients: Vec<ClientTotals>,
    /// The first clients of `clients` over time, and behind them all others as one where there are any.
    pub cells: WindowedTotals,
    /// Jain's index of the clients' service: 1 where all got the same, 1/n where one of n got all.
    pub jain: Option<f64>,
    /// VTC's gap at its largest, tokens a second; missing where the run is shorter than its windows.
    pub largest_gap_per_s: Option<f64>,
    /// Requests whose KV memory over time is not in the timeline and is interpolated.
    pub kv_interpolated: u64,
    /// End of the run, microseconds.
    pub end_us: f64,
}

/// How evenly clients were served: what a line of text shows of a [`Monitor`], without the pass over the iterations and without
/// what each client used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServiceFairness {
    /// Clients that sent a request.
    pub clients: usize,
    /// [`Monitor::jain`].
    pub jain: Option<f64>,
    /// [`Monitor::largest_gap_per_s`].
    pub largest_gap_per_s: Option<f64>,
}

impl ServiceFairness {
    /// Measures a run.
    pub fn measure(report: &Report, client: Client) -> Self {
        let (client_of, count) = clients_of(&report.trace, client);
        let mut served = vec![None; count];
        for (id, result) in report.results.iter().enumerate() {
            let [input, output] = served[client_of[id]].get_or_insert([0, 0]);
            *input += input_tokens(report, id);
            *output += u64::from(result.produced);
        }
        let services: Vec<Option<f64>> =
            served.into_iter().map(|tokens| tokens.map(|[input, output]| service(input, output))).collect();
        let order = best_served_first(&services);
        Self {
            clients: order.len(),
            jain: jain(order.iter().filter_map(|&client| services[client.index()])),
            largest_gap_per_s: gap(report, &client_of, count),
        }
    }
}

/// Input + 2 output tokens.
fn service(input_tokens: u64, output_tokens: u64) -> f64 {
    input_tokens as f64 + OUTPUT_PRICE * output_tokens as f64
}

/// Prompt tokens of a request that got a first token.
fn input_tokens(report: &Report, id: usize) -> u64 {
    if report.first_token_us(id).is_some() { u64::from(report.trace.input_tokens[id]) } else { 0 }
}

/// The client of every request, and how many there may be.
fn clients_of(trace: &Trace, client: Client) -> (Vec<ClientId>, usize) {
    let count = client.count(trace);
    (RequestId::first(trace.len()).map(|id| client.of(trace, id, count)).collect(), count)
}

/// Tokens of each request that were computed for nothing.
fn wasted_tokens(report: &Report) -> Vec<u64> {
    let mut wasted = vec![0u64; report.results.len()];
    for (id, result) in report.results.iter().enumerate() {
        if matches!(result.outcome, Outcome::Cancelled | Outcome::TimedOut)
            && report.first_token_us(id).is_some()
        {
            wasted[id] = u64::from(report.trace.input_tokens[id]) + u64::from(result.produced);
        }
    }
    for eviction in recomputed(report) {
        wasted[eviction.1] += eviction.2;
    }
    wasted
}

/// What was computed again: (when it was lost, whose, tokens). What a request lost that never came back is not.
fn recomputed(report: &Report) -> Vec<(f64, RequestId, u64)> {
    let preemptions = &report.timeline.preemptions;
    if preemptions.is_empty() {
        return Vec::new();
    }
    let mut returns = vec![0u32; report.results.len()];
    report.timeline.preemption_intervals.iter().for_each(|absence| returns[absence.request] += 1);
    let mut came_back = |id: RequestId| {
        let left = &mut returns[id];
        let back = *left > 0;
        *left -= u32::from(back);
        back
    };
    preemptions
        .iter()
        .filter(|eviction| came_back(eviction.id))
        .map(|eviction| (eviction.time_us, eviction.id, u64::from(eviction.lost_tokens)))
        .collect()
}

impl Monitor {
    /// Measures a run.
    pub fn measure(report: &Report, options: &MonitorOptions) -> Self {
        let (client_of, count) = clients_of(&report.trace, options.client);
        let (left_us, end_us) = left_us(report);
        let wasted = wasted_tokens(report);
        let mut all = totals(report, &client_of, count, &wasted, options.slo);
        for (id, &client) in client_of.iter().enumerate() {
            all[client].in_system_s += (left_us[id] - report.trace.arrival_us[id]) / 1e6;
        }
        let services: Vec<Option<f64>> =
            all.iter().map(|totals| (totals.offered > 0).then(|| totals.service())).collect();
        let order = best_served_first(&services);
        let grid = WindowGrid::new(options.window_us, end_us, options.windows);
        let mut cells = WindowedTotals::new(grid, &order, count, options.most);
        cells.count(report, &client_of, &left_us, &wasted);
        let held = kv::held(report, &client_of, count, &mut cells, end_us);
        for (client, integral) in held.token_us.iter().enumerate() {
            all[client].kv_token_s = integral / 1e6;
        }
        if let Some(token_us) = reserved::reserved(report, options.client, count, &mut cells, end_us) {
            for (totals, token_us) in all.iter_mut().zip(token_us) {
                totals.reserved_token_s = Some(token_us / 1e6);
            }
        }
        let samples = TailSamples::of(report);
        let tails = samples.of_clients(&client_of, count);
        for (totals, tails) in all.iter_mut().zip(tails) {
            totals.tails = tails;
        }
        cells.set_tails(&samples, &client_of);
        if let Some(counters) = report.counters.as_ref().filter(|c| c.client == options.client) {
            for &(client, value) in &counters.values {
                let client = reserved::place(client, counters.clients, count, options.client);
                all[client].counter = Some(value);
            }
        }
        if let Some(log) = report.gateway.as_deref().filter(|log| log.client == options.client) {
            for &(client, value) in &log.counters {
                let client = reserved::place(client, log.clients, count, options.client);
                all[client].gateway_counter = Some(value);
            }
        }
        if options.client == Client::Adapter {
            all[count - 1].id = -1;
        }
        let largest_gap_per_s = gap(report, &client_of, count);
        let clients: Vec<ClientTotals> =
            order.iter().map(|&client| std::mem::take(&mut all[client])).collect();
        Self {
            client: options.client,
            jain: jain(clients.iter().map(ClientTotals::service)),
            clients,
            cells,
            largest_gap_per_s,
            kv_interpolated: held.interpolated,
            end_us,
        }
    }
}

fn totals(
    report: &Report,
    client_of: &[ClientId],
    count: usize,
    wasted: &[u64],
    slo: Slo,
) -> Vec<ClientTotals> {
    let blank = |id: usize| ClientTotals { id: id as i64, ..ClientTotals::default() };
    let mut all: Vec<ClientTotals> = (0..count).map(blank).collect();
    for (id, result) in report.results.iter().enumerate() {
        let totals = &mut all[client_of[id]];
        totals.offered += 1;
        totals.admitted += u32::from(report.scheduled_us(id).is_some());
        match result.outcome {
            Outcome::Completed => totals.completed += 1,
            Outcome::Rejected(reason) => totals.refused[reason as usize] += 1,
            Outcome::TimedOut => totals.timed_out += 1,
            Outcome::Cancelled => totals.cancelled += 1,
            Outcome::Unfinished => totals.unfinished += 1,
        }
        totals.input_tokens += input_tokens(report, id);
        totals.slo.add(slo, report, id);
        totals.output_tokens += u64::from(result.produced);
        totals.wasted_tokens += wasted[id];
    }
    all
}

/// Clients with a request, by service, then by index; `None`: a client without one.
fn best_served_first(services: &[Option<f64>]) -> Vec<ClientId> {
    let key = |service: &Option<f64>| service.map_or(f64::INFINITY, |service| -service);
    let mut order = sort_places(&services.iter().map(key).collect::<Vec<f64>>());
    order.truncate(services.iter().flatten().count());
    order.into_iter().map(ClientId::new).collect()
}

/// Jain, Chiu and Hawe's index of fairness (DEC TR-301, 1984): (sum x)^2 / (n sum x^2).
pub fn jain(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut count, mut sum, mut squares) = (0u32, 0.0, 0.0);
    for x in values {
        count += 1;
        sum += x;
        squares += x * x;
    }
    (squares > 0.0).then(|| sum * sum / (f64::from(count) * squares))
}

/// The largest gap with the paper's windows over the time of the arrivals.
fn gap(report: &Report, client_of: &[ClientId], count: usize) -> Option<f64> {
    let duration_s = report.trace.arrival_us.last()? / 1e6;
    let ticks = Ticks::paper(duration_s);
    if count > MOST_IN_GAP || duration_s < ticks.warm_up_s + ticks.window_s {
        return None;
    }
    let mut place = vec![u32::MAX; count];
    let mut present = 0;
    for &client in client_of {
        if place[client] == u32::MAX {
            place[client] = present;
            present += 1;
        }
    }
    let served = (0..report.results.len()).filter_map(|id| {
        let result = &report.results[id];
        Some(ServedRequest {
            client: place[client_of[id]] as usize,
            input_tokens: f64::from(report.trace.input_tokens[id]),
            output_tokens: f64::from(result.produced),
            arrival_s: report.trace.arrival_us[id] / 1e6,
            first_token_s: report.first_token_us(id)? / 1e6,
            finish_s: result.finish_us? / 1e6,
        })
    });
    largest_gap(served, present as usize, &ticks)
}
