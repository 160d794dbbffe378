//! One iteration of a replica as the sum of its kernels.

use super::assembly::Assembly;
use super::base::Peaks;
use super::curves::{DecodeTable, LONG, TokenCurve};
use super::import::pairs;
use super::layout::{AttentionKernels, ExpertKernels, Layout, MissingTable, Product, Sum};
use super::{Grid, Kernels, NumberFormat};
use crate::batch::{
    Batch, BatchCost, Chunk, DecodeUsage, OperatorClass, OperatorSum, OperatorTime, Peak, StageParts,
    StageTime, decode_usage_of,
};
use crate::batch_stages::{BatchStages, StageConstants};
use crate::deployment::Deployment;
use crate::expert_balance::ExpertBalance;
use crate::expert_layout::all_to_all_us;
use crate::launches::{self, CAPTURED_TOKENS};
use crate::nodes;
use crate::roofline::Corrections;

/// Bytes of an activation.
const ACTIVATION: f64 = 2.0;
/// Share of the bandwidth that pointwise kernels reach.
const POINTWISE_SHARE: f64 = 0.8;
/// Models that normalise queries and keys over all heads: the GPUs that share these add up the squares of each, a number of 32
/// bits a token.
const JOINT_NORM: [&str; 1] = ["minimax-m2.5"];

/// What surrounds kernels: calibrated on measured deployments, not timed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overheads {
    /// Pointwise kernels and gaps of a layer beside their bytes, microseconds.
    pub layer_us: f64,
    /// The same of a layer with experts, in place of it: routing and what surrounds the experts.
    pub expert_layer_us: f64,
    /// Experts among prompts over experts timed alone, by their format in the order of [`NumberFormat::ALL`].
    pub expert_factors: [f64; NumberFormat::ALL.len()],
    /// Host time of an iteration that nothing hides.
    pub iteration_us: f64,
    /// For each request in it.
    pub request_us: f64,
    /// Launching the kernels of a layer one by one, in an iteration with prompts that no CUDA graph covers. Launches run ahead of
    /// the GPU, so that such an iteration takes at least this long, and no longer where the GPU is busy anyway.
    pub eager_layer_us: f64,
    /// The same of a layer with experts, which has more of them.
    pub eager_expert_layer_us: f64,
    /// Kernels in a real iteration over kernels timed alone, iterations that only decode.
    pub decode_factor: f64,
    /// The same for iterations with prompts.
    pub prompt_factor: f64,
    /// Attention of requests that decode beside prompts over that timed alone.
    pub mixed_decode_factor: f64,
    /// Added to each collective: GPUs wait for the last one.
    pub collective_us: f64,
    /// Whether a request of whose prompt one token is left, behind others in memory, runs as those that decode, in their CUDA graph too
    /// (vllm/v1/attention/backends/utils.py, `split_decodes_and_prefills`).
    pub one_token_decodes: bool,
}

impl Overheads {
    /// Nothing but kernels.
    pub const NONE: Self = Self {
        layer_us: 0.0,
        expert_layer_us: 0.0,
        expert_factors: [1.0; NumberFormat::ALL.len()],
        iteration_us: 0.0,
        request_us: 0.0,
        eager_layer_us: 0.0,
        eager_expert_layer_us: 0.0,
        decode_factor: 1.0,
        prompt_factor: 1.0,
        mixed_decode_factor: 1.0,
        collective_us: 0.0,
        one_token_decodes: true,
    };
}

/// Iteration times of a layout from measured kernels.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelCost {
    layout: Layout,
    overheads: Overheads,
    /// The largest iteration that a CUDA graph is captured of, tokens.
    captured_tokens: u32,
    peaks: Peaks,
    attention: AttentionKernels,
    /// Both products of a dense MLP, and how many layers have one.
    mlp: Option<(f64, [Product; 2])>,
    experts: Option<ExpertKernels>,
    head: Product,
    all_reduce: Option<Sum>,
    /// Gathering and scattering what attention's replicas send to the experts.
    dispatch: Option<[TokenCurve; 2]>,
    /// The deployment, where it has several stages.
    stages: Option<Deployment>,
    borrowed: Vec<String>,
    /// Tokens that load the most loaded GPU as one does now, where experts lie by their loads.
    balanced: f64,
}

