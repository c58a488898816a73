//! One golden case as plain data, independent of any bindings.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::diff::diff;
use crate::message::{Message, default_context};

/// The function of a plugin that a case calls: the first three belong to every
/// plugin, then come the converter's own, then the adapter's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Call {
    Describe,
    SenderChecks,
    Handshake,
    Convert,
    Complete,
    Routes,
    Send,
    ReadAnswer,
    ReadWebhook,
    ListTemplates,
    ReadTemplates,
}

impl Call {
    /// Returns the name as `case.json` spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Describe => "describe",
            Self::SenderChecks => "senderChecks",
            Self::Handshake => "handshake",
            Self::Convert => "convert",
            Self::Complete => "complete",
            Self::Routes => "routes",
            Self::Send => "send",
            Self::ReadAnswer => "readAnswer",
            Self::ReadWebhook => "readWebhook",
            Self::ListTemplates => "listTemplates",
            Self::ReadTemplates => "readTemplates",
        }
    }

    /// Returns whether its cases have a message to send, in `message`.
    pub fn takes_message(self) -> bool {
        matches!(self, Self::Send | Self::ReadAnswer)
    }

    /// Returns whether its cases have a provider's response, in `response`. The
    /// response of `complete` is in its `completion`.
    pub fn takes_response(self) -> bool {
        matches!(self, Self::ReadAnswer | Self::ReadTemplates)
    }
}

/// A golden case: one call with its input, and the expected output.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The name of the case's folder.
    pub name: String,
    /// A line about what the case shows.
    pub about: String,
    pub call: Call,
    /// The request, for `handshake`, `convert` and `readWebhook`. Its `config` applies
    /// to every call that gets one, its `context` also to `complete`.
    pub delivery: Delivery,
    /// The body's bytes: of the delivery, or of the response.
    pub body: Vec<u8>,
    /// The input of `complete`; defaults for other calls.
    pub completion: Completion,
    /// The input of `send` and `readAnswer`; defaults for other calls.
    pub message: Message,
    /// The response for `readAnswer` and `readTemplates`; defaults for other calls.
    pub response: Response,
    /// The normalised output. `None`: not written yet, so the case cannot pass.
    pub expect: Option<Value>,
}

impl Case {
    /// Returns a case of that name and call with nothing but defaults.
    pub fn new(name: impl Into<String>, call: Call) -> Self {
        Self {
            name: name.into(),
            about: String::new(),
            call,
            delivery: Delivery::default(),
            body: Vec::new(),
            completion: Completion::default(),
            message: Message::default(),
            response: Response::default(),
            expect: None,
        }
    }

    /// Returns the differences between a normalised output and the expected one;
    /// `None` if there are none, or if the case has no expected output yet.
    ///
    /// The version that `describe` returns is ignored: it changes with every release,
    /// and a case that pins it would refuse each new one. The fields that a host
    /// relies on (name, schema, secrets, hosts) are compared.
    pub fn difference(&self, came: &Value) -> Option<String> {
        let expected = self.expect.as_ref()?;
        match self.call {
            Call::Describe => diff(&without_version(expected), &without_version(came)),
            _ => diff(expected, came),
        }
    }

    /// Returns the body as text, as the contract passes it; `None` if it is not UTF-8.
    pub fn body_text(&self) -> Option<&str> {
        std::str::from_utf8(&self.body).ok()
    }
}

/// The request that a plugin gets. The defaults stand for fields that a case leaves
/// out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Delivery {
    #[serde(skip_serializing_if = "is_default_id")]
    pub id: String,
    #[serde(skip_serializing_if = "is_default_time")]
    pub received_at: String,
    /// Empty: `GET` for a handshake, `POST` otherwise.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub method: String,
    #[serde(skip_serializing_if = "is_default_path")]
    pub path: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub query: Vec<(String, String)>,
    /// Names in lower case, as the host gives them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The configuration, an object.
    #[serde(skip_serializing_if = "is_empty_object")]
    pub config: Value,
    #[serde(skip_serializing_if = "is_default_context")]
    pub context: Vec<(String, String)>,
}

