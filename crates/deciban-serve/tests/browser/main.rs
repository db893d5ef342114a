//! The page in a headless Chromium: the same flow on the served page and on the self-contained file, opened from disk.

mod driver;

use std::path::{Path, PathBuf};

use deciban::model::Model;
use deciban_data::{Files, Options, Target};
use deciban_serve::Server;
use deciban_tasks::{Learning, learn};
use driver::{Browser, axe};
use serde_json::{Value, json};

/// Keys, as WebDriver names them.
const TAB: &str = "\u{e004}";
const BACKSPACE: &str = "\u{e003}";
const END: &str = "\u{e010}";
const LEFT: &str = "\u{e012}";
const UP: &str = "\u{e013}";
const RIGHT: &str = "\u{e014}";

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name).canonicalize().unwrap()
}

/// A Gaussian model of the wines.
fn wine() -> Model {
    let options = Options { target: Target::Column("Type".into()), ..Options::default() };
    let mut files = Files::open(&[example("wine.csv").display().to_string()], options).unwrap();
    learn(&Learning { model: "gaussian".into(), ..Learning::default() }, &mut files).unwrap().model
}

/// The field of a column.
fn field(name: &str) -> String {
    format!("[id='{name}']")
}

/// Gives the fields of the form ids that tests can name: those of their columns.
fn name_fields(browser: &Browser) {
    browser.run(
        "document.querySelectorAll('.field').forEach((field) => {
           const label = field.querySelector('label');
           const control = document.getElementById(label.htmlFor);
           control.id = label.htmlFor = label.textContent;
         })",
        json!([]),
    );
}

/// Waits until all that was changed is scored and shown.
fn settle(browser: &Browser) {
    browser.wait("the page is settled", "return document.documentElement.dataset.settled === 'true'");
}

fn text(browser: &Browser, css: &str) -> String {
    let found = browser.run("return document.querySelector(arguments[0]).textContent", json!([css]));
    found.as_str().unwrap().to_string()
}

/// What each feature says in the ledger, by name.
fn evidence(browser: &Browser) -> Value {
    settle(browser);
    browser.run(
        "return Object.fromEntries([...document.querySelectorAll('.waterfall tr.feature')]
           .map((row) => [row.querySelector('th').textContent, row.dataset.decibans]))",
        json!([]),
    )
}

/// The bars of the features as they are drawn, up to where they begin.
fn widths(browser: &Browser) -> Value {
    browser.run(
        "return [...document.querySelectorAll('.waterfall tr.feature rect')].map((bar) => bar.getAttribute('width'))",
        json!([]),
    )
}

fn until_decided(browser: &Browser, class: &str) {
    browser.wait(
        &format!("{class} is decided"),
        &format!("return document.querySelector('.decision strong')?.textContent === '{class}'"),
    );
    settle(browser);
}

/// The first wine of the file, typed into the form.
fn fill_in_the_form(browser: &Browser) {
    let csv = std::fs::read_to_string(example("wine.csv")).unwrap();
    let (header, first) = (csv.lines().next().unwrap(), csv.lines().nth(1).unwrap());
    for (name, cell) in header.split(',').zip(first.split(',')).skip(1) {
        browser.fill(&field(name), cell);
    }
    until_decided(browser, "Barolo");
}

/// What `flow` needs to know of the model.
struct Known<'a> {
    url: &'a str,
    axe: &'a str,
    name: &'a str,
}

fn flow(browser: &Browser, known: &Known<'_>) {
    browser.look(1280, 1000, "light");
    browser.go(known.url);
    name_fields(browser);
    assert_eq!(text(browser, "h1"), "wine");
    fill_in_the_form(browser);
    form_and_state(browser, known);
    prior(browser);
    costs_and_reject(browser);
    map(browser);
    unusual(browser);
    table(browser);
    keyboard(browser, known);
    looks(browser, known);
    assert_eq!(browser.console(), [""; 0]);
}

