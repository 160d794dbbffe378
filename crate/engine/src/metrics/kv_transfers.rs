//! What it costs to transfer KV blocks from prefill to decode replicas.

use serde::Serialize;

use crate::report::Report;

/// The KV transfers of disaggregated requests, means over those that came to their decode replicas.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct KvTransferUse {
    /// How many.
    pub requests: u64,
    /// Of all requests that were served to their end, the share of them.
    pub share: f64,
    /// KV blocks that were pulled.
    pub pulled_blocks: u64,
    /// From the end of the prompt until the pull began: through the router, and until the decode replica had memory.
    pub mean_wait_s: f64,
    /// How long a pull took.
    pub mean_pull_s: f64,
    /// How long it would have taken with the links to itself.
    pub mean_alone_s: f64,
    /// From the end of the prompt to the first iteration at the decode replica.
    pub mean_between_legs_s: f64,
}

impl KvTransferUse {
    /// Of a run; `None`: no request was disaggregated.
    pub(super) fn of(report: &Report) -> Option<Self> {
        let completed = (0..report.results.len()).filter(|&id| report.is_completed(id));
        let (mut all, mut requests, mut pulled_blocks, mut between_us) = (0u64, 0u64, 0u64, 0.0);
        for id in completed {
            all += 1;
            let Some(legs) = report.legs(id) else { continue };
            requests += 1;
            pulled_blocks += u64::from(legs.blocks);
            between_us += legs.wait_us();
        }
        let (mut pulls, mut wait_us, mut pull_us, mut alone_us) = (0u64, 0.0, 0.0, 0.0);
        for copy in report.timeline.kv_copies.iter().filter(|copy| copy.is_load) {
            let of_request = copy.requests.first().and_then(|id| report.legs(id.index()));
            let Some(legs) = of_request else { continue };
            pulls += 1;
            wait_us += copy.start_us - legs.prefilled_us;
            pull_us += copy.end_us - copy.start_us;
            alone_us += copy.alone_us;
        }
        let mean_s = |us: f64, count: u64| if count > 0 { us / count as f64 / 1e6 } else { 0.0 };
        (requests > 0).then(|| Self {
            requests,
            share: requests as f64 / all as f64,
            pulled_blocks,
            mean_wait_s: mean_s(wait_us, pulls),
            mean_pull_s: mean_s(pull_us, pulls),
            mean_alone_s: mean_s(alone_us, pulls),
            mean_between_legs_s: mean_s(between_us, requests),
        })
    }
}
