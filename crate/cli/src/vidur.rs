//! `servescope simulate --vidur`: a run described by Vidur's flags, with exact operator tables or the shipped profile.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use servescope_cost::profile::ExactTables;
use servescope_lab::run::Run;
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::json_text::parse_bytes;
use servescope_settings::scenario::Scenario;
use servescope_settings::vidur::{VidurRun, operator_tables};

use crate::output::{CliError, note, read};
use crate::read_args::ReadArguments;

/// Simulates the run of `config`. Requests are those of `trace`, of the file that the flags name, or of the synthetic generator.
/// Tables are `tables`, the folder that the file names, in `operator-tables` of the run's folder or beside it, or the shipped
/// profile.
pub(crate) fn simulate(
    config: &Path,
    tables: Option<&Path>,
    (reader, trace): (&ReadArguments, Option<&Path>),
    scenario: &Scenario,
) -> Result<Run, CliError> {
    let run = VidurRun::read(&json(config)?)?;
    let folder = config.parent().unwrap_or(Path::new(""));
    if !run.without_effect.is_empty() {
        note(&format!("without effect, as in Vidur: {}", run.without_effect.join(", ")));
    }
    let missing = |what: &str| CliError::input(format!("{}: {what}", config.display()));
    let trace = if run.is_synthetic(trace.is_some())? {
        let of_folder = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path).map_err(|error| {
                Diagnostic::error("file_missing", name, format!("{}: {error}", path.display()))
            })
        };
        let (trace, ended) = run.synthetic_requests(&of_folder)?;
        ended.iter().for_each(|ended| note(ended));
        Arc::new(trace)
    } else {
        let of_flags = || run.trace_file.as_ref().map(|name| folder.join(name));
        let path = trace.map(Path::to_owned).or_else(of_flags).ok_or_else(|| {
            missing("trace_request_generator_config_trace_file names no file, and --trace FILE is missing")
        })?;
        reader.read_as(&path, Some(run.replay))?.loaded.trace
    };
    let named = || {
        let folders = run.table_folders(folder);
        let there = folders.iter().find(|folder| folder.join("meta.json").is_file());
        // One that is named and absent is an error that names it.
        there.or(folders.get(2)).cloned()
    };
    let Some(tables) = tables.map(Path::to_owned).or_else(named) else {
        let (cost, of) = run.shipped_tables()?;
        note(&format!("times are those of the shipped profile of {of}; --tables names others"));
        return Ok(Run::of(run.begin(trace, cost).run(), scenario));
    };
    let files = ["token_ops.csv", "attn_decode.csv", "attn_prefill_runs.csv"];
    let [token_ops, decode, prefill] = files.map(|name| table(&tables, name));
    let meta = json(&tables.join("meta.json"))?;
    for difference in run.differences(&meta) {
        note(&format!("{}: {difference}", tables.join("meta.json").display()));
    }
    let cost = operator_tables(&meta, run.stages, [&token_ops?, &decode?, &prefill?])
        .map_err(|error| CliError::input(format!("{}: {error}", tables.display())))?;
    let cost = with_host(cost, &run, &meta, &tables)?;
    Ok(Run::of(run.begin(trace, cost).run(), scenario))
}

/// The tables with the host's work, where the run counts it.
fn with_host(
    cost: ExactTables,
    run: &VidurRun,
    meta: &serde_json::Value,
    tables: &Path,
) -> Result<ExactTables, CliError> {
    const NAME: &str = "cpu_overheads.csv";
    if !run.has_host_overhead() {
        return Ok(cost);
    }
    if !tables.join(NAME).is_file() && !tables.join(format!("{NAME}.gz")).is_file() {
        note(&format!("{}: no {NAME}, so that the host's work is not counted", tables.display()));
        return Ok(cost);
    }
    let host = table(tables, NAME)?;
    cost.with_host(&host, meta["model"].as_str().unwrap_or(&run.model))
        .map_err(|error| CliError::input(format!("{}: {error}", tables.display())))
}

fn json(path: &Path) -> Result<serde_json::Value, CliError> {
    parse_bytes(&read(path)?).map_err(|error| CliError::input(format!("{}: {error}", path.display())))
}

/// A table, packed with gzip or not.
fn table(folder: &Path, name: &str) -> Result<String, CliError> {
    let plain = folder.join(name);
    if plain.is_file() {
        return String::from_utf8(read(&plain)?).map_err(|_| not_text(&plain));
    }
    let packed = folder.join(format!("{name}.gz"));
    let bytes = read(&packed)?;
    let mut text = String::new();
    // No table of this kind is near this size; a small file that unpacks to more is no table.
    let mut unpacked = flate2::read::MultiGzDecoder::new(&bytes[..]).take(1 << 28);
    unpacked.read_to_string(&mut text).map_err(|_| not_text(&packed))?;
    Ok(text)
}

fn not_text(path: &Path) -> CliError {
    CliError::input(format!("{}: neither text nor gzip of text", path.display()))
}
