//! The sequential step between parsing and observing: blocks get their row numbers and lines, and
//! their levels and classes get the codes of the whole input.

use std::collections::VecDeque;
use std::sync::{Arc, RwLock, RwLockWriteGuard};

use deciban::data::{Column, MISSING, UNSEEN};
use deciban::{Error, Result};

use crate::block::Block;
use crate::cells::{Cells, Parsed};
use crate::classes::{Levels, Stranger};
use crate::layout::Layout;
use crate::names::list;
use crate::pieces::{Input, Pieces};
use crate::plan::Plan;
use crate::rows::{Unseen, count_unseen};
use crate::source::Counter;

/// The names behind the codes of the whole input; they grow while rows are read.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// For each feature, its levels if it is a category, or its words if they are not hashed.
    pub levels: Vec<Option<Levels>>,
    /// For each feature, how many texts were not UTF-8 in this run.
    pub broken: Vec<u64>,
    /// For each feature, how many cells held a level that is not known in this run, and the first of them.
    pub unseen: Vec<(u64, String)>,
    pub classes: Levels,
    /// Classes that are not known, and how many rows they have in this run.
    pub unknown: Vec<(String, u64)>,
    /// The folds or groups.
    pub folds: Levels,
}

impl Names {
    pub fn new(levels: Vec<Option<Levels>>, classes: Levels) -> Self {
        let (broken, unseen) = (vec![0; levels.len()], vec![(0, String::new()); levels.len()]);
        Names { levels, broken, unseen, classes, unknown: Vec::new(), folds: Levels::open() }
    }

    /// Forgets features.
    pub fn leave_out(&mut self, features: &[usize]) {
        let classes = std::mem::replace(&mut self.classes, Levels::open());
        let levels = std::mem::take(&mut self.levels).into_iter().enumerate();
        let stays = levels.filter(|(feature, _)| !features.contains(feature)).map(|(_, levels)| levels);
        *self = Names::new(stays.collect(), classes);
    }

    /// The features with levels that are not known.
    pub fn unseen(&self, features: &[Column]) -> Vec<Unseen> {
        let columns = features.iter().zip(&self.unseen).filter(|(_, (cells, _))| *cells > 0);
        let unseen = |(column, (cells, example)): (&Column, &(u64, String))| Unseen {
            column: column.name.clone(),
            cells: *cells,
            example: example.clone(),
        };
        columns.map(unseen).collect()
    }

    /// What is odd: texts that are not UTF-8.
    pub fn warnings(&self, features: &[Column]) -> Vec<String> {
        let columns = features.iter().zip(&self.broken).filter(|(_, broken)| **broken > 0);
        let warning = |(column, broken): (&Column, &u64)| {
            let texts = if *broken == 1 { "text is" } else { "texts are" };
            format!("column `{}`: {broken} {texts} not UTF-8: read with replacement characters", column.name)
        };
        columns.map(warning).collect()
    }
}

