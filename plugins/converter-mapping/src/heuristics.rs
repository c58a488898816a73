//! Heuristics: what a name asks for, and what a text looks like.

use leadhost_sdk::addresses::addresses;
use leadhost_sdk::nothing::is_nothing;
use leadhost_sdk::values::{YES, is_test_mark};
use leadhost_sdk::{digits, serde_json::Value, written_time};

use crate::body::json_in;
use crate::fold::fold;
use crate::kind::rank_of_word;
use crate::names;

/// Whether the text means yes, in the languages of usual forms.
pub fn is_truth(text: &str) -> bool {
    YES.contains(&fold(text).as_str())
}

/// Whether the text means no, or that it is no test.
pub fn is_falsehood(text: &str) -> bool {
    matches!(
        fold(text).as_str(),
        "false"
            | "0"
            | "no"
            | "n"
            | "nao"
            | "off"
            | "none"
            | "null"
            | "falso"
            | "live"
            | "prod"
            | "production"
            | "producao"
            | "real"
    )
}

/// `contact` may hold a name, but also a phone or an address.
pub fn may_be_name(text: &str) -> bool {
    text.contains(char::is_alphabetic)
        && !looks_like_email(text)
        && json_in(text).is_none()
        && !is_nothing(text)
}

/// Whether the text is an e-mail address, or several, as people and programs write them.
pub fn looks_like_email(text: &str) -> bool {
    !addresses(text).is_empty()
}

/// Whether the text has 8 to 20 digits and few letters, and is not a date.
pub fn looks_like_phone(text: &str) -> bool {
    let number = digits(text).len();
    (8..=20).contains(&number)
        && text.chars().count() <= 40
        && !text.contains("//")
        && !is_test_mark(text)
        && text.chars().filter(|c| c.is_alphabetic()).count() <= 5
        && !looks_like_date(text)
}

/// Whether a value that no field reads is rather a phone than an id, a date, a price or the
/// number of a document. `name` is the folded name that it stands under.
pub fn is_unread_phone(name: &str, text: &str) -> bool {
    const NUMBERS: [&str; 18] = [
        "cpf", "cnpj", "cep", "zip", "postal", "postcode", "document", "passport", "protocol",
        "pedido", "order", "invoice", "nota", "codigo", "code", "price", "preco", "valor",
    ];
    let is_number = NUMBERS.iter().any(|part| name.contains(part))
        || name.starts_with("id")
        || name.ends_with("id")
        || matches!(name, "rg" | "ean" | "sku");
    if is_number || !looks_like_phone(text) || is_any_date(text) {
        return false;
    }
    let has_name = names::is_phone(name) || is_phone_name(name) || is_others_phone(name);
    has_name || is_full_phone(text) || has_phone_signs(text) || is_mobile_of_brazil(text)
}

/// The contact of another person is a phone, too.
fn is_others_phone(name: &str) -> bool {
    const WORDS: [&str; 6] = ["phone", "fone", "telefon", "celular", "whatsapp", "movil"];
    WORDS.iter().any(|word| name.contains(word))
}

/// Whether a text is a date or a time in any usual spelling, or a date of eight digits.
fn is_any_date(text: &str) -> bool {
    let has_signs = text.contains(['-', '/', '.', ':']);
    let text = text.trim();
    let is_compact = text.len() == 8
        && (text.starts_with("20") || text.starts_with("19"))
        && text.bytes().all(|byte| byte.is_ascii_digit());
    is_compact
        || has_signs && written_time::read(&Value::String(text.to_owned()), &[], false).is_some()
}

/// Whether a text is written like a phone: `(11) 90000-0001`, `11 3000-0001`, `90000 0001`. It ends
/// with four digits, after a sign and four or five more.
fn has_phone_signs(text: &str) -> bool {
    let mut groups = text
        .trim()
        .rsplit([' ', '-', ')'])
        .filter(|group| !group.is_empty());
    let is_of = |group: Option<&str>, lengths: &[usize]| {
        group.is_some_and(|group| {
            lengths.contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    is_of(groups.next(), &[4])
        && is_of(groups.next(), &[4, 5])
        && text.chars().all(|c| c.is_ascii_digit() || "+()- ".contains(c))
        // Four groups of four are the number of a card.
        && digits(text).len() < 14
}

/// Whether a text is a mobile phone of Brazil without signs, with its area code: the number of a
/// person (CPF) has as many digits, but seldom a 9 in this place.
fn is_mobile_of_brazil(text: &str) -> bool {
    let text = text.trim();
    let national = text.strip_prefix("55").filter(|rest| rest.len() == 11);
    let national = national.unwrap_or(text).as_bytes();
    national.len() == 11
        && national.iter().all(u8::is_ascii_digit)
        && national[2] == b'9'
        && national[0] != b'0'
        && national[1] != b'0'
}

/// Whether the text is a date in a usual format.
pub fn looks_like_date(text: &str) -> bool {
    written_time::read(
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
    PARTS.iter().any(|part| name.contains(part))
        && !name.ends_with("id")
        && !is_others(name)
        && !is_fax(name)
}

/// Whether a folded name is a fax's or a pager's.
pub fn is_fax(name: &str) -> bool {
    rank_of_word(name).is_none()
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
    fn ids_dates_and_documents_are_no_unread_phones() {
        for (name, text) in [
            ("outro", "(11) 90000-0002"),
            ("outro", "11 3000-0001"),
            ("outro", "+351 912 345 670"),
            ("outro", "11900000002"),
            ("outro", "5511900000002"),
            ("fonerecado", "1130000001"),
            ("brokerphone", "30000001"),
        ] {
            assert!(is_unread_phone(name, text), "{name} {text}");
        }
        for (name, text) in [
            ("orderid", "20260302001"),
            ("cpf", "123.456.789-09"),
            ("titular", "123.456.789-09"),
            ("cnpj", "12345678000195"),
            ("empresa", "12.345.678/0001-95"),
            ("protocolo", "202600012345"),
            ("cep", "01310-100"),
            ("local", "01310-100"),
            ("barras", "7891234567895"),
            ("dia", "20260302"),
            ("nascimento", "02-03-1980"),
            ("quando", "2026-03-02 10:00:00"),
            ("lance", "1.250.000,00"),
            ("lugar", "-23.5505199,-46.6333094"),
            ("epoch", "1772452799"),
            ("cartao", "4111 1111 1111 1111"),
            ("phoneid", "11900000002"),
        ] {
            assert!(!is_unread_phone(name, text), "{name} {text}");
        }
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
        let mark = "<test lead: dummy data for phone_number_12345678@a.b>";
        assert!(is_test_mark(mark) && is_test_mark(" <test lead: dummy data for email>"));
        assert!(!looks_like_phone(mark) && !looks_like_email(mark));
        assert!(!is_test_mark("a <test lead>"));
        for text in ["", "@", "a@b", "a b@example.com", "a@b@example.com"] {
            assert!(!looks_like_email(text), "{text}");
        }
    }
}
