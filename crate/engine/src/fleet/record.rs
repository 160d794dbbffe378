//! What a fleet writes down while it runs.

use servescope_cost::Chunk;
use servescope_workload::statistics::sort_places;

use crate::report::Fate;
use crate::timeline::{Eviction, GapRun, IterationRun};

/// Fates, iterations and gaps between tokens.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) fates: Vec<Fate>,
    pub(crate) iterations: Vec<IterationRun>,
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) gaps: Vec<GapRun>,
    pub(crate) evictions: Vec<Eviction>,
    pub(crate) cached_tokens: u64,
}

impl Record {
    pub(crate) fn new(requests: usize) -> Self {
        Self { fates: vec![Fate::default(); requests], ..Self::default() }
    }

    /// One gap between two tokens of a request; equal ones in a row are counted together.
    pub(crate) fn gap(&mut self, length_us: f64) {
        match self.gaps.last_mut() {
            Some(last) if last.iterations == 1 && last.first_us == length_us => last.count += 1,
            _ => self.gaps.push(GapRun { first_us: length_us, growth_us: 0.0, iterations: 1, count: 1 }),
        }
    }

    /// Keeps what an iteration reads of prompts, and says where.
    pub(crate) fn keep_chunks(&mut self, chunks: &[Chunk]) -> u32 {
        let first = self.chunks.len() as u32;
        self.chunks.extend_from_slice(chunks);
        first
    }

    /// The iterations in order of their start.
    pub(crate) fn sorted_iterations(&mut self) -> Vec<IterationRun> {
        let all = std::mem::take(&mut self.iterations);
        if all.is_sorted_by(|a, b| a.start_us <= b.start_us) {
            return all;
        }
        let starts: Vec<f64> = all.iter().map(|run| run.start_us).collect();
        sort_places(&starts).into_iter().map(|place| all[place as usize]).collect()
    }
}
