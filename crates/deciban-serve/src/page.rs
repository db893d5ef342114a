//! The page: its files, which are part of the program, and the same page with a model inside as one file that needs no
//! server.
//!
//! The modules of the page are plain ES modules that a browser loads one by one. A file that is opened from disk cannot
//! load others, so there they stand in one script: each module becomes a function of its own that returns what it
//! exports. That needs two habits in `page/`, which a test checks: an import is one line of names, and an export stands
//! before a declaration.

use std::fmt::Write;

use deciban::Result;
use deciban::model::Model;
use deciban_tasks::{ScoredBy, page_data};
use serde_json::Value;

use crate::sha256::sha256;

/// A file of the page.
pub struct File {
    /// Its path behind `/`; `index.html` is also at `/`.
    pub path: &'static str,
    /// Its content type.
    pub content_type: &'static str,
    /// What it holds.
    pub bytes: &'static [u8],
}

macro_rules! files {
    ($kind:literal: $($path:literal),* $(,)?) => {
        [$(File { path: $path, content_type: $kind, bytes: include_bytes!(concat!("../page/", $path)) }),*]
    };
}

static HTML: [File; 1] = files!["text/html; charset=utf-8": "index.html"];
static STYLE: [File; 1] = files!["text/css; charset=utf-8": "style.css"];
/// Each module behind those that it imports.
static MODULES: [File; 35] = files!["text/javascript; charset=utf-8":
    "score/numbers.js",
    "score/words.js",
    "score/cells.js",
    "score/orders.js",
    "score/gaussian.js",
    "score/families.js",
    "score/curve.js",
    "score/bins.js",
    "score/a1de.js",
    "score/joint.js",
    "score/tree.js",
    "score/parzen.js",
    "score/linear.js",
    "score/coding.js",
    "score/additive.js",
    "score/k-dependence.js",
    "score/fused.js",
    "score/model.js",
    "decide.js",
    "dom.js",
    "format.js",
    "csv.js",
    "state.js",
    "copy.js",
    "local.js",
    "remote.js",
    "form.js",
    "outcome.js",
    "waterfall.js",
    "terms.js",
    "usual.js",
    "map.js",
    "evaluate.js",
    "table.js",
    "main.js",
];

/// The file at a path.
pub fn find(path: &str) -> Option<&'static File> {
    let path = if path == "/" { "index.html" } else { path.trim_start_matches('/') };
    HTML.iter().chain(&STYLE).chain(&MODULES).find(|file| file.path == path)
}

/// What the page asks of the service about a model.
pub fn data(model: &Model, name: &str) -> Result<Value> {
    page_data(model, name, ScoredBy::Service)
}

fn text(file: &File) -> String {
    String::from_utf8_lossy(file.bytes).into_owned()
}

/// The page with a model inside, as one HTML file that works from disk and asks no server for anything. Models that the
/// page cannot score by itself are refused.
pub fn self_contained(model: &Model, name: &str) -> Result<String> {
    // `<` cannot end the element that holds it.
    let data = page_data(model, name, ScoredBy::Page)?.to_string().replace('<', "\\u003c");
    let (style, script) = (format!("\n{}", text(&STYLE[0])), format!("\n{}", bundled()));
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(&script),
        hash(&style)
    );
    let html = text(&HTML[0]);
    let changes = [
        (
            "<meta charset=\"utf-8\">\n",
            format!("<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n"),
        ),
        ("<link rel=\"stylesheet\" href=\"style.css\">\n", format!("<style>{style}</style>\n")),
        ("<script type=\"module\" src=\"main.js\"></script>\n", String::new()),
        (
            "</body>",
            format!(
                "<script type=\"application/json\" id=\"model\">{data}</script>\n<script type=\"module\">{script}</script>\n</body>"
            ),
        ),
    ];
    Ok(changes.iter().fold(html, |html, (from, to)| {
        debug_assert!(html.contains(from), "{from}");
        html.replacen(from, to, 1)
    }))
}

/// The hash of an element's text, as a content-security policy names it.
fn hash(text: &str) -> String {
    format!("sha256-{}", deciban_tasks::base64(&sha256(text.as_bytes())))
}

/// All modules in one script.
fn bundled() -> String {
    let mut script = String::from("const modules = {};\n");
    for file in &MODULES {
        let name = file.path.rsplit('/').next().unwrap_or(file.path);
        let mut exports = Vec::new();
        let _ = writeln!(script, "modules['{name}'] = (() => {{");
        for line in text(file).lines() {
            let _ = writeln!(script, "{}", bundled_line(line, &mut exports));
        }
        let _ = writeln!(script, "return {{ {} }};\n}})();", exports.join(", "));
    }
    script
}

/// A line of a module inside the one script; what it exports is added to `exports`.
fn bundled_line(line: &str, exports: &mut Vec<String>) -> String {
    if let Some((names, from)) = line.strip_prefix("import ").and_then(|rest| rest.split_once(" from '")) {
        let file = from.trim_end_matches("';").rsplit('/').next().unwrap_or_default();
        return format!("const {names} = modules['{file}'];");
    }
    let Some(declaration) = line.strip_prefix("export ") else { return line.to_string() };
    let mut words =
        declaration.split_whitespace().skip_while(|word| ["async", "function", "class", "const"].contains(word));
    let name = words.next().unwrap_or_default();
    exports.push(name.split(['(', ';']).next().unwrap_or_default().to_string());
    declaration.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_served_and_nothing_else() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        let mut found = Vec::new();
        for (folder, prefix) in [(folder.clone(), ""), (folder.join("score"), "score/")] {
            let files =
                std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
            found.extend(files.map(|path| format!("{prefix}{}", path.file_name().unwrap().to_string_lossy())));
        }
        found.iter().for_each(|path| assert!(find(path).is_some(), "{path} is not in the list"));
        assert_eq!(found.len(), HTML.len() + STYLE.len() + MODULES.len());
        assert_eq!(find("/").unwrap().path, "index.html");
        assert!(find("/../Cargo.toml").is_none());
    }

    #[test]
    fn modules_import_only_what_stands_before_them_and_exports() {
        let mut known: Vec<(String, Vec<String>)> = Vec::new();
        for file in &MODULES {
            let mut exports = Vec::new();
            for line in text(file).lines() {
                bundled_line(line, &mut exports);
                assert!(
                    !line.trim_start().starts_with("import(") && !line.contains("export {"),
                    "{}: {line}",
                    file.path
                );
                let Some((names, from)) = line.strip_prefix("import ").and_then(|rest| rest.split_once(" from '"))
                else {
                    assert!(!line.starts_with("import"), "{}: {line}", file.path);
                    continue;
                };
                let from = from.trim_end_matches("';").rsplit('/').next().unwrap();
                let (_, exported) =
                    known.iter().find(|(name, _)| name == from).unwrap_or_else(|| panic!("{}: {line}", file.path));
                for name in names.trim_matches(['{', '}', ' ']).split(", ") {
                    assert!(exported.iter().any(|known| known == name), "{}: {from} does not export {name}", file.path);
                }
            }
            known.push((file.path.rsplit('/').next().unwrap().to_string(), exports));
        }
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere_and_no_markup_is_made_of_strings() {
        for file in HTML.iter().chain(&STYLE).chain(&MODULES) {
            let text = text(file);
            for sign in [
                "https://",
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "eval(",
                "new Function",
                " onclick=\"",
                "</script",
            ] {
                let is_script = file.path == "index.html" && sign == "</script";
                assert!(is_script || !text.contains(sign), "{}: {sign}", file.path);
            }
        }
    }
}
