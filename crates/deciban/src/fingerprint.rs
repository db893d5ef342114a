//! [`Fingerprint`]: hashes of some of the rows that a model was fitted on, by what they hold. Whoever evaluates the model
//! can tell by it how many of the rows the model knows.
//!
//! Of n rows S = 1024 are drawn by their places, all of them where there are fewer; so the same input gives the same
//! fingerprint with any number of threads. Of N rows to be judged M are equal to one that was drawn. A row that was not
//! fitted on may be equal by chance: how often, the drawn rows say themselves, by the share d that is equal to another
//! of them. A row that was fitted on is found with the probability r + (1 − r)d, r = S/n, so its share s follows from
//!
//! M/N = d + s r (1 − d).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::data::{Batch, Contents, Held, Identity, MISSING, Profile, Rows, Schema, View};
use crate::engine::{Engine, Watch};
use crate::error::Result;
use crate::file::{Archive, Stored};
use crate::pass::{Accumulator, ErasedPass, ErasedStatistic};
use crate::transform::Sketch;

/// Hashes of some rows, by what they hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Fingerprint {
    /// How many rows there were.
    rows: f64,
    /// The hashes of those that were drawn, in ascending order. Equal rows have equal ones.
    keys: Vec<u32>,
}

/// So many rows are drawn,
const MOST: usize = 1024;
/// and fewer of very many columns: the cells are kept until the sweep is done.
const MOST_CELLS: usize = 1 << 22;
/// Sets the rows of a fingerprint apart from those of a fold.
const SEED: u64 = 0xf1e6_e4b0;

impl Fingerprint {
    /// The fingerprint of the labelled rows of an engine, in one sweep; `None` if the rows are on other machines.
    pub fn of(engine: &dyn Engine) -> Result<Option<Self>> {
        let noted = Noted::new(engine);
        // The rows are drawn while any pass runs, and this one does nothing else.
        noted.collect(&Sketch::new(Vec::new(), Vec::new())?)?;
        Ok(noted.fingerprint(&engine.schema()?))
    }

    fn new(drawn: &Drawn, schema: &Schema) -> Option<Self> {
        let contents = Contents::of(schema);
        let mut keys: Vec<u32> = drawn.kept.values().map(|cells| short(contents.key(SEED, cells))).collect();
        keys.sort_unstable();
        (!keys.is_empty()).then_some(Fingerprint { rows: drawn.rows as f64, keys })
    }

    /// The share of the drawn rows that are equal to another of them.
    fn chance(&self) -> f64 {
        let repeated: usize = self.keys.chunk_by(|a, b| a == b).map(|run| run.len()).filter(|n| *n > 1).sum();
        repeated as f64 / self.keys.len() as f64
    }

    /// The share of `rows` rows that the model was fitted on, of which so many were found; `None` where so many may well
    /// be found by chance.
    fn share(&self, rows: u64, found: u64) -> Option<f64> {
        let (rows, found, drawn, chance) = (rows as f64, found as f64, self.keys.len() as f64, self.chance());
        // Four standard deviations: the chance itself is known from the drawn rows alone.
        let deviation = (rows * chance * (1.0 - chance) * (1.0 + rows / drawn)).sqrt();
        let is_clear = found > rows * chance + 4.0 * deviation + 2.0;
        let reach = (drawn / self.rows).min(1.0) * (1.0 - chance);
        is_clear.then(|| ((found / rows - chance) / reach).min(1.0))
    }
}

/// The part of a hash that is kept.
fn short(key: u64) -> u32 {
    (key >> 32) as u32
}

