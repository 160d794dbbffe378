//! Notes that need the run: settings that act in general, and whose case did not occur.
//!
//! Whether an order ever had a choice, and whether a request was preempted, follows from how the load meets the memory. No
//! condition on settings covers it: a proxy that reserves KV memory usually keeps the engine's waiting queue empty, and not
//! always.

use servescope_engine::Report;

use super::{Note, NoteContext, Reason, idle};
use crate::parameters::choices::Order;
use crate::parameters::{Condition, Id};
use crate::scenario::Scenario;

/// Settings that were given a value and whose case did not occur in a run, in the order of the table.
pub fn unused(scenario: &Scenario, context: &NoteContext, report: &Report) -> Vec<Note> {
    let changed = || scenario.given().filter(|&id| idle(scenario, context, id).is_none());
    let of_order = |id: Id| is_of_order(scenario, context, id);
    let has_choice = !changed().any(of_order) || has_choice(report);
    let shares_prefixes =
        report.trace.metadata.as_deref().is_some_and(|metadata| !metadata.prefix.is_empty());
    let reason = |id: Id| {
        if report.preemptions == 0 && (is_of_preemption(id) || id == Id::PrefixCache && !shares_prefixes) {
            Some(Reason::NoPreemption)
        } else if !has_choice && of_order(id) {
            Some(Reason::NoChoice)
        } else {
            None
        }
    };
    changed().filter_map(|id| Some(Note { id, reason: reason(id)? })).collect()
}

/// Whether a parameter says what becomes of preempted requests.
fn is_of_preemption(id: Id) -> bool {
    let needs_swap = |condition: &Condition| matches!(condition, Condition::In(Id::Preemption, _));
    id == Id::Preemption || id.row().applies.iter().any(needs_swap)
}

/// Whether a parameter does nothing but sort the engine's waiting queue.
fn is_of_order(scenario: &Scenario, context: &NoteContext, id: Id) -> bool {
    if !sorts_only(scenario.chosen(Order::SCHEDULER)) {
        return false;
    }
    let mut sorted_by_arrival = scenario.clone();
    let first = Order::SCHEDULER.value(Order::Fcfs);
    id == Id::SchedulerOrder
        || sorted_by_arrival.set(Id::SchedulerOrder, first).is_ok()
            && idle(&sorted_by_arrival, context, id).is_some()
}

/// Whether an order does nothing but sort the waiting queue by something else than arrival.
fn sorts_only(order: Order) -> bool {
    match order {
        Order::Lifo | Order::Shortest | Order::Priority | Order::Vtc | Order::Lcf | Order::Drr => true,
        Order::Fcfs | Order::Rpm | Order::EarlyAbort | Order::Cluster | Order::Peft | Order::Pets => false,
    }
}

/// Whether some decision depended on the order of the waiting requests.
fn has_choice(report: &Report) -> bool {
    // Which request is admitted first also decides which adapter in a LoRA slot is the least recently used.
    if report.preemptions > 0 || (report.adapters.stay && report.adapters.evictions > 0) {
        return true;
    }
    report.had_choice
}
