//! Reading the runs of iterations of one replica, one after the other.

use crate::replica_index::ReplicaIndex;
use servescope_cost::{Chunk, LoraBatch};

use super::plain::PlainCursor;
use super::{
    ADAPTERS, ALL_TOKENS, ANY_ADAPTER, BUSY, COPIES, DeltaState, END, FRESH, GROWTH, IterationRun, KNOWN, KV,
    LOADS, LORA, MORE, ODD, OTHER_GROWTH, PLAIN_RANKS, RESIDENT, ReplicaIterations, RunEnd, SINGLE, STALLED,
    START, TURN, TURN_BYTES, end_by_law, step_us, token_ranks, tokens, unzigzag, whole_us,
};

/// A place in the log of one replica, behind the run that was read last.
#[derive(Debug, Clone)]
pub(super) struct LogCursor<'a> {
    rest: Unread<'a>,
    run: IterationRun,
}

/// The runs that were not read yet.
#[derive(Debug, Clone)]
enum Unread<'a> {
    Plain(PlainCursor<'a>),
    Encoded(Box<EncodedCursor<'a>>),
}

/// Those that are written in few bytes.
#[derive(Debug, Clone)]
struct EncodedCursor<'a> {
    encoded: Reader<'a>,
    /// Where the bytes of the log end.
    end: usize,
    before: DeltaState,
}

impl<'a> LogCursor<'a> {
    pub(super) fn new(log: &'a ReplicaIterations, replica: ReplicaIndex) -> Self {
        let rest = match log {
            ReplicaIterations::Plain(plain) => Unread::Plain(plain.cursor(replica)),
            ReplicaIterations::Encoded(log) => Unread::Encoded(Box::new(EncodedCursor {
                encoded: Reader { bytes: &log.bytes, at: 0 },
                end: log.used,
                before: DeltaState::default(),
            })),
        };
        Self { rest, run: IterationRun { replica, ..IterationRun::BLANK } }
    }

    pub(super) fn next(&mut self) -> Option<IterationRun> {
        self.advance().copied()
    }

    /// Reads the next run.
    #[inline]
    pub(super) fn advance(&mut self) -> Option<&IterationRun> {
        match &mut self.rest {
            Unread::Plain(cursor) => self.run = cursor.next()?,
            Unread::Encoded(cursor) => {
                if !cursor.decode(&mut self.run) {
                    return None;
                }
            }
        }
        Some(&self.run)
    }
}

impl EncodedCursor<'_> {
    /// Reads the next run in place of the one before it on the same replica; says whether there is one.
    fn decode(&mut self, run: &mut IterationRun) -> bool {
        if self.encoded.at == self.end {
            return false;
        }
        let mut reader = self.encoded;
        let mut flags = u16::from(reader.byte());
        if flags & TURN == TURN {
            self.turn(&mut reader, flags, run);
            self.encoded = reader;
            self.before.passes(run);
            return true;
        }
        if flags & MORE != 0 {
            flags |= u16::from(reader.byte()) << 8;
        }
        self.times(&mut reader, flags, run);
        self.counts(&mut reader, flags, run);
        self.encoded = reader;
        if flags & (SINGLE | END) == 0 {
            run.end_us = end_by_law(run);
        }
        if flags & BUSY != 0 {
            run.busy_us *= step_us(run.end_us);
        } else if flags & ODD == 0 {
            run.busy_us = whole_us(run);
        }
        self.before.passes(run);
        true
    }

    /// As `push_turn` writes it.
    #[inline]
    fn turn(&self, reader: &mut Reader<'_>, flags: u16, run: &mut IterationRun) {
        let RunEnd { end_us: start_us, kv_tokens, decodes } = self.before.place();
        let bytes = usize::from(flags >> TURN_BYTES & 7) + 1;
        let end_us = f64::from_bits(start_us.to_bits() + reader.lowest(bytes));
        let busy_us = if flags & BUSY == 0 { 0.0 } else { reader.lowest(bytes) as f64 * step_us(end_us) };
        *run = IterationRun {
            start_us,
            end_us,
            busy_us,
            first_us: end_us - start_us,
            iterations: 1,
            replica: run.replica,
            decodes,
            fresh: decodes,
            kv_tokens: kv_tokens as i64 as f64,
            blocks: (i64::from(self.before.blocks) + unzigzag(reader.count())) as u32,
            resident_adapters: self.before.adapters.0,
            adapter_tokens: self.before.adapters.1,
            ..IterationRun::BLANK
        };
        if flags & BUSY == 0 {
            run.busy_us = whole_us(run);
        }
    }

    /// As [`DeltaState::times`] writes them.
    #[inline]
    fn times(&mut self, reader: &mut Reader<'_>, flags: u16, run: &mut IterationRun) {
        if flags & START != 0 {
            self.before.back = reader.byte();
        }
        let is_known = flags & START == 0 || usize::from(self.before.back) < KNOWN;
        run.start_us = if is_known { self.before.place().end_us } else { reader.number() };
        if flags & SINGLE != 0 {
            run.end_us = f64::from_bits(run.start_us.to_bits() + reader.count());
            run.first_us = run.end_us - run.start_us;
        } else {
            run.first_us = reader.number();
        }
        if flags & OTHER_GROWTH != 0 {
            run.growth_us = reader.number();
        }
        if flags & END != 0 {
            run.end_us = reader.number();
        }
        (run.copying_us, run.adapter_load_us) = (0.0, 0.0);
        if flags & (BUSY | ODD | COPIES | LOADS) == 0 {
            return;
        }
        if flags & BUSY != 0 {
            run.busy_us = reader.count() as f64;
        }
        if flags & ODD != 0 {
            run.busy_us = reader.number();
        }
        if flags & COPIES != 0 {
            run.copying_us = reader.number();
        }
        if flags & LOADS != 0 {
            run.adapter_load_us = reader.number();
        }
    }

    /// As [`DeltaState::counts`] writes them.
    #[inline]
    fn counts(&mut self, reader: &mut Reader<'_>, flags: u16, run: &mut IterationRun) {
        let Self { before, end, .. } = self;
        run.kv_tokens = if flags & KV == 0 {
            before.place().kv_tokens.wrapping_add(unzigzag(reader.count()) as u64) as i64 as f64
        } else {
            reader.number()
        };
        run.iterations = if flags & SINGLE != 0 { 1 } else { reader.count() as u32 };
        let prompts = reader.count();
        let has_sum = prompts & 1 == 1;
        run.prompts = (prompts >> 1) as u32;
        run.prompt_tokens = if has_sum { 0 } else { reader.count() as u32 };
        run.decodes = reader.count() as u32;
        run.blocks = (i64::from(before.blocks) + unzigzag(reader.count())) as u32;
        run.fresh = if flags & FRESH == 0 { run.decodes } else { reader.count() as u32 };
        let known = before.growths.of(run.decodes);
        match flags & (GROWTH | OTHER_GROWTH) {
            0 => run.growth_us = 0.0,
            GROWTH => run.growth_us = *known,
            _ => *known = run.growth_us,
        }
        let adapters = if flags & ADAPTERS == 0 { None } else { Some((reader.byte(), reader.count())) };
        // The prompts are behind all else, and tell how many tokens they are.
        let mut lora = [0; 4];
        if let Some((own, _)) = adapters.filter(|(own, _)| own & LORA != 0) {
            lora[0] = reader.count();
            lora[1] = reader.count();
            lora[2] = if own & ALL_TOKENS == 0 { reader.count() } else { 0 };
            lora[3] = if own & PLAIN_RANKS == 0 { reader.count() } else { 0 };
        }
        (run.resident_adapters, run.adapter_tokens) = if flags & RESIDENT == 0 {
            before.adapters
        } else {
            (reader.count() as u32, reader.count() as u32)
        };
        run.stalled = if flags & STALLED == 0 { 0 } else { reader.count() as u32 };
        run.chunks_at = reader.at;
        for _ in 0..run.prompts {
            let chunk = reader.chunk();
            if has_sum {
                run.prompt_tokens = run.prompt_tokens.wrapping_add(chunk.tokens);
            }
        }
        debug_assert!(reader.at <= *end, "the log is whole");
        (run.rank_sum, run.any_adapter, run.lora) = (0, false, LoraBatch::default());
        let Some((own, rank_sum)) = adapters else { return };
        (run.rank_sum, run.any_adapter) = (rank_sum, own & ANY_ADAPTER != 0);
        if own & LORA != 0 {
            let [adapters, adapter_ranks, counted, counted_ranks] = lora;
            let all = if own & ALL_TOKENS == 0 { counted as u32 } else { tokens(run) };
            run.lora = LoraBatch { adapters: adapters as u32, adapter_ranks, tokens: all, token_ranks: 0 };
            run.lora.token_ranks = if own & PLAIN_RANKS == 0 { counted_ranks } else { token_ranks(run) };
        }
    }
}

