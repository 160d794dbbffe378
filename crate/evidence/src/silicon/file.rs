//! A file of measured deployments: CSV with named columns, in any order; those that are not known are passed over.

use std::collections::BTreeMap;

use servescope_cost::gpus::Gpu;
use servescope_csv::Records;

/// The GPU of the catalogue that a system has.
pub fn gpu(system: &str) -> Option<&'static Gpu> {
    let id = match system {
        "a100_sxm" => "a100_80_sxm",
        "rtx_pro_6000_server" => "rtx_pro_6000",
        "a100_pcie" => "a100_80_pcie",
        "gb200" | "gb200_sxm" => "gb200_nvl72",
        "gb300" | "gb300_sxm" => "gb300_nvl72",
        other => other,
    };
    Gpu::named(id)
}

/// Most rows of a file.
const MAX_ROWS: usize = 200_000;
/// Longest prompt or output, tokens.
const MAX_TOKENS: f64 = 2_000_000.0;
/// Most requests in flight.
const MAX_IN_FLIGHT: f64 = 65_536.0;
/// Largest degree of any parallelism.
const MAX_DEGREE: f64 = 4_096.0;
/// Longest time, milliseconds.
const MAX_MS: f64 = 1e9;

/// What `suspect` says of rows whose labels name more GPUs than a node has.
const MORE_GPUS_THAN_A_NODE: &str = "more_gpus_than_a_node";

/// Why a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SiliconError {
    /// There is no header.
    #[error("the file is empty; a header with the columns id, model_path, system and more is expected")]
    Empty,
    /// A column that every file has is missing.
    #[error("there is no column {0}")]
    NoColumn(&'static str),
    /// A column stands twice.
    #[error("the column {0} stands there twice")]
    Twice(String),
    /// Too many rows.
    #[error("row {MAX_ROWS}: more rows than {MAX_ROWS}")]
    TooMany,
    /// A row with another number of cells than the header.
    #[error("row {row}: {found} cells, the header has {expected}")]
    Cells {
        /// Number of the row, the header's is 1.
        row: usize,
        /// Cells of the row.
        found: usize,
        /// Cells of the header.
        expected: usize,
    },
    /// A quotation mark is open at the end.
    #[error("row {0}: a quotation mark is never closed")]
    OpenQuote(usize),
    /// A cell that is not what its column holds.
    #[error("row {row}, column {column}: \"{value}\" is not {expected}")]
    Bad {
        /// Number of the row.
        row: usize,
        /// The column.
        column: &'static str,
        /// What is expected.
        expected: String,
        /// What stands there, shortened.
        value: String,
    },
}

/// Flags of the server, as far as they are known; empty = not set, or not known.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Flags {
    /// `--max-num-batched-tokens`.
    pub max_batched_tokens: Option<u32>,
    /// `--max-num-seqs`.
    pub max_seqs: Option<u32>,
    /// `--kv-cache-dtype`.
    pub kv_cache_dtype: String,
    /// `--gpu-memory-utilization`.
    pub memory_utilization: Option<f64>,
    /// `--async-scheduling`: on, off, default, or not known.
    pub async_scheduling: String,
    /// The largest iteration that a CUDA graph is captured of, tokens (`--max-cudagraph-capture-size`).
    pub captured_tokens: Option<u32>,
}

/// How the model lies on the GPUs of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerLayout {
    /// GPUs that share attention.
    pub tensor_parallel: u32,
    /// Pipeline stages.
    pub pipeline_parallel: u32,
    /// Replicas of attention, each with requests of its own.
    pub attention_data_parallel: u32,
    /// GPUs that share each expert.
    pub expert_tensor_parallel: u32,
    /// Groups of GPUs that have different experts.
    pub expert_parallel: u32,
}

impl WorkerLayout {
    /// GPUs of attention, with all its replicas.
    pub fn gpus(&self) -> u32 {
        self.tensor_parallel * self.pipeline_parallel * self.attention_data_parallel
    }
}

