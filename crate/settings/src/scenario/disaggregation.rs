//! Prefill and decode in pools of their own, as the scenario has them: of the replicas some compute prompts, the others decode, and may
//! have settings of their own.

use servescope_engine::{
    Decider, Disaggregation, KvGroups, KvRole, KvTransfer, LinkSharing, LoadFailure, RouterKind,
};

use super::Scenario;
use super::pools::ScenarioPool;
use crate::diagnostic::Diagnostic;
use crate::parameters::choices::{
    DisaggregationKind, DisaggregationPolicy, KvLoadFailure, PrefillRouter, TransferSharing,
};
use crate::parameters::{Id, Value};

impl Scenario {
    /// Whether prompts are computed by replicas of their own.
    pub fn is_disaggregated(&self) -> bool {
        self.may_be_disaggregated() && self.whole(Id::PrefillReplicas) > 0
    }

    /// Whether replicas are divided into those that compute prompts, none of them perhaps, and those that decode.
    pub fn may_be_disaggregated(&self) -> bool {
        self.is_active(Id::Disaggregation) && self.chosen(DisaggregationKind::ID) == DisaggregationKind::Nixl
    }

    /// How many of the replicas compute prompts: one at least is left to decode.
    fn prefill_replicas(&self) -> u32 {
        self.whole(Id::PrefillReplicas).min(self.whole(Id::Replicas).saturating_sub(1)).max(1)
    }

