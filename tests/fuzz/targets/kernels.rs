//! Any bytes as a table of measured kernels: read, written and read again alike, or rejected, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use servescope_cost::kernels::Kernels;

fuzz_target!(|bytes: &[u8]| {
    let Ok(kernels) = Kernels::read(&String::from_utf8_lossy(bytes)) else { return };
    let again = Kernels::read(&kernels.text()).expect("what was written is read");
    assert_eq!(again.gpu, kernels.gpu);
    for (name, table) in &kernels.tables {
        let found = &again.tables[name];
        assert_eq!((&found.source, &found.grid.axes), (&table.source, &table.grid.axes));
        assert!(found.grid.values.iter().all(|value| value.is_finite()));
    }
});
