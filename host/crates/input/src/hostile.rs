//! Tests with malicious schemas and with random ones.

use std::cell::Cell;
use std::time::{Duration, Instant};

use leadhost_fuzz::proptest::prelude::any;
use leadhost_fuzz::{damaged_text, holds};
use serde_json::{Value, json};

use super::*;

/// The most time that a check may take here, where nothing is optimised and the machine is busy.
const PATIENCE: Duration = Duration::from_secs(60);

fn refused(schema: &Value) -> String {
    Schema::read(&schema.to_string()).expect_err("it is refused")
}

fn taken(schema: &Value) -> Schema {
    Schema::read(&schema.to_string()).expect("it is taken")
}

/// Checks a value in bounded time. Returns what is wrong.
fn told(schema: &Schema, value: &Value) -> Vec<String> {
    let begun = Instant::now();
    let issues = schema.issues(value);
    let told = issues.iter().flat_map(Issue::told);
    let told: Vec<_> = told.map(|fault| fault.to_string()).collect();
    let took = begun.elapsed();
    assert!(took < PATIENCE, "{took:?} for {schema:?}");
    assert_eq!(told.is_empty(), schema.fits(value), "{told:?}");
    assert!(told.iter().all(|text| text.len() < 2_000), "{told:?}");
    told
}

/// Each level applies the next one twice to the same value.
fn doubling(levels: usize, keyword: &str) -> Value {
    let mut definitions = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        definitions.insert(format!("l{level}"), json!({keyword: [next, next]}));
    }
    definitions.insert(format!("l{levels}"), json!({"type": "object"}));
    json!({"$ref": "#/$defs/l0", "$defs": definitions})
}

#[test]
fn work_that_would_double_at_each_level_is_done_once() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let schema = taken(&doubling(15, keyword));
        // Of two forms that are the same, both fit.
        assert_eq!(told(&schema, &json!({})).is_empty(), keyword != "oneOf");
        assert!(!told(&schema, &json!(1)).is_empty());
        let why = refused(&doubling(45, keyword));
        assert!(why.contains("through each other"), "{why}");
    }
}

#[test]
fn work_that_would_double_with_each_level_of_the_value_is_done_once() {
    let child = json!({"properties": {"a": {"$ref": "#"}}});
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let schema = taken(&json!({"type": "object", keyword: [child, child, child]}));
        let mut value = json!(1);
        for _ in 0..30 {
            value = json!({"a": value});
        }
        assert!(!told(&schema, &value).is_empty());
    }
}

#[test]
fn a_check_ends_after_a_bounded_number_of_steps() {
    let many: Vec<_> = (0..5_000)
        .map(|number| json!({"not": {"const": number}}))
        .collect();
    let schema = taken(&json!({"items": {"allOf": many}}));
    let list = Value::Array(vec![json!("x"); 100_000]);
    assert!(told(&schema, &list)[0].contains("too many steps"));
    // An expression that is large when compiled, and a long text.
    let patterns: Vec<_> = (0..4)
        .map(|number| json!({"pattern": format!(r"^(\p{{L}}{{1,9}}{number}?)+$")}))
        .collect();
    let schema = taken(&json!({"items": {"allOf": patterns}}));
    let list = json!(vec!["é".repeat(20_000); 6]);
    assert!(told(&schema, &list)[0].contains("too many steps"));
}

#[test]
fn each_form_and_each_digit_that_is_looked_at_is_a_step() {
    let mut forms = vec![json!(false); 20_000];
    forms.push(json!(true));
    let list = Value::Array(vec![json!(1); 130_000]);
    for keyword in ["anyOf", "oneOf"] {
        let schema = taken(&json!({"items": {keyword: forms}}));
        assert!(told(&schema, &list)[0].contains("too many steps"));
    }
    let needs: serde_json::Map<_, _> = (0..8_000)
        .map(|number| (number.to_string(), json!(["a"])))
        .collect();
    let schema = taken(&json!({"items": {"dependentRequired": needs}}));
    let list = Value::Array(vec![json!({}); 80_000]);
    assert!(told(&schema, &list)[0].contains("too many steps"));
    let long: Value = format!("0.{}", "7".repeat(100_000))
        .parse()
        .expect("a number");
    let schema = taken(&json!({"items": {"minimum": long}}));
    let list = Value::Array(vec![json!(0.5); 100_000]);
    assert!(told(&schema, &list)[0].contains("too many steps"));
}

