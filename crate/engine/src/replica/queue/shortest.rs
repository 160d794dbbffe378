//! Shortest predicted first: the fewest predicted output tokens first (Shortest-Job-First of queueing theory, with a
//! prediction in place of the truth).

/// The key of [`super::keyed`] for a request that is expected to produce so many tokens.
pub fn key(predicted_output_tokens: f64) -> f64 {
    predicted_output_tokens
}
