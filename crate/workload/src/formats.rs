//! Trace files: one format a module, recognised by the columns of the first line or the keys of the first object.
//!
//! Every reader rejects a bad file as a whole and names the row, the column, the bound and the value, so that nothing is
//! dropped in silence. A request without a prompt or an answer is no bad row: logs hold requests that failed. Those are
//! counted, and left out of the trace.

mod agent_sessions;
pub(crate) mod aibrix;
mod aiperf;
mod assumed;
pub(crate) mod azure;
mod bailian;
mod burstgpt;
mod conversations;
mod error;
pub(crate) mod gzip;
mod inference_perf;
pub(crate) mod json;
mod llmservingsim;
mod log;
mod lost;
mod mapped;
mod mapping;
mod mooncake;
mod openai_batch;
mod otel_spans;
mod own;
mod own_jsonl;
mod servegen;
mod servegen_lengths;
pub(crate) mod table;
mod text;
mod time;
mod timed_trace;
mod vidur;
mod vidur_lengths;
mod vllm_custom;
mod warnings;
mod watch;
mod wildchat;

use crate::trace::{Trace, TraceMetadata};

pub use agent_sessions::{AgentSession, Call};
pub use assumed::{Assumed, AssumedFrom};
pub use error::FormatError;
pub use gzip::{unpacked, unpacked_head};
pub use json::repeated_keys;
pub use lost::{LOSSES, lost};
pub use mapping::{ColumnRole, Mapping, MappingError, ROLES, columns, guess};
pub use servegen::{Pattern, ServeGenWindow, servegen_chunk_windows};
pub use servegen_lengths::{Histogram, LengthWindow, servegen_chunk_lengths};
pub use table::{exact_microseconds, push_cell};
pub use time::time_text;
pub use vidur::Replay;
pub use vidur_lengths::Lengths;
pub use warnings::{WARNINGS, Warning, reader_warnings, warnings};
pub use watch::{BadRow, BadRows, Progress};

use watch::ReadWatch;

/// A format that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Servescope's own CSV: every column of a [`Trace`].
    Servescope,
    /// Servescope's own JSON Lines: the same.
    ServescopeJsonl,
    /// Vidur's processed traces: `arrived_at` (s), `num_prefill_tokens`, `num_decode_tokens`.
    Vidur,
    /// Azure LLM inference traces: `TIMESTAMP` (date and time), `ContextTokens`, `GeneratedTokens`.
    Azure,
    /// BurstGPT 1 to 3: `Timestamp` (s), `Model`, `Request tokens`, `Response tokens`.
    BurstGpt,
    /// ServeGen's windows: `client_id`, `window_start_s`, `rate`, `cv`, `pattern`; no requests.
    ServeGen,
    /// ServeGen's length files: `client_id`, `dataset`; no requests.
    ServeGenLengths,
    /// Vidur's length traces: `num_prefill_tokens`, `num_decode_tokens`; no times.
    VidurLengths,
    /// Agent sessions (Claude Code, Weka): a session a line.
    AgentSessions,
    /// AIBrix's workload file: a time stamp a line.
    Aibrix,
    /// Qwen-Bailian: `chat_id`, `parent_chat_id`, `timestamp` (s), `input_length`, `output_length`.
    Bailian,
    /// WildChat's rows: a conversation a line.
    WildChat,
    /// Payload files of AIPerf and GenAI-Perf.
    AiPerf,
    /// vLLM's `timed_trace`: Mooncake's keys in seconds, with blocks of 16 tokens.
    TimedTrace,
    /// Mooncake: `timestamp` (ms), `input_length`, `output_length`, `hash_ids` of 512 tokens.
    Mooncake,
    /// vLLM's custom data set: `prompt`, `output_tokens`; no times.
    VllmCustom,
    /// LLMServingSim's workload: `input_toks`, `output_toks`, `arrival_time_ns`, or sessions with `sub_requests`.
    LlmServingSim,
    /// inference-perf's requests: `start_time`, `end_time` (s), `request`, `info`.
    InferencePerf,
    /// Spans of OpenTelemetry with token counts.
    OtelSpans,
    /// Conversations of ShareGPT and LMSYS; no times.
    Conversations,
    /// Files of OpenAI's Batch API; no times.
    OpenAiBatch,
    /// Any other CSV, by a [`Mapping`] of its columns.
    MappedCsv,
    /// Any other JSON Lines, by a [`Mapping`] of its keys.
    MappedJsonl,
}

