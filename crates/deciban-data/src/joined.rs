//! Names that several readers have found, each in a part of the rows, under one numbering.

use deciban::data::{Kind, Schema};
use deciban::{Error, Result};

use crate::cells::Missing;
use crate::classes::{Levels, Stranger};
use crate::dictionary::Dictionary;
use crate::options::Vocabulary;

/// The first schema with the classes, levels and words of all, in the order in which they come first. All must have
/// the same columns.
///
/// ```
/// use deciban::data::Schema;
/// let part = |classes: &[&str]| Schema::numbers(&["x"], "y", classes).unwrap();
/// let all = deciban_data::joined(&[part(&["b", "a"]), part(&[]), part(&["c", "b"])], &Default::default())?;
/// assert_eq!(all.classes(), ["b", "a", "c"]);
/// # Ok::<(), deciban::Error>(())
/// ```
pub fn joined(parts: &[Schema], vocabulary: &Vocabulary) -> Result<Schema> {
    let first = parts.first().ok_or_else(|| Error::Schema("there are no rows".into()))?;
    if parts.iter().any(|part| part.names() != first.names()) {
        return Err(Error::Schema("the parts of the input have different columns".into()));
    }
    let nothing = Missing::new(&[]);
    let add = |levels: &mut Levels, names: &[String], what: &str| match levels.map(&Dictionary::of(names), &nothing) {
        (_, Some((_, Stranger::TooMany))) => Err(Error::Schema(format!("{what} has too many different values"))),
        _ => Ok(()),
    };
    let mut classes = match &first.spelling().versus_rest {
        Some(_) => Levels::fixed(first.classes()),
        None => Levels::open(),
    };
    for part in parts.iter().filter(|_| !classes_are_fixed(first)) {
        add(&mut classes, part.classes(), "the target")?;
    }
    let mut columns = first.columns().to_vec();
    for (place, column) in columns.iter_mut().enumerate() {
        let name = format!("column `{}`", column.name);
        column.levels = match column.kind {
            Kind::Category => {
                let mut levels = Levels::open();
                parts.iter().try_for_each(|part| add(&mut levels, &part.columns()[place].levels, &name))?;
                levels.names()
            }
            Kind::Text => {
                let mut words = Levels::of_words(vocabulary.most_words);
                for part in parts {
                    if words.add(Dictionary::of(&part.columns()[place].levels)).is_none() {
                        let most = vocabulary.most_words;
                        return Err(Error::Schema(format!("{name}: the texts have more than {most} different words")));
                    }
                }
                words.names()
            }
            _ => Vec::new(),
        };
    }
    let schema = Schema::new(columns, first.target(), classes.names())?;
    schema.with_reading(first.reading().cloned()).with_spelling(first.spelling().clone())
}

/// Whether the classes are one against the rest, in all parts.
fn classes_are_fixed(schema: &Schema) -> bool {
    schema.spelling().versus_rest.is_some()
}
