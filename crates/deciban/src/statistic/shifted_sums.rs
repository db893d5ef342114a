//! Sums of rows about the means of the rows before them: rows of all groups are read once, in their order, and
//! nothing is copied.

use pulp::Simd;

use crate::numerics::RowMajor;

/// Weight, Σ w(x − c) and Σ w(x − c)² of the rows of several groups, each about its own c.
#[derive(Debug)]
pub(crate) struct ShiftedSums {
    width: usize,
    /// Rows and weight of each group.
    sizes: Vec<[f64; 2]>,
    /// c of each column, the sums and the sums of squares, group by group.
    cells: Vec<f64>,
}

/// The sums of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupSums<'a> {
    pub rows: f64,
    pub weight: f64,
    pub centre: &'a [f64],
    pub sums: &'a [f64],
    pub squares: &'a [f64],
}

/// What has become of the rows of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Joined {
    /// They were added.
    All,
    /// They lie too far from the centre.
    Far,
    /// Cells are missing or infinite.
    NotFinite,
}

impl ShiftedSums {
    /// No rows yet.
    pub fn new(groups: usize, width: usize) -> Self {
        ShiftedSums { width, sizes: vec![[0.0; 2]; groups], cells: vec![0.0; 3 * groups * width] }
    }

    /// Forgets a group's rows; others will be summed about `centre`.
    pub fn start(&mut self, group: usize, centre: &[f64]) {
        self.sizes[group] = [0.0; 2];
        let (own, sums) = self.cells[3 * self.width * group..][..3 * self.width].split_at_mut(self.width);
        own.copy_from_slice(centre);
        sums.fill(0.0);
    }

    /// Forgets a group's rows, which will be summed about their mean.
    pub fn start_at_mean(&mut self, group: usize) {
        let GroupSums { weight, centre, sums, .. } = self.of(group);
        let total = if weight > 0.0 { weight } else { 1.0 };
        let mean: Vec<f64> = centre.iter().zip(sums).map(|(c, s)| c + s / total).collect();
        self.start(group, &mean);
    }

    /// Adds rows, each to its group.
    pub fn add(&mut self, rows: &RowMajor<'_>, groups: &[u32], weights: &[f64]) {
        pulp::Arch::new().dispatch(Adding { sums: self, rows, groups, weights });
    }

    /// What was summed.
    pub fn of(&self, group: usize) -> GroupSums<'_> {
        let [rows, weight] = self.sizes[group];
        let cells = &self.cells[3 * self.width * group..][..3 * self.width];
        let (centre, sums) = cells.split_at(self.width);
        let (sums, squares) = sums.split_at(self.width);
        GroupSums { rows, weight, centre, sums, squares }
    }
}

/// What [`ShiftedSums::add`] comes to. Vectors are named, because the compiler does not always find them. Rows are added
/// one by one: memory is read fastest in its order.
struct Adding<'a> {
    sums: &'a mut ShiftedSums,
    rows: &'a RowMajor<'a>,
    groups: &'a [u32],
    weights: &'a [f64],
}

impl pulp::WithSimd for Adding<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = self.sums.width;
        for (i, (&group, &weight)) in self.groups.iter().zip(self.weights).enumerate() {
            let group = group as usize;
            let [count, total] = &mut self.sums.sizes[group];
            (*count, *total) = (*count + 1.0, *total + weight);
            let (centre, sums) = self.sums.cells[3 * width * group..][..3 * width].split_at_mut(width);
            let (sums, squares) = sums.split_at_mut(width);
            let ((x, last_x), (centre, last_centre)) = (S::as_simd_f64s(self.rows.row(i)), S::as_simd_f64s(centre));
            let ((sums, last_sums), (squares, last_squares)) =
                (S::as_mut_simd_f64s(sums), S::as_mut_simd_f64s(squares));
            let weights = simd.splat_f64s(weight);
            for (((x, centre), sum), square) in x.iter().zip(centre).zip(sums).zip(squares) {
                let residual = simd.sub_f64s(*x, *centre);
                let weighted = simd.mul_f64s(weights, residual);
                *sum = simd.add_f64s(*sum, weighted);
                *square = simd.mul_add_f64s(weighted, residual, *square);
            }
            for (((x, centre), sum), square) in last_x.iter().zip(last_centre).zip(last_sums).zip(last_squares) {
                let residual = x - centre;
                *sum += weight * residual;
                *square = (weight * residual).mul_add(residual, *square);
            }
        }
    }
}
