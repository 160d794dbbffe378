//! How evenly the tokens of a batch lie on GPUs that have whole experts, before and after the experts are arranged by their loads
//! (EPLB: vllm/distributed/eplb/policy/default.py, after deepseek-ai/EPLB).
//!
//! Loads follow a power law, as in AIConfigurator's tables of measured experts (`power_law_1.2`, whose times are those of the GPU with
//! most): x with a density proportional to x^-1.2 between 1 and .8 times the tokens. **It wins nothing** where loads are even; what it
//! costs to move weights is in the engine.

/// The exponent of the loads.
const ALPHA: f64 = 1.2;
/// The largest load over the smallest: .8 of 4,096 tokens.
const LARGEST: f64 = 0.8 * 4096.0;
/// Draws of all loads of which the mean is taken.
const DRAWS: u64 = 64;

/// The most loaded GPU over the mean: with experts in the order of their numbers, and arranged by their loads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpertBalance {
    /// As a model is loaded.
    pub in_order: f64,
    /// After a rearrangement.
    pub arranged: f64,
}

impl ExpertBalance {
    /// Of so many experts in groups, with further copies of some. `None`: groups are not of one size.
    pub fn of(experts: u32, groups: u32, redundant: u32) -> Option<Self> {
        let groups = groups.max(1);
        if experts == 0 || !experts.is_multiple_of(groups) || !(experts + redundant).is_multiple_of(groups) {
            return None;
        }
        let (groups, redundant) = (groups as usize, redundant as usize);
        let mut draws = Draws(0);
        let (mut in_order, mut arranged) = (0.0, 0.0);
        for _ in 0..DRAWS {
            let loads: Vec<f64> = (0..experts).map(|_| power_law(draws.uniform())).collect();
            let mean = loads.iter().sum::<f64>() / groups as f64;
            let of_group = |group: &[f64]| group.iter().sum::<f64>();
            let most = |sums: &mut dyn Iterator<Item = f64>| sums.fold(0.0, f64::max) / mean;
            in_order += most(&mut loads.chunks(loads.len() / groups).map(of_group));
            arranged += most(&mut arrange(&loads, groups, redundant).into_iter());
        }
        let draws = DRAWS as f64;
        Some(Self { in_order: in_order / draws, arranged: arranged / draws })
    }

    /// Tokens that load the most loaded GPU as one does without a rearrangement.
    pub fn ratio(&self) -> f64 {
        self.arranged / self.in_order
    }
}

/// The loads of groups, where copies of the most loaded experts are added, and experts put into groups from the most loaded on, each
/// into the group with the least load that has room.
pub fn arrange(loads: &[f64], groups: usize, redundant: usize) -> Vec<f64> {
    let mut copies = vec![1.0; loads.len()];
    let mut experts: Vec<usize> = (0..loads.len()).collect();
    for _ in 0..redundant {
        let most = first_most((0..loads.len()).map(|expert| loads[expert] / copies[expert]));
        copies[most] += 1.0;
        experts.push(most);
    }
    let mut each: Vec<f64> = experts.iter().map(|&expert| loads[expert] / copies[expert]).collect();
    let room = each.len() / groups.max(1);
    let (mut sums, mut counts) = (vec![0.0_f64; groups], vec![0; groups]);
    while !each.is_empty() {
        let load = each.swap_remove(first_most(each.iter().copied()));
        let open = |&group: &usize| counts[group] < room;
        let least = (0..groups).filter(open).min_by(|&one, &other| sums[one].total_cmp(&sums[other]));
        let Some(group) = least else { break };
        sums[group] += load;
        counts[group] += 1;
    }
    sums
}

/// The place of the largest, of equal ones the first.
fn first_most(values: impl Iterator<Item = f64>) -> usize {
    let most = values.enumerate().reduce(|most, one| if one.1 > most.1 { one } else { most });
    most.map_or(0, |(place, _)| place)
}

/// The quantile of the loads.
fn power_law(uniform: f64) -> f64 {
    let power = 1.0 - ALPHA;
    libm::pow(1.0 + uniform * (libm::pow(LARGEST, power) - 1.0), 1.0 / power)
}

/// Numbers between 0 and 1 (`SplitMix64`), the same in every run.
struct Draws(u64);

impl Draws {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<f64> {
        text.split_whitespace().map(|number| number.parse().expect("a number")).collect()
    }

    #[test]
    fn groups_are_loaded_as_vllm_loads_them() {
        let rows =
            include_str!("expert_balance/vllm-loads.txt").lines().filter(|line| !line.starts_with('#'));
        let mut checked = 0;
        for row in rows {
            let parts: Vec<Vec<f64>> = row.split(';').map(numbers).collect();
            let [sizes, loads, expected] = &parts[..] else { panic!("{row}") };
            let arranged = arrange(loads, sizes[0] as usize, sizes[1] as usize);
            for (own, expected) in arranged.iter().zip(expected) {
                assert!((own - expected).abs() < 1e-5, "{arranged:?} instead of {expected}");
            }
            checked += 1;
        }
        assert_eq!(checked, 20);
    }

    /// AIConfigurator timed experts of this law half as long again as even ones on 8 H100.
    #[test]
    fn the_law_is_as_uneven_as_what_was_timed() {
        let balance = ExpertBalance::of(256, 8, 0).expect("even groups");
        println!("{balance:?}");
        assert!((1.4..1.8).contains(&balance.in_order) && balance.arranged < 1.05);
        let with_copies = ExpertBalance::of(256, 8, 32).expect("even groups");
        assert!(with_copies.arranged <= balance.arranged);
        assert_eq!(ExpertBalance::of(256, 8, 3), None);
        let one = ExpertBalance::of(64, 1, 0).expect("one group");
        assert!((one.in_order - 1.0).abs() < 1e-12 && (one.arranged - 1.0).abs() < 1e-12);
    }
}
