//! A GPU of one's own: the figures that the parameters give.

use servescope_cost::gpus::{Fact, GPUS, Gpu, OWN};

use super::Scenario;
use crate::parameters::Id;
use crate::parameters::byte_size::GIB;

impl Scenario {
    /// Whether the GPU's figures are given one by one.
    pub fn has_own_gpu(&self) -> bool {
        self.choice(Id::FleetGpu) == OWN
    }

    /// The GPU of the replicas.
    pub(super) fn gpu(&self) -> Gpu {
        let own = || {
            let fact = |id: Id| Fact { value: self.number(id), sources: "" };
            let memory_gib = self.number(Id::GpuMemory);
            Gpu {
                id: OWN,
                name: "own GPU",
                bf16_tflops: fact(Id::GpuBf16),
                fp8_tflops: Some(fact(Id::GpuFp8)).filter(|fact| fact.value > 0.0),
                fp4_tflops: Some(fact(Id::GpuFp4)).filter(|fact| fact.value > 0.0),
                memory_gb: Fact { value: memory_gib * GIB / 1e9, sources: "" },
                bandwidth_gb_s: fact(Id::GpuBandwidth),
                link_gb_s: fact(Id::GpuLink),
                gpus_per_node: 8,
                node_link_gb_s: Fact { value: fact(Id::GpuLink).value.min(50.0), sources: "" },
                tdp_w: None,
                memory_bytes: memory_gib * GIB,
                prices: &[],
            }
        };
        if self.has_own_gpu() { own() } else { *Gpu::named(self.choice(Id::FleetGpu)).unwrap_or(&GPUS[0]) }
    }
}

#[cfg(test)]
mod tests {
    use servescope_cost::batch::Batch;

    use super::*;
    use crate::scenario::AdapterRanks;

    /// With an H100's figures it is an H100, but for the efficiencies that were measured on one.
    #[test]
    fn a_gpu_of_known_figures_has_its_times_and_memory() {
        let common = [
            ("scheduler.kind", "vllm_v1"),
            ("cost.kind", "roofline"),
            ("cost.corrections", "none"),
            ("fleet.model", "llama-3.1-8b"),
            ("workload.adapters.count", "0"),
        ];
        let with = |more: &[(&str, &str)]| {
            Scenario::of_version(4).with(&[&common[..], more].concat()).expect("a scenario")
        };
        let known = with(&[("fleet.gpu", "h100_sxm")]);
        let own = with(&[("fleet.gpu", "own")]);
        let us = |scenario: &Scenario| {
            let batch = Batch { decodes: 30, decode_kv_tokens: 4e4, ..Batch::default() };
            scenario.replica_cost(AdapterRanks::default()).expect("a cost").stage_time(&batch, true).first_us
        };
        assert_eq!(us(&own), us(&known));
        assert_eq!(
            own.pool_tokens(AdapterRanks::default()).unwrap(),
            known.pool_tokens(AdapterRanks::default()).unwrap()
        );
        let slow = with(&[("fleet.gpu", "own"), ("gpu.bandwidth_gb_s", "1675")]);
        assert!(us(&slow) > 1.5 * us(&known));
        assert!(!own.has_measured_kernels());
    }
}
