//! `servescope sweep`: points, seeds, files that go on where they ended, plans, shards, and what is rejected.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{SLORA, file, folder, good, json, refused, text};

const BASE: [&str; 4] = ["sweep", SLORA, "--set", "workload.duration_s=30"];
const OVER: [&str; 4] = ["--over", "workload.rate_rps=1:2:3", "--over", "scheduler.order=fcfs,lifo"];
const METRICS: [&str; 3] = ["--metric", "ttft_s.mean", "requests.completed"];

fn sweep<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&BASE[..], &OVER, &METRICS, &["--seeds", "2"], more].concat()
}

fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn lines_are_the_runs_of_the_terminal_on_any_number_of_threads() {
    let dir = folder("sweep");
    let (one, three) = (dir.join("1.jsonl"), dir.join("3.jsonl"));
    let (table, _) = good(&sweep(&["--out", text(&one), "--threads", "1"]));
    good(&sweep(&["--out", text(&three), "--threads", "3"]));
    assert_eq!(bytes(&one), bytes(&three));
    assert_eq!(table.lines().count(), 7);
    let lines: Vec<Value> =
        String::from_utf8(bytes(&one)).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), 12);
    let run = crate::summary(&[
        SLORA,
        "--set",
        "workload.duration_s=30",
        "--set",
        "workload.rate_rps=1.5",
        "--set",
        "scheduler.order=lifo",
        "--set",
        "seed=43",
    ]);
    let line = &lines[7];
    assert_eq!(line["point"], serde_json::json!({"workload.rate_rps": 1.5, "scheduler.order": "lifo"}));
    assert_eq!((&line["seed"], &line["digest"]), (&43.into(), &run["digest"]));
    assert_eq!(line["metrics"]["ttft_s.mean"], run["ttft_s"]["mean"]);
    let points = json(&sweep(&["--json"]));
    assert_eq!(points["points"].as_array().unwrap().len(), 6);
    assert_eq!(points["points"][3]["metrics"]["ttft_s.mean"]["seeds"], 2);
}

#[test]
fn plans_and_shards_give_the_bytes_of_one_machine() {
    let dir = folder("sweep-shards");
    let place = |name: &str| text(&dir.join(name)).to_owned();
    let (whole, plan, joined) = (place("whole.jsonl"), place("plan.jsonl"), place("joined.jsonl"));
    let (csv, joined_csv) = (place("whole.csv"), place("joined.csv"));
    good(&sweep(&["--out", &whole, "--csv", &csv]));
    good(&sweep(&["--plan", &plan]));
    let shards: Vec<String> = (1..=3).map(|i| place(&format!("{i}.jsonl"))).collect();
    for (i, shard) in shards.iter().enumerate() {
        good(&["sweep", "--points", &plan, "--shard", &format!("{}/3", i + 1), "--out", shard]);
    }
    let all: Vec<&str> = shards.iter().map(String::as_str).collect();
    let missing = refused(&[&["sweep", "--join"], &all[..2]].concat());
    assert!(missing.contains("4 of 12 runs are missing, the first is run 2"), "{missing}");
    good(&[&["sweep", "--join"], &all[..], &["--out", &joined, "--csv", &joined_csv]].concat());
    assert_eq!(bytes(Path::new(&whole)), bytes(Path::new(&joined)));
    assert_eq!(bytes(Path::new(&csv)), bytes(Path::new(&joined_csv)));
    let (printed, _) = good(&["sweep", "--points", &plan, "--shard", "2/3"]);
    assert_eq!(printed.as_bytes(), bytes(Path::new(&shards[1])));
    let (again, _) = good(&["sweep", "--points", &plan]);
    assert_eq!(again.lines().count(), 7);
    let changed = std::fs::read_to_string(&plan).unwrap().replacen("\"seed\":43", "\"seed\":44", 1);
    let changed = file(&dir, "changed.jsonl", &changed);
    assert!(refused(&["sweep", "--points", &changed]).contains("line 3 is not what the first line"));
}

#[test]
fn a_file_cut_off_anywhere_goes_on_without_loss() {
    let dir = folder("sweep-torn");
    let out = dir.join("out.jsonl");
    good(&sweep(&["--out", text(&out)]));
    let whole = bytes(&out);
    for cut in [0, 1, whole.len() / 3, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&out, &whole[..cut]).unwrap();
        good(&sweep(&["--out", text(&out)]));
        assert_eq!(bytes(&out), whole, "{cut}");
    }
    let (_, notes) = good(&sweep(&["--out", text(&out)]));
    assert!(notes.contains("12 of 12 runs are there already"), "{notes}");
}

