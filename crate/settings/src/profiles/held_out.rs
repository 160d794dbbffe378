//! How far timed operators are off where nothing was timed: at profiled points that a fit has not seen, and for attention
//! heads that the attention formula has not seen. What was found on the data of the shipped profiles is recorded.

use serde::Serialize;
use servescope_cost::profile::{
    AttentionFormula, Degree, Profile, RawAttention, RawTables, Speed, TimedOrigin,
};
use servescope_workload::statistics::sort;

use super::{Folder, Summed, file_name, raw_tables, summed};

/// What [`held_out`] gave on the data that the shipped profiles are fitted to, as a table.
pub const HELD_OUT: &str = include_str!("held-out.txt");

/// What [`unseen_heads`] gave on them: decoding and prompts, the median error of the best predicted heads and of the worst.
pub const UNSEEN_HEADS: [UnseenHeads; 2] = [
    UnseenHeads { name: "decode", best: 0.148, worst: 0.296 },
    UnseenHeads { name: "prompts", best: 0.183, worst: 0.218 },
];

/// Median errors of the attention formula for heads on which it was not fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnseenHeads {
    /// `decode` or `prompts`.
    pub name: &'static str,
    /// Of the heads that it predicts best.
    pub best: f64,
    /// Of those that it predicts worst.
    pub worst: f64,
}

/// What a deployment's times are off by where nothing was timed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct HeldOutError {
    /// `products`, `decode` or `prompts`.
    #[cfg_attr(feature = "types", ts(type = "'products' | 'decode' | 'prompts'"))]
    pub name: &'static str,
    /// What the fit had not seen: every other of the `points`, or, where attention is a formula, the `heads`.
    #[cfg_attr(feature = "types", ts(type = "'points' | 'heads'"))]
    pub unseen: &'static str,
    /// Median of the relative errors; of heads that of the best predicted.
    pub from: f64,
    /// Their 95th percentile; of heads the median of the worst predicted.
    pub to: f64,
}

/// Fits every profile below a folder to half of its points and predicts the other half.
///
/// # Errors
/// A message that names the file, row and column.
pub fn held_out(folder: &dyn Folder) -> Result<Vec<Summed>, String> {
    let mut errors = Vec::new();
    for raw in raw_tables(folder)? {
        let (kept, rest) = raw.halves();
        let name = file_name(&raw.gpu, &raw.model);
        let (profile, _) = Profile::fit(&kept).map_err(|error| format!("{name}: {error}"))?;
        errors.extend(profile.errors(&rest));
    }
    Ok(summed(errors.into_iter()))
}

/// Every attention that was taken on the formula's GPU, once for each number of heads.
pub fn law_attention(all: &[RawTables]) -> Vec<&RawAttention> {
    let a100 = all.iter().filter(|raw| raw.gpu == "a100");
    let mut sets: Vec<&RawAttention> = Vec::new();
    for attention in a100.flat_map(|raw| &raw.degrees).filter_map(|d| d.attention.as_ref()) {
        if !sets.contains(&attention) {
            sets.push(attention);
        }
    }
    sets
}

/// Median and 95th percentile of the relative errors of a formula: of decoding, and of prompts.
pub fn formula_errors(formula: &AttentionFormula, set: &RawAttention) -> [[f64; 2]; 2] {
    let decode = formula.decode_formula(&set.heads, Speed::SAME);
    let prefill = formula.prefill_formula(&set.heads, Speed::SAME);
    let spread = |mut errors: Vec<f64>| {
        sort(&mut errors);
        let at = |place: usize| errors.get(place).copied().unwrap_or(0.0);
        [at(errors.len() / 2), at(errors.len() * 95 / 100)]
    };
    let off = |ours: f64, us: f64| (ours / us - 1.0).abs();
    [
        spread(set.decode.iter().map(|&(n, kv, us)| off(decode.at(n.into(), kv.into()), us)).collect()),
        spread(
            set.prefill.iter().map(|&(kv, chunk, us)| off(prefill.at(kv.into(), chunk.into()), us)).collect(),
        ),
    ]
}

