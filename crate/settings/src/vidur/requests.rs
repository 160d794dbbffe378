//! Vidur's synthetic request generator by its flags.

use servescope_workload::Trace;
use servescope_workload::formats::{self, Contents};
use servescope_workload::vidur::{
    Intervals, Synthetic, VidurLengths, interval_gaps_s, trace_lengths, window_ticks,
};

use super::VidurRun;
use super::flags::{MOST, VidurFlags};
use crate::diagnostic::Diagnostic;

/// Most requests of a run, as everywhere.
const MOST_REQUESTS: u32 = 5_000_000;

/// Gaps by their flags.
#[derive(Debug, Clone, PartialEq)]
enum IntervalFlags {
    Given(Intervals),
    /// A file, the window of its times, and their factor.
    File {
        name: String,
        window: [i64; 2],
        time_scale: f64,
    },
}

/// Lengths by their flags.
#[derive(Debug, Clone, PartialEq)]
enum LengthFlags {
    Given(VidurLengths),
    /// A file, the factors of its lengths, and the seed of their order.
    File {
        name: String,
        scales: [f64; 2],
        seed: u32,
    },
}

/// The generator by its flags.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SyntheticFlags {
    seed: u32,
    requests: Option<u32>,
    duration_s: Option<f64>,
    intervals: IntervalFlags,
    lengths: LengthFlags,
    /// Longest request that memory is planned for, tokens.
    pub(super) max_tokens: u32,
}

#[derive(Clone, Copy)]
enum LengthKind {
    Fixed,
    Uniform,
    Zipf,
    Trace,
}

#[derive(Clone, Copy)]
enum IntervalKind {
    Poisson,
    Gamma,
    Static,
    Trace,
}

const LENGTHS: [(&str, LengthKind); 4] = [
    ("fixed", LengthKind::Fixed),
    ("uniform", LengthKind::Uniform),
    ("zipf", LengthKind::Zipf),
    ("trace", LengthKind::Trace),
];

const INTERVALS: [(&str, IntervalKind); 4] = [
    ("poisson", IntervalKind::Poisson),
    ("gamma", IntervalKind::Gamma),
    ("static", IntervalKind::Static),
    ("trace", IntervalKind::Trace),
];

impl SyntheticFlags {
    pub(super) fn read(flags: &VidurFlags<'_>) -> Result<Self, Diagnostic> {
        let of = |name: &str| format!("synthetic_request_generator_config_{name}");
        // Vidur sets it from the lengths, and a run's own config.json repeats it.
        flags.number(&of("max_tokens"), 4096.0, 0.0, f64::from(MOST))?;
        let duration_s = flags.number(&of("duration"), f64::INFINITY, 1e-6, 1e9)?;
        let intervals = intervals(flags)?;
        let is_endless =
            matches!(intervals, IntervalFlags::File { .. }) && flags.is_null(&of("num_requests"));
        let requests = flags.whole(&of("num_requests"), 128, [1, MOST_REQUESTS])?;
        let (lengths, max_tokens) = lengths(flags)?;
        if duration_s.is_finite() {
            check_duration(&of("duration"), duration_s, &intervals)?;
        }
        Ok(Self {
            seed: flags.whole(&of("seed"), 42, [0, u32::MAX])?,
            requests: (!is_endless).then_some(requests),
            duration_s: duration_s.is_finite().then_some(duration_s),
            intervals,
            lengths,
            max_tokens,
        })
    }
}

/// A duration must end, and with a number of requests that can be run.
fn check_duration(name: &str, duration_s: f64, intervals: &IntervalFlags) -> Result<(), Diagnostic> {
    let expected = match intervals {
        IntervalFlags::Given(Intervals::Poisson { qps } | Intervals::Gamma { qps, .. }) => qps * duration_s,
        IntervalFlags::Given(Intervals::Static) => f64::INFINITY,
        _ => 0.0,
    };
    let most = f64::from(MOST_REQUESTS);
    if expected <= most {
        return Ok(());
    }
    let message = if expected.is_finite() {
        format!("{name}: this makes {expected} requests, at most {most} can be run")
    } else {
        format!("{name}: static gaps are 0, so that {duration_s} s never pass; give the number of requests")
    };
    Err(Diagnostic::error("too_many_requests", name, message).number("value", expected).number("max", most))
}