/// The program is killed once some runs are finished; the next one makes only the others.
#[test]
fn a_killed_sweep_loses_no_finished_run_and_repeats_none() {
    let dir = folder("sweep-killed");
    let (whole, killed) = (dir.join("whole.jsonl"), dir.join("killed.jsonl"));
    let many = [
        "sweep",
        "--over",
        "workload.rate_rps=1:1.4:40",
        "--metric",
        "ttft_s.mean",
        "--set",
        "workload.duration_s=600",
        "--threads",
        "1",
    ];
    good(&[&many[..], &["--out", text(&whole)]].concat());
    let mut child = Command::new(env!("CARGO_BIN_EXE_servescope"))
        .args([&many[..], &["--out", text(&killed)]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let count = || {
        let Ok(file) = std::fs::File::open(&killed) else { return 0 };
        BufReader::new(file).split(b'\n').count()
    };
    while count() < 5 && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = bytes(&killed);
    let finished = before.split(|&byte| byte == b'\n').count() - 1;
    assert!(finished >= 4, "{finished}");
    let (_, notes) = good(&[&many[..], &["--out", text(&killed)]].concat());
    assert!(notes.contains(&format!("{finished} of 40 runs are there already")), "{notes}");
    assert!(
        finished == 40 || notes.contains(&format!("{} runs in", 40 - finished)) || finished == 39,
        "{notes}"
    );
    assert_eq!(bytes(&killed), bytes(&whole));
}

#[test]
fn charts_are_curves_or_maps() {
    let dir = folder("sweep-charts");
    let drawn = |name: &str, more: &[&str]| {
        let charts = dir.join(name);
        good(&[&BASE[..], more, &["--metric", "ttft_s.mean", "--charts", text(&charts)]].concat());
        let mut names: Vec<String> = std::fs::read_dir(&charts)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let svg = names
            .first()
            .map_or_else(String::new, |name| std::fs::read_to_string(charts.join(name)).unwrap());
        assert!(svg.is_empty() || (svg.starts_with("<svg") && svg.ends_with("</svg>\n")));
        (names, svg)
    };
    let (names, curves) = drawn("curves", &OVER);
    assert_eq!(names, ["ttft_s.mean.svg"]);
    assert!(curves.contains(">scheduler.order fcfs<") && curves.contains("mean TTFT over workload.rate_rps"));
    let two = ["--over", "workload.rate_rps=1:2:3", "--over", "workload.arrivals.cv=1,4"];
    let (_, map) = drawn("map", &two);
    assert_eq!(map.matches("<title>workload.rate_rps").count(), 6);
    let three = [&two[..], &["--over", "scheduler.order=fcfs,lifo"]].concat();
    assert_eq!(drawn("maps", &three).0.len(), 2);
    assert!(drawn("none", &["--over", "scheduler.order=fcfs,lifo"]).0.is_empty());
}

#[test]
fn points_without_a_run_are_told_and_the_others_stay() {
    let over = ["--over", "workload.input_tokens.low=8,900", "--metric", "ttft_s.p99"];
    let (table, notes) = good(&[&BASE[..], &over].concat());
    assert!(notes.contains("1 of 2 runs cannot be made, the first at 900"), "{notes}");
    assert!(notes.contains("ttft_s.p99 is missing in every run"), "{notes}");
    assert!(table.contains("workload.input_tokens.high"));
    let none = [&BASE[..], &["--over", "workload.input_tokens.low=900", "--metric", "ttft_s.p99"]].concat();
    let all = crate::servescope(&none);
    assert_eq!(all.status.code(), Some(2));
    let (_, notes) = good(
        &[&BASE[..], &["--over", "scheduler.chunk_tokens=256,1024", "--metric", "ttft_s.mean"]].concat(),
    );
    assert!(notes.contains("scheduler.chunk_tokens has no effect in this sweep"), "{notes}");
}

#[test]
fn bad_sweeps_are_refused() {
    let reported = |more: &[&str]| refused(&[&["sweep"], more].concat());
    assert!(reported(&[]).contains("1 to 4 parameters"));
    assert!(reported(&["--over", "workload.rate_rps=1:2:3"]).contains("--metric"));
    assert!(
        reported(&["--over", "workload.rate=1:2:3", "--metric", "preemptions"]).contains("workload.rate_rps")
    );
    assert!(
        reported(&["--over", "workload.rate_rps=1:2:3", "--metric", "preemption"]).contains("preemptions")
    );
    let large = ["--over", "workload.rate_rps=1:2:9999", "--metric", "preemptions", "--seeds", "100"];
    assert!(reported(&large).contains("9999 x 100 runs are more than 200000"));
    let dir = folder("sweep-bad");
    let garbage = file(&dir, "garbage", "no lines\nof a sweep\n");
    let one = ["--over", "workload.rate_rps=1,2", "--metric", "preemptions"];
    let of_file = reported(&[&one[..], &["--out", &garbage]].concat());
    assert!(of_file.contains("line 1 is no result of a sweep"), "{of_file}");
    assert_eq!(std::fs::read_to_string(&garbage).unwrap(), "no lines\nof a sweep\n");
    let out = text(&dir.join("out")).to_owned();
    good(&[&["sweep", "--set", "workload.duration_s=10"], &one[..], &["--out", &out]].concat());
    let other = reported(&[&one[..], &["--out", &out]].concat());
    assert!(other.contains("another scenario"), "{other}");
    assert!(reported(&["--points", &garbage]).contains("no plan of a sweep"));
    assert!(reported(&["--join", &garbage]).contains("line 1 is no result"));
    let plan = text(&dir.join("plan")).to_owned();
    good(&[&["sweep"], &one[..], &["--plan", &plan]].concat());
    for bad in ["0/2", "3/2", "1", "a/b", "1/0"] {
        assert!(reported(&["--points", &plan, "--shard", bad]).contains("I/N expected"), "{bad}");
    }
}