impl Format {
    /// Formats that are CSV, in the order in which they are tried.
    pub const CSV: [Self; 6] =
        [Self::Servescope, Self::Vidur, Self::Azure, Self::BurstGpt, Self::ServeGen, Self::VidurLengths];

    /// Formats that are JSON Lines, in the order in which they are tried.
    pub const JSON: [Self; 15] = [
        Self::ServescopeJsonl,
        Self::AgentSessions,
        Self::ServeGenLengths,
        Self::Aibrix,
        Self::Bailian,
        Self::WildChat,
        Self::OtelSpans,
        Self::Conversations,
        Self::OpenAiBatch,
        Self::LlmServingSim,
        Self::InferencePerf,
        Self::AiPerf,
        Self::TimedTrace,
        Self::Mooncake,
        Self::VllmCustom,
    ];

    /// Every format that is recognised by its content.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::CSV.into_iter().chain(Self::JSON)
    }

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Servescope => "servescope",
            Self::ServescopeJsonl => "servescope_jsonl",
            Self::Vidur => "vidur",
            Self::Azure => "azure",
            Self::BurstGpt => "burstgpt",
            Self::ServeGen => "servegen",
            Self::ServeGenLengths => "servegen_lengths",
            Self::VidurLengths => "vidur_lengths",
            Self::AgentSessions => "agent_sessions",
            Self::Aibrix => "aibrix",
            Self::Bailian => "bailian",
            Self::WildChat => "wildchat",
            Self::AiPerf => "aiperf",
            Self::TimedTrace => "timed_trace",
            Self::Mooncake => "mooncake",
            Self::VllmCustom => "vllm_custom",
            Self::LlmServingSim => "llmservingsim",
            Self::InferencePerf => "inference_perf",
            Self::OtelSpans => "otel",
            Self::Conversations => "sharegpt",
            Self::OpenAiBatch => "openai_batch",
            Self::MappedCsv => "csv",
            Self::MappedJsonl => "jsonl",
        }
    }

    /// The format called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|f| f.name() == name)
    }

    /// The formats that [`write`] knows.
    pub fn writable() -> impl Iterator<Item = Self> {
        Self::all().filter(|f| f.is_writable())
    }

    /// Whether [`write`] knows it: whether it can hold a trace without text or anything else that a trace lacks.
    pub fn is_writable(self) -> bool {
        !matches!(
            self,
            Self::ServeGen
                | Self::ServeGenLengths
                | Self::VidurLengths
                | Self::AgentSessions
                | Self::WildChat
                | Self::VllmCustom
                | Self::LlmServingSim
                | Self::InferencePerf
                | Self::OtelSpans
                | Self::Conversations
                | Self::OpenAiBatch
                | Self::MappedCsv
                | Self::MappedJsonl
        )
    }

    /// Columns or keys that a file must have to be of this format.
    fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Servescope => &own::COLUMNS,
            Self::ServescopeJsonl => &own_jsonl::KEYS,
            Self::Vidur => &vidur::COLUMNS,
            Self::Azure => &azure::COLUMNS,
            Self::BurstGpt => &burstgpt::COLUMNS,
            Self::ServeGen => &servegen::COLUMNS,
            Self::ServeGenLengths => &servegen_lengths::KEYS,
            Self::VidurLengths => &vidur_lengths::COLUMNS,
            Self::AgentSessions => &agent_sessions::KEYS,
            Self::Aibrix => &aibrix::KEYS,
            Self::Bailian => &bailian::KEYS,
            Self::WildChat => &wildchat::KEYS,
            Self::AiPerf => &aiperf::KEYS,
            Self::TimedTrace | Self::Mooncake => &mooncake::KEYS,
            Self::VllmCustom => &vllm_custom::KEYS,
            Self::LlmServingSim => &llmservingsim::KEYS,
            Self::InferencePerf => &inference_perf::KEYS,
            Self::OtelSpans => &otel_spans::KEYS,
            Self::Conversations => &conversations::KEYS,
            Self::OpenAiBatch => &openai_batch::KEYS,
            Self::MappedCsv | Self::MappedJsonl => &[],
        }
    }

    /// Whether a file with these columns or keys is of this format.
    fn fits(self, has: impl Fn(&str) -> bool) -> bool {
        let mut columns = self.columns().iter();
        match self {
            // A payload may also have nothing but lengths, in which it differs from a trace of Mooncake by what it lacks.
            Self::AiPerf => {
                columns.any(|c| has(c)) || (has("input_length") && !mooncake::KEYS.iter().all(|c| has(c)))
            }
            Self::LlmServingSim => llmservingsim::fits(&has),
            Self::OtelSpans => otel_spans::fits(&has),
            Self::Conversations => columns.any(|c| has(c)),
            _ => columns.all(|c| has(c)),
        }
    }

    /// The format of a file with these columns, or these keys in its objects, and those of them that decided it.
    pub fn of_columns(is_json: bool, has: impl Fn(&str) -> bool) -> Option<(Self, Vec<&'static str>)> {
        let formats: &[Self] = if is_json { &Self::JSON } else { &Self::CSV };
        let format = formats.iter().copied().find(|format| format.fits(&has))?;
        let mut keys: Vec<&str> = format.columns().iter().copied().filter(|key| has(key)).collect();
        if keys.is_empty() {
            keys.push("input_length");
        }
        Some((format, keys))
    }
}