impl Stored for Fingerprint {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let keys: Vec<f64> = self.keys.iter().copied().map(f64::from).collect();
        archive.put_json(&format!("{name}.rows"), &(self.rows, keys.len()))?;
        archive.put(&format!("{name}.keys"), &[keys.len()], &keys)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (rows, length): (f64, usize) = archive.json(&format!("{name}.rows"))?;
        let keys = archive.finite(&format!("{name}.keys"), &[length])?;
        let is_key = |key: &f64| *key >= 0.0 && *key <= f64::from(u32::MAX) && key.fract() == 0.0;
        let fits = (1..=MOST).contains(&length) && rows >= length as f64 && rows.is_finite();
        match fits && keys.iter().all(is_key) && keys.is_sorted() {
            true => Ok(Fingerprint { rows, keys: keys.iter().map(|key| *key as u32).collect() }),
            false => Err(archive.damaged("the fingerprint of its rows is none")),
        }
    }
}

/// Counts which of the rows that pass by a model was fitted on, from any number of threads.
#[derive(Debug)]
pub struct Recogniser<'a> {
    fingerprint: &'a Fingerprint,
    contents: Contents,
    rows: AtomicU64,
    found: AtomicU64,
}

impl<'a> Recogniser<'a> {
    /// For rows with the columns of a model's schema.
    pub fn new(fingerprint: &'a Fingerprint, schema: &Schema) -> Self {
        let (rows, found) = (AtomicU64::new(0), AtomicU64::new(0));
        Recogniser { fingerprint, contents: Contents::of(schema), rows, found }
    }

    /// Looks at some rows.
    pub fn look(&self, batch: &Batch<'_>) {
        let keys = self.contents.keys(SEED, batch);
        let found = keys.into_iter().filter(|key| self.fingerprint.keys.binary_search(&short(*key)).is_ok()).count();
        self.rows.fetch_add(batch.rows() as u64, Ordering::Relaxed);
        self.found.fetch_add(found as u64, Ordering::Relaxed);
    }

    /// The share of the rows so far that the model was fitted on, where it is clearly more than chance.
    pub fn share(&self) -> Option<f64> {
        self.fingerprint.share(self.rows.load(Ordering::Relaxed), self.found.load(Ordering::Relaxed))
    }
}

/// An engine whose first sweep also draws rows for a fingerprint.
pub struct Noted<'a> {
    engine: &'a dyn Engine,
    begun: AtomicBool,
    drawn: Mutex<Drawn>,
}

impl<'a> Noted<'a> {
    /// The rows of an engine.
    pub fn new(engine: &'a dyn Engine) -> Self {
        Noted { engine, begun: AtomicBool::new(false), drawn: Mutex::default() }
    }

    /// The fingerprint of the rows of the first sweep, which have the columns of `schema`; none if there was none here.
    pub fn fingerprint(&self, schema: &Schema) -> Option<Fingerprint> {
        Fingerprint::new(&self.drawn.lock().unwrap_or_else(PoisonError::into_inner), schema)
    }
}

impl Engine for Noted<'_> {
    fn collect(&self, pass: &dyn ErasedPass) -> Result<ErasedStatistic> {
        match self.begun.swap(true, Ordering::Relaxed) {
            true => self.engine.collect(pass),
            false => self.engine.collect(&Noting { pass, drawn: &self.drawn }),
        }
    }

    fn sweep(&self, visit: &mut dyn FnMut(&Batch<'_>) -> Result<()>) -> Result<()> {
        self.engine.sweep(visit)
    }

    fn check_stop(&self) -> Result<()> {
        self.engine.check_stop()
    }

    fn watch(&self) -> Option<&Watch> {
        self.engine.watch()
    }

    fn identity(&self) -> Identity {
        self.engine.identity()
    }

    fn schema(&self) -> Result<Schema> {
        self.engine.schema()
    }

    fn profiles(&self) -> Result<Vec<Profile>> {
        self.engine.profiles()
    }
}

/// A pass, and the rows that are drawn while it runs.
struct Noting<'a> {
    pass: &'a dyn ErasedPass,
    drawn: &'a Mutex<Drawn>,
}

