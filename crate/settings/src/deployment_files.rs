//! A fleet as files of the platforms that deploy vLLM on Kubernetes: values of llm-d's chart `llm-d-modelservice` (0.4), and a
//! `DynamoGraphDeployment` (`nvidia.com/v1alpha1`, Dynamo 1.6).
//!
//! Both start `vllm serve` with the flags of [`vllm_flags`]; pools of prefill and decode replicas, their counts and GPUs are fields of
//! their own. What has no field is said in comments. Images, names of secrets and machines are left to the reader.

use std::fmt::Write as _;

use servescope_engine::KvRole;

use crate::diagnostic::Diagnostic;
use crate::parameters::Id;
use crate::scenario::{Scenario, ScenarioPool};
use crate::vllm_serve::{CONNECTOR, vllm_flags};

/// A platform that deploys vLLM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// llm-d: values for Helm.
    LlmD,
    /// NVIDIA Dynamo: a resource for kubectl.
    Dynamo,
}

/// The names of the platforms on the command line.
pub const PLATFORMS: [&str; 2] = ["llm-d", "dynamo"];

impl Platform {
    /// A platform by its name.
    pub fn named(name: &str) -> Option<Self> {
        PLATFORMS.iter().position(|other| *other == name).map(|place| [Self::LlmD, Self::Dynamo][place])
    }
}

/// A pool as the files have it.
struct Workers {
    role: Option<KvRole>,
    replicas: u32,
    /// GPUs of a replica that share a layer, its ranks, and all of them.
    tensor: u32,
    data: u32,
    gpus: u32,
    /// Flags that no field stands for.
    flags: Vec<String>,
    /// What neither does.
    left_out: Vec<String>,
}

/// The file of a scenario for a platform.
///
/// # Errors
/// [`Diagnostic`] where the scheduler is not vLLM's, or the pools of the fleet cannot be read.
pub fn deployment_file(scenario: &Scenario, platform: Platform) -> Result<String, Diagnostic> {
    let pools = scenario.fleet_pools()?;
    let shown = if scenario.is_disaggregated() { 2 } else { 1 };
    let workers: Vec<Workers> = pools.iter().take(shown).map(workers).collect::<Result<_, _>>()?;
    let model = if scenario.has_own_model() { "your model".into() } else { scenario.model_name() };
    let mut text = format!("# MODEL is a name on Hugging Face: {model}\n");
    match platform {
        Platform::LlmD => llm_d(&mut text, &workers),
        Platform::Dynamo => dynamo(&mut text, &workers),
    }
    for pool in &pools[shown.min(pools.len())..] {
        let _ = writeln!(
            text,
            "# a further pool of {} replicas: a file of its own",
            pool.scenario.whole(Id::Replicas)
        );
    }
    let router = scenario.choice(Id::Router);
    let _ = writeln!(text, "# fleet.router={router}: set in the router's own configuration");
    for line in workers.iter().flat_map(|own| &own.left_out) {
        let line = format!("# {line}\n");
        if !text.contains(&line) {
            text.push_str(&line);
        }
    }
    Ok(text)
}

fn workers(pool: &ScenarioPool) -> Result<Workers, Diagnostic> {
    let scenario = &pool.scenario;
    let own = vllm_flags(scenario, None)?;
    let is_field = |flag: &&String| {
        !["--tensor-parallel-size ", "--data-parallel-size "].iter().any(|field| flag.starts_with(field))
    };
    let mut flags: Vec<String> = own.lines.iter().filter(is_field).cloned().collect();
    if pool.role.is_some() && !flags.iter().any(|flag| flag.starts_with("--kv-transfer-config")) {
        flags.push(format!("--kv-transfer-config '{{{CONNECTOR}}}'"));
    }
    // The files say it by themselves.
    let said = [Id::Replicas, Id::PrefillReplicas, Id::DecodePool].map(|id| format!("{}=", id.row().id));
    let is_left_out = |line: &&String| !said.iter().any(|path| line.starts_with(path));
    Ok(Workers {
        role: pool.role,
        replicas: scenario.whole(Id::Replicas),
        tensor: scenario.whole(Id::TensorParallel),
        data: scenario.data_parallel_size(),
        gpus: scenario.gpus_per_replica(),
        flags,
        left_out: own.left_out.iter().filter(is_left_out).cloned().collect(),
    })
}

