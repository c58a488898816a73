//! Search keys of deliveries that did not become leads: what looks like a phone, an e-mail address or
//! an id in the raw request, however the body is written, complete or not. Each is stored as a hash,
//! which only finds a text that is known already. Masked values are none.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use sha2::{Digest as _, Sha256};

use super::mask::MASK;
use leadhost_domain::exchange::first;
use leadhost_domain::id::WorkspaceId;
use leadhost_domain::phone::written;
use leadhost_domain::{contact, json, phone};
use leadhost_store::{Acceptance, ItemResult};

const BODY_BYTES: usize = 64 << 10;

/// Keys of each kind that a delivery has at most.
const KEYS: usize = 12;

/// Texts that are tried as phones, and digits of the shortest and the longest.
const PHONES_TRIED: usize = 48;
const PHONE_DIGITS: std::ops::RangeInclusive<usize> = 8..=20;

const ID_BYTES: usize = 128;

/// Bytes of the longest text before a value that is its name.
const NAME_BYTES: usize = 256;

/// Returns the keys of a delivery before it is stored. One that becomes leads is found by these, and one
/// whose leads are to be fetched has their external ids.
pub fn of(acceptance: &Acceptance, region: &str) -> Vec<i64> {
    let (delivery, result) = (&acceptance.delivery, &acceptance.result);
    let mut found = Found::default();
    let mut is_done = result.status.is_none() && !result.items.is_empty();
    for item in &result.items {
        match &item.result {
            ItemResult::Lead(_) | ItemResult::Event(_) => {}
            ItemResult::Fetch(fetch) => found.id(fetch.external_id.as_deref().unwrap_or_default()),
            ItemResult::Ignored(_) | ItemResult::Invalid(_) | ItemResult::Unrouted(_) => {
                is_done = false;
            }
        }
    }
    if !is_done {
        for (name, value) in &delivery.query {
            found.value(name, value, region);
        }
        let kind = first(&delivery.headers, "content-type").unwrap_or_default();
        let body = &delivery.body[..delivery.body.len().min(BODY_BYTES)];
        found.body(&json::decode(body), kind.contains("urlencoded"), region);
        found.join_areas(region);
    }
    found.hashes(delivery.workspace)
}

/// Returns the keys by which a text that a person typed may be found in a workspace.
pub fn of_text(workspace: WorkspaceId, text: &str, region: &str) -> Vec<i64> {
    let mut found = Found::default();
    found.id(text);
    if text.contains('@') {
        found.email(text)
    } else {
        found.phone(text, region)
    }
    found.hashes(workspace)
}

/// The same text has another hash in another workspace.
fn hash(workspace: WorkspaceId, key: &str) -> i64 {
    let mut hash = Sha256::new();
    hash.update(workspace.0.as_bytes());
    hash.update(key);
    let digest: [u8; 32] = hash.finalize().into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    i64::from_be_bytes([a, b, c, d, e, f, g, h])
}

#[derive(Default)]
struct Found {
    emails: Vec<String>,
    phones: Vec<String>,
    ids: Vec<String>,
    tried: usize,
    /// Area codes in fields of their own, and numbers that may lack one.
    areas: Vec<String>,
    rests: Vec<String>,
}

impl Found {
    fn hashes(&self, workspace: WorkspaceId) -> Vec<i64> {
        let keys = self.emails.iter().chain(&self.phones).chain(&self.ids);
        keys.map(|key| hash(workspace, key)).collect()
    }

    /// Reads any text by the characters that separate values in JSON, forms, XML, multipart bodies and
    /// lines. What stands before a value is its name.
    fn body(&mut self, text: &str, is_form: bool, region: &str) {
        const ENDS: &str = "{}[]\"<>&,;|\r\n\t";
        let mut name = Cow::Borrowed("");
        for piece in text.split(|c| ENDS.contains(c)).map(str::trim) {
            if matches!(piece, "" | ":" | "!" | "CDATA") {
                continue;
            }
            let piece = decoded(piece, is_form);
            match piece.strip_prefix([':', '=']) {
                Some(value) => self.value(&name, value, region),
                None => match piece.split_once(['=', ':']) {
                    Some((before, value)) if is_id(before) || is_area(before) => {
                        self.value(before, value, region);
                    }
                    _ => self.value(&name, &piece, region),
                },
            }
            name = piece;
        }
    }

