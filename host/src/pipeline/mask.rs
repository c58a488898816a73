//! What is kept and shown of a request without its secrets. A plugin gets the
//! request with the connection's secrets masked by value; the store gets it
//! with what commonly carries credentials masked by name as well.

use std::borrow::Cow;

use crate::domain::exchange::{Location, Pairs};
use crate::domain::json;
use crate::limits;
use crate::seal::Secrets;

/// What stands in for a secret.
pub const MASK: &str = "***";

/// Headers that carry credentials whoever sends them.
const HEADERS: [&str; 7] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "x-api-key",
    "x-service-api-key",
    "x-auth-token",
    "x-access-token",
];

/// Fields of a query that carry credentials whoever sends them.
const FIELDS: [&str; 13] = [
    "token",
    "access_token",
    "auth",
    "auth_token",
    "api_key",
    "api-key",
    "apikey",
    "secret",
    "client_secret",
    "password",
    "pwd",
    "verify_token",
    "hub.verify_token",
];

/// Secrets shorter than this are not looked for by value: they would mask ordinary text.
const SHORTEST: usize = 6;

/// Names and values with the credentials masked: those that the source is
/// declared to carry at `place`, known headers, and the secrets' values.
pub fn pairs(place: &str, pairs: &Pairs, carried: &[Location], secrets: &Secrets) -> Pairs {
    pairs
        .iter()
        .map(|(name, value)| {
            let declared = carried
                .iter()
                .any(|at| at.place == place && at.name.eq_ignore_ascii_case(name));
            let known: &[&str] = match place {
                "header" => &HEADERS,
                "query" => &FIELDS,
                _ => &[],
            };
            let known = known.iter().any(|known| known.eq_ignore_ascii_case(name));
            // In a place of its own a secret is known however short it is.
            let whole = secrets.iter().any(|(_, secret)| secret == value);
            let value = if declared || known || whole {
                MASK.to_owned()
            } else {
                text(value, secrets).into_owned()
            };
            (name.clone(), value)
        })
        .collect()
}

/// The text with the secrets' values masked.
pub fn text<'a>(text: &'a str, secrets: &Secrets) -> Cow<'a, str> {
    let mut masked = Cow::Borrowed(text);
    for secret in by_value(secrets) {
        if masked.contains(secret) {
            masked = Cow::Owned(masked.replace(secret, MASK));
        }
    }
    masked
}

/// The secrets that are looked for by value, longest first: one may be the
/// beginning of another, whose end would stay.
fn by_value(secrets: &Secrets) -> Vec<&str> {
    let mut values: Vec<&str> = secrets
        .iter()
        .map(|(_, secret)| secret)
        .filter(|secret| secret.len() >= SHORTEST)
        .collect();
    values.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    values
}

/// The body as a plugin and the store get it: the secrets' values masked, and
/// the values of declared fields of a JSON or urlencoded body.
pub fn body(body: Vec<u8>, carried: &[Location], secrets: &Secrets) -> Vec<u8> {
    let names: Vec<&str> = carried
        .iter()
        .filter(|at| at.place == "json" || at.place == "form")
        .map(|at| at.name.as_str())
        .collect();
    let holds =
        |body: &[u8], needle: &[u8]| body.windows(needle.len()).any(|window| window == needle);
    let any = !names.is_empty()
        || secrets.iter().any(|(_, secret)| {
            secret.len() >= SHORTEST
                && secret.len() <= body.len()
                && holds(&body, secret.as_bytes())
        });
    if !any {
        return body;
    }
    match String::from_utf8(body) {
        Ok(content) => {
            let content = text(&content, secrets).into_owned();
            fields(content, &names).into_bytes()
        }
        Err(error) => {
            // Each byte as a character of its own, and back: nothing else changes.
            let latin = |bytes: &[u8]| bytes.iter().copied().map(char::from).collect::<String>();
            let mut content = latin(error.as_bytes());
            for secret in by_value(secrets) {
                content = content.replace(&latin(secret.as_bytes()), MASK);
            }
            fields(content, &names)
                .chars()
                .filter_map(|character| u8::try_from(u32::from(character)).ok())
                .collect()
        }
    }
}

fn fields(content: String, names: &[&str]) -> String {
    names.iter().fold(content, |content, name| {
        let masked = match name.rsplit_once('.') {
            None => json_member(&content, name, |_| true),
            // Members elsewhere may have the same name: an id, for one.
            Some((_, last)) => match value_at(&content, name) {
                Some(secret) => json_member(&content, last, |raw| unescaped(raw) == secret),
                None => content,
            },
        };
        form_field(&masked, name)
    })
}

/// The text at this path of a JSON body.
fn value_at(content: &str, path: &str) -> Option<String> {
    if json::too_deep(content.as_bytes(), limits::JSON_DEPTH) {
        return None;
    }
    let body: serde_json::Value = serde_json::from_str(content).ok()?;
    json::at(&body, path)?.as_str().map(str::to_owned)
}

/// What stands between the quotes of a JSON text, as its reader has it.
fn unescaped(raw: &str) -> String {
    serde_json::from_str(&format!("\"{raw}\"")).unwrap_or_default()
}

