//! Finished runs as lines of JSON: written, read again, continued and joined.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

/// A finished run of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepLine {
    /// Its number in the sweep.
    pub index: usize,
    /// The value of each axis.
    pub point: Vec<Json>,
    /// Its seed.
    pub seed: u64,
    /// The value of each metric; none where the summary has none.
    pub values: Vec<Option<f64>>,
    /// The run's digest; none where the settings make no run.
    pub digest: Option<String>,
    /// Why the settings make no run.
    pub error: Option<String>,
}

/// What all lines of a sweep have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepShape {
    /// The digest of the scenario, the axes, the metrics and the seeds.
    pub id: String,
    /// Runs of the whole sweep.
    pub runs: usize,
    /// The paths of the axes.
    pub paths: Vec<String>,
    /// The metrics.
    pub metrics: Vec<String>,
}

/// Why lines cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinesError {
    /// A line is no result of a sweep.
    #[error("line {line} is no result of a sweep: {reason}")]
    NoResult {
        /// From 1 on.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A line is of another sweep.
    #[error("line {line} is of another sweep: {reason}")]
    OtherSweep {
        /// From 1 on.
        line: usize,
        /// What differs.
        reason: String,
    },
    /// Two lines are of the same run and differ.
    #[error("line {line}: run {index} is there twice, with different results")]
    Twice {
        /// From 1 on.
        line: usize,
        /// The run.
        index: usize,
    },
    /// The last line of a file that is to be joined is cut off.
    #[error("line {line} is cut off: the runs of this file are not finished")]
    CutOff {
        /// From 1 on.
        line: usize,
    },
    /// Runs are missing.
    #[error("{missing} of {runs} runs are missing, the first is run {first}")]
    Missing {
        /// How many.
        missing: usize,
        /// Runs of the whole sweep.
        runs: usize,
        /// The first that is missing.
        first: usize,
    },
    /// There is no line at all.
    #[error("there is no result of a sweep")]
    Empty,
}

/// The runs that a file holds already, and where its next line begins.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Resumed {
    /// The finished runs by number.
    pub lines: BTreeMap<usize, SweepLine>,
    /// Bytes of the file that stay; what follows is a line that was cut off.
    pub keep: usize,
    /// Whether the line that ends there lacks its line break.
    pub is_open: bool,
}

/// A number as JSON, whole ones without a fraction.
fn number(x: f64) -> Json {
    if x == x.trunc() && x.abs() < 9e15 { (x as i64).into() } else { x.into() }
}

impl SweepLine {
    /// The line, without its line break.
    pub fn text(&self, shape: &SweepShape) -> String {
        let point: Map<_, _> = shape.paths.iter().cloned().zip(self.point.iter().cloned()).collect();
        let values = self.values.iter().map(|x| x.map_or(Json::Null, number));
        let metrics: Map<_, _> = shape.metrics.iter().cloned().zip(values).collect();
        let mut line = json!({"point": point, "seed": self.seed, "metrics": metrics, "digest": self.digest});
        if let Some(error) = &self.error {
            line["error"] = error.as_str().into();
        }
        line["index"] = self.index.into();
        line["of"] = shape.runs.into();
        line["sweep"] = shape.id.as_str().into();
        line.to_string()
    }

    /// Reads a line, and what it says of its sweep.
    fn read(text: &str) -> Result<(Self, SweepShape), String> {
        let json: Json = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let missing = |key: &str| format!("{key} is missing or of the wrong kind");
        let object = |key: &str| json.get(key).and_then(Json::as_object).ok_or_else(|| missing(key));
        let whole = |key: &str| json.get(key).and_then(Json::as_u64).ok_or_else(|| missing(key));
        let text_of = |key: &str| match json.get(key) {
            Some(Json::String(text)) => Some(text.clone()),
            _ => None,
        };
        let (point, metrics) = (object("point")?, object("metrics")?);
        let shape = SweepShape {
            id: text_of("sweep").ok_or_else(|| missing("sweep"))?,
            runs: whole("of")? as usize,
            paths: point.keys().cloned().collect(),
            metrics: metrics.keys().cloned().collect(),
        };
        let value = |(name, json): (&String, &Json)| match json {
            Json::Null => Ok(None),
            json => json.as_f64().map(Some).ok_or_else(|| format!("metrics.{name} is no number")),
        };
        let line = Self {
            index: whole("index")? as usize,
            point: point.values().cloned().collect(),
            seed: whole("seed")?,
            values: metrics.iter().map(value).collect::<Result<_, _>>()?,
            digest: text_of("digest"),
            error: text_of("error"),
        };
        if shape.runs > super::MAX_RUNS {
            return Err(format!("of: {} is more than {}", shape.runs, super::MAX_RUNS));
        }
        if line.index >= shape.runs {
            return Err(format!("index: {} is not below {}", line.index, shape.runs));
        }
        // So that lines that are put together are the bytes that one machine writes.
        if line.text(&shape) != text {
            return Err("it was changed: it is not as this program writes it".to_owned());
        }
        Ok((line, shape))
    }
}

