//! The credentials for a registry, where `docker login` and `podman login` keep them: in
//! `~/.docker/config.json`, or with a program that this file names.

use std::io::ErrorKind;

use docker_credential::{CredentialRetrievalError, DockerCredential};
use oci_client::secrets::RegistryAuth;
use serde::de::IgnoredAny;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::cli::prelude::*;

/// Timeout of the program that keeps credentials. It may ask the user for consent.
const PATIENCE: Duration = Duration::from_secs(60);

/// The text that such a program prints when it has none.
const NONE: &str = "credentials not found";

pub struct Credentials {
    pub auth: RegistryAuth,
    /// Their owner, without the secret.
    pub said: String,
}

/// Finds the credentials for a registry. Without any the registry is asked without them.
pub async fn find(registry: &str) -> CommandResult<Credentials> {
    // Without a home folder there is none.
    let Some(file) = configuration() else {
        return Ok(none());
    };
    let place = CredentialsPlace { registry, file };
    let (key, file) = (registry.to_owned(), place.file.clone());
    let (send, received) = oneshot::channel();
    // It waits for a child process, and ends with this process if that does not end.
    std::thread::spawn(move || send.send(stored_credential(&file, &key)));
    let found = timeout(PATIENCE, received).await.map_err(|_| {
        place.failed(&format!(
            "the program that keeps them did not answer within {} s",
            PATIENCE.as_secs()
        ))
    })?;
    let found = found.map_err(|_| place.failed("the program that keeps them cannot be run"))?;
    place.understand(found)
}

/// Returns Docker's configuration file, which need not be there.
fn configuration() -> Option<PathBuf> {
    let folder = std::env::var_os("DOCKER_CONFIG")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".docker")))?;
    Some(folder.join("config.json"))
}

enum Unusable {
    /// The fault of the file, after its path.
    File(String),
    Credential(CredentialRetrievalError),
}

/// Reads the credentials from Docker's configuration, or from the program that it names.
fn stored_credential(file: &Path, registry: &str) -> Result<DockerCredential, Unusable> {
    // The crate's own look-up takes a missing file for one that cannot be read, and says of no other what
    // is wrong with it.
    let text = std::fs::read(file).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Unusable::Credential(CredentialRetrievalError::ConfigNotFound),
        _ => Unusable::File(error.to_string()),
    })?;
    if let Err(error) = serde_json::from_slice::<IgnoredAny>(&text) {
        return Err(Unusable::File(format!("it is not JSON: {error}")));
    }
    docker_credential::get_credential_from_reader(&*text, registry).map_err(|error| match error {
        CredentialRetrievalError::ConfigReadError => {
            Unusable::File("it is not a configuration of Docker".to_owned())
        }
        error => Unusable::Credential(error),
    })
}

/// The registry, and the file in which its credentials would be.
struct CredentialsPlace<'a> {
    registry: &'a str,
    file: PathBuf,
}

impl CredentialsPlace<'_> {
    fn understand(&self, found: Result<DockerCredential, Unusable>) -> CommandResult<Credentials> {
        let error = match found {
            Ok(DockerCredential::UsernamePassword(name, secret)) => {
                return Ok(Credentials {
                    said: format!("the credentials of `{name}`"),
                    auth: RegistryAuth::Basic(name, secret),
                });
            }
            Ok(DockerCredential::IdentityToken(_)) => {
                return Err(self.failed(
                    "they are an identity token, which this command cannot use: log in with a name and a password or an access token",
                ));
            }
            Err(Unusable::File(why)) => return Err(self.failed(&why)),
            Err(Unusable::Credential(error)) => error,
        };
        match error {
            CredentialRetrievalError::ConfigNotFound
            | CredentialRetrievalError::NoCredentialConfigured => Ok(none()),
            CredentialRetrievalError::HelperFailure { stdout, .. } if stdout.contains(NONE) => {
                Ok(none())
            }
            // Its standard output may have the secret.
            CredentialRetrievalError::HelperFailure { helper, stderr, .. } => {
                Err(self.failed(&format!("{helper} failed: {}", stderr.trim())))
            }
            error => Err(self.failed(&error.to_string())),
        }
    }

    fn failed(&self, why: &str) -> CommandFailure {
        failed!(
            "the credentials for {} cannot be read from {}: {why}",
            self.registry,
            self.file.display()
        )
        .hint("`docker login` writes that file; the variable DOCKER_CONFIG names another folder for it")
    }
}

fn none() -> Credentials {
    Credentials {
        auth: RegistryAuth::Anonymous,
        said: "no credentials: Docker's configuration has none for it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> CredentialsPlace<'static> {
        CredentialsPlace {
            registry: "localhost:5000",
            file: PathBuf::from("made-up/config.json"),
        }
    }

    #[test]
    fn a_secret_is_never_named() {
        let found =
            DockerCredential::UsernamePassword("ana".to_owned(), "made-up-secret".to_owned());
        let credentials = place().understand(Ok(found)).expect("they can be used");
        assert_eq!(credentials.said, "the credentials of `ana`");

        let helper = CredentialRetrievalError::HelperFailure {
            helper: "docker-credential-made-up".to_owned(),
            stdout: "made-up-secret".to_owned(),
            stderr: "locked\n".to_owned(),
        };
        let token = DockerCredential::IdentityToken("made-up-secret".to_owned());
        for (found, why) in [
            (
                Err(Unusable::Credential(helper)),
                "docker-credential-made-up failed: locked",
            ),
            (Ok(token), "they are an identity token"),
            (
                Err(Unusable::Credential(
                    CredentialRetrievalError::CredentialDecodingError,
                )),
                "Unable to decode credential",
            ),
        ] {
            let said = place()
                .understand(found)
                .map(drop)
                .expect_err("they cannot be used")
                .to_string();
            for part in [why, "made-up/config.json"] {
                assert!(said.contains(part), "{part}: {said}");
            }
            assert!(!said.contains("made-up-secret"), "{said}");
        }
    }

    #[test]
    fn a_file_that_is_none_of_docker_is_refused_without_its_content() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("config.json");
        let kept_in = |text: &str| {
            std::fs::write(&file, text).expect("a file");
            match stored_credential(&file, "localhost:5000") {
                Err(Unusable::File(why)) => why,
                Err(Unusable::Credential(error)) => error.to_string(),
                Ok(_) => "found".to_owned(),
            }
        };
        for (text, why) in [
            (
                "{\"auths\": made-up-secret}",
                "not JSON: expected value at line 1",
            ),
            ("[\"made-up-secret\"]", "not a configuration of Docker"),
            ("{}", "no credential configured"),
        ] {
            let said = kept_in(text);
            assert!(said.contains(why) && !said.contains("secret"), "{said}");
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
            let found = Err(Unusable::Credential(error));
            let credentials = place().understand(found).expect("none are needed");
            assert_eq!(credentials.auth, RegistryAuth::Anonymous);
        }
    }
}
