//! Any text as an adapter_config.json of PEFT: never a panic; a rank that is read is one that adapters may have, and survives the
//! address.
#![no_main]

use libfuzzer_sys::fuzz_target;
use servescope_settings::link;
use servescope_settings::model_config::adapter::AdapterFile;
use servescope_settings::scenario::Scenario;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(adapter) = AdapterFile::read("adapter_config.json", text) else { return };
    assert!((1..=4096).contains(&adapter.rank));
    let mut scenario = Scenario::of_version(4);
    if adapter.apply(&mut scenario).is_ok() {
        assert_eq!(link::parse(&link::encode(&scenario)).0.to_json(), scenario.to_json());
    }
});
