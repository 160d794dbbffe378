//! Measurements: engine and generator natively, engine, studio and page in a browser, and the page's sizes.

pub(crate) mod peers;

use std::fmt::Write as _;
use std::process::Command;

use serde_json::{Map, Value, json};

use crate::process::{self, TaskResult};
use crate::project::Project;
use crate::sizes;

/// Measures, prints the numbers as one JSON document and as a table, and writes the document where asked.
pub(crate) fn run(project: &Project, out: Option<&str>) -> TaskResult {
    let sizes = sizes::measure(project)?;
    let document = json!({
        "native": native(project, &[])?,
        "generator": native(project, &["--generator"])?,
        "gateway": native(project, &["--gateway"])?,
        "browser": browser(project)?,
        "bytes": {
            "until_ready": sizes.until_ready,
            "later_wasm": sizes.later_wasm,
            "later_js": sizes.later_js,
        },
    });
    print_document(&document, out)
}

/// Prints the document, and writes it where asked.
fn print_document(document: &Value, out: Option<&str>) -> TaskResult {
    let text = format!("{document:#}\n");
    if let Some(file) = out {
        std::fs::write(file, &text).map_err(|error| format!("{file}: {error}"))?;
    }
    print!("{text}\n{}", tables(document));
    Ok(())
}

/// One object a line.
fn native(project: &Project, more: &[&str]) -> TaskResult<Value> {
    let bench = ["run", "--quiet", "--release", "--package", "servescope-cli", "--", "bench", "--json"];
    let printed = process::capture(project.cargo().args(bench).args(more))?;
    let rows: Result<Vec<Value>, _> =
        printed.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str).collect();
    Ok(Value::Array(rows.map_err(|error| format!("servescope bench: {error}"))?))
}

/// One object in all.
fn browser(project: &Project) -> TaskResult<Value> {
    let browser = project.browser()?;
    project.node_modules()?;
    let node = process::find(&["node"]).ok_or("node is missing")?;
    let mut command = Command::new(node);
    command.arg("tests/bench/bench.mjs").current_dir(project.www());
    browser.set_variables(&mut command);
    let printed = process::capture(&mut command)?;
    serde_json::from_str(&printed).map_err(|error| format!("tests/bench/bench.mjs: {error}"))
}

/// A table for every list of objects in the document, a line for every other value.
fn tables(document: &Value) -> String {
    let mut text = String::new();
    add(&mut text, "", document);
    text
}

fn add(text: &mut String, path: &str, value: &Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                add(text, &path, field);
            }
        }
        Value::Array(items) => {
            let rows: Vec<&Map<String, Value>> = items.iter().filter_map(Value::as_object).collect();
            let _ = writeln!(text, "{path}");
            add_rows(text, &rows);
        }
        single => {
            let _ = writeln!(text, "{path}: {}", cell(single));
        }
    }
}

fn add_rows(text: &mut String, rows: &[&Map<String, Value>]) {
    let Some(first) = rows.first() else { return };
    let names: Vec<&String> = first.keys().collect();
    let mut lines = vec![names.iter().map(|name| (*name).clone()).collect::<Vec<String>>()];
    lines.extend(rows.iter().map(|row| {
        names.iter().map(|name| row.get(*name).map_or_else(String::new, cell)).collect::<Vec<String>>()
    }));
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..names.len()).map(width).collect();
    for line in &lines {
        for (cell, width) in line.iter().zip(&widths) {
            let _ = write!(text, "  {cell:>width$}");
        }
        text.push('\n');
    }
}

/// Three significant digits are what such a measurement is worth.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(word) => word.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(real) if number.is_f64() && real.abs() >= 100.0 => format!("{real:.0}"),
            Some(real) if number.is_f64() && real.abs() >= 1.0 => format!("{real:.2}"),
            Some(real) if number.is_f64() => format!("{real:.3}"),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_line_up() {
        let document = json!({
            "native": [
                { "name": "small", "requests": 1000, "simulate_rps": 123_456.7 },
                { "name": "large", "requests": 100_000, "simulate_rps": 98.25 },
            ],
            "browser": { "ready_ms": 412.25, "first_minute": [{ "bound": null, "measured": 3 }, { "bound": 16.7, "measured": 16.71 }] },
        });
        let expected = "\
native
   name  requests  simulate_rps
  small      1000        123457
  large    100000         98.25
browser.ready_ms: 412
browser.first_minute
  bound  measured
                3
  16.70     16.71
";
        assert_eq!(tables(&document), expected);
    }
}
