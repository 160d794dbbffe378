use proptest::prelude::*;

use super::*;
use crate::trace::{
    BASE_MODEL, ClosedLoop, Events, LabelMaker, Labels, NO_REQUEST, PrefixBlocks, RecordedDrafts,
    RecordedTransfers, Request, StreamedInput, TraceEvent, TraceMetadata,
};

fn refused(text: &str) -> FormatError {
    read(text.as_bytes()).expect_err("the file is bad")
}

#[test]
fn formats_are_recognised_by_their_columns() {
    let azure = read(b"TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10\r\n2023-11-16 18:17:04.0319600,3180,8").unwrap();
    assert_eq!(azure.format, Format::Azure);
    assert_eq!(azure.trace.arrival_us, [0.0, 52_000.0]);
    let vidur =
        read(b"arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,4808,10\n0.052,3180,8\n").unwrap();
    assert_eq!(vidur.format, Format::Vidur);
    assert_eq!(vidur.trace, azure.trace);
    let own = read(b"output_tokens,arrival_s,input_tokens\n10,0,4808\n8,0.052,3180\n").unwrap();
    assert_eq!(own.trace, azure.trace);
}

#[test]
fn bad_files_are_told_with_their_place() {
    assert_eq!(refused(""), FormatError::EmptyFile);
    assert_eq!(refused("  \n\n"), FormatError::EmptyFile);
    assert_eq!(refused("arrival_s,input_tokens,output_tokens\n"), FormatError::NoRows);
    assert!(matches!(read(b"\x89PNG\r\n\x1a\n\0\0"), Err(FormatError::NotText { row: 1, byte: 0 })));
    assert!(matches!(refused("a,b\n1,2\n"), FormatError::UnknownFormat { .. }));
    let head = "arrival_s,input_tokens,output_tokens\n1,2,3\n";
    assert_eq!(refused(&format!("{head}2,5")), FormatError::CellCount { row: 3, found: 2, expected: 3 });
    let message = refused(&format!("{head}2,many,3\n")).to_string();
    assert_eq!(message, "row 3, column input_tokens: a whole number expected, got \"many\"");
    let message = refused(&format!("{head}2,-4,3\n")).to_string();
    assert_eq!(message, "row 3, column input_tokens: -4 is not between 1 and 10000000");
    assert!(matches!(refused(&format!("{head}2,4,1e300\n")), FormatError::OutOfRange { .. }));
    assert!(matches!(refused(&format!("{head}NaN,4,1\n")), FormatError::BadCell { .. }));
    assert!(matches!(refused(&format!("{head}-1,4,1\n")), FormatError::OutOfRange { .. }));
    let waits = "arrival_s,input_tokens,output_tokens,after,think_s\n1,2,3,,\n";
    let message = refused(&format!("{waits}1,2,3,1,0.5\n")).to_string();
    assert_eq!(message, "row 3, column after: 1 is not between 0 and 0");
    let message = refused("arrival_s,input_tokens,output_tokens,cancel_s\n6,2,3,6\n6,2,3,4\n").to_string();
    assert_eq!(message, "row 3, column cancel_s: a time no earlier than arrival_s expected, got \"4\"");
    let line = "{\"arrival_s\": 6, \"input_tokens\": 2, \"output_tokens\": 3, \"cancel_s\": 4}\n";
    let message = refused(line).to_string();
    assert_eq!(message, "row 1, column cancel_s: a time no earlier than arrival_s expected, got \"4\"");
    let ranks = "arrival_s,input_tokens,output_tokens,adapter,rank\n1,2,3,0,8\n1,2,3,0,16\n";
    assert_eq!(refused(ranks), FormatError::RankConflict { row: 3, adapter: 0, rank: 16, former: 8 });
}

#[test]
fn minus_zero_is_zero() {
    let read = read(b"arrival_s,input_tokens,output_tokens\n-.0,1,1\n").unwrap();
    assert!(write(&read.trace, Format::Servescope).unwrap().contains("\n0,0,0,"));
}

#[test]
fn rows_out_of_order_are_sorted_and_said_so() {
    let read = read(b"arrival_s,input_tokens,output_tokens\n2,1,1\n1,2,2\n").unwrap();
    assert!(read.reordered);
    assert_eq!(read.trace.input_tokens, [2, 1]);
}

