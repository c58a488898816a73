//! The failures of an exchange with a registry, as the user sees them.

use std::error::Error;

use oci_client::errors::{DigestError, OciDistributionError, OciErrorCode};

use super::address::RegistryAddress;
use super::credentials::Credentials;
use crate::cli::prelude::*;

const SHOWN: usize = 300;

pub struct Exchange<'a> {
    pub address: &'a RegistryAddress,
    pub credentials: &'a Credentials,
    /// The action under way, such as `pulling the manifest`.
    pub what: &'static str,
}

/// The cause of an error of the client, which decides who has to act.
#[derive(Debug, PartialEq, Eq)]
enum Cause {
    Unreachable,
    /// With its status: 401 or 403.
    Refused(u16),
    Missing,
    /// With its status: 429 or 5xx.
    Down(u16),
    /// The digest that the bytes should have.
    OtherBytes(String),
    NotOurs,
    Other,
}

impl Exchange<'_> {
    pub fn too_slow(&self, time: Duration) -> CommandFailure {
        failed!(
            "the registry {} is too slow: {} for {} did not end within {} s",
            self.address.registry(),
            self.what,
            self.address,
            time.as_secs()
        )
        .hint("try again, or contact the operator of the registry")
    }

    pub fn failed(&self, error: &OciDistributionError) -> CommandFailure {
        let (address, what, registry) = (self.address, self.what, self.address.registry());
        let said = shown(error);
        match cause(error) {
            Cause::Unreachable => failed_line!(
                "the registry {registry} cannot be reached for {address}: {said}"
            )
            .hint(match address.is_loopback() {
                true => "check that it runs, and its port",
                false => "check its name and the network; a registry that is not on this machine is reached only by TLS",
            }),
            Cause::Refused(status) => failed_line!(
                "the registry {registry} refuses {what} for {address} ({status}), with {}",
                self.credentials.said
            )
            .hint(format!(
                "log in with `docker login {registry}` or `podman login --compat-auth-file ~/.docker/config.json {registry}` under a name that may do this"
            )),
            Cause::Missing => failed_line!(
                "the registry {registry} does not have {address}, or does not show it (asked with {})",
                self.credentials.said
            )
            .hint("check the name, and the tag or digest"),
            Cause::OtherBytes(expected) => failed_line!(
                "the registry {registry} sent other bytes than those of {expected} for {address}: nothing is kept"
            )
            .hint("the registry, or a proxy in front of it, changed them or is faulty: contact its operator"),
            Cause::NotOurs => failed_line!(
                "{address} is not a component: {said}"
            )
            .hint("name a component that `leadhost plugin push` or `wkg oci push` has put into the registry"),
            Cause::Down(status) => failed_line!(
                "the registry {registry} is failing: it answers {status} to {what} for {address}: {said}"
            )
            .hint("try again later; if the error persists, contact the operator of the registry"),
            Cause::Other => failed_line!(
                "the registry {registry} did not take {what} for {address}: {said}"
            )
            .hint("check the name and the tag; if they are right, contact the operator of the registry"),
        }
    }
}

fn cause(error: &OciDistributionError) -> Cause {
    use OciDistributionError as E;
    match error {
        E::UnauthorizedError { .. } | E::AuthenticationFailure(_) => Cause::Refused(401),
        E::ServerError { code, .. } => from_status(*code),
        E::RegistryError { envelope, .. } => {
            let codes = envelope.errors.iter().map(|error| from_code(&error.code));
            codes
                .into_iter()
                .find(|cause| *cause != Cause::Other)
                .unwrap_or(Cause::Other)
        }
        E::ImageManifestNotFoundError(_) => Cause::Missing,
        E::DigestError(error) => from_digest_error(error),
        E::IoError(error) => error
            .get_ref()
            .and_then(|inner| inner.downcast_ref())
            .map_or(Cause::Unreachable, from_digest_error),
        E::RequestError(error) => match error.status() {
            Some(status) => from_status(status.as_u16()),
            None => Cause::Unreachable,
        },
        E::ManifestParsingError(_)
        | E::ManifestEncodingError(_)
        | E::VersionedParsingError(_)
        | E::UnsupportedMediaTypeError(_)
        | E::UnsupportedSchemaVersionError(_)
        | E::IncompatibleLayerMediaTypeError(_) => Cause::NotOurs,
        _ => Cause::Other,
    }
}