impl Default for Delivery {
    fn default() -> Self {
        Self {
            id: DEFAULT_ID.into(),
            received_at: DEFAULT_TIME.into(),
            method: String::new(),
            path: DEFAULT_PATH.into(),
            query: Vec::new(),
            headers: Vec::new(),
            config: Value::Object(serde_json::Map::new()),
            context: default_context(&DEFAULT_CONTEXT),
        }
    }
}

impl Delivery {
    /// Returns the method of the case, or else the one that the call implies.
    pub fn method_for(&self, call: Call) -> &str {
        match (self.method.as_str(), call) {
            ("", Call::Handshake) => "GET",
            ("", _) => "POST",
            (named, _) => named,
        }
    }

    /// Returns the configuration as the contract passes it.
    pub fn config_text(&self) -> String {
        self.config.to_string()
    }
}

/// The input of `complete` besides the configuration and the body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Completion {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// A text is the state itself; any other JSON value stands for its compact
    /// text; null is an empty state.
    pub state: Value,
    pub hop: u32,
    pub response: Response,
}

impl Default for Completion {
    fn default() -> Self {
        Self {
            external_id: None,
            state: Value::Null,
            hop: 1,
            response: Response::default(),
        }
    }
}

impl Completion {
    /// Returns the state's bytes.
    pub fn state_bytes(&self) -> Vec<u8> {
        match &self.state {
            Value::Null => Vec::new(),
            Value::String(text) => text.clone().into_bytes(),
            other => other.to_string().into_bytes(),
        }
    }
}

/// The response to a request of the plugin; its body is the case's body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Response {
    pub status: u16,
    /// Names in lower case, as the host gives them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
}

impl Default for Response {
    fn default() -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
        }
    }
}

const DEFAULT_ID: &str = "018f0000-0000-7000-8000-000000000001";
const DEFAULT_TIME: &str = "2026-03-02T12:00:00.000000Z";
const DEFAULT_PATH: &str = "/ingest-lead/x";
const DEFAULT_CONTEXT: [(&str, &str); 2] = [("time-zone", "America/Sao_Paulo"), ("region", "BR")];

fn without_version(answer: &Value) -> Value {
    let mut answer = answer.clone();
    if let Some(description) = answer.get_mut("ok").and_then(Value::as_object_mut) {
        description.remove("version");
    }
    answer
}

fn is_default_id(id: &str) -> bool {
    id == DEFAULT_ID
}

fn is_default_time(time: &str) -> bool {
    time == DEFAULT_TIME
}

fn is_default_path(path: &str) -> bool {
    path == DEFAULT_PATH
}

fn is_empty_object(value: &Value) -> bool {
    value.as_object().is_some_and(serde_json::Map::is_empty)
}

fn is_default_context(context: &[(String, String)]) -> bool {
    context == default_context(&DEFAULT_CONTEXT)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn case(call: Call, expect: Value) -> Case {
        Case {
            expect: Some(expect),
            ..Case::new("case", call)
        }
    }

    #[test]
    fn a_raised_version_is_no_difference() {
        let case = case(
            Call::Describe,
            json!({"ok": {"name": "forms", "version": "1.0.0", "hosts": []}}),
        );
        let raised = json!({"ok": {"name": "forms", "version": "1.1.0", "hosts": []}});
        assert_eq!(case.difference(&raised), None);
    }

    #[test]
    fn everything_else_of_a_description_is_compared() {
        let case = case(
            Call::Describe,
            json!({"ok": {"name": "forms", "hosts": [], "configSchema": {}}}),
        );
        let came = json!({"ok": {"name": "forms", "version": "1.0.0", "hosts": ["a.example"], "configSchema": ""}});
        let difference = case.difference(&came).unwrap_or_default();
        assert!(difference.contains("ok.hosts.0"), "{difference}");
        assert!(difference.contains("ok.configSchema"), "{difference}");
        assert!(!difference.contains("version"), "{difference}");
    }

    #[test]
    fn a_version_in_any_other_answer_is_compared() {
        let case = case(Call::Convert, json!({"ok": {"version": "1"}}));
        assert!(case.difference(&json!({"ok": {"version": "2"}})).is_some());
    }
}
