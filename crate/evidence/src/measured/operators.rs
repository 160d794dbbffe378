//! Measured operators, the fit of the roofline's corrections to them, and how well corrections fitted on some models predict
//! another.

use servescope_cost::gpus::Gpu;
use servescope_cost::models::{Attention, Model};
use servescope_cost::roofline::{Corrections, product_work};

use super::quantile;
use crate::figures_file::{number, rows};

/// The GPUs on which layers were measured.
pub const MEASURED: [&str; 3] = ["a100_80_sxm", "h100_sxm", "a40"];

/// Of each GPU, the median error of a layer of a model that the corrections were not fitted on: that of the best predicted
/// model and of the worst. [`held_out`] computes them.
pub const HELD_OUT: [(&str, f64, f64); 3] =
    [("a100_80_sxm", 0.022, 0.057), ("h100_sxm", 0.035, 0.060), ("a40", 0.018, 0.040)];

/// Which correction formula an operator follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formula {
    /// Matrix products.
    Product,
    /// Norms.
    Norm,
    /// Rotary embedding.
    Rotary,
    /// Activation of the MLP.
    Activation,
    /// Sum with the residual.
    Add,
    /// Embedding look-up.
    Embedding,
    /// Attention of a prompt.
    Prefill,
    /// Attention of requests that decode.
    Decode,
    /// All-reduce.
    AllReduce,
    /// Sending on to the next stage.
    Send,
}

impl Formula {
    /// Every formula, and its name in tables.
    pub const ALL: [(Self, &'static str); 10] = [
        (Self::Product, "products"),
        (Self::Norm, "norms"),
        (Self::Rotary, "rotary embedding"),
        (Self::Activation, "activation"),
        (Self::Add, "residual sum"),
        (Self::Embedding, "embedding"),
        (Self::Prefill, "attention of prompts"),
        (Self::Decode, "attention of decoding"),
        (Self::AllReduce, "all-reduce"),
        (Self::Send, "sending on"),
    ];

    /// The coefficients that are fitted.
    fn free(self) -> Vec<fn(&mut Corrections) -> &mut f64> {
        match self {
            Self::Product => {
                vec![|c| &mut c.linear.fixed_us, |c| &mut c.linear.compute, |c| &mut c.linear.memory]
            }
            Self::Norm => vec![|c| &mut c.norm.fixed_us, |c| &mut c.norm.memory],
            Self::Rotary => vec![|c| &mut c.rotary.fixed_us, |c| &mut c.rotary.memory],
            Self::Activation => vec![|c| &mut c.activation.fixed_us, |c| &mut c.activation.memory],
            Self::Add => vec![|c| &mut c.add.fixed_us, |c| &mut c.add.memory],
            Self::Embedding => vec![|c| &mut c.embedding.fixed_us, |c| &mut c.embedding.memory],
            Self::Prefill => {
                vec![|c| &mut c.prefill.fixed_us, |c| &mut c.prefill.compute, |c| &mut c.prefill_bias]
            }
            Self::Decode => {
                vec![|c| &mut c.decode.fixed_us, |c| &mut c.decode.memory, |c| &mut c.decode_head_us]
            }
            Self::AllReduce => vec![|c| &mut c.all_reduce.fixed_us, |c| &mut c.all_reduce.memory],
            Self::Send => vec![|c| &mut c.send.fixed_us, |c| &mut c.send.memory],
        }
    }
}

/// One measured operator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OperatorSample {
    /// GPU.
    pub gpu: &'static Gpu,
    /// Model; "" for collectives.
    pub model: &'static str,
    /// The iteration that it is a part of: samples of one (GPU, model, degree, tokens) have the same.
    pub iteration: usize,
    /// Its formula.
    pub formula: Formula,
    /// Operations; of a prompt's attention, for each KV token.
    flops: f64,
    /// Bytes.
    bytes: f64,
    /// Prompt: tokens and KV tokens. Decoding: requests times heads of keys.
    count: (f64, f64),
    /// Measured median, microseconds.
    pub us: f64,
}

