//! The replies that a plugin may give to callers of a connection's address. Every caller can read
//! them, so a reply reveals no secret, even if the plugin requests it. It holds text that the
//! plugin composed, and at most a signature over a challenge, which some sources require before
//! they send anything.
//!
//! A signature must not be one that the source could have made for a delivery, otherwise
//! the host would sign forged deliveries for strangers. So it covers only a text in the
//! form of a challenge, which is not a meaningful body, and uses the key of a check that
//! covers the body or the address. Only an operator can allow more, by naming the secret
//! for the connection.

use crate::prelude::*;
use leadhost_domain::exchange::{
    PluginReply, SenderCheck, SenderChecks, SignedKind, Slot, SlotArgument, TextSegment,
};
use leadhost_domain::plugin::ReplySlot;
use leadhost_egress::slots::{self, SlotError};
use leadhost_plugin::rules;

/// Why a reply is withheld. The text is for the operator and the author, and contains no
/// secret.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum AnswerError {
    #[error("the plugin gave {0}")]
    Kind(String),
    #[error(
        "the reply would reveal {0} to every caller; to allow that, name the secret in `reply_secrets` of the connection"
    )]
    Tells(ReplySlot),
    #[error(
        "the reply would contain {slot}, which {why}; to allow that, name the secret in `reply_secrets` of the connection"
    )]
    Signs { slot: ReplySlot, why: &'static str },
    #[error(transparent)]
    Slot(#[from] SlotError),
}

#[derive(Debug)]
pub struct FilledReply {
    pub status: u16,
    pub content_type: String,
    pub body: Vec<u8>,
}

pub struct ReplyContext<'a> {
    pub live: &'a Live,
    pub checks: &'a SenderChecks,
    /// The slots that the version's golden cases show and an operator accepted.
    pub shown: &'a [ReplySlot],
    /// For a handshake, the fields of its query, with the challenge.
    pub query: Option<&'a Pairs>,
}

pub fn has_slots(reply: &PluginReply) -> bool {
    let is_slot = |segment: &TextSegment| matches!(segment, TextSegment::Slot(_));
    reply.body.iter().any(is_slot)
}

pub fn compose(reply: &PluginReply, asked: &ReplyContext<'_>) -> Result<FilledReply, AnswerError> {
    rules::reply_type(&reply.content_type).map_err(AnswerError::Kind)?;
    for segment in &reply.body {
        if let TextSegment::Slot(slot) = segment {
            may_fill(slot, asked)?;
        }
    }
    Ok(FilledReply {
        status: reply.status,
        content_type: reply.content_type.clone(),
        body: slots::compose(&reply.body, &asked.live.secrets, slots::verbatim)?,
    })
}

fn may_fill(slot: &Slot, asked: &ReplyContext<'_>) -> Result<(), AnswerError> {
    let mut named = slot.args.iter().filter_map(|argument| match argument {
        SlotArgument::Secret(name) => Some(name.as_str()),
        SlotArgument::Literal(_) => None,
    });
    let agreed = &asked.live.connection.settings.reply_secrets;
    let secrets = &asked.live.secrets;
    // Compared by the secret's name in this connection: a qualified name may stand for a
    // secret of its family.
    let refused = named.find(|name| {
        let held = slots::held_as(secrets, name).unwrap_or(name);
        !agreed.iter().any(|agreed| agreed == held)
    });
    let Some(secret) = refused else {
        return Ok(());
    };
    let shown = ReplySlot {
        function: slot.function,
        secret: secret.to_owned(),
    };
    if shown.reveals() {
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
    asked: &ReplyContext<'_>,
) -> Result<(), &'static str> {
    let secrets = &asked.live.secrets;
    let Some((SlotArgument::Secret(key), parts)) = slot.args.split_first() else {
        return Err("signs with no secret");
    };
    let mut message = String::new();
    for part in parts {
        match part {
            SlotArgument::Literal(text) => message.push_str(text),
            SlotArgument::Secret(_) => return Err("uses another secret too"),
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
        .partition(|check| check.scheme.signs());
    if !presenting.is_empty() {
        return Err("senders present in the clear, so that it could be guessed from a signature");
    }
    if signing.is_empty() && !asked.shown.contains(shown) {
        return Err("no sender check uses for signatures and no golden case of the plugin shows");
    }
    if !signing.into_iter().all(covers_more_than_a_challenge) {
        return Err("could also be a delivery's valid signature under the sender check");
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

/// Returns whether the text has the form of a challenge, which a source makes up to see it
/// signed. Such a text is not a JSON object or list, a form with a value, or XML.
fn is_challenge(text: &str) -> bool {
    (1..=limits::CHALLENGE_BYTES).contains(&text.len()) && text.bytes().all(in_challenge)
}

fn in_challenge(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Returns whether the texts that the check signs for meaningful deliveries cannot be
/// challenges: they include the body, the address, or a literal that no challenge contains.
/// The fields of a form without their separators could be a challenge.
fn covers_more_than_a_challenge(check: &SenderCheck) -> bool {
    check.signed.is_empty()
        || check.signed.iter().any(|part| match part.kind {
            SignedKind::Body | SignedKind::PublicUrl => true,
            SignedKind::Literal => !part.value.bytes().all(in_challenge),
            SignedKind::Method
            | SignedKind::Header
            | SignedKind::Timestamp
            | SignedKind::SortedForm => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::exchange::{Encoding, Place, Scheme, SignedPart, ValueLocation};

    fn check(scheme: Scheme, signed: &[SignedKind]) -> SenderCheck {
        let part = |kind: &SignedKind| SignedPart {
            kind: *kind,
            value: String::new(),
        };
        SenderCheck {
            secret: "key".into(),
            scheme,
            proof: ValueLocation {
                place: Place::Header,
                name: "x".into(),
            },
            encoding: Encoding::Hex,
            prefix: String::new(),
            timestamp_header: String::new(),
            tolerance_seconds: 0,
            signed: signed.iter().map(part).collect(),
        }
    }

    #[test]
    fn a_text_that_could_be_a_delivery_is_no_challenge() {
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
    fn a_challenge_could_satisfy_a_check_of_form_fields_alone() {
        for covered in [
            &[][..],
            &[SignedKind::Body],
            &[SignedKind::Timestamp, SignedKind::Body],
            &[SignedKind::PublicUrl, SignedKind::SortedForm],
        ] {
            assert!(covers_more_than_a_challenge(&check(
                Scheme::HmacSha256,
                covered
            )));
        }
        for open in [
            &[SignedKind::SortedForm][..],
            &[SignedKind::Timestamp],
            &[SignedKind::Header, SignedKind::Method],
        ] {
            assert!(!covers_more_than_a_challenge(&check(
                Scheme::HmacSha256,
                open
            )));
        }
    }
}
