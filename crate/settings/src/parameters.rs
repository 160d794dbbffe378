//! The parameter table: the one place where a parameter is described.
//!
//! Controls, the address, `--set`, validation, the JSON Schema and the reference page all come from it.

mod builder;
pub mod byte_size;
pub mod choices;
mod conditions;
mod id;
mod kind;
mod sections;
pub mod string_list;
mod table;
mod typed;
mod value;

pub use id::Id;
pub use kind::{Condition, Kind, Parameter, Scale, Slider, SliderStop};
pub use sections::{SECTIONS, Section};
pub use table::TABLE;
pub use value::Value;

/// Groups of the panel, in order.
pub const GROUPS: &[&str] = &[
    "headline",
    "lengths",
    "fleet",
    "model",
    "queue",
    "gateway",
    "memory",
    "adapters",
    "users",
    "clients",
    "sessions",
    "prefix",
    "cost",
    "slo",
    "capacity",
    "trace",
    "curve",
    "length_curve",
    "extra_request",
    "sampling",
    "run",
];

impl Id {
    /// The parameter's row.
    pub fn row(self) -> &'static Parameter {
        &TABLE[self as usize]
    }

    /// The parameter with this path, or with this alias.
    pub fn from_path(path: &str) -> Option<Self> {
        let has = |row: &Parameter| row.id == path || row.aliases.contains(&path);
        Self::ALL.iter().copied().find(|id| has(id.row()))
    }

    /// The parameter with this key of the address.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|id| id.row().key == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_consistent() {
        for (i, id) in Id::ALL.iter().enumerate() {
            let row = id.row();
            assert_eq!(i, *id as usize);
            for path in [&row.id].into_iter().chain(row.aliases) {
                assert_eq!(Id::from_path(path), Some(*id), "path {path} is not unique");
            }
            assert_eq!(Id::from_key(row.key), Some(*id), "key {} is not unique", row.key);
            assert!(GROUPS.contains(&row.group), "{}: group {}", row.id, row.group);
            assert!(row.check(&row.default_value()).is_ok(), "{}: its default is out of bounds", row.id);
            let of_zero = ["0 = off", "0 = no limit", "0 leaves it out", "0 = use the SLO's"];
            let says_off = of_zero.iter().any(|words| row.help.contains(words));
            assert_eq!(row.off_at_zero, says_off, "{}: what its help says of 0", row.id);
            assert!(row.help.ends_with('.'), "{}: help is a sentence", row.id);
            if let (Some(slider), Some((min, max))) = (row.slider, row.bounds()) {
                assert!(min <= slider.min && slider.max <= max && slider.min < slider.max, "{}", row.id);
                assert!(slider.scale == Scale::Linear || slider.min > 0.0, "{}: log slider from 0", row.id);
                assert!(row.marks.iter().all(|m| (slider.min..=slider.max).contains(&m.value)), "{}", row.id);
            }
        }
    }
}