    fn value(&mut self, name: &str, value: &str, region: &str) {
        if is_id(name) {
            self.id(value);
        }
        if value.contains('@') {
            for word in value
                .split(|c| !is_of_address(c))
                .filter(|word| word.contains('@'))
            {
                self.email(word.trim_matches(['.', '-', '\'']));
            }
        }
        let of_area = is_area(name);
        let text: String = value.chars().filter_map(written::plain).collect();
        for run in text.split(|c: char| !c.is_ascii_digit() && !" +-.()/".contains(c)) {
            let run = run.trim_end_matches(|c: char| !c.is_ascii_digit());
            let digits: String = run.chars().filter(char::is_ascii_digit).collect();
            if PHONE_DIGITS.contains(&digits.len()) {
                self.phone(run, region);
            }
            match digits.len() {
                1..=4 if of_area => add(&mut self.areas, digits),
                7..=9 => add(&mut self.rests, digits),
                _ => {}
            }
        }
    }

    /// Reads numbers whose area code is in another field.
    fn join_areas(&mut self, region: &str) {
        for area in std::mem::take(&mut self.areas) {
            for rest in self.rests.clone() {
                self.phone(&format!("{area}{rest}"), region);
            }
        }
    }

    fn email(&mut self, text: &str) {
        if let Some(email) = contact::email(text) {
            add(&mut self.emails, contact::email_key(&email));
        }
    }

    fn phone(&mut self, text: &str, region: &str) {
        if self.tried < PHONES_TRIED {
            self.tried += 1;
            if let Some(key) = phone::normalise(text, region).match_key {
                add(&mut self.phones, contact::phone_key(&key));
            }
        }
    }

    fn id(&mut self, text: &str) {
        let text = text.trim();
        let quoted = text
            .strip_prefix('\'')
            .and_then(|text| text.split('\'').next());
        let text = quoted.unwrap_or(text);
        if (1..=ID_BYTES).contains(&text.len()) && !text.contains(MASK) {
            add(&mut self.ids, format!("id:{text}"));
        }
    }
}

fn add(to: &mut Vec<String>, key: String) {
    if to.len() < KEYS && !to.contains(&key) {
        to.push(key);
    }
}

/// Returns a value without the escapes of forms and of JSON.
fn decoded(piece: &str, is_form: bool) -> Cow<'_, str> {
    if is_form || piece.contains('%') {
        let spaced = piece.replace('+', " ");
        return Cow::Owned(percent_decode_str(&spaced).decode_utf8_lossy().into_owned());
    }
    let text = piece
        .contains('\\')
        .then(|| json::parse(&format!("\"{piece}\"")).ok());
    text.flatten().map_or(Cow::Borrowed(piece), Cow::Owned)
}

fn is_of_address(c: char) -> bool {
    c.is_alphanumeric() || "@._%+-'".contains(c)
}

fn is_area(name: &str) -> bool {
    let name = lower(name);
    name.contains("ddd") || name.contains("area")
}

/// Returns a name in lower case. A longer text is no name.
fn lower(name: &str) -> String {
    if name.len() <= NAME_BYTES {
        name.to_lowercase()
    } else {
        String::new()
    }
}

