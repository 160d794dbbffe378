//! Labels for requests that have none: drawn, by session, or by size.

use super::error::StepError;
use super::field::Field;
use super::job::Job;
use crate::popularity::Popularity;
use crate::statistics::sort_places;
use crate::trace::{NO_LABEL, Trace};

/// How a request gets its label.
pub(super) const DISTRIBUTION: Field = Field::choice(
    "distribution",
    &["random", "zipf", "session", "size"],
    "random: equal shares; zipf: shares of Zipf(s); session: one label a session, drawn by Zipf(s); size: slices of \
     Zipf(s) shares of the requests in order of length, the shortest first",
);

/// The exponent of the shares.
pub(super) const EXPONENT: Field =
    Field::number("s", "", [0.0, 10.0], 1.0, "exponent of Zipf's law; 0 is equal shares");

/// A label for each request, all of them below `count`, and facts about them.
pub(super) fn labels(job: &mut Job<'_>, trace: &Trace, count: usize) -> Result<Vec<u32>, StepError> {
    let s = job.number("s");
    let distribution = job.choice("distribution");
    let popularity = if distribution == "random" { Popularity::Uniform } else { Popularity::Zipf { s } };
    let sampler = popularity.sampler(count);
    let mut stream = job.stream();
    let labels: Vec<u32> = match distribution {
        "session" => {
            let sessions = trace.sessions();
            if sessions.index.iter().all(|&session| session == NO_LABEL) {
                return Err(StepError::NoSessions { step: job.name() });
            }
            let mut of_session = job.stream().item(0);
            let label: Vec<u32> = sessions.names.iter().map(|_| sampler.at(of_session.uniform())).collect();
            let alone = sessions.index.iter().filter(|&&session| session == NO_LABEL).count();
            let named = sessions.used().iter().filter(|&&used| used).count() as f64;
            job.note("sessions_labelled", &[("sessions", named), ("alone", alone as f64)]);
            let of = |&session: &u32| label.get(session as usize).copied();
            sessions
                .index
                .iter()
                .map(|session| of(session).unwrap_or_else(|| sampler.at(stream.uniform())))
                .collect()
        }
        "size" => {
            let total = |id: usize| f64::from(trace.input_tokens[id]) + f64::from(trace.output_tokens[id]);
            let sizes: Vec<f64> = (0..trace.len()).map(total).collect();
            let mut labels = vec![0; trace.len()];
            for (place, &id) in sort_places(&sizes).iter().enumerate() {
                labels[id as usize] = sampler.at((place as f64 + 0.5) / trace.len() as f64);
            }
            labels
        }
        _ => trace.arrival_us.iter().map(|_| sampler.at(stream.uniform())).collect(),
    };
    let mut counts = vec![0u32; count];
    labels.iter().for_each(|&label| counts[label as usize] += 1);
    let used = counts.iter().filter(|&&n| n > 0).count();
    let top = counts.iter().max().copied().unwrap_or(0);
    job.note("labelled", &[("labels", used as f64), ("top", top.into())]);
    Ok(labels)
}
