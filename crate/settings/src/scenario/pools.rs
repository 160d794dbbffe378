//! The pools of a fleet: the settings as they are describe the first one, and `fleet.pools` has a text for each other, with the
//! settings in which it differs; and how many replicas a pool has over time.

use servescope_engine::{CountChange, Failures, Fleet, FleetConfig, KvRole, Pool, PoolConfig};

use super::Scenario;
use super::adapters::AdapterRanks;
use crate::diagnostic::{Diagnostic, Reason};
use crate::parameters::choices::{self, ColdStartKind};
use crate::parameters::{Id, Value, string_list};

/// Times of a run at which something is to happen, seconds.
const TIMES_S: std::ops::RangeInclusive<f64> = 0.0..=1e9;
const BAD_TIME: &str = "a time between 0 and 1000000000 s expected";

/// Seconds, with or without an s behind them.
fn number(text: &str) -> Option<f64> {
    text.trim_end_matches('s').parse().ok()
}

fn bad_schedule(path: &str, why: &str, text: &str) -> Diagnostic {
    let message = format!("{path}: {why}, got {text:?}");
    Diagnostic::error("bad_schedule", path, message).text("value", text).text("reason", why)
}

/// Most pools beside the first one.
const MOST_POOLS: usize = 15;

/// Settings whose paths say that they are a replica's, and which are the whole fleet's: where requests go and in which order
/// they wait.
const OF_FLEET: [&str; 17] = [
    "fleet.router",
    "fleet.router_index.",
    "fleet.router_view.",
    "fleet.routers.",
    "fleet.pools",
    "fleet.disaggregation",
    "fleet.disaggregation.",
    "fleet.transfer.",
    "fleet.failures.retries",
    "scheduler.order",
    "scheduler.client",
    "scheduler.fair.",
    "scheduler.prediction.",
    "scheduler.cluster.",
    "scheduler.early_abort.",
    "scheduler.priority.",
    "scheduler.round_robin.",
];

/// A pool of a scenario.
#[derive(Debug, Clone)]
pub struct ScenarioPool {
    /// What it is called; empty where it has no name.
    pub name: String,
    /// The scenario with its settings.
    pub scenario: Scenario,
    /// The settings in which it differs from the first one.
    pub changed: Vec<Id>,
    /// What its replicas do, where prompts are computed by replicas of their own.
    pub role: Option<KvRole>,
}

/// Whether pools may differ in a parameter.
pub fn is_of_pool(id: Id) -> bool {
    let path = id.row().id;
    let of_replica = ["fleet.", "scheduler.", "cost.", "adapters.", "model."];
    let is_fleets = |own: &str| path == own || own.ends_with('.') && path.starts_with(own);
    of_replica.iter().any(|prefix| path.starts_with(prefix))
        && !OF_FLEET.iter().any(|own| is_fleets(own))
        && path != "scheduler.rpm.limit"
}

impl Scenario {
    /// The pools, the first of which has the settings as they are.
    ///
    /// # Errors
    /// [`Diagnostic`] at `fleet.pools` with the place of the pool and what is wrong with its text.
    pub fn fleet_pools(&self) -> Result<Vec<ScenarioPool>, Diagnostic> {
        let mut base = self.clone();
        base.reset(Id::Pools);
        if self.is_disaggregated() {
            return self.pools_by_role(&base);
        }
        let texts = string_list::split(&self.text(Id::Pools));
        if texts.len() > MOST_POOLS {
            let path = Id::Pools.row().id;
            return Err(Diagnostic::out_of_range(
                path,
                texts.len() as f64 + 1.0,
                1.0,
                MOST_POOLS as f64 + 1.0,
            ));
        }
        let mut pools = vec![ScenarioPool {
            name: String::new(),
            scenario: base.clone(),
            changed: Vec::new(),
            role: None,
        }];
        for (place, text) in (2..).zip(&texts) {
            let pool = base.other_pool(place, text)?;
            let is_called = |other: &&ScenarioPool| !pool.name.is_empty() && other.name == pool.name;
            if let Some(other) = pools.iter().find(is_called) {
                let reason = Reason::new("pool_name_twice").text("name", &other.name);
                return Err(bad_pool(place, &format!("another pool is called {}", other.name), reason));
            }
            pools.push(pool);
        }
        Ok(pools)
    }

