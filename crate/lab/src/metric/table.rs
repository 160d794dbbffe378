//! The one table of every number of `summary.json`: what it counts, which way it is better, and what it is called.
//!
//! A new number of the summary is a row here; a test compares both. The page reads the same rows, which `cargo xtask generate`
//! writes for it.

use servescope_cost::batch::OperatorClass;
use servescope_engine::Rejection;
use servescope_engine::gateway::config::Check;

use super::{Direction, Unit};
use Direction::{Less, More, Neither};
use Form::{Distribution, Keys, Number};
use Unit::{Count, RequestsPerSecond, Seconds, Share, Tokens, TokensPerSecond};

/// How many numbers a row stands for.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// One.
    Number,
    /// One for each of [`STATISTICS`]: `PATH.p99`.
    Distribution,
    /// One for each of these keys: `PATH.KEY`.
    Keys(fn() -> Vec<&'static str>),
}

/// A number of the summary, or several of one kind.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Its key path, without the last key where it stands for several.
    pub path: &'static str,
    /// How many numbers it stands for.
    pub form: Form,
    /// What they count.
    pub unit: Unit,
    /// Which way they are better.
    pub better: Direction,
    /// What they are called in a sentence.
    pub name: &'static str,
}

const fn row(path: &'static str, form: Form, unit: Unit, better: Direction, name: &'static str) -> Row {
    Row { path, form, unit, better, name }
}

/// What is taken of a distribution, with its name before that of the quantity.
pub const STATISTICS: &[(&str, &str)] = &[
    ("mean", "mean"),
    ("p50", "median"),
    ("p90", "P90"),
    ("p95", "P95"),
    ("p99", "P99"),
    ("max", "largest"),
];

