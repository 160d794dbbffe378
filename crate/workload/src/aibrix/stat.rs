//! Statistics of a real service as CSV files: a rate and percentiles of lengths for each row of time (AIBrix,
//! `convert_to_stat_df`, `read_distribution_stats`, `generate_from_stat_csv`).

use std::collections::{BTreeMap, BTreeSet};

use super::arrivals::Steps;
use super::percentiles::{self, LEVELS, Lognormal};
use super::{AibrixError, MAX_ENTRIES, smoothing};
use crate::formats::FormatError;
use crate::formats::azure::parse_time;
use crate::formats::table::{Column, Table};

/// Values that the moving average of rates spans.
pub const SMOOTHING_WINDOW: usize = 10;

/// Largest mean rate of a row, requests a second.
const MAX_RATE_RPS: f64 = 1e6;

/// Ticks of [`StatRow::time_ticks`] in a second.
const TICKS_PER_S: i64 = 10_000_000;

/// One row of time.
#[derive(Debug, Clone, PartialEq)]
pub struct StatRow {
    /// Its time, in units of 100 ns.
    pub time_ticks: i64,
    /// Mean rate of requests that succeeded, requests a second.
    pub rate_rps: f64,
    /// Prompt lengths at [`LEVELS`], tokens.
    pub input_tokens: [f64; 4],
    /// Completion lengths at [`LEVELS`], tokens.
    pub output_tokens: [f64; 4],
}

/// Rows that were matched by their time.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchedRows {
    /// The rows.
    pub rows: Vec<StatRow>,
    /// Seconds that each row lasts: the mean difference of their times, cut to a whole number.
    pub row_s: usize,
    /// Times that were not in all files and were left out (`maas`), or taken as zero where they lack (`cloudide`). The
    /// AIBrix says nothing of them.
    pub unmatched_times: usize,
    /// What of a length file's bytes no column holds, so that every such length is the least one.
    pub missing: Option<&'static str>,
}

/// Reads `maas` statistics: traffic `Time, Success`, prompts `Time, P50, P70, P90, P99`, completions
/// `Time, P50, P70, P95, P99`.
///
/// Rows go together by the text of their time, in the order of the prompt file. A length file without the column `Time`, which
/// AIBrix's documentation describes and its code cannot read, has a row for each row of the traffic file, in their order.
/// The 90th percentile may be missing. The completion column P95 stands for the
/// 90th percentile, as in AIBrix; one called P90, which AIBrix cannot read, is read as what it says. The
/// columns of totals and errors, without which AIBrix fails, are not used and need not be there.
///
/// # Errors
/// [`AibrixError`], with the file and the place in it.
pub fn maas(traffic: &[u8], prompts: &[u8], completions: &[u8]) -> Result<MatchedRows, AibrixError> {
    let mut traffic = numbers("traffic", traffic, &[&["Success"]])?;
    let by_line = {
        let mut times: Vec<(u64, String, i64)> =
            traffic.iter().map(|(text, row)| (row.line, text.clone(), row.time_ticks)).collect();
        times.sort_unstable();
        times.into_iter().map(|(_, text, ticks)| (text, ticks)).collect::<Vec<_>>()
    };
    let prompts = percentiles_of("prompt", prompts, &["P90"], &by_line)?;
    let mut completions = percentiles_of("completion", completions, &["P95", "P90"], &by_line)?;
    let mut rows = Vec::new();
    let mut order: Vec<(String, TimedCells)> = prompts.into_iter().collect();
    order.sort_unstable_by_key(|(_, row)| row.line);
    let mut unmatched_times = 0;
    for (text, input) in order {
        match (completions.remove(&text), traffic.remove(&text)) {
            (Some(output), Some(rate)) => rows.push(StatRow {
                time_ticks: input.time_ticks,
                rate_rps: rate.cells[0],
                input_tokens: quantiles(&input.cells),
                output_tokens: quantiles(&output.cells),
            }),
            _ => unmatched_times += 1,
        }
    }
    // What a prompt row asked for is removed above, so that these are times the prompt file lacks.
    let left: BTreeSet<&String> = completions.keys().chain(traffic.keys()).collect();
    unmatched_times += left.len();
    finish(rows, unmatched_times, None)
}

