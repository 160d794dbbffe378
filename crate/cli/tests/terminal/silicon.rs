//! `servescope validate --silicon`: measured deployments, run as they were measured.

use crate::{file, folder, good, json, refused};

/// Two rows that are answered and one that is not.
const ROWS: &str = include_str!("../../../../tests/fuzz/corpus/read_silicon/rows.csv");

#[test]
fn every_row_is_answered_or_says_why_not() {
    let path = file(&folder("silicon"), "rows.csv", ROWS);
    let found = json(&["validate", "--silicon", &path, "--json"]);
    let rows = found["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for (row, id) in rows.iter().zip(["dense", "experts", "apart"]) {
        assert_eq!(row["id"], id);
        assert_eq!(row["error"].is_null(), row["ttft_ms"].is_f64() && row["tpot_ms"].is_f64(), "{row}");
    }
    assert!(rows[0]["error"].is_null() && rows[1]["borrowed"] == true);
    assert_eq!(rows[2]["error"], "disaggregated serving is not modelled");
    let summary = found["summary"].as_array().unwrap();
    let all = &summary[0];
    assert_eq!((&all["rows"], &all["answered"]), (&3.into(), &2.into()));
    let left_out = summary.iter().find(|group| group["value"] == "odd hash: left out").unwrap();
    assert_eq!(left_out["rows"], 0);
    let mine = &all["both"]["ours"]["ttft"];
    let expected = rows[0]["ttft_ms"].as_f64().unwrap() / 30.5 - 1.0;
    assert!((mine["bias"].as_f64().unwrap() - expected).abs() < 1e-12, "{mine}");
    assert!((all["aiconfigurator"]["tpot"]["median"].as_f64().unwrap() - (10.0 / 9.25 - 1.0)).abs() < 1e-12);
    let (table, _) = good(&["validate", "--silicon", &path]);
    assert!(table.contains("odd hash: left out") && table.contains("disaggregated serving"), "{table}");
}

#[test]
fn a_bad_file_is_refused_with_its_place() {
    let bad = file(&folder("silicon-bad"), "rows.csv", &ROWS.replace("30.5", "soon"));
    let told = refused(&["validate", "--silicon", &bad]);
    assert!(told.contains("row 2, column silicon_ttft_ms: \"soon\" is not a number"), "{told}");
    let told = refused(&["validate", "--silicon", "/nowhere.csv"]);
    assert!(told.contains("/nowhere.csv"), "{told}");
}
