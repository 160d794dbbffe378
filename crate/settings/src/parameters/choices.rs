//! The values of every choice parameter, as enums.
//!
//! A row of the table takes its names from here, and a scenario is read by [`ChoiceId`], which knows both the row and the
//! type of its values: a match over it is exhaustive, so that a name without a use does not compile. That every row with
//! names has such an enum, and these names, is checked when the table is compiled. Where the engine, the cost model or the
//! workload has the same enum, its values are named in [`foreign`], and nothing is translated.

use servescope_cost::gpus::GPU_IDS;
use servescope_cost::models::{MODEL_IDS, OWN};

use super::id::Id;
use super::value::Value;

/// An enum of the values of a choice parameter.
pub trait Choice: Copy + 'static {
    /// Its name in `--set`, JSON and links.
    fn name(self) -> &'static str;
}

/// An enum of another crate whose values a parameter has.
trait ForeignChoice: Choice {
    /// The names of its values.
    const NAMES: &'static [&'static str];
    /// Its values, in the order of the names.
    const VALUES: &'static [Self];
}

/// A choice parameter with the type of its values. The first is the default.
#[derive(Debug)]
pub struct ChoiceId<C: 'static> {
    id: Id,
    names: &'static [&'static str],
    values: &'static [C],
}

impl<C> Clone for ChoiceId<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for ChoiceId<C> {}

impl<C> ChoiceId<C> {
    /// The parameter.
    pub const fn id(self) -> Id {
        self.id
    }

    /// The names of its values, in order.
    pub const fn names(self) -> &'static [&'static str] {
        self.names
    }

    /// Its values, in order.
    pub const fn values(self) -> &'static [C] {
        self.values
    }
}

impl<C: Choice> ChoiceId<C> {
    /// The value with this name; `None` where the parameter has none of this name.
    pub fn find(self, name: &str) -> Option<C> {
        self.names.iter().position(|known| *known == name).map(|place| self.values[place])
    }

    /// A value as a scenario takes it.
    pub fn value(self, chosen: C) -> Value {
        Value::Choice(chosen.name())
    }
}

/// Makes the enums. In parentheses stand the parameters that have one's values, each as `CONSTANT = Id`; the values in their
/// order in brackets behind it where they are fewer or in another order.
macro_rules! choices {
    ($(
        $(#[$about:meta])*
        $name:ident ($($row:ident = $id:ident $([$($member:ident),+])?),+) {
            $($(#[$meaning:meta])* $value:ident = $text:literal,)+
        }
    )+) => {
        $(
            $(#[$about])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub enum $name { $($(#[$meaning])* $value,)+ }

            impl $name {
                /// Every value.
                pub const ALL: &'static [Self] = &[$(Self::$value,)+];

                /// The names, in the order of [`Self::ALL`].
                pub const NAMES: &'static [&'static str] = &[$($text,)+];

                /// Its name in `--set`, JSON and links.
                pub const fn name(self) -> &'static str {
                    Self::NAMES[self as usize]
                }

                $(
                    #[doc = concat!("Of [`Id::", stringify!($id), "`].")]
                    pub const $row: ChoiceId<Self> = ChoiceId {
                        id: Id::$id,
                        names: super::or_all(const { &[$($(Self::$member.name(),)+)?] }, Self::NAMES),
                        values: super::or_all(const { &[$($(Self::$member,)+)?] }, Self::ALL),
                    };
                )+
            }

            impl Choice for $name {
                fn name(self) -> &'static str {
                    Self::name(self)
                }
            }
        )+

        /// The parameters whose values these are, each with their names.
        pub(in super::super) const NAMED: &[(Id, &[&str])] = &[$($((Id::$id, $name::$row.names),)+)+];
    };
}

/// Names the values of enums that other crates have. In parentheses stand the parameters that have one's values, each as
/// `CONSTANT = Id`; the order of the values is that of the parameter.
macro_rules! foreign_choices {
    ($(
        $name:ident ($($row:ident = $id:ident),+) {
            $($value:ident = $text:literal,)+
        }
    )+) => {
        $(
            impl Choice for $name {
                fn name(self) -> &'static str {
                    match self {
                        $(Self::$value => $text,)+
                    }
                }
            }

            impl ForeignChoice for $name {
                const NAMES: &'static [&'static str] = &[$($text,)+];
                const VALUES: &'static [Self] = &[$(Self::$value,)+];
            }

            $(
                #[doc = concat!("Of [`Id::", stringify!($id), "`].")]
                pub const $row: ChoiceId<$name> = ChoiceId {
                    id: Id::$id,
                    names: $name::NAMES,
                    values: $name::VALUES,
                };
            )+
        )+

        /// The parameters whose values these are, each with their names.
        pub(in super::super) const NAMED: &[(Id, &[&str])] = &[$($((Id::$id, $name::NAMES),)+)+];
    };
}

pub(super) mod foreign;
pub(super) mod gateway;
pub(super) mod service;
pub(super) mod workload;

