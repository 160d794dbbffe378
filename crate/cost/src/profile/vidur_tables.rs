//! Vidur's own look-ups: its forests' predictions as tables, with its roundings.
//!
//! Per layer: the token operators at the batch's tokens rounded up to a multiple of 8; attention of the requests that
//! decode at (their number, mean of their tokens truncated and rounded up to 64); attention of prompts at (sum of their
//! processed tokens, each rounded up to 64; square root of the sum of the squared chunks). With tensor parallelism two
//! all-reduces a layer. A forest is flat beyond its last point; Vidur ends with a KeyError outside its tables, here the
//! last plateau goes on.

use std::collections::BTreeMap;

use super::profiling_csv::median;
use super::table::{Csv, ProfileError};
use crate::batch::{Batch, BatchCost, OperatorClass, StageParts, StageTime};
use crate::batch_stages::{BatchStages, StageConstants};

/// What the tables do not say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayerSettings {
    /// Layers of the model.
    pub layers: u32,
    /// Pipeline stages; they divide the layers.
    pub stages: u32,
    /// Tensor parallel degree.
    pub tensor_parallel: u32,
    /// Added to each all-reduce, milliseconds.
    pub launch_ms: f64,
    /// Added to each all-reduce, times degree^1.25, milliseconds.
    pub skew_ms: f64,
    /// Attention of more than one prompt takes longer by this share.
    pub prefill_penalty: f64,
    /// Attention of more than one decoding request takes longer by this share.
    pub decode_penalty: f64,
    /// Tokens to which KV lengths are rounded up; at least 1.
    pub kv_granularity: u32,
    /// Host overhead of every stage, milliseconds.
    pub cpu_ms: f64,
}

impl LayerSettings {
    pub(super) fn check(&self) -> Result<(), ProfileError> {
        let bad = |name, expected| Err(ProfileError::BadSetting { name, expected });
        if self.stages == 0 || self.layers == 0 {
            return bad("num_pipeline_stages", "a number of at least 1");
        }
        if self.tensor_parallel == 0 {
            return bad("tensor_parallel_size", "a number of at least 1");
        }
        if self.kv_granularity == 0 {
            return bad("kv_cache_prediction_granularity", "a number of at least 1");
        }
        let shares = [self.launch_ms, self.skew_ms, self.prefill_penalty, self.decode_penalty, self.cpu_ms];
        if shares.iter().any(|x| !(0.0..1e6).contains(x)) {
            return bad("overheads", "numbers of 0 to 1e6");
        }
        Ok(())
    }
}

/// Steps of the token grid.
const TOKEN_STEP: u32 = 8;

/// The tables of one (GPU, model, degree).
#[derive(Debug, Clone, PartialEq)]
pub struct ExactTables {
    settings: LayerSettings,
    /// Sum of a layer's token operators and all-reduces, microseconds, by tokens / 8 - 1.
    token_us: Vec<f64>,
    /// Of that sum, what is neither a matrix product nor an all-reduce, and the all-reduces, by tokens / 8 - 1.
    beside_us: Vec<[f64; 2]>,
    /// Sending on to the next stage, microseconds, by tokens / 8 - 1.
    send_us: Vec<f64>,
    /// Attention of decoding requests, microseconds: row by number of requests - 1, column by KV step.
    decode_us: Vec<f64>,
    kv_steps: usize,
    /// Attention of prompts: the plateaus of each KV step, as (last chunk, microseconds).
    prefill: Vec<(u32, f64)>,
    /// Where each KV step's plateaus end in `prefill`.
    prefill_ends: Vec<usize>,
    /// The host's work on an iteration by its number of requests, ascending, microseconds; none where it is not modelled.
    host_us: Vec<(u32, f64)>,
}