fn form_and_state(browser: &Browser, known: &Known<'_>) {
    // An empty field is an unknown cell, and silent.
    browser.click(&format!(".field:has({}) .forget", field("Ash")));
    browser.wait(
        "Ash is unknown",
        "return document.querySelector('.ledger').textContent.includes('unknown, and silent: Ash')",
    );
    assert!(evidence(browser).get("Ash").is_none());
    browser.fill(&field("Ash"), "2.43");
    browser.wait("Ash speaks", "return document.querySelectorAll('.waterfall tr.feature').length === 13");
    // The ledger adds up.
    let sums = browser.run(
        "const said = (css) => [...document.querySelectorAll(css)].map((row) => Number(row.dataset.decibans));
         return [said('.waterfall tr.prior, .waterfall tr.feature').reduce((a, b) => a + b, 0), said('.waterfall tr.total')[0]]",
        json!([]),
    );
    assert!((sums[0].as_f64().unwrap() - sums[1].as_f64().unwrap()).abs() < 1e-9, "{sums}");
    // A reload of the address brings the case back.
    browser.fill(&field("Hue"), "1.11");
    browser.wait("the address holds the case", "return location.hash.includes('x.Hue=1.11')");
    let address = browser.run("return location.href", json!([]));
    assert!(!address.as_str().unwrap().split('#').next().unwrap().contains("1.11"));
    browser.go(address.as_str().unwrap());
    name_fields(browser);
    assert_eq!(browser.run("return document.getElementById('Hue').value", json!([])), "1.11");
    // A pasted row.
    browser.click(".paste summary");
    browser.keys(".paste textarea", r#"{"Alcohol": 12.5, "Flavanoids": 0.5, "Proline": 600, "Color intensity": 8}"#);
    browser.click(".paste button");
    until_decided(browser, "Barbera");
    assert_eq!(browser.run("return document.getElementById('Ash').value", json!([])), "");
    // What cannot be read is said, and the page goes on.
    browser.go(&format!("{}#x.Alcohol=abc", known.url));
    name_fields(browser);
    browser.wait("the cell is refused", "return document.querySelector('.problem').textContent.includes('Alcohol')");
    fill_in_the_form(browser);
    browser.wait("the complaint is gone", "return document.querySelector('.problem').textContent === ''");
    // Chromium notes every answer that is a refusal; there must be nothing else.
    assert!(browser.console().iter().all(|said| said.contains("status of 422")));
}

fn prior(browser: &Browser) {
    let (before, bars) = (evidence(browser), widths(browser));
    assert!(bars.as_array().unwrap().len() == 13, "{bars}");
    // The evidence for Barolo is strong: only a prior that nearly rules it out turns the decision.
    browser.fill("input[aria-label='Prior of Barolo in per cent']", "1e-15");
    until_decided(browser, "Grignolino");
    assert_eq!(evidence(browser), before, "the evidence does not depend on the prior");
    let start = browser.run("return Number(document.querySelector('.waterfall tr.prior').dataset.decibans)", json!([]));
    assert!(start.as_f64().unwrap() < -150.0, "{start}");
    // By the slider and the keyboard: to the right end Barolo is all but certain.
    browser.run("document.querySelectorAll('.slider input[type=range]')[1].focus()", json!([]));
    browser.press(&[END]);
    until_decided(browser, "Barolo");
    assert_eq!(evidence(browser), before);
    browser.click(".prior .buttons button");
    browser.wait(
        "the prior is back",
        "return Math.abs(Number(document.querySelector('.slider input[type=number]').value) - 26.97) < 0.01",
    );
    assert_eq!((evidence(browser), widths(browser)), (before, bars));
}

fn costs_and_reject(browser: &Browser) {
    let before = evidence(browser);
    let zones =
        || browser.run("return document.querySelector('.waterfall .axis svg').getAttribute('aria-label')", json!([]));
    let plain = zones();
    // A wrong Barolo becomes dear: the threshold moves, the evidence does not.
    browser.fill("input[aria-label='Cost of deciding Barolo where Grignolino is true']", "1e18");
    until_decided(browser, "Grignolino");
    assert_ne!(zones(), plain);
    assert_eq!(evidence(browser), before);
    browser.click(".costs .buttons button");
    until_decided(browser, "Barolo");
    // The typical wine is doubtful: a cheap reject takes it.
    browser.click(".starts button");
    until_decided(browser, "Grignolino");
    browser.click(".reject input[type='checkbox']");
    browser.fill(".reject input[type='number']", "0.05");
    until_decided(browser, "reject");
    let label = zones();
    assert!(label.as_str().unwrap().contains("reject from"), "{label}");
    browser.click(".costs .buttons button");
    until_decided(browser, "Grignolino");
}

fn map(browser: &Browser) {
    let place = || {
        browser.run(
            "return [...document.querySelectorAll('.axis-control')].map((axis) =>
               [axis.querySelector('select').selectedOptions[0].textContent, Number(axis.querySelector('input').value)])",
            json!([]),
        )
    };
    browser.wait("the regions are named", "return document.querySelectorAll('.regions text').length > 0");
    assert_eq!(browser.run("return document.querySelectorAll('.ellipse').length", json!([])), 6);
    let before = place();
    browser.run("document.querySelector('.plane').scrollIntoView({ block: 'center' })", json!([]));
    browser.drag(".point .dot", (90, -60));
    let across = |sign: &str, than: &Value| {
        let box_value = "Number(document.querySelector('.axis-control input').value)";
        browser.wait("the point has moved", &format!("return {box_value} {sign} {}", than[0][1]));
    };
    across(">", &before);
    let after = place();
    let moved = |k: usize| after[k][1].as_f64().unwrap() - before[k][1].as_f64().unwrap();
    assert!(moved(0) > 0.0 && moved(1) > 0.0, "{before} {after}");
    // The form follows the point.
    let name = after[0][0].as_str().unwrap().to_string();
    let cell = browser.run("return Number(document.getElementById(arguments[0]).value)", json!([name]));
    assert_eq!(cell, after[0][1]);
    // Arrow keys: one step up, two to the left; the point keeps the focus.
    browser.run("document.querySelector('.point').focus()", json!([]));
    browser.press(&[UP]);
    browser.wait(
        "it is higher",
        &format!("return Number(document.querySelectorAll('.axis-control input')[1].value) > {}", after[1][1]),
    );
    browser.press(&[LEFT, LEFT]);
    across("<", &after);
    browser.wait("the focus is kept", "return document.activeElement === document.querySelector('.point')");
    let stepped = place();
    assert!(
        stepped[0][1].as_f64() < after[0][1].as_f64() && stepped[1][1].as_f64() > after[1][1].as_f64(),
        "{stepped}"
    );
    // A number box; an answer that comes while it is emptied would fill it again.
    settle(browser);
    browser.fill(".axis-control input", "3");
    browser.wait("the form follows", &format!("return document.getElementById('{name}').value === '3'"));
}

