use super::*;
use crate::data::{Batch, Sparse, Value};
use crate::family::Density;
use crate::family::testing::{close, names, observe_batch, score_batch};
use crate::file::{Archive, Stored};
use crate::file::{from_bytes, to_bytes};
use crate::numerics::Random;
use crate::statistic::{Retract, Statistic};
use proptest::prelude::*;

const ML: Bernoulli = Bernoulli { pseudo_count: 0.0, threshold: 0.0, min_count: 1.0, vocabulary: None };

fn numbers(family: &Bernoulli, rows: &[[f64; 2]], weights: Option<&[f64]>) -> Presence {
    let flat = rows.concat();
    let mut batch = Batch::new(rows.len()).row_major(&flat[..], 2).unwrap();
    if let Some(weights) = weights {
        batch = batch.weights(weights).unwrap();
    }
    observe_batch(family, &batch).unwrap()
}

/// Texts as lists of their words.
fn sparse(texts: &[Vec<u32>]) -> (Vec<usize>, Vec<u32>, Vec<f64>) {
    let ends = texts.iter().scan(0, |end, text| {
        *end += text.len();
        Some(*end)
    });
    let words = texts.concat();
    ([0].into_iter().chain(ends).collect(), words.clone(), vec![2.0; words.len()])
}

fn words(family: &Bernoulli, texts: &[Vec<u32>], weights: Option<&[f64]>) -> Presence {
    let (offsets, indices, counts) = sparse(texts);
    let mut batch =
        Batch::new(texts.len()).sparse(Sparse::new(&offsets[..], &indices[..], &counts[..]).unwrap()).unwrap();
    if let Some(weights) = weights {
        batch = batch.weights(weights).unwrap();
    }
    observe_batch(family, &batch).unwrap()
}

fn score_words(density: &BernoulliDensity, texts: &[Vec<u32>]) -> Vec<Vec<f64>> {
    let (offsets, indices, counts) = sparse(texts);
    let batch = Batch::new(texts.len()).sparse(Sparse::new(&offsets[..], &indices[..], &counts[..]).unwrap()).unwrap();
    score_batch(density, &batch).unwrap()
}

#[test]
fn numbers_by_hand_with_missing_cells() {
    // Column 0: present 2 of 3; column 1: present 1 of 2, one missing.
    let a = numbers(&ML, &[[1.0, 0.0], [3.0, f64::NAN], [0.0, 0.5]], None);
    assert_eq!(a, Presence::Numbers { present: vec![2.0, 1.0], absent: vec![1.0, 1.0] });
    let b = numbers(&ML, &[[0.0, 1.0]], None);
    let laplace = Bernoulli::default();
    let density = laplace.fit(&[&a, &b], names(&["x", "y"], &[0, 0])).unwrap();
    let x = [2.0, 0.0, f64::NAN, 1.0, f64::INFINITY, f64::NAN];
    let scores = score_batch(&density, &Batch::new(3).row_major(&x[..], 2).unwrap()).unwrap();
    let p: [f64; 2] = [3.0 / 5.0, 2.0 / 4.0];
    close(&scores[0], &[p[0].ln() + (1.0 - p[1]).ln(), p[1].ln(), p[0].ln()], 1e-15);
    close(&scores[1], &[(1.0f64 / 9.0).ln(), (2.0f64 / 3.0).ln(), (1.0f64 / 3.0).ln()], 1e-15);
    let density = ML.fit(&[&a, &b], names(&["x", "y"], &[0, 0])).unwrap();
    let scores = score_batch(&density, &Batch::new(3).row_major(&x[..], 2).unwrap()).unwrap();
    close(&scores[1], &[f64::NEG_INFINITY, 0.0, f64::NEG_INFINITY], 0.0);
    let high = Bernoulli { threshold: 8.0, ..ML };
    assert_eq!(numbers(&high, &[[8.0, 9.0]], None).weights(0), (0.0, 1.0));
}

