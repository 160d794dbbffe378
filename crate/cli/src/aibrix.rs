//! `servescope aibrix`: a run of AIBrix's workload generator, with its options.

use std::path::{Path, PathBuf};

use clap::Args;
use servescope_lab::Failure;
use servescope_lab::workload::aibrix::arrivals::{Scales, Target};
use servescope_lab::workload::aibrix::curve::NamedPattern;
use servescope_lab::workload::aibrix::inputs::TraceType;
use servescope_lab::workload::aibrix::run::{Curve, Options, StatKind, run as run_generator};
use servescope_lab::workload::formats::{self, Format};

use crate::chart_files::write_traffic;
use crate::generate::writable;
use crate::output::{Failed, read, write_or_print};

#[derive(Args)]
pub(crate) struct Arguments {
    /// What is made: constant, synthetic, stat, azure, mooncake or agent.
    #[arg(long, value_name = "TYPE")]
    trace_type: String,
    /// Duration, milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 60_000.0)]
    duration_ms: f64,
    /// Time between samples of curves, and length of an azure group, milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 1000.0)]
    interval_ms: f64,
    /// constant: rate, requests a second; fractions are allowed.
    #[arg(long, value_name = "RPS", default_value_t = 1.0)]
    target_qps: f64,
    /// constant: prompt length, tokens.
    #[arg(long, value_name = "TOKENS")]
    target_prompt_len: Option<u32>,
    /// constant: completion length, tokens.
    #[arg(long, value_name = "TOKENS")]
    target_completion_len: Option<u32>,
    /// synthetic: rate around 6 requests a second: quick_rising, slow_rising, slight_fluctuation, severe_fluctuation or
    /// constant. A name wins over a configuration.
    #[arg(long, value_name = "NAME")]
    traffic_pattern: Option<String>,
    /// synthetic: prompt lengths around 1024 tokens, by the same names.
    #[arg(long, value_name = "NAME")]
    prompt_len_pattern: Option<String>,
    /// synthetic: completion lengths around 1024 tokens, by the same names.
    #[arg(long, value_name = "NAME")]
    completion_len_pattern: Option<String>,
    /// synthetic: rate as JSON: {"fluctuate": A, "mean": B, "noise": sigma, "period_len_ms": P, "only_rise": false}.
    #[arg(long, value_name = "FILE")]
    traffic_pattern_config: Option<PathBuf>,
    /// synthetic: prompt lengths as such JSON, in tokens.
    #[arg(long, value_name = "FILE")]
    prompt_len_pattern_config: Option<PathBuf>,
    /// synthetic: completion lengths as such JSON, in tokens.
    #[arg(long, value_name = "FILE")]
    completion_len_pattern_config: Option<PathBuf>,
    /// stat: CSV of rates. azure, mooncake: the trace.
    #[arg(long, value_name = "FILE")]
    traffic_file: Option<PathBuf>,
    /// stat: CSV of prompt lengths (maas: Time, P50, P70, P90, P99), or of all lengths (cloudide).
    #[arg(long, value_name = "FILE")]
    prompt_len_file: Option<PathBuf>,
    /// stat, maas: CSV of completion lengths (Time, P50, P70, P95, P99).
    #[arg(long, value_name = "FILE")]
    completion_len_file: Option<PathBuf>,
    /// stat: maas or cloudide.
    #[arg(long, value_name = "KIND", default_value = "maas")]
    stat_trace_type: String,
    /// Divides rates: 10 makes a tenth of the traffic.
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    qps_scale: f64,
    /// Divides prompt lengths.
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    input_scale: f64,
    /// Divides completion lengths.
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    output_scale: f64,
    /// agent: JSON configuration; its seed is the seed.
    #[arg(long, value_name = "FILE")]
    agent_config: Option<PathBuf>,
    /// Prompt length where none is wanted and the original takes any prompt, tokens.
    #[arg(long, value_name = "TOKENS", default_value_t = 1024)]
    any_prompt_len: u32,
    /// Completion length where none is wanted, tokens.
    #[arg(long, value_name = "TOKENS", default_value_t = 1024)]
    any_completion_len: u32,
    /// Seed of the draws, which the original does not have.
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
    /// jsonl or json, which are AIBrix's own (idle entries and agent events included), or another format: servescope,
    /// mooncake, azure, …
    #[arg(long, value_name = "NAME", default_value = "jsonl")]
    output_format: String,
    /// File to write; standard output if none.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Folder for charts of the requests as SVG: requests, prompt tokens and output tokens offered over time, sessions, gaps,
    /// burstiness, lengths, users.
    #[arg(long, value_name = "DIR")]
    charts: Option<PathBuf>,
}

