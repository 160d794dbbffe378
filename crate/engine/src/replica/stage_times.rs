//! Stage times of later iterations of a decode-only batch in a pipeline.

use servescope_cost::DecodeLine;

/// Iterations whose times are computed at once.
const AHEAD: usize = 4;

/// Stage times on a line, some iterations ahead.
// PERF: the divisions of one iteration wait for each other, those of several do not; guarded by `turns_at_once_equal_single_steps`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimesOnLine {
    line: DecodeLine,
    us: [[f64; 2]; AHEAD],
    /// How many of these lie before the end of the line, which of them comes next, and the KV tokens of that iteration.
    known: usize,
    next: usize,
    kv_tokens: u64,
}

impl TimesOnLine {
    pub(crate) fn new(line: DecodeLine) -> Self {
        Self { line, us: [[0.0; 2]; AHEAD], known: 0, next: 0, kv_tokens: 0 }
    }

    /// How long a stage before the last one takes for `decodes` requests with this many KV tokens, and the last one; `None`: the line
    /// ends before that.
    #[inline]
    pub(crate) fn us(&mut self, decodes: u32, kv_tokens: u64) -> Option<[f64; 2]> {
        if self.next >= self.known || kv_tokens != self.kv_tokens {
            (self.us, self.known) = self.line.us_of_iterations(decodes, kv_tokens);
            (self.next, self.kv_tokens) = (0, kv_tokens);
        }
        let us = *self.us[..self.known].get(self.next)?;
        self.next += 1;
        self.kv_tokens += u64::from(decodes);
        Some(us)
    }
}
