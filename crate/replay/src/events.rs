//! Server-sent events as bytes arrive (HTML Living Standard, section 9.2): the data of each event, whole.

/// Most bytes of one event.
pub const MAX_EVENT_BYTES: usize = 1 << 20;

/// That an event has more than [`MAX_EVENT_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of more than {MAX_EVENT_BYTES} bytes")]
pub struct TooLong;

/// Reads events from pieces of a stream; where the pieces are cut makes no difference.
#[derive(Debug, Clone, Default)]
pub struct EventReader {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_return: bool,
}

impl EventReader {
    /// Takes the next bytes and hands each event that they end to `found`.
    ///
    /// # Errors
    /// [`TooLong`]; the reader is then of no further use.
    pub fn read(&mut self, bytes: &[u8], mut found: impl FnMut(&[u8])) -> Result<(), TooLong> {
        for &byte in bytes {
            let follows_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if follows_return => {}
                b'\n' | b'\r' => self.end_line(&mut found),
                _ if self.line.len() + self.data.len() >= MAX_EVENT_BYTES => return Err(TooLong),
                _ => self.line.push(byte),
            }
        }
        Ok(())
    }

    fn end_line(&mut self, found: &mut impl FnMut(&[u8])) {
        if self.line.is_empty() {
            if std::mem::take(&mut self.has_data) {
                found(&self.data);
            }
            self.data.clear();
            return;
        }
        let value = match self.line.strip_prefix(b"data") {
            Some([]) => Some(&[][..]),
            Some([b':', value @ ..]) => Some(value.strip_prefix(b" ").unwrap_or(value)),
            _ => None,
        };
        if let Some(value) = value {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(value);
            self.has_data = true;
        }
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use servescope_testkit::cases;

    use super::*;

    fn all(pieces: &[&[u8]]) -> Vec<String> {
        let (mut reader, mut events) = (EventReader::default(), Vec::new());
        for piece in pieces {
            reader.read(piece, |data| events.push(String::from_utf8_lossy(data).into_owned())).unwrap();
        }
        events
    }

    #[test]
    fn events_are_those_of_the_standards_examples() {
        assert_eq!(all(&[b"data: YHOO\ndata: +2\ndata: 10\n\n"]), ["YHOO\n+2\n10"]);
        assert_eq!(
            all(&[b": test\n\ndata: first\nid: 1\n\ndata:second\nid\n\ndata:  third\n\n"]).join("|"),
            "first|second| third"
        );
        assert_eq!(all(&[b"data\n\ndata\ndata\n\ndata:"]), ["", "\n"]);
        assert_eq!(all(&[b"data: a\r\n\r\ndata: b\r\rdata: c\n\r\n"]), ["a", "b", "c"]);
        assert_eq!(all(&[b"dat", b"a: a\r", b"\n\r", b"\nevent: x\n\n"]), ["a"]);
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut reader = EventReader::default();
        let piece = [b'x'; 4096];
        let read: Vec<bool> = (0..300).map(|_| reader.read(&piece, |_| {}).is_ok()).collect();
        assert_eq!(read.iter().filter(|is_read| **is_read).count(), MAX_EVENT_BYTES / 4096);
    }

    proptest! {
        #![proptest_config(cases(64, 2_000))]

        #[test]
        fn cuts_make_no_difference(
            lines in prop::collection::vec("(data: ?[a-z:]{0,6}|:[a-z]{0,3}|id: 1|)(\n|\r\n|\r)", 0..30),
            cuts in prop::collection::vec(1usize..9, 0..60),
        ) {
            let text = lines.concat();
            let mut rest = text.as_bytes();
            let mut pieces = Vec::new();
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            pieces.push(rest);
            prop_assert_eq!(all(&pieces), all(&[text.as_bytes()]));
        }
    }
}
