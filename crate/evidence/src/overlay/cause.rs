//! Where the difference between both runs comes from, as far as the shape of the errors shows it.
//!
//! The differences of the TTFT are fitted by a constant, a part in proportion to the prompt, and one that grows over the run.
//! Whichever of them explains most of the difference, or the time after the first token, names the likeliest culprit:
//! a constant is overhead outside the iterations, a slope the prefill rate, a drift what bounds the requests that run together
//! (KV blocks first), and a different time between tokens the decode iterations.

use serde::Serialize;

use super::pair::{Pair, PairedMetric};

/// Below this share of what was measured a difference is not looked into.
const AGREES: f64 = 0.05;

/// What differs most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Culprit {
    /// Nothing by more than 5 %.
    None,
    /// A constant part of every TTFT.
    Overhead,
    /// A part of the TTFT in proportion to the prompt.
    PrefillRate,
    /// A TTFT whose difference grows over the run.
    KvBlocks,
    /// The time between tokens.
    DecodeTime,
    /// Too few requests with times for a conclusion.
    Unknown,
}

/// The likeliest culprit, with the numbers that name it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct OverlayCause {
    /// What differs most.
    pub culprit: Culprit,
    /// In a sentence.
    pub sentence: String,
    /// Constant part of the TTFT's difference (simulated less measured), seconds.
    pub floor_s: Option<f64>,
    /// Its part for each prompt token, seconds.
    pub slope_s_per_token: Option<f64>,
    /// Its growth from the first request to the last, seconds.
    pub drift_s: Option<f64>,
}

impl OverlayCause {
    fn without_parts(culprit: Culprit, sentence: String) -> Self {
        Self { culprit, sentence, floor_s: None, slope_s_per_token: None, drift_s: None }
    }

    /// The conclusion from the requests in both runs.
    pub(super) fn of(pairs: &[Pair], metrics: &[PairedMetric]) -> Self {
        let metric = |name: &str| metrics.iter().find(|metric| metric.name == name);
        let bias = |name: &str| metric(name).and_then(|metric| metric.bias);
        let (ttft, tpot, e2e) = (bias("ttft_s"), bias("tpot_s"), bias("e2e_s"));
        if [ttft, tpot, e2e].iter().all(Option::is_none) {
            let sentence = "The file has no times that could be compared.".to_owned();
            return Self::without_parts(Culprit::Unknown, sentence);
        }
        let parts = parts(pairs);
        let is_close = |bias: Option<f64>| bias.is_none_or(|bias| bias.abs() <= AGREES);
        if is_close(ttft) && is_close(tpot) && is_close(e2e) {
            let most = [ttft, tpot, e2e].into_iter().flatten().map(f64::abs).fold(0.0, f64::max);
            let sentence = format!("Means agree within {:.1} %: there is nothing to blame.", 100.0 * most);
            return Self { culprit: Culprit::None, sentence, ..Self::with(parts) };
        }
        let Some(known) = parts else { return of_means(ttft, tpot) };
        // What each explains of a request's time, seconds.
        let decode_s = decode_difference(pairs);
        let explained = [
            (Culprit::Overhead, known.floor_s.abs()),
            (Culprit::PrefillRate, (known.slope_s * known.mean_tokens).abs()),
            (Culprit::KvBlocks, 0.5 * known.drift_s.abs()),
            (Culprit::DecodeTime, decode_s.abs()),
        ];
        let mut culprit = explained
            .into_iter()
            .fold((Culprit::Overhead, -1.0), |most, next| if next.1 > most.1 { next } else { most })
            .0;
        // Where tokens come at another rate, requests leave later or sooner and those that wait drift: the rate is the cause.
        let same_way = tpot.is_some_and(|bias| bias.abs() > AGREES && bias * known.drift_s > 0.0);
        if culprit == Culprit::KvBlocks && same_way {
            culprit = Culprit::DecodeTime;
        }
        Self { culprit, sentence: known.sentence(culprit, tpot, decode_s), ..Self::with(parts) }
    }

    fn with(parts: Option<Parts>) -> Self {
        Self {
            culprit: Culprit::Unknown,
            sentence: String::new(),
            floor_s: parts.map(|parts| parts.floor_s),
            slope_s_per_token: parts.map(|parts| parts.slope_s),
            drift_s: parts.map(|parts| parts.drift_s),
        }
    }
}

/// Of means alone.
fn of_means(ttft: Option<f64>, tpot: Option<f64>) -> OverlayCause {
    let (ttft, tpot) = (ttft.unwrap_or(0.0), tpot.unwrap_or(0.0));
    if tpot.abs() >= ttft.abs() {
        let sentence = format!(
            "The time between tokens is {} the simulated run: decode iterations are the likeliest culprit.",
            way(tpot)
        );
        return OverlayCause::without_parts(Culprit::DecodeTime, sentence);
    }
    let sentence = format!(
        "The TTFT is {} the simulated run; means do not show whether overhead, prefill rate or KV blocks are the cause.",
        way(ttft)
    );
    OverlayCause::without_parts(Culprit::Unknown, sentence)
}

