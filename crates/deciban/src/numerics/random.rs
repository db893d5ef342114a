//! Random numbers that repeat: the same seed gives the same draws on every machine.
//!
//! ```text
//! xoshiro256++ (Blackman & Vigna 2021), its state filled by SplitMix64 from the seed
//! uniform: k/2⁵³, k = 1 … 2⁵³ − 1          normal: Φ⁻¹(uniform)
//! gamma(a): Marsaglia & Tsang 2000: d = a − ⅓, v = (1 + z/√(9d))³, accept d·v when
//!           ln u < ½z² + d(1 − v + ln v);   gamma(a) = gamma(a + 1)·u^(1/a) for a < 1
//! ```

use super::special::normal_quantile;

/// The golden ratio in 64 bits: the step of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A generator of random numbers.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        // Four consecutive outputs of SplitMix64 are never all 0, the one state to avoid.
        Random { state: [1, 2, 3, 4].map(|i| mix(seed.wrapping_add(STEP.wrapping_mul(i)))) }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number between 0 and 1, never either of them.
    pub fn uniform(&mut self) -> f64 {
        loop {
            // Adding ½ to the 53 bits instead would round up to 1 at the upper end.
            let k = self.bits() >> 11;
            if k > 0 {
                return k as f64 / (1u64 << 53) as f64;
            }
        }
    }

    /// A standard normal number. One uniform draw each, so that streams stay in step.
    pub fn normal(&mut self) -> f64 {
        normal_quantile(self.uniform())
    }

    /// A gamma-distributed number with this shape and scale 1; NaN unless the shape is positive
    /// and finite.
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if !(shape > 0.0 && shape.is_finite()) {
            return f64::NAN;
        }
        if shape < 1.0 {
            let boost = self.uniform().ln() / shape;
            return self.gamma(shape + 1.0) * boost.exp();
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let z = self.normal();
            let v = (1.0 + c * z).powi(3);
            if v > 0.0 && self.uniform().ln() < 0.5 * z * z + d * (1.0 - v + v.ln()) {
                return d * v;
            }
        }
    }

    /// A number of 0 … n − 1, each as likely as the other; 0 for n = 0.
    ///
    /// Lemire, *Fast Random Integer Generation in an Interval* (2019): the high half of
    /// bits × n, with the few low halves rejected that would favour some numbers.
    pub fn below(&mut self, n: u64) -> u64 {
        let threshold = n.wrapping_neg().checked_rem(n).unwrap_or(0);
        loop {
            let product = self.bits() as u128 * n as u128;
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }

    /// The numbers 0 … n − 1 in a random order (Fisher & Yates).
    pub fn permutation(&mut self, n: u32, out: &mut Vec<u32>) {
        out.clear();
        out.extend(0..n);
        for i in (1..out.len()).rev() {
            out.swap(i, self.below(i as u64 + 1) as usize);
        }
    }

    /// The index of one of `weights`, drawn in proportion to them. They need not sum to 1;
    /// those that are not positive are never drawn. 0 if none is positive.
    pub fn pick(&mut self, weights: &[f64]) -> usize {
        let positive = || weights.iter().enumerate().filter(|(_, w)| **w > 0.0);
        let mut rest = self.uniform() * positive().map(|(_, w)| w).sum::<f64>();
        let mut last = 0;
        for (i, w) in positive() {
            last = i;
            if rest < *w {
                break;
            }
            rest -= w;
        }
        last
    }
}

/// 64 bits that depend on all bits of both: draws something for item `x` without a generator
/// that has to visit the items in order.
pub fn hash(seed: u64, x: u64) -> u64 {
    // The seed is mixed first: seeds that are neighbours must not give shifted sequences.
    mix(mix(seed).wrapping_add(STEP.wrapping_mul(x.wrapping_add(1))))
}

