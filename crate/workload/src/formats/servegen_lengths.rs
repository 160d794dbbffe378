//! ServeGen's length files (Xiang et al., arXiv 2505.09999, github.com/alibaba/ServeGen): for every client and window of six
//! hours how often each number of tokens occurs. A client a line: `client_id`, and `dataset` by the window's start in
//! seconds, in it by field the text of a mapping `{tokens: probability, …}` (a JSON object is taken as well).

use super::json::{Json, Line, Lines, bad, document};
use super::{FormatError, MAX_TOKENS};

pub(super) const KEYS: [&str; 2] = ["client_id", "dataset"];

/// Fields that add up to the prompt: of language models, and of those that see and hear.
const PROMPT: [&str; 5] = ["input_tokens", "text_tokens", "image_tokens", "audio_tokens", "video_tokens"];
const ANSWER: &str = "output_tokens";
/// Fields that count images and the like, and are no lengths.
const COUNTS: [&str; 3] = ["image_count", "audio_count", "video_count"];
/// What share of an answer is reasoning, for models that reason: shares of 0 to 1 in place of tokens. The answer's length
/// holds the reasoning.
const REASON: &str = "reason_ratio";

/// A client's lengths in one window.
#[derive(Debug, Clone, PartialEq)]
pub struct LengthWindow {
    /// Name of the client.
    pub client: String,
    /// Start of the window, seconds.
    pub start_s: f64,
    /// Lengths that add up to a prompt.
    pub prompt: Vec<Histogram>,
    /// Output lengths, reasoning included.
    pub answer: Histogram,
    /// Mean share of an answer that is reasoning, of models that reason.
    pub reason_share: Option<f64>,
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
        let dataset = line.get("dataset").unwrap_or(&Json::Null);
        windows_of(line.row, client, dataset, &mut windows)?;
        next = lines.next_line()?;
    }
    Ok(windows)
}

/// The length windows of one client from a chunk file as ServeGen publishes it, which does not name the client.
///
/// # Errors
/// [`FormatError`], with the window and the field.
pub fn servegen_chunk_lengths(client: &str, bytes: &[u8]) -> Result<Vec<LengthWindow>, FormatError> {
    let mut windows = Vec::new();
    windows_of(1, client, &document(bytes)?, &mut windows)?;
    Ok(windows)
}

fn windows_of(
    row: u64,
    client: &str,
    dataset: &Json<'_>,
    windows: &mut Vec<LengthWindow>,
) -> Result<(), FormatError> {
    let Json::Object(of_client) = dataset else {
        return Err(bad(row, "dataset", "an object of windows", dataset));
    };
    for (start, fields) in of_client {
        let start_s = start.parse::<f64>().ok().filter(|s| s.is_finite() && *s >= 0.0);
        let start_s = start_s.ok_or_else(|| bad(row, start, "seconds", fields))?;
        // A window in which the client sent nothing; ServeGen leaves it out as well.
        if !is_idle(fields) {
            windows.push(window(row, client, start_s, fields)?);
        }
    }
    Ok(())
}

/// Whether a field of the window has no entry at all.
fn is_idle(fields: &Json<'_>) -> bool {
    let is_empty = |value: &Json<'_>| match value {
        Json::Text(text) => text
            .trim()
            .strip_prefix('{')
            .and_then(|t| t.strip_suffix('}'))
            .is_some_and(|t| t.trim().is_empty()),
        Json::Object(entries) => entries.is_empty(),
        _ => false,
    };
    matches!(fields, Json::Object(found) if found.iter().any(|(_, value)| is_empty(value)))
}

fn window(row: u64, client: &str, start_s: f64, fields: &Json<'_>) -> Result<LengthWindow, FormatError> {
    let histogram = |name: &str| fields.get(name).map(|value| histogram(row, name, value)).transpose();
    let mut prompt = Vec::new();
    for name in PROMPT {
        prompt.extend(histogram(name)?);
    }
    let Json::Object(found) = fields else { return Err(bad(row, "dataset", "an object of fields", fields)) };
    let known =
        |name: &str| [ANSWER, REASON].contains(&name) || PROMPT.contains(&name) || COUNTS.contains(&name);
    if let Some((name, value)) = found.iter().find(|(name, _)| !known(name)) {
        return Err(bad(row, name, "a field of ServeGen's lengths", value));
    }
    if prompt.is_empty() {
        return Err(bad(row, PROMPT[0], "lengths of prompts", &Json::Null));
    }
    let answer = histogram(ANSWER)?.ok_or_else(|| bad(row, ANSWER, "lengths of answers", &Json::Null))?;
    let reason_share = fields.get(REASON).map(|value| mean_share(row, value)).transpose()?;
    Ok(LengthWindow { client: client.to_owned(), start_s, prompt, answer, reason_share })
}

