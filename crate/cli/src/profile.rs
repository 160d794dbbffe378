//! `servescope profile`: compact operator tables from profiling data in Vidur's form.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use servescope_cost::profile::{AttentionFormula, Profile, RawTables, TimedOrigin};
use servescope_settings::profiles::{self, OnDisk};

use crate::kernel_import::{self, ImportArguments};
use crate::output::{CliError, note, print, text, write};
use crate::profile_needs::{self, NeedsArguments};

#[derive(Args)]
pub(crate) struct ProfileArguments {
    #[command(subcommand)]
    verb: ProfileVerb,
}

#[derive(Subcommand)]
enum ProfileVerb {
    /// Fits a profile of one model on one GPU and prints its error against the raw medians by operator.
    Fit(Box<FitArguments>),
    /// Fits a profile for every GPU and model of a folder in the form of Vidur's data/profiling: how static/profiles is made.
    Build(BuildArguments),
    /// Makes compact tables of kernels, by GPU, from another tool's timed operators, and prints by operator how far interpolation
    /// is off at rows left out.
    Import(ImportArguments),
    /// Writes the operators of a profile as CSV: a row for each operator and size of its input, with its time and where that is
    /// from.
    Operators(OperatorsArguments),
    /// Writes as CSV what to time on a GPU for a profile of a model: each operator with its dimensions and sizes, and the file of
    /// `profile fit` that it belongs in.
    Needs(Box<NeedsArguments>),
}

