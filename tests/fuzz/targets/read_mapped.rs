//! A line of mapping, then any bytes: read or rejected with and without tolerance, as they stand and as Vidur replays them,
//! and tolerance loses no good row.
#![no_main]

use std::ops::ControlFlow;

use libfuzzer_sys::fuzz_target;
use servescope_workload::formats::{Mapping, ReadOptions, Replay, columns, guess, read_with};

fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|&b| b == b'\n').unwrap_or(bytes.len());
    let (line, rest) = bytes.split_at(end);
    let rest = rest.get(1..).unwrap_or_default();
    let guessed = columns(rest).map(|columns| guess(&columns)).ok();
    let reported = std::str::from_utf8(line).ok().and_then(|text| Mapping::parse(text).ok());
    if let Some(mapping) = &reported {
        assert_eq!(Mapping::parse(&mapping.to_text()).as_ref(), Ok(mapping));
    }
    let replay = Replay { time_scale: 0.5, length_scales: [1.5, 0.3], max_tokens: 100 };
    let ways = [None, reported, guessed.filter(|mapping| mapping.require().is_ok())];
    for (mapping, replay) in ways.into_iter().flat_map(|way| [(way.clone(), None), (way, Some(replay))]) {
        let options = ReadOptions { mapping, replay, ..ReadOptions::default() };
        let strict = read_with(rest, &options, &mut |_, _| ControlFlow::Continue(()));
        let options = ReadOptions { tolerate: Some(3), ..options };
        let tolerant = read_with(rest, &options, &mut |_, _| ControlFlow::Continue(()));
        if let Ok(tolerant) = &tolerant {
            assert!(tolerant.read.trace.arrival_us.iter().all(|t| t.is_finite() && *t >= 0.0));
            assert!(tolerant.bad.listed.len() <= 3 && tolerant.bad.listed.len() <= tolerant.bad.total);
        }
        if let Ok(strict) = strict {
            let tolerant = tolerant.expect("what is read strictly is read with tolerance");
            assert_eq!(tolerant.bad.total, 0);
            assert_eq!(tolerant.read.trace.arrival_us, strict.read.trace.arrival_us);
        }
    }
});
