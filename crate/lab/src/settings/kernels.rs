//! The measured kernels that are part of this program, and what surrounds kernels in an iteration.

use std::sync::OnceLock;

use servescope_cost::kernels::{Kernels, Overheads};

#[cfg(feature = "tables")]
const FILES: &[&str] = &[
    include_str!("../../kernels/kernels_a100_80_sxm.txt"),
    include_str!("../../kernels/kernels_b200_sxm.txt"),
    include_str!("../../kernels/kernels_b300_sxm.txt"),
    include_str!("../../kernels/kernels_gb200_nvl72.txt"),
    include_str!("../../kernels/kernels_gb300_nvl72.txt"),
    include_str!("../../kernels/kernels_h100_sxm.txt"),
    include_str!("../../kernels/kernels_h200_sxm.txt"),
    include_str!("../../kernels/kernels_l40s.txt"),
];
#[cfg(not(feature = "tables"))]
const FILES: &[&str] = &[];

/// What surrounds kernels, calibrated on the measured deployments of even hash: vLLM that schedules the next iteration while one
/// runs.
pub const CALIBRATED: Overheads = Overheads {
    layer_us: 11.0,
    expert_layer_us: 6.0,
    expert_factor: 1.3,
    iteration_us: 163.0,
    request_us: 6.75,
    prompt_layer_us: 33.75,
    decode_factor: 1.0,
    prompt_factor: 1.04,
    collective_us: 2.25,
};

/// Host time of an iteration, and for each request in it, microseconds, in place of those of [`CALIBRATED`] where an iteration
/// is scheduled when the one before it has ended.
pub const SYNCHRONOUS_US: [f64; 2] = [1500.0, 13.0];

/// The kernels of a GPU of the catalogue, where they are shipped.
pub fn kernels(gpu: &str) -> Option<&'static Kernels> {
    static READ: OnceLock<Vec<Kernels>> = OnceLock::new();
    let all = READ.get_or_init(|| {
        FILES.iter().map(|text| Kernels::read(text).expect("what is shipped is well formed")).collect()
    });
    all.iter().find(|kernels| kernels.gpu == gpu)
}
