//! The native part of the Python package `servescope`: what `package/servescope` turns into Python's own types. Everything that
//! it answers comes from the crates that the terminal uses, as the terminal's answers do.

mod capacity;
mod compare;
mod errors;
mod inputs;
mod simulate;
mod sweep;
mod threads;

use pyo3::prelude::*;

/// Runs, comparisons, sweeps and capacity searches; the package `servescope` is what people use.
#[pymodule]
fn _servescope(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<inputs::Scenario>()?;
    module.add_class::<inputs::Trace>()?;
    module.add_class::<inputs::Profile>()?;
    module.add_class::<sweep::Plan>()?;
    module.add_class::<sweep::Journal>()?;
    module.add_function(wrap_pyfunction!(simulate::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare, module)?)?;
    module.add_function(wrap_pyfunction!(capacity::capacity, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::join, module)?)
}
