//! One request and its answer.

use std::io::Read as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ureq::{Agent, Error, Timeout};

use crate::answer::{Answer, Piece, shortened, start};
use crate::events::EventReader;
use crate::plan::{Limits, Planned};
use crate::target::Target;

/// Most bytes of one answer.
pub const MAX_ANSWER_BYTES: usize = 1 << 26;
/// Bytes of a rejection that are read.
const REFUSAL_BYTES: u64 = 4096;
/// Idle connections older than this are not used again: servers close theirs after about five seconds.
const MAX_IDLE: Duration = Duration::from_secs(2);

/// Why a request has no whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureKind {
    /// No connection.
    Connect,
    /// The server rejected it.
    Status,
    /// No header of an answer within the longest silence.
    NoAnswer,
    /// Tokens stopped to come for the longest silence.
    Stalled,
    /// The longest time of a request was over.
    TooSlow,
    /// The connection ended before the answer did.
    Closed,
    /// What came is no answer of this API.
    Garbage,
    /// The answer has too many bytes.
    TooLong,
    /// The longest time of the run was over.
    Cut,
}

impl FailureKind {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connect => "no_connection",
            Self::Status => "http_error",
            Self::NoAnswer => "no_answer",
            Self::Stalled => "stalled",
            Self::TooSlow => "too_slow",
            Self::Closed => "closed",
            Self::Garbage => "bad_answer",
            Self::TooLong => "too_long",
            Self::Cut => "cut",
        }
    }
}

/// Why a request has no whole answer, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Which kind.
    pub kind: FailureKind,
    /// The status of an answer that is no 200.
    pub status: Option<u16>,
    /// In words.
    pub message: String,
}

impl Failure {
    fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, status: None, message: message.into() }
    }
}

/// The client of all requests.
pub(crate) fn agent(target: &Target, limits: &Limits) -> Agent {
    let seconds = |s: f64| Some(Duration::from_secs_f64(s));
    Agent::config_builder()
        .tls_config(target.tls())
        // An answer from elsewhere would not be the server's.
        .proxy(None)
        .max_redirects(0)
        .http_status_as_error(false)
        .user_agent("servescope-replay")
        .max_idle_connections(limits.in_flight)
        .max_idle_connections_per_host(limits.in_flight)
        .max_idle_age(MAX_IDLE)
        .timeout_per_call(seconds(limits.request_s))
        .timeout_per_read(seconds(limits.silence_s))
        .timeout_connect(seconds(limits.silence_s))
        .build()
        .into()
}

/// What came of a request, in microseconds from the start of the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Exchange {
    pub(crate) sent_us: f64,
    pub(crate) headers_us: Option<f64>,
    pub(crate) chunks_us: Vec<f64>,
    pub(crate) end_us: f64,
    pub(crate) answer: Answer,
    pub(crate) failure: Option<Failure>,
}

/// What all requests of a run share.
pub(crate) struct Client<'c> {
    pub(crate) agent: Agent,
    pub(crate) target: &'c Target,
    pub(crate) api_key: Option<&'c str>,
    pub(crate) limits: &'c Limits,
    pub(crate) epoch: Instant,
    pub(crate) is_cut: &'c AtomicBool,
}

