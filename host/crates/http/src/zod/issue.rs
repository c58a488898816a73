//! The issues of a body, in the format of zod.

use crate::prelude::*;

/// Why one form of a union does not fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ZodError {
    pub issues: Vec<Issue>,
    name: &'static str,
}

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

    pub fn required(expected: &str, path: Vec<PathStep>) -> Self {
        Self {
            message: "Required".to_owned(),
            ..Self::wrong_type(expected, "undefined", path)
        }
    }

    pub fn wrong_type(expected: &str, received: &'static str, path: Vec<PathStep>) -> Self {
        let message = format!("Expected {expected}, received {received}");
        let what = IssueKind::InvalidType {
            expected: expected.to_owned(),
            received,
        };
        Self::new(what, path, message)
    }

    pub fn unreadable(path: Vec<PathStep>, message: impl Into<String>) -> Self {
        let what = IssueKind::InvalidString {
            validation: "regex",
        };
        Self::new(what, path, message)
    }

    pub fn too_small(kind: &'static str, minimum: usize, path: Vec<PathStep>) -> Self {
        let (inclusive, exact) = (true, false);
        let what = IssueKind::TooSmall {
            minimum,
            kind,
            inclusive,
            exact,
        };
        let message = match kind {
            "number" => format!("Number must be greater than or equal to {minimum}"),
            "array" => format!("Array must contain at least {minimum} element(s)"),
            _ => format!("String must contain at least {minimum} character(s)"),
        };
        Self::new(what, path, message)
    }

    pub fn too_big(kind: &'static str, maximum: usize, path: Vec<PathStep>) -> Self {
        let (inclusive, exact) = (true, false);
        let what = IssueKind::TooBig {
            maximum,
            kind,
            inclusive,
            exact,
        };
        let message = match kind {
            "number" => format!("Number must be less than or equal to {maximum}"),
            "array" => format!("Array must contain at most {maximum} element(s)"),
            "object" => format!("Object must be at most {maximum} byte(s) as JSON"),
            _ => format!("String must contain at most {maximum} character(s)"),
        };
        Self::new(what, path, message)
    }

    pub fn wrong_count(wanted: usize, given: usize, path: Vec<PathStep>, message: String) -> Self {
        let mut issue = if given < wanted {
            Self::too_small("array", wanted, path)
        } else {
            Self::too_big("array", wanted, path)
        };
        if let IssueKind::TooSmall { exact, .. } | IssueKind::TooBig { exact, .. } = &mut issue.what
        {
            *exact = true;
        }
        Self { message, ..issue }
    }

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

    pub fn unrecognized(keys: Vec<String>, path: Vec<PathStep>) -> Self {
        let names: Vec<_> = keys.iter().map(|key| format!("'{key}'")).collect();
        let message = format!("Unrecognized key(s) in object: {}", names.join(", "));
        Self::new(IssueKind::UnrecognizedKeys { keys }, path, message)
    }
}

pub fn invalid(issues: &[Issue]) -> ApiError {
    ApiError::coded(ErrorCode::ValidationFailed, message(issues))
}

pub fn message(issues: &[Issue]) -> String {
    serde_json::to_string_pretty(issues).expect("issues are JSON")
}

pub fn joined(options: &[String]) -> String {
    options
        .iter()
        .map(|option| format!("'{option}'"))
        .collect::<Vec<_>>()
        .join(" | ")
}
