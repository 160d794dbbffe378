//! Writes runs of iterations in few bytes, each by what is known of those before it; `read` reads them.

use servescope_cost::{Chunk, LoraBatch};

use super::write::{CHUNKS_AT_ONCE, Writer};
use super::{
    ADAPTERS, ALL_TOKENS, ANY_ADAPTER, BUSY, COPIES, DeltaState, END, EncodedIterations, FRESH, GROWTH,
    IterationRun, KNOWN, KV, LOADS, LORA, MORE, ODD, OTHER_GROWTH, PLAIN_RANKS, RESIDENT, SINGLE, STALLED,
    START, TURN, TURN_BYTES, differs, end_by_law, is_single, step_us, tells_adapters, token_ranks, tokens,
    whole, whole_us,
};

impl EncodedIterations {
    // Once, for those that were kept as they are and for those that come.
    pub(super) fn push(&mut self, run: &IterationRun, chunks: &[Chunk]) {
        if self.before.is_turn(run) && self.push_turn(run) {
            return;
        }
        let (flags, busy_steps) = self.flags(run);
        let mut to = Writer::behind(&mut self.bytes, self.used);
        to.byte(flags as u8);
        if flags & MORE != 0 {
            to.byte((flags >> 8) as u8);
        }
        self.before.times(&mut to, flags, run, busy_steps);
        let has_sum = run.prompt_tokens == tokens_of(chunks);
        self.before.counts(&mut to, flags, run, has_sum);
        let (first, others) = chunks.split_at(chunks.len().min(CHUNKS_AT_ONCE));
        first.iter().for_each(|&chunk| write_chunk(&mut to, chunk));
        self.used += to.length;
        for some in others.chunks(CHUNKS_AT_ONCE) {
            let mut to = Writer::behind(&mut self.bytes, self.used);
            some.iter().for_each(|&chunk| write_chunk(&mut to, chunk));
            self.used += to.length;
        }
        self.before.passes(run);
    }

    /// Writes a turn down; says whether it can be told how long its stages worked.
    pub(super) fn push_turn(&mut self, run: &IterationRun) -> bool {
        let is_whole = differs(1, run.busy_us, whole_us(run)) == 0;
        let steps = if is_whole { Some(0) } else { steps_of(run.busy_us, run.end_us) };
        let Some(steps) = steps else { return false };
        let takes = run.end_us.to_bits() - run.start_us.to_bits();
        let bytes = (takes | steps | 1).ilog2() / 8 + 1;
        let mut to = Writer::behind(&mut self.bytes, self.used);
        to.byte((TURN | if is_whole { 0 } else { BUSY }) as u8 | ((bytes - 1) << TURN_BYTES) as u8);
        to.word(takes, bytes as usize);
        if !is_whole {
            to.word(steps, bytes as usize);
        }
        to.count(zigzag(i64::from(run.blocks) - i64::from(self.before.blocks)));
        self.used += to.length;
        self.before.passes(run);
        true
    }

    /// What is to be said of a run, and for how many steps of the clock its stages worked, where that is said; where it does
    /// not begin as is foreseen, `before` is told.
    #[inline]
    fn flags(&mut self, run: &IterationRun) -> (u16, u64) {
        let before = &mut self.before;
        let mut flags = if is_single(run) { SINGLE } else { differs(END, run.end_us, end_by_law(run)) };
        if differs(GROWTH, run.growth_us, 0.0) > 0 {
            let growth = std::mem::replace(before.growths.of(run.decodes), run.growth_us);
            flags |= GROWTH | differs(OTHER_GROWTH, run.growth_us, growth);
        }
        flags |= if run.stalled == 0 { 0 } else { STALLED };
        flags |= if tells_adapters(run) { ADAPTERS } else { 0 };
        let mut busy_steps = 0;
        if !before.is_usual(run) {
            let (more_flags, steps) = before.unusual_flags(run);
            flags |= more_flags;
            busy_steps = steps;
        }
        (flags | if flags > 0xff { MORE } else { 0 }, busy_steps)
    }
}

impl DeltaState {
    /// Whether a run begins, works and holds what is foreseen: then it has none of the flags of [`Self::unusual_flags`].
    #[inline]
    fn is_usual(&self, run: &IterationRun) -> bool {
        let apart = |a: f64, b: f64| a.to_bits() ^ b.to_bits();
        let (resident_adapters, adapter_tokens) = self.adapters;
        let counts = (run.fresh ^ run.decodes)
            | (run.resident_adapters ^ resident_adapters)
            | (run.adapter_tokens ^ adapter_tokens);
        let bits = apart(run.start_us, self.place().end_us)
            | apart(run.busy_us, whole_us(run))
            | apart(run.kv_tokens, whole(run.kv_tokens) as i64 as f64)
            | run.copying_us.to_bits()
            | run.adapter_load_us.to_bits();
        bits | u64::from(counts) == 0
    }

