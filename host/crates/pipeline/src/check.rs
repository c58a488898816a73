//! Sender checks: the rules that a plugin declares and a connection adds, run over the raw
//! bytes. Secrets are compared in constant time. A check whose secret the connection lacks is
//! skipped; all others must pass.

use std::borrow::Cow;
use std::cell::OnceCell;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use subtle::ConstantTimeEq as _;

use crate::prelude::*;
use leadhost_domain::delivery::DeliveryBody;
use leadhost_domain::exchange::{
    Encoding, Place, Scheme, SenderCheck, SignedKind, ValueLocation, first,
};
use leadhost_domain::hex;
use leadhost_domain::json;
use leadhost_egress::seal::Secrets;

/// The request of a sender, before anything in it is masked.
#[derive(Clone, Copy)]
pub struct Presented<'a> {
    pub method: &'a str,
    /// The address as the sender sees it, including the query.
    pub public_url: &'a str,
    pub query: &'a [(String, String)],
    pub headers: &'a [(String, String)],
    pub body: &'a DeliveryBody,
    /// The bytes as received, over which a signature is computed.
    pub sent: &'a [u8],
}

/// Why a sender check failed. The text is for the operator; it reveals neither the secret
/// nor how much of the proof was right.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum CheckError {
    #[error("no proof in {place} `{name}`")]
    Missing { place: Place, name: String },
    #[error("the proof in {place} `{name}` does not match the secret `{secret}`")]
    Wrong {
        place: Place,
        name: String,
        secret: String,
    },
    #[error(
        "the time of signing in header `{header}` is missing, unreadable or more than {tolerance_seconds} s away"
    )]
    Stale {
        header: String,
        tolerance_seconds: u32,
    },
}

pub fn verify(
    checks: &[SenderCheck],
    secrets: &Secrets,
    sent: Presented<'_>,
    now: Micros,
) -> Result<(), CheckError> {
    for check in checks {
        if let Some(secret) = secrets.get(&check.secret) {
            verify_one(check, secret, sent, now)?;
        }
    }
    Ok(())
}

fn verify_one(
    check: &SenderCheck,
    secret: &str,
    sent: Presented<'_>,
    now: Micros,
) -> Result<(), CheckError> {
    let missing = || CheckError::Missing {
        place: check.proof.place,
        name: check.proof.name.clone(),
    };
    let wrong = || CheckError::Wrong {
        place: check.proof.place,
        name: check.proof.name.clone(),
        secret: check.secret.clone(),
    };
    let proof = find(&check.proof, sent).ok_or_else(missing)?;
    let proof = strip_prefix(&proof, &check.prefix).ok_or_else(wrong)?;
    let timestamp = fresh_timestamp(check, sent, now)?;

    let signature: fn(&str, &SignedMessage<'_>) -> Vec<u8> = match check.scheme {
        Scheme::HmacSha256 => hmac_of::<hmac::Hmac<sha2::Sha256>>,
        Scheme::HmacSha1 => hmac_of::<hmac::Hmac<sha1::Sha1>>,
        Scheme::Basic => {
            let credential = strip_scheme(proof, "Basic").ok_or_else(wrong)?;
            let came = STANDARD.decode(credential.trim()).map_err(|_| wrong())?;
            return same(&came, secret.as_bytes())
                .then_some(())
                .ok_or_else(wrong);
        }
        Scheme::Bearer => {
            let token = strip_scheme(proof, "Bearer").ok_or_else(wrong)?;
            return same(token.trim().as_bytes(), secret.as_bytes())
                .then_some(())
                .ok_or_else(wrong);
        }
        Scheme::Equals => {
            return same(proof.as_bytes(), secret.as_bytes())
                .then_some(())
                .ok_or_else(wrong);
        }
    };
    let came = decode(check.encoding, proof).ok_or_else(wrong)?;
    let signs_url = check
        .signed
        .iter()
        .any(|part| part.kind == SignedKind::PublicUrl);
    let urls = if signs_url {
        url_forms(sent.public_url, sent.sent.len())
    } else {
        vec![sent.public_url.to_owned()]
    };
    let form = OnceCell::new();
    // All are compared, so that the duration does not tell which one is right.
    let holds = urls.iter().fold(false, |holds, public_url| {
        let sent = Presented { public_url, ..sent };
        let expected = signature(secret, &|take| signed(check, sent, timestamp, &form, take));
        holds | same(&came, &expected)
    });
    holds.then_some(()).ok_or_else(wrong)
}

