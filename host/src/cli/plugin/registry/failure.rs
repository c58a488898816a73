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
        let (said, with) = (shown(error), &self.credentials.said);
        if let Some(DigestError::VerificationError { expected, .. }) = digest_error(error) {
            return failed_line!(
                "the registry {registry} sent other bytes than {expected} for {address}: nothing is kept"
            )
            .hint("the registry, or a proxy in front of it, changed them or is faulty: contact its operator");
        }
        match status(error) {
            Some(status @ (401 | 403)) => failed_line!(
                "the registry {registry} refuses {what} for {address} ({status}), with {with}"
            )
            .hint(format!(
                "log in with `docker login {registry}` or `podman login --compat-auth-file ~/.docker/config.json {registry}` under a name that may do this"
            )),
            Some(404) => failed_line!(
                "the registry {registry} does not have {address}, or does not show it (asked with {with})"
            )
            .hint("check the name, and the tag or digest"),
            Some(status @ (429 | 500..=599)) => failed_line!(
                "the registry {registry} is failing: it answers {status} to {what} for {address}: {said}"
            )
            .hint("try again later; if the error persists, contact the operator of the registry"),
            None if is_unreachable(error) => failed_line!(
                "the registry {registry} cannot be reached for {address}: {said}"
            )
            .hint(if address.is_loopback() { "check that it runs, and its port" } else { "check its name and the network; a registry that is not on this machine is reached only by TLS" }),
            None if is_not_ours(error) => failed_line!("{address} is not a component: {said}")
                .hint("name a component that `leadhost plugin push` or `wkg oci push` has put into the registry"),
            _ => failed_line!(
                "the registry {registry} did not take {what} for {address}: {said}"
            )
            .hint("check the name and the tag; if they are right, contact the operator of the registry"),
        }
    }
}

/// Returns the status of the answer that the error is about, or that its code stands for.
fn status(error: &OciDistributionError) -> Option<u16> {
    use OciDistributionError as E;
    match error {
        E::UnauthorizedError { .. } | E::AuthenticationFailure(_) => Some(401),
        E::ImageManifestNotFoundError(_) => Some(404),
        E::ServerError { code, .. } => Some(*code),
        E::RequestError(error) => error.status().map(|status| status.as_u16()),
        E::RegistryError { envelope, .. } => {
            let mut errors = envelope.errors.iter();
            errors.find_map(|error| match error.code {
                OciErrorCode::Unauthorized => Some(401),
                OciErrorCode::Denied => Some(403),
                OciErrorCode::Toomanyrequests => Some(429),
                OciErrorCode::ManifestUnknown
                | OciErrorCode::NameUnknown
                | OciErrorCode::BlobUnknown
                | OciErrorCode::NotFound => Some(404),
                _ => None,
            })
        }
        _ => None,
    }
}

/// Returns the error of a digest that does not fit, which a stream of bytes ends with, too.
fn digest_error(error: &OciDistributionError) -> Option<&DigestError> {
    match error {
        OciDistributionError::DigestError(error) => Some(error),
        OciDistributionError::IoError(error) => error.get_ref()?.downcast_ref(),
        _ => None,
    }
}

fn is_unreachable(error: &OciDistributionError) -> bool {
    use OciDistributionError as E;
    matches!(error, E::RequestError(_) | E::IoError(_)) && digest_error(error).is_none()
}

fn is_not_ours(error: &OciDistributionError) -> bool {
    use OciDistributionError as E;
    matches!(
        error,
        E::ManifestParsingError(_)
            | E::ManifestEncodingError(_)
            | E::VersionedParsingError(_)
            | E::UnsupportedMediaTypeError(_)
            | E::UnsupportedSchemaVersionError(_)
            | E::IncompatibleLayerMediaTypeError(_)
    )
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
    use oci_client::secrets::RegistryAuth;

    use super::*;

    #[test]
    fn an_error_tells_who_has_to_act() {
        let answer = |code| OciDistributionError::ServerError {
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
        let address = RegistryAddress::parse("oci://localhost:5000/portal:1").expect("an address");
        let credentials = Credentials {
            auth: RegistryAuth::Anonymous,
            said: "no credentials".to_owned(),
        };
        let exchange = Exchange {
            address: &address,
            credentials: &credentials,
            what: "pulling",
        };
        for (error, says) in [
            (answer(401), "(401), with no credentials"),
            (
                answer(403),
                "refuses pulling for oci://localhost:5000/portal:1 (403)",
            ),
            (answer(404), "does not have oci://localhost:5000/portal:1"),
            (answer(500), "is failing: it answers 500"),
            (answer(429), "is failing: it answers 429"),
            (answer(400), "did not take pulling"),
            (coded("DENIED"), "(403), with no credentials"),
            (coded("TOOMANYREQUESTS"), "is failing: it answers 429"),
            (coded("MANIFEST_UNKNOWN"), "does not have"),
            (coded("UNSUPPORTED"), "did not take"),
            (
                OciDistributionError::DigestError(other_bytes()),
                "sent other bytes than sha256:12",
            ),
            (
                OciDistributionError::IoError(std::io::Error::other(other_bytes())),
                "sent other bytes than sha256:12",
            ),
            (
                OciDistributionError::IoError(std::io::Error::other("cut off")),
                "cannot be reached",
            ),
            (
                OciDistributionError::UnsupportedSchemaVersionError(1),
                "oci://localhost:5000/portal:1 is not a component",
            ),
        ] {
            let said = exchange.failed(&error).to_string();
            assert!(said.contains(says), "{error}: {said}");
        }
    }

    #[test]
    fn little_of_what_a_registry_says_is_shown() {
        let error = OciDistributionError::AuthenticationFailure("é".repeat(10_000));
        assert!(shown(&error).len() <= SHOWN + "...".len());
    }
}
