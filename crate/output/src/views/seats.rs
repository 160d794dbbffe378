//! The batch over time: a row for each seat, and in it the requests that have it one after another, first their prompt, then
//! their decoding, and when it stands still. A seat that is empty shows, as under static batching.

use servescope_engine::metrics::seats::Stay;
use servescope_engine::report::Report;
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
    let part = |role, of: &dyn Fn(&Stay) -> Vec<[f64; 2]>| {
        let mut series = Series { role, mark: Mark::Bars, ..Series::default() };
        for stay in shown() {
            for [from_us, to_us] in of(stay).into_iter().filter(|[from_us, to_us]| from_us < to_us) {
                series.x.push(from_us.max(window.start_us) / 1e6);
                series.x2.push(to_us.min(window.end_us) / 1e6);
                series.y.push(stay.seat as f64 + 0.4);
                series.y0.push(stay.seat as f64 - 0.4);
                series.id.push(stay.id as f64);
            }
        }
        series
    };
    let first_token =
        |stay: &Stay| report.first_token_us(stay.id).unwrap_or(f64::INFINITY).clamp(stay.from_us, stay.to_us);
    let stalls = stalls(report, window);
    let stalled = |stay: &Stay| -> Vec<[f64; 2]> {
        let decodes_us = first_token(stay);
        let begun = &stalls[stalls.partition_point(|stall| stall[1] <= decodes_us)..];
        let during = begun.iter().take_while(|stall| stall[0] < stay.to_us);
        during.map(|stall| [stall[0].max(decodes_us), stall[1].min(stay.to_us)]).collect()
    };
    let mut series = vec![
        part(Role::Prefill, &|stay| vec![[stay.from_us, first_token(stay)]]),
        part(Role::Decode, &|stay| vec![[first_token(stay), stay.to_us]]),
    ];
    // Over the decoding that they interrupt.
    let interrupted = part(Role::Stalled, &stalled);
    series.extend((!interrupted.x.is_empty()).then_some(interrupted));
    let y = Axis {
        unit: "seat",
        scale: ScaleKind::Linear,
        kind: AxisKind::Index,
        min: -0.5,
        max: last as f64 + 0.5,
    };
    window.chart("seats", y, series)
}

/// When the first replica computes and none of its requests decodes, one span for iterations that follow each other, in order.
/// Spans too short to be seen are left out.
fn stalls(report: &Report, window: &ChartWindow) -> Vec<[f64; 2]> {
    let mut spans: Vec<[f64; 2]> = Vec::new();
    // Until when the iterations of other stages decode.
    let mut decoding_us = f64::NEG_INFINITY;
    let iterations = report.timeline.iterations.iter();
    let own = iterations.filter(|run| run.replica.index() == 0 && run.end_us > window.start_us);
    for run in own.take_while(|run| run.start_us < window.end_us) {
        let from_us = run.start_us.max(decoding_us);
        if run.decodes > 0 {
            if let Some(last) = spans.last_mut() {
                last[1] = last[1].min(run.start_us);
            }
            decoding_us = decoding_us.max(run.end_us);
        } else if let Some(last) = spans.last_mut().filter(|last| from_us <= last[1]) {
            last[1] = last[1].max(run.end_us);
        } else {
            spans.push([from_us, run.end_us]);
        }
    }
    let column_us = (window.end_us - window.start_us) / window.columns as f64;
    spans.retain(|[from_us, to_us]| to_us - from_us >= column_us);
    spans
}

#[cfg(test)]
mod tests {
    use servescope_lab::run::Run;
    use servescope_settings::scenario::Scenario;

    use super::{Chart, ChartWindow, Role, seats};
    use crate::views::ViewOptions;

    fn run(settings: &[(&str, &str)]) -> Run {
        Run::simulate(&Scenario::of_version(4).with(settings).unwrap(), None).unwrap()
    }

    fn chart(run: &Run, columns: usize) -> Chart {
        seats(run, &ChartWindow::of(run, &ViewOptions { columns, ..ViewOptions::default() }))
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
    /// Prompts of 4,000 tokens every two seconds, between which a request gets some hundred tokens.
    const LONG_PROMPTS: [(&str, &str); 12] = [
        ("workload.duration_s", "12"),
        ("workload.rate_rps", "0.5"),
        ("workload.arrivals.kind", "even"),
        ("workload.adapters.count", "0"),
        ("workload.input_tokens.kind", "fixed"),
        ("workload.input_tokens.value", "4000"),
        ("workload.output_tokens.kind", "fixed"),
        ("workload.output_tokens.value", "500"),
        ("scheduler.max_request_tokens", "8192"),
        ("cost.kind", "kernels"),
        ("fleet.gpu", "h100_sxm"),
        ("fleet.model", "llama-3.1-8b"),
    ];

    /// Where prompts are computed before decodes, the decodes stand still for as long as that takes; where both share an iteration, they
    /// never do.
    #[test]
    fn decodes_stall_while_prompts_are_computed_alone() {
        let under = |kind| {
            let run = run(&[&LONG_PROMPTS[..], &[("scheduler.kind", kind)]].concat());
            let stalled = chart(&run, 4096).series.into_iter().find(|series| series.role == Role::Stalled);
            (stalled, run.summary().run.tbt_s.max.unwrap())
        };
        let (stalled, gap_s) = under("sglang");
        let stalled = stalled.expect("decodes stall");
        let longest_s = stalled.x.iter().zip(&stalled.x2).map(|(from, to)| to - from).fold(0.0, f64::max);
        // A gap is its stall and the decode behind it.
        assert!(longest_s < gap_s && longest_s > 0.8 * gap_s, "{longest_s} of {gap_s}");
        let (none, _) = under("vllm_v1");
        assert!(none.is_none(), "every iteration has the decodes");
    }

    /// A stall is a part of the decoding of the request whose seat it is in.
    #[test]
    fn stalls_lie_within_decoding() {
        let run = run(&[&LONG_PROMPTS[..], &[("scheduler.kind", "sglang")]].concat());
        let [_, decode, stalled] = &chart(&run, 4096).series[..] else { panic!("three series") };
        for place in 0..stalled.x.len() {
            let within = |bar: usize| {
                decode.id[bar] == stalled.id[place]
                    && decode.x[bar] <= stalled.x[place]
                    && stalled.x2[place] <= decode.x2[bar]
                    && decode.y[bar] == stalled.y[place]
            };
            assert!((0..decode.x.len()).any(within), "stall {place}");
        }
    }
}
