//! Files of other tools in the terminal, as their documentation writes them: what is read, what is assumed, what is rejected.

use crate::{file_among, good, json, refused, servescope, stderr};

fn file(name: &str, content: &str) -> String {
    file_among("formats", name, content)
}

#[test]
fn requests_without_an_output_length_are_kept_and_written_as_null() {
    let path = file(
        "null.jsonl",
        "{\"timestamp\": 0, \"requests\": [{\"prompt\": \"I need\", \"prompt_length\": 101, \"output_length\": null, \"session_id\": 0}]}\n\
         {\"timestamp\": 900, \"requests\": [{\"prompt\": \"\", \"prompt_length\": 7, \"output_length\": 30}]}\n",
    );
    let (own, reported) = good(&["convert", &path, "--to", "servescope", "--recipe", "none"]);
    assert_eq!(own.lines().count(), 3, "{own}");
    assert!(
        reported
            .contains("1 requests have no output length in the file; each was given 30 tokens, the median"),
        "{reported}"
    );
    assert!(reported.contains("does not hold which output lengths are unknown"), "{reported}");
    let (back, reported) =
        good(&["convert", &path, "--to", "aibrix", "--any-completion-len", "77", "--recipe", "none"]);
    assert!(back.contains("\"prompt_length\": 101, \"output_length\": null, \"session_id\": 0}"), "{back}");
    assert!(reported.contains("was given 77 tokens, as asked for"), "{reported}");
    assert!(!reported.contains("does not hold"), "{reported}");
    let found = json(&["inspect", "--json", &path, "--any-completion-len", "50"]);
    assert_eq!((found["requests"].as_u64(), found["output_tokens"]["max"].as_f64()), (Some(2), Some(50.0)));
    assert_eq!(found["lengths"]["output_tokens"]["mean"].as_f64(), Some(40.0));
    let run = json(&["simulate", "--json", "--trace", &path, "--any-completion-len", "3"]);
    assert_eq!(run["requests"]["completed"].as_u64(), Some(2));
}

#[test]
fn inspect_has_one_definition_of_the_rate() {
    let path = file("rate.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n0,1,1\n2,1,1\n4,1,1\n");
    let found = json(&["inspect", "--json", &path]);
    assert_eq!(found["rate_rps"].as_f64(), Some(0.75));
    assert_eq!(found["arrivals"]["mean_rate_per_s"], found["rate_rps"]);
}

#[test]
fn azure_loses_the_time_before_the_first_request_and_says_so() {
    let path = file("late.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n5,1,1\n6,1,1\n");
    let (_, reported) = good(&["convert", &path, "--to", "azure", "--recipe", "none"]);
    assert!(
        reported.contains("the format azure does not hold the time before the first request"),
        "{reported}"
    );
    assert!(!reported.contains("microsecond"), "{reported}");
}

