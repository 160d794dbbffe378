//! Sessions of agents: model calls, tools in parallel with retries, joins and waits, all at times fixed in advance
//! (AIBrix, `agent_session_generator.py`, schema `aibrix.agent-session.v1`).
//!
//! A turn is a plan call, its tools in parallel, a join at the slowest of them, a follow-up call, and a wait before the
//! next turn.

use std::collections::BTreeMap;
use std::fmt;

use super::field::ConfigValue;
use super::{AibrixError, MAX_ENTRIES};
use crate::distribution;
use crate::stream::Stream;

/// Name of the schema, as lines and events of such a workload carry it.
pub const SCHEMA_VERSION: &str = "aibrix.agent-session.v1";

/// Largest number in a configuration, so that sums of times and lengths stay far from overflow.
const MAX_NUMBER: i64 = 1_000_000_000;

const TOO_MANY: AibrixError = AibrixError::TooMany { what: "nodes of agent sessions" };

/// Random numbers that sessions are made of. The order of the calls is AIBrix's.
pub trait Draws {
    /// A whole number in `low..=high`, uniform.
    fn integer(&mut self, low: u64, high: u64) -> u64;
    /// A number in [0, 1), uniform.
    fn uniform(&mut self) -> f64;
    /// A standard exponential number.
    fn exponential(&mut self) -> f64;
}

impl Draws for Stream {
    fn integer(&mut self, low: u64, high: u64) -> u64 {
        let count = (high - low + 1) as f64;
        low + ((Stream::uniform(self) * count) as u64).min(high - low)
    }

    fn uniform(&mut self) -> f64 {
        Stream::uniform(self)
    }

    fn exponential(&mut self) -> f64 {
        distribution::exponential(Stream::uniform(self))
    }
}

/// Whole numbers from `low` to `high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WholeRange {
    /// Smallest.
    pub low: u64,
    /// Largest (inclusive).
    pub high: u64,
}

impl WholeRange {
    fn draw(self, draws: &mut impl Draws) -> u64 {
        draws.integer(self.low, self.high)
    }
}

/// Configuration of agent sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentConfig {
    /// Sessions, at least 1.
    pub num_sessions: u64,
    /// Rate at which sessions begin, sessions a second.
    pub session_arrival_rate_rps: f64,
    /// Turns of a session, at least 1.
    pub turns_per_session: WholeRange,
    /// Tools of a turn, at least 1.
    pub parallel_tools: WholeRange,
    /// Time of a tool, milliseconds.
    pub tool_latency_ms: WholeRange,
    /// Time of a model call that the plan reckons with, milliseconds.
    pub model_latency_ms: WholeRange,
    /// Wait between turns, milliseconds.
    pub think_time_ms: WholeRange,
    /// Chance that a tool fails and is tried again.
    pub retry_probability: f64,
    /// Most retries of a tool; the last attempt always succeeds.
    pub max_tool_retries: u64,
    /// Prompt of the first turn, tokens.
    pub initial_prompt_tokens: u64,
    /// Growth of the prompt from turn to turn, tokens.
    pub context_growth_tokens: u64,
    /// What each tool adds to the follow-up's prompt, tokens.
    pub tool_result_tokens: u64,
    /// Output of a model call, tokens.
    pub output_tokens: u64,
    /// Seed of AIBrix's generator.
    pub seed: i64,
}

