//! Priority with ageing: class 0 first, and a request that has waited for the ageing time counts as one class better.
//!
//! After a wait w the effective class is class - w / ageing. Two requests' difference in it does not change while both
//! wait, so the order is that of class x ageing + arrival, which needs no clock (linear ageing, Kleinrock's
//! time-dependent priorities with equal slopes).

/// The key of [`super::keyed`] for a request of `class` that arrived at `arrival_us`.
pub fn key(class: f64, ageing_us: f64, arrival_us: f64) -> f64 {
    class * ageing_us + arrival_us
}
