//! Iteration times from what GPU and model must do: every operator takes its operations at the GPU's peak, its bytes at the
//! memory's bandwidth, or both, corrected by efficiencies fitted on measured operators.
//!
//! A roofline in the sense of Williams, Waterman and Patterson (CACM 2009), operator by operator as LLM-Viewer and GenZ have
//! it. Counted are projections, attention of prompts (causal) and of decoding requests, MLP or experts (the matrices that the
//! iteration's tokens touch), norms and other pointwise operators, all-reduces, sending on, embedding, head and sampling,
//! adapters, and the host.

mod collectives;
mod corrections;
mod iteration;
mod lora;

pub use corrections::{Corrections, Efficiency, product_work};
pub(crate) use iteration::LORA_WAIT;
pub use lora::LoraKernels;

use crate::batch::{
    Batch, BatchCost, DecodeUsage, LoraBatch, OperatorClass, OperatorTime, Peak, StageParts, StageTime, Work,
    decode_usage_of, mean_of_stages,
};
use crate::batch_stages::{BatchStages, StageConstants};
use crate::deployment::{Deployment, WeightFormat};
use collectives::NodeSums;
use iteration::Shard;

/// Iterations for which a time without bounds is taken to hold at once.
const LONG: f64 = (u32::MAX / 4) as f64;

/// Time of the host, in each stage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostTime {
    /// Added to each iteration, microseconds.
    pub base_us: f64,
    /// For each request in it.
    pub per_request_us: f64,
    /// Launching the kernels of a layer: an iteration takes at least this for each. 0 where graphs are replayed.
    pub launch_per_layer_us: f64,
}

impl HostTime {
    /// No time at all.
    pub const NONE: Self = Self { base_us: 0.0, per_request_us: 0.0, launch_per_layer_us: 0.0 };
}

/// The roofline of one deployment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Roofline {
    deployment: Deployment,
    corrections: Corrections,
    host: HostTime,
    /// Of layers that see the whole context, and of those with a window.
    shards: [Shard; 2],
    /// Peak of the layers' products, FLOP/s.
    product_flops_s: f64,
    /// Peak at 16 bits.
    wide_flops_s: f64,
    memory_bytes_s: f64,
    link_bytes_s: f64,
    /// Sums over the GPUs of a node, where they were measured; else the data sheet's link alone.
    node_sums: Option<NodeSums>,
    lora: LoraKernels,
    /// Whether GPUs of a node read each other's memory.
    has_peer_access: bool,
}

impl Roofline {
    /// The roofline of a deployment.
    pub fn new(deployment: Deployment, corrections: &Corrections, host: HostTime) -> Self {
        let gpu = deployment.gpu;
        let wide_flops_s = gpu.bf16_tflops.value * 1e12;
        let narrow = match deployment.weights {
            WeightFormat::Fp8 => gpu.fp8_tflops,
            WeightFormat::Nvfp4 => gpu.fp4_tflops,
            WeightFormat::Bf16 | WeightFormat::Int8 | WeightFormat::Int4 | WeightFormat::Mxfp4 => None,
        };
        Self {
            deployment,
            corrections: *corrections,
            host,
            shards: Shard::of(&deployment),
            product_flops_s: narrow.map_or(wide_flops_s, |fact| fact.value * 1e12),
            wide_flops_s,
            memory_bytes_s: gpu.bandwidth_gb_s.value * 1e9,
            link_bytes_s: gpu.link_gb_s.value * 1e9,
            node_sums: (!corrections.measured_on.is_empty())
                .then(|| NodeSums::of(&gpu, deployment.tensor_parallel)),
            lora: LoraKernels::Grouped { rank: None },
            has_peer_access: true,
        }
    }

    /// The same with GPUs that read each other's memory, or whose sums go through the memory of the host.
    #[must_use]
    pub fn with_peer_access(self, has_peer_access: bool) -> Self {
        Self { has_peer_access, ..self }
    }

