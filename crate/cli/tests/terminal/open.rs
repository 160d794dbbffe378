//! `servescope open`: what a file or a line is.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::{folder, good, json, refused, text};

fn of_input(input: &str) -> (Option<i32>, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_servescope"))
        .args(["open", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(printed).unwrap())
}

#[test]
fn a_file_is_named_with_its_keys_and_the_command_that_goes_on() {
    let file = folder("open").join("result of a run.json");
    std::fs::write(&file, r#"{"model_id": "m", "num_prompts": 3, "p99_itl_ms": NaN}"#).unwrap();
    let (printed, _) = good(&["open", text(&file)]);
    assert!(
        printed.contains("a result of vLLM bench") && printed.contains("model_id, num_prompts"),
        "{printed}"
    );
    assert!(printed.contains("go on with servescope overlay '"), "{printed}");
    let found = json(&["open", "--json", text(&file)]);
    assert_eq!((&found["kind"], &found["detail"]), (&"result".into(), &"vLLM bench".into()));
    // The wrong verb says the right one.
    for verb in [&["simulate"][..], &["simulate", "--trace"], &["inspect"], &["simulate", "--model-config"]] {
        let printed = refused(&[verb, &[text(&file)]].concat());
        assert!(
            printed.contains("it is a result of vLLM bench") && printed.contains("servescope overlay"),
            "{printed}"
        );
    }
}

#[test]
fn a_line_and_a_link_are_read_from_standard_input() {
    let (code, printed) = of_input(
        "vllm serve meta-llama/Llama-3.1-8B-Instruct -tp 2 \\\n  --max-num-seqs 128 --trust-remote-code\n",
    );
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("fleet.tensor_parallel=2, scheduler.max_running_requests=128"), "{printed}");
    assert!(printed.contains("no parameter for --trust-remote-code"), "{printed}");
    assert!(printed.contains("not in it  the GPU") && printed.contains("LoRA adapters (none)"), "{printed}");
    assert!(
        printed.contains("--set workload.adapters.count=0") && printed.contains("--set fleet.gpu=GPU"),
        "{printed}"
    );
    let (code, printed) = of_input("https://x.test/#v=3&R=2");
    assert!(code == Some(0) && printed.contains("--link 'https://x.test/#v=3&R=2'"), "{printed}");
    let (code, printed) = of_input("dear reader");
    assert!(code == Some(2) && printed.contains("begins with \"dear reader\""), "{printed}");
    assert!(refused(&["open", "/no/such/file"]).contains("/no/such/file"));
}

#[test]
fn what_servegens_clients_replace_is_named() {
    let folder = folder("open servegen");
    let windows: Vec<String> = (0..6).map(|at| format!("{},0.5,1.5,Gamma,0.444,2.0\n", at * 600)).collect();
    std::fs::write(folder.join("chunk-0-trace.csv"), windows.concat()).unwrap();
    let lengths = r#"{"0": {"input_tokens": "{100: 1.0}", "output_tokens": "{50: 1.0}"}}"#;
    std::fs::write(folder.join("chunk-0-dataset.json"), lengths).unwrap();
    let sets = ["workload.duration_s=600", "workload.rate_rps=9", "workload.arrivals.cv=5"];
    let arguments =
        ["generate", "--servegen", text(&folder), "--set", sets[0], "--set", sets[1], "--set", sets[2]];
    let (trace, notes) = good(&arguments);
    assert_eq!(trace.lines().count(), 5401, "9 requests a second over 600 s");
    assert!(
        notes.contains("without effect on ServeGen's clients") && notes.contains("workload.arrivals.cv"),
        "{notes}"
    );
    assert!(!notes.contains("workload.rate_rps") && !notes.contains("workload.duration_s"), "{notes}");
}
