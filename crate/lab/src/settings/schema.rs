//! The parameter table for others: the page's controls, and a JSON Schema of the scenario file.

use serde::Serialize;
use serde_json::{Map, Value as Json, json};
use servescope_cost::CALIBRATIONS;
use servescope_cost::gpus::GPUS;
use servescope_cost::models::MODELS;

use crate::failure::Failure;
use crate::notes::{Context, idle, unmet_places};
use crate::parameters::{Condition, GROUPS, Id, Kind, Parameter, SECTIONS, Scale, TABLE, Value};
use crate::scenario::Scenario;

/// The table as the page takes it.
pub fn page_schema() -> Json {
    json!({
        "version": 1,
        "groups": GROUPS,
        "sections": SECTIONS
            .iter()
            .map(|s| json!({"name": s.name, "groups": s.groups, "first": s.first.iter().map(|id| id.row().id).collect::<Vec<_>>()}))
            .collect::<Vec<_>>(),
        "reasons": REASONS,
        "parameters": TABLE.iter().map(page_row).collect::<Vec<_>>(),
        "calibrations": CALIBRATIONS
            .iter()
            .map(|c| json!({"id": c.id, "gpu": c.gpu, "model": c.model, "source": c.source}))
            .collect::<Vec<_>>(),
    })
}

fn page_row(row: &Parameter) -> Json {
    let mut json = json!({
        "id": row.id,
        "key": row.key,
        "group": row.group,
        "type": row.type_name(),
        "unit": row.unit,
        "marks": row.marks.iter().map(|m| json!({"value": m.value, "message": m.message})).collect::<Vec<_>>(),
        "options": if let Kind::Choice(names) = row.kind { names } else { &[] },
        "names": names(row),
        "default": row.default_value().to_json(),
        "applies": row.applies.iter().map(condition).collect::<Vec<_>>(),
        "changes": if row.scores_only { "score" } else { "run" },
    });
    if let Some((min, max)) = row.bounds() {
        json["min"] = min.into();
        json["max"] = max.into();
    }
    if row.off_at_zero {
        json["off_at_zero"] = true.into();
    }
    if let Some(s) = row.slider {
        let scale = if s.scale == Scale::Log { "log" } else { "linear" };
        json["slider"] = json!({"min": s.min, "max": s.max, "scale": scale, "step": s.step});
    }
    json
}

/// What the options of a parameter are called everywhere; empty where that depends on the language.
fn names(row: &Parameter) -> Vec<&'static str> {
    let Kind::Choice(options) = row.kind else { return Vec::new() };
    let named =
        |find: fn(&str) -> Option<&'static str>| options.iter().map(|id| find(id).unwrap_or(id)).collect();
    match row.id {
        "fleet.gpu" => named(|id| GPUS.iter().find(|gpu| gpu.id == id).map(|gpu| gpu.name)),
        "fleet.model" => named(|id| MODELS.iter().find(|model| model.id == id).map(|model| model.name)),
        _ => Vec::new(),
    }
}

fn condition(condition: &Condition) -> Json {
    let all = |of: &[Condition]| of.iter().map(self::condition).collect::<Vec<_>>();
    match *condition {
        Condition::Is(id, names) => json!({"parameter": id.row().id, "in": names}),
        Condition::IsNot(id, names) => json!({"parameter": id.row().id, "not": names}),
        Condition::Above(id, bound) => json!({"parameter": id.row().id, "above": bound}),
        Condition::Varied(id) => json!({"parameter": id.row().id, "varied": true}),
        Condition::Checks(name) => json!({"parameter": Id::GatewayChecks.row().id, "check": name}),
        Condition::Any(of) => json!({"any": all(of)}),
        Condition::All(of) => json!({"all": all(of)}),
    }
}

/// A JSON Schema (2020-12) of the scenario file.
pub fn json_schema() -> Json {
    let mut root =
        object("A Servescope scenario: values for some parameters; the others have their defaults.");
    for row in &TABLE {
        insert(&mut root, row.id, property(row));
        for alias in row.aliases {
            let description = format!("Another name of {}.", row.id);
            let mut other = property(row);
            other["description"] = description.into();
            insert(&mut root, alias, other);
        }
    }
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    root["title"] = "Servescope scenario".into();
    root
}

