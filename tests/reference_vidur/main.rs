//! Vidur's own answers: whole runs of its schedulers, routers and pipelines, equal to a microsecond.
//!
//! The folder is `SERVESCOPE_REFERENCE` (default: `../shared/reference`); its form is that of `reference/vidur`: a folder
//! for each run, and one called `operator-tables`.

mod compact;
mod knee;
mod memory;
mod runs;
mod sheet;
mod summaries;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use servescope_cost::profile::ExactTables;
use servescope_engine::{Fleet, FleetConfig, Report};
use servescope_lab::vidur::{VidurRun, operator_tables};
use servescope_workload::Trace;

struct Setup {
    run: VidurRun,
    cost: ExactTables,
    trace: Arc<Trace>,
    /// The operator tables as they stand.
    meta: Value,
    texts: [String; 3],
}

/// A folder with one run of Vidur.
struct Case {
    folder: PathBuf,
    config: Value,
}

impl Case {
    fn name(&self) -> String {
        self.folder.file_name().map_or_else(String::new, |n| n.to_string_lossy().into())
    }

    fn file(&self, name: &str) -> Option<PathBuf> {
        Some(self.folder.join(name)).filter(|p| p.is_file())
    }

    fn run(&self) -> VidurRun {
        VidurRun::read(&self.config).unwrap_or_else(|e| panic!("{}: {e}", self.name()))
    }

    /// The run's settings, unless its operator tables are not there.
    fn setup(&self) -> Option<Setup> {
        let name = self.config["operator_tables"].as_str().expect("operator_tables");
        let root = self.folder.parent().expect("a run lies in a folder");
        let tables = [root, root.parent().unwrap_or(root)].map(|r| r.join("operator-tables").join(name));
        let Some(tables) = tables.iter().find(|t| t.is_dir()) else {
            println!("{}: operator-tables/{name} is absent: skipped", self.name());
            return None;
        };
        let run = self.run();
        let (mut trace, _) = sheet::trace(&self.folder.join("trace.csv"));
        run.replay.apply(&mut trace);
        let trace = Arc::new(trace);
        let (meta, texts) = sheet::table_texts(tables);
        let [token_ops, decode, prefill] = &texts;
        let cost = operator_tables(&meta, run.stages, [token_ops, decode, prefill])
            .unwrap_or_else(|e| panic!("{}: {e}", tables.display()));
        Some(Setup { run, cost, trace, meta, texts })
    }
}

impl Setup {
    fn fleet(&self, change: impl FnOnce(&mut FleetConfig)) -> Fleet {
        let mut run = self.run.clone();
        change(&mut run.fleet);
        run.begin(self.trace.clone(), self.cost.clone())
    }

    fn run(&self) -> Report {
        self.fleet(|_| {}).run()
    }
}

/// Every run below the reference folder.
fn cases() -> Vec<Case> {
    let Some(root) = servescope_tests::folder("SERVESCOPE_REFERENCE", "reference") else { return Vec::new() };
    let configs = servescope_tests::files(&root, |name| name == "config.json");
    let read = |path: &Path| -> Value {
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let all = configs.iter().map(|path| Case {
        folder: path.parent().expect("a file has a folder").to_owned(),
        config: read(path),
    });
    all.filter(|case| case.config.get("operator_tables").is_some() && case.file("trace.csv").is_some())
        .collect()
}
