//! Files of other tools in the terminal, as their documentation writes them: what is read, what is assumed, what is refused.

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
    let (own, told) = good(&["convert", &path, "--to", "servescope", "--recipe", "none"]);
    assert_eq!(own.lines().count(), 3, "{own}");
    assert!(
        told.contains("1 requests have no output length in the file; each was given 30 tokens, the median"),
        "{told}"
    );
    assert!(told.contains("does not hold which output lengths are unknown"), "{told}");
    let (back, told) =
        good(&["convert", &path, "--to", "aibrix", "--any-completion-len", "77", "--recipe", "none"]);
    assert!(back.contains("\"prompt_length\": 101, \"output_length\": null, \"session_id\": 0}"), "{back}");
    assert!(told.contains("was given 77 tokens, as asked for"), "{told}");
    assert!(!told.contains("does not hold"), "{told}");
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
    let (_, told) = good(&["convert", &path, "--to", "azure", "--recipe", "none"]);
    assert!(told.contains("the format azure does not hold the time before the first request"), "{told}");
    assert!(!told.contains("microsecond"), "{told}");
}

#[test]
fn a_scenario_file_with_a_key_given_twice_or_an_unknown_group_is_an_error() {
    let told = |text: &str| refused(&["simulate", &file("repeated.json", text)]);
    assert!(
        told(r#"{"workload": {"rate_rps": 1, "rate_rps": 2}}"#)
            .contains("workload.rate_rps: the key is given twice")
    );
    assert!(told(r#"{"scheduler2": {}}"#).contains("scheduler2: there is no such parameter"));
    assert!(
        told(r#"{"seed": 1, "scenario": {"seed": 2, "seed": 3}}"#)
            .contains("scenario.seed: the key is given twice")
    );
    let links = servescope(&["simulate", "--link", "#v=1&R=1&R=2"]);
    assert_eq!(links.status.code(), Some(2));
    assert!(stderr(&links).contains("its key is there twice"));
}
