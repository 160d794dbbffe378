//! How far the times of a scenario's iteration-time model were from measured deployments that no constant was fitted to.

use std::cmp::Ordering;

use serde::Serialize;
use servescope_cost::deployment::Deployment;
use servescope_cost::{ExpertLayout, Model};
use servescope_workload::statistics::{median, sort};

use crate::kernels::KernelEngine;
use crate::parameters::choices::CostKind;
use crate::scenario::Scenario;

/// What `expected_errors` of the evidence gave on the measured rows: a line for the iteration-time model, GPU, model, rows, and
/// the median absolute errors of mean TTFT and mean TPOT; `*` stands for all.
pub const EXPECTED_ERRORS: &str = include_str!("expected-errors.txt");

/// Median absolute errors against measured deployments of the engine, shares of what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct ExpectedError {
    /// Of the mean TTFT.
    pub ttft: f64,
    /// Of the mean TPOT.
    pub tpot: f64,
    /// The engine that was measured.
    #[cfg_attr(feature = "types", ts(type = "'vLLM' | 'SGLang'"))]
    pub engine: &'static str,
    /// Measured rows.
    pub rows: u32,
    /// Which they are: `model_and_gpu`, `gpu`, or `all` where neither was measured; `models` for a model of one's own, with
    /// medians over the models.
    #[cfg_attr(feature = "types", ts(type = "'model_and_gpu' | 'gpu' | 'all' | 'models'"))]
    pub of: &'static str,
    /// Whether constants of the iteration-time model were calibrated on other deployments of the models that the rows are of.
    pub is_calibrated: bool,
    /// How far single models were off, for `models`.
    pub models: Option<ModelErrors>,
    /// Measured rows of the model itself, where they are doubted.
    pub doubted: Option<DoubtedRows>,
    /// The measured model that is most like this one, where this one was not measured on this GPU.
    pub nearest: Option<NearestModel>,
}

/// The measured model that is most like the one that is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct NearestModel {
    /// Its name.
    pub name: &'static str,
    /// Whether the rows are of the same GPU.
    pub is_on_gpu: bool,
    /// Measured rows.
    pub rows: u32,
    /// Median absolute error of the mean TTFT against them.
    pub ttft: f64,
    /// The same of the mean TPOT.
    pub tpot: f64,
}

/// Measured rows of a model that ask more of the GPUs than any other server got out of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct DoubtedRows {
    /// How many.
    pub rows: u32,
    /// Median absolute error of the mean TTFT against them.
    pub ttft: f64,
    /// The same of the mean TPOT.
    pub tpot: f64,
    /// The share of the GPUs' peak FLOP/s that one of them would need.
    pub peak_share: f64,
    /// The largest share that a row of another model needs.
    pub other_share: f64,
}

/// Median absolute errors of single models, none of which is the one that is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct ModelErrors {
    /// Models.
    pub count: u32,
    /// The largest of the mean TTFT.
    pub worst_ttft: f64,
    /// The largest of the mean TPOT.
    pub worst_tpot: f64,
}

/// Fewer models on a GPU say too little: then those on all GPUs speak.
const FEWEST_MODELS: usize = 3;

impl ExpectedError {
    /// The larger of both errors.
    pub fn larger(&self) -> f64 {
        self.ttft.max(self.tpot)
    }
}

impl Scenario {
    /// The error to expect, from the nearest measured deployments; `None` for models of iteration times that no measured
    /// deployment can be run with, for SGLang without measured kernels, for TensorRT-LLM, and for experts that are whole on GPUs or shared
    /// by data-parallel ranks, as no measured deployment was run with ranks.
    pub fn expected_error(&self) -> Option<ExpectedError> {
        // A measured server has the scheduler and the kernels of one engine. SGLang's rows without kernels were answered with another
        // host time than that of a scenario.
        let deployment = self.deployment();
        if self.is_trtllm() || deployment.expert_layout != ExpertLayout::ALONE {
            return None;
        }
        let times = match (self.cost_kind(), self.kernel_engine(), self.is_sglang()) {
            (CostKind::Kernels, KernelEngine::Vllm, false) => "kernels",
            (CostKind::Kernels, KernelEngine::Sglang, true) => "sglang_kernels",
            (CostKind::Roofline, _, false) => "roofline",
            _ => return None,
        };
        let nearest = nearest(times, &deployment);
        if self.has_own_model() {
            let over = [deployment.gpu.id, "*"].into_iter().find_map(|gpu| over_models(times, gpu));
            return over.map(|error| ExpectedError { nearest, ..error });
        }
        [
            (deployment.gpu.id, deployment.model.id, "model_and_gpu"),
            (deployment.gpu.id, "*", "gpu"),
            ("*", "*", "all"),
        ]
        .into_iter()
        .find_map(|(gpu, model, of)| recorded([times, gpu, model], of))
        .map(|error| ExpectedError {
            doubted: doubted(deployment.model.id).filter(|_| error.engine == "vLLM"),
            nearest: nearest.filter(|_| error.of != "model_and_gpu"),
            ..error
        })
    }
}

