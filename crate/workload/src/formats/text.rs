//! Bytes that must be text.

use super::FormatError;

/// Where the first control character of a text is that no file of text has.
pub(super) fn control_character(text: &str) -> Option<usize> {
    text.bytes().position(|b| b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r'))
}

/// The bytes as text, if they are UTF-8 without control characters.
pub(super) fn require_text(bytes: &[u8]) -> Result<&str, FormatError> {
    let at = match std::str::from_utf8(bytes) {
        Ok(text) => match control_character(text) {
            None => return Ok(text),
            Some(at) => at,
        },
        Err(error) => error.valid_up_to(),
    };
    let row = bytes[..at].split(|&b| b == b'\n').count() as u64;
    Err(FormatError::NotText { row, byte: at as u64 })
}
