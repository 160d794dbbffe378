//! `servescope profile import`: timed kernels of other tools as tables of time over roofline.

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use servescope_cost::kernels::import::{self, OperatorColumns};
use servescope_cost::kernels::{Kernels, LeftOutError, left_out, ranges};
use servescope_evidence::silicon;

use crate::output::{CliError, print, write};

/// Most rows of a file.
const MAX_ROWS: usize = 5_000_000;

/// Whose tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KernelSource {
    /// NVIDIA AIConfigurator: SYSTEM/OPERATOR/BACKEND/VERSION/TABLE_perf.parquet.
    Aiconfigurator,
}

#[derive(Args)]
pub(crate) struct ImportArguments {
    /// Whose form the folder has.
    #[arg(long, value_enum)]
    from: KernelSource,
    /// The folder with a folder for each system.
    folder: PathBuf,
    /// Only these systems; every known one by default.
    #[arg(long, value_name = "SYSTEM")]
    system: Vec<String>,
    /// Backend whose kernels are taken.
    #[arg(long, value_name = "NAME", default_value = "vllm")]
    backend: String,
    /// Versions of the backend, the preferred one first: what a version has not timed is taken from the next one.
    #[arg(long, value_name = "VERSION", value_delimiter = ',', default_value = "0.24.0,0.19.0,0.14.0")]
    version: Vec<String>,
    /// Where the tables go: kernels_GPU.txt for each GPU.
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// Writes the errors as CSV: a row for each GPU, operator, version and range of sizes.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// Operators: the folder, the table, and the folder of the backend where it is not the backend's own.
const TABLES: [(&str, &str, Option<&str>); 8] = [
    ("gemm", "gemm", None),
    ("attention", "context_attention", None),
    ("attention", "generation_attention", None),
    ("moe", "moe", None),
    ("mla", "mla_context_module", None),
    ("mla", "mla_generation_module", None),
    ("comm", "custom_allreduce", None),
    ("comm", "nccl", Some("nccl")),
];

pub(crate) fn run(arguments: &ImportArguments) -> Result<(), CliError> {
    let KernelSource::Aiconfigurator = arguments.from;
    let folder = &arguments.folder;
    let systems = if arguments.system.is_empty() { folders(folder)? } else { arguments.system.clone() };
    let mut reported = Vec::new();
    let mut csv = format!("{}\n", COLUMNS.join(","));
    for system in systems {
        let path = folder.join(&system);
        let Some(gpu) = silicon::gpu(&system).filter(|_| path.join("gemm").is_dir()) else {
            if !arguments.system.is_empty() {
                return Err(CliError::input(format!("{}: no tables of a known GPU", path.display())));
            }
            continue;
        };
        let mut kernels = Kernels { gpu: gpu.id.to_owned(), ..Kernels::default() };

        for (operator, table, own) in TABLES {
            let of_backend = path.join(operator).join(own.unwrap_or(&arguments.backend));
            let versions = if own.is_some() { latest(&of_backend)? } else { arguments.version.clone() };
            for version in versions {
                let file = of_backend.join(&version).join(format!("{table}_perf.parquet"));
                if !file.is_file() {
                    continue;
                }
                let named = |why: String| CliError::input(format!("{}: {why}", file.display()));
                let columns = read(&file).map_err(named)?;
                let Some(points) = import::points(table, gpu, &columns).map_err(named)? else { continue };
                let source = format!("{}-{version}", own.unwrap_or(&arguments.backend));
                import::add(&mut kernels, &source, &points);
                let found = left_out(&points);
                reported.push(errors(&source, &found));
                found.iter().for_each(|error| csv.push_str(&csv_row(gpu.id, &source, error)));
            }
        }
        let file = arguments.output.join(format!("kernels_{}.txt", gpu.id));
        let text = kernels.text();
        std::fs::write(&file, &text)
            .map_err(|error| CliError::input(format!("{}: {error}", file.display())))?;
        reported.push(format!("{}: {} tables, {} bytes\n", file.display(), kernels.tables.len(), text.len()));
    }
    if reported.is_empty() {
        return Err(CliError::input(format!("{}: there is no SYSTEM/gemm of a known GPU", folder.display())));
    }
    if let Some(path) = &arguments.csv {
        write(path, &csv)?;
    }
    print(&reported.concat())
}

/// The errors of a table, by operator.
fn errors(source: &str, errors: &[LeftOutError]) -> String {
    let line = |e: &LeftOutError| {
        let (median, p95) = (100.0 * e.median, 100.0 * e.p95);
        let sizes = range(e);
        format!(
            "  {:<18}{source:<16}{:>8} rows left out: median {median:>5.1} %, P95 {p95:>5.1} %{}{sizes}\n",
            e.operator,
            e.count,
            if sizes.is_empty() { "" } else { "  " },
        )
    };
    errors.iter().map(line).collect()
}

/// The sizes that an error is of; empty for all.
fn range(error: &LeftOutError) -> String {
    let (unit, [low, high]) = ranges(&error.operator);
    match error.range {
        None => String::new(),
        Some(0) => format!("up to {low} {unit}"),
        Some(1) => format!("up to {high} {unit}"),
        Some(_) => format!("above {high} {unit}"),
    }
}

/// Columns of the errors as CSV: the share by which times are off, signed in the last one.
const COLUMNS: [&str; 8] = ["gpu", "operator", "source", "sizes", "rows", "median", "p95", "bias"];

fn csv_row(gpu: &str, source: &str, e: &LeftOutError) -> String {
    let (operator, sizes) = (&e.operator, range(e));
    format!("{gpu},{operator},{source},{sizes},{},{:.5},{:.5},{:.5}\n", e.count, e.median, e.p95, e.bias)
}

/// Names of the folders in a folder, in order.
fn folders(folder: &Path) -> Result<Vec<String>, CliError> {
    let failed = |error: std::io::Error| CliError::input(format!("{}: {error}", folder.display()));
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.path().is_dir() {
            names.extend(entry.file_name().into_string());
        }
    }
    names.sort();
    Ok(names)
}

