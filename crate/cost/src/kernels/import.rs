//! From the operator tables of AIConfigurator to [`Kernels`].

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::base::{ExpertShape, Heads, Peaks};
use super::{Grid, KernelTable, Kernels, NumberFormat};
use crate::gpus::Gpu;

/// A file of timed operators, as columns.
#[derive(Debug, Clone, Default)]
pub struct OperatorColumns {
    /// Columns of numbers.
    pub numbers: BTreeMap<String, Vec<f64>>,
    /// Columns of texts.
    pub texts: BTreeMap<String, Vec<String>>,
    /// Rows.
    pub rows: usize,
}

/// A row: its place on the axes, the time that the roofline says and the time measured, microseconds.
pub type TimedRow = (Vec<f64>, f64, f64);

/// Rows by the name of their table.
pub type TimedRows = BTreeMap<String, Vec<TimedRow>>;

/// Tokens at which products are kept: those that are multiples of the size of a tile, and with each of them the next number,
/// which begins a tile. Measurements elsewhere show the error of interpolation. A table of no more numbers keeps all.
const PRODUCT_TOKENS: [f64; 47] = [
    1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 17.0, 32.0, 33.0, 48.0, 49.0, 64.0, 65.0, 96.0, 97.0, 128.0, 129.0,
    192.0, 193.0, 256.0, 257.0, 512.0, 513.0, 768.0, 769.0, 1024.0, 1025.0, 1280.0, 1281.0, 1536.0, 1537.0,
    1792.0, 1793.0, 2048.0, 2049.0, 2560.0, 2561.0, 3072.0, 3073.0, 3584.0, 3585.0, 4096.0, 4097.0, 8192.0,
    16_384.0, 32_768.0, 65_536.0,
];
/// The least inputs and outputs at which they are kept: matrices of models are larger.
const PRODUCT_WIDTH: f64 = 128.0;
/// Distribution of tokens over experts: the one that is neither even nor most skewed.
const SKEW: &str = "power_law_1.2";

impl OperatorColumns {
    fn number(&self, name: &str, row: usize) -> Result<f64, String> {
        let value = self.numbers.get(name).and_then(|column| column.get(row)).copied().unwrap_or(f64::NAN);
        if (0.0..1e12).contains(&value) {
            return Ok(value);
        }
        Err(format!("row {row}, column {name}: {value} is not a number from 0 to 1e12"))
    }

    fn text(&self, name: &str, row: usize) -> Result<&str, String> {
        let value = self.texts.get(name).and_then(|column| column.get(row));
        value.map(String::as_str).ok_or_else(|| format!("row {row}: no text {name}"))
    }

    fn us(&self, row: usize) -> Result<f64, String> {
        match self.number("latency", row)? * 1e3 {
            us if us > 0.0 => Ok(us),
            us => Err(format!("row {row}: a latency of {us} us")),
        }
    }
}

/// The operators of a file, by its name without `_perf.parquet`; `None` for one that is not read.
///
/// # Errors
/// Names the row and the column.
pub fn points(operator: &str, gpu: &Gpu, columns: &OperatorColumns) -> Result<Option<TimedRows>, String> {
    let peaks = Peaks::of(gpu);
    let mut points = TimedRows::new();
    let read: fn(&Peaks, &OperatorColumns, usize) -> ImportedRow = match operator {
        "gemm" => product,
        "context_attention" => prefill,
        "generation_attention" => decode,
        "moe" => experts,
        "custom_allreduce" => all_reduce,
        "nccl" => collective,
        "mla_context_module" => latent_prefill,
        "mla_generation_module" => latent_decode,
        _ => return Ok(None),
    };
    for row in 0..columns.rows {
        if let Some((name, at, base_us)) = read(&peaks, columns, row)? {
            points.entry(name).or_default().push((at, base_us, columns.us(row)?));
        }
    }
    Ok(Some(points))
}

/// Name, place on the axes and what the roofline says of a row; `None` for one that is not kept.
type ImportedRow = Result<Option<(String, Vec<f64>, f64)>, String>;

