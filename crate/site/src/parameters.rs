//! The parameter reference, made of the parameter table.

use std::fmt::Write as _;

use servescope_settings::notes::words;
use servescope_settings::parameters::{GROUPS, Kind, Parameter, TABLE};

/// The headings of the groups, in the order of [`GROUPS`].
const HEADINGS: [&str; GROUPS.len()] = [
    "The first controls",
    "Lengths of prompts and answers",
    "Replicas and GPUs",
    "A model of your own",
    "Waiting queue and scheduler",
    "Admission gateway",
    "KV memory",
    "Adapters",
    "Users",
    "Clients of different kinds",
    "Sessions",
    "Shared prefixes",
    "Iteration time",
    "SLO",
    "Capacity search",
    "Trace files",
    "Rate over time",
    "Lengths over time",
    "A request of your own",
    "Sampling of request bodies",
    "The run",
];

/// The page as Markdown.
pub(crate) fn markdown() -> String {
    let mut text = "# Parameters\n\nAfter reading this page you can set every parameter, by a scenario file, `--set PATH=VALUE` or \
                    the address of the page, and know when it has an effect. It is made of the parameter table; `servescope schema` \
                    prints the same as JSON Schema.\n\nThe key is that of the address: `#v=5&KEY=VALUE`. A setting without effect is \
                    told wherever it is given.\n"
        .to_owned();
    for (group, heading) in GROUPS.iter().zip(HEADINGS) {
        let _ = writeln!(text, "\n## {heading}\n");
        text.push_str(
            "| parameter | key | unit | values | default | what it is |\n|---|---|---|---|---|---|\n",
        );
        for row in TABLE.iter().filter(|row| row.group == *group) {
            let _ = writeln!(text, "{}", line(row));
        }
    }
    text
}

fn line(row: &Parameter) -> String {
    let mut reported = format!("**{}.** {}", row.label, row.help);
    if !row.applies.is_empty() {
        let conditions: Vec<String> = row.applies.iter().map(words).collect();
        let _ = write!(reported, " *Acts where {}.*", conditions.join(", and "));
    }
    if row.scores_only {
        reported.push_str(" *Changes the score of a run, not the run.*");
    }
    if !row.aliases.is_empty() {
        let names: Vec<String> = row.aliases.iter().map(|name| format!("`{name}`")).collect();
        let _ = write!(reported, " Also read as {}.", names.join(", "));
    }
    let cells = [
        format!("`{}`", row.id),
        format!("`{}`", row.key),
        row.unit.to_owned(),
        values(&row.kind),
        default(row),
        reported,
    ];
    format!("| {} |", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
}

fn values(kind: &Kind) -> String {
    match kind {
        Kind::Number { min, max, .. } => format!("{min} to {max}"),
        Kind::Whole { min, max, .. } => format!("whole, {min} to {max}"),
        Kind::Choice(names) => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        Kind::Flag(_) => "`true`, `false`".to_owned(),
        Kind::List { min, max, whole, .. } => {
            format!("a list of {}numbers, {min} to {max}", if *whole { "whole " } else { "" })
        }
        Kind::Text { most } => format!("texts between \\|, at most {most} characters"),
    }
}

fn default(row: &Parameter) -> String {
    match row.kind {
        Kind::Text { .. } => String::new(),
        Kind::List { .. } => row.default_value().to_text().replace(',', ", "),
        Kind::Choice(_) | Kind::Flag(_) => format!("`{}`", row.default_value().to_text()),
        Kind::Number { .. } | Kind::Whole { .. } => row.default_value().to_text(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::render;

    #[test]
    fn every_parameter_has_a_row_with_all_cells() {
        let page = render("parameters", &markdown());
        for row in &TABLE {
            assert_eq!(
                page.body.matches(&format!("<tr><td><code>{}</code></td>", row.id)).count(),
                1,
                "{}",
                row.id
            );
        }
        assert_eq!(page.body.matches("<td>").count(), 6 * TABLE.len());
    }
}
