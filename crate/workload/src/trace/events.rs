//! What happened between requests, such as the tool calls of an agent: each event follows a request.

/// Something that happened after a request. It goes where its request goes.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceEvent {
    /// The request that it follows.
    pub request: u32,
    /// Microseconds after the arrival of that request.
    pub delay_us: f64,
    /// Its place among the events of the file, which parts those of one time.
    pub place: u32,
    /// What happened: an object, in JSON.
    pub json: String,
}

/// Events in the order of their requests.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Events(Vec<TraceEvent>);

impl Events {
    /// Events in any order.
    pub fn new(mut events: Vec<TraceEvent>) -> Self {
        events.sort_by_key(|event| event.request);
        Self(events)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn all(&self) -> &[TraceEvent] {
        &self.0
    }

    /// Multiplies every delay.
    pub(crate) fn stretch(&mut self, factor: f64) {
        self.0.iter_mut().for_each(|event| event.delay_us *= factor);
    }

    /// The events of the requests named by `order`, in that order.
    pub(super) fn select(&self, order: &[u32]) -> Self {
        let mut chosen = Vec::new();
        for (request, &old) in (0u32..).zip(order) {
            let start = self.0.partition_point(|event| event.request < old);
            let same = self.0[start..].iter().take_while(|event| event.request == old);
            chosen.extend(same.map(|event| TraceEvent { request, ..event.clone() }));
        }
        Self(chosen)
    }

    /// Appends the events of another trace, whose requests follow the `requests` before.
    pub(super) fn append(&mut self, other: &Self, requests: usize) {
        let places = self.0.iter().map(|event| event.place + 1).max().unwrap_or(0);
        self.0.extend(other.0.iter().map(|event| TraceEvent {
            request: event.request + requests as u32,
            place: event.place + places,
            ..event.clone()
        }));
    }
}
