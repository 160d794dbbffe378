//! A line of steps with semicolons between, then a trace file: rejected, or a trace that is sound and the same every time.
#![no_main]

use libfuzzer_sys::fuzz_target;
use servescope_traces::recipe::Recipe;
use servescope_workload::formats::{Format, read, write};
use servescope_workload::transform::{TransformStep, apply, join};

fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|&b| b == b'\n').unwrap_or(bytes.len());
    let (line, rest) = bytes.split_at(end);
    let rest = rest.get(1..).unwrap_or_default();
    if let Ok(Some(json)) = Recipe::find(rest) {
        let _ = Recipe::from_json(&json);
    }
    let Ok(text) = std::str::from_utf8(line) else { return };
    let steps: Vec<TransformStep> = text.split(';').filter_map(|step| TransformStep::parse(step).ok()).collect();
    for step in &steps {
        assert_eq!(TransformStep::parse(&step.to_text()).as_ref(), Ok(step));
    }
    let Ok(first) = read(rest) else { return };
    // Many labels and long prompts in blocks make big tables of small files, which is slow and teaches nothing.
    if steps.iter().any(|step| step.text_of("count").is_ok_and(|n| n.len() > 4)) || first.trace.len() > 1000 {
        return;
    }
    for step in &steps {
        let _ = join(step, vec![("a".to_owned(), first.trace.clone()), ("b".to_owned(), first.trace.clone())]);
    }
    let made = apply(&steps, first.trace.clone());
    let Ok((trace, notes)) = &made else { return };
    assert_eq!(notes.len(), steps.len());
    assert!(trace.arrival_us.is_sorted() && trace.arrival_us.iter().all(|t| t.is_finite() && *t >= 0.0));
    assert!((0..trace.len()).all(|id| trace.max_tokens[id] >= trace.output_tokens[id] && trace.input_tokens[id] > 0));
    let text = write(trace, Format::ServescopeJsonl).expect("the format is writable");
    assert_eq!(read(text.as_bytes()).expect("what was written is read").trace.arrival_us, trace.arrival_us);
    assert_eq!(apply(&steps, first.trace).expect("it was good before").0.arrival_us, trace.arrival_us);
});
