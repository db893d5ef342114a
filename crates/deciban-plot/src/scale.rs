//! How values become lengths, and where ticks stand.
//!
//! A scale maps values to a line on which distances are those on paper: the value itself, its
//! decimal logarithm, or its probit Φ⁻¹(p), on which error rates of Gaussian scores are straight
//! lines (DET). Ticks are the finest of 1, 2 and 5 times a power of ten that leave room for their labels.

/// The kind of a scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    Linear,
    Log,
    Probit,
}

/// A value with its label.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    pub value: f64,
    pub label: String,
}

impl Scale {
    /// The place of a value on the line, infinite at the ends of what the scale can show.
    pub fn place(self, x: f64) -> f64 {
        match self {
            Scale::Linear => x,
            Scale::Log if x <= 0.0 => f64::NEG_INFINITY,
            Scale::Log => x.log10(),
            Scale::Probit => probit(x),
        }
    }

    /// Whether a value can be an end of an axis.
    pub fn shows(self, x: f64) -> bool {
        self.place(x).is_finite()
    }

    /// Ticks in [low, high] that have room: `length` pixels in all, `needed` between two for labels.
    pub fn ticks(
        self,
        (low, high): (f64, f64),
        percent: bool,
        length: f64,
        needed: impl Fn(&[Tick]) -> f64,
    ) -> Vec<Tick> {
        let (from, to) = (self.place(low), self.place(high));
        let fits = |ticks: &[Tick]| {
            let at: Vec<f64> = ticks.iter().map(|t| self.place(t.value)).collect();
            let gap = at.windows(2).map(|w| w[1] - w[0]).fold(f64::INFINITY, f64::min);
            gap / (to - from) * length >= needed(ticks)
        };
        match self {
            Scale::Linear => linear(low, high, percent, fits),
            Scale::Log => logarithmic(low, high, percent, fits),
            Scale::Probit => {
                let mut ticks: Vec<Tick> = Vec::new();
                for p in PROBABILITIES.iter().filter(|p| **p >= low && **p <= high) {
                    ticks.push(Tick { value: *p, label: format!("{}%", plain(100.0 * p)) });
                    if ticks.len() > 1 && !fits(&ticks) {
                        ticks.pop();
                    }
                }
                ticks
            }
        }
    }
}

const PROBABILITIES: [f64; 23] = [
    1e-5, 1e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99,
    0.995, 0.998, 0.999,
];

fn linear(low: f64, high: f64, percent: bool, fits: impl Fn(&[Tick]) -> bool) -> Vec<Tick> {
    let unit = if percent { 100.0 } else { 1.0 };
    let (low, high) = (low * unit, high * unit);
    let finest = ((high - low) / 20.0).log10().floor() as i32;
    let mut ticks = Vec::new();
    // Three decades coarser than a twentieth of the range there are no ticks left.
    for exponent in finest..finest + 4 {
        for factor in [1.0, 2.0, 5.0] {
            ticks = steps(low, high, factor, exponent, percent);
            if ticks.len() < 3 || (ticks.len() <= 8 && fits(&ticks)) {
                return ticks;
            }
        }
    }
    ticks
}

/// The multiples of factor · 10^exponent in [low, high].
fn steps(low: f64, high: f64, factor: f64, exponent: i32, percent: bool) -> Vec<Tick> {
    // Dividing by a power of ten is exact to the last digit where multiplying is not (3 · 0.1).
    let times = |i: f64| match exponent < 0 {
        true => i * factor / 10f64.powi(-exponent),
        false => i * factor * 10f64.powi(exponent),
    };
    let step = times(1.0);
    if !(step > 0.0 && step.is_finite()) {
        return Vec::new();
    }
    let slack = 1e-9;
    let (first, last) = ((low / step - slack).ceil(), (high / step + slack).floor());
    let largest = low.abs().max(high.abs());
    let count = (last - first + 1.0).clamp(0.0, 64.0) as usize;
    let label = |x: f64| match percent {
        true => format!("{}%", fixed(x, exponent, largest)),
        false => fixed(x, exponent, largest),
    };
    let unit = if percent { 100.0 } else { 1.0 };
    let values = (0..count).map(|i| times(first + i as f64));
    values.map(|x| Tick { value: x / unit, label: label(x) }).collect()
}

