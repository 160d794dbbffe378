//! Digests of sixteen scenarios, pinned in `digests.json`. The shipped page is held to the same file
//! (`www/tests/browser/engines.spec.ts`), and so is its module alone (`crate/web/tests`);
//! the test command runs this one built alone (`-p`) and with the whole workspace.
//!
//! `SERVESCOPE_BLESS=1` writes the file again; a digest may change only together with the semantics it stands for.

use std::path::Path;

use serde_json::{Value, json};
use servescope_lab::run::Run;
use servescope_settings::scenario::Scenario;

#[test]
fn digests_are_the_pinned_ones() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("digests.json");
    let text = std::fs::read_to_string(&path).expect("digests.json is part of the repository");
    let mut cases: Vec<Value> = serde_json::from_str(&text).expect("digests.json is a list");
    assert_eq!(cases.len(), 16);
    let mut off = Vec::new();
    for case in &mut cases {
        let (scenario, failures) = Scenario::from_json(&case["scenario"]);
        assert!(failures.is_empty(), "{}: {failures:?}", case["name"]);
        let run = Run::simulate(&scenario, None).unwrap_or_else(|f| panic!("{}: {f:?}", case["name"]));
        let digest = json!(format!("{:016x}", run.report.digest()));
        if case["digest"] != digest {
            off.push(format!("{}: {digest}, pinned {}", case["name"], case["digest"]));
            case["digest"] = digest;
        }
    }
    if std::env::var_os("SERVESCOPE_BLESS").is_some() {
        let text = serde_json::to_string_pretty(&cases).expect("the list can be written");
        std::fs::write(&path, text + "\n").expect("digests.json can be written");
    } else {
        assert!(off.is_empty(), "{}", off.join("\n"));
    }
}
