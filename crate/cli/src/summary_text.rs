//! The summary as a table for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use servescope_engine::metrics::fleet::ReplicaRow;
use servescope_engine::metrics::monitor::ServiceFairness;
use servescope_engine::metrics::summary::{AdapterUse, GpuUse, KvUsage, SplitMeans};
use servescope_engine::metrics::{Distribution, FleetSummary, GatewaySummary, SloScore, Summary};
use servescope_lab::capacity::CapacityRates;
use servescope_lab::metric::Metric;
use servescope_lab::replications::ValueRange;
use servescope_lab::run::memory::RunMemory;
use servescope_lab::run::{Load, RunSummary};
use servescope_settings::diagnostic::Severity;
use servescope_settings::expected_error::{DoubtedRows, ExpectedError, ModelErrors, NearestModel};

/// The headline numbers over several seeds.
pub(crate) struct SeedRanges {
    /// How many seeds, the run's own among them.
    pub(crate) seeds: usize,
    /// The numbers that are printed, in the order of the headline.
    pub(crate) metrics: Vec<Metric>,
    /// The values of the run itself.
    pub(crate) values: Vec<Option<f64>>,
    /// By key path.
    pub(crate) ranges: BTreeMap<String, ValueRange>,
}

/// The table; `users` says how evenly they were served, `capacity` what the capacity search found, `ranges` what further seeds gave.
pub(crate) fn table(
    summary: &RunSummary,
    users: ServiceFairness,
    load: Option<Load>,
    capacity: Option<CapacityRates>,
    ranges: Option<&SeedRanges>,
) -> String {
    let run = &summary.run;
    let mut text = String::new();
    let counts = &run.requests;
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<22}{value}");
    };
    line("digest", run.digest.clone());
    line(
        "requests",
        format!(
            "{} offered, {} completed, {} rejected, {} timed out, {} cancelled, {} unfinished",
            counts.offered,
            counts.completed,
            counts.rejected_total,
            counts.timed_out,
            counts.cancelled,
            counts.unfinished
        ),
    );
    if let Some(id) = summary.extra_request {
        line("your request", format!("request {id} (--why {id} says where its time went)"));
    }
    line("makespan", format!("{} s", short(run.makespan_s)));
    line(
        "throughput",
        format!("{} req/s, {} output tokens/s", number(run.throughput_rps), number(run.output_tokens_per_s)),
    );
    line("P:D ratio", format!("{} prompt tokens for each output token", number(run.pd_ratio)));
    line("SLO", slo(&run.slo, capacity, run.cut_outputs.requests));
    if let Some(load) = load {
        line("load", of_replicas(load));
    }
    if let Some(error) = summary.expected_error {
        line("expected error", expected(&error));
        if let Some(doubted) = error.doubted {
            line("", doubted_rows(&doubted));
        }
        if let Some(nearest) = error.nearest {
            line("", nearest_model(&nearest));
        }
    }
    line("GPU", gpu(&run.gpu));
    if let Some(memory) = &summary.memory {
        line("memory of a GPU", of_memory(memory));
    }
    if let Some(fleet) = &summary.fleet {
        let all: f64 = fleet.operators_s.values().sum();
        let part = |(class, s): (&&str, &f64)| format!("{class} {}", percent(Some(s / all)));
        line("GPU time went to", fleet.operators_s.iter().map(part).collect::<Vec<_>>().join(", "));
        line("preemptions", run.preemptions.to_string());
        if fleet.per_pool.len() > 1
            || fleet.per_replica.iter().any(|row| row.start_s > 0.0 || row.stop_s.is_some())
        {
            line("GPU hours", short(summary.gpu_s / 3600.0));
        }
    }
    for (name, value) in summary.gateway.iter().flat_map(gateway_lines) {
        line(name, value);
    }
    for (name, value) in engine_lines(run, users) {
        line(name, value);
    }
    if let Some(prefix) = summary.prefix {
        let (share, block) = (percent(Some(prefix.hit_share)), prefix.block_tokens);
        line("prefix", format!("{share} of prompt tokens in a cache without limit, blocks of {block}"));
    }
    line("mean time went to", parts(&run.split_s));
    times(&mut text, summary, ranges);
    // Settings without effect stand on standard error, a line for each reason.
    for warning in summary.warnings.iter().filter(|warning| warning.severity == Severity::Warning) {
        let _ = writeln!(text, "\n{}: {}", warning.severity.name(), warning.message);
    }
    text
}

