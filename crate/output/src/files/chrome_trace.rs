//! `trace.json` in Chrome's trace event format, which Perfetto and chrome://tracing open: a process for each replica, a
//! thread for each of its pipeline stages. Runs of equal iterations are one slice each.

use servescope_engine::ReplicaIndex;
use std::fmt;

use servescope_engine::metrics::lanes::{StageWork, stage_works};
use servescope_engine::{Outcome, Report};

/// The file as text.
pub fn chrome_trace(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_chrome_trace(report, &mut text);
    text
}

/// Writes the file, event by event.
///
/// # Errors
/// Those of `to`.
pub fn write_chrome_trace(report: &Report, to: &mut dyn fmt::Write) -> fmt::Result {
    to.write_str("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n")?;
    let mut events = TraceEvents { to, any: false };
    for index in ReplicaIndex::first(report.replicas.len()) {
        let (replica, pool) = (u32::from(index.get()), report.pool(index));
        let stages = pool.cost.stages().max(1);
        events.name(replica, 0, "process_name", "replica", replica)?;
        for stage in 0..stages {
            events.name(replica, stage, "thread_name", if stages > 1 { "stage" } else { "GPU" }, stage)?;
        }
    }
    write_works(report, &mut events)?;
    write_waiting(report, &mut events)?;
    events.to.write_str("\n]}\n")
}

/// Events, one a line.
struct TraceEvents<'a> {
    to: &'a mut dyn fmt::Write,
    any: bool,
}

impl TraceEvents<'_> {
    fn begin(&mut self, kind: char, [pid, tid]: [u32; 2], name: &str) -> fmt::Result {
        let comma = if std::mem::replace(&mut self.any, true) { ",\n" } else { "" };
        write!(self.to, "{comma}{{\"ph\":\"{kind}\",\"pid\":{pid},\"tid\":{tid},\"name\":\"{name}\",")
    }

    fn end(&mut self, arguments: fmt::Arguments<'_>) -> fmt::Result {
        write!(self.to, "\"args\":{{{arguments}}}}}")
    }

    fn name(&mut self, pid: u32, tid: u32, kind: &str, what: &str, number: u32) -> fmt::Result {
        self.begin('M', [pid, tid], kind)?;
        self.end(format_args!("\"name\":\"{what} {number}\""))
    }

    fn slice(&mut self, lane: [u32; 2], name: &str, start_us: f64, duration_us: f64) -> fmt::Result {
        self.begin('X', lane, name)?;
        write!(self.to, "\"ts\":{start_us},\"dur\":{duration_us},")
    }

    fn counter(&mut self, pid: u32, name: &str, time_us: f64, value: f64) -> fmt::Result {
        self.begin('C', [pid, 0], name)?;
        write!(self.to, "\"ts\":{time_us},")?;
        self.end(format_args!("\"{name}\":{value}"))
    }
}

/// The loading of adapters, the work of every stage, and a counter: KV tokens at the start and the end of runs.
fn write_works(report: &Report, events: &mut TraceEvents<'_>) -> fmt::Result {
    let mut over_us = vec![0.0f64; report.replicas.len()];
    for StageWork { run, stage, start_us, end_us } in stage_works(report) {
        if stage == 0 && run.adapter_load_us > 0.0 {
            // In a pipeline a batch may wait for its first stage.
            let waited = start_us > run.begins_us();
            let load_start_us = if waited { start_us - run.adapter_load_us } else { run.start_us };
            events.slice(
                [run.replica.get().into(), 0],
                "adapter load",
                load_start_us,
                run.adapter_load_us,
            )?;
            events.end(format_args!("\"resident\":{}", run.resident_adapters))?;
        }
        events.slice([run.replica.get().into(), stage], super::kind(run), start_us, end_us - start_us)?;
        events.end(format_args!(
            "\"requests\":{},\"prompts\":{},\"decodes\":{},\"prompt_tokens\":{},\"iterations\":{},\"kv_tokens\":{},\
             \"blocks\":{},\"stalled\":{}",
            run.requests(),
            run.prompts,
            run.decodes,
            run.prompt_tokens,
            run.iterations,
            run.kv_tokens,
            run.blocks,
            run.stalled
        ))?;
        if stage == 0 {
            // A replica that pauses holds nothing.
            let over_us = &mut over_us[run.replica];
            if run.start_us > *over_us {
                events.counter(run.replica.get().into(), "KV tokens", *over_us, 0.0)?;
            }
            *over_us = over_us.max(run.end_us);
            events.counter(run.replica.get().into(), "KV tokens", run.start_us, run.kv_tokens)?;
        }
    }
    for (replica, over_us) in over_us.into_iter().enumerate() {
        events.counter(replica as u32, "KV tokens", over_us, 0.0)?;
    }
    Ok(())
}

/// A counter of the requests that wait.
fn write_waiting(report: &Report, events: &mut TraceEvents<'_>) -> fmt::Result {
    for (time_us, replica, waiting) in waiting(report) {
        events.counter(replica.get().into(), "waiting", time_us, f64::from(waiting))?;
    }
    Ok(())
}

/// Every change of the number of requests that wait for their first iteration at a replica: (when, where, how many).
fn waiting(report: &Report) -> Vec<(f64, ReplicaIndex, i32)> {
    let mut changes: Vec<(f64, ReplicaIndex, i32)> = Vec::new();
    for (id, result) in report.results.iter().enumerate() {
        // The time at which one that was never scheduled left the queue is not recorded; it is left out.
        let left_us =
            report.scheduled_us(id).or((result.outcome == Outcome::Unfinished).then_some(f64::INFINITY));
        if let Some(left_us) = left_us {
            let replica = report.replica(id);
            changes.push((report.trace.arrival_us[id], replica, 1));
            changes.extend((left_us < f64::INFINITY).then_some((left_us, replica, -1)));
        }
    }
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut counts = vec![0; report.replicas.len()];
    let mut kept: Vec<(f64, ReplicaIndex, i32)> = Vec::with_capacity(changes.len());
    for (time_us, replica, change) in changes {
        let count = &mut counts[replica];
        *count += change;
        match kept.last_mut() {
            Some(last) if (last.0, last.1) == (time_us, replica) => last.2 = *count,
            _ => kept.push((time_us, replica, *count)),
        }
    }
    kept
}
