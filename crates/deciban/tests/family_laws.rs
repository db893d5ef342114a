//! Laws that every family keeps. The tests go through the list of families, so that a new family is tested without
//! a line here: they offer it columns of every kind, and check it on those that it takes.

use deciban::Result;
use deciban::data::{Batch, Cells, Column, Kind, MISSING, Rows, Sparse, Tile, Value};
use deciban::family::{AnyDensity, AnyFamily, AnyStatistic, Density, Family, NAMES, Names};
use deciban::file::{from_bytes, to_bytes};
use deciban::learn::NaiveBayes;
use deciban::numerics::Random;
use deciban::statistic::{Retract, Statistic};

/// How many rows a class has.
const ROWS: usize = 60;

/// How many levels a column of levels has, and how many words a text.
const LEVELS: usize = 4;

/// What the rows of a column are drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Drawn {
    Numbers,
    Positive,
    Shares,
    Counts,
    Flags,
    Levels,
    Words,
}

const KINDS: [Drawn; 7] =
    [Drawn::Numbers, Drawn::Positive, Drawn::Shares, Drawn::Counts, Drawn::Flags, Drawn::Levels, Drawn::Words];

/// A column of rows, owned.
#[derive(Clone, Debug)]
enum Held {
    Numbers(Vec<f64>),
    Levels(Vec<u32>),
    /// Offsets, words and counts.
    Words(Vec<usize>, Vec<u32>, Vec<f64>),
}

/// Rows of one class.
#[derive(Clone, Debug)]
struct Table {
    columns: Vec<Held>,
    weights: Vec<f64>,
}

impl Table {
    /// Made-up rows: a shared part makes the columns depend on each other, `class` moves them.
    fn drawn(kind: Drawn, width: usize, class: usize, gaps: bool, random: &mut Random) -> Table {
        let shared: Vec<f64> = (0..ROWS).map(|_| random.normal()).collect();
        let mut z = |i: usize, j: usize| shared[i] + random.normal() + (class * (j + 1)) as f64 * 0.3;
        let mut numbers = |to: &dyn Fn(f64) -> f64| -> Vec<Vec<f64>> {
            (0..width).map(|j| (0..ROWS).map(|i| to(z(i, j))).collect()).collect()
        };
        let mut columns: Vec<Held> = match kind {
            Drawn::Numbers => numbers(&|z| 1000.0 + 3.0 * z).into_iter().map(Held::Numbers).collect(),
            Drawn::Positive => numbers(&|z| (0.4 * z).exp()).into_iter().map(Held::Numbers).collect(),
            Drawn::Shares => numbers(&|z| 1.0 / (1.0 + (-z).exp())).into_iter().map(Held::Numbers).collect(),
            Drawn::Counts => numbers(&|z| (2.0 + z).max(0.0).round()).into_iter().map(Held::Numbers).collect(),
            Drawn::Flags => numbers(&|z| f64::from(u8::from(z > 0.2))).into_iter().map(Held::Numbers).collect(),
            Drawn::Levels => {
                let level = |z: f64| (1.5 + z).clamp(0.0, LEVELS as f64 - 1.0).round();
                let codes = |column: Vec<f64>| Held::Levels(column.into_iter().map(|x| x as u32).collect());
                numbers(&level).into_iter().map(codes).collect()
            }
            Drawn::Words => (0..width).map(|_| texts(class, random)).collect(),
        };
        if gaps {
            for (j, column) in columns.iter_mut().enumerate() {
                for i in (0..ROWS).filter(|i| (i + j) % 7 == 3) {
                    match column {
                        Held::Numbers(x) => x[i] = f64::NAN,
                        Held::Levels(codes) => codes[i] = MISSING,
                        Held::Words(..) => {}
                    }
                }
            }
        }
        Table { columns, weights: (0..ROWS).map(|i| 1.0 + (i % 3) as f64).collect() }
    }

    /// The rows with these numbers, in this order.
    fn chosen(&self, rows: &[usize]) -> Table {
        let column = |held: &Held| match held {
            Held::Numbers(x) => Held::Numbers(rows.iter().map(|&i| x[i]).collect()),
            Held::Levels(codes) => Held::Levels(rows.iter().map(|&i| codes[i]).collect()),
            Held::Words(offsets, words, counts) => {
                let (mut o, mut w, mut c) = (vec![0], Vec::new(), Vec::new());
                for &i in rows {
                    let range = offsets[i]..offsets[i + 1];
                    w.extend(&words[range.clone()]);
                    c.extend(&counts[range]);
                    o.push(w.len());
                }
                Held::Words(o, w, c)
            }
        };
        let columns = self.columns.iter().map(column).collect();
        Table { columns, weights: rows.iter().map(|&i| self.weights[i]).collect() }
    }

