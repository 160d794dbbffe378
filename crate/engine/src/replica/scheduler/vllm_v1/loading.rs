//! Requests whose blocks are loaded, from a tier below the KV cache or from another replica (`WAITING_FOR_REMOTE_KVS`). Such a request
//! has all blocks of what is cached or loaded at once; where they are not free beside those that loads and prompts under way still need,
//! it waits, and with it the queue.

use servescope_workload::RequestId;

use super::{BlockReason, Looked, Replica, RunningList, ScheduleContext, Step};
use crate::record::decisions::{Compared, Test};
use crate::replica::holding::Holder;
use crate::replica::kv_cache::Held;

/// The head of the waiting queue begins to load so many tokens behind the blocks that are cached, of which some are not in use.
pub(super) fn begin(
    list: &RunningList,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    step: &Step,
    id: RequestId,
    [hits, idle, loads]: [u32; 3],
) -> (Looked, Compared) {
    let config = context.config;
    let known = context.requests[id].prompt;
    let tokens = hits * config.block_size + loads;
    let beside = u64::from(idle) + u64::from(if list.order.is_empty() { 0 } else { config.watermark_blocks });
    let free = replica.free_beside_adapter(context, id).unwrap_or(0);
    let of_drafts = config.tokens_to_end(0).div_ceil(config.block_size);
    let reserved = blocks_to_come(list, replica, context, step) + u64::from(of_drafts);
    let whole = u64::from(replica.kv.blocks_for_whole(hits, known)) + beside;
    let wanted = u64::from(replica.kv.blocks_to_admit(hits, tokens)) + beside;
    let is_whole_short = step.rules.scheduler_reserve_full_isl && whole > u64::from(free);
    if is_whole_short || wanted + reserved > u64::from(free) {
        let needs = if is_whole_short { whole } else { wanted + reserved };
        return (Looked::Waits(BlockReason::Memory), Compared::new(Test::KvBlocks, needs, free));
    }
    let mut held = replica.kv.no_blocks();
    replica.kv.touch_blocks(id, known, hits, &mut held);
    replica.kv.take_blocks(tokens, &mut held);
    let is_pull = context.requests.is_to_be_pulled(id);
    let of_tier = if is_pull { 0 } else { loads };
    replica.kv.count_loaded(of_tier);
    context.requests.finds(id, hits * config.block_size, of_tier);
    if let Some(legs) = context.requests.legs_mut(id).filter(|_| is_pull) {
        (legs.is_pulled, legs.blocks) = (true, loads.div_ceil(config.block_size));
    }
    replica.holds_blocks(context, id);
    if let Some(tier) = &mut replica.kv_connector {
        tier.load(context.trace, (id, known), (hits, loads));
    }
    replica.holding.push(Holder::loading(id, held, known, tokens, hits));
    (Looked::Loads, Compared::new(Test::KvBlocks, wanted + reserved, free))
}

/// Blocks that prompts which are being read, and loads, still need to their end (`_inflight_prefill_reserved_blocks`); where adapters
/// share the KV memory, those of loading requests' adapters, too.
fn blocks_to_come(list: &RunningList, replica: &Replica, context: &ScheduleContext<'_>, step: &Step) -> u64 {
    let is_new = |id: RequestId| step.scheduled.iter().any(|own| own.is_admitted && own.id == id);
    let to_end = |known: u32, held: &Held| {
        u64::from(replica.kv.blocks_to_take(context.config.tokens_to_end(known), held))
    };
    let entries = list.order.iter().map(|&place| &list.entries[place as usize]);
    let prompts = entries.filter(|entry| entry.is_prompt_chunk || is_new(entry.id));
    let of_prompts: u64 = prompts.map(|entry| to_end(entry.known, &entry.held)).sum();
    let loads = replica.holding.waiting().filter(|holder| !holder.awaits_input());
    let of_load = |load: &Holder| {
        let adapter = replica.adapters.blocks_to_load(context.adapter(load.id).0);
        to_end(load.known, &load.held) + u64::from(adapter)
    };
    of_prompts + loads.map(of_load).sum::<u64>()
}
