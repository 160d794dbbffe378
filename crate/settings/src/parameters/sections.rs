//! The sections of the page's controls: what people choose first, and the groups behind it.

use super::id::Id;

/// A section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// Its name.
    pub name: &'static str,
    /// The parameters that it begins with, always in sight; each is of one of the groups.
    pub first: &'static [Id],
    /// Its groups, in order.
    pub groups: &'static [&'static str],
}

/// The sections, in order. The group of the capacity search is in none: its controls stand beside its results.
pub const SECTIONS: &[Section] = &[
    Section {
        name: "traffic",
        first: &[Id::Rate, Id::Cv, Id::Alpha, Id::Adapters],
        groups: &[
            "headline",
            "lengths",
            "run",
            "trace",
            "curve",
            "length_curve",
            "clients",
            "sessions",
            "prefix",
            "extra_request",
            "sampling",
        ],
    },
    Section { name: "users", first: &[Id::Users, Id::GatewayKind], groups: &["users", "gateway", "slo"] },
    Section {
        name: "engine",
        first: &[Id::SchedulerKind, Id::SchedulerOrder],
        groups: &["queue", "adapters", "memory"],
    },
    Section {
        name: "hardware",
        first: &[Id::FleetGpu, Id::FleetModel, Id::Replicas, Id::TensorParallel, Id::CostKind],
        groups: &["fleet", "model", "cost"],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::GROUPS;

    #[test]
    fn every_group_is_in_one_section() {
        for group in GROUPS {
            let sections = SECTIONS.iter().filter(|section| section.groups.contains(group)).count();
            assert_eq!(sections, usize::from(*group != "capacity"), "{group}");
        }
        for section in SECTIONS {
            assert!(section.groups.iter().all(|group| GROUPS.contains(group)), "{}", section.name);
            for id in section.first {
                assert!(section.groups.contains(&id.row().group), "{}: {}", section.name, id.row().id);
            }
        }
    }
}
