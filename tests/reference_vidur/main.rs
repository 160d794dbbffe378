//! Vidur's own answers: whole runs of its schedulers, routers and pipelines, equal to a microsecond.
//!
//! The folder is the one that `SERVESCOPE_REFERENCE` names, otherwise `tests/reference/`; its form is that of
//! `tests/reference/vidur`: a folder for each run, and one called `operator-tables`.

mod compact;
mod knee;
mod memory;
mod runs;
mod sheet;
mod summaries;

use std::path::PathBuf;
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
        servescope_tests::file(&self.folder, name)
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
        let (mut trace, _) = sheet::trace(&self.file("trace.csv").expect("a case has a trace"));
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
    let root = servescope_tests::reference();
    let configs = servescope_tests::files(&root, |name| name == "config.json");
    let all = configs.iter().map(|path| Case {
        folder: path.parent().expect("a file has a folder").to_owned(),
        config: servescope_tests::json(path),
    });
    all.filter(|case| case.config.get("operator_tables").is_some() && case.file("trace.csv").is_some())
        .collect()
}
