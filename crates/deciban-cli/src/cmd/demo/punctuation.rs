//! C or Python, from the counts of seven symbols: a multinomial model as a linear classifier,
//! LLR = Σ xⱼ bⱼ with bⱼ = ln p(j | C) − ln p(j | Python).
//!
//! The data are those of Cumani's lecture "Linear and quadratic classifiers I"; opening and closing
//! brackets of a kind are one symbol. The lecture prints weights from ratios of counts, and LLRs of 4.8 and
//! −0.6: the two totals were left in. The demo shows both.

use std::path::PathBuf;

use deciban::Result;
use deciban::data::{Batch, Schema};
use deciban::evidence::decibans;
use deciban::family::AnyFamily;
use deciban::family::multinomial::Multinomial;
use deciban::learn::Classifier;
use deciban::posterior::Prior;

use super::learn;
use crate::output::say;
use deciban_tasks::describe;
use deciban_tasks::table::Table;

const SYMBOLS: [&str; 7] = ["{}", "[]", "()", ":", ";", ".", ","];
const LANGUAGES: [&str; 2] = ["C", "Python"];
const C: [[u32; 7]; 4] =
    [[6, 8, 14, 1, 10, 1, 7], [8, 10, 14, 0, 11, 1, 7], [12, 22, 34, 1, 21, 2, 13], [4, 6, 10, 1, 6, 1, 4]];
const PYTHON: [[u32; 7]; 3] = [[6, 14, 30, 6, 2, 16, 16], [2, 8, 14, 3, 1, 9, 8], [4, 14, 26, 7, 2, 15, 14]];
const TESTS: [([u32; 7], &str); 2] = [([2, 10, 12, 0, 1, 1, 0], "C"), ([2, 18, 16, 3, 0, 1, 1], "Python")];

pub fn run(_: Option<PathBuf>) -> Result<()> {
    let schema = Schema::numbers(&SYMBOLS.map(String::from), "language", &LANGUAGES.map(String::from))?;
    let counts: Vec<u32> = C.iter().chain(&PYTHON).flatten().copied().collect();
    let rows = Batch::new(7).row_major(&counts[..], 7)?.classes(&[0, 0, 0, 0, 1, 1, 1])?;
    let family = Multinomial { pseudo_count: 0.0, ..Multinomial::default() };
    let model = learn(&schema, rows, AnyFamily::Multinomial(family))?;
    let p: Vec<Vec<f64>> = describe::parameters(&model).remove(0).rows.into_iter().map(|row| row.1).collect();
    let b: Vec<f64> = p.iter().map(|p| (p[0] / p[1]).ln()).collect();
    let totals = [&C[..], &PYTHON[..]].map(|scripts| [0, 1, 2, 3, 4, 5, 6].map(|j| scripts.iter().map(|n| n[j]).sum()));
    let [c, python] = totals.map(|n: [u32; 7]| f64::from(n.iter().sum::<u32>()));

    say!("C or Python? Counts of seven symbols in four scripts of C and three of Python,");
    say!("the probability π of each symbol, and the weight b of one symbol in nats:\n");
    let mut table = line();
    for (language, scripts) in LANGUAGES.iter().zip([&C[..], &PYTHON[..]]) {
        for (i, n) in scripts.iter().enumerate() {
            add_counts(&mut table, &format!("{language} script {}", i + 1), *n);
        }
    }
    for (language, n) in LANGUAGES.iter().zip(totals) {
        add_counts(&mut table, &format!("{language} total"), n);
    }
    for (k, language) in LANGUAGES.iter().enumerate() {
        add(&mut table, &format!("π({language})"), p.iter().map(|p| format!("{:.3}", p[k])), "1".into());
    }
    add(&mut table, "b = ln π(C)/π(Python)", b.iter().map(|b| format!("{b:+.3}")), String::new());
    say!("{table}");

    let raw: Vec<f64> =
        totals[0].iter().zip(totals[1]).map(|(&c, python)| (f64::from(c) / f64::from(python)).ln()).collect();
    let mut unnormalised = Vec::new();
    for (i, (x, language)) in TESTS.iter().enumerate() {
        let evidence = model.evidence(&Batch::new(1).row_major(&x[..], 7)?)?;
        let (llr, posterior) = (evidence.llr(0, 0), evidence.posterior(&Prior::uniform(2)));
        let terms = x.iter().zip(&b).map(|(&n, b)| f64::from(n) * b);
        say!("Test script {}, which is {language}:\n", i + 1);
        let mut table = line();
        add_counts(&mut table, "count x", *x);
        let terms = terms.map(|term| if term == 0.0 { "0".into() } else { format!("{term:+.3}") });
        add(&mut table, "x·b, nats", terms, format!("{llr:+.2}"));
        let best = posterior.most_probable(0).map_or("neither", |k| LANGUAGES[k]);
        say!("{table}The LLR is {llr:+.2} nats, that is {:+.1} decibans: {best}.", decibans(llr));
        say!("With equal priors, p(C) = {:.3}.\n", posterior.row(0)[0]);
        unnormalised.push(x.iter().zip(&raw).map(|(&n, b)| f64::from(n) * b).sum::<f64>());
    }
    say!("A trap: weights from counts instead of probabilities, such as ln(30/12) for `{{}}`, give");
    let [first, second] = [unnormalised[0], unnormalised[1]];
    say!(
        "{first:+.1} and {second:+.1} nats. Each symbol then counts ln({c}/{python}) = {:.3} too much for C,",
        (c / python).ln()
    );
    say!("only because the scripts of C have more symbols.");
    Ok(())
}

fn line() -> Table {
    Table::new(["symbol"].into_iter().chain(SYMBOLS).chain(["sum"]))
}

fn add_counts(table: &mut Table, title: &str, counts: [u32; 7]) {
    add(table, title, counts.map(|n| n.to_string()), counts.iter().sum::<u32>().to_string());
}

fn add(table: &mut Table, title: &str, cells: impl IntoIterator<Item = String>, sum: String) {
    table.row([title.to_string()].into_iter().chain(cells).chain([sum]));
}
