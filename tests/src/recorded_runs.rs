//! Files of runs that a real scheduler gave: fields that must be there, the times of its batches, and whether all agree.

use std::path::Path;

use serde_json::Value;
use servescope_cost::{AdapterCost, LinearCost};

/// A whole number that must be there.
///
/// # Panics
///
/// If it is absent or no whole number below 2^32.
#[must_use]
pub fn whole(value: &Value, key: &str) -> u32 {
    let number = value[key].as_u64().unwrap_or_else(|| panic!("{key} is {}", value[key]));
    u32::try_from(number).unwrap_or_else(|_| panic!("{key} is {number}"))
}

/// A number that must be there.
///
/// # Panics
///
/// If it is absent.
#[must_use]
pub fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} is {}", value[key]))
}

/// A flag that must be there.
///
/// # Panics
///
/// If it is absent.
#[must_use]
pub fn flag(value: &Value, key: &str) -> bool {
    value[key].as_bool().unwrap_or_else(|| panic!("{key} is {}", value[key]))
}

/// The entries of a list that must be there.
///
/// # Panics
///
/// If it is absent.
#[must_use]
pub fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("{key} is no list"))
}

/// The requests of a run, in the order in which they arrive.
///
/// # Panics
///
/// If the file has none, or one has no arrival.
#[must_use]
pub fn requests(file: &Value) -> Vec<&Value> {
    let mut requests: Vec<&Value> = list(file, "requests").iter().collect();
    requests.sort_by(|a, b| number(a, "arrival_us").total_cmp(&number(b, "arrival_us")));
    requests
}

/// How long the batches of a run took: its `law_us`.
///
/// # Panics
///
/// If a coefficient is absent.
#[must_use]
pub fn batch_times(file: &Value) -> LinearCost {
    let law = &file["law_us"];
    LinearCost {
        prefill_base_us: number(law, "A_p"),
        prefill_per_token_us: number(law, "b"),
        decode_base_us: number(law, "A_d"),
        decode_per_request_us: number(law, "c"),
        decode_per_kv_token_us: number(law, "d"),
        overhead_us: 0.0,
        adapters: AdapterCost::FREE,
    }
}

/// Compares every run by `check`, which is given the file and its name and says how many batches and requests agree.
///
/// # Panics
///
/// If one differs; all are named.
pub fn all_agree<P: AsRef<Path>>(
    runs: impl IntoIterator<Item = (Value, P)>,
    check: impl Fn(&Value, &str) -> Result<usize, String>,
) {
    let (mut checked, mut wrong) = (0, Vec::new());
    for (file, path) in runs {
        let name = crate::plain_name(path.as_ref());
        match check(&file, &name) {
            Ok(cases) => {
                crate::report_cases(path.as_ref(), cases);
                checked += 1;
            }
            Err(difference) => wrong.push(format!("{name}: {difference}")),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} runs differ:\n{}",
        wrong.len(),
        checked + wrong.len(),
        wrong.join("\n")
    );
    println!("{checked} runs agree");
}