#[test]
fn what_is_below_0_is_neither_a_flag_nor_a_count() {
    let rows = Batch::new(2).row_major(&[1.0, 0.0, 2.0, -3.0][..], 2).unwrap();
    let told = observe_batch(&ML, &rows).unwrap_err().to_string();
    assert!(told.contains("row 2: -3 is below 0; bernoulli takes flags and counts"), "{told}");
    assert!(observe_batch(&Bernoulli { threshold: -1.0, ..ML }, &rows).is_ok(), "another threshold takes any number");
    let texts = |count: f64| {
        let (counts, words) = ([2.0, count], [0u32, 1]);
        observe_batch(
            &ML,
            &Batch::new(1).sparse(Sparse::new(&[0usize, 2][..], &words[..], &counts[..]).unwrap()).unwrap(),
        )
    };
    for count in [-0.13, f64::NEG_INFINITY, f64::NAN] {
        let told = texts(count).unwrap_err().to_string();
        assert!(told.contains("is not a count"), "{told}");
    }
    assert!(texts(0.0).is_ok() && texts(0.5).is_ok() && texts(-0.0).is_ok());
}

#[test]
fn words_by_hand() {
    let family = Bernoulli::default();
    // 3 texts: word 0 in 2, word 1 in none, word 2 in 3; the other class has one text of word 1.
    let a = words(&family, &[vec![0, 2], vec![2], vec![0, 2]], None);
    let b = words(&family, &[vec![1]], None);
    let density = family.fit(&[&a, &b], names(&["text"], &[3])).unwrap();
    let p = |c: usize| [0, 1, 2].map(|j| density.probability(c, j));
    close(&p(0), &[3.0 / 5.0, 1.0 / 5.0, 4.0 / 5.0], 1e-15);
    close(&p(1), &[1.0 / 3.0, 2.0 / 3.0, 1.0 / 3.0], 1e-15);
    // Word 7 is beyond the vocabulary.
    let scores = score_words(&density, &[vec![0, 7], vec![], vec![1, 2]]);
    close(&scores[0], &[0.6f64 * 0.8 * 0.2, 0.4 * 0.8 * 0.2, 0.4 * 0.2 * 0.8].map(f64::ln), 1e-15);
    close(
        &scores[1],
        &[1.0f64 / 3.0 / 3.0 * 2.0 / 3.0, 2.0 / 3.0 / 3.0 * 2.0 / 3.0, 2.0 / 3.0 * 2.0 / 3.0 / 3.0].map(f64::ln),
        1e-15,
    );
}

#[test]
fn certain_words_give_minus_infinity_and_never_nan() {
    let a = words(&ML, &[vec![0, 1], vec![0]], None); // p = 1, ½, 0
    let b = words(&ML, &[vec![2], vec![0, 2]], None); // p = ½, 0, 1
    let density = ML.fit(&[&a, &b], names(&["text"], &[3])).unwrap();
    let scores = score_words(&density, &[vec![0, 1], vec![0], vec![2], vec![], vec![0, 2], vec![0, 1, 2]]);
    let (half, never) = (0.5f64.ln(), f64::NEG_INFINITY);
    close(&scores[0], &[half, half, never, never, never, never], 1e-15);
    close(&scores[1], &[never, never, half, never, half, never], 1e-15);
}

#[test]
fn any_number_of_classes_scores_alike() {
    let family = Bernoulli::default();
    let class = |c: usize| words(&family, &vec![vec![c as u32 % 3, 3]; c + 1], None);
    let all: Vec<Presence> = (0..6).map(class).collect();
    let texts = [vec![0, 3], vec![2], vec![]];
    let of = |k: usize| {
        let density = family.fit(&all[..k].iter().collect::<Vec<_>>(), names(&["text"], &[4])).unwrap();
        score_words(&density, &texts)
    };
    let six = of(6);
    for k in 1..6 {
        assert_eq!(of(k), six[..k]);
    }
    for (c, scores) in six.iter().enumerate() {
        let n = c as f64 + 1.0;
        let p = |word: u32| if word == 3 || word == c as u32 % 3 { (n + 1.0) / (n + 2.0) } else { 1.0 / (n + 2.0) };
        let direct = |text: &Vec<u32>| {
            (0..4).map(|j| if text.contains(&j) { p(j).ln() } else { (1.0 - p(j)).ln() }).sum::<f64>()
        };
        close(scores, &texts.iter().map(direct).collect::<Vec<_>>(), 1e-14);
    }
}

