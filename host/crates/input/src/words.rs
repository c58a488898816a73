//! Issues in words, for the person who wrote the value: one sentence that says what is wrong and what is
//! allowed. If there are several alternatives, the one of the value's kind is used: the writer of a table
//! did not mean the text. A sentence never quotes more of the value than a single one and the names of
//! unknown fields.

use std::fmt;

use serde_json::Value;

use crate::issue::{Issue, IssueKind, PathStep};
use crate::schema::Length;

/// Most bytes of one sentence.
const LONGEST: usize = 600;

/// What is wrong with a value, in a sentence of bounded length.
#[derive(Clone, Debug)]
pub struct Fault {
    /// As people write it: `fields.phones[1].join`.
    pub path: String,
    pub what: String,
}

impl Fault {
    /// Returns a fault of a value as a whole.
    pub fn whole(what: String) -> Self {
        let path = String::new();
        Self { path, what }
    }

    /// Returns the path, if the value is at this place of a larger one.
    pub fn path_below(&self, place: &str) -> String {
        if self.path.is_empty() || self.path.starts_with('[') {
            format!("{place}{}", self.path)
        } else {
            format!("{place}.{}", self.path)
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.what)
        } else {
            write!(f, "{}: {}", self.path, self.what)
        }
    }
}

fn dotted(path: &[PathStep<'_>]) -> String {
    let mut out = String::new();
    for step in path {
        match step {
            PathStep::Index(index) => out.push_str(&format!("[{index}]")),
            PathStep::Field(name) => {
                if !out.is_empty() {
                    out.push('.');
                }
                if name.contains(['.', '[']) {
                    out.push_str(&format!("{name:?}"))
                } else {
                    out.push_str(name)
                }
            }
        }
    }
    out
}

impl<'a> Issue<'a> {
    /// Returns the issues as the writer of the value is told them: of several alternatives, only the issues
    /// of the one that was meant.
    pub fn told(&self) -> Vec<Fault> {
        self.told_below(0)
    }

    /// The same with paths that leave out their first steps.
    fn told_below(&self, steps: usize) -> Vec<Fault> {
        let choice = matches!(self.kind, IssueKind::NoForm(_)).then(|| Choice::new(self));
        let Some((choice, [only])) = choice.as_ref().map(|one| (one, one.meant.as_slice())) else {
            return vec![Fault {
                path: dotted(&self.path[steps..]),
                what: shortened(self.text()),
            }];
        };
        let told = only.iter().flat_map(|issue| issue.told_below(steps));
        let mut told: Vec<_> = told.collect();
        // The writer of a table or a list did not mean the other forms.
        if !self.found.is_object() && !self.found.is_array() && !choice.allowed.is_empty() {
            for fault in &mut told {
                let allowed = either(&choice.allowed);
                fault.what = shortened(format!("{}; {allowed} is allowed too", fault.what));
            }
        }
        told
    }

    fn text(&self) -> String {
        let found = shown(self.found);
        match &self.kind {
            IssueKind::Type(types) => {
                let words: Vec<_> = types.words().map(str::to_owned).collect();
                format!("{}, but must be {}", kind_of(self.found), either(&words))
            }
            IssueKind::Options(options) => {
                format!("{found} is not one of {}", either(&listed(options)))
            }
            IssueKind::TooSmall(least, false) => {
                format!("{found} is less than the minimum of {least}")
            }
            IssueKind::TooSmall(least, true) => format!("{found} must be greater than {least}"),
            IssueKind::TooLarge(most, false) => {
                format!("{found} is greater than the maximum of {most}")
            }
            IssueKind::TooLarge(most, true) => format!("{found} must be less than {most}"),
            IssueKind::TooFew(Length::Text, 1) => "the text is empty".to_owned(),
            IssueKind::TooFew(Length::List, 1) => "the list is empty".to_owned(),
            IssueKind::TooFew(what, least) => match what {
                Length::Text => format!("{found} is shorter than {}", count(*least, "character")),
                Length::List => format!("the list has less than {}", count(*least, "item")),
                Length::Object => format!("the object has less than {}", count(*least, "field")),
            },
            IssueKind::TooMany(what, most) => match what {
                Length::Text => format!("{found} is longer than {}", count(*most, "character")),
                Length::List => format!("the list has more than {}", count(*most, "item")),
                Length::Object => format!("the object has more than {}", count(*most, "field")),
            },
            IssueKind::Pattern(pattern) => {
                format!("{found} does not match {:?}", pattern.text)
            }
            IssueKind::Missing(name) => format!("the field `{name}` is missing"),
            IssueKind::Needed { by, name } => format!("`{by}` needs `{name}` beside it"),
            IssueKind::Unknown { names, known } => {
                let unknown = match names.as_slice() {
                    [one] => format!("the field `{one}` is unknown"),
                    several => format!("the fields {} are unknown", quoted(several)),
                };
                if known.is_empty() {
                    format!("{unknown}; no others than the declared ones are allowed")
                } else {
                    format!("{unknown}; allowed are {}", quoted(known))
                }
            }
            IssueKind::Name(name) => format!("a field cannot have the name `{name}`"),
            IssueKind::Refused(fields) => match fields {
                [] => "it has a form that is not allowed here".to_owned(),
                [one] => format!("`{one}` cannot be used here; leave it out"),
                [others @ .., last] => format!(
                    "{} and `{last}` cannot be used together; leave one of them out",
                    quoted(others)
                ),
            },
            IssueKind::NoForm(_) => Choice::new(self).text(),
            IssueKind::SeveralForms => "it fits several forms, but may fit only one".to_owned(),
            IssueKind::Never => "nothing is allowed here".to_owned(),
            IssueKind::TooMuchWork => {
                "it takes too many steps to check, or is nested too deep".to_owned()
            }
        }
    }

    /// Whether the value as a whole is of another kind than the form that has this issue.
    fn is_of_another_kind(&self, above: &[PathStep<'_>]) -> bool {
        self.path == above
            && match &self.kind {
                IssueKind::Type(_) => true,
                IssueKind::Options(options) => {
                    let mut options = options.iter();
                    !options.any(|option| word_of(option) == word_of(self.found))
                }
                _ => false,
            }
    }
}

/// The alternatives for a value that fits none of them.
struct Choice<'i, 'a> {
    issue: &'i Issue<'a>,
    /// The issues of each alternative of the value's kind.
    meant: Vec<Vec<&'i Issue<'a>>>,
    /// What the alternatives of another kind allow.
    allowed: Vec<String>,
}

impl<'i, 'a> Choice<'i, 'a> {
    fn new(issue: &'i Issue<'a>) -> Self {
        let mut forms = Vec::new();
        add_forms(issue, &mut forms);
        let above = &issue.path;
        let is_other = |form: &Vec<&Issue<'_>>| {
            let mut issues = form.iter();
            issues.any(|issue| issue.is_of_another_kind(above))
        };
        let (others, meant): (Vec<_>, Vec<_>) = forms.into_iter().partition(is_other);
        let mut allowed = Vec::new();
        let others = others.iter().flatten();
        for other in others.filter(|issue| issue.is_of_another_kind(above)) {
            let words = match &other.kind {
                IssueKind::Type(types) => types.words().map(str::to_owned).collect(),
                IssueKind::Options(options) => listed(options),
                _ => Vec::new(),
            };
            for word in words {
                if !allowed.contains(&word) {
                    allowed.push(word);
                }
            }
        }
        Self {
            issue,
            meant,
            allowed,
        }
    }

    fn text(&self) -> String {
        if self.meant.is_empty() {
            let kind = kind_of(self.issue.found);
            return format!("{kind}, but must be {}", either(&self.allowed));
        }
        if let Some(fields) = self.one_missing() {
            return format!("one of the fields {} is needed", either(&fields));
        }
        let forms = self.meant.iter().map(|form| self.missed(form));
        let forms: Vec<_> = forms.collect();
        format!(
            "fits none of {} forms: {}",
            forms.len(),
            forms.join("; or ")
        )
    }

    /// Returns the required fields, one for each alternative, if each alternative fails only
    /// because its field is missing.
    fn one_missing(&self) -> Option<Vec<String>> {
        let field = |form: &Vec<&Issue<'_>>| match form.as_slice() {
            [only] if only.path == self.issue.path => match only.kind {
                IssueKind::Missing(name) => Some(format!("`{name}`")),
                _ => None,
            },
            _ => None,
        };
        self.meant.iter().map(field).collect()
    }

    /// Returns why an alternative does not fit, with paths relative to the value.
    fn missed(&self, form: &[&Issue<'_>]) -> String {
        let steps = self.issue.path.len();
        let told = form.iter().flat_map(|issue| issue.told_below(steps));
        let told = told.map(|fault| fault.to_string());
        shortened(told.collect::<Vec<_>>().join(", "))
    }
}

/// Adds the issues of each alternative. An alternative that only consists of alternatives itself
/// is replaced by them.
fn add_forms<'i, 'a>(issue: &'i Issue<'a>, forms: &mut Vec<Vec<&'i Issue<'a>>>) {
    let IssueKind::NoForm(own) = &issue.kind else {
        return;
    };
    for form in own {
        match form.as_slice() {
            [only] if matches!(only.kind, IssueKind::NoForm(_)) && only.path == issue.path => {
                add_forms(only, forms);
            }
            several => forms.push(several.iter().collect()),
        }
    }
}

fn shortened(mut text: String) -> String {
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push_str("...");
    }
    text
}

fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        several => format!("{several} {what}s"),
    }
}

fn quoted(names: &[impl AsRef<str>]) -> String {
    let names = names.iter().map(|name| format!("`{}`", name.as_ref()));
    names.take(LONGEST).collect::<Vec<_>>().join(", ")
}

/// Writes options, as many as a sentence has room for.
fn listed(options: &[Value]) -> Vec<String> {
    let options = options.iter().take(LONGEST);
    options
        .map(|option| shortened(option.to_string()))
        .collect()
}

/// Joins options: `"a", "b" or a list`.
fn either(options: &[String]) -> String {
    match options.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => "something else".to_owned(),
    }
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

/// Quotes a single value.
fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "the object".to_owned(),
        Value::Array(_) => "the list".to_owned(),
        scalar => shortened(scalar.to_string()),
    }
}

/// Says what a value is, with the value itself if it is a single one.
fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "it is null".to_owned(),
        Value::Array(_) | Value::Object(_) => format!("it is {}", word_of(value)),
        Value::Bool(_) => format!("it is {value}"),
        scalar => format!("{} is {}", shown(scalar), word_of(scalar)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Schema;

    #[track_caller]
    fn check(schema: &Value, config: &Value, expect: &[&str]) {
        let schema = Schema::read(&schema.to_string()).expect("a schema");
        let issues = schema.issues(config);
        let told = issues.iter().flat_map(Issue::told);
        let mut told: Vec<_> = told.map(|fault| fault.to_string()).collect();
        told.sort();
        assert_eq!(told, expect);
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
        let names = json!({"propertyNames": {"maxLength": 2}});
        let expect = ["a field cannot have the name `abc`"];
        check(&names, &json!({"ab": 1, "abc": 2}), &expect);
    }

    #[test]
    fn a_path_is_written_as_people_write_it() {
        let [a, b] = ["fields", "phones"].map(PathStep::Field);
        let path = [a, b, PathStep::Index(1), PathStep::Field("7")];
        assert_eq!(dotted(&path), "fields.phones[1].7");
        let path = ["a/b", "c.d"].map(PathStep::Field);
        assert_eq!(dotted(&path), "a/b.\"c.d\"");
        assert_eq!(dotted(&[]), "");
    }

    #[test]
    fn a_sentence_is_bounded() {
        let options: Vec<_> = (0..5_000)
            .map(|number| json!(format!("word-{number}")))
            .collect();
        let schema = json!({"anyOf": [{"enum": options}, {"pattern": "^x$"}]});
        let schema = Schema::read(&schema.to_string()).expect("a schema");
        let value = json!("y".repeat(100_000));
        for fault in schema.issues(&value).iter().flat_map(Issue::told) {
            assert!(fault.what.len() < 700, "{fault}");
        }
    }
}
