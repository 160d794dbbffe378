//! From files to times: small files that follow known formulas.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;
use crate::batch::{Batch, BatchCost, Chunk, OperatorClass};

const TOKENS: [u32; 12] = [1, 8, 16, 64, 128, 256, 512, 1024, 1536, 2048, 3072, 4096];

/// Ten operators of 0.01 ms + tokens / 10^5 ms each, for degrees 1 and 2.
fn mlp() -> String {
    let names: Vec<&Operator> =
        OPERATORS.iter().filter(|o| o.by == By::Tokens && o.name != "attn_kv_cache_save").collect();
    let mut text = names.iter().map(|o| o.column).collect::<Vec<_>>().join(",") + ",";
    text += "n_head,n_kv_head,n_embd,n_expanded_embd,use_gated_mlp,num_tokens,num_tensor_parallel_workers\n";
    for degree in [1, 2] {
        for tokens in TOKENS {
            for _ in &names {
                let _ = write!(text, "{},", 0.01 + f64::from(tokens) * 1e-5 / f64::from(degree));
            }
            let _ = writeln!(text, "8,4,1024,4096,True,{tokens},{degree}");
        }
    }
    text
}

/// Decoding: 0.01 ms + requests x KV / 10^6 ms; prompts: 0.01 ms + chunk (KV + chunk) / 10^7 ms; degree 1.
fn attention() -> String {
    let mut text =
        "n_q_head,n_kv_head,num_tensor_parallel_workers,n_embd,batch_size,prefill_chunk_size,kv_cache_size,\
        time_stats.attn_decode.median,time_stats.attn_prefill.median\n"
            .to_owned();
    for batch in [1, 2, 4, 8, 32, 128] {
        for kv in [32, 256, 1024, 4032] {
            let _ = writeln!(text, "8,4,1,1024,{batch},0,{kv},{},", 0.01 + f64::from(batch * kv) / 1e6);
        }
    }
    for chunk in [64, 512, 2048] {
        for kv in [0, 512, 2048] {
            let ms = 0.01 + f64::from(chunk) * f64::from(kv + chunk) / 1e7;
            let _ = writeln!(text, "8,4,1,1024,1,{chunk},{kv},,{ms}");
        }
    }
    text
}

fn messages(name: &str, workers: &str) -> String {
    let mut text =
        format!("time_stats.{name}.median,num_workers,devices_per_node,size,max_devices_per_node\n");
    for size in [2048, 65_536, 1 << 20, 1 << 24] {
        let _ = writeln!(text, "{},{workers},{size},4", 0.02 + f64::from(size) * 1e-8);
    }
    text
}

const HOST: &str = "model_name,tensor_parallel_degree,batch_size,schedule_median,sampler_e2e_median,\
    prepare_inputs_e2e_median,process_model_outputs_median,ray_comm_time_mean\n\
    a/b,1,8,0.1,0.1,0.1,0.1,0.1\na/b,1,16,0.2,0.2,0.2,0.2,0.2\nc/d,1,8,9,9,9,9,9\n";

fn raw() -> RawTables {
    let mut raw = RawTables::read("gpu", "a/b", 2, &mlp()).unwrap();
    assert_eq!(raw.add_attention(&attention(), TimedOrigin::Measured), Ok(1));
    raw.add_all_reduce(&messages("all_reduce", "2,2")).unwrap();
    raw.add_send_recv(&messages("send_recv", "2,2")).unwrap();
    let slower = |name: &str, workers: &str| messages(name, workers).replace("\n0.0", "\n0.1");
    let sends = slower("send_recv", "2,2") + messages("send_recv", "2,1").split_once('\n').unwrap().1;
    raw.add_network("pairs", &slower("all_reduce", "2,2"), &sends).unwrap();
    assert_eq!(raw.add_host(HOST), Ok(2));
    raw
}

fn near(ours: f64, theirs: f64) {
    assert!((ours / theirs - 1.0).abs() < 0.02, "{ours} instead of {theirs}");
}

