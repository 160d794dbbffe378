//! Tests of reading with options: bad rows set aside, progress, mappings.

use std::ops::ControlFlow;

use proptest::prelude::*;

use super::*;
use crate::trace::BASE_MODEL;

fn go_on(_: u64, _: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn tolerant(bytes: &[u8]) -> Result<Reading, FormatError> {
    read_with(bytes, &ReadOptions { tolerate: Some(100), ..ReadOptions::default() }, &mut go_on)
}

fn mapped(text: &str, mapping: &str) -> Result<Reading, FormatError> {
    let mapping = Some(Mapping::parse(mapping).unwrap());
    read_with(text.as_bytes(), &ReadOptions { tolerate: None, mapping, ..ReadOptions::default() }, &mut go_on)
}

fn places(reading: &Reading) -> Vec<(u64, &str, &str)> {
    reading.bad.listed.iter().map(|bad| (bad.row, bad.column.as_str(), bad.reason)).collect()
}

#[test]
fn bad_rows_of_csv_are_listed_and_leave_nothing() {
    let text = b"arrival_s,input_tokens,output_tokens,adapter,rank,cancel_s,turn,session\n\
        0,10,5,0,8,,1,a\n\
        1,many,5,0,8,,1,a\n\
        2,10,5,0,16,3,1,b\n\
        3,10,5\n\
        4,10,0,1,32,5,1,c\n\
        5,10,5,1,8,6,-1,d\n\
        6,\xff,5,1,8,,1,e\n\
        7,20,6,1,64,9,2,f\n";
    let reading = tolerant(text).unwrap();
    assert_eq!(
        places(&reading),
        [
            (3, "input_tokens", "bad_cell"),
            (4, "", "rank_conflict"),
            (5, "", "cell_count"),
            (6, "output_tokens", "cell_out_of_range"),
            (7, "turn", "cell_out_of_range"),
            (8, "", "not_text"),
        ]
    );
    assert_eq!(reading.bad.total, 6);
    assert_eq!(reading.bad.by_reason[0], ("bad_cell", 1));
    let trace = reading.read.trace;
    assert_eq!(trace.arrival_us, [0.0, 7e6]);
    assert_eq!(trace.adapter_rank, [8, 64]);
    assert_eq!(trace.cancellations, [(9e6, 1)]);
    assert_eq!(trace.metadata.unwrap().session.names, ["a", "f"]);
}

#[test]
fn bad_lines_of_json_are_listed_and_leave_nothing() {
    let text = "{\"timestamp\": 0, \"requests\": [{\"prompt_length\": 1, \"output_length\": 2}]}\n\
        not json\n\
        {\"timestamp\": 5, \"requests\": [{\"prompt_length\": 1, \"output_length\": 2}, {\"prompt_length\": -1}]}\n\
        {\"timestamp\": 9, \"requests\": [{\"prompt_length\": 3, \"output_length\": 4}]}\n";
    let reading = tolerant(text.as_bytes()).unwrap();
    assert_eq!(places(&reading), [(2, "byte 1", "bad_cell"), (3, "prompt_length", "cell_out_of_range")]);
    assert_eq!(reading.read.trace.arrival_us, [0.0, 9e3]);
    // The first line need not be a good one.
    let reading = tolerant(format!("nothing\n{{\n{text}").as_bytes());
    assert!(
        matches!(reading, Err(FormatError::UnknownFormat { .. })),
        "a file that starts with a word is CSV"
    );
    let reading = tolerant(format!("{{\n{text}").as_bytes()).unwrap();
    assert_eq!(reading.bad.total, 3);
}

#[test]
fn a_list_has_its_length_and_a_count_has_none() {
    let mut text = "arrival_s,input_tokens,output_tokens\n0,1,1\n".to_owned();
    text.push_str(&"x,1,1\n".repeat(50));
    let options = ReadOptions { tolerate: Some(3), ..ReadOptions::default() };
    let reading = read_with(text.as_bytes(), &options, &mut go_on).unwrap();
    assert_eq!((reading.bad.total, reading.bad.listed.len()), (50, 3));
    assert_eq!(reading.bad.by_reason, [("bad_cell", 50)]);
    let none = "arrival_s,input_tokens,output_tokens\nx,1,1\ny,1,1\n";
    assert!(matches!(tolerant(none.as_bytes()), Err(FormatError::BadCell { row: 2, .. })));
    let strict = read_with(text.as_bytes(), &ReadOptions::default(), &mut go_on);
    assert!(matches!(strict, Err(FormatError::BadCell { row: 3, .. })));
}

#[test]
fn progress_is_told_and_reading_can_be_stopped() {
    let line = "{\"timestamp\": 0, \"input_length\": 10, \"output_length\": 5, \"hash_ids\": []}\n";
    for text in
        [format!("arrival_s,input_tokens,output_tokens\n{}", "1,2,3\n".repeat(200_000)), line.repeat(20_000)]
    {
        let mut refusal = Vec::new();
        let mut progress = |at, total| {
            refusal.push((at, total));
            ControlFlow::Continue(())
        };
        read_with(text.as_bytes(), &ReadOptions::default(), &mut progress).unwrap();
        assert!(refusal.len() > 2 && refusal.is_sorted());
        assert!(refusal.iter().all(|&(at, total)| at <= total && total == text.len() as u64));
        let mut stop = |at, _| if at > 300_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        for tolerate in [None, Some(5)] {
            let options = ReadOptions { tolerate, ..ReadOptions::default() };
            assert_eq!(read_with(text.as_bytes(), &options, &mut stop), Err(FormatError::Cancelled));
        }
    }
}

#[test]
fn a_mapping_reads_any_table() {
    let text = "ts;who;prompt;gen;lora\n1700000000500;ann;10;5;\n1700000000000;bob;20;6;-1\n1700000001000;ann;30;0;x\n";
    let reading = mapped(text, "arrival=ts:ms,input=prompt,output=gen,user=who,adapter=lora").unwrap();
    assert_eq!(reading.read.format, Format::MappedCsv);
    assert_eq!((reading.read.failed, reading.read.reordered), (1, true));
    let trace = reading.read.trace;
    assert_eq!(trace.arrival_us, [0.0, 5e5]);
    assert_eq!((trace.user, trace.input_tokens), (vec![1, 0], vec![20, 10]));
    assert_eq!(trace.adapter, [BASE_MODEL; 2]);
    let text = "{\"at\": {\"time\": \"2024-01-01T00:00:01Z\"}, \"u.in\": 3, \"a\": \"eight ch\", \"max\": 1, \"id\": 7}\n\
        {\"at\": {\"time\": \"2024-01-01T00:00:00Z\"}, \"u.in\": \"4\", \"a\": \"four\", \"max\": 90}\n";
    let reading =
        mapped(text, "arrival=at.time:date,input=u.in,output=a:text,max_tokens=max,user=id").unwrap();
    assert_eq!(reading.read.format, Format::MappedJsonl);
    let trace = reading.read.trace;
    assert_eq!((trace.arrival_us, trace.user), (vec![0.0, 1e6], vec![0, 7]));
    assert_eq!((trace.output_tokens, trace.max_tokens), (vec![1, 2], vec![90, 2]));
    let error = mapped("a,b\n1,2\n", "arrival=a,input=b,output=c").unwrap_err();
    assert_eq!(error.to_string(), "there is no column \"c\"; the file has a, b");
    let error = mapped("a,b,c\n1,2,3\n1,x,3\n", "arrival=a,input=b,output=c").unwrap_err();
    assert_eq!(error.to_string(), "row 3, column b: a whole number expected, got \"x\"");
}

#[test]
fn mappings_have_a_text() {
    let text = "arrival=ts:ms,input=a:b:tokens,output=gen:text,user=who:name";
    assert_eq!(Mapping::parse(text).unwrap().to_text(), text);
    assert_eq!(Mapping::parse("arrival=t,input=a:b,output=c").unwrap().get("input"), Some(("a:b", "tokens")));
    let message = |text: &str| Mapping::parse(text).unwrap_err().to_string();
    assert_eq!(message("arrival"), "ROLE=COLUMN expected, got \"arrival\"");
    assert!(message("when=ts").starts_with("there is no role \"when\"; known are arrival, input"));
    assert_eq!(message("arrival=t,input=a"), "the column for output is missing");
    assert_eq!(message("arrival=t,arrival=a"), "arrival is said twice");
}

#[test]
fn columns_are_shown_and_guessed() {
    let guessed = |text: &str| guess(&columns(text.as_bytes()).unwrap()).to_text();
    assert_eq!(
        guessed("time_ms,prompt_tokens,completion_tokens,model,user_id\n0,1,2,m,u\n"),
        "arrival=time_ms:ms,input=prompt_tokens:tokens,output=completion_tokens:tokens,user=user_id:name,model=model:name"
    );
    assert_eq!(
        guessed("{\"created\": 1700000000, \"usage\": {\"prompt_tokens\": 3, \"completion_tokens\": 4}}"),
        "arrival=created:s,input=usage.prompt_tokens:tokens,output=usage.completion_tokens:tokens"
    );
    assert_eq!(
        guessed("Timestamp\tprompt\tresponse\n2024-01-01 00:00:00\thow are you\tfine\n"),
        "arrival=Timestamp:date,input=prompt:text,output=response:text"
    );
    assert_eq!(
        guessed("t,in,out\n0,1,1\n3000,1,1\n6001,2,2\n"),
        "arrival=t:ms,input=in:tokens,output=out:tokens"
    );
    assert_eq!(guessed("a,b\n1,2\n"), "");
    let shown = columns(b"{\"a\": 1, \"b\": {\"c\": \"x\"}}\nbroken\n{\"a\": 2}\n").unwrap();
    assert_eq!(
        shown,
        [("a".to_owned(), vec!["1".to_owned(), "2".to_owned()]), ("b.c".to_owned(), vec!["x".to_owned()]),]
    );
    assert_eq!(columns(b""), Err(FormatError::EmptyFile));
}

proptest! {
    #[test]
    fn a_good_file_reads_alike_however_it_is_read(
        file in prop::sample::select(super::tests::EXAMPLES.to_vec()),
    ) {
        let reading = tolerant(file.1.as_bytes()).unwrap();
        prop_assert_eq!(reading.bad.total, 0);
        // As text, since times that a file does not contain are NaN.
        let strict = read(file.1.as_bytes()).unwrap();
        prop_assert_eq!(format!("{:?}", reading.read), format!("{strict:?}"));
    }

    /// Whatever is put in the place of one line, the others are read as if it were not there, or it is read as well.
    #[test]
    fn a_spoiled_line_takes_no_other_with_it(
        file in prop::sample::select(super::tests::EXAMPLES.to_vec()),
        spoiled in "[a-z{}\\[\\]:,0-9 .-]{1,30}",
    ) {
        let mut lines: Vec<&str> = file.1.lines().collect();
        lines.insert(lines.len().max(2) - 1, &spoiled);
        let reading = tolerant(lines.join("\n").as_bytes()).unwrap();
        let whole = read(file.1.as_bytes()).unwrap();
        let more = reading.read.trace.len() + reading.read.failed - whole.trace.len() - whole.failed;
        let blank = usize::from(spoiled.trim().is_empty());
        prop_assert!(reading.bad.total + more + blank >= 1, "{:?}", reading);
        if more == 0 {
            prop_assert_eq!(format!("{:?}", reading.read.trace), format!("{:?}", whole.trace));
        }
    }

    #[test]
    fn no_bytes_make_a_tolerant_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = tolerant(&bytes);
        let _ = columns(&bytes).map(|columns| guess(&columns));
    }

    #[test]
    fn no_text_makes_a_mapped_reader_panic(
        body in "[-0-9eE.,:\"\n T\u{e9}{}]{0,200}",
        unit in prop::sample::select(ROLES[0].units.to_vec()),
        tolerate in prop::option::of(0usize..5),
    ) {
        let mapping = Mapping::parse(&format!("arrival=a:{unit},input=b,output=c:text,user=b,max_tokens=c")).unwrap();
        let options = ReadOptions { mapping: Some(mapping), tolerate, ..ReadOptions::default() };
        for text in [format!("a,b,c\n{body}"), format!("{{\"a\": 1, \"b\": 2, \"c\": \"x\"}}\n{body}")] {
            if let Ok(reading) = read_with(text.as_bytes(), &options, &mut go_on) {
                prop_assert!(reading.read.trace.arrival_us.iter().all(|t| t.is_finite() && *t >= 0.0));
            }
        }
    }
}