    /// The same with sums over GPUs as they were profiled one by one in 2023, without CUDA graphs and vLLM's own kernels.
    #[must_use]
    pub fn with_profiled_sums(self) -> Self {
        Self { node_sums: None, ..self }
    }

    /// The same with these LoRA kernels.
    #[must_use]
    pub fn with_lora(self, lora: LoraKernels) -> Self {
        Self { lora, ..self }
    }

    /// Whether some layers do not read every KV token.
    fn reads_in_part(&self) -> bool {
        self.spans().any(|span| span.window.min(span.shard.most_read) < f64::INFINITY)
    }

    /// What all stages do.
    fn work_of_stages(&self, [inner, last]: [Work; 2]) -> Work {
        let others = f64::from(self.deployment.pipeline_parallel - 1);
        Work { flops: last.flops + others * inner.flops, bytes: last.bytes + others * inner.bytes }
    }

    /// What iterations of `decodes` requests ask of a GPU without KV tokens, and for each of those; `None` where some
    /// layers read no more than a window of them.
    pub(crate) fn decode_work(&self, decodes: u32) -> Option<[Work; 2]> {
        /// This many that their work is not lost beside the weights'.
        const MANY: f64 = 1_048_576.0;
        if self.reads_in_part() {
            return None;
        }
        let [none, many] = [0.0, MANY]
            .map(|decode_kv_tokens| self.work(&Batch { decodes, decode_kv_tokens, ..Batch::default() }));
        let (none, many) = none.zip(many)?;
        let each = |from: f64, to: f64| (to - from) / MANY;
        Some([none, Work { flops: each(none.flops, many.flops), bytes: each(none.bytes, many.bytes) }])
    }
}

impl BatchCost for Roofline {
    fn stages(&self) -> u32 {
        self.deployment.pipeline_parallel
    }

    fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime {
        let parts = self.times(batch)[usize::from(is_last)];
        let first_us: f64 = parts.iter().sum();
        if !batch.chunks.is_empty() || batch.decodes == 0 {
            return StageTime::once(first_us);
        }
        let (growth_us, valid_iterations) = self.growth(batch, is_last);
        let host = &self.host;
        let serial = host.base_us + host.per_request_us * f64::from(batch.decodes);
        let on_gpu = first_us - parts[OperatorClass::Host as usize];
        let slack = first_us - serial - on_gpu;
        // While the host has not launched what the GPU could run, growing changes nothing.
        let (growth_us, valid_iterations) = if slack > 0.0 {
            (
                0.0,
                if growth_us > 0.0 {
                    valid_iterations.min((slack / growth_us).floor() + 1.0)
                } else {
                    valid_iterations
                },
            )
        } else {
            (growth_us, valid_iterations)
        };
        StageTime { first_us, growth_us, valid_iterations: valid_iterations.clamp(1.0, LONG) as u32 }
    }

    fn batch_stages(&self, batch: &Batch<'_>, constants: &StageConstants) -> BatchStages {
        BatchStages::once(constants.with_adapters(self.times(batch).map(|parts| parts.iter().sum())))
    }

    fn stage_parts(&self, batch: &Batch<'_>) -> [StageParts; 2] {
        self.times(batch)
    }

    fn operators(&self, batch: &Batch<'_>, is_last: bool) -> Vec<OperatorTime> {
        self.stage_operators(batch, is_last)
    }

    fn usage(&self, batch: &Batch<'_>) -> (StageParts, Option<Work>) {
        let (parts, works) = self.times_and_works(batch);
        (mean_of_stages(parts, self.stages()), Some(self.work_of_stages(works)))
    }

    /// Layers with a window read no more than it; launches take as long as attention leaves them.
    fn decode_usage(&self, decodes: u32) -> Option<DecodeUsage> {
        if self.reads_in_part() || self.host.launch_per_layer_us > 0.0 {
            return None;
        }
        Some(DecodeUsage { work: self.decode_work(decodes), ..decode_usage_of(self, decodes) })
    }

    fn lora_usage(&self, lora: &LoraBatch) -> (f64, Work) {
        let (parts, works) = self.lora_parts_and_works(lora);
        (mean_of_stages(parts, self.stages())[OperatorClass::Adapters as usize], self.work_of_stages(works))
    }

