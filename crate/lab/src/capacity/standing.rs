//! How a configuration stands among the others: what serves the load with it, what that costs, and which no other beats.

use serde::{Deserialize, Serialize};

use super::check::CHECKED;

/// Configurations that are simulated at the load at most, where the first ones fail.
const MOST_TRIED: usize = 12;

/// With less headroom a deployment is tight: real traffic varies by more from day to day.
const LEAST_HEADROOM: f64 = 0.15;

const SECONDS_PER_HOUR: f64 = 3600.0;

/// What the order of a configuration depends on.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct CapacityEntry {
    /// The values of the axes of the workload: configurations of one workload are compared with each other.
    pub workload: Vec<String>,
    /// The rate found.
    pub rate_rps: Option<f64>,
    /// The load to be served.
    pub load_rps: f64,
    /// GPUs.
    pub gpus: u32,
    /// Replicas that they make.
    pub replicas: u32,
    /// Whether the fleet is taken as it is, with no replica more or fewer.
    pub is_fixed: bool,
    /// Which GPUs; "" where the cost model names none.
    pub gpu: String,
    /// What one of them costs.
    pub usd_per_gpu_hour: Option<f64>,
    /// Tokens of a request on average, its prompt and its output; none where that is not known.
    pub tokens_per_request: Option<f64>,
    /// How far times are to be expected from a real server's: the larger error of TTFT and TPOT; none where it is not known.
    pub error: Option<f64>,
    /// The goal's quantile of TTFT at that rate, seconds.
    pub ttft_s: Option<f64>,
    /// The same of TBT.
    pub tbt_s: Option<f64>,
    /// What was simulated at the load.
    pub tried: Vec<Tried>,
}

/// Replicas that were simulated at the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "CapacityTried"))]
#[serde(deny_unknown_fields)]
pub struct Tried {
    /// How many.
    pub replicas: u32,
    /// Whether the goal held; none where this many cannot be simulated.
    pub holds: Option<bool>,
}

/// What serves the load: as many replicas as a replica's share of the capacity goes into it, or the fleet as it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "CapacityNeed"))]
pub struct Need {
    /// The load, requests a second.
    pub load_rps: f64,
    /// Replicas: the load over the capacity of one, rounded up; of a fleet that is taken as it is all that it has.
    pub replicas: u32,
    /// Their GPUs.
    pub gpus: u32,
    /// What these cost an hour.
    pub usd_per_hour: Option<f64>,
    /// What a million tokens of the load cost, prompts and outputs together.
    pub usd_per_million_tokens: Option<f64>,
    /// The load as a share of their capacity.
    pub load_share: f64,
    /// By which share of itself the load can rise until it is at their capacity, where the goal breaks; negative where a fleet that is
    /// taken as it is does not serve it.
    pub headroom: f64,
    /// Whether that is less than 15 %.
    pub is_tight: bool,
    /// Replicas for a load that is larger by the expected error of the times; none where that is not known or the fleet is taken
    /// as it is.
    pub cautious_replicas: Option<u32>,
}

/// Why a configuration has no rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Unranked {
    /// No rate was found.
    NoRate,
    /// No price of the kind that is compared is known.
    NoPrice,
    /// The goal does not hold at the load, simulated with the replicas that the capacity says and with one more.
    Fails,
}

/// How a configuration stands among the others.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct CapacityStanding {
    /// Its place in the list.
    pub place: usize,
    /// 1 for the cheapest for the load; none where it cannot be compared.
    pub rank: Option<u32>,
    /// Why it cannot.
    pub unranked: Option<Unranked>,
    /// What serves the load; none without a rate.
    pub need: Option<Need>,
    /// Whether that is to be simulated next: [`CapacityCheck`](super::CapacityCheck).
    pub is_next: bool,
    /// Requests for a dollar, at the rate found.
    pub requests_per_usd: Option<f64>,
    /// Whether no other has a shorter TTFT at the same or a lower cost of a request.
    pub is_on_ttft_front: bool,
    /// Whether no other has shorter TBT at the same or a lower cost of a request.
    pub is_on_tbt_front: bool,
}

