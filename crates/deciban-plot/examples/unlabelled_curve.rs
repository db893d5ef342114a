//! Draws the table that `crates/deciban-python/benches/unlabelled.py` prints:
//!
//! ```sh
//! python benches/unlabelled.py DATA | cargo run --release -p deciban-plot --example unlabelled_curve > docs/figures/unlabelled.svg
//! ```

use std::io::Read;

use deciban_plot::{Axis, Figure};

fn main() -> std::io::Result<()> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let figure = |title: &str, data: &str, alt: &str| {
        // A row is the name of the data, a number of labelled rows and two error rates.
        let row = |line: &str| {
            let (name, rest) = line.split_once(' ')?;
            let numbers: Vec<f64> = rest.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            (name == data && numbers.len() == 3).then_some(numbers)
        };
        let table: Vec<Vec<f64>> = text.lines().filter_map(row).collect();
        let column = |j: usize| table.iter().map(|row| row[j]).collect::<Vec<f64>>();
        let (labelled, alone, others) = (column(0), column(1), column(2));
        Figure::new(title)
            .x(Axis::log("labelled rows"))
            .y(Axis::linear("error rate on test rows, %").from(0.0))
            .line("labelled rows alone", &labelled, &alone)
            .points("labelled rows alone", &labelled, &alone)
            .line("with rows without a label", &labelled, &others)
            .points("with rows without a label", &labelled, &others)
            .size(420.0, 340.0)
            .alt(alt)
    };
    let digits = figure(
        "Digits, a Gaussian each",
        "pendigits",
        "With few labelled rows the others lower the error by far; with hundreds they raise it a little.",
    );
    let messages =
        figure("Text messages, word counts", "sms-spam", "With the other messages the error is low from the start.");
    println!("{}", Figure::grid("Learning from rows without a label", &[digits, messages], 2).svg());
    Ok(())
}
