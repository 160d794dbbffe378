//! Records of a CSV text (RFC 4180): cells with a mark between, quotes where a cell holds marks or line ends, a quote in
//! quotes doubled. Lines end with LF, CR LF or CR; blank ones are passed over. Blanks around a cell do not count.
//!
//! ```
//! let mut records = servescope_csv::Records::new("name,tokens\n\"a, b\",7\n");
//! assert!(records.next_record() && records.cell(1) == "tokens");
//! assert!(records.next_record() && records.cell(0) == "a, b");
//! assert!(!records.next_record());
//! ```

/// Where the text of a cell is.
#[derive(Debug, Clone, Copy)]
struct CellSpan {
    start: usize,
    end: usize,
    /// Whether in `copied` rather than in the text: a cell in quotes may have lost some.
    is_copied: bool,
}

/// Records of a text, one after another.
#[derive(Debug)]
pub struct Records<'a> {
    text: &'a str,
    mark: u8,
    at: usize,
    next_line: u64,
    start: usize,
    line: u64,
    cells: Vec<CellSpan>,
    copied: String,
    is_open: bool,
}

impl<'a> Records<'a> {
    /// The records of a text. Where the first line has no comma, semicolons or tabs part the cells.
    pub fn new(text: &'a str) -> Self {
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
        let mark = b",;\t".iter().copied().find(|&mark| first.as_bytes().contains(&mark)).unwrap_or(b',');
        Self {
            text,
            mark,
            at: 0,
            next_line: 1,
            start: 0,
            line: 1,
            cells: Vec::new(),
            copied: String::new(),
            is_open: false,
        }
    }

    /// The records below the first line of a text, which is passed over as it is; lines are counted from that one.
    pub fn below_first_line(text: &'a str) -> Self {
        let end = text.find('\n').map_or(text.len(), |end| end + 1);
        let mark = Self::new(&text[end..]).mark;
        Self { mark, at: end, next_line: 2, ..Self::new(text) }
    }

    /// The whole text, and how far it was read.
    pub fn progress(&self) -> (usize, usize) {
        (self.at, self.text.len())
    }

    /// Line on which the record starts, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The text of the record, and the byte at which it starts.
    pub fn source(&self) -> (usize, &'a str) {
        (self.start, &self.text[self.start..self.at])
    }

