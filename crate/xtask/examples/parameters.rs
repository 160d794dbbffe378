//! Prints `www/src/generated/parameters.ts`: what the page's compiler must know of the parameter table, and of the
//! table of steps; with the argument `text`, `parameter-text.json`: the English labels and helps; with `metrics`, `metrics.ts`:
//! the metric table.

use std::fmt::Write as _;

use servescope_lab::metric::table::{COLUMNS, ROWS, Row as MetricRow, STATISTICS};
use servescope_lab::metric::{Direction, USUAL, Unit};
use servescope_output::debugger::rules;
use servescope_output::debugger::sentences::SENTENCES;
use servescope_settings::diagnostic::{CODES, REASONS};
use servescope_settings::parameters::{Kind, TABLE};
use servescope_workload::formats::LOSSES;
use servescope_workload::transform::{FACTS, JOINS, REJECTIONS, STEPS};

fn main() {
    let rows: Vec<Row<'_>> = TABLE
        .iter()
        .map(|row| Row { id: row.id, label: row.label, help: row.help, options: names(row.kind) })
        .collect();
    if std::env::args().nth(1).as_deref() == Some("metrics") {
        print!("{}", metrics());
        return;
    }
    if std::env::args().nth(1).as_deref() == Some("text") {
        let text =
            |row: &Row<'_>| (row.id.to_owned(), serde_json::json!({"label": row.label, "help": row.help}));
        println!("{}", serde_json::Value::Object(rows.iter().map(text).collect()));
        return;
    }
    print!("{}", render(&rows, CODES));
    let kinds = || STEPS.iter().chain(JOINS);
    let fields = kinds().flat_map(|kind| kind.fields.iter().map(|f| format!("{}.{}", kind.name, f.name)));
    let fields: Vec<String> = fields.collect();
    let mut text = String::new();
    list(&mut text, "STEP_NAMES", "StepName", &kinds().map(|kind| kind.name).collect::<Vec<_>>());
    list(&mut text, "STEP_FIELDS", "StepFieldName", &fields.iter().map(String::as_str).collect::<Vec<_>>());
    list(&mut text, "FACT_CODES", "FactCode", &FACTS.iter().map(|(code, _)| *code).collect::<Vec<_>>());
    list(&mut text, "REFUSAL_CODES", "RefusalCode", REJECTIONS);
    text.push_str(
        "\n/** Why something was rejected, with the values of its sentence. */\nexport const REASONS = {\n",
    );
    for (code, names) in REASONS {
        let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        let _ = writeln!(text, "  {}: [{}],", quoted(code), names.join(", "));
    }
    text.push_str("} as const;\nexport type ReasonCode = keyof typeof REASONS;\n");
    list(&mut text, "LOSSES", "Loss", &LOSSES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    let told: Vec<&str> = SENTENCES.iter().map(|row| row.0).collect();
    list(&mut text, "SENTENCE_CODES", "SentenceCode", &told);
    list(&mut text, "RULE_CODES", "RuleCode", rules::CODES);
    print!("{text}");
}

/// One parameter, as far as the page's compiler is concerned.
struct Row<'a> {
    id: &'a str,
    label: &'a str,
    help: &'a str,
    options: &'a [&'a str],
}

/// What a choice can be; nothing for other parameters.
fn names(kind: Kind) -> &'static [&'static str] {
    if let Kind::Choice(names) = kind { names } else { &[] }
}