    /// The pools of prefill and of decode replicas. `base` has the settings as they are, and `fleet.disaggregation.decode` those in which
    /// decode replicas differ. A rule that scales, and a mean time between failures, are of both pools; times and counts that are listed
    /// are those of the prefill replicas.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub(super) fn pools_by_role(&self, base: &Self) -> Result<Vec<ScenarioPool>, Diagnostic> {
        let path = Id::DecodePool.row().id;
        let mut base = base.clone();
        base.reset(Id::DecodePool);
        let (all, prefill) = (self.whole(Id::Replicas), self.prefill_replicas());
        let mut decode = base.other_pool(2, &self.text(Id::DecodePool)).map_err(|error| {
            let message = error.message.replacen(Id::Pools.row().id, path, 1);
            Diagnostic { path: path.to_owned(), message, ..error }
        })?;
        if !decode.changed.contains(&Id::ScalingKind) {
            decode.scenario.set(Id::ScalingKind, self.get(Id::ScalingKind))?;
        }
        for (scenario, count) in
            [(&mut base, prefill), (&mut decode.scenario, all.saturating_sub(prefill).max(1))]
        {
            scenario.set(Id::Replicas, Value::Number(count.into()))?;
        }
        "decode".clone_into(&mut decode.name);
        decode.role = Some(KvRole::Consumer);
        let name = "prefill".to_owned();
        Ok(vec![
            ScenarioPool { name, scenario: base, changed: Vec::new(), role: Some(KvRole::Producer) },
            decode,
        ])
    }

    /// A pool's part in handing requests over. A block takes the links of all GPUs that share a layer, each with its own part.
    pub(super) fn kv_transfer(&self, role: KvRole) -> KvTransfer {
        let block_bytes = self.kv_token_bytes() * f64::from(self.block_tokens());
        KvTransfer { role, block_us: block_bytes / (self.number(Id::TransferRate) * 1e3) }
    }

    /// How the fleet hands requests over.
    pub(super) fn disaggregation(&self) -> Option<Disaggregation> {
        if !self.is_disaggregated() {
            return None;
        }
        let tokens = self.whole(Id::IslTokens);
        let (ratio, busy) = (self.number(Id::IslRatio), self.number(Id::PrefillBusy));
        Some(Disaggregation {
            policy: match self.chosen(DisaggregationPolicy::ID) {
                DisaggregationPolicy::Always => Decider::Always,
                DisaggregationPolicy::Never => Decider::Never,
                DisaggregationPolicy::Threshold => {
                    Decider::Threshold(self.whole(Id::DisaggregationThreshold))
                }
                DisaggregationPolicy::IslBounding => Decider::UncachedPrompt { tokens, ratio },
                DisaggregationPolicy::PrefillLoad => Decider::PrefillLoad(busy),
                DisaggregationPolicy::IslOrLoad => Decider::UncachedPromptOrLoad { tokens, ratio, busy },
            },
            decode_busy: self.number(Id::DecodeBusy),
            prefill_router: match self.chosen(PrefillRouter::ID) {
                PrefillRouter::LeastKv => RouterKind::LeastKv,
                PrefillRouter::LeastOutstanding => RouterKind::LeastOutstanding,
                PrefillRouter::FewestWaiting => RouterKind::FewestWaiting,
                PrefillRouter::PowerOfTwo => RouterKind::PowerOfTwo,
                PrefillRouter::PrefixAffinity => RouterKind::PrefixAffinity,
                PrefillRouter::RoundRobin => RouterKind::RoundRobin,
                PrefillRouter::Random => RouterKind::Random,
            },
            route_us: self.number(Id::DecodeRoute) * 1e3,
            base_us: self.number(Id::TransferBase) * 1e3,
            sharing: match self.chosen(TransferSharing::ID) {
                TransferSharing::Shared => LinkSharing::MaxMin,
                TransferSharing::None => LinkSharing::Alone,
            },
            load_failure: match self.chosen(KvLoadFailure::ID) {
                KvLoadFailure::Fail => LoadFailure::Fail,
                KvLoadFailure::Recompute => LoadFailure::Recompute,
            },
            failing_loads: self.number(Id::FailingLoads),
            ttft_at_prefill_end: self.flag(Id::TtftAtPrefill),
        })
    }

    /// What cannot be simulated beside prefill and decode in pools of their own.
    pub(super) fn disaggregation_problems(&self) -> Vec<Diagnostic> {
        if !self.is_disaggregated() {
            return Vec::new();
        }
        let path = Id::Disaggregation.row().id;
        let mut problems = Vec::new();
        let beside = |id: Id| {
            let other = id.row().id;
            let message = format!("{path}: prefill and decode apart are not simulated beside {other}");
            Diagnostic::error("disaggregation_beside", path, message).text("name", other)
        };
        let is_set = [
            (Id::Pools, !self.text(Id::Pools).is_empty()),
            (Id::HostCacheGib, self.is_active(Id::HostCacheGib) && self.number(Id::HostCacheGib) > 0.0),
        ];
        problems.extend(is_set.into_iter().filter(|row| row.1).map(|row| beside(row.0)));
        let Ok(pools) = self.fleet_pools() else { return problems };
        let differ = |of: fn(&Self) -> f64| of(&pools[0].scenario) != of(&pools[1].scenario);
        if pools.iter().any(|pool| pool.scenario.kv_groups() != KvGroups::FULL) {
            let message =
                format!("{path}: KV transfer is simulated for models whose layers all keep every token");
            problems.push(Diagnostic::error("disaggregation_groups", path, message));
        } else if pools.iter().any(|pool| !pool.scenario.is_vllm_v1())
            || differ(|pool| f64::from(pool.block_tokens()))
            || differ(|pool| {
                pool.kv_token_bytes() * pool.number(Id::TensorParallel) * pool.number(Id::PipelineParallel)
            })
        {
            let path = Id::DecodePool.row().id;
            let message = format!(
                "{path}: prefill and decode replicas need the same scheduler, model, KV format and KV block size"
            );
            problems.push(Diagnostic::error("disaggregation_differs", path, message));
        }
        problems
    }

    /// Fewer replicas compute prompts than was asked for, so that one is left to decode.
    pub fn prefill_replicas_note(&self) -> Option<Diagnostic> {
        let (asked, taken) = (self.whole(Id::PrefillReplicas), self.prefill_replicas());
        (self.is_disaggregated() && taken < asked).then(|| {
            let path = Id::PrefillReplicas.row().id;
            let message =
                format!("{path}: {taken} of the replicas compute prompts, so that one is left to decode");
            Diagnostic::note("prefill_replicas_cut", path, message).number("value", taken.into())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(settings: &[(&str, &str)]) -> Scenario {
        let own = [
            ("scheduler.kind", "vllm_v1"),
            ("cost.kind", "kernels"),
            ("fleet.gpu", "h100_sxm"),
            ("fleet.model", "qwen3-8b"),
            ("fleet.replicas", "6"),
            ("fleet.disaggregation.kind", "nixl"),
        ];
        let mut scenario = Scenario::default();
        for (path, value) in own.iter().chain(settings) {
            scenario.set_text(path, value).unwrap();
        }
        scenario
    }

    #[test]
    fn replicas_are_divided_and_one_is_left_to_decode() {
        let counts = |prefill: &str| {
            let pools = with(&[("fleet.disaggregation.prefill_replicas", prefill)]).fleet_pools().unwrap();
            let of = |place: usize| (pools[place].role, pools[place].scenario.whole(Id::Replicas));
            [of(0), of(1)]
        };
        let [producer, consumer] = [Some(KvRole::Producer), Some(KvRole::Consumer)];
        assert_eq!(counts("2"), [(producer, 2), (consumer, 4)]);
        assert_eq!(counts("9"), [(producer, 5), (consumer, 1)]);
        let note = with(&[("fleet.disaggregation.prefill_replicas", "9")]).prefill_replicas_note();
        assert_eq!(note.map(|note| note.code), Some("prefill_replicas_cut"));
        assert!(with(&[]).prefill_replicas_note().is_none());
        // None for prompts: all are alike.
        let none = with(&[("fleet.disaggregation.prefill_replicas", "0")]);
        assert!(none.disaggregation().is_none() && none.is_fleet_fixed());
        assert_eq!(none.fleet_pools().unwrap().len(), 1);
        // One replica serves whole requests.
        assert!(with(&[("fleet.replicas", "1")]).disaggregation().is_none());
    }

    /// 147,456 bytes a token (36 layers, 8 heads of 128 at 16 bits, twice), as Mooncake has it.
    #[test]
    fn a_block_takes_its_bytes_over_the_link_of_each_gpu() {
        let block_us = |settings: &[(&str, &str)]| with(settings).kv_transfer(KvRole::Producer).block_us;
        let rate = ("fleet.transfer.gb_per_s", "18.25");
        assert_eq!(block_us(&[rate]), 147_456.0 * 16.0 / 18.25e3);
        assert_eq!(block_us(&[rate, ("fleet.tensor_parallel", "2")]), 147_456.0 * 8.0 / 18.25e3);
    }

    /// Mooncake and vLLM, one prefill and one decode replica of 8 H800 each, Qwen3-8B: milliseconds of a transfer by tokens. Its law is
    /// .39 ms and 146 GB/s over 8 GPUs, within 7 %.
    #[test]
    fn transfers_take_as_long_as_mooncake_measured() {
        let measured = [
            (128, 0.54),
            (512, 0.92),
            (1_024, 1.50),
            (2_048, 2.51),
            (4_096, 4.75),
            (8_192, 8.84),
            (16_384, 16.43),
            (32_768, 31.65),
        ];
        let scenario = with(&[
            ("fleet.tensor_parallel", "8"),
            ("fleet.transfer.gb_per_s", "18.25"),
            ("fleet.transfer.base_ms", "0.39"),
        ]);
        let own = scenario.disaggregation().unwrap();
        let block_us = scenario.kv_transfer(KvRole::Producer).block_us;
        for (tokens, measured_ms) in measured {
            let ms = (own.base_us + f64::from(tokens / 16) * block_us) / 1e3;
            let error: f64 = ms / measured_ms - 1.0;
            println!("{tokens} tokens: {ms:.2} ms, measured {measured_ms}: {:+.1} %", 100.0 * error);
            assert!(error.abs() < 0.07, "{tokens} tokens: {ms} ms, measured {measured_ms}");
        }
    }

    #[test]
    fn decode_replicas_may_differ_but_not_in_the_model() {
        let problems = |text: &str| -> Vec<&str> {
            let scenario = with(&[("fleet.disaggregation.decode", text)]);
            scenario.pool_problems().into_iter().map(|problem| problem.code).collect()
        };
        assert_eq!(problems("fleet.gpu=h200_sxm,fleet.tensor_parallel=2"), Vec::<&str>::new());
        assert_eq!(problems("fleet.model=qwen3-32b"), ["disaggregation_differs"]);
        assert_eq!(problems("scheduler.block_size=32"), ["disaggregation_differs"]);
        assert_eq!(problems("fleet.router=random"), ["bad_pool"]);
        let beside = |path: &str, value: &str| -> Vec<&str> {
            with(&[(path, value)]).pool_problems().into_iter().map(|problem| problem.code).collect()
        };
        assert_eq!(beside("fleet.pools", "fleet.gpu=l4"), ["disaggregation_beside"]);
        assert_eq!(beside("fleet.autoscaling.kind", "hpa"), Vec::<&str>::new());
        assert_eq!(beside("fleet.data_parallel_size", "4"), Vec::<&str>::new());
    }

    /// A rule holds for both pools unless the decode replicas have their own; a list of times holds for the prefill replicas.
    #[test]
    fn pools_by_role_scale_and_fail() {
        let of = |settings: &[(&str, &str)]| -> Vec<(bool, usize, usize, u32)> {
            let pools = with(settings).fleet_pools().unwrap();
            let of_pool = |pool: &ScenarioPool| {
                let own = &pool.scenario;
                let (failures, changes) = (own.failures().unwrap(), own.count_changes().unwrap());
                (own.autoscales(), failures.times_us.len(), changes.len(), own.whole(Id::ScalingMax))
            };
            pools.iter().map(of_pool).collect()
        };
        let rule = ("fleet.autoscaling.kind", "hpa");
        assert_eq!(of(&[rule]), [(true, 0, 0, 8), (true, 0, 0, 8)]);
        let own = ("fleet.disaggregation.decode", "fleet.autoscaling.kind=schedule,fleet.failures.at_s=3;4");
        assert_eq!(of(&[rule, own]), [(true, 0, 0, 8), (false, 2, 0, 8)]);
        let lists = [("fleet.autoscaling.schedule", "60:4"), ("fleet.failures.at_s", "30")];
        assert_eq!(of(&lists), [(false, 1, 1, 8), (false, 0, 0, 8)]);
        let twice = with(&[rule, ("fleet.disaggregation.decode", "fleet.autoscaling.max=5")]);
        let twice = twice.with_twice_the_replicas().unwrap();
        let most: Vec<u32> =
            twice.fleet_pools().unwrap().iter().map(|pool| pool.scenario.whole(Id::ScalingMax)).collect();
        assert_eq!(most, [16, 10]);
    }
}
