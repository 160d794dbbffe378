//! Sessions with streaming input, which comes in chunks, at their replica (vllm/v1/core/sched/scheduler.py, `_handle_stopped_request`,
//! `WAITING_FOR_STREAMING_REQ`). Where the answer to a chunk has ended, the session keeps its KV blocks and its place among those that
//! run until the next chunk comes, which is then admitted with what is computed. The last token of the answer was not computed, and is
//! dropped. **It loses** where sessions are idle for long: their blocks and places serve nobody.

use servescope_workload::RequestId;

use super::Replica;
use super::batch_scheduler::{BatchEvent, ScheduleContext};
use super::holding::{HoldState, Holder};
use super::kv_cache::Held;
use crate::record::decisions::{Compared, Verdict};
use crate::record::request_state::{Leg, LegRole, RequestStatus};

impl Replica {
    /// The answer to a request has ended. Says whether its session keeps the blocks, in which so many tokens are computed: for the next
    /// chunk if it is there, otherwise under the name of this request.
    pub(super) fn keeps_session(
        &mut self,
        context: &mut ScheduleContext<'_>,
        id: RequestId,
        (held, computed): (&mut Held, u32),
    ) -> bool {
        let Some(chunk) = context.requests.chunk(id) else { return false };
        let next = context.requests.next_chunk(id);
        let stays_open = chunk.next.is_none() && chunk.open_until_us > context.now_us;
        if next.is_none() && !stays_open {
            return false;
        }
        let is_there = |&next: &RequestId| context.requests[next].status == RequestStatus::BehindAnswer;
        let waits = next.filter(is_there);
        let held = std::mem::take(held);
        let kept = Holder {
            state: HoldState::AwaitsInput,
            ..Holder::loading(id, held, context.requests[id].prompt, computed, 0)
        };
        self.holding.push(kept);
        context.decided(self.index, id, Verdict::AwaitsInput, || Compared::NOTHING);
        if let Some(next) = waits {
            self.resume_session(context, id, next);
        }
        true
    }

    /// The next chunk of a session comes whose answer has ended: it waits with what is computed.
    pub(crate) fn resume_session(
        &mut self,
        context: &mut ScheduleContext<'_>,
        previous: RequestId,
        id: RequestId,
    ) {
        let most = context.facts.lengths.cut().unwrap_or(u32::MAX);
        let Some(holder) = self.holding.get_mut(previous) else { return };
        let request = &mut context.requests[id];
        request.leg = Leg::at(self.index, LegRole::Whole);
        request.status = RequestStatus::Loading;
        request.total = request.total.min(most);
        (holder.id, holder.known, holder.state) = (id, request.prompt, HoldState::Ready);
        let computed = holder.computed;
        context.requests.finds(id, computed, 0);
        self.num_waiting += 1;
        self.adapters.waits(context.adapter(id).0);
        self.happened(context, BatchEvent::Arrived(id));
    }

    /// A session ends while it awaits input; says whether it did.
    pub(crate) fn close_session(&mut self, id: RequestId) -> bool {
        if !self.holding.get(id).is_some_and(Holder::awaits_input) {
            return false;
        }
        let Self { kv, holding, .. } = self;
        holding.cancel(kv, id);
        true
    }
}
