//! Any bytes as a file of measured deployments: read, and small rows run, or rejected, never a panic or a NaN.
#![no_main]

use libfuzzer_sys::fuzz_target;
use servescope_evidence::silicon::{SiliconRow, predict, read, table};

fn is_small(row: &SiliconRow) -> bool {
    row.input_tokens <= 256 && row.output_tokens <= 16 && row.in_flight.is_none_or(|n| n <= 4)
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(rows) = read(&String::from_utf8_lossy(bytes)) else { return };
    let rows: Vec<SiliconRow> = rows.into_iter().filter(is_small).take(3).collect();
    let predicted: Vec<_> = rows.iter().map(predict).collect();
    for answer in predicted.iter().flatten() {
        assert!(answer.ttft_ms.is_finite() && answer.tpot_ms.is_finite());
    }
    assert!(!table(&rows, &predicted).contains("NaN"));
});