/// Gives blocks their place, in the order of the input.
pub(crate) struct Coder<'a> {
    plan: &'a Plan,
    names: &'a RwLock<Names>,
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
            let place = (self.rows + fault.row, line + fault.line);
            return Err(layout.refuse(Some(place), fault.column.as_deref(), fault.message));
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
    pub fn new(
        plan: &'a Plan,
        names: &'a RwLock<Names>,
        unlabelled: bool,
        labels: Option<(Arc<Input>, usize)>,
    ) -> Self {
        let labels = labels.map(|(input, block)| Labels {
            pieces: Pieces::new(input.clone(), block, Counter::default()),
            input,
            place: Place::default(),
            waiting: VecDeque::new(),
        });
        let coder = Coder { plan, names, unlabelled, place: Place::default(), labels };
        let mut names = coder.names();
        names.broken.fill(0);
        names.unseen.fill((0, String::new()));
        names.unknown.clear();
        drop(names);
        coder
    }

    // A panic elsewhere leaves names that were added whole.
    fn names(&self) -> RwLockWriteGuard<'a, Names> {
        self.names.write().unwrap_or_else(|e| e.into_inner())
    }

    /// The block in its place; `None` when the labels have come to their end before the rows.
    pub fn place(&mut self, layout: Arc<Layout>, first_line: Option<u64>, parsed: Parsed) -> Result<Option<Block>> {
        let mut block = self.place.block(layout, first_line, parsed)?;
        let mut names = self.names();
        let Names { levels, broken, unseen, .. } = &mut *names;
        for (slot, known) in levels.iter_mut().enumerate() {
            let name = &self.plan.slots[slot].name;
            let (map, stranger) = match (known, &mut block.parsed.cells[slot]) {
                (Some(known), Cells::Codes { levels, codes }) => {
                    let (map, stranger) = known.map(levels, &self.plan.missing);
                    if let Some((_, Stranger::Unknown(level))) = &stranger {
                        let (cells, example) = &mut unseen[slot];
                        if *cells == 0 {
                            example.clone_from(level);
                        }
                        *cells += count_unseen(codes, &map);
                    }
                    (map, stranger)
                }
                (known, Cells::Words(words)) => {
                    broken[slot] += words.broken;
                    let new = std::mem::take(&mut words.new);
                    let Some(map) = known.as_mut().map_or(Some(Vec::new()), |known| known.add(new)) else {
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
            let map = class_map(&block, slot, self.plan, &mut names, self.unlabelled)?;
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
            match labels.take(block.parsed.rows, &mut names, self.unlabelled)? {
                Some(codes) => block.labels = Some(codes),
                None => return Ok(None),
            }
        }
        Ok(Some(block))
    }

    /// What can be checked only at the end of the input; the number of its rows.
    pub fn finish(&mut self, files: &[String]) -> Result<u64> {
        let rows = self.place.rows;
        let mut names = self.names();
        if let Some(labels) = &mut self.labels {
            let count = labels.count(&mut names)?;
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
        Ok(rows)
    }
}

/// The codes of a block's classes; the first row without a known class is an error.
fn class_map(block: &Block, slot: usize, plan: &Plan, names: &mut Names, unlabelled: bool) -> Result<Vec<u32>> {
    let Cells::Codes { codes, levels } = &block.parsed.cells[slot] else { return Ok(Vec::new()) };
    // One-hot columns have no one name.
    let name = plan.slots.get(slot).map(|slot| slot.name.as_str());
    let Names { classes, unknown, .. } = names;
    let (mut map, stranger) = classes.map(levels, &plan.missing);
    let row = |local| codes.iter().position(|code| *code == local);
    if let (Some((_, Stranger::Unknown(_))), true) = (&stranger, plan.unknown_classes) {
        for (local, _) in map.iter().enumerate().filter(|(_, code)| **code == UNSEEN) {
            let name = String::from_utf8_lossy(levels.text(local as u32)).into_owned();
            let rows = codes.iter().filter(|code| **code == local as u32).count() as u64;
            match unknown.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count += rows,
                None => unknown.push((name, rows)),
            }
        }
    } else if let Some((local, stranger)) = stranger {
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
    // A class that is not known is no label.
    map.iter_mut().filter(|code| **code == UNSEEN).for_each(|code| *code = MISSING);
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
    fn take(&mut self, rows: usize, names: &mut Names, unlabelled: bool) -> Result<Option<Vec<u32>>> {
        while self.waiting.len() < rows {
            let Some(piece) = self.pieces.next() else { return Ok(None) };
            let (layout, first_line, parsed) = piece?.parse(&self.input.plan);
            let mut block = self.place.block(layout, first_line, parsed)?;
            // The plan of labels has one slot, the class.
            let map = class_map(&block, 0, &self.input.plan, names, unlabelled)?;
            block.maps.push((0, map));
            block.recode();
            if let Cells::Codes { codes, .. } = &block.parsed.cells[0] {
                self.waiting.extend(codes);
            }
        }
        Ok(Some(self.waiting.drain(..rows).collect()))
    }

    /// How many labels there are in all.
    fn count(&mut self, names: &mut Names) -> Result<u64> {
        while self.take(self.waiting.len() + 1, names, true)?.is_some() {
            self.waiting.clear();
        }
        Ok(self.place.rows)
    }
}
