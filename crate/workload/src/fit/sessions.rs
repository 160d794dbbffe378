//! Sessions: how many turns, how long people think, how a prompt grows from turn to turn.

use crate::statistics::Description;
use crate::trace::{NO_LABEL, Trace};

/// Sessions of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionFit {
    /// Different sessions.
    pub sessions: usize,
    /// Share of requests that belong to one.
    pub share: f64,
    /// Requests of a session.
    pub turns: Description,
    /// Seconds from one request of a session to the next, answer included; `None` where every session has one request.
    pub between_s: Option<Description>,
    /// Tokens by which a prompt is longer than the one before it in its session.
    pub growth_tokens: Option<Description>,
}

impl SessionFit {
    /// The sessions of a trace; `None` where its file has none.
    pub fn of(trace: &Trace) -> Option<Self> {
        let session = &trace.metadata.as_ref()?.session;
        let mut turns = vec![0.0; session.names.len()];
        let mut before: Vec<Option<usize>> = vec![None; session.names.len()];
        let (mut between, mut growth) = (Vec::new(), Vec::new());
        for (id, &label) in session.index.iter().enumerate().filter(|&(_, &label)| label != NO_LABEL) {
            turns[label as usize] += 1.0;
            if let Some(former) = before[label as usize].replace(id) {
                between.push((trace.arrival_us[id] - trace.arrival_us[former]) / 1e6);
                growth.push(f64::from(trace.input_tokens[id]) - f64::from(trace.input_tokens[former]));
            }
        }
        turns.retain(|&n| n > 0.0);
        Some(Self {
            sessions: turns.len(),
            share: turns.iter().sum::<f64>() / trace.len() as f64,
            turns: Description::of(turns)?,
            between_s: Description::of(between),
            growth_tokens: Description::of(growth),
        })
    }
}
