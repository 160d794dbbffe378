//! Charts of workloads as files.

use crate::{file, folder, good, refused, text};

const FOUR: [&str; 4] =
    ["traffic_rate.svg", "traffic_input_tokens.svg", "traffic_output_tokens.svg", "traffic_sessions.svg"];

#[test]
fn generate_inspect_convert_and_aibrix_draw_their_requests() {
    let dir = folder("traffic_charts");
    let charts = |name: &str| dir.join(name).to_str().expect("text").to_owned();
    let drawn = |name: &str, files: &[&str]| {
        for file in files {
            let svg = std::fs::read_to_string(dir.join(name).join(file))
                .unwrap_or_else(|e| panic!("{name}/{file}: {e}"));
            assert!(svg.starts_with("<svg"), "{name}/{file}");
        }
    };
    let trace = dir.join("talks.csv");
    let talks = ["--set", "workload.sessions.kind=timed", "--set", "workload.duration_s=60"];
    good(&[&["generate", "-o", text(&trace), "--charts", &charts("generate")], &talks[..]].concat());
    drawn("generate", &FOUR);
    good(&["inspect", text(&trace), "--charts", &charts("inspect")]);
    drawn("inspect", &FOUR);
    good(&[
        "convert",
        text(&trace),
        "--to",
        "vidur",
        "-o",
        text(&dir.join("v.csv")),
        "--charts",
        &charts("convert"),
    ]);
    drawn("convert", &FOUR);
    let constant = ["aibrix", "--trace-type", "constant", "--target-qps", "2", "--target-prompt-len", "100"];
    let (_, note) =
        good(&[&constant[..], &["-o", text(&dir.join("a.jsonl")), "--charts", &charts("aibrix")]].concat());
    drawn("aibrix", &FOUR[..3]);
    // Nothing is drawn of sessions where there are none, and that is said.
    assert!(note.contains("traffic_sessions") && !dir.join("aibrix/traffic_sessions.svg").exists(), "{note}");
}

#[test]
fn a_file_without_times_has_no_charts() {
    let dir = folder("no_charts");
    let lengths = file(&dir, "lengths.csv", "num_prefill_tokens,num_decode_tokens\n5,6\n7,8\n");
    let reported = refused(&["inspect", &lengths, "--charts", text(&dir.join("out"))]);
    assert!(reported.contains("no times of arrival"), "{reported}");
}

#[test]
fn the_ratio_of_prompt_to_output_tokens_stands_in_the_text() {
    let dir = folder("pd_ratio");
    let trace = file(
        &dir,
        "trace.csv",
        "arrived_at,num_prefill_tokens,num_decode_tokens\n0,300,10\n1,100,30\n2,400,60\n",
    );
    let (printed, _) = good(&["inspect", &trace]);
    assert!(printed.contains("P:D ratio         8.0000 prompt tokens"), "{printed}");
    assert_eq!(crate::json(&["inspect", "--json", &trace])["pd_ratio"], 8.0);
    let (printed, _) = good(&["simulate", "--trace", &trace]);
    assert!(printed.contains("P:D ratio"), "{printed}");
    assert_eq!(crate::summary(&["--trace", &trace])["pd_ratio"], 8.0);
}
