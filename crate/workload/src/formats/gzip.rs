//! Files compressed with gzip (RFC 1952), recognised by their first two bytes.

use std::borrow::Cow;
use std::io::Read as _;

use flate2::read::MultiGzDecoder;

use super::{FormatError, MAX_ROWS};

/// Most bytes that a file may unpack to.
const MAX_BYTES: u64 = 2 << 30;

/// The bytes of a file, unpacked if they are packed.
pub(crate) fn unpacked(bytes: &[u8]) -> Result<Cow<'_, [u8]>, FormatError> {
    if !bytes.starts_with(b"\x1f\x8b") {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut plain = Vec::new();
    let end = MultiGzDecoder::new(bytes).take(MAX_BYTES + 1).read_to_end(&mut plain);
    let lines = || plain.split(|&b| b == b'\n').count() as u64;
    match end {
        Err(_) => Err(FormatError::Packed { bytes: plain.len() as u64 }),
        Ok(_) if plain.len() as u64 > MAX_BYTES => {
            Err(FormatError::TooManyRows { row: lines(), max: MAX_ROWS })
        }
        Ok(_) => Ok(Cow::Owned(plain)),
    }
}
