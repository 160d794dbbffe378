//! The end of an iteration for the prompts in it: they are further by their chunks, and the end of a prompt gives a token.

use super::Replica;
use super::batch_scheduler::{BatchEvent, ScheduleContext};
use super::iteration::ScheduledBatch;
use crate::record::request_phases::PrefillPhase;
use crate::record::request_state::RequestStatus;
use crate::record::work_time::WorkTime;

impl Replica {
    /// The prompts of an iteration that began at `formed_us` are further by their chunks.
    pub(crate) fn finish_prefill_chunks(
        &mut self,
        context: &mut ScheduleContext<'_>,
        batch: &ScheduledBatch,
    ) {
        self.happened(context, BatchEvent::PromptsEnded(batch));
        if batch.load_us > 0.0 && context.requests.load_us.is_empty() {
            context.requests.load_us = vec![0.0; context.trace.len()];
        }
        for (&id, chunk) in batch.prompts.iter().zip(&batch.chunks) {
            let i = id.index();
            context.record.phases.prefill(PrefillPhase {
                request: id,
                start_us: batch.formed_us,
                end_us: context.now_us,
                load_us: batch.load_us,
                from_token: chunk.kv_tokens,
                tokens: chunk.tokens,
            });
            let requests = &mut *context.requests;
            if let Some(load_us) = requests.load_us.get_mut(i) {
                *load_us += batch.load_us;
            }
            if let Some(execution) = requests.execution.get_mut(i) {
                *execution += WorkTime::of_us(batch.busy_us);
            }
            let request = &mut requests[i];
            request.prefill_us += context.now_us - batch.formed_us - batch.load_us;
            request.updated_us = context.now_us;
            request.done += chunk.tokens;
            if request.done < request.prompt {
                let list = if self.is_single() { &mut self.partial_prefills } else { &mut self.running };
                list.push(id);
                continue;
            }
            // The end of the prompt gives a token.
            request.done += 1;
            let (tokens, is_first) = (request.done, request.first_token_us.is_nan());
            self.waiting.made_token(context.trace, id, is_first);
            if is_first {
                request.first_token_us = context.now_us;
                context.record.has_first_token(id);
            } else if let Some(token_us) = requests.token_us.remove(&id)
                && !context.config.reference_quirks
            {
                // Vidur leaves the gap across an eviction out of its times between tokens.
                context.record.gap(token_us, context.now_us, 1);
                context.requests.waited_for_token(id, context.now_us - token_us);
            }
            let total = context.total(id);
            if tokens >= total {
                self.happened(context, BatchEvent::Left(id, None));
                let blocks = context.blocks_held_at(id, total);
                self.finish(context, id, total, blocks);
                continue;
            }
            let request = &mut context.requests[i];
            request.status = RequestStatus::Decoding;
            if self.is_single() {
                request.done = self.decode_batch.beside_step(tokens);
                request.stalled_us -= self.stall_us;
                self.decode_batch.join(context.member(id, tokens), total - tokens);
                self.waiting.decodes(context.trace, id, true);
                self.happened(context, BatchEvent::Joined(id));
                match self.last_token_groups.last_mut() {
                    Some(last) if last.1 == context.now_us => last.0 += 1,
                    _ => self.last_token_groups.push((1, context.now_us)),
                }
            }
            if self.is_single() || context.facts.mixes_batches {
                self.running.push(id);
            }
        }
    }
}
