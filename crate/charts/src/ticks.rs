//! Which values of an axis are labelled: two to eight round ones, as many as there is room for.

use crate::label::label;

/// A labelled value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: String,
}

/// What the steps are round in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TickSteps {
    /// 1, 2 and 5 times a power of ten.
    Decimal,
    /// The same without fractions.
    Whole,
    /// Seconds: the same below ten, then what is round in minutes, hours and days. Labels have the unit of their step.
    Clock,
}

/// Ticks are never more.
pub(crate) const MOST: usize = 8;

const CLOCK: [f64; 16] = [
    10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 14_400.0, 21_600.0,
    43_200.0, 86_400.0, 172_800.0,
];

/// Units of the clock, the longest first, in seconds. Steps from a unit on are whole numbers of it.
const UNITS: [(f64, &str); 3] = [(DAY, "d"), (3600.0, "h"), (60.0, "min")];
const DAY: f64 = 86_400.0;

/// Slack for ticks at the very ends of a range, in steps.
const SLACK: f64 = 1e-9;

/// A distance between ticks: `mantissa` × 10^`exponent`, kept apart so that 3 × 0.1 is 0.3.
#[derive(Debug, Clone, Copy)]
struct TickStep {
    mantissa: f64,
    exponent: i32,
}

impl TickStep {
    fn times(self, count: f64) -> f64 {
        let whole = count * self.mantissa;
        if self.exponent < 0 {
            whole / libm::pow(10.0, f64::from(-self.exponent))
        } else {
            whole * libm::pow(10.0, f64::from(self.exponent))
        }
    }

    /// First and last multiple within the range.
    fn ends(self, min: f64, max: f64) -> (f64, f64) {
        let size = self.times(1.0);
        (f64::ceil(min / size - SLACK), f64::floor(max / size + SLACK))
    }
}

/// Multiples of a round step within `min..=max`: as many as `most` allows, but two where it can be.
pub(crate) fn linear(min: f64, max: f64, most: usize, steps: TickSteps) -> Vec<Tick> {
    let most = most.clamp(2, MOST) as f64;
    let fewest = if steps == TickSteps::Whole { 1.0 } else { 2.0 };
    let mut chosen = None;
    for step in candidates((max - min) / most, steps) {
        let (first, last) = step.ends(min, max);
        let count = last - first + 1.0;
        if count < 2.0 && (count < fewest || chosen.is_some()) {
            break;
        }
        chosen = Some((step, first, count));
        if count <= most {
            break;
        }
    }
    chosen.map_or_else(Vec::new, |(step, first, count)| {
        (0..count as usize)
            .map(|index| {
                let value = step.times(first + index as f64);
                Tick { value, label: text_of(value, step, steps) }
            })
            .collect()
    })
}

fn text_of(value: f64, step: TickStep, steps: TickSteps) -> String {
    if steps != TickSteps::Clock || value == 0.0 {
        return label(value, -step.exponent, false);
    }
    let size = step.times(1.0);
    match UNITS.into_iter().find(|(seconds, _)| size >= *seconds) {
        Some((seconds, unit)) => format!("{} {unit}", label(f64::round(value / seconds), 0, true)),
        None => format!("{} s", label(value, -step.exponent, true)),
    }
}

/// Round steps in rising order, from well below `about` to well above.
fn candidates(about: f64, steps: TickSteps) -> impl Iterator<Item = TickStep> {
    let fine = f64::floor(libm::log10(about)) as i32 - 1;
    let decimal = move || {
        (fine..fine + 5).flat_map(|exponent| [1.0, 2.0, 5.0].map(|mantissa| TickStep { mantissa, exponent }))
    };
    let clock = steps == TickSteps::Clock;
    let [shortest, .., longest] = CLOCK;
    let below = decimal().filter(move |step| match steps {
        TickSteps::Decimal => true,
        TickSteps::Whole => step.exponent >= 0,
        TickSteps::Clock => step.times(1.0) < shortest,
    });
    let between = CLOCK.into_iter().filter(move |_| clock).map(|mantissa| TickStep { mantissa, exponent: 0 });
    let above = ((fine - 6).max(0)..(fine + 5).max(1))
        .flat_map(|exponent| [1.0, 2.0, 5.0].map(|mantissa| TickStep { mantissa: mantissa * DAY, exponent }));
    let above = above.filter(move |step| clock && step.times(1.0) > longest);
    below.chain(between).chain(above)
}

