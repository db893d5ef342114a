//! Three classes in a row: least squares never decides for the one in the middle, LDA does.

use std::path::PathBuf;

use deciban::Result;
use deciban::data::{Batch, Schema};
use deciban::engine::Memory;
use deciban::family::gaussian::{Gaussian, Structure};
use deciban::learn::{Classifier, Generative, Learner, LeastSquares};
use deciban::numerics::Random;

use crate::output::say;
use deciban_tasks::table::{Table, number, percent};

pub fn run(_: Option<PathBuf>) -> Result<()> {
    const ROWS: usize = 300;
    let mut random = Random::new(1);
    let names = ["left", "middle", "right"];
    // Every row comes with its mirror image, so that the middle class is exactly in the middle.
    let (mut values, mut classes) = (Vec::new(), Vec::new());
    for i in 0..ROWS / 2 {
        let (class, centre) = if i % 3 == 2 { (1, 0.0) } else { (2, 4.0) };
        let (x, y) = (centre + random.normal(), centre + random.normal());
        values.extend([x, y, -x, -y]);
        classes.extend([class, 2 - class]);
    }
    let schema = Schema::numbers(&["x", "y"], "class", &names)?;
    let batch = Batch::new(ROWS).row_major(&values[..], 2)?.classes(&classes)?;
    let engine = Memory::new(schema.clone(), batch.clone())?;
    let tied = Gaussian { covariance: Structure::Tied, ..Gaussian::default() };
    let lda = Generative::gaussian(schema.columns(), tied)?.learn(&engine)?;
    let squares = LeastSquares.learn(&engine)?;

    say!("Three round classes about (−4, −4), (0, 0) and (4, 4), 100 rows each.\n");
    say!("The score of each class by least squares, along the line x = y:\n");
    let mut table = Table::new(["x = y", "left", "middle", "right"]);
    for x in [-6.0, -4.0, -2.0, 0.0, 2.0, 4.0, 6.0] {
        let scores = squares.scores().into_iter().map(|form| number(form.at(&[x, x]), 3));
        table.row([number(x, 2)].into_iter().chain(scores));
    }
    say!("{table}");
    say!("The middle class has the same score everywhere, and one of its neighbours always has more.\n");
    let mut table = Table::new(["decided", "left", "middle", "right", "error rate"]);
    let evidence = [("least squares", squares.evidence(&batch)?), ("LDA", lda.evidence(&batch)?)];
    for (name, evidence) in evidence {
        let posterior = evidence.posterior(lda.empirical());
        let mut decided = [0usize; 3];
        let mut errors = 0usize;
        for (row, &class) in classes.iter().enumerate() {
            if let Some(k) = posterior.most_probable(row) {
                decided[k] += 1;
                errors += usize::from(k != class as usize);
            }
        }
        let cells = decided.iter().map(|n| n.to_string()).chain([percent(errors as f64 / ROWS as f64)]);
        table.row([name.to_string()].into_iter().chain(cells));
    }
    say!("{table}");
    say!("This is masking: a line fits the indicator of a class between others badly. Use LDA or logistic.");
    Ok(())
}