impl KernelCost {
    /// Puts the kernels of a layout together.
    ///
    /// # Errors
    /// Names the table that is missing and that no other stands in for.
    pub fn new(layout: Layout, kernels: &Kernels, overheads: Overheads) -> Result<Self, MissingTable> {
        let mut assembly = Assembly { kernels, peaks: Peaks::of(&layout.gpu), borrowed: Vec::new() };
        let model = &layout.model;
        let (h, tensor) = (f64::from(model.hidden), f64::from(layout.tensor_parallel.max(1)));
        let dense = f64::from(model.layers - model.expert_layers());
        let inner = f64::from(model.mlp_hidden) / tensor;
        let matrices = model.mlp_matrices() - 1.0;
        let mlp = if dense > 0.0 {
            let products =
                [assembly.product(layout.mlp, matrices * inner, h)?, assembly.product(layout.mlp, h, inner)?];
            Some((dense, products))
        } else {
            None
        };
        let dp = layout.attention_data_parallel;
        let dispatch = assembly.collective("all_gather", dp)?.zip(assembly.collective("reduce_scatter", dp)?);
        Ok(Self {
            attention: assembly.grouped(&layout)?,
            experts: assembly.expert_kernels(&layout)?,
            head: assembly.product(NumberFormat::Bf16, f64::from(model.vocabulary) / tensor, h)?,
            all_reduce: assembly.all_reduce(&layout)?,
            dispatch: dispatch.map(|(gather, scatter)| [gather, scatter]),
            mlp,
            peaks: assembly.peaks,
            borrowed: assembly.borrowed,
            balanced: 1.0,
            stages: None,
            layout,
            overheads,
            captured_tokens: CAPTURED_TOKENS,
        })
    }

    /// The same with experts that are rearranged by their loads.
    #[must_use]
    pub fn balancing(self, balance: ExpertBalance) -> Self {
        Self { balanced: balance.ratio(), ..self }
    }

    /// The same with CUDA graphs of iterations of up to this many tokens (vLLM's `--max-cudagraph-capture-size`).
    #[must_use]
    pub fn capturing(mut self, tokens: u32) -> Self {
        self.captured_tokens = tokens;
        self
    }

    /// How long the GPU waits in an iteration with prompts whose kernels take this many microseconds, where the host launches
    /// those of this share of the layers one by one.
    fn launch_wait_us(&self, kernels_us: f64, tokens: f64, share: f64) -> f64 {
        let (o, model) = (&self.overheads, &self.layout.model);
        let (all, with_experts) = (f64::from(model.layers), f64::from(model.expert_layers()));
        let launches_us = (all - with_experts) * o.eager_layer_us + with_experts * o.eager_expert_layer_us;
        launches::wait_us(kernels_us, share * launches_us, tokens, self.captured_tokens)
    }

    /// The same in the pipeline stages of a deployment: each has its share of the layers, the last one embedding and head, and
    /// the others send on what they have computed, in the time that the roofline gives, as no table has it. The host schedules
    /// an iteration once, for all stages.
    #[must_use]
    pub fn in_stages(mut self, deployment: &Deployment) -> Self {
        if deployment.pipeline_parallel > 1 {
            self.borrowed.push(format!("send_recv:{}", deployment.pipeline_parallel));
            self.stages = Some(*deployment);
        }
        self
    }

    /// Which share of the layers a stage before the last has, and the last one.
    fn shares(&self) -> [f64; 2] {
        let layers = f64::from(self.layout.model.layers);
        [false, true].map(|is_last| {
            self.stages.as_ref().map_or(1.0, |deployment| deployment.stage_layers(is_last) / layers)
        })
    }

    /// The tables that were not measured for this layout, by their names: others stand in, interpolated, or of a related shape
    /// or format.
    pub fn borrowed(&self) -> &[String] {
        &self.borrowed
    }