    fn work(&self, batch: &Batch<'_>) -> Option<Work> {
        Some(self.work_of_stages(self.stage_works(batch)))
    }

    fn peak(&self) -> Option<Peak> {
        Some(Peak { flops: self.product_flops_s, bytes: self.memory_bytes_s })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Chunk;
    use crate::deployment::KvFormat;
    use crate::gpus::{GPU_IDS, GPUS, Gpu};
    use crate::models::{MODELS, Model};
    use proptest::prelude::*;

    fn deployment(gpu: &str, model: &str, tensor_parallel: u32) -> Deployment {
        Deployment {
            gpu: *Gpu::named(gpu).unwrap(),
            model: *Model::named(model).unwrap(),
            tensor_parallel,
            pipeline_parallel: 1,
            expert_layout: crate::ExpertLayout::ALONE,
            weights: WeightFormat::Bf16,
            quantized_head: false,
            kv: KvFormat::Bf16,
        }
    }

    #[test]
    fn operators_add_up_to_their_classes() {
        let chunks = [Chunk { kv_tokens: 64, tokens: 100 }];
        let lora = LoraBatch::of_one(16, 50);
        let mixed = Batch {
            chunks: &chunks,
            decodes: 8,
            decode_kv_tokens: 800.0,
            any_adapter: true,
            lora,
            ..Batch::default()
        };
        for (model, operator) in
            [("llama-3-8b", "qkv_projection"), ("deepseek-v3", "kv_down"), ("gpt-oss-120b", "experts_up")]
        {
            let pipeline = Deployment { pipeline_parallel: 2, ..deployment("h100_sxm", model, 2) };
            let cost = Roofline::new(pipeline, Corrections::of("h100_sxm"), HostTime::NONE);
            let names = crate::batch::assert_operators_add_up(&cost, &mixed);
            for name in
                [operator, "all_reduce", "attention_prefill", "attention_decode", "lora_expand", "head"]
            {
                assert!(names.contains(&name), "{name} in {names:?}");
            }
        }
    }

    fn datasheet(gpu: &str, model: &str) -> Roofline {
        Roofline::new(deployment(gpu, model, 1), &Corrections::NONE, HostTime::NONE)
    }

    /// A token that reads all weights takes their bytes over the bandwidth: 16.06 GB less the embedding, of which it reads
    /// one row.
    #[test]
    fn one_request_decodes_at_the_speed_of_memory() {
        let batch = Batch { decodes: 1, decode_kv_tokens: 1.0, ..Batch::default() };
        for (gpu, bandwidth) in [("h100_sxm", 3.35e12), ("a100_80_sxm", 2.039e12), ("l4", 0.3e12)] {
            let us = datasheet(gpu, "llama-3.1-8b").stage_time(&batch, true).first_us;
            let floor = (16.0605e9 - 1.0507e9) / bandwidth * 1e6;
            assert!(us > floor && us < 1.01 * floor, "{gpu}: {us} against {floor}");
        }
    }

    #[test]
    fn sums_without_peer_access_take_longer() {
        let batch = Batch { decodes: 8, decode_kv_tokens: 800.0, ..Batch::default() };
        let cost = |gpus| {
            let own = deployment("rtx4090", "llama-3.1-8b", gpus);
            Roofline::new(own, Corrections::of("rtx4090"), HostTime::NONE)
        };
        let us = |gpus, has_peer_access| {
            let parts = cost(gpus).with_peer_access(has_peer_access).stage_parts(&batch)[1];
            parts[OperatorClass::Communication as usize]
        };
        assert_eq!([us(1, true), us(1, false)], [0.0, 0.0]);
        // 8 rows of 4,096 numbers.
        let sum_us = cost(2).node_sums.unwrap().us(32_768.0);
        let longer_us = 13.2 + sum_us / 0.42 - sum_us;
        // Two sums of each layer, and the embedding's; the logits are gathered in the same time.
        assert!((us(2, false) - us(2, true) - 65.0 * longer_us).abs() < 1e-6);
    }

    #[test]
    fn a_long_prompt_takes_its_operations() {
        let chunks = [Chunk { kv_tokens: 0, tokens: 4096 }];
        let batch = Batch { chunks: &chunks, ..Batch::default() };
        let cost = datasheet("a100_80_sxm", "llama-2-7b");
        let us = cost.stage_time(&batch, true).first_us;
        // 2 x 6.48e9 parameters of layers x 4096 tokens, and half a square of attention in 32 layers.
        let flops = 2.0 * 6.476e9 * 4096.0 + 32.0 * 4.0 * 4096.0 * 4096.0 * 2048.0;
        let work = cost.work(&batch).unwrap();
        assert!((work.flops / flops - 1.0).abs() < 0.01, "{}", work.flops / flops);
        // What the kernels compute beyond that, and in how many chunks, changes nothing about what the model needs.
        let fitted = Roofline::new(cost.deployment, Corrections::of("a100_80_sxm"), HostTime::NONE);
        let halves = [0, 2048].map(|kv_tokens| [Chunk { kv_tokens, tokens: 2048 }]);
        let of_halves =
            halves.map(|chunks| fitted.work(&Batch { chunks: &chunks, ..Batch::default() }).unwrap().flops);
        // Each iteration with a prompt has a head of one row.
        assert!((of_halves.iter().sum::<f64>() / work.flops - 1.0).abs() < 1e-4, "{of_halves:?}");
        assert!(us > flops / 312e12 * 1e6 && us < 1.2 * flops / 312e12 * 1e6, "{us}");
    }

    #[test]
    fn few_tokens_of_a_mixture_read_few_experts() {
        let cost = datasheet("h100_sxm", "mixtral-8x7b");
        let bytes = |decodes| cost.work(&Batch { decodes, ..Batch::default() }).unwrap().bytes;
        assert!((bytes(1) / (2.0 * 12.75e9) - 1.0).abs() < 0.01, "{}", bytes(1));
        assert!((bytes(256) / (2.0 * 46.57e9) - 1.0).abs() < 0.05, "{}", bytes(256));
    }

    /// Requests that decode, each with one of this many adapters in turn.
    fn with_adapters(requests: u32, adapters: u32, rank: u32) -> Batch<'static> {
        Batch {
            decodes: requests,
            decode_kv_tokens: 400.0 * f64::from(requests),
            rank_sum: u64::from(requests * rank),
            any_adapter: adapters > 0,
            lora: LoraBatch {
                adapters,
                adapter_ranks: u64::from(adapters * rank),
                tokens: requests,
                token_ranks: u64::from(requests * rank),
            },
            ..Batch::default()
        }
    }