#[test]
fn times_add_up_from_files_to_stages() {
    let (profile, errors) = Profile::fit(&raw()).unwrap();
    assert!(errors.iter().all(|e| e.p95 < 0.021), "{errors:?}");
    let origin = |degree: u32| profile.degree(degree).unwrap().attention.origin;
    assert_eq!((origin(1), origin(2)), (TimedOrigin::Measured, TimedOrigin::Modelled));
    let tables = profile.tables(profile.settings(1, 1)).unwrap();
    let decode = Batch { decodes: 8, decode_kv_tokens: 8.0 * 640.0, ..Batch::default() };
    // Two layers: nine operators, attention with 10 % for more than one request.
    let us = |tokens: f64, attention: f64| 2.0 * (90.0 + 9.0 * tokens / 100.0 + attention);
    near(tables.stage_time(&decode, true).first_us, us(8.0, 1.1 * (10.0 + 8.0 * 0.64)));
    let chunks = [Chunk { kv_tokens: 512, tokens: 1024 }];
    let prompt = Batch { chunks: &chunks, ..Batch::default() };
    near(tables.stage_time(&prompt, true).first_us, us(1024.0, 10.0 + 1024.0 * 1536.0 / 1e4));
    // Two stages of two GPUs: one layer each, two all-reduces of 20 us more, one message.
    let two = profile.tables(profile.settings(2, 2)).unwrap();
    let [parts, _] = two.stage_parts(&prompt);
    let message_us = 20.0 + 1024.0 * 2048.0 * 1e-5;
    near(parts[crate::OperatorClass::Communication as usize], 3.0 * message_us + 40.0);
    near(parts[crate::OperatorClass::Linear as usize], 4.0 * (10.0 + 1024.0 * 1e-2 / 2.0));
    near(parts.iter().sum(), two.stage_time(&prompt, false).first_us);
    let with_host = tables.clone().with_host(profile.host(1).unwrap());
    let host_us = |t: &CompactTables| t.stage_time(&decode, true).first_us;
    assert!((host_us(&with_host) - host_us(&tables) - 500.0).abs() < 1e-6);
}

#[test]
fn operators_add_up_to_their_classes() {
    let (profile, _) = Profile::fit(&raw()).unwrap();
    let chunks = [Chunk { kv_tokens: 64, tokens: 100 }];
    let batch = Batch { chunks: &chunks, decodes: 8, decode_kv_tokens: 800.0, ..Batch::default() };
    let tables = profile.tables(profile.settings(2, 2)).unwrap().with_host(profile.host(1).unwrap());
    let names = crate::batch::assert_operators_add_up(&tables, &batch);
    assert!(names.starts_with(&["input_layernorm", "attn_pre_proj"]), "{names:?}");
    assert!(names.ends_with(&["all_reduce", "attn_prefill", "attn_decode", "host"]), "{names:?}");
    let send = tables.operators(&batch, false).pop().unwrap();
    assert_eq!((send.name, send.calls, send.tokens), ("send_recv", 1.0, 108.0));
    let decode =
        tables.operators(&batch, true).into_iter().find(|operator| operator.name == "attn_decode").unwrap();
    assert_eq!((decode.calls, decode.tokens, decode.kv_tokens), (1.0, 8.0, 800.0));
}

#[test]
fn another_node_has_other_messages_and_sends_across_sooner() {
    let (mut profile, _) = Profile::fit(&raw()).unwrap();
    profile.node_gpus = 8;
    let pairs = profile.network("pairs").unwrap();
    assert_eq!(
        (pairs.node_gpus, pairs.has_degree(1), pairs.has_degree(2), pairs.has_degree(4)),
        (4, true, true, false)
    );
    let chunks = [Chunk { kv_tokens: 0, tokens: 32 }];
    let prompt = Batch { chunks: &chunks, ..Batch::default() };
    let communication_us = |stages: u32, network| {
        let tables = profile.tables_on(profile.settings(2, stages), network).unwrap();
        tables.stage_parts(&prompt)[0][crate::OperatorClass::Communication as usize]
    };
    let message_us = 20.0 + 32.0 * 2048.0 * 1e-5;
    // Two layers of two all-reduces, in either stage one; each is launched in 20 us. A message of the slower node takes 100 us more.
    near(communication_us(2, None), 3.0 * message_us + 40.0);
    near(communication_us(2, Some(pairs)), 3.0 * (message_us + 100.0) + 40.0);
    // The second stage of a node of two GPUs is in another one, to which a message takes as long as within ours.
    let small = NodeNetwork { node_gpus: 2, ..pairs.clone() };
    near(communication_us(2, Some(&small)), 2.0 * (message_us + 100.0) + message_us + 40.0);
    assert_eq!(profile.network("pears"), None);
    assert!(profile.tables_on(profile.settings(2, 1), None) == profile.tables(profile.settings(2, 1)));
}

#[test]
fn all_reduces_are_modelled_from_messages_and_missed_without() {
    let mut raw = RawTables::read("gpu", "a/b", 2, &mlp()).unwrap();
    let error = Profile::fit(&raw).unwrap_err().to_string();
    assert!(error.contains("all_reduce.csv") && error.contains("send_recv.csv"), "{error}");
    raw.add_send_recv(&messages("send_recv", "2,2")).unwrap();
    let (profile, _) = Profile::fit(&raw).unwrap();
    let line = profile.degrees[1].lines.iter().find(|l| l.operator.name == "all_reduce").unwrap();
    assert_eq!(line.origin, TimedOrigin::Modelled);
    assert!(profile.tables(profile.settings(2, 1)).is_ok());
    let error = profile.tables(profile.settings(4, 1)).unwrap_err().to_string();
    assert_eq!(error, "degree: one that the profile has expected");
}

