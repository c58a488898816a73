//! The faults of a configuration, for the person who wrote it: each with its path and one
//! sentence that says what is wrong and what is allowed. If there are several alternatives, the one
//! of the value's kind is used: the writer of a table did not mean the text. A sentence never
//! quotes more of the configuration than a single value and the names of unknown fields.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError, Validator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use leadhost_domain::limits;

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
        match dotted(&self.place).as_str() {
            "" => f.write_str(&self.what),
            place => write!(f, "{place}: {}", self.what),
        }
    }
}

/// Writes a JSON pointer as people write paths: `fields.phones[1].join`.
fn dotted(pointer: &str) -> String {
    let mut out = String::new();
    for key in pointer.split('/').skip(1) {
        let key = key.replace("~1", "/").replace("~0", "~");
        if !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit()) {
            out.push_str(&format!("[{key}]"));
            continue;
        }
        if !out.is_empty() {
            out.push('.');
        }
        match key.contains(['.', '[']) {
            true => out.push_str(&format!("{key:?}")),
            false => out.push_str(&key),
        }
    }
    out
}

/// Returns the first `CONFIG_FAULTS_SHOWN` faults of the configuration, each with a text of
/// bounded length. `text` is the schema that `schema` was made of.
pub fn faults(schema: &Validator, text: &Value, config: &Value) -> Vec<ConfigFault> {
    let errors = schema.iter_errors(config);
    let mut found = errors.flat_map(|error| found(text, &error));
    let mut out: Vec<ConfigFault> = Vec::new();
    while out.len() < limits::CONFIG_FAULTS_SHOWN
        && let Some(mut fault) = found.next()
    {
        if fault.what.len() > LONGEST {
            fault.what.truncate(fault.what.floor_char_boundary(LONGEST));
            fault.what.push_str("...");
        }
        out.push(fault);
    }
    out
}

/// Returns what is wrong: one fault, or those of the alternative that was meant.
fn found(schema: &Value, error: &ValidationError<'_>) -> Vec<ConfigFault> {
    let fault = |what: String| {
        vec![ConfigFault {
            place: error.instance_path().to_string(),
            what,
        }]
    };
    if !is_choice(error) {
        return fault(said(schema, error));
    }
    let above = error.instance_path().to_string();
    let mut forms = Vec::new();
    add_forms(error, &above, &mut forms);
    let (meant, others): (Vec<_>, Vec<_>) = forms
        .into_iter()
        .partition(|form| !form.iter().any(|error| is_of_another_kind(error, &above)));
    let allowed = allowed(&others, &above);
    match meant.as_slice() {
        [] => fault(format!(
            "{}, but must be {}",
            kind_of(error.instance().as_ref()),
            either(&allowed)
        )),
        [only] => {
            let mut faults: Vec<_> = only.iter().flat_map(|error| found(schema, error)).collect();
            // The writer of a table or a list did not mean the other forms.
            if is_scalar(error.instance().as_ref()) && !allowed.is_empty() {
                for fault in &mut faults {
                    let allowed = either(&allowed);
                    fault.what.push_str(&format!("; {allowed} is allowed too"));
                }
            }
            faults
        }
        several if let Some(fields) = one_missing(several, &above) => {
            fault(format!("one of the fields {} is needed", either(&fields)))
        }
        several => {
            let forms = several.iter().map(|form| missed(schema, &above, form));
            let forms: Vec<_> = forms.collect();
            fault(format!(
                "fits none of {} forms: {}",
                forms.len(),
                forms.join("; or ")
            ))
        }
    }
}

/// Returns the required fields, one for each alternative, if each alternative fails only because
/// its field is missing.
fn one_missing(forms: &[Vec<&ValidationError<'static>>], above: &str) -> Option<Vec<String>> {
    let field = |form: &Vec<&ValidationError<'static>>| match form.as_slice() {
        [only] if only.instance_path().to_string() == above => match only.kind() {
            ValidationErrorKind::Required { property } => Some(format!("`{}`", property.as_str()?)),
            _ => None,
        },
        _ => None,
    };
    forms.iter().map(field).collect()
}

fn is_choice(error: &ValidationError<'_>) -> bool {
    matches!(
        error.kind(),
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. }
    )
}

/// Adds the faults of each alternative. An alternative that only consists of alternatives itself
/// is replaced by them.
fn add_forms<'a>(
    error: &'a ValidationError<'_>,
    above: &str,
    forms: &mut Vec<Vec<&'a ValidationError<'static>>>,
) {
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) =
        error.kind()
    else {
        return;
    };
    for form in context {
        match form.as_slice() {
            [only] if is_choice(only) && only.instance_path().to_string() == above => {
                add_forms(only, above, forms);
            }
            several => forms.push(several.iter().collect()),
        }
    }
}

