//! That every row with names has an enum of them, or is a choice among the entries of a list of data; checked when this module is
//! compiled.

use servescope_cost::calibration::CALIBRATION_IDS;
use servescope_cost::models::MODEL_IDS;

use crate::acceptance_tables::TABLE_NAMES;

use super::choices::{GPU_NAMES, MODEL_NAMES, foreign, gateway, service, workload};
use super::id::Id;
use super::kind::Kind;
use super::table::TABLE;

/// Choices among the entries of a list of data: an entry there is both the name and what it stands for.
const LISTS: &[(Id, &[&str])] = &[
    (Id::FleetGpu, &GPU_NAMES),
    (Id::FleetModel, &MODEL_NAMES),
    (Id::SpecDraftModel, &MODEL_IDS),
    (Id::SpecTable, &TABLE_NAMES),
    (Id::Calibration, &CALIBRATION_IDS),
];

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

const fn are_same(a: &[&str], b: &[&str]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && is_same(a[i], b[i]) {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// The names of a parameter in one of the lists.
const fn names_of(id: Id, named: &[(Id, &'static [&'static str])]) -> Option<&'static [&'static str]> {
    let mut i = 0;
    while i < named.len() {
        if named[i].0 as usize == id as usize {
            return Some(named[i].1);
        }
        i += 1;
    }
    None
}

const _: () = {
    let all = [foreign::NAMED, gateway::NAMED, service::NAMED, workload::NAMED, LISTS];
    let mut row = 0;
    while row < TABLE.len() {
        let mut has_names = false;
        let mut list = 0;
        while list < all.len() {
            if let Some(names) = names_of(Id::ALL[row], all[list]) {
                let Kind::Choice(of_row) = TABLE[row].kind else { panic!("a row of an enum has no names") };
                assert!(are_same(names, of_row), "the names of a row are not those of its enum");
                has_names = true;
            }
            list += 1;
        }
        assert!(has_names || !matches!(TABLE[row].kind, Kind::Choice(_)), "a row has names that no enum has");
        row += 1;
    }
};
