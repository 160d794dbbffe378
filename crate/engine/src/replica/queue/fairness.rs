//! Where the fair policies of published systems differ, and which of them is meant. Everything else of virtual token
//! counters ([`super::vtc`]) and deficit round robin ([`super::drr`]) is the same for all.

/// The system whose rules the fair policies follow.
///
/// | | S-LoRA and VTC's artifact | the queues of the other engines, the gateway |
/// |---|---|---|
/// | [`Lift::Max`](super::vtc::Lift::Max) | raises every client before each decision | raises a client that returns |
/// | round robin: nothing of a client waits | its debt is paid by further quanta, its credit stays | its debt stays, its credit is lost |
/// | round robin: blocked at a counter of 0 | gets a quantum and goes on | has lost its turn |
/// | a decode iteration is charged | as the token before the one that it makes | as the token that it makes |
/// | requests that are charged one by one | in the order of admission | by their numbers |
/// | output beyond a predicted fraction of a token | a whole token | the rest of the token |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FairnessRules {
    /// S-LoRA's router (slora/server/router/vtc_req_queue.py) and the variants of VTC's artifact.
    Slora,
    /// All other engines, and the gateway.
    Engine,
}
