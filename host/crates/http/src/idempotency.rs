//! The header `Idempotency-Key`: a request with a key is executed once, and its repeats get the
//! answer of the first. A key belongs to its partner and counts for one route. The same key
//! with another request is refused. The endpoint decides which answers are stored; all of them
//! are returned from here.

use sha2::{Digest as _, Sha256};

use super::auth::PartnerCaller;
use crate::prelude::*;
use leadhost_domain::hex;
use leadhost_store::{IdempotencyClaim, IdempotencyKey, StoredAnswer};

const HEADER: &str = "idempotency-key";

/// The key of a request.
pub struct IdempotencyHeader(String);

impl IdempotencyHeader {
    pub fn from_call(call: &Call<'_>) -> Result<Option<Self>, ApiError> {
        let mut values = call.head.headers.get_all(HEADER).iter();
        let Some(value) = values.next() else {
            return Ok(None);
        };
        if values.next().is_some() {
            return Err(ApiError::BadRequest(
                "The request has more than one Idempotency-Key header; send one.".to_owned(),
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

    /// Returns the claim under which the answer is stored. `subject` is what the path names, if
    /// anything: a key that was used for one subject is not valid for another.
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
            retention: call.http.core.config.retention.idempotency(),
        }
    }
}

/// Returns a digest of the body's content: a client that serialises it again may order its
/// members or space them differently.
fn fingerprint(subject: &str, body: &Value) -> String {
    hex::encode(&Sha256::digest(format!("{subject}{body}")))
}

pub fn reused() -> ApiError {
    ApiError::coded(
        ErrorCode::IdempotencyKeyReused,
        "This Idempotency-Key was already used with another body or deal. Use a new key.",
    )
}

pub fn stored_reply(
    call: &Call<'_>,
    answer: StoredAnswer,
    replayed: bool,
) -> Result<ApiResponse, ApiError> {
    let status = StatusCode::from_u16(answer.status).map_err(ApiError::internal)?;
    let mut reply = if status.is_success() {
        reply::bytes_of(status, reply::JSON, answer.body)
    } else {
        call.refuse(&refusal(&answer))
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

/// Returns a stored refusal, or the refusal of a repeated request about an erased person.
fn refusal(answer: &StoredAnswer) -> ApiError {
    if answer.is_erased() {
        return ApiError::coded(
            ErrorCode::PersonErased,
            "The person whom this request was about has been erased.",
        );
    }
    let stored: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    // Answers that a former release stored have no code.
    let otherwise = match answer.status {
        500 => ErrorCode::TemplateUnusable,
        _ => ErrorCode::ProviderRefused,
    };
    let code = stored["code"].as_str().and_then(|code| code.parse().ok());
    let message = stored["message"]
        .as_str()
        .unwrap_or("The message was refused.");
    ApiError::coded(code.unwrap_or(otherwise), message)
}

fn is_key(text: &str) -> bool {
    (1..=limits::IDEMPOTENCY_KEY_CHARACTERS).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_ignores_layout_and_depends_on_the_subject() {
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
    fn a_key_has_visible_characters_only() {
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
    fn a_stored_refusal_keeps_its_message_and_code_and_an_erased_one_says_so() {
        let stored = |status, body: &str| StoredAnswer {
            status,
            headers: Vec::new(),
            body: body.to_owned(),
        };
        let check = |status, body: &str, code: ErrorCode, message: &str| {
            let error = refusal(&stored(status, body));
            assert_eq!(
                (error.code(), error.to_string()),
                (code, message.to_owned())
            );
            assert_eq!(error.outside().0.as_u16(), status);
        };
        let refused = ErrorCode::ProviderRefused;
        check(400, r#"{"message":"No."}"#, refused, "No.");
        check(400, "{}", refused, "The message was refused.");
        let unusable = ErrorCode::TemplateUnusable;
        check(500, r#"{"message":"No."}"#, unusable, "No.");
        let known = r#"{"message":"No.","code":"template_not_found"}"#;
        check(500, known, ErrorCode::TemplateNotFound, "No.");
        let erased = "The person whom this request was about has been erased.";
        check(400, "", ErrorCode::PersonErased, erased);
    }
}
