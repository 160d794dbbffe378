//! Traffic from ServeGen's windows (Xiang et al., arXiv 2505.09999, github.com/alibaba/ServeGen): every client in every
//! window with its own rate and distribution of gaps, and lengths from its own histograms.
//!
//! A window of rate r and width w has r w requests: n of them stand between n + 1 gaps of the client's distribution, scaled to fill
//! the window. Against ServeGen's own generator: all n are kept (it draws n gaps and drops the last request, so that a client with one
//! request makes none), prompt and output lengths are drawn independently or with a wanted rank correlation (it draws both
//! from one number), and any part of the recording can be taken (it wants a rate for exactly its windows).

use std::collections::BTreeMap;

use super::cycle_get;
use crate::copula::GaussianCopula;
use crate::distribution;
use crate::formats::{LengthWindow, MAX_ROWS, MAX_TOKENS, Pattern, ServeGenWindow};
use crate::spec::WorkloadSpec;
use crate::statistics::sort_by_number;
use crate::stream::Stream;
use crate::trace::{BASE_MODEL, Request, Trace};

/// What to make traffic from.
#[derive(Debug, Clone, Copy)]
pub struct ServeGen<'a> {
    /// Rates and gaps by client and window.
    pub windows: &'a [ServeGenWindow],
    /// Lengths by client and window. A client without any has the lengths of the workload's own distributions.
    pub lengths: &'a [LengthWindow],
    /// The part of the recording to take, seconds.
    pub part_s: (f64, f64),
    /// What rates are multiplied by.
    pub rate_scale: f64,
}

/// Width of a window where the file has one time only, seconds.
const USUAL_WIDTH_S: f64 = 600.0;

impl ServeGen<'_> {
    /// Width of a window: the least difference of two starts, seconds.
    fn width_s(&self) -> f64 {
        let mut starts: Vec<f64> = self.windows.iter().map(|w| w.start_s).collect();
        crate::statistics::sort(&mut starts);
        let steps = starts.windows(2).map(|pair| pair[1] - pair[0]).filter(|&step| step > 0.0);
        steps.reduce(f64::min).unwrap_or(USUAL_WIDTH_S)
    }

    /// The share of a window that lies in the wanted part.
    fn share(&self, window: &ServeGenWindow, width_s: f64) -> f64 {
        let (from, to) = self.part_s;
        ((to.min(window.start_s + width_s) - from.max(window.start_s)) / width_s).clamp(0.0, 1.0)
    }

    /// Requests to expect.
    pub fn expected_requests(&self) -> f64 {
        let width_s = self.width_s();
        let active = self.windows.iter().filter(|w| w.distribution().is_some());
        active.map(|w| w.rate_rps * self.rate_scale * width_s * self.share(w, width_s)).sum()
    }

    /// When the recording ends, seconds.
    pub fn end_s(&self) -> f64 {
        let last = self.windows.iter().map(|w| w.start_s).reduce(f64::max);
        last.map_or(0.0, |start| start + self.width_s())
    }

    /// The clients, in the order in which the windows mention them: a client's place is its user label.
    pub fn clients(&self) -> Vec<&str> {
        let mut places = BTreeMap::new();
        self.windows.iter().for_each(|window| {
            let next = places.len();
            places.entry(window.client.as_str()).or_insert(next);
        });
        let mut names = vec![""; places.len()];
        places.into_iter().for_each(|(name, place)| names[place] = name);
        names
    }

    /// Clients that send something and have no lengths of their own.
    pub fn without_lengths(&self) -> Vec<&str> {
        let known: std::collections::BTreeSet<&str> =
            self.lengths.iter().map(|w| w.client.as_str()).collect();
        let active: std::collections::BTreeSet<&str> =
            self.windows.iter().filter(|w| w.distribution().is_some()).map(|w| w.client.as_str()).collect();
        active.difference(&known).copied().collect()
    }
}

