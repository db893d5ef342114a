//! The fur of cats: a colour, two classes, and what a pseudo-count is for.

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

/// A made-up count of 100 females and 100 males. Two colours in one coat need two X chromosomes, so
/// nearly all tortoiseshell cats are female: there is one male in thousands, and none of them here.
const FUR: [(&str, [u32; 2]); 6] = [
    ("black", [22, 26]),
    ("tabby", [30, 34]),
    ("grey", [13, 15]),
    ("white", [8, 5]),
    ("ginger", [5, 20]),
    ("tortoiseshell", [22, 0]),
];

const MALE: usize = 1;

pub fn run(_: Option<PathBuf>) -> Result<()> {
    let [females, males] = [0, 1].map(|c| FUR.iter().map(|(_, n)| n[c]).sum::<u32>());
    say!(
        "{females} female and {males} male cats by the colour of their fur (a made-up count). π is p(colour | gender)."
    );
    let (ml, laplace) = (fit(0.0)?, fit(1.0)?);
    say!("\nMaximum likelihood, π = n/N: what a gender never showed is impossible there.\n\n{}", table(&ml)?);
    say!("With a pseudo-count of 1, π = (n + 1)/(N + 6): rare, but possible.\n\n{}", table(&laplace)?);

    let one_in_ten = Prior::new(&[0.1, 0.9])?;
    let female = |model: &GenerativeModel| -> Result<f64> {
        let tortoiseshell = [FUR.len() as u32 - 1];
        let evidence = model.evidence(&Batch::new(1).codes(&tortoiseshell)?)?;
        Ok(evidence.posterior(&one_in_ten).row(0)[1 - MALE])
    };
    say!("P(F | tortoiseshell) where one cat in ten is female: {:.4} with the pseudo-count,", female(&laplace)?);
    say!("{:.4} by maximum likelihood: no prior moves what is impossible.", female(&ml)?);
    Ok(())
}

/// A row for each colour and gender, weighted by its count.
fn fit(pseudo_count: f64) -> Result<GenerativeModel> {
    let levels = FUR.iter().map(|(colour, _)| colour.to_string()).collect();
    let fur = Column { name: "fur".into(), kind: Kind::Category, levels };
    let schema = Schema::new(vec![fur], "gender", vec!["female".into(), "male".into()])?;
    let (mut colours, mut genders, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for (colour, (_, counts)) in FUR.iter().enumerate() {
        for (gender, &n) in counts.iter().enumerate() {
            colours.push(colour as u32);
            genders.push(gender as u32);
            weights.push(f64::from(n));
        }
    }
    let rows = Batch::new(colours.len()).codes(&colours)?.classes(&genders)?.weights(&weights)?;
    learn(&schema, rows, AnyFamily::Categorical(Categorical { pseudo_count, ..Categorical::default() }))
}

/// The π table, and what each colour says under equal priors; last a colour that nobody has seen.
fn table(model: &GenerativeModel) -> Result<Table> {
    let mut codes: Vec<u32> = (0..FUR.len() as u32).collect();
    codes.push(UNSEEN);
    let evidence = model.evidence(&Batch::new(codes.len()).codes(&codes)?)?;
    let posterior = evidence.posterior(&Prior::uniform(2));
    let pi: Vec<Vec<f64>> = describe::parameters(model).remove(0).rows.into_iter().map(|row| row.1).collect();
    let mut table =
        Table::new(["colour", "n(F)", "n(M)", "π(F)", "π(M)", "M over F, dB", "P(F | colour)", "P(M | colour)"]);
    for row in 0..codes.len() {
        let (colour, n) = FUR.get(row).copied().unwrap_or(("(one never seen)", [0, 0]));
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
