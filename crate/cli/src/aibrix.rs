//! `servescope aibrix`: a run of AIBrix's workload generator, with its options.

use std::path::{Path, PathBuf};

use clap::Args;
use servescope_settings::diagnostic::Diagnostic;
use servescope_workload::Trace;
use servescope_workload::aibrix::arrivals::{Scales, TargetLengths};
use servescope_workload::aibrix::curve::NamedPattern;
use servescope_workload::aibrix::inputs::TraceType;
use servescope_workload::aibrix::matching::{AZURE_INITIAL_ERROR, INITIAL_ERROR};
use servescope_workload::aibrix::run::{AibrixOptions, CurveSource, Made, StatKind, run as run_generator};
use servescope_workload::formats::{self, Format, FormatError};
use servescope_workload::prompts::bodies::Texts;
use servescope_workload::prompts::choice::{ChoiceRule, Chosen};
use servescope_workload::prompts::{
    BodyError, BodyLines, BodyOptions, CharactersPerToken, CountTokens, Endpoint, Form, Sampling, Synthesis,
};
use servescope_workload::trace::TraceMetadata;

use crate::chart_files::TrafficChartFiles;
use crate::collections::collection;
use crate::generate::writable;
use crate::output::{CliError, note, read, write, write_or_print};
use crate::tokenizer;
use crate::workload_plot::plot;

#[derive(Args)]
pub(crate) struct AibrixArguments {
    /// What is made: constant, synthetic, stat, azure, mooncake or agent.
    #[arg(long, value_name = "TYPE")]
    trace_type: String,
    /// Duration, milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 60_000.0)]
    duration_ms: f64,
    /// Time between samples of curves, and length of an azure group, milliseconds [default: 1000].
    #[arg(long, value_name = "MS")]
    interval_ms: Option<f64>,
    /// azure: length of a group, seconds, where --interval-ms is not given; AIBrix reads this option and uses --interval-ms.
    #[arg(long, value_name = "SECONDS")]
    group_interval_seconds: Option<f64>,
    /// Collection of prompts (JSON Lines of `prompt`, or of `session_id` and `prompts`, or ShareGPT's conversations), or a folder
    /// of such files: requests get texts. May be given many times.
    #[arg(long, value_name = "FILE")]
    prompt_file: Vec<PathBuf>,
    /// A model's tokenizer.json, or the folder it is in, by which texts are counted; without one a token is 4 characters. Without
    /// --prompt-file texts are made to length.
    #[arg(long, value_name = "FILE")]
    tokenizer: Option<PathBuf>,
    /// Most sessions of the prompt file that are under way; 0 = all, chosen by the lengths of their next turns.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    max_concurrent_sessions: usize,
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
    /// Prompt length where none is wanted and AIBrix takes any prompt, tokens.
    #[arg(long, value_name = "TOKENS", default_value_t = 1024)]
    any_prompt_len: u32,
    /// Completion length where none is wanted, tokens.
    #[arg(long, value_name = "TOKENS", default_value_t = 1024)]
    any_completion_len: u32,
    /// Seed of the draws, which AIBrix does not have.
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
    /// jsonl or json, which are AIBrix's own (idle entries and agent events included), or another format: servescope,
    /// mooncake, azure, …
    #[arg(long, value_name = "NAME", default_value = "jsonl")]
    output_format: String,
    /// File to write; standard output if none.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    charts: TrafficChartFiles,
    /// Folder for workload.jsonl (or workload.json) and its plot, workload.svg; made where there is none.
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    output_dir: Option<PathBuf>,
}

/// How the result is written.
enum Written {
    Lines,
    Array,
    Trace(Format),
}

