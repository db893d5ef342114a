use super::*;
use crate::data::{Batch, Column, Kind, Rows, UNSEEN};
use crate::family::Density;
use crate::family::testing::{self, close, names, observe, score};
use crate::file::{Archive, Stored, from_bytes, to_bytes};
use crate::numerics::Random;
use proptest::prelude::*;

const NEVER: f64 = f64::NEG_INFINITY;
const A: [&[u32]; 3] = [&[0, 0, 0, 1, 1, 1], &[0, 0, 1, 1, 1, 1], &[2, 2, 2, 0, 1, 1]];
const B: [&[u32]; 3] = [&[0, 0, 1, 1], &[0, 1, 0, 1], &[0, 1, 2, 0]];

fn fitted(family: &A1de) -> A1deDensity {
    let (a, b) = (observe(family, &A, None).unwrap(), observe(family, &B, None).unwrap());
    family.fit(&[&a, &b], names(&["a", "b", "c"], &[2, 2, 3])).unwrap()
}

/// The formulas of the first lines of this file, straight from rows, for two classes.
fn by_definition(rows: [&[Vec<u32>]; 2], alpha: f64, x: &[u32], class: usize) -> f64 {
    let width = x.len();
    let levels: Vec<f64> = (0..width)
        .map(|j| {
            let mut all: Vec<u32> = rows.concat().iter().map(|row| row[j]).filter(|&v| v != MISSING).collect();
            all.sort_unstable();
            all.dedup();
            all.len() as f64
        })
        .collect();
    let count =
        |class: usize, holds: &dyn Fn(&[u32]) -> bool| rows[class].iter().filter(|row| holds(row)).count() as f64;
    let alone = |j: usize| {
        let n = count(class, &|row| row[j] == x[j]);
        (n + alpha) / (count(class, &|row| row[j] != MISSING) + alpha * levels[j])
    };
    let all = rows.map(<[_]>::len).iter().sum::<usize>() as f64;
    let most = (0..width).map(|j| (0..2).map(|c| count(c, &|row| row[j] != MISSING)).sum()).fold(0.0, f64::max);
    assert!(most <= all);
    let weight = |j: usize| {
        let n: f64 = (0..2).map(|c| count(c, &|row| row[j] != MISSING)).sum();
        let mut sum = 0.0;
        for v in 0..8 {
            let of_level: f64 = (0..2).map(|c| count(c, &|row| row[j] == v)).sum();
            for c in 0..2 {
                let (cell, of_class) = (count(c, &|row| row[j] == v), count(c, &|row| row[j] != MISSING));
                sum += if cell > 0.0 { cell / n * (cell * n / (of_level * of_class)).ln() } else { 0.0 };
            }
        }
        sum + 1.0 / most
    };
    let known: Vec<usize> = (0..width).filter(|&j| x[j] != MISSING).collect();
    let star = |&p: &usize| {
        let child = |&j: &usize| {
            let both = count(class, &|row| row[j] == x[j] && row[p] == x[p]);
            (both + alpha * alone(j)) / (count(class, &|row| row[j] != MISSING && row[p] == x[p]) + alpha)
        };
        weight(p) * alone(p) * known.iter().filter(|&&j| j != p).map(child).product::<f64>()
    };
    known.iter().map(star).sum::<f64>() / known.iter().map(|&p| weight(p)).sum::<f64>()
}

