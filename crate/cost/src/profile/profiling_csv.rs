//! Operator times as they were taken: the median of each operator at each profiled point.
//!
//! The files are those of Vidur's profiler (`data/profiling` of microsoft/vidur): times in milliseconds, a row for each
//! point, several rows for some. [`RawTables`] is also drawn from look-up tables, so that both are fitted alike.

use std::collections::BTreeMap;

use super::attention::{AttentionHeads, MeasuredAttention};
use super::operator::{By, OPERATORS, Operator, TimedOrigin};
use super::table::{Csv, ProfileError};
use crate::model_shape::ModelShape;

/// One operator.
#[derive(Debug, Clone, PartialEq)]
pub struct RawLine {
    /// Which.
    pub operator: &'static Operator,
    /// Where the times come from.
    pub origin: TimedOrigin,
    /// Tokens, bytes or requests, ascending, and microseconds.
    pub points: Vec<(u32, f64)>,
}

/// Attention of one degree.
#[derive(Debug, Clone, PartialEq)]
pub struct RawAttention {
    /// Heads on each GPU.
    pub heads: AttentionHeads,
    /// Where the times come from.
    pub origin: TimedOrigin,
    /// Decoding: requests, KV tokens of each, microseconds.
    pub decode: Vec<(u32, u32, f64)>,
    /// Prompts: KV tokens, chunk, microseconds.
    pub prefill: Vec<(u32, u32, f64)>,
}

impl RawAttention {
    /// As the formula is fitted on it.
    pub fn measured(&self) -> MeasuredAttention<'_> {
        MeasuredAttention { heads: self.heads, decode: &self.decode, prefill: &self.prefill }
    }
}

/// What was taken with one degree of tensor parallelism.
#[derive(Debug, Clone, PartialEq)]
pub struct RawDegree {
    /// GPUs that share each layer.
    pub degree: u32,
    /// Operators.
    pub lines: Vec<RawLine>,
    /// Attention, where it was taken with as many heads on each GPU.
    pub attention: Option<RawAttention>,
}

/// Messages between the GPUs of one kind of node, as they were taken.
#[derive(Debug, Clone, PartialEq)]
pub struct RawNetwork {
    /// Its name.
    pub name: String,
    /// GPUs in a node.
    pub node_gpus: u32,
    /// Sending on.
    pub lines: Vec<RawLine>,
    /// All-reduces by the GPUs of a group, ascending.
    pub all_reduces: Vec<(u32, RawLine)>,
}

/// The profile of one model on one GPU, as it was taken.
#[derive(Debug, Clone, PartialEq)]
pub struct RawTables {
    /// The GPU's name.
    pub gpu: String,
    /// The model's name.
    pub model: String,
    /// Its dimensions.
    pub shape: ModelShape,
    /// GPUs in a node: pipelines beyond it send across nodes.
    pub node_gpus: u32,
    /// Operators that do not depend on the degree: sending on.
    pub lines: Vec<RawLine>,
    /// By degree, ascending.
    pub degrees: Vec<RawDegree>,
    /// Other nodes that have this GPU.
    pub networks: Vec<RawNetwork>,
}

const MLP: &str = "mlp.csv";
const ATTENTION: &str = "attention.csv";
const ALL_REDUCE: &str = "all_reduce.csv";
const SEND_RECV: &str = "send_recv.csv";
const HOST: &str = "cpu_overheads.csv";

/// Largest degree of tensor parallelism, and largest dimension of a model.
const MOST_GPUS: u32 = 1 << 16;
const MOST_SIZE: u32 = 1 << 24;

/// Times by row and column, several of some.
type CellTimes = BTreeMap<(u32, u32), Vec<f64>>;

/// Times by place, several of some.
#[derive(Debug, Default)]
struct TimeSamples(BTreeMap<u32, Vec<f64>>);

impl TimeSamples {
    fn push(&mut self, at: u32, us: f64) {
        self.0.entry(at).or_default().push(us);
    }

    fn medians(self) -> Vec<(u32, f64)> {
        self.0.into_iter().map(|(at, us)| (at, median(us))).collect()
    }
}

