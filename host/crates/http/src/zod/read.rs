//! Reads a JSON body without stopping at the first mistake. A mistake becomes an issue at its
//! path and reading continues; the caller checks the issues before it uses any value. Unknown
//! fields are ignored.

use std::cell::RefCell;

use super::email::is_email;
use super::issue::{Issue, IssueKind, PathStep, joined};
use crate::prelude::*;
use leadhost_domain::text;

/// The issues found so far.
#[derive(Default)]
pub struct Issues(RefCell<Vec<Issue>>);

impl Issues {
    /// Adds an issue. Issues past a bound are dropped: they would not help a reader.
    pub fn add(&self, issue: Issue) {
        let mut found = self.0.borrow_mut();
        if found.len() < limits::ISSUES {
            found.push(issue);
        }
    }

    pub fn into_vec(self) -> Vec<Issue> {
        self.0.into_inner()
    }
}

/// A value of the body, at its path. It may be absent.
#[derive(Clone)]
pub struct Node<'a> {
    value: Option<&'a Value>,
    path: Vec<PathStep>,
    issues: &'a Issues,
}

const NO_NUL: &str = "The character U+0000 is not allowed";

/// The bounds of a text's length, in characters.
#[derive(Clone, Copy)]
pub struct TextLength {
    pub least: usize,
    pub most: usize,
}

impl TextLength {
    /// 1 to `most` characters.
    pub const fn filled(most: usize) -> Self {
        Self { least: 1, most }
    }

    /// 0 to `most` characters.
    pub const fn up_to(most: usize) -> Self {
        Self { least: 0, most }
    }
}

impl<'a> Node<'a> {
    pub fn root(value: &'a Value, issues: &'a Issues) -> Self {
        Self {
            value: Some(value),
            path: Vec::new(),
            issues,
        }
    }

    pub fn path(&self) -> Vec<PathStep> {
        self.path.clone()
    }

    pub fn wrong(&self, issue: impl FnOnce(Vec<PathStep>) -> Issue) {
        self.issues.add(issue(self.path()));
    }

    fn refuse<T>(&self, issue: impl FnOnce(Vec<PathStep>) -> Issue) -> Option<T> {
        self.wrong(issue);
        None
    }

    fn below(&self, step: PathStep, value: Option<&'a Value>) -> Self {
        let mut path = self.path();
        path.push(step);
        Self {
            value,
            path,
            issues: self.issues,
        }
    }

    /// Returns whether the value is present. Null counts as present.
    pub fn is_there(&self) -> bool {
        self.value.is_some()
    }

    pub fn is_null(&self) -> bool {
        self.value == Some(&Value::Null)
    }

    pub fn optional(self) -> Option<Self> {
        self.is_there().then_some(self)
    }

    /// Returns the member of an object. It is absent if this is not an object.
    pub fn field(&self, name: &str) -> Self {
        let value = self.value.and_then(|value| value.get(name));
        self.below(PathStep::Field(name.to_owned()), value)
    }

    /// Checks that at most one of two names of a thing is present. Adds an issue otherwise.
    pub fn not_both(&self, one: &str, other: &str) -> bool {
        let both = self.field(one).is_there() && self.field(other).is_there();
        if both {
            let forms = [other, one].map(|name| {
                let keys = vec![name.to_owned()];
                vec![Issue::unrecognized(keys, self.path())]
            });
            self.wrong(|path| Issue {
                message: format!("Give {one} or {other}, not both"),
                ..Issue::no_form(forms.into(), path)
            });
        }
        !both
    }

    /// Checks that at least one of these fields, given with their types, is present. Adds an
    /// issue otherwise.
    pub fn one_of_fields(&self, fields: &[(&str, &str)]) -> bool {
        let found = fields.iter().any(|(name, _)| self.field(name).is_there());
        if !found {
            let forms = fields.iter().map(|(name, kind)| {
                let path = self.field(name).path();
                vec![Issue::required(kind, path)]
            });
            self.wrong(|path| Issue::no_form(forms.collect(), path));
        }
        found
    }

