//! What one iteration of a replica holds, and the trait of the models that say how long it takes.
//!
//! An iteration mixes prompts (whole or in chunks) with requests that decode one token each. A replica of several
//! pipeline stages asks for each stage by itself.

use crate::batch_stages::{BatchStages, StageConstants};
use crate::linear::LinearCost;

/// The part of one prompt that an iteration processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Chunk {
    /// Tokens of the request that were processed before, and are read.
    pub kv_tokens: u32,
    /// Prompt tokens processed now, at least 1.
    pub tokens: u32,
}

/// One iteration.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Batch<'a> {
    /// Prompts.
    pub chunks: &'a [Chunk],
    /// Requests that decode one token each.
    pub decodes: u32,
    /// Tokens processed before, summed over the requests that decode: a count, or the mean of several iterations.
    pub decode_kv_tokens: f64,
    /// Sum over all its requests of their adapters' ranks.
    pub rank_sum: u64,
    /// Whether any request uses an adapter.
    pub any_adapter: bool,
    /// What its LoRA operators work on.
    pub lora: LoraBatch,
    /// Drafts that are verified, summed over the requests that decode: tokens beside those that they decode.
    pub drafts: u32,
    /// Drafts that are made for each request behind it.
    pub drafted: u32,
    /// What the data-parallel ranks have whose experts it shares.
    pub rank_rows: RankRows,
}

/// Rows of data-parallel ranks that run a forward pass together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RankRows {
    /// Of all of them; 0: the batch is alone.
    pub all: u32,
    /// Of the one that has most.
    pub most: u32,
    /// Whether experts lie on the GPUs by their loads.
    pub are_balanced: bool,
}

impl RankRows {
    /// Rows with which so many ranks come to the experts, one of which has `own`. In a CUDA graph every rank is padded to the
    /// largest (vllm/v1/worker/dp_utils.py); a batch alone stands for ranks that are alike.
    pub(crate) fn of_ranks(self, own: f64, ranks: u32, captured_tokens: u32) -> f64 {
        match self.all {
            0 => own * f64::from(ranks.max(1)),
            _ if self.most <= captured_tokens => f64::from(self.most) * f64::from(ranks.max(1)),
            all => f64::from(all),
        }
    }
}

/// The LoRA adapters of an iteration, as operators that group requests by adapter see them (S-LoRA's MBGMM and MBGMV,
/// Punica's SGMV, vLLM's shrink and expand): weights are read once for each adapter, however many requests use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoraBatch {
    /// Distinct adapters.
    pub adapters: u32,
    /// Sum of their ranks, each adapter once.
    pub adapter_ranks: u64,
    /// Tokens of requests with an adapter.
    pub tokens: u32,
    /// Sum over those tokens of their adapters' ranks.
    pub token_ranks: u64,
}

impl LoraBatch {
    /// This many tokens that all use one adapter of this rank; rank 0 is the base model.
    pub fn of_one(rank: u32, tokens: u32) -> Self {
        if rank == 0 {
            return Self::default();
        }
        let rank = u64::from(rank);
        Self { adapters: 1, adapter_ranks: rank, tokens, token_ranks: u64::from(tokens) * rank }
    }
}

impl Batch<'_> {
    /// Prompt tokens of the iteration.
    pub fn prompt_tokens(&self) -> u32 {
        self.chunks.iter().map(|c| c.tokens).sum()
    }

    /// Rows that its products work on: tokens of prompts, one for each request that decodes, and drafts.
    pub fn rows(&self) -> u32 {
        self.prompt_tokens() + self.decodes + self.drafts
    }

    /// Rows of which the head makes logits: one for each request, and drafts.
    pub fn logit_rows(&self) -> u32 {
        self.requests() + self.drafts
    }

    /// Requests in the iteration.
    pub fn requests(&self) -> u32 {
        self.decodes + self.chunks.len() as u32
    }
}

