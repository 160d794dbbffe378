//! Samplers and distribution functions of the continuous distributions, on `libm` alone.
//!
//! They are written here, not taken from `rand_distr`, because that crate calls the platform's mathematics as soon as
//! any other package of the build switches `num-traits/std` on (plotters does), and the platform's mathematics differs
//! from wasm's in the last bit. Inverse transforms also keep draws aligned while a parameter moves. The tests hold
//! them against `rand_distr`.

use crate::stream::Stream;

/// Standard exponential from a number in (0, 1).
pub fn exponential(u: f64) -> f64 {
    -libm::log(u)
}

/// Standard normal quantile (Wichura 1988, algorithm AS 241, relative error 1e-16).
pub fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * ratio(&CENTRAL, r);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = f64::sqrt(-libm::log(tail));
    let z = if r <= 5.0 { ratio(&MIDDLE, r - 1.6) } else { ratio(&FAR, r - 5.0) };
    if q < 0.0 { -z } else { z }
}

/// Standard normal distribution function.
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}

/// Gamma of the given shape and scale 1: Marsaglia and Tsang (2000) at shape + 1, brought down by `U^(1/shape)`.
///
/// The step down is taken at every shape, so that a draw is a continuous function of the shape but for rare rejections.
pub fn gamma(shape: f64, stream: &mut Stream) -> f64 {
    let down = libm::pow(stream.uniform(), 1.0 / shape);
    let d = shape + 1.0 - 1.0 / 3.0;
    let c = 1.0 / f64::sqrt(9.0 * d);
    loop {
        let x = normal_quantile(stream.uniform());
        let v = 1.0 + c * x;
        let u = stream.uniform();
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        if libm::log(u) < 0.5 * x * x + d * (1.0 - v + libm::log(v)) {
            return d * v * down;
        }
    }
}

/// Weibull of the given shape and mean 1, from a number in (0, 1).
pub fn weibull(shape: f64, u: f64) -> f64 {
    libm::pow(exponential(u), 1.0 / shape) / libm::tgamma(1.0 + 1.0 / shape)
}

/// Distribution function of the Weibull distribution with the given shape and mean.
pub fn weibull_cdf(shape: f64, mean: f64, x: f64) -> f64 {
    -libm::expm1(-libm::pow(x.max(0.0) * libm::tgamma(1.0 + 1.0 / shape) / mean, shape))
}

/// Distribution function of the gamma distribution with the given shape and mean: the regularised lower incomplete gamma
/// function, by series below the mode and by continued fraction (Lentz) above it.
pub fn gamma_cdf(shape: f64, mean: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let z = x * shape / mean;
    let front = libm::exp(shape * libm::log(z) - z - libm::lgamma(shape));
    if z < shape + 1.0 {
        let (mut term, mut sum, mut k) = (1.0 / shape, 1.0 / shape, shape);
        while term > sum * 1e-16 {
            k += 1.0;
            term *= z / k;
            sum += term;
        }
        (front * sum).min(1.0)
    } else {
        let mut b = z + 1.0 - shape;
        let (mut c, mut d) = (1e300, 1.0 / b);
        let mut h = d;
        for i in 1..500 {
            let an = -f64::from(i) * (f64::from(i) - shape);
            b += 2.0;
            d = 1.0 / (an * d + b);
            c = b + an / c;
            let step = d * c;
            h *= step;
            if (step - 1.0).abs() < 1e-15 {
                break;
            }
        }
        1.0 - front * h
    }
}

/// Numerator and denominator of one branch of AS 241, constant term first.
struct Branch {
    over: [f64; 8],
    under: [f64; 8],
}

fn ratio(branch: &Branch, r: f64) -> f64 {
    let horner = |c: &[f64; 8]| c.iter().rev().fold(0.0, |sum, &k| sum * r + k);
    horner(&branch.over) / horner(&branch.under)
}

static CENTRAL: Branch = Branch {
    over: [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ],
    under: [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_545,
    ],
};
static MIDDLE: Branch = Branch {
    over: [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        7.745_450_142_783_414e-4,
    ],
    under: [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
};
static FAR: Branch = Branch {
    over: [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        0.001_242_660_947_388_078_4,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    under: [
        1.0,
        0.599_832_206_555_887_9,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_distr::Distribution;
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Largest distance between two samples' distribution functions.
    fn two_sample_distance(mut a: Vec<f64>, mut b: Vec<f64>) -> f64 {
        a.sort_by(f64::total_cmp);
        b.sort_by(f64::total_cmp);
        let (mut i, mut j, mut worst) = (0, 0, 0.0f64);
        while i < a.len() && j < b.len() {
            if a[i] <= b[j] {
                i += 1;
            } else {
                j += 1;
            }
            worst = worst.max((i as f64 / a.len() as f64 - j as f64 / b.len() as f64).abs());
        }
        worst
    }

    #[test]
    fn normal_quantile_hits_known_points() {
        for (p, z) in [(0.5, 0.0), (0.975, 1.959_963_984_540_054), (1e-10, -6.361_340_902_404_056)] {
            assert!((normal_quantile(p) - z).abs() < 1e-12, "{p}: {}", normal_quantile(p));
        }
    }

    #[test]
    fn gamma_agrees_with_rand_distr_and_its_own_distribution_function() {
        const N: usize = 40_000;
        let bound = 1.95 * f64::sqrt(2.0 / N as f64); // 0.1 % level
        for shape in [1.0 / 64.0, 0.25, 1.0, 4.0, 100.0] {
            let stream = Stream::named(7, "gaps");
            let ours: Vec<f64> = (0..N).map(|i| gamma(shape, &mut stream.item(i))).collect();
            let mut generator = Xoshiro256PlusPlus::seed_from_u64(3);
            let distribution = rand_distr::Gamma::new(shape, 1.0).expect("the shape is positive");
            let theirs: Vec<f64> = (0..N).map(|_| distribution.sample(&mut generator)).collect();
            assert!(two_sample_distance(ours.clone(), theirs) < bound, "shape {shape}");
            let mut sorted = ours;
            sorted.sort_by(f64::total_cmp);
            let worst = sorted.iter().enumerate().fold(0.0f64, |worst, (i, &x)| {
                worst.max((gamma_cdf(shape, shape, x) - (i as f64 + 0.5) / N as f64).abs())
            });
            assert!(worst < bound, "shape {shape}: distance to the distribution {worst}");
        }
    }

    #[test]
    fn gamma_moves_little_when_the_shape_moves_little() {
        let stream = Stream::named(7, "gaps");
        let moved = (0..10_000)
            .filter(|&i| {
                let a = gamma(0.99, &mut stream.item(i));
                let b = gamma(1.01, &mut stream.item(i));
                (a - b).abs() > 0.1 + 0.1 * a
            })
            .count();
        assert!(moved < 100, "{moved} of 10,000 gaps jumped");
    }
}
