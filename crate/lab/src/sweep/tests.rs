use proptest::prelude::*;

use super::*;

fn sweep(over: &[&str], seeds: usize) -> Sweep {
    let mut base = Scenario::of_version(4);
    base.set_text("workload.duration_s", "20").unwrap();
    let axes = over.iter().map(|text| SweepAxis::parse(text).unwrap()).collect();
    let metrics = Metric::parse_all(["ttft_s.mean", "ttft_s.p99", "requests.completed"]).unwrap();
    Sweep::new(&base, axes, metrics, seeds, None).unwrap()
}

fn lines(sweep: &Sweep) -> Vec<SweepLine> {
    (0..sweep.runs()).map(|index| sweep.simulate(index, None)).collect()
}

fn text<'l>(sweep: &Sweep, lines: impl IntoIterator<Item = &'l SweepLine>) -> String {
    lines.into_iter().map(|line| line.text(sweep.shape()) + "\n").collect()
}

#[test]
fn runs_are_every_combination_with_the_seeds_fastest() {
    let sweep = sweep(&["workload.rate_rps=1,2", "scheduler.order=fcfs,vtc"], 3);
    assert_eq!(sweep.runs(), 12);
    let of = |index: usize| (sweep.point(index)[0].clone(), sweep.point(index)[1].clone(), sweep.seed(index));
    assert_eq!(of(0), (json!(1), json!("fcfs"), 42));
    assert_eq!(of(4), (json!(1), json!("vtc"), 43));
    assert_eq!(of(11), (json!(2), json!("vtc"), 44));
    let line = sweep.simulate(4, None);
    let one = crate::run::Run::simulate(&sweep.scenario(4), None).unwrap();
    assert_eq!(line.digest, Some(one.summary().run.digest));
    assert_eq!(line.values[0], one.summary().run.ttft_s.mean);
}

#[test]
fn bad_sweeps_are_told_with_what_is_wrong() {
    let message = |over: &[&str], metrics: &[&str], seeds: usize| {
        let axes = over.iter().map(|text| SweepAxis::parse(text).unwrap()).collect();
        let metrics = Metric::parse_all(metrics.iter().copied()).unwrap();
        Sweep::new(&Scenario::of_version(4), axes, metrics, seeds, None).unwrap_err().message
    };
    let rate = "workload.rate_rps=1:2:1000";
    assert!(message(&[], &["preemptions"], 1).contains("1 to 4 parameters"));
    assert!(message(&[rate], &[], 1).contains("at least one number"));
    assert!(message(&[rate, rate], &["preemptions"], 1).contains("named twice"));
    assert!(message(&[rate], &["preemptions"], 0).contains("seeds: 0 is not between 1"));
    assert!(message(&[rate], &["preemptions"], 201).contains("1000 x 201 runs are more than 200000"));
    let cv = "workload.arrivals.cv=1:2:1000";
    assert!(message(&[rate, cv], &["preemptions"], 1).contains("1000 x 1000 x 1 runs"));
}

#[test]
fn a_point_that_makes_no_run_has_its_error() {
    let sweep = sweep(&["workload.input_tokens.low=8,900"], 1);
    let line = sweep.simulate(1, None);
    assert!(line.error.as_ref().unwrap().contains("workload.input_tokens.high"));
    assert_eq!((line.digest.as_ref(), line.values[0]), (None, None));
    let results = Results::of(sweep.shape(), &lines(&sweep));
    assert!(results.table()[2][1].contains("workload.input_tokens.high"));
    assert!(results.csv().lines().nth(2).unwrap().starts_with("900,,,,0,"));
}

#[test]
fn finished_runs_are_skipped_and_a_torn_line_is_left_out() {
    let sweep = sweep(&["workload.rate_rps=1,2,3"], 1);
    let all = lines(&sweep);
    let whole = text(&sweep, [&all[2], &all[0]]);
    let resumed = resume(whole.as_bytes(), sweep.shape()).unwrap();
    assert_eq!(resumed.lines.keys().copied().collect::<Vec<_>>(), [0, 2]);
    assert_eq!((resumed.keep, resumed.is_open), (whole.len(), false));
    assert_eq!(resume(b"", sweep.shape()).unwrap(), Resumed::default());
    let first = all[2].text(sweep.shape()).len() + 1;
    for cut in first + 1..whole.len() {
        let resumed = resume(&whole.as_bytes()[..cut], sweep.shape()).unwrap();
        let is_whole = cut == whole.len() - 1;
        assert_eq!(resumed.lines.len(), 1 + usize::from(is_whole), "{cut}");
        assert_eq!((resumed.keep, resumed.is_open), (if is_whole { cut } else { first }, is_whole));
    }
}

