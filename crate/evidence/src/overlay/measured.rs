//! A measured run in one form, whatever tool wrote it.

use serde::{Deserialize, Serialize};
use servescope_engine::metrics::distribution::Distribution;
use servescope_settings::file_kind::Tool;
use servescope_workload::statistics::sort_by_number;
use servescope_workload::trace::{ClosedLoop, NO_REQUEST, Request};
use servescope_workload::{BASE_MODEL, Trace};

/// Most requests of a result file.
pub const MAX_REQUESTS: usize = 1_000_000;
/// Most tokens of a prompt or an output.
pub(super) const MAX_TOKENS: f64 = 10_000_000.0;
/// Longest time, seconds.
pub(super) const MAX_S: f64 = 1e8;

/// One request that was answered.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MeasuredRequest {
    /// Its name in the file.
    pub name: String,
    /// When it was sent, seconds after the first one; 0 in a closed loop whose file has no times.
    pub sent_s: f64,
    /// Prompt tokens.
    pub input_tokens: u32,
    /// Output tokens.
    pub output_tokens: u32,
    /// Time to first token, seconds, where the file contains it.
    pub ttft_s: Option<f64>,
    /// End-to-end time, seconds, where the file contains it.
    pub e2e_s: Option<f64>,
    /// Gaps between the chunks of its answer, seconds; empty where the file does not contain them. A chunk may hold several
    /// tokens.
    pub gaps_s: Vec<f64>,
}

impl MeasuredRequest {
    /// Mean time between its tokens, seconds: the time after the first one over the tokens after it.
    pub fn tpot_s(&self) -> Option<f64> {
        let (ttft_s, e2e_s) = (self.ttft_s?, self.e2e_s?);
        (self.output_tokens > 1).then(|| (e2e_s - ttft_s).max(0.0) / f64::from(self.output_tokens - 1))
    }

    /// Mean gap between the chunks of its answer, seconds; between its tokens where the file does not contain chunks.
    pub fn itl_s(&self) -> Option<f64> {
        if self.gaps_s.is_empty() {
            return self.tpot_s();
        }
        Some(self.gaps_s.iter().sum::<f64>() / self.gaps_s.len() as f64)
    }
}

/// How requests were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub enum Sending {
    /// At times of their own.
    Times,
    /// The next one as soon as another one has ended, with this many in flight.
    InFlight(u32),
    /// At times that were drawn, as the file has a rate and not the times: single requests of both runs do not belong together.
    Drawn,
}

impl Sending {
    /// How many are in flight, in a closed loop.
    pub fn in_flight(self) -> Option<u32> {
        match self {
            Self::Times | Self::Drawn => None,
            Self::InFlight(most) => Some(most),
        }
    }
}

/// A time over all requests as a file sums it up, seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct MeasuredTime {
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

impl MeasuredTime {
    /// From what `of` reads for each of the prefixes `mean`, `median`, `p90`, `p95` and `p99` that tools put before a metric's name.
    ///
    /// # Errors
    /// Those of `of`.
    pub(super) fn by_prefix<E>(of: impl Fn(&str) -> Result<Option<f64>, E>) -> Result<Self, E> {
        Ok(Self { mean: of("mean")?, p50: of("median")?, p90: of("p90")?, p95: of("p95")?, p99: of("p99")? })
    }

    /// As a distribution.
    pub(super) fn distribution(self) -> Distribution {
        let Self { mean, p50, p90, p95, p99 } = self;
        Distribution { mean, p50, p90, p95, p99, max: None }
    }
}

/// Times and rates over all requests, of a file without single requests.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "MeasuredMeans"))]
pub struct Means {
    /// Time to first token.
    pub ttft_s: MeasuredTime,
    /// Time between tokens: of each request its mean.
    pub tpot_s: MeasuredTime,
    /// Gap between tokens: of all requests together.
    pub itl_s: MeasuredTime,
    /// End-to-end time.
    pub e2e_s: MeasuredTime,
    /// Output tokens a second.
    pub output_tokens_per_s: Option<f64>,
    /// Requests a second.
    pub throughput_rps: Option<f64>,
}

/// A measured run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "ReadResult"))]
pub struct MeasuredRun {
    /// What wrote the file.
    #[cfg_attr(feature = "types", ts(type = "string"))]
    pub tool: Tool,
    /// The requests that were answered, in the order in which they were sent.
    #[cfg_attr(feature = "types", ts(type = "Array<object>"))]
    pub requests: Vec<MeasuredRequest>,
    /// How they were sent.
    pub sending: Sending,
    /// Means that the file contains in place of requests.
    pub means: Means,
    /// Settings of the server in the file, by the names that vLLM and the tools have for it.
    pub reported: Vec<(String, String)>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// The runs of the file, in a few words each, where there are several.
    pub benchmarks: Vec<String>,
    /// Which of them this is, from 1 on; 0 where there is only one.
    pub benchmark: usize,
}

impl Default for MeasuredRun {
    fn default() -> Self {
        Self {
            tool: Tool::VllmBench,
            requests: Vec::new(),
            sending: Sending::Times,
            means: Means::default(),
            reported: Vec::new(),
            notes: Vec::new(),
            benchmarks: Vec::new(),
            benchmark: 0,
        }
    }
}

impl MeasuredRun {
    /// Puts requests in the order of sending and counts times from the first one.
    pub(super) fn in_order(mut self) -> Self {
        sort_by_number(&mut self.requests, |request| request.sent_s);
        let first_s = self.requests.first().map_or(0.0, |request| request.sent_s);
        self.requests.iter_mut().for_each(|request| request.sent_s -= first_s);
        self
    }

    /// The requests to simulate, each with its place in [`MeasuredRun::requests`] as its id.
    pub fn trace(&self) -> Trace {
        let mut trace = Trace::with_capacity(self.requests.len());
        let mut closed_loop = ClosedLoop { is_shared: true, ..ClosedLoop::default() };
        for (place, request) in self.requests.iter().enumerate() {
            let is_held = matches!(self.sending, Sending::InFlight(most) if place >= most as usize);
            trace.push(Request {
                arrival_us: if self.sending.in_flight().is_none() { request.sent_s * 1e6 } else { 0.0 },
                user: 0,
                adapter: BASE_MODEL,
                input_tokens: request.input_tokens.max(1),
                output_tokens: request.output_tokens.max(1),
                max_tokens: request.output_tokens.max(1),
            });
            closed_loop.push(if is_held { 0 } else { NO_REQUEST }, 0.0);
        }
        if closed_loop.holds_any() {
            trace.closed_loop = Some(Box::new(closed_loop));
        }
        trace
    }

    /// Whether single requests of this run and of its simulation belong together: the file contains their times, and the order or
    /// the times in which they were sent.
    pub fn is_matched(&self) -> bool {
        self.has_times() && self.sending != Sending::Drawn
    }

    /// Whether the file contains times of single requests.
    pub fn has_times(&self) -> bool {
        self.requests.iter().any(|request| request.ttft_s.is_some() || request.e2e_s.is_some())
    }
}
