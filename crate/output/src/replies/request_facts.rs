//! One request before its decisions are asked for.

use serde::Serialize;
use servescope_engine::explain::at_arrival;
use servescope_lab::run::Run;
use servescope_workload::{BASE_MODEL, Trace};

/// One request: its lengths, its times, and what it found when it arrived.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct RequestFacts {
    /// Its place in the order of arrival.
    pub id: usize,
    /// Its user.
    pub user: u32,
    /// Its adapter; -1 is the base model.
    pub adapter: i64,
    /// Rank of the adapter; 0 of the base model.
    pub rank: u32,
    /// Prompt tokens.
    pub input_tokens: u32,
    /// Output tokens.
    pub output_tokens: u32,
    /// Most output tokens that were asked for.
    pub max_tokens: u32,
    /// What became of it.
    pub outcome: &'static str,
    /// Arrival, seconds.
    pub arrival_s: f64,
    /// Begin of its first iteration, seconds.
    pub scheduled_s: Option<f64>,
    /// First token, seconds.
    pub first_token_s: Option<f64>,
    /// End, seconds.
    pub finish_s: Option<f64>,
    /// Time in the waiting queue, seconds.
    pub queue_s: f64,
    /// Loading adapters, seconds.
    pub adapter_load_s: f64,
    /// Its own prefill, seconds.
    pub prefill_s: f64,
    /// Stalled while other requests were prefilled, seconds.
    pub stalled_s: f64,
    /// Decode iterations, seconds.
    pub decode_s: f64,
    /// Waiting requests in front of it when it arrived.
    pub ahead: u32,
    /// Running requests then.
    pub running_at_arrival: u32,
    /// KV tokens in use then.
    pub kv_tokens_at_arrival: f64,
    /// Prompt tokens that it found in the KV cache when it was first admitted; none where nothing was looked up.
    pub cached_tokens: Option<u32>,
    /// Those that it loaded from host memory.
    pub host_tokens: Option<u32>,
}

impl RequestFacts {
    /// Of request `id` of a run; none where the run has no such request.
    pub fn of(run: &Run, id: usize) -> Option<Self> {
        let report = &run.report;
        let result = report.results.get(id)?;
        let trace: &Trace = &report.trace;
        let (found, split) = (at_arrival(report, id), report.split(id).unwrap_or_default());
        let request = trace.request(id);
        let seconds = |us: Option<f64>| us.map(|us| us / 1e6);
        Some(Self {
            id,
            user: request.user,
            adapter: if request.adapter == BASE_MODEL { -1 } else { i64::from(request.adapter) },
            rank: trace.rank(id),
            input_tokens: request.input_tokens,
            output_tokens: request.output_tokens,
            max_tokens: request.max_tokens,
            outcome: result.outcome.name(),
            arrival_s: request.arrival_us / 1e6,
            scheduled_s: seconds(report.scheduled_us(id)),
            first_token_s: seconds(report.first_token_us(id)),
            finish_s: seconds(result.finish_us),
            queue_s: split.queue_us / 1e6,
            adapter_load_s: split.load_us / 1e6,
            prefill_s: split.prefill_us / 1e6,
            stalled_s: split.stalled_us / 1e6,
            decode_s: split.decode_us / 1e6,
            ahead: found.ahead,
            running_at_arrival: found.running,
            kv_tokens_at_arrival: found.kv_tokens,
            cached_tokens: report.found_prompt(id).map(|found| found.cached_tokens),
            host_tokens: report.found_prompt(id).map(|found| found.host_tokens),
        })
    }
}
