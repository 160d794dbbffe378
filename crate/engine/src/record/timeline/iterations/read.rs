//! Reading the runs of iterations of one replica, one after the other.

use servescope_cost::{Chunk, LoraBatch};

use super::{
    ADAPTERS, BUSY, COPIES, DeltaState, END, FRESH, GROWTH, IterationRun, KNOWN, KV, LOADS, LORA, MORE, ODD,
    RESIDENT, ReplicaIterations, SINGLE, STALLED, START, end_by_law, step_us, unzigzag, whole_us,
};

/// A place in the log of one replica, behind the run that was read last.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    plain: &'a [IterationRun],
    bytes: &'a [u8],
    /// Where the end of the log is by the count of [`IterationRun::chunks_at`].
    end: usize,
    run: IterationRun,
    before: DeltaState,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(log: &'a ReplicaIterations, replica: u16) -> Self {
        let ReplicaIterations { plain, chunks, encoded } = log;
        let bytes = encoded.written();
        let run = IterationRun { replica, ..IterationRun::BLANK };
        Self { plain, bytes, end: chunks.len() + bytes.len(), run, before: DeltaState::default() }
    }

    pub(super) fn next(&mut self) -> Option<IterationRun> {
        self.advance().copied()
    }

    /// Reads the next run.
    #[inline]
    pub(super) fn advance(&mut self) -> Option<&IterationRun> {
        if let Some((run, rest)) = self.plain.split_first() {
            self.plain = rest;
            return Some(run);
        }
        self.decode()
    }

    fn decode(&mut self) -> Option<&IterationRun> {
        let mut reader = Reader { bytes: self.bytes };
        let mut flags = u16::from(reader.byte()?);
        if flags & MORE != 0 {
            flags |= u16::from(reader.byte()?) << 8;
        }
        self.times(&mut reader, flags)?;
        self.counts(&mut reader, flags);
        let run = &mut self.run;
        run.chunks_at = self.end - reader.bytes.len();
        for _ in 0..run.prompts {
            reader.chunk();
        }
        self.bytes = reader.bytes;
        if flags & (SINGLE | END) == 0 {
            run.end_us = end_by_law(run);
        }
        if flags & BUSY != 0 {
            run.busy_us *= step_us(run.end_us);
        } else if flags & ODD == 0 {
            run.busy_us = whole_us(run);
        }
        self.before.passes(run);
        Some(run)
    }

    /// As [`DeltaState::times`] writes them.
    #[inline]
    fn times(&mut self, reader: &mut Reader<'_>, flags: u16) -> Option<()> {
        if flags & START != 0 {
            self.before.back = reader.byte()?;
        }
        let run = &mut self.run;
        let is_known = flags & START == 0 || usize::from(self.before.back) < KNOWN;
        run.start_us = if is_known { self.before.place().0 } else { reader.number() };
        if flags & SINGLE != 0 {
            run.end_us = f64::from_bits(run.start_us.to_bits() + reader.count());
            run.first_us = run.end_us - run.start_us;
        } else {
            run.first_us = reader.number();
        }
        run.growth_us = if flags & GROWTH == 0 { 0.0 } else { reader.number() };
        if flags & END != 0 {
            run.end_us = reader.number();
        }
        (run.copying_us, run.adapter_load_us) = (0.0, 0.0);
        if flags & (BUSY | ODD | COPIES | LOADS) == 0 {
            return Some(());
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
        Some(())
    }

    /// As [`DeltaState::counts`] writes them.
    #[inline]
    fn counts(&mut self, reader: &mut Reader<'_>, flags: u16) {
        let (run, before) = (&mut self.run, &self.before);
        run.kv_tokens = if flags & KV == 0 {
            before.place().1.wrapping_add(unzigzag(reader.count()) as u64) as i64 as f64
        } else {
            reader.number()
        };
        run.iterations = if flags & SINGLE != 0 { 1 } else { reader.count() as u32 };
        run.prompts = reader.count() as u32;
        run.prompt_tokens = if run.prompts > 0 { reader.count() as u32 } else { 0 };
        run.decodes = reader.count() as u32;
        run.blocks = (i64::from(before.blocks) + unzigzag(reader.count())) as u32;
        run.fresh = if flags & FRESH == 0 { run.decodes } else { reader.count() as u32 };
        (run.rank_sum, run.any_adapter) =
            if flags & ADAPTERS == 0 { (0, false) } else { (reader.count(), reader.count() == 1) };
        (run.resident_adapters, run.adapter_tokens) = if flags & RESIDENT == 0 {
            before.adapters
        } else {
            (reader.count() as u32, reader.count() as u32)
        };
        run.stalled = if flags & STALLED == 0 { 0 } else { reader.count() as u32 };
        run.lora = LoraBatch::default();
        if flags & LORA != 0 {
            let [adapters, adapter_ranks, tokens, token_ranks] = [(); 4].map(|()| reader.count());
            let (adapters, tokens) = (adapters as u32, tokens as u32);
            run.lora = LoraBatch { adapters, adapter_ranks, tokens, token_ranks };
        }
    }
}

/// What is left to read of a log.
#[derive(Debug, Clone)]
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
}

impl Reader<'_> {
    #[inline]
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(byte)
    }

    #[inline]
    pub(super) fn chunk(&mut self) -> Chunk {
        let [kv_tokens, tokens] = [(); 2].map(|()| self.count() as u32);
        Chunk { kv_tokens, tokens }
    }

    #[inline]
    fn number(&mut self) -> f64 {
        let (number, rest) = self.bytes.split_first_chunk().expect("the log is whole");
        self.bytes = rest;
        f64::from_le_bytes(*number)
    }

    #[inline]
    fn count(&mut self) -> u64 {
        let (&byte, rest) = self.bytes.split_first().expect("the log is whole");
        if byte < 0x80 {
            self.bytes = rest;
            return u64::from(byte);
        }
        let (count, length) = large_count(self.bytes);
        self.bytes = &self.bytes[length..];
        count
    }
}

/// A count of several groups at the beginning of `bytes`, and how many they are.
fn large_count(bytes: &[u8]) -> (u64, usize) {
    let mut count = 0;
    for (place, &byte) in bytes.iter().enumerate() {
        count |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return (count, place + 1);
        }
    }
    (count, bytes.len())
}
