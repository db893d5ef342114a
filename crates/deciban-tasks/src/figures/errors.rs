//! Figures of errors: confusion, ROC, DET, Bayes error curves, reliability. With two classes they are
//! of one class, the target; with more, of each class against the others.

use deciban::Result;
use deciban::evaluate::{Application, Reliability, Trials};
use deciban::evidence::{DECIBANS_PER_NAT, decibans};
use deciban::learn::Classifier;
use deciban_plot::chart::{self, ErrorCurve};
use deciban_plot::{Figure, PALETTE, Scene};

use super::{Gathered, Use};
use crate::table::number;

/// Curves in one frame: more make a large file and a grey surface.
const CURVES: usize = 60;
/// Frames side by side.
const FRAMES: usize = 12;

/// Classes of which something is drawn: one of two, or all there is room for.
fn shown(gathered: &Gathered, used: &Use<'_>, class: Option<usize>, most: usize) -> Result<Vec<usize>> {
    match (class, used.model.schema().classes().len()) {
        (Some(class), _) => Ok(vec![class]),
        (None, 2) => Ok(vec![1]),
        (None, _) => gathered.shown(most),
    }
}

/// Classes whose curves stand in one frame. Where not all have a colour of their own, the hardest to
/// tell from the others come first.
fn in_one_frame(gathered: &Gathered, used: &Use<'_>, class: Option<usize>) -> Result<Vec<usize>> {
    let mut classes = shown(gathered, used, class, CURVES)?;
    if classes.len() > PALETTE.len() {
        classes = gathered.hardest()?[..classes.len()].to_vec();
    }
    Ok(classes)
}

/// Which classes are shown and have a colour, where not all do.
fn coloured(classes: &[usize], used: &Use<'_>) -> String {
    match classes.len() > PALETTE.len() {
        true if classes.len() < used.model.schema().classes().len() => {
            format!("those with the lowest AUC, {} of them in colour", chart::COLOURED)
        }
        true => format!("in colour: the {} classes with the lowest AUC", chart::COLOURED),
        false => String::new(),
    }
}

/// How many rows the figure is of, if not of all.
fn note(gathered: &Gathered) -> String {
    match gathered.kept() < gathered.seen() {
        true => format!(", {} of {} rows", gathered.kept(), gathered.seen()),
        false => String::new(),
    }
}

fn titled(name: &str, used: &Use<'_>, classes: &[usize], gathered: &Gathered) -> String {
    let names = used.model.schema().classes();
    let rest = note(gathered);
    match classes {
        [one] => format!("{name}: {} against the rest{rest}", names[*one]),
        some if some.len() < names.len() => {
            format!("{name}: {} of {} classes against the rest{rest}", some.len(), names.len())
        }
        _ => format!("{name}: each class against the rest{rest}"),
    }
}

/// The confusion matrix.
pub fn confusion(gathered: &Gathered) -> Figure {
    let e = &gathered.evaluation;
    let counts: Vec<Vec<f64>> = e.confusion().iter().map(|row| row.to_vec()).collect();
    chart::confusion(e.classes(), e.actions(), &counts)
}

/// A name with a figure of merit, false alarms and misses over thresholds.
type Curve = (String, Vec<f64>, Vec<f64>);

/// The curves of some classes.
fn curves(
    gathered: &Gathered,
    used: &Use<'_>,
    classes: &[usize],
    merit: impl Fn(&Trials) -> String,
) -> Result<Vec<Curve>> {
    let names = used.model.schema().classes();
    let curve = |class: &usize| {
        if let Some(why) = lacking(gathered, used, *class) {
            return Ok((why, Vec::new(), Vec::new()));
        }
        let trials = gathered.trials(*class)?;
        let (false_alarm, miss) = trials.roc().iter().map(|p| (p.false_alarm, p.miss)).unzip();
        Ok((format!("{} ({})", names[*class], merit(&trials)), false_alarm, miss))
    };
    classes.iter().map(curve).collect()
}

/// The reason why a class has no curve, if so: a curve needs rows of the class and rows of others.
fn lacking(gathered: &Gathered, used: &Use<'_>, class: usize) -> Option<String> {
    let mut sides = [false; 2];
    for (_, is_true, weight) in gathered.detections(class) {
        sides[usize::from(is_true)] |= weight > 0.0;
    }
    let name = &used.model.schema().classes()[class];
    match sides {
        [true, true] => None,
        [_, false] => Some(format!("no rows of {name}")),
        [false, true] => Some(format!("all rows are of {name}")),
    }
}

/// The words on a figure that has no curve.
fn without(curves: &[Curve]) -> &'static str {
    match curves.iter().all(|(_, _, miss)| miss.is_empty()) {
        true => "no curve: it needs rows of the class and of others",
        false => "",
    }
}

fn borrowed(curves: &[Curve]) -> Vec<ErrorCurve<'_>> {
    curves.iter().map(|(name, false_alarm, miss)| ErrorCurve { name, false_alarm, miss }).collect()
}