prop_compose! {
    fn any_request()(
        arrival_us in prop_oneof![0.0..1e13f64, (0u64..1 << 40).prop_map(|t| t as f64)],
        user in 0u32..50,
        adapter in prop_oneof![Just(BASE_MODEL), 0u32..20],
        input_tokens in 1u32..100_000,
        output_tokens in 1u32..5_000,
        slack in 0u32..500,
    ) -> Request {
        Request { arrival_us, user, adapter, input_tokens, output_tokens, max_tokens: output_tokens + slack }
    }
}

prop_compose! {
    fn any_trace()(
        requests in prop::collection::vec(any_request(), 1..60),
        cancels in prop::collection::vec((0.0..1e9f64, 0usize..60), 0..4),
        waits in prop::option::of((
            prop::collection::vec((0u32..60, prop_oneof![Just(0.0), 0.0..1e9f64]), 60),
            prop_oneof![Just(f64::INFINITY), 0.0..1e12f64],
        )),
    ) -> Trace {
        let mut trace = Trace::default();
        for request in requests {
            trace.push(request);
        }
        let named = trace.adapter.iter().filter(|&&a| a != BASE_MODEL).max().map_or(0, |&a| a + 1);
        trace.adapter_rank = (0..named).map(|a| if trace.adapter.contains(&a) { 8 * (1 + a % 4) } else { 0 }).collect();
        for (patience, id) in cancels {
            let id = (id % trace.len()) as u32;
            let at = trace.arrival_us[id as usize] + patience;
            if !trace.cancellations.iter().any(|&(_, other)| other == id) {
                trace.cancellations.push((at, id));
            }
        }
        trace.sort();
        trace.sort_cancellations();
        trace.closed_loop = waits.map(|(waits, until_us)| {
            let mut closed_loop = ClosedLoop { until_us, ..ClosedLoop::default() };
            for (id, (before, think_us)) in (0..trace.len() as u32).zip(waits) {
                let before = if id == 0 { NO_REQUEST } else { before % id };
                closed_loop.push(before, if before == NO_REQUEST { 0.0 } else { think_us });
            }
            Box::new(closed_loop)
        });
        if trace.len() == 1 {
            trace.closed_loop = None;
        }
        trace
    }
}

fn any_labels() -> impl Strategy<Value = Vec<Option<String>>> {
    prop::collection::vec(prop::option::of("[ a-c,\"\n\\\\\u{e9}]{1,3}"), 60)
}

prop_compose! {
    /// A trace with every column that some file carries, or with only some of them.
    fn any_log()(
        mut trace in any_trace(),
        labels in prop::collection::vec(any_labels(), 3),
        has in prop::collection::vec(any::<bool>(), 6),
        block_tokens in prop::sample::select(vec![16u32, 64, 512]),
        ids in prop::collection::vec(any::<u64>(), 8),
        recorded_latency_s in prop::collection::vec(prop_oneof![Just(f64::NAN), 0.0..1e4f64], 60),
        turn in prop::collection::vec(0u32..9, 60),
        happened in prop::collection::vec((0usize..60, -1e7..1e9f64), 0..6),
    ) -> Trace {
        let n = trace.len();
        trace.input_tokens.iter_mut().for_each(|t| *t = *t % 2000 + 1);
        let column = |place: usize| {
            let mut maker = LabelMaker::default();
            labels[place][..n].iter().for_each(|name| maker.push(name.as_deref()));
            if has[place] { maker.finish() } else { Labels::default() }
        };
        let mut prefix = PrefixBlocks::new(block_tokens);
        for tokens in &trace.input_tokens {
            prefix.push((0..tokens.div_ceil(block_tokens)).map(|b| ids[b as usize % 8]));
        }
        for (&tokens, &output) in trace.input_tokens.iter().zip(&trace.output_tokens) {
            let places = tokens / block_tokens..(tokens + output).div_ceil(block_tokens);
            prefix.outputs.push(places.skip(tokens as usize % 3).map(|b| ids[b as usize % 7]).take(40));
        }
        trace.set_metadata(TraceMetadata {
            session: column(0),
            model: column(1),
            kind: column(2),
            turn: if has[3] { turn[..n].to_vec() } else { Vec::new() },
            recorded_latency_s: if has[4] { recorded_latency_s[..n].to_vec() } else { Vec::new() },
            assumed_output: Vec::new(),
            ignores_eos: Vec::new(),
            rank: Vec::new(),
            numbered_sessions: false,
            prefix: if has[5] { prefix } else { PrefixBlocks::default() },
            drafts: RecordedDrafts::default(),
            transfers: RecordedTransfers::default(),
            streamed: StreamedInput::default(),
            details: if has[1] { vec!["{\"turn\": 1.50}".to_owned(); n] } else { Vec::new() },
            events: Events::new(
                (0u32..)
                    .zip(happened)
                    .map(|(place, (id, delay_us))| TraceEvent {
                        request: (id % n) as u32,
                        delay_us,
                        place,
                        json: format!("{{\"session_id\": \"a\", \"branch\": {place}}}"),
                    })
                    .collect(),
            ),
        });
        trace
    }
}

