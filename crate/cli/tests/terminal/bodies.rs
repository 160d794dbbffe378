//! Request bodies as a user gets them: every form, lengths by a tokenizer, collections, limits.

use std::path::PathBuf;

use serde_json::Value;

use crate::{file_among, good, refused, servescope, stderr, text};

/// The lines that a command prints, each of which must be JSON.
fn lines(arguments: &[&str]) -> Vec<Value> {
    let (text, _) = good(arguments);
    text.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect()
}

fn file(name: &str, content: &str) -> PathBuf {
    file_among("bodies", name, content).into()
}

const SMALL: [&str; 6] = [
    "--set",
    "workload.rate_rps=2",
    "--set",
    "workload.duration_s=20",
    "--set",
    "workload.curve.kind=constant",
];

fn generated(form: &str, more: &[&str]) -> Vec<Value> {
    lines(&[&["generate", "--bodies", form], &SMALL[..], more].concat())
}

fn whole(value: &Value) -> usize {
    value.as_u64().expect("a whole number") as usize
}

#[test]
fn every_form_has_its_path_and_its_keys() {
    let slora = generated("slora", &["--set", "workload.sampling.pin_output=true"]);
    assert_eq!(slora.len(), 40);
    for (id, line) in slora.iter().enumerate() {
        assert_eq!((&line["id"], &line["path"]), (&id.into(), &"/generate_stream".into()));
        let (body, parameters) = (&line["body"], &line["body"]["parameters"]);
        assert_eq!(body["model_dir"], "llama-7b");
        assert_eq!(body["lora_dir"], line["adapter"]);
        assert_eq!((&parameters["do_sample"], &parameters["ignore_eos"]), (&false.into(), &true.into()));
        assert_eq!(parameters["max_new_tokens"], line["output_tokens"]);
        assert_eq!(body["inputs"].as_str().map(str::len), Some(4 * whole(&line["input_tokens"])));
    }
    assert!(slora.is_sorted_by_key(|line| line["at_s"].as_f64().expect("a number").to_bits()));

    let sampled = ["--set", "workload.sampling.do_sample=true", "--set", "workload.sampling.temperature=0.7"];
    let stops = ["--set", r"workload.sampling.stop_sequences=\n\n|User:"];
    let chat = generated("openai", &[&sampled[..], &stops].concat());
    assert_eq!(chat[0]["path"], "/v1/chat/completions");
    assert_eq!(chat[0]["body"]["messages"][0]["role"], "user");
    assert_eq!(chat[0]["body"]["temperature"], 0.7);
    assert_eq!(chat[0]["body"]["stop"], serde_json::json!(["\n\n", "User:"]));
    assert!(chat[0]["body"].get("ignore_eos").is_none());

    let listed = file("stops.json", r#"{"workload": {"sampling": {"stop_sequences": ["|", "a\\b"]}}}"#);
    let chat = generated("vllm", &[text(&listed)]);
    assert_eq!(chat[0]["body"]["stop"], serde_json::json!(["|", "a\\b"]));

    let pinned = ["--set", "workload.sampling.pin_output=true", "--set", "workload.max_tokens.kind=cap"];
    let vllm = generated("vllm", &[&pinned[..], &["--endpoint", "completions", "--model", "m"]].concat());
    for line in &vllm {
        let body = &line["body"];
        assert_eq!(line["path"], "/v1/completions");
        assert_eq!(
            (&body["min_tokens"], &body["max_tokens"]),
            (&line["output_tokens"], &line["output_tokens"])
        );
        assert_eq!((&body["ignore_eos"], &body["model"]), (&true.into(), &line["adapter"]));
        assert_eq!(body["user"], line["user"]);
    }
    let base = generated("vllm", &["--set", "workload.adapters.count=0", "--model", "m"]);
    assert_eq!((&base[0]["body"]["model"], &base[0]["adapter"]), (&"m".into(), &Value::Null));

    let custom = generated("vllm_custom", &[]);
    assert!(custom.iter().all(|line| line["prompt"].is_string() && line["output_tokens"].is_u64()));
    let aibrix = generated("aibrix", &[]);
    let first = &aibrix[0]["requests"][0];
    assert_eq!(first["prompt"].as_str().map(str::len), Some(4 * whole(&first["prompt_length"])));
}

#[test]
fn bodies_of_a_trace_are_those_of_the_scenario_that_made_it() {
    let trace = file("trace.csv", "");
    let written = servescope(&[&["generate", "-o", text(&trace)], &SMALL[..]].concat());
    assert!(written.status.success(), "{}", stderr(&written));
    let direct = generated("slora", &[]);
    assert_eq!(lines(&["bodies", text(&trace), "--form", "slora"]), direct);
    assert_ne!(lines(&["bodies", text(&trace), "--form", "slora", "--set", "seed=7"]), direct);

    let out = file("aibrix.jsonl", "");
    let output = servescope(&["bodies", text(&trace), "--form", "aibrix", "-o", text(&out)]);
    assert!(output.status.success() && output.stdout.is_empty(), "{}", stderr(&output));
    let inspected = servescope(&["inspect", text(&out), "--json"]);
    let json: Value = serde_json::from_slice(&inspected.stdout).expect("JSON");
    assert_eq!((&json["format"], &json["requests"]), (&"aibrix".into(), &40.into()));
}

#[test]
fn prompts_of_a_collection_are_chosen_by_length_or_in_turn() {
    let long = "word ".repeat(60);
    let plain = file("plain.jsonl", &format!("{{\"prompt\": \"short\"}}\n{{\"prompt\": \"{long}\"}}\n"));
    let fixed = |tokens: &str| {
        let length = format!("workload.input_tokens.value={tokens}");
        let fixed =
            ["--set", "workload.input_tokens.kind=fixed", "--set", &length, "--prompts", text(&plain)];
        generated("slora", &fixed)
    };
    assert!(fixed("1").iter().all(|line| line["body"]["inputs"] == "short" && line["input_tokens"] == 1));
    assert!(fixed("80").iter().all(|line| line["body"]["inputs"] == *long));
    let turns = generated("slora", &["--prompts", text(&plain), "--any-length"]);
    assert_eq!(turns.iter().filter(|line| line["body"]["inputs"] == "short").count(), 20);

    let sessions = file(
        "sessions.jsonl",
        "{\"session_id\": \"s\", \"prompts\": [\"one\", \"two\"], \"completions\": [\"eins\", \"zwei\"]}\n",
    );
    let output =
        servescope(&[&["generate", "--bodies", "vllm", "--prompts", text(&sessions)], &SMALL[..]].concat());
    assert!(stderr(&output).contains("38 requests were left out"), "{}", stderr(&output));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let last: Value = serde_json::from_str(printed.lines().nth(1).expect("two turns")).expect("JSON");
    assert_eq!((&last["session"], &last["turn"]), (&"s".into(), &2.into()));
    let said: Vec<&str> = last["body"]["messages"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|m| m["content"].as_str())
        .collect();
    assert_eq!(said, ["one", "eins", "two"]);
}

#[test]
fn bad_input_is_told_with_its_place_and_exits_with_2() {
    let mixed = file("mixed.jsonl", "{\"prompt\": \"a\"}\n{\"session_id\": 1, \"prompts\": [\"b\"]}\n");
    let empty = file("none.jsonl", "{\"session_id\": 1, \"prompts\": []}\n");
    let set = |setting| vec!["generate", "--bodies", "slora", "--set", setting];
    let cases: Vec<(Vec<&str>, &str)> = vec![
        (
            set("workload.sampling.temperature=2.5"),
            "workload.sampling.temperature: 2.5 is not between 0 and 2",
        ),
        (set("workload.sampling.top_p=0"), "workload.sampling.top_p: 0 is not between 0.000001 and 1"),
        (set("workload.sampling.top_k=-2"), "workload.sampling.top_k: -2 is not between -1 and"),
        (
            set("workload.sampling.presence_penalty=-1"),
            "workload.sampling.presence_penalty: -1 is not between 0 and 2",
        ),
        (set("workload.sampling.frequency_penalty=2.5"), "frequency_penalty: 2.5 is not between -2 and 2"),
        (
            set("workload.sampling.max_new_tokens=-1"),
            "workload.sampling.max_new_tokens: -1 is not between 0 and",
        ),
        (set("workload.sampling.do_sample=maybe"), "workload.sampling.do_sample: true or false expected"),
        (set("workload.sampling.stop_sequences=a|"), "workload.sampling.stop_sequences: an empty text"),
        (
            set("workload.sampling.characters_per_token=0"),
            "characters_per_token: 0 is not between 0.25 and 64",
        ),
        (
            vec!["generate", "--bodies", "openai", "--set", "workload.sampling.stop_sequences=a|b|c|d|e"],
            "workload.sampling.stop_sequences: 5 is not between 0 and 4",
        ),
        (vec!["generate", "--bodies", "smtp"], "known are slora, openai, vllm"),
        (vec!["generate", "--bodies", "slora", "--format", "vidur"], "cannot be used with"),
        (
            vec!["generate", "--bodies", "slora", "--prompts", text(&mixed)],
            "mixed.jsonl: row 2, column prompts",
        ),
        (vec!["generate", "--bodies", "slora", "--prompts", text(&empty)], "no prompt in it"),
        (
            vec!["generate", "--bodies", "slora", "--match-error", "2"],
            "--match-error: 2 is not between 0 and 1",
        ),
        (vec!["generate", "--bodies", "slora", "--tokenizer", text(&mixed)], "mixed.jsonl"),
        (vec!["generate", "--bodies", "slora", "-o", "/no/such/folder/file"], "/no/such/folder/file"),
        (vec!["bodies", text(&mixed), "--form", "slora"], "mixed.jsonl: row 2, column prompt"),
        (vec!["bodies", text(&mixed)], "--form"),
        (vec!["generate", "--prompts", text(&mixed)], "--prompts says how bodies look"),
    ];
    for (arguments, message) in cases {
        let output = servescope(&arguments);
        let reported = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {reported}");
        assert!(reported.contains(message), "{arguments:?}: {reported}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[cfg(feature = "tokenizer")]
mod by_tokenizer {
    use tokenizers::models::TrainerWrapper;
    use tokenizers::models::bpe::{BPE, BpeTrainer};
    use tokenizers::models::unigram::{Unigram, UnigramTrainer};
    use tokenizers::models::wordlevel::{WordLevel, WordLevelTrainer};
    use tokenizers::models::wordpiece::{WordPiece, WordPieceTrainer};
    use tokenizers::normalizers::{NormalizerWrapper, Prepend, Replace, Sequence};
    use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
    use tokenizers::pre_tokenizers::byte_level::ByteLevel;
    use tokenizers::pre_tokenizers::metaspace::{Metaspace, PrependScheme};
    use tokenizers::pre_tokenizers::whitespace::Whitespace;
    use tokenizers::processors::template::TemplateProcessing;
    use tokenizers::{AddedToken, Tokenizer};

    use super::*;

    const TAUGHT: [&str; 3] = [
        "the river and the mountain know the quiet road",
        "a small house near the river, a small garden near the road",
        "people walk down the road to the market every morning",
    ];

    /// A vocabulary of whole words; anything else is `[UNK]`.
    fn whole_words() -> Tokenizer {
        let model = WordLevel::builder().unk_token("[UNK]".to_owned()).build().expect("a model");
        let mut tokenizer = Tokenizer::new(model);
        tokenizer.with_pre_tokenizer(Some(Whitespace {}));
        let unknown = vec![AddedToken::from("[UNK]", true)];
        let trainer = WordLevelTrainer::builder().show_progress(false).special_tokens(unknown).build();
        train(tokenizer, trainer.expect("a trainer").into())
    }

    /// Byte pairs of this many tokens beyond the bytes, as GPT-2's.
    fn byte_pairs(merged: usize) -> Tokenizer {
        let mut tokenizer = Tokenizer::new(BPE::default());
        tokenizer.with_pre_tokenizer(Some(ByteLevel::default().add_prefix_space(false)));
        let bytes = ByteLevel::alphabet().into_iter().collect();
        let trainer = BpeTrainer::builder()
            .show_progress(false)
            .vocab_size(256 + merged)
            .initial_alphabet(bytes)
            .build();
        train(tokenizer, trainer.into())
    }

    /// Llama's way: blanks become marks of words, and pairs may be merged across them.
    fn marked_words(merged: usize) -> Tokenizer {
        let mut tokenizer = Tokenizer::new(BPE::default());
        let steps: Vec<NormalizerWrapper> = vec![
            Prepend::new("\u{2581}".to_owned()).into(),
            Replace::new(" ", "\u{2581}").expect("a pattern").into(),
        ];
        tokenizer.with_normalizer(Some(Sequence::new(steps)));
        let letters = ('a'..='z').chain(['\u{2581}']).collect();
        let trainer = BpeTrainer::builder()
            .show_progress(false)
            .vocab_size(27 + merged)
            .initial_alphabet(letters)
            .build();
        train(tokenizer, trainer.into())
    }

    /// BERT's way: parts of words, and words that cannot be put together are `[UNK]`.
    fn word_pieces() -> Tokenizer {
        let model = WordPiece::builder().unk_token("[UNK]".to_owned()).build().expect("a model");
        let mut tokenizer = Tokenizer::new(model);
        tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
        let unknown = vec![AddedToken::from("[UNK]", true)];
        let trainer =
            WordPieceTrainer::builder().show_progress(false).vocab_size(90).special_tokens(unknown).build();
        train(tokenizer, trainer.into())
    }

    /// SentencePiece's way: the likeliest parting of each word.
    fn likeliest_parts() -> Tokenizer {
        let mut tokenizer = Tokenizer::new(Unigram::default());
        tokenizer.with_pre_tokenizer(Some(Metaspace::new('\u{2581}', PrependScheme::Always, true)));
        let trainer = UnigramTrainer::builder()
            .show_progress(false)
            .vocab_size(60)
            .unk_token(Some("<unk>".to_owned()))
            .special_tokens(vec![AddedToken::from("<unk>", true)])
            .build();
        train(tokenizer, trainer.expect("a trainer").into())
    }

    fn train(mut tokenizer: Tokenizer, mut trainer: TrainerWrapper) -> Tokenizer {
        tokenizer.train(&mut trainer, TAUGHT.into_iter()).expect("trained");
        tokenizer
    }

    fn saved(name: &str, tokenizer: &Tokenizer) -> PathBuf {
        file(name, &tokenizer.to_string(false).expect("a tokenizer is JSON"))
    }

    fn count(tokenizer: &Tokenizer, line: &Value, marks: bool) -> usize {
        let prompt = line["body"]["inputs"].as_str().expect("a prompt");
        tokenizer.encode_fast(prompt, marks).expect("a prompt can be encoded").len()
    }

    #[test]
    fn prompts_have_exactly_their_tokens() {
        for (name, tokenizer) in [
            ("words.json", whole_words()),
            ("bytes.json", byte_pairs(0)),
            ("pairs.json", byte_pairs(60)),
            ("marked.json", marked_words(40)),
            ("pieces.json", word_pieces()),
            ("parts.json", likeliest_parts()),
        ] {
            let path = saved(name, &tokenizer);
            let unknown = tokenizer.token_to_id("[UNK]").or(tokenizer.token_to_id("<unk>"));
            let made = generated("slora", &["--tokenizer", text(&path)]);
            assert_eq!(made.len(), 40);
            for line in &made {
                assert_eq!(count(&tokenizer, line, false), whole(&line["input_tokens"]), "{name}: {line}");
                let prompt = line["body"]["inputs"].as_str().expect("a prompt");
                let tokens = tokenizer.encode_fast(prompt, false).expect("encoded");
                assert!(!tokens.get_ids().iter().any(|&id| Some(id) == unknown), "{name}: {prompt}");
            }
            let short = generated(
                "slora",
                &[
                    "--tokenizer",
                    text(&path),
                    "--set",
                    "workload.input_tokens.low=1",
                    "--set",
                    "workload.input_tokens.high=3",
                ],
            );
            assert!(
                short.iter().all(|line| count(&tokenizer, line, false) == whole(&line["input_tokens"])),
                "{name}"
            );
        }
    }

    #[test]
    fn marks_around_a_text_count_when_asked_and_padding_never() {
        let mut tokenizer = byte_pairs(60);
        tokenizer.add_special_tokens(&[AddedToken::from("<s>", true)]);
        let id = tokenizer.token_to_id("<s>").expect("it is there");
        let template = TemplateProcessing::builder()
            .try_single("<s> $A")
            .expect("a template")
            .special_tokens(vec![("<s>", id)])
            .build()
            .expect("a processor");
        tokenizer.with_post_processor(Some(template));
        let mut padded = tokenizer.clone();
        padded.with_padding(Some(tokenizers::PaddingParams {
            strategy: tokenizers::PaddingStrategy::Fixed(4000),
            ..tokenizers::PaddingParams::default()
        }));
        let path = saved("padded.json", &padded);
        for (marks, flags) in [(false, &[][..]), (true, &["--special-tokens"][..])] {
            let made = generated("slora", &[&["--tokenizer", text(&path)], flags].concat());
            assert!(made.iter().all(|line| count(&tokenizer, line, marks) == whole(&line["input_tokens"])));
        }
        let one = ["--set", "workload.input_tokens.kind=fixed", "--set", "workload.input_tokens.value=1"];
        let refused = servescope(
            &[&["generate", "--bodies", "slora", "--tokenizer", text(&path), "--special-tokens"], &one[..]]
                .concat(),
        );
        assert_eq!(refused.status.code(), Some(2));
        assert!(
            stderr(&refused).contains("request 0: 1 tokens are no more than the tokenizer's own marks (1)")
        );
    }

    #[test]
    fn equal_prefix_blocks_are_equal_tokens() {
        let trace = file(
            "mooncake.jsonl",
            "{\"timestamp\": 0, \"input_length\": 1100, \"output_length\": 5, \"hash_ids\": [1, 2, 3]}\n\
             {\"timestamp\": 5, \"input_length\": 1500, \"output_length\": 5, \"hash_ids\": [1, 2, 9]}\n\
             {\"timestamp\": 9, \"input_length\": 700, \"output_length\": 5, \"hash_ids\": [1, 8]}\n",
        );
        let tokenizer = byte_pairs(60);
        let path = saved("blocks.json", &tokenizer);
        let made = lines(&["bodies", text(&trace), "--form", "slora", "--tokenizer", text(&path)]);
        let ids: Vec<Vec<u32>> = made
            .iter()
            .map(|line| {
                let prompt = line["body"]["inputs"].as_str().expect("a prompt");
                tokenizer.encode_fast(prompt, false).expect("encoded").get_ids().to_vec()
            })
            .collect();
        assert_eq!(ids.iter().map(Vec::len).collect::<Vec<_>>(), [1100, 1500, 700]);
        assert_eq!(ids[0][..1024], ids[1][..1024]);
        assert_eq!(ids[0][..512], ids[2][..512]);
        assert_ne!(ids[0][1024..1100], ids[1][1024..1100]);
        assert_ne!(ids[0][512..700], ids[2][512..700]);
    }

    #[test]
    fn collections_are_matched_by_their_tokens() {
        let tokenizer = whole_words();
        let path = saved("matching.json", &tokenizer);
        // Four tokens of one letter, and one of many: characters alone would choose the other way.
        let prompts =
            file("few.jsonl", "{\"prompt\": \"a a a a\"}\n{\"prompt\": \"incomprehensibilities\"}\n");
        let one = ["--set", "workload.input_tokens.kind=fixed", "--set", "workload.input_tokens.value=1"];
        let by_tokens = [&one[..], &["--prompts", text(&prompts), "--tokenizer", text(&path)]].concat();
        assert!(
            generated("slora", &by_tokens).iter().all(|l| l["body"]["inputs"] == "incomprehensibilities")
        );
    }
}

#[test]
fn adapters_are_named_as_sloras_dummy_server_names_them() {
    let ranks = ["--set", "workload.adapters.ranks=64,32,16", "--set", "workload.adapters.count=8"];
    let lines = generated("slora", &[&ranks[..], &["--slora-setting", "S4"]].concat());
    let mut names: Vec<String> =
        lines.iter().map(|line| line["body"]["lora_dir"].as_str().expect("an adapter").to_owned()).collect();
    names.sort();
    names.dedup();
    let rank_of = |i: usize| [64, 32, 16][i % 3];
    let mut there: Vec<String> =
        (0..8).map(|i| format!("dummy-lora-13b-rank-{}-{}", rank_of(i), i / 3)).collect();
    there.sort();
    assert_eq!(names, there);
    assert_eq!(lines[0]["body"]["model_dir"], "huggyllama/llama-13b");
    let own = ["--adapter-name", "a{adapter}-{index_in_rank}", "--model", "m"];
    let lines = generated("slora", &[&ranks[..], &["--slora-setting", "s2"], &own].concat());
    assert_eq!(lines[0]["body"]["model_dir"], "m");
    for line in lines {
        let name = line["body"]["lora_dir"].as_str().expect("an adapter");
        let (adapter, index) = name[1..].split_once('-').expect("two numbers");
        let number = |text: &str| text.parse::<usize>().expect("a number");
        assert_eq!(number(adapter) / 3, number(index), "{name}");
    }
}

/// A setting brings its ranks; ranks that its server does not have are refused.
#[test]
fn adapters_have_the_ranks_of_sloras_setting() {
    let few = ["--set", "workload.adapters.count=6"];
    for (setting, there) in [
        ("S1", &["dummy-lora-7b-rank-8-0", "dummy-lora-7b-rank-8-5"][..]),
        ("S2", &["dummy-lora-7b-rank-64-1", "dummy-lora-7b-rank-8-0"]),
        ("S4", &["dummy-lora-13b-rank-16-1", "dummy-lora-13b-rank-64-0"]),
        ("real", &["tloen/alpaca-lora-7b-0", "MBZUAI/bactrian-x-llama-7b-lora-2"]),
    ] {
        let lines = generated("slora", &[&few[..], &["--slora-setting", setting]].concat());
        let has = |name: &&str| lines.iter().any(|line| line["body"]["lora_dir"] == **name);
        assert!(there.iter().all(has), "{setting}: {:?}", lines[0]["body"]["lora_dir"]);
        assert!(!lines.iter().any(|line| line["body"]["lora_dir"] == "dummy-lora-13b-rank-8-0"));
    }
    let other = [&few[..], &["--slora-setting", "S4", "--set", "workload.adapters.ranks=64,8"]].concat();
    let reported = refused(&[&["generate", "--bodies", "slora"][..], &other].concat());
    assert!(reported.contains("of rank 8, and the server's adapters have the ranks 64,32,16"), "{reported}");
}

#[test]
fn a_line_names_the_benchmark_client_and_a_chat_carries_do_sample() {
    for form in ["slora", "openai", "vllm"] {
        assert_eq!(generated(form, &[])[0]["headers"]["User-Agent"], "Benchmark Client");
    }
    let sampled = ["--set", "workload.sampling.do_sample=true"];
    assert_eq!(generated("openai", &sampled)[0]["body"]["do_sample"], true);
    assert_eq!(generated("vllm", &[])[0]["body"]["do_sample"], false);
    // What only other servers of the API know is sent where it was set.
    assert!(generated("openai", &[])[0]["body"].get("do_sample").is_none());
}
