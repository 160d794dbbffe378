//! ServeGen's clients (Xiang et al., arXiv 2505.09999, github.com/alibaba/ServeGen): for every client and window its
//! rate, the variation of its gaps, and the shape of their law. The chunk files are joined, with a `client_id` column;
//! `param1` is the shape. The scale (`param2`) fits the rate of a fair share of the windows only, and is not read.

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
    /// The law's shape, where the file tells it.
    pub shape: Option<f64>,
}

/// A law of gaps that ServeGen knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Gamma.
    Gamma,
    /// Weibull.
    Weibull,
}

impl Window {
    /// The law of the gaps; `None` where the client was idle. Another name is taken for a gamma law.
    pub fn law(&self) -> Option<Pattern> {
        match self.pattern.as_str() {
            _ if self.rate_rps <= 0.0 => None,
            "" => None,
            "Weibull" => Some(Pattern::Weibull),
            _ => Some(Pattern::Gamma),
        }
    }
}

pub(super) fn read(table: &mut Table<'_>) -> Result<Vec<Window>, FormatError> {
    let [client, start, rate, cv, pattern] = table.named(COLUMNS).ok_or(FormatError::EmptyFile)?;
    let shape = table.column("param1");
    let mut windows = Vec::new();
    table.each_row(|table| {
        windows.push(Window {
            client: table.text(client).to_owned(),
            start_s: table.number(start)?,
            rate_rps: table.number(rate)?,
            cv: table.number(cv)?,
            pattern: table.text(pattern).to_owned(),
            shape: shape
                .filter(|&column| !table.text(column).is_empty())
                .map(|column| table.number(column))
                .transpose()?
                .filter(|&shape| shape > 0.0),
        });
        Ok(())
    })?;
    Ok(windows)
}
