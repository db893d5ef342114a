//! C or Python, from the counts of seven symbols: a multinomial model as a linear classifier,
//! LLR = Σ xⱼ bⱼ with bⱼ = ln p(j | C) − ln p(j | Python).
//!
//! The example is known from lectures with the weights b = (0.837, 0.165, −0.052, −1.754, 2.182, −2.159,
//! −0.283) and two scripts of 2.73 and −3.88 nats. Its training counts are not published; those below
//! are made to give these figures, and the 4.8 and −0.6 that are printed where somebody forgot to
//! divide the counts by their sums.

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

const SYMBOLS: [char; 7] = ['*', '=', '(', '.', ';', ':', ','];
const COUNTS: [[u32; 7]; 2] = [[121, 65, 74, 20, 131, 9, 80], [39, 41, 58, 86, 11, 58, 79]];
const LANGUAGES: [&str; 2] = ["C", "Python"];
const SCRIPTS: [&str; 2] = ["int *a = b, c = f(x, y);", "for k, v in d.items(): n = max(n, v); m = s.get(k)"];

pub fn run(_: Option<PathBuf>) -> Result<()> {
    let schema = Schema::numbers(&SYMBOLS.map(String::from), "language", &LANGUAGES.map(String::from))?;
    let rows = Batch::new(2).row_major(COUNTS.as_flattened(), 7)?.classes(&[0, 1])?;
    let family = Multinomial { pseudo_count: 0.0, ..Multinomial::default() };
    let model = learn(&schema, rows, AnyFamily::Multinomial(family))?;
    let p: Vec<Vec<f64>> = describe::parameters(&model).remove(0).rows.into_iter().map(|row| row.1).collect();
    let b: Vec<f64> = p.iter().map(|p| (p[0] / p[1]).ln()).collect();

    say!("C or Python? How often seven symbols occur in scripts of each, and the weight b of one symbol:\n");
    let mut table = line("symbol", &SYMBOLS.map(String::from), "sum");
    for (language, counts) in LANGUAGES.iter().zip(COUNTS) {
        add(
            &mut table,
            &format!("n in {language}"),
            counts.map(|n| n.to_string()),
            counts.iter().sum::<u32>().to_string(),
        );
    }
    for (c, language) in LANGUAGES.iter().enumerate() {
        add(&mut table, &format!("p = n/sum, {language}"), p.iter().map(|p| format!("{:.4}", p[c])), "1".into());
    }
    add(&mut table, "b = ln p(C)/p(Python), nats", b.iter().map(|b| format!("{b:+.3}")), String::new());
    say!("{table}");

    let mut raw = Vec::new();
    for script in SCRIPTS {
        let x = SYMBOLS.map(|symbol| script.matches(symbol).count());
        let evidence = model.evidence(&Batch::new(1).row_major(&x.map(|n| n as f64)[..], 7)?)?;
        let (llr, posterior) = (evidence.llr(0, 0), evidence.posterior(&Prior::uniform(2)));
        let shares = x.iter().zip(&b).map(|(&n, b)| n as f64 * b);
        say!("A script:  {script}\n");
        let mut table = line("symbol", &SYMBOLS.map(String::from), "sum");
        add(&mut table, "count x", x.map(|n| n.to_string()), x.iter().sum::<usize>().to_string());
        add(
            &mut table,
            "x·b, nats",
            shares.map(|s| if s == 0.0 { "0".into() } else { format!("{s:+.3}") }),
            format!("{llr:+.2}"),
        );
        let best = posterior.most_probable(0).map_or("neither", |c| LANGUAGES[c]);
        say!("{table}The LLR is {llr:+.2} nats, that is {:+.1} decibans: {best}.", decibans(llr));
        say!("Where both are as likely beforehand, p(C) = {:.3}.\n", posterior.row(0)[0]);
        let unnormalised =
            |(j, &n): (usize, &usize)| n as f64 * (f64::from(COUNTS[0][j]) / f64::from(COUNTS[1][j])).ln();
        raw.push(x.iter().enumerate().map(unnormalised).sum::<f64>());
    }
    let [c, python] = COUNTS.map(|counts| counts.iter().sum::<u32>());
    say!(
        "A trap: ln of counts instead of probabilities, ln(121/39) for `*` and so on, gives {:+.1} and {:+.1}.",
        raw[0],
        raw[1]
    );
    say!(
        "Each symbol then brings ln({c}/{python}) = {:.3} for C too much, only because more C was read.",
        (f64::from(c) / f64::from(python)).ln()
    );
    Ok(())
}

fn line(title: &str, cells: &[String], sum: &str) -> Table {
    Table::new([title.to_string()].into_iter().chain(cells.iter().cloned()).chain([sum.to_string()]))
}

fn add(table: &mut Table, title: &str, cells: impl IntoIterator<Item = String>, sum: String) {
    table.row([title.to_string()].into_iter().chain(cells).chain([sum]));
}
