//! A grid of configurations: every combination of some parameters' values.

use servescope_cost::gpus::GPUS;
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::parameters::choices::{CostKind, PRICE_KIND};
use servescope_settings::parameters::{Id, Value, string_list};
use servescope_settings::scenario::Scenario;

/// Most configurations of a grid.
pub const MAX_CONFIGURATIONS: usize = 10_000;

/// A parameter and the values it takes in turn.
#[derive(Debug, Clone, PartialEq)]
pub struct GridAxis {
    /// The parameter.
    pub id: Id,
    /// Its values, as they are written.
    pub values: Vec<String>,
}

/// Axes; the last moves fastest.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConfigurationGrid {
    /// The axes.
    pub axes: Vec<GridAxis>,
}

/// One combination.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration {
    /// The value of each axis; empty where the parameter has no effect beside the others.
    pub values: Vec<String>,
    /// Those of the axes of the workload: [`is_of_workload`].
    pub workload: Vec<String>,
    /// The scenario with them.
    pub scenario: Scenario,
    /// Whether its iteration times are the roofline's because no kernels of its own were measured.
    pub is_modelled: bool,
}

impl GridAxis {
    /// Reads `PATH=VALUE,VALUE,...`; between the entries of a list stand semicolons.
    ///
    /// # Errors
    /// [`Diagnostic`] for an unknown parameter, or with the first value that it cannot have.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        let path = Id::CapacityGrid.row().id;
        let bad = |why: &str| {
            let message = format!("{path}: {why}, got {text:?}");
            Err(Diagnostic::error("bad_axis", path, message).text("value", text))
        };
        let Some((of, values)) = text.split_once('=') else { return bad("PATH=VALUE,VALUE expected") };
        let mut scratch = Scenario::default();
        let values: Vec<String> = values.split(',').map(|value| value.trim().replace(';', ",")).collect();
        for value in &values {
            scratch.set_text(of.trim(), value)?;
        }
        let Some(id) = Id::from_path(of.trim()) else { return bad("PATH=VALUE,VALUE expected") };
        if id.row().group == Id::CapacityGrid.row().group && id != Id::UsdPerGpuHour {
            return bad("a parameter of the service or of its workload expected");
        }
        if (1..values.len()).any(|i| values[..i].contains(&values[i])) {
            return bad("values that differ expected");
        }
        Ok(Self { id, values })
    }
}

