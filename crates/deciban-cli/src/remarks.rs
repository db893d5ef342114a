//! What a person should know about the columns before a fit: one line each, on standard error.

use deciban::data::{Column, Profile};

/// More columns than these are told of in one line.
const MOST: usize = 3;

/// Numbers that naive Bayes takes for a histogram, since no Gaussian describes them.
pub fn spikes(file: &str, columns: &[Column], profiles: &[Profile], places: &[usize]) -> Vec<String> {
    let constant = |&&c: &&usize| profiles[c].is_constant();
    let (constant, spiked): (Vec<&usize>, Vec<&usize>) = places.iter().partition(constant);
    let spike = |names: &str, c: Option<usize>| {
        let what = match c.map(|c| &profiles[c]) {
            Some(p) => format!("{:.0} % of the cells are {}", 100.0 * p.share(), p.mode),
            None => "one value in at least half of the cells".into(),
        };
        format!("{what}, which no Gaussian describes: scored by a histogram, unless --family {names}=gaussian")
    };
    let same = |names: &str, c: Option<usize>| {
        let what = c.map_or("always the same".into(), |c| format!("always {}", profiles[c].mode));
        format!("{what} in the first rows, which says nothing: give --ignore {names}")
    };
    let mut lines = grouped(file, columns, &spiked, spike);
    lines.extend(grouped(file, columns, &constant, same));
    lines
}

/// A line for each column, or one for all of them.
fn grouped(
    file: &str,
    columns: &[Column],
    places: &[&usize],
    say: impl Fn(&str, Option<usize>) -> String,
) -> Vec<String> {
    let file = if file == "-" { "standard input" } else { file };
    if places.len() <= MOST {
        let line =
            |&&c: &&usize| format!("note: {file}: column `{0}`: {1}", columns[c].name, say(&columns[c].name, Some(c)));
        return places.iter().map(line).collect();
    }
    let shown: Vec<String> = places.iter().take(MOST).map(|&&c| format!("`{}`", columns[c].name)).collect();
    vec![format!(
        "note: {file}: columns {} and {} more: {}",
        shown.join(", "),
        places.len() - MOST,
        say("COLUMN", None)
    )]
}
