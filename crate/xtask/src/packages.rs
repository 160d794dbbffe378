//! The page's development tools from npm.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::process::{self, TaskResult, announce};

/// `npm ci`, when what is installed is not what the lock file says.
pub(crate) fn install(www: &Path) -> TaskResult {
    let lock = read(&www.join("package-lock.json"))?;
    let installed = read(&www.join("node_modules/.package-lock.json"));
    if installed.is_ok_and(|installed| agrees(&lock, &installed)) {
        return Ok(());
    }
    announce("npm ci");
    let npm = process::find(&["npm"]).ok_or("npm is missing: install Node 20.19 or newer")?;
    process::run(Command::new(npm).args(["ci", "--no-audit", "--no-fund"]).current_dir(www))
}

fn read(file: &Path) -> TaskResult<Value> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))
}

/// Whether npm's own record of what it installed names exactly the locked packages; those for other
/// machines may be absent.
fn agrees(lock: &Value, installed: &Value) -> bool {
    let (Some(locked), Some(present)) = (lock["packages"].as_object(), installed["packages"].as_object())
    else {
        return false;
    };
    let as_locked = |name: &String, package: &Value| {
        locked.get(name).is_some_and(|entry| entry["version"] == package["version"])
    };
    let all_there = locked
        .iter()
        .filter(|(name, entry)| !name.is_empty() && entry["optional"] != true)
        .all(|(name, _)| present.contains_key(name));
    all_there && present.iter().all(|(name, package)| as_locked(name, package))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_the_lock_file_says_is_good_enough() {
        let lock = json!({ "packages": {
            "": { "name": "page" },
            "node_modules/lit": { "version": "3.3.3" },
            "node_modules/other-machine": { "version": "1.0.0", "optional": true },
        }});
        let same = json!({ "packages": { "node_modules/lit": { "version": "3.3.3" } } });
        let older = json!({ "packages": { "node_modules/lit": { "version": "3.3.2" } } });
        let missing = json!({ "packages": {} });
        let more = json!({ "packages": {
            "node_modules/lit": { "version": "3.3.3" }, "node_modules/left": { "version": "1.0.0" },
        }});
        assert!(agrees(&lock, &same));
        for wrong in [older, missing, more, json!({})] {
            assert!(!agrees(&lock, &wrong), "{wrong}");
        }
    }

    #[test]
    fn the_lock_file_names_no_host() {
        let lock = std::fs::read_to_string(crate::project::root().join("www/package-lock.json")).unwrap();
        assert!(!lock.contains("\"resolved\""));
    }
}
