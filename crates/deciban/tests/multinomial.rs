//! The multinomial family: by hand, and its laws. `naive_bayes.rs` compares it with scikit-learn.

use deciban::data::{Batch, Cells, Column, Kind, MISSING, Rows, Schema, Sparse, Tile, UNSEEN, Value};
use deciban::engine::{Memory, Run};
use deciban::family::multinomial::{Multinomial, MultinomialDensity, Unseen, WordCounts};
use deciban::family::{AnyFamily, Density, Family, Names};
use deciban::file::{from_bytes, to_bytes};
use deciban::learn::{Block, Classifier, Generative, Learner, Summarise};
use deciban::numerics::Random;
use deciban::statistic::{Retract, Statistic};
use proptest::prelude::*;

/// Texts as sparse counts.
#[derive(Clone, Debug, Default)]
struct Texts {
    offsets: Vec<usize>,
    indices: Vec<u32>,
    counts: Vec<f64>,
}

impl Texts {
    fn new(rows: &[Vec<(u32, f64)>]) -> Self {
        let mut texts = Texts { offsets: vec![0], ..Texts::default() };
        for row in rows {
            texts.indices.extend(row.iter().map(|word| word.0));
            texts.counts.extend(row.iter().map(|word| word.1));
            texts.offsets.push(texts.indices.len());
        }
        texts
    }

    fn batch(&self) -> Batch<'_> {
        let counts = Sparse::new(&self.offsets[..], &self.indices[..], &self.counts[..]).unwrap();
        Batch::new(self.offsets.len() - 1).sparse(counts).unwrap()
    }
}

/// The statistic of some rows.
fn observe(family: &Multinomial, batch: &Batch<'_>, rows: Rows<'_>) -> deciban::Result<WordCounts> {
    let columns: Vec<usize> = (0..batch.width()).collect();
    let mut statistic = family.empty(batch.width());
    family.observe(&mut statistic, &Cells::new(batch, &columns, rows), &names(batch.width()))?;
    Ok(statistic)
}

/// a, b, c, ...
fn names(width: usize) -> Vec<String> {
    (0..width).map(|j| if j < 26 { char::from(b'a' + j as u8).to_string() } else { format!("c{j}") }).collect()
}

fn fit(
    family: &Multinomial,
    classes: &[WordCounts],
    width: usize,
    levels: usize,
) -> deciban::Result<MultinomialDensity> {
    let (columns, levels, names) = (names(width), vec![levels; width], names(classes.len()));
    family.fit(&classes.iter().collect::<Vec<_>>(), Names { columns: &columns, levels: &levels, classes: &names })
}

/// The evidence of each row.
fn score(density: &MultinomialDensity, batch: &Batch<'_>) -> deciban::Result<Vec<Vec<f64>>> {
    let columns: Vec<usize> = (0..batch.width()).collect();
    let mut out = Tile::default();
    out.resize(batch.rows(), density.classes());
    out.data_mut().fill(0.0);
    let cells = Cells::new(batch, &columns, Rows::Range(0..batch.rows()));
    density.add_log_density(&cells, &names(batch.width()), &mut out)?;
    Ok((0..batch.rows()).map(|i| (0..density.classes()).map(|c| out.column(c)[i]).collect()).collect())
}

fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!(a == b || (a - b).abs() <= tolerance * b.abs().max(1.0), "{found:?}, not {expected:?}");
    }
}

/// Two classes over the words a, b, c: counts 6 2 0 in two rows, 1 1 2 in one.
fn small(family: &Multinomial) -> MultinomialDensity {
    let texts = Texts::new(&[vec![(0, 6.0)], vec![(1, 2.0)], vec![(2, 2.0), (0, 1.0), (1, 1.0)]]);
    let batch = texts.batch();
    let classes = [0..2, 2..3].map(|rows| observe(family, &batch, Rows::Range(rows)).unwrap());
    fit(family, &classes, 1, 3).unwrap()
}

