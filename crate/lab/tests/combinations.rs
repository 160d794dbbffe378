//! Burstiness, skew, rate and the number of adapters meet every scheduler, every model of iteration times and the gateway:
//! each combination runs to its end, loses no request and no token, and answers to each of the four. `docs/what-combines.md`
//! is what this prints; with `SERVESCOPE_BLESS` set the page is written again.

use std::fmt::Write as _;
use std::path::Path;

use servescope_engine::Outcome;
use servescope_lab::run::Run;
use servescope_settings::scenario::Scenario;

const SCHEDULERS: [&str; 9] =
    ["slora", "lightllm", "static", "orca", "vllm", "sarathi", "vllm_v1", "sglang", "trtllm"];
const COSTS: [&str; 4] = ["linear", "profile", "roofline", "kernels"];
const ADAPTERS: [&str; 4] = ["0", "1", "8", "200"];

/// Llama-2-7B on an A100, whose operators were timed, at a load under which requests wait now and then.
const LOAD: &[(&str, &str)] = &[
    ("fleet.gpu", "a100_80_sxm"),
    ("fleet.model", "llama-2-7b"),
    ("workload.rate_rps", "3"),
    ("workload.duration_s", "40"),
    ("workload.adapters.ranks", "16"),
];

/// A proxy that rejects some requests and holds back others.
const PROXY: &[(&str, &str)] = &[
    ("gateway.kind", "proxy"),
    ("gateway.checks", "rpm|concurrency|kv"),
    ("gateway.rpm", "30"),
    ("gateway.concurrency", "40"),
];

/// What of a run the four must change, and how often adapters were loaded.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Answer {
    ttft_s: Option<f64>,
    tpot_s: Option<f64>,
    loads: u64,
}

impl Answer {
    fn differs(&self, other: &Self) -> bool {
        (self.ttft_s, self.tpot_s) != (other.ttft_s, other.tpot_s)
    }
}

/// Runs to the end and keeps count of requests and tokens.
fn run(settings: &[(&str, &str)]) -> Answer {
    let scenario = Scenario::of_version(4).with(settings).unwrap_or_else(|error| panic!("{error}"));
    let run = Run::simulate(&scenario, None).unwrap_or_else(|errors| panic!("{settings:?}: {errors:?}"));
    let (report, summary) = (&run.report, run.summary().run);
    let (mut ended, mut produced) = (0, 0);
    for (id, result) in report.results.iter().enumerate() {
        assert_ne!(result.outcome, Outcome::Unfinished, "{settings:?}: request {id}");
        let is_whole = result.produced == report.trace.output_tokens[id];
        assert_eq!(result.outcome == Outcome::Completed, is_whole, "{settings:?}: tokens of request {id}");
        ended += 1;
        produced += u64::from(result.produced);
    }
    assert_eq!(ended, report.trace.len());
    let decoded =
        report.timeline.iterations.iter().map(|run| u64::from(run.iterations) * u64::from(run.decodes));
    assert!(decoded.sum::<u64>() <= produced, "{settings:?}: iterations make more tokens than requests have");
    Answer { ttft_s: summary.ttft_s.mean, tpot_s: summary.tpot_s.mean, loads: summary.adapters.loads }
}

/// The runs of one scheduler on one model of iteration times behind one gateway, a run for each number of adapters.
fn answers(scheduler: &str, cost: &str, gateway: &[(&str, &str)]) -> Vec<Answer> {
    let base = [LOAD, gateway, &[("scheduler.kind", scheduler), ("cost.kind", cost)]].concat();
    let described = |settings: &[(&str, &str)]| format!("{scheduler}, {cost}, {gateway:?}, {settings:?}");
    let with = |settings: &[(&str, &str)]| run(&[&base, settings].concat());
    let answers: Vec<Answer> = ADAPTERS.iter().map(|&n| with(&[("workload.adapters.count", n)])).collect();
    for (&n, answer) in ADAPTERS.iter().zip(&answers) {
        for (path, value) in [("workload.rate_rps", "4"), ("workload.arrivals.cv", "4")] {
            let other = with(&[("workload.adapters.count", n), (path, value)]);
            assert!(other.differs(answer), "{} changes no time", described(&[("n", n), (path, value)]));
        }
        assert_eq!(answer.loads > 0, n != "0", "{}: {answer:?}", described(&[("n", n)]));
    }
    for (i, n) in ADAPTERS.iter().enumerate().skip(1) {
        assert!(answers[i].differs(&answers[i - 1]), "{} changes no time", described(&[("n", n)]));
    }
    let skewed = with(&[("workload.adapters.count", "200"), ("workload.adapters.alpha", "0.2")]);
    assert!(skewed.differs(&answers[3]), "{} changes no time", described(&[("alpha", "0.2")]));
    assert!(skewed.loads < answers[3].loads, "{}: skew spares loads", described(&[("alpha", "0.2")]));
    answers
}

fn page(rows: &[(String, Vec<Answer>)]) -> String {
    let mut text = String::from(
        "# What combines with what\n\n\
         After reading this page you know that every scheduler runs with every iteration-time model, with any number of LoRA\n\
         adapters, directly or behind the admission gateway, and how each combination responds to the number of adapters. The\n\
         test that writes this page (`crate/lab/tests/combinations.rs`) also checks that no request and no token is lost, and that\n\
         the request rate, the burstiness cv and the skew alpha change the times of each. A run's notes name each single setting\n\
         without effect; the matrix beside that test checks the notes.\n\n\
         Llama-2-7B on an A100 80 GB, 3 requests/s for 40 s, adapters of rank 16, no gateway; the linear model is that of the\n\
         default calibration, an A10G. A cell is the mean TTFT and the mean TPOT in milliseconds, and how often an adapter was\n\
         loaded.\n\n\
         | scheduler, model of iteration times | 0 adapters | 1 | 8 | 200 |\n|---|---|---|---|---|\n",
    );
    let ms = |seconds: Option<f64>| seconds.map_or("–".to_owned(), |s| format!("{:.1}", s * 1e3));
    for (name, answers) in rows {
        let cells: Vec<String> =
            answers.iter().map(|a| format!("{} / {}, {}", ms(a.ttft_s), ms(a.tpot_s), a.loads)).collect();
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
    text
}

#[test]
fn everything_meets_everything() {
    let mut rows = Vec::new();
    for scheduler in SCHEDULERS {
        for cost in COSTS {
            rows.push((format!("`{scheduler}`, `{cost}`"), answers(scheduler, cost, &[])));
            answers(scheduler, cost, PROXY);
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/what-combines.md");
    let page = page(&rows);
    if std::env::var_os("SERVESCOPE_BLESS").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&path).expect("the page is there");
    assert!(written == page, "docs/what-combines.md tells of other runs; SERVESCOPE_BLESS=1 writes it again");
}
