//! Vidur's synthetic request generator (Agrawal et al., MLSys 2024; github.com/microsoft/vidur, `vidur/request_generator`),
//! draw for draw: gaps and uniform lengths from Python's `random`, gamma gaps from NumPy's global stream, Zipf lengths and the
//! order of a length trace from a `RandomState` of their own.
//!
//! Two of its rules are no misprints here: Poisson gaps are cut at three mean gaps, so that the real rate is 5.2 % above the
//! asked one, and a length of 0 that it can draw is raised to 1.

use crate::formats::FormatError;
use crate::formats::azure::parse_time;
use crate::formats::table::Table;
use crate::lengths::Zipf;
use crate::mersenne::MersenneTwister;
use crate::numpy::Legacy;
use crate::trace::{BASE_MODEL, Request, Trace};

/// Gaps between arrivals.
#[derive(Debug, Clone, PartialEq)]
pub enum Intervals {
    /// Exponential, cut at three mean gaps.
    Poisson {
        /// Requests a second.
        qps: f64,
    },
    /// Gamma.
    Gamma {
        /// Requests a second.
        qps: f64,
        /// Standard deviation of a gap over its mean.
        cv: f64,
    },
    /// Everything arrives at time 0.
    Static,
    /// The gaps of a file, seconds, in its order; see [`interval_gaps_s`].
    Trace(Vec<f64>),
}

/// Prompt and output lengths.
#[derive(Debug, Clone, PartialEq)]
pub enum VidurLengths {
    /// Always the same.
    Fixed {
        /// Prompt and output, tokens.
        tokens: [u32; 2],
    },
    /// A uniform total, split by a ratio.
    Uniform {
        /// Smallest and largest total, tokens.
        total: [u32; 2],
        /// Prompt tokens for each output token.
        ratio: f64,
    },
    /// A Zipf total, split by a ratio.
    Zipf {
        /// Smallest and largest total, tokens.
        total: [u32; 2],
        /// Exponent, below 1.
        theta: f64,
        /// Prompt tokens for each output token.
        ratio: f64,
        /// Seed of the totals.
        seed: u32,
    },
    /// The rows of a file in random order, each once.
    Trace {
        /// Prompt and output, tokens.
        rows: Vec<[u32; 2]>,
        /// Seed of the order.
        seed: u32,
    },
}

/// What the generator makes.
#[derive(Debug, Clone, PartialEq)]
pub struct Synthetic {
    /// Seed of gaps and of uniform lengths.
    pub seed: u32,
    /// How many requests; `None` only with gaps from a file, which then end the run.
    pub requests: Option<u32>,
    /// Requests that arrive before this time, seconds, however many; takes precedence over their number.
    pub duration_s: Option<f64>,
    /// Gaps.
    pub intervals: Intervals,
    /// Lengths.
    pub lengths: VidurLengths,
}

/// Most requests of a run without a number of them.
const MOST_REQUESTS: usize = 5_000_000;

/// Cuts the lengths of a length trace as Vidur does: scaled and cut to whole tokens; where both exceed `max_tokens` together,
/// the excess is taken from both in proportion; at least one token each.
pub fn trace_lengths(
    [prompt, output]: [u32; 2],
    [of_prompt, of_output]: [f64; 2],
    max_tokens: u32,
) -> [u32; 2] {
    let whole = |tokens: u32, scale: f64| (f64::from(tokens) * scale).trunc();
    let (prompt, output) = (whole(prompt, of_prompt), whole(output, of_output));
    let total = prompt + output;
    let excess = (total - f64::from(max_tokens)).max(0.0);
    let cut = |tokens: f64| {
        let kept = if total > 0.0 { tokens - (excess * (tokens / total)).ceil() } else { tokens };
        kept.max(1.0) as u32
    };
    [cut(prompt), cut(output)]
}

/// A time of a window of [`interval_gaps_s`], as `1970-01-04 12:00:00`, in ticks of 100 ns since 1970.
pub fn window_ticks(text: &str) -> Option<i64> {
    parse_time(text)
}

/// The gaps of an interval trace: column `arrival_time`, rows strictly between two times (see [`window_ticks`]), whole
/// seconds since the earliest, scaled, in order of time.
///
/// # Errors
/// [`FormatError`] with row and column.
pub fn interval_gaps_s(bytes: &[u8], window: [i64; 2], time_scale: f64) -> Result<Vec<f64>, FormatError> {
    const TICKS_PER_S: i64 = 10_000_000;
    let mut table = Table::open(bytes)?;
    let absent = || FormatError::NoColumn {
        column: "arrival_time".to_owned(),
        known: table.columns().map(|(name, _)| name).collect::<Vec<_>>().join(", "),
    };
    let column = table.column("arrival_time").ok_or_else(absent)?;
    let mut ticks = Vec::new();
    table.each_row(|table| {
        let time = parse_time(table.text(column))
            .ok_or_else(|| table.bad(column, "a date and time (1970-01-04 12:00:00)"))?;
        if window[0] < time && time < window[1] {
            ticks.push(time);
        }
        Ok(())
    })?;
    ticks.sort_unstable();
    let first = ticks.first().copied().unwrap_or(0);
    let at = |tick: i64| (tick - first).div_euclid(TICKS_PER_S) as f64 * time_scale;
    Ok(ticks.windows(2).map(|pair| at(pair[1]) - at(pair[0])).collect())
}

