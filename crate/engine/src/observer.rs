//! Watching a simulation decide, event by event, without cost when nobody watches.

/// Something that happened in the router loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event<'a> {
    /// A request arrived and joined the waiting line.
    Arrived(u32),
    /// A request arrived and was refused.
    Refused(u32),
    /// A request that arrived was refused by the order of service, at once or while it waited.
    Rejected(u32),
    /// A request waited longer than it may.
    TimedOut(u32),
    /// A client went away.
    Cancelled(u32),
    /// A memory test was made.
    Check {
        /// The candidate.
        id: u32,
        /// KV tokens needed at the worst moment.
        need_tokens: i64,
        /// Pool tokens of distinct adapters.
        adapter_tokens: u32,
        /// Requests counted, the candidate included.
        requests: usize,
        /// Whether memory and the cap on requests allow it.
        fits: bool,
    },
    /// An admission decision was taken.
    Decided {
        /// Start of the router's step.
        at_us: f64,
        /// Who joins.
        picked: &'a [u32],
    },
    /// An adapter was copied to the GPU.
    Loaded(u32),
    /// Adapters were looked for ahead of a decode iteration; those copied are told before.
    Prefetched,
    /// An adapter left the GPU.
    Offloaded(u32),
    /// A prefill, adapter loading included.
    Prefill {
        /// Start of the loading.
        at_us: f64,
        /// Loading and prefill together.
        duration_us: f64,
    },
    /// Decode iterations without a change of the batch.
    Decode {
        /// Start of the first.
        at_us: f64,
        /// All together.
        duration_us: f64,
        /// How many.
        iterations: u32,
        /// Requests in the batch.
        requests: u32,
        /// Whether each of them began with a decision that picked nobody.
        decided: bool,
    },
    /// A request left the batch.
    Finished(u32),
    /// A step of the router ended; the time given is that of the next.
    StepEnd {
        /// Decode iterations since the last prefill, at most the rule's number.
        wait_tokens: u32,
    },
}

/// Somebody who watches.
pub trait Observer {
    /// Takes an event; the closure makes it, and is not called when nobody watches.
    fn see<'a>(&mut self, event: impl FnOnce() -> Event<'a>);
}

/// Nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    #[inline(always)]
    fn see<'a>(&mut self, _event: impl FnOnce() -> Event<'a>) {}
}

/// Somebody who watches a run from outside.
pub trait Watcher: std::fmt::Debug + Send {
    /// Takes an event.
    fn watch(&mut self, event: Event<'_>);
}

/// Whoever watches a run, if anybody does.
#[derive(Debug, Default)]
pub struct Watch(pub(crate) Option<Box<dyn Watcher>>);

impl Observer for Watch {
    #[inline]
    fn see<'a>(&mut self, event: impl FnOnce() -> Event<'a>) {
        if let Some(watcher) = &mut self.0 {
            watcher.watch(event());
        }
    }
}
