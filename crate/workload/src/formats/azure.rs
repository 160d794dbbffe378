//! Azure LLM inference traces (Patel et al., Splitwise, ISCA 2024): `TIMESTAMP` as date and time of day with up to seven
//! digits of a second, `ContextTokens`, `GeneratedTokens`. Time starts at the earliest row.

use super::table::{Column, Table};
use super::{FormatError, MAX_ARRIVAL_S};
use crate::trace::{BASE_MODEL, Request, Trace};

/// Ticks of the time stamps in a microsecond: they have a resolution of 100 ns.
const TICKS_PER_US: f64 = 10.0;

pub(super) fn read(table: &mut Table<'_>) -> Result<Trace, FormatError> {
    let place = |name| table.column(name);
    let (Some(time), Some(input), Some(output)) =
        (place("TIMESTAMP"), place("ContextTokens"), place("GeneratedTokens"))
    else {
        return Err(FormatError::EmptyFile);
    };
    let mut trace = Trace::default();
    let mut ticks: Vec<i64> = Vec::new();
    while table.next_row()? {
        ticks.push(time_cell(table, time)?);
        let output_tokens = table.tokens(output)?;
        trace.push(Request {
            arrival_us: 0.0,
            user: 0,
            adapter: BASE_MODEL,
            input_tokens: table.tokens(input)?,
            output_tokens,
            max_tokens: output_tokens,
        });
    }
    let start = ticks.iter().copied().min().unwrap_or(0);
    for (arrival_us, tick) in trace.arrival_us.iter_mut().zip(&ticks) {
        *arrival_us = (tick - start) as f64 / TICKS_PER_US;
    }
    if trace.arrival_us.iter().any(|&t| t > MAX_ARRIVAL_S * 1e6) {
        return Err(FormatError::OutOfRange {
            row: 0,
            column: "TIMESTAMP".to_owned(),
            value: "the span of the file".to_owned(),
            min: 0.0,
            max: MAX_ARRIVAL_S,
        });
    }
    Ok(trace)
}

fn time_cell(table: &Table<'_>, column: Column) -> Result<i64, FormatError> {
    parse_time(table.text(column))
        .ok_or_else(|| table.bad(column, "a date and time (2023-11-16 18:17:03.9799600)"))
}

/// `YYYY-MM-DD hh:mm:ss[.fffffff]`, with a `T`, a `Z` or `+00:00` allowed, as ticks of 100 ns since 1970.
pub(crate) fn parse_time(text: &str) -> Option<i64> {
    let text = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00")).unwrap_or(text);
    let (date, clock) = text.split_once([' ', 'T'])?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut date = date.splitn(3, '-').map(|part| number(part, 4));
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut clock = clock.splitn(3, ':').map(|part| number(part, 2));
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let days = days_from_civil(year, month, day)?;
    if hour > 23 || minute > 59 || second > 60 || fraction.len() > 9 {
        return None;
    }
    let nanoseconds = if fraction.is_empty() { 0 } else { number(&format!("{fraction:0<9}"), 9)? };
    Some(((days * 24 + hour) * 60 + minute) * 600_000_000 + second * 10_000_000 + nanoseconds / 100)
}

fn number(digits: &str, most: usize) -> Option<i64> {
    let plain = !digits.is_empty() && digits.len() <= most && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().ok())?
}

/// Days since 1970-01-01 of a date of the Gregorian calendar (Hinnant's algorithm); `None` for a date that is none.
fn days_from_civil(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let most = *length.get(usize::try_from(month - 1).ok()?)?;
    if !(1..=most).contains(&day) {
        return None;
    }
    let shifted = if month > 2 { year } else { year - 1 };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(parse_time("1970-01-01 00:00:00"), Some(0));
        assert_eq!(parse_time("1970-01-02 00:00:01.0000001"), Some(864_010_000_001));
        assert_eq!(parse_time("2024-02-29T23:59:59.5Z").map(|t| t % 10_000_000), Some(5_000_000));
        for bad in
            ["", "2023-02-29 00:00:00", "2023-13-01 00:00:00", "2023-01-01", "2023-01-01 24:00:00", "x y"]
        {
            assert_eq!(parse_time(bad), None, "{bad}");
        }
    }
}