    #[test]
    fn an_iteration_grows_with_its_distinct_adapters() {
        for (gpu, model) in
            [("a100_80_sxm", "llama-2-7b"), ("h100_sxm", "llama-3.1-8b"), ("l4", "llama-3.1-8b")]
        {
            let cost = Roofline::new(deployment(gpu, model, 1), Corrections::of(gpu), HostTime::NONE);
            for rank in [8, 16, 64] {
                let us = |adapters| cost.stage_time(&with_adapters(32, adapters, rank), true).first_us;
                let [none, one, eight, all] = [0, 1, 8, 32].map(us);
                assert!(none < one && one < eight && eight < all, "{gpu}, rank {rank}");
                assert!(
                    one - none < 0.5 * (all - none),
                    "{gpu}, rank {rank}: {} of {}",
                    one - none,
                    all - none
                );
            }
        }
    }

    /// What the linear model says whose adapter terms were tuned on S-LoRA's published rows: 200 adapters of rank 8, and of
    /// ranks 64, 32, 16 and 8, on an A10G; 30 requests use 28 of them.
    #[test]
    fn lora_operators_meet_the_published_rows() {
        let corrections = Corrections::of("a10g");
        let cost = Roofline::new(deployment("a10g", "llama-2-7b", 1), corrections, HostTime::NONE);
        for mean_rank in [8, 30] {
            let batch =
                Batch { decodes: 30, rank_sum: 30 * mean_rank, ..with_adapters(30, 28, mean_rank as u32) };
            let linear_us = 500.0 + 3.0 * batch.rank_sum as f64;
            let us = cost.lora_us(&batch)[1];
            assert!((us / linear_us - 1.0).abs() < 0.02, "rank {mean_rank}: {us} against {linear_us}");
        }
    }

