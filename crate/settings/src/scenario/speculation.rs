//! The scenario's speculative decoding: what drafts cost, and how many of them are accepted.

use servescope_cost::memory_plan::{DrafterMemory, layer_behind};
use servescope_cost::models::Model;
use servescope_cost::{
    BatchCost, Corrections, Deployment, DraftPass, Drafter, HostTime, Roofline, Speculative,
};
use servescope_engine::{Acceptance, DraftMethod, DraftSchedule, MOST_DRAFTS, Speculation};

use super::{CostKind, Scenario};
use crate::acceptance_tables::lengths_of;
use crate::diagnostic::Diagnostic;
use crate::parameters::Id;
use crate::parameters::choices::{SpecAcceptance, SpecGate, SpecMethod};

/// What looking n-grams up takes over an iteration (SpecDecode-Bench).
const LOOKUP_SHARE: f64 = 0.005_875;

/// The chance that at least 1, 2, … drafts are accepted.
type Survival = [f64; MOST_DRAFTS];

impl Scenario {
    /// Whether drafts are made.
    pub fn speculates(&self) -> bool {
        self.is_active(Id::SpecTokens)
    }

    /// The rules of speculative decoding; `None`: there is none.
    pub(super) fn speculation(&self) -> Option<Speculation> {
        let method = match self.chosen(SpecMethod::ID) {
            _ if !self.speculates() => return None,
            SpecMethod::None => return None,
            SpecMethod::Ngram => DraftMethod::Ngram,
            SpecMethod::DraftModel => DraftMethod::DraftModel,
            SpecMethod::Eagle | SpecMethod::Mtp => DraftMethod::Eagle,
        };
        Some(Speculation {
            method,
            parallel_drafting: false,
            num_speculative_tokens: self.whole(Id::SpecTokens),
            by_batch_size: self.draft_schedule().and_then(|ranges| DraftSchedule::new(&ranges)),
            lookahead_block_hashes: true,
            acceptance: Acceptance::Drawn {
                survival: self.draft_survival(),
                seed: self.number(Id::Seed) as u64,
            },
        })
    }

    /// From how many requests on how many drafts are made, where that depends on their number.
    fn draft_schedule(&self) -> Option<Vec<(u32, u32)>> {
        match self.chosen(SpecGate::ID) {
            SpecGate::Always => None,
            SpecGate::BatchBelow => {
                Some(vec![(1, self.whole(Id::SpecTokens)), (self.whole(Id::SpecBelow), 0)])
            }
            SpecGate::Dynamic => {
                let list = self.list(Id::SpecSchedule);
                Some(list.chunks_exact(3).map(|range| (range[0] as u32, range[2] as u32)).collect())
            }
        }
    }

    /// The chance that at least 1, 2, … drafts are accepted, as the settings have it.
    pub fn draft_survival(&self) -> Survival {
        match self.chosen(SpecAcceptance::ID) {
            SpecAcceptance::Rate => of_rate(self.number(Id::SpecRate)),
            SpecAcceptance::Positions => {
                let mut survival = [0.0; MOST_DRAFTS];
                survival.iter_mut().zip(self.list(Id::SpecPositions)).for_each(|(own, given)| *own = given);
                survival
            }
            SpecAcceptance::Length => of_length(self.number(Id::SpecLength)),
            SpecAcceptance::Table => of_lengths(&lengths_of(self.choice(Id::SpecTable))),
        }
    }

    /// The drafter's hardware and model, where it has some: on the GPUs of the last stage.
    fn drafter_deployment(&self) -> Option<Deployment> {
        if self.cost_kind() == CostKind::Linear {
            return None;
        }
        let target = self.deployment();
        let model = match self.speculates().then(|| self.chosen(SpecMethod::ID))? {
            SpecMethod::None | SpecMethod::Ngram => return None,
            SpecMethod::DraftModel => *Model::named(self.choice(Id::SpecDraftModel))?,
            SpecMethod::Eagle => layer_behind(&target.model, false),
            SpecMethod::Mtp => layer_behind(&target.model, true),
        };
        Some(Deployment { model, pipeline_parallel: 1, ..target })
    }

    /// What the drafter takes of the memory.
    pub(super) fn drafter_memory(&self) -> DrafterMemory {
        let has_own_tables = self.chosen(SpecMethod::ID) == SpecMethod::DraftModel;
        self.drafter_deployment()
            .map_or(DrafterMemory::default(), |own| DrafterMemory::of(&own, !has_own_tables))
    }

