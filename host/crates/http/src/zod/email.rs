//! The e-mail addresses that Zod 3.25 accepts: `z.string().email()`.

/// Returns whether it is such an address, for which Zod has one regular expression. Before the at
/// sign there are letters, digits and `_'+-` between single dots, with no `'` at the end. After it,
/// labels of letters, digits and hyphens begin with no hyphen, and the last one is two letters or
/// more.
pub fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.split_once('@') else {
        return false;
    };
    let Some((labels, last)) = domain.rsplit_once('.') else {
        return false;
    };
    let is_atom = |atom: &str| {
        let may = |byte: u8| byte.is_ascii_alphanumeric() || b"_'+-".contains(&byte);
        !atom.is_empty() && atom.bytes().all(may)
    };
    let is_label = |label: &str| {
        let may = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !label.is_empty() && !label.starts_with('-') && label.bytes().all(may)
    };
    local.split('.').all(is_atom)
        && !local.ends_with('\'')
        && labels.split('.').all(is_label)
        && last.len() >= 2
        && last.bytes().all(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::openapi::SchemaValidator;
    use crate::terms;

    /// What the package itself says about made-up addresses.
    const SAID_BY_ZOD: &str = include_str!("emails.json");

    #[test]
    fn an_address_is_accepted_exactly_if_zod_accepts_it() {
        let said: Value = serde_json::from_str(SAID_BY_ZOD).expect("JSON");
        let schema = SchemaValidator::new(&json!({"components": {}}), &terms::email(""));
        for (verdict, expect) in [("accepted", true), ("refused", false)] {
            let addresses = said[verdict].as_array().expect("a list");
            assert!(addresses.len() > 50);
            for address in addresses {
                let text = address.as_str().expect("a text");
                assert_eq!(is_email(text), expect, "{text:?}");
                assert_eq!(schema.complaint(address).is_none(), expect, "{text:?}");
            }
        }
    }
}
