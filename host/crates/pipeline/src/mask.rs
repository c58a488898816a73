//! Removes secrets from the stored and shown parts of a request. A plugin gets the request
//! with the values of the connection's secrets masked, however their sender has escaped them; in the
//! store, fields that commonly carry credentials are masked by name as well. The work grows with the
//! text and not faster.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::cmp::Reverse;

use std::ops::Range;

use memchr::memmem::{self, Finder};
use memchr::{memchr, memchr_iter};
use zeroize::Zeroizing;

use crate::prelude::*;
use leadhost_domain::delivery::DeliveryBody;
use leadhost_domain::escapes::{self, Decoded};
use leadhost_domain::exchange::{Place, ValueLocation};
use leadhost_domain::json;
use leadhost_egress::seal::Secrets;

pub const MASK: &str = "***";

const HEADERS: [&str; 7] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "x-api-key",
    "x-service-api-key",
    "x-auth-token",
    "x-access-token",
];

/// Query fields that carry credentials for every sender.
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

/// Members of a body that carry credentials, beside [`FIELDS`]. A converter may read one, as the id of a form's
/// answers in `token`, so it stays stored and is only not shown.
const MEMBERS: [&str; 14] = [
    "accesstoken",
    "refresh_token",
    "refreshtoken",
    "session_token",
    "id_token",
    "authtoken",
    "clientsecret",
    "app_secret",
    "private_key",
    "google_key",
    "x-api-key",
    "passwd",
    "senha",
    "authorization",
];

/// Words in the names of headers and of query fields that carry credentials.
const WORDS: [&str; 8] = [
    "apikey",
    "authorization",
    "credential",
    "jwt",
    "password",
    "secret",
    "senha",
    "token",
];

/// Shorter secrets are not searched for by value: they would mask ordinary text.
const SHORTEST: usize = 6;

pub struct Mask<'s> {
    secrets: &'s Secrets,
    /// The secrets to find by value, longest first: if one is the beginning of another,
    /// masking it first would leave the other's end.
    by_value: Vec<Pattern<'s>>,
}

/// A secret to find by value. Each has a searcher of its own: a connection has few secrets,
/// and an automaton for all would hold copies that remain when the secrets are wiped.
struct Pattern<'s> {
    secret: &'s str,
    finder: Finder<'s>,
    /// The secret as it is in a text without escapes. Empty: it is too short to find there.
    plain: Zeroizing<Vec<u8>>,
}

impl<'s> Pattern<'s> {
    fn new(secret: &'s str) -> Self {
        let mut plain = Zeroizing::new(without_escapes(secret.as_bytes()).text);
        // With what follows they would be the beginning of an escape.
        while plain.last().is_some_and(|last| b"\\%&".contains(last)) {
            plain.pop();
        }
        if plain.len() < SHORTEST {
            plain.clear();
        }
        Self {
            secret,
            finder: Finder::new(secret),
            plain,
        }
    }
}

/// A plus is the space of a form. In a secret it is one too, so that both are found.
fn without_escapes(bytes: &[u8]) -> Decoded {
    let mut decoded = Decoded::new(bytes);
    let pluses = decoded.text.iter_mut().filter(|byte| **byte == b'+');
    pluses.for_each(|plus| *plus = b' ');
    decoded
}

