//! The faults of a configuration, for the person who wrote it: each with its path and a
//! short text. If none of several alternatives fits, the fault says what each of them
//! misses. It never quotes the configuration itself, which the reader has and which may be
//! long.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::limits;

/// Most bytes of the text of one fault.
const LONGEST: usize = 600;

/// A path in a configuration, as a JSON pointer, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigFault {
    pub place: String,
    pub what: String,
}

impl std::fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = if self.place.is_empty() {
            "/"
        } else {
            &self.place
        };
        write!(f, "{place}: {}", self.what)
    }
}

/// Returns the first `CONFIG_FAULTS_SHOWN` faults of the configuration, each with a text of
/// bounded length.
pub fn faults(schema: &Validator, config: &Value) -> Vec<ConfigFault> {
    schema
        .iter_errors(config)
        .take(limits::CONFIG_FAULTS_SHOWN)
        .map(|error| {
            let mut what = said(&error);
            if what.len() > LONGEST {
                what.truncate(what.floor_char_boundary(LONGEST));
                what.push_str("...");
            }
            ConfigFault {
                place: error.instance_path().to_string(),
                what,
            }
        })
        .collect()
}

fn said(error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
            let above = error.instance_path().to_string();
            let mut forms = Vec::new();
            add_forms(error, &above, &mut forms);
            format!(
                "fits none of {} forms: {}",
                forms.len(),
                forms.join("; or ")
            )
        }
        // The library's own text leaves out most words of a longer list.
        ValidationErrorKind::Enum { options } => {
            let value = match error.instance().as_ref() {
                Value::Object(_) => "the table".to_owned(),
                Value::Array(_) => "the list".to_owned(),
                scalar => scalar.to_string(),
            };
            format!("{value} is not one of {}", listed(options))
        }
        _ => match error.instance().as_ref() {
            Value::Object(_) => error.masked_with("the table").to_string(),
            Value::Array(_) => error.masked_with("the list").to_string(),
            _ => error.to_string(),
        },
    }
}

/// Adds why each alternative does not fit. An alternative that only consists of alternatives itself
/// is replaced by them.
fn add_forms(error: &ValidationError<'_>, above: &str, forms: &mut Vec<String>) {
    match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            for form in context {
                match form.as_slice() {
                    [only] if only.instance_path().to_string() == above => {
                        add_forms(only, above, forms);
                    }
                    several => forms.push(missed(above, several)),
                }
            }
        }
        _ => forms.push(said(error)),
    }
}

/// Returns all options of a list.
fn listed(options: &Value) -> String {
    let options = options.as_array().into_iter().flatten();
    let options: Vec<String> = options.map(ToString::to_string).collect();
    match options.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Returns why one of several alternatives does not fit, with paths relative to `above`.
fn missed(above: &str, form: &[ValidationError<'_>]) -> String {
    let faults = form.iter().map(|error| {
        let place = error.instance_path().to_string();
        match place.strip_prefix(above).filter(|below| !below.is_empty()) {
            Some(below) => format!("{below}: {}", said(error)),
            None => said(error),
        }
    });
    faults.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn alternatives_of_an_alternative_are_told_in_one_list() {
        let schema = json!({"anyOf": [
            {"anyOf": [{"type": "string"}, {"type": "boolean"}]},
            {"type": "array", "items": {"type": "string"}}
        ]});
        let schema = jsonschema::validator_for(&schema).expect("a schema");
        let found = faults(&schema, &json!(1));
        let expect = r#"fits none of 3 forms: 1 is not of type "string"; or 1 is not of type "boolean"; or 1 is not of type "array""#;
        assert_eq!(found[0].what, expect);
    }

    #[test]
    fn if_no_alternative_fits_each_one_reports_what_it_misses() {
        let schema = json!({
            "type": "object",
            "properties": {
                "from": {"type": "string"},
                "depth": {"anyOf": [{"type": "integer", "minimum": 1}, {"enum": ["all"]}]},
                "names": {"type": "string"},
                "format": {"enum": ["auto", "json", "form", "multipart", "xml"]}
            },
            "anyOf": [{"required": ["from"]}, {"required": ["service"]}]
        });
        let schema = jsonschema::validator_for(&schema).expect("a schema");
        let config = json!({"word": "a-long-word", "depth": 0, "names": {"a": "a-long-word"}, "format": "yaml"});
        let mut found: Vec<_> = faults(&schema, &config)
            .into_iter()
            .map(|fault| (fault.place, fault.what))
            .collect();
        found.sort();
        let expect = [
            (
                "",
                r#"fits none of 2 forms: "from" is a required property; or "service" is a required property"#,
            ),
            (
                "/depth",
                r#"fits none of 2 forms: 0 is less than the minimum of 1; or 0 is not one of "all""#,
            ),
            (
                "/format",
                r#""yaml" is not one of "auto", "json", "form", "multipart" or "xml""#,
            ),
            ("/names", r#"the table is not of type "string""#),
        ];
        let expect = expect.map(|(place, what)| (place.to_owned(), what.to_owned()));
        assert_eq!(found, expect);
    }
}
