//! What a trace file was made from: a scenario with its seed or other files, steps, and the format.
//!
//! A recipe is one line of JSON. It lies beside the file as `FILE.recipe.json`, or inside where the format allows that:
//! behind `# servescope ` above the header of the own CSV, under the key `servescope_recipe` in the first line of the own
//! JSON Lines. Readers pass over it.

use serde_json::{Value as Json, json};
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::json_text;
use servescope_settings::parameters::Id;
use servescope_settings::repeated_keys::repeated_keys;
use servescope_settings::scenario::Scenario;
use servescope_workload::Trace;
use servescope_workload::formats::{self, Format, RECIPE_KEY, RECIPE_MARK};
use servescope_workload::transform::{self, StepEffect, TransformStep};

use crate::arrivals::trace_of;

/// Where the requests of a file came from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// A scenario, with its seed.
    Scenario(Box<Scenario>),
    /// Other files, each with its name and the digest of its bytes, and how they were put together.
    Files {
        /// Names and digests.
        files: Vec<(String, String)>,
        /// The step that put them together; `None` for one file.
        join: Option<TransformStep>,
    },
}

/// What a trace file was made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    /// Where the requests came from.
    pub source: Source,
    /// The steps that were taken then.
    pub steps: Vec<TransformStep>,
    /// The format that was written.
    pub format: Format,
}

/// The digest of a file's bytes: FNV-1a with 64 bits, in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}

impl Recipe {
    /// The recipe as one line of JSON.
    pub fn to_text(&self) -> String {
        let mut json = json!({"version": 1, "made_by": concat!("servescope ", env!("CARGO_PKG_VERSION"))});
        match &self.source {
            Source::Scenario(scenario) => {
                let mut changed = scenario.to_json();
                changed["seed"] = scenario.get(Id::Seed).to_json();
                json["scenario"] = changed;
            }
            Source::Files { files, join } => {
                let entries = files.iter().map(|(name, digest)| json!({"name": name, "digest": digest}));
                json["files"] = entries.collect();
                json["join"] = join.as_ref().map_or(Json::Null, |step| step.to_text().into());
            }
        }
        json["steps"] = self.steps.iter().map(TransformStep::to_text).collect();
        json["format"] = self.format.name().into();
        json.to_string()
    }

    /// Reads the JSON of a recipe.
    ///
    /// # Errors
    /// Every [`Diagnostic`].
    pub fn from_json(json: &Json) -> Result<Self, Vec<Diagnostic>> {
        let bad = |what: &str| vec![Diagnostic::error("bad_json", "", format!("recipe: {what}"))];
        if json["version"] != 1 {
            return Err(bad("version 1 expected"));
        }
        let step = |text: &Json| {
            let text = text.as_str().ok_or_else(|| bad("a step is no text"))?;
            TransformStep::parse(text).map_err(|error| bad(&error.to_string()))
        };
        let texts = json["steps"].as_array().ok_or_else(|| bad("steps is no list"))?;
        let steps = texts.iter().map(step).collect::<Result<_, _>>()?;
        let name = json["format"].as_str().unwrap_or_default();
        let format = Format::from_name(name).filter(|format| format.is_writable());
        let format = format.ok_or_else(|| bad(&format!("format {name:?} cannot be written")))?;
        let source = if let Some(files) = json["files"].as_array() {
            let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
            let files = files.iter().map(|file| (text(&file["name"]), text(&file["digest"]))).collect();
            let join = Some(&json["join"]).filter(|join| !join.is_null()).map(step).transpose()?;
            Source::Files { files, join }
        } else {
            let (scenario, errors) = Scenario::from_json(&json["scenario"]);
            if !errors.is_empty() {
                return Err(errors);
            }
            Source::Scenario(Box::new(scenario))
        };
        Ok(Self { source, steps, format })
    }

    /// The recipe in a file: a file of its own, or a trace file with its recipe inside. `None` where there is none.
    ///
    /// # Errors
    /// Every key that is given twice in an object of the recipe.
    pub fn find(bytes: &[u8]) -> Result<Option<Json>, Vec<Diagnostic>> {
        let Some((text, json)) = Self::found(bytes) else { return Ok(None) };
        let repeated = repeated_keys(text);
        if repeated.is_empty() { Ok(Some(json)) } else { Err(repeated) }
    }

