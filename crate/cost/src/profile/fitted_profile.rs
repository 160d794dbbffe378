//! What an engine asks of a [`Profile`]: one degree, with its pipeline stages. Straight lines between knots, and rising
//! ones beyond the last, so that a longer prompt or a larger batch than was profiled costs more, not the same.
//!
//! Per layer: the token operators at the iteration's tokens; attention of the requests that decode at their number and
//! their mean KV tokens; attention of prompts at the sum of their KV tokens and the square root of the sum of the squared
//! chunks; with tensor parallelism two all-reduces. Per stage: sending on, and the host.

use std::sync::Arc;

use super::attention::{DecodeFormula, PrefillFormula};
use super::grid::Plane;
use super::line::KnotLine;
use super::operator::{By, OPERATORS, Operator};
use super::table::ProfileError;
use super::vidur_tables::LayerSettings;
use super::{NodeNetwork, OperatorLine, Profile};
use crate::batch::{
    Batch, BatchCost, Chunk, DecodeUsage, OperatorClass, OperatorSum, OperatorTime, StageParts, StageTime,
    decode_usage_of,
};
use crate::batch_stages::{BatchStages, DecodeLine, StageConstants, TokenLine};

/// Attention of requests that decode.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Decode {
    Formula(DecodeFormula),
    Table(Plane),
}

impl Decode {
    /// The line along the KV tokens of the mean, around one.
    pub(super) fn line(&self, requests: f64, kv: f64) -> TokenLine {
        match self {
            Self::Formula(formula) => formula.line(requests),
            Self::Table(plane) => plane.line(requests, kv),
        }
    }

    /// The time.
    pub(super) fn at(&self, requests: f64, kv: f64) -> f64 {
        self.line(requests, kv).at(kv)
    }
}

/// Attention of prompts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Prefill {
    pub(super) formula: PrefillFormula,
    pub(super) ratio: Option<Plane>,
}

impl Prefill {
    pub(super) fn at(&self, kv: f64, chunk: f64) -> f64 {
        self.formula.at(kv, chunk) * self.ratio.as_ref().map_or(1.0, |ratio| ratio.within(chunk, kv))
    }
}