#[test]
fn two_columns_by_hand() {
    let family = A1de::default();
    // Class k0: a = 0, 0, 0, 1 and b = 0, 0, 1, 1; class k1: a = 1 and b = 0.
    let one = observe(&family, &[&[0, 0, 0, 1], &[0, 0, 1, 1]], None).unwrap();
    let two = observe(&family, &[&[1], &[0]], None).unwrap();
    let density = family.fit(&[&one, &two], names(&["a", "b"], &[2, 2])).unwrap();
    // p(a = 0) = 4/6, p(b = 0) = 3/6; p(b = 0 | a = 0) = (2 + 1/2)/4, p(a = 0 | b = 0) = (2 + 2/3)/3.
    let information = |cells: [f64; 4], margins: [f64; 4]| -> f64 {
        cells.iter().zip(margins).map(|(n, m)| if *n > 0.0 { n / 5.0 * (n * 5.0 / m).ln() } else { 0.0 }).sum()
    };
    let a = information([3.0, 1.0, 0.0, 1.0], [12.0, 8.0, 3.0, 2.0]) + 0.2;
    let b = information([2.0, 2.0, 1.0, 0.0], [12.0, 8.0, 3.0, 2.0]) + 0.2;
    let weights: Vec<f64> = density.parents().map(|(_, weight)| weight).collect();
    close(&weights, &[a / (a + b), b / (a + b)], 1e-14);
    let expected = weights[0] * 4.0 / 6.0 * 2.5 / 4.0 + weights[1] * 3.0 / 6.0 * (2.0 + 2.0 / 3.0) / 3.0;
    close(&score(&density, &[&[0], &[0]]).unwrap()[0], &[expected.ln()], 1e-14);
    // With one cell there is one parent, and a level never seen is as good as no cell.
    for other in [MISSING, UNSEEN, 7] {
        close(&score(&density, &[&[0], &[other]]).unwrap()[0], &[(4.0f64 / 6.0).ln()], 1e-14);
    }
    assert_eq!(score(&density, &[&[UNSEEN], &[MISSING]]).unwrap().concat(), [0.0, 0.0]);
}

proptest! {
    #[test]
    fn it_is_the_average_of_its_definition(
        rows in testing::rows(4, 3),
        row in prop::collection::vec(prop::sample::select(vec![0u32, 1, 2, MISSING]), 4),
        cut in 0usize..40,
        alpha in prop::sample::select(vec![0.2, 1.0, 3.0]),
    ) {
        let rows: Vec<Vec<u32>> = rows.into_iter().map(|row| row.0).collect();
        let (one, two) = rows.split_at(cut.min(rows.len()));
        let family = A1de { pseudo_count: alpha, ..A1de::default() };
        let statistic = |rows: &[Vec<u32>]| {
            let columns: Vec<Vec<u32>> = (0..4).map(|j| rows.iter().map(|row| row[j]).collect()).collect();
            observe(&family, &columns.iter().map(Vec::as_slice).collect::<Vec<_>>(), None).unwrap()
        };
        let density = family.fit(&[&statistic(one), &statistic(two)], names(&["a", "b", "c", "d"], &[3; 4])).unwrap();
        // Levels that no row has are left out.
        let seen = |j: usize| rows.iter().any(|other| other[j] == row[j]);
        let known: Vec<u32> = (0..4).map(|j| if seen(j) { row[j] } else { MISSING }).collect();
        let cells: Vec<[u32; 1]> = row.iter().map(|&code| [code]).collect();
        let scores = score(&density, &cells.iter().map(|c| &c[..]).collect::<Vec<_>>()).unwrap();
        for class in 0..2 {
            let expected = match known.iter().all(|&code| code == MISSING) {
                true => 1.0,
                false => by_definition([one, two], alpha, &known, class),
            };
            prop_assert!((scores[class][0].exp() - expected).abs() <= 1e-12 * expected, "{} {expected}", scores[class][0].exp());
        }
    }

    #[test]
    fn laws(rows in testing::rows(3, 5), cut in 0usize..40, weight in 0.0..3.0f64) {
        testing::check_laws(&A1de::default(), &rows, cut, weight)?;
    }
}

