//! What clients did in windows of equal length.
//!
//! What happens at a moment counts in the window of that moment. What lasts (being in the system, answers between first and
//! last token, memory held) is spread over the windows that it crosses, each by its part.

use crate::client::ClientId;
use servescope_workload::RequestId;

use super::tails::{TailLatencies, TailSamples};
use super::{OUTPUT_PRICE, REASONS, recomputed};
use crate::report::Report;
use crate::request::Outcome;

/// Windows of equal length over a part of the run, with one cell before them and one behind.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowGrid {
    start_us: f64,
    width_us: f64,
    windows: usize,
}

impl WindowGrid {
    /// Windows over `part`, or over the whole run, which ends at `end_us`.
    pub fn new(part: Option<(f64, f64)>, end_us: f64, windows: usize) -> Self {
        let (start_us, until_us) = part.filter(|(from, to)| to > from).unwrap_or((0.0, end_us));
        let windows = windows.max(1);
        Self { start_us, width_us: (until_us - start_us) / windows as f64, windows }
    }

    /// How many windows.
    pub fn windows(&self) -> usize {
        self.windows
    }

    /// Length of a window, microseconds.
    pub fn width_us(&self) -> f64 {
        self.width_us
    }

    /// Start of window `index`, or end of the one before, microseconds.
    pub fn edge_us(&self, index: usize) -> f64 {
        self.start_us + index as f64 * self.width_us
    }

    pub(super) fn cells(&self) -> usize {
        self.windows + 2
    }

    /// End of a cell; the one behind the windows has none.
    pub(super) fn cell_end_us(&self, cell: usize) -> f64 {
        if cell > self.windows { f64::INFINITY } else { self.edge_us(cell) }
    }

    /// The cell of a moment. One on an edge belongs to the window that begins there, the end of the windows to the last.
    pub(super) fn cell_at(&self, time_us: f64) -> usize {
        if time_us < self.start_us {
            return 0;
        }
        let place = ((time_us - self.start_us) / self.width_us) as usize;
        if place < self.windows {
            1 + place
        } else {
            // Rounding may put the end of the run beyond the last edge.
            self.windows + usize::from(time_us > self.edge_us(self.windows) * (1.0 + 1e-12))
        }
    }
}

/// One client in one window.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cell {
    /// Requests sent.
    pub offered: u32,
    /// Requests that joined a batch.
    pub admitted: u32,
    /// Requests served to the end.
    pub completed: u32,
    /// Requests rejected, in the order of [`crate::Rejection::ALL`].
    pub refused: [u32; REASONS],
    /// Requests that had waited too long.
    pub timed_out: u32,
    /// Prompt tokens of requests whose first token came.
    pub input_tokens: u64,
    /// Tokens produced.
    pub output_tokens: f64,
    /// Tokens computed for nothing, counted when that became known.
    pub wasted_tokens: u64,
    /// Integral of requests in the system, request microseconds.
    pub in_system_us: f64,
    /// Integral of KV tokens held, token microseconds.
    pub kv_token_us: f64,
    /// Integral of KV tokens reserved at the gateway beyond those, token microseconds.
    pub reserved_token_us: f64,
    /// Times of completed requests: TTFT by the first token, the others by the end.
    pub tails: TailLatencies,
}

impl Cell {
    /// Input + 2 output tokens.
    pub fn service(&self) -> f64 {
        self.input_tokens as f64 + OUTPUT_PRICE * self.output_tokens
    }

    /// Requests rejected for any reason.
    pub fn refused_total(&self) -> u32 {
        self.refused.iter().sum()
    }
}

/// The cells of some clients, and of all others as one.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowedTotals {
    /// The windows.
    pub grid: WindowGrid,
    rows: usize,
    has_others: bool,
    /// Row of each client.
    row_of: Vec<u32>,
    cells: Vec<Cell>,
}

/// Heights that last, by row: each cell's own part, and changes from one cell on.
pub(super) struct LastingTotals {
    partial: Vec<f64>,
    change: Vec<f64>,
}

impl WindowedTotals {
    /// No counts yet: rows for the first `most` clients of `order`, and one for the others.
    pub(super) fn new(grid: WindowGrid, order: &[ClientId], count: usize, most: usize) -> Self {
        let own = order.len().min(most);
        let has_others = order.len() > own;
        let rows = own + usize::from(has_others);
        let mut row_of = vec![own as u32; count];
        for (row, &client) in order[..own].iter().enumerate() {
            row_of[client] = row as u32;
        }
        let cells = vec![Cell::default(); rows * grid.cells()];
        Self { grid, rows, has_others, row_of, cells }
    }

    /// How many rows, that of the others included.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether the last row is of all clients that have none of their own.
    pub fn has_others(&self) -> bool {
        self.has_others
    }

    /// The windows of a row.
    pub fn row(&self, row: usize) -> &[Cell] {
        let from = row * self.grid.cells();
        &self.cells[from + 1..=from + self.grid.windows]
    }

    pub(super) fn place(&self, client: ClientId, cell: usize) -> usize {
        self.row_of[client] as usize * self.grid.cells() + cell
    }

