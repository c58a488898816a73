//! The values in a body, each with its place and its name, so that single values can be replaced and
//! everything around them stays as the source wrote it.

use std::borrow::Cow;
use std::ops::Range;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::de::IgnoredAny;

use super::field::PersonalField;
use leadhost_domain::json;
use leadhost_domain::limits;

/// A value in a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Leaf {
    pub at: Range<usize>,
    /// The name that the source gives it. Empty if it has none.
    pub name: String,
    form: LeafForm,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeafForm {
    JsonText,
    JsonNumber,
    /// Percent-encoded.
    Form,
    Plain,
}

impl Leaf {
    /// Returns the value itself. `written`: its place in the body.
    pub fn read<'a>(&self, written: &'a str) -> Cow<'a, str> {
        match self.form {
            LeafForm::JsonText => json::parse(written).unwrap_or_default(),
            LeafForm::JsonNumber | LeafForm::Plain => Cow::Borrowed(written),
            LeafForm::Form => Cow::Owned(form_text(written)),
        }
    }

    /// Writes another value in its place.
    pub fn write(&self, value: &str) -> String {
        match self.form {
            LeafForm::JsonText => serde_json::Value::from(value).to_string(),
            LeafForm::JsonNumber | LeafForm::Plain => value.to_owned(),
            LeafForm::Form => utf8_percent_encode(value, FORM)
                .to_string()
                .replace("%20", "+"),
        }
    }
}

/// All characters except those that a browser writes unchanged in a form.
const FORM: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'*');

fn form_text(written: &str) -> String {
    let spaced = written.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
}

/// Returns whether a text is a JSON object or list that can be read. No plugin gets a deeper one, and
/// the parser bounds no depth where it ignores values.
pub fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
        && !json::too_deep(text.as_bytes(), limits::JSON_DEPTH)
        && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Returns the values of a body, in their order. `is_form`: the source says that it is a form.
pub fn leaves(text: &str, is_form: bool) -> Vec<Leaf> {
    if is_json(text) {
        let mut scan = JsonScan {
            text,
            at: 0,
            leaves: Vec::new(),
        };
        scan.value("");
        return scan.leaves;
    }
    match is_form {
        true => fields(text),
        false => Markup::default().read(text),
    }
}

/// Returns the fields of a form.
fn fields(text: &str) -> Vec<Leaf> {
    let mut at = 0;
    let mut found = Vec::new();
    for field in text.split('&') {
        let (name, value) = field.split_once('=').unwrap_or((field, ""));
        let end = at + field.trim_end().len();
        found.push(Leaf {
            at: (end - value.trim_end().len())..end,
            name: name_of_field(form_text(name), value),
            form: LeafForm::Form,
        });
        at += field.len() + 1;
    }
    found
}

/// Returns the name that says what the value of a form field is: `fields[name]` for
/// `fields[name][value]`. Empty for a field that only describes another one, such as
/// `fields[name][title]`.
fn name_of_field(mut name: String, value: &str) -> String {
    while let Some((outer, last)) = name
        .strip_suffix(']')
        .and_then(|rest| rest.rsplit_once('['))
    {
        let last = simple(last);
        if DESCRIBING.contains(&&*last) {
            let is_person = PersonalField::from_name(&name) == Some(PersonalField::Id)
                && value.contains(|one: char| one.is_ascii_digit());
            return if is_person { name } else { String::new() };
        }
        if !GENERIC.contains(&&*last) || outer.is_empty() {
            break;
        }
        let length = outer.len();
        name.truncate(length);
    }
    name
}

