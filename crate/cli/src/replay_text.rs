//! A replay as text: what would be sent, and what came of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use servescope_replay::{FailureKind, ReplayLimits, ReplayOutcome, ReplayPlan, Target};

/// Characters of a body that are shown.
const SHOWN: usize = 240;

/// What would be sent.
pub(crate) fn dry(plan: &ReplayPlan, target: &Target, limits: &ReplayLimits) -> String {
    let count = plan.requests.len();
    let sum = |of: fn(&servescope_replay::Planned) -> u32| {
        plan.requests.iter().map(|request| u64::from(of(request))).sum::<u64>()
    };
    let held = plan.requests.iter().filter(|request| request.after.is_some()).count();
    let last_s = plan.requests.iter().map(|request| request.due_us / 1e6).fold(0.0, f64::max);
    let mut text = format!(
        "{count} requests, {} prompt tokens, {} output tokens\n{held} of them wait for another, the last time stamp is {last_s:.3} s\n\
         at most {} in flight, {} a second, {} s in all\n",
        sum(|request| request.input_tokens),
        sum(|request| request.output_tokens),
        limits.in_flight,
        limits.rate_rps,
        limits.run_s
    );
    if let Some(first) = plan.requests.first() {
        let body: String = String::from_utf8_lossy(&first.body).chars().take(SHOWN).collect();
        let _ = writeln!(
            text,
            "POST {}\n{body}{}",
            target.at(&first.path),
            if body.len() < first.body.len() { "…" } else { "" }
        );
    }
    text
}

/// Failed requests by kind, with one message of each.
fn failures(outcome: &ReplayOutcome) -> BTreeMap<FailureKind, (usize, &str)> {
    let mut kinds = BTreeMap::new();
    for failure in outcome.sent.iter().filter_map(|sent| sent.failure.as_ref()) {
        kinds.entry(failure.kind).or_insert((0, &*failure.message)).0 += 1;
    }
    kinds
}

/// Answers whose tokens the server did not count.
fn without_usage(outcome: &ReplayOutcome) -> usize {
    let counted =
        |sent: &&servescope_replay::Sent| sent.failure.is_none() && sent.answer.completion_tokens.is_none();
    outcome.sent.iter().filter(counted).count()
}

/// What came of a replay, for the reader of a terminal.
pub(crate) fn report(outcome: &ReplayOutcome) -> String {
    let kinds = failures(outcome);
    let failed: usize = kinds.values().map(|(count, _)| count).sum();
    let late = outcome.lateness();
    let mut text = format!(
        "servescope: {} requests sent in {:.1} s, {} answered, {failed} failed, {} not sent; sent late by {:.2} ms (p50), {:.2} ms \
         (p99), {:.2} ms (max)\n",
        outcome.sent.len(),
        outcome.took_s,
        outcome.sent.len() - failed,
        outcome.not_sent,
        1e3 * late.p50_s,
        1e3 * late.p99_s,
        1e3 * late.max_s
    );
    for (kind, (count, message)) in &kinds {
        let _ = writeln!(text, "servescope: {count} {}, for example: {message}", kind.name());
    }
    if outcome.dropped > 0 {
        let _ = writeln!(
            text,
            "servescope: note: {} requests of the closed loop would be sent after the end of the workload, and were not",
            outcome.dropped
        );
    }
    let unknown = without_usage(outcome);
    if unknown > 0 {
        let _ = writeln!(
            text,
            "servescope: note: {unknown} answers came without usage: their tokens are counted as chunks, of which one may hold several"
        );
    }
    if let Some(usage) = &outcome.usage {
        let shown = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), |x| format!("{x}"));
        let kv = usage.peak_kv.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", 100.0 * share));
        let _ = writeln!(
            text,
            "servescope: the server: KV blocks in use at most {kv}, {} running, {} waiting at most, {} preemptions ({} looks, one a second)",
            shown(usage.peak_running),
            shown(usage.peak_waiting),
            shown(usage.preemptions),
            usage.samples
        );
    }
    text
}

/// Why there is nothing to measure, where no request was answered.
pub(crate) fn nothing_answered(outcome: &ReplayOutcome) -> Option<String> {
    let kinds = failures(outcome);
    let failed: usize = kinds.values().map(|(count, _)| count).sum();
    let mut why: Vec<String> = (kinds.iter())
        .map(|(kind, (count, message))| format!("{count} {}, for example: {message}", kind.name()))
        .collect();
    if outcome.not_sent > 0 {
        why.push(format!("{} were not sent", outcome.not_sent));
    }
    (failed == outcome.sent.len()).then(|| format!("no request was answered: {}", why.join("; ")))
}

/// The same as JSON.
pub(crate) fn counts(outcome: &ReplayOutcome) -> Value {
    let kinds = failures(outcome);
    let failed: usize = kinds.values().map(|(count, _)| count).sum();
    let late = outcome.lateness();
    let by_kind: BTreeMap<&str, usize> =
        kinds.iter().map(|(kind, (count, _))| (kind.name(), *count)).collect();
    json!({
        "sent": outcome.sent.len(),
        "answered": outcome.sent.len() - failed,
        "failed": by_kind,
        "not_sent": outcome.not_sent,
        "dropped": outcome.dropped,
        "without_usage": without_usage(outcome),
        "took_s": outcome.took_s,
        "lateness_s": {"p50": late.p50_s, "p99": late.p99_s, "max": late.max_s},
        "peak_kv_usage": outcome.usage.and_then(|usage| usage.peak_kv),
        "preemptions": outcome.usage.and_then(|usage| usage.preemptions),
    })
}
