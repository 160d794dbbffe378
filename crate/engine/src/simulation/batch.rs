//! The batch: who is picked joins it with a prefill, it decodes, and who has the last token leaves it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use servescope_cost::{Chunk, DecodeRun, DecodeShape, IterationCost, PrefillShape};
use servescope_workload::BASE_MODEL;

use super::Simulation;
use super::decoding::DecodingRun;
use super::sight::LastAction;
use crate::observer::{Event, Observer};
use crate::report::Outcome;
use crate::scheduler::DecodeSpan;
use crate::scheduler::memory::Entry;
use crate::timeline::{Gap, IterationRun};

/// Sums over the batch, and when each of its requests ends.
#[derive(Debug, Default)]
pub(super) struct Running {
    pub(super) count: u32,
    pub(super) kv_tokens: u64,
    rank_sum: u64,
    with_adapter: u32,
    joined: u32,
    /// (last decode step, order of joining, request); an entry whose step is not the request's `last_step` is stale.
    ends: BinaryHeap<Reverse<(u64, u32, u32)>>,
}

impl Running {
    /// A request's last step is known, or another than it was.
    pub(super) fn ends_at(&mut self, last_step: u64, joined: u32, id: u32) {
        self.ends.push(Reverse((last_step, joined, id)));
    }
}

impl<C: IterationCost> Simulation<C> {
    /// Loads the adapters of the picked requests and prefills them.
    pub(super) fn prefill(&mut self, observer: &mut impl Observer) {
        self.close_run();
        let start_us = self.now_us;
        let mut shape = PrefillShape { requests: self.picked.len() as u32, ..PrefillShape::default() };
        let (mut load_us, mut tokens, mut rank_sum) = (0.0, 0u32, 0u64);
        self.chunks.clear();
        for &id in &self.picked {
            let adapter = self.trace.adapter[id as usize];
            let input = self.trace.input_tokens[id as usize];
            tokens += input;
            self.chunks.push(Chunk { kv_tokens: 0, tokens: input });
            if adapter != BASE_MODEL && self.config.lora_compute {
                shape.any_adapter = true;
                rank_sum += u64::from(self.adapters.rank(adapter));
                if self.adapters.load(adapter) {
                    load_us += self.cost.adapter_load_us(self.adapters.rank(adapter));
                    observer.see(|| Event::Loaded(adapter));
                }
            }
        }
        shape.tokens = f64::from(tokens);
        let prefill_us = self.cost.prefill_us(&shape);
        let end_us = start_us + load_us + prefill_us;
        let written = IterationRun {
            start_us,
            end_us,
            busy_us: end_us - start_us - load_us,
            first_us: end_us - start_us,
            iterations: 1,
            prompts: shape.requests,
            prompt_tokens: tokens,
            stalled: self.running.count,
            kv_tokens: self.running.kv_tokens as f64,
            blocks: self.running.kv_tokens as u32 + tokens,
            resident_adapters: self.adapters.resident_count(),
            adapter_tokens: self.adapters.resident_tokens(),
            rank_sum,
            any_adapter: shape.any_adapter,
            adapter_load_us: load_us,
            ..IterationRun::BLANK
        };
        self.timeline.iterations.push(&written, &self.chunks);
        if load_us > 0.0 && self.served.load_us.is_empty() {
            self.served.load_us = vec![0.0; self.trace.len()];
        }
        for &id in &self.picked {
            self.served.is_prefilled(id, [start_us, load_us, prefill_us, end_us]);
        }
        observer.see(|| Event::Prefill { at_us: start_us, duration_us: end_us - start_us });
        self.last = LastAction::standing(self.step, self.used_tokens(), end_us);
        self.now_us = end_us;
        self.wait_tokens = 0;
        self.retry_step = 0;
        self.waiting -= shape.requests;
        // Those who join stood still for nobody yet: the stall counter moves before they read it.
        self.stall_us += end_us - start_us;
        if self.line.follows_batch() {
            self.line.prefilled(&self.picked, &self.trace);
        }
        let before = self.running.count;
        for i in 0..self.picked.len() {
            self.join(self.picked[i], observer);
        }
        if self.running.count > before {
            self.last_tokens.push((self.running.count - before, end_us));
        }
        if self.running.count == 0 {
            self.adapters.offload_unused(|adapter| observer.see(|| Event::Offloaded(adapter)));
        }
    }

