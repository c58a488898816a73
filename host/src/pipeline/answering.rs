//! What a plugin may answer to whoever calls a connection's address. Anybody can
//! call it, so a reply tells no secret, whatever the plugin asks for: it holds
//! text that the plugin composed, and at most a signature over a challenge, which
//! is what some sources want to see before they send anything.
//!
//! A signature must not be one that the source itself could have made of a
//! delivery, else the host would sign forged deliveries for strangers. So it is
//! over a text of a challenge's form, which is no body that means anything, with
//! the key of a check that covers the body or the address. Only an operator can
//! allow more, by naming the secret for the connection.

use super::connections::Live;
use crate::domain::exchange::{
    Pairs, Reply, Segment, SenderCheck, SenderChecks, Slot, SlotArgument,
};
use crate::domain::plugin::ReplySlot;
use crate::egress::slots::{self, SlotError};
use crate::limits;
use crate::plugin::rules;

/// Why a reply is not given. The text is for the operator and the author: it
/// holds no secret.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum AnswerError {
    #[error("the plugin gave {0}")]
    Kind(String),
    #[error(
        "the reply would tell {0} to whoever asks; if that is meant, name the secret in `reply_secrets` of the connection"
    )]
    Tells(ReplySlot),
    #[error(
        "the reply would hold {slot}, which {why}; if that is meant, name the secret in `reply_secrets` of the connection"
    )]
    Signs { slot: ReplySlot, why: &'static str },
    #[error(transparent)]
    Slot(#[from] SlotError),
}

/// A reply of the plugin with its slots filled.
#[derive(Debug)]
pub struct FilledReply {
    pub status: u16,
    pub content_type: String,
    pub body: Vec<u8>,
}

/// What is known beside the reply.
pub struct Asked<'a> {
    pub live: &'a Live,
    /// How this connection's senders prove themselves.
    pub checks: &'a SenderChecks,
    /// Slots that the version's golden cases show, and an operator agreed to.
    pub shown: &'a [ReplySlot],
    /// Of a handshake: the fields of its query, one of which is the challenge.
    pub query: Option<&'a Pairs>,
}

/// Whether the reply has anything to fill.
pub fn has_slots(reply: &Reply) -> bool {
    let is_slot = |segment: &Segment| matches!(segment, Segment::Slot(_));
    reply.body.iter().any(is_slot)
}

/// The reply with its slots filled, if it may be given.
pub fn compose(reply: &Reply, asked: &Asked<'_>) -> Result<FilledReply, AnswerError> {
    rules::reply_type(&reply.content_type).map_err(AnswerError::Kind)?;
    for segment in &reply.body {
        if let Segment::Slot(slot) = segment {
            may_fill(slot, asked)?;
        }
    }
    Ok(FilledReply {
        status: reply.status,
        content_type: reply.content_type.clone(),
        body: slots::compose(&reply.body, &asked.live.secrets, slots::verbatim)?,
    })
}

fn may_fill(slot: &Slot, asked: &Asked<'_>) -> Result<(), AnswerError> {
    let mut named = slot.args.iter().filter_map(|argument| match argument {
        SlotArgument::Secret(name) => Some(name.as_str()),
        SlotArgument::Literal(_) => None,
    });
    let agreed = &asked.live.connection.settings.reply_secrets;
    let secrets = &asked.live.secrets;
    // By the name that the secret has here: a qualified one may be its family's.
    let refused = named.find(|name| {
        let held = slots::held_as(secrets, name).unwrap_or(name);
        !agreed.iter().any(|agreed| agreed == held)
    });
    let Some(secret) = refused else {
        return Ok(());
    };
    let shown = ReplySlot {
        function: slot.function.clone(),
        secret: secret.to_owned(),
    };
    if shown.tells() {
        return Err(AnswerError::Tells(shown));
    }
    match signs_no_more_than_a_challenge(slot, &shown, asked) {
        Ok(()) => Ok(()),
        Err(why) => Err(AnswerError::Signs { slot: shown, why }),
    }
}

