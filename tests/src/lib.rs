//! Where the reference files are, and how they are walked.
//!
//! The folder `tests/reference/` of the repository holds a selection of reference vectors, so that every clone can check
//! what the project claims. A folder that an environment variable names is read in its place; the tests pass for any
//! folder of the same form, whatever subset of the files it holds. Each file may be packed with gzip: `name` and
//! `name.gz` are the same file.

pub mod causes;
pub mod recorded_runs;

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The folder of reference vectors: the one that `SERVESCOPE_REFERENCE` names, otherwise the repository's selection.
///
/// # Panics
/// If the named folder is absent or holds no file.
pub fn reference() -> PathBuf {
    named_folder("SERVESCOPE_REFERENCE")
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("reference"))
}

/// The folder that an environment variable names; `None`, which is printed, where the variable is not set. For data of
/// which the repository has no selection.
///
/// # Panics
/// If the named folder is absent or holds no file.
pub fn named_folder(variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    if path.is_none() {
        println!("{variable} names no folder");
    }
    path.inspect(|path| assert_holds_files(variable, path))
}

fn assert_holds_files(variable: &str, folder: &Path) {
    assert!(folder.is_dir(), "{variable}: {} is absent", folder.display());
    assert!(!files(folder, |_| true).is_empty(), "{variable}: {} is empty", folder.display());
}

/// The name of a file without its folder and without the `.gz` of a packed one.
pub fn plain_name(path: &Path) -> String {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    name.strip_suffix(".gz").map(str::to_owned).unwrap_or(name)
}

/// Every file below `root` whose plain name `wanted` accepts, in order of its path.
pub fn files(root: &Path, wanted: impl Fn(&str) -> bool + Copy) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(root) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, wanted));
        } else if wanted(&plain_name(&path)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The file of this plain name in a folder, plain or packed.
pub fn file(folder: &Path, name: &str) -> Option<PathBuf> {
    [folder.join(name), folder.join(format!("{name}.gz"))].into_iter().find(|path| path.is_file())
}

/// The text of a file, unpacked where its name ends in `.gz`.
///
/// # Panics
/// If the file cannot be read: a broken reference must not pass.
pub fn text(path: &Path) -> String {
    unpacked(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn unpacked(path: &Path) -> std::io::Result<String> {
    if path.extension().is_none_or(|end| end != "gz") {
        return std::fs::read_to_string(path);
    }
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(std::fs::File::open(path)?).read_to_string(&mut text)?;
    Ok(text)
}

/// The value of a JSON file.
///
/// # Panics
/// If the file cannot be read or is no JSON.
pub fn json(path: &Path) -> Value {
    serde_json::from_str(&text(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The objects of a JSONL file.
///
/// # Panics
/// If the file cannot be read or a line is no JSON.
pub fn json_lines(path: &Path) -> Vec<Value> {
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text(path).lines().filter(|line| !line.trim().is_empty()).map(parse).collect()
}

/// Prints how many cases of a file were checked, and notes them for `cargo xtask test`, which adds them up.
///
/// # Panics
/// If the file that `SERVESCOPE_CASES` names cannot be written.
pub fn report_cases(path: &Path, cases: usize) {
    println!("{}: checked {cases} cases", plain_name(path));
    let Some(notes) = std::env::var_os("SERVESCOPE_CASES") else { return };
    let target = std::env::current_exe().map(|exe| plain_name(&exe)).unwrap_or_default();
    let target = target.rsplit_once('-').map_or(&*target, |(target, _)| target);
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    // One call writes the whole line, for the tests of one program run beside each other.
    std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(notes)
        .and_then(|mut file| {
            file.write_all(format!("{target} {folder}/{} {cases}\n", plain_name(path)).as_bytes())
        })
        .expect("the file of cases can be written");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("servescope-tests-{}-{name}", std::process::id()));
        std::fs::create_dir_all(folder.join("part")).expect("a folder can be made");
        folder
    }

    #[test]
    #[should_panic(expected = "is absent")]
    fn an_absent_folder_is_a_failure() {
        assert_holds_files("VARIABLE", &folder("absent").join("nothing"));
    }

    #[test]
    #[should_panic(expected = "is empty")]
    fn a_folder_without_files_is_a_failure() {
        assert_holds_files("VARIABLE", &folder("empty"));
    }

    #[test]
    fn packed_and_plain_files_are_the_same() {
        let folder = folder("packed");
        std::fs::write(folder.join("part/a.json"), "[1]").expect("writable");
        let packed = std::fs::File::create(folder.join("b.json.gz")).expect("writable");
        let mut packed = flate2::write::GzEncoder::new(packed, flate2::Compression::fast());
        packed.write_all(b"[1]").and_then(|()| packed.try_finish()).expect("writable");
        assert_holds_files("VARIABLE", &folder);
        let found = files(&folder, |name| name != "other");
        assert_eq!(found.iter().map(|path| plain_name(path)).collect::<Vec<_>>(), ["b.json", "a.json"]);
        assert!(found.iter().all(|path| json(path) == serde_json::json!([1])));
        assert_eq!(file(&folder, "b.json"), Some(folder.join("b.json.gz")));
        assert_eq!(file(&folder, "c.json"), None);
    }
}