pub(crate) fn run(arguments: &AibrixArguments) -> Result<(), CliError> {
    let written = match arguments.output_format.as_str() {
        "jsonl" => Written::Lines,
        "json" => Written::Array,
        name => Written::Trace(writable(name)?),
    };
    let tokenizer = arguments.tokenizer.as_deref().map(tokenizer_file).transpose()?;
    let tokenizer = tokenizer.map(|path| tokenizer::read(&path, false)).transpose()?;
    let files = AibrixFiles::read(arguments)?;
    let options = options(arguments, &files)?;
    let mut made = run_generator(&options).map_err(|error| CliError::input(error.to_string()))?;
    made.warnings.iter().for_each(|warning| note(&warning.to_string()));
    interval_note(arguments);
    if arguments.charts.are_wanted() {
        let read = made.clone().trace().map_err(|error| Diagnostic::of_file("workload", &error))?;
        arguments.charts.write(&read.trace)?;
    }
    let has_texts = !arguments.prompt_file.is_empty() || tokenizer.is_some();
    if has_texts && options.trace_type == TraceType::Agent {
        note("agent sessions are written without texts: --prompt-file and --tokenizer are not used");
    } else if has_texts {
        if let Written::Trace(format) = written {
            let format = format.name();
            return Err(CliError::input(format!(
                "--output-format {format} holds no texts; jsonl and json do"
            )));
        }
        made.jsonl = with_texts(arguments, &options, made.clone(), tokenizer.as_deref())?;
    }
    let (text, end) = match written {
        Written::Lines => (made.jsonl.clone(), "jsonl"),
        Written::Array => (array(&made.jsonl), "json"),
        Written::Trace(format) => {
            let read = made.clone().trace().map_err(|error| Diagnostic::of_file("workload", &error))?;
            (
                formats::write(&read.trace, format).unwrap_or_default(),
                if text_is_json(format) { "jsonl" } else { "csv" },
            )
        }
    };
    let Some(folder) = &arguments.output_dir else {
        return write_or_print(arguments.output.as_deref(), &text);
    };
    let failed = |error| CliError::input(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    write(&folder.join(format!("workload.{end}")), &text)?;
    let trace = match made.trace() {
        Ok(read) => read.trace,
        Err(FormatError::NoRows) => {
            note("there is no request to plot");
            return Ok(());
        }
        Err(error) => return Err(Diagnostic::of_file("workload", &error).into()),
    };
    let plot = plot(&trace).map_err(|error| CliError::Run(error.to_string()))?;
    write(&folder.join("workload.svg"), &plot)
}

fn text_is_json(format: Format) -> bool {
    Format::JSON.contains(&format)
}

/// Says which of two intervals counts.
fn interval_note(arguments: &AibrixArguments) {
    let (Some(ms), Some(seconds)) = (arguments.interval_ms, arguments.group_interval_seconds) else { return };
    if ms != seconds * 1e3 {
        note(&format!(
            "--group-interval-seconds {seconds} is not used, as in AIBrix: --interval-ms {ms} is the interval"
        ));
    }
}

/// The file of a tokenizer; AIBrix takes a name on the Hugging Face hub, which nothing is fetched from here.
fn tokenizer_file(path: &Path) -> Result<PathBuf, CliError> {
    let inside = path.join("tokenizer.json");
    match () {
        () if inside.is_file() => Ok(inside),
        () if path.is_file() => Ok(path.to_owned()),
        () => Err(CliError::input(format!(
            "--tokenizer {}: there is no such file. Nothing is fetched from a hub: give the file tokenizer.json of that model's \
             repository, or the folder it is in; without --tokenizer a token is counted as 4 characters",
            path.display()
        ))),
    }
}

/// The workload file with texts, chosen from the prompt file or made to length.
fn with_texts(
    arguments: &AibrixArguments,
    options: &AibrixOptions<'_>,
    made: Made,
    tokenizer: Option<&dyn CountTokens>,
) -> Result<String, CliError> {
    let ratio = CharactersPerToken::DEFAULT;
    let wanted = made.wanted.clone();
    let mut trace = made.trace().map_err(|error| Diagnostic::of_file("workload", &error))?.trace;
    let texts = if arguments.prompt_file.is_empty() {
        match tokenizer {
            Some(counter) => {
                Texts::Made(Synthesis::by_count(options.seed, counter).map_err(CliError::input)?)
            }
            None => Texts::Made(Synthesis::by_ratio(options.seed, ratio)),
        }
    } else {
        let collection = collection(&arguments.prompt_file, tokenizer.is_some())?;
        let azure = options.trace_type == TraceType::Azure;
        let rule = ChoiceRule {
            by_length: true,
            initial_error: if azure { AZURE_INITIAL_ERROR } else { INITIAL_ERROR },
            concurrent_sessions: arguments.max_concurrent_sessions,
        };
        let counter = tokenizer.unwrap_or(&ratio);
        let chosen = Chosen::wanting(collection, counter, &wanted, rule, options.seed);
        let chosen = chosen.map_err(|why| CliError::input(format!("--prompt-file: {why}")))?;
        take_outputs(&mut trace, &wanted, &chosen);
        Texts::Chosen(chosen)
    };
    let body = BodyOptions {
        form: Form::Aibrix,
        endpoint: Endpoint::Chat,
        model: String::new(),
        adapter_name: String::new(),
        sampling: Sampling::default(),
    };
    let input_error = |error: BodyError| CliError::input(error.to_string());
    let mut lines = BodyLines::new(&trace, texts, body).map_err(input_error)?;
    let mut text = String::new();
    while lines.next_into(&mut text).map_err(input_error)? {}
    if lines.left_out() > 0 {
        let count = lines.left_out();
        note(&format!("{count} requests were left out: the sessions of the prompt file were used up"));
    }
    Ok(text)
}

/// Where no output length was wanted, a request has that of its prompt's completion, or none that is known.
fn take_outputs(trace: &mut Trace, wanted: &[TargetLengths], chosen: &Chosen) {
    let mut metadata = trace.metadata.take().map_or_else(TraceMetadata::default, |metadata| *metadata);
    metadata.assumed_output = vec![false; trace.len()];
    for (id, _) in wanted.iter().enumerate().filter(|(_, target)| target.output_tokens.is_none()) {
        match chosen.output_tokens(id).filter(|&tokens| tokens > 0) {
            Some(tokens) => trace.output_tokens[id] = tokens,
            None => metadata.assumed_output[id] = true,
        }
    }
    trace.set_metadata(metadata);
}

/// Lines as the entries of one JSON array.
fn array(lines: &str) -> String {
    let entries: Vec<&str> = lines.lines().collect();
    format!("[{}]\n", entries.join(",\n"))
}

/// The bytes of the files that are named.
struct AibrixFiles {
    configs: [Option<Vec<u8>>; 3],
    statistics: [Option<Vec<u8>>; 3],
    agents: Option<Vec<u8>>,
}

impl AibrixFiles {
    fn read(arguments: &AibrixArguments) -> Result<Self, CliError> {
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

fn options<'a>(arguments: &AibrixArguments, files: &'a AibrixFiles) -> Result<AibrixOptions<'a>, CliError> {
    let names = TraceType::ALL.map(TraceType::name).join(", ");
    let trace_type = TraceType::from_name(&arguments.trace_type).ok_or_else(|| {
        CliError::input(format!("--trace-type {} is not one of {names}", arguments.trace_type))
    })?;
    let stat_kind = StatKind::from_name(&arguments.stat_trace_type).ok_or_else(|| {
        CliError::input(format!("--stat-trace-type {} is not maas or cloudide", arguments.stat_trace_type))
    })?;
    let curve = |name: &Option<String>, config: &'a Option<Vec<u8>>| -> Result<CurveSource<'a>, CliError> {
        let named = name.as_deref().map(NamedPattern::from_name).transpose();
        let named = named.map_err(|error| CliError::input(error.to_string()))?;
        Ok(CurveSource { named, config: config.as_deref() })
    };
    let grouped = arguments.group_interval_seconds.map(|seconds| seconds * 1e3);
    let [traffic_config, prompt_config, completion_config] = &files.configs;
    let [traffic_file, prompts_file, completions_file] = &files.statistics;
    Ok(AibrixOptions {
        seed: arguments.seed,
        duration_ms: arguments.duration_ms,
        interval_ms: arguments.interval_ms.or(grouped).unwrap_or(1000.0),
        has_prompts: !arguments.prompt_file.is_empty(),
        target_rps: arguments.target_qps,
        target: TargetLengths {
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
        ..AibrixOptions::new(trace_type)
    })
}
