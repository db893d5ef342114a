//! [`Files`]: opening the input, its columns and classes.

use std::any::Any;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, RwLock, RwLockReadGuard};

use deciban::data::{Batch, Column, Identity, Kind, Profile, Schema, Spelling, Written};
use deciban::engine::{Engine, Watch};
use deciban::text::Reading;
use deciban::{Error, Result};
use rayon::prelude::*;

use crate::batches::Batches;
use crate::block::Block;
use crate::cells::Parsed;
use crate::classes::Levels;
use crate::code::Names;
use crate::document::texts_of;
use crate::folder::CLASS;
use crate::infer::sample;
use crate::kept::Kept;
use crate::labels;
use crate::names::list;
use crate::oddity::Oddity;
use crate::options::{Options, Target, Vocabulary};
use crate::pieces::Input;
use crate::plan::{Dates, Plan};
use crate::row_reader::RowReader;
use crate::rows::Unseen;
use crate::source::{Source, find};

/// Called with the bytes read so far and the bytes there are.
type Report = Box<dyn Fn(u64, Option<u64>) + Send + Sync>;

/// Rows in files: read, parsed and observed as a stream, however many there are.
///
/// ```
/// use deciban_data::{Files, Options, Target};
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("wine.csv").display().to_string();
/// std::fs::write(&path, "alcohol,colour,type\n13.2,red,Barolo\n12.4,?,Barbera\n").unwrap();
///
/// let files = Files::open(&[path], Options { target: Target::Column("type".into()), ..Options::default() })?;
/// let mut rows = 0;
/// files.map_in_order(|batch| Ok(batch.rows()), |count| Ok(rows += count))?;
/// assert_eq!((rows, files.classes()), (2, vec!["Barolo".to_string(), "Barbera".to_string()]));
/// assert_eq!(files.columns()[1].levels, ["red"]);
/// # Ok::<(), deciban::Error>(())
/// ```
pub struct Files {
    pub(crate) input: Arc<Input>,
    pub(crate) labels: Option<Arc<Input>>,
    pub(crate) names: RwLock<Names>,
    pub(crate) block: usize,
    pub(crate) report: Option<Report>,
    pub(crate) watch: Option<Arc<Watch>>,
    target: String,
    /// The columns with all their levels, after the first run.
    complete: OnceLock<Arc<Vec<Column>>>,
    /// What the first rows say of each feature, once somebody has asked.
    pub(crate) profiles: OnceLock<Vec<Profile>>,
    /// The features that decide the class alone in the first rows, once somebody has looked at these.
    pub(crate) deciding: OnceLock<Vec<usize>>,
    /// The first block and the length of its text, if those rows have been looked at and not been read yet.
    pub(crate) first: Mutex<Option<(usize, Parsed)>>,
    /// How cells are written, if a schema says that; classes and levels are its, too.
    known: Option<Spelling>,
    /// Whether there may be classes, levels and words that the schema does not have.
    grows: bool,
    /// The number of the first row.
    pub(crate) first_row: u64,
    /// How many rows the first run has read.
    pub(crate) rows: OnceLock<u64>,
    /// Parsed rows between runs, where several are to come.
    pub(crate) kept: Option<Kept>,
    /// What tells rows apart.
    pub(crate) identity: Identity,
}

/// What [`Files::map_erased_in_order`] makes of a part.
pub type Mapped = Box<dyn Any + Send>;

/// Some rows of the input, with what is handed through beside them.
pub struct Part<'a> {
    batch: &'a Batch<'a>,
    block: &'a Block,
    kept: &'a [usize],
}

impl<'a> Part<'a> {
    /// The rows.
    pub fn batch(&self) -> &'a Batch<'a> {
        self.batch
    }

    /// The cell of a row in the `place`th column of [`Options::keep`], as it is written; empty where a format knows
    /// that it is missing.
    pub fn kept(&self, place: usize, row: usize) -> Cow<'a, str> {
        self.block.kept(self.kept[place], row)
    }

    /// The file of a row: its own in folders of texts if [`Options::keep_file`] wants it, or else the one that it
    /// stands in; `-` for standard input.
    pub fn file(&self, row: usize) -> &'a str {
        self.block.file(row)
    }
}

