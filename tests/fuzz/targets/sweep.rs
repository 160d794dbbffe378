//! Any bytes as the lines of a sweep, as a plan, as an axis and as a metric: never a panic, and what is read is read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use servescope_lab::metric::Metric;
use servescope_lab::sweep::{SweepAxis, Range, Sweep, join, resume};

fuzz_target!(|bytes: &[u8]| {
    if let Ok((shape, lines)) = join(&[bytes]) {
        let text: String = lines.iter().map(|line| line.text(&shape) + "\n").collect();
        assert_eq!(join(&[text.as_bytes()]), Ok((shape.clone(), lines)));
    }
    // The shape of the first line, as the sweep that goes on has it.
    let first = bytes.split_inclusive(|&byte| byte == b'\n').next().unwrap_or_default();
    let one = String::from_utf8_lossy(first).replacen("\"of\":2", "\"of\":1", 1);
    if let Ok((shape, _)) = join(&[one.as_bytes()]) {
        let resumed = resume(bytes, &shape);
        if let Ok(resumed) = resumed {
            assert_eq!(resume(&bytes[..resumed.keep], &shape).map(|again| again.lines), Ok(resumed.lines));
        }
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(sweep) = Sweep::from_plan(text, None, None) {
        assert_eq!(sweep.plan().trim_end(), text.trim_end());
    }
    for line in text.lines() {
        let _ = (SweepAxis::parse(line), Range::parse(line), Metric::parse(line));
    }
});