    #[test]
    fn kernels_that_pad_take_every_adapter_for_the_largest() {
        let cost = datasheet("h100_sxm", "llama-3.1-8b");
        let [small, large] = [8, 64].map(|rank| with_adapters(32, 16, rank));
        let slots = |slots| {
            cost.with_lora(LoraKernels::Slots { rank: 64, slots, are_older: false, captured_tokens: 512 })
        };
        let padded = slots(16);
        assert!(cost.lora_us(&small)[1] < 0.2 * cost.lora_us(&large)[1]);
        assert_eq!(padded.lora_us(&small), padded.lora_us(&large));
        // A slot that no request uses costs time, too.
        assert!(slots(64).lora_us(&small)[1] > padded.lora_us(&small)[1]);
    }

    /// Outside CUDA graphs the host launches LoRA kernels one by one: 8 a layer, before vLLM 0.8 a shrink and an expand for each of
    /// seven slices, and those of the model.
    #[test]
    fn prompts_with_adapters_wait_for_launches_where_no_graph_covers_them() {
        let cost = datasheet("h100_sxm", "llama-3.1-8b");
        let us = |are_older, captured_tokens, tokens: u32, with_adapter: bool| {
            let slots = LoraKernels::Slots { rank: 16, slots: 4, are_older, captured_tokens };
            let chunks = [Chunk { kv_tokens: 0, tokens }];
            let lora = if with_adapter { LoraBatch::of_one(16, tokens) } else { LoraBatch::default() };
            let batch = Batch { chunks: &chunks, any_adapter: with_adapter, lora, ..Batch::default() };
            crate::batch::assert_operators_add_up(&cost.with_lora(slots), &batch);
            cost.with_lora(slots).stage_time(&batch, true).first_us
        };
        // All launches of a prompt whose kernels take less.
        assert!((us(true, 512, 64, true) - 32.0 * (14.0 * 110.0 + 781.25)).abs() < 1e-6);
        assert!((us(false, 32, 128, true) - 32.0 * (8.0 * 110.0 + 312.5)).abs() < 1e-6);
        // In a graph only what the GPU takes; without an adapter none.
        assert!(us(false, 128, 128, true) < 12_000.0 && us(false, 32, 128, false) < 12_000.0);
        // Behind a long prompt launches do not show.
        assert!(us(false, 512, 8192, true) - us(false, 8192, 8192, true) == 0.0);
    }

    /// An adapter of rank 8 of Llama-3.1-8B has 8 x 32 x 26,624 parameters: one is read once for 32 requests, 32 are read
    /// one by one.
    #[test]
    fn the_weights_of_an_adapter_are_read_once() {
        let cost = datasheet("h100_sxm", "llama-3.1-8b");
        let bytes = |adapters| cost.work(&with_adapters(32, adapters, 8)).unwrap().bytes;
        let each = 2.0 * 8.0 * 32.0 * 26_624.0;
        assert!((bytes(32) - bytes(1) - 31.0 * each).abs() < 1.0, "{}", bytes(32) - bytes(1));
    }

    fn costs() -> impl Strategy<Value = Roofline> {
        let formats = (0..4usize, any::<bool>(), any::<bool>());
        let host = (0.0..500f64, 0.0..20f64, prop_oneof![Just(0.0), 0.0..800f64]);
        (0..GPUS.len(), 0..MODELS.len(), 0..5u32, 1..9u32, formats, host).prop_map(
            |(gpu, model, tensor, pipeline_parallel, (weights, kv, fitted), host)| {
                let gpu = GPU_IDS[gpu];
                let deployment = Deployment {
                    pipeline_parallel,
                    weights: WeightFormat::ALL[weights],
                    kv: if kv { KvFormat::Fp8 } else { KvFormat::Bf16 },
                    ..deployment(gpu, MODELS[model].id, 1 << tensor)
                };
                let corrections = if fitted { Corrections::of(gpu) } else { &Corrections::NONE };
                let (base_us, per_request_us, launch_per_layer_us) = host;
                Roofline::new(
                    deployment,
                    corrections,
                    HostTime { base_us, per_request_us, launch_per_layer_us },
                )
            },
        )
    }

