//! Metrics over one or more parameters: every combination of their values, each with the same seeds.
//!
//! A [`Sweep`] numbers its runs: the last axis moves fastest, and the seeds of a point follow each other. A finished run is a
//! [`SweepLine`] of JSON that says which run of which sweep it is, so lines can be written in any order, by any number of machines,
//! and put together again ([`resume`], [`join`]). Written in their order they are the same bytes on any number of machines.

mod axis;
mod expected;
mod idle;
pub mod journal;
mod lines;
mod plan;
mod results;

pub use axis::{MAX_VALUES, Range, SweepAxis};
pub use expected::{Expected, ExpectedValue};
pub use lines::{LinesError, Resumed, SweepLine, SweepShape, join, resume};
pub use plan::SweepPlanError;
pub use results::{AxisValues, Results, Row, SweepCell, SweepPoint};

use std::fmt::Write as _;

use axis::{bad, counted};
use serde_json::{Map, Value as Json, json};
use servescope_settings::diagnostic::{Diagnostic, Reason};
use servescope_settings::parameters::{Id, Value};
use servescope_settings::scenario::Scenario;
use servescope_traces::loaded_trace::LoadedTrace;
use servescope_traces::recipe;
use servescope_workload::Trace;

use crate::metric::{Measured, Members, Metric};
use crate::replications;
use crate::run::Run;

/// Most runs of one sweep.
pub const MAX_RUNS: usize = 200_000;

/// Most parameters of one sweep.
pub const MAX_AXES: usize = 4;

/// What a sweep reads from files beside its scenario, as digests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct SweepInputs {
    trace: Option<String>,
    profile: Option<String>,
}

/// Every combination of some parameters' values, and what is measured of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    base: Scenario,
    axes: Vec<SweepAxis>,
    metrics: Vec<Metric>,
    seeds: Vec<u64>,
    inputs: SweepInputs,
    shape: SweepShape,
}

impl Sweep {
    /// A sweep over `axes` on `base`, each point with `seeds` seeds from the scenario's own on; over a loaded trace where
    /// there is one.
    ///
    /// # Errors
    /// [`Diagnostic`] for no axis, no metric, one of a user or adapter that no point has, a parameter named twice, too many
    /// axes, seeds or runs.
    pub fn new(
        base: &Scenario,
        axes: Vec<SweepAxis>,
        metrics: Vec<Metric>,
        seeds: usize,
        loaded: Option<&LoadedTrace>,
    ) -> Result<Self, Diagnostic> {
        Self::of_seeds(base, axes, metrics, replications::seeds(base, seeds)?, loaded)
    }

    fn of_seeds(
        base: &Scenario,
        axes: Vec<SweepAxis>,
        metrics: Vec<Metric>,
        seeds: Vec<u64>,
        loaded: Option<&LoadedTrace>,
    ) -> Result<Self, Diagnostic> {
        if axes.is_empty() || axes.len() > MAX_AXES {
            return Err(bad(
                "--over",
                &format!("1 to {MAX_AXES} parameters expected, got {}", axes.len()),
                counted("sweep_axes", axes.len(), MAX_AXES),
            ));
        }
        if metrics.is_empty() {
            return Err(bad(
                "--metric",
                "at least one number of the summary expected, such as ttft_s.p99",
                Reason::new("sweep_no_metric"),
            ));
        }
        for (place, axis) in axes.iter().enumerate() {
            if axes[..place].iter().any(|other| other.id == axis.id) {
                return Err(bad(
                    axis.path(),
                    "the parameter is named twice",
                    Reason::new("sweep_axis_twice"),
                ));
            }
        }
        let members = members(base, &axes, loaded);
        metrics.iter().try_for_each(|metric| members.check(metric))?;
        let lengths = axes.iter().map(|axis| axis.values.len()).chain([seeds.len()]);
        let runs = lengths.clone().try_fold(1_usize, usize::checked_mul).filter(|runs| *runs <= MAX_RUNS);
        let Some(runs) = runs else {
            let product: Vec<String> = lengths.map(|n| n.to_string()).collect();
            let product = product.join(" x ");
            let sentence = format!("{product} runs are more than {MAX_RUNS}");
            let reason = Reason::new("sweep_runs").text("runs", &product).number("max", MAX_RUNS as f64);
            return Err(bad("--over", &sentence, reason));
        };
        let inputs = SweepInputs {
            trace: loaded.map(|loaded| trace_digest(&loaded.trace)),
            profile: base
                .loaded_profile()
                .map(|profile| recipe::digest(profile.profile.to_text().as_bytes())),
        };
        let shape = SweepShape {
            id: String::new(),
            runs,
            paths: axes.iter().map(|axis| axis.path().to_owned()).collect(),
            metrics: metrics.iter().map(|metric| metric.path().to_owned()).collect(),
        };
        let mut sweep = Self { base: base.clone(), axes, metrics, seeds, inputs, shape };
        sweep.shape.id = recipe::digest(sweep.header().to_string().as_bytes());
        Ok(sweep)
    }

