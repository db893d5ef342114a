//! Figures of features: densities of single columns, and regions and posteriors over two.

use deciban::data::Kind;
use deciban::evidence::decibans;
use deciban::family::{AnyDensity, AnyFamily};
use deciban::learn::Classifier;
use deciban::model::Model;
use deciban::{Error, Result};
use deciban_plot::chart::{self, Cloud, Ellipse, Grid, Regions, Sample, View};
use deciban_plot::{Figure, Marker, PALETTE, Paint, Scene};

use super::thin::thinned;
use super::{Gathered, Use, probe};
use crate::describe;

/// The histogram of a column for each class with its fitted density.
pub fn densities(gathered: &Gathered, used: &Use<'_>, column: usize) -> Result<Figure> {
    let classes = used.model.schema().classes().len();
    Ok(histogram(gathered, used, column)?.also(&not_all(most(classes), classes)))
}

/// The same of several columns side by side.
pub fn densities_of(gathered: &Gathered, used: &Use<'_>, columns: &[usize], title: &str) -> Result<Scene> {
    let panel = |column: &usize| {
        let names = probe::is_code(&used.model.schema().columns()[*column]);
        Ok(histogram(gathered, used, *column)?.bare_x().size(330.0, if names { 290.0 } else { 240.0 }))
    };
    let panels: Vec<Figure> = columns.iter().map(panel).collect::<Result<_>>()?;
    let classes = used.model.schema().classes().len();
    let title = match &not_all(most(classes), classes)[..] {
        "" => title.to_string(),
        note => format!("{title}: {note}"),
    };
    Ok(Figure::grid(&title, &panels, 3))
}

fn histogram(gathered: &Gathered, used: &Use<'_>, column: usize) -> Result<Figure> {
    let schema = used.model.schema();
    let what = &schema.columns()[column];
    let classes = schema.classes();
    let by_class: Vec<(Vec<f64>, Vec<f64>)> = (0..classes.len()).map(|k| gathered.cells(column, Some(k))).collect();
    if what.kind == Kind::Text {
        return Err(Error::parameter("columns", format!("`{}` holds texts, which have no density to draw", what.name)));
    }
    if probe::is_code(what) {
        return levels(gathered, used, column, &by_class);
    }
    let shown = gathered.shown(most(classes.len()))?;
    let samples: Vec<Sample<'_>> = shown
        .iter()
        .map(|k| Sample { name: &classes[*k], values: &by_class[*k].0, weights: &by_class[*k].1 })
        .collect();
    let (at, curves) = match probe::has_density(used.model, column) {
        true => curves(gathered, used, column, &shown)?,
        false => Default::default(),
    };
    Ok(chart::densities(&what.name, &samples, &at, &curves))
}

/// How many classes are drawn over each other: each has a colour of its own.
fn most(classes: usize) -> usize {
    if classes > PALETTE.len() { chart::COLOURED } else { classes }
}

/// Says that not all classes are shown.
pub(super) fn not_all(shown: usize, classes: usize) -> String {
    match shown < classes {
        true => format!("{shown} of {classes} classes, those with the lowest AUC"),
        false => String::new(),
    }
}

/// The fitted densities of a column of numbers for some classes, over the range that is shown.
fn curves(gathered: &Gathered, used: &Use<'_>, column: usize, shown: &[usize]) -> Result<(Vec<f64>, Vec<Vec<f64>>)> {
    let mut values: Vec<f64> = shown.iter().flat_map(|k| gathered.cells(column, Some(*k)).0).collect();
    values.retain(|x| x.is_finite());
    let Some(View { low, high, .. }) = chart::view(&values, chart::FAR) else { return Ok(Default::default()) };
    // Whole numbers have a density at whole numbers, as they are scored; a count has it nowhere else.
    let whole = values.iter().all(|x| x.fract() == 0.0);
    let counts = used.model.schema().columns()[column].kind == Kind::Count;
    let step = ((high - low) / 1000.0).ceil().max(1.0);
    let at: Vec<f64> = match whole && (counts || high - low <= 300.0) && step < 1e12 {
        true => (0..=((high - low) / step) as usize).map(|i| low + step * i as f64).collect(),
        false => {
            let room = if high > low { 0.03 * (high - low) } else { 0.5 };
            // Families of positive numbers know none that are not.
            let from = if low >= 0.0 { (low - room).max(0.5 * low) } else { low - room };
            (0..=300).map(|i| from + (high + room - from) * f64::from(i) / 300.0).collect()
        }
    };
    // Calibrated evidence is no density.
    let evidence = probe::evidence(used.model.plain(), gathered, &[column], &at)?;
    // The probability of a bin is spread between its edges.
    let bins = probe::bins(used.model, column);
    let spread = |x: f64| {
        let Some(bins) = bins else { return 1.0 };
        let (low, high) = bins.edges(bins.code(x) as usize);
        if (low..=high).contains(&x) { 1.0 / (high - low) } else { 0.0 }
    };
    let curve = |k: usize| (0..at.len()).map(|i| evidence.row(i)[k].exp() * spread(at[i])).collect();
    let curves = shown.iter().map(|k| curve(*k)).collect();
    Ok((at, curves))
}