/// The prefill or the decode servers of a disaggregated deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workers {
    /// How many, where the file says so.
    pub count: Option<u32>,
    /// Each of them.
    pub layout: WorkerLayout,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct SiliconRow {
    /// Its name.
    pub id: String,
    /// The hash of its deployment.
    pub deployment_id: String,
    /// Another row that is the same measurement.
    pub duplicate_of: String,
    /// Why it may be wrong.
    pub suspect: String,
    /// Where it comes from.
    pub origin: String,
    /// Serving engine.
    pub backend: String,
    /// Its version.
    pub version: String,
    /// `agg` or `disagg`.
    pub mode: String,
    /// GPU.
    pub system: String,
    /// Model.
    pub model: String,
    /// Format of dense products.
    pub gemm_format: String,
    /// Format of experts.
    pub moe_format: String,
    /// Prompt, nominal tokens.
    pub input_tokens: u32,
    /// Output, nominal tokens.
    pub output_tokens: u32,
    /// Requests in flight over the whole deployment, where it is known.
    pub in_flight: Option<u32>,
    /// The server of an aggregated deployment.
    pub layout: WorkerLayout,
    /// The prefill and the decode servers of a disaggregated deployment.
    pub workers: [Workers; 2],
    /// Measured mean TTFT, milliseconds.
    pub ttft_ms: f64,
    /// Measured mean TPOT, milliseconds.
    pub tpot_ms: f64,
    /// What AIConfigurator predicts: TTFT and TPOT, milliseconds.
    pub aiconfigurator_ms: Option<[f64; 2]>,
    /// Flags of its server.
    pub flags: Flags,
}

impl SiliconRow {
    /// Whether its deployment is left out of every calibration: the hash, `deployment_id` read as a hexadecimal number, is odd.
    /// Only its last digit counts; where that is no digit, the last byte.
    pub fn is_left_out(&self) -> bool {
        let last = self.deployment_id.chars().next_back();
        last.is_some_and(|c| c.to_digit(16).unwrap_or(c as u32) % 2 == 1)
    }

    /// Whether it is a measurement of its own about which there is no doubt.
    pub fn is_clean(&self) -> bool {
        self.duplicate_of.is_empty() && self.suspect.is_empty()
    }
}

/// The cells of a file by rows, with the number of the line on which each begins.
fn rows_of(text: &str) -> Result<Vec<(usize, Vec<String>)>, SiliconError> {
    let mut records = Records::new(text);
    let mut rows = Vec::new();
    while records.next_record() {
        if records.is_blank() {
            continue;
        }
        let line = records.line() as usize;
        if records.is_open() {
            return Err(SiliconError::OpenQuote(line));
        }
        rows.push((line, (0..records.len()).map(|place| records.cell(place).to_owned()).collect()));
        if rows.len() > MAX_ROWS {
            return Err(SiliconError::TooMany);
        }
    }
    Ok(rows)
}

/// One row by the names of its columns.
struct Cells<'a> {
    row: usize,
    places: &'a BTreeMap<String, usize>,
    cells: &'a [String],
}