/// Whether tokens are copied into a larger matrix before a product: on Hopper vLLM fills up to a multiple of 4 those whose scales
/// are by block (`_padded_cutlass` in its `fp8_utils.py`).
pub(super) fn is_ragged(format: NumberFormat, tokens: f64) -> bool {
    format == NumberFormat::Fp8Block && tokens % 4.0 != 0.0
}

/// The table of products whose tokens are copied first.
pub(super) fn ragged(format: NumberFormat) -> String {
    format!("gemm:{}:ragged", format.name())
}

fn product(peaks: &Peaks, c: &OperatorColumns, row: usize) -> ImportedRow {
    let Some(format) = NumberFormat::named(c.text("gemm_dtype", row)?) else { return Ok(None) };
    let [m, n, k] = [c.number("m", row)?, c.number("n", row)?, c.number("k", row)?];
    let name = if is_ragged(format, m) { ragged(format) } else { format!("gemm:{}", format.name()) };
    Ok(Some((name, vec![n, k, m], peaks.product_us(format, m, n, k))))
}

/// Name and heads of a row of attention, of those that models have.
fn attention(c: &OperatorColumns, row: usize, what: &str) -> Result<Option<(String, Heads)>, String> {
    let kv = c.text("kv_cache_dtype", row)?;
    let [queries, keys, dim] =
        [c.number("num_heads", row)?, c.number("num_key_value_heads", row)?, c.number("head_dim", row)?];
    let window = if c.numbers.contains_key("window_size") { c.number("window_size", row)? } else { 0.0 };
    let keys = if keys == 0.0 { queries } else { keys };
    let kept = (dim == 128.0 && window == 0.0 && keys <= 8.0)
        || (dim == 64.0 && (window == 0.0 || window == 128.0) && queries == 8.0 * keys);
    let name = format!("{what}:{kv}:{dim}:{window}:{queries}:{keys}");
    let window = if window == 0.0 { f64::INFINITY } else { window };
    let kv_bytes = if kv == "fp8" { 1.0 } else { 2.0 };
    Ok(kept.then_some((name, Heads { queries, keys, dim, kv_bytes, window })))
}

/// Query and KV tokens that meet in a causal prompt.
pub(super) fn pairs(from: f64, tokens: f64, window: f64) -> f64 {
    let full = tokens * (from + f64::midpoint(tokens, 1.0));
    // Beyond the window each query meets only this many.
    full.min(tokens * window)
}

fn prefill(peaks: &Peaks, c: &OperatorColumns, row: usize) -> ImportedRow {
    let Some((name, heads)) = attention(c, row, "prefill")? else { return Ok(None) };
    let [batch, length] = [c.number("batch_size", row)?, c.number("isl", row)?];
    let pairs = batch * pairs(0.0, length, heads.window);
    let base_us = peaks.prefill_us(&heads, pairs, batch * length, batch * length);
    Ok(Some((name, vec![batch, length], base_us)))
}

fn decode(peaks: &Peaks, c: &OperatorColumns, row: usize) -> ImportedRow {
    let Some((name, heads)) = attention(c, row, "decode")? else { return Ok(None) };
    let [batch, tokens] = [c.number("batch_size", row)?, c.number("step", row)? + c.number("isl", row)?];
    Ok(Some((name, vec![batch, tokens], peaks.decode_us(&heads, batch, batch * tokens))))
}

fn experts(peaks: &Peaks, c: &OperatorColumns, row: usize) -> ImportedRow {
    let Some(format) = NumberFormat::named(c.text("moe_dtype", row)?) else { return Ok(None) };
    if c.text("distribution", row)? != SKEW {
        return Ok(None);
    }
    let [hidden, inner, per_token] =
        [c.number("hidden_size", row)?, c.number("inter_size", row)?, c.number("topk", row)?];
    let [count, tensor, groups] =
        [c.number("num_experts", row)?, c.number("moe_tp_size", row)?, c.number("moe_ep_size", row)?];
    if tensor > 8.0 || groups > 8.0 || hidden == 4096.0 && inner > 2000.0 {
        return Ok(None);
    }
    let tokens = c.number("num_tokens", row)?;
    let shape =
        ExpertShape { hidden, inner: inner / tensor.max(1.0), per_token, count, groups: groups.max(1.0) };
    let name = format!("moe:{}:{hidden}:{inner}:{per_token}:{count}:{tensor}:{groups}", format.name());
    Ok(Some((name, vec![tokens], peaks.experts_us(format, &shape, tokens))))
}

