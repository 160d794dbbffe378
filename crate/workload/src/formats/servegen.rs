//! ServeGen's clients (Xiang et al., arXiv 2505.09999, github.com/alibaba/ServeGen): for every client and window its
//! rate, the variation of its gaps, and the shape of their law. The chunk files are joined, with a `client_id` column.

use super::FormatError;
use super::table::Table;

pub(super) const COLUMNS: [&str; 5] = ["client_id", "window_start_s", "rate", "cv", "pattern"];

/// One client in one window.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// Name of the client.
    pub client: String,
    /// Start of the window, seconds.
    pub start_s: f64,
    /// Requests a second, averaged over the window.
    pub rate_rps: f64,
    /// Standard deviation over mean of the gaps.
    pub cv: f64,
    /// Law of the gaps: "Gamma", "Weibull", or "" where the client was idle.
    pub pattern: String,
}

pub(super) fn read(table: &mut Table<'_>) -> Result<Vec<Window>, FormatError> {
    let [client, start, rate, cv, pattern] = table.named(COLUMNS).ok_or(FormatError::EmptyFile)?;
    let mut windows = Vec::new();
    table.each_row(|table| {
        windows.push(Window {
            client: table.text(client).to_owned(),
            start_s: table.number(start)?,
            rate_rps: table.number(rate)?,
            cv: table.number(cv)?,
            pattern: table.text(pattern).to_owned(),
        });
        Ok(())
    })?;
    Ok(windows)
}
