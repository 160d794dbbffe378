//! The command that starts the server whose scheduler the settings have.

use crate::diagnostic::Diagnostic;
use crate::notes::Traffic;
use crate::scenario::Scenario;
use crate::sglang_serve::sglang_serve;
use crate::vllm_serve::vllm_serve;

/// `sglang.launch_server` where SGLang schedules, otherwise `vllm serve`. Whether the setting can run is not asked here.
///
/// # Errors
/// [`Diagnostic`] where the scheduler is neither vLLM's nor SGLang's.
pub fn launch_command(scenario: &Scenario, traffic: Option<&Traffic>) -> Result<String, Diagnostic> {
    let command = if scenario.is_sglang() { sglang_serve } else { vllm_serve };
    command(scenario, traffic)
}
