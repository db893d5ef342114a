//! What the first block says of each column, before the input is read in earnest.

use deciban::Result;
use deciban::data::{MISSING, Profile};
use rayon::prelude::*;

use crate::cells::{Cells, Parsed};
use crate::classes::Levels;
use crate::files::Files;
use crate::pieces::Pieces;
use crate::plan::Plan;
use crate::words::{Vocabulary, Words};

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
        while let Some(piece) = pieces.next() {
            let (_, _, parsed) = piece?.parse(plan);
            if parsed.fault.is_some() {
                break;
            }
            if parsed.rows > 0 {
                let is_partial = parsed.rows > Profile::MOST || pieces.next().is_some();
                let slots = (0..plan.features.len()).into_par_iter();
                return Ok(slots.map(|slot| Profile { is_partial, ..profile(&parsed, slot, plan) }).collect());
            }
        }
        Ok(Vec::new())
    }
}

fn profile(parsed: &Parsed, slot: usize, plan: &Plan) -> Profile {
    let rows = parsed.rows.min(Profile::MOST);
    match &parsed.cells[slot] {
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
                let words = Words::of(texts, tokens.clone(), Vocabulary::Words(&Levels::words(usize::MAX)));
                Profile::of_texts(parsed.rows, words.tokens() as f64, words.new.len())
            }
            None => Profile::default(),
        },
        Cells::Kept(_) | Cells::Words(_) => Profile::default(),
    }
}
