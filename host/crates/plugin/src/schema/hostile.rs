//! Tests with malicious schemas and with random ones.

use std::cell::Cell;

use leadhost_fuzz::proptest::prelude::any;
use leadhost_fuzz::{damaged_text, holds};
use serde_json::{Value, json};

use super::*;
use crate::test_rng::TestRng;
use leadhost_domain::limits;

fn refused(schema: &Value) -> String {
    BoundedSchema::read(&schema.to_string()).expect_err("it is refused")
}

fn bounded(schema: &Value) -> BoundedSchema {
    BoundedSchema::read(&schema.to_string())
        .expect("it is taken")
        .expect("it is no schema of nothing")
}

/// Each level applies the next one twice to the same value.
fn doubling(levels: usize) -> Value {
    let mut definitions = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        definitions.insert(format!("l{level}"), json!({"allOf": [next, next]}));
    }
    definitions.insert(format!("l{levels}"), json!({"type": "object"}));
    json!({"$ref": "#/$defs/l0", "$defs": definitions})
}

#[test]
fn references_that_double_the_work_at_each_level_are_refused() {
    let schema = BoundedSchema::read(&doubling(6).to_string());
    assert!(schema.is_ok(), "{schema:?}");
    let why = refused(&doubling(14));
    assert!(why.contains("steps for one value"), "{why}");
    let why = refused(&doubling(45));
    assert!(why.contains("through each other"), "{why}");
    // The bound also holds for wide schemas: each level has many siblings and few levels below it.
    let mut nested = json!({});
    for _ in 0..14 {
        nested = json!({"allOf": [nested, {"allOf": vec![json!({"$ref": "#/$defs/a"}); 60]}]});
    }
    let again = json!({"allOf": vec![json!({"$ref": "#/$defs/b"}); 60]});
    let definitions = json!({"a": again, "b": {"allOf": vec![json!({"$ref": "#/$defs/c"}); 60]}, "c": {"allOf": vec![json!({"$ref": "#/$defs/d"}); 60]}, "d": {}});
    let why = refused(&json!({"allOf": [nested], "$defs": definitions}));
    assert!(why.contains("steps for one value"), "{why}");
}

#[test]
fn work_that_doubles_with_each_level_of_the_configuration_is_refused() {
    let child = json!({"properties": {"a": {"$ref": "#"}}});
    let schema = json!({"allOf": [child, child, child]});
    let why = refused(&schema);
    assert!(why.contains("steps for one value"), "{why}");
}

#[test]
fn a_tree_that_refers_to_itself_one_level_deeper_is_taken() {
    let schema = bounded(&json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#"}}
        }
    }));
    let config = json!({"children": [{"name": "a", "children": []}, {"name": 7}]});
    assert!(schema.steps_for(&config).is_ok());
    let request = SchemaCheckRequest {
        schema: schema.text,
        configs: vec![config],
    };
    let SchemaCheckResponse::Faults(faults) = check(&request) else {
        panic!("it is a schema");
    };
    assert_eq!(faults[0][0].place, "/children/1/name");
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
        (json!({"$dynamicRef": "#a"}), "$dynamicRef"),
        (json!({"properties": {"a": {"$id": "b"}}}), "below its root"),
        (json!({"$schema": "https://example.com/meta"}), "drafts"),
    ] {
        let why = refused(&schema);
        assert!(why.contains(says), "{why}");
    }
}

#[test]
fn a_schema_past_any_limit_is_refused() {
    let mut deep = json!({});
    for _ in 0..60 {
        deep = json!({"items": deep});
    }
    let many: Vec<_> = (0..3_000).map(|_| json!({})).collect();
    let patterns: serde_json::Map<_, _> = (0..300).map(|n| (format!("^{n}$"), json!({}))).collect();
    let mut chain = json!({});
    for _ in 0..40 {
        chain = json!({"not": chain});
    }
    for (schema, says) in [
        (deep, "nested deeper"),
        (json!({"prefixItems": many}), "more than 2048 parts"),
        (
            json!({"patternProperties": patterns}),
            "regular expressions",
        ),
        (json!({"pattern": "a".repeat(2_000)}), "regular expression"),
        (json!({"description": "a".repeat(200_000)}), "bytes"),
        (chain, "through each other"),
    ] {
        let why = refused(&schema);
        assert!(why.contains(says), "{says}: {why}");
    }
}