#[test]
fn hostile_input_is_refused() {
    assert!(Bernoulli { threshold: f64::NAN, ..ML }.check().is_err());
    assert!(Bernoulli { pseudo_count: -1.0, ..ML }.check().is_err());
    let (number, word) = (numbers(&ML, &[[1.0, f64::NAN]], None), words(&ML, &[vec![0]], None));
    let error = ML.fit(&[&number, &number], names(&["x", "y"], &[0, 0])).unwrap_err().to_string();
    assert!(error.contains("class `k0` has no cell in column `y`"), "{error}");
    let (mut a, one) = (word.clone(), Presence::Numbers { present: vec![1.0], absent: vec![0.0] });
    assert!(a.merge(&one).is_err() && a.remove(&one).is_err() && a.merge(&number).is_err());
    assert_eq!(a, word);
    let indices = [u32::MAX - 7];
    let texts = Batch::new(1).sparse(Sparse::new(&[0usize, 1][..], &indices[..], &[1.0][..]).unwrap()).unwrap();
    assert!(observe_batch(&ML, &texts).is_err());
    assert!(observe_batch(&Bernoulli { threshold: -1.0, ..ML }, &texts).is_err());
}

#[test]
fn words_left_out_say_nothing() {
    // Rows with words 0, 1, 2: 3, 1 and 2 of five.
    let texts = [vec![vec![0, 1], vec![0]], vec![vec![0, 2], vec![2], vec![]]];
    let fit = |family: &Bernoulli, texts: &[Vec<Vec<u32>>; 2], known: usize| {
        let classes = [0, 1].map(|c| words(family, &texts[c], None));
        family.fit(&classes.each_ref(), names(&["text"], &[known])).unwrap()
    };
    let without = [vec![vec![0], vec![0]], vec![vec![0, 1], vec![1], vec![]]];
    let plain = fit(&Bernoulli::default(), &without, 2);
    let expected = score_words(&plain, &[vec![0], vec![1]]);
    for family in [
        Bernoulli { min_count: 2.0, ..Bernoulli::default() },
        Bernoulli { vocabulary: Some(2), ..Bernoulli::default() },
    ] {
        let density = fit(&family, &texts, 3);
        assert_eq!(score_words(&density, &[vec![0, 1], vec![2]]), expected);
        assert_eq!(density.parameters(&[crate::data::Column::number("text")])[0].rows.len(), 2);
        assert_eq!(from_bytes::<BernoulliDensity>(&to_bytes(&density).unwrap()).unwrap(), density);
    }
    assert!(Bernoulli { vocabulary: Some(0), ..ML }.check().is_err());
}

#[test]
fn explicit_zeros_are_absent() {
    let texts =
        Batch::new(2).sparse(Sparse::new(&[0usize, 2, 3][..], &[0u32, 1, 0][..], &[0u32, 1, 2][..]).unwrap()).unwrap();
    assert_eq!(observe_batch(&ML, &texts).unwrap(), Presence::Words { weight: 2.0, present: vec![1.0, 1.0] });
}

#[test]
fn samples_are_fitted_back() {
    let family = Bernoulli { threshold: 8.0, ..Bernoulli::default() };
    let rows: Vec<[f64; 2]> =
        (0..30).map(|i| [if i < 20 { 9.0 } else { 0.0 }, if i < 3 { 16.0 } else { 8.0 }]).collect();
    let density = family.fit(&[&numbers(&family, &rows, None)], names(&["x", "y"], &[0, 0])).unwrap();
    let mut random = Random::new(3);
    let draw = |random: &mut Random| match density.sample(0, random).unwrap()[..] {
        [Value::Number(x), Value::Number(y)] => [x, y],
        _ => panic!("numbers"),
    };
    let drawn: Vec<[f64; 2]> = (0..40_000).map(|_| draw(&mut random)).collect();
    let again = family.fit(&[&numbers(&family, &drawn, None)], names(&["x", "y"], &[0, 0])).unwrap();
    for (j, p) in [21.0 / 32.0, 4.0 / 32.0].into_iter().enumerate() {
        assert!((again.probability(0, j) - p).abs() < 0.011, "{j}");
    }
    let text = Bernoulli::default();
    let density = text.fit(&[&words(&text, &[vec![1]], None)], names(&["text"], &[2])).unwrap();
    let has = |random: &mut Random| match &density.sample(0, random).unwrap()[..] {
        [Value::Counts(counts)] => counts.contains(&(1, 1.0)),
        _ => panic!("counts"),
    };
    let share = (0..40_000).filter(|_| has(&mut random)).count() as f64 / 40_000.0;
    assert!((share - 2.0 / 3.0).abs() < 0.011, "{share}");
}

