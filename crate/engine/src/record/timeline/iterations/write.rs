//! Writing the bytes of a run of iterations into a log.

/// Chunks that are written at once, and bytes that their counts take at most.
pub(super) const CHUNKS_AT_ONCE: usize = 12;
const CHUNK_BYTES: usize = 20;

/// Bytes that a run and so many chunks take at most, rounded up: 2 of flags, 8 numbers, 17 counts.
const MOST_BYTES: usize = 256 + CHUNKS_AT_ONCE * CHUNK_BYTES;

/// Room in a log for the bytes of one run.
pub(super) struct Writer<'a> {
    room: &'a mut [u8; MOST_BYTES],
    /// How many are written.
    pub(super) length: usize,
}

impl<'a> Writer<'a> {
    /// Behind the first `used` bytes of a log, which gets more room where it has none.
    pub(super) fn behind(log: &'a mut Vec<u8>, used: usize) -> Self {
        if log.len() < used + MOST_BYTES {
            make_room(log, used);
        }
        let room = log[used..].first_chunk_mut().expect("the log has grown");
        Self { room, length: 0 }
    }

    #[inline]
    pub(super) fn byte(&mut self, byte: u8) {
        self.room[self.length] = byte;
        self.length += 1;
    }

    #[inline]
    pub(super) fn number(&mut self, number: f64) {
        self.word(number.to_bits(), 8);
    }

    /// The lowest `length` bytes of a word; those behind them are written over.
    #[inline]
    fn word(&mut self, word: u64, length: usize) {
        self.room[self.length..self.length + 8].copy_from_slice(&word.to_le_bytes());
        self.length += length;
    }

    /// A count in groups of seven bits, the lowest first; all but the last have the highest bit of their byte set.
    #[inline]
    pub(super) fn count(&mut self, count: u64) {
        if count < 0x80 {
            self.byte(count as u8);
        } else {
            self.count_in_groups(count);
        }
    }

    fn count_in_groups(&mut self, count: u64) {
        if count < 0x4000 {
            self.word(count & 0x7f | 0x80 | count << 1 & 0x7f00, 2);
        } else if count < 1 << 56 {
            self.groups(count);
        } else {
            self.large_count(count);
        }
    }

    /// A count of eight groups at the most: its halves are moved apart, then their halves, and theirs.
    fn groups(&mut self, count: u64) {
        let apart = |x: u64, low: u64, bits: u32| (x & low) | (x & !low) << bits;
        let halves = apart(count, 0x0000_0000_0fff_ffff, 4);
        let quarters = apart(halves, 0x0000_3fff_0000_3fff, 2);
        let groups = apart(quarters, 0x007f_007f_007f_007f, 1);
        let length = count.ilog2() / 7 + 1;
        let goes_on = 0x8080_8080_8080_8080 & ((1 << (8 * (length - 1))) - 1);
        self.word(groups | goes_on, length as usize);
    }

    fn large_count(&mut self, mut count: u64) {
        while count >= 0x80 {
            self.byte(count as u8 | 0x80);
            count >>= 7;
        }
        self.byte(count as u8);
    }
}

#[cold]
fn make_room(log: &mut Vec<u8>, used: usize) {
    log.resize(used + 16 * MOST_BYTES, 0);
}
