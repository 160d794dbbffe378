//! `servescope generate --servegen`: traffic from ServeGen's clients in place of a formula.

use std::path::{Path, PathBuf};

use clap::Args;
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::parameters::Id;
use servescope_settings::scenario::Scenario;
use servescope_workload::Trace;
use servescope_workload::clients::{ServeGen, servegen};
use servescope_workload::formats::{
    self, Contents, LengthWindow, MAX_ROWS, ServeGenWindow, servegen_chunk_lengths, servegen_chunk_windows,
};

use crate::output::{CliError, name, note, read};

#[derive(Args)]
pub(crate) struct ServeGenArguments {
    /// ServeGen's windows: a folder of chunk files as ServeGen publishes it (chunk-N-trace.csv, chunk-N-dataset.json with the
    /// lengths), or one CSV with a header: rate, cv and distribution of gaps by client and window. Where the scenario sets them,
    /// `workload.duration_s` is the length of the part that is taken and `workload.rate_rps` its mean rate. The scenario gives seed,
    /// adapters, the correlation of lengths and factors by client as well; other settings of the workload are named in a note.
    #[arg(long, value_name = "FILE")]
    servegen: Option<PathBuf>,
    /// ServeGen's length files (JSONL); a client without any has the scenario's lengths.
    #[arg(long, value_name = "FILE", requires = "servegen")]
    servegen_lengths: Option<PathBuf>,
    /// Seconds at which the part of the recording to take begins.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0, requires = "servegen")]
    from_s: f64,
    /// Seconds at which it ends; if none, after `workload.duration_s` where that is set, else at the end of the recording.
    #[arg(long, value_name = "SECONDS", requires = "servegen")]
    to_s: Option<f64>,
}

impl ServeGenArguments {
    /// Whether ServeGen's clients are asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.servegen.is_some()
    }

    /// The trace, if one was asked for.
    pub(crate) fn trace(&self, scenario: &Scenario) -> Result<Option<Trace>, CliError> {
        let Some(path) = &self.servegen else { return Ok(None) };
        let (windows, of_folder) = if path.is_dir() {
            folder(path)?
        } else {
            let Contents::Windows(windows) = open(path)? else { return Err(wrong(path, "ServeGen windows")) };
            (windows, Vec::new())
        };
        let lengths = match &self.servegen_lengths {
            None => of_folder,
            Some(path) => match open(path)? {
                Contents::Histograms(lengths) => lengths,
                _ => return Err(wrong(path, "ServeGen lengths")),
            },
        };
        let mut source = ServeGen {
            windows: &windows,
            lengths: &lengths,
            part_s: (self.from_s, f64::INFINITY),
            rate_scale: scenario.number(Id::RateScale),
        };
        let given: Vec<Id> = scenario.given().collect();
        let is_given = |id: Id| given.contains(&id);
        let end_s = source.end_s();
        source.part_s.1 = match self.to_s {
            Some(to_s) => to_s,
            None if is_given(Id::Duration) => {
                let wanted_s = self.from_s + scenario.number(Id::Duration);
                if wanted_s > end_s {
                    note(&format!(
                        "the recording ends at {end_s} s, before the {wanted_s} s that are asked for"
                    ));
                }
                wanted_s.min(end_s)
            }
            None => end_s,
        };
        if !(source.part_s.0 >= 0.0 && source.part_s.0 < source.part_s.1) {
            let (from, to) = source.part_s;
            return Err(CliError::input(format!("--from-s {from} is not between 0 and the end, {to}")));
        }
        let problems: Vec<Diagnostic> =
            scenario.problems().into_iter().filter(|p| p.path.starts_with("workload.clients")).collect();
        if !problems.is_empty() {
            return Err(problems.into());
        }
        if is_given(Id::Rate) {
            let mean_rps = source.expected_requests() / (source.part_s.1 - source.part_s.0);
            if mean_rps > 0.0 {
                source.rate_scale *= scenario.number(Id::Rate) / mean_rps;
            }
        }
        let expected = source.expected_requests();
        if expected > MAX_ROWS as f64 {
            return Err(CliError::input(format!(
                "{}: this makes about {expected:.0} requests, at most {MAX_ROWS} can be held; take a part with --from-s and \
                 --to-s, or thin it with --set workload.trace.rate_scale=…",
                name(path)
            )));
        }
        let trace = servegen(&source, &scenario.workload());
        if trace.is_empty() {
            return Err(CliError::input(format!("{}: no client sends anything in this part", name(path))));
        }
        let without = source.without_lengths();
        if !lengths.is_empty() && !without.is_empty() {
            note(&format!(
                "clients without lengths of their own, given the scenario's: {}",
                without.join(", ")
            ));
        }
        let has_lengths = !lengths.is_empty() && without.is_empty();
        let silent = without_effect(&given, has_lengths, self.to_s.is_some());
        if !silent.is_empty() {
            note(&format!(
                "without effect on ServeGen's clients, whose own it replaces: {}",
                silent.join(", ")
            ));
        }
        Ok(Some(trace))
    }
}