    /// Whether products were not measured in a format that they have.
    pub fn has_borrowed_format(&self) -> bool {
        self.borrowed
            .iter()
            .any(|name| NumberFormat::ALL.iter().any(|f| *name == format!("gemm:{}", f.name())))
    }

    /// Microseconds of a product. CUDA graphs are of multiples of 4; of iterations without one, three in four have tokens that are
    /// copied first, and the fourth is taken like them, so that a token more never takes less.
    fn product_us(&self, product: &Product, tokens: f64) -> f64 {
        let base_us = self.peaks.product_us(product.format, tokens, product.outputs, product.inputs);
        let us = product.curve.us(tokens, base_us);
        match &product.ragged {
            Some(ragged) if tokens > f64::from(self.captured_tokens) => {
                us.max(ragged.us_before(&product.curve, tokens, base_us))
            }
            _ => us,
        }
    }

    fn collective_us(&self, curve: &TokenCurve, values: f64) -> f64 {
        curve.us(values, self.peaks.collective_us(values)) + self.overheads.collective_us
    }

    /// Attention of prompts in a layer: the efficiency measured for as many prompts of the mean length, times the work of
    /// these chunks.
    fn prefill_us(grid: &Grid, batch: &Batch<'_>, base: impl Fn(f64, f64, f64) -> f64, window: f64) -> f64 {
        let (mut met, mut queries, mut kv) = (0.0, 0.0, 0.0);
        for chunk in batch.chunks {
            let (before, tokens) = (f64::from(chunk.kv_tokens), f64::from(chunk.tokens));
            met += pairs(before, tokens, window);
            queries += tokens;
            kv += (before + tokens).min(window + tokens);
        }
        let count = batch.chunks.len() as f64;
        base(met, queries, kv) * libm::exp(grid.at(&[count, kv / count]))
    }

    fn attention(&self, sum: &mut OperatorSum, batch: &Batch<'_>, tokens: f64) {
        let requests = f64::from(batch.decodes);
        let beside = if batch.chunks.is_empty() { 1.0 } else { self.overheads.mixed_decode_factor };
        match &self.attention {
            AttentionKernels::Grouped { projections, spans } => {
                let layers = f64::from(self.layout.model.layers);
                let products: f64 = projections.iter().map(|product| self.product_us(product, tokens)).sum();
                let all = [2.0 * layers, tokens, layers * products];
                sum.add(OperatorClass::Linear, all, "attention_projections");
                for span in spans {
                    if !batch.chunks.is_empty() {
                        let base = |met, queries, kv| self.peaks.prefill_us(&span.heads, met, queries, kv);
                        let us = Self::prefill_us(&span.prefill, batch, base, span.heads.window);
                        let all = [span.layers, batch.prompt_tokens().into(), span.layers * us];
                        sum.add(OperatorClass::PrefillAttention, all, "attention_prefill");
                    }
                    if batch.decodes > 0 {
                        let base = |met, queries, kv| self.peaks.prefill_us(&span.heads, met, queries, kv);
                        let timed_us = span.decode.at(requests, batch.decode_kv_tokens / requests).0;
                        let us = beside * verified_us(batch, timed_us, span.heads.window, base);
                        let all = [span.layers, requests, span.layers * us];
                        sum.add(OperatorClass::DecodeAttention, all, "attention_decode");
                    }
                }
            }
            AttentionKernels::Latent { heads, kv_bytes, prefill, decode } => {
                let layers = f64::from(self.layout.model.layers);
                if !batch.chunks.is_empty() {
                    let base = |met, queries, kv| self.peaks.latent_us(*heads, queries, met, kv, *kv_bytes);
                    let us = Self::prefill_us(prefill, batch, base, f64::INFINITY);
                    let all = [layers, batch.prompt_tokens().into(), layers * us];
                    sum.add(OperatorClass::PrefillAttention, all, "latent_attention_prefill");
                }
                if batch.decodes > 0 {
                    let base = |met, queries, kv| self.peaks.latent_us(*heads, queries, met, kv, *kv_bytes);
                    let timed_us = decode.at(requests, batch.decode_kv_tokens / requests).0;
                    let us = beside * verified_us(batch, timed_us, f64::INFINITY, base);
                    let all = [layers, requests, layers * us];
                    sum.add(OperatorClass::DecodeAttention, all, "latent_attention_decode");
                }
            }
        }
    }

