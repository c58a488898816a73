//! Checks values against the schemas of the document.

use serde_json::{Value, json};

/// A schema to check values against.
pub struct SchemaValidator(jsonschema::Validator);

impl SchemaValidator {
    /// Compiles a schema, whose references point into `document`.
    ///
    /// # Panics
    ///
    /// If `schema` is not a valid schema.
    pub fn new(document: &Value, schema: &Value) -> Self {
        let whole = json!({"allOf": [schema], "components": document["components"]});
        let validator = jsonschema::validator_for(&whole);
        Self(validator.expect("a schema of the document"))
    }

    /// Returns what is wrong with the value, or `None` if it fits.
    pub fn complaint(&self, value: &Value) -> Option<String> {
        let complaints: Vec<_> = self
            .0
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        (!complaints.is_empty()).then(|| complaints.join("; "))
    }
}
