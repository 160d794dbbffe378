//! A recording as a scenario: what the page opens when a reader wants to drag on from there.

use servescope_engine::queue::QueuePolicy;
use servescope_engine::queue::{Lift, Prediction, TokenCost};
use servescope_settings::scenario::Scenario;

use super::{RANK, Recorded, VtcRecording, VtcServer};
use crate::published::TOKENIZER_EXTRA;

impl VtcRecording {
    /// A scenario like the recording: the same server and scheduling policy, and a workload of the same rate, burstiness,
    /// shares of clients and lengths, without pauses and trends. `None` where each client has a length of its own, or where a
    /// scenario cannot say it.
    pub fn equivalent_scenario(&self) -> Option<Scenario> {
        let (order, server) = (self.order()?, self.server()?);
        let mut scenario = Scenario::of_version(4);
        let texts =
            server_texts(server).into_iter().chain(order_texts(&order)?).chain(self.workload_texts()?);
        for (path, text) in texts {
            scenario.set_text(path, &text).ok()?;
        }
        Some(scenario)
    }

    fn workload_texts(&self) -> Option<Vec<(&'static str, String)>> {
        let count = self.requests.len() as f64;
        let (first, last) = (self.requests.first()?.sent_s, self.requests.last()?.sent_s);
        let gaps: Vec<f64> = self.requests.windows(2).map(|w| w[1].sent_s - w[0].sent_s).collect();
        let mean = (last - first) / gaps.len().max(1) as f64;
        let squares = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>();
        let cv = f64::sqrt(squares / gaps.len().max(1) as f64) / mean;
        let mut shares = vec![0u32; self.clients()];
        self.requests.iter().for_each(|r| shares[r.client as usize] += 1);
        let duration = self.duration_s();
        let mut texts = vec![
            ("workload.rate_rps", tidy(count / duration)),
            ("workload.duration_s", tidy(duration)),
            ("workload.arrivals.cv", tidy(cv.clamp(0.05, 32.0))),
            ("workload.adapters.count", shares.len().to_string()),
            ("workload.adapters.popularity", "list".to_owned()),
            ("workload.adapters.shares", shares.iter().map(u32::to_string).collect::<Vec<_>>().join(",")),
            ("workload.adapters.ranks", RANK.to_string()),
            ("scheduler.client", "adapter".to_owned()),
        ];
        let of = |length: fn(&Recorded) -> u32| self.requests.iter().map(length).collect::<Vec<_>>();
        texts.extend(length_texts(&INPUT_PATHS, of(|r| r.input_tokens + TOKENIZER_EXTRA))?);
        texts.extend(length_texts(&OUTPUT_PATHS, of(|r| r.output_tokens))?);
        Some(texts)
    }
}

/// Three digits are what a recording's rate or cv is known to.
fn tidy(value: f64) -> String {
    let scale = libm::pow(10.0, 2.0 - f64::floor(libm::log10(value)));
    (libm::round(value * scale) / scale).to_string()
}

fn server_texts(server: VtcServer) -> Vec<(&'static str, String)> {
    vec![
        ("cost.calibration", server.one_run().calibration.to_owned()),
        ("cost.linear.overhead_ms", server.one_run().overhead_ms.to_string()),
        ("cost.adapters.load_base_ms", "0".to_owned()),
        ("cost.adapters.load_per_rank_ms", "0".to_owned()),
        ("cost.adapters.decode_per_rank_ms", "0".to_owned()),
        ("cost.adapters.decode_active_ms", "0".to_owned()),
        ("cost.adapters.prefill_factor", "1".to_owned()),
        ("scheduler.max_total_tokens", server.pool_tokens.to_string()),
    ]
}

