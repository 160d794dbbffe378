//! The engine beside other simulators, in one run on one machine: a crate that is installed and run here, and Vidur by what
//! was measured of it. Further, a million requests on a fleet, and a grid of configurations searched for their capacity.
//!
//! The scenarios lie in `crate/xtask/peers`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use super::print_document;
use crate::process::{self, TaskResult};
use crate::project::Project;
use crate::tools;

/// Programs are timed so often, in turns; the fastest counts.
const ROUNDS: usize = 5;

/// What was measured of Vidur (commit 7d47513, Python 3.11, two cores of a shared machine, default metrics): requests and
/// iterations a second of its simulation loop, two runs of each.
struct OfVidur {
    scenario: &'static str,
    iterations: u32,
    requests_per_s: [f64; 2],
    iterations_per_s: [f64; 2],
}

const VIDUR: [OfVidur; 3] = [
    OfVidur {
        scenario: "vidur-vllm-fixed",
        iterations: 2_260,
        requests_per_s: [1_441.0, 1_490.0],
        iterations_per_s: [3_257.0, 3_368.0],
    },
    OfVidur {
        scenario: "vidur-sarathi-uniform",
        iterations: 41_546,
        requests_per_s: [825.0, 716.0],
        iterations_per_s: [3_426.0, 2_976.0],
    },
    OfVidur {
        scenario: "vidur-vllm-heavy",
        iterations: 64_155,
        requests_per_s: [782.0, 759.0],
        iterations_per_s: [5_020.0, 4_870.0],
    },
];

/// Measures, prints and writes like the bench without peers; a peer that could not be run is said in its place, and at the
/// end.
pub(crate) fn run(project: &Project, out: Option<&str>) -> TaskResult {
    let bench = Bench { folder: project.root().join("crate/xtask/peers"), servescope: servescope(project)? };
    let load_before = load_average();
    let peer = tools::inference_lab(project.root(), &project.settings().tools)
        .and_then(|program| bench.inference_lab(&program, &project.settings().tools.inference_lab));
    let document = json!({
        "inference_lab": peer.as_ref().map_or_else(|failure| json!({ "failure": failure }), Value::clone),
        "vidur": VIDUR.iter().map(|of| bench.vidur(of)).collect::<TaskResult<Vec<Value>>>()?,
        "million": bench.million()?,
        "capacity_grid": bench.capacity_grid()?,
        "load_average_1_min": { "before": load_before, "after": load_average() },
    });
    print_document(&document, out)?;
    peer.map(drop).map_err(|failure| format!("the peer inference-lab was not measured: {failure}"))
}

/// Builds the terminal program, and says where it is.
fn servescope(project: &Project) -> TaskResult<PathBuf> {
    let build = ["build", "--quiet", "--release", "--package", "servescope-cli", "--message-format=json"];
    let told = process::capture(project.cargo().args(build))?;
    let programs = told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let program =
        programs.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back();
    program.ok_or_else(|| "cargo build names no program of servescope-cli".to_owned())
}

/// Mean number of busy threads in the last minute, where the system reports it as Linux does.
fn load_average() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

/// Runs the command, and says how long the process took and what it printed.
fn timed(command: &mut Command) -> TaskResult<(f64, String)> {
    let start = Instant::now();
    let printed = process::capture(command)?;
    Ok((start.elapsed().as_secs_f64(), printed))
}

/// The time that inference-lab says its simulation took.
fn own_clock_s(printed: &str) -> TaskResult<f64> {
    let seconds = printed.lines().find_map(|line| line.split_once("Real Time:")?.1.trim().strip_suffix('s'));
    let seconds = seconds.and_then(|text| text.parse().ok()).filter(|&seconds| seconds > 0.0);
    seconds.ok_or_else(|| "inference-lab does not say its Real Time".to_owned())
}

fn parse(text: &str, whose: &str) -> TaskResult<Value> {
    serde_json::from_str(text).map_err(|error| format!("{whose}: {error}"))
}

fn number(json: &Value, pointer: &str) -> TaskResult<f64> {
    json.pointer(pointer).and_then(Value::as_f64).ok_or_else(|| format!("no number at {pointer}: {json}"))
}

/// One run's programs and files.
struct Bench {
    folder: PathBuf,
    servescope: PathBuf,
}

impl Bench {
    fn scenario(&self, name: &str) -> PathBuf {
        self.folder.join(name).with_extension("json")
    }

