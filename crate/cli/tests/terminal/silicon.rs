//! `servescope validate --silicon`: measured deployments, run as they were measured.

use crate::{file, folder, good, json, refused};

/// Two rows that are answered and one that is not.
const ROWS: &str = include_str!("../../../../tests/fuzz/corpus/read_silicon/rows.csv");

#[test]
fn every_row_is_answered_or_says_why_not() {
    let path = file(&folder("silicon"), "rows.csv", ROWS);
    let found = json(&["validate", "--silicon", &path, "--json"]);
    let rows = found["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for (row, id) in rows.iter().zip(["dense", "experts", "apart"]) {
        assert_eq!(row["id"], id);
        assert_eq!(row["error"].is_null(), row["ttft_ms"].is_f64() && row["tpot_ms"].is_f64(), "{row}");
    }
    assert!(rows[0]["error"].is_null() && rows[1]["borrowed"] == false);
    assert_eq!(rows[2]["error"], "numbers of prefill and decode workers not given");
    let summary = found["summary"].as_array().unwrap();
    let all = &summary[0];
    assert_eq!((&all["rows"], &all["answered"]), (&3.into(), &2.into()));
    let left_out = summary.iter().find(|group| group["value"] == "odd hash: left out").unwrap();
    assert_eq!(left_out["rows"], 0);
    let mine = &all["both"]["ours"]["ttft"];
    let expected = rows[0]["ttft_ms"].as_f64().unwrap() / 30.5 - 1.0;
    assert!((mine["bias"].as_f64().unwrap() - expected).abs() < 1e-12, "{mine}");
    assert!((all["aiconfigurator"]["tpot"]["median"].as_f64().unwrap() - (10.0 / 9.25 - 1.0)).abs() < 1e-12);
    let (table, _) = good(&["validate", "--silicon", &path]);
    assert!(
        table.contains("odd hash: left out")
            && table.contains("numbers of prefill and decode workers not given"),
        "{table}"
    );
}

#[test]
fn a_bad_file_is_refused_with_its_place() {
    let bad = file(&folder("silicon-bad"), "rows.csv", &ROWS.replace("30.5", "soon"));
    let printed = refused(&["validate", "--silicon", &bad]);
    assert!(printed.contains("row 2, column silicon_ttft_ms: \"soon\" is not a number"), "{printed}");
    let printed = refused(&["validate", "--silicon", "/nowhere.csv"]);
    assert!(printed.contains("/nowhere.csv"), "{printed}");
}

/// A Parquet file of timed products: `us` microseconds for each of m, n and k.
fn products(path: &std::path::Path, us: impl Fn(i64, i64, i64) -> f64) {
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    let schema = "message rows { REQUIRED BYTE_ARRAY gemm_dtype (UTF8); REQUIRED INT64 m; REQUIRED INT64 n;
        REQUIRED INT64 k; REQUIRED DOUBLE latency; }";
    let mut rows = Vec::new();
    for m in [1, 8, 64, 512, 700, 1024, 4096] {
        for n in [128, 1024, 8192] {
            for k in [128, 1024, 8192] {
                rows.push((m, n, k));
            }
        }
    }
    let file = std::fs::File::create(path).unwrap();
    let schema = std::sync::Arc::new(parse_message_type(schema).unwrap());
    let mut writer =
        SerializedFileWriter::new(file, schema, WriterProperties::builder().build().into()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let names = vec![ByteArray::from("fp8"); rows.len()];
    column.typed::<ByteArrayType>().write_batch(&names, None, None).unwrap();
    column.close().unwrap();
    for pick in [|r: &(i64, i64, i64)| r.0, |r: &(i64, i64, i64)| r.1, |r: &(i64, i64, i64)| r.2] {
        let mut column = group.next_column().unwrap().unwrap();
        let values: Vec<i64> = rows.iter().map(pick).collect();
        column.typed::<Int64Type>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
    }
    let mut column = group.next_column().unwrap().unwrap();
    let values: Vec<f64> = rows.iter().map(|&(m, n, k)| us(m, n, k) / 1e3).collect();
    column.typed::<DoubleType>().write_batch(&values, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn timed_kernels_are_imported_with_their_error() {
    let root = folder("kernels");
    let of_version = root.join("h100_sxm/gemm/vllm/0.19.0");
    std::fs::create_dir_all(&of_version).unwrap();
    let path = of_version.join("gemm_perf.parquet");
    products(&path, |m, n, k| 5.0 + (m * n * k) as f64 / 4e8);
    let import =
        ["profile", "import", "--from", "aiconfigurator", crate::text(&root), "-o", crate::text(&root)];
    let (printed, _) = good(&import);
    assert!(printed.contains("gemm:fp8") && printed.contains("rows left out: median"), "{printed}");
    let text = std::fs::read_to_string(root.join("kernels_h100_sxm.txt")).unwrap();
    assert!(text.starts_with("servescope-kernels 1\ngpu h100_sxm\naxis "), "{text}");
    assert!(text.contains("\ngemm:fp8 vllm-0.19.0 "), "{text}");
    products(&path, |m, _, _| if m == 8 { -1.0 } else { 1.0 });
    let printed = refused(&import);
    assert!(printed.contains("gemm_perf.parquet: row 9") && printed.contains("latency"), "{printed}");
    std::fs::write(&path, "no table").unwrap();
    assert!(refused(&import).contains("gemm_perf.parquet"));
}