    fn at(&mut self, client: ClientId, time_us: f64) -> &mut Cell {
        let place = self.place(client, self.grid.cell_at(time_us));
        &mut self.cells[place]
    }

    pub(super) fn add_kv(&mut self, client: ClientId, cell: usize, token_us: f64) {
        let place = self.place(client, cell);
        self.cells[place].kv_token_us += token_us;
    }

    pub(super) fn spread(&self) -> LastingTotals {
        LastingTotals { partial: vec![0.0; self.cells.len()], change: vec![0.0; self.cells.len() + 1] }
    }

    /// Adds a height from one time to another, as an integral over each cell.
    pub(super) fn add(
        &self,
        spread: &mut LastingTotals,
        client: ClientId,
        from_us: f64,
        to_us: f64,
        height: f64,
    ) {
        if to_us <= from_us {
            return;
        }
        let (first, last) = (self.grid.cell_at(from_us), self.grid.cell_at(to_us));
        let (a, b) = (self.place(client, first), self.place(client, last));
        if a == b {
            spread.partial[a] += height * (to_us - from_us);
        } else {
            spread.partial[a] += height * (self.grid.cell_end_us(first) - from_us);
            spread.partial[b] += height * (to_us - self.grid.cell_end_us(last - 1));
            spread.change[a + 1] += height;
            spread.change[b] -= height;
        }
    }

    /// The integral over each cell. Only cells of equal length are ever covered whole.
    fn integrals(&self, spread: &LastingTotals) -> Vec<f64> {
        let mut height = 0.0;
        let each = self.grid.cells();
        (spread.partial.iter().zip(&spread.change).enumerate())
            .map(|(place, (part, change))| {
                if place.is_multiple_of(each) {
                    height = 0.0;
                }
                height += change;
                // Sums of heights that cancel leave rounding behind.
                let whole = if height.abs() < 1e-12 { 0.0 } else { height * self.grid.width_us };
                part + whole
            })
            .collect()
    }

    /// Counts the requests of the report.
    pub(super) fn count(&mut self, report: &Report, client_of: &[ClientId], left_us: &[f64], wasted: &[u64]) {
        let (mut present, mut answers) = (self.spread(), self.spread());
        for (id, result) in report.results.iter().enumerate() {
            let (client, arrival) = (client_of[id], report.trace.arrival_us[id]);
            self.at(client, arrival).offered += 1;
            self.add(&mut present, client, arrival, left_us[id], 1.0);
            if let Some(scheduled) = report.scheduled_us(id) {
                self.at(client, scheduled).admitted += 1;
            }
            match result.outcome {
                Outcome::Completed => self.at(client, left_us[id]).completed += 1,
                Outcome::Rejected(reason) => self.at(client, left_us[id]).refused[reason as usize] += 1,
                Outcome::TimedOut => self.at(client, left_us[id]).timed_out += 1,
                Outcome::Cancelled | Outcome::Unfinished => {}
            }
            let Some(first) = report.first_token_us(id) else { continue };
            let produced = f64::from(result.produced);
            let lasted = left_us[id] - first;
            let cell = self.at(client, first);
            cell.input_tokens += u64::from(report.trace.input_tokens[id]);
            if lasted > 0.0 && produced > 1.0 {
                cell.output_tokens += 1.0;
                self.add(&mut answers, client, first, left_us[id], (produced - 1.0) / lasted);
            } else {
                cell.output_tokens += produced;
            }
        }
        let mut lost = vec![0u64; if report.timeline.preemptions.is_empty() { 0 } else { wasted.len() }];
        for (time_us, id, tokens) in recomputed(report) {
            lost[id] += tokens;
            self.at(client_of[id], time_us).wasted_tokens += tokens;
        }
        for (id, &tokens) in wasted.iter().enumerate() {
            let tokens = tokens - lost.get(id).copied().unwrap_or(0);
            if tokens > 0 {
                self.at(client_of[id], left_us[id]).wasted_tokens += tokens;
            }
        }
        let (present, answers) = (self.integrals(&present), self.integrals(&answers));
        for ((cell, present), answers) in self.cells.iter_mut().zip(present).zip(answers) {
            cell.in_system_us += present;
            cell.output_tokens += answers;
        }
    }

    /// Adds what was spread to what was reserved.
    pub(super) fn set_reserved(&mut self, spread: &LastingTotals) {
        let integrals = self.integrals(spread);
        for (cell, token_us) in self.cells.iter_mut().zip(integrals) {
            cell.reserved_token_us = token_us;
        }
    }

    /// Percentiles of every cell.
    pub(super) fn set_tails(&mut self, samples: &TailSamples, client_of: &[ClientId]) {
        let place =
            |id: RequestId, time_us: f64| self.place(client_of[id], self.grid.cell_at(time_us)) as u32;
        let tails = samples.of_groups(self.cells.len(), &place);
        for (cell, tails) in self.cells.iter_mut().zip(tails) {
            cell.tails = tails;
        }
    }
}
