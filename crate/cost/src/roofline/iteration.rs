//! One iteration of one stage, operator by operator.

use super::corrections::{Efficiency, product_work};
use super::lora::{launch_layer_us, slots_us};
use super::{LoraKernels, Roofline};
use crate::batch::{Batch, LoraBatch, OperatorClass, OperatorSum, OperatorTime, StageParts, Work};
use crate::deployment::Deployment;
use crate::expert_layout::all_to_all_us;
use crate::launches::{self, CAPTURED_TOKENS};
use crate::models::{Attention, Model};
use crate::nodes;

/// Bytes of an activation.
const ACTIVATION: f64 = 2.0;
/// Passes over the logits of a request that sample its token: largest, sum of exponentials, draw; 32 bits.
const SAMPLING_BYTES: f64 = 3.0 * 4.0;

/// The operators whose times are asked for, not only their work.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Timed {
    All,
    Adapters,
    None,
}

/// The operator that stands for waiting until the kernels of an iteration with adapters are launched.
pub(crate) const LORA_WAIT: &str = "lora_launches";

/// How often an operator runs on a stage before the last, and on the last one.
type Calls = [f64; 2];

/// Once, on stages before the last.
const BEFORE_LAST: Calls = [1.0, 0.0];
/// Once, on the last stage.
const ON_LAST: Calls = [0.0, 1.0];

/// What an iteration costs so far: a stage before the last, and the last one. What an operator costs is computed once for both.
#[derive(Debug)]
struct CostAccumulator {
    timed: Timed,
    sums: [OperatorSum; 2],
    works: [Work; 2],
    /// What each call works on.
    tokens: f64,
}

impl CostAccumulator {
    fn new(timed: Timed) -> Self {
        Self { timed, sums: Default::default(), works: Default::default(), tokens: 0.0 }
    }

    fn by_operator() -> Self {
        Self { sums: [(); 2].map(|()| OperatorSum::by_operator()), ..Self::new(Timed::All) }
    }

    fn parts(&self) -> [StageParts; 2] {
        [self.sums[0].parts, self.sums[1].parts]
    }

    /// Adds an operator that takes this long each time.
    fn add_us(&mut self, class: OperatorClass, calls: Calls, us: f64, name: &'static str) {
        for (sum, calls) in self.sums.iter_mut().zip(calls) {
            sum.add(class, [calls, self.tokens, calls * us], name);
        }
    }

    /// Adds one that does this much each time.
    fn add_work(&mut self, calls: Calls, (flops, bytes): (f64, f64)) {
        for (work, calls) in self.works.iter_mut().zip(calls) {
            work.flops += calls * flops;
            work.bytes += calls * bytes;
        }
    }
}

/// What one GPU holds of a layer's attention.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shard {
    /// Inputs and outputs of the projections before attention.
    before: [(f64, f64); 4],
    /// What these are called.
    names: [&'static str; 4],
    /// And of the one behind it.
    after: (f64, f64),
    /// Values that are rotated for each token.
    rotated: f64,
    /// Heads of keys.
    key_heads: f64,
    /// Values that are kept and read for each KV token.
    pub(super) kv_values: f64,
    /// Operations of a query with a KV token, while prompts are read and while one token is decoded.
    prefill_flops: f64,
    decode_flops: f64,
    /// Operations of a query with a KV token in the indexer of sparse attention, and how many tokens attention reads then.
    index_flops: f64,
    pub(super) most_read: f64,
}

impl Shard {
    /// Those of the layers that see the whole context and of those with a window: the part of the GPU that has most.
    pub(super) fn of(deployment: &Deployment) -> [Self; 2] {
        let full = deployment.model.attention;
        let windowed = deployment.model.window.map_or(full, |window| window.attention(&full));
        [Self::of_attention(deployment, &full), Self::of_attention(deployment, &windowed)]
    }