impl<'s> Mask<'s> {
    /// Returns a mask for these secrets. A secret that is too short to find by its value is
    /// masked by name only.
    pub fn new(secrets: &'s Secrets) -> Self {
        let all = secrets.iter().map(|(_, secret)| secret);
        let mut by_value: Vec<_> = all
            .filter(|secret| secret.len() >= SHORTEST)
            .map(Pattern::new)
            .collect();
        by_value.sort_by_key(|wanted| Reverse(wanted.secret.len()));
        Self { secrets, by_value }
    }

    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.values(text.as_bytes()) {
            None => Cow::Borrowed(text),
            Some(masked) => Cow::Owned(String::from_utf8_lossy(&masked).into_owned()),
        }
    }

    /// Masks the secrets by their values: in escapes, then as they are. `None`: there are none.
    fn values(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut masked: Option<Vec<u8>> = None;
        let has_escapes = escapes::may_be_in(bytes) || memchr(b'+', bytes).is_some();
        let mut plain: Option<Decoded> = None;
        let wanted = self.by_value.iter().filter(|one| !one.plain.is_empty());
        for wanted in wanted.filter(|_| has_escapes) {
            let now = masked.as_deref().unwrap_or(bytes);
            let decoded = plain.get_or_insert_with(|| without_escapes(now));
            let places = memmem::find_iter(&decoded.text, wanted.plain.as_slice());
            let places = places.map(|at| decoded.written(at..at + wanted.plain.len()));
            if let Some(other) = replaced(now, places) {
                (masked, plain) = (Some(other), None);
            }
        }
        for wanted in &self.by_value {
            let now = masked.as_deref().unwrap_or(bytes);
            let places = wanted.finder.find_iter(now);
            let places = places.map(|at| at..at + wanted.secret.len());
            masked = replaced(now, places).or(masked);
        }
        masked
    }

    /// Like [`Mask::text`] for an owned text; the usual text is not copied.
    pub fn own(&self, text: &mut String) {
        if let Some(masked) = changed(self.text(text)) {
            *text = masked;
        }
    }

    /// Masks values that are credentials: those in the source's declared places at `place`
    /// (`None`: an answer), known headers and fields, and the values of the secrets.
    pub fn pairs(&self, place: Option<Place>, pairs: &mut Pairs, carried: &[ValueLocation]) {
        let known: &[&str] = match place {
            Some(Place::Header) => &HEADERS,
            Some(Place::Query) => &FIELDS,
            Some(Place::Form | Place::Json) | None => &[],
        };
        for (name, value) in pairs.iter_mut() {
            let name = name.as_str();
            let declared = carried
                .iter()
                .any(|at| Some(at.place) == place && at.name.eq_ignore_ascii_case(name));
            let known = known.iter().any(|known| known.eq_ignore_ascii_case(name));
            // In a place of its own a secret is masked however short it is.
            let whole = self
                .secrets
                .iter()
                .any(|(_, secret)| secret == value.as_str());
            if declared || known || whole {
                MASK.clone_into(value);
            } else {
                self.own(value);
            }
        }
    }

    /// Masks the texts of a value.
    pub fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.own(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.json(value)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.json(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns the body for a plugin and the store: the values of the secrets masked, and
    /// the values of declared fields of a JSON or urlencoded body. `None` if nothing
    /// changed.
    pub fn body(&self, body: &DeliveryBody, carried: &[ValueLocation]) -> Option<Vec<u8>> {
        let names: Vec<&str> = carried
            .iter()
            .filter(|at| at.place.is_in_body())
            .map(|at| at.name.as_str())
            .collect();
        let masked = self.values(body);
        if names.is_empty() {
            return masked;
        }
        let content = masked.as_deref().unwrap_or(body);
        // Of a body that is not UTF-8, each byte becomes one character and back, so that the other bytes
        // stay unchanged.
        let (text, is_utf8) = match std::str::from_utf8(content) {
            Ok(text) => (Cow::Borrowed(text), true),
            Err(_) => {
                let latin = content.iter().copied().map(char::from);
                (Cow::Owned(latin.collect::<String>()), false)
            }
        };
        let depth = || match &masked {
            None => body.depth(),
            Some(masked) => json::depth(masked),
        };
        let named = fields(&text, &names, depth).map(|text| {
            if is_utf8 {
                text.into_bytes()
            } else {
                text.chars()
                    .filter_map(|character| u8::try_from(u32::from(character)).ok())
                    .collect()
            }
        });
        named.or(masked)
    }
}

/// Masks what a person is shown of a stored request: values under the usual names of credentials, whether a
/// converter declares them or not.
pub fn hide_credentials(query: &mut Pairs, headers: &mut Pairs, body: &mut DeliveryBody) {
    for (name, value) in query.iter_mut().chain(headers) {
        let name = name
            .to_ascii_lowercase()
            .replace("api-key", "apikey")
            .replace("api_key", "apikey");
        let mut words = name.split(|one: char| !one.is_alphanumeric());
        if words.any(|word| WORDS.contains(&word)) {
            MASK.clone_into(value);
        } else if let Some(masked) = in_addresses(value.as_bytes()) {
            *value = String::from_utf8_lossy(&masked).into_owned();
        }
    }
    if let Some(masked) = in_addresses(body) {
        *body = masked.into();
    }
    let members = FIELDS.into_iter().chain(MEMBERS);
    let members = members.map(|name| ValueLocation {
        place: Place::Json,
        name: name.to_owned(),
    });
    if let Some(masked) = Mask::new(&Secrets::default()).body(body, &members.collect::<Vec<_>>()) {
        *body = masked.into();
    }
}

/// Masks credentials in the queries of addresses within a text, and in elements of XML. `None`: there are none.
fn in_addresses(text: &[u8]) -> Option<Vec<u8>> {
    let decoded = Decoded::new(text);
    let lower = decoded.text.to_ascii_lowercase();
    let mut places = Vec::new();
    for name in FIELDS.into_iter().chain(MEMBERS) {
        // Names of elements without an end between them have one end, which is looked for once.
        let mut end_of_element = 0;
        for at in memmem::find_iter(&lower, name) {
            let from = at + name.len() + 1;
            let around = (
                at.checked_sub(1).map(|before| lower[before]),
                lower.get(from - 1),
            );
            let ends: &[u8] = match around {
                (Some(b'?' | b'&' | b';' | b'#'), Some(b'=')) => b"?&;#\"'<> \t\r\n\\)",
                (Some(b'<' | b':'), Some(b'>')) => b"<",
                _ => continue,
            };
            let end = if ends == b"<" && from <= end_of_element {
                end_of_element
            } else {
                let length = lower[from..].iter().position(|byte| ends.contains(byte));
                length.map_or(lower.len(), |length| from + length)
            };
            if ends == b"<" {
                end_of_element = end;
            }
            if end > from {
                places.push(decoded.written(from..end));
            }
        }
    }
    places.sort_by_key(|place| place.start);
    let mut until = 0;
    places.retain(|place| {
        let is_free = place.start >= until;
        until = until.max(place.end);
        is_free
    });
    replaced(text, places.into_iter())
}

/// Returns the bytes with the mask at these places, which are in their order. `None`: there are none.
fn replaced(bytes: &[u8], places: impl Iterator<Item = Range<usize>>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut taken = 0;
    for place in places {
        out.extend_from_slice(&bytes[taken..place.start]);
        out.extend_from_slice(MASK.as_bytes());
        taken = place.end;
    }
    if taken == 0 {
        return None;
    }
    out.extend_from_slice(&bytes[taken..]);
    Some(out)
}

/// Masks the secrets in an answer, because some remote servers repeat them.
pub fn response(response: HttpResponse, secrets: &Secrets) -> HttpResponse {
    let mask = Mask::new(secrets);
    let mut headers = response.headers;
    mask.pairs(None, &mut headers, &[]);
    let body = DeliveryBody::from(response.body);
    HttpResponse {
        status: response.status,
        headers,
        body: mask.body(&body, &[]).unwrap_or_else(|| body.into()),
    }
}

pub fn text<'t>(text: &'t str, secrets: &Secrets) -> Cow<'t, str> {
    Mask::new(secrets).text(text)
}

