//! VTC's recorded runs (Sheng et al., OSDI 2024; VTC-artifact, Apache-2.0) and the same arrivals in this simulator.
//!
//! A recording is a table of requests: when each was sent, by whom, its lengths, and what was measured. The servers were an
//! A10G with Llama-7B and a pool of 10,000 tokens and, in the recordings of the paper's section 6.4, an A100-80 with
//! Llama-13B and the pool that their names say; adapters not computed but counted in admission (rank 8 each), the
//! artifact's accounting. Iteration times are those of the GPU's calibration without its overhead, in whose place stands one
//! constant a GPU, settled on a single recording ([`ONE_RUN`]). All others are predictions.

mod equivalent;
mod measured;
mod pairs;

use std::sync::Arc;

use servescope_cost::{Calibration, LinearCost};
use servescope_engine::metrics::fairness::ServedRequest;
use servescope_engine::queue::OutputAccounting;
use servescope_engine::queue::{Client, QueueConfig, QueuePolicy, prediction};
use servescope_engine::queue::{Lift, Prediction, TokenCost, VtcConfig};
use servescope_engine::{Fleet, PoolConfig};
use servescope_settings::scenario::Scenario;
use servescope_workload::Trace;
use servescope_workload::statistics::sort_by_number;
use servescope_workload::trace::Request;

use super::TOKENIZER_EXTRA;
use super::single_run::{ONE_RUN, SingleRunCalibration, bisect};

pub use measured::MeasuredRecording;

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
    /// From sending to first token; `None` if it was rejected.
    pub first_token_s: Option<f64>,
    /// From sending to last token.
    pub latency_s: f64,
}

impl Recorded {
    fn served(&self, first_token_s: f64, finish_s: f64) -> ServedRequest {
        ServedRequest {
            client: self.client as usize,
            input_tokens: f64::from(self.input_tokens),
            output_tokens: f64::from(self.output_tokens),
            arrival_s: self.sent_s,
            first_token_s,
            finish_s,
        }
    }
}

/// What recordings were made on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VtcServer {
    /// Its place in [`ONE_RUN`].
    gpu: usize,
    /// Its pool, tokens.
    pub pool_tokens: u32,
    /// The largest batch that its profile knows.
    pub largest_measured_batch: Option<u32>,
}

impl VtcServer {
    /// What was settled for its GPU.
    pub fn one_run(self) -> &'static SingleRunCalibration {
        &ONE_RUN[self.gpu]
    }

    fn calibration(self) -> &'static Calibration {
        Calibration::named(self.one_run().calibration).expect("a GPU's profile is a calibration")
    }

    /// Overhead of a decode iteration, microseconds.
    pub fn overhead_us(self) -> f64 {
        self.one_run().overhead_ms * 1e3
    }
}

/// The clients' weights of a scheduling policy; clients beyond them weigh 1.
fn weights(order: &QueuePolicy) -> &[f64] {
    if let QueuePolicy::Vtc(fair) = order { &fair.weights } else { &[] }
}

/// A recorded run.
#[derive(Debug, Clone, PartialEq)]
pub struct VtcRecording {
    /// The scheduler's name in the artifact, with its settings: `VTC`, `LShare__rpm5`, `VTC_pred_50`, …
    pub scheduler: String,
    /// The workload's name.
    pub workload: String,
    /// Every request, in order of sending.
    pub requests: Vec<Recorded>,
}

impl VtcRecording {
    /// Whether a file's name is that of a recording.
    pub fn is_named(name: &str) -> bool {
        parts(name).is_some()
    }