    fn of_attention(deployment: &Deployment, attention: &Attention) -> Self {
        let (model, tensor) = (&deployment.model, deployment.tensor_parallel);
        let kv_values = deployment.kv_values(attention);
        let h = f64::from(model.hidden);
        let of_heads = |heads: u32| f64::from(heads.div_ceil(tensor.max(1)));
        match *attention {
            Attention::Grouped { heads, kv_heads, head_dim, gated } => {
                let (dim, queries, keys) = (f64::from(head_dim), of_heads(heads), of_heads(kv_heads));
                let flops = 4.0 * queries * dim;
                let projected = if gated { 2.0 * queries } else { queries } + 2.0 * keys;
                Self {
                    before: [(h, projected * dim), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)],
                    names: ["qkv_projection", "", "", ""],
                    after: (queries * dim, h),
                    rotated: (queries + keys) * dim,
                    key_heads: keys,
                    kv_values,
                    prefill_flops: flops,
                    decode_flops: flops,
                    index_flops: 0.0,
                    most_read: f64::INFINITY,
                }
            }
            // Keys and values of all heads come from one vector, which every GPU keeps. Decoding works on it as it is.
            Attention::Latent { heads, query_rank, kv_rank, rope_dim, nope_dim, value_dim, indexer } => {
                let [q, c, r, k, v] = [query_rank, kv_rank, rope_dim, nope_dim, value_dim].map(f64::from);
                let n = of_heads(heads);
                let (down, up) =
                    if query_rank > 0 { ((h, q), (q, n * (k + r))) } else { ((0.0, 0.0), (h, n * (k + r))) };
                Self {
                    before: [down, up, (h, c + r), (c, n * (k + v))],
                    names: ["query_down", "query_up", "kv_down", "kv_up"],
                    after: (n * v, h),
                    rotated: (n + 1.0) * r,
                    key_heads: 1.0,
                    kv_values,
                    prefill_flops: 2.0 * n * (k + r + v),
                    decode_flops: 2.0 * n * (2.0 * c + r),
                    index_flops: indexer.map_or(0.0, |i| 2.0 * f64::from(i.heads) * f64::from(i.head_dim)),
                    most_read: indexer.map_or(f64::INFINITY, |i| f64::from(i.top_tokens)),
                }
            }
        }
    }
}

/// Layers of one kind of attention.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span<'a> {
    /// Their share of all layers.
    pub(super) share: f64,
    /// How many tokens a query looks back at most.
    pub(super) window: f64,
    pub(super) shard: &'a Shard,
}

/// KV tokens that prompts and decoding requests read in a layer.
#[derive(Debug, Clone, Copy, Default)]
struct Reads {
    /// Query and KV tokens that meet as the kernel computes them, over all chunks.
    prefill_pairs: f64,
    /// Those that the model needs: each query meets what stands before it, whatever the chunks.
    causal_pairs: f64,
    /// KV tokens that are read for prompts.
    prefill_tokens: f64,
    decode_tokens: f64,
}

/// Which share of the model's layers these are.
fn of_layers(model: &Model, layers: u32) -> f64 {
    f64::from(layers) / f64::from(model.layers)
}

impl Roofline {
    /// Microseconds of an operator.
    fn us(&self, efficiency: &Efficiency, peak_flops: f64, flops: f64, bytes: f64) -> f64 {
        efficiency.us(self.corrections.overlaps, (flops, bytes), (peak_flops, self.memory_bytes_s))
    }

    /// Adds an operator. Of most, only the work is asked for: the time is computed elsewhere, so that this is inlined.
    #[inline]
    fn add(
        &self,
        costs: &mut CostAccumulator,
        class: OperatorClass,
        calls: Calls,
        efficiency: &Efficiency,
        work: (f64, f64),
        name: &'static str,
    ) {
        costs.add_work(calls, work);
        let is_timed = match costs.timed {
            Timed::All => true,
            Timed::Adapters => class == OperatorClass::Adapters,
            Timed::None => false,
        };
        if is_timed {
            self.add_time(costs, class, calls, efficiency, work, name);
        }
    }

    fn add_time(
        &self,
        costs: &mut CostAccumulator,
        class: OperatorClass,
        calls: Calls,
        efficiency: &Efficiency,
        (flops, bytes): (f64, f64),
        name: &'static str,
    ) {
        let peak = if class == OperatorClass::Linear { self.product_flops_s } else { self.wide_flops_s };
        costs.add_us(class, calls, self.us(efficiency, peak, flops, bytes), name);
    }