/// The parts that there are, in gigabytes.
fn of_memory(memory: &RunMemory) -> String {
    let parts = [
        ("weights", memory.weights_gb),
        ("activations", memory.activations_gb),
        ("CUDA graphs", memory.graphs_gb),
        ("context and kernels", memory.other_gb),
        ("adapters", memory.adapters_gb),
        ("drafter", memory.drafter_gb),
        ("KV cache", memory.kv_gb),
        ("left alone", memory.margin_gb),
    ];
    let named = parts.iter().filter(|(_, gb)| *gb > 0.0).map(|(name, gb)| format!("{name} {gb:.2}"));
    let named = named.collect::<Vec<_>>().join(", ");
    format!("{named} of {:.2} GB; {} bytes a KV token", memory.gpu_gb, memory.kv_bytes_per_token)
}

/// KV memory, prefix cache, iterations, adapters and fairness.
fn engine_lines(run: &Summary, users: ServiceFairness) -> Vec<(&'static str, String)> {
    let mut lines = vec![(
        "KV",
        format!(
            "mean {}, peak {} of {}",
            percent(run.kv.mean_usage),
            percent(run.kv.peak_usage),
            pool(&run.kv)
        ),
    )];
    if let Some(cache) = &run.prefix_cache {
        let (rate, cached, looked_up) =
            (percent(cache.hit_rate), cache.cached_tokens, cache.looked_up_tokens);
        lines.push((
            "prefix cache",
            format!("hit rate {rate}: {cached} of {looked_up} prompt tokens looked up"),
        ));
    }
    if let Some(drafts) = &run.speculation {
        let length = drafts.acceptance_length.unwrap_or(1.0);
        let shares: Vec<String> =
            drafts.accepted_per_position.iter().map(|&share| percent(Some(share))).collect();
        lines.push((
            "speculation",
            format!(
                "{length:.2} tokens a verification: of {} drafts {} right, {} wrong; by position {}",
                drafts.drafted_tokens,
                drafts.accepted_tokens,
                drafts.rejected_tokens,
                shares.join(", ")
            ),
        ));
    }
    if let Some(ranks) = &run.ranks {
        let shares = [ranks.dummy_share, ranks.waited_share, ranks.rearranging_share];
        let [dummy, waited, moving] = shares.map(|share| percent(Some(share)));
        let rearranged = match ranks.rearrangements {
            0 => String::new(),
            count => format!(", {moving} waiting for experts that move ({count} rearrangements)"),
        };
        lines.push((
            "ranks",
            format!(
                "{} run every pass together: {dummy} of their time are dummy batches, {waited} waiting for a slower rank{rearranged}",
                ranks.ranks
            ),
        ));
    }
    if let Some(own) = &run.kv_transfer {
        lines.push((
            "KV transfer",
            format!(
                "{} of requests: {:.4} s from the end of the prompt to the decode replica's first iteration; {:.4} s until the pull begins, {:.4} s the pull, of which {:.4} s with the links to itself",
                percent(Some(own.share)),
                own.mean_between_legs_s,
                own.mean_wait_s,
                own.mean_pull_s,
                own.mean_alone_s
            ),
        ));
    }
    lines.extend(fleet_lines(run));
    if let Some(host) = &run.host_cache {
        lines.push((
            "host KV cache",
            format!(
                "hit rate {}: {} prompt tokens loaded; blocks stored {}, loaded {}; link busy {} in, {} out",
                percent(host.hit_rate),
                host.loaded_tokens,
                host.stored_blocks,
                host.loaded_blocks,
                percent(host.load_link),
                percent(host.store_link)
            ),
        ));
    }
    lines.push((
        "iterations",
        format!(
            "{}, mean batch {}, mean time {} s",
            run.batch.iterations,
            number(run.batch.mean_size),
            number(run.batch.mean_time_s)
        ),
    ));
    lines.push(("adapters", adapters(&run.adapters)));
    lines.push((
        "fairness",
        format!(
            "Jain {} of the service of {} users, largest gap {} tokens/s",
            number(users.jain),
            users.clients,
            number(users.largest_gap_per_s)
        ),
    ));
    lines
}

