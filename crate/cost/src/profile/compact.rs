//! Smooth tables of a few hundred numbers, drawn from the exact ones: straight between knots, and beyond the last knot on
//! the line through the last two, so that a longer prompt or a larger batch than was profiled costs more, not the same.
//!
//! Knots lie closer where the times bend (few tokens, small batches). [`CompactTables::errors`] says how far the tables
//! are from those that they were drawn from.

use super::exact::{ExactTables, LayerSettings};
use crate::batch::{Batch, BatchCost, Chunk, StageTime};

/// A function of one quantity by knots.
#[derive(Debug, Clone, PartialEq)]
struct Line {
    at: Vec<f64>,
    us: Vec<f64>,
}

/// A function of two quantities by knots.
#[derive(Debug, Clone, PartialEq)]
struct Plane {
    rows: Vec<f64>,
    columns: Vec<f64>,
    /// Row by row.
    us: Vec<f64>,
}

/// The interval of `knots` for `x` and the place in it, below 0 or above 1 outside. There are at least two knots.
fn place(knots: &[f64], x: f64) -> (usize, f64) {
    let i = knots.partition_point(|&knot| knot <= x).clamp(1, knots.len() - 1) - 1;
    (i, (x - knots[i]) / (knots[i + 1] - knots[i]))
}

/// Most knots of a line, and the relative error at which no more are set.
const MOST_KNOTS: usize = 80;
const LINE_ERROR: f64 = 0.005;

impl Line {
    /// Sets knots where the error is largest, until it is small everywhere: GEMM times are stairs, whose edges matter.
    fn through(points: &[(f64, f64)]) -> Self {
        let mut chosen = vec![0, points.len() - 1];
        loop {
            let at =
                |list: &[usize], of: fn(&(f64, f64)) -> f64| list.iter().map(|&i| of(&points[i])).collect();
            let line = Self { at: at(&chosen, |p| p.0), us: at(&chosen, |p| p.1) };
            let off = |p: &(f64, f64)| if p.1 > 0.0 { (line.at(p.0) / p.1 - 1.0).abs() } else { 0.0 };
            let worst = (0..points.len()).max_by(|&a, &b| off(&points[a]).total_cmp(&off(&points[b])));
            match worst.filter(|&i| off(&points[i]) > LINE_ERROR && chosen.len() < MOST_KNOTS) {
                None => return line,
                Some(i) => chosen.insert(chosen.partition_point(|&c| c < i), i),
            }
        }
    }

    fn at(&self, x: f64) -> f64 {
        let (i, share) = place(&self.at, x);
        (self.us[i] + share * (self.us[i + 1] - self.us[i])).max(0.0)
    }
}

impl Plane {
    /// The value, its slope along the columns, and the next knot there.
    fn at(&self, row: f64, column: f64) -> (f64, f64, f64) {
        let (i, down) = place(&self.rows, row);
        let (j, along) = place(&self.columns, column);
        let corner = |i: usize, j: usize| self.us[i * self.columns.len() + j];
        let left = corner(i, j) + down * (corner(i + 1, j) - corner(i, j));
        let right = corner(i, j + 1) + down * (corner(i + 1, j + 1) - corner(i, j + 1));
        let slope = (right - left) / (self.columns[j + 1] - self.columns[j]);
        ((left + along * (right - left)).max(0.0), slope, self.columns[j + 1])
    }
}

/// The compact tables of one (GPU, model, degree).
#[derive(Debug, Clone, PartialEq)]
pub struct CompactTables {
    settings: LayerSettings,
    /// Tokens by which KV lengths count as longer, and to whose multiples an iteration's tokens are rounded up.
    kv_bias: f64,
    token_step: f64,
    token: Line,
    send: Line,
    /// Attention of decoding requests, by their number and their mean KV tokens.
    decode: Plane,
    /// Attention of prompts, by KV tokens and chunk.
    prefill: Plane,
}

/// Median and 95th percentile of the relative errors of one table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TableError {
    /// What the table holds.
    pub name: &'static str,
    /// How many cells were compared.
    pub cells: usize,
    /// Median.
    pub median: f64,
    /// 95th percentile.
    pub p95: f64,
}

const BATCHES: [u32; 24] =
    [1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 72, 80, 96, 112, 128];
const KV: [u32; 17] =
    [64, 128, 192, 256, 384, 512, 640, 768, 896, 1024, 1280, 1536, 2048, 2560, 3072, 3584, 4096];
