//! Trace files: one format a module, recognised by the columns of the first line or the keys of the first object.
//!
//! Every reader refuses a bad file as a whole and names the row, the column, the bound and the value, so that nothing is
//! dropped in silence. A request without a prompt or an answer is no bad row: logs hold requests that failed. Those are
//! counted, and left out of the trace.

mod agent_sessions;
mod aibrix;
mod aiperf;
pub(crate) mod azure;
mod bailian;
mod burstgpt;
mod error;
mod gzip;
mod json;
mod log;
mod mooncake;
mod own;
mod own_jsonl;
mod servegen;
mod servegen_lengths;
pub(crate) mod table;
mod time;
mod timed_trace;
mod vidur;
mod vidur_lengths;
mod wildchat;

use crate::trace::Trace;

pub use agent_sessions::{Call, Session};
pub use error::FormatError;
pub use servegen::{Pattern, Window};
pub use servegen_lengths::{Histogram, LengthWindow};
pub use table::exact_microseconds;
pub use time::time_text;
pub use vidur_lengths::Lengths;

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
}

impl Format {
    /// Formats that are CSV, in the order in which they are tried.
    pub const CSV: [Self; 6] =
        [Self::Servescope, Self::Vidur, Self::Azure, Self::BurstGpt, Self::ServeGen, Self::VidurLengths];

    /// Formats that are JSON Lines, in the order in which they are tried.
    pub const JSON: [Self; 9] = [
        Self::ServescopeJsonl,
        Self::AgentSessions,
        Self::ServeGenLengths,
        Self::Aibrix,
        Self::Bailian,
        Self::WildChat,
        Self::AiPerf,
        Self::TimedTrace,
        Self::Mooncake,
    ];

    /// Formats that [`read_small`] knows.
    pub const SMALL: [Self; 3] = [Self::Servescope, Self::Vidur, Self::Azure];

    /// Every format.
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
        }
    }

    /// Whether a file with these columns or keys is of this format.
    fn fits(self, has: impl Fn(&str) -> bool) -> bool {
        let mut columns = self.columns().iter();
        if self == Self::AiPerf { columns.any(|c| has(c)) } else { columns.all(|c| has(c)) }
    }
}

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
    /// A log of requests. A length of 0 is a request that failed, or a length that the file does not tell.
    Requests {
        /// The rows.
        requests: Trace,
        /// When time 0 was, in ticks of 100 ns since 1970, where the file tells.
        start_ticks: Option<i64>,
    },
    /// Agent sessions, each with a clock of its own.
    Sessions(Vec<Session>),
    /// Lengths without times.
    Lengths(Lengths),
    /// Clients in windows of time.
    Windows(Vec<Window>),
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
}

/// Opens a file of any known format, packed with gzip or not.
///
/// # Errors
/// [`FormatError`], with the place in the file.
pub fn open(bytes: &[u8]) -> Result<TraceFile, FormatError> {
    let bytes = &*gzip::unpacked(bytes)?;
    let start = bytes.iter().position(|b| !b.is_ascii_whitespace() && !b"\xef\xbb\xbf".contains(b));
    if start.and_then(|at| bytes.get(at)) == Some(&b'{') {
        return open_json(bytes);
    }
    open_csv(bytes)
}

fn open_csv(bytes: &[u8]) -> Result<TraceFile, FormatError> {
    let table = &mut table::Table::open(bytes)?;
    let format = recognised(&Format::CSV, |c| table.has(c), || table.header_text())?;
    let contents = match format {
        Format::Servescope => log(own::read(table)?),
        Format::Vidur => log(vidur::read(table)?),
        Format::BurstGpt => log(burstgpt::read(table)?),
        Format::ServeGen => Contents::Windows(servegen::read(table)?),
        Format::VidurLengths => Contents::Lengths(vidur_lengths::read(table)?),
        _ => {
            let (requests, start) = azure::read(table)?;
            Contents::Requests { requests, start_ticks: Some(start) }
        }
    };
    Ok(TraceFile { format, contents })
}

fn open_json(bytes: &[u8]) -> Result<TraceFile, FormatError> {
    let lines = &mut json::Lines::open(bytes)?;
    let first = lines.next_line()?.ok_or(FormatError::EmptyFile)?;
    let keys = || table::shorten(&first.keys().join(", "), 120);
    let mut format = recognised(&Format::JSON, |c| first.has(c), keys)?;
    if format == Format::TimedTrace && !timed_trace::has_small_blocks(bytes)? {
        format = Format::Mooncake;
    }
    let requests = match format {
        Format::ServescopeJsonl => own_jsonl::read(first, lines),
        Format::Aibrix => aibrix::read(first, lines),
        Format::Bailian => bailian::read(first, lines),
        Format::WildChat => wildchat::read(first, lines),
        Format::AiPerf => aiperf::read(first, lines),
        Format::TimedTrace => timed_trace::read(first, lines),
        Format::AgentSessions => {
            let sessions = agent_sessions::read(first, lines)?;
            return Ok(TraceFile { format, contents: Contents::Sessions(sessions) });
        }
        Format::ServeGenLengths => {
            let windows = servegen_lengths::read(first, lines)?;
            return Ok(TraceFile { format, contents: Contents::Histograms(windows) });
        }
        _ => mooncake::read(first, lines, 3, mooncake::BLOCK_TOKENS),
    };
    Ok(TraceFile { format, contents: log(requests?) })
}

fn log(requests: Trace) -> Contents {
    Contents::Requests { requests, start_ticks: None }
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

/// Reads a trace of one of the formats [`Format::SMALL`]: the reader of the page, whose module has a size to keep. The
/// optional columns of the own format are passed over.
///
/// # Errors
/// [`FormatError`], with the place in the file.
pub fn read_small(bytes: &[u8]) -> Result<ReadTrace, FormatError> {
    let table = &mut table::Table::open(bytes)?;
    let format = recognised(&Format::SMALL, |c| table.has(c), || table.header_text())?;
    let trace = match format {
        Format::Servescope => own::read_plain(table, |_| Ok(())),
        Format::Vidur => vidur::read(table),
        _ => azure::read(table).map(|(trace, _)| trace),
    }?;
    in_order(format, trace, 0)
}

/// Puts what was read in order of arrival.
fn in_order(format: Format, mut trace: Trace, failed: usize) -> Result<ReadTrace, FormatError> {
    if trace.is_empty() {
        return Err(FormatError::NoRows);
    }
    let reordered = trace.sort();
    trace.sort_cancellations();
    Ok(ReadTrace { format, trace, reordered, failed })
}

impl TraceFile {
    /// The requests in order of arrival, without those that failed.
    ///
    /// # Errors
    /// That the file has no rows, or no times.
    pub fn into_trace(self) -> Result<ReadTrace, FormatError> {
        let format = self.format;
        let mut trace = match self.contents {
            Contents::Requests { requests, .. } => requests,
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
        in_order(format, trace, failed)
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
        Format::ServeGen
        | Format::ServeGenLengths
        | Format::VidurLengths
        | Format::AgentSessions
        | Format::WildChat => return None,
    };
    Some(writer(trace))
}

/// Writes a trace in the own CSV, without the columns that only some files carry.
pub fn write_servescope(trace: &Trace) -> String {
    own::write_plain(trace, "", |_, _| ())
}

/// Writes a trace in Vidur's CSV.
pub fn write_vidur(trace: &Trace) -> String {
    vidur::write(trace)
}

#[cfg(test)]
mod tests;