fn signs_no_more_than_a_challenge(
    slot: &Slot,
    shown: &ReplySlot,
    asked: &Asked<'_>,
) -> Result<(), &'static str> {
    let secrets = &asked.live.secrets;
    let Some((SlotArgument::Secret(key), parts)) = slot.args.split_first() else {
        return Err("signs with no secret");
    };
    let mut message = String::new();
    for part in parts {
        match part {
            SlotArgument::Literal(text) => message.push_str(text),
            SlotArgument::Secret(_) => return Err("would be made of another secret"),
        }
    }
    // Compared by value: the same secret under another name is the same secret.
    let key = slots::secret(secrets, key).map_err(|_| "the connection does not have")?;
    let with_key = |check: &&SenderCheck| secrets.get(&check.secret) == Some(key);
    let (signing, presenting): (Vec<_>, Vec<_>) = asked
        .checks
        .checks
        .iter()
        .filter(with_key)
        .partition(|check| check.scheme.starts_with("hmac-"));
    if !presenting.is_empty() {
        return Err("senders present as it is, so that it could be guessed from a signature");
    }
    if signing.is_empty() && !asked.shown.contains(shown) {
        return Err("no sender check signs with and no golden case of the plugin shows");
    }
    if !signing.into_iter().all(covers_more_than_a_challenge) {
        return Err("could sign a delivery too, as the sender check has it");
    }
    if !is_challenge(&message) {
        return Err(
            "is not over a challenge (up to 128 letters, digits, hyphens, dots, underscores and tildes)",
        );
    }
    match asked.query {
        Some(query) if !query.iter().any(|(_, value)| *value == message) => {
            Err("is not over a field of the handshake's query")
        }
        _ => Ok(()),
    }
}

/// A text that a source makes up to see it signed. As a body it is no JSON object
/// or list, no form with a value and no XML.
fn is_challenge(text: &str) -> bool {
    (1..=limits::CHALLENGE_BYTES).contains(&text.len()) && text.bytes().all(in_challenge)
}

fn in_challenge(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Whether what the check signs of a delivery that means anything is no challenge:
/// it has the body, the address, or a literal that no challenge holds. Fields of a
/// form without the signs between them could be one.
fn covers_more_than_a_challenge(check: &SenderCheck) -> bool {
    check.signed.is_empty()
        || check.signed.iter().any(|part| match part.kind.as_str() {
            "body" | "public-url" => true,
            "literal" => !part.value.bytes().all(in_challenge),
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::exchange::{Location, SignedPart};

    fn check(scheme: &str, signed: &[&str]) -> SenderCheck {
        let part = |kind: &&str| SignedPart {
            kind: (*kind).to_owned(),
            value: String::new(),
        };
        SenderCheck {
            secret: "key".into(),
            scheme: scheme.into(),
            proof: Location {
                place: "header".into(),
                name: "x".into(),
            },
            encoding: "hex".into(),
            prefix: String::new(),
            timestamp_header: String::new(),
            tolerance_seconds: 0,
            signed: signed.iter().map(part).collect(),
        }
    }

    #[test]
    fn a_challenge_is_no_body_that_means_anything() {
        for good in [
            "890e4665-4dfe-4ab1-b689-ed553bceeed0",
            "qgg8vlvZRS6UYooatFL8Aw",
        ] {
            assert!(is_challenge(good), "{good}");
        }
        let long = "x".repeat(limits::CHALLENGE_BYTES + 1);
        for bad in [
            "",
            r#"{"a":1}"#,
            "[1]",
            "name=Maria",
            "a&b",
            "<a/>",
            "https://x/",
            "a b",
            &long,
        ] {
            assert!(!is_challenge(bad), "{bad}");
        }
    }

    #[test]
    fn a_check_of_form_fields_alone_could_be_met_by_a_challenge() {
        for covered in [
            &[][..],
            &["body"],
            &["timestamp", "body"],
            &["public-url", "sorted-form"],
        ] {
            assert!(covers_more_than_a_challenge(&check("hmac-sha256", covered)));
        }
        for open in [&["sorted-form"][..], &["timestamp"], &["header", "method"]] {
            assert!(!covers_more_than_a_challenge(&check("hmac-sha256", open)));
        }
    }
}
