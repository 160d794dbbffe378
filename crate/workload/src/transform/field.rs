//! A field of a step: its name, what may stand in it, and what it is without a word.

/// What may stand in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// A number.
    Number,
    /// A whole number.
    Whole,
    /// One of [`Field::options`].
    Choice,
    /// A text without commas.
    Text,
}

impl FieldKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Whole => "whole",
            Self::Choice => "choice",
            Self::Text => "text",
        }
    }
}

/// What a field is where nothing is said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Absence {
    /// This number.
    Number(f64),
    /// The first option.
    FirstOption,
    /// This text.
    Text(&'static str),
    /// Empty: the help says what that means.
    Empty,
}

/// A field of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a few words.
    pub help: &'static str,
    /// Its unit, or "".
    pub unit: &'static str,
    /// What may stand in it.
    pub kind: FieldKind,
    /// Smallest number.
    pub min: f64,
    /// Largest number.
    pub max: f64,
    /// What it is where nothing is said.
    pub default: Absence,
    /// The options of a choice.
    pub options: &'static [&'static str],
}

impl Field {
    /// A number.
    pub(super) const fn number(
        name: &'static str,
        unit: &'static str,
        [min, max]: [f64; 2],
        default: f64,
        help: &'static str,
    ) -> Self {
        Self {
            name,
            help,
            unit,
            kind: FieldKind::Number,
            min,
            max,
            default: Absence::Number(default),
            options: &[],
        }
    }

    /// A whole number.
    pub(super) const fn whole(
        name: &'static str,
        unit: &'static str,
        bounds: [f64; 2],
        default: f64,
        help: &'static str,
    ) -> Self {
        Self { kind: FieldKind::Whole, ..Self::number(name, unit, bounds, default, help) }
    }

    /// The same field, which may also be empty, and is so where nothing is said.
    pub(super) const fn or_empty(self) -> Self {
        Self { default: Absence::Empty, ..self }
    }

    /// A choice; the first option is the default.
    pub(super) const fn choice(
        name: &'static str,
        options: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self {
            kind: FieldKind::Choice,
            default: Absence::FirstOption,
            options,
            ..Self::number(name, "", [0.0, 0.0], 0.0, help)
        }
    }

    /// A text.
    pub(super) const fn text(name: &'static str, default: &'static str, help: &'static str) -> Self {
        Self {
            kind: FieldKind::Text,
            default: Absence::Text(default),
            ..Self::number(name, "", [0.0, 0.0], 0.0, help)
        }
    }

    /// The seed of a step's random numbers.
    pub(super) const SEED: Self =
        Self::whole("seed", "", [0.0, 9_007_199_254_740_991.0], 1.0, "seed of the random numbers");
}

/// What stands in a field of a step.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FieldValue {
    Empty,
    Number(f64),
    Choice(usize),
    Text(String),
}
