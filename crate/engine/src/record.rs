//! What a run writes down.

pub mod observer;
pub mod sampler;
pub mod served;
pub mod timeline;

use crate::record::timeline::{Absence, Departure, Eviction, Gap, Hold, Iterations};
use crate::request::Fate;

/// Fates, iterations and gaps between tokens.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    pub(crate) fates: Vec<Fate>,
    pub(crate) iterations: Iterations,
    pub(crate) gaps: Vec<Gap>,
    pub(crate) holds: Vec<Hold>,
    pub(crate) departures: Vec<Departure>,
    pub(crate) absences: Vec<Absence>,
    pub(crate) evictions: Vec<Eviction>,
    /// Whether a scheduling policy ever had two waiting requests to choose from.
    pub(crate) had_choice: bool,
    /// Requests that came to their end and were not told of yet, where somebody waits for that.
    pub(crate) ended: Option<Vec<u32>>,
    /// Requests that have their first token and were not told of yet, where somebody waits for that.
    pub(crate) first_tokens: Option<Vec<u32>>,
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

    /// A request has its first token.
    pub(crate) fn has_first_token(&mut self, id: u32) {
        if let Some(first_tokens) = &mut self.first_tokens {
            first_tokens.push(id);
        }
    }

    /// `count` gaps between two times; equal ones in a row are counted together.
    pub(crate) fn gap(&mut self, start_us: f64, end_us: f64, count: u32) {
        let length_us = end_us - start_us;
        match self.gaps.last_mut() {
            Some(last) if last.length_us == length_us && last.count <= u32::MAX - count => {
                last.count += count;
            }
            _ => self.gaps.push(Gap { end_us, length_us, count }),
        }
    }

    /// Requests are told by their place in `order`.
    pub(crate) fn rename(&mut self, order: &[u32]) {
        let mut places = vec![0u32; self.fates.len()];
        (0u32..).zip(order).for_each(|(place, &id)| places[id as usize] = place);
        self.departures.iter_mut().for_each(|departure| departure.id = places[departure.id as usize]);
        self.evictions.iter_mut().for_each(|eviction| eviction.id = places[eviction.id as usize]);
        self.absences.iter_mut().for_each(|absence| absence.request = places[absence.request as usize]);
    }
}
