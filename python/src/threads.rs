//! Independent tasks on several threads, without Python's lock, and with Ctrl-C heard between them.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::errors::count;

/// How often signals are looked for.
const PULSE: Duration = Duration::from_millis(50);

/// Most threads that can be asked for.
const MOST: usize = 1024;

/// As many threads as asked for, by default one a core.
pub(crate) fn number(py: Python<'_>, asked: Option<i64>) -> PyResult<usize> {
    asked.map_or_else(
        || Ok(thread::available_parallelism().map_or(1, NonZero::get)),
        |asked| count(py, "threads", asked, MOST),
    )
}

/// Works at tasks by number, each on the thread that is free, and hands each result to `done` on the caller's thread. A signal, or
/// an error of `done`, lets no further task begin.
pub(crate) fn each<T: Send>(
    py: Python<'_>,
    tasks: usize,
    threads: usize,
    work: impl Fn(usize) -> T + Sync,
    mut done: impl FnMut(Python<'_>, usize, T) -> PyResult<()> + Send,
) -> PyResult<()> {
    let (next, is_stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    py.detach(|| {
        thread::scope(|scope| {
            let (sender, results) = channel();
            for _ in 0..threads.min(tasks) {
                let (sender, next, is_stopped, work) = (sender.clone(), &next, &is_stopped, &work);
                scope.spawn(move || {
                    while !is_stopped.load(Ordering::Relaxed) {
                        let place = next.fetch_add(1, Ordering::Relaxed);
                        if place >= tasks || sender.send((place, work(place))).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            let mut outcome = Ok(());
            let mut heard = Instant::now();
            loop {
                let result = match results.recv_timeout(PULSE) {
                    Ok(result) => Some(result),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => return outcome,
                };
                if outcome.is_err() || (result.is_none() && heard.elapsed() < PULSE) {
                    continue;
                }
                outcome = Python::attach(|py| {
                    if let Some((place, result)) = result {
                        done(py, place, result)?;
                    }
                    heard = Instant::now();
                    py.check_signals()
                });
                is_stopped.store(outcome.is_err(), Ordering::Relaxed);
            }
        })
    })
}

/// The results of tasks, in their order.
pub(crate) fn all<T: Send>(
    py: Python<'_>,
    tasks: usize,
    threads: usize,
    work: impl Fn(usize) -> T + Sync,
) -> PyResult<Vec<T>> {
    let mut results: Vec<Option<T>> = (0..tasks).map(|_| None).collect();
    each(py, tasks, threads, work, |_, place, result| {
        results[place] = Some(result);
        Ok(())
    })?;
    Ok(results.into_iter().flatten().collect())
}

/// Advances work in slices until it says that it is at its end, without Python's lock, and hears signals between them.
pub(crate) fn sliced(py: Python<'_>, mut advance: impl FnMut() -> bool + Send) -> PyResult<()> {
    py.detach(|| {
        let mut heard = Instant::now();
        while !advance() {
            if heard.elapsed() > PULSE {
                Python::attach(|py| py.check_signals())?;
                heard = Instant::now();
            }
        }
        Ok(())
    })
}