/// What stands before the recipe in the first line of the own CSV.
pub const RECIPE_MARK: &str = "# servescope ";
/// The key of the recipe in the first line of the own JSON Lines.
pub const RECIPE_KEY: &str = "servescope_recipe";
/// Most requests that a file may hold.
pub const MAX_ROWS: usize = 5_000_000;
/// Most tokens in one length.
pub const MAX_TOKENS: u32 = 10_000_000;
/// Latest arrival, seconds: one thousand days.
pub const MAX_ARRIVAL_S: f64 = 86_400_000.0;
/// Largest index of a user or adapter.
pub const MAX_INDEX: u32 = 9_999_999;
/// Largest rank of an adapter.
pub const MAX_RANK: u32 = 65_536;

/// What is in a file, in the order of its rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Contents {
    /// A log of requests. A length of 0 is a request that failed, or a length that the file does not contain.
    Requests {
        /// The rows.
        requests: Trace,
        /// When time 0 was, in ticks of 100 ns since 1970, where the file contains it.
        start_ticks: Option<i64>,
        /// Entries of the file without any request.
        empty_entries: usize,
    },
    /// Agent sessions, each with a clock of its own.
    Sessions(Vec<AgentSession>),
    /// Lengths without times.
    Lengths(Lengths),
    /// Clients in windows of time.
    Windows(Vec<ServeGenWindow>),
    /// How often each length occurs, by client and window of time.
    Histograms(Vec<LengthWindow>),
}

/// A file as it is, before requests are put in order and failed ones are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceFile {
    /// Its format.
    pub format: Format,
    /// Its rows.
    pub contents: Contents,
    /// Output lengths that were set because the file does not have them.
    assumed: Option<Assumed>,
}

/// What was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadTrace {
    /// Its format.
    pub format: Format,
    /// The requests, in order of arrival.
    pub trace: Trace,
    /// Whether rows had to be put in order of arrival.
    pub reordered: bool,
    /// Requests left out because they have no prompt or no answer.
    pub failed: usize,
    /// Entries of the file without any request.
    pub empty_entries: usize,
    /// Output lengths that the file does not have.
    pub assumed: Option<Assumed>,
    /// Outputs whose blocks the reader named after the prompts that go on from them, because the file names none.
    pub named_outputs: usize,
}

/// Opens a file of any known format, packed with gzip or not.
///
/// # Errors
/// [`FormatError`], with the place in the file.
pub fn open(bytes: &[u8]) -> Result<TraceFile, FormatError> {
    open_text(
        text::require_text(without_mark(&gzip::unpacked(bytes)?))?,
        &mut ReadWatch::default(),
        &ReadOptions::default(),
    )
}

/// How to read a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReadOptions {
    /// What the columns of a file of no known format mean; without one the format is recognised.
    pub mapping: Option<Mapping>,
    /// Whether bad rows are set aside in place of ending the reading, and how many of them are listed.
    pub tolerate: Option<usize>,
    /// Reads the trace as Vidur replays it.
    pub replay: Option<Replay>,
    /// Output length of requests whose own the file does not have, tokens; `None` = as [`TraceFile::assume_output`] says.
    pub any_output_tokens: Option<u32>,
}

/// A trace, and the rows that were set aside.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The trace.
    pub read: ReadTrace,
    /// The rows that were set aside.
    pub bad: BadRows,
}

impl Reading {
    /// What a reader of the trace should know, the rows that were set aside included.
    pub fn warnings(&self) -> Vec<Warning> {
        let bad = (self.bad.total > 0).then(|| Warning::new("bad_rows", &[("rows", self.bad.total as f64)]));
        bad.into_iter().chain(warnings(&self.read)).collect()
    }
}

