//! One rule for which model describes rows. Densities, ranks, drawn rows, filled cells and the worth of measurements
//! follow it.
//!
//! 1. A generative model describes its rows itself. A calibration changes evidence, not densities.
//! 2. The rows of a fused model are described by its generative member with the largest weight.
//! 3. Where neither is able to, the rows are described by the [companion](crate::learn::About::companion) of the model,
//!    if it has one.

use super::Model;
use crate::error::{Error, Result};
use crate::family::Density;
use crate::learn::{Classifier, GenerativeModel};

/// The two questions about rows that a model may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// The question for log p(x), for its rank, and for rows that are drawn.
    Rows,
    /// The question for what missing cells hold, given the cells that are there.
    Cells,
}

impl Asks {
    /// Why a model cannot answer, if it cannot.
    fn refusal(self, model: &GenerativeModel) -> Option<&'static str> {
        model.blocks().iter().find_map(|fitted| match self {
            Asks::Rows => fitted.density.no_density(),
            Asks::Cells => fitted.density.no_filling(),
        })
    }

    /// What a model does not know that has nothing that describes rows.
    fn nobody(self) -> &'static str {
        match self {
            Asks::Rows => "how probable rows are",
            Asks::Cells => "what cells hold",
        }
    }
}

/// The model that describes rows.
#[derive(Clone, Copy, Debug)]
pub struct Described<'a> {
    /// The model.
    pub model: &'a GenerativeModel,
    /// Its place beside the model that was asked.
    pub by: By<'a>,
}

/// Who describes the rows of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By<'a> {
    /// The model itself.
    Itself,
    /// The member of a fused model in this place, and its name.
    Member(usize, &'a str),
    /// The generative model that stands beside it.
    Companion,
}

impl std::fmt::Display for By<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            By::Itself => f.write_str("model"),
            By::Member(_, name) => write!(f, "member {name}"),
            By::Companion => f.write_str("companion"),
        }
    }
}

impl Model {
    /// The model that describes rows, or an error that names models that do.
    ///
    /// ```
    /// use deciban::data::{Batch, Schema};
    /// use deciban::engine::Memory;
    /// use deciban::learn::{Learner, Logistic};
    /// use deciban::model::{Asks, Model};
    /// let schema = Schema::numbers(&["x"], "class", &["a", "b"])?;
    /// let rows = Batch::new(4).column(&[1.0, 3.0, 2.0, 4.0][..])?.classes(&[0, 0, 1, 1])?;
    /// let model = Model::Logistic(Logistic::default().learn(&Memory::new(schema, rows)?)?);
    /// let error = model.described(Asks::Rows).unwrap_err().to_string();
    /// assert!(error.starts_with("this model knows classes given rows, not how probable rows are: "));
    /// # Ok::<(), deciban::Error>(())
    /// ```
    pub fn described(&self, asks: Asks) -> Result<Described<'_>> {
        let plain = self.plain();
        let mut refusal = None;
        let mut able = |model: &GenerativeModel| match asks.refusal(model) {
            None => true,
            why => {
                refusal = refusal.or(why);
                false
            }
        };
        let own = match plain {
            Model::Generative(model) => able(model).then_some(Described { model, by: By::Itself }),
            Model::Fused(fused) => {
                let members = fused.members().iter().enumerate().filter_map(|(place, member)| {
                    let Model::Generative(model) = member.model.plain() else { return None };
                    able(model).then_some((member, Described { model, by: By::Member(place, &member.name) }))
                });
                members.max_by(|a, b| a.0.weight.total_cmp(&b.0.weight)).map(|(_, described)| described)
            }
            _ => None,
        };
        let companion = self.about().companion().filter(|model| asks.refusal(model).is_none());
        let described = own.or(companion.map(|model| Described { model, by: By::Companion }));
        described.ok_or_else(|| {
            Error::Schema(match (plain, refusal) {
                (_, Some(why)) => why.into(),
                (Model::Fused(_), None) => {
                    let what = asks.nobody();
                    format!("no member of this fused model knows {what}: fit a generative one, {SUCH_AS}")
                }
                (_, None) => {
                    let what = asks.nobody();
                    format!("this model knows classes given rows, not {what}: fit a generative one, {SUCH_AS}")
                }
            })
        })
    }
}

/// Models that describe rows.
const SUCH_AS: &str = "such as §model=naive-bayes or §model=gaussian";