/// Masks the string values of members of this name, whatever its case, where
/// `is_secret` says so of what stands between the quotes. Without parsing: what
/// is not JSON is masked as well.
fn json_member(content: &str, name: &str, is_secret: impl Fn(&str) -> bool) -> String {
    let lower = content.to_ascii_lowercase();
    let needle = format!("\"{}\"", name.to_ascii_lowercase());
    let mut out = String::with_capacity(content.len());
    let mut at = 0;
    while let Some(found) = lower[at..].find(&needle) {
        let after = at + found + needle.len();
        out.push_str(&content[at..after]);
        at = after;
        let rest = &content[after..];
        let value = rest.trim_start();
        let Some(value) = value.strip_prefix(':').map(str::trim_start) else {
            continue;
        };
        let Some(inner) = value.strip_prefix('"') else {
            continue;
        };
        let mut escaped = false;
        let end = inner.find(|c: char| {
            let closes = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        });
        let start = content.len() - inner.len();
        let stop = start + end.unwrap_or(inner.len());
        out.push_str(&content[at..start]);
        out.push_str(if is_secret(&content[start..stop]) {
            MASK
        } else {
            &content[start..stop]
        });
        at = stop;
    }
    out.push_str(&content[at..]);
    out
}

fn form_field(content: &str, name: &str) -> String {
    if !content.contains('=') || content.trim_start().starts_with(['{', '[', '<']) {
        return content.to_owned();
    }
    content
        .split('&')
        .map(|field| match field.split_once('=') {
            Some((key, _)) if key.eq_ignore_ascii_case(name) => format!("{key}={MASK}"),
            _ => field.to_owned(),
        })
        .collect::<Vec<_>>()
        .join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(place: &str, name: &str) -> Location {
        Location {
            place: place.into(),
            name: name.into(),
        }
    }

    fn none() -> Secrets {
        Secrets::from_iter(Vec::<(String, String)>::new())
    }

    #[test]
    fn a_declared_member_is_masked_whatever_its_case() {
        let check = |body: &str, expect: &str| {
            let masked = super::body(body.into(), &[at("json", "google_key")], &none());
            assert_eq!(String::from_utf8(masked).expect("text"), expect);
        };
        check(
            r#"{"Google_key" : "a\"b", "x": 1}"#,
            r#"{"Google_key" : "***", "x": 1}"#,
        );
        check(r#"{"google_key":"abc"#, r#"{"google_key":"***"#);
        check(
            r#"{"google_key":5,"é":"google_key"}"#,
            r#"{"google_key":5,"é":"google_key"}"#,
        );
    }

    #[test]
    fn a_path_masks_its_own_member_and_no_other_of_that_name() {
        let check = |body: &str, expect: &str| {
            let masked = super::body(body.into(), &[at("json", "auth.id")], &none());
            assert_eq!(String::from_utf8(masked).expect("text"), expect);
        };
        check(
            r#"{"id":"lead-1","Auth":{"id":"a\u0062c"},"x":{"id":"abc"}}"#,
            r#"{"id":"lead-1","Auth":{"id":"***"},"x":{"id":"***"}}"#,
        );
        check(r#"{"id":"lead-1"}"#, r#"{"id":"lead-1"}"#);
    }

    #[test]
    fn bytes_that_are_no_utf_8_stay_as_they_are_around_the_mask() {
        let secrets = Secrets::from_iter([("a".to_owned(), "hunter2é".to_owned())]);
        let raw = [b"\xff{\"key\":\"abc\"} hunter2\xc3\xa9 \xe9".as_slice()].concat();
        let masked = super::body(raw, &[at("json", "key")], &secrets);
        assert_eq!(masked, b"\xff{\"key\":\"***\"} *** \xe9");
    }

    #[test]
    fn a_secret_that_begins_another_leaves_nothing_of_it() {
        let secrets = Secrets::from_iter([
            ("a".to_owned(), "hunter2".to_owned()),
            ("b".to_owned(), "hunter2-and-more".to_owned()),
            ("c".to_owned(), "abc".to_owned()),
        ]);
        assert_eq!(text("x hunter2-and-more y", &secrets), "x *** y");
        let query = vec![("token".to_owned(), "abc".to_owned())];
        assert_eq!(pairs("query", &query, &[], &secrets)[0].1, MASK);
    }

    #[test]
    fn a_form_field_is_masked() {
        let masked = super::body(
            b"a=1&Token=abc&b=2".to_vec(),
            &[at("form", "token")],
            &none(),
        );
        assert_eq!(masked, b"a=1&Token=***&b=2");
    }

    #[test]
    fn a_secret_is_masked_by_value_wherever_it_stands() {
        let secrets =
            Secrets::from_iter([("verify-token".to_owned(), "hunter2hunter2".to_owned())]);
        assert_eq!(text("x hunter2hunter2 y", &secrets), "x *** y");
        let query = vec![("hub.verify_token".to_owned(), "hunter2hunter2".to_owned())];
        assert_eq!(pairs("query", &query, &[], &secrets)[0].1, MASK);
        let query = vec![("API_KEY".to_owned(), "anything".to_owned())];
        assert_eq!(pairs("query", &query, &[], &none())[0].1, MASK);
        let headers = vec![("Authorization".to_owned(), "Basic abc".to_owned())];
        assert_eq!(pairs("header", &headers, &[], &none())[0].1, MASK);
    }
}
