//! Failures as the exception `servescope.ServescopeError`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use servescope_lab::Failure;
use servescope_lab::failure::Param;

/// The exception of these failures, of which there is at least one.
pub(crate) fn raised(py: Python<'_>, failures: Vec<Failure>) -> PyErr {
    let error = || {
        let class = py.import("servescope._errors")?.getattr("ServescopeError")?;
        let failures = failures.into_iter().map(|failure| told(py, failure)).collect::<PyResult<Vec<_>>>()?;
        Ok(PyErr::from_value(class.call1((failures,))?))
    };
    error().unwrap_or_else(|error: PyErr| error)
}

/// The exception of one failure.
pub(crate) fn raised_one(py: Python<'_>, failure: Failure) -> PyErr {
    raised(py, vec![failure])
}

/// The exception of what is wrong with a plan, or with lines of a sweep.
pub(crate) fn raised_sweep(py: Python<'_>, message: &str) -> PyErr {
    raised_one(py, Failure::new("bad_sweep", "", message.to_owned()).text("reason", message))
}

fn told(py: Python<'_>, failure: Failure) -> PyResult<(&'static str, String, String, Py<PyDict>)> {
    let params = PyDict::new(py);
    for (name, value) in failure.params {
        match value {
            Param::Number(number) => params.set_item(name, number)?,
            Param::Text(text) => params.set_item(name, text)?,
        }
    }
    Ok((failure.code, failure.path, failure.message, params.unbind()))
}

/// A number of things that a person asked for, such as seeds.
pub(crate) fn count(py: Python<'_>, name: &str, value: i64, most: usize) -> PyResult<usize> {
    let count = usize::try_from(value).ok().filter(|count| (1..=most).contains(count));
    count.ok_or_else(|| raised_one(py, Failure::out_of_range(name, value as f64, 1.0, most as f64)))
}