/// The shares of levels of a column for each class with their fitted probabilities.
fn levels(gathered: &Gathered, used: &Use<'_>, column: usize, by_class: &[(Vec<f64>, Vec<f64>)]) -> Result<Figure> {
    const SHOWN: usize = 16;
    let schema = used.model.schema();
    let what = &schema.columns()[column];
    let mut total = vec![0.0; what.levels.len()];
    let share = |(values, weights): &(Vec<f64>, Vec<f64>)| {
        let mut counts = vec![0.0; what.levels.len()];
        for (code, w) in values.iter().zip(weights).filter(|(code, _)| !code.is_nan()) {
            if let Some(count) = counts.get_mut(*code as usize) {
                *count += w;
            }
        }
        let sum: f64 = counts.iter().sum();
        counts.iter().map(|c| c / sum.max(1e-300)).collect::<Vec<f64>>()
    };
    let shares: Vec<Vec<f64>> = by_class.iter().map(share).collect();
    shares.iter().for_each(|s| total.iter_mut().zip(s).for_each(|(t, s)| *t += s));
    // The most frequent levels, in their own order.
    let mut order: Vec<usize> = (0..total.len()).collect();
    order.sort_by(|a, b| total[*b].total_cmp(&total[*a]));
    order.truncate(SHOWN);
    order.sort();
    let shown = gathered.shown(most(by_class.len()))?;
    let fitted: Vec<Vec<f64>> = match probe::has_density(used.model, column) {
        false => Vec::new(),
        true => {
            let codes: Vec<f64> = order.iter().map(|c| *c as f64).collect();
            let evidence = probe::evidence(used.model.plain(), gathered, &[column], &codes)?;
            shown.iter().map(|k| (0..codes.len()).map(|i| evidence.row(i)[*k].exp()).collect()).collect()
        }
    };
    let names: Vec<String> = order.iter().map(|c| what.levels[*c].clone()).collect();
    let shares: Vec<Vec<f64>> = shown.iter().map(|k| order.iter().map(|c| shares[*k][*c]).collect()).collect();
    let classes: Vec<&str> = shown.iter().map(|k| schema.classes()[*k].as_str()).collect();
    let figure = chart::levels(&what.name, &names, &classes, &shares, &fitted);
    Ok(match total.len() > order.len() {
        true => figure.also(&format!("the {} most frequent of {} levels", order.len(), total.len())),
        false => figure,
    })
}

/// How much each column on its own tells about the class, in bits: the mean of
/// log₂ p(xⱼ|class) − log₂ Σₖ πₖ p(xⱼ|k) over the rows. The most telling first.
pub fn telling(gathered: &Gathered, used: &Use<'_>) -> Result<Vec<(usize, f64)>> {
    // Rows are scored once for each column: fewer where there are many.
    let enough = (100_000 / gathered.columns.len().max(1)).clamp(200, 2000);
    let classes = used.model.schema().classes().len();
    let some = thinned(&gathered.labels, classes, gathered.kept().div_ceil(enough).max(1));
    let mut ranked = Vec::new();
    for &column in gathered.columns.iter().filter(|c| probe::has_density(used.model, **c)) {
        let (values, weights) = gathered.cells(column, None);
        let rows: Vec<usize> = some.iter().copied().filter(|i| values[*i].is_finite()).collect();
        let cells: Vec<f64> = rows.iter().map(|i| values[*i]).collect();
        let evidence = probe::evidence(used.model.plain(), gathered, &[column], &cells)?;
        let density = evidence.log_density(used.prior);
        let (mut bits, mut total) = (0.0, 0.0);
        for (n, i) in rows.iter().enumerate() {
            let own = evidence.row(n)[gathered.labels[*i] as usize];
            // An impossible row would be minus infinity: it counts as ten bits against.
            let gain = ((own - density[n]) / std::f64::consts::LN_2).max(-10.0);
            if !gain.is_nan() {
                bits += weights[*i] * gain;
                total += weights[*i];
            }
        }
        ranked.push((column, if total > 0.0 { bits / total } else { 0.0 }));
    }
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    Ok(ranked)
}

/// Two columns and a grid over the range of the rows.
pub struct Plane {
    columns: [usize; 2],
    grid: Grid,
}

