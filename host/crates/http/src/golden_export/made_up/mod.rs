//! Replaces the persons of a delivery by made-up ones, so that it can become a golden case: values that
//! its leads have, and values under names that look personal. Everything else stays as it is, byte for
//! byte. Equal values stay equal. A person has to read the result: what nothing shows to be personal,
//! in the text of a message for example, stays.

mod field;
mod leaves;
mod shape;

use std::borrow::Cow;
use std::collections::HashSet;

use self::field::PersonalField;
use self::leaves::{Leaf, is_json, leaves};
use self::shape::{
    Shapes, digits_of, each_word, is_short_name, is_telling, joins_names, phone_tail,
};

/// The made-up persons of one delivery.
pub struct MadeUp {
    shapes: Shapes,
    /// Words of names, in lower case.
    words: HashSet<String>,
    /// Words of names that are too short to be looked for in texts, such as `sá`.
    short_words: HashSet<String>,
    /// The ends of phone numbers.
    phones: HashSet<String>,
    /// The digits of documents.
    numbers: HashSet<String>,
    /// The source's ids of persons.
    ids: HashSet<String>,
}

/// Texts in texts that are read: JSON in a field of a form, and JSON in that.
const DEPTH: u8 = 3;

impl MadeUp {
    /// Returns made-up persons that depend on this salt.
    pub fn new(salt: &[u8]) -> Self {
        Self {
            shapes: Shapes::new(salt),
            words: HashSet::new(),
            short_words: HashSet::new(),
            phones: HashSet::new(),
            numbers: HashSet::new(),
            ids: HashSet::new(),
        }
    }

    /// Remembers a value of a person, which is then replaced wherever it stands.
    pub fn learn(&mut self, name: &str, value: &str) {
        if is_test_mark(value) {
            return;
        }
        match PersonalField::from_name(name) {
            Some(PersonalField::Name) => {
                let words = value.split(|one: char| !one.is_alphabetic());
                for word in words {
                    let known = match is_telling(word) {
                        true => &mut self.words,
                        false if is_short_name(word) => &mut self.short_words,
                        false => continue,
                    };
                    known.insert(word.to_lowercase());
                }
            }
            Some(PersonalField::Phone) => self.phones.extend(phone_tail(value)),
            Some(PersonalField::Number) => {
                let digits = digits_of(value);
                if digits.len() >= SHORTEST_NUMBER {
                    self.numbers.insert(digits);
                }
            }
            // Channels name a person by the phone number.
            Some(PersonalField::Id) if is_phone(value) => self.phones.extend(phone_tail(value)),
            Some(PersonalField::Id) if value.len() >= SHORTEST_NUMBER => {
                self.ids.insert(value.to_owned());
            }
            _ => {}
        }
    }

    /// Remembers the values of persons in a body.
    pub fn learn_from(&mut self, body: &str, is_form: bool) {
        self.learn_within(body, is_form, DEPTH);
    }

    fn learn_within(&mut self, body: &str, is_form: bool, depth: u8) {
        for leaf in leaves(body, is_form) {
            let value = leaf.read(&body[leaf.at.clone()]);
            if depth > 0 && is_json(&value) {
                self.learn_within(&value, false, depth - 1);
            } else {
                self.learn(&leaf.name, &value);
            }
        }
    }

    /// Replaces the persons in a body.
    pub fn body(&self, body: &str, is_form: bool) -> String {
        self.body_within(body, is_form, DEPTH)
    }

    /// Replaces the persons in a value with this name.
    pub fn value(&self, name: &str, value: &str) -> String {
        self.value_within(name, value, DEPTH)
    }

    fn body_within(&self, body: &str, is_form: bool, depth: u8) -> String {
        let mut made = String::with_capacity(body.len());
        let mut taken = 0;
        for leaf in leaves(body, is_form) {
            let written = &body[leaf.at.clone()];
            if let Some(other) = self.leaf(&leaf, written, depth) {
                made += &body[taken..leaf.at.start];
                made += &other;
                taken = leaf.at.end;
            }
        }
        made + &body[taken..]
    }

    /// Returns what takes the place of a value, if it changes.
    fn leaf(&self, leaf: &Leaf, written: &str, depth: u8) -> Option<String> {
        let value: Cow<'_, str> = leaf.read(written);
        let other = self.value_within(&leaf.name, &value, depth);
        (other != value).then(|| leaf.write(&other))
    }