    /// Products of `tokens` rows with a matrix of the layers' format.
    fn product(
        &self,
        costs: &mut CostAccumulator,
        calls: Calls,
        tokens: f64,
        (inputs, outputs): (f64, f64),
        name: &'static str,
    ) {
        if inputs * outputs > 0.0 {
            let work = product_work(tokens, (inputs, outputs), self.deployment.matrix_bytes());
            self.add(costs, OperatorClass::Linear, calls, &self.corrections.linear, work, name);
        }
    }

    fn pointwise(
        &self,
        costs: &mut CostAccumulator,
        calls: Calls,
        efficiency: &Efficiency,
        bytes: f64,
        name: &'static str,
    ) {
        self.add(costs, OperatorClass::Pointwise, calls, efficiency, (0.0, bytes), name);
    }

    /// Sums over the GPUs that share a layer: twice (n - 1) / n of the bytes go over each one's link.
    fn all_reduce(&self, costs: &mut CostAccumulator, calls: Calls, bytes: f64) {
        let (gpu, gpus) = (self.deployment.gpu, self.deployment.tensor_parallel);
        let n = f64::from(nodes::on_one_node(&gpu, gpus));
        if n > 1.0 && costs.timed == Timed::All {
            let c = &self.corrections;
            let by_link_us = || {
                c.all_reduce.fixed_us
                    + 2.0 * (n - 1.0) / n * bytes / (c.all_reduce.memory * self.link_bytes_s) * 1e6
            };
            let direct_us = self.node_sums.map_or_else(by_link_us, |sums| sums.us(bytes / ACTIVATION));
            let on_node_us = if self.has_peer_access { direct_us } else { nodes::staged_us(direct_us) };
            let us = on_node_us + nodes::all_reduce_us(&gpu, gpus, bytes);
            costs.add_us(OperatorClass::Communication, calls, us, "all_reduce");
        }
    }

    /// The stages by classes of operator.
    pub(super) fn times(&self, batch: &Batch<'_>) -> [StageParts; 2] {
        self.accumulate(CostAccumulator::new(Timed::All), batch).parts()
    }

    /// One of them by operator.
    pub(super) fn stage_operators(&self, batch: &Batch<'_>, is_last: bool) -> Vec<OperatorTime> {
        let [inner, last] = self.accumulate(CostAccumulator::by_operator(), batch).sums;
        (if is_last { last } else { inner }).into_operators(batch)
    }

    /// What the stages do.
    pub(super) fn stage_works(&self, batch: &Batch<'_>) -> [Work; 2] {
        self.accumulate(CostAccumulator::new(Timed::None), batch).works
    }

    /// Both.
    pub(super) fn times_and_works(&self, batch: &Batch<'_>) -> ([StageParts; 2], [Work; 2]) {
        let costs = self.accumulate(CostAccumulator::new(Timed::All), batch);
        (costs.parts(), costs.works)
    }

    /// Layers of a stage before the last, and of the last one.
    fn layers(&self) -> Calls {
        [false, true].map(|is_last| self.deployment.stage_layers(is_last))
    }

    fn accumulate(&self, mut costs: CostAccumulator, batch: &Batch<'_>) -> CostAccumulator {
        let layers = self.layers();
        let tokens = f64::from(batch.rows());
        if tokens == 0.0 {
            return costs;
        }
        costs.tokens = tokens;
        self.attention(&mut costs, batch, layers, tokens);
        self.mlp(&mut costs, layers, batch, tokens);
        self.adapters(&mut costs, batch, layers);
        if costs.timed == Timed::All && self.deployment.pipeline_parallel > 1 {
            let bytes = tokens * (ACTIVATION * f64::from(self.deployment.model.hidden));
            let us = self.corrections.send_us(&self.deployment, bytes);
            costs.add_us(OperatorClass::Communication, BEFORE_LAST, us, "send_recv");
        }
        self.embedding_and_head(&mut costs, batch, tokens);
        costs.tokens = tokens;
        if costs.timed == Timed::All {
            let busy_us = costs.parts().map(|parts| parts.iter().sum());
            let waits_us = self.lora_wait_us(batch, busy_us);
            for (sum, us) in costs.sums.iter_mut().zip(waits_us) {
                sum.add(OperatorClass::Adapters, [1.0, tokens, us], LORA_WAIT);
            }
        }
        for (sum, layers) in costs.sums.iter_mut().zip(layers) {
            let on_gpu: f64 = sum.parts.iter().sum();
            let launches = layers * self.host.launch_per_layer_us;
            let us = (launches - on_gpu).max(0.0)
                + self.host.base_us
                + self.host.per_request_us * f64::from(batch.requests());
            sum.add(OperatorClass::Host, [1.0, tokens, us], "host");
        }
        costs
    }

