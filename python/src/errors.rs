//! Diagnostics as the exception `servescope.ServescopeError`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use servescope_settings::diagnostic::{Diagnostic, Param};

/// The exception of these errors, of which there is at least one.
pub(crate) fn raised(py: Python<'_>, errors: Vec<Diagnostic>) -> PyErr {
    let error = || {
        let class = py.import("servescope._errors")?.getattr("ServescopeError")?;
        let errors = errors.into_iter().map(|error| error_fields(py, error)).collect::<PyResult<Vec<_>>>()?;
        Ok(PyErr::from_value(class.call1((errors,))?))
    };
    error().unwrap_or_else(|error: PyErr| error)
}

/// The exception of one error.
pub(crate) fn raised_one(py: Python<'_>, error: Diagnostic) -> PyErr {
    raised(py, vec![error])
}

/// The exception of what is wrong with a plan, or with lines of a sweep.
pub(crate) fn raised_sweep(py: Python<'_>, message: &str) -> PyErr {
    raised_one(py, Diagnostic::error("bad_sweep", "", message.to_owned()).text("reason", message))
}

fn error_fields(py: Python<'_>, error: Diagnostic) -> PyResult<(&'static str, String, String, Py<PyDict>)> {
    let params = PyDict::new(py);
    for (name, value) in error.params {
        match value {
            Param::Number(number) => params.set_item(name, number)?,
            Param::Text(text) => params.set_item(name, text)?,
        }
    }
    Ok((error.code, error.path, error.message, params.unbind()))
}

/// A number of things that a person asked for, such as seeds.
pub(crate) fn count(py: Python<'_>, name: &str, value: i64, most: usize) -> PyResult<usize> {
    let count = usize::try_from(value).ok().filter(|count| (1..=most).contains(count));
    count.ok_or_else(|| raised_one(py, Diagnostic::out_of_range(name, value as f64, 1.0, most as f64)))
}
