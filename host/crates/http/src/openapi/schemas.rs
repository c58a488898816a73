//! The schemas of the document. Answers are described by their own types, bodies beside their
//! readers. Two things differ from the derived schemas: every key of an answer is required, and
//! ids and times are inlined, since a name for them would add nothing.

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use crate::prelude::*;

/// The schemas that operations reference.
#[derive(Default)]
pub struct Schemas(BTreeMap<String, Value>);

impl Schemas {
    pub fn answer<T: ToSchema>(&mut self) -> Value {
        self.add::<T>(true)
    }

    fn add<T: ToSchema>(&mut self, whole: bool) -> Value {
        let mut found: Vec<(String, RefOr<Schema>)> = Vec::new();
        T::schemas(&mut found);
        found.push((T::name().into_owned(), T::schema()));
        self.add_found(&T::name(), found, whole)
    }

    fn add_found(&mut self, name: &str, found: Vec<(String, RefOr<Schema>)>, whole: bool) -> Value {
        let found: BTreeMap<String, Value> = found
            .into_iter()
            .map(|(name, schema)| {
                let mut schema = serde_json::to_value(schema).expect("a schema is JSON");
                if name == ErrorCode::name() {
                    open_words(&mut schema);
                }
                (name, schema)
            })
            .collect();
        for (name, schema) in &found {
            if is_scalar(schema) {
                continue;
            }
            let mut schema = schema.clone();
            inline_scalars(&mut schema, &found);
            if whole {
                require_all(&mut schema, &found);
            }
            self.0.insert(name.clone(), schema);
        }
        named(name)
    }

    /// Adds the type of a body and returns a reference to its schema. Unlike in answers, only the
    /// keys are required that the reader requires.
    pub fn request<T: ToSchema>(&mut self) -> Value {
        self.add::<T>(false)
    }

    pub fn written(&mut self, name: &str, schema: Value) -> Value {
        self.0.insert(name.to_owned(), schema);
        named(name)
    }

    pub fn into_map(self) -> Map<String, Value> {
        self.0.into_iter().collect()
    }
}

fn named(name: &str) -> Value {
    json!({ "$ref": format!("{PREFIX}{name}") })
}

const PREFIX: &str = "#/components/schemas/";

/// Lists the words as known ones, not as all of them: a client that was generated earlier must read
/// an error whose code was added since.
fn open_words(schema: &mut Value) {
    schema["description"] = json!(
        "The cause, as a word that keeps its meaning. Words are added: treat one that you do not know by the status."
    );
    if let Some(members) = schema.as_object_mut()
        && let Some(words) = members.remove("enum")
    {
        members.insert("x-extensible-enum".to_owned(), words);
    }
}

fn is_scalar(schema: &Value) -> bool {
    matches!(schema["type"].as_str(), Some("string" | "integer"))
}

/// Replaces references to scalars, nullable ones included, by the scalars.
fn inline_scalars(schema: &mut Value, found: &BTreeMap<String, Value>) {
    match schema {
        Value::Array(values) => {
            for value in values {
                inline_scalars(value, found);
            }
        }
        Value::Object(members) => {
            for value in members.values_mut() {
                inline_scalars(value, found);
            }
            let of_name = |value: &Value| {
                let name = value["$ref"].as_str()?.strip_prefix(PREFIX)?;
                found.get(name).filter(|schema| is_scalar(schema)).cloned()
            };
            if let Some(scalar) = of_name(schema) {
                let description = schema.get("description").cloned();
                *schema = scalar;
                if let Some(description) = description {
                    schema["description"] = description;
                }
                return;
            }
            let forms = schema["oneOf"].as_array().cloned().unwrap_or_default();
            if let Some(form) = nullable(&forms)
                && is_scalar(form)
            {
                let mut whole = form.clone();
                whole["type"] = json!([form["type"], "null"]);
                if let Some(words) = whole.get_mut("enum").and_then(Value::as_array_mut) {
                    words.push(Value::Null);
                }
                if let Some(description) = schema.get("description") {
                    whole["description"] = description.clone();
                }
                *schema = whole;
            }
        }
        _ => {}
    }
}

fn nullable(forms: &[Value]) -> Option<&Value> {
    match forms {
        [null, form] if null["type"] == "null" => Some(form),
        [form, null] if null["type"] == "null" => Some(form),
        _ => None,
    }
}

/// Makes all keys required: an answer has every key, and null for an unknown value.
fn require_all(schema: &mut Value, found: &BTreeMap<String, Value>) {
    let parts = schema.get_mut("allOf").and_then(Value::as_array_mut);
    for part in parts.into_iter().flatten() {
        require_all(part, found);
        // Flattened keys that are all there, or all absent.
        let forms = part["oneOf"].as_array().cloned().unwrap_or_default();
        if let Some(form) = nullable(&forms) {
            let key = own_key(form, found);
            *part = json!({ "anyOf": [form, { "type": "object", "not": { "required": [key] } }] });
        }
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let names: Vec<_> = properties.keys().cloned().collect();
        schema["required"] = json!(names);
    }
}

/// Returns a key that a named form always has itself, not through a type that it flattens.
fn own_key<'a>(form: &Value, found: &'a BTreeMap<String, Value>) -> &'a str {
    let name = form["$ref"]
        .as_str()
        .and_then(|name| name.strip_prefix(PREFIX));
    let schema = name.and_then(|name| found.get(name)).expect("a type");
    let mut parts = schema["allOf"].as_array().into_iter().flatten();
    let own = parts.find(|part| part["required"].is_array());
    let own = own.unwrap_or(schema);
    own["required"][0].as_str().expect("a key that is required")
}

pub fn page(rows: &Value) -> Value {
    json!({
        "type": "object",
        "required": ["count", "data", "next_cursor"],
        "properties": {
            "data": {"type": "array", "items": rows},
            "next_cursor": {
                "type": ["string", "null"],
                "description": "The `cursor` of the next page. Null on the last page.",
            },
            "count": {
                "type": "integer",
                "minimum": 0,
                "description": "Rows on this page.",
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::SchemaValidator;
    use leadhost_admin_api::instances::InstanceView;
    use leadhost_domain::row::DealRow;

    #[test]
    fn every_key_of_an_answer_is_required_and_ids_are_inlined() {
        let mut schemas = Schemas::default();
        let named = schemas.answer::<DealRow>();
        assert_eq!(named["$ref"], "#/components/schemas/DealRow");
        let all = Value::Object(schemas.into_map());
        let row = &all["DealRow"];
        let required = row["required"].as_array().expect("a list");
        assert!(required.contains(&json!("agent_id")), "{row}");
        assert_eq!(row["properties"]["cursor_at"]["format"], "date-time");
        assert!(all.get("Micros").is_none());
    }

    #[test]
    fn flattened_keys_are_all_there_or_all_absent() {
        let mut schemas = Schemas::default();
        let named = schemas.answer::<InstanceView>();
        let document = json!({ "components": { "schemas": schemas.into_map() } });
        let validator = SchemaValidator::new(&document, &named);
        let mut instance = json!({
            "id": 1,
            "name": "bot",
            "workspace": "acme",
            "number": null,
            "kind": "ai",
            "channel": null,
            "adapter": null,
            "plugin": null,
            "internal": false,
            "paused": null,
            "webhook": null,
        });
        assert_eq!(validator.complaint(&instance), None);
        instance["unansweredAfterSeconds"] = json!(60);
        assert!(
            validator.complaint(&instance).is_some(),
            "the others are missing"
        );
    }
}
