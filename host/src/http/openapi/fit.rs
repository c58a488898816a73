//! Whether values are what a schema of the document says.

use serde_json::{Value, json};

/// A schema that values are held against.
pub struct Fit(jsonschema::Validator);

impl Fit {
    /// # Panics
    /// When the schema is none.
    pub fn new(document: &Value, schema: &Value) -> Self {
        let whole = json!({"allOf": [schema], "components": document["components"]});
        let validator = jsonschema::validator_for(&whole);
        Self(validator.expect("a schema of the document"))
    }

    /// What is wrong with the value; None: it fits.
    pub fn complaint(&self, value: &Value) -> Option<String> {
        let complaints: Vec<_> = self
            .0
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        (!complaints.is_empty()).then(|| complaints.join("; "))
    }
}
