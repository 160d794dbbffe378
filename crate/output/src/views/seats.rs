//! The batch over time: a row for each seat, and in it the requests that have it one after another, first their prompt, then
//! their decoding. A seat that is empty shows, as under static batching.

use servescope_engine::Report;
use servescope_lab::run::Run;
use servescope_workload::statistics::sort_by_number;

use super::{Axis, AxisKind, Chart, ChartWindow, Mark, Role, ScaleKind, Series, empty};

/// Most seats that can be told apart.
const MOST_SEATS: usize = 40;
/// Most requests that are drawn one by one.
const MOST_STAYS: usize = 6_000;

/// A request in the batch, from its admission or return to its end or preemption, microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stay {
    id: usize,
    from_us: f64,
    to_us: f64,
}

/// The first replica's batch.
pub(super) fn seats(run: &Run, window: &ChartWindow) -> Chart {
    let report = &run.report;
    let stays = stays(report);
    let is_in_sight = |stay: &Stay| stay.to_us > window.start_us && stay.from_us < window.end_us;
    if stays.iter().filter(|stay| is_in_sight(stay)).count() > MOST_STAYS {
        return empty("seats", "empty.zoom_in", window.axis());
    }
    let taken = take_seats(&stays);
    let in_sight =
        || stays.iter().zip(&taken).filter(|(stay, seat)| **seat < MOST_SEATS && is_in_sight(stay));
    let Some(last) = in_sight().map(|(_, seat)| *seat).max() else {
        return empty("seats", "empty.no_iterations", window.axis());
    };
    let part = |role, of: &dyn Fn(&Stay) -> [f64; 2]| {
        let mut series = Series { role, mark: Mark::Bars, ..Series::default() };
        for (stay, &seat) in in_sight() {
            let [from_us, to_us] = of(stay);
            if to_us <= from_us {
                continue;
            }
            series.x.push(from_us.max(window.start_us) / 1e6);
            series.x2.push(to_us.min(window.end_us) / 1e6);
            series.y.push(seat as f64 + 0.4);
            series.y0.push(seat as f64 - 0.4);
            series.id.push(stay.id as f64);
        }
        series
    };
    let first_token =
        |stay: &Stay| report.first_token_us(stay.id).unwrap_or(f64::INFINITY).clamp(stay.from_us, stay.to_us);
    let series = vec![
        part(Role::Prefill, &|stay| [stay.from_us, first_token(stay)]),
        part(Role::Decode, &|stay| [first_token(stay), stay.to_us]),
    ];
    let y = Axis {
        unit: "seat",
        scale: ScaleKind::Linear,
        kind: AxisKind::Index,
        min: -0.5,
        max: last as f64 + 0.5,
    };
    window.chart("seats", y, series)
}

/// Every stay in the batch of the first replica, the first to begin first.
fn stays(report: &Report) -> Vec<Stay> {
    let end_us = report.end_us();
    let mut stays: Vec<Stay> = Vec::new();
    // The last stay of each request.
    let mut last = vec![None; report.results.len()];
    for (id, result) in report.results.iter().enumerate() {
        let Some(from_us) = report.scheduled_us(id).filter(|_| usize::from(report.replica(id)) == 0) else {
            continue;
        };
        let to_us = result.finish_us.unwrap_or(end_us).max(from_us);
        last[id] = Some(stays.len());
        stays.push(Stay { id, from_us, to_us });
    }
    // A preempted request gives its seat up until it returns; its absences are there in the order of its returns.
    for away in &report.timeline.preemption_intervals {
        let id = away.request.index();
        let Some(place) = last[id] else { continue };
        let to_us = std::mem::replace(&mut stays[place].to_us, away.start_us);
        last[id] = Some(stays.len());
        stays.push(Stay { id, from_us: away.end_us, to_us });
    }
    sort_by_number(&mut stays, |stay| stay.from_us);
    stays
}

/// The seat of each stay: the lowest that is free when it begins.
fn take_seats(stays: &[Stay]) -> Vec<usize> {
    let mut ends: Vec<(f64, usize)> =
        stays.iter().enumerate().map(|(place, stay)| (stay.to_us, place)).collect();
    sort_by_number(&mut ends, |end| end.0);
    let mut ended = ends.into_iter().peekable();
    let mut free = std::collections::BTreeSet::new();
    let mut seats = Vec::with_capacity(stays.len());
    let mut known = 0;
    for stay in stays {
        while let Some((_, place)) = ended.next_if(|&(end, place)| end <= stay.from_us && place < seats.len())
        {
            free.insert(seats[place]);
        }
        seats.push(free.pop_first().unwrap_or_else(|| {
            known += 1;
            known - 1
        }));
    }
    seats
}

#[cfg(test)]
mod tests {
    use super::*;
    use servescope_settings::scenario::Scenario;

    fn run(settings: &[(&str, &str)]) -> Run {
        Run::simulate(&Scenario::of_version(4).with(settings).unwrap(), None).unwrap()
    }

    #[test]
    fn the_lowest_free_seat_is_taken() {
        let stay = |from_us, to_us| Stay { id: 0, from_us, to_us };
        let stays = [stay(0.0, 10.0), stay(1.0, 4.0), stay(2.0, 9.0), stay(4.0, 5.0), stay(9.0, 12.0)];
        assert_eq!(take_seats(&stays), [0, 1, 2, 1, 1]);
    }

    /// No two requests have a seat at once, and the seats in use are the requests in the batch.
    #[test]
    fn seats_are_the_batch() {
        for settings in [
            &[("workload.duration_s", "60"), ("workload.arrivals.cv", "3")][..],
            &[
                ("scheduler.kind", "vllm"),
                ("scheduler.max_total_tokens", "3000"),
                ("workload.duration_s", "60"),
            ],
            &[
                ("scheduler.kind", "static"),
                ("scheduler.max_running_requests", "8"),
                ("workload.duration_s", "60"),
            ],
        ] {
            let run = run(settings);
            let stays = stays(&run.report);
            let taken = take_seats(&stays);
            let returns = run.report.timeline.preemption_intervals.len();
            assert!(returns > 0 || settings[0] != ("scheduler.kind", "vllm"), "no request is preempted");
            assert_eq!(stays.len(), run.report.results.len() + returns);
            for (place, stay) in stays.iter().enumerate() {
                let others =
                    stays[..place].iter().zip(&taken).filter(|(other, _)| other.to_us > stay.from_us);
                let (mut together, mut own) = (0, 0);
                for (_, seat) in others {
                    together += 1;
                    own += usize::from(*seat == taken[place]);
                }
                assert_eq!(own, 0, "{settings:?}: {stay:?}");
                assert!(taken[place] <= together, "{settings:?}: a lower seat was free for {stay:?}");
            }
            let stayed: f64 = stays.iter().map(|stay| stay.to_us - stay.from_us).sum();
            let mut results = run.report.results.iter().enumerate();
            let away: f64 =
                run.report.timeline.preemption_intervals.iter().map(|away| away.end_us - away.start_us).sum();
            let whole = results.try_fold(0.0, |sum, (id, result)| {
                Some(sum + result.finish_us? - run.report.scheduled_us(id)?)
            });
            let whole = whole.expect("all requests end");
            assert!((stayed + away - whole).abs() < 1.0, "{settings:?}: {stayed} + {away} of {whole}");
        }
    }
}