/// The trace of a part of a recording; its start is time 0. The caller has seen to it that [`ServeGen::expected_requests`]
/// is a number that can be held. Seed, adapters, the correlation of lengths and `max_tokens` are
/// those of `spec`, as are factors of lengths and adapters by client.
pub fn servegen(source: &ServeGen<'_>, spec: &WorkloadSpec) -> Trace {
    let width_s = source.width_s();
    let names = source.clients();
    let place_of: BTreeMap<&str, usize> =
        names.iter().enumerate().map(|(place, &name)| (name, place)).collect();
    let mut lengths: Vec<Vec<&LengthWindow>> = vec![Vec::new(); names.len()];
    for window in source.lengths {
        if let Some(&place) = place_of.get(window.client.as_str()) {
            lengths[place].push(window);
        }
    }
    lengths.iter_mut().for_each(|of| sort_by_number(of, |window| window.start_s));
    let mut maker = Maker {
        spec,
        copula: GaussianCopula::of(spec),
        of_histograms: GaussianCopula::rising(spec.length_correlation),
        adapters: spec.adapters.popularity.sampler(spec.adapters.count.max(1)),
        trace: Trace::with_capacity(source.expected_requests().min(MAX_ROWS as f64) as usize),
    };
    let [arrivals, bodies] = ["servegen arrivals", "servegen requests"].map(|n| Stream::named(spec.seed, n));
    for window in source.windows.iter().filter(|w| source.share(w, width_s) > 0.0) {
        let Some(pattern) = window.distribution() else { continue };
        let place = place_of[window.client.as_str()];
        // Streams by client and window: a part of the recording is a part of the whole's trace.
        let number = (window.start_s / width_s) as usize;
        let mut stream = arrivals.item(place).item(number);
        let mean = window.rate_rps * source.rate_scale * width_s;
        // The fraction of a request is one with that probability.
        let count = mean as usize + usize::from(stream.uniform() < mean.fract());
        let mut body = bodies.item(place).item(number);
        for offset in offsets(pattern, window, count, &stream) {
            let at_s = window.start_s + offset * width_s;
            let draws = [0; 3].map(|_| body.uniform());
            if (source.part_s.0..source.part_s.1).contains(&at_s) {
                maker.push(place, (at_s - source.part_s.0) * 1e6, at_s, &lengths[place], draws);
            }
        }
    }
    let mut trace = maker.trace;
    trace.adapter_rank = spec.adapters.adapter_ranks();
    trace.sort();
    trace
}

/// Where `count` requests stand in a window of width 1: between gaps of the window's distribution that fill it.
fn offsets(pattern: Pattern, window: &ServeGenWindow, count: usize, stream: &Stream) -> Vec<f64> {
    let shape = window.shape.unwrap_or_else(|| shape_of(pattern, window.cv));
    let mut sum = 0.0;
    let mut ends: Vec<f64> = (0..=count)
        .map(|i| {
            let mut stream = stream.item(i);
            sum += match pattern {
                Pattern::Gamma => distribution::gamma(shape.clamp(1e-4, 1e6), &mut stream),
                Pattern::Weibull => {
                    distribution::weibull(shape.clamp(LEAST_WEIBULL, 100.0), stream.uniform())
                }
            };
            sum
        })
        .collect();
    ends.truncate(count);
    // All gaps of a very bursty distribution may be too small for a number: then the group is anywhere.
    let anywhere = stream.item(count + 1).uniform();
    ends.into_iter().map(|end| if sum > 0.0 { end / sum } else { anywhere }).collect()
}

/// Smallest shape of a Weibull distribution that is drawn from: below it the mean is no number.
const LEAST_WEIBULL: f64 = 0.02;

