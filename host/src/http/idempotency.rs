//! The header `Idempotency-Key`: a request that names itself is done once, and
//! its repeats hear the first one's answer. A key is its partner's own and counts
//! for one route; the same key with another request is refused. Which answers are
//! kept is the endpoint's to say; all of them are told here.

use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::auth::PartnerCaller;
use super::call::Call;
use super::error::ApiError;
use super::reply::{self, Reply};
use crate::domain::hex;
use crate::domain::time::Micros;
use crate::limits;
use crate::store::{IdempotencyClaim, IdempotencyKey, StoredAnswer};

const HEADER: &str = "idempotency-key";

/// A key as a request brings it.
pub struct Key(String);

impl Key {
    /// `None`: the request does not name itself.
    pub fn of(call: &Call<'_>) -> Result<Option<Self>, ApiError> {
        let mut values = call.head.headers.get_all(HEADER).iter();
        let Some(value) = values.next() else {
            return Ok(None);
        };
        if values.next().is_some() {
            return Err(ApiError::BadRequest(
                "The header Idempotency-Key is there twice: a request has one key.".to_owned(),
            ));
        }
        let key = value.to_str().ok().filter(|key| is_key(key));
        let key = key.ok_or_else(|| {
            ApiError::BadRequest(format!(
                "The header Idempotency-Key takes 1 to {} visible ASCII characters.",
                limits::IDEMPOTENCY_KEY_CHARACTERS
            ))
        })?;
        Ok(Some(Self(key.to_owned())))
    }

    /// What is kept under it. `subject` is what the path names, where it names
    /// something: a key that was used for one is no key for another.
    pub fn claim(
        self,
        call: &Call<'_>,
        caller: &PartnerCaller,
        route: &'static str,
        subject: &str,
        body: &Value,
    ) -> IdempotencyClaim {
        IdempotencyClaim {
            key: IdempotencyKey {
                workspace: caller.workspace().id,
                partner: caller.partner().id,
                route: route.to_owned(),
                key: self.0,
            },
            fingerprint: fingerprint(subject, body),
            kept: call.http.core.config.retention.idempotency_hours * Micros::HOUR,
        }
    }
}

/// Of what the body says: whoever writes it anew may put its members in another
/// order, or other blanks between them.
fn fingerprint(subject: &str, body: &Value) -> String {
    hex::of(&Sha256::digest(format!("{subject}{body}")))
}

/// The key came with another request before.
pub fn reused() -> ApiError {
    ApiError::unprocessable(
        "This Idempotency-Key came with another body, or for another deal, before; take a new one for another request.",
    )
}

/// The answer as it is told, now or again.
pub fn as_told(call: &Call<'_>, answer: StoredAnswer, replayed: bool) -> Result<Reply, ApiError> {
    let status = StatusCode::from_u16(answer.status).map_err(ApiError::internal)?;
    let mut reply = if status.is_success() {
        reply::bytes_of(status, reply::JSON, answer.body)
    } else {
        call.refuse(&ApiError::Refused {
            status,
            message: message_of(&answer.body),
        })
    };
    let headers = reply.headers_mut();
    for (name, value) in answer.headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(&value)) {
            headers.insert(name, value);
        }
    }
    if replayed {
        let name = HeaderName::from_static("idempotency-replayed");
        headers.insert(name, HeaderValue::from_static("true"));
    }
    Ok(reply)
}

/// What an answer that was kept says is wrong.
fn message_of(body: &str) -> String {
    let value: Option<Value> = serde_json::from_str(body).ok();
    let message = value.as_ref().and_then(|value| value["message"].as_str());
    message.unwrap_or("The message was refused.").to_owned()
}

/// As the document's expression for it has it.
fn is_key(text: &str) -> bool {
    (1..=limits::IDEMPOTENCY_KEY_CHARACTERS).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_body_is_the_same_however_it_is_laid_out_and_for_its_subject_only() {
        let of = |subject: &str, text: &str| {
            let body: Value = serde_json::from_str(text).expect("JSON");
            fingerprint(subject, &body)
        };
        let first = of("", r#"{"a": 1, "b": [2]}"#);
        assert_eq!(of("", r#"{"b":[2],"a":1}"#), first);
        assert_ne!(of("", r#"{"b":[2],"a":2}"#), first);
        assert_ne!(of("deal", r#"{"a": 1, "b": [2]}"#), first);
    }

    #[test]
    fn a_key_is_of_visible_characters() {
        let long = "x".repeat(limits::IDEMPOTENCY_KEY_CHARACTERS);
        for right in ["a", "visit-4711", "!~", long.as_str()] {
            assert!(is_key(right), "{right}");
        }
        let longer = long.clone() + "x";
        for wrong in ["", "a b", "a\tb", "é", longer.as_str()] {
            assert!(!is_key(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_kept_refusal_says_what_it_said() {
        assert_eq!(message_of(&json!({"message": "No."}).to_string()), "No.");
        assert_eq!(message_of("{}"), "The message was refused.");
    }
}
