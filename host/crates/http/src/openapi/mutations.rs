//! Mutations of a body, each with one change: a member left out, of another type, empty or too
//! long. Tests use them to compare a reader with its schema.

use super::SchemaValidator;
use crate::prelude::*;

/// Gives bodies and their mutations to a reader and to its schema.
pub fn agree(schema: &Value, bodies: &[Value], takes: impl Fn(&Value) -> bool) {
    let document = super::document(Surface::Both);
    let validator = SchemaValidator::new(&document, schema);
    for (what, mutation) in bodies.iter().flat_map(mutations) {
        let complaint = validator.complaint(&mutation);
        assert_eq!(
            takes(&mutation),
            complaint.is_none(),
            "{what}: the reader and the schema, which says {complaint:?}"
        );
    }
}

fn mutations(body: &Value) -> Vec<(String, Value)> {
    let mut all = vec![("as it is".to_owned(), body.clone())];
    let mut places = Vec::new();
    find(body, String::new(), &mut places);
    for place in &places {
        let others = [
            Value::Null,
            json!(true),
            json!(1.5),
            json!(-1),
            json!(1_000_000),
            json!(""),
            json!("x"),
            json!("\u{e9}"),
            json!(" \n\u{a0}"),
            json!("\u{1c}"),
            json!("x".to_owned() + &" ".repeat(70_000)),
            json!("x".repeat(70_000)),
            json!([]),
            json!({}),
        ];
        for other in others {
            let mut mutation = body.clone();
            let text: String = other.to_string().chars().take(20).collect();
            *mutation.pointer_mut(place).expect("it is there") = other;
            all.push((format!("{place} is {text}"), mutation));
        }
        if let Some((parent, name)) = place.rsplit_once('/') {
            let mut mutation = body.clone();
            if let Some(Value::Object(members)) = mutation.pointer_mut(parent) {
                members.remove(name);
                all.push((format!("{place} is left out"), mutation));
            }
        }
    }
    all
}

fn find(value: &Value, place: String, places: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                find(member, format!("{place}/{name}"), places);
            }
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                find(element, format!("{place}/{index}"), places);
            }
        }
        _ => {}
    }
    places.push(place);
}
