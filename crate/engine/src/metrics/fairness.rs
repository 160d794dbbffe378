//! How evenly clients were served, in the terms of VTC's benchmark (Sheng et al., OSDI 2024).
//!
//! The service of a request is input + 2 output tokens, spread evenly from its first token to its end. Around each tick lies
//! a window; a client's shortfall there is what the best served client got more, but no more than what separates its own
//! service from its own demand; the gap of a tick is the sum of all shortfalls. Demand and gap skip a warm-up at the start:
//! their windows lie that much later. Rejected requests count nowhere.

use servescope_workload::statistics::sort;

use crate::replica::queue::token_cost::profiled_cost;

/// What fairness needs to know of one served request. Seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServedRequest {
    /// The client.
    pub client: usize,
    /// Prompt tokens.
    pub input_tokens: f64,
    /// Tokens produced.
    pub output_tokens: f64,
    /// When it was sent.
    pub arrival_s: f64,
    /// When its first token was there.
    pub first_token_s: f64,
    /// When its last token was there.
    pub finish_s: f64,
}

/// Answers that take no longer are left out of service.
const SHORTEST_S: f64 = 1e-5;

/// Where the benchmark looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ticks {
    /// Duration of the experiment.
    pub duration_s: f64,
    /// Length of the window around a tick.
    pub window_s: f64,
    /// By how much the windows of demand and gaps lie later.
    pub warm_up_s: f64,
    /// Into how many parts the time after the warm-up is cut; the ticks are their inner ends.
    pub parts: u32,
}

impl Ticks {
    /// The paper's: 60 s windows, 30 s of warm-up, 20 parts.
    pub fn paper(duration_s: f64) -> Self {
        Self { duration_s, window_s: 60.0, warm_up_s: 30.0, parts: 20 }
    }

    /// The ticks.
    pub fn all(&self) -> Vec<f64> {
        let part = (self.duration_s - self.warm_up_s) / f64::from(self.parts);
        (1..self.parts).map(|i| part * f64::from(i)).collect()
    }
}

/// The numbers. Rows are clients, columns ticks.
#[derive(Debug, Clone, PartialEq)]
pub struct Fairness {
    /// Where the windows stand.
    pub ticks_s: Vec<f64>,
    /// Service asked for by the requests sent in a window, a second.
    pub demand: Vec<Vec<f64>>,
    /// Service given in a window without warm-up, a second.
    pub service: Vec<Vec<f64>>,
    /// Mean time to first token of the requests whose first token lies in a window without warm-up.
    pub response_s: Vec<Vec<Option<f64>>>,
    /// The gap, a second.
    pub gap: Vec<f64>,
    /// The gap where service is a request's profiled cost.
    pub profiled_gap: Vec<f64>,
    /// Largest less smallest service given to a client since the warm-up.
    pub accumulated_gap: Vec<f64>,
}

impl Fairness {
    /// Measures what was served to `clients` clients.
    pub fn measure(served: &[ServedRequest], clients: usize, ticks: &Ticks) -> Self {
        let ticks_s = ticks.all();
        let half = ticks.window_s / 2.0;
        let late = ticks.warm_up_s;
        let plain = |r: &ServedRequest| r.input_tokens + 2.0 * r.output_tokens;
        let profiled = |r: &ServedRequest| profiled_cost(r.input_tokens, r.output_tokens);
        let per_second = |sums: Vec<f64>| sums.into_iter().map(|s| s / ticks.window_s).collect::<Vec<f64>>();
        let in_window = |x: f64, cost: &dyn Fn(&ServedRequest) -> f64| {
            per_second(given(served, clients, x - half + late, x + half + late, cost))
        };
        let mut demand = Vec::new();
        let mut service = Vec::new();
        let mut response_s = Vec::new();
        let (mut gap, mut profiled_gap, mut accumulated_gap) = (Vec::new(), Vec::new(), Vec::new());
        for &x in &ticks_s {
            let asked = per_second(asked_for(served, clients, x - half + late, x + half + late));
            gap.push(shortfalls(&in_window(x, &plain), &asked));
            profiled_gap.push(shortfalls(&in_window(x, &profiled), &asked));
            let total = given(served, clients, late, x + late, &plain);
            let most = total.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            accumulated_gap.push(most - total.iter().copied().fold(f64::INFINITY, f64::min));
            demand.push(asked);
            service.push(per_second(given(served, clients, x - half, x + half, &plain)));
            response_s.push(responses(served, clients, x - half, x + half));
        }
        Self {
            demand: by_client(&demand, clients),
            service: by_client(&service, clients),
            response_s: by_client(&response_s, clients),
            ticks_s,
            gap,
            profiled_gap,
            accumulated_gap,
        }
    }

