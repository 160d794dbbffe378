//! `servescope open`: what a file or a line is, and the command that goes on with it.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use servescope_settings::file_kind::{FileKind, HEAD_BYTES, Recognised, recognise};
use servescope_workload::formats::unpacked_head;

use crate::output::{CliError, print};

/// Bytes that are read of a file: a packed head may stand for a longer one.
const MOST_BYTES: u64 = 1 << 20;

#[derive(Args)]
pub(crate) struct OpenArguments {
    /// A file of any kind, or `-` for standard input, which may be a line such as `vllm serve MODEL …` or a link.
    #[arg(value_name = "FILE|-")]
    file: PathBuf,
    /// Prints JSON: `kind`, `detail`, `what`, `keys`, `command`, and of a launch line `settings`, `unknown_flags` and `not_in_line`.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &OpenArguments) -> Result<(), CliError> {
    let path = &arguments.file;
    let is_input = path.as_os_str() == "-";
    let bytes = head(path, is_input)?;
    let name = if is_input { "standard input".to_owned() } else { path.display().to_string() };
    let found = recognise(&bytes).map_err(|unknown| {
        CliError::input(format!(
            "{name}: not recognised: {}; known are scenarios, traces, results of load generators, config.json and adapter_config.json, operator tables, lines of vllm serve and sglang, and links",
            unknown.text()
        ))
    })?;
    let head = unpacked_head(&bytes, HEAD_BYTES);
    let text = String::from_utf8_lossy(&head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let file = if is_input { "FILE".to_owned() } else { name.clone() };
    print(&if arguments.json { as_json(&found, &file, text) } else { as_text(&found, &name, &file, text) })
}

/// The beginning of a file.
fn head(path: &Path, is_input: bool) -> Result<Vec<u8>, CliError> {
    let failed = |error: std::io::Error| CliError::input(format!("{}: {error}", path.display()));
    let mut bytes = Vec::new();
    if is_input {
        std::io::stdin().lock().take(MOST_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    } else if path.is_dir() {
        return Err(CliError::input(format!(
            "{}: a folder; ServeGen's chunk files are read by servescope generate --servegen, Vidur's data/profiling by servescope profile build",
            path.display()
        )));
    } else {
        std::fs::File::open(path)
            .map_err(failed)?
            .take(MOST_BYTES)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
    }
    Ok(bytes)
}

fn settings(found: &Recognised, text: &str) -> (Vec<String>, Vec<String>) {
    match found.kind {
        FileKind::LaunchLine(server) => server.settings(text),
        _ => (Vec::new(), Vec::new()),
    }
}

fn silent_about(found: &Recognised, text: &str) -> Option<String> {
    match found.kind {
        FileKind::LaunchLine(server) => Some(server.silent_about(text)),
        _ => None,
    }
}

fn as_json(found: &Recognised, file: &str, text: &str) -> String {
    let (settings, unknown) = settings(found, text);
    let silent = silent_about(found, text);
    let mut json = json!({
        "kind": found.kind.code(),
        "detail": found.kind.detail(),
        "what": found.kind.text(),
        "keys": found.keys,
        "command": found.kind.command(file, text),
    });
    if matches!(found.kind, FileKind::LaunchLine(_)) {
        json["settings"] = settings.into();
        json["unknown_flags"] = unknown.into();
        json["not_in_line"] = silent.into();
    }
    format!("{json:#}\n")
}

fn as_text(found: &Recognised, name: &str, file: &str, text: &str) -> String {
    let mut lines = vec![format!("{name}: {}", found.kind.text())];
    lines.push(format!("known by   {}", found.keys_text()));
    let (settings, unknown) = settings(found, text);
    if !settings.is_empty() {
        lines.push(format!("sets       {}", settings.join(", ")));
    }
    if !unknown.is_empty() {
        lines.push(format!("no parameter for {}", unknown.join(", ")));
    }
    if let Some(silent) = silent_about(found, text) {
        lines.push(format!("not in it  {silent}"));
    }
    lines.push(format!("go on with {}", found.kind.command(file, text)));
    lines.join("\n") + "\n"
}