#[test]
fn a_file_of_another_sweep_is_rejected_with_the_reason() {
    let one = sweep(&["workload.rate_rps=1,2"], 1);
    let file = text(&one, &lines(&one));
    let reason = |other: &Sweep| resume(file.as_bytes(), other.shape()).unwrap_err().to_string();
    assert!(
        reason(&sweep(&["fleet.replicas=1,2"], 1))
            .contains("over workload.rate_rps, this one over fleet.replicas")
    );
    assert!(reason(&sweep(&["workload.rate_rps=1,2"], 2)).contains("it has 2 runs, this one 4"));
    assert!(reason(&sweep(&["workload.rate_rps=1,3"], 1)).contains("other values"));
    let changed = file.replacen("\"seed\":42", "\"seed\":43", 1).replacen("\"point\"", "\"points\"", 1);
    assert!(resume(changed.as_bytes(), one.shape()).unwrap_err().to_string().contains("line 1 is no result"));
    let spaced = file.replacen(':', ": ", 1);
    assert!(resume(spaced.as_bytes(), one.shape()).unwrap_err().to_string().contains("it was changed"));
}

#[test]
fn shards_join_to_the_bytes_of_one_machine() {
    let sweep = sweep(&["workload.rate_rps=1:3:3", "workload.arrivals.cv=1,4"], 2);
    let again = Sweep::from_plan(&sweep.plan(), None, None).unwrap();
    assert_eq!(again, sweep);
    let all = lines(&sweep);
    let shard = |i: usize| text(&again, all.iter().skip(i).step_by(3).rev());
    let shards: Vec<String> = (0..3).map(shard).collect();
    let files: Vec<&[u8]> = shards.iter().map(String::as_bytes).collect();
    let (shape, joined) = join(&files).unwrap();
    let bytes: String = joined.iter().map(|line| line.text(&shape) + "\n").collect();
    assert_eq!(bytes, text(&sweep, &all));
    assert_eq!(join(&[files[0], files[0], files[1], files[2]]).unwrap().1.len(), 12);
    let missing = join(&files[1..]).unwrap_err();
    assert_eq!(missing, (None, LinesError::Missing { missing: 4, runs: 12, first: 0 }));
    assert_eq!(join(&[]).unwrap_err().1, LinesError::Empty);
    let torn = join(&[files[0], &files[1][..files[1].len() - 1]]).unwrap_err();
    assert_eq!(torn, (Some(1), LinesError::CutOff { line: 4 }));
    let other = shards[1].replacen("\"requests.completed\":", "\"requests.completed\":1", 1);
    assert!(matches!(join(&[files[1], other.as_bytes()]), Err((Some(1), LinesError::Twice { line: 1, .. }))));
}

/// A value that equals its default counts as given: an axis over the calibration leaves it.
#[test]
fn a_plan_keeps_what_was_given_even_where_it_is_the_default() {
    let mut base = Scenario::of_version(4);
    let default = base.get(servescope_settings::parameters::Id::DecodeBase).to_text();
    base.set_text("cost.linear.decode_base_ms", &default).unwrap();
    let axis = SweepAxis::parse("cost.calibration=a100-80-opt-13b").unwrap();
    let metrics = Metric::parse_all(["ttft_s.mean"]).unwrap();
    let sweep = Sweep::new(&base, vec![axis], metrics, 1, None).unwrap();
    let again = Sweep::from_plan(&sweep.plan(), None, None).unwrap();
    let last = again.scenario(again.runs() - 1);
    assert_eq!(last.get(servescope_settings::parameters::Id::DecodeBase).to_text(), default);
}

