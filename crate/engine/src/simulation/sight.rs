//! How the proxy sees the engine at a time within what the loop did last. The loop may have charged many iterations at
//! once; what was so in the middle follows from their common law.

use std::cell::Cell;

use servescope_cost::DecodeRun;
use servescope_workload::Trace;

use super::decoding::DecodingRun;
use crate::gateway::proxy::Sight;
use crate::gateway::reservations::Reservation;
use crate::report::Served;
use crate::scheduler::DecodeSpan;

/// What the loop did last, and what was so when it began.
#[derive(Debug)]
pub(super) struct LastAction<D> {
    end_us: f64,
    step: u64,
    used_tokens: u64,
    /// Iterations, if it was some: so many, behind those that the run had by then.
    run: Option<(DecodingRun<D>, u32)>,
}

impl<D> Default for LastAction<D> {
    fn default() -> Self {
        Self { end_us: 0.0, step: 0, used_tokens: 0, run: None }
    }
}

impl<D> LastAction<D> {
    /// The batch stood still until `end_us`.
    pub(super) fn standing(step: u64, used_tokens: u64, end_us: f64) -> Self {
        Self { end_us, step, used_tokens, run: None }
    }

    /// So many iterations were charged behind those of `run`, until `end_us`.
    pub(super) fn decoding(
        step: u64,
        used_tokens: u64,
        end_us: f64,
        run: DecodingRun<D>,
        iterations: u32,
    ) -> Self {
        Self { end_us, step, used_tokens, run: Some((run, iterations)) }
    }
}

impl<D: DecodeRun> LastAction<D> {
    /// Iterations of it that are over at a time before its end.
    fn over_at(&self, at_us: f64) -> u32 {
        let Some((run, iterations)) = &self.run else { return 0 };
        // What is decided on most often comes within the last iteration: that is why no more were charged.
        if run.time_after(run.iterations + iterations - 1) < at_us {
            return iterations - 1;
        }
        let begun = run.first_at_or_after(at_us, run.iterations);
        let over = if run.time_after(begun) <= at_us { begun } else { begun - 1 };
        over.max(run.iterations) - run.iterations
    }

    fn requests(&self) -> u32 {
        self.run.as_ref().map_or(0, |(run, _)| run.shape.requests)
    }
}

/// The engine now, and what it did last.
pub(super) struct Engine<'a, D> {
    pub(super) last: &'a LastAction<D>,
    pub(super) step: u64,
    pub(super) used_tokens: u64,
    pub(super) spans: &'a [DecodeSpan],
    pub(super) served: &'a Served,
    pub(super) trace: &'a Trace,
    /// The last time that was asked for, and iterations of the last action that were over then.
    pub(super) asked: Cell<(f64, u32)>,
}

impl<D: DecodeRun> Engine<'_, D> {
    fn over_at(&self, at_us: f64) -> u32 {
        let (asked_us, over) = self.asked.get();
        if asked_us == at_us {
            return over;
        }
        let over = self.last.over_at(at_us);
        self.asked.set((at_us, over));
        over
    }
}

impl<D: DecodeRun> Sight for Engine<'_, D> {
    fn used_tokens(&self, at_us: f64) -> f64 {
        if at_us >= self.last.end_us {
            return self.used_tokens as f64;
        }
        (self.last.used_tokens + u64::from(self.over_at(at_us)) * u64::from(self.last.requests())) as f64
    }

    fn held_tokens(&self, open: &[Reservation], at_us: f64, held: &mut Vec<u32>) {
        let is_over = at_us >= self.last.end_us;
        let steps = if is_over { self.step } else { self.last.step + u64::from(self.over_at(at_us)) };
        held.extend(open.iter().map(|entry| {
            let i = entry.id as usize;
            // Of those whose prefill is under way, or has not begun, nothing is in memory yet.
            let joined_us = self.served.first_token_us[i];
            let has_joined = if is_over { !joined_us.is_nan() } else { joined_us <= at_us };
            if !has_joined {
                return 0;
            }
            let span = &self.spans[i];
            let produced = 1 + steps.min(span.last_step).saturating_sub(span.first_step);
            self.trace.input_tokens[i] + produced as u32
        }));
    }
}

/// The engine as the proxy sees it, while the proxy itself is borrowed.
macro_rules! engine {
    ($self:ident, $trace:expr) => {
        $crate::simulation::sight::Engine {
            last: &$self.last,
            step: $self.step,
            used_tokens: $self.used_tokens(),
            spans: &$self.spans,
            served: &$self.served,
            trace: $trace,
            asked: std::cell::Cell::new((f64::NAN, 0)),
        }
    };
}
pub(super) use engine;