/// Every number of the summary but those of [`COLUMNS`].
pub const ROWS: &[Row] = &[
    row("ttft_s", Distribution, Seconds, Less, "TTFT"),
    row("tbt_s", Distribution, Seconds, Less, "TBT"),
    row("tpot_s", Distribution, Seconds, Less, "TPOT"),
    row("e2e_s", Distribution, Seconds, Less, "E2E latency"),
    row("normalized_s", Distribution, Seconds, Less, "normalized latency"),
    row("queue_s", Distribution, Seconds, Less, "queueing delay"),
    row("throughput_rps", Number, RequestsPerSecond, More, "throughput"),
    row("strip_throughput_rps", Number, RequestsPerSecond, More, "throughput without ramp up and down"),
    row("output_tokens_per_s", Number, TokensPerSecond, More, "output token throughput"),
    row("total_tokens_per_s", Number, TokensPerSecond, More, "token throughput"),
    row("slo.attainment", Number, Share, More, "SLO met (TTFT alone)"),
    row("slo.attainment_all", Number, Share, More, "SLO met"),
    row("slo.satisfaction", Number, Share, More, "SLO satisfaction"),
    row("slo.goodput_rps", Number, RequestsPerSecond, More, "goodput"),
    row("slo.ttft_s", Number, Seconds, Neither, "the SLO bound on TTFT"),
    row("slo.tpot_s", Number, Seconds, Neither, "the SLO bound on TPOT"),
    row("slo.tbt_s", Number, Seconds, Neither, "the SLO bound on TBT"),
    row("requests.offered", Number, Count, Neither, "the number of requests"),
    row("requests.completed", Number, Count, More, "the number of completed requests"),
    row("requests.rejected_total", Number, Count, Less, "the number of rejected requests"),
    row("requests.rejected", Keys(rejections), Count, Less, "the number of rejected requests"),
    row("requests.timed_out", Number, Count, Less, "the number of requests that time out"),
    row("requests.unfinished", Number, Count, Less, "the number of unfinished requests"),
    row("requests.cancelled", Number, Count, Less, "the number of cancelled requests"),
    row("cut_outputs.requests", Number, Count, Less, "the number of outputs cut at the longest request"),
    row("cut_outputs.of_requests", Number, Count, Neither, "the number of outputs that could be cut"),
    row("cut_outputs.tokens", Number, Tokens, Less, "output tokens not made because outputs were cut"),
    row("cut_outputs.of_tokens", Number, Tokens, Neither, "output tokens asked for"),
    row("makespan_s", Number, Seconds, Neither, "the makespan"),
    row("pd_ratio", Number, Count, Neither, "prompt tokens per output token"),
    row("users", Number, Count, Neither, "the number of users"),
    row("split_s.queue", Number, Seconds, Less, "mean time in the waiting queue"),
    row("split_s.adapter_load", Number, Seconds, Less, "mean time of adapter loads"),
    row("split_s.prefill", Number, Seconds, Less, "mean time of the own prefill"),
    row("split_s.stalled", Number, Seconds, Less, "mean time stalled"),
    row("split_s.decode", Number, Seconds, Less, "mean decode time"),
    row("batch.iterations", Number, Count, Neither, "the number of iterations"),
    row("batch.mean_size", Number, Count, Neither, "the mean batch size"),
    row("batch.mean_time_s", Number, Seconds, Less, "the mean iteration time"),
    row("kv.mean_usage", Number, Share, Neither, "mean KV cache usage"),
    row("kv.peak_usage", Number, Share, Neither, "peak KV cache usage"),
    row("kv.pool_tokens", Number, Tokens, Neither, "the KV pool of a replica"),
    row("kv.pool_blocks", Number, Count, Neither, "the KV blocks of a replica"),
    row("prefix_cache.hit_rate", Number, Share, More, "the prefix cache hit rate"),
    row(
        "prefix_cache.looked_up_tokens",
        Number,
        Tokens,
        Neither,
        "prompt tokens looked up in the prefix cache",
    ),
    row("prefix_cache.cached_tokens", Number, Tokens, Neither, "prompt tokens found in the prefix cache"),
    row("host_cache.hit_rate", Number, Share, More, "the hit rate of host memory"),
    row("host_cache.loaded_tokens", Number, Tokens, Neither, "prompt tokens loaded from host memory"),
    row("host_cache.stored_blocks", Number, Count, Neither, "KV blocks copied to host memory"),
    row("host_cache.loaded_blocks", Number, Count, Neither, "KV blocks copied from host memory"),
    row("host_cache.mean_load_s", Number, Seconds, Less, "the mean time of a load from host memory"),
    row("host_cache.load_link", Number, Share, Neither, "the use of the link from host memory"),
    row("host_cache.store_link", Number, Share, Neither, "the use of the link to host memory"),
    row("speculation.acceptance_length", Number, Tokens, More, "the tokens of a verification"),
    row("speculation.acceptance_rate", Number, Share, More, "the share of right drafts"),
    row("speculation.verifications", Number, Count, Neither, "verifications of drafts"),
    row("speculation.drafted_tokens", Number, Tokens, Neither, "verified drafts"),
    row("speculation.accepted_tokens", Number, Tokens, Neither, "right drafts"),
    row("speculation.rejected_tokens", Number, Tokens, Less, "rejected drafts"),
    row("ranks.ranks", Number, Count, Neither, "data-parallel ranks"),
    row("ranks.passes", Number, Count, Neither, "passes of ranks"),
    row("ranks.dummy_share", Number, Share, Less, "the share of dummy batches"),
    row("ranks.rearrangements", Number, Count, Neither, "rearrangements of experts"),
    row(
        "ranks.rearranging_share",
        Number,
        Share,
        Less,
        "the share of time that ranks wait for experts that move",
    ),
    row("ranks.waited_share", Number, Share, Less, "the share of time that ranks wait for a slower one"),
    row("kv_transfer.requests", Number, Count, Neither, "disaggregated requests"),
    row("kv_transfer.share", Number, Share, Neither, "the share of disaggregated requests"),
    row("kv_transfer.pulled_blocks", Number, Count, Neither, "KV blocks that were pulled"),
    row(
        "kv_transfer.mean_wait_s",
        Number,
        Seconds,
        Less,
        "the mean time from the end of a prompt until its pull began",
    ),
    row("kv_transfer.mean_pull_s", Number, Seconds, Less, "the mean time of a pull"),
    row(
        "kv_transfer.mean_alone_s",
        Number,
        Seconds,
        Neither,
        "the mean time of a pull with the links to itself",
    ),
    row(
        "kv_transfer.mean_between_legs_s",
        Number,
        Seconds,
        Less,
        "the mean time from the end of a prompt to the decode replica's first iteration",
    ),
    row("scaling.decisions", Number, Count, Neither, "decisions of autoscalers"),
    row("scaling.actions", Number, Count, Neither, "changes of the number of replicas by autoscalers"),
    row("scaling.started", Number, Count, Neither, "replicas that started"),
    row("scaling.drained", Number, Count, Neither, "replicas that drained"),
    row("scaling.failed", Number, Count, Less, "replicas that failed"),
    row("scaling.turns_per_h", Number, Count, Less, "the turns of autoscalers an hour"),
    row("scaling.ready_s", Number, Seconds, Neither, "the time of ready replicas"),
    row("scaling.starting_s", Number, Seconds, Less, "the time of starting replicas"),
    row("scaling.draining_s", Number, Seconds, Less, "the time of draining replicas"),
    row("failures.lost_requests", Number, Count, Less, "requests that lost their replica"),
    row("failures.restarts", Number, Count, Less, "requests that began again"),
    row("failures.lost_tokens", Number, Tokens, Less, "output tokens thrown away"),
    row("routing.believed_tokens", Number, Tokens, Neither, "prompt tokens believed to be cached"),
    row("routing.found_tokens", Number, Tokens, Neither, "prompt tokens found where they were sent"),
    row("routing.false_tokens", Number, Tokens, Less, "prompt tokens of false hits"),
    row("routing.missed_tokens", Number, Tokens, Less, "prompt tokens of missed hits"),
    row("routing.false_share", Number, Share, Less, "the share of false hits"),
    row("prefix.block_tokens", Number, Tokens, Neither, "the prefix block size"),
    row("prefix.hit_share", Number, Share, Neither, "the hit rate of a prefix cache without limit"),
    row("gpu.busy", Number, Share, Neither, "the busy share of the GPUs"),
    row("gpu.load", Number, Share, Neither, "the load of the GPUs"),
    row("gpu.mfu", Number, Share, More, "MFU"),
    row("gpu.bandwidth", Number, Share, Neither, "the memory bandwidth used"),
    row("preemptions", Number, Count, Less, "the number of preemptions"),
    row("replicas", Number, Count, Neither, "the number of replicas"),
    row("gpu_s", Number, Seconds, Less, "the billed GPU time"),
    row("adapters.loads", Number, Count, Neither, "the number of adapter loads"),
    row("adapters.mean_resident", Number, Count, Neither, "the mean number of adapters in memory"),
    row("adapters.evictions", Number, Count, Neither, "the number of adapter evictions"),
    row("adapters.load_s", Number, Seconds, Less, "the time of adapter loads"),
    row("adapters.asked_for", Number, Count, Neither, "the number of adapters requested"),
    row("fleet.imbalance", Number, Count, Less, "the imbalance of the replicas"),
    row("fleet.operators_s", Keys(operators), Seconds, Less, "GPU time"),
    row("fleet.execution_s", Distribution, Seconds, Less, "execution time"),
    row("fleet.preempted_s", Distribution, Seconds, Less, "stalled or preempted time"),
    row("fleet.prefill_per_token_s", Distribution, Seconds, Less, "prefill time per prompt token"),
    row("fleet.decode_per_token_s", Distribution, Seconds, Less, "decode time per output token"),
    row("gateway.attempts", Number, Count, Neither, "the number of attempts"),
    row("gateway.refusals", Keys(refusals), Count, Less, "the number of rejected attempts"),
    row("gateway.timeouts", Number, Count, Less, "the number of attempts that time out"),
    row("gateway.retried", Number, Count, Less, "the number of retried requests"),
    row("gateway.unlisted_attempts", Number, Count, Neither, "the number of unlisted attempts"),
    row("gateway.first_attempt.completed", Number, Count, More, "requests completed at the first attempt"),
    row("gateway.first_attempt.goodput_rps", Number, RequestsPerSecond, More, "goodput of first attempts"),
    row("gateway.first_attempt.attainment", Number, Share, More, "SLO met at the first attempt (TTFT alone)"),
    row("gateway.first_attempt.attainment_all", Number, Share, More, "SLO met at the first attempt"),
    row("gateway.held", Keys(holds), Count, Less, "the number of requests queued at the gateway"),
    row("gateway.wait_s", Distribution, Seconds, Less, "wait at the gateway"),
    row("gateway.estimate_error_s", Distribution, Seconds, Neither, "error of the TTFT estimate"),
    row("gateway.estimate_relative_error", Number, Share, Neither, "the relative error of the TTFT estimate"),
    row("gateway.prediction.ratio", Distribution, Count, Neither, "predicted over true output length"),
    row("gateway.prediction.over_share", Number, Share, Neither, "the share of tokens predicted too many"),
    row("gateway.prediction.under_share", Number, Share, Neither, "the share of tokens predicted too few"),
    row("gateway.state_share", Keys(load_states), Share, Neither, "share of time in load state"),
    row("gateway.mean_reserved", Number, Share, Neither, "the mean share of KV memory reserved and unused"),
    row("gateway.reserved_tokens", Number, Tokens, Neither, "KV tokens reserved at the end"),
    row("gateway.leaked_tokens", Number, Tokens, Neither, "KV tokens leaked at the end"),
    row("gateway.leaked_slots", Number, Count, Neither, "concurrency slots leaked at the end"),
    row("expected_error.ttft", Number, Share, Neither, "the expected error of the mean TTFT"),
    row("expected_error.tpot", Number, Share, Neither, "the expected error of the mean TPOT"),
    row("expected_error.rows", Number, Count, Neither, "measured rows behind the expected error"),
    row("expected_error.nearest.rows", Number, Count, Neither, "measured rows of the nearest model"),
    row(
        "expected_error.nearest.ttft",
        Number,
        Share,
        Neither,
        "the error of the mean TTFT for the nearest measured model",
    ),
    row(
        "expected_error.nearest.tpot",
        Number,
        Share,
        Neither,
        "the error of the mean TPOT for the nearest measured model",
    ),
    row("expected_error.models.count", Number, Count, Neither, "models behind the expected error"),
    row("expected_error.models.worst_ttft", Number, Share, Neither, "the worst error of the mean TTFT"),
    row("expected_error.models.worst_tpot", Number, Share, Neither, "the worst error of the mean TPOT"),
];

