//! The batch over time: a row for each seat, and in it the requests that have it one after another, first their prompt, then
//! their decoding. A seat that is empty shows, as under static batching.

use servescope_engine::metrics::seats::Stay;
use servescope_lab::run::Run;

use super::{Axis, AxisKind, Chart, ChartWindow, Mark, Role, ScaleKind, Series, empty};

/// Most seats that can be told apart.
const MOST_SEATS: usize = 40;
/// Most requests that are drawn one by one.
const MOST_STAYS: usize = 6_000;

/// The first replica's batch.
pub(super) fn seats(run: &Run, window: &ChartWindow) -> Chart {
    let report = &run.report;
    let is_in_sight = |stay: &&Stay| {
        stay.replica.index() == 0 && stay.to_us > window.start_us && stay.from_us < window.end_us
    };
    let in_sight = || run.seats().stays.iter().filter(is_in_sight);
    if in_sight().count() > MOST_STAYS {
        return empty("seats", "empty.zoom_in", window.axis());
    }
    let shown = || in_sight().filter(|stay| stay.seat < MOST_SEATS);
    let Some(last) = shown().map(|stay| stay.seat).max() else {
        return empty("seats", "empty.no_iterations", window.axis());
    };
    let part = |role, of: &dyn Fn(&Stay) -> [f64; 2]| {
        let mut series = Series { role, mark: Mark::Bars, ..Series::default() };
        for stay in shown() {
            let [from_us, to_us] = of(stay);
            if to_us <= from_us {
                continue;
            }
            series.x.push(from_us.max(window.start_us) / 1e6);
            series.x2.push(to_us.min(window.end_us) / 1e6);
            series.y.push(stay.seat as f64 + 0.4);
            series.y0.push(stay.seat as f64 - 0.4);
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

#[cfg(test)]
mod tests {
    use servescope_lab::run::Run;
    use servescope_settings::scenario::Scenario;

    fn run(settings: &[(&str, &str)]) -> Run {
        Run::simulate(&Scenario::of_version(4).with(settings).unwrap(), None).unwrap()
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
            let stays = &run.seats().stays;
            let returns = run.report.timeline.preemption_intervals.len();
            assert!(returns > 0 || settings[0] != ("scheduler.kind", "vllm"), "no request is preempted");
            assert_eq!(stays.len(), run.report.results.len() + returns);
            for (place, stay) in stays.iter().enumerate() {
                let others = stays[..place].iter().filter(|other| other.to_us > stay.from_us);
                let (mut together, mut own) = (0, 0);
                for other in others {
                    together += 1;
                    own += usize::from(other.seat == stay.seat);
                }
                assert_eq!(own, 0, "{settings:?}: {stay:?}");
                assert!(stay.seat <= together, "{settings:?}: a lower seat was free for {stay:?}");
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
