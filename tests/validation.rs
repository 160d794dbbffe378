//! The simulator against closed forms (a small version; `servescope validate` runs the whole) and against S-LoRA's
//! published rows.

use servescope_lab::published::policies::is_in_order;
use servescope_lab::thresholds;
use servescope_lab::validate::{
    Effort, closed_forms, closed_forms_table, policies, policies_table, published, published_table,
    thresholds_table,
};

#[test]
fn closed_forms_hold() {
    let checks = closed_forms(Effort::QUICK, 2);
    println!("{}", closed_forms_table(&checks));
    for id in ["A1", "A2", "A3", "A5", "A6", "A9", "A11", "A12"] {
        assert!(checks.iter().any(|c| c.law.id == id), "{id} is not checked");
    }
    for check in &checks {
        assert!(
            check.is_met(),
            "{}: {} is {:.1} standard errors from {}; gap in Little's law {:e}",
            check.law.title,
            check.mean,
            check.errors_apart(),
            check.law.value,
            check.little_gap
        );
    }
}

#[test]
fn saturated_servers_serve_what_is_known() {
    let rows = thresholds::check(thresholds::thresholds());
    println!("{}", thresholds_table(&rows));
    for row in &rows {
        assert!(row.is_met(), "{}: {} instead of {}", row.threshold.title, row.found, row.threshold.value);
    }
}

#[test]
fn policies_are_reproduced() {
    let rows = policies();
    println!("{}", policies_table(&rows));
    for row in &rows {
        assert!(row.is_within(), "{:?}: attainment {:+.3}", row.row, row.attainment_error());
    }
    assert!(is_in_order(&rows), "early abort, LIFO and FCFS come in another order");
}

#[test]
fn published_rows_are_reproduced() {
    let rows = published();
    println!("{}", published_table(&rows));
    assert_eq!(rows.len(), 36);
    for row in &rows {
        assert!(
            row.is_within(),
            "{:?}: throughput {:+.1} %, attainment {:+.3}",
            row.row,
            100.0 * row.throughput_error(),
            row.attainment_error()
        );
    }
}
