//! What holds for every step and join, and what each of them does.

use proptest::prelude::*;

use super::*;
use crate::generate::generate;
use crate::sessions::make_closed_loop;
use crate::spec::WorkloadSpec;
use crate::trace::{BASE_MODEL, ClosedLoop, LabelMaker, NO_REQUEST, PrefixBlocks, Request, TraceMetadata};

fn step(text: &str) -> TransformStep {
    TransformStep::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn one(text: &str, trace: Trace) -> (Trace, StepEffect) {
    let (trace, mut notes) = apply(&[step(text)], trace).unwrap_or_else(|error| panic!("{text}: {error}"));
    (trace, notes.remove(0))
}

fn refused(text: &str, trace: Trace) -> StepError {
    apply(&[step(text)], trace).expect_err("the step is refused")
}

/// A trace with every column: five sessions, blocks of 16 tokens, cancellations.
fn full(n: usize) -> Trace {
    let mut trace = generate(&WorkloadSpec {
        rate_rps: 10.0,
        duration_s: n as f64 / 10.0 + 0.05,
        ..WorkloadSpec::default()
    });
    let mut session = LabelMaker::default();
    let mut prefix = PrefixBlocks::new(16);
    for id in 0..trace.len() {
        session.push((id % 6 > 0).then(|| format!("s{}", id % 6)).as_deref());
        prefix.push(
            (0..u64::from(trace.input_tokens[id].div_ceil(16))).map(|block| block * (1 + id as u64 % 3)),
        );
        if id % 7 == 0 {
            trace.cancellations.push((trace.arrival_us[id] + 5e5, id as u32));
        }
    }
    let turn = (0..trace.len() as u32).collect();
    trace.set_metadata(TraceMetadata { session: session.finish(), turn, prefix, ..TraceMetadata::default() });
    make_closed_loop(&mut trace);
    trace
}

/// What must hold of every trace.
fn sound(trace: &Trace) {
    let n = trace.len();
    assert!(trace.arrival_us.is_sorted());
    if let Some(closed_loop) = &trace.closed_loop {
        assert_eq!((closed_loop.depends_on.len(), closed_loop.think_us.len()), (n, n));
        assert!(closed_loop.depends_on.iter().all(|&before| before == NO_REQUEST || (before as usize) < n));
        let sessions = &trace.sessions().index;
        let together = |(id, &before): (usize, &u32)| {
            before == NO_REQUEST || sessions.is_empty() || sessions[id] == sessions[before as usize]
        };
        assert!(closed_loop.depends_on.iter().enumerate().all(together));
    }
    assert!(trace.arrival_us.iter().all(|t| t.is_finite() && *t >= 0.0));
    for column in [&trace.user, &trace.adapter, &trace.input_tokens, &trace.output_tokens, &trace.max_tokens]
    {
        assert_eq!(column.len(), n);
    }
    for id in 0..n {
        assert!(trace.input_tokens[id] > 0 && trace.output_tokens[id] > 0);
        assert!(trace.max_tokens[id] >= trace.output_tokens[id]);
    }
    assert!(trace.cancellations.iter().all(|&(at, id)| at >= trace.arrival_us[id as usize]));
    assert!(trace.cancellations.is_sorted_by(|a, b| a.0 <= b.0));
    if let Some(metadata) = &trace.metadata {
        for column in [&metadata.session.index, &metadata.turn] {
            assert!(column.is_empty() || column.len() == n);
        }
        assert!(metadata.prefix.is_empty() || metadata.prefix.prompts.ends.len() == n);
    }
}

#[test]
fn every_row_of_the_table_is_whole() {
    for kind in STEPS.iter().chain(JOINS) {
        let step = TransformStep::new(kind.name).unwrap();
        assert_eq!(TransformStep::parse(&step.to_text()), Ok(step.clone()), "{}", kind.name);
        assert!(kind.help.ends_with('.'), "{}", kind.name);
        assert_eq!(STEPS.iter().chain(JOINS).filter(|k| k.name == kind.name).count(), 1);
        for field in kind.fields {
            assert!(!field.help.is_empty());
            assert_eq!(field.kind == FieldKind::Choice, !field.options.is_empty());
            let mut again = step.clone();
            again
                .set(field.name, &step.text_of(field.name).unwrap())
                .expect("a default is within its bounds");
            assert_eq!(again, step);
        }
    }
}

#[test]
fn bad_texts_are_told_with_their_field() {
    let message = |text: &str| TransformStep::parse(text).expect_err(text).to_string();
    assert!(message("blur").starts_with("there is no step \"blur\"; known are window, stretch"));
    assert_eq!(message("thin:keep=2"), "thin.keep: 2 is not between 0 and 1");
    assert_eq!(message("thin:keep=NaN"), "thin.keep: a number expected, got \"NaN\"");
    assert_eq!(message("thin:keep="), "thin.keep: a number expected, got \"\"");
    assert_eq!(message("thin:seed=1.5"), "thin.seed: a whole number expected, got \"1.5\"");
    assert_eq!(message("thin:by=day"), "thin.by: one of request, session expected, got \"day\"");
    assert_eq!(message("thin:share=1"), "thin has no field \"share\"; it has keep, by, seed");
    assert_eq!(message("thin:keep"), "thin: FIELD=VALUE expected, got \"keep\"");
    assert_eq!(message("thin:keep=0.1,keep=0.2"), "thin.keep is said twice");
    assert_eq!(
        message("label_adapters:ranks="),
        "label_adapters.ranks: a text without commas expected, got \"\""
    );
    assert_eq!(step("window: end_s = , start_s = 3").to_text(), "window:start_s=3,rezero=yes");
    assert_eq!(step("dequantise:law=even").to_text(), "dequantise:distribution=even,seed=1");
    let repeated = message("dequantise:law=even,distribution=even");
    assert_eq!(repeated, "dequantise.distribution is said twice");
}

#[test]
fn a_window_holds_its_start_and_not_its_end() {
    let mut trace = Trace::default();
    for t in [0.0, 1e6, 1.5e6, 2e6] {
        trace.push(Request {
            arrival_us: t,
            user: 0,
            adapter: BASE_MODEL,
            input_tokens: 1,
            output_tokens: 1,
            max_tokens: 1,
        });
    }
    assert_eq!(one("window:start_s=1,end_s=2", trace.clone()).0.arrival_us, [0.0, 5e5]);
    assert_eq!(one("window:start_s=1,end_s=2,rezero=no", trace.clone()).0.arrival_us, [1e6, 1.5e6]);
    assert_eq!(one("window:start_s=1.2", trace.clone()).0.len(), 2);
    assert_eq!(refused("window:start_s=3", trace.clone()), StepError::NothingLeft { step: "window" });
    assert_eq!(
        refused("shift:by_s=-1", trace.clone()).to_string(),
        "shift: the first request would arrive at -1 s, before time 0"
    );
    assert!(matches!(
        refused("stretch:factor=1e6,", one("stretch:factor=1000", trace).0),
        StepError::TooLate { .. }
    ));
}

#[test]
fn rates_are_met_by_each_policy_in_its_own_way() {
    let spec = WorkloadSpec {
        rate_rps: 20.0,
        duration_s: 500.0,
        arrivals: crate::Arrivals::Gamma { cv: 4.0 },
        ..WorkloadSpec::default()
    };
    let trace = generate(&spec);
    let cv = TraceExtent::of(&trace).gap_cv.unwrap();
    let (stretched, note) = one("rate:rate_rps=5,policy=stretch", trace.clone());
    assert!((note.after.rate_rps.unwrap() - 5.0).abs() < 1e-9);
    assert!((note.after.gap_cv.unwrap() - cv).abs() < 1e-9, "stretching keeps the variation");
    assert_eq!(stretched.len(), trace.len());
    let (thinned, note) = one("rate:rate_rps=5", trace.clone());
    assert!((note.after.rate_rps.unwrap() / 5.0 - 1.0).abs() < 0.01);
    assert!(note.after.gap_cv.unwrap() < 0.8 * cv, "thinning comes nearer to Poisson");
    let more = one("rate:rate_rps=6", trace.clone()).0;
    assert!(thinned.arrival_us.iter().all(|t| more.arrival_us.contains(t)), "a higher rate keeps all");
    let (copied, note) = one("rate:rate_rps=50,policy=copies", trace.clone());
    assert!((note.after.rate_rps.unwrap() / 50.0 - 1.0).abs() < 0.02);
    assert!(copied.len() > 2 * trace.len());
    assert!(matches!(refused("rate:rate_rps=50", trace), StepError::AboveRate { .. }));
}

#[test]
fn sessions_are_kept_whole() {
    let trace = full(600);
    let count = |trace: &Trace, name: &str| {
        (0..trace.len()).filter(|&id| trace.sessions().name(id) == Some(name)).count()
    };
    for text in ["sample_sessions:count=2", "thin:keep=0.5,by=session,seed=3"] {
        let kept = one(text, trace.clone()).0;
        let whole =
            (1..6).filter(|i| count(&kept, &format!("s{i}")) == count(&trace, &format!("s{i}"))).count();
        let none = (1..6).filter(|i| count(&kept, &format!("s{i}")) == 0).count();
        assert_eq!(whole + none, 5, "{text}");
        assert!(whole > 0 && none > 0, "{text}");
    }
    let alone = generate(&WorkloadSpec::default());
    assert_eq!(refused("sample_sessions", alone), StepError::NoSessions { step: "sample_sessions" });
}

#[test]
fn two_steps_of_a_name_draw_apart_and_others_do_not_move_them() {
    let trace = full(4000);
    let (twice, _) = apply(&[step("thin"), step("thin")], trace.clone()).unwrap();
    assert!((twice.len() as f64 - 1000.0).abs() < 5.0 * f64::sqrt(750.0), "{}", twice.len());
    let labelled = apply(&[step("thin"), step("label_users")], trace.clone()).unwrap().0;
    assert_eq!(labelled.arrival_us, one("thin", trace).0.arrival_us);
}

#[test]
fn caps_follow_their_policy() {
    let request = |input_tokens, output_tokens| {
        let mut trace = Trace::default();
        let max_tokens = output_tokens + 100;
        trace.push(Request {
            arrival_us: 0.0,
            user: 0,
            adapter: BASE_MODEL,
            input_tokens,
            output_tokens,
            max_tokens,
        });
        trace
    };
    let capped = |text: &str, input, output| {
        let trace = one(text, request(input, output)).0;
        sound(&trace);
        (trace.input_tokens[0], trace.output_tokens[0])
    };
    assert_eq!(capped("cap_lengths:max_total=100", 80, 40), (80, 20));
    assert_eq!(capped("cap_lengths:max_total=100", 150, 40), (99, 1));
    assert_eq!(capped("cap_lengths:max_total=100,policy=prompt_first", 80, 40), (60, 40));
    assert_eq!(capped("cap_lengths:max_total=100,policy=prompt_first", 80, 140), (1, 99));
    // Vidur: the excess of 20 is shared 2 to 1, each part rounded up.
    assert_eq!(capped("cap_lengths:max_total=100,policy=proportional", 80, 40), (66, 33));
    assert_eq!(capped("cap_lengths:max_total=2,policy=proportional", 80, 1), (1, 1));
    assert_eq!(capped("cap_lengths:max_input=7,max_output=9", 80, 40), (7, 9));
    assert!(matches!(
        refused("cap_lengths:max_input=7,policy=drop", request(8, 1)),
        StepError::NothingLeft { .. }
    ));
}

#[test]
fn prefix_blocks_follow_the_lengths() {
    let trace = full(200);
    for text in
        ["scale_lengths:input=0.3", "scale_lengths:input=2.5,output=0.001", "cap_lengths:max_input=40"]
    {
        let (made, note) = one(text, trace.clone());
        let metadata = made.metadata.as_ref().unwrap();
        for id in 0..made.len() {
            let blocks = metadata.prefix.of(id);
            assert_eq!(blocks.len() as u32, made.input_tokens[id].div_ceil(16), "{text}");
            let before = trace.metadata.as_ref().unwrap().prefix.of(id);
            let same = blocks.len().min(before.len());
            assert_eq!(blocks[..same], before[..same]);
        }
        assert!(note.facts.iter().any(|fact| fact.code.starts_with("blocks_")));
    }
    assert_eq!(one("scale_lengths", trace.clone()).0, trace);
}

#[test]
fn stamps_are_found_and_spread() {
    // Batches about 3 s apart with a jitter of 1 ms, as in Mooncake's traces.
    let poisson = generate(&WorkloadSpec { rate_rps: 4.0, duration_s: 3000.0, ..WorkloadSpec::default() });
    let mut stamped = poisson.clone();
    for t in &mut stamped.arrival_us {
        let stamp = (*t / 3e6).floor();
        *t = stamp * 3e6 + 1e3 * (stamp % 2.0);
    }
    stamped.sort();
    let (spread, note) = one("dequantise", stamped.clone());
    let interval = note.facts.iter().find(|f| f.code == "spread").unwrap().params[1].1;
    assert!((interval - 3.0).abs() < 0.01, "{interval}");
    let (cv, was) = (note.after.gap_cv.unwrap(), note.before.gap_cv.unwrap());
    assert!((cv - 1.0).abs() < 0.05 && was > 2.0, "{was} -> {cv}");
    sound(&spread);
    let even = one("dequantise:distribution=even", stamped).0;
    assert!(TraceExtent::of(&even).gap_cv.unwrap() < 0.9);
    assert_eq!(refused("dequantise", poisson.clone()), StepError::NoStamps { step: "dequantise" });
    // Whole seconds with idle time between.
    let mut seconds = poisson;
    seconds.arrival_us.iter_mut().for_each(|t| *t = (*t / 1e6).floor() * 7e6);
    let interval = crate::statistics::stamps::stamp_interval(&seconds.arrival_us).unwrap().0;
    assert!((interval - 7e6).abs() < 1.0, "{interval}");
}

#[test]
fn labels_follow_their_distribution() {
    let trace = full(6000);
    let shares = |trace: &Trace| {
        let mut counts = vec![0.0; trace.user_count()];
        trace.user.iter().for_each(|&user| counts[user as usize] += 1.0 / trace.len() as f64);
        counts
    };
    let zipf = one("label_users:count=4,distribution=zipf,s=1", trace.clone()).0;
    let weights = [0.48, 0.24, 0.16, 0.12];
    assert!(shares(&zipf).iter().zip(weights).all(|(share, weight)| (share - weight).abs() < 0.03));
    let size = one("label_users:count=4,distribution=size,s=0", trace.clone()).0;
    assert!(shares(&size).iter().all(|share| (share - 0.25).abs() < 1e-3));
    let longest = |user: u32| {
        let of = |id: &usize| size.user[*id] == user;
        let total = |id: usize| size.input_tokens[id] + size.output_tokens[id];
        (0..size.len()).filter(of).map(total).fold((u32::MAX, 0), |(a, b), t| (a.min(t), b.max(t)))
    };
    assert!(longest(0).1 <= longest(1).0);
    let session = one("label_adapters:count=3,distribution=session,ranks=8/16", trace.clone()).0;
    assert_eq!(session.adapter_rank, [8, 16, 8]);
    for id in 12..session.len() {
        if session.sessions().name(id).is_some() {
            assert_eq!(session.adapter[id], session.adapter[id - 6]);
        }
    }
    assert!(matches!(refused("label_adapters:ranks=8;16", trace.clone()), StepError::BadValue { .. }));
    let base = one("label_adapters:count=0", trace).0;
    assert!(base.adapter.iter().all(|&a| a == BASE_MODEL) && base.adapter_rank.is_empty());
}

#[test]
fn traces_are_put_together_by_the_original_rules() {
    let trace = full(20);
    let two = || vec![("a".to_owned(), trace.clone()), ("b".to_owned(), trace.clone())];
    let last = trace.arrival_us[19];
    let (after, note) = join(&step("concat"), two()).unwrap();
    sound(&after);
    assert_eq!(after.arrival_us[20], last + trace.arrival_us[0]);
    assert_eq!(note.facts[1].to_text(), format!("trace 2 starts {:.3} s in", last / 1e6));
    let (gap, _) = join(&step("concat:gap_s=7"), two()).unwrap();
    assert_eq!(gap.arrival_us[20], trace.arrival_us[0] + (last + 7e6));
    let (merged, _) = join(&step("merge:label=user"), two()).unwrap();
    assert_eq!(merged.user[..4], [0, 1, 0, 1]);
    let (merged, _) = join(&step("merge:label=kind,identity=separate"), two()).unwrap();
    sound(&merged);
    assert!(merged.closed_loop.is_some());
    let metadata = merged.metadata.as_ref().unwrap();
    assert_eq!((metadata.kind.name(0), metadata.kind.name(1)), (Some("a"), Some("b")));
    assert_eq!((metadata.session.name(2), metadata.session.name(3)), (Some("s1"), Some("2/s1")));
    assert!(metadata.prefix.of(0).iter().all(|block| !metadata.prefix.of(1).contains(block)));
    assert_eq!(merged.adapter_count(), 2 * trace.adapter_count());
    let (upon, _) = join(&step("superpose:offset_s=0.25"), two()).unwrap();
    assert_eq!(upon.len(), 40);
    assert!(upon.arrival_us.contains(&(trace.arrival_us[3] + 2.5e5)));
    assert_eq!(join(&step("thin"), two()), Err(StepError::TakesOne { step: "thin" }));
    assert_eq!(apply(&[step("merge")], trace.clone()), Err(StepError::NeedsSeveral { step: "merge" }));
    let mut other = trace.clone();
    other.adapter_rank.fill(99);
    let clash = vec![("a".to_owned(), trace.clone()), ("b".to_owned(), other)];
    assert!(matches!(join(&step("merge"), clash.clone()), Err(StepError::RankConflict { rank: 99, .. })));
    assert!(join(&step("merge:identity=separate"), clash).is_ok());
}

fn any_step() -> impl Strategy<Value = TransformStep> {
    let kind = prop::sample::select((0..STEPS.len()).collect::<Vec<_>>());
    (kind, prop::collection::vec(0.0..1.0f64, 6)).prop_map(|(kind, draws)| {
        let mut step = TransformStep::new(STEPS[kind].name).unwrap();
        for (field, u) in STEPS[kind].fields.iter().zip(draws) {
            let text = match field.kind {
                FieldKind::Text => continue,
                FieldKind::Choice => field.options[(u * field.options.len() as f64) as usize].to_owned(),
                FieldKind::Number => (field.min + u * u * u * u * (field.max - field.min)).to_string(),
                FieldKind::Whole => (field.min + u * (field.max.min(1e4) - field.min)).floor().to_string(),
            };
            step.set(field.name, &text).unwrap();
        }
        step
    })
}

proptest! {
    #[test]
    fn steps_are_read_as_they_were_written(step in any_step()) {
        prop_assert_eq!(TransformStep::parse(&step.to_text()), Ok(step));
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[a-z_]{0,12}(:[a-z_=0-9.,e-]{0,30})?") {
        let _ = TransformStep::parse(&text);
    }

    #[test]
    fn every_pipeline_gives_a_sound_trace_or_an_error(
        steps in prop::collection::vec(any_step(), 1..4),
        n in 1usize..60,
    ) {
        let first = apply(&steps, full(n));
        if let Ok((trace, notes)) = &first {
            sound(trace);
            prop_assert_eq!(notes.len(), steps.len());
            prop_assert_eq!(notes[notes.len() - 1].after.requests, trace.len());
            for note in notes {
                prop_assert!(!note.to_text().contains('{'), "{}", note.to_text());
            }
        }
        prop_assert_eq!(first, apply(&steps, full(n)));
    }
}

#[test]
fn every_time_that_a_step_makes_can_be_written() {
    let mut trace = generate(&WorkloadSpec::default());
    trace.cancellations = vec![(MAX_ARRIVAL_S * 1e6, 0)];
    let later = TransformStep::parse("shift:by_s=1").unwrap();
    assert!(matches!(apply(&[later], trace.clone()), Err(StepError::TooLate { .. })));
    trace.cancellations.clear();
    trace.arrival_us.iter_mut().for_each(|t| *t += 10e6);
    let mut closed_loop = ClosedLoop { until_us: 4e6, ..ClosedLoop::default() };
    (0..trace.len()).for_each(|_| closed_loop.push(NO_REQUEST, 0.0));
    trace.closed_loop = Some(Box::new(closed_loop));
    let earlier = TransformStep::parse("shift:by_s=-8").unwrap();
    let (earlier, _) = apply(&[earlier], trace).unwrap();
    assert_eq!(earlier.closed_loop.unwrap().until_us, 0.0);
}
