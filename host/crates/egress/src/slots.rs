//! Fills slots: the only place where a secret meets a text that a plugin composed. Literals
//! and bytes are copied unread, so nothing in a lead can name a secret.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{KeyInit as _, Mac as _};

use crate::seal::Secrets;
use leadhost_domain::exchange::{Slot, SlotArgument, SlotFunction, TextSegment};
use leadhost_domain::hex;

/// A slot cannot be filled.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SlotError {
    #[error("the secret `{0}` is missing; add it to the workspace file and apply the file")]
    NoSecret(String),
    #[error("the slot function `{function}` takes {takes}")]
    Arguments {
        function: SlotFunction,
        takes: &'static str,
    },
}

/// Returns the value of a secret. A qualified name falls back to its family, so that one
/// `page-token` can serve every page.
pub fn secret<'a>(secrets: &'a Secrets, name: &str) -> Result<&'a str, SlotError> {
    held_as(secrets, name)
        .and_then(|name| secrets.get(name))
        .ok_or_else(|| SlotError::NoSecret(name.to_owned()))
}

/// Returns the name under which the secret is stored: its own or its family's.
pub fn held_as<'a>(secrets: &Secrets, name: &'a str) -> Option<&'a str> {
    let family = || name.split_once('/').map(|(family, _)| family);
    Some(name)
        .filter(|name| secrets.get(name).is_some())
        .or_else(|| family().filter(|family| secrets.get(family).is_some()))
}

fn argument<'a>(secrets: &'a Secrets, argument: &'a SlotArgument) -> Result<&'a str, SlotError> {
    match argument {
        SlotArgument::Secret(name) => secret(secrets, name),
        SlotArgument::Literal(text) => Ok(text),
    }
}

/// Returns the text that replaces a slot.
pub fn fill(slot: &Slot, secrets: &Secrets) -> Result<String, SlotError> {
    let takes = |takes| SlotError::Arguments {
        function: slot.function,
        takes,
    };
    match slot.function {
        SlotFunction::Secret => match slot.args.as_slice() {
            [SlotArgument::Secret(name)] => secret(secrets, name).map(str::to_owned),
            _ => Err(takes("the name of one secret")),
        },
        SlotFunction::Basic => match slot.args.as_slice() {
            [user, password] => {
                let pair = format!(
                    "{}:{}",
                    argument(secrets, user)?,
                    argument(secrets, password)?
                );
                Ok(format!("Basic {}", STANDARD.encode(pair)))
            }
            _ => Err(takes("a user and a password")),
        },
        SlotFunction::HmacSha256Hex => Ok(hex::encode(&hmac_of(slot, secrets)?)),
        SlotFunction::HmacSha256Base64 => Ok(STANDARD.encode(hmac_of(slot, secrets)?)),
    }
}

/// Returns the HMAC-SHA256 of the parts after the first argument, which names the key.
fn hmac_of(slot: &Slot, secrets: &Secrets) -> Result<Vec<u8>, SlotError> {
    let (key, parts) = match slot.args.split_first() {
        Some((key @ SlotArgument::Secret(_), parts)) if !parts.is_empty() => (key, parts),
        _ => {
            return Err(SlotError::Arguments {
                function: slot.function,
                takes: "a secret as key and the parts of the message",
            });
        }
    };
    let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(argument(secrets, key)?.as_bytes())
        .expect("HMAC takes keys of any length");
    for part in parts {
        mac.update(argument(secrets, part)?.as_bytes());
    }
    Ok(mac.finalize().into_bytes().to_vec())
}

/// Returns the bytes of a composed text. `encode` is applied to the text of each slot.
pub fn compose(
    segments: &[TextSegment],
    secrets: &Secrets,
    encode: fn(&str) -> String,
) -> Result<Vec<u8>, SlotError> {
    let mut bytes = Vec::new();
    for segment in segments {
        match segment {
            TextSegment::Literal(text) => bytes.extend_from_slice(text.as_bytes()),
            TextSegment::Bytes(raw) => bytes.extend_from_slice(raw),
            TextSegment::Slot(slot) => {
                bytes.extend_from_slice(encode(&fill(slot, secrets)?).as_bytes())
            }
        }
    }
    Ok(bytes)
}

/// The encoding for places where a slot's text is inserted unchanged.
pub fn verbatim(text: &str) -> String {
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Secrets {
        Secrets::from_iter(
            [
                ("app-secret", "k"),
                ("page-token", "t"),
                ("page-token/7", "t7"),
            ]
            .map(|(k, v)| (k.to_owned(), v.to_owned())),
        )
    }

    fn slot(function: &str, args: &[SlotArgument]) -> TextSegment {
        TextSegment::Slot(Slot {
            function: function.parse().expect("a function"),
            args: args.to_vec(),
        })
    }

    #[test]
    fn a_literal_that_looks_like_a_slot_stays_as_it_is() {
        let segments = [TextSegment::Literal(
            "{{secret:app-secret}} slot{secret,app-secret}".into(),
        )];
        let text = compose(&segments, &secrets(), verbatim).expect("composes");
        assert_eq!(text, b"{{secret:app-secret}} slot{secret,app-secret}");
    }

    #[test]
    fn a_qualified_name_is_itself_or_its_family() {
        let of = |name: &str| {
            compose(
                &[slot("secret", &[SlotArgument::Secret(name.into())])],
                &secrets(),
                verbatim,
            )
        };
        assert_eq!(of("page-token/7"), Ok(b"t7".to_vec()));
        assert_eq!(of("page-token/8"), Ok(b"t".to_vec()));
        assert_eq!(of("other/8"), Err(SlotError::NoSecret("other/8".into())));
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let run = |segment: TextSegment| compose(&[segment], &secrets(), verbatim);
        assert!(matches!(
            run(slot("secret", &[SlotArgument::Literal("x".into())])),
            Err(SlotError::Arguments { .. })
        ));
        assert!(matches!(
            run(slot(
                "hmac-sha256-hex",
                &[SlotArgument::Secret("app-secret".into())]
            )),
            Err(SlotError::Arguments { .. })
        ));
    }
}
