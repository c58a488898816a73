//! Lists of people, under whatever name: they are leads, or else left out. As an
//! attribute of a lead nobody would find them again.

use leadhost_sdk::{serde_json::Value, text_of};

use crate::fold::fold;
use crate::looks::{is_email_name, is_phone_name, looks_like_email, looks_like_phone};
use crate::{names, pairs};

/// Objects in objects; real ones are three deep.
const MAX_DEPTH: usize = 8;

/// A list of objects of which one at least has a contact, and where it is.
pub struct People<'a> {
    pub path: String,
    pub list: &'a [Value],
}

/// All of them in a body, but not those of people who are in one.
pub fn lists(body: &Value) -> Vec<People<'_>> {
    let mut found = Vec::new();
    collect(body, "", 0, &mut found);
    found
}

fn collect<'a>(value: &'a Value, path: &str, depth: usize, found: &mut Vec<People<'a>>) {
    let Value::Object(fields) = value else {
        return;
    };
    if depth > MAX_DEPTH {
        return;
    }
    for (key, inner) in fields {
        let path = match path {
            "" => key.clone(),
            path => format!("{path}.{key}"),
        };
        match inner {
            Value::Array(list) if are_people(key, list) => found.push(People { path, list }),
            inner => collect(inner, &path, depth + 1, found),
        }
    }
}

/// Whether a list under this name is one of people: the phones of one person are
/// objects with a phone as well, and so are answers.
pub fn are_people(key: &str, list: &[Value]) -> bool {
    let name = fold(key);
    let is_contact = names::is_contact(&name) || is_phone_name(&name) || is_email_name(&name);
    !is_contact && list.iter().any(is_person)
}

/// Whether such a list is in the value that has this name.
pub fn are_in(name: &str, value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(name, value)| are_in(name, value)),
        Value::Array(list) => are_people(name, list) || list.iter().any(|value| are_in("", value)),
        _ => false,
    }
}

/// Whether the value is an object with a contact of its own.
pub fn is_person(value: &Value) -> bool {
    !pairs::is_pair(value) && has_contact(value, 0)
}

/// Whether a contact is in the value itself: not in a list of people, nor in an object
/// of somebody else.
pub fn has_contact(value: &Value, depth: usize) -> bool {
    let Value::Object(fields) = value else {
        return false;
    };
    depth <= MAX_DEPTH
        && fields.iter().any(|(key, value)| {
            let name = fold(key);
            let is_phone = names::PHONES.contains(&name.as_str()) || is_phone_name(&name);
            let is_email = names::EMAILS.contains(&name.as_str()) || is_email_name(&name);
            match value {
                Value::Array(items) if is_phone || is_email => items.iter().any(|item| {
                    is_contact(item, is_phone, is_email) || has_contact(item, depth + 1)
                }),
                Value::Object(_) if names::CONTAINERS.contains(&name.as_str()) => {
                    has_contact(value, depth + 1)
                }
                value => is_contact(value, is_phone, is_email),
            }
        })
}

fn is_contact(value: &Value, is_phone: bool, is_email: bool) -> bool {
    let text = text_of(value);
    text.is_some_and(|text| {
        is_phone && looks_like_phone(&text) || is_email && looks_like_email(&text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_sdk::serde_json::json;

    #[test]
    fn lists_of_people_are_found_under_whatever_name_and_others_are_not() {
        let check = |body: Value, expect: &[&str]| {
            let found = lists(&body);
            let paths: Vec<_> = found.iter().map(|people| people.path.as_str()).collect();
            assert_eq!(paths, expect, "{body}");
        };
        let ana = json!({"nome": "Ana", "telefone": "11900000001"});
        check(json!({"total": 1, "dados": [ana]}), &["dados"]);
        check(json!({"a": {"b": [1, ana], "c": [ana]}}), &["a.b", "a.c"]);
        check(
            json!({"quem": [{"contato": {"email": "a@example.com"}}]}),
            &["quem"],
        );
        check(
            json!({"pedidos": [{"telefones": ["11900000001"]}]}),
            &["pedidos"],
        );
        // Not those inside of one that is found.
        check(
            json!({"a": [{"email": "a@example.com", "b": [ana]}]}),
            &["a"],
        );
        for none in [
            json!({"phones": [{"type": "home", "phone": "11900000001"}]}),
            json!({"answers": [{"name": "phone", "value": "11900000001"}]}),
            json!({"items": [{"name": "Sofá", "email": "x"}]}),
            json!({"imoveis": [{"vendedor": {"telefone": "11900000001"}}]}),
            json!({"dados": ana}),
            json!([]),
        ] {
            check(none, &[]);
        }
    }
}