/// Passes the parts of a signed message on, one after the other.
type SignedMessage<'a> = dyn Fn(&mut dyn FnMut(&[u8])) + 'a;

/// Returns the signature with this secret over what `message` passes on.
fn hmac_of<M: hmac::Mac + hmac::KeyInit>(secret: &str, message: &SignedMessage<'_>) -> Vec<u8> {
    let mut mac = <M as hmac::KeyInit>::new_from_slice(secret.as_bytes())
        .expect("HMAC takes keys of any length");
    message(&mut |bytes| mac.update(bytes));
    mac.finalize().into_bytes().to_vec()
}

/// The longest body and the most fields of a query for which the orders of the fields are tried.
const ORDERED_BYTES: usize = 8 << 10;
const ORDERED_FIELDS: usize = 4;

/// Returns the forms in which senders sign an address: as it is, and with its port left out or the default
/// port added, which programs and proxies do; each with its query in every order, since Twilio signs it in the
/// order in which it was given and then sorts it.
fn url_forms(url: &str, body: usize) -> Vec<String> {
    let (address, query) = match url.split_once('?') {
        Some((address, query)) => (address, Some(query)),
        None => (url, None),
    };
    let mut addresses = vec![address.to_owned()];
    if let Some((scheme, rest)) = address.split_once("://") {
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let is_port =
            |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        addresses.push(match authority.rsplit_once(':') {
            Some((host, port)) if is_port(port) => format!("{scheme}://{host}{path}"),
            _ => {
                let port = if scheme == "https" { 443 } else { 80 };
                format!("{scheme}://{authority}:{port}{path}")
            }
        });
    }
    let Some(query) = query else {
        return addresses;
    };
    let fields: Vec<&str> = query.split('&').collect();
    let orders = if fields.len() <= ORDERED_FIELDS && body <= ORDERED_BYTES {
        orders(&fields)
    } else {
        vec![query.to_owned()]
    };
    let with = |address: &String| {
        let orders = orders.iter();
        orders
            .map(|query| format!("{address}?{query}"))
            .collect::<Vec<_>>()
    };
    addresses.iter().flat_map(with).collect()
}

fn orders(fields: &[&str]) -> Vec<String> {
    if fields.len() < 2 {
        return vec![fields.join("&")];
    }
    let begun = |at: usize| {
        let mut others = fields.to_vec();
        let first = others.remove(at);
        orders(&others)
            .into_iter()
            .map(move |rest| format!("{first}&{rest}"))
    };
    (0..fields.len()).flat_map(begun).collect()
}

/// Returns the proof at its location: a header, a query or form field, or a JSON path.
fn find(location: &ValueLocation, sent: Presented<'_>) -> Option<String> {
    match location.place {
        Place::Header => first(sent.headers, &location.name).map(str::to_owned),
        Place::Query => first(sent.query, &location.name).map(str::to_owned),
        Place::Form => form_urlencoded::parse(sent.body)
            .find(|(name, _)| name.eq_ignore_ascii_case(&location.name))
            .map(|(_, value)| value.into_owned()),
        Place::Json => {
            if sent.body.depth() > leadhost_domain::limits::JSON_DEPTH {
                return None;
            }
            let body: Value = json::parse(&json::decode(sent.body)).ok()?;
            let found = json::at(&body, &location.name)?;
            match found {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            }
        }
    }
}

fn strip_prefix<'a>(proof: &'a str, prefix: &str) -> Option<&'a str> {
    let head = proof.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix)
        .then(|| &proof[prefix.len()..])
}

fn strip_scheme<'a>(proof: &'a str, scheme: &str) -> Option<&'a str> {
    let (word, rest) = proof.trim().split_once(' ')?;
    word.eq_ignore_ascii_case(scheme).then_some(rest)
}