/// The columns of the tables by user and by adapter that are numbers of it, and not its index or what it was asked to have.
pub const COLUMNS: &[Row] = &[
    row("ttft_mean_s", Number, Seconds, Less, "mean TTFT"),
    row("ttft_p99_s", Number, Seconds, Less, "P99 TTFT"),
    row("e2e_mean_s", Number, Seconds, Less, "mean E2E latency"),
    row("queue_mean_s", Number, Seconds, Less, "mean queueing delay"),
    row("attainment", Number, Share, More, "SLO met (TTFT alone)"),
    row("attainment_all", Number, Share, More, "SLO met"),
    row("offered", Number, Count, Neither, "the number of requests"),
    row("completed", Number, Count, More, "the number of completed requests"),
    row("rejected", Number, Count, Less, "the number of rejected requests"),
    row("input_tokens", Number, Tokens, Neither, "prompt tokens"),
    row("output_tokens", Number, Tokens, Neither, "output tokens"),
    // What a user sends is no result.
    row("rate_rps", Number, RequestsPerSecond, Neither, "the request rate"),
    row("share", Number, Share, Neither, "the share of requests"),
];

fn rejections() -> Vec<&'static str> {
    Rejection::ALL.iter().map(|one| one.name()).collect()
}

/// The reasons for which a gateway rejects.
fn refusals() -> Vec<&'static str> {
    vec!["rate_limit", "token_quota", "concurrency", "queue_full", "late_first_token", "overload"]
}

