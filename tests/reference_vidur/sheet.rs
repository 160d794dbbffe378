//! Reading the files of the reference: CSV, plain or with gzip, the trace, the operator tables.

use std::path::Path;

use serde_json::Value;
use servescope_workload::trace::Request;
use servescope_workload::{BASE_MODEL, Trace};

/// A CSV file as columns of numbers; an empty cell is NaN.
pub(crate) struct Sheet {
    header: Vec<String>,
    rows: Vec<Vec<f64>>,
}

impl Sheet {
    pub(crate) fn read(path: &Path) -> Self {
        let text = servescope_tests::text(path);
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default().split(',').map(str::to_owned).collect();
        let cell = |c: &str| {
            if c.is_empty() {
                f64::NAN
            } else {
                c.parse().unwrap_or_else(|_| panic!("{}: {c:?}", path.display()))
            }
        };
        let rows = lines.filter(|l| !l.is_empty()).map(|l| l.split(',').map(cell).collect()).collect();
        Self { header, rows }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn column(&self, name: &str) -> Vec<f64> {
        let place = self.header.iter().position(|h| h == name).unwrap_or_else(|| panic!("no column {name}"));
        self.rows.iter().map(|row| row[place]).collect()
    }
}

/// The trace in order of arrival, and the row of each request.
pub(crate) fn trace(path: &Path) -> (Trace, Vec<usize>) {
    let sheet = Sheet::read(path);
    let (arrived, prefill, decode) =
        (sheet.column("arrived_at"), sheet.column("num_prefill_tokens"), sheet.column("num_decode_tokens"));
    let mut order: Vec<usize> = (0..sheet.len()).collect();
    order.sort_by(|&a, &b| arrived[a].total_cmp(&arrived[b]));
    let mut trace = Trace::default();
    for &row in &order {
        let output = decode[row].max(1.0) as u32;
        trace.push(Request {
            arrival_us: arrived[row] * 1e6,
            user: 0,
            adapter: BASE_MODEL,
            input_tokens: prefill[row].max(1.0) as u32,
            output_tokens: output,
            max_tokens: output,
        });
    }
    (trace, order)
}

/// `meta.json` and the texts of the operator tables of a folder.
pub(crate) fn table_texts(folder: &Path) -> (Value, [String; 3]) {
    let file = |name: &str| {
        servescope_tests::file(folder, name).unwrap_or_else(|| panic!("{} has no {name}", folder.display()))
    };
    let texts = ["token_ops.csv", "attn_decode.csv", "attn_prefill_runs.csv"]
        .map(|name| servescope_tests::text(&file(name)));
    (servescope_tests::json(&file("meta.json")), texts)
}
