//! One page with all figures of a model on rows: a single HTML file that needs no script, no
//! network and no other file, follows the reader's light or dark scheme, and has alt texts.

use std::fmt::Write;

use deciban::data::Kind;
use deciban::decision::Costs;
use deciban::learn::Classifier;
use deciban::model::Model;
use deciban::{Result, Wording};
use deciban_plot::{Axis, Figure, Paint, STYLE, Scene};

use super::features::not_all;
use super::{Gathered, Use, gather};
use super::{bayes_error, confusion, densities_of, det, reliability, roc, telling, telling_words};
use crate::describe;
use crate::input::Input;
use crate::table::{count, number, percent};

/// Columns whose cells are kept to find the most telling ones.
const COLUMNS: usize = 1000;
/// Columns whose densities are shown.
const SHOWN: usize = 6;
/// Classes whose most telling words are shown.
const CLASSES: usize = 6;

const PAGE: &str = "\
:root{color-scheme:light dark;--ink:#1A1C1F;--muted:#5A6068;--line:#E4E6E9;--paper:#FFFFFF}\
@media (prefers-color-scheme:dark){:root{--ink:#ECEDEE;--muted:#A9B0B8;--line:#34383E;--paper:#16181C}}\
body{margin:0 auto;max-width:1080px;padding:24px 20px 60px;background:var(--paper);color:var(--ink);\
font:15px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",\"DejaVu Sans\",Arial,sans-serif}\
h1{font-size:24px;margin:0 0 4px}h2{font-size:18px;margin:36px 0 8px;border-top:1px solid var(--line);padding-top:18px}\
p{max-width:70ch}.muted{color:var(--muted)}pre{white-space:pre-wrap;margin:0;font-size:13px}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums}th,td{padding:3px 14px 3px 0;text-align:right}\
th:first-child,td:first-child{text-align:left}th{font-weight:600;border-bottom:1px solid var(--line)}\
.row{display:flex;flex-wrap:wrap;gap:18px 36px;align-items:flex-start}.scroll{overflow-x:auto}\
figure{margin:0}svg{max-width:100%;height:auto}";

/// Reads the rows and makes the page.
pub fn report(title: &str, input: &dyn Input, used: &Use<'_>) -> Result<String> {
    let schema = used.model.schema();
    let columns: Vec<usize> = match used.model.plain() {
        Model::Generative(_) => {
            (0..schema.columns().len()).filter(|c| schema.columns()[*c].kind != Kind::Text).take(COLUMNS).collect()
        }
        _ => Vec::new(),
    };
    page(title, &gather(input, used, &columns)?, used)
}

/// What the page may load: the styles and pictures in it, and nothing else.
pub const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

fn page(title: &str, gathered: &Gathered, used: &Use<'_>) -> Result<String> {
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{0}</title>\n<style>{PAGE}{STYLE}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
        escaped(title)
    );
    if let Some(remark) = &gathered.remark {
        let _ = writeln!(page, "<p><strong>Warning</strong>: {}</p>", escaped(&remark.message(Wording::Plain)));
    }
    page += &summary(gathered, used)?;
    section(
        &mut page,
        "Decisions and probabilities",
        "Left, what was decided about rows of each class. Right, whether probabilities mean what they say: points on \
         the diagonal are calibrated, whiskers are intervals of two standard errors (Wilson), bars at the foot show where the rows are.",
        &[confusion(gathered).scene(), reliability(gathered, used, None).scene()],
    );
    let curves = [roc(gathered, used, None)?.scene(), det(gathered, used, None)?.scene()];
    section(
        &mut page,
        "How well the classes are told apart",
        "Every threshold on the evidence trades misses against false alarms. Curves towards the corner are better.",
        &curves,
    );
    section(
        &mut page,
        "Errors at other priors",
        "The error rate if the prior were another: as the model decides (actual), with the best threshold for each \
         prior (minimum), and without the data (default). What lies between actual and minimum, calibration could gain.",
        &[bayes_error(gathered, used, None, None)?],
    );
    features(&mut page, gathered, used)?;
    page += "</body>\n</html>\n";
    Ok(page)
}

fn section(page: &mut String, title: &str, text: &str, scenes: &[Scene]) {
    let _ = writeln!(page, "<h2>{title}</h2>\n<p class=\"muted\">{text}</p>\n<div class=\"row\">");
    for scene in scenes {
        let _ = writeln!(page, "<figure>{}</figure>", scene.svg_element().trim_end());
    }
    *page += "</div>\n";
}

