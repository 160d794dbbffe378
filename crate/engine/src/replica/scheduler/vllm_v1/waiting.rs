//! The waiting requests: which are looked at, in queue order. Those that hold blocks already, because they are loaded (`loaded`), come
//! first.

use servescope_workload::RequestId;

use super::{
    BlockReason, Looked, Padding, QueueScan, Replica, RunningList, ScheduleContext, State, Step, admission,
    loaded,
};
use crate::record::decisions::{Compared, Test, Verdict};
use crate::record::request_state::RequestStatus;

/// Admits waiting requests, in queue order, until one does not fit.
pub(super) fn schedule(
    state: &mut State,
    list: &mut RunningList,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    step: &mut Step,
) -> QueueScan {
    let config = context.config;
    // vLLM's max_num_seqs, or its max_num_active_seqs where that is less.
    let most = step
        .rules
        .max_num_active_seqs
        .map_or(config.max_requests, |most| most.clamp(1, config.max_requests.max(1)));
    step.padding = Padding::beside(step, config);
    let mut passed = Vec::new();
    let mut stop = loaded::schedule(state, list, replica, context, step, most as usize);
    while stop.is_none()
        && let Some(id) = replica.head(context)
    {
        let running = list.order.len() + replica.holding.sessions() as usize;
        stop = if step.tokens_left() == 0 {
            context.queue_waits(replica.index, || Compared::new(Test::TokenBudget, 1u32, 0u32));
            Some(BlockReason::PromptBudget)
        } else if running >= most as usize {
            context.queue_waits(replica.index, || Compared::new(Test::RunningCap, running + 1, most));
            Some(BlockReason::RunningCap)
        } else if list.stale(context, id) > 0 {
            let tokens = list.stale(context, id);
            context.decided(replica.index, id, Verdict::Skipped, || {
                Compared::new(Test::TokensUnderWay, tokens, 0u32)
            });
            // Its last token is not back; those behind it go on.
            defer(state, replica, context, &mut passed, id);
            continue;
        } else if !replica.adapters.admits(context.adapter(id).0) {
            // Those behind it go on (vllm/v1/core/sched/scheduler.py: max_loras).
            if step.rules.prefill_schedule_interval > 1 {
                // Each of them counts as deferred, so they are skipped one by one.
                replica.record_no_slot(context, id);
                defer(state, replica, context, &mut passed, id);
            } else if replica.pass_over(context).is_none() {
                break;
            }
            continue;
        } else {
            let (looked, compared) = admission::admit(list, replica, context, step, id);
            let verdict = match looked {
                Looked::Admitted => Verdict::Admitted,
                Looked::Loads => Verdict::Loads,
                Looked::Skipped => Verdict::Skipped,
                Looked::Waits(_) => Verdict::Waits,
            };
            context.decided(replica.index, id, verdict, || compared);
            if step.has_padded(id) {
                context.decided(replica.index, id, Verdict::DraftsPadded, || Compared::NOTHING);
            }
            match looked {
                Looked::Admitted => {}
                Looked::Loads => state.defer(id),
                Looked::Skipped => defer(state, replica, context, &mut passed, id),
                Looked::Waits(reason) => stop = Some(reason),
            }
            continue;
        };
        if stop.is_some() {
            break;
        }
    }
    for &id in passed.iter().rev() {
        replica.requeue(context, id);
    }
    if !step.defers_prompts {
        let waits = |&id: &RequestId| {
            matches!(context.requests[id].status, RequestStatus::Waiting | RequestStatus::Loading)
        };
        state.deferred.retain(waits);
        state.is_capacity_bound = replica.num_waiting as usize > state.deferred.len();
    }
    context.record.phases.scanned(replica.index, context.now_us, stop, step.defers_prompts);
    QueueScan::Stopped(stop)
}

/// Takes the head out of the waiting queue until the iteration is formed, so that the requests behind it are looked at.
fn defer(
    state: &mut State,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    passed: &mut Vec<RequestId>,
    id: RequestId,
) {
    replica.pop_waiting(context);
    passed.push(id);
    state.defer(id);
}