/// Returns whether a value of this name looks like an id: `lead_id`, `uuid`, `contact[id]`, `Código do lead`.
fn is_id(name: &str) -> bool {
    let name = lower(name);
    let last = name.rsplit(' ').take(1).flat_map(str::chars);
    let word: String = last.filter(|c| c.is_alphanumeric()).collect();
    let parts = ["codigo", "código", "referenc", "referênc", "protocol"];
    word.starts_with("id")
        || ["id", "ids", "code", "ref"]
            .iter()
            .any(|end| word.ends_with(end))
        || parts.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(body: &str, is_form: bool) -> Vec<String> {
        let mut found = Found::default();
        found.body(body, is_form, "BR");
        found.join_areas("BR");
        [found.emails, found.phones, found.ids].concat()
    }

    #[test]
    fn persons_and_ids_are_found_in_bodies_of_every_kind_complete_or_not() {
        let all = ["email:rita@example.com", "phone:+551187654321", "id:L-7"];
        let forms = [
            "id=L-7&email=rita%40example.com&phone=%2B55+11+98765-4321",
            "lead[id]=L-7&email=rita@example.com&phone=11+98765-4321",
            "id=L-7&ddd=11&phone=987654321&email=rita%40example.com",
        ];
        let others = [
            r#"{"lead_id":"L-7","email":"Rita@Example.com","phone":"+55 (11) 98765-4321"}"#,
            r#"{"data":{"leadId": "L-7", "to": ["<rita@example.com>", 11987654321]"#,
            r#"[{"externalId":"L-7","mail":"rita\u0040example.com","tel":"\u002B5511987654321"}]"#,
            "<l><LeadId>L-7</LeadId><Mail>rita@example.com</Mail><Tel><![CDATA[11 98765-4321]]></Tel></l>",
            r#"{"originLeadId":"L-7","ddd":"11","phone":"98765-4321","email":"rita@example.com""#,
            "<lead id='L-7' mail=\"rita@example.com\" phone=\"011 98765.4321\"/>",
            "Id: L-7\r\nNome: Rita\r\nE-mail: rita@example.com.\r\nFone: 11 98765-4321 (casa)\r\n",
            "--b\r\nContent-Disposition: form-data; name=\"lead_id\"\r\n\r\nL-7\r\n--b\r\n\r\nrita@example.com\r\n--b\r\n\r\n11 98765 4321\r\n",
            r#"{"codigo_lead":"L-7","emails":["rita@example.com"],"fone":"11987654321"}"#,
            "Código do lead: L-7\nE-mail: rita@example.com\nFone: 11 98765-4321",
            "protocolo;L-7\nRita <rita@example.com> ligou de １１９８７６５４３２１",
        ];
        let others = others.map(|body| (body, false));
        for (body, is_form) in forms.map(|body| (body, true)).into_iter().chain(others) {
            let found = keys(body, is_form);
            for key in all {
                assert!(
                    found.iter().any(|one| one == key),
                    "{key} in {body}: {found:?}"
                );
            }
        }
    }

    #[test]
    fn masked_values_are_no_keys_and_the_keys_are_bounded() {
        let found = keys(
            r#"{"token_id":"***","phone":"***","note":"x@y","day":"2026-11-28"}"#,
            false,
        );
        assert!(found.is_empty(), "{found:?}");
        let many: String = (0..1_000)
            .map(|at| {
                format!("\"id\":\"{at}\",\"p\":\"11 9876{at:05}\",\"m\":\"a{at}@example.com\",")
            })
            .collect();
        assert_eq!(keys(&many, false).len(), 3 * KEYS);
        let long = format!("{{\"id\":\"{}\"}}", "x".repeat(ID_BYTES + 1));
        assert!(keys(&long, false).is_empty());
    }

    #[test]
    fn the_work_grows_with_the_body_and_not_faster() {
        let filled = |piece: &str, bytes: usize| piece.repeat(bytes / piece.len() / 2);
        for (name, value) in [
            ("Σ", "1a"),
            ("é ", "1 "),
            ("id", "11 98765-4321,"),
            ("x=", "a@b"),
            ("%25", "12345678 "),
            ("\\u0041", "(((("),
            ("ddd ", "\"1\""),
            (":", "=1:"),
        ] {
            for (before, between, is_form) in [("\"", "\": \"", false), ("", "=", true)] {
                let body = |bytes| {
                    let (name, value) = (filled(name, bytes), filled(value, bytes));
                    format!("{before}{name}{between}{value}")
                };
                leadhost_fuzz::grows_linearly(body, |body| drop(keys(body, is_form)));
            }
        }
    }

    #[test]
    fn a_typed_text_has_the_keys_of_the_same_text_in_a_body() {
        let (one, other) = (
            WorkspaceId::new(leadhost_domain::time::Micros(1)),
            WorkspaceId::new(leadhost_domain::time::Micros(2)),
        );
        let of_body = |key: &str| hash(one, key);
        for (text, key) in [
            ("(11) 98765-4321", "phone:+551187654321"),
            ("+5511987654321", "phone:+551187654321"),
            ("RITA@example.com", "email:rita@example.com"),
            (" L-7 ", "id:L-7"),
        ] {
            assert!(of_text(one, text, "BR").contains(&of_body(key)), "{text}");
            assert!(
                !of_text(other, text, "BR").contains(&of_body(key)),
                "{text}"
            );
        }
    }
}