impl AgentConfig {
    /// Reads a configuration; every key may be missing. Ranges are a whole number or an array of two.
    ///
    /// # Errors
    /// [`AibrixError::BadValue`] with the key and its bounds.
    pub fn read(get: impl Fn(&str) -> Option<ConfigValue>) -> Result<Self, AibrixError> {
        let whole = |key: &'static str, default: i64, least: i64| {
            let field = get(key).unwrap_or(ConfigValue::Integer(default));
            let expected =
                if least > 0 { "a whole number from 1 to 1e9" } else { "a whole number from 0 to 1e9" };
            match field {
                ConfigValue::Integer(n) if (least..=MAX_NUMBER).contains(&n) => Ok(n as u64),
                _ => Err(field.refused(key, expected)),
            }
        };
        let range = |key: &'static str, default: [i64; 2], least: i64| {
            let default = || ConfigValue::List(default.map(ConfigValue::Integer).to_vec());
            let field = get(key).unwrap_or_else(default);
            let ends = match &field {
                ConfigValue::Integer(n) => Some((*n, *n)),
                ConfigValue::List(ends) => match ends[..] {
                    [ConfigValue::Integer(low), ConfigValue::Integer(high)] => Some((low, high)),
                    _ => None,
                },
                _ => None,
            };
            match ends {
                Some((low, high)) if least <= low && low <= high && high <= MAX_NUMBER => {
                    Ok(WholeRange { low: low as u64, high: high as u64 })
                }
                _ if least > 0 => Err(field.refused(key, "a whole number or a range within 1 to 1e9")),
                _ => Err(field.refused(key, "a whole number or a range within 0 to 1e9")),
            }
        };
        let real = |key: &'static str, default: f64, expected, fine: fn(f64) -> bool| {
            let field = get(key).unwrap_or(ConfigValue::Real(default));
            match field {
                ConfigValue::Integer(n) if fine(n as f64) => Ok(n as f64),
                ConfigValue::Real(x) if fine(x) => Ok(x),
                _ => Err(field.refused(key, expected)),
            }
        };
        Ok(Self {
            num_sessions: whole("num_sessions", 10, 1)?,
            session_arrival_rate_rps: real("session_arrival_rate_rps", 1.0, "a rate above zero", |x| {
                x > 0.0 && x.is_finite()
            })?,
            turns_per_session: range("turns_per_session", [3, 3], 1)?,
            parallel_tools: range("parallel_tools", [2, 2], 1)?,
            tool_latency_ms: range("tool_latency_ms", [100, 500], 0)?,
            model_latency_ms: range("model_latency_ms", [50, 150], 0)?,
            think_time_ms: range("think_time_ms", [0, 1000], 0)?,
            retry_probability: real("retry_probability", 0.0, "a number from 0 to 1", |x| {
                (0.0..=1.0).contains(&x)
            })?,
            max_tool_retries: whole("max_tool_retries", 1, 0)?,
            initial_prompt_tokens: whole("initial_prompt_tokens", 256, 1)?,
            context_growth_tokens: whole("context_growth_tokens", 128, 0)?,
            tool_result_tokens: whole("tool_result_tokens", 64, 0)?,
            output_tokens: whole("output_tokens", 64, 1)?,
            seed: match get("seed").unwrap_or(ConfigValue::Integer(0)) {
                ConfigValue::Integer(seed) => seed,
                other => return Err(other.refused("seed", "a whole number")),
            },
        })
    }
}

/// A node of a session's graph, by what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgentStep {
    /// The turn's first model call.
    Plan,
    /// A tool's attempt; every attempt but the first is a retry.
    Tool {
        /// Which of the parallel tools.
        branch: u64,
        /// 0 = first.
        attempt: u64,
    },
    /// The end of the slowest tool.
    Join,
    /// The model call on the tools' results.
    Followup,
    /// The pause before the next turn.
    Wait,
}

/// Name of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeId {
    /// Which session.
    pub session: u64,
    /// Which turn of it.
    pub turn: u64,
    /// Which node of that.
    pub step: AgentStep,
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node_{}_{}_", self.session, self.turn)?;
        match self.step {
            AgentStep::Plan => f.write_str("plan"),
            AgentStep::Tool { branch, attempt } => write!(f, "tool_{branch}_{attempt}"),
            AgentStep::Join => f.write_str("join"),
            AgentStep::Followup => f.write_str("followup"),
            AgentStep::Wait => f.write_str("wait"),
        }
    }
}

