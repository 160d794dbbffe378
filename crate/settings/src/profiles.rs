//! Profiles made from a folder of Vidur's profiling data (`data/profiling` of microsoft/vidur).
//!
//! Below the folder: `compute/GPU/ORG/MODEL/mlp.csv`; `network/NODE/all_reduce.csv` and `send_recv.csv`, where the node
//! of a GPU is `GPU_dgx`, or `GPU_pairwise_nvlink` if there is none, and the other where it has both; `legacy/GPU/attention*.csv` with attention for
//! whichever models have as many heads on each GPU; `legacy/GPU/cpu_overheads.csv`;
//! `reconstructed/GPU/ORG/MODEL/attention*.csv`.

mod held_out;
mod loaded;
mod operators;
mod shipped;

use servescope_workload::statistics::sort;
use std::collections::BTreeMap;
use std::path::Path;

use servescope_cost::memory_plan::vidur::MODELS;
use servescope_cost::profile::{OperatorError, Profile, RawTables, TimedOrigin};

pub use held_out::{
    HELD_OUT, HeldOutError, UNSEEN_HEADS, UnseenHeads, formula_errors, held_out, held_out_of, law_attention,
    unseen_heads, unseen_heads_table,
};
pub(crate) use loaded::operator_table_column;
pub use loaded::{LoadedProfile, MeasurementSettings, NamedText};
pub use operators::operators_csv;
pub(crate) use shipped::take;
pub use shipped::{missing_table, shipped_profile, shipped_profiles, shipped_tables};

/// A folder of files, by paths with `/` below it.
pub trait Folder {
    /// Every file's path, in order.
    fn files(&self) -> Vec<String>;

    /// A file's text.
    ///
    /// # Errors
    /// What went wrong.
    fn read(&self, path: &str) -> Result<String, String>;
}

/// A folder on disk.
#[derive(Debug)]
pub struct OnDisk<'a>(pub &'a Path);

impl Folder for OnDisk<'_> {
    fn files(&self) -> Vec<String> {
        fn walk(folder: &Path, name: &str, found: &mut Vec<String>) {
            let Ok(entries) = std::fs::read_dir(folder) else { return };
            for entry in entries.flatten() {
                let own = entry.file_name();
                let Some(own) = own.to_str() else { continue };
                let path = if name.is_empty() { own.to_owned() } else { format!("{name}/{own}") };
                if entry.path().is_dir() {
                    walk(&entry.path(), &path, found);
                } else {
                    found.push(path);
                }
            }
        }
        let mut found = Vec::new();
        walk(self.0, "", &mut found);
        found.sort();
        found
    }

    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(path)).map_err(|error| format!("{path}: {error}"))
    }
}

/// A fitted profile, what it was fitted to, and its name in `static/profiles`.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// File name without its ending.
    pub name: String,
    /// The raw tables.
    pub raw: RawTables,
    /// The compact profile.
    pub profile: Profile,
    /// How far one is from the other.
    pub errors: Vec<OperatorError>,
}

/// The number of layers of a model that Vidur knows.
pub fn layers_of(model: &str) -> Option<u32> {
    MODELS.iter().find(|m| m.0 == model).map(|m| m.1.layers)
}

/// The name of a profile's file: the GPU and the model without its organisation.
pub fn file_name(gpu: &str, model: &str) -> String {
    format!("{gpu}_{}", model.rsplit('/').next().unwrap_or(model))
}

/// Reads the raw tables of every GPU and model below a folder, in the order of their paths.
///
/// # Errors
/// A message that names the file, row and column.
pub fn raw_tables(folder: &dyn Folder) -> Result<Vec<RawTables>, String> {
    let files = folder.files();
    let mut all = Vec::new();
    for path in &files {
        let parts: Vec<&str> = path.split('/').collect();
        let ["compute", gpu, org, model, "mlp.csv"] = parts[..] else { continue };
        let model = format!("{org}/{model}");
        let Some(layers) = layers_of(&model) else { continue };
        let named = |path: &str, error: &dyn std::fmt::Display| format!("{path}: {error}");
        let mut raw =
            RawTables::read(gpu, &model, layers, &folder.read(path)?).map_err(|e| named(path, &e))?;
        let mut networks = NETWORKS.into_iter().filter_map(|name| Some((name, network(&files, gpu, name)?)));
        for file in networks.next().into_iter().flat_map(|(_, own)| own) {
            let text = folder.read(&file)?;
            let added = if file.ends_with("all_reduce.csv") {
                raw.add_all_reduce(&text)
            } else {
                raw.add_send_recv(&text)
            };
            added.map_err(|e| named(&file, &e))?;
        }
        for (name, files) in networks {
            let [reduce, send] = &files[..] else { continue };
            let added = raw.add_network(name, &folder.read(reduce)?, &folder.read(send)?);
            added.map_err(|e| named(reduce, &e))?;
        }
        for (file, origin) in attention(&files, gpu, &model) {
            raw.add_attention(&folder.read(&file)?, origin).map_err(|e| named(&file, &e))?;
        }
        let host = format!("legacy/{gpu}/cpu_overheads.csv");
        if files.contains(&host) {
            raw.add_host(&folder.read(&host)?).map_err(|e| named(&host, &e))?;
        }
        all.push(raw);
    }
    Ok(all)
}