    fn value_within(&self, name: &str, value: &str, depth: u8) -> String {
        if depth > 0 && is_json(value) {
            return self.body_within(value, false, depth - 1);
        }
        if is_test_mark(value) {
            return value.to_owned();
        }
        let shapes = &self.shapes;
        match PersonalField::from_name(name) {
            Some(PersonalField::Email | PersonalField::Name) if value.contains('@') => {
                emails(value, |address| shapes.email(address))
            }
            Some(PersonalField::Email | PersonalField::Name) => shapes.words(value),
            Some(PersonalField::Phone) => shapes.phone(value),
            Some(PersonalField::Number) => shapes.numbers(value),
            Some(PersonalField::Birth) => shapes.birth(value),
            Some(PersonalField::Address) => shapes.address(value),
            Some(PersonalField::Id) if is_phone(value) => shapes.phone(value),
            Some(PersonalField::Id) => shapes.id(value),
            Some(PersonalField::Ip) => shapes.ip(value),
            None if self.ids.contains(value) => shapes.id(value),
            None if self.is_name(value) => shapes.words(value),
            None => self.text(value),
        }
    }

    /// Returns whether a value has only words of names: then a short word is one of a name too.
    fn is_name(&self, value: &str) -> bool {
        let words = value.split_whitespace().map(str::to_lowercase);
        let mut others = words.filter(|word| !joins_names(word)).peekable();
        others.peek().is_some()
            && others.all(|word| self.words.contains(&word) || self.short_words.contains(&word))
    }

    /// Replaces what a text has of the persons: e-mail addresses, phone numbers, documents and names.
    fn text(&self, text: &str) -> String {
        let text = emails(text, |address| self.shapes.email(address));
        let text = numbers(&text, |run| self.number(run));
        each_word(&text, |word| {
            match self.words.contains(&word.to_lowercase()) {
                true => self.shapes.word(word),
                false => word.to_owned(),
            }
        })
    }

    /// Returns what takes the place of a number in a text.
    fn number(&self, run: &str) -> String {
        let digits = digits_of(run);
        let is_known = phone_tail(run).is_some_and(|tail| self.phones.contains(&tail));
        let is_written_so = run.starts_with('+') || run.contains('(');
        if is_known || (is_written_so && PHONE_LENGTHS.contains(&digits.len())) {
            return self.shapes.phone(run);
        }
        if self.numbers.contains(&digits) || is_document(run) {
            return self.shapes.numbers(run);
        }
        run.to_owned()
    }
}

/// Returns whether a value is what Meta sends in the place of a person's in a test lead:
/// `<test lead: dummy data for FULL_NAME>`.
fn is_test_mark(value: &str) -> bool {
    value.starts_with("<test lead") && value.ends_with('>')
}

/// Digits of the shortest number that is looked for in texts.
const SHORTEST_NUMBER: usize = 6;

/// The numbers of digits of a phone number with its area.
const PHONE_LENGTHS: std::ops::RangeInclusive<usize> = 10..=15;

/// Returns whether an id is a phone number with its area.
fn is_phone(id: &str) -> bool {
    let digits = id.strip_prefix('+').unwrap_or(id);
    PHONE_LENGTHS.contains(&digits.len()) && digits.bytes().all(|one| one.is_ascii_digit())
}

/// Returns whether a number is written as those of persons in Brazil: `123.456.789-09`.
fn is_document(run: &str) -> bool {
    let shape: String = run
        .chars()
        .map(|one| if one.is_ascii_digit() { '0' } else { one })
        .collect();
    shape == "000.000.000-00"
}

/// Replaces the e-mail addresses in a text.
fn emails(text: &str, replace: impl Fn(&str) -> String) -> String {
    let is_local = |one: char| one.is_alphanumeric() || "._%+-".contains(one);
    let is_domain = |one: char| one.is_alphanumeric() || ".-".contains(one);
    let mut made = String::with_capacity(text.len());
    let mut taken = 0;
    for (at, _) in text.match_indices('@') {
        if at < taken {
            continue;
        }
        let before = &text[taken..at];
        let start = taken + before.trim_end_matches(is_local).len();
        let after = &text[at + 1..];
        let length = after.find(|one| !is_domain(one)).unwrap_or(after.len());
        let domain = after[..length].trim_end_matches(['.', '-']);
        if start == at || !domain.contains('.') {
            continue;
        }
        let end = at + 1 + domain.len();
        made += &text[taken..start];
        made += &replace(&text[start..end]);
        taken = end;
    }
    made + &text[taken..]
}

