//! How fast the machine computes while the check runs, beside the quiet machine that the budget is for.
//!
//! Machines differ, and a machine that is shared is slower when its neighbours compute. So a thread does the same small piece of
//! work every few seconds, and the processor's time for it is compared with what `checks.toml` names. The time of the thread
//! leaves out its waits for the check's own programs; the system's count of stolen time has what other machines on the same
//! processor took.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Between two pieces of work, each of a fifth of a second or less.
const PAUSE: Duration = Duration::from_secs(10);

/// Entries of one piece of work: some twenty megabytes of strings and nodes, as a compiler has them.
const ENTRIES: u64 = 200_000;

/// A measurement under way.
pub(super) struct PaceMeasurement {
    stop: Sender<()>,
    samples: JoinHandle<Vec<f64>>,
    begun: Option<CpuTimes>,
}

impl PaceMeasurement {
    /// Begins in a thread of its own.
    pub(super) fn begin() -> Self {
        let (stop, stopped) = mpsc::channel();
        let samples = thread::spawn(move || {
            let mut samples = Vec::new();
            loop {
                samples.extend(sample_s());
                if stopped.recv_timeout(PAUSE) != Err(RecvTimeoutError::Timeout) {
                    return samples;
                }
            }
        });
        Self { stop, samples, begun: CpuTimes::now() }
    }

    /// How many times as long as on the quiet machine the same work took, where a piece of it takes `quiet_s` there; `None` where the
    /// system does not count the time of threads.
    pub(super) fn end(self, quiet_s: f64) -> Option<f64> {
        // The thread has ended only where it panicked.
        let _ = self.stop.send(());
        let samples = self.samples.join().ok()?;
        let stolen = self.begun.zip(CpuTimes::now()).map_or(0.0, |(begun, ended)| begun.stolen_until(&ended));
        slowdown(&samples, stolen, quiet_s)
    }
}

fn slowdown(samples: &[f64], stolen: f64, quiet_s: f64) -> Option<f64> {
    let mean_s = samples.iter().sum::<f64>() / samples.len() as f64;
    (!samples.is_empty()).then(|| mean_s / quiet_s / (1.0 - stolen.min(0.9)))
}

/// The processor's seconds for one piece of work.
fn sample_s() -> Option<f64> {
    let before_s = thread_s()?;
    black_box(work());
    Some(thread_s()? - before_s)
}

fn work() -> usize {
    let mut state = 1_u64;
    let mut entries = BTreeMap::new();
    for _ in 0..ENTRIES {
        // Knuth's linear congruential generator (MMIX).
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        entries.insert(state >> 20, format!("{state:x}"));
    }
    entries.values().map(String::len).sum()
}

/// The processor's seconds of this thread so far (the first number of schedstat, nanoseconds).
fn thread_s() -> Option<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse::<f64>().ok().map(|ns| ns / 1e9)
}

/// What the processors did since the machine started, in ticks.
struct CpuTimes {
    busy: f64,
    stolen: f64,
}

impl CpuTimes {
    fn now() -> Option<Self> {
        Self::read(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal (proc(5)).
    fn read(text: &str) -> Option<Self> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<f64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let [user, nice, system, _, _, irq, softirq, stolen, ..] = ticks[..] else { return None };
        Some(Self { busy: user + nice + system + irq + softirq, stolen })
    }

    /// The share that others took of the time in which these processors had work.
    fn stolen_until(&self, later: &Self) -> f64 {
        let (busy, stolen) = (later.busy - self.busy, later.stolen - self.stolen);
        if busy + stolen > 0.0 { stolen / (busy + stolen) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slower_work_and_stolen_time_multiply() {
        assert_eq!(slowdown(&[0.25, 0.75], 0.0, 0.125), Some(4.0));
        assert_eq!(slowdown(&[0.25], 0.5, 0.25), Some(2.0));
        assert_eq!(slowdown(&[], 0.5, 0.1), None);
    }

    #[test]
    fn the_stolen_share_is_of_the_time_with_work() {
        let begun = CpuTimes::read("cpu  100 0 50 9000 5 0 10 20 0 0\ncpu0 1\n").unwrap();
        let ended = CpuTimes::read("cpu  180 5 60 9900 5 0 15 120 0 0\n").unwrap();
        assert_eq!(begun.stolen_until(&ended), 0.5);
        assert!(CpuTimes::read("cpu  1 2 3\n").is_none());
        assert!(CpuTimes::read("").is_none());
    }

    #[test]
    fn the_same_work_is_measured_where_the_system_counts_it() {
        assert_eq!(work(), work());
        let measured = PaceMeasurement::begin().end(0.1);
        assert_eq!(measured.is_some(), thread_s().is_some());
        assert!(measured.is_none_or(|slowdown| slowdown > 0.0));
    }
}