/// Returns `None` if the text did not change.
fn changed(text: Cow<'_, str>) -> Option<String> {
    match text {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(text),
    }
}

/// Masks the values of declared fields. `depth`: how deep the content is nested. `None` if there are none.
fn fields(content: &str, names: &[&str], depth: impl Fn() -> usize) -> Option<String> {
    let mut content = Cow::Borrowed(content);
    for name in names {
        let masked = match name.rsplit_once('.') {
            None => json_member(&content, name, |_| true),
            Some((_, last)) => {
                let secret = OnceCell::new();
                // Members elsewhere may have the same name, for example an id.
                json_member(&content, last, |raw| {
                    let secret = secret.get_or_init(|| {
                        let is_read = depth() <= limits::JSON_DEPTH;
                        is_read.then(|| value_at(&content, name)).flatten()
                    });
                    secret
                        .as_ref()
                        .is_some_and(|secret| unescaped(raw) == *secret)
                })
            }
        };
        if let Some(masked) = masked {
            content = Cow::Owned(masked);
        }
        if let Some(masked) = form_field(&content, name) {
            content = Cow::Owned(masked);
        }
    }
    changed(content)
}

/// Returns the text at this path of a JSON body.
fn value_at(content: &str, path: &str) -> Option<String> {
    let body: serde_json::Value = json::parse(content).ok()?;
    json::at(&body, path)?.as_str().map(str::to_owned)
}

