//! A LoRA adapter from the `adapter_config.json` that PEFT writes beside its weights.

use serde_json::Value as Json;
use servescope_engine::AdapterMemory;

use super::fields::Fields;
use crate::diagnostic::{Diagnostic, shown};
use crate::json_text;
use crate::parameters::choices;
use crate::parameters::{Id, Value};
use crate::scenario::Scenario;

/// Linear modules of a layer with attention and an MLP, as most models name them.
const MODULES: [&str; 7] = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];
/// Modules of a layer named in a note.
const MOST_NAMED: usize = 8;

/// What an `adapter_config.json` contains that counts here.
#[derive(Debug, Clone, PartialEq)]
pub struct AdapterFile {
    /// The largest rank of its modules.
    pub rank: u32,
    /// The modules that it changes, by name; empty where the file has a pattern for them.
    pub modules: Vec<String>,
    notes: Vec<Diagnostic>,
}

impl AdapterFile {
    /// Reads a file of that name.
    ///
    /// # Errors
    /// Every [`Diagnostic`] found: no JSON, a rank that is missing or absurd.
    pub fn read(name: &str, text: &str) -> Result<Self, Vec<Diagnostic>> {
        let json = json_text::parse(text).map_err(|error| vec![error.in_file(name)])?;
        let mut fields = Fields::of(name, &json).map_err(|error| vec![error])?;
        let mut rank = fields.needed(&["r"], Id::Ranks);
        for (module, of_module) in fields.object("rank_pattern").into_iter().flatten() {
            let of_module = of_module.as_f64().unwrap_or(0.0);
            fields.in_bounds(&format!("rank_pattern.{module}"), of_module, Id::Ranks);
            rank = rank.max(of_module);
        }
        let modules: Vec<String> = match json.get("target_modules") {
            Some(Json::Array(list)) => list.iter().filter_map(Json::as_str).map(last_name).collect(),
            _ => Vec::new(),
        };
        let mut notes = Vec::new();
        if fields.flag("use_dora") == Some(true) {
            let message = format!("{name}: use_dora: the magnitudes of DoRA are left out");
            notes.push(Diagnostic::note("config_adapter_dora", "", message).text("file", name));
        }
        if !fields.errors.is_empty() {
            return Err(fields.errors);
        }
        let others: Vec<&String> = modules.iter().filter(|module| !MODULES.contains(&&***module)).collect();
        if !others.is_empty() {
            let listed: Vec<String> = others.iter().take(MOST_NAMED).map(|module| shown(module)).collect();
            let message = format!(
                "{name}: target_modules: {} are counted as no module of their own",
                listed.join(", ")
            );
            let note = Diagnostic::note("config_adapter_modules", "", message).text("file", name);
            notes.push(note.text("modules", &listed.join(", ")));
        }
        Ok(Self { rank: rank as u32, modules, notes })
    }

    /// Gives the rank to the adapters of a scenario, of which there is one where there was none. Returns the paths of what is set, and
    /// what should be known about it.
    ///
    /// # Errors
    /// [`Diagnostic`] where the scenario cannot have that rank.
    pub fn apply(&self, scenario: &mut Scenario) -> Result<(Vec<&'static str>, Vec<Diagnostic>), Diagnostic> {
        let mut with = scenario.clone();
        let mut set = vec![Id::Ranks];
        with.set(Id::Ranks, Value::List(vec![f64::from(self.rank)]))?;
        if with.whole(Id::Adapters) == 0 {
            with.set(Id::Adapters, Value::Number(1.0))?;
            set.push(Id::Adapters);
        }
        let mut notes = self.notes.clone();
        let missing = MODULES.iter().filter(|module| !self.modules.iter().any(|own| own == **module)).count();
        if with.chosen(choices::ADAPTER_MEMORY) == AdapterMemory::Slots
            && !self.modules.is_empty()
            && missing > 0
        {
            let message = "adapters.memory: a slot has room for all linear modules and computes them, whatever the adapter has, as vLLM does";
            notes.push(Diagnostic::note(
                "config_adapter_slots",
                Id::AdapterMemory.row().id,
                message.to_owned(),
            ));
        }
        *scenario = with;
        Ok((set.into_iter().map(|id| id.row().id).collect(), notes))
    }
}

/// The last part of a module's name: `model.layers.3.self_attn.q_proj` is `q_proj`.
fn last_name(module: &str) -> String {
    module.rsplit('.').next().unwrap_or(module).to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: &str = r#"{"peft_type": "LORA", "r": 64, "lora_alpha": 128,
        "target_modules": ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]}"#;

    fn applied(text: &str, settings: &[(&str, &str)]) -> (Scenario, Vec<&'static str>, Vec<&'static str>) {
        let mut scenario = Scenario::of_version(4).with(settings).expect("settings");
        let (set, notes) = AdapterFile::read("adapter_config.json", text)
            .expect("an adapter")
            .apply(&mut scenario)
            .expect("a rank that adapters may have");
        (scenario, set, notes.into_iter().map(|note| note.code).collect())
    }

    #[test]
    fn the_rank_becomes_that_of_the_adapters() {
        let (scenario, set, notes) =
            applied(ALL, &[("workload.adapters.count", "0"), ("scheduler.kind", "vllm_v1")]);
        assert_eq!(set, ["workload.adapters.ranks", "workload.adapters.count"]);
        assert_eq!(scenario.get(Id::Ranks), Value::List(vec![64.0]));
        assert!(scenario.whole(Id::Adapters) == 1 && notes.is_empty(), "{notes:?}");
        // The largest rank of a pattern; adapters that the scenario has stay.
        let some = r#"{"peft_type": "LORA", "r": 8, "rank_pattern": {"model.layers.0.mlp": 32}, "use_dora": true,
            "target_modules": ["q_proj", "model.layers.1.self_attn.v_proj", "w1"]}"#;
        let (scenario, set, notes) =
            applied(some, &[("workload.adapters.count", "5"), ("scheduler.kind", "vllm_v1")]);
        assert_eq!((set.len(), scenario.get(Id::Ranks)), (1, Value::List(vec![32.0])));
        assert_eq!(notes, ["config_adapter_dora", "config_adapter_modules", "config_adapter_slots"]);
    }

    #[test]
    fn what_is_wrong_is_told_with_field_and_bound() {
        for (text, code) in [
            ("[]", "config_no_object"),
            (r#"{"peft_type": "LORA"}"#, "config_missing"),
            (r#"{"r": 0}"#, "config_out_of_range"),
            (r#"{"r": 1e9}"#, "config_out_of_range"),
            (r#"{"r": "eight"}"#, "config_not_a_number"),
            (r#"{"r": 8, "rank_pattern": {"a": -1}}"#, "config_out_of_range"),
        ] {
            let errors = AdapterFile::read("adapter_config.json", text).expect_err(text);
            assert_eq!(errors[0].code, code, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in r#"\{("(r|rank_pattern|target_modules|use_dora)": ?[-0-9a-z\[\]{}",.]{0,12},?){0,4}\}?"#) {
            if let Ok(adapter) = AdapterFile::read("adapter_config.json", &text) {
                let mut scenario = Scenario::of_version(4);
                let _ = adapter.apply(&mut scenario);
            }
        }
    }
}
