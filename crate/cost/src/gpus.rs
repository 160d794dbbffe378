//! GPUs: what each can do at most, what memory it has, what an hour of it costs, and where each figure comes from.
//!
//! Peaks are dense (without sparsity). Bandwidths are in 1e9 bytes/s, links per GPU and in one direction.

mod sources;
mod table;

pub use sources::{PRICE_SOURCES, PriceSource, SOURCES, price_source, source};
pub use table::GPUS;

/// A figure and the keys of its [`SOURCES`], blanks between.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fact {
    /// The figure, in the unit that its field names.
    pub value: f64,
    /// Keys of its sources.
    pub sources: &'static str,
}

/// What kind of a price it is. Prices of different kinds are not comparable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriceKind {
    /// Rented by the hour, at the list price.
    OnDemand,
    /// Rented for months or years.
    Reserved,
    /// Rented by the hour, and may be taken back.
    Spot,
    /// What owning it costs, by a cost model.
    Estimate,
}

/// One observed price.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// US dollars for a GPU and an hour.
    pub usd_per_hour: f64,
    /// Its kind.
    pub kind: PriceKind,
    /// Key of its source.
    pub source: &'static str,
    /// Whose price for what.
    pub what: &'static str,
}

/// One kind of GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gpu {
    /// The value of `fleet.gpu`.
    pub id: &'static str,
    /// As its vendor calls it.
    pub name: &'static str,
    /// Peak of matrix products at 16 bits, TFLOP/s.
    pub bf16_tflops: Fact,
    /// The same at FP8, where it has it.
    pub fp8_tflops: Option<Fact>,
    /// The same at FP4, where it has it.
    pub fp4_tflops: Option<Fact>,
    /// Memory as its vendor states it, GB.
    pub memory_gb: Fact,
    /// Memory bandwidth.
    pub bandwidth_gb_s: Fact,
    /// Bandwidth to the other GPUs of its node.
    pub link_gb_s: Fact,
    /// GPUs of a node, or of the rack that NVLink joins.
    pub gpus_per_node: u32,
    /// Bandwidth of each GPU to those of other nodes.
    pub node_link_gb_s: Fact,
    /// Power limit of the board, watts.
    pub tdp_w: Option<Fact>,
    /// Memory that a process is given, bytes: what `cudaMemGetInfo` or `hipMemGetInfo` reports as the total, as start-up logs of
    /// servers show it. It is less than the board has; error correction and the driver take their part first.
    pub memory_bytes: f64,
    /// Prices; the first of a kind stands for it.
    pub prices: &'static [Price],
}

impl Gpu {
    /// The GPU whose id this is.
    pub fn named(id: &str) -> Option<&'static Self> {
        GPUS.iter().find(|gpu| gpu.id == id)
    }

    /// Whether its compute capability is 10.x: Blackwell's data centre GPUs, which have kernels and defaults of their own.
    pub fn has_compute_capability_10(&self) -> bool {
        ["b200_sxm", "b300_sxm", "gb200_nvl72", "gb300_nvl72"].contains(&self.id)
    }

    /// Whether its compute capability is 9 or 10: Hopper and Blackwell in data centers.
    pub fn is_hopper_or_blackwell(&self) -> bool {
        self.has_compute_capability_10() || self.id.starts_with("h100") || self.id.starts_with("h200")
    }

    /// The price of a kind that stands for it: the first of that kind in its list.
    pub fn price_of(&self, kind: PriceKind) -> Option<&'static Price> {
        self.prices.iter().find(|price| price.kind == kind)
    }
}

/// The id of a GPU that is in no table: its figures are given one by one.
pub const OWN: &str = "own";

/// The ids, in the order of [`GPUS`].
pub const GPU_IDS: [&str; GPUS.len()] = {
    let mut ids = [""; GPUS.len()];
    let mut i = 0;
    while i < ids.len() {
        ids[i] = GPUS[i].id;
        i += 1;
    }
    ids
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_positive_and_has_a_known_source() {
        for gpu in GPUS {
            let node = gpu.node_link_gb_s;
            assert!(gpu.gpus_per_node > 1 && node.value <= gpu.link_gb_s.value, "{}", gpu.id);
            let facts = [gpu.bf16_tflops, gpu.memory_gb, gpu.bandwidth_gb_s, gpu.link_gb_s, node];
            for fact in facts.iter().chain(&gpu.fp8_tflops).chain(&gpu.fp4_tflops).chain(&gpu.tdp_w) {
                assert!(fact.value > 0.0 && !fact.sources.is_empty(), "{}", gpu.id);
                for key in fact.sources.split(' ') {
                    assert!(source(key).is_some(), "{}: {key}", gpu.id);
                }
            }
            for price in gpu.prices {
                assert!(price.usd_per_hour > 0.0 && source(price.source).is_some(), "{}", gpu.id);
                assert!(price_source(price.source).is_some(), "{}: {}", gpu.id, price.source);
                // What a source calls itself: a cost model is an estimate, a spot price none on demand.
                let is_model = source(price.source).is_some_and(|what| what.contains("TCO model"));
                assert_eq!(price.kind == PriceKind::Estimate, is_model, "{}: {}", gpu.id, price.what);
                let is_spot = price.what.contains("spot figure");
                assert_eq!(price.kind == PriceKind::Spot, is_spot, "{}: {}", gpu.id, price.what);
            }
            // It is the stated one in GB, in GiB, or a little less.
            let ratio = gpu.memory_bytes / (gpu.memory_gb.value * 1e9);
            assert!((0.95..1.08).contains(&ratio), "{}: {ratio}", gpu.id);
            assert_eq!(Gpu::named(gpu.id), Some(&gpu));
        }
        assert_eq!(GPU_IDS[0], "a100_80_sxm");
    }

    #[test]
    fn most_gpus_have_a_price_on_demand() {
        let known = |kind| GPUS.iter().filter(|gpu| gpu.price_of(kind).is_some()).count();
        let kinds = [PriceKind::Reserved, PriceKind::Spot, PriceKind::Estimate];
        assert!(kinds.into_iter().all(|kind| known(kind) < known(PriceKind::OnDemand)));
        for (key, ..) in SOURCES {
            let date = price_source(key).and_then(|of| of.date);
            assert!(date.is_none_or(|date| date.len() == 10), "{key}");
        }
    }
}
