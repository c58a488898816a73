//! Conditional requests. A tag stands for the state of an answer, and a client that names it in
//! `If-None-Match` has that answer already. Tags are weak: an answer has one tag in every
//! content coding, and as lines or as a whole.

use hyper::HeaderMap;
use hyper::header::{HeaderValue, IF_NONE_MATCH};
use sha2::{Digest as _, Sha256};

use leadhost_domain::hex;

pub fn tag(state: &[u8]) -> HeaderValue {
    let digest = hex::encode(&Sha256::digest(state)[..16]);
    HeaderValue::from_str(&format!("W/\"{digest}\"")).expect("hexadecimal digits fit a header")
}

/// Returns whether the client names the tag, or any tag (`*`). Weak and strong tags count
/// alike.
pub fn is_known(request: &HeaderMap, tag: &HeaderValue) -> bool {
    fn bare(text: &str) -> &str {
        let text = text.trim();
        text.strip_prefix("W/").unwrap_or(text)
    }
    let own = tag.to_str().map(bare).unwrap_or_default();
    request
        .get_all(IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(bare)
        .any(|one| one == "*" || one == own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_known_by_its_tag() {
        let tag = HeaderValue::from_static("W/\"abc\"");
        let check = |texts: &[&'static str], expect: bool| {
            let mut headers = HeaderMap::new();
            for text in texts {
                headers.append(IF_NONE_MATCH, HeaderValue::from_static(text));
            }
            assert_eq!(is_known(&headers, &tag), expect, "{texts:?}");
        };
        check(&["W/\"abc\""], true);
        check(&["\"x\", \"abc\""], true);
        check(&["\"x\"", "W/\"abc\""], true);
        check(&["*"], true);
        check(&["\"x\""], false);
        check(&["abc"], false);
        check(&[""], false);
        check(&[], false);
    }

    #[test]
    fn another_state_has_another_tag() {
        assert_eq!(tag(b"a"), tag(b"a"));
        assert_ne!(tag(b"a"), tag(b"b"));
    }
}
