//! The share of prompt blocks that caches of given sizes find of two real traces, as counted by a program that keeps a list of the
//! blocks: requests in their order, served at once, the least recently used block first, the end of a prompt before its start. A tier
//! of host memory that holds what the GPU holds, too, and more, finds what a cache of its size finds beyond the GPU's.

use std::fs;
use std::path::PathBuf;

use servescope_workload::formats::{self, AgentSession, Call, Contents};
use servescope_workload::statistics::HitCurve;

/// Blocks, and the share of those asked for that a cache for so many finds.
const MOONCAKE: [(u64, f64); 7] = [
    (1_000, 0.0445),
    (3_000, 0.0653),
    (5_000, 0.1118),
    (10_000, 0.2116),
    (30_000, 0.3257),
    (50_000, 0.3546),
    (u64::MAX, 0.3664),
];

/// The same by tokens, in blocks of 64.
const SESSIONS: [(u64, f64); 5] =
    [(1_600_000, 0.6865), (3_200_000, 0.8881), (6_400_000, 0.9498), (12_800_000, 0.9682), (u64::MAX, 0.9686)];

/// GPU and host sizes, and what each finds.
const MOONCAKE_TIERS: [(u64, u64, f64, f64); 5] = [
    (1_000, 5_000, 0.0445, 0.0673),
    (1_000, 10_000, 0.0445, 0.1671),
    (1_000, 30_000, 0.0445, 0.2812),
    (3_000, 10_000, 0.0653, 0.1463),
    (3_000, 30_000, 0.0653, 0.2604),
];
const SESSION_TIERS: [(u64, u64, f64, f64); 3] = [
    (1_600_000, 6_400_000, 0.6865, 0.2633),
    (1_600_000, 25_600_000, 0.6865, 0.2821),
    (3_200_000, 12_800_000, 0.8881, 0.0801),
];

fn trace_named(name: &str) -> Option<(PathBuf, Vec<u8>)> {
    let root = servescope_tests::named_folder("SERVESCOPE_TRACES")?;
    let is_it = |file: &str| file.starts_with(name);
    let path = servescope_tests::files(&root, is_it).into_iter().next()?;
    let bytes = fs::read(&path).ok()?;
    Some((path, bytes))
}

fn assert_share(what: &str, own: f64, expected: f64) {
    // A difference of two shares of four digits is exact to one in the last.
    assert!((own - expected).abs() < 1.01e-4, "{what}: {own:.6} instead of {expected}");
}

#[test]
fn a_chat_trace() {
    let Some((path, bytes)) = trace_named("mooncake_conversation_trace") else { return };
    let trace = formats::read(&bytes).expect("a trace").trace;
    let curve = HitCurve::of(&trace, false).expect("blocks");
    for (size, expected) in MOONCAKE {
        let share = curve.share(size);
        assert!((share - expected).abs() <= 0.5e-4, "{size} blocks: {share:.6} instead of {expected}");
    }
    for (gpu, host, found, loaded) in MOONCAKE_TIERS {
        assert_share("GPU", curve.share(gpu), found);
        assert_share("host", curve.share(host) - curve.share(gpu), loaded);
    }
    servescope_tests::report_cases(&path, MOONCAKE.len() + MOONCAKE_TIERS.len());
}

#[test]
fn agent_sessions() {
    let Some((path, bytes)) = trace_named("claude_code_sessions_a") else { return };
    let Contents::Sessions(sessions) = formats::open(&bytes).expect("a trace").contents else {
        panic!("{}: agent sessions", path.display())
    };
    // The sessions' own requests, each from the start of its session; equal times in the order of the sessions. Ids have meaning
    // inside a session only.
    let of_session = |(place, session): (u64, &AgentSession)| {
        let ids = |call: &Call| call.hash_ids.iter().map(|id| (place << 40) ^ id).collect::<Vec<u64>>();
        session.calls.iter().map(|call| (call.arrival_us, place, ids(call))).collect::<Vec<_>>()
    };
    let mut order: Vec<_> = (0..).zip(&sessions).flat_map(of_session).collect();
    order.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    let curve = HitCurve::of_requests(order.iter().map(|request| (&request.2[..], &[][..])));
    assert_eq!((order.len(), curve.blocks()), (5_564, 13_214_453));
    for (tokens, expected) in SESSIONS {
        let share = curve.share(tokens / 64);
        assert!((share - expected).abs() <= 0.5e-4, "{tokens} tokens: {share:.6} instead of {expected}");
    }
    for (gpu, host, found, loaded) in SESSION_TIERS {
        assert_share("GPU", curve.share(gpu / 64), found);
        assert_share("host", curve.share(host / 64) - curve.share(gpu / 64), loaded);
    }
    servescope_tests::report_cases(&path, SESSIONS.len() + SESSION_TIERS.len());
}
