//! The scenario's hardware and model: which cost is asked, of which deployment.

use std::borrow::Cow;

use servescope_cost::{
    BatchCost, Corrections, Deployed, Disturbed, HostTime, LoraKernels, Roofline, TimeError,
    deployment::{Deployment, KvFormat, WeightFormat},
    memory_plan::{Ask, MemoryPlan, Reserve, vidur},
    models::{MODELS, Model, OWN},
};
use servescope_engine::{AdapterMemory, SchedulerKind};
use servescope_workload::stream::Stream;

use super::Scenario;
use super::adapters::{AdapterRanks, adapters_over_pool};
use crate::diagnostic::Diagnostic;
use crate::parameters::Id;
use crate::parameters::byte_size::GIB;
use crate::parameters::choices::{self, CostKind};

/// The model that stands first.
fn default_model() -> &'static Model {
    &MODELS[0]
}

impl Scenario {
    /// How iteration times are computed.
    pub fn cost_kind(&self) -> CostKind {
        self.chosen(CostKind::ID)
    }

    /// Whether the KV memory is what the GPUs have left.
    pub fn plans_memory(&self) -> bool {
        let is_planned = match self.chosen(choices::KvPool::ID) {
            choices::KvPool::Planned => true,
            choices::KvPool::Given => false,
        };
        is_planned && self.is_active(Id::KvPool)
    }

    /// Bytes of a token's keys and values on one GPU: the model's, where one is known.
    pub fn kv_token_bytes(&self) -> f64 {
        if self.cost_kind() != CostKind::Linear {
            return self.memory_plan(AdapterRanks::default()).kv_token_bytes;
        }
        self.number(Id::KvBytesPerToken)
    }

    /// A replica's hardware and model. What was timed had 16 bits.
    pub fn deployment(&self) -> Deployment {
        let is_timed = self.cost_kind() == CostKind::Profile;
        Deployment {
            gpu: self.gpu(),
            model: Model { unquantized: self.number(Id::Unquantized), ..self.model() },
            quantized_head: self.flag(Id::QuantizedHead),
            tensor_parallel: self.whole(Id::TensorParallel),
            pipeline_parallel: self.whole(Id::PipelineParallel),
            expert_layout: self.expert_layout(),
            weights: if is_timed { WeightFormat::Bf16 } else { self.chosen(choices::WEIGHTS) },
            kv: if is_timed { KvFormat::Bf16 } else { self.chosen(choices::KV_FORMAT) },
        }
    }

    /// The model: where a loaded profile is asked for times, one of its dimensions.
    pub(super) fn model(&self) -> Model {
        let chosen = if self.has_own_model() {
            self.own_model()
        } else {
            *Model::named(self.choice(Id::FleetModel)).unwrap_or(default_model())
        };
        self.own_profile().map_or(chosen, |own| Model::of_shape(&own.profile.shape, &chosen))
    }