fn intervals(flags: &VidurFlags<'_>) -> Result<IntervalFlags, Diagnostic> {
    let kind = flags.option("interval_generator_config_type", "poisson", &INTERVALS)?;
    let prefix = INTERVALS.iter().find(|(_, k)| *k as u8 == kind as u8).map_or("", |k| k.0);
    let of = |name: &str| format!("{prefix}_request_interval_generator_config_{name}");
    // Gaps come from the generator's own seed: Vidur has this flag and does not read it.
    flags.whole(&of("seed"), 42, [0, u32::MAX])?;
    let qps = |default| flags.number(&of("qps"), default, 1e-6, 1e6);
    Ok(IntervalFlags::Given(match kind {
        IntervalKind::Poisson => Intervals::Poisson { qps: qps(0.5)? },
        IntervalKind::Gamma => {
            Intervals::Gamma { qps: qps(0.2)?, cv: flags.number(&of("cv"), 0.5, 0.01, 100.0)? }
        }
        IntervalKind::Static => Intervals::Static,
        IntervalKind::Trace => {
            let time = |name: &str, default: &'static str| {
                let text = flags.text(&of(name))?.unwrap_or(default);
                window_ticks(text).ok_or_else(|| {
                    let message =
                        format!("{}: a date and time (1970-01-04 12:00:00) expected, got {text:?}", of(name));
                    Diagnostic::error("bad_json", &of(name), message)
                })
            };
            return Ok(IntervalFlags::File {
                name: file_of(flags, &of("trace_file"))?,
                window: [
                    time("start_time", "1970-01-04 12:00:00")?,
                    time("end_time", "1970-01-04 15:00:00")?,
                ],
                time_scale: flags.number(&of("time_scale_factor"), 1.0, 0.0, f64::from(MOST))?,
            });
        }
    }))
}

/// The lengths, and the longest request that they are planned for.
fn lengths(flags: &VidurFlags<'_>) -> Result<(LengthFlags, u32), Diagnostic> {
    let kind = flags.option("length_generator_config_type", "fixed", &LENGTHS)?;
    let prefix = LENGTHS.iter().find(|(_, k)| *k as u8 == kind as u8).map_or("", |k| k.0);
    let of = |name: &str| format!("{prefix}_request_length_generator_config_{name}");
    let max_tokens = flags.whole(&of("max_tokens"), 4096, [2, MOST])?;
    let seed = flags.whole(&of("seed"), 42, [0, u32::MAX])?;
    let total = || Ok::<_, Diagnostic>([flags.whole(&of("min_tokens"), 1024, [1, max_tokens])?, max_tokens]);
    let ratio = || flags.number(&of("prefill_to_decode_ratio"), 20.0, 0.0, 1e6);
    let given = match kind {
        LengthKind::Fixed => VidurLengths::Fixed {
            tokens: [
                flags.whole(&of("prefill_tokens"), 2048, [1, MOST])?,
                flags.whole(&of("decode_tokens"), 512, [1, MOST])?,
            ],
        },
        LengthKind::Uniform => VidurLengths::Uniform { total: total()?, ratio: ratio()? },
        LengthKind::Zipf => {
            if flags.is_set(&of("scramble"), false)? {
                let message = format!(
                    "{}: true is not supported: Vidur scrambles by Python's hash of a text, which differs from run to run",
                    of("scramble")
                );
                return Err(Diagnostic::error("unknown_option", &of("scramble"), message));
            }
            let theta = flags.number(&of("theta"), 0.6, 0.0, 0.999)?;
            VidurLengths::Zipf { total: total()?, theta, ratio: ratio()?, seed }
        }
        LengthKind::Trace => {
            let scale = |name: &str| flags.number(&of(name), 1.0, 0.0, f64::from(MOST));
            let scales = [scale("prefill_scale_factor")?, scale("decode_scale_factor")?];
            let name = file_of(flags, &of("trace_file"))?;
            return Ok((LengthFlags::File { name, scales, seed }, max_tokens));
        }
    };
    Ok((LengthFlags::Given(given), max_tokens))
}

