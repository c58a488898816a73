//! Who a lead is about: what makes two leads the same person.

use super::phone::Phone;

/// The deal's property with what its lead said of its person: `name`, `phones`
/// and `emails`. The contact may be somebody known before, who keeps what was known.
pub const SAID: &str = "contact";

/// The keys by which a contact is found again, strongest first: phones, then e-mails.
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

pub fn phone_key(match_key: &str) -> String {
    format!("phone:{match_key}")
}

pub fn email_key(email: &str) -> String {
    format!("email:{}", email.to_lowercase())
}

/// An e-mail address as far as a lead's needs go: something, an at, a domain
/// with a dot, no spaces, at most 254 bytes. Lower-cased, trimmed.
pub fn email(raw: &str) -> Option<String> {
    let text = raw
        .trim()
        .trim_matches(['<', '>'])
        .trim_start_matches("mailto:");
    let (local, domain) = text.rsplit_once('@')?;
    let plausible = !local.is_empty()
        && text.len() <= 254
        && domain.contains('.')
        && !domain.starts_with('.')
        && !domain.ends_with('.')
        && !domain.contains("..")
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
    fn an_address_is_trimmed_and_lower_cased_or_refused() {
        assert_eq!(email(" Ana@Example.COM "), Some("ana@example.com".into()));
        for wrong in [
            "",
            "ana",
            "ana@",
            "@example.com",
            "a b@example.com",
            "ana@example",
            "a@b@example.com",
            "ana@exa..com",
        ] {
            assert_eq!(email(wrong), None, "{wrong}");
        }
    }
}