fn logarithmic(low: f64, high: f64, percent: bool, fits: impl Fn(&[Tick]) -> bool) -> Vec<Tick> {
    let unit = if percent { 100.0 } else { 1.0 };
    let label = |x: f64| if percent { format!("{}%", plain(100.0 * x)) } else { plain(x) };
    let (from, to) = ((low * unit).log10(), (high * unit).log10());
    let (first, last) = ((from - 1e-9).ceil() as i32, (to + 1e-9).floor() as i32);
    let ticks_of = |factors: &[f64], every: i32| -> Vec<Tick> {
        let exponents = (first - 1..=last).filter(|e| e.rem_euclid(every) == 0);
        let values = exponents.flat_map(|e| factors.iter().map(move |f| f * 10f64.powi(e) / unit));
        let inside = |x: &f64| *x >= low * (1.0 - 1e-9) && *x <= high * (1.0 + 1e-9);
        values.filter(inside).map(|x| Tick { value: x, label: label(x) }).collect()
    };
    if last - first <= 2 {
        for factors in [&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0][..], &[1.0, 2.0, 5.0], &[1.0, 3.0]] {
            let ticks = ticks_of(factors, 1);
            if ticks.len() > 1 && fits(&ticks) {
                return ticks;
            }
        }
    }
    if last <= first {
        return linear(low, high, percent, fits);
    }
    let every = [1, 2, 3, 4, 5, 10, 20, 50, 100, 200];
    every.iter().map(|k| ticks_of(&[1.0], *k)).find(|ticks| fits(ticks)).unwrap_or_default()
}

/// With the digits that a step of 10^exponent asks for, and a power of ten for large and small numbers.
fn fixed(x: f64, exponent: i32, largest: f64) -> String {
    let power = if largest > 0.0 { largest.log10().floor() as i32 } else { 0 };
    if x == 0.0 && !(-3..5).contains(&power) {
        return "0".into();
    }
    if (-3..5).contains(&power) {
        return signed(&format!("{x:.*}", (-exponent).max(0) as usize));
    }
    let digits = (power - exponent).clamp(0, 15) as usize;
    format!("{}e{}", signed(&format!("{:.digits$}", x / 10f64.powi(power))), signed(&power.to_string()))
}

/// A number in few digits, also by a power of ten.
pub fn plain(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    if !x.is_finite() {
        return signed(&if x.is_nan() { "?".to_string() } else { format!("{}∞", if x < 0.0 { "-" } else { "" }) });
    }
    let scientific = format!("{x:.2e}");
    let (mantissa, power) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    if (-4..5).contains(&power) {
        let text = format!("{x:.*}", (2 - power).max(0) as usize);
        return signed(if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text });
    }
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    format!("{}e{}", signed(mantissa), signed(&power.to_string()))
}

/// A minus sign as wide as a plus, and none before zero.
fn signed(number: &str) -> String {
    match number.strip_prefix('-') {
        Some(size) if size.bytes().all(|b| b"0.".contains(&b)) => size.to_string(),
        Some(size) => format!("−{size}"),
        None => number.to_string(),
    }
}

