use super::*;
use crate::data::{UNSEEN, Value};
use crate::family::Density;
use crate::family::testing::{self, close, names, observe, score};
use crate::file::{Archive, Stored, from_bytes, to_bytes};
use crate::numerics::Random;
use proptest::prelude::*;

const NEVER: f64 = f64::NEG_INFINITY;

/// Fur (2 levels) and size (3): class k0 has (0,0) twice, (1,2) once, and a row without a size.
fn fitted(pseudo_count: f64) -> TableDensity {
    let family = Table { pseudo_count, ..Table::default() };
    let a = observe(&family, &[&[0, 0, 1, 1], &[0, 0, 2, MISSING]], None).unwrap();
    assert_eq!(a.cells(), [(vec![0, 0], 2.0), (vec![1, 2], 1.0)]);
    let b = observe(&family, &[&[1], &[1]], None).unwrap();
    family.fit(&[&a, &b], names(&["fur", "size"], &[2, 3])).unwrap()
}

#[test]
fn cells_by_hand() {
    let scores = score(&fitted(0.0), &[&[0, 1, 1, UNSEEN], &[0, 2, 1, 0]]).unwrap();
    close(&scores[0], &[(2.0f64 / 3.0).ln(), (1.0f64 / 3.0).ln(), NEVER, NEVER], 1e-15);
    close(&scores[1], &[NEVER, NEVER, 0.0, NEVER], 1e-15);
    let scores = score(&fitted(0.5), &[&[0, 1, 1, 0], &[0, 2, 1, 7]]).unwrap();
    close(&scores[0], &[2.5f64 / 6.0, 1.5 / 6.0, 0.5 / 6.0, 0.5 / 6.0].map(f64::ln), 1e-15);
    close(&scores[1], &[0.5f64 / 4.0, 0.5 / 4.0, 1.5 / 4.0, 0.5 / 4.0].map(f64::ln), 1e-15);
}

#[test]
fn missing_cells_are_summed_out() {
    let density = fitted(0.5);
    let m = MISSING;
    let scores = score(&density, &[&[0, 1, m, m, UNSEEN], &[m, m, 2, m, m]]).unwrap();
    close(&scores[0], &[3.5f64 / 6.0, 2.5 / 6.0, 2.0 / 6.0, 1.0, 1.5 / 6.0].map(f64::ln), 1e-15);
    close(&scores[1], &[1.5f64 / 4.0, 2.5 / 4.0, 1.0 / 4.0, 1.0, 1.5 / 4.0].map(f64::ln), 1e-15);
    close(&score(&fitted(0.0), &[&[m], &[1]]).unwrap().concat(), &[NEVER, 0.0], 0.0);
}

#[test]
fn probabilities_sum_to_one() {
    let density = fitted(0.3);
    for class in 0..2 {
        let sum: f64 = (0..6).map(|cell| density.probability(class, &density.codes(cell))).sum();
        assert!((sum - 1.0).abs() < 1e-15, "{sum}");
    }
}

#[test]
fn large_tables_are_refused_by_name() {
    let family = Table::default();
    let error = observe(&family, &[&[1000], &[1000]], None).unwrap_err().to_string();
    assert!(error.contains("`c0`, `c1`") && error.contains("1002001 cells"), "{error}");
    let a = observe(&family, &[&[999], &[999]], None).unwrap();
    assert!(family.fit(&[&a, &a], names(&["x", "y"], &[1000, 1000])).is_ok());
    let error = family.fit(&[&a], names(&["x", "y"], &[1000, 1001])).unwrap_err().to_string();
    assert!(error.contains("`x`, `y`") && error.contains("1001000 cells"), "{error}");
    // Seventy columns of two levels each.
    let columns = vec![&[0u32, 1][..]; 70];
    assert!(observe(&family, &columns, None).unwrap_err().to_string().contains("and 62 more"));
    let strict = Table { unseen: Unseen::Error, ..family };
    let density = strict.fit(&[&observe(&strict, &[&[0]], None).unwrap()], names(&["x"], &[1])).unwrap();
    assert!(score(&density, &[&[0, 4]]).unwrap_err().to_string().contains("column `c0`, row 2"));
    let ml = Table { pseudo_count: 0.0, ..strict };
    let nothing = observe(&ml, &[&[MISSING]], None).unwrap();
    assert!(ml.fit(&[&nothing], names(&["x"], &[1])).unwrap_err().to_string().contains("class `k0` has no row"));
}

#[test]
fn one_level_columns_need_no_bits() {
    let bits = bits(&[1, 5, 0, 2]);
    assert_eq!(bits, [0, 3, 0, 1]);
    assert_eq!(unpack(&bits, pack(&bits, &[0, 4, 0, 1])), [0, 4, 0, 1]);
    let wide = [32, 32];
    assert_eq!(unpack(&wide, pack(&wide, &[u32::MAX - 5, 7])), [u32::MAX - 5, 7]);
}

#[test]
fn samples_have_the_cells_frequencies() {
    let density = fitted(0.5);
    let size = [3.0 / 6.0, 1.0 / 6.0, 2.0 / 6.0];
    testing::check_samples(&density, 0, &[vec![3.5 / 6.0, 2.5 / 6.0], size.to_vec()]);
    let mut random = Random::new(7);
    let pair = [Value::Level(0), Value::Level(0)];
    let share = (0..40_000).filter(|_| density.sample(0, &mut random).unwrap() == pair).count() as f64 / 40_000.0;
    assert!((share - 2.5 / 6.0).abs() < 0.011, "{share}");
}

#[test]
fn files_hold_it_and_damage_is_refused() {
    let family = Table::default();
    let statistic = observe(&family, &[&[0, 3, 3], &[1, 0, MISSING]], None).unwrap();
    assert_eq!(from_bytes::<JointCounts>(&to_bytes(&statistic).unwrap()).unwrap(), statistic);
    let density = fitted(0.5);
    assert_eq!(from_bytes::<TableDensity>(&to_bytes(&density).unwrap()).unwrap(), density);
    let mut archive = Archive::new("state");
    statistic.store(&mut archive, "s").unwrap();
    for bad in [4.0, 0.5, -1.0] {
        archive.put("s.codes", &[2, 2], &[0.0, 1.0, bad, 0.0]).unwrap();
        assert!(JointCounts::load(&archive, "s").is_err(), "{bad}");
    }
    let mut archive = Archive::new("state");
    density.store(&mut archive, "d").unwrap();
    for bad in [[6.0, 1.0, 2.0], [0.0, 0.0, 1.0], [0.0, 0.5, 1.0]] {
        archive.put("d.cells", &[3], &bad).unwrap();
        assert!(TableDensity::load(&archive, "d").is_err(), "{bad:?}");
    }
}

proptest! {
    #[test]
    fn laws(rows in testing::rows(3, 5), cut in 0usize..40, weight in 0.0..3.0f64) {
        testing::check_laws(&Table::default(), &rows, cut, weight)?;
    }
}