    /// By how much an iteration of decoding requests grows from one to the next, and for how many that holds.
    fn growth(&self, batch: &Batch<'_>) -> (f64, f64) {
        let requests = f64::from(batch.decodes);
        let at = |decode: &DecodeTable| decode.at(requests, batch.decode_kv_tokens / requests);
        let each: Vec<(f64, f64)> = match &self.attention {
            AttentionKernels::Grouped { spans, .. } => spans
                .iter()
                .map(|span| {
                    let (_, growth, valid_iterations) = at(&span.decode);
                    (span.layers * growth, valid_iterations)
                })
                .collect(),
            AttentionKernels::Latent { decode, .. } => {
                let (_, growth, valid_iterations) = at(decode);
                vec![(f64::from(self.layout.model.layers) * growth, valid_iterations)]
            }
        };
        each.iter().fold((0.0, LONG), |(us, least), (growth, valid_iterations)| {
            (us + growth, least.min(*valid_iterations))
        })
    }

    fn mlp(&self, sum: &mut OperatorSum, batch: &Batch<'_>, tokens: f64) {
        let has_prompts = !batch.chunks.is_empty();
        if let Some((layers, [up, down])) = &self.mlp {
            let us = layers * (self.product_us(up, tokens) + self.product_us(down, tokens));
            sum.add(OperatorClass::Linear, [2.0 * layers, tokens, us], "mlp");
        }
        if let Some(e) = &self.experts {
            let ranks = self.layout.attention_data_parallel;
            let all = batch.rank_rows.of_ranks(tokens, ranks, self.captured_tokens);
            // What was timed are loads by a power law, on the GPU that has most.
            let loaded = if batch.rank_rows.are_balanced { all * self.balanced } else { all };
            let routed = e.curve.us(loaded, self.peaks.experts_us(e.format, &e.shape, loaded));
            let routed =
                if has_prompts { routed * self.overheads.expert_factors[e.format as usize] } else { routed };
            let shared =
                e.shared.iter().flatten().map(|product| self.product_us(product, tokens)).sum::<f64>();
            let us = e.layers * (self.product_us(&e.router, tokens) + routed + shared);
            sum.add(OperatorClass::Linear, [e.layers, all, us], "experts");
            if let Some(dispatch) = &self.dispatch {
                let (us, name) = self.dispatch_us(dispatch, e, all);
                sum.add(OperatorClass::Communication, [e.layers, all, e.layers * us], name);
            }
        }
    }

    /// How long the tokens of all ranks take to their experts and back, and what that is called.
    fn dispatch_us(
        &self,
        dispatch: &[TokenCurve; 2],
        experts: &ExpertKernels,
        all: f64,
    ) -> (f64, &'static str) {
        let layout = &self.layout;
        let of_rank = all / f64::from(layout.attention_data_parallel.max(1));
        let sent = (of_rank, f64::from(layout.model.hidden), experts.shape.per_token);
        if let Some(us) = all_to_all_us(&layout.gpu, layout.all_to_all, sent) {
            return (us, "dispatch_and_combine");
        }
        let values = all * f64::from(layout.model.hidden);
        let us = dispatch.iter().map(|curve| self.collective_us(curve, values)).sum();
        (us, "all_gather_and_reduce_scatter")
    }

