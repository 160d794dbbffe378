//! Closed loops, shared prefixes and ServeGen's clients in the terminal.

use crate::{SLORA, folder, json, servescope, stderr, text};

#[test]
fn a_closed_loop_written_and_read_again_is_the_same_run() {
    let settings = [
        SLORA,
        "--set",
        "workload.loop=closed",
        "--set",
        "workload.sessions.kind=held",
        "--set",
        "workload.prefix.kind=tree",
    ];
    let direct = json(&[&["simulate", "--json"], &settings[..]].concat());
    let folder = folder("closed_loop");
    for format in ["servescope", "servescope_jsonl"] {
        let path = folder.join(format);
        let written =
            servescope(&[&["generate", "--format", format, "-o", text(&path)], &settings[..]].concat());
        assert!(stderr(&written).contains("a cache without limit finds"), "{}", stderr(&written));
        let again = json(&["simulate", SLORA, "--json", "--trace", text(&path)]);
        assert_eq!(again["digest"], direct["digest"], "{format}");
        assert_eq!(again["prefix"], direct["prefix"]);
        let inspected = json(&["inspect", "--json", text(&path)]);
        assert!(inspected["held"].as_u64().is_some_and(|held| held > 100));
        assert!(inspected["prefix"].is_object());
    }
}

#[test]
fn turns_of_a_file_are_sent_at_their_times_or_held() {
    let path = folder("turns").join("sessions.csv");
    // The second turn was recorded 10 ms after the first, long before its answer is there.
    std::fs::write(&path, "arrival_s,input_tokens,output_tokens,session\n0,100,50,a\n0.01,180,50,a\n")
        .unwrap();
    let run = |setting: &str| {
        let out = path.with_file_name(setting);
        let set = format!("workload.trace.turns={setting}");
        let output = servescope(&["simulate", "--trace", text(&path), "--set", &set, "--out", text(&out)]);
        assert!(output.status.success(), "{}", stderr(&output));
        let rows = std::fs::read_to_string(out.join("requests.csv")).expect("it is written");
        let cell = |row: usize, column: usize| -> f64 {
            rows.lines().nth(row).unwrap().split(',').nth(column).unwrap().parse().unwrap()
        };
        // Arrival of the second, end of the first.
        (cell(2, 1), cell(1, 11))
    };
    assert_eq!(run("timed").0, 0.01);
    let (sent, end) = run("held");
    assert_eq!(sent, end);
}

#[test]
fn servegens_clients_make_a_trace() {
    let folder = folder("servegen");
    let (windows, lengths, out) =
        (folder.join("windows.csv"), folder.join("lengths.jsonl"), folder.join("trace.csv"));
    std::fs::write(
        &windows,
        "client_id,window_start_s,rate,cv,pattern,param1,param2\na,0,0.5,1,Gamma,1,2\na,600,0,0,,0,0\nb,600,0.1,2,Weibull,0.5,1\n",
    )
    .unwrap();
    std::fs::write(
        &lengths,
        "{\"client_id\":\"a\",\"dataset\":{\"0\":{\"input_tokens\":\"{77: 1.0}\",\"output_tokens\":\"{5: 1.0}\"}}}\n",
    )
    .unwrap();
    let (windows, lengths, out) = (text(&windows), text(&lengths), text(&out));
    let output = servescope(&["generate", "--servegen", windows, "--servegen-lengths", lengths, "-o", out]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("clients without lengths of their own, given the scenario's: b"));
    let inspected = json(&["inspect", "--json", out]);
    assert_eq!((&inspected["requests"], &inspected["users"]), (&360.into(), &2.into()));
    let refused = |arguments: &[&str], message: &str| {
        let output = servescope(&[&["generate", "--servegen", windows], arguments].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    };
    refused(&["--from-s", "900", "--to-s", "600"], "--from-s 900 is not between 0 and the end, 600");
    refused(&["--from-s", "1300"], "--from-s 1300 is not between 0 and the end, 1200");
    refused(&["--servegen-lengths", windows], "windows.csv: no file of ServeGen lengths");
    refused(&["--set", "workload.trace.rate_scale=1000", "--set", "seed=x"], "seed: a number expected");
}