/// Reads a trace as the options say; `progress` gets the unpacked bytes.
///
/// # Errors
/// [`FormatError`], with the place in the file; where every row is bad, that of the first.
pub fn read_with(
    bytes: &[u8],
    options: &ReadOptions,
    progress: Progress<'_>,
) -> Result<Reading, FormatError> {
    let mut watch = ReadWatch::new(options.tolerate, progress);
    let unpacked = gzip::unpacked(bytes)?;
    let text = watch.text(&unpacked)?;
    let read = open_text(&text, &mut watch, options).and_then(|mut file| {
        file.assume_output(options.any_output_tokens);
        file.into_trace()
    });
    let bad = watch.bad;
    match read {
        Err(FormatError::NoRows) if bad.total > 0 => {
            Err(bad.listed.into_iter().next().map_or(FormatError::NoRows, |row| row.error))
        }
        read => {
            let mut read = read?;
            if let Some(replay) = options.replay.filter(|_| read.format != Format::Vidur) {
                replay.apply(&mut read.trace);
            }
            Ok(Reading { read, bad })
        }
    }
}

fn open_text<'a>(
    text: &'a str,
    watch: &mut ReadWatch<'a>,
    options: &ReadOptions,
) -> Result<TraceFile, FormatError> {
    if text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).starts_with(['{', '[']) {
        return open_json(text, watch, options.mapping.as_ref());
    }
    open_csv(text, watch, options)
}

fn open_csv<'a>(
    text: &'a str,
    watch: &mut ReadWatch<'a>,
    options: &ReadOptions,
) -> Result<TraceFile, FormatError> {
    let mapping = options.mapping.as_ref();
    let table = &mut table::Table::of(text, std::mem::take(watch))?;
    let format = match mapping {
        Some(_) => Format::MappedCsv,
        None => recognised(&Format::CSV, |c| table.has(c), || table.header_text())?,
    };
    let contents = match (format, mapping) {
        (_, Some(mapping)) => log(mapped::read_table(table, mapping)?),
        (Format::Servescope, _) => log(own::read(table)?),
        (Format::Vidur, _) => log(match &options.replay {
            Some(replay) => vidur::replayed(table, replay)?,
            None => vidur::read(table)?,
        }),
        (Format::BurstGpt, _) => log(burstgpt::read(table)?),
        (Format::ServeGen, _) => Contents::Windows(servegen::read(table)?),
        (Format::VidurLengths, _) => Contents::Lengths(vidur_lengths::read(table)?),
        _ => {
            let (requests, start) = azure::read(table)?;
            Contents::Requests { requests, start_ticks: Some(start), empty_entries: 0 }
        }
    };
    *watch = table.take_watch();
    Ok(TraceFile { format, contents, assumed: None })
}

fn open_json<'a>(
    text: &'a str,
    watch: &mut ReadWatch<'a>,
    mapping: Option<&Mapping>,
) -> Result<TraceFile, FormatError> {
    let lines = &mut json::Lines::of(text, std::mem::take(watch));
    let mut first = lines.next_line()?.ok_or(FormatError::EmptyFile)?;
    if first.has(RECIPE_KEY) {
        first = lines.next_line()?.ok_or(FormatError::NoRows)?;
    }
    let keys = || table::shorten(&first.keys().join(", "), 120);
    let mut format = match mapping {
        Some(_) => Format::MappedJsonl,
        None => recognised(&Format::JSON, |c| first.has(c), keys)?,
    };
    if format == Format::TimedTrace && !timed_trace::has_small_blocks(lines.again()) {
        format = Format::Mooncake;
    }
    let contents = match (format, mapping) {
        (_, Some(mapping)) => log(mapped::read_lines(first, lines, mapping)?),
        (Format::AgentSessions, _) => Contents::Sessions(agent_sessions::read(first, lines)?),
        (Format::VllmCustom, _) => Contents::Lengths(vllm_custom::read(first, lines)?),
        (Format::ServeGenLengths, _) => Contents::Histograms(servegen_lengths::read(first, lines)?),
        (Format::ServescopeJsonl, _) => log(own_jsonl::read(first, lines)?),
        (Format::Aibrix, _) => aibrix::read(first, lines)?,
        (Format::Bailian, _) => log(bailian::read(first, lines)?),
        (Format::WildChat, _) => log(wildchat::read(first, lines)?),
        (Format::OtelSpans, _) => otel_spans::read(first, lines)?,
        (Format::Conversations, _) => Contents::Lengths(conversations::read(first, lines)?),
        (Format::OpenAiBatch, _) => Contents::Lengths(openai_batch::read(first, lines)?),
        (Format::LlmServingSim, _) => llmservingsim::read(first, lines)?,
        (Format::InferencePerf, _) => log(inference_perf::read(first, lines)?),
        (Format::AiPerf, _) => log(aiperf::read(first, lines)?),
        (Format::TimedTrace, _) => log(timed_trace::read(first, lines)?),
        _ => log(mooncake::read(first, lines, 3, mooncake::BLOCK_TOKENS)?),
    };
    *watch = lines.take_watch();
    Ok(TraceFile { format, contents, assumed: None })
}

