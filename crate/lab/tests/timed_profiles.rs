//! Times of operators, shipped and of one's own: what runs, what is refused, and what changes the times.

use std::sync::Arc;

use servescope_lab::run::Run;
use servescope_settings::profiles::{LoadedProfile, MeasurementSettings, NamedText};
use servescope_settings::scenario::{CostSource, Scenario};

const FILES: &str = include_str!("../../../tests/fuzz/corpus/profile/files");
const SHIPPED: &str = include_str!("../../../static/profiles/a100_Llama-2-7b-hf.txt");
const NAMES: [&str; 5] = ["a.csv", "b.csv", "c.csv", "d.csv", "e.csv"];
const OF: MeasurementSettings<'_> = MeasurementSettings { gpu: "g", model: "a/b", layers: 80 };

fn files() -> Vec<NamedText<'static>> {
    let texts = FILES.split("---\n").take(5);
    NAMES.into_iter().zip(texts).map(|(name, text)| NamedText { name, text }).collect()
}

fn scenario(settings: &[(&str, &str)]) -> Scenario {
    let mut scenario = Scenario::of_version(4);
    let common = [("scheduler.kind", "vllm_v1"), ("cost.kind", "profile"), ("workload.duration_s", "20")];
    for (path, value) in common.iter().chain(settings) {
        scenario.set_text(path, value).unwrap();
    }
    scenario
}

fn with(settings: &[(&str, &str)], loaded: &LoadedProfile) -> Scenario {
    let mut scenario = scenario(settings);
    scenario.set_profile(Some(Arc::new(loaded.clone())));
    scenario
}

#[test]
fn a_deployment_that_was_timed_runs_and_says_where_its_times_come_from() {
    let llama = scenario(&[("fleet.model", "llama-2-7b")]);
    let run = Run::simulate(&llama, None).unwrap();
    assert!(run.summary().run.requests.completed > 0);
    let source = llama.cost_source().unwrap();
    assert_eq!(source.name, "Vidur: meta-llama/Llama-2-7b-hf on a100, TP 1");
    let [operators, attention] = source.parts[..] else { panic!("two parts") };
    assert_eq!((operators.origin, attention.origin), ("measured", "reconstructed"));
    assert!(operators.p95_error < 0.03 && attention.p95_error < 0.08);
    let unseen = |source: &CostSource| source.held_out.iter().map(|error| error.unseen).collect::<Vec<_>>();
    assert_eq!(unseen(&source), ["points"; 3]);
    // Its attention was timed on no GPU.
    let borrowed = scenario(&[("fleet.model", "llama-2-7b"), ("fleet.gpu", "a40")]).cost_source().unwrap();
    assert_eq!(unseen(&borrowed), ["points", "heads", "heads"]);
    assert_eq!(Scenario::of_version(4).cost_source(), None);
}

#[test]
fn measured_host_overhead_makes_iterations_longer() {
    let e2e = |host: &str| {
        let settings = [("fleet.model", "llama-2-7b"), ("cost.host_overhead", host)];
        Run::simulate(&scenario(&settings), None).unwrap().summary().run.e2e_s.mean.unwrap()
    };
    assert!(e2e("measured") > 1.05 * e2e("none"));
}

#[test]
fn a_node_with_slower_links_makes_iterations_longer() {
    let of = |settings: &[(&str, &str)]| {
        let two = [("fleet.model", "llama-2-7b"), ("fleet.tensor_parallel", "2")];
        scenario(&[&two, settings].concat())
    };
    let pairs = ("fleet.network", "pairwise_nvlink");
    let e2e = |s: &Scenario| Run::simulate(s, None).unwrap().summary().run.e2e_s.mean.unwrap();
    let (dgx, four) = (of(&[]), ("fleet.tensor_parallel", "4"));
    assert!(e2e(&of(&[pairs, four])) > 1.05 * e2e(&of(&[four])));
    assert_ne!(e2e(&of(&[pairs])), e2e(&dgx));
    let source = of(&[pairs]).cost_source().unwrap();
    assert!(source.name.ends_with(", TP 2, pairwise_nvlink"), "{}", source.name);
    // Where there is no other node, it has no effect.
    let digest = |s: &Scenario| Run::simulate(s, None).unwrap().summary().run.digest.clone();
    assert_eq!(digest(&of(&[pairs, ("fleet.gpu", "a40")])), digest(&of(&[("fleet.gpu", "a40")])));
    let error = &Run::simulate(&of(&[pairs, ("fleet.tensor_parallel", "8")]), None).unwrap_err()[0];
    assert_eq!(error.code, "no_network");
    assert!(error.message.ends_with("fleet.tensor_parallel 1, 2, 4"), "{}", error.message);
    // A profile of one's own may lack it.
    let without = SHIPPED.split_once("\nnetwork ").unwrap().0;
    let mut own = of(&[pairs]);
    own.set_profile(Some(Arc::new(LoadedProfile::read("own.txt", without).unwrap())));
    assert_eq!(Run::simulate(&own, None).unwrap_err()[0].code, "no_network");
}