    /// Reads a recording called `vtc__SCHEDULER__WORKLOAD.csv` with the columns request time, client, input length, output
    /// length, first token and latency, a rejected request's first token being negative.
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
        sort_by_number(&mut requests, |request| request.sent_s);
        Ok(Self { scheduler: scheduler.to_owned(), workload: workload.to_owned(), requests })
    }

    /// The server that it was recorded on; `None` if the name's pool is none.
    pub fn server(&self) -> Option<VtcServer> {
        match self.on_a100() {
            None => Some(VtcServer { gpu: 0, pool_tokens: 10_000, largest_measured_batch: None }),
            Some((pool, _)) => {
                let pool_tokens = pool.parse().ok().filter(|pool| (16..=100_000_000).contains(pool))?;
                // DistServe's coefficients are those below 95 sequences.
                Some(VtcServer { gpu: 1, pool_tokens, largest_measured_batch: Some(95) })
            }
        }
    }

    /// Pool and scheduler in the names of section 6.4, as in `sec6.4__35000__VTC-256`: the lengths come last.
    fn on_a100(&self) -> Option<(&str, &str)> {
        let (pool, scheduler) = self.scheduler.strip_prefix("sec6.4__")?.split_once("__")?;
        Some((pool, scheduler.rsplit_once('-').map_or(scheduler, |(name, _)| name)))
    }

    /// The scheduling policy that the scheduler's name stands for; `None` for one that is not known, or whose settings were
    /// not recorded.
    pub fn order(&self) -> Option<QueuePolicy> {
        let fair = VtcConfig { accounting: OutputAccounting::Artifact, ..VtcConfig::default() };
        let name = self.on_a100().map_or(self.scheduler.as_str(), |(_, name)| name);
        let cost = if name.ends_with("_profile") { TokenCost::Profile } else { TokenCost::Linear };
        let order = match name.strip_suffix("_profile").unwrap_or(name) {
            "FCFS" => QueuePolicy::Fcfs,
            "VTC" => QueuePolicy::Vtc(VtcConfig { cost, ..fair }),
            // Not recorded; the paper's weights, and in proportion to the clients' rates.
            "WVTC" => QueuePolicy::Vtc(VtcConfig { weights: vec![1.0, 2.0, 3.0, 4.0], ..fair }),
            "LCF" => QueuePolicy::Vtc(VtcConfig { lift: Lift::Never, ..fair }),
            "VTC_oracle" | "VTC_pred_50" => {
                QueuePolicy::Vtc(VtcConfig { cost, prediction: Prediction::Given, ..fair })
            }
            "VTC_predict" => QueuePolicy::Vtc(VtcConfig { cost, prediction: Prediction::History, ..fair }),
            name => QueuePolicy::Rpm { limit: name.strip_prefix("LShare__rpm")?.parse().ok()? },
        };
        Some(order)
    }

    /// How long requests were sent: the experiments last whole minutes, and a client's last request may come a little late.
    fn duration_s(&self) -> f64 {
        let last = self.requests.last().map_or(0.0, |r| r.sent_s);
        60.0 * libm::round(last / 60.0).max(1.0)
    }

    /// The name of its file.
    pub fn file_name(&self) -> String {
        format!("vtc__{}__{}.csv", self.scheduler, self.workload)
    }

    /// How many clients sent requests.
    pub fn clients(&self) -> usize {
        self.requests.iter().map(|r| r.client as usize + 1).max().unwrap_or(0)
    }

    /// What was measured. Service counts in proportion to the clients' weights.
    pub fn measured(&self, weights: &[f64]) -> MeasuredRecording {
        let served = self.requests.iter().filter_map(|r| {
            let first = r.first_token_s?;
            Some(r.served(r.sent_s + first, r.sent_s + r.latency_s))
        });
        MeasuredRecording::of(self, &served.collect::<Vec<_>>(), weights)
    }

    /// Simulates the same arrivals under a scheduling policy, with this overhead on each decode iteration.
    fn simulated(
        &self,
        server: VtcServer,
        order: QueuePolicy,
        weights: &[f64],
        overhead_us: f64,
    ) -> Simulated {
        let trace = Arc::new(self.trace());
        let range = if self.scheduler.starts_with("VTC_pred_50") { 0.5 } else { 0.0 };
        let queueing = QueueConfig {
            policy: order,
            client: Client::Adapter,
            predictions: Some(prediction::around(&trace.max_tokens, range, 0)),
        };
        let config = PoolConfig {
            blocks: server.pool_tokens,
            max_batch_tokens: PoolConfig::default_batch_max_tokens(server.pool_tokens, 3_072),
            lora_compute: false,
            ..PoolConfig::slora()
        };
        let cost = LinearCost { overhead_us, ..server.calibration().cost };
        let report = Fleet::of_pool(trace, config, Box::new(cost)).with_queue_policy(queueing).run();
        let served = self.requests.iter().enumerate().filter_map(|(id, r)| {
            Some(r.served(report.first_token_us(id)? / 1e6, report.results[id].finish_us? / 1e6))
        });
        Simulated {
            measured: MeasuredRecording::of(self, &served.collect::<Vec<_>>(), weights),
            largest_batch: report.timeline.iterations.iter().map(|run| run.decodes).max().unwrap_or(0),
            digest: report.digest(),
        }
    }

    /// The overhead at which a recording's tokens a second are as recorded, milliseconds, by bisection.
    pub fn settle_overhead(&self) -> Option<f64> {
        let (server, order) = (self.server()?, self.order()?);
        let weights = weights(&order);
        let recorded = self.measured(weights).tokens_per_s;
        let ours = |ms: f64| self.simulated(server, order.clone(), weights, ms * 1e3).measured.tokens_per_s;
        Some(bisect((0.0, 50.0), |ms| ours(ms) > recorded))
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

/// This simulator's answer to a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// What is compared.
    pub measured: MeasuredRecording,
    /// Most requests that decoded together.
    pub largest_batch: u32,
    /// Fingerprint of the run.
    pub digest: u64,
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
    /// How many requests it has.
    pub requests: usize,
    /// What it was recorded on.
    pub server: VtcServer,
    /// Whether this is the recording that settled its GPU's overhead.
    pub is_settling: bool,
    /// Recorded.
    pub recorded: MeasuredRecording,
    /// Simulated.
    pub ours: MeasuredRecording,
    /// The largest service gap that VTC allows, where it promises one.
    pub gap_bound: Option<f64>,
    /// The largest service gap of the same arrivals under first come, first served.
    pub fcfs_gap: f64,
    /// Most requests that decoded together here.
    pub largest_batch: u32,
    /// Fingerprint of the simulated run.
    pub digest: u64,
    /// A scenario like the recording.
    pub equivalent: Option<Scenario>,
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

    /// How many pairs of clients come in the recorded order of their mean times to first token, of those whose recorded means
    /// lie apart.
    pub fn ordered_pairs(&self) -> (usize, usize) {
        pairs::in_order(&self.recorded.first_token_s, &self.ours.first_token_s, TIE)
    }

    /// Whether clients come in the recorded order of their mean times to first token.
    pub fn is_ordered(&self) -> bool {
        let (right, all) = self.ordered_pairs();
        self.recorded.first_token_s.len() > FEW_CLIENTS || right == all
    }

    /// Whether the service gap keeps its bound, where there is one. The bound is one of counters; as the artifact measures
    /// it, with a response's whole service spread evenly over its life, a run can lie above: what the recorded run broke is
    /// not asked of this one.
    pub fn is_bounded(&self) -> bool {
        let holds = |bound: f64| self.ours.service_gap <= bound || self.recorded.service_gap > bound;
        self.gap_bound.is_none_or(holds)
    }

    /// Whether batches grew beyond what the server's profile was measured for: then nothing is predicted.
    pub fn is_beyond_the_profile(&self) -> bool {
        self.server.largest_measured_batch.is_some_and(|most| self.largest_batch > most)
    }

    /// Whether all that is bounded is within its bound.
    pub fn is_within(&self) -> bool {
        self.tokens_error().abs() <= TOKENS_BOUND
            && self.rejected_error().abs() <= REJECTED_BOUND
            && self.is_ordered()
            && self.is_bounded()
    }
}

