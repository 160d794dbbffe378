//! Workloads made in the terminal: lengths and rates from files, and AIBrix's generator.

use serde_json::Value;

use crate::{SLORA, file_among, good, refused};

fn file(name: &str, content: &str) -> String {
    file_among("workload", name, content)
}

/// Rows of the own CSV as numbers, by column.
fn column(csv: &str, name: &str) -> Vec<f64> {
    let mut lines = csv.lines().filter(|line| !line.starts_with('#'));
    let header = lines.next().expect("there is a header");
    let at = header.split(',').position(|cell| cell == name).unwrap_or_else(|| panic!("{name} in {header}"));
    lines.map(|line| line.split(',').nth(at).expect("a cell").parse().expect("a number")).collect()
}

#[test]
fn lengths_come_in_the_pairs_of_a_file() {
    let lengths = file("lengths.csv", "num_prefill_tokens,num_decode_tokens\n700,3\n20,900\n0,5\n");
    let (csv, _) = good(&["generate", "--lengths-from", &lengths]);
    let pairs: Vec<(f64, f64)> =
        column(&csv, "input_tokens").into_iter().zip(column(&csv, "output_tokens")).collect();
    assert!(pairs.iter().all(|pair| [(700.0, 3.0), (20.0, 900.0)].contains(pair)));
    assert!(pairs.contains(&(700.0, 3.0)) && pairs.contains(&(20.0, 900.0)));
    let plain = good(&["generate"]).0;
    assert_eq!(column(&csv, "arrival_s"), column(&plain, "arrival_s"));

    let trace = file("pairs.csv", &plain);
    let again = good(&["generate", "--lengths-from", &trace, "--set", "seed=7"]).0;
    let seen: Vec<f64> = column(&plain, "input_tokens");
    assert!(column(&again, "input_tokens").iter().all(|length| seen.contains(length)));
    let failed = file("failed.csv", "num_prefill_tokens,num_decode_tokens\n0,3\n");
    assert!(refused(&["generate", "--lengths-from", &failed]).contains("no request has both"));
}