/// How the result is written.
enum Written {
    Lines,
    Array,
    Trace(Format),
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failed> {
    let written = match arguments.output_format.as_str() {
        "jsonl" => Written::Lines,
        "json" => Written::Array,
        name => Written::Trace(writable(name)?),
    };
    let files = Files::read(arguments)?;
    let made =
        run_generator(&options(arguments, &files)?).map_err(|error| Failed::input(error.to_string()))?;
    made.warnings.iter().for_each(|warning| eprintln!("servescope: note: {warning}"));
    if arguments.charts.is_some() {
        let read = made.clone().trace().map_err(|error| Failure::of_file("workload", &error))?;
        write_traffic(arguments.charts.as_deref(), &read.trace)?;
    }
    let text = match written {
        Written::Lines => made.jsonl,
        Written::Array => array(&made.jsonl),
        Written::Trace(format) => {
            let read = made.trace().map_err(|error| Failure::of_file("workload", &error))?;
            formats::write(&read.trace, format).unwrap_or_default()
        }
    };
    write_or_print(arguments.output.as_deref(), &text)
}

/// Lines as the entries of one JSON array.
fn array(lines: &str) -> String {
    let entries: Vec<&str> = lines.lines().collect();
    format!("[{}]\n", entries.join(",\n"))
}

/// The bytes of the files that are named.
struct Files {
    configs: [Option<Vec<u8>>; 3],
    statistics: [Option<Vec<u8>>; 3],
    agents: Option<Vec<u8>>,
}

impl Files {
    fn read(arguments: &Arguments) -> Result<Self, Failed> {
        let bytes = |path: &Option<PathBuf>| path.as_deref().map(|path: &Path| read(path)).transpose();
        Ok(Self {
            configs: [
                bytes(&arguments.traffic_pattern_config)?,
                bytes(&arguments.prompt_len_pattern_config)?,
                bytes(&arguments.completion_len_pattern_config)?,
            ],
            statistics: [
                bytes(&arguments.traffic_file)?,
                bytes(&arguments.prompt_len_file)?,
                bytes(&arguments.completion_len_file)?,
            ],
            agents: bytes(&arguments.agent_config)?,
        })
    }
}

fn options<'a>(arguments: &Arguments, files: &'a Files) -> Result<Options<'a>, Failed> {
    let names = TraceType::ALL.map(TraceType::name).join(", ");
    let trace_type = TraceType::from_name(&arguments.trace_type).ok_or_else(|| {
        Failed::input(format!("--trace-type {} is not one of {names}", arguments.trace_type))
    })?;
    let stat_kind = StatKind::from_name(&arguments.stat_trace_type).ok_or_else(|| {
        Failed::input(format!("--stat-trace-type {} is not maas or cloudide", arguments.stat_trace_type))
    })?;
    let curve = |name: &Option<String>, config: &'a Option<Vec<u8>>| -> Result<Curve<'a>, Failed> {
        let named = name.as_deref().map(NamedPattern::from_name).transpose();
        let named = named.map_err(|error| Failed::input(error.to_string()))?;
        Ok(Curve { named, config: config.as_deref() })
    };
    let [traffic_config, prompt_config, completion_config] = &files.configs;
    let [traffic_file, prompts_file, completions_file] = &files.statistics;
    Ok(Options {
        seed: arguments.seed,
        duration_ms: arguments.duration_ms,
        interval_ms: arguments.interval_ms,
        target_rps: arguments.target_qps,
        target: Target {
            input_tokens: arguments.target_prompt_len.map(f64::from),
            output_tokens: arguments.target_completion_len.map(f64::from),
        },
        traffic: curve(&arguments.traffic_pattern, traffic_config)?,
        prompts: curve(&arguments.prompt_len_pattern, prompt_config)?,
        completions: curve(&arguments.completion_len_pattern, completion_config)?,
        traffic_file: traffic_file.as_deref(),
        prompts_file: prompts_file.as_deref(),
        completions_file: completions_file.as_deref(),
        stat_kind,
        scales: Scales {
            rate: arguments.qps_scale,
            input: arguments.input_scale,
            output: arguments.output_scale,
        },
        agent_config: files.agents.as_deref(),
        any_tokens: [arguments.any_prompt_len.max(1), arguments.any_completion_len.max(1)],
        ..Options::new(trace_type)
    })
}