impl Plane {
    /// Over all rows kept.
    pub fn new(gathered: &Gathered, used: &Use<'_>, columns: [usize; 2]) -> Result<Self> {
        let ends = |column: usize| {
            let what = &used.model.schema().columns()[column];
            if probe::is_code(what) {
                let message = format!("`{}` does not hold numbers: a plane needs two columns that do", what.name);
                return Err(Error::parameter("columns", message));
            }
            let (values, _) = gathered.cells(column, None);
            let there = values.iter().copied().filter(|x| x.is_finite());
            let (low, high) = there.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
            Ok(match low < high {
                true => (low - 0.06 * (high - low), high + 0.06 * (high - low)),
                false if low.is_finite() => (low - 0.5, low + 0.5),
                false => (0.0, 1.0),
            })
        };
        let grid = Grid { x: ends(columns[0])?, y: ends(columns[1])?, columns: 280, rows: 200 };
        Ok(Plane { columns, grid })
    }

    /// The posterior of each class at each point of the grid.
    fn posterior(&self, gathered: &Gathered, used: &Use<'_>) -> Result<deciban::posterior::Posterior> {
        let values: Vec<f64> = self.grid.points().concat();
        Ok(probe::evidence(used.model, gathered, &self.columns, &values)?.posterior(used.prior))
    }

    fn names<'a>(&self, used: &Use<'a>) -> [&'a str; 2] {
        self.columns.map(|c| used.model.schema().columns()[c].name.as_str())
    }
}

/// At most this many points are drawn.
const POINTS: usize = 1500;

fn clouds(gathered: &Gathered, classes: usize, [x, y]: [usize; 2]) -> Vec<(Vec<f64>, Vec<f64>)> {
    let step = gathered.kept().div_ceil(POINTS).max(1);
    let (xs, _) = gathered.cells(x, None);
    let (ys, _) = gathered.cells(y, None);
    let mut points = vec![(Vec::new(), Vec::new()); classes];
    for row in thinned(&gathered.labels, classes, step) {
        let (own_xs, own_ys) = &mut points[gathered.labels[row] as usize];
        own_xs.push(xs[row]);
        own_ys.push(ys[row]);
    }
    points
}

/// Scatter, ellipses and regions of decisions.
pub fn regions(gathered: &Gathered, used: &Use<'_>, plane: &Plane) -> Result<Figure> {
    let classes = used.model.schema().classes();
    let posterior = plane.posterior(gathered, used)?;
    let costs: Vec<f64> = (0..posterior.rows())
        .flat_map(|row| {
            let p = posterior.row(row);
            match p[0].is_nan() {
                true => vec![f64::NAN; used.costs.actions().len()],
                false => used.costs.expected(&p),
            }
        })
        .collect();
    let points = clouds(gathered, classes.len(), plane.columns);
    let clouds: Vec<Cloud<'_>> = classes.iter().zip(&points).map(|(name, (xs, ys))| Cloud { name, xs, ys }).collect();
    let ellipses = ellipses(used.model, plane.columns);
    let [x, y] = plane.names(used);
    let regions = Regions { grid: plane.grid, actions: used.costs.actions(), costs: &costs };
    let mut notes: Vec<&str> = Vec::new();
    if !ellipses.is_empty() {
        notes.push("ellipses: one and two standard deviations");
    }
    notes.extend(Some(probe::others(used.model, 2)).filter(|n| !n.is_empty()));
    Ok(chart::regions(x, y, &clouds, &ellipses, Some(&regions))
        .title("Decision regions")
        .subtitle(&notes.join("; "))
        .alt(&format!("Rows by {x} and {y}, coloured by class, over the regions where each decision is best.")))
}

/// The posterior of one class over two columns.
pub fn posterior(gathered: &Gathered, used: &Use<'_>, plane: &Plane, class: usize) -> Result<Figure> {
    let classes = used.model.schema().classes();
    let posterior = plane.posterior(gathered, used)?;
    let values: Vec<f64> = (0..posterior.rows()).map(|row| posterior.row(row)[class]).collect();
    let [x, y] = plane.names(used);
    let mut figure = chart::surface(&plane.grid, &values, class, x, y);
    let clouds = clouds(gathered, classes.len(), plane.columns);
    // Where there are more classes than colours, the others are grey.
    let many = classes.len() > PALETTE.len();
    for (k, (xs, ys)) in clouds.iter().enumerate() {
        figure = match many && k != class {
            true => figure.points("other classes", xs, ys).paint(Paint::Muted).marker(Marker::Circle).opacity(0.4),
            false => figure.points(&classes[k], xs, ys).series_of(k).opacity(0.6),
        };
        figure = figure.width(1.2);
    }
    let name = &classes[class];
    Ok(figure
        .title(&format!("p({name} | {x}, {y})"))
        .subtitle(probe::others(used.model, 2))
        .alt(&format!("The probability of {name} over {x} and {y}, with lines at 10%, 50% and 90%.")))
}