#[test]
fn a_configuration_that_would_cost_too_much_is_not_checked() {
    let schema = bounded(&doubling(6));
    let mut deep = json!(1);
    for _ in 0..20 {
        deep = json!([deep]);
    }
    let why = schema.steps_for(&deep).expect_err("too deep");
    assert!(why.contains("16 levels"), "{why}");
    let why = schema
        .steps_for(&json!("x".repeat(300_000)))
        .expect_err("too long");
    assert!(why.contains("bytes"), "{why}");
    let many = Value::Array((0..100_000).map(|_| json!(1)).collect());
    let why = schema.steps_for(&many).expect_err("too many");
    assert!(why.contains("steps"), "{why}");
}

#[test]
fn a_regular_expression_with_look_around_or_much_memory_is_refused() {
    let said = |pattern: &str| {
        let schema = json!({"pattern": pattern}).to_string();
        check(&SchemaCheckRequest {
            schema,
            configs: vec![json!("a".repeat(40))],
        })
    };
    assert!(matches!(said("(a+)+$"), SchemaCheckResponse::Faults(_)));
    assert!(matches!(said("(?=a)b"), SchemaCheckResponse::Refused(_)));
    assert!(matches!(
        said("((a{1,99}){1,99}){1,99}"),
        SchemaCheckResponse::Refused(_)
    ));
}

impl TestRng {
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
                8 => ("patternProperties", json!({"^a": self.schema(depth - 1)})),
                9 => ("items", self.schema(depth - 1)),
                10 => ("contains", self.schema(depth - 1)),
                11 => ("unevaluatedProperties", self.schema(depth - 1)),
                _ => ("propertyNames", json!({"maxLength": 3})),
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

/// Accepted schemas are evaluated within their bound: here, within the time that a child
/// process would have. Refusals give a reason.
#[test]
fn fuzz_random_schemas_are_refused_or_terminate() {
    let taken = Cell::new(0);
    holds(500, any::<u64>(), |seed| {
        let mut rng = TestRng::from_seed(*seed);
        let mut schema = rng.schema(5);
        if let Value::Object(fields) = &mut schema {
            let definitions: serde_json::Map<_, _> = (0..4)
                .map(|number| (format!("d{number}"), rng.schema(4)))
                .collect();
            fields.insert("$defs".to_owned(), Value::Object(definitions));
        }
        let text = schema.to_string();
        let schema = match BoundedSchema::read(&text) {
            Ok(schema) => schema.expect("it is no schema of nothing"),
            Err(why) => {
                assert!(!why.is_empty() && why.len() < 400, "{why}");
                return;
            }
        };
        taken.set(taken.get() + 1);
        let config = rng.config(5);
        if schema.steps_for(&config).is_ok() {
            let begun = std::time::Instant::now();
            let _ = check(&SchemaCheckRequest {
                schema: schema.text,
                configs: vec![config],
            });
            let took = begun.elapsed();
            assert!(
                took < limits::SCHEMA_CHECK_PROCESSOR_TIME * 5,
                "{took:?} of {text}"
            );
        }
    });
    let taken = taken.get();
    assert!(taken > 50, "most cases say nothing: {taken} were taken");
}

/// Texts that are no schema, or nearly one, never break the analysis.
#[test]
fn fuzz_random_texts_never_break_the_schema_analysis() {
    let whole = doubling(4).to_string();
    let words = [
        "\"", "{", "}", "[", "]", ":", ",", "#", "/", "$ref", "0", "allOf",
    ];
    holds(3_000, damaged_text([whole], &words), |text| {
        let taken = BoundedSchema::read(text);
        assert!(taken.is_ok() || taken.is_err_and(|why| !why.is_empty()));
    });
}
