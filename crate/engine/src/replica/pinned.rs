//! Blocks of prompts that a prefill replica keeps for decode replicas (`delay_free_blocks` of vLLM's scheduler). Its workers look for
//! those that decode replicas have pulled when they take a batch, and tell the scheduler with that batch's tokens (`finished_sending`); a
//! replica without a batch learns of them at once.

use servescope_workload::RequestId;

use super::Replica;
use super::iteration::ScheduledBatch;
use super::kv_cache::Held;

/// The blocks of one request.
#[derive(Debug, Clone)]
struct Pinned {
    request: RequestId,
    held: Held,
    progress: Sending,
}

/// How far the pull of a decode replica is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sending {
    Awaited,
    Finished,
    /// A batch under way tells the scheduler.
    Reported,
}

/// All that a replica keeps.
#[derive(Debug, Clone, Default)]
pub(crate) struct PinnedBlocks {
    all: Vec<Pinned>,
    /// Whether the scheduler learned of a finished pull since it was asked.
    has_learned: bool,
}

impl PinnedBlocks {
    /// The prompt of a request is computed, and its blocks stay.
    pub(crate) fn keep(&mut self, request: RequestId, held: Held) {
        self.all.push(Pinned { request, held, progress: Sending::Awaited });
    }

    /// The blocks of a request have been pulled, or will not be.
    pub(crate) fn finish_sending(&mut self, request: RequestId) {
        // A request that was sent again has blocks here twice, until the pull of the first ones has ended.
        let awaited = |own: &&mut Pinned| own.request == request && own.progress == Sending::Awaited;
        if let Some(own) = self.all.iter_mut().find(awaited) {
            own.progress = Sending::Finished;
        }
    }

    /// The replica fails: no decode replica will pull its blocks.
    pub(crate) fn give_up(&mut self) {
        let awaited = self.all.iter_mut().filter(|own| own.progress == Sending::Awaited);
        awaited.for_each(|own| own.progress = Sending::Finished);
    }

    /// Whether no blocks are kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether blocks have been pulled of which no batch tells.
    pub(crate) fn has_news(&self) -> bool {
        self.all.iter().any(|own| own.progress == Sending::Finished)
    }

    /// Whether the scheduler learned of a finished pull since the last call: then it looks again.
    pub(crate) fn take_learned(&mut self) -> bool {
        std::mem::take(&mut self.has_learned)
    }
}

impl Replica {
    /// A batch is formed: it tells of the blocks that have been pulled so far.
    pub(crate) fn report_finished_sending(&mut self, batch: &mut ScheduledBatch) {
        for own in self.pinned.all.iter_mut().filter(|own| own.progress == Sending::Finished) {
            own.progress = Sending::Reported;
            batch.copies.finished_sending.push(own.request);
        }
    }

    /// The scheduler learns of the blocks that had been pulled when a batch was formed: they are free.
    pub(crate) fn free_finished_sending(&mut self, batch: &mut ScheduledBatch) {
        for request in std::mem::take(&mut batch.copies.finished_sending) {
            let is_reported = |own: &Pinned| own.request == request && own.progress == Sending::Reported;
            let Some(at) = self.pinned.all.iter().position(is_reported) else { continue };
            let mut own = self.pinned.all.remove(at);
            self.kv.free_blocks(request, &mut own.held, false);
            self.pinned.has_learned = true;
        }
    }
}
