//! What failures of replicas did to requests.

use serde::Serialize;

use crate::report::Report;

/// Requests of replicas that failed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct FailureLosses {
    /// Requests that waited or ran at a replica as it failed, each time.
    pub lost_requests: u64,
    /// How often a request began again, or got a replica after none was ready.
    pub restarts: u64,
    /// Output tokens that had been produced and were thrown away.
    pub lost_tokens: u64,
}

impl FailureLosses {
    /// Of a run; `None`: no replica failed.
    pub(super) fn of(report: &Report) -> Option<Self> {
        (!report.failures.is_empty()).then(|| Self {
            lost_requests: report.failures.iter().map(|failure| u64::from(failure.lost)).sum(),
            restarts: report.restarts.len() as u64,
            lost_tokens: report.restarts.iter().map(|restart| u64::from(restart.lost_tokens)).sum(),
        })
    }
}
