//! The synthetic workload: S-LoRA's generator, with more distributions to choose from.
//!
//! The number of requests is floor(R D), as there; D is a cut-off only when asked for. Each quantity has its own random
//! stream, so that changing one distribution leaves the others' draws as they were.

use crate::clients::scaled;
use crate::copula::GaussianCopula;
use crate::curve::RateCurve;
use crate::prefix::{Tree, begin_alike};
use crate::session_generator::generate_sessions;
use crate::spec::WorkloadSpec;
use crate::stream::Stream;
use crate::trace::{BASE_MODEL, Trace};

/// Makes the trace of `spec`.
pub fn generate(spec: &WorkloadSpec) -> Trace {
    if !spec.is_plain() {
        return generate_sessions(spec);
    }
    let mut trace = plain(spec);
    if let Some(prefix) = spec.prefix {
        begin_alike(&mut trace, Tree::new(prefix, spec.adapters.count, spec.users.count.max(1)));
    }
    trace
}

/// Requests that know nothing of one another.
fn plain(spec: &WorkloadSpec) -> Trace {
    let mut arrival_us = spec.arrival_times_us(spec.request_count(), 1.0);
    let mut count = arrival_us.len();
    if spec.cut_at_duration {
        count = arrival_us.partition_point(|&t| t < spec.duration_s * 1e6);
        arrival_us.truncate(count);
    }
    let draw = |name: &str, at: &dyn Fn(f64) -> u32| -> Vec<u32> {
        let mut stream = Stream::named(spec.seed, name);
        (0..count).map(|_| at(stream.uniform())).collect()
    };
    let adapters = &spec.adapters;
    let (adapter, adapter_rank) = if adapters.count == 0 {
        (vec![BASE_MODEL; count], Vec::new())
    } else {
        let sampler = adapters.popularity.sampler(adapters.count);
        (draw("adapters", &|u| sampler.at(u)), adapters.adapter_ranks())
    };
    let users = spec.users.popularity.sampler(spec.users.count.max(1));
    let (mut input_tokens, mut output_tokens) = lengths(spec, count);
    let [input_curve, output_curve] = &spec.length_curves;
    multiply(&mut input_tokens, input_curve.as_ref(), &arrival_us);
    multiply(&mut output_tokens, output_curve.as_ref(), &arrival_us);
    let answers = output_tokens.iter().map(|&tokens| spec.bounded(tokens));
    let (output_tokens, max_tokens) = answers.map(|a| (a.output_tokens, a.max_tokens)).unzip();
    Trace {
        arrival_us,
        user: draw("users", &|u| users.at(u)),
        adapter,
        input_tokens,
        output_tokens,
        max_tokens,
        adapter_rank,
        cancellations: Vec::new(),
        closed_loop: None,
        metadata: None,
    }
}

/// Multiplies lengths by what the curve has at their arrival.
fn multiply(lengths: &mut [u32], curve: Option<&RateCurve>, arrival_us: &[f64]) {
    let Some(curve) = curve else { return };
    for (length, &us) in lengths.iter_mut().zip(arrival_us) {
        *length = scaled(*length, Some(curve.value_at(us / 1e6)));
    }
}

