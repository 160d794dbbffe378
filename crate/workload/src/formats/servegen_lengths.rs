//! ServeGen's length files (Xiang et al., arXiv 2505.09999, github.com/alibaba/ServeGen): for every client and window of six
//! hours how often each number of tokens occurs. A client a line: `client_id`, and `dataset` by the window's start in
//! seconds, in it by field the text of a mapping `{tokens: probability, …}` (a JSON object is taken as well).

use super::json::{Json, Line, Lines, bad};
use super::{FormatError, MAX_TOKENS};

pub(super) const KEYS: [&str; 2] = ["client_id", "dataset"];

/// Fields that add up to the prompt: of language models, and of those that see and hear.
const PROMPT: [&str; 5] = ["input_tokens", "text_tokens", "image_tokens", "audio_tokens", "video_tokens"];
const ANSWER: &str = "output_tokens";
/// Fields that count images and the like, and are no lengths.
const COUNTS: [&str; 3] = ["image_count", "audio_count", "video_count"];

/// A client's lengths in one window.
#[derive(Debug, Clone, PartialEq)]
pub struct LengthWindow {
    /// Name of the client.
    pub client: String,
    /// Start of the window, seconds.
    pub start_s: f64,
    /// Lengths that add up to a prompt.
    pub prompt: Vec<Histogram>,
    /// Answer lengths.
    pub answer: Histogram,
}

/// How often lengths occur.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Histogram {
    /// Lengths, ascending.
    tokens: Vec<u32>,
    /// Weight up to and with each length.
    cumulated: Vec<f64>,
}

impl Histogram {
    /// The histogram of (tokens, weight).
    fn of(mut entries: Vec<(u32, f64)>) -> Option<Self> {
        entries.sort_by_key(|entry| entry.0);
        let mut sum = 0.0;
        let mut histogram = Self::default();
        for (tokens, weight) in entries.into_iter().filter(|entry| entry.1 > 0.0) {
            sum += weight;
            histogram.tokens.push(tokens);
            histogram.cumulated.push(sum);
        }
        (sum > 0.0 && sum.is_finite()).then_some(histogram)
    }

    /// The length at the number `u` in (0, 1); it grows with `u`.
    pub fn at(&self, u: f64) -> u32 {
        let last = self.tokens.len() - 1;
        self.tokens[self.cumulated.partition_point(|&sum| sum <= u * self.cumulated[last]).min(last)]
    }

    /// Mean length.
    pub fn mean(&self) -> f64 {
        let mut before = 0.0;
        let mut sum = 0.0;
        for (&tokens, &cumulated) in self.tokens.iter().zip(&self.cumulated) {
            sum += f64::from(tokens) * (cumulated - before);
            before = cumulated;
        }
        sum / before
    }
}

pub(super) fn read(first: Line<'_>, lines: &mut Lines<'_>) -> Result<Vec<LengthWindow>, FormatError> {
    let mut windows = Vec::new();
    let mut next = Some(first);
    while let Some(line) = next {
        let client = line.name("client_id")?.ok_or_else(|| line.bad("client_id", "a name"))?;
        let Some(Json::Object(of_client)) = line.get("dataset") else {
            return Err(line.bad("dataset", "an object of windows"));
        };
        for (start, fields) in of_client {
            let start_s = start.parse::<f64>().ok().filter(|s| s.is_finite() && *s >= 0.0);
            let start_s = start_s.ok_or_else(|| bad(line.row, start, "seconds", fields))?;
            windows.push(window(line.row, client, start_s, fields)?);
        }
        next = lines.next_line()?;
    }
    Ok(windows)
}

