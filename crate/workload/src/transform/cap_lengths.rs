//! `cap_lengths`: bounds on prompt, output and their sum, with a stated policy.
//!
//! `cut` shortens each to its own bound, and a sum above its bound at the expense of the answer, as a context window does;
//! `prompt_first` cuts the prompt where the sum is too long, as Vidur's request generator; `proportional` cuts both by
//! their share of the excess, rounded up, as Vidur's length traces; `drop` leaves such requests out. No length falls
//! below 1.

use super::error::StepError;
use super::field::Field;
use super::job::Job;
use super::scale_lengths::fit_blocks;
use super::step::{Run, StepKind};
use crate::formats::MAX_TOKENS;
use crate::trace::Trace;

const BOUNDS: [f64; 2] = [1.0, MAX_TOKENS as f64];

pub(super) const KIND: StepKind = StepKind {
    name: "cap_lengths",
    help: "Bounds prompt, output and their sum: by cutting, by leaving requests out, prompt first, or both in \
           proportion.",
    fields: &[
        Field::whole("max_input", "tokens", BOUNDS, 0.0, "longest prompt; empty: any").or_empty(),
        Field::whole("max_output", "tokens", BOUNDS, 0.0, "longest output; empty: any").or_empty(),
        Field::whole("max_total", "tokens", [2.0, 2.0 * BOUNDS[1]], 0.0, "longest sum; empty: any")
            .or_empty(),
        Field::choice(
            "policy",
            &["cut", "drop", "prompt_first", "proportional"],
            "what becomes of a request above a bound",
        ),
    ],
    run: Run::One(run),
};

fn run(job: &mut Job<'_>, mut trace: Trace) -> Result<Trace, StepError> {
    let bound = |field| job.optional(field).map_or(u64::MAX, |bound| bound as u64);
    let (max_input, max_output, max_total) = (bound("max_input"), bound("max_output"), bound("max_total"));
    let policy = job.choice("policy");
    let lengths =
        |trace: &Trace, id: usize| (u64::from(trace.input_tokens[id]), u64::from(trace.output_tokens[id]));
    if policy == "drop" {
        let kept = trace.filter(|id| {
            let (input, output) = lengths(&trace, id);
            input <= max_input && output <= max_output && input + output <= max_total
        });
        job.note("over_cap", &[("dropped", (trace.len() - kept.len()) as f64)]);
        return Ok(kept);
    }
    let before = trace.input_tokens.clone();
    let (mut inputs, mut outputs) = (0u32, 0u32);
    for id in 0..trace.len() {
        let (was_input, was_output) = lengths(&trace, id);
        let (mut input, mut output) = (was_input.min(max_input), was_output.min(max_output));
        let excess = (input + output).saturating_sub(max_total);
        match policy {
            _ if excess == 0 => (),
            "prompt_first" => input = input.saturating_sub(excess),
            "proportional" => {
                let total = input + output;
                let (from_input, from_output) =
                    ((excess * input).div_ceil(total), (excess * output).div_ceil(total));
                (input, output) = (input.saturating_sub(from_input), output.saturating_sub(from_output));
            }
            _ => output = output.saturating_sub(excess),
        }
        // What one side could not give, the other does.
        (input, output) = (input.max(1), output.max(1));
        if input + output > max_total {
            if policy == "prompt_first" {
                output = max_total - input;
            } else {
                input = max_total - output;
            }
        }
        inputs += u32::from(input < was_input);
        outputs += u32::from(output < was_output);
        trace.input_tokens[id] = input as u32;
        trace.output_tokens[id] = output as u32;
        // max_tokens is at most the bound, too, and at least the true length.
        let room = max_output.min(max_total - input).max(output);
        trace.max_tokens[id] = u64::from(trace.max_tokens[id]).min(room) as u32;
    }
    job.note("capped", &[("input", inputs.into()), ("output", outputs.into())]);
    fit_blocks(job, &mut trace, &before)?;
    Ok(trace)
}
