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
    let notes: String = loaded.warnings.iter().map(|w| format!("note: {}\n", w.message)).collect();
    let text = servescope_lab::inspect::to_text(&loaded.trace);
    print(&format!("format            {}\n{text}\n{notes}", loaded.format.name()))
}