#[test]
fn by_hand() {
    // θ₀ = (7, 3, 1)/11, θ₁ = (2, 2, 3)/7.
    let density = small(&Multinomial::default());
    let texts = Texts::new(&[vec![(0, 2.0), (2, 1.0)], vec![], vec![(1, 1.0)]]);
    let found = score(&density, &texts.batch()).unwrap();
    let expected = |theta: [f64; 3]| (2.0 * theta[0].ln() + theta[2].ln(), theta[1].ln());
    let (a, b) = (expected([7.0 / 11.0, 3.0 / 11.0, 1.0 / 11.0]), expected([2.0 / 7.0, 2.0 / 7.0, 3.0 / 7.0]));
    close(&found.concat(), &[a.0, b.0, 0.0, 0.0, a.1, b.1], 1e-15);
    let text = Column { name: "t".into(), kind: Kind::Text, levels: names(3) };
    let parameters = &density.parameters(&[text])[0];
    assert_eq!((parameters.what, parameters.rows[1].0.as_str()), ("probability", "b"));
    close(&parameters.rows[1].1, &[3.0 / 11.0, 2.0 / 7.0], 1e-15);
}

#[test]
fn the_order_of_tokens_and_their_counts_carry_the_same_evidence() {
    let density = small(&Multinomial { pseudo_count: 0.5, ..Multinomial::default() });
    let x = [3.0, 1.0, 2.0];
    let found = score(&density, &Texts::new(&[vec![(0, x[0]), (1, x[1]), (2, x[2])]]).batch()).unwrap();
    let theta = |c: usize| [0, 1, 2].map(|j| density.weights(j)[c].exp());
    // Token by token: the product over a, a, a, b, c, c.
    let tokens = |c: usize| [0, 0, 0, 1, 2, 2].iter().map(|j: &usize| theta(c)[*j].ln()).sum::<f64>();
    // Occurrences: 6!/(3! 1! 2!) Π θ^x.
    let occurrences = |c: usize| (60.0 * (0..3).map(|j| theta(c)[j].powf(x[j])).product::<f64>()).ln();
    let llr = found[0][0] - found[0][1];
    close(&[llr, llr], &[tokens(0) - tokens(1), occurrences(0) - occurrences(1)], 1e-13);
    close(&[occurrences(0) - tokens(0)], &[60f64.ln()], 1e-13);
    // The tokens one by one, in any order, are the same text as their counts, also to learn from.
    let [one_by_one, counted] = [
        Texts::new(&[[2, 0, 1, 0, 2, 0].map(|j| (j, 1.0)).to_vec()]),
        Texts::new(&[vec![(0, x[0]), (1, x[1]), (2, x[2])]]),
    ];
    close(&score(&density, &one_by_one.batch()).unwrap()[0], &found[0], 1e-13);
    let learnt = |texts: &Texts| observe(&Multinomial::default(), &texts.batch(), Rows::Range(0..1)).unwrap();
    let counts = |texts: &Texts| learnt(texts).counts().collect::<Vec<f64>>();
    assert_eq!(counts(&one_by_one), counts(&counted));
}

#[test]
fn a_dictionary_may_have_words_that_no_row_has() {
    // Four words, of which d is in no row: θ₀ = (7, 3, 1, 1)/12, θ₁ = (2, 2, 3, 1)/8.
    let classes = |family: &Multinomial| {
        let texts = Texts::new(&[vec![(0, 6.0)], vec![(1, 2.0)], vec![(2, 2.0), (0, 1.0), (1, 1.0)]]);
        let batch = texts.batch();
        [0..2, 2..3].map(|rows| observe(family, &batch, Rows::Range(rows)).unwrap())
    };
    let given = |pseudo_count: f64, min_count: f64| {
        let family = Multinomial { min_count, pseudo_count, ..Multinomial::default() };
        fit(&family, &classes(&family), 1, 4).unwrap()
    };
    let with_d = Texts::new(&[vec![(0, 1.0), (3, 1.0)]]);
    let found = score(&given(1.0, 0.0), &with_d.batch()).unwrap();
    close(&found[0], &[(7.0 / 12.0 / 12.0f64).ln(), (2.0 / 8.0 / 8.0f64).ln()], 1e-15);
    // By maximum likelihood it is impossible in every class.
    assert_eq!(score(&given(0.0, 0.0), &with_d.batch()).unwrap()[0], [f64::NEG_INFINITY; 2]);
    // Unless told, the vocabulary is what rows have shown, and d says nothing.
    close(&score(&given(1.0, 1.0), &with_d.batch()).unwrap()[0], &[(7.0 / 11.0f64).ln(), (2.0 / 7.0f64).ln()], 1e-15);
}