    /// A prefilled request, with its first token, joins the batch or is done.
    fn join(&mut self, id: u32, observer: &mut impl Observer) {
        let i = id as usize;
        let (input, output, max) =
            (self.trace.input_tokens[i], self.trace.output_tokens[i], self.trace.max_tokens[i]);
        let adapter = self.trace.adapter[i];
        self.memory.remove(Entry::new(self.step, input + 1, max - 1));
        let span = &mut self.spans[i];
        *span = DecodeSpan {
            joined: self.running.joined,
            first_step: self.step,
            last_step: self.step + u64::from(output - 1),
        };
        self.running.joined += 1;
        self.intake.first_token(id, self.now_us);
        if output == 1 {
            let fate = &mut self.fates[i];
            fate.complete(self.now_us, 1);
            let completed = fate.outcome == Outcome::Completed;
            self.intake.ended(&self.trace, id, self.now_us, 1, completed);
            self.adapters.release(adapter);
            observer.see(|| Event::Finished(id));
            return;
        }
        // While it runs, what the others' prefills took before it joined.
        self.served.stalled_us[i] = self.stall_us;
        self.memory.insert(Entry::new(self.step, input + 1, max - 2));
        if self.line.follows_batch() {
            self.line.joined(id, &self.trace);
        }
        let running = &mut self.running;
        running.count += 1;
        running.kv_tokens += u64::from(input) + 1;
        running.rank_sum += u64::from(self.adapters.rank(adapter));
        running.with_adapter += u32::from(adapter != BASE_MODEL);
        running.ends_at(span.last_step, span.joined, id);
    }

    /// Decodes until something can change, and lets go whoever is done.
    pub(super) fn decode(&mut self, decided: bool, observer: &mut impl Observer) {
        let run = match self.run {
            Some(run) => run,
            None => self.open_run(),
        };
        let iterations = self.leap(&run);
        let after = run.iterations + iterations;
        let start_us = self.now_us;
        self.now_us = run.time_after(after);
        self.last = LastAction::decoding(self.step, self.used_tokens(), self.now_us, run, iterations);
        self.run = Some(DecodingRun { iterations: after, ..run });
        if self.line.follows_batch() {
            self.line.decoded(self.step, iterations, &self.trace, (&self.fates, &self.spans));
        }
        self.step += u64::from(iterations);
        self.running.kv_tokens += u64::from(iterations) * u64::from(self.running.count);
        self.wait_tokens =
            self.wait_tokens.saturating_add(iterations).min(self.config.decode_steps_between_prefills);
        observer.see(|| Event::Decode {
            at_us: start_us,
            duration_us: self.now_us - start_us,
            iterations,
            requests: run.shape.requests,
            decided,
        });
        if self.let_go(observer) {
            self.retry_step = 0;
            self.adapters.offload_unused(|adapter| observer.see(|| Event::Offloaded(adapter)));
        }
    }

    fn open_run(&self) -> DecodingRun<C::Decode> {
        let running = &self.running;
        let shape = DecodeShape {
            requests: running.count,
            kv_tokens: running.kv_tokens as f64,
            rank_sum: if self.config.lora_compute { running.rank_sum as f64 } else { 0.0 },
            any_adapter: self.config.lora_compute && running.with_adapter > 0,
        };
        DecodingRun { start_us: self.now_us, law: self.cost.decode(&shape), iterations: 0, shape }
    }

