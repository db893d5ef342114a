//! The shares of the classes among rows without labels.
//!
//! A model learned where one row in ten is spam, moved to a stream with another spam rate, needs another prior.
//! The evidence of the stream says which (Saerens, Latinne & Decaestecker 2002): the shares π that make the rows
//! most probable,
//!
//! ```text
//! ℓ(π) = Σᵢ wᵢ ln Σₖ πₖ p(xᵢ | k)        concave, with hᵢₖ = p(xᵢ | k) / Σⱼ πⱼ p(xᵢ | j) and h̄ = Σᵢ wᵢ hᵢ / Σᵢ wᵢ
//! EM     πₖ ← πₖ h̄ₖ                      the mean posterior under the current shares
//! best   h̄ₖ ≤ 1 for every class, and h̄ₖ = 1 where πₖ > 0
//! ```
//!
//! [`maximum_likelihood`] finds them by Newton's method, with steps of EM where Newton's does not help. They are
//! right if the evidence is. [`estimate`] does not rely on that where labelled rows are at hand: see there.

mod em;
mod interval;

pub use em::{MaximumLikelihood, maximum_likelihood};
pub use interval::{Estimate, estimate};
