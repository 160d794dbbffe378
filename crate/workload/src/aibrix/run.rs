//! A whole run of the generator, with the options of its command line and its files as bytes.
//!
//! Requests get the lengths that AIBrix would look for in its prompt file; texts are no part of a run
//! ([`super::matching`] is the rule that chooses them). Where it wants no length and takes whatever prompt comes, the run
//! takes [`AibrixOptions::any_tokens`].

use super::AibrixError;
use super::agent::AgentConfig;
use super::arrivals::{self, Arrival, Scales, TargetLengths};
use super::concat::WorkloadLine;
use super::curve::{
    CurveWarning, NAMED_MEAN_RPS, NAMED_MEAN_TOKENS, NamedPattern, SinePattern, sample_count,
};
use super::generate::{CurveWorkload, agents, azure_entries, draw, entries, stat_steps};
use super::grouping::{
    MOONCAKE_BLOCK_TOKENS, MooncakeRow, azure_groups, azure_rows, mooncake_groups, mooncake_requests,
    mooncake_rows,
};
use super::inputs::{TraceType, WorkloadInput};
use super::lines::{self, RequestLengths};
use super::{config, stat};
use crate::formats::{self, Format, FormatError, MAX_TOKENS, ReadTrace};
use crate::trace::Trace;

/// The shape of statistics files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StatKind {
    /// Percentiles of lengths, in three files.
    #[default]
    Maas,
    /// Bytes sent and received, in two files.
    Cloudide,
}

impl StatKind {
    /// Its name on AIBrix's command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Maas => "maas",
            Self::Cloudide => "cloudide",
        }
    }

    /// The kind called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Maas, Self::Cloudide].into_iter().find(|kind| kind.name() == name)
    }
}

/// Where a curve comes from; a name wins where both are given.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CurveSource<'a> {
    /// A named pattern.
    pub named: Option<NamedPattern>,
    /// The bytes of a configuration.
    pub config: Option<&'a [u8]>,
}

impl CurveSource<'_> {
    fn pattern(
        &self,
        mean: f64,
        [duration_ms, interval_ms]: [f64; 2],
    ) -> Result<Option<SinePattern>, AibrixError> {
        match (self.named, self.config) {
            (Some(named), _) => Ok(Some(named.pattern(mean))),
            (None, Some(bytes)) => config::pattern_from_json(bytes, duration_ms, interval_ms).map(Some),
            (None, None) => Ok(None),
        }
    }
}

/// The options of AIBrix's command line; files are their bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct AibrixOptions<'a> {
    /// What is made.
    pub trace_type: TraceType,
    /// Seed of the named streams; agent sessions have the one of their configuration.
    pub seed: u64,
    /// Duration, milliseconds.
    pub duration_ms: f64,
    /// Time between samples and length of a group, milliseconds.
    pub interval_ms: f64,
    /// Rate of a constant workload, requests a second.
    pub target_rps: f64,
    /// Lengths of a constant workload.
    pub target: TargetLengths,
    /// Rate of a synthetic workload.
    pub traffic: CurveSource<'a>,
    /// Prompt lengths of a synthetic workload.
    pub prompts: CurveSource<'a>,
    /// Completion lengths of a synthetic workload.
    pub completions: CurveSource<'a>,
    /// Statistics of traffic, or the trace to group.
    pub traffic_file: Option<&'a [u8]>,
    /// Statistics of prompts; of `cloudide` those of completions too.
    pub prompts_file: Option<&'a [u8]>,
    /// Statistics of completions.
    pub completions_file: Option<&'a [u8]>,
    /// The shape of the statistics.
    pub stat_kind: StatKind,
    /// Divisors of rates and lengths of drawn arrivals.
    pub scales: Scales,
    /// Configuration of agent sessions.
    pub agent_config: Option<&'a [u8]>,
    /// Whether texts are to be chosen from a prompt file.
    pub has_prompts: bool,
    /// Prompt and completion length where none is wanted, tokens.
    pub any_tokens: [u32; 2],
}