    /// Writes the decode iterations since the last change into the timeline.
    fn close_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let decodes = run.shape.requests;
        let (first_us, end_us) = (run.law.iteration_us(0), run.time_after(run.iterations));
        let first_end_us = run.time_after(1);
        let mut fresh = 0;
        for (count, token_us) in self.last_tokens.drain(..) {
            if token_us == run.start_us {
                fresh += count;
            } else {
                let length_us = first_end_us - token_us;
                self.timeline.gaps.push(Gap { end_us: first_end_us, length_us, count });
            }
        }
        self.last_tokens.push((decodes, end_us));
        let written = IterationRun {
            start_us: run.start_us,
            end_us,
            busy_us: end_us - run.start_us,
            first_us,
            growth_us: run.law.iteration_us(1) - first_us,
            iterations: run.iterations,
            decodes,
            fresh,
            kv_tokens: run.shape.kv_tokens,
            blocks: run.shape.kv_tokens as u32 + (run.iterations - 1) * decodes,
            resident_adapters: self.adapters.resident_count(),
            adapter_tokens: self.adapters.resident_tokens(),
            rank_sum: run.shape.rank_sum as u64,
            any_adapter: run.shape.any_adapter,
            ..IterationRun::BLANK
        };
        self.timeline.iterations.push(&written, &[]);
    }

    /// How many decode iterations can pass before anything but the clock may change.
    fn leap(&mut self, run: &DecodingRun<C::Decode>) -> u32 {
        let first_end = self.running.ends.peek().map_or(1, |&Reverse((last_step, ..))| last_step - self.step);
        let mut leap = (first_end.max(1)).min(u64::from(self.longest_leap)) as u32;
        let rest = self.config.decode_steps_between_prefills - self.wait_tokens;
        let iterations_until = |at: f64| run.first_at_or_after(at, run.iterations) - run.iterations;
        // Whether an arrival is let in may depend on who is there when it is seen.
        let heeds_arrivals =
            self.line.heeds_arrivals() || self.config.max_in_system != u32::MAX || self.intake.has_proxy();
        if self.line.wants_decision() {
            // A decision is due when the rule allows one and the head of the queue may fit.
            let until_retry = self.retry_step.saturating_sub(self.step).min(u64::from(leap)) as u32;
            leap = leap.min(rest.max(until_retry).max(1));
            if let Some(due) = self.line.due_us() {
                leap = leap.min(iterations_until(due).max(rest).max(1));
            }
        }
        let arrival =
            self.intake.due_to_engine_us(&self.trace).filter(|_| heeds_arrivals || self.line.is_empty());
        if let Some(arrival) = arrival {
            let rest = if heeds_arrivals { 0 } else { rest };
            leap = leap.min(iterations_until(arrival).max(rest).max(1));
        }
        if let Some(deadline) = self.deadline_us() {
            leap = leap.min(iterations_until(deadline).max(1));
        }
        // Leaps and single steps sample at the same times.
        if let Some(sample_us) = self.counters.next_us() {
            leap = leap.min(iterations_until(sample_us).max(1));
        }
        if let Some(point) = self.next_prefetch() {
            leap = leap.min((point - self.wait_tokens).max(1));
        }
        if let Some(&(at, _)) = self.trace.cancellations.get(self.next_cancellation) {
            leap = leap.min((run.first_at_or_after(at, run.iterations) - run.iterations).max(1));
        }
        leap
    }

    /// Decode iterations since the last prefill at which waiting requests' adapters are looked for next.
    #[inline]
    pub(super) fn next_prefetch(&self) -> Option<u32> {
        if !self.config.prefetch_adapters || !self.config.lora_compute || !self.line.can_prefetch() {
            return None;
        }
        let (between, now) = (self.config.decode_steps_between_prefills, self.wait_tokens);
        let points = [Some(between / 2), between.checked_sub(3)].into_iter().flatten();
        points.filter(|&p| p >= now && p < between).min()
    }

    /// Copies adapters of waiting requests ahead, behind the decode iteration that begins now.
    pub(super) fn prefetch(&mut self, observer: &mut impl Observer) {
        let Self { line, trace, fates, adapters, config, .. } = self;
        let mut somebody = false;
        line.look_ahead(config.batch_max_tokens, trace, fates, |id| {
            somebody = true;
            let adapter = trace.adapter[id as usize];
            if adapter != BASE_MODEL && adapters.prefetch(adapter) {
                observer.see(|| Event::Loaded(adapter));
            }
        });
        if somebody {
            observer.see(|| Event::Prefetched);
        }
    }

    /// Lets the requests go whose last token is there, and says whether there were any.
    fn let_go(&mut self, observer: &mut impl Observer) -> bool {
        let before = self.running.count;
        while let Some(&Reverse((last_step, _, id))) = self.running.ends.peek() {
            if last_step > self.step {
                break;
            }
            self.running.ends.pop();
            let i = id as usize;
            if self.spans[i].last_step != last_step || self.fates[i].finish_us.is_some() {
                continue;
            }
            if self.running.count == before {
                self.close_run();
                if self.line.follows_batch() {
                    self.line.finishing(self.step, &self.trace, &self.spans);
                }
            }
            let stalled_us = &mut self.served.stalled_us[i];
            *stalled_us = self.stall_us - *stalled_us;
            let first_step = self.spans[i].first_step;
            let produced = 1 + (last_step - first_step) as u32;
            self.fates[i].complete(self.now_us, produced);
            let (input, max, adapter) =
                (self.trace.input_tokens[i], self.trace.max_tokens[i], self.trace.adapter[i]);
            self.memory.remove(Entry::new(first_step, input + 1, max - 2));
            self.running.count -= 1;
            self.running.kv_tokens -= u64::from(input) + u64::from(produced);
            self.running.rank_sum -= u64::from(self.adapters.rank(adapter));
            self.running.with_adapter -= u32::from(adapter != BASE_MODEL);
            self.adapters.release(adapter);
            if self.line.follows_batch() {
                self.line.left(id, &self.trace);
            }
            let completed = self.fates[i].outcome == Outcome::Completed;
            self.intake.ended(&self.trace, id, self.now_us, produced, completed);
            observer.see(|| Event::Finished(id));
        }
        let left = before - self.running.count;
        if left > 0 {
            // Their last tokens are those of the iterations just written.
            match self.last_tokens.last_mut() {
                Some(group) if group.0 > left => group.0 -= left,
                _ => drop(self.last_tokens.pop()),
            }
        }
        left > 0
    }
}
