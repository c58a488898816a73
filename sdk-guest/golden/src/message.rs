//! The message that an adapter is asked to send.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A template send. The configuration is the case's; the defaults stand for fields that a case
/// leaves out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Message {
    #[serde(skip_serializing_if = "is_default_id")]
    pub message_id: String,
    #[serde(skip_serializing_if = "is_default_recipient")]
    pub recipient: String,
    /// The template in the shape of the REST interface. A text is passed unchanged,
    /// so that a case can also cover a template that is not JSON.
    pub template: Value,
    #[serde(skip_serializing_if = "is_default_context")]
    pub context: Vec<(String, String)>,
}

impl Default for Message {
    fn default() -> Self {
        Self {
            message_id: DEFAULT_ID.into(),
            recipient: DEFAULT_RECIPIENT.into(),
            template: json!({"name": "welcome", "language": {"code": "pt_BR"}}),
            context: default_context(&DEFAULT_CONTEXT),
        }
    }
}

impl Message {
    /// Returns the template as the contract passes it.
    pub fn template_text(&self) -> String {
        match &self.template {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// Returns names and values as a record holds them.
pub(crate) fn default_context(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

const DEFAULT_ID: &str = "018f0000-0000-7000-8000-000000000002";
const DEFAULT_RECIPIENT: &str = "+5511900000001";
const DEFAULT_CONTEXT: [(&str, &str); 5] = [
    ("callback-url", "https://host.example/channel-webhook/1/x"),
    ("conversation-id", "018f0000-0000-7000-8000-000000000003"),
    ("instance-id", "1"),
    ("time-zone", "America/Sao_Paulo"),
    ("region", "BR"),
];

fn is_default_id(id: &str) -> bool {
    id == DEFAULT_ID
}

fn is_default_recipient(recipient: &str) -> bool {
    recipient == DEFAULT_RECIPIENT
}

fn is_default_context(context: &[(String, String)]) -> bool {
    context == default_context(&DEFAULT_CONTEXT)
}
