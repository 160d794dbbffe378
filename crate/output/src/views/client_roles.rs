//! Colours of users and adapters: one rule for every chart, and for the page's picture and tables.

use servescope_lab::run::monitor::CHARTED;

use super::Role;

/// The set that no stage has, in the order of the ids.
const OWN: [Role; CHARTED] =
    [Role::Client0, Role::Client1, Role::Client2, Role::Client3, Role::Client4, Role::Client5, Role::Client6];

/// The colour of a user or adapter that has one of its own wherever it is shown; `None` beyond the first seven.
pub fn own_role(id: i64) -> Option<Role> {
    usize::try_from(id).ok().and_then(|place| OWN.get(place).copied())
}

/// A colour for each of at most seven clients of a chart: its own, or one that no other of them has.
pub fn roles_of(ids: &[i64]) -> Vec<Role> {
    let taken: Vec<Role> = ids.iter().filter_map(|&id| own_role(id)).collect();
    let mut free = OWN.into_iter().filter(|role| !taken.contains(role));
    ids.iter()
        .map(|&id| own_role(id).unwrap_or_else(|| free.next().expect("no more clients than colours")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_seven_have_their_own_colour_in_any_order_and_the_others_one_that_is_left() {
        assert_eq!(roles_of(&[2, 0, 6]), [Role::Client2, Role::Client0, Role::Client6]);
        let roles = roles_of(&[40, 0, -1, 3, 7, 6, 1]);
        assert_eq!((roles[1], roles[3], roles[5], roles[6]), (OWN[0], OWN[3], OWN[6], OWN[1]));
        for (place, role) in roles.iter().enumerate() {
            assert!(!roles[..place].contains(role), "{roles:?}");
        }
        assert!(own_role(-1).is_none() && own_role(7).is_none());
    }
}
