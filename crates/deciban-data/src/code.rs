//! The sequential step between parsing and observing: blocks get their row numbers and lines, and
//! their levels and classes get the codes of the whole input.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use deciban::data::MISSING;
use deciban::{Error, Result};

use crate::block::Block;
use crate::cells::{Cells, Parsed};
use crate::classes::{Levels, Stranger};
use crate::layout::Layout;
use crate::names::list;
use crate::pieces::{Input, Pieces};
use crate::plan::Plan;
use crate::source::Counter;

/// The names behind the codes of the whole input; they grow while rows are read.
#[derive(Debug)]
pub(crate) struct Names {
    /// For each feature, its levels if it is a category, or its words if they are not hashed.
    pub levels: Vec<Option<Levels>>,
    /// For each feature, how many texts were not UTF-8 in this run.
    pub broken: Vec<u64>,
    pub classes: Levels,
    /// The folds or groups.
    pub folds: Levels,
}

/// Gives blocks their place, in the order of the input.
pub(crate) struct Coder<'a> {
    plan: &'a Plan,
    names: &'a Mutex<Names>,
    unlabelled: bool,
    place: Place,
    labels: Option<Labels>,
}

/// How far the input has been read.
#[derive(Default)]
struct Place {
    blocks: usize,
    rows: u64,
    /// The line of the next row.
    line: u64,
}

impl Place {
    fn block(&mut self, layout: Arc<Layout>, first_line: Option<u64>, mut parsed: Parsed) -> Result<Block> {
        let line = first_line.unwrap_or(self.line);
        if let Some(fault) = parsed.fault.take() {
            return Err(fault.error(&layout.file, line));
        }
        let (index, first_row) = (self.blocks, self.rows);
        self.blocks += 1;
        self.rows += parsed.rows as u64;
        self.line = line + parsed.line_count;
        Ok(Block {
            index,
            first_row,
            first_line: line,
            layout,
            parsed,
            maps: Vec::new(),
            labels: None,
            hashes: Vec::new(),
        })
    }
}

impl<'a> Coder<'a> {
    pub fn new(plan: &'a Plan, names: &'a Mutex<Names>, unlabelled: bool, labels: Option<(Arc<Input>, usize)>) -> Self {
        let labels = labels.map(|(input, block)| Labels {
            pieces: Pieces::new(input.clone(), block, Counter::default()),
            input,
            place: Place::default(),
            waiting: VecDeque::new(),
        });
        let coder = Coder { plan, names, unlabelled, place: Place::default(), labels };
        coder.names().broken.fill(0);
        coder
    }

    // A panic elsewhere leaves names that were added whole.
    fn names(&self) -> MutexGuard<'a, Names> {
        self.names.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The block in its place; `None` when the labels have come to their end before the rows.
    pub fn place(&mut self, layout: Arc<Layout>, first_line: Option<u64>, parsed: Parsed) -> Result<Option<Block>> {
        let mut block = self.place.block(layout, first_line, parsed)?;
        let mut names = self.names();
        let Names { levels, broken, .. } = &mut *names;
        for (slot, known) in levels.iter_mut().enumerate() {
            let name = &self.plan.slots[slot].name;
            let (map, stranger) = match (known, &block.parsed.cells[slot]) {
                (Some(known), Cells::Codes { levels, .. }) => known.map(levels, &self.plan.missing),
                (known, Cells::Words(words)) => {
                    broken[slot] += words.broken;
                    let Some(map) = known.as_mut().map_or(Some(Vec::new()), |known| known.add(&words.new)) else {
                        let most = self.plan.vocabulary.most_words;
                        let message = format!(
                            "the texts have more than {most} different words: give §hashed_bits=20, §ngrams of fewer words, or a higher §most_words"
                        );
                        return Err(block.refuse(None, Some(name), message));
                    };
                    (map, None)
                }
                _ => continue,
            };
            if let Some((_, Stranger::TooMany)) = stranger {
                let message =
                    format!("a category cannot have so many levels: give §ignore='{name}' or §number='{name}'");
                return Err(block.refuse(None, Some(name), message));
            }
            block.maps.push((slot, map));
        }
        if let Some(slot) = self.plan.class {
            let map = class_map(&block, slot, self.plan, &mut names.classes, self.unlabelled)?;
            block.maps.push((slot, map));
        }
        if let Some(slot) = self.plan.fold
            && let Cells::Codes { levels, .. } = &block.parsed.cells[slot]
        {
            let (map, stranger) = names.folds.map(levels, &self.plan.missing);
            if stranger.is_some() {
                let message = "there are too many groups".to_string();
                return Err(block.refuse(None, Some(&self.plan.slots[slot].name), message));
            }
            block.maps.push((slot, map));
        }
        if let Some(labels) = &mut self.labels {
            match labels.take(block.parsed.rows, &mut names.classes, self.unlabelled)? {
                Some(codes) => block.labels = Some(codes),
                None => return Ok(None),
            }
        }
        Ok(Some(block))
    }

