//! The parameter table for others: the page's controls, and a JSON Schema of the scenario file.

mod page;

use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use crate::diagnostic::Diagnostic;
use crate::notes::{NoteContext, idle, unmet_places};
use crate::parameters::{Id, Kind, Parameter, TABLE, Value};
use crate::scenario::{Scenario, ScenarioPatch};

pub use page::{ConditionView, PageParameter, PageSchema, page_schema};

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
    pub changed: ScenarioPatch,
    /// Defaults that other settings have moved away from the table's, by path.
    pub moved: ScenarioPatch,
    /// Places in the table of what has no effect.
    pub inactive: Vec<u16>,
    /// Why, one entry each: a set of places among the row's conditions, or -1 - the place of a reason in [`REASONS`].
    pub why: Vec<i32>,
    /// What is wrong.
    pub problems: Vec<Diagnostic>,
}

/// Reasons beside the conditions of the table, by which the page names them.
pub const REASONS: &[&str] = &["file", "needs_file", "bodies", "no_draw"];

/// Why a parameter has no effect, as [`Resolution::why`] has it.
fn why(scenario: &Scenario, context: &NoteContext, id: Id) -> Option<i32> {
    let reason = idle(scenario, context, id)?;
    let named = REASONS.iter().position(|name| *name == reason.name()).map(|place| -1 - place as i32);
    let unmet = || unmet_places(scenario, context, id).iter().fold(0, |set, place| set | (1 << place));
    Some(named.unwrap_or_else(unmet))
}

/// Resolves a scenario; `problems` are those found in reading it.
pub fn resolve(scenario: &Scenario, mut problems: Vec<Diagnostic>, context: &NoteContext) -> Resolution {
    let entry = |(id, value): (Id, Value)| (id.row().id.to_owned(), value);
    let moved = Id::ALL.iter().map(|&id| (id, scenario.default_of(id)));
    problems.extend(scenario.problems());
    let idle = |&id: &Id| Some((id as u16, why(scenario, context, id)?));
    let (inactive, why) = Id::ALL.iter().filter_map(idle).unzip();
    Resolution {
        changed: scenario.patch(),
        moved: ScenarioPatch(
            moved.filter(|(id, default)| *default != id.row().default_value()).map(entry).collect(),
        ),
        inactive,
        why,
        problems,
    }
}