pub use foreign::{
    ADAPTER_MEMORY, ALL_TO_ALL, ARRIVALS_PER, AT_CAP, CAPACITY_POLICY, CHUNKING_POLICY, COUNT_SOURCE,
    DRAIN_PICK, GATEWAY_CHARGE, GATEWAY_CLIENT, HOST_CONNECTOR, HOST_EVICTION, INDEX_KIND, KERNEL_ENGINE,
    KV_FORMAT, LOAD_POLICY, MISS_TARGET, OUTPUT_ACCOUNTING, OUTPUT_PREDICTION, PRICE_KIND, QUEUE_CLIENT,
    RADIX_EVICTION, RANK_CHOICE, RETRACTION_POLICY, RETRY_KIND, ROUTER, SCALING_METRIC, SCHEDULE_POLICY,
    SCHEDULER, TOKEN_COST, VLLM_VERSION, WEIGHTS,
};
pub use gateway::{GatewayKind, GatewayWindow, OverQuota, PredictKind, TimeoutKind};
pub use service::{
    Allocation, Autoscaler, ColdStartKind, Corrections, CostKind, DisaggregationKind, DisaggregationPolicy,
    FairLift, HostOverhead, KvLoadFailure, KvPool, LoraKernels, MemoryPlan, ModelAttention, ModelStateKind,
    ModelWindowKind, NodeNetwork, Order, PlannerTarget, PredictionOf, Preemption, PrefillRouter, RankPasses,
    SpecAcceptance, SpecGate, SpecMethod, TransferSharing,
};
pub use workload::{
    ArrivalKind, ClientKind, CurveKind, CurveSampling, LengthCurveKind, LengthKind, LengthSource, Loop,
    MaxTokensKind, MixtureKind, Popularity, PrefixKind, SessionKind, ThinkKind, TraceTurns, TurnKind,
};

/// What `fleet.model` may be: the models of the catalogue, and one of one's own.
pub(super) const MODEL_NAMES: [&str; MODEL_IDS.len() + 1] = {
    let mut names = [OWN; MODEL_IDS.len() + 1];
    let mut i = 0;
    while i < MODEL_IDS.len() {
        names[i] = MODEL_IDS[i];
        i += 1;
    }
    names
};

/// What `fleet.gpu` may be: the GPUs of the table, and one of one's own.
pub(super) const GPU_NAMES: [&str; GPU_IDS.len() + 1] = {
    let mut names = [OWN; GPU_IDS.len() + 1];
    let mut i = 0;
    while i < GPU_IDS.len() {
        names[i] = GPU_IDS[i];
        i += 1;
    }
    names
};

const fn or_all<T>(some: &'static [T], all: &'static [T]) -> &'static [T] {
    if some.is_empty() { all } else { some }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::{Condition, Kind, TABLE};
    use crate::scenario::Scenario;

    #[test]
    fn a_value_that_is_set_is_read() {
        let mut scenario = Scenario::of_version(4);
        assert_eq!(scenario.chosen(Order::GATEWAY), Order::Fcfs);
        assert_eq!(scenario.chosen(Popularity::ADAPTERS), Popularity::Power);
        assert_eq!(scenario.chosen(Popularity::USERS), Popularity::Zipf);
        for (&name, &order) in Order::GATEWAY.names().iter().zip(Order::GATEWAY.values()) {
            scenario.set_text("gateway.order", name).unwrap();
            assert_eq!(scenario.chosen(Order::GATEWAY), order);
            assert_eq!((order.name(), Order::GATEWAY.find(name)), (name, Some(order)));
        }
        assert_eq!(scenario.chosen(Order::SCHEDULER), Order::Fcfs);
    }

    #[test]
    fn a_value_of_another_parameter_is_refused() {
        let mut scenario = Scenario::of_version(4);
        let error = scenario.set(Id::GatewayOrder, Order::GATEWAY.value(Order::Rpm)).unwrap_err();
        assert_eq!((error.code, &*error.path), ("unknown_option", "gateway.order"));
        assert_eq!(scenario, Scenario::of_version(4));
        assert_eq!(Order::GATEWAY.find("rpm"), None);
        scenario.set(Id::SchedulerOrder, Order::SCHEDULER.value(Order::Rpm)).unwrap();
        assert_eq!(scenario.chosen(Order::SCHEDULER), Order::Rpm);
    }

    #[test]
    fn conditions_ask_for_names_that_their_parameter_has() {
        fn check(row: &str, condition: &Condition) {
            match *condition {
                Condition::In(id, asked) | Condition::NotIn(id, asked) => {
                    let Kind::Choice(names) = id.row().kind else { return };
                    for name in asked {
                        assert!(names.contains(name), "{row}: {} has no {name}", id.row().id);
                    }
                }
                Condition::Any(of) | Condition::All(of) => of.iter().for_each(|one| check(row, one)),
                Condition::Above(..) | Condition::Varied(_) | Condition::Checks(_) => {}
            }
        }
        for row in &TABLE {
            row.applies.iter().chain(&row.beyond_tables).for_each(|condition| check(row.id, condition));
        }
    }
}
