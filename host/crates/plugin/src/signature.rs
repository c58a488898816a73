//! The signature of a component: an Ed25519 signature over everything else in the file, in
//! a custom section of its own. It proves that the holder of the key made these bytes.
//! Whether the plugin's name belongs to that key is decided when a version is activated.

use leadhost_golden::{SectionError, append_custom, read_custom, without_custom};
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use sha2::Digest as _;
use zeroize::Zeroizing;

use leadhost_domain::publisher::PublicKey;

pub const SECTION: &str = "leadhost:signature";

/// The signed text begins with its purpose.
const PURPOSE: &[u8] = b"leadhost component, version 1\n";

const KEY_BYTES: usize = 32;
const SIGNATURE_BYTES: usize = 64;

/// Returns a new signing key as PKCS #8, or `None` if the system has no random numbers.
pub fn new_key() -> Option<Zeroizing<Vec<u8>>> {
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).ok()?;
    Some(Zeroizing::new(document.as_ref().to_vec()))
}

/// Returns the public key of a signing key, or `None` if that is not an Ed25519 key.
pub fn public_key(signing_key: &[u8]) -> Option<PublicKey> {
    public(&read_key(signing_key)?)
}

/// Returns the component with a signature that replaces any earlier one, or `None` if the
/// key is not an Ed25519 key.
pub fn sign(component: &[u8], signing_key: &[u8]) -> Result<Option<Vec<u8>>, SectionError> {
    let bare = without_custom(component, SECTION)?;
    let Some((pair, public)) = read_key(signing_key).and_then(|pair| {
        let public = public(&pair)?;
        Some((pair, public))
    }) else {
        return Ok(None);
    };
    let signature = pair.sign(&signed(&bare));
    let payload = [&public.0[..], signature.as_ref()].concat();
    append_custom(&bare, SECTION, &payload).map(Some)
}

pub fn signer(component: &[u8]) -> Result<Option<PublicKey>, String> {
    let Some(payload) = read_custom(component, SECTION).map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    if payload.len() != KEY_BYTES + SIGNATURE_BYTES {
        return Err(format!(
            "it has {} bytes; a key and a signature have {}",
            payload.len(),
            KEY_BYTES + SIGNATURE_BYTES
        ));
    }
    let (key, signature) = payload.split_at(KEY_BYTES);
    let bare = without_custom(component, SECTION).map_err(|error| error.to_string())?;
    UnparsedPublicKey::new(&ED25519, key)
        .verify(&signed(&bare), signature)
        .map_err(|_| "it does not match these bytes: sign the component again".to_owned())?;
    let key = key.try_into().expect("the slice has this length");
    Ok(Some(PublicKey(key)))
}

fn read_key(signing_key: &[u8]) -> Option<Ed25519KeyPair> {
    // Keys made by other programs may lack the public half.
    Ed25519KeyPair::from_pkcs8_maybe_unchecked(signing_key).ok()
}

fn public(pair: &Ed25519KeyPair) -> Option<PublicKey> {
    let key = pair.public_key().as_ref();
    Some(PublicKey(key.try_into().ok()?))
}

fn signed(bare: &[u8]) -> Vec<u8> {
    [PURPOSE, &sha2::Sha256::digest(bare)].concat()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

    #[test]
    fn a_signed_component_names_its_key_and_an_unsigned_one_does_not() {
        let key = new_key().unwrap();
        let signed = sign(COMPONENT, &key).unwrap().unwrap();
        assert_eq!(signer(COMPONENT), Ok(None));
        assert_eq!(signer(&signed), Ok(public_key(&key)));
        let other = new_key().unwrap();
        let again = sign(&signed, &other).unwrap().unwrap();
        assert_eq!(signer(&again), Ok(public_key(&other)));
        assert_eq!(again.len(), signed.len());
    }

    #[test]
    fn a_changed_byte_anywhere_breaks_the_signature() {
        let key = new_key().unwrap();
        let golden = append_custom(COMPONENT, "leadhost:golden", b"cases").unwrap();
        let signed = sign(&golden, &key).unwrap().unwrap();
        let unsigned = Ok(None);
        for index in COMPONENT.len()..signed.len() {
            let mut changed = signed.clone();
            changed[index] ^= 1;
            let found = signer(&changed);
            assert!(found.is_err() || found == unsigned, "byte {index}");
        }
        let stale = append_custom(&signed, "leadhost:golden", b"others").unwrap();
        assert!(signer(&stale).is_err(), "other cases are other bytes");
        let mut twice = signed.clone();
        twice.extend_from_slice(&signed[golden.len()..]);
        assert!(signer(&twice).is_err());
    }

    #[test]
    fn a_text_is_not_a_signing_key() {
        assert_eq!(sign(COMPONENT, b"hello"), Ok(None));
    }
}