/// The bytes behind a byte order mark.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

fn log(requests: Trace) -> Contents {
    Contents::Requests { requests, start_ticks: None, empty_entries: 0 }
}

/// The first of `formats` that fits.
fn recognised(
    formats: &[Format],
    has: impl Fn(&str) -> bool,
    found: impl FnOnce() -> String,
) -> Result<Format, FormatError> {
    formats.iter().copied().find(|f| f.fits(&has)).ok_or_else(|| {
        let known: Vec<String> =
            formats.iter().map(|f| format!("{} ({})", f.name(), f.columns().join(", "))).collect();
        FormatError::UnknownFormat { found: found(), known: known.join("; ") }
    })
}

/// Reads a trace of any known format.
///
/// # Errors
/// [`FormatError`], with the place in the file.
pub fn read(bytes: &[u8]) -> Result<ReadTrace, FormatError> {
    open(bytes)?.into_trace()
}

/// Puts what was read in order of arrival; `failed` and `empty_entries` were counted before.
fn in_order(
    format: Format,
    mut trace: Trace,
    [failed, empty_entries]: [usize; 2],
) -> Result<ReadTrace, FormatError> {
    if trace.is_empty() {
        return Err(FormatError::NoRows);
    }
    let reordered = trace.sort();
    trace.sort_cancellations();
    let is_told = |metadata: &TraceMetadata| !metadata.prefix.outputs.is_empty();
    let named_outputs = match &trace.metadata {
        Some(metadata) if !is_told(metadata) => trace.name_outputs(),
        _ => 0,
    };
    Ok(ReadTrace { format, trace, reordered, failed, empty_entries, assumed: None, named_outputs })
}

impl TraceFile {
    /// The requests in order of arrival, without those that failed.
    ///
    /// # Errors
    /// That the file has no rows, or no times.
    pub fn into_trace(mut self) -> Result<ReadTrace, FormatError> {
        if self.assumed.is_none() {
            self.assume_output(None);
        }
        let (format, assumed) = (self.format, self.assumed);
        let mut empty = 0;
        let mut trace = match self.contents {
            Contents::Requests { requests, empty_entries, .. } => {
                empty = empty_entries;
                requests
            }
            Contents::Sessions(sessions) => agent_sessions::requests(&sessions)?,
            Contents::Lengths(_) | Contents::Windows(_) | Contents::Histograms(_) => {
                return Err(FormatError::NoTimes { format: format.name() });
            }
        };
        let lengths = trace.input_tokens.iter().zip(&trace.output_tokens);
        let sound: Vec<u32> =
            lengths.zip(0u32..).filter(|&((&i, &o), _)| i > 0 && o > 0).map(|(_, id)| id).collect();
        let failed = trace.len() - sound.len();
        if failed > 0 {
            trace = trace.select(&sound);
        }
        let read = in_order(format, trace, [failed, empty])?;
        Ok(ReadTrace { assumed, ..read })
    }
}

/// Writes a trace as text; `None` for a format that is only read.
pub fn write(trace: &Trace, format: Format) -> Option<String> {
    let writer = match format {
        Format::Servescope => own::write,
        Format::ServescopeJsonl => own_jsonl::write,
        Format::Vidur => write_vidur,
        Format::Azure => azure::write,
        Format::BurstGpt => burstgpt::write,
        Format::Aibrix => aibrix::write,
        Format::Bailian => bailian::write,
        Format::AiPerf => aiperf::write,
        Format::TimedTrace => timed_trace::write,
        Format::Mooncake => mooncake::write,
        _ => return None,
    };
    Some(writer(trace))
}

/// Writes a trace in Vidur's CSV.
pub fn write_vidur(trace: &Trace) -> String {
    vidur::write(trace)
}

#[cfg(test)]
mod reading_tests;
#[cfg(test)]
mod tests;
