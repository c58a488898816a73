//! The credentials for a registry, where `docker login` and `podman login` keep them: in
//! `~/.docker/config.json`, or with a program that this file names.

use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::PathBuf;
use std::time::Duration;

use docker_credential::{CredentialRetrievalError, DockerCredential};
use oci_client::secrets::RegistryAuth;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::cli::failure::CommandFailure;

/// Timeout of the program that keeps credentials. It may ask the user for consent.
const PATIENCE: Duration = Duration::from_secs(60);

/// The text that such a program prints when it has none.
const NONE: &str = "credentials not found";

/// The credentials for a registry.
pub struct Credentials {
    pub auth: RegistryAuth,
    /// Their owner, without the secret.
    pub said: String,
}

/// Finds the credentials for a registry. Without any the registry is asked without them.
///
/// # Errors
///
/// [`CommandFailure`] if there are some that cannot be read or used.
pub async fn find(registry: &str) -> Result<Credentials, CommandFailure> {
    let key = registry.to_owned();
    let (send, received) = oneshot::channel();
    // It waits for a child process, and ends with this process if that does not end.
    std::thread::spawn(move || send.send(kept(&key)));
    let found = timeout(PATIENCE, received).await.map_err(|_| {
        failed(
            registry,
            &format!(
                "the program that keeps them did not answer within {} s",
                PATIENCE.as_secs()
            ),
        )
    })?;
    let found = found.map_err(|_| failed(registry, "the program that keeps them cannot be run"))?;
    understand(registry, found)
}

/// Reads the credentials from Docker's configuration, or from the program that it names.
fn kept(registry: &str) -> Result<DockerCredential, CredentialRetrievalError> {
    let folder = std::env::var_os("DOCKER_CONFIG")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".docker")))
        .ok_or(CredentialRetrievalError::ConfigNotFound)?;
    // The crate's own look-up takes a missing file for one that cannot be read.
    let file = File::open(folder.join("config.json")).map_err(|error| match error.kind() {
        ErrorKind::NotFound => CredentialRetrievalError::ConfigNotFound,
        _ => CredentialRetrievalError::ConfigReadError,
    })?;
    docker_credential::get_credential_from_reader(BufReader::new(file), registry)
}

fn understand(
    registry: &str,
    found: Result<DockerCredential, CredentialRetrievalError>,
) -> Result<Credentials, CommandFailure> {
    match found {
        Ok(DockerCredential::UsernamePassword(name, secret)) => Ok(Credentials {
            said: format!("the credentials of `{name}`"),
            auth: RegistryAuth::Basic(name, secret),
        }),
        Ok(DockerCredential::IdentityToken(_)) => Err(failed(
            registry,
            "they are an identity token, which this command cannot use: log in with a name and a password or an access token",
        )),
        Err(
            CredentialRetrievalError::ConfigNotFound
            | CredentialRetrievalError::NoCredentialConfigured,
        ) => Ok(none()),
        Err(CredentialRetrievalError::HelperFailure { stdout, .. }) if stdout.contains(NONE) => {
            Ok(none())
        }
        // Its standard output may have the secret.
        Err(CredentialRetrievalError::HelperFailure { helper, stderr, .. }) => Err(failed(
            registry,
            &format!("{helper} failed: {}", stderr.trim()),
        )),
        Err(error) => Err(failed(registry, &error.to_string())),
    }
}

fn none() -> Credentials {
    Credentials {
        auth: RegistryAuth::Anonymous,
        said: "no credentials, because Docker's configuration has none for it".to_owned(),
    }
}

fn failed(registry: &str, why: &str) -> CommandFailure {
    CommandFailure::new(format!(
        "the credentials for {registry} cannot be read: {why}"
    ))
    .hint("they are those of `docker login`, in config.json of ~/.docker or of the folder in DOCKER_CONFIG")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_named() {
        let found =
            DockerCredential::UsernamePassword("ana".to_owned(), "made-up-secret".to_owned());
        let credentials = understand("localhost:5000", Ok(found)).expect("they can be used");
        assert_eq!(credentials.said, "the credentials of `ana`");

        let helper = CredentialRetrievalError::HelperFailure {
            helper: "docker-credential-made-up".to_owned(),
            stdout: "made-up-secret".to_owned(),
            stderr: "locked\n".to_owned(),
        };
        let token = DockerCredential::IdentityToken("made-up-secret".to_owned());
        for (found, why) in [
            (Err(helper), "docker-credential-made-up failed: locked"),
            (Ok(token), "they are an identity token"),
            (
                Err(CredentialRetrievalError::ConfigReadError),
                "Unable to read config",
            ),
        ] {
            let said = understand("localhost:5000", found)
                .map(drop)
                .expect_err("they cannot be used")
                .to_string();
            assert!(
                said.contains(why) && !said.contains("made-up-secret"),
                "{said}"
            );
        }
    }

    #[test]
    fn a_registry_without_credentials_is_asked_without_them() {
        let none = CredentialRetrievalError::HelperFailure {
            helper: "docker-credential-made-up".to_owned(),
            stdout: "credentials not found in native keychain\n".to_owned(),
            stderr: String::new(),
        };
        for error in [
            none,
            CredentialRetrievalError::ConfigNotFound,
            CredentialRetrievalError::NoCredentialConfigured,
        ] {
            let credentials = understand("localhost:5000", Err(error)).expect("none are needed");
            assert_eq!(credentials.auth, RegistryAuth::Anonymous);
        }
    }
}
