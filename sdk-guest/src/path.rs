//! Paths into a body: `contact.phones[0]`, `leads[*]`, `"cpf/cnpj"`,
//! `phones[?type=home].value`, and `$.form` from the body's root instead of
//! from the item.
//!
//! A key is compared exactly, and then, if there is none, ignoring ASCII case, since
//! sources change the case of their keys.

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value};

use crate::{is_absent, text_of};

#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    from_root: bool,
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Key(String),
    Index(usize),
    /// Every element of an array, every value of an object: `*`.
    All,
    /// Every element: `[*]`. What is there once is its own element, unless only its members lead further.
    Each,
    /// Elements with this text at the path.
    Where(Vec<Step>, String),
}

impl Path {
    /// Returns all values that the path leads to, without absent ones.
    pub fn find<'a>(&self, item: &'a Value, root: &'a Value) -> Vec<&'a Value> {
        let mut found = Vec::new();
        walk(
            if self.from_root { root } else { item },
            &self.steps,
            &mut found,
        );
        found
    }

    /// Returns all values in the same way, of elements that repeat each, also where the path has no `[*]`: the path
    /// of one element in XML is also the path of many.
    pub fn find_each<'a>(&self, root: &'a Value) -> Vec<&'a Value> {
        let mut found = Vec::new();
        follow(root, &self.steps, true, &mut found);
        found
    }

    /// Returns the path to the object whose member it ends at, and the member's key.
    pub fn parent(&self) -> Option<(Self, &str)> {
        let (last, steps) = self.steps.split_last()?;
        let Step::Key(key) = last else {
            return None;
        };
        let steps = steps.to_vec();
        let from_root = self.from_root;
        Some((Self { from_root, steps }, key))
    }

    /// Whether it starts at the body's root.
    pub fn is_from_root(&self) -> bool {
        self.from_root
    }

    /// Parses a path of the configuration; `$` stands for the body's root.
    ///
    /// # Errors
    ///
    /// A text that names the path and its mistake.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| format!("path `{text}`: {what}");
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(wrong("it is empty"));
        }
        let (from_root, rest) = match trimmed.strip_prefix('$') {
            Some(rest) if rest.is_empty() || rest.starts_with(['.', '[']) => {
                (true, rest.strip_prefix('.').unwrap_or(rest))
            }
            _ => (false, trimmed),
        };
        let steps = if rest.is_empty() {
            Vec::new()
        } else {
            parse_steps(rest).map_err(wrong)?
        };
        Ok(Self { from_root, steps })
    }
}

impl<'de> Deserialize<'de> for Path {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(D::Error::custom)
    }
}

/// Follows steps. A key that an array does not have is searched in its first element,
/// because XML and forms repeat elements that other formats send once.
pub fn walk<'a>(value: &'a Value, steps: &[Step], found: &mut Vec<&'a Value>) {
    follow(value, steps, false, found);
}

