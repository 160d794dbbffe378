//! The trace: requests in order of arrival, as columns.

mod closed_loop;
mod events;
mod ids;
mod metadata;
mod outputs;

use crate::order::sort_places;

pub use closed_loop::{ClosedLoop, NO_REQUEST};
pub use events::{Events, TraceEvent};
pub use ids::RequestId;
pub use metadata::{
    ALL_BLOCKS, IdLists, LabelMaker, Labels, NO_LABEL, NO_RANK, PrefixBlocks, RecordedDrafts,
    RecordedTransfers, StreamedInput, TraceMetadata,
};

/// The adapter index of a request for the base model.
pub const BASE_MODEL: u32 = u32::MAX;

/// Requests in order of arrival, one entry a request in every column. A request's id is its place.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trace {
    /// Arrival, microseconds from the start; never decreasing.
    pub arrival_us: Vec<f64>,
    /// Index of the user who sent it.
    pub user: Vec<u32>,
    /// Index of the adapter, or [`BASE_MODEL`].
    pub adapter: Vec<u32>,
    /// Prompt length, tokens.
    pub input_tokens: Vec<u32>,
    /// Tokens that the model really produces (at least 1).
    pub output_tokens: Vec<u32>,
    /// The bound on output that the system sees (at least `output_tokens`).
    pub max_tokens: Vec<u32>,
    /// Rank of each adapter, by adapter index; an adapter beyond the list has the rank 0.
    pub adapter_rank: Vec<u32>,
    /// Clients that went away: (microseconds, request id), in order of time.
    pub cancellations: Vec<(f64, u32)>,
    /// Which request waits for which; `None`: none does.
    pub closed_loop: Option<Box<ClosedLoop>>,
    /// Columns that only some files carry. Of these, the prefix cache and the routers by prefix read the hashes of
    /// blocks; the others change no result.
    pub metadata: Option<Box<TraceMetadata>>,
}

impl Trace {
    /// Whether a request asks for an output of its whole `max_tokens`.
    pub fn ignores_eos(&self, id: usize) -> bool {
        self.metadata.as_ref().is_some_and(|metadata| metadata.ignores_eos.get(id).copied().unwrap_or(false))
    }

    /// An empty trace with room for `n` requests.
    pub fn with_capacity(n: usize) -> Self {
        Self {
            arrival_us: Vec::with_capacity(n),
            user: Vec::with_capacity(n),
            adapter: Vec::with_capacity(n),
            input_tokens: Vec::with_capacity(n),
            output_tokens: Vec::with_capacity(n),
            max_tokens: Vec::with_capacity(n),
            ..Self::default()
        }
    }

    /// Number of requests.
    pub fn len(&self) -> usize {
        self.arrival_us.len()
    }

    /// Whether nothing arrives.
    pub fn is_empty(&self) -> bool {
        self.arrival_us.is_empty()
    }

    /// Rank of request `id`'s adapter; 0 for the base model.
    pub fn rank(&self, id: usize) -> u32 {
        self.rank_of(self.adapter[id])
    }

    /// Rank of an adapter; 0 for the base model.
    pub fn rank_of(&self, adapter: u32) -> u32 {
        self.adapter_rank.get(adapter as usize).copied().unwrap_or(0)
    }

    /// Number of adapters: one more than the largest index in use or ranked.
    pub fn adapter_count(&self) -> usize {
        let used = self.adapter.iter().filter(|&&a| a != BASE_MODEL).max().map_or(0, |&a| a as usize + 1);
        used.max(self.adapter_rank.len())
    }

    /// Number of users: one more than the largest index in use.
    pub fn user_count(&self) -> usize {
        self.user.iter().max().map_or(0, |&u| u as usize + 1)
    }

    /// Appends one request. The caller keeps arrivals in order.
    pub fn push(&mut self, request: Request) {
        self.arrival_us.push(request.arrival_us);
        self.user.push(request.user);
        self.adapter.push(request.adapter);
        self.input_tokens.push(request.input_tokens);
        self.output_tokens.push(request.output_tokens);
        self.max_tokens.push(request.max_tokens);
    }

    /// The request `id` as one value.
    pub fn request(&self, id: usize) -> Request {
        Request {
            arrival_us: self.arrival_us[id],
            user: self.user[id],
            adapter: self.adapter[id],
            input_tokens: self.input_tokens[id],
            output_tokens: self.output_tokens[id],
            max_tokens: self.max_tokens[id],
        }
    }

    /// Puts cancellations in order of time, equal times as they stand.
    pub fn sort_cancellations(&mut self) {
        let times: Vec<f64> = self.cancellations.iter().map(|c| c.0).collect();
        let places = sort_places(&times);
        self.cancellations = places.into_iter().map(|i| self.cancellations[i as usize]).collect();
    }

    /// Sets the columns that only some files carry; a column without any entry counts as absent.
    pub fn set_metadata(&mut self, mut metadata: TraceMetadata) {
        metadata.drop_blank_columns();
        self.metadata = (!metadata.is_empty()).then(|| Box::new(metadata));
    }