impl ErasedPass for Noting<'_> {
    fn name(&self) -> &'static str {
        self.pass.name()
    }

    fn accumulator(&self) -> Box<dyn Accumulator + '_> {
        Box::new(Drawing { inner: self.pass.accumulator(), drawn: self.drawn })
    }

    fn statistic_size(&self) -> usize {
        self.pass.statistic_size()
    }

    fn needs_hashes(&self) -> bool {
        self.pass.needs_hashes()
    }

    // Other machines run the pass alone, and draw nothing.
    fn store_pass(&self, archive: &mut Archive, name: &str) -> Result<()> {
        self.pass.store_pass(archive, name)
    }
}

struct Drawing<'a> {
    inner: Box<dyn Accumulator + 'a>,
    drawn: &'a Mutex<Drawn>,
}

impl Accumulator for Drawing<'_> {
    fn observe(&mut self, batch: &Batch<'_>) -> Result<()> {
        Drawn::observe(self.drawn, batch);
        self.inner.observe(batch)
    }

    fn absorb(&mut self, statistic: ErasedStatistic) -> Result<()> {
        self.inner.absorb(statistic)
    }

    fn merge(&mut self, state: &[u8]) -> Result<()> {
        self.inner.merge(state)
    }

    fn state(&self) -> Result<Vec<u8>> {
        self.inner.state()
    }

    fn finish(self: Box<Self>) -> ErasedStatistic {
        self.inner.finish()
    }
}

/// The labelled rows with the smallest draws, whichever come first.
#[derive(Debug, Default)]
struct Drawn {
    rows: u64,
    kept: BTreeMap<u64, Vec<Held>>,
}

impl Drawn {
    fn observe(drawn: &Mutex<Drawn>, batch: &Batch<'_>) {
        let lock = || drawn.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(labels) = batch.labels() else { return };
        let most = MOST.min(MOST_CELLS / batch.width().max(1)).max(1);
        let counts =
            |row: usize| labels[row] != MISSING && batch.row_weights().is_none_or(|weights| weights[row] > 0.0);
        let limit = {
            let mut drawn = lock();
            drawn.rows += (0..batch.rows()).filter(|row| counts(*row)).count() as u64;
            if drawn.kept.len() < most { u64::MAX } else { drawn.kept.keys().next_back().copied().unwrap_or(u64::MAX) }
        };
        let draws = Identity::Place.draw(SEED, batch);
        let mut chosen: Vec<(u64, u32)> = draws.into_iter().zip(0..).filter(|(draw, _)| *draw < limit).collect();
        chosen.retain(|(_, row)| counts(*row as usize));
        if chosen.is_empty() {
            return;
        }
        chosen.sort_unstable();
        chosen.truncate(most);
        let rows: Vec<u32> = chosen.iter().map(|(_, row)| *row).collect();
        let cells = cells(batch, &rows);
        let mut drawn = lock();
        drawn.kept.extend(chosen.into_iter().map(|(draw, _)| draw).zip(cells));
        while drawn.kept.len() > most {
            drawn.kept.pop_last();
        }
    }
}

