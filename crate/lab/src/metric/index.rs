//! Metrics of one user or one adapter: which one, and whether there is such a one.

use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::parameters::Id;
use servescope_settings::scenario::Scenario;
use servescope_traces::loaded_trace::LoadedTrace;

use super::nearest;
use super::table::{COLUMNS, Row};

/// A user or an adapter, by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Member {
    /// A user.
    User(u32),
    /// An adapter; -1 is the base model.
    Adapter(i64),
}

impl Member {
    /// Its name in a sentence.
    pub fn name(self) -> String {
        match self {
            Self::User(user) => format!("user {user}"),
            Self::Adapter(-1) => "the base model".to_owned(),
            Self::Adapter(adapter) => format!("adapter {adapter}"),
        }
    }
}

/// How many users and adapters requests can be of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Members {
    /// Users.
    pub users: u32,
    /// Adapters, without the base model.
    pub adapters: u32,
}

impl Members {
    /// Of a trace, or of a scenario where there is none.
    pub fn of(scenario: &Scenario, loaded: Option<&LoadedTrace>) -> Self {
        match loaded {
            Some(LoadedTrace { trace, .. }) => {
                Self { users: trace.user_count() as u32, adapters: trace.adapter_count() as u32 }
            }
            None => Self {
                users: scenario.number(Id::Users) as u32,
                adapters: scenario.number(Id::Adapters) as u32,
            },
        }
    }

    /// The larger of both counts.
    pub fn or(self, other: Self) -> Self {
        Self { users: self.users.max(other.users), adapters: self.adapters.max(other.adapters) }
    }

    /// Whether the metric's user or adapter is one of them.
    ///
    /// # Errors
    /// [`Diagnostic`] with the index and the largest that there is.
    pub fn check(self, metric: &super::Metric) -> Result<(), Diagnostic> {
        let path = metric.path();
        let (value, count, kind) = match metric.member() {
            Some(Member::User(user)) => (i64::from(user), self.users, "user"),
            Some(Member::Adapter(adapter)) => (adapter, self.adapters, "adapter"),
            None => return Ok(()),
        };
        if value < i64::from(count) {
            return Ok(());
        }
        let there_are = match (count, kind) {
            (0, _) => "all requests are of the base model, adapter -1".to_owned(),
            (1, _) => format!("there is only {kind} 0"),
            (count, _) => format!("the {kind}s are 0 to {}", count - 1),
        };
        let message = format!("{path}: there is no {kind} {value}; {there_are}");
        let code = if kind == "user" { "no_such_user" } else { "no_such_adapter" };
        Err(Diagnostic::error(code, path, message)
            .number("index", value as f64)
            .number("count", f64::from(count)))
    }
}

/// The user or adapter and the column of a path by user or by adapter; none for another path.
///
/// # Errors
/// [`Diagnostic`] where the index is missing or no index, or the column is none.
pub(super) fn read(path: &str) -> Result<Option<(Member, &'static Row)>, Diagnostic> {
    let (table, rest) = path.split_once('.').unwrap_or((path, ""));
    let kind = match table {
        "per_user" => "user",
        "per_adapter" => "adapter",
        _ => return Ok(None),
    };
    let (index, column) = match rest.split_once('.') {
        Some((index, column)) => (index, column),
        // Without an index, what is there is the column.
        None => ("", rest),
    };
    let of = match kind {
        "user" => index.parse().ok().map(Member::User),
        _ => index.parse().ok().filter(|&adapter| adapter >= -1).map(Member::Adapter),
    };
    let Some(of) = of else {
        let column = if column.is_empty() { "ttft_mean_s" } else { column };
        let from = if kind == "user" { "0" } else { "0, or -1 for the base model" };
        let message = format!(
            "{path}: which {kind}? An index is needed, a whole number from {from}: {table}.0.{column}"
        );
        let code = if kind == "user" { "no_user_index" } else { "no_adapter_index" };
        return Err(Diagnostic::error(code, path, message).text("value", index));
    };
    if let Some(row) = COLUMNS.iter().find(|row| row.path == column) {
        return Ok(Some((of, row)));
    }
    let known = COLUMNS.iter().map(|row| format!("{table}.{index}.{}", row.path));
    let near = nearest(path, known);
    let message = format!("{path}: there is no such number of {}; the nearest are {near}", of.name());
    Err(Diagnostic::error("unknown_metric", path, message).text("value", path).text("nearest", &near))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::metric::Metric;

    proptest! {
        #![proptest_config(servescope_testkit::cases(200, 5_000))]

        #[test]
        fn any_text_is_a_metric_or_an_error_that_has_it(text in r"(per_user|per_adapter|ttft_s|slo|gateway)?[.a-z0-9_{}\-]{0,24}") {
            match Metric::parse(&text) {
                Ok(metric) => prop_assert_eq!(metric.path(), text),
                Err(error) => prop_assert!(error.message.starts_with(&text), "{}", error.message),
            }
        }
    }

    #[test]
    fn a_missing_index_is_told_with_what_is_expected() {
        let error = |path: &str| Metric::parse(path).unwrap_err();
        for path in [
            "per_user.ttft_mean_s",
            "per_user",
            "per_user.",
            "per_user..ttft_mean_s",
            "per_user.x.ttft_mean_s",
            "per_user.{index}.ttft_mean_s",
            "per_user.-1.ttft_mean_s",
            "per_user.1.5.ttft_mean_s",
        ] {
            let error = error(path);
            if path == "per_user.1.5.ttft_mean_s" {
                assert_eq!(error.code, "unknown_metric");
                continue;
            }
            assert_eq!(error.code, "no_user_index", "{path}");
            assert!(
                error.message.contains("which user?") && error.message.contains("per_user.0.ttft_mean_s"),
                "{}",
                error.message
            );
        }
        assert_eq!(error("per_adapter.share").code, "no_adapter_index");
        assert_eq!(error("per_adapter.-2.share").code, "no_adapter_index");
        let unknown = error("per_user.0.ttft_p98_s");
        assert!(unknown.message.contains("per_user.0.ttft_p99_s"), "{}", unknown.message);
    }

    #[test]
    fn an_index_that_no_request_can_have_is_told_with_the_largest() {
        let mut scenario = Scenario::of_version(4);
        scenario.set_text("workload.users.count", "4").unwrap();
        scenario.set_text("workload.adapters.count", "0").unwrap();
        let check = |path: &str| Members::of(&scenario, None).check(&Metric::parse(path).unwrap());
        for path in ["per_user.3.ttft_mean_s", "per_adapter.-1.share", "ttft_s.p99"] {
            assert_eq!(check(path), Ok(()), "{path}");
        }
        assert_eq!(
            check("per_user.4.ttft_mean_s").unwrap_err().message,
            "per_user.4.ttft_mean_s: there is no user 4; the users are 0 to 3"
        );
        let none = check("per_adapter.0.share").unwrap_err();
        assert_eq!(none.code, "no_such_adapter");
        assert!(none.message.ends_with("all requests are of the base model, adapter -1"), "{}", none.message);
    }
}
