//! The JSON body of a request. One rule holds for all of them: a body that is declared as something
//! other than JSON in UTF-8, or as compressed in a way that is not read, gets 415; a body without a
//! declaration counts as JSON. A body counts against the budget of all bodies for as long as its share is held.

use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE};

use super::budget::BudgetShare;
use super::decoding::decode;
use crate::prelude::*;
use leadhost_domain::content_coding::{BodyCoding, DECODED, is_no_coding};
use leadhost_domain::json;
use leadhost_trace::{self as trace, SpanKind};

/// Reads the body. The share has to be kept for as long as the value is held.
pub async fn read(call: &Call<'_>, body: UnreadBody) -> Result<(Value, BudgetShare), ApiError> {
    check_media(&call.head.headers)?;
    let (bytes, held) = read_bytes(call, body, limits::BODY_BYTES).await?;
    Ok((parse(&bytes)?, held))
}

/// Reads the bytes of a body: decompressed, and without a byte order mark.
pub async fn read_bytes(
    call: &Call<'_>,
    body: UnreadBody,
    limit: usize,
) -> Result<(Bytes, BudgetShare), ApiError> {
    let reading = trace::span("read body", SpanKind::Internal);
    let (sent, held) = body.read(call.http, limit).await?.into_parts();
    reading.set("http.request.body.size", sent.len());
    let named = call.head.headers.get_all(CONTENT_ENCODING);
    let named = named.iter().map(|value| value.to_str().unwrap_or("?"));
    let (bytes, held) = match BodyCoding::of_values(named, &sent) {
        BodyCoding::Plain => (sent, held),
        BodyCoding::Coded(coding) => {
            // The work counts for the client's address.
            let lane = call.peer.to_string();
            let (bytes, held) = decode(call.http, &lane, coding, sent, limit, held).await?;
            let bytes = bytes.ok_or_else(|| {
                ApiError::coded(
                    ErrorCode::InvalidJson,
                    "The body cannot be decompressed as its Content-Encoding says: it is damaged or cut off.",
                )
            })?;
            (bytes.into(), held)
        }
        BodyCoding::Unknown(coding) => {
            return Err(ApiError::UnsupportedMediaType(format!(
                "The body is compressed as `{coding}`: send it with one of {DECODED}, or without Content-Encoding."
            )));
        }
    };
    let marked = bytes.starts_with(BYTE_ORDER_MARK);
    Ok((
        bytes.slice(if marked { BYTE_ORDER_MARK.len() } else { 0 }..),
        held,
    ))
}

/// Some editors and systems write it before a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

fn check_media(headers: &HeaderMap) -> Result<(), ApiError> {
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return Ok(());
    };
    let text = value.to_str().ok().filter(|text| is_json(text));
    let text = text.ok_or_else(|| {
        ApiError::UnsupportedMediaType(
            "The body has to be JSON: send it with Content-Type: application/json.".to_owned(),
        )
    })?;
    if is_utf8(text) {
        Ok(())
    } else {
        Err(ApiError::UnsupportedMediaType(
            "The body has to be UTF-8: send it so, with Content-Type: application/json.".to_owned(),
        ))
    }
}

/// Returns whether a content type names no charset, or one in which a text is also UTF-8.
pub fn is_utf8(content_type: &str) -> bool {
    content_type.split(';').skip(1).all(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or_default();
        let value = value.trim().trim_matches(['"', '\'']).to_ascii_lowercase();
        !name.trim().eq_ignore_ascii_case("charset")
            || matches!(
                value.as_str(),
                "" | "utf-8" | "utf8" | "utf-8-sig" | "us-ascii" | "ascii"
            )
    })
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
    serde_json::from_slice(bytes).map_err(|error| {
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
    fn another_media_type_or_charset_is_refused() {
        let check = |text: &'static str, expect: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(text));
            assert_eq!(check_media(&headers).is_ok(), expect, "{text}");
        };
        assert!(check_media(&HeaderMap::new()).is_ok());
        for read in [
            "application/json",
            "application/json; charset=UTF-8",
            "application/json;charset=\"utf-8\"; profile=x",
            "application/json; CHARSET = us-ascii",
            "application/json; odata.metadata=minimal; charset",
        ] {
            check(read, true);
        }
        for other in [
            "text/csv",
            "application/json; charset=iso-8859-1",
            "application/json; profile=x; Charset=\"windows-1252\"",
            "application/json; charset=utf-16",
        ] {
            check(other, false);
        }
    }
}
