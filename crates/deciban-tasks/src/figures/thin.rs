//! Fewer rows that stand for many: every so many rows of each class. In a file whose classes take turns, every
//! second row of all would leave out half of the classes.

/// Counts the rows of each class, and picks every so many of each. The first row of a class is always picked.
#[derive(Clone, Debug)]
pub struct Thinning {
    classes: usize,
    /// The rows of each class, or of all classes together.
    seen: Vec<usize>,
}

impl Thinning {
    /// Of so many classes.
    pub fn new(classes: usize) -> Self {
        Thinning { classes, seen: vec![0; classes] }
    }

    /// Where there are too many classes for a row of each: of all rows together.
    pub fn together(classes: usize) -> Self {
        Thinning { classes, seen: vec![0] }
    }

    /// Whether the next row, which is of this class, is picked. Rows of no class never are.
    pub fn picks(&mut self, class: u32, every: usize) -> bool {
        if class as usize >= self.classes {
            return false;
        }
        let place = if self.seen.len() == self.classes { class as usize } else { 0 };
        self.seen[place] += 1;
        (self.seen[place] - 1).is_multiple_of(every)
    }

    /// The places of the rows that are picked.
    pub fn places(mut self, labels: &[u32], every: usize) -> Vec<usize> {
        (0..labels.len()).filter(|&row| self.picks(labels[row], every)).collect()
    }
}

/// The places of every so many rows of each class.
pub fn thinned(labels: &[u32], classes: usize, every: usize) -> Vec<usize> {
    Thinning::new(classes).places(labels, every)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_keeps_its_share() {
        // Classes take turns, and one has a single row.
        let mut labels: Vec<u32> = (0..4000).map(|i| i % 4).collect();
        labels.push(4);
        for every in [1, 2, 3, 8, 5000] {
            let rows = thinned(&labels, 5, every);
            let count = |class: u32| rows.iter().filter(|row| labels[**row] == class).count();
            assert!((0..4).all(|class| count(class) == 1000_usize.div_ceil(every)) && count(4) == 1, "{every}");
            assert!(rows.is_sorted());
        }
        assert_eq!(thinned(&[u32::MAX, 0], 1, 1), [1]);
        assert_eq!(Thinning::together(4).places(&[3, 2, 1, 0, 3], 2), [0, 2, 4]);
    }
}