/// Replicas that started, drained or failed.
fn fleet_lines(run: &Summary) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(scaling) = &run.scaling {
        let hours = [scaling.ready_s, scaling.starting_s, scaling.draining_s].map(|s| short(s / 3600.0));
        lines.push((
            "replicas",
            format!(
                "{} started, {} drained in {} changes of {} decisions; replica hours: {} ready, {} starting, {} draining",
                scaling.started, scaling.drained, scaling.actions, scaling.decisions, hours[0], hours[1], hours[2]
            ),
        ));
    }
    if let Some(failures) = &run.failures {
        lines.push((
            "failures",
            format!(
                "{} replicas failed; {} requests lost theirs, {} began again, {} tokens were thrown away",
                run.scaling.map_or(0, |scaling| scaling.failed),
                failures.lost_requests,
                failures.restarts,
                failures.lost_tokens
            ),
        ));
    }
    lines
}

/// Times of requests, of a fleet what each replica did, and the ranges over seeds.
fn times(text: &mut String, summary: &RunSummary, ranges: Option<&SeedRanges>) {
    let run = &summary.run;
    let _ = writeln!(
        text,
        "\n{:<22}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}",
        "seconds", "mean", "p50", "p90", "p95", "p99", "max"
    );
    let mut row = |name: &str, d: &Distribution| {
        let cells = [d.mean, d.p50, d.p90, d.p95, d.p99, d.max].map(number);
        let _ = write!(text, "{name:<22}");
        cells.iter().for_each(|cell| {
            let _ = write!(text, "{cell:>9}");
        });
        text.push('\n');
    };
    row("time to first token", &run.ttft_s);
    row("between tokens", &run.tbt_s);
    row("per output token", &run.tpot_s);
    row("end to end", &run.e2e_s);
    row("in queue", &run.queue_s);
    if let Some(fleet) = &summary.fleet {
        row("execution", &fleet.execution_s);
        row("stalled", &fleet.preempted_s);
        pools(text, fleet);
        replicas(text, &fleet.per_replica);
    }
    if let Some(ranges) = ranges {
        over_seeds(text, ranges);
    }
}

/// A row for each pool, where there are several.
fn pools(text: &mut String, fleet: &FleetSummary) {
    if fleet.per_pool.len() < 2 {
        return;
    }
    let _ = writeln!(
        text,
        "\n{:<22}{:>9}{:>9}{:>9}{:>9}{:>12}{:>12}{:>12}",
        "pool", "replicas", "requests", "busy", "KV", "TTFT mean", "TTFT p99", "TPOT mean"
    );
    for row in &fleet.per_pool {
        let name = if row.name.is_empty() { (row.id + 1).to_string() } else { row.name.clone() };
        let _ = writeln!(
            text,
            "{name:<22}{:>9}{:>9}{:>9}{:>9}{:>12}{:>12}{:>12}",
            row.replicas,
            row.requests,
            percent(row.busy),
            percent(row.mean_kv),
            number(row.ttft_s.mean),
            number(row.ttft_s.p99),
            number(row.tpot_s.mean)
        );
    }
}

/// Each headline number of the run with its lowest and its highest value over the seeds.
fn over_seeds(text: &mut String, reported: &SeedRanges) {
    let title = format!("over {} seeds", reported.seeds);
    let _ = writeln!(text, "\n{title:<32}{:>12}{:>12}{:>12}", "this run", "lowest", "highest");
    for (metric, value) in reported.metrics.iter().zip(&reported.values) {
        let range = reported.ranges.get(metric.path());
        let [low, high] = [range.map(|range| range.low), range.map(|range| range.high)];
        let (value, low, high) = (number(*value), number(low), number(high));
        let _ = writeln!(text, "{:<32}{value:>12}{low:>12}{high:>12}", metric.heading());
    }
}