/// ROC, with the area below it.
pub fn roc(gathered: &Gathered, used: &Use<'_>, class: Option<usize>) -> Result<Figure> {
    let classes = in_one_frame(gathered, used, class)?;
    let curves = curves(gathered, used, &classes, |t| format!("AUC {}", number(t.auc(), 4)))?;
    let figure = chart::roc(&borrowed(&curves)).title(&titled("ROC", used, &classes, gathered));
    Ok(figure.subtitle(&coloured(&classes, used)).also(without(&curves)))
}

/// DET, with the equal error rate.
pub fn det(gathered: &Gathered, used: &Use<'_>, class: Option<usize>) -> Result<Figure> {
    let classes = in_one_frame(gathered, used, class)?;
    let curves = curves(gathered, used, &classes, |t| format!("EER {}%", number(100.0 * t.eer(), 3)))?;
    let figure = chart::det(&borrowed(&curves)).title(&titled("DET", used, &classes, gathered));
    Ok(figure.subtitle(&coloured(&classes, used)).also(without(&curves)))
}

/// Bayes error curves: one figure for each class that is shown.
pub fn bayes_error(gathered: &Gathered, used: &Use<'_>, class: Option<usize>, title: Option<&str>) -> Result<Scene> {
    const DECIBANS: f64 = 35.0;
    const STEPS: usize = 400;
    let at: Vec<f64> = (0..=STEPS).map(|i| DECIBANS * (2.0 * i as f64 / STEPS as f64 - 1.0)).collect();
    let nats: Vec<f64> = at.iter().map(|x| x / DECIBANS_PER_NAT).collect();
    let classes = shown(gathered, used, class, FRAMES)?;
    let names = used.model.schema().classes();
    let which = if (2..names.len()).contains(&classes.len()) { ", those with the lowest AUC" } else { "" };
    let title =
        title.map_or_else(|| format!("{}{which}", titled("Bayes error", used, &classes, gathered)), str::to_string);
    let mut figures = Vec::new();
    for class in &classes {
        let points = gathered.trials(*class)?.bayes_error_curve(&nats);
        let column = |f: fn(&deciban::evaluate::BayesError) -> f64| points.iter().map(f).collect::<Vec<f64>>();
        let (actual, minimum, default) = (column(|p| p.actual), column(|p| p.minimum), column(|p| p.default));
        let curve = chart::BayesError { log_odds: &at, actual: &actual, minimum: &minimum, default: &default };
        let application = log_odds(used, *class).map(decibans).filter(|l| l.abs() <= DECIBANS);
        let marks: Vec<(&str, f64)> = application.iter().map(|l| ("this application", *l)).collect();
        let why = lacking(gathered, used, *class).map_or(String::new(), |why| format!("no curve: {why}"));
        let figure = chart::bayes_error(&curve, &marks).subtitle(&why);
        figures.push(match classes.len() {
            1 => figure.title(&title),
            _ => figure.title(&names[*class]).size(330.0, 270.0),
        });
    }
    Ok(match &figures[..] {
        [one] => one.scene(),
        _ => Figure::grid(&title, &figures, 3),
    })
}

/// Where prior and costs put a class on the axis of a Bayes error curve, in nats.
fn log_odds(used: &Use<'_>, class: usize) -> Option<f64> {
    if used.prior.classes() == 2
        && let Ok(application) = Application::of(used.prior, used.costs, class)
    {
        return Some(-application.threshold());
    }
    let p = used.prior.probabilities()[class];
    Some((p / (1.0 - p)).ln()).filter(|l| l.is_finite())
}

/// Reliability: of the target of two classes, else of the most probable class. The calibration error that an evaluation
/// reports is that of the most probable class, so another one is named by its class, and stands beside it.
pub fn reliability(gathered: &Gathered, used: &Use<'_>, class: Option<usize>) -> Figure {
    let names = used.model.schema().classes();
    let class = class.or((names.len() == 2).then_some(1));
    let (curve, title) = match class {
        Some(k) => {
            let prior = used.prior.probabilities()[k];
            let offset = (prior / (1.0 - prior)).ln();
            let mut curve = Reliability::new(10);
            for (llr, is_true, weight) in gathered.detections(k) {
                curve.add(1.0 / (1.0 + (-(llr + offset)).exp()), is_true, weight);
            }
            (curve, format!("Reliability of p({}){}", names[k], note(gathered)))
        }
        None => (gathered.evaluation.reliability().clone(), "Reliability of the most probable class".to_string()),
    };
    let bins = curve.curve();
    let column = |f: fn(&deciban::evaluate::ReliabilityBin) -> f64| bins.iter().map(f).collect::<Vec<f64>>();
    let (said, happened, weights) = (column(|b| b.mean), column(|b| b.share), column(|b| b.weight));
    let error = |curve: &Reliability| format!("{}%", number(100.0 * curve.error(), 3));
    let (name, second) = match class {
        Some(k) => {
            let most_probable = error(gathered.evaluation.reliability());
            let second = format!("calibration error of the most probable class: {most_probable}");
            (format!("calibration error of p({}): {}", names[k], error(&curve)), second)
        }
        None => (format!("calibration error {}", error(&curve)), String::new()),
    };
    chart::reliability(&[chart::Reliability { name: &name, said: &said, happened: &happened, weights: &weights }])
        .title(&title)
        .subtitle(&second)
}
