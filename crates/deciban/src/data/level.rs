//! When two levels are the same though they are written differently.
//!
//! Programs write the number four as `4`, `4.0`, `4e0` or `+4`, and a flag as `true`, `True` or `TRUE`: a
//! table that another program has saved again must not lose its levels. Numbers are compared as exact decimals, so
//! that long identifiers stay apart. Leading zeros keep a text apart, too: `007` and `7`, or the postcodes
//! `01234` and `1234`, are different codes.

use std::borrow::Cow;

/// The form by which levels and classes are compared: that of the number or flag which a text is, or else the
/// text itself.
///
/// ```
/// use deciban::data::level_key;
/// for four in ["4", "4.0", "+4", "4e0", "40e-1"] {
///     assert_eq!(level_key(four.as_bytes())[..], *b"4");
/// }
/// assert_eq!(level_key(b"TRUE")[..], *b"true");
/// assert_eq!(level_key(b"04")[..], *b"04");
/// assert_eq!(level_key(b"four")[..], *b"four");
/// ```
pub fn level_key(text: &[u8]) -> Cow<'_, [u8]> {
    spelled_key(text).unwrap_or(Cow::Borrowed(text))
}

/// The same, only of texts that may be written in several ways.
pub fn spelled_key(text: &[u8]) -> Option<Cow<'_, [u8]>> {
    match text {
        b"true" | b"True" | b"TRUE" => Some(Cow::Borrowed(b"true")),
        b"false" | b"False" | b"FALSE" => Some(Cow::Borrowed(b"false")),
        [b'0'..=b'9' | b'+' | b'-' | b'.', ..] => Decimal::of(text).map(|decimal| Cow::Owned(decimal.text())),
        _ => None,
    }
}

/// ±0.d₁d₂d₃… · 10ᵉ, without zeros at either end of the digits.
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// The number that fills the whole text.
    fn of(text: &[u8]) -> Option<Self> {
        let (negative, rest) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        let (whole, rest) = digits(rest);
        let (fraction, rest) = match rest {
            [b'.', rest @ ..] => digits(rest),
            _ => (&[][..], rest),
        };
        let is_code = whole.len() > 1 && whole[0] == b'0';
        if is_code || whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let shift = match rest {
            [] => 0,
            [b'e' | b'E', power @ ..] => {
                let (down, power) = match power {
                    [b'-', power @ ..] => (true, power),
                    [b'+', power @ ..] => (false, power),
                    _ => (false, power),
                };
                let (power, rest) = digits(power);
                if !rest.is_empty() || !(1..=9).contains(&power.len()) {
                    return None;
                }
                let power = power.iter().fold(0, |power, digit| 10 * power + i64::from(digit - b'0'));
                if down { -power } else { power }
            }
            _ => return None,
        };
        let mut digits = [whole, fraction].concat();
        let mut exponent = shift + whole.len() as i64;
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
        digits.drain(..zeros);
        exponent -= zeros as i64;
        digits.truncate(digits.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1));
        match digits.is_empty() {
            true => Some(Decimal { negative: false, digits: vec![b'0'], exponent: 1 }),
            false => Some(Decimal { negative, digits, exponent }),
        }
    }

    /// As people write it, unless that takes many zeros.
    fn text(&self) -> Vec<u8> {
        const MOST_ZEROS: i64 = 30;
        let Decimal { negative, digits, exponent } = self;
        let length = digits.len() as i64;
        let mut text = if *negative { vec![b'-'] } else { Vec::new() };
        if *exponent > length + MOST_ZEROS || *exponent < -MOST_ZEROS {
            text.extend([b"0.", &digits[..]].concat());
            text.extend(format!("e{exponent}").bytes());
        } else if *exponent >= length {
            text.extend_from_slice(digits);
            text.resize(text.len() + (exponent - length) as usize, b'0');
        } else if *exponent > 0 {
            let (whole, fraction) = digits.split_at(*exponent as usize);
            text.extend([whole, b".", fraction].concat());
        } else {
            text.extend_from_slice(b"0.");
            text.resize(text.len() + exponent.unsigned_abs() as usize, b'0');
            text.extend_from_slice(digits);
        }
        text
    }
}

/// The digits at the beginning, and what follows.
fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> String {
        String::from_utf8(level_key(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn equal_numbers_are_equal_levels_however_they_are_written() {
        let same: [(&str, &[&str]); 8] = [
            ("4", &["4.0", "4.", "+4", "4e0", "0.4e1", "40e-1", "4.000"]),
            ("0", &["-0", "0.0", "+0", ".0", "0e5", "-0.00"]),
            ("0.5", &[".5", "0.50", "5e-1", "+.5"]),
            ("-1.25", &["-1.250", "-125e-2"]),
            ("100000", &["1e5", "1E+5", "100000.0"]),
            ("12345678901234567890", &["12345678901234567890.0", "1.2345678901234567890e19"]),
            ("true", &["True", "TRUE"]),
            ("false", &["False", "FALSE"]),
        ];
        for (text, others) in same {
            assert_eq!(key(text), text);
            others.iter().for_each(|other| assert_eq!(key(other), text, "{other}"));
        }
        assert_eq!(key("1e400"), key("10e399"));
        assert_eq!(key("1e-400"), key("0.1e-399"));
    }

    #[test]
    fn other_texts_stand_for_themselves() {
        let texts = [
            "",
            "04",
            "007",
            "00",
            "-",
            "+",
            ".",
            "e5",
            "1e",
            "1e+",
            "1.2.3",
            "1 2",
            "0x10",
            "1,5",
            "tRUE",
            "nan",
            "inf",
            "1e9999999999",
            "4a",
            "yes",
            "٤",
        ];
        texts.iter().for_each(|text| assert_eq!(key(text), *text));
        assert_ne!(key("12345678901234567890"), key("12345678901234567891"));
        assert_ne!(key("0.1"), key("0.10000000000000001"));
        assert_ne!(key("1e400"), key("1e401"));
    }
}