    /// What can be checked only at the end of the input.
    pub fn finish(&mut self, files: &[String]) -> Result<()> {
        let rows = self.place.rows;
        let mut names = self.names();
        if let Some(labels) = &mut self.labels {
            let count = labels.count(&mut names.classes)?;
            if count != rows {
                let data = files.first().map_or("", String::as_str);
                let message = format!("there are {count} labels for the {rows} rows of {data}: each row needs its own");
                return Err(Error::Input {
                    file: labels.input.sources[0].name.clone(),
                    line: None,
                    column: None,
                    message,
                });
            }
        }
        Ok(())
    }
}

/// The codes of a block's classes; the first row without a known class is an error.
fn class_map(block: &Block, slot: usize, plan: &Plan, classes: &mut Levels, unlabelled: bool) -> Result<Vec<u32>> {
    let Cells::Codes { codes, levels } = &block.parsed.cells[slot] else { return Ok(Vec::new()) };
    // One-hot columns have no one name.
    let name = plan.slots.get(slot).map(|slot| slot.name.as_str());
    let (map, stranger) = classes.map(levels, &plan.missing);
    let row = |local| codes.iter().position(|code| *code == local);
    if let Some((local, stranger)) = stranger {
        let message = match stranger {
            Stranger::TooMany => "the target cannot have so many classes: is it a number? Give another target".into(),
            Stranger::Unknown(class) => {
                format!("the model does not know the class `{class}`: its classes are {}", list(&classes.names()))
            }
        };
        return Err(block.refuse(row(local), name, message));
    }
    let lacks = |code: &u32| *code == MISSING || map[*code as usize] == MISSING;
    if !unlabelled
        && (codes.contains(&MISSING) || map.contains(&MISSING))
        && let Some(row) = codes.iter().position(lacks)
    {
        let message = "the class is missing: fill it in or remove the row".to_string();
        return Err(block.refuse(Some(row), name, message));
    }
    Ok(map)
}

/// The labels of another file, read in step with the rows.
struct Labels {
    input: Arc<Input>,
    pieces: Pieces,
    place: Place,
    waiting: VecDeque<u32>,
}

impl Labels {
    /// The codes of the next `rows` labels; `None` if there are not so many.
    fn take(&mut self, rows: usize, classes: &mut Levels, unlabelled: bool) -> Result<Option<Vec<u32>>> {
        while self.waiting.len() < rows {
            let Some(piece) = self.pieces.next() else { return Ok(None) };
            let (layout, first_line, parsed) = piece?.parse(&self.input.plan);
            let mut block = self.place.block(layout, first_line, parsed)?;
            // The plan of labels has one slot, the class.
            let map = class_map(&block, 0, &self.input.plan, classes, unlabelled)?;
            block.maps.push((0, map));
            block.recode();
            if let Cells::Codes { codes, .. } = &block.parsed.cells[0] {
                self.waiting.extend(codes);
            }
        }
        Ok(Some(self.waiting.drain(..rows).collect()))
    }

    /// How many labels there are in all.
    fn count(&mut self, classes: &mut Levels) -> Result<u64> {
        while self.take(self.waiting.len() + 1, classes, true)?.is_some() {
            self.waiting.clear();
        }
        Ok(self.place.rows)
    }
}
