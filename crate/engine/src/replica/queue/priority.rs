//! Priority with ageing: class 0 first, and a request that has waited for the ageing time counts as one class better.
//!
//! After a wait w the effective class is class - w / ageing. Two requests' difference in it does not change while both
//! wait, so the order is that of class x ageing + arrival, which needs no clock (linear ageing, Kleinrock's
//! time-dependent priorities with equal slopes).

/// The key of [`super::priority_queue`] for a request of `class` that arrived at `arrival_us`, microseconds.
pub fn key(class: f64, ageing_us: f64, arrival_us: f64) -> f64 {
    class * ageing_us + arrival_us
}

#[cfg(test)]
mod tests {
    use super::key;

    #[test]
    fn a_class_is_worth_its_ageing_time() {
        assert!(key(0.0, 1e6, 9e5) < key(1.0, 1e6, 0.0));
        assert!(key(1.0, 1e6, 0.0) < key(0.0, 1e6, 1.1e6));
    }
}