/// The versions of a folder, the last one first.
fn latest(folder: &Path) -> Result<Vec<String>, CliError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut versions = folders(folder)?;
    versions.reverse();
    Ok(versions)
}

/// A Parquet file as columns.
fn read(path: &Path) -> Result<OperatorColumns, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let reader = SerializedFileReader::new(file).map_err(|error| error.to_string())?;
    let mut columns = OperatorColumns::default();
    for row in reader.get_row_iter(None).map_err(|error| error.to_string())? {
        let row = row.map_err(|error| error.to_string())?;
        if columns.rows == MAX_ROWS {
            return Err(format!("more rows than {MAX_ROWS}"));
        }
        columns.rows += 1;
        for (name, field) in row.get_column_iter() {
            if let Field::Str(text) = field {
                if let Some(column) = columns.texts.get_mut(name) {
                    column.push(text.clone());
                } else if columns.rows == 1 {
                    columns.texts.insert(name.clone(), vec![text.clone()]);
                }
                continue;
            }
            let number = match field {
                Field::Int(value) => f64::from(*value),
                Field::Long(value) => *value as f64,
                Field::Float(value) => f64::from(*value),
                Field::Double(value) => *value,
                _ => f64::NAN,
            };
            if let Some(column) = columns.numbers.get_mut(name) {
                column.push(number);
            } else if columns.rows == 1 {
                columns.numbers.insert(name.clone(), vec![number]);
            }
        }
    }
    let lengths = columns.texts.values().map(Vec::len).chain(columns.numbers.values().map(Vec::len));
    if lengths.into_iter().any(|length| length != columns.rows) {
        return Err("a column is empty in some rows, or changes its kind".to_owned());
    }
    Ok(columns)
}
