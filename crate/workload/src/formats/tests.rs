use proptest::prelude::*;

use super::*;
use crate::trace::{BASE_MODEL, Request};

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
        cancels in prop::collection::vec((0.0..1e12f64, 0usize..60), 0..4),
    ) -> Trace {
        let mut trace = Trace::default();
        for request in requests {
            trace.push(request);
        }
        let named = trace.adapter.iter().filter(|&&a| a != BASE_MODEL).max().map_or(0, |&a| a + 1);
        trace.adapter_rank = (0..named).map(|a| if trace.adapter.contains(&a) { 8 * (1 + a % 4) } else { 0 }).collect();
        for (at, id) in cancels {
            let id = (id % trace.len()) as u32;
            if !trace.cancellations.iter().any(|&(_, other)| other == id) {
                trace.cancellations.push((at, id));
            }
        }
        trace.sort();
        trace.sort_cancellations();
        trace
    }
}

proptest! {
    #[test]
    fn own_format_keeps_everything(trace in any_trace()) {
        let text = write(&trace, Format::Servescope).unwrap();
        let again = read(text.as_bytes()).unwrap().trace;
        prop_assert_eq!(&again, &trace);
        prop_assert_eq!(write(&again, Format::Servescope).unwrap(), text);
    }

    #[test]
    fn vidur_format_keeps_times_and_lengths(trace in any_trace()) {
        let text = write(&trace, Format::Vidur).unwrap();
        let again = read(text.as_bytes()).unwrap().trace;
        prop_assert_eq!(&again.arrival_us, &trace.arrival_us);
        prop_assert_eq!(&again.output_tokens, &trace.output_tokens);
        prop_assert_eq!(write(&again, Format::Vidur).unwrap(), text);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes);
    }

    #[test]
    fn no_text_below_a_header_makes_a_reader_panic(
        format in prop::sample::select(Format::ALL.to_vec()),
        body in "[-0-9a-zA-Z,.:\"\n \u{e9}]{0,200}",
    ) {
        let _ = read(format!("{}\n{body}", format.columns().join(",")).as_bytes());
    }
}