#[test]
fn without_a_pseudo_count_only_absent_words_are_impossible() {
    let density = small(&Multinomial { pseudo_count: 0.0, ..Multinomial::default() });
    let texts = Texts::new(&[vec![(2, 1.0)], vec![(2, 0.0), (0, 1.0)], vec![(0, 1.0), (2, 3.0), (1, 1.0)]]);
    let found = score(&density, &texts.batch()).unwrap();
    assert_eq!((found[0][0], found[2][0]), (f64::NEG_INFINITY, f64::NEG_INFINITY));
    close(&[found[0][1], found[1][0], found[1][1]], &[0.5f64.ln(), 0.75f64.ln(), 0.25f64.ln()], 1e-15);
    // The same from columns of counts.
    let dense = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [1.0, 1.0, 3.0]].concat();
    let batch = Batch::new(3).row_major(&dense[..], 3).unwrap();
    let classes = [[6.0, 2.0, 0.0], [1.0, 1.0, 2.0]].map(|row| {
        let batch = Batch::new(1).row_major(&row[..], 3).unwrap();
        observe(&Multinomial::default(), &batch, Rows::Range(0..1)).unwrap()
    });
    let by_columns = fit(&Multinomial { pseudo_count: 0.0, ..Multinomial::default() }, &classes, 3, 0).unwrap();
    close(&score(&by_columns, &batch).unwrap().concat(), &found.concat(), 1e-15);
}

#[test]
fn unknown_and_rare_words() {
    let unknown =
        Texts::new(&[vec![(UNSEEN, 2.0), (1, 1.0)], vec![(7, 2.0), (1, 1.0)], vec![(MISSING, 2.0), (1, 1.0)]]);
    let skipped = score(&small(&Multinomial::default()), &unknown.batch()).unwrap();
    for row in &skipped {
        close(row, &[(3.0 / 11.0f64).ln(), (2.0 / 7.0f64).ln()], 1e-15);
    }
    let shared =
        score(&small(&Multinomial { unseen: Unseen::Share, ..Multinomial::default() }), &unknown.batch()).unwrap();
    for row in &shared {
        close(row, &[(3.0 / 11.0f64).ln() - 2.0 * 11f64.ln(), (2.0 / 7.0f64).ln() - 2.0 * 7f64.ln()], 1e-14);
    }
    // a and b occur in two rows, c in one: without c, θ₀ = (7, 3)/10.
    let density = small(&Multinomial { min_count: 2.0, ..Multinomial::default() });
    let found = score(&density, &Texts::new(&[vec![(1, 1.0), (2, 5.0)]]).batch()).unwrap();
    close(&found[0], &[0.3f64.ln(), 0.5f64.ln()], 1e-15);
    assert_eq!(density.parameters(&[])[0].rows.len(), 2);
    // What only the schema knows is not in the vocabulary, however the rows are weighted.
    let texts = Texts::new(&[vec![(0, 6.0)], vec![(1, 2.0)]]);
    let batch = texts.batch().weights(&[0.5, 0.5]).unwrap();
    let classes = [0..1, 1..2].map(|row| observe(&Multinomial::default(), &batch, Rows::Range(row)).unwrap());
    let density = fit(&Multinomial::default(), &classes, 1, 9).unwrap();
    close(&[density.weights(0)[0], density.weights(8)[0]], &[0.8f64.ln(), 0.0], 1e-15);
    let mut random = Random::new(1);
    for _ in 0..100 {
        let Value::Counts(words) = &density.sample(0, &mut random).unwrap()[0] else { panic!("counts") };
        assert!(words.iter().all(|word| word.0 < 2));
    }
}