    /// Whether other pools or counts that change with time say how many replicas there are. What one replica more would serve is
    /// not known then, so that a plan takes the fleet as it is.
    pub fn is_fleet_fixed(&self) -> bool {
        self.is_active(Id::Replicas)
            && (!self.text(Id::Pools).is_empty()
                || !self.text(Id::PoolSchedule).is_empty()
                || self.autoscales()
                || self.may_be_disaggregated())
    }

    /// Takes as many replicas as a plan says, unless the fleet is fixed.
    ///
    /// # Errors
    /// [`Diagnostic`] at `fleet.replicas`: there cannot be so many.
    pub fn plan_replicas(&mut self, replicas: u32) -> Result<(), Diagnostic> {
        if self.is_fleet_fixed() {
            return Ok(());
        }
        self.set(Id::Replicas, Value::Number(replicas.into()))
    }

    pub(super) fn other_pool(&self, place: usize, text: &str) -> Result<ScenarioPool, Diagnostic> {
        let mut pool =
            ScenarioPool { name: String::new(), scenario: self.clone(), changed: Vec::new(), role: None };
        // One replica unless it says otherwise, and as many all the time: the counts of the first pool are its own.
        pool.scenario.reset(Id::Replicas);
        pool.scenario.reset(Id::PoolSchedule);
        pool.scenario.reset(Id::ScalingKind);
        pool.scenario.reset(Id::FailureTimes);
        for setting in text.split(',').map(str::trim).filter(|setting| !setting.is_empty()) {
            let Some((name, value)) = setting.split_once('=') else {
                let reason = Reason::new("pool_form").text("value", setting);
                return Err(bad_pool(place, &format!("PATH=VALUE expected, got {setting:?}"), reason));
            };
            let (name, value) = (name.trim(), value.trim().replace(';', ","));
            if name == "name" {
                pool.name = value;
                continue;
            }
            pool.scenario.set_text(name, &value).map_err(|error| at_pool(place, error))?;
            let Some(id) = Id::from_path(name).filter(|&id| is_of_pool(id)) else {
                let reason = Reason::new("pool_fleet_setting").text("name", name);
                return Err(bad_pool(place, &format!("{name} is a setting of the whole fleet"), reason));
            };
            if pool.changed.contains(&id) {
                let reason = Reason::new("pool_set_twice").text("name", name);
                return Err(bad_pool(place, &format!("{name} is set twice"), reason));
            }
            pool.changed.push(id);
        }
        Ok(pool)
    }

    /// When replicas fail.
    ///
    /// # Errors
    /// [`Diagnostic`] at `fleet.failures.at_s` with the entry that is wrong.
    pub fn failures(&self) -> Result<Failures, Diagnostic> {
        let path = Id::FailureTimes.row().id;
        let time_us = |text: &str| {
            number(text)
                .filter(|at_s| TIMES_S.contains(at_s))
                .map(|at_s| at_s * 1e6)
                .ok_or_else(|| bad_schedule(path, BAD_TIME, text))
        };
        let text = self.text(Id::FailureTimes);
        let times = text.split([',', ';', ' ']).filter(|text| !text.is_empty()).map(time_us);
        let mean_s = self.number(Id::FailureInterval);
        let mean_us = if mean_s > 0.0 { mean_s * 1e6 } else { f64::INFINITY };
        Ok(Failures { times_us: times.collect::<Result<_, _>>()?, mean_us })
    }