/// Of the models of iteration times only that of measured kernels has constants from measured deployments.
fn is_calibrated(times: &str) -> bool {
    times.ends_with(CostKind::Kernels.name())
}

fn engine(times: &str) -> &'static str {
    if times.starts_with("sglang") { "SGLang" } else { "vLLM" }
}

fn recorded(wanted: [&str; 3], of: &'static str) -> Option<ExpectedError> {
    let (_, rows, [ttft, tpot]) = lines().find(|(names, ..)| *names == wanted)?;
    Some(ExpectedError {
        ttft,
        tpot,
        engine: engine(wanted[0]),
        rows,
        of,
        is_calibrated: is_calibrated(wanted[0]),
        models: None,
        doubted: None,
        nearest: None,
    })
}

/// The measured model most like that of a deployment, on its GPU where any was measured there: the model itself before others, one
/// with experts for one with experts, then the one with the nearest number of active parameters.
fn nearest(times: &str, deployment: &Deployment) -> Option<NearestModel> {
    let own = &deployment.model;
    let on = |gpu: &str| {
        let of_gpu = lines().filter(|([by, on, model], ..)| *by == times && *on == gpu && *model != "*");
        let apart = |model: &Model| {
            let kinds = f64::from(u8::from(model.experts.is_some() != own.experts.is_some()));
            let size = libm::fabs(libm::log(model.active_parameters() / own.active_parameters()));
            (model.id != own.id, kinds, size)
        };
        of_gpu
            .filter_map(|(names, rows, errors)| Some((Model::named(names[2])?, rows, errors)))
            .min_by(|one, other| apart(one.0).partial_cmp(&apart(other.0)).unwrap_or(Ordering::Equal))
    };
    let (found, is_on_gpu) =
        [(on(deployment.gpu.id), true), (on("*"), false)].into_iter().find(|(found, _)| found.is_some())?;
    found.map(|(model, rows, [ttft, tpot])| NearestModel { name: model.name, is_on_gpu, rows, ttft, tpot })
}

/// The doubted rows of a model.
fn doubted(model: &str) -> Option<DoubtedRows> {
    EXPECTED_ERRORS.lines().find_map(|line| {
        let mut cells = line.strip_prefix("doubted * ")?.split_whitespace();
        let is_it = cells.next() == Some(model);
        let rows = cells.next()?.parse().ok()?;
        let mut number = || cells.next()?.parse().ok();
        let found = DoubtedRows {
            rows,
            ttft: number()?,
            tpot: number()?,
            peak_share: number()?,
            other_share: number()?,
        };
        is_it.then_some(found)
    })
}