impl CapacityEntry {
    /// Seconds of a GPU that a request takes.
    pub fn gpu_s_per_request(&self) -> Option<f64> {
        Some(f64::from(self.gpus) / self.rate_rps.filter(|&rate| rate > 0.0)?)
    }

    /// USD for a request.
    pub fn usd_per_request(&self) -> Option<f64> {
        Some(self.gpu_s_per_request()? * self.usd_per_gpu_hour? / SECONDS_PER_HOUR)
    }

    /// What serves the load, where that is known: as many replicas as its capacity says, or one more where the goal does
    /// not hold with these.
    pub fn need(&self) -> Option<Need> {
        let replicas = f64::from(self.replicas.max(1));
        let of_one = self.rate_rps.filter(|&rate| rate > 0.0)? / replicas;
        let needed = f64::ceil(self.load_rps / of_one).max(1.0);
        if !needed.is_finite() {
            return None;
        }
        let needed = if self.is_fixed {
            replicas
        } else if self.failed() > 0 {
            needed + 1.0
        } else {
            needed
        };
        let gpus = needed * (f64::from(self.gpus) / replicas);
        let capacity = needed * of_one;
        let headroom = capacity / self.load_rps - 1.0;
        let usd_per_hour = self.usd_per_gpu_hour.map(|usd| usd * gpus);
        let cautious = |error: f64| needed.max(f64::ceil(self.load_rps * (1.0 + error) / of_one)) as u32;
        Some(Need {
            load_rps: self.load_rps,
            replicas: needed as u32,
            gpus: gpus as u32,
            usd_per_hour,
            usd_per_million_tokens: usd_per_hour.zip(self.tokens_per_request).and_then(
                |(usd_per_hour, tokens)| usd_per_million_tokens(usd_per_hour, self.load_rps * tokens),
            ),
            load_share: self.load_rps / capacity,
            headroom,
            is_tight: headroom < LEAST_HEADROOM,
            cautious_replicas: self.error.filter(|_| !self.is_fixed).map(cautious),
        })
    }

    /// With how many numbers of replicas the goal was seen to fail.
    fn failed(&self) -> usize {
        self.tried.iter().filter(|tried| tried.holds == Some(false)).count()
    }

    /// Why it is not ranked, whatever it costs.
    fn excluded(&self) -> Option<Unranked> {
        let Some(need) = self.need() else { return Some(Unranked::NoRate) };
        // One replica more is tried, of a fleet that may have one.
        let fails = if self.is_fixed { need.headroom < 0.0 || self.failed() > 0 } else { self.failed() > 1 };
        fails.then_some(Unranked::Fails)
    }

    /// Whether what serves the load was simulated, or cannot be.
    fn is_settled(&self) -> bool {
        self.tried.last().is_some_and(|tried| self.is_fixed || tried.holds != Some(false))
    }
}

/// What a million tokens cost where so many are served a second; none where none is.
pub(super) fn usd_per_million_tokens(usd_per_hour: f64, tokens_per_s: f64) -> Option<f64> {
    (tokens_per_s > 0.0).then(|| usd_per_hour / (SECONDS_PER_HOUR * tokens_per_s / 1e6))
}

/// What a request costs in each configuration: dollars where a price is known of any, else seconds of a GPU.
pub fn costs(entries: &[CapacityEntry]) -> (Vec<Option<f64>>, bool) {
    let is_priced = entries.iter().any(|e| e.usd_per_request().is_some());
    let cost = if is_priced { CapacityEntry::usd_per_request } else { CapacityEntry::gpu_s_per_request };
    (entries.iter().map(cost).collect(), is_priced)
}

/// What serving the load costs, and a request at capacity: dollars. Where no price is known and all have the same GPU,
/// numbers of GPUs stand for them, whatever one costs.
fn sort_key(entry: &CapacityEntry, in_gpus: bool) -> Option<(f64, f64)> {
    let need = entry.need().filter(|_| entry.excluded().is_none())?;
    if in_gpus {
        return Some((f64::from(need.gpus), entry.gpu_s_per_request()?));
    }
    Some((need.usd_per_hour?, entry.usd_per_request()?))
}

