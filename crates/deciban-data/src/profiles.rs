//! What the first block says of each column, before the input is read in earnest.

use deciban::Result;
use deciban::data::{Deciding, MISSING, Profile};
use rayon::prelude::*;

use crate::cells::{Cells, Parsed};
use crate::files::Files;
use crate::pieces::Pieces;
use crate::plan::Plan;
use crate::words::Words;

impl Files {
    /// The profile of each feature, from the first block that has rows. A fault of the input is left
    /// for the pass to tell, with the rows before it.
    pub(crate) fn look(&self) -> Result<Vec<Profile>> {
        if let Some(profiles) = self.profiles.get() {
            return Ok(profiles.clone());
        }
        let profiles = self.look_anew()?;
        Ok(self.profiles.get_or_init(|| profiles).clone())
    }

    fn look_anew(&self) -> Result<Vec<Profile>> {
        let plan = &self.input.plan;
        let mut pieces = Pieces::to_look_at(self.input.clone(), self.block);
        let mut is_first = true;
        while let Some(piece) = pieces.next() {
            let piece = piece?;
            let bytes = piece.bytes().filter(|_| is_first);
            let (_, _, mut parsed) = piece.parse(plan);
            if parsed.fault.is_some() {
                break;
            }
            if parsed.rows > 0 {
                let is_partial = parsed.rows > Profile::MOST || pieces.next().is_some();
                let slots = (0..plan.features.len()).into_par_iter();
                let found: Vec<_> = slots.map(|slot| profile(&parsed, slot, plan)).collect();
                self.deciding.get_or_init(|| self.deciding_among(&parsed));
                let mut profiles = Vec::with_capacity(found.len());
                for (slot, (profile, words)) in found.into_iter().enumerate() {
                    profiles.push(Profile { is_partial, ..profile });
                    if let Some(words) = words.filter(|_| self.has_no_words(slot)) {
                        parsed.cells[slot] = Cells::Words(words);
                    }
                }
                *self.first.lock().unwrap_or_else(|e| e.into_inner()) = bytes.map(|bytes| (bytes, parsed));
                return Ok(profiles);
            }
            is_first = false;
        }
        Ok(Vec::new())
    }

    /// The features that decide the class alone in a block; none where the labels are in another file.
    fn deciding_among(&self, parsed: &Parsed) -> Vec<usize> {
        let plan = &self.input.plan;
        let Some(Cells::Codes { codes, levels }) = plan.class.map(|slot| &parsed.cells[slot]) else {
            return Vec::new();
        };
        // One class against the rest has two codes.
        let rest = self.input.options.versus_rest.as_ref();
        let class = |text: &[u8]| rest.map(|class| u32::from(text == class.as_bytes()));
        let classes: Vec<Option<u32>> = levels
            .iter()
            .zip(0..)
            .map(|(text, code)| (!plan.missing.has(text)).then(|| class(text).unwrap_or(code)))
            .collect();
        let class = |&code: &u32| classes.get(code as usize).copied().flatten().unwrap_or(MISSING);
        let labels: Vec<u32> = codes.iter().map(class).collect();
        let Some(rows) = Deciding::new(&labels) else { return Vec::new() };
        let decides = |slot: &usize| {
            let number: Box<dyn Fn(u32) -> f64> = match &parsed.cells[*slot] {
                Cells::Numbers(_) | Cells::Bytes { .. } => Box::new(|row| parsed.number(*slot, row as usize)),
                Cells::Codes { codes, levels } => {
                    let missing: Vec<bool> = levels.iter().map(|text| plan.missing.has(text)).collect();
                    Box::new(move |row| match codes[row as usize] {
                        code if missing.get(code as usize) == Some(&false) => f64::from(code),
                        _ => f64::NAN,
                    })
                }
                Cells::Texts(_) | Cells::Kept(_) | Cells::Words(_) => return false,
            };
            let are_numbers = !matches!(parsed.cells[*slot], Cells::Codes { .. });
            rows.by(are_numbers, |rows| Ok(rows.iter().map(|&row| number(row)).collect())).unwrap_or(false)
        };
        (0..plan.features.len()).into_par_iter().filter(decides).collect()
    }

    /// The first block as it was parsed for a look at it, if its words are still new, and the length of its text.
    pub(crate) fn take_first(&self) -> Option<(usize, Parsed)> {
        let (bytes, parsed) = self.first.lock().unwrap_or_else(|e| e.into_inner()).take()?;
        let is_new = |(slot, cells): (usize, &Cells)| !matches!(cells, Cells::Words(_)) || self.has_no_words(slot);
        parsed.cells.iter().enumerate().all(is_new).then_some((bytes, parsed))
    }

    /// Whether words of a column are numbered as they come, and none has come yet.
    fn has_no_words(&self, slot: usize) -> bool {
        self.lock().levels[slot].as_ref().is_some_and(|levels| levels.len() == 0 && !levels.is_fixed())
    }
}

/// What a column shows; of texts also their words, all of them new.
fn profile(parsed: &Parsed, slot: usize, plan: &Plan) -> (Profile, Option<Words>) {
    let rows = parsed.rows.min(Profile::MOST);
    let profile = match &parsed.cells[slot] {
        Cells::Numbers(numbers) => Profile::of_numbers(&numbers[..rows]),
        Cells::Codes { codes, levels } => {
            let missing: Vec<bool> = levels.iter().map(|text| plan.missing.has(text)).collect();
            let known = |&code: &u32| if code != MISSING && missing[code as usize] { MISSING } else { code };
            let name = |code: u32| String::from_utf8_lossy(levels.text(code)).into_owned();
            Profile::of_codes(codes[..rows].iter().map(known), name)
        }
        Cells::Bytes { .. } => {
            let numbers: Vec<f64> = (0..rows).map(|row| parsed.number(slot, row)).collect();
            Profile::of_numbers(&numbers)
        }
        Cells::Texts(texts) => match &plan.slots[slot].tokens {
            Some(tokens) => {
                let words = Words::all_new(texts, tokens);
                let profile = Profile::of_texts(parsed.rows, words.tokens() as f64, words.new.len());
                return (profile, Some(words));
            }
            None => Profile::default(),
        },
        Cells::Kept(_) | Cells::Words(_) => Profile::default(),
    };
    (profile, None)
}
