//! `servescope inspect`: the statistics of a trace file.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::output::{Failed, print, read_trace};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Trace file of any known format.
    trace: PathBuf,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failed> {
    let loaded = read_trace(&arguments.trace)?;
    if arguments.json {
        let mut json = servescope_lab::inspect::to_json(&loaded.trace);
        json["format"] = loaded.format.name().into();
        json["warnings"] = json!(loaded.warnings);
        return print(&format!("{json:#}\n"));
    }
    let mut lines = vec![format!("format            {}", loaded.format.name())];
    lines.push(servescope_lab::inspect::to_text(&loaded.trace));
    lines.extend(loaded.warnings.iter().map(|w| format!("note: {}", w.message)));
    lines.push(String::new());
    print(&lines.join("\n"))
}
