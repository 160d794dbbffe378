//! Conversations: requests that follow one another, each with all that was said before in its prompt.

use crate::lengths::LengthDistribution;
use crate::trace::{ClosedLoop, NO_LABEL, NO_REQUEST, Trace};

/// The sessions of a synthetic workload. The distribution of prompt lengths is then that of the user's own words in a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSpec {
    /// Requests of a session.
    pub turns: LengthDistribution,
    /// Longest prompt, tokens.
    pub context_cap: u32,
    /// What happens to a prompt that would be longer.
    pub at_cap: AtCap,
    /// When the next turn is sent.
    pub pace: Pace,
}

/// What happens to a session whose next prompt would be longer than the cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtCap {
    /// The oldest part is dropped: what is left is no prefix of what a cache holds, but for the shared prefix.
    Truncate,
    /// The session ends.
    End,
    /// The context restarts with the user's new message alone, as after a compaction.
    Restart,
}

/// When the next turn of a session is sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// A think time after the answer, whenever that comes.
    Held,
    /// At a time fixed in advance: a think time after an answer that is assumed to take this many seconds.
    Fixed {
        /// Assumed time of an answer, seconds.
        answer_s: f64,
    },
    /// A think time after the turn before, whether that is answered or not: the turns are chunks of the session's input (vLLM's
    /// streaming input). In a closed loop a think time after the answer.
    Chunks,
}

impl SessionSpec {
    /// Mean number of turns, before any is cut off by the cap.
    pub fn mean_turns(&self) -> f64 {
        const GRID: u32 = 4096;
        match self.turns {
            LengthDistribution::Fixed { value } => f64::from(value),
            LengthDistribution::Geometric { mean } => mean,
            _ => {
                let at = |i: u32| f64::from(self.turns.quantile((f64::from(i) + 0.5) / f64::from(GRID)));
                (0..GRID).map(at).sum::<f64>() / f64::from(GRID)
            }
        }
    }
}

/// Holds the turns of every session of a trace until the one before has ended, as AIBrix's client does: a turn is sent at
/// its own time or, where that is later, when its client has thought. The think time is the recorded gap less what the
/// original system took, where the trace contains that, and 0 otherwise.
pub fn make_closed_loop(trace: &mut Trace) {
    let Some(metadata) = &trace.metadata else { return };
    let sessions = metadata.session.index.iter().filter(|&&session| session != NO_LABEL).max();
    let mut last = vec![NO_REQUEST; sessions.map_or(0, |&last| last as usize + 1)];
    let mut closed_loop = ClosedLoop::default();
    for (id, &session) in (0u32..).zip(&metadata.session.index) {
        let before = last.get_mut(session as usize).map_or(NO_REQUEST, |last| std::mem::replace(last, id));
        let think_us = trace.arrival_us.get(before as usize).map_or(0.0, |&sent_us| {
            let took_us =
                metadata.recorded_latency_s.get(before as usize).map_or(f64::NAN, |took| took * 1e6);
            let thought = trace.arrival_us[id as usize] - sent_us - took_us;
            if thought > 0.0 { thought } else { 0.0 }
        });
        closed_loop.push(before, think_us);
    }
    if closed_loop.holds_any() {
        trace.closed_loop = Some(Box::new(closed_loop));
    }
}

/// Makes the turns of every session of a trace further chunks of its input, as far as their prompts go on from what was said
/// before.
pub fn make_streaming_input(trace: &mut Trace) {
    let Some(metadata) = &mut trace.metadata else { return };
    let turns = &metadata.session.index;
    let mut is_known = vec![false; metadata.session.names.len()];
    let goes_on = |&session: &u32| {
        is_known.get_mut(session as usize).is_some_and(|known| std::mem::replace(known, true))
    };
    metadata.streamed.goes_on = turns.iter().map(goes_on).collect();
}

/// The context of a session as it grows.
#[derive(Debug, Default)]
pub(crate) struct SessionContext {
    /// Tokens said so far, the shared prefix not counted.
    said: u32,
}

/// The next prompt of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SessionPrompt {
    pub(crate) input_tokens: u32,
    /// Whether it does not go on from the prompt before.
    pub(crate) anew: bool,
}

impl SessionContext {
    /// The prompt with `own` tokens of the user behind what was said and `shared` tokens before it; `None` ends the
    /// session.
    pub(crate) fn prompt(&mut self, spec: &SessionSpec, shared: u32, own: u32) -> Option<SessionPrompt> {
        let whole = shared.saturating_add(self.said).saturating_add(own);
        let anew = whole > spec.context_cap;
        let begins = self.said == 0;
        let input_tokens = if anew {
            match spec.at_cap {
                AtCap::End if !begins => return None,
                AtCap::Restart => shared.saturating_add(own).min(spec.context_cap),
                AtCap::End | AtCap::Truncate => spec.context_cap,
            }
        } else {
            whole
        };
        self.said = input_tokens.saturating_sub(shared);
        Some(SessionPrompt { input_tokens, anew: anew && !begins })
    }

    /// The answer becomes part of the context; behind a chunk of streaming input without its last token, which is not computed.
    pub(crate) fn answer(&mut self, output_tokens: u32, is_chunk: bool) {
        self.said = self.said.saturating_add(output_tokens - u32::from(is_chunk));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompts(at_cap: AtCap) -> Vec<Option<(u32, bool)>> {
        let spec = SessionSpec {
            turns: LengthDistribution::Fixed { value: 5 },
            context_cap: 100,
            at_cap,
            pace: Pace::Held,
        };
        let mut context = SessionContext::default();
        (0..5)
            .map(|_| {
                let prompt = context.prompt(&spec, 10, 20)?;
                context.answer(15, false);
                Some((prompt.input_tokens, prompt.anew))
            })
            .collect()
    }

    #[test]
    fn a_prompt_is_all_that_was_said_and_obeys_the_cap() {
        let [a, b, c] = [Some((30, false)), Some((65, false)), Some((100, false))];
        assert_eq!(prompts(AtCap::Truncate), [a, b, c, Some((100, true)), Some((100, true))]);
        assert_eq!(prompts(AtCap::End), [a, b, c, None, None]);
        assert_eq!(prompts(AtCap::Restart), [a, b, c, Some((30, true)), Some((65, false))]);
    }

    #[test]
    fn turns_of_a_trace_are_held_with_the_recorded_thought() {
        let file = "arrival_s,input_tokens,output_tokens,session,took_s\n0,1,1,a,1\n2,1,1,b,\n5,1,1,a,9\n6,1,1,,\n7,1,1,b,\n8,1,1,a,\n";
        let mut trace = crate::formats::read(file.as_bytes()).unwrap().trace;
        make_closed_loop(&mut trace);
        let closed_loop = trace.closed_loop.unwrap();
        assert_eq!(closed_loop.depends_on, [NO_REQUEST, NO_REQUEST, 0, NO_REQUEST, 1, 2]);
        assert_eq!(closed_loop.think_us, [0.0, 0.0, 4e6, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn the_mean_number_of_turns_is_that_of_the_distribution() {
        let of =
            |turns| SessionSpec { turns, context_cap: 1, at_cap: AtCap::End, pace: Pace::Held }.mean_turns();
        assert_eq!(of(LengthDistribution::Geometric { mean: 4.5 }), 4.5);
        let uniform = of(LengthDistribution::Uniform { low: 1, high: 9 });
        assert!((uniform - 5.0).abs() < 0.01, "{uniform}");
    }
}