    /// How many replicas there are from a time on, as `TIME:COUNT` says.
    ///
    /// # Errors
    /// [`Diagnostic`] at `fleet.autoscaling.schedule` with the entry that is wrong.
    pub fn count_changes(&self) -> Result<Vec<CountChange>, Diagnostic> {
        let path = Id::PoolSchedule.row().id;
        let mut changes: Vec<CountChange> = Vec::new();
        for text in self.text(Id::PoolSchedule).split([',', ';', ' ']).filter(|text| !text.is_empty()) {
            let bad = |why: &str| bad_schedule(path, why, text);
            let parts =
                text.split_once(':').and_then(|(at, count)| Some((number(at)?, count.parse::<u32>().ok()?)));
            let Some((at_s, replicas)) = parts else { return Err(bad("SECONDS:REPLICAS expected")) };
            if !TIMES_S.contains(&at_s) {
                return Err(bad(BAD_TIME));
            }
            if !(1..=1024).contains(&replicas) {
                return Err(bad("1 to 1024 replicas expected"));
            }
            let time_us = at_s * 1e6;
            if changes.last().is_some_and(|before| before.time_us >= time_us) {
                return Err(bad("times in ascending order expected"));
            }
            changes.push(CountChange { time_us, replicas });
        }
        Ok(changes)
    }

    /// The pools for adapters of these ranks, as the engine takes them.
    ///
    /// # Errors
    /// [`Diagnostic`] of a pool: its text, its memory or its iteration times.
    pub fn pools_for(&self, ranks: AdapterRanks) -> Result<Vec<Pool>, Diagnostic> {
        let pool = |(place, of): (usize, ScenarioPool)| {
            let scenario = &of.scenario;
            let made = || {
                Ok(Pool {
                    name: of.name.clone(),
                    failures: scenario.failures()?,
                    schedule: if scenario.autoscales() { Vec::new() } else { scenario.count_changes()? },
                    autoscaling: scenario.autoscaling(),
                    cold_start: scenario.cold_start(ranks),
                    drain_choice: scenario.chosen(choices::DRAIN_PICK),
                    scheduler: None,
                    ..Pool::new(
                        PoolConfig {
                            kv_transfer: of.role.map(|role| scenario.kv_transfer(role)),
                            ..scenario.pool_for(ranks)?
                        },
                        scenario.replica_cost(ranks)?,
                    )
                })
            };
            made().map_err(|error: Diagnostic| if place == 0 { error } else { at_pool(place + 1, error) })
        };
        self.fleet_pools()?.into_iter().enumerate().map(pool).collect()
    }

    /// The fleet before requests with adapters of these ranks, its bounds as given or changed.
    ///
    /// # Errors
    /// As [`Self::pools_for`].
    pub fn build_fleet(
        &self,
        trace: std::sync::Arc<servescope_workload::Trace>,
        ranks: AdapterRanks,
        rules: FleetConfig,
    ) -> Result<Fleet, Diagnostic> {
        let queueing = self.queueing(&trace);
        Ok(Fleet::new(trace, rules, self.pools_for(ranks)?).with_queue_policy(queueing))
    }

    /// The same fleet with twice as many replicas in each pool, at any time; none where they would be too many.
    pub fn with_twice_the_replicas(&self) -> Option<Self> {
        self.with_in_each_pool(|pool| {
            let changes = pool.count_changes().ok()?;
            let schedule: Vec<String> = changes
                .iter()
                .map(|change| format!("{}:{}", change.time_us / 1e6, 2 * change.replicas))
                .collect();
            let twice = |id: Id| (id, Value::Number(2.0 * pool.number(id)));
            let schedule =
                (!schedule.is_empty()).then(|| (Id::PoolSchedule, Value::Text(schedule.join(","))));
            let bounds = pool.autoscales().then(|| [Id::ScalingMin, Id::ScalingMax].map(twice));
            let prefill = pool.is_disaggregated().then(|| twice(Id::PrefillReplicas));
            let counts = [twice(Id::Replicas)].into_iter().chain(bounds.into_iter().flatten()).chain(prefill);
            Some(counts.chain(schedule).collect())
        })
    }

