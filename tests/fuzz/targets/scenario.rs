//! Any text as an address and as a scenario file: never a panic, and what is understood survives the address.
#![no_main]

use libfuzzer_sys::fuzz_target;
use servescope_settings::repeated_keys::repeated_keys;
use servescope_settings::scenario::Scenario;
use servescope_settings::link;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (scenario, _) = link::parse(text);
    assert_eq!(link::parse(&link::encode(&scenario)).0.to_json(), scenario.to_json());
    let _ = repeated_keys(text);
    if let Ok(json) = serde_json::from_str::<serde_json::Value>(text) {
        let (scenario, _) = Scenario::from_json(&json);
        assert_eq!(Scenario::from_json(&scenario.to_json()).0.to_json(), scenario.to_json());
        let _ = scenario.problems();
        // What was read and is written again has no key twice.
        assert!(repeated_keys(&json.to_string()).is_empty());
    }
});
