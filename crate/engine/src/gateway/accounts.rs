//! What each client has at the gateway and at the engine, and how much it used lately.

/// Over how long use is forgotten, microseconds.
const FORGET_US: f64 = 60e6;

#[derive(Debug, Clone, Copy, Default)]
struct Account {
    waiting: u32,
    at_engine: u32,
    /// Tokens let through, forgotten exponentially since `at_us`.
    used: f64,
    at_us: f64,
}

/// The accounts of all clients.
#[derive(Debug)]
pub(super) struct Accounts {
    accounts: Vec<Account>,
    /// Clients with a request here or at the engine.
    active: u32,
    used: f64,
    at_us: f64,
}

/// What is left of `used` after the time from `then_us` to `now_us`.
fn faded(used: f64, then_us: f64, now_us: f64) -> f64 {
    used * libm::exp((then_us - now_us) / FORGET_US)
}

impl Accounts {
    pub(super) fn new(clients: usize) -> Self {
        Self { accounts: vec![Account::default(); clients], active: 0, used: 0.0, at_us: 0.0 }
    }

    /// Requests of a client at the engine.
    pub(super) fn at_engine(&self, client: u32) -> u32 {
        self.accounts[client as usize].at_engine
    }

    fn change(&mut self, client: u32, waiting: i32, at_engine: i32) {
        let account = &mut self.accounts[client as usize];
        let was_active = account.waiting + account.at_engine > 0;
        account.waiting = account.waiting.saturating_add_signed(waiting);
        account.at_engine = account.at_engine.saturating_add_signed(at_engine);
        let is_active = account.waiting + account.at_engine > 0;
        self.active += u32::from(is_active);
        self.active -= u32::from(was_active);
    }

    pub(super) fn waits(&mut self, client: u32) {
        self.change(client, 1, 0);
    }

    pub(super) fn stops_waiting(&mut self, client: u32) {
        self.change(client, -1, 0);
    }

    /// A waiting request is let through with so many tokens.
    pub(super) fn enters_engine(&mut self, client: u32, tokens: f64, now_us: f64) {
        self.change(client, -1, 1);
        let account = &mut self.accounts[client as usize];
        account.used = faded(account.used, account.at_us, now_us) + tokens;
        account.at_us = now_us;
        self.used = faded(self.used, self.at_us, now_us) + tokens;
        self.at_us = now_us;
    }

    pub(super) fn leaves_engine(&mut self, client: u32) {
        self.change(client, 0, -1);
    }

    /// Whether a client was let through with more than an equal share of the active clients' tokens.
    pub(super) fn is_over_share(&self, client: u32, now_us: f64) -> bool {
        let account = &self.accounts[client as usize];
        let own = faded(account.used, account.at_us, now_us);
        let all = faded(self.used, self.at_us, now_us);
        self.active > 1 && own * f64::from(self.active) > all
    }
}
