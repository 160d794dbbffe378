//! The measured kernels that are part of this program.

use std::sync::OnceLock;

use servescope_cost::kernels::Kernels;

#[cfg(feature = "tables")]
const FILES: &[&str] = &[
    include_str!("../../../kernels/kernels_a100_80_sxm.txt"),
    include_str!("../../../kernels/kernels_b200_sxm.txt"),
    include_str!("../../../kernels/kernels_b300_sxm.txt"),
    include_str!("../../../kernels/kernels_gb200_nvl72.txt"),
    include_str!("../../../kernels/kernels_gb300_nvl72.txt"),
    include_str!("../../../kernels/kernels_h100_sxm.txt"),
    include_str!("../../../kernels/kernels_h200_sxm.txt"),
    include_str!("../../../kernels/kernels_l40s.txt"),
];
#[cfg(not(feature = "tables"))]
const FILES: &[&str] = &[];

/// The kernels of a GPU of the catalogue, where they are shipped.
pub fn kernels(gpu: &str) -> Option<&'static Kernels> {
    static READ: OnceLock<Vec<Kernels>> = OnceLock::new();
    let all = READ.get_or_init(|| {
        FILES.iter().map(|text| Kernels::read(text).expect("what is shipped is well formed")).collect()
    });
    all.iter().find(|kernels| kernels.gpu == gpu)
}
