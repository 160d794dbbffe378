//! A step of the scheduler debugger as text.

use std::fmt::Write as _;

use servescope_output::debugger::rules::Rule;
use servescope_output::debugger::view::{
    AdaptersView, Candidate, CountersView, GatewayView, KvView, LimitsView, PeakView, QueueRow, QueueView,
    RatedRow, StepReplica, StepView,
};

/// Rows of a table.
const ROWS: usize = 12;

/// A step.
pub(crate) fn step(view: &StepView) -> String {
    let mut text = String::new();
    let place =
        view.replica.map_or_else(|| "before a replica".to_owned(), |replica| format!("replica {replica}"));
    let _ = writeln!(text, "step {} of 0 to {}, {:.6} s, {place}", view.step, view.steps - 1, view.time_s);
    let _ = writeln!(text, "  {}", view.sentence.text);
    if let Some(test) = &view.test {
        let _ = writeln!(text, "  {}", test.sentence.text);
    }
    if let Some(candidate) = &view.candidate {
        let _ = writeln!(text, "  {}", of_candidate(candidate));
    }
    let _ = writeln!(text, "  rule: {}", of_rule(&view.rule));
    if let Some(queue) = &view.queue {
        text.push_str(&of_queue(queue));
    }
    if let Some(test) = &view.memory_test {
        text.push_str(&of_memory_test(test));
    }
    if let Some(limits) = &view.limits {
        text.push_str(&of_limits(limits));
    }
    if let Some(kv) = &view.kv {
        text.push_str(&of_kv(kv));
    }
    if let Some(adapters) = &view.adapters {
        text.push_str(&of_adapters(adapters));
    }
    if let Some(counters) = &view.counters {
        text.push_str(&of_counters(counters));
    }
    if let Some(gateway) = &view.gateway {
        text.push_str(&of_gateway(gateway));
    }
    if let Some(router) = &view.router {
        text.push_str(&of_router(router));
    }
    if view.replicas.len() > 1 || view.kv.is_none() {
        text.push_str(&of_replicas(&view.replicas));
    }
    text.push('\n');
    text
}

fn of_rule(rule: &Rule) -> String {
    format!("{} ({}, {})", rule.name, rule.doc, rule.source)
}

fn adapter(index: i64) -> String {
    if index < 0 { "base".to_owned() } else { index.to_string() }
}

fn of_candidate(candidate: &Candidate) -> String {
    format!(
        "request {}: user {}, adapter {}, arrived at {:.6} s, {} prompt tokens, at most {} output tokens",
        candidate.name.request,
        candidate.name.user,
        adapter(candidate.name.adapter),
        candidate.arrival_s,
        candidate.input_tokens,
        candidate.max_tokens
    )
}

/// What a key is called, and its number in a row.
fn key_name(key: &str) -> &'static str {
    match key {
        "latest_arrival" => "arrival, latest first",
        "predicted_tokens" => "predicted output tokens",
        "priority" => "priority key (s)",
        "counter" => "counter of the client at its turn",
        "deficit" => "deficit of the client at its turn",
        _ => "arrival",
    }
}

fn key_of(row: &QueueRow) -> String {
    row.key.map_or_else(|| "preempted".to_owned(), |key| format!("{key:.3}"))
}

fn more(text: &mut String, all: usize) {
    if all > ROWS {
        let _ = writeln!(text, "    and {} more", all - ROWS);
    }
}

fn of_queue(queue: &QueueView) -> String {
    let at = if queue.at == "gateway" { "at the gateway" } else { "in the waiting queue" };
    let mut text = String::new();
    let _ = writeln!(
        text,
        "  {} requests {at}, ordered by {}; {}",
        queue.count,
        key_name(queue.key),
        of_rule(&queue.rule)
    );
    if queue.rows.is_empty() {
        return text;
    }
    let _ = writeln!(
        text,
        "    {:>9} {:>6} {:>8} {:>14} {:>12} {:>8}",
        "request", "user", "adapter", "key", "arrival s", "prompt"
    );
    for row in queue.rows.iter().take(ROWS) {
        let _ = writeln!(
            text,
            "    {:>9} {:>6} {:>8} {:>14} {:>12.3} {:>8}  {}{}",
            row.name.request,
            row.name.user,
            adapter(row.name.adapter),
            key_of(row),
            row.arrival_s,
            row.prompt_tokens,
            row.state,
            if row.was_preempted { " (preempted before)" } else { "" }
        );
    }
    more(&mut text, queue.count as usize);
    text
}

fn of_memory_test(test: &PeakView) -> String {
    let mut text = String::new();
    let limit = test
        .limit
        .map_or_else(String::new, |limit| format!(", limit {limit} of {} in the pool", test.pool_tokens));
    let _ = writeln!(text, "  memory test, sorted by tokens left: need {}{limit}", test.need);
    let _ = writeln!(text, "    {:>9} {:>8} {:>8} {:>12}", "request", "held", "left", "tokens");
    let rows = test.rows.iter().enumerate();
    let shown = |place: usize| place < ROWS || place == test.worst || test.rows[place].joins;
    for (place, row) in rows.filter(|(place, _)| shown(*place)) {
        let request = row.request.map_or_else(String::new, |request| request.to_string());
        let _ = writeln!(
            text,
            "    {request:>9} {:>8} {:>8} {:>12}  {}{}",
            row.used,
            row.left,
            row.tokens,
            if row.joins { "joins" } else { "" },
            if place == test.worst { " worst moment" } else { "" }
        );
    }
    if test.rows.len() > ROWS {
        let _ = writeln!(text, "    {} requests in all", test.rows.len());
    }
    text
}

