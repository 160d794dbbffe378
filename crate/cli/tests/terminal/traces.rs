//! Trace files in the terminal: steps, files put together, other tables, bad rows, recipes.

use crate::{file, folder, good, refused};

const HEAD: &str = "arrived_at,num_prefill_tokens,num_decode_tokens\n";

#[test]
fn steps_change_a_trace_and_say_what_they_did() {
    let dir = folder("steps");
    let trace = file(&dir, "t.csv", &format!("{HEAD}0,10,5\n1,20,6\n2,30,7\n3,40,8\n"));
    let steps = ["--step", "window:start_s=1,end_s=3", "--step", "scale_lengths:input=0.5"];
    let (out, printed) = good(&[&["convert", &trace, "--to", "vidur"], &steps[..]].concat());
    assert_eq!(out, format!("{HEAD}0,10,6\n1,15,7\n"));
    assert!(
        printed.contains("window: 4 -> 2 requests") && printed.contains("2 requests outside of the window"),
        "{printed}"
    );
    let printed =
        refused(&["convert", &trace, "--to", "vidur", "--step", "window:start_s=9", "--step", "thin:keep=2"]);
    assert!(printed.contains("--step: thin.keep: 2 is not between 0 and 1"), "{printed}");
    assert!(
        refused(&["convert", &trace, "--to", "vidur", "--step", "window:start_s=9"])
            .contains("window leaves no request")
    );
    let (help, _) = good(&["convert", "--help"]);
    for words in [
        "dequantise: Spreads",
        "policy: how (thin|stretch|copies; default thin)",
        "arrival: when",
        "required)",
    ] {
        assert!(help.contains(words), "{words}");
    }
}

#[test]
fn files_are_put_together_by_the_original_rules() {
    let dir = folder("together");
    let line = |at: u32, n: u32| {
        format!(
            "{{\"timestamp\": {at}, \"requests\": [{{\"prompt\": \"\", \"prompt_length\": {n}, \"output_length\": 1}}]}}\n"
        )
    };
    let a = file(&dir, "a.jsonl", &(line(0, 1) + &line(1000, 2)));
    let b = file(&dir, "b.jsonl", &(line(0, 3) + &line(1000, 4)));
    let (concat, printed) = good(&["concat", &a, &b]);
    let request = |n: u32| format!("{{\"prompt\": \"\", \"prompt_length\": {n}, \"output_length\": 1}}");
    let stamp = |at: u32, requests: &[String]| {
        format!("{{\"timestamp\": {at}, \"requests\": [{}]}}\n", requests.join(", "))
    };
    let expected =
        stamp(0, &[request(1)]) + &stamp(1000, &[request(2), request(3)]) + &stamp(2000, &[request(4)]);
    assert_eq!(concat, expected);
    assert!(printed.contains("trace 2 starts 1 s in"), "{printed}");
    assert_eq!(good(&["convert", &a, &b, "--to", "aibrix"]).0, expected);
    let (gap, _) = good(&["concat", &a, &b, "--gap", "2", "--to", "vidur"]);
    assert_eq!(gap, format!("{HEAD}0,1,1\n1,2,1\n3,3,1\n4,4,1\n"));
    let (merged, _) = good(&["merge", &a, &b]);
    assert_eq!(merged, stamp(0, &[request(1), request(3)]) + &stamp(1000, &[request(2), request(4)]));
    let (upon, _) = good(&["merge", &a, &b, "--offset", "0.5", "--label", "user", "--to", "servescope"]);
    let users: Vec<&str> = upon.lines().skip(1).map(|row| row.split(',').nth(2).unwrap_or("")).collect();
    assert_eq!(users, ["0", "1", "0", "1"]);
    assert!(refused(&["concat", &a, &b, "--gap", "-1"]).contains("concat.gap_s: -1 is not between 0"));
    assert!(
        refused(&["merge", &a, &b, "--label", "colour"]).contains("merge.label: one of none, user, kind")
    );
}

#[test]
fn any_table_is_read_by_a_mapping_and_bad_rows_are_listed() {
    let dir = folder("mapping");
    let table = file(&dir, "log.csv", "ts,prompt,gen,who\n0,10,5,ann\n500,x,5,bob\n1000,20,6,bob\n1500,3\n");
    let map = ["--map", "arrival=ts:ms,input=prompt,output=gen,user=who", "--to", "vidur"];
    let printed = refused(&[&["convert", &table], &map[..]].concat());
    assert!(
        printed.contains("log.csv: row 3, column prompt: a whole number expected, got \"x\""),
        "{printed}"
    );
    let (out, printed) = good(&[&["convert", &table, "--skip-bad-rows"], &map[..]].concat());
    assert_eq!(out, format!("{HEAD}0,10,5\n1,20,6\n"));
    for words in [
        "row 3, column prompt",
        "row 5: 2 cells where the header has 4",
        "1 rows, cell_count",
        "2 rows could not be read",
    ] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    assert!(
        refused(&["convert", &table, "--map", "arrival=ts", "--to", "vidur"])
            .contains("the column for input is missing")
    );
    assert!(
        refused(&["convert", &table, "--to", "vidur"]).contains("no known format has the columns ts, prompt")
    );
}

#[test]
fn a_recipe_makes_the_same_bytes_again() {
    let dir = folder("recipe");
    let path = |name: &str| dir.join(name).to_str().expect("the path is text").to_owned();
    let read = |name: &str| std::fs::read_to_string(dir.join(name)).expect("written");
    let arguments = ["--set", "workload.duration_s=60", "--set", "seed=7", "--step", "thin:keep=0.4"];
    for format in ["servescope", "mooncake"] {
        let out = path(format);
        good(&[&["generate", "--format", format, "-o", &out], &arguments[..]].concat());
        let beside = format!("{format}.recipe.json");
        good(&["generate", &path(&beside), "-o", &path("again"), "--recipe", "none"]);
        assert_eq!(read(format), read("again"));
        assert!(!dir.join("again.recipe.json").exists());
        let digest = |arguments: &[&str]| {
            let (out, _) = good(&[&["simulate"], arguments].concat());
            out.lines().next().map(str::to_owned)
        };
        if format == "servescope" {
            assert_eq!(digest(&["--trace", &out]), digest(&[&path(&beside)]));
        }
    }
    good(&[&["generate", "-o", &path("inside.csv"), "--recipe", "inside"], &arguments[..]].concat());
    let inside = read("inside.csv");
    assert!(inside.starts_with("# servescope {") && inside.ends_with(&read("servescope")));
    good(&["generate", &path("inside.csv"), "-o", &path("again.csv"), "--recipe", "inside"]);
    assert_eq!(read("again.csv"), inside);
    assert!(
        refused(&["generate", "--format", "vidur", "--recipe", "inside"]).contains("has no place for it")
    );
    good(&["convert", &path("inside.csv"), "--to", "vidur", "-o", &path("v.csv")]);
    let recipe = read("v.csv.recipe.json");
    assert!(
        recipe.contains("\"name\":\"inside.csv\"") && recipe.contains("\"format\":\"vidur\""),
        "{recipe}"
    );
    assert!(refused(&["generate", &path("v.csv.recipe.json")]).contains("made of other files"));
}
