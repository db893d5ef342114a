//! Writes a figure as SVG and PNG: `cargo run --release -p deciban-plot --example convergence`.

use deciban_plot::{Axis, Figure, Theme};

fn main() -> std::io::Result<()> {
    let passes: Vec<f64> = (1..=30).map(f64::from).collect();
    let falling = |rate: f64| passes.iter().map(|p| 10f64.powf(2.0 - rate * p)).collect::<Vec<_>>();
    let newton: Vec<f64> = passes.iter().map(|p| 10f64.powf(2.0 - 0.4 * p * p)).take_while(|g| *g > 1e-13).collect();
    let figure = Figure::new("Newton needs few passes")
        .subtitle("norm of the gradient after each pass")
        .x(Axis::linear("passes over the data").from(0.0))
        .y(Axis::log("norm of the gradient").from(1e-12))
        .line("Newton", &passes[..newton.len()], &newton)
        .points("Newton", &passes[..newton.len()], &newton)
        .line("L-BFGS", &passes, &falling(0.3))
        .points("L-BFGS", &passes, &falling(0.3))
        .line("gradient descent", &passes, &falling(0.07))
        .points("gradient descent", &passes, &falling(0.07))
        .rule_y("tolerance", 1e-8)
        .alt("Newton's method reaches the tolerance in 5 passes, L-BFGS in 33, gradient descent does not.");
    let folder = std::env::temp_dir();
    std::fs::write(folder.join("convergence.svg"), figure.svg())?;
    std::fs::write(folder.join("convergence.png"), figure.png(2.0))?;
    std::fs::write(folder.join("convergence-dark.png"), figure.scene().png(2.0, Theme::Dark))?;
    println!("wrote convergence.svg, convergence.png and convergence-dark.png to {}", folder.display());
    Ok(())
}
