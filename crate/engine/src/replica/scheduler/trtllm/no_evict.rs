//! `GUARANTEED_NO_EVICT`, a policy of the capacity scheduler (`GuaranteedNoEvictPolicy`): every running request has the blocks that it may
//! come to need, by its `max_tokens`, so that none is ever paused.

use servescope_workload::RequestId;

use super::batch::{MicroBatch, decodes_on, is_prompt};
use super::{BlockReason, Replica, RunningList, ScheduleContext, State, most_tokens};

/// Blocks of a request at its end (`get_remaining_blocks_to_completion`, and those that it has).
pub(super) fn blocks_at_end(context: &ScheduleContext<'_>, id: RequestId) -> u32 {
    context.config.blocks_for(most_tokens(context, id))
}

/// Free blocks that no running request may come to need (`NoEvictScheduledBlocksManager`).
pub(super) fn unreserved(list: &RunningList, replica: &Replica, context: &ScheduleContext<'_>) -> u32 {
    let lacks = |id, blocks| blocks_at_end(context, id).saturating_sub(blocks);
    let to_come: u32 = list.seen(replica).into_iter().map(|own| lacks(own.id, own.blocks)).sum();
    replica.kv.available().saturating_sub(to_come)
}

impl State {
    /// All running requests go on, those that decode first; then waiting ones.
    pub(super) fn schedule_all(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        step: &mut MicroBatch,
    ) -> Option<BlockReason> {
        for reads_prompt in [false, true] {
            for at in 0..list.order.len() {
                let place = list.order[at];
                if is_prompt(list, context, place) != reads_prompt {
                    continue;
                }
                if reads_prompt {
                    step.offer_rest(list, replica, context, place);
                } else if decodes_on(list, context, place) {
                    step.decode(list, replica, context, place);
                }
            }
        }
        self.admit_waiting(list, replica, context, step)
    }
}