/// The middle one, or the mean of the two middle ones; 0 for none. This crate lies below the one that has the statistics.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    if n == 0 { 0.0 } else { f64::midpoint(values[(n - 1) / 2], values[n / 2]) }
}

impl RawTables {
    /// Reads `mlp.csv`, which holds the token operators of one model, by degree. The file does not say how many layers
    /// the model has.
    ///
    /// # Errors
    /// [`ProfileError`] with row and column.
    pub fn read(gpu: &str, model: &str, layers: u32, text: &str) -> Result<Self, ProfileError> {
        for (name, text) in [("gpu", gpu), ("model", model)] {
            if text.is_empty() || text.len() > 100 || text.contains(char::is_whitespace) {
                let expected = "a name without spaces, of at most 100 bytes";
                return Err(ProfileError::BadSetting { name, expected });
            }
        }
        let mut csv = Csv::new(MLP, text)?;
        let (tokens, degree) = (csv.column("num_tokens")?, csv.column("num_tensor_parallel_workers")?);
        let sizes = ["n_embd", "n_head", "n_kv_head", "n_expanded_embd"];
        let sizes =
            [csv.column(sizes[0])?, csv.column(sizes[1])?, csv.column(sizes[2])?, csv.column(sizes[3])?];
        let gated = csv.column("use_gated_mlp")?;
        let mut operators = Vec::new();
        for operator in OPERATORS.iter().filter(|o| o.by == By::Tokens) {
            match csv.find(operator.column) {
                Some(column) => operators.push((operator, column)),
                None if !operator.is_needed() => {}
                None => return Err(ProfileError::NoColumn { file: MLP, column: operator.column }),
            }
        }
        let mut shape: Option<ModelShape> = None;
        let mut samples: BTreeMap<u32, Vec<TimeSamples>> = BTreeMap::new();
        while csv.next_row() {
            let mut size = [0; 4];
            for (s, &column) in size.iter_mut().zip(&sizes) {
                *s = csv.count_in(column, 1, MOST_SIZE, "a whole number of 1 to 2^24")?;
            }
            let gated_mlp = match csv.text(gated) {
                "True" | "true" | "1" => true,
                "False" | "false" | "0" => false,
                _ => return Err(csv.bad(gated, "True or False")),
            };
            let [hidden, query_heads, kv_heads, mlp_hidden] = size;
            let of_row = ModelShape { layers, hidden, query_heads, kv_heads, mlp_hidden, gated_mlp };
            if *shape.get_or_insert(of_row) != of_row {
                return Err(csv.not_a_grid("the dimensions of the first row, for a file holds one model,"));
            }
            let degree = csv.count_in(degree, 1, MOST_GPUS, "a whole number of 1 to 2^16")?;
            let tokens = csv.count_in(tokens, 1, MOST_SIZE, "a whole number of 1 to 2^24")?;
            let of_degree = samples
                .entry(degree)
                .or_insert_with(|| operators.iter().map(|_| TimeSamples::default()).collect());
            for ((_, column), samples) in operators.iter().zip(of_degree) {
                samples.push(tokens, csv.time_ms(*column)? * 1e3);
            }
        }
        let shape = shape.ok_or_else(|| csv.empty())?;
        let line = |(operator, samples): (&'static Operator, TimeSamples)| RawLine {
            operator,
            origin: TimedOrigin::Measured,
            points: samples.medians(),
        };
        let degrees = samples.into_iter().map(|(degree, samples)| RawDegree {
            degree,
            lines: operators.iter().map(|o| o.0).zip(samples).map(line).collect(),
            attention: None,
        });
        let (gpu, model, degrees) = (gpu.to_owned(), model.to_owned(), degrees.collect());
        Ok(Self { gpu, model, shape, node_gpus: 8, lines: Vec::new(), degrees, networks: Vec::new() })
    }

    /// Leaves only these degrees.
    ///
    /// # Errors
    /// If one of them was not profiled.
    pub fn keep_degrees(&mut self, degrees: &[u32]) -> Result<(), ProfileError> {
        if degrees.iter().any(|d| self.degrees.iter().all(|have| have.degree != *d)) {
            return Err(ProfileError::BadSetting { name: "tp", expected: "a degree that mlp.csv holds" });
        }
        self.degrees.retain(|d| degrees.contains(&d.degree));
        Ok(())
    }

