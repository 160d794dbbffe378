//! `batches.csv`: one row an iteration. A run of equal iterations is written out one by one.

use std::fmt;

use servescope_cost::OperatorClass;
use servescope_engine::Report;
use servescope_engine::metrics::operators::{RunParts, run_parts};
use servescope_engine::timeline::IterationRun;

/// The file as text.
pub fn batches_csv(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_batches_csv(report, &mut text);
    text
}

/// Writes the file. Where the cost model knows the parts of an iteration, it has the number of prompts, milliseconds by
/// class of operator, all stages together, and FLOPs and bytes that a GPU is asked for, empty where the model does not
/// know them.
///
/// # Errors
/// Those of `to`.
pub fn write_batches_csv(report: &Report, to: &mut dyn fmt::Write) -> fmt::Result {
    to.write_str(
        "id,replica,kind,start_s,duration_s,adapter_load_s,requests,prefill_tokens,decode_tokens,kv_tokens,\
         adapters_resident",
    )?;
    to.write_str(",prompts")?;
    for class in OperatorClass::ALL {
        write!(to, ",{}_ms", class.name())?;
    }
    to.write_str(",gpu_flops,gpu_bytes\n")?;
    let mut id = 0u64;
    for (run, parts) in run_parts(report) {
        let stages = report.pool(run.replica).cost.stages().max(1);
        for index in 0..run.iterations {
            write_iteration(to, id, run, index)?;
            write!(to, ",{}", run.prompts)?;
            write_parts(to, &parts, index, f64::from(stages))?;
            id += 1;
        }
    }
    Ok(())
}

fn write_iteration(to: &mut dyn fmt::Write, id: u64, run: &IterationRun, index: u32) -> fmt::Result {
    let k = f64::from(index);
    // Adapters are loaded before the first of them.
    let load_us = if index == 0 { run.adapter_load_us } else { 0.0 };
    let start = run.start_us + k * run.first_us + run.growth_us * (k * (k - 1.0) * 0.5) + load_us;
    write!(
        to,
        "{id},{},{},{},{},{},{},{},{},{},{}",
        run.replica,
        super::kind(run),
        start / 1e6,
        // Of an iteration that takes no time but for the loading, rounding may leave less than nothing.
        (run.first_us + k * run.growth_us - load_us).max(0.0) / 1e6,
        load_us / 1e6,
        run.requests(),
        run.prompt_tokens,
        run.decode_tokens,
        run.kv_tokens + k * f64::from(run.decode_tokens),
        run.resident_adapters
    )
}

fn write_parts(to: &mut dyn fmt::Write, parts: &RunParts, index: u32, stages: f64) -> fmt::Result {
    for us in parts.parts_us(index) {
        write!(to, ",{}", us * stages / 1e3)?;
    }
    match parts.work(index) {
        Some(work) => writeln!(to, ",{},{}", work.flops, work.bytes),
        None => to.write_str(",,\n"),
    }
}
