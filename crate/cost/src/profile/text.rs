//! The text of a [`Profile`]: a line for each operator, places and times as differences to the one before.
//!
//! ```text
//! servescope-profile 1
//! gpu a100
//! model meta-llama/Llama-2-7b-hf
//! layers 32 hidden 4096 query_heads 32 kv_heads 32 mlp_hidden 11008 gated_mlp 1 node_gpus 8
//! send_recv measured 2048 80 8192 20 …        place, tenths of a microsecond, …
//! degree 1 errors 12 130 128 571              layer and attention: median, P95, ten-thousandths
//! add measured 1 20 …
//! attention modelled
//! decode_law 10 0.3 0.01 0.008                 microseconds
//! prefill_law 15 0.03 0.01 0.0001 0.0001
//! decode rows 1 1 2 columns 32 32 64 cells 90 10 …
//! prefill rows … columns … cells …
//! network pairwise_nvlink node_gpus 4          another node with this GPU; none or several, at the end
//! send_recv measured …
//! group 2                                      GPUs that share a layer
//! all_reduce measured …
//! ```

use std::fmt::Write as _;

use super::attention::{DecodeFormula, MOST_COEFFICIENT, PrefillFormula};
use super::grid::KnotGrid;
use super::line::{Knots, MOST_TENTHS};
use super::operator::{Operator, TimedOrigin};
use super::table::ProfileError;
use super::{AttentionProfile, Degree, FitErrors, NodeNetwork, OperatorLine, Profile};
use crate::model_shape::ModelShape;

const FILE: &str = "profile";
const HEAD: &str = "servescope-profile 1";

impl Profile {
    /// Writes the profile.
    pub fn to_text(&self) -> String {
        let s = &self.shape;
        let mut text = format!(
            "{HEAD}\ngpu {}\nmodel {}\nlayers {} hidden {} query_heads {} kv_heads {} mlp_hidden {} gated_mlp {} \
             node_gpus {}\n",
            self.gpu,
            self.model,
            s.layers,
            s.hidden,
            s.query_heads,
            s.kv_heads,
            s.mlp_hidden,
            u32::from(s.gated_mlp),
            self.node_gpus
        );
        write_lines(&mut text, &self.lines);
        for degree in &self.degrees {
            let a = &degree.attention;
            let ([a0, a1], [b0, b1]) = (degree.errors.layer, degree.errors.attention);
            let _ = writeln!(text, "degree {} errors {a0} {a1} {b0} {b1}", degree.degree);
            write_lines(&mut text, &degree.lines);
            let _ = writeln!(text, "attention {}", a.origin.name());
            let (d, p) = (&a.decode_formula, &a.prefill_formula);
            let _ = writeln!(text, "decode_law {} {} {} {}", d.us, d.requests, d.kv, d.requests_kv);
            let _ =
                writeln!(text, "prefill_law {} {} {} {} {}", p.us, p.chunk, p.kv, p.chunk_kv, p.chunk_chunk);
            for (name, grid) in [("decode", &a.decode), ("prefill", &a.prefill)] {
                let Some(grid) = grid else { continue };
                let _ = write!(text, "{name} rows");
                differences(&mut text, grid.rows.iter().map(|&x| u64::from(x)));
                text.push_str(" columns");
                differences(&mut text, grid.columns.iter().map(|&x| u64::from(x)));
                text.push_str(" cells");
                differences(&mut text, grid.cells.iter().copied());
                text.push('\n');
            }
        }
        for network in &self.networks {
            let _ = writeln!(text, "network {} node_gpus {}", network.name, network.node_gpus);
            write_lines(&mut text, &network.lines);
            for (gpus, line) in &network.all_reduces {
                let _ = writeln!(text, "group {gpus}");
                write_lines(&mut text, std::slice::from_ref(line));
            }
        }
        text
    }

    /// Reads a profile.
    ///
    /// # Errors
    /// [`ProfileError`] with row and what was read there.
    pub fn read(text: &str) -> Result<Self, ProfileError> {
        let mut reader = TextReader { lines: text.lines(), row: 0, words: Vec::new(), place: 0 };
        reader.profile()
    }
}

fn write_lines(text: &mut String, lines: &[OperatorLine]) {
    for line in lines {
        let _ = write!(text, "{} {}", line.operator.name, line.origin.name());
        let mut before = (0, 0);
        for (&at, &tenths) in line.knots.at.iter().zip(&line.knots.tenths) {
            let _ = write!(text, " {} {}", at - before.0, tenths.cast_signed() - before.1);
            before = (at, tenths.cast_signed());
        }
        text.push('\n');
    }
}

fn differences(text: &mut String, values: impl Iterator<Item = u64>) {
    let mut before = 0;
    for value in values {
        let _ = write!(text, " {}", value.cast_signed() - before);
        before = value.cast_signed();
    }
}

/// Most knots of a line and cells of a grid, and the longest name.
const MOST_KNOTS: usize = 10_000;
const MOST_NAME: usize = 100;