/// How long a pipeline stage takes for an iteration, and for those that follow while the same requests decode on.
///
/// Iteration j takes `first_us` + j `growth_us`, for j below `valid_iterations`. An iteration with prompts is followed by
/// none: its `growth_us` is 0 and its `valid_iterations` 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StageTime {
    /// The iteration, microseconds.
    pub first_us: f64,
    /// By how much each further one is longer.
    pub growth_us: f64,
    /// For how many iterations this is right; at least 1.
    pub valid_iterations: u32,
}

impl StageTime {
    /// A time that says nothing about the iterations after it.
    pub fn once(us: f64) -> Self {
        Self { first_us: us, growth_us: 0.0, valid_iterations: 1 }
    }
}

/// What a replica spends an iteration on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OperatorClass {
    /// Matrix products: projections, the MLP, experts, the head.
    Linear,
    /// Attention of prompts.
    PrefillAttention,
    /// Attention of requests that decode.
    DecodeAttention,
    /// Norms, activations, rotary embedding, residual sums, embedding look-up.
    Pointwise,
    /// All-reduces and sending on to the next stage.
    Communication,
    /// Adapters: what they add to the products.
    Adapters,
    /// The host: scheduling, sampling, launches.
    Host,
    /// Time that a cost model without operators does not attribute.
    Unattributed,
}

impl OperatorClass {
    /// Every class, in the order of [`StageParts`].
    pub const ALL: [Self; 8] = [
        Self::Linear,
        Self::PrefillAttention,
        Self::DecodeAttention,
        Self::Pointwise,
        Self::Communication,
        Self::Adapters,
        Self::Host,
        Self::Unattributed,
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        [
            "linear",
            "prefill_attention",
            "decode_attention",
            "pointwise",
            "communication",
            "adapters",
            "host",
            "whole",
        ][self as usize]
    }
}

/// Microseconds of one stage by [`OperatorClass`]; they add up to its time.
pub type StageParts = [f64; OperatorClass::ALL.len()];

/// What a stage spends on one operator in an iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OperatorTime {
    /// The operator, as the model of iteration times names it.
    pub name: &'static str,
    /// What it is part of.
    pub class: OperatorClass,
    /// How often it runs; not whole where a layer is shared unevenly, or a mean of several stages.
    pub calls: f64,
    /// Microseconds of all calls together.
    pub us: f64,
    /// The tokens that each call works on: those of the iteration, of its prompts, or of the requests that decode one each.
    pub tokens: f64,
    /// The tokens of KV memory that each call reads.
    pub kv_tokens: f64,
}

/// What a stage costs so far: by class, and by operator where that is asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct OperatorSum {
    pub(crate) parts: StageParts,
    pub(crate) operators: Option<Vec<OperatorTime>>,
}

impl OperatorSum {
    /// One that keeps each operator.
    pub(crate) fn by_operator() -> Self {
        Self { operators: Some(Vec::new()), ..Self::default() }
    }

    /// Adds `us`, the time of all calls.
    pub(crate) fn add(&mut self, class: OperatorClass, [calls, tokens, us]: [f64; 3], name: &'static str) {
        self.parts[class as usize] += us;
        self.note(class, [calls, tokens, us], name);
    }

    /// Keeps an operator whose time has been added.
    pub(crate) fn note(&mut self, class: OperatorClass, [calls, tokens, us]: [f64; 3], name: &'static str) {
        if let Some(operators) = &mut self.operators {
            operators.push(OperatorTime { name, class, calls, us, tokens, kv_tokens: 0.0 });
        }
    }

    /// Multiplies what was added so far: the calls, and the times.
    pub(crate) fn scale(&mut self, calls: f64, us: f64) {
        self.parts.iter_mut().for_each(|part| *part *= us);
        for operator in self.operators.iter_mut().flatten() {
            operator.calls *= calls;
            operator.us *= us;
        }
    }

