//! The person of a lead, and the keys by which two leads belong to the same person.

use serde_json::Value;

use super::addresses::addresses;
use super::phone::{self, Phone};
use super::word::words;

/// The deal's property with the `name`, `phones` and `emails` that its lead gave. An
/// existing contact keeps its own values.
pub const SAID: &str = "contact";

/// Bound of an e-mail address, in characters.
pub const EMAIL_CHARACTERS: usize = 254;

words! {
    /// The kind of key by which a contact was found.
    FoundBy: "the key of a contact" {
        Id = "id",
        Phone = "phone",
        Email = "email",
    }
}

/// Returns the match keys of a contact, strongest first: phones, then e-mail addresses.
pub fn keys(phones: &[Phone], emails: &[String]) -> Vec<String> {
    let phones = phones
        .iter()
        .filter_map(|phone| phone.match_key.as_ref())
        .map(|key| phone_key(key));
    let emails = emails.iter().map(|email| email_key(email));
    let mut keys = Vec::new();
    for key in phones.chain(emails) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// Returns the texts of a stored value, which is one text or a list of texts.
pub fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(list) => {
            let texts = list.iter().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

pub fn keys_of<'a>(
    phones: impl IntoIterator<Item = &'a String>,
    emails: impl IntoIterator<Item = &'a String>,
) -> Vec<String> {
    let phones = phones.into_iter().map(|text| phone::normalise(text, ""));
    let emails: Vec<_> = emails.into_iter().cloned().collect();
    keys(&phones.collect::<Vec<_>>(), &emails)
}

/// Returns the values of a field that a lead gave of the person ([`SAID`]): `name`, `phones` or `emails`,
/// without phones and addresses that could not be read. A contact has none of these.
pub fn said(said: &Value, field: &str) -> Vec<String> {
    let texts = texts(&said[field]).into_iter();
    match field {
        "phones" => texts
            .filter(|text| phone::normalise(text, "").e164.as_ref() == Some(text))
            .collect(),
        "emails" => texts.filter_map(|text| email(&text)).collect(),
        _ => texts.collect(),
    }
}

/// Returns the match keys of the phones and addresses that a lead gave.
pub fn said_keys(of: &Value) -> Vec<String> {
    // A phone that could not be read has no key.
    keys_of(&texts(&of["phones"]), &said(of, "emails"))
}

/// Returns the key of a contact for the match key of its phone: `phone:` and the match key.
pub fn phone_key(match_key: &str) -> String {
    format!("phone:{match_key}")
}

/// Returns the key of a contact for its e-mail address: `email:` and the address. Upper and
/// lower case make no difference.
pub fn email_key(email: &str) -> String {
    format!("email:{}", email.to_lowercase())
}

/// Returns the key of a channel's id of a person: `whatsapp:5511987654321`.
pub fn channel_key(channel: &str, id: &str) -> String {
    format!("{channel}:{id}")
}

/// Returns the phone that a channel's id of a person stands for, if it is a phone number.
pub fn channel_phone(id: &str) -> Option<Phone> {
    let digits = id.strip_prefix('+').unwrap_or(id);
    let plausible = (8..=15).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    plausible
        .then(|| phone::normalise(&format!("+{digits}"), ""))
        .filter(|phone| phone.e164.is_some())
}

/// Returns the keys of a channel's id of a person: its own, and the phone's if the id is a
/// number.
pub fn channel_keys(channel: &str, id: &str) -> Vec<String> {
    let phone = channel_phone(id).and_then(|phone| phone.match_key);
    let phone = phone.map(|key| phone_key(&key));
    phone
        .into_iter()
        .chain([channel_key(channel, id)])
        .collect()
}

/// Returns the keys of a channel's further ids of a person.
pub fn further_keys(channel: &str, ids: &[String]) -> Vec<String> {
    ids.iter().map(|id| channel_key(channel, id)).collect()
}

/// Returns the rank of a key; a smaller one is stronger. A channel's own id of a person
/// comes first, then a phone, which two spellings share, then an e-mail address, which two
/// people may share.
pub fn strength(key: &str) -> u8 {
    match key.split_once(':') {
        Some(("phone", _)) => 1,
        Some(("email", _)) => 2,
        _ => 0,
    }
}

/// Bounds in characters, by RFC 5321 and RFC 1035: of the part of an address before the at
/// sign, and of one label of its domain.
const LOCAL_CHARACTERS: usize = 64;
const LABEL_CHARACTERS: usize = 63;

/// Returns the address of a text that has one, as [`emails`] reads it.
pub fn email(raw: &str) -> Option<String> {
    let mut emails = emails(raw).into_iter();
    emails.next().filter(|_| emails.next().is_none())
}

/// Returns the e-mail addresses of a text as people and mail programs write them, in lower case.
pub fn emails(raw: &str) -> Vec<String> {
    let all = addresses(raw).into_iter();
    all.filter_map(|address| valid_email(&address)).collect()
}

/// Returns an address in lower case. `None` unless it has a local part, an at sign and a domain with
/// a dot, no spaces, no empty part between dots, and each part and the whole within their bounds.
fn valid_email(text: &str) -> Option<String> {
    let (local, domain) = text.rsplit_once('@')?;
    let are_parts = |text: &str, most: usize| {
        text.split('.')
            .all(|part| !part.is_empty() && part.chars().count() <= most)
    };
    let plausible = text.chars().count() <= EMAIL_CHARACTERS
        && local.chars().count() <= LOCAL_CHARACTERS
        && are_parts(local, LOCAL_CHARACTERS)
        && domain.contains('.')
        && are_parts(domain, LABEL_CHARACTERS)
        && text.chars().all(|c| {
            !c.is_whitespace() && !c.is_control() && !matches!(c, '<' | '>' | ',' | ';' | '"')
        })
        && local.split('@').count() == 1;
    plausible.then(|| text.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channels_id_gives_its_own_key_and_a_phone_key_if_it_is_a_number() {
        let check = |id, expect: &[&str]| assert_eq!(channel_keys("whatsapp", id), expect, "{id}");
        check(
            "5511987654321",
            &["phone:+551187654321", "whatsapp:5511987654321"],
        );
        check(
            "+551134567890",
            &["phone:+551134567890", "whatsapp:+551134567890"],
        );
        check(
            "BR.13491208655302741918",
            &["whatsapp:BR.13491208655302741918"],
        );
        check("12", &["whatsapp:12"]);
    }

    #[test]
    fn an_email_address_is_normalised_or_refused() {
        assert_eq!(email(" Ana@Example.COM "), Some("ana@example.com".into()));
        assert_eq!(email("ana@example.com."), Some("ana@example.com".into()));
        let two = emails("\"Souza, Ana\" <Ana@example.com>; bia@exam\u{ad}ple.com, .x@example.com");
        assert_eq!(two, ["ana@example.com", "bia@example.com"]);
        for wrong in [
            "",
            "ana",
            "ana@",
            "@example.com",
            "a b@example.com",
            "ana@example",
            "a@b@example.com",
            "ana@exa..com",
            ".ana@example.com",
            "ana.@example.com",
            "a..na@example.com",
            "ana@.example.com",
            "Ana Souza <ana>",
            "ana@example.com, bia@example.com",
            "ana@example..com, ana",
            "{{email}}@example.com",
            "Ana <undefined@example.com>",
        ] {
            assert_eq!(email(wrong), None, "{wrong}");
        }
        // The bounds are in characters, not bytes.
        let check = |local: usize, label: usize, is_one: bool| {
            let text = format!("{}@{}.com", "é".repeat(local), "ã".repeat(label));
            assert_eq!(email(&text).is_some(), is_one, "{local} at {label}");
        };
        check(64, 63, true);
        check(65, 63, false);
        check(64, 64, false);
        let label = "b".repeat(60);
        let domain = format!("{label}.{label}.{label}.{label}bbb.co");
        let whole = |local: usize| email(&format!("{}@{domain}", "a".repeat(local)));
        let most = EMAIL_CHARACTERS - domain.len() - 1;
        assert!(whole(most).is_some());
        assert!(whole(most + 1).is_none());
    }
}