    /// Heads on each GPU.
    pub fn heads(&self, degree: u32) -> AttentionHeads {
        heads(self.shape.query_heads, self.shape.kv_heads, degree, self.shape.head_dim())
    }

    /// Every other profiled point, and the rest: tokens, bytes or requests of each operator, batch sizes of decoding,
    /// chunks of prompts. The first half has the first and the last point of each, so that the rest lies within it.
    pub fn halves(&self) -> (Self, Self) {
        let (mut kept, mut rest) = (self.clone(), self.clone());
        for (half, is_kept) in [(&mut kept, true), (&mut rest, false)] {
            let of_degrees = half.degrees.iter_mut().flat_map(|d| &mut d.lines);
            for line in half.lines.iter_mut().chain(of_degrees) {
                let last = line.points.len().saturating_sub(1);
                let mut i = 0;
                line.points.retain(|_| {
                    i += 1;
                    ((i - 1) % 2 == 0 || i - 1 == last) == is_kept
                });
            }
            for attention in half.degrees.iter_mut().filter_map(|d| d.attention.as_mut()) {
                halve(&mut attention.decode, |p| p.0, is_kept);
                halve(&mut attention.prefill, |p| p.1, is_kept);
            }
        }
        (kept, rest)
    }

    /// Reads `attention.csv`: times of certain heads on each GPU. They count for each degree that leaves as many. Returns
    /// for how many.
    ///
    /// # Errors
    /// [`ProfileError`] with row and column.
    pub fn add_attention(&mut self, text: &str, origin: TimedOrigin) -> Result<usize, ProfileError> {
        let found = read_attention(text, origin)?;
        let mut taken = 0;
        for i in 0..self.degrees.len() {
            if self.heads(self.degrees[i].degree) == found.heads {
                self.degrees[i].attention = Some(found.clone());
                taken += 1;
            }
        }
        Ok(taken)
    }

    /// Reads `all_reduce.csv`: of each degree the rows of a group in one node.
    ///
    /// # Errors
    /// [`ProfileError`] with row and column.
    pub fn add_all_reduce(&mut self, text: &str) -> Result<(), ProfileError> {
        let (all_reduces, node_gpus) = read_all_reduces(text)?;
        self.node_gpus = node_gpus.unwrap_or(self.node_gpus);
        for (workers, line) in all_reduces {
            if let Some(degree) = self.degrees.iter_mut().find(|d| d.degree == workers) {
                degree.lines.push(line);
            }
        }
        Ok(())
    }

    /// Reads `send_recv.csv`: two GPUs of one node, or of two.
    ///
    /// # Errors
    /// [`ProfileError`] with row and column.
    pub fn add_send_recv(&mut self, text: &str) -> Result<(), ProfileError> {
        self.lines.extend(read_sends(text)?);
        Ok(())
    }

    /// Adds another node that has this GPU: its `all_reduce.csv` and its `send_recv.csv`.
    ///
    /// # Errors
    /// [`ProfileError`] with row and column.
    pub fn add_network(&mut self, name: &str, all_reduce: &str, send_recv: &str) -> Result<(), ProfileError> {
        let (mut all_reduces, node_gpus) = read_all_reduces(all_reduce)?;
        all_reduces.retain(|(workers, _)| self.degrees.iter().any(|d| d.degree == *workers));
        let (name, node_gpus) = (name.to_owned(), node_gpus.unwrap_or(self.node_gpus));
        self.networks.push(RawNetwork { name, node_gpus, lines: read_sends(send_recv)?, all_reduces });
        Ok(())
    }

