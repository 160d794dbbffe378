//! The scenario's profile: which table of timed operators its deployment has, shipped or loaded, and where its times come
//! from.

use std::sync::Arc;

use serde::Serialize;
use servescope_cost::profile::{By, CompactTables, Degree, NodeNetwork, Profile, ProfileError, TimedOrigin};
use servescope_cost::roofline::{Corrections, HostTime};
use servescope_cost::{Deployed, Gpu, Model, Roofline};

use super::{CostKind, Scenario};
use crate::diagnostic::Diagnostic;
use crate::parameters::Id;
use crate::parameters::choices::{self, HostOverhead};
use crate::profiles::{
    HeldOutError, LoadedProfile, held_out_of, missing_table, shipped_profile, shipped_profiles,
    shipped_tables,
};

/// Where a part of iteration times comes from, and how far it is from what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "TimedPart"))]
pub struct SourcePart {
    /// `operators` or `attention`.
    pub name: &'static str,
    /// `measured`, `reconstructed`, `synthetic` or `modelled`.
    #[cfg_attr(feature = "types", ts(as = "servescope_cost::profile::TimedOrigin"))]
    pub origin: &'static str,
    /// Median of the relative errors.
    pub median_error: f64,
    /// Their 95th percentile.
    pub p95_error: f64,
}

/// Where iteration times come from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "TimedSource"))]
pub struct CostSource {
    /// The iteration-time model: `profile` or `kernels`.
    #[cfg_attr(feature = "types", ts(type = "'profile' | 'kernels'"))]
    pub kind: &'static str,
    /// What was timed: GPU, model, degree.
    pub name: String,
    /// The file, for a profile that was loaded.
    pub file: Option<String>,
    /// The parts of a profile.
    pub parts: Vec<SourcePart>,
    /// What is recorded of a shipped profile where nothing was timed; nothing of a loaded one.
    pub held_out: Vec<HeldOutError>,
    /// Kernels that were not measured for the deployment, by the names of their tables: related ones stand in.
    pub stand_ins: Vec<String>,
}

/// What a GPU or a model is called; an id that neither has stays as it is.
fn shown_name(id: &str) -> String {
    let model = || Model::named(id).map(|model| model.name);
    Gpu::named(id).map(|gpu| gpu.name).or_else(model).unwrap_or(id).to_owned()
}

/// What operators were timed: the degrees of a profile, else the models of the GPU, else those of every GPU.
fn known_operators(profile: Option<&Profile>, gpu: &str, name: fn(&str) -> String) -> String {
    let degrees = |p: &Profile| {
        let list: Vec<String> = p.degrees.iter().map(|d| d.degree.to_string()).collect();
        format!("{} {}", Id::TensorParallel.row().id, list.join(", "))
    };
    let models = |gpu: &str| {
        let of_gpu: Vec<String> =
            shipped_profiles().filter(|known| known.0 == gpu).map(|known| name(known.1)).collect();
        (!of_gpu.is_empty()).then(|| format!("{}: {}", name(gpu), of_gpu.join(", ")))
    };
    let everything = || {
        let mut gpus: Vec<&str> = shipped_profiles().map(|known| known.0).collect();
        gpus.dedup();
        gpus.into_iter().filter_map(models).collect::<Vec<_>>().join("; ")
    };
    profile.map(degrees).or_else(|| models(gpu)).unwrap_or_else(everything)
}

impl Scenario {
    /// Takes a profile that stands for the shipped ones wherever timed operators are asked for; none goes back to those.
    pub fn set_profile(&mut self, profile: Option<Arc<LoadedProfile>>) {
        self.profile = profile;
    }

    /// The profile that stands for the shipped ones, to give it to another scenario.
    pub fn shared_profile(&self) -> Option<Arc<LoadedProfile>> {
        self.profile.clone()
    }

    /// The profile that stands for the shipped ones, in use or not.
    pub fn loaded_profile(&self) -> Option<&LoadedProfile> {
        self.profile.as_deref()
    }

    /// The loaded profile, where it is in use.
    pub(super) fn own_profile(&self) -> Option<&LoadedProfile> {
        self.profile.as_deref().filter(|_| self.cost_kind() == CostKind::Profile)
    }