    fn reads(batch: &Batch<'_>, square: f64, bias: f64, window: f64) -> Reads {
        let mut reads = Reads { decode_tokens: Self::windowed(batch, window), ..Reads::default() };
        for chunk in batch.chunks {
            let (kv, tokens) = (f64::from(chunk.kv_tokens), f64::from(chunk.tokens));
            reads.prefill_pairs += tokens * ((kv + square * tokens).min(window) + bias);
            reads.causal_pairs += (tokens * (kv + f64::midpoint(tokens, 1.0))).min(tokens * window);
            reads.prefill_tokens += (kv + tokens).min(window + tokens);
        }
        reads
    }

    /// KV tokens that decoding requests read where each looks back no further than `window`.
    fn windowed(batch: &Batch<'_>, window: f64) -> f64 {
        batch.decode_kv_tokens.min(f64::from(batch.decodes) * window)
    }

    fn attention(&self, costs: &mut CostAccumulator, batch: &Batch<'_>, layers: Calls, tokens: f64) {
        let c = &self.corrections;
        let h = f64::from(self.deployment.model.hidden);
        let model = &self.deployment.model;
        let mixers =
            layers.map(|layers| layers * of_layers(model, model.layers - model.layers_without_mixer));
        self.pointwise(costs, mixers, &c.norm, 2.0 * ACTIVATION * tokens * h, "input_norm");
        for span in self.spans() {
            self.attention_of(costs, batch, layers.map(|layers| layers * span.share), tokens, &span);
        }
        self.recurrence(costs, batch, layers, tokens);
        costs.tokens = tokens;
        self.all_reduce(costs, mixers, ACTIVATION * tokens * h);
        self.pointwise(costs, mixers, &c.add, 3.0 * ACTIVATION * tokens * h, "residual_sum");
    }

    /// Projections and attention of the layers of one kind.
    fn attention_of(
        &self,
        costs: &mut CostAccumulator,
        batch: &Batch<'_>,
        calls: Calls,
        tokens: f64,
        &Span { window, shard, .. }: &Span<'_>,
    ) {
        let c = &self.corrections;
        let kv_bytes = self.deployment.kv.bytes();
        for (matrix, name) in shard.before.into_iter().zip(shard.names) {
            self.product(costs, calls, tokens, matrix, name);
        }
        let rotated = 2.0 * ACTIVATION * tokens * shard.rotated;
        let written = tokens * shard.kv_values * (ACTIVATION + kv_bytes);
        self.pointwise(costs, calls, &c.rotary, rotated + written, "rotary_and_kv_write");
        let reach = window.min(shard.most_read);
        let reads = Self::reads(batch, c.prefill_square, c.prefill_bias, reach);
        // The indexer of sparse attention looks at every token, at 8 bits a number.
        let indexed = if shard.index_flops > 0.0 {
            Self::reads(batch, c.prefill_square, c.prefill_bias, window)
        } else {
            Reads::default()
        };
        let index_bytes = self.deployment.model.attention.indexer().map_or(0.0, |indexer| indexer.kv_bytes());
        if !batch.chunks.is_empty() {
            let queries = 2.0 * ACTIVATION * f64::from(batch.prompt_tokens()) * shard.after.0;
            let bytes = reads.prefill_tokens * shard.kv_values * kv_bytes
                + indexed.prefill_tokens * index_bytes
                + queries;
            let flops = |met: f64, scored: f64| met * shard.prefill_flops + scored * shard.index_flops;
            costs.add_work(calls, (flops(reads.causal_pairs, indexed.causal_pairs), bytes));
            if costs.timed == Timed::All {
                costs.tokens = batch.prompt_tokens().into();
                let computed = (flops(reads.prefill_pairs, indexed.prefill_pairs), bytes);
                let class = OperatorClass::PrefillAttention;
                self.add_time(costs, class, calls, &c.prefill, computed, "attention_prefill");
            }
        }
        if batch.decodes > 0 {
            let heads_us = c.decode_head_us * f64::from(batch.decodes) * shard.key_heads;
            for (sum, calls) in costs.sums.iter_mut().zip(calls) {
                sum.parts[OperatorClass::DecodeAttention as usize] += calls * heads_us;
            }
            // Every draft of a request meets what the request reads once.
            let queries = f64::from(batch.decodes + batch.drafts) / f64::from(batch.decodes);
            let work = (
                queries
                    * (reads.decode_tokens * shard.decode_flops + indexed.decode_tokens * shard.index_flops),
                reads.decode_tokens * shard.kv_values * kv_bytes + indexed.decode_tokens * index_bytes,
            );
            costs.tokens = batch.decodes.into();
            self.add(costs, OperatorClass::DecodeAttention, calls, &c.decode, work, "attention_decode");
            // Both parts are one kernel: the time of its heads has been added.
            for (sum, calls) in costs.sums.iter_mut().zip(calls) {
                let kernel = sum.operators.as_mut().and_then(|operators| operators.last_mut());
                kernel.into_iter().for_each(|kernel| kernel.us += calls * heads_us);
            }
        }
        costs.tokens = tokens;
        self.product(costs, calls, tokens, shard.after, "output_projection");
    }

