//! What a client is charged for the tokens of a request (the cost function of VTC, Sheng et al., OSDI 2024): weights w_in and
//! w_out of prompt and output tokens, or a profiled cost, over the weight of the client.

use crate::client::ClientId;
use crate::client::cycle_get;

/// What tokens cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum TokenCost {
    /// A weight for each prompt token and one for each output token.
    #[default]
    Linear,
    /// The authors' fit of measured times, milliseconds: [`profiled_cost`].
    Profile,
}

/// The time in milliseconds that `input` prompt tokens and `output` tokens of one request cost on an A10G with Llama-7B, as
/// VTC's authors fitted it.
pub fn profiled_cost(input: f64, output: f64) -> f64 {
    0.210_018_91 * input
        + 0.100_753_95 * output
        + 0.003_986_8 * input * output
        + 0.003_247_33 * output * output
        + 1.146_014_54
}

/// The costs of tokens under a scheduling policy.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenCostModel {
    weights: Vec<f64>,
    input_price: f64,
    output_price: f64,
    cost: TokenCost,
    /// What the weights were divided by.
    scale: f64,
}

/// What all weights are a whole multiple of, exactly; 1 where no such number is found.
fn common_factor(weights: &[f64]) -> f64 {
    let least = weights.iter().copied().fold(f64::INFINITY, f64::min);
    let divides = |factor: f64| {
        weights.iter().all(|&weight| (weight / factor).fract() == 0.0 && weight / factor * factor == weight)
    };
    if weights.iter().all(|weight| weight.fract() == 0.0 && *weight <= 1e6) {
        return weights.iter().fold(0, |factor, &weight| gcd(factor, weight as u64)) as f64;
    }
    if least.is_finite() && divides(least) { least } else { 1.0 }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl TokenCostModel {
    /// Costs of clients with these weights; `prices`: of a prompt token and of an output token.
    pub(super) fn new(weights: &[f64], prices: [f64; 2], cost: TokenCost) -> Self {
        let [input_price, output_price] = prices;
        Self { weights: weights.to_vec(), input_price, output_price, cost, scale: 1.0 }
    }

    /// The same with weights of `clients` clients that have no common factor, where all of them have a weight.
    pub(super) fn without_common_factor(mut self, clients: usize) -> Self {
        let weights = &self.weights[..self.weights.len().min(clients)];
        let is_listed = clients > 1 && weights.len() == clients;
        self.scale = if is_listed { common_factor(weights).max(f64::MIN_POSITIVE) } else { 1.0 };
        self.weights.iter_mut().for_each(|weight| *weight /= self.scale);
        self
    }

    /// A counter under the weights as they were given.
    pub fn counter(&self, value: f64) -> f64 {
        value / self.scale
    }

    /// The weight of a client: its entry of the list, 1 beyond.
    pub fn weight(&self, client: ClientId) -> f64 {
        let client = client.index();
        if client < self.weights.len() { cycle_get(&self.weights, client, 1.0) } else { 1.0 }
    }

    /// Whether the charge of an output token depends on its request.
    pub fn is_profiled(&self) -> bool {
        self.cost == TokenCost::Profile
    }

    /// A prompt, and the output that is charged with it.
    pub fn prompt(&self, client: ClientId, input: f64, output: f64) -> f64 {
        let weight = self.weight(client);
        match self.cost {
            TokenCost::Linear if output == 0.0 => input * self.input_price / weight,
            TokenCost::Linear => input * self.input_price / weight + output * self.output_price / weight,
            TokenCost::Profile => profiled_cost(input, output) / weight,
        }
    }

    /// The `nth` output token of a request with a prompt of `input` tokens.
    pub fn token(&self, client: ClientId, input: f64, nth: f64) -> f64 {
        let weight = self.weight(client);
        match self.cost {
            TokenCost::Linear => self.output_price / weight,
            TokenCost::Profile => (profiled_cost(input, nth) - profiled_cost(input, nth - 1.0)) / weight,
        }
    }

    /// The output tokens behind the first `from` and up to `to` of a request; negative where `to` is the smaller.
    pub fn output(&self, client: ClientId, input: f64, from: f64, to: f64) -> f64 {
        let weight = self.weight(client);
        match self.cost {
            TokenCost::Linear => (to - from) * self.output_price / weight,
            TokenCost::Profile => (profiled_cost(input, to) - profiled_cost(input, from)) / weight,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_are_no_weights() {
        for weights in [[3.0, 3.0], [0.7, 0.7]] {
            let costs = TokenCostModel::new(&weights, [1.0, 2.0], TokenCost::Linear).without_common_factor(2);
            assert_eq!(
                (costs.prompt(ClientId::new(0), 10.0, 4.0), costs.token(ClientId::new(1), 10.0, 1.0)),
                (18.0, 2.0)
            );
            assert_eq!(costs.counter(18.0), 18.0 / weights[0]);
        }
    }

    #[test]
    fn tokens_of_a_profiled_cost_add_up() {
        let costs = TokenCostModel::new(&[], [1.0, 2.0], TokenCost::Profile);
        let one_by_one: f64 = (1..=30).map(|nth| costs.token(ClientId::new(0), 50.0, f64::from(nth))).sum();
        let whole = profiled_cost(50.0, 30.0) - profiled_cost(50.0, 0.0);
        assert!((one_by_one - whole).abs() < 1e-9);
        assert!((costs.output(ClientId::new(0), 50.0, 0.0, 30.0) - whole).abs() < 1e-9);
    }
}