    /// Everything that its results depend on.
    fn header(&self) -> Json {
        let over = |axis: &SweepAxis| json!({"path": axis.path(), "values": axis.to_json()});
        // Not only what differs from its default: an axis may change the default.
        let given = self.base.held().map(|id| (id.row().id.to_owned(), self.base.get(id).to_json()));
        json!({
            "version": 1,
            "made_by": concat!("servescope ", env!("CARGO_PKG_VERSION")),
            "scenario": given.collect::<Map<_, _>>(),
            "over": self.axes.iter().map(over).collect::<Vec<_>>(),
            "metrics": self.shape.metrics,
            "seeds": self.seeds,
            "trace": self.inputs.trace,
            "profile": self.inputs.profile,
        })
    }

    /// What each of its lines says of it.
    pub fn shape(&self) -> &SweepShape {
        &self.shape
    }

    /// What is measured.
    pub fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// The axes.
    pub fn axes(&self) -> &[SweepAxis] {
        &self.axes
    }

    /// The axes with their values as results have them.
    pub fn axis_values(&self) -> Vec<AxisValues> {
        let of = |axis: &SweepAxis| AxisValues {
            path: axis.path().to_owned(),
            values: axis.values.iter().map(Value::to_json).collect(),
        };
        self.axes.iter().map(of).collect()
    }

    /// Seeds of each point.
    pub fn seeds(&self) -> usize {
        self.seeds.len()
    }

    /// How many runs.
    pub fn runs(&self) -> usize {
        self.shape.runs
    }

    /// The values of a run, one for each axis.
    fn values(&self, index: usize) -> Vec<&Value> {
        let mut rest = index / self.seeds.len();
        let mut values: Vec<&Value> = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            values.push(&axis.values[rest % axis.values.len()]);
            rest /= axis.values.len();
        }
        values.reverse();
        values
    }

    fn point(&self, index: usize) -> Vec<Json> {
        self.values(index).into_iter().map(Value::to_json).collect()
    }

    fn seed(&self, index: usize) -> u64 {
        self.seeds[index % self.seeds.len()]
    }

    /// The scenario of a run.
    pub fn scenario(&self, index: usize) -> Scenario {
        let mut scenario = replications::with_seed(&self.base, self.seed(index));
        for (axis, value) in self.axes.iter().zip(self.values(index)) {
            scenario.set(axis.id, value.clone()).expect("the values were checked as the axis was made");
        }
        scenario
    }

    /// Simulates a run, and reads its metrics.
    pub fn simulate(&self, index: usize, loaded: Option<&LoadedTrace>) -> SweepLine {
        self.line(index, self.run(index, loaded))
    }

    /// Simulates a run.
    ///
    /// # Errors
    /// Every [`Diagnostic`] of its scenario.
    pub fn run(&self, index: usize, loaded: Option<&LoadedTrace>) -> Result<Run, Vec<Diagnostic>> {
        Run::simulate(&self.scenario(index), loaded)
    }

    /// The line of a run. A point whose settings contradict each other, or that makes no request, has its error in place of
    /// numbers.
    pub fn line(&self, index: usize, run: Result<Run, Vec<Diagnostic>>) -> SweepLine {
        let reported = |errors: Vec<Diagnostic>| {
            errors.into_iter().map(|error| error.message).collect::<Vec<_>>().join("; ")
        };
        self.line_of(index, run.map(|run| Measured::of(&run, &self.metrics)).map_err(reported))
    }

    /// The line of a run that was measured elsewhere, or why it could not be made.
    pub fn line_of(&self, index: usize, measured: Result<Measured, String>) -> SweepLine {
        let (values, digest, error) = match measured {
            Ok(Measured { values, digest, .. }) => (values, Some(digest), None),
            Err(why) => (vec![None; self.metrics.len()], None, Some(why)),
        };
        SweepLine { index, point: self.point(index), seed: self.seed(index), values, digest, error }
    }
}

/// The most users and adapters that any point has.
fn members(base: &Scenario, axes: &[SweepAxis], loaded: Option<&LoadedTrace>) -> Members {
    let counts = |axis: &&SweepAxis| [Id::Users, Id::Adapters].contains(&axis.id);
    let of = |axis: &SweepAxis, value: &Value| {
        let mut point = base.clone();
        point.set(axis.id, value.clone()).expect("the values were checked as the axis was made");
        Members::of(&point, loaded)
    };
    let points =
        axes.iter().filter(counts).flat_map(|axis| axis.values.iter().map(move |value| of(axis, value)));
    points.fold(Members::of(base, loaded), Members::or)
}

/// A digest of everything in a trace, by what it looks like.
fn trace_digest(trace: &Trace) -> String {
    /// FNV-1a with 64 bits of a text as it is written.
    struct Hash(u64);
    impl std::fmt::Write for Hash {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            for byte in text.bytes() {
                self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
            Ok(())
        }
    }
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    write!(hash, "{trace:?}").expect("a hash takes any text");
    format!("{:016x}", hash.0)
}

#[cfg(test)]
mod tests;