    /// The same fleet whose replicas are ready as soon as they are asked for.
    pub fn without_cold_start(&self) -> Option<Self> {
        let at_once = || {
            vec![
                (Id::ColdStartKind, ColdStartKind::ID.value(ColdStartKind::Total)),
                (Id::StartUp, Value::Number(0.0)),
            ]
        };
        self.with_in_each_pool(|_| Some(at_once()))
    }

    /// The same fleet whose replicas never fail.
    pub fn without_failures(&self) -> Option<Self> {
        let none = || {
            vec![(Id::FailureTimes, Value::Text(String::new())), (Id::FailureInterval, Value::Number(0.0))]
        };
        self.with_in_each_pool(|_| Some(none()))
    }

    /// The same fleet with these settings in each pool, which depend on the pool's own; none where a pool cannot have them.
    fn with_in_each_pool(&self, settings: impl Fn(&Self) -> Option<Vec<(Id, Value)>>) -> Option<Self> {
        let mut changed = self.clone();
        let is_disaggregated = self.is_disaggregated();
        let mut texts = Vec::new();
        for (place, pool) in self.fleet_pools().ok()?.iter().enumerate() {
            if place == 0 {
                // Where replicas have roles, the first pool has a part of those that the settings name.
                for (id, value) in settings(if is_disaggregated { self } else { &pool.scenario })? {
                    changed.set(id, value).ok()?;
                }
                continue;
            }
            let mut new = settings(&pool.scenario)?;
            if is_disaggregated {
                new.retain(|(id, _)| pool.changed.contains(id));
            }
            let own = pool.changed.iter().filter(|&id| new.iter().all(|other| other.0 != *id));
            let mut all: Vec<String> = own.map(|&id| setting(id, &pool.scenario.get(id).to_text())).collect();
            all.extend(new.iter().map(|(id, value)| setting(*id, &value.to_text())));
            if !pool.name.is_empty() && !is_disaggregated {
                all.push(format!("name={}", pool.name));
            }
            texts.push(all.join(","));
        }
        if is_disaggregated {
            changed.set(Id::DecodePool, Value::Text(texts.concat())).ok()?;
        } else {
            changed.set(Id::Pools, Value::Text(string_list::join(texts.iter().map(String::as_str)))).ok()?;
        }
        Some(changed)
    }

    /// What is wrong with the pools and their numbers of replicas; and what does not fit together in one of them.
    pub(super) fn pool_problems(&self) -> Vec<Diagnostic> {
        let mut problems: Vec<Diagnostic> = self.count_changes().err().into_iter().collect();
        problems.extend(self.scaling_problem());
        problems.extend(self.disaggregation_problems());
        if self.text(Id::Pools).is_empty() && !self.is_disaggregated() {
            return problems;
        }
        match self.fleet_pools() {
            Err(error) => problems.push(error),
            Ok(pools) => {
                for (place, pool) in pools.iter().enumerate().skip(1) {
                    let own = pool.scenario.service_problems();
                    let schedule = pool.scenario.count_changes().err();
                    let scaling = pool.scenario.scaling_problem();
                    problems.extend(
                        own.into_iter().chain(schedule).chain(scaling).map(|error| at_pool(place + 1, error)),
                    );
                }
            }
        }
        problems
    }

