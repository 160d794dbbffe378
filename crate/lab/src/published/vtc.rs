//! VTC's recorded runs (Sheng et al., OSDI 2024; VTC-artifact, Apache-2.0) and the same arrivals in this simulator.
//!
//! A recording is a table of requests: when each was sent, by whom, its lengths, and what was measured. The server was an
//! A10G with Llama-7B, a pool of 10,000 tokens, adapters not computed but counted in admission (rank 8 each), the
//! artifact's charging. Iteration times are those of the `a10g-llama-7b` calibration without its overhead, in whose place
//! stands one constant, [`OVERHEAD_US`], settled on a single recording: FCFS under overload. All others are predictions.

use std::sync::Arc;

use servescope_cost::{CALIBRATIONS, LinearCost};
use servescope_engine::metrics::fairness::{Fairness, Served, Ticks, tokens_per_s};
use servescope_engine::scheduler::accounts::Charging;
use servescope_engine::scheduler::vtc::{Fair, Lift, Prediction, TokenCost};
use servescope_engine::scheduler::{Client, Order, Queueing, prediction};
use servescope_engine::{SchedulerConfig, Simulation};
use servescope_workload::Trace;
use servescope_workload::trace::Request;

use super::TOKENIZER_EXTRA;

/// Added to each decode iteration, microseconds.
pub const OVERHEAD_US: f64 = 4_300.0;

/// The pool of the recorded server, tokens.
const POOL_TOKENS: u32 = 10_000;

/// Rank of every client's adapter.
const RANK: u32 = 8;

/// One recorded request. Seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recorded {
    /// When it was sent.
    pub sent_s: f64,
    /// Who sent it.
    pub client: u32,
    /// Prompt words.
    pub input_tokens: u32,
    /// Tokens produced.
    pub output_tokens: u32,
    /// From sending to first token; `None` if it was refused.
    pub first_token_s: Option<f64>,
    /// From sending to last token.
    pub latency_s: f64,
}

/// A recorded run.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// The scheduler's name in the artifact, with its settings: `VTC`, `LShare__rpm5`, `VTC_pred_50`, …
    pub scheduler: String,
    /// The workload's name.
    pub workload: String,
    /// Every request, in order of sending.
    pub requests: Vec<Recorded>,
}

impl Recording {
    /// Whether a file's name is that of a recording.
    pub fn is_named(name: &str) -> bool {
        parts(name).is_some()
    }

    /// Reads a recording called `vtc__SCHEDULER__WORKLOAD.csv` with the columns request time, client, input length, output
    /// length, first token and latency, a refused request's first token being negative.
    ///
    /// # Errors
    /// What is wrong and in which row (the header is row 1).
    pub fn read(name: &str, text: &str) -> Result<Self, String> {
        let (scheduler, workload) = parts(name)
            .ok_or_else(|| format!("{name}: the name is not of the form vtc__SCHEDULER__WORKLOAD.csv"))?;
        let mut requests = Vec::new();
        for (i, line) in text.lines().enumerate().skip(1) {
            let row = i + 1;
            let cells: Vec<f64> = line.split(',').filter_map(|cell| cell.trim().parse().ok()).collect();
            let &[sent_s, client, input, output, first, latency_s] = cells.as_slice() else {
                return Err(format!("{name}, row {row}: six numbers expected, got {line:?}"));
            };
            let whole = |value: f64, least: f64, most: f64, column: &str| {
                if (least..=most).contains(&value) && value.fract() == 0.0 {
                    Ok(value as u32)
                } else {
                    Err(format!(
                        "{name}, row {row}, {column}: {value} is not a whole number of {least} to {most}"
                    ))
                }
            };
            if !(0.0..=1e9).contains(&sent_s) || !first.is_finite() || !latency_s.is_finite() {
                return Err(format!("{name}, row {row}: a time is out of bounds in {line:?}"));
            }
            requests.push(Recorded {
                sent_s,
                client: whole(client, 0.0, 1e5, "client")?,
                input_tokens: whole(input, 1.0, 1e6, "input length")?,
                output_tokens: whole(output, 1.0, 1e6, "output length")?,
                first_token_s: (first >= 0.0).then_some(first),
                latency_s,
            });
        }
        requests.sort_by(|a, b| a.sent_s.total_cmp(&b.sent_s));
        Ok(Self { scheduler: scheduler.to_owned(), workload: workload.to_owned(), requests })
    }

    /// Whether it is of VTC itself on clients that all ask for more than their share.
    pub fn is_vtc_under_overload(&self) -> bool {
        self.scheduler == "VTC" && self.workload.starts_with("overload")
    }