/// How many met the SLO, and up to which rate it holds where that was searched.
fn slo(score: &SloScore, capacity: Option<CapacityRates>, cut_outputs: u64) -> String {
    let holds = match capacity {
        None => String::new(),
        Some(CapacityRates { slo_rps: Some(rps), .. }) => format!("; holds up to {} req/s", short(rps)),
        Some(_) => "; holds at no rate".to_owned(),
    };
    let (met, goodput) = (percent(score.attainment_all), number(score.goodput_rps));
    let cut = match cut_outputs {
        0 => String::new(),
        cut => format!("; {cut} outputs were cut"),
    };
    format!("{met} meet the SLO ({}){holds}; goodput {goodput} req/s{cut}", bounds(score))
}

/// The work that reaches the replicas over what they serve when they are saturated.
fn of_replicas(load: Load) -> String {
    let [share, reached] = [percent(Some(load.share)), short(load.reached_rps)];
    match load.saturated_rps {
        Some(rps) => {
            format!("{share}: {reached} req/s reach the replicas, which serve {} when saturated", short(rps))
        }
        None => format!("{share}: no request reaches the replicas"),
    }
}

/// The bounds that are set.
fn bounds(slo: &SloScore) -> String {
    let named = [("TTFT <", slo.ttft_s), ("TPOT <=", slo.tpot_s), ("TBT <=", slo.tbt_s)];
    let reported = named.iter().filter_map(|(name, s)| Some(format!("{name} {} s", short((*s)?))));
    reported.collect::<Vec<_>>().join(", ")
}

/// The KV pool of a replica.
fn pool(kv: &KvUsage) -> String {
    let blocks = kv.pool_blocks.map(|blocks| format!(" ({blocks} blocks)")).unwrap_or_default();
    format!("{} tokens{blocks} a replica", kv.pool_tokens)
}

/// What adapters were loaded and evicted.
fn adapters(used: &AdapterUse) -> String {
    format!(
        "{} loads in {} s, {} evictions, {} resident",
        used.loads,
        number(Some(used.load_s)),
        used.evictions,
        number(used.mean_resident)
    )
}

/// Where the time of a request went.
fn parts(split: &SplitMeans) -> String {
    format!(
        "queue {}, adapter load {}, prefill {}, stalled {}, decode {} s",
        number(split.queue),
        number(split.adapter_load),
        number(split.prefill),
        number(split.stalled),
        number(split.decode)
    )
}