/// Means and covariances of two columns, where the model has them in the units of the data.
pub(crate) fn ellipses(model: &Model, columns: [usize; 2]) -> Vec<Ellipse> {
    let Model::Generative(model) = model.plain() else { return Vec::new() };
    // The block and the place in it of a column.
    let find = |column: usize| {
        model.blocks().iter().find_map(|b| {
            let place = b.block.columns.iter().position(|c| *c == column)?;
            match (&b.block.family, &b.density) {
                (AnyFamily::Gaussian(_), AnyDensity::Gaussian(d))
                    if d.chain().is_empty() && b.block.deskew.is_none() && b.block.gaussianise.is_none() =>
                {
                    Some((d, place))
                }
                _ => None,
            }
        })
    };
    let (Some((a, i)), Some((b, j))) = (find(columns[0]), find(columns[1])) else { return Vec::new() };
    let one_block = std::ptr::eq(a, b);
    let ellipse = |class: usize| {
        let (s, t) = (a.covariance(class), b.covariance(class));
        let covariance = [s[(i, i)], if one_block { s[(i, j)] } else { 0.0 }, t[(j, j)]];
        Ellipse { class, mean: [a.mean(class)[i], b.mean(class)[j]], covariance }
    };
    (0..model.schema().classes().len()).map(ellipse).collect()
}

/// For some classes the words or levels with the most evidence for them, in decibans.
pub fn telling_words(model: &Model, shown: &[usize], words: usize) -> Vec<(String, Vec<(String, f64)>)> {
    let Model::Generative(model) = model.plain() else { return Vec::new() };
    let classes = model.schema().classes();
    let tables = describe::parameters(model);
    let Some(table) = tables.iter().find(|t| t.what == "probability") else { return Vec::new() };
    let evidence = |values: &[f64], k: usize| {
        let others = values.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, p)| p);
        decibans((values[k] * (values.len() - 1) as f64 / others.sum::<f64>()).ln())
    };
    let top = |k: usize| {
        let mut ranked: Vec<(String, f64)> = table.rows.iter().map(|(n, v)| (n.clone(), evidence(v, k))).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked.truncate(words);
        (classes[k].clone(), ranked)
    };
    shown.iter().map(|k| top(*k)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use deciban::data::{Batch, Column, Schema};
    use deciban::decision::Costs;
    use deciban::engine::Memory;
    use deciban::family::gaussian::Gaussian;
    use deciban::family::tree::Tree;
    use deciban::learn::{Generative, Learner, blocks};
    use deciban::posterior::Prior;
    use deciban::transform::Binning;

    /// Two classes, of Gumbel quantiles and of the same three further on, and a column of noise.
    fn rows() -> (Vec<f64>, Vec<u32>) {
        let row = |i: usize| {
            let u = (i / 2) as f64 / 200.0 + 0.0025;
            [-(-u.ln()).ln() + 3.0 * (i % 2) as f64, ((i * 37) % 101) as f64 / 101.0]
        };
        ((0..400).flat_map(row).collect(), (0..400).map(|i| i % 2).collect())
    }

    #[test]
    fn curves_have_area_one_also_where_numbers_are_cut_into_bins() {
        let (values, labels) = rows();
        let columns = vec![Column::number("x"), Column::number("noise")];
        let classes = vec!["a".to_string(), "b".to_string()];
        let schema = Schema::new(columns.clone(), "class", classes.clone()).unwrap();
        let batch = Batch::new(400).row_major(&values[..], 2).unwrap().classes(&labels).unwrap();
        let memory = Memory::new(schema, batch).unwrap();
        let gaussian = Generative::gaussian(&columns, Gaussian::default()).unwrap();
        let tree = blocks::together(&columns, &AnyFamily::Tree(Tree::default())).unwrap();
        let tree = Generative::of_blocks(tree).discretise(Binning::Quantiles(8));
        for learner in [gaussian, tree] {
            let model = Model::Generative(learner.learn(&memory).unwrap());
            let (prior, costs) = (Prior::uniform(2), Costs::zero_one(&classes));
            let used = Use { model: &model, prior: &prior, costs: &costs };
            let gathered = Gathered::of_cells(&used, vec![0, 1], labels.clone(), values.clone());
            let (at, curves) = curves(&gathered, &used, 0, &[0, 1]).unwrap();
            for curve in &curves {
                let area: f64 = (1..at.len()).map(|i| (at[i] - at[i - 1]) * 0.5 * (curve[i] + curve[i - 1])).sum();
                assert!((area - 1.0).abs() < 0.03, "{area}");
            }
            // The column that tells the classes apart comes first, and noise tells nothing.
            let ranked = telling(&gathered, &used).unwrap();
            assert!(ranked[0].0 == 0 && ranked[0].1 > 0.4 && ranked[1].1.abs() < 0.05, "{ranked:?}");
        }
    }
}
