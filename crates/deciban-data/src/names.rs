//! Errors that name columns: which there are, and which one was probably meant.

use deciban::Error;

use crate::infer::Sample;

/// `a`, `b`, `c` and 12 more
pub(crate) fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        rest => format!("{} and {rest} more", shown.join(", ")),
    }
}

/// The names nearest to `name`, if any is near.
pub(crate) fn near(name: &str, names: &[String]) -> Vec<String> {
    let wanted = name.to_lowercase();
    let mut near: Vec<(usize, &String)> = names
        .iter()
        .map(|other| (distance(&wanted, &other.to_lowercase()), other))
        .filter(|(distance, other)| *distance <= 1 + name.len() / 4 && *distance < name.len().min(other.len()))
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().take(3).map(|(_, name)| name.clone()).collect()
}

/// How many letters must be changed, put in or left out (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let changed = corner + usize::from(x != *y);
            corner = row[j + 1];
            row[j + 1] = changed.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

fn advice(name: &str, sample: &Sample) -> String {
    let near = near(name, &sample.names);
    let mut advice = match near.is_empty() {
        true => format!("the columns are {}", list(&sample.names)),
        false => format!("did you mean {}?", list(&near)),
    };
    if sample.header_looks_like_data() {
        advice += "; the first line looks like data: give §no_header, then columns are named c0, c1, ...";
    }
    advice
}

/// The error of a column that an option names and the input does not have.
pub(crate) fn unknown(option: &'static str, name: &str, sample: &Sample) -> Error {
    Error::parameter(option, format!("there is no column `{name}`: {}", advice(name, sample)))
}

/// The error of a column that is needed as `what`.
pub(crate) fn no_column(what: &str, name: &str, sample: &Sample) -> Error {
    sample.refuse(format!("there is no column `{name}` for the {what}: {}", advice(name, sample)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names() {
        let names: Vec<String> = ["species", "sepal_length", "Class", "x1", "x2"].map(String::from).to_vec();
        assert_eq!(near("specie", &names), ["species"]);
        assert_eq!(near("class", &names), ["Class"]);
        assert_eq!(near("x3", &names), ["x1", "x2"]);
        assert!(near("income", &names).is_empty());
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
