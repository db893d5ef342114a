//! Draws the table that `deciban demo learning-curve` prints:
//!
//! ```sh
//! deciban demo learning-curve | cargo run --release -p deciban-plot --example learning_curve > docs/figures/learning-curve.svg
//! ```

use std::io::Read;

use deciban_plot::{Axis, Figure};

fn main() -> std::io::Result<()> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    // A row of the table is a number of rows and four error rates.
    let numbers = |line: &str| line.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<f64>>();
    let table: Vec<Vec<f64>> = text.lines().map(numbers).filter(|row| row.len() == 5).collect();
    let column = |j: usize| table.iter().map(|row| row[j]).collect::<Vec<f64>>();
    let rows = column(0);
    let figure = |title: &str, lda: usize, alt: &str| {
        let (a, b) = (column(lda), column(lda + 1));
        Figure::new(title)
            .x(Axis::log("rows to learn from"))
            .y(Axis::linear("error rate on new rows, %").from(0.0).to(30.0))
            .line("LDA", &rows, &a)
            .points("LDA", &rows, &a)
            .line("logistic", &rows, &b)
            .points("logistic", &rows, &b)
            .size(420.0, 340.0)
            .alt(alt)
    };
    let gaussian = figure(
        "Gaussian classes",
        1,
        "LDA makes fewer errors than logistic regression while rows are few; with many both are as good.",
    );
    let far =
        figure("Some rows far out", 3, "LDA makes more errors than logistic regression, however many rows there are.");
    println!("{}", Figure::grid("Two schools on the same rows", &[gaussian, far], 2).svg());
    Ok(())
}
