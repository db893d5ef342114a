//! The rows of a batch that have a label: those one can learn from.

use std::borrow::Cow;

use super::{Batch, MISSING, Rows};
use crate::error::{Error, Result};

/// The rows with a label.
#[derive(Debug)]
pub struct Labelled<'a> {
    labels: &'a [u32],
    /// Their numbers, unless they are all.
    some: Option<Vec<u32>>,
}

impl<'a> Labelled<'a> {
    pub(super) fn new(labels: &'a [u32]) -> Self {
        // Without an early end, so that it runs in lanes.
        let gaps = labels.iter().fold(false, |any, class| any | (*class == MISSING));
        let has_label = |row: &u32| labels[*row as usize] != MISSING;
        Labelled { labels, some: gaps.then(|| (0..labels.len() as u32).filter(has_label).collect()) }
    }

    /// Which they are.
    pub fn rows(&self) -> Rows<'_> {
        match &self.some {
            Some(rows) => Rows::Index(rows),
            None => Rows::Range(0..self.labels.len()),
        }
    }

    /// The class of each.
    pub fn classes(&self) -> Cow<'a, [u32]> {
        match &self.some {
            Some(rows) => rows.iter().map(|&row| self.labels[row as usize]).collect(),
            None => Cow::Borrowed(self.labels),
        }
    }
}

impl<'a> Batch<'a> {
    /// The class codes, or an error if the rows have no labels.
    pub fn labels_to_learn(&self) -> Result<&'a [u32]> {
        self.labels().ok_or_else(|| Error::Schema("the rows have no labels to learn from".into()))
    }

    /// The rows that have a label, or an error if none can have one.
    pub fn labelled(&self) -> Result<Labelled<'a>> {
        self.labels_to_learn().map(Labelled::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(labels: &[u32]) -> (Vec<usize>, Vec<u32>) {
        let batch = Batch::new(labels.len()).classes(labels).unwrap();
        let labelled = batch.labelled().unwrap();
        let rows = labelled.rows();
        ((0..rows.len()).map(|i| rows.get(i)).collect(), labelled.classes().into_owned())
    }

    #[test]
    fn rows_without_a_label_are_left_out() {
        assert_eq!(chosen(&[1, 0, 1]), (vec![0, 1, 2], vec![1, 0, 1]));
        assert_eq!(chosen(&[MISSING, 2, MISSING, 0]), (vec![1, 3], vec![2, 0]));
        assert_eq!(chosen(&[MISSING]), (vec![], vec![]));
        assert_eq!(chosen(&[]), (vec![], vec![]));
        assert!(Batch::new(3).labelled().is_err());
    }
}