/// A model call (plan or follow-up): a request of the workload.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCall {
    /// Its name.
    pub node: NodeId,
    /// The node it waits for; none at the start of a session.
    pub parent: Option<NodeId>,
    /// Prompt, tokens.
    pub input_tokens: u64,
    /// Output, tokens.
    pub output_tokens: u64,
    /// The time it is reckoned with, milliseconds.
    pub expected_latency_ms: u64,
    /// Tokens new in the context.
    pub context_delta_tokens: u64,
}

/// Anything but a model call: a tool's attempt, a join or a wait.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentEvent {
    /// Its name.
    pub node: NodeId,
    /// The nodes it waits for.
    pub parents: Vec<NodeId>,
    /// How long it takes, milliseconds.
    pub duration_ms: u64,
    /// Whether a tool's attempt fails and is tried again; `None` for joins and waits.
    pub failed: Option<bool>,
    /// Tokens new in the context.
    pub context_delta_tokens: u64,
}

/// What begins at one time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentMoment {
    /// Model calls.
    pub calls: Vec<ModelCall>,
    /// All else.
    pub events: Vec<AgentEvent>,
}

/// Makes the sessions, by milliseconds from the start.
///
/// # Errors
/// [`AibrixError::TooMany`] for more nodes than a workload may have.
pub fn sessions(
    config: &AgentConfig,
    draws: &mut impl Draws,
) -> Result<BTreeMap<u64, AgentMoment>, AibrixError> {
    let least_turn = 3 + u128::from(config.parallel_tools.low);
    let least = u128::from(config.num_sessions) * u128::from(config.turns_per_session.low) * least_turn;
    if least > MAX_ENTRIES as u128 {
        return Err(TOO_MANY);
    }
    let mut plan = Plan { config, timeline: BTreeMap::new(), nodes: 0 };
    let mut start_ms = 0;
    for session in 0..config.num_sessions {
        if session > 0 {
            let gap_s = draws.exponential() / config.session_arrival_rate_rps;
            // A gap this long is beyond any workload; the bound keeps sums of times exact.
            start_ms += ((gap_s * 1000.0).round_ties_even().min(1e12) as u64).max(1);
        }
        plan.session(session, start_ms, draws)?;
    }
    Ok(plan.timeline)
}

struct Plan<'a> {
    config: &'a AgentConfig,
    timeline: BTreeMap<u64, AgentMoment>,
    nodes: usize,
}

