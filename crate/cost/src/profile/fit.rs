//! A compact profile from raw tables, and how far it is from them.

use super::attention::{AttentionFormula, AttentionHeads, Speed};
use super::fitted_profile::{Decode, Prefill};
use super::grid::KnotGrid;
use super::line::{Fineness, KnotLine, Knots};
use super::operator::{By, OPERATORS, TimedOrigin};
use super::profiling_csv::{RawAttention, RawDegree, RawLine, RawTables};
use super::table::ProfileError;
use super::{AttentionProfile, Degree, FitErrors, NodeNetwork, OperatorLine, Profile};
use crate::batch::OperatorClass;

/// How far a profile is from the raw medians of one operator.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorError {
    /// Degree of tensor parallelism; 0 where it does not matter.
    pub degree: u32,
    /// The operator.
    pub name: &'static str,
    /// Where its times come from.
    pub origin: TimedOrigin,
    /// Points that were compared; 0 where there is nothing to compare with.
    pub points: usize,
    /// Median of the relative errors.
    pub median: f64,
    /// Their 95th percentile.
    pub p95: f64,
}

/// Products have stairs that matter; the rest is nearly straight.
const GEMM: Fineness = Fineness { most: 110, relative: 0.01 };
const SIMPLE: Fineness = Fineness { most: 40, relative: 0.01 };
const MESSAGES: Fineness = Fineness { most: 40, relative: 0.02 };
/// Look-ups of messages, which are not smoothed, fall and rise from one size to the next.
const MESSAGE_LOOK_UPS: Fineness = Fineness { most: 110, ..MESSAGES };

/// What share of a layer's token operators an operator may be off by.
const SHARE_OF_LAYER: f64 = 0.0005;

/// Most rows and columns of an attention table, the relative error let pass, and the resolution of the profiler's timer.
const MOST_KNOTS: [usize; 2] = [40, 20];
const GRID_ERROR: f64 = 0.02;
const TIMER_US: f64 = 0.5;

/// An all-reduce in terms of sending: a ring of n sends 2 (n - 1) / n of the message over each link. Latency and factor
/// are those of the A100's measured collectives.
const RING_US: f64 = 40.0;
const RING_FACTOR: f64 = 1.4;

/// Bytes/s and FLOP/s that the A100 of [`AttentionFormula::A100`] reaches in products.
const A100_BYTES: f64 = 1.65e12;
const A100_FLOPS: f64 = 2.6e14;

impl Profile {
    /// Fits a compact profile to raw tables, and says how far it is from them. Where attention or all-reduces of a degree
    /// were not taken, they are modelled.
    ///
    /// # Errors
    /// Where a degree above 1 has neither all-reduces nor messages to model them from.
    pub fn fit(raw: &RawTables) -> Result<(Self, Vec<OperatorError>), ProfileError> {
        let message = |line: &RawLine| fit_line(line, |_| 0.0);
        let lines = raw.lines.iter().map(message).collect();
        let networks = raw.networks.iter().map(|network| NodeNetwork {
            name: network.name.clone(),
            node_gpus: network.node_gpus,
            lines: network.lines.iter().map(message).collect(),
            all_reduces: network.all_reduces.iter().map(|(gpus, line)| (*gpus, message(line))).collect(),
        });
        let networks = networks.collect();
        let speed = speed_of(raw);
        let mut degrees = Vec::new();
        for degree in &raw.degrees {
            degrees.push(fit_degree(raw, degree, speed)?);
        }
        let (gpu, model) = (raw.gpu.clone(), raw.model.clone());
        let profile =
            Self { gpu, model, shape: raw.shape, node_gpus: raw.node_gpus, lines, degrees, networks };
        let errors = profile.errors(raw);
        Ok((profile, errors))
    }

