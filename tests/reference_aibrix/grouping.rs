//! `09_azure_grouping.json` and `10_mooncake_grouping.json`: rows of traces to groups of equal time.

use serde_json::Value;
use servescope_workload::aibrix::grouping::{
    MOONCAKE_BLOCK_TOKENS, MooncakeRow, azure_groups, azure_rows, mooncake_groups,
};
use servescope_workload::aibrix::inputs::{TraceType, WorkloadInput};

use crate::Case;

/// The text of a case's trace: its own, or rows of a file of the traces' folder; `None` where that file is absent.
fn trace(case: &Case<'_>, own: &str, header_lines: usize) -> Option<String> {
    if let Some(text) = case.input(own).as_str() {
        return Some(text.to_owned());
    }
    let name = case.input("trace").as_str().unwrap_or_else(|| panic!("{case}: no trace"));
    let Some(root) = servescope_tests::named_folder("SERVESCOPE_TRACES") else {
        case.skip("no traces");
        return None;
    };
    // The folder may put the name of the publisher in front.
    let wanted =
        |file: &str| file.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('_'));
    let Some(path) = servescope_tests::files(&root, wanted).into_iter().next() else {
        case.skip(&format!("{name} is absent"));
        return None;
    };
    let text = servescope_tests::text(&path);
    let rows = case.input("data_rows");
    let (from, to) = match (rows[0].as_u64(), rows[1].as_u64()) {
        (Some(from), Some(to)) => (from as usize, to as usize),
        _ => (0, usize::MAX),
    };
    let (header, body): (Vec<_>, Vec<_>) = text.lines().enumerate().partition(|(i, _)| *i < header_lines);
    let wanted = body.into_iter().skip(from).take(to - from);
    Some(header.into_iter().chain(wanted).flat_map(|(_, line)| [line, "\n"]).collect())
}

/// (time, requests) of the recorded groups.
fn recorded(case: &Case<'_>) -> Vec<(f64, Vec<Vec<f64>>)> {
    let groups = case.json["output"].as_array().unwrap_or_else(|| panic!("{case}: no groups"));
    let requests = |list: &Value| list.as_array().into_iter().flatten().map(crate::numbers).collect();
    groups.iter().map(|group| (group[0].as_f64().unwrap_or(f64::NAN), requests(&group[1]))).collect()
}

#[test]
fn azure_grouping() {
    crate::check_all("azure_grouping", |case, _| {
        let Some(text) = trace(case, "csv", 1) else { return };
        let ours = azure_rows(text.as_bytes())
            .and_then(|rows| azure_groups(&rows, case.number("duration_ms"), case.number("interval_ms")));
        let ours = match ours {
            Ok(ours) => ours,
            Err(_) if case.is_error() => return,
            Err(error) => panic!("{case}: {error}"),
        };
        assert!(!case.is_error(), "{case}: not refused");
        let ours: Vec<(f64, Vec<Vec<f64>>)> = ours
            .iter()
            .map(|group| {
                let pair = |r: &_| {
                    let servescope_workload::aibrix::grouping::AzureRow {
                        context_tokens,
                        generated_tokens,
                        ..
                    } = *r;
                    vec![f64::from(context_tokens), f64::from(generated_tokens)]
                };
                (group.timestamp_ms, group.requests.iter().map(pair).collect())
            })
            .collect();
        assert_eq!(ours, recorded(case), "{case}");
    });
}

fn mooncake_row(line: &str) -> Option<MooncakeRow> {
    let object: Value = serde_json::from_str(line).ok()?;
    let whole = |key: &str| object[key].as_u64().and_then(|n| u32::try_from(n).ok());
    Some(MooncakeRow {
        timestamp_ms: object["timestamp"].as_f64()?,
        input_tokens: whole("input_length")?,
        output_tokens: whole("output_length")?,
        blocks: object["hash_ids"].as_array()?.len() as u32,
    })
}

#[test]
fn mooncake_grouping() {
    crate::check_all("mooncake_grouping", |case, _| {
        if !case.input("prompt_file").is_null() {
            let refused =
                TraceType::Mooncake.check(&[WorkloadInput::TrafficFile, WorkloadInput::Prompts]).is_err();
            assert!(refused && case.is_error(), "{case}: a prompt file");
            return;
        }
        let Some(text) = trace(case, "jsonl", 0) else { return };
        let rows: Option<Vec<MooncakeRow>> =
            text.lines().filter(|line| !line.trim().is_empty()).map(mooncake_row).collect();
        let rows = match rows {
            Some(rows) => rows,
            None if case.is_error() => return,
            None => panic!("{case}: a row cannot be read"),
        };
        assert!(!case.is_error(), "{case}: not refused");
        let mut longer = 0;
        let ours: Vec<(f64, Vec<Vec<f64>>)> = mooncake_groups(&rows, case.number("duration_ms"))
            .iter()
            .map(|group| {
                let request = |row: &MooncakeRow| {
                    // AIBrix reports whole blocks; a server sees the prompt's real length.
                    let reported = (u64::from(row.blocks) * MOONCAKE_BLOCK_TOKENS) as f64;
                    longer += usize::from(reported != f64::from(row.input_tokens));
                    vec![reported, row.input_tokens.into(), row.output_tokens.into()]
                };
                (group.timestamp_ms, group.requests.iter().map(request).collect())
            })
            .collect();
        assert_eq!(ours, recorded(case), "{case}");
        if longer > 0 {
            case.defect(&format!(
                "{longer} prompts are reported in whole blocks; the real length is kept beside"
            ));
        }
    });
}