/// Token operators of one layer, each once; those of [`POINTWISE`] are no matrix products.
const TOKEN_OPERATORS: [&str; 10] = [
    "attn_pre_proj",
    "attn_rope",
    "attn_kv_cache_save",
    "attn_post_proj",
    "input_layernorm",
    "mlp_up_proj",
    "mlp_act",
    "mlp_down_proj",
    "post_attention_layernorm",
    "add",
];
const POINTWISE: [&str; 6] =
    ["attn_rope", "attn_kv_cache_save", "input_layernorm", "mlp_act", "post_attention_layernorm", "add"];

impl ExactTables {
    /// Reads `token_ops.csv`, `attn_decode.csv` and `attn_prefill_runs.csv`, all in milliseconds.
    ///
    /// # Errors
    /// [`ProfileError`] with file, row and column.
    pub fn read(
        settings: LayerSettings,
        token_ops: &str,
        attn_decode: &str,
        attn_prefill: &str,
    ) -> Result<Self, ProfileError> {
        settings.check()?;
        if !settings.layers.is_multiple_of(settings.stages) {
            let (name, expected) = ("num_pipeline_stages", "a divisor of the number of layers");
            return Err(ProfileError::BadSetting { name, expected });
        }
        let TokenTables { token_us, beside_us, send_us } = read_token_operators(&settings, token_ops)?;
        let (decode_us, kv_steps) = read_decode(&settings, attn_decode)?;
        let (prefill, prefill_ends) = read_prefill(&settings, attn_prefill)?;
        let host_us = Vec::new();
        Ok(Self {
            settings,
            token_us,
            beside_us,
            send_us,
            decode_us,
            kv_steps,
            prefill,
            prefill_ends,
            host_us,
        })
    }

    /// The same with the host's work of `cpu_overheads.csv`, in milliseconds by the number of requests. The columns are those of
    /// Vidur's predictions or, with `_median` or `_mean` behind them, of its profiles; of these the rows of `model` and the
    /// degree count.
    ///
    /// # Errors
    /// [`ProfileError`] with file, row and column.
    pub fn with_host(self, text: &str, model: &str) -> Result<Self, ProfileError> {
        let host_us = read_host(text, model, self.settings.tensor_parallel)?;
        Ok(Self { host_us, ..self })
    }

    /// The host's work on an iteration of so many requests, microseconds: between two rows on the straight line, beyond the last
    /// ones as theirs.
    fn host_us(&self, requests: u32) -> f64 {
        let above = self.host_us.partition_point(|&(batch, _)| batch < requests);
        let of_tables = match (above.checked_sub(1).map(|below| self.host_us[below]), self.host_us.get(above))
        {
            (Some((from, low)), Some(&(to, high))) if requests < to => {
                low + (high - low) * f64::from(requests - from) / f64::from(to - from)
            }
            (_, Some(&(_, us))) | (Some((_, us)), None) => us,
            (None, None) => 0.0,
        };
        of_tables + self.settings.cpu_ms * 1e3
    }

    /// The settings that the tables were read with.
    pub fn settings(&self) -> &LayerSettings {
        &self.settings
    }

    fn token_place(&self, tokens: u32) -> usize {
        (tokens.div_ceil(TOKEN_STEP).max(1) as usize).min(self.token_us.len()) - 1
    }

    /// Token operators and all-reduces of a layer, microseconds.
    pub fn token_us(&self, tokens: u32) -> f64 {
        self.token_us[self.token_place(tokens)]
    }

    /// Sending an iteration on to the next stage, microseconds.
    pub fn send_us(&self, tokens: u32) -> f64 {
        self.send_us[self.token_place(tokens)]
    }

    fn kv_step(&self, tokens: u64) -> u64 {
        tokens.div_ceil(u64::from(self.settings.kv_granularity))
    }

    /// The table's time for `requests` (at least 1) that decode, with a mean of `kv_tokens` each, microseconds.
    pub fn decode_table_us(&self, requests: u32, kv_tokens: u64) -> f64 {
        let row = (requests.max(1) as usize).min(self.decode_us.len() / self.kv_steps) - 1;
        let column = (self.kv_step(kv_tokens) as usize).min(self.kv_steps - 1);
        self.decode_us[row * self.kv_steps + column]
    }

