//! The issues of a body, in the format of zod.

use serde::Serialize;

use super::super::error::ApiError;
use leadhost_domain::error_code::ErrorCode;

/// Why one form of a union does not fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ZodError {
    pub issues: Vec<Issue>,
    name: &'static str,
}

/// One issue, with its path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Issue {
    #[serde(flatten)]
    pub what: IssueKind,
    pub path: Vec<PathStep>,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum PathStep {
    Field(String),
    Index(usize),
}

/// Zod's codes, as far as bodies of this service need them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum IssueKind {
    InvalidType {
        expected: String,
        received: &'static str,
    },
    InvalidString {
        /// `email`, `url`, `regex`.
        validation: &'static str,
    },
    InvalidEnumValue {
        received: String,
        options: Vec<String>,
    },
    TooSmall {
        minimum: usize,
        #[serde(rename = "type")]
        kind: &'static str,
        inclusive: bool,
        exact: bool,
    },
    TooBig {
        maximum: usize,
        #[serde(rename = "type")]
        kind: &'static str,
        inclusive: bool,
        exact: bool,
    },
    UnrecognizedKeys {
        keys: Vec<String>,
    },
    InvalidUnion {
        #[serde(rename = "unionErrors")]
        errors: Vec<ZodError>,
    },
}

impl Issue {
    /// Returns an issue. The path leads from the root of the body to the wrong value.
    pub fn new(what: IssueKind, path: Vec<PathStep>, message: impl Into<String>) -> Self {
        Self {
            what,
            path,
            message: message.into(),
        }
    }

    /// A missing field.
    pub fn required(expected: &str, path: Vec<PathStep>) -> Self {
        let what = IssueKind::InvalidType {
            expected: expected.to_owned(),
            received: "undefined",
        };
        Self::new(what, path, "Required")
    }

    /// A text with the wrong content.
    pub fn unreadable(path: Vec<PathStep>, message: impl Into<String>) -> Self {
        let what = IssueKind::InvalidString {
            validation: "regex",
        };
        Self::new(what, path, message)
    }

    /// A list of the wrong length.
    pub fn wrong_count(wanted: usize, given: usize, path: Vec<PathStep>, message: String) -> Self {
        let (kind, inclusive, exact) = ("array", true, true);
        let what = if given < wanted {
            IssueKind::TooSmall {
                minimum: wanted,
                kind,
                inclusive,
                exact,
            }
        } else {
            IssueKind::TooBig {
                maximum: wanted,
                kind,
                inclusive,
                exact,
            }
        };
        Self::new(what, path, message)
    }

    /// Returns the issue of a text that is not one of the options, with Zod's message.
    pub fn not_one_of(received: &str, options: Vec<String>, path: Vec<PathStep>) -> Self {
        let message = format!(
            "Invalid enum value. Expected {}, received '{received}'",
            joined(&options)
        );
        let received = received.to_owned();
        Self::new(
            IssueKind::InvalidEnumValue { received, options },
            path,
            message,
        )
    }

    /// A value that fits none of several forms.
    pub fn no_form(forms: Vec<Vec<Self>>, path: Vec<PathStep>) -> Self {
        let errors = forms
            .into_iter()
            .map(|issues| ZodError {
                issues,
                name: "ZodError",
            })
            .collect();
        Self::new(IssueKind::InvalidUnion { errors }, path, "Invalid input")
    }

    /// Returns the issue of an object with unknown keys, with Zod's message.
    pub fn unrecognized(keys: Vec<String>, path: Vec<PathStep>) -> Self {
        let names: Vec<_> = keys.iter().map(|key| format!("'{key}'")).collect();
        let message = format!("Unrecognized key(s) in object: {}", names.join(", "));
        Self::new(IssueKind::UnrecognizedKeys { keys }, path, message)
    }
}

/// Returns the error for a body with these issues.
pub fn invalid(issues: &[Issue]) -> ApiError {
    ApiError::coded(ErrorCode::ValidationFailed, message(issues))
}

/// Returns the issues as the `message` of an error.
pub fn message(issues: &[Issue]) -> String {
    serde_json::to_string_pretty(issues).expect("issues are JSON")
}

/// Returns the options of an enum as Zod lists them.
pub fn joined(options: &[String]) -> String {
    options
        .iter()
        .map(|option| format!("'{option}'"))
        .collect::<Vec<_>>()
        .join(" | ")
}