    /// How far the profile is from raw tables, by operator.
    pub fn errors(&self, raw: &RawTables) -> Vec<OperatorError> {
        let mut errors = Vec::new();
        let mut compare = |degree: u32, ours: &[OperatorLine], theirs: &[RawLine]| {
            for line in ours {
                let curve = line.knots.line(1.0);
                let raw = theirs.iter().find(|r| r.operator == line.operator);
                let points = raw.map_or(&[][..], |r| &r.points);
                let pairs = points.iter().map(|&(x, us)| (curve.at(x.into()), us));
                errors.push(error(degree, line.operator.name, line.origin, pairs));
            }
        };
        compare(0, &self.lines, &raw.lines);
        for degree in &self.degrees {
            let of_raw = raw.degrees.iter().find(|d| d.degree == degree.degree);
            compare(degree.degree, &degree.lines, of_raw.map_or(&[][..], |r| &r.lines));
        }
        for degree in &self.degrees {
            let of_raw = raw.degrees.iter().find(|d| d.degree == degree.degree);
            let attention = of_raw.and_then(|d| d.attention.as_ref());
            let (decode, prefill) = (degree.attention.decode(), degree.attention.prefill());
            let points = attention.map_or(&[][..], |a| &a.decode);
            let pairs = points.iter().map(|&(n, kv, us)| (decode.at(n.into(), kv.into()), us));
            errors.push(error(degree.degree, "attn_decode", degree.attention.origin, pairs));
            let points = attention.map_or(&[][..], |a| &a.prefill);
            let pairs = points.iter().map(|&(kv, chunk, us)| (prefill.at(kv.into(), chunk.into()), us));
            errors.push(error(degree.degree, "attn_prefill", degree.attention.origin, pairs));
        }
        errors
    }
}

fn error(
    degree: u32,
    name: &'static str,
    origin: TimedOrigin,
    pairs: impl Iterator<Item = (f64, f64)>,
) -> OperatorError {
    let mut errors: Vec<f64> =
        pairs.filter(|p| p.1 > 0.0).map(|(ours, theirs)| (ours / theirs - 1.0).abs()).collect();
    errors.sort_by(f64::total_cmp);
    let at =
        |q: f64| errors.get((q * errors.len().saturating_sub(1) as f64) as usize).copied().unwrap_or(0.0);
    OperatorError { degree, name, origin, points: errors.len(), median: at(0.5), p95: at(0.95) }
}

fn fit_line(line: &RawLine, let_pass_us: impl Fn(u32) -> f64) -> OperatorLine {
    // Measured times of small messages scatter by a factor of several without a trend. What a model says of them is looked up
    // as it is, also where the model keeps some of the scatter.
    let (fineness, is_noisy) = match (line.operator.class, line.operator.by, line.origin) {
        (_, By::Bytes, TimedOrigin::Measured) => (MESSAGES, true),
        (_, By::Bytes, _) => (MESSAGE_LOOK_UPS, false),
        (OperatorClass::Linear, ..) => (GEMM, false),
        _ => (SIMPLE, false),
    };
    let points = if is_noisy { rising(&line.points) } else { line.points.clone() };
    let knots = Knots::through(&points, fineness, let_pass_us);
    OperatorLine { operator: line.operator, origin: line.origin, knots }
}

/// The rising sequence that is nearest in the sum of squares: neighbours that fall are put together at their mean.
fn rising(points: &[(u32, f64)]) -> Vec<(u32, f64)> {
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for &(_, us) in points {
        let mut block = (us, 1);
        while let Some(before) = blocks.pop_if(|b| b.0 * block.1 as f64 >= block.0 * b.1 as f64) {
            block = (before.0 + block.0, before.1 + block.1);
        }
        blocks.push(block);
    }
    let means = blocks.iter().flat_map(|&(sum, n)| std::iter::repeat_n(sum / n as f64, n));
    points.iter().map(|p| p.0).zip(means).collect()
}

