//! How a row of the parameter table is written: its kind, then what is said of it, one call each.

use super::choices::ChoiceId;
use super::kind::{Condition, Kind, Parameter, Scale, Slider, SliderStop};

pub(super) const fn row(id: &'static str, key: &'static str, group: &'static str, kind: Kind) -> Parameter {
    Parameter {
        id,
        aliases: &[],
        key,
        group,
        kind,
        usual: None,
        unit: "",
        slider: None,
        marks: &[],
        applies: &[],
        beyond_tables: None,
        scores_only: false,
        off_at_zero: false,
        label: "",
        help: "",
    }
}

pub(super) const fn number(min: f64, max: f64, default: f64) -> Kind {
    Kind::Number { min, max, default }
}

pub(super) const fn whole(min: f64, max: f64, default: f64) -> Kind {
    Kind::Whole { min, max, default }
}

pub(super) const fn choice<C>(of: ChoiceId<C>) -> Kind {
    Kind::Choice(of.names())
}

impl Parameter {
    pub(super) const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// The default of a choice whose first name is not that.
    pub(super) const fn usual(mut self, name: &'static str) -> Self {
        self.usual = Some(name);
        self
    }

    pub(super) const fn also(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    pub(super) const fn linear(mut self, min: f64, max: f64, step: f64) -> Self {
        self.slider = Some(Slider { min, max, scale: Scale::Linear, step });
        self
    }

    pub(super) const fn log(mut self, min: f64, max: f64, step: f64) -> Self {
        self.slider = Some(Slider { min, max, scale: Scale::Log, step });
        self
    }

    pub(super) const fn marks(mut self, marks: &'static [SliderStop]) -> Self {
        self.marks = marks;
        self
    }

    pub(super) const fn when(mut self, applies: &'static [Condition]) -> Self {
        self.applies = applies;
        self
    }

    pub(super) const fn beyond_tables(mut self, one_of: &'static [Condition]) -> Self {
        self.beyond_tables = Some(Condition::Any(one_of));
        self
    }

    pub(super) const fn scores(mut self) -> Self {
        self.scores_only = true;
        self
    }

    pub(super) const fn off_at_zero(mut self) -> Self {
        self.off_at_zero = true;
        self
    }

    pub(super) const fn doc(mut self, label: &'static str, help: &'static str) -> Self {
        if cfg!(feature = "texts") {
            self.label = label;
            self.help = help;
        }
        self
    }
}
