//! Published and measured figures are files of comma-separated values beside the modules that compare them, with a line of
//! names first. Cells hold no comma and no quote.

/// The rows of a file, each cut at its commas, without the names.
pub(crate) fn rows(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines().skip(1).map(|line| line.split(',').collect())
}

/// A number of a cell.
pub(crate) fn number(cell: &str) -> f64 {
    cell.parse().expect("the files of figures hold numbers")
}