/// The generators' streams.
struct VidurStreams<'a> {
    spec: &'a Synthetic,
    python: MersenneTwister,
    numpy: Legacy,
    own: Legacy,
    order: Vec<u32>,
    zipf: Option<Zipf>,
    made: usize,
}

impl<'a> VidurStreams<'a> {
    fn of(spec: &'a Synthetic) -> Self {
        let (mut own, mut order, mut zipf) = (Legacy::seeded(spec.seed), Vec::new(), None);
        match &spec.lengths {
            VidurLengths::Zipf { total: [low, high], theta, seed, .. } => {
                own = Legacy::seeded(*seed);
                zipf = Some(Zipf::of_vidur(*low, *high, *theta));
            }
            VidurLengths::Trace { rows, seed } => {
                order = Legacy::seeded(*seed).permutation(rows.len() as u32);
            }
            VidurLengths::Fixed { .. } | VidurLengths::Uniform { .. } => {}
        }
        let python = MersenneTwister::of_python(spec.seed.into());
        Self { spec, python, numpy: Legacy::seeded(spec.seed), own, order, zipf, made: 0 }
    }

    /// The next gap, seconds; `None` where a file has no more.
    fn gap_s(&mut self) -> Option<f64> {
        Some(match &self.spec.intervals {
            Intervals::Poisson { qps } => {
                (-libm::log(1.0 - self.python.uniform()) / qps).min(1.0 / qps * 3.0)
            }
            Intervals::Gamma { qps, cv } => {
                let shape = 1.0 / (cv * cv);
                self.numpy.gamma(shape) * (1.0 / (qps * shape))
            }
            Intervals::Static => 0.0,
            Intervals::Trace(gaps) => *gaps.get(self.made)?,
        })
    }

    /// The next lengths; `None` where a file has no more.
    fn tokens(&mut self) -> Option<[u32; 2]> {
        let whole = |tokens: f64| tokens.max(1.0) as u32;
        Some(match &self.spec.lengths {
            VidurLengths::Fixed { tokens } => *tokens,
            VidurLengths::Uniform { total: [low, high], ratio } => {
                let (low, high) = (f64::from(*low), f64::from(*high));
                let total = low + (high - low) * self.python.uniform();
                let output = (total / (1.0 + ratio)).ceil();
                [whole(total - output), whole(output)]
            }
            VidurLengths::Zipf { ratio, .. } => {
                let total = f64::from(self.zipf.map_or(1, |zipf| zipf.quantile(self.own.uniform())));
                let output = total / (1.0 + ratio);
                [whole(total - output), whole(output)]
            }
            VidurLengths::Trace { rows, .. } => rows[*self.order.get(self.made)? as usize],
        })
    }
}