    fn found(bytes: &[u8]) -> Option<(&str, Json)> {
        let text = std::str::from_utf8(bytes).ok()?;
        let first = text.lines().next()?;
        if let Some(recipe) = first.strip_prefix(RECIPE_MARK) {
            return Some((recipe, serde_json::from_str(recipe).ok()?));
        }
        let (text, json) = match serde_json::from_str::<Json>(first) {
            Ok(json) => (first, json),
            Err(_) => (text, json_text::parse(text).ok()?),
        };
        let inside = json.get(RECIPE_KEY).cloned();
        let own = || Some(json).filter(|json| json.get("steps").is_some() && json.get("format").is_some());
        inside.or_else(own).map(|recipe| (text, recipe))
    }

    /// The text of a trace with its recipe inside; `None` for a format that has no place for it.
    pub fn inside(&self, text: &str) -> Option<String> {
        let recipe = self.to_text();
        match self.format {
            Format::Servescope => Some(format!("{RECIPE_MARK}{recipe}\n{text}")),
            Format::ServescopeJsonl => Some(format!("{{\"{RECIPE_KEY}\": {recipe}}}\n{text}")),
            _ => None,
        }
    }

    /// The trace that a scenario's recipe makes, with what its steps did.
    ///
    /// # Errors
    /// Every [`Diagnostic`] of the scenario and its steps; a recipe of other files cannot be made without them.
    pub fn trace(&self) -> Result<(Trace, Vec<StepEffect>), Vec<Diagnostic>> {
        let Source::Scenario(scenario) = &self.source else {
            let message = "recipe: the file was made of other files, which convert reads".to_owned();
            return Err(vec![Diagnostic::error("no_trace", "", message)]);
        };
        let trace = trace_of(scenario, None)?;
        if self.steps.is_empty() {
            return Ok((Trace::clone(&trace), Vec::new()));
        }
        transform::apply(&self.steps, Trace::clone(&trace)).map_err(|error| vec![Diagnostic::of_step(&error)])
    }

    /// The trace as text in the format of the recipe.
    pub fn write(&self, trace: &Trace) -> String {
        formats::write(trace, self.format).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(format: Format, steps: &[&str]) -> Recipe {
        let mut scenario = Scenario::of_version(4);
        scenario.set_text("workload.arrivals.cv", "3").unwrap();
        let steps = steps.iter().map(|text| TransformStep::parse(text).unwrap()).collect();
        Recipe { source: Source::Scenario(Box::new(scenario)), steps, format }
    }

    #[test]
    fn a_recipe_makes_the_same_bytes_again_wherever_it_lies() {
        for (format, steps) in [
            (Format::Servescope, &["window:start_s=10,end_s=200", "thin:keep=0.3,seed=9"][..]),
            (Format::ServescopeJsonl, &[]),
            (Format::Mooncake, &["stretch:factor=2"]),
        ] {
            let recipe = recipe(format, steps);
            let text = recipe.write(&recipe.trace().unwrap().0);
            let mut places = vec![recipe.to_text()];
            places.extend(recipe.inside(&text));
            for place in places {
                let found = Recipe::from_json(&Recipe::find(place.as_bytes()).unwrap().unwrap()).unwrap();
                assert_eq!(found.to_text(), recipe.to_text());
                assert_eq!(found.write(&found.trace().unwrap().0), text);
            }
            if let Some(inside) = recipe.inside(&text) {
                assert_eq!(formats::read(inside.as_bytes()), formats::read(text.as_bytes()));
            }
        }
    }

    #[test]
    fn bad_recipes_are_told() {
        let message = |text: &str| {
            let json: Json = serde_json::from_str(text).unwrap();
            Recipe::from_json(&json).unwrap_err()[0].message.clone()
        };
        assert_eq!(message("{}"), "recipe: version 1 expected");
        let with = |rest: &str| format!("{{\"version\": 1, {rest}}}");
        assert_eq!(message(&with("\"steps\": 3")), "recipe: steps is no list");
        assert!(
            message(&with("\"steps\": [\"thin:keep=7\"]")).contains("thin.keep: 7 is not between 0 and 1")
        );
        assert!(message(&with("\"steps\": [], \"format\": \"servegen\"")).contains("cannot be written"));
        let rate = "\"steps\": [], \"format\": \"vidur\", \"scenario\": {\"workload\": {\"rate_rps\": -1}}";
        assert!(message(&with(rate)).contains("workload.rate_rps: -1"));
        assert_eq!(Recipe::find(b"arrival_s,input_tokens\n"), Ok(None));
        assert_eq!(Recipe::find(b"{\"workload\": {}}"), Ok(None));
        let twice = b"{\"steps\": [], \"format\": \"vidur\", \"scenario\": {\"seed\": 1, \"seed\": 2}}";
        assert_eq!(Recipe::find(twice).unwrap_err()[0].path, "scenario.seed");
    }
}