impl OperatorSample {
    /// What the roofline says.
    pub fn predicted_us(&self, c: &Corrections) -> f64 {
        let peaks = (self.gpu.bf16_tflops.value * 1e12, self.gpu.bandwidth_gb_s.value * 1e9);
        let link = self.gpu.link_gb_s.value * 1e9;
        let (formula, overlaps) = (self.formula, c.overlaps);
        match formula {
            Formula::Product => c.linear.us(overlaps, (self.flops, self.bytes), peaks),
            Formula::Norm => c.norm.us(overlaps, (0.0, self.bytes), peaks),
            Formula::Rotary => c.rotary.us(overlaps, (0.0, self.bytes), peaks),
            Formula::Activation => c.activation.us(overlaps, (0.0, self.bytes), peaks),
            Formula::Add => c.add.us(overlaps, (0.0, self.bytes), peaks),
            Formula::Embedding => c.embedding.us(overlaps, (0.0, self.bytes), peaks),
            Formula::Prefill => {
                let (tokens, kv) = self.count;
                let pairs = tokens * (kv + c.prefill_square * tokens + c.prefill_bias);
                c.prefill.us(overlaps, (pairs * self.flops, self.bytes), peaks)
            }
            Formula::Decode => {
                c.decode_head_us * self.count.0 + c.decode.us(overlaps, (self.flops, self.bytes), peaks)
            }
            Formula::AllReduce => c.all_reduce.us(overlaps, (0.0, self.bytes), (1.0, link)),
            Formula::Send => c.send.us(overlaps, (0.0, self.bytes), (1.0, link)),
        }
    }

    fn error(&self, c: &Corrections) -> f64 {
        (self.predicted_us(c) / self.us - 1.0).abs()
    }
}

/// Every sample.
pub fn samples() -> Vec<OperatorSample> {
    let mut samples = layers();
    samples.extend(attention());
    samples.extend(collectives());
    samples
}

/// Query and key heads of a GPU, and their dimension.
fn heads(model: &Model, tensor: f64) -> (f64, f64, f64) {
    match model.attention {
        Attention::Grouped { heads, kv_heads, head_dim, .. } => {
            (f64::from(heads) / tensor, (f64::from(kv_heads) / tensor).max(1.0), f64::from(head_dim))
        }
        Attention::Latent { .. } => unreachable!("no model with latent attention was profiled"),
    }
}

fn known(gpu: &str, model: &'static str) -> (&'static Gpu, &'static Model) {
    (Gpu::named(gpu).expect("a GPU of the table"), Model::named(model).expect("a model of the table"))
}

fn layers() -> Vec<OperatorSample> {
    let mut samples = Vec::new();
    for (iteration, row) in rows(include_str!("operators.csv")).enumerate() {
        let (gpu, model) = known(row[0], row[1]);
        let (tensor, tokens) = (number(row[2]), number(row[3]));
        let (queries, keys, dim) = heads(model, tensor);
        let hidden = f64::from(model.hidden);
        let width = f64::from(model.mlp_hidden) / tensor;
        let inner = if model.gated_mlp { 2.0 } else { 1.0 };
        let products = [
            (hidden, (queries + 2.0 * keys) * dim),
            (queries * dim, hidden),
            (hidden, inner * width),
            (width, hidden),
        ];
        let pointwise = [
            (Formula::Norm, 2.0 * hidden),
            (Formula::Rotary, 2.0 * (queries + keys) * dim),
            (Formula::Activation, (inner + 1.0) * width),
            (Formula::Add, 3.0 * hidden),
            (Formula::Embedding, 2.0 * hidden),
        ];
        let products = products.map(|shape| (Formula::Product, product_work(tokens, shape, 2.0)));
        let pointwise = pointwise.map(|(formula, values)| (formula, (0.0, 2.0 * tokens * values)));
        for ((formula, (flops, bytes)), cell) in products.into_iter().chain(pointwise).zip(&row[4..]) {
            if !cell.is_empty() {
                let (count, us) = ((0.0, 0.0), number(cell));
                samples.push(OperatorSample {
                    gpu,
                    model: model.id,
                    iteration,
                    formula,
                    flops,
                    bytes,
                    count,
                    us,
                });
            }
        }
    }
    samples
}