fn holds() -> Vec<&'static str> {
    Check::ALL.iter().map(|check| check.name()).chain(["behind", "fair_share"]).collect()
}

fn operators() -> Vec<&'static str> {
    OperatorClass::ALL.iter().map(|class| class.name()).collect()
}

fn load_states() -> Vec<&'static str> {
    vec!["underload", "near", "overload"]
}

impl Row {
    /// The last keys of its paths; none of a single number.
    pub fn keys(&self) -> Vec<&'static str> {
        match self.form {
            Number => Vec::new(),
            Distribution => STATISTICS.iter().map(|(key, _)| *key).collect(),
            Keys(keys) => keys(),
        }
    }

    /// Every path that it stands for.
    pub fn paths(&self) -> Vec<String> {
        match self.form {
            Number => vec![self.path.to_owned()],
            Distribution | Keys(_) => self.keys().iter().map(|key| format!("{}.{key}", self.path)).collect(),
        }
    }

    /// What the number with this last key is called; "" of a single number.
    pub fn title(&self, key: &str) -> String {
        match self.form {
            Number => self.name.to_owned(),
            Distribution => {
                let statistic =
                    STATISTICS.iter().find(|(name, _)| *name == key).map_or(key, |(_, title)| title);
                format!("{statistic} {}", self.name)
            }
            Keys(_) => format!("{} ({key})", self.name),
        }
    }
}