    /// Reads `cpu_overheads.csv`: the rows of this model. A degree that was not taken has the times of the nearest one,
    /// as modelled ones. Returns how many rows there were.
    ///
    /// # Errors
    /// [`ProfileError`] with row and column.
    pub fn add_host(&mut self, text: &str) -> Result<usize, ProfileError> {
        let mut csv = Csv::new(HOST, text)?;
        let (model, batch) = (csv.column("model_name")?, csv.column("batch_size")?);
        let degree = csv.column("tensor_parallel_degree")?;
        let operators = &OPERATORS[13..];
        let mut columns = Vec::new();
        for operator in operators {
            columns.push(csv.column(operator.column)?);
        }
        let mut samples: BTreeMap<u32, Vec<TimeSamples>> = BTreeMap::new();
        let mut rows = 0;
        while csv.next_row() {
            let batch = csv.count_in(batch, 1, MOST_SIZE, "a whole number of 1 to 2^24")?;
            let degree = csv.count_in(degree, 1, MOST_GPUS, "a whole number of 1 to 2^16")?;
            let is_ours = csv.text(model) == self.model;
            let of_degree = samples
                .entry(degree)
                .or_insert_with(|| columns.iter().map(|_| TimeSamples::default()).collect());
            for (&column, samples) in columns.iter().zip(of_degree) {
                let us = csv.time_ms(column)? * 1e3;
                if is_ours {
                    samples.push(batch, us);
                }
            }
            rows += usize::from(is_ours);
        }
        let taken: BTreeMap<u32, Vec<Vec<(u32, f64)>>> = samples
            .into_iter()
            .filter(|(_, s)| s.iter().any(|s| !s.0.is_empty()))
            .map(|(degree, s)| (degree, s.into_iter().map(TimeSamples::medians).collect()))
            .collect();
        for degree in &mut self.degrees {
            let nearest = taken.iter().min_by_key(|(d, _)| d.abs_diff(degree.degree));
            let Some((&from, lines)) = nearest else { continue };
            let origin = if from == degree.degree { TimedOrigin::Measured } else { TimedOrigin::Modelled };
            for (operator, points) in operators.iter().zip(lines) {
                degree.lines.push(RawLine { operator, origin, points: points.clone() });
            }
        }
        Ok(rows)
    }

    /// Draws raw tables from Vidur's look-up tables (`token_ops.csv`, `attn_decode.csv`, `attn_prefill_runs.csv`) of one
    /// degree. Messages are counted in bytes of 2 for each hidden unit of a token.
    ///
    /// # Errors
    /// [`ProfileError`] with row and column.
    pub fn of_look_ups(
        [gpu, model]: [&str; 2],
        shape: ModelShape,
        degree: u32,
        [token_ops, attn_decode, attn_prefill]: [&str; 3],
    ) -> Result<Self, ProfileError> {
        let mut csv = Csv::new("token_ops.csv", token_ops)?;
        let tokens = csv.column("num_tokens")?;
        let bytes = shape.hidden.clamp(1, 1 << 15) * 2;
        let mut found = Vec::new();
        for operator in OPERATORS.iter().filter(|o| o.by != By::Requests) {
            match csv.find(operator.name) {
                Some(column) => found.push((operator, column, TimeSamples::default())),
                None if operator.is_needed() => {
                    return Err(ProfileError::NoColumn { file: "token_ops.csv", column: operator.name });
                }
                None => {}
            }
        }
        while csv.next_row() {
            let tokens = csv.count_in(tokens, 1, 1 << 15, "a whole number of 1 to 2^15")?;
            for (operator, column, samples) in &mut found {
                let at = if operator.by == By::Bytes { tokens * bytes } else { tokens };
                samples.push(at, csv.time_ms(*column)? * 1e3);
            }
        }
        let lines = found.into_iter().map(|(operator, _, samples)| RawLine {
            operator,
            origin: TimedOrigin::Modelled,
            points: samples.medians(),
        });
        let (sends, lines): (Vec<RawLine>, Vec<RawLine>) =
            lines.partition(|line| line.operator.name.starts_with("send_recv"));
        if lines.iter().all(|line| line.points.is_empty()) {
            return Err(csv.empty());
        }
        let attention = RawAttention {
            heads: heads(shape.query_heads, shape.kv_heads, degree, shape.head_dim()),
            origin: TimedOrigin::Modelled,
            decode: look_up_decode(attn_decode)?,
            prefill: look_up_prefill(attn_prefill)?,
        };
        Ok(Self {
            gpu: gpu.to_owned(),
            model: model.to_owned(),
            shape,
            node_gpus: 8,
            lines: sends,
            degrees: vec![RawDegree { degree, lines, attention: Some(attention) }],
            networks: Vec::new(),
        })
    }
}

