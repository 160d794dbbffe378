//! Bodies of every form hold what their requests say.

use proptest::prelude::*;

use super::*;
use crate::formats::json::{Json, Lines};
use crate::formats::{self, Format};
use crate::output_bounds::OutputBounds;
use crate::prompts::tokens::{CharactersPerToken, CountTokens as _};
use crate::trace::{LabelMaker, PrefixBlocks, Request, TraceMetadata};
use crate::{WorkloadSpec, generate};

fn options(form: Form, sampling: Sampling) -> BodyOptions {
    BodyOptions {
        form,
        endpoint: Endpoint::Chat,
        model: "base".to_owned(),
        adapter_name: "lora-{adapter}-r{rank}".to_owned(),
        sampling,
    }
}

fn written(trace: &Trace, texts: Texts<'_>, options: BodyOptions) -> String {
    let mut lines = BodyLines::new(trace, texts, options).expect("the parameters are good");
    let mut out = String::new();
    while lines.next_into(&mut out).expect("a ratio always has a text") {}
    out
}

fn made() -> Texts<'static> {
    Texts::Made(Synthesis::by_ratio(1, CharactersPerToken::DEFAULT))
}

fn small() -> Trace {
    generate(&WorkloadSpec { duration_s: 10.0, ..WorkloadSpec::default() })
}

/// A trace of one session with the given (input, output) lengths.
fn session(lengths: &[(u32, u32)]) -> Trace {
    let mut trace = Trace::default();
    let mut names = LabelMaker::default();
    for (i, &(input_tokens, output_tokens)) in lengths.iter().enumerate() {
        trace.push(Request {
            arrival_us: i as f64 * 1e6,
            user: 3,
            adapter: BASE_MODEL,
            input_tokens,
            output_tokens,
            max_tokens: output_tokens + 10,
        });
        names.push(Some("talk"));
    }
    trace.set_metadata(TraceMetadata { session: names.finish(), ..TraceMetadata::default() });
    trace
}

/// What `at` leads to in every line of a file, as text.
fn values(text: &str, at: &[&str]) -> Vec<String> {
    let mut lines = Lines::open(text.as_bytes()).expect("text");
    let mut values = Vec::new();
    while let Some(line) = lines.next_line().expect("every line is an object") {
        let value = at.iter().try_fold(&line.object, |value, key| value.get(key));
        values.push(match value {
            None => "absent".to_owned(),
            Some(Json::Null) => "null".to_owned(),
            Some(Json::Number(number)) => (*number).to_owned(),
            Some(Json::Text(text)) => text.to_string(),
            Some(Json::Flag(flag)) => flag.to_string(),
            Some(Json::List(entries)) => format!("{} entries", entries.len()),
            Some(Json::Object(_)) => "object".to_owned(),
        });
    }
    values
}

const PINNED: OutputBounds =
    OutputBounds { ignore_eos: false, min_tokens: 0, max_new_tokens: None, pin_output: true };

#[test]
fn slora_bodies_have_the_form_of_its_benchmark() {
    let trace = small();
    let pinned = Sampling { output_bounds: PINNED, ..Sampling::default() };
    let text = written(&trace, made(), options(Form::Slora, pinned));
    let prompts = values(&text, &["body", "inputs"]);
    assert_eq!(prompts.len(), trace.len());
    for (prompt, &tokens) in prompts.iter().zip(&trace.input_tokens) {
        assert_eq!(CharactersPerToken::DEFAULT.count(prompt), Ok(tokens as usize));
    }
    let adapters = values(&text, &["body", "lora_dir"]);
    assert_eq!(adapters[0], format!("lora-{}-r8", trace.adapter[0]));
    assert_eq!(values(&text, &["body", "parameters", "ignore_eos"])[0], "true");
    let outputs: Vec<String> = trace.output_tokens.iter().map(u32::to_string).collect();
    assert_eq!(values(&text, &["body", "parameters", "max_new_tokens"]), outputs);
    assert_eq!(values(&text, &["path"])[0], "/generate_stream");
    let base = Trace { adapter: vec![BASE_MODEL; trace.len()], ..trace };
    let text = written(&base, made(), options(Form::Slora, Sampling::default()));
    assert_eq!(values(&text, &["body", "lora_dir"])[0], "null");
}

#[test]
fn openai_sends_what_others_know_only_where_it_is_set_and_vllm_always() {
    let trace = small();
    let free = written(&trace, made(), options(Form::OpenAi, Sampling::default()));
    for key in ["top_k", "ignore_eos", "min_tokens", "stop"] {
        assert_eq!(values(&free, &["body", key])[0], "absent", "{key}");
    }
    assert_eq!(values(&free, &["body", "temperature"])[0], "0");
    let set = Sampling {
        do_sample: true,
        temperature: 0.7,
        top_k: Some(40),
        output_bounds: PINNED,
        ..Sampling::default()
    };
    let asked = written(&trace, made(), options(Form::OpenAi, set));
    let max = values(&asked, &["body", "max_tokens"]);
    assert_eq!(max[0], trace.output_tokens[0].to_string());
    assert_eq!(values(&asked, &["body", "min_tokens"]), max);
    assert_eq!(values(&asked, &["body", "top_k"])[0], "40");
    assert_eq!(values(&asked, &["body", "temperature"])[0], "0.7");
    let vllm = written(&trace, made(), options(Form::Vllm, Sampling::default()));
    assert_eq!(values(&vllm, &["body", "top_k"])[0], "-1");
    assert_eq!(values(&vllm, &["body", "min_tokens"])[0], "0");
    assert_eq!(values(&vllm, &["body", "model"])[0], format!("lora-{}-r8", trace.adapter[0]));
    let completions =
        BodyOptions { endpoint: Endpoint::Completions, ..options(Form::Vllm, Sampling::default()) };
    let text = written(&trace, made(), completions);
    assert_eq!(values(&text, &["path"])[0], "/v1/completions");
    assert_eq!(values(&text, &["body", "messages"])[0], "absent");
}

