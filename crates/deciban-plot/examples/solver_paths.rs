//! Draws how solvers come to the optimum, from what `deciban fit --json` tells of each:
//!
//! ```sh
//! for solver in newton lbfgs gradient sgd; do
//!     deciban fit examples/cancer.csv --target diagnosis --model logistic --solver $solver --json > $solver.json
//! done
//! cargo run --release -p deciban-plot --example solver_paths newton.json lbfgs.json gradient.json sgd.json \
//!     > docs/figures/solver-paths.svg
//! ```

use deciban_plot::{Axis, Figure};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths: Vec<(String, Vec<f64>)> = Vec::new();
    for file in std::env::args().skip(1) {
        let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
        let name = report["fit"]["solver"].as_str().ok_or("no report of a logistic fit")?.to_string();
        let path = report["fit"]["path"].as_array().ok_or("no path in the report")?;
        paths.push((name, path.iter().filter_map(|value| value.as_f64()).collect()));
    }
    let least = paths.iter().flat_map(|(_, path)| path).copied().fold(f64::INFINITY, f64::min);
    let mut figure = Figure::new("Four ways to one optimum")
        .subtitle("569 tumours, 30 columns, weight decay 1")
        .x(Axis::linear("iterations").from(0.0))
        .y(Axis::log("objective − optimum, nats"))
        .alt(
            "Objective minus optimum over iterations on a logarithmic axis. Newton's method falls to the rounding in \
             nine, L-BFGS in some dozens, gradient descent in a hundred; stochastic gradient descent gets near \
             in its first passes and then hardly moves.",
        );
    for (name, path) in &paths {
        // What is less is rounding.
        let gaps: Vec<f64> = path.iter().map(|value| value - least).take_while(|gap| *gap > 1e-11).collect();
        let passes: Vec<f64> = (0..gaps.len()).map(|i| i as f64).collect();
        figure = figure.line(name, &passes, &gaps).points(name, &passes, &gaps);
    }
    println!("{}", figure.svg());
    if let Ok(file) = std::env::var("DECIBAN_PNG") {
        std::fs::write(file, figure.png(2.0))?;
    }
    Ok(())
}