impl<'a> Cells<'a> {
    /// A cell; "" where the file has no such column.
    fn text(&self, column: &str) -> &'a str {
        self.places.get(column).map_or("", |&place| self.cells[place].trim())
    }

    fn bad(&self, column: &'static str, expected: String) -> SiliconError {
        let value: String = self.text(column).chars().take(60).collect();
        SiliconError::Bad { row: self.row, column, expected, value }
    }

    /// A number between bounds; `None` where the cell is empty.
    fn number(&self, column: &'static str, low: f64, high: f64) -> Result<Option<f64>, SiliconError> {
        let text = self.text(column);
        if text.is_empty() {
            return Ok(None);
        }
        let value: Option<f64> = text.parse().ok().filter(|value| (low..=high).contains(value));
        value.map(Some).ok_or_else(|| self.bad(column, format!("a number from {low} to {high}")))
    }

    /// A whole number between bounds; `None` where the cell is empty.
    fn whole(&self, column: &'static str, low: f64, high: f64) -> Result<Option<u32>, SiliconError> {
        match self.number(column, low, high)? {
            Some(value) if value.fract() != 0.0 => {
                Err(self.bad(column, format!("a whole number from {low} to {high}")))
            }
            value => Ok(value.map(|value| value as u32)),
        }
    }

    fn required<T>(&self, column: &'static str, value: Option<T>) -> Result<T, SiliconError> {
        value.ok_or_else(|| self.bad(column, "there; a value is expected".to_owned()))
    }

    /// A degree of parallelism; 0 and empty stand for 1.
    fn degree(&self, column: &'static str) -> Result<u32, SiliconError> {
        Ok(self.whole(column, 0.0, MAX_DEGREE)?.unwrap_or(1).max(1))
    }

    /// A flag: a number, or a formula over prompt length and requests in flight.
    fn formula(
        &self,
        column: &'static str,
        input: u32,
        in_flight: Option<u32>,
    ) -> Result<Option<u32>, SiliconError> {
        match self.text(column) {
            "2*ISL" => Ok(Some(2 * input)),
            "ISL" => Ok(Some(input)),
            "CONC" => Ok(in_flight),
            _ => self.whole(column, 1.0, 1e9),
        }
    }

    /// Whether the labels of a server that was measured on one node give attention more GPUs than a node has: they are wrong.
    fn names_more_gpus_than_a_node(&self, gpus: u32) -> bool {
        self.text("mode") == "agg" && gpu(self.text("system")).is_some_and(|gpu| gpus > gpu.gpus_per_node)
    }

    fn flags(&self, input: u32, in_flight: Option<u32>) -> Result<Flags, SiliconError> {
        Ok(Flags {
            max_batched_tokens: self.formula("ix_max_num_batched_tokens", input, in_flight)?,
            max_seqs: self.formula("ix_max_num_seqs", input, in_flight)?,
            kv_cache_dtype: self.text("ix_kv_cache_dtype").to_owned(),
            memory_utilization: self.number("ix_gpu_mem_util", 0.01, 1.0)?,
            async_scheduling: self.text("ix_async_scheduling").to_owned(),
            captured_tokens: captured_tokens(self.text("ix_cudagraph")),
        })
    }

    /// A layout from the columns of its degrees.
    fn layout(&self, columns: [&'static str; 5]) -> Result<WorkerLayout, SiliconError> {
        let [tensor, pipeline, attention, expert_tensor, expert] = columns;
        Ok(WorkerLayout {
            tensor_parallel: self.degree(tensor)?,
            pipeline_parallel: self.degree(pipeline)?,
            attention_data_parallel: self.degree(attention)?,
            expert_tensor_parallel: self.degree(expert_tensor)?,
            expert_parallel: self.degree(expert)?,
        })
    }

    /// The servers of one side; 0 of them stands for a number that is not given.
    fn workers(&self, count: &'static str, layout: [&'static str; 5]) -> Result<Workers, SiliconError> {
        let count = self.whole(count, 0.0, MAX_DEGREE)?.filter(|&count| count > 0);
        Ok(Workers { count, layout: self.layout(layout)? })
    }

    fn read(&self) -> Result<SiliconRow, SiliconError> {
        let tokens = |column| self.whole(column, 1.0, MAX_TOKENS);
        let input_tokens = self.required("isl", tokens("isl")?)?;
        let output_tokens = self.required("osl", tokens("osl")?)?;
        let layout = self.layout(AGGREGATED)?;
        let in_flight = match self.whole("silicon_concurrency", 1.0, MAX_IN_FLIGHT)? {
            None => self
                .whole("batch_size", 1.0, MAX_IN_FLIGHT)?
                .map(|batch| batch.saturating_mul(layout.attention_data_parallel).min(MAX_IN_FLIGHT as u32)),
            some => some,
        };
        let ms = |column| self.number(column, 1e-6, MAX_MS);
        let aiconfigurator_ms = match (ms("aic2_ttft_ms")?, ms("aic2_tpot_ms")?) {
            (Some(ttft), Some(tpot)) => Some([ttft, tpot]),
            _ => None,
        };
        let owned = |column| self.text(column).to_owned();
        let gpus = layout.tensor_parallel.saturating_mul(layout.attention_data_parallel);
        let suspect = match self.text("suspect") {
            "" if self.names_more_gpus_than_a_node(gpus) => MORE_GPUS_THAN_A_NODE,
            given => given,
        };
        Ok(SiliconRow {
            id: owned("id"),
            deployment_id: owned("deployment_id"),
            duplicate_of: owned("dup_of"),
            suspect: suspect.to_owned(),
            origin: owned("origin"),
            backend: owned("backend"),
            version: owned("backend_version"),
            mode: owned("mode"),
            system: owned("system"),
            model: owned("model_path"),
            gemm_format: owned("gemm_quant_mode"),
            moe_format: owned("moe_quant_mode"),
            input_tokens,
            output_tokens,
            in_flight,
            layout,
            workers: [
                self.workers("prefill_num_workers", PREFILL)?,
                self.workers("decode_num_workers", DECODE)?,
            ],
            ttft_ms: self.required("silicon_ttft_ms", ms("silicon_ttft_ms")?)?,
            tpot_ms: self.required("silicon_tpot_ms", ms("silicon_tpot_ms")?)?,
            aiconfigurator_ms,
            flags: self.flags(input_tokens, in_flight)?,
        })
    }
}