proptest! {
    // Traces of up to sixty requests in every format: a case is large.
    #![proptest_config(servescope_testkit::cases(40, 256))]

    #[test]
    fn own_formats_keep_everything(trace in any_trace()) {
        for format in [Format::Servescope, Format::ServescopeJsonl] {
            let text = write(&trace, format).unwrap();
            let again = read(text.as_bytes()).unwrap();
            prop_assert_eq!(again.format, format);
            prop_assert_eq!(&again.trace, &trace);
        }
    }

    #[test]
    fn own_json_keeps_every_column(trace in any_log()) {
        let text = write(&trace, Format::ServescopeJsonl).unwrap();
        let again = read(text.as_bytes()).unwrap().trace;
        let (before, after) = (trace.metadata.unwrap_or_default(), again.metadata.unwrap_or_default());
        prop_assert_eq!(&before.turn, &after.turn);
        prop_assert_eq!(&before.prefix, &after.prefix);
        for id in 0..again.arrival_us.len() {
            prop_assert_eq!(before.session.name(id), after.session.name(id));
            prop_assert_eq!(before.model.name(id), after.model.name(id));
            prop_assert_eq!(before.kind.name(id), after.kind.name(id));
        }
    }

    #[test]
    fn written_read_and_written_again_is_the_same(trace in any_log()) {
        for format in Format::writable() {
            let text = write(&trace, format).unwrap();
            let again = read(text.as_bytes()).unwrap();
            prop_assert_eq!(again.format, format, "{}", text);
            prop_assert_eq!(again.failed, 0);
            prop_assert_eq!(&again.trace.output_tokens, &trace.output_tokens);
            prop_assert_eq!(write(&again.trace, format).unwrap(), text, "{}", format.name());
        }
    }

    #[test]
    fn formats_with_exact_times_keep_them(trace in any_trace()) {
        for format in Format::writable().filter(|f| !matches!(f, Format::Azure | Format::Aibrix)) {
            let again = read(write(&trace, format).unwrap().as_bytes()).unwrap();
            prop_assert_eq!(&again.trace.arrival_us, &trace.arrival_us);
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes);
    }

    #[test]
    fn no_text_below_a_header_makes_a_reader_panic(
        format in prop::sample::select(Format::all().collect::<Vec<_>>()),
        body in "[-0-9a-zA-Z,.:\"\n \u{e9}]{0,200}",
    ) {
        let _ = read(format!("{}\n{body}", format.columns().join(",")).as_bytes());
    }

    #[test]
    fn no_damage_to_a_file_makes_a_reader_panic(
        file in prop::sample::select(EXAMPLES.to_vec()),
        at in any::<prop::sample::Index>(),
        with in "[-0-9a-z,.:\"{}\\[\\]\\\\\n \u{e9}]{0,6}",
    ) {
        let cut: Vec<char> = file.1.chars().collect();
        let at = at.index(cut.len());
        let text: String = cut[..at].iter().copied().chain(with.chars()).chain(cut[at + 1..].iter().copied()).collect();
        let _ = read(text.as_bytes());
    }
}

