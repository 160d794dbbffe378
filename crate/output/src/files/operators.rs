//! `operators.csv`: what a run spent on each operator, over all its iterations and stages.
//!
//! Nothing of this is kept while a run is simulated: the model of iteration times is asked again, about the first and the
//! last of equal iterations. From one to the next every operator grows by the same amount.

use std::collections::BTreeMap;
use std::fmt;

use servescope_cost::{BatchCost, OperatorClass, OperatorTime};
use servescope_engine::Report;
use servescope_engine::timeline::IterationRun;

/// By which share neighbouring bins of a [`Spread`] differ.
const BIN: f64 = 0.005;

/// How often values occur: times in bins of half a percent, so that its size depends on their range and not on their number;
/// tokens, of which there are few different numbers, one by one.
#[derive(Debug, Default)]
struct Spread {
    is_exact: bool,
    counts: BTreeMap<i64, f64>,
    count: f64,
    sum: f64,
}

impl Spread {
    fn add(&mut self, value: f64, times: f64) {
        let bin = if self.is_exact {
            // The bits of numbers from 0 up are in their order.
            value.to_bits().cast_signed()
        } else {
            libm::floor(libm::log(value.max(1e-9)) / libm::log1p(BIN)) as i64
        };
        *self.counts.entry(bin).or_default() += times;
        self.count += times;
        self.sum += value * times;
    }

    fn mean(&self) -> f64 {
        self.sum / self.count
    }

    /// The value below or at which a share of all lies; of times to a quarter of a percent.
    fn quantile(&self, share: f64) -> f64 {
        let mut below = 0.0;
        let found = self.counts.iter().find(|(_, times)| {
            below += **times;
            below >= share * self.count
        });
        let bin = found.or(self.counts.last_key_value()).map_or(0, |(bin, _)| *bin);
        if self.is_exact {
            return f64::from_bits(bin.cast_unsigned());
        }
        libm::exp((bin as f64 + 0.5) * libm::log1p(BIN))
    }
}

/// One operator of a run.
#[derive(Debug)]
struct RunOperator {
    name: &'static str,
    class: OperatorClass,
    us: Spread,
    tokens: Spread,
    kv_tokens: f64,
}

/// Operators in the order in which a layer has them.
#[derive(Debug, Default)]
struct RunOperators(Vec<RunOperator>);

impl RunOperators {
    fn find(&mut self, of: &OperatorTime) -> &mut RunOperator {
        let place = self.0.iter().position(|known| known.name == of.name).unwrap_or_else(|| {
            let (us, tokens) = (Spread::default(), Spread { is_exact: true, ..Spread::default() });
            self.0.push(RunOperator { name: of.name, class: of.class, us, tokens, kv_tokens: 0.0 });
            self.0.len() - 1
        });
        &mut self.0[place]
    }

    /// Adds an operator of this many equal iterations of this many stages, which grows from `first` to `last`.
    fn add(&mut self, first: &OperatorTime, last: &OperatorTime, [iterations, stages]: [u32; 2]) {
        if first.calls <= 0.0 {
            return;
        }
        let operator = self.find(first);
        let (calls, many) = (first.calls * f64::from(stages), f64::from(iterations));
        operator.tokens.add(first.tokens, calls * many);
        operator.kv_tokens += calls * many * f64::midpoint(first.kv_tokens, last.kv_tokens);
        let [from_us, to_us] = [first, last].map(|one| one.us / one.calls);
        if from_us.to_bits() == to_us.to_bits() {
            operator.us.add(from_us, calls * many);
            return;
        }
        let step_us = (to_us - from_us) / f64::from(iterations.saturating_sub(1).max(1));
        for index in 0..iterations {
            operator.us.add(from_us + f64::from(index) * step_us, calls);
        }
    }

    fn add_run(&mut self, report: &Report, cost: &dyn BatchCost, run: &IterationRun) {
        let chunks = report.timeline.iterations.chunks(run);
        let ends = [0, run.iterations.saturating_sub(1)].map(|index| run.batch(chunks, f64::from(index)));
        let inner = cost.stages().max(1) - 1;
        for (is_last, stages) in [(false, inner), (true, 1)] {
            if stages == 0 {
                continue;
            }
            let [first, last] = ends.map(|batch| cost.operators(&batch, is_last));
            for operator in &first {
                // An operator has one row in a batch, or one for each of its shapes, in the same order in both.
                let same = last.iter().filter(|other| other.name == operator.name);
                let place = first.iter().filter(|other| other.name == operator.name);
                let place = place.take_while(|other| !std::ptr::eq(*other, operator)).count();
                let end = same.into_iter().nth(place).unwrap_or(operator);
                self.add(operator, end, [run.iterations, stages]);
            }
        }
    }
}

/// Whether the run's model of iteration times knows operators: timed operators, measured kernels and the roofline do.
pub fn has_operators(report: &Report) -> bool {
    let iterations = &report.timeline.iterations;
    iterations.iter().next().is_some_and(|run| {
        let batch = run.batch(iterations.chunks(run), 0.0);
        !report.pool(run.replica).cost.operators(&batch, true).is_empty()
    })
}