/// Puts the schema of a parameter at its dotted path.
fn insert(root: &mut Json, path: &str, described: Json) {
    let mut place = root;
    let parts: Vec<&str> = path.split('.').collect();
    let (leaf, groups) = parts.split_last().expect("a path has a last part");
    for group in groups {
        place = properties(place).entry(*group).or_insert_with(|| object(""));
    }
    properties(place).insert((*leaf).to_owned(), described);
}

fn object(description: &str) -> Json {
    let mut json = json!({"type": "object", "additionalProperties": false, "properties": {}});
    if !description.is_empty() {
        json["description"] = description.into();
    }
    json
}

fn properties(json: &mut Json) -> &mut Map<String, Json> {
    json["properties"].as_object_mut().expect("every object of the schema has properties")
}

fn property(row: &Parameter) -> Json {
    let unit = if row.unit.is_empty() { String::new() } else { format!(" [{}]", row.unit) };
    let mut json = json!({"title": row.label, "description": format!("{}{unit}", row.help)});
    let bounds = |json: &mut Json, min: f64, max: f64| {
        json["minimum"] = min.into();
        json["maximum"] = max.into();
    };
    match row.kind {
        Kind::Number { min, max, .. } => {
            json["type"] = "number".into();
            bounds(&mut json, min, max);
        }
        Kind::Whole { min, max, .. } => {
            json["type"] = "integer".into();
            bounds(&mut json, min, max);
        }
        Kind::Choice(names) => json["enum"] = json!(names),
        Kind::Flag(_) => json["type"] = "boolean".into(),
        Kind::Text { most } => {
            json["type"] = json!(["string", "array"]);
            json["maxLength"] = most.into();
            json["items"] = json!({"type": "string"});
        }
        Kind::List { min, max, whole, .. } => {
            json["type"] = "array".into();
            json["minItems"] = 1.into();
            json["items"] = json!({"type": if whole { "integer" } else { "number" }});
            bounds(&mut json["items"], min, max);
        }
    }
    json["default"] = row.default_value().to_json();
    json
}

/// What a scenario means, as far as it differs from the table: a slider asks for it at every move.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct Resolution {
    /// Values that are set, by path.
    #[cfg_attr(feature = "types", ts(type = "ScenarioPatch"))]
    pub changed: Map<String, Json>,
    /// Defaults that other settings have moved away from the table's, by path.
    #[cfg_attr(feature = "types", ts(type = "ScenarioPatch"))]
    pub moved: Map<String, Json>,
    /// Places in the table of what has no effect.
    pub inactive: Vec<u16>,
    /// Why, one entry each: a set of places among the row's conditions, or -1 - the place of a reason in [`REASONS`].
    pub why: Vec<i32>,
    /// What is wrong.
    pub problems: Vec<Failure>,
}

/// Reasons beside the conditions of the table, by which the page names them.
pub const REASONS: &[&str] = &["file", "needs_file", "bodies", "no_draw"];

/// Why a parameter has no effect, as [`Resolution::why`] has it.
fn why(scenario: &Scenario, context: &Context, id: Id) -> Option<i32> {
    let reason = idle(scenario, context, id)?;
    let named = REASONS.iter().position(|name| *name == reason.name()).map(|place| -1 - place as i32);
    let unmet = || unmet_places(scenario, context, id).iter().fold(0, |set, place| set | (1 << place));
    Some(named.unwrap_or_else(unmet))
}

/// Resolves a scenario; `problems` are those found in reading it.
pub fn resolve(scenario: &Scenario, mut problems: Vec<Failure>, context: &Context) -> Resolution {
    let entry = |id: Id, value: Value| (id.row().id.to_owned(), value.to_json());
    let moved = Id::ALL.iter().map(|&id| (id, scenario.default_of(id)));
    problems.extend(scenario.problems());
    let idle = |&id: &Id| Some((id as u16, why(scenario, context, id)?));
    let (inactive, why) = Id::ALL.iter().filter_map(idle).unzip();
    Resolution {
        changed: scenario.changed().map(|(id, value)| entry(id, value.clone())).collect(),
        moved: moved
            .filter(|(id, default)| *default != id.row().default_value())
            .map(|(id, default)| entry(id, default))
            .collect(),
        inactive,
        why,
        problems,
    }
}