/// What some rows hold.
fn cells(batch: &Batch<'_>, rows: &[u32]) -> Vec<Vec<Held>> {
    let mut all: Vec<Vec<Held>> = rows.iter().map(|_| Vec::with_capacity(batch.width())).collect();
    let mut numbers = vec![0.0; rows.len()];
    for column in 0..batch.width() {
        match batch.view(column) {
            View::Numbers(view) => {
                view.read(&Rows::Index(rows), &mut numbers);
                all.iter_mut().zip(&numbers).for_each(|(row, x)| row.push(Held::Number(Contents::bits(*x))));
            }
            View::Codes(codes) => {
                all.iter_mut().zip(rows).for_each(|(held, row)| held.push(Held::Level(codes[*row as usize])));
            }
            View::Sparse(sparse) => {
                let mut words = vec![Vec::new(); rows.len()];
                sparse.for_each(&Rows::Index(rows), |row, word, count| {
                    if count != 0.0 {
                        words[row].push((word, Contents::bits(count)));
                    }
                });
                all.iter_mut().zip(words).for_each(|(row, words)| row.push(Held::Words(words)));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Column, Kind};
    use crate::engine::Memory;
    use crate::file::{from_bytes, to_bytes};
    use crate::numerics::Random;

    fn fingerprint(x: &[f64]) -> Fingerprint {
        let labels: Vec<u32> = (0..x.len() as u32).map(|i| i % 2).collect();
        let batch = Batch::new(x.len()).column(x).unwrap().classes(&labels).unwrap();
        let schema = Schema::numbers(&["x"], "y", &["a", "b"]).unwrap();
        Fingerprint::of(&Memory::new(schema, batch).unwrap()).unwrap().unwrap()
    }

    fn share(known: &[f64], rows: &[f64]) -> Option<f64> {
        let (fingerprint, schema) = (fingerprint(known), Schema::numbers(&["x"], "y", &["a", "b"]).unwrap());
        let recogniser = Recogniser::new(&fingerprint, &schema);
        rows.chunks(100).for_each(|part| recogniser.look(&Batch::new(part.len()).column(part).unwrap()));
        recogniser.share()
    }

    #[test]
    fn the_share_of_known_rows_is_found() {
        let mut random = Random::new(3);
        let mut draw = |rows: usize| (0..rows).map(|_| random.uniform()).collect::<Vec<f64>>();
        let (known, new) = (draw(50_000), draw(20_000));
        assert_eq!(share(&known, &new), None);
        assert_eq!(share(&known[..900], &known[..900]), Some(1.0));
        assert_eq!(share(&known[..3], &known[..3]), Some(1.0));
        let mixed = [&known[..10_000], &new[..10_000]].concat();
        let found = share(&known, &mixed).unwrap();
        // 205 rows are found of 10,240 that could be: the share is known to 7 %.
        assert!((0.4..0.6).contains(&found), "{found}");
        assert_eq!(fingerprint(&known).keys.len(), MOST);
    }

    #[test]
    fn rows_that_are_often_equal_are_no_sign() {
        // Of 24 different rows every new one has been there.
        let rows = |n: usize, first: usize| (0..n).map(|i| ((i * 7 + first) % 24) as f64).collect::<Vec<f64>>();
        assert_eq!(share(&rows(2000, 0), &rows(1500, 5)), None);
        // Half of the rows are zero, and the others differ.
        let half =
            |first: usize| (0..4000).map(|i| if i % 2 == 0 { 0.0 } else { (first + i) as f64 }).collect::<Vec<f64>>();
        assert_eq!(share(&half(0), &half(10_000)), None);
        assert!(share(&half(0), &half(0)).unwrap() > 0.8);
    }

    #[test]
    fn a_row_is_what_it_holds() {
        let texts = |levels: [&str; 2]| levels.map(String::from).to_vec();
        let schema = |levels| {
            let fur = Column { name: "fur".into(), kind: Kind::Category, levels: texts(levels) };
            Schema::new(vec![fur], "y", texts(["a", "b"])).unwrap()
        };
        let labels = [0, 1, 0, 1, MISSING];
        let of = |levels, codes: &[u32]| {
            let rows = Batch::new(5).codes(codes).unwrap().classes(&labels).unwrap();
            Fingerprint::of(&Memory::new(schema(levels), rows).unwrap()).unwrap().unwrap()
        };
        let first = of(["red", "black"], &[0, 1, 1, MISSING, 0]);
        assert_eq!(first, of(["black", "red"], &[1, 0, 0, MISSING, 1]));
        assert_eq!((first.rows, first.keys.len()), (4.0, 4), "a row without a label is not learned from");
        assert_eq!(from_bytes::<Fingerprint>(&to_bytes(&first).unwrap()).unwrap(), first);
        for wrong in [Fingerprint { rows: 1.0, ..first.clone() }, Fingerprint { keys: vec![2, 1], ..first.clone() }] {
            assert!(from_bytes::<Fingerprint>(&to_bytes(&wrong).unwrap()).is_err());
        }
    }
}