    /// The profile of the deployment, and its degree.
    fn profile(&self) -> Result<(&Profile, &Degree), Diagnostic> {
        let deployment = self.deployment();
        let own = self.own_profile().map(|own| &own.profile);
        let (gpu, model) = own.map_or((deployment.gpu.id, deployment.model.id), |own| (&own.gpu, &own.model));
        if let Some(file) = missing_table(gpu, model).filter(|_| own.is_none()) {
            let path = Id::CostKind.row().id;
            let (model, gpu) = (self.model_name(), deployment.gpu.name);
            let message = format!("{path}: the operator table of {model} on {gpu} is not here yet");
            let error = Diagnostic::error("needs_table", path, message);
            return Err(error.text("model", &model).text("gpu", gpu).text("file", file));
        }
        let profile = own.or_else(|| shipped_profile(gpu, model));
        let found = profile.and_then(|p| Some((p, p.degree(deployment.tensor_parallel)?)));
        found.ok_or_else(|| {
            let degree = deployment.tensor_parallel;
            let message = format!(
                "{}: no operators were timed for {model} on {gpu} with {degree} GPUs a layer; there is {}",
                Id::CostKind.row().id,
                known_operators(profile, gpu, str::to_owned)
            );
            Diagnostic::error("no_profile", Id::CostKind.row().id, message)
                .text("model", &shown_name(model))
                .text("gpu", &shown_name(gpu))
                .text("degree", &degree.to_string())
                .text("known", &known_operators(profile, gpu, shown_name))
        })
    }

