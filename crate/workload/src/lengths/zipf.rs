//! Zipf lengths by the approximate inverse of Gray et al., "Quickly generating billion-record synthetic databases" (SIGMOD
//! 1994): the two shortest lengths have their exact probabilities, the others lie on a continuous power law between them and
//! the longest. Vidur draws its `zipf` lengths so.

/// Zipf's distribution over `low..=high`: length `low + k` has a probability proportional to (k + 1)^-theta.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zipf {
    low: u32,
    high: u32,
    theta: f64,
    /// Probability of `low`, and of `low` or `low + 1`.
    first: f64,
    second: f64,
    /// Probability at which the continuous part is at rank 2; at 1 it is at the last rank.
    start: f64,
}

/// Terms of a zeta sum that are added one by one; the rest is Euler and Maclaurin's, exact to the last bits.
const TERMS: u32 = 256;

/// The sum of k^-theta for k = 1 to `last`.
fn zeta(last: u32, theta: f64) -> f64 {
    let power = |k: f64| libm::pow(k, -theta);
    let exact: f64 = (1..=last.min(TERMS)).map(|k| power(f64::from(k))).sum();
    if last <= TERMS {
        return exact;
    }
    let (from, to) = (f64::from(TERMS), f64::from(last));
    let slope = |k: f64| -theta * power(k) / k;
    let third = |k: f64| -theta * (theta + 1.0) * (theta + 2.0) * power(k) / (k * k * k);
    // Sum over from < k <= to: integral, half the difference of the ends, and Bernoulli's terms.
    exact + integral(to, theta) - integral(from, theta)
        + 0.5 * (power(to) - power(from))
        + (slope(to) - slope(from)) / 12.0
        - (third(to) - third(from)) / 720.0
}

/// The integral of x^-theta from 1 to `x`.
fn integral(x: f64, theta: f64) -> f64 {
    let rest = 1.0 - theta;
    let log = libm::log(x);
    if rest.abs() < 1e-9 { log } else { libm::expm1(rest * log) / rest }
}

/// The `x` whose [`integral`] this is.
fn inverse_integral(area: f64, theta: f64) -> f64 {
    let rest = 1.0 - theta;
    if rest.abs() < 1e-9 { libm::exp(area) } else { libm::exp(libm::log1p(rest * area) / rest) }
}

impl Zipf {
    /// The distribution on `low..=high` with exponent `theta`, 0 (all lengths alike) or more.
    pub fn new(low: u32, high: u32, theta: f64) -> Self {
        let high = high.max(low);
        let total = zeta(high - low + 1, theta);
        let second = ((1.0 + libm::pow(0.5, theta)) / total).min(1.0);
        Self { low, high, theta, first: 1.0 / total, second, start: second }
    }

    /// The same as Vidur computes it: its zeta sums end one term early, so that the continuous part begins at the
    /// probability of the shortest length alone. Its exponent is below 1.
    pub fn of_vidur(low: u32, high: u32, theta: f64) -> Self {
        /// What Vidur adds to a divisor.
        const EPSILON: f64 = 1e-8;
        let high = high.max(low);
        let total = zeta(high - low, theta);
        let of = |sum: f64| if total > 0.0 { (sum / total).min(1.0) } else { 1.0 };
        let second = of(1.0 + libm::pow(0.5, theta));
        Self { low, high, theta, first: of(1.0), second, start: (1.0 / (total + EPSILON)).min(1.0) }
    }

    /// Ranks, as a real number.
    fn ranks(&self) -> f64 {
        f64::from(self.high - self.low) + 1.0
    }

    /// The length at the uniform number `u` in (0, 1).
    pub fn quantile(&self, u: f64) -> u32 {
        if u < self.first || self.high == self.low {
            return self.low;
        }
        if u < self.second || self.high - self.low == 1 {
            return self.low + 1;
        }
        let [from, to] = [2.0, self.ranks()].map(|x| integral(x, self.theta));
        let area = from + (to - from) * ((u - self.start) / (1.0 - self.start));
        let above = inverse_integral(area, self.theta) as u32;
        self.low + above.clamp(2, self.high - self.low)
    }

    /// The probability of a length below `x`.
    pub fn below(&self, x: u32) -> f64 {
        if x <= self.low || x > self.high {
            return f64::from(u8::from(x > self.high));
        }
        match x - self.low {
            1 => self.first,
            2 => self.second,
            above => {
                let [from, at, to] = [2.0, f64::from(above), self.ranks()].map(|x| integral(x, self.theta));
                (self.start + (1.0 - self.start) * ((at - from) / (to - from))).max(self.second).min(1.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zeta_sum_is_the_sum() {
        for theta in [0.0, 0.3, 0.6, 1.0, 1.1, 2.5] {
            for last in [1, 2, 256, 257, 3073, 100_000] {
                let plain: f64 = (1..=last).rev().map(|k| libm::pow(f64::from(k), -theta)).sum();
                assert!((zeta(last, theta) / plain - 1.0).abs() < 1e-12, "{last} {theta}");
            }
        }
    }

    #[test]
    fn probabilities_are_those_of_zipf() {
        for theta in [0.0, 0.6, 0.99, 1.0, 1.1] {
            let distribution = Zipf::new(1024, 4096, theta);
            let total = zeta(3073, theta);
            let mut worst = 0.0f64;
            for ranks in [1, 2, 3, 10, 100, 1000, 3000, 3073] {
                worst = worst.max((distribution.below(1024 + ranks) - zeta(ranks, theta) / total).abs());
            }
            // Gray's inverse is exact at both ends and approximate between them.
            assert!(worst < 0.02, "{theta}: {worst}");
            assert_eq!((distribution.quantile(1e-12), distribution.quantile(1.0 - 1e-13)), (1024, 4096));
        }
    }

    #[test]
    fn vidurs_numbers_are_vidurs() {
        // Its formula, term by term: 1 + int(n (eta u - eta + 1)^alpha) above the two shortest lengths.
        let (n, theta) = (3073.0f64, 0.6f64);
        let sum: f64 = (1..3073).map(|k| libm::pow(f64::from(k), -theta)).sum();
        let eta = (1.0 - libm::pow(2.0 / n, 1.0 - theta)) / (1.0 - 1.0 / (sum + 1e-8));
        let theirs = |u: f64| match u * sum {
            x if x < 1.0 => 1024,
            x if x < 1.0 + libm::pow(0.5, theta) => 1025,
            _ => 1024 + (n * libm::pow(eta * u - eta + 1.0, 1.0 / (1.0 - theta))) as u32,
        };
        let ours = Zipf::of_vidur(1024, 4096, theta);
        for i in 1..5000 {
            let u = f64::from(i) / 5000.0 - 1e-5;
            assert_eq!(ours.quantile(u), theirs(u), "{u}");
        }
    }

    #[test]
    fn ranges_of_one_and_two_lengths_are_sound() {
        for distribution in [Zipf::new(7, 7, 0.6), Zipf::of_vidur(7, 7, 0.6), Zipf::of_vidur(7, 8, 0.6)] {
            assert_eq!([1e-9, 0.5, 1.0 - 1e-9].map(|u| distribution.quantile(u)), [7; 3]);
        }
        let two = Zipf::new(7, 8, 1.0);
        assert_eq!([0.66, 0.67].map(|u| two.quantile(u)), [7, 8]);
        assert_eq!([7, 8, 9].map(|x| two.below(x)), [0.0, 1.0 / 1.5, 1.0]);
    }
}
