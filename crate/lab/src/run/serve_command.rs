//! The command that starts a server, for settings that can run.

use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::launch_command::launch_command;
use servescope_settings::notes::Traffic;
use servescope_settings::scenario::{AdapterRanks, Scenario};

/// The launch command for settings that a simulation accepts: with the requests that they make, or behind a trace that carries
/// `traffic`.
///
/// # Errors
/// What is wrong with the scenario, or that its scheduler is neither vLLM's nor SGLang's.
pub fn serve_command(scenario: &Scenario, traffic: Option<&Traffic>) -> Result<String, Vec<Diagnostic>> {
    let command = launch_command(scenario, traffic).map_err(|error| vec![error])?;
    let problems = scenario.problems();
    if traffic.is_none() && !problems.is_empty() {
        return Err(problems);
    }
    let ranks = traffic.map_or_else(
        || scenario.adapter_ranks(),
        |&Traffic { adapters: count, largest_rank: largest, .. }| AdapterRanks {
            sum: u64::from(count) * u64::from(largest),
            largest,
            count,
        },
    );
    // Iteration times are not asked for: no flag is about them, and the table that they need may not be here.
    scenario.pool_for(ranks).map_err(|error| vec![error])?;
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(settings: &[(&str, &str)]) -> Result<String, Vec<Diagnostic>> {
        let mut scenario = Scenario::of_version(4).with(settings).unwrap();
        scenario.set_text("scheduler.kind", "vllm_v1").unwrap();
        serve_command(&scenario, None)
    }

    #[test]
    fn what_cannot_run_has_no_command() {
        const HARDWARE: [(&str, &str); 3] =
            [("cost.kind", "roofline"), ("fleet.gpu", "h100_sxm"), ("fleet.model", "llama-3.1-8b")];
        assert!(command(&HARDWARE).is_ok());
        for setting in [
            ("adapters.max_cpu_loras", "2"),
            ("fleet.tensor_parallel", "3"),
            ("fleet.model", "llama-3.1-405b"),
            ("workload.input_tokens.low", "100000"),
        ] {
            let errors = command(&[&HARDWARE[..], &[setting]].concat()).unwrap_err();
            assert!(!errors.is_empty(), "{setting:?}");
        }
    }

    #[test]
    fn a_command_needs_no_iteration_times() {
        for (kind, gpu, model) in [
            ("kernels", "h100_sxm", "llama-3.1-8b"),
            ("profile", "a100_80_sxm", "llama-2-7b"),
            ("profile", "h200_sxm", "llama-3.1-8b"),
        ] {
            let text = command(&[("cost.kind", kind), ("fleet.gpu", gpu), ("fleet.model", model)]).unwrap();
            assert!(text.contains("--tensor-parallel-size 1"), "{kind}: {text}");
        }
    }

    #[test]
    fn what_vllm_plans_otherwise_is_said() {
        const HARDWARE: [(&str, &str); 3] =
            [("cost.kind", "roofline"), ("fleet.gpu", "h100_sxm"), ("fleet.model", "llama-3.1-8b")];
        for (settings, lines) in [
            (&[("fleet.memory_plan", "vidur")][..], &["# fleet.memory_plan=vidur: "][..]),
            (&[("workload.adapters.ranks", "24")], &["--max-lora-rank 32", "# rank 24: "]),
            (
                &[("scheduler.order", "priority")],
                &[
                    "--scheduling-policy priority",
                    "# scheduler.priority.ageing_s=10: ",
                    "# scheduler.priority.classes=",
                ],
            ),
            (
                &[("adapters.memory", "resident")],
                &["--enable-lora", "--max-loras 200", "# adapters.memory=resident: "],
            ),
            (&[("adapters.memory", "unified")], &["--enable-lora", "# adapters.memory=unified: "]),
            (&[("scheduler.block_size", "24")], &["# scheduler.block_size=24: "]),
            (&[("adapters.host_gb_per_s", "10")], &["# adapters.host_gb_per_s=10: no flag"]),
        ] {
            let text = command(&[&HARDWARE[..], settings].concat()).unwrap();
            for line in lines {
                assert!(text.contains(line), "{settings:?}: {line} in {text}");
            }
        }
    }
}
