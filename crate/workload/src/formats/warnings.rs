//! What a reader of a trace should know about the file, and other tools do not say.

use super::{AssumedFrom, ReadTrace};
use crate::message::filled;
use crate::statistics::stamps::stamp_interval;
use crate::trace::{NO_LABEL, PrefixBlocks, Trace};

/// Every code of a [`Warning`], with its English text; `{name}` stands for a number of the warning.
pub const WARNINGS: &[(&str, &str)] = &[
    ("reordered", "rows were put in order of arrival"),
    ("failed_rows", "{requests} requests without a prompt or an answer were left out"),
    (
        "output_assumed_given",
        "{requests} requests have no output length in the file; each was given {tokens} tokens, as asked for",
    ),
    (
        "output_assumed_median",
        "{requests} requests have no output length in the file; each was given {tokens} tokens, the median of the others",
    ),
    (
        "output_assumed_default",
        "{requests} requests have no output length in the file, nor has any other; each was given {tokens} tokens",
    ),
    ("empty_entries", "{entries} time stamps have no request"),
    ("bad_rows", "{rows} rows could not be read and were left out"),
    (
        "stamped_times",
        "{percent} % of the requests arrive at the very time of the one before: times are stamps {interval_s} s apart, and \
         gaps mean nothing before they are spread (dequantise)",
    ),
    (
        "zero_gaps",
        "{percent} % of the requests arrive at the very time of the one before, as where times were rounded or requests \
         come in batches",
    ),
    (
        "outputs_named",
        "the file names the blocks of prompts only; those of {outputs} of {of} outputs are taken from the prompt that goes on from \
         them, so that the prefix cache finds them",
    ),
    (
        "turns_without_blocks",
        "{requests} requests go on in a session, and the file does not name the blocks of their prompts (hash_ids): the \
         prefix cache finds nothing of the earlier turns",
    ),
    (
        "odd_blocks",
        "{requests} of {of} prompts have another number of prefix blocks than their length gives at {block_tokens} tokens \
         a block: {few} have too few and {many} too many; the first of them arrives at {at_s} s",
    ),
    (
        "block_size",
        "{requests} of {of} prompts have another number of prefix blocks than their length gives at {block_tokens} tokens \
         a block; at {likely} tokens all but a few agree",
    ),
];

/// Something that a reader of a trace should know.
#[derive(Debug, Clone, PartialEq)]
pub struct Warning {
    /// One of [`WARNINGS`].
    pub code: &'static str,
    /// The numbers of its text.
    pub params: Vec<(&'static str, f64)>,
}

impl Warning {
    /// A warning of a code of [`WARNINGS`].
    pub fn new(code: &'static str, params: &[(&'static str, f64)]) -> Self {
        debug_assert!(WARNINGS.iter().any(|(known, _)| *known == code), "{code}");
        Self { code, params: params.to_vec() }
    }

    /// Whether it only says how the file was read; the others say what may mislead.
    pub fn is_note(&self) -> bool {
        matches!(self.code, "outputs_named" | "turns_without_blocks")
    }

    /// Its English text.
    pub fn to_text(&self) -> String {
        filled(
            WARNINGS.iter().find(|(code, _)| *code == self.code).map_or("", |(_, text)| text),
            &self.params,
        )
    }
}

/// Share of a trace that something must concern before it is reported.
const SHARE: f64 = 0.01;

/// Least interval between time stamps, in mean gaps, that spoils the gaps.
const COARSE: f64 = 0.1;