/// The order of configurations: workload by workload, in the order in which these come first, since what one workload takes is no better
/// than what another does. Within one, what serves the load for least comes first, and of equal ones that with the cheapest request;
/// below them, as they stand, those without a price, those that fail at the load, and those without a rate.
///
/// Those of the first [`CHECKED`] of a workload that were not simulated at the load are next, as long as at most [`MOST_TRIED`] of it were.
pub fn standings(entries: &[CapacityEntry]) -> Vec<CapacityStanding> {
    let mut workloads: Vec<(&[String], Vec<usize>)> = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        match workloads.iter_mut().find(|(workload, _)| *workload == entry.workload) {
            Some((_, places)) => places.push(place),
            None => workloads.push((&entry.workload, vec![place])),
        }
    }
    let of_workload = |(_, places): (&[String], Vec<usize>)| {
        let own: Vec<CapacityEntry> = places.iter().map(|&place| entries[place].clone()).collect();
        let standings = of_one_workload(&own);
        standings.into_iter().map(move |own| CapacityStanding { place: places[own.place], ..own })
    };
    workloads.into_iter().flat_map(of_workload).collect()
}

fn of_one_workload(entries: &[CapacityEntry]) -> Vec<CapacityStanding> {
    let (costs, is_priced) = costs(entries);
    let front_by = |time: fn(&CapacityEntry) -> Option<f64>| {
        let points = entries.iter().zip(&costs).map(|(entry, cost)| Some(((*cost)?, time(entry)?)));
        front(&points.collect::<Vec<_>>())
    };
    let (ttft, tbt) = (front_by(|e| e.ttft_s), front_by(|e| e.tbt_s));
    let needs: Vec<Option<Need>> = entries.iter().map(CapacityEntry::need).collect();
    let mut gpus = entries.iter().zip(&needs).filter(|(_, need)| need.is_some()).map(|(e, _)| &e.gpu);
    let first = gpus.next();
    let in_gpus = !is_priced && gpus.all(|gpu| Some(gpu) == first);
    let keys: Vec<Option<(f64, f64)>> = entries.iter().map(|e| sort_key(e, in_gpus)).collect();
    let below = |place: usize| match entries[place].excluded() {
        None => 0,
        Some(Unranked::Fails) => 1,
        Some(_) => 2,
    };
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by(|&a, &b| match (keys[a], keys[b]) {
        (Some(a), Some(b)) => a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)),
        (None, None) => below(a).cmp(&below(b)),
        (a, b) => a.is_none().cmp(&b.is_none()),
    });
    let tried = entries.iter().filter(|entry| !entry.tried.is_empty()).count();
    let standing = |(above, place): (usize, usize)| {
        let entry = &entries[place];
        let rank = keys[place].map(|_| above as u32 + 1);
        let is_first = rank.is_some_and(|rank| rank <= CHECKED);
        CapacityStanding {
            place,
            rank,
            unranked: rank.is_none().then(|| entry.excluded().unwrap_or(Unranked::NoPrice)),
            need: needs[place],
            is_next: is_first && !entry.is_settled() && (tried < MOST_TRIED || !entry.tried.is_empty()),
            requests_per_usd: entry.usd_per_request().filter(|&usd| usd > 0.0).map(|usd| 1.0 / usd),
            is_on_ttft_front: ttft[place],
            is_on_tbt_front: tbt[place],
        }
    };
    order.into_iter().enumerate().map(standing).collect()
}

