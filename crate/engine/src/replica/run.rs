//! Iterations of one batch on a replica of one stage, charged at once or one by one with equal bits.

use servescope_cost::{Chunk, LinearDecode, StageTime};

use super::Replica;
use super::batch_scheduler::ScheduleContext;
use super::iteration::ScheduledBatch;
use crate::record::timeline::{IterationRun, whole_us};

/// The iterations since the batch last changed. The clock after k of them is begin + elapsed(k), however they are charged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchRun {
    /// When the first one begins, behind the loading of adapters.
    begins_us: f64,
    pub(crate) time_model: LinearDecode,
    /// Iterations for which the time model is right.
    pub(crate) valid_for: u32,
    /// Iterations that are over.
    pub(crate) done: u32,
    /// Whose iterations they are, of a replica that keeps no decode batch ([`ScheduledBatch::composition`]).
    pub(crate) composition: u64,
    /// What is written down of them: at their beginning, and what is known at their end then; of a replica that keeps a decode
    /// batch, `end_us` is that of the last of those that are over.
    pub(crate) record: IterationRun,
}

impl BatchRun {
    /// The run that begins now with a batch whose first iteration takes `time` by the cost model; `stalled` requests hold memory
    /// and are no part of it.
    #[inline]
    pub(crate) fn begin(
        replica: &Replica,
        context: &ScheduleContext<'_>,
        batch: &ScheduledBatch,
        time: StageTime,
        stalled: u32,
    ) -> Self {
        let copying_us = context.config.copying_us(batch.copied_blocks);
        // What comes before its first iteration comes before no other one.
        let is_slowed = copying_us > 0.0 || batch.load_us > 0.0;
        let growth_us = if is_slowed { 0.0 } else { time.growth_us };
        let first_us = time.first_us + copying_us;
        Self {
            begins_us: context.now_us + batch.load_us,
            time_model: LinearDecode::new(first_us, growth_us),
            valid_for: if is_slowed { 1 } else { time.valid_iterations.max(1) },
            done: 0,
            composition: batch.composition,
            record: IterationRun {
                start_us: context.now_us,
                first_us: batch.load_us + first_us,
                growth_us,
                replica: replica.index,
                prompts: batch.prompts.len() as u32,
                prompt_tokens: batch.prompt_tokens(),
                decodes: batch.decodes,
                decode_tokens: batch.decode_tokens,
                drafts: batch.drafts,
                drafted: batch.drafted,
                rank_rows: batch.rank_rows,
                stalled,
                kv_tokens: replica.kv_tokens(batch) as f64,
                rank_sum: batch.rank_sum,
                any_adapter: batch.any_adapter,
                lora: batch.lora,
                resident_adapters: batch.in_memory.0,
                adapter_tokens: batch.in_memory.1,
                adapter_load_us: batch.load_us,
                copying_us,
                ..IterationRun::BLANK
            },
        }
    }

    /// The clock after `iterations`.
    #[inline]
    pub(crate) fn time_after(&self, iterations: u32) -> f64 {
        self.begins_us + self.time_model.elapsed_us(iterations)
    }

    /// The first iteration after those that are over, and at most `latest`, that ends at `time_us` or later.
    pub(crate) fn first_end_from(&self, time_us: f64, latest: u32) -> u32 {
        let first = self.done + 1;
        if latest <= first || self.time_after(first) >= time_us {
            return first;
        }
        let mut k = self.time_model.about_until(time_us - self.begins_us).clamp(first, latest);
        // The last iteration is settled on the clock itself.
        while k > first && self.time_after(k - 1) >= time_us {
            k -= 1;
        }
        while k < latest && self.time_after(k) < time_us {
            k += 1;
        }
        k
    }
}

/// The longest of the iterations from index `from` to before `to`.
pub(crate) fn longest_of(time_model: &LinearDecode, from: u32, to: u32) -> f64 {
    let (first_us, last_us) = (time_model.iteration_us(from), time_model.iteration_us(to - 1));
    if last_us > first_us { last_us } else { first_us }
}

impl Replica {
    /// Writes the iterations since the last change into the record. `chunks`: what they read of prompts, if they are the ones
    /// that end.
    #[inline]
    pub(crate) fn close_run(&mut self, context: &mut ScheduleContext<'_>, chunks: &[Chunk]) {
        if self.keeps_decode_batch && self.run.as_ref().is_some_and(|run| run.done > 0) {
            self.write_run(context, chunks);
        }
        self.run = None;
    }

