//! An iteration under way: what it holds, and where it is in the pipeline.

use crate::record::work_time::WorkTime;
use servescope_cost::{Batch, BatchCost, BatchStages, Chunk, LoraBatch, RankRows, StageConstants};
use servescope_workload::RequestId;

use super::stage_times::TimesOnLine;
use crate::record::timeline::IterationRun;
use crate::request::BlockReason;

/// A request in an iteration of a scheduler that keeps the order in which it chose them.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Scheduled {
    pub(crate) id: RequestId,
    /// Tokens that are processed.
    pub(crate) tokens: u32,
    /// Tokens that were processed, or were to be, before.
    pub(crate) computed: u32,
    /// Whether they are of its prompt, or of an answer that is recomputed.
    pub(crate) is_prompt: bool,
    /// Whether a token of its answer comes out.
    pub(crate) makes_token: bool,
    /// Whether it joins with this iteration.
    pub(crate) is_admitted: bool,
    /// Drafts among its tokens.
    pub(crate) drafts: u32,
    /// Whether these are none, but rows that make it as wide as requests with drafts.
    pub(crate) is_padded: bool,
}

impl Scheduled {
    /// Its tokens that are known, or will be whatever becomes of drafts.
    pub(crate) fn sure_tokens(&self) -> u32 {
        self.tokens - self.drafts
    }
}

/// An iteration in which the requests of the replica's decode batch decode, of a scheduler that keeps them there while nothing
/// else happens to them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SteadyPart {
    /// The step of the decode batch when it was formed.
    pub(crate) number: u64,
}

/// Tokens without which the first of several stages does not take a later batch, by the schedule in which they were formed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TokenWait {
    /// The schedule of the batch, until its tokens have left the last stage; `None`: it makes none that are waited for.
    pub(crate) makes: Option<u64>,
    /// The tokens of this schedule and of those before it are waited for.
    pub(crate) awaits: Option<u64>,
}

/// A copy of KV blocks from or to a lower tier, in the order in which they are decided.
pub(crate) type CopyId = u64;

/// What an iteration has to do with copies.
#[derive(Debug, Clone, Default)]
pub(crate) struct BatchCopies {
    /// Those whose end it reports: they had ended when it was formed.
    pub(crate) reported: Vec<CopyId>,
    /// Those that begin when it is computed.
    pub(crate) begin_after: Vec<CopyId>,
    /// Those before whose end it does not begin.
    pub(crate) awaited: Vec<CopyId>,
    /// Requests whose blocks decode replicas had pulled when it was formed.
    pub(crate) finished_sending: Vec<RequestId>,
}

/// Iterations of a batch in the pipeline that have ended and are not written down in its requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unwritten {
    pub(crate) iterations: u32,
    /// How the last of them is recorded; `None`: it is of other requests than the next one.
    pub(crate) record: Option<IterationRun>,
    /// With which of them each request is done, in the order of the batch's members; the first one of all, and the last one.
    pub(crate) done_with: Vec<u32>,
    pub(crate) first_done: u32,
    pub(crate) last_done: u32,
    /// How many requests had a token when the first of them began.
    pub(crate) fresh: u32,
    /// Requests by their tokens - 1 before the first of them, modulo the block size; empty where they take no blocks as they
    /// grow.
    pub(crate) phases: Vec<u32>,
    /// How long the stages worked on them.
    pub(crate) execution: WorkTime,
    /// When the last one ended.
    pub(crate) ended_us: f64,
    /// How long the longest of them took.
    pub(crate) longest_us: f64,
}

/// The head of the queue was not admitted. It is not, either, as long as nothing of this changes and no block becomes free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeadBlocked {
    pub(crate) head: RequestId,
    pub(crate) stop: BlockReason,
    /// Requests that held memory, and blocks that were free beside its adapter.
    pub(crate) num_running: u32,
    pub(crate) free: Option<u32>,
}

