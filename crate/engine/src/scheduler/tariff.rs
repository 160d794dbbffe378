//! What a client is charged for the tokens of a request: fixed prices, or a profiled cost, over the client's weight.

use super::order::dealt;
use super::round_robin::RoundRobin;
use super::vtc::{Fair, TokenCost, profiled_cost};

/// The rates of an order of service.
#[derive(Debug, Clone, PartialEq)]
pub struct Tariff {
    weights: Vec<f64>,
    input_price: f64,
    output_price: f64,
    cost: TokenCost,
}

impl From<&Fair> for Tariff {
    fn from(rule: &Fair) -> Self {
        let Fair { input_price, output_price, cost, .. } = *rule;
        Self { weights: rule.weights.clone(), input_price, output_price, cost }
    }
}

impl From<&RoundRobin> for Tariff {
    fn from(rule: &RoundRobin) -> Self {
        let RoundRobin { input_price, output_price, .. } = *rule;
        Self { weights: rule.weights.clone(), input_price, output_price, cost: TokenCost::Linear }
    }
}

impl Tariff {
    /// The weight of a client: its entry of the list, 1 beyond.
    pub fn weight(&self, client: u32) -> f64 {
        let client = client as usize;
        if client < self.weights.len() { dealt(&self.weights, client, 1.0) } else { 1.0 }
    }

    /// Whether the charge of an output token depends on its request.
    pub fn is_profiled(&self) -> bool {
        self.cost == TokenCost::Profile
    }

    /// A prompt, and the output that is charged with it.
    pub fn prompt(&self, client: u32, input: f64, output: f64) -> f64 {
        let weight = self.weight(client);
        match self.cost {
            TokenCost::Linear if output == 0.0 => input * self.input_price / weight,
            TokenCost::Linear => input * self.input_price / weight + output * self.output_price / weight,
            TokenCost::Profile => profiled_cost(input, output) / weight,
        }
    }

    /// The `nth` output token of a request with a prompt of `input` tokens.
    pub fn token(&self, client: u32, input: f64, nth: f64) -> f64 {
        let weight = self.weight(client);
        match self.cost {
            TokenCost::Linear => self.output_price / weight,
            TokenCost::Profile => (profiled_cost(input, nth) - profiled_cost(input, nth - 1.0)) / weight,
        }
    }

    /// The output tokens behind the first `from` and up to `to` of a request; negative where `to` is the smaller.
    pub fn output(&self, client: u32, input: f64, from: f64, to: f64) -> f64 {
        let weight = self.weight(client);
        match self.cost {
            TokenCost::Linear => (to - from) * self.output_price / weight,
            TokenCost::Profile => (profiled_cost(input, to) - profiled_cost(input, from)) / weight,
        }
    }
}