    /// The times of a model with those of the drafter.
    pub(super) fn with_drafter(&self, target: Box<dyn BatchCost>) -> Box<dyn BatchCost> {
        if !self.speculates() {
            return target;
        }
        let drafter = match self.chosen(SpecMethod::ID) {
            SpecMethod::None => return target,
            SpecMethod::Ngram => Drafter::Lookup(LOOKUP_SHARE),
            SpecMethod::DraftModel | SpecMethod::Eagle | SpecMethod::Mtp => {
                let timed = matches!(self.cost_kind(), CostKind::Roofline | CostKind::Kernels);
                let pass = match self.drafter_deployment().filter(|_| timed) {
                    Some(own) => DraftPass::Model(Box::new(Roofline::new(
                        own,
                        Corrections::of(own.gpu.id),
                        HostTime::NONE,
                    ))),
                    None => DraftPass::Share(self.number(Id::SpecCostRatio)),
                };
                Drafter::Passes { pass, is_parallel: false }
            }
        };
        Box::new(Speculative::new(target, drafter))
    }

    /// Chances that rise, ranges out of order, and a token budget without room for drafts, with which vLLM does not start.
    pub(super) fn speculation_problems(&self) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        if !self.speculates() {
            return problems;
        }
        let positions = self.list(Id::SpecPositions);
        let rises = !positions.is_sorted_by(|one, next| one >= next);
        if self.is_active(Id::SpecPositions) && (positions.is_empty() || rises) {
            let path = Id::SpecPositions.row().id;
            let message =
                format!("{path}: shares that do not rise from one position to the next are expected");
            problems.push(Diagnostic::error("positions_rise", path, message));
        }
        let list = self.list(Id::SpecSchedule);
        let ranges = list.chunks_exact(3);
        let are_ranges = ranges.remainder().is_empty()
            && ranges.clone().all(|range| range[0] <= range[1])
            && list.chunks_exact(3).zip(list.chunks_exact(3).skip(1)).all(|(one, next)| one[1] < next[0]);
        let is_schedule =
            are_ranges && self.draft_schedule().is_none_or(|own| DraftSchedule::new(&own).is_some());
        if self.is_active(Id::SpecSchedule) && !is_schedule {
            let path = Id::SpecSchedule.row().id;
            let message = format!(
                "{path}: first and last number of requests and the drafts, in turn, for at most 8 ranges in order of which the first begins at 1"
            );
            problems.push(Diagnostic::error("draft_ranges", path, message));
        }
        let (budget, drafts) = (self.number(Id::BatchMaxTokens), self.number(Id::SpecTokens));
        // A draft model's input has a row more for each request.
        if budget < drafts + 2.0 {
            let path = Id::BatchMaxTokens.row().id;
            let message = format!("{path}: {budget} has no room for a request and its {drafts} drafts");
            let error = Diagnostic::error("budget_below_drafts", path, message);
            problems.push(error.number("value", budget).number("min", drafts + 2.0));
        }
        problems
    }
}

/// The same chance for each draft behind a right one.
fn of_rate(rate: f64) -> Survival {
    let mut chance = 1.0;
    std::array::from_fn(|_| {
        chance *= rate;
        chance
    })
}

/// A mean length whose lengths differ as little as they can (vLLM's `synthetic_acceptance_length`).
fn of_length(length: f64) -> Survival {
    let mut left = length - 1.0;
    std::array::from_fn(|_| {
        let chance = left.clamp(0.0, 1.0);
        left -= chance;
        chance
    })
}

