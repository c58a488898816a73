use crate::prelude::*;
use leadhost_input::{Issue, Schema};

/// A schema to check values against.
pub struct SchemaValidator(Schema);

impl SchemaValidator {
    /// Reads a schema, whose references point into `document`.
    pub fn new(document: &Value, schema: &Value) -> Self {
        Self(Schema::within(document, schema).expect("a schema of the document"))
    }

    pub fn complaint(&self, value: &Value) -> Option<String> {
        let issues = self.0.issues(value);
        let complaints = issues.iter().flat_map(Issue::told);
        let complaints: Vec<_> = complaints.map(|fault| fault.to_string()).collect();
        (!complaints.is_empty()).then(|| complaints.join("; "))
    }
}
