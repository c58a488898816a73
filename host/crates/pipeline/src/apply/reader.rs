//! Reads a declaration without stopping at the first mistake: every wrong, missing or
//! unknown field becomes a problem with its path and what was expected, and reading
//! continues with a placeholder. The caller checks the problems before it uses a value.

use std::cell::RefCell;

use serde_json::Map;

use crate::prelude::*;
use leadhost_domain::time;

#[derive(Default)]
pub struct Problems {
    found: RefCell<Vec<InputProblem>>,
    unchecked: RefCell<Vec<Unchecked>>,
}

/// A configuration that is not yet validated against its plugin's schema. That happens
/// later, for all configurations of a file at once.
#[derive(Debug)]
pub struct Unchecked {
    pub path: String,
    pub plugin: String,
    pub config: Value,
    /// The number of problems before it, in the order of the file.
    pub after: usize,
}

impl Problems {
    pub fn add(&self, path: impl Into<String>, message: impl Into<String>) {
        self.found.borrow_mut().push(InputProblem {
            path: path.into(),
            message: message.into(),
        });
    }

    pub fn leave(&self, path: String, plugin: &str, config: Value) {
        self.unchecked.borrow_mut().push(Unchecked {
            path,
            plugin: plugin.to_owned(),
            config,
            after: self.found.borrow().len(),
        });
    }

    pub fn into_vec(self) -> Vec<InputProblem> {
        self.found.into_inner()
    }

    pub fn into_parts(self) -> (Vec<InputProblem>, Vec<Unchecked>) {
        (self.found.into_inner(), self.unchecked.into_inner())
    }
}

/// A table of the declaration, at its path. [`FileTable::finish`] reports the fields that were
/// not read.
pub struct FileTable<'a> {
    fields: &'a Map<String, Value>,
    path: String,
    problems: &'a Problems,
    asked: RefCell<BTreeSet<&'static str>>,
}

impl<'a> FileTable<'a> {
    /// Returns the table; `None`, with a problem, if the value is something else.
    pub fn new(value: &'a Value, path: &str, problems: &'a Problems) -> Option<Self> {
        match value {
            Value::Object(fields) => Some(Self {
                fields,
                path: path.to_owned(),
                problems,
                asked: RefCell::default(),
            }),
            other => {
                problems.add(path, format!("expected a table, found {}", kind(other)));
                None
            }
        }
    }

    pub fn path(&self, field: &str) -> String {
        if self.path.is_empty() {
            field.to_owned()
        } else {
            format!("{}.{field}", self.path)
        }
    }

    pub fn here(&self) -> &str {
        &self.path
    }

    pub fn problem(&self, field: &str, message: impl Into<String>) {
        self.problems.add(self.path(field), message);
    }

    pub fn problems(&self) -> &'a Problems {
        self.problems
    }

    /// Returns the field as it is; null counts as absent.
    pub fn value(&self, field: &'static str) -> Option<&'a Value> {
        self.asked.borrow_mut().insert(field);
        self.fields.get(field).filter(|value| !value.is_null())
    }

    /// Returns a text without surrounding blanks. `None` if it is absent, or, with a problem,
    /// if it is blank, too long or no text.
    pub fn text(&self, field: &'static str) -> Option<String> {
        match self.value(field)? {
            Value::String(text) if text.trim().is_empty() => {
                self.problem(field, "expected a text, found an empty one");
                None
            }
            Value::String(text) if text.chars().count() > TEXT_CHARACTERS => {
                self.problem(
                    field,
                    format!("expected at most {TEXT_CHARACTERS} characters"),
                );
                None
            }
            Value::String(text) => Some(text.trim().to_owned()),
            other => {
                self.problem(field, format!("expected a text, found {}", kind(other)));
                None
            }
        }
    }

    /// Returns an empty text, with a problem, if the field is missing.
    pub fn required_text(&self, field: &'static str) -> String {
        if self.value(field).is_none() {
            self.problem(field, "is missing: expected a text");
        }
        self.text(field).unwrap_or_default()
    }

    /// Returns a text that satisfies `holds`; otherwise adds a problem with `expected`.
    pub fn matching(
        &self,
        field: &'static str,
        expected: &str,
        holds: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let text = self.text(field)?;
        if !holds(&text) {
            self.problem(field, format!("`{text}`: expected {expected}"));
        }
        Some(text)
    }

    /// Returns true or false. `None` if it is absent, or, with a problem, if it is something
    /// else.
    pub fn flag(&self, field: &'static str) -> Option<bool> {
        match self.value(field)? {
            Value::Bool(flag) => Some(*flag),
            other => {
                self.problem(
                    field,
                    format!("expected true or false, found {}", kind(other)),
                );
                None
            }
        }
    }

    /// Returns a whole number from `least` to `most`, both included. `None` if it is absent,
    /// or, with a problem, if it is something else.
    pub fn number(&self, field: &'static str, least: u32, most: u32) -> Option<u32> {
        let value = self.value(field)?;
        let number = value
            .as_u64()
            .and_then(|number| u32::try_from(number).ok())
            .filter(|number| (least..=most).contains(number));
        if number.is_none() {
            self.problem(
                field,
                format!("expected a whole number from {least} to {most}, found {value}"),
            );
        }
        number
    }

    /// Reads a time of at least a second: a whole number of seconds, or `90s`, `30m`, `24h`, `30d`.
    pub fn duration(&self, field: &'static str, most: Duration) -> Option<Duration> {
        let span = match self.value(field)? {
            Value::Number(number) => number.as_u64().map(Duration::from_secs),
            Value::String(text) => time::parse_span(text.trim()),
            _ => None,
        };
        let span = span.filter(|span| !span.is_zero() && *span <= most);
        if span.is_none() {
            self.problem(
                field,
                format!(
                    "expected seconds, or a text such as 90s, 30m, 24h or 30d, up to {} s",
                    most.as_secs()
                ),
            );
        }
        span
    }

    /// Returns the entries of a list, each with its path; an absent list is empty.
    pub fn list(&self, field: &'static str) -> Vec<(String, &'a Value)> {
        match self.value(field) {
            None => Vec::new(),
            Some(Value::Array(entries)) => entries
                .iter()
                .enumerate()
                .map(|(index, entry)| (format!("{}[{index}]", self.path(field)), entry))
                .collect(),
            Some(other) => {
                self.problem(field, format!("expected a list, found {}", kind(other)));
                Vec::new()
            }
        }
    }

    pub fn tables(&self, field: &'static str) -> Vec<FileTable<'a>> {
        self.list(field)
            .into_iter()
            .filter_map(|(path, entry)| FileTable::new(entry, &path, self.problems))
            .collect()
    }

    /// Returns a table within the table. `None` if it is absent, or, with a problem, if it is
    /// no table.
    pub fn table(&self, field: &'static str) -> Option<FileTable<'a>> {
        FileTable::new(self.value(field)?, &self.path(field), self.problems)
    }

    pub fn entries(&self) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
        self.fields.iter()
    }

    /// Reports the fields that were not read.
    pub fn finish(self) {
        let asked = self.asked.borrow();
        for name in self.fields.keys() {
            if !asked.contains(name.as_str()) {
                let known: Vec<_> = asked.iter().copied().collect();
                self.problem(
                    name,
                    format!("is not a known field; the fields are {}", known.join(", ")),
                );
            }
        }
    }
}

/// Bound of a name or another short text in characters, as the interface has it for names.
const TEXT_CHARACTERS: usize = 255;

pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}
