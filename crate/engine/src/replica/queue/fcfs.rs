//! First come, first served: the oldest request first, as vLLM's `fcfs` and S-LoRA's plain queue.

/// The key of [`super::priority_queue`] for the request that came in at this place.
pub fn key(place: u32) -> f64 {
    f64::from(place)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_oldest_comes_first() {
        assert!(super::key(3) < super::key(4));
    }
}
