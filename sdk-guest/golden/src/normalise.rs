//! Converts the `serde` output of generated bindings to the form that people write
//! in a case: camel-case keys, bytes as text, JSON texts as JSON.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

/// Returns the readable form of an output. The argument is the serialisation of a
/// `Result` of generated types (`Ok`, `Err`), or of such a type alone.
///
/// Every object key in it is an identifier of the contract, since the contract
/// has no maps, so all keys can be renamed.
pub fn normalise(value: Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.into_iter().map(normalise).collect()),
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(key, value)| {
                    let key = camel(&key);
                    let value = field(&key, value);
                    (key, value)
                })
                .collect(),
        ),
        other => other,
    }
}

fn field(key: &str, value: Value) -> Value {
    match (key, value) {
        ("state" | "bytes", Value::Array(numbers)) => match octets(&numbers) {
            Some(bytes) => readable(bytes),
            None => normalise(Value::Array(numbers)),
        },
        ("attributes", Value::Array(pairs)) => {
            Value::Array(pairs.into_iter().map(attribute).collect())
        }
        ("configSchema" | "components", Value::String(text)) => json_or_text(text),
        // A variant without content: its name is an identifier too.
        ("ok", Value::String(variant)) => Value::String(camel(&variant)),
        (_, value) => normalise(value),
    }
}

fn attribute(pair: Value) -> Value {
    match pair {
        Value::Array(mut pair) if pair.len() == 2 => {
            if let Value::String(text) = pair[1].take() {
                pair[1] = json_or_text(text);
            }
            Value::Array(pair)
        }
        other => normalise(other),
    }
}

/// Keeps a text that is not JSON, so that the difference shows it.
fn json_or_text(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

fn octets(numbers: &[Value]) -> Option<Vec<u8>> {
    numbers
        .iter()
        .map(|number| number.as_u64().and_then(|n| u8::try_from(n).ok()))
        .collect()
}

fn readable(bytes: Vec<u8>) -> Value {
    match String::from_utf8(bytes) {
        Ok(text) => Value::String(text),
        Err(error) => {
            let mut object = Map::new();
            object.insert(
                "base64".into(),
                Value::String(STANDARD.encode(error.as_bytes())),
            );
            Value::Object(object)
        }
    }
}

/// Converts `snake_case` and `PascalCase` to `camelCase`.
fn camel(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut upper = false;
    for (index, character) in name.chars().enumerate() {
        if character == '_' {
            upper = true;
        } else if upper {
            out.extend(character.to_uppercase());
            upper = false;
        } else if index == 0 {
            out.extend(character.to_lowercase());
        } else {
            out.push(character);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_variants_attributes_state_and_schema_become_readable() {
        let derived = json!({"Ok": {
            "config_schema": "{\"type\":\"object\"}",
            "items": [
                {"outcome": {"Lead": {
                    "external_id": null,
                    "campaign": [["form_id", "7"]],
                    "attributes": [["snake_key", "{\"a_b\":9007199254740993}"], ["bad", "{"]],
                }}},
                {"outcome": {"Ignored": "why"}},
                {"outcome": {"Fetch": {"state": [123, 125], "request": {"body": [{"Bytes": [255]}]}}}},
            ],
        }});
        let mut number = Map::new();
        number.insert(
            "a_b".into(),
            serde_json::from_str("9007199254740993").unwrap_or_default(),
        );
        let expected = json!({"ok": {
            "configSchema": {"type": "object"},
            "items": [
                {"outcome": {"lead": {
                    "externalId": null,
                    "campaign": [["form_id", "7"]],
                    "attributes": [["snake_key", number], ["bad", "{"]],
                }}},
                {"outcome": {"ignored": "why"}},
                {"outcome": {"fetch": {"state": "{}", "request": {"body": [{"bytes": {"base64": "/w=="}}]}}}},
            ],
        }});
        assert_eq!(normalise(derived), expected);
    }

    #[test]
    fn an_empty_state_is_an_empty_text() {
        assert_eq!(normalise(json!({"state": []})), json!({"state": ""}));
    }

    #[test]
    fn an_answer_that_is_only_a_word_and_components_become_readable() {
        assert_eq!(
            normalise(json!({"Ok": "Unlisted"})),
            json!({"ok": "unlisted"})
        );
        assert_eq!(
            normalise(json!({"components": "[{\"type\":\"BODY\"}]"})),
            json!({"components": [{"type": "BODY"}]})
        );
    }

    #[test]
    fn an_empty_schema_stays_empty() {
        assert_eq!(
            normalise(json!({"config_schema": ""})),
            json!({"configSchema": ""})
        );
    }
}
