//! ServeGen's clients (Xiang et al., arXiv 2505.09999, github.com/alibaba/ServeGen): for every client and window its
//! rate, the variation of its gaps, and the shape of their distribution. The chunk files are joined, with a `client_id` column;
//! `param1` is the shape. The scale (`param2`) fits the rate of a fair share of the windows only, and is not read.

use super::FormatError;
use super::table::Table;
use super::text::require_text;

pub(super) const COLUMNS: [&str; 5] = ["client_id", "window_start_s", "rate", "cv", "pattern"];

/// One client in one window.
#[derive(Debug, Clone, PartialEq)]
pub struct ServeGenWindow {
    /// Name of the client.
    pub client: String,
    /// Start of the window, seconds.
    pub start_s: f64,
    /// Requests a second, averaged over the window.
    pub rate_rps: f64,
    /// Standard deviation over mean of the gaps.
    pub cv: f64,
    /// Distribution of the gaps: "Gamma", "Weibull", or "" where the client was idle.
    pub pattern: String,
    /// The distribution's shape, where the file contains it.
    pub shape: Option<f64>,
}

/// A distribution of gaps that ServeGen knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Gamma.
    Gamma,
    /// Weibull.
    Weibull,
}

impl ServeGenWindow {
    /// The distribution of the gaps; `None` where the client was idle. Another name is taken for a gamma distribution.
    pub fn distribution(&self) -> Option<Pattern> {
        match self.pattern.as_str() {
            _ if self.rate_rps <= 0.0 => None,
            "" => None,
            "Weibull" => Some(Pattern::Weibull),
            _ => Some(Pattern::Gamma),
        }
    }
}

/// The windows of one client from a chunk file as ServeGen publishes it: without a header, and without the client's name.
///
/// # Errors
/// [`FormatError`], with the row and the column.
pub fn servegen_chunk_windows(client: &str, bytes: &[u8]) -> Result<Vec<ServeGenWindow>, FormatError> {
    let text = require_text(bytes)?;
    let mut named = String::with_capacity(text.len() * 2);
    named.push_str("client_id,window_start_s,rate,cv,pattern,param1,param2\n");
    for row in text.lines().filter(|row| !row.trim().is_empty()) {
        named.push('0');
        named.push(',');
        named.push_str(row);
        named.push('\n');
    }
    let lower = |error: FormatError| error.one_row_up();
    let mut windows = read(&mut Table::open(named.as_bytes()).map_err(lower)?).map_err(lower)?;
    windows.iter_mut().for_each(|window| client.clone_into(&mut window.client));
    if windows.is_empty() { Err(FormatError::EmptyFile) } else { Ok(windows) }
}

pub(super) fn read(table: &mut Table<'_>) -> Result<Vec<ServeGenWindow>, FormatError> {
    let [client, start, rate, cv, pattern] = table.named(COLUMNS).ok_or(FormatError::EmptyFile)?;
    let shape = table.column("param1");
    let mut windows = Vec::new();
    table.each_row(|table| {
        windows.push(ServeGenWindow {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_files_have_no_header_and_errors_name_their_own_rows() {
        let windows = servegen_chunk_windows("7", b"0,0,0,,0,0\n600,0.085,6.5,Gamma,0.02,73.0\n")
            .expect("as published");
        assert_eq!((windows.len(), windows[1].client.as_str(), windows[1].shape), (2, "7", Some(0.02)));
        assert_eq!((windows[0].distribution(), windows[1].distribution()), (None, Some(Pattern::Gamma)));
        let message =
            servegen_chunk_windows("7", b"0,0,0,,0,0\n600,x,6.5,Gamma,0.02,73.0\n").unwrap_err().to_string();
        assert!(message.starts_with("row 2, column rate"), "{message}");
        let message = servegen_chunk_windows("7", b"0,0\n").unwrap_err().to_string();
        assert!(message.starts_with("row 1: "), "{message}");
        assert_eq!(servegen_chunk_windows("7", b"\n"), Err(FormatError::EmptyFile));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_the_reader_of_chunks_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..80), rows in "([0-9.]{0,4},?(Gamma)?){0,12}\n") {
            let _ = servegen_chunk_windows("c", &bytes);
            let _ = servegen_chunk_windows("c", rows.as_bytes());
        }
    }
}
