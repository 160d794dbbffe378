//! The plan for a load: every configuration of a grid is searched and ranked by what the load costs, and the best are
//! simulated at the load until those that stand first are known to hold.

use serde_json::{Value as Json, json};
use servescope_settings::link;
use servescope_settings::notes::Traffic;
use servescope_settings::parameters::{Id, Value};
use servescope_settings::scenario::Scenario;
use servescope_settings::sglang_serve::sglang_serve;
use servescope_settings::trtllm_serve::trtllm_serve;
use servescope_settings::vllm_serve::vllm_serve;
use servescope_traces::arrivals::trace_of;
use servescope_traces::loaded_trace::LoadedTrace;

use super::check::CapacityCheck;
use super::grid::{Configuration, ConfigurationGrid};
use super::ranking::{Found, Ranked, rank, rank_again};
use super::search::{Capacity, Search, at_rate};
use crate::run::Saturation;
use crate::threads::on_threads;

/// The ranking of the configurations of a grid for the load of their scenario, or of a file. `threads` work at it, and do not
/// decide the result; `done` is called after every search.
///
/// A configuration that cannot be run stands at the end with its errors.
pub fn plan(
    all: &[Configuration],
    loaded: Option<&LoadedTrace>,
    threads: usize,
    done: &(dyn Fn() + Sync),
) -> Vec<Ranked> {
    let mut ranking = rank(on_threads(all.len(), threads, |place| {
        let found = search(place, &all[place], loaded);
        done();
        found
    }));
    while ranking.iter().any(|ranked| ranked.standing.is_next) {
        ranking = on_threads(ranking.len(), threads, |at| ranking[at].with_load_simulated(all, loaded));
        rank_again(&mut ranking);
    }
    ranking
}

/// Searches the capacity of a configuration, which has this place in its grid.
pub fn search(place: usize, configuration: &Configuration, loaded: Option<&LoadedTrace>) -> Found {
    let Configuration { values, workload, scenario, .. } = configuration;
    let result = Search::new(scenario, loaded.cloned()).map(|search| {
        let mut search = search.with_limits();
        while search.advance(usize::MAX) < 1.0 {}
        let capacity = search.finish();
        Capacity { saturated_rps: saturated_rps(scenario, loaded, &capacity), ..capacity }
    });
    Found { place, values: values.clone(), workload: workload.clone(), result }
}

/// What the replicas serve when they are saturated with requests as those of the search's last runs.
fn saturated_rps(scenario: &Scenario, loaded: Option<&LoadedTrace>, found: &Capacity) -> Option<f64> {
    let probe = found.probes.last()?;
    let scenario = at_rate(scenario, loaded, probe.asked_rps, probe.duration_s).ok()?;
    let trace = trace_of(&scenario, loaded).ok()?;
    Saturation::rate_rps(&scenario, &trace).ok().flatten()
}

impl Ranked {
    /// The same with a simulation of what the load needs, or why that cannot be simulated, where its standing asks for it.
    /// [`rank_again`] then says what is next.
    #[must_use]
    pub fn with_load_simulated(&self, all: &[Configuration], loaded: Option<&LoadedTrace>) -> Self {
        let mut ranked = self.clone();
        let Some(need) = self.standing.need.filter(|_| self.standing.is_next) else { return ranked };
        let capacity = self.capacity.as_ref();
        let requests =
            capacity.and_then(|capacity| capacity.measures).map_or(0, |measures| measures.requests);
        let missed_rps = capacity.and_then(|capacity| capacity.missed_rps);
        match CapacityCheck::new(
            &all[self.standing.place].scenario,
            loaded,
            need.replicas,
            requests,
            missed_rps,
        ) {
            Ok(check) => ranked.checks.push(check.finish()),
            Err(errors) => ranked.errors = errors,
        }
        ranked
    }

    /// The scenario that serves the load with the configuration: as it was simulated, where it was.
    pub fn serving(&self, all: &[Configuration]) -> Option<Scenario> {
        let mut scenario = all[self.standing.place].scenario.clone();
        scenario.plan_replicas(self.standing.need?.replicas).ok()?;
        if let Some(check) = self.check() {
            scenario.set(Id::Duration, Value::Number(check.duration_s)).ok()?;
        }
        scenario.set(Id::CapacityGrid, Value::Text(String::new())).ok()?;
        Some(scenario)
    }
}

/// The ranking as JSON, every run of the searches included; each row with the address of its run and, where vLLM schedules
/// so, its command.
pub fn to_json(
    grid: &ConfigurationGrid,
    ranking: &[Ranked],
    all: &[Configuration],
    loaded: Option<&LoadedTrace>,
) -> Json {
    let traffic = loaded.map(|loaded| Traffic::of(&loaded.trace));
    let axes: Vec<&str> = grid.axes.iter().map(|axis| axis.id.row().id).collect();
    let row = |ranked: &Ranked| {
        let mut row = json!(ranked);
        if let Some(scenario) = ranked.serving(all) {
            row["link"] = json!(format!("#{}", link::encode(&scenario)));
            row["vllm_serve"] = json!(vllm_serve(&scenario, traffic.as_ref()).ok());
            row["sglang_serve"] = json!(sglang_serve(&scenario, traffic.as_ref()).ok());
            row["trtllm_serve"] = json!(trtllm_serve(&scenario, traffic.as_ref()).ok());
        }
        row
    };
    json!({ "axes": axes, "ranking": ranking.iter().map(row).collect::<Vec<_>>() })
}