    /// Each row as often as its weight says, with weight 1.
    fn repeated(&self) -> Table {
        let rows: Vec<usize> = (0..self.rows()).flat_map(|i| vec![i; self.weights[i] as usize]).collect();
        let mut table = self.chosen(&rows);
        table.weights.fill(1.0);
        table
    }

    /// One row without any cell.
    fn empty_row(&self) -> Table {
        let column = |held: &Held| match held {
            Held::Numbers(_) => Held::Numbers(vec![f64::NAN]),
            Held::Levels(_) => Held::Levels(vec![MISSING]),
            Held::Words(..) => Held::Words(vec![0, 0], Vec::new(), Vec::new()),
        };
        Table { columns: self.columns.iter().map(column).collect(), weights: vec![1.0] }
    }

    fn rows(&self) -> usize {
        self.weights.len()
    }

    fn batch(&self) -> Result<Batch<'_>> {
        let mut batch = Batch::new(self.rows());
        for held in &self.columns {
            batch = match held {
                Held::Numbers(x) => batch.column(&x[..])?,
                Held::Levels(codes) => batch.codes(codes)?,
                Held::Words(offsets, words, counts) => {
                    batch.sparse(Sparse::new(&offsets[..], &words[..], &counts[..])?)?
                }
            };
        }
        batch.weights(&self.weights)
    }
}

/// Made-up texts of a class.
fn texts(class: usize, random: &mut Random) -> Held {
    let (mut offsets, mut words, mut counts) = (vec![0], Vec::new(), Vec::new());
    for _ in 0..ROWS {
        for word in 0..LEVELS as u32 {
            let count = random.below(3 + u64::from(word as usize == class));
            if count > 0 {
                words.push(word);
                counts.push(count as f64);
            }
        }
        offsets.push(words.len());
    }
    Held::Words(offsets, words, counts)
}

/// A family with columns that it takes: two classes of rows.
struct Case {
    name: &'static str,
    kind: Drawn,
    width: usize,
    family: AnyFamily,
    classes: [Table; 2],
    names: [String; 3],
    levels: Vec<usize>,
}

impl Case {
    fn new(name: &'static str, kind: Drawn, width: usize, gaps: bool) -> Case {
        let mut random = Random::new(hash(name, kind, width));
        let classes = [0, 1].map(|class| Table::drawn(kind, width, class, gaps, &mut random));
        let levels = if matches!(kind, Drawn::Levels | Drawn::Words) { LEVELS } else { 0 };
        Case {
            name,
            kind,
            width,
            family: AnyFamily::named(name).unwrap(),
            classes,
            names: ["a", "b", "c"].map(String::from),
            levels: vec![levels; width],
        }
    }

    /// Whether the family describes what such a column holds.
    fn check_kind(&self) -> Result<()> {
        let (kind, levels) = match self.kind {
            Drawn::Levels => (Kind::Category, LEVELS),
            Drawn::Words => (Kind::Text, LEVELS),
            _ => (Kind::Number, 0),
        };
        let column = Column { name: "a".into(), kind, levels: (0..levels).map(|l| l.to_string()).collect() };
        let families = vec![("a".to_string(), self.family.clone())];
        NaiveBayes { families, ..NaiveBayes::default() }.blocks(&[column]).map(drop)
    }

    fn columns(&self) -> &[String] {
        &self.names[..self.width]
    }

    fn statistic(&self, table: &Table) -> Result<AnyStatistic> {
        let (batch, places) = (table.batch()?, (0..self.width).collect::<Vec<_>>());
        let mut statistic = self.family.empty(self.width);
        let cells = Cells::new(&batch, &places, Rows::Range(0..table.rows()));
        self.family.observe(&mut statistic, &cells, self.columns())?;
        Ok(statistic)
    }

