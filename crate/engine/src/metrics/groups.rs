//! The run by user and by adapter.

use serde::Serialize;
use servescope_workload::BASE_MODEL;
use servescope_workload::statistics::{select_quantile, sort_places};

use super::distribution::is_supported;
use super::slo::{Slo, SloCount};
use crate::report::Report;
use crate::request::Outcome;

/// One user's or adapter's part of a run. Times are means or quantiles over completed requests.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct GroupRow {
    /// Index; -1 is the base model.
    pub id: i64,
    /// Rank of the adapter (0 for users and the base model).
    pub rank: u32,
    /// Requests sent.
    pub offered: u32,
    /// Requests served to the end.
    pub completed: u32,
    /// Requests rejected.
    pub rejected: u32,
    /// Prompt tokens of completed requests.
    pub input_tokens: u64,
    /// Tokens produced for completed requests.
    pub output_tokens: u64,
    /// Requests sent in a second of the time up to the last arrival of all; `None` where that time is 0.
    pub rate_rps: Option<f64>,
    /// Share of requests that the workload's distribution gives it, if there is one.
    pub expected_share: Option<f64>,
    /// Its share of the requests sent.
    pub share: f64,
    /// Mean time to first token, seconds.
    pub ttft_mean_s: Option<f64>,
    /// 99th percentile, seconds; from 100 requests on.
    pub ttft_p99_s: Option<f64>,
    /// Mean end-to-end time, seconds.
    pub e2e_mean_s: Option<f64>,
    /// Mean time in the waiting queue, seconds.
    pub queue_mean_s: Option<f64>,
    /// Share of its requests with a first token within the bound on TTFT; rejected ones are missed.
    pub attainment: Option<f64>,
    /// Share of its requests that meet every bound of the SLO.
    pub attainment_all: Option<f64>,
}

/// Whose rows are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupBy {
    /// One row a user.
    User,
    /// One row an adapter.
    Adapter,
}

/// Indices with any request, by number of requests and then index.
pub fn busiest_first(offered: &[u32]) -> Vec<usize> {
    let most_first: Vec<f64> = offered.iter().map(|&n| -f64::from(n)).collect();
    sort_places(&most_first).into_iter().map(|g| g as usize).take_while(|&g| offered[g] > 0).collect()
}

/// The `most` groups with the most requests, by number of requests and then index.
pub fn busiest(report: &Report, by: GroupBy, slo: Slo, most: usize) -> Vec<GroupRow> {
    let trace = &report.trace;
    let (column, count) = match by {
        GroupBy::User => (&trace.user, trace.user_count()),
        GroupBy::Adapter => (&trace.adapter, trace.adapter_count()),
    };
    // The base model's requests are counted behind the last index.
    let place = |key: u32| if key == BASE_MODEL { count } else { key as usize };
    let mut offered = vec![0u32; count + 1];
    column.iter().for_each(|&key| offered[place(key)] += 1);
    let mut order = busiest_first(&offered);
    order.truncate(most);
    let mut row_of = vec![usize::MAX; count + 1];
    for (row, &group) in order.iter().enumerate() {
        row_of[group] = row;
    }
    let span_s = trace.arrival_us.last().map_or(0.0, |t| t / 1e6);
    let mut rows: Vec<GroupRow> = order
        .iter()
        .map(|&g| GroupRow {
            id: if g == count { -1 } else { g as i64 },
            rank: if by == GroupBy::Adapter { trace.rank_of(g as u32) } else { 0 },
            offered: offered[g],
            rate_rps: (span_s > 0.0).then(|| f64::from(offered[g]) / span_s),
            share: f64::from(offered[g]) / trace.len() as f64,
            ..GroupRow::default()
        })
        .collect();
    let mut ttft: Vec<Vec<f64>> = vec![Vec::new(); rows.len()];
    let mut sums = vec![(0.0, 0.0, SloCount::default()); rows.len()]; // E2E, queue, SLO
    for (id, &key) in column.iter().enumerate() {
        let Some(row) = rows.get_mut(row_of[place(key)]) else { continue };
        let (ttft, sums) = (&mut ttft[row_of[place(key)]], &mut sums[row_of[place(key)]]);
        let first = report.ttft_us(id).map(|t| t / 1e6);
        sums.2.add(slo, report, id);
        match report.results[id].outcome {
            Outcome::Rejected(_) => row.rejected += 1,
            Outcome::Completed => {
                row.completed += 1;
                row.input_tokens += u64::from(trace.input_tokens[id]);
                row.output_tokens += u64::from(report.results[id].produced);
                ttft.extend(first);
                sums.0 += report.e2e_us(id).unwrap_or(0.0) / 1e6;
                sums.1 += report.scheduled_us(id).map_or(0.0, |t| t - trace.arrival_us[id]) / 1e6;
            }
            Outcome::Unfinished | Outcome::Cancelled | Outcome::TimedOut => {}
        }
    }
    for ((row, mut ttft), (e2e, queue, met)) in rows.iter_mut().zip(ttft).zip(sums) {
        [row.attainment, row.attainment_all] = met.shares(row.offered);
        if row.completed > 0 {
            let n = f64::from(row.completed);
            row.ttft_mean_s = Some(ttft.iter().sum::<f64>() / n);
            row.ttft_p99_s = is_supported(0.99, ttft.len() as u64).then(|| select_quantile(&mut ttft, 0.99));
            row.e2e_mean_s = Some(e2e / n);
            row.queue_mean_s = Some(queue / n);
        }
    }
    rows
}