/// The row of a path, with the path's last key where the row stands for several; none for a path that the summary has not.
pub fn find(path: &str) -> Option<(&'static Row, &str)> {
    let with_key = |row: &'static Row| {
        let key = path.strip_prefix(row.path)?.strip_prefix('.')?;
        row.keys().contains(&key).then_some((row, key))
    };
    ROWS.iter().find_map(|row| match row.form {
        Number => (row.path == path).then_some((row, "")),
        Distribution | Keys(_) => with_key(row),
    })
}

/// Every path of the summary but those of users and adapters, in the order of the table.
pub fn paths() -> impl Iterator<Item = String> {
    ROWS.iter().flat_map(Row::paths)
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;
    use servescope_settings::scenario::Scenario;

    use super::*;
    use crate::run::Run;

    /// Numbers that say which request or row is meant, and no more.
    const NO_METRICS: &[&str] =
        &["extra_request", "expected_error.models", "expected_error.doubted", "expected_error.nearest"];

    fn numbers(found: &mut Vec<String>, path: &str, json: &Json) {
        match json {
            Json::Object(fields) => {
                for (key, inner) in fields {
                    numbers(
                        found,
                        &if path.is_empty() { key.clone() } else { format!("{path}.{key}") },
                        inner,
                    );
                }
            }
            Json::Number(_) | Json::Null => found.push(path.to_owned()),
            _ => {}
        }
    }

    /// Summaries that have, together, every number that there is.
    fn summaries() -> Vec<Json> {
        let settings: [&[(&str, &str)]; 8] = [
            &[
                ("workload.prefix.kind", "tree"),
                ("gateway.kind", "proxy"),
                ("scheduler.kind", "vllm_v1"),
                ("cost.kind", "roofline"),
                ("fleet.replicas", "2"),
                ("fleet.router", "lpwl"),
                ("fleet.host_cache.gib", "4"),
            ],
            &[("cost.kind", "roofline"), ("fleet.model", "own"), ("scheduler.kind", "vllm_v1")],
            &[("cost.kind", "linear")],
            &[("scheduler.kind", "vllm_v1"), ("cost.speculation.method", "ngram")],
            &[
                ("scheduler.kind", "vllm_v1"),
                ("fleet.data_parallel_size", "2"),
                ("fleet.rank_passes", "together"),
            ],
            &[("fleet.autoscaling.kind", "hpa")],
            &[("fleet.replicas", "2"), ("fleet.failures.at_s", "1")],
            &[("scheduler.kind", "vllm_v1"), ("fleet.replicas", "2"), ("fleet.disaggregation.kind", "nixl")],
        ];
        let of = |settings: &&[(&str, &str)]| {
            let mut scenario = Scenario::of_version(4);
            scenario.set_text("workload.duration_s", "2").unwrap();
            for (path, value) in *settings {
                scenario.set_text(path, value).unwrap();
            }
            serde_json::json!(Run::simulate(&scenario, None).unwrap().summary_of(1))
        };
        settings.iter().map(of).collect()
    }

    #[test]
    fn every_number_of_the_summary_is_a_row() {
        let mut found = Vec::new();
        for summary in summaries() {
            numbers(&mut found, "", &summary);
        }
        let is_part = |path: &String| {
            NO_METRICS.contains(&path.as_str())
                || ["fleet", "gateway", "prefix", "prefix_cache", "host_cache", "speculation", "ranks", "kv_transfer", "scaling", "failures", "routing", "expected_error"]
                    .contains(&path.as_str())
                // It is of the deployment, not of the run.
                || path.split('.').next() == Some("memory")
        };
        for path in found.iter().filter(|path| !is_part(path)) {
            assert!(find(path).is_some(), "{path} is in a summary and not in the table");
        }
        // Operators without time are left out of a summary.
        for path in paths().filter(|path| !path.starts_with("fleet.operators_s.")) {
            assert!(found.contains(&path), "{path} is in the table and in no summary");
        }
    }

    #[test]
    fn every_column_by_user_and_by_adapter_is_a_row() {
        let other = ["id", "rank", "expected_share"];
        for table in ["per_user", "per_adapter"] {
            let first = &summaries()[0][table][0];
            let columns: Vec<&String> =
                first.as_object().unwrap().keys().filter(|key| !other.contains(&key.as_str())).collect();
            assert_eq!(columns.len(), COLUMNS.len(), "{columns:?}");
            for column in COLUMNS {
                assert!(first.get(column.path).is_some(), "{table}: {}", column.path);
            }
        }
    }

    /// Names of paths end in their unit; the table must not say another.
    #[test]
    fn units_are_those_of_the_names() {
        for row in ROWS.iter().chain(COLUMNS) {
            let last = row.path.rsplit('.').next().unwrap_or("");
            let expected = if last.ends_with("tokens_per_s") {
                Some(TokensPerSecond)
            } else if last.ends_with("_rps") {
                Some(RequestsPerSecond)
            } else if last.ends_with("_s") || row.path.starts_with("split_s.") {
                Some(Seconds)
            } else if last == "tokens" || last.ends_with("_tokens") {
                Some(Tokens)
            } else if ["attainment", "_share", "_usage", "hit_rate"].iter().any(|end| last.contains(end)) {
                Some(Share)
            } else {
                None
            };
            if let Some(expected) = expected {
                assert_eq!(row.unit, expected, "{}", row.path);
            }
        }
    }

    #[test]
    fn no_path_and_no_name_is_there_twice() {
        let mut all: Vec<String> = paths().collect();
        let mut titles: Vec<String> = ROWS
            .iter()
            .flat_map(|row| {
                let keys = row.keys();
                if keys.is_empty() {
                    vec![row.title("")]
                } else {
                    keys.iter().map(|key| row.title(key)).collect()
                }
            })
            .collect();
        for list in [&mut all, &mut titles] {
            let count = list.len();
            list.sort_unstable();
            list.dedup();
            assert_eq!(list.len(), count);
        }
    }
}
