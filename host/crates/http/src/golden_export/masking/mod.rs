//! Masks the persons of a delivery by shape, so that it can become a golden case: letters become `x`, and
//! digits other digits. A phone keeps country and area. Masked are the values of its leads, values under
//! names that look personal, and texts that have one of them, a phone or an e-mail address. Everything
//! else stays as it is, byte for byte. Equal values stay equal. A person has to read the result: what
//! nothing shows to be personal stays.

mod field;
mod leaves;

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

use self::field::{Personal, is_in, is_label};
use self::leaves::{is_json, leaves};
use leadhost_domain::phone::written;
use leadhost_domain::text;

/// What is known of the persons of one delivery.
#[derive(Default)]
pub struct Persons {
    /// Its key is random, so that trying all phones does not find the one.
    hasher: RandomState,
    /// Values that are no person's, whatever their names.
    labels: HashSet<String>,
    /// Words of names, in lower case.
    words: HashSet<String>,
    /// The last digits of phones.
    phones: HashSet<String>,
    /// Whole values and their lines, in lower case.
    texts: HashSet<String>,
    /// Hashes of [`PHRASE`] words that follow each other in what persons wrote.
    phrases: HashSet<u64>,
}

/// Texts in texts that are read: JSON in a field of a form, and JSON in that.
const DEPTH: u8 = 3;
/// Digits at the end of a phone by which it is recognised in another notation.
const PHONE_TAIL: usize = 8;
/// Digits at the end of a phone that are replaced: those before name country, area and kind of line.
const PHONE_DIGITS: usize = 6;
/// Numbers of digits of a phone with its area.
const WHOLE_PHONE: std::ops::RangeInclusive<usize> = 10..=15;
/// Digits of the longest number beside a phone that is an area code or an extension.
const AREA_DIGITS: usize = 4;
/// Bytes of the shortest value that is looked for elsewhere.
const SHORTEST: usize = 6;
/// Words in a row that two texts have in common only if one quotes the other.
const PHRASE: usize = 4;
/// Words between names that say nothing about a person.
const JOINING: &str = "da das de del der di do dos du e el la mr mrs sr sra van von y";
/// Words by which links and notations of phones are read.
const NOTATION: &str = "api com context ext http https me phone send tel wa whatsapp";