/// The settings of the scheduling policies that recordings have.
fn order_texts(order: &QueuePolicy) -> Option<Vec<(&'static str, String)>> {
    let fair = match order {
        QueuePolicy::Fcfs => return Some(vec![("scheduler.order", "fcfs".to_owned())]),
        QueuePolicy::Rpm { limit } => {
            let limit = ("scheduler.rpm.limit", limit.to_string());
            return Some(vec![("scheduler.order", "rpm".to_owned()), limit]);
        }
        QueuePolicy::Vtc(fair) => fair,
        _ => return None,
    };
    let kind = if fair.lift == Lift::Never { "lcf" } else { "vtc" };
    let cost = if fair.cost == TokenCost::Profile { "profile" } else { "linear" };
    let prediction = match fair.prediction {
        Prediction::None => "none",
        Prediction::History => "history",
        Prediction::Given => "predicted",
    };
    let mut texts = vec![
        ("scheduler.order", kind.to_owned()),
        ("scheduler.fair.charging", "artifact".to_owned()),
        ("scheduler.fair.cost", cost.to_owned()),
        ("scheduler.fair.prediction", prediction.to_owned()),
    ];
    if !fair.weights.is_empty() {
        let weights: Vec<String> = fair.weights.iter().map(f64::to_string).collect();
        texts.push(("scheduler.fair.weights", weights.join(",")));
    }
    Some(texts)
}

/// Paths of a length distribution: its kind, its one value, and bounds and quantiles.
type LengthPaths = [&'static str; 7];

const INPUT_PATHS: LengthPaths = [
    "workload.input_tokens.kind",
    "workload.input_tokens.value",
    "workload.input_tokens.low",
    "workload.input_tokens.median",
    "workload.input_tokens.p90",
    "workload.input_tokens.p99",
    "workload.input_tokens.high",
];
const OUTPUT_PATHS: LengthPaths = [
    "workload.output_tokens.kind",
    "workload.output_tokens.value",
    "workload.output_tokens.low",
    "workload.output_tokens.median",
    "workload.output_tokens.p90",
    "workload.output_tokens.p99",
    "workload.output_tokens.high",
];

/// Fewer lengths than this are those of single clients.
const MANY_LENGTHS: usize = 10;

fn length_texts(paths: &LengthPaths, mut lengths: Vec<u32>) -> Option<Vec<(&'static str, String)>> {
    lengths.sort_unstable();
    let quantile = |q: f64| lengths[((lengths.len() - 1) as f64 * q) as usize].to_string();
    if lengths.first() == lengths.last() {
        return Some(vec![(paths[0], "fixed".to_owned()), (paths[1], quantile(0.5))]);
    }
    let mut distinct = lengths.clone();
    distinct.dedup();
    if distinct.len() < MANY_LENGTHS {
        return None;
    }
    let mut texts = vec![(paths[0], "percentiles".to_owned())];
    texts.extend(
        [0.0, 0.5, 0.9, 0.99, 1.0].into_iter().zip(&paths[2..]).map(|(q, &path)| (path, quantile(q))),
    );
    Some(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_has_the_server_the_clients_and_the_lengths() {
        let rows = "0.5,0,256,64,1,2\n1,1,256,64,1,2\n1.5,1,256,64,1,2\n59.5,0,256,64,1,2\n";
        let text = format!("req_time_s,client,input_len,output_len,first_token_s,latency_s\n{rows}");
        let recording = VtcRecording::read("vtc__sec6.4__35000__VTC-256__overload-s4.csv", &text).unwrap();
        let scenario = recording.equivalent_scenario().unwrap();
        let server = recording.server().unwrap();
        assert_eq!(scenario.pool().blocks, 35_000);
        assert_eq!(scenario.cost().overhead_us, server.overhead_us());
        assert_eq!(scenario.cost().adapters, servescope_cost::AdapterCost::FREE);
        let order = scenario.queueing(&servescope_workload::Trace::default()).policy;
        assert_eq!(Some(order), recording.order().map(with_unit_weight));
        let link = servescope_settings::link::encode(&scenario);
        for part in ["n=2", "inv=258", "outv=64", "shares=2,2", "cal=a100-80-opt-13b"] {
            assert!(link.contains(part), "{link}");
        }
    }

    /// The scenario says what the recording leaves to the default.
    fn with_unit_weight(order: QueuePolicy) -> QueuePolicy {
        match order {
            QueuePolicy::Vtc(mut fair) => {
                fair.weights = vec![1.0];
                QueuePolicy::Vtc(fair)
            }
            other => other,
        }
    }
}