#[test]
fn the_rate_comes_from_a_file_and_negative_ones_are_told() {
    let curve = file("curve.csv", "time_s,rate_rps\n0,10\n100,10\n100,-5\n200,-1\n200,30\n");
    let (csv, notes) = good(&["generate", SLORA, "--curve", &curve, "--set", "workload.arrivals.kind=even"]);
    assert!(notes.contains("2 rates are below zero and taken as zero, the first -5 at 100 s"), "{notes}");
    let arrivals = column(&csv, "arrival_s");
    let within = |from: f64, to: f64| arrivals.iter().filter(|&&t| from <= t && t < to).count();
    let near = |count: usize, expected: usize| assert!(count.abs_diff(expected) <= 2, "{count}, {expected}");
    near(within(0.0, 100.0), 1000);
    near(within(101.0, 199.0), 0);
    near(within(200.0, 300.0), 3000);
    let (summary, _) = good(&["simulate", "--json", "--curve", &curve, "--set", "workload.duration_s=110"]);
    let summary: Value = serde_json::from_str(&summary).expect("--json prints JSON");
    assert_eq!(summary["requests"]["offered"], 1000);
    for (text, says) in [
        ("time_s,rate\n1,2\n", "no column \"rate_rps\""),
        ("time_s,rate_rps\n1,x\n", "row 2, column rate_rps"),
        ("time_s,rate_rps\n5,1\n4,1\n", "point 2"),
        ("time_s,rate_rps\n5,0\n", "the rate is zero"),
    ] {
        let message = refused(&["generate", "--curve", &file("bad.csv", text)]);
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn waves_between_the_samples_are_told() {
    let (_, notes) = good(&[
        "generate",
        SLORA,
        "--set",
        "workload.curve.kind=sine",
        "--set",
        "workload.curve.period_s=1.5",
        "--set",
        "workload.curve.sampling=aibrix",
    ]);
    assert!(notes.contains("fewer than two for each of 200 cycles"), "{notes}");
}

#[test]
fn aibrix_makes_synthetic_workloads_in_every_form() {
    let config = file(
        "pattern.json",
        "{\"fluctuate\": 3, \"mean\": \"9\", \"noise\": 0.1, \"period_len_ms\": 20000, \"only_rise\": true}",
    );
    let base = [
        "aibrix",
        "--trace-type",
        "synthetic",
        "--traffic-pattern-config",
        &config,
        "--prompt-len-pattern",
        "slow_rising",
    ];
    let with = |more: &[&str]| good(&[&base[..], more].concat()).0;
    let lines: Vec<Value> =
        with(&[]).lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    let rate = lines.len() as f64 / 60.0;
    assert!((10.0..13.0).contains(&rate), "9 a second rising to 12: {rate}");
    assert!(lines[lines.len() - 1]["requests"][0]["prompt_length"].as_u64() > Some(1500));
    assert_eq!(lines[0]["requests"][0]["output_length"], 1024);
    let array: Value = serde_json::from_str(&with(&["--output-format", "json"])).expect("JSON");
    assert_eq!(array.as_array(), Some(&lines));
    let csv = with(&["--output-format", "servescope"]);
    assert_eq!(column(&csv, "arrival_s").len(), lines.len());
    assert_ne!(with(&["--seed", "7"]), with(&[]));
    let fewer = with(&["--qps-scale", "10"]);
    assert!((fewer.lines().count() as f64 * 10.0 / lines.len() as f64 - 1.0).abs() < 0.4);

    // The workload file is one of the formats that every verb reads.
    let made = file("workload.jsonl", &with(&[]));
    let (inspected, _) = good(&["inspect", "--json", &made]);
    assert!(inspected.contains(&format!("\"requests\": {}", lines.len())), "{inspected}");
}

#[test]
fn aibrix_makes_all_other_kinds() {
    let traffic = file("traffic.csv", "Time,Success\n2024-10-01 00:00:00,5\n2024-10-01 00:00:30,9\n");
    let lengths = file(
        "percentiles.csv",
        "Time,P50,P70,P90,P99\n2024-10-01 00:00:00,9,10,11,12\n2024-10-01 00:00:30,9,10,11,12\n",
    );
    let statistics = [
        "aibrix",
        "--trace-type",
        "stat",
        "--traffic-file",
        &traffic,
        "--prompt-len-file",
        &lengths,
        "--completion-len-file",
        &lengths,
    ];
    let made = good(&statistics).0;
    assert!((300..550).contains(&made.lines().count()), "{}", made.lines().count());
    let azure = file("azure.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:00,3,4\n");
    let made = good(&["aibrix", "--trace-type", "azure", "--traffic-file", &azure]).0;
    assert_eq!(
        made,
        "{\"timestamp\": 0, \"requests\": [{\"prompt\": \"\", \"prompt_length\": 3, \"output_length\": 4}]}\n"
    );
    let row = "{\"timestamp\": 5, \"input_length\": 600, \"output_length\": 9, \"hash_ids\": [1, 2]}\n";
    let mooncake = file("mooncake.jsonl", row);
    let kept =
        ["aibrix", "--trace-type", "mooncake", "--traffic-file", &mooncake, "--output-format", "mooncake"];
    assert_eq!(good(&kept).0, row);
    let agents = file("agents.json", "{\"num_sessions\": 2, \"turns_per_session\": 1, \"seed\": 5}");
    let made = good(&["aibrix", "--trace-type", "agent", "--agent-config", &agents]).0;
    let lines: Vec<Value> =
        made.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    let of = |key: &str| -> usize { lines.iter().map(|l| l[key].as_array().map_or(0, Vec::len)).sum() };
    assert_eq!(
        (of("requests"), of("events")),
        (4, 2 * (2 + 1)),
        "two tools and a join; no wait after the last turn"
    );
    assert_eq!(lines[0]["requests"][0]["agent"]["phase"], "plan");
    let constant =
        ["aibrix", "--trace-type", "constant", "--target-qps", "20", "--target-completion-len", "5"];
    let made = good(&constant).0;
    assert!((1000..1400).contains(&made.lines().count()) && made.contains("\"output_length\": 5}"));
}

#[test]
fn aibrix_says_what_it_lacks_and_where_files_are_bad() {
    for (arguments, says) in [
        (&["synthetic"][..], "the trace type synthetic needs a traffic pattern"),
        (&["synthetical"], "is not one of constant, synthetic"),
        (&["synthetic", "--traffic-pattern", "rising"], "no pattern is called \"rising\""),
        (&["stat"], "the trace type stat needs a traffic file"),
        (&["agent"], "the trace type agent needs an agent configuration"),
        (&["constant", "--interval-ms", "0"], "interval_ms: a number above zero expected"),
        (&["constant", "--qps-scale=-1"], "qps_scale: a number above zero expected"),
        (&["constant", "--output-format", "paper"], "format paper cannot be written"),
    ] {
        let message = refused(&[&["aibrix", "--trace-type"], arguments].concat());
        assert!(message.contains(says), "{message}");
    }
    let config = file("broken.json", "{\n\"mean\": }\n");
    let message = refused(&["aibrix", "--trace-type", "synthetic", "--traffic-pattern-config", &config]);
    assert!(message.contains("row 2, column byte 9"), "{message}");
    let config = file(
        "deep.json",
        "{\"fluctuate\": 9, \"mean\": 1, \"noise\": 0, \"period_len_ms\": 9000, \"only_rise\": 0}",
    );
    let message = refused(&["aibrix", "--trace-type", "synthetic", "--traffic-pattern-config", &config]);
    assert!(message.contains("is below zero; lower the amplitude"), "{message}");
}

/// The examples of `static/patterns` are patterns: a wave goes up and down around its mean, a rise ends higher than it began.
#[test]
fn the_shipped_patterns_are_read() {
    let patterns = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../static/patterns");
    let pattern = |name: &str| patterns.join(name).display().to_string();
    let [wave, rising, prompts, completions] =
        ["traffic_wave.json", "traffic_rising.json", "prompt_len_wave.json", "completion_len_wave.json"]
            .map(pattern);
    let made = |traffic: &str| {
        let common = [
            "aibrix",
            "--trace-type",
            "synthetic",
            "--duration-ms",
            "600000",
            "--output-format",
            "servescope",
        ];
        let own = [
            "--traffic-pattern-config",
            traffic,
            "--prompt-len-pattern-config",
            &prompts,
            "--completion-len-pattern-config",
            &completions,
        ];
        good(&[&common[..], &own].concat()).0
    };
    let (wave, rising) = (made(&wave), made(&rising));
    let mean = |csv: &str, name: &str| {
        let values = column(csv, name);
        values.iter().sum::<f64>() / values.len() as f64
    };
    assert!((400.0..600.0).contains(&mean(&wave, "input_tokens")), "{}", mean(&wave, "input_tokens"));
    assert!((150.0..250.0).contains(&mean(&wave, "output_tokens")), "{}", mean(&wave, "output_tokens"));
    let later = |csv: &str| {
        let arrivals = column(csv, "arrival_s");
        arrivals.iter().filter(|&&at| at >= 300.0).count() as f64 / arrivals.len() as f64
    };
    assert!(
        (later(&wave) - 0.5).abs() < 0.05 && later(&rising) > 0.55,
        "{} {}",
        later(&wave),
        later(&rising)
    );
}

/// A name gives the workload of a real trace's twin, and leaves the service.
#[test]
fn traffic_like_a_real_trace_has_a_name() {
    let (csv, notes) = good(&["generate", "--traffic", "azure_code", "--set", "seed=3"]);
    assert!(
        notes.contains("--traffic azure_code: a workload fitted to Azure LLM inference trace"),
        "{notes}"
    );
    let prompts = column(&csv, "input_tokens");
    assert!((prompts.len() as f64 / 8819.0 - 1.0).abs() < 0.05);
    assert!((prompts.iter().sum::<f64>() / prompts.len() as f64 / 2047.8 - 1.0).abs() < 0.05);
    let fewer = good(&["generate", "--traffic", "azure_code", "--set", "workload.rate_rps=0.5"]).0;
    assert!(column(&fewer, "arrival_s").len() < 2_000);
    assert!(refused(&["simulate", "--traffic", "none"]).contains("servegen_m_small"));
}