/// Figures, classes, and the options of the model.
fn summary(gathered: &Gathered, used: &Use<'_>) -> Result<String> {
    let e = &gathered.evaluation;
    let mut figures: Vec<(&str, String)> = vec![
        ("rows", e.rows().to_string()),
        ("errors", count(e.errors())),
        ("error rate", percent(e.error_rate())),
        ("balanced accuracy", percent(e.balanced_accuracy())),
        ("log loss", format!("{} nats", number(e.log_loss(), 4))),
        ("Brier score", number(e.brier(), 4)),
        ("calibration error", number(e.calibration_error(), 4)),
        ("expected cost", number(e.expected_cost(), 4)),
    ];
    if e.rejected() > 0.0 {
        figures.push(("rejected", count(e.rejected())));
    }
    if e.undefined() > 0 {
        figures.push(("undefined (0/0)", e.undefined().to_string()));
    }
    if e.classes().len() == 2 {
        let trials = gathered.trials(1)?;
        figures.extend([
            ("Cllr", format!("{} bits", number(trials.cllr(), 4))),
            ("minimum Cllr", format!("{} bits", number(trials.min_cllr(), 4))),
            ("AUC", number(trials.auc(), 4)),
            ("EER", percent(trials.eer())),
        ]);
    }
    let mut text = String::from("<div class=\"row\">\n<table>\n");
    for (name, value) in &figures {
        let _ = writeln!(text, "<tr><td>{name}</td><td>{}</td></tr>", escaped(value));
    }
    text += "</table>\n<div class=\"scroll\"><table>\n<tr><th>class</th><th>rows</th><th>prior</th><th>precision</th><th>recall</th><th>F1</th></tr>\n";
    for (k, c) in e.per_class().iter().enumerate() {
        let share = |x: f64| if x.is_finite() { percent(x) } else { "·".to_string() };
        let cells = [
            count(c.weight),
            number(used.prior.probabilities()[k], 3),
            share(c.precision),
            share(c.recall),
            share(c.f1),
        ];
        let cells: String = cells.iter().map(|cell| format!("<td>{}</td>", escaped(cell))).collect();
        let _ = writeln!(text, "<tr><td>{}</td>{cells}</tr>", escaped(&e.classes()[k]));
    }
    text += "</table></div>\n";
    text += &costs(used);
    text += "</div>\n";
    let options = describe::in_short(used.model);
    let _ = writeln!(text, "<h2>Model</h2>\n<pre>{}</pre>", escaped(&options));
    // LLRs from elsewhere are not learned.
    if used.model.learned_from() > 0.0 {
        let rows = number(used.model.learned_from(), 12);
        let columns = used.model.schema().columns().len();
        let _ = writeln!(
            text,
            "<p class=\"muted\">Learned from {rows} rows of {columns} columns to tell {}.</p>",
            escaped(used.model.schema().target())
        );
    }
    Ok(text)
}

/// What each action costs where each class is true, unless every mistake costs 1: a row for each true class.
fn costs(used: &Use<'_>) -> String {
    let classes = used.model.schema().classes();
    if *used.costs == Costs::zero_one(classes) {
        return String::new();
    }
    let cells = |cells: Vec<String>, tag: &str| {
        let cells = cells.iter().map(|c| format!("<{tag}>{}</{tag}>", escaped(c)));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let header = ["true \\ decided, at a cost".to_string()].into_iter().chain(used.costs.actions().iter().cloned());
    let mut text = format!("<div class=\"scroll\"><table>\n{}", cells(header.collect(), "th"));
    for (c, class) in classes.iter().enumerate() {
        let row = (0..used.costs.actions().len()).map(|a| number(used.costs.cost(c, a), 4));
        text += &cells([class.clone()].into_iter().chain(row).collect(), "td");
    }
    text + "</table></div>\n"
}

/// The most telling columns, levels and words.
fn features(page: &mut String, gathered: &Gathered, used: &Use<'_>) -> Result<()> {
    let classes = used.model.schema().classes().len();
    let shown = gathered.shown(CLASSES)?;
    let words = telling_words(used.model, &shown, 12);
    let panels: Vec<Figure> = words.iter().map(|(class, entries)| bars(class, entries, "decibans", 330.0)).collect();
    // A projection knows no single columns.
    let ranked = telling(gathered, used).unwrap_or_default();
    if !ranked.is_empty() {
        let schema = used.model.schema();
        let entries: Vec<(String, f64)> =
            ranked.iter().take(15).map(|(c, bits)| (schema.columns()[*c].name.clone(), *bits)).collect();
        let mut scenes = vec![bars("Information of single columns", &entries, "bits about the class", 640.0).scene()];
        let columns: Vec<usize> = ranked.iter().take(SHOWN).map(|(c, _)| *c).collect();
        scenes.push(densities_of(gathered, used, &columns, "Densities of the most telling columns")?);
        let text = "How much each column says about the class on its own, and what it looks like in each class: bars \
                    are these rows, lines (of categories: markers) what the model has learned.";
        section(page, "Features", text, &scenes);
    }
    if !panels.is_empty() {
        let text = "Words and levels with the most evidence for each class against the others, as the model has it.";
        let title = match &not_all(shown.len(), classes)[..] {
            "" => "Most telling for each class".to_string(),
            note => format!("Most telling for {note}"),
        };
        section(page, "Most telling", text, &[Figure::grid(&title, &panels, 3)]);
    }
    Ok(())
}

/// Horizontal bars from zero.
fn bars(title: &str, entries: &[(String, f64)], unit: &str, width: f64) -> Figure {
    let names: Vec<String> = entries.iter().map(|e| e.0.clone()).collect();
    let boxes: Vec<[f64; 4]> = entries
        .iter()
        .enumerate()
        .map(|(i, (_, v))| [v.min(0.0), v.max(0.0), i as f64 - 0.38, i as f64 + 0.38])
        .collect();
    let most =
        entries.first().map_or(String::new(), |(name, value)| format!(": {name} first with {}", number(*value, 3)));
    let low = entries.iter().map(|e| e.1).filter(|v| v.is_finite()).fold(0.0, f64::min);
    let high = entries.iter().map(|e| e.1).filter(|v| v.is_finite()).fold(0.0, f64::max);
    Figure::new(title)
        .size(width, 90.0 + 20.0 * entries.len() as f64)
        .x(Axis::linear(unit).from(1.05 * low).to(if high > low { 1.05 * high } else { 1.0 }))
        .y(Axis::names("", &names).reversed())
        .boxes("", &boxes)
        .paint(Paint::Series(0))
        .opacity(0.6)
        .alt(&format!("{title} in {unit}{most}."))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
