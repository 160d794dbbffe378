//! Fingerprints of files, to see whether a build is still of the sources that are there.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::TaskResult;

/// 64-bit FNV-1a: the same number on every machine and with every compiler.
#[derive(Clone, Copy)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    pub(crate) const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    /// Takes in the bytes and their number, so that moving a byte from one piece to the next shows.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&(bytes.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Sixteen hexadecimal digits.
    pub(crate) fn text(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// Takes in the files' names below `root` and their contents.
pub(crate) fn add_files(fingerprint: &mut Fingerprint, root: &Path, files: &[PathBuf]) -> TaskResult {
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(file);
        let content = fs::read(file).map_err(|error| format!("{}: {error}", name.display()))?;
        fingerprint.add(name.to_string_lossy().as_bytes());
        fingerprint.add(&content);
    }
    Ok(())
}

/// Every file under the path, or the path itself if it is a file; in the order of their names. A path that
/// is absent has none.
pub(crate) fn files_under(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    let mut children: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    children.sort();
    children.iter().flat_map(|child| files_under(child)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pieces: &[&str]) -> String {
        let mut fingerprint = Fingerprint::EMPTY;
        for piece in pieces {
            fingerprint.add(piece.as_bytes());
        }
        fingerprint.text()
    }

    #[test]
    fn equal_pieces_and_only_these_are_equal() {
        assert_eq!(of(&["ab", "c"]), of(&["ab", "c"]));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["ab"]), of(&["ab", ""]));
    }

    #[test]
    fn files_come_in_the_order_of_their_names() {
        let folder = std::env::temp_dir().join(format!("servescope-hash-{}", std::process::id()));
        fs::create_dir_all(folder.join("b")).unwrap();
        fs::write(folder.join("c"), "").unwrap();
        fs::write(folder.join("b/z"), "").unwrap();
        fs::write(folder.join("a"), "").unwrap();
        let expected = ["a", "b/z", "c"].map(|name| folder.join(name));
        assert_eq!(files_under(&folder), expected);
        assert_eq!(files_under(&folder.join("c")), [folder.join("c")]);
        assert!(files_under(&folder.join("absent")).is_empty());
        fs::remove_dir_all(&folder).unwrap();
    }
}