#[test]
fn normalised_rows_weigh_alike() {
    let family = Multinomial { normalise: true, pseudo_count: 0.0, ..Multinomial::default() };
    // Shares: class 0 has (1, 0, 0) and (0, 1, 0), class 1 (¼, ¼, ½).
    let density = small(&family);
    close(&[0, 1].map(|j| density.weights(j)[0].exp()), &[0.5, 0.5], 1e-15);
    close(&[0, 1, 2].map(|j| density.weights(j)[1].exp()), &[0.25, 0.25, 0.5], 1e-15);
    let found = score(&density, &Texts::new(&[vec![(0, 30.0), (1, 10.0), (UNSEEN, 9.0)]]).batch()).unwrap();
    close(&found[0], &[0.5f64.ln(), 0.25f64.ln()], 1e-15);
    assert!(density.sample(0, &mut Random::new(1)).is_err());
}

#[test]
fn missing_counts_are_left_out_of_what_was_looked_for() {
    let family = Multinomial { pseudo_count: 0.0, ..Multinomial::default() };
    let rows = [[6.0, 2.0, 2.0], [1.0, 5.0, 4.0]];
    let classes = |width: usize| {
        rows.map(|row| {
            let batch = Batch::new(1).row_major(&row[..width], width).unwrap();
            observe(&family, &batch, Rows::Range(0..1)).unwrap()
        })
    };
    let whole = fit(&family, &classes(3), 3, 0).unwrap();
    let part = fit(&family, &classes(2), 2, 0).unwrap();
    let gap = score(&whole, &Batch::new(1).row_major(&[2.0, 1.0, f64::NAN][..], 3).unwrap()).unwrap();
    let known = score(&part, &Batch::new(1).row_major(&[2.0, 1.0][..], 2).unwrap()).unwrap();
    close(&gap[0], &known[0], 1e-14);
    let gaps = [f64::NAN; 3];
    let nothing = score(&whole, &Batch::new(1).row_major(&gaps[..], 3).unwrap()).unwrap();
    close(&nothing[0], &[0.0, 0.0], 0.0);
}

#[test]
fn what_is_no_count_is_refused_by_column_and_row() {
    let message = |cells: [f64; 4]| {
        let batch = Batch::new(2).row_major(&cells[..], 2).unwrap().first_row(10);
        observe(&Multinomial::default(), &batch, Rows::Range(0..2)).unwrap_err().to_string()
    };
    assert_eq!(message([1.0, 2.0, 0.0, -1.0]), "column `b`, row 12: -1 is not a count: counts are at least 0");
    assert!(message([1.0, f64::INFINITY, 0.0, 1.0]).starts_with("column `b`, row 11: the number is infinite"));
    assert!(
        message([1.0, 1.0, f64::NAN, 1.0]).starts_with("column `a`, row 12: the cell is missing; counts are learnt")
    );
    let density = small(&Multinomial::default());
    for count in [-1.0, f64::NAN, f64::INFINITY] {
        let texts = Texts::new(&[vec![], vec![(0, count)]]);
        assert!(observe(&Multinomial::default(), &texts.batch(), Rows::Range(0..2)).is_err());
        let error = score(&density, &texts.batch()).unwrap_err().to_string();
        assert!(error.starts_with("column `a`, row 2: "), "{error}");
    }
    let far = Texts::new(&[vec![(UNSEEN - 1, 1.0)]]);
    assert!(observe(&Multinomial::default(), &far.batch(), Rows::Range(0..1)).is_err());
    for family in [
        Multinomial { pseudo_count: -1.0, ..Multinomial::default() },
        Multinomial { pseudo_count: f64::NAN, ..Multinomial::default() },
        Multinomial { norm: true, ..Multinomial::default() },
    ] {
        assert!(fit(&family, &[WordCounts::default(), WordCounts::default()], 1, 3).is_err());
    }
    // A word that only one class uses cannot be told apart by its absence elsewhere.
    let family = Multinomial { complement: true, pseudo_count: 0.0, ..Multinomial::default() };
    let classes = [vec![(0, 1.0)], vec![(1, 1.0)]].map(|row| {
        let texts = Texts::new(&[row]);
        observe(&family, &texts.batch(), Rows::Range(0..1)).unwrap()
    });
    assert!(fit(&family, &classes, 1, 2).unwrap_err().to_string().starts_with("pseudo_count: with complement"));
}