/// One small file of every format that has requests.
pub(super) const EXAMPLES: [(Format, &str); 14] = [
    (Format::Servescope, "arrival_s,input_tokens,output_tokens\n0,10,5\n0.5,20,6\n"),
    (
        Format::ServescopeJsonl,
        "{\"arrival_s\": 0, \"input_tokens\": 10, \"output_tokens\": 5}\n{\"arrival_s\":0.5,\"input_tokens\":20,\"output_tokens\":6}",
    ),
    (Format::Vidur, "arrived_at,num_prefill_tokens,num_decode_tokens\n0,10,5\n0.5,20,6\n"),
    (
        Format::Azure,
        "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.5,10,5\r\n2023-11-16 18:17:04,20,6",
    ),
    (
        Format::BurstGpt,
        "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n0,a,1.5,GPT-4,10,5,15,Conversation log\n0.2,,,ChatGPT,7,0,7,API log\n0.5,a,2,GPT-4,20,6,26,Conversation log\n",
    ),
    (
        Format::Mooncake,
        "{\"timestamp\": 0, \"input_length\": 10, \"output_length\": 5, \"hash_ids\": [0]}\n{\"timestamp\": 500, \"input_length\": 20, \"output_length\": 6, \"hash_ids\": [0]}\n",
    ),
    (
        Format::TimedTrace,
        "{\"timestamp\": 0, \"input_length\": 10, \"output_length\": 5, \"hash_ids\": [0]}\n{\"timestamp\": 0.5, \"input_length\": 20, \"output_length\": 6, \"hash_ids\": [0, 1]}\n",
    ),
    (
        Format::Bailian,
        "{\"chat_id\": 7, \"parent_chat_id\": -1, \"timestamp\": 0.0, \"input_length\": 10, \"output_length\": 5, \"type\": \"text\", \"turn\": 1, \"hash_ids\": [1]}\n{\"chat_id\": 8, \"parent_chat_id\": 7, \"timestamp\": 0.5, \"input_length\": 20, \"output_length\": 6, \"type\": \"text\", \"turn\": 2, \"hash_ids\": [1, 2]}\n",
    ),
    (
        Format::Aibrix,
        "{\"timestamp\": 0, \"requests\": [{\"Prompt Length\": 10, \"Output Length\": 5}, {\"prompt_length\": 3, \"output_length\": 0}]}\n{\"timestamp\": 250, \"requests\": []}\n{\"timestamp\": 500, \"requests\": [{\"prompt\": \"x\", \"prompt_length\": 20, \"output_length\": 6.0, \"session_id\": \"s\"}]}\n",
    ),
    (
        Format::AiPerf,
        "{\"session_id\": \"a\", \"timestamp\": 0, \"input_length\": 10, \"output_length\": 5}\n{\"session_id\": \"a\", \"delay\": 500, \"text_input\": \"eighty characters, one token for four: this line is filled up with dots.........\", \"output_length\": 6}\n",
    ),
    (
        Format::WildChat,
        "{\"conversation_hash\": \"h\", \"model\": \"gpt-4\", \"timestamp\": \"2023-04-09T00:02:53+00:00\", \"hashed_ip\": \"u\", \"conversation\": [{\"role\": \"user\", \"content\": \"a question of about forty characters ok?\", \"timestamp\": null}, {\"role\": \"assistant\", \"content\": \"an answer of twenty.\"}, {\"role\": \"user\", \"content\": \"and twenty more now.\", \"timestamp\": \"2023-04-09 00:02:53.5\"}, {\"role\": \"assistant\", \"content\": \"twenty-four characters!!\"}]}\n",
    ),
    (
        Format::AgentSessions,
        "{\"id\": \"s\", \"block_size\": 64, \"hash_id_scope\": \"local\", \"tool_tokens\": 3, \"system_tokens\": 4, \"requests\": [{\"t\": 0.0, \"type\": \"n\", \"model\": \"m\", \"in\": 10, \"out\": 5, \"hash_ids\": [1], \"stop\": \"end_turn\", \"api_time\": 0.3}, {\"t\": 0.25, \"type\": \"subagent\", \"agent_id\": \"a\", \"requests\": [{\"t\": 0.25, \"in\": 20, \"out\": 6, \"hash_ids\": [2]}]}]}\n",
    ),
    (
        Format::LlmServingSim,
        "{\"arrival_time_ns\": 0, \"input_toks\": 10, \"output_toks\": 5}\n{\"session_id\": \"s\", \"arrival_time_ns\": 500000000, \"sub_requests\": [{\"input_toks\": 20, \"output_toks\": 6, \"tool_duration_ns\": 0}]}\n",
    ),
    (
        Format::InferencePerf,
        "{\"start_time\": 7.25, \"end_time\": 8, \"request\": \"{}\", \"response\": \"\", \"info\": {\"input_tokens\": 10, \"output_tokens\": 5}, \"error\": null}\n{\"start_time\": 7.75, \"end_time\": 8.5, \"request\": \"{}\", \"info\": {\"request_metrics\": {\"text\": {\"input_tokens\": 20}}, \"response_metrics\": {\"output_tokens\": 6, \"server_usage\": null}}}\n",
    ),
];