/// Reads `cloudide` statistics: traffic `Time` (milliseconds since 1970) and the rate as second column, whatever its name;
/// lengths `Time` and columns `sent_bytes.rate@…`, `recv_bytes.rate@…`, as its code wants them, or where there is none of those
/// any whose names begin with `sent_bytes`, `recv_bytes`, as its documentation names them.
///
/// Prompts are the received bytes a request, completions the sent ones, all percentiles alike. Rows are put in order of
/// time; a value that is `undefined`, empty or in one file only is zero.
///
/// # Errors
/// [`AibrixError`], with the file and the place in it.
pub fn cloudide(traffic: &[u8], lengths: &[u8]) -> Result<MatchedRows, AibrixError> {
    let rates = sums("traffic", traffic, |table| {
        let second = table.columns().nth(1).filter(|(name, _)| *name != "Time");
        let lacks = AibrixError::MissingColumn { file: "traffic", column: "(rate, second)" };
        second.map(|(_, column)| [vec![column], Vec::new()]).ok_or(lacks)
    })?;
    let mut missing = None;
    let bytes = sums("length", lengths, |table| {
        let starting = |exact: &str, prefix: &str| -> Vec<Column> {
            let of = |start: &str| -> Vec<Column> {
                let found = table.columns().filter(|(name, _)| name.starts_with(start));
                found.map(|(_, column)| column).collect()
            };
            let named = of(exact);
            if named.is_empty() { of(prefix) } else { named }
        };
        let columns = [starting("recv_bytes.rate@", RECEIVED), starting("sent_bytes.rate@", SENT)];
        missing = match (columns[0].is_empty(), columns[1].is_empty()) {
            (true, false) => Some(RECEIVED),
            (false, true) => Some(SENT),
            (true, true) => {
                return Err(AibrixError::NoByteColumns { known: table.header_text() });
            }
            (false, false) => None,
        };
        Ok(columns)
    })?;
    let times: BTreeSet<i64> = rates.keys().chain(bytes.keys()).copied().collect();
    let rows: Vec<StatRow> = times
        .iter()
        .map(|time| {
            let rate_rps = rates.get(time).map_or(0.0, |sums| sums[0]);
            let [received, sent] = bytes.get(time).copied().unwrap_or_default();
            let per_request = |bytes: f64| if rate_rps == 0.0 { 0.0 } else { bytes / rate_rps };
            StatRow {
                time_ticks: *time,
                rate_rps,
                input_tokens: [per_request(received); 4],
                output_tokens: [per_request(sent); 4],
            }
        })
        .collect();
    let both = times.iter().filter(|time| rates.contains_key(time) && bytes.contains_key(time)).count();
    finish(rows, times.len() - both, missing)
}

/// Reads the traffic file of either kind by itself: seconds from the first row, ascending, and the rate of each row, requests a
/// second. The rate is the column `Success` or, where there is none, the second one.
///
/// # Errors
/// [`AibrixError`], with the place in the file.
pub fn rates(traffic: &[u8]) -> Result<Vec<(f64, f64)>, AibrixError> {
    let by_time = sums("traffic", traffic, |table| {
        let named = table.column("Success").or_else(|| {
            let second = table.columns().nth(1).filter(|(name, _)| *name != "Time");
            second.map(|(_, column)| column)
        });
        let lacks = AibrixError::MissingColumn { file: "traffic", column: "Success" };
        named.map(|column| [vec![column], Vec::new()]).ok_or(lacks)
    })?;
    let first = by_time.first_key_value().map_or(0, |(ticks, _)| *ticks);
    let mut rates = Vec::with_capacity(by_time.len());
    for (ticks, [rate, _]) in by_time {
        if !(0.0..=MAX_RATE_RPS).contains(&rate) {
            let expected = "a rate from 0 to 1000000 requests a second";
            return Err(AibrixError::BadValue { key: "Success", expected, value: rate.to_string() });
        }
        let since = i128::from(ticks) - i128::from(first);
        rates.push((since as f64 / TICKS_PER_S as f64, rate));
    }
    if rates.len() < 2 { Err(AibrixError::TooFewRows { rows: rates.len() }) } else { Ok(rates) }
}

/// What the columns of received bytes, which are prompts, begin with.
const RECEIVED: &str = "recv_bytes";
/// What the columns of sent bytes, which are completions, begin with.
const SENT: &str = "sent_bytes";