fn render(rows: &[Row<'_>], codes: &[&str]) -> String {
    let mut text = String::from(
        "// Written by `cargo xtask generate` from the parameter table of crate/settings; a change here is lost.\n",
    );
    let ids: Vec<&str> = rows.iter().map(|row| row.id).collect();
    list(&mut text, "PARAMETER_IDS", "ParameterId", &ids);
    options(&mut text, rows);
    list(&mut text, "DIAGNOSTIC_CODES", "DiagnosticCode", codes);
    text
}

fn list(text: &mut String, constant: &str, name: &str, items: &[&str]) {
    let _ = writeln!(text, "\nexport const {constant} = [");
    for item in items {
        let _ = writeln!(text, "  {},", quoted(item));
    }
    let _ = writeln!(text, "] as const;\nexport type {name} = (typeof {constant})[number];");
}

/// The names of the values of every choice.
fn options(text: &mut String, rows: &[Row<'_>]) {
    let _ = writeln!(text, "\nexport const OPTIONS = {{");
    for row in rows.iter().filter(|row| !row.options.is_empty()) {
        let names: Vec<String> = row.options.iter().map(|name| quoted(name)).collect();
        let _ = writeln!(text, "  {}: [{}],", quoted(row.id), names.join(", "));
    }
    let _ = writeln!(text, "}} as const;\nexport type Choice = keyof typeof OPTIONS;");
}

/// The metric table: units, names in English, and what a comparison and a sweep offer.
fn metrics() -> String {
    let mut text = String::from(
        "// Written by `cargo xtask generate` from the metric table of crate/lab; a change here is lost.\n",
    );
    list(&mut text, "UNITS", "MetricUnit", &Unit::ALL.map(Unit::symbol));
    list(&mut text, "STATISTICS", "Statistic", &STATISTICS.iter().map(|(key, _)| *key).collect::<Vec<_>>());
    let _ = writeln!(
        text,
        "\n/** One number, or one for each of its keys: `PATH.KEY`. */\nexport interface MetricRow {{ path: string; unit: MetricUnit; better: 'less' | 'more' | 'neither'; keys: readonly string[] }}"
    );
    for (constant, rows) in [("METRICS", ROWS), ("COLUMNS", COLUMNS)] {
        let _ = writeln!(text, "\nexport const {constant}: readonly MetricRow[] = [");
        for row in rows {
            let keys: Vec<String> = row.keys().into_iter().map(quoted).collect();
            let better = match row.better {
                Direction::Less => "less",
                Direction::More => "more",
                Direction::Neither => "neither",
            };
            let _ = writeln!(
                text,
                "  {{ path: {}, unit: {}, better: '{better}', keys: [{}] }},",
                quoted(row.path),
                quoted(row.unit.symbol()),
                keys.join(", ")
            );
        }
        let _ = writeln!(text, "];");
    }
    let _ = writeln!(text, "\n/** What they are called in English. */\nexport const METRIC_NAMES = {{");
    let mut named = |kind: &str, rows: &[MetricRow]| {
        for row in rows {
            let key = format!("{kind}.{}", row.path);
            let _ = writeln!(text, "  {}: {},", quoted(&key), quoted(row.name));
        }
    };
    named("metric", ROWS);
    named("column", COLUMNS);
    let _ = writeln!(text, "}} as const;");
    list(&mut text, "USUAL", "UsualMetric", USUAL);
    text
}

/// Every JSON string is a string of TypeScript.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_becomes_typescript() {
        let rows = [
            Row { id: "workload.rate_rps", label: "Rate", help: "The \"offered\" rate", options: &[] },
            Row { id: "fleet.router", label: "Router", help: "", options: &["random", "round_robin"] },
        ];
        let expected = r#"// Written by `cargo xtask generate` from the parameter table of crate/settings; a change here is lost.

export const PARAMETER_IDS = [
  "workload.rate_rps",
  "fleet.router",
] as const;
export type ParameterId = (typeof PARAMETER_IDS)[number];

export const OPTIONS = {
  "fleet.router": ["random", "round_robin"],
} as const;
export type Choice = keyof typeof OPTIONS;

export const DIAGNOSTIC_CODES = [
  "out_of_range",
] as const;
export type DiagnosticCode = (typeof DIAGNOSTIC_CODES)[number];
"#;
        assert_eq!(render(&rows, &["out_of_range"]), expected);
    }
}
