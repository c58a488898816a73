//! The rules that a plugin's answers must follow, beyond their types: known slot functions,
//! known schemes, allowed statuses. The host checks them before anything is stored, and
//! reports violations in words for the plugin's author.

pub mod channel;
pub mod size;

use std::collections::HashSet;

use self::size::count_at_most;
use crate::prelude::*;
use leadhost_domain::exchange::{Slot, SlotArgument, SlotFunction, TextSegment, ValueLocation};
use leadhost_domain::word::UnknownWord;

/// Content types of a reply that a browser never executes, beside the other JSON types.
pub const REPLY_TYPES: [&str; 2] = ["text/plain", "application/json"];
pub const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

pub fn name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err(format!(
            "the name {:?}; a name has 1 to 64 lower-case letters, digits and hyphens",
            cut(name)
        ));
    }
    Ok(())
}

pub fn description(description: &Description) -> Result<(), String> {
    name(&description.name)?;
    if description.version.len() > 64 {
        return Err(format!(
            "a version of {} bytes; it may have at most 64",
            description.version.len()
        ));
    }
    short(
        "the summary",
        &description.summary,
        limits::DESCRIPTION_BYTES,
    )?;
    count_at_most(
        "secrets",
        description.secrets.len(),
        limits::DESCRIBED_SECRETS,
    )?;
    count_at_most("hosts", description.hosts.len(), limits::DESCRIBED_HOSTS)?;
    if let Err(error) = semver::Version::parse(&description.version) {
        return Err(format!(
            "the version {:?}, which is not a semantic version: {error}",
            description.version
        ));
    }
    let mut names = HashSet::new();
    for secret in &description.secrets {
        let base = secret.name.strip_suffix("/*").unwrap_or(&secret.name);
        if base.is_empty() || base.len() > 64 || base.contains(['*', ' ']) {
            return Err(format!(
                "the secret name {:?}, which is not valid",
                cut(&secret.name)
            ));
        }
        if !names.insert(&secret.name) {
            return Err(format!(
                "the secret `{}`, which it declares twice",
                secret.name
            ));
        }
        secret.kind().map_err(|unknown| unknown.to_string())?;
        short(
            "a secret's summary",
            &secret.summary,
            limits::DESCRIPTION_BYTES,
        )?;
    }
    for host in &description.hosts {
        short("a host", host, HOST_BYTES)?;
        if host.is_empty() || host.contains(['/', ' ', '@']) {
            return Err(format!(
                "the host {host:?}; expected a name, or a name and a port"
            ));
        }
    }
    Ok(())
}

pub fn sender_checks(checks: &SenderChecks) -> Result<(), String> {
    count_at_most("checks", checks.checks.len(), limits::SENDER_CHECKS)?;
    count_at_most(
        "carried secrets",
        checks.carried_secrets.len(),
        limits::SENDER_CHECKS,
    )?;
    for check in &checks.checks {
        count_at_most("signed parts", check.signed.len(), limits::SENDER_CHECKS)?;
        let words = [
            &check.secret,
            &check.proof.name,
            &check.prefix,
            &check.timestamp_header,
        ];
        let signed = check.signed.iter().map(|part| &part.value);
        for word in words.into_iter().chain(signed) {
            short("a word of a check", word, limits::SENDER_CHECK_BYTES)?;
        }
        location(&check.proof)?;
        if check.secret.is_empty() {
            return Err("a check without the name of a secret".to_owned());
        }
    }
    checks.carried_secrets.iter().try_for_each(location)
}

pub fn handshake(answer: &HandshakeAnswer) -> Result<(), String> {
    size::handshake(answer)?;
    reply(&answer.reply)
}

/// Checks a reply to a sender, except its content type.
pub fn reply(reply: &PluginReply) -> Result<(), String> {
    size::reply(reply)?;
    if !matches!(reply.status, 200..=299 | 400..=499) {
        return Err(format!(
            "a reply with status {}; only 200 to 299 and 400 to 499 are allowed",
            reply.status
        ));
    }
    if !reply
        .content_type
        .bytes()
        .all(|byte| (b' '..=b'~').contains(&byte))
    {
        return Err("a reply whose content type is not printable ASCII".to_owned());
    }
    segments(&reply.body)
}

/// Checks the content type of a reply: text or JSON. Anything else could be a page that
/// acts in the name of this host.
pub fn reply_type(content_type: &str) -> Result<(), String> {
    let kind = content_type.split(';').next().unwrap_or_default();
    let kind = kind.trim().to_ascii_lowercase();
    let is_json = kind
        .strip_prefix("application/")
        .is_some_and(|kind| kind.ends_with("+json"));
    if is_json || REPLY_TYPES.contains(&kind.as_str()) {
        return Ok(());
    }
    Err(format!(
        "a reply of the type {:?}; the type of a reply must be {}",
        cut(&kind),
        REPLY_TYPES.join(" or ")
    ))
}

pub fn request(request: &HttpRequest) -> Result<(), String> {
    size::request(request)?;
    method(&request.method)?;
    if request.authority.is_empty() {
        return Err("a request without a host".to_owned());
    }
    segments(&request.path)?;
    segments(&request.body)?;
    for (_, value) in request.query.iter().chain(&request.headers) {
        segments(value)?;
    }
    Ok(())
}