impl Plan<'_> {
    fn at(&mut self, time_ms: u64) -> Result<&mut AgentMoment, AibrixError> {
        self.nodes += 1;
        if self.nodes > MAX_ENTRIES {
            return Err(TOO_MANY);
        }
        Ok(self.timeline.entry(time_ms).or_default())
    }

    fn session(&mut self, session: u64, start_ms: u64, draws: &mut impl Draws) -> Result<(), AibrixError> {
        let config = self.config;
        let turns = config.turns_per_session.draw(draws);
        let mut now_ms = start_ms;
        let mut previous = None;
        for turn in 0..turns {
            let id = |step| NodeId { session, turn, step };
            let input_tokens = config.initial_prompt_tokens + turn * config.context_growth_tokens;
            let plan_ms = config.model_latency_ms.draw(draws);
            self.at(now_ms)?.calls.push(ModelCall {
                node: id(AgentStep::Plan),
                parent: previous,
                input_tokens,
                output_tokens: config.output_tokens,
                expected_latency_ms: plan_ms,
                context_delta_tokens: if turn == 0 {
                    config.initial_prompt_tokens
                } else {
                    config.context_growth_tokens
                },
            });
            let tools = config.parallel_tools.draw(draws);
            let (joined_ms, parents) = self.tools(session, turn, now_ms + plan_ms, tools, draws)?;
            let join = AgentEvent {
                node: id(AgentStep::Join),
                parents,
                duration_ms: 0,
                failed: None,
                context_delta_tokens: 0,
            };
            self.at(joined_ms)?.events.push(join);
            let followup_ms = config.model_latency_ms.draw(draws);
            self.at(joined_ms)?.calls.push(ModelCall {
                node: id(AgentStep::Followup),
                parent: Some(id(AgentStep::Join)),
                input_tokens: input_tokens + tools * config.tool_result_tokens,
                output_tokens: config.output_tokens,
                expected_latency_ms: followup_ms,
                context_delta_tokens: 0,
            });
            if turn + 1 < turns {
                let wait_ms = config.think_time_ms.draw(draws);
                let answered_ms = joined_ms + followup_ms;
                self.at(answered_ms)?.events.push(AgentEvent {
                    node: id(AgentStep::Wait),
                    parents: vec![id(AgentStep::Followup)],
                    duration_ms: wait_ms,
                    failed: None,
                    context_delta_tokens: 0,
                });
                now_ms = answered_ms + wait_ms;
                previous = Some(id(AgentStep::Wait));
            }
        }
        Ok(())
    }

    /// Adds a turn's tools and their retries: when the last one ends, and the attempts that succeeded.
    fn tools(
        &mut self,
        session: u64,
        turn: u64,
        start_ms: u64,
        tools: u64,
        draws: &mut impl Draws,
    ) -> Result<(u64, Vec<NodeId>), AibrixError> {
        let config = self.config;
        let mut joined_ms = start_ms;
        let mut succeeded = Vec::new();
        for branch in 0..tools {
            let id = |attempt| NodeId { session, turn, step: AgentStep::Tool { branch, attempt } };
            let mut parent = NodeId { session, turn, step: AgentStep::Plan };
            let mut now_ms = start_ms;
            for attempt in 0..=config.max_tool_retries {
                let duration_ms = config.tool_latency_ms.draw(draws);
                let failed = draws.uniform() < config.retry_probability && attempt < config.max_tool_retries;
                self.at(now_ms)?.events.push(AgentEvent {
                    node: id(attempt),
                    parents: vec![parent],
                    duration_ms,
                    failed: Some(failed),
                    context_delta_tokens: if failed { 0 } else { config.tool_result_tokens },
                });
                now_ms += duration_ms;
                if !failed {
                    succeeded.push(id(attempt));
                    break;
                }
                parent = id(attempt);
            }
            joined_ms = joined_ms.max(now_ms);
        }
        Ok((joined_ms, succeeded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_turn_of_the_defaults_is_whole_and_in_order() {
        let config = AgentConfig::read(|_| None).expect("every key has a default");
        let made = sessions(&config, &mut Stream::named(1, "agents")).expect("ten sessions are few");
        let calls = made.values().map(|m| m.calls.len()).sum::<usize>();
        let events = made.values().map(|m| m.events.len()).sum::<usize>();
        // Ten sessions of three turns: two calls, two tools and a join each, and a wait between turns.
        assert_eq!((calls, events), (60, 60 + 30 + 20));
        for (&time, moment) in &made {
            for call in moment.calls.iter().filter(|c| c.node.step == AgentStep::Plan && c.node.turn > 0) {
                let parent = call.parent.expect("a later turn follows a wait");
                let found = made.range(..=time).find_map(|(&at, m)| {
                    m.events.iter().find(|e| e.node == parent).map(|e| at + e.duration_ms)
                });
                assert_eq!(found, Some(time));
            }
        }
    }

    #[test]
    fn endless_configurations_are_refused() {
        let read =
            |key: &'static str, field: ConfigValue| AgentConfig::read(|k| (k == key).then(|| field.clone()));
        for field in [
            ConfigValue::Integer(0),
            ConfigValue::Integer(i64::MAX),
            ConfigValue::Real(2.0),
            ConfigValue::Flag(true),
        ] {
            assert!(read("num_sessions", field).is_err());
        }
        let many = read("num_sessions", ConfigValue::Integer(MAX_NUMBER)).expect("within its bounds");
        assert!(sessions(&many, &mut Stream::named(1, "agents")).is_err());
        assert!(read("session_arrival_rate_rps", ConfigValue::Real(f64::NAN)).is_err());
        assert!(
            read("think_time_ms", ConfigValue::List(vec![ConfigValue::Integer(2), ConfigValue::Integer(1)]))
                .is_err()
        );
    }
}