/// Checks that the schema does not follow a value within so many lists to its end.
#[track_caller]
fn check_too_deep(schema: &Value, lists: usize) {
    let deep = (0..lists).fold(json!(1), |inner, _| json!([inner]));
    assert!(told(&taken(schema), &deep)[0].contains("too deep"));
}

#[test]
fn forms_within_each_other_are_followed_to_a_bounded_depth() {
    let mut form = json!({"items": {"$ref": "#"}});
    for _ in 0..25 {
        form = json!({"anyOf": [form]});
    }
    check_too_deep(&form, 16);
}

#[test]
fn a_long_name_above_many_parts_is_kept_once() {
    let parts = vec![json!({}); 12_000];
    let schema = json!({"properties": {"a".repeat(60_000): {"allOf": parts}}});
    taken(&schema);
    let why = refused(&json!({"properties": {"a".repeat(60_000): {"minimun": 1}}}));
    assert!(why.len() < 400, "{why}");
}

#[test]
fn a_value_is_followed_to_a_bounded_depth() {
    check_too_deep(&json!({"items": {"$ref": "#"}}), 120);
}

#[test]
fn a_tree_that_refers_to_itself_one_level_deeper_is_taken() {
    let schema = taken(&json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#"}}
        }
    }));
    let config = json!({"children": [{"name": "a", "children": []}, {"name": 7}]});
    let expect = ["children[1].name: 7 is a number, but must be a text"];
    assert_eq!(told(&schema, &config), expect);
}

#[test]
fn a_part_that_refers_to_itself_on_the_same_value_is_refused() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"$ref": "#/$defs/a"}}}),
    ] {
        let why = refused(&schema);
        assert!(why.contains("never end"), "{why}");
    }
}

#[test]
fn a_reference_out_of_the_schema_is_refused() {
    for (schema, says) in [
        (json!({"$ref": "https://example.com/schema"}), "leads out"),
        (json!({"$ref": "file:///etc/passwd"}), "leads out"),
        (json!({"$ref": "#name"}), "not a JSON pointer"),
        (json!({"$ref": "#/$defs/none"}), "names nothing"),
        (json!({"$schema": "https://example.com/meta"}), "drafts"),
    ] {
        let why = refused(&schema);
        assert!(why.contains(says), "{why}");
    }
}

#[test]
fn a_keyword_that_would_not_be_checked_is_refused_with_its_place() {
    for (schema, says) in [
        (json!({"$dynamicRef": "#a"}), "`$dynamicRef` at `#`"),
        (
            json!({"properties": {"a": {"$id": "b"}}}),
            "`$id` at `#/properties/a`",
        ),
        (
            json!({"items": {"unevaluatedProperties": false}}),
            "`unevaluatedProperties` at `#/items`",
        ),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"minimun": 1}}}),
            "`minimun` at `#/$defs/a`",
        ),
        (json!({"items": [{}]}), "`#/items` is no schema"),
        (json!({"type": "text"}), "`type` at `#`"),
        (
            json!({"properties": {"a": {"minLength": "1"}}}),
            "`minLength` at `#/properties/a`",
        ),
        (json!({"allOf": {}}), "`allOf` at `#` must be a list"),
    ] {
        let why = refused(&schema);
        assert!(why.contains(says), "{why}");
    }
    // A word of the author, and what describes.
    taken(&json!({"x-order": 1, "title": "a", "properties": {"a": {"format": "uri"}}}));
}

#[test]
fn a_schema_past_any_limit_is_refused() {
    let patterns: serde_json::Map<_, _> = (0..300)
        .map(|number| {
            (
                number.to_string(),
                json!({"pattern": format!(r"^(\p{{L}}{{1,9}}{number})+$")}),
            )
        })
        .collect();
    let mut chain = json!({});
    for _ in 0..40 {
        chain = json!({"not": chain});
    }
    for (schema, says) in [
        (json!({"properties": patterns}), "regular expressions"),
        (json!({"pattern": "a".repeat(2_000)}), "regular expression"),
        (json!({"description": "a".repeat(200_000)}), "bytes"),
        (chain, "through each other"),
    ] {
        let why = refused(&schema);
        assert!(why.contains(says), "{says}: {why}");
    }
}