/// The shape of a distribution with this coefficient of variation.
fn shape_of(pattern: Pattern, cv: f64) -> f64 {
    if pattern == Pattern::Gamma {
        return 1.0 / (cv * cv).max(1e-6);
    }
    // cv^2 + 1 = Gamma(1 + 2/k) / Gamma(1 + 1/k)^2 falls in k.
    let asked = libm::log1p(cv * cv);
    let (mut low, mut high) = (LEAST_WEIBULL, 100.0);
    for _ in 0..60 {
        let k = 0.5 * (low + high);
        let too_bursty = libm::lgamma(1.0 + 2.0 / k) - 2.0 * libm::lgamma(1.0 + 1.0 / k) > asked;
        (low, high) = if too_bursty { (k, high) } else { (low, k) };
    }
    low
}

/// The trace as it is made.
struct Maker<'a> {
    spec: &'a WorkloadSpec,
    copula: GaussianCopula,
    of_histograms: GaussianCopula,
    adapters: crate::popularity::PopularitySampler,
    trace: Trace,
}

impl Maker<'_> {
    fn push(&mut self, place: usize, arrival_us: f64, at_s: f64, lengths: &[&LengthWindow], draws: [f64; 3]) {
        let [u, v, w] = draws;
        let (input, output) = match current(lengths, at_s) {
            Some(window) => {
                let prompt =
                    |u| window.prompt.iter().map(|part| part.at(u)).sum::<u32>().clamp(1, MAX_TOKENS);
                (prompt(u), window.answer.at(self.of_histograms.second(u, v)).max(1))
            }
            None => self.copula.draw(self.spec, u, v),
        };
        let clients = self.spec.clients.as_ref();
        let scales = clients.map(|c| (cycle_get(&c.input_scales, place), cycle_get(&c.output_scales, place)));
        let (input_scale, output_scale) = scales.unwrap_or_default();
        let answer = self.spec.bounded(super::scaled(output, output_scale));
        self.trace.push(Request {
            arrival_us,
            user: place as u32,
            adapter: match clients.and_then(|c| cycle_get(&c.adapters, place)).flatten() {
                _ if self.spec.adapters.count == 0 => BASE_MODEL,
                Some(adapter) => adapter,
                None => self.adapters.at(w),
            },
            input_tokens: super::scaled(input, input_scale),
            output_tokens: answer.output_tokens,
            max_tokens: answer.max_tokens,
        });
    }
}