    fn write_run(&mut self, context: &mut ScheduleContext<'_>, chunks: &[Chunk]) {
        let Some(run) = &mut self.run else { return };
        let IterationRun { start_us, end_us, .. } = run.record;
        debug_assert!(end_us == run.time_after(run.done), "the last of them is over");
        let mut fresh = 0;
        if run.record.decodes > 0 {
            let mut first_end_us = end_us;
            let mut later_us = f64::NEG_INFINITY;
            if run.done > 1 {
                first_end_us = run.time_after(1);
                later_us = longest_of(&run.time_model, 1, run.done);
            }
            for (place, &(count, token_us)) in (1..).zip(&self.last_token_groups) {
                // The last of these gaps counts for nothing where a gap follows that is as long.
                if first_end_us - token_us > later_us || place < self.last_token_groups.len() {
                    self.shared_gaps.add(token_us, first_end_us - token_us);
                }
                if token_us == start_us {
                    fresh += count;
                } else {
                    context.record.gap(token_us, first_end_us, count);
                }
            }
            self.last_token_groups.clear();
            for &(id, token_us) in &self.resumed {
                context.requests.waited_for_token(id, first_end_us - token_us);
            }
            self.resumed.clear();
            if run.done > 1 {
                self.shared_gaps.add(first_end_us, later_us);
            }
            self.last_token_groups.push((run.record.decodes, end_us));
        }
        let record = &mut run.record;
        record.busy_us = end_us - start_us - record.adapter_load_us;
        record.iterations = run.done;
        record.fresh = fresh;
        record.blocks = self.kv.used();
        context.record.iterations.push(record, chunks);
    }
}

impl Replica {
    /// Writes iterations down that end now and began one after the other, the first one with `batch`, on the one stage.
    /// `fresh` requests made their last token when it began.
    pub(crate) fn write(
        &mut self,
        context: &mut ScheduleContext<'_>,
        batch: &ScheduledBatch,
        iterations: u32,
        fresh: u32,
        blocks: u32,
    ) {
        let end_us = context.now_us;
        if let (true, Some(open)) = (batch.continues_run && fresh == batch.decodes, &mut self.open) {
            open.iterations += iterations;
            (open.end_us, open.blocks) = (end_us, blocks);
            return;
        }
        self.close_open(context);
        let (first_us, growth_us) = (batch.first_us, batch.growth_us);
        let started = written(self, context, batch, batch.began_us, fresh);
        self.open = Some(IterationRun { first_us, growth_us, iterations, blocks, ..started });
        if batch.composition == 0 {
            self.close_open_with(context, &batch.chunks);
        }
    }

    /// Writes the iterations down that others might have followed.
    pub(crate) fn close_open(&mut self, context: &mut ScheduleContext<'_>) {
        self.close_open_with(context, &[]);
    }

    fn close_open_with(&mut self, context: &mut ScheduleContext<'_>, chunks: &[Chunk]) {
        let Some(mut run) = self.open.take() else { return };
        run.busy_us = whole_us(&run);
        if run.iterations == 1 {
            (run.first_us, run.growth_us) = (run.end_us - run.start_us, 0.0);
        }
        context.record.iterations.push(&run, chunks);
    }
}

/// How long the stages of a replica worked on an iteration on average, where it was so long on all of them together.
pub(crate) fn busy_us(replica: &Replica, in_all_us: f64) -> f64 {
    in_all_us / f64::from(replica.stages)
}

/// How a batch that began at `start_us` and has left the last stage is written down. `fresh` requests made their last token when
/// it began.
pub(crate) fn written(
    replica: &Replica,
    context: &ScheduleContext<'_>,
    batch: &ScheduledBatch,
    start_us: f64,
    fresh: u32,
) -> IterationRun {
    IterationRun {
        start_us,
        end_us: context.now_us,
        busy_us: busy_us(replica, batch.busy_us),
        first_us: context.now_us - start_us,
        growth_us: 0.0,
        iterations: 1,
        replica: replica.index,
        prompts: batch.prompts.len() as u32,
        prompt_tokens: batch.prompt_tokens(),
        decodes: batch.decodes,
        decode_tokens: batch.decode_tokens,
        drafts: batch.drafts,
        drafted: batch.drafted,
        rank_rows: batch.rank_rows,
        waited_us: batch.waited_us,
        fresh,
        kv_tokens: replica.kv_tokens(batch) as f64,
        blocks: replica.kv.used(),
        rank_sum: batch.rank_sum,
        any_adapter: batch.any_adapter,
        lora: batch.lora,
        resident_adapters: batch.in_memory.0,
        adapter_tokens: batch.in_memory.1,
        adapter_load_us: batch.load_us,
        copying_us: context.config.copying_us(batch.copied_blocks),
        ..IterationRun::BLANK
    }
}
