//! How a command recognises the service of a data folder before it sends a key there. After a crash the
//! folder still has the address of the service, and any program of the machine may listen at it.
//!
//! At each start the service writes a new secret beside its addresses, in a file that only its owner can
//! read. The command sends a random challenge, and the service answers with a proof that it knows the secret.
//! The key follows on the same connection. The address at which the service was asked is a part of the proof, so
//! a program at another address cannot pass the challenge on to the service.

use std::fmt;
use std::net::SocketAddr;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::prelude::*;
use leadhost_domain::hex;
use leadhost_domain::id::base62;

/// Header of a liveness probe with the challenge, and of its answer with the proof.
pub const CHALLENGE: &str = "x-leadhost-challenge";
pub const PROOF: &str = "x-leadhost-proof";

/// Random characters of a secret or a challenge: 190 bits.
const CHARACTERS: usize = 32;

#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ServiceSecret(String);

impl ServiceSecret {
    pub fn random() -> Self {
        Self(base62(CHARACTERS))
    }

    /// Returns the proof for a connection to this address of the service.
    pub fn proof(&self, challenge: &[u8], address: SocketAddr) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.as_bytes())
            .expect("HMAC takes a key of any length");
        // A socket of IPv6 has a client of IPv4 at a mapped address.
        let place = SocketAddr::new(address.ip().to_canonical(), address.port());
        mac.update(format!("{place}\n").as_bytes());
        mac.update(challenge);
        hex::encode(&mac.finalize().into_bytes())
    }
}

impl fmt::Debug for ServiceSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServiceSecret")
    }
}

pub fn challenge() -> String {
    base62(CHARACTERS)
}
