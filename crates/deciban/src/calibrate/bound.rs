//! Bounded evidence: a small part of the posterior is spread over all classes, as if one row in 1/ε had been drawn
//! from another model than this one.
//!
//! ```text
//! pₖ = exp(eₖ)/Σ exp(eⱼ)        the posterior at a flat prior
//! eₖ ↦ ln((1 − ε) pₖ + ε/K)     no LLR is beyond ± ln(1 + K(1 − ε)/ε)
//! ```
//!
//! ε is one of [`BOUNDS`], the largest that leaves nearly the least loss after the map. Without it a few rows that a
//! model is wildly wrong about flatten the map of all others, and one such row among new ones costs more than all others.

use crate::error::Result;
use crate::evidence::Evidence;
use crate::numerics::log_shares;

/// The bounds that are tried.
pub const BOUNDS: [f64; 5] = [0.0, 1e-8, 1e-5, 1e-3, 1e-2];

/// Bounds the evidence of a row. A row that is impossible under every class says nothing then.
///
/// ```
/// use deciban::calibrate::bound;
/// let mut row = [0.0, f64::NEG_INFINITY];
/// bound(&mut row, 0.01);
/// assert!((row[0] - row[1] - 199f64.ln()).abs() < 1e-12);
/// ```
pub fn bound(row: &mut [f64], epsilon: f64) {
    if epsilon <= 0.0 {
        return;
    }
    if row.iter().all(|e| *e == f64::NEG_INFINITY) {
        row.fill(0.0);
        return;
    }
    let rest = epsilon / row.len() as f64;
    log_shares(row);
    row.iter_mut().for_each(|e| *e = ((1.0 - epsilon) * e.exp() + rest).ln());
}

/// The evidence of all rows, bounded.
pub(super) fn bounded(evidence: &Evidence, epsilon: f64) -> Result<Evidence> {
    let mut values = evidence.values().to_vec();
    values.chunks_exact_mut(evidence.classes()).for_each(|row| bound(row, epsilon));
    Evidence::new(evidence.classes(), values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn llrs_stay_in_order_and_within_the_bound() {
        for epsilon in BOUNDS {
            let llr = |x: f64| {
                let mut row = [3.0, 3.0 + x];
                bound(&mut row, epsilon);
                row[1] - row[0]
            };
            let most = if epsilon > 0.0 { (1.0 + 2.0 * (1.0 - epsilon) / epsilon).ln() } else { f64::INFINITY };
            let found: Vec<f64> = [-900.0, -30.0, -1.0, 0.0, 1.0, 30.0, 900.0].map(llr).to_vec();
            assert!(found.windows(2).all(|w| w[0] <= w[1]) && found[3].abs() < 1e-12);
            assert!(found.iter().all(|x| x.abs() <= most * (1.0 + 1e-12)), "{found:?}");
            // A row of ordinary evidence hardly feels it.
            assert!((found[4] - 1.0).abs() <= 2.0 * epsilon + 1e-12);
        }
        let mut impossible = [f64::NEG_INFINITY; 3];
        bound(&mut impossible, 0.0);
        assert_eq!(impossible, [f64::NEG_INFINITY; 3]);
        bound(&mut impossible, 1e-8);
        assert_eq!(impossible, [0.0; 3]);
    }
}
