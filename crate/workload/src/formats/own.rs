//! Servescope's own CSV: `id,arrival_s,user,adapter,rank,input_tokens,output_tokens,max_tokens`; `cancel_s` where a client
//! went away; `after`, `think_s` and `until_s` where requests wait for others: the `id` (row, from 0) of an earlier one, the
//! time between its end and this sending, and the time from which on nothing held is sent; `session`, `turn`, `model`, `kind`,
//! `took_s`, `block_tokens`, `hash_ids` and `output_hash_ids` (with spaces between) where a trace carries them. Only arrival and the two lengths
//! must be there; adapter -1 is the base model.

use std::fmt::Write as _;

use super::table::{Column, Table, push_cell, seconds_text};
use super::{FormatError, MAX_INDEX, MAX_RANK, MAX_TOKENS};
use crate::trace::{BASE_MODEL, ClosedLoop, LabelMaker, NO_REQUEST, Request, Trace, TraceMetadata};

pub(super) const COLUMNS: [&str; 3] = ["arrival_s", "input_tokens", "output_tokens"];

/// Largest size of a prefix block, tokens.
pub(super) const MAX_BLOCK_TOKENS: u32 = 1 << 20;

/// The ranks of adapters, as rows name them.
#[derive(Default)]
pub(super) struct RankTable(Vec<Option<u32>>);

impl RankTable {
    /// Whether the rank of an adapter is the one it had before, if it had one.
    pub(super) fn check(&self, row: u64, adapter: u32, rank: u32) -> Result<(), FormatError> {
        match self.0.get(adapter as usize).copied().flatten() {
            Some(former) if former != rank => Err(FormatError::RankConflict { row, adapter, rank, former }),
            _ => Ok(()),
        }
    }

    /// Notes the rank of an adapter.
    pub(super) fn set(&mut self, adapter: u32, rank: u32) {
        if self.0.len() <= adapter as usize {
            self.0.resize(adapter as usize + 1, None);
        }
        self.0[adapter as usize] = Some(rank);
    }

    /// The ranks by adapter; 0 for one that no row names.
    pub(super) fn finish(self) -> Vec<u32> {
        self.0.into_iter().map(|rank| rank.unwrap_or(0)).collect()
    }
}

/// Which request each row waits for.
#[derive(Default)]
pub(super) struct WaitColumn {
    closed_loop: ClosedLoop,
    any: bool,
    /// The request of each row so far; a row that is left out has none.
    place: Vec<u32>,
}

impl WaitColumn {
    /// Begins a row, good or bad, and gives its number.
    pub(super) fn next_row(&mut self) -> u32 {
        self.place.push(NO_REQUEST);
        self.place.len() as u32 - 1
    }

    /// Notes what the row's request waits for: (an earlier row, microseconds of thought), and when sending ends. Who waited
    /// for a row that was left out waits for no request.
    pub(super) fn push(&mut self, after: Option<(u32, f64)>, until_us: Option<f64>) {
        let (before, think_us) =
            after.map_or((NO_REQUEST, 0.0), |(row, think_us)| (self.place[row as usize], think_us));
        self.any |= before != NO_REQUEST;
        if let Some(place) = self.place.last_mut() {
            *place = self.closed_loop.depends_on.len() as u32;
        }
        self.closed_loop.push(before, if before == NO_REQUEST { 0.0 } else { think_us });
        self.closed_loop.until_us = until_us.unwrap_or(f64::INFINITY).min(self.closed_loop.until_us);
    }

    /// The chain, if there is one.
    pub(super) fn finish(self) -> Option<Box<ClosedLoop>> {
        self.any.then(|| Box::new(self.closed_loop))
    }
}

/// The chain of a trace, if it says anything.
pub(super) fn waits(trace: &Trace) -> Option<&ClosedLoop> {
    trace.closed_loop.as_deref().filter(|closed_loop| closed_loop.holds_any())
}

/// The columns of [`TraceMetadata`], where the file has them.
struct ExtraColumns {
    labels: [Option<Column>; 3],
    turn: Option<Column>,
    took: Option<Column>,
    blocks: Option<[Column; 2]>,
    outputs: Option<Column>,
    lengths: Option<[Column; 2]>,
    makers: [LabelMaker; 3],
    metadata: TraceMetadata,
}

impl ExtraColumns {
    fn of(table: &Table<'_>) -> Self {
        Self {
            labels: ["session", "model", "kind"].map(|name| table.column(name)),
            turn: table.column("turn"),
            took: table.column("took_s"),
            blocks: table.named(["block_tokens", "hash_ids"]),
            outputs: table.column("output_hash_ids"),
            lengths: table.named(["input_tokens", "output_tokens"]),
            makers: Default::default(),
            metadata: TraceMetadata::default(),
        }
    }

