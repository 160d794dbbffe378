//! `servescope simulate --seeds N`: every headline number with its range over seeds.

use crate::{file, folder, good, json, refused};

#[test]
fn a_range_goes_from_the_lowest_to_the_highest_of_the_seeds() {
    let several = json(&["simulate", "--json", "--seeds", "3"]);
    let of_seed = |seed: &str| json(&["simulate", "--json", "--set", seed]);
    let runs = ["seed=42", "seed=43", "seed=44"].map(of_seed);
    assert_eq!(several["digest"], runs[0]["digest"], "the run is that of the scenario's own seed");
    let ranges = several["ranges"].as_object().expect("an object");
    assert_eq!(ranges.len(), 9);
    for (path, range) in ranges {
        let pointer = format!("/{}", path.replace('.', "/"));
        let values = [0, 1, 2].map(|seed: usize| runs[seed].pointer(&pointer).unwrap().as_f64().unwrap());
        let [low, high] = [f64::min, f64::max].map(|of| values.into_iter().reduce(of).unwrap());
        assert_eq!((range["low"].as_f64(), range["high"].as_f64()), (Some(low), Some(high)), "{path}");
        assert_eq!(range["seeds"], 3, "{path}");
    }
    assert!(ranges["ttft_s.p50"]["low"].as_f64() < ranges["ttft_s.p50"]["high"].as_f64());
    assert!(runs[0].get("ranges").is_none());
}

#[test]
fn the_table_shows_them_and_no_seeds_are_refused() {
    let (printed, _) = good(&["simulate", "--seeds", "2", "--set", "workload.duration_s=30"]);
    let table = printed.split("over 2 seeds").nth(1).expect("a table of its own");
    assert!(
        table.contains("lowest") && table.lines().any(|line| line.starts_with("ttft_s.p99 ")),
        "{printed}"
    );
    assert!(refused(&["simulate", "--seeds", "0"]).contains("seeds"));
}

#[test]
fn a_file_that_every_seed_plays_alike_is_told() {
    let trace = file(
        &folder("ranges"),
        "t.csv",
        "arrived_at,num_prefill_tokens,num_decode_tokens\n0.1,100,20\n0.5,200,30\n",
    );
    let (_, notes) = good(&["simulate", "--trace", &trace, "--seeds", "3"]);
    assert!(notes.contains("every seed gives the same run"), "{notes}");
}