#[derive(Args)]
struct OperatorsArguments {
    /// A profile that `profile fit` made.
    #[arg(long, value_name = "FILE", required_unless_present_all = ["gpu", "model"], conflicts_with_all = ["gpu", "model"])]
    profile: Option<PathBuf>,
    /// The profile that is used with this `fleet.gpu` ...
    #[arg(long, value_name = "NAME", requires = "model")]
    gpu: Option<String>,
    /// ... and this `fleet.model`.
    #[arg(long, value_name = "NAME", requires = "gpu")]
    model: Option<String>,
    /// The table; the terminal by default.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

#[derive(Args)]
struct FitArguments {
    /// Token operators by tokens and degree: mlp.csv.
    #[arg(long, value_name = "FILE")]
    mlp: PathBuf,
    /// Attention, for the degrees that leave as many heads on each GPU; without it, attention is modelled.
    #[arg(long, value_name = "FILE")]
    attention: Vec<PathBuf>,
    /// Where the attention's times come from: measured, reconstructed, synthetic, modelled.
    #[arg(long, value_name = "ORIGIN", default_value = "measured")]
    attention_origin: String,
    /// All-reduces by bytes; without it they are modelled from --send-recv.
    #[arg(long, value_name = "FILE")]
    all_reduce: Option<PathBuf>,
    /// Messages between pipeline stages by bytes.
    #[arg(long, value_name = "FILE")]
    send_recv: Option<PathBuf>,
    /// Host overheads by batch size.
    #[arg(long, value_name = "FILE")]
    cpu: Option<PathBuf>,
    /// The model's name; the rows of --cpu are found by it.
    #[arg(long, value_name = "NAME")]
    model: String,
    /// The GPU's name.
    #[arg(long, value_name = "NAME")]
    gpu: String,
    /// The model's layers, where Vidur does not know the model.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    layers: Option<u32>,
    /// Only these degrees of tensor parallelism; all that were profiled by default.
    #[arg(long, value_name = "N")]
    tp: Vec<u32>,
    /// The profile.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
}

#[derive(Args)]
struct BuildArguments {
    /// The folder.
    raw: PathBuf,
    /// Where the profiles go.
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
}

pub(crate) fn run(arguments: &ProfileArguments) -> Result<(), CliError> {
    match &arguments.verb {
        ProfileVerb::Fit(arguments) => fit(arguments),
        ProfileVerb::Build(arguments) => build(arguments),
        ProfileVerb::Import(arguments) => kernel_import::run(arguments),
        ProfileVerb::Operators(arguments) => operators(arguments),
        ProfileVerb::Needs(arguments) => profile_needs::run(arguments),
    }
}

fn fit(arguments: &FitArguments) -> Result<(), CliError> {
    let (gpu, model) = (&arguments.gpu, &arguments.model);
    let at = |path: &Path| {
        let path = path.display().to_string();
        move |error: servescope_cost::profile::ProfileError| CliError::input(format!("{path}: {error}"))
    };
    let origin = TimedOrigin::named(&arguments.attention_origin).ok_or_else(|| {
        let known = TimedOrigin::ALL.map(TimedOrigin::name).join(", ");
        CliError::input(format!("--attention-origin: {:?} is none of {known}", arguments.attention_origin))
    })?;
    let layers = arguments.layers.or_else(|| profiles::layers_of(model)).ok_or_else(|| {
        CliError::input(format!("--layers N is missing: the number of layers of {model} is not known"))
    })?;
    let mut raw = RawTables::read(gpu, model, layers, &text(&arguments.mlp)?).map_err(at(&arguments.mlp))?;
    if !arguments.tp.is_empty() {
        raw.keep_degrees(&arguments.tp).map_err(at(&arguments.mlp))?;
    }
    for path in &arguments.attention {
        if raw.add_attention(&text(path)?, origin).map_err(at(path))? == 0 {
            note(&format!("{}: no degree leaves as many heads on each GPU: not used", path.display()));
        }
    }
    if let Some(path) = &arguments.all_reduce {
        raw.add_all_reduce(&text(path)?).map_err(at(path))?;
    }
    if let Some(path) = &arguments.send_recv {
        raw.add_send_recv(&text(path)?).map_err(at(path))?;
    }
    if let Some(path) = &arguments.cpu
        && raw.add_host(&text(path)?).map_err(at(path))? == 0
    {
        note(&format!("{}: no row of {model}: no host overhead", path.display()));
    }
    let (profile, errors) = Profile::fit(&raw).map_err(at(&arguments.mlp))?;
    let text = profile.to_text();
    write(&arguments.output, &text)?;
    let head = format!("{model} on {gpu}: {} bytes in {}", text.len(), arguments.output.display());
    print(&format!("{head}\n{}\n", profiles::errors_table(&errors)))
}

fn build(arguments: &BuildArguments) -> Result<(), CliError> {
    let folder = OnDisk(&arguments.raw);
    let fitted = profiles::build(&folder).map_err(CliError::input)?;
    if fitted.is_empty() {
        let path = arguments.raw.display();
        return Err(CliError::input(format!("{path}: there is no compute/GPU/ORG/MODEL/mlp.csv")));
    }
    let out = &arguments.output;
    std::fs::create_dir_all(out).map_err(|e| CliError::input(format!("{}: {e}", out.display())))?;
    let mut bytes = 0;
    for one in &fitted {
        let text = one.profile.to_text();
        bytes += text.len();
        write(&out.join(format!("{}.txt", one.name)), &text)?;
        print(&format!("{}: {} bytes\n{}\n\n", one.name, text.len(), profiles::errors_table(&one.errors)))?;
    }
    let a100 = fitted.iter().filter(|f| f.raw.gpu == "a100");
    let mut sets = Vec::new();
    for attention in a100.flat_map(|f| &f.raw.degrees).filter_map(|d| d.attention.as_ref()) {
        // Several models have the same heads on each GPU.
        if !sets.contains(&attention) {
            sets.push(attention);
        }
    }
    let sets: Vec<_> = sets.into_iter().map(servescope_cost::profile::RawAttention::measured).collect();
    print(&format!(
        "{} profiles, {bytes} bytes\nattention formula: {:?}\n",
        fitted.len(),
        AttentionFormula::fit(&sets)
    ))
}

fn operators(arguments: &OperatorsArguments) -> Result<(), CliError> {
    let table = match (&arguments.profile, &arguments.gpu, &arguments.model) {
        (Some(path), ..) => {
            let read = Profile::read(&text(path)?);
            let profile = read.map_err(|error| CliError::input(format!("{}: {error}", path.display())))?;
            profiles::operators_csv(&profile)
        }
        (None, gpu, model) => {
            let (gpu, model) = (gpu.as_deref().unwrap_or(""), model.as_deref().unwrap_or(""));
            let profile = profiles::shipped_profile(gpu, model).ok_or_else(|| {
                let known: Vec<String> =
                    profiles::shipped_profiles().map(|(gpu, model)| format!("{model} on {gpu}")).collect();
                CliError::input(format!(
                    "there is no profile of {model} on {gpu}; there are {}",
                    known.join(", ")
                ))
            })?;
            profiles::operators_csv(profile)
        }
    };
    match &arguments.output {
        Some(path) => write(path, &table),
        None => print(&table),
    }
}