/// What the reader itself noticed.
pub fn reader_warnings(read: &ReadTrace) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if read.reordered {
        warnings.push(Warning::new("reordered", &[]));
    }
    for (code, name, count) in
        [("failed_rows", "requests", read.failed), ("empty_entries", "entries", read.empty_entries)]
    {
        if count > 0 {
            warnings.push(Warning::new(code, &[(name, count as f64)]));
        }
    }
    if let Some(assumed) = read.assumed {
        let code = match assumed.from {
            AssumedFrom::Given => "output_assumed_given",
            AssumedFrom::Median => "output_assumed_median",
            AssumedFrom::Default => "output_assumed_default",
        };
        let params = [("requests", assumed.requests as f64), ("tokens", assumed.output_tokens.into())];
        warnings.push(Warning::new(code, &params));
    }
    warnings.extend(outputs(read));
    warnings
}

/// Where the blocks of outputs come from, or that they have no names.
fn outputs(read: &ReadTrace) -> Option<Warning> {
    let trace = &read.trace;
    if read.named_outputs > 0 {
        let params = [("outputs", read.named_outputs as f64), ("of", trace.len() as f64)];
        return Some(Warning::new("outputs_named", &params));
    }
    let sessions = trace.sessions();
    let has_blocks = trace.metadata.as_ref().is_some_and(|metadata| !metadata.prefix.is_empty());
    let firsts = sessions.used().iter().filter(|is_used| **is_used).count();
    let all = sessions.index.iter().filter(|&&session| session != NO_LABEL).count();
    (!has_blocks && all > firsts)
        .then(|| Warning::new("turns_without_blocks", &[("requests", (all - firsts) as f64)]))
}

/// What the reader noticed, and what its times and prefix blocks show.
pub fn warnings(read: &ReadTrace) -> Vec<Warning> {
    let mut warnings = reader_warnings(read);
    warnings.extend(zero_gaps(&read.trace));
    let prefix =
        read.trace.metadata.as_ref().map(|metadata| &metadata.prefix).filter(|prefix| !prefix.is_empty());
    warnings.extend(prefix.and_then(|prefix| odd_blocks(prefix, &read.trace)));
    warnings
}

fn zero_gaps(trace: &Trace) -> Option<Warning> {
    let times = &trace.arrival_us;
    let zero = times.windows(2).filter(|pair| pair[0] == pair[1]).count() as f64 / times.len() as f64;
    let percent = ("percent", 100.0 * zero);
    let mean_us = (times.last()? - times.first()?) / times.len() as f64;
    // Stamps much finer than the gaps between requests do no harm.
    let coarse =
        stamp_interval(times).map(|found| found.0).filter(|&interval_us| interval_us >= COARSE * mean_us);
    (zero >= SHARE).then(|| match coarse {
        Some(interval_us) => Warning::new("stamped_times", &[percent, ("interval_s", interval_us / 1e6)]),
        None => Warning::new("zero_gaps", &[percent]),
    })
}

/// Sizes of prefix blocks in use.
const SIZES: [u32; 8] = [16, 32, 64, 128, 256, 512, 1024, 2048];

fn odd_blocks(prefix: &PrefixBlocks, trace: &Trace) -> Option<Warning> {
    let with_blocks: Vec<(usize, u32, u32)> = (0..trace.len())
        .map(|id| (id, prefix.of(id).len() as u32, trace.input_tokens[id]))
        .filter(|&(_, blocks, _)| blocks > 0)
        .collect();
    // The last block may be counted only where it is full.
    let few = |size: u32, n: u32, tokens: u32| n < tokens / size;
    let many = |size: u32, n: u32, tokens: u32| n > tokens.div_ceil(size);
    let count = |size: u32, is_odd: &dyn Fn(u32, u32, u32) -> bool| {
        with_blocks.iter().filter(|&&(_, n, tokens)| is_odd(size, n, tokens)).count() as f64
    };
    let size = prefix.block_tokens.max(1);
    let (short, long) = (count(size, &few), count(size, &many));
    let (found, of) = (short + long, with_blocks.len() as f64);
    let is_odd = |&&(_, n, tokens): &&(usize, u32, u32)| few(size, n, tokens) || many(size, n, tokens);
    let (first, ..) = with_blocks.iter().find(is_odd)?;
    let mut params = vec![("requests", found), ("of", of), ("block_tokens", size.into())];
    let most = SHARE * of;
    let likely = SIZES.into_iter().find(|&size| count(size, &few) + count(size, &many) <= most);
    if let Some(likely) = likely.filter(|_| found > most) {
        params.push(("likely", likely.into()));
        return Some(Warning::new("block_size", &params));
    }
    params.extend([("few", short), ("many", long), ("at_s", trace.arrival_us[*first] / 1e6)]);
    Some(Warning::new("odd_blocks", &params))
}