    /// Layers with a state of fixed size: projections, the convolution, and the state, which every decoding request and every
    /// chunk of a prompt reads and writes once.
    fn recurrence(&self, costs: &mut CostAccumulator, batch: &Batch<'_>, layers: Calls, tokens: f64) {
        let Some(recurrent) = self.deployment.model.recurrent else { return };
        let c = &self.corrections;
        let model = &self.deployment.model;
        let share = 1.0 / f64::from(self.deployment.tensor_parallel.max(1));
        let calls = layers.map(|layers| layers * of_layers(model, recurrent.layers));
        let h = f64::from(model.hidden);
        costs.tokens = tokens;
        self.product(costs, calls, tokens, (h, recurrent.projected() * share), "state_projection");
        let passed = 3.0 * ACTIVATION * tokens * recurrent.channels() * share;
        self.pointwise(costs, calls, &c.activation, passed, "convolution");
        // A token's key and value change every number of the state, and its query reads it: two multiplications with an
        // addition, and a third for the delta rule's or the decay's own.
        let token_flops = 6.0 * recurrent.state_values() * share;
        let state_bytes = 2.0 * self.deployment.state_bytes_per_layer();
        let token_bytes = 2.0 * ACTIVATION * recurrent.channels() * share;
        if !batch.chunks.is_empty() {
            let prompt = f64::from(batch.prompt_tokens());
            let bytes = prompt * token_bytes + batch.chunks.len() as f64 * state_bytes;
            costs.tokens = prompt;
            let work = (prompt * token_flops, bytes);
            self.add(costs, OperatorClass::PrefillAttention, calls, &c.prefill, work, "state_prefill");
        }
        if batch.decodes > 0 {
            let decodes = f64::from(batch.decodes);
            costs.tokens = decodes;
            let queries = decodes + f64::from(batch.drafts);
            let work = (queries * token_flops, queries * token_bytes + decodes * state_bytes);
            self.add(costs, OperatorClass::DecodeAttention, calls, &c.decode, work, "state_decode");
        }
        costs.tokens = tokens;
        self.product(costs, calls, tokens, (recurrent.inner() * share, h), "output_projection");
    }

