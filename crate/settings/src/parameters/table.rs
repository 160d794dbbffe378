//! Every parameter: its rows are in the files of the folder beside, in this order.

use super::builder::row;
use super::id::Id;
use super::kind::{Kind, Parameter};

mod clients;
mod cost;
mod gateway;
mod model;
mod queue;
mod replicas;
mod routing;
mod run;
mod scaling;
mod traffic;

/// The rows, by [`Id`].
pub static TABLE: [Parameter; Id::ALL.len()] = by_id(&[
    traffic::ROWS,
    queue::ROWS,
    gateway::ROWS,
    replicas::ROWS,
    scaling::ROWS,
    replicas::SERVING,
    routing::ROWS,
    model::ROWS,
    clients::ROWS,
    cost::ROWS,
    run::ROWS,
]);

/// The rows of all files. That each parameter has one, in the order of [`Id`], is checked when this is compiled.
#[expect(clippy::large_stack_arrays, reason = "it is evaluated when this is compiled, not on any stack")]
const fn by_id(files: &[&[(Id, Parameter)]]) -> [Parameter; Id::ALL.len()] {
    let mut table = [row("", "", "", Kind::Flag(false)); Id::ALL.len()];
    let (mut place, mut file) = (0, 0);
    while file < files.len() {
        let mut at = 0;
        while at < files[file].len() {
            let (id, parameter) = files[file][at];
            assert!(id as usize == place, "a row stands at another place than its parameter in `Id`");
            table[place] = parameter;
            place += 1;
            at += 1;
        }
        file += 1;
    }
    assert!(place == table.len(), "a parameter has no row");
    table
}