fn fit_degree(raw: &RawTables, degree: &RawDegree, speed: Speed) -> Result<Degree, ProfileError> {
    let per_layer = degree.lines.iter().filter(|l| l.operator.by == By::Tokens);
    let layer: Vec<&RawLine> = per_layer.collect();
    let let_pass_us = |tokens: u32| {
        let at = |line: &&RawLine| {
            let i = line.points.partition_point(|p| p.0 < tokens);
            line.points.get(i).map_or(0.0, |p| p.1)
        };
        SHARE_OF_LAYER * layer.iter().map(at).sum::<f64>()
    };
    let mut lines: Vec<OperatorLine> = degree
        .lines
        .iter()
        .map(|line| {
            let is_token = line.operator.by == By::Tokens;
            fit_line(line, |x| if is_token { let_pass_us(x) } else { 0.0 })
        })
        .collect();
    if degree.degree > 1 && lines.iter().all(|l| l.operator != &OPERATORS[10]) {
        lines.push(modelled_all_reduce(raw, degree.degree)?);
    }
    let heads = raw.heads(degree.degree);
    let attention = match &degree.attention {
        Some(measured) => fit_attention(measured),
        None => AttentionProfile {
            origin: TimedOrigin::Modelled,
            decode_formula: AttentionFormula::A100.decode_formula(&heads, speed),
            prefill_formula: AttentionFormula::A100.prefill_formula(&heads, speed),
            decode: None,
            prefill: None,
        },
    };
    let errors =
        FitErrors { layer: layer_errors(&lines, &layer), attention: attention_errors(degree, &attention) };
    Ok(Degree { degree: degree.degree, errors, lines, attention })
}

/// Errors of the token operators of a layer together. All were taken at the same numbers of tokens.
fn layer_errors(ours: &[OperatorLine], theirs: &[&RawLine]) -> [u32; 2] {
    let Some(first) = theirs.first() else { return [0; 2] };
    let lines: Vec<KnotLine> =
        ours.iter().filter(|l| l.operator.by == By::Tokens).map(|l| l.knots.line(1.0)).collect();
    let curve = KnotLine::sum(lines.iter());
    let pairs = first.points.iter().enumerate().map(|(i, p)| {
        (curve.at(p.0.into()), theirs.iter().map(|l| l.points.get(i).map_or(0.0, |p| p.1)).sum::<f64>())
    });
    ten_thousandths(&error(0, "", TimedOrigin::Measured, pairs))
}

fn attention_errors(degree: &RawDegree, ours: &AttentionProfile) -> [u32; 2] {
    let Some(raw) = &degree.attention else { return AttentionFormula::A100_ERRORS };
    let (decode, prefill) = (ours.decode(), ours.prefill());
    let decoding = raw.decode.iter().map(|&(n, kv, us)| (decode.at(n.into(), kv.into()), us));
    let prompts = raw.prefill.iter().map(|&(kv, chunk, us)| (prefill.at(kv.into(), chunk.into()), us));
    ten_thousandths(&error(0, "", raw.origin, decoding.chain(prompts)))
}

fn ten_thousandths(error: &OperatorError) -> [u32; 2] {
    [error.median, error.p95].map(|x| (x * 1e4).round().min(1e6) as u32)
}

fn modelled_all_reduce(raw: &RawTables, degree: u32) -> Result<OperatorLine, ProfileError> {
    let sends = raw.lines.iter().find(|l| l.operator == &OPERATORS[11]);
    let Some(sends) = sends.filter(|l| !l.points.is_empty()) else {
        let expected = "rows of this degree, or a send_recv.csv to model them from,";
        return Err(ProfileError::BadSetting { name: "all_reduce.csv", expected });
    };
    let points = rising(&sends.points);
    let ring = RING_FACTOR * 2.0 * f64::from(degree - 1) / f64::from(degree);
    let points: Vec<_> =
        points.iter().map(|&(bytes, us)| (bytes, RING_US + ring * (us - points[0].1))).collect();
    let knots = Knots::through(&points, MESSAGES, |_| 0.0);
    Ok(OperatorLine { operator: &OPERATORS[10], origin: TimedOrigin::Modelled, knots })
}

