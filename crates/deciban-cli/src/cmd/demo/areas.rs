//! Living areas of flats and houses in bins: numbers as categories, without any shape assumed.

use std::path::PathBuf;

use deciban::Result;
use deciban::data::{Batch, Schema};
use deciban::family::AnyFamily;
use deciban::family::histogram::Histogram;
use deciban::learn::Classifier;
use deciban::posterior::Prior;
use deciban::transform::Binning;

use super::{in_decibans, learn};
use crate::output::say;
use deciban_tasks::describe;
use deciban_tasks::table::Table;

/// The bins of Uc Cetina's lecture "Generative learning models", in square feet.
const CUTS: [f64; 3] = [400.0, 800.0, 1200.0];
/// Made-up areas, the same as in the documentation of `Histogram`.
const FLATS: [f64; 6] = [300.0, 350.0, 420.0, 500.0, 640.0, 900.0];
const HOUSES: [f64; 6] = [700.0, 950.0, 1100.0, 1300.0, 1500.0, 2000.0];

pub fn run(_: Option<PathBuf>) -> Result<()> {
    let schema = Schema::numbers(&["area"], "home", &["flat", "house"])?;
    let areas = [FLATS, HOUSES];
    let classes: Vec<u32> = (0..12).map(|i| i / 6).collect();
    let rows = Batch::new(12).column(areas.as_flattened())?.classes(&classes)?;
    let family = Histogram { bins: Binning::Cuts(vec![CUTS.to_vec()]), pseudo_count: 1.0 };
    let model = learn(&schema, rows, AnyFamily::Histogram(family))?;

    say!("Flat or house, by the living area in square feet: six of each (made up), in bins cut at 400, 800 and 1200.");
    say!("A pseudo-count of 1 for each of the four bins: p = (n + 1)/(6 + 4). Posteriors are under equal priors.\n");
    let within =
        |bin: usize, areas: &[f64]| areas.iter().filter(|a| CUTS.iter().filter(|c| *a >= *c).count() == bin).count();
    let mut table = Table::new(["bin", "n(flat)", "n(house)", "p(flat)", "p(house)", "house, dB", "P(house | bin)"]);
    let inside = [200.0, 600.0, 1000.0, 1600.0];
    let evidence = model.evidence(&Batch::new(4).column(&inside[..])?)?;
    let posterior = evidence.posterior(&Prior::uniform(2));
    for (bin, (name, p)) in describe::parameters(&model).remove(0).rows.into_iter().enumerate() {
        table.row([
            name.trim_start_matches("area ").to_string(),
            within(bin, &FLATS).to_string(),
            within(bin, &HOUSES).to_string(),
            format!("{:.1}", p[0]),
            format!("{:.1}", p[1]),
            in_decibans(&evidence, bin, 1),
            format!("{:.3}", posterior.row(bin)[1]),
        ]);
    }
    say!("{table}");

    say!("A home of 890 square feet, which is in the third bin, under three priors:\n");
    let evidence = model.evidence(&Batch::new(1).column(&[890.0][..])?)?;
    let mut table = Table::new(["prior of a house", "evidence, dB", "P(house | 890)", "decision"]);
    for prior in [0.2, 0.5, 0.8] {
        let posterior = evidence.posterior(&Prior::new(&[1.0 - prior, prior])?);
        let decision = posterior.most_probable(0).map_or("neither", |c| ["flat", "house"][c]);
        let cells = [format!("{prior}"), in_decibans(&evidence, 0, 1), format!("{:.3}", posterior.row(0)[1])];
        table.row(cells.into_iter().chain([decision.to_string()]));
    }
    say!("{table}");
    say!("All classes share the bins, so the widths of the bins cancel. Any larger area is in the last bin.");
    Ok(())
}