    fn chunks() -> impl Strategy<Value = Vec<Chunk>> {
        let chunk = (0..20_000u32, 1..5_000u32).prop_map(|(kv_tokens, tokens)| Chunk { kv_tokens, tokens });
        prop::collection::vec(chunk, 0..4)
    }

    proptest! {
        #[test]
        fn leaps_are_exact(cost in costs(), decodes in 1..300u32, mean in 0..4_000u32, more in 0..300u32, last: bool) {
            let kv = f64::from(decodes) * f64::from(mean) + f64::from(more);
            let batch = Batch { decodes, decode_kv_tokens: kv, ..Batch::default() };
            let time = cost.stage_time(&batch, last);
            prop_assert!(time.valid_iterations >= 1 && time.growth_us >= 0.0);
            for j in [0, 1, 2, 7, 100, 5_000, time.valid_iterations - 1] {
                if j < time.valid_iterations.min(1_000_000) {
                    let kv = kv + f64::from(j) * f64::from(decodes);
                    let single = cost.stage_time(&Batch { decode_kv_tokens: kv, ..batch }, last).first_us;
                    let leapt = time.first_us + f64::from(j) * time.growth_us;
                    prop_assert!((single - leapt).abs() <= 1e-9 * single, "iteration {j}: {single} and {leapt}");
                }
            }
        }

        #[test]
        fn parts_add_up_and_are_times(
            cost in costs(), chunks in chunks(), decodes in 0..300u32, mean in 0..9_000u32, ranks in 0..500u64, last: bool,
        ) {
            let batch = Batch {
                chunks: &chunks,
                decodes,
                decode_kv_tokens: f64::from(mean) * f64::from(decodes),
                rank_sum: ranks,
                any_adapter: ranks > 0,
                lora: LoraBatch {
                    adapters: ranks.min(9) as u32,
                    adapter_ranks: ranks,
                    tokens: ranks.min(77) as u32,
                    token_ranks: 3 * ranks,
                },
                ..Batch::default()
            };
            let parts = cost.stage_parts(&batch)[usize::from(last)];
            prop_assert!(parts.iter().all(|us| us.is_finite() && *us >= 0.0));
            prop_assert_eq!(parts.iter().sum::<f64>(), cost.stage_time(&batch, last).first_us);
            let work = cost.work(&batch).unwrap();
            prop_assert!(work.flops.is_finite() && work.bytes.is_finite() && work.flops >= 0.0);
        }

        #[test]
        fn more_tokens_never_take_less_time(
            cost in costs(), mut chunks in chunks(), decodes in 0..300u32, mean in 0..9_000u32, which in 0..5, last: bool,
        ) {
            let fewer = chunks.clone();
            let mut batch =
                Batch { decodes, decode_kv_tokens: f64::from(mean) * f64::from(decodes), ..Batch::default() };
            let less = cost.stage_time(&Batch { chunks: &fewer, ..batch }, last).first_us;
            match (which, chunks.first_mut()) {
                (0, Some(chunk)) => chunk.tokens += 1,
                (1, Some(chunk)) => chunk.kv_tokens += 100,
                (2, _) => chunks.push(Chunk { kv_tokens: 0, tokens: 1 }),
                (3, _) => batch.decodes += 1,
                _ => batch.decode_kv_tokens += 1.0,
            }
            let more = cost.stage_time(&Batch { chunks: &chunks, ..batch }, last).first_us;
            prop_assert!(more >= less * (1.0 - 1e-12), "{less} to {more}");
        }
    }
}
