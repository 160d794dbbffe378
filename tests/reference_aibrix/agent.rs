//! `12_agent_sessions.json`: agent sessions, equal to AIBrix's with Python's own random numbers.

use std::collections::BTreeMap;

use serde_json::Value;
use servescope_workload::aibrix::agent::{
    self, AgentConfig, AgentEvent, AgentStep, ModelCall, NodeId, SCHEMA_VERSION,
};
use servescope_workload::aibrix::config::agents_from_json;
use servescope_workload::aibrix::lines;

use crate::Case;
use crate::python::Python;

/// Hashed names of AIBrix, each standing for one name of ours.
#[derive(Default)]
struct Names(BTreeMap<String, String>, BTreeMap<String, String>);

impl Names {
    fn same(&mut self, case: &Case<'_>, theirs: &Value, ours: &str) {
        let theirs = theirs.as_str().unwrap_or_else(|| panic!("{case}: no name for {ours}"));
        let to = self.0.entry(theirs.to_owned()).or_insert_with(|| ours.to_owned());
        let back = self.1.entry(ours.to_owned()).or_insert_with(|| theirs.to_owned());
        assert!(to == ours && back == theirs, "{case}: {theirs} is {to} and {ours}");
    }

    fn node(&mut self, case: &Case<'_>, theirs: &Value, ours: NodeId) {
        self.same(case, theirs, &ours.to_string());
    }

    /// What every node carries: its session, its task, its state, its parents, its turn.
    fn common(&mut self, case: &Case<'_>, theirs: &Value, node: NodeId, parents: &[NodeId]) {
        assert_eq!(theirs["schema_version"], SCHEMA_VERSION, "{case}");
        self.node(case, &theirs["node_id"], node);
        self.same(case, &theirs["task_id"], &format!("task {}", node.session));
        self.same(case, &theirs["state_refs"][0], &format!("state {}", node.session));
        assert_eq!(theirs["turn"].as_u64(), Some(node.turn), "{case}: turn");
        let theirs = theirs["parent_ids"].as_array().map_or(&[][..], Vec::as_slice);
        assert_eq!(theirs.len(), parents.len(), "{case}: parents of {node}");
        theirs.iter().zip(parents).for_each(|(theirs, &ours)| self.node(case, theirs, ours));
    }
}

fn check_call(case: &Case<'_>, names: &mut Names, ours: &ModelCall, theirs: &Value) {
    let agent = &theirs["agent"];
    names.common(case, agent, ours.node, ours.parent.as_slice());
    names.same(case, &theirs["session_id"], &format!("session {}", ours.node.session));
    assert_eq!(agent["node_type"], "model", "{case}");
    let phase = if ours.node.step == AgentStep::Plan { "plan" } else { "followup" };
    assert_eq!(agent["phase"], phase, "{case}: {}", ours.node);
    let pairs = [
        (ours.input_tokens, &theirs["prompt_length"]),
        (ours.output_tokens, &theirs["output_length"]),
        (ours.expected_latency_ms, &agent["expected_latency_ms"]),
        (ours.context_delta_tokens, &agent["context_delta_tokens"]),
    ];
    assert!(pairs.iter().all(|(ours, theirs)| theirs.as_u64() == Some(*ours)), "{case}: {ours:?}, {theirs}");
}

fn check_event(case: &Case<'_>, names: &mut Names, ours: &AgentEvent, theirs: &Value) {
    names.common(case, theirs, ours.node, &ours.parents);
    names.same(case, &theirs["session_id"], &format!("session {}", ours.node.session));
    let (kind, tool) = match ours.node.step {
        AgentStep::Tool { branch, attempt: 0 } => ("tool", Some((branch, 0))),
        AgentStep::Tool { branch, attempt } => ("retry", Some((branch, attempt))),
        AgentStep::Join => ("join", None),
        AgentStep::Wait => ("wait", None),
        AgentStep::Plan | AgentStep::Followup => panic!("{case}: {} is a call", ours.node),
    };
    assert_eq!(theirs["node_type"], kind, "{case}: {}", ours.node);
    let recorded = theirs["branch"].as_u64().zip(theirs["attempt"].as_u64());
    assert_eq!(recorded, tool, "{case}: {}", ours.node);
    let status = ours.failed.map(|failed| if failed { "failed" } else { "succeeded" });
    assert_eq!(theirs["status"].as_str(), status, "{case}: {}", ours.node);
    assert_eq!(theirs["duration_ms"].as_u64(), Some(ours.duration_ms), "{case}: {}", ours.node);
    assert_eq!(theirs["context_delta_tokens"].as_u64(), Some(ours.context_delta_tokens), "{case}");
}

/// Holds a written line to the recorded one, key by key; names are hashed there and counted here, and texts are left out.
fn same_keys(case: &Case<'_>, ours: &Value, theirs: &Value) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            let keys = |of: &serde_json::Map<String, Value>| -> Vec<String> {
                of.keys().filter(|key| *key != "prompt").cloned().collect()
            };
            let (mut own, mut recorded) = (keys(ours), keys(theirs));
            own.sort();
            recorded.sort();
            assert_eq!(own, recorded, "{case}");
            recorded.iter().for_each(|key| same_keys(case, &ours[key], &theirs[key]));
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            assert_eq!(ours.len(), theirs.len(), "{case}");
            ours.iter().zip(theirs).for_each(|(ours, theirs)| same_keys(case, ours, theirs));
        }
        (Value::String(ours), Value::String(theirs)) if theirs.contains('_') => {
            assert_eq!(ours.split('_').next(), theirs.split('_').next(), "{case}: kind of name");
        }
        _ => assert_eq!(ours, theirs, "{case}"),
    }
}

#[test]
fn agent_sessions() {
    crate::check_all("agent_sessions", |case, _| {
        let read = agents_from_json(case.json["config"].to_string().as_bytes());
        let config = match AgentConfig::read(crate::get(&case.json["config"])) {
            Ok(config) => {
                assert_eq!(read.as_ref(), Ok(&config), "{case}: the file and its fields differ");
                config
            }
            Err(_) if case.is_error() => return,
            Err(error) => panic!("{case}: {error}"),
        };
        assert!(!case.is_error(), "{case}: not refused");
        let ours = agent::sessions(&config, &mut Python::seeded(config.seed))
            .unwrap_or_else(|error| panic!("{case}: {error}"));
        let theirs = case.json["output"].as_array().unwrap_or_else(|| panic!("{case}: no lines"));
        assert_eq!(ours.len(), theirs.len(), "{case}: lines");
        let written = lines::agents(&ours);
        for (ours, theirs) in written.lines().zip(theirs) {
            let ours: Value = serde_json::from_str(ours).unwrap_or_else(|error| panic!("{case}: {error}"));
            same_keys(case, &ours, theirs);
        }
        let mut names = Names::default();
        for ((time_ms, moment), line) in ours.iter().zip(theirs) {
            assert_eq!(line["schema_version"], SCHEMA_VERSION, "{case}");
            assert_eq!(line["timestamp"].as_u64(), Some(*time_ms), "{case}");
            let list = |key: &str| line[key].as_array().map_or(&[][..], Vec::as_slice);
            assert_eq!(
                (moment.calls.len(), moment.events.len()),
                (list("requests").len(), list("events").len()),
                "{case}: {time_ms} ms"
            );
            for (ours, theirs) in moment.calls.iter().zip(list("requests")) {
                check_call(case, &mut names, ours, theirs);
            }
            for (ours, theirs) in moment.events.iter().zip(list("events")) {
                check_event(case, &mut names, ours, theirs);
            }
        }
    });
}