    /// What is to be said of a run where anything is not as foreseen, and for how many steps of the clock its stages worked.
    fn unusual_flags(&mut self, run: &IterationRun) -> (u16, u64) {
        let mut flags = differs(START, run.start_us, self.place().end_us);
        if flags > 0 {
            let begins = |back: &usize| differs(1, run.start_us, self.ago(*back).end_us) == 0;
            self.back = (0..KNOWN).find(begins).unwrap_or(KNOWN) as u8;
        }
        let mut busy_steps = 0;
        if differs(1, run.busy_us, whole_us(run)) > 0 {
            let steps = steps_of(run.busy_us, run.end_us);
            flags |= if steps.is_some() { BUSY } else { ODD };
            busy_steps = steps.unwrap_or(0);
        }
        flags |= differs(COPIES, run.copying_us, 0.0)
            | differs(LOADS, run.adapter_load_us, 0.0)
            | differs(KV, run.kv_tokens, whole(run.kv_tokens) as i64 as f64)
            | if self.adapters == (run.resident_adapters, run.adapter_tokens) { 0 } else { RESIDENT }
            | if run.fresh == run.decodes { 0 } else { FRESH };
        (flags, busy_steps)
    }

    #[inline]
    fn times(&self, to: &mut Writer<'_>, flags: u16, run: &IterationRun, busy_steps: u64) {
        if flags & START != 0 {
            to.byte(self.back);
            if usize::from(self.back) == KNOWN {
                to.number(run.start_us);
            }
        }
        if flags & SINGLE != 0 {
            to.count(run.end_us.to_bits() - run.start_us.to_bits());
        } else {
            to.number(run.first_us);
        }
        for (flag, number) in [(OTHER_GROWTH, run.growth_us), (END, run.end_us)] {
            if flags & flag != 0 {
                to.number(number);
            }
        }
        if flags & BUSY != 0 {
            to.count(busy_steps);
        }
        if flags & (ODD | COPIES | LOADS) != 0 {
            let numbers = [(ODD, run.busy_us), (COPIES, run.copying_us), (LOADS, run.adapter_load_us)];
            numbers
                .into_iter()
                .filter(|(flag, _)| flags & flag != 0)
                .for_each(|(_, number)| to.number(number));
        }
    }

    #[inline]
    fn counts(&self, to: &mut Writer<'_>, flags: u16, run: &IterationRun, has_sum: bool) {
        if flags & KV == 0 {
            to.count(zigzag(whole(run.kv_tokens).wrapping_sub(self.place().kv_tokens) as i64));
        } else {
            to.number(run.kv_tokens);
        }
        if flags & SINGLE == 0 {
            to.count(run.iterations.into());
        }
        // Whether the prompt tokens are those of the prompts, in the lowest bit.
        to.count(u64::from(run.prompts) << 1 | u64::from(has_sum));
        if !has_sum {
            to.count(run.prompt_tokens.into());
        }
        to.count(run.decodes.into());
        to.count(zigzag(i64::from(run.blocks) - i64::from(self.blocks)));
        if flags & FRESH != 0 {
            to.count(u64::from(run.fresh));
        }
        if flags & ADAPTERS != 0 {
            adapters(to, run);
        }
        if flags & RESIDENT != 0 {
            to.count(run.resident_adapters.into());
            to.count(run.adapter_tokens.into());
        }
        if flags & STALLED != 0 {
            to.count(run.stalled.into());
        }
    }
}

#[inline]
fn write_chunk(to: &mut Writer<'_>, chunk: Chunk) {
    to.count(u64::from(chunk.kv_tokens));
    to.count(u64::from(chunk.tokens));
}

#[inline]
fn adapters(to: &mut Writer<'_>, run: &IterationRun) {
    let flags = adapter_flags(run);
    to.byte(flags);
    to.count(run.rank_sum);
    if flags & LORA == 0 {
        return;
    }
    let LoraBatch { adapters, adapter_ranks, tokens, token_ranks } = run.lora;
    to.count(adapters.into());
    to.count(adapter_ranks);
    if flags & ALL_TOKENS == 0 {
        to.count(tokens.into());
    }
    if flags & PLAIN_RANKS == 0 {
        to.count(token_ranks);
    }
}

/// Signed numbers near 0 as small ones.
fn zigzag(difference: i64) -> u64 {
    ((difference << 1) ^ (difference >> 63)) as u64
}

/// How many steps of the clock at `end_us` a time is, where it is so many exactly.
fn steps_of(time_us: f64, end_us: f64) -> Option<u64> {
    let step_us = step_us(end_us);
    // Over the signed ones, to which processors turn a number at once.
    let steps = (time_us / step_us) as i64;
    let is_told = (0..9_000_000_000_000_000).contains(&steps)
        && (steps as f64 * step_us).to_bits() == time_us.to_bits();
    is_told.then_some(steps as u64)
}

/// The byte that tells of its adapters.
fn adapter_flags(run: &IterationRun) -> u8 {
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    flag(run.any_adapter, ANY_ADAPTER)
        | flag(run.lora != LoraBatch::default(), LORA)
        | flag(run.lora.tokens == tokens(run), ALL_TOKENS)
        | flag(run.lora.token_ranks == token_ranks(run), PLAIN_RANKS)
}

/// Prompt tokens that are read with the prompts.
fn tokens_of(chunks: &[Chunk]) -> u32 {
    chunks.iter().fold(0, |sum, chunk| sum.wrapping_add(chunk.tokens))
}