/// Round values of a log axis within `min..=max`: 1, 2 and 5 of each decade, else the decades, else every second, third …
/// decade. A range without two of them is labelled like a linear one.
pub(crate) fn log(min: f64, max: f64, most: usize) -> Vec<Tick> {
    let most = most.clamp(2, MOST);
    let first = f64::floor(libm::log10(min)) as i32;
    let last = f64::floor(libm::log10(max)) as i32;
    let mut ticks = Vec::new();
    for (every, mantissas) in
        [(1, &[1.0, 2.0, 5.0][..])].into_iter().chain((1..=last - first + 1).map(|every| (every, &[1.0][..])))
    {
        let finer = (first..=last)
            .filter(|exponent| exponent.rem_euclid(every) == 0)
            .flat_map(|exponent| mantissas.iter().map(move |&mantissa| TickStep { mantissa, exponent }))
            .map(|step| (step, step.times(1.0)))
            .filter(|(_, value)| (min * (1.0 - SLACK)..=max * (1.0 + SLACK)).contains(value));
        let found: Vec<_> =
            finer.map(|(step, value)| Tick { value, label: label(value, -step.exponent, false) }).collect();
        if found.len() < 2 {
            break;
        }
        ticks = found;
        if ticks.len() <= most {
            break;
        }
    }
    if ticks.is_empty() { linear(min, max, most, TickSteps::Decimal) } else { ticks }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    fn check(ticks: &[Tick], min: f64, max: f64) {
        let about = format!("{min} to {max}: {ticks:?}");
        assert!((2..=MOST).contains(&ticks.len()), "{about}");
        let slack = (max - min) * 1e-9;
        assert!(ticks.iter().all(|t| t.value >= min - slack && t.value <= max + slack), "{about}");
        for pair in ticks.windows(2) {
            assert!(pair[0].value < pair[1].value, "{about}");
            assert_ne!(pair[0].label, pair[1].label, "{about}");
        }
        assert!(ticks.iter().all(|t| !t.label.ends_with(".0")), "{about}");
    }

    /// Numbers spread over many sizes, the same in every run.
    fn spread() -> Vec<f64> {
        let mut state = 1_u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1_u32 << 31)
        };
        (0..300).map(|_| libm::pow(10.0, next() * 16.0 - 8.0) * (0.1 + next())).collect()
    }

    #[test]
    fn linear_ticks_of_many_ranges() {
        let numbers = spread();
        for (&span, &from) in numbers.iter().zip(numbers.iter().rev()) {
            for from in [0.0, from, -from, -span / 2.0] {
                if span < from.abs() * 1e-9 {
                    continue;
                }
                for most in 2..=MOST {
                    check(&linear(from, from + span, most, TickSteps::Decimal), from, from + span);
                    check(&linear(from, from + span, most, TickSteps::Clock), from, from + span);
                    if span >= 2.0 {
                        check(&linear(from, from + span, most, TickSteps::Whole), from, from + span);
                    }
                }
            }
        }
    }

    #[test]
    fn log_ticks_of_many_ranges() {
        for &min in &spread() {
            for ratio in [1.01, 1.5, 2.0, 3.0, 9.0, 11.0, 40.0, 1e3, 3e5, 1e12, 1e60] {
                for most in 2..=MOST {
                    check(&log(min, min * ratio, most), min, min * ratio);
                }
            }
        }
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(labels(&linear(0.0, 1.0, 4, TickSteps::Decimal)), ["0", "0.5", "1"]);
        assert_eq!(labels(&linear(0.0, 1.0, 6, TickSteps::Decimal)), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels(&linear(0.0, 17_000.0, 4, TickSteps::Decimal)), ["0", "5k", "10k", "15k"]);
        assert_eq!(
            labels(&linear(0.0, 300.0, 6, TickSteps::Clock)),
            ["0", "1 min", "2 min", "3 min", "4 min", "5 min"]
        );
        assert_eq!(
            labels(&linear(0.0, 7200.0, 5, TickSteps::Clock)),
            ["0", "30 min", "60 min", "90 min", "120 min"]
        );
        assert_eq!(labels(&linear(0.0, 40.0, 5, TickSteps::Clock)), ["0", "10 s", "20 s", "30 s", "40 s"]);
        assert_eq!(labels(&linear(2.0, 3.0, 3, TickSteps::Clock)), ["2 s", "2.5 s", "3 s"]);
        assert_eq!(labels(&linear(0.0, 15_000.0, 5, TickSteps::Clock)), ["0", "1 h", "2 h", "3 h", "4 h"]);
        assert_eq!(labels(&linear(0.0, 1e6, 5, TickSteps::Clock)), ["0", "5 d", "10 d"]);
        assert_eq!(labels(&linear(-0.5, 0.5, 8, TickSteps::Whole)), ["0"]);
        assert_eq!(labels(&linear(-0.5, 3.5, 8, TickSteps::Whole)), ["0", "1", "2", "3"]);
        assert_eq!(labels(&log(0.01, 100.0, 6)), ["0.01", "0.1", "1", "10", "100"]);
        assert_eq!(labels(&log(0.1, 10.0, 8)), ["0.1", "0.2", "0.5", "1", "2", "5", "10"]);
        assert_eq!(labels(&log(1e-3, 1e5, 5)), ["0.01", "1", "100", "10k"]);
    }
}
