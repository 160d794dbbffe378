//! Writing the bytes of a run of iterations into a log.

/// Chunks that are written at once, and bytes that their counts take at most.
pub(super) const CHUNKS_AT_ONCE: usize = 12;
const CHUNK_BYTES: usize = 20;

/// Bytes that a run and so many chunks take at most, rounded up: 2 of flags, 8 numbers, 17 counts. A power of two: a place in
/// them needs no test.
const MOST_BYTES: usize = (256 + CHUNKS_AT_ONCE * CHUNK_BYTES).next_power_of_two();

/// Those bytes, and a word that may begin at the last of them.
type Room = [u8; MOST_BYTES + 8];

/// Room in a log for the bytes of one run.
pub(super) struct Writer<'a> {
    room: &'a mut Room,
    /// How many are written.
    pub(super) length: usize,
}

impl<'a> Writer<'a> {
    /// Behind the first `used` bytes of a log, which gets more room where it has none.
    pub(super) fn behind(log: &'a mut Vec<u8>, used: usize) -> Self {
        if log.len() < used + MOST_BYTES + 8 {
            make_room(log, used);
        }
        let room = log[used..].first_chunk_mut().expect("the log has grown");
        Self { room, length: 0 }
    }

    #[inline]
    pub(super) fn byte(&mut self, byte: u8) {
        debug_assert!(self.length < MOST_BYTES, "a run has so many bytes at most");
        self.room[self.length % MOST_BYTES] = byte;
        self.length += 1;
    }

    #[inline]
    pub(super) fn number(&mut self, number: f64) {
        self.word(number.to_bits(), 8);
    }

    /// The lowest `length` bytes of a word; those behind them are written over.
    #[inline]
    pub(super) fn word(&mut self, word: u64, length: usize) {
        debug_assert!(self.length < MOST_BYTES, "a run has so many bytes at most");
        let at = self.length % MOST_BYTES;
        self.room[at..at + 8].copy_from_slice(&word.to_le_bytes());
        self.length += length;
    }

    /// A count in groups of seven bits, the lowest first; all but the last have the highest bit of their byte set.
    #[inline]
    pub(super) fn count(&mut self, count: u64) {
        if count < 0x80 {
            self.byte(count as u8);
        } else if count < 0x4000 {
            self.word(count & 0x7f | 0x80 | count << 1 & 0x7f00, 2);
        } else {
            let (word, length) = groups(count);
            self.word(word, length);
            if count >= 1 << 56 {
                self.large_count(count >> 56);
            }
        }
    }

    /// What is left of a count behind eight groups.
    fn large_count(&mut self, rest: u64) {
        let before = self.length - 1;
        self.room[before % MOST_BYTES] |= 0x80;
        self.byte(rest as u8 & 0x7f | if rest < 0x80 { 0 } else { 0x80 });
        if rest >= 0x80 {
            self.byte((rest >> 7) as u8);
        }
    }
}

/// The lowest eight groups of a count, and how many it has of them: its halves are moved apart, then their halves, and theirs.
fn groups(count: u64) -> (u64, usize) {
    let apart = |x: u64, low: u64, bits: u32| (x & low) | (x & !low) << bits;
    let halves = apart(count & ((1 << 56) - 1), 0x0000_0000_0fff_ffff, 4);
    let quarters = apart(halves, 0x0000_3fff_0000_3fff, 2);
    let groups = apart(quarters, 0x007f_007f_007f_007f, 1);
    let length = (count.ilog2() / 7 + 1).min(8);
    let goes_on = 0x8080_8080_8080_8080 & ((1 << (8 * (length - 1))) - 1);
    (groups | goes_on, length as usize)
}

#[cold]
fn make_room(log: &mut Vec<u8>, used: usize) {
    log.resize(used + 16 * MOST_BYTES, 0);
}
