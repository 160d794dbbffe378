//! Any bytes as a result file of a load generator: read and, where it is small, simulated and compared, or rejected, never a
//! panic or a NaN.
#![no_main]

use libfuzzer_sys::fuzz_target;
use servescope_settings::profiles::NamedText;
use servescope_evidence::overlay::{Overlay, document, read, take_over};
use servescope_traces::loaded_trace::LoadedTrace;
use servescope_lab::run::Run;
use servescope_settings::scenario::Scenario;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let Ok(measured) = read(NamedText { name: "result", text: &text }, |_| Some(&text)) else { return };
    let tokens = |of: fn(&servescope_evidence::overlay::MeasuredRequest) -> u32| {
        measured.requests.iter().map(|request| u64::from(of(request))).sum::<u64>()
    };
    let mut scenario = Scenario::of_version(4);
    let taken = take_over(&measured, &mut scenario);
    let is_small = tokens(|r| r.input_tokens) < 4_000 && tokens(|r| r.output_tokens) < 1_000;
    if !is_small || measured.requests.len() > 100 {
        return;
    }
    let loaded = LoadedTrace::from_trace("measured", measured.trace());
    let Ok(run) = Run::simulate(&scenario, Some(&loaded)) else { return };
    let overlay = Overlay::of(&measured, &run);
    for metric in &overlay.metrics {
        let numbers = [metric.measured, metric.simulated, metric.mape, metric.bias, metric.correlation];
        assert!(numbers.iter().flatten().all(|x| x.is_finite()), "{metric:?}");
    }
    let _ = document(&measured, &scenario, &taken, &overlay, None);
});
