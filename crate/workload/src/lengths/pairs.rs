//! Prompt and output lengths drawn together from pairs that were seen.

use super::LengthError;
use crate::statistics::sort_places;

/// Pairs of lengths in the order of their prompts, then of their answers, so that a larger number draws a longer prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LengthPairs(Vec<(u32, u32)>);

impl LengthPairs {
    /// From prompt and output lengths in turn, in tokens. A pair that is there twice is drawn twice as often.
    ///
    /// # Errors
    /// [`LengthError::NoPairs`], [`LengthError::BadEdge`] for what is no length.
    pub fn new(numbers: &[f64]) -> Result<Self, LengthError> {
        if numbers.is_empty() || !numbers.len().is_multiple_of(2) {
            return Err(LengthError::NoPairs(numbers.len()));
        }
        let whole = |x: &f64| (1.0..f64::from(MAX_LENGTH)).contains(x) && x.trunc() == *x;
        if let Some(&bad) = numbers.iter().find(|x| !whole(x)) {
            return Err(LengthError::BadEdge(bad));
        }
        let keys: Vec<f64> = numbers.chunks(2).map(|p| p[0] * f64::from(MAX_LENGTH) + p[1]).collect();
        let pair = |place: u32| {
            let at = 2 * place as usize;
            (numbers[at] as u32, numbers[at + 1] as u32)
        };
        Ok(Self(sort_places(&keys).into_iter().map(pair).collect()))
    }

    /// The prompt and output at the uniform number `u` in (0, 1).
    pub fn at(&self, u: f64) -> (u32, u32) {
        self.0[((u * self.0.len() as f64) as usize).min(self.0.len() - 1)]
    }
}

/// Longer than any length; two of them in one number are exact.
const MAX_LENGTH: u32 = 1 << 26;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_drawn_whole_and_alike() {
        let pairs =
            LengthPairs::new(&[500.0, 2.0, 20.0, 9.0, 20.0, 4.0, 500.0, 2.0]).expect("they are sound");
        let drawn = [0.1, 0.3, 0.6, 1.0 - 1e-16].map(|u| pairs.at(u));
        assert_eq!(drawn, [(20, 4), (20, 9), (500, 2), (500, 2)]);
        assert_eq!(LengthPairs::new(&[1.0, 2.0, 3.0]), Err(LengthError::NoPairs(3)));
        assert_eq!(LengthPairs::new(&[]), Err(LengthError::NoPairs(0)));
        assert_eq!(LengthPairs::new(&[1.0, 0.0]), Err(LengthError::BadEdge(0.0)));
        assert!(LengthPairs::new(&[1.0, f64::NAN]).is_err());
    }
}