/// One iteration. Its buffers are used again by later ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScheduledBatch {
    /// Prompts, by request; beside `chunks`.
    pub(crate) prompts: Vec<RequestId>,
    pub(crate) chunks: Vec<Chunk>,
    /// Requests that decode, where they are not the replica's decode batch.
    pub(crate) members: Vec<RequestId>,
    /// All of its requests in the order in which they were chosen, where the scheduler keeps it.
    pub(crate) scheduled: Vec<Scheduled>,
    /// Where its running requests are not listed in it: which such iteration it is.
    pub(crate) steady: Option<SteadyPart>,
    pub(crate) decodes: u32,
    /// Tokens of their answers that these get together.
    pub(crate) decode_tokens: u32,
    pub(crate) decode_kv_tokens: u64,
    /// Drafts that are verified, and how many are made for each request behind it.
    pub(crate) drafts: u32,
    pub(crate) drafted: u32,
    /// Rows of the ranks of a pass that they run together.
    pub(crate) rank_rows: RankRows,
    /// How much longer that pass takes than its own rank would.
    pub(crate) waited_us: f64,
    /// Tokens in KV memory of running requests that are not in it, of a scheduler that leaves all of them out.
    pub(crate) idle_kv_tokens: u64,
    pub(crate) rank_sum: u64,
    pub(crate) any_adapter: bool,
    pub(crate) lora: LoraBatch,
    /// Loading of adapters before it begins.
    pub(crate) load_us: f64,
    /// Adapters in GPU memory and the tokens' worth of the KV pool that they take.
    pub(crate) in_memory: (u32, u32),
    /// Whether a request was preempted, or came back from the host, when it was formed.
    pub(crate) changes_again: bool,
    /// Blocks copied from or to the host before it begins.
    pub(crate) copied_blocks: u64,
    /// Blocks reserved for a static batch.
    pub(crate) reserved: u32,
    pub(crate) formed_us: f64,
    /// When its first stage took it.
    pub(crate) began_us: f64,
    /// How many batches its replica had formed with it.
    pub(crate) number: u64,
    /// Time in stages so far.
    pub(crate) busy_us: f64,
    /// The same for iterations in which the same requests decode, none else, one after the other; 0: prompts are in it.
    pub(crate) composition: u64,
    /// Whether it differs from the iteration before it on its stage by a token of each request only, and takes the time
    /// that follows from that one's.
    pub(crate) continues_run: bool,
    /// How long it takes, and by how much more the next one of the same requests, where it has one stage, microseconds.
    pub(crate) first_us: f64,
    pub(crate) growth_us: f64,
    /// Iterations of the same requests before it, in a pipeline.
    pub(crate) unwritten: Unwritten,
    pub(crate) token_wait: TokenWait,
    /// Copies from and to a lower tier of the KV cache.
    pub(crate) copies: BatchCopies,
    /// Why no waiting request was admitted when it was formed, in a pipeline.
    pub(crate) refused: Option<HeadBlocked>,
    /// How long a stage before the last one takes for it, and the last one, once that is known.
    pub(crate) stage_us: Option<[f64; 2]>,
    /// For how many iterations of the same requests, from this one on, they take as long.
    pub(crate) times_hold: u32,
    /// What those times have in common with the ones of later iterations, where that was asked for, and the line on which these lie.
    pub(crate) constants: Option<StageConstants>,
    pub(crate) line: Option<TimesOnLine>,
}

impl ScheduledBatch {
    /// How long it takes on its one stage, from the loading of adapters on, microseconds.
    pub(crate) fn iteration_us(&self) -> f64 {
        self.load_us + self.first_us
    }

    pub(crate) fn clear(&mut self) {
        self.prompts.clear();
        self.chunks.clear();
        self.members.clear();
        self.scheduled.clear();
        self.steady = None;
        self.decodes = 0;
        self.decode_tokens = 0;
        self.decode_kv_tokens = 0;
        self.drafts = 0;
        self.drafted = 0;
        self.rank_rows = RankRows::default();
        self.waited_us = 0.0;
        self.idle_kv_tokens = 0;
        self.rank_sum = 0;
        self.any_adapter = false;
        self.lora = LoraBatch::default();
        self.load_us = 0.0;
        self.changes_again = false;
        self.copied_blocks = 0;
        self.reserved = 0;
        self.busy_us = 0.0;
        self.composition = 0;
        self.stage_us = None;
        self.constants = None;
        self.line = None;
        self.token_wait = TokenWait::default();
        self.copies = BatchCopies::default();
        self.refused = None;
        self.continues_run = false;
    }

    /// Asks how long the stages take for it, unless that is known: each before the last one, and the last one.
    #[inline]
    pub(crate) fn time_stages(&mut self, cost: &dyn BatchCost) -> [f64; 2] {
        if let Some(known_us) = self.stage_us {
            return known_us;
        }
        self.times_hold = 1;
        // There is no line where prompts are in it.
        let told_us = self.line.as_mut().and_then(|line| line.us(self.decodes, self.decode_kv_tokens));
        let stage_us = told_us.unwrap_or_else(|| self.ask_stages(cost));
        self.stage_us = Some(stage_us);
        stage_us
    }

    fn ask_stages(&mut self, cost: &dyn BatchCost) -> [f64; 2] {
        let constants = self.constants.unwrap_or_else(|| cost.stage_constants(&self.batch()));
        let BatchStages { us, valid_iterations, line } = cost.batch_stages(&self.batch(), &constants);
        self.constants = self.chunks.is_empty().then_some(constants);
        (self.times_hold, self.line) = (valid_iterations, line.map(TimesOnLine::new));
        us
    }

    /// It is the next iteration of the same requests; how long the stages take for that is asked again where it may be
    /// something else.
    #[inline]
    pub(crate) fn forms_again(&mut self) {
        self.decode_kv_tokens += u64::from(self.decode_tokens);
        if self.times_hold > 1 {
            self.times_hold -= 1;
        } else {
            self.stage_us = None;
        }
    }

    /// It is this many iterations later, in each of which every request got a token.
    pub(crate) fn moves_on(&mut self, iterations: u32) {
        self.number += u64::from(iterations);
        self.decode_kv_tokens += u64::from(iterations) * u64::from(self.decode_tokens);
        if let Some(own) = &mut self.steady {
            own.number += u64::from(iterations);
        }
    }

    /// Requests in it.
    pub(crate) fn size(&self) -> u32 {
        self.decodes + self.prompts.len() as u32
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.size() == 0
    }

    /// Prompt tokens in it.
    pub(crate) fn prompt_tokens(&self) -> u32 {
        self.chunks.iter().map(|c| c.tokens).sum()
    }

    /// As the cost model sees it.
    pub(crate) fn batch(&self) -> Batch<'_> {
        Batch {
            chunks: &self.chunks,
            decodes: self.decodes,
            decode_kv_tokens: self.decode_kv_tokens as f64,
            rank_sum: self.rank_sum,
            any_adapter: self.any_adapter,
            lora: self.lora,
            drafts: self.drafts,
            drafted: self.drafted,
            rank_rows: self.rank_rows,
        }
    }
}