/// Returns a name without case and without what stands between its words.
fn simple(name: &str) -> String {
    let letters = name.chars().filter(|one| one.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Last names in the brackets of a form under which there is no answer.
const DESCRIBING: [&str; 4] = ["id", "type", "title", "label"];
/// Names that do not say what their value is. The enclosing name says it, or a type beside them.
const GENERIC: [&str; 12] = [
    "first", "full", "last", "middle", "number", "numero", "raw", "rawvalue", "text", "valor",
    "value", "values",
];
/// Names of the type of a value beside it: `{"tipo": "celular", "valor": "..."}`.
const TYPES: [&str; 3] = ["kind", "tipo", "type"];

/// Reads JSON that is valid and not too deep.
struct JsonScan<'t> {
    text: &'t str,
    at: usize,
    leaves: Vec<Leaf>,
}

/// Names under which a list of answers has the name of a field, and its value; without case and
/// without what stands between their words.
const LABELS: [&str; 7] = ["name", "key", "field", "label", "question", "title", "ref"];
/// As [`LABELS`], but never a name of the person: `name` may be one, `column_name` is none.
const LABELS_OF_FIELDS: [&str; 13] = [
    "campo",
    "columnid",
    "columnname",
    "fieldid",
    "fieldkey",
    "fieldlabel",
    "fieldname",
    "pergunta",
    "questionid",
    "questionlabel",
    "questionname",
    "questiontext",
    "questiontitle",
];
const VALUES: [&str; 9] = [
    "answer",
    "answers",
    "answertext",
    "answervalue",
    "fieldvalue",
    "resposta",
    "stringvalue",
    "value",
    "values",
];

impl JsonScan<'_> {
    fn byte(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(b'}')
    }

    fn skip_space(&mut self) {
        while self.byte().is_ascii_whitespace() {
            self.at += 1;
        }
    }

    fn value(&mut self, name: &str) {
        self.skip_space();
        let form = match self.byte() {
            b'{' => return self.object(name),
            b'[' => return self.list(name),
            b'"' => LeafForm::JsonText,
            b'-' | b'0'..=b'9' => LeafForm::JsonNumber,
            _ => {
                self.word();
                return;
            }
        };
        let at = match form {
            LeafForm::JsonText => self.string(),
            _ => self.word(),
        };
        self.leaves.push(Leaf {
            at,
            name: name.to_owned(),
            form,
        });
    }

    /// Passes a number, `true`, `false` or `null`.
    fn word(&mut self) -> Range<usize> {
        let from = self.at;
        while matches!(self.byte(), b'0'..=b'9' | b'a'..=b'z' | b'E' | b'-' | b'+' | b'.') {
            self.at += 1;
        }
        from..self.at
    }

    /// Passes a string with its quotes.
    fn string(&mut self) -> Range<usize> {
        let from = self.at;
        self.at += 1;
        while self.at < self.text.len() && self.byte() != b'"' {
            self.at += if self.byte() == b'\\' { 2 } else { 1 };
        }
        self.at = (self.at + 1).min(self.text.len());
        from..self.at
    }

    fn list(&mut self, name: &str) {
        self.at += 1;
        loop {
            self.skip_space();
            match self.byte() {
                b']' => break,
                b',' => self.at += 1,
                _ => self.value(name),
            }
            if self.at >= self.text.len() {
                return;
            }
        }
        self.at += 1;
    }

    /// `around`: the name of the object.
    fn object(&mut self, around: &str) {
        self.at += 1;
        let mut members: Vec<(String, Range<usize>)> = Vec::new();
        while self.at < self.text.len() {
            self.skip_space();
            match self.byte() {
                b'}' => {
                    self.at += 1;
                    break;
                }
                b',' => {
                    self.at += 1;
                    continue;
                }
                _ => {}
            }
            let key = self.string();
            let key: String = serde_json::from_str(&self.text[key]).unwrap_or_default();
            self.skip_space();
            self.at += 1;
            let first = self.leaves.len();
            let is_told_around = GENERIC.contains(&&*simple(&key))
                && PersonalField::from_name(&key).is_none()
                && PersonalField::from_name(around).is_some();
            self.value(if is_told_around { around } else { &key });
            members.push((key, first..self.leaves.len()));
        }
        self.label(&members);
    }

    /// A value under a name that says nothing is of the type that is beside it, if it says more.
    fn type_beside(&mut self, members: &[(String, Range<usize>)]) {
        let types = members
            .iter()
            .filter(|(key, _)| TYPES.contains(&&*simple(key)));
        let mut declared = types.filter_map(|(_, range)| {
            let [leaf] = &self.leaves[range.clone()] else {
                return None;
            };
            let text = leaf.read(&self.text[leaf.at.clone()]).into_owned();
            let is_told = leaf.form == LeafForm::JsonText;
            (is_told && PersonalField::from_name(&text).is_some()).then_some(text)
        });
        let Some(declared) = declared.next() else {
            return;
        };
        for (key, range) in members {
            if GENERIC.contains(&&*simple(key)) || VALUES.contains(&&*simple(key)) {
                for leaf in &mut self.leaves[range.clone()] {
                    if PersonalField::from_name(&leaf.name).is_none() {
                        leaf.name.clone_from(&declared);
                    }
                }
            }
        }
    }

    /// In a list of answers, the name of a value is a value itself:
    /// `{"name": "full_name", "values": ["Ana"]}`.
    fn label(&mut self, members: &[(String, Range<usize>)]) {
        let mut values = Vec::new();
        let mut labels = Vec::new();
        self.type_beside(members);
        for (key, range) in members {
            let key = simple(key);
            let is_of_field = LABELS_OF_FIELDS.contains(&&*key);
            if VALUES.contains(&&*key) {
                values.extend(range.clone());
            } else if is_of_field || LABELS.contains(&&*key) {
                let [leaf] = &self.leaves[range.clone()] else {
                    continue;
                };
                let text = leaf.read(&self.text[leaf.at.clone()]).into_owned();
                let is_personal = PersonalField::from_name(&text).is_some();
                if leaf.form == LeafForm::JsonText
                    && (is_of_field || is_personal || !text.contains(' '))
                {
                    labels.push((range.start, text, is_personal));
                }
            }
        }
        let telling = labels.iter().find(|(_, _, is_personal)| *is_personal);
        let Some((_, named, _)) = telling.or(labels.first()).cloned() else {
            return;
        };
        if values.is_empty() {
            return;
        }
        for (place, _, _) in labels {
            self.leaves[place].name.clear();
        }
        let is_telling = PersonalField::from_name(&named).is_some();
        for place in values {
            let leaf = &mut self.leaves[place];
            // A type beside the values, or a name within them, describes them better than such a
            // label.
            if is_telling || PersonalField::from_name(&leaf.name).is_none() {
                leaf.name.clone_from(&named);
            }
        }
    }
}

