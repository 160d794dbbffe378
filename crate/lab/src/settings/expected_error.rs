//! How far the times of a scenario's iteration-time model were from measured deployments that no constant was fitted to.

use serde::Serialize;

use crate::parameters::choices::CostKind;
use crate::scenario::Scenario;

/// What [`crate::silicon::expected_errors`] gave on the measured rows: a line for the iteration-time model, GPU, model, rows, and
/// the median absolute errors of mean TTFT and mean TPOT; `*` stands for all.
pub const EXPECTED_ERRORS: &str = include_str!("expected-errors.txt");

/// Median absolute errors against measured deployments of vLLM, shares of what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct ExpectedError {
    /// Of the mean TTFT.
    pub ttft: f64,
    /// Of the mean TPOT.
    pub tpot: f64,
    /// Measured rows.
    pub rows: u32,
    /// Which they are: `model_and_gpu`, `gpu`, or `all` where neither was measured.
    #[cfg_attr(feature = "types", ts(type = "'model_and_gpu' | 'gpu' | 'all'"))]
    pub of: &'static str,
}

impl Scenario {
    /// The error to expect, from the nearest measured deployments; `None` for models of iteration times that no measured
    /// deployment can be run with.
    pub fn expected_error(&self) -> Option<ExpectedError> {
        match self.cost_kind() {
            CostKind::Roofline | CostKind::Kernels => {}
            CostKind::Linear | CostKind::Profile => return None,
        }
        let (law, deployment) = (self.cost_kind().name(), self.deployment());
        [
            (deployment.gpu.id, deployment.model.id, "model_and_gpu"),
            (deployment.gpu.id, "*", "gpu"),
            ("*", "*", "all"),
        ]
        .into_iter()
        .find_map(|(gpu, model, of)| recorded([law, gpu, model], of))
    }
}

fn recorded(wanted: [&str; 3], of: &'static str) -> Option<ExpectedError> {
    EXPECTED_ERRORS.lines().find_map(|line| {
        let mut cells = line.split_whitespace();
        let is_it = wanted.iter().all(|name| cells.next() == Some(*name));
        let rows = cells.next().filter(|_| is_it)?.parse().ok()?;
        let mut error = || cells.next()?.parse().ok();
        Some(ExpectedError { ttft: error()?, tpot: error()?, rows, of })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(cost: &str, gpu: &str, model: &str) -> Option<ExpectedError> {
        let mut scenario = Scenario::default();
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
        let roofline = expected("roofline", "h100_sxm", "llama-3.1-70b").unwrap();
        assert!(roofline.ttft > own.ttft && roofline.tpot > own.tpot, "{roofline:?}");
        assert_eq!(expected("profile", "h100_sxm", "llama-2-7b"), None);
        assert_eq!(expected("linear", "h100_sxm", "llama-2-7b"), None);
    }
}