#[test]
fn every_format_is_recognised_by_its_content() {
    for (format, text) in EXAMPLES {
        let read = read(text.as_bytes()).unwrap_or_else(|error| panic!("{}: {error}", format.name()));
        assert_eq!(read.format, format);
        assert_eq!(read.trace.arrival_us, [0.0, 500_000.0], "{}", format.name());
        assert_eq!(read.trace.output_tokens, [5, 6], "{}", format.name());
        let failed = usize::from(matches!(format, Format::BurstGpt | Format::Aibrix));
        assert_eq!(read.failed, failed, "{}", format.name());
        if format != Format::WildChat {
            assert_eq!(read.trace.input_tokens, [10, 20], "{}", format.name());
        }
    }
    let sessions = |place: usize| {
        let metadata = read(EXAMPLES[place].1.as_bytes()).unwrap().trace.metadata.unwrap();
        [0, 1].map(|id| metadata.session.name(id).map(str::to_owned))
    };
    assert_eq!(sessions(4), [Some("a".to_owned()), Some("a".to_owned())]);
    assert_eq!(sessions(7), [Some("7".to_owned()), Some("7".to_owned())]);
    assert_eq!(sessions(8), [None, Some("s".to_owned())]);
    assert_eq!(sessions(10), [Some("h".to_owned()), Some("h".to_owned())]);
    assert_eq!(sessions(11), [Some("s".to_owned()), Some("s/a".to_owned())]);
}

#[test]
fn files_without_requests_are_opened_and_not_read() {
    let lengths = b"num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n3772,54,3826,69.85\n";
    assert!(matches!(open(lengths).unwrap().contents, Contents::Lengths(l) if l.input_tokens == [3772]));
    assert_eq!(read(lengths), Err(FormatError::NoTimes { format: "vidur_lengths" }));
    let data_set = b"{\"prompt\": \"twelve chars\", \"output_tokens\": 7}\n{\"prompt\": \"x\"}\n{\"prompt\": \"x\", \"completion\": \"eight ch\"}";
    let opened = open(data_set).unwrap();
    assert_eq!(opened.format, Format::VllmCustom);
    let expected = Lengths { input_tokens: vec![3, 1, 1], output_tokens: vec![7, 0, 2] };
    assert_eq!(opened.contents, Contents::Lengths(expected));
    assert_eq!(read(data_set), Err(FormatError::NoTimes { format: "vllm_custom" }));
    let windows = b"client_id,window_start_s,rate,cv,pattern,param1,param2\n0,0,0.8,0.5,Gamma,3,0.3\n";
    assert!(matches!(open(windows).unwrap().contents, Contents::Windows(w) if w[0].pattern == "Gamma"));
    assert_eq!(read(windows), Err(FormatError::NoTimes { format: "servegen" }));
}

#[test]
fn bad_lines_of_json_are_told_with_their_place() {
    let good = "{\"timestamp\": 0, \"input_length\": 10, \"output_length\": 5, \"hash_ids\": []}\n";
    let message = |line: &str| refused(&format!("{good}{line}")).to_string();
    assert_eq!(
        message("{\"timestamp\": 1, \"input_length\": \"many\", \"output_length\": 5}"),
        "row 2, column input_length: a whole number expected, got \"many\""
    );
    assert_eq!(
        message("{\"timestamp\": -1, \"input_length\": 1, \"output_length\": 5}"),
        "row 2, column timestamp: -1 is not between 0 and 86400000000"
    );
    assert_eq!(message("{\"timestamp\": 1"), "row 2, column byte 16: a JSON object expected, got \"\"");
    assert_eq!(message("[1]"), "row 2, column line: a JSON object expected, got \"a list\"");
    assert!(matches!(refused("{\"a\": 1}"), FormatError::UnknownFormat { .. }));
}

#[test]
fn packed_files_are_unpacked() {
    use std::io::Write as _;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(EXAMPLES[0].1.as_bytes()).unwrap();
    let packed = packer.finish().unwrap();
    assert_eq!(read(&packed), read(EXAMPLES[0].1.as_bytes()));
    assert!(matches!(read(&packed[..packed.len() - 9]), Err(FormatError::Packed { .. })));
}