fn unusual(browser: &Browser) {
    browser.click(".starts button");
    browser.wait(
        "a usual row",
        "return document.querySelector('.usual').textContent.includes('of the rows that the model would make')",
    );
    assert_eq!(text(browser, ".usual .warning"), "");
    browser.fill(&field("Alcohol"), "20");
    browser.wait("a warning", "return document.querySelector('.usual .warning').textContent.startsWith('Far out')");
    browser.wait("a remark", "return document.querySelector('.form').textContent.includes('above all that was seen')");
    browser.click(".starts button");
}

fn table(browser: &Browser) {
    let csv = std::fs::read_to_string(example("wine.csv")).unwrap();
    // Dropped.
    browser.run(
        "const files = new DataTransfer();
         files.items.add(new File([arguments[0]], 'wine.csv', { type: 'text/csv' }));
         document.querySelector('.drop').dispatchEvent(new DragEvent('drop', { dataTransfer: files, bubbles: true, cancelable: true }))",
        json!([csv]),
    );
    browser.wait("the table is judged", "return document.querySelectorAll('.judged .figures dd').length > 0");
    let figures = browser.run(
        "return Object.fromEntries([...document.querySelectorAll('.figures > div')].map((d) => [d.children[0].textContent, d.children[1].textContent]))",
        json!([]),
    );
    // By `deciban evaluate` on the same rows.
    assert_eq!((&figures["labelled rows"], &figures["error"]), (&json!("178"), &json!("0.56 %")));
    assert_eq!(browser.run("return document.querySelectorAll('.curves svg').length", json!([])), 2);
    // The decisions follow the prior.
    let counts = || text(browser, ".counts");
    let before = counts();
    browser.fill("input[aria-label='Prior of Barolo in per cent']", "1e-9");
    browser.wait("decisions change", &format!("return document.querySelector('.counts').textContent !== '{before}'"));
    browser.click(".prior .buttons button");
    // Chosen, without labels and without some columns.
    let file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    std::fs::write(file.path(), "Proline,Flavanoids\n1200,3.2\n,0.6\n").unwrap();
    browser.keys(".drop input", &file.path().display().to_string());
    browser.wait("two rows", "return document.querySelector('.drop').textContent.includes('2 rows')");
    let told = "return document.querySelector('.drop').textContent.includes('Not in the file, so unknown: Alcohol')";
    browser.wait("columns that are not there", told);
    // A row becomes the case.
    browser.click(".table tbody button");
    browser.wait("the row is in the form", "return document.getElementById('Proline').value === '1200'");
    // A cell that is not a number names its row.
    std::fs::write(file.path(), "Proline\n1200\nmuch\n").unwrap();
    browser.run("document.querySelector('.drop input').value = ''", json!([]));
    browser.keys(".drop input", &file.path().display().to_string());
    browser.wait("an error", "return /Row 2|row 2/.test(document.querySelector('.drop').textContent)");
    assert!(browser.console().iter().all(|said| said.contains("status of 422")));
}

