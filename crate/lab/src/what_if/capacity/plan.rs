//! The plan for a load: every configuration of a grid is searched and ranked by what the load costs, and the best are
//! simulated at the load until those that stand first are known to hold.

use super::check::{Check, Checked};
use super::grid::{Configuration, Grid};
use super::ranking::{Found, Ranked, rank, rank_again};
use super::search::Search;
use crate::failure::Failure;
use crate::run::LoadedTrace;
use crate::scenario::Scenario;
use crate::what_if::threads::on_threads;

/// The ranking of the configurations of a grid for the load of a scenario, or of a file. `threads` work at it, and do not
/// decide the result; `done` is called after every search.
///
/// A configuration that cannot be run stands at the end with its failures.
pub fn plan(
    scenario: &Scenario,
    grid: &Grid,
    loaded: Option<&LoadedTrace>,
    threads: usize,
    done: &(dyn Fn() + Sync),
) -> Vec<Ranked> {
    let all = grid.configurations(scenario);
    let found = on_threads(all.len(), threads, |place| {
        let Configuration { values, scenario } = &all[place];
        let result = Search::new(scenario, loaded.cloned()).map(|mut search| {
            while search.advance(usize::MAX) < 1.0 {}
            search.finish()
        });
        done();
        Found { place, values: values.clone(), result }
    });
    let mut ranking = rank(found);
    while check_next(&mut ranking, &all, loaded, threads) {
        rank_again(&mut ranking);
    }
    ranking
}

/// Simulates what is to be simulated next; whether there was something.
fn check_next(
    ranking: &mut [Ranked],
    all: &[Configuration],
    loaded: Option<&LoadedTrace>,
    threads: usize,
) -> bool {
    let next: Vec<usize> = (0..ranking.len()).filter(|&at| ranking[at].standing.is_next).collect();
    let checked = on_threads(next.len(), threads, |at| {
        let ranked = &ranking[next[at]];
        check(ranked, &all[ranked.standing.place].scenario, loaded)
    });
    for (&at, checked) in next.iter().zip(checked) {
        match checked {
            Ok(checked) => ranking[at].checks.push(checked),
            Err(failures) => ranking[at].failures = failures,
        }
    }
    !next.is_empty()
}

fn check(
    ranked: &Ranked,
    scenario: &Scenario,
    loaded: Option<&LoadedTrace>,
) -> Result<Checked, Vec<Failure>> {
    let replicas = ranked.standing.need.map_or(1, |need| need.replicas);
    let capacity = ranked.capacity.as_ref();
    let requests = capacity.and_then(|capacity| capacity.measures).map_or(0, |measures| measures.requests);
    let missed_rps = capacity.and_then(|capacity| capacity.missed_rps);
    Ok(Check::new(scenario, loaded, replicas, requests, missed_rps)?.finish())
}