/// The lengths at a time: of the last window that has begun, or of the first one.
fn current<'a>(windows: &[&'a LengthWindow], at_s: f64) -> Option<&'a LengthWindow> {
    windows.get(windows.partition_point(|w| w.start_s <= at_s).saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::{Contents, open};
    use crate::statistics::spearman;

    fn windows(rows: &str) -> Vec<ServeGenWindow> {
        let file = format!("client_id,window_start_s,rate,cv,pattern,param1,param2\n{rows}");
        let Contents::Windows(windows) = open(file.as_bytes()).unwrap().contents else {
            panic!("no windows")
        };
        windows
    }

    fn lengths(rows: &str) -> Vec<LengthWindow> {
        let Contents::Histograms(found) = open(rows.as_bytes()).unwrap().contents else {
            panic!("no lengths")
        };
        found
    }

    const WIDE: &str = "{\"client_id\":\"a\",\"dataset\":{\"0\":{\"input_tokens\":\"{10: 0.2, 20: 0.2, 30: 0.2, 40: 0.2, 50: 0.2}\",\"output_tokens\":\"{1: 0.25, 2: 0.25, 3: 0.25, 4: 0.25}\"},\"1200\":{\"text_tokens\":\"{7: 1.0}\",\"image_tokens\":\"{1000: 1.0}\",\"image_count\":\"{1: 1.0}\",\"output_tokens\":\"{9: 1.0}\"}}}\n";

    #[test]
    fn no_request_of_a_slow_client_is_lost() {
        // One request a window. ServeGen makes ceil(1) gaps and drops the last: none.
        let row = |i: u32| format!("slow,{},{},1,Gamma,1,1", i * 600, 1.0 / 600.0);
        let windows = windows(&(0..100).map(row).collect::<Vec<_>>().join("\n"));
        let source =
            ServeGen { windows: &windows, lengths: &[], part_s: (0.0, f64::INFINITY), rate_scale: 1.0 };
        let trace = servegen(&source, &WorkloadSpec::default());
        assert_eq!(trace.len(), 100);
        assert!((0..100).all(|i| (trace.arrival_us[i] / 600e6) as usize == i));
        // A tenth of the rate: one in ten windows.
        let tenth = servegen(&ServeGen { rate_scale: 0.1, ..source }, &WorkloadSpec::default());
        assert!((2..25).contains(&tenth.len()), "{}", tenth.len());
        assert!((source.expected_requests() - 100.0).abs() < 1e-9);
        assert_eq!(source.end_s(), 60_000.0);
    }

    #[test]
    fn windows_have_their_count_and_their_burstiness() {
        // ServeGen makes one request fewer than the rate says in every window.
        let rows =
            "a,0,10,0.5,Gamma,4,1\na,600,0,0,,0,0\na,1200,10,2.5,Gamma,0.16,1\nb,600,20,1.5,Weibull,,\n";
        let windows = windows(rows);
        assert_eq!(windows[3].shape, None);
        let source = ServeGen { windows: &windows, lengths: &[], part_s: (0.0, 1800.0), rate_scale: 1.0 };
        let trace = servegen(&source, &WorkloadSpec::default());
        assert_eq!(trace.len(), 6_000 + 12_000 + 6_000);
        for (number, (user, cv)) in [(0, 0.5), (1, 1.5), (0, 2.5)].into_iter().enumerate() {
            let inside = |t: &f64| (t / 600e6) as usize == number;
            let times: Vec<f64> = trace.arrival_us.iter().copied().filter(inside).collect();
            assert!((0..trace.len()).all(|id| !inside(&trace.arrival_us[id]) || trace.user[id] == user));
            let gaps: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / gaps.len() as f64;
            assert!((f64::sqrt(variance) / mean / cv - 1.0).abs() < 0.1, "window {number}");
        }
        // Any part may be taken, and is the same part of the whole.
        let part = servegen(&ServeGen { part_s: (700.0, 1300.0), ..source }, &WorkloadSpec::default());
        let whole: Vec<usize> =
            (0..trace.len()).filter(|&id| (700e6..1300e6).contains(&trace.arrival_us[id])).collect();
        assert_eq!(part.len(), whole.len());
        assert!(whole.iter().zip(&part.input_tokens).all(|(&id, &tokens)| trace.input_tokens[id] == tokens));
    }

    #[test]
    fn lengths_are_the_clients_own_and_independent_unless_asked_for() {
        let windows =
            windows("a,0,20,1,Gamma,1,1\na,600,0,0,,0,0\na,1200,1,1,Gamma,1,1\nb,1200,1,1,Gamma,1,1\n");
        let lengths = lengths(WIDE);
        let source =
            ServeGen { windows: &windows, lengths: &lengths, part_s: (0.0, 1800.0), rate_scale: 1.0 };
        let rank = |rho: f64| {
            let trace =
                servegen(&source, &WorkloadSpec { length_correlation: rho, ..WorkloadSpec::default() });
            let first = |column: &[u32]| column[..12_000].iter().map(|&l| f64::from(l)).collect::<Vec<_>>();
            spearman(&first(&trace.input_tokens), &first(&trace.output_tokens)).unwrap()
        };
        // ServeGen draws both lengths from one number: 0.9995.
        let (none, high) = (rank(0.0), rank(0.8));
        assert!(none.abs() < 0.03 && high > 0.7, "{none}, {high}");
        let trace = servegen(&source, &WorkloadSpec::default());
        for id in 12_000..trace.len() {
            let own = (trace.input_tokens[id], trace.output_tokens[id]) == (1007, 9);
            assert_eq!(own, trace.user[id] == 0, "request {id}");
        }
        assert_eq!(source.without_lengths(), ["b"]);
    }
}
