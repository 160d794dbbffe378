//! `debug`: steps forward and back show the same, whichever way they are come to; commands come from a pipe; a bad one is
//! rejected with its bound.

use std::io::{ErrorKind, Write as _};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{SLORA, good, refused, stderr, stdout};

const BUSY: [&str; 7] =
    ["debug", SLORA, "--json", "--set", "workload.rate_rps=6", "--set", "workload.duration_s=20"];

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

/// Runs with commands on standard input.
fn piped(arguments: &[&str], commands: &str) -> std::process::Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_servescope"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A program that needs no commands may have ended before they are written.
    if let Err(error) = child.stdin.take().expect("a pipe").write_all(commands.as_bytes()) {
        assert_eq!(error.kind(), ErrorKind::BrokenPipe, "{error}");
    }
    child.wait_with_output().expect("it ends")
}

#[test]
fn steps_forward_are_the_steps_back() {
    let forward = lines(&good(&[&BUSY[..], &["--steps", "30"]].concat()).0);
    assert_eq!(forward.len(), 30);
    let back = piped(&BUSY, &format!("n 29\n{}q\n", "b\n".repeat(29)));
    assert!(back.status.success(), "{}", stderr(&back));
    let mut back = lines(&stdout(&back));
    back.remove(0);
    back.reverse();
    assert_eq!(back, forward);
    for step in &forward {
        if step["test"]["name"] == "peak_tokens" {
            assert_eq!(step["memory_test"]["need"], step["test"]["need"], "{step}");
        }
    }
}

#[test]
fn commands_go_to_a_time_a_request_and_a_kind() {
    let printed = piped(&BUSY, "t 5\nr 7\nnext load\ns 0\nprevious load\ns 3\n");
    // Before the first step there is none.
    assert_eq!(printed.status.code(), Some(2));
    let steps = lines(&stdout(&printed));
    assert_eq!(steps.len(), 5, "{}", stderr(&printed));
    assert!(steps[1]["time_s"].as_f64().unwrap() <= 5.0);
    assert_eq!(steps[2]["candidate"]["request"], 7);
    assert_eq!(steps[3]["verdict"], "loaded");
    assert!(stderr(&printed).contains("there is no load before step"), "{}", stderr(&printed));
    let one = lines(&good(&[&BUSY[..], &["--request", "7"]].concat()).0);
    assert_eq!(one[0], steps[2]);
}

#[test]
fn an_address_begins_where_it_opens_the_debugger() {
    let link = "http://x.test/#v=3&R=6&D=20&step=17";
    let of_link = |more: &[&str]| {
        let arguments = [&["debug", "--json", "--link", link][..], more].concat();
        lines(&stdout(&piped(&arguments, "q\n")))[0]["step"].clone()
    };
    assert_eq!([of_link(&[]), of_link(&["--steps", "2"]), of_link(&["--step-number", "4"])], [17, 17, 4]);
    let beyond = ["debug", "--link", "http://x.test/#v=3&R=6&D=20&step=999999"];
    assert!(refused(&beyond).contains("999999"));
}

#[test]
fn a_step_is_told_in_words() {
    let arguments = [&["debug", SLORA], &BUSY[3..], &["--request", "3"]].concat();
    let printed = good(&arguments).0;
    assert!(printed.contains("Request 3 ") && printed.contains("rule: S-LoRA"), "{printed}");
    assert!(printed.contains("crate/engine/src/replica/scheduler/slora/admission.rs"), "{printed}");
}

#[test]
fn places_that_are_not_there_are_refused() {
    assert!(
        refused(&[&BUSY[..], &["--at", "1e9"]].concat()).contains("time_s: 1000000000 is not between 0 and")
    );
    assert!(refused(&[&BUSY[..], &["--request", "100000"]].concat()).contains("request: 100000"));
    assert!(refused(&[&BUSY[..], &["--next", "rejection"]].concat()).contains("there is no rejection"));
    let bad = piped(&BUSY, "next apple\n");
    assert!(stderr(&bad).contains("apple is not one of rejection, preemption, load"), "{}", stderr(&bad));
}
