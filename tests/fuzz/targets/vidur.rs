//! Any text as Vidur's flags and as operator tables, parted by lines of `---`: never a panic, and no time that is not
//! finite.
#![no_main]

use libfuzzer_sys::fuzz_target;
use servescope_cost::{Batch, BatchCost, Chunk};
use servescope_settings::vidur::{VidurRun, operator_tables};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut parts = text.split("---\n");
    let mut next = || parts.next().unwrap_or_default();
    let json = serde_json::from_str(next()).unwrap_or_default();
    let stages = VidurRun::read(&json).map_or(1, |run| run.stages);
    if let Ok(mut tables) = operator_tables(&json, stages, [next(), next(), next()]) {
        if let Ok(with_host) = tables.clone().with_host(next(), "a/b") {
            tables = with_host;
        }
        let chunks = [Chunk { kv_tokens: 70, tokens: 9 }, Chunk { kv_tokens: 0, tokens: 4_000 }];
        let batch = Batch { chunks: &chunks, decodes: 3, decode_kv_tokens: 900.0, ..Batch::default() };
        assert!(tables.stage_time(&batch, false).first_us.is_finite());
    }
});
