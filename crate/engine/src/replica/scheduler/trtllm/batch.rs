//! The micro-batch scheduler, the batch while it is formed (`PyMicroBatchScheduler`): what is left of its token budget, and how it is given to prompts.

use servescope_workload::RequestId;

use super::{PoolConfig, Replica, RunningList, ScheduleContext, most_tokens};
use crate::config::trtllm::ChunkingPolicy;
use crate::record::decisions::Compared;
use crate::replica::iteration::Scheduled;
use crate::replica::running_list::RunningRequest;

/// A prompt that waits for its part of the budget, where all get it together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sharer {
    pub(super) id: RequestId,
    /// Its tokens that are to be computed.
    pub(super) left: u32,
    /// The memory test that it passed.
    pub(super) compared: Compared,
}

/// A batch while it is formed.
#[derive(Debug)]
pub(super) struct MicroBatch {
    /// What is left of `max_num_tokens`, and all of it.
    pub(super) budget: u32,
    max_num_tokens: u32,
    /// Chunks that are not the last of their prompts have whole blocks.
    block_size: u32,
    chunking: Option<ChunkingPolicy>,
    /// Whether a request did not fit: those behind it are not looked at (prompts that are not cut).
    pub(super) is_closed: bool,
    pub(super) scheduled: Vec<Scheduled>,
    /// Prompts that share the budget (`EQUAL_PROGRESS`).
    pub(super) sharers: Vec<Sharer>,
    /// Waiting requests that were taken out of the queue and are not in the batch, in their order.
    pub(super) passed: Vec<RequestId>,
    /// Blocks of requests that fit the memory and are not in the batch.
    pub(super) promised: u32,
    /// The numbers of the blocks that prompts of this decision compute first, each with its request.
    pub(super) computes: Vec<(u32, RequestId)>,
    /// Adapters of prompts that share the budget, which these will load.
    pub(super) claimed: Vec<u32>,
    /// How long adapters are loaded before it, microseconds.
    pub(super) load_us: f64,
}

impl MicroBatch {
    pub(super) fn new(config: &PoolConfig, scheduled: Vec<Scheduled>) -> Self {
        Self {
            budget: config.max_batch_tokens,
            max_num_tokens: config.max_batch_tokens,
            block_size: config.block_size,
            chunking: config.trtllm.context_chunking,
            is_closed: false,
            scheduled,
            sharers: Vec::new(),
            passed: Vec::new(),
            promised: 0,
            computes: Vec::new(),
            claimed: Vec::new(),
            load_us: 0.0,
        }
    }

    pub(super) fn cuts_prompts(&self) -> bool {
        self.chunking.is_some()
    }

    pub(super) fn shares_budget(&self) -> bool {
        self.chunking == Some(ChunkingPolicy::EqualProgress)
    }

    /// How many of so many tokens of a prompt fit, in whole blocks unless it is all of them.
    pub(super) fn tokens_for(&self, left: u32) -> u32 {
        let never_cut = self.chunking.is_none() || self.block_size > self.max_num_tokens;
        // What a paused request recomputes may have grown over the budget.
        let goes_alone = never_cut && left > self.max_num_tokens && self.budget == self.max_num_tokens;
        if left <= self.budget || goes_alone {
            left
        } else if never_cut {
            0
        } else {
            self.budget / self.block_size * self.block_size
        }
    }

    pub(super) fn take(&mut self, scheduled: Scheduled) {
        self.budget = self.budget.saturating_sub(scheduled.tokens);
        self.scheduled.push(scheduled);
    }

    /// A running request decodes, for which there is a block where it needs one. Says whether it is in the batch.
    pub(super) fn decode(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        place: u32,
    ) -> bool {
        let entry = list.entry(place);
        let id = entry.id;
        self.is_closed |= self.budget == 0;
        if self.is_closed {
            context.record.phases.defer(id, context.now_us, false);
            return false;
        }
        replica.kv.take_blocks(entry.computed + 1, &mut entry.held);
        entry.is_scheduled = true;
        self.take(Scheduled { id, tokens: 1, computed: entry.computed, ..Scheduled::default() });
        true
    }

    /// The rest of a running request's prompt, for which it has its blocks, gets what fits of it.
    pub(super) fn offer_rest(
        &mut self,
        list: &mut RunningList,
        replica: &Replica,
        context: &mut ScheduleContext<'_>,
        place: u32,
    ) {
        let &mut RunningRequest { id, known, computed, .. } = list.entry(place);
        self.computes.extend(first_new_block(replica, context, id).1.map(|number| (number, id)));
        let left = known - computed;
        if self.shares_budget() && !self.is_closed {
            self.sharers.push(Sharer { id, left, compared: Compared::NOTHING });
            return;
        }
        let tokens = if self.is_closed { 0 } else { self.tokens_for(left) };
        self.go_on(list, context, place, tokens);
    }

    /// A running request computes so many tokens of its prompt; 0: it sits this batch out.
    pub(super) fn go_on(
        &mut self,
        list: &mut RunningList,
        context: &mut ScheduleContext<'_>,
        place: u32,
        tokens: u32,
    ) {
        let entry = list.entry(place);
        let (id, computed) = (entry.id, entry.computed);
        if tokens == 0 {
            context.record.phases.defer(id, context.now_us, false);
            return;
        }
        entry.is_scheduled = true;
        self.take(Scheduled { id, tokens, computed, is_prompt: true, ..Scheduled::default() });
    }

    /// How many tokens each of the prompts gets that share the budget: a block in turn (`_chunk_equal_progress`).
    pub(super) fn shares(&self) -> Vec<u32> {
        let all: u32 = self.sharers.iter().map(|own| own.left).sum();
        if all <= self.budget {
            return self.sharers.iter().map(|own| own.left).collect();
        }
        let mut shares = vec![0; self.sharers.len()];
        let (mut used, mut has_grown) = (0, true);
        while used < self.budget && has_grown {
            has_grown = false;
            for (share, own) in shares.iter_mut().zip(&self.sharers) {
                let more = self.block_size.min(own.left - *share);
                if more > 0 && used + more <= self.budget {
                    *share += more;
                    used += more;
                    has_grown = true;
                }
            }
        }
        shares
    }
}

/// Whether a running request has tokens of its prompt to compute, or of what it recomputes.
pub(super) fn is_prompt(list: &RunningList, context: &ScheduleContext<'_>, place: u32) -> bool {
    let entry = &list.entries[place as usize];
    entry.computed < context.requests[entry.id].prompt
}

/// Whether a running request that has its prompt decodes on: its token is not under way in a batch on another stage, and that which is
/// under way is not the last by its `max_tokens` (`GENERATION_TO_COMPLETE`).
pub(super) fn decodes_on(list: &RunningList, context: &ScheduleContext<'_>, place: u32) -> bool {
    let entry = &list.entries[place as usize];
    let waits = list.looks < entry.decodes_from || entry.known + entry.awaited == entry.computed;
    let ends = entry.awaited > 0 && entry.computed + 1 >= most_tokens(context, entry.id);
    !waits && !ends
}

/// How many of a prompt's first blocks are cached, with how many of these no request holds; and the number of the first that is not, where
/// other requests may have it, too. The last token is computed in any case: the next one comes out of it.
pub(super) fn first_new_block(
    replica: &Replica,
    context: &ScheduleContext<'_>,
    id: RequestId,
) -> ((u32, u32), Option<u32>) {
    let most = (context.requests[id].prompt - 1) / context.config.block_size;
    let found = replica.kv.get_computed_blocks(id, most);
    (found, replica.kv.numbers_of(id, most).nth(found.0 as usize))
}