const CHUNKS: [u32; 16] = [1, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1280, 1536, 2048, 2560, 3072, 4096];
const PREFILL_KV: [u32; 8] = [0, 64, 256, 512, 1024, 2048, 3072, 4096];

impl CompactTables {
    /// Draws compact tables from exact ones.
    pub fn of(exact: &ExactTables) -> Self {
        let knots = |knots: &[u32]| knots.iter().map(|&k| f64::from(k)).collect::<Vec<f64>>();
        let line = |of: &dyn Fn(u32) -> f64| {
            Line::through(&(1..=512).map(|i| (f64::from(8 * i), of(8 * i))).collect::<Vec<_>>())
        };
        let pairs = |rows: &[u32], columns: &[u32], of: &dyn Fn(u32, u32) -> f64| Plane {
            rows: knots(rows),
            columns: knots(columns),
            us: rows
                .iter()
                .flat_map(|&row| columns.iter().map(move |&column| (row, column)))
                .map(|(r, c)| of(r, c))
                .collect(),
        };
        Self {
            settings: *exact.settings(),
            kv_bias: 0.0,
            token_step: 0.0,
            token: line(&|tokens| exact.token_us(tokens)),
            send: line(&|tokens| exact.send_us(tokens)),
            decode: pairs(&BATCHES, &KV, &|batch, kv| exact.decode_table_us(batch, kv.into())),
            prefill: pairs(&PREFILL_KV, &CHUNKS, &|kv, chunk| smooth_prefill_us(exact, kv, chunk)),
        }
    }

    /// The same with Vidur's roundings, which make its iterations a few per cent slower: tokens are rounded up to a multiple
    /// of 8, and a KV length that is rounded up to the next step counts as half a step longer on average.
    pub fn with_roundings(self) -> Self {
        Self { kv_bias: 0.5 * f64::from(self.settings.kv_granularity), token_step: 8.0, ..self }
    }

    /// How far these tables are from `exact`, table by table.
    pub fn errors(&self, exact: &ExactTables) -> [TableError; 3] {
        let token = (1..=512).map(|i| (self.token.at(f64::from(8 * i)), exact.token_us(8 * i)));
        let decode = (1..=128u32).flat_map(|batch| (1..=64u32).map(move |step| (batch, 64 * step)));
        let decode = decode.map(|(batch, kv)| {
            (self.decode.at(batch.into(), kv.into()).0, exact.decode_table_us(batch, kv.into()))
        });
        let prefill = (0..=16u32).flat_map(|step| (1..=256u32).map(move |i| (256 * step, 16 * i)));
        let prefill = prefill.map(|(kv, chunk)| {
            (self.prefill.at(kv.into(), chunk.into()).0, exact.prefill_table_us(kv.into(), chunk))
        });
        [
            error("token operators", token),
            error("attention, decode", decode),
            error("attention, prompts", prefill),
        ]
    }
}

/// A knot on a forest's plateau would take its edge: the mean over a tenth on both sides lies on the curve behind it.
fn smooth_prefill_us(exact: &ExactTables, kv: u32, chunk: u32) -> f64 {
    let reach = chunk / 20;
    let values = (0..=10).map(|i| exact.prefill_table_us(kv.into(), chunk - reach + i * reach / 5));
    // Beyond the last plateau the forest is flat: the last knot takes its value.
    if chunk >= 4096 { exact.prefill_table_us(kv.into(), chunk) } else { values.sum::<f64>() / 11.0 }
}

fn error(name: &'static str, pairs: impl Iterator<Item = (f64, f64)>) -> TableError {
    let mut errors: Vec<f64> =
        pairs.filter(|p| p.1 > 0.0).map(|(ours, theirs)| (ours / theirs - 1.0).abs()).collect();
    errors.sort_by(f64::total_cmp);
    let at =
        |q: f64| errors.get((q * errors.len().saturating_sub(1) as f64) as usize).copied().unwrap_or(0.0);
    TableError { name, cells: errors.len(), median: at(0.5), p95: at(0.95) }
}

/// The prompts of an iteration as one: their KV tokens together, and a chunk of the same sum of squares.
fn together(chunks: &[Chunk]) -> (f64, f64) {
    let mut sums = (0.0, 0.0);
    for chunk in chunks {
        sums.0 += f64::from(chunk.kv_tokens);
        sums.1 += f64::from(chunk.tokens) * f64::from(chunk.tokens);
    }
    (sums.0, libm::sqrt(sums.1))
}

impl BatchCost for CompactTables {
    fn stages(&self) -> u32 {
        self.settings.stages
    }

    fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime {
        let settings = &self.settings;
        let mut tokens = f64::from(batch.prompt_tokens() + batch.decodes);
        if self.token_step > 0.0 {
            tokens = (tokens / self.token_step).ceil() * self.token_step;
        }
        let layers = f64::from(settings.layers / settings.stages);
        let mut layer_us = self.token.at(tokens);
        let (mut growth_us, mut holds) = (0.0, 1);
        if !batch.chunks.is_empty() {
            let penalty = if batch.chunks.len() > 1 { 1.0 + settings.prefill_penalty } else { 1.0 };
            let (kv, chunk) = together(batch.chunks);
            layer_us += self.prefill.at(kv, chunk).0 * penalty;
        }
        if batch.decodes > 0 {
            let penalty = if batch.decodes > 1 { 1.0 + settings.decode_penalty } else { 1.0 };
            let mean = batch.decode_kv_tokens as f64 / f64::from(batch.decodes) + self.kv_bias;
            let (us, slope, knot) = self.decode.at(f64::from(batch.decodes), mean);
            layer_us += us * penalty;
            if batch.chunks.is_empty() {
                // The mean grows by 1 an iteration; a straight line holds up to its knot, beyond the last one for ever.
                growth_us = layers * slope.max(0.0) * penalty;
                holds = if knot > mean { ((knot - mean).ceil() as u32).max(1) } else { 1 << 20 };
            }
        }
        let send_us = if is_last { 0.0 } else { self.send.at(tokens) };
        StageTime { first_us: layers * layer_us + send_us + settings.cpu_ms * 1e3, growth_us, holds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exact tables of straight lines, which compact ones meet, and which end at 4,096 tokens and a batch of 128.
    fn exact() -> ExactTables {
        let settings = LayerSettings {
            layers: 2,
            stages: 1,
            tensor_parallel: 1,
            launch_ms: 0.0,
            skew_ms: 0.0,
            prefill_penalty: 0.0,
            decode_penalty: 0.0,
            kv_granularity: 64,
            cpu_ms: 0.0,
        };
        let names =
            "attn_pre_proj,attn_rope,attn_post_proj,input_layernorm,mlp_up_proj,mlp_act,mlp_down_proj,add";
        let rows =
            |count: u32, of: &dyn Fn(u32) -> String| (1..=count).map(of).collect::<Vec<_>>().join("\n");
        let tokens = rows(512, &|i| format!("{},{},0,0,0,0,0,0,0", 8 * i, 1.0 + f64::from(i) / 100.0));
        let decode = rows(128 * 65, &|i| {
            let (batch, kv) = ((i - 1) / 65 + 1, (i - 1) % 65 * 64);
            format!("{batch},{kv},{}", f64::from(batch * kv) / 1e4)
        });
        let prefill = rows(65, &|i| format!("{},1,4096,{}", 64 * (i - 1), 1.0 + f64::from(i - 1)));
        ExactTables::read(
            settings,
            &format!("num_tokens,{names}\n{tokens}"),
            &format!("batch_size,kv_cache_size,attn_decode_ms\n{decode}"),
            &format!("kv_cache_size,chunk_from,chunk_to,attn_prefill_ms\n{prefill}"),
        )
        .unwrap()
    }

    #[test]
    fn straight_tables_are_met_and_go_on_beyond_their_end() {
        let exact = exact();
        let compact = CompactTables::of(&exact);
        for error in compact.errors(&exact) {
            assert!(error.p95 < 1e-9, "{error:?}");
        }
        let time = |decodes: u32, kv: u64| {
            let batch = Batch { decodes, decode_kv_tokens: kv * u64::from(decodes), ..Batch::default() };
            compact.stage_time(&batch, true)
        };
        // 2 layers x (1 + tokens / 800 + batch x KV / 10^4) ms.
        let law = |decodes: f64, kv: f64| 2e3 * (1.0 + decodes / 800.0 + decodes * kv / 1e4);
        for (decodes, kv) in [(8, 100), (96, 4_000), (256, 8_000)] {
            let found = time(decodes, kv);
            assert!(
                (found.first_us / law(decodes.into(), kv as f64) - 1.0).abs() < 1e-9,
                "{decodes} at {kv}"
            );
            // Iteration j is that of j tokens more, as long as the line holds.
            let last = u64::from(found.holds.min(1_000) - 1);
            let later = time(decodes, kv + last).first_us;
            assert!((found.first_us + last as f64 * found.growth_us - later).abs() < 1e-6 * later);
        }
    }
}
