//! Files compressed with gzip (RFC 1952), recognised by their first two bytes.

use std::borrow::Cow;
use std::io::Read as _;

use flate2::read::MultiGzDecoder;

use super::FormatError;

/// Most bytes that a file may unpack to.
const MAX_BYTES: u64 = 512 << 20;

/// The bytes of a file, unpacked if they are packed.
///
/// # Errors
/// That the stream is damaged, or unpacks to more than 512 MiB.
pub fn unpacked(bytes: &[u8]) -> Result<Cow<'_, [u8]>, FormatError> {
    unpacked_within(bytes, MAX_BYTES)
}

fn unpacked_within(bytes: &[u8], max_bytes: u64) -> Result<Cow<'_, [u8]>, FormatError> {
    if !bytes.starts_with(b"\x1f\x8b") {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut plain = Vec::new();
    let end = MultiGzDecoder::new(bytes).take(max_bytes + 1).read_to_end(&mut plain);
    match end {
        Err(_) => Err(FormatError::Packed { bytes: plain.len() as u64 }),
        Ok(_) if plain.len() as u64 > max_bytes => Err(FormatError::UnpacksTooLarge { max_bytes }),
        Ok(_) => Ok(Cow::Owned(plain)),
    }
}

/// The first bytes of a file, unpacked as far as they go if they are packed; a stream that is cut off is no error here.
pub fn unpacked_head(bytes: &[u8], most: usize) -> Cow<'_, [u8]> {
    if !bytes.starts_with(b"\x1f\x8b") {
        return Cow::Borrowed(&bytes[..bytes.len().min(most)]);
    }
    let mut plain = vec![0; most];
    let mut decoder = MultiGzDecoder::new(bytes);
    let mut at = 0;
    while at < most {
        match decoder.read(&mut plain[at..]) {
            Ok(0) | Err(_) => break,
            Ok(read) => at += read,
        }
    }
    plain.truncate(at);
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn packed(bytes: usize) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&vec![b'a'; bytes]).expect("memory");
        encoder.finish().expect("memory")
    }

    #[test]
    fn what_unpacks_beyond_the_bound_is_refused_with_it() {
        let max_bytes = 1 << 20;
        let whole = unpacked_within(&packed(1 << 20), max_bytes).map(|plain| plain.len());
        assert_eq!(whole, Ok(1 << 20));
        let error = unpacked_within(&packed((1 << 20) + 1), max_bytes).unwrap_err();
        assert_eq!(error, FormatError::UnpacksTooLarge { max_bytes });
        assert!(error.to_string().contains("more than 1 MiB (1048576 bytes)"), "{error}");
    }

    #[test]
    fn the_head_of_a_packed_file_that_is_cut_off_is_unpacked() {
        let whole = packed(300_000);
        let half = unpacked_head(&whole[..whole.len() / 2], 1 << 16);
        assert!(!half.is_empty() && half.iter().all(|&byte| byte == b'a'));
        assert_eq!(unpacked_head(b"plain", 3), Cow::Borrowed(b"pla"));
    }
}
