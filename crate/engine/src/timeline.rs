//! What the GPU did, as records in order of time: prefills and runs of decode iterations of S-LoRA's loop, iterations of a
//! fleet.

mod iterations;

pub use iterations::Iterations;
pub(crate) use iterations::in_steps;

use servescope_cost::{Batch, Chunk};

use crate::scheduler::Stop;

/// One prefill and the adapter loading before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prefill {
    /// Start of the loading, microseconds.
    pub start_us: f64,
    /// Loading.
    pub load_us: f64,
    /// The iteration itself.
    pub prefill_us: f64,
    /// End: the first tokens are there.
    pub end_us: f64,
    /// Prompt tokens.
    pub tokens: u32,
    /// Requests that joined.
    pub requests: u32,
    /// Requests that were running and stood still.
    pub stalled: u32,
    /// KV tokens of those that stood still.
    pub kv_tokens: u32,
    /// Pool tokens of resident adapters.
    pub adapter_tokens: u32,
    /// Number of resident adapters.
    pub resident: u32,
}

/// Consecutive decode iterations of one batch: iteration j takes `first_us` + j `growth_us`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecodeSegment {
    /// Start, microseconds.
    pub start_us: f64,
    /// End, microseconds.
    pub end_us: f64,
    /// Duration of the first iteration.
    pub first_us: f64,
    /// By how much each is longer than the one before.
    pub growth_us: f64,
    /// How many.
    pub iterations: u32,
    /// Requests in the batch.
    pub requests: u32,
    /// KV tokens held during the first iteration; each further one holds `requests` more.
    pub kv_tokens: u32,
    /// Pool tokens of resident adapters.
    pub adapter_tokens: u32,
    /// Number of resident adapters.
    pub resident: u32,
}

impl DecodeSegment {
    /// KV tokens held during the last iteration.
    pub fn kv_tokens_at_end(&self) -> f64 {
        f64::from(self.kv_tokens) + f64::from(self.iterations - 1) * f64::from(self.requests)
    }
}

/// Consecutive equal iterations of one replica of a fleet: prompts and decoding together. Iteration j takes `first_us` +
/// j `growth_us`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IterationRun {
    /// Start of the first, microseconds.
    pub start_us: f64,
    /// End of the last.
    pub end_us: f64,
    /// Time that the stages worked on them, over the number of stages.
    pub busy_us: f64,
    /// Duration of the first.
    pub first_us: f64,
    /// By how much each is longer than the one before.
    pub growth_us: f64,
    /// How many.
    pub iterations: u32,
    /// Which replica.
    pub replica: u16,
    /// Requests whose prompts, or parts of them, are processed.
    pub prompts: u32,
    /// Prompt tokens.
    pub prompt_tokens: u32,
    /// Requests that decode one token each in every iteration.
    pub decodes: u32,
    /// Those of them whose last token came when the first iteration began; the gaps of the others are in
    /// [`Timeline::gaps`].
    pub fresh: u32,
    /// Tokens in KV memory before the first.
    pub kv_tokens: f64,
    /// KV blocks in use at the end.
    pub blocks: u32,
    /// Sum over its requests of their adapters' ranks.
    pub rank_sum: u64,
    /// Whether any request uses an adapter.
    pub any_adapter: bool,
    /// Copying from and to the host, before the first of them begins; a part of its time, microseconds.
    pub copying_us: f64,
    /// Where [`Iterations::chunks`] finds what is read of its prompts.
    pub chunks_at: usize,
}

/// A request is thrown out of the batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Eviction {
    /// When, microseconds.
    pub time_us: f64,
    /// Which request.
    pub id: u32,
    /// Of which replica.
    pub replica: u16,
    /// Tokens that it had in memory and that are processed again; none where the host keeps them.
    pub lost_tokens: u32,
}