#[test]
fn no_words_at_all() {
    let density = fit(&Multinomial::default(), &[WordCounts::default(), WordCounts::default()], 1, 0).unwrap();
    let found = score(&density, &Texts::new(&[vec![], vec![(3, 1.0)]]).batch()).unwrap();
    close(&found.concat(), &[0.0; 4], 0.0);
    assert_eq!(density.sample(1, &mut Random::new(1)).unwrap(), [Value::Counts(vec![])]);
    assert!(score(&density, &Texts::new(&[]).batch()).unwrap().is_empty());
}

#[test]
fn sampled_rows_give_their_model_back() {
    let density = small(&Multinomial::default());
    let mut random = Random::new(3);
    for class in 0..2 {
        let draw = |_| match density.sample(class, &mut random).unwrap().remove(0) {
            Value::Counts(words) => words,
            other => panic!("{other:?}"),
        };
        let rows: Vec<Vec<(u32, f64)>> = (0..20_000).map(draw).collect();
        let texts = Texts::new(&rows);
        let statistic = observe(&Multinomial::default(), &texts.batch(), Rows::Range(0..rows.len())).unwrap();
        // Mean length 4 in both classes; about five standard errors.
        assert!((statistic.total() / 20_000.0 - 4.0).abs() < 0.07, "{}", statistic.total());
        for (j, n) in statistic.counts().enumerate() {
            let theta = density.weights(j)[class].exp();
            assert!((n / statistic.total() - theta).abs() < 0.009, "{j}: {n}");
        }
    }
}

fn texts(most: usize) -> impl Strategy<Value = Vec<Vec<(u32, f64)>>> {
    let row = prop::collection::btree_map(0u32..20, 0u8..4, 0..6);
    let words = |row: std::collections::BTreeMap<u32, u8>| row.into_iter().map(|(j, n)| (j, f64::from(n))).collect();
    prop::collection::vec(row.prop_map(words), 1..most)
}

fn counted(rows: &[Vec<(u32, f64)>], weights: Option<&[f64]>) -> WordCounts {
    let texts = Texts::new(rows);
    let batch = match weights {
        Some(weights) => texts.batch().weights(weights).unwrap(),
        None => texts.batch(),
    };
    observe(&Multinomial::default(), &batch, Rows::Range(0..rows.len())).unwrap()
}