impl AibrixOptions<'_> {
    /// AIBrix's defaults.
    pub fn new(trace_type: TraceType) -> Self {
        Self {
            trace_type,
            seed: 42,
            duration_ms: 60_000.0,
            interval_ms: 1000.0,
            target_rps: 1.0,
            target: TargetLengths::default(),
            traffic: CurveSource::default(),
            prompts: CurveSource::default(),
            completions: CurveSource::default(),
            traffic_file: None,
            prompts_file: None,
            completions_file: None,
            stat_kind: StatKind::Maas,
            scales: Scales::default(),
            agent_config: None,
            has_prompts: false,
            any_tokens: [NAMED_MEAN_TOKENS as u32; 2],
        }
    }

    fn check(&self) -> Result<(), AibrixError> {
        let mut given = Vec::new();
        // A run is complete without texts.
        let has_prompts = self.has_prompts || self.trace_type != TraceType::Mooncake;
        given.extend(has_prompts.then_some(WorkloadInput::Prompts));
        given.extend((self.traffic != CurveSource::default()).then_some(WorkloadInput::TrafficPattern));
        given.extend(self.traffic_file.map(|_| WorkloadInput::TrafficFile));
        given.extend(self.agent_config.map(|_| WorkloadInput::AgentConfig));
        self.trace_type.check(&given)
    }

    fn refused(&self, problem: &'static str) -> AibrixError {
        AibrixError::Inputs { trace_type: self.trace_type.name(), problem }
    }
}

/// What a user of a run should know.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RunWarning {
    /// Fewer than two samples a cycle.
    #[error(
        "{quantity}: {samples} samples are fewer than two for each of {cycles} cycles; they show a slower wave"
    )]
    Aliased {
        /// Of what the curve is.
        quantity: &'static str,
        /// Full cycles asked for.
        cycles: f64,
        /// Samples there are.
        samples: usize,
    },
    /// A curve goes below zero.
    #[error("{quantity}: the curve is {value} at sample {sample}; lengths are raised to 1")]
    Negative {
        /// Of what the curve is.
        quantity: &'static str,
        /// First sample below zero.
        sample: usize,
        /// The curve there.
        value: f64,
    },
    /// Rows of statistics are not in all files.
    #[error("{times} times are not in all files; maas leaves them out, cloudide takes what lacks as zero")]
    UnmatchedTimes {
        /// How many.
        times: usize,
    },
    /// A file of bytes has those of one direction only.
    #[error("no column of the length file begins with {bytes}: every such length is 1 token")]
    NoBytes {
        /// What the names of the missing columns begin with.
        bytes: &'static str,
    },
    /// A trace to group is out of order.
    #[error(
        "the trace is not in order of time: as in AIBrix, times repeat and it ends at the first that is too late"
    )]
    OutOfOrder,
}

/// What a run made.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// The workload file.
    pub jsonl: String,
    /// What is odd about it.
    pub warnings: Vec<RunWarning>,
    /// The lengths that each request wants of a prompt file, in the order of the workload file; none where texts come from
    /// elsewhere.
    pub wanted: Vec<TargetLengths>,
    /// The requests of a Mooncake trace, with times to the microsecond and prefix blocks of any size.
    requests: Option<Trace>,
}

impl Made {
    /// The requests as a trace.
    ///
    /// # Errors
    /// That there is none, or one that is longer than a trace may be.
    pub fn trace(self) -> Result<ReadTrace, FormatError> {
        match self.requests {
            Some(mut trace) if !trace.is_empty() => {
                let reordered = trace.sort();
                let named_outputs = trace.name_outputs();
                Ok(ReadTrace {
                    format: Format::Mooncake,
                    trace,
                    reordered,
                    failed: 0,
                    empty_entries: 0,
                    assumed: None,
                    named_outputs,
                })
            }
            Some(_) => Err(FormatError::NoRows),
            None => formats::read(self.jsonl.as_bytes()),
        }
    }
}