/// `in_each`: whether a key is searched in all elements of an array.
fn follow<'a>(value: &'a Value, steps: &[Step], in_each: bool, found: &mut Vec<&'a Value>) {
    let walk = |value: &'a Value, steps: &[Step], found: &mut Vec<&'a Value>| {
        follow(value, steps, in_each, found);
    };
    let Some((step, rest)) = steps.split_first() else {
        if !is_absent(value) {
            found.push(value);
        }
        return;
    };
    match (step, value) {
        (Step::Key(key), Value::Object(fields)) => {
            if let Some(next) = get(fields, key) {
                walk(next, rest, found);
            }
        }
        (Step::Key(key), Value::Array(items)) => {
            if let Some(next) = key.parse().ok().and_then(|index: usize| items.get(index)) {
                walk(next, rest, found);
            } else {
                let most = if in_each { items.len() } else { 1 };
                items
                    .iter()
                    .take(most)
                    .for_each(|item| walk(item, steps, found));
            }
        }
        (Step::Index(index), Value::Array(items)) => {
            if let Some(next) = items.get(*index) {
                walk(next, rest, found);
            }
        }
        // In XML and in forms, an element that occurs once is not an array.
        (Step::Index(0), once) => walk(once, rest, found),
        (Step::All, Value::Array(items)) => {
            items.iter().for_each(|item| walk(item, rest, found));
        }
        (Step::All, Value::Object(fields)) => {
            fields.values().for_each(|item| walk(item, rest, found));
        }
        (Step::Each, Value::Array(items)) => {
            items.iter().for_each(|item| walk(item, rest, found));
        }
        (Step::Each, once) => {
            let begin = found.len();
            let members = once.as_object().into_iter().flatten();
            let is_map = once.is_object() && members.clone().all(|(_, member)| member.is_object());
            if !rest.is_empty() || !is_map {
                walk(once, rest, found);
            }
            if found.len() == begin {
                members.for_each(|(_, member)| walk(member, rest, found));
            }
        }
        (Step::Where(inner, wanted), Value::Array(items)) => {
            let matching = items.iter().filter(|item| holds(item, inner, wanted));
            matching.for_each(|item| walk(item, rest, found));
        }
        (Step::Where(inner, wanted), once) if holds(once, inner, wanted) => {
            walk(once, rest, found);
        }
        _ => {}
    }
}

/// Returns the member of a name: exactly this one, else one in another case, else the one without the prefix
/// that the name has in XML (`sf:Id`), whose elements are read without prefixes.
pub fn get<'a>(fields: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    let alike = |key: &str| {
        let mut fields = fields.iter();
        fields
            .find(|(name, _)| name.eq_ignore_ascii_case(key))
            .map(|(_, value)| value)
    };
    let local = || key.rsplit_once(':').and_then(|(_, local)| alike(local));
    fields.get(key).or_else(|| alike(key)).or_else(local)
}

fn holds(item: &Value, inner: &[Step], wanted: &str) -> bool {
    let mut found = Vec::new();
    walk(item, inner, &mut found);
    found
        .iter()
        .filter_map(|value| text_of(value))
        .any(|text| text == wanted)
}

/// Returns a path with what follows it.
pub fn joined(path: &str, rest: &str) -> String {
    if path.is_empty() || rest.is_empty() || rest.starts_with('[') {
        format!("{path}{rest}")
    } else {
        format!("{path}.{rest}")
    }
}

/// Returns a key as a path has it.
pub fn key(name: &str) -> String {
    let is_plain = !name.is_empty()
        && name != "*"
        && name.trim() == name
        && !name.contains(['.', '[', ']', '"', '\\', '$']);
    if is_plain {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

/// The configuration's own size limits the steps of a hostile path.
fn parse_steps(text: &str) -> Result<Vec<Step>, &'static str> {
    let mut steps = Vec::new();
    let mut rest = text;
    let mut wants_key = true;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (step, after) = bracket(inner)?;
            steps.push(step);
            rest = after;
            wants_key = false;
        } else if let Some(after) = rest.strip_prefix('.') {
            if wants_key {
                return Err("a key is missing beside a dot");
            }
            rest = after;
            wants_key = true;
        } else if !wants_key {
            return Err("a dot or a bracket must follow a bracket or a quote");
        } else if let Some(inner) = rest.strip_prefix('"') {
            let (key, after) = quoted(inner)?;
            steps.push(Step::Key(key));
            rest = after;
            wants_key = false;
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (key, after) = rest.split_at(end);
            steps.push(match key {
                "*" => Step::All,
                key => Step::Key(key.to_owned()),
            });
            rest = after;
            wants_key = false;
        }
    }
    if wants_key {
        return Err("it ends in a dot");
    }
    Ok(steps)
}

