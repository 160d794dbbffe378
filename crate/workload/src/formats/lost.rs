//! What of a trace a format does not hold: the text that was written is read back and compared, so that nothing has to
//! be known of the format.

use super::read;
use crate::trace::{BASE_MODEL, Extra, Labels, Trace};

/// Every name that [`lost`] gives, with its English text.
pub const LOSSES: &[(&str, &str)] = &[
    ("requests", "some requests"),
    ("times", "times to the microsecond"),
    ("lengths", "lengths of prompts and answers"),
    ("max_tokens", "the bounds on answers (max_tokens)"),
    ("users", "users"),
    ("adapters", "adapters and their ranks"),
    ("cancellations", "clients that went away"),
    ("waits", "which requests wait for the end of others"),
    ("sessions", "sessions and turns"),
    ("prefixes", "prefix blocks"),
    ("models", "models and kinds of requests"),
    ("details", "agents' events and details"),
];

/// What is not in `text`, which a trace was written as; the names are those of [`LOSSES`], in their order.
pub fn lost(trace: &Trace, text: &str) -> Vec<&'static str> {
    let Ok(back) = read(text.as_bytes()).map(|read| read.trace) else {
        // A file without requests is no file that can be read.
        return if trace.is_empty() { Vec::new() } else { vec!["requests"] };
    };
    if back.len() != trace.len() {
        return vec!["requests"];
    }
    let nothing = Extra::default();
    let (had, has) = (trace.extra.as_deref().unwrap_or(&nothing), back.extra.as_deref().unwrap_or(&nothing));
    let base = |t: &Trace| t.adapter.iter().all(|&a| a == BASE_MODEL);
    let ranks = |t: &Trace| (0..t.len()).map(|id| t.rank(id)).collect::<Vec<_>>();
    let whole_us = |t: &Trace| t.arrival_us.iter().map(|&us| libm::round(us) as i64).collect::<Vec<_>>();
    let gone = [
        ("times", whole_us(trace) != whole_us(&back)),
        ("lengths", trace.input_tokens != back.input_tokens || trace.output_tokens != back.output_tokens),
        ("max_tokens", trace.max_tokens != back.max_tokens),
        ("users", trace.user != back.user),
        ("adapters", !base(trace) && (trace.adapter != back.adapter || ranks(trace) != ranks(&back))),
        ("cancellations", trace.cancellations.len() != back.cancellations.len()),
        ("waits", trace.chain.is_some() && back.chain.is_none()),
        ("sessions", differ(&had.session, &has.session)),
        ("prefixes", !had.prefix.is_empty() && had.prefix.ids.len() != has.prefix.ids.len()),
        ("models", differ(&had.model, &has.model) || differ(&had.kind, &has.kind)),
        (
            "details",
            had.details.len() != has.details.len() || had.events.all().len() != has.events.all().len(),
        ),
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
        let plain = generate(&WorkloadSpec { prefix: None, ..spec });
        assert_eq!(lost_by(&plain, Format::Servescope), Vec::<&str>::new());
    }
}
