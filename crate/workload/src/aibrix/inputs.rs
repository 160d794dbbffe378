//! Which inputs each trace type needs and rejects (AIBrix, command line of the workload generator).

use super::AibrixError;

/// The kinds of workload that the generator makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceType {
    /// One rate throughout.
    Constant,
    /// Rates and lengths from curves.
    Synthetic,
    /// Rates and lengths from statistics files.
    Stat,
    /// Groups of an Azure trace.
    Azure,
    /// Groups of a Mooncake trace.
    Mooncake,
    /// Agent sessions.
    Agent,
}

/// What a workload may be made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A collection of prompts.
    Prompts,
    /// A curve of rates, named or configured.
    TrafficPattern,
    /// A traffic or trace file.
    TrafficFile,
    /// A configuration of agent sessions.
    AgentConfig,
}

impl TraceType {
    /// Every trace type.
    pub const ALL: [Self; 6] =
        [Self::Constant, Self::Synthetic, Self::Stat, Self::Azure, Self::Mooncake, Self::Agent];

    /// Its name on AIBrix's command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Synthetic => "synthetic",
            Self::Stat => "stat",
            Self::Azure => "azure",
            Self::Mooncake => "mooncake",
            Self::Agent => "agent",
        }
    }

    /// The trace type called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }

    /// Checks that what is needed is there and that nothing is there that cannot be used.
    ///
    /// # Errors
    /// [`AibrixError::Inputs`] with the first problem.
    pub fn check(self, given: &[Input]) -> Result<(), AibrixError> {
        let lacks = |input| !given.contains(&input);
        let problem = match self {
            Self::Synthetic if lacks(Input::TrafficPattern) => Some("needs a traffic pattern"),
            Self::Mooncake if !lacks(Input::Prompts) => {
                Some("makes its prompts from hash ids and takes no prompt file")
            }
            Self::Stat | Self::Azure | Self::Mooncake if lacks(Input::TrafficFile) => {
                Some("needs a traffic file")
            }
            Self::Agent if lacks(Input::AgentConfig) => Some("needs an agent configuration"),
            Self::Constant | Self::Synthetic | Self::Stat | Self::Azure if lacks(Input::Prompts) => {
                Some("needs a prompt file")
            }
            _ => None,
        };
        problem.map_or(Ok(()), |problem| Err(AibrixError::Inputs { trace_type: self.name(), problem }))
    }
}
