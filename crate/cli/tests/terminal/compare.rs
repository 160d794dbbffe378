//! `servescope compare`: two settings over the same seeds, one long run, a crossover, and what is rejected.

use serde_json::Value;

use crate::{SLORA, file, folder, good, json, refused, text};

const SHORT: [&str; 2] = ["--set", "workload.duration_s=40"];

#[test]
fn a_comparison_is_the_same_on_any_number_of_threads_and_agrees_with_single_runs() {
    let arguments =
        [&["compare", "--set-b", "scheduler.order=lifo", "--seeds", "5", "--json"], &SHORT[..]].concat();
    let found = json(&[&arguments[..], &["--threads", "1"]].concat());
    assert_eq!(found, json(&[&arguments[..], &["--threads", "3"]].concat()));
    assert_eq!(found["differ"][0]["path"], "scheduler.order");
    assert_eq!(found["seeds"], serde_json::json!([42, 43, 44, 45, 46]));
    // The last request to arrive is served first in B alone.
    let first = &found["first_difference"];
    assert!(first["time_s"].is_f64() && first["request"].is_u64(), "{first}");
    assert_eq!(first["request"], first["a"]["request"]);
    let mean = &found["metrics"]["ttft_s.mean"];
    let of = |order: &str| -> f64 {
        let run = |seed: u32| {
            let set = [format!("seed={seed}"), format!("scheduler.order={order}")];
            let summary = crate::summary(&[&["--set", &set[0], "--set", &set[1]], &SHORT[..]].concat());
            summary["ttft_s"]["mean"].as_f64().unwrap()
        };
        (42..47).map(run).sum::<f64>() / 5.0
    };
    assert_eq!(mean["a"], of("fcfs"));
    assert_eq!(mean["b"], of("lifo"));
    let [low, difference, high] = ["low", "difference", "high"].map(|key| mean[key].as_f64().unwrap());
    assert!(low <= difference && difference <= high);
    assert_eq!(mean["seeds"], 5);
    assert_eq!(found["requests"]["equal"], found["requests"]["paired"]);
}

#[test]
fn a_difference_is_told_in_a_plain_sentence() {
    let faster = ["compare", SLORA, "--set-b", "cost.linear.decode_base_ms=10", "--seeds", "6"];
    let (printed, _) = good(&[&faster[..], &SHORT].concat());
    assert!(printed.contains("\nB lowers mean TPOT by "), "{printed}");
    assert!(printed.contains("95 % interval") && printed.contains("6 seeds)"), "{printed}");
    let (same, _) = good(&[&["compare", "--seeds", "3"], &SHORT[..]].concat());
    assert!(same.starts_with("A and B are the same setting"));
    assert!(same.contains("mean TTFT is the same in A and B (3 seeds)"));
}