/// Runs the generator.
///
/// # Errors
/// [`AibrixError`]: an input that lacks or is unsound, with its place.
pub fn run(options: &AibrixOptions<'_>) -> Result<Made, AibrixError> {
    options.check()?;
    let mut warnings = Vec::new();
    let lines = match options.trace_type {
        TraceType::Constant => {
            let steps = arrivals::constant(
                options.target_rps,
                options.target,
                options.duration_ms,
                options.interval_ms,
            )?;
            entries(&drawn(options, &steps)?)
        }
        TraceType::Synthetic => entries(&synthetic(options, &mut warnings)?),
        TraceType::Stat => entries(&statistics(options, &mut warnings)?),
        TraceType::Azure => {
            let rows = azure_rows(options.traffic_file.unwrap_or_default())?;
            azure_entries(&azure_groups(&rows, options.duration_ms, options.interval_ms)?)
        }
        TraceType::Mooncake => return mooncake(options),
        TraceType::Agent => {
            let config: AgentConfig = config::agents_from_json(options.agent_config.unwrap_or_default())?;
            let jsonl = lines::agents(&agents(&config)?);
            return Ok(Made { jsonl, warnings, wanted: Vec::new(), requests: None });
        }
    };
    let wanted = lines.iter().flat_map(|line| line.requests.iter().copied()).collect();
    Ok(Made { jsonl: lines::workload(&sized(&lines, options)), warnings, wanted, requests: None })
}

fn drawn(options: &AibrixOptions<'_>, steps: &arrivals::Steps) -> Result<Vec<Arrival>, AibrixError> {
    draw(steps, options.duration_ms, &options.scales, options.seed)
}

fn synthetic(
    options: &AibrixOptions<'_>,
    warnings: &mut Vec<RunWarning>,
) -> Result<Vec<Arrival>, AibrixError> {
    let pattern =
        |curve: &CurveSource<'_>, mean| curve.pattern(mean, [options.duration_ms, options.interval_ms]);
    let (duration_ms, interval_ms) = (options.duration_ms, options.interval_ms);
    let Some(rate) = pattern(&options.traffic, NAMED_MEAN_RPS)? else {
        return Err(options.refused("needs a traffic pattern"));
    };
    let input = pattern(&options.prompts, NAMED_MEAN_TOKENS)?;
    let output = pattern(&options.completions, NAMED_MEAN_TOKENS)?;
    let count = sample_count(duration_ms, interval_ms)?;
    let curves = [("traffic", Some(rate)), ("prompt lengths", input), ("completion lengths", output)];
    for (quantity, pattern) in curves {
        let odd = pattern.map(|pattern| pattern.warnings(count)).unwrap_or_default();
        warnings.extend(odd.into_iter().map(|warning| match warning {
            CurveWarning::Aliased { cycles, samples } => RunWarning::Aliased { quantity, cycles, samples },
            CurveWarning::Negative { sample, value } => RunWarning::Negative { quantity, sample, value },
        }));
    }
    let steps = CurveWorkload { rate, input, output, duration_ms, interval_ms }.steps(options.seed)?;
    drawn(options, &steps)
}

fn statistics(
    options: &AibrixOptions<'_>,
    warnings: &mut Vec<RunWarning>,
) -> Result<Vec<Arrival>, AibrixError> {
    let traffic = options.traffic_file.unwrap_or_default();
    let prompts =
        options.prompts_file.ok_or_else(|| options.refused("needs a file of prompt length statistics"))?;
    let read = match (options.stat_kind, options.completions_file) {
        (StatKind::Maas, Some(completions)) => stat::maas(traffic, prompts, completions),
        (StatKind::Maas, None) => Err(options.refused("needs a file of completion length statistics")),
        (StatKind::Cloudide, None) => stat::cloudide(traffic, prompts),
        // AIBrix's documentation names the same file twice.
        (StatKind::Cloudide, Some(completions)) if completions == prompts => stat::cloudide(traffic, prompts),
        (StatKind::Cloudide, Some(_)) => {
            Err(options
                .refused("takes prompts and completions from one file when its statistics are cloudide"))
        }
    }?;
    if read.unmatched_times > 0 {
        warnings.push(RunWarning::UnmatchedTimes { times: read.unmatched_times });
    }
    warnings.extend(read.missing.map(|bytes| RunWarning::NoBytes { bytes }));
    drawn(options, &stat_steps(&read, options.seed))
}

