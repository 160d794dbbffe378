//! What is to be sent: requests with their bodies, when, and after which other one.

use serde_json::{Map, Value as Json, json};
use servescope_workload::Trace;
use servescope_workload::trace::NO_REQUEST;

/// Most bytes of all bodies together, which are held while a run lasts.
const MAX_BYTES: usize = 1 << 29;

/// What bounds a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplayLimits {
    /// Most requests.
    pub requests: usize,
    /// Most requests sent in any second.
    pub rate_rps: u32,
    /// Most requests in flight.
    pub in_flight: usize,
    /// Longest time from the first sending to the end of the run, seconds.
    pub run_s: f64,
    /// Longest time of one request, seconds.
    pub request_s: f64,
    /// Longest silence of the server within a request, seconds.
    pub silence_s: f64,
}

/// One request to send.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// Its place in the trace.
    pub id: usize,
    /// When it is due, microseconds from the start; the earliest time of one that waits for another.
    pub due_us: f64,
    /// The path, from `/` on.
    pub path: String,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Prompt tokens.
    pub input_tokens: u32,
    /// Output tokens wanted.
    pub output_tokens: u32,
    /// Its session.
    pub session: Option<String>,
    /// The place in the plan of the request that must end first.
    pub after: Option<usize>,
    /// Time between that end and the sending, microseconds.
    pub think_us: f64,
}

/// Everything that is to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayPlan {
    /// The requests, in the order of the trace.
    pub requests: Vec<Planned>,
    /// Whether any end lets the next waiting request go, in their order.
    pub is_shared: bool,
    /// Requests that wait and would be sent at this time or later are not sent, microseconds.
    pub until_us: f64,
}

/// Why nothing is sent.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// There are too many requests.
    #[error("{0} requests are more than --max-requests {1}")]
    Requests(usize, usize),
    /// The last one is due too late.
    #[error("the last request is due at {0:.1} s, after --max-s {1}")]
    Time(f64, f64),
    /// A line is no request.
    #[error("request {0}: {1}")]
    Line(usize, String),
    /// The bodies are too long together.
    #[error("the bodies have more than {MAX_BYTES} bytes together")]
    Bytes,
    /// There is none.
    #[error("there is no request to send")]
    Empty,
}

impl ReplayPlan {
    /// The plan of a trace, whose requests' lines (of `prompts::BodyLines`, forms `openai`, `vllm` and `slora`) `next` hands over in
    /// order.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn of(
        trace: &Trace,
        limits: &ReplayLimits,
        mut next: impl FnMut() -> Result<Option<String>, PlanError>,
    ) -> Result<Self, PlanError> {
        if trace.len() > limits.requests {
            return Err(PlanError::Requests(trace.len(), limits.requests));
        }
        let last_s = trace.arrival_us.last().map_or(0.0, |us| us / 1e6);
        if last_s > limits.run_s {
            return Err(PlanError::Time(last_s, limits.run_s));
        }
        let closed_loop = trace.closed_loop.as_deref();
        let mut place = vec![None; trace.len()];
        let (mut requests, mut bytes): (Vec<Planned>, usize) = (Vec::new(), 0);
        while let Some(line) = next()? {
            let mut request = request(&line, trace).map_err(|why| PlanError::Line(requests.len(), why))?;
            bytes += request.body.len();
            if bytes > MAX_BYTES {
                return Err(PlanError::Bytes);
            }
            if let Some(closed_loop) = closed_loop {
                let before =
                    closed_loop.depends_on.get(request.id).copied().filter(|&before| before != NO_REQUEST);
                request.after = before.and_then(|before| place.get(before as usize).copied().flatten());
                request.think_us = closed_loop.think_us.get(request.id).copied().unwrap_or(0.0);
            }
            place[request.id] = Some(requests.len());
            requests.push(request);
        }
        if requests.is_empty() {
            return Err(PlanError::Empty);
        }
        let is_shared = closed_loop.is_some_and(|closed_loop| closed_loop.is_shared);
        Ok(Self {
            requests,
            is_shared,
            until_us: closed_loop.map_or(f64::INFINITY, |closed_loop| closed_loop.until_us),
        })
    }

    /// Whether a request waits for another.
    pub fn is_closed(&self) -> bool {
        self.requests.iter().any(|request| request.after.is_some())
    }
}

fn text(json: &Json, key: &str) -> Option<String> {
    json.get(key).and_then(Json::as_str).map(str::to_owned)
}

fn request(line: &str, trace: &Trace) -> Result<Planned, String> {
    let json: Json = serde_json::from_str(line).map_err(|error| format!("no JSON: {error}"))?;
    let id = json.get("id").and_then(Json::as_u64).ok_or("its id is missing")? as usize;
    if id >= trace.len() {
        return Err(format!("its id {id} is not in the trace"));
    }
    let mut body: Map<String, Json> =
        json.get("body").and_then(Json::as_object).cloned().ok_or("its body is missing")?;
    let path = text(&json, "path").ok_or("its path is missing")?;
    // OpenAI's API streams where it is asked to; S-LoRA has a path for that.
    if path.starts_with("/v1/") {
        body.insert("stream".to_owned(), json!(true));
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    let headers = json.get("headers").and_then(Json::as_object).into_iter().flatten();
    let headers =
        headers.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect();
    Ok(Planned {
        id,
        due_us: trace.arrival_us[id],
        path,
        headers,
        body: Json::Object(body).to_string().into_bytes(),
        input_tokens: trace.input_tokens[id],
        output_tokens: trace.output_tokens[id],
        session: text(&json, "session"),
        after: None,
        think_us: 0.0,
    })
}
