//! Configuration schemas that are more expensive than they look. With each of
//! them `sender-checks` refuses every configuration, so that a host that tries
//! the component evaluates the schema.

use std::fmt::Write as _;

use leadhost_sdk::serde_json::{Map, Value, json};

/// Returns the schema with this harm; a word without harm gives a plain one.
///
/// `schema-steps` takes 2^45 steps. `schema-pattern` has a regular expression
/// that takes exponential time for a `word` of many `a`, and `schema-patterns`
/// thousands that are large when compiled. `schema-chain` has a chain of
/// references, and `schema-self` one to itself. `schema-size` is long.
pub fn with(harm: &str) -> String {
    match harm {
        "schema-steps" => steps(),
        "schema-pattern" => pattern(),
        "schema-patterns" => patterns(),
        "schema-chain" => chain(),
        "schema-self" => json!({"type": "object", "allOf": [{"$ref": "#"}]}).to_string(),
        "schema-size" => format!(
            r#"{{"type": "object", "title": "{}"}}"#,
            "t".repeat(8 << 20)
        ),
        _ => plain().to_string(),
    }
}

fn plain() -> Value {
    json!({
        "type": "object",
        "properties": {
            "do": {"type": "string"},
            "size": {"type": "integer", "minimum": 0}
        },
        "additionalProperties": false
    })
}

/// Each definition refers to the next one twice.
fn steps() -> String {
    const DEEP: usize = 45;
    let mut definitions = Map::new();
    for depth in 0..DEEP {
        let next = json!({"$ref": format!("#/$defs/a{}", depth + 1)});
        definitions.insert(format!("a{depth}"), json!({"allOf": [&next, &next]}));
    }
    definitions.insert(format!("a{DEEP}"), json!({"type": "object"}));
    json!({"$ref": "#/$defs/a0", "$defs": definitions}).to_string()
}

/// The back reference rules out engines that need only one pass.
fn pattern() -> String {
    let mut schema = plain();
    schema["properties"]["word"] = json!({"type": "string", "pattern": r"^((a|aa)+)+\1b$"});
    schema.to_string()
}

fn patterns() -> String {
    let mut schema = r#"{"type": "object", "properties": {"#.to_owned();
    for number in 0..10_000 {
        let separator = if number == 0 { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(
            schema,
            r#"{separator}"p{number}": {{"type": "string", "pattern": "^(\\p{{L}}{{1,40}}\\w{{1,40}}{number})+$"}}"#
        );
    }
    schema.push_str("}}");
    schema
}

fn chain() -> String {
    const LONG: usize = 50_000;
    let mut definitions = Map::new();
    for link in 0..LONG {
        let next = format!("#/$defs/a{}", link + 1);
        definitions.insert(format!("a{link}"), json!({"$ref": next}));
    }
    definitions.insert(format!("a{LONG}"), json!({"type": "object"}));
    json!({"$ref": "#/$defs/a0", "$defs": definitions}).to_string()
}
