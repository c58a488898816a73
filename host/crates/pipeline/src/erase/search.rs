//! Finds out whether a text names a person: by a whole e-mail address, by a number with the usual
//! characters between its digits, or by a channel's own id of the person. Names of people are not
//! searched for, because two people may share them.

use serde_json::{Map, Value};

use leadhost_domain::escapes::{self, Decoded};
use leadhost_domain::json;
use leadhost_domain::phone::written;
use leadhost_store::{Person, UnlinkedDelivery};

/// Digits of the shortest number that is searched for.
const SHORTEST: usize = 8;

/// Digits of the longest country code, which people omit at home.
const COUNTRY: usize = 3;

/// Digits of the longest number, with possible prefixes for dialling.
const LONGEST: usize = 20;

/// Digits of the longest area code, with its zero.
const AREA: usize = 4;

/// Bound on the fields of an object that may be a form with an area code.
const FIELDS: usize = 100;

#[derive(Clone, Debug, Default)]
pub struct PersonSearch {
    /// In lower case.
    texts: Vec<String>,
    numbers: Vec<String>,
}

impl PersonSearch {
    /// Returns a search for the person's e-mail addresses, numbers and ids of channels. Numbers
    /// and ids of fewer than 8 characters are left out.
    pub fn new(person: &Person) -> Self {
        let mut search = Self::default();
        let addresses = person
            .keys
            .iter()
            .filter_map(|key| key.strip_prefix("email:"));
        for address in addresses.chain(person.email.as_deref()) {
            add(&mut search.texts, address.to_lowercase());
        }
        for name in person.names() {
            let bare = name.trim_start_matches('+');
            if bare.len() < SHORTEST {
                continue;
            }
            if bare.bytes().all(|byte| byte.is_ascii_digit()) {
                add(&mut search.numbers, bare.to_owned());
            } else {
                add(&mut search.texts, bare.to_lowercase());
            }
        }
        search
    }

    /// Returns whether nothing identifies the person. Such a search finds nothing.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.numbers.is_empty()
    }

    pub fn finds(&self, delivery: &UnlinkedDelivery) -> bool {
        self.is_in(&delivery.query)
            || self.is_in(&delivery.headers)
            || self.is_in(&json::decode(&delivery.body))
    }

    /// Searches the text as it is, and without the escapes of addresses, JSON and HTML.
    fn is_in(&self, text: &str) -> bool {
        let is_in_decoded = || {
            let decoded = Decoded::new(text.as_bytes()).text;
            self.is_plainly_in(&String::from_utf8_lossy(&decoded))
        };
        if self.is_plainly_in(text) || escapes::may_be_in(text.as_bytes()) && is_in_decoded() {
            return true;
        }
        // An area code in a field of its own.
        let value: Option<Value> = is_area(text).then(|| json::parse(text).ok()).flatten();
        value.is_some_and(|value| self.is_in_value(&value))
    }

    fn is_in_value(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.is_plainly_in(text),
            Value::Array(values) => values.iter().any(|value| self.is_in_value(value)),
            Value::Object(fields) => {
                (fields.len() <= FIELDS && self.is_in_fields(fields))
                    || fields
                        .iter()
                        .any(|(name, value)| self.is_plainly_in(name) || self.is_in_value(value))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    fn is_plainly_in(&self, text: &str) -> bool {
        if !self.texts.is_empty() {
            let lower = text.to_lowercase();
            if self.texts.iter().any(|wanted| is_whole_in(&lower, wanted)) {
                return true;
            }
        }
        !self.numbers.is_empty() && runs(text).iter().any(|run| self.is_in_run(run))
    }

    /// Returns whether some consecutive groups form a number. Other groups may precede or follow
    /// it, such as a carrier's code or another number.
    fn is_in_run(&self, groups: &[String]) -> bool {
        for first in 0..groups.len() {
            let mut digits = String::new();
            for group in &groups[first..] {
                digits.push_str(group);
                if digits.len() > LONGEST {
                    break;
                }
                if self.is_number(&digits) {
                    return true;
                }
            }
        }
        false
    }

    /// Finds an area code in a field of its own, with the rest of the number in other fields.
    fn is_in_fields(&self, fields: &Map<String, Value>) -> bool {
        let mut areas = fields
            .iter()
            .filter(|(name, _)| is_area(name))
            .filter_map(|(_, value)| digits(value))
            .filter(|area| area.len() <= AREA);
        let ends_a_number = |rest: &String| {
            let bare = rest.trim_start_matches('0');
            self.numbers.iter().any(|number| number.ends_with(bare))
        };
        let rests: Vec<_> = fields
            .values()
            .filter_map(digits)
            .filter(|rest| rest.len() >= SHORTEST && ends_a_number(rest))
            .collect();
        areas.any(|area| {
            rests
                .iter()
                .any(|rest| self.is_number(&format!("{area}{rest}")))
        })
    }

    /// Compares with or without the country code and leading zeros.
    fn is_number(&self, written: &str) -> bool {
        let bare = written.trim_start_matches('0');
        bare.len() >= SHORTEST
            && self.numbers.iter().any(|number| {
                number
                    .strip_suffix(bare)
                    .is_some_and(|country| country.len() <= COUNTRY)
            })
    }
}

fn add(to: &mut Vec<String>, text: String) {
    if !text.is_empty() && !to.contains(&text) {
        to.push(text);
    }
}

/// Matches whole addresses only: `ana@example.com` is neither in `juliana@example.com` nor in
/// `ana@example.com.br`.
fn is_whole_in(text: &str, wanted: &str) -> bool {
    text.match_indices(wanted).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let mut after = text[at + wanted.len()..].chars();
        let goes_on = match after.next() {
            // The end of a sentence, or a domain that continues.
            Some('.' | '-') => after.next().is_some_and(char::is_alphanumeric),
            Some(next) => next.is_alphanumeric() || next == '_',
            None => false,
        };
        !before.is_some_and(is_of_address) && !goes_on
    })
}