fn window(row: u64, client: &str, start_s: f64, fields: &Json<'_>) -> Result<LengthWindow, FormatError> {
    let histogram = |name: &str| fields.get(name).map(|value| histogram(row, name, value)).transpose();
    let mut prompt = Vec::new();
    for name in PROMPT {
        prompt.extend(histogram(name)?);
    }
    let Json::Object(found) = fields else { return Err(bad(row, "dataset", "an object of fields", fields)) };
    let known = |name: &str| name == ANSWER || PROMPT.contains(&name) || COUNTS.contains(&name);
    if let Some((name, value)) = found.iter().find(|(name, _)| !known(name)) {
        return Err(bad(row, name, "a field of ServeGen's lengths", value));
    }
    if prompt.is_empty() {
        return Err(bad(row, PROMPT[0], "lengths of prompts", &Json::Null));
    }
    let answer = histogram(ANSWER)?.ok_or_else(|| bad(row, ANSWER, "lengths of answers", &Json::Null))?;
    Ok(LengthWindow { client: client.to_owned(), start_s, prompt, answer })
}

fn histogram(row: u64, name: &str, value: &Json<'_>) -> Result<Histogram, FormatError> {
    const EXPECTED: &str = "a mapping of tokens to probabilities";
    let wrong = || bad(row, name, EXPECTED, value);
    let entry = |tokens: &str, weight: &str| -> Option<(u32, f64)> {
        let tokens = tokens.trim().parse::<u32>().ok().filter(|&tokens| tokens <= MAX_TOKENS)?;
        let weight = weight.trim().parse::<f64>().ok().filter(|w| w.is_finite() && *w >= 0.0)?;
        Some((tokens, weight))
    };
    let entries: Option<Vec<(u32, f64)>> = match value {
        Json::Text(text) => {
            let inside = text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}')).ok_or_else(wrong)?;
            let pairs = inside.split(',').filter(|pair| !pair.trim().is_empty());
            pairs
                .map(|pair| pair.split_once(':').and_then(|(tokens, weight)| entry(tokens, weight)))
                .collect()
        }
        Json::Object(pairs) => {
            let number = |weight: &Json<'_>| {
                if let Json::Number(text) = weight { Some(text.to_string()) } else { None }
            };
            pairs.iter().map(|(tokens, weight)| entry(tokens, &number(weight)?)).collect()
        }
        _ => None,
    };
    entries.and_then(Histogram::of).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use crate::formats::{Contents, Format, open};

    const GOOD: &str = "{\"client_id\":7,\"dataset\":{\"21600\":{\"input_tokens\":\"{10: 0.25, 4: 0.75}\",\"output_tokens\":\"{1: 1.0}\"}}}\n";

    #[test]
    fn histograms_are_read_and_drawn_from() {
        let file = open(GOOD.as_bytes()).unwrap();
        assert_eq!(file.format, Format::ServeGenLengths);
        let Contents::Histograms(windows) = file.contents else { panic!("{:?}", file.contents) };
        assert_eq!((windows[0].client.as_str(), windows[0].start_s), ("7", 21_600.0));
        let prompt = &windows[0].prompt[0];
        assert_eq!([0.1, 0.74, 0.76, 0.999].map(|u| prompt.at(u)), [4, 4, 10, 10]);
        assert_eq!(prompt.mean(), 5.5);
    }

    #[test]
    fn bad_mappings_are_told_with_their_place() {
        let message = |lengths: &str| {
            let text = GOOD.replace("\"{10: 0.25, 4: 0.75}\"", lengths);
            open(format!("{GOOD}{text}").as_bytes()).unwrap_err().to_string()
        };
        for bad in ["\"{10: x}\"", "\"{10: 0}\"", "\"{}\"", "\"10: 1\"", "\"{-1: 1}\"", "{\"4\": \"1\"}", "3"]
        {
            let message = message(bad);
            assert!(message.starts_with("row 2, column input_tokens: a mapping of tokens"), "{message}");
        }
        let text = GOOD.replace("input_tokens", "inputs");
        let message = open(text.as_bytes()).unwrap_err().to_string();
        assert!(message.starts_with("row 1, column inputs: a field of ServeGen's lengths"), "{message}");
    }
}
