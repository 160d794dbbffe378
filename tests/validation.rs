//! The simulator against closed forms (a small version; `servescope validate` runs the whole) and against S-LoRA's
//! published rows.

use servescope_evidence::measured::operators::{held_out, samples};
use servescope_evidence::measured::splitwise::{self, Predictor, Quantity};
use servescope_evidence::published::policies::is_in_order;
use servescope_evidence::published::sglang::SlotComparison;
use servescope_evidence::published::{peft, single_run};
use servescope_evidence::validate::{
    Effort, closed_forms, closed_forms_table, operators_table, policies, policies_table, predictions,
    predictions_table, published, published_table, servers, servers_table, slots, slots_table,
    splitwise_table, thresholds_table,
};
use servescope_evidence::{silicon, thresholds};
use servescope_lab::run::Run;
use servescope_settings::scenario::Scenario;

#[test]
fn closed_forms_hold() {
    let checks = closed_forms(Effort::QUICK, 2);
    println!("{}", closed_forms_table(&checks));
    for id in ["A1", "A2", "A3", "A4", "A5", "A6", "A9", "A11", "A12"] {
        assert!(checks.iter().any(|c| c.form.id == id), "{id} is not checked");
    }
    for check in &checks {
        assert!(
            check.is_met(),
            "{}: {} is {:.1} standard errors from {}; gap in Little's law {:e}",
            check.form.title,
            check.mean,
            check.errors_apart(),
            check.form.value,
            check.little_gap
        );
    }
}

#[test]
fn saturated_servers_serve_what_is_known() {
    let rows = thresholds::check(thresholds::thresholds());
    println!("{}", thresholds_table(&rows));
    for row in &rows {
        assert!(row.is_met(), "{}: {} instead of {}", row.threshold.title, row.found, row.threshold.value);
    }
}

#[test]
fn policies_are_reproduced() {
    let rows = policies();
    println!("{}", policies_table(&rows));
    for row in &rows {
        assert!(row.is_within(), "{:?}: attainment {:+.3}", row.row, row.attainment_error());
    }
    assert!(is_in_order(&rows), "early abort, LIFO and FCFS come in another order");
}

#[test]
fn batches_of_one_adapter_are_slower_as_published() {
    let rows = servers();
    println!("{}", servers_table(&rows));
    for row in &rows {
        assert!(row.is_within(), "{:?}: throughput {:+.3}", row.row, row.throughput_error());
    }
    assert!(peft::is_in_order(&rows), "the servers come in another order");
}

#[test]
fn a_measured_run_with_adapter_slots_lies_between_two_rules() {
    let rows = slots();
    println!("{}", slots_table(&rows));
    assert!(rows.iter().all(SlotComparison::is_explained));
}

/// What is known to hold of the calibration on one run a GPU; the table says which four of the others are off.
#[test]
fn most_rows_are_predicted_from_one_run_a_gpu() {
    let rows = predictions();
    println!("{}", predictions_table(&rows));
    assert!(single_run::is_in_order(&rows), "early abort, LIFO and FCFS come in another order");
    let predicted: Vec<_> = rows.iter().filter(|row| !row.is_settling()).collect();
    assert_eq!((rows.len(), predicted.len()), (71, 65));
    for row in &predicted {
        assert!(row.throughput_error().is_none_or(|e| e.abs() <= single_run::THROUGHPUT_BOUND), "{row:?}");
    }
    assert!(predicted.iter().filter(|row| row.is_within()).count() >= 61);
}

#[test]
fn published_rows_are_reproduced() {
    let rows = published();
    println!("{}", published_table(&rows));
    assert_eq!(rows.len(), 36);
    for row in &rows {
        assert!(
            row.is_within(),
            "{:?}: throughput {:+.1} %, attainment {:+.3}",
            row.row,
            100.0 * row.throughput_error(),
            row.attainment_error()
        );
    }
}

/// Corrections fitted on two models predict a third: a whole layer within 6 % (median) and 25 % (P95), single products within
/// 10 % (median).
#[test]
fn the_roofline_predicts_models_that_it_was_not_fitted_on() {
    println!("{}", operators_table());
    let rows = held_out(&samples());
    assert_eq!(rows.len(), 20);
    for row in rows {
        let (layer, products) = (row.layer, row.products);
        let reported = format!("{} {}", row.gpu, row.model);
        assert!(layer.median < 0.065 && layer.p95 < 0.25, "{reported}: layer {layer:?}");
        assert!(products.median < 0.10, "{reported}: products {products:?}");
    }
}

