//! The plan of a sweep as a file, for runs on several machines: a line of JSON with everything that its results depend on,
//! then a line for each run.

use serde_json::{Map, Value as Json, json};
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::parameters::{Id, Value};
use servescope_settings::profiles::LoadedProfile;
use servescope_settings::scenario::Scenario;
use servescope_traces::loaded_trace::LoadedTrace;

use super::{MAX_AXES, Sweep, SweepAxis};
use crate::metric::Metric;
use crate::replications::MAX_SEEDS;

/// Why a plan cannot be run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SweepPlanError {
    /// It is no plan.
    #[error("no plan of a sweep: {0}")]
    NoPlan(String),
    /// Something in it is wrong.
    #[error("{0}")]
    Diagnostic(Diagnostic),
    /// A line is not what the first line says.
    #[error("line {line} is not what the first line of the plan says")]
    Changed {
        /// From 1 on.
        line: usize,
    },
    /// It was made with another trace or profile.
    #[error("the plan was made with {what} {wanted}, here it is {got}")]
    OtherInput {
        /// Which file.
        what: &'static str,
        /// Its digest in the plan, or "none".
        wanted: String,
        /// Its digest here.
        got: String,
    },
}

impl From<Diagnostic> for SweepPlanError {
    fn from(error: Diagnostic) -> Self {
        Self::Diagnostic(error)
    }
}

impl Sweep {
    /// The plan as a file: the first line says what is swept, each other line is a run: its number, its point and its seed.
    pub fn plan(&self) -> String {
        self.plan_lines().fold(String::new(), |mut text, line| {
            text.push_str(&line);
            text.push('\n');
            text
        })
    }

    fn plan_lines(&self) -> impl Iterator<Item = String> {
        let mut header = json!({"sweep": self.shape().id, "runs": self.runs()});
        if let (Json::Object(header), Json::Object(more)) = (&mut header, self.header()) {
            header.extend(more);
        }
        let line = |index: usize| {
            let paths = self.shape().paths.iter().cloned();
            let point: Map<_, _> = paths.zip(self.point(index)).collect();
            json!({"index": index, "point": point, "seed": self.seed(index)}).to_string()
        };
        std::iter::once(header.to_string()).chain((0..self.runs()).map(line))
    }

    /// Reads a plan. The trace and the profile that it was made with come beside it.
    ///
    /// # Errors
    /// [`SweepPlanError`].
    pub fn from_plan(
        text: &str,
        loaded: Option<&LoadedTrace>,
        profile: Option<std::sync::Arc<LoadedProfile>>,
    ) -> Result<Self, SweepPlanError> {
        let first = text.lines().next().unwrap_or_default();
        let json: Json =
            serde_json::from_str(first).map_err(|error| SweepPlanError::NoPlan(error.to_string()))?;
        let missing = |key: &str| SweepPlanError::NoPlan(format!("{key} is missing or of the wrong kind"));
        let list = |key: &'static str| json.get(key).and_then(Json::as_array).ok_or_else(|| missing(key));
        let made_by = json.get("made_by").and_then(Json::as_str).ok_or_else(|| missing("made_by"))?;
        let own = concat!("servescope ", env!("CARGO_PKG_VERSION"));
        if made_by != own {
            return Err(SweepPlanError::NoPlan(format!("it was made by {made_by}, this is {own}")));
        }
        let (mut base, errors) =
            Scenario::from_values(json.get("scenario").ok_or_else(|| missing("scenario"))?);
        if let Some(error) = errors.into_iter().next() {
            return Err(error.into());
        }
        base.set_profile(profile);
        let mut axes = Vec::new();
        for over in list("over")?.iter().take(MAX_AXES + 1) {
            let path = over.get("path").and_then(Json::as_str).ok_or_else(|| missing("over.path"))?;
            axes.push(SweepAxis::of_json(path, over.get("values").ok_or_else(|| missing("over.values"))?)?);
        }
        let metrics = list("metrics")?.iter().map(|m| m.as_str().ok_or_else(|| missing("metrics")));
        let metrics = Metric::parse_all(metrics.collect::<Result<Vec<_>, _>>()?)?;
        let mut seeds = Vec::new();
        for seed in list("seeds")?.iter().take(MAX_SEEDS + 1) {
            let seed = seed.as_u64().ok_or_else(|| missing("seeds"))?;
            Id::Seed.row().check(&Value::Number(seed as f64))?;
            seeds.push(seed);
        }
        if seeds.is_empty() || seeds.len() > MAX_SEEDS {
            return Err(Diagnostic::out_of_range("seeds", seeds.len() as f64, 1.0, MAX_SEEDS as f64).into());
        }
        let sweep = Self::of_seeds(&base, axes, metrics, seeds, loaded)?;
        let inputs =
            [("a trace", "trace", &sweep.inputs.trace), ("a profile", "profile", &sweep.inputs.profile)];
        for (what, key, own) in inputs {
            let wanted = json.get(key).and_then(Json::as_str);
            if wanted != own.as_deref() {
                let name = |digest: Option<&str>| digest.unwrap_or("none").to_owned();
                return Err(SweepPlanError::OtherInput {
                    what,
                    wanted: name(wanted),
                    got: name(own.as_deref()),
                });
            }
        }
        sweep.check_plan(text)?;
        Ok(sweep)
    }

    /// Whether the text is this sweep's plan, line by line.
    fn check_plan(&self, text: &str) -> Result<(), SweepPlanError> {
        let mut given = text.lines();
        for (place, line) in self.plan_lines().enumerate() {
            if given.next() != Some(line.as_str()) {
                return Err(SweepPlanError::Changed { line: place + 1 });
            }
        }
        if given.any(|line| !line.trim().is_empty()) {
            return Err(SweepPlanError::Changed { line: self.runs() + 2 });
        }
        Ok(())
    }
}
