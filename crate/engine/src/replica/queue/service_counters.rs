//! What clients were charged: one number a client, moved by the same amount for each output token of each of its running
//! requests.
//!
//! Counters are binary floating-point numbers and a queue compares them, so n charges of c must leave the very bits that n
//! additions leave. Within one binade every addition moves the sum by the same multiple of its spacing, so
//! [`add_repeated`] takes a binade at a time. A client's counter is brought up to date only when it is looked at.

use crate::client::ClientId;

/// Adds `charge` to `sum` `times` times over, with the bits that as many additions give.
pub fn add_repeated(mut sum: f64, charge: f64, mut times: u64) -> f64 {
    while times > 0 {
        let next = sum + charge;
        times -= 1;
        if next == sum || times == 0 {
            return next;
        }
        let after = next + charge;
        times -= 1;
        // Ties go to even, so after one addition within a binade every further one of it moves the sum alike.
        let alike = binade(sum) == binade(next) && binade(next) == binade(after);
        sum = after;
        if alike && times > 0 {
            let moved = after - next;
            let outwards = (moved > 0.0) == (after > 0.0);
            let edge = if outwards { 2.0 * binade(after) } else { binade(after) };
            let room = ((edge - after) / moved).abs() - 1.0;
            let steps = (room.max(0.0) as u64).min(times);
            sum += moved * steps as f64;
            times -= steps;
        }
    }
    sum
}

/// The power of two at or below |x|, with the sign of x; 0 below the normal numbers.
fn binade(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & 0xfff0_0000_0000_0000)
}

/// When output is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputAccounting {
    /// Before each decode iteration, for every request of the batch: the prefill's token is free (S-LoRA).
    #[default]
    Slora,
    /// As S-LoRA, and once more when a request ends: input + all its output tokens.
    Ideal,
    /// As S-LoRA, and whenever any request of a (mini-)batch ends, every request of it is charged once more (VTC's
    /// artifact).
    Artifact,
}

/// The counter of one client.
#[derive(Debug, Clone, Copy, Default)]
struct ServiceCounter {
    value: f64,
    /// The tick up to which `value` is charged.
    tick: u64,
    running: u32,
    /// What one output token of one request moves the value by.
    charge: f64,
}

/// The counters of all clients.
#[derive(Debug, Clone)]
pub struct ServiceCounters {
    counters: Vec<ServiceCounter>,
    /// Times that every running request was charged so far.
    tick: u64,
}

impl ServiceCounters {
    /// Counters of 0 that an output token of client i moves by `charges[i]`.
    pub fn new(charges: impl Iterator<Item = f64>) -> Self {
        let counter = |charge| ServiceCounter { charge, ..ServiceCounter::default() };
        Self { counters: charges.map(counter).collect(), tick: 0 }
    }

    fn settled(&mut self, client: ClientId) -> &mut ServiceCounter {
        let counter = &mut self.counters[client];
        let times = u64::from(counter.running) * (self.tick - counter.tick);
        if times > 0 {
            counter.value = add_repeated(counter.value, counter.charge, times);
        }
        counter.tick = self.tick;
        counter
    }

    /// The counter of a client.
    pub fn value(&mut self, client: ClientId) -> f64 {
        self.settled(client).value
    }

    /// Moves a client's counter.
    pub fn add(&mut self, client: ClientId, amount: f64) {
        self.settled(client).value += amount;
    }

    /// Moves a client's counter this many times over.
    pub fn add_repeated(&mut self, client: ClientId, amount: f64, times: u64) {
        let counter = self.settled(client);
        counter.value = add_repeated(counter.value, amount, times);
    }

    /// Raises a client's counter to at least `floor`.
    pub fn raise(&mut self, client: ClientId, floor: f64) {
        let counter = self.settled(client);
        if counter.value < floor {
            counter.value = floor;
        }
    }

    /// By how much a client's counter moves in a decode iteration.
    pub fn rate(&self, client: ClientId) -> f64 {
        let counter = &self.counters[client];
        f64::from(counter.running) * counter.charge
    }

    /// Charges one output token of one request.
    pub fn charge(&mut self, client: ClientId) {
        let counter = self.settled(client);
        counter.value += counter.charge;
    }

    /// A request joined the batch.
    pub fn joined(&mut self, client: ClientId) {
        self.settled(client).running += 1;
    }

    /// A request left the batch.
    pub fn left(&mut self, client: ClientId) {
        self.settled(client).running -= 1;
    }

    /// Every request of the batch is charged this many output tokens.
    pub fn decoded(&mut self, iterations: u32) {
        self.tick += u64::from(iterations);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn repeated_addition_has_the_bits_of_additions(
            start in prop_oneof![Just(0.0), -1e6..1e6f64, 0.0..10f64, (0u32..1_000_000).prop_map(f64::from), 1e15..1e17f64],
            charge in prop_oneof![Just(2.0), Just(2.0 / 3.0), Just(-2.0), Just(-2.0 / 7.0), -3.0..3.0f64, (1i32..40).prop_map(|e| libm::exp2(-f64::from(e)))],
            times in 0u64..3_000,
        ) {
            let by_hand = (0..times).fold(start, |sum, _| sum + charge);
            prop_assert_eq!(add_repeated(start, charge, times).to_bits(), by_hand.to_bits());
        }
    }

    #[test]
    fn a_million_additions_take_a_binade_at_a_time() {
        let by_hand = (0..1_000_000).fold(0.1, |sum, _| sum + 2.0 / 3.0);
        assert_eq!(add_repeated(0.1, 2.0 / 3.0, 1_000_000), by_hand);
    }
}
