//! A text in `static/profiles`. The page's module leaves the texts out and is handed each when a run needs it.

use std::sync::OnceLock;

/// One text and what is read from it.
pub(crate) struct Shipped<T> {
    /// Its file's name without the ending.
    pub(crate) file: &'static str,
    /// Nothing where it is handed over.
    text: &'static str,
    /// Of its text: a host may have the table of another version of the page.
    fingerprint: u64,
    read: OnceLock<T>,
}

/// FNV-1a of 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/
pub(crate) const fn fingerprint(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

/// The text of a file in `static/profiles`.
macro_rules! shipped_file {
    ($file:expr) => {
        $crate::shipped::Shipped::new(
            $file,
            if cfg!(feature = "tables") { $crate::shipped::shipped_text!($file) } else { "" },
            const { $crate::shipped::fingerprint($crate::shipped::shipped_text!($file)) },
        )
    };
}

macro_rules! shipped_text {
    ($file:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../static/profiles/", $file, ".txt"))
    };
}

pub(crate) use {shipped_file, shipped_text};

impl<T> Shipped<T> {
    /// A file by its name, its text and that text's fingerprint.
    pub(crate) const fn new(file: &'static str, text: &'static str, fingerprint: u64) -> Self {
        Self { file, text, fingerprint, read: OnceLock::new() }
    }

    /// What was read; nothing where the text is handed over and was not yet.
    ///
    /// # Panics
    /// If a text that is part of the program cannot be read.
    pub(crate) fn get(&self, read: impl Fn(&str) -> Option<T>) -> Option<&T> {
        if self.text.is_empty() {
            return self.read.get();
        }
        Some(self.read.get_or_init(|| read(self.text).expect("what is shipped is read by a test")))
    }

    /// Whether its text has to be handed over.
    pub(crate) fn is_missing(&self) -> bool {
        self.text.is_empty() && self.read.get().is_none()
    }

    /// Takes a text. False where it is not the one that this version was built with.
    pub(crate) fn take(&self, text: &str, read: impl Fn(&str) -> Option<T>) -> bool {
        let Some(own) = Some(text).filter(|text| fingerprint(text) == self.fingerprint).and_then(read) else {
            return false;
        };
        // Taken before: the text is the same.
        let _ = self.read.set(own);
        true
    }

    #[cfg(test)]
    pub(crate) fn text(&self) -> &'static str {
        self.text
    }
}
