//! Any text as profiling data and as a profile, parted by lines of `---`: mlp.csv, attention.csv, all_reduce.csv,
//! send_recv.csv, cpu_overheads.csv, a profile. Never a panic, no time that is not finite, and a profile is read as it was
//! written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use servescope_cost::profile::{Profile, RawTables, TimedOrigin};
use servescope_cost::{Batch, BatchCost, Chunk};
use servescope_settings::profiles::{LoadedProfile, MeasurementSettings, NamedText};

fn check(profile: &Profile) {
    assert_eq!(Profile::read(&profile.to_text()).as_ref(), Ok(profile));
    let chunks = [Chunk { kv_tokens: 70, tokens: 9 }, Chunk { kv_tokens: 0, tokens: 40_000 }];
    let batch = Batch { chunks: &chunks, decodes: 300, decode_kv_tokens: 900_000.0, ..Batch::default() };
    for degree in &profile.degrees {
        if let Ok(tables) = profile.tables(profile.settings(degree.degree, 1)) {
            let us = tables.stage_time(&batch, false).first_us;
            assert!(us.is_finite() && us >= 0.0);
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let all: Vec<NamedText<'_>> = text.split("---\n").map(|text| NamedText { name: "file", text }).collect();
    if let Ok((loaded, _)) = LoadedProfile::of_files(&all, &MeasurementSettings { gpu: "gpu", model: "a/b", layers: 2 }) {
        check(&loaded.profile);
    }
    let mut parts = text.split("---\n");
    let mut next = || parts.next().unwrap_or_default();
    if let Ok(mut raw) = RawTables::read("gpu", "a/b", 2, next()) {
        let _ = raw.add_attention(next(), TimedOrigin::Measured);
        let _ = raw.add_all_reduce(next());
        let _ = raw.add_send_recv(next());
        let _ = raw.add_host(next());
        if let Ok((profile, _)) = Profile::fit(&raw) {
            check(&profile);
        }
    } else if let Ok(profile) = Profile::read(text.rsplit("---\n").next().unwrap_or_default()) {
        check(&profile);
    }
});
