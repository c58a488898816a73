//! Heuristics: what a name asks for, and what a text looks like.

use leadhost_sdk::{digits, serde_json::Value};

use crate::body::json_in;
use crate::fold::fold;
use crate::names;

/// Whether the text means yes, in the languages of usual forms.
pub fn is_truth(text: &str) -> bool {
    matches!(
        fold(text).as_str(),
        "true"
            | "1"
            | "yes"
            | "y"
            | "sim"
            | "s"
            | "si"
            | "on"
            | "test"
            | "teste"
            | "aceito"
            | "accepted"
            | "granted"
    )
}

/// `contact` may hold a name, but also a phone or an address.
pub fn may_be_name(text: &str) -> bool {
    text.contains(char::is_alphabetic) && !looks_like_email(text) && json_in(text).is_none()
}

/// Whether the text has the form of an e-mail address, or is the marker of a test lead.
pub fn looks_like_email(text: &str) -> bool {
    let text = text.trim();
    // The marker of a test lead takes the place of an address.
    if text.starts_with("<test lead") {
        return true;
    }
    let Some((local, domain)) = text.split_once('@') else {
        return false;
    };
    !local.is_empty()
        && domain.contains('.')
        && !domain.contains('@')
        && text.len() <= 254
        && !text.contains(char::is_whitespace)
}

/// Whether the text has 8 to 20 digits and few letters, and is not a date.
pub fn looks_like_phone(text: &str) -> bool {
    let number = digits(text).len();
    (8..=20).contains(&number)
        && text.chars().count() <= 40
        && !text.contains("//")
        && text.chars().filter(|c| c.is_alphabetic()).count() <= 5
        && !looks_like_date(text)
}

/// Whether the text is a date in a usual format.
pub fn looks_like_date(text: &str) -> bool {
    crate::time::read(
        &Value::String(text.to_owned()),
        &[
            "%Y-%m-%dT%H:%M:%S%f%z".into(),
            "%Y-%m-%d".into(),
            "%d/%m/%Y".into(),
            "%d/%m/%Y %H:%M".into(),
        ],
        false,
    )
    .is_some()
}

/// Whether a folded name contains a word for a phone of the lead.
pub fn is_phone_name(name: &str) -> bool {
    const PARTS: [&str; 8] = [
        "telefone", "telefono", "celular", "whatsapp", "phone", "fone", "mobile", "movil",
    ];
    PARTS.iter().any(|part| name.contains(part)) && !name.ends_with("id") && !is_others(name)
}

/// Whether a folded name contains a word for an e-mail address of the lead.
pub fn is_email_name(name: &str) -> bool {
    (name.contains("email") || name.contains("correo")) && !is_others(name)
}

/// Whether a folded name asks for the full name of the lead.
pub fn is_name_question(name: &str) -> bool {
    const PARTS: [&str; 7] = [
        "fullname",
        "nomecompleto",
        "nombrecompleto",
        "yourname",
        "seunome",
        "tunombre",
        "sunombre",
    ];
    let asks = PARTS.iter().any(|part| name.contains(part))
        || ["nome", "name", "nombre"]
            .iter()
            .any(|word| name.strip_prefix(word).is_some_and(|rest| rest.len() <= 3));
    asks && !is_others(name) && !name.contains("empresa") && !name.contains("company")
}

/// A part of a person's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Full,
    First,
    Last,
}

/// Returns which part of the lead's name a folded name asks for, if it says whose name it
/// is: `contato_nome`, `nomeDoComprador`, `buyerFirstName`.
pub fn owned_name_part(name: &str) -> Option<Part> {
    const OF: [&str; 5] = ["", "do", "da", "de", "del"];
    let is_own = |rest: &str| {
        let mut persons = OF.iter().filter_map(|of| rest.strip_prefix(of));
        persons.any(|person| names::LEAD_WORDS.contains(&person))
    };
    let parts = [
        (Part::Full, names::NAME_WORDS),
        (Part::First, names::FIRST_NAME_WORDS),
        (Part::Last, names::LAST_NAME_WORDS),
    ];
    let fits = |word: &&str| {
        name.strip_suffix(*word)
            .is_some_and(|rest| names::LEAD_WORDS.contains(&rest))
            || name.strip_prefix(*word).is_some_and(is_own)
    };
    let found = parts.iter().find(|(_, words)| words.iter().any(&fits));
    found.map(|(part, _)| *part)
}

