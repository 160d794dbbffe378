//! Why requests took as long as they did, in words.

use std::fmt::Write as _;

use servescope_output::why::{AllWaiting, Holders, RequestDelay, RequestWhy, Why, WhyGroup};

/// Delays that a sentence names.
const NAMED: usize = 4;
/// Groups that the table shows.
const SHOWN: usize = 8;

/// What a cause is called.
fn name(cause: &str) -> &'static str {
    match cause {
        "rate_limit" => "rate limit or quota",
        "gateway_queue" => "gateway queue",
        "kv_memory" => "KV memory",
        "token_budget" => "token budget",
        "batch_cap" => "batch cap",
        "adapter_slots" => "LoRA slots",
        "adapter_loading" => "adapter loading",
        "interleaving_rule" => "prefill/decode rule",
        "prefill_stall" => "stalled by prefills",
        "preemption" => "preemption",
        "swap" => "swapping",
        "replica_failure" => "a replica failed",
        "previous_answer" => "answer before it",
        "decode_routing" => "routing to the decode replica",
        "kv_loading" => "loading KV blocks",
        "kv_link" => "copies of others",
        "running_iteration" => "running iteration",
        "idle_poll" => "idle poll",
        "static_batch" => "static batch",
        "other_ranks" => "other ranks",
        "expert_rearrangement" => "rearrangement of experts",
        "shared_prefill" => "shared prefill",
        "batch_size" => "batch size",
        "own_prefill" => "own prefill",
        _ => "own decode",
    }
}

fn plural(count: u32, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// Seconds as people read them.
fn short(seconds: f64) -> String {
    if seconds >= 1.0 { format!("{seconds:.1} s") } else { format!("{:.0} ms", seconds * 1e3) }
}

/// "for what" of a delay, without the requests behind it.
fn what(delay: &RequestDelay) -> &'static str {
    match delay.cause {
        "rate_limit" => "for its client's rate limit or quota",
        "gateway_queue" => "in the gateway's queue",
        "kv_memory" => "for KV memory",
        "token_budget" => "for the token budget",
        "batch_cap" => "for a place in the batch",
        "adapter_slots" => "for a LoRA slot",
        "adapter_loading" => "while adapters were loaded",
        "interleaving_rule" => "for the rule between prefills and decoding",
        "prefill_stall" => "stalled by prefills",
        "preemption" => "preempted and recomputed",
        "swap" => "swapped out, or while KV blocks were copied",
        "replica_failure" => "lost with a replica that failed, or until one was ready",
        "previous_answer" => "for the answer to the input before it",
        "decode_routing" => "for the router to send it to the decode replica",
        "kv_loading" => "while its KV blocks were loaded or pulled",
        "kv_link" => "for copies of KV blocks for other requests",
        "running_iteration" => "for the running iteration to end",
        "idle_poll" => "until the scheduler looked at the queue",
        "static_batch" => "for the static batch to end",
        "other_ranks" => "for slower data-parallel ranks",
        "expert_rearrangement" => "while experts were rearranged",
        "shared_prefill" => "longer in prefill",
        _ => "longer in decoding",
    }
}

/// "behind 14 requests of user 3 (61 %) and 5 of others that held it, most of all 12 (9 %), 15 (8 %) and 17 (8 %)".
fn whom(delay: &RequestDelay) -> String {
    let Some(behind) = &delay.behind else { return String::new() };
    let who = format!("{} of user {}", plural(behind.requests, "request"), behind.user);
    let others = behind.of_all - behind.requests;
    let who = if others > 0 {
        format!("{who} ({:.0} %) and {others} of others", 100.0 * behind.share)
    } else {
        who
    };
    format!("{}{}", held(delay.cause, &who), most(behind))
}

/// The requests with the largest parts.
fn most(behind: &Holders) -> String {
    let named: Vec<String> =
        behind.most.iter().map(|holder| format!("{} ({:.0} %)", holder.id, 100.0 * holder.share)).collect();
    match named.as_slice() {
        [] => String::new(),
        [_] if behind.of_all == 1 => format!(": request {}", behind.most[0].id),
        [one] => format!(", most of all request {one}"),
        [first @ .., last] => format!(", most of all requests {} and {last}", first.join(", ")),
    }
}

/// The requests that held what was waited for.
fn held(cause: &str, who: &str) -> String {
    match cause {
        "kv_memory" | "swap" | "preemption" => format!(" behind {who} that held it"),
        "shared_prefill" | "batch_size" => format!(" beside {who}"),
        _ => format!(" behind {who}"),
    }
}

/// The numbers of the test that failed.
fn numbers(delay: &RequestDelay) -> String {
    match (delay.need, delay.have) {
        (Some(need), Some(have)) => format!(" (needed {need}, had {have})"),
        _ => String::new(),
    }
}