#[test]
fn a_changed_plan_is_rejected() {
    let sweep = sweep(&["workload.rate_rps=1,2"], 2);
    let plan = sweep.plan();
    let error = |text: &str| Sweep::from_plan(text, None, None).unwrap_err().to_string();
    assert!(error("").contains("no plan"));
    assert!(error("{}").contains("made_by is missing"));
    assert_eq!(
        error(&plan.replacen("\"index\":1", "\"index\":7", 1)),
        "line 3 is not what the first line of the plan says"
    );
    assert_eq!(error(&format!("{plan}{{}}\n")), "line 6 is not what the first line of the plan says");
    assert!(error(&plan.replacen("ttft_s.mean", "ttft_s.man", 1)).contains("ttft_s.mean"));
    assert!(error(&plan.replacen("[1,2]", "[1,2,3]", 1)).contains("line 1"));
    assert!(
        error(&plan.replacen("\"trace\":null", "\"trace\":\"00\"", 1))
            .contains("made with a trace 00, here it is none")
    );
    assert!(error(&plan.replacen("servescope 0", "servescope 9", 1)).contains("it was made by servescope 9"));
    let trace =
        LoadedTrace::from_trace("t", servescope_workload::generate(&Scenario::of_version(4).workload()));
    assert!(Sweep::from_plan(&plan, Some(&trace), None).unwrap_err().to_string().contains("here it is"));
}

#[test]
fn results_are_means_over_the_seeds() {
    let sweep = sweep(&["workload.rate_rps=1,4,16"], 4);
    let all = lines(&sweep);
    let results = Results::of(sweep.shape(), &all);
    assert_eq!(results.rows.len(), 3);
    let cell = results.rows[1].cells[0].unwrap();
    let mean = all[4..8].iter().map(|line| line.values[0].unwrap()).sum::<f64>() / 4.0;
    assert!((cell.mean - mean).abs() < 1e-12 && cell.count == 4);
    assert!(cell.bounds.unwrap().low < mean);
    assert!(results.axes[0].is_log());
    assert_eq!(results.to_json()["points"][1]["metrics"]["ttft_s.mean"]["mean"], json!(cell.mean));
    assert_eq!(results.csv().lines().count(), 4);
    assert_eq!(results.csv().lines().next().unwrap().split(',').count(), 14);
    assert!(results.table()[1][1].contains(" ± "));
}

proptest! {
    #![proptest_config(servescope_testkit::cases(200, 5_000))]

    /// Any bytes, and any bytes within a file of lines: an error or lines, never a panic, and what is kept is read again.
    #[test]
    fn no_bytes_make_a_reader_panic(at in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 0..40), cut in any::<bool>()) {
        let shape = SweepShape { id: "0".into(), runs: 3, paths: vec!["a".into()], metrics: vec!["m".into()] };
        let line = |index: usize| SweepLine {
            index, point: vec![json!(1.5)], seed: 1, values: vec![Some(0.25)], digest: None, error: None,
        };
        let mut file: Vec<u8> = (0..3).flat_map(|i| (line(i).text(&shape) + "\n").into_bytes()).collect();
        let at = at.index(file.len());
        if cut { file.truncate(at) } else { file.splice(at..at, bytes.clone()); }
        for file in [&file, &bytes] {
            if let Ok(resumed) = resume(file, &shape) {
                prop_assert!(resumed.keep <= file.len());
                let again = resume(&file[..resumed.keep], &shape).unwrap();
                prop_assert_eq!(again.lines, resumed.lines);
            }
            let _ = join(&[file, file]);
            let _ = Sweep::from_plan(&String::from_utf8_lossy(file), None, None);
        }
    }

    /// Any change of one character of a plan is an error, or changes nothing.
    #[test]
    fn no_plan_makes_the_reader_panic(at in any::<prop::sample::Index>(), c in "[0-9a-z\\[\\]{},:.\"\\- ]") {
        let sweep = sweep(&["workload.rate_rps=1,2"], 1);
        let mut plan = sweep.plan();
        let at = at.index(plan.len());
        plan.replace_range(at..=at, &c);
        if let Ok(read) = Sweep::from_plan(&plan, None, None) {
            let again = read.plan();
            prop_assert_eq!(again.trim_end(), plan.trim_end());
        }
    }
}

/// The server of one request at a time, whose service takes a second in the mean.
fn single_server(settings: &[(&str, &str)]) -> Scenario {
    let mut scenario = crate::closed_forms::all()[0].scenario.clone();
    let duration = if servescope_testkit::is_whole() { "100000" } else { "20000" };
    for (path, value) in settings.iter().chain(&[("workload.duration_s", duration)]) {
        scenario.set_text(path, value).unwrap();
    }
    scenario
}