#[test]
fn what_was_not_timed_is_refused_with_what_there_is() {
    let refused = |settings: &[(&str, &str)]| {
        let errors = Run::simulate(&scenario(settings), None).unwrap_err();
        (errors[0].code, errors[0].message.clone())
    };
    let (code, message) = refused(&[("fleet.model", "llama-2-7b"), ("fleet.tensor_parallel", "3")]);
    assert_eq!(code, "no_profile");
    assert!(message.ends_with("there is fleet.tensor_parallel 1, 2, 4, 8"), "{message}");
    let (_, message) = refused(&[
        ("fleet.model", "deepseek-v3"),
        ("fleet.gpu", "h100_sxm"),
        ("fleet.tensor_parallel", "8"),
        ("fleet.kv_pool", "given"),
    ]);
    assert!(message.contains("h100_sxm: codellama-34b, llama-2-70b"), "{message}");
    let (_, message) = refused(&[("fleet.gpu", "a10"), ("fleet.model", "phi-2")]);
    assert!(message.contains("a100_80_sxm: ") && message.contains("; a40: "), "{message}");
    let (code, _) = refused(&[
        ("fleet.model", "llama-2-7b"),
        ("fleet.gpu", "h100_sxm"),
        ("cost.host_overhead", "measured"),
    ]);
    assert_eq!(code, "no_host_profile");
}

#[test]
fn a_shipped_text_as_a_file_runs_as_the_shipped_profile_does() {
    let settings = [("fleet.model", "llama-2-7b"), ("fleet.tensor_parallel", "2")];
    let shipped = Run::simulate(&scenario(&settings), None).unwrap();
    let loaded = LoadedProfile::read("own.txt", SHIPPED).unwrap();
    let own = with(&settings, &loaded);
    let run = Run::simulate(&own, None).unwrap();
    assert_eq!(run.summary().run.digest, shipped.summary().run.digest);
    let source = own.cost_source().unwrap();
    assert_eq!(source.file.as_deref(), Some("own.txt"));
    assert_eq!(source.name, "meta-llama/Llama-2-7b-hf on a100, TP 2");
    // Another model of the list: the file's dimensions count, whatever the list says.
    let other = with(&[("fleet.model", "phi-2"), settings[1]], &loaded);
    assert_eq!(other.kv_token_bytes(), own.kv_token_bytes());
    assert_eq!(Run::simulate(&other, None).unwrap().summary().run.digest, run.summary().run.digest);
    // It stands for the shipped profiles only.
    let settings = [("cost.kind", "roofline"), settings[0]];
    let (roofline, beside) = (scenario(&settings), with(&settings, &loaded));
    let digest = |s: &Scenario| Run::simulate(s, None).unwrap().summary().run.digest;
    assert_eq!(digest(&roofline), digest(&beside));
}

#[test]
fn files_of_ones_own_run_where_they_fit() {
    let (loaded, _) = LoadedProfile::of_files(&files(), &OF).unwrap();
    let run = Run::simulate(&with(&[("fleet.kv_pool", "given")], &loaded), None).unwrap();
    assert!(run.summary().run.requests.completed > 0);
    let refused =
        Run::simulate(&with(&[("fleet.kv_pool", "given"), ("fleet.tensor_parallel", "4")], &loaded), None);
    let message = &refused.unwrap_err()[0].message;
    assert!(message.contains("a/b on g") && message.ends_with("fleet.tensor_parallel 1, 2"), "{message}");
    let refused = Run::simulate(&with(&[], &loaded), None).unwrap_err();
    assert!(refused[0].code == "does_not_fit" && refused[0].message.contains("a/b"), "{refused:?}");
}
