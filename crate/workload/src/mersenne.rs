//! MT19937 (Matsumoto and Nishimura 1998), seeded as NumPy's legacy stream and as Python's `random` are. For drawing what
//! a reference implementation drew; everything else draws from [`crate::stream`].

const STATE: usize = 624;

/// The Mersenne Twister of 32 bits.
#[derive(Debug, Clone)]
pub struct MersenneTwister {
    state: Box<[u32; STATE]>,
    next: usize,
}

impl MersenneTwister {
    /// As `numpy.random.seed(seed)` leaves it: NumPy's `init_genrand`.
    pub fn seeded(seed: u32) -> Self {
        let mut state = Box::new([0; STATE]);
        let mut x = seed;
        for (i, word) in state.iter_mut().enumerate() {
            *word = x;
            x = scrambled(x, 1_812_433_253).wrapping_add(i as u32 + 1);
        }
        Self { state, next: STATE }
    }

    /// As Python's `random.seed(seed)` leaves it: NumPy's `init_by_array` over the seed's words of 32 bits.
    pub fn of_python(seed: u64) -> Self {
        let (low, high) = (seed as u32, (seed >> 32) as u32);
        let key = &[low, high][..if high == 0 { 1 } else { 2 }];
        let mut twister = Self::seeded(19_650_218);
        let state = &mut twister.state;
        let mut i = 1;
        let mut mix = |i: &mut usize, factor: u32, added: u32| {
            state[*i] = (state[*i] ^ scrambled(state[*i - 1], factor)).wrapping_add(added);
            *i += 1;
            if *i == STATE {
                state[0] = state[STATE - 1];
                *i = 1;
            }
        };
        for k in 0..STATE {
            let j = k % key.len();
            mix(&mut i, 1_664_525, key[j].wrapping_add(j as u32));
        }
        for _ in 1..STATE {
            let place = i as u32;
            mix(&mut i, 1_566_083_941, place.wrapping_neg());
        }
        state[0] = 0x8000_0000;
        twister
    }

    /// 32 random bits.
    pub fn word(&mut self) -> u32 {
        if self.next == STATE {
            self.refill();
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    /// Uniform on `0..count`, as Python's `random.randrange(count)` draws it; `count` is at least 1. Numbers of as many bits
    /// as the count has are drawn until one is below it: even a count of one is drawn.
    pub fn below(&mut self, count: u32) -> u32 {
        loop {
            let x = self.word() >> count.leading_zeros();
            if x < count {
                return x;
            }
        }
    }

    /// Uniform on [0, 1) in 53 bits, as both draw it.
    pub fn uniform(&mut self) -> f64 {
        let (high, low) = (self.word() >> 5, self.word() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }

    fn refill(&mut self) {
        for i in 0..STATE {
            let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % STATE] & 0x7fff_ffff);
            let twist = if y & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] = self.state[(i + 397) % STATE] ^ (y >> 1) ^ twist;
        }
        self.next = 0;
    }
}

fn scrambled(x: u32, factor: u32) -> u32 {
    factor.wrapping_mul(x ^ (x >> 30))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_as_python_does() {
        assert_eq!(MersenneTwister::of_python(0).uniform(), 0.844_421_851_525_048_1);
        assert_eq!(MersenneTwister::of_python(12).uniform(), 0.474_570_678_688_548_1);
        let draws = |seed, count| {
            let mut twister = MersenneTwister::of_python(seed);
            std::array::from_fn::<u32, 12, _>(|_| twister.below(count))
        };
        assert_eq!(draws(42, 2), [0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(draws(42, 3), [2, 0, 0, 2, 1, 0, 0, 0, 2, 0, 2, 2]);
        assert_eq!(draws(7, 4), [2, 1, 3, 0, 0, 0, 2, 0, 1, 0, 0, 3]);
        assert_eq!(draws((1 << 40) + 5, 1_000), [516, 529, 275, 679, 948, 28, 543, 776, 837, 854, 805, 979]);
        assert_eq!(draws(0, 4_096), [3155, 3445, 331, 2121, 3980, 3317, 2484, 3904, 2933, 1789, 1140, 2308]);
    }
}