/// The largest service gap that VTC allows between clients that always wait: 2 max(w_p L, w_q M), with the prices of prompt
/// and output tokens, the longest prompt and the pool (the paper's theorem 4.4); `None` under a scheduling policy, or a
/// price, for which it is not stated.
fn gap_bound(recording: &VtcRecording, server: VtcServer, order: &QueuePolicy) -> Option<f64> {
    let QueuePolicy::Vtc(fair) = order else { return None };
    let is_stated = fair.lift == Lift::Waiting && fair.cost == TokenCost::Linear;
    let longest = recording.requests.iter().map(|r| r.input_tokens).max().unwrap_or(0);
    let (prompts, outputs) =
        (fair.input_price * f64::from(longest), fair.output_price * f64::from(server.pool_tokens));
    is_stated.then(|| 2.0 * prompts.max(outputs))
}

/// Simulates a recording; `None` if its scheduling policy or its server is not known.
pub fn compare(recording: &VtcRecording) -> Option<VtcComparison> {
    let (order, server) = (recording.order()?, recording.server()?);
    let weights = weights(&order).to_vec();
    let bound = gap_bound(recording, server, &order);
    let recorded = recording.measured(&weights);
    let simulated = |order| recording.simulated(server, order, &weights, server.overhead_us());
    let fcfs = simulated(QueuePolicy::Fcfs).measured;
    let Simulated { measured: ours, largest_batch, digest } = simulated(order);
    Some(VtcComparison {
        scheduler: recording.scheduler.clone(),
        workload: recording.workload.clone(),
        requests: recording.requests.len(),
        server,
        is_settling: recording.file_name() == server.one_run().recording,
        gap_bound: bound.filter(|_| recorded.always_waiting && ours.always_waiting),
        fcfs_gap: fcfs.service_gap,
        recorded,
        ours,
        largest_batch,
        digest,
        equivalent: recording.equivalent_scenario(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(name in "vtc__[A-Z_]{0,12}.csv", text in "[0-9a-z,.\\n -]{0,200}") {
            if let Ok(recording) = VtcRecording::read(&name, &text) {
                let _ = recording.equivalent_scenario();
                prop_assert_eq!(recording.requests.len(), text.lines().skip(1).count());
                prop_assert!(!recording.measured(&[]).tokens_per_s.is_nan() || recording.requests.is_empty());
            }
        }
    }

    #[test]
    fn a_bad_row_is_named() {
        let text =
            "req_time_s,client,input_len,output_len,first_token_s,latency_s\n0,0,10,10,1,2\n1,0,0,10,1,2\n";
        let error = VtcRecording::read("vtc__VTC__overload.csv", text).unwrap_err();
        assert_eq!(
            error,
            "vtc__VTC__overload.csv, row 3, input length: 0 is not a whole number of 1 to 1000000"
        );
    }
}
