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
    /// What the weights were divided by.
    scale: f64,
}

impl From<&RoundRobin> for Tariff {
    fn from(rule: &RoundRobin) -> Self {
        let RoundRobin { input_price, output_price, .. } = *rule;
        Self { weights: rule.weights.clone(), input_price, output_price, cost: TokenCost::Linear, scale: 1.0 }
    }
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

impl Tariff {
    /// The rates of a fair order over so many clients. Only the ratios of weights count: without their common factor equal
    /// weights give the counters of no weights, and ties stay ties.
    pub fn of_fair(rule: &Fair, clients: usize) -> Self {
        let Fair { input_price, output_price, cost, .. } = *rule;
        let weights = &rule.weights[..rule.weights.len().min(clients)];
        let is_listed = clients > 1 && weights.len() == clients;
        let scale = if is_listed { common_factor(weights).max(f64::MIN_POSITIVE) } else { 1.0 };
        let weights = rule.weights.iter().map(|weight| weight / scale).collect();
        Self { weights, input_price, output_price, cost, scale }
    }

    /// A counter under the weights as they were given.
    pub fn counter(&self, value: f64) -> f64 {
        value / self.scale
    }

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