/// With nothing but the keyboard, from the top of the page.
fn keyboard(browser: &Browser, known: &Known<'_>) {
    browser.go(known.url);
    name_fields(browser);
    let focused =
        || browser.run("return document.activeElement.id || document.activeElement.textContent.trim()", json!([]));
    browser.press(&[TAB]);
    assert_eq!(focused(), "skip");
    let mut seen = Vec::new();
    for _ in 0..60 {
        browser.press(&[TAB]);
        seen.push(focused().as_str().unwrap().to_string());
        if seen.last().unwrap() == "Proline" {
            break;
        }
    }
    assert!(
        ["Typical row", "Random row", "Alcohol", "Ash", "Proline"].iter().all(|name| seen.iter().any(|s| s == name)),
        "{seen:?}"
    );
    browser.press(&[END, BACKSPACE, BACKSPACE, BACKSPACE, BACKSPACE, "1", "6", "0", "0"]);
    until_decided(browser, "Barolo");
    // Every control can be reached, and the focus is seen.
    for _ in 0..80 {
        browser.press(&[TAB]);
        if browser.run("return document.activeElement.classList.contains('point')", json!([])) == json!(true) {
            break;
        }
    }
    browser.press(&[RIGHT]);
    browser.wait("the point keeps the focus", "return document.activeElement.classList.contains('point')");
}

/// At the desk and on a phone, light and dark: nothing is cut off, and axe-core finds nothing.
fn looks(browser: &Browser, known: &Known<'_>) {
    for (width, height) in [(1280, 1000), (360, 740)] {
        for scheme in ["light", "dark"] {
            browser.look(width, height, scheme);
            browser.go(&format!("{}#x.Alcohol=13.4&x.Proline=800&reject=0.1", known.url));
            browser.wait("the regions are named", "return document.querySelectorAll('.regions text').length > 0");
            browser.run("document.querySelectorAll('details').forEach((d) => (d.open = true))", json!([]));
            table_on(browser);
            let name = format!("{}-{width}-{scheme}", known.name);
            let found = browser.violations(known.axe);
            assert!(found.is_empty(), "{name}: {found:#?}");
            let cut = browser
                .run("return document.documentElement.scrollWidth - document.documentElement.clientWidth", json!([]));
            assert_eq!(cut, 0, "{name}: the page is wider than the screen");
            let small = browser.run(
                "return [...document.querySelectorAll('button, select, input, summary, a.glance')]
                   .filter((c) => c.offsetParent !== null && getComputedStyle(c).visibility === 'visible')
                   .map((c) => [c.outerHTML.slice(0, 90), c.getBoundingClientRect()])
                   .filter(([, box]) => box.width < 24 || box.height < 24).map(([html]) => html)",
                json!([]),
            );
            assert_eq!(small, json!([]), "{name}: targets below 24 pixels");
            browser.run(
                "document.querySelectorAll('details').forEach((d) => (d.open = false)); window.scrollTo(0, 0)",
                json!([]),
            );
            browser.shot(&name);
        }
    }
    browser.look(1280, 1000, "light");
}

/// A small table with labels, so that its parts are looked at, too.
fn table_on(browser: &Browser) {
    let csv: String =
        std::fs::read_to_string(example("wine.csv")).unwrap().lines().step_by(9).map(|l| format!("{l}\n")).collect();
    browser.run(
        "const files = new DataTransfer();
         files.items.add(new File([arguments[0]], 'wine.csv'));
         document.querySelector('.drop').dispatchEvent(new DragEvent('drop', { dataTransfer: files, bubbles: true, cancelable: true }))",
        json!([csv]),
    );
    browser.wait("the table is judged", "return document.querySelectorAll('.judged .figures dd').length > 0");
}

#[test]
fn the_self_contained_file_works_from_disk() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wine.html");
    std::fs::write(&file, deciban_serve::self_contained(&wine(), "wine").unwrap()).unwrap();
    let (browser, axe) = (Browser::open(), axe());
    let url = format!("file://{}", file.display());
    flow(&browser, &Known { url: &url, axe, name: "file" });
}

#[test]
fn the_served_page_works() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wine.deciban");
    wine().save(&file).unwrap();
    let server = Server::bind(deciban_serve::Options { models: vec![file], port: 0, ..Default::default() }).unwrap();
    let url = format!("http://{}/", server.address());
    // It answers until the test ends.
    std::thread::spawn(move || server.run());
    let (browser, axe) = (Browser::open(), axe());
    flow(&browser, &Known { url: &url, axe, name: "served" });
}
