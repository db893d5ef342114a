//! Text to `f64`, exactly rounded.
//!
//! Short decimals take Clinger's fast path (1990): m·10ᵉ with m ≤ 2⁵³ and |e| ≤ 22 is one product or
//! quotient of two doubles that are both exact, so the one rounding is the right one. All other
//! numbers go to the standard library's parser, which is exact for every input.

const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Notation {
    /// What separates the whole part from the fraction.
    pub point: u8,
    /// What groups the digits of the whole part.
    pub thousands: Option<char>,
}

impl Default for Notation {
    fn default() -> Self {
        Notation { point: b'.', thousands: None }
    }
}

impl Notation {
    /// The number that fills the whole of `text`, which has no blanks around it.
    pub fn parse(&self, text: &[u8]) -> Option<f64> {
        if *self == Notation::default() {
            return parse(text);
        }
        parse(self.plain(std::str::from_utf8(text).ok()?)?.as_bytes())
    }

    /// The same number with a point and without groups.
    fn plain(&self, text: &str) -> Option<String> {
        let (sign, digits) = text.split_at(usize::from(text.starts_with(['-', '+'])));
        let (whole, fraction) = match digits.split_once(char::from(self.point)) {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (digits, None),
        };
        if self.point != b'.' && self.thousands != Some('.') && text.contains('.') {
            return None;
        }
        let mut groups = whole.split(self.thousands.unwrap_or(char::from(self.point)));
        let first = groups.next().unwrap_or_default();
        let groups: Vec<&str> = groups.collect();
        // Three digits in the last group; elsewhere in India two.
        let is_group = |(i, group): (usize, &&str)| {
            let lengths = if i + 1 == groups.len() { 3..=3 } else { 2..=3 };
            lengths.contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_digit())
        };
        let is_first = |group: &str| (1..=3).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_digit());
        if !groups.is_empty() && (!is_first(first) || !groups.iter().enumerate().all(is_group)) {
            return None;
        }
        let fraction = fraction.map(|fraction| format!(".{fraction}")).unwrap_or_default();
        Some(format!("{sign}{first}{}{fraction}", groups.concat()))
    }
}

/// The short decimal at the beginning of `text` and its length, where `point` stands before the fraction; `None`
/// sends the caller to [`Notation::parse`].
#[inline]
pub(crate) fn prefix(text: &[u8], point: u8) -> Option<(f64, usize)> {
    let negative = text.first() == Some(&b'-');
    let mut at = (negative || text.first() == Some(&b'+')) as usize;
    let mut mantissa = 0;
    let mut digits = read_digits(text, &mut at, &mut mantissa);
    let mut exponent = 0;
    if text.get(at) == Some(&point) {
        at += 1;
        let fraction = read_digits(text, &mut at, &mut mantissa);
        digits += fraction;
        exponent = -(fraction as i32);
    }
    // Twenty digits may overflow the mantissa, which wraps silently.
    if digits == 0 || digits > 19 {
        return None;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        at += 1;
        let down = text.get(at) == Some(&b'-');
        at += (down || text.get(at) == Some(&b'+')) as usize;
        let mut power = 0;
        if !(1..=4).contains(&read_digits(text, &mut at, &mut power)) {
            return None;
        }
        exponent += if down { -(power as i32) } else { power as i32 };
    }
    if mantissa > 1 << 53 || !(-22..=22).contains(&exponent) {
        return None;
    }
    let magnitude = mantissa as f64;
    let power = POWERS[exponent.unsigned_abs() as usize];
    let magnitude = if exponent < 0 { magnitude / power } else { magnitude * power };
    Some((if negative { -magnitude } else { magnitude }, at))
}

/// Reads digits behind those that `value` has, and returns how many there were.
#[inline]
fn read_digits(text: &[u8], at: &mut usize, value: &mut u64) -> usize {
    const TENS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
    let start = *at;
    while let Some(eight) = text.get(*at..).and_then(<[u8]>::first_chunk::<8>) {
        let (digits, count) = leading_digits(*eight);
        *value = value.wrapping_mul(TENS[count]).wrapping_add(digits);
        *at += count;
        if count < 8 {
            return *at - start;
        }
    }
    while let Some(digit) = text.get(*at).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
        *value = value.wrapping_mul(10).wrapping_add(digit as u64);
        *at += 1;
    }
    *at - start
}

