//! Work on all cores, and a bar that shows how much of it is left.

use std::num::NonZero;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::output::CliError;

/// How many threads simulate.
#[derive(Args)]
pub(crate) struct Threads {
    /// Number of parallel runs; all cores by default. The result does not depend on it.
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
}

impl Threads {
    /// As many threads as asked for, all cores by default.
    pub(crate) fn count(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
        self.threads.map_or_else(cores, NonZero::get)
    }

    /// As many threads as asked for, all cores by default, and no more than there are tasks.
    pub(crate) fn pool(&self, tasks: usize) -> Result<ThreadPool, CliError> {
        let threads = self.count().min(tasks.max(1));
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        pool.map_err(|error| CliError::Run(format!("the threads do not start: {error}")))
    }
}

/// A bar with the time left on standard error, where that is a terminal; it goes when it is dropped.
pub(crate) fn bar(tasks: usize) -> ProgressBar {
    if tasks < 2 {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("[{bar:40}] {pos}/{len}, {elapsed} gone, {eta} left");
    let style = style.expect("the template is sound").progress_chars("##-");
    ProgressBar::new(tasks as u64).with_style(style).with_finish(indicatif::ProgressFinish::AndClear)
}
