//! Parts of JSON Schemas for what clients send. The bounds are arguments, taken from the same
//! constants as the readers'.

use crate::prelude::*;

/// A text that only the length of an address bounds.
pub fn word() -> Value {
    json!({"type": "string"})
}

pub fn text(most: usize, description: &str) -> Value {
    with_description(json!({"type": "string", "maxLength": most}), description)
}

pub fn filled(most: usize, description: &str) -> Value {
    let own = json!({"type": "string", "minLength": 1, "maxLength": most});
    with_description(own, description)
}

/// The same, if it is more than blanks.
pub fn trimmed(most: usize, description: &str) -> Value {
    let mut own = filled(most, description);
    // `\S` is another class in each language. This is the class of `str::trim`.
    own["pattern"] = json!(
        r"[^\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
    );
    own
}

/// The same, if a reader sees something of it, as [`leadhost_domain::text::seen`] decides.
pub fn seen(most: usize, description: &str) -> Value {
    let mut own = filled(most, description);
    own["pattern"] = json!(
        r"[^\u0001-\u0020\u007f-\u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]"
    );
    own
}

pub fn pattern(expression: &str, description: &str) -> Value {
    with_description(
        json!({"type": "string", "pattern": expression}),
        description,
    )
}

pub fn one_of(words: &[&str], description: &str) -> Value {
    with_description(json!({"type": "string", "enum": words}), description)
}

pub fn list(items: &Value, most: usize, description: &str) -> Value {
    let own = json!({"type": "array", "items": items, "maxItems": most});
    with_description(own, description)
}

/// An e-mail address, as [`crate::zod::is_email`] checks it.
pub fn email(description: &str) -> Value {
    let own = json!({
        "type": "string",
        "pattern": r"^([A-Za-z0-9_'+-]+\.)*[A-Za-z0-9_'+-]*[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9-]*\.)+[A-Za-z]{2,}$",
        "maxLength": limits::EMAIL_CHARACTERS,
    });
    with_description(own, description)
}

/// The e-mail address of a lead, as far as `contact::email` checks it. That no two dots stand
/// together before the at sign is left out: besides the length it would take a lookahead, which
/// not every validator supports.
pub fn email_of_lead(description: &str) -> Value {
    let own = json!({
        "type": "string",
        "pattern": r#"^[^\s\x00-\x1f\x7f-\x9f<>,;"@.]([^\s\x00-\x1f\x7f-\x9f<>,;"@]{0,62}[^\s\x00-\x1f\x7f-\x9f<>,;"@.])?@[^\s\x00-\x1f\x7f-\x9f<>,;"@.]{1,63}(\.[^\s\x00-\x1f\x7f-\x9f<>,;"@.]{1,63})+$"#,
        "maxLength": limits::EMAIL_CHARACTERS,
    });
    with_description(own, description)
}

/// An address from which a provider can fetch a file.
pub fn link(description: &str) -> Value {
    let own = json!({
        "type": "string",
        "format": "uri",
        "pattern": r"^https?://([A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?\.)*[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?(:[1-5]?[0-9]{1,4})?([/?#][!-~]*)?$",
        "maxLength": limits::LINK_CHARACTERS,
    });
    with_description(own, description)
}

/// A moment, as clients should write it: RFC 3339, with or without the colon of the offset, or a bare
/// date. `time::read` takes more.
pub fn time(description: &str) -> Value {
    // Some validators take the digits of all scripts for `\d`.
    let date =
        "[0-9]{4}-((0[1-9]|1[0-2])-(0[1-9]|[12][0-9])|(0[13-9]|1[0-2])-30|(0[13578]|1[02])-31)";
    let (hour, sixty) = ("([01][0-9]|2[0-3])", "[0-5][0-9]");
    let offset = format!("([Zz]|[+-]{hour}(:?{sixty})?)");
    let moment = format!("[Tt ]{hour}:{sixty}:{sixty}([.,][0-9]{{1,9}})?{offset}");
    pattern(&format!("^{date}({moment})?$"), description)
}

/// The rows of a page. It has no bounds: a number out of range is adjusted, and a generated client
/// must not refuse what the service takes.
pub fn page_limit(most: u32, default: u32) -> Value {
    json!({
        "type": "integer",
        "default": default,
        "description": format!("From 1 to {most}."),
    })
}

pub fn named(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

fn with_description(mut schema: Value, description: &str) -> Value {
    if !description.is_empty() {
        schema["description"] = json!(description);
    }
    schema
}