/// Parsed rows take up to this much memory between runs.
const KEPT: usize = 256 << 20;

/// About how much text is parsed at once.
const BLOCK: usize = 1 << 20;

/// The names of the columns of the input, with target and weight. Standard input is not used up.
pub fn peek_columns(paths: &[String], options: &Options) -> Result<Vec<String>> {
    Ok(sample(&find(paths, false)?, options)?.names)
}

/// The files whose rows have no class, one by one.
fn unlabelled_sources(options: &mut Options) -> Result<Vec<crate::source::Source>> {
    if !matches!(options.target, Target::Column(_)) {
        return Err(Error::parameter("unlabelled", "rows without a class need the others' in a column: give §target"));
    }
    let sources = find(&options.unlabelled_files, false)?;
    options.unlabelled_files = sources.iter().map(|source| source.name.clone()).collect();
    options.unlabelled = true;
    Ok(sources)
}

impl Files {
    /// Finds the files and infers columns and kinds from the first block.
    ///
    /// Each of `paths` is a file, a glob, a folder with a folder of texts for each class (the target is
    /// `class` by default), or `-` for standard input.
    pub fn open(paths: &[String], mut options: Options) -> Result<Files> {
        let mut sources = find(paths, false)?;
        if !options.unlabelled_files.is_empty() {
            let more = unlabelled_sources(&mut options)?;
            sources.extend(more);
        }
        Files::of_sources(sources, options)
    }

    /// Rows of record batches that come from elsewhere. Columns and kinds are inferred from the first of them. Errors
    /// name rows.
    pub fn of_batches(batches: Batches, options: Options) -> Result<Files> {
        Files::of_sources(vec![Source::of_batches(batches)], options)
    }

    fn of_sources(sources: Vec<Source>, mut options: Options) -> Result<Files> {
        if options.target == Target::None && sources.iter().all(|source| source.folder().is_some()) {
            options.target = Target::Column(CLASS.into());
        }
        let sample = sample(&sources, &options)?;
        let by_row = sources.iter().all(|source| source.in_memory);
        let plan = Plan { by_row, ..Plan::infer(&sample, &options)? };
        let classes = match (&options.versus_rest, &options.target) {
            (Some(name), Target::OneHot(names)) if !names.contains(name) => {
                return Err(Error::Classes(format!("there is no class `{name}`: the classes are {}", list(names))));
            }
            (Some(name), _) => Levels::versus_rest(name),
            (None, Target::OneHot(names)) => Levels::fixed(names),
            (None, _) => Levels::open(),
        };
        let words = options.vocabulary.hashed_bits.is_none().then_some(options.vocabulary.most_words);
        let levels = plan.features.iter().map(|column| match column.kind {
            Kind::Category => Some(Levels::open()),
            Kind::Text => words.map(Levels::of_words),
            _ => None,
        });
        let names = Names::new(levels.collect(), classes);
        Files::new(Input { sources, options, plan }, names, None)
    }

    /// Opens input that must have the columns of `schema`, for prediction and evaluation.
    ///
    /// Columns are looked up by name, or by place where there is no header; others are left out.
    /// A class that the schema does not know is an error; a level or word that it does not know gets the
    /// code [`UNSEEN`](deciban::data::UNSEEN). Cells are read as the schema's spelling says, unless `options`
    /// say otherwise; texts as the schema says, or else with the tokeniser of `options`. Where the schema is one text, files that are no tables, and
    /// folders of them, are texts themselves, a row each.
    pub fn open_as(paths: &[String], options: Options, schema: &Schema) -> Result<Files> {
        RowReader::new(schema, options)?.open(paths)
    }

    /// Opens rows of the columns of `schema` to learn more from, or to forget. As [`open_as`](Files::open_as), but
    /// classes, levels and words that the schema does not have get codes behind those that it has.
    pub fn open_more(paths: &[String], options: Options, schema: &Schema) -> Result<Files> {
        RowReader::new(schema, options)?.open_more(paths)
    }

    pub(crate) fn growing(self) -> Self {
        Files { grows: true, ..self }
    }