    /// The order of service that the scheduler's name stands for; `None` for one that is not known, or whose settings were
    /// not recorded.
    pub fn order(&self) -> Option<Order> {
        let fair = Fair { charging: Charging::Artifact, ..Fair::default() };
        let cost = if self.scheduler.ends_with("_profile") { TokenCost::Profile } else { TokenCost::Linear };
        let order = match self.scheduler.strip_suffix("_profile").unwrap_or(&self.scheduler) {
            "FCFS" => Order::Fcfs,
            "VTC" => Order::Fair(Fair { cost, ..fair }),
            // Not recorded; the paper's weights, and in proportion to the clients' rates.
            "WVTC" => Order::Fair(Fair { weights: vec![1.0, 2.0, 3.0, 4.0], ..fair }),
            "LCF" => Order::Fair(Fair { lift: Lift::Never, ..fair }),
            "VTC_oracle" | "VTC_pred_50" => Order::Fair(Fair { cost, prediction: Prediction::Given, ..fair }),
            "VTC_predict" => Order::Fair(Fair { cost, prediction: Prediction::History, ..fair }),
            name => Order::Rpm { limit: name.strip_prefix("LShare__rpm")?.parse().ok()? },
        };
        Some(order)
    }

    /// How many clients sent requests.
    pub fn clients(&self) -> usize {
        self.requests.iter().map(|r| r.client as usize + 1).max().unwrap_or(0)
    }

    /// What was measured.
    pub fn measured(&self) -> Measured {
        let served = self.requests.iter().filter_map(|r| {
            let first = r.first_token_s?;
            Some(Served {
                client: r.client as usize,
                input_tokens: f64::from(r.input_tokens),
                output_tokens: f64::from(r.output_tokens),
                arrival_s: r.sent_s,
                first_token_s: r.sent_s + first,
                finish_s: r.sent_s + r.latency_s,
            })
        });
        Measured::of(self, &served.collect::<Vec<_>>())
    }

    /// Simulates the same arrivals under an order of service, with this overhead on each decode iteration.
    pub fn simulated(&self, order: Order, overhead_us: f64) -> Measured {
        let trace = Arc::new(self.trace());
        let range = if self.scheduler.starts_with("VTC_pred_50") { 0.5 } else { 0.0 };
        let queueing = Queueing {
            order,
            client: Client::Adapter,
            predictions: Some(prediction::around(&trace.max_tokens, range, 0)),
        };
        let config = SchedulerConfig {
            max_total_tokens: POOL_TOKENS,
            batch_max_tokens: SchedulerConfig::default_batch_max_tokens(POOL_TOKENS, 3_072),
            lora_compute: false,
            ..SchedulerConfig::default()
        };
        let cost = LinearCost { overhead_us, ..CALIBRATIONS[0].cost };
        let report = Simulation::new(trace, config, cost).queued(queueing).run();
        let served = self.requests.iter().enumerate().filter_map(|(id, r)| {
            Some(Served {
                client: r.client as usize,
                input_tokens: f64::from(r.input_tokens),
                output_tokens: f64::from(r.output_tokens),
                arrival_s: r.sent_s,
                first_token_s: report.first_token_us(id)? / 1e6,
                finish_s: report.fates[id].finish_us? / 1e6,
            })
        });
        Measured::of(self, &served.collect::<Vec<_>>())
    }

    fn trace(&self) -> Trace {
        let mut trace = Trace { adapter_rank: vec![RANK; self.clients()], ..Trace::default() };
        for r in &self.requests {
            trace.push(Request {
                arrival_us: r.sent_s * 1e6,
                user: r.client,
                adapter: r.client,
                input_tokens: r.input_tokens + TOKENIZER_EXTRA,
                output_tokens: r.output_tokens,
                max_tokens: r.output_tokens,
            });
        }
        trace
    }
}

/// Scheduler and workload in the name of a recording.
fn parts(name: &str) -> Option<(&str, &str)> {
    name.strip_suffix(".csv")?.strip_prefix("vtc__")?.rsplit_once("__")
}

/// What is compared of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Prompt and output tokens served, a second from the first request to the last token.
    pub tokens_per_s: f64,
    /// Requests that got no answer.
    pub rejected: usize,
    /// Mean time to first token of each client, seconds.
    pub first_token_s: Vec<Option<f64>>,
    /// Largest gap between the services that clients were given, up to any of 20 ticks of the time of sending.
    pub service_gap: f64,
    /// Largest and mean gap of the paper's table.
    pub table_gap: (f64, f64),
}

