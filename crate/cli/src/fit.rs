//! `servescope fit`: what a trace follows, its twin, and how close the twin is; or the distribution of the clients of a file of
//! windows.

use std::path::PathBuf;

use clap::Args;
use servescope_settings::diagnostic::Diagnostic;
use servescope_traces::fit as fits;
use servescope_traces::loaded_trace::LoadedTrace;
use servescope_workload::fit::{FitOptions, fit, fit_clients};
use servescope_workload::formats::{self, Contents};

use crate::generate::writable;
use crate::output::{CliError, name, print, read, report_all, write};
use crate::read_args::AnyOutput;

#[derive(Args)]
pub(crate) struct TraceFitArguments {
    /// Trace file of any known format, or ServeGen's windows.
    trace: PathBuf,
    /// Model of the written twin: bursts, curve, gamma, gamma_mle, weibull_mle, poisson.
    #[arg(long, value_name = "NAME", default_value = "bursts")]
    model: String,
    /// Seed of the twins.
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
    /// Width of the bins of the rate curve, seconds; by default the least round width with 30 requests a bin.
    #[arg(long, value_name = "SECONDS")]
    bin_s: Option<f64>,
    /// Prints JSON, with every column of the comparisons.
    #[arg(long)]
    json: bool,
    /// Writes the twin to a file.
    #[arg(short, long, value_name = "TWIN")]
    output: Option<PathBuf>,
    /// Format of the twin.
    #[arg(long, value_name = "NAME", default_value = "servescope")]
    format: String,
    #[command(flatten)]
    any: AnyOutput,
}

pub(crate) fn run(arguments: &TraceFitArguments) -> Result<(), CliError> {
    let model = fits::model(&arguments.model)?;
    let format = writable(&arguments.format)?;
    if let Some(bin_s) = arguments.bin_s.filter(|bin_s| !(1e-3..=1e9).contains(bin_s)) {
        return Err(CliError::input(format!("--bin-s: {bin_s} is not between 0.001 and 1000000000")));
    }
    let file = name(&arguments.trace);
    let mut opened =
        formats::open(&read(&arguments.trace)?).map_err(|error| Diagnostic::of_file(&file, &error))?;
    if let Contents::Windows(windows) = &opened.contents {
        let clients = fit_clients(windows)
            .ok_or_else(|| CliError::input(format!("{file}: fewer than two clients send anything")))?;
        return print(&if arguments.json {
            format!("{:#}\n", fits::clients_json(&clients))
        } else {
            fits::clients_text(&clients)
        });
    }
    opened.assume_output(arguments.any.tokens);
    let loaded = LoadedTrace::of(&file, opened.into_trace())?;
    report_all(&loaded.warnings);
    let fitted = fit(&loaded.trace, &FitOptions { bin_s: arguments.bin_s });
    let twins = fits::twins(&loaded.trace, &fitted, arguments.seed);
    if let (Some(path), Some(twin)) = (&arguments.output, twins.iter().find(|twin| twin.model == model)) {
        write(path, &formats::write(&twin.trace, format).unwrap_or_default())?;
    }
    print(&if arguments.json {
        format!("{:#}\n", fits::to_json(&fitted, &twins))
    } else {
        fits::to_text(&fitted, &twins, arguments.seed)
    })
}