#[test]
fn a_scenario_file_with_a_key_given_twice_or_an_unknown_group_is_an_error() {
    let reported = |text: &str| refused(&["simulate", &file("repeated.json", text)]);
    assert!(
        reported(r#"{"workload": {"rate_rps": 1, "rate_rps": 2}}"#)
            .contains("workload.rate_rps: the key is given twice")
    );
    assert!(reported(r#"{"scheduler2": {}}"#).contains("scheduler2: there is no such parameter"));
    assert!(
        reported(r#"{"seed": 1, "scenario": {"seed": 2, "seed": 3}}"#)
            .contains("scenario.seed: the key is given twice")
    );
    let links = servescope(&["simulate", "--link", "#v=1&R=1&R=2"]);
    assert_eq!(links.status.code(), Some(2));
    assert!(stderr(&links).contains("its key is there twice"));
}

/// The prompt file of AIBrix's README: ten plain prompts, four of them with completions.
fn prompt_file() -> String {
    let line = |i: usize| {
        let text = "word ".repeat(40 * (i + 1));
        let completion = if i < 4 { ", \"completion\": \"twelve chars\"" } else { "" };
        format!("{{\"prompt\": \"{text}\"{completion}}}\n")
    };
    file("prompts.jsonl", &(0..10).map(line).collect::<String>())
}

#[test]
fn the_commands_of_aibrix_s_readme_run() {
    let prompts = prompt_file();
    let folder = crate::folder("aibrix commands");
    let out = crate::text(&folder);
    let config = file(
        "pattern.json",
        r#"{"fluctuate": 2, "mean": 6, "noise": 0.1, "period_len_ms": 30000, "only_rise": false}"#,
    );
    let older = file(
        "older.json",
        r#"{"A": 20, "B": 100, "sigma": 0.1, "period": 0.25, "omega": null, "only_rise": true}"#,
    );
    let traffic = file(
        "traffic.csv",
        "\"Time\",\"Total\",\"Success\",\"4xx Error\"\n2024-10-1 00:00:00,4,4,0\n2024-10-1 00:00:30,4,4,0\n",
    );
    let lengths = file("lengths.csv", "P50,P70,P99\n200,300,400\n200,300,400\n");
    let rate = file("rate.csv", "\"Time\",\"Rate\"\n0,2\n30000,2\n");
    let bytes = file("bytes.csv", "\"Time\",\"recv_bytes\",\"sent_bytes\"\n0,200,40\n30000,400,80\n");
    let azure = file(
        "azure.csv",
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,50,10\n2023-11-16 18:17:05.5,100,3\n",
    );
    let common =
        ["--prompt-file", &prompts, "--interval-ms", "1000", "--duration-ms", "60000", "--output-dir", out];
    let cases: [&[&str]; 6] = [
        &["--trace-type", "constant", "--target-qps", "1", "--output-format", "jsonl"],
        &[
            "--trace-type",
            "synthetic",
            "--traffic-pattern",
            "slight_fluctuation",
            "--prompt-len-pattern",
            "slight_fluctuation",
        ],
        &[
            "--trace-type",
            "synthetic",
            "--traffic-pattern-config",
            &config,
            "--prompt-len-pattern-config",
            &older,
        ],
        &[
            "--trace-type",
            "stat",
            "--traffic-file",
            &traffic,
            "--prompt-len-file",
            &lengths,
            "--completion-len-file",
            &lengths,
            "--stat-trace-type",
            "maas",
            "--qps-scale",
            "1.0",
        ],
        &[
            "--trace-type",
            "stat",
            "--traffic-file",
            &rate,
            "--prompt-len-file",
            &bytes,
            "--completion-len-file",
            &bytes,
            "--stat-trace-type",
            "cloudide",
        ],
        &["--trace-type", "azure", "--traffic-file", &azure, "--group-interval-seconds", "1"],
    ];
    for case in cases {
        let (printed, _) = good(&[&["aibrix"], case, &common[..]].concat());
        assert_eq!(printed, "", "{case:?}");
        let workload = std::fs::read_to_string(folder.join("workload.jsonl")).expect("it is written");
        assert!(workload.contains("\"prompt\": \"word "), "{case:?}: {workload}");
        let svg = std::fs::read_to_string(folder.join("workload.svg")).expect("it is plotted");
        assert!(
            svg.starts_with("<svg ")
                && svg.ends_with("</svg>\n")
                && svg.matches("<text x=\"52\"").count() == 4
        );
    }
    // Where no length is wanted, outputs are those of the prompts' completions, or unknown.
    good(
        &[
            &["aibrix", "--trace-type", "constant", "--target-qps", "1", "--output-format", "json"],
            &common[..],
        ]
        .concat(),
    );
    let array = std::fs::read_to_string(folder.join("workload.json")).expect("it is written");
    let entries: serde_json::Value = serde_json::from_str(&array).expect("one JSON array");
    let outputs: Vec<Option<u64>> = entries
        .as_array()
        .expect("a list")
        .iter()
        .flat_map(|entry| entry["requests"].as_array().expect("a list"))
        .map(|request| request["output_length"].as_u64())
        .collect();
    assert!(outputs.contains(&None) && outputs.contains(&Some(3)) && outputs.len() > 30, "{outputs:?}");
}

#[test]
fn aibrix_says_what_a_tokenizer_or_prompt_file_lacks() {
    let prompts = prompt_file();
    let constant = ["aibrix", "--trace-type", "constant", "--prompt-file", &prompts];
    let hub = refused(&[&constant[..], &["--tokenizer", "Qwen/Qwen2.5-Coder-7B-Instruct"]].concat());
    assert!(hub.contains("--tokenizer Qwen/Qwen2.5-Coder-7B-Instruct: there is no such file"), "{hub}");
    assert!(hub.contains("give the file tokenizer.json of that model's repository"), "{hub}");
    let other = refused(&[&constant[..], &["--output-format", "mooncake"]].concat());
    assert!(other.contains("--output-format mooncake holds no texts"), "{other}");
    let mooncake = file(
        "trace.jsonl",
        "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 9, \"hash_ids\": [1, 2]}\n",
    );
    let traffic = ["aibrix", "--trace-type", "mooncake", "--traffic-file", &mooncake];
    assert!(refused(&[&traffic[..], &["--prompt-file", &prompts]].concat()).contains("takes no prompt file"));
    let (workload, _) = good(&traffic);
    assert!(workload.contains("\"hash_ids\": [1, 2]"), "{workload}");
    let azure = file(
        "two.csv",
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,50,10\n2023-11-16 18:17:14,100,3\n",
    );
    let azure =
        ["aibrix", "--trace-type", "azure", "--traffic-file", &azure, "--group-interval-seconds", "10"];
    assert!(good(&azure).0.contains("{\"timestamp\": 10000,"));
    let (_, reported) = good(&[&azure[..], &["--interval-ms", "500"]].concat());
    assert!(
        reported.contains("--group-interval-seconds 10 is not used, as in AIBrix: --interval-ms 500"),
        "{reported}"
    );
}

#[test]
fn prompts_come_from_sharegpt_s_files_in_a_folder() {
    let folder = crate::folder("sharegpt");
    for (name, id) in [("a.json", "\"x_0\""), ("b.json", "9")] {
        let text = format!(
            "[{{\"id\": {id}, \"conversations\": [{{\"from\": \"human\", \"value\": \"请解释\"}}, {{\"from\": \"gpt\", \"value\": \"好\"}}]}}, {{\"id\": 1, \"conversations\": []}}]"
        );
        crate::file(&folder, name, &text);
    }
    let trace = file(
        "two.jsonl",
        "{\"timestamp\": 0, \"input_length\": 3, \"output_length\": 9}\n{\"timestamp\": 5, \"input_length\": 3, \"output_length\": 9}\n",
    );
    let (lines, reported) = good(&["bodies", &trace, "--form", "aibrix", "--prompts", crate::text(&folder)]);
    assert!(lines.contains("\"prompt_length\": 3, \"output_length\": 9, \"session_id\": \"x_0\""), "{lines}");
    assert!(lines.contains("\"session_id\": 9}"), "{lines}");
    assert!(reported.contains("2 conversations without a prompt were left out"), "{reported}");
    assert!(reported.contains("2 of 2 prompts have Chinese, Japanese or Korean characters"), "{reported}");
    let plain = prompt_file();
    let mixed = refused(&[
        "bodies",
        &trace,
        "--form",
        "aibrix",
        "--prompts",
        crate::text(&folder),
        "--prompts",
        &plain,
    ]);
    assert!(mixed.contains("prompts on their own and sessions do not go together"), "{mixed}");
}

#[test]
fn a_folder_of_servegen_s_chunks_is_read_reasoning_shares_included() {
    let folder = crate::folder("servegen chunks");
    for client in [0, 12] {
        crate::file(
            &folder,
            &format!("chunk-{client}-trace.csv"),
            "0,0,0,,0,0\n600,0.1,2.5,Gamma,0.16,60.0\n",
        );
        crate::file(
            &folder,
            &format!("chunk-{client}-dataset.json"),
            "{\"0\": {\"input_tokens\": \"{45: 1.0}\", \"output_tokens\": \"{640: 1.0}\", \"reason_ratio\": \"{0.0: 0.25, 0.998: 0.75}\"}, \"21600\": {\"input_tokens\": \"{}\", \"output_tokens\": \"{}\", \"reason_ratio\": \"{}\"}}",
        );
    }
    let (csv, _) = good(&["generate", "--servegen", crate::text(&folder)]);
    let rows: Vec<&str> = csv.lines().skip(1).collect();
    assert_eq!(rows.len(), 120, "{csv}");
    assert!(rows.iter().all(|row| row.contains(",45,640,")), "{csv}");
    let empty = crate::folder("no chunks");
    assert!(
        refused(&["generate", "--servegen", crate::text(&empty)])
            .contains("there is no chunk-N-trace.csv in this folder")
    );
}
