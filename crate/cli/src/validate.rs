//! `servescope validate`: the simulator against closed forms and published measurements.

use std::path::{Path, PathBuf};

use clap::Args;
use rayon::prelude::*;
use servescope_evidence::alarms::{Alarms, alarms, alarms_table};
use servescope_evidence::published::vtc::{self, VtcComparison, VtcRecording};
use servescope_evidence::published::{peft, policies, shipped};
use servescope_evidence::validate::{
    Effort, closed_forms, closed_forms_table, operators_table, policies as policy_rows, policies_table,
    predictions, predictions_table, published, published_table, servers, servers_table, slots, slots_table,
    splitwise_table, steadiness as steadiness_of, thresholds_table, vtc_table,
};
use servescope_evidence::{silicon, thresholds};
use servescope_lab::capacity::steadiness::{self, SearchExtent};
use servescope_lab::compare::checks;
use servescope_settings::profiles::{self, HELD_OUT, OnDisk, UNSEEN_HEADS, summed_table, unseen_heads_table};

use crate::output::{CliError, print};

#[derive(Args)]
pub(crate) struct ValidateArguments {
    /// Fewer and shorter runs: about a minute on two cores in place of many, standard errors of some per cent.
    #[arg(long)]
    quick: bool,
    /// A folder with VTC's recorded runs (vtc__SCHEDULER__WORKLOAD.csv, in it or in a folder of it), which are not part of
    /// this program.
    #[arg(long, value_name = "FOLDER")]
    recordings: Option<PathBuf>,
    /// Writes the recorded runs beside the simulated ones, as the page shows them, and does nothing else.
    #[arg(long, value_name = "FILE", requires = "recordings")]
    write: Option<PathBuf>,
    /// A folder in the form of Vidur's data/profiling, which is not part of this program: profiles are fitted to half of its
    /// points and predict the others. Without it, what was measured on the data of the shipped profiles is shown.
    #[arg(long, value_name = "FOLDER")]
    profiling: Option<PathBuf>,
    /// A file of measured deployments (mean TTFT and TPOT by model, GPU, parallelism, lengths and requests in flight): each
    /// row is run as it was measured, and nothing else is done.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["recordings", "profiling", "quick"])]
    silicon: Option<PathBuf>,
    /// Prints every row and the summary as JSON.
    #[arg(long, requires = "silicon")]
    json: bool,
}

pub(crate) fn run(arguments: &ValidateArguments) -> Result<(), CliError> {
    if let Some(file) = &arguments.silicon {
        return silicon(file, arguments.json);
    }
    if let (Some(folder), Some(file)) = (&arguments.recordings, &arguments.write) {
        let text = shipped::text(&recordings(folder)?);
        return std::fs::write(file, text)
            .map_err(|error| CliError::input(format!("{}: {error}", file.display())));
    }
    print(&format!("{}\n\n{}\n\n", operators_table(), splitwise_table()))?;
    let rows = published();
    print(&format!("{}\n\n", published_table(&rows)))?;
    let policies = policy_rows();
    print(&format!("{}\n\n", policies_table(&policies)))?;
    let servers = servers();
    print(&format!("{}\n\n", servers_table(&servers)))?;
    let slots = slots();
    print(&format!("{}\n\n", slots_table(&slots)))?;
    print(&format!("{}\n\n", predictions_table(&predictions())))?;
    let recorded = match &arguments.recordings {
        Some(folder) => recordings(folder)?,
        None => Vec::new(),
    };
    if !recorded.is_empty() {
        print(&format!("{}\n\n", vtc_table(&recorded)))?;
    }
    print(&format!("{}\n\n", held_out(arguments.profiling.as_deref())?))?;
    let saturated = thresholds::check(thresholds::thresholds());
    print(&format!("{}\n\n", thresholds_table(&saturated)))?;
    let effort = if arguments.quick { Effort::QUICK } else { Effort::WHOLE };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let extent = if arguments.quick { SearchExtent::QUICK } else { SearchExtent::WHOLE };
    let searched = steadiness_of(extent, threads);
    print(&format!("{}\n\n", steadiness::table(&searched, extent)))?;
    let alarmed = alarms(200);
    print(&format!("{}\n\n", alarms_table(&alarmed)))?;
    let extent = if arguments.quick { checks::Extent::QUICK } else { checks::Extent::WHOLE };
    let compared = checks::check(extent, threads);
    print(&format!("{}\n\n", checks::table(&compared)))?;
    let checks = closed_forms(effort, threads);
    print(&format!("{}\n", closed_forms_table(&checks)))?;
    let off = rows.iter().filter(|r| !r.is_within()).count()
        + policies.iter().filter(|r| !r.is_within()).count()
        + usize::from(!policies::is_in_order(&policies))
        + servers.iter().filter(|r| !r.is_within()).count()
        + usize::from(!peft::is_in_order(&servers))
        + slots.iter().filter(|row| !row.is_explained()).count()
        + recorded.iter().filter(|r| !r.is_within() && !r.is_beyond_the_profile()).count()
        + saturated.iter().filter(|row| !row.is_met()).count()
        + checks.iter().filter(|c| !c.is_met()).count()
        + usize::from(!steadiness::is_met(&searched))
        + usize::from(!alarmed.iter().all(Alarms::is_met))
        + compared.is_met().iter().filter(|met| !**met).count();
    if off == 0 {
        Ok(())
    } else {
        let tables =
            rows.len() + policies.len() + servers.len() + slots.len() + recorded.len() + saturated.len();
        let all = tables + checks.len() + 7;
        Err(CliError::Run(format!("{off} of {all} checks are off")))
    }
}