    /// Its name: the profile's own, where the dimensions are.
    pub fn model_name(&self) -> Cow<'_, str> {
        let name = self.deployment().model.name;
        if name == OWN {
            return self.own_name();
        }
        self.own_profile().filter(|_| name.is_empty()).map_or(name, |own| &own.profile.model).into()
    }

    /// What the iterations of a replica of the first pool take whose adapters have these ranks.
    ///
    /// # Errors
    /// [`Diagnostic`] where operators are asked for that were not timed.
    pub fn replica_cost(&self, ranks: AdapterRanks) -> Result<Box<dyn BatchCost>, Diagnostic> {
        Ok(Disturbed::or_as_it_is(self.with_drafter(self.exact_cost(ranks)?), self.time_error()))
    }

    /// By how much iteration times are off.
    fn time_error(&self) -> TimeError {
        let seed = self.number(Id::Seed) as u64;
        TimeError {
            bias: self.number(Id::ErrorBias),
            noise: self.number(Id::ErrorNoise),
            key: Stream::named(seed, "cost.error").bits(),
        }
    }

    fn exact_cost(&self, ranks: AdapterRanks) -> Result<Box<dyn BatchCost>, Diagnostic> {
        // vLLM's LoRA operators take every adapter for one of the slots' rank; S-LoRA's do not.
        let padded = |roofline: Roofline| match self.chosen(choices::ADAPTER_MEMORY) {
            AdapterMemory::Slots => {
                let (rank, slots) = (self.slot_rank(ranks), self.whole(Id::MaxLoras));
                roofline.with_lora(match self.chosen(choices::LoraKernels::ID) {
                    choices::LoraKernels::Grouped => LoraKernels::Grouped { rank: Some(rank) },
                    kernels => LoraKernels::Slots {
                        rank,
                        slots,
                        are_older: kernels == choices::LoraKernels::Older,
                        captured_tokens: self.whole(Id::CapturedTokens),
                    },
                })
            }
            AdapterMemory::Unified | AdapterMemory::Resident => roofline,
        };
        Ok(match self.cost_kind() {
            CostKind::Linear => Box::new(self.cost()),
            CostKind::Profile => {
                let timed = self.timed()?;
                Box::new(Deployed { roofline: padded(timed.roofline), ..timed })
            }
            CostKind::Roofline => Box::new(padded(self.roofline())),
            CostKind::Kernels => {
                let Deployed { times, roofline } = self.measured_kernels()?;
                Box::new(Deployed { times, roofline: padded(roofline) })
            }
        })
    }

    /// The roofline of its deployment.
    pub fn roofline(&self) -> Roofline {
        let deployment = self.deployment();
        let corrections = match self.chosen(choices::Corrections::ID) {
            choices::Corrections::Fitted => Corrections::of(deployment.gpu.id),
            choices::Corrections::None => &Corrections::NONE,
        };
        let us = |id: Id| self.number(id) * 1e3;
        let host = HostTime {
            base_us: us(Id::HostBase),
            per_request_us: us(Id::HostPerRequest),
            launch_per_layer_us: us(Id::HostLaunch),
        };
        Roofline::new(deployment, corrections, host).with_peer_access(self.flag(Id::PeerAccess))
    }

    /// What lies in a GPU's memory, with the adapters or LoRA slots that are set apart from the start.
    pub fn memory_plan(&self, ranks: AdapterRanks) -> MemoryPlan {
        let kv_gib = if self.is_active(Id::KvCacheGib) { self.number(Id::KvCacheGib) } else { 0.0 };
        let margin = self.number(Id::MemoryMargin);
        let reserve = match self.chosen(choices::SCHEDULER) {
            SchedulerKind::VllmV1 => {
                Reserve::Vllm { utilization: 1.0 - margin, version: self.vllm_version() }
            }
            SchedulerKind::Sglang => Reserve::Sglang { static_share: 1.0 - margin },
            SchedulerKind::Trtllm => Reserve::Trtllm { free_fraction: 1.0 - margin },
            _ => Reserve::Margin(margin),
        };
        let ask = Ask {
            largest: self.largest_iteration(),
            adapter_bytes: self.reserved_bytes(ranks),
            drafter: self.drafter_memory(),
            reserve,
            kv_bytes: kv_gib * GIB,
            block_size: self.block_tokens(),
        };
        MemoryPlan::of(&self.deployment(), &ask)
    }

    /// The same where the KV memory is what it leaves.
    pub fn planned_memory(&self, ranks: AdapterRanks) -> Option<MemoryPlan> {
        let is_whole = self.chosen(choices::MemoryPlan::ID) == choices::MemoryPlan::Whole;
        (self.plans_memory() && is_whole).then(|| self.memory_plan(ranks))
    }

    /// Bytes of each GPU that are set apart for adapters.
    pub(super) fn reserved_bytes(&self, ranks: AdapterRanks) -> f64 {
        let deployment = self.deployment();
        match self.chosen(choices::ADAPTER_MEMORY) {
            _ if ranks.count == 0 => 0.0,
            AdapterMemory::Slots => {
                f64::from(self.whole(Id::MaxLoras)) * deployment.lora_slot_bytes(self.slot_rank(ranks))
            }
            AdapterMemory::Unified | AdapterMemory::Resident => {
                deployment.adapter_bytes_per_rank() * self.reserved_ranks(ranks) as f64
            }
        }
    }

    /// KV tokens of a replica: what the plan leaves, or the pool as given, less what is set apart for adapters.
    ///
    /// # Errors
    /// [`Diagnostic`] with the bytes or tokens that are missing where the model or the adapters do not fit, and for a model that
    /// Vidur's formula does not know.
    pub fn pool_tokens(&self, ranks: AdapterRanks) -> Result<u32, Diagnostic> {
        Ok(self.pool_memory(ranks)?.0)
    }

    /// The same, and the blocks that they are in.
    pub(super) fn pool_memory(&self, ranks: AdapterRanks) -> Result<(u32, u32), Diagnostic> {
        let pool = if self.plans_memory() {
            match self.chosen(choices::MemoryPlan::ID) {
                choices::MemoryPlan::Vidur => self.vidur_pool_tokens()?,
                choices::MemoryPlan::Whole => {
                    let plan = self.memory_plan(ranks);
                    let is_enough = plan.fits() && plan.blocks > 0;
                    return if is_enough {
                        Ok((plan.kv_tokens, plan.blocks))
                    } else {
                        Err(self.why_not(&plan))
                    };
                }
            }
        } else {
            self.whole(Id::MaxTotalTokens)
        };
        let reserved = self.reserved_tokens(ranks);
        match pool.checked_sub(reserved) {
            Some(left) if left > 0 => Ok((left, self.blocks_of_tokens(left, self.block_tokens()))),
            _ => Err(adapters_over_pool(reserved, pool)),
        }
    }

    /// Why a plan does not fit: its adapters, the KV cache asked for, or the model.
    fn why_not(&self, plan: &MemoryPlan) -> Diagnostic {
        let gb = |bytes: f64| (bytes / 1e8).ceil() / 10.0;
        let (model, gpu) = (self.model_name(), self.deployment().gpu.name);
        let missing_gb = gb(plan.missing_bytes);
        let described = |code: &'static str, path: &'static str, why: &str, part_gb: f64| {
            let message = format!("{path}: {why}: {missing_gb} GB are missing on each {gpu}");
            let error = Diagnostic::error(code, path, message).number("missing_gb", missing_gb);
            error.number("part_gb", part_gb).text("model", &model).text("gpu", gpu)
        };
        if plan.missing_bytes <= plan.adapter_bytes {
            let part_gb = gb(plan.adapter_bytes);
            let why = format!("the adapters do not fit beside {model} with {part_gb} GB");
            return described("adapters_do_not_fit", Id::AdapterMemory.row().id, &why, part_gb);
        }
        let is_asked = self.is_active(Id::KvCacheGib) && self.number(Id::KvCacheGib) > 0.0;
        if is_asked && plan.missing_bytes <= plan.kv_bytes - plan.kv_token_bytes {
            let part_gb = gb(plan.kv_bytes);
            let why = format!("a KV cache of {part_gb} GB does not fit beside {model}");
            return described("kv_does_not_fit", Id::KvCacheGib.row().id, &why, part_gb);
        }
        if plan.blocks > 0 {
            let longest = self.whole(Id::MaxRequestTokens);
            let (path, fits, kv_gb) = (Id::MaxRequestTokens.row().id, plan.longest_tokens, gb(plan.kv_bytes));
            let message = format!(
                "{path}: a request of {longest} tokens does not fit into the {kv_gb} GB that {model} leaves for the KV cache \
                 on each {gpu}; at most {fits} tokens do"
            );
            return Diagnostic::error("longest_does_not_fit", path, message)
                .number("value", longest.into())
                .number("max", fits.into())
                .number("part_gb", kv_gb)
                .text("model", &model)
                .text("gpu", gpu);
        }
        self.does_not_fit(plan.missing_bytes)
    }

    /// Why GPUs cannot share the model as they are asked to: engines give every GPU of a layer as many heads as the others,
    /// and every stage a layer; the schedulers of S-LoRA and LightLLM run on one stage.
    pub(super) fn split_problems(&self) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        let stages = self.whole(Id::PipelineParallel);
        let path = Id::PipelineParallel.row().id;
        let scheduler = self.scheduler();
        if scheduler.has_one_stage && stages > 1 && self.is_active(Id::PipelineParallel) {
            let system = scheduler.system;
            let message = format!("{path}: {stages} stages, but {system}'s scheduler runs on 1");
            problems.push(
                Diagnostic::error("one_stage", path, message)
                    .number("value", stages.into())
                    .text("system", system),
            );
        }
        if self.cost_kind() == CostKind::Linear {
            return problems;
        }
        let (deployment, model) = (self.deployment(), self.model_name());
        let layers = deployment.model.layers;
        if stages > layers {
            let message = format!("{path}: {stages} stages for the {layers} layers of {model}");
            let error = Diagnostic::error("more_stages_than_layers", path, message).text("model", &model);
            problems.push(error.number("value", stages.into()).number("max", layers.into()));
        }
        let (heads, gpus) = (deployment.model.attention.heads(), deployment.tensor_parallel);
        // A profile says itself for how many GPUs.
        if self.cost_kind() != CostKind::Profile && heads % gpus != 0 {
            let path = Id::TensorParallel.row().id;
            let message = format!("{path}: {gpus} GPUs cannot share the {heads} heads of {model} evenly");
            let error = Diagnostic::error("heads_not_shared", path, message).text("model", &model);
            problems.push(error.number("value", gpus.into()).number("heads", heads.into()));
        }
        problems
    }

    fn does_not_fit(&self, missing_bytes: f64) -> Diagnostic {
        let (deployment, path) = (self.deployment(), Id::FleetModel.row().id);
        let missing_gb = (missing_bytes / 1e8).ceil() / 10.0;
        let (model, gpu) = (self.model_name(), deployment.gpu.name);
        let message = format!("{path}: {model} does not fit: {missing_gb} GB are missing on each {gpu}");
        Diagnostic::error("does_not_fit", path, message)
            .number("missing_gb", missing_gb)
            .text("model", &model)
            .text("gpu", gpu)
    }

    fn vidur_pool_tokens(&self) -> Result<u32, Diagnostic> {
        let deployment = self.deployment();
        let Some(shape) = deployment.model.dense_shape() else {
            let (path, model) = (Id::MemoryPlan.row().id, self.model_name());
            let message =
                format!("{path}: Vidur's formula knows no experts and no latent attention, as {model} has");
            return Err(Diagnostic::error("vidur_dense_only", path, message).text("model", &model));
        };
        let gpu = deployment.gpu;
        let named = vidur::DEVICES.iter().find(|(name, _)| *name == gpu.id);
        let device = vidur::Device {
            memory_gib: named.map_or(gpu.memory_gb.value, |(_, gib)| *gib),
            margin: self.number(Id::MemoryMargin),
            tensor_parallel: deployment.tensor_parallel,
            stages: deployment.pipeline_parallel,
        };
        let longest = self.whole(Id::MaxRequestTokens);
        let plan = vidur::plan(&shape, &device, longest);
        if plan.slots == 0 {
            let needed = plan.parameter_bytes + plan.request_bytes;
            return Err(self.does_not_fit(needed - plan.available_bytes));
        }
        let block = self.pool().block_size;
        Ok(plan.blocks(longest, block, deployment.pipeline_parallel).saturating_mul(block))
    }
}