impl Client<'_> {
    pub(crate) fn now_us(&self) -> f64 {
        self.epoch.elapsed().as_secs_f64() * 1e6
    }

    /// Sends a request and reads its answer to the end.
    pub(crate) fn exchange(&self, request: &Planned) -> Exchange {
        let mut exchange = Exchange { sent_us: self.now_us(), ..Exchange::default() };
        let failure = self.read(request, &mut exchange).err();
        if exchange.end_us == 0.0 {
            exchange.end_us = self.now_us();
        }
        exchange.failure = failure.map(|failure| {
            if self.is_cut.load(Ordering::Relaxed) {
                return Failure::new(
                    FailureKind::Cut,
                    format!("not ended {} s after the start", self.limits.run_s),
                );
            }
            failure
        });
        exchange
    }

    fn read(&self, request: &Planned, exchange: &mut Exchange) -> Result<(), Failure> {
        let mut builder = self.agent.post(self.target.at(&request.path));
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        builder = builder.header("accept", "text/event-stream");
        if let Some(key) = self.api_key {
            builder = builder.header("authorization", format!("Bearer {key}"));
        }
        let response = builder.send(&request.body[..]).map_err(|error| self.failed(error, exchange))?;
        exchange.headers_us = Some(self.now_us());
        let status = response.status().as_u16();
        let is_stream = response.body().mime_type().is_some_and(|mime| mime == "text/event-stream");
        let mime = response.body().mime_type().unwrap_or("no type").to_owned();
        let mut reader = response.into_body().into_reader();
        if status != 200 {
            let mut body = Vec::new();
            let _ = reader.take(REFUSAL_BYTES).read_to_end(&mut body);
            let message = format!("HTTP {status}: {}", start(&body));
            return Err(Failure { status: Some(status), ..Failure::new(FailureKind::Status, message) });
        }
        if !is_stream {
            let message = format!("the answer is {}, not text/event-stream", shortened(&mime));
            return Err(Failure::new(FailureKind::Garbage, message));
        }
        let (mut events, mut bytes, mut buffer) = (EventReader::default(), 0, vec![0; 1 << 14]);
        loop {
            let count = match reader.read(&mut buffer) {
                Ok(count) => count,
                // The answer is whole; how the connection ends says nothing about it.
                Err(_) if exchange.answer.is_done => 0,
                Err(error) => return Err(self.failed(Error::from(error), exchange)),
            };
            let now_us = self.now_us();
            if count == 0 {
                break;
            }
            bytes += count;
            if bytes > MAX_ANSWER_BYTES {
                let message = format!("the answer has more than {MAX_ANSWER_BYTES} bytes");
                return Err(Failure::new(FailureKind::TooLong, message));
            }
            take(&mut events, &buffer[..count], now_us, exchange)?;
        }
        whole(exchange)
    }

    /// A failure of the client in our words.
    fn failed(&self, error: Error, so_far: &Exchange) -> Failure {
        let came = so_far.chunks_us.len();
        let Limits { silence_s, request_s, .. } = self.limits;
        match error {
            Error::Timeout(Timeout::PerRead) if so_far.headers_us.is_some() => Failure::new(
                FailureKind::Stalled,
                format!("nothing came for {silence_s} s after {came} chunks"),
            ),
            Error::Timeout(Timeout::PerRead) => {
                Failure::new(FailureKind::NoAnswer, format!("no answer began within {silence_s} s"))
            }
            Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
                Failure::new(FailureKind::Connect, format!("no connection within {silence_s} s"))
            }
            Error::Timeout(_) => Failure::new(
                FailureKind::TooSlow,
                format!("not ended {request_s} s after it was sent, with {came} chunks"),
            ),
            Error::ConnectionFailed | Error::HostNotFound | Error::Tls(_) | Error::Rustls(_) => {
                Failure::new(FailureKind::Connect, error.to_string())
            }
            Error::Io(io) if io.kind() == std::io::ErrorKind::ConnectionRefused => {
                Failure::new(FailureKind::Connect, "the connection was refused")
            }
            // A certificate that no trusted authority has signed, or a server without TLS.
            Error::Io(io) if io.kind() == std::io::ErrorKind::InvalidData && so_far.headers_us.is_none() => {
                Failure::new(FailureKind::Connect, format!("no connection by TLS: {io}"))
            }
            Error::Io(io) => {
                Failure::new(FailureKind::Closed, format!("the connection ended after {came} chunks: {io}"))
            }
            // The parser's word for a connection that ends before a length or the last chunk.
            other if so_far.headers_us.is_some() => Failure::new(
                FailureKind::Closed,
                format!("the answer broke off after {came} chunks: {other}"),
            ),
            other => Failure::new(FailureKind::Garbage, format!("no HTTP answer: {other}")),
        }
    }
}

/// Takes the events that some bytes end.
fn take(events: &mut EventReader, bytes: &[u8], now_us: f64, exchange: &mut Exchange) -> Result<(), Failure> {
    let mut wrong = None;
    let read = events.read(bytes, |data| {
        if wrong.is_some() || exchange.answer.is_done {
            return;
        }
        match exchange.answer.take(data) {
            Ok(Piece::Text) => exchange.chunks_us.push(now_us),
            Ok(Piece::Done) => exchange.end_us = now_us,
            Ok(Piece::Other) => {}
            Err(message) => wrong = Some(message),
        }
    });
    match (wrong, read) {
        (Some(message), _) => Err(Failure::new(FailureKind::Garbage, message)),
        (None, Err(error)) => Err(Failure::new(FailureKind::TooLong, error.to_string())),
        (None, Ok(())) => Ok(()),
    }
}

/// Whether an answer that ended is one.
fn whole(exchange: &Exchange) -> Result<(), Failure> {
    let answer = &exchange.answer;
    if !answer.is_done && !answer.is_finished {
        let message = format!("the answer broke off after {} chunks", answer.chunks);
        return Err(Failure::new(FailureKind::Closed, message));
    }
    if answer.chunks == 0 {
        return Err(Failure::new(FailureKind::Garbage, "the answer has no text"));
    }
    Ok(())
}

impl Client<'_> {
    /// What came of a request for which this machine has no thread.
    pub(crate) fn without_thread(&self, error: &std::io::Error) -> Exchange {
        let failure = Failure::new(FailureKind::Connect, format!("no thread for this request: {error}"));
        let now_us = self.now_us();
        Exchange { sent_us: now_us, end_us: now_us, failure: Some(failure), ..Exchange::default() }
    }
}