    /// Whether a cell in quotes was not closed before the end of the text.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether the record has no cell: before the first one and behind the last.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Whether the record is a line of blanks.
    pub fn is_blank(&self) -> bool {
        self.len() == 1 && self.cell(0).is_empty()
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// The text of a cell; "" where there is none.
    pub fn cell(&self, place: usize) -> &str {
        let Some(cell) = self.cells.get(place) else { return "" };
        let text = if cell.is_copied { self.copied.as_str() } else { self.text };
        let text = &text[cell.start..cell.end];
        match (text.as_bytes().first(), text.as_bytes().last()) {
            (Some(b'!'..=b'~'), Some(b'!'..=b'~')) => text,
            _ => text.trim(),
        }
    }

    /// Steps to the next record; false at the end.
    pub fn next_record(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        while let Some(b'\n' | b'\r') = bytes.get(self.at) {
            self.end_line();
        }
        self.cells.clear();
        self.copied.clear();
        (self.start, self.line) = (self.at, self.next_line);
        if self.at == bytes.len() {
            return false;
        }
        loop {
            if bytes.get(self.at) == Some(&b'"') {
                self.quoted();
            } else {
                self.plain();
            }
            match bytes.get(self.at) {
                Some(b'\n' | b'\r') => {
                    self.end_line();
                    return true;
                }
                // The mark after the cell.
                Some(_) => self.at += 1,
                None => return true,
            }
        }
    }

    /// Steps over the end of a line.
    fn end_line(&mut self) {
        let bytes = self.text.as_bytes();
        let both = bytes[self.at] == b'\r' && bytes.get(self.at + 1) == Some(&b'\n');
        self.at += 1 + usize::from(both);
        self.next_line += 1;
    }

    /// Where the cell ends that `from` is in.
    fn end_of_cell(&self, from: usize) -> usize {
        let mark = self.mark;
        let rest = &self.text.as_bytes()[from..];
        rest.iter().position(|&b| b == mark || b == b'\n' || b == b'\r').map_or(self.text.len(), |n| from + n)
    }

    fn plain(&mut self) {
        let (start, end) = (self.at, self.end_of_cell(self.at));
        self.cells.push(CellSpan { start, end, is_copied: false });
        self.at = end;
    }

    /// A cell that starts with a quote; what follows the closing one belongs to the cell as it is.
    fn quoted(&mut self) {
        let bytes = self.text.as_bytes();
        let start = self.copied.len();
        self.at += 1;
        loop {
            let rest = &bytes[self.at..];
            let end = rest.iter().position(|&b| b == b'"').map_or(bytes.len(), |n| self.at + n);
            let inside = &self.text[self.at..end];
            self.next_line += line_ends(inside);
            self.copied.push_str(inside);
            self.at = (end + 1).min(bytes.len());
            if bytes.get(self.at) != Some(&b'"') || end == bytes.len() {
                self.is_open = end == bytes.len();
                break;
            }
            self.copied.push('"');
            self.at += 1;
        }
        let end = self.end_of_cell(self.at);
        self.copied.push_str(&self.text[self.at..end]);
        self.at = end;
        self.cells.push(CellSpan { start, end: self.copied.len(), is_copied: true });
    }
}

/// Number of line ends in a text.
fn line_ends(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let ends = |(place, &b): (usize, &u8)| b == b'\n' || (b == b'\r' && bytes.get(place + 1) != Some(&b'\n'));
    bytes.iter().enumerate().filter(|&entry| ends(entry)).count() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &str) -> Vec<(u64, Vec<String>)> {
        let mut records = Records::new(text);
        let mut all = Vec::new();
        while records.next_record() {
            all.push((
                records.line(),
                (0..records.len()).map(|place| records.cell(place).to_owned()).collect(),
            ));
        }
        all
    }

    fn record(line: u64, cells: &[&str]) -> (u64, Vec<String>) {
        (line, cells.iter().map(|cell| (*cell).to_owned()).collect())
    }

    #[test]
    fn quotes_marks_and_line_ends() {
        let text = "a, b ,c\r\n\r\n\"x,\"\"y\"\"\n\",, 3\n\"open";
        let expected = [record(1, &["a", "b", "c"]), record(3, &["x,\"y\"", "", "3"]), record(5, &["open"])];
        assert_eq!(all(text), expected);
        assert_eq!(all("a;b\n1,5;2\n"), [record(1, &["a", "b"]), record(2, &["1,5", "2"])]);
        assert_eq!(all("a\tb\r1\t\r"), [record(1, &["a", "b"]), record(2, &["1", ""])]);
        assert_eq!(all("\n\n"), []);
    }

    proptest! {
        #[test]
        fn what_was_quoted_is_read_back(
            rows in prop::collection::vec(prop::collection::vec("[!a-b,\"\n\u{e9}]{1,4}", 3), 1..5)
        ) {
            let cell = |c: &String| format!("\"{}\"", c.replace('"', "\"\""));
            let line = |row: &Vec<String>| row.iter().map(cell).collect::<Vec<_>>().join(",");
            let text = format!("h,h,h\n{}", rows.iter().map(line).collect::<Vec<_>>().join("\n"));
            let cells: Vec<Vec<String>> = all(&text).into_iter().skip(1).map(|(_, cells)| cells).collect();
            let trimmed: Vec<Vec<String>> =
                rows.iter().map(|row| row.iter().map(|c| c.trim().to_owned()).collect()).collect();
            prop_assert_eq!(cells, trimmed);
        }

        #[test]
        fn no_text_makes_it_panic_or_hang(text in "[a,;\t\"\r\n\u{e9} ]{0,60}") {
            all(&text);
        }
    }
}
