//! Compact tables against the exact ones: cell by cell, and end to end over every run.

use servescope_cost::profile::CompactTables;
use servescope_cost::{Batch, BatchCost, StageTime};
use servescope_engine::metrics::summary::SummaryContext;
use servescope_engine::metrics::token_gaps::TokenGaps;
use servescope_engine::metrics::{Slo, Summary, summarise};
use servescope_engine::{Fleet, Report};

use super::cases;

fn summary(report: &Report) -> Summary {
    let context =
        SummaryContext { slo: Slo { ttft_s: 1.0, tbt_s: 1.0 }, rate_rps: None, flops: None, table_rows: 0 };
    summarise(report, &TokenGaps::of(&report.timeline), &context)
}

/// The same hardware, 1 % slower: what that does to TTFT is what an error of 1 % does.
#[derive(Debug)]
struct Slower(CompactTables);

impl BatchCost for Slower {
    fn stages(&self) -> u32 {
        self.0.stages()
    }

    fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime {
        let time = self.0.stage_time(batch, is_last);
        StageTime { first_us: 1.01 * time.first_us, growth_us: 1.01 * time.growth_us, ..time }
    }
}

#[test]
fn compact_tables_give_the_same_picture() {
    for case in cases() {
        let Some(setup) = case.setup() else { continue };
        let compact = CompactTables::of(&setup.cost).with_roundings();
        for e in compact.errors(&setup.cost) {
            let (median, p95) = (100.0 * e.median, 100.0 * e.p95);
            println!(
                "{}: {}: median {median:.2} %, P95 {p95:.2} % over {} cells",
                case.name(),
                e.name,
                e.cells
            );
        }
        let exact = summary(&setup.run());
        let run =
            |cost: Box<dyn BatchCost>| summary(&Fleet::new(setup.trace.clone(), setup.run.fleet, cost).run());
        let (ours, slower) = (run(Box::new(compact.clone())), run(Box::new(Slower(compact))));
        let off = |ours: Option<f64>, theirs: Option<f64>| ours.zip(theirs).map_or(0.0, |(a, b)| a / b - 1.0);
        let tbt = off(ours.tbt_s.mean, exact.tbt_s.mean);
        let tail = off(ours.tbt_s.p99, exact.tbt_s.p99);
        let e2e = off(ours.e2e_s.mean, exact.e2e_s.mean);
        let ttft = off(ours.ttft_s.mean, exact.ttft_s.mean);
        let load = case.config["offered_load_of_capacity"].as_f64().unwrap_or(1.0);
        let sensitivity = off(slower.ttft_s.mean, ours.ttft_s.mean);
        let name = case.name();
        println!(
            "{name}: load {load}: mean TBT {:+.2} %, P99 TBT {:+.2} %, mean E2E {:+.2} %, mean TTFT {:+.2} % \
             (1 % of iteration time moves it by {:+.2} %)",
            100.0 * tbt,
            100.0 * tail,
            100.0 * e2e,
            100.0 * ttft,
            100.0 * sensitivity
        );
        assert!(tbt.abs() < 0.03 && e2e.abs() < 0.03, "{name}: mean TBT {tbt}, mean E2E {e2e}");
        assert!(tail.abs() < 0.08, "{name}: P99 TBT {tail}");
        assert!(load > 0.8 || ttft.abs() < 0.05, "{name}: mean TTFT {ttft}");
    }
}