/// Mean lengths with 1, 2, … drafts: what each adds, made falling by the mean of neighbours that are not (pool adjacent violators).
fn of_lengths(lengths: &[f64]) -> Survival {
    let mut pooled: Vec<(f64, usize)> = Vec::new();
    let mut before = 1.0;
    for &length in lengths {
        let mut own = ((length - before).clamp(0.0, 1.0), 1);
        before = length;
        while let Some(&(mean, count)) = pooled.last().filter(|last| last.0 < own.0) {
            let all = count + own.1;
            own = ((mean * count as f64 + own.0 * own.1 as f64) / all as f64, all);
            pooled.pop();
        }
        pooled.push(own);
    }
    let each = pooled.into_iter().flat_map(|(mean, count)| std::iter::repeat_n(mean, count));
    let mut survival = [0.0; MOST_DRAFTS];
    survival.iter_mut().zip(each).for_each(|(own, given)| *own = given);
    survival
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::AdapterRanks;

    fn scenario(settings: &[(&str, &str)]) -> Scenario {
        let usual = [("scheduler.kind", "vllm_v1"), ("cost.speculation.method", "eagle")];
        let all: Vec<(&str, &str)> = usual.iter().chain(settings).copied().collect();
        Scenario::of_version(4).with(&all).unwrap()
    }

    fn survival(settings: &[(&str, &str)]) -> Survival {
        scenario(settings).draft_survival()
    }

    #[test]
    fn chances_follow_from_a_rate_a_length_positions_and_tables() {
        assert_eq!(of_length(2.5)[..4], [1.0, 0.5, 0.0, 0.0]);
        assert_eq!(of_length(1.0)[..2], [0.0, 0.0]);
        let near = |one: &[f64], other: &[f64]| one.iter().zip(other).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(&survival(&[]), &[0.7, 0.49, 0.343]));
        let given = [("cost.speculation.acceptance", "positions"), ("cost.speculation.positions", "0.8,0.3")];
        assert!(near(&survival(&given), &[0.8, 0.3, 0.0]));
        // The last length is below the one before it.
        let mean = of_lengths(&[1.84, 2.51, 3.01, 3.0]);
        assert!(near(&mean, &[0.84, 0.67, 0.5, 0.0]));
        assert!(near(&of_lengths(&[1.5, 1.6, 2.0]), &[0.5, 0.25, 0.25]));
        for name in crate::acceptance_tables::TABLE_NAMES {
            let own = survival(&[("cost.speculation.acceptance", "table"), ("cost.speculation.table", name)]);
            assert!(
                own.is_sorted_by(|one, next| one >= next) && own[0] < 1.0 && own[8] == 0.0,
                "{name}: {own:?}"
            );
        }
    }

    #[test]
    fn a_drafter_takes_memory_and_time() {
        let on = [("cost.kind", "roofline"), ("fleet.gpu", "h100_sxm"), ("fleet.model", "llama-3.1-8b")];
        let with = |method| {
            let settings: Vec<(&str, &str)> =
                on.iter().copied().chain([("cost.speculation.method", method)]).collect();
            scenario(&settings)
        };
        let plan = |method| with(method).memory_plan(AdapterRanks::default());
        let (none, ngram, eagle, model) = (plan("none"), plan("ngram"), plan("eagle"), plan("draft_model"));
        assert_eq!((none.kv_tokens, none.drafter_bytes), (ngram.kv_tokens, ngram.drafter_bytes));
        assert!(eagle.drafter_bytes > 3e8 && eagle.drafter_bytes < 1e9, "{}", eagle.drafter_bytes);
        assert!((eagle.kv_token_bytes / none.kv_token_bytes - 33.0 / 32.0).abs() < 1e-9);
        assert!(model.drafter_bytes > 2e9 && model.drafter_bytes < 4e9, "{}", model.drafter_bytes);
        assert!(model.kv_tokens < eagle.kv_tokens && eagle.kv_tokens < none.kv_tokens);
        assert_eq!(with("none").pool().speculation, None);
        assert_eq!(with("mtp").pool().speculation.map(|own| own.method), Some(DraftMethod::Eagle));
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let code = |settings: &[(&str, &str)]| {
            scenario(settings).speculation_problems().first().map(|error| error.code)
        };
        assert_eq!(code(&[]), None);
        let positions = ("cost.speculation.acceptance", "positions");
        assert_eq!(code(&[positions, ("cost.speculation.positions", "0.3,0.4")]), Some("positions_rise"));
        let dynamic = ("cost.speculation.gate", "dynamic");
        assert_eq!(code(&[dynamic]), None);
        for bad in ["2,9,3", "1,9", "1,9,3,9,12,1", "5,2,1"] {
            assert_eq!(code(&[dynamic, ("cost.speculation.schedule", bad)]), Some("draft_ranges"), "{bad}");
        }
        assert_eq!(code(&[("scheduler.max_num_batched_tokens", "4")]), Some("budget_below_drafts"));
    }
}
