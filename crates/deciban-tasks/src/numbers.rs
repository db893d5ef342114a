//! Numbers in JSON: infinite ones are `"inf"` and `"-inf"`, 0/0 is `null`; nothing else is.

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// A number for JSON.
///
/// ```
/// use deciban_tasks::numbers::number;
/// assert_eq!(number(f64::NEG_INFINITY), "-inf");
/// assert_eq!(number(0.5), 0.5);
/// assert!(number(f64::NAN).is_null());
/// ```
pub fn number(x: f64) -> Value {
    match x {
        f64::INFINITY => json!("inf"),
        f64::NEG_INFINITY => json!("-inf"),
        x => json!(x),
    }
}

/// For `serialize_with`.
pub fn one<S: Serializer>(x: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    number(*x).serialize(serializer)
}

/// Of several.
pub fn many<S: Serializer>(x: impl AsRef<[f64]>, serializer: S) -> Result<S::Ok, S::Error> {
    let x = x.as_ref();
    let mut list = serializer.serialize_seq(Some(x.len()))?;
    x.iter().try_for_each(|x| list.serialize_element(&number(*x)))?;
    list.end()
}

/// One that may be left out.
pub fn optional<S: Serializer>(x: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    x.map(number).serialize(serializer)
}
