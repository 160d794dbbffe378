//! The joint distribution of prompt and output lengths, by a Gaussian copula.

use crate::distribution;
use crate::spec::WorkloadSpec;

/// A rank correlation of prompt and output lengths. It couples their uniform numbers by a Gaussian copula, so that each distribution
/// stays as it is; without one the two numbers are taken as they come.
pub(crate) struct GaussianCopula {
    r: f64,
    rest: f64,
}

impl GaussianCopula {
    /// The copula of the workload's distributions, some of which fall with their number.
    pub(crate) fn of(spec: &WorkloadSpec) -> Self {
        let opposed = spec.input.is_falling() != spec.output.is_falling();
        Self::rising(if opposed { -spec.length_correlation } else { spec.length_correlation })
    }

    /// The copula of two distributions that both rise with their number, by Spearman's correlation.
    pub(crate) fn rising(correlation: f64) -> Self {
        // Pearson's correlation of the normals behind a rank correlation (Kruskal 1958).
        let r = 2.0 * libm::sin(std::f64::consts::FRAC_PI_6 * correlation.clamp(-1.0, 1.0));
        Self { r, rest: f64::sqrt((1.0 - r * r).max(0.0)) }
    }

    /// The second number of a pair: `v`, drawn towards `u`.
    pub(crate) fn second(&self, u: f64, v: f64) -> f64 {
        let v = if self.r == 0.0 {
            v
        } else {
            distribution::normal_cdf(
                self.r * distribution::normal_quantile(u) + self.rest * distribution::normal_quantile(v),
            )
        };
        // The distribution function may round to 0 or 1, where quantiles have no value.
        v.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON)
    }

    /// The lengths of a prompt and its answer at two uniform numbers.
    pub(crate) fn draw(&self, spec: &WorkloadSpec, u: f64, v: f64) -> (u32, u32) {
        match &spec.length_pairs {
            Some(pairs) => pairs.at(u),
            None => (spec.input.quantile(u), spec.output.quantile(self.second(u, v))),
        }
    }
}