/// "12 % longer in" or "12 % shorter in".
fn way(bias: f64) -> String {
    format!("{:.0} % {} in", 100.0 * bias.abs(), if bias > 0.0 { "longer" } else { "shorter" })
}

/// Mean difference of the time after the first token, seconds.
fn decode_difference(pairs: &[Pair]) -> f64 {
    let difference = |pair: &Pair| {
        let (measured, simulated) = pair.both(|times| times.tpot_s)?;
        Some((simulated - measured) * f64::from(pair.output_tokens.saturating_sub(1)))
    };
    let all: Vec<f64> = pairs.iter().filter_map(difference).collect();
    if all.is_empty() { 0.0 } else { all.iter().sum::<f64>() / all.len() as f64 }
}

/// The difference of the TTFT as floor + slope x tokens + drift x progress.
#[derive(Clone, Copy)]
struct Parts {
    floor_s: f64,
    slope_s: f64,
    drift_s: f64,
    mean_tokens: f64,
}

impl Parts {
    fn sentence(&self, culprit: Culprit, tpot: Option<f64>, decode_s: f64) -> String {
        let more = |seconds: f64| if seconds > 0.0 { "longer" } else { "shorter" };
        let ms = |seconds: f64| format!("{:.3} ms", 1e3 * seconds.abs());
        match culprit {
            Culprit::Overhead => format!(
                "Floor: every simulated TTFT is {} {}, whatever the prompt: overhead outside the iterations (network, tokenising, host) is the likeliest culprit.",
                ms(self.floor_s),
                more(self.floor_s)
            ),
            Culprit::PrefillRate => format!(
                "Slope: the simulated TTFT is {} {} for each prompt token: the prefill rate is the likeliest culprit.",
                ms(self.slope_s),
                more(self.slope_s)
            ),
            Culprit::KvBlocks => format!(
                "Drift: the difference of the TTFT grows by {:.2} s over the run ({} in the simulation) while tokens come at the same rate: the KV blocks, or another bound on the requests that run together, are the likeliest culprit.",
                self.drift_s.abs(),
                more(self.drift_s)
            ),
            _ => format!(
                "Time between tokens: {} the simulated run, {:.3} s a request{}: the time of decode iterations is the likeliest culprit.",
                way(tpot.unwrap_or(0.0)),
                decode_s.abs(),
                if self.drift_s.abs() > decode_s.abs() { ", and the queue drifts with it" } else { "" }
            ),
        }
    }
}

/// Least squares over requests with a TTFT in both runs; none of fewer than eight, or where all prompts or all times are equal.
fn parts(pairs: &[Pair]) -> Option<Parts> {
    let last_s = pairs.iter().map(|pair| pair.sent_s).fold(0.0, f64::max);
    let count = pairs.len().max(2) - 1;
    let row = |(place, pair): (usize, &Pair)| {
        let (measured, simulated) = pair.both(|times| times.ttft_s)?;
        let progress = if last_s > 0.0 { pair.sent_s / last_s } else { place as f64 / count as f64 };
        Some([f64::from(pair.input_tokens), progress, simulated - measured])
    };
    let rows: Vec<[f64; 3]> = pairs.iter().enumerate().filter_map(row).collect();
    if rows.len() < 8 {
        return None;
    }
    let n = rows.len() as f64;
    let mean = |column: usize| rows.iter().map(|row| row[column]).sum::<f64>() / n;
    let means = [mean(0), mean(1), mean(2)];
    let product = |a: usize, b: usize| {
        rows.iter().map(|row| (row[a] - means[a]) * (row[b] - means[b])).sum::<f64>() / n
    };
    let (xx, xp, pp, xd, pd) = (product(0, 0), product(0, 1), product(1, 1), product(0, 2), product(1, 2));
    // Columns that do not change, or change together, have no part of their own.
    let determinant = xx * pp - xp * xp;
    let (slope_s, drift_s) = if determinant > 1e-6 * xx * pp {
        ((xd * pp - pd * xp) / determinant, (pd * xx - xd * xp) / determinant)
    } else if xx > 0.0 {
        (xd / xx, 0.0)
    } else if pp > 0.0 {
        (0.0, pd / pp)
    } else {
        (0.0, 0.0)
    };
    let floor_s = means[2] - slope_s * means[0] - drift_s * means[1];
    Some(Parts { floor_s, slope_s, drift_s, mean_tokens: means[0] })
}
