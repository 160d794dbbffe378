//! The settings of SGLang's scheduler.

use servescope_engine::SglangRules;

use super::Scenario;

impl Scenario {
    /// The rules of SGLang's scheduler.
    pub(super) fn sglang_rules(&self) -> SglangRules {
        SglangRules::default()
    }
}
