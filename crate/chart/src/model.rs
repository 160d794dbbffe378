//! The data of one chart.

use serde::{Serialize, Serializer};

use crate::{Role, UnknownName};

/// The data of one chart, already down-sampled to about two points a pixel column.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "ChartData"))]
pub struct Chart {
    /// Its name, a key of the page's texts; "" where it has none.
    pub name: &'static str,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, from back to front.
    pub series: Vec<Series>,
    /// Message key that says why there is nothing to draw, or "".
    pub empty: &'static str,
    /// Names of equal slots of an index axis, from left to right, or none.
    pub categories: Vec<String>,
}

impl Chart {
    /// A chart without a name, for a document that sets its own title.
    pub fn untitled(x: Axis, y: Axis, series: Vec<Series>) -> Self {
        Self { name: "", x, y, series, empty: "", categories: Vec::new() }
    }
}

/// One axis of a chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct Axis {
    /// Unit, or "".
    pub unit: &'static str,
    /// How values become lengths.
    pub scale: ScaleKind,
    /// What the values are; decides on the ticks.
    pub kind: AxisKind,
    /// Value at the left or lower end.
    pub min: f64,
    /// Value at the right or upper end.
    pub max: f64,
}

/// How values become lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename_all = "snake_case"))]
pub enum ScaleKind {
    /// Equal differences are equal lengths.
    Linear,
    /// Equal ratios are equal lengths; values that are not positive lie at the minimum.
    Log,
}

/// What an axis counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename_all = "snake_case"))]
pub enum AxisKind {
    /// Seconds of the simulated clock.
    Time,
    /// Any quantity.
    Value,
    /// Whole numbers: adapters, users or categories.
    Index,
}

/// One series of a chart. Columns of unequal length are read up to the shortest of `x` and `y`.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct Series {
    /// What it shows; gives its colour, dash and marker.
    #[cfg_attr(feature = "types", ts(type = "string"))]
    pub role: Role,
    /// How it is drawn.
    pub mark: Mark,
    /// Horizontal positions; left edges of bars; the positions of [`Mark::RuleX`].
    #[cfg_attr(feature = "types", ts(type = "Float64Array"))]
    pub x: Vec<f64>,
    /// Vertical positions; the positions of [`Mark::RuleY`].
    #[cfg_attr(feature = "types", ts(type = "Float64Array"))]
    pub y: Vec<f64>,
    /// Lower edges of areas, bands and stacked bars; a missing value is 0.
    #[cfg_attr(feature = "types", ts(type = "Float64Array"))]
    pub y0: Vec<f64>,
    /// Right edges of bars; a bar without one is a hairline.
    #[cfg_attr(feature = "types", ts(type = "Float64Array"))]
    pub x2: Vec<f64>,
    /// Request ids of points, or none.
    #[cfg_attr(feature = "types", ts(type = "Float64Array"))]
    pub id: Vec<f64>,
    /// What stands at the line of a [`Mark::RuleY`], and at the upper edge where its place is above the axis; "" for nothing.
    pub label: String,
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename_all = "snake_case"))]
pub enum Mark {
    #[default]
    /// A line from point to point.
    Line,
    /// A line that keeps each value until the next point.
    Step,
    /// The surface between `y0` and `y`, with its upper edge.
    Area,
    /// The surface between `y0` and `y` alone: the range of a curve.
    Band,
    /// Rectangles from `x` to `x2` and from `y0` to `y`.
    Bars,
    /// A marker at each point.
    Points,
    /// A vertical line at each `x`.
    RuleX,
    /// A horizontal line at each `y`.
    RuleY,
}

impl Mark {
    /// The mark of this name.
    ///
    /// # Errors
    /// [`UnknownName`].
    pub fn from_name(name: &str) -> Result<Self, UnknownName> {
        Ok(match name {
            "line" => Self::Line,
            "step" => Self::Step,
            "area" => Self::Area,
            "band" => Self::Band,
            "bars" => Self::Bars,
            "points" => Self::Points,
            "rule_x" => Self::RuleX,
            "rule_y" => Self::RuleY,
            _ => return Err(UnknownName::new("chart mark", name)),
        })
    }

    /// Its name at the boundary.
    pub fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Step => "step",
            Self::Area => "area",
            Self::Band => "band",
            Self::Bars => "bars",
            Self::Points => "points",
            Self::RuleX => "rule_x",
            Self::RuleY => "rule_y",
        }
    }
}

impl ScaleKind {
    /// The scale of this name.
    ///
    /// # Errors
    /// [`UnknownName`].
    pub fn from_name(name: &str) -> Result<Self, UnknownName> {
        match name {
            "linear" => Ok(Self::Linear),
            "log" => Ok(Self::Log),
            _ => Err(UnknownName::new("axis scale", name)),
        }
    }

    /// Its name at the boundary.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Log => "log",
        }
    }
}

impl AxisKind {
    /// The kind of this name.
    ///
    /// # Errors
    /// [`UnknownName`].
    pub fn from_name(name: &str) -> Result<Self, UnknownName> {
        match name {
            "time" => Ok(Self::Time),
            "value" => Ok(Self::Value),
            "index" => Ok(Self::Index),
            _ => Err(UnknownName::new("axis kind", name)),
        }
    }

    /// Its name at the boundary.
    pub fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Value => "value",
            Self::Index => "index",
        }
    }
}

impl Serialize for ScaleKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Serialize for AxisKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in ["line", "step", "area", "band", "bars", "points", "rule_x", "rule_y"] {
            assert_eq!(Mark::from_name(name).map(Mark::name), Ok(name));
        }
        for name in ["linear", "log"] {
            assert_eq!(ScaleKind::from_name(name).map(ScaleKind::name), Ok(name));
        }
        for name in ["time", "value", "index"] {
            assert_eq!(AxisKind::from_name(name).map(AxisKind::name), Ok(name));
        }
        assert!(Mark::from_name("pie").is_err());
        assert!(ScaleKind::from_name("").is_err());
        assert!(AxisKind::from_name("date").is_err());
    }
}
