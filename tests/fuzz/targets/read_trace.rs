//! Any bytes as a trace file: read or rejected, and what is read is written and read again to the same, in every format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use servescope_workload::formats::{Format, read, write};

fuzz_target!(|bytes: &[u8]| {
    let Ok(first) = read(bytes) else { return };
    for format in Format::writable() {
        if format == Format::Mooncake && first.trace.metadata.is_some() {
            // Blocks that do not fit their prompts may look like those of another format with the same keys.
            continue;
        }
        let text = write(&first.trace, format).expect("the format is writable");
        let again = read(text.as_bytes()).expect("what was written is read");
        assert_eq!(again.format, format);
        assert_eq!(again.trace.output_tokens, first.trace.output_tokens);
        if !matches!(format, Format::Azure | Format::Aibrix) {
            assert_eq!(again.trace.arrival_us, first.trace.arrival_us);
        }
        assert_eq!(write(&again.trace, format), Some(text));
    }
});
