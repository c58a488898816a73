//! The JSON body of a gateway's request. One rule holds for all of them: a body that is declared as
//! something other than JSON, or as compressed, gets 415; a body without a declaration counts as
//! JSON. A body counts against the budget of all bodies for as long as its share is held.

use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE};

use super::budget::BudgetShare;
use crate::prelude::*;
use leadhost_domain::content_coding::is_no_coding;
use leadhost_domain::json;
use leadhost_trace::{self as trace, SpanKind};

/// Reads the body. The share has to be kept for as long as the value is held.
pub async fn read(call: &Call<'_>, body: UnreadBody) -> Result<(Value, BudgetShare), ApiError> {
    check_media(&call.head.headers)?;
    let reading = trace::span("read body", SpanKind::Internal);
    let (bytes, held) = body.read(call.http, limits::BODY_BYTES).await?.into_parts();
    reading.set("http.request.body.size", bytes.len());
    Ok((parse(&bytes)?, held))
}

fn check_media(headers: &HeaderMap) -> Result<(), ApiError> {
    refuse_compressed(headers)?;
    match headers.get(CONTENT_TYPE) {
        Some(value) if !value.to_str().is_ok_and(is_json) => Err(ApiError::UnsupportedMediaType(
            "The body has to be JSON: send it with Content-Type: application/json.".to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Refuses compressed bodies, for endpoints that read a body as it arrives.
pub fn refuse_compressed(headers: &HeaderMap) -> Result<(), ApiError> {
    for encoding in headers.get_all(CONTENT_ENCODING) {
        let text = encoding.to_str().unwrap_or("?");
        if !text.split(',').all(is_no_coding) {
            return Err(ApiError::UnsupportedMediaType(
                "The body is compressed: send it without Content-Encoding.".to_owned(),
            ));
        }
    }
    Ok(())
}

/// Accepts `application/json`, `text/json` and `application/anything+json`, with any
/// parameters.
fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if essence.is_empty() {
        return true;
    }
    let Some((_, kind)) = essence.split_once('/') else {
        return false;
    };
    let kind = kind.to_ascii_lowercase();
    kind == "json" || kind.ends_with("+json")
}

/// Returns a body without the byte order mark that some programs write before every text.
pub fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

fn parse(bytes: &[u8]) -> Result<Value, ApiError> {
    if json::too_deep(bytes, limits::JSON_DEPTH) {
        return Err(ApiError::coded(
            ErrorCode::InvalidJson,
            format!(
                "The body is nested deeper than {} levels.",
                limits::JSON_DEPTH
            ),
        ));
    }
    serde_json::from_slice(without_mark(bytes)).map_err(|error| {
        ApiError::coded(
            ErrorCode::InvalidJson,
            format!("The body is not JSON: {error}."),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_known_by_its_type_and_assumed_without_one() {
        let check = |text: &str, expect: bool| assert_eq!(is_json(text), expect, "{text}");
        for json in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "text/json",
            "application/merge-patch+json",
            "",
            " ; charset=utf-8",
        ] {
            check(json, true);
        }
        for other in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=json",
            "json",
            "application/jsonp",
        ] {
            check(other, false);
        }
    }

    #[test]
    fn a_byte_order_mark_before_a_body_is_no_part_of_it() {
        let read = parse("\u{feff}{\"a\":1}".as_bytes());
        assert_eq!(read.ok(), Some(serde_json::json!({"a": 1})));
    }

    #[test]
    fn a_compressed_body_is_refused() {
        let of = |name, text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(text));
            check_media(&headers).is_ok()
        };
        assert!(check_media(&HeaderMap::new()).is_ok());
        assert!(of(CONTENT_ENCODING, "identity") && of(CONTENT_ENCODING, ""));
        assert!(!of(CONTENT_ENCODING, "gzip") && !of(CONTENT_ENCODING, "br, gzip"));
        assert!(of(CONTENT_TYPE, "application/json") && !of(CONTENT_TYPE, "text/csv"));
    }
}
