//! The fur of cats: one category, two classes, and what a pseudo-count is for.

use std::path::PathBuf;

use deciban::Result;
use deciban::data::{Batch, Column, Kind, Schema, UNSEEN};
use deciban::family::AnyFamily;
use deciban::family::categorical::Categorical;
use deciban::learn::{Classifier, GenerativeModel};
use deciban::posterior::Prior;

use super::{in_decibans, learn, probability};
use crate::output::say;
use deciban_tasks::describe;
use deciban_tasks::table::Table;

const COLOURS: [&str; 4] = ["black", "orange", "white", "calico"];
const CALICO: u32 = 3;
const GENDERS: [&str; 2] = ["female", "male"];
const MALE: usize = 1;
/// Ten cats as (colour, gender): the data of Cumani's lecture "Linear and quadratic classifiers I".
const CATS: [(&str, &str); 10] = [
    ("black", "male"),
    ("orange", "male"),
    ("black", "female"),
    ("orange", "male"),
    ("white", "male"),
    ("white", "female"),
    ("white", "male"),
    ("white", "female"),
    ("black", "female"),
    ("calico", "female"),
];

pub fn run(_: Option<PathBuf>) -> Result<()> {
    say!("Ten cats, five of each gender, by the colour of their fur. π is p(colour | gender).");
    let (ml, laplace) = (fit(0.0)?, fit(1.0)?);
    say!("\nMaximum likelihood, π = n/N: a colour that a gender never showed is impossible for it.\n\n{}", table(&ml)?);
    say!("With a pseudo-count of 1, π = (n + 1)/(N + 4): such a colour is rare, but possible.\n\n{}", table(&laplace)?);

    let one_in_ten = Prior::new(&[0.1, 0.9])?;
    let female = |model: &GenerativeModel| -> Result<f64> {
        let evidence = model.evidence(&Batch::new(1).codes(&[CALICO])?)?;
        Ok(evidence.posterior(&one_in_ten).row(0)[1 - MALE])
    };
    say!("P(F | calico) where one cat in ten is female: {:.4} with the pseudo-count,", female(&laplace)?);
    say!("{:.4} by maximum likelihood: no prior can change what is impossible.", female(&ml)?);
    Ok(())
}

/// A row for each cat.
fn fit(pseudo_count: f64) -> Result<GenerativeModel> {
    let levels = COLOURS.map(String::from).to_vec();
    let fur = Column { name: "fur".into(), kind: Kind::Category, levels };
    let schema = Schema::new(vec![fur], "gender", GENDERS.map(String::from).to_vec())?;
    let [colours, genders] = codes();
    let rows = Batch::new(CATS.len()).codes(&colours)?.classes(&genders)?;
    learn(&schema, rows, AnyFamily::Categorical(Categorical { pseudo_count, ..Categorical::default() }))
}

/// The places of each cat's colour and gender in their lists.
fn codes() -> [Vec<u32>; 2] {
    let place = |list: &[&str], name: &str| list.iter().position(|n| *n == name).unwrap_or(list.len()) as u32;
    [CATS.map(|(colour, _)| place(&COLOURS, colour)).to_vec(), CATS.map(|(_, gender)| place(&GENDERS, gender)).to_vec()]
}

/// How many cats have this colour, by gender.
fn counts(colour: &str) -> [usize; 2] {
    GENDERS.map(|gender| CATS.iter().filter(|cat| **cat == (colour, gender)).count())
}

/// The π table, and the evidence of each colour with posteriors under equal priors. The last row is a
/// colour that no cat has.
fn table(model: &GenerativeModel) -> Result<Table> {
    let mut codes: Vec<u32> = (0..COLOURS.len() as u32).collect();
    codes.push(UNSEEN);
    let evidence = model.evidence(&Batch::new(codes.len()).codes(&codes)?)?;
    let posterior = evidence.posterior(&Prior::uniform(2));
    let pi: Vec<Vec<f64>> = describe::parameters(model).remove(0).rows.into_iter().map(|row| row.1).collect();
    let mut table =
        Table::new(["colour", "n(F)", "n(M)", "π(F)", "π(M)", "M over F, dB", "P(F | colour)", "P(M | colour)"]);
    for row in 0..codes.len() {
        let colour = COLOURS.get(row).copied().unwrap_or("(never seen)");
        let n = counts(colour);
        let pi = pi.get(row).cloned().unwrap_or_else(|| evidence.row(row).iter().map(|e| e.exp()).collect());
        let p = posterior.row(row);
        table.row([
            colour.to_string(),
            n[0].to_string(),
            n[1].to_string(),
            format!("{:.4}", pi[0]),
            format!("{:.4}", pi[1]),
            in_decibans(&evidence, row, MALE),
            probability(p[0]),
            probability(p[1]),
        ]);
    }
    Ok(table)
}