    /// The table's time for a prompt's chunk after `kv_tokens`, microseconds.
    pub fn prefill_table_us(&self, kv_tokens: u64, chunk: u32) -> f64 {
        let row = (self.kv_step(kv_tokens) as usize).min(self.prefill_ends.len() - 1);
        let start = if row == 0 { 0 } else { self.prefill_ends[row - 1] };
        let plateaus = &self.prefill[start..self.prefill_ends[row]];
        let place = plateaus.partition_point(|p| p.0 < chunk).min(plateaus.len() - 1);
        plateaus[place].1
    }

    /// Attention of `requests` that decode, with a mean of `kv_tokens` each, microseconds.
    pub fn decode_attention_us(&self, requests: u32, kv_tokens: u64) -> f64 {
        let penalty = if requests > 1 { 1.0 + self.settings.decode_penalty } else { 1.0 };
        self.decode_table_us(requests, kv_tokens) * penalty
    }

    /// Attention of the requests of a batch that decode, at least one, and for how many iterations of them it is the same.
    fn decode_us_until(&self, batch: &Batch<'_>) -> (f64, u32) {
        let mean = batch.decode_kv_tokens as u64 / u64::from(batch.decodes);
        // The mean grows by 1 an iteration, up to the end of its step.
        let edge = self.kv_step(mean) * u64::from(self.settings.kv_granularity);
        (self.decode_attention_us(batch.decodes, mean), (edge - mean + 1) as u32)
    }

    /// Attention of prompts, microseconds.
    pub fn prefill_attention_us(&self, batch: &Batch<'_>) -> f64 {
        let (mut steps, mut squares) = (0, 0u64);
        for chunk in batch.chunks {
            steps += self.kv_step(u64::from(chunk.kv_tokens));
            squares = squares.saturating_add(u64::from(chunk.tokens) * u64::from(chunk.tokens));
        }
        let chunk = f64::sqrt(squares as f64).round_ties_even() as u32;
        let penalty = if batch.chunks.len() > 1 { 1.0 + self.settings.prefill_penalty } else { 1.0 };
        let kv_tokens = steps * u64::from(self.settings.kv_granularity);
        self.prefill_table_us(kv_tokens, chunk) * penalty
    }
}

impl BatchCost for ExactTables {
    fn stages(&self) -> u32 {
        self.settings.stages
    }

    fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime {
        let BatchStages { us, valid_iterations, .. } = self.batch_stages(batch, &self.stage_constants(batch));
        StageTime { first_us: us[usize::from(is_last)], growth_us: 0.0, valid_iterations }
    }

    fn stage_constants(&self, batch: &Batch<'_>) -> StageConstants {
        let tokens = batch.rows();
        let prefill_us = if batch.chunks.is_empty() { 0.0 } else { self.prefill_attention_us(batch) };
        StageConstants {
            layer_us: self.token_us(tokens) + prefill_us,
            send_us: self.send_us(tokens),
            host_us: self.host_us(batch.requests()),
            ..StageConstants::default()
        }
    }

    // PERF: a third of the instructions of runs of four stages; guarded by `stages_of_a_batch`.
    fn batch_stages(&self, batch: &Batch<'_>, constants: &StageConstants) -> BatchStages {
        let (attention_us, alike) = if batch.decodes > 0 { self.decode_us_until(batch) } else { (0.0, 1) };
        let valid_iterations = if batch.chunks.is_empty() { alike } else { 1 };
        let layers = f64::from(self.settings.layers / self.settings.stages);
        let layer_us = constants.layer_us + attention_us;
        let [inner_adapters_us, last_adapters_us] = constants.adapters_us;
        let us = [(constants.send_us, inner_adapters_us), (0.0, last_adapters_us)]
            .map(|(send_us, adapters_us)| (layers * layer_us + send_us + constants.host_us) + adapters_us);
        BatchStages { us, valid_iterations, line: None }
    }