/// Writes the file: a row for each operator, with the number of its calls, their time, and the tokens that they work on. The
/// times of a pipeline's stages are summed, as are those of the replicas. Of a model without operators only the heading.
///
/// # Errors
/// Those of `to`.
pub fn write_operators_csv(report: &Report, to: &mut dyn fmt::Write) -> fmt::Result {
    to.write_str(
        "operator,class,calls,total_s,mean_us,p50_us,p99_us,mean_tokens,p50_tokens,p99_tokens,mean_kv_tokens\n",
    )?;
    let mut all = RunOperators::default();
    for run in &report.timeline.iterations {
        all.add_run(report, &*report.pool(run.replica).cost, run);
    }
    for RunOperator { name, class, us, tokens, kv_tokens } in &all.0 {
        let calls = us.count;
        write!(to, "{name},{},{calls},{},{},", class.name(), us.sum / 1e6, us.mean())?;
        write!(to, "{},{},{},", us.quantile(0.5), us.quantile(0.99), tokens.mean())?;
        let kv = match class {
            OperatorClass::PrefillAttention | OperatorClass::DecodeAttention => {
                (kv_tokens / calls).to_string()
            }
            _ => String::new(),
        };
        writeln!(to, "{},{},{kv}", tokens.quantile(0.5), tokens.quantile(0.99))?;
    }
    Ok(())
}

/// The file as text.
pub fn operators_csv(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_operators_csv(report, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use servescope_lab::run::Run;
    use servescope_settings::scenario::Scenario;

    use super::*;

    fn report(settings: &[(&str, &str)]) -> Report {
        let mut scenario = Scenario::of_version(4);
        let common = [("scheduler.kind", "vllm_v1"), ("workload.duration_s", "20")];
        for (path, value) in common.iter().chain(settings) {
            scenario.set_text(path, value).unwrap();
        }
        Run::simulate(&scenario, None).unwrap().report
    }

    /// Seconds that `batches.csv` has of each class, all stages together.
    fn class_seconds(report: &Report) -> Vec<(&'static str, f64)> {
        let text = super::super::batches_csv(report);
        let mut rows = text.lines().map(|row| row.split(',').collect::<Vec<_>>());
        let heading = rows.next().unwrap();
        let rows: Vec<_> = rows.collect();
        let of_class = |class: OperatorClass| {
            let place = heading.iter().position(|column| *column == format!("{}_ms", class.name())).unwrap();
            (class.name(), rows.iter().map(|row| row[place].parse::<f64>().unwrap()).sum::<f64>() / 1e3)
        };
        OperatorClass::ALL.map(of_class).to_vec()
    }

    #[test]
    fn operators_add_up_to_the_parts_of_all_iterations() {
        for kind in ["profile", "kernels", "roofline"] {
            let gpu = if kind == "profile" { "a100_80_sxm" } else { "h100_sxm" };
            let report = report(&[
                ("cost.kind", kind),
                ("fleet.gpu", gpu),
                ("fleet.model", "llama-3.1-8b"),
                ("fleet.tensor_parallel", "2"),
                ("fleet.pipeline_parallel", "2"),
            ]);
            assert!(has_operators(&report));
            let text = operators_csv(&report);
            let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|row| row.split(',').collect()).collect();
            assert!(rows.len() > 8 && rows.iter().all(|row| row.len() == 11), "{text}");
            for (class, seconds) in class_seconds(&report) {
                let of_class = rows.iter().filter(|row| row[1] == class);
                let sum: f64 = of_class.map(|row| row[3].parse::<f64>().unwrap()).sum();
                assert!(
                    (sum - seconds).abs() <= 1e-6 * (1.0 + seconds),
                    "{kind} {class}: {sum} of {seconds}"
                );
            }
            for row in &rows {
                let number = |place: usize| row[place].parse::<f64>().unwrap();
                assert!(number(5) <= number(6) && number(8) <= number(9), "{row:?}");
                assert!((number(2) * number(4) / 1e6 - number(3)).abs() <= 1e-9 * number(3), "{row:?}");
            }
        }
        let linear = report(&[]);
        assert!(!has_operators(&linear));
        assert_eq!(operators_csv(&linear).lines().count(), 1);
    }

    #[test]
    fn quantiles_are_right_to_half_a_percent() {
        let mut spread = Spread::default();
        for value in 1..=1000 {
            spread.add(f64::from(value), 2.0);
        }
        assert!((spread.quantile(0.5) / 500.0 - 1.0).abs() < BIN);
        assert!((spread.quantile(0.99) / 990.0 - 1.0).abs() < BIN);
        assert!((spread.mean() - 500.5).abs() < 1e-9);
        let mut tokens = Spread { is_exact: true, ..Spread::default() };
        [3.0, 512.0, 3.0].into_iter().for_each(|count| tokens.add(count, 1.0));
        assert_eq!([tokens.quantile(0.5), tokens.quantile(0.99)], [3.0, 512.0]);
    }
}
