//! Splitwise's measured medians (Patel et al., ISCA 2024; data MIT): whole iterations of Llama-2-70B and BLOOM-176B on DGX A100
//! and DGX H100, without CUDA graphs, predicted by the roofline.

use servescope_cost::deployment::{Deployment, KvFormat, WeightFormat};
use servescope_cost::gpus::Gpu;
use servescope_cost::models::Model;
use servescope_cost::{Batch, BatchCost, Chunk, Corrections, HostTime, Roofline};

use super::quantile;
use crate::figures_file::{number, rows};

/// One measured setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredPoint {
    /// What ran where.
    pub deployment: Deployment,
    /// Requests.
    pub batch: u32,
    /// Tokens of each prompt.
    pub prompt_tokens: u32,
    /// Median time of reading the prompts, milliseconds.
    pub prompt_ms: f64,
    /// Median time of an output token.
    pub token_ms: f64,
}

/// The medians.
pub fn points() -> Vec<MeasuredPoint> {
    let point = |row: Vec<&'static str>| MeasuredPoint {
        deployment: Deployment {
            gpu: *Gpu::named(row[0]).expect("a GPU of the table"),
            model: *Model::named(row[1]).expect("a model of the table"),
            tensor_parallel: number(row[2]) as u32,
            pipeline_parallel: 1,
            expert_layout: servescope_cost::ExpertLayout::ALONE,
            weights: WeightFormat::Bf16,
            quantized_head: false,
            kv: KvFormat::Bf16,
        },
        batch: number(row[3]) as u32,
        prompt_tokens: number(row[4]) as u32,
        prompt_ms: number(row[5]),
        token_ms: number(row[6]),
    };
    rows(include_str!("splitwise.csv")).map(point).collect()
}

/// How an iteration is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Predictor {
    /// The data sheet's peaks.
    Datasheet,
    /// With corrections.
    Fitted,
    /// With corrections, and the time that the host takes to launch each layer, from one point of each machine.
    Launched,
    /// H100: what an A100 took, times the ratio of both predictions of [`Predictor::Launched`].
    Scaled,
}

impl Predictor {
    /// Every way, and its name in tables.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Datasheet, "data sheet"),
        (Self::Fitted, "fitted"),
        (Self::Launched, "with launches"),
        (Self::Scaled, "scaled from A100"),
    ];
}

/// Half of the 128 output tokens of a run: how far an answer is on average.
const ANSWERED: u32 = 64;

impl MeasuredPoint {
    /// Predicted times of the prompts and of an output token, milliseconds.
    fn modelled(&self, corrections: &Corrections, launch_per_layer_us: f64) -> (f64, f64) {
        let host = HostTime { launch_per_layer_us, ..HostTime::NONE };
        let cost = Roofline::new(self.deployment, corrections, host).with_profiled_sums();
        let chunks = vec![Chunk { kv_tokens: 0, tokens: self.prompt_tokens }; self.batch as usize];
        let prompts = Batch { chunks: &chunks, ..Batch::default() };
        let kv = u64::from(self.batch) * u64::from(self.prompt_tokens + ANSWERED);
        let decoding = Batch { decodes: self.batch, decode_kv_tokens: kv as f64, ..Batch::default() };
        let ms = |batch: &Batch<'_>| cost.stage_time(batch, true).first_us / 1e3;
        (ms(&prompts), ms(&decoding))
    }

    /// Whether the launch time of its machine is read off this point.
    pub fn sets_launch(&self) -> bool {
        let d = &self.deployment;
        d.model.id == "llama-2-70b" && d.tensor_parallel == 8 && self.batch == 1 && self.prompt_tokens == 512
    }
}

/// Microseconds that a machine's host takes to launch a layer: the token time of Llama-2-70B at TP 8 and batch 1, where the
/// GPUs have least to do, over its layers.
pub fn launch_per_layer_us(points: &[MeasuredPoint], gpu: &str) -> f64 {
    let point = points.iter().find(|p| p.deployment.gpu.id == gpu && p.sets_launch());
    point.map_or(0.0, |p| p.token_ms * 1e3 / f64::from(p.deployment.model.layers))
}

/// Signed median and median size of the relative errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorStats {
    /// How many points.
    pub count: usize,
    /// Median, with its sign.
    pub signed: f64,
    /// Median of the absolute errors.
    pub size: f64,
    /// Largest absolute error.
    pub most: f64,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// One prompt of 128 to 8192 tokens.
    OnePrompt,
    /// 2 to 64 prompts of 512 tokens, taken as one iteration.
    ManyPrompts,
    /// An output token.
    Token,
}

impl Quantity {
    /// Everything, and its name in tables.
    pub const ALL: [(Self, &'static str); 3] = [
        (Self::OnePrompt, "one prompt"),
        (Self::ManyPrompts, "2 to 64 prompts"),
        (Self::Token, "output token"),
    ];

    fn has(self, point: &MeasuredPoint) -> bool {
        match self {
            Self::OnePrompt => point.batch == 1,
            Self::ManyPrompts => point.batch > 1,
            Self::Token => !point.sets_launch(),
        }
    }
}

/// Errors of the points that `wanted` accepts, predicted in one way. Where there is nothing to compare, `count` is 0.
pub fn errors_of(
    points: &[MeasuredPoint],
    what: Quantity,
    way: Predictor,
    wanted: impl Fn(&MeasuredPoint) -> bool,
) -> ErrorStats {
    let predicted = |point: &MeasuredPoint| -> Option<(f64, f64)> {
        let gpu = point.deployment.gpu.id;
        let corrections = Corrections::of(gpu);
        let launched = |p: &MeasuredPoint| {
            let gpu = p.deployment.gpu.id;
            p.modelled(Corrections::of(gpu), launch_per_layer_us(points, gpu))
        };
        match way {
            Predictor::Datasheet => Some(point.modelled(&Corrections::NONE, 0.0)),
            Predictor::Fitted => Some(point.modelled(corrections, 0.0)),
            Predictor::Launched => Some(launched(point)),
            Predictor::Scaled => {
                let there = points.iter().find(|p| {
                    let (a, b) = (&p.deployment, &point.deployment);
                    a.gpu.id == "a100_80_sxm"
                        && b.gpu.id != a.gpu.id
                        && (a.model.id, a.tensor_parallel) == (b.model.id, b.tensor_parallel)
                        && (p.batch, p.prompt_tokens) == (point.batch, point.prompt_tokens)
                })?;
                let (ours, theirs) = (launched(point), launched(there));
                Some((there.prompt_ms * ours.0 / theirs.0, there.token_ms * ours.1 / theirs.1))
            }
        }
    };
    let error = |point: &MeasuredPoint| -> Option<f64> {
        let (prompt, token) = predicted(point)?;
        Some(if what == Quantity::Token { token / point.token_ms } else { prompt / point.prompt_ms } - 1.0)
    };
    let mut signed: Vec<f64> = points.iter().filter(|p| what.has(p) && wanted(p)).filter_map(error).collect();
    let mut sizes: Vec<f64> = signed.iter().map(|e| e.abs()).collect();
    ErrorStats {
        count: signed.len(),
        signed: quantile(&mut signed, 0.5),
        size: quantile(&mut sizes, 0.5),
        most: quantile(&mut sizes, 1.0),
    }
}
