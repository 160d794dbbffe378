//! Handing over a text of `static/profiles` that an error `needs_table` has named.

use crate::diagnostic::Diagnostic;
use crate::parameters::Id;
use crate::{kernels, profiles};

/// Takes the text of a file: a profile of timed operators, or the measured kernels of a GPU.
///
/// # Errors
/// [`Diagnostic`] where that is no such file, or its text is not the one that this version was built with.
pub fn take_table(file: &str, text: &str) -> Result<(), Diagnostic> {
    if profiles::take(file, text) || kernels::take(file, text) {
        return Ok(());
    }
    let path = Id::CostKind.row().id;
    let message = format!("{path}: the operator table {file} is not the one of this version");
    Err(Diagnostic::error("other_table", path, message).text("file", file))
}
