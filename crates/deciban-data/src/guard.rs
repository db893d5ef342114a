//! Readers of other people's may panic on a damaged file: to the user that is an error like any other.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use deciban::{Error, Result};

thread_local! {
    /// Whether a panic of this thread is caught, and so need not be printed.
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Keeps panics that are caught from being printed; all others go where they went before.
fn quieten() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !CAUGHT.get() {
                before(panic);
            }
        }));
    });
}

/// Runs `read` on a file that should be `what`.
pub(crate) fn guarded<T>(file: &str, what: &str, read: impl FnOnce() -> Result<T, String>) -> Result<T> {
    quieten();
    CAUGHT.set(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    CAUGHT.set(false);
    let result = result.unwrap_or_else(|_| Err("its reader gave up".into()));
    result.map_err(|reason| Error::Input {
        file: file.into(),
        line: None,
        column: None,
        message: format!("this is not {what}, or it is damaged ({reason})"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let message = guarded::<()>("a.parquet", "a Parquet file", || panic!("out of bounds")).unwrap_err().to_string();
        assert_eq!(message, "a.parquet: this is not a Parquet file, or it is damaged (its reader gave up)");
        assert_eq!(guarded("a", "b", || Ok(1)).unwrap(), 1);
    }
}