#[test]
fn files_links_tables_requests_and_charts() {
    let dir = folder("compare");
    let a = file(&dir, "a.json", r#"{"workload": {"duration_s": 40}}"#);
    let b = file(&dir, "b.json", r#"{"workload": {"duration_s": 40, "rate_rps": 2.2}, "seed": 7}"#);
    let place = |name: &str| text(&dir.join(name)).to_owned();
    let (csv, requests, charts) = (place("d.csv"), place("r.csv"), place("charts"));
    let more = ["--seeds", "2", "--csv", &csv, "--requests", &requests, "--charts", &charts];
    let (printed, notes) = good(&[&["compare", &a, &b], &more[..]].concat());
    assert!(notes.contains("both are simulated with those of A"), "{notes}");
    assert!(printed.contains("are the same request"), "{printed}");
    let rows = std::fs::read_to_string(csv).unwrap();
    assert!(rows.starts_with("metric,unit,a,b,difference,low,high,") && rows.lines().count() == 19);
    let rows = std::fs::read_to_string(requests).unwrap();
    assert!(rows.lines().nth(1).unwrap().starts_with("0,"));
    let svg = std::fs::read_to_string(dir.join("charts/ttft_pairs.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    let link = json(&["compare", "#v=3&D=40&gor=vtc", &a, "--seeds", "2", "--json"]);
    assert_eq!(link["differ"][0]["a"], "vtc");
}

#[test]
fn one_long_run_has_batches_in_place_of_seeds() {
    let rows: Vec<String> = (0..3000).map(|i| format!("{},100,{}", 2 * i, 20 + i * 7 % 31)).collect();
    let rows = format!("arrival_s,input_tokens,output_tokens\n{}", rows.join("\n"));
    let trace = file(&folder("compare-trace"), "t.csv", &rows);
    let metrics = ["--metric", "e2e_s.mean", "throughput_rps", "--json"];
    let found = json(
        &[&["compare", SLORA, "--trace", &trace, "--set-b", "cost.linear.decode_base_ms=60"], &metrics[..]]
            .concat(),
    );
    let e2e = &found["metrics"]["e2e_s.mean"];
    assert_eq!((&e2e["batches"], &e2e["seeds"]), (&20.into(), &1.into()));
    assert!(e2e["low"].as_f64().unwrap() > 0.0);
    assert!(e2e["note"].as_str().unwrap().contains("MSER-5"));
    assert_eq!(found["metrics"]["throughput_rps"]["low"], Value::Null);
    // A trace does not depend on the seed.
    let (_, notes) = good(&["compare", "--trace", &trace, "--seeds", "3"]);
    assert!(notes.contains("every seed gives the same run"), "{notes}");
}

#[test]
fn the_turn_of_two_settings_is_found() {
    // B's prefill has less to pay for each batch and more for each token: it is better while prompts are short.
    let b = ["--set-b", "cost.linear.prefill_base_ms=1", "--set-b", "cost.linear.prefill_per_token_ms=0.5"];
    let a =
        ["--set-a", "cost.linear.prefill_base_ms=101", "--set-a", "cost.linear.prefill_per_token_ms=0.25"];
    let common =
        ["--set", "workload.input_tokens.kind=fixed", "--set", "workload.rate_rps=0.2", "--seeds", "5"];
    let crossover = ["--crossover", "workload.input_tokens.value=50:1000", "--metric", "ttft_s.mean"];
    let dir = folder("compare-crossover");
    let all = [&["compare", SLORA], &a[..], &b, &common, &crossover, &["--set", "workload.duration_s=200"]]
        .concat();
    let found = json(&[&all[..], &["--json"]].concat());
    let found_crossover = &found["crossover"]["crossovers"][0];
    let [low, value, high] = ["low", "value", "high"].map(|key| found_crossover[key].as_f64().unwrap());
    // Alone in its batch a prompt of 400 tokens costs the same in both; together in one batch their tokens count, so the
    // crossover lies a little below.
    assert!((250.0..=400.0).contains(&value) && low <= value && value <= high, "{found_crossover}");
    assert_eq!(
        (found_crossover["below"].as_str(), found_crossover["above"].as_str()),
        (Some("B"), Some("A"))
    );
    let (printed, _) = good(&[&all[..], &["--charts", text(&dir)]].concat());
    assert!(printed.contains("mean TTFT: B is better up to workload.input_tokens.value"), "{printed}");
    assert!(dir.join("crossover.svg").is_file());
}

/// The README's example: under VTC only the user that sends too much still waits.
#[test]
fn each_of_a_few_users_is_compared() {
    let link = "#v=2&R=4&D=200&n=0&in=fixed&out=fixed&u=4&up=list&ush=9,1,1,1&gk=proxy&gc=32&gor=fcfs";
    let vtc = ["compare", link, "--set-b", "gateway.order=vtc", "--seeds", "3"];
    let (printed, _) = good(&vtc);
    assert!(printed.contains("B raises mean TTFT of user 0 by "), "{printed}");
    for user in ["1", "2", "3"] {
        assert!(printed.contains(&format!("B lowers mean TTFT of user {user} by 9")), "{printed}");
    }
    let row = printed.lines().find(|line| line.starts_with("per_user.1.ttft_mean_s")).unwrap();
    assert_eq!(row.split_whitespace().nth(1), Some("s"), "{row}");
    let tokens = printed.lines().find(|line| line.starts_with("output_tokens_per_s")).unwrap();
    assert_eq!(tokens.split_whitespace().nth(1), Some("tokens/s"), "{tokens}");
    // Neither of one user nor of two hundred adapters.
    let (many, _) = good(&[&["compare", SLORA, "--seeds", "2"], &SHORT[..]].concat());
    assert!(!many.contains("per_user") && !many.contains("per_adapter"), "{many}");
}

#[test]
fn bad_comparisons_are_refused() {
    for (metric, why) in [
        ("per_user.ttft_mean_s", "which user?"),
        ("per_adapter.share", "which adapter?"),
        ("per_user.x.share", "which user?"),
        ("per_user.1.share", "there is only user 0"),
        ("per_adapter.200.share", "the adapters are 0 to 199"),
        ("per_user.0.ttft_p98_s", "per_user.0.ttft_p99_s"),
    ] {
        let printed = refused(&[
            "compare",
            SLORA,
            "--set",
            "workload.users.count=1",
            "--seeds",
            "2",
            "--metric",
            metric,
        ]);
        assert!(printed.contains(metric) && printed.contains(why), "{printed}");
    }
    assert!(refused(&["compare", "--metric", "ttft_s.p98"]).contains("the nearest are"));
    assert!(refused(&["compare", "--seeds", "0"]).contains("seeds: 0 is not between 1 and"));
    assert!(refused(&["compare", "absent.json"]).contains("absent.json"));
    assert!(refused(&["compare", "--set-b", "workload.rate=2"]).contains("workload.rate_rps"));
    let low = ["compare", SLORA, "--seeds", "2", "--set-b", "workload.input_tokens.low=900"];
    assert!(refused(&low).contains("B: workload.input_tokens.high"));
    let crossover = |text: &str, seeds: &str| refused(&["compare", "--crossover", text, "--seeds", seeds]);
    assert!(crossover("scheduler.order=fcfs:vtc", "2").contains("is no number"));
    assert!(crossover("workload.rate_rps=2:1", "2").contains("runs upwards"));
    assert!(crossover("workload.rate_rps=1:2", "1").contains("at least two seeds"));
}