/// All-reduces by the GPUs of a group, and the GPUs of a node where the file says it.
type AllReduces = (Vec<(u32, RawLine)>, Option<u32>);

/// The all-reduces of groups in one node.
fn read_all_reduces(text: &str) -> Result<AllReduces, ProfileError> {
    let mut csv = Csv::new(ALL_REDUCE, text)?;
    let operator = &OPERATORS[10];
    let (workers, in_node) = (csv.column("num_workers")?, csv.column("devices_per_node")?);
    let (size, time) = (csv.column("size")?, csv.column(operator.column)?);
    let node = csv.find("max_devices_per_node");
    let mut node_gpus = None;
    let mut samples: BTreeMap<u32, TimeSamples> = BTreeMap::new();
    while csv.next_row() {
        let workers = csv.count(workers)?;
        let (size, us) = (csv.count(size)?, csv.time_ms(time)? * 1e3);
        if csv.count(in_node)? == workers && workers > 1 {
            samples.entry(workers).or_default().push(size, us);
        }
        if let Some(node) = node {
            node_gpus = Some(csv.count_in(node, 1, MOST_GPUS, "a whole number of 1 to 2^16")?);
        }
    }
    let origin = TimedOrigin::Measured;
    let line = |(workers, samples): (u32, TimeSamples)| {
        (workers, RawLine { operator, origin, points: samples.medians() })
    };
    Ok((samples.into_iter().map(line).collect(), node_gpus))
}

/// Messages between two GPUs of one node and of two, where the file has them.
fn read_sends(text: &str) -> Result<Vec<RawLine>, ProfileError> {
    let mut csv = Csv::new(SEND_RECV, text)?;
    let (near, far) = (&OPERATORS[11], &OPERATORS[12]);
    let in_node = csv.column("devices_per_node")?;
    let (size, time) = (csv.column("size")?, csv.column(near.column)?);
    let mut samples = [TimeSamples::default(), TimeSamples::default()];
    while csv.next_row() {
        let is_near = csv.count_in(in_node, 1, 2, "1 or 2")? == 2;
        samples[usize::from(!is_near)].push(csv.count(size)?, csv.time_ms(time)? * 1e3);
    }
    let both = [near, far].into_iter().zip(samples).filter(|(_, samples)| !samples.0.is_empty());
    let origin = TimedOrigin::Measured;
    Ok(both.map(|(operator, samples)| RawLine { operator, origin, points: samples.medians() }).collect())
}

/// Keeps the points whose place is every other one or the last, or the others.
fn halve(points: &mut Vec<(u32, u32, f64)>, place: impl Fn(&(u32, u32, f64)) -> u32, is_kept: bool) {
    let mut places: Vec<u32> = points.iter().map(&place).collect();
    places.sort_unstable();
    places.dedup();
    points.retain(|p| {
        let i = places.partition_point(|&x| x < place(p));
        (i % 2 == 0 || i + 1 == places.len()) == is_kept
    });
}

fn heads(query: u32, kv: u32, degree: u32, dim: u32) -> AttentionHeads {
    let degree = degree.max(1);
    // Where a layer has fewer KV heads than GPUs, each GPU keeps a copy of one.
    AttentionHeads { query: query.div_ceil(degree).into(), kv: kv.div_ceil(degree).into(), dim: dim.into() }
}