/// Decodes the escapes between the quotes of a JSON string.
fn unescaped(raw: &str) -> String {
    json::parse(&format!("\"{raw}\"")).unwrap_or_default()
}

/// Masks the string values of members of this name, in any case, for which `is_secret`
/// returns true for the raw text between the quotes. It does not parse, so text that is not
/// JSON is masked as well. `None` if there are none.
fn json_member(content: &str, name: &str, is_secret: impl Fn(&str) -> bool) -> Option<String> {
    let mut out = String::new();
    // The text before it is in `out`.
    let mut taken = 0;
    let mut at = 0;
    while let Some(after) = after_name(content, at, name) {
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
        if is_secret(&content[start..stop]) {
            out.push_str(&content[taken..start]);
            out.push_str(MASK);
            taken = stop;
        }
        at = stop;
    }
    if taken == 0 {
        return None;
    }
    out.push_str(&content[taken..]);
    Some(out)
}

/// Returns the position after the next occurrence of this name in quotes, in any case and with any escapes.
fn after_name(content: &str, from: usize, name: &str) -> Option<usize> {
    let bytes = content.as_bytes();
    memchr_iter(b'"', &bytes[from..]).find_map(|quote| {
        let begin = from + quote + 1;
        let end = begin + name.len();
        if bytes.get(begin..end)?.eq_ignore_ascii_case(name.as_bytes()) {
            return (bytes.get(end) == Some(&b'"')).then_some(end + 1);
        }
        let most = bytes.len().min(begin + name.len() * ESCAPE_BYTES + 1);
        let end = begin + memchr(b'"', &bytes[begin..most])?;
        is_named(&bytes[begin..end], name).then_some(end + 1)
    })
}

/// Bytes of the longest escape in a name.
const ESCAPE_BYTES: usize = 6;

/// Returns whether this is the name, with escapes.
fn is_named(written: &[u8], name: &str) -> bool {
    written.len() <= name.len() * ESCAPE_BYTES
        && escapes::may_be_in(written)
        && (Decoded::new(written).text).eq_ignore_ascii_case(name.as_bytes())
}