#[cfg(test)]
mod tests {
    use super::super::{read, read_with};
    use super::*;
    use crate::formats::ReadOptions;

    fn codes(text: &str) -> Vec<(&'static str, String)> {
        warnings(&read(text.as_bytes()).unwrap()).iter().map(|w| (w.code, w.to_text())).collect()
    }

    #[test]
    fn stamps_blocks_and_empty_entries_are_told() {
        let rows: Vec<String> = (0..30).map(|i| format!("{},10,5", i / 3 * 2)).collect();
        let stamped = format!("arrived_at,num_prefill_tokens,num_decode_tokens\n{}\n", rows.join("\n"));
        let refusal = codes(&stamped);
        assert_eq!(refusal[0].0, "stamped_times");
        assert!(
            refusal[0].1.starts_with("66.67 % of the requests") && refusal[0].1.contains(" 2 s apart"),
            "{refusal:?}"
        );
        let batch = "arrived_at,num_prefill_tokens,num_decode_tokens\n0,1,1\n0,1,1\n3.1415,1,1\n";
        assert_eq!(codes(batch)[0].0, "zero_gaps");
        let line = |at: u32, blocks: &str| {
            format!(
                "{{\"timestamp\": {at}, \"input_length\": 700, \"output_length\": 5, \"hash_ids\": [{blocks}]}}\n"
            )
        };
        assert_eq!(codes(&(line(0, "1, 2") + &line(7, "1"))), []);
        assert_eq!(codes(&line(0, "1, 2, 3"))[0].0, "block_size");
        assert!(codes(&line(0, "1, 2, 3"))[0].1.ends_with("at 256 tokens all but a few agree"));
        assert_eq!(codes(&(line(0, "1, 2, 3") + &line(1, "1, 2, 3, 4, 5, 6")))[0].0, "odd_blocks");
        // One odd prompt among many is reported as well, with its place.
        let mut many: String = (0..400).map(|at| line(at * 1000, "1, 2")).collect();
        assert_eq!(codes(&many), []);
        many += &line(400_500, "1, 2, 3, 4");
        many += "{\"timestamp\": 500000, \"input_length\": 1024, \"output_length\": 5, \"hash_ids\": [1]}\n";
        assert_eq!(
            codes(&many)[0].1,
            "2 of 402 prompts have another number of prefix blocks than their length gives at 512 tokens a block: 1 have too \
             few and 1 too many; the first of them arrives at 400.5 s"
        );
        let empty = "{\"timestamp\": 0, \"requests\": [{\"prompt_length\": 1, \"output_length\": 2}]}\n\
                     {\"timestamp\": 5, \"requests\": []}\n{\"timestamp\": 9, \"requests\": []}\n";
        assert_eq!(codes(empty), [("empty_entries", "2 time stamps have no request".to_owned())]);
    }

    #[test]
    fn a_tolerant_reading_says_how_much_it_left_out() {
        let text = b"arrival_s,input_tokens,output_tokens\n1,1,1\n0,1,1\nx,1,1\n";
        let options = ReadOptions { tolerate: Some(0), ..ReadOptions::default() };
        let reading = read_with(text, &options, &mut |_, _| std::ops::ControlFlow::Continue(())).unwrap();
        let codes: Vec<&str> = reading.warnings().iter().map(|w| w.code).collect();
        assert_eq!(codes, ["bad_rows", "reordered"]);
    }
}
