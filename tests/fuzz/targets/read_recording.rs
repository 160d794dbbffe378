//! Any bytes as a recorded run of VTC's artifact: read, measured and served again, or rejected, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use servescope_evidence::published::vtc::{VtcRecording, compare};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let Ok(recording) = VtcRecording::read("vtc__VTC__overload.csv", &text) else { return };
    if recording.clients() < 1_000 {
        let comparison = compare(&recording).expect("the scheduling policy is known");
        assert_eq!(comparison.ours.first_token_s.len(), recording.clients());
    }
});