/// Whether the value as a whole is of another kind than this alternative.
fn is_of_another_kind(error: &ValidationError<'_>, above: &str) -> bool {
    let is_here = error.instance_path().to_string() == above;
    is_here
        && match error.kind() {
            ValidationErrorKind::Type { .. } => true,
            ValidationErrorKind::Enum { options } => {
                let value = error.instance();
                let mut options = options.as_array().into_iter().flatten();
                !options.any(|option| word_of(option) == word_of(value.as_ref()))
            }
            _ => false,
        }
}

/// Returns what the alternatives allow that are of another kind than the value.
fn allowed(forms: &[Vec<&ValidationError<'static>>], above: &str) -> Vec<String> {
    let mut out = Vec::new();
    let errors = forms.iter().flatten();
    for error in errors.filter(|error| is_of_another_kind(error, above)) {
        let words = match error.kind() {
            ValidationErrorKind::Type { kind } => words(kind),
            ValidationErrorKind::Enum { options } => {
                let options = options.as_array().into_iter().flatten();
                options.map(ToString::to_string).collect()
            }
            _ => Vec::new(),
        };
        for word in words {
            if !out.contains(&word) {
                out.push(word);
            }
        }
    }
    out
}

fn said(schema: &Value, error: &ValidationError<'_>) -> String {
    let value = error.instance();
    let value = value.as_ref();
    match error.kind() {
        ValidationErrorKind::Type { kind } => {
            format!("{}, but must be {}", kind_of(value), either(&words(kind)))
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let unknown = quoted(unexpected.iter().map(String::as_str));
            let known = fields_beside(schema, error);
            let unknown = match unexpected.len() {
                1 => format!("the field {unknown} is unknown"),
                _ => format!("the fields {unknown} are unknown"),
            };
            match known.is_empty() {
                true => format!("{unknown}; no others than the declared ones are allowed"),
                false => format!("{unknown}; allowed are {known}"),
            }
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            match needed_by(schema, error, name) {
                Some(option) => format!("`{option}` needs `{name}` beside it"),
                None => format!("the field `{name}` is missing"),
            }
        }
        ValidationErrorKind::Not { schema: refused } => match fields_together(refused) {
            Some((fields, 1)) => format!("{fields} cannot be used here; leave it out"),
            Some((fields, _)) => {
                format!("{fields} cannot be used together; leave one of them out")
            }
            None => "it has a form that is not allowed here".to_owned(),
        },
        ValidationErrorKind::MinItems { limit: 1 } => "the list is empty".to_owned(),
        ValidationErrorKind::MinLength { limit: 1 } => "the text is empty".to_owned(),
        // The library's own text leaves out most words of a longer list.
        ValidationErrorKind::Enum { options } => {
            let value = match value {
                Value::Object(_) => "the object".to_owned(),
                Value::Array(_) => "the list".to_owned(),
                scalar => scalar.to_string(),
            };
            let options = options.as_array().into_iter().flatten();
            let options: Vec<String> = options.map(ToString::to_string).collect();
            format!("{value} is not one of {}", either(&options))
        }
        _ => match value {
            Value::Object(_) => error.masked_with("the object").to_string(),
            Value::Array(_) => error.masked_with("the list").to_string(),
            _ => error.to_string(),
        },
    }
}

/// Returns the names of the fields that a table with an unknown one may have.
fn fields_beside(schema: &Value, error: &ValidationError<'_>) -> String {
    let path = error.schema_path().to_string();
    let table = path.rsplit_once('/').map_or("", |(table, _)| table);
    let table = schema.pointer(table);
    let fields = table.and_then(|table| table["properties"].as_object());
    quoted(fields.into_iter().flat_map(|fields| fields.keys()))
}

/// Returns the given field that makes another one, `name`, required.
fn needed_by(schema: &Value, error: &ValidationError<'_>, name: &str) -> Option<String> {
    let path = error.schema_path().to_string();
    let place = path.strip_suffix("/dependentRequired")?;
    let needs = schema.pointer(place)?["dependentRequired"].as_object()?;
    let given = error.instance();
    let mut found = needs.iter().filter(|(option, needed)| {
        let mut needed = needed.as_array().into_iter().flatten();
        given.get(option).is_some() && needed.any(|one| one == name)
    });
    found.next().map(|(option, _)| option.clone())
}

/// Returns the fields that a refused form has all at once, if that is what makes it wrong, and their
/// number.
fn fields_together(refused: &Value) -> Option<(String, usize)> {
    let names: Vec<&str> = refused["required"]
        .as_array()?
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let (last, others) = names.split_last()?;
    let together = match others {
        [] => format!("`{last}`"),
        others => format!("{} and `{last}`", quoted(others.iter().copied())),
    };
    Some((together, names.len()))
}

fn quoted<'a>(names: impl IntoIterator<Item = impl AsRef<str> + 'a>) -> String {
    let names: Vec<String> = names
        .into_iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .collect();
    names.join(", ")
}

/// Joins options: `"a", "b" or a list`.
fn either(options: &[String]) -> String {
    match options.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => "something else".to_owned(),
    }
}

