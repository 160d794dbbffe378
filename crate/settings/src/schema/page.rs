//! The parameter table as the page takes it.

use serde::Serialize;
use servescope_cost::CALIBRATIONS;
use servescope_cost::gpus::GPUS;
use servescope_cost::models::{MODELS, OWN};

use super::REASONS;
use crate::parameters::{Condition, GROUPS, Id, Kind, Parameter, SECTIONS, Slider, SliderStop, TABLE, Value};

/// The parameter table, with what the page knows a priori.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "Schema"))]
pub struct PageSchema {
    /// Of this form.
    pub version: u32,
    /// Groups of parameters.
    pub groups: &'static [&'static str],
    /// The sections of the controls.
    pub sections: Vec<PageSection>,
    /// Names of reasons why a parameter has no effect that are no conditions.
    pub reasons: &'static [&'static str],
    /// Every parameter.
    pub parameters: Vec<PageParameter>,
    /// Every calibration of the linear model.
    pub calibrations: Vec<PageCalibration>,
}

/// A section of the controls.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct PageSection {
    /// Its name.
    pub name: &'static str,
    /// Its groups.
    pub groups: &'static [&'static str],
    /// The parameters that it begins with.
    pub first: Vec<&'static str>,
}

/// A calibration of the linear model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct PageCalibration {
    /// Its id.
    pub id: &'static str,
    /// The GPU that it was measured on.
    pub gpu: &'static str,
    /// The model.
    pub model: &'static str,
    /// Where it is from.
    pub source: &'static str,
}

/// One row of the parameter table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "Parameter"))]
pub struct PageParameter {
    /// Its path.
    pub id: &'static str,
    /// Short key of the address.
    pub key: &'static str,
    /// Its group.
    pub group: &'static str,
    /// What its values are.
    #[serde(rename = "type")]
    #[cfg_attr(
        feature = "types",
        ts(type = "'number' | 'integer' | 'choice' | 'boolean' | 'list' | 'text'")
    )]
    pub kind: &'static str,
    /// "" | "req/s" | "s" | "ms" | "tokens" | …
    pub unit: &'static str,
    /// Meaningful places on the slider.
    pub marks: &'static [SliderStop],
    /// Of a choice.
    pub options: &'static [&'static str],
    /// What the options are called in every language; empty where each language has its own names.
    pub names: Vec<&'static str>,
    /// In the default scenario; `Resolution.moved` has the default beside other settings.
    pub default: Value,
    /// All must hold for the parameter to have an effect.
    pub applies: Vec<ConditionView>,
    /// "score": the run stays as it is, only its judgement changes (the SLO).
    #[cfg_attr(feature = "types", ts(type = "'run' | 'score'"))]
    pub changes: &'static str,
    /// Smallest value, of a number and of each entry of a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "types", ts(optional))]
    pub min: Option<f64>,
    /// Largest value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "types", ts(optional))]
    pub max: Option<f64>,
    /// 0 is no value but none: a limit or a bound that is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "types", ts(optional))]
    pub off_at_zero: Option<bool>,
    /// Where a slider sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "types", ts(optional))]
    pub slider: Option<Slider>,
}

/// A condition on another parameter, or one or all of several.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "Condition"))]
#[serde(untagged)]
pub enum ConditionView {
    /// It has one of these values.
    In {
        /// Its path.
        parameter: &'static str,
        /// The values.
        r#in: &'static [&'static str],
    },
    /// It has none of these values.
    Not {
        /// Its path.
        parameter: &'static str,
        /// The values.
        not: &'static [&'static str],
    },
    /// It is a number above this one.
    Above {
        /// Its path.
        parameter: &'static str,
        /// The bound.
        above: f64,
    },
    /// Its entries differ.
    Varied {
        /// Its path.
        parameter: &'static str,
        /// Always true.
        varied: bool,
    },
    /// The gateway's chain has a check.
    Check {
        /// Its path.
        parameter: &'static str,
        /// The name of the check.
        check: &'static str,
    },
    /// One of these holds.
    Any {
        /// The conditions.
        any: Vec<ConditionView>,
    },
    /// All of these hold.
    All {
        /// The conditions.
        all: Vec<ConditionView>,
    },
}

/// The table as the page takes it.
pub fn page_schema() -> PageSchema {
    let section = |section: &crate::parameters::Section| PageSection {
        name: section.name,
        groups: section.groups,
        first: section.first.iter().map(|id| id.row().id).collect(),
    };
    let calibration = |c: &servescope_cost::Calibration| PageCalibration {
        id: c.id,
        gpu: c.gpu,
        model: c.model,
        source: c.source,
    };
    PageSchema {
        version: 1,
        groups: GROUPS,
        sections: SECTIONS.iter().map(section).collect(),
        reasons: REASONS,
        parameters: TABLE.iter().map(row).collect(),
        calibrations: CALIBRATIONS.iter().map(calibration).collect(),
    }
}

fn row(row: &Parameter) -> PageParameter {
    let bounds = row.bounds();
    PageParameter {
        id: row.id,
        key: row.key,
        group: row.group,
        kind: row.type_name(),
        unit: row.unit,
        marks: row.marks,
        options: if let Kind::Choice(names) = row.kind { names } else { &[] },
        names: names(row),
        default: row.default_value(),
        applies: row.applies.iter().map(condition).collect(),
        changes: if row.scores_only { "score" } else { "run" },
        min: bounds.map(|(min, _)| min),
        max: bounds.map(|(_, max)| max),
        off_at_zero: row.off_at_zero.then_some(true),
        slider: row.slider,
    }
}

/// What the options of a parameter are called everywhere; empty where that depends on the language, of all or of one.
fn names(row: &Parameter) -> Vec<&'static str> {
    let Kind::Choice(options) = row.kind else { return Vec::new() };
    let named =
        |find: fn(&str) -> Option<&'static str>| options.iter().map(|id| find(id).unwrap_or(id)).collect();
    match row.id {
        "fleet.gpu" => named(|id| GPUS.iter().find(|gpu| gpu.id == id).map(|gpu| gpu.name)),
        "fleet.model" => named(|id| {
            MODELS.iter().find(|model| model.id == id).map(|model| model.name).or((id == OWN).then_some(""))
        }),
        _ => Vec::new(),
    }
}

fn condition(condition: &Condition) -> ConditionView {
    let all = |of: &[Condition]| of.iter().map(self::condition).collect();
    match *condition {
        Condition::In(id, names) => ConditionView::In { parameter: id.row().id, r#in: names },
        Condition::NotIn(id, names) => ConditionView::Not { parameter: id.row().id, not: names },
        Condition::Above(id, above) => ConditionView::Above { parameter: id.row().id, above },
        Condition::Varied(id) => ConditionView::Varied { parameter: id.row().id, varied: true },
        Condition::Checks(check) => ConditionView::Check { parameter: Id::GatewayChecks.row().id, check },
        Condition::Any(of) => ConditionView::Any { any: all(of) },
        Condition::All(of) => ConditionView::All { all: all(of) },
    }
}