/// The words of flags: a flag, and its value without the quotes of a shell.
fn words(flags: &[String]) -> Vec<String> {
    let of = |flag: &String| match flag.split_once(' ') {
        Some((name, value)) => vec![name.to_owned(), value.trim_matches('\'').to_owned()],
        None => vec![flag.clone()],
    };
    flags.iter().flat_map(of).collect()
}

/// A text in quotes, as YAML reads it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn llm_d(text: &mut String, workers: &[Workers]) {
    let is_apart = workers.len() > 1;
    text.push_str("# helm install MODEL llm-d-modelservice/llm-d-modelservice -f FILE\n");
    text.push_str("multinode: false\nmodelArtifacts:\n  uri: \"hf://MODEL\"\n  name: MODEL\n");
    let _ = writeln!(text, "routing:\n  proxy:\n    enabled: {is_apart}\n    targetPort: 8000");
    text.push_str("accelerator:\n  type: nvidia\n");
    for own in workers {
        let name = if own.role == Some(KvRole::Producer) { "prefill" } else { "decode" };
        let _ = writeln!(text, "{name}:\n  create: true\n  replicas: {}", own.replicas);
        let _ = writeln!(text, "  parallelism:\n    tensor: {}\n    data: {}", own.tensor, own.data);
        text.push_str("  containers:\n    - name: vllm\n      image: IMAGE\n      modelCommand: vllmServe\n");
        text.push_str("      args:\n");
        words(&own.flags).iter().for_each(|word| _ = writeln!(text, "        - {}", quoted(word)));
    }
    if !is_apart {
        text.push_str("prefill:\n  create: false\n");
    }
}