/// Reads XML, HTML and plain text: the name of a value is that of its element or attribute, or the
/// words before it, as in `Name: Ana` and in the cells of a table.
#[derive(Default)]
struct Markup {
    /// The element that was opened last.
    element: String,
    /// The text before, if it names what follows.
    label: String,
    leaves: Vec<Leaf>,
}

/// Characters of the longest text that is taken for the name of what follows.
const LABEL_CHARACTERS: usize = 40;

impl Markup {
    fn read(mut self, text: &str) -> Vec<Leaf> {
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let length = match rest.starts_with('<') {
                true => {
                    let length = rest.find('>').map_or(rest.len(), |end| end + 1);
                    self.tag(&rest[..length], at);
                    length
                }
                false => {
                    let length = rest.find('<').unwrap_or(rest.len());
                    self.content(&rest[..length], at);
                    length
                }
            };
            at += length;
        }
        self.leaves
    }

    fn tag(&mut self, tag: &str, at: usize) {
        if let Some(data) = tag.strip_prefix("<![CDATA[") {
            let length = data.find("]]").unwrap_or(data.len());
            let from = tag.len() - data.len();
            return self.content(&data[..length], at + from);
        }
        let inner = tag.trim_start_matches('<');
        if inner.starts_with(['!', '?']) {
            return;
        }
        if inner.starts_with('/') {
            self.element.clear();
            return;
        }
        let end = inner.find(|one: char| one.is_whitespace() || "/>".contains(one));
        let name = &inner[..end.unwrap_or(inner.len())];
        self.element = name.rsplit(':').next().unwrap_or(name).to_owned();
        // Attributes: a name, and a value in quotes.
        let mut from = tag.len() - inner.len() + name.len();
        while let Some(equals) = tag[from..].find('=').map(|found| from + found) {
            let key = tag[from..equals].split_whitespace().next_back();
            let after = &tag[equals + 1..];
            let Some(quote) = after.chars().next().filter(|one| "\"'".contains(*one)) else {
                from = equals + 1;
                continue;
            };
            let start = equals + 2;
            let length = tag[start..].find(quote).unwrap_or(tag.len() - start);
            self.push(at + start..at + start + length, key.unwrap_or_default());
            from = (start + length + 1).min(tag.len());
        }
    }

    fn content(&mut self, text: &str, at: usize) {
        if text.trim().is_empty() {
            return;
        }
        let named = [&self.element, &self.label]
            .into_iter()
            .find(|name| PersonalField::from_name(name).is_some())
            .cloned();
        self.label.clear();
        if let Some(name) = named {
            return self.push(at..at + text.len(), &name);
        }
        let mut from = at;
        for line in text.split_inclusive('\n') {
            self.line(line, from);
            from += line.len();
        }
        let whole = text.trim().trim_end_matches(':');
        if whole.chars().count() <= LABEL_CHARACTERS {
            self.label = whole.to_owned();
        }
    }

    fn line(&mut self, line: &str, at: usize) {
        let split = line.split_once([':', '=']).filter(|(name, value)| {
            let is_short = name.chars().count() <= LABEL_CHARACTERS;
            is_short && !value.trim().is_empty() && PersonalField::from_name(name).is_some()
        });
        match split {
            Some((name, value)) => {
                let end = at + line.len();
                self.push(end - value.len()..end, name.trim());
            }
            None => self.push(at..at + line.len(), ""),
        }
    }

    fn push(&mut self, at: Range<usize>, name: &str) {
        self.leaves.push(Leaf {
            at,
            name: name.to_owned(),
            form: LeafForm::Plain,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, is_form: bool) -> Vec<(String, String)> {
        let leaves = leaves(text, is_form);
        let read = |leaf: Leaf| {
            let value = leaf.read(&text[leaf.at.clone()]).trim().to_owned();
            (leaf.name, value)
        };
        leaves.into_iter().map(read).collect()
    }

    fn check(text: &str, is_form: bool, expect: &[(&str, &str)]) {
        let found = found(text, is_form);
        let found: Vec<_> = found
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn values_of_json_have_their_member_as_their_name() {
        check(
            "{\"a\\u0062\": [\"x\", 1.50, true, null], \"c\": {\"d\": \"\\\"\"}}",
            false,
            &[("ab", "x"), ("ab", "1.50"), ("d", "\"")],
        );
        check(
            r#"{"name": "Ana \ud83d"}"#,
            false,
            &[("name", "Ana \u{fffd}")],
        );
        check("[]", false, &[]);
    }

    #[test]
    fn in_a_list_of_answers_the_name_is_a_value() {
        check(
            r#"[{"name": "full_name", "values": ["Ana"]}, {"value": "7", "question": "Seu telefone"}]"#,
            false,
            &[
                ("", "full_name"),
                ("full_name", "Ana"),
                ("Seu telefone", "7"),
                ("", "Seu telefone"),
            ],
        );
        check(
            r#"{"question_name": "Qual seu telefone?", "answer": "119"}"#,
            false,
            &[("", "Qual seu telefone?"), ("Qual seu telefone?", "119")],
        );
        check(
            r#"{"column_id": "FULL_NAME", "column_name": "Nome", "string_value": "Ana", "phone": "1"}"#,
            false,
            &[
                ("", "FULL_NAME"),
                ("", "Nome"),
                ("FULL_NAME", "Ana"),
                ("phone", "1"),
            ],
        );
        check(
            r#"{"column_name": "What age?", "string_value": "7"}"#,
            false,
            &[("", "What age?"), ("What age?", "7")],
        );
        // An object with the name of a person and a value is not taken for a field.
        check(
            r#"{"name": "Ana Prado", "value": 5}"#,
            false,
            &[("name", "Ana Prado"), ("value", "5")],
        );
    }

    #[test]
    fn a_name_that_says_nothing_takes_the_one_around_it_or_the_type_beside_it() {
        check(
            r#"{"q3_nome": {"first": "Ana", "last": "Souza"}, "firstname": {"value": "Ana"}}"#,
            false,
            &[
                ("q3_nome", "Ana"),
                ("q3_nome", "Souza"),
                ("firstname", "Ana"),
            ],
        );
        check(
            r#"{"phone": {"area_code": "11", "number": "987654321"}, "deal": {"number": 7}}"#,
            false,
            &[("area_code", "11"), ("phone", "987654321"), ("number", "7")],
        );
        check(
            r#"[{"tipo": "celular", "valor": "11987654321"}, {"type": "text", "value": "x"}]"#,
            false,
            &[
                ("tipo", "celular"),
                ("celular", "11987654321"),
                ("type", "text"),
                ("value", "x"),
            ],
        );
        check(
            r#"{"name": "field_3", "type": "email", "value": "a@b.c"}"#,
            false,
            &[("", "field_3"), ("type", "email"), ("email", "a@b.c")],
        );
    }

    #[test]
    fn the_last_brackets_of_a_form_tell_what_a_field_has() {
        check(
            "fields[name][id]=name&fields[name][title]=Nome&fields[name][value]=Ana&fields[name][raw_value]=Ana\
             &form[name]=Contato&name[first]=Ana&contact[id]=u7",
            true,
            &[
                ("", "name"),
                ("", "Nome"),
                ("fields[name]", "Ana"),
                ("fields[name]", "Ana"),
                ("form[name]", "Contato"),
                ("name", "Ana"),
                ("contact[id]", "u7"),
            ],
        );
    }

    #[test]
    fn values_of_forms_are_decoded_and_written_back() {
        check(
            "nome=Ana+L%C3%BAcia&x&y=\n",
            true,
            &[("nome", "Ana Lúcia"), ("x", ""), ("y", "")],
        );
        let leaf = &leaves("a=b", true)[0];
        assert_eq!(leaf.write("Zé & c"), "Z%C3%A9+%26+c");
    }

    #[test]
    fn values_of_markup_and_text_have_the_name_before_them() {
        check(
            "<l:Lead phone='1'><Name>Ana</Name><note><![CDATA[hi]]></note></l:Lead>",
            false,
            &[("phone", "1"), ("Name", "Ana"), ("", "hi")],
        );
        check(
            "<tr><td>Nome</td><td>Ana</td></tr><p>E-mail: a@b.c</p>",
            false,
            &[("", "Nome"), ("Nome", "Ana"), ("E-mail", "a@b.c")],
        );
        check(
            "Nome: Ana\r\nhello\n",
            false,
            &[("Nome", "Ana"), ("", "hello")],
        );
    }

    #[test]
    fn a_body_that_is_too_deep_is_read_as_text() {
        let nested = |depth: usize| "[".repeat(depth) + "1" + &"]".repeat(depth);
        assert!(is_json(&nested(limits::JSON_DEPTH)));
        // A reader that follows it would use up its stack.
        let deep = nested(1_000_000);
        assert!(!is_json(&deep));
        assert_eq!(leaves(&deep, false).len(), 1);
    }

    #[test]
    fn damaged_bodies_are_read_without_a_panic() {
        for text in [
            "",
            "<",
            "<a",
            "<a b=",
            "<a b='",
            "<![CDATA[",
            "{",
            "=",
            "&&",
            "é<é",
            ":",
            "[\"",
        ] {
            leaves(text, false);
            leaves(text, true);
        }
    }
}