impl ConfigurationGrid {
    /// Reads axes, each as [`GridAxis::parse`] takes it.
    ///
    /// # Errors
    /// [`Diagnostic`] of an axis, or of [`ConfigurationGrid::check`].
    pub fn parse<'t>(axes: impl IntoIterator<Item = &'t str>) -> Result<Self, Diagnostic> {
        let axes = axes.into_iter().map(GridAxis::parse).collect::<Result<_, _>>()?;
        let grid = Self { axes };
        grid.check()?;
        Ok(grid)
    }

    /// Checks what holds of all axes together.
    ///
    /// # Errors
    /// [`Diagnostic`] for a parameter named twice, or for more than [`MAX_CONFIGURATIONS`].
    pub fn check(&self) -> Result<(), Diagnostic> {
        let path = Id::CapacityGrid.row().id;
        for (place, axis) in self.axes.iter().enumerate() {
            if self.axes[..place].iter().any(|other| other.id == axis.id) {
                let id = axis.id.row().id;
                let message = format!("{path}: {id} is named twice");
                return Err(Diagnostic::error("bad_axis", path, message).text("value", id));
            }
        }
        let count = self.axes.iter().map(|axis| axis.values.len() as f64).product::<f64>();
        if count > MAX_CONFIGURATIONS as f64 {
            return Err(Diagnostic::out_of_range(path, count, 1.0, MAX_CONFIGURATIONS as f64));
        }
        Ok(())
    }

    /// The grid that a scenario names.
    ///
    /// # Errors
    /// As [`ConfigurationGrid::parse`].
    pub fn of(scenario: &Scenario) -> Result<Self, Diagnostic> {
        let texts = string_list::split(&scenario.get(Id::CapacityGrid).to_text());
        Self::parse(texts.iter().map(String::as_str))
    }

    /// What to begin a comparison with: the splits of a fleet whose prefill and decode replicas may be apart, otherwise GPUs; none where
    /// there is nothing to compare.
    pub fn to_begin_with(scenario: &Scenario) -> Option<Self> {
        Self::of_splits(scenario).or_else(|| Self::of_current_gpus(scenario))
    }

    /// Numbers of prefill replicas, beginning with none: all that the fleet can have, or some of them at equal distances.
    fn of_splits(scenario: &Scenario) -> Option<Self> {
        if !scenario.may_be_disaggregated() {
            return None;
        }
        let most = scenario.number(Id::Replicas) as u32 - 1;
        let step = most.div_ceil(MOST_SPLITS);
        let own = scenario.number(Id::PrefillReplicas) as u32;
        let values = (0..=most).filter(|count| count % step == 0 || *count == own || *count == most);
        let values = values.map(|count| count.to_string()).collect();
        Some(Self { axes: vec![GridAxis { id: Id::PrefillReplicas, values }] })
    }

    /// The GPUs to begin a comparison with: those with a price of the scenario's kind and, where its times are measured
    /// kernels, with kernels of its model; and the least degree of tensor parallelism with which each of them holds the model,
    /// beside the scenario's own. The scenario's GPU comes first. None where its GPUs are not to be compared: its cost model
    /// is of one server, its pools have GPUs of their own, its price is that of one GPU, or fewer than two are left.
    fn of_current_gpus(scenario: &Scenario) -> Option<Self> {
        let kind = scenario.chosen(CostKind::ID);
        if !matches!(kind, CostKind::Kernels | CostKind::Roofline)
            || scenario.is_fleet_fixed()
            || scenario.number(Id::UsdPerGpuHour) > 0.0
        {
            return None;
        }
        let (own_gpu, own_degree) =
            (scenario.choice(Id::FleetGpu), scenario.number(Id::TensorParallel) as u32);
        let mut gpus = Vec::new();
        let mut degrees = Vec::new();
        for gpu in GPUS.iter().filter(|gpu| gpu.price_of(scenario.chosen(PRICE_KIND)).is_some()) {
            let on_gpu = with(scenario, Id::FleetGpu, Value::Choice(gpu.id));
            if kind == CostKind::Kernels && !on_gpu.has_measured_kernels() {
                continue;
            }
            let Some(degree) = DEGREES.into_iter().find(|&degree| holds_model(&on_gpu, degree)) else {
                continue;
            };
            gpus.insert(if gpu.id == own_gpu { 0 } else { gpus.len() }, gpu.id.to_owned());
            degrees.push(degree);
            degrees.extend(holds_model(&on_gpu, own_degree).then_some(own_degree));
        }
        let usual = DEGREES.into_iter().filter(|degree| degrees.contains(degree));
        let other = Some(own_degree).filter(|own| degrees.contains(own) && !DEGREES.contains(own));
        let degrees = usual.chain(other).map(|degree| degree.to_string()).collect();
        (gpus.len() > 1).then(|| Self {
            axes: vec![
                GridAxis { id: Id::FleetGpu, values: gpus },
                GridAxis { id: Id::TensorParallel, values: degrees },
            ],
        })
    }

    /// As a scenario writes it; axes of lists have semicolons between the entries.
    pub fn to_text(&self) -> String {
        let axis = |axis: &GridAxis| {
            let values: Vec<String> = axis.values.iter().map(|value| value.replace(',', ";")).collect();
            format!("{}={}", axis.id.row().id, values.join(","))
        };
        let axes: Vec<String> = self.axes.iter().map(axis).collect();
        string_list::join(axes.iter().map(String::as_str))
    }

    /// The axes that change nothing in any of the configurations, and are left out; and that not all have measured kernels.
    pub fn notes(&self, configurations: &[Configuration]) -> Vec<Diagnostic> {
        let is_without = |place: &usize| configurations.iter().all(|one| one.values[*place].is_empty());
        let of = |place: usize| {
            let path = self.axes[place].id.row().id;
            let message = format!("{path} has no effect on the capacity and is left out");
            Diagnostic::note("axis_without_effect", path, message).text("name", path)
        };
        let mut notes: Vec<Diagnostic> = (0..self.axes.len()).filter(is_without).map(of).collect();
        notes.extend(modelled_times(configurations));
        notes
    }

    /// Whether GPUs, models or formats are compared, of which some may have no measured kernels.
    fn varies_hardware(&self) -> bool {
        let is_any = |ids: &[Id]| self.axes.iter().any(|axis| ids.contains(&axis.id));
        is_any(&[Id::FleetGpu, Id::FleetModel, Id::Weights]) && !is_any(&[Id::CostKind])
    }

    /// Every combination on `base`, but for those that differ from an earlier one only in parameters without effect. Where
    /// hardware is compared by measured kernels, a configuration without them takes the roofline's times.
    pub fn configurations(&self, base: &Scenario) -> Vec<Configuration> {
        let count = self.axes.iter().map(|axis| axis.values.len()).product();
        let mut all: Vec<Configuration> = Vec::with_capacity(count);
        let mut seen = std::collections::BTreeSet::new();
        for place in 0..count {
            let mut scenario = base.clone();
            let mut rest = place;
            for axis in self.axes.iter().rev() {
                let value = &axis.values[rest % axis.values.len()];
                rest /= axis.values.len();
                // The values were checked as the axis was read.
                let _ = scenario.set_text(axis.id.row().id, value);
            }
            let is_modelled = self.varies_hardware()
                && scenario.chosen(CostKind::ID) == CostKind::Kernels
                && !scenario.has_measured_kernels()
                && scenario.set(Id::CostKind, CostKind::ID.value(CostKind::Roofline)).is_ok();
            let reported = |axis: &GridAxis| {
                if has_effect(&scenario, axis.id) { scenario.get(axis.id).to_text() } else { String::new() }
            };
            let values: Vec<String> = self.axes.iter().map(reported).collect();
            if seen.insert(values.clone()) {
                let of_axes = self.axes.iter().zip(&values);
                let workload = of_axes.filter(|(axis, _)| is_of_workload(axis.id)).map(|(_, v)| v.clone());
                let workload = workload.collect();
                all.push(Configuration { values, workload, scenario, is_modelled });
            }
        }
        all
    }
}

