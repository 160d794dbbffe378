//! Defaults that were others in former versions. What a link or a file of a former version leaves out means what it meant then.

use servescope_cost::launches::CAPTURED_TOKENS;

use super::Scenario;
use crate::parameters::{Id, Value};

/// Version of the links and scenario files that are written.
pub const VERSION: u8 = 5;

/// The oldest version that is still read.
pub const OLDEST_VERSION: u8 = 1;

/// The version of a scenario file that names none.
pub const VERSION_OF_OLD_FILES: u8 = 4;

/// The key of a scenario file's version.
pub const VERSION_KEY: &str = "version";

/// Before version 5 the default was S-LoRA on the GPU of its authors, by their calibration, under steady traffic, with looser
/// bounds on latency.
const BEFORE_5: [(Id, &str); 23] = [
    (Id::SchedulerKind, "slora"),
    (Id::CostKind, "linear"),
    (Id::FleetGpu, "a100_80_sxm"),
    (Id::FleetModel, "llama-2-7b"),
    (Id::Rate, "1.4"),
    (Id::Alpha, "1"),
    (Id::Adapters, "200"),
    (Id::Ranks, "8"),
    (Id::InputKind, "uniform"),
    (Id::InputHigh, "511"),
    (Id::InputMedian, "200"),
    (Id::OutputKind, "uniform"),
    (Id::OutputHigh, "511"),
    (Id::OutputMedian, "200"),
    (Id::OutputSigma, "0.8"),
    (Id::CurveKind, "constant"),
    (Id::CurveFactor, "2"),
    (Id::CurveStart, "100"),
    (Id::CurveEnd, "200"),
    (Id::ExtraTime, "60"),
    (Id::Duration, "300"),
    (Id::SloTtft, "6"),
    (Id::SloTpot, "0.2"),
];

/// A default that was another one, beside the other settings.
struct Former {
    /// The first version with the present default.
    before: u8,
    id: Id,
    was: fn(&Scenario) -> String,
}

/// Before version 2 vLLM v1 had the memory rules and bounds of the other schedulers, and the proxy's chain began with the check
/// of KV memory. Before version 3 the rate was above what the default server can serve. Before version 4 vLLM v1 had the longest
/// request of the other schedulers, and the largest CUDA graph did not follow the bound on running requests. In the order in which
/// they are set: the token budget follows the longest request, the bound on running requests the token budget.
const BEFORE_4: [Former; 10] = [
    Former { before: 4, id: Id::CapturedTokens, was: |_| CAPTURED_TOKENS.to_string() },
    Former { before: 4, id: Id::MaxRequestTokens, was: |_| "3072".to_owned() },
    Former { before: 3, id: Id::Rate, was: |_| "2".to_owned() },
    Former { before: 2, id: Id::GatewayChecks, was: |_| "rpm|tpm|concurrency|queue|kv".to_owned() },
    Former { before: 2, id: Id::BatchMaxTokens, was: |scenario| scenario.pool_budget().to_string() },
    Former { before: 2, id: Id::MaxRunning, was: former_max_running },
    Former { before: 2, id: Id::ReserveFullIsl, was: |_| "false".to_owned() },
    Former { before: 2, id: Id::AsyncScheduling, was: |_| "false".to_owned() },
    Former { before: 2, id: Id::PrefixCache, was: |_| "false".to_owned() },
    Former { before: 2, id: Id::Watermark, was: |_| "0.01".to_owned() },
];

/// 1000; vLLM does not start with more running requests than tokens in its budget.
fn former_max_running(scenario: &Scenario) -> String {
    let most = if scenario.is_vllm_v1() { scenario.number(Id::BatchMaxTokens) } else { f64::INFINITY };
    most.min(1000.0).to_string()
}

impl Scenario {
    /// The scenario of a link or file of this version that sets nothing: below 5 S-LoRA's server under steady traffic.
    pub fn of_version(version: u8) -> Self {
        let mut scenario = Self::default();
        if version < 5 {
            for (id, was) in BEFORE_5 {
                scenario.set_former(id, was);
            }
        }
        scenario
    }

    /// The same with these settings, in their order.
    ///
    /// # Errors
    /// [`Diagnostic`](crate::diagnostic::Diagnostic) for an unknown path or a value out of bounds.
    pub fn with(mut self, settings: &[(&str, &str)]) -> Result<Self, crate::diagnostic::Diagnostic> {
        settings.iter().try_for_each(|(path, value)| self.set_text(path, value))?;
        Ok(self)
    }

    /// Gives what was left out the default that it had in this version, should it act or come to act.
    pub(crate) fn keep_defaults_of(&mut self, version: u8) {
        let left_out: Vec<(Id, &str)> =
            BEFORE_5.into_iter().filter(|&(id, _)| version < 5 && !self.is_set(id)).collect();
        left_out.iter().for_each(|&(id, was)| self.set_former(id, was));
        for &Former { id, was, .. } in BEFORE_4.iter().filter(|former| version < former.before) {
            // An empty text is as good as none.
            let is_left_out = !self.is_set(id)
                || self.get(id) == Value::Text(String::new())
                || left_out.iter().any(|(own, _)| *own == id);
            let was = id.row().parse(&was(self)).expect("a former default is within bounds");
            if is_left_out && self.is_active(id) && self.get(id) != was {
                self.keep(id, was);
            }
        }
    }

    fn set_former(&mut self, id: Id, was: &str) {
        self.keep(id, id.row().parse(was).expect("a former default is within bounds"));
    }

    fn keep(&mut self, id: Id, was: Value) {
        self.set(id, was).expect("a parsed value is within bounds");
        self.kept.insert(id as u16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_former_default_was_another_one() {
        let now = Scenario::default();
        let then = Scenario::of_version(4);
        for (id, _) in BEFORE_5 {
            assert_ne!(now.get(id), then.get(id), "{}", id.row().id);
        }
        for Former { before, id, was } in BEFORE_4 {
            assert!(before < VERSION && id.row().parse(&was(&then)).is_ok(), "{}", id.row().id);
        }
        assert_eq!(Scenario::of_version(VERSION), now);
    }

    #[test]
    fn what_does_not_act_is_not_written_and_holds_where_it_comes_to_act() {
        let mut scenario = Scenario::default();
        scenario.set_text("scheduler.kind", "static").unwrap();
        scenario.keep_defaults_of(4);
        let is_written = |scenario: &Scenario, wanted| scenario.changed().any(|(id, _)| id == wanted);
        assert_eq!(scenario.choice(Id::CostKind), "linear");
        // The linear model is of no GPU.
        assert!(is_written(&scenario, Id::CostKind) && !is_written(&scenario, Id::FleetGpu));
        scenario.set_text("cost.kind", "roofline").unwrap();
        assert!(is_written(&scenario, Id::FleetGpu) && scenario.choice(Id::FleetGpu) == "a100_80_sxm");
        assert_eq!(scenario.given().count(), 2);
    }
}
