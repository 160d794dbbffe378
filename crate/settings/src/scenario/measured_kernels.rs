//! The scenario's measured kernels: which tables its deployment has, and why it has none.

use std::collections::BTreeSet;

use servescope_cost::kernels::{KernelCost, Kernels, Layout, MissingTable};
use servescope_cost::{Corrections, Deployed, Deployment, Gpu, HostTime, Roofline, WeightFormat};
use servescope_engine::SchedulerKind;

use super::timed::CostSource;
use super::{CostKind, Scenario};
use crate::diagnostic::Diagnostic;
use crate::kernels::{self, CheckpointFormat, KernelEngine, SYNCHRONOUS};
use crate::parameters::choices::{self, Choice};
use crate::parameters::{Id, Value};

/// Why there are no kernels of a deployment.
enum Lack {
    /// None of weights in that format.
    Format,
    /// A table, and no other stands in for it.
    Table(MissingTable),
}

impl Scenario {
    /// Whether kernels of its model and weights were measured on its GPU; it is known before their tables are here.
    pub fn has_measured_kernels(&self) -> bool {
        let [gpu, model, weights] = [Id::FleetGpu, Id::FleetModel, Id::Weights].map(|id| self.choice(id));
        kernels::were_measured(gpu, model, weights)
    }

    /// The iteration-time model where none is given: measured kernels where there are some.
    pub(super) fn usual_cost(&self) -> Value {
        CostKind::ID.value(if self.has_measured_kernels() { CostKind::Kernels } else { CostKind::Roofline })
    }

    /// Measured kernels, with what the roofline knows beyond them: operations, bytes, and the LoRA operators.
    ///
    /// # Errors
    /// [`Diagnostic`] with what there is, where no kernels were measured for the deployment.
    pub fn measured_kernels(&self) -> Result<Deployed<KernelCost>, Diagnostic> {
        let deployment = self.deployment();
        let times = self.kernel_cost(&deployment)?;
        let roofline = Roofline::new(deployment, Corrections::of(deployment.gpu.id), HostTime::NONE);
        Ok(Deployed { times, roofline })
    }

    fn kernel_cost(&self, deployment: &Deployment) -> Result<KernelCost, Diagnostic> {
        let kernels = self.own_kernels(deployment)?;
        self.kernels_with(deployment, kernels, deployment.weights).map_err(|lack| {
            let formats = choices::WEIGHTS.values().iter();
            let is_known =
                |weights: &&WeightFormat| self.kernels_with(deployment, kernels, **weights).is_ok();
            let known: Vec<&str> = formats.filter(is_known).map(|weights| weights.name()).collect();
            self.no_kernels(deployment, &lack, &known)
        })
    }

    /// Whose kernels run.
    pub fn kernel_engine(&self) -> KernelEngine {
        self.chosen(choices::KERNEL_ENGINE)
    }

    /// The engine whose kernels run where none is given: the one that schedules.
    pub(super) fn usual_kernel_engine(&self) -> Value {
        let own = match self.chosen(choices::SCHEDULER) {
            SchedulerKind::Sglang => KernelEngine::Sglang,
            SchedulerKind::Trtllm => KernelEngine::TensorRtLlm,
            _ => KernelEngine::Vllm,
        };
        choices::KERNEL_ENGINE.value(own)
    }

