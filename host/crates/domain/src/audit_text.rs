//! Texts as a row of the audit shows them: without persons and secrets, which a caller may have typed
//! by mistake.

use serde_json::{Value, json};

use super::key::KeyKind;

/// Characters of a key's label, and of a target, that a row has.
pub const LABEL_CHARACTERS: usize = 100;

/// Returns a target as a row shows it. A caller may put anything into a path, also by mistake: the
/// text of a key, a phone number, a person's name. So only what can be an id or a short name is
/// shown.
pub fn named(target: &str) -> String {
    if is_name(target) {
        target.to_owned()
    } else {
        "(not a name or id)".to_owned()
    }
}

fn is_name(text: &str) -> bool {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "._-/".contains(one);
    let is_number = text.len() > 7 && text.chars().all(|one| one.is_ascii_digit());
    let is_key = KeyKind::ALL
        .into_iter()
        .any(|kind| text.starts_with(kind.prefix()));
    text.len() <= LABEL_CHARACTERS && text.chars().all(is_plain) && !is_number && !is_key
}

/// Bytes of a text of a configuration that a row has.
const VALUE_BYTES: usize = 60;

/// Returns a value of a configuration as a row shows it. An operator may put a token or a person into it
/// by mistake: only numbers that are no phone, truth values and texts that can be a name, a path or an
/// address of a host stay.
pub fn value(value: Option<&Value>) -> Value {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).count();
    let is_shown = |text: &str| {
        let plain = text.replace([':', '*', '$', '[', ']'], "");
        text.len() <= VALUE_BYTES && is_name(&plain) && digits(text) <= 6
    };
    match value {
        None => Value::Null,
        Some(Value::Bool(_) | Value::Null) => json!(value),
        Some(Value::Number(number)) if digits(&number.to_string()) <= 6 => json!(number),
        Some(Value::String(text)) if is_shown(text) => json!(text),
        Some(_) => json!("…"),
    }
}

/// Returns the place of a value in a configuration as a row shows it.
pub fn place(path: &str) -> String {
    let parts = path.split('.').take(PLACE_PARTS);
    let shown = parts.map(|part| if is_name(part) { part } else { "…" });
    shown.collect::<Vec<_>>().join(".")
}

/// Parts of the place of a value that a row has.
const PLACE_PARTS: usize = 10;

/// Characters of a reason that a row has.
const REASON_CHARACTERS: usize = 400;

/// Returns a message as a row shows it: without what the caller typed and what may be a value. In
/// backticks or quotes, only names, ids and commands of the program stay; addresses, numbers like
/// phones, and keys go.
pub fn reason(message: &str) -> String {
    let mut shown = String::new();
    let mut rest = message;
    while let Some(start) = rest.find(['`', '"']) {
        let (before, quoted) = rest.split_at(start);
        let mark = &quoted[..1];
        let Some(length) = quoted[1..].find(mark) else {
            break;
        };
        let inside = &quoted[1..=length];
        let is_command = mark == "`" && inside.starts_with("leadhost ");
        let is_shown = is_command || named(inside) == inside;
        let inside = if is_shown { inside } else { "…" };
        shown.extend([before, mark, inside, mark]);
        rest = &quoted[length + 2..];
    }
    shown.push_str(rest);
    let words: Vec<&str> = shown.split_whitespace().map(harmless).collect();
    words.join(" ").chars().take(REASON_CHARACTERS).collect()
}

/// Returns the word, or a mark in the place of an address, a number like a phone, or a key.
fn harmless(word: &str) -> &str {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let is_number = digits > 6 && !word.chars().any(|one| one.is_ascii_alphabetic());
    let bare = word.trim_matches(|one: char| !one.is_ascii_alphanumeric());
    let is_key = KeyKind::ALL
        .into_iter()
        .any(|kind| bare.starts_with(kind.prefix()));
    if is_number || is_key || word.contains('@') && !word.contains("@sha256:") && is_address(bare) {
        "…"
    } else {
        word
    }
}

/// Returns whether a word with an `@` may be an e-mail address, and no version: `portal@9b0f7a3c5d2e`.
fn is_address(word: &str) -> bool {
    let after = word.rsplit('@').next().unwrap_or_default();
    after.contains('.') || !after.chars().all(|one| one.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_keeps_names_and_commands_and_drops_what_may_be_a_value() {
        let check = |message: &str, expect: &str| assert_eq!(reason(message), expect);
        check(
            "a rollout of `portal` is open: see `leadhost plugin rollout portal`",
            "a rollout of `portal` is open: see `leadhost plugin rollout portal`",
        );
        check(
            "portal is not activated: 3 of 415 leads lose a phone, for example in delivery 019cae2b-3f65-7d43-9b21-7e5f4a3b2c03",
            "portal is not activated: 3 of 415 leads lose a phone, for example in delivery 019cae2b-3f65-7d43-9b21-7e5f4a3b2c03",
        );
        check(
            "run `leadhost plugin publish portal@9b0f7a3c5d2e`",
            "run `leadhost plugin publish portal@9b0f7a3c5d2e`",
        );
        check("`Rita Silva` is no name", "`…` is no name");
        check(
            "the value \"Rita Silva\" is none",
            "the value \"…\" is none",
        );
        check("rita@example.com is unknown", "… is unknown");
        check("+5511987654321 is unknown", "… is unknown");
        check("the key ak_abcdef is revoked", "the key … is revoked");
        check("an unclosed `name", "an unclosed `name");
        assert_eq!(
            reason(&"word ".repeat(1_000)).chars().count(),
            REASON_CHARACTERS
        );
    }

    #[test]
    fn a_value_is_a_short_name_or_number_and_no_person_nor_token() {
        for shown in [
            json!("telefone_contato"),
            json!("$.lead.phones[0]"),
            json!("https://graph.example:8443"),
            json!("America/Sao_Paulo"),
            json!(24),
            json!(true),
        ] {
            assert_eq!(value(Some(&shown)), shown);
        }
        let long = "x".repeat(VALUE_BYTES + 1);
        for hidden in [
            json!("Rita Prado"),
            json!("rita@acme.example"),
            json!("+5511900010031"),
            json!("11-90001-0031"),
            json!(5_511_900_010_031_u64),
            json!("ak_a-pasted-key"),
            json!("e3b0c44298fc1c149afbf4c8"),
            json!(long),
            json!({"a": 1}),
        ] {
            assert_eq!(value(Some(&hidden)), "…", "{hidden}");
        }
        assert_eq!(value(None), Value::Null);
        assert_eq!(place("config.fields.phone"), "config.fields.phone");
        assert_eq!(place("config.Rita Prado.0"), "config.….0");
    }

    #[test]
    fn a_target_is_an_id_or_a_short_name_and_nothing_else() {
        for shown in [
            "",
            "form",
            "acme/form",
            "grupo-olx",
            "019cae2b-3f61-7a52-8a10-6d4f3e2a1b88",
            "4kJ0sPz7Qm2XwYtB9nLdRa",
            "1234567",
        ] {
            assert_eq!(named(shown), shown);
        }
        let long = "x".repeat(LABEL_CHARACTERS + 1);
        for hidden in [
            "ak_a-pasted-key",
            "pk_1",
            "+5511900010031",
            "5511900010031",
            "Helena Duarte",
            "a\0b",
            long.as_str(),
        ] {
            assert_eq!(named(hidden), "(not a name or id)", "{hidden}");
        }
    }
}