/// Fits the attention formula to one number of heads and predicts another, both ways between neighbours. `None` where fewer
/// than two were timed, or none was timed on the hardware.
///
/// # Errors
/// A message that names the file, row and column.
pub fn unseen_heads(folder: &dyn Folder) -> Result<Option<[UnseenHeads; 2]>, String> {
    let all = raw_tables(folder)?;
    let sets = law_attention(&all);
    if sets.len() < 2 || !sets.iter().any(|set| set.origin == TimedOrigin::Measured) {
        return Ok(None);
    }
    let pairs = sets.windows(2).flat_map(|two| [(two[0], two[1]), (two[1], two[0])]);
    let medians: Vec<[f64; 2]> = pairs
        .map(|(seen, unseen)| {
            formula_errors(&AttentionFormula::fit(&[seen.measured()]), unseen).map(|[median, _]| median)
        })
        .collect();
    let spread = |name, i: usize| {
        let of = medians.iter().map(|both| both[i]);
        let best = of.clone().fold(f64::INFINITY, f64::min);
        UnseenHeads { name, best, worst: of.fold(0.0, f64::max) }
    };
    Ok(Some([spread("decode", 0), spread("prompts", 1)]))
}

/// The recorded errors as a line each.
pub fn unseen_heads_table(all: &[UnseenHeads]) -> String {
    let line =
        |u: &UnseenHeads| format!("{:<10}median {:.1} % to {:.1} %", u.name, 100.0 * u.best, 100.0 * u.worst);
    all.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Median and 95th percentile of an operator in the recorded table.
fn recorded(operator: &str, origin: TimedOrigin) -> Option<[f64; 2]> {
    HELD_OUT.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        if words.next()? != operator || words.next()? != origin.name() {
            return None;
        }
        // Tables and points, then two figures as `usual % (worst %)`.
        let mut figure =
            |skipped: usize| words.nth(skipped)?.parse::<f64>().ok().map(|percent| percent / 100.0);
        Some([figure(2)?, figure(3)?])
    })
}

/// What is recorded for one degree of a shipped profile.
pub fn held_out_of(degree: &Degree) -> Vec<HeldOutError> {
    let products = ["attn_pre_proj", "attn_post_proj", "mlp_up_proj", "mlp_down_proj"];
    // The worst of the four speaks for all.
    let worst = products
        .iter()
        .filter_map(|name| recorded(name, TimedOrigin::Measured))
        .reduce(|a, b| [a[0].max(b[0]), a[1].max(b[1])]);
    let points = |name, [from, to]: [f64; 2]| HeldOutError { name, unseen: "points", from, to };
    let mut all: Vec<HeldOutError> = worst.map(|both| points("products", both)).into_iter().collect();
    for (unseen, operator) in UNSEEN_HEADS.iter().zip(["attn_decode", "attn_prefill"]) {
        let UnseenHeads { name, best, worst } = *unseen;
        match degree.attention.origin {
            TimedOrigin::Modelled => all.push(HeldOutError { name, unseen: "heads", from: best, to: worst }),
            origin => all.extend(recorded(operator, origin).map(|both| points(name, both))),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::shipped_profiles;

    #[test]
    fn every_shipped_degree_has_its_three_recorded_errors() {
        for (gpu, model) in shipped_profiles() {
            for degree in &super::super::shipped_profile(gpu, model).unwrap().degrees {
                let all = held_out_of(degree);
                let names: Vec<&str> = all.iter().map(|error| error.name).collect();
                assert_eq!(names, ["products", "decode", "prompts"], "{gpu} {model} {}", degree.degree);
                assert!(all.iter().all(|error| 0.0 < error.from && error.from < error.to && error.to < 0.5));
                let is_modelled = degree.attention.origin == TimedOrigin::Modelled;
                assert_eq!(all[1].unseen, if is_modelled { "heads" } else { "points" });
            }
        }
        assert_eq!(recorded("attn_decode", TimedOrigin::Measured), Some([0.0148, 0.125]));
        assert_eq!(recorded("attn_decode", TimedOrigin::Modelled), None);
    }
}
