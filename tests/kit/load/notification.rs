//! Notifications as a load: the request of one, and what its answer says.
//!
//! A notification's id is what its message is about, so that a message that is
//! exported or that a provider took tells which notification it is of. Every
//! second one, by the last digit of its id, names itself by an `Idempotency-Key`,
//! and only those are ever sent again; some of them although they were answered.

use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use serde_json::json;

use super::{Told, person};

/// Who notifies, and through which instance.
#[derive(Clone, Debug)]
pub struct Notifications {
    pub instance: i64,
    /// The partner's.
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

    /// A notification of this id to a phone.
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

    /// The notification that a message is of, by what people read in it.
    pub fn id_in(content: &str) -> Option<&str> {
        let rest = content.strip_prefix("Olá ")?;
        rest.strip_suffix(", aqui é da Casa Verde.")
    }
}

pub(super) fn is_keyed(id: &str) -> bool {
    id.ends_with(['0', '2', '4', '6', '8'])
}

pub(super) fn is_told_twice(id: &str) -> bool {
    id.ends_with('4')
}

pub(super) fn is_taken(answer: &Told) -> bool {
    answer.status == 200 && answer.body["success"] == true && message_of(answer).is_some()
}

pub(super) fn message_of(answer: &Told) -> Option<String> {
    let message = answer.header("x-message-id");
    message.filter(|_| answer.status == 200).map(str::to_owned)
}

/// Refused for now, or still under way, in the shape of this endpoint's errors.
pub(super) fn is_a_refusal(answer: &Told) -> Result<(), &'static str> {
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