    fn stage_parts(&self, batch: &Batch<'_>) -> [StageParts; 2] {
        let tokens = batch.rows();
        let layers = f64::from(self.settings.layers / self.settings.stages);
        let [pointwise_us, reduces_us] = self.beside_us[self.token_place(tokens)];
        let mut parts = StageParts::default();
        let mut put = |class: OperatorClass, us: f64| parts[class as usize] = us;
        put(OperatorClass::Linear, layers * (self.token_us(tokens) - pointwise_us - reduces_us).max(0.0));
        put(OperatorClass::Pointwise, layers * pointwise_us);
        put(OperatorClass::Communication, layers * reduces_us);
        put(OperatorClass::Host, self.host_us(batch.requests()));
        if !batch.chunks.is_empty() {
            put(OperatorClass::PrefillAttention, layers * self.prefill_attention_us(batch));
        }
        if batch.decodes > 0 {
            let mean = batch.decode_kv_tokens as u64 / u64::from(batch.decodes);
            put(OperatorClass::DecodeAttention, layers * self.decode_attention_us(batch.decodes, mean));
        }
        let mut inner = parts;
        inner[OperatorClass::Communication as usize] += self.send_us(tokens);
        [inner, parts]
    }
}

/// What `token_ops.csv` holds, by tokens / 8 - 1.
#[derive(Default)]
struct TokenTables {
    token_us: Vec<f64>,
    beside_us: Vec<[f64; 2]>,
    send_us: Vec<f64>,
}

fn read_token_operators(settings: &LayerSettings, text: &str) -> Result<TokenTables, ProfileError> {
    let mut csv = Csv::new("token_ops.csv", text)?;
    let tokens = csv.column("num_tokens")?;
    let mut operators = Vec::new();
    for name in TOKEN_OPERATORS {
        match csv.find(name) {
            Some(column) => operators.push((column, POINTWISE.contains(&name))),
            // Profiles before Llama 3 lack the first, models with one norm a layer the second.
            None if name == "attn_kv_cache_save" || name == "post_attention_layernorm" => {}
            None => return Err(ProfileError::NoColumn { file: "token_ops.csv", column: name }),
        }
    }
    let reduce = (settings.tensor_parallel > 1).then(|| csv.column("all_reduce")).transpose()?;
    let send = (settings.stages > 1).then(|| csv.column("send_recv")).transpose()?;
    let skew_ms = settings.skew_ms * libm::pow(f64::from(settings.tensor_parallel), 1.25);
    let mut tables = TokenTables::default();
    while csv.next_row() {
        if csv.count(tokens)? as usize != (tables.token_us.len() + 1) * TOKEN_STEP as usize {
            return Err(csv.not_a_grid("num_tokens 8, 16, 24, …"));
        }
        let (mut sum, mut pointwise, mut reduces) = (0.0, 0.0, 0.0);
        for &(column, is_pointwise) in &operators {
            let time_ms = csv.time_ms(column)?;
            sum += time_ms;
            pointwise += if is_pointwise { time_ms } else { 0.0 };
        }
        if let Some(column) = reduce {
            reduces = 2.0 * (csv.time_ms(column)? + settings.launch_ms + skew_ms);
            sum += reduces;
        }
        tables.token_us.push(sum * 1e3);
        tables.beside_us.push([pointwise * 1e3, reduces * 1e3]);
        tables.send_us.push(send.map_or(Ok(0.0), |column| csv.time_ms(column))? * 1e3);
    }
    if tables.token_us.is_empty() { Err(csv.empty()) } else { Ok(tables) }
}