fn of_limits(limits: &LimitsView) -> String {
    let mut text = String::new();
    let _ = write!(
        text,
        "  running {} of at most {}; token budget {}",
        limits.running, limits.most_running, limits.token_budget
    );
    if let Some(left) = limits.token_budget_left {
        let _ = write!(text, ", {left} left");
    }
    if limits.watermark_blocks > 0 {
        let _ = write!(text, "; {} KV blocks stay free", limits.watermark_blocks);
    }
    if let Some((steps, every)) = limits.decode_steps.zip(limits.decode_steps_between_prefills) {
        let _ = write!(text, "; {steps} of {every} decode iterations since the last prefill");
    }
    if let Some(tree) = &limits.radix {
        let _ = write!(
            text,
            "; new token ratio {:.3}; radix tree: {} tokens in use, {} evictable, {} free beside it",
            tree.new_token_ratio, tree.locked_tokens, tree.evictable_tokens, tree.free_tokens
        );
        if let Some(id) = tree.chunked_request {
            let _ = write!(text, "; the prompt of request {id} is prefilled in part");
        }
    }
    text.push('\n');
    text
}

fn of_kv(kv: &KvView) -> String {
    let mut text = String::new();
    let _ = write!(text, "  KV blocks: {} used, {} free of {}", kv.used, kv.free, kv.total);
    if kv.adapters > 0 {
        let _ = write!(text, ", {} for adapters", kv.adapters);
    }
    if kv.host > 0 {
        let _ = write!(text, ", {} on the host", kv.host);
    }
    if kv.copied > 0 {
        let _ = write!(text, "; {} are held by copies to host memory", kv.copied);
    }
    if kv.shared > 0 {
        let _ = write!(text, "; {} are shared", kv.shared);
    }
    text.push('\n');
    for holder in kv.holders.iter().take(ROWS) {
        let _ = write!(
            text,
            "    request {} (user {}): {} blocks, {} tokens, {}",
            holder.name.request,
            holder.name.user,
            holder.blocks,
            holder.tokens,
            if holder.decodes { "decode" } else { "prefill" }
        );
        if holder.drafts + holder.verified_drafts > 0 {
            let (accepted, verified) = (holder.accepted_drafts, holder.verified_drafts);
            let _ = write!(
                text,
                ", {} drafts to verify, {accepted} of {verified} accepted so far",
                holder.drafts
            );
        }
        text.push('\n');
    }
    more(&mut text, kv.holders.len());
    text
}

fn of_adapters(adapters: &AdaptersView) -> String {
    let mut text = String::new();
    let _ = write!(text, "  adapters: {} in GPU memory, {} in use", adapters.resident, adapters.used);
    if let Some(slots) = adapters.slots {
        let _ = write!(text, ", {slots} LoRA slots");
    }
    let list: Vec<String> = adapters
        .list
        .iter()
        .take(ROWS)
        .map(|row| format!("{} ({} requests)", row.adapter, row.users))
        .collect();
    if !list.is_empty() {
        let _ = write!(text, ": {}", list.join(", "));
    }
    text.push('\n');
    more(&mut text, adapters.list.len());
    text
}

fn of_counters(counters: &CountersView) -> String {
    let list: Vec<String> = counters
        .rows
        .iter()
        .take(ROWS)
        .map(|row| format!("{} {}: {:.1}", counters.by, adapter(row.client), row.counter))
        .collect();
    let mut text = format!("  counters: {}\n", list.join(", "));
    more(&mut text, counters.rows.len());
    text
}

fn of_gateway(gateway: &GatewayView) -> String {
    let most = gateway.most_at_engine.map_or_else(String::new, |most| format!(" of at most {most}"));
    format!(
        "  gateway: {} requests at the engine{most}; KV tokens: {} reserved, {:.0} free and not reserved of {:.0}; {} tokens \
         wait; load state {}\n",
        gateway.at_engine,
        gateway.reserved_tokens,
        gateway.room_tokens,
        gateway.pool_tokens,
        gateway.waiting_tokens,
        gateway.load
    )
}

fn of_router(rated: &[RatedRow]) -> String {
    let mut text = String::new();
    for row in rated.iter().take(ROWS) {
        let score = row.score.map_or_else(|| "left out".to_owned(), |score| format!("score {score:.3}"));
        let _ = writeln!(
            text,
            "  router: replica {}: {} tokens believed to be cached, {} to be computed before, {} requests, {score}{}",
            row.replica,
            row.cached_tokens,
            row.uncached_tokens,
            row.requests,
            if row.is_chosen { ", chosen" } else { "" }
        );
    }
    more(&mut text, rated.len());
    text
}

fn of_replicas(replicas: &[StepReplica]) -> String {
    let mut text = String::new();
    for (place, replica) in replicas.iter().enumerate().take(ROWS) {
        let _ = writeln!(
            text,
            "  replica {place}: {} wait, {} run, {} KV blocks used, {} free",
            replica.waiting, replica.running, replica.used_blocks, replica.free_blocks
        );
    }
    more(&mut text, replicas.len());
    text
}