/// About so many splits of a fleet are compared beside the one without prefill replicas.
const MOST_SPLITS: u32 = 8;

/// Degrees of tensor parallelism that are tried, up to the GPUs of a node.
pub(super) const DEGREES: [u32; 4] = [1, 2, 4, 8];

/// Whether so many GPUs hold the model and its longest request.
pub(super) fn holds_model(on_gpu: &Scenario, degree: u32) -> bool {
    let scenario = with(on_gpu, Id::TensorParallel, Value::Number(f64::from(degree)));
    scenario.pool_tokens(scenario.adapter_ranks()).is_ok()
}

/// A scenario with another value, which its parameter can have.
pub(super) fn with(scenario: &Scenario, id: Id, value: Value) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.set(id, value).expect("a value of the parameter table");
    scenario
}

/// Whether a parameter says what arrives, so that configurations with other values of it do not serve the same.
pub fn is_of_workload(id: Id) -> bool {
    id.row().id.starts_with("workload.")
}

/// That some configurations have the roofline's times in place of measured kernels.
fn modelled_times(configurations: &[Configuration]) -> Option<Diagnostic> {
    let count = configurations.iter().filter(|one| one.is_modelled).count();
    let path = Id::CostKind.row().id;
    let all = configurations.len();
    let message = format!(
        "{path}: of {count} of {all} configurations no kernels were measured; their iteration times are the roofline's"
    );
    let note = Diagnostic::note("modelled_times", path, message);
    (count > 0).then(|| note.number("count", count as f64).number("all", all as f64))
}

/// Whether the capacity of a scenario depends on a parameter. The rate is what is searched, and so is the speed of a file.
fn has_effect(scenario: &Scenario, id: Id) -> bool {
    !matches!(id, Id::Rate | Id::TimeScale) && scenario.is_active(id)
}

#[cfg(test)]
mod tests {
    use servescope_engine::SchedulerKind;
    use servescope_settings::parameters::choices::SCHEDULER;

    use super::*;

    #[test]
    fn a_comparison_begins_with_gpus_that_have_a_price_and_kernels() {
        let grid = |settings: &[(&str, &str)]| {
            let mut scenario = Scenario::default();
            for (path, value) in settings {
                scenario.set_text(path, value).unwrap();
            }
            ConfigurationGrid::to_begin_with(&scenario)
        };
        let small = grid(&[]).unwrap();
        assert_eq!(
            small.to_text(),
            "fleet.gpu=h100_sxm,a100_80_sxm,h200_sxm,b200_sxm,l40s|fleet.tensor_parallel=1"
        );
        assert_eq!(
            ConfigurationGrid::parse(string_list::split(&small.to_text()).iter().map(String::as_str)),
            Ok(small)
        );
        // One GPU holds 140 GB of weights beside the longest request nowhere: two of the largest do, and eight L40S.
        let large = grid(&[("fleet.model", "llama-3.1-70b")]).unwrap();
        assert_eq!(large.axes[1].values, ["2", "4", "8"]);
        // AMD's GPUs have no measured kernels.
        let modelled = grid(&[("cost.kind", "roofline")]).unwrap();
        assert!(modelled.axes[0].values.iter().any(|gpu| gpu == "mi300x"));
        for of_one in
            [("cost.kind", "linear"), ("capacity.usd_per_gpu_hour", "2"), ("fleet.pools", "fleet.gpu=l4")]
        {
            assert_eq!(grid(&[of_one]), None, "{of_one:?}");
        }
    }

