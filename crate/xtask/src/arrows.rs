//! Arrows between the modules of a folder run down: where one uses another, that one does not use it, nor by way of others. A
//! name that a module has from elsewhere counts as a use of where it is from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree};

use crate::process::{self, TaskResult};

/// Names from the root of a crate down.
type ModulePath = Vec<String>;

/// A module: its file, the names it has from elsewhere, and every path in it.
struct Module {
    file: PathBuf,
    names: BTreeMap<String, ModulePath>,
    paths: BTreeSet<ModulePath>,
}

type Modules = BTreeMap<ModulePath, Module>;

/// The modules of one folder, which others each of them uses, and a file in which it does.
type Arrows = BTreeMap<String, BTreeMap<String, PathBuf>>;

/// Circles in these crates are printed and do not fail. Formats and AIBrix's generator use each other, a file is recognised by the
/// settings that it may hold, and a comparison has the crossovers that are found by comparing.
const ONLY_PRINTED: [&str; 3] = ["crate/workload", "crate/settings", "crate/lab"];

/// Prints how many modules of each crate use others, and the circles in them; fails where there are any.
pub(crate) fn check(root: &Path) -> TaskResult {
    let crates = fs::read_dir(root.join("crate")).map_err(|error| format!("crate: {error}"))?;
    let mut crates: Vec<PathBuf> = crates.filter_map(Result::ok).map(|entry| entry.path()).collect();
    crates.sort();
    let mut is_good = true;
    for path in crates.iter().filter(|path| path.join("src").is_dir()) {
        let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
        let (mut using, mut told) = (0, Vec::new());
        for (folder, arrows) in folders(&modules(&path.join("src"))?) {
            using += arrows.len();
            told.extend(circles(&arrows).iter().map(|circle| format!("  {}: {circle}", folder.join("/"))));
        }
        process::say(&format!("{name}: {using} modules use others, {} circles", told.len()));
        told.iter().for_each(|circle| process::say(circle));
        is_good &= told.is_empty() || ONLY_PRINTED.contains(&&*name);
    }
    if is_good { Ok(()) } else { Err("modules use each other in a circle".to_owned()) }
}

/// The modules of a crate but those for tests, from its root on.
fn modules(source: &Path) -> TaskResult<Modules> {
    let root = ["lib.rs", "main.rs"].map(|name| source.join(name)).into_iter().find(|file| file.is_file());
    let mut modules = Modules::new();
    if let Some(file) = root {
        read(&file, source, Vec::new(), &mut modules)?;
    }
    Ok(modules)
}

/// Reads the file of a module, and those of the modules in `folder` that it declares.
fn read(file: &Path, folder: &Path, path: ModulePath, modules: &mut Modules) -> TaskResult {
    let described = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = fs::read_to_string(file).map_err(|error| described(&error))?;
    let syntax = syn::parse_file(&text).map_err(|error| described(&error))?;
    let declared = |item: &Item| match item {
        Item::Mod(module) if module.content.is_none() && !is_for_tests(&module.attrs) => {
            Some(module.ident.to_string())
        }
        _ => None,
    };
    for name in syntax.items.iter().filter_map(declared) {
        let inner = folder.join(&name);
        let path = path.iter().chain([&name]).cloned().collect();
        read(&inner.with_extension("rs"), &inner, path, modules)?;
    }
    let mut reader = Reader { own: &path, names: BTreeMap::new(), paths: BTreeSet::new() };
    reader.visit_file(&syntax);
    let Reader { names, paths, .. } = reader;
    modules.insert(path, Module { file: file.to_owned(), names, paths });
    Ok(())
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    let is_test = |list: &syn::MetaList| list.path.is_ident("cfg") && list.tokens.to_string() == "test";
    attributes.iter().any(|attribute| attribute.meta.require_list().is_ok_and(is_test))
}

/// Collects the paths of a file; what is for tests is left out.
struct Reader<'a> {
    own: &'a [String],
    names: BTreeMap<String, ModulePath>,
    paths: BTreeSet<ModulePath>,
}

impl Reader<'_> {
    /// The path from the crate's root; `None` where it begins with neither `crate`, `self` nor `super`.
    fn resolved(&self, path: &[String]) -> Option<ModulePath> {
        let supers = path.iter().take_while(|name| *name == "super").count();
        let base = match path.first()?.as_str() {
            "crate" => &[],
            "self" => self.own,
            "super" => self.own.get(..self.own.len().checked_sub(supers)?)?,
            _ => return None,
        };
        Some(base.iter().chain(&path[supers.max(1)..]).cloned().collect())
    }

    fn flatten(&mut self, tree: &UseTree, mut path: ModulePath) {
        let name = match tree {
            UseTree::Path(part) => {
                path.push(part.ident.to_string());
                return self.flatten(&part.tree, path);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|item| self.flatten(item, path.clone()));
            }
            UseTree::Glob(_) => None,
            UseTree::Name(last) => Some((last.ident.to_string(), last.ident.to_string())),
            UseTree::Rename(last) => Some((last.ident.to_string(), last.rename.to_string())),
        };
        let (used, name) = name.map_or((None, None), |(used, name)| (Some(used), Some(name)));
        path.extend(used.filter(|used| used != "self"));
        // A module's own children are named without `self`.
        let path = self.resolved(&path).unwrap_or_else(|| self.own.iter().chain(&path).cloned().collect());
        self.paths.insert(path.clone());
        self.names.extend(name.map(|name| (name, path)));
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !is_for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, used: &'ast ItemUse) {
        if !is_for_tests(&used.attrs) {
            self.flatten(&used.tree, Vec::new());
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: ModulePath = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.paths.extend(self.resolved(&names));
        visit::visit_path(self, path);
    }
}