/// A place in the bytes of a log, behind which there is always room for a word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl Reader<'_> {
    #[inline]
    fn byte(&mut self) -> u8 {
        let byte = self.bytes[self.at];
        self.at += 1;
        byte
    }

    #[inline]
    pub(super) fn chunk(&mut self) -> Chunk {
        let [kv_tokens, tokens] = [(); 2].map(|()| self.count() as u32);
        Chunk { kv_tokens, tokens }
    }

    #[inline]
    fn word(&self) -> u64 {
        u64::from_le_bytes(*self.bytes[self.at..].first_chunk().expect("the log has room behind its end"))
    }

    #[inline]
    fn number(&mut self) -> f64 {
        let word = self.word();
        self.at += 8;
        f64::from_bits(word)
    }

    /// A number in so many bytes, from one to eight.
    #[inline]
    fn lowest(&mut self, bytes: usize) -> u64 {
        let word = self.word() & (u64::MAX >> (64 - 8 * bytes));
        self.at += bytes;
        word
    }

    /// The reverse of [`Writer::count`](super::write::Writer::count).
    #[inline]
    fn count(&mut self) -> u64 {
        let word = self.word();
        if word & 0x80 == 0 {
            self.at += 1;
            return word & 0x7f;
        }
        if word & 0x8000 == 0 {
            self.at += 2;
            return word & 0x7f | word >> 1 & 0x3f80;
        }
        self.longer_count(word)
    }

    /// A count of three groups or more, which begin with this word.
    fn longer_count(&mut self, word: u64) -> u64 {
        let last = !word & 0x8080_8080_8080_8080;
        if last == 0 {
            return self.large_count();
        }
        self.at += last.trailing_zeros() as usize / 8 + 1;
        // The bytes up to the last group; then groups, their pairs and their quarters are moved together.
        let groups = word & (last ^ (last - 1)) & 0x7f7f_7f7f_7f7f_7f7f;
        let together = |x: u64, low: u64, bits: u32| (x & low) | (x & !low) >> bits;
        let pairs = together(groups, 0x007f_007f_007f_007f, 1);
        let quarters = together(pairs, 0x0000_3fff_0000_3fff, 2);
        together(quarters, 0x0000_0000_0fff_ffff, 4)
    }

    /// A count of nine groups or more.
    fn large_count(&mut self) -> u64 {
        let mut count = 0;
        for place in 0.. {
            let byte = self.byte();
            count |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                break;
            }
        }
        count
    }
}