#[test]
fn a_row_without_a_cell_is_scored_as_by_a_model_without_the_column() {
    let family = A1de::default();
    let density = fitted(&family);
    let (a, b) = (observe(&family, &[A[0], A[2]], None).unwrap(), observe(&family, &[B[0], B[2]], None).unwrap());
    let narrow = family.fit(&[&a, &b], names(&["a", "c"], &[2, 3])).unwrap();
    let with = score(&density, &[&[0, 1, 1], &[MISSING; 3], &[2, 0, MISSING]]).unwrap();
    let without = score(&narrow, &[&[0, 1, 1], &[2, 0, MISSING]]).unwrap();
    (0..2).for_each(|c| close(&with[c], &without[c], 1e-14));
}

#[test]
fn lines_add_up_to_the_evidence() {
    for pseudo_count in [0.0, 0.5, 1.0] {
        let density = fitted(&A1de { pseudo_count, ..A1de::default() });
        let rows: [&[u32]; 3] =
            [&[0, 1, MISSING, 0, 1, MISSING], &[0, 0, 1, MISSING, 0, MISSING], &[2, 0, 1, UNSEEN, 1, MISSING]];
        let scores = score(&density, &rows).unwrap();
        let batch = rows.iter().fold(Batch::new(6), |batch, codes| batch.codes(codes).unwrap());
        let column = |name: &str, levels: usize| Column {
            name: name.into(),
            kind: Kind::Category,
            levels: (0..levels).map(|v| v.to_string()).collect(),
        };
        let columns = [column("a", 2), column("b", 2), column("c", 3)];
        let parts = density.parts(&Cells::new(&batch, &[0, 1, 2], Rows::Range(0..6)), &columns).unwrap().unwrap();
        for (i, entries) in parts.iter().enumerate() {
            assert_eq!(entries.len(), 4);
            for c in 0..2 {
                let sum: f64 = entries.iter().map(|entry| entry.evidence[c]).sum();
                close(&[sum], &[scores[c][i]], 1e-14);
            }
        }
        assert_eq!(parts[3][2].value, "(unseen)");
        assert!(parts[3][1].missing && parts[5].iter().all(|entry| entry.evidence == [0.0, 0.0]));
        assert_eq!(pseudo_count == 0.0, scores.concat().contains(&NEVER));
    }
}

#[test]
fn columns_of_many_levels_depend_on_the_class_alone() {
    // 300 levels are too many for pairs: the other two columns average, the wide one multiplies.
    let wide: Vec<u32> = (0..300).collect();
    let codes = |step: u32| (0..300).map(|i| i / step % 2).collect::<Vec<u32>>();
    let family = A1de::default();
    let statistic = observe(&family, &[&codes(1), &wide, &codes(3)], None).unwrap();
    let other = observe(&family, &[&codes(2), &wide, &codes(3)], None).unwrap();
    let density = family.fit(&[&statistic, &other], names(&["a", "b", "c"], &[2, 300, 2])).unwrap();
    assert_eq!(density.parents().map(|(j, _)| j).collect::<Vec<_>>(), [0, 2]);
    let with = score(&density, &[&[1], &[17], &[0]]).unwrap();
    let without = score(&density, &[&[1], &[MISSING], &[0]]).unwrap();
    close(&[with[0][0] - without[0][0]], &[(2.0f64 / 600.0).ln()], 1e-13);
    // Too many levels in all: those with the most stay out.
    assert_eq!(choose_paired(&[200, 200, 3, 200, 200, 200, 200, 200, 200], 100), [0, 2]);
    assert_eq!(choose_paired(&[], 2), [0usize; 0]);
    // A single column is a categorical one.
    let one = family.fit(&[&observe(&family, &[&[0, 1, 1, 1]], None).unwrap()], names(&["a"], &[2])).unwrap();
    close(&score(&one, &[&[1, MISSING]]).unwrap()[0], &[(4.0f64 / 6.0).ln(), 0.0], 1e-15);
}