    /// The densities of both classes; the second is always that of all its rows.
    fn fit(&self, first: &AnyStatistic) -> Result<AnyDensity> {
        let second = self.statistic(&self.classes[1])?;
        let classes = ["k".to_string(), "l".to_string()];
        let names = Names { columns: self.columns(), levels: &self.levels, classes: &classes };
        if self.family.is_open() {
            let folds = [vec![first.clone(), second.clone()], vec![first.clone(), second.clone()]];
            return self.family.choose(&folds, names)?.fit(&[first, &second], names);
        }
        self.family.fit(&[first, &second], names)
    }

    fn scores(&self, density: &AnyDensity, table: &Table) -> Result<Vec<f64>> {
        let (batch, places) = (table.batch()?, (0..self.width).collect::<Vec<_>>());
        let mut out = Tile::default();
        out.resize(table.rows(), density.classes());
        out.data_mut().fill(0.0);
        density.add_log_density(
            &Cells::new(&batch, &places, Rows::Range(0..table.rows())),
            self.columns(),
            &mut out,
        )?;
        Ok((0..density.classes()).flat_map(|class| out.column(class).to_vec()).collect())
    }

    /// The scores of all rows by the densities that a statistic gives.
    fn scores_by(&self, first: &AnyStatistic) -> Vec<f64> {
        let density = self.fit(first).unwrap_or_else(|e| panic!("{self}: {e}"));
        self.scores(&density, &self.classes[0]).unwrap_or_else(|e| panic!("{self}: {e}"))
    }

    fn same(&self, law: &str, found: &AnyStatistic, expected: &AnyStatistic) {
        self.close(law, &self.scores_by(found), &self.scores_by(expected));
    }

    #[track_caller]
    fn close(&self, law: &str, found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len(), "{self}: {law}");
        for (f, e) in found.iter().zip(expected) {
            assert!(f == e || (f - e).abs() <= 1e-9 * e.abs().max(1.0), "{self}: {law}: {f}, not {e}");
        }
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} columns of {:?}", self.name, self.width, self.kind)
    }
}

/// A seed for each case.
fn hash(name: &str, kind: Drawn, width: usize) -> u64 {
    name.bytes().fold(kind as u64 * 31 + width as u64, |seed, byte| seed.wrapping_mul(131).wrapping_add(byte.into()))
}

/// All families with the kinds and numbers of columns that they take.
fn cases(gaps: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for &name in NAMES {
        let offered = KINDS.into_iter().flat_map(|kind| [1, 3].map(|width| Case::new(name, kind, width, gaps)));
        let (mut taken, mut refused) = (Vec::new(), Vec::new());
        for case in offered {
            let fitted = case.check_kind().and_then(|()| case.fit(&case.statistic(&case.classes[0])?));
            match fitted {
                Ok(_) => taken.push(case),
                Err(error) => refused.push(format!("{case}: {error}")),
            }
        }
        assert!(gaps || !taken.is_empty(), "{name} takes no kind of column that this test offers: {refused:#?}");
        cases.extend(taken);
    }
    cases
}

fn merged(a: &AnyStatistic, b: &AnyStatistic) -> AnyStatistic {
    let mut sum = a.clone();
    sum.merge(b).unwrap();
    sum
}

#[test]
fn statistics_merge_in_any_order_and_are_removed_again() {
    for gaps in [false, true] {
        for case in cases(gaps) {
            let all = &case.classes[0];
            let whole = case.statistic(all).unwrap();
            let part = |rows: std::ops::Range<usize>| case.statistic(&all.chosen(&rows.collect::<Vec<_>>())).unwrap();
            let [a, b, c] = [part(0..7), part(7..31), part(31..ROWS)];
            case.same("(a + b) + c", &merged(&merged(&a, &b), &c), &whole);
            case.same("c + (b + a)", &merged(&c, &merged(&b, &a)), &whole);
            let reversed: Vec<usize> = (0..ROWS).rev().collect();
            case.same("rows in another order", &case.statistic(&all.chosen(&reversed)).unwrap(), &whole);
            case.same("weights are repetitions", &case.statistic(&all.repeated()).unwrap(), &whole);
            let mut left = merged(&whole, &c);
            left.remove(&c).unwrap_or_else(|e| panic!("{case}: {e}"));
            case.same("whole + c − c", &left, &whole);
            let mut left = whole.clone();
            left.remove(&c).unwrap_or_else(|e| panic!("{case}: {e}"));
            case.same("whole − c", &left, &merged(&a, &b));
        }
    }
}

