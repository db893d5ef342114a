//! What the first block says of each column, before the input is read in earnest.

use deciban::Result;
use deciban::data::{MISSING, Profile};
use rayon::prelude::*;

use crate::cells::{Cells, Parsed};
use crate::files::Files;
use crate::pieces::Pieces;
use crate::plan::Plan;

impl Files {
    /// The profile of each feature, from the first block that has rows. A fault of the input is left
    /// for the pass to tell, with the rows before it.
    pub(crate) fn look(&self) -> Result<Vec<Profile>> {
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
            Profile::of_codes(codes[..rows].iter().copied().filter(|&code| code != MISSING && !missing[code as usize]))
        }
        Cells::Bytes { .. } => {
            let numbers: Vec<f64> = (0..rows).map(|row| parsed.number(slot, row)).collect();
            Profile::of_numbers(&numbers)
        }
        Cells::Texts(_) | Cells::Kept(_) | Cells::Words(_) => Profile::default(),
    }
}
