//! The orders of service that can be asked for, and what they need to know.

use servescope_workload::{BASE_MODEL, Trace};

use super::accounts::Charging;
use super::round_robin::RoundRobin;
use super::vtc::{Fair, Prediction};

/// Who counts as one client where service is shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Client {
    /// The user who sent the request.
    #[default]
    User,
    /// The adapter it asks for, as in S-LoRA and VTC's artifact; the base model is one more.
    Adapter,
}

impl Client {
    /// How many clients a trace has.
    pub fn count(self, trace: &Trace) -> usize {
        match self {
            Self::User => trace.user_count(),
            Self::Adapter => trace.adapter_count() + 1,
        }
    }

    /// The client of request `id` of a trace that has `count` of them.
    pub fn of(self, trace: &Trace, id: u32, count: usize) -> u32 {
        match self {
            Self::User => trace.user[id as usize],
            Self::Adapter => match trace.adapter[id as usize] {
                BASE_MODEL => count as u32 - 1,
                adapter => adapter,
            },
        }
    }
}

/// Who is looked at first in the waiting line.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Order {
    /// First come, first served: [`super::fcfs`].
    #[default]
    Fcfs,
    /// Last come, first served: [`super::lifo`].
    Lifo,
    /// Fewest predicted output tokens first: [`super::shortest`].
    Shortest,
    /// By class with ageing: [`super::priority`].
    Priority {
        /// Class of each client, dealt out in turn; the lower, the sooner.
        classes: Vec<f64>,
        /// Waiting this long makes up for one class, microseconds.
        ageing_us: f64,
    },
    /// Running adapters first, from so many of them on: [`super::cluster`].
    Cluster {
        /// `batch_num_adapters`.
        adapters: u32,
    },
    /// One adapter at a time: [`super::peft`].
    Peft,
    /// Padded prefills at least cost: [`super::pets`].
    Pets,
    /// Newest first, giving up who would be late: [`super::early_abort`].
    EarlyAbort {
        /// Bound on the first token, microseconds.
        bound_us: f64,
    },
    /// So many requests a minute and client, first come, first served: [`super::rpm`].
    Rpm {
        /// Most accepted requests of one client in 60 s.
        limit: u32,
    },
    /// Least counter first, with or without lift: [`super::vtc`].
    Fair(Fair),
    /// Deficit round robin: [`super::round_robin`].
    RoundRobin(RoundRobin),
}

impl Order {
    /// Whether a queue can keep it that knows nothing of batches. The others are S-LoRA's alone.
    pub fn needs_no_batcher(&self) -> bool {
        !matches!(self, Self::Cluster { .. } | Self::Peft | Self::Pets | Self::EarlyAbort { .. })
    }

    /// Whether output is charged as predicted when a request is picked.
    pub fn charges_ahead(&self) -> bool {
        matches!(self, Self::Fair(fair) if fair.prediction != Prediction::None)
    }

    /// When output is charged, where it is counted.
    pub fn charging(&self) -> Charging {
        match self {
            Self::Fair(rule) => rule.charging,
            Self::RoundRobin(rule) => rule.charging,
            _ => Charging::default(),
        }
    }
}

/// How the waiting line is kept.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Queueing {
    /// Who is looked at first.
    pub order: Order,
    /// Who counts as one client.
    pub client: Client,
    /// Predicted output tokens of each request, for the orders that use them; absent: what the server is told, max_tokens.
    pub predictions: Option<Vec<f64>>,
}

impl Queueing {
    /// Output tokens that are predicted of a request before it is admitted.
    pub fn told_tokens(&self, trace: &Trace, id: u32) -> f64 {
        let given = self.predictions.as_ref().and_then(|given| given.get(id as usize));
        given.copied().unwrap_or(f64::from(trace.max_tokens[id as usize]))
    }
}

/// The entry of a list that is dealt out in turn; `otherwise` for an empty one.
pub fn dealt(list: &[f64], index: usize, otherwise: f64) -> f64 {
    if list.is_empty() { otherwise } else { list[index % list.len()] }
}