#[test]
fn errors_name_file_row_and_column() {
    let error = |text: String| RawTables::read("gpu", "a/b", 2, &text).unwrap_err().to_string();
    assert_eq!(error(String::new()), "mlp.csv: there is no row");
    assert_eq!(
        error(mlp().replace("attn_rope", "x")),
        "mlp.csv: there is no column time_stats.attn_rope.median"
    );
    let second = mlp().replacen("8,4,1024,4096,True,8,1", "8,4,1024,4096,True,0,1", 1);
    assert_eq!(
        error(second),
        "mlp.csv: row 3, column num_tokens: a whole number of 1 to 2^24 expected, got \"0\""
    );
    assert!(error(mlp().replacen("8,4,1024,4096,True,8,1", "8,4,512,4096,True,8,1", 1)).contains("row 3"));
    let mut raw = raw();
    let bad = attention().replacen("8,4,1,1024,1,0,256,0", "8,4,1,1024,1,0,256,-0", 1);
    assert!(raw.add_attention(&bad, TimedOrigin::Measured).unwrap_err().to_string().starts_with(
        "attention.csv: row 3, column time_stats.attn_decode.median: a time of 0 to 1e9 ms expected"
    ));
    assert!(raw.add_host("model_name\n").is_err());
    assert!(raw.keep_degrees(&[4]).is_err());
    assert!(RawTables::read("a gpu", "a/b", 2, &mlp()).unwrap_err().to_string().starts_with("gpu: a name"));
}

#[test]
fn a_profile_is_read_as_it_was_written() {
    let (profile, _) = Profile::fit(&raw()).unwrap();
    let text = profile.to_text();
    assert_eq!(Profile::read(&text).as_ref(), Ok(&profile));
    let error = |text: &str| Profile::read(text).unwrap_err().to_string();
    assert!(error("").starts_with("profile: row 0, column key: servescope-profile 1 expected"));
    assert!(error(&text.replace("gpu gpu", "gpu")).starts_with("profile: row 2, column gpu:"));
    assert!(error(&text.replace("add measured 1", "add measured -1")).contains("column place"));
    assert!(
        error(&text.replace("network pairs node_gpus 4", "network pairs node_gpus 0")).contains("node_gpus")
    );
    assert!(error(&text.replace("group 2", "group 1")).contains("column group"));
    assert!(
        error(
            &(text.clone()
                + text.split_once("network").map(|(_, rest)| format!("network{rest}")).unwrap().as_str())
        )
        .contains("a new name")
    );
    assert!(error(&text.replace("attention measured", "attention guessed")).contains("column origin"));
}

fn check(profile: &Profile, requests: u32, kv: u32, chunk: u32) -> Result<(), TestCaseError> {
    for degree in &profile.degrees {
        let Ok(tables) = profile.tables(profile.settings(degree.degree, 1)) else { continue };
        let chunks = [Chunk { kv_tokens: kv, tokens: chunk }];
        let decode_kv_tokens = f64::from(requests) * f64::from(kv);
        let batch = Batch { decodes: requests, decode_kv_tokens, ..Batch::default() };
        let time = tables.stage_time(&batch, true);
        prop_assert!(time.first_us.is_finite() && time.first_us >= 0.0, "{:?}", time);
        prop_assert!(time.growth_us >= 0.0 && time.valid_iterations >= 1, "{:?}", time);
        let mixed = tables.stage_time(&Batch { chunks: &chunks, ..batch }, true);
        prop_assert!(mixed.first_us.is_finite() && mixed.first_us >= 0.0, "{:?}", mixed);
    }
    Ok(())
}

