//! Last come, first served: the newest request first. S-LoRA's paper compares it with its own queue and with early abort
//! (Sheng et al., MLSys 2024, ablation of admission under bursts).

/// The key of [`super::keyed`] for request `id`; ids are in order of arrival.
pub fn key(id: u32) -> f64 {
    -f64::from(id)
}
