//! Arrows between the modules of a crate run down: where one uses another, that one does not use it, nor by way of others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::process::TaskResult;

/// The one crate that is not looked at: its formats and AIBrix's generator use each other.
const NOT_LOOKED_AT: &str = "workload";

/// The modules that a module uses, each with a file in which it does.
type Arrows = BTreeMap<String, BTreeMap<String, PathBuf>>;

/// Fails where modules of a crate use each other in a circle.
pub(crate) fn check(root: &Path) -> TaskResult {
    let crates = fs::read_dir(root.join("crate")).map_err(|error| format!("crate: {error}"))?;
    let mut crates: Vec<PathBuf> = crates.filter_map(Result::ok).map(|entry| entry.path()).collect();
    crates.retain(|path| !path.ends_with(NOT_LOOKED_AT) && path.join("src").is_dir());
    crates.sort();
    crates.iter().try_for_each(|path| {
        let arrows = arrows(&path.join("src")).map_err(|error| format!("{}: {error}", path.display()))?;
        let name = path.strip_prefix(root).unwrap_or(path).display();
        let told = |circle| Err(format!("{name}: modules in a circle: {circle}"));
        circle(&arrows).map_or(Ok(()), told)
    })
}

/// Who uses whom among the modules right below `folder`; tests are left out, and the crate's root, which names all.
fn arrows(folder: &Path) -> std::io::Result<Arrows> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    let texts: Vec<(PathBuf, String)> = files
        .into_iter()
        .map(|path| Ok((path.clone(), fs::read_to_string(&path)?)))
        .collect::<std::io::Result<_>>()?;
    let of_tests: BTreeSet<PathBuf> =
        texts.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
    let module = |path: &Path| {
        let first = path.strip_prefix(folder).ok()?.components().next()?;
        Some(first.as_os_str().to_str()?.trim_end_matches(".rs").to_owned())
    };
    let names: BTreeSet<String> = texts.iter().filter_map(|(path, _)| module(path)).collect();
    let mut arrows = Arrows::new();
    for (path, text) in &texts {
        let Some(own) = module(path).filter(|own| own != "lib" && own != "main") else { continue };
        if path.ancestors().any(|part| of_tests.contains(&part.with_extension(""))) {
            continue;
        }
        let is_below_root = path.parent() == Some(folder);
        for used in used(text, is_below_root).intersection(&names).filter(|used| **used != own) {
            arrows.entry(own.clone()).or_default().entry(used.clone()).or_insert_with(|| path.clone());
        }
    }
    Ok(arrows)
}

/// The Rust sources below a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(())
}

/// The places, without an extension, of the modules that a file has for tests alone.
fn test_modules(path: &Path, text: &str) -> Vec<PathBuf> {
    let is_root = path.file_stem().is_some_and(|stem| stem == "lib" || stem == "main");
    let folder = if is_root { path.with_file_name("") } else { path.with_extension("") };
    let declared = text.split("#[cfg(test)]\n").skip(1);
    let name = |rest: &str| {
        let line = rest.lines().next()?.trim().trim_start_matches("pub(crate) ");
        Some(folder.join(line.strip_prefix("mod ")?.strip_suffix(';')?))
    };
    declared.filter_map(name).collect()
}

/// What the code of a file names of the crate, up to its tests: behind `crate::`, and behind `super::` where that is the root.
fn used(text: &str, is_below_root: bool) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let code = code.lines().filter(is_code).collect::<Vec<_>>().join("\n");
    let code = if is_below_root { code.replace("super::", "crate::") } else { code };
    let mut names = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let list = rest.strip_prefix('{').map_or(rest, |list| list.split('}').next().unwrap_or_default());
        let most = if rest.starts_with('{') { usize::MAX } else { 1 };
        for name in list.split(',').take(most) {
            let is_of_name = |c: &char| c.is_alphanumeric() || *c == '_';
            names.insert(name.trim_start().chars().take_while(is_of_name).collect());
        }
    }
    names
}

/// One circle, as a chain of modules with the file of each arrow.
fn circle(arrows: &Arrows) -> Option<String> {
    let mut done = BTreeSet::new();
    arrows.keys().find_map(|module| circle_from(arrows, module, &mut Vec::new(), &mut done))
}

fn circle_from<'a>(
    arrows: &'a Arrows,
    module: &'a str,
    chain: &mut Vec<(&'a str, &'a Path)>,
    done: &mut BTreeSet<&'a str>,
) -> Option<String> {
    if let Some(start) = chain.iter().position(|(name, _)| *name == module) {
        let arrow = |(name, path): &(&str, &Path)| {
            format!("{name} ({}) -> ", path.file_name().unwrap_or_default().to_string_lossy())
        };
        return Some(chain[start..].iter().map(arrow).collect::<String>() + module);
    }
    if done.contains(module) {
        return None;
    }
    for (used, path) in arrows.get(module).into_iter().flatten() {
        chain.push((module, path));
        let found = circle_from(arrows, used, chain, done);
        chain.pop();
        if found.is_some() {
            return found;
        }
    }
    done.insert(module);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(name: &str, files: &[(&str, &str)]) -> Option<String> {
        let folder = std::env::temp_dir().join(format!("servescope-arrows-{}-{name}", std::process::id()));
        for (name, text) in files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let told = circle(&arrows(&folder).unwrap());
        fs::remove_dir_all(&folder).unwrap();
        told
    }

    #[test]
    fn a_circle_is_told_with_its_files() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;\n"),
            ("a.rs", "use super::b::Thing;\n"),
            ("b/deep.rs", "fn f() -> crate::c::Other {}\n"),
            ("c.rs", "use crate::{\n    Known,\n    a::Thing,\n};\n"),
        ];
        assert_eq!(told("circle", &files).unwrap(), "a (a.rs) -> b (deep.rs) -> c (c.rs) -> a");
    }

    #[test]
    fn tests_comments_and_the_root_are_left_out() {
        let files = [
            ("lib.rs", "pub use crate::a::Thing;\n"),
            ("a.rs", "use crate::b::Thing;\n"),
            (
                "b.rs",
                "//! As [`crate::a`].\n#[cfg(test)]\nmod whole;\n#[cfg(test)]\nmod tests {\n    use crate::a::Thing;\n}\n",
            ),
            ("b/whole.rs", "use crate::a::Thing;\n"),
            ("b/whole/part.rs", "use crate::a::Thing;\n"),
            ("c.rs", "use crate::a::Thing;\nuse crate::b::Thing;\n"),
        ];
        assert_eq!(told("none", &files), None);
    }
}
