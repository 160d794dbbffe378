//! Servers that lose requests: those without a queue, and those whose requests do not wait for ever. The metrics are counts, so
//! the shares of the closed forms are multiplied by the requests that the duration lets expect.

use servescope_settings::parameters::Id;

use super::servers::LONGEST;
use super::{ClosedFormValue, ConditionTest, Wanted, output};
use crate::closed_forms::{erlang_b_share, impatient_share};

/// How many requests arrive in the mean.
fn expected_requests(test: &ConditionTest<'_>) -> f64 {
    test.scenario.number(Id::Rate) * test.scenario.number(Id::Duration)
}

/// As many requests at the replica as it runs, in iterations whose length does not depend on the batch: Erlang's loss formula,
/// whatever the distribution of lengths. The first token is free.
pub(super) fn no_queue(test: &mut ConditionTest<'_>) -> Option<ClosedFormValue> {
    let scenario = test.scenario;
    test.needs_open_server(&[Id::MaxInSystem]);
    let slots = scenario.number(Id::MaxRunning);
    test.needs_number(Id::MaxInSystem, slots);
    test.needs_number(Id::PrefillBase, 0.0);
    test.needs_number(Id::DecodePerRequest, 0.0);
    test.needs_poisson();
    let (mean, _) = output(scenario)?;
    test.needs_room(LONGEST * mean * slots);
    let offered = scenario.number(Id::Rate) * (mean - 1.0) * scenario.number(Id::DecodeBase) / 1e3;
    Some(ClosedFormValue {
        name: "Erlang B",
        value: erlang_b_share(slots as u32, offered) * expected_requests(test),
    })
}

/// One request at a time, and requests that leave the queue after a fixed wait: M/M/1+D.
pub(super) fn patience(test: &mut ConditionTest<'_>) -> Option<ClosedFormValue> {
    let scenario = test.scenario;
    test.needs_open_server(&[Id::QueueTimeout]);
    test.needs_number(Id::MaxRunning, 1.0);
    test.needs_poisson();
    let is_geometric = scenario.choice(Id::OutputKind) == "geometric";
    test.needs(Id::OutputKind, is_geometric, Wanted::OneOf(&["geometric"]));
    let (mean, _) = output(scenario)?;
    test.needs_room(LONGEST * mean);
    let iteration_ms = scenario.number(Id::DecodeBase) + scenario.number(Id::DecodePerRequest);
    test.needs_number(Id::PrefillBase, iteration_ms);
    let service_s = mean * iteration_ms / 1e3;
    let load = scenario.number(Id::Rate) * service_s;
    let patience_s = scenario.number(Id::QueueTimeout);
    test.needs(Id::QueueTimeout, patience_s > 0.0, Wanted::Above(0.0));
    let share = impatient_share(load, patience_s / service_s);
    Some(ClosedFormValue { name: "M/M/1+D", value: share * expected_requests(test) })
}
