//! The project's folders, and what a task may need from the machine, each looked for or made once a run,
//! also where several steps of a check ask for it at once.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::browser::{self, Browser};
use crate::process::TaskResult;
use crate::settings::{self, Settings};
use crate::toolchain::{self, WasmToolchain};
use crate::{packages, process, tools};

/// Set to 1 for everything that a whole check runs, and absent from everything else: tests that read it do all of their
/// cases, and else a part of them.
const WHOLE: &str = "SERVESCOPE_WHOLE";

/// What is compiled for this machine: all but the page's modules, whose tests run in a browser. Every build of it takes the
/// same selection, so that each package is compiled once.
pub(crate) const NATIVE: [&str; 7] = [
    "--workspace",
    "--exclude",
    "servescope-boundary",
    "--exclude",
    "servescope-studio",
    "--exclude",
    "servescope-web",
];

/// The package whose tests run in a browser, over both modules.
pub(crate) const WEB: &str = "servescope-web";

/// How much the tests of a run do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// What every change must pass.
    Quick,
    /// What a release must pass.
    Whole,
}

/// The top folder of the checkout.
pub(crate) fn root() -> PathBuf {
    // cargo names the folder at run time too: a checkout that was moved after its build still works.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.ancestors().nth(2).map_or(manifest.clone(), Path::to_owned)
}

/// One run's view of the checkout and the machine.
pub(crate) struct Project {
    root: PathBuf,
    settings: Settings,
    size: Size,
    wasm_toolchain: OnceLock<TaskResult<WasmToolchain>>,
    bindgen: OnceLock<TaskResult<PathBuf>>,
    node_modules: OnceLock<TaskResult>,
    browser: OnceLock<TaskResult<Browser>>,
    pub(crate) package: OnceLock<TaskResult>,
    pub(crate) page: OnceLock<TaskResult>,
}

impl Project {
    /// The checkout that this task was built from.
    pub(crate) fn open(size: Size) -> TaskResult<Self> {
        let root = root();
        let settings = settings::read(&root)?;
        Ok(Self {
            root,
            settings,
            size,
            wasm_toolchain: OnceLock::new(),
            bindgen: OnceLock::new(),
            node_modules: OnceLock::new(),
            browser: OnceLock::new(),
            package: OnceLock::new(),
            page: OnceLock::new(),
        })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn www(&self) -> PathBuf {
        self.root.join("www")
    }

    pub(crate) fn dist(&self) -> PathBuf {
        self.root.join("dist")
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.size == Size::Whole
    }

    /// Installs whatever any verb needs and is missing, except for what only a whole check or a bench needs.
    pub(crate) fn set_up(&self) -> TaskResult {
        toolchain::components(&self.root)?;
        self.wasm_toolchain()?;
        self.bindgen()?;
        self.node_modules()?;
        self.browser()?;
        Ok(())
    }

    /// The cargo that runs this task, for everything native.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = process::cargo(&self.root);
        self.pass_size(&mut command);
        command
    }

    fn pass_size(&self, command: &mut Command) {
        match self.size {
            Size::Whole => command.env(WHOLE, "1"),
            Size::Quick => command.env_remove(WHOLE),
        };
    }

    /// What builds for wasm32.
    pub(crate) fn wasm_toolchain(&self) -> TaskResult<&WasmToolchain> {
        self.wasm_toolchain
            .get_or_init(|| toolchain::find_or_install(&self.root))
            .as_ref()
            .map_err(Clone::clone)
    }

    /// Where cargo puts the page's compiled modules.
    pub(crate) fn compiled(&self) -> PathBuf {
        self.root.join("target").join(toolchain::TARGET).join(&self.settings.build.profile)
    }

    /// wasm-bindgen's generator.
    pub(crate) fn bindgen(&self) -> TaskResult<&Path> {
        self.bindgen
            .get_or_init(|| tools::bindgen(&self.root, &self.settings.tools))
            .as_deref()
            .map_err(Clone::clone)
    }

    /// The page's tools, as the lock file has them.
    pub(crate) fn node_modules(&self) -> TaskResult {
        self.node_modules.get_or_init(|| packages::install(&self.www())).clone()
    }

    /// What the checks in a browser need.
    pub(crate) fn browser(&self) -> TaskResult<&Browser> {
        self.browser.get_or_init(browser::find_or_install).as_ref().map_err(Clone::clone)
    }

    /// A tool of the page's development, run in its folder.
    pub(crate) fn node_tool(&self, name: &str) -> TaskResult<Command> {
        self.node_modules()?;
        let mut command = Command::new(self.www().join("node_modules/.bin").join(name));
        command.current_dir(self.www());
        self.pass_size(&mut command);
        Ok(command)
    }
}
