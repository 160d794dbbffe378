//! Servers of one request, of several and of any number at a time.

use servescope_settings::parameters::Id;

use super::{ClosedFormValue, ConditionTest, Wanted, output};
use crate::closed_forms::{erlang_c_wait, gamma_over_exponential};

/// Output lengths of a geometric distribution are practically never as many times their mean.
pub(super) const LONGEST: f64 = 40.0;

/// One request at a time: a prefill that yields the first token, then an iteration a token. The formula of Pollaczek and
/// Khinchine for Poisson arrivals; GI/M/1 for gamma gaps and geometric lengths.
pub(super) fn single_server(test: &mut ConditionTest<'_>, is_wait: bool) -> Option<ClosedFormValue> {
    let scenario = test.scenario;
    test.needs_open_server(&[]);
    let (mean, variance) = output(scenario)?;
    test.needs_room(LONGEST * mean);
    let iteration_s = (scenario.number(Id::DecodeBase) + scenario.number(Id::DecodePerRequest)) / 1e3;
    let prefill_s = scenario.number(Id::PrefillBase) / 1e3;
    let service_s = prefill_s + (mean - 1.0) * iteration_s;
    let rate = scenario.number(Id::Rate);
    let (load, cv) = (rate * service_s, test.cv());
    test.needs(Id::Rate, load < 1.0, Wanted::Below(1.0 / service_s));
    let kind = scenario.choice(Id::OutputKind);
    let is_exponential = kind == "geometric" && prefill_s == iteration_s;
    let (name, wait_s) = if cv == 1.0 {
        let square = variance * iteration_s * iteration_s + service_s * service_s;
        let name = match kind {
            "fixed" => "M/D/1",
            _ if is_exponential => "M/M/1",
            _ => "M/G/1",
        };
        (name, rate * square / (2.0 * (1.0 - load)))
    } else {
        test.needs(Id::OutputKind, kind == "geometric", Wanted::OneOf(&["geometric"]));
        test.needs_number(Id::PrefillBase, iteration_s * 1e3);
        if !test.obstacles.is_empty() {
            return None;
        }
        ("GI/M/1", gamma_over_exponential(cv, load) * service_s)
    };
    Some(ClosedFormValue { name, value: if is_wait { wait_s } else { wait_s + service_s } })
}

/// Every request runs at once: an iteration of `a + b` x batch is a server whose speed is shared (processor sharing), whatever
/// the distribution of lengths. The first token is free. A request that finds others running waits up to an iteration more.
pub(super) fn shared_server(test: &mut ConditionTest<'_>) -> Option<ClosedFormValue> {
    const MANY: f64 = 10_000.0;
    let scenario = test.scenario;
    test.needs_open_server(&[]);
    test.needs_least(Id::MaxRunning, MANY);
    test.needs_number(Id::PrefillBase, 0.0);
    test.needs_poisson();
    let (mean, _) = output(scenario)?;
    test.needs_room(LONGEST * mean);
    let (a, b) = (scenario.number(Id::DecodeBase) / 1e3, scenario.number(Id::DecodePerRequest) / 1e3);
    let (rate, tokens) = (scenario.number(Id::Rate), mean - 1.0);
    test.needs(Id::Rate, rate * tokens * b < 1.0, Wanted::Below(1.0 / (tokens * b)));
    let name = if b == 0.0 { "M/G/∞" } else { "M/G/1-PS" };
    Some(ClosedFormValue { name, value: tokens * (a + b) / (1.0 - rate * tokens * b) })
}

/// Several requests at a time, each in iterations whose length does not depend on the batch, so each like a server of its own:
/// Erlang's formula of waiting for Poisson arrivals and geometric lengths. The first token is free.
pub(super) fn several_servers(test: &mut ConditionTest<'_>) -> Option<ClosedFormValue> {
    let scenario = test.scenario;
    test.needs_open_server(&[]);
    test.needs_number(Id::PrefillBase, 0.0);
    test.needs_number(Id::DecodePerRequest, 0.0);
    test.needs_poisson();
    let is_geometric = scenario.choice(Id::OutputKind) == "geometric";
    test.needs(Id::OutputKind, is_geometric, Wanted::OneOf(&["geometric"]));
    let (mean, _) = output(scenario)?;
    let servers = scenario.number(Id::MaxRunning);
    test.needs_room(LONGEST * mean * servers);
    let service_s = (mean - 1.0) * scenario.number(Id::DecodeBase) / 1e3;
    let offered = scenario.number(Id::Rate) * service_s;
    test.needs(Id::Rate, offered < servers, Wanted::Below(servers / service_s));
    Some(ClosedFormValue { name: "M/M/c", value: erlang_c_wait(servers as u32, offered) * service_s })
}
