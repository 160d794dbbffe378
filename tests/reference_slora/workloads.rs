//! `traces_seed42/`: the authors' workloads, against our redrawing of NumPy's frozen stream.

use servescope_evidence::published::numpy::Workload;

#[test]
fn authors_workloads_are_drawn_again() {
    for path in super::reference("index") {
        let folder = path.parent().expect("a file has a folder");
        let mut checked = 0;
        for case in servescope_tests::json_lines(&path) {
            let Some(file) = case["file"].as_str().and_then(|name| servescope_tests::file(folder, name))
            else {
                continue;
            };
            let number =
                |key: &str| case[key].as_f64().unwrap_or_else(|| panic!("{key} is missing in {case}"));
            let workload = Workload {
                adapters: number("num_adapters") as usize,
                alpha: number("alpha"),
                rate_rps: number("req_rate"),
                cv: number("cv"),
                duration_s: number("duration"),
                lengths: (8, 512),
            };
            let trace = workload.draw(42);
            let text = servescope_tests::text(&file);
            let rows: Vec<Vec<f64>> = text
                .lines()
                .skip(1)
                .map(|line| line.split(',').map(|cell| cell.trim().parse().expect("a number")).collect())
                .collect();
            assert_eq!(rows.len(), trace.len(), "{}", file.display());
            for (id, row) in rows.iter().enumerate() {
                let ours = trace.request(id);
                let whole =
                    [f64::from(ours.adapter), f64::from(ours.input_tokens), f64::from(ours.output_tokens)];
                assert_eq!(row[1..], whole, "{}, row {id}", file.display());
                // Times are printed with nine digits.
                assert!(
                    (ours.arrival_us / 1e6 - row[0]).abs() <= 1e-9 * (1.0 + row[0]),
                    "{}, row {id}",
                    file.display()
                );
            }
            checked += 1;
        }
        servescope_tests::report_cases(&path, checked);
    }
}
