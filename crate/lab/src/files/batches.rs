//! `batches.csv`: one row an iteration. A run of equal iterations is written out one by one.

use std::fmt;

#[cfg(feature = "engines")]
use servescope_cost::OperatorClass;
use servescope_engine::Report;
#[cfg(feature = "engines")]
use servescope_engine::metrics::operators::{RunParts, run_parts};
#[cfg(feature = "engines")]
use servescope_engine::timeline::IterationRun;
use servescope_engine::timeline::Span;

/// The file as text.
pub fn batches_csv(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_batches_csv(report, &mut text);
    text
}

/// Writes the file. A fleet's has milliseconds by class of operator, all stages together, and FLOPs and bytes that a GPU
/// is asked for, empty where the cost model does not know them.
///
/// # Errors
/// Those of `to`.
pub fn write_batches_csv(report: &Report, to: &mut dyn fmt::Write) -> fmt::Result {
    to.write_str(
        "id,replica,kind,start_s,duration_s,adapter_load_s,requests,prefill_tokens,decode_tokens,kv_tokens,\
         adapters_resident",
    )?;
    #[cfg(feature = "engines")]
    if report.cost.is_some() {
        return write_fleet(report, to);
    }
    to.write_char('\n')?;
    let mut id = 0u64;
    for span in report.timeline.spans() {
        match span {
            Span::Prefill(p) => {
                writeln!(
                    to,
                    "{id},0,prefill,{},{},{},{},{},0,{},{}",
                    (p.end_us - p.prefill_us) / 1e6,
                    p.prefill_us / 1e6,
                    p.load_us / 1e6,
                    p.requests,
                    p.tokens,
                    p.kv_tokens,
                    p.resident
                )?;
                id += 1;
            }
            Span::Decode(d) => {
                let mut start = d.start_us;
                for i in 0..d.iterations {
                    let k = f64::from(i);
                    let duration = d.first_us + k * d.growth_us;
                    let kv = f64::from(d.kv_tokens) + k * f64::from(d.requests);
                    writeln!(
                        to,
                        "{id},0,decode,{},{},0,{},0,{},{kv},{}",
                        start / 1e6,
                        duration / 1e6,
                        d.requests,
                        d.requests,
                        d.resident
                    )?;
                    id += 1;
                    start = d.start_us + (k + 1.0) * d.first_us + d.growth_us * (k * (k + 1.0) * 0.5);
                }
            }
            Span::Iterations(_) => {}
        }
    }
    Ok(())
}

/// The rest of the heading, and the iterations of a fleet.
#[cfg(feature = "engines")]
fn write_fleet(report: &Report, to: &mut dyn fmt::Write) -> fmt::Result {
    to.write_str(",prompts")?;
    for class in OperatorClass::ALL {
        write!(to, ",{}_ms", class.name())?;
    }
    to.write_str(",gpu_flops,gpu_bytes\n")?;
    let stages = report.cost.as_ref().map_or(1, |model| model.0.stages().max(1));
    let mut id = 0u64;
    for (run, parts) in run_parts(report) {
        for index in 0..run.iterations {
            write_iteration(to, id, &run, index)?;
            write_parts(to, &parts, index, f64::from(stages))?;
            id += 1;
        }
    }
    Ok(())
}

#[cfg(feature = "engines")]
fn write_iteration(to: &mut dyn fmt::Write, id: u64, run: &IterationRun, index: u32) -> fmt::Result {
    let k = f64::from(index);
    let start = run.start_us + k * run.first_us + run.growth_us * (k * (k - 1.0) * 0.5);
    write!(
        to,
        "{id},{},{},{},{},0,{},{},{},{},0,{}",
        run.replica,
        super::kind(run),
        start / 1e6,
        (run.first_us + k * run.growth_us) / 1e6,
        run.requests(),
        run.prompt_tokens,
        run.decodes,
        run.kv_tokens + k * f64::from(run.decodes),
        run.prompts
    )
}

#[cfg(feature = "engines")]
fn write_parts(to: &mut dyn fmt::Write, parts: &RunParts, index: u32, stages: f64) -> fmt::Result {
    for us in parts.parts_us(index) {
        write!(to, ",{}", us * stages / 1e3)?;
    }
    match parts.work(index) {
        Some(work) => writeln!(to, ",{},{}", work.flops, work.bytes),
        None => to.write_str(",,\n"),
    }
}