impl IterationRun {
    /// What iteration `index` holds, as a cost model sees it; half-way between two it is the mean of both. `chunks` are
    /// those of [`Iterations::chunks`].
    pub fn batch<'a>(&self, chunks: &'a [Chunk], index: f64) -> Batch<'a> {
        let read: f64 = chunks.iter().map(|chunk| f64::from(chunk.kv_tokens)).sum();
        let decode_kv_tokens = match self.decodes {
            0 => 0.0,
            decodes => self.kv_tokens - read + index * f64::from(decodes),
        };
        let Self { decodes, rank_sum, any_adapter, .. } = *self;
        Batch { chunks, decodes, decode_kv_tokens, rank_sum, any_adapter }
    }

    /// Requests in each iteration.
    pub fn requests(&self) -> u32 {
        self.prompts + self.decodes
    }

    /// Tokens in KV memory after the last.
    pub fn kv_tokens_at_end(&self) -> f64 {
        self.kv_tokens + f64::from(self.prompt_tokens) + f64::from(self.iterations) * f64::from(self.decodes)
    }
}

/// A request that waited is given up: it waited longer than it may, or the order of service refuses it after all. When a
/// client went away is in the trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Departure {
    /// When, microseconds.
    pub time_us: f64,
    /// Which request.
    pub id: u32,
}

/// Equal gaps between tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// When the first of them ended, microseconds.
    pub end_us: f64,
    /// Length, microseconds.
    pub length_us: f64,
    /// How many.
    pub count: u32,
}

/// What kept the head of a waiting line from joining, from one admission decision to the next that says something else.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hold {
    /// The decision, microseconds.
    pub start_us: f64,
    /// Whose line.
    pub replica: u16,
    /// Why it stopped; `None`: it picked everybody who waited, later arrivals wait for the next decision.
    pub stop: Option<Stop>,
}

/// The time between a request's eviction from a batch of a fleet and its next iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Absence {
    /// Who.
    pub request: u32,
    /// Its last iteration before, microseconds.
    pub start_us: f64,
    /// The start of its next one.
    pub end_us: f64,
}

/// Everything that the GPU did, and why the waiting line stood.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timeline {
    /// Prefills in order of time.
    pub prefills: Vec<Prefill>,
    /// Decode runs in order of time.
    pub decodes: Vec<DecodeSegment>,
    /// Admission decisions in order of time.
    pub holds: Vec<Hold>,
    /// Requests that were given up while they waited, in order of time.
    pub departures: Vec<Departure>,
    /// How long evicted requests of a fleet were away, by the time at which they joined again.
    pub absences: Vec<Absence>,
    /// Iterations of a fleet's replicas in order of their start.
    pub iterations: Iterations,
    /// Requests that a fleet threw out of a batch, in order of time.
    pub evictions: Vec<Eviction>,
    /// Gaps between tokens that are longer than an iteration of a fleet: their requests stood still, or were evicted.
    pub gaps: Vec<Gap>,
}

/// One record of the timeline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Span<'a> {
    /// A prefill.
    Prefill(&'a Prefill),
    /// A run of decode iterations.
    Decode(&'a DecodeSegment),
    /// Iterations of a fleet's replica.
    Iterations(IterationRun),
}

impl Timeline {
    /// A request that waited is given up.
    pub(crate) fn departs(&mut self, time_us: f64, id: u32) {
        self.departures.push(Departure { time_us, id });
    }

    /// The end of the last iteration, microseconds; 0 where there was none.
    pub fn end_us(&self) -> f64 {
        let slora =
            self.prefills.last().map(|p| p.end_us).into_iter().chain(self.decodes.last().map(|d| d.end_us));
        slora.fold(self.iterations.end_us(), f64::max)
    }

    /// Prefills and decode runs in order of time.
    pub fn spans(&self) -> impl Iterator<Item = Span<'_>> {
        let mut prefills = self.prefills.iter().peekable();
        let mut decodes = self.decodes.iter().peekable();
        let one = std::iter::from_fn(move || match (prefills.peek(), decodes.peek()) {
            (Some(p), Some(d)) if p.start_us <= d.start_us => prefills.next().map(Span::Prefill),
            (Some(_), None) => prefills.next().map(Span::Prefill),
            (_, Some(_)) => decodes.next().map(Span::Decode),
            (None, None) => None,
        });
        // A run is S-LoRA's or a fleet's: one of the two is empty.
        one.chain(self.iterations.iter().map(Span::Iterations))
    }
}
