//! Vidur's own answers: whole runs of its schedulers, routers and pipelines, equal to a microsecond.
//!
//! The folder is the one that `SERVESCOPE_REFERENCE` names, otherwise `tests/reference/`; its form is that of
//! `tests/reference/vidur`: a folder for each run, and one called `operator-tables`, in the run's own folder or beside it.

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
use servescope_engine::{Fleet, PoolConfig, Report};
use servescope_settings::vidur::{VidurRun, operator_tables};
use servescope_workload::Trace;

struct Setup {
    run: VidurRun,
    /// What Vidur looked up: operators, and the host's work where it counts it.
    cost: ExactTables,
    /// The operators alone.
    operators: ExactTables,
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
        let run = self.run();
        let folders = run.table_folders(&self.folder);
        let Some(tables) =
            folders.iter().find(|folder| servescope_tests::file(folder, "meta.json").is_some())
        else {
            // The repository's own selection has the tables of each of its runs.
            let is_named = std::env::var_os("SERVESCOPE_REFERENCE").is_some();
            assert!(is_named, "{}: {:?} is absent", self.name(), run.operator_tables);
            println!("{}: {:?} is absent: skipped", self.name(), run.operator_tables);
            return None;
        };
        let (mut trace, _) = sheet::trace(&self.file("trace.csv").expect("a case has a trace"));
        run.replay.apply(&mut trace);
        let trace = Arc::new(trace);
        let (meta, texts) = sheet::table_texts(tables);
        let [token_ops, decode, prefill] = &texts;
        let operators = operator_tables(&meta, run.stages, [token_ops, decode, prefill])
            .unwrap_or_else(|e| panic!("{}: {e}", tables.display()));
        let cost = with_host(operators.clone(), &run, &meta, tables);
        Some(Setup { run, cost, operators, trace, meta, texts })
    }
}

/// The tables with the host's work, where the run counts it and its tables have it.
fn with_host(cost: ExactTables, run: &VidurRun, meta: &Value, tables: &Path) -> ExactTables {
    let host = servescope_tests::file(tables, "cpu_overheads.csv").filter(|_| run.has_host_overhead());
    let Some(host) = host else { return cost };
    let model = meta["model"].as_str().unwrap_or(&run.model);
    cost.with_host(&servescope_tests::text(&host), model)
        .unwrap_or_else(|e| panic!("{}: {e}", host.display()))
}

impl Setup {
    fn fleet(&self, change: impl FnOnce(&mut PoolConfig)) -> Fleet {
        let mut run = self.run.clone();
        change(&mut run.pool);
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
    let has_tables = |case: &Case| {
        case.config.get("operator_tables").is_some() || case.folder.join("operator-tables").is_dir()
    };
    all.filter(|case| has_tables(case) && case.file("trace.csv").is_some()).collect()
}
