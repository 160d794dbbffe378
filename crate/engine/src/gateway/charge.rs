//! What a request is charged, the limit that it is charged against, and what is asked of that limit.

use super::ledger::QuotaKind;
use super::window::Quota;
use crate::client::ClientId;

/// What was charged for a request.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct QuotaCharge {
    pub(super) at_us: f64,
    /// The charge's number in the ledger, where one is kept.
    pub(super) number: u64,
    /// Input and output tokens.
    pub(super) tokens: [u32; 2],
    /// What of each kind of tokens the pool of lent quota gave, where a minute is not the last 60 s.
    pub(super) pooled: [f64; 3],
}

/// A client's quota; where it is lent, the part of it that is not, and the pool of what is lent of all clients' quotas.
#[derive(Debug, Clone, Copy)]
pub(super) struct QuotaLimit {
    pub(super) own: Quota,
    pub(super) floor: Quota,
    pub(super) pool: Quota,
}

/// What is asked of a quota: of which kind, whose, how much of it, and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct QuotaDemand<'a> {
    pub(super) kind: QuotaKind,
    pub(super) client: ClientId,
    pub(super) limit: &'a QuotaLimit,
    pub(super) cost: f64,
    pub(super) now_us: f64,
}
