//! What a trace has in place of the workload's settings that it decides.

use servescope_settings::parameters::Id;
use servescope_workload::Trace;
use servescope_workload::fit::LabelFit;
use servescope_workload::statistics::{PERCENTILES, Spread, Statistics};

/// The numbers of a trace, each under the parameter of the workload that says the same of generated requests: rate, cv,
/// lengths, users and adapters with the skew of their shares. A trace that does not have one (no rate without a span, no skew
/// with one adapter) leaves it out.
pub fn settings(trace: &Trace, statistics: &Statistics) -> Vec<(Id, f64)> {
    let lengths = |spread: &Option<Spread>, ids: [Id; 7]| {
        let values = spread.as_ref().map(|s| {
            let at = |p: f64| s.percentiles[PERCENTILES.iter().position(|x| *x == p).unwrap_or(0)];
            [s.mean, s.cv * s.mean, s.min, s.max, at(50.0), at(90.0), at(99.0)]
        });
        values.into_iter().flat_map(move |values| ids.into_iter().zip(values)).collect::<Vec<_>>()
    };
    let skew = |labels: &[u32], id: Id| {
        let fit = LabelFit::of(labels)?;
        let power = fit.distributions.iter().find(|distribution| distribution.distribution == "power")?;
        Some((id, power.parameter?))
    };
    let mut found = vec![(Id::Duration, statistics.span_s)];
    found.extend(statistics.rate_rps.map(|rate| (Id::Rate, rate)));
    found.extend(statistics.gaps_s.as_ref().map(|gaps| (Id::Cv, gaps.cv)));
    found.push((Id::Adapters, statistics.adapters as f64));
    found.extend(skew(&trace.adapter, Id::Alpha));
    found.push((Id::Users, statistics.users as f64));
    found.extend(skew(&trace.user, Id::UserAlpha));
    found.extend(lengths(
        &statistics.input_tokens,
        [
            Id::InputMean,
            Id::InputDeviation,
            Id::InputLow,
            Id::InputHigh,
            Id::InputMedian,
            Id::InputP90,
            Id::InputP99,
        ],
    ));
    found.extend(lengths(
        &statistics.output_tokens,
        [
            Id::OutputMean,
            Id::OutputDeviation,
            Id::OutputLow,
            Id::OutputHigh,
            Id::OutputMedian,
            Id::OutputP90,
            Id::OutputP99,
        ],
    ));
    found
}

#[cfg(test)]
mod tests {
    use servescope_settings::notes::{NoteContext, Purpose, Reason, Traffic, idle};
    use servescope_settings::scenario::Scenario;

    use super::*;
    use crate::inspect;

    const FILE: &str = "arrival_s,input_tokens,output_tokens,user,adapter\n0,100,20,0,0\n1,300,40,0,0\n3,200,30,1,1\n4,200,30,0,0\n";

    #[test]
    fn a_trace_says_what_its_own_statistics_say() {
        let inspected = inspect::file("t.csv", FILE.as_bytes(), None).unwrap();
        let trace = inspected.loaded.unwrap().trace;
        let found = settings(&trace, &Statistics::of(&trace));
        let of = |id: Id| found.iter().find(|(other, _)| *other == id).map(|(_, value)| *value);
        let reported = |place: &str| inspected.json.pointer(place).and_then(serde_json::Value::as_f64);
        assert_eq!(of(Id::Rate), reported("/rate_rps"));
        assert_eq!(of(Id::Rate), Some(1.0));
        // The file's statistics are told to twelve digits.
        let cv = of(Id::Cv).zip(reported("/gaps_s/cv"));
        assert!(cv.is_some_and(|(own, reported)| (own - reported).abs() < 1e-11), "{cv:?}");
        assert_eq!(of(Id::InputMean), Some(200.0));
        assert_eq!(of(Id::OutputHigh), Some(40.0));
        assert_eq!((of(Id::Adapters), of(Id::Users)), (Some(2.0), Some(2.0)));
        assert!(of(Id::Alpha).is_some_and(|alpha| alpha < 1.0), "{:?}", of(Id::Alpha));
    }

    #[test]
    fn a_trace_says_nothing_of_what_it_does_not_decide_or_have() {
        let inspected = inspect::file("t.csv", b"arrival_s,input_tokens,output_tokens\n2,100,20\n", None);
        let trace = inspected.unwrap().loaded.unwrap().trace;
        let found = settings(&trace, &Statistics::of(&trace));
        let has = |id: Id| found.iter().any(|(other, _)| *other == id);
        assert!(!has(Id::Rate) && !has(Id::Cv) && !has(Id::Alpha) && has(Id::InputMean));
        let traffic = Some(Traffic::of(&trace));
        let context = NoteContext { purpose: Purpose::Page, traffic, is_generated: false };
        for (id, value) in found {
            assert_eq!(idle(&Scenario::of_version(4), &context, id), Some(Reason::File), "{}", id.row().id);
            assert!(value.is_finite(), "{}", id.row().id);
        }
    }
}
