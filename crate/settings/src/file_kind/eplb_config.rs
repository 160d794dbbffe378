//! vLLM's `--eplb-config`: JSON, or a flag for each field (vllm/config/parallel.py, `EPLBConfig`).

use super::launch_line::json_of;
use crate::parameters::Id;

/// The flag; its fields stand behind it in the JSON, or in the name of a flag as `--eplb-config.step_interval 512`.
pub(super) const FLAG: &str = "eplb-config";

/// Fields that are parameters.
const FIELDS: [(&str, Id); 3] = [
    ("num_redundant_experts", Id::EplbRedundant),
    ("step_interval", Id::EplbInterval),
    ("use_async", Id::EplbAsync),
];

/// The settings of the flag's JSON in a line, as `PATH=VALUE`, and the fields that have no parameter; `None`: the line does not have
/// it, or it cannot be read.
pub(super) fn settings(line: &str) -> Option<(Vec<String>, Vec<String>)> {
    let config = json_of(line, FLAG)?;
    let (mut settings, mut unknown) = (Vec::new(), Vec::new());
    for (field, value) in config.as_object()? {
        match setting(field, &value.to_string()) {
            Some(setting) => settings.push(setting),
            None => unknown.push(format!("--{FLAG} {field}")),
        }
    }
    Some((settings, unknown))
}

/// The setting of a field; `None`: it has no parameter.
pub(super) fn setting(field: &str, value: &str) -> Option<String> {
    let field = field.replace('-', "_");
    let (_, id) = FIELDS.iter().find(|row| row.0 == field)?;
    Some(format!("{}={value}", id.row().id))
}

#[cfg(test)]
mod tests {
    use crate::file_kind::launch_line::Server;
    use crate::scenario::Scenario;
    use crate::vllm_serve::vllm_serve;

    #[test]
    fn what_is_written_is_read() {
        let scenario = Scenario::of_version(5)
            .with(&[
                ("scheduler.kind", "vllm_v1"),
                ("cost.kind", "roofline"),
                ("fleet.gpu", "h200_sxm"),
                ("fleet.model", "deepseek-v3"),
                ("fleet.weights", "fp8"),
                ("fleet.data_parallel_size", "8"),
                ("fleet.enable_expert_parallel", "true"),
                ("fleet.enable_eplb", "true"),
                ("fleet.eplb.num_redundant_experts", "32"),
                ("fleet.eplb.step_interval", "500"),
                ("fleet.eplb.use_async", "false"),
            ])
            .unwrap();
        let line = vllm_serve(&scenario, None).unwrap();
        let (settings, _) = Server::Vllm.settings(&line);
        for setting in [
            "fleet.enable_eplb=true",
            "fleet.eplb.num_redundant_experts=32",
            "fleet.eplb.step_interval=500",
            "fleet.eplb.use_async=false",
        ] {
            assert!(settings.iter().any(|own| own == setting), "{setting} of {line}: {settings:?}");
        }
    }

    #[test]
    fn fields_are_read_from_flags_of_their_own() {
        let line = "vllm serve m --enable-eplb --eplb-config.window_size 128 --eplb-config.step_interval=512 --max-num-seqs 8";
        let (settings, unknown) = Server::Vllm.settings(line);
        assert!(settings.contains(&"fleet.eplb.step_interval=512".to_owned()), "{settings:?}");
        assert_eq!(unknown, ["--eplb-config.window_size"]);
        let line = "vllm serve m --enable-eplb --eplb-config '{\"window_size\": 9, \"use_async\": true}'";
        let (settings, unknown) = Server::Vllm.settings(line);
        assert!(settings.contains(&"fleet.eplb.use_async=true".to_owned()), "{settings:?}");
        assert_eq!(unknown, ["--eplb-config window_size"]);
    }
}