    /// Puts requests in order of arrival, equal times in their former order, and says whether that moved any.
    pub fn sort(&mut self) -> bool {
        if self.arrival_us.is_sorted() {
            return false;
        }
        *self = self.select(&sort_places(&self.arrival_us));
        true
    }

    /// The trace with one more request, after those of its time. It waits for no other, and only the columns that every trace
    /// has describe it.
    pub fn with_request(&self, request: Request) -> Self {
        let place = self.arrival_us.partition_point(|&arrival_us| arrival_us <= request.arrival_us) as u32;
        let new = self.len() as u32;
        let mut all = self.clone();
        all.push(request);
        if let Some(closed_loop) = &mut all.closed_loop {
            closed_loop.push(NO_REQUEST, 0.0);
        }
        if let Some(metadata) = &self.metadata {
            all.set_metadata(TraceMetadata::joined(&[(Some(metadata), self.len()), (None, 1)], false).0);
        }
        let order: Vec<u32> = (0..place).chain([new]).chain(place..new).collect();
        all.select(&order)
    }

    /// The requests for which `keep` holds, which is asked in order.
    pub fn filter(&self, mut keep: impl FnMut(usize) -> bool) -> Self {
        let kept: Vec<u32> = (0..self.len() as u32).filter(|&id| keep(id as usize)).collect();
        self.select(&kept)
    }

    /// The session of each request; empty where the trace has none.
    pub fn sessions(&self) -> &Labels {
        const NONE: &Labels = &Labels { index: Vec::new(), names: Vec::new() };
        self.metadata.as_ref().map_or(NONE, |metadata| &metadata.session)
    }

    /// The requests named by `order`, in that order, with their cancellations and what they wait for.
    pub fn select(&self, order: &[u32]) -> Self {
        let mut chosen = Self::with_capacity(order.len());
        let mut place = vec![None; self.len()];
        for (new, &old) in order.iter().enumerate() {
            chosen.push(self.request(old as usize));
            place[old as usize] = Some(new as u32);
        }
        chosen.adapter_rank.clone_from(&self.adapter_rank);
        let moved = |&(t, id): &(f64, u32)| place[id as usize].map(|new| (t, new));
        chosen.cancellations = self.cancellations.iter().filter_map(moved).collect();
        chosen.closed_loop =
            self.closed_loop.as_ref().map(|closed_loop| Box::new(closed_loop.select(order, &place)));
        if let Some(metadata) = &self.metadata {
            chosen.set_metadata(metadata.select(order));
        }
        chosen
    }
}

/// One request of a [`Trace`], by value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    /// Arrival, microseconds from the start.
    pub arrival_us: f64,
    /// Index of the user.
    pub user: u32,
    /// Index of the adapter, or [`BASE_MODEL`].
    pub adapter: u32,
    /// Prompt length, tokens.
    pub input_tokens: u32,
    /// Tokens really produced.
    pub output_tokens: u32,
    /// Bound on output that the system sees.
    pub max_tokens: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_keeps_equal_times_in_order_and_moves_cancellations() {
        let mut trace = Trace::default();
        for (i, t) in [3.0, 1.0, 1.0].into_iter().enumerate() {
            let n = i as u32;
            trace.push(Request {
                arrival_us: t,
                user: n,
                adapter: BASE_MODEL,
                input_tokens: 1,
                output_tokens: 1,
                max_tokens: 1,
            });
        }
        trace.cancellations.push((9.0, 0));
        assert!(trace.sort());
        assert_eq!(trace.user, [1, 2, 0]);
        assert_eq!(trace.cancellations, [(9.0, 2)]);
        assert!(!trace.sort());
    }

    #[test]
    fn one_more_request_moves_what_names_those_behind_it() {
        let request = |arrival_us: f64, user: u32| Request {
            arrival_us,
            user,
            adapter: BASE_MODEL,
            input_tokens: 1,
            output_tokens: 1,
            max_tokens: 1,
        };
        let mut trace = Trace::default();
        let mut closed_loop = ClosedLoop::default();
        for (id, after) in [(0, NO_REQUEST), (1, NO_REQUEST), (2, 1)] {
            trace.push(request(f64::from(id), id));
            closed_loop.push(after, 5.0);
        }
        trace.closed_loop = Some(Box::new(closed_loop));
        trace.cancellations = vec![(3.0, 0), (4.0, 2)];
        let more = trace.with_request(request(1.0, 9));
        assert_eq!(more.user, [0, 1, 9, 2]);
        let closed_loop = more.closed_loop.clone().expect("a closed loop");
        assert_eq!(
            (closed_loop.depends_on, closed_loop.think_us),
            (vec![NO_REQUEST, NO_REQUEST, NO_REQUEST, 1], vec![0.0, 0.0, 0.0, 5.0])
        );
        assert_eq!(more.cancellations, [(3.0, 0), (4.0, 3)]);
        assert_eq!(more.filter(|request| request != 2), trace.select(&[0, 1, 2]));
        let last = trace.with_request(request(8.0, 9));
        assert_eq!(last.user, [0, 1, 2, 9]);
    }
}
