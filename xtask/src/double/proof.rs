//! Authentication of providers: keyed hashes in the usual spellings.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::Sha256;

pub fn hmac_sha256_hex(key: &str, message: &[u8]) -> String {
    hex(&keyed::<Hmac<Sha256>>(key, message))
}

pub fn hmac_sha1_hex(key: &str, message: &[u8]) -> String {
    hex(&keyed::<Hmac<Sha1>>(key, message))
}

pub fn hmac_sha1_base64(key: &str, message: &[u8]) -> String {
    base64(&keyed::<Hmac<Sha1>>(key, message))
}

/// With padding.
pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// As in `Authorization`.
pub fn basic(name: &str, password: &str) -> String {
    format!("Basic {}", base64(format!("{name}:{password}").as_bytes()))
}

fn keyed<M: Mac + KeyInit>(key: &str, message: &[u8]) -> Vec<u8> {
    let mut mac =
        <M as KeyInit>::new_from_slice(key.as_bytes()).expect("a key of any length makes an HMAC");
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