fn read_decode(settings: &LayerSettings, text: &str) -> Result<(Vec<f64>, usize), ProfileError> {
    let mut csv = Csv::new("attn_decode.csv", text)?;
    let (batch, kv) = (csv.column("batch_size")?, csv.column("kv_cache_size")?);
    let time = csv.column("attn_decode_ms")?;
    let (mut table, mut kv_steps) = (Vec::new(), 0);
    let (mut row, mut column) = (1u32, 0u32);
    while csv.next_row() {
        let at = (csv.count(batch)?, csv.count(kv)?);
        if at == (row + 1, 0) && column > 0 {
            if row > 1 && column as usize != kv_steps {
                return Err(csv.not_a_grid("as many KV steps for each batch size"));
            }
            kv_steps = column as usize;
            (row, column) = (row + 1, 0);
        }
        if at.0 != row || u64::from(at.1) != u64::from(column) * u64::from(settings.kv_granularity) {
            return Err(csv.not_a_grid("batch_size 1, 2, … each with kv_cache_size 0, 64, …"));
        }
        table.push(csv.time_ms(time)? * 1e3);
        column += 1;
    }
    if table.is_empty() {
        return Err(csv.empty());
    }
    if row > 1 && column as usize != kv_steps {
        return Err(csv.not_a_grid("as many KV steps for each batch size"));
    }
    Ok((table, column as usize))
}

/// What the host does for an iteration: each under the names that Vidur's predictions, medians and means have.
const HOST_OPERATORS: [[&str; 3]; 5] = [
    ["schedule", "schedule_median", "schedule_mean"],
    ["sampler_e2e", "sampler_e2e_median", "sampler_e2e_mean"],
    ["prepare_inputs_e2e", "prepare_inputs_e2e_median", "prepare_inputs_e2e_mean"],
    ["process_model_outputs", "process_model_outputs_median", "process_model_outputs_mean"],
    ["ray_comm_time", "ray_comm_time_median", "ray_comm_time_mean"],
];

fn read_host(text: &str, model: &str, degree: u32) -> Result<Vec<(u32, f64)>, ProfileError> {
    let mut csv = Csv::new("cpu_overheads.csv", text)?;
    let batch = csv.column("batch_size")?;
    let (models, degrees) = (csv.find("model_name"), csv.find("tensor_parallel_degree"));
    let mut operators = Vec::new();
    for names in HOST_OPERATORS {
        let missing = ProfileError::NoColumn { file: "cpu_overheads.csv", column: names[0] };
        operators.push(names.into_iter().find_map(|name| csv.find(name)).ok_or(missing)?);
    }
    let mut samples: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    while csv.next_row() {
        let mut sum_ms = 0.0;
        for &operator in &operators {
            sum_ms += csv.time_ms(operator)?;
        }
        let requests = csv.count_in(batch, 1, 1 << 24, "a whole number of 1 to 2^24")?;
        let is_of_degree = degrees.map_or(Ok(true), |column| csv.count(column).map(|of| of == degree))?;
        if is_of_degree && models.is_none_or(|column| csv.text(column) == model) {
            samples.entry(requests).or_default().push(sum_ms * 1e3);
        }
    }
    if samples.is_empty() {
        return Err(csv.empty());
    }
    Ok(samples.into_iter().map(|(requests, us)| (requests, median(us))).collect())
}

type Plateaus = (Vec<(u32, f64)>, Vec<usize>);