fn attention() -> Vec<OperatorSample> {
    let sample = |row: Vec<&'static str>| {
        let (gpu, model) = known(row[0], row[1]);
        let (queries, keys, dim) = heads(model, number(row[2]));
        let (count, kv) = (number(row[4]), number(row[5]));
        let (flops, kv_bytes) = (4.0 * queries * dim, 4.0 * keys * dim);
        let is_prompt = row[3] == "prefill";
        let (formula, flops, bytes, count) = if is_prompt {
            (Formula::Prefill, flops, kv_bytes * (kv + count) + 4.0 * count * queries * dim, (count, kv))
        } else {
            (Formula::Decode, flops * count * kv, kv_bytes * count * kv, (count * keys, 0.0))
        };
        OperatorSample {
            gpu,
            model: model.id,
            iteration: 0,
            formula,
            flops,
            bytes,
            count,
            us: number(row[6]),
        }
    };
    rows(include_str!("attention.csv")).map(sample).collect()
}

fn collectives() -> Vec<OperatorSample> {
    let sample = |row: Vec<&'static str>| {
        let gpu = Gpu::named(row[0]).expect("a GPU of the table");
        let (gpus, bytes, us) = (number(row[2]), number(row[3]), number(row[4]));
        let (formula, bytes) = if row[1] == "all_reduce" {
            (Formula::AllReduce, 2.0 * (gpus - 1.0) / gpus * bytes)
        } else {
            (Formula::Send, bytes)
        };
        OperatorSample { gpu, model: "", iteration: 0, formula, flops: 0.0, bytes, count: (0.0, 0.0), us }
    };
    rows(include_str!("collectives.csv")).map(sample).collect()
}

/// Fits the coefficients of every formula that has samples; the others stay as they are. The mean square of the logarithm of
/// predicted over measured becomes least, coordinate by coordinate, with steps that are halved down to 0.2 %.
pub fn fit(samples: &[OperatorSample], start: &Corrections) -> Corrections {
    let mut best = Corrections { overlaps: false, ..*start };
    for (formula, _) in Formula::ALL {
        let of_formula: Vec<&OperatorSample> = samples.iter().filter(|s| s.formula == formula).collect();
        if of_formula.is_empty() {
            continue;
        }
        let cost = |c: &Corrections| {
            let off = |s: &&OperatorSample| libm::log(s.predicted_us(c) / s.us);
            of_formula.iter().map(off).map(|x| x * x).sum::<f64>()
        };
        let mut least = cost(&best);
        let mut step = 0.5;
        while step > 0.002 {
            let mut moved = false;
            for coefficient in formula.free() {
                for factor in [libm::exp(step), libm::exp(-step)] {
                    let mut next = best;
                    *coefficient(&mut next) *= factor;
                    let found = cost(&next);
                    if found < least {
                        (best, least, moved) = (next, found, true);
                    }
                }
            }
            if !moved {
                step /= 2.0;
            }
        }
    }
    best
}

/// Relative errors: how many, median, 95th percentile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorQuantiles {
    /// How many.
    pub count: usize,
    /// Median.
    pub median: f64,
    /// 95th percentile.
    pub p95: f64,
}

impl ErrorQuantiles {
    fn of(mut errors: Vec<f64>) -> Self {
        let (median, p95) = (quantile(&mut errors, 0.5), quantile(&mut errors, 0.95));
        Self { count: errors.len(), median, p95 }
    }
}

/// How well a formula's committed coefficients describe what they were fitted on.
pub fn fitted_errors(samples: &[OperatorSample], gpu: &str, formula: Formula) -> ErrorQuantiles {
    let corrections = Corrections::of(gpu);
    let of_formula = samples.iter().filter(|s| s.gpu.id == gpu && s.formula == formula);
    ErrorQuantiles::of(of_formula.map(|s| s.error(corrections)).collect())
}

/// Errors of corrections on a model that they were not fitted on.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOut {
    /// GPU.
    pub gpu: &'static str,
    /// The model that is predicted.
    pub model: &'static str,
    /// Pairs of other models that were fitted.
    pub fits: usize,
    /// Single products.
    pub products: ErrorQuantiles,
    /// Norms, activation and other pointwise operators.
    pub pointwise: ErrorQuantiles,
    /// All operators of a layer together.
    pub layer: ErrorQuantiles,
}

/// Whether a sample is a part of a layer, attention and collectives apart.
fn is_of_layer(s: &OperatorSample) -> bool {
    matches!(
        s.formula,
        Formula::Product | Formula::Norm | Formula::Rotary | Formula::Activation | Formula::Add
    )
}

