//! The files of usage by client.

use std::collections::BTreeMap;

use crate::{folder, good, summary, text};

/// The rows of a file by the names of its columns.
fn rows(path: &std::path::Path) -> Vec<BTreeMap<String, String>> {
    let content = std::fs::read_to_string(path).expect("it is written");
    let mut lines = content.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let heads = lines.next().expect("a heading");
    lines
        .map(|cells| {
            assert_eq!(cells.len(), heads.len());
            heads.iter().cloned().zip(cells).collect()
        })
        .collect()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column}: {:?}", row[column]))
}

#[test]
fn clients_add_up_to_the_summary_and_windows_to_clients() {
    for (name, settings) in [
        (
            "clients_vtc",
            &[
                "scheduler.order=vtc",
                "workload.users.count=3",
                "gateway.kind=proxy",
                "gateway.tpm.total=4000",
                "gateway.window=bucket",
                "gateway.over_quota=refuse",
            ][..],
        ),
        (
            "clients_fleet",
            &[
                "scheduler.kind=vllm_v1",
                "fleet.replicas=2",
                "workload.users.count=300",
                "scheduler.max_total_tokens=3000",
            ],
        ),
    ] {
        let out = folder(name);
        let settings: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
        let arguments =
            [&["--set", "workload.duration_s=120", "--set", "workload.rate_rps=6"], &settings[..]].concat();
        let summary = summary(&arguments);
        let table = good(&[&["simulate", "--out", text(&out)], &arguments[..]].concat()).0;
        assert!(table.contains("fairness              Jain 0."), "{table}");
        let (clients, windows) = (rows(&out.join("clients.csv")), rows(&out.join("clients_over_time.csv")));
        for kind in ["user", "adapter"] {
            let own: Vec<_> = clients.iter().filter(|row| row["client"] == kind).collect();
            let sum = |column: &str| own.iter().map(|row| number(row, column)).sum::<f64>();
            let requests = &summary["requests"];
            for (column, printed) in [
                ("offered", &requests["offered"]),
                ("completed", &requests["completed"]),
                ("refused", &requests["rejected_total"]),
                ("refused_token_quota", &requests["rejected"]["token_quota"]),
                ("timed_out", &requests["timed_out"]),
            ] {
                assert_eq!(sum(column), printed.as_f64().expect(column), "{name} {column}");
            }
            assert!((sum("service_share") - 1.0).abs() < 1e-9);
            assert!(own.windows(2).all(|pair| number(pair[0], "service") >= number(pair[1], "service")));
            let printed = kind == "user" && name == "clients_vtc";
            assert!(own.iter().all(|row| row["counter"].is_empty() != printed), "{name} {kind}");
            for column in ["offered", "refused", "input_tokens", "output_tokens", "service", "wasted_tokens"]
            {
                let own = windows.iter().filter(|row| row["client"] == kind);
                let over_time: f64 = own.map(|row| number(row, column)).sum();
                assert!(
                    (over_time - sum(column)).abs() <= 1e-6 * (1.0 + over_time),
                    "{name} {kind} {column}"
                );
            }
        }
        let others = windows.iter().filter(|row| row["id"] == "others").count();
        assert_eq!(
            others > 0,
            name == "clients_fleet" && clients.iter().filter(|row| row["client"] == "user").count() > 200
        );
    }
}