/// Which points no other beats: none costs as little and takes a shorter time, or less and takes as short a one.
fn front(points: &[Option<(f64, f64)>]) -> Vec<bool> {
    let beats = |a: (f64, f64), b: (f64, f64)| a.0 <= b.0 && a.1 <= b.1 && a != b;
    let is_on = |p: &Option<(f64, f64)>| p.is_some_and(|p| !points.iter().flatten().any(|&o| beats(o, p)));
    points.iter().map(is_on).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_is_what_nothing_beats() {
        let points = [(3.0, 1.0), (2.0, 2.0), (2.5, 2.0), (2.0, 2.0), (1.0, 9.0)].map(Some);
        assert_eq!(front(&points), [true, true, false, true, true]);
        assert_eq!(front(&[None, Some((1.0, 1.0))]), [false, true]);
    }

    #[test]
    fn a_fixed_fleet_is_taken_as_it_is() {
        let of = |rate_rps: f64, tried: Vec<Tried>| {
            let entry = CapacityEntry { is_fixed: true, tried, ..entry("a", rate_rps, Some(1.0)) };
            let [standing] = standings(&[entry])[..] else { panic!("one of one") };
            let need = standing.need.unwrap();
            assert_eq!((need.replicas, need.gpus, need.usd_per_hour), (2, 4, Some(4.0)));
            (standing.rank, standing.unranked, standing.is_next, need.headroom)
        };
        let seen = |holds: bool| vec![Tried { replicas: 2, holds: Some(holds) }];
        assert_eq!(of(40.0, Vec::new()), (Some(1), None, true, 3.0));
        assert_eq!(of(40.0, seen(true)), (Some(1), None, false, 3.0));
        assert_eq!(of(40.0, seen(false)), (None, Some(Unranked::Fails), false, 3.0));
        assert_eq!(of(5.0, Vec::new()), (None, Some(Unranked::Fails), false, -0.5));
    }

    fn entry(gpu: &str, rate_rps: f64, usd: Option<f64>) -> CapacityEntry {
        CapacityEntry {
            workload: Vec::new(),
            rate_rps: Some(rate_rps),
            load_rps: 10.0,
            gpus: 4,
            replicas: 2,
            is_fixed: false,
            gpu: gpu.to_owned(),
            usd_per_gpu_hour: usd,
            tokens_per_request: Some(500.0),
            error: None,
            ttft_s: Some(1.0),
            tbt_s: Some(0.1),
            tried: Vec::new(),
        }
    }

    #[test]
    fn a_million_tokens_cost_what_the_load_costs() {
        // 10 requests a second of 500 tokens are 18 million tokens an hour; 3 replicas of two GPUs serve them.
        let per_million = |entry: CapacityEntry| entry.need().unwrap().usd_per_million_tokens;
        assert_eq!(per_million(entry("a", 8.0, Some(3.0))), Some(1.0));
        assert_eq!(per_million(entry("a", 8.0, None)), None);
        assert_eq!(
            per_million(CapacityEntry { tokens_per_request: None, ..entry("a", 8.0, Some(3.0)) }),
            None
        );
    }

    #[test]
    fn only_what_has_a_price_is_ranked_and_by_what_the_load_costs() {
        // Of one replica: 6, 4 and 3 requests a second, so 2, 3 and 4 replicas of two GPUs each.
        let none = CapacityEntry { rate_rps: None, ..entry("d", 1.0, Some(1.0)) };
        let entries = [
            none,
            entry("u", 100.0, None),
            entry("a", 12.0, Some(3.0)),
            entry("b", 8.0, Some(1.0)),
            entry("c", 6.0, Some(1.0)),
        ];
        let standings = standings(&entries);
        let places: Vec<usize> = standings.iter().map(|s| s.place).collect();
        assert_eq!(places, [3, 4, 2, 1, 0]);
        let ranks: Vec<Option<u32>> = standings.iter().map(|s| s.rank).collect();
        assert_eq!(ranks, [Some(1), Some(2), Some(3), None, None]);
        assert_eq!(standings[3].unranked, Some(Unranked::NoPrice));
        assert_eq!(standings[4].unranked, Some(Unranked::NoRate));
        let need = standings[0].need.unwrap();
        assert_eq!((need.replicas, need.gpus, need.usd_per_hour), (3, 6, Some(6.0)));
        assert!((need.load_share - 10.0 / 12.0).abs() < 1e-12);
        assert_eq!(standings[3].need.unwrap().usd_per_hour, None);
    }

    #[test]
    fn what_fails_at_the_load_gets_a_replica_more_and_then_loses_its_rank() {
        // Of one replica 4 and 3 requests a second: 3 and 4 replicas for 10.
        let mut entries = [entry("a", 8.0, Some(1.0)), entry("a", 6.0, Some(1.0))];
        let seen = |entries: &[CapacityEntry]| {
            let all = standings(entries);
            let of = |s: &CapacityStanding| (s.place, s.rank, s.need.map(|need| need.replicas), s.is_next);
            all.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(seen(&entries), [(0, Some(1), Some(3), true), (1, Some(2), Some(4), true)]);
        entries[0].tried.push(Tried { replicas: 3, holds: Some(false) });
        entries[1].tried.push(Tried { replicas: 4, holds: Some(true) });
        // Four replicas of either cost the same; the cheaper request is first.
        assert_eq!(seen(&entries), [(0, Some(1), Some(4), true), (1, Some(2), Some(4), false)]);
        let need = standings(&entries)[0].need.unwrap();
        assert_eq!((need.usd_per_hour, need.headroom), (Some(8.0), 16.0 / 10.0 - 1.0));
        entries[0].tried.push(Tried { replicas: 4, holds: Some(false) });
        assert_eq!(seen(&entries), [(1, Some(1), Some(4), false), (0, None, Some(4), false)]);
        assert_eq!(standings(&entries)[1].unranked, Some(Unranked::Fails));
        // What cannot be simulated keeps its rank and is not tried again.
        entries[0].tried = vec![Tried { replicas: 3, holds: None }];
        assert_eq!(seen(&entries)[0], (0, Some(1), Some(3), false));
    }

    /// The easy workload does not fill the first ranks of a hard one.
    #[test]
    fn each_workload_has_its_own_ranks_and_fronts() {
        let of = |workload: &str, rate_rps: f64| CapacityEntry {
            workload: vec![workload.to_owned()],
            ..entry("a", rate_rps, Some(1.0))
        };
        let all = standings(&[of("511", 8.0), of("4000", 2.0), of("511", 12.0), of("4000", 4.0)]);
        let seen: Vec<_> = all.iter().map(|s| (s.place, s.rank, s.is_next, s.is_on_ttft_front)).collect();
        assert_eq!(
            seen,
            [
                (2, Some(1), true, true),
                (0, Some(2), true, false),
                (3, Some(1), true, true),
                (1, Some(2), true, false),
            ]
        );
    }

    #[test]
    fn the_error_of_the_times_asks_for_replicas_and_a_small_headroom_is_marked() {
        // 4 requests a second of one replica: 3 replicas for 10, with a headroom of a fifth; 4 where times are off by 41 %.
        let need = |error: Option<f64>, load_rps: f64| {
            CapacityEntry { load_rps, error, ..entry("a", 8.0, Some(1.0)) }.need().unwrap()
        };
        assert_eq!(need(None, 10.0).cautious_replicas, None);
        assert_eq!(need(Some(0.1), 10.0).cautious_replicas, Some(3));
        assert_eq!(need(Some(0.41), 10.0).cautious_replicas, Some(4));
        assert!(!need(None, 10.0).is_tight && need(None, 11.0).is_tight);
        // What failed at the load has one replica more already.
        let failed = Tried { replicas: 3, holds: Some(false) };
        let entry = CapacityEntry { error: Some(0.1), tried: vec![failed], ..entry("a", 8.0, Some(1.0)) };
        let need = entry.need().unwrap();
        assert_eq!((need.replicas, need.cautious_replicas), (4, Some(4)));
    }

    #[test]
    fn without_any_price_only_equal_gpus_are_ranked() {
        let ranks = |other: &str| {
            let all = standings(&[entry("a", 8.0, None), entry(other, 12.0, None)]);
            all.iter().map(|s| (s.place, s.rank)).collect::<Vec<_>>()
        };
        assert_eq!(ranks("a"), [(1, Some(1)), (0, Some(2))]);
        assert_eq!(ranks("b"), [(0, None), (1, None)]);
    }
}
