//! The issues of a JSON body, in the form of Zod 3, which clients of the gateway read.
//! [`mod@read`] finds the issues. Standard issues have Zod's messages; the service's own say
//! what to do.

mod email;
pub mod issue;
mod read;

pub use self::email::is_email;
pub use self::issue::ZodError;
use crate::prelude::*;
use read::Issues;
pub use read::{Node, TextLength};

use self::issue::{Issue, invalid};

pub fn read<T>(body: &Value, read: impl FnOnce(Node<'_>) -> Option<T>) -> (Option<T>, Vec<Issue>) {
    let issues = Issues::default();
    let found = read(Node::root(body, &issues));
    (found, issues.into_vec())
}

pub fn whole<T>(body: &Value, reader: impl FnOnce(Node<'_>) -> Option<T>) -> Result<T, ApiError> {
    match read(body, reader) {
        (Some(found), issues) if issues.is_empty() => Ok(found),
        (_, issues) => Err(invalid(&issues)),
    }
}

/// Asserts that these issues are found in a body: code and path of each.
#[cfg(test)]
#[track_caller]
pub fn assert_issues<T>(
    body: &Value,
    reader: impl FnOnce(Node<'_>) -> Option<T>,
    expect: &[(&str, &str)],
) {
    let (_, issues) = read(body, reader);
    let found = serde_json::to_value(&issues).expect("issues are JSON");
    let found = found.as_array().expect("a list").iter().map(|issue| {
        let path = issue["path"][0].as_str().unwrap_or_default();
        (issue["code"].as_str().expect("a code"), path)
    });
    assert_eq!(found.collect::<Vec<_>>(), expect, "{body}");
}