struct TextReader<'a> {
    lines: std::str::Lines<'a>,
    row: usize,
    words: Vec<&'a str>,
    place: usize,
}

impl<'a> TextReader<'a> {
    fn bad(&self, column: &'static str, value: &str, expected: &'static str) -> ProfileError {
        let value = value.chars().take(40).collect();
        ProfileError::BadCell { file: FILE, row: self.row, column, value, expected }
    }

    /// Moves to the next line; `false` at the end.
    fn advance(&mut self) -> bool {
        let Some(line) = self.lines.next() else {
            self.words.clear();
            return false;
        };
        self.row += 1;
        self.words = line.split_ascii_whitespace().collect();
        self.place = 0;
        true
    }

    fn key(&self) -> &'a str {
        self.words.first().copied().unwrap_or("")
    }

    fn word(&mut self) -> &'a str {
        self.place += 1;
        self.words.get(self.place - 1).copied().unwrap_or("")
    }

    fn expect(&mut self, wanted: &'static str) -> Result<(), ProfileError> {
        let word = self.word();
        if word == wanted { Ok(()) } else { Err(self.bad("key", word, wanted)) }
    }

    fn number(&mut self, column: &'static str, min: f64, max: f64) -> Result<f64, ProfileError> {
        let word = self.word();
        match word.parse::<f64>() {
            Ok(x) if (min..=max).contains(&x) => Ok(x),
            _ => Err(self.bad(column, word, "a number within its bounds")),
        }
    }

    fn whole(&mut self, column: &'static str, min: u32, max: u32) -> Result<u32, ProfileError> {
        let word = self.word();
        match word.parse::<u32>() {
            Ok(x) if (min..=max).contains(&x) => Ok(x),
            _ => Err(self.bad(column, word, "a whole number within its bounds")),
        }
    }

    /// A value by its difference to the one before, which it leaves there.
    fn next(
        &mut self,
        column: &'static str,
        before: &mut i64,
        least: i64,
        most: i64,
    ) -> Result<i64, ProfileError> {
        let word = self.word();
        let found = word.parse::<i64>().ok().and_then(|d| before.checked_add(d));
        match found.filter(|x| (least..=most).contains(x)) {
            Some(x) => {
                *before = x;
                Ok(x)
            }
            None => Err(self.bad(column, word, "a difference that leads to a value within its bounds")),
        }
    }

    fn name(&mut self, key: &'static str) -> Result<String, ProfileError> {
        self.advance();
        self.expect(key)?;
        let name = self.word();
        if name.is_empty() || name.len() > MOST_NAME {
            return Err(self.bad(key, name, "a name without spaces, of at most 100 bytes"));
        }
        Ok(name.to_owned())
    }

    fn profile(&mut self) -> Result<Profile, ProfileError> {
        if !self.advance() || self.words.join(" ") != HEAD {
            let head = self.words.join(" ");
            return Err(self.bad("key", &head, HEAD));
        }
        let (gpu, model) = (self.name("gpu")?, self.name("model")?);
        self.advance();
        let mut sizes = [0; 7];
        let keys = ["layers", "hidden", "query_heads", "kv_heads", "mlp_hidden", "gated_mlp", "node_gpus"];
        for (size, key) in sizes.iter_mut().zip(keys) {
            self.expect(key)?;
            *size = self.whole(key, u32::from(key != "gated_mlp"), 1 << 24)?;
        }
        let [layers, hidden, query_heads, kv_heads, mlp_hidden, gated_mlp, node_gpus] = sizes;
        let gated_mlp = gated_mlp > 0;
        let shape = ModelShape { layers, hidden, query_heads, kv_heads, mlp_hidden, gated_mlp };
        self.advance();
        let lines = self.operators()?;
        let mut degrees: Vec<Degree> = Vec::new();
        while self.key() == "degree" {
            self.place = 1;
            let degree = self.whole("degree", degrees.last().map_or(1, |d| d.degree + 1), 1 << 16)?;
            self.expect("errors")?;
            let mut found = [0; 4];
            for error in &mut found {
                *error = self.whole("errors", 0, 1_000_000)?;
            }
            let errors = FitErrors { layer: [found[0], found[1]], attention: [found[2], found[3]] };
            self.advance();
            let lines = self.operators()?;
            degrees.push(Degree { degree, errors, lines, attention: self.attention()? });
        }
        let mut networks = Vec::new();
        while self.key() == "network" && !degrees.is_empty() {
            networks.push(self.network(&networks)?);
        }
        if self.words.is_empty() && !degrees.is_empty() {
            return Ok(Profile { gpu, model, shape, node_gpus, lines, degrees, networks });
        }
        Err(self.bad("key", self.key(), "an operator or a degree"))
    }

    fn network(&mut self, before: &[NodeNetwork]) -> Result<NodeNetwork, ProfileError> {
        self.place = 1;
        let name = self.word();
        let is_known = before.iter().any(|network| network.name == name);
        if name.is_empty() || name.len() > MOST_NAME || is_known {
            return Err(self.bad("network", name, "a new name without spaces, of at most 100 bytes"));
        }
        self.expect("node_gpus")?;
        let node_gpus = self.whole("node_gpus", 1, 1 << 16)?;
        self.advance();
        let lines = self.operators()?;
        let mut all_reduces: Vec<(u32, OperatorLine)> = Vec::new();
        while self.key() == "group" {
            self.place = 1;
            let gpus = self.whole("group", all_reduces.last().map_or(2, |(gpus, _)| gpus + 1), 1 << 16)?;
            self.advance();
            let mut found = self.operators()?;
            match found.pop().filter(|line| found.is_empty() && line.operator.name == "all_reduce") {
                Some(line) => all_reduces.push((gpus, line)),
                None => return Err(self.bad("key", self.key(), "one all_reduce")),
            }
        }
        Ok(NodeNetwork { name: name.to_owned(), node_gpus, lines, all_reduces })
    }

    fn operators(&mut self) -> Result<Vec<OperatorLine>, ProfileError> {
        let mut lines: Vec<OperatorLine> = Vec::new();
        while let Some(operator) = Operator::named(self.key()) {
            if lines.iter().any(|l| l.operator == operator) {
                return Err(self.bad("key", operator.name, "an operator once"));
            }
            self.place = 1;
            let origin = self.origin()?;
            let mut knots = Knots::default();
            let (mut at, mut tenths) = (-1, 0);
            if let Some(&first) = self.words.get(2) {
                // The first place is a difference to 0 and may be 0.
                let first = first.parse::<i64>().ok().filter(|x| (0..=i64::from(u32::MAX)).contains(x));
                at = first.ok_or_else(|| self.bad("place", self.words[2], "a whole number below 2^32"))?;
                self.place = 3;
            }
            loop {
                knots.at.push(at as u32);
                knots.tenths.push(self.next("time", &mut tenths, 0, MOST_TENTHS as i64)?.cast_unsigned());
                if self.place >= self.words.len() {
                    break;
                }
                let least = at + 1;
                self.next("place", &mut at, least, u32::MAX.into())?;
                if knots.at.len() >= MOST_KNOTS {
                    return Err(self.bad("place", "", "at most 10000 knots"));
                }
            }
            lines.push(OperatorLine { operator, origin, knots });
            self.advance();
        }
        Ok(lines)
    }

    fn origin(&mut self) -> Result<TimedOrigin, ProfileError> {
        let word = self.word();
        TimedOrigin::named(word)
            .ok_or_else(|| self.bad("origin", word, "measured, reconstructed, synthetic or modelled"))
    }

    fn attention(&mut self) -> Result<AttentionProfile, ProfileError> {
        self.expect("attention")?;
        let origin = self.origin()?;
        self.advance();
        self.expect("decode_law")?;
        let mut formula = [0.0; 5];
        for x in &mut formula[..4] {
            *x = self.number("decode_law", 0.0, MOST_COEFFICIENT)?;
        }
        let [us, requests, kv, requests_kv, _] = formula;
        let decode_formula = DecodeFormula { us, requests, kv, requests_kv };
        self.advance();
        self.expect("prefill_law")?;
        for x in &mut formula {
            *x = self.number("prefill_law", 0.0, MOST_COEFFICIENT)?;
        }
        let [us, chunk, kv, chunk_kv, chunk_chunk] = formula;
        let prefill_formula = PrefillFormula { us, chunk, kv, chunk_kv, chunk_chunk };
        self.advance();
        let decode = if self.key() == "decode" { Some(self.grid()?) } else { None };
        let prefill = if self.key() == "prefill" { Some(self.grid()?) } else { None };
        Ok(AttentionProfile { origin, decode_formula, prefill_formula, decode, prefill })
    }

    fn grid(&mut self) -> Result<KnotGrid, ProfileError> {
        self.place = 1;
        self.expect("rows")?;
        let rows = self.places("columns")?;
        self.expect("columns")?;
        let columns = self.places("cells")?;
        self.expect("cells")?;
        let mut cells = Vec::new();
        let mut before = 0;
        for _ in 0..(rows.len() * columns.len()).min(MOST_KNOTS * 10) {
            cells.push(self.next("cells", &mut before, 0, MOST_TENTHS as i64)?.cast_unsigned());
        }
        if self.place != self.words.len() || cells.len() != rows.len() * columns.len() {
            return Err(self.bad("cells", "", "as many as rows times columns"));
        }
        self.advance();
        Ok(KnotGrid { rows, columns, cells })
    }

    /// Two places or more, up to the word `end`.
    fn places(&mut self, end: &'static str) -> Result<Vec<u32>, ProfileError> {
        let (mut places, mut before) = (Vec::new(), 0);
        while self.words.get(self.place).is_some_and(|w| *w != end) {
            let least = if places.is_empty() { 0 } else { before + 1 };
            places.push(self.next("places", &mut before, least, u32::MAX.into())? as u32);
        }
        if places.len() < 2 { Err(self.bad("places", "", "at least two")) } else { Ok(places) }
    }
}