fn all_reduce(peaks: &Peaks, c: &OperatorColumns, row: usize) -> ImportedRow {
    // Where launches were timed with the kernels there are rows without them, too.
    if c.texts.contains_key("backend") && !c.text("backend", row)?.ends_with("_graph") {
        return Ok(None);
    }
    let [gpus, values] = [c.number("num_gpus", row)?, c.number("message_size", row)?];
    Ok(Some((format!("all_reduce:{gpus}"), vec![values], peaks.collective_us(values))))
}

fn collective(peaks: &Peaks, c: &OperatorColumns, row: usize) -> ImportedRow {
    let name = c.text("op_name", row)?;
    if c.text("nccl_dtype", row)? != "half" || !matches!(name, "all_gather" | "reduce_scatter") {
        return Ok(None);
    }
    let [gpus, values] = [c.number("num_gpus", row)?, c.number("message_size", row)?];
    Ok(Some((format!("{name}:{gpus}"), vec![values], peaks.collective_us(values))))
}

fn latent(c: &OperatorColumns, row: usize, what: &str) -> Result<Option<(String, f64, f64)>, String> {
    let (kv, format) = (c.text("kv_cache_dtype", row)?, c.text("gemm_type", row)?);
    let heads = c.number("num_heads", row)?;
    let kv_bytes = if kv == "fp8" { 1.0 } else { 2.0 };
    Ok((heads >= 8.0).then(|| (format!("{what}:{kv}:{format}:{heads}"), heads, kv_bytes)))
}

fn latent_prefill(peaks: &Peaks, c: &OperatorColumns, row: usize) -> ImportedRow {
    let Some((name, heads, kv_bytes)) = latent(c, row, "latent_prefill")? else { return Ok(None) };
    let [batch, length] = [c.number("batch_size", row)?, c.number("isl", row)?];
    let pairs = batch * pairs(0.0, length, f64::INFINITY);
    Ok(Some((
        name,
        vec![batch, length],
        peaks.latent_us(heads, batch * length, pairs, batch * length, kv_bytes),
    )))
}

fn latent_decode(peaks: &Peaks, c: &OperatorColumns, row: usize) -> ImportedRow {
    let Some((name, heads, kv_bytes)) = latent(c, row, "latent_decode")? else { return Ok(None) };
    let [batch, tokens] = [c.number("batch_size", row)?, c.number("step", row)? + c.number("isl", row)?];
    let read = batch * tokens;
    Ok(Some((name, vec![batch, tokens], peaks.latent_us(heads, batch, read, read, kv_bytes))))
}

/// The tables of sums on hosts whose GPUs do not read each other's memory.
pub(super) const ALL_REDUCE_BY_HOST: &str = "all_reduce_by_host";
/// How many times as long most sums take there.
const BY_HOST: f64 = 2.0;

/// The name for a table of sums that an older version timed on a host without peer access.
fn by_host(name: &str, known: &KernelTable, points: &[TimedRow]) -> Option<String> {
    let gpus = name.strip_prefix("all_reduce:")?;
    let mut times: Vec<f64> =
        points.iter().map(|(at, base, us)| us / (base * libm::exp(known.grid.at(at)))).collect();
    times.sort_by(f64::total_cmp);
    let is_longer = times.get(times.len() / 2).is_some_and(|times| *times > BY_HOST);
    is_longer.then(|| format!("{ALL_REDUCE_BY_HOST}:{gpus}"))
}

/// Whether a table is of products.
pub(super) fn is_product(name: &str) -> bool {
    name.starts_with("gemm")
}