impl Persons {
    pub fn with_labels(labels: Vec<String>) -> Self {
        Self {
            labels: labels.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Remembers the values of a lead's field, of a header or of a query, if they are a person's. They are
    /// then masked wherever they stand.
    pub fn learn(&mut self, name: &str, value: &str) {
        let personal = match name {
            "text" => Some(Personal::Text),
            "recipient" => Some(Personal::Phone),
            name => Personal::from_name(name),
        };
        self.learn_value(personal, value, DEPTH);
    }

    pub fn learn_from(&mut self, body: &str, is_form: bool) {
        self.learn_within(body, is_form, DEPTH);
    }

    fn learn_within(&mut self, body: &str, is_form: bool, depth: u8) {
        for leaf in leaves(body, is_form) {
            let depth = if leaf.is_whole() { depth } else { 0 };
            self.learn_value(leaf.personal, &leaf.value, depth);
        }
    }

    fn learn_value(&mut self, personal: Option<Personal>, value: &str, depth: u8) {
        if depth > 0 && is_body(personal, value) {
            return self.learn_within(value, false, depth - 1);
        }
        if self.labels.contains(value) {
            return;
        }
        let whole = text::folded(value).to_lowercase();
        let Some(personal) = personal.filter(|_| !is_test_mark(value) && !is_label(&whole)) else {
            return;
        };
        let is_number = !value.contains(char::is_alphabetic);
        if personal == Personal::Phone || (personal == Personal::Name && is_number) {
            numbers(value, |run| {
                self.phones.extend(tail(&digits_of(run)));
                None
            });
            return;
        }
        if personal == Personal::Name {
            let named = emails(&whole, |_| String::new());
            let words = named.split(|one: char| !one.is_alphabetic());
            let others = [JOINING, NOTATION];
            let words = words
                .filter(|word| !is_label(word) && !others.iter().any(|list| is_in(word, list)));
            self.words
                .extend(words.filter(|word| word.len() > 1).map(str::to_owned));
        }
        if personal == Personal::Text {
            self.phrases.extend(phrases(&whole, &self.hasher));
        }
        let lines = value.lines().map(|line| text::folded(line).to_lowercase());
        let texts = lines
            .chain([whole])
            .filter(|text| text.len() >= SHORTEST && !is_label(text));
        self.texts.extend(texts);
    }

    pub fn body(&self, body: &str, is_form: bool) -> String {
        self.body_within(body, is_form, DEPTH)
    }

    pub fn value(&self, name: &str, value: &str) -> String {
        self.value_within(Personal::from_name(name), value, true, DEPTH)
    }

    fn body_within(&self, body: &str, is_form: bool, depth: u8) -> String {
        let mut masked = String::with_capacity(body.len());
        let mut taken = 0;
        for leaf in leaves(body, is_form) {
            let depth = if leaf.is_whole() { depth } else { 0 };
            let other = self.value_within(leaf.personal, &leaf.value, leaf.is_whole(), depth);
            if other != leaf.value {
                masked += &body[taken..leaf.at.start];
                masked += &leaf.write(&other);
                taken = leaf.at.end;
            }
        }
        masked + &body[taken..]
    }

    /// `is_whole`: there is no structure in it that a plugin reads.
    fn value_within(
        &self,
        personal: Option<Personal>,
        value: &str,
        is_whole: bool,
        depth: u8,
    ) -> String {
        if depth > 0 && is_body(personal, value) {
            return self.body_within(value, false, depth - 1);
        }
        if is_test_mark(value) || (self.labels.contains(value) && !self.is_known(value)) {
            return value.to_owned();
        }
        if let Some(personal) = personal {
            return self.masked(personal, value);
        }
        let found = emails(value, |address| self.masked(Personal::Other, address));
        let found = numbers(&found, |run| self.number(None, run));
        let found = each_word(&found, |word| {
            word.chars().nth(2).is_some() && self.words.contains(&word.to_lowercase())
        });
        match self.is_known(value) || (is_whole && found != value) {
            true => self.masked(Personal::Text, value),
            false => found,
        }
    }

    /// Returns whether a value is one of a person, quotes it, or has only words of names.
    fn is_known(&self, value: &str) -> bool {
        let whole = text::folded(value).to_lowercase();
        let phrases = phrases(&whole, &self.hasher);
        let mut names = whole
            .split(' ')
            .filter(|word| !is_in(word, JOINING))
            .peekable();
        self.texts.contains(&whole)
            || phrases.iter().any(|phrase| self.phrases.contains(phrase))
            || (names.peek().is_some() && names.all(|word| self.words.contains(word)))
    }

    fn masked(&self, personal: Personal, value: &str) -> String {
        // `p:+5511987654321` and `912345678;phone-context=PT`.
        let kept = [
            written::context(value),
            value.starts_with("p:").then_some("p"),
        ];
        let letters = each_word(value, |word| {
            !is_in(&word.to_lowercase(), NOTATION) && !kept.contains(&Some(word))
        });
        numbers(&letters, |run| self.number(Some(personal), run))
    }

    /// Returns what takes the place of a number, if it is a person's. `personal`: that of the value around.
    fn number(&self, personal: Option<Personal>, run: &str) -> Option<String> {
        let digits = digits_of(run);
        let tail = tail(&digits).unwrap_or_default();
        let is_phone = match personal {
            Some(Personal::Phone) => digits.len() >= PHONE_TAIL,
            Some(Personal::Other) => false,
            _ => is_written_as_phone(run),
        };
        if (is_phone || self.phones.contains(&tail)) && digits.len() <= *WHOLE_PHONE.end() {
            return Some(self.other_digits(run, PHONE_DIGITS, &tail));
        }
        let is_area = personal == Some(Personal::Phone) && digits.len() <= AREA_DIGITS;
        let is_telling = personal.is_some() || is_document(run);
        (is_telling && !is_area).then(|| self.other_digits(run, digits.len(), &digits))
    }

    /// Replaces so many digits at the end of a number. `key` says by which ones: with the same key, the same
    /// digits. None becomes 0 or 1, which some countries have at no place of a phone.
    fn other_digits(&self, run: &str, most: usize, key: &str) -> String {
        let mut left = digits_of(run).len();
        let replaced = run.chars().map(|one| {
            let Some(digit) = digit(one) else {
                return one;
            };
            left -= 1;
            if left >= most {
                return one;
            }
            let others: Vec<char> = ('2'..='9').filter(|other| *other != digit).collect();
            let drawn = self.hasher.hash_one((key, left)) % others.len() as u64;
            others[usize::try_from(drawn).unwrap_or_default()]
        });
        replaced.collect()
    }
}

/// Returns whether a value is a body of its own: JSON, or a mail with its lines or elements.
fn is_body(personal: Option<Personal>, value: &str) -> bool {
    is_json(value) || (personal.is_none() && (value.contains("</") || value.contains('\n')))
}

/// Returns whether a value is what Meta sends in the place of a person's in a test lead:
/// `<test lead: dummy data for FULL_NAME>`.
fn is_test_mark(value: &str) -> bool {
    value.starts_with("<test lead") && value.ends_with('>')
}

fn phrases(text: &str, hasher: &RandomState) -> Vec<u64> {
    let words: Vec<&str> = text.split(' ').collect();
    let phrases = words.windows(PHRASE);
    phrases.map(|phrase| hasher.hash_one(phrase)).collect()
}

fn digit(one: char) -> Option<char> {
    written::plain(one).filter(char::is_ascii_digit)
}

fn digits_of(text: &str) -> String {
    text.chars().filter_map(digit).collect()
}

/// Returns the end of a phone, which is the same in all notations. `None`: it is too short.
fn tail(digits: &str) -> Option<String> {
    let from = digits.len().checked_sub(PHONE_TAIL)?;
    Some(digits[from..].to_owned())
}

/// Returns whether a number is written as phones are: `+551134567890`, `(11) 3456-7890`, `206-555-0100`.
fn is_written_as_phone(run: &str) -> bool {
    let groups: Vec<usize> = run
        .split(|one| digit(one).is_none())
        .map(str::len)
        .collect();
    let ends_so = matches!(groups[..], [.., 3..=5, 4]);
    let is_written_so = ends_so || run.starts_with(['+', '＋']) || run.contains('(');
    is_written_so && WHOLE_PHONE.contains(&digits_of(run).len())
}

/// Returns whether a number is written as those of persons in Brazil: `123.456.789-09`.
fn is_document(run: &str) -> bool {
    let groups: Vec<usize> = run.split(['.', '-']).map(str::len).collect();
    groups == [3, 3, 3, 2] && digits_of(run).len() == 11
}

fn emails(text: &str, replace: impl Fn(&str) -> String) -> String {
    let is_local = |one: char| one.is_alphanumeric() || "._%+-".contains(one);
    let is_domain = |one: char| one.is_alphanumeric() || ".-".contains(one);
    let mut made = String::with_capacity(text.len());
    let mut taken = 0;
    for (at, _) in text.match_indices('@') {
        if at < taken {
            continue;
        }
        let start = taken + text[taken..at].trim_end_matches(is_local).len();
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

/// Replaces runs of digits in a text, with the signs that people write between the digits of one number.
fn numbers(text: &str, mut replace: impl FnMut(&str) -> Option<String>) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    let begins = |one: char| digit(one).is_some() || "+＋(".contains(one);
    while let Some(from) = rest.find(begins) {
        made += &rest[..from];
        rest = &rest[from..];
        let within = |one: char| begins(one) || " ).-\u{2010}\u{2011}\u{2013}\u{a0}".contains(one);
        let length = rest.find(|one| !within(one)).unwrap_or(rest.len());
        let run = rest[..length].trim_end_matches(|one: char| digit(one).is_none());
        let (run, after) = match run.is_empty() {
            true => rest.split_at(length),
            false => rest.split_at(run.len()),
        };
        made += &replace(run).unwrap_or_else(|| run.to_owned());
        rest = after;
    }
    made + rest
}

/// Replaces the letters of words by `x`. References of XML and HTML to signs, such as `&amp;`, stay.
fn each_word(text: &str, is_masked: impl Fn(&str) -> bool) -> String {
    const SIGNS: [&str; 5] = ["&amp;", "&lt;", "&gt;", "&quot;", "&apos;"];
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(one) = rest.chars().next() {
        let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
        let end = rest
            .find(|one: char| !one.is_alphabetic())
            .unwrap_or(rest.len());
        let (word, after) = match sign {
            Some(sign) => rest.split_at(sign.len()),
            None => rest.split_at(end.max(one.len_utf8())),
        };
        match sign.is_none() && end > 0 && is_masked(word) {
            true => made.extend(
                word.chars()
                    .map(|one| if one.is_uppercase() { 'X' } else { 'x' }),
            ),
            false => made += word,
        }
        rest = after;
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::{contact, phone};

    fn masked(lead: &[(&str, &str)], body: &str, is_form: bool) -> String {
        let mut persons = Persons::default();
        lead.iter()
            .for_each(|(name, value)| persons.learn(name, value));
        persons.learn_from(body, is_form);
        persons.body(body, is_form)
    }

    /// A body, and what stays of it: a `~` stands for another digit.
    fn check(lead: &[(&str, &str)], body: &str, is_form: bool, expect: &str) {
        let masked = masked(lead, body, is_form);
        assert_eq!(masked.chars().count(), expect.chars().count(), "{masked}");
        let is_same = |(one, (before, expect)): (char, (char, char))| match expect {
            '~' => one.is_ascii_digit() && one != before,
            expect => one == expect,
        };
        let is_same = masked
            .chars()
            .zip(body.chars().zip(expect.chars()))
            .all(is_same);
        assert!(is_same, "{masked}\n{expect}");
    }

    #[test]
    fn persons_are_masked_and_everything_else_stays() {
        let body = r#"{
  "id": 9007199254740993, "form_name": "Contato", "price": 350000.00, "at": "2026-03-02T12:00:00Z",
  "name": "Ana Prado", "phones": ["(11) 98765-4321", 5511987654321], "cpf": "123.456.789-09",
  "email": "ana77@mail.example", "message": "Ana aqui, +55 11 98765-4321 &amp; \u00c1lvaro", "by": "Ana P.",
  "listing": "AP-0042", "nota": "Call 11 98765-4321 or ana77@mail.example"
}"#;
        let expect = r#"{
  "id": 9007199254740993, "form_name": "Contato", "price": 350000.00, "at": "2026-03-02T12:00:00Z",
  "name": "Xxx Xxxxx", "phones": ["(11) 987~~-~~~~", 5511987~~~~~~], "cpf": "~~~.~~~.~~~-~~",
  "email": "xxx~~@xxxx.xxxxxxx", "message": "Xxx xxxx, +55 11 987~~-~~~~ &amp; Xxxxxx", "by": "Xxx X.",
  "listing": "AP-0042", "nota": "Xxxx 11 987~~-~~~~ xx xxx~~@xxxx.xxxxxxx"
}"#;
        let body = body.replace(r"\u00c1", "Á");
        check(&[], &body, false, expect);
        let masked: serde_json::Value =
            serde_json::from_str(&masked(&[], &body, false)).expect("JSON");
        let phone = masked["phones"][0].as_str().expect("a phone");
        assert_eq!(
            masked["phones"][1].to_string(),
            format!("55{}", digits_of(phone))
        );
        let email = masked["email"].as_str().expect("an address");
        assert!(
            masked["nota"]
                .as_str()
                .is_some_and(|text| text.ends_with(email))
        );
        assert_eq!(contact::email(email).as_deref(), Some(email));
        for text in ["message", "nota"] {
            let text = digits_of(masked[text].as_str().expect("a text"));
            assert!(text.contains(&digits_of(phone)), "{text}");
        }
    }

    #[test]
    fn a_masked_phone_is_one_of_the_same_country_and_area() {
        for (phone, region) in [
            ("+55 (11) 98765-4321", "BR"),
            ("11 3456-7890", "BR"),
            ("whatsapp:+5511987654321", "BR"),
            ("https://wa.me/5511987654321", "BR"),
            ("p:+5511987654321", "BR"),
            ("٠٩١٢٣٤٥٦٧٨٩", "IR"),
            ("912 345 678", "PT"),
            ("912345678;phone-context=PT", "BR"),
            ("+1 206 555 0102", "US"),
            ("(206) 555-0102", "US"),
            ("020 7946 0018", "GB"),
            ("030 901820", "DE"),
        ] {
            let persons = Persons::default();
            let masked = persons.value("phone", phone);
            let read = |text| phone::normalise(text, region).e164.expect("a phone");
            let (before, after) = (read(phone), read(&masked));
            assert_eq!(before.len(), after.len(), "{masked}");
            assert_eq!(
                before[..before.len() - 6],
                after[..before.len() - 6],
                "{masked}"
            );
            assert_ne!(
                before[before.len() - 6..],
                after[before.len() - 6..],
                "{masked}"
            );
            assert_eq!(persons.value("fone", phone), masked);
            assert_ne!(Persons::default().value("phone", phone), masked);
        }
    }

    #[test]
    fn the_values_of_a_lead_are_masked_wherever_they_stand() {
        let lead = [
            ("name", "Rui de Sá Prado"),
            ("phone", "+5511987654321"),
            ("message", "Moro na rua das Flores\nOi Bia"),
        ];
        for (body, expect) in [
            (
                r#"{"a": "PRADO", "b": 11987654321, "c": "of", "d": "de"}"#,
                r#"{"a": "XXXXX", "b": 11987~~~~~~, "c": "of", "d": "de"}"#,
            ),
            (
                r#"{"q": "Eu moro na rua das Flores", "r": "oi bia", "s": "Sá", "t": "Quero sá"}"#,
                r#"{"q": "Xx xxxx xx xxx xxx Xxxxxx", "r": "xx xxx", "s": "Xx", "t": "Quero sá"}"#,
            ),
            (
                r#"{"x": "[{\"y\": \"Rui\"}]", "mail": {"html": "<p>Rui</p><p>Ref: AP-1</p>"}}"#,
                r#"{"x": "[{\"y\": \"Xxx\"}]", "mail": {"html": "<p>Xxx</p><p>Ref: AP-1</p>"}}"#,
            ),
            (
                "<a><b>i <3 Rui <r@x.io></b><!-- Rui --></a>",
                "<a><b>i <3 Xxx <x@x.xx></b><!-- Xxx --></a>",
            ),
            (
                r#"{"cep": 1e5, "document": "1", "n": 1, "s": "sim", "obs": "Sim"}"#,
                r#"{"cep": ~e~, "document": "~", "n": 1, "s": "sim", "obs": "Xxx"}"#,
            ),
            (
                "Lead of Rui Prado: (11) 98765-4321 in AP-0042",
                "Lead of Xxx Xxxxx: (11) 987~~-~~~~ in AP-0042",
            ),
        ] {
            check(&lead, body, false, expect);
        }
        check(
            &lead,
            "first=Rui&x=Oi+Bia&payload=%7B%22y%22%3A%22Prado%22%7D&lang=de",
            true,
            "first=Xxx&x=Xx+Xxx&payload=%7B%22y%22%3A%22Xxxxx%22%7D&lang=de",
        );
    }

    #[test]
    fn labels_and_marks_of_a_test_stay_whatever_name_was_typed() {
        let body = r#"{"nome": "Nome Teste Anabela", "event_type": "lead", "is_test": "test",
            "fields": {"q1": "Nome completo", "q2": "Qual o nome da empresa?", "q3": "Anabela"},
            "field_data": [{"name": "FULL_NAME", "values": ["<test lead: dummy data for FULL_NAME>"]}]}"#;
        let expect = body
            .replace("Nome Teste", "Xxxx Xxxxx")
            .replace("Anabela", "Xxxxxxx");
        check(&[], body, false, &expect);
    }

    #[test]
    fn a_text_without_persons_stays_as_it_is() {
        for text in [
            "",
            "{}",
            r#"[1, 2.50, "a@b", "v1.2.3", "2026-03-02 12:30:05 +0000", "R$ 350.000,00", "900719925474099"]"#,
            "no person (at all) + 12",
            "<?xml version=\"1.0\"?><a b='c' d>1</a>",
        ] {
            assert_eq!(masked(&[], text, false), text);
        }
    }
}