#[test]
fn many_classes_are_scored_as_few() {
    let family = A1de::default();
    let classes: Vec<PairCounts> = (0..7)
        .map(|k| observe(&family, &[&[0, 1, k % 2, 1], &[k % 3, 0, 1, 2], &[k % 2, k % 3, 0, 1]], None).unwrap())
        .collect();
    let density = family.fit(&classes.iter().collect::<Vec<_>>(), names(&["a", "b", "c"], &[2, 3, 3])).unwrap();
    let rows: [&[u32]; 3] = [&[0, 1, MISSING, 1], &[0, 2, 1, 1], &[2, 1, 0, MISSING]];
    let all = score(&density, &rows).unwrap();
    for group in 0..7 {
        let own = density.of_groups(group..group + 1);
        close(&score(&own, &rows).unwrap()[0], &all[group], 1e-15);
    }
    assert_eq!(score(&density.of_groups(2..5), &rows).unwrap(), all[2..5]);
}

#[test]
fn samples_have_the_frequencies_of_levels() {
    let density = fitted(&A1de::default());
    let mut expected = [vec![0.0; 2], vec![0.0; 2], vec![0.0; 3]];
    for a in 0..2u32 {
        for b in 0..2u32 {
            for c in 0..3u32 {
                let p = score(&density, &[&[a], &[b], &[c]]).unwrap()[0][0].exp();
                expected[0][a as usize] += p;
                expected[1][b as usize] += p;
                expected[2][c as usize] += p;
            }
        }
    }
    expected.iter().for_each(|p| assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-14));
    testing::check_samples(&density, 0, &expected);
}

#[test]
fn hostile_input_is_refused() {
    assert!(A1de { pseudo_count: f64::NAN, ..A1de::default() }.check().is_err());
    let family = A1de { pseudo_count: 0.0, unseen: Unseen::Error };
    let (nothing, some) =
        (observe(&family, &[&[MISSING], &[0]], None).unwrap(), observe(&family, &[&[1], &[0]], None).unwrap());
    let error = family.fit(&[&some, &nothing], names(&["a", "b"], &[2, 2])).unwrap_err().to_string();
    assert!(error.contains("class `k1` has no cell in column `a`"), "{error}");
    let error = score(&fitted(&family), &[&[0, MISSING], &[0, UNSEEN], &[0, 0]]).unwrap_err().to_string();
    assert!(error.contains("column `c1`, row 2"), "{error}");
    // No rows at all, and a column without a cell.
    let density = A1de::default().fit(&[&PairCounts::empty(2)], names(&["a", "b"], &[2, 0])).unwrap();
    assert_eq!(score(&density, &[&[1], &[MISSING]]).unwrap(), [[0.0]]);
    assert_eq!(density.sample(0, &mut Random::new(1)).unwrap().len(), 2);
}

#[test]
fn files_hold_it_and_damage_is_refused() {
    let density = fitted(&A1de::default());
    assert_eq!(from_bytes::<A1deDensity>(&to_bytes(&density).unwrap()).unwrap(), density);
    let part = density.of_groups(1..2);
    assert_eq!(from_bytes::<A1deDensity>(&to_bytes(&part).unwrap()).unwrap(), part);
    let family = A1de::default();
    let with = |paired: &[usize], seen: &[Vec<bool>], classes: usize| {
        let mut archive = Archive::new("state");
        density.store(&mut archive, "d").unwrap();
        archive.put_json("d.shape", &(&family, paired, seen, classes)).unwrap();
        A1deDensity::load(&archive, "d")
    };
    let seen = density.seen.clone();
    assert_eq!(with(&[0, 1, 2], &seen, 2).unwrap(), density);
    for paired in [&[0, 1][..], &[0, 2, 1], &[0, 1, 3], &[0, 1, 1]] {
        assert!(with(paired, &seen, 2).is_err(), "{paired:?}");
    }
    assert!(with(&[0, 1, 2], &seen[..2], 2).is_err() && with(&[0, 1, 2], &seen, 0).is_err());
    assert!(with(&[0, 1, 2], &seen, 3).is_err());
}
