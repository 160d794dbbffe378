//! The form in which measured kernels are kept: one table a line of axes and a line of characters.
//!
//! ```text
//! servescope-kernels 1
//! gpu h100_sxm
//! axis 128,256
//! axis 1,8,16
//! gemm:fp8 vllm-0.24.0 -0.51 0.0271 0 0 1
//! AbCdEf...
//! ```
//! A table names its axes by their numbers. A character stands for a level from 0 on: the value is `low + step * level`.

use std::collections::BTreeMap;

use super::Grid;

const MARK: &str = "servescope-kernels 1";
/// Levels of a character: '#' to '~'.
const FIRST: u8 = b'#';
const LEVELS: f64 = 91.0;
/// Most points of a table.
const MAX_POINTS: usize = 200_000;

/// One table.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelTable {
    /// Backend and version whose kernels were timed.
    pub source: String,
    /// The times.
    pub grid: Grid,
}

/// The kernels of one GPU.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Kernels {
    /// Its id.
    pub gpu: String,
    /// Tables by name: operator and what it was timed for, colons between.
    pub tables: BTreeMap<String, KernelTable>,
}

fn number(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite() && value.abs() < 1e10);
    value.ok_or_else(|| format!("\"{}\" is not a number", text.chars().take(40).collect::<String>()))
}

impl Kernels {
    /// The text form. Values are rounded to the levels of a character.
    pub fn text(&self) -> String {
        let mut lines = vec![MARK.to_owned(), format!("gpu {}", self.gpu)];
        let mut axes: Vec<&Vec<f64>> = Vec::new();
        for axis in self.tables.values().flat_map(|measured| &measured.grid.axes) {
            if !axes.contains(&axis) {
                axes.push(axis);
                let knots: Vec<String> = axis.iter().map(f64::to_string).collect();
                lines.push(format!("axis {}", knots.join(",")));
            }
        }
        for (name, KernelTable { source, grid }) in &self.tables {
            let low = grid.values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = grid.values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let low = (low * 1e4).floor() / 1e4;
            let step = (((high - low) / LEVELS * 1e6).ceil() / 1e6).clamp(1e-6, 1.0);
            let place =
                |axis| axes.iter().position(|known| *known == axis).map_or(String::new(), |i| i.to_string());
            let numbers: Vec<String> = grid.axes.iter().map(place).collect();
            lines.push(format!("{name} {source} {low} {step} {}", numbers.join(" ")));
            let level =
                |value: &f64| char::from(FIRST + ((value - low) / step).round().clamp(0.0, LEVELS) as u8);
            lines.push(grid.values.iter().map(level).collect());
        }
        lines.push(String::new());
        lines.join("\n")
    }

    /// Reads the text form.
    ///
    /// # Errors
    /// A message that names the line and what is wrong.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().enumerate().map(|(i, line)| (i + 1, line));
        match lines.next() {
            Some((_, MARK)) => {}
            _ => return Err(format!("line 1: \"{MARK}\" is expected")),
        }
        let gpu = lines.next().and_then(|(_, line)| line.strip_prefix("gpu "));
        let gpu = gpu.ok_or("line 2: \"gpu ID\" is expected")?.to_owned();
        let (mut tables, mut axes) = (BTreeMap::new(), Vec::new());
        while let Some((number, head)) = lines.next() {
            if let Some(axis) = head.strip_prefix("axis ") {
                axes.push(Self::axis(axis).map_err(|why| format!("line {number}: {why}"))?);
                continue;
            }
            let (_, body) = lines.next().ok_or_else(|| format!("line {number}: no values follow"))?;
            let (name, measured) =
                Self::table(head, body, &axes).map_err(|why| format!("line {number}: {why}"))?;
            if tables.insert(name.clone(), measured).is_some() {
                return Err(format!("line {number}: {name} stands there twice"));
            }
        }
        Ok(Self { gpu, tables })
    }

    fn axis(text: &str) -> Result<Vec<f64>, String> {
        let axis = text.split(',').map(number).collect::<Result<Vec<f64>, String>>()?;
        if axis[0] > 0.0 && axis.windows(2).all(|pair| pair[0] < pair[1]) {
            return Ok(axis);
        }
        Err("a growing axis above 0 is expected".to_owned())
    }

    fn table(head: &str, body: &str, known: &[Vec<f64>]) -> Result<(String, KernelTable), String> {
        let mut parts = head.split(' ');
        let mut next = |what: &str| parts.next().ok_or_else(|| format!("{what} is missing"));
        let (name, source) = (next("a name")?.to_owned(), next("a source")?.to_owned());
        let (low, step) = (number(next("the lowest value")?)?, number(next("the step")?)?);
        if low.abs() > 50.0 || !(0.0..=1.0).contains(&step) {
            return Err("the lowest value is beyond -50 to 50, or the step beyond 0 to 1".to_owned());
        }
        let axis = |text: &str| {
            let axis = text.parse::<usize>().ok().and_then(|place| known.get(place)).cloned();
            axis.ok_or_else(|| format!("there is no axis \"{}\"", text.chars().take(40).collect::<String>()))
        };
        let axes = parts.map(axis).collect::<Result<Vec<_>, String>>()?;
        if axes.is_empty() || axes.len() > 3 {
            return Err("one to three axes are expected".to_owned());
        }
        let points = axes.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.len())).unwrap_or(usize::MAX);
        if points > MAX_POINTS || points != body.len() {
            return Err(format!(
                "{points} values are expected (at most {MAX_POINTS}), {} follow",
                body.len()
            ));
        }
        let last = FIRST + LEVELS as u8;
        if let Some(bad) = body.bytes().find(|byte| !(FIRST..=last).contains(byte)) {
            return Err(format!("the byte {bad} stands for no value"));
        }
        let values = body.bytes().map(|byte| low + step * f64::from(byte - FIRST)).collect();
        Ok((name, KernelTable { source, grid: Grid { axes, values } }))
    }
}