/// A row's time and the cells that were asked for.
struct TimedCells {
    line: u64,
    time_ticks: i64,
    cells: Vec<f64>,
}

fn quantiles(cells: &[f64]) -> [f64; 4] {
    std::array::from_fn(|i| cells[i])
}

/// A file of lengths, by the text of its times. Its rows are those of the traffic file where it has no times of its own.
fn percentiles_of(
    file: &'static str,
    bytes: &[u8],
    ninetieth: &[&'static str],
    traffic: &[(String, i64)],
) -> Result<BTreeMap<String, TimedCells>, AibrixError> {
    let at = |error: FormatError| AibrixError::File { file, error };
    let mut table = Table::open(bytes).map_err(at)?;
    let has_ninetieth = ninetieth.iter().any(|name| table.column(name).is_some());
    let columns: &[&[&'static str]] = if has_ninetieth {
        &[&["P50"], &["P70"], ninetieth, &["P99"]]
    } else {
        &[&["P50"], &["P70"], &["P99"]]
    };
    let mut rows = if table.column("Time").is_some() {
        numbers(file, bytes, columns)?
    } else {
        let places = places(file, &table, columns)?;
        let mut rows = BTreeMap::new();
        let mut count = 0;
        while table.next_row().map_err(at)? {
            let cells = cells(&table, &places).map_err(at)?;
            if let Some((text, time_ticks)) = traffic.get(count) {
                let row = TimedCells { line: table.line(), time_ticks: *time_ticks, cells };
                rows.insert(text.clone(), row);
            }
            count += 1;
        }
        if count != traffic.len() {
            return Err(AibrixError::RowCount { file, rows: count, traffic: traffic.len() });
        }
        rows
    };
    if !has_ninetieth {
        for row in rows.values_mut() {
            let [median, seventieth, last] = std::array::from_fn(|i| row.cells[i]);
            percentiles::check(&[median, seventieth, last])?;
            row.cells.insert(2, percentiles::between([median, seventieth, last]));
        }
    }
    Ok(rows)
}

/// The places of one column of each group of names.
fn places(
    file: &'static str,
    table: &Table<'_>,
    columns: &[&[&'static str]],
) -> Result<Vec<Column>, AibrixError> {
    let place = |names: &&[&'static str]| {
        let found = names.iter().find_map(|name| table.column(name));
        found.ok_or(AibrixError::MissingColumn { file, column: names[0] })
    };
    columns.iter().map(place).collect()
}

/// The numbers of a row in these places.
fn cells(table: &Table<'_>, places: &[Column]) -> Result<Vec<f64>, FormatError> {
    let cell = |&column: &Column| finite(table.text(column)).ok_or_else(|| table.bad(column, "a number"));
    places.iter().map(cell).collect()
}

/// A CSV file with one column of each group of names, by the text of its times.
fn numbers(
    file: &'static str,
    bytes: &[u8],
    columns: &[&[&'static str]],
) -> Result<BTreeMap<String, TimedCells>, AibrixError> {
    let at = |error: FormatError| AibrixError::File { file, error };
    let mut table = Table::open(bytes).map_err(at)?;
    let time = table.column("Time").ok_or(AibrixError::MissingColumn { file, column: "Time" })?;
    let places = places(file, &table, columns)?;
    let mut rows = BTreeMap::new();
    while table.next_row().map_err(at)? {
        let text = table.text(time).to_owned();
        let row = table.line();
        let time_ticks = stamp(&text).ok_or_else(|| at(table.bad(time, STAMP)))?;
        let cells = cells(&table, &places).map_err(at)?;
        if rows.insert(text.clone(), TimedCells { line: row, time_ticks, cells }).is_some() {
            return Err(AibrixError::RepeatedTime { file, row, time: text });
        }
    }
    Ok(rows)
}

/// A CSV file with two sums over columns, by time.
fn sums(
    file: &'static str,
    bytes: &[u8],
    columns: impl FnOnce(&Table<'_>) -> Result<[Vec<Column>; 2], AibrixError>,
) -> Result<BTreeMap<i64, [f64; 2]>, AibrixError> {
    let at = |error: FormatError| AibrixError::File { file, error };
    let mut table = Table::open(bytes).map_err(at)?;
    let time = table.column("Time").ok_or(AibrixError::MissingColumn { file, column: "Time" })?;
    let columns = columns(&table)?;
    let mut rows = BTreeMap::new();
    while table.next_row().map_err(at)? {
        let row = table.line();
        let time_ticks = stamp(table.text(time)).ok_or_else(|| at(table.bad(time, STAMP)))?;
        let mut cells = [0.0; 2];
        for (sum, places) in cells.iter_mut().zip(&columns) {
            for &column in places {
                *sum += match table.text(column) {
                    "" | "undefined" => 0.0,
                    text => finite(text).ok_or_else(|| at(table.bad(column, "a number or undefined")))?,
                };
            }
        }
        if rows.insert(time_ticks, cells).is_some() {
            let time = table.text(time).to_owned();
            return Err(AibrixError::RepeatedTime { file, row, time });
        }
    }
    Ok(rows)
}

const STAMP: &str = "a date and time, or milliseconds since 1970,";

/// A time as units of 100 ns since 1970: a date and time of day, or milliseconds.
fn stamp(text: &str) -> Option<i64> {
    match text.parse::<i64>() {
        Ok(ms) => ms.checked_mul(TICKS_PER_S / 1000),
        Err(_) => parse_time(text),
    }
}

fn finite(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|x| x.is_finite())
}

/// Checks the rows and finds how long one lasts.
fn finish(
    rows: Vec<StatRow>,
    unmatched_times: usize,
    missing: Option<&'static str>,
) -> Result<MatchedRows, AibrixError> {
    let too_few = AibrixError::TooFewRows { rows: rows.len() };
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Err(too_few) };
    let span = i128::from(last.time_ticks) - i128::from(first.time_ticks);
    let steps = (rows.len() as i128 - 1).max(1) * i128::from(TICKS_PER_S);
    let row_s = usize::try_from(span / steps).unwrap_or(0);
    if rows.len() < 2 || row_s == 0 {
        return Err(too_few);
    }
    if row_s.saturating_mul(rows.len()) > MAX_ENTRIES {
        return Err(AibrixError::TooMany { what: "seconds" });
    }
    for row in &rows {
        if !(0.0..=MAX_RATE_RPS).contains(&row.rate_rps) {
            return Err(AibrixError::BadValue {
                key: "Success",
                expected: "a rate from 0 to 1000000 requests a second",
                value: row.rate_rps.to_string(),
            });
        }
        percentiles::check(&row.input_tokens)?;
        percentiles::check(&row.output_tokens)?;
    }
    Ok(MatchedRows { rows, row_s, unmatched_times, missing })
}

impl MatchedRows {
    /// Rates of every second, requests a second. `poisson` gives a Poisson count of the mean it is asked for.
    pub fn rates_rps(&self, mut poisson: impl FnMut(f64) -> u64) -> Vec<f64> {
        let row = |row: &StatRow| {
            smoothing::rates_rps(row.rate_rps, self.row_s, SMOOTHING_WINDOW, || poisson(row.rate_rps))
        };
        self.rows.iter().map(row).collect::<Vec<_>>().concat().into_iter().map(|rate| rate as f64).collect()
    }

    /// Prompt lengths of every second, tokens. `normal` gives one standard normal number a second.
    pub fn input_tokens(&self, normal: impl FnMut() -> f64) -> Vec<f64> {
        self.lengths(|row| &row.input_tokens, normal)
    }

    /// Completion lengths of every second, tokens. `normal` gives one standard normal number a second.
    ///
    /// AIBrix draws those of `cloudide` from the prompts' statistics; here they have their own.
    pub fn output_tokens(&self, normal: impl FnMut() -> f64) -> Vec<f64> {
        self.lengths(|row| &row.output_tokens, normal)
    }

    fn lengths(&self, of: impl Fn(&StatRow) -> &[f64; 4], mut normal: impl FnMut() -> f64) -> Vec<f64> {
        let mut lengths = Vec::with_capacity(self.rows.len() * self.row_s);
        for row in &self.rows {
            let draws: Vec<f64> = (0..self.row_s).map(|_| normal()).collect();
            // The scale is left at 1: restoring the median undoes it, and it acts when arrivals are drawn.
            let distribution: Option<Lognormal> = percentiles::fit(&LEVELS, of(row), 1.0).unwrap_or(None);
            let made = percentiles::lengths(of(row)[0], distribution, self.row_s as f64, &draws);
            lengths.extend(made.into_iter().map(f64::from));
        }
        lengths
    }

    /// One entry a second of rates and lengths.
    pub fn steps(
        &self,
        poisson: impl FnMut(f64) -> u64,
        input_normal: impl FnMut() -> f64,
        output_normal: impl FnMut() -> f64,
    ) -> Steps {
        Steps {
            step_ms: 1000.0,
            rates_rps: self.rates_rps(poisson),
            input_tokens: Some(self.input_tokens(input_normal)),
            output_tokens: Some(self.output_tokens(output_normal)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aibrix::percentiles::fit;

    const TRAFFIC: &str = "Time,Success\n2024-10-01 00:00:00,2\n2024-10-01 00:00:10,0\n";
    const LENGTHS: &str =
        "Time,P50,P70,P90,P99\n2024-10-01 00:00:00,9,10,11,12\n2024-10-01 00:00:10,9,10,11,12\n";

    fn read(traffic: &str, prompts: &str, completions: &str) -> Result<MatchedRows, AibrixError> {
        maas(traffic.as_bytes(), prompts.as_bytes(), completions.as_bytes())
    }

    #[test]
    fn rows_last_their_mean_difference() {
        let read = read(TRAFFIC, LENGTHS, LENGTHS).expect("the files are good");
        assert_eq!((read.rows.len(), read.row_s, read.unmatched_times), (2, 10, 0));
        let steps = read.steps(|_| 3, || 0.0, || 0.0);
        assert_eq!(steps.rates_rps[..], [[3.0; 10], [0.0; 10]].concat());
        assert_eq!(steps.output_tokens.map(|l| l.len()), Some(20));
    }

    #[test]
    fn times_that_lack_elsewhere_are_counted() {
        let more = format!("{LENGTHS}2024-10-01 00:00:20,9,10,11,12\n");
        assert_eq!(read(TRAFFIC, &more, LENGTHS).map(|s| s.unmatched_times), Ok(1));
        assert_eq!(read(TRAFFIC, LENGTHS, &more).map(|s| s.unmatched_times), Ok(1));
        assert_eq!(read(TRAFFIC, &more, &more).map(|s| s.unmatched_times), Ok(1));
    }

    #[test]
    fn bad_files_are_refused_with_their_place() {
        let twice = format!("{TRAFFIC}2024-10-01 00:00:10,0\n");
        assert!(matches!(
            read(&twice, LENGTHS, LENGTHS),
            Err(AibrixError::RepeatedTime { file: "traffic", row: 4, .. })
        ));
        let cell = LENGTHS.replacen(",11,", ",x,", 1);
        let error = read(TRAFFIC, &cell, LENGTHS).expect_err("x is no number").to_string();
        assert_eq!(error, "prompt file: row 2, column P90: a number expected, got \"x\"");
        let one = LENGTHS.lines().take(2).collect::<Vec<_>>().join("\n");
        assert_eq!(read(TRAFFIC, &one, LENGTHS), Err(AibrixError::TooFewRows { rows: 1 }));
        for bad in ["", "Time\n", "Time,Success\nx,1\n", "Time,Success\n2024-10-01 00:00:00,-1\n"] {
            assert!(read(bad, LENGTHS, LENGTHS).is_err(), "{bad}");
            assert!(cloudide(bad.as_bytes(), bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn lengths_without_times_go_by_row() {
        let lengths = "P50,P70,P99\n9,10,12\n90,100,120\n";
        let read = read(TRAFFIC, lengths, LENGTHS).expect("as many rows as the traffic has");
        let medians: Vec<f64> = read.rows.iter().map(|row| row.input_tokens[0]).collect();
        assert_eq!((medians, read.unmatched_times), (vec![9.0, 90.0], 0));
        // The percentile that is not there lies on the distribution of the others, and moves it no further.
        let three =
            fit(&[0.5, 0.7, 0.99], &[9.0, 10.0, 12.0], 1.0).expect("they rise").expect("a distribution");
        let four = fit(&LEVELS, &read.rows[0].input_tokens, 1.0).expect("they rise").expect("a distribution");
        assert!((three.mu - four.mu).abs() < 1e-12 && (three.sigma - four.sigma).abs() < 1e-12);
        let both = maas(TRAFFIC.as_bytes(), lengths.as_bytes(), lengths.as_bytes()).expect("both by row");
        assert_eq!(both.rows[1].output_tokens[3], 120.0);
        for rows in ["", "9,10,12\n", "9,10,12\n9,10,12\n9,10,12\n"] {
            let error =
                maas(TRAFFIC.as_bytes(), LENGTHS.as_bytes(), format!("P50,P70,P99\n{rows}").as_bytes());
            let count = rows.lines().count();
            assert_eq!(
                error.expect_err("another number of rows").to_string(),
                format!(
                    "the completion file has no column \"Time\" and {count} rows where the traffic file has 2: rows go together in their order"
                )
            );
        }
        let falling = maas(TRAFFIC.as_bytes(), b"P50,P70,P99\n9,10,12\n9,8,12\n", LENGTHS.as_bytes());
        assert_eq!(falling, Err(AibrixError::DecreasingPercentiles { lower: 9.0, upper: 8.0 }));
    }

    #[test]
    fn cloudide_takes_the_documented_columns_and_refuses_a_file_without_any() {
        let traffic = b"\"Time\",\"Rate\"\n0,2\n10000,4\n";
        let read = |lengths: &str| cloudide(traffic, lengths.as_bytes());
        let made =
            read("\"Time\",\"recv_bytes\",\"sent_bytes\"\n0,200,40\n10000,1200,80\n").expect("as documented");
        let pairs: Vec<(f64, f64)> =
            made.rows.iter().map(|r| (r.input_tokens[0], r.output_tokens[0])).collect();
        assert_eq!((pairs, made.missing), (vec![(100.0, 20.0), (300.0, 20.0)], None));
        // Columns as AIBrix's code wants them go before others that begin alike.
        let rates = read(
            "Time,recv_bytes.rate@a,recv_bytes.rate@b,recv_bytes_total,sent_bytes_sum\n0,100,100,999,40\n10000,1,1,999,8\n",
        );
        assert_eq!(rates.expect("there are bytes").rows[0].input_tokens[0], 100.0);
        assert_eq!(
            read("Time,bytes_in,bytes_out\n0,1,2\n10000,1,2\n").expect_err("no bytes").to_string(),
            "the length file has no column whose name begins with recv_bytes or sent_bytes; it has Time, bytes_in, bytes_out"
        );
        assert_eq!(
            read("Time,recv_bytes\n0,200\n10000,1200\n").expect("prompts only").missing,
            Some("sent_bytes")
        );
    }

    #[test]
    fn completions_of_cloudide_have_their_own_statistics() {
        let traffic = b"Time,any\n0,2\n10000,undefined\n20000,1\n";
        let lengths = b"Time,sent_bytes.rate@a,recv_bytes.rate@a\n0,8,100\n10000,8,100\n30000,8,100\n";
        let read = cloudide(traffic, lengths).expect("the files are good");
        let pairs: Vec<(f64, f64)> =
            read.rows.iter().map(|row| (row.input_tokens[0], row.output_tokens[3])).collect();
        assert_eq!(pairs, [(50.0, 4.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]);
        assert_eq!((read.row_s, read.unmatched_times), (10, 2));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_readers_panic(
            head in "(Time,(Success|any|P50,P70,P90,P99|sent_bytes.rate@a|recv_bytes,sent_bytes)\n|P50,P70,P99\n)?",
            rows in "((-?[0-9]{1,4}|2024-10-01 00:00:[0-5][0-9])(,(-?[0-9.e]{0,5}|undefined)){0,4}\n){0,5}",
        ) {
            let file = format!("{head}{rows}");
            let _ = cloudide(TRAFFIC.as_bytes(), file.as_bytes());
            let _ = read(&file, LENGTHS, LENGTHS);
            let _ = read(TRAFFIC, &file, LENGTHS);
            if let Ok(statistics) = cloudide(file.as_bytes(), file.as_bytes()) {
                let made = statistics.steps(|_| 1, || 0.0, || 0.0);
                proptest::prop_assert_eq!(made.rates_rps.len(), statistics.rows.len() * statistics.row_s);
            }
        }
    }
}
