//! What each client has at the gateway and at the engine, and how much it used lately.

use crate::client::ClientId;

/// Over how long use is forgotten, microseconds.
const FORGET_US: f64 = 60e6;

#[derive(Debug, Clone, Copy, Default)]
struct ClientLoad {
    waiting: u32,
    at_engine: u32,
    /// Slots that requests which have ended did not give back.
    leaked: u32,
    /// Tokens let through, the newer the heavier ([`ClientLoads::weight`]).
    used: f64,
}

/// The loads of all clients.
#[derive(Debug, Clone)]
pub(super) struct ClientLoads {
    loads: Vec<ClientLoad>,
    /// Clients with a request here or at the engine.
    active: u32,
    used: f64,
    /// When a token weighed 1.
    since_us: f64,
}

/// Weights grow up to e to this power before all are scaled down.
const MOST: f64 = 200.0;

impl ClientLoads {
    pub(super) fn new(clients: usize) -> Self {
        Self { loads: vec![ClientLoad::default(); clients], active: 0, used: 0.0, since_us: 0.0 }
    }

    /// Concurrency slots of a client that are taken: by its requests there, and by those that leaked.
    pub(super) fn slots_taken(&self, client: ClientId) -> u32 {
        self.loads[client].at_engine + self.loads[client].leaked
    }

    /// A request of a client has ended and keeps its slot.
    pub(super) fn leaks_slot(&mut self, client: ClientId) {
        self.loads[client].leaked += 1;
    }

    fn change(&mut self, client: ClientId, waiting: i32, at_engine: i32) {
        let load = &mut self.loads[client];
        let was_active = load.waiting + load.at_engine > 0;
        load.waiting = load.waiting.saturating_add_signed(waiting);
        load.at_engine = load.at_engine.saturating_add_signed(at_engine);
        let is_active = load.waiting + load.at_engine > 0;
        self.active += u32::from(is_active);
        self.active -= u32::from(was_active);
    }

    pub(super) fn waits(&mut self, client: ClientId) {
        self.change(client, 1, 0);
    }

    pub(super) fn stops_waiting(&mut self, client: ClientId) {
        self.change(client, -1, 0);
    }

    /// A waiting request is let through with this many tokens.
    pub(super) fn enters_engine(&mut self, client: ClientId, tokens: f64, now_us: f64) {
        self.change(client, -1, 1);
        let weighed = tokens * self.weight(now_us);
        self.loads[client].used += weighed;
        self.used += weighed;
    }

    /// What a token weighs that is used now, so that those used before count less although nothing is done to them.
    fn weight(&mut self, now_us: f64) -> f64 {
        let age = (now_us - self.since_us) / FORGET_US;
        if age <= MOST {
            return libm::exp(age);
        }
        let kept = libm::exp(-age);
        self.loads.iter_mut().for_each(|load| load.used *= kept);
        self.used *= kept;
        self.since_us = now_us;
        1.0
    }

    pub(super) fn leaves_engine(&mut self, client: ClientId) {
        self.change(client, 0, -1);
    }

    /// Whether a client was let through with more than an equal share of the active clients' tokens.
    pub(super) fn is_over_share(&self, client: ClientId) -> bool {
        let own = self.loads[client].used;
        self.active > 1 && own * f64::from(self.active) > self.used
    }
}
