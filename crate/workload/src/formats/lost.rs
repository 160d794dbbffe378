//! What of a trace a format does not hold: the text that was written is read back and compared, so that nothing has to
//! be known of the format.

use super::read;
use crate::trace::{BASE_MODEL, Labels, Trace, TraceMetadata};

/// Every name that [`lost`] gives, with its English text.
pub const LOSSES: &[(&str, &str)] = &[
    ("requests", "some requests"),
    ("start", "the time before the first request: its times start at the first arrival"),
    ("times", "times to the microsecond"),
    ("lengths", "lengths of prompts and answers"),
    ("max_tokens", "the bounds on answers (max_tokens)"),
    ("users", "users"),
    ("adapters", "adapters and their ranks"),
    ("cancellations", "clients that went away"),
    ("waits", "which requests wait for the end of others"),
    ("sessions", "sessions and turns"),
    ("prefixes", "prefix blocks"),
    ("outputs", "the blocks of outputs"),
    ("models", "models and kinds of requests"),
    ("details", "agents' events and details"),
    ("unknown_outputs", "which output lengths are unknown"),
];

/// What is not in `text`, which a trace was written as; the names are those of [`LOSSES`], in their order.
pub fn lost(trace: &Trace, text: &str) -> Vec<&'static str> {
    let Ok(mut back) = read(text.as_bytes()).map(|read| read.trace) else {
        // A file without requests is no file that can be read.
        return if trace.is_empty() { Vec::new() } else { vec!["requests"] };
    };
    if back.len() != trace.len() {
        return vec!["requests"];
    }
    // A length that is unknown there as well is assumed again by each reader.
    let still_unknown = |id: usize| {
        [trace, &back]
            .iter()
            .all(|t| t.metadata.as_ref().is_some_and(|metadata| metadata.is_output_assumed(id)))
    };
    let unknown: Vec<usize> = (0..trace.len()).filter(|&id| still_unknown(id)).collect();
    for id in unknown {
        back.output_tokens[id] = trace.output_tokens[id];
        back.max_tokens[id] = trace.max_tokens[id];
    }
    let nothing = TraceMetadata::default();
    let (had, has) =
        (trace.metadata.as_deref().unwrap_or(&nothing), back.metadata.as_deref().unwrap_or(&nothing));
    let base = |t: &Trace| t.adapter.iter().all(|&a| a == BASE_MODEL);
    let ranks = |t: &Trace| (0..t.len()).map(|id| t.rank(id)).collect::<Vec<_>>();
    // A format that begins with its first arrival moves every time alike, and need not round any.
    let start_us = |t: &Trace| t.arrival_us.first().map_or(0.0, |&us| us);
    let moved = libm::round(start_us(trace)) != libm::round(start_us(&back));
    let from = |t: &Trace| if moved { start_us(t) } else { 0.0 };
    let whole_us = |t: &Trace| {
        let from_us = from(t);
        t.arrival_us.iter().map(|&us| libm::round(us - from_us) as i64).collect::<Vec<_>>()
    };
    let unknown =
        |metadata: &TraceMetadata| metadata.assumed_output.iter().filter(|is_unknown| **is_unknown).count();
    let gone = [
        ("start", moved),
        ("times", whole_us(trace) != whole_us(&back)),
        ("lengths", trace.input_tokens != back.input_tokens || trace.output_tokens != back.output_tokens),
        ("max_tokens", trace.max_tokens != back.max_tokens),
        ("users", trace.user != back.user),
        ("adapters", !base(trace) && (trace.adapter != back.adapter || ranks(trace) != ranks(&back))),
        ("cancellations", trace.cancellations.len() != back.cancellations.len()),
        ("waits", trace.closed_loop.is_some() && back.closed_loop.is_none()),
        ("sessions", differ(&had.session, &has.session)),
        ("prefixes", !had.prefix.is_empty() && had.prefix.prompts.ids.len() != has.prefix.prompts.ids.len()),
        ("outputs", !had.prefix.outputs.ids.is_empty() && had.prefix.outputs.ends != has.prefix.outputs.ends),
        ("models", differ(&had.model, &has.model) || differ(&had.kind, &has.kind)),
        (
            "details",
            had.details.len() != has.details.len() || had.events.all().len() != has.events.all().len(),
        ),
        ("unknown_outputs", unknown(had) != unknown(has)),
    ];
    gone.into_iter().filter(|(_, is_gone)| *is_gone).map(|(name, _)| name).collect()
}

/// Whether a column of names groups requests in another way; the names themselves may be written differently.
fn differ(had: &Labels, has: &Labels) -> bool {
    !had.is_empty() && had.index != has.index
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::{Format, write};
    use crate::prefix::PrefixSpec;
    use crate::{WorkloadSpec, generate};

    fn lost_by(trace: &Trace, format: Format) -> Vec<&'static str> {
        lost(trace, &write(trace, format).expect("a format that is written"))
    }

    #[test]
    fn the_own_formats_lose_nothing_and_others_say_what() {
        let prefix = PrefixSpec { block_tokens: 16, system_tokens: 64, adapter_tokens: 0, user_tokens: 0 };
        let mut spec = WorkloadSpec { prefix: Some(prefix), ..WorkloadSpec::default() };
        spec.users.count = 5;
        let trace = generate(&spec);
        assert_eq!(lost_by(&trace, Format::ServescopeJsonl), Vec::<&str>::new());
        assert!(lost_by(&trace, Format::Vidur).contains(&"adapters"));
        // Mooncake's blocks have 512 tokens.
        assert!(lost_by(&trace, Format::Mooncake).contains(&"prefixes"));
        assert!(!lost_by(&trace, Format::TimedTrace).contains(&"prefixes"));
        let at = |us: &[f64]| {
            let mut trace = trace.select(&[0, 1]);
            (trace.metadata, trace.closed_loop) = (None, None);
            (trace.adapter, trace.user) = (vec![crate::BASE_MODEL; 2], vec![0; 2]);
            trace.max_tokens.clone_from(&trace.output_tokens);
            trace.arrival_us = us.to_vec();
            lost_by(&trace, Format::Azure)
        };
        assert_eq!(at(&[5e6, 6e6]), ["start"], "times start at the first arrival, and none is rounded");
        assert_eq!(at(&[0.0, 6e6]), Vec::<&str>::new());
        assert_eq!(at(&[5e6, 6e6 + 0.33]), ["start"]);
        let plain = generate(&WorkloadSpec { prefix: None, ..spec });
        assert_eq!(lost_by(&plain, Format::Servescope), Vec::<&str>::new());
    }
}
