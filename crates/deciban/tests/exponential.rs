//! Poisson, exponential, log-normal, gamma, beta and negative binomial: reference values (`reference/exponential.py`
//! made them), the laws of their statistics, recovery of their parameters, and hostile input.

use deciban::data::{Batch, Cells, Column, Rows, Tile, Value};
use deciban::family::beta::Beta;
use deciban::family::exponential::Exponential;
use deciban::family::exponential_family::{ExponentialFamily, ExponentialStatistic, Independent, Member};
use deciban::family::gamma::Gamma;
use deciban::family::log_normal::LogNormal;
use deciban::family::negative_binomial::NegativeBinomial;
use deciban::family::poisson::Poisson;
use deciban::family::{AnyFamily, AnyStatistic, Density, Family, Names};
use deciban::file::{from_bytes, to_bytes};
use deciban::numerics::Random;
use deciban::statistic::{Retract, Statistic};
use proptest::prelude::*;

const POISSON: Poisson = Poisson { pseudo_count: 0.0 };

fn names(columns: usize) -> Vec<String> {
    (0..columns).map(|j| format!("c{j}")).collect()
}

fn observe<F: Family>(family: &F, x: &[f64], weights: Option<&[f64]>) -> deciban::Result<F::Statistic> {
    let mut statistic = family.empty(1);
    let mut batch = Batch::new(x.len()).column(x)?.first_row(100);
    if let Some(weights) = weights {
        batch = batch.weights(weights)?;
    }
    family.observe(&mut statistic, &Cells::new(&batch, &[0], Rows::Range(0..x.len())), &names(1))?;
    Ok(statistic)
}

fn fit<F: Family>(family: &F, classes: &[F::Statistic]) -> deciban::Result<F::Density> {
    let (columns, class_names) = (names(1), ["x", "y"].map(String::from));
    family.fit(
        &classes.iter().collect::<Vec<_>>(),
        Names { columns: &columns, levels: &[0], classes: &class_names[..classes.len()] },
    )
}

/// log p(x | class) of each row of one column.
fn score(density: &impl Density, x: &[f64]) -> deciban::Result<Tile> {
    let mut out = Tile::default();
    out.resize(x.len(), density.classes());
    out.data_mut().fill(0.0);
    let batch = Batch::new(x.len()).column(x)?.first_row(100);
    density.add_log_density(&Cells::new(&batch, &[0], Rows::Range(0..x.len())), &names(1), &mut out)?;
    Ok(out)
}

#[test]
fn fits_and_densities_agree_with_references() {
    let cases: serde_json::Value = serde_json::from_str(include_str!("reference/exponential.json")).unwrap();
    let numbers = |v: &serde_json::Value| v.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect::<Vec<_>>();
    let cases = cases.as_array().unwrap();
    assert_eq!(cases.len(), 17);
    for case in cases {
        let name = case["family"].as_str().unwrap();
        let family = match name {
            "poisson" => AnyFamily::Poisson(POISSON),
            "exponential" => AnyFamily::Exponential(Exponential {}),
            "log-normal" => AnyFamily::LogNormal(LogNormal {}),
            "gamma" => AnyFamily::Gamma(Gamma {}),
            "beta" => AnyFamily::Beta(Beta {}),
            "negative-binomial" => AnyFamily::NegativeBinomial(NegativeBinomial { rate: POISSON }),
            other => panic!("there is no family named {other}"),
        };
        let density = fit(&family, &[observe(&family, &numbers(&case["x"]), None).unwrap()]).unwrap();
        let found = density.parameters(&[Column::number("c0")]);
        let expected = numbers(&case["parameters"]);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            let value = found.rows[0].1[0];
            assert!((value / expected - 1.0).abs() < 1e-10, "{name}, {}: {value}, not {expected}", found.what);
        }
        let found = score(&density, &numbers(&case["points"])).unwrap();
        for (found, expected) in found.column(0).iter().zip(numbers(&case["log_density"])) {
            // SciPy's own rounding, x ln λ − λ − ln x!, at 50 000 events.
            assert!((found - expected).abs() < 2e-10 * expected.abs().max(1.0), "{name}: {found}, not {expected}");
        }
    }
}