/// The compact tables of one (GPU, model, degree).
#[derive(Debug, Clone, PartialEq)]
pub struct CompactTables {
    settings: LayerSettings,
    /// Layers of each stage before the last one, on average where they cannot be shared evenly, and of the last one.
    stage_layers: [f64; 2],
    /// Tokens by which KV lengths count as longer, and to whose multiples an iteration's tokens are rounded up.
    kv_bias: f64,
    token_step: f64,
    /// A layer's token operators by tokens, and at each of the line's knots what of them are products, the rest, and
    /// all-reduces.
    tokens: KnotLine,
    tokens_by_class: Vec<[f64; 3]>,
    /// A layer's operators one by one, all-reduces among them.
    operators: Arc<[(&'static Operator, KnotLine)]>,
    /// Sending on by tokens.
    send: KnotLine,
    /// Host overhead of a stage by requests.
    host: Option<KnotLine>,
    decode: Decode,
    prefill: Prefill,
}

impl Profile {
    /// The tables of the degree in `settings`. Host overhead is only what `settings` says: see
    /// [`CompactTables::with_host`].
    ///
    /// # Errors
    /// Where the profile lacks the degree, or messages that the stages send.
    pub fn tables(&self, settings: LayerSettings) -> Result<CompactTables, ProfileError> {
        self.tables_on(settings, None)
    }

    /// The same with the messages of another node than the profile's own.
    ///
    /// # Errors
    /// Those of [`Self::tables`].
    pub fn tables_on(
        &self,
        settings: LayerSettings,
        network: Option<&NodeNetwork>,
    ) -> Result<CompactTables, ProfileError> {
        settings.check()?;
        let Some(degree) = self.degree(settings.tensor_parallel) else {
            return Err(ProfileError::BadSetting { name: "degree", expected: "one that the profile has" });
        };
        let line = |class: OperatorClass| {
            let of_class = |l: &&OperatorLine| l.operator.class == class && l.operator.by == By::Tokens;
            let lines: Vec<KnotLine> =
                degree.lines.iter().filter(of_class).map(|l| l.knots.line(1.0)).collect();
            KnotLine::sum(lines.iter())
        };
        let by_tokens = 0.5 / f64::from(self.shape.hidden.max(1));
        let of_name = |lines: &[OperatorLine], name: &str| {
            lines.iter().find(|l| l.operator.name == name).map(|l| l.knots.line(by_tokens))
        };
        let of_tokens = degree.lines.iter().filter(|l| l.operator.by == By::Tokens);
        let mut operators: Vec<(&'static Operator, KnotLine)> =
            of_tokens.map(|l| (l.operator, l.knots.line(1.0))).collect();
        let mut reduce = KnotLine::zero();
        if settings.tensor_parallel > 1 {
            let skew_ms = settings.skew_ms * libm::pow(f64::from(settings.tensor_parallel), 1.25);
            let found = match network {
                None => of_name(&degree.lines, "all_reduce"),
                Some(network) => {
                    let mut found = network.all_reduces.iter();
                    let of_degree = found.find(|(gpus, _)| *gpus == degree.degree);
                    of_degree.map(|(_, line)| line.knots.line(by_tokens))
                }
            };
            let found = found.ok_or(ProfileError::BadSetting {
                name: "all_reduce",
                expected: "a line of this degree in the profile",
            })?;
            let one = found.raised((settings.launch_ms + skew_ms) * 1e3);
            reduce = KnotLine::sum([&one, &one].into_iter());
            operators.push((&OPERATORS[10], one));
        }
        let mut send = KnotLine::zero();
        if settings.stages > 1 {
            let (lines, node_gpus) =
                network.map_or((&self.lines, self.node_gpus), |n| (&n.lines, n.node_gpus));
            let near = of_name(lines, "send_recv");
            let is_far =
                u64::from(settings.tensor_parallel) * u64::from(settings.stages) > u64::from(node_gpus);
            let far = of_name(lines, "send_recv_across").filter(|_| is_far);
            send = far.or(near).ok_or(ProfileError::BadSetting {
                name: "send_recv",
                expected: "a line in the profile, for a pipeline sends",
            })?;
        }
        let classes = [line(OperatorClass::Linear), line(OperatorClass::Pointwise), reduce];
        let tokens = KnotLine::sum(classes.iter());
        Ok(CompactTables {
            settings,
            stage_layers: stage_layers(settings.layers, settings.stages),
            kv_bias: 0.0,
            token_step: 0.0,
            tokens_by_class: tokens.knots().iter().map(|&x| classes.each_ref().map(|l| l.at(x))).collect(),
            tokens,
            operators: operators.into(),
            send,
            host: None,
            decode: degree.attention.decode(),
            prefill: degree.attention.prefill(),
        })
    }

    /// The host overhead of a stage by requests, where the profile has it.
    pub fn host(&self, degree: u32) -> Option<KnotLine> {
        let lines: Vec<KnotLine> = self
            .degree(degree)?
            .lines
            .iter()
            .filter(|l| l.operator.class == OperatorClass::Host)
            .map(|l| l.knots.line(1.0))
            .collect();
        (!lines.is_empty()).then(|| KnotLine::sum(lines.iter()))
    }
}

impl CompactTables {
    /// The same with Vidur's roundings, which make its iterations a few per cent slower: tokens are rounded up to a multiple
    /// of 8, and a KV length that is rounded up to the next step counts as half a step longer on average.
    pub fn with_roundings(self) -> Self {
        Self { kv_bias: 0.5 * f64::from(self.settings.kv_granularity), token_step: 8.0, ..self }
    }

    /// The same with a host overhead by the iteration's requests.
    pub fn with_host(self, host: KnotLine) -> Self {
        Self { host: Some(host), ..self }
    }

    /// Attention of a layer: of `requests` that decode at `kv_tokens` each, or of one prompt's chunk where `chunk` is not 0.
    pub fn attention_us(&self, requests: u32, chunk: u32, kv_tokens: u32) -> f64 {
        if chunk > 0 {
            return self.prefill.at(kv_tokens.into(), chunk.into());
        }
        self.decode.at(requests.into(), kv_tokens.into())
    }

    fn stage_tokens(&self, batch: &Batch<'_>) -> f64 {
        let tokens = f64::from(batch.rows());
        if self.token_step > 0.0 { (tokens / self.token_step).ceil() * self.token_step } else { tokens }
    }

    /// Attention of a layer's prompts.
    fn prefill_us(&self, chunks: &[Chunk]) -> f64 {
        if chunks.is_empty() {
            return 0.0;
        }
        let penalty = if chunks.len() > 1 { 1.0 + self.settings.prefill_penalty } else { 1.0 };
        let (kv, chunk) = together(chunks);
        self.prefill.at(kv, chunk) * penalty
    }

    /// The stages' times of a batch that decodes, along its KV tokens; and the mean of these.
    fn decode_line(&self, batch: &Batch<'_>, constants: StageConstants) -> (DecodeLine, f64) {
        let penalty = if batch.decodes > 1 { 1.0 + self.settings.decode_penalty } else { 1.0 };
        let mean = batch.decode_kv_tokens / f64::from(batch.decodes.max(1)) + self.kv_bias;
        let attention = if batch.decodes == 0 {
            TokenLine::ZERO
        } else {
            self.decode.line(f64::from(batch.decodes), mean)
        };
        let (kv_bias, layers) = (self.kv_bias, self.stage_layers);
        (DecodeLine { attention, penalty, kv_bias, layers, constants }, mean)
    }

    fn host_us(&self, batch: &Batch<'_>) -> f64 {
        let host_us = self.host.as_ref().map_or(0.0, |host| host.at(f64::from(batch.requests())));
        host_us + self.settings.cpu_ms * 1e3
    }
}

/// Iterations for which a straight line without end is taken to hold at once.
const LONG: f64 = 1_048_576.0;

fn stage_layers(layers: u32, stages: u32) -> [f64; 2] {
    let last = layers / stages;
    [f64::from(layers - last) / f64::from(stages.max(2) - 1), f64::from(last)]
}

/// The prompts of an iteration as one: their KV tokens together, and a chunk of the same sum of squares.
fn together(chunks: &[Chunk]) -> (f64, f64) {
    let mut sums = (0.0, 0.0);
    for chunk in chunks {
        sums.0 += f64::from(chunk.kv_tokens);
        sums.1 += f64::from(chunk.tokens) * f64::from(chunk.tokens);
    }
    (sums.0, f64::sqrt(sums.1))
}

impl BatchCost for CompactTables {
    fn stages(&self) -> u32 {
        self.settings.stages
    }

    fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime {
        let (line, mean) = self.decode_line(batch, self.stage_constants(batch));
        let stage = usize::from(is_last);
        let first_us = line.us_at(mean)[stage];
        if batch.decodes == 0 || !batch.chunks.is_empty() {
            return StageTime { first_us, growth_us: 0.0, valid_iterations: 1 };
        }
        // The mean grows by 1 an iteration. A straight line holds up to its knot, beyond the last one for ever.
        let growth_us = line.layers[stage] * (line.attention.slope_us() * line.penalty);
        let holds = (line.attention.until_tokens - mean).ceil().min(LONG) as u32;
        StageTime { first_us, growth_us, valid_iterations: holds.max(1) }
    }

    fn stage_constants(&self, batch: &Batch<'_>) -> StageConstants {
        let tokens = self.stage_tokens(batch);
        StageConstants {
            layer_us: self.tokens.at(tokens) + self.prefill_us(batch.chunks),
            send_us: if self.settings.stages > 1 { self.send.at(tokens) } else { 0.0 },
            host_us: self.host_us(batch),
            ..StageConstants::default()
        }
    }

    fn batch_stages(&self, batch: &Batch<'_>, constants: &StageConstants) -> BatchStages {
        let (line, mean) = self.decode_line(batch, *constants);
        let line_of_later = batch.chunks.is_empty().then_some(line);
        BatchStages { us: line.us_at(mean), valid_iterations: 1, line: line_of_later }
    }

    fn stage_parts(&self, batch: &Batch<'_>) -> [StageParts; 2] {
        let tokens = self.stage_tokens(batch);
        let (DecodeLine { attention, penalty, .. }, mean) =
            self.decode_line(batch, StageConstants::default());
        let decode_us = attention.at(mean) * penalty;
        let prefill_us = self.prefill_us(batch.chunks);
        let (knot, share) = self.tokens.place(tokens);
        let (from, to) = (self.tokens_by_class[knot], self.tokens_by_class[knot + 1]);
        let [products, pointwise, reduce] = std::array::from_fn(|i| from[i] + share * (to[i] - from[i]));
        let host_us = self.host_us(batch);
        let stage = |layers: f64, send_us: f64| {
            let mut parts = StageParts::default();
            parts[OperatorClass::Linear as usize] = layers * products;
            parts[OperatorClass::Pointwise as usize] = layers * pointwise;
            parts[OperatorClass::PrefillAttention as usize] = layers * prefill_us;
            parts[OperatorClass::DecodeAttention as usize] = layers * decode_us;
            parts[OperatorClass::Communication as usize] = layers * reduce + send_us;
            parts[OperatorClass::Host as usize] = host_us;
            parts
        };
        let [inner_layers, last_layers] = self.stage_layers;
        [stage(inner_layers, self.send.at(tokens)), stage(last_layers, 0.0)]
    }

    fn operators(&self, batch: &Batch<'_>, is_last: bool) -> Vec<OperatorTime> {
        let layers = self.stage_layers[usize::from(is_last)];
        let (x, tokens) = (self.stage_tokens(batch), f64::from(batch.rows()));
        let mut sum = OperatorSum::by_operator();
        for (operator, line) in self.operators.iter() {
            let calls = layers * if operator.by == By::Bytes { 2.0 } else { 1.0 };
            sum.note(operator.class, [calls, tokens, calls * line.at(x)], operator.name);
        }
        let parts = self.stage_parts(batch)[usize::from(is_last)];
        let mut rest = |class: OperatorClass, calls: f64, tokens: f64, name: &'static str| {
            sum.note(class, [calls, tokens, parts[class as usize]], name);
        };
        rest(OperatorClass::PrefillAttention, layers, batch.prompt_tokens().into(), "attn_prefill");
        rest(OperatorClass::DecodeAttention, layers, batch.decodes.into(), "attn_decode");
        rest(OperatorClass::Host, 1.0, tokens, "host");
        if !is_last {
            sum.note(OperatorClass::Communication, [1.0, tokens, self.send.at(x)], "send_recv");
        }
        sum.into_operators(batch)
    }

    fn decode_usage(&self, decodes: u32) -> Option<DecodeUsage> {
        Some(decode_usage_of(self, decodes))
    }
}