/// Returns whether a character may precede the at sign of an address. The separators that forms put
/// between fields do not count.
fn is_of_address(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '.' | '_' | '-' | '+')
}

/// Returns groups of digits that may be phone numbers, split as people write them.
fn runs(text: &str) -> Vec<Vec<String>> {
    let text: String = text.chars().filter_map(written::plain).collect();
    text.split(|c: char| !c.is_ascii_digit() && !is_between(c))
        .filter(|run| run.len() >= SHORTEST)
        .map(|run| {
            let groups = run.split(is_between).filter(|group| !group.is_empty());
            groups.map(str::to_owned).collect()
        })
        .collect()
}

/// Returns whether a field name is an area code's, or whether a text contains one.
fn is_area(name: &str) -> bool {
    ["ddd", "DDD", "area", "Area"]
        .iter()
        .any(|word| name.contains(word))
}

fn digits(value: &Value) -> Option<String> {
    let text: String = match value {
        Value::String(text) => text.chars().filter_map(written::plain).collect(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let is_number = text.chars().all(|c| c.is_ascii_digit() || is_between(c));
    is_number.then(|| text.chars().filter(char::is_ascii_digit).collect())
}

fn is_between(character: char) -> bool {
    matches!(character, ' ' | '+' | '-' | '.' | '(' | ')' | '/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::id::{ContactId, WorkspaceId};
    use leadhost_domain::time::Micros;

    fn search() -> PersonSearch {
        PersonSearch::new(&Person {
            workspace: WorkspaceId::new(Micros(1)),
            id: ContactId::random(),
            keys: vec![
                "phone:+551187654321".to_owned(),
                "email:rita@example.com".to_owned(),
                "whatsapp:5511987654321".to_owned(),
                "whatsapp:BR.13491208655302741918".to_owned(),
            ],
            email: None,
            phone_number: Some("+5511987654321".to_owned()),
            others: Vec::new(),
        })
    }

    #[test]
    fn a_person_is_found_however_it_is_written() {
        for text in [
            r#"{"email":"Rita@Example.com"}"#,
            r#"{"email":"rita\u0040example.com"}"#,
            r#"{"name":"Rita \ud83d","email":"rita\u0040example.com"}"#,
            "email=rita%40example.com",
            r#"{"foo":"rita&#64;example.com"}"#,
            r#"{"text":"Oi\nrita&commat;example.com"}"#,
            r#"{"phone":"+55 (11) 98765-4321"}"#,
            r#"{"phone":11987654321}"#,
            r#"{"phone":"011 98765.4321"}"#,
            "phone=%2B55%2811%29+98765-4321",
            r#"{"wa_id":"551187654321"}"#,
            "005511987654321",
            r#"{"from":"br.13491208655302741918"}"#,
            "rita@example.com",
            "<rita@example.com>",
            "mailto:rita@example.com.",
            "write to rita@example.com. Or call.",
            "a=1&email=rita@example.com&b=2",
            "11/98765/4321",
            "11\u{a0}98765\u{2011}4321",
            "１１９８７６５４３２１",
            "0 15 11 98765-4321",
            "(11) 98765-4321 / (11) 3456-7890",
            "11 3456-7890 11 98765-4321",
            r#"["\u0031\u0031987654321"]"#,
            r#"{"name":"Rita","ddd":"11","phone":"98765-4321"}"#,
            r#"{"lead":{"areaCode":11,"number":987654321}}"#,
        ] {
            assert!(search().is_in(text), "{text}");
        }
    }

    #[test]
    fn the_work_grows_with_the_text_and_not_faster() {
        let search = search();
        for piece in [
            "1 ",
            "1-",
            "11987654322 ",
            "rita@example.comx",
            "\\",
            "%31",
            "{\"ddd\":\"1\"},",
            "Σ",
        ] {
            for (before, after) in [("", ""), ("[\"\\u0031\",", "0]")] {
                let text =
                    |bytes: usize| format!("{before}{}{after}", piece.repeat(bytes / piece.len()));
                leadhost_fuzz::grows_linearly(text, |text| {
                    search.is_in(text);
                });
            }
        }
    }

    #[test]
    fn other_people_are_not_taken_for_the_person() {
        for text in [
            "",
            r#"{"email":"margarita@example.org"}"#,
            r#"{"email":"margarita@example.com"}"#,
            r#"{"email":"ana.rita@example.com"}"#,
            r#"{"email":"ana-rita@example.com"}"#,
            r#"{"email":"x+rita@example.com"}"#,
            r#"{"email":"rita@example.com.br"}"#,
            r#"{"email":"rita@example.community"}"#,
            r#"{"from":"br.134912086553027419180"}"#,
            r#"{"ddd":"21","phone":"98765-4321"}"#,
            r#"{"page":"11","phone":"98765-4321"}"#,
            "98765-4321",
            r#"{"phone":"+55 11 98765-4322"}"#,
            r#"{"phone":"+55 21 98765-4321"}"#,
            // Two numbers that have the phone's digits only when they are joined.
            r#"{"a":119876,"b":54321}"#,
            r#"{"id":"9911987654321"}"#,
            "4321",
        ] {
            assert!(!search().is_in(text), "{text}");
        }
        assert!(PersonSearch::default().is_empty());
    }
}
