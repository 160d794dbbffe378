//! What a step did: the trace's shape before and after, and facts that a page can put into words of its language.

use crate::message::{filled, short};
use crate::trace::Trace;

/// The shape of a trace in four numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Shape {
    /// Number of requests.
    pub requests: usize,
    /// From the first arrival to the last, seconds.
    pub span_s: f64,
    /// Requests / span, requests a second, as in [`Statistics`](crate::statistics::Statistics); `None` for a span of zero.
    pub rate_rps: Option<f64>,
    /// Standard deviation over mean of the gaps between arrivals; `None` for a span of zero.
    pub gap_cv: Option<f64>,
}

impl Shape {
    /// The shape of a trace.
    pub fn of(trace: &Trace) -> Self {
        let times = &trace.arrival_us;
        let span_us = times.last().zip(times.first()).map_or(0.0, |(last, first)| last - first);
        let gaps = times.len().saturating_sub(1) as f64;
        let mean = span_us / gaps;
        let variance =
            times.windows(2).map(|w| (w[1] - w[0] - mean) * (w[1] - w[0] - mean)).sum::<f64>() / gaps;
        Self {
            requests: times.len(),
            span_s: span_us / 1e6,
            rate_rps: (span_us > 0.0).then(|| times.len() as f64 / (span_us / 1e6)),
            gap_cv: (span_us > 0.0).then(|| f64::sqrt(variance) / mean),
        }
    }
}

/// Every code of a [`Fact`], with its English text; `{name}` stands for a number of the fact.
pub const FACTS: &[(&str, &str)] = &[
    ("outside_window", "{dropped} requests outside of the window were left out"),
    ("rezeroed", "times count from the window's start: {by_s} s were taken off"),
    (
        "stretched",
        "every time was multiplied by {factor}: bursts keep their shape and last {factor} times as long",
    ),
    (
        "thinned",
        "{dropped} requests were left out one by one: the clock and the length of bursts stay, and gaps come \
                 nearer to Poisson's",
    ),
    ("thinned_sessions", "{sessions} of {of} sessions were left out as a whole, {dropped} requests in all"),
    (
        "copied",
        "{factor} copies lie upon each other, each turned by a part of the span: bursts of one fall between those \
                of another",
    ),
    ("sampled_sessions", "{sessions} of {of} sessions were kept, with all of their requests"),
    ("without_session", "{dropped} requests that belong to no session were left out"),
    ("scaled_lengths", "lengths were rounded to the nearest whole number, halves up, and never below 1"),
    ("lengths_bounded", "{lengths} lengths would be above {max} and were set to that"),
    (
        "blocks_cut",
        "{requests} prompts became shorter: their prefix blocks beyond the new length were left out",
    ),
    (
        "blocks_added",
        "{requests} prompts became longer: the part beyond their prefix blocks is text that no other prompt shares",
    ),
    ("capped", "{input} prompts and {output} answers were cut"),
    ("over_cap", "{dropped} requests above a cap were left out"),
    (
        "spread",
        "{moved} requests were spread over stamps {interval_s} s apart ({batches} stamps with more than one)",
    ),
    (
        "interval_found",
        "the interval of the stamps was found in the data: {percent} % of the steps are multiples of it",
    ),
    ("labelled", "{labels} labels were given; the most frequent has {top} requests"),
    ("sessions_labelled", "{sessions} sessions have one label each; {alone} requests belong to none"),
    ("shifted", "every time was moved by {by_s} s"),
    ("sorted", "requests were put in order of arrival"),
    ("in_order", "requests were in order of arrival already"),
    ("joined", "{files} traces with {requests} requests in all"),
    ("offset", "trace {file} starts {offset_s} s in"),
    (
        "blocks_differ",
        "the traces have prefix blocks of different sizes, which cannot stand in one column: all were left out",
    ),
    ("labelled_by_file", "each request is labelled with the number of its trace"),
];

/// A fact that a step reports.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// One of [`FACTS`].
    pub code: &'static str,
    /// The numbers of its text.
    pub params: Vec<(&'static str, f64)>,
}

impl Fact {
    pub(super) fn new(code: &'static str, params: &[(&'static str, f64)]) -> Self {
        debug_assert!(FACTS.iter().any(|(known, _)| *known == code), "{code}");
        Self { code, params: params.to_vec() }
    }

    /// Its English text.
    pub fn to_text(&self) -> String {
        let text = FACTS.iter().find(|(code, _)| *code == self.code).map_or("", |(_, text)| text);
        filled(text, &self.params)
    }
}

/// What a step did.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// The step.
    pub step: &'static str,
    /// The trace before; of several the first.
    pub before: Shape,
    /// The trace after.
    pub after: Shape,
    /// Further facts.
    pub facts: Vec<Fact>,
}

impl Note {
    /// In English, on one line.
    pub fn to_text(&self) -> String {
        let (before, after) = (&self.before, &self.after);
        let number = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), short);
        let mut text = format!(
            "{}: {} -> {} requests, {} -> {} requests/s, cv {} -> {}",
            self.step,
            before.requests,
            after.requests,
            number(before.rate_rps),
            number(after.rate_rps),
            number(before.gap_cv),
            number(after.gap_cv)
        );
        for fact in &self.facts {
            text.push_str("; ");
            text.push_str(&fact.to_text());
        }
        text
    }
}
