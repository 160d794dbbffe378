//! Files with one request a line, each a JSON document.

use super::json::{JsonField, document_of_line};
use super::{ReadError, note_failed, room};
use crate::overlay::measured::MeasuredRequest;

/// What a line is.
pub(super) enum RequestLine {
    /// A request that was measured.
    Request(MeasuredRequest),
    /// A request that failed.
    Failed,
    /// None of the measured run, such as a warm-up.
    LeftOut,
}

impl RequestLine {
    /// A request; none of one that failed.
    pub(super) fn of(request: Option<MeasuredRequest>) -> Self {
        request.map_or(Self::Failed, Self::Request)
    }
}

/// What the lines of a file have.
pub(super) struct RequestLines {
    pub(super) requests: Vec<MeasuredRequest>,
    /// Lines of the measured run, failed requests included.
    pub(super) lines: usize,
    pub(super) notes: Vec<String>,
}

/// Reads the lines that are not empty; `read` gets the place of each among those of the measured run, from 1 on.
pub(super) fn lines(
    text: &str,
    mut read: impl FnMut(&JsonField, usize) -> Result<RequestLine, ReadError>,
) -> Result<RequestLines, ReadError> {
    let (mut requests, mut lines, mut notes) = (Vec::new(), 0, Vec::new());
    for (place, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let number = place + 1;
        let place = format!("line {number}");
        room(&requests, &place)?;
        let json = document_of_line(line, number)?;
        match read(&JsonField::root(&json), lines + 1).map_err(|error| error.within(&place))? {
            RequestLine::LeftOut => continue,
            RequestLine::Failed => {}
            RequestLine::Request(request) => requests.push(request),
        }
        lines += 1;
    }
    note_failed(&mut notes, lines - requests.len(), lines);
    Ok(RequestLines { requests, lines, notes })
}