    /// What was kept, with the KV tokens that attention reads.
    pub(crate) fn into_operators(self, batch: &Batch<'_>) -> Vec<OperatorTime> {
        let of_prompts: f64 = batch.chunks.iter().map(|chunk| f64::from(chunk.kv_tokens)).sum();
        let mut operators = self.operators.unwrap_or_default();
        operators.retain(|operator| operator.us > 0.0);
        for operator in &mut operators {
            operator.kv_tokens = match operator.class {
                OperatorClass::PrefillAttention => of_prompts,
                OperatorClass::DecodeAttention => batch.decode_kv_tokens,
                _ => 0.0,
            };
        }
        operators
    }
}

/// What an iteration asks of one GPU, all stages together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Work {
    /// Floating-point operations; a multiplication with addition is two.
    pub flops: f64,
    /// Bytes read from and written to its memory.
    pub bytes: f64,
}

/// What one GPU can do at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// Dense FLOP/s at the format of the products.
    pub flops: f64,
    /// Memory, bytes per second.
    pub bytes: f64,
}

/// Iterations of a certain number of requests that decode, without prompts, but for the KV tokens that they read and their
/// adapters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecodeUsage {
    /// Microseconds by class of operator, the mean of the stages, without [`OperatorClass::DecodeAttention`]: that is the
    /// rest of an iteration's time; and without [`BatchCost::lora_usage`].
    pub parts: StageParts,
    /// What an iteration without KV tokens asks of a GPU, and how much more one with each of them does.
    pub work: Option<[Work; 2]>,
}

/// A model of iteration times for a replica.
pub trait BatchCost: std::fmt::Debug + Send + Sync {
    /// Pipeline stages into which the model is split; at least 1.
    fn stages(&self) -> u32;

    /// The time of one stage; the last one sends nothing on.
    fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime;

    /// Whether times depend on [`Batch::lora`]: on the tokens, ranks and distinct adapters of the LoRA operators. Where they do not, the
    /// engine leaves it empty.
    fn reads_lora(&self) -> bool {
        true
    }

    /// What the times of the stages have in common for a batch, for [`Self::batch_stages`].
    fn stage_constants(&self, _batch: &Batch<'_>) -> StageConstants {
        StageConstants::default()
    }

    /// The times of the stages for a batch: those of [`Self::stage_time`] to the bit. `constants` are the batch's own; where it
    /// holds no prompts, those of any iteration of the same requests. The time of adapters that is among them is in the times.
    fn batch_stages(&self, batch: &Batch<'_>, constants: &StageConstants) -> BatchStages {
        let us = [false, true].map(|is_last| self.stage_time(batch, is_last).first_us);
        BatchStages::once(constants.with_adapters(us))
    }

    /// The times of a stage before the last and of the last one, by class of operator.
    fn stage_parts(&self, batch: &Batch<'_>) -> [StageParts; 2] {
        [false, true].map(|is_last| {
            let mut parts = StageParts::default();
            parts[OperatorClass::Unattributed as usize] = self.stage_time(batch, is_last).first_us;
            parts
        })
    }

    /// The same time by operator, in the order in which a layer has them; nothing where the model knows no operators.
    fn operators(&self, _batch: &Batch<'_>, _is_last: bool) -> Vec<OperatorTime> {
        Vec::new()
    }

    /// What an iteration asks of a GPU, where the model is known.
    fn work(&self, _batch: &Batch<'_>) -> Option<Work> {
        None
    }

    /// The time of an iteration by class of operator, the mean of the stages, and what it asks of a GPU.
    fn usage(&self, batch: &Batch<'_>) -> (StageParts, Option<Work>) {
        (mean_of_stages(self.stage_parts(batch), self.stages()), self.work(batch))
    }

    /// What iterations of `decodes` requests have in common however many KV tokens they read and whichever adapters they
    /// use; `None` where more hangs on the tokens than the time of attention and, in proportion, its work, or more on the
    /// adapters than [`Self::lora_usage`].
    fn decode_usage(&self, _decodes: u32) -> Option<DecodeUsage> {
        None
    }

