//! The command that starts the server whose scheduler the settings have.

use servescope_engine::SchedulerKind;

use crate::diagnostic::Diagnostic;
use crate::notes::Traffic;
use crate::parameters::choices;
use crate::scenario::Scenario;
use crate::sglang_serve::sglang_serve;
use crate::trtllm_serve::trtllm_serve;
use crate::vllm_serve::vllm_serve;

/// `sglang.launch_server` where SGLang schedules, `trtllm-serve` where TensorRT-LLM does, otherwise `vllm serve`. Whether the setting can run is not asked here.
///
/// # Errors
/// [`Diagnostic`] where the scheduler is neither vLLM's nor SGLang's nor TensorRT-LLM's.
pub fn launch_command(scenario: &Scenario, traffic: Option<&Traffic>) -> Result<String, Diagnostic> {
    let command = match scenario.chosen(choices::SCHEDULER) {
        SchedulerKind::Sglang => sglang_serve,
        SchedulerKind::Trtllm => trtllm_serve,
        _ => vllm_serve,
    };
    command(scenario, traffic)
}