    /// Settings of pools that do nothing there.
    pub fn pool_notes(&self) -> Vec<Diagnostic> {
        let path = if self.is_disaggregated() { Id::DecodePool } else { Id::Pools }.row().id;
        let mut notes: Vec<Diagnostic> = self.prefill_replicas_note().into_iter().collect();
        for (place, pool) in self.fleet_pools().unwrap_or_default().iter().enumerate().skip(1) {
            for id in pool.changed.iter().filter(|&&id| !pool.scenario.is_active(id)) {
                let name = id.row().id;
                let message =
                    format!("{path}: pool {}: {name} has no effect beside its other settings", place + 1);
                let note = Diagnostic::note("pool_setting_without_effect", path, message);
                notes.push(note.number("pool", place as f64 + 1.0).text("name", name));
            }
        }
        notes
    }
}

/// A setting in the text of a pool, in which commas stand between settings.
fn setting(id: Id, value: &str) -> String {
    format!("{}={}", id.row().id, value.replace(',', ";"))
}

/// The text of a pool that cannot be read.
fn bad_pool(place: usize, why: &str, reason: Reason) -> Diagnostic {
    let path = Id::Pools.row().id;
    let message = format!("{path}: pool {place}: {why}");
    Diagnostic::error("bad_pool", path, message)
        .number("pool", place as f64)
        .text("reason", why)
        .because(reason)
}

