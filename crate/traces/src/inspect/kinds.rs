//! How each kind of file is described: the entries of a `stats.json` as `trace_stats.py` makes them.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use servescope_workload::Trace;
use servescope_workload::formats::{
    AgentSession, Call, Contents, Format, Histogram, LengthWindow, Lengths, ServeGenWindow, TraceFile,
    time_text,
};
use servescope_workload::statistics::{PrefixReuse, sort, sort_by_number};
use servescope_workload::trace::{Labels, TraceMetadata};

use super::parts::{
    arrivals, count_names, describe, describe_plainly, exact, lengths, prefix, round, round_some, skew,
};

/// The statistics of a file.
pub(super) fn statistics(file: &TraceFile) -> Json {
    let mut json = json!({"kind": file.format.name()});
    let more = match &file.contents {
        Contents::Requests { requests, start_ticks, .. } => match file.format {
            Format::Azure => azure(requests, start_ticks.unwrap_or(0)),
            Format::Mooncake => mooncake(requests),
            Format::BurstGpt => burstgpt(requests),
            _ => other(requests),
        },
        Contents::Sessions(sessions) => agent_sessions(sessions),
        Contents::Lengths(lengths) => vidur_lengths(lengths),
        Contents::Windows(windows) => servegen(windows),
        Contents::Histograms(windows) => servegen_lengths(windows),
    };
    super::merge(&mut json, more);
    json
}

fn floats(column: &[u32]) -> Vec<f64> {
    column.iter().map(|&v| f64::from(v)).collect()
}

fn metadata(trace: &Trace) -> TraceMetadata {
    trace.metadata.as_deref().cloned().unwrap_or_default()
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    sort(&mut values);
    values
}

fn seconds(trace: &Trace) -> Vec<f64> {
    sorted(trace.arrival_us.iter().map(|t| t / 1e6).collect())
}

fn lengths_of(trace: &Trace) -> Json {
    lengths(&floats(&trace.input_tokens), &floats(&trace.output_tokens))
}

/// Requests of each label, in the order of the names.
fn uses(labels: &Labels) -> Vec<f64> {
    let mut uses = vec![0.0; labels.names.len()];
    for &place in &labels.index {
        if let Some(count) = uses.get_mut(place as usize) {
            *count += 1.0;
        }
    }
    uses
}

fn azure(trace: &Trace, start_ticks: i64) -> Json {
    // Seconds since 1970 in one double, as Python has them: times have its rounding.
    let epoch_s = |us: f64| {
        let ticks = start_ticks + (us * 10.0 + 0.5) as i64;
        ticks.div_euclid(10_000_000) as f64 + ticks.rem_euclid(10_000_000) as f64 / 1e7
    };
    let start_s = epoch_s(0.0);
    let micros = ((start_s - start_s.floor()) * 1e6).round_ties_even() as i64;
    let stamp = time_text(start_s.floor() as i64 * 10_000_000 + micros * 10).replacen(' ', "T", 1);
    let stamp = stamp.trim_end_matches('0');
    // Six digits of a second, and none where it is whole.
    let stamp = match stamp.split_once('.') {
        Some((whole, "")) => whole.to_owned(),
        Some((whole, fraction)) => format!("{whole}.{fraction:0<6}"),
        None => stamp.to_owned(),
    };
    let times = sorted(trace.arrival_us.iter().map(|&us| epoch_s(us) - start_s).collect());
    json!({
        "rows": trace.len(),
        "sorted_in_file": trace.arrival_us.is_sorted(),
        "first_timestamp_utc": format!("{stamp}+00:00"),
        "arrivals": arrivals(&times),
        "lengths": lengths_of(trace),
    })
}

/// Most gaps between time stamps that are listed.
const MOST_COMMON: usize = 5;

fn mooncake(trace: &Trace) -> Json {
    let stamps_ms = sorted(trace.arrival_us.iter().map(|t| t / 1e3).collect());
    let batches: Vec<&[f64]> = stamps_ms.chunk_by(|a, b| a == b).collect();
    let mut steps: Vec<(f64, usize)> = Vec::new();
    for step in batches.windows(2).map(|pair| pair[1][0] - pair[0][0]) {
        match steps.iter_mut().find(|(known, _)| *known == step) {
            Some((_, count)) => *count += 1,
            None => steps.push((step, 1)),
        }
    }
    // Stable: equal counts stay in the order of first mention.
    steps.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    steps.truncate(MOST_COMMON);
    let blocks = metadata(trace).prefix;
    let whole = (0..trace.len()).filter(|&id| {
        blocks.of(id).len() == trace.input_tokens[id].div_ceil(blocks.block_tokens.max(1)) as usize
    });
    let mut json = json!({
        "rows": trace.len(),
        "sorted_in_file": trace.arrival_us.is_sorted(),
        "distinct_timestamps": batches.len(),
        "most_common_gaps_between_distinct_timestamps_ms":
            steps.iter().map(|&(step, count)| json!([exact(step), count])).collect::<Vec<_>>(),
        "requests_per_distinct_timestamp": describe(batches.iter().map(|b| b.len() as f64).collect()),
        "arrivals": arrivals(&seconds(trace)),
        "lengths": lengths_of(trace),
        "rows_where_blocks_equal_ceil_input_over_512": whole.count(),
    });
    super::merge(&mut json, prefix_of(trace));
    json
}

