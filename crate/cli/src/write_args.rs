//! Where a trace file and its recipe go.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use servescope_traces::recipe::Recipe;
use servescope_workload::Trace;
use servescope_workload::formats::{LOSSES, lost};

use crate::output::{CliError, note, write, write_or_print};

/// Where a trace file and its recipe go.
#[derive(Args)]
pub(crate) struct WriteArguments {
    /// File to write; standard output if none.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Where the recipe of the file goes: scenario, seed and steps, from which `generate` makes the same bytes again; of
    /// other files, their names, digests and steps. Beside: OUT.recipe.json, where OUT is a file. Inside: the first line of the
    /// formats servescope and servescope_jsonl.
    #[arg(long, value_name = "WHERE", default_value = "beside")]
    recipe: RecipePlace,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum RecipePlace {
    Beside,
    Inside,
    None,
}

impl WriteArguments {
    /// The file to write; standard output if none.
    pub(crate) fn output(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// Writes a trace in the format of its recipe.
    pub(crate) fn write(&self, recipe: &Recipe, trace: &Trace) -> Result<(), CliError> {
        let mut text = recipe.write(trace);
        for name in lost(trace, &text) {
            let what = LOSSES.iter().find(|(known, _)| *known == name).map_or(name, |(_, what)| what);
            note(&format!("the format {} does not hold {what}", recipe.format.name()));
        }
        if self.recipe == RecipePlace::Inside {
            text = recipe.inside(&text).ok_or_else(|| {
                let name = recipe.format.name();
                CliError::input(format!("--recipe inside: the format {name} has no place for it; say beside"))
            })?;
        }
        write_or_print(self.output.as_deref(), &text)?;
        match &self.output {
            Some(path) if self.recipe == RecipePlace::Beside && path.is_file() => {
                write(&beside(path), &(recipe.to_text() + "\n"))
            }
            _ => Ok(()),
        }
    }
}

/// The file of the recipe beside a file.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".recipe.json");
    name.into()
}