#[test]
fn the_empty_statistic_changes_no_bit() {
    for case in cases(false) {
        let (whole, empty) = (case.statistic(&case.classes[0]).unwrap(), case.family.empty(case.width));
        let bytes = to_bytes(&whole).unwrap();
        assert!(to_bytes(&merged(&whole, &empty)).unwrap() == bytes, "{case}");
        case.same("empty + whole", &merged(&empty, &whole), &whole);
    }
}

#[test]
fn files_keep_every_bit() {
    for case in cases(false) {
        let whole = case.statistic(&case.classes[0]).unwrap();
        let again: AnyStatistic = from_bytes(&to_bytes(&whole).unwrap()).unwrap();
        assert_eq!(to_bytes(&again).unwrap(), to_bytes(&whole).unwrap(), "{case}");
        let density = case.fit(&whole).unwrap();
        let stored: AnyDensity = from_bytes(&to_bytes(&density).unwrap()).unwrap_or_else(|e| panic!("{case}: {e}"));
        let bits = |density: &AnyDensity| -> Vec<u64> {
            case.scores(density, &case.classes[1]).unwrap().into_iter().map(f64::to_bits).collect()
        };
        assert_eq!(bits(&stored), bits(&density), "{case}");
        assert_eq!(bits(&case.fit(&again).unwrap()), bits(&density), "{case}");
    }
}

#[test]
fn a_row_scores_alike_alone_among_others_and_in_some_of_the_classes() {
    for gaps in [false, true] {
        for case in cases(gaps) {
            let density = case.fit(&case.statistic(&case.classes[0]).unwrap()).unwrap();
            let rows = &case.classes[1];
            let all = case.scores(&density, rows).unwrap();
            assert!(all.iter().all(|x| x.is_finite()), "{case}: {all:?}");
            for i in [0, 3, ROWS - 1] {
                let alone = case.scores(&density, &rows.chosen(&[i])).unwrap();
                case.close("alone", &alone, &[all[i], all[ROWS + i]]);
            }
            case.close("the second class", &case.scores(&density.of_groups(1..2), rows).unwrap(), &all[ROWS..]);
        }
    }
}

/// Missing cells are integrated out, so that a row of them has density 1. A text without words is not missing.
#[test]
fn a_row_without_cells_says_nothing() {
    for case in cases(false).into_iter().filter(|case| case.kind != Drawn::Words) {
        let density = case.fit(&case.statistic(&case.classes[0]).unwrap()).unwrap();
        case.close("no cells", &case.scores(&density, &case.classes[0].empty_row()).unwrap(), &[0.0, 0.0]);
    }
}

#[test]
fn drawn_rows_are_possible_and_repeat() {
    for case in cases(false) {
        let density = case.fit(&case.statistic(&case.classes[0]).unwrap()).unwrap();
        let draw = |seed| -> Vec<Vec<Value>> {
            let mut random = Random::new(seed);
            (0..ROWS).map(|_| density.sample(0, &mut random).unwrap()).collect()
        };
        let rows = draw(1);
        assert_eq!(rows, draw(1), "{case}");
        if case.kind == Drawn::Words {
            continue;
        }
        let column = |j: usize| match case.classes[0].columns[j] {
            Held::Numbers(_) => Held::Numbers(rows.iter().map(|row| number(&case, row, j)).collect()),
            _ => Held::Levels(rows.iter().map(|row| level(&case, &row[j])).collect()),
        };
        let drawn = Table { columns: (0..case.width).map(column).collect(), weights: vec![1.0; ROWS] };
        let scores = case.scores(&density, &drawn).unwrap();
        assert!(scores[..ROWS].iter().all(|x| x.is_finite()), "{case}: {scores:?}");
        if let (Some(domain), Held::Numbers(x)) = (density.domain(), &drawn.columns[0]) {
            assert!(x.iter().all(|&x| (domain.contains)(x)), "{case}: {x:?}");
        }
    }
}

/// The number that a drawn row has in a column. A multinomial draws the counts of all columns together.
fn number(case: &Case, row: &[Value], column: usize) -> f64 {
    match row {
        [Value::Counts(counts)] => counts.iter().find(|count| count.0 as usize == column).map_or(0.0, |count| count.1),
        _ => match &row[column] {
            Value::Number(x) => *x,
            other => panic!("{case}: {other:?} is not a number"),
        },
    }
}

fn level(case: &Case, value: &Value) -> u32 {
    match value {
        Value::Level(level) => *level,
        other => panic!("{case}: {other:?} is not a level"),
    }
}