/// Groups of the workload that ServeGen's files replace; lengths where every client has its own.
const REPLACED: [&str; 10] = [
    "workload.arrivals.",
    "workload.curve.",
    "workload.users.",
    "workload.loop",
    "workload.closed.",
    "workload.think.",
    "workload.sessions.",
    "workload.prefix.",
    "workload.clients.cvs",
    "workload.cut_at_duration",
];
const LENGTHS: [&str; 3] = ["workload.lengths.", "workload.input_tokens.", "workload.output_tokens."];

/// The settings that were given and change nothing.
fn without_effect(given: &[Id], has_lengths: bool, has_end: bool) -> Vec<&'static str> {
    let is_silent = |path: &&str| {
        let in_any = |groups: &[&str]| groups.iter().any(|group| path.starts_with(group));
        in_any(&REPLACED) || (has_lengths && in_any(&LENGTHS)) || (has_end && *path == Id::Duration.row().id)
    };
    given.iter().map(|id| id.row().id).filter(is_silent).collect()
}

/// The chunk files of a folder as ServeGen publishes them, client by client: `chunk-N-trace.csv`, `chunk-N-dataset.json`.
fn folder(path: &Path) -> Result<(Vec<ServeGenWindow>, Vec<LengthWindow>), CliError> {
    let input_error = |error: std::io::Error| CliError::input(format!("{}: {error}", path.display()));
    let mut clients: Vec<u32> = Vec::new();
    for entry in std::fs::read_dir(path).map_err(input_error)? {
        let file = entry.map_err(input_error)?.file_name();
        let number =
            file.to_str().and_then(|n| n.strip_prefix("chunk-")).and_then(|n| n.strip_suffix("-trace.csv"));
        clients.extend(number.and_then(|number| number.parse::<u32>().ok()));
    }
    clients.sort_unstable();
    if clients.is_empty() {
        return Err(CliError::input(format!(
            "{}: there is no chunk-N-trace.csv in this folder",
            path.display()
        )));
    }
    let (mut windows, mut lengths) = (Vec::new(), Vec::new());
    for client in clients {
        let (name, trace) = (client.to_string(), path.join(format!("chunk-{client}-trace.csv")));
        let refused = |file: &Path, error: &_| Diagnostic::of_file(&crate::output::name(file), error);
        windows
            .extend(servegen_chunk_windows(&name, &read(&trace)?).map_err(|error| refused(&trace, &error))?);
        let dataset = path.join(format!("chunk-{client}-dataset.json"));
        if dataset.is_file() {
            let of_client = servegen_chunk_lengths(&name, &read(&dataset)?);
            lengths.extend(of_client.map_err(|error| refused(&dataset, &error))?);
        }
    }
    Ok((windows, lengths))
}

fn open(path: &Path) -> Result<Contents, CliError> {
    let file = formats::open(&read(path)?).map_err(|error| Diagnostic::of_file(&name(path), &error))?;
    Ok(file.contents)
}

fn wrong(path: &Path, expected: &str) -> CliError {
    CliError::input(format!("{}: no file of {expected}", name(path)))
}