    /// What LoRA operators add to an iteration: microseconds, the mean of the stages, and work.
    fn lora_usage(&self, _lora: &LoraBatch) -> (f64, Work) {
        (0.0, Work::default())
    }

    /// What a GPU can do, where it is known.
    fn peak(&self) -> Option<Peak> {
        None
    }
}

/// The mean over `stages` stages, of which all but the last are alike.
pub(crate) fn mean_of_stages([inner, last]: [StageParts; 2], stages: u32) -> StageParts {
    if stages <= 1 {
        return last;
    }
    let others = f64::from(stages - 1);
    std::array::from_fn(|class| (last[class] + others * inner[class]) / f64::from(stages))
}

/// The times of a model in which only the attention of `decodes` requests hangs on the KV tokens that they read.
pub(crate) fn decode_usage_of(cost: &impl BatchCost, decodes: u32) -> DecodeUsage {
    let mut parts = mean_of_stages(cost.stage_parts(&Batch { decodes, ..Batch::default() }), cost.stages());
    parts[OperatorClass::DecodeAttention as usize] = 0.0;
    DecodeUsage { parts, work: None }
}

/// Iterations for which a time without bounds is taken to be valid at once.
const LONG: u32 = u32::MAX / 4;

/// One stage; an iteration that mixes prompts with decoding costs both parts and one host overhead. A draft costs as much as a
/// request without its KV tokens.
impl BatchCost for LinearCost {
    fn stages(&self) -> u32 {
        1
    }

    /// Adapters cost by the sum of ranks and the tokens, whichever requests share one.
    fn reads_lora(&self) -> bool {
        false
    }

    fn stage_time(&self, batch: &Batch<'_>, _is_last: bool) -> StageTime {
        let mut prefill_us = 0.0;
        if !batch.chunks.is_empty() {
            prefill_us = self.prefill_base_us + self.prefill_per_token_us * f64::from(batch.prompt_tokens());
            if batch.any_adapter {
                prefill_us *= self.adapters.prefill_factor;
            }
            if batch.decodes == 0 {
                return StageTime::once(prefill_us);
            }
        }
        let requests = f64::from(batch.decodes + batch.drafts);
        let mut decode_us = self.overhead_us
            + self.decode_base_us
            + self.decode_per_request_us * requests
            + self.decode_per_kv_token_us * batch.decode_kv_tokens
            + self.adapters.decode_per_rank_us * batch.rank_sum as f64;
        if batch.any_adapter {
            decode_us += self.adapters.decode_active_us;
        }
        if batch.chunks.is_empty() {
            let growth_us = self.decode_per_kv_token_us * requests;
            StageTime { first_us: decode_us, growth_us, valid_iterations: LONG }
        } else {
            StageTime::once(prefill_us + decode_us)
        }
    }

    /// The linear model has the reading of KV memory, the host and adapters by themselves; all else is one class.
    fn stage_parts(&self, batch: &Batch<'_>) -> [StageParts; 2] {
        let mut parts = StageParts::default();
        let mut add = |class: OperatorClass, us: f64| parts[class as usize] += us;
        if !batch.chunks.is_empty() {
            let plain_us =
                self.prefill_base_us + self.prefill_per_token_us * f64::from(batch.prompt_tokens());
            add(OperatorClass::Unattributed, plain_us);
            if batch.any_adapter {
                add(OperatorClass::Adapters, plain_us * self.adapters.prefill_factor - plain_us);
            }
        }
        if batch.chunks.is_empty() || batch.decodes > 0 {
            let active_us = if batch.any_adapter { self.adapters.decode_active_us } else { 0.0 };
            add(OperatorClass::Host, self.overhead_us);
            add(
                OperatorClass::Unattributed,
                self.decode_base_us + self.decode_per_request_us * f64::from(batch.decodes + batch.drafts),
            );
            add(OperatorClass::DecodeAttention, self.decode_per_kv_token_us * batch.decode_kv_tokens);
            let ranks_us = self.adapters.decode_per_rank_us * batch.rank_sum as f64;
            add(OperatorClass::Adapters, ranks_us + active_us);
        }
        [parts; 2]
    }
}

