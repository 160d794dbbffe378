//! `decisions.csv`: what gateway and schedulers decided, in order of time, with the test that decided and what it compared.

use std::fmt;

use servescope_engine::Report;
use servescope_engine::decisions::Verdict;

/// The file as text; the header alone where no decisions were kept.
pub fn decisions_csv(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_decisions_csv(report, &mut text);
    text
}

/// Writes the file: seconds, the replica (empty: before one was chosen), the request (empty: the whole waiting queue), the
/// verdict, the test or, of a rejection without one, its reason, what was needed and what there was, and for a preemption the
/// request that needed the blocks.
///
/// # Errors
/// Those of `to`.
pub fn write_decisions_csv(report: &Report, to: &mut dyn fmt::Write) -> fmt::Result {
    fn cell<T: fmt::Display>(value: Option<T>) -> String {
        value.map_or_else(String::new, |value| value.to_string())
    }
    to.write_str("time_s,replica,request,verdict,test,need,have,for_request,reason\n")?;
    for decision in report.decisions.as_deref().unwrap_or_default() {
        let numbers = decision.compared.numbers();
        let reason = match decision.verdict {
            Verdict::Rejected(reason) => reason.name(),
            _ => "",
        };
        writeln!(
            to,
            "{},{},{},{},{},{},{},{},{reason}",
            decision.time_us / 1e6,
            cell(decision.replica()),
            cell(decision.request()),
            decision.verdict.name(),
            decision.compared.test.name(),
            cell(numbers.map(|numbers| numbers.0)),
            cell(numbers.map(|numbers| numbers.1)),
            cell(decision.on_behalf_of()),
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use servescope_lab::run::SimulationHandle;
    use servescope_settings::scenario::Scenario;

    use super::*;

    #[test]
    fn every_served_request_is_admitted_in_the_file_and_none_without_asking() {
        for kind in ["slora", "static", "orca", "vllm", "sarathi", "lightllm", "vllm_v1", "sglang", "trtllm"]
        {
            let mut scenario = Scenario::of_version(4);
            for (path, value) in
                [("scheduler.kind", kind), ("workload.duration_s", "20"), ("gateway.kind", "proxy")]
            {
                scenario.set_text(path, value).unwrap();
            }
            let report = |keeps: bool| {
                let running = SimulationHandle::begin(&scenario, None).unwrap();
                if keeps { running.with_decisions() } else { running }.run().report
            };
            let kept = report(true);
            let text = decisions_csv(&kept);
            let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|row| row.split(',').collect()).collect();
            assert!(rows.iter().all(|row| row.len() == 9), "{text}");
            for verdict in ["forwarded", "admitted"] {
                let count = rows.iter().filter(|row| row[3] == verdict).count() as u64;
                let again = if verdict == "admitted" { kept.preemptions } else { 0 };
                assert_eq!(count, kept.trace.len() as u64 + again, "{kind}: {verdict}");
            }
            let without = report(false);
            assert_eq!(decisions_csv(&without).lines().count(), 1);
            assert_eq!(without.digest(), kept.digest());
        }
    }
}