/// One request in a sentence.
pub(crate) fn sentence(why: &RequestWhy) -> String {
    let share = |delay: &&RequestDelay| delay.seconds >= 0.01 * why.total_s && delay.seconds >= 5e-4;
    let named: Vec<String> = why
        .delays
        .iter()
        .filter(share)
        .take(NAMED)
        .map(|delay| format!("{} {}{}{}", short(delay.seconds), what(delay), whom(delay), numbers(delay)))
        .collect();
    let own = short(why.total_s - why.delayed_s);
    let total = short(why.total_s);
    let cut = match why.cut_tokens {
        0 => String::new(),
        tokens => format!("; its output was cut at max_model_len, {tokens} tokens short"),
    };
    if named.is_empty() {
        return format!("request {} took {total}; nothing held it up{cut}", why.id);
    }
    format!(
        "request {} took {total}, of which {own} for its own prompt and output; delayed {}: {}{cut}",
        why.id,
        short(why.delayed_s),
        named.join(", ")
    )
}

/// Totals by cause, by user and by adapter, and sentences.
pub(crate) fn table(why: &Why, requests: &[RequestWhy]) -> String {
    let mut text = String::from("\nwhere the time of all requests went\n");
    let all: f64 = why.causes.iter().map(|time| time.seconds).sum();
    let mut causes: Vec<_> = why.causes.iter().filter(|time| time.seconds > 0.0).collect();
    causes.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    for time in causes {
        let share = 100.0 * time.seconds / all;
        let _ = writeln!(text, "  {:<22}{:>12.3} s {share:>6.1} %", name(time.cause), time.seconds);
    }
    text.push_str(&waiting(&why.waiting));
    for (of, groups) in [("user", &why.users), ("adapter", &why.adapters)] {
        if groups.len() > 1 {
            text.push_str(&matrix(of, groups, why));
        }
    }
    for request in requests {
        let _ = writeln!(text, "{}", sentence(request));
    }
    text
}

/// A prompt or an output counts as long where it is this many times the median.
const LONG: f64 = 2.0;

/// The few requests that most of the waiting was behind.
fn waiting(all: &AllWaiting) -> String {
    let Some(behind) = all.behind else { return String::new() };
    let others = match behind.requests {
        1 => format!("request {}", behind.first),
        count => format!("request {} and {} others of {}", behind.first, count - 1, behind.of_all),
    };
    let long = if behind.input_tokens >= LONG * behind.all_input_tokens {
        format!(
            ", with prompts of {:.0} tokens (median; of all {:.0})",
            behind.input_tokens, behind.all_input_tokens
        )
    } else if behind.output_tokens >= LONG * behind.all_output_tokens {
        format!(
            ", with outputs of {:.0} tokens (median; of all {:.0})",
            behind.output_tokens, behind.all_output_tokens
        )
    } else {
        String::new()
    };
    format!("half of all waiting ({:.1} s in all) is behind {others}{long}\n", all.seconds)
}

fn label(of: &str, group: &WhyGroup) -> String {
    match group.index {
        Some(-1) => "base".to_owned(),
        Some(index) => format!("{of} {index}"),
        None => "others".to_owned(),
    }
}

/// Who delayed whom: seconds that the requests of a row were delayed, the largest cause, and the group that delayed them most.
fn matrix(of: &str, groups: &[WhyGroup], why: &Why) -> String {
    let mut text = format!("\nwho delayed whom, by {of}\n");
    for group in groups.iter().take(SHOWN) {
        let delayed: f64 = group.delayed_by_s.iter().sum();
        let delays = group.causes_s.iter().zip(&why.causes);
        let largest = delays
            .filter(|(_, time)| !time.cause.starts_with("own_"))
            .max_by(|a, b| a.0.total_cmp(b.0))
            .filter(|(seconds, _)| **seconds > 0.0);
        let mut by: Vec<(f64, String)> = group
            .delayed_by_s
            .iter()
            .enumerate()
            .map(|(place, &seconds)| {
                (seconds, groups.get(place).map_or_else(|| "no request".to_owned(), |group| label(of, group)))
            })
            .filter(|(seconds, _)| *seconds > 0.0)
            .collect();
        by.sort_by(|a, b| b.0.total_cmp(&a.0));
        let by: Vec<String> = by
            .iter()
            .take(3)
            .map(|(seconds, who)| format!("{who} {:.0} %", 100.0 * seconds / delayed))
            .collect();
        let cause = largest.map_or_else(String::new, |(_, time)| format!(", mostly {}", name(time.cause)));
        let _ = writeln!(
            text,
            "  {:<14}{} delayed {}{cause}; by {}",
            label(of, group),
            plural(group.requests, "request"),
            short(delayed),
            if by.is_empty() { "no request".to_owned() } else { by.join(", ") }
        );
    }
    if groups.len() > SHOWN {
        let _ = writeln!(text, "  and {} more", groups.len() - SHOWN);
    }
    text
}