/// Whether a text is a phone with its country code and nothing else.
pub fn is_full_phone(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('+')
        && (10..=15).contains(&digits(text).len())
        && text
            .chars()
            .all(|c| c.is_ascii_digit() || "+()-. ".contains(c))
}

/// Whether a text under one of the names `contato`, `contacto` and `contact` can be nothing
/// but a phone: it has the signs of one, or as many digits as a Brazilian one with its area
/// code. A `contact` of digits alone is an id as well.
pub fn is_plain_phone(name: &str, text: &str) -> bool {
    let number = digits(text);
    let is_complete = matches!(number.len(), 10 | 11)
        || matches!(number.len(), 12 | 13) && number.starts_with("55");
    let is_id = name == "contact" || !is_complete;
    looks_like_phone(text) && (!is_id || text.contains(['+', '(']))
}

/// Whether the name refers to another person. `client` is the advertiser's word for
/// itself, `cliente` the lead.
pub fn is_others(name: &str) -> bool {
    names::OTHERS.iter().any(|part| name.contains(part))
        || name.contains("clientemail")
        || (name.contains("client") && !name.contains("cliente"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_ask_for_the_persons_own_contact_are_recognised() {
        for name in ["seumelhoremail", "emaildocliente", "qualoseuemail"] {
            assert!(is_email_name(name), "{name}");
        }
        for name in [
            "emailcorretor",
            "recipientemail",
            "owneremail",
            "clientemail",
        ] {
            assert!(!is_email_name(name), "{name}");
        }
        assert!(is_phone_name("qualoseuwhatsapp"));
        assert!(!is_phone_name("phonenumberid"));
        assert!(is_name_question("qualoseunomecompleto"));
        assert!(!is_name_question("nomedaempresa"));
    }

    #[test]
    fn names_with_a_word_for_their_owner_are_recognised() {
        for (name, part) in [
            ("compradornome", Part::Full),
            ("nomedointeressado", Part::Full),
            ("buyerfullname", Part::Full),
            ("contactfirstname", Part::First),
            ("sobrenomedocliente", Part::Last),
        ] {
            assert_eq!(owned_name_part(name), Some(part), "{name}");
        }
        for name in ["nomedocorretor", "username", "formname", "nome", "lead"] {
            assert_eq!(owned_name_part(name), None, "{name}");
        }
    }

    #[test]
    fn a_contact_of_digits_may_be_an_id() {
        for (name, text, expect) in [
            ("contato", "11900000000", true),
            ("contato", "5511900000000", true),
            ("contato", "+351 912 345 670", true),
            ("contact", "(11) 90000-0000", true),
            ("contact", "11900000000", false),
            ("contato", "106314056576", false),
            ("contato", "80123456", false),
            ("contato", "Ana", false),
        ] {
            assert_eq!(is_plain_phone(name, text), expect, "{name} {text}");
        }
        assert!(is_full_phone("+55 (11) 90000-0000"));
        assert!(!is_full_phone("11 90000-0000"));
        assert!(!is_full_phone("+55 11 90000-0000 Ana"));
    }

    #[test]
    fn texts_that_look_like_phones_and_addresses_are_recognised() {
        for text in ["(11) 90000-0000", "+1 206 555 0100", "11900000000 ramal 2"] {
            assert!(looks_like_phone(text), "{text}");
        }
        for text in [
            "sim",
            "2026-03-02",
            "02/03/2026",
            "https://example.com/900000000",
            "1",
        ] {
            assert!(!looks_like_phone(text), "{text}");
        }
        assert!(looks_like_email("a@example.com"));
        assert!(looks_like_email("<test lead: dummy data for email>"));
        for text in ["", "@", "a@b", "a b@example.com", "a@b@example.com"] {
            assert!(!looks_like_email(text), "{text}");
        }
    }
}