fn form_field(content: &str, name: &str) -> Option<String> {
    if content.trim_start().starts_with(['{', '[', '<']) {
        return None;
    }
    let is_it = |field: &str| {
        let key = field.split_once('=').map(|(key, _)| key);
        key.is_some_and(|key| key.eq_ignore_ascii_case(name) || is_named(key.as_bytes(), name))
    };
    if !content.split('&').any(is_it) {
        return None;
    }
    let masked: Vec<_> = content
        .split('&')
        .map(|field| match field.split_once('=') {
            Some((key, _)) if is_it(field) => Cow::Owned(format!("{key}={MASK}")),
            _ => Cow::Borrowed(field),
        })
        .collect();
    Some(masked.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(place: Place, name: &str) -> ValueLocation {
        ValueLocation {
            place,
            name: name.into(),
        }
    }

    fn none() -> Secrets {
        Secrets::from_iter(Vec::<(String, String)>::new())
    }

    fn body(body: &[u8], carried: &[ValueLocation], secrets: &Secrets) -> Option<Vec<u8>> {
        Mask::new(secrets).body(&body.to_vec().into(), carried)
    }

    fn value(place: Place, name: &str, value: &str, secrets: &Secrets) -> String {
        let mut pairs = vec![(name.to_owned(), value.to_owned())];
        Mask::new(secrets).pairs(Some(place), &mut pairs, &[]);
        pairs.remove(0).1
    }

    #[test]
    fn a_body_without_a_secret_is_left_as_it_is() {
        let secrets = Secrets::from_iter([
            ("a".to_owned(), "hunter2hunter2".to_owned()),
            ("b".to_owned(), "short".to_owned()),
        ]);
        let carried = [
            at(Place::Json, "key"),
            at(Place::Json, "auth.id"),
            at(Place::Form, "key"),
        ];
        for plain in [
            &b""[..],
            b"{\"lead\":{\"id\":\"1\"},\"keys\":\"hunter2\"}",
            b"{\"auth\":{\"id\":7},\"id\":\"7\"}",
            b"name=Ana&short=keys",
            b"\xff{\"id\":\"\xe9\"}",
        ] {
            assert_eq!(body(plain, &carried, &secrets), None, "{plain:?}");
        }
        // Without a declaration no member is searched for.
        let named = br#"{"key":"abc"}"#;
        assert_eq!(body(named, &[], &secrets), None);
        let held = br#"{"key":"hunter2hunter2"}"#;
        let masked = body(held, &[], &secrets).expect("a mask");
        assert_eq!(masked, br#"{"key":"***"}"#);
    }

    #[test]
    fn credentials_that_nothing_declares_are_not_shown() {
        let shown = |text: &str| {
            let mut body = text.as_bytes().to_vec().into();
            hide_credentials(&mut Pairs::new(), &mut Pairs::new(), &mut body);
            String::from_utf8(body.to_vec()).expect("text")
        };
        for (text, expect) in [
            (
                r#"{"a": {"Token": "made-up"}, "tokens": "7"}"#,
                r#"{"a": {"Token": "***"}, "tokens": "7"}"#,
            ),
            (
                r#"{"page": "https://a.example/?x=1&access_token=made-up&y=2#token=made-up"}"#,
                r#"{"page": "https://a.example/?x=1&access_token=***&y=2#token=***"}"#,
            ),
            (
                r#"{"page": "https:\/\/a.example\/?access_token\u003dmade-up\u0026y=2"}"#,
                r#"{"page": "https:\/\/a.example\/?access_token\u003d***\u0026y=2"}"#,
            ),
            (
                "page=https%3A%2F%2Fa.example%3Faccess_token%3Dmade-up&token=made-up&nome=Ana",
                "page=https%3A%2F%2Fa.example%3Faccess_token%3D***&token=***&nome=Ana",
            ),
            (
                "<lead><token>made-up?token=x</token><nome>Ana</nome></lead>",
                "<lead><token>***</token><nome>Ana</nome></lead>",
            ),
        ] {
            assert_eq!(shown(text), expect);
        }
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut query = vec![
            pair("form_token", "made-up"),
            pair("page", "https://a.example/?token=made-up"),
        ];
        let mut headers = vec![
            pair("X-Portal-Secret", "made-up"),
            pair("X-Portal-Api-Key", "made-up"),
            pair("x-signature", "0f"),
        ];
        hide_credentials(
            &mut query,
            &mut headers,
            &mut DeliveryBody::from(Vec::new()),
        );
        let values: Vec<_> = query
            .iter()
            .chain(&headers)
            .map(|(_, value)| value.as_str())
            .collect();
        assert_eq!(
            values,
            [MASK, "https://a.example/?token=***", MASK, MASK, "0f"]
        );
    }

    #[test]
    fn credentials_are_looked_for_in_time_that_grows_with_the_text() {
        for piece in [":token>", "<token>", "?token=", "&token=x", "%3Ctoken%3E"] {
            let text = |bytes: usize| piece.repeat(bytes / piece.len());
            leadhost_fuzz::grows_linearly(text, |text| {
                let mut body = text.as_bytes().to_vec().into();
                hide_credentials(&mut Pairs::new(), &mut Pairs::new(), &mut body);
            });
        }
    }

    #[test]
    fn no_path_is_read_in_a_body_that_is_nested_too_deep() {
        let deep = |depth: usize| {
            let nested = [vec![b'['; depth], vec![b']'; depth]].concat();
            let nested = String::from_utf8(nested).expect("text");
            format!(r#"{{"auth":{{"id":"abc"}},"x":{nested}}}"#).into_bytes()
        };
        let carried = [at(Place::Json, "auth.id")];
        assert!(body(&deep(limits::JSON_DEPTH - 1), &carried, &none()).is_some());
        assert!(body(&deep(limits::JSON_DEPTH), &carried, &none()).is_none());
    }

    #[test]
    fn a_pair_is_masked_for_its_place_its_name_or_its_whole_value() {
        let secrets = [("short", "abc"), ("long", "s3cr3t")];
        let secrets = secrets.map(|(name, secret)| (name.to_owned(), secret.to_owned()));
        let secrets = Secrets::from_iter(secrets);
        let carried = [at(Place::Query, "Proof")];
        let masked = |place, name: &str, value: &str| {
            let mut pairs: Pairs = vec![(name.to_owned(), value.to_owned())];
            Mask::new(&secrets).pairs(Some(place), &mut pairs, &carried);
            pairs.remove(0).1
        };
        for (place, name, value, expect) in [
            (Place::Query, "proof", "x", MASK),
            (Place::Header, "proof", "x", "x"),
            (Place::Header, "Authorization", "x", MASK),
            (Place::Query, "authorization", "x", "x"),
            (Place::Query, "TOKEN", "x", MASK),
            (Place::Header, "token", "x", "x"),
            (Place::Header, "other", "abc", MASK),
            (Place::Header, "other", "abcd", "abcd"),
            (Place::Header, "other", "by s3cr3t", "by ***"),
        ] {
            assert_eq!(masked(place, name, value), expect, "{place} {name} {value}");
        }
    }

    #[test]
    fn a_secret_is_found_by_its_value_from_six_bytes_on() {
        for (secret, expect) in [("k+2345", "say ***!"), ("k+234", "say k%2B234!")] {
            let secrets = Secrets::from_iter([("s".to_owned(), secret.to_owned())]);
            let mask = Mask::new(&secrets);
            assert_eq!(
                mask.text(&format!("say {secret}!")),
                expect.replace("%2B", "+")
            );
            let escaped = format!("say {}!", secret.replace('+', "%2B"));
            assert_eq!(mask.text(&escaped), expect);
        }
    }

    #[test]
    fn a_declared_member_is_masked_whatever_its_case() {
        let check = |body: &str, expect: &str| {
            let masked = self::body(body.as_bytes(), &[at(Place::Json, "google_key")], &none());
            let masked = masked.unwrap_or_else(|| body.into());
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
            let masked = self::body(body.as_bytes(), &[at(Place::Json, "auth.id")], &none());
            let masked = masked.unwrap_or_else(|| body.into());
            assert_eq!(String::from_utf8(masked).expect("text"), expect);
        };
        check(
            r#"{"id":"lead-1","Auth":{"id":"a\u0062c"},"x":{"id":"abc"}}"#,
            r#"{"id":"lead-1","Auth":{"id":"***"},"x":{"id":"***"}}"#,
        );
        check(
            r#"{"name":"Ana \ud83d","id":"lead-1","auth":{"id":"abc\ude00"}}"#,
            r#"{"name":"Ana \ud83d","id":"lead-1","auth":{"id":"***"}}"#,
        );
        check(r#"{"id":"lead-1"}"#, r#"{"id":"lead-1"}"#);
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_unchanged_around_the_mask() {
        let secrets = Secrets::from_iter([("a".to_owned(), "hunter2é".to_owned())]);
        let raw = [b"\xff{\"key\":\"abc\"} hunter2\xc3\xa9 \xe9".as_slice()].concat();
        let masked = body(&raw, &[at(Place::Json, "key")], &secrets).expect("a mask");
        assert_eq!(masked, b"\xff{\"key\":\"***\"} *** \xe9");
    }

    #[test]
    fn a_secret_that_is_the_beginning_of_another_does_not_expose_it() {
        let secrets = Secrets::from_iter([
            ("a".to_owned(), "hunter2".to_owned()),
            ("b".to_owned(), "hunter2-and-more".to_owned()),
            ("c".to_owned(), "abc".to_owned()),
        ]);
        assert_eq!(text("x hunter2-and-more y", &secrets), "x *** y");
        assert_eq!(value(Place::Query, "word", "abc", &secrets), MASK);
    }

    #[test]
    fn a_secret_is_masked_however_its_sender_escapes_it() {
        let secrets = Secrets::from_iter([
            ("a".to_owned(), "Sé cret/2+2".to_owned()),
            ("b".to_owned(), "hunter2%41\\".to_owned()),
        ]);
        let check = |written: &str, expect: &str| {
            let masked = body(written.as_bytes(), &[], &secrets);
            let masked = String::from_utf8(masked.unwrap_or_else(|| written.into()));
            assert_eq!(masked.expect("text"), expect, "{written}");
            assert_eq!(text(written, &secrets), expect, "{written}");
        };
        for escaped in [
            r"\u0053\u00e9 cret\/2+2",
            r"\x53\xc3\xa9 cret/2\u002B2",
            r"\123\303\251 cret/2+2",
            "S%C3%A9+cret%2F2%2B2",
            "S%25C3%25A9%2520cret/2%2b2",
            "%u0053%u00e9 cret/2+2",
            "&#83;&eacute;&#x20;cret&sol;2&plus;2",
            "S&amp;eacute; cret/2+2",
            r"\\u0053\\u00e9 cret\\\/2+2",
            "%5Cu0053%5Cu00e9%20cret%5C%2F2%2B2",
        ] {
            check(&format!("{{\"x\": \"{escaped}\"}}"), "{\"x\": \"***\"}");
            check(&format!("a=1&x={escaped}&b=%41"), "a=1&x=***&b=%41");
            check(&format!("<x>{escaped}</x>&lt;"), "<x>***</x>&lt;");
        }
        // What follows a backslash at its end would belong to it.
        check(r#"{"x": "hunter2%41\\"}"#, r#"{"x": "***\\"}"#);
        check(r"x=hunter2%2541%5C&y", "x=***%5C&y");
        check(r"hunter2%41\ x", r"***\ x");
        for plain in [r#"{"x": "S\u00e9 cre"}"#, "100% hunter2 & more", r"C:\new"] {
            check(plain, plain);
        }
    }

    #[test]
    fn a_name_of_a_declared_field_is_found_in_escapes() {
        let carried = [at(Place::Json, "api_key"), at(Place::Form, "api_key")];
        let check = |written: &[u8], expect: &[u8]| {
            let masked = body(written, &carried, &none());
            assert_eq!(masked.unwrap_or_else(|| written.into()), expect);
        };
        check(
            br#"{"\u0061pi\u005FKey": "x", "y": "x"}"#,
            br#"{"\u0061pi\u005FKey": "***", "y": "x"}"#,
        );
        check(b"api%5Fkey=x&y=x", b"api%5Fkey=***&y=x");
        check(
            b"{\"\xff\": 1, \"api\\u005fkey\": \"x\"}",
            b"{\"\xff\": 1, \"api\\u005fkey\": \"***\"}",
        );
    }

    #[test]
    fn the_work_grows_with_the_body_and_not_faster() {
        let secrets = Secrets::from_iter([
            ("a".to_owned(), "aaaaaaaaaab".to_owned()),
            ("b".to_owned(), "hunter2hunter2".to_owned()),
        ]);
        let carried = [
            at(Place::Json, "auth.key"),
            at(Place::Json, "key"),
            at(Place::Form, "key"),
        ];
        for piece in [
            "a",
            "%61",
            r"\u0061",
            "%25",
            "\"",
            "\"key\"",
            "\"key\": ",
            "\"key\":\"x\",",
            "\"\\u006bey\":",
            "key=a&",
            "hunter2hunter2",
            r"hunter2\u0068unter2 ",
            "&amp;",
            " ",
        ] {
            for begin in ["", "{\"auth\": {\"key\": \"x\"}, \"key\"   "] {
                let repeated =
                    |bytes: usize| format!("{begin}{}", piece.repeat(bytes / piece.len()));
                leadhost_fuzz::grows_linearly(repeated, |text| {
                    body(text.as_bytes(), &carried, &secrets);
                });
            }
        }
    }

    #[test]
    fn a_form_field_is_masked() {
        let masked = body(b"a=1&Token=abc&b=2", &[at(Place::Form, "token")], &none());
        assert_eq!(masked.expect("a mask"), b"a=1&Token=***&b=2");
    }

    #[test]
    fn a_secret_is_masked_by_value_wherever_it_stands() {
        let secrets =
            Secrets::from_iter([("verify-token".to_owned(), "hunter2hunter2".to_owned())]);
        assert_eq!(text("x hunter2hunter2 y", &secrets), "x *** y");
        let check = |place: Place, name: &str, given: &str, secrets: &Secrets| {
            assert_eq!(value(place, name, given, secrets), MASK, "{name}");
        };
        check(Place::Query, "hub.verify_token", "hunter2hunter2", &secrets);
        check(Place::Query, "q", "hunter2hunter2", &secrets);
        check(Place::Query, "API_KEY", "anything", &none());
        check(Place::Header, "Authorization", "Basic abc", &none());
    }
}