    fn row(&mut self, table: &Table<'_>) -> Result<(), FormatError> {
        let filled = |column: &Column| !table.text(*column).is_empty();
        let turn = self
            .turn
            .map(|column| Some(column).filter(filled).map_or(Ok(0), |c| table.whole(c, 0, MAX_INDEX)));
        let turn = turn.transpose()?;
        let took =
            self.took.map(|column| Some(column).filter(filled).map_or(Ok(f64::NAN), |c| table.number(c)));
        let took = took.transpose()?;
        if let Some([size, ids]) = self.blocks {
            let prefix = &mut self.metadata.prefix;
            let (least, most) = if prefix.is_empty() {
                (1, MAX_BLOCK_TOKENS)
            } else {
                (prefix.block_tokens, prefix.block_tokens)
            };
            let block_tokens = table.whole(size, least, most)?;
            prefix.push(id_list(table, ids)?);
            prefix.block_tokens = block_tokens;
            if let Some((ids, [input, output])) = self.outputs.zip(self.lengths) {
                let ids = id_list(table, ids)?;
                let most = most_output_blocks(table.tokens(input)?, table.tokens(output)?, block_tokens);
                if ids.len() as u64 > most {
                    return Err(too_many_ids(table.line(), ids.len(), most));
                }
                prefix.outputs.push(ids);
            }
        }
        self.metadata.turn.extend(turn);
        self.metadata.recorded_latency_s.extend(took);
        for (maker, column) in self.makers.iter_mut().zip(self.labels) {
            maker.push(column.filter(filled).map(|c| table.text(c)));
        }
        Ok(())
    }

    fn finish(mut self) -> TraceMetadata {
        [self.metadata.session, self.metadata.model, self.metadata.kind] =
            self.makers.map(LabelMaker::finish);
        self.metadata
    }
}

/// Ids with spaces between.
fn id_list(table: &Table<'_>, column: Column) -> Result<Vec<u64>, FormatError> {
    let parsed: Result<_, _> = table.text(column).split_ascii_whitespace().map(str::parse).collect();
    parsed.map_err(|_| table.bad(column, "whole numbers with spaces between"))
}

/// Blocks from the one in which a prompt ends to the one in which its output ends.
pub(super) fn most_output_blocks(input_tokens: u32, output_tokens: u32, block_tokens: u32) -> u64 {
    let size = u64::from(block_tokens.max(1));
    (u64::from(input_tokens) + u64::from(output_tokens)).div_ceil(size) - u64::from(input_tokens) / size
}

/// More blocks than an output fills.
pub(super) fn too_many_ids(row: u64, found: usize, most: u64) -> FormatError {
    let (column, value) = ("number of output_hash_ids".to_owned(), found.to_string());
    FormatError::OutOfRange { row, column, value, min: 0.0, max: most as f64 }
}

/// What `cancel_s` must be.
pub(super) const NO_EARLIER: &str = "a time no earlier than arrival_s";

pub(super) fn read(table: &mut Table<'_>) -> Result<Trace, FormatError> {
    let mut columns = ExtraColumns::of(table);
    let mut trace = read_plain(table, |table| columns.row(table))?;
    trace.set_metadata(columns.finish());
    Ok(trace)
}