    /// The name of the node whose messages are asked for; none is the profile's own.
    fn network_name(&self) -> Option<&'static str> {
        let chosen = match self.chosen(choices::NodeNetwork::ID) {
            choices::NodeNetwork::Profile => None,
            chosen @ choices::NodeNetwork::PairwiseNvlink => Some(chosen.name()),
        };
        chosen.filter(|_| self.is_active(Id::FleetNetwork))
    }

    /// The node whose messages are asked for.
    fn network<'a>(&self, profile: &'a Profile, degree: u32) -> Result<Option<&'a NodeNetwork>, Diagnostic> {
        let Some(name) = self.network_name() else { return Ok(None) };
        let network = profile.network(name);
        if let Some(network) = network.filter(|network| network.has_degree(degree)) {
            return Ok(Some(network));
        }
        let path = Id::FleetNetwork.row().id;
        let degrees =
            [1].into_iter().chain(network.into_iter().flat_map(|n| n.all_reduces.iter().map(|r| r.0)));
        let degrees: Vec<String> = degrees.map(|degree| degree.to_string()).collect();
        let known = match network {
            Some(_) => format!("{name}: {} {}", Id::TensorParallel.row().id, degrees.join(", ")),
            None => choices::NodeNetwork::Profile.name().to_owned(),
        };
        let message =
            format!("{path}: no messages between {degree} GPUs of {name} were timed; there is {known}");
        Err(Diagnostic::error("no_network", path, message)
            .number("degree", degree.into())
            .text("known", &known))
    }

    /// The timed operators of its deployment.
    ///
    /// # Errors
    /// [`Diagnostic`] with what there is, where these were not timed.
    pub fn timed(&self) -> Result<Deployed<CompactTables>, Diagnostic> {
        let (profile, degree) = self.profile()?;
        let deployment = self.deployment();
        let unknown = |error: ProfileError| {
            let path = Id::CostKind.row().id;
            Diagnostic::error("unknown_option", path, format!("{path}: {error}"))
        };
        let settings = profile.settings(degree.degree, deployment.pipeline_parallel);
        let shipped = shipped_profile(deployment.gpu.id, deployment.model.id);
        let mut tables = match shipped.filter(|shipped| std::ptr::eq(*shipped, profile)) {
            Some(shipped) => shipped_tables(shipped, settings, self.network(shipped, degree.degree)?),
            None => profile.tables_on(settings, self.network(profile, degree.degree)?),
        }
        .map_err(unknown)?;
        let has_host = match self.chosen(HostOverhead::ID) {
            HostOverhead::None => false,
            HostOverhead::Measured => true,
        };
        if has_host {
            let host = profile.host(degree.degree).ok_or_else(|| {
                let own =
                    self.own_profile().map(|own| (own.profile.gpu.as_str(), own.profile.model.as_str()));
                let (gpu, model) = own.unwrap_or((deployment.gpu.id, deployment.model.id));
                let path = Id::HostOverhead.row().id;
                let message = format!("{path}: no host overhead was measured for {model} on {gpu}");
                let error = Diagnostic::error("no_host_profile", path, message);
                error.text("model", &shown_name(model)).text("gpu", &shown_name(gpu))
            })?;
            tables = tables.with_host(host);
        }
        let corrections = Corrections::of(deployment.gpu.id);
        let roofline = Roofline::new(deployment, corrections, HostTime::NONE);
        Ok(Deployed { times: tables, roofline })
    }

    /// Where iteration times come from, for timed operators and measured kernels.
    pub fn cost_source(&self) -> Option<CostSource> {
        match self.cost_kind() {
            CostKind::Profile => self.profile_source(),
            CostKind::Kernels => self.kernel_source(),
            CostKind::Linear | CostKind::Roofline => None,
        }
    }

    fn profile_source(&self) -> Option<CostSource> {
        let (profile, degree) = self.profile().ok()?;
        let part = |name: &'static str, origin: TimedOrigin, [median, p95]: [u32; 2]| SourcePart {
            name,
            origin: origin.name(),
            median_error: f64::from(median) / 1e4,
            p95_error: f64::from(p95) / 1e4,
        };
        // The least certain of a layer's operators speaks for all.
        let layer = degree.lines.iter().filter(|l| l.operator.by != By::Requests).map(|l| l.origin);
        let operators = layer.max().unwrap_or(TimedOrigin::Modelled);
        let file = self.own_profile().map(|own| own.name.clone());
        let whose = if file.is_some() { "" } else { "Vidur: " };
        let network = self.network_name().map_or_else(String::new, |name| format!(", {name}"));
        let held_out = if file.is_some() { Vec::new() } else { held_out_of(degree) };
        Some(CostSource {
            kind: CostKind::Profile.name(),
            name: format!("{whose}{} on {}, TP {}{network}", profile.model, profile.gpu, degree.degree),
            file,
            held_out,
            parts: vec![
                part("operators", operators, degree.errors.layer),
                part("attention", degree.attention.origin, degree.errors.attention),
            ],
            stand_ins: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use servescope_cost::{Batch, BatchCost, Chunk, LoraBatch};

    fn scenario(settings: &[(&str, &str)]) -> Scenario {
        let mut scenario = Scenario::of_version(4);
        let common = [("scheduler.kind", "vllm_v1"), ("cost.kind", "profile"), ("workload.duration_s", "20")];
        for (path, value) in common.iter().chain(settings) {
            scenario.set_text(path, value).unwrap();
        }
        scenario
    }

    /// Says how much longer adapters make each stage.
    fn adapters_in_stages(cost: &dyn BatchCost, chunks: &[Chunk]) -> [f64; 2] {
        let batch = |kv_tokens: u32, with: u32| Batch {
            chunks,
            decodes: 24,
            decode_kv_tokens: kv_tokens.into(),
            any_adapter: with > 0,
            lora: LoraBatch::of_one(16 * with, 24),
            ..Batch::default()
        };
        let stages = |kv_tokens, with| {
            [false, true].map(|is_last| cost.stage_time(&batch(kv_tokens, with), is_last).first_us)
        };
        let [first, later] = [9_600, 9_600 + 3 * 24];
        let constants = cost.stage_constants(&batch(first, 1));
        let found = cost.batch_stages(&batch(first, 1), &constants);
        assert_eq!(found.us, stages(first, 1));
        if chunks.is_empty() {
            assert_eq!(cost.batch_stages(&batch(later, 1), &constants).us, stages(later, 1));
            let reported = found.line.and_then(|line| line.us(24, later.into()));
            assert!(reported.is_none_or(|us| us == stages(later, 1)), "{reported:?}");
        }
        let without = stages(first, 0);
        std::array::from_fn(|stage| found.us[stage] - without[stage])
    }

    #[test]
    fn the_stages_of_a_batch_take_as_long_together_as_each_alone() {
        let pipeline = |kind: &str, gpu: &str| {
            let settings = [
                ("cost.kind", kind),
                ("fleet.gpu", gpu),
                ("fleet.model", "llama-2-7b"),
                ("fleet.pipeline_parallel", "2"),
            ];
            scenario(&settings)
        };
        let timed = pipeline("profile", "a100_80_sxm").timed().unwrap();
        let measured = pipeline("kernels", "h100_sxm").measured_kernels().unwrap();
        let roofline = pipeline("roofline", "h100_sxm").roofline();
        let costs: [&dyn BatchCost; 3] = [&timed, &measured, &roofline];
        for cost in costs {
            for chunks in [&[][..], &[Chunk { kv_tokens: 64, tokens: 300 }]] {
                let more_us = adapters_in_stages(cost, chunks);
                assert!(more_us.iter().all(|&us| us > 0.0), "{more_us:?}");
            }
        }
    }
}
