//! How many drafts were accepted, by their position.

use servescope_lab::run::Run;

use super::{Axis, AxisKind, Chart, Mark, Role, ScaleKind, Series};

/// The share of verifications in which the draft at each position was accepted, as bars, beside the chance that the settings give it,
/// as a step line. `None`: no draft was verified.
pub(super) fn accepted_drafts(run: &Run) -> Option<Chart> {
    let drafts = run.report.drafts.as_deref()?;
    let verified: Vec<f64> = drafts.verified.iter().map(|&count| count as f64).collect();
    let positions = verified.iter().take_while(|&&count| count > 0.0).count();
    let edges = |last: usize| (0..last).map(|place| place as f64 + 0.5);
    let accepted = (0..positions).map(|place| drafts.accepted[place] as f64 / verified[place]);
    let bars = Series {
        role: Role::Decode,
        mark: Mark::Bars,
        x: edges(positions).map(|edge| edge + 0.1).collect(),
        x2: edges(positions).map(|edge| edge + 0.9).collect(),
        y: accepted.collect(),
        ..Series::default()
    };
    let mut given = run.scenario.draft_survival()[..positions].to_vec();
    given.extend(given.last().copied());
    let line = Series {
        role: Role::Expected,
        mark: Mark::Step,
        x: edges(positions + 1).collect(),
        y: given,
        ..Series::default()
    };
    let axis = |unit, kind, min, max| Axis { unit, scale: ScaleKind::Linear, kind, min, max };
    Some(Chart {
        name: "accepted_drafts",
        x: axis("draft", AxisKind::Index, 0.5, positions as f64 + 0.5),
        y: axis("share", AxisKind::Value, 0.0, 1.0),
        series: vec![bars, line],
        empty: "",
        categories: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use servescope_settings::scenario::Scenario;

    use super::*;

    fn chart(settings: &[(&str, &str)]) -> Option<Chart> {
        let own = [
            ("scheduler.kind", "vllm_v1"),
            ("workload.adapters.count", "0"),
            ("workload.duration_s", "30"),
            ("workload.rate_rps", "4"),
        ];
        let scenario = Scenario::of_version(5).with(&[&own[..], settings].concat()).expect("settings");
        accepted_drafts(&Run::simulate(&scenario, None).expect("a run"))
    }

    /// Thousands of verifications come near the chances that were set, position by position.
    #[test]
    fn a_run_accepts_about_what_was_set() {
        let of = chart(&[
            ("cost.speculation.method", "eagle"),
            ("cost.speculation.num_speculative_tokens", "4"),
            ("cost.speculation.rate", "0.6"),
        ])
        .expect("drafts");
        let [bars, line] = &of.series[..] else { panic!("two series") };
        assert_eq!((bars.y.len(), line.y.len()), (4, 5));
        for (place, (seen, given)) in bars.y.iter().zip(&line.y).enumerate() {
            assert!((given - libm::pow(0.6, place as f64 + 1.0)).abs() < 1e-12, "{given}");
            assert!((seen - given).abs() < 0.02, "position {}: {seen}, set {given}", place + 1);
        }
        assert!(bars.x[0] > of.x.min && bars.x2[3] < of.x.max);
    }

    #[test]
    fn without_drafts_there_is_no_chart() {
        assert_eq!(chart(&[]), None);
    }
}