    fn mlp(&self, costs: &mut CostAccumulator, layers: Calls, batch: &Batch<'_>, tokens: f64) {
        let (c, model) = (&self.corrections, &self.deployment.model);
        let h = f64::from(model.hidden);
        let tensor = f64::from(self.deployment.tensor_parallel);
        let inner = if model.gated_mlp { 2.0 } else { 1.0 };
        // Of all ranks that share the experts.
        let ranks = self.deployment.expert_layout.data_parallel;
        let all = batch.rank_rows.of_ranks(tokens, ranks, CAPTURED_TOKENS);
        let layers = layers.map(|layers| layers * of_layers(model, model.mlp_layers()));
        self.pointwise(costs, layers, &c.norm, 2.0 * ACTIVATION * tokens * h, "mlp_norm");
        let share = f64::from(model.expert_layers()) / f64::from(model.mlp_layers().max(1));
        let with_experts = layers.map(|layers| layers * share);
        // Rounding may leave less than nothing.
        let dense = [0, 1].map(|stage| (layers[stage] - with_experts[stage]).max(0.0));
        if model.expert_layers() < model.mlp_layers() {
            let width = f64::from(model.mlp_hidden) / tensor;
            self.product(costs, dense, tokens, (h, inner * width), "mlp_up");
            let bytes = (inner + 1.0) * ACTIVATION * tokens * width;
            self.pointwise(costs, dense, &c.activation, bytes, "mlp_activation");
            self.product(costs, dense, tokens, (width, h), "mlp_down");
        }
        if let Some(experts) = model.experts {
            let layout = self.deployment.expert_layout;
            let tensor_parallel = self.deployment.tensor_parallel;
            let groups = f64::from(layout.groups(tensor_parallel));
            let width = f64::from(experts.hidden) / f64::from(layout.tensor(tensor_parallel));
            self.product(costs, with_experts, tokens, (h, f64::from(experts.count)), "router");
            // Every token goes through this many experts, but only the matrices of those that any token picks are read.
            let shared_width = f64::from(experts.shared) * f64::from(experts.shared_hidden) / tensor;
            let routed_in = if experts.latent > 0 { f64::from(experts.latent) } else { h };
            if experts.latent > 0 {
                self.product(costs, with_experts, tokens, (h, routed_in), "experts_down_projection");
                self.product(costs, with_experts, tokens, (routed_in, h), "experts_up_projection");
            }
            let routed = all * f64::from(experts.per_token) / groups;
            let weight = self.deployment.matrix_bytes();
            let matrices = |outputs: bool| {
                let sized = |from: f64, to: f64| if outputs { (to, from) } else { (from, inner * to) };
                let pairs = [
                    (routed, experts.touched(all) / groups, sized(routed_in, width)),
                    (tokens * f64::from(u32::from(experts.shared > 0)), 1.0, sized(h, shared_width)),
                ];
                pairs.iter().fold((0.0, 0.0), |(flops, bytes), &(rows, read, (inputs, outputs))| {
                    let moved = if rows > 0.0 {
                        read * inputs * outputs * weight + ACTIVATION * rows * (inputs + outputs)
                    } else {
                        0.0
                    };
                    (flops + 2.0 * rows * inputs * outputs, bytes + moved)
                })
            };
            for (outputs, name) in [(false, "experts_up"), (true, "experts_down")] {
                let work = matrices(outputs);
                self.add(costs, OperatorClass::Linear, with_experts, &c.linear, work, name);
            }
            let rows = routed + tokens * shared_width / width;
            let bytes = (inner + 1.0) * ACTIVATION * rows * width;
            self.pointwise(costs, with_experts, &c.activation, bytes, "experts_activation");
        }
        let sums_alone = if self.deployment.expert_layout.data_parallel > 1 { dense } else { layers };
        self.all_reduce(costs, sums_alone, ACTIVATION * tokens * h);
        self.all_to_all(costs, with_experts, all);
        self.pointwise(costs, layers, &c.add, 3.0 * ACTIVATION * tokens * h, "residual_sum");
    }

    /// The tokens of all ranks go to the experts and back; gathered and scattered they take as long as one sum over the ranks.
    fn all_to_all(&self, costs: &mut CostAccumulator, calls: Calls, all: f64) {
        let Deployment { gpu, model, expert_layout, .. } = &self.deployment;
        let (ranks, Some(experts)) = (f64::from(expert_layout.data_parallel), model.experts) else { return };
        if ranks < 2.0 || costs.timed != Timed::All {
            return;
        }
        let hidden = f64::from(model.hidden);
        let sent = (all / ranks, hidden, f64::from(experts.per_token));
        let gathered_us = || {
            let c = &self.corrections.all_reduce;
            let bytes = ACTIVATION * all * hidden;
            c.fixed_us + 2.0 * (ranks - 1.0) / ranks * bytes / (c.memory * self.link_bytes_s) * 1e6
        };
        let us = all_to_all_us(gpu, expert_layout.all_to_all, sent).unwrap_or_else(gathered_us);
        costs.add_us(OperatorClass::Communication, calls, us, "all_to_all");
    }

