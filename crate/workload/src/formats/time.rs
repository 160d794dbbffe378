//! Dates and times of day in text, as ticks of 100 ns since 1970.

use super::{FormatError, MAX_ARRIVAL_S};

/// Ticks in a microsecond.
pub(super) const TICKS_PER_US: f64 = 10.0;

/// Ticks in a second.
const TICKS_PER_S: i64 = 10_000_000;

/// The times of a file lie too far apart.
pub(super) fn span_error(column: &str) -> FormatError {
    FormatError::OutOfRange {
        row: 0,
        column: column.to_owned(),
        value: "the span of the file".to_owned(),
        min: 0.0,
        max: MAX_ARRIVAL_S,
    }
}

/// `YYYY-MM-DD hh:mm:ss[.fffffff]`, with a `T` or a `t` in place of the blank and an offset from UTC behind it (RFC 3339), as
/// ticks of 100 ns since 1970. Without an offset it is UTC.
pub(crate) fn parse_time(text: &str) -> Option<i64> {
    let (date, clock) = text.split_once([' ', 'T', 't'])?;
    let (clock, offset_min) = without_offset(clock)?;
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
    let minutes = (days * 24 + hour) * 60 + minute - offset_min;
    Some(minutes * 60 * TICKS_PER_S + second * TICKS_PER_S + nanoseconds / 100)
}

/// A time of day without its offset from UTC, and the offset in minutes: `Z`, `+hh:mm`, or as ISO 8601 also has it `+hhmm` and
/// `+hh`, with or without a blank before.
fn without_offset(clock: &str) -> Option<(&str, i64)> {
    if let Some(clock) = clock.strip_suffix(['Z', 'z']) {
        return Some((clock.trim_end(), 0));
    }
    if let Some(clock) = clock.strip_suffix(" UTC") {
        return Some((clock, 0));
    }
    let Some(at) = clock.find(['+', '-']) else { return Some((clock, 0)) };
    let (clock, offset) = clock.split_at(at);
    let (hours, minutes) = match offset.len() {
        3 => (&offset[1..], "00"),
        5 if offset.is_char_boundary(3) => offset[1..].split_at(2),
        6 => offset[1..].split_once(':')?,
        _ => return None,
    };
    let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
    let minutes = if hours < 24 && minutes < 60 { 60 * hours + minutes } else { return None };
    Some((clock.trim_end(), if offset.starts_with('-') { -minutes } else { minutes }))
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

/// Ticks of 100 ns since 1970 as `YYYY-MM-DD hh:mm:ss.fffffff`.
pub fn time_text(ticks: i64) -> String {
    let (seconds, fraction) = (ticks.div_euclid(TICKS_PER_S), ticks.rem_euclid(TICKS_PER_S));
    let (year, month, day) = civil_from_days(seconds.div_euclid(86_400));
    let clock = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{fraction:07}")
}

/// The date that is `days` after 1970-01-01 (Hinnant's algorithm).
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(parse_time("1970-01-01 00:00:00"), Some(0));
        assert_eq!(parse_time("1970-01-02 00:00:01.0000001"), Some(864_010_000_001));
        assert_eq!(parse_time("2024-02-29T23:59:59.5Z").map(|t| t % 10_000_000), Some(5_000_000));
        for bad in [
            "",
            "2023-02-29 00:00:00",
            "2023-13-01 00:00:00",
            "2023-01-01",
            "2023-01-01 24:00:00",
            "x y",
            "2023-01-01T00:00:00+1:00",
            "2023-01-01T00:00:00+24:00",
            "2023-01-01T00:00:00+01:60",
            "2023-01-01T00:00:00+0é0",
            "2023-01-01T00:00:00+",
        ] {
            assert_eq!(parse_time(bad), None, "{bad}");
        }
    }

    #[test]
    fn every_offset_from_utc_is_read() {
        let noon = parse_time("2025-03-01T12:00:00.25Z");
        for same in [
            "2025-03-01T12:00:00.25+00:00",
            "2025-03-01T13:00:00.25+01:00",
            "2025-03-01t17:30:00.25+05:30",
            "2025-03-01 02:45:00.25-09:15",
            "2025-03-01 13:00:00.25 +0100",
            "2025-03-02T01:00:00.25+13",
            "2025-03-01 12:00:00.25 UTC",
            "2025-03-01T12:00:00.25-00:00",
        ] {
            assert_eq!(parse_time(same), noon, "{same}");
        }
    }

    #[test]
    fn times_are_read_as_they_were_written() {
        for text in
            ["1970-01-01 00:00:00.0000000", "2024-02-29 23:59:59.1234567", "1999-12-31 12:00:01.0000001"]
        {
            assert_eq!(parse_time(text).map(time_text).as_deref(), Some(text));
        }
    }
}
