//! Agent sessions as recorded from Claude Code (github.com/callanjfox/kv-cache-tester, `traces/`; "Weka" in other tools):
//! one session a line, its requests with the time `t` in seconds from the start of the session, lengths, prefix blocks
//! whose ids have meaning inside the session only, and calls of sub-agents with requests of their own.

use super::FormatError;
use super::json::{Json, Line, Lines};
use super::log::{Entry, Log, check_time};
use super::own::MAX_BLOCK_TOKENS;
use crate::trace::Trace;

pub(super) const KEYS: [&str; 3] = ["id", "block_size", "requests"];

/// One session.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSession {
    /// Its name.
    pub name: String,
    /// Tokens in a prefix block.
    pub block_tokens: u32,
    /// Tokens of the tools' descriptions in every prompt.
    pub tool_tokens: Option<f64>,
    /// Tokens of the system prompt.
    pub system_tokens: Option<f64>,
    /// Its own requests to a model, in the order of the file.
    pub calls: Vec<Call>,
    /// Calls of sub-agents: a name, and the requests that the sub-agent made.
    pub agents: Vec<(String, Vec<Call>)>,
}

/// One request to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Line of the file.
    pub row: u64,
    /// Microseconds from the start of the session.
    pub arrival_us: f64,
    /// Prompt length, tokens.
    pub input_tokens: u32,
    /// Answer length, tokens.
    pub output_tokens: u32,
    /// The model.
    pub model: Option<String>,
    /// Why the answer ended.
    pub stop: Option<String>,
    /// Seconds that the server took.
    pub api_time_s: Option<f64>,
    /// Seconds that the client waited before it asked.
    pub think_time_s: Option<f64>,
    /// Prefix blocks of the prompt.
    pub hash_ids: Vec<u64>,
}

pub(super) fn read<'a>(first: Line<'a>, lines: &mut Lines<'a>) -> Result<Vec<AgentSession>, FormatError> {
    let mut sessions = Vec::new();
    lines.each(first, |line| {
        sessions.push(session(line)?);
        Ok(())
    })?;
    Ok(sessions)
}

fn session(mut line: Line<'_>) -> Result<AgentSession, FormatError> {
    let mut session = AgentSession {
        name: line.name("id")?.unwrap_or_default().to_owned(),
        block_tokens: line.whole("block_size", 1, MAX_BLOCK_TOKENS)?,
        tool_tokens: optional(&line, "tool_tokens")?,
        system_tokens: optional(&line, "system_tokens")?,
        calls: Vec::new(),
        agents: Vec::new(),
    };
    for mut request in line.inside("requests")? {
        if request.get("type").and_then(Json::as_text) != Some("subagent") {
            session.calls.push(call(&request, 0.0)?);
            continue;
        }
        let start_us = request.time_us("t", 6)?;
        let name = request.name("agent_id")?.unwrap_or("agent").to_owned();
        let inside = request.inside("requests")?;
        let calls = inside.iter().map(|r| call(r, start_us)).collect::<Result<_, _>>()?;
        session.agents.push((name, calls));
    }
    Ok(session)
}

fn optional(line: &Line<'_>, key: &str) -> Result<Option<f64>, FormatError> {
    line.get(key).is_some().then(|| line.number(key)).transpose()
}

fn call(line: &Line<'_>, start_us: f64) -> Result<Call, FormatError> {
    let arrival_us = start_us + line.time_us("t", 6)?;
    check_time(line.row, arrival_us)?;
    Ok(Call {
        row: line.row,
        arrival_us,
        input_tokens: line.tokens("in")?,
        output_tokens: line.tokens("out")?,
        model: line.name("model")?.map(str::to_owned),
        stop: line.name("stop")?.map(str::to_owned),
        api_time_s: optional(line, "api_time")?,
        think_time_s: optional(line, "think_time")?,
        hash_ids: line.ids("hash_ids")?.unwrap_or_default(),
    })
}

/// The requests of all sessions, every session started at time 0; a sub-agent is a session of its own.
pub(super) fn requests(sessions: &[AgentSession]) -> Result<Trace, FormatError> {
    // Blocks of several sizes cannot stand in one column: then none do.
    let size = sessions.first().map_or(1, |s| s.block_tokens);
    let one_size = sessions.iter().all(|s| s.block_tokens == size);
    let mut log = Log::new(size);
    for (place, session) in sessions.iter().enumerate() {
        // Ids have meaning inside one session: those of different sessions must differ.
        let scope = (place as u64) << 40;
        let mut add = |name: &str, calls: &[Call]| {
            calls.iter().zip(1u32..).try_for_each(|(call, turn)| {
                let entry = Entry {
                    arrival_us: call.arrival_us,
                    user: place as u32,
                    input_tokens: call.input_tokens,
                    output_tokens: Some(call.output_tokens),
                    session: Some(name),
                    turn: Some(turn),
                    model: call.model.as_deref(),
                    kind: call.stop.as_deref(),
                    recorded_latency_s: call.api_time_s,
                    hash_ids: one_size.then(|| call.hash_ids.iter().map(|id| scope ^ id).collect()),
                    output_hash_ids: None,
                };
                log.push(call.row, entry)
            })
        };
        add(&session.name, &session.calls)?;
        for (agent, calls) in &session.agents {
            add(&format!("{}/{agent}", session.name), calls)?;
        }
    }
    Ok(log.finish())
}
