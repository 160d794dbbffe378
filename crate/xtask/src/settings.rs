//! `wasm-pack.toml`: the pinned tools and the settings of the wasm build.

use std::path::Path;

use serde::Deserialize;

use crate::process::TaskResult;

/// The name of the file at the top of the project.
pub(crate) const FILE: &str = "wasm-pack.toml";

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Settings {
    pub(crate) tools: Tools,
    pub(crate) build: Build,
    #[serde(rename = "module")]
    pub(crate) modules: Vec<Module>,
    pub(crate) wasm_opt: WasmOpt,
}

/// Versions of the tools.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Tools {
    pub(crate) wasm_pack: String,
    pub(crate) wasm_bindgen: String,
    pub(crate) binaryen: String,
    pub(crate) cargo_fuzz: String,
    pub(crate) inference_lab: String,
}

/// How the modules are built, and to where.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Build {
    pub(crate) target: String,
    pub(crate) out_dir: String,
    pub(crate) profile: String,
}

/// One wasm module: a crate of its own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Module {
    pub(crate) out_name: String,
    pub(crate) package: String,
}

impl Module {
    /// What cargo calls the compiled crate.
    pub(crate) fn library(&self) -> String {
        format!("{}.wasm", self.package.replace('-', "_"))
    }
}

/// How the module is made smaller and faster afterwards.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WasmOpt {
    pub(crate) flags: Vec<String>,
}

/// Reads the file in the project's root.
pub(crate) fn read(root: &Path) -> TaskResult<Settings> {
    let text = std::fs::read_to_string(root.join(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
    toml::from_str(&text).map_err(|error| format!("{FILE}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project;

    fn text(file: &str) -> String {
        std::fs::read_to_string(project::root().join(file)).unwrap()
    }

    #[test]
    fn the_tools_are_of_the_versions_that_the_manifests_pin() {
        let tools = read(&project::root()).unwrap().tools;
        let exactly = format!("={}", tools.wasm_bindgen);
        let workspace: toml::Table = toml::from_str(&text("Cargo.toml")).unwrap();
        assert_eq!(workspace["workspace"]["dependencies"]["wasm-bindgen"].as_str(), Some(&*exactly));
        let generator: toml::Table = toml::from_str(&text("crate/xtask/bindgen/Cargo.toml")).unwrap();
        assert_eq!(generator["dependencies"]["wasm-bindgen-cli-support"].as_str(), Some(&*exactly));
        let page: serde_json::Value = serde_json::from_str(&text("www/package.json")).unwrap();
        assert_eq!(page["devDependencies"]["binaryen"].as_str(), Some(&*tools.binaryen));
    }
}
