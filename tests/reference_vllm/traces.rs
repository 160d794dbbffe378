//! Runs whose prompts are named by blocks, written as trace files and simulated as the terminal does. Some files name the outputs,
//! too; of others the reader names them after the prompts that go on from them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Value, json};
use servescope_lab::run::Run;
use servescope_output::files;
use servescope_settings::scenario::Scenario;
use servescope_tests::recorded_runs::{list, whole};
use servescope_traces::loaded_trace::LoadedTrace;

use super::given::Blocks;

/// The settings of the terminal that stand for a setting of a file; `None`: the terminal has none.
fn settings(file: &Value) -> Option<Vec<(&'static str, String)>> {
    let given = &file["config"];
    let is_plain = given["policy"] == "fcfs"
        && ["max_loras", "pipeline_parallel_size"].iter().all(|key| given[*key].is_null());
    if !is_plain {
        return None;
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut settings: Vec<(&str, String)> = [
        ("scheduler.kind", "vllm_v1"),
        ("cost.kind", "linear"),
        ("fleet.kv_pool", "given"),
        ("workload.adapters.count", "0"),
        ("cost.linear.overhead_ms", "0"),
    ]
    .map(|(path, value)| (path, value.to_owned()))
    .to_vec();
    let tokens = whole(given, "usable_blocks") * whole(given, "block_size");
    settings.push(("scheduler.max_total_tokens", tokens.to_string()));
    for (path, key) in [
        ("scheduler.block_size", "block_size"),
        ("scheduler.watermark", "watermark"),
        ("scheduler.prefix_cache", "enable_prefix_caching"),
        ("scheduler.max_num_batched_tokens", "max_num_batched_tokens"),
        ("scheduler.max_num_seqs", "max_num_seqs"),
        ("scheduler.max_model_len", "max_model_len"),
        ("scheduler.scheduler_reserve_full_isl", "scheduler_reserve_full_isl"),
        ("scheduler.async_scheduling", "async_scheduling"),
        ("scheduler.enable_chunked_prefill", "enable_chunked_prefill"),
        ("scheduler.long_prefill_token_threshold", "long_prefill_token_threshold"),
        ("scheduler.long_prefill_token_threshold_adaptive", "long_prefill_token_threshold_adaptive"),
        ("scheduler.prefill_schedule_interval", "prefill_schedule_interval"),
        ("scheduler.max_num_active_seqs", "max_num_active_seqs"),
    ] {
        settings.extend((!given[key].is_null()).then(|| (path, text(&given[key]))));
    }
    for (path, key) in [
        ("cost.linear.prefill_base_ms", "A_p"),
        ("cost.linear.prefill_per_token_ms", "b"),
        ("cost.linear.decode_base_ms", "A_d"),
        ("cost.linear.decode_per_request_ms", "c"),
        ("cost.linear.decode_per_kv_token_ms", "d"),
    ] {
        let us = file["law_us"][key].as_f64().expect("a number");
        settings.push((path, (us / 1e3).to_string()));
    }
    Some(settings)
}

/// Seconds, exact to the microsecond.
fn seconds(us: u64) -> String {
    format!("{}.{:06}", us / 1_000_000, us % 1_000_000)
}

/// The requests in the order of their arrival, equal times as in the file.
fn requests(file: &Value) -> Vec<&Value> {
    let mut requests: Vec<&Value> = list(file, "requests").iter().collect();
    requests.sort_by_key(|request| request["arrival_us"].as_u64());
    requests
}

/// The file as traces that say enough for the outputs to be named: in the own JSON Lines with their blocks; where each turn has the
/// output before it in its prompt, with sessions alone; where one way leads on behind each prompt, as vLLM's timed trace.
fn written(file: &Value) -> Vec<(&'static str, String)> {
    let block_size = whole(&file["config"], "block_size");
    let (mut reported, mut sessions, mut timed) = (String::new(), String::new(), String::new());
    let mut blocks = Blocks::default();
    for request in requests(file) {
        let at = seconds(request["arrival_us"].as_u64().expect("whole microseconds"));
        let [input, output] = ["input_tokens", "output_tokens"].map(|key| whole(request, key));
        let mut all = blocks.of(request, block_size as usize);
        let of_output = json!(all.split_off((input / block_size) as usize));
        let head = format!(
            "{{\"arrival_s\": {at}, \"input_tokens\": {input}, \"output_tokens\": {output}, \"block_tokens\": {block_size}"
        );
        let _ =
            writeln!(reported, "{head}, \"hash_ids\": {}, \"output_hash_ids\": {of_output}}}", json!(all));
        let ids = &request["hash_ids"];
        let session = request["session"].as_u64().unwrap_or(0);
        let _ = writeln!(sessions, "{head}, \"hash_ids\": {ids}, \"session\": {session}}}");
        let _ = writeln!(
            timed,
            "{{\"timestamp\": {at}, \"input_length\": {input}, \"output_length\": {output}, \"hash_ids\": {ids}}}"
        );
    }
    let mut written = vec![("told.jsonl", reported)];
    if turns_go_on(file) {
        written.push(("sessions.jsonl", sessions));
        written.extend(one_way_leads_on(file).then_some(("timed.jsonl", timed)));
    }
    written
}

/// Whether each prompt of a session has the one before it and its output in it.
fn turns_go_on(file: &Value) -> bool {
    let mut last: BTreeMap<Option<u64>, &Value> = BTreeMap::new();
    requests(file).into_iter().all(|request| {
        let Some(before) = last.insert(request["session"].as_u64(), request) else { return true };
        let tokens = list(request, "tokens");
        let said: Vec<&Value> = list(before, "tokens").iter().chain(list(before, "answer")).collect();
        tokens.len() >= said.len() && said.iter().zip(tokens).all(|(one, other)| *one == other)
    })
}

/// Whether no prompt ends with a block that different ones follow.
fn one_way_leads_on(file: &Value) -> bool {
    let block_size = whole(&file["config"], "block_size");
    let full = |request: &Value| -> Vec<u64> {
        let ids = list(request, "hash_ids").iter().filter_map(Value::as_u64);
        ids.take((whole(request, "input_tokens") / block_size) as usize).collect()
    };
    let mut next: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for request in requests(file) {
        for pair in full(request).windows(2) {
            next.entry(pair[0]).or_default().insert(pair[1]);
        }
    }
    let ends = requests(file).into_iter().filter_map(|request| full(request).last().copied());
    ends.into_iter().all(|last| next.get(&last).is_none_or(|next| next.len() < 2))
}

/// A column of a table as numbers; what is empty is no number.
fn column(csv: &str, name: &str) -> Vec<f64> {
    let mut rows = csv.lines().map(|row| row.split(','));
    let place = rows.next().and_then(|mut names| names.position(|other| other == name)).expect("a column");
    rows.map(|mut row| row.nth(place).and_then(|cell| cell.parse().ok()).unwrap_or(f64::NAN)).collect()
}

fn compare(what: &str, ours: &[f64], theirs: &[f64], within: f64) -> Result<(), String> {
    if ours.len() != theirs.len() {
        return Err(format!("{} of {what} instead of {}", ours.len(), theirs.len()));
    }
    let is_off = |&(_, (a, b)): &(usize, (&f64, &f64))| (a - b).abs() > within;
    match ours.iter().zip(theirs).enumerate().find(is_off) {
        Some((place, (own, other))) => Err(format!("{what} {place} is {own} instead of {other}")),
        None => Ok(()),
    }
}

/// The batches, the requests and what the prefix cache found.
fn check(run: &Run, file: &Value) -> Result<usize, String> {
    let is_prompt = |entry: &&Value| entry[3] == "p";
    let batches: Vec<&Value> =
        list(file, "iterations").iter().filter(|batch| !list(batch, "scheduled").is_empty()).collect();
    let of = |tell: &dyn Fn(&Value) -> f64| batches.iter().map(|batch| tell(batch)).collect::<Vec<f64>>();
    let tokens = |batch: &Value, prompts: bool| {
        let scheduled = list(batch, "scheduled").iter().filter(|entry| is_prompt(entry) == prompts);
        scheduled.filter_map(|entry| entry[1].as_f64()).sum::<f64>()
    };
    let at_s = |batch: &Value, key: &str| batch[key].as_f64().unwrap_or(f64::NAN) / 1e6;
    let csv = files::batches_csv(&run.report);
    compare("starts", &column(&csv, "start_s"), &of(&|batch| at_s(batch, "start_us")), 1e-6)?;
    compare("durations", &column(&csv, "duration_s"), &of(&|batch| at_s(batch, "duration_us")), 1e-6)?;
    compare("prompt tokens", &column(&csv, "prefill_tokens"), &of(&|batch| tokens(batch, true)), 0.0)?;
    compare("decoded tokens", &column(&csv, "decode_tokens"), &of(&|batch| tokens(batch, false)), 0.0)?;
    let results: Vec<&Value> = {
        let result = |id: &Value| list(file, "results").iter().find(|result| result["id"] == *id);
        requests(file).iter().map(|request| result(&request["id"]).expect("a result")).collect()
    };
    let csv = files::requests_csv(&run.report);
    for (name, key) in [
        ("scheduled_s", "first_scheduled_us"),
        ("first_token_s", "first_token_us"),
        ("finish_s", "finish_us"),
    ] {
        let theirs: Vec<f64> = results.iter().map(|result| at_s(result, key)).collect();
        compare(name, &column(&csv, name), &theirs, 1e-6)?;
    }
    let made: Vec<f64> = results.iter().map(|result| f64::from(whole(result, "produced"))).collect();
    compare("made tokens", &column(&csv, "made_tokens"), &made, 0.0)?;
    let found: u64 = results.iter().map(|result| u64::from(whole(result, "cached_tokens_all"))).sum();
    let summary = json!(run.summary());
    if summary["prefix_cache"]["cached_tokens"] != found {
        return Err(format!("found {} instead of {found}", summary["prefix_cache"]["cached_tokens"]));
    }
    Ok(batches.len() + results.len())
}

#[test]
fn sessions_as_trace_files_find_what_vllm_finds() {
    let (mut checked, mut wrong) = (0, Vec::new());
    for path in super::runs() {
        let file = servescope_tests::json(&path);
        let has_blocks = |request: &Value| request["hash_ids"].is_array() && request["answer"].is_array();
        let Some(settings) = settings(&file).filter(|_| list(&file, "requests").iter().all(has_blocks))
        else {
            continue;
        };
        let settings: Vec<(&str, &str)> = settings.iter().map(|(path, value)| (*path, &**value)).collect();
        let scenario = Scenario::of_version(4).with(&settings).unwrap_or_else(|error| panic!("{error}"));
        let name = servescope_tests::plain_name(&path);
        for (kind, text) in written(&file) {
            let loaded = LoadedTrace::read(kind, text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
            let run = Run::simulate(&scenario, Some(&loaded)).unwrap_or_else(|errors| panic!("{errors:?}"));
            match check(&run, &file) {
                Ok(cases) => {
                    println!("as {kind}:");
                    servescope_tests::report_cases(&path, cases);
                    checked += 1;
                }
                Err(difference) => wrong.push(format!("{name} as {kind}: {difference}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{} runs differ:\n{}", wrong.len(), wrong.join("\n"));
    println!("{checked} trace files agree");
}
