//! Last come, first served: the newest request first. S-LoRA's paper compares it with its own queue and with early abort
//! (Sheng et al., MLSys 2024, ablation of admission under bursts).

/// The key of [`super::priority_queue`] for the request that came in at this place.
pub fn key(place: u32) -> f64 {
    -f64::from(place)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_newest_comes_first() {
        assert!(super::key(4) < super::key(3));
    }
}
