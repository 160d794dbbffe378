//! `scaling.csv`: what autoscalers decided, in order of time, with the number that decided and what stood in the way.

use std::fmt;

use servescope_engine::Report;

/// Writes the file: seconds, the pool, replicas that were ready and starting, what the rule read and what it was compared with, the
/// rule's wish, the number that there are to be and what kept it from the wish. The header alone without an autoscaler.
///
/// # Errors
/// Those of `to`.
pub fn write_scaling_csv(report: &Report, to: &mut dyn fmt::Write) -> fmt::Result {
    to.write_str("time_s,pool,ready,starting,input,value,bound,wished,desired,limit\n")?;
    for decision in &report.scaling {
        writeln!(
            to,
            "{},{},{},{},{},{},{},{},{},{}",
            decision.time_us / 1e6,
            decision.pool,
            decision.ready,
            decision.starting,
            decision.input.name(),
            decision.value,
            decision.bound,
            decision.wished,
            decision.desired,
            decision.limit.name(),
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use servescope_lab::run::Run;
    use servescope_settings::scenario::Scenario;

    use super::*;

    #[test]
    fn every_decision_is_a_row_with_its_numbers() {
        let settings = [
            ("workload.duration_s", "60"),
            ("workload.rate_rps", "4"),
            ("fleet.autoscaling.kind", "hpa"),
            ("fleet.autoscaling.max", "3"),
            ("fleet.cold_start.delay_s", "20"),
        ];
        let run = Run::simulate(&Scenario::of_version(4).with(&settings).unwrap(), None).unwrap();
        let mut text = String::new();
        write_scaling_csv(&run.report, &mut text).unwrap();
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(rows.len(), run.report.scaling.len() + 1);
        assert!(rows.len() > 4, "{text}");
        let acted = rows.iter().find(|row| row.ends_with(",3,max")).unwrap_or_else(|| panic!("{text}"));
        let cells: Vec<&str> = acted.split(',').collect();
        assert_eq!((cells[1], cells[2], cells[4], cells[6]), ("0", "1", "num_requests_waiting", "5"));
        assert!(cells[5].parse::<f64>().unwrap() > 15.0, "{acted}");
    }
}