    /// Checks that there are no fields other than these. Adds an issue that names them otherwise.
    pub fn no_other_than(&self, known: &[&str]) -> bool {
        let Some(members) = self.value.and_then(Value::as_object) else {
            return true;
        };
        let other = members.keys().filter(|key| !known.contains(&key.as_str()));
        let keys: Vec<String> = other
            .take(limits::ISSUES)
            .map(|key| key.chars().take(limits::NAME_CHARACTERS).collect())
            .collect();
        let has_none = keys.is_empty();
        if !has_none {
            self.wrong(|path| Issue::unrecognized(keys, path));
        }
        has_none
    }

    /// Returns itself if it is an object. Adds an issue otherwise.
    pub fn object(&self) -> Option<&Self> {
        self.members().map(|_| self)
    }

    /// Returns its members if it is an object. Adds an issue otherwise.
    pub fn members(&self) -> Option<&'a Map<String, Value>> {
        match self.value {
            Some(Value::Object(members)) => Some(members),
            other => self.wrong_type("object", other),
        }
    }

    /// Checks that no text or name within contains U+0000. Adds an issue at each that does.
    pub fn without_nul(&self) -> bool {
        let no_nul = |node: &Self, text: &str| {
            let has = text.contains('\0');
            if has {
                node.wrong(|path| Issue::unreadable(path, NO_NUL));
            }
            !has
        };
        match self.value {
            Some(Value::String(text)) => no_nul(self, text),
            Some(Value::Array(values)) => {
                let values = values.iter().enumerate();
                values.fold(true, |so_far, (index, value)| {
                    let element = self.below(PathStep::Index(index), Some(value));
                    element.without_nul() && so_far
                })
            }
            Some(Value::Object(members)) => members.iter().fold(true, |so_far, (name, value)| {
                let member = self.below(PathStep::Field(name.clone()), Some(value));
                let is_named = no_nul(&member, name);
                member.without_nul() && is_named && so_far
            }),
            _ => true,
        }
    }

    /// Returns its elements, at most `most`. Adds an issue otherwise.
    pub fn list(&self, most: usize) -> Option<Vec<Self>> {
        let values = match self.value {
            Some(Value::Array(values)) => values,
            other => return self.wrong_type("array", other),
        };
        if values.len() > most {
            return self.refuse(|path| Issue::too_big("array", most, path));
        }
        let nodes = values.iter().enumerate();
        let nodes = nodes.map(|(index, value)| self.below(PathStep::Index(index), Some(value)));
        Some(nodes.collect())
    }

    /// Returns a text as it is. `None`, with an issue, if it is no text or its length is out of
    /// bounds.
    pub fn text(&self, length: TextLength) -> Option<&'a str> {
        self.text_within(length, |text| text)
    }

    /// Returns a text without the blanks around it, unless nothing is left. The upper bound
    /// applies to what is sent, as in schemas.
    pub fn trimmed(&self, length: TextLength) -> Option<&'a str> {
        self.text_within(length, str::trim)
    }

    /// Returns a text as it is, unless a reader sees nothing of it. The upper bound applies to
    /// what is sent, as in schemas.
    pub fn seen(&self, length: TextLength) -> Option<&'a str> {
        self.text_within(length, text::seen)?;
        self.value.and_then(Value::as_str)
    }

    fn text_within(&self, length: TextLength, part: impl Fn(&str) -> &str) -> Option<&'a str> {
        let sent = match self.value {
            Some(Value::String(text)) => text.as_str(),
            other => return self.wrong_type("string", other),
        };
        let text = part(sent);
        if text.chars().count() < length.least {
            return self.refuse(|path| Issue::too_small("string", length.least, path));
        }
        if sent.chars().count() > length.most {
            return self.refuse(|path| Issue::too_big("string", length.most, path));
        }
        if text.contains('\0') {
            return self.refuse(|path| Issue::unreadable(path, NO_NUL));
        }
        Some(text)
    }

    /// Returns an e-mail address in lower case. `None`, with an issue, if it is none.
    pub fn email(&self) -> Option<String> {
        let length = TextLength::up_to(limits::EMAIL_CHARACTERS);
        self.text_as("email", length, |text| {
            is_email(text).then(|| text.to_lowercase())
        })
    }

    /// Returns what `valid` makes of a text, for example of a link. Adds an issue if that is
    /// `None`.
    pub fn text_as<T>(
        &self,
        validation: &'static str,
        length: TextLength,
        valid: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(length)?;
        let what = IssueKind::InvalidString { validation };
        let message = || format!("Invalid {validation}");
        valid(text).or_else(|| self.refuse(|path| Issue::new(what, path, message())))
    }

    /// Returns the option that the text equals. `None`, with an issue, if it equals none of
    /// them.
    pub fn one_of(&self, options: &[&'static str]) -> Option<&'static str> {
        let given: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        let text = match self.value {
            Some(Value::String(text)) => text,
            other => return self.wrong_type(&joined(&given), other),
        };
        let found = options.iter().find(|option| *option == text).copied();
        found.or_else(|| {
            let received: String = text.chars().take(limits::NAME_CHARACTERS).collect();
            self.refuse(|path| Issue::not_one_of(&received, given, path))
        })
    }

    pub fn boolean(&self) -> Option<bool> {
        match self.value {
            Some(Value::Bool(value)) => Some(*value),
            other => self.wrong_type("boolean", other),
        }
    }

    /// Returns a whole number, however it is written. A number that is too large for any use
    /// becomes the largest.
    pub fn integer(&self) -> Option<i64> {
        let number = match self.value {
            Some(Value::Number(number)) => number,
            other => return self.wrong_type("number", other),
        };
        let whole = number.as_i64().or_else(|| {
            let float = number.as_f64()?;
            #[expect(
                clippy::cast_possible_truncation,
                reason = "it is whole; past the bounds it becomes the bound"
            )]
            (float.fract() == 0.0).then_some(float as i64)
        });
        whole.or_else(|| self.refuse(|path| Issue::wrong_type("integer", "float", path)))
    }

    /// Returns a place in a list: a whole number, or its digits as a text, from 0 to `most`.
    pub fn index(&self, most: u32) -> Option<u32> {
        let number = match self.value {
            Some(Value::String(text)) => match text.parse::<u32>() {
                Ok(number) => i64::from(number),
                Err(_) => return self.wrong_type("number", self.value),
            },
            _ => self.integer()?,
        };
        if number < 0 {
            return self.refuse(|path| Issue::too_small("number", 0, path));
        }
        let index = u32::try_from(number).ok().filter(|index| *index <= most);
        index.or_else(|| self.refuse(|path| Issue::too_big("number", most as usize, path)))
    }

    fn wrong_type<T>(&self, expected: &str, found: Option<&Value>) -> Option<T> {
        let received = match found {
            None => "undefined",
            Some(Value::Null) => "null",
            Some(Value::Bool(_)) => "boolean",
            Some(Value::Number(_)) => "number",
            Some(Value::String(_)) => "string",
            Some(Value::Array(_)) => "array",
            Some(Value::Object(_)) => "object",
        };
        self.refuse(|path| match found {
            None => Issue::required(expected, path),
            Some(_) => Issue::wrong_type(expected, received, path),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::issue::message;
    use super::*;

    const SHORT: TextLength = TextLength::up_to(9);
    const YZ: &[&str] = &["y", "z"];

    /// Checks the issues of the member `a` of a body.
    fn check(a: Value, read: impl FnOnce(&Node<'_>) -> bool, expect: Value) {
        let body = json!({"a": a});
        let issues = Issues::default();
        let found = read(&Node::root(&body, &issues).field("a"));
        assert!(!found, "{body}");
        let mut expect = expect;
        expect["path"] = json!(["a"]);
        let reported: Value = serde_json::from_str(&message(&issues.into_vec())).expect("JSON");
        assert_eq!(reported, json!([expect]), "{body}");
    }

    #[test]
    fn missing_fields_and_wrong_types_are_reported_as_zod_does() {
        let issues = Issues::default();
        let body = json!({});
        assert_eq!(Node::root(&body, &issues).field("a").boolean(), None);
        assert_eq!(
            message(&issues.into_vec()).replace([' ', '\n'], ""),
            r#"[{"code":"invalid_type","expected":"boolean","received":"undefined","path":["a"],"message":"Required"}]"#
        );
        let types = |a: Value, read: fn(&Node<'_>) -> bool, expected: &str, received: &str| {
            let message = format!("Expected {expected}, received {received}");
            let expect = json!({"code": "invalid_type", "expected": expected,
                "received": received, "message": message});
            check(a, read, expect);
        };
        types(json!(null), |a| a.boolean().is_some(), "boolean", "null");
        types(json!([]), |a| a.integer().is_some(), "number", "array");
        types(json!(1.5), |a| a.integer().is_some(), "integer", "float");
        types(json!("x"), |a| a.index(9).is_some(), "number", "string");
        types(json!(7), |a| a.text(SHORT).is_some(), "string", "number");
        types(json!(true), |a| a.list(9).is_some(), "array", "boolean");
        types(json!([]), |a| a.object().is_some(), "object", "array");
        types(json!(7), |a| a.one_of(YZ).is_some(), "'y' | 'z'", "number");
    }

    #[test]
    fn bounds_and_formats_are_reported_as_zod_does() {
        let bounds = |a: Value, read: fn(&Node<'_>) -> bool, code: &str, message: &str| {
            let bound = if code == "too_small" {
                "minimum"
            } else {
                "maximum"
            };
            let kind = message.split(' ').next().expect("a word").to_lowercase();
            let expect = json!({"code": code, bound: 3, "type": kind, "inclusive": true,
                "exact": false, "message": message});
            check(a, read, expect);
        };
        const THREE: TextLength = TextLength { least: 3, most: 3 };
        let small = "String must contain at least 3 character(s)";
        bounds(json!("éé"), |a| a.text(THREE).is_some(), "too_small", small);
        let big = "String must contain at most 3 character(s)";
        bounds(json!("éééé"), |a| a.text(THREE).is_some(), "too_big", big);
        let big = "Array must contain at most 3 element(s)";
        bounds(json!([1, 2, 3, 4]), |a| a.list(3).is_some(), "too_big", big);
        let big = "Number must be less than or equal to 3";
        bounds(json!("4"), |a| a.index(3).is_some(), "too_big", big);
        check(
            json!("x"),
            |a| a.email().is_some(),
            json!({"code": "invalid_string", "validation": "email", "message": "Invalid email"}),
        );
        check(
            json!("a\0"),
            |a| a.text(SHORT).is_some(),
            json!({"code": "invalid_string", "validation": "regex",
                "message": "The character U+0000 is not allowed"}),
        );
        check(
            json!("x"),
            |a| a.one_of(&["y", "z"]).is_some(),
            json!({"code": "invalid_enum_value", "received": "x", "options": ["y", "z"],
                "message": "Invalid enum value. Expected 'y' | 'z', received 'x'"}),
        );
    }

    #[test]
    fn exclusive_missing_and_unknown_fields_are_reported() {
        let reported = |body: Value, read: fn(&Node<'_>)| {
            let issues = Issues::default();
            read(&Node::root(&body, &issues));
            let reported = message(&issues.into_vec());
            serde_json::from_str::<Value>(&reported).expect("JSON")
        };
        let both = reported(json!({"a": 1, "b": null}), |body| {
            assert!(!body.not_both("a", "b"));
            assert!(body.not_both("a", "c"));
        });
        assert_eq!(both[0]["code"], "invalid_union");
        assert_eq!(both[0]["message"], "Give a or b, not both");
        assert_eq!(both[0]["unionErrors"][0]["issues"][0]["keys"], json!(["b"]));
        assert_eq!(both[0]["unionErrors"][1]["issues"][0]["keys"], json!(["a"]));
        assert_eq!(both[1], Value::Null);
        let none = reported(json!({"c": 1}), |body| {
            assert!(!body.one_of_fields(&[("a", "string"), ("b", "object")]));
            assert!(body.one_of_fields(&[("a", "string"), ("c", "object")]));
        });
        let lacks = &none[0]["unionErrors"][1]["issues"][0];
        assert_eq!(lacks["expected"], "object");
        assert_eq!(lacks["path"], json!(["b"]));
        assert_eq!(none[1], Value::Null);
        let other = reported(json!({"a": 1, "b": 2, "c": 3}), |body| {
            body.no_other_than(&["b"]);
        });
        assert_eq!(
            other,
            json!([{"code": "unrecognized_keys", "keys": ["a", "c"], "path": [],
                "message": "Unrecognized key(s) in object: 'a', 'c'"}])
        );
    }

    #[test]
    fn a_free_object_has_no_nul_in_any_text_or_name() {
        let issues = Issues::default();
        let body = json!({"a": {"b": ["x", "y\0"], "c\0": {"d": "\0"}, "e": 1}});
        assert!(!Node::root(&body, &issues).field("a").without_nul());
        let reported: Vec<_> = issues.into_vec().iter().map(|issue| json!(issue)).collect();
        let paths: Vec<_> = reported.iter().map(|issue| &issue["path"]).collect();
        let expect = [
            json!(["a", "b", 1]),
            json!(["a", "c\0"]),
            json!(["a", "c\0", "d"]),
        ];
        assert_eq!(paths, expect.iter().collect::<Vec<_>>());
        assert_eq!(reported[0]["code"], "invalid_string");
        let issues = Issues::default();
        let body = json!({"a": {"b": ["x", {"c": null}]}});
        assert!(Node::root(&body, &issues).without_nul());
    }

    #[test]
    fn blanks_around_a_text_are_trimmed() {
        let issues = Issues::default();
        let body = json!({"a": "  x ", "b": " \n", "c": "x    "});
        let body = Node::root(&body, &issues);
        assert_eq!(body.field("a").trimmed(TextLength::filled(4)), Some("x"));
        assert_eq!(body.field("b").trimmed(TextLength::filled(4)), None);
        assert_eq!(body.field("c").trimmed(TextLength::filled(4)), None);
        assert_eq!(issues.into_vec().len(), 2);
    }

    #[test]
    fn something_of_a_text_is_seen() {
        let issues = Issues::default();
        let body = json!({"a": "\n x ", "b": " \u{a0}\u{200b}", "c": "x    "});
        let body = Node::root(&body, &issues);
        let length = TextLength::filled(4);
        assert_eq!(body.field("a").seen(length), Some("\n x "));
        assert_eq!(body.field("b").seen(length), None);
        assert_eq!(body.field("c").seen(length), None);
        assert_eq!(issues.into_vec().len(), 2);
    }

    #[test]
    fn numbers_are_whole_however_they_are_written() {
        let check = |text: &str, expect: Option<i64>| {
            let value: Value = serde_json::from_str(text).expect("JSON");
            let issues = Issues::default();
            assert_eq!(Node::root(&value, &issues).integer(), expect, "{text}");
            assert_eq!(issues.into_vec().is_empty(), expect.is_some(), "{text}");
        };
        check("7", Some(7));
        check("7.0", Some(7));
        check("7e2", Some(700));
        check("-1", Some(-1));
        check("1e30", Some(i64::MAX));
        check("7.5", None);
        check("\"7\"", None);
        check("true", None);
    }

    #[test]
    fn an_index_may_be_a_text_of_digits() {
        let check = |value: Value, expect: Option<u32>| {
            let issues = Issues::default();
            assert_eq!(Node::root(&value, &issues).index(9), expect, "{value}");
        };
        check(json!(0), Some(0));
        check(json!("0"), Some(0));
        check(json!("9"), Some(9));
        check(json!(10), None);
        check(json!("10"), None);
        check(json!(-1), None);
        check(json!("first"), None);
        check(json!(null), None);
    }

    #[test]
    fn the_issues_of_one_body_are_bounded() {
        let body = json!(vec![0; 2 * limits::ISSUES]);
        let issues = Issues::default();
        for node in Node::root(&body, &issues).list(usize::MAX).expect("a list") {
            node.boolean();
        }
        assert_eq!(issues.into_vec().len(), limits::ISSUES);
    }
}