    fn servescope(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.servescope);
        command.arg(verb);
        command
    }

    /// Both programs in turns: the whole process, and within it drawing requests and simulating, each by its own clock.
    fn inference_lab(&self, program: &Path, version: &str) -> TaskResult<Value> {
        let folder = std::env::temp_dir().join(format!("servescope-peers-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let written = folder.join("summary.json");
        let [mut peer_s, mut peer_loop_s, mut own_s] = [f64::INFINITY; 3];
        let mut own = Value::Null;
        for _ in 0..ROUNDS {
            let (config, workload) = ("inference-lab.toml", "inference-lab-workload.toml");
            let (seconds, printed) = timed(
                Command::new(program)
                    .args(["--quiet", "--no-color", "--hardware", "h100", "--config", config])
                    .args(["--workload", workload, "--output"])
                    .arg(&written)
                    .current_dir(&self.folder),
            )?;
            peer_s = peer_s.min(seconds);
            peer_loop_s = peer_loop_s.min(own_clock_s(&printed)?);
            let (seconds, printed) =
                timed(self.servescope("simulate").arg(self.scenario("inference-lab")).arg("--json"))?;
            own_s = own_s.min(seconds);
            own = parse(&printed, "servescope simulate")?;
        }
        let text =
            std::fs::read_to_string(&written).map_err(|error| format!("{}: {error}", written.display()))?;
        // What cannot be removed does no harm.
        let _ = std::fs::remove_dir_all(&folder);
        let peer = parse(&text, "inference-lab")?;
        let requests = number(&peer, "/requests/completed")?;
        let own_requests = number(&own, "/requests/completed")?;
        let parts = self.parts("inference-lab", ROUNDS)?;
        let own_loop_s = number(&parts, "/generate_s")? + number(&parts, "/simulate_s")?;
        let iterations = number(&own, "/batch/iterations")?;
        Ok(json!({
            "programs": [
                {
                    "name": format!("inference-lab {version}"),
                    "requests": requests,
                    "process_s": peer_s,
                    "loop_s": peer_loop_s,
                    "requests_per_s": requests / peer_loop_s,
                    "iterations_per_s": "not told",
                    "ttft_p50_ms": number(&peer, "/latency_metrics/ttft_ms/p50")?,
                    "ttft_p99_ms": number(&peer, "/latency_metrics/ttft_ms/p99")?,
                    "output_tokens_per_s": number(&peer, "/throughput_metrics/output_tokens_per_sec")?,
                },
                {
                    "name": "servescope",
                    "requests": own_requests,
                    "process_s": own_s,
                    "loop_s": own_loop_s,
                    "requests_per_s": own_requests / own_loop_s,
                    "iterations_per_s": iterations / own_loop_s,
                    "ttft_p50_ms": number(&own, "/ttft_s/p50")? * 1e3,
                    "ttft_p99_ms": number(&own, "/ttft_s/p99")? * 1e3,
                    "output_tokens_per_s": number(&own, "/output_tokens_per_s")?,
                },
            ],
            "times_as_fast": {
                "loop": (own_requests / own_loop_s) / (requests / peer_loop_s),
                "process": (own_requests / own_s) / (requests / peer_s),
            },
        }))
    }

    /// A scenario without the start of a process, part by part.
    fn parts(&self, name: &str, rounds: usize) -> TaskResult<Value> {
        let mut command = self.servescope("bench");
        command.arg(self.scenario(name)).args(["--json", "--rounds", &rounds.to_string()]);
        parse(&process::capture(&mut command)?, "servescope bench")
    }

    /// The simulation beside Vidur's loop; neither has to draw requests or sum up in it.
    fn vidur(&self, of: &OfVidur) -> TaskResult<Value> {
        let parts = self.parts(of.scenario, ROUNDS)?;
        let loop_s = number(&parts, "/simulate_s")?;
        let total_s = number(&parts, "/generate_s")? + loop_s + number(&parts, "/summarise_s")?;
        let (requests, iterations) = (number(&parts, "/completed")?, number(&parts, "/iterations")?);
        let fastest = |runs: [f64; 2]| runs[0].max(runs[1]);
        let (requests_per_s, iterations_per_s) = (requests / loop_s, iterations / loop_s);
        Ok(json!({
            "name": of.scenario,
            "requests": requests,
            "iterations": iterations,
            "of_vidur": of.iterations,
            "loop_ms": loop_s * 1e3,
            "total_ms": total_s * 1e3,
            "requests_per_s": requests_per_s,
            "of_vidur_requests_per_s": fastest(of.requests_per_s),
            "times": requests_per_s / fastest(of.requests_per_s),
            "iterations_per_s": iterations_per_s,
            "of_vidur_iterations_per_s": fastest(of.iterations_per_s),
            "times_iterations": iterations_per_s / fastest(of.iterations_per_s),
            "times_total": requests / total_s / fastest(of.requests_per_s),
        }))
    }

    /// Through vLLM v1's scheduler on four replicas, with timed operators.
    fn million(&self) -> TaskResult<Value> {
        self.parts("vllm-v1-four-replicas", 3)
    }

    /// The search on two threads, from start to end of the process.
    fn capacity_grid(&self) -> TaskResult<Value> {
        let threads = 2;
        let (seconds, printed) =
            timed(self.servescope("capacity").arg(self.scenario("capacity-grid")).args([
                "--json",
                "--threads",
                &threads.to_string(),
            ]))?;
        let told = parse(&printed, "servescope capacity")?;
        let ranking = told["ranking"].as_array().ok_or("servescope capacity: no ranking")?;
        let found = ranking.iter().filter(|ranked| ranked["capacity"]["rate_rps"].is_number()).count();
        let runs = ranking
            .iter()
            .filter_map(|ranked| ranked["capacity"]["probes"].as_array())
            .map(Vec::len)
            .sum::<usize>();
        Ok(json!({
            "configurations": ranking.len(),
            "with_capacity": found,
            "runs": runs,
            "threads": threads,
            "process_s": seconds,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scenarios_can_be_run() {
        use servescope_lab::capacity::ConfigurationGrid;
        use servescope_settings::scenario::Scenario;

        let folder = crate::project::root().join("crate/xtask/peers");
        let own = ["inference-lab", "vllm-v1-four-replicas", "capacity-grid"];
        for name in own.into_iter().chain(VIDUR.iter().map(|of| of.scenario)) {
            let text = std::fs::read_to_string(folder.join(name).with_extension("json")).unwrap();
            let (scenario, failures) = Scenario::from_json(&serde_json::from_str(&text).unwrap());
            assert!(failures.is_empty(), "{name}: {failures:?}");
            assert!(scenario.problems().is_empty(), "{name}: {:?}", scenario.problems());
            scenario.replica_cost(scenario.adapter_ranks()).unwrap();
            let configurations = ConfigurationGrid::of(&scenario).unwrap().configurations(&scenario).len();
            assert_eq!(configurations, if name == "capacity-grid" { 200 } else { 1 }, "{name}");
        }
    }

    #[test]
    fn the_peer_tells_its_own_time() {
        assert_eq!(own_clock_s("SUMMARY\n  • Simulation Time: 4020.1s\n  • Real Time: 1.05s\n"), Ok(1.05));
        assert!(own_clock_s("SUMMARY").is_err());
        assert!(own_clock_s("  • Real Time: 0.00s").is_err());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the exponential is not compared bit for bit")]
    fn both_sides_of_the_peer_say_the_same() {
        let folder = crate::project::root().join("crate/xtask/peers");
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        let workload: toml::Table = toml::from_str(&text("inference-lab-workload.toml")).unwrap();
        let config: toml::Table = toml::from_str(&text("inference-lab.toml")).unwrap();
        let own: Value = serde_json::from_str(&text("inference-lab.json")).unwrap();
        let real = |value: &toml::Value| value.as_float().or(value.as_integer().map(|n| n as f64)).unwrap();
        let own_number = |pointer: &str| number(&own, pointer).unwrap();
        let rate = real(&workload["arrival_rate"]);
        assert_eq!(own_number("/workload/rate_rps"), rate);
        assert_eq!(own_number("/workload/duration_s") * rate, real(&workload["num_requests"]));
        for (theirs, ours) in [("input_len_dist", "input_tokens"), ("output_len_dist", "output_tokens")] {
            let median = own_number(&format!("/workload/{ours}/median"));
            assert!((median / real(&workload[theirs]["mean"]).exp() - 1.0).abs() < 1e-6);
            assert_eq!(own_number(&format!("/workload/{ours}/sigma")), real(&workload[theirs]["std_dev"]));
        }
        for (theirs, ours) in [
            ("max_num_batched_tokens", "batch_max_tokens"),
            ("max_num_seqs", "max_running_requests"),
            ("block_size", "block_size"),
        ] {
            assert_eq!(own_number(&format!("/scheduler/{ours}")), real(&config["scheduler"][theirs]));
        }
        assert_eq!(own_number("/fleet/tensor_parallel"), real(&config["hardware"]["h100"]["tp"]));
    }
}