/// Fits a profile to each of the raw tables below a folder.
///
/// # Errors
/// A message that names the file, row and column.
pub fn build(folder: &dyn Folder) -> Result<Vec<Fitted>, String> {
    let mut all = Vec::new();
    for raw in raw_tables(folder)? {
        let name = file_name(&raw.gpu, &raw.model);
        let (profile, errors) = Profile::fit(&raw).map_err(|error| format!("{name}: {error}"))?;
        all.push(Fitted { name, raw, profile, errors });
    }
    Ok(all)
}

/// Errors of one operator over many profiles.
#[derive(Debug, Clone, PartialEq)]
pub struct Summed {
    /// The operator.
    pub name: &'static str,
    /// Where its times come from.
    pub origin: TimedOrigin,
    /// Tables.
    pub tables: usize,
    /// Points in all of them.
    pub points: usize,
    /// Median over the tables of each one's median, and the largest.
    pub median: [f64; 2],
    /// Likewise of the 95th percentiles.
    pub p95: [f64; 2],
}

/// Puts errors of many profiles together by operator and origin, in order of their names.
pub fn summed(errors: impl Iterator<Item = OperatorError>) -> Vec<Summed> {
    let mut by_operator: BTreeMap<(&str, TimedOrigin), Vec<OperatorError>> = BTreeMap::new();
    for error in errors.filter(|e| e.points > 0) {
        by_operator.entry((error.name, error.origin)).or_default().push(error);
    }
    let of = |((_, origin), errors): (_, Vec<OperatorError>)| {
        let spread = |of: fn(&OperatorError) -> f64| {
            let mut all: Vec<f64> = errors.iter().map(of).collect();
            sort(&mut all);
            [all[all.len() / 2], all[all.len() - 1]]
        };
        Summed {
            name: errors[0].name,
            origin,
            tables: errors.len(),
            points: errors.iter().map(|e| e.points).sum(),
            median: spread(|e| e.median),
            p95: spread(|e| e.p95),
        }
    };
    by_operator.into_iter().map(of).collect()
}

/// Errors by operator over many profiles, as a table: of each figure the median over the tables and the worst.
pub fn summed_table(all: &[Summed]) -> String {
    let mut lines = vec![format!(
        "{:<26}{:<15}{:>7}{:>9}{:>20}{:>20}",
        "operator", "origin", "tables", "points", "median (worst)", "P95 (worst)"
    )];
    for s in all {
        let both = |[usual, worst]: [f64; 2]| format!("{:.2} % ({:.2} %)", 100.0 * usual, 100.0 * worst);
        lines.push(format!(
            "{:<26}{:<15}{:>7}{:>9}{:>20}{:>20}",
            s.name,
            s.origin.name(),
            s.tables,
            s.points,
            both(s.median),
            both(s.p95)
        ));
    }
    lines.join("\n")
}

/// Nodes in Vidur's words: NVLink between all GPUs, or between two each. The first that a GPU has is its profile's own.
const NETWORKS: [&str; 2] = ["dgx", "pairwise_nvlink"];

/// The files of a node, where there are any.
fn network(files: &[String], gpu: &str, name: &str) -> Option<Vec<String>> {
    let wanted = ["all_reduce.csv", "send_recv.csv"].map(|file| format!("network/{gpu}_{name}/{file}"));
    let found: Vec<String> = wanted.into_iter().filter(|path| files.contains(path)).collect();
    (!found.is_empty()).then_some(found)
}

fn attention(files: &[String], gpu: &str, model: &str) -> Vec<(String, TimedOrigin)> {
    let (legacy, own) = (format!("legacy/{gpu}/attention"), format!("reconstructed/{gpu}/{model}/attention"));
    let of_file = |path: &String| {
        let is_table =
            Path::new(path).extension().is_some_and(|e| e == "csv") && !path.ends_with("_samples.csv");
        let origin = match path {
            _ if !is_table => return None,
            _ if path.starts_with(&legacy) => TimedOrigin::Measured,
            _ if path.starts_with(&own) && path.ends_with("_scaled.csv") => TimedOrigin::Synthetic,
            _ if path.starts_with(&own) => TimedOrigin::Reconstructed,
            _ => return None,
        };
        Some((path.clone(), origin))
    };
    let mut found: Vec<(String, TimedOrigin)> = files.iter().filter_map(of_file).collect();
    // Where two files fit a degree, the better origin is read last and stays.
    found.sort_by_key(|f| std::cmp::Reverse(f.1));
    found
}

/// The errors of a profile as a table.
pub fn errors_table(errors: &[OperatorError]) -> String {
    let mut lines = vec![format!(
        "{:<4}{:<26}{:<16}{:>7}{:>11}{:>11}",
        "TP", "operator", "origin", "points", "median", "P95"
    )];
    for e in errors {
        let degree = if e.degree == 0 { "-".to_owned() } else { e.degree.to_string() };
        let percent = |x: f64| if e.points == 0 { "-".to_owned() } else { format!("{:.2} %", 100.0 * x) };
        lines.push(format!(
            "{degree:<4}{:<26}{:<16}{:>7}{:>11}{:>11}",
            e.name,
            e.origin.name(),
            e.points,
            percent(e.median),
            percent(e.p95)
        ));
    }
    lines.join("\n")
}
