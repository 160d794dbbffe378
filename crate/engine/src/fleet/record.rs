//! What a fleet writes down while it runs.

use crate::report::Fate;
use crate::timeline::{Eviction, Gap, Hold, Iterations, ThrownOut};

/// Fates, iterations and gaps between tokens.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) fates: Vec<Fate>,
    pub(crate) iterations: Iterations,
    pub(crate) gaps: Vec<Gap>,
    pub(crate) holds: Vec<Hold>,
    pub(crate) returns: Vec<Eviction>,
    pub(crate) evictions: u64,
    pub(crate) thrown_out: Vec<ThrownOut>,
    pub(crate) cached_tokens: u64,
    /// Requests that came to their end and were not told of yet, where others wait for that.
    pub(crate) ended: Option<Vec<u32>>,
}

impl Record {
    pub(crate) fn new(requests: usize) -> Self {
        Self { fates: vec![Fate::default(); requests], ..Self::default() }
    }

    /// A request has come to its end.
    pub(crate) fn ends(&mut self, id: u32) {
        if let Some(ended) = &mut self.ended {
            ended.push(id);
        }
    }

    /// `count` gaps of one length; equal ones in a row are counted together.
    pub(crate) fn gap(&mut self, length_us: f64, count: u32) {
        match self.gaps.last_mut() {
            Some(last) if last.length_us == length_us && last.count <= u32::MAX - count => {
                last.count += count;
            }
            _ => self.gaps.push(Gap { length_us, count }),
        }
    }
}