/// Pseudo-random schemas and values, the same for each seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn schema(&mut self, depth: u32) -> Value {
        if depth == 0 || self.below(8) == 0 {
            return match self.below(6) {
                0 => json!(true),
                1 => json!(false),
                2 => json!({"type": "string", "pattern": "^(a|b)*c$"}),
                3 => json!({"enum": [1, "a", {"a": []}]}),
                4 => json!({"$ref": format!("#/$defs/d{}", self.below(4))}),
                _ => json!({"$ref": "#"}),
            };
        }
        let mut schema = serde_json::Map::new();
        for _ in 0..=self.below(2) {
            let (keyword, value) = match self.below(13) {
                0 => (
                    "allOf",
                    json!([self.schema(depth - 1), self.schema(depth - 1)]),
                ),
                1 => (
                    "anyOf",
                    json!([self.schema(depth - 1), self.schema(depth - 1)]),
                ),
                2 => (
                    "oneOf",
                    json!([self.schema(depth - 1), self.schema(depth - 1)]),
                ),
                3 => ("not", self.schema(depth - 1)),
                4 => ("if", self.schema(depth - 1)),
                5 => ("then", self.schema(depth - 1)),
                6 => (
                    "properties",
                    json!({"a": self.schema(depth - 1), "b": self.schema(depth - 1)}),
                ),
                7 => ("additionalProperties", self.schema(depth - 1)),
                8 => ("else", self.schema(depth - 1)),
                9 => ("items", self.schema(depth - 1)),
                10 => ("required", json!(["a"])),
                11 => ("dependentRequired", json!({"a": ["b"]})),
                _ => ("maxProperties", json!(3)),
            };
            schema.insert(keyword.to_owned(), value);
        }
        Value::Object(schema)
    }

    fn config(&mut self, depth: u32) -> Value {
        match self.below(if depth == 0 { 3 } else { 6 }) {
            0 => json!("abc"),
            1 => json!(1),
            2 => json!(null),
            3 => Value::Array((0..self.below(4)).map(|_| self.config(depth - 1)).collect()),
            _ => {
                let fields = ["a", "b", "ab", "long"];
                let fields = fields.iter().take(self.below(5) as usize);
                Value::Object(
                    fields
                        .map(|name| ((*name).to_owned(), self.config(depth - 1)))
                        .collect(),
                )
            }
        }
    }
}

/// Accepted schemas are checked in bounded time, and refusals give a reason.
#[test]
fn fuzz_random_schemas_are_refused_or_terminate() {
    let taken = Cell::new(0);
    holds(500, any::<u64>(), |seed| {
        let mut chance = Chance((*seed).max(1));
        let mut schema = chance.schema(5);
        if let Value::Object(fields) = &mut schema {
            let definitions: serde_json::Map<_, _> = (0..4)
                .map(|number| (format!("d{number}"), chance.schema(4)))
                .collect();
            fields.insert("$defs".to_owned(), Value::Object(definitions));
        }
        match Schema::read(&schema.to_string()) {
            Ok(schema) => {
                taken.set(taken.get() + 1);
                told(&schema, &chance.config(5));
            }
            Err(why) => assert!(!why.is_empty() && why.len() < 400, "{why}"),
        }
    });
    let taken = taken.get();
    assert!(taken > 50, "most cases say nothing: {taken} were taken");
}

/// Texts that are no schema, or nearly one, never break the reader.
#[test]
fn fuzz_random_texts_never_break_the_reader_of_schemas() {
    let whole = doubling(4, "allOf").to_string();
    let words = [
        "\"", "{", "}", "[", "]", ":", ",", "#", "/", "$ref", "0", "allOf",
    ];
    holds(3_000, damaged_text([whole], &words), |text| {
        let taken = Schema::read(text);
        assert!(taken.is_ok() || taken.is_err_and(|why| !why.is_empty()));
    });
}
