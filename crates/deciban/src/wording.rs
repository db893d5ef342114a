//! Options in messages, as each front end writes them.
//!
//! A message marks an option by `§`, with a value after `=`: `§weight_decay`, `§model=tree`, `§ignore='shoe size'`.

use std::borrow::Cow;
use std::fmt::Write;

/// A text for people, without what a terminal obeys instead of showing it: control characters, ends of lines and marks
/// that turn the direction of writing stand there as in JSON. So a name in a file cannot look like something else.
///
/// ```
/// assert_eq!(deciban::shown("red\u{1b}[31m\nBarolo"), "red\\u001b[31m\\nBarolo");
/// ```
pub fn shown(text: &str) -> Cow<'_, str> {
    without(text, is_obeyed)
}

/// Does what [`shown`] does with a text that has lines and tabs of its own, which it keeps.
pub fn shown_lines(text: &str) -> Cow<'_, str> {
    without(text, |c| !matches!(c, '\n' | '\t') && is_obeyed(c))
}

fn is_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn without(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return text.into();
    }
    let mut out = String::new();
    for c in text.chars() {
        let _ = match c {
            c if !is_escaped(c) => write!(out, "{c}"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            '\t' => write!(out, "\\t"),
            // All of them are below 0x10000.
            c => write!(out, "\\u{:04x}", u32::from(c)),
        };
    }
    out.into()
}

/// How options are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wording {
    /// By their names: `model=tree`.
    Plain,
    /// As the program takes them: `--model tree`.
    Flags,
    /// As Python takes them: `model="tree"`.
    Keywords,
}

impl Wording {
    /// The message without marks.
    ///
    /// ```
    /// use deciban::Wording;
    /// let message = "give §covariance=diagonal, or §ignore='shoe size'";
    /// assert_eq!(Wording::Flags.apply(message), "give --covariance diagonal, or --ignore 'shoe size'");
    /// assert_eq!(Wording::Keywords.apply(message), "give covariance=\"diagonal\", or ignore=\"shoe size\"");
    /// ```
    pub fn apply(self, message: &str) -> String {
        let mut parts = message.split('§');
        let mut text = parts.next().unwrap_or_default().to_string();
        for part in parts {
            let name = &part[..end_of(part, |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')];
            // A § that marks no option is the user's own.
            if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
                text.push('§');
                text += part;
                continue;
            }
            let rest = &part[name.len()..];
            let (value, rest) = value(rest).map_or((None, rest), |(value, rest)| (Some(value), rest));
            text += &self.option(name, value);
            text += rest;
        }
        text
    }

    fn option(self, name: &str, value: Option<&str>) -> String {
        match (self, value) {
            (Wording::Plain | Wording::Keywords, None) => name.to_string(),
            (Wording::Plain, Some(value)) => format!("{name}={value}"),
            (Wording::Keywords, Some(value)) => match value.parse::<f64>() {
                Ok(_) => format!("{name}={value}"),
                Err(_) => format!("{name}={value:?}"),
            },
            (Wording::Flags, None) => format!("--{}", name.replace('_', "-")),
            (Wording::Flags, Some(value)) => format!("--{} {}", name.replace('_', "-"), in_shell(value)),
        }
    }
}

/// How far a text goes on with such characters.
fn end_of(text: &str, is: impl Fn(char) -> bool) -> usize {
    text.find(|c: char| !is(c)).unwrap_or(text.len())
}

/// The value behind `=`, in quotes or a plain word, and what follows it.
fn value(rest: &str) -> Option<(&str, &str)> {
    let rest = rest.strip_prefix('=')?;
    if let Some(quoted) = rest.strip_prefix('\'') {
        return quoted.split_once('\'');
    }
    let word = &rest[..end_of(rest, |c| c.is_alphanumeric() || "_-.".contains(c))].trim_end_matches('.');
    (!word.is_empty()).then(|| (*word, &rest[word.len()..]))
}

/// A value for the shell: quoted unless it is a plain word.
fn in_shell(value: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./,:=+%@".contains(c);
    match !value.is_empty() && value.chars().all(plain) {
        true => value.to_string(),
        false => format!("'{value}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marks_change() {
        let message = "column `pre--post` of §5: give §missing='-', §folds=5. Or §no_header";
        assert_eq!(
            Wording::Flags.apply(message),
            "column `pre--post` of §5: give --missing -, --folds 5. Or --no-header"
        );
        assert_eq!(
            Wording::Keywords.apply(message),
            "column `pre--post` of §5: give missing=\"-\", folds=5. Or no_header"
        );
        assert_eq!(Wording::Plain.apply("§a='b c'§d="), "a=b cd=");
    }
}