/// Groups keep the order of the file; the trace keeps its prefix blocks and real prompt lengths, where AIBrix writes
/// the length of whole blocks.
fn mooncake(options: &AibrixOptions<'_>) -> Result<Made, AibrixError> {
    let requests = mooncake_requests(options.traffic_file.unwrap_or_default())?;
    let rows = mooncake_rows(&requests);
    let groups = mooncake_groups(&rows, options.duration_ms);
    let length = |tokens: u32| tokens.max(1);
    // Blocks of another size would be read as blocks of 512 tokens.
    let blocks = requests.metadata.as_ref().map(|metadata| &metadata.prefix);
    let blocks = blocks.filter(|blocks| u64::from(blocks.block_tokens) == MOONCAKE_BLOCK_TOKENS);
    let mut id = 0;
    let mut sized = |row: &MooncakeRow| {
        id += 1;
        let lengths = RequestLengths {
            input_tokens: length(row.input_tokens),
            output_tokens: length(row.output_tokens),
        };
        (lengths, blocks.map_or_else(Vec::new, |blocks| blocks.of(id - 1).to_vec()))
    };
    let entries: Vec<WorkloadLine<(RequestLengths, Vec<u64>)>> = groups
        .iter()
        .map(|group| WorkloadLine {
            timestamp_ms: group.timestamp_ms,
            requests: group.requests.iter().map(&mut sized).collect(),
            other: (),
        })
        .collect();
    let kept: usize = groups.iter().map(|group| group.requests.len()).sum();
    let order: Vec<u32> = (0..kept as u32).collect();
    let mut requests = requests.select(&order);
    for lengths in [&mut requests.input_tokens, &mut requests.output_tokens, &mut requests.max_tokens] {
        lengths.iter_mut().for_each(|tokens| *tokens = length(*tokens));
    }
    let sorted = rows.is_sorted_by(|a, b| a.timestamp_ms <= b.timestamp_ms);
    let warnings = if sorted { Vec::new() } else { vec![RunWarning::OutOfOrder] };
    Ok(Made { jsonl: lines::with_blocks(&entries), warnings, wanted: Vec::new(), requests: Some(requests) })
}

