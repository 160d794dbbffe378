//! How long the stages of a pipeline take for a batch, and what of that holds for later iterations of one that only decodes: each
//! of them adds a token to every request.

/// What the times of a batch's stages have in common with each other, and where it only decodes with those of its later iterations.
/// What each number is, the model that returned it knows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StageConstants {
    /// A layer without the attention of requests that decode, microseconds.
    pub layer_us: f64,
    /// Sending on to the next stage.
    pub send_us: f64,
    /// The host.
    pub host_us: f64,
    /// Adapters: on a stage before the last one, and on the last one.
    pub adapters_us: [f64; 2],
}

impl StageConstants {
    /// The times of a stage before the last and of the last one, with those of adapters.
    pub(crate) fn with_adapters(&self, us: [f64; 2]) -> [f64; 2] {
        [us[0] + self.adapters_us[0], us[1] + self.adapters_us[1]]
    }
}

/// How long the stages take for a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchStages {
    /// Those before the last one, and the last one, microseconds.
    pub us: [f64; 2],
    /// For how many iterations of the same requests, from this one on, they take as long to the bit; at least 1, and 1 where it
    /// holds prompts.
    pub valid_iterations: u32,
    /// The line on which the times of later iterations of the same requests lie, to the bit; `None`: the model has to be asked for each.
    pub line: Option<DecodeLine>,
}

impl BatchStages {
    /// Times that say nothing about the iterations after it.
    pub fn once(us: [f64; 2]) -> Self {
        Self { us, valid_iterations: 1, line: None }
    }
}

/// A time that is linear in a number of tokens, and constant below its first one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenLine {
    /// The number of tokens from which on it is linear.
    pub from_tokens: f64,
    /// The time there, microseconds.
    pub first_us: f64,
    /// So many tokens on it is `rise_us` longer.
    pub width_tokens: f64,
    /// By how much it is longer there, microseconds.
    pub rise_us: f64,
    /// The number of tokens from which on it holds no more; infinite: it holds for all.
    pub until_tokens: f64,
}

impl TokenLine {
    /// The same time for all.
    pub const ZERO: Self = Self {
        from_tokens: 0.0,
        first_us: 0.0,
        width_tokens: 1.0,
        rise_us: 0.0,
        until_tokens: f64::INFINITY,
    };

    /// The time of so many tokens, microseconds.
    #[inline]
    pub fn at(&self, tokens: f64) -> f64 {
        let along =
            if tokens > self.from_tokens { (tokens - self.from_tokens) / self.width_tokens } else { 0.0 };
        self.first_us + along * self.rise_us
    }

    /// By how much it is longer for each token, microseconds.
    pub fn slope_us(&self) -> f64 {
        self.rise_us / self.width_tokens
    }
}

/// The stages' times where attention is linear in the mean of the requests' KV tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecodeLine {
    /// Decode attention of a layer by that mean.
    pub attention: TokenLine,
    /// By what attention is multiplied.
    pub penalty: f64,
    /// Tokens by which every request counts as longer than it is.
    pub kv_bias: f64,
    /// Layers of a stage before the last one, and of the last one.
    pub layers: [f64; 2],
    /// All else.
    pub constants: StageConstants,
}

impl DecodeLine {
    /// The times of `decodes` requests with so many KV tokens together, at least as many as where the line was asked for: on a stage
    /// before the last one, and on the last one, microseconds; `None`: the line ends before that.
    pub fn us(&self, decodes: u32, kv_tokens: u64) -> Option<[f64; 2]> {
        let ([us], known) = self.us_of_iterations(decodes, kv_tokens);
        (known > 0).then_some(us)
    }

    /// The same of this iteration and of those after it, and how many of them the line knows.
    #[inline]
    pub fn us_of_iterations<const COUNT: usize>(
        &self,
        decodes: u32,
        kv_tokens: u64,
    ) -> ([[f64; 2]; COUNT], usize) {
        let requests = f64::from(decodes);
        let means: [f64; COUNT] = std::array::from_fn(|later| {
            let kv_tokens = kv_tokens + later as u64 * u64::from(decodes);
            // Below 2^63: a signed number becomes a float by one instruction.
            kv_tokens as i64 as f64 / requests + self.kv_bias
        });
        let known = means.iter().take_while(|&&mean| mean < self.attention.until_tokens).count();
        (means.map(|mean| self.us_at(mean)), known)
    }

    /// The times for a mean of the KV tokens, `kv_bias` counted.
    #[inline]
    pub(crate) fn us_at(&self, mean: f64) -> [f64; 2] {
        let StageConstants { layer_us, send_us, host_us, adapters_us } = self.constants;
        let layer_us = layer_us + self.attention.at(mean) * self.penalty;
        let stage_us = |stage: usize, send_us: f64| {
            (self.layers[stage] * layer_us + send_us + host_us) + adapters_us[stage]
        };
        [stage_us(0, send_us), stage_us(1, 0.0)]
    }
}
