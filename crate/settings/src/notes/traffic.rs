//! What the requests of a run carry, where a trace brings them in place of the workload's settings.

use serde::{Deserialize, Serialize};
use servescope_workload::{BASE_MODEL, Trace};

use crate::parameters::choices::{Choice, ChoiceId, Loop, MaxTokensKind, PrefixKind, SessionKind};
use crate::parameters::{Id, Value};
use crate::scenario::Scenario;

/// What the conditions of the parameter table ask of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Traffic {
    /// Different adapters that are asked for, up to 2.
    pub adapters: u32,
    /// Whether their ranks differ.
    pub has_ranks: bool,
    /// The largest of their ranks; 0 without adapters.
    pub largest_rank: u32,
    /// Different users, up to 2.
    pub users: u32,
    /// Whether requests belong to sessions.
    pub has_sessions: bool,
    /// Whether requests wait for others.
    pub is_closed: bool,
    /// Whether prompts are given in blocks.
    pub has_prefixes: bool,
    /// Whether some request sends another `max_tokens` than the length of its output.
    pub has_caps: bool,
}

impl Traffic {
    /// What a trace carries.
    pub fn of(trace: &Trace) -> Self {
        let rank = |adapter: u32| trace.adapter_rank.get(adapter as usize).copied().unwrap_or(0);
        let adapters = || trace.adapter.iter().copied().filter(|&adapter| adapter != BASE_MODEL);
        let metadata = trace.metadata.as_deref();
        Self {
            adapters: different(adapters()),
            has_ranks: different(adapters().map(rank)) > 1,
            largest_rank: adapters().map(rank).max().unwrap_or(0),
            users: different(trace.user.iter().copied()),
            has_sessions: metadata.is_some_and(|metadata| !metadata.session.is_empty()),
            is_closed: trace.closed_loop.as_ref().is_some_and(|closed_loop| closed_loop.holds_any()),
            has_prefixes: metadata.is_some_and(|metadata| !metadata.prefix.is_empty()),
            has_caps: trace.max_tokens.iter().zip(&trace.output_tokens).any(|(max, output)| max != output),
        }
    }

    /// The value that a parameter of the workload would have for such traffic, where a condition asks for it.
    pub(super) fn value(&self, id: Id) -> Option<Value> {
        fn either<C: Choice>(of: ChoiceId<C>, holds: bool, yes: C, no: C) -> Value {
            of.value(if holds { yes } else { no })
        }
        Some(match id {
            Id::Adapters => Value::Number(self.adapters.into()),
            Id::Ranks => Value::List(if self.has_ranks { vec![8.0, 16.0] } else { vec![8.0] }),
            Id::Users => Value::Number(self.users.into()),
            Id::SessionKind => {
                either(SessionKind::ID, self.has_sessions, SessionKind::Timed, SessionKind::None)
            }
            Id::Loop => either(Loop::ID, self.is_closed, Loop::Closed, Loop::Open),
            Id::PrefixKind => either(PrefixKind::ID, self.has_prefixes, PrefixKind::Tree, PrefixKind::None),
            Id::MaxTokensKind => {
                either(MaxTokensKind::ID, self.has_caps, MaxTokensKind::Cap, MaxTokensKind::Output)
            }
            _ => return None,
        })
    }
}

/// How many different values there are, up to 2.
fn different(mut values: impl Iterator<Item = u32>) -> u32 {
    let Some(first) = values.next() else { return 0 };
    1 + u32::from(values.any(|value| value != first))
}

/// Whether a trace takes the place of a parameter: it brings arrivals, adapters, users and lengths with it.
pub(super) fn is_decided(id: Id) -> bool {
    let row = id.row();
    row.id.starts_with("workload.") && !matches!(row.group, "sampling" | "trace" | "extra_request")
}

impl Scenario {
    /// What the requests of this scenario's own workload carry.
    pub fn traffic(&self) -> Traffic {
        Traffic::of(&servescope_workload::generate(&self.workload()))
    }
}