/// How fast the GPU is at attention, by what its products reach: bytes/s of the weights with few tokens, FLOP/s with many.
fn speed_of(raw: &RawTables) -> Speed {
    let shape = &raw.shape;
    let (mut bytes, mut flops) = (0.0_f64, 0.0_f64);
    for degree in &raw.degrees {
        let share = 1.0 / f64::from(degree.degree);
        let mlp = f64::from(shape.hidden) * f64::from(shape.mlp_hidden) * share;
        for line in &degree.lines {
            let weights = match line.operator.name {
                "mlp_up_proj" if shape.gated_mlp => 2.0 * mlp,
                "mlp_up_proj" | "mlp_down_proj" => mlp,
                _ => continue,
            };
            for &(tokens, us) in line.points.iter().filter(|p| p.1 > 0.0) {
                let us = us * 1e-6;
                if tokens <= 16 {
                    bytes = bytes.max(2.0 * weights / us);
                }
                flops = flops.max(2.0 * weights * f64::from(tokens) / us);
            }
        }
    }
    let relative = |found: f64, of_a100: f64| if found > 0.0 { found / of_a100 } else { 1.0 };
    let (bandwidth, flops) = (relative(bytes, A100_BYTES), relative(flops, A100_FLOPS));
    // A kernel made for an older GPU does not use what only the products of a newer one do (H100: products 3.3 times an
    // A100's, FlashAttention-2 1.5 times).
    Speed { bandwidth, flops: flops.min(bandwidth.max(1.0)) }
}

fn fit_attention(raw: &RawAttention) -> AttentionProfile {
    let formula = AttentionFormula::fit(&[raw.measured()]);
    let heads: &AttentionHeads = &raw.heads;
    let (decode_formula, prefill_formula) =
        (formula.decode_formula(heads, Speed::SAME), formula.prefill_formula(heads, Speed::SAME));
    let decode = KnotGrid::through(&raw.decode, MOST_KNOTS, GRID_ERROR, TIMER_US, super::line::TENTHS);
    // Long chunks with long KV are missing where they are longer than the model's limit: as a ratio to the formula a table
    // goes on beyond that.
    let ratios: Vec<(u32, u32, f64)> = raw
        .prefill
        .iter()
        .map(|&(kv, chunk, us)| {
            let formula = prefill_formula.at(kv.into(), chunk.into());
            (chunk, kv, if formula > 0.0 { (us / formula).min(1e6) } else { 1.0 })
        })
        .collect();
    let prefill = KnotGrid::through(&ratios, MOST_KNOTS, GRID_ERROR, GRID_ERROR, 1e3);
    AttentionProfile {
        origin: raw.origin,
        decode_formula,
        prefill_formula,
        decode: Some(decode),
        prefill: Some(prefill),
    }
}

impl AttentionProfile {
    pub(super) fn decode(&self) -> Decode {
        self.decode.as_ref().map_or(Decode::Formula(self.decode_formula), |grid| Decode::Table(grid.rising()))
    }

    pub(super) fn prefill(&self) -> Prefill {
        Prefill { formula: self.prefill_formula, ratio: self.prefill.as_ref().map(KnotGrid::level) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_messages_are_smoothed_and_look_ups_are_not() {
        let points = vec![(1 << 17, 53.5), (1 << 18, 37.0), (1 << 19, 52.5)];
        let times = |origin| {
            let line = RawLine { operator: &OPERATORS[10], origin, points: points.clone() };
            fit_line(&line, |_| 0.0).knots.tenths
        };
        assert_eq!(times(TimedOrigin::Modelled), [535, 370, 525]);
        assert_eq!(times(TimedOrigin::Measured), [453, 453, 525], "the two that fall are at their mean");
    }
}
