//! Where the better of two settings changes: what is to be simulated next, and what was found. The page simulates the runs in
//! threads of the other module.

use serde::Deserialize;
use serde_json::Value as Json;
use servescope_boundary::convert::{to_js_error, with_charts};
use servescope_boundary::types::{JsCallErrors, JsCrossoverKnown, JsCrossoverSpec, JsCrossoverStep};
use servescope_lab::crossover::{Crossovers, crossovers};
use servescope_lab::metric::Metric;
use servescope_lab::replications::seeds;
use servescope_lab::sweep::Range;
use servescope_output::replies::{CrossoverKnown, CrossoverNeed, CrossoverSpec, CrossoverStep};
use servescope_output::views::crossover::crossover_curves;
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::link;
use servescope_settings::scenario::Scenario;
use wasm_bindgen::prelude::*;

fn read<T: for<'de> Deserialize<'de>>(value: JsValue) -> Result<T, JsCallErrors> {
    let bad =
        |error: serde_wasm_bindgen::Error| Diagnostic::error("bad_json", "crossover", error.to_string());
    serde_wasm_bindgen::from_value(value).map_err(|error| to_js_error(vec![bad(error)]))
}

fn side(settings: &Json) -> Result<Scenario, JsCallErrors> {
    match Scenario::from_values(settings) {
        (scenario, errors) if errors.is_empty() => Ok(scenario),
        (_, errors) => Err(to_js_error(errors)),
    }
}

/// A search for the crossovers, with what is known so far.
#[wasm_bindgen]
#[derive(Debug)]
pub struct CrossoverSearch {
    spec: CrossoverSpec,
    a: Scenario,
    b: Scenario,
    range: Range,
    metric: Metric,
    seeds: Vec<u64>,
    known: Vec<CrossoverKnown>,
}

#[wasm_bindgen]
impl CrossoverSearch {
    /// A search that knows nothing yet.
    ///
    /// # Errors
    /// What is wrong with the settings, the range or the number of seeds.
    #[wasm_bindgen(constructor)]
    pub fn new(spec: &JsCrossoverSpec) -> Result<Self, JsCallErrors> {
        let one = |error: Diagnostic| to_js_error(vec![error]);
        let spec: CrossoverSpec = read(spec.into())?;
        let (a, b) = (side(&spec.a)?, side(&spec.b)?);
        let range = Range::parse(&spec.over).map_err(one)?;
        let metric = Metric::parse(&spec.metric).map_err(one)?;
        let seeds = seeds(&a, spec.seeds).map_err(one)?;
        if seeds.len() < 2 {
            return Err(one(Diagnostic::out_of_range("seeds", seeds.len() as f64, 2.0, f64::INFINITY)));
        }
        Ok(Self { spec, a, b, range, metric, seeds, known: Vec::new() })
    }

    /// The next step, once `more` is known too: the values at which both settings are to be simulated, or, where all that
    /// the search needs is known, what was found with its chart and the terminal's command.
    ///
    /// # Errors
    /// That `more` cannot be read.
    pub fn step(&mut self, more: &JsCrossoverKnown) -> Result<JsCrossoverStep, JsCallErrors> {
        let more: Vec<CrossoverKnown> = read(more.into())?;
        self.known.extend(more);
        let reply = self.reply();
        Ok(with_charts(&reply, [("charts", &reply.charts[..])]).unchecked_into())
    }
}

impl CrossoverSearch {
    fn reply(&self) -> CrossoverStep {
        let Self { spec, a, b, range, metric, known, .. } = self;
        let found = crossovers(*range, metric, self.seeds.len(), |values: &[f64]| {
            let of = |value: f64| known.iter().find(|known| known.value == value).map(CrossoverKnown::paired);
            let missing: Vec<f64> = values.iter().copied().filter(|&value| of(value).is_none()).collect();
            if missing.is_empty() {
                Ok(values.iter().filter_map(|&value| of(value)).collect())
            } else {
                Err(missing)
            }
        });
        let need = |&value: &f64| {
            let of = |side: &Scenario| {
                let mut scenario = side.clone();
                range.set(&mut scenario, value);
                scenario.patch()
            };
            CrossoverNeed { value, a: of(a), b: of(b) }
        };
        CrossoverStep {
            seeds: self.seeds.clone(),
            needs: found.as_ref().err().map_or_else(Vec::new, |missing| missing.iter().map(need).collect()),
            found: found.as_ref().ok().map(Crossovers::found),
            command: command(spec, a, b),
            charts: found.iter().map(crossover_curves).collect(),
        }
    }
}

/// The terminal's command that finds the same.
fn command(spec: &CrossoverSpec, a: &Scenario, b: &Scenario) -> String {
    let address = |scenario: &Scenario| link::quoted(&format!("#{}", link::encode(scenario)));
    format!(
        "servescope compare {} {} --crossover {} --metric {} --seeds {}",
        address(a),
        address(b),
        link::quoted(&spec.over),
        spec.metric,
        spec.seeds
    )
}