fn histogram(row: u64, name: &str, value: &Json<'_>) -> Result<Histogram, FormatError> {
    let wrong = || bad(row, name, "a mapping of tokens to probabilities", value);
    let entry = |(tokens, weight): (&str, f64)| {
        tokens.parse::<u32>().ok().filter(|&tokens| tokens <= MAX_TOKENS).map(|tokens| (tokens, weight))
    };
    let entries: Option<Vec<(u32, f64)>> =
        mapping(value).and_then(|pairs| pairs.into_iter().map(entry).collect());
    entries.and_then(Histogram::of).ok_or_else(wrong)
}

/// The mean of a mapping of shares to probabilities.
fn mean_share(row: u64, value: &Json<'_>) -> Result<f64, FormatError> {
    let wrong = || bad(row, REASON, "a mapping of shares from 0 to 1 to probabilities", value);
    let entry = |(share, weight): (&str, f64)| {
        share.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share)).map(|share| (share, weight))
    };
    let entries: Option<Vec<(f64, f64)>> =
        mapping(value).and_then(|pairs| pairs.into_iter().map(entry).collect());
    let entries = entries.ok_or_else(wrong)?;
    let sum: f64 = entries.iter().map(|(_, weight)| weight).sum();
    let weighted: f64 = entries.iter().map(|(share, weight)| share * weight).sum();
    if sum > 0.0 && sum.is_finite() { Ok(weighted / sum) } else { Err(wrong()) }
}

/// The keys and weights of a mapping, which is a text in Python's form or an object; `None` for what is none.
fn mapping<'a>(value: &'a Json<'_>) -> Option<Vec<(&'a str, f64)>> {
    let weight = |text: &str| text.trim().parse::<f64>().ok().filter(|w| w.is_finite() && *w >= 0.0);
    match value {
        Json::Text(text) => {
            let inside = text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}'))?;
            let pairs = inside.split(',').filter(|pair| !pair.trim().is_empty());
            pairs
                .map(|pair| pair.split_once(':').and_then(|(key, w)| Some((key.trim(), weight(w)?))))
                .collect()
        }
        Json::Object(pairs) => {
            let entry = |(key, value): &'a (std::borrow::Cow<'_, str>, Json<'_>)| match value {
                Json::Number(text) => Some((key.trim(), weight(text)?)),
                _ => None,
            };
            pairs.iter().map(entry).collect()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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

    const REASONING: &str = "{\"0\": {\"input_tokens\": \"{45: 0.25, 46: 0.75}\", \"output_tokens\": \"{640: 1.0}\", \"reason_ratio\": \"{0.0: 0.5, 0.002: 0.0, 0.998: 0.5}\"}, \"21600\": {\"input_tokens\": \"{}\", \"output_tokens\": \"{}\", \"reason_ratio\": \"{}\"}}";

    #[test]
    fn data_sets_of_models_that_reason_are_read() {
        let windows = servegen_chunk_lengths("3", REASONING.as_bytes()).expect("as published");
        assert_eq!((windows.len(), windows[0].client.as_str(), windows[0].answer.mean()), (1, "3", 640.0));
        assert_eq!(windows[0].reason_share, Some(0.499));
        let joined = format!("{{\"client_id\": 3, \"dataset\": {REASONING}}}\n");
        let Contents::Histograms(same) = open(joined.as_bytes()).unwrap().contents else { panic!() };
        assert_eq!(same, windows);
        for bad in ["{1.5: 1.0}", "{0.5: 0.0}", "0.5", "{x: 1}"] {
            let text = REASONING.replacen("{0.0: 0.5, 0.002: 0.0, 0.998: 0.5}", bad, 1);
            let refusal = servegen_chunk_lengths("3", text.as_bytes()).unwrap_err().to_string();
            assert!(
                refusal.starts_with("row 1, column reason_ratio: a mapping of shares from 0 to 1"),
                "{refusal}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_the_reader_of_chunks_panic(
            text in "\\{\"0\": ?\\{(\"(input_tokens|output_tokens|reason_ratio)\": ?\"\\{([0-9.:, x]{0,12})\\}\",?){0,3}\\}?\\}?",
        ) {
            let _ = servegen_chunk_lengths("c", text.as_bytes());
        }
    }

    #[test]
    fn bad_mappings_are_told_with_their_place() {
        let message = |lengths: &str| {
            let text = GOOD.replace("\"{10: 0.25, 4: 0.75}\"", lengths);
            open(format!("{GOOD}{text}").as_bytes()).unwrap_err().to_string()
        };
        for bad in ["\"{10: x}\"", "\"{10: 0}\"", "\"10: 1\"", "\"{-1: 1}\"", "{\"4\": \"1\"}", "3"] {
            let message = message(bad);
            assert!(message.starts_with("row 2, column input_tokens: a mapping of tokens"), "{message}");
        }
        let text = GOOD.replace("input_tokens", "inputs");
        let message = open(text.as_bytes()).unwrap_err().to_string();
        assert!(message.starts_with("row 1, column inputs: a field of ServeGen's lengths"), "{message}");
    }
}