/// What is known to hold against Splitwise's medians; the table says the rest.
#[test]
fn the_roofline_is_as_near_to_splitwise_as_stated() {
    println!("{}", splitwise_table());
    let points = splitwise::points();
    let sheet = splitwise::errors_of(&points, Quantity::Token, Predictor::Datasheet, |_| true);
    assert_eq!(sheet.count, 102);
    assert!(sheet.signed < -0.5, "peaks are a lower bound: {sheet:?}");
    let launched = splitwise::errors_of(&points, Quantity::Token, Predictor::Launched, |_| true);
    assert!(launched.size < 0.16, "{launched:?}");
    let scaled = splitwise::errors_of(&points, Quantity::Token, Predictor::Scaled, |_| true);
    assert!(scaled.size < 0.08, "{scaled:?}");
    let prompts = splitwise::errors_of(&points, Quantity::OnePrompt, Predictor::Fitted, |_| true);
    assert!(prompts.size < 0.25, "{prompts:?}");
}

/// S-LoRA's table 3: one adapter a batch (PEFT) serves less than S-LoRA, and the less the more adapters there are.
#[test]
fn one_adapter_a_batch_serves_less_the_more_adapters_there_are() {
    let throughput_rps = |adapters: &str, order: &str| {
        let mut scenario = Scenario::of_version(4);
        for (path, value) in [
            ("cost.kind", "profile"),
            ("fleet.model", "llama-2-7b"),
            ("workload.rate_rps", "10"),
            ("workload.duration_s", "120"),
            ("workload.adapters.ranks", "8"),
            ("workload.adapters.count", adapters),
            ("scheduler.order", order),
        ] {
            scenario.set_text(path, value).unwrap();
        }
        Run::simulate(&scenario, None).unwrap().summary().run.throughput_rps.unwrap()
    };
    let [few, many] = ["5", "100"].map(|n| (throughput_rps(n, "fcfs"), throughput_rps(n, "peft")));
    assert!(few.0 > 2.0 * few.1 && many.0 > 5.0 * many.1, "{few:?} {many:?}");
    assert!(few.1 > 2.0 * many.1 && (few.0 / many.0 - 1.0).abs() < 0.05, "{few:?} {many:?}");
}

/// The measured rows, where they are.
fn measured_rows() -> Option<Vec<silicon::SiliconRow>> {
    let file = servescope_tests::named_folder("SERVESCOPE_SILICON")?.join("silicon_a.csv");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    Some(silicon::read(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display())))
}

/// Holds a recorded file to what was found; `SERVESCOPE_BLESS=1` writes it again.
fn recorded_is(path: &str, found: &str) {
    let path = format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("SERVESCOPE_BLESS").is_some() {
        std::fs::write(path, found).unwrap();
        return;
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let place = recorded.lines().zip(found.lines()).position(|(one, other)| one != other);
    assert!(recorded == found, "{path} is not what was found, from line {} on", place.map_or(0, |p| p + 1));
}

#[test]
fn the_expected_errors_are_those_of_the_measured_rows_left_out() {
    let Some(rows) = measured_rows() else { return };
    recorded_is("crate/settings/src/expected-errors.txt", &silicon::expected_errors(&rows));
}

#[test]
fn the_pages_deployments_are_the_measured_rows_with_what_is_predicted() {
    let Some(rows) = measured_rows() else { return };
    let path = "static/published/deployments.json";
    if std::env::var_os("SERVESCOPE_BLESS").is_some() || servescope_testkit::is_whole() {
        let predicted: Vec<_> = rows.iter().map(silicon::predict).collect();
        return recorded_is(path, &silicon::shipped(&rows, &predicted));
    }
    // The deployments with many ranks and thousands of requests in flight take minutes.
    let text = std::fs::read_to_string(format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let recorded: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (place, row) in rows.iter().enumerate().filter(|(_, row)| row.mode == "agg" || is_short(row)) {
        let found = silicon::predict(row).ok().map(|answer| [answer.ttft_ms, answer.tpot_ms]);
        for (column, ms) in [("own_ttft_ms", found.map(|ms| ms[0])), ("own_tpot_ms", found.map(|ms| ms[1]))] {
            let kept = recorded["rows"][column][place].as_f64();
            let is_kept = kept.zip(ms).map_or(kept == ms, |(kept, ms)| (kept / ms - 1.0).abs() < 1e-4);
            assert!(is_kept, "{path}, row {place}, {column}: {kept:?}, found {ms:?}");
        }
    }
}

/// Whether a row's run makes few tokens.
fn is_short(row: &silicon::SiliconRow) -> bool {
    row.in_flight.is_none_or(|in_flight| in_flight * row.output_tokens <= 100_000)
}
