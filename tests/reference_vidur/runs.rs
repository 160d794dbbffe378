//! `requests.csv`, `batches.csv`: every request and every iteration of a run.

use servescope_engine::Report;

use super::sheet::{Sheet, trace};
use super::{Case, cases};

/// Vidur's files are rounded to a microsecond.
const TOLERANCE_S: f64 = 1e-6;

fn close(ours: f64, theirs: f64, what: impl FnOnce() -> String) {
    assert!((ours - theirs).abs() <= TOLERANCE_S, "{}: {ours} instead of {theirs}", what());
}

fn check_requests(case: &Case, report: &Report, pipelined: bool) -> usize {
    let Some(path) = case.file("requests.csv") else { return 0 };
    let sheet = Sheet::read(&path);
    let rows = sheet.column("request_id");
    let column = |name: &str| sheet.column(name);
    let (scheduled, first, finish) =
        (column("scheduled_at"), column("prefill_completed_at"), column("completed_at"));
    let (stalled, execution) = (column("preempted_time"), column("execution_time"));
    let (replica, restarts) = (column("replica_id"), column("num_restarts"));
    let (_, order) = trace(&case.file("trace.csv").expect("a case has a trace"));
    let mut id_of = vec![usize::MAX; order.len()];
    order.iter().enumerate().for_each(|(id, &row)| id_of[row] = id);
    for (place, &row) in rows.iter().enumerate() {
        let id = id_of[row as usize];
        let what = |kind: &str| format!("{}: request {row}: {kind}", case.name());
        assert_eq!(f64::from(report.replica(id).get()), replica[place], "{}", what("replica"));
        assert_eq!(f64::from(report.preemptions(id)), restarts[place], "{}", what("restarts"));
        let seconds = |us: Option<f64>| us.unwrap_or(f64::NAN) / 1e6;
        close(seconds(report.scheduled_us(id)), scheduled[place], || what("scheduled"));
        close(seconds(report.first_token_us(id)), first[place], || what("first token"));
        close(seconds(report.results[id].finish_us), finish[place], || what("completed"));
        if !pipelined {
            let split = report.split(id).expect("a finished request has a split");
            close(split.stalled_us / 1e6, stalled[place], || what("preempted time"));
        }
        close(seconds(report.execution_us(id)), execution[place], || what("execution time"));
    }
    let finished = report.results.iter().filter(|f| f.finish_us.is_some()).count();
    assert_eq!(finished, rows.len(), "{}: completed requests", case.name());
    servescope_tests::report_cases(&path, rows.len());
    rows.len()
}

/// One iteration of ours: start, duration, replica, prompts, prompt tokens, decoding requests, blocks after it where known.
type Row = (f64, f64, u16, u32, u32, u32, Option<u32>);

fn iterations(report: &Report) -> Vec<Row> {
    let mut rows = Vec::new();
    for run in &report.timeline.iterations {
        for i in 0..run.iterations {
            let k = f64::from(i);
            let start = run.start_us + k * run.first_us + run.growth_us * (k * (k - 1.0) * 0.5);
            let blocks = (i + 1 == run.iterations).then_some(run.blocks);
            let duration = run.first_us + k * run.growth_us;
            rows.push((
                start,
                duration,
                run.replica.get(),
                run.prompts,
                run.prompt_tokens,
                run.decodes,
                blocks,
            ));
        }
    }
    rows
}

fn check_batches(case: &Case, report: &Report) -> usize {
    let Some(path) = case.file("batches.csv") else { return 0 };
    let sheet = Sheet::read(&path);
    let column = |name: &str| sheet.column(name);
    let (start, duration, replica) = (column("scheduled_at"), column("execution_time"), column("replica_id"));
    let (size, prompts, decodes) =
        (column("batch_size"), column("num_prefill_tokens"), column("num_decode_tokens"));
    let mut ours = iterations(report);
    ours.sort_by(|a, b| a.2.cmp(&b.2).then(a.0.total_cmp(&b.0)));
    let mut theirs: Vec<usize> = (0..sheet.len()).collect();
    theirs.sort_by(|&a, &b| replica[a].total_cmp(&replica[b]).then(a.cmp(&b)));
    assert_eq!(ours.len(), theirs.len(), "{}: number of batches", case.name());
    let after = column("memory_usage_percent_at_end");
    let total = f64::from(case.run().pool.blocks);
    for (row, &place) in ours.iter().zip(&theirs) {
        let what = || format!("{}: batch {place}", case.name());
        assert_eq!(f64::from(row.2), replica[place], "{}: replica", what());
        assert_eq!(f64::from(row.3 + row.5), size[place], "{}: size", what());
        assert_eq!(
            (f64::from(row.4), f64::from(row.5)),
            (prompts[place], decodes[place]),
            "{}: tokens",
            what()
        );
        close(row.0 / 1e6, start[place], || format!("{}: start", what()));
        if let Some(blocks) = row.6 {
            // Ours is recorded before finished requests return theirs, so it is never less.
            let freed = f64::from(blocks) - after[place] / 100.0 * total;
            assert!(freed >= -0.01, "{}: {blocks} blocks, {} % after it", what(), after[place]);
        }
        close(row.1 / 1e6, duration[place], || format!("{}: duration", what()));
    }
    servescope_tests::report_cases(&path, ours.len());
    ours.len()
}

#[test]
fn every_request_and_every_batch() {
    for case in cases() {
        let Some(setup) = case.setup() else { continue };
        let report = setup.run();
        println!("{}:", case.name());
        check_requests(&case, &report, setup.run.stages > 1);
        check_batches(&case, &report);
        let steps = setup.fleet(|_| {}).without_fast_forward().with_decisions().run();
        let steps = servescope_tests::causes::add_up(steps, &case.name());
        assert!(steps == report, "{}: leaps differ from single steps", case.name());
    }
}