/// A file that must be named: those that Vidur names by default are not all in its repository.
fn file_of(flags: &VidurFlags<'_>, name: &str) -> Result<String, Diagnostic> {
    flags.text(name)?.map(str::to_owned).ok_or_else(|| {
        Diagnostic::error("file_missing", name, format!("{name}: the name of a file expected, there is none"))
    })
}

impl VidurRun {
    /// Whether requests are those of the synthetic generator, which a trace given by other means may replace only where the
    /// flags name no kind.
    ///
    /// # Errors
    /// That the flags name the synthetic generator and a trace is given beside them.
    pub fn is_synthetic(&self, is_trace_given: bool) -> Result<bool, Diagnostic> {
        if self.synthetic.is_some() && self.is_kind_named && is_trace_given {
            let path = "request_generator_config_type";
            let message =
                format!("{path}: synthetic requests and a trace file beside them; drop one of the two");
            return Err(Diagnostic::error("unknown_option", path, message));
        }
        Ok(self.synthetic.is_some() && !is_trace_given)
    }

    /// The requests of the synthetic generator, with a note where a file ended before their number; `file` reads a file by the
    /// name that a flag gives.
    ///
    /// # Errors
    /// [`Diagnostic`] with file, row and column, or that there is no request at all.
    pub fn synthetic_requests(
        &self,
        file: &dyn Fn(&str) -> Result<Vec<u8>, Diagnostic>,
    ) -> Result<(Trace, Option<String>), Diagnostic> {
        let missing = || Diagnostic::error("no_trace", "", "there is no synthetic generator".to_owned());
        let flags = self.synthetic.as_ref().ok_or_else(missing)?;
        let intervals = match &flags.intervals {
            IntervalFlags::Given(intervals) => intervals.clone(),
            IntervalFlags::File { name, window, time_scale } => {
                let gaps = interval_gaps_s(&file(name)?, *window, *time_scale);
                Intervals::Trace(gaps.map_err(|error| Diagnostic::of_file(name, &error))?)
            }
        };
        let lengths = match &flags.lengths {
            LengthFlags::Given(lengths) => lengths.clone(),
            LengthFlags::File { name, scales, seed } => {
                let rows = rows_of(name, &file(name)?)?;
                let cut = |row: [u32; 2]| trace_lengths(row, *scales, flags.max_tokens);
                VidurLengths::Trace { rows: rows.into_iter().map(cut).collect(), seed: *seed }
            }
        };
        let (seed, requests, duration_s) = (flags.seed, flags.requests, flags.duration_s);
        let trace = Synthetic { seed, requests, duration_s, intervals, lengths }.generate();
        if trace.is_empty() {
            let path = "request_generator_config_type";
            let message = format!("{path}: the synthetic generator makes no request");
            return Err(Diagnostic::error("no_arrivals", path, message).number("value", 0.0));
        }
        let asked = requests.filter(|&asked| duration_s.is_none() && (trace.len() as u64) < u64::from(asked));
        let note = asked.map(|asked| {
            format!(
                "{} of {asked} requests: the file of gaps or lengths has no more, where Vidur ends with an error",
                trace.len()
            )
        });
        Ok((trace, note))
    }
}

/// Prompts and outputs of a length trace, or of a trace with times.
fn rows_of(name: &str, bytes: &[u8]) -> Result<Vec<[u32; 2]>, Diagnostic> {
    let opened = formats::open(bytes).map_err(|error| Diagnostic::of_file(name, &error))?;
    let (inputs, outputs) = match opened.contents {
        Contents::Lengths(lengths) => (lengths.input_tokens, lengths.output_tokens),
        Contents::Requests { requests, .. } => (requests.input_tokens, requests.output_tokens),
        _ => {
            let message = format!("{name}: columns num_prefill_tokens and num_decode_tokens expected");
            return Err(Diagnostic::error("no_column", name, message)
                .text("column", "num_prefill_tokens")
                .text("known", ""));
        }
    };
    Ok(inputs.into_iter().zip(outputs).map(|(input, output)| [input, output]).collect())
}
