//! Dates as numbers: days since 1970-01-01, with the time of day as a fraction.
//!
//! Only dates that can be read in one way become numbers: year first, as ISO 8601 has them. Where the
//! year stands last, nobody knows whether the day or the month comes first.

/// `2024-05-01`, `2024/05/01`, `2024-05-01T12:30`, `2024-05-01 12:30:15.5+02:00`, ...
pub(crate) fn days(text: &[u8]) -> Option<f64> {
    let (year, rest) = digits(text, 4)?;
    let (&separator, rest) = rest.split_first().filter(|(c, _)| matches!(c, b'-' | b'/'))?;
    let (month, rest) = digits(rest, 2)?;
    let rest = rest.strip_prefix(&[separator])?;
    let (day, rest) = digits(rest, 2)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = length.get((month as usize).checked_sub(1)?)?;
    if !(1..=*length).contains(&day) {
        return None;
    }
    let seconds = match rest {
        [] => 0.0,
        [b'T' | b't' | b' ', time @ ..] => seconds(time)?,
        _ => return None,
    };
    Some(f64::from(civil(year, month, day)) + seconds / 86400.0)
}

/// `12:30`, `12:30:15`, `12:30:15.25`, with or without a zone: `Z`, `+02:00`, `-0530`.
fn seconds(text: &[u8]) -> Option<f64> {
    let (hour, rest) = digits(text, 2)?;
    let (minute, rest) = digits(rest.strip_prefix(b":")?, 2)?;
    let (second, rest) = match rest.strip_prefix(b":") {
        None => (0.0, rest),
        Some(rest) => {
            digits(rest, 2)?;
            let end = rest.iter().position(|c| !c.is_ascii_digit() && *c != b'.').unwrap_or(rest.len());
            (crate::number::parse(&rest[..end])?, &rest[end..])
        }
    };
    // A leap second is one.
    if hour > 23 || minute > 59 || second >= 61.0 {
        return None;
    }
    Some(f64::from(3600 * hour + 60 * minute) + second - zone(rest)?)
}

/// How many seconds the zone is ahead.
fn zone(text: &[u8]) -> Option<f64> {
    let (sign, rest) = match text {
        [] | [b'Z' | b'z'] => return Some(0.0),
        [b'+', rest @ ..] => (1.0, rest),
        [b'-', rest @ ..] => (-1.0, rest),
        _ => return None,
    };
    let (hours, rest) = digits(rest, 2)?;
    let (minutes, rest) = match rest {
        [] => (0, rest),
        _ => digits(rest.strip_prefix(b":").unwrap_or(rest), 2)?,
    };
    (hours < 24 && minutes < 60 && rest.is_empty()).then_some(sign * f64::from(3600 * hours + 60 * minutes))
}

/// A number of exactly `n` digits, and what follows.
fn digits(text: &[u8], n: usize) -> Option<(i32, &[u8])> {
    let (number, rest) = text.split_at_checked(n)?;
    let value = |sum: i32, c: &u8| c.is_ascii_digit().then(|| 10 * sum + i32::from(c - b'0'));
    number.iter().try_fold(0, value).map(|value| (value, rest))
}

/// Days from 1970-01-01 in the Gregorian calendar, counted in years that begin in March: the leap day is
/// the last of its year.
fn civil(year: i32, month: i32, day: i32) -> i32 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    146_097 * era + 365 * of_era + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// A number of days as a date, `2024-05-01`, with the time of day where it has one; `None` outside of the years that
/// have four digits.
///
/// ```
/// use deciban_data::date_text;
/// assert_eq!(date_text(19844.0).as_deref(), Some("2024-05-01"));
/// assert_eq!(date_text(-0.25).as_deref(), Some("1969-12-31T18:00:00"));
/// assert_eq!(date_text(1e9), None);
/// ```
pub fn date_text(days: f64) -> Option<String> {
    // To the second; what is left of it is lost.
    let seconds = (days * 86400.0).round();
    if !(-6.3e10..2.6e11).contains(&seconds) {
        return None;
    }
    let (day, second) = ((seconds / 86400.0).floor() as i64, seconds.rem_euclid(86400.0) as u32);
    let (year, month, date) = of_civil(day);
    let text = (1..=9999).contains(&year).then(|| format!("{year:04}-{month:02}-{date:02}"))?;
    let [hour, minute] = [second / 3600, second / 60 % 60];
    Some(if second == 0 { text } else { format!("{text}T{hour:02}:{minute:02}:{:02}", second % 60) })
}