/// Φ⁻¹(p) by Acklam's rational approximation, to 1.2e-9 of the value: far less than a pixel.
pub fn probit(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e1,
        2.209460984245205e2,
        -2.759285104469687e2,
        1.38357751867269e2,
        -3.066479806614716e1,
        2.506628277459239,
    ];
    const B: [f64; 6] = [
        -5.447609879822406e1,
        1.615858368580409e2,
        -1.556989798598866e2,
        6.680131188771972e1,
        -1.328068155288572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784894002430293e-3,
        -3.223964580411365e-1,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 5] = [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416, 1.0];
    let polynomial = |c: &[f64], x: f64| c.iter().fold(0.0, |sum, c| sum * x + c);
    let tail = |p: f64| {
        let q = (-2.0 * p.ln()).sqrt();
        polynomial(&C, q) / polynomial(&D, q)
    };
    match p {
        _ if p <= 0.0 => f64::NEG_INFINITY,
        _ if p >= 1.0 => f64::INFINITY,
        _ if p < 0.02425 => tail(p),
        _ if p > 1.0 - 0.02425 => -tail(1.0 - p),
        _ => {
            let (q, r) = (p - 0.5, (p - 0.5) * (p - 0.5));
            polynomial(&A, r) * q / polynomial(&B, r)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, low: f64, high: f64, percent: bool, room: f64) -> String {
        let ticks = scale.ticks((low, high), percent, 100.0, |_| room);
        assert!(ticks.iter().all(|t| t.value >= low - 1e-9 * high.abs() && t.value <= high + 1e-9 * high.abs()));
        ticks.iter().map(|t| t.label.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn linear_ticks() {
        let l = |low, high, room| labels(Scale::Linear, low, high, false, room);
        assert_eq!(l(0.0, 1.0, 15.0), "0.0 0.2 0.4 0.6 0.8 1.0");
        assert_eq!(l(0.0, 1.0, 30.0), "0.0 0.5 1.0");
        assert_eq!(l(-1.3, 2.2, 15.0), "−1 0 1 2");
        assert_eq!(l(11.0, 14.8, 15.0), "11 12 13 14");
        assert_eq!(l(200.0, 1700.0, 15.0), "500 1000 1500");
        assert_eq!(l(0.0, 3e6, 20.0), "0 1e6 2e6 3e6");
        assert_eq!(l(0.0, 2e-5, 25.0), "0 1e−5 2e−5");
        assert_eq!(labels(Scale::Linear, 0.0, 0.25, true, 15.0), "0% 5% 10% 15% 20% 25%");
        // Far from zero the digits that differ are still there.
        assert_eq!(l(1e9, 1e9 + 4.0, 20.0), "1.000000000e9 1.000000001e9 1.000000002e9 1.000000003e9 1.000000004e9");
    }

    #[test]
    fn logarithmic_ticks() {
        let l = |low, high, room| labels(Scale::Log, low, high, false, room);
        assert_eq!(l(1e-3, 1e3, 15.0), "0.001 0.01 0.1 1 10 100 1000");
        assert_eq!(l(1e-12, 1e3, 15.0), "1e−12 1e−9 1e−6 0.001 1 1000");
        assert_eq!(l(1.0, 100.0, 14.0), "1 2 5 10 20 50 100");
        assert_eq!(l(3.0, 40.0, 10.0), "5 10 20");
        assert_eq!(l(2.1, 2.9, 15.0), "2.2 2.4 2.6 2.8");
        assert_eq!(labels(Scale::Log, 1e-4, 1.0, true, 15.0), "0.01% 0.1% 1% 10% 100%");
    }

    #[test]
    fn probit_ticks() {
        assert_eq!(labels(Scale::Probit, 0.001, 0.6, false, 12.0), "0.1% 0.5% 2% 5% 20% 40% 60%");
    }

    #[test]
    fn probits_are_those_of_the_normal_distribution() {
        // scipy.stats.norm.ppf
        let table = [
            (1e-6, -4.753424308822899),
            (0.001, -3.090232306167813),
            (0.02, -2.053748910631823),
            (0.025, -1.959963984540054),
            (0.3, -0.5244005127080409),
            (0.99, 2.3263478740408408),
        ];
        for (p, z) in table {
            assert!((probit(p) / z - 1.0).abs() < 2e-9, "{p}: {} {z}", probit(p));
        }
        assert_eq!((probit(0.5), probit(0.0), probit(1.0)), (0.0, f64::NEG_INFINITY, f64::INFINITY));
    }

    #[test]
    fn numbers_in_few_digits() {
        let table = [
            (0.0, "0"),
            (-0.5, "−0.5"),
            (1234.5, "1234"),
            (12.345, "12.3"),
            (0.00012, "0.00012"),
            (-2.5e-7, "−2.5e−7"),
            (1e6, "1e6"),
            (f64::NEG_INFINITY, "−∞"),
            (f64::NAN, "?"),
        ];
        table.iter().for_each(|(x, text)| assert_eq!(plain(*x), *text));
    }
}
