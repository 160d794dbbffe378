//! How long sums over the GPUs of a node take.

use crate::gpus::Gpu;

/// Values of 16 bits for which the times of [`MEASURED`] are.
const VALUES: [f64; 6] = [1_024.0, 65_536.0, 524_288.0, 4_194_304.0, 33_554_432.0, 268_435_456.0];

/// Microseconds of a sum of each of [`VALUES`].
type Times = [f64; VALUES.len()];

/// The same over two, four and eight GPUs, from the operator tables of AIConfigurator (vLLM's and NCCL's sums in a CUDA graph). A GB200
/// and a GB300 were timed up to four. Four and eight L40S were timed through a bus that they share: here they have the time of
/// few values, and the speed of two.
const MEASURED: [(&str, [Times; 3]); 9] = [
    (
        "a100_80_sxm",
        [
            [4.9, 5.7, 10.7, 89.7, 389.4, 2802.0],
            [5.2, 7.8, 18.3, 118.0, 539.1, 3730.0],
            [5.6, 11.3, 21.7, 129.1, 590.9, 4234.0],
        ],
    ),
    (
        "h100_sxm",
        [
            [4.2, 4.8, 8.3, 45.1, 307.5, 1710.0],
            [4.6, 5.8, 12.7, 53.4, 330.3, 2301.0],
            [4.6, 7.8, 15.0, 50.7, 342.7, 2109.0],
        ],
    ),
    (
        "h200_sxm",
        [
            [4.5, 4.8, 8.4, 43.0, 280.8, 1684.0],
            [4.5, 5.8, 12.1, 51.9, 319.7, 2320.0],
            [4.8, 7.9, 14.0, 48.3, 322.1, 2038.0],
        ],
    ),
    (
        "b200_sxm",
        [
            [7.0, 7.4, 13.1, 50.5, 155.2, 1007.0],
            [7.0, 8.1, 18.4, 43.1, 188.5, 1291.0],
            [7.5, 9.3, 17.3, 39.4, 222.7, 1328.0],
        ],
    ),
    (
        "b300_sxm",
        [
            [6.9, 7.6, 13.2, 45.3, 153.3, 967.5],
            [7.0, 8.0, 18.9, 41.9, 187.1, 1302.0],
            [7.2, 9.4, 26.2, 38.5, 213.3, 1339.0],
        ],
    ),
    (
        "gb200_nvl72",
        [
            [5.1, 5.8, 10.1, 62.4, 389.4, 2689.0],
            [5.3, 6.0, 12.5, 50.6, 202.7, 1458.0],
            [5.3, 6.0, 12.5, 50.6, 202.7, 1458.0],
        ],
    ),
    (
        "gb300_nvl72",
        [
            [7.1, 7.5, 13.2, 43.1, 150.7, 982.5],
            [7.2, 7.8, 20.6, 42.9, 180.1, 1283.0],
            [7.2, 7.8, 20.6, 42.9, 180.1, 1283.0],
        ],
    ),
    (
        "l40s",
        [
            [5.3, 11.0, 60.1, 449.8, 3537.0, 27_976.0],
            [13.4, 22.0, 95.7, 680.1, 5311.0, 41_969.0],
            [25.3, 35.3, 121.3, 803.1, 6206.0, 48_974.0],
        ],
    ),
    (
        "rtx_pro_6000",
        [
            [4.2, 8.2, 30.1, 244.3, 1847.0, 13_858.0],
            [12.6, 25.0, 87.4, 463.6, 3573.0, 26_883.0],
            [25.6, 49.6, 133.1, 674.8, 5054.0, 38_800.0],
        ],
    ),
];

/// The GPUs of a sum wait for the last one: as beside measured kernels, microseconds.
const WAIT_US: f64 = 3.2;
/// A link of this many GB/s or less is no NVLink.
const PCIE_GB_S: f64 = 64.0;

/// Sums over this many GPUs of a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NodeSums {
    times: &'static Times,
    /// How many times as long the bytes take as on the GPU that was timed.
    slower: f64,
}

impl NodeSums {
    /// On a GPU; one that was not timed has the times of an H100 or, without NVLink, of an RTX PRO 6000, by the speed of its link.
    pub(super) fn of(gpu: &Gpu, gpus: u32) -> Self {
        let of = |id: &str| MEASURED.iter().find(|(known, _)| *known == id).map(|(_, times)| times);
        let nearest = if gpu.link_gb_s.value > PCIE_GB_S { "h100_sxm" } else { "rtx_pro_6000" };
        let link_gb_s = |id: &str| Gpu::named(id).map_or(1.0, |known| known.link_gb_s.value);
        let (times, slower) = match of(gpu.id) {
            Some(times) => (times, 1.0),
            None => (of(nearest).unwrap_or(&MEASURED[0].1), link_gb_s(nearest) / gpu.link_gb_s.value),
        };
        let column = match gpus {
            0..=2 => 0,
            3..=4 => 1,
            _ => 2,
        };
        Self { times: &times[column], slower }
    }

    /// Microseconds of a sum of this many values of 16 bits.
    pub(super) fn us(&self, values: f64) -> f64 {
        let [first, last] = [0, VALUES.len() - 1];
        let upper = VALUES.partition_point(|&known| known <= values);
        let us = if upper == 0 {
            self.times[first]
        } else if upper > last {
            self.times[last] * values / VALUES[last]
        } else {
            let share = libm::log(values / VALUES[upper - 1]) / libm::log(VALUES[upper] / VALUES[upper - 1]);
            self.times[upper - 1] * libm::pow(self.times[upper] / self.times[upper - 1], share)
        };
        WAIT_US + self.times[first] + (us - self.times[first]) * self.slower
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpus::GPUS;

    #[test]
    fn sums_of_more_values_take_longer_and_a_slower_link_too() {
        for gpu in GPUS {
            for gpus in [2, 3, 4, 8, 16] {
                let sums = NodeSums::of(&gpu, gpus);
                let us: Vec<f64> = (0..32).map(|power| sums.us(libm::exp2(f64::from(power)))).collect();
                assert!(
                    us.windows(2).all(|pair| pair[0] <= pair[1]) && us[0] > WAIT_US,
                    "{}: {us:?}",
                    gpu.id
                );
            }
        }
        let us = |id: &str, values| NodeSums::of(Gpu::named(id).unwrap(), 2).us(values);
        assert_eq!(us("h100_sxm", 524_288.0), 8.3 + WAIT_US);
        assert_eq!(us("h100_sxm", 10.0), 4.2 + WAIT_US);
        assert!(us("l4", 1e7) > 1.5 * us("rtx_pro_6000", 1e7));
    }
}
