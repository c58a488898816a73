//! Sender checks, as data for the host.

use crate::{Location, SenderCheck, SenderPolicy, SignedPart};

/// The usual names of credentials that sources send in a body, such as the `google_key` of
/// Google Ads. A converter without sender checks of its own declares them.
pub const USUAL_SECRETS: [&str; 20] = [
    "google_key",
    "apikey",
    "api_key",
    "api-key",
    "x-api-key",
    "access_token",
    "accessToken",
    "refresh_token",
    "refreshToken",
    "session_token",
    "id_token",
    "auth_token",
    "authToken",
    "client_secret",
    "clientSecret",
    "app_secret",
    "private_key",
    "password",
    "passwd",
    "senha",
];

impl SenderPolicy {
    /// Senders of this source do not prove themselves.
    pub fn none() -> Self {
        Self {
            checks: Vec::new(),
            carried_secrets: Vec::new(),
        }
    }

    /// Declares [`USUAL_SECRETS`], so that the host masks their values in JSON, at any depth, and
    /// in forms.
    pub fn usual_secrets(self) -> Self {
        USUAL_SECRETS
            .iter()
            .fold(self, |policy, name| policy.carried_secret("json", name))
    }

    /// Declares the place of a secret that this source carries, to be masked wherever
    /// a delivery is shown: place (`header`, `query`, `form`, `json`) and name.
    pub fn carried_secret(mut self, place: &str, name: &str) -> Self {
        self.carried_secrets.push(location(place, name));
        self
    }
}

impl<const N: usize> From<[SenderCheck; N]> for SenderPolicy {
    fn from(checks: [SenderCheck; N]) -> Self {
        Self {
            checks: checks.into(),
            ..Self::none()
        }
    }
}

impl SenderCheck {
    /// A hex HMAC-SHA256 of the raw body in a header.
    pub fn hmac_sha256_hex(secret: &str, header: &str) -> Self {
        Self::new(secret, "hmac-sha256", "hex", location("header", header))
    }

    /// A base64 HMAC-SHA256 of the raw body in a header.
    pub fn hmac_sha256_base64(secret: &str, header: &str) -> Self {
        Self::new(secret, "hmac-sha256", "base64", location("header", header))
    }

    /// HTTP Basic; the secret is `user:password`. The scheme knows the word and the
    /// encoding of its header, so it takes no prefix.
    pub fn basic(secret: &str) -> Self {
        Self::new(secret, "basic", "plain", authorization())
    }

    /// `Authorization: Bearer`; the secret is the token. Takes no prefix either.
    pub fn bearer(secret: &str) -> Self {
        Self::new(secret, "bearer", "plain", authorization())
    }

    /// The proof is the secret itself, at a place (`header`, `query`, `form`,
    /// `json`).
    pub fn equals(secret: &str, place: &str, name: &str) -> Self {
        Self::new(secret, "equals", "plain", location(place, name))
    }

    /// Sets the text before the proof, such as `sha256=`.
    pub fn prefix(mut self, prefix: &str) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets the header with the time of signing, and its tolerance in seconds.
    pub fn timestamp(mut self, header: &str, tolerance_seconds: u32) -> Self {
        self.timestamp_header = header.into();
        self.tolerance_seconds = tolerance_seconds;
        self
    }

    /// Adds a part of the signed content, in order. Default: the body.
    pub fn signed(mut self, kind: &str, value: &str) -> Self {
        self.signed.push(SignedPart {
            kind: kind.into(),
            value: value.into(),
        });
        self
    }

    fn new(secret: &str, scheme: &str, encoding: &str, proof: Location) -> Self {
        Self {
            secret: secret.into(),
            scheme: scheme.into(),
            proof,
            encoding: encoding.into(),
            prefix: String::new(),
            timestamp_header: String::new(),
            tolerance_seconds: 0,
            signed: Vec::new(),
        }
    }
}

fn authorization() -> Location {
    location("header", "authorization")
}

fn location(place: &str, name: &str) -> Location {
    Location {
        place: place.into(),
        name: name.into(),
    }
}