pub fn method(method: &str) -> Result<(), String> {
    known("the method", method, &METHODS)
}

fn segments(segments: &[TextSegment]) -> Result<(), String> {
    segments.iter().try_for_each(|segment| match segment {
        TextSegment::Slot(slot) => check_slot(slot),
        TextSegment::Literal(_) | TextSegment::Bytes(_) => Ok(()),
    })
}

fn check_slot(slot: &Slot) -> Result<(), String> {
    let fits = match slot.function {
        SlotFunction::Secret => matches!(slot.args.as_slice(), [SlotArgument::Secret(_)]),
        SlotFunction::Basic => slot.args.len() == 2,
        SlotFunction::HmacSha256Hex | SlotFunction::HmacSha256Base64 => slot.args.len() >= 2,
    };
    if fits {
        Ok(())
    } else {
        Err(format!(
            "the slot function `{}` with {} arguments of the wrong kind or number",
            slot.function,
            slot.args.len()
        ))
    }
}

/// Reads a slot of a golden case's reply: the function, and the name of the secret.
pub fn reply_slot(function: &str, secret: &str) -> Result<SlotFunction, String> {
    short("a secret's name", secret, limits::SENDER_CHECK_BYTES)?;
    function
        .parse()
        .map_err(|error: UnknownWord| error.to_string())
}

fn location(location: &ValueLocation) -> Result<(), String> {
    short("a name", &location.name, limits::SENDER_CHECK_BYTES)
}

/// Most bytes of a DNS name with a port.
const HOST_BYTES: usize = 260;

fn short(what: &str, text: &str, most: usize) -> Result<(), String> {
    if text.len() > most {
        return Err(format!(
            "{what} of {} bytes; it may have at most {most}",
            text.len()
        ));
    }
    Ok(())
}

/// Returns as much of a word as a refusal shows.
fn cut(word: &str) -> &str {
    &word[..word.floor_char_boundary(100)]
}

fn known(what: &'static str, word: &str, words: &[&str]) -> Result<(), String> {
    if words.contains(&word) {
        return Ok(());
    }
    Err(UnknownWord::new(what, word, words.iter().copied()).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::plugin::SecretDeclaration;

    fn described() -> Description {
        Description {
            name: "site-form".to_owned(),
            version: "1.2.3".to_owned(),
            summary: String::new(),
            config_schema: String::new(),
            secrets: vec![SecretDeclaration {
                name: "page-token/*".to_owned(),
                kind: "static".to_owned(),
                summary: String::new(),
                required: false,
            }],
            hosts: vec!["forms.example.com:8443".to_owned()],
        }
    }

    #[test]
    fn a_valid_description_passes_and_an_invalid_one_is_named() {
        assert_eq!(description(&described()), Ok(()));
        let refused = |change: fn(&mut Description)| {
            let mut described = described();
            change(&mut described);
            description(&described).expect_err("refused")
        };
        assert!(refused(|d| d.name = "Site Form".to_owned()).contains("Site Form"));
        assert!(refused(|d| d.version = "1.2".to_owned()).contains("1.2"));
        assert!(refused(|d| d.secrets[0].kind = "magic".to_owned()).contains("magic"));
        assert!(refused(|d| d.secrets.push(d.secrets[0].clone())).contains("twice"));
        assert!(refused(|d| d.hosts[0] = "https://x".to_owned()).contains("https://x"));
    }

    #[test]
    fn a_reply_is_text_or_json() {
        for good in [
            "text/plain",
            "Text/Plain; charset=utf-8",
            "application/json",
            "application/problem+json",
        ] {
            assert_eq!(reply_type(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "text/html",
            "text/html;text/plain",
            "image/svg+xml",
            "text/xml",
        ] {
            let error = reply_type(bad).expect_err(bad);
            assert!(error.contains("text/plain"), "{error}");
        }
    }

    #[test]
    fn a_request_must_use_a_known_method() {
        assert!(METHODS.iter().all(|known| method(known).is_ok()));
        for bad in ["TRACE", "CONNECT", "HEAD", "get", "PURGE", "G ET", ""] {
            let error = method(bad).expect_err(bad);
            assert!(error.contains("GET, POST, PUT, PATCH, DELETE"), "{error}");
        }
    }

    #[test]
    fn slots_and_statuses_are_checked() {
        let with = |status, function, args| PluginReply {
            status,
            content_type: "text/plain".to_owned(),
            body: vec![TextSegment::Slot(Slot { function, args })],
        };
        let secret = || SlotArgument::Secret("key".to_owned());
        assert_eq!(
            reply(&with(200, SlotFunction::Secret, vec![secret()])),
            Ok(())
        );
        assert!(reply(&with(302, SlotFunction::Secret, vec![secret()])).is_err());
        assert!(reply(&with(200, SlotFunction::Secret, vec![])).is_err());
        assert!(reply(&with(200, SlotFunction::HmacSha256Hex, vec![secret()])).is_err());
    }
}