#[test]
fn files_hold_it_and_damage_is_refused() {
    let a = words(&ML, &[vec![0, 1], vec![0]], None);
    for statistic in [a.clone(), numbers(&ML, &[[1.0, 0.0]], None), Presence::Nothing(4)] {
        assert_eq!(from_bytes::<Presence>(&to_bytes(&statistic).unwrap()).unwrap(), statistic);
    }
    let density = ML.fit(&[&a, &words(&ML, &[vec![2]], None)], names(&["text"], &[3])).unwrap();
    assert_eq!(from_bytes::<BernoulliDensity>(&to_bytes(&density).unwrap()).unwrap(), density);
    let mut archive = Archive::new("state");
    density.store(&mut archive, "d").unwrap();
    for bad in [0.5, f64::NAN, -3.0] {
        archive.put("d.log_absent", &[3, 2], &[bad; 6]).unwrap();
        assert!(BernoulliDensity::load(&archive, "d").is_err(), "{bad}");
    }
    let mut archive = Archive::new("state");
    a.store(&mut archive, "s").unwrap();
    archive.put("s.weight", &[1], &[f64::NAN]).unwrap();
    assert!(Presence::load(&archive, "s").is_err());
    archive.put_json("s.shape", &("letters", 2)).unwrap();
    assert!(Presence::load(&archive, "s").is_err());
}

fn near(a: &Presence, b: &Presence) -> Result<(), TestCaseError> {
    for j in 0..8 {
        let ((n, m), (o, p)) = (a.weights(j), b.weights(j));
        prop_assert!((n - o).abs() < 1e-9 && (m - p).abs() < 1e-9, "{:?} {:?}", a, b);
    }
    Ok(())
}

fn check_laws(of: impl Fn(usize, usize, f64) -> Presence, rows: usize, cut: usize) -> Result<(), TestCaseError> {
    let cut = cut.min(rows);
    let (whole, a, b) = (of(0, rows, 1.0), of(0, cut, 1.0), of(cut, rows, 1.0));
    let merged = |a: &Presence, b: &Presence| {
        let mut sum = a.clone();
        sum.merge(b).unwrap();
        sum
    };
    near(&merged(&a, &b), &whole)?;
    near(&merged(&b, &a), &whole)?;
    prop_assert_eq!(&merged(&whole, &Presence::Nothing(whole.width())), &whole);
    prop_assert_eq!(&merged(&Presence::Nothing(whole.width()), &whole), &whole);
    let mut back = merged(&a, &b);
    back.remove(&b).unwrap();
    near(&back, &a)?;
    near(&of(0, rows, 2.0), &merged(&whole, &whole))
}

proptest! {
    #[test]
    fn laws_of_numbers(rows in prop::collection::vec((any::<[u8; 2]>(), 0.0..4.0f64), 1..40), cut in 0usize..40) {
        let cells: Vec<[f64; 2]> =
            rows.iter().map(|row| row.0.map(|x| if x > 240 { f64::NAN } else { f64::from(x / 3) })).collect();
        let of = |from: usize, to: usize, scale: f64| {
            let weights: Vec<f64> = rows[from..to].iter().map(|row| row.1 * scale).collect();
            numbers(&ML, &cells[from..to], Some(&weights))
        };
        check_laws(of, rows.len(), cut)?;
    }

    #[test]
    fn laws_of_words(rows in prop::collection::vec((prop::collection::btree_set(0u32..8, 0..5), 0.0..4.0f64), 1..40), cut in 0usize..40) {
        let texts: Vec<Vec<u32>> = rows.iter().map(|row| row.0.iter().copied().collect()).collect();
        let of = |from: usize, to: usize, scale: f64| {
            let weights: Vec<f64> = rows[from..to].iter().map(|row| row.1 * scale).collect();
            words(&ML, &texts[from..to], Some(&weights))
        };
        check_laws(of, rows.len(), cut)?;
        let weights: Vec<f64> = rows.iter().map(|row| row.1).collect();
        let turned: Vec<Vec<u32>> = texts.iter().map(|text| text.iter().map(|w| 7 - w).collect()).collect();
        let mut renumbered = of(0, rows.len(), 1.0);
        ML.relevel(&mut renumbered, &[(0..8).map(|w| 7 - w).collect()]).unwrap();
        near(&renumbered, &words(&ML, &turned, Some(&weights)))?;
    }
}