    /// LoRA: of each module a shrink to the rank and an expand to the outputs, which are added to those of the projection.
    /// The weights of an adapter are read once, however many requests use it; kernels that pad compute and read every adapter
    /// as if it had the largest rank.
    fn adapters(&self, costs: &mut CostAccumulator, batch: &Batch<'_>, layers: Calls) {
        if !batch.any_adapter {
            return;
        }
        let lora = &batch.lora;
        let padded = |ranks: u64, count: u32| match self.lora {
            LoraKernels::Slots { rank, .. } | LoraKernels::Grouped { rank: Some(rank) } => {
                f64::from(count) * f64::from(rank)
            }
            LoraKernels::Grouped { rank: None } => ranks as f64,
        };
        let weights = padded(lora.adapter_ranks, lora.adapters);
        let rows = padded(lora.token_ranks, lora.tokens);
        let tokens = f64::from(lora.tokens);
        let share = 1.0 / f64::from(self.deployment.tensor_parallel);
        let c = &self.corrections;
        let fixed_us = c.lora.fixed_us + c.lora_group_us * f64::from(lora.adapters);
        let before = std::mem::replace(&mut costs.tokens, tokens);
        let grouped = Efficiency { fixed_us, ..c.lora };
        if let LoraKernels::Slots { rank, slots, are_older, .. } = self.lora {
            let load = (tokens, f64::from(lora.adapters));
            let us = slots_us(&self.deployment, load, (rank.into(), slots.into()), are_older);
            let attending = layers.map(|layers| {
                layers * of_layers(&self.deployment.model, self.deployment.model.attention_layers())
            });
            if costs.timed != Timed::None {
                costs.add_us(OperatorClass::Adapters, attending, us, "lora");
            }
        }
        let operator = |costs: &mut CostAccumulator, width: f64, passes: f64, name: &'static str| {
            let bytes = ACTIVATION * (weights * width + passes * tokens * width + rows);
            let work = (2.0 * rows * width * share, bytes * share);
            match self.lora {
                LoraKernels::Grouped { .. } => {
                    self.add(costs, OperatorClass::Adapters, layers, &grouped, work, name);
                }
                // The time of all of them together has been added.
                LoraKernels::Slots { .. } => costs.add_work(layers, work),
            }
        };
        let modules = self.deployment.model.adapter_modules();
        for (inputs, outputs) in modules.into_iter().filter(|(inputs, _)| *inputs > 0.0) {
            operator(costs, inputs, 1.0, "lora_shrink");
            operator(costs, outputs, 2.0, "lora_expand");
        }
        costs.tokens = before;
    }

    /// How long the GPUs of both kinds of stage wait for launches in an iteration with prompts and adapters, beside the time in
    /// which they are busy.
    pub(crate) fn lora_wait_us(&self, batch: &Batch<'_>, busy_us: [f64; 2]) -> [f64; 2] {
        let LoraKernels::Slots { are_older, captured_tokens, .. } = self.lora else { return [0.0; 2] };
        if !batch.any_adapter || batch.chunks.is_empty() {
            return [0.0; 2];
        }
        let tokens = f64::from(batch.rows());
        let layer_us = launch_layer_us(&self.deployment, are_older);
        let captured = if are_older { 0 } else { captured_tokens };
        let layers = self.layers();
        [0, 1].map(|stage| launches::wait_us(busy_us[stage], layers[stage] * layer_us, tokens, captured))
    }

    /// Microseconds of the LoRA operators of a stage before the last, and of the last one.
    pub(crate) fn lora_us(&self, batch: &Batch<'_>) -> [f64; 2] {
        let mut costs = CostAccumulator::new(Timed::Adapters);
        self.adapters(&mut costs, batch, self.layers());
        costs.parts().map(|parts| parts[OperatorClass::Adapters as usize])
    }

    /// The LoRA operators alone, and what the stages do in them.
    pub(super) fn lora_parts_and_works(&self, lora: &LoraBatch) -> ([StageParts; 2], [Work; 2]) {
        let mut costs = CostAccumulator::new(Timed::Adapters);
        let batch = Batch { any_adapter: true, lora: *lora, ..Batch::default() };
        self.adapters(&mut costs, &batch, self.layers());
        (costs.parts(), costs.works)
    }

    /// Those of one stage by operator.
    pub(crate) fn lora_operators(&self, batch: &Batch<'_>, is_last: bool) -> Vec<OperatorTime> {
        let mut costs = CostAccumulator::by_operator();
        self.adapters(&mut costs, batch, self.layers());
        let [inner, last] = costs.sums;
        (if is_last { last } else { inner }).into_operators(batch)
    }

    /// Embedding, last norm, head and sampling.
    fn embedding_and_head(&self, costs: &mut CostAccumulator, batch: &Batch<'_>, tokens: f64) {
        let (c, model) = (&self.corrections, &self.deployment.model);
        let row = ACTIVATION * f64::from(model.hidden);
        self.pointwise(costs, ON_LAST, &c.embedding, 2.0 * tokens * row, "embedding");
        self.all_reduce(costs, ON_LAST, tokens * row);
        let asked = f64::from(batch.logit_rows());
        costs.tokens = asked;
        self.pointwise(costs, ON_LAST, &c.norm, 2.0 * asked * row, "final_norm");
        let inputs = f64::from(model.hidden);
        let outputs = f64::from(model.vocabulary) / f64::from(self.deployment.tensor_parallel);
        // The head stays at 16 bits.
        let work = product_work(asked, (inputs, outputs), ACTIVATION);
        if costs.timed == Timed::All {
            let us = self.us(&c.linear, self.wide_flops_s, work.0, work.1);
            costs.add_us(OperatorClass::Linear, ON_LAST, us, "head");
        }
        costs.add_work(ON_LAST, work);
        let logits = asked * f64::from(model.vocabulary);
        self.pointwise(costs, ON_LAST, &c.add, SAMPLING_BYTES * logits, "sampling");
        if costs.timed == Timed::All && self.deployment.tensor_parallel > 1 {
            let us = c.send.fixed_us + ACTIVATION * logits / (c.send.memory * self.link_bytes_s) * 1e6;
            let gpu = self.deployment.gpu;
            let is_apart = nodes::nodes(&gpu, self.deployment.tensor_parallel) > 1;
            let us = us + if is_apart { nodes::send_us(&gpu, ACTIVATION * logits) } else { 0.0 };
            costs.add_us(OperatorClass::Communication, ON_LAST, us, "gather_logits");
        }
    }

    /// The kinds of attention that the model has.
    pub(super) fn spans(&self) -> impl Iterator<Item = Span<'_>> {
        let model = &self.deployment.model;
        let [full, windowed] = &self.shards;
        let reach = model.window.map_or(0.0, |window| f64::from(window.tokens));
        let spans = [(model.full_layers(), f64::INFINITY, full), (model.window_layers(), reach, windowed)];
        spans.into_iter().filter(|(layers, ..)| *layers > 0).map(|(layers, window, shard)| Span {
            share: of_layers(model, layers),
            window,
            shard,
        })
    }

    /// By how much the GPU's part of a decode iteration grows from one to the next, and for how many that holds.
    pub(super) fn growth(&self, batch: &Batch<'_>, is_last: bool) -> (f64, f64) {
        let c = &self.corrections;
        let decodes = f64::from(batch.decodes);
        let mut us = 0.0;
        let mut valid_iterations = f64::INFINITY;
        for Span { share, window, shard } in self.spans() {
            let token = self.us(
                &Efficiency { fixed_us: 0.0, ..c.decode },
                self.wide_flops_s,
                shard.decode_flops,
                shard.kv_values * self.deployment.kv.bytes(),
            );
            // What the indexer reads keeps growing where attention no longer does.
            valid_iterations = if shard.index_flops > 0.0 { 1.0 } else { valid_iterations };
            let room = (decodes * window.min(shard.most_read) - batch.decode_kv_tokens) / decodes;
            if room > 0.0 {
                us += share * decodes * token;
                // A window that is full part of the way through an iteration ends the line there.
                valid_iterations = valid_iterations.min(room.floor() + 1.0);
            }
        }
        (us * self.deployment.stage_layers(is_last), valid_iterations)
    }
}