fn dynamo(text: &mut String, workers: &[Workers]) {
    text.push_str("# kubectl apply -f FILE\n");
    text.push_str(
        "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata:\n  name: servescope\n",
    );
    text.push_str("spec:\n  services:\n    Frontend:\n      componentType: frontend\n      replicas: 1\n");
    text.push_str("      extraPodSpec:\n        mainContainer:\n          image: IMAGE\n");
    for own in workers {
        let (name, mode) = match own.role {
            Some(KvRole::Producer) => ("VllmPrefillWorker", Some("prefill")),
            Some(KvRole::Consumer) => ("VllmDecodeWorker", Some("decode")),
            None => ("VllmWorker", None),
        };
        let _ = writeln!(text, "    {name}:\n      componentType: worker");
        mode.iter().for_each(|mode| _ = writeln!(text, "      subComponentType: {mode}"));
        let _ = writeln!(text, "      replicas: {}", own.replicas);
        let _ = writeln!(text, "      resources:\n        limits:\n          gpu: \"{}\"", own.gpus);
        text.push_str("      extraPodSpec:\n        mainContainer:\n          image: IMAGE\n");
        text.push_str("          command: [\"python3\", \"-m\", \"dynamo.vllm\"]\n          args:\n");
        let mut all = vec!["--model".to_owned(), "MODEL".to_owned()];
        all.extend(mode.iter().flat_map(|mode| ["--disaggregation-mode".to_owned(), (*mode).to_owned()]));
        all.extend(["--tensor-parallel-size".to_owned(), own.tensor.to_string()]);
        if own.data > 1 {
            all.extend(["--data-parallel-size".to_owned(), own.data.to_string()]);
        }
        all.extend(words(&own.flags));
        all.iter().for_each(|word| _ = writeln!(text, "            - {}", quoted(word)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml_text::documents;
    use serde_json::Value as Json;

    fn yaml(text: &str) -> Option<Json> {
        documents(text).ok()?.into_iter().next()
    }

    fn scenario(settings: &[(&str, &str)]) -> Scenario {
        let own = [
            ("scheduler.kind", "vllm_v1"),
            ("cost.kind", "roofline"),
            ("fleet.model", "qwen3-32b"),
            ("fleet.tensor_parallel", "2"),
            ("fleet.replicas", "8"),
            ("workload.adapters.count", "0"),
        ];
        Scenario::of_version(5).with(&own).unwrap().with(settings).unwrap()
    }

    const APART: [(&str, &str); 3] = [
        ("fleet.disaggregation.kind", "nixl"),
        ("fleet.disaggregation.prefill_replicas", "5"),
        ("fleet.disaggregation.decode", "fleet.tensor_parallel=4"),
    ];

    #[test]
    fn pools_of_llm_d_have_their_counts_and_parallelism() {
        let file = deployment_file(&scenario(&APART), Platform::LlmD).unwrap();
        let values = yaml(&file).unwrap();
        let of = |pool: &str| {
            let pool = &values[pool];
            (pool["replicas"].clone(), pool["parallelism"]["tensor"].clone())
        };
        assert_eq!(of("prefill"), (5.into(), 2.into()));
        assert_eq!(of("decode"), (3.into(), 4.into()));
        assert_eq!(values["routing"]["proxy"]["enabled"], true);
        let args = values["decode"]["containers"][0]["args"].as_array().unwrap();
        assert!(!args.iter().any(|word| word == "--tensor-parallel-size"), "{args:?}");
        let at = args.iter().position(|word| word == "--kv-transfer-config").unwrap();
        let config: serde_json::Value = serde_json::from_str(args[at + 1].as_str().unwrap()).unwrap();
        assert_eq!(config["kv_connector"], "NixlConnector");
        assert_eq!(file.matches("IMAGE").count(), 2);
    }

    #[test]
    fn a_fleet_of_whole_replicas_has_one_pool() {
        let values = yaml(&deployment_file(&scenario(&[]), Platform::LlmD).unwrap()).unwrap();
        assert_eq!((&values["decode"]["replicas"], &values["prefill"]["create"]), (&8.into(), &false.into()));
        let file = deployment_file(&scenario(&[]), Platform::Dynamo).unwrap();
        let services = yaml(&file).unwrap()["spec"]["services"].clone();
        assert_eq!(services["VllmWorker"]["replicas"], 8);
        assert_eq!(services["VllmWorker"]["resources"]["limits"]["gpu"], "2");
        assert!(services.get("VllmDecodeWorker").is_none());
    }

    #[test]
    fn workers_of_dynamo_have_their_roles() {
        let file = deployment_file(&scenario(&APART), Platform::Dynamo).unwrap();
        let services = yaml(&file).unwrap()["spec"]["services"].clone();
        for (name, replicas, gpus, mode) in
            [("VllmPrefillWorker", 5, "2", "prefill"), ("VllmDecodeWorker", 3, "4", "decode")]
        {
            let own = &services[name];
            assert_eq!((&own["replicas"], &own["subComponentType"]), (&replicas.into(), &mode.into()));
            assert_eq!(own["resources"]["limits"]["gpu"], gpus);
            let args = own["extraPodSpec"]["mainContainer"]["args"].as_array().unwrap();
            let at = args.iter().position(|word| word == "--disaggregation-mode").unwrap();
            assert_eq!(args[at + 1], mode);
        }
    }

    #[test]
    fn another_scheduler_has_no_file() {
        let mut own = scenario(&[]);
        own.set_text("scheduler.kind", "sglang").unwrap();
        assert_eq!(deployment_file(&own, Platform::LlmD).unwrap_err().code, "not_vllm");
        assert_eq!(Platform::named("dynamo"), Some(Platform::Dynamo));
        assert_eq!(Platform::named("other"), None);
    }
}