/// What follows `capture<=` in a cell such as `FULL_AND_PIECEWISE;capture<=2048`.
fn captured_tokens(cell: &str) -> Option<u32> {
    cell.split(';').find_map(|part| part.trim().strip_prefix("capture<=")?.parse().ok())
}

/// The degrees of a server: of an aggregated one, of those for prompts, of those for answers.
const AGGREGATED: [&str; 5] = ["tp_size", "pp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size"];
const PREFILL: [&str; 5] = [
    "prefill_tp_size",
    "prefill_pp_size",
    "prefill_attention_dp_size",
    "prefill_moe_tp_size",
    "prefill_moe_ep_size",
];
const DECODE: [&str; 5] = [
    "decode_tp_size",
    "decode_pp_size",
    "decode_attention_dp_size",
    "decode_moe_tp_size",
    "decode_moe_ep_size",
];

/// The columns that every file has.
const REQUIRED: [&str; 10] = [
    "id",
    "deployment_id",
    "backend",
    "mode",
    "system",
    "model_path",
    "isl",
    "osl",
    "silicon_ttft_ms",
    "silicon_tpot_ms",
];

/// Reads a file.
///
/// # Errors
/// [`SiliconError`] names row, column, bound and value.
pub fn read(text: &str) -> Result<Vec<SiliconRow>, SiliconError> {
    let records = rows_of(text.strip_prefix('\u{feff}').unwrap_or(text))?;
    let Some(((_, header), rows)) = records.split_first() else { return Err(SiliconError::Empty) };
    let mut places = BTreeMap::new();
    for (place, name) in header.iter().enumerate() {
        if places.insert(name.trim().to_owned(), place).is_some() {
            return Err(SiliconError::Twice(name.chars().take(60).collect()));
        }
    }
    if let Some(missing) = REQUIRED.iter().find(|name| !places.contains_key(**name)) {
        return Err(SiliconError::NoColumn(missing));
    }
    let read = |(row, cells): &(usize, Vec<String>)| {
        if cells.len() != header.len() {
            return Err(SiliconError::Cells { row: *row, found: cells.len(), expected: header.len() });
        }
        Cells { row: *row, places: &places, cells }.read()
    };
    rows.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_captured_size_is_read_from_its_cell() {
        assert_eq!(captured_tokens("FULL_AND_PIECEWISE;capture<=2048"), Some(2048));
        assert_eq!(captured_tokens(";capture<=64"), Some(64));
        assert_eq!(["", "PIECEWISE", "capture<=many"].map(captured_tokens), [None; 3]);
    }

    use proptest::prelude::*;

    const HEADER: &str = "id,deployment_id,backend,mode,system,model_path,isl,osl,silicon_ttft_ms,silicon_tpot_ms,batch_size,attention_dp_size,ix_max_num_batched_tokens,note";

    fn with(row: &str) -> Result<Vec<SiliconRow>, SiliconError> {
        read(&format!("{HEADER}\r\n{row}\r\n"))
    }

    #[test]
    fn columns_are_found_by_name_and_flags_may_be_formulas() {
        let rows = with("a,1f,vllm,agg,h100_sxm,x/y,1024,8,10.5,2.25,16,2,2*ISL,\"one, \"\"two\"\"\nthree\"")
            .unwrap();
        let row = &rows[0];
        assert_eq!((row.input_tokens, row.output_tokens, row.in_flight), (1024, 8, Some(32)));
        assert_eq!((row.ttft_ms, row.tpot_ms, row.layout.tensor_parallel), (10.5, 2.25, 1));
        assert_eq!(row.flags.max_batched_tokens, Some(2048));
        assert!(row.is_left_out() && row.is_clean());
    }

    #[test]
    fn labels_of_more_gpus_than_a_node_has_are_suspect() {
        let suspect = |system: &str, mode: &str, replicas: u32| {
            let row = format!("a,0,sglang,{mode},{system},m,1,1,1,1,1,{replicas},,");
            with(&row).unwrap().remove(0).suspect
        };
        assert_eq!(suspect("b200_sxm", "agg", 16), "more_gpus_than_a_node");
        // What is on one node, on several of them, or on a rack that NVLink joins.
        let others =
            [("b200_sxm", "agg", 8), ("b200_sxm", "disagg", 16), ("gb200", "agg", 16), ("x", "agg", 99)];
        assert!(others.iter().all(|(system, mode, replicas)| suspect(system, mode, *replicas).is_empty()));
    }

    #[test]
    fn the_last_digit_of_the_hash_decides_what_calibration_sees() {
        for (hash, odd) in [
            ("00", false),
            ("0a", false),
            ("0b", true),
            ("F", true),
            ("10", false),
            ("", false),
            ("z", false),
            ("y", true),
        ] {
            let rows = with(&format!("a,{hash},vllm,agg,g,m,1,1,1,1,1,1,,")).unwrap();
            assert_eq!(rows[0].is_left_out(), odd, "{hash}");
        }
    }

    #[test]
    fn errors_name_row_column_bound_and_value() {
        let reported = |text: &str| read(text).unwrap_err().to_string();
        assert!(reported("").starts_with("the file is empty"));
        assert_eq!(reported("id,backend\n"), "there is no column deployment_id");
        assert_eq!(reported("id,id\n"), "the column id stands there twice");
        let row = |row: &str| with(row).unwrap_err().to_string();
        assert_eq!(row("a,1"), "row 2: 2 cells, the header has 14");
        assert_eq!(
            row("a,1,vllm,agg,g,m,0,1,1,1,1,1,,"),
            "row 2, column isl: \"0\" is not a number from 1 to 2000000"
        );
        assert_eq!(
            row("a,1,vllm,agg,g,m,1.5,1,1,1,1,1,,"),
            "row 2, column isl: \"1.5\" is not a whole number from 1 to 2000000"
        );
        assert!(row("a,1,vllm,agg,g,m,1,1,,1,1,1,,").starts_with("row 2, column silicon_ttft_ms"));
        assert!(row("a,1,vllm,agg,g,m,1,1,NaN,1,1,1,,").contains("\"NaN\""));
        assert_eq!(row("a,\"1,vllm"), "row 2: a quotation mark is never closed");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_rejected(cells in prop::collection::vec("[0-9a-f,\"\n.eE+-]{0,12}|vllm|agg|2[*]ISL|-1|1e400|inf", 0..40)) {
            let body = cells.join(",");
            for text in [body.clone(), format!("{HEADER}\n{body}")] {
                if let Ok(rows) = read(&text) {
                    for row in rows {
                        prop_assert!(row.ttft_ms > 0.0 && row.ttft_ms <= MAX_MS && row.tpot_ms > 0.0);
                        prop_assert!(row.input_tokens >= 1 && row.output_tokens >= 1 && row.layout.tensor_parallel >= 1);
                        prop_assert!(row.in_flight.is_none_or(|n| (1..=MAX_IN_FLIGHT as u32).contains(&n)));
                    }
                }
            }
        }
    }
}