    #[test]
    fn a_fleet_that_may_be_split_begins_with_its_splits() {
        let of = |replicas: &str| {
            let settings = [
                ("scheduler.kind", "vllm_v1"),
                ("cost.kind", "kernels"),
                ("fleet.disaggregation.kind", "nixl"),
                ("fleet.disaggregation.prefill_replicas", "5"),
                ("fleet.replicas", replicas),
            ];
            let scenario = Scenario::of_version(5).with(&settings).unwrap();
            let grid = ConfigurationGrid::to_begin_with(&scenario).unwrap();
            (grid.to_text(), grid.configurations(&scenario).len())
        };
        let path = "fleet.disaggregation.prefill_replicas";
        assert_eq!(of("4"), (format!("{path}=0,1,2,3"), 4));
        assert_eq!(of("32"), (format!("{path}=0,4,5,8,12,16,20,24,28,31"), 10));
        // One replica is not split.
        assert!(of("1").0.starts_with("fleet.gpu="));
    }

    #[test]
    fn combinations_without_effect_are_left_out() {
        let grid = ConfigurationGrid::parse([
            "scheduler.kind=vllm,sarathi",
            "scheduler.chunk_tokens=256, 512,1024",
            "workload.adapters.ranks=8,8;64",
        ])
        .unwrap();
        let all = grid.configurations(&Scenario::of_version(4));
        // vLLM has no chunks: 1 x 2 of it, 3 x 2 of Sarathi-Serve.
        assert_eq!(all.len(), 8);
        assert_eq!(all[0].values, ["vllm", "", "8"]);
        assert_eq!(all[1].values[2], "8,64");
        assert_eq!(all[7].values, ["sarathi", "1024", "8,64"]);
        assert_eq!(all[7].scenario.chosen(SCHEDULER), SchedulerKind::Sarathi);
        assert_eq!(ConfigurationGrid::default().configurations(&Scenario::of_version(4)).len(), 1);
    }

    #[test]
    fn what_has_no_measured_kernels_is_modelled_and_said_so() {
        let mut base = Scenario::of_version(4);
        base.set_text("cost.kind", "kernels").unwrap();
        let of = |axes: &[&str]| {
            let grid = ConfigurationGrid::parse(axes.iter().copied()).unwrap();
            let all = grid.configurations(&base);
            let kinds: Vec<&str> = all.iter().map(|one| one.scenario.choice(Id::CostKind)).collect();
            let codes: Vec<&str> = grid.notes(&all).iter().map(|note| note.code).collect();
            (kinds, codes)
        };
        assert_eq!(of(&["fleet.gpu=h100_sxm,a10g"]), (vec!["kernels", "roofline"], vec!["modelled_times"]));
        assert_eq!(of(&["fleet.gpu=h100_sxm,l40s"]), (vec!["kernels", "kernels"], Vec::new()));
        // What is asked for by itself is not replaced.
        assert_eq!(of(&["fleet.replicas=1,2"]).0, ["kernels", "kernels"]);
        assert_eq!(of(&["fleet.gpu=a10g", "cost.kind=kernels,roofline"]).0, ["kernels", "roofline"]);
    }

    #[test]
    fn axes_without_any_effect_are_told() {
        let axes = ["workload.rate_rps=1,2,4", "scheduler.chunk_tokens=256,512", "seed=1,2"];
        let grid = ConfigurationGrid::parse(axes).unwrap();
        // S-LoRA has no chunks.
        let all = grid.configurations(&Scenario::of_version(4));
        assert_eq!(all.len(), 2);
        let paths: Vec<String> = grid.notes(&all).into_iter().map(|note| note.path).collect();
        assert_eq!(paths, ["workload.rate_rps", "scheduler.chunk_tokens"]);
    }

    #[test]
    fn bad_axes_are_told_with_what_is_wrong() {
        let message = |axes: &[&str]| ConfigurationGrid::parse(axes.iter().copied()).unwrap_err().message;
        assert!(message(&["fleet.replicas"]).contains("PATH=VALUE"));
        assert!(message(&["fleet.wings=2"]).contains("fleet.wings"));
        assert!(message(&["fleet.replicas=1,0"]).contains("fleet.replicas: 0 is not between 1 and"));
        assert!(message(&["fleet.replicas=1,1"]).contains("differ"));
        assert!(message(&["fleet.replicas=1", "fleet.replicas=2"]).contains("twice"));
        assert!(message(&["capacity.ttft_s=1,2"]).contains("of the service"));
        let many = (1..=1000).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
        let (seeds, rates) = (format!("seed={many}"), format!("workload.rate_rps={many}"));
        assert!(message(&[&seeds, &rates]).contains("capacity.grid"));
    }
}