/// The numbers that a family describes.
#[derive(Clone, Copy)]
enum Domain {
    Counts,
    Positive,
    Shares,
}

/// Draws in the domain of each family, wildly scaled.
fn draws(seed: u64, n: usize, domain: Domain) -> Vec<f64> {
    let mut random = Random::new(seed);
    let scale = 10f64.powf(12.0 * random.uniform() - 6.0);
    let x = (0..n).map(|_| random.gamma(0.7) * scale);
    match domain {
        Domain::Counts => x.map(|x| x.ceil().min(1e15)).collect(),
        Domain::Positive => x.map(|x| x.max(1e-300)).collect(),
        Domain::Shares => x.map(|x| (x / (1.0 + x)).clamp(1e-300, 1.0 - f64::EPSILON)).collect(),
    }
}

fn close<E: ExponentialFamily>(
    a: &ExponentialStatistic<E>,
    b: &ExponentialStatistic<E>,
    tolerance: f64,
) -> Result<(), TestCaseError> {
    for (what, x, y) in [
        ("weight", a.weight(0), b.weight(0)),
        ("sum", a.sum(0), b.sum(0)),
        ("divergence", a.divergence(0), b.divergence(0)),
    ] {
        // Of equal values the divergence is the square of the mean's rounding, in units of a logarithm's.
        let rounding = if tolerance > 0.0 { 1e-27 * a.weight(0) } else { 0.0 };
        prop_assert!((x - y).abs() <= tolerance * x.abs().max(y.abs()) + rounding, "{what}: {x} and {y}");
    }
    Ok(())
}