    /// What is not in proportion to the layers of a stage.
    fn rest(&self, sums: &mut [OperatorSum; 2], batch: &Batch<'_>, tokens: f64) {
        let (model, o) = (&self.layout.model, &self.overheads);
        let (h, shares) = (f64::from(model.hidden), self.shares());
        let layers = shares.map(|share| share * f64::from(model.layers));
        let tensor = f64::from(self.layout.tensor_parallel);
        // Two norms with their residual sums, rotary embedding, activation.
        let inner = f64::from(model.mlp_hidden) / tensor;
        let bytes = ACTIVATION * tokens * (8.0 * h + 4.0 * h / tensor + 3.0 * inner);
        let bytes_us = POINTWISE_SHARE * self.peaks.bytes_us();
        for ((sum, layers), share) in sums.iter_mut().zip(layers).zip(shares) {
            let with_experts = share * f64::from(model.expert_layers());
            let fixed = (layers - with_experts) * o.layer_us + with_experts * o.expert_layer_us;
            let us = fixed + layers * bytes / bytes_us;
            sum.add(OperatorClass::Pointwise, [layers, tokens, us], "pointwise");
        }
        if let Some(reduce) = &self.all_reduce {
            self.all_reduces(sums, reduce, layers, tokens);
        }
        let asked = f64::from(batch.logit_rows());
        let last = &mut sums[1];
        last.add(OperatorClass::Linear, [1.0, asked, self.product_us(&self.head, asked)], "head");
        // The logits at 32 bits: softmax and a draw pass over them three times.
        let us = 12.0 * asked * f64::from(model.vocabulary) / bytes_us;
        last.add(OperatorClass::Pointwise, [1.0, asked, us], "sampling");
    }

    /// Sums over the GPUs that share a layer.
    fn all_reduces(&self, sums: &mut [OperatorSum; 2], reduce: &Sum, layers: [f64; 2], tokens: f64) {
        let (model, gpus) = (&self.layout.model, self.layout.tensor_parallel);
        let sum_us = |values: f64| {
            let beyond_us = nodes::all_reduce_us(&self.layout.gpu, gpus, ACTIVATION * values);
            let us = self.collective_us(&reduce.curve, values);
            (if reduce.is_staged { nodes::staged_us(us) } else { us }) + beyond_us
        };
        let us = sum_us(tokens * f64::from(model.hidden));
        let norms_us = JOINT_NORM.contains(&model.id).then(|| sum_us(2.0 * tokens));
        // Where attention's replicas send tokens to the experts, the second one is that.
        let times = if self.dispatch.is_some() { 1.0 } else { 2.0 };
        for ((sum, layers), embedding) in sums.iter_mut().zip(layers).zip([0.0, 1.0]) {
            if let Some(norms_us) = norms_us {
                let all = [2.0 * layers, tokens, 2.0 * layers * norms_us];
                sum.add(OperatorClass::Communication, all, "all_reduce_of_norms");
            }
            let calls = times * layers + embedding;
            sum.add(OperatorClass::Communication, [calls, tokens, calls * us], "all_reduce");
        }
    }

    /// What an iteration costs a stage before the last, and the last one. The kernels of a layer are asked for once.
    fn stage_sums(&self, batch: &Batch<'_>, mut layers: OperatorSum) -> [OperatorSum; 2] {
        if self.overheads.one_token_decodes && batch.chunks.iter().copied().any(is_last_token) {
            let chunks: Vec<Chunk> =
                batch.chunks.iter().copied().filter(|chunk| !is_last_token(*chunk)).collect();
            return self.stage_sums(&with_short_chunks_decoding(batch, &chunks), layers);
        }
        let tokens = f64::from(batch.rows());
        if tokens == 0.0 {
            return [layers.clone(), layers];
        }
        self.attention(&mut layers, batch, tokens);
        self.mlp(&mut layers, batch, tokens);
        let mut sums = [layers.clone(), layers];
        let shares = self.shares();
        for (sum, share) in sums.iter_mut().zip(shares) {
            sum.scale(share, share);
        }
        self.rest(&mut sums, batch, tokens);
        let (o, has_prompts) = (&self.overheads, !batch.chunks.is_empty());
        let scheduling = o.iteration_us + o.request_us * f64::from(batch.requests());
        for ((sum, share), scheduling) in sums.iter_mut().zip(shares).zip([0.0, scheduling]) {
            sum.scale(1.0, if has_prompts { o.prompt_factor } else { o.decode_factor });
            let kernels_us = sum.parts.iter().sum();
            let wait_us = if has_prompts { self.launch_wait_us(kernels_us, tokens, share) } else { 0.0 };
            sum.add(OperatorClass::Host, [1.0, tokens, scheduling + wait_us], "host");
        }
        if let Some(deployment) = &self.stages {
            let bytes = ACTIVATION * tokens * f64::from(self.layout.model.hidden);
            let send = Corrections::of(deployment.gpu.id);
            let all = [1.0, tokens, send.send_us(deployment, bytes)];
            sums[0].add(OperatorClass::Communication, all, "send_recv");
        }
        sums
    }
}