/// Replaces the runs of digits in a text, with the signs that people write between the digits of one
/// number.
fn numbers(text: &str, replace: impl Fn(&str) -> String) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        let starts = |one: char| one.is_ascii_digit() || one == '+' || one == '(';
        let Some(from) = rest.find(starts) else {
            return made + rest;
        };
        made += &rest[..from];
        rest = &rest[from..];
        let within = |one: char| one.is_ascii_digit() || " +().-/".contains(one);
        let length = rest.find(|one| !within(one)).unwrap_or(rest.len());
        let run = rest[..length].trim_end_matches(|one: char| !one.is_ascii_digit());
        match run.len() {
            0 => {
                made += &rest[..length];
                rest = &rest[length..];
            }
            end => {
                made += &replace(run);
                rest = &rest[end..];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAD: &str = r#"{
  "id": 9007199254740993, "form_name": "Contato", "price": 350000.00,
  "name": "Ana Prado", "phones": ["(11) 98765-4321", 5511987654321],
  "email": "ana.prado@mail.example",
  "message": "Ana here, call +55 11 98765-4321 or ana.prado@mail.example, CPF 123.456.789-09",
  "at": "2026-03-02T12:00:00Z", "listing": "AP-0042"
}"#;

    fn made(body: &str, is_form: bool) -> String {
        let mut persons = MadeUp::new(b"a salt");
        persons.learn_from(body, is_form);
        persons.body(body, is_form)
    }

    #[test]
    fn persons_are_replaced_and_everything_else_stays() {
        let made = made(LEAD, false);
        for gone in ["Ana", "Prado", "prado", "4321", "mail.example", "789-09"] {
            assert!(!made.contains(gone), "{gone}: {made}");
        }
        for kept in [
            "9007199254740993",
            "\"Contato\"",
            "350000.00",
            "\"AP-0042\"",
            "2026-03-02T12:00:00Z",
            "(11) 98",
            "+55 11 98",
            " here, call ",
            "@example.com",
        ] {
            assert!(made.contains(kept), "{kept}: {made}");
        }
        let (before, after): (serde_json::Value, serde_json::Value) = (
            serde_json::from_str(LEAD).expect("JSON"),
            serde_json::from_str(&made).expect("JSON"),
        );
        // Equal values stay equal.
        let name = after["name"].as_str().expect("a name");
        let first = name.split(' ').next().expect("a word");
        let message = after["message"].as_str().expect("a text");
        assert!(message.starts_with(&format!("{first} here")), "{message}");
        assert!(message.contains(after["email"].as_str().expect("an address")));
        let digits = digits_of(after["phones"][0].as_str().expect("a phone"));
        assert_eq!(after["phones"][1].to_string(), format!("55{digits}"));
        assert_eq!(
            before.as_object().map(serde_json::Map::len),
            after.as_object().map(serde_json::Map::len)
        );
    }

    #[test]
    fn a_short_word_of_a_name_is_replaced_where_it_is_the_whole_value() {
        let body = "first=Rui&last=S%C3%A1&who=Rui+de+S%C3%A1&text=Quero+s%C3%A1&lang=de";
        let mut persons = MadeUp::new(b"a salt");
        persons.learn("name", "Rui de S\u{e1}");
        let made = persons.body(body, true);
        assert!(!made.contains("Rui"), "{made}");
        assert!(!made.contains("last=S%C3%A1"), "{made}");
        assert!(!made.contains("+S%C3%A1"), "{made}");
        assert!(made.ends_with("&text=Quero+s%C3%A1&lang=de"), "{made}");
    }

    #[test]
    fn forms_markup_and_plain_text_are_read_too() {
        let form = made(
            "nome=Ana+Prado&tel=11987654321&obs=oi%2C+sou+a+Ana&form=7",
            true,
        );
        assert!(
            form.ends_with("&form=7") && form.contains("&tel=11987"),
            "{form}"
        );
        assert!(
            !form.contains("Ana") && form.contains("obs=oi%2C+sou+a+"),
            "{form}"
        );
        let nested = made("payload=%7B%22name%22%3A%22Ana%22%7D", true);
        assert!(
            nested.starts_with("payload=%7B%22name%22%3A%22"),
            "{nested}"
        );
        assert!(!nested.contains("Ana"), "{nested}");
        let xml = made("<lead><nome>Ana Prado</nome><obs>Ana!</obs></lead>", false);
        assert!(
            xml.starts_with("<lead><nome>") && !xml.contains("Ana"),
            "{xml}"
        );
        let mail = made(
            "Nome: Ana Prado\nTelefone: 11 98765-4321\n\nAna pergunta.",
            false,
        );
        assert!(
            mail.starts_with("Nome: ") && mail.ends_with(" pergunta."),
            "{mail}"
        );
        assert!(!mail.contains("Ana") && !mail.contains("4321"), "{mail}");
    }

    #[test]
    fn a_value_of_the_lead_is_replaced_wherever_it_stands() {
        let mut persons = MadeUp::new(b"a salt");
        persons.learn("name", "Ana Prado");
        persons.learn("phone", "+5511987654321");
        let made = persons.body(r#"{"a": "PRADO", "b": 11987654321, "c": "of"}"#, false);
        assert!(
            !made.contains("PRADO") && !made.contains("654321"),
            "{made}"
        );
        assert!(made.contains(r#""c": "of""#), "{made}");
    }

    #[test]
    fn an_id_of_a_person_is_the_same_everywhere_and_a_phone_if_it_is_one() {
        let made = made(
            r#"{"wa_id": "5511987654321", "from": "5511987654321", "user_id": "u-7788", "by": "u-7788"}"#,
            false,
        );
        let made: serde_json::Value = serde_json::from_str(&made).expect("JSON");
        assert_eq!(made["wa_id"], made["from"]);
        assert_eq!(made["user_id"], made["by"]);
        assert_ne!(made["by"], "u-7788");
        let id = made["wa_id"].as_str().expect("text");
        assert!(id.starts_with("5511987") && id != "5511987654321", "{id}");
    }

    #[test]
    fn the_parts_of_a_name_and_of_a_phone_are_replaced() {
        let made = made(
            r#"{"q3_nome": {"first": "Anabela", "last": "Souza"}, "prenom": "Zoé", "cognome": "Rossi",
                "contact": {"name": {"first": "Lia", "last": "Prado"}},
                "phone": {"area_code": "11", "number": "987654321"},
                "fones": [{"tipo": "celular", "valor": "11987654321"}],
                "contatos": [{"tipo": "celular", "valor": "11912345678"}]}"#,
            false,
        );
        for gone in [
            "Anabela", "Souza", "Zoé", "Rossi", "Lia", "Prado", "654321", "345678",
        ] {
            assert!(!made.contains(gone), "{gone}: {made}");
        }
        for kept in ["\"area_code\": \"11\"", "\"celular\"", "q3_nome"] {
            assert!(made.contains(kept), "{kept}: {made}");
        }
    }

    #[test]
    fn the_labels_of_the_fields_of_a_form_stay() {
        let made = made(
            "fields%5Bname%5D%5Bid%5D=name&fields%5Bname%5D%5Btitle%5D=Nome&fields%5Bname%5D%5Bvalue%5D=Anabela",
            true,
        );
        assert!(made.contains("Bid%5D=name&"), "{made}");
        assert!(made.contains("Btitle%5D=Nome&"), "{made}");
        assert!(!made.contains("Anabela"), "{made}");
    }

    #[test]
    fn labels_and_marks_of_a_test_stay_whatever_name_was_typed() {
        let made = made(
            r#"{"nome": "Nome Teste Anabela", "event_type": "lead", "is_test": "test",
                "fields": {"q1": "Nome completo", "q2": "Qual o nome da empresa?", "q3": "Anabela"},
                "field_data": [{"name": "FULL_NAME", "values": ["<test lead: dummy data for FULL_NAME>"]}]}"#,
            false,
        );
        for kept in [
            r#""event_type": "lead""#,
            r#""is_test": "test""#,
            "Nome completo",
            "Qual o nome da empresa?",
            r#""FULL_NAME""#,
            "<test lead: dummy data for FULL_NAME>",
        ] {
            assert!(made.contains(kept), "{kept}: {made}");
        }
        assert!(!made.contains("Anabela"), "{made}");
        assert!(!made.contains("Nome Teste"), "{made}");
    }

    #[test]
    fn a_text_without_persons_stays_as_it_is() {
        for text in [
            "",
            "{}",
            "[1, 2.50, \"a@b\", \"v1.2.3\", \"2026-03-02\", \"R$ 350.000,00\"]",
            "no person (at all) + 12",
            "<a>1</a>",
        ] {
            assert_eq!(made(text, false), text);
        }
    }
}
