//! The lines of a workload file as the generator writes them: a time stamp a line, lines without requests and the events
//! of agent sessions included ([`crate::formats`] reads the requests of such files and writes those of any trace).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::agent::{AgentEvent, AgentMoment, AgentStep, ModelCall, NodeId, SCHEMA_VERSION};
use super::concat::WorkloadLine;
use crate::formats::json::push_ids;

/// A request without its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestLengths {
    /// Prompt, tokens.
    pub input_tokens: u32,
    /// Completion, tokens.
    pub output_tokens: u32,
}

/// Lines of requests; prompts are left empty.
pub fn workload(entries: &[WorkloadLine<RequestLengths>]) -> String {
    let mut text = String::with_capacity(entries.len() * 96);
    for entry in entries {
        let _ = write!(text, "{{\"timestamp\": {}, \"requests\": [", entry.timestamp_ms as u64);
        join(&mut text, &entry.requests, |text, request| {
            push_lengths(text, request.input_tokens.into(), request.output_tokens.into());
            text.push('}');
        });
        text.push_str("]}\n");
    }
    text
}

/// Lines of a Mooncake trace's requests, each with its prefix blocks, which AIBrix turns into text.
pub fn with_blocks(entries: &[WorkloadLine<(RequestLengths, Vec<u64>)>]) -> String {
    let mut text = String::with_capacity(entries.len() * 128);
    for entry in entries {
        let _ = write!(text, "{{\"timestamp\": {}, \"requests\": [", entry.timestamp_ms as u64);
        join(&mut text, &entry.requests, |text, (request, blocks)| {
            push_lengths(text, request.input_tokens.into(), request.output_tokens.into());
            if !blocks.is_empty() {
                push_ids(text, "hash_ids", blocks);
            }
            text.push('}');
        });
        text.push_str("]}\n");
    }
    text
}

/// Lines of agent sessions. AIBrix names sessions, tasks, states and nodes by hashes; here they are counted.
pub fn agents(moments: &BTreeMap<u64, AgentMoment>) -> String {
    let mut text = String::new();
    for (time_ms, moment) in moments {
        let _ = write!(
            text,
            "{{\"schema_version\": \"{SCHEMA_VERSION}\", \"timestamp\": {time_ms}, \"requests\": ["
        );
        join(&mut text, &moment.calls, push_call);
        text.push_str("], \"events\": [");
        join(&mut text, &moment.events, push_event);
        text.push_str("]}\n");
    }
    text
}

fn join<T>(text: &mut String, items: &[T], push: impl Fn(&mut String, &T)) {
    for (place, item) in items.iter().enumerate() {
        text.push_str(if place == 0 { "" } else { ", " });
        push(text, item);
    }
}

/// Begins a request; the caller ends it.
fn push_lengths(text: &mut String, input_tokens: u64, output_tokens: u64) {
    let _ = write!(
        text,
        "{{\"prompt\": \"\", \"prompt_length\": {input_tokens}, \"output_length\": {output_tokens}"
    );
}

/// The keys that calls and events begin with.
fn push_node(text: &mut String, node: NodeId, parents: &[NodeId], kind: &str) {
    let _ =
        write!(text, "\"task_id\": \"task_{}\", \"node_id\": \"{node}\", \"parent_ids\": [", node.session);
    join(text, parents, |text, parent| {
        let _ = write!(text, "\"{parent}\"");
    });
    let _ = write!(text, "], \"node_type\": \"{kind}\", \"turn\": {}", node.turn);
}

/// The keys that they end with.
fn push_state(text: &mut String, node: NodeId, context_delta_tokens: u64) {
    let _ = write!(
        text,
        ", \"state_refs\": [\"state_{}\"], \"context_delta_tokens\": {context_delta_tokens}}}",
        node.session
    );
}

fn push_call(text: &mut String, call: &ModelCall) {
    let node = call.node;
    push_lengths(text, call.input_tokens, call.output_tokens);
    let _ = write!(
        text,
        ", \"session_id\": \"session_{}\", \"agent\": {{\"schema_version\": \"{SCHEMA_VERSION}\", ",
        node.session
    );
    push_node(text, node, call.parent.as_slice(), "model");
    let phase = if node.step == AgentStep::Plan { "plan" } else { "followup" };
    let latency_ms = call.expected_latency_ms;
    let _ = write!(text, ", \"phase\": \"{phase}\", \"expected_latency_ms\": {latency_ms}");
    push_state(text, node, call.context_delta_tokens);
    text.push('}');
}

fn push_event(text: &mut String, event: &AgentEvent) {
    let node = event.node;
    let _ = write!(
        text,
        "{{\"schema_version\": \"{SCHEMA_VERSION}\", \"session_id\": \"session_{}\", ",
        node.session
    );
    let kind = match node.step {
        AgentStep::Tool { attempt: 0, .. } => "tool",
        AgentStep::Tool { .. } => "retry",
        AgentStep::Join => "join",
        AgentStep::Wait => "wait",
        AgentStep::Plan | AgentStep::Followup => "model",
    };
    push_node(text, node, &event.parents, kind);
    if let AgentStep::Tool { branch, attempt } = node.step {
        let _ = write!(text, ", \"branch\": {branch}, \"attempt\": {attempt}");
    }
    let _ = write!(text, ", \"duration_ms\": {}", event.duration_ms);
    if let Some(failed) = event.failed {
        let status = if failed { "failed" } else { "succeeded" };
        let _ = write!(text, ", \"status\": \"{status}\", \"side_effects\": false");
    }
    push_state(text, node, event.context_delta_tokens);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_requests_are_kept() {
        let two = RequestLengths { input_tokens: 3, output_tokens: 4 };
        let entry = |timestamp_ms, requests: &[RequestLengths]| WorkloadLine {
            timestamp_ms,
            requests: requests.to_vec(),
            other: (),
        };
        assert_eq!(
            workload(&[entry(0.0, &[]), entry(7.0, &[two, two])]),
            "{\"timestamp\": 0, \"requests\": []}\n{\"timestamp\": 7, \"requests\": [{\"prompt\": \"\", \
             \"prompt_length\": 3, \"output_length\": 4}, {\"prompt\": \"\", \"prompt_length\": 3, \"output_length\": 4}]}\n"
        );
    }
}
