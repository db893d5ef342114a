//! Rows of one group, copied one after the other out of rows of all groups, about a centre: rows are read once, in their
//! order, and never transposed.

use std::cell::RefCell;

use pulp::Simd;

use crate::numerics::vectorised;

/// Rows z = √w (x − c), and what is needed to find x again.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowBuffer {
    centre: Vec<f64>,
    /// Σ w (x − c)
    sums: Vec<f64>,
    /// As many as there is room for.
    cells: Vec<f64>,
    weights: Vec<f64>,
    places: Vec<u32>,
}

thread_local! {
    /// Memory of a thread's last buffers: fresh pages cost as much as the work on them.
    static SPARE: RefCell<Vec<RowBuffer>> = const { RefCell::new(Vec::new()) };
}

impl RowBuffer {
    /// Runs `body` with an empty buffer for each of so many groups, each with room for so many cells.
    pub fn with_each<R>(groups: usize, room: usize, body: impl FnOnce(&mut [RowBuffer]) -> R) -> R {
        let mut buffers = SPARE.take();
        buffers.resize_with(groups, RowBuffer::default);
        for buffer in &mut buffers {
            buffer.clear();
            buffer.cells.resize(room, 0.0);
        }
        let result = body(&mut buffers);
        SPARE.set(buffers);
        result
    }

    /// Forgets all rows; others will be copied about `centre`.
    pub fn start(&mut self, centre: &[f64]) {
        self.clear();
        self.centre.clear();
        self.centre.extend_from_slice(centre);
        self.sums.clear();
        self.sums.resize(centre.len(), 0.0);
    }

    /// Copies a row that stands at this place.
    ///
    /// # Panics
    /// If there is no room for it.
    #[inline(always)]
    pub fn push<S: Simd>(&mut self, simd: S, row: &[f64], weight: f64, place: u32) {
        let (root, range) = (weight.sqrt(), self.rows() * row.len()..(self.rows() + 1) * row.len());
        let (z, last_z) = S::as_mut_simd_f64s(&mut self.cells[range]);
        let ((x, last_x), (c, last_c)) = (S::as_simd_f64s(row), S::as_simd_f64s(&self.centre));
        let (sums, last_sums) = S::as_mut_simd_f64s(&mut self.sums);
        let roots = simd.splat_f64s(root);
        for (((z, x), c), sum) in z.iter_mut().zip(x).zip(c).zip(sums) {
            *z = simd.mul_f64s(simd.sub_f64s(*x, *c), roots);
            *sum = simd.mul_add_f64s(roots, *z, *sum);
        }
        for (((z, x), c), sum) in last_z.iter_mut().zip(last_x).zip(last_c).zip(last_sums) {
            *z = (x - c) * root;
            *sum = root.mul_add(*z, *sum);
        }
        self.weights.push(weight);
        self.places.push(place);
    }

    pub fn clear(&mut self) {
        self.weights.clear();
        self.places.clear();
    }

    /// How many there are.
    pub fn rows(&self) -> usize {
        self.weights.len()
    }

    /// c
    pub fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// Σ w (x − c) of each column.
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }

    /// z, row after row.
    pub fn cells(&self) -> &[f64] {
        &self.cells[..self.rows() * self.centre.len()]
    }

    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Where the rows stand.
    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// Moves the rows to the centre c + δ; the sums are left as they are.
    pub fn move_by(&mut self, delta: &[f64]) {
        vectorised!(for (row, weight) in self.cells.chunks_exact_mut(delta.len().max(1)).zip(&self.weights) {
            let root = weight.sqrt();
            row.iter_mut().zip(delta).for_each(|(z, delta)| *z -= delta * root);
        });
    }
}
