//! The terminal as a user meets it, file by file: what all of these tests have in common stands here.

mod answers;
mod bodies;
mod capacity;
mod charts;
mod clients;
mod compare;
mod debug;
mod formats;
mod load;
mod notes;
mod open;
mod overlay;
mod own_model;
mod profile;
mod ranges;
mod replay;
mod run_files;
mod silicon;
mod sweep;
mod traces;
mod vidur;
mod who;
mod why;
mod workload;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// S-LoRA's server under steady traffic: the preset of the page.
const SLORA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../static/presets/slora.json");

fn servescope(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_servescope")).args(arguments).output().expect("the program starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs to success; standard output and standard error.
fn good(arguments: &[&str]) -> (String, String) {
    let output = servescope(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    (stdout(&output), stderr(&output))
}

/// Runs to exit code 2 with nothing on standard output; standard error.
fn refused(arguments: &[&str]) -> String {
    let output = servescope(arguments);
    let printed = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {printed}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    printed
}

/// What a command prints as one JSON document.
fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&good(arguments).0).expect("the command prints JSON")
}

/// The summary of a run.
fn summary(arguments: &[&str]) -> Value {
    json(&[&["simulate", "--json"], arguments].concat())
}

/// An empty folder of one test's own; tests run at once, so each has another name.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("the folder can be made");
    path
}

/// A file in a folder; its path.
fn file(folder: &Path, name: &str, content: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).expect("written");
    text(&path).to_owned()
}

/// A file in a folder that several tests at once write to, each under its own name; its path.
fn file_among(folder: &str, name: &str, content: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    std::fs::create_dir_all(&path).expect("the folder can be made");
    file(&path, name, content)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the path is text")
}