/// Knots of each axis: those at which products are kept, all that were measured of other operators.
fn knots(name: &str, points: &[TimedRow]) -> Vec<Vec<f64>> {
    let axes = points.first().map_or(0, |(at, ..)| at.len());
    let of_axis = |axis: usize| {
        let measured: BTreeSet<u64> = points.iter().map(|(at, ..)| at[axis].to_bits()).collect();
        let is_short = measured.len() <= PRODUCT_TOKENS.len();
        let is_kept = |value: &f64| {
            *value >= 1.0
                && match (is_product(name), axis) {
                    (true, 2) => is_short || PRODUCT_TOKENS.contains(value),
                    (true, _) => *value >= PRODUCT_WIDTH,
                    _ => true,
                }
        };
        measured.into_iter().map(f64::from_bits).filter(is_kept).collect()
    };
    (0..axes).map(of_axis).collect()
}

/// The table of these rows.
pub(super) fn grid(name: &str, points: &[TimedRow]) -> Option<Grid> {
    let mut ratios: Vec<(Vec<f64>, f64)> =
        points.iter().map(|(at, base, us)| (at.clone(), libm::log(us / base))).collect();
    if is_noisy(name, points) {
        without_noise(&mut ratios);
    }
    Grid::of(knots(name, points), &ratios)
}

/// Least time of any product that a CUDA graph replays; where no row is below, launches were timed, not kernels.
const LAUNCHED_US: f64 = 30.0;

/// Whether the rows of a table were timed without a CUDA graph, so that small ones all take what a launch takes.
pub(super) fn is_eager(name: &str, points: &[TimedRow]) -> bool {
    is_product(name) && points.iter().all(|(.., us)| *us > LAUNCHED_US)
}

/// Largest difference between the times of a product and of the one with a token more, of nine out of ten.
const NOISE: f64 = 0.25;
/// Tokens of which those that follow each other lie in one tile and are filled up to the same multiple.
const ONE_TILE: [f64; 6] = [5.0, 6.0, 9.0, 10.0, 13.0, 14.0];

/// Whether times of a table differ by chance: with a token more in the same tile a product takes as long.
fn is_noisy(name: &str, points: &[TimedRow]) -> bool {
    if !is_product(name) {
        return false;
    }
    let bits = |at: &[f64]| at.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
    let times: BTreeMap<Vec<u64>, f64> = points.iter().map(|(at, _, us)| (bits(at), *us)).collect();
    let step = |(at, _, us): &TimedRow| {
        let tokens = at.last().filter(|tokens| ONE_TILE.contains(tokens))?;
        let mut next = at.clone();
        *next.last_mut()? = tokens + 1.0;
        times.get(&bits(&next)).map(|next_us| libm::log(next_us / us).abs())
    };
    let mut steps: Vec<f64> = points.iter().filter_map(step).collect();
    steps.sort_by(f64::total_cmp);
    steps.get(steps.len() * 9 / 10).is_some_and(|step| *step > NOISE)
}

/// Each value as the median of itself and of those for the numbers of tokens next to it, which keeps steps and drops what stands
/// alone.
fn without_noise(ratios: &mut [(Vec<f64>, f64)]) {
    ratios.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal));
    let found: Vec<f64> = ratios.iter().map(|(_, ratio)| *ratio).collect();
    for place in 1..ratios.len().saturating_sub(1) {
        let is_of_one = |other: usize| ratios[other].0[..2] == ratios[place].0[..2];
        if is_of_one(place - 1) && is_of_one(place + 1) {
            let mut three = [found[place - 1], found[place], found[place + 1]];
            three.sort_by(f64::total_cmp);
            ratios[place].1 = three[1];
        }
    }
}

/// Adds the tables of a file to the kernels of a GPU; those that are there stay, and products timed without a CUDA graph are left
/// out. Sums that take twice as long as those that are there were timed on another kind of host, and have a name of their own.
pub fn add(kernels: &mut Kernels, source: &str, points: &TimedRows) {
    for (name, points) in points.iter().filter(|(name, points)| !is_eager(name, points)) {
        let name = match kernels.tables.get(name) {
            None => Some(name.clone()),
            Some(known) => by_host(name, known, points),
        };
        if let Some(name) = name.filter(|name| !kernels.tables.contains_key(name))
            && let Some(grid) = grid(&name, points)
        {
            kernels.tables.insert(name, KernelTable { source: source.to_owned(), grid });
        }
    }
}