/// The module that a path from the root leads to, also by names that modules on the way have from elsewhere.
fn target(modules: &Modules, path: &[String]) -> ModulePath {
    let mut path = path.to_vec();
    // Each round follows one such name; circles of names end, too.
    for _ in 0..8 {
        let known = (0..=path.len()).rev().find(|&length| modules.contains_key(&path[..length])).unwrap_or(0);
        let named = path.get(known).and_then(|name| modules.get(&path[..known])?.names.get(name));
        let Some(origin) = named.filter(|origin| path[..=known] != origin[..]) else {
            path.truncate(known);
            return path;
        };
        path = origin.iter().chain(&path[known + 1..]).cloned().collect();
    }
    path
}

/// The arrows of each folder. A module above or below another is no arrow: a folder's own file names what is in it.
fn folders(modules: &Modules) -> BTreeMap<ModulePath, Arrows> {
    let mut folders: BTreeMap<ModulePath, Arrows> = BTreeMap::new();
    for (own, module) in modules {
        for used in module.paths.iter().map(|path| target(modules, path)) {
            let common = own.iter().zip(&used).take_while(|(one, other)| one == other).count();
            if let (Some(from), Some(to)) = (own.get(common), used.get(common)) {
                let arrows = folders.entry(own[..common].to_vec()).or_default();
                arrows.entry(from.clone()).or_default().entry(to.clone()).or_insert(module.file.clone());
            }
        }
    }
    folders
}

/// The modules that can be reached along arrows.
fn reached<'a>(arrows: &'a Arrows, from: &'a str, found: &mut BTreeSet<&'a str>) {
    for used in arrows.get(from).into_iter().flat_map(BTreeMap::keys) {
        if found.insert(used) {
            reached(arrows, used, found);
        }
    }
}

/// Each set of modules that reach each other, as the arrows between them with the file of each.
fn circles(arrows: &Arrows) -> BTreeSet<String> {
    let reached = |from| {
        let mut found = BTreeSet::new();
        reached(arrows, from, &mut found);
        found
    };
    let all: BTreeMap<&str, BTreeSet<&str>> =
        arrows.keys().map(|from| (from.as_str(), reached(from))).collect();
    let set_of = |module: &str| -> BTreeSet<&str> {
        all[module]
            .iter()
            .copied()
            .filter(|other| all.get(other).is_some_and(|back| back.contains(module)))
            .collect()
    };
    let told = |set: &BTreeSet<&str>| {
        let of = |from: &&str| {
            let inside = arrows[*from].iter().filter(|(to, _)| set.contains(to.as_str()));
            let told = |(to, file): (&String, &PathBuf)| {
                format!("{from} -> {to} ({})", file.file_name().unwrap_or_default().to_string_lossy())
            };
            inside.map(told).collect::<Vec<_>>().join(", ")
        };
        set.iter().map(of).collect::<Vec<_>>().join(", ")
    };
    all.keys().map(|module| set_of(module)).filter(|set| !set.is_empty()).map(|set| told(&set)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, files: &[(&str, &str)]) -> Vec<(String, String)> {
        let folder = std::env::temp_dir().join(format!("servescope-arrows-{}-{name}", std::process::id()));
        for (name, text) in files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let folders = folders(&modules(&folder).unwrap());
        fs::remove_dir_all(&folder).unwrap();
        let told = |(folder, arrows): (&ModulePath, &Arrows)| {
            circles(arrows).into_iter().map(|circle| (folder.join("/"), circle)).collect::<Vec<_>>()
        };
        folders.iter().flat_map(told).collect()
    }

    #[test]
    fn circles_of_every_level_are_found_with_their_files() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;\npub use a::Thing;\n"),
            ("a.rs", "pub struct Thing;\nfn f(x: super::b::Thing) {}\n"),
            ("b.rs", "mod deep;\nmod low;\nuse low::Low;\n"),
            ("b/deep.rs", "fn f() -> crate::c::Other {}\n"),
            ("b/low.rs", "pub struct Low;\nuse super::deep::Thing;\n"),
            ("c.rs", "use crate::{\n    Known,\n    Thing,\n};\n"),
        ];
        let whole = "a -> b (a.rs), b -> c (deep.rs), c -> a (c.rs)";
        assert_eq!(found("circle", &files), [(String::new(), whole.to_owned())]);
        let mut files = files.to_vec();
        files[3].1 = "use super::Low;\n";
        let inner = "deep -> low (deep.rs), low -> deep (low.rs)";
        assert_eq!(found("inner", &files), [("b".to_owned(), inner.to_owned())]);
    }

    #[test]
    fn tests_comments_and_folders_themselves_are_left_out() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\npub use crate::a::Thing;\n"),
            ("a.rs", "use crate::b::Thing;\n"),
            (
                "b.rs",
                "//! As [`crate::a`].\n#[cfg(test)]\nmod whole;\n#[cfg(test)]\nmod tests {\n    use crate::a::Thing;\n}\nmod inner;\nuse inner::Thing;\n",
            ),
            ("b/inner.rs", "use super::Other;\n"),
        ];
        assert_eq!(found("none", &files), []);
    }
}