/// The lines about a proxy.
fn gateway_lines(gateway: &GatewaySummary) -> [(&'static str, String); 3] {
    let refusals = gateway.refusals.iter().filter(|(_, count)| **count > 0);
    let refusals: Vec<String> = refusals.map(|(reason, count)| format!("{count} {reason}")).collect();
    let rejected = if refusals.is_empty() { "none".to_owned() } else { refusals.join(", ") };
    let share = |(state, share): (&&str, &f64)| format!("{state} {}", percent(Some(*share)));
    let first = &gateway.first_attempt;
    [
        (
            "gateway",
            format!("{} attempts, {} timed out, rejected: {rejected}", gateway.attempts, gateway.timeouts),
        ),
        (
            "first attempts",
            format!("{} completed, goodput {} req/s", first.completed, number(first.goodput_rps)),
        ),
        ("load states", gateway.state_share.iter().map(share).collect::<Vec<_>>().join(", ")),
    ]
}

/// What each replica did.
fn replicas(text: &mut String, rows: &[ReplicaRow]) {
    let _ = writeln!(
        text,
        "\n{:<10}{:>10}{:>12}{:>9}{:>12}{:>14}{:>10}{:>10}{:>12}{:>13}",
        "replica",
        "requests",
        "iterations",
        "busy",
        "mean batch",
        "tokens/iter.",
        "mean KV",
        "peak KV",
        "prefix hits",
        "preemptions"
    );
    let life = |row: &ReplicaRow| {
        let stop = row.stop_s.map_or_else(String::new, |stop_s| format!(", stopped at {} s", short(stop_s)));
        match (row.start_s > 0.0, stop.is_empty()) {
            (false, true) => String::new(),
            (false, false) => format!("  from the beginning{stop}"),
            (true, _) => {
                format!("  asked for at {} s, ready at {} s{stop}", short(row.start_s), short(row.ready_s))
            }
        }
    };
    for row in rows {
        let _ = writeln!(
            text,
            "{:<10}{:>10}{:>12}{:>9}{:>12}{:>14}{:>10}{:>10}{:>12}{:>13}{}",
            row.id,
            row.requests,
            row.iterations,
            percent(row.busy),
            number(row.mean_size),
            number(row.tokens_per_iteration),
            percent(row.mean_kv),
            percent(row.peak_kv),
            percent(row.prefix_hit_rate),
            row.preemptions,
            life(row)
        );
    }
}

fn number(x: Option<f64>) -> String {
    x.map_or_else(|| "-".to_owned(), short)
}

fn percent(x: Option<f64>) -> String {
    x.map_or_else(|| "-".to_owned(), |x| format!("{:.1} %", 100.0 * x))
}

/// Four significant digits.
fn short(x: f64) -> String {
    let digits = match x.abs() {
        a if a >= 1000.0 => 0,
        a if a >= 100.0 => 1,
        a if a >= 10.0 => 2,
        a if a >= 1.0 => 3,
        _ => 4,
    };
    format!("{x:.digits$}")
}

fn gpu(gpu: &GpuUse) -> String {
    let [busy, mfu, bandwidth] = [gpu.busy, gpu.mfu, gpu.bandwidth].map(percent);
    format!("busy {busy}, MFU {mfu}, memory bandwidth {bandwidth}")
}

/// Measured rows of the model that are doubted, and why.
fn doubted_rows(doubted: &DoubtedRows) -> String {
    let [ttft, tpot, peak, other] = [doubted.ttft, doubted.tpot, doubted.peak_share, doubted.other_share]
        .map(|share| percent(Some(share)));
    format!(
        "{} measured rows of this model are doubted: one computes at {peak} of the GPU's peak, none of another model at more than \
         {other}; against them mean TTFT {ttft}, mean TPOT {tpot}",
        doubted.rows
    )
}

/// The measured model that is most like the one that is simulated.
fn nearest_model(nearest: &NearestModel) -> String {
    let [ttft, tpot] = [nearest.ttft, nearest.tpot].map(|share| percent(Some(share)));
    let gpu = if nearest.is_on_gpu { "on this GPU" } else { "on other GPUs" };
    let (name, rows) = (nearest.name, nearest.rows);
    format!("nearest measured model: {name} {gpu}, mean TTFT {ttft}, mean TPOT {tpot} ({rows} rows)")
}

/// How far the times are to be expected from a real server's, and from which deployments that is known.
fn expected(error: &ExpectedError) -> String {
    if let Some(ModelErrors { count, worst_ttft, worst_tpot }) = error.models {
        let [ttft, tpot, worst_ttft, worst_tpot] =
            [error.ttft, error.tpot, worst_ttft, worst_tpot].map(|share| percent(Some(share)));
        let constants = if error.is_calibrated {
            "; the constants around kernels were fitted to other deployments of these models, so this one may be further off"
        } else {
            ""
        };
        return format!(
            "no measurement of this model; error of {count} others ({} measured {} rows that no constant was fitted to): mean \
             TTFT {ttft}, worst {worst_ttft}; mean TPOT {tpot}, worst {worst_tpot} (median over models{constants})",
            error.rows, error.engine
        );
    }
    let of = match error.of {
        "model_and_gpu" => "of this model on this GPU",
        "gpu" if error.doubted.is_some() => "of other models on this GPU",
        "gpu" => "of other models on this GPU: this model was not measured",
        _ if error.doubted.is_some() => "of other models and GPUs",
        _ => "of other models and GPUs: these were not measured",
    };
    let [ttft, tpot] = [error.ttft, error.tpot].map(|share| percent(Some(share)));
    format!(
        "mean TTFT {ttft}, mean TPOT {tpot} (median over {} measured {} rows {of})",
        error.rows, error.engine
    )
}