/// An error of a pool other than the first, at the parameter that has its text; its code stays, for a table that it lacks is fetched.
fn at_pool(place: usize, error: Diagnostic) -> Diagnostic {
    let path = Id::Pools.row().id;
    let message = format!("{path}: pool {place}: {}", error.message);
    Diagnostic { path: path.to_owned(), message, ..error }.number("pool", place as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pools(text: &str) -> Result<Vec<ScenarioPool>, Diagnostic> {
        let settings = [("scheduler.kind", "vllm_v1"), ("cost.kind", "roofline"), ("fleet.replicas", "3")];
        let mut scenario = Scenario::of_version(4).with(&settings).unwrap();
        scenario.set_text("fleet.pools", text)?;
        scenario.fleet_pools()
    }

    #[test]
    fn other_pools_differ_in_what_they_say() {
        let all = pools(
            "name=small, fleet.gpu=l4, fleet.replicas=2|fleet.gpu=h100_sxm,scheduler.max_running_requests=64",
        )
        .unwrap();
        let of = |pool: &ScenarioPool| {
            (pool.name.clone(), pool.scenario.choice(Id::FleetGpu), pool.scenario.number(Id::Replicas))
        };
        assert_eq!(of(&all[1]), ("small".into(), "l4", 2.0));
        assert_eq!(of(&all[2]), (String::new(), "h100_sxm", 1.0));
        assert_eq!((all.len(), all[0].scenario.number(Id::Replicas)), (3, 3.0));
        assert_eq!(all[2].scenario.number(Id::MaxRunning), 64.0);
    }

    #[test]
    fn errors_name_the_pool_and_what_is_wrong() {
        for (text, part) in [
            ("fleet.gpu=l4|fleet.gpu=tpu", "pool 3: fleet.gpu: tpu is not one of"),
            ("fleet.gpu", "pool 2: PATH=VALUE expected"),
            ("fleet.router=random", "pool 2: fleet.router is a setting of the whole fleet"),
            ("scheduler.fair.lift=max", "is a setting of the whole fleet"),
            ("workload.rate_rps=3", "is a setting of the whole fleet"),
            ("fleet.gpu=l4,fleet.gpu=a10g", "pool 2: fleet.gpu is set twice"),
            ("name=a|name=b|name=a", "pool 4: another pool is called a"),
            ("fleet.replicas=0", "pool 2: fleet.replicas: 0 is not between 1"),
        ] {
            let error = pools(text).unwrap_err();
            assert!(error.message.contains(part), "{text}: {}", error.message);
        }
        let most = vec!["fleet.gpu=l4"; 16].join("|");
        assert!(pools(&most).unwrap_err().message.contains("17 is not between 1 and 16"));
    }

    #[test]
    fn twice_the_replicas_are_twice_as_many_in_each_pool_at_any_time() {
        let mut scenario = Scenario::of_version(4).with(&[("fleet.replicas", "3")]).unwrap();
        scenario
            .set_text("fleet.pools", "name=b,fleet.replicas=2,fleet.autoscaling.schedule=5:4;9:1")
            .unwrap();
        let twice = scenario.with_twice_the_replicas().unwrap().fleet_pools().unwrap();
        let counts: Vec<f64> = twice.iter().map(|pool| pool.scenario.number(Id::Replicas)).collect();
        assert_eq!((counts, twice[1].name.as_str()), (vec![6.0, 4.0], "b"));
        let changes = twice[1].scenario.count_changes().unwrap();
        assert_eq!(changes.iter().map(|change| change.replicas).collect::<Vec<_>>(), [8, 2]);
    }

    #[test]
    fn without_cold_start_no_pool_waits_for_its_replicas() {
        let mut scenario = Scenario::of_version(4)
            .with(&[("fleet.autoscaling.schedule", "5:2"), ("fleet.cold_start.delay_s", "30")])
            .unwrap();
        scenario
            .set_text("fleet.pools", "name=b,fleet.autoscaling.schedule=5:4,fleet.cold_start.delay_s=8")
            .unwrap();
        let pools = scenario.without_cold_start().unwrap().fleet_pools().unwrap();
        let delays: Vec<f64> = pools.iter().map(|pool| pool.scenario.number(Id::StartUp)).collect();
        assert_eq!(delays, [0.0, 0.0]);
        assert_eq!(pools[1].scenario.count_changes().unwrap()[0].replicas, 4);
    }

    #[test]
    fn failures_are_times_and_a_mean() {
        let of = |settings: &[(&str, &str)]| Scenario::of_version(4).with(settings).unwrap().failures();
        assert_eq!(of(&[]).unwrap(), Failures::NONE);
        let found =
            of(&[("fleet.failures.at_s", "120, 30s;7.5"), ("fleet.failures.mtbf_s", "3600")]).unwrap();
        assert_eq!((found.times_us, found.mean_us), (vec![120e6, 30e6, 7.5e6], 3.6e9));
        for bad in ["soon", "-1", "1e10", "NaN"] {
            let error = of(&[("fleet.failures.at_s", bad)]).unwrap_err();
            assert!(error.message.starts_with("fleet.failures.at_s: a time between 0"), "{}", error.message);
        }
        let pools = Scenario::of_version(4)
            .with(&[("fleet.failures.at_s", "5"), ("fleet.failures.mtbf_s", "60"), ("fleet.pools", "name=b")])
            .unwrap();
        // The times are those of the first pool, the mean is that of all.
        let all: Vec<Failures> =
            pools.fleet_pools().unwrap().iter().map(|pool| pool.scenario.failures().unwrap()).collect();
        assert_eq!([all[0].times_us.len(), all[1].times_us.len()], [1, 0]);
        assert_eq!([all[0].mean_us, all[1].mean_us], [6e7; 2]);
        let none = pools.without_failures().unwrap().fleet_pools().unwrap();
        assert!(none.iter().all(|pool| pool.scenario.failures().unwrap() == Failures::NONE));
    }

    #[test]
    fn a_schedule_is_times_with_counts() {
        let of = |text: &str| {
            Scenario::of_version(4).with(&[("fleet.autoscaling.schedule", text)]).unwrap().count_changes()
        };
        let changes = of("60:4, 300s:1").unwrap();
        assert_eq!(
            changes.iter().map(|c| (c.time_us, c.replicas)).collect::<Vec<_>>(),
            [(60e6, 4), (300e6, 1)]
        );
        for (text, part) in [
            ("60", "SECONDS:REPLICAS expected"),
            ("60:0", "1 to 1024 replicas"),
            ("-1:2", "a time between 0"),
            ("60:2,60:3", "ascending order"),
            ("inf:2", "a time between 0"),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.message.contains(part), "{text}: {}", error.message);
        }
    }
}
