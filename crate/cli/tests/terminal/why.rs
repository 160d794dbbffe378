//! `simulate --why`: totals by cause, who delayed whom, and a sentence a request; the files add up exactly.

use std::collections::BTreeMap;

use super::{SLORA, folder, good, json, refused, text};

const BUSY: [&str; 5] = [SLORA, "--set", "workload.rate_rps=6", "--set", "workload.duration_s=60"];

/// Nanoseconds of a column with nine decimals.
fn ns(cell: &str) -> u128 {
    let (whole, rest) = cell.split_once('.').expect("nine decimals");
    assert_eq!(rest.len(), 9, "{cell}");
    format!("{whole}{rest}").parse().expect("digits")
}

#[test]
fn causes_and_delays_of_the_files_add_up_exactly() {
    let out = folder("why");
    good(&[&["simulate", "--why", "--out", text(&out)], &BUSY[..]].concat());
    let causes = std::fs::read_to_string(out.join("causes.csv")).expect("a file");
    let mut rows = causes.lines().map(|row| row.split(',').collect::<Vec<_>>());
    let heading = rows.next().expect("a heading");
    let (mut delayed, mut count) = (0, 0);
    let mut by_user: BTreeMap<String, u128> = BTreeMap::new();
    for row in rows {
        assert_eq!(row[4..].iter().map(|cell| ns(cell)).sum::<u128>(), ns(row[3]), "{row:?}");
        let delays = heading.iter().zip(&row).skip(4).filter(|(name, _)| !name.starts_with("own_"));
        let own: u128 = delays.map(|(_, cell)| ns(cell)).sum();
        *by_user.entry(row[1].to_owned()).or_default() += own;
        delayed += own;
        count += 1;
    }
    assert_eq!(count, 360);
    let matrix = std::fs::read_to_string(out.join("delays.csv")).expect("a file");
    let mut of_users: BTreeMap<String, u128> = BTreeMap::new();
    let mut of_adapters = 0;
    for row in matrix.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>()) {
        if row[0] == "user" {
            *of_users.entry(row[1].to_owned()).or_default() += ns(row[3]);
        } else {
            of_adapters += ns(row[3]);
        }
    }
    assert_eq!(of_users, by_user);
    assert_eq!(of_adapters, delayed);
}

#[test]
fn one_request_is_told_in_a_sentence_and_in_json() {
    let (printed, _) = good(&[&["simulate", "--why", "100"], &BUSY[..]].concat());
    let sentence = printed.lines().last().expect("a line");
    assert!(sentence.starts_with("request 100 took "), "{sentence}");
    assert!(sentence.contains(" behind ") && sentence.contains("of user "), "{sentence}");
    let why = &json(&[&["simulate", "--json", "--why", "100"], &BUSY[..]].concat())["why"];
    let request = &why["requests"][0];
    let seconds = |list: &serde_json::Value| -> f64 {
        list.as_array().expect("a list").iter().map(|time| time["seconds"].as_f64().expect("seconds")).sum()
    };
    let total = request["total_s"].as_f64().expect("seconds");
    assert!((seconds(&request["causes"]) - total).abs() < 1e-9);
    assert!((seconds(&request["delays"]) - request["delayed_s"].as_f64().expect("seconds")).abs() < 1e-9);
    assert_eq!(why["causes"].as_array().expect("a list").len(), 25);
    assert!(refused(&[&["simulate", "--why", "100000"], &BUSY[..]].concat()).contains("360 requests"));
}
