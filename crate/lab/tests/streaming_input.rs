//! Sessions whose input comes in chunks, in whole scenarios: where keeping them wins and loses.

use servescope_engine::metrics::Summary;
use servescope_lab::run::Run;
use servescope_settings::scenario::Scenario;

/// Sessions of six chunks, eight seconds apart.
fn summary(settings: &[(&str, &str)]) -> Summary {
    let mut scenario = Scenario::of_version(5);
    let own = [
        ("workload.curve.kind", "constant"),
        ("workload.duration_s", "90"),
        ("workload.rate_rps", "4"),
        ("workload.adapters.count", "0"),
        ("workload.sessions.turns.mean", "6"),
        ("workload.sessions.context_cap", "20000"),
        ("workload.sessions.answer_s", "0"),
        ("workload.think.mean_s", "8"),
        ("workload.prefix.kind", "tree"),
        ("workload.input_tokens.median", "800"),
        ("scheduler.max_model_len", "22000"),
    ];
    for (path, value) in own.iter().chain(settings) {
        scenario.set_text(path, value).unwrap_or_else(|e| panic!("{path}: {e}"));
    }
    Run::simulate(&scenario, None).expect("a run").summary_of(1).run
}

const KEPT: (&str, &str) = ("workload.sessions.kind", "streaming_input");
const SENT_ANEW: (&str, &str) = ("workload.sessions.kind", "timed");

fn mean_ttft_s(settings: &[(&str, &str)]) -> f64 {
    let summary = summary(settings);
    assert_eq!(summary.requests.unfinished, 0);
    summary.ttft_s.mean.expect("requests")
}

/// A session has its place in the batch while it is silent; requests of a session that is not kept have none.
#[test]
fn idle_sessions_keep_places() {
    let of = |kind, places| mean_ttft_s(&[kind, ("scheduler.max_num_seqs", places)]);
    let kept = ["256", "24", "12"].map(|places| of(KEPT, places));
    let sent_anew = ["256", "24", "12"].map(|places| of(SENT_ANEW, places));
    println!("mean TTFT at 256, 24 and 12 places: kept {kept:?} s, sent anew {sent_anew:?} s");
    assert!(kept[1] > 2.0 * kept[0] && kept[2] > 10.0 * kept[0]);
    assert!(sent_anew[2] < 1.2 * sent_anew[0]);
}

/// Without a prefix cache a turn is computed from its beginning, and a chunk from where the session is.
#[test]
fn kept_sessions_need_no_prefix_cache() {
    let of = |kind, caches| mean_ttft_s(&[kind, ("scheduler.enable_prefix_caching", caches)]);
    let [kept, kept_uncached] = ["true", "false"].map(|caches| of(KEPT, caches));
    let sent_anew_uncached = of(SENT_ANEW, "false");
    println!(
        "mean TTFT: kept {kept} s, without a cache {kept_uncached} s; sent anew without a cache {sent_anew_uncached} s"
    );
    assert!((kept / kept_uncached - 1.0).abs() < 0.02);
    assert!(kept_uncached < 0.95 * sent_anew_uncached);
}