/// Every row of a file of measured deployments, on all cores; the result does not depend on how many.
fn silicon(file: &Path, is_json: bool) -> Result<(), CliError> {
    let named = |why: String| CliError::input(format!("{}: {why}", file.display()));
    let bytes = std::fs::read(file).map_err(|error| named(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|error| named(format!("not UTF-8: {error}")))?;
    let rows = silicon::read(&text).map_err(|error| named(error.to_string()))?;
    let predicted: Vec<_> = rows.par_iter().with_max_len(1).map(silicon::predict).collect();
    let shown = if is_json {
        silicon::document(&rows, &predicted).to_string()
    } else {
        silicon::table(&rows, &predicted)
    };
    print(&format!("{shown}\n"))
}

/// Profiles fitted to half of the profiled points against the others.
fn held_out(folder: Option<&Path>) -> Result<String, CliError> {
    let title = "Profiles fitted to every other profiled point, against the others";
    let formula = "The attention formula for heads that it was not fitted on";
    let Some(folder) = folder else {
        let (points, heads) = (HELD_OUT.trim_end(), unseen_heads_table(&UNSEEN_HEADS));
        let recorded = "(recorded; --profiling FOLDER measures again)";
        return Ok(format!("{title} {recorded}\n{points}\n\n{formula} {recorded}\n{heads}"));
    };
    let errors = profiles::held_out(&OnDisk(folder)).map_err(CliError::input)?;
    if errors.is_empty() {
        let path = folder.display();
        return Err(CliError::input(format!("{path}: there is no compute/GPU/ORG/MODEL/mlp.csv")));
    }
    let heads = profiles::unseen_heads(&OnDisk(folder)).map_err(CliError::input)?;
    let heads = heads.map_or_else(|| "too few were timed".to_owned(), |heads| unseen_heads_table(&heads));
    Ok(format!("{title}\n{}\n\n{formula}\n{heads}", summed_table(&errors)))
}

/// Simulates the recordings of a folder whose scheduling policy is known; says which are left out.
fn recordings(folder: &Path) -> Result<Vec<VtcComparison>, CliError> {
    let mut paths = Vec::new();
    find(folder, &mut paths)?;
    if paths.is_empty() {
        let path = folder.display();
        return Err(CliError::input(format!("{path}: there is no vtc__SCHEDULER__WORKLOAD.csv")));
    }
    paths.sort_by(|a, b| a.file_name().cmp(&b.file_name()));
    let mut comparisons = Vec::new();
    for path in paths {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let text = std::fs::read_to_string(&path)
            .map_err(|error| CliError::input(format!("{}: {error}", path.display())))?;
        let recording = VtcRecording::read(name, &text).map_err(CliError::input)?;
        match vtc::compare(&recording) {
            Some(comparison) => comparisons.push(comparison),
            None => print(&format!("{name}: left out, its scheduling policy or its server is not known\n"))?,
        }
    }
    Ok(comparisons)
}

/// Every recording in a folder and the folders in it.
fn find(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), CliError> {
    let failed = |error: std::io::Error| CliError::input(format!("{}: {error}", folder.display()));
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // A link may lead back to where it lies.
        if entry.file_type().map_err(failed)?.is_dir() {
            find(&entry.path(), paths)?;
        } else if entry.file_name().to_str().is_some_and(VtcRecording::is_named) {
            paths.push(entry.path());
        }
    }
    Ok(())
}
