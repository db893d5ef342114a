//! Scores that become log posteriors: class k has the log posterior gₖ(z), z = z₀ + Σ Δⱼ, with z₀ the score of the
//! average row (of no cause, for noisy-OR) and Δⱼ what feature j adds, wⱼ(xⱼ − mⱼ) in linear models.
//!
//! Feature j says Δⱼ (gₖ(z) − gₖ(z₀))/(z − z₀): its part of the way, times the mean slope along it. Where
//! g is the identity, as for the softmax, that is Δⱼ; for two classes of a logit the difference of
//! the classes is.

use super::Entry;
use crate::posterior::Prior;

/// gₖ(z₀) for each class, and the mean slopes from there to z.
pub(crate) fn slopes(z0: f64, z: f64, g: impl Fn(f64) -> Vec<f64>) -> (Vec<f64>, Vec<f64>) {
    let (from, to) = (g(z0), g(z));
    let mut base = from.clone();
    let mut slopes = vec![0.0; from.len()];
    for k in 0..from.len() {
        if from[k].is_finite() && z != z0 {
            slopes[k] = (to[k] - from[k]) / (z - z0);
        } else if z != z0 {
            // Impossible before any feature: the features share all there is.
            (base[k], slopes[k]) = (0.0, to[k] / (z - z0));
        }
    }
    (base, slopes)
}

/// The weight of evidence of the average row: gₖ less the log-prior of the training data.
pub(crate) fn base(name: &str, g: &[f64], empirical: &Prior) -> Entry {
    let p = empirical.probabilities();
    Entry::new(name, "", g.iter().zip(p).map(|(g, p)| g - p.ln()).collect())
}