/// The number that the leading digits of eight bytes make, and how many there are: all bytes at once in one word
/// (Lemire, *Number parsing at a gigabyte per second*, 2021).
#[inline]
fn leading_digits(bytes: [u8; 8]) -> (u64, usize) {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // A digit becomes its value, and any other byte at least 10. The sum sets the highest bit of those; what it
    // carries goes to bytes behind them.
    let values = u64::from_le_bytes(bytes) ^ (EACH * b'0' as u64);
    let others = (values | values.wrapping_add(EACH * (0x80 - 10))) & (EACH * 0x80);
    let count = others.trailing_zeros() as usize / 8;
    if count == 0 {
        return (0, 0);
    }
    // Zeros go in front of the digits; then neighbours are joined to pairs, fours and eights.
    let eight = values << (64 - 8 * count);
    let pairs = (eight.wrapping_mul(1 + (10 << 8)) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(1 + (100 << 16)) >> 16) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(1 + (10_000 << 32)) >> 32, count)
}

/// The number that fills the whole of `text`, which has no blanks around it.
pub(crate) fn parse(text: &[u8]) -> Option<f64> {
    match prefix(text, b'.') {
        Some((number, length)) if length == text.len() => Some(number),
        _ => std::str::from_utf8(text).ok()?.parse().ok(),
    }
}

/// The shortest text that reads back as this number; whole numbers have no point.
pub(crate) fn shortest(number: f64) -> String {
    number.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forms() {
        for (text, number) in [
            ("0", 0.0),
            ("-0", -0.0),
            ("+1", 1.0),
            ("12.50", 12.5),
            (".5", 0.5),
            ("5.", 5.0),
            ("1e3", 1e3),
            ("-2.5E-3", -2.5e-3),
            ("9007199254740993", 9007199254740992.0),
            ("123456789012345678901234567890", 1.2345678901234568e29),
            ("1e-400", 0.0),
            ("4.9406564584124654e-324", 5e-324),
        ] {
            assert_eq!(parse(text.as_bytes()).map(f64::to_bits), Some(f64::to_bits(number)), "{text}");
        }
        assert_eq!(parse(b"1e999"), Some(f64::INFINITY));
        for text in ["", "-", ".", "e5", "1e", "1e+", "+-1", "1 2", "0x10", "1,5", "1_000", "abc"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(shortest(3.0), "3");
        assert_eq!(shortest(0.1), "0.1");
    }

    #[test]
    fn decimal_commas_and_groups_of_thousands() {
        let german = Notation { point: b',', thousands: Some('.') };
        let comma = Notation { point: b',', thousands: None };
        let grouped = Notation { point: b'.', thousands: Some(',') };
        let spaced = Notation { point: b',', thousands: Some('\u{202f}') };
        for (notation, text, number) in [
            (comma, "1,5", Some(1.5)),
            (comma, "-0,25", Some(-0.25)),
            (comma, "1,5e3", Some(1500.0)),
            (comma, "7", Some(7.0)),
            (comma, "1.5", None),
            (comma, "1,2,3", None),
            (german, "1.234.567,5", Some(1234567.5)),
            (german, "-1.234", Some(-1234.0)),
            (german, "1.5", None),
            (german, "12.34.567", Some(1234567.0)),
            (german, "1234,5", Some(1234.5)),
            (grouped, "1,234.5", Some(1234.5)),
            (grouped, "1,23", None),
            (grouped, "1234,567", None),
            (grouped, ",567", None),
            (spaced, "1\u{202f}234,5", Some(1234.5)),
            (spaced, "abc", None),
        ] {
            assert_eq!(notation.parse(text.as_bytes()), number, "{notation:?} {text}");
        }
        assert_eq!(prefix(b"1,5;", b','), Some((1.5, 3)));
        assert_eq!(prefix(b"1.5;", b','), Some((1.0, 1)));
    }

    #[test]
    fn digits_end_at_any_other_byte() {
        for other in (0..=255u8).filter(|byte| !byte.is_ascii_digit()) {
            for count in 0..=8 {
                let mut text = *b"98765432";
                text[count..].fill(other);
                let digits = std::str::from_utf8(&text[..count]).unwrap().parse().unwrap_or(0);
                assert_eq!(leading_digits(text), (digits, count), "{text:?}");
            }
        }
        // What stands behind the first other byte does not count.
        assert_eq!(leading_digits(*b"12\xff45678"), (12, 2));
    }

    proptest! {
        #[test]
        fn as_the_standard_parser(text in "[-+]?[0-9]{0,20}(\\.[0-9]{0,20})?([eE][-+]?[0-9]{1,3})?") {
            prop_assert_eq!(parse(text.as_bytes()).map(f64::to_bits), text.parse::<f64>().ok().map(f64::to_bits));
        }

        #[test]
        fn shortest_reads_back(bits in any::<u64>()) {
            let number = f64::from_bits(bits);
            prop_assume!(number.is_finite());
            prop_assert_eq!(parse(shortest(number).as_bytes()).map(f64::to_bits), Some(bits));
        }
    }
}