/// Year, month and day of a number of days since 1970-01-01: undoes [`civil`].
fn of_civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (400 * era + year + i64::from(month <= 2), month, of_year - (153 * from_march + 2) / 5 + 1)
}

/// Whether a text looks like a date with the year last: `01/05/2024`, `1.5.24`, `5-1-2024`.
pub(crate) fn is_local(text: &[u8]) -> bool {
    let Some(separator) = text.iter().find(|c| matches!(c, b'/' | b'.' | b'-')) else { return false };
    let date = text.split(|c| *c == b' ').next().unwrap_or_default();
    let parts: Vec<&[u8]> = date.split(|c| c == separator).collect();
    let is_number = |part: &&[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    match parts[..] {
        [day, month, year] => {
            parts.iter().all(is_number) && day.len() <= 2 && month.len() <= 2 && matches!(year.len(), 2 | 4)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days() {
        // By Python: (date(2000, 2, 29) - date(1970, 1, 1)).days
        let known = [
            ("1970-01-01", 0.0),
            ("1969-12-31", -1.0),
            ("2000-02-29", 11016.0),
            ("2000-03-01", 11017.0),
            ("2024-05-01", 19844.0),
            ("2024/05/01", 19844.0),
            ("1900-03-01", -25508.0),
            ("0001-01-01", -719162.0),
            ("2024-05-01T12:00", 19844.5),
            ("2024-05-01 06:00:00", 19844.25),
            ("2024-05-01T06:00:00.000Z", 19844.25),
            ("2024-05-01T06:00:00+06:00", 19844.0),
            ("2024-05-01 06:00:00-0600", 19844.5),
            ("2024-05-01 06:00:21.6", 19844.25025),
        ];
        for (text, expected) in known {
            assert_eq!(days(text.as_bytes()), Some(expected), "{text}");
        }
    }

    #[test]
    fn days_are_dates() {
        // Every day of a few centuries, and back.
        for day in -200_000..200_000 {
            let text = date_text(f64::from(day)).unwrap();
            assert_eq!(days(text.as_bytes()), Some(f64::from(day)), "{text}");
        }
        for time in [0.25, 19_844.75, -1.5] {
            assert_eq!(days(date_text(time).unwrap().as_bytes()), Some(time));
        }
        assert!([f64::NAN, f64::INFINITY, -1e7, 3e6].iter().all(|days| date_text(*days).is_none()));
    }

    #[test]
    fn what_is_no_date_is_refused() {
        let texts = [
            "",
            "2024",
            "2024-05",
            "2024-5-1",
            "2024-13-01",
            "2024-00-01",
            "2024-02-30",
            "1900-02-29",
            "2024-05/01",
            "2024-05-01x",
            "2024-05-01T",
            "2024-05-01T24:00",
            "2024-05-01T12:60",
            "2024-05-01T12:00:61",
            "2024-05-01T12:00:5",
            "2024-05-01T12:00+25:00",
            "2024-05-01T12:00:00.1.2",
            "01/05/2024",
        ];
        for text in texts {
            assert_eq!(days(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn the_year_may_stand_last() {
        for text in ["01/05/2024", "1.5.24", "5-1-2024", "31/12/1999 23:59"] {
            assert!(is_local(text.as_bytes()), "{text}");
        }
        for text in ["2024-05-01", "1/2", "1/2/3/4", "a/b/2024", "3.14", "10.0.0.1", "1/2/345", ""] {
            assert!(!is_local(text.as_bytes()), "{text}");
        }
    }
}
