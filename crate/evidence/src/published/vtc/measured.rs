//! What is compared of a run of VTC's artifact, recorded or simulated.

use servescope_engine::metrics::fairness::{Fairness, ServedRequest, Ticks, tokens_per_s};

use super::VtcRecording;

/// What is compared of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredRecording {
    /// Prompt and output tokens served, a second from the first request to the last token.
    pub tokens_per_s: f64,
    /// The same of each client.
    pub client_tokens_per_s: Vec<f64>,
    /// Requests that got no answer.
    pub rejected: usize,
    /// Mean time to first token of each client, seconds.
    pub first_token_s: Vec<Option<f64>>,
    /// The gap between the services that clients were given, over their weights, at each tick of the time of sending.
    pub gaps: Vec<f64>,
    /// Where these ticks lie.
    pub ticks_s: Vec<f64>,
    /// The largest of them.
    pub service_gap: f64,
    /// Whether every client had a request waiting at each of them.
    pub always_waiting: bool,
    /// Largest and mean gap of the paper's table.
    pub table_gap: (f64, f64),
}

impl MeasuredRecording {
    pub(super) fn of(recording: &VtcRecording, served: &[ServedRequest], weights: &[f64]) -> Self {
        let clients = recording.clients();
        let end = served.iter().map(|r| r.finish_s).fold(0.0, f64::max);
        let mut means = vec![(0.0, 0u32); clients];
        let mut tokens = vec![0.0; clients];
        for r in served {
            means[r.client].0 += r.first_token_s - r.arrival_s;
            means[r.client].1 += 1;
            tokens[r.client] += r.input_tokens + r.output_tokens;
        }
        let duration = recording.duration_s();
        let whole = Ticks { warm_up_s: 0.0, ..Ticks::paper(duration) };
        let given = Fairness::measure(&weighed(served, weights), clients, &whole);
        let table = Fairness::measure(served, clients, &Ticks::paper(duration));
        let all_wait = |&at: &f64| {
            let mut waits = vec![false; clients];
            served
                .iter()
                .filter(|r| r.arrival_s <= at && r.first_token_s > at)
                .for_each(|r| waits[r.client] = true);
            waits.into_iter().all(|waits| waits)
        };
        Self {
            tokens_per_s: tokens_per_s(served, end),
            client_tokens_per_s: tokens.into_iter().map(|sum| sum / end).collect(),
            rejected: recording.requests.len() - served.len(),
            first_token_s: means.into_iter().map(|(sum, n)| (n > 0).then(|| sum / f64::from(n))).collect(),
            service_gap: given.accumulated_gap.iter().copied().fold(0.0, f64::max),
            always_waiting: given.ticks_s.iter().all(all_wait),
            gaps: given.accumulated_gap,
            ticks_s: given.ticks_s,
            table_gap: (table.max_gap(), table.mean_gap()),
        }
    }
}

/// The same requests with tokens in proportion to their clients' weights.
fn weighed(served: &[ServedRequest], weights: &[f64]) -> Vec<ServedRequest> {
    let weigh = |r: &ServedRequest| {
        let weight = weights.get(r.client).copied().unwrap_or(1.0);
        ServedRequest { input_tokens: r.input_tokens / weight, output_tokens: r.output_tokens / weight, ..*r }
    };
    served.iter().map(weigh).collect()
}