fn fresh_timestamp<'a>(
    check: &SenderCheck,
    sent: Presented<'a>,
    now: Micros,
) -> Result<&'a str, CheckError> {
    if check.timestamp_header.is_empty() {
        return Ok("");
    }
    let stale = || CheckError::Stale {
        header: check.timestamp_header.clone(),
        tolerance_seconds: check.tolerance_seconds,
    };
    let text = first(sent.headers, &check.timestamp_header).ok_or_else(stale)?;
    if check.tolerance_seconds > 0 {
        let number: i64 = text.trim().parse().map_err(|_| stale())?;
        // A value that would be later than the year 5138 in seconds is in milliseconds.
        let seconds = if number > 100_000_000_000 {
            number / 1_000
        } else {
            number
        };
        let signed_at = Micros(0).plus_seconds(seconds);
        // Senders write whole seconds, so the fraction of the present second does not count.
        let now = now.second();
        let away = now.since(signed_at).max(signed_at.since(now));
        if away > Duration::from_secs(check.tolerance_seconds.into()) {
            return Err(stale());
        }
    }
    Ok(text)
}

/// The fields of a form in their order, sorted once for all forms of the address.
type SortedForm<'a> = OnceCell<Vec<(Cow<'a, str>, Cow<'a, str>)>>;

fn signed<'a>(
    check: &SenderCheck,
    sent: Presented<'a>,
    timestamp: &str,
    form: &SortedForm<'a>,
    take: &mut dyn FnMut(&[u8]),
) {
    if check.signed.is_empty() {
        return take(sent.sent);
    }
    for part in &check.signed {
        match part.kind {
            SignedKind::Literal => take(part.value.as_bytes()),
            SignedKind::Method => take(sent.method.as_bytes()),
            SignedKind::PublicUrl => take(sent.public_url.as_bytes()),
            SignedKind::Header => take(
                first(sent.headers, &part.value)
                    .unwrap_or_default()
                    .as_bytes(),
            ),
            SignedKind::Timestamp => take(timestamp.as_bytes()),
            SignedKind::SortedForm => {
                let fields = form.get_or_init(|| {
                    let mut fields: Vec<_> = form_urlencoded::parse(sent.body).collect();
                    fields.sort();
                    fields
                });
                for (name, value) in fields {
                    take(name.as_bytes());
                    take(value.as_bytes());
                }
            }
            SignedKind::Body => take(sent.sent),
        }
    }
}

fn decode(encoding: Encoding, proof: &str) -> Option<Vec<u8>> {
    let proof = proof.trim();
    match encoding {
        Encoding::Base64 => STANDARD.decode(proof).ok(),
        Encoding::Base64Url => URL_SAFE_NO_PAD.decode(proof.trim_end_matches('=')).ok(),
        Encoding::Plain => Some(proof.as_bytes().to_vec()),
        Encoding::Hex => hex::decode(proof),
    }
}

/// Compares in constant time: the duration does not depend on where they differ.
pub fn same(left: &[u8], right: &[u8]) -> bool {
    left.ct_eq(right).into()
}

#[cfg(test)]
mod tests {
    use hmac::{KeyInit as _, Mac as _};

    use super::*;
    use leadhost_domain::exchange::SignedPart;

    const BODY: &[u8] = br#"{"n":"\u00e9"}"#;

    fn secret_in_body(field: &str) -> SenderCheck {
        let mut check = check(Scheme::Equals, "", Encoding::Plain, "");
        check.proof = ValueLocation {
            place: Place::Json,
            name: field.into(),
        };
        check
    }

    fn check(scheme: Scheme, header: &str, encoding: Encoding, prefix: &str) -> SenderCheck {
        SenderCheck {
            secret: "s".into(),
            scheme,
            proof: ValueLocation {
                place: Place::Header,
                name: header.into(),
            },
            encoding,
            prefix: prefix.into(),
            timestamp_header: String::new(),
            tolerance_seconds: 0,
            signed: vec![],
        }
    }

    fn run(
        check: &SenderCheck,
        secret: &str,
        headers: &[(&str, &str)],
        body: &[u8],
        now: Micros,
    ) -> Result<(), CheckError> {
        let secrets = Secrets::from_iter([("s".to_owned(), secret.to_owned())]);
        let headers: Pairs = headers
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        let sent = Presented {
            method: "POST",
            public_url: "https://x.example/h",
            query: &[],
            headers: &headers,
            body: &body.to_vec().into(),
            sent: body,
        };
        verify(std::slice::from_ref(check), &secrets, sent, now)
    }

