//! A step of the scheduler debugger, for the page's section.

use serde::Serialize;

use crate::debugger::Debugger;
use crate::debugger::gantt::Gantt;
use crate::debugger::view::StepView;

/// The step at which the reader stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct DebuggerStep {
    /// The step: what `servescope debug --json` prints of it.
    pub view: StepView,
    /// The requests that are in the service at its time.
    pub gantt: Gantt,
    /// Until when there is something to look at, seconds.
    pub end_s: f64,
    /// Requests of the run.
    pub requests: usize,
    /// The digest of the run.
    pub digest: String,
}

impl DebuggerStep {
    /// Of a debugger; none where it has no step.
    pub fn of(debugger: &mut Debugger) -> Option<Self> {
        let view = debugger.view()?;
        let gantt = debugger.gantt();
        let digest = format!("{:016x}", debugger.digest());
        let (end_s, requests) = (debugger.end_s(), debugger.trace().len());
        Some(Self { view, gantt, end_s, requests, digest })
    }
}