    /// The largest gap.
    pub fn max_gap(&self) -> f64 {
        self.gap.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// The mean gap.
    pub fn mean_gap(&self) -> f64 {
        self.gap.iter().sum::<f64>() / self.gap.len() as f64
    }
}

/// The largest gap of [`Fairness`], for many requests: what each client got and asked for up to the ends of all windows is
/// added up once. Missing where nothing was served.
pub fn largest_gap(
    served: impl Iterator<Item = ServedRequest>,
    clients: usize,
    ticks: &Ticks,
) -> Option<f64> {
    let half = ticks.window_s / 2.0;
    let all: Vec<[f64; 2]> =
        (ticks.all().iter()).map(|x| [x - half + ticks.warm_up_s, x + half + ticks.warm_up_s]).collect();
    let mut ends: Vec<f64> = all.iter().flatten().copied().collect();
    sort(&mut ends);
    let columns = ends.len() + 1;
    // By client: what lies before an end and after the one before it.
    let (mut given, mut before, mut up_to) =
        (vec![0.0; clients * columns], vec![0.0; clients * columns], vec![0.0; clients * columns]);
    let mut any = false;
    for r in served {
        any = true;
        let cost = r.input_tokens + 2.0 * r.output_tokens;
        let row = r.client * columns;
        // A window's own ends count as inside.
        before[row + ends.partition_point(|&end| end <= r.arrival_s)] += cost;
        up_to[row + ends.partition_point(|&end| end < r.arrival_s)] += cost;
        let lasted = r.finish_s - r.first_token_s;
        if lasted < SHORTEST_S {
            continue;
        }
        let mut from_s = r.first_token_s;
        let first = ends.partition_point(|&end| end <= from_s);
        for (column, until_s) in ends.iter().copied().chain([f64::INFINITY]).enumerate().skip(first) {
            let to_s = until_s.min(r.finish_s);
            given[row + column] += cost * (to_s - from_s) / lasted;
            from_s = to_s;
            if until_s >= r.finish_s {
                break;
            }
        }
    }
    let column = |end: f64| ends.partition_point(|&other| other < end);
    // Of the columns from..=to.
    let sum = |sums: &[f64], client: usize, from: usize, to: usize| -> f64 {
        sums[client * columns + from..=client * columns + to].iter().sum()
    };
    let gap = |&[from_s, to_s]: &[f64; 2]| {
        let (from, to) = (column(from_s), column(to_s));
        let rate = |x: f64| x / ticks.window_s;
        let service: Vec<f64> = (0..clients).map(|client| rate(sum(&given, client, from + 1, to))).collect();
        let demand: Vec<f64> = (0..clients)
            .map(|client| rate(sum(&up_to, client, 0, to) - sum(&before, client, 0, from)))
            .collect();
        shortfalls(&service, &demand)
    };
    all.iter().map(gap).filter(|_| any).reduce(f64::max)
}

/// Prompt and output tokens of everything served, a second of `total_s`.
pub fn tokens_per_s(served: &[ServedRequest], total_s: f64) -> f64 {
    served.iter().map(|r| r.input_tokens + r.output_tokens).sum::<f64>() / total_s
}

/// Service of each client between two times.
fn given(
    served: &[ServedRequest],
    clients: usize,
    from_s: f64,
    to_s: f64,
    cost: &dyn Fn(&ServedRequest) -> f64,
) -> Vec<f64> {
    let mut sums = vec![0.0; clients];
    for r in served {
        let lasted = r.finish_s - r.first_token_s;
        if lasted >= SHORTEST_S {
            let overlap = (to_s.min(r.finish_s) - from_s.max(r.first_token_s)).max(0.0);
            sums[r.client] += cost(r) * overlap / lasted;
        }
    }
    sums
}

/// Service that the requests sent between two times ask for.
fn asked_for(served: &[ServedRequest], clients: usize, from_s: f64, to_s: f64) -> Vec<f64> {
    let mut sums = vec![0.0; clients];
    for r in served.iter().filter(|r| from_s <= r.arrival_s && r.arrival_s <= to_s) {
        sums[r.client] += r.input_tokens + 2.0 * r.output_tokens;
    }
    sums
}

/// Mean time to first token of the first tokens between two times.
fn responses(served: &[ServedRequest], clients: usize, from_s: f64, to_s: f64) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0u32); clients];
    for r in served.iter().filter(|r| from_s <= r.first_token_s && r.first_token_s <= to_s) {
        sums[r.client].0 += r.first_token_s - r.arrival_s;
        sums[r.client].1 += 1;
    }
    sums.into_iter().map(|(sum, n)| (n > 0).then(|| sum / f64::from(n))).collect()
}

/// The sum of what each client lacks against the best served, bounded by its own unmet (or overmet) demand.
fn shortfalls(service: &[f64], demand: &[f64]) -> f64 {
    let most = service.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    service.iter().zip(demand).map(|(s, d)| (most - s).min((d - s).abs())).sum()
}

fn by_client<T: Copy>(ticks: &[Vec<T>], clients: usize) -> Vec<Vec<T>> {
    (0..clients).map(|client| ticks.iter().map(|row| row[client]).collect()).collect()
}