    fn mac(secret: &str, message: &[u8]) -> Vec<u8> {
        let mut mac =
            hmac::Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).expect("any length");
        mac.update(message);
        mac.finalize().into_bytes().to_vec()
    }

    #[test]
    fn a_signature_over_the_raw_bytes_passes_and_any_other_does_not() {
        let check = check(Scheme::HmacSha256, "X-Signed", Encoding::Hex, "sha256=");
        let good = format!("sha256={}", hex::encode(&mac("key", BODY)));
        for (secret, proof, body, expect) in [
            ("key", good.as_str(), BODY, true),
            ("other", &good, BODY, false),
            ("key", &good, b"{}", false),
            ("key", &good[7..], BODY, false),
            ("key", "sha256=zz", BODY, false),
        ] {
            let found = run(&check, secret, &[("x-signed", proof)], body, Micros(0));
            assert_eq!(found.is_ok(), expect, "{secret} {proof}");
        }
        let none = run(&check, "key", &[], BODY, Micros(0));
        assert!(matches!(none, Err(CheckError::Missing { .. })));
    }

    #[test]
    fn basic_and_bearer_credentials_are_compared_with_the_secret() {
        let good = format!("Basic {}", STANDARD.encode("portal:pw"));
        for (scheme, secret, given, expect) in [
            (Scheme::Basic, "portal:pw", good.as_str(), true),
            (Scheme::Basic, "portal:other", &good, false),
            (Scheme::Basic, "portal:pw", "Basic %%%", false),
            (Scheme::Bearer, "tok", "bearer tok", true),
            (Scheme::Bearer, "tok", "tok", false),
        ] {
            let check = check(scheme, "Authorization", Encoding::Hex, "");
            let found = run(&check, secret, &[("authorization", given)], b"", Micros(0));
            assert_eq!(found.is_ok(), expect, "{given}");
        }
    }

    #[test]
    fn a_signed_time_out_of_tolerance_is_refused() {
        let mut check = check(Scheme::HmacSha256, "X-Signature", Encoding::Base64, "");
        check.timestamp_header = "X-Time".into();
        check.tolerance_seconds = 300;
        let part = |kind: SignedKind| SignedPart {
            kind,
            value: String::new(),
        };
        check.signed = vec![
            part(SignedKind::Method),
            part(SignedKind::PublicUrl),
            part(SignedKind::Body),
            part(SignedKind::Timestamp),
        ];
        let message = [
            b"POSThttps://x.example/h".as_slice(),
            BODY,
            b"1000000000000",
        ]
        .concat();
        let proof = STANDARD.encode(mac("key", &message));
        let headers = [("x-signature", proof.as_str()), ("x-time", "1000000000000")];
        let signed_at = Micros(0).plus_seconds(1_000_000_000);
        let (tolerance, fraction) = (Duration::from_mins(5), Duration::from_micros(1));
        let second = Duration::from_secs(1);
        let run = |now: Micros| run(&check, "key", &headers, BODY, now);
        for now in [
            signed_at,
            signed_at.plus(tolerance),
            signed_at.plus(tolerance + second).minus(fraction),
            signed_at.minus(tolerance),
        ] {
            assert_eq!(run(now), Ok(()), "{now}");
        }
        for now in [
            signed_at.plus(tolerance + second),
            signed_at.minus(tolerance + fraction),
            Micros(i64::MAX),
            Micros(0),
        ] {
            let stale = matches!(run(now), Err(CheckError::Stale { .. }));
            assert!(stale, "{now}");
        }
    }

    #[test]
    fn an_address_is_tried_with_and_without_its_port_and_with_its_query_in_every_order() {
        let check = |url: &str, expect: &[&str]| assert_eq!(url_forms(url, 0), expect, "{url}");
        for [url, other] in [
            ["https://a.example:8443/x", "https://a.example/x"],
            ["https://a.example:443", "https://a.example"],
            ["https://a.example/x", "https://a.example:443/x"],
            ["http://[::1]/", "http://[::1]:80/"],
            ["http://[::1]:8080/", "http://[::1]/"],
        ] {
            check(url, &[url, other]);
        }
        check(
            "https://a.example:1/x?b=%20&a",
            &[
                "https://a.example:1/x?b=%20&a",
                "https://a.example:1/x?a&b=%20",
                "https://a.example/x?b=%20&a",
                "https://a.example/x?a&b=%20",
            ],
        );
        let count =
            |query: &str, body| url_forms(&format!("https://a.example/?{query}"), body).len();
        assert_eq!(count("a&b&c&d", ORDERED_BYTES), 2 * 24);
        assert_eq!(count("a&b&c&d", ORDERED_BYTES + 1), 2);
        assert_eq!(count("a&b&c&d&e", 0), 2);
    }

    #[test]
    fn a_signed_time_that_no_clock_shows_is_refused() {
        let mut check = check(Scheme::HmacSha256, "X-Signature", Encoding::Base64, "");
        check.timestamp_header = "X-Time".into();
        check.tolerance_seconds = u32::MAX;
        let proof = STANDARD.encode(mac("key", BODY));
        for time in [i64::MIN, i64::MAX] {
            let time = time.to_string();
            let headers = [("x-signature", proof.as_str()), ("x-time", time.as_str())];
            let run = run(&check, "key", &headers, BODY, Micros(0));
            assert!(matches!(run, Err(CheckError::Stale { .. })), "{time}");
        }
    }

    #[test]
    fn without_a_tolerance_the_time_is_signed_and_may_be_any() {
        let mut check = check(Scheme::HmacSha256, "X-Signature", Encoding::Base64, "");
        check.timestamp_header = "X-Time".into();
        let part = |kind: SignedKind| SignedPart {
            kind,
            value: String::new(),
        };
        check.signed = vec![part(SignedKind::Timestamp), part(SignedKind::Body)];
        let proof = STANDARD.encode(mac("key", &[b"yesterday", BODY].concat()));
        let run = |time| {
            let headers = [("x-signature", proof.as_str()), ("x-time", time)];
            run(&check, "key", &headers, BODY, Micros(0))
        };
        assert_eq!(run("yesterday"), Ok(()));
        assert!(matches!(run("today"), Err(CheckError::Wrong { .. })));
    }

    #[test]
    fn a_secret_in_a_body_that_is_nested_too_deep_is_not_looked_for() {
        let check = secret_in_body("key");
        for (depth, expect) in [(-1_isize, true), (0, false)] {
            let depth = leadhost_domain::limits::JSON_DEPTH.saturating_add_signed(depth);
            let body = format!(
                r#"{{"key":"k1","x":{}{}}}"#,
                "[".repeat(depth),
                "]".repeat(depth)
            );
            let found = run(&check, "k1", &[], body.as_bytes(), Micros(0));
            assert_eq!(found.is_ok(), expect, "{depth}");
        }
    }

    #[test]
    fn a_secret_in_the_body_is_found_in_any_case_of_its_field() {
        let check = secret_in_body("google_key");
        let passes = |secret, body| run(&check, secret, &[], body, Micros(0)).is_ok();
        assert!(passes("k1", br#"{"Google_key":"k1"}"#));
        for damaged in [
            br#"{"name":"Ana \ud83d","google_key":"k1"}"#.as_slice(),
            b"\xef\xbb\xbf{\"google_key\":\"k1\"}",
            b"{\"name\":\"Jos\xe9\",\"google_key\":\"k1\"}",
            b"{\"name\":\"Jos\xc3\xa9 \xf0\x9f\",\"google_key\":\"k1\"}",
        ] {
            let text = String::from_utf8_lossy(damaged);
            assert!(passes("k1", damaged) && !passes("k2", damaged), "{text}");
        }
        assert!(!passes("k1", br#"{"google_key":"k2"}"#));
        assert!(!passes("k1", b"not json"));
        assert!(passes("71", br#"{"google_key":71}"#));
        assert!(!passes("true", br#"{"google_key":true}"#));
    }

    #[test]
    fn a_secret_in_a_form_is_found_in_any_case_of_its_field() {
        let mut check = check(Scheme::Equals, "", Encoding::Plain, "");
        check.proof = ValueLocation {
            place: Place::Form,
            name: "key".into(),
        };
        let run = |body| run(&check, "k 1", &[], body, Micros(0));
        assert_eq!(run(b"other=x&Key=k+1"), Ok(()));
        assert!(matches!(run(b"key=x"), Err(CheckError::Wrong { .. })));
        assert!(matches!(run(b"other=k+1"), Err(CheckError::Missing { .. })));
    }
}