/// Returns the content of a bracket, and the text after it.
fn bracket(inner: &str) -> Result<(Step, &str), &'static str> {
    const OPEN: &str = "a bracket is not closed";
    if let Some(quote) = inner.strip_prefix('"') {
        let (key, after) = quoted(quote)?;
        let after = after.strip_prefix(']').ok_or(OPEN)?;
        return Ok((Step::Key(key), after));
    }
    if let Some(filter) = inner.strip_prefix('?') {
        let (path, after) = filter
            .split_once('=')
            .ok_or("a filter is written [?key=value]")?;
        let (wanted, after) = match after.strip_prefix('"') {
            Some(quote) => {
                let (wanted, after) = quoted(quote)?;
                (wanted, after.strip_prefix(']').ok_or(OPEN)?)
            }
            None => {
                let (wanted, after) = after.split_once(']').ok_or(OPEN)?;
                (wanted.trim().to_owned(), after)
            }
        };
        // A filter in a filter would recurse.
        if path.contains('[') {
            return Err("a filter takes keys only");
        }
        return Ok((Step::Where(parse_steps(path.trim())?, wanted), after));
    }
    let (index, after) = inner.split_once(']').ok_or(OPEN)?;
    let step = match index.trim() {
        "*" => Step::Each,
        index => Step::Index(
            index
                .parse()
                .map_err(|_| "a bracket holds an index, *, a quoted key or a filter")?,
        ),
    };
    Ok((step, after))
}

fn quoted(text: &str) -> Result<(String, &str), &'static str> {
    let mut out = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return Ok((out, &text[index + 1..])),
            '\\' => out.extend(characters.next().map(|(_, escaped)| escaped)),
            other => out.push(other),
        }
    }
    Err("a quote is not closed")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(path: &str, expect: &[&str]) {
        let root = json!({
            "form": {"id": 7},
            "leads": [{
                "Name": "Ana", "blank": " ", "cpf/cnpj": "1", "a.b": {"c]\"": "2"},
                "phones": [{"type": "home", "value": "3"}, {"type": "work", "value": "4"}],
                "one": {"@part": "full", "#text": "5"},
                "tags": ["x", "y"], "none": null,
            }],
        });
        let item = &root["leads"][0];
        let found: Vec<String> = Path::parse(path)
            .unwrap()
            .find(item, &root)
            .into_iter()
            .filter_map(text_of)
            .collect();
        assert_eq!(found, expect, "{path}");
    }

    #[test]
    fn paths_lead_to_values() {
        check("Name", &["Ana"]);
        check("name", &["Ana"]);
        check("$.form.id", &["7"]);
        check("$.leads[*].name", &["Ana"]);
        check("$.leads.name", &["Ana"]);
        check("$.leads.0.name", &["Ana"]);
        check("$[\"form\"].id", &["7"]);
        check("cpf/cnpj", &["1"]);
        check("\"a.b\".\"c]\\\"\"", &["2"]);
        check("[\"a.b\"][\"c]\\\"\"]", &["2"]);
        check("phones[1].value", &["4"]);
        check("phones[*].value", &["3", "4"]);
        check("phones.*.value", &["3", "4"]);
        check("phones[?type=work].value", &["4"]);
        check("phones[?\"type\"=\"home\"].value", &["3"]);
        check("one[?@part=full].#text", &["5"]);
        check("one[0].#text", &["5"]);
        check("tags[*]", &["x", "y"]);
        check("one[*].#text", &["5"]);
        check("$.form[*].id", &["7"]);
        check("$[*].id", &["7"]);
        check("x:phones[*].x:VALUE", &["3", "4"]);
        check("blank", &[]);
        check("none", &[]);
        check("phones[9].value", &[]);
        check("phones[?type=fax].value", &[]);
        check("Name.x", &[]);
        check("$", &[]);
    }

    #[test]
    fn malformed_paths_are_refused_with_a_reason() {
        for path in [
            "",
            " ",
            ".",
            "a.",
            ".a",
            "a..b",
            "a[",
            "a[x]",
            "a[\"b]",
            "a[?b]",
            "a[?b=c",
            "\"a",
            "a[0]b",
            "\"a\"b",
            "a[?b[?c=d]=e]",
        ] {
            assert!(Path::parse(path).unwrap_err().contains("path `"), "{path}");
        }
        let path = "$.\"a.b\"[0][*][?c.d=\"e\"].é";
        for (end, _) in path.char_indices() {
            let _ = Path::parse(&path[..end]);
        }
    }
}
