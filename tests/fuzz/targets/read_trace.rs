//! Any bytes as a trace file: read or refused, and what is read is written and read again to the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use servescope_lab::workload::formats::{Format, read, write};

fuzz_target!(|bytes: &[u8]| {
    let Ok(first) = read(bytes) else { return };
    let text = write(&first.trace, Format::Servescope).expect("the own format is writable");
    let again = read(text.as_bytes()).expect("what was written is read");
    assert_eq!(again.trace.arrival_us, first.trace.arrival_us);
    assert_eq!(write(&again.trace, Format::Servescope), Some(text));
});
