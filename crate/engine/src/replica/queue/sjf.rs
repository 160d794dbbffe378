//! Shortest job first: the fewest predicted output tokens first (Shortest-Job-First of queueing theory, with a prediction in
//! place of the truth).

/// The key of [`super::priority_queue`] for a request that is expected to produce `predicted_output_tokens`.
pub fn key(predicted_output_tokens: f64) -> f64 {
    predicted_output_tokens
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_shortest_comes_first() {
        assert!(super::key(3.0) < super::key(4.0));
    }
}