/// Returns the kinds of values in words.
fn words(kind: &TypeKind) -> Vec<String> {
    let word = |kind: JsonType| {
        let word = match kind {
            JsonType::Array => "a list",
            JsonType::Boolean => "true or false",
            JsonType::Integer => "a whole number",
            JsonType::Null => "null",
            JsonType::Number => "a number",
            JsonType::Object => "an object",
            JsonType::String => "a text",
        };
        word.to_owned()
    };
    match kind {
        TypeKind::Single(kind) => vec![word(*kind)],
        TypeKind::Multiple(kinds) => kinds.iter().map(word).collect(),
    }
}

fn is_scalar(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}

fn word_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Says what a value is, with the value itself if it is a single one.
fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "it is null".to_owned(),
        Value::Array(_) | Value::Object(_) => format!("it is {}", word_of(value)),
        Value::Bool(_) => format!("it is {value}"),
        scalar => format!("{scalar} is {}", word_of(scalar)),
    }
}

/// Returns why one of several alternatives does not fit, with paths relative to `above`.
fn missed(schema: &Value, above: &str, form: &[&ValidationError<'_>]) -> String {
    let faults = form.iter().flat_map(|error| found(schema, error));
    let faults = faults.map(|fault| {
        match fault
            .place
            .strip_prefix(above)
            .filter(|below| !below.is_empty())
        {
            Some(below) => format!("{}: {}", dotted(below), fault.what),
            None => fault.what,
        }
    });
    faults.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: &Value, config: &Value, expect: &[&str]) {
        let compiled = jsonschema::validator_for(schema).expect("a schema");
        let found = faults(&compiled, schema, config);
        let mut found: Vec<_> = found.iter().map(ToString::to_string).collect();
        found.sort();
        assert_eq!(found, expect);
    }

    #[test]
    fn the_fault_of_a_value_of_another_kind_says_what_is_allowed() {
        let schema = json!({"properties": {"a": {"anyOf": [
            {"anyOf": [{"type": "string"}, {"enum": ["x", 7]}]},
            {"type": "array", "items": {"type": "string"}}
        ]}}});
        check(
            &schema,
            &json!({"a": {"b": 1}}),
            &[r#"a: it is an object, but must be a text, "x", 7 or a list"#],
        );
        check(
            &schema,
            &json!({"a": ["x", 1]}),
            &["a[1]: 1 is a number, but must be a text"],
        );
        check(
            &schema,
            &json!({"a": 8}),
            &["a: 8 is not one of \"x\" or 7; a text or a list is allowed too"],
        );
    }

    #[test]
    fn the_alternative_of_the_same_kind_says_what_it_misses() {
        let schema = json!({
            "type": "object",
            "properties": {
                "from": {"type": "string", "minLength": 1},
                "depth": {"anyOf": [{"type": "integer", "minimum": 1}, {"enum": ["all"]}]},
                "names": {"type": ["string", "null"]},
                "on": {"type": "string"},
                "format": {"enum": ["auto", "json", "form", "multipart", "xml"]},
                "table": {"type": "object", "additionalProperties": false, "required": ["in"], "properties": {"in": {}, "out": {}}},
                "pair": {"$ref": "#/$defs/pair"},
                "date": {"not": {"type": "object", "required": ["kind"]}},
                "joined": {"dependentRequired": {"with": ["join"]}}
            },
            "$defs": {"pair": {"not": {"required": ["join", "constant"]}}},
            "anyOf": [{"required": ["from"]}, {"required": ["service"]}]
        });
        let config = json!({
            "word": "a-long-word", "depth": 0, "names": {"a": "a-long-word"}, "format": "yaml",
            "table": {"inn": 1}, "pair": {"join": [], "constant": "a-long-word"}, "on": true,
            "date": {"kind": 1}, "joined": {"with": 2},
        });
        let expect = [
            "date: `kind` cannot be used here; leave it out",
            "depth: 0 is less than the minimum of 1; \"all\" is allowed too",
            "format: \"yaml\" is not one of \"auto\", \"json\", \"form\", \"multipart\" or \"xml\"",
            "joined: `with` needs `join` beside it",
            "names: it is an object, but must be null or a text",
            "on: it is true, but must be a text",
            "one of the fields `from` or `service` is needed",
            "pair: `join` and `constant` cannot be used together; leave one of them out",
            "table: the field `in` is missing",
            "table: the field `inn` is unknown; allowed are `in`, `out`",
        ];
        check(&schema, &config, &expect);
        check(&schema, &json!({"from": ""}), &["from: the text is empty"]);
    }

    #[test]
    fn a_path_is_written_as_people_write_it() {
        assert_eq!(dotted("/fields/phones/1/join"), "fields.phones[1].join");
        assert_eq!(dotted("/a~1b/c.d"), "a/b.\"c.d\"");
        assert_eq!(dotted(""), "");
    }
}