impl SweepShape {
    /// What in `other` differs, in words; none where nothing does.
    fn difference(&self, other: &Self) -> Option<String> {
        let list = |names: &[String]| names.join(", ");
        if self.paths != other.paths {
            return Some(format!("it is over {}, this one over {}", list(&other.paths), list(&self.paths)));
        }
        if self.metrics != other.metrics {
            return Some(format!(
                "its metrics are {}, here they are {}",
                list(&other.metrics),
                list(&self.metrics)
            ));
        }
        if self.runs != other.runs {
            return Some(format!("it has {} runs, this one {}", other.runs, self.runs));
        }
        let same =
            "the same parameters and metrics, but another scenario, other values, seeds, trace or profile";
        (self.id != other.id).then(|| same.to_owned())
    }
}

/// Lines of a file by number, with the shape that all have. The last piece without a line break comes beside them.
fn pieces(bytes: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    let last = lines.pop().unwrap_or_default();
    (lines, last)
}

fn read(bytes: &[u8], line: usize) -> Result<(SweepLine, SweepShape), LinesError> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string());
    text.and_then(SweepLine::read).map_err(|reason| LinesError::NoResult { line, reason })
}

fn insert(lines: &mut BTreeMap<usize, SweepLine>, line: SweepLine, place: usize) -> Result<(), LinesError> {
    let index = line.index;
    match lines.get(&index) {
        Some(known) if *known != line => Err(LinesError::Twice { line: place, index }),
        Some(_) => Ok(()),
        None => {
            lines.insert(index, line);
            Ok(())
        }
    }
}

/// Reads the file that a sweep writes to, so that it goes on where it ended. A last line without a line break counts if it is
/// whole, and is left out otherwise: the program was ended while it wrote it.
///
/// # Errors
/// [`LinesError`] for a line that is none, or that is of another sweep.
pub fn resume(bytes: &[u8], shape: &SweepShape) -> Result<Resumed, LinesError> {
    let (whole, last) = pieces(bytes);
    let mut resumed = Resumed::default();
    for (place, bytes) in whole.iter().enumerate() {
        take(&mut resumed, bytes, shape, place + 1)?;
        resumed.keep += bytes.len() + 1;
    }
    if !last.is_empty() && read(last, whole.len() + 1).is_ok() {
        take(&mut resumed, last, shape, whole.len() + 1)?;
        resumed.keep += last.len();
        resumed.is_open = true;
    }
    Ok(resumed)
}

fn take(resumed: &mut Resumed, bytes: &[u8], shape: &SweepShape, place: usize) -> Result<(), LinesError> {
    let (line, of_line) = read(bytes, place)?;
    if let Some(reason) = shape.difference(&of_line) {
        return Err(LinesError::OtherSweep { line: place, reason });
    }
    insert(&mut resumed.lines, line, place)
}

/// Puts the lines of several files together: all runs of their sweep, in order. The error comes with the place of the file
/// that it is in, where it is in one.
///
/// # Errors
/// [`LinesError`] for a line that is none or of another sweep than the first, for a run that is missing or that is there
/// twice with different results.
pub fn join(files: &[&[u8]]) -> Result<(SweepShape, Vec<SweepLine>), (Option<usize>, LinesError)> {
    let mut shape: Option<SweepShape> = None;
    let mut lines = BTreeMap::new();
    for (file, bytes) in files.iter().enumerate() {
        let failed = |error| (Some(file), error);
        let (whole, last) = pieces(bytes);
        for (place, bytes) in whole.iter().enumerate() {
            let (line, of_line) = read(bytes, place + 1).map_err(failed)?;
            let shape = shape.get_or_insert_with(|| of_line.clone());
            if let Some(reason) = shape.difference(&of_line) {
                return Err(failed(LinesError::OtherSweep { line: place + 1, reason }));
            }
            insert(&mut lines, line, place + 1).map_err(failed)?;
        }
        if !last.is_empty() {
            return Err(failed(LinesError::CutOff { line: whole.len() + 1 }));
        }
    }
    let shape = shape.ok_or((None, LinesError::Empty))?;
    if lines.len() < shape.runs {
        let first = (0..shape.runs).find(|index| !lines.contains_key(index)).unwrap_or(0);
        let missing = shape.runs - lines.len();
        return Err((None, LinesError::Missing { missing, runs: shape.runs, first }));
    }
    Ok((shape, lines.into_values().collect()))
}
