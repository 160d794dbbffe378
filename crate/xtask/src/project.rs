//! The project's folders, and what a task may need from the machine, each looked for or made once a run.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::browser::{self, Browser};
use crate::process::Outcome;
use crate::settings::{self, Settings};
use crate::toolchain::{self, WasmToolchain};
use crate::{generate, packages, page, wasm};

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
    wasm_toolchain: OnceCell<Outcome<WasmToolchain>>,
    node_modules: OnceCell<Outcome>,
    browser: OnceCell<Outcome<Browser>>,
    package: OnceCell<Outcome>,
    page: OnceCell<Outcome>,
}

impl Project {
    /// The checkout that this task was built from.
    pub(crate) fn open() -> Outcome<Self> {
        let root = root();
        let settings = settings::read(&root)?;
        Ok(Self {
            root,
            settings,
            wasm_toolchain: OnceCell::new(),
            node_modules: OnceCell::new(),
            browser: OnceCell::new(),
            package: OnceCell::new(),
            page: OnceCell::new(),
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

    /// Installs whatever any verb needs and is missing.
    pub(crate) fn set_up(&self) -> Outcome {
        toolchain::components(&self.root)?;
        self.wasm_toolchain()?;
        self.node_modules()?;
        self.browser()?;
        Ok(())
    }

    /// What builds for wasm32.
    pub(crate) fn wasm_toolchain(&self) -> Outcome<&WasmToolchain> {
        self.wasm_toolchain.get_or_init(|| toolchain::find_or_install(self)).as_ref().map_err(Clone::clone)
    }

    /// The page's tools, as the lock file has them.
    pub(crate) fn node_modules(&self) -> Outcome {
        self.node_modules.get_or_init(|| packages::install(&self.www())).clone()
    }

    /// What the checks in a browser need.
    pub(crate) fn browser(&self) -> Outcome<&Browser> {
        self.browser.get_or_init(browser::find_or_install).as_ref().map_err(Clone::clone)
    }

    /// The wasm package and the generated sources: what the page's own sources need to make sense.
    pub(crate) fn package(&self) -> Outcome {
        self.package
            .get_or_init(|| {
                generate::write(self)?;
                wasm::build(self)
            })
            .clone()
    }

    /// The whole page, in `dist/`.
    pub(crate) fn page(&self) -> Outcome {
        self.page.get_or_init(|| page::build(self)).clone()
    }

    /// A tool of the page's development, run in its folder.
    pub(crate) fn node_tool(&self, name: &str) -> Outcome<Command> {
        self.node_modules()?;
        let mut command = Command::new(self.www().join("node_modules/.bin").join(name));
        command.current_dir(self.www());
        Ok(command)
    }
}
