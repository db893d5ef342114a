//! [`Axis`]: a label, a scale and a range.

use crate::scale::{Scale, Tick};

/// One of a figure's two axes. Ends that are not given are those of the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub(crate) label: String,
    pub(crate) scale: Scale,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) names: Option<Vec<String>>,
    percent: bool,
    pub(crate) reversed: bool,
}

impl Axis {
    fn new(label: &str, scale: Scale) -> Self {
        Axis { label: label.into(), scale, low: None, high: None, names: None, percent: false, reversed: false }
    }

    /// Values as they are.
    pub fn linear(label: &str) -> Self {
        Axis::new(label, Scale::Linear)
    }

    /// Decimal logarithms; what is not above zero lies beyond the frame.
    pub fn log(label: &str) -> Self {
        Axis::new(label, Scale::Log)
    }

    /// Probabilities by their normal quantiles, as in DET plots.
    pub fn probit(label: &str) -> Self {
        Axis::new(label, Scale::Probit)
    }

    /// Names at 0, 1, 2, ...
    pub fn names(label: &str, names: &[String]) -> Self {
        let mut axis = Axis::new(label, Scale::Linear).from(-0.5).to(names.len().max(1) as f64 - 0.5);
        axis.names = Some(names.to_vec());
        axis
    }

    /// Labels in percent.
    pub fn percent(mut self) -> Self {
        self.percent = true;
        self
    }

    /// Begins at a value.
    pub fn from(mut self, low: f64) -> Self {
        self.low = Some(low).filter(|x| self.scale.shows(*x));
        self
    }

    /// Ends at a value.
    pub fn to(mut self, high: f64) -> Self {
        self.high = Some(high).filter(|x| self.scale.shows(*x));
        self
    }

    /// Runs from right to left or from top to bottom.
    pub fn reversed(mut self) -> Self {
        self.reversed = true;
        self
    }

    /// The ends: those given, or those of the values with a little room on each side.
    pub(crate) fn ends(&self, values: impl Iterator<Item = f64>) -> (f64, f64) {
        let shown = values.filter(|x| self.scale.shows(*x));
        let (mut low, mut high) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
        if let Some(given) = self.low {
            (low, high) = (given, high.max(given));
        }
        if let Some(given) = self.high {
            (low, high) = (low.min(given), given);
        }
        let (mut from, mut to) = match (low <= high, self.scale) {
            (false, Scale::Linear) => (0.0, 1.0),
            (false, Scale::Log) => (0.1, 10.0),
            (false, Scale::Probit) => (0.01, 0.6),
            (true, Scale::Log) => (low.clamp(1e-300, 1e300), high.clamp(1e-300, 1e300)),
            (true, Scale::Probit) => (low.clamp(1e-9, 1.0 - 1e-9), high.clamp(1e-9, 1.0 - 1e-9)),
            // A difference of two must not overflow.
            (true, _) => (low.clamp(f64::MIN / 4.0, f64::MAX / 4.0), high.clamp(f64::MIN / 4.0, f64::MAX / 4.0)),
        };
        let place = |x: f64| self.scale.place(x);
        let width = place(to) - place(from);
        let least = 1e-12 * place(to).abs().max(place(from).abs()).max(1e-290);
        let room = match width > least {
            true => 0.04 * width,
            false if self.scale == Scale::Linear && to.abs() < 1e-300 => 0.5,
            false if self.scale == Scale::Linear => (0.5 * to.abs()).min(0.5).max(1e-6 * to.abs()),
            false => 0.3,
        };
        let moved = |x: f64, by: f64| match self.scale {
            Scale::Linear => x + by,
            Scale::Log => 10f64.powf((x.log10() + by).clamp(-307.0, 307.0)),
            // Near the middle a probit of 0.04 is 0.016; at the ends the odds move.
            Scale::Probit => 1.0 / (1.0 + (1.0 / x - 1.0) * (-1.7 * by).exp()),
        };
        if self.low.is_none() || width <= least {
            from = moved(from, -room);
        }
        if self.high.is_none() || width <= least {
            to = moved(to, room);
        }
        (from, to)
    }

    pub(crate) fn ticks(&self, ends: (f64, f64), length: f64, needed: impl Fn(&[Tick]) -> f64) -> Vec<Tick> {
        match &self.names {
            Some(names) => names
                .iter()
                .enumerate()
                .map(|(i, name)| Tick { value: i as f64, label: name.clone() })
                .filter(|t| t.value >= ends.0 && t.value <= ends.1)
                .collect(),
            None => self.scale.ticks(ends, self.percent, length, needed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_usable_whatever_the_values() {
        let hostile: [&[f64]; 8] = [
            &[],
            &[f64::NAN],
            &[f64::INFINITY, f64::NEG_INFINITY],
            &[3.0],
            &[0.0, 0.0],
            &[f64::MAX, f64::MIN],
            &[1e300, 1e300],
            &[5e-324, 1e-320],
        ];
        for axis in
            [Axis::linear(""), Axis::log(""), Axis::probit(""), Axis::linear("").from(2.0), Axis::log("").to(1e-3)]
        {
            for values in hostile {
                let (a, b) = axis.ends(values.iter().copied());
                let (from, to) = (axis.scale.place(a), axis.scale.place(b));
                assert!(from.is_finite() && to.is_finite() && to > from, "{axis:?} {values:?}: {a} {b}");
                assert!(axis.ticks((a, b), 300.0, |_| 30.0).len() < 64);
            }
        }
    }

    #[test]
    fn given_ends_are_kept() {
        assert_eq!(Axis::linear("").from(0.0).to(1.0).ends([0.3, 7.0].into_iter()), (0.0, 1.0));
        assert_eq!(Axis::linear("").ends([0.0, 100.0].into_iter()), (-4.0, 104.0));
        // An end that the scale cannot show is not taken.
        assert_eq!(Axis::log("").from(0.0).low, None);
    }
}