/// Whether one token of a prompt is left behind others in memory.
fn is_last_token(chunk: Chunk) -> bool {
    chunk.tokens == 1 && chunk.kv_tokens > 0
}

/// A batch of which `chunks` are the longer ones: the last tokens of prompts decode.
fn with_short_chunks_decoding<'a>(batch: &Batch<'_>, chunks: &'a [Chunk]) -> Batch<'a> {
    let short = batch.chunks.iter().filter(|chunk| is_last_token(**chunk));
    let kv_tokens: f64 = short.map(|chunk| f64::from(chunk.kv_tokens) + 1.0).sum();
    let decodes = batch.decodes + (batch.chunks.len() - chunks.len()) as u32;
    Batch { chunks, decodes, decode_kv_tokens: batch.decode_kv_tokens + kv_tokens, ..*batch }
}

/// Attention of requests that decode in a layer, of which `timed_us` was measured for one query each: the KV tokens are read once for
/// all drafts of a request, unless their products take longer than that. `base`: query and KV tokens that meet, queries, KV tokens.
fn verified_us(batch: &Batch<'_>, timed_us: f64, window: f64, base: impl Fn(f64, f64, f64) -> f64) -> f64 {
    if batch.drafts == 0 {
        return timed_us;
    }
    let requests = f64::from(batch.decodes);
    let queries = f64::from(batch.decodes + batch.drafts);
    let read = batch.decode_kv_tokens.min(requests * window);
    timed_us.max(base(read * queries / requests, queries, read))
}

impl BatchCost for KernelCost {
    fn stages(&self) -> u32 {
        self.stages.as_ref().map_or(1, |deployment| deployment.pipeline_parallel)
    }

    fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime {
        let stage = usize::from(is_last);
        let first_us = self.stage_parts(batch)[stage].iter().sum();
        if !batch.chunks.is_empty() || batch.decodes == 0 {
            return StageTime::once(first_us);
        }
        let (growth, valid_iterations) = self.growth(batch);
        StageTime {
            first_us,
            growth_us: growth * self.shares()[stage] * self.overheads.decode_factor,
            valid_iterations: valid_iterations.clamp(1.0, LONG) as u32,
        }
    }

    fn batch_stages(&self, batch: &Batch<'_>, constants: &StageConstants) -> BatchStages {
        let us = self.stage_parts(batch).map(|parts| parts.iter().sum());
        BatchStages::once(constants.with_adapters(us))
    }

    fn stage_parts(&self, batch: &Batch<'_>) -> [StageParts; 2] {
        self.stage_sums(batch, OperatorSum::default()).map(|sum| sum.parts)
    }

    fn operators(&self, batch: &Batch<'_>, is_last: bool) -> Vec<OperatorTime> {
        let [inner, last] = self.stage_sums(batch, OperatorSum::by_operator());
        (if is_last { last } else { inner }).into_operators(batch)
    }

    /// The peak of the fastest format that its products have.
    fn peak(&self) -> Option<Peak> {
        let layout = &self.layout;
        let formats = [layout.attention, layout.mlp, layout.experts];
        let used = if layout.model.experts.is_some() { &formats[..] } else { &formats[..2] };
        let flops_us = used.iter().map(|format| self.peaks.peak_flops_us(*format)).fold(0.0, f64::max);
        Some(Peak { flops: flops_us * 1e6, bytes: self.peaks.bytes_us() * 1e6 })
    }

    fn decode_usage(&self, decodes: u32) -> Option<DecodeUsage> {
        Some(decode_usage_of(self, decodes))
    }
}