#[test]
fn a_growing_conversation_alternates_and_keeps_its_beginning() {
    let trace = session(&[(100, 20), (200, 30), (400, 5), (50, 5), (90, 5)]);
    let text = written(&trace, made(), options(Form::Vllm, Sampling::default()));
    assert_eq!(
        values(&text, &["body", "messages"]),
        ["1 entries", "3 entries", "5 entries", "1 entries", "3 entries"]
    );
    assert_eq!(values(&text, &["headers", "x-session-id"])[0], "talk");
    let whole =
        values(&written(&trace, made(), options(Form::Slora, Sampling::default())), &["body", "inputs"]);
    assert!(whole[1].starts_with(&whole[0]) && whole[2].starts_with(&whole[1]));
    assert!(!whole[2].starts_with(&whole[3]) && whole[4].starts_with(&whole[3]));
}

#[test]
fn equal_prefix_blocks_are_equal_text() {
    let mut trace = session(&[(40, 1), (50, 1), (16, 1)]);
    let mut prefix = PrefixBlocks::new(16);
    prefix.push([1, 2, 3]);
    prefix.push([1, 2, 9]);
    prefix.push([8]);
    trace.set_metadata(TraceMetadata { prefix, ..TraceMetadata::default() });
    let text = written(&trace, made(), options(Form::Slora, Sampling::default()));
    let prompts = values(&text, &["body", "inputs"]);
    assert_eq!(prompts.iter().map(String::len).collect::<Vec<_>>(), [160, 200, 64]);
    assert_eq!(prompts[0][..128], prompts[1][..128]);
    assert_ne!(prompts[0][128..], prompts[1][128..160]);
    assert_ne!(prompts[0][..64], prompts[2]);
}

#[test]
fn aibrix_files_carry_texts_and_are_read_again() {
    let trace = small();
    let text = written(&trace, made(), options(Form::Aibrix, Sampling::default()));
    let again = formats::read(text.as_bytes()).expect("the form is read");
    assert_eq!((again.format, again.trace.len()), (Format::Aibrix, trace.len()));
    assert_eq!(again.trace.input_tokens, trace.input_tokens);
    assert_eq!(again.trace.output_tokens, trace.output_tokens);
    assert_eq!(written(&again.trace, made(), options(Form::Aibrix, Sampling::default())), text);
    let custom = written(&trace, made(), options(Form::VllmCustom, Sampling::default()));
    let crate::prompts::Collection::Plain(prompts) =
        crate::prompts::Collection::read(custom.as_bytes()).expect("a collection")
    else {
        panic!("plain")
    };
    assert_eq!(prompts[5].output_tokens, Some(trace.output_tokens[5]));
}

#[test]
fn what_the_system_would_refuse_is_refused() {
    let trace = small();
    let grudging = Sampling { presence_penalty: -1.0, ..Sampling::default() };
    let refused = BodyLines::new(&trace, made(), options(Form::Slora, grudging));
    assert!(matches!(refused, Err(BodyError::Sampling(refused)) if refused.name() == "presence_penalty"));
}

proptest! {
    #[test]
    fn any_session_is_cut_into_what_adds_up(lengths in prop::collection::vec((1u32..300, 1u32..200), 1..12)) {
        let trace = session(&lengths);
        for form in Form::ALL {
            let text = written(&trace, made(), options(form, Sampling::default()));
            prop_assert!(values(&text, &["id"]).len() == lengths.len());
        }
        let text = written(&trace, made(), options(Form::Slora, Sampling::default()));
        for (prompt, &(tokens, _)) in values(&text, &["body", "inputs"]).iter().zip(&lengths) {
            prop_assert_eq!(prompt.len(), tokens as usize * 4);
        }
    }
}

#[test]
fn places_within_a_rank_follow_the_cycle_or_are_counted() {
    use super::index_in_rank;
    assert_eq!(index_in_rank(&[64, 32, 16, 64, 32, 16, 64]), [0, 0, 0, 1, 1, 1, 2]);
    assert_eq!(index_in_rank(&[8, 8, 8]), [0, 1, 2]);
    // A rank of 0 is of an adapter that no request of a file asks for.
    assert_eq!(index_in_rank(&[64, 0, 16, 0, 32, 0, 64]), [0, 0, 0, 1, 1, 1, 2]);
    assert_eq!(index_in_rank(&[64, 64, 16, 64]), [0, 1, 0, 2]);
    assert!(index_in_rank(&[]).is_empty());
}
