//! Statistics as JSON, in the keys and the rounding of `trace_stats.py`: six significant digits, whole numbers as they
//! are.

use serde_json::{Map, Value as Json, json};
use servescope_workload::statistics::{
    ArrivalStatistics, Description, PERCENTILES, PrefixReuse, SHARES, Skew, pearson, ranked, spearman,
    variation_quantiles,
};

/// A number to six significant digits; null for one that is none.
pub(super) fn round(value: f64) -> Json {
    round_to(value, 6)
}

/// A number to this many significant digits, as its decimal text is rounded.
fn round_to(value: f64, digits: usize) -> Json {
    let text = format!("{value:.places$e}", places = digits - 1);
    text.parse::<f64>().ok().filter(|v| v.is_finite()).map_or(Json::Null, Json::from)
}

/// A number without the noise of its computation, which stands in the last of sixteen digits.
pub(super) fn tidy(value: f64) -> Json {
    round_to(value, 12)
}

/// A number that may be absent.
pub(super) fn round_some(value: Option<f64>) -> Json {
    value.map_or(Json::Null, round)
}

/// A value of the data: as it is, and without a point where it is whole.
pub(super) fn exact(value: f64) -> Json {
    if value == value.trunc() && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

/// Mean, spread, percentiles and the lognormal distribution of a column.
pub(super) fn describe(values: Vec<f64>) -> Json {
    let mut described = describe_plainly(values.clone());
    if let Some((mu, sigma)) = Description::of(values).and_then(|d| d.lognormal) {
        described["lognormal_mu"] = round(mu);
        described["lognormal_sigma"] = round(sigma);
    }
    described
}

/// The same without a distribution: for counts and differences.
pub(super) fn describe_plainly(values: Vec<f64>) -> Json {
    let Some(d) = Description::of(values) else { return json!({"n": 0}) };
    let mut described = json!({
        "n": d.count, "mean": round(d.mean), "std": round(d.std), "cv": round_some(d.cv),
        "min": exact(d.min), "max": exact(d.max),
    });
    for (p, value) in PERCENTILES.iter().zip(d.percentiles) {
        described[format!("p{p}")] = round(value);
    }
    described
}

/// How unevenly labels are used. `whole` says that the counts are whole numbers.
pub(super) fn skew(counts: impl IntoIterator<Item = f64>, most: usize, whole: bool) -> Json {
    let mut counts = ranked(counts);
    counts.truncate(most);
    let number = |value: f64| if whole { exact(value) } else { round(value) };
    let few = json!({"labels": counts.len(), "counts": counts.iter().map(|&c| exact(c)).collect::<Vec<_>>()});
    let Some(s) = Skew::of(counts) else { return few };
    let mut json = json!({
        "labels": s.counts.len(),
        "total": number(s.total),
        "max": number(s.counts[0]),
        "share_of_top_1": round(s.counts[0] / s.total),
        "share_of_top_10": round(s.top_10),
    });
    for (share, labels) in SHARES.iter().zip(s.labels_for) {
        json[format!("labels_for_{}pct", share * 100.0)] = labels.into();
    }
    json["zipf_mle"] = round(s.zipf_exponent);
    json["zipf_loglog_slope_all_ranks"] = round(s.slope);
    json["zipf_loglog_slope_top_100"] = round(s.slope_top_100);
    json
}

/// Statistics of times of arrival in seconds, ascending; null for fewer than two.
pub(super) fn arrivals(times_s: &[f64]) -> Json {
    let Some(a) = ArrivalStatistics::of(times_s) else { return Json::Null };
    let n = a.requests as f64;
    let mut dispersion = Map::new();
    for (window, value) in &a.dispersion {
        dispersion.insert(format!("{window}s"), round_some(*value));
    }
    let per_minute = a.minutes().map_or_else(
        || json!({}),
        |(minutes, lag_1)| {
            let mut json = describe_plainly(a.per_minute.clone());
            json["peak_to_mean"] = round(minutes.max / minutes.mean);
            json["minutes"] = minutes.count.into();
            json["lag1_autocorrelation"] = round_some(lag_1);
            json
        },
    );
    let moments = a.gap_mean_s / a.gap_std_s;
    let mut json = json!({
        "requests": a.requests,
        "span_s": round_to(a.span_s, 9),
        "mean_rate_per_min": round(60.0 * n / a.span_s),
        "mean_rate_per_s": round(n / a.span_s),
        "iat_mean_s": round(a.gap_mean_s),
        "iat_cv": round(a.gap_std_s / a.gap_mean_s),
        "iat_zero_share": round(a.zero_gaps),
        "gamma_shape_moments_1_over_cv2": round(moments * moments),
        "gamma_shape_mle_positive_iats": round_some(a.gamma_shape),
        "weibull_shape_mle_positive_iats": round_some(a.weibull_shape),
        "ks_distance_to_gamma_of_same_mean_and_cv": round_some(a.gamma_distance),
        "iat_lag1_autocorrelation": round_some(a.gap_lag_1),
        "index_of_dispersion": dispersion,
        "per_minute": per_minute,
    });
    for (window, variations) in &a.within {
        let [p10, p50, p90] = variation_quantiles(variations);
        json[format!("iat_cv_within_{window}s_windows")] = json!({
            "windows": variations.len(), "p10": round(p10), "p50": round(p50), "p90": round(p90),
            "gamma_shape_of_median": round(1.0 / (p50 * p50)),
        });
    }
    json
}

/// Statistics of prompt and output lengths.
pub(super) fn lengths(input: &[f64], output: &[f64]) -> Json {
    let total = |column: &[f64]| column.iter().sum::<f64>();
    json!({
        "input_tokens": describe(input.to_vec()),
        "output_tokens": describe(output.to_vec()),
        "pearson_in_out": round_some(pearson(input, output)),
        "spearman_in_out": round_some(spearman(input, output)),
        "total_input_tokens": exact(total(input)),
        "total_output_tokens": exact(total(output)),
        "input_to_output_ratio": round(total(input) / total(output).max(1.0)),
    })
}

/// Most labels for which the popularity of blocks is given.
const MOST_BLOCKS: usize = 20_000;

/// Reuse of prefix blocks; `sizes` has the number of blocks of each request.
pub(super) fn prefix(reuse: &PrefixReuse, block_tokens: u32, sizes: Vec<f64>) -> Json {
    let uses: Vec<f64> = reuse.uses().collect();
    let once = uses.iter().filter(|&&n| n == 1.0).count() as f64;
    let requests = sizes.len() as f64;
    json!({
        "block_tokens": block_tokens,
        "block_references": reuse.blocks,
        "distinct_blocks": uses.len(),
        "unlimited_cache_block_hit_rate": round(reuse.found_blocks as f64 / reuse.blocks as f64),
        "unlimited_cache_token_hit_rate": round(reuse.found_tokens as f64 / reuse.tokens as f64),
        "requests_with_any_hit_share": round(reuse.requests_with_any as f64 / requests),
        "blocks_used_once_share": round(once / uses.len() as f64),
        "most_used_block": exact(uses.iter().copied().fold(0.0, f64::max)),
        "blocks_per_request": describe(sizes),
        "popularity": skew(uses, MOST_BLOCKS, true),
    })
}

/// How often each name occurs, in the order of first mention.
pub(super) fn count_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Json {
    let mut counts: Map<String, Json> = Map::new();
    for name in names {
        let count = counts.entry(name).or_insert_with(|| json!(0));
        *count = json!(count.as_u64().unwrap_or(0) + 1);
    }
    counts.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_as_python_rounds_them() {
        assert_eq!(round(0.005_781_804_9), json!(0.005_781_8));
        assert_eq!(round(2_047.847_5), json!(2_047.85));
        assert_eq!(round(1_234_567.8), json!(1_234_570.0));
        assert_eq!(round(f64::NAN), Json::Null);
        assert_eq!(exact(-137_738.0), json!(-137_738));
        assert_eq!(exact(1.5), json!(1.5));
    }

    #[test]
    fn few_values_are_told_without_distributions() {
        assert_eq!(describe(Vec::new()), json!({"n": 0}));
        assert_eq!(describe(vec![0.0])["cv"], Json::Null);
        assert_eq!(skew([3.0, 0.0, 1.0], 10, true), json!({"labels": 2, "counts": [3, 1]}));
        assert_eq!(arrivals(&[0.0]), Json::Null);
    }
}
