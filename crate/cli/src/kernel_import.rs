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

/// Versions of vLLM, SGLang and TensorRT-LLM.
const VERSIONS: &str = "0.24.0,0.19.0,0.14.0,0.5.14,0.5.10,1.3.0rc23,1.3.0rc20,1.0.0";

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
    /// The folders with a folder for each system.
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// Only these systems; every known one by default.
    #[arg(long, value_name = "SYSTEM")]
    system: Vec<String>,
    /// Backends whose kernels are taken, the preferred one first: what it has not timed is taken from the next one.
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "vllm")]
    backend: Vec<String>,
    /// Versions of the backend, the preferred one first: what a version has not timed is taken from the next one.
    #[arg(long, value_name = "VERSION", value_delimiter = ',', default_value = VERSIONS)]
    version: Vec<String>,
    /// Where the tables go: kernels_GPU.txt for each GPU, BACKEND_kernels_GPU.txt for another backend than vLLM.
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
    let systems =
        if arguments.system.is_empty() { systems(&arguments.folders)? } else { arguments.system.clone() };
    let mut reported = Vec::new();
    let mut csv = format!("{}\n", COLUMNS.join(","));
    for system in systems {
        let has_products = arguments.folders.iter().any(|folder| folder.join(&system).join("gemm").is_dir());
        let Some(gpu) = silicon::gpu(&system).filter(|_| has_products) else {
            if !arguments.system.is_empty() {
                return Err(CliError::input(format!("{system}: no tables of a known GPU")));
            }
            continue;
        };
        let mut kernels = Kernels { gpu: gpu.id.to_owned(), ..Kernels::default() };
        for table in TABLES {
            for file in files(arguments, &system, table)? {
                let named = |why: String| CliError::input(format!("{}: {why}", file.path.display()));
                let columns = read(&file.path).map_err(named)?;
                let Some(points) = import::points(table.1, gpu, &columns).map_err(named)? else { continue };
                import::add(&mut kernels, &file.source, &points);
                let found = left_out(&points);
                reported.push(errors(&file.source, &found));
                found.iter().for_each(|error| csv.push_str(&csv_row(gpu.id, &file.source, error)));
            }
        }
        let first = arguments.backend.first().map_or("vllm", String::as_str);
        let of_backend = if first == "vllm" { String::new() } else { format!("{first}_") };
        let file = arguments.output.join(format!("{of_backend}kernels_{}.txt", gpu.id));
        let text = kernels.text();
        std::fs::write(&file, &text)
            .map_err(|error| CliError::input(format!("{}: {error}", file.display())))?;
        reported.push(format!("{}: {} tables, {} bytes\n", file.display(), kernels.tables.len(), text.len()));
    }
    if reported.is_empty() {
        return Err(CliError::input("there is no SYSTEM/gemm of a known GPU in these folders".to_owned()));
    }
    if let Some(path) = &arguments.csv {
        write(path, &csv)?;
    }
    print(&reported.concat())
}

/// A file of timed operators.
struct OperatorFile {
    path: PathBuf,
    /// Backend and version.
    source: String,
}

/// The files of a table, the preferred one first.
fn files(
    arguments: &ImportArguments,
    system: &str,
    (operator, table, own): (&str, &str, Option<&str>),
) -> Result<Vec<OperatorFile>, CliError> {
    let mut files = Vec::new();
    let backends: Vec<&str> =
        own.map_or_else(|| arguments.backend.iter().map(String::as_str).collect(), |own| vec![own]);
    for backend in backends {
        for folder in &arguments.folders {
            let of_backend = folder.join(system).join(operator).join(backend);
            let versions = if own.is_some() { latest(&of_backend)? } else { arguments.version.clone() };
            for version in versions {
                let path = of_backend.join(&version).join(format!("{table}_perf.parquet"));
                if path.is_file() {
                    files.push(OperatorFile { path, source: format!("{backend}-{version}") });
                }
            }
        }
    }
    Ok(files)
}

/// Every system that a folder has, in order.
fn systems(of: &[PathBuf]) -> Result<Vec<String>, CliError> {
    let mut names = Vec::new();
    for folder in of {
        names.extend(folders(folder)?);
    }
    names.sort();
    names.dedup();
    Ok(names)
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
