//! How trace files are read, and what was noticed on standard error.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Args;
use servescope_traces::loaded_trace::LoadedTrace;
use servescope_traces::recipe::digest;
use servescope_workload::Trace;
use servescope_workload::formats::{BadRows, MAX_TOKENS, Mapping, ROLES, ReadOptions, Replay, read_with};

use crate::output::{CliError, name, read, report_all};

/// Bad rows that are listed one by one.
const LISTED: usize = 20;

/// How trace files are read.
#[derive(Args)]
pub(crate) struct ReadArguments {
    /// Reads a CSV or JSON Lines of no known format: ROLE=COLUMN or ROLE=COLUMN:UNIT with commas between, for example
    /// `arrival=ts:ms,input=prompt,output=gen`.
    #[arg(long, value_name = "MAPPING", long_help = help())]
    map: Option<String>,
    /// Leaves bad rows out and lists them on standard error, in place of stopping at the first.
    #[arg(long)]
    skip_bad_rows: bool,
    #[command(flatten)]
    any: AnyOutput,
}

/// The output length of requests whose own a file does not have.
#[derive(Args)]
pub(crate) struct AnyOutput {
    /// Output length of requests whose own the file does not have, as AIBrix's `"output_length": null`, tokens; the median of
    /// the file's known ones if none, or 1024 where there is none.
    #[arg(long = "any-completion-len", value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_TOKENS)))]
    pub(crate) tokens: Option<u32>,
}

/// A file that was read.
pub(crate) struct Input {
    /// The trace and what was noticed.
    pub(crate) loaded: LoadedTrace,
    /// The digest of the file's bytes.
    pub(crate) digest: String,
}

impl ReadArguments {
    /// Reads a file; bad rows that were left out are listed on standard error.
    pub(crate) fn read(&self, path: &Path) -> Result<Input, CliError> {
        self.read_as(path, None)
    }

    /// Reads a file as Vidur replays it, where that is said.
    pub(crate) fn read_as(&self, path: &Path, replay: Option<Replay>) -> Result<Input, CliError> {
        let mapping = self.map.as_deref().map(Mapping::parse).transpose();
        let mapping = mapping.map_err(|error| CliError::input(format!("--map: {error}")))?;
        let options = ReadOptions {
            mapping,
            tolerate: self.skip_bad_rows.then_some(LISTED),
            replay,
            any_output_tokens: self.any.tokens,
        };
        let bytes = read(path)?;
        let reading = read_with(&bytes, &options, &mut |_, _| ControlFlow::Continue(()));
        let (loaded, bad) = LoadedTrace::of_reading(&name(path), &bytes, reading)?;
        list(&loaded.name, &bad);
        Ok(Input { loaded, digest: digest(&bytes) })
    }

    /// Reads files, and prints the findings.
    pub(crate) fn read_all(&self, paths: &[PathBuf]) -> Result<Vec<Input>, CliError> {
        let inputs: Vec<Input> = paths.iter().map(|path| self.read(path)).collect::<Result<_, _>>()?;
        report_all(inputs.iter().flat_map(|input| &input.loaded.warnings));
        Ok(inputs)
    }
}

/// The requests of a file that was read.
pub(crate) fn into_trace(loaded: LoadedTrace) -> Trace {
    std::sync::Arc::unwrap_or_clone(loaded.trace)
}

fn list(file: &str, bad: &BadRows) {
    for row in &bad.listed {
        eprintln!("servescope: left out: {file}: {}", row.error);
    }
    for (reason, count) in &bad.by_reason {
        eprintln!("servescope: left out: {file}: {count} rows, {reason}");
    }
}

fn help() -> String {
    let role = |role: &servescope_workload::formats::ColumnRole| {
        let must = if role.required { ", required" } else { "" };
        format!("  {}: {} ({}{must})", role.name, role.help, role.units.join("|"))
    };
    format!(
        "Reads a CSV or JSON Lines of no known format: ROLE=COLUMN or ROLE=COLUMN:UNIT with commas between, for example \
         arrival=ts:ms,input=prompt,output=gen. A key inside of an object goes by its path: usage.prompt_tokens. The \
         first unit is meant where none is said.\n{}",
        ROLES.iter().map(role).collect::<Vec<_>>().join("\n")
    )
}
