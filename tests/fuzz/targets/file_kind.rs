//! Any bytes as a file of any kind: recognised or described, with a command that goes on.
#![no_main]

use libfuzzer_sys::fuzz_target;
use servescope_traces::curve_file::with_curve;
use servescope_settings::file_kind::{FileKind, recognise};
use servescope_settings::scenario::Scenario;
use servescope_settings::json_text;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(documents) = json_text::documents(&text) {
        assert!(documents.len() <= bytes.len());
    }
    match recognise(bytes) {
        Ok(found) => {
            assert!(!found.keys.is_empty() && found.kind.command("a file", &text).starts_with("servescope "));
            if let FileKind::LaunchLine(server) = found.kind {
                let mut scenario = Scenario::of_version(4);
                for setting in server.settings(&text).0 {
                    let (path, value) = setting.split_once('=').expect("PATH=VALUE");
                    let _ = scenario.set_text(path, value);
                }
            }
            if let FileKind::Curve(_) = found.kind
                && let Ok(scenario) = with_curve("a file", bytes, &Scenario::of_version(4))
            {
                assert!(Scenario::from_json(&scenario.to_json()).1.is_empty());
            }
        }
        Err(unknown) => assert!(!unknown.text().is_empty()),
    }
});