/// Prompt and output lengths, each from its own stream.
fn lengths(spec: &WorkloadSpec, count: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut inputs, mut outputs) =
        (Stream::named(spec.seed, "input lengths"), Stream::named(spec.seed, "output lengths"));
    let copula = GaussianCopula::of(spec);
    (0..count).map(|_| copula.draw(spec, inputs.uniform(), outputs.uniform())).unzip()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::Arrivals;
    use crate::curve::Shape;
    use crate::lengths::LengthDistribution;

    #[test]
    fn one_distribution_changed_leaves_the_others_alone() {
        let base = generate(&WorkloadSpec::default());
        let other = generate(&WorkloadSpec {
            input: LengthDistribution::Fixed { value: 100 },
            arrivals: Arrivals::Gamma { cv: 4.0 },
            ..WorkloadSpec::default()
        });
        assert_eq!(base.output_tokens, other.output_tokens);
        assert_eq!(base.adapter, other.adapter);
        assert_ne!(base.arrival_us, other.arrival_us);
        assert!(other.arrival_us.is_sorted());
    }

    #[test]
    fn cut_drops_late_arrivals_only() {
        let spec = WorkloadSpec { arrivals: Arrivals::Gamma { cv: 8.0 }, ..WorkloadSpec::default() };
        let whole = generate(&spec);
        let cut = generate(&WorkloadSpec { cut_at_duration: true, ..spec });
        assert!(cut.len() <= whole.len());
        assert!(cut.arrival_us.iter().all(|&t| t < 300e6));
        assert_eq!(cut.output_tokens[..], whole.output_tokens[..cut.len()]);
    }

    #[test]
    fn lengths_have_the_asked_rank_correlation_and_keep_their_distributions() {
        let base = WorkloadSpec { rate_rps: 100.0, ..WorkloadSpec::default() };
        let plain = generate(&base);
        for rho in [-0.8, 0.5, 1.0] {
            let trace = generate(&WorkloadSpec { length_correlation: rho, ..base.clone() });
            assert_eq!(trace.input_tokens, plain.input_tokens);
            // For uniform lengths Spearman's correlation is Pearson's.
            let (x, y) = (&trace.input_tokens, &trace.output_tokens);
            let mean = |v: &[u32]| v.iter().map(|&l| f64::from(l)).sum::<f64>() / v.len() as f64;
            let (mx, my) = (mean(x), mean(y));
            let products = x.iter().zip(y).map(|(&a, &b)| (f64::from(a) - mx) * (f64::from(b) - my));
            let covariance = products.sum::<f64>() / x.len() as f64;
            let variance = (504.0 * 504.0 - 1.0) / 12.0;
            assert!((covariance / variance - rho).abs() < 0.02, "{rho}: {}", covariance / variance);
            assert!((my - 259.5).abs() < 3.0, "{my}");
        }
    }

    #[test]
    fn a_distribution_that_falls_with_its_number_keeps_the_sign_of_the_correlation() {
        let spec = WorkloadSpec {
            rate_rps: 100.0,
            input: LengthDistribution::Geometric { mean: 200.0 },
            length_correlation: 0.9,
            ..WorkloadSpec::default()
        };
        let rank = |spec: &WorkloadSpec| {
            let trace = generate(spec);
            let real = |lengths: &[u32]| lengths.iter().map(|&l| f64::from(l)).collect::<Vec<_>>();
            crate::statistics::spearman(&real(&trace.input_tokens), &real(&trace.output_tokens))
        };
        let one = rank(&spec).expect("lengths differ");
        let both = rank(&WorkloadSpec { output: LengthDistribution::Geometric { mean: 50.0 }, ..spec })
            .expect("they differ");
        assert!((one - 0.9).abs() < 0.02 && (both - 0.9).abs() < 0.02, "{one} {both}");
    }

    #[test]
    fn a_curve_moves_arrivals_and_nothing_else() {
        let shape = Shape::Step { before_rps: 1.0, after_rps: 9.0, at_s: 100.0 };
        let curve = RateCurve::new(&shape).expect("the curve is sound");
        let spec = WorkloadSpec { curve: Some(curve), duration_s: 200.0, ..WorkloadSpec::default() };
        let trace = generate(&spec);
        assert_eq!(trace.len(), 1000);
        let early = trace.arrival_us.iter().filter(|&&t| t < 100e6).count() as f64;
        assert!((early - 100.0).abs() < 5.0 * 10.0, "{early}");
        let plain = generate(&WorkloadSpec { rate_rps: 5.0, duration_s: 200.0, ..WorkloadSpec::default() });
        assert_eq!(trace.adapter, plain.adapter);
        assert_eq!(trace.output_tokens, plain.output_tokens);

        let ends =
            RateCurve::new(&Shape::Step { before_rps: 2.0, after_rps: 0.0, at_s: 50.0 }).expect("sound");
        let trace = generate(&WorkloadSpec { curve: Some(ends), ..WorkloadSpec::default() });
        assert!(trace.len() <= 100 && trace.arrival_us.iter().all(|&t| t <= 50e6 + 1.0));
    }

    #[test]
    fn no_adapters_is_the_base_model() {
        let mut spec = WorkloadSpec::default();
        spec.adapters.count = 0;
        let trace = generate(&spec);
        assert!(trace.adapter.iter().all(|&a| a == BASE_MODEL));
        assert_eq!(trace.rank(0), 0);
    }
}