fn read_prefill(settings: &LayerSettings, text: &str) -> Result<Plateaus, ProfileError> {
    let mut csv = Csv::new("attn_prefill_runs.csv", text)?;
    let (kv, from) = (csv.column("kv_cache_size")?, csv.column("chunk_from")?);
    let (to, time) = (csv.column("chunk_to")?, csv.column("attn_prefill_ms")?);
    let (mut plateaus, mut ends): Plateaus = (Vec::new(), Vec::new());
    let mut last = 0;
    while csv.next_row() {
        let (kv, from, to) = (csv.count(kv)?, csv.count(from)?, csv.count(to)?);
        if !plateaus.is_empty()
            && u64::from(kv) == (ends.len() as u64 + 1) * u64::from(settings.kv_granularity)
        {
            ends.push(plateaus.len());
            last = 0;
        }
        let is_next = u64::from(kv) == ends.len() as u64 * u64::from(settings.kv_granularity);
        if !is_next || from != last + 1 || to < from {
            return Err(csv.not_a_grid("kv_cache_size 0, 64, … each with chunks from 1 on without gaps"));
        }
        plateaus.push((to, csv.time_ms(time)? * 1e3));
        last = to;
    }
    if plateaus.is_empty() {
        return Err(csv.empty());
    }
    ends.push(plateaus.len());
    Ok((plateaus, ends))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Chunk;
    use proptest::prelude::*;

    const SETTINGS: LayerSettings = LayerSettings {
        layers: 4,
        stages: 2,
        tensor_parallel: 2,
        launch_ms: 0.02,
        skew_ms: 0.0,
        prefill_penalty: 0.1,
        decode_penalty: 0.1,
        kv_granularity: 64,
        cpu_ms: 0.5,
    };

    const TOKENS: &str = "num_tokens,attn_pre_proj,attn_post_proj,mlp_up_proj,mlp_down_proj,mlp_act,attn_rope,\
        input_layernorm,add,send_recv,all_reduce\n8,1,1,1,1,1,1,1,1,3,0.48\n16,2,1,1,1,1,1,1,1,4,0.98\n";
    const DECODE: &str =
        "batch_size,kv_cache_size,attn_decode_ms\n1,0,0\n1,64,10\n1,128,20\n2,0,0\n2,64,30\n2,128,40\n";
    const PREFILL: &str =
        "kv_cache_size,chunk_from,chunk_to,attn_prefill_ms\n0,1,5,100\n0,6,12,200\n64,1,12,300\n";

    fn tables() -> ExactTables {
        ExactTables::read(SETTINGS, TOKENS, DECODE, PREFILL).unwrap()
    }

    fn ms(batch: &Batch<'_>, is_last: bool) -> f64 {
        (tables().stage_time(batch, is_last).first_us / 1e3 * 1e9).round() / 1e9
    }

    #[test]
    fn the_hosts_work_is_that_of_the_number_of_requests() {
        let decode =
            |decodes| Batch { decodes, decode_kv_tokens: 64.0 * f64::from(decodes), ..Batch::default() };
        let host_ms = |text: &str, decodes| {
            let with = tables().with_host(text, "a/b").unwrap();
            let us = |tables: &ExactTables| tables.stage_time(&decode(decodes), false).first_us;
            ((us(&with) - us(&tables())) * 1e6).round() / 1e9
        };
        let predicted = "batch_size,schedule,sampler_e2e,prepare_inputs_e2e,process_model_outputs,ray_comm_time\n\
                         1,1,1,1,1,1\n2,2,2,2,2,2\n4,4,4,4,4,5\n";
        assert_eq!([1, 2, 3, 4, 9].map(|decodes| host_ms(predicted, decodes)), [5.0, 10.0, 15.5, 21.0, 21.0]);
        let measured = "model_name,tensor_parallel_degree,batch_size,schedule_median,sampler_e2e_median,\
                        prepare_inputs_e2e_median,process_model_outputs_median,ray_comm_time_mean\n\
                        a/b,2,8,1,1,1,1,2\na/b,1,8,9,9,9,9,9\nother,2,8,9,9,9,9,9\n";
        assert_eq!(host_ms(measured, 3), 6.0);
        for (text, message) in [
            ("batch_size,schedule\n1,1\n", "sampler_e2e"),
            (&predicted.replace("1,1,1", "0,1,1"), "batch_size"),
            (&predicted.replace("2,2,2", "2,2,-2"), "sampler_e2e"),
            (&measured.replace("a/b", "c"), "cpu_overheads.csv"),
        ] {
            let error = tables().with_host(text, "a/b").unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn operators_add_up_with_the_roundings() {
        let decode = Batch { decodes: 2, decode_kv_tokens: 129.0, ..Batch::default() };
        // 2 layers x (8 token operators + 2 x (0.48 + 0.02) + 30 x 1.1) + 0.5; the mean 64.5 is cut to 64.
        assert_eq!(ms(&decode, true), 2.0 * (8.0 + 1.0 + 33.0) + 0.5);
        assert_eq!(ms(&decode, false), 2.0 * (8.0 + 1.0 + 33.0) + 0.5 + 3.0);
        assert_eq!(tables().stage_time(&decode, true).valid_iterations, 1);
        let later = Batch { decode_kv_tokens: 131.0, ..decode };
        assert_eq!(ms(&later, true), 2.0 * (9.0 + 44.0) + 0.5);
        assert_eq!(tables().stage_time(&later, true).valid_iterations, 64);
        // sqrt(3^2 + 4^2) = 5; one chunk has read 1 token, which counts as 64.
        let chunks = [Chunk { kv_tokens: 0, tokens: 3 }, Chunk { kv_tokens: 0, tokens: 4 }];
        assert_eq!(ms(&Batch { chunks: &chunks, ..Batch::default() }, true), 2.0 * (9.0 + 110.0) + 0.5);
        let chunks = [Chunk { kv_tokens: 1, tokens: 9 }];
        assert_eq!(ms(&Batch { chunks: &chunks, ..decode }, true), 2.0 * (9.0 + 2.0 + 300.0 + 33.0) + 0.5);
    }

    proptest! {
        #[test]
        fn any_rows_of_the_hosts_work_are_read_or_refused(
            cells in prop::collection::vec(
                prop::sample::select(&["", "1", "8", "0.5", "-1", "nan", "inf", "1e300", "4294967296", "x"][..]),
                0..60,
            ),
        ) {
            let mut text = "batch_size,schedule,sampler_e2e,prepare_inputs_e2e,process_model_outputs,ray_comm_time".to_owned();
            for row in cells.chunks(6) {
                text = format!("{text}\n{}", row.join(","));
            }
            if let Ok(with) = tables().with_host(&text, "a/b") {
                let decode = Batch { decodes: 3, decode_kv_tokens: 200.0, ..Batch::default() };
                let us = with.stage_time(&decode, true).first_us;
                prop_assert!(us.is_finite() && us >= tables().stage_time(&decode, true).first_us);
            }
        }

        #[test]
        fn stages_of_a_batch(requests in 1..9u32, kv in 0..2_000u32, later in 0..200u32) {
            let batch = |kv: u32| Batch { decodes: requests, decode_kv_tokens: kv.into(), ..Batch::default() };
            let constants = tables().stage_constants(&batch(kv));
            let found = tables().batch_stages(&batch(kv), &constants);
            let then = batch(kv + later * requests);
            let alone = [false, true].map(|is_last| tables().stage_time(&then, is_last).first_us);
            prop_assert_eq!(tables().batch_stages(&then, &constants).us, alone);
            prop_assert!(later >= found.valid_iterations || found.us == alone);
        }
    }

    #[test]
    fn the_last_plateau_goes_on_where_vidur_ends_with_a_key_error() {
        let batch = Batch { decodes: 99, decode_kv_tokens: 99.0 * 9_999.0, ..Batch::default() };
        assert_eq!(ms(&batch, true), 2.0 * (9.0 + 2.0 + 44.0) + 0.5);
        let chunks = [Chunk { kv_tokens: 5_000, tokens: 5_000 }];
        assert_eq!(ms(&Batch { chunks: &chunks, ..Batch::default() }, true), 2.0 * (11.0 + 300.0) + 0.5);
    }

    #[test]
    fn errors_name_file_row_and_column() {
        let error = |token: &str, decode: &str, prefill: &str| {
            ExactTables::read(SETTINGS, token, decode, prefill).unwrap_err().to_string()
        };
        assert_eq!(error("", DECODE, PREFILL), "token_ops.csv: there is no row");
        assert_eq!(
            error(&TOKENS.replace("all_reduce", "x"), DECODE, PREFILL),
            "token_ops.csv: there is no column all_reduce"
        );
        assert_eq!(
            error(TOKENS, &DECODE.replace("1,128,20", "1,128,-"), PREFILL),
            "attn_decode.csv: row 4, column attn_decode_ms: a time of 0 to 1e9 ms expected, got \"-\""
        );
        assert!(error(TOKENS, &DECODE.replace("2,128,40\n", ""), PREFILL).contains("as many KV steps"));
        assert!(error(TOKENS, DECODE, &PREFILL.replace("0,6,", "0,7,")).contains("row 3"));
        let odd = LayerSettings { stages: 3, ..SETTINGS };
        assert!(ExactTables::read(odd, TOKENS, DECODE, PREFILL).unwrap_err().to_string().contains("divisor"));
    }

    proptest! {
        #[test]
        fn parts_add_up_to_the_stage(
            chunks in prop::collection::vec((0u32..300, 1u32..40), 0..4),
            decodes in 0u32..5, kv in 1u64..200, is_last: bool,
        ) {
            let chunks: Vec<Chunk> = chunks.into_iter().map(|(kv_tokens, tokens)| Chunk { kv_tokens, tokens }).collect();
            let batch = Batch { chunks: &chunks, decodes, decode_kv_tokens: (kv * u64::from(decodes)) as f64, ..Batch::default() };
            prop_assume!(batch.requests() > 0);
            let (time_us, parts) = (tables().stage_time(&batch, is_last).first_us, tables().stage_parts(&batch)[usize::from(is_last)]);
            prop_assert!((parts.iter().sum::<f64>() - time_us).abs() <= 4.0 * f64::EPSILON * time_us, "{parts:?}");
            prop_assert!(parts.iter().all(|&us| us >= 0.0));
            // Four products, four others and two all-reduces of 0.5 or 1 ms in each of two layers.
            let two_rows = batch.prompt_tokens() + decodes > 8;
            prop_assert_eq!(parts[OperatorClass::Pointwise as usize], 2.0 * 4e3);
            let [products, reduces] = if two_rows { [10e3, 4e3] } else { [8e3, 2e3] };
            let send = if is_last { 0.0 } else if two_rows { 4e3 } else { 3e3 };
            prop_assert!((parts[OperatorClass::Linear as usize] - products).abs() < 1e-6);
            prop_assert!((parts[OperatorClass::Communication as usize] - reduces - send).abs() < 1e-6);
            prop_assert_eq!(parts[OperatorClass::PrefillAttention as usize] > 0.0, !chunks.is_empty());
            prop_assert_eq!(parts[OperatorClass::DecodeAttention as usize] > 0.0, decodes > 0);
        }

        #[test]
        fn no_bytes_make_the_reader_panic(
            which in 0..3usize, at in 0..400usize, put in "[0-9,.\\n\\-eE a-z]{0,6}", cut in 0..6usize,
        ) {
            let mut texts = [TOKENS.to_owned(), DECODE.to_owned(), PREFILL.to_owned()];
            let text = &mut texts[which];
            let at = at.min(text.len());
            let end = (at + cut).min(text.len());
            text.replace_range(at..end, &put);
            if let Ok(tables) = ExactTables::read(SETTINGS, &texts[0], &texts[1], &texts[2]) {
                let chunks = [Chunk { kv_tokens: 70, tokens: 7 }];
                let batch = Batch { chunks: &chunks, decodes: 3, decode_kv_tokens: 400.0, ..Batch::default() };
                prop_assert!(tables.stage_time(&batch, false).first_us.is_finite());
            }
        }
    }
}