fn errors_on(samples: &[OperatorSample], fits: &[Corrections]) -> [ErrorQuantiles; 3] {
    let (mut products, mut pointwise, mut layer) = (Vec::new(), Vec::new(), Vec::new());
    for corrections in fits {
        for group in samples.chunk_by(|a, b| a.iteration == b.iteration) {
            let (mut ours, mut theirs) = (0.0, 0.0);
            for sample in group.iter().filter(|s| is_of_layer(s)) {
                ours += sample.predicted_us(corrections);
                theirs += sample.us;
                let errors = if sample.formula == Formula::Product { &mut products } else { &mut pointwise };
                errors.push(sample.error(corrections));
            }
            layer.push((ours / theirs - 1.0).abs());
        }
    }
    [products, pointwise, layer].map(ErrorQuantiles::of)
}

/// Fits the corrections of each GPU on every pair of models and predicts each third one.
pub fn held_out(samples: &[OperatorSample]) -> Vec<HeldOut> {
    let mut table = Vec::new();
    for gpu in MEASURED {
        let here: Vec<OperatorSample> =
            samples.iter().filter(|s| s.gpu.id == gpu && is_of_layer(s)).copied().collect();
        let mut models: Vec<&str> = here.iter().map(|s| s.model).collect();
        models.sort_unstable();
        models.dedup();
        for &model in &models {
            let others: Vec<&str> = models.iter().copied().filter(|m| *m != model).collect();
            let mut fits = Vec::new();
            for (i, first) in others.iter().enumerate() {
                for second in &others[i + 1..] {
                    let pair: Vec<OperatorSample> =
                        here.iter().filter(|s| s.model == *first || s.model == *second).copied().collect();
                    fits.push(fit(&pair, Corrections::of(gpu)));
                }
            }
            let mine: Vec<OperatorSample> = here.iter().filter(|s| s.model == model).copied().collect();
            let [products, pointwise, layer] = errors_on(&mine, &fits);
            table.push(HeldOut { gpu, model, fits: fits.len(), products, pointwise, layer });
        }
    }
    table
}

/// The corrections fitted on an A100 alone, on the other GPUs: (GPU, products, pointwise, layer).
pub fn across_gpus(samples: &[OperatorSample]) -> Vec<(&'static str, [ErrorQuantiles; 3])> {
    let own = Corrections::of("a100_80_sxm");
    let on = |gpu: &'static str| {
        let here: Vec<OperatorSample> =
            samples.iter().filter(|s| s.gpu.id == gpu && is_of_layer(s)).copied().collect();
        (gpu, errors_on(&here, &[*own]))
    };
    vec![on("h100_sxm"), on("a40")]
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLERANCE: f64 = 0.01;

    #[test]
    fn committed_errors_are_those_of_models_held_out() {
        let table = held_out(&samples());
        for (gpu, best, worst) in HELD_OUT {
            let here: Vec<f64> = table.iter().filter(|h| h.gpu == gpu).map(|h| h.layer.median).collect();
            let least = here.iter().copied().fold(f64::INFINITY, f64::min);
            let most = here.iter().copied().fold(0.0, f64::max);
            assert!((least - best).abs() < 0.002 && (most - worst).abs() < 0.002, "{gpu}: {least} to {most}");
        }
    }

    #[test]
    fn committed_corrections_are_the_fit_of_the_samples() {
        let all = samples();
        let mut off = Vec::new();
        for gpu in MEASURED {
            let here: Vec<OperatorSample> = all
                .iter()
                .filter(|s| s.gpu.id == gpu || matches!(s.formula, Formula::Prefill | Formula::Decode))
                .copied()
                .collect();
            let committed = Corrections::of(gpu);
            let fitted = fit(&here, committed);
            // Prompts were profiled with a kernel that computes the whole square of a chunk: of one that does not, they say nothing.
            let computes_square = committed.prefill_square == 1.0;
            let is_fitted = |formula: Formula| computes_square || formula != Formula::Prefill;
            for (formula, name) in Formula::ALL.into_iter().filter(|(formula, _)| is_fitted(*formula)) {
                for (i, coefficient) in formula.free().into_iter().enumerate() {
                    let (mut ours, mut found) = (*committed, fitted);
                    let (ours, found) = (*coefficient(&mut ours), *coefficient(&mut found));
                    if (ours / found - 1.0).abs() > TOLERANCE {
                        off.push(format!("{gpu}: {name} {i}: {ours}, fitted {found:.4}"));
                    }
                }
            }
        }
        assert!(off.is_empty(), "{off:#?}");
    }
}