fn read_attention(text: &str, origin: TimedOrigin) -> Result<RawAttention, ProfileError> {
    let mut csv = Csv::new(ATTENTION, text)?;
    let names = ["n_q_head", "n_kv_head", "num_tensor_parallel_workers", "n_embd"];
    let sizes = [csv.column(names[0])?, csv.column(names[1])?, csv.column(names[2])?, csv.column(names[3])?];
    let (batch, chunk, kv) =
        (csv.column("batch_size")?, csv.column("prefill_chunk_size")?, csv.column("kv_cache_size")?);
    let (decode_time, prefill_time) =
        (csv.column("time_stats.attn_decode.median")?, csv.column("time_stats.attn_prefill.median")?);
    let mut of_file: Option<AttentionHeads> = None;
    let (mut decode, mut prefill) = (CellTimes::new(), CellTimes::new());
    while csv.next_row() {
        let mut size = [0; 4];
        for (s, &column) in size.iter_mut().zip(&sizes) {
            *s = csv.count_in(column, 1, MOST_SIZE, "a whole number of 1 to 2^24")?;
        }
        let heads = heads(size[0], size[1], size[2], size[3] / size[0]);
        if *of_file.get_or_insert(heads) != heads {
            return Err(csv.not_a_grid("the heads of the first row, for a file holds one model and degree,"));
        }
        let (batch, kv) = (csv.count_in(batch, 1, MOST_SIZE, "a whole number of 1 to 2^24")?, csv.count(kv)?);
        let chunk = csv.count(chunk)?;
        if chunk == 0 {
            decode.entry((batch, kv)).or_default().push(csv.time_ms(decode_time)? * 1e3);
        } else if batch == 1 {
            prefill.entry((kv, chunk)).or_default().push(csv.time_ms(prefill_time)? * 1e3);
        }
    }
    let medians = |samples: CellTimes| -> Vec<(u32, u32, f64)> {
        samples.into_iter().map(|((row, column), us)| (row, column, median(us))).collect()
    };
    let heads = of_file.ok_or_else(|| csv.empty())?;
    let found = RawAttention { heads, origin, decode: medians(decode), prefill: medians(prefill) };
    let spans = |points: &[(u32, u32, f64)]| {
        points.iter().any(|p| p.0 != points[0].0) && points.iter().any(|p| p.1 != points[0].1)
    };
    let expected = match (spans(&found.decode), spans(&found.prefill)) {
        (true, true) => return Ok(found),
        (false, _) => "decoding with at least two batch sizes and two KV sizes",
        (_, false) => "prompts with at least two chunk sizes and two KV sizes",
    };
    Err(ProfileError::BadSetting { name: ATTENTION, expected })
}

fn look_up_decode(text: &str) -> Result<Vec<(u32, u32, f64)>, ProfileError> {
    let mut csv = Csv::new("attn_decode.csv", text)?;
    let (batch, kv) = (csv.column("batch_size")?, csv.column("kv_cache_size")?);
    let time = csv.column("attn_decode_ms")?;
    let mut points = Vec::new();
    while csv.next_row() {
        points.push((csv.count(batch)?, csv.count(kv)?, csv.time_ms(time)? * 1e3));
    }
    if points.is_empty() { Err(csv.empty()) } else { Ok(points) }
}

/// The middle of each plateau lies on the curve behind it.
fn look_up_prefill(text: &str) -> Result<Vec<(u32, u32, f64)>, ProfileError> {
    let mut csv = Csv::new("attn_prefill_runs.csv", text)?;
    let (kv, from) = (csv.column("kv_cache_size")?, csv.column("chunk_from")?);
    let (to, time) = (csv.column("chunk_to")?, csv.column("attn_prefill_ms")?);
    let mut rows: BTreeMap<u32, Vec<(u32, f64)>> = BTreeMap::new();
    while csv.next_row() {
        let middle = u32::midpoint(csv.count(from)?, csv.count(to)?);
        rows.entry(csv.count(kv)?).or_default().push((middle, csv.time_ms(time)? * 1e3));
    }
    // Rows have plateaus of their own: each is read at the same chunks.
    let chunks: Vec<u32> = (1..=64).map(|i| 64 * i).collect();
    let mut points = Vec::new();
    for (kv, plateaus) in rows {
        for &chunk in &chunks {
            let after = plateaus.partition_point(|p| p.0 < chunk).min(plateaus.len() - 1);
            let (from, to) = (plateaus[after.saturating_sub(1)], plateaus[after]);
            let width = f64::from(to.0.saturating_sub(from.0)).max(1.0);
            let share = (f64::from(chunk.saturating_sub(from.0)) / width).min(1.0);
            points.push((kv, chunk, from.1 + share * (to.1 - from.1)));
        }
    }
    if points.is_empty() { Err(csv.empty()) } else { Ok(points) }
}
