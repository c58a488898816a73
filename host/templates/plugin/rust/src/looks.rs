//! Recognises the names of fields, and the shapes of their values.

use leadhost_sdk::digits;

use crate::names;

/// Returns letters and digits in lower case, without accents and the number of `q3_name`.
pub fn fold(name: &str) -> String {
    let rest = name
        .strip_prefix('q')
        .map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    let own = rest
        .filter(|rest| rest.len() + 1 < name.len())
        .and_then(|rest| rest.strip_prefix('_'));
    let own = own.filter(|own| !own.is_empty()).unwrap_or(name);
    let plain = |character| match character {
        'á' | 'à' | 'â' | 'ã' | 'ä' => 'a',
        'é' | 'è' | 'ê' | 'ë' => 'e',
        'í' | 'ì' | 'î' | 'ï' => 'i',
        'ó' | 'ò' | 'ô' | 'õ' | 'ö' => 'o',
        'ú' | 'ù' | 'û' | 'ü' => 'u',
        'ç' => 'c',
        'ñ' => 'n',
        other => other,
    };
    own.to_lowercase()
        .chars()
        .map(plain)
        .filter(|c| c.is_alphanumeric())
        .collect()
}

pub fn looks_like_phone(text: &str) -> bool {
    let shape: String = text
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    let is_date = shape.starts_with("0000-00-00") || shape.starts_with("00/00/0000");
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    (8..=20).contains(&digits(text).len())
        && text.chars().count() <= 40
        && letters <= 5
        && !text.contains("//")
        && !is_date
}

pub fn looks_like_email(text: &str) -> bool {
    let parts = text.split_once('@');
    text.len() <= 254
        && !text.contains(char::is_whitespace)
        && parts.is_some_and(|(local, domain)| {
            !local.is_empty() && domain.contains('.') && !domain.contains('@')
        })
}

pub fn looks_like_name(text: &str) -> bool {
    text.contains(char::is_alphabetic) && !looks_like_email(text)
}

pub fn is_phone_name(name: &str) -> bool {
    let is_part = names::PHONE_PARTS.iter().any(|part| name.contains(part));
    is_part && !name.ends_with("id") && !is_others(name)
}

pub fn is_email_name(name: &str) -> bool {
    names::EMAIL_PARTS.iter().any(|part| name.contains(part)) && !is_others(name)
}

/// Whether a question asks for the whole name: `Qual o seu nome completo?`.
pub fn is_name_question(name: &str) -> bool {
    names::NAME_PARTS.iter().any(|part| name.contains(part)) && !is_others(name)
}

/// Whether a text is a phone with its country code and nothing else.
pub fn is_full_phone(text: &str) -> bool {
    let is_sign = |c: char| c.is_ascii_digit() || "+()-. ".contains(c);
    text.starts_with('+') && (10..=15).contains(&digits(text).len()) && text.chars().all(is_sign)
}

/// Whether an object of this name is no private person's: it is the advertiser's, one of its
/// staff's, or a thing's, or the contact of one of these.
pub fn is_business(name: &str, in_business: bool) -> bool {
    let is_private = names::PRIVATE.iter().any(|part| name.contains(part));
    let is_thing = names::LISTING_OBJECTS.contains(&name) || names::THINGS.contains(&name);
    is_others(name) && !is_private
        || is_thing
        || in_business && names::CONTACT_OBJECTS.contains(&name)
}

/// Whether a name is another person's; `client` is the advertiser, `cliente` the lead.
pub fn is_others(name: &str) -> bool {
    name.contains("clientemail")
        || name.contains("client") && !name.contains("cliente")
        || names::OTHERS.iter().any(|part| name.contains(part))
}