proptest! {
    #[test]
    fn an_iteration_beyond_the_grid_costs_more(
        requests in 1..2_000u32, kv in 1..200_000u32, chunk in 1..50_000u32, degree in 1..=2u32,
    ) {
        let (profile, _) = Profile::fit(&raw()).unwrap();
        let tables = profile.tables(profile.settings(degree, 1)).unwrap();
        let us = |requests: u32, kv: u32, chunk: u32| {
            let chunks = [Chunk { kv_tokens: kv, tokens: chunk }];
            let decode_kv_tokens = f64::from(requests) * f64::from(kv);
            let batch = Batch { decodes: requests, decode_kv_tokens, chunks: &chunks, ..Batch::default() };
            tables.stage_time(&batch, true).first_us
        };
        let here = us(requests, kv, chunk);
        prop_assert!(us(2 * requests, kv, chunk) > here);
        prop_assert!(us(requests, 2 * kv + 64, chunk) > here);
        prop_assert!(us(requests, kv, 2 * chunk + 64) > here);
    }

    #[test]
    fn stages_of_a_batch(requests in 1..300u32, kv in 1..900_000u32, later in 0..500u32) {
        let (profile, _) = Profile::fit(&raw()).unwrap();
        for tables in [4, 3].map(|stages| profile.tables(profile.settings(2, stages)).unwrap()) {
            for tables in [tables.clone(), tables.with_roundings()] {
                let batch = |kv: u32| Batch { decodes: requests, decode_kv_tokens: kv.into(), ..Batch::default() };
                let constants = tables.stage_constants(&batch(kv));
                let then = batch(kv + later * requests);
                let alone = [false, true].map(|is_last| tables.stage_time(&then, is_last).first_us);
                prop_assert_eq!(tables.batch_stages(&then, &constants).us, alone);
                let line = tables.batch_stages(&batch(kv), &constants).line.unwrap();
                let told = line.us(requests, then.decode_kv_tokens as u64);
                prop_assert!(told.is_none_or(|us| us == alone), "{:?} {:?}", told, alone);
                // It goes as far as the line of one stage.
                let holds = tables.stage_time(&batch(kv), true).valid_iterations;
                prop_assert!(told.is_some() || later + 1 >= holds, "{} of {}", later, holds);
            }
        }
    }

    #[test]
    fn a_line_of_iterations_is_as_long_as_single_ones(requests in 1..300u32, kv in 1..9_000u32) {
        let (profile, _) = Profile::fit(&raw()).unwrap();
        for degree in [1, 2] {
            let tables = profile.tables(profile.settings(degree, 1)).unwrap();
            let at = |kv: u32| {
                let decode_kv_tokens = f64::from(requests) * f64::from(kv);
                tables.stage_time(&Batch { decodes: requests, decode_kv_tokens, ..Batch::default() }, true)
            };
            let found = at(kv);
            let last = found.valid_iterations.min(2_000) - 1;
            let later = at(kv + last).first_us;
            prop_assert!((found.first_us + f64::from(last) * found.growth_us - later).abs() < 1e-6 * later);
        }
    }

    #[test]
    fn all_but_attention_is_known_by_the_requests_that_decode(requests in 1..300u32, kv in 0..9_000u32, stages in 1..=2u32) {
        let (profile, _) = Profile::fit(&raw()).unwrap();
        for degree in [1, 2] {
            let tables = profile.tables(profile.settings(degree, stages)).unwrap().with_roundings();
            let decode_kv_tokens = f64::from(requests) * f64::from(kv);
            let (mut parts, _) = tables.usage(&Batch { decodes: requests, decode_kv_tokens, ..Batch::default() });
            parts[OperatorClass::DecodeAttention as usize] = 0.0;
            prop_assert_eq!(tables.decode_usage(requests).unwrap().parts, parts);
        }
    }

    #[test]
    fn no_bytes_make_the_readers_panic(
        which in 0..6usize, at in 0..9_000usize, put in "[0-9,.\\n\\-eE a-z]{0,6}", cut in 0..9usize,
    ) {
        let (messages, sends) = (messages("all_reduce", "2,2"), messages("send_recv", "2,2"));
        let mut texts = [mlp(), attention(), messages, sends, HOST.to_owned(), String::new()];
        if which == 5 {
            texts[5] = Profile::fit(&raw()).unwrap().0.to_text();
        }
        let text = &mut texts[which];
        let at = at % (text.len() + 1);
        text.replace_range(at..(at + cut).min(text.len()), &put);
        if let Ok(profile) = Profile::read(&texts[5]) {
            prop_assert_eq!(Profile::read(&profile.to_text()), Ok(profile.clone()));
            check(&profile, 300, 5_000, 6_000)?;
        }
        let Ok(mut raw) = RawTables::read("gpu", "a/b", 2, &texts[0]) else { return Ok(()) };
        let _ = raw.add_attention(&texts[1], TimedOrigin::Measured);
        let _ = raw.add_all_reduce(&texts[2]);
        let _ = raw.add_send_recv(&texts[3]);
        let _ = raw.add_host(&texts[4]);
        if let Ok((profile, _)) = Profile::fit(&raw) {
            prop_assert_eq!(Profile::read(&profile.to_text()), Ok(profile.clone()));
            check(&profile, 300, 5_000, 6_000)?;
            check(&profile, 1, 1, 1)?;
        }
    }
}