impl Synthetic {
    /// Makes the requests; fewer than asked for where a file of gaps or lengths ends before.
    pub fn generate(&self) -> Trace {
        let mut streams = VidurStreams::of(self);
        let most = match (self.duration_s, self.requests) {
            (None, Some(requests)) => (requests as usize).min(MOST_REQUESTS),
            _ => MOST_REQUESTS,
        };
        let (mut trace, mut now_s) = (Trace::default(), 0.0);
        while trace.len() < most && self.duration_s.is_none_or(|end_s| now_s < end_s) {
            let Some(gap_s) = streams.gap_s() else { break };
            let Some([input_tokens, output_tokens]) = streams.tokens() else { break };
            streams.made += 1;
            now_s += gap_s;
            trace.push(Request {
                arrival_us: now_s * 1e6,
                user: 0,
                adapter: BASE_MODEL,
                input_tokens,
                output_tokens,
                max_tokens: output_tokens,
            });
        }
        match self.duration_s.map(|end_s| end_s * 1e6) {
            // The request that passes the end has drawn its numbers and is dropped.
            Some(end_us) => trace.filter(|id| trace.arrival_us[id] < end_us),
            None => trace,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn synthetic(intervals: Intervals, lengths: VidurLengths) -> Synthetic {
        Synthetic { seed: 42, requests: Some(20_000), duration_s: None, intervals, lengths }
    }

    const FIXED: VidurLengths = VidurLengths::Fixed { tokens: [2048, 512] };

    #[test]
    fn gaps_and_uniform_lengths_share_pythons_stream() {
        let lengths = VidurLengths::Uniform { total: [1024, 4096], ratio: 20.0 };
        let trace = synthetic(Intervals::Poisson { qps: 0.5 }, lengths).generate();
        // random.seed(42): .6394267984578837, .025010755222666936, .27502931836911926, .22321073814882275.
        let gaps = [0.639_426_798_457_883_7_f64, 0.275_029_318_369_119_26];
        let gaps = gaps.map(|u| -libm::log(1.0 - u) / 0.5);
        assert!((trace.arrival_us[0] / 1e6 - gaps[0]).abs() < 1e-9);
        assert!((trace.arrival_us[1] / 1e6 - gaps[0] - gaps[1]).abs() < 1e-9);
        // 1024 + 3072 * .0250107... = 1100.83 in all, of which a 21st rounded up is output.
        assert_eq!((trace.input_tokens[0], trace.output_tokens[0]), (1047, 53));
    }

    #[test]
    fn poisson_gaps_are_cut_and_gamma_gaps_keep_their_mean() {
        let mean = |intervals| {
            let trace = synthetic(intervals, FIXED).generate();
            trace.arrival_us[trace.len() - 1] / 1e6 / trace.len() as f64
        };
        let cut = (1.0 - libm::exp(-3.0)) / 0.5;
        assert!((mean(Intervals::Poisson { qps: 0.5 }) / cut - 1.0).abs() < 0.02);
        assert!((mean(Intervals::Gamma { qps: 0.2, cv: 0.5 }) / 5.0 - 1.0).abs() < 0.02);
        assert_eq!(mean(Intervals::Static), 0.0);
    }

    #[test]
    fn a_duration_wins_over_a_number_and_files_end_a_run() {
        let mut spec = synthetic(Intervals::Poisson { qps: 0.5 }, FIXED);
        spec.duration_s = Some(100.0);
        let trace = spec.generate();
        assert!((30..80).contains(&trace.len()) && trace.arrival_us.iter().all(|&t| t < 100e6));
        let rows = vec![[1, 2], [3, 4], [5, 6]];
        let trace = synthetic(Intervals::Static, VidurLengths::Trace { rows, seed: 42 }).generate();
        let mut prompts = trace.input_tokens.clone();
        prompts.sort_unstable();
        assert_eq!(prompts, [1, 3, 5]);
        let trace = synthetic(Intervals::Trace(vec![1.0, 0.5]), FIXED).generate();
        assert_eq!(trace.arrival_us, [1e6, 1.5e6]);
    }

    #[test]
    fn zipf_totals_are_split_by_the_ratio() {
        let lengths = VidurLengths::Zipf { total: [1024, 4096], theta: 0.6, ratio: 20.0, seed: 42 };
        let trace = synthetic(Intervals::Static, lengths).generate();
        for (&prompt, &output) in trace.input_tokens.iter().zip(&trace.output_tokens) {
            assert!((48..=195).contains(&output) && (975..=3900).contains(&prompt));
            assert!((f64::from(prompt) / f64::from(output) - 20.0).abs() < 1.0);
        }
    }

    #[test]
    fn a_length_trace_is_scaled_and_cut_in_proportion() {
        assert_eq!(trace_lengths([100, 50], [1.0, 1.0], 4096), [100, 50]);
        assert_eq!(trace_lengths([100, 51], [2.0, 0.5], 4096), [200, 25]);
        // 1000 too many of 3000 + 2000: 600 and 400.
        assert_eq!(trace_lengths([3000, 2000], [1.0, 1.0], 4000), [2400, 1600]);
        assert_eq!(trace_lengths([0, 0], [1.0, 1.0], 4000), [1, 1]);
    }

    #[test]
    fn an_interval_trace_gives_whole_seconds_within_its_window() {
        let window = ["1970-01-04 12:00:00", "1970-01-04 15:00:00"].map(|t| parse_time(t).unwrap());
        let text = "id,arrival_time\n0,1970-01-04 12:00:00\n1,1970-01-04 12:00:01.5\n2,1970-01-04 12:00:04.2\n\
                    3,1970-01-04 12:00:09\n4,1970-01-04 15:00:00\n";
        assert_eq!(interval_gaps_s(text.as_bytes(), window, 0.5), Ok(vec![1.0, 2.5]));
        assert!(interval_gaps_s(b"a,b\n1,2\n", window, 1.0).is_err());
        assert!(interval_gaps_s(b"arrival_time\nnoon\n", window, 1.0).is_err());
    }
}