/// Whatever the load, simulated waits lie within three standard errors of the closed form of their queue.
#[test]
fn sweeps_of_load_follow_their_closed_forms() {
    const LOADS: &str = "workload.rate_rps=0.1,0.3,0.5,0.7,0.8,0.9,0.95";
    let uniform = [
        ("workload.output_tokens.kind", "uniform"),
        ("workload.output_tokens.low", "500"),
        ("workload.output_tokens.high", "1500"),
    ];
    let bursts = [("workload.arrivals.cv", "2")];
    for (name, settings) in [("M/M/1", &[][..]), ("M/G/1", &uniform[..]), ("GI/M/1", &bursts[..])] {
        let metrics = Metric::parse_all(["queue_s.mean", "e2e_s.mean"]).unwrap();
        let axis = SweepAxis::parse(LOADS).unwrap();
        let sweep = Sweep::new(&single_server(settings), vec![axis], metrics, 32, None).unwrap();
        let mut results = Results::of(sweep.shape(), &lines(&sweep));
        results.expected = sweep.expected().into_iter().map(|one| one.unwrap().points).collect();
        for row in &results.rows {
            for (place, cell) in row.cells.iter().enumerate() {
                let (reported, cell) = (results.expected(row, place).unwrap(), cell.unwrap());
                let bounds = cell.bounds.unwrap();
                // Half the interval of 32 seeds is 2.040 standard errors.
                let error = 0.5 * (bounds.high - bounds.low) / 2.040;
                assert_eq!(reported.model, name);
                let apart = (cell.mean - reported.value).abs() / error;
                assert!(apart <= 3.0, "{name} at {:?}: {cell:?}, {reported:?}: {apart}", row.point);
            }
        }
    }
}

#[test]
fn a_closed_form_stands_beside_the_points_that_it_speaks_of() {
    let metrics = Metric::parse_all(["queue_s.mean", "ttft_s.p99"]).unwrap();
    let axes = ["workload.rate_rps=0.5,0.8,1.5", "scheduler.order=fcfs,lifo"]
        .map(|text| SweepAxis::parse(text).unwrap());
    let sweep = Sweep::new(&single_server(&[]), axes.into(), metrics, 1, None).unwrap();
    let expected = sweep.expected();
    let [Some(queue), None] = expected.as_slice() else { panic!("{expected:?}") };
    let held: Vec<bool> = queue.points.iter().map(Option::is_some).collect();
    assert_eq!(held, [true, false, true, false, false, false]);
    let broken: Vec<String> = queue.obstacles.iter().map(ToString::to_string).collect();
    assert_eq!(broken, ["scheduler.order is lifo, not fcfs"]);
    let made_up = |index: usize| {
        let mut line = sweep.line(index, Err(Vec::new()));
        (line.values, line.error) = (vec![Some(2.0), Some(9.0)], None);
        line
    };
    let lines: Vec<SweepLine> = (0..sweep.runs()).map(made_up).collect();
    let mut results = Results::of(sweep.shape(), &lines);
    assert!(!results.csv().contains("model") && results.to_json()["points"][0]["expected"].is_null());
    results.expected = vec![queue.points.clone(), Vec::new()];
    let value = results.expected(&results.rows[0], 0).unwrap().value;
    assert!((value / (0.5 * 1.9990 / (2.0 * 0.5)) - 1.0).abs() < 1e-6, "{value}");
    let csv = results.csv();
    let head = "queue_s.mean (s),queue_s.mean.low (s),queue_s.mean.high (s),queue_s.mean.seeds,queue_s.mean.model,queue_s.mean.expected (s)";
    assert!(csv.lines().next().unwrap().contains(head), "{csv}");
    assert!(csv.lines().nth(1).unwrap().contains(&format!(",1,M/M/1,{value},")), "{csv}");
    assert!(csv.lines().nth(2).unwrap().contains(",1,,,"), "{csv}");
    assert_eq!(results.to_json()["points"][0]["expected"]["queue_s.mean"]["model"], "M/M/1");
    assert_eq!(
        results.table()[0],
        ["workload.rate_rps", "scheduler.order", "queue_s.mean (s)", "model", "ttft_s.p99 (s)"]
    );
    assert!(results.table()[1][3].ends_with(" M/M/1"), "{:?}", results.table());
    assert_eq!(results.table()[2][3], "-");
}
