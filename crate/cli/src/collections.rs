//! Collections of prompts from files and folders.

use std::path::{Path, PathBuf};

use servescope_settings::diagnostic::Diagnostic;
use servescope_workload::prompts::Collection;

use crate::output::{CliError, name, note, read};

/// Ends of the names of files that a folder is searched for.
const ENDS: [&str; 4] = [".json", ".jsonl", ".json.gz", ".jsonl.gz"];

/// The prompts of files, and of the files in folders by name, after one another. `has_tokenizer` says whether lengths are
/// exact.
pub(crate) fn collection(paths: &[PathBuf], has_tokenizer: bool) -> Result<Collection, CliError> {
    let mut whole: Option<Collection> = None;
    let mut left_out = 0;
    for path in files(paths)? {
        let file = name(&path);
        let read = Collection::read_counted(&read(&path)?);
        let (collection, without) = read.map_err(|error| Diagnostic::of_file(&file, &error))?;
        left_out += without;
        let goes_with = match &mut whole {
            None => {
                whole = Some(collection);
                true
            }
            Some(whole) => whole.append(collection),
        };
        if !goes_with {
            return Err(CliError::input(format!(
                "{file}: prompts on their own and sessions do not go together; the files before it have the other kind"
            )));
        }
    }
    let whole = whole.filter(|whole| !whole.is_empty()).ok_or_else(|| {
        let names: Vec<String> = paths.iter().map(|path| name(path)).collect();
        CliError::input(format!("{}: there is no prompt in it", names.join(", ")))
    })?;
    if left_out > 0 {
        note(&format!("{left_out} conversations without a prompt were left out"));
    }
    let cjk = whole.cjk_prompts();
    if cjk > 0 && !has_tokenizer {
        let all = whole.len();
        note(&format!(
            "{cjk} of {all} prompts have Chinese, Japanese or Korean characters; without a tokenizer each of these counts as a \
             token, which may be wrong by half: give --tokenizer"
        ));
    }
    Ok(whole)
}

fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let inside = inside(path)?;
            if inside.is_empty() {
                let ends = ENDS.join(", ");
                return Err(CliError::input(format!(
                    "{}: no file in this folder ends with {ends}",
                    path.display()
                )));
            }
            files.extend(inside);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

/// The files of a folder that may hold prompts, by name.
fn inside(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let input_error = |error: std::io::Error| CliError::input(format!("{}: {error}", folder.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(input_error)? {
        let path = entry.map_err(input_error)?.path();
        if path.is_file() && ENDS.iter().any(|end| name(&path).ends_with(end)) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