    /// The kernels of the GPU.
    fn own_kernels(&self, deployment: &Deployment) -> Result<&'static Kernels, Diagnostic> {
        let (path, gpu) = (Id::CostKind.row().id, deployment.gpu);
        if let Some(file) = kernels::missing_table(self.kernel_engine(), gpu.id) {
            let model = self.model_name();
            let message = format!("{path}: the measured kernels of {} are not here yet", gpu.name);
            let error = Diagnostic::error("needs_table", path, message);
            return Err(error.text("model", &model).text("gpu", gpu.name).text("file", file));
        }
        kernels::kernels(self.kernel_engine(), gpu.id).ok_or_else(|| {
            let known: Vec<&str> = kernels::gpus().filter_map(Gpu::named).map(|gpu| gpu.name).collect();
            let known = known.join(", ");
            let message = format!("{path}: no kernels were measured on {}; there is {known}", gpu.name);
            Diagnostic::error("no_kernels", path, message).text("gpu", gpu.name).text("known", &known)
        })
    }

    /// The cost of the first checkpoint with such weights whose kernels were measured.
    fn kernels_with(
        &self,
        deployment: &Deployment,
        kernels: &Kernels,
        weights: WeightFormat,
    ) -> Result<KernelCost, Lack> {
        let (gpu, model) = (deployment.gpu, deployment.model);
        let is_asynchronous = self.is_active(Id::AsyncScheduling) && self.flag(Id::AsyncScheduling);
        let synchronous = (!is_asynchronous).then_some(SYNCHRONOUS);
        let captured = self.whole(Id::CapturedTokens);
        let mut lack = Lack::Format;
        for checkpoint in CheckpointFormat::of(weights, &gpu, &model) {
            let [attention, mlp, experts] = checkpoint.formats(&gpu, &model);
            let layout = Layout {
                gpu,
                model,
                tensor_parallel: deployment.tensor_parallel,
                attention_data_parallel: deployment.expert_layout.data_parallel,
                expert_tensor_parallel: deployment.expert_layout.tensor(deployment.tensor_parallel),
                expert_parallel: deployment.expert_layout.groups(deployment.tensor_parallel),
                all_to_all: deployment.expert_layout.all_to_all,
                attention,
                mlp,
                experts,
                kv: deployment.kv,
                has_peer_access: self.flag(Id::PeerAccess),
            };
            match kernels::cost(layout, kernels, kernels::overheads(self.kernel_engine()), synchronous) {
                // Products of another format do not show how long these take.
                Ok(cost) if !cost.has_borrowed_format() => {
                    let cost = cost.in_stages(deployment).capturing(captured);
                    return Ok(match self.expert_balance() {
                        Some(balance) => cost.balancing(balance),
                        None => cost,
                    });
                }
                Ok(_) => {}
                Err(table) => lack = Lack::Table(table),
            }
        }
        Err(lack)
    }

    fn no_kernels(&self, deployment: &Deployment, lack: &Lack, known: &[&str]) -> Diagnostic {
        let (model, gpu) = (self.model_name(), deployment.gpu.name);
        let described = |code: &'static str, path: &'static str, message: String| {
            Diagnostic::error(code, path, message).text("model", &model).text("gpu", gpu)
        };
        if !known.is_empty() {
            let (path, value, known) = (Id::Weights.row().id, self.choice(Id::Weights), known.join(", "));
            let message = format!(
                "{path}: no kernels of {model} with {value} weights were measured on {gpu}; there is {known}"
            );
            return described("no_kernels_of_format", path, message)
                .text("value", value)
                .text("known", &known);
        }
        let path = Id::CostKind.row().id;
        let table = match lack {
            Lack::Format => "",
            Lack::Table(MissingTable(name)) => name,
        };
        let message =
            format!("{path}: not all kernels of {model} were measured on {gpu}; {table} is missing");
        described("no_kernels_of_model", path, message).text("table", table)
    }

    /// Where the times of measured kernels come from.
    pub(super) fn kernel_source(&self) -> Option<CostSource> {
        let deployment = self.deployment();
        let cost = self.kernel_cost(&deployment).ok()?;
        let kernels = kernels::kernels(self.kernel_engine(), deployment.gpu.id)?;
        let sources: BTreeSet<&str> =
            kernels.tables.values().map(|measured| measured.source.as_str()).collect();
        let versions: Vec<String> = sources.iter().map(|source| source.replace('-', " ")).collect();
        Some(CostSource {
            kind: CostKind::Kernels.name(),
            name: format!("{} on {}", versions.join(", "), deployment.gpu.name),
            file: None,
            parts: Vec::new(),
            held_out: Vec::new(),
            stand_ins: cost.borrowed().to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Kind;

    fn scenario(settings: &[(&str, &str)]) -> Scenario {
        let mut scenario = Scenario::of_version(4);
        let common = [
            ("scheduler.kind", "vllm_v1"),
            ("cost.kind", "kernels"),
            ("fleet.gpu", "h100_sxm"),
            ("fleet.model", "llama-3.1-8b"),
            ("workload.duration_s", "20"),
        ];
        for (path, value) in common.iter().chain(settings) {
            scenario.set_text(path, value).unwrap_or_else(|error| panic!("{path}: {error}"));
        }
        scenario
    }

    #[test]
    fn what_was_measured_is_known_without_the_tables() {
        let kinds = [Id::FleetGpu, Id::FleetModel, Id::Weights].map(|id| id.row().kind);
        let [Kind::Choice(gpus), Kind::Choice(models), Kind::Choice(formats)] = kinds else { panic!() };
        let mut measured = 0;
        for (gpu, model) in gpus.iter().flat_map(|gpu| models.iter().map(move |model| (gpu, model))) {
            for format in formats {
                let settings = [("fleet.gpu", *gpu), ("fleet.model", *model), ("fleet.weights", *format)];
                let scenario = scenario(&settings);
                let is_measured = scenario.measured_kernels().is_ok();
                assert_eq!(scenario.has_measured_kernels(), is_measured, "{settings:?}");
                // Other engines' files have all of vLLM's tables that their own do not replace.
                let others = ["sglang", "trtllm"].map(|engine| {
                    let mut other = scenario.clone();
                    other.set_text("cost.kernel_engine", engine).unwrap();
                    other.measured_kernels().is_ok()
                });
                assert!(!is_measured || others == [true; 2], "{settings:?}");
                measured += u32::from(is_measured);
            }
        }
        assert!(measured > 300, "{measured}");
    }
}