/// Names, rows and both errors of every line.
fn lines() -> impl Iterator<Item = ([&'static str; 3], u32, [f64; 2])> {
    EXPECTED_ERRORS.lines().filter_map(|line| {
        let mut cells = line.split_whitespace();
        let names = [cells.next()?, cells.next()?, cells.next()?];
        let rows = cells.next()?.parse().ok()?;
        let mut error = || cells.next()?.parse().ok();
        Some((names, rows, [error()?, error()?]))
    })
}

/// The errors of the models that were measured on a GPU, or on all.
fn over_models(times: &str, gpu: &str) -> Option<ExpectedError> {
    let of: Vec<_> =
        lines().filter(|([by, on, model], ..)| *by == times && *on == gpu && *model != "*").collect();
    if of.len() < FEWEST_MODELS {
        return None;
    }
    let sorted = |place: usize| {
        let mut errors: Vec<f64> = of.iter().map(|(.., errors)| errors[place]).collect();
        sort(&mut errors);
        errors
    };
    let [ttft, tpot] = [sorted(0), sorted(1)];
    let worst = |errors: &[f64]| errors[errors.len() - 1];
    Some(ExpectedError {
        ttft: median(&ttft),
        tpot: median(&tpot),
        engine: engine(times),
        rows: of.iter().map(|(_, rows, _)| rows).sum(),
        of: "models",
        is_calibrated: is_calibrated(times),
        models: Some(ModelErrors {
            count: of.len() as u32,
            worst_ttft: worst(&ttft),
            worst_tpot: worst(&tpot),
        }),
        doubted: None,
        nearest: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(cost: &str, gpu: &str, model: &str) -> Option<ExpectedError> {
        let mut scenario = Scenario::of_version(4);
        let settings = [("cost.kind", cost), ("fleet.gpu", gpu), ("fleet.model", model)];
        for (path, value) in settings {
            scenario.set_text(path, value).unwrap();
        }
        scenario.expected_error()
    }

    #[test]
    fn the_nearest_deployments_speak() {
        let own = expected("kernels", "h100_sxm", "llama-3.1-70b").unwrap();
        assert!(own.of == "model_and_gpu" && own.rows >= 5 && own.tpot < 0.1, "{own:?}");
        let gpu = expected("kernels", "h100_sxm", "llama-2-7b").unwrap();
        assert!(gpu.of == "gpu" && gpu.rows > own.rows, "{gpu:?}");
        let all = expected("kernels", "l40s", "llama-2-7b").unwrap();
        assert!(all.of == "all" && all.rows > gpu.rows, "{all:?}");
        // Each model of iteration times has its own errors: over all deployments the roofline's are larger.
        let roofline = expected("roofline", "l40s", "llama-2-7b").unwrap();
        assert!(roofline.ttft > all.ttft && roofline.tpot > all.tpot, "{roofline:?}");
        assert_eq!(expected("profile", "h100_sxm", "llama-2-7b"), None);
    }

    #[test]
    fn the_nearest_measured_model_is_named() {
        let nearest = |cost: &str, gpu: &str, model: &str| {
            let nearest = expected(cost, gpu, model).unwrap().nearest;
            nearest.map(|near| (near.name, near.is_on_gpu))
        };
        assert_eq!(nearest("kernels", "h100_sxm", "llama-3.1-70b"), None);
        assert_eq!(nearest("kernels", "h100_sxm", "qwen2.5-72b"), Some(("Llama-3.1-70B", true)));
        assert_eq!(nearest("kernels", "h100_sxm", "qwen3-30b-a3b"), Some(("gpt-oss-120b", true)));
        // A model that was measured on other GPUs is nearest to itself.
        assert_eq!(nearest("kernels", "a100_80_sxm", "qwen3-32b"), Some(("Qwen3-32B", false)));
        assert!(nearest("roofline", "h200_sxm", "own").is_some_and(|near| near.1));
    }

    #[test]
    fn doubted_rows_of_the_model_are_told() {
        let error = expected("kernels", "h200_sxm", "llama-3.1-8b").unwrap();
        let doubted = error.doubted.unwrap();
        assert!(error.of == "gpu" && doubted.rows == 8 && doubted.tpot > 1.0, "{error:?}");
        assert!(doubted.peak_share > 0.7 && doubted.other_share < 0.5, "{error:?}");
        assert_eq!(expected("kernels", "h200_sxm", "llama-3.1-70b").unwrap().doubted, None);
    }

    #[test]
    fn of_a_model_of_ones_own_the_models_left_out_speak() {
        for cost in ["kernels", "roofline"] {
            let own = expected(cost, "h200_sxm", "own").unwrap();
            let models = own.models.unwrap();
            assert_eq!(own.is_calibrated, cost == "kernels");
            assert!(own.of == "models" && models.count >= 3 && own.rows > 50, "{own:?}");
            assert!(models.worst_ttft > own.ttft && models.worst_tpot > own.tpot, "{own:?}");
            // One model was measured on it.
            let all = expected(cost, "b300_sxm", "own").unwrap();
            assert!(all.models.unwrap().count > models.count, "{all:?}");
        }
        assert_eq!(expected("profile", "h100_sxm", "own"), None);
        assert_eq!(expected("linear", "h100_sxm", "llama-2-7b"), None);
    }
}