/// `prefix`, where a file has blocks.
fn prefix_of(trace: &Trace) -> Json {
    let blocks = metadata(trace).prefix;
    if blocks.prompts.ids.is_empty() {
        return json!({});
    }
    let mut reuse = PrefixReuse::default();
    let mut sizes = Vec::with_capacity(trace.len());
    for (id, &tokens) in trace.input_tokens.iter().enumerate() {
        reuse.add(blocks.of(id), tokens, blocks.block_tokens);
        sizes.push(blocks.of(id).len() as f64);
    }
    json!({"prefix": prefix(&reuse, blocks.block_tokens, sizes)})
}

fn burstgpt(trace: &Trace) -> Json {
    let metadata = metadata(trace);
    let names = |labels: &Labels| count_names((0..trace.len()).map(|id| labels.name(id).unwrap_or("")));
    let zeros = |column: &[u32]| column.iter().filter(|&&v| v == 0).count();
    let answered = (0..trace.len() as u32).filter(|&id| trace.output_tokens[id as usize] > 0);
    let answered = trace.select(&answered.collect::<Vec<_>>());
    let mut json = json!({
        "rows": trace.len(),
        "sorted_in_file": trace.arrival_us.is_sorted(),
        "failed_rows_zero_response": zeros(&trace.output_tokens),
        "zero_request_rows": zeros(&trace.input_tokens),
        "by_model": names(&metadata.model),
        "by_log_type": names(&metadata.kind),
        "arrivals": arrivals(&seconds(trace)),
        "lengths_all_rows": lengths_of(trace),
        "lengths_nonzero_response": lengths_of(&answered),
    });
    if !metadata.session.is_empty() {
        json["sessions"] = sessions_of(&metadata.session);
        json["elapsed_time_s"] =
            describe(metadata.recorded_latency_s.into_iter().filter(|t| !t.is_nan()).collect());
    }
    json
}

fn sessions_of(session: &Labels) -> Json {
    let turns: Vec<f64> = uses(session).into_iter().filter(|&n| n > 0.0).collect();
    json!({
        "rows_with_session": exact(turns.iter().sum()),
        "turns_per_session": describe(turns.clone()),
        "popularity": skew(turns, usize::MAX, true),
    })
}

/// A log of a kind without definitions of its own.
fn other(trace: &Trace) -> Json {
    let mut json = json!({
        "rows": trace.len(),
        "sorted_in_file": trace.arrival_us.is_sorted(),
        "arrivals": arrivals(&seconds(trace)),
        "lengths": lengths_of(trace),
    });
    let session = metadata(trace).session;
    if !session.is_empty() {
        json["sessions"] = sessions_of(&session);
    }
    super::merge(&mut json, prefix_of(trace));
    json
}

fn vidur_lengths(rows: &Lengths) -> Json {
    json!({
        "rows": rows.input_tokens.len(),
        "lengths": lengths(&floats(&rows.input_tokens), &floats(&rows.output_tokens)),
    })
}

