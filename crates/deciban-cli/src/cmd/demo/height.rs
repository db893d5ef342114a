//! The height example: N(174 | 175.33, 52.89) for men, N(174 | 161.82, 46.89) for women.

use std::path::PathBuf;

use deciban::Result;
use deciban::evidence::{Evidence, decibans};
use deciban::family::normal::Normal;
use deciban::numerics::Matrix;
use deciban::posterior::Prior;

use crate::output::say;
use deciban_tasks::table::Table;

pub fn run(_: Option<PathBuf>) -> Result<()> {
    let height = 174.0;
    let women = Normal::new(vec![161.82], Matrix::diagonal(&[46.89]))?;
    let men = Normal::new(vec![175.33], Matrix::diagonal(&[52.89]))?;
    let evidence = Evidence::new(2, vec![women.log_density(&[height])?, men.log_density(&[height])?])?;
    let density = |k: usize| evidence.row(0)[k].exp();

    say!("Heights in cm: women ~ N(161.82, 46.89), men ~ N(175.33, 52.89). Somebody is 174 cm tall.\n");
    say!("  p(174 | F) = {:.5}", density(0));
    say!("  p(174 | M) = {:.5}", density(1));
    say!(
        "  likelihood ratio M over F = {:.2}, that is {:.2} decibans\n",
        density(1) / density(0),
        decibans(evidence.llr(0, 1))
    );

    say!("The evidence is the same whoever asks; the decision depends on the prior:\n");
    let mut table = Table::new(["prior F", "p(F | 174)", "p(M | 174)", "decision"]);
    for f in [0.1, 0.5, 0.8, 0.9, 0.99] {
        let posterior = evidence.posterior(&Prior::new(&[f, 1.0 - f])?);
        let p = posterior.row(0);
        let decision = if posterior.most_probable(0) == Some(0) { "F" } else { "M" };
        table.row([format!("{f}"), format!("{:.4}", p[0]), format!("{:.4}", p[1]), decision.into()]);
    }
    say!("{table}");
    say!("\nA prior of {:.1} decibans or more against M outweighs the evidence.", decibans(evidence.llr(0, 1)));
    Ok(())
}
