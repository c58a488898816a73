//! Notifications as a load: the request of one, and the meaning of its answer.
//!
//! The id of a notification is in the text of its message, so that an exported or
//! accepted message shows which notification it belongs to. Every second
//! notification, by the last digit of its id, has an `Idempotency-Key`. Only
//! those are ever sent again, and some of them although they were answered.

use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use serde_json::json;

use super::{LoadAnswer, person};

/// The partner that notifies, and the instance.
#[derive(Clone, Debug)]
pub struct Notifications {
    pub instance: i64,
    pub key: String,
}

impl Notifications {
    pub(super) fn request(&self, id: &str) -> Request<Full<Bytes>> {
        let mut request = Request::post("/send-notification")
            .header("host", "leadhost.test")
            .header("content-type", "application/json")
            .header("x-service-api-key", &self.key);
        if is_keyed(id) {
            request = request.header("idempotency-key", id);
        }
        let phone = format!("+55119876{:05}", person(id));
        let body = self.body(id, &phone).to_string();
        request.body(Full::new(body.into())).expect("a request")
    }

    pub fn body(&self, id: &str, phone: &str) -> serde_json::Value {
        let text = |text: &str| json!({"type": "text", "text": text});
        json!({
            "name": "Rita Moura",
            "phoneNumber": phone,
            "instanceId": self.instance,
            "source": "site",
            "template": {
                "name": "boas_vindas",
                "language": {"code": "pt_BR"},
                "components": [{"type": "body", "parameters": [text(id), text("Casa Verde")]}],
            },
        })
    }

    /// Returns the notification that a message belongs to, from its text.
    pub fn id_in(content: &str) -> Option<&str> {
        let rest = content.strip_prefix("Olá ")?;
        rest.strip_suffix(", aqui é da Casa Verde.")
    }
}

pub(super) fn is_keyed(id: &str) -> bool {
    id.ends_with(['0', '2', '4', '6', '8'])
}

pub(super) fn is_sent_twice(id: &str) -> bool {
    id.ends_with('4')
}

/// Returns whether the answer is a success that names its message.
pub(super) fn is_taken(answer: &LoadAnswer) -> bool {
    answer.status == 200 && answer.body["success"] == true && message_of(answer).is_some()
}

/// Returns the id of the message in a success.
pub(super) fn message_of(answer: &LoadAnswer) -> Option<String> {
    let message = answer.header("x-message-id");
    message.filter(|_| answer.status == 200).map(str::to_owned)
}

/// Whether the answer is a temporary refusal, or reports that the first request
/// is still running, in the error format of this endpoint.
pub(super) fn is_a_refusal(answer: &LoadAnswer) -> Result<(), &'static str> {
    if ![503, 409].contains(&answer.status) {
        return Err("not a refusal for now");
    }
    answer.says_when()?;
    if answer.body["success"] != false
        || answer.body["statusCode"] != answer.status
        || !answer.body["message"].is_string()
    {
        return Err("not the endpoint's shape");
    }
    Ok(())
}
