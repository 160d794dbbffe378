//! `servescope simulate --vidur`: a run described by Vidur's flags, with exact operator tables.

use std::io::Read as _;
use std::path::Path;

use servescope_lab::vidur::{VidurRun, operator_tables};
use servescope_lab::{Run, Scenario};

use crate::output::{Failed, read};
use crate::read_args::ReadArguments;

/// Simulates the run of `config`. The trace is `trace` or the file that the flags name, the tables are `tables` or the
/// folder that the file names, in `operator-tables` beside the run's folder.
pub(crate) fn simulate(
    config: &Path,
    tables: Option<&Path>,
    (reader, trace): (&ReadArguments, Option<&Path>),
    scenario: &Scenario,
) -> Result<Run, Failed> {
    let run = VidurRun::read(&json(config)?)?;
    let folder = config.parent().unwrap_or(Path::new(""));
    let of_flags = || run.trace_file.as_ref().map(|name| folder.join(name));
    let missing = |what: &str| Failed::input(format!("{}: {what}", config.display()));
    let trace =
        trace.map(Path::to_owned).or_else(of_flags).ok_or_else(|| missing("--trace FILE is missing"))?;
    let named = || run.operator_tables.as_ref().map(|name| folder.join("../operator-tables").join(name));
    let tables =
        tables.map(Path::to_owned).or_else(named).ok_or_else(|| missing("--tables FOLDER is missing"))?;
    let files = ["token_ops.csv", "attn_decode.csv", "attn_prefill_runs.csv"];
    let [token_ops, decode, prefill] = files.map(|name| table(&tables, name));
    let meta = json(&tables.join("meta.json"))?;
    for difference in run.differences(&meta) {
        eprintln!("servescope: note: {}: {difference}", tables.join("meta.json").display());
    }
    let cost = operator_tables(&meta, run.stages, [&token_ops?, &decode?, &prefill?])
        .map_err(|error| Failed::input(format!("{}: {error}", tables.display())))?;
    let trace = reader.read_as(&trace, Some(run.replay))?.loaded.trace;
    Ok(Run::of(run.begin(trace, cost).run(), scenario))
}

fn json(path: &Path) -> Result<serde_json::Value, Failed> {
    serde_json::from_slice(&read(path)?)
        .map_err(|error| Failed::input(format!("{}: no JSON: {error}", path.display())))
}

/// A table, packed with gzip or not.
fn table(folder: &Path, name: &str) -> Result<String, Failed> {
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

fn not_text(path: &Path) -> Failed {
    Failed::input(format!("{}: neither text nor gzip of text", path.display()))
}