/// Equal but for words at the end that no row has.
fn same(a: &WordCounts, b: &WordCounts) -> bool {
    let trim = |s: &WordCounts| {
        let mut words: Vec<(f64, f64)> = s.counts().zip(s.rows_with()).collect();
        while words.last() == Some(&(0.0, 0.0)) {
            words.pop();
        }
        words
    };
    a.weight() == b.weight() && trim(a) == trim(b)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn parts_merge_to_the_whole_and_come_off_again(rows in texts(40), cut in 0usize..40) {
        let (a, b) = rows.split_at(cut.min(rows.len()));
        let (whole, a, b) = (counted(&rows, None), counted(a, None), counted(b, None));
        let (mut left, mut right) = (a.clone(), b.clone());
        left.merge(&b).unwrap();
        right.merge(&a).unwrap();
        prop_assert_eq!(&left, &whole);
        prop_assert_eq!(&right, &whole);
        left.remove(&b).unwrap();
        prop_assert!(same(&left, &a));
        let mut zero = WordCounts::default();
        zero.merge(&whole).unwrap();
        prop_assert_eq!(&zero, &whole);
        // What was never added cannot be taken away, and the attempt changes nothing.
        let mut more = whole.clone();
        more.merge(&counted(&[vec![(19, 1.0)]], None)).unwrap();
        prop_assert!(zero.remove(&more).is_err());
        prop_assert_eq!(&zero, &whole);
    }

    #[test]
    fn weight_two_is_the_row_twice(rows in texts(30), doubled in 0usize..3) {
        let weights: Vec<f64> = (0..rows.len()).map(|i| if i % 3 == doubled { 2.0 } else { 1.0 }).collect();
        let twice: Vec<_> = rows.iter().zip(&weights).flat_map(|(row, w)| vec![row.clone(); *w as usize]).collect();
        prop_assert_eq!(counted(&rows, Some(&weights)), counted(&twice, None));
    }

    #[test]
    fn stored_and_renamed(rows in texts(30), shift in 1u32..20) {
        let whole = counted(&rows, None);
        let read: WordCounts = from_bytes(&to_bytes(&whole).unwrap()).unwrap();
        prop_assert_eq!(&read, &whole);
        // Renaming the words beforehand or in the statistic is the same.
        let map: Vec<u32> = (0..20).map(|j| (j + shift) % 20).collect();
        let renamed: Vec<_> = rows.iter().map(|row| row.iter().map(|(j, n)| (map[*j as usize], *n)).collect()).collect();
        let mut after = whole.clone();
        Multinomial::default().relevel(&mut after, &[map]).unwrap();
        prop_assert!(same(&after, &counted(&renamed, None)));
        let short: Vec<u32> = (1..whole.counts().len() as u32).collect();
        prop_assert!(short.is_empty() || Multinomial::default().relevel(&mut whole.clone(), &[short]).is_err());
        let classes = [whole, WordCounts::default()];
        let density = fit(&Multinomial { min_count: 2.0, ..Multinomial::default() }, &classes, 1, 20).unwrap();
        let read: MultinomialDensity = from_bytes(&to_bytes(&density).unwrap()).unwrap();
        let texts = Texts::new(&rows);
        prop_assert_eq!(score(&read, &texts.batch()).unwrap(), score(&density, &texts.batch()).unwrap());
        prop_assert_eq!(read.parameters(&[]), density.parameters(&[]));
    }

    #[test]
    fn engines_agree_with_one_batch(rows in texts(60)) {
        let texts = Texts::new(&rows);
        let labels: Vec<u32> = (0..rows.len() as u32).map(|i| i % 2).collect();
        let column = Column { name: "a".into(), kind: Kind::Text, levels: names(20) };
        let schema = Schema::new(vec![column], "class", names(2)).unwrap();
        let block = Block { columns: vec![0], names: names(1), deskew: None, gaussianise: None, discretise: None, family: AnyFamily::Multinomial(Multinomial::default()) };
        let memory = Memory::new(schema, texts.batch().classes(&labels).unwrap()).unwrap();
        let summary = memory.run(&Summarise { blocks: vec![block], folds: 2, seed: 1 }).unwrap();
        let even: Vec<u32> = (0..rows.len() as u32).step_by(2).collect();
        let direct = observe(&Multinomial::default(), &texts.batch(), Rows::Index(&even)).unwrap();
        let deciban::family::AnyStatistic::Multinomial(found) = &summary.block(0).unwrap()[0] else { panic!("words") };
        prop_assert!(same(found, &direct));
    }
}

/// Where the frequent word is missing, the rare ones are compared with each other: 1 − θ of the frequent one is 0 in
/// doubles.
#[test]
fn rare_words_are_compared_where_the_frequent_one_is_missing() {
    let schema = Schema::numbers(&["often", "seldom", "rarely"], "class", &["a", "b"]).unwrap();
    let counts = [1e18, 3.0, 1.0, 1e18, 1.0, 3.0];
    let rows = Batch::new(2).row_major(&counts[..], 3).unwrap().classes(&[0, 1]).unwrap();
    let family = AnyFamily::named("multinomial").unwrap().with_pseudo_count(0.0);
    let block = Block::new(vec![0, 1, 2], schema.columns(), family);
    let model = Generative::of_blocks(vec![block]).learn(&Memory::new(schema, rows).unwrap()).unwrap();
    let seldom = [f64::NAN, 1.0, 0.0];
    let evidence = model.evidence(&Batch::new(1).row_major(&seldom[..], 3).unwrap()).unwrap();
    // θ of 3/4 and 1/4 among the words that were looked for.
    assert!((evidence.row(0)[0] - 0.75f64.ln()).abs() < 1e-12, "{:?}", evidence.row(0));
    assert!((evidence.row(0)[1] - 0.25f64.ln()).abs() < 1e-12, "{:?}", evidence.row(0));
}