fn agent_sessions(sessions: &[AgentSession]) -> Json {
    let calls: Vec<&Call> = sessions.iter().flat_map(|s| &s.calls).collect();
    let column = |of: fn(&Call) -> Option<f64>| calls.iter().filter_map(|c| of(c)).collect::<Vec<f64>>();
    let input = |call: &Call| f64::from(call.input_tokens);
    let per_session: Vec<f64> = sessions.iter().map(|s| s.calls.len() as f64).collect();
    let firsts = sessions.iter().filter_map(|s| s.calls.first()).map(input).collect();
    let pairs = sessions.iter().flat_map(|s| s.calls.windows(2));
    let growth = pairs.map(|pair| input(&pair[1]) - input(&pair[0])).collect();
    let (mut blocks, mut found) = (0, 0);
    for session in sessions {
        // Ids have meaning inside one session.
        let mut reuse = PrefixReuse::default();
        session.calls.iter().for_each(|c| reuse.add(&c.hash_ids, c.input_tokens, session.block_tokens));
        blocks += reuse.blocks;
        found += reuse.found_blocks;
    }
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "null".to_owned());
    let models: Vec<String> = calls.iter().map(|c| name(&c.model)).collect();
    let stops: Vec<String> = calls.iter().map(|c| name(&c.stop)).collect();
    json!({
        "sessions": sessions.len(),
        "model_requests": calls.len(),
        "subagent_calls": sessions.iter().map(|s| s.agents.len()).sum::<usize>(),
        "block_tokens": sessions.first().map(|s| s.block_tokens),
        "requests_per_session": describe(per_session.clone()),
        "popularity_of_sessions": skew(per_session, usize::MAX, true),
        "lengths": lengths(
            &column(|c| Some(f64::from(c.input_tokens))),
            &column(|c| Some(f64::from(c.output_tokens))),
        ),
        "first_request_input_tokens": describe(firsts),
        "input_growth_between_requests": describe_plainly(growth),
        "think_time_s": describe(column(|c| c.think_time_s)),
        "api_time_s": describe(column(|c| c.api_time_s)),
        "within_session_unlimited_cache_block_hit_rate": round(f64::from(found as u32) / (blocks.max(1) as f64)),
        "tool_tokens": describe(sessions.iter().filter_map(|s| s.tool_tokens).collect()),
        "system_tokens": describe(sessions.iter().filter_map(|s| s.system_tokens).collect()),
        "by_model": count_names(models.iter().map(String::as_str)),
        "by_stop": count_names(stops.iter().map(String::as_str)),
    })
}

fn servegen(windows: &[ServeGenWindow]) -> Json {
    let mut clients: Vec<(&str, Vec<f64>)> = Vec::new();
    let mut place_of: BTreeMap<&str, usize> = BTreeMap::new();
    let mut aggregate: Vec<(f64, f64)> = Vec::new();
    for window in windows {
        let place = *place_of.entry(&window.client).or_insert_with(|| {
            clients.push((&window.client, Vec::new()));
            clients.len() - 1
        });
        clients[place].1.push(window.rate_rps);
        aggregate.push((window.start_s.trunc(), window.rate_rps));
    }
    // Stable: the rates of one time are added in the order of the file.
    sort_by_number(&mut aggregate, |window| window.0);
    let aggregate: Vec<f64> = aggregate
        .chunk_by(|a, b| a.0 == b.0)
        .map(|windows| windows.iter().map(|(_, rate)| rate).sum())
        .collect();
    let means: Vec<f64> = clients.iter().map(|(_, r)| r.iter().sum::<f64>() / r.len() as f64).collect();
    let active: Vec<&ServeGenWindow> = windows.iter().filter(|w| !w.pattern.is_empty()).collect();
    let variations: Vec<f64> = active.iter().map(|w| w.cv).collect();
    let bursty = variations.iter().filter(|&&cv| cv > 1.0).count() as f64 / variations.len() as f64;
    let mean_rate = aggregate.iter().sum::<f64>() / aggregate.len() as f64;
    let peak = aggregate.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    json!({
        "clients": clients.len(),
        "windows_per_client": clients.first().map(|(_, rates)| rates.len()),
        "active_windows": active.len(),
        "patterns_of_active_windows": count_names(active.iter().map(|w| w.pattern.as_str())),
        "client_mean_rate_per_s": describe(means.clone()),
        "client_popularity": skew(means, usize::MAX, false),
        "iat_cv_of_active_windows": describe(variations),
        "request_weighted_median_cv": round_some(weighted_median(&active)),
        "share_of_active_windows_with_cv_above_1": round(bursty),
        "aggregate_rate_per_s": describe(aggregate),
        "aggregate_peak_to_mean": round(peak / mean_rate),
    })
}

/// Each client's windows and their mean lengths.
fn servegen_lengths(windows: &[LengthWindow]) -> Json {
    let mut clients: Vec<&str> = windows.iter().map(|w| w.client.as_str()).collect();
    clients.sort_unstable();
    clients.dedup();
    let prompts = windows.iter().map(|w| w.prompt.iter().map(Histogram::mean).sum()).collect();
    let reason: Vec<f64> = windows.iter().filter_map(|w| w.reason_share).collect();
    let mut json = json!({
        "rows": clients.len(),
        "clients": clients.len(),
        "windows": windows.len(),
        "mean_input_tokens_of_windows": describe(prompts),
        "mean_output_tokens_of_windows": describe(windows.iter().map(|w| w.answer.mean()).collect()),
    });
    if !reason.is_empty() {
        json["mean_reason_share_of_windows"] = describe_plainly(reason);
    }
    json
}

/// The variation below which windows make half of all requests.
fn weighted_median(windows: &[&ServeGenWindow]) -> Option<f64> {
    let mut pairs: Vec<(f64, f64)> = windows.iter().map(|w| (w.cv, w.rate_rps)).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let half = windows.iter().map(|w| w.rate_rps).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    pairs.into_iter().find_map(|(cv, rate)| {
        sum += rate;
        (sum >= half).then_some(cv)
    })
}