/// Reads all columns but those of [`TraceMetadata`], which are left to `row`.
pub(super) fn read_plain(
    table: &mut Table<'_>,
    mut row: impl FnMut(&Table<'_>) -> Result<(), FormatError>,
) -> Result<Trace, FormatError> {
    let [arrival, input, output] = table.named(COLUMNS).ok_or(FormatError::EmptyFile)?;
    let place = |name| table.column(name);
    let (user, adapter, rank) = (place("user"), place("adapter"), place("rank"));
    let (max_tokens, cancel) = (place("max_tokens"), place("cancel_s"));
    let (waits_for, until) = (table.named(["after", "think_s"]), place("until_s"));
    let mut waits = WaitColumn::default();
    let mut trace = Trace::default();
    let mut ranks = RankTable::default();
    table.each_row(|table| {
        let output_tokens = table.tokens(output)?;
        let adapter = match adapter {
            Some(column) if !matches!(table.text(column), "" | "-1") => table.whole(column, 0, MAX_INDEX)?,
            _ => BASE_MODEL,
        };
        let rank = match rank {
            Some(column) if adapter != BASE_MODEL => Some(table.whole(column, 0, MAX_RANK)?),
            _ => None,
        };
        let cancel = cancel.filter(|&c| !table.text(c).is_empty());
        let arrival_us = table.seconds_as_us(arrival)?;
        let cancel_us = cancel.map(|c| table.seconds_as_us(c)).transpose()?;
        if let (Some(column), Some(at)) = (cancel, cancel_us)
            && at < arrival_us
        {
            return Err(table.bad(column, NO_EARLIER));
        }
        let wait = match waits_for {
            Some([after, think]) => {
                let filled = |&column: &Column| !table.text(column).is_empty();
                let wait = match (waits.next_row(), Some(after).filter(filled)) {
                    (0, Some(_)) => return Err(table.bad(after, "an earlier row")),
                    (rows, Some(column)) => {
                        let think = Some(think).filter(filled).map_or(Ok(0.0), |c| table.seconds_as_us(c))?;
                        Some((table.whole(column, 0, rows - 1)?, think))
                    }
                    (_, None) => None,
                };
                Some((wait, until.filter(filled).map(|c| table.seconds_as_us(c)).transpose()?))
            }
            None => None,
        };
        let request = Request {
            arrival_us,
            user: user.map_or(Ok(0), |c| table.whole(c, 0, MAX_INDEX))?,
            adapter,
            input_tokens: table.tokens(input)?,
            output_tokens,
            max_tokens: max_tokens
                .map_or(Ok(output_tokens), |c| table.whole(c, output_tokens, MAX_TOKENS))?,
        };
        if let Some(rank) = rank {
            ranks.check(table.line(), adapter, rank)?;
        }
        row(table)?;
        if let Some(rank) = rank {
            ranks.set(adapter, rank);
        }
        trace.cancellations.extend(cancel_us.map(|at| (at, trace.len() as u32)));
        if let Some((wait, until_us)) = wait {
            waits.push(wait, until_us);
        }
        trace.push(request);
        Ok(())
    })?;
    trace.adapter_rank = ranks.finish();
    trace.closed_loop = waits.finish();
    Ok(trace)
}

/// The time at which each request is cancelled; empty where none is.
pub(super) fn cancel_times(trace: &Trace) -> Vec<Option<f64>> {
    let mut cancel_us = vec![None; if trace.cancellations.is_empty() { 0 } else { trace.len() }];
    for &(at, id) in &trace.cancellations {
        cancel_us[id as usize] = Some(at);
    }
    cancel_us
}

pub(super) fn write(trace: &Trace) -> String {
    let nothing = TraceMetadata::default();
    let metadata = trace.metadata.as_deref().unwrap_or(&nothing);
    let labels = [("session", &metadata.session), ("model", &metadata.model), ("kind", &metadata.kind)];
    let labels = labels.into_iter().filter(|(_, labels)| !labels.is_empty());
    let mut header = String::new();
    let waits = waits(trace);
    let until =
        waits.map(|closed_loop| closed_loop.until_us).filter(|until| until.is_finite()).map(seconds_text);
    header.push_str(if waits.is_some() { ",after,think_s" } else { "" });
    header.push_str(if until.is_some() { ",until_s" } else { "" });
    labels.clone().for_each(|(name, _)| header.extend([",", name]));
    header.push_str(if metadata.turn.is_empty() { "" } else { ",turn" });
    header.push_str(if metadata.recorded_latency_s.is_empty() { "" } else { ",took_s" });
    header.push_str(if metadata.prefix.is_empty() { "" } else { ",block_tokens,hash_ids" });
    header.push_str(if metadata.prefix.outputs.is_empty() { "" } else { ",output_hash_ids" });
    write_plain(trace, &header, |text, id| {
        match waits.map(|closed_loop| (closed_loop.depends_on[id], closed_loop.think_us[id])) {
            Some((NO_REQUEST, _)) => text.push_str(",,"),
            Some((before, think_us)) => {
                let _ = write!(text, ",{before},{}", seconds_text(think_us));
            }
            None => {}
        }
        if let Some(until) = &until {
            text.push(',');
            text.push_str(until);
        }
        for (_, labels) in labels.clone() {
            text.push(',');
            push_cell(text, labels.name(id));
        }
        if let Some(turn) = metadata.turn.get(id) {
            let _ = write!(text, ",{turn}");
        }
        if let Some(took) = metadata.recorded_latency_s.get(id) {
            text.push(',');
            text.push_str(&if took.is_nan() { String::new() } else { took.to_string() });
        }
        if !metadata.prefix.is_empty() {
            let _ = write!(text, ",{},", metadata.prefix.block_tokens);
            push_id_list(text, metadata.prefix.of(id));
            if !metadata.prefix.outputs.is_empty() {
                text.push(',');
                push_id_list(text, metadata.prefix.outputs.of(id));
            }
        }
    })
}

/// Writes ids with spaces between.
fn push_id_list(text: &mut String, ids: &[u64]) {
    for (place, id) in ids.iter().enumerate() {
        let _ = write!(text, "{}{id}", if place == 0 { "" } else { " " });
    }
}

/// Writes all columns but those of [`TraceMetadata`]; `tail` appends those to a row, `header` names them.
pub(super) fn write_plain(trace: &Trace, header: &str, tail: impl Fn(&mut String, usize)) -> String {
    let cancel_us = cancel_times(trace);
    let mut text = String::with_capacity(trace.len() * 48);
    text.push_str("id,arrival_s,user,adapter,rank,input_tokens,output_tokens,max_tokens");
    text.push_str(if cancel_us.is_empty() { "" } else { ",cancel_s" });
    text.push_str(header);
    text.push('\n');
    for id in 0..trace.len() {
        let r = trace.request(id);
        let adapter = if r.adapter == BASE_MODEL { -1 } else { i64::from(r.adapter) };
        let _ = write!(
            text,
            "{id},{},{},{adapter},{},{},{},{}",
            seconds_text(r.arrival_us),
            r.user,
            trace.rank(id),
            r.input_tokens,
            r.output_tokens,
            r.max_tokens
        );
        if let Some(cell) = cancel_us.get(id) {
            text.push(',');
            text.push_str(&cell.map_or(String::new(), seconds_text));
        }
        tail(&mut text, id);
        text.push('\n');
    }
    text
}