    pub(crate) fn new(input: Input, names: Names, known: Option<Spelling>) -> Result<Files> {
        let labels = match &input.options.target {
            Target::Labels(path) => Some(Arc::new(labels::open(path, &input.options)?)),
            _ => None,
        };
        let target = match &input.options.target {
            Target::None => "",
            Target::Column(name) => name,
            Target::Labels(_) => "label",
            Target::OneHot(_) => "class",
        };
        Ok(Files {
            target: target.into(),
            labels,
            names: RwLock::new(names),
            block: BLOCK,
            report: None,
            watch: None,
            complete: OnceLock::new(),
            profiles: OnceLock::new(),
            deciding: OnceLock::new(),
            first: Mutex::new(None),
            known,
            grows: false,
            first_row: 0,
            rows: OnceLock::new(),
            kept: None,
            identity: Identity::Place,
            input: Arc::new(input),
        })
    }

    /// How the words of texts are numbered.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.input.options.vocabulary
    }

    /// Numbers the rows from here: they are a part of a larger input.
    pub fn starting_at(self, first_row: u64) -> Self {
        Files { first_row, ..self }
    }

    /// Says what tells rows apart where some of them are drawn.
    pub fn tell_apart(&mut self, by: Identity) {
        self.identity = by;
    }

    /// How many rows there are, after a run.
    pub fn rows(&self) -> Option<u64> {
        self.rows.get().copied()
    }

    /// The columns with the levels and words of `names`, where it has them, and its classes in ascending order: for
    /// rows that several readers have looked at, each for a part.
    pub fn schema_with(&self, names: &Schema) -> Result<Schema> {
        let mut columns = self.input.plan.features.clone();
        for column in &mut columns {
            if let Some(known) = names.columns().iter().find(|known| known.name == column.name) {
                column.levels = known.levels.clone();
            }
        }
        self.schema_of(columns.into(), names.classes().to_vec())?.sorted_classes()
    }

    /// The first file, `-` for standard input.
    pub fn first_file(&self) -> &str {
        // There is at least one source.
        &self.input.sources[0].name
    }

    /// The file of each row, if each is a text of its own.
    pub fn documents(&self) -> Result<Option<Vec<String>>> {
        if self.input.options.documents.is_none() {
            return Ok(None);
        }
        let mut files = Vec::new();
        for source in &self.input.sources {
            files.extend(texts_of(source)?.into_iter().map(|(path, _)| path.display().to_string()));
        }
        Ok(Some(files))
    }

    /// Whether the input has a column of this name, wanted or not.
    pub fn has_column(&self, name: &str) -> bool {
        self.input.plan.raw.iter().any(|column| column == name)
    }

    /// The features in their order. The levels of categories and the words of texts are complete after
    /// a run.
    pub fn columns(&self) -> &[Column] {
        self.complete.get().map_or(&self.input.plan.features, |columns| columns)
    }

    /// Whether nobody has asked for a feature: it came along with the table.
    pub fn came_along(&self, feature: usize) -> bool {
        let options = &self.input.options;
        let is_named = |column: &Column| options.kinds.iter().any(|(name, _)| *name == column.name);
        options.columns.is_none() && self.input.plan.features.get(feature).is_some_and(|column| !is_named(column))
    }

    /// Leaves features out, before the rows are read.
    pub fn leave_out(&mut self, features: &[usize]) -> Result<()> {
        let started = || Error::Schema("columns are left out before rows are read, not afterwards".into());
        if self.complete.get().is_some() {
            return Err(started());
        }
        // Whoever has looked at the first rows is done with them.
        let input = Arc::get_mut(&mut self.input).ok_or_else(started)?;
        input.plan.leave_out(features);
        let names = self.names.get_mut().unwrap_or_else(|e| e.into_inner());
        names.leave_out(features);
        (self.profiles, self.deciding) = (OnceLock::new(), OnceLock::new());
        *self.first.lock().unwrap_or_else(|e| e.into_inner()) = None;
        Ok(())
    }

    /// The features that decide the class alone in the first rows: what is known only after the class does so.
    pub fn deciding(&self) -> Result<Vec<usize>> {
        self.look()?;
        Ok(self.deciding.get().cloned().unwrap_or_default())
    }

    /// What dates each feature holds, if it does.
    pub fn dates(&self) -> Vec<Option<Dates>> {
        let plan = &self.input.plan;
        plan.slots[..plan.features.len()].iter().map(|slot| slot.dates).collect()
    }

    /// The name of the target: `label` for labels of another file, `class` for one-hot columns.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The classes by code, in order of first appearance; complete after a run.
    pub fn classes(&self) -> Vec<String> {
        self.lock().classes.names()
    }

    /// The columns, the target and the classes so far.
    pub fn schema(&self) -> Result<Schema> {
        let columns = self.complete.get().cloned().unwrap_or_else(|| self.columns_so_far().into());
        self.schema_of(columns, self.classes())
    }

    fn schema_of(&self, columns: Arc<Vec<Column>>, classes: Vec<String>) -> Result<Schema> {
        let options = &self.input.options;
        let reading = columns
            .iter()
            .any(|column| column.kind == Kind::Text)
            .then(|| Reading { tokeniser: options.tokeniser.clone(), hashed_bits: options.vocabulary.hashed_bits });
        let spelling = self.spelling(&columns);
        Schema::of_shared(columns, self.target.clone(), classes)?.with_reading(reading).with_spelling(spelling)
    }

    /// How the cells of these columns are written.
    fn spelling(&self, columns: &[Column]) -> Spelling {
        if let Some(known) = &self.known {
            return known.clone();
        }
        let options = &self.input.options;
        let mut spelling = Spelling { versus_rest: options.versus_rest.clone(), ..Spelling::default() };
        if let Some(missing) = &options.missing {
            spelling.missing = missing.clone();
        }
        spelling.decimal = options.decimal.unwrap_or(spelling.decimal);
        spelling.thousands = options.thousands;
        for (column, dates) in columns.iter().zip(self.dates()) {
            let written = match dates {
                Some(Dates::Days) => Some(Written::Date),
                Some(Dates::Local) => Some(Written::LocalDate),
                None if column.kind == Kind::Category => Written::flag(&column.levels),
                None => None,
            };
            spelling.columns.extend(written.map(|written| (column.name.clone(), written)));
        }
        spelling
    }

    /// What the last run found odd, though it went on: texts that are not UTF-8.
    pub fn warnings(&self) -> Vec<String> {
        self.lock().warnings(&self.input.plan.features)
    }

    /// The columns in which the last run met levels that the schema does not have, if there is one.
    pub fn unseen(&self) -> Vec<Unseen> {
        self.lock().unseen(&self.input.plan.features)
    }

    /// What the first rows show that a person should know: cells that were taken as missing, columns that are
    /// nearly numbers.
    pub fn oddities(&self) -> &[Oddity] {
        &self.input.plan.oddities
    }

    /// The classes that the schema does not have and how many rows of the last run had each, where these are
    /// allowed ([`Options::unknown_classes`]).
    pub fn unknown_classes(&self) -> Vec<(String, u64)> {
        self.lock().unknown.clone()
    }

    /// Lets the input be read more than once: standard input goes to a temporary file, and after the
    /// first run the parsed rows stay in memory if they take no more than 256 MiB, so that no later run
    /// parses them again. Results are the same either way.
    pub fn make_rereadable(&mut self) -> Result<()> {
        self.kept.get_or_insert_with(|| Kept::new(KEPT));
        let inputs = std::iter::once(&self.input).chain(&self.labels);
        inputs.flat_map(|input| &input.sources).try_for_each(|source| source.make_rereadable())
    }

    /// Sets what is told, from time to time, how many bytes of the (compressed) input have been
    /// read, and how many there are, if that is known.
    pub fn on_progress(&mut self, report: Box<dyn Fn(u64, Option<u64>) + Send + Sync>) {
        self.report = Some(report);
    }

    /// Counts the passes and rows of all runs, which end when the watch asks for it.
    pub fn watched_by(&mut self, watch: Arc<Watch>) {
        self.watch = Some(watch);
    }

    /// Applies `map` to batches in parallel and hands the results to `emit` in the order of the rows.
    pub fn map_in_order<T: Send + 'static>(
        &self,
        map: impl Fn(&Batch<'_>) -> Result<T> + Sync,
        emit: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        self.map_parts_in_order(|part| map(part.batch()), emit)
    }

    /// The same with the columns that are [handed through](Options::keep) and the files of the rows.
    ///
    /// ```
    /// use deciban_data::{Files, Options};
    /// let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("new.csv").display().to_string();
    /// std::fs::write(&path, "id,length\nA1,1.4\nA2,4.7\n").unwrap();
    /// let options = Options { keep: vec!["id".into()], columns: Some(vec!["length".into()]), ..Options::default() };
    /// let files = Files::open(&[path], options)?;
    /// let mut ids = Vec::new();
    /// files.map_parts_in_order(
    ///     |part| Ok((0..part.batch().rows()).map(|row| part.kept(0, row).into_owned()).collect::<Vec<_>>()),
    ///     |part| Ok(ids.extend(part)),
    /// )?;
    /// assert_eq!(ids, ["A1", "A2"]);
    /// # Ok::<(), deciban::Error>(())
    /// ```
    pub fn map_parts_in_order<T: Send + 'static>(
        &self,
        map: impl Fn(&Part<'_>) -> Result<T> + Sync,
        mut emit: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        self.map_erased_in_order(&|part| Ok(Box::new(map(part)?)), &mut |mapped| {
            emit(*mapped.downcast().expect("what map has made"))
        })
    }

    /// The same for results whose type is erased, so that what runs the threads is compiled once.
    pub fn map_erased_in_order(
        &self,
        map: &(dyn Fn(&Part<'_>) -> Result<Mapped> + Sync),
        emit: &mut dyn FnMut(Mapped) -> Result<()>,
    ) -> Result<()> {
        let plan = &self.input.plan;
        let on_block = |block: &Block| block.with_batch(plan, |batch| map(&Part { batch, block, kept: &plan.kept }));
        self.stream(false, &mut |blocks| {
            self.check_stop()?;
            let results: Vec<Result<Mapped>> = blocks.par_iter().with_max_len(1).map(on_block).collect();
            results.into_iter().try_for_each(|result| emit(result?))
        })
    }

    /// Gives the classes codes in the order of their names, as [`Schema::sorted_classes`] has them, for
    /// the runs to come. A run comes first, which finds them. Classes that were known before keep theirs.
    pub fn sort_classes(&mut self) -> Result<()> {
        if self.lock().classes.is_fixed() {
            return Ok(());
        }
        let schema = self.schema()?;
        let sorted = schema.sorted_classes()?;
        let places: HashMap<&String, u32> = sorted.classes().iter().zip(0..).collect();
        let map: Vec<u32> = schema.classes().iter().map(|name| places[name]).collect();
        self.names.write().unwrap_or_else(|e| e.into_inner()).classes.reorder(sorted.classes());
        if let Some(kept) = &mut self.kept {
            kept.renumber_classes(&map, self.input.plan.class);
        }
        Ok(())
    }

    /// Sets the size of blocks: tests cut small texts into many.
    #[cfg(test)]
    pub(crate) fn with_block(mut self, bytes: usize) -> Self {
        self.block = bytes;
        self
    }

    /// Sets how much memory parsed rows may take between runs.
    #[cfg(test)]
    pub(crate) fn keeping(mut self, bytes: usize) -> Self {
        self.kept = Some(Kept::new(bytes));
        self
    }

    // A panic elsewhere leaves names that were added whole.
    pub(crate) fn lock(&self) -> RwLockReadGuard<'_, Names> {
        self.names.read().unwrap_or_else(|e| e.into_inner())
    }

    fn columns_so_far(&self) -> Vec<Column> {
        let names = self.lock();
        let mut columns = self.input.plan.features.clone();
        if self.known.is_none() || self.grows {
            for (column, levels) in columns.iter_mut().zip(&names.levels) {
                column.levels = levels.as_ref().map(Levels::names).unwrap_or_default();
            }
        }
        columns
    }

    /// What a whole run leaves behind.
    pub(crate) fn complete(&self) -> Result<()> {
        if self.known.is_none() {
            self.lock().classes.check_seen()?;
        }
        self.complete.get_or_init(|| self.columns_so_far().into());
        Ok(())
    }
}