fn laws<E: ExponentialFamily>(family: &E, seed: u64, sizes: [usize; 3], domain: Domain) -> Result<(), TestCaseError> {
    let x = draws(seed, sizes.iter().sum(), domain);
    let mut random = Random::new(seed ^ 1);
    let w: Vec<f64> = x.iter().map(|_| 0.1 + random.uniform()).collect();
    let cut = [0, sizes[0], sizes[0] + sizes[1], x.len()];
    let part = |i: usize| observe(family, &x[cut[i]..cut[i + 1]], Some(&w[cut[i]..cut[i + 1]])).unwrap();
    let sum = |parts: [&ExponentialStatistic<E>; 2]| {
        let mut sum = parts[0].clone();
        sum.merge(parts[1]).map(|()| sum).unwrap()
    };
    let (a, b, c) = (part(0), part(1), part(2));
    let whole = observe(family, &x, Some(&w)).unwrap();
    let ab = sum([&a, &b]);
    close(&whole, &sum([&ab, &c]), 1e-12)?;
    close(&whole, &sum([&a, &sum([&c, &b])]), 1e-12)?;
    close(&sum([&family.empty(1), &a]), &a, 0.0)?;
    close(&sum([&a, &family.empty(1)]), &a, 0.0)?;
    // What is stored is loaded.
    let loaded: ExponentialStatistic<E> = from_bytes(&to_bytes(&whole).unwrap()).unwrap();
    close(&loaded, &whole, 0.0)?;
    // Remove undoes merge, or says that it cannot.
    let mut back = ab.clone();
    match back.remove(&b) {
        Ok(()) => close(&back, &a, 1e-9)?,
        Err(error) => {
            prop_assert!(matches!(error, deciban::Error::Cancellation(_)) && a.divergence(0) < 1e-4 * ab.divergence(0));
            close(&back, &ab, 0.0)?;
        }
    }
    back = ab.clone();
    back.remove(&ab).unwrap();
    close(&back, &family.empty(1), 0.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn merging_is_a_monoid(seed: u64, sizes in [1usize..3000, 1usize..300, 0usize..40]) {
        laws(&POISSON, seed, sizes, Domain::Counts)?;
        laws(&Exponential {}, seed, sizes, Domain::Positive)?;
        laws(&LogNormal {}, seed, sizes, Domain::Positive)?;
        laws(&Gamma {}, seed, sizes, Domain::Positive)?;
        laws(&Beta {}, seed, sizes, Domain::Shares)?;
    }

    #[test]
    fn a_weight_is_a_repetition(seed: u64, n in 1usize..200) {
        let x = draws(seed, n, Domain::Counts);
        let twice: Vec<f64> = x.iter().flat_map(|&x| [x, x]).collect();
        let doubled = vec![2.0; n];
        close(&observe(&POISSON, &twice, None).unwrap(), &observe(&POISSON, &x, Some(&doubled)).unwrap(), 0.0)?;
        let (a, b) = (observe(&Gamma {}, &twice, None).unwrap(), observe(&Gamma {}, &x, Some(&doubled)).unwrap());
        close(&a, &b, 1e-12)?;
    }
}

#[test]
fn a_spread_far_from_zero_keeps_its_digits() {
    // 10⁹ ± 1: s = ln m − mean ln x = 5e-19 (1 + 1e-18/2 …), of logarithms of 20.7.
    let x = [1e9 - 1.0, 1e9 + 1.0];
    let sums = observe(&Gamma {}, &x.repeat(2000), None).unwrap();
    assert!((sums.divergence(0) / 4000.0 / 5e-19 - 1.0).abs() < 1e-12, "{}", sums.divergence(0));
    let density = fit(&Gamma {}, &[sums]).unwrap();
    // k = 1/(2s) for large k; the standard deviation m/√k is 1.
    assert!((density.member(0, 0).parameters()[0] / 1e18 - 1.0).abs() < 1e-9);
}

#[test]
fn removing_counts_is_exact() {
    let (few, zeros) =
        (observe(&POISSON, &[3.0, 1e15, 7.0], None).unwrap(), observe(&POISSON, &[0.0; 5], None).unwrap());
    let mut all = few.clone();
    all.merge(&zeros).unwrap();
    all.remove(&few).unwrap();
    assert_eq!((all.weight(0), all.sum(0)), (5.0, 0.0));
    let is_named =
        |removed: deciban::Result<()>| matches!(removed, Err(deciban::Error::ColumnCancellation { column: 0, .. }));
    assert!(is_named(zeros.clone().remove(&few)));
    assert!(is_named(all.remove(&observe(&POISSON, &[1.0; 9], None).unwrap())));
}

/// Draws from a member, fits, and compares: each parameter within `errors`.
fn recover<E: ExponentialFamily>(family: E, parameters: &[f64], errors: &[f64]) {
    let member = E::Member::new(parameters).unwrap();
    let mut random = Random::new(11);
    let x: Vec<f64> = (0..100_000).map(|_| member.sample(&mut random)).collect();
    let density = fit(&family, &[observe(&family, &x, None).unwrap()]).unwrap();
    let found = density.member(0, 0).parameters();
    for ((found, expected), error) in found.iter().zip(parameters).zip(errors) {
        assert!((found - expected).abs() < *error, "{found}, not {expected} ± {error}");
    }
    let Value::Number(drawn) = density.sample(0, &mut random).unwrap()[0] else { panic!("a number") };
    assert!(E::Member::contains(drawn));
    assert_eq!(
        from_bytes::<Independent<E::Member>>(&to_bytes(&density).unwrap()).unwrap().member(0, 0).parameters(),
        found
    );
}

#[test]
fn samples_recover_the_parameters() {
    // 4.5 standard errors of 100 000 draws: √(λ/n), μ/√n, σ/√n and σ/√2n, and for the gamma
    // √(k/(n(kψ′−1))) and θ√(ψ′/(n(kψ′−1))).
    recover(POISSON, &[3.5], &[4.5 * (3.5f64 / 1e5).sqrt()]);
    recover(Exponential {}, &[40.0], &[4.5 * 40.0 / 1e5f64.sqrt()]);
    recover(LogNormal {}, &[2.0, 0.6], &[4.5 * 0.6 / 1e5f64.sqrt(), 4.5 * 0.6 / 2e5f64.sqrt()]);
    for (k, theta) in [(0.4, 3.0), (6.0, 0.1)] {
        let psi = deciban::numerics::trigamma(k);
        let unit = 4.5 / (1e5 * (k * psi - 1.0)).sqrt();
        recover(Gamma {}, &[k, theta], &[unit * k.sqrt(), unit * theta * psi.sqrt()]);
    }
    // The inverse of the information [ψ′(a) − ψ′(n), −ψ′(n); −ψ′(n), ψ′(b) − ψ′(n)].
    for (a, b) in [(0.4, 3.0), (20.0, 7.0)] {
        let [of_a, of_b, of_n] = [a, b, a + b].map(deciban::numerics::trigamma);
        let determinant = of_a * of_b - of_n * (of_a + of_b);
        let error = |other: f64| 4.5 * ((other - of_n) / determinant / 1e5).sqrt();
        recover(Beta {}, &[a, b], &[error(of_b), error(of_a)]);
    }
}

#[test]
fn two_rates_cross_where_their_difference_says() {
    // Equal evidence at x = (λ₁ − λ₀)/ln(λ₁/λ₀); between two exponentials at ln(μ₁/μ₀)/(1/μ₀ − 1/μ₁).
    let classes = [observe(&POISSON, &[2.0], None).unwrap(), observe(&POISSON, &[6.0], None).unwrap()];
    let out = score(&fit(&POISSON, &classes).unwrap(), &[0.0, 5.0]).unwrap();
    assert!((out.column(1)[0] - out.column(0)[0] + 4.0).abs() < 1e-14);
    assert!((out.column(1)[1] - out.column(0)[1] - (5.0 * 3f64.ln() - 4.0)).abs() < 1e-14);
    let x = 3f64.ln() / (0.5 - 1.0 / 6.0);
    let classes = [observe(&Exponential {}, &[2.0], None).unwrap(), observe(&Exponential {}, &[6.0], None).unwrap()];
    let out = score(&fit(&Exponential {}, &classes).unwrap(), &[x]).unwrap();
    assert!((out.column(1)[0] - out.column(0)[0]).abs() < 1e-15);
}

#[test]
fn missing_cells_are_left_out() {
    let some = observe(&Gamma {}, &[1.0, f64::NAN, 2.0, 5.0, f64::NAN], None).unwrap();
    let all = observe(&Gamma {}, &[1.0, 2.0, 5.0], None).unwrap();
    assert_eq!((some.weight(0), some.sum(0), some.divergence(0)), (all.weight(0), all.sum(0), all.divergence(0)));
    let out = score(&fit(&Gamma {}, &[all]).unwrap(), &[f64::NAN, 2.0]).unwrap();
    assert_eq!(out.column(0)[0], 0.0);
    assert!(out.column(0)[1] < 0.0);
    let none = observe(&Gamma {}, &[f64::NAN], None).unwrap();
    let error = fit(&Gamma {}, &[none]).unwrap_err().to_string();
    assert!(error.starts_with("column `c0` has no values within class `x`"), "{error}");
}

#[test]
fn what_lies_outside_is_named() {
    fn refused<E: ExponentialFamily>(family: &E, good: f64, bad: f64, words: &str) {
        let error = observe(family, &[good, bad], None).unwrap_err().to_string();
        assert!(error.contains("column `c0`, row 102:") && error.contains(words), "{error}");
        let density = fit(family, &[observe(family, &[good, 2.0 * good], None).unwrap()]).unwrap();
        // At scoring no class has seen the like: it says nothing.
        match bad.is_infinite() {
            true => assert_eq!(score(&density, &[good, bad]).unwrap_err().to_string(), error),
            false => {
                let out = score(&density, &[good, bad]).unwrap();
                assert!(out.column(0)[0] != 0.0 && out.column(0)[1] == 0.0, "{:?}", out.data());
            }
        }
    }
    refused(&POISSON, 2.0, -1.0, "-1 is not one of the counts 0, 1, 2, ... of this family; give family=c0=gaussian");
    refused(&POISSON, 2.0, 1.5, "1.5 is not");
    refused(&Exponential {}, 2.0, -1e-300, "numbers of at least 0");
    refused(&LogNormal {}, 2.0, 0.0, "0 is not one of the numbers above 0");
    refused(&Gamma {}, 2.0, 0.0, "family=c0=histogram");
    refused(&Gamma {}, 2.0, f64::INFINITY, "infinite");
    refused(&Beta {}, 0.3, 1.0, "1 is not one of the numbers between 0 and 1");
    assert_eq!(observe(&Exponential {}, &[0.0], None).unwrap().weight(0), 1.0);
}

#[test]
fn constant_columns_name_class_and_column() {
    let varied = |x: &[f64]| observe(&AnyFamily::Gamma(Gamma {}), x, None).unwrap();
    let error = |classes: &[AnyStatistic]| fit(&AnyFamily::Gamma(Gamma {}), classes).unwrap_err().to_string();
    let found = error(&[varied(&[1.0, 2.0]), varied(&[0.1; 3000])]);
    assert!(found.starts_with("column `c0` does not vary within class `y`"), "{found}");
    for constant in [1e-300, 0.1, 1e300] {
        let error = fit(&LogNormal {}, &[observe(&LogNormal {}, &[constant; 3000], None).unwrap()]).unwrap_err();
        assert!(error.to_string().contains("class `x`"), "{error}");
    }
    let error = fit(&Exponential {}, &[observe(&Exponential {}, &[0.0; 4], None).unwrap()]).unwrap_err().to_string();
    assert!(error.starts_with("column `c0` is 0 throughout within class `x`"), "{error}");
}

#[test]
fn extreme_numbers_stay_numbers() {
    let hostile = [5e-324, 1e-310, 1e-9, 1.0, 1e150, 1e300];
    let sums = observe(&Gamma {}, &hostile, None).unwrap();
    let out = score(&fit(&Gamma {}, &[sums]).unwrap(), &hostile).unwrap();
    assert!(out.data().iter().all(|x| !x.is_nan()), "{:?}", out.data());
    let sums = observe(&LogNormal {}, &hostile, None).unwrap();
    let out = score(&fit(&LogNormal {}, &[sums]).unwrap(), &hostile).unwrap();
    assert!(out.data().iter().all(|x| x.is_finite()), "{:?}", out.data());
    assert!(observe(&Exponential {}, &[f64::MAX; 3], None).is_err());
    let hostile = [5e-324, 1e-310, 1e-9, 0.5, 1.0 - f64::EPSILON];
    let out = score(&fit(&Beta {}, &[observe(&Beta {}, &hostile, None).unwrap()]).unwrap(), &hostile).unwrap();
    assert!(out.data().iter().all(|x| x.is_finite()), "{:?}", out.data());
    let dispersed = NegativeBinomial::default();
    let hostile = [0.0, 1.0, 4e15, 1e200, 1e300];
    let out = score(&fit(&dispersed, &[observe(&dispersed, &hostile, None).unwrap()]).unwrap(), &hostile).unwrap();
    assert!(out.data().iter().all(|x| !x.is_nan()), "{:?}", out.data());
}

#[test]
fn damaged_parameters_are_refused() {
    let good = fit(&Gamma {}, &[observe(&Gamma {}, &[1.0, 3.0], None).unwrap()]).unwrap();
    let bytes = to_bytes(&good).unwrap();
    assert!(from_bytes::<Independent<<Gamma as ExponentialFamily>::Member>>(&bytes).is_ok());
    assert!(from_bytes::<Independent<<Poisson as ExponentialFamily>::Member>>(&bytes).is_err());
    assert!(<Gamma as ExponentialFamily>::Member::new(&[-1.0, 2.0]).is_none());
    assert!(<Poisson as ExponentialFamily>::Member::new(&[f64::NAN]).is_none());
}