impl Measured {
    fn of(recording: &Recording, served: &[Served]) -> Self {
        let clients = recording.clients();
        let end = served.iter().map(|r| r.finish_s).fold(0.0, f64::max);
        let mut means = vec![(0.0, 0u32); clients];
        for r in served {
            means[r.client].0 += r.first_token_s - r.arrival_s;
            means[r.client].1 += 1;
        }
        let last = recording.requests.last().map_or(0.0, |r| r.sent_s);
        // The durations of the experiments are whole minutes.
        let duration = libm::ceil(last / 60.0) * 60.0;
        let whole = Ticks { warm_up_s: 0.0, ..Ticks::paper(duration) };
        let given = Fairness::measure(served, clients, &whole);
        let table = Fairness::measure(served, clients, &Ticks::paper(duration));
        Self {
            tokens_per_s: tokens_per_s(served, end),
            rejected: recording.requests.len() - served.len(),
            first_token_s: means.into_iter().map(|(sum, n)| (n > 0).then(|| sum / f64::from(n))).collect(),
            service_gap: given.accumulated_gap.iter().copied().fold(0.0, f64::max),
            table_gap: (table.max_gap(), table.mean_gap()),
        }
    }
}

/// Bounds on relative errors of tokens a second and of rejected requests.
pub const TOKENS_BOUND: f64 = 0.07;
/// See [`TOKENS_BOUND`].
pub const REJECTED_BOUND: f64 = 0.10;

/// Clients whose recorded mean times to first token lie closer than this share need not come in the same order: recorded
/// runs of the same setting differ by as much.
const TIE: f64 = 0.10;

/// More clients than this (the chat trace has 27) are too many, and too alike, for an order of each pair.
const FEW_CLIENTS: usize = 8;

/// A recording beside this simulator's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct VtcComparison {
    /// Scheduler of the recording.
    pub scheduler: String,
    /// Its workload.
    pub workload: String,
    /// Recorded.
    pub recorded: Measured,
    /// Simulated.
    pub ours: Measured,
}

impl VtcComparison {
    /// (ours - recorded) / recorded tokens a second.
    pub fn tokens_error(&self) -> f64 {
        self.ours.tokens_per_s / self.recorded.tokens_per_s - 1.0
    }

    /// The same of rejected requests; 0 where none were.
    pub fn rejected_error(&self) -> f64 {
        let recorded = self.recorded.rejected.max(1) as f64;
        (self.ours.rejected as f64 - self.recorded.rejected as f64) / recorded
    }

    /// Whether clients come in the recorded order of their mean times to first token.
    pub fn is_ordered(&self) -> bool {
        let (theirs, ours) = (&self.recorded.first_token_s, &self.ours.first_token_s);
        let clients = theirs.len();
        let pairs = (0..clients).flat_map(|a| (0..clients).map(move |b| (a, b)));
        clients > FEW_CLIENTS
            || pairs.into_iter().all(|(a, b)| match (theirs[a], theirs[b]) {
                (Some(x), Some(y)) if x < y * (1.0 - TIE) => ours[a] < ours[b],
                _ => true,
            })
    }

    /// Whether all that is bounded is within its bound.
    pub fn is_within(&self) -> bool {
        self.tokens_error().abs() <= TOKENS_BOUND
            && self.rejected_error().abs() <= REJECTED_BOUND
            && self.is_ordered()
    }
}

/// The largest service gap that VTC allows between clients that always wait: 2 max(w_p L, w_q M), with the prices of prompt
/// and output tokens, the longest prompt and the pool (the paper's theorem 4.4).
pub fn gap_bound(recording: &Recording) -> f64 {
    let longest = recording.requests.iter().map(|r| r.input_tokens).max().unwrap_or(0);
    2.0 * f64::from(longest).max(2.0 * f64::from(POOL_TOKENS))
}

/// Simulates a recording; `None` if its order of service is not known.
pub fn compare(recording: &Recording) -> Option<VtcComparison> {
    Some(VtcComparison {
        scheduler: recording.scheduler.clone(),
        workload: recording.workload.clone(),
        recorded: recording.measured(),
        ours: recording.simulated(recording.order()?, OVERHEAD_US),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(name in "vtc__[A-Z_]{0,12}.csv", text in "[0-9a-z,.\\n -]{0,200}") {
            if let Ok(recording) = Recording::read(&name, &text) {
                prop_assert_eq!(recording.requests.len(), text.lines().skip(1).count());
                prop_assert!(!recording.measured().tokens_per_s.is_nan() || recording.requests.is_empty());
            }
        }
    }

    #[test]
    fn a_bad_row_is_named() {
        let text =
            "req_time_s,client,input_len,output_len,first_token_s,latency_s\n0,0,10,10,1,2\n1,0,0,10,1,2\n";
        let error = Recording::read("vtc__VTC__overload.csv", text).unwrap_err();
        assert_eq!(
            error,
            "vtc__VTC__overload.csv, row 3, input length: 0 is not a whole number of 1 to 1000000"
        );
    }
}
