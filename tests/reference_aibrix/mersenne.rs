//! Python's random numbers: the Mersenne Twister MT19937 (Matsumoto and Nishimura 1998) seeded by a key, and the ways in
//! which Python's `random` module turns its words into numbers.

use servescope_workload::aibrix::agent::Draws;

const WORDS: usize = 624;

/// Python's `random.Random(seed)`.
pub(crate) struct Python {
    words: [u32; WORDS],
    next: usize,
}

impl Python {
    pub(crate) fn seeded(seed: i64) -> Self {
        let size = seed.unsigned_abs();
        let key = [size as u32, (size >> 32) as u32];
        let key = if key[1] == 0 { &key[..1] } else { &key[..] };
        let mut words = [0u32; WORDS];
        words[0] = 19_650_218;
        for i in 1..WORDS {
            words[i] =
                1_812_433_253u32.wrapping_mul(words[i - 1] ^ (words[i - 1] >> 30)).wrapping_add(i as u32);
        }
        let mixed = |words: &[u32; WORDS], i: usize, factor: u32| {
            words[i] ^ (words[i - 1] ^ (words[i - 1] >> 30)).wrapping_mul(factor)
        };
        let mut i = 1;
        let wrap = |words: &mut [u32; WORDS], i: &mut usize| {
            *i += 1;
            if *i == WORDS {
                words[0] = words[WORDS - 1];
                *i = 1;
            }
        };
        for k in 0..WORDS {
            let j = k % key.len();
            words[i] = mixed(&words, i, 1_664_525).wrapping_add(key[j]).wrapping_add(j as u32);
            wrap(&mut words, &mut i);
        }
        for _ in 1..WORDS {
            words[i] = mixed(&words, i, 1_566_083_941).wrapping_sub(i as u32);
            wrap(&mut words, &mut i);
        }
        words[0] = 0x8000_0000;
        Self { words, next: WORDS }
    }

    fn word(&mut self) -> u32 {
        if self.next == WORDS {
            for i in 0..WORDS {
                let y = (self.words[i] & 0x8000_0000) | (self.words[(i + 1) % WORDS] & 0x7fff_ffff);
                let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
                self.words[i] = self.words[(i + 397) % WORDS] ^ (y >> 1) ^ odd;
            }
            self.next = 0;
        }
        let mut y = self.words[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }
}

impl Draws for Python {
    fn integer(&mut self, low: u64, high: u64) -> u64 {
        // Numbers of as many bits as the count has, drawn until one is below it: even a count of one is drawn.
        let count = high - low + 1;
        let bits = 64 - count.leading_zeros();
        assert!(bits <= 32, "Python draws more than one word for a range this wide");
        loop {
            let drawn = u64::from(self.word() >> (32 - bits));
            if drawn < count {
                return low + drawn;
            }
        }
    }

    fn uniform(&mut self) -> f64 {
        let high = f64::from(self.word() >> 5);
        let low = f64::from(self.word() >> 6);
        (high * 67_108_864.0 + low) / 9_007_199_254_740_992.0
    }

    fn exponential(&mut self) -> f64 {
        let u = self.uniform();
        servescope_workload::law::exponential(1.0 - u)
    }
}

#[test]
fn first_numbers_of_python() {
    assert_eq!(Python::seeded(0).uniform(), 0.844_421_851_525_048_1);
    assert_eq!(Python::seeded(12).uniform(), 0.474_570_678_688_548_1);
    let mut python = Python::seeded(1);
    let drawn: Vec<u64> = (0..5).map(|_| python.integer(1, 100)).collect();
    assert_eq!(drawn, [18, 73, 98, 9, 33]);
}