/// Asserts that the operators of both kinds of stage take as long as their classes, and names them.
#[cfg(test)]
pub(crate) fn assert_operators_add_up(cost: &dyn BatchCost, batch: &Batch<'_>) -> Vec<&'static str> {
    let mut names = Vec::new();
    for is_last in [false, true] {
        let mut rest = cost.stage_parts(batch)[usize::from(is_last)];
        let operators = cost.operators(batch, is_last);
        let total_us: f64 = rest.iter().sum();
        for operator in &operators {
            assert!(operator.calls > 0.0 && operator.us > 0.0 && operator.tokens > 0.0, "{operator:?}");
            rest[operator.class as usize] -= operator.us;
        }
        assert!(rest.iter().all(|us| us.abs() <= 1e-9 * total_us), "{rest:?} of {total_us}");
        names = operators.iter().map(|operator| operator.name).collect();
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::AdapterCost;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_parts_of_the_linear_model_add_up(
            us in prop::array::uniform6(0.0..1e4f64), adapters in prop::array::uniform3(0.0..1e3f64),
            chunks in prop::collection::vec((0u32..9_000, 1u32..9_000), 0..4),
            decodes in 0u32..300, decode_kv_tokens in 0u64..10_000_000, rank_sum in 0u64..20_000, any_adapter: bool,
        ) {
            let [prefill_base_us, prefill_per_token_us, decode_base_us, per_request, per_kv, overhead_us] = us;
            let cost = LinearCost {
                prefill_base_us,
                prefill_per_token_us,
                decode_base_us,
                decode_per_request_us: per_request,
                decode_per_kv_token_us: per_kv * 1e-4,
                overhead_us,
                adapters: AdapterCost {
                    prefill_factor: 1.0 + adapters[0] / 1e3,
                    decode_active_us: adapters[1],
                    decode_per_rank_us: adapters[2],
                    ..AdapterCost::FREE
                },
            };
            let chunks: Vec<Chunk> = chunks.into_iter().map(|(kv_tokens, tokens)| Chunk { kv_tokens, tokens }).collect();
            let rank_sum = if any_adapter { rank_sum } else { 0 };
            let batch = Batch { chunks: &chunks, decodes, decode_kv_tokens: decode_kv_tokens as f64, rank_sum, any_adapter, ..Batch::default() };
            let (time_us, [_, parts]) = (cost.stage_time(&batch, true).first_us, cost.stage_parts(&batch));
            prop_assert!((parts.iter().sum::<f64>() - time_us).abs() <= 8.0 * f64::EPSILON * time_us);
            prop_assert!(parts.iter().all(|&part| part >= 0.0));
            if !any_adapter {
                prop_assert_eq!(parts[OperatorClass::Adapters as usize], 0.0);
            }
        }
    }

    #[test]
    fn the_linear_model_adds_prompts_to_decoding() {
        let cost = LinearCost {
            prefill_base_us: 1_000.0,
            prefill_per_token_us: 10.0,
            decode_base_us: 500.0,
            decode_per_request_us: 5.0,
            decode_per_kv_token_us: 0.5,
            overhead_us: 100.0,
            adapters: AdapterCost::FREE,
        };
        let chunks = [Chunk { kv_tokens: 0, tokens: 20 }];
        let prefill = Batch { chunks: &chunks, ..Batch::default() };
        let decode = Batch { decodes: 2, decode_kv_tokens: 40.0, ..Batch::default() };
        let mixed = Batch { chunks: &chunks, ..decode };
        assert_eq!(cost.stage_time(&prefill, true), StageTime::once(1_200.0));
        assert_eq!(
            cost.stage_time(&decode, true),
            StageTime { first_us: 630.0, growth_us: 1.0, valid_iterations: LONG }
        );
        assert_eq!(cost.stage_time(&mixed, true), StageTime::once(1_830.0));
    }
}