/// SplitMix64's output function (Stafford's variant 13 of the MurmurHash3 finaliser).
fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 200_000;

    /// Mean, variance, skewness and kurtosis of `N` draws.
    fn moments(mut draw: impl FnMut() -> f64) -> [f64; 4] {
        let x: Vec<f64> = (0..N).map(|_| draw()).collect();
        let mean = x.iter().sum::<f64>() / N as f64;
        let central = |k: i32| x.iter().map(|x| (x - mean).powi(k)).sum::<f64>() / N as f64;
        let variance = central(2);
        [mean, variance, central(3) / variance.powf(1.5), central(4) / (variance * variance)]
    }

    fn close(found: [f64; 4], expected: [f64; 4], tolerance: [f64; 4]) {
        for k in 0..4 {
            assert!((found[k] - expected[k]).abs() < tolerance[k], "moment {}: {found:?}, not {expected:?}", k + 1);
        }
    }

    #[test]
    fn bits_are_those_of_the_reference_implementation() {
        // prng.di.unimi.it/xoshiro256plusplus.c from the state 1, 2, 3, 4.
        let mut random = Random { state: [1, 2, 3, 4] };
        let expected: [u64; 10] = [
            41943041,
            58720359,
            3588806011781223,
            3591011842654386,
            9228616714210784205,
            9973669472204895162,
            14011001112246962877,
            12406186145184390807,
            15849039046786891736,
            10450023813501588000,
        ];
        assert_eq!(expected, std::array::from_fn(|_| random.bits()));
        // Seeded by SplitMix64, as the authors advise and rand_xoshiro's seed_from_u64(0) does.
        let mut random = Random::new(0);
        let expected: [u64; 4] = [5987356902031041503, 7051070477665621255, 6633766593972829180, 211316841551650330];
        assert_eq!(expected, std::array::from_fn(|_| random.bits()));
    }

    #[test]
    fn hash_of_seed_0_is_splitmix64() {
        let expected = [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f];
        assert_eq!([0, 1, 2].map(|x| hash(0, x)), expected);
    }

    #[test]
    fn hash_draws_folds_evenly_and_apart_from_the_seed() {
        let mut counts = [[0i64; 5]; 5];
        for x in 0..N as u64 {
            counts[(hash(7, x) % 5) as usize][(hash(8, x) % 5) as usize] += 1;
        }
        // Standard deviation of a cell √(N·0.04·0.96) = 88.
        assert!(counts.iter().flatten().all(|n| (n - N as i64 / 25).abs() < 350), "{counts:?}");
    }

    // Tolerances below are about 4.5 standard errors of 200 000 draws.

    #[test]
    fn uniform_moments() {
        let mut random = Random::new(1);
        close(moments(|| random.uniform()), [0.5, 1.0 / 12.0, 0.0, 1.8], [3e-3, 8e-4, 0.012, 0.01]);
    }

    #[test]
    fn uniform_is_open() {
        // A generator stuck near the ends: 0 is skipped, the largest is below 1.
        let mut random = Random { state: [0, 0, 0, 1] };
        assert!((0..10).all(|_| random.uniform() > 0.0));
        assert!(((1u64 << 53) - 1) as f64 / ((1u64 << 53) as f64) < 1.0);
    }

    #[test]
    fn normal_moments() {
        let mut random = Random::new(2);
        close(moments(|| random.normal()), [0.0, 1.0, 0.0, 3.0], [0.01, 0.0143, 0.025, 0.05]);
    }

    #[test]
    fn gamma_moments() {
        // Mean a, variance a, skewness 2/√a, kurtosis 3 + 6/a.
        for shape in [0.3, 1.0, 2.5, 40.0] {
            let mut random = Random::new(3);
            let found = moments(|| random.gamma(shape));
            let expected = [shape, shape, 2.0 / f64::sqrt(shape), 3.0 + 6.0 / shape];
            let mean_error = 4.5 * (shape / N as f64).sqrt();
            let variance_error = 4.5 * shape * ((expected[3] - 1.0) / N as f64).sqrt();
            close(
                found,
                expected,
                [mean_error, variance_error, 0.03 * expected[3] / 3.0, 0.1 * expected[3] * expected[3] / 9.0],
            );
        }
        let mut random = Random::new(3);
        assert!([0.0, -1.0, f64::NAN, f64::INFINITY].iter().all(|&a| random.gamma(a).is_nan()));
        assert!(random.gamma(1e-300) >= 0.0);
    }

    #[test]
    fn below_is_even() {
        let mut random = Random::new(4);
        let mut counts = [0i64; 7];
        for _ in 0..N {
            counts[random.below(7) as usize] += 1;
        }
        assert!(counts.iter().all(|n| (n - N as i64 / 7).abs() < 700), "{counts:?}");
        // Without rejection the numbers below 2⁶²  would come twice as often for n = 3·2⁶².
        let n = 3 << 62;
        let low = (0..N).filter(|_| random.below(n) < 1 << 62).count() as f64 / N as f64;
        assert!((low - 1.0 / 3.0).abs() < 0.005, "{low}");
        assert_eq!((random.below(0), random.below(1)), (0, 0));
    }

    #[test]
    fn permutations_are_even() {
        let (mut random, mut order, mut counts) = (Random::new(6), Vec::new(), [0i64; 24]);
        for _ in 0..N {
            random.permutation(4, &mut order);
            let rank = (0..4).fold(0, |r, i| r * (4 - i) + order[i + 1..].iter().filter(|x| **x < order[i]).count());
            counts[rank] += 1;
        }
        // Standard deviation of a count √(N/24·23/24) = 89.
        assert!(counts.iter().all(|n| (n - N as i64 / 24).abs() < 400), "{counts:?}");
        random.permutation(0, &mut order);
        assert!(order.is_empty());
    }

    #[test]
    fn pick_follows_the_weights() {
        let mut random = Random::new(5);
        let mut counts = [0usize; 5];
        for _ in 0..N {
            counts[random.pick(&[0.0, 1.0, 0.0, 3.0, 0.0])] += 1;
        }
        assert_eq!((counts[0], counts[2], counts[4]), (0, 0, 0));
        assert!((counts[1] as f64 / N as f64 - 0.25).abs() < 0.0045, "{counts:?}");
        assert_eq!((random.pick(&[]), random.pick(&[0.0, 0.0])), (0, 0));
    }
}