/// Whole lengths in place of wanted ones, at least 1.
fn sized(
    entries: &[WorkloadLine<TargetLengths>],
    options: &AibrixOptions<'_>,
) -> Vec<WorkloadLine<RequestLengths>> {
    let tokens = |wanted: Option<f64>, any: u32| match wanted {
        Some(length) => (length as u32).clamp(1, MAX_TOKENS),
        None => any,
    };
    let lengths = |target: &TargetLengths| RequestLengths {
        input_tokens: tokens(target.input_tokens, options.any_tokens[0]),
        output_tokens: tokens(target.output_tokens, options.any_tokens[1]),
    };
    let line = |entry: &WorkloadLine<TargetLengths>| WorkloadLine {
        timestamp_ms: entry.timestamp_ms,
        requests: entry.requests.iter().map(lengths).collect(),
        other: (),
    };
    entries.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(options: &AibrixOptions<'_>) -> Made {
        run(options).unwrap_or_else(|error| panic!("{error}"))
    }

    fn refused(options: &AibrixOptions<'_>) -> String {
        run(options).expect_err("the inputs are not good").to_string()
    }

    fn trace(options: &AibrixOptions<'_>) -> Trace {
        made(options).trace().unwrap_or_else(|error| panic!("{error}")).trace
    }

    #[test]
    fn a_constant_run_has_its_rate_and_lengths() {
        let target = TargetLengths { input_tokens: Some(100.0), output_tokens: Some(7.0) };
        let options = AibrixOptions {
            target_rps: 20.0,
            target,
            duration_ms: 600_000.0,
            scales: Scales { rate: 2.0, input: 10.0, output: 1.0 },
            ..AibrixOptions::new(TraceType::Constant)
        };
        let trace = trace(&options);
        assert!((trace.len() as f64 / 6000.0 - 1.0).abs() < 0.05, "{}", trace.len());
        assert!(trace.input_tokens.iter().all(|&l| l == 10) && trace.output_tokens.iter().all(|&l| l == 7));
    }

    #[test]
    fn a_name_wins_over_a_configuration_and_lengths_follow_their_curves() {
        let config =
            br#"{"fluctuate": 1, "mean": 40, "noise": 0, "period_len_ms": 60000, "only_rise": false}"#;
        let configured = AibrixOptions {
            traffic: CurveSource { named: None, config: Some(config) },
            ..AibrixOptions::new(TraceType::Synthetic)
        };
        assert!(trace(&configured).len() > 2000);
        let named = AibrixOptions {
            traffic: CurveSource { named: Some(NamedPattern::SlightFluctuation), config: Some(config) },
            prompts: CurveSource { named: Some(NamedPattern::SlowRising), config: None },
            ..configured.clone()
        };
        let trace = trace(&named);
        assert!(trace.len() < 600);
        assert!(trace.input_tokens.is_sorted() && trace.input_tokens[trace.len() - 1] > 1500);
        assert!(trace.output_tokens.iter().all(|&l| l == 1024), "no length is wanted");
        assert_eq!(made(&named), made(&named));
        let none = AibrixOptions { traffic: CurveSource::default(), ..named };
        assert_eq!(refused(&none), "the trace type synthetic needs a traffic pattern");
    }

    #[test]
    fn fast_waves_are_warned_of_and_deep_ones_refused() {
        let config = |mean: f64, period_ms: f64| {
            format!(
                r#"{{"fluctuate": 3, "mean": {mean}, "noise": 0, "period_len_ms": {period_ms}, "only_rise": false}}"#
            )
        };
        let fast = config(4.0, 1500.0);
        let curve = CurveSource { named: None, config: Some(fast.as_bytes()) };
        let options =
            AibrixOptions { traffic: curve, prompts: curve, ..AibrixOptions::new(TraceType::Synthetic) };
        let quantities: Vec<&str> = made(&options)
            .warnings
            .into_iter()
            .map(|warning| match warning {
                RunWarning::Aliased { quantity, cycles: 40.0, samples: 61 } => quantity,
                other => panic!("{other}"),
            })
            .collect();
        assert_eq!(quantities, ["traffic", "prompt lengths"]);
        let deep = config(1.0, 20_000.0);
        let curve = CurveSource { named: None, config: Some(deep.as_bytes()) };
        let lengths = AibrixOptions { prompts: curve, ..options.clone() };
        assert!(made(&lengths).warnings.iter().any(|w| matches!(w, RunWarning::Negative { .. })));
        assert!(refused(&AibrixOptions { traffic: curve, ..options }).contains("is below zero"));
    }

    const TRAFFIC: &str = "Time,Success\n2024-10-01 00:00:00,4\n2024-10-01 00:01:00,4\n";
    const LENGTHS: &str =
        "Time,P50,P70,P90,P99\n2024-10-01 00:00:00,90,100,110,120\n2024-10-01 00:01:00,90,100,110,120\n";

    #[test]
    fn statistics_of_both_kinds_make_traffic() {
        let maas = AibrixOptions {
            duration_ms: 120_000.0,
            traffic_file: Some(TRAFFIC.as_bytes()),
            prompts_file: Some(LENGTHS.as_bytes()),
            completions_file: Some(LENGTHS.as_bytes()),
            scales: Scales { input: 10.0, ..Scales::default() },
            ..AibrixOptions::new(TraceType::Stat)
        };
        let drawn = trace(&maas);
        assert!((drawn.len() as f64 / 480.0 - 1.0).abs() < 0.25, "{}", drawn.len());
        let mean = |lengths: &[u32]| f64::from(lengths.iter().sum::<u32>()) / lengths.len() as f64;
        let (input, output) = (mean(&drawn.input_tokens), mean(&drawn.output_tokens));
        assert!((output / 90.0 - 1.0).abs() < 0.15 && (input / 8.5 - 1.0).abs() < 0.15, "{input}, {output}");
        let lacks = AibrixOptions { completions_file: None, ..maas.clone() };
        assert_eq!(refused(&lacks), "the trace type stat needs a file of completion length statistics");
        let cloudide = AibrixOptions {
            stat_kind: StatKind::Cloudide,
            traffic_file: Some(b"Time,any\n0,2\n60000,2\n"),
            prompts_file: Some(b"Time,sent_bytes.rate@a,recv_bytes.rate@a\n0,8,100\n120000,8,100\n"),
            ..lacks
        };
        let made = made(&cloudide);
        assert_eq!(made.warnings, [RunWarning::UnmatchedTimes { times: 2 }]);
        assert!(made.trace().is_ok_and(|read| read.trace.len() > 100));
        let twice = AibrixOptions { completions_file: cloudide.prompts_file, ..cloudide.clone() };
        assert_eq!(run(&twice), run(&cloudide), "the same file may be named twice");
        let both = AibrixOptions { completions_file: Some(b"Time\n"), ..cloudide };
        assert!(refused(&both).contains("from one file"));
    }

    #[test]
    fn traces_are_grouped_and_keep_what_they_have() {
        let azure = b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:02.5,5,6\n2023-11-16 18:00:00.1,3,4\n";
        let options = AibrixOptions { traffic_file: Some(azure), ..AibrixOptions::new(TraceType::Azure) };
        assert_eq!(
            made(&options).jsonl,
            "{\"timestamp\": 0, \"requests\": [{\"prompt\": \"\", \"prompt_length\": 3, \"output_length\": 4}]}\n\
             {\"timestamp\": 2000, \"requests\": [{\"prompt\": \"\", \"prompt_length\": 5, \"output_length\": 6}]}\n"
        );
        let line = |ms: u32| {
            format!(
                "{{\"timestamp\": {ms}, \"input_length\": 600, \"output_length\": 9, \"hash_ids\": [1, {ms}]}}\n"
            )
        };
        let file = [0, 3000, 3000, 2000, 70_000, 1].map(line).concat();
        let options =
            AibrixOptions { traffic_file: Some(file.as_bytes()), ..AibrixOptions::new(TraceType::Mooncake) };
        let made = made(&options);
        assert_eq!((made.jsonl.lines().count(), &made.warnings[..]), (3, &[RunWarning::OutOfOrder][..]));
        let lines = formats::read(made.jsonl.as_bytes()).expect("they are read again").trace;
        assert_eq!(lines.metadata.expect("blocks are kept in the workload file").prefix.of(1), [1, 2000]);
        let read = made.trace().expect("there are requests");
        assert_eq!(read.trace.arrival_us, [0.0, 2e6, 3e6, 3e6]);
        assert_eq!(read.trace.metadata.expect("it has blocks").prefix.of(1), [1, 2000]);
        assert!(refused(&AibrixOptions { traffic_file: Some(azure), ..options }).contains("hash_ids"));
    }

    #[test]
    fn agent_sessions_are_read_back_as_sessions() {
        let config = br#"{"num_sessions": 4, "turns_per_session": 3, "retry_probability": 0.5, "seed": 3}"#;
        let options = AibrixOptions { agent_config: Some(config), ..AibrixOptions::new(TraceType::Agent) };
        let text = made(&options).jsonl;
        assert!(text.contains("\"node_type\": \"retry\"") && text.contains("\"status\": \"failed\""));
        let trace = trace(&options);
        assert_eq!(trace.len(), 4 * 3 * 2);
        assert_eq!(trace.metadata.expect("there are sessions").session.names.len(), 4);
        let none = AibrixOptions { agent_config: None, ..options };
        assert_eq!(refused(&none), "the trace type agent needs an agent configuration");
    }

    #[test]
    fn nothing_to_do_is_an_error() {
        let idle = AibrixOptions { target_rps: 0.0, ..AibrixOptions::new(TraceType::Constant) };
        assert!(made(&idle).trace().is_err());
        let endless = AibrixOptions { interval_ms: 0.0, ..AibrixOptions::new(TraceType::Constant) };
        assert!(refused(&endless).starts_with("interval_ms"));
    }
}