fn from_status(status: u16) -> Cause {
    match status {
        401 | 403 => Cause::Refused(status),
        404 => Cause::Missing,
        429 | 500..=599 => Cause::Down(status),
        _ => Cause::Other,
    }
}

fn from_code(code: &OciErrorCode) -> Cause {
    match code {
        OciErrorCode::Unauthorized => Cause::Refused(401),
        OciErrorCode::Denied => Cause::Refused(403),
        OciErrorCode::Toomanyrequests => Cause::Down(429),
        OciErrorCode::ManifestUnknown
        | OciErrorCode::NameUnknown
        | OciErrorCode::BlobUnknown
        | OciErrorCode::NotFound => Cause::Missing,
        _ => Cause::Other,
    }
}

fn from_digest_error(error: &DigestError) -> Cause {
    match error {
        DigestError::VerificationError { expected, .. } => Cause::OtherBytes(expected.clone()),
        _ => Cause::Other,
    }
}

/// Returns the error with its causes, of bounded length: a registry may send any text.
fn shown(error: &OciDistributionError) -> String {
    let mut said = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_said = cause.to_string();
        if !said.contains(&cause_said) {
            said += &format!(": {cause_said}");
        }
        source = cause.source();
    }
    if said.len() > SHOWN {
        said.truncate(said.floor_char_boundary(SHOWN));
        said.push_str("...");
    }
    said
}

#[cfg(test)]
mod tests {
    use oci_client::errors::OciEnvelope;

    use super::*;

    #[test]
    fn an_error_tells_who_has_to_act() {
        let status = |code| OciDistributionError::ServerError {
            code,
            url: "http://localhost:5000/v2/".to_owned(),
            message: String::new(),
        };
        let coded = |code: &str| OciDistributionError::RegistryError {
            envelope: serde_json::from_value::<OciEnvelope>(
                json!({"errors": [{"code": "NAME_INVALID"}, {"code": code}]}),
            )
            .expect("an envelope"),
            url: "http://localhost:5000/v2/".to_owned(),
        };
        let other_bytes = || DigestError::VerificationError {
            expected: "sha256:12".to_owned(),
            actual: "sha256:34".to_owned(),
        };
        for (error, expected) in [
            (status(401), Cause::Refused(401)),
            (status(403), Cause::Refused(403)),
            (status(404), Cause::Missing),
            (status(500), Cause::Down(500)),
            (status(429), Cause::Down(429)),
            (status(400), Cause::Other),
            (coded("DENIED"), Cause::Refused(403)),
            (coded("TOOMANYREQUESTS"), Cause::Down(429)),
            (coded("MANIFEST_UNKNOWN"), Cause::Missing),
            (coded("UNSUPPORTED"), Cause::Other),
            (
                OciDistributionError::DigestError(other_bytes()),
                Cause::OtherBytes("sha256:12".to_owned()),
            ),
            (
                OciDistributionError::IoError(std::io::Error::other(other_bytes())),
                Cause::OtherBytes("sha256:12".to_owned()),
            ),
            (
                OciDistributionError::IoError(std::io::Error::other("cut off")),
                Cause::Unreachable,
            ),
            (
                OciDistributionError::UnsupportedSchemaVersionError(1),
                Cause::NotOurs,
            ),
        ] {
            assert_eq!(cause(&error), expected, "{error}");
        }
    }

    #[test]
    fn little_of_what_a_registry_says_is_shown() {
        let error = OciDistributionError::AuthenticationFailure("é".repeat(10_000));
        assert!(shown(&error).len() <= SHOWN + "...".len());
    }
}
