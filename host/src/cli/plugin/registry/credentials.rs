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
    let (path, key) = (file.clone(), registry.to_owned());
    let (send, received) = oneshot::channel();
    // It waits for a child process, and ends with this process if that does not end.
    std::thread::spawn(move || send.send(stored(&path, &key)));
    let found = match timeout(PATIENCE, received).await {
        Ok(Ok(found)) => found,
        Ok(Err(_)) => Err("the program that keeps them cannot be run".to_owned()),
        Err(_) => Err(format!(
            "the program that keeps them did not answer within {} s",
            PATIENCE.as_secs()
        )),
    };
    found.map_err(|why| {
        failed!(
            "the credentials for {registry} cannot be read from {}: {why}",
            file.display()
        )
        .hint("`docker login` writes that file; the variable DOCKER_CONFIG names another folder for it")
    })
}

fn configuration() -> Option<PathBuf> {
    let folder = std::env::var_os("DOCKER_CONFIG")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".docker")))?;
    Some(folder.join("config.json"))
}

/// Reads the credentials from Docker's configuration, or from the program that it names. The error says why
/// they cannot be used.
fn stored(file: &Path, registry: &str) -> Result<Credentials, String> {
    // The crate's own look-up takes a missing file for one that cannot be read, and says of no other what
    // is wrong with it.
    let text = match std::fs::read(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(none()),
        Err(error) => return Err(error.to_string()),
    };
    serde_json::from_slice::<IgnoredAny>(&text)
        .map_err(|error| format!("it is not JSON: {error}"))?;
    understood(docker_credential::get_credential_from_reader(
        &*text, registry,
    ))
}

fn understood(
    found: Result<DockerCredential, CredentialRetrievalError>,
) -> Result<Credentials, String> {
    use CredentialRetrievalError as E;
    match found {
        Ok(DockerCredential::UsernamePassword(name, secret)) => Ok(Credentials {
            said: format!("the credentials of `{name}`"),
            auth: RegistryAuth::Basic(name, secret),
        }),
        Ok(DockerCredential::IdentityToken(_)) => Err(
            "they are an identity token, which this command cannot use: log in with a name and a password or an access token".to_owned(),
        ),
        Err(E::ConfigNotFound | E::NoCredentialConfigured) => Ok(none()),
        Err(E::HelperFailure { stdout, .. }) if stdout.contains(NONE) => Ok(none()),
        // Its standard output may have the secret.
        Err(E::HelperFailure { helper, stderr, .. }) => {
            Err(format!("{helper} failed: {}", stderr.trim()))
        }
        Err(E::ConfigReadError) => Err("it is not a configuration of Docker".to_owned()),
        Err(error) => Err(error.to_string()),
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

    #[test]
    fn credentials_are_used_or_refused_and_a_secret_is_never_named() {
        use CredentialRetrievalError as E;
        let secret = || "made-up-secret".to_owned();
        let failing = |stdout: String| E::HelperFailure {
            helper: "docker-credential-made-up".to_owned(),
            stdout,
            stderr: "locked\n".to_owned(),
        };
        let found = DockerCredential::UsernamePassword("ana".to_owned(), secret());
        for (found, expect) in [
            (Ok(found), "the credentials of `ana`"),
            (Err(E::ConfigNotFound), "no credentials"),
            (Err(E::NoCredentialConfigured), "no credentials"),
            (
                Err(failing(format!("{NONE} in native keychain\n"))),
                "no credentials",
            ),
            (
                Err(failing(secret())),
                "docker-credential-made-up failed: locked",
            ),
            (
                Ok(DockerCredential::IdentityToken(secret())),
                "they are an identity token",
            ),
            (
                Err(E::CredentialDecodingError),
                "Unable to decode credential",
            ),
        ] {
            let said = match understood(found) {
                Ok(credentials) => {
                    let is_anonymous = credentials.auth == RegistryAuth::Anonymous;
                    assert_eq!(is_anonymous, expect == "no credentials");
                    credentials.said
                }
                Err(why) => why,
            };
            assert!(said.starts_with(expect), "{expect}: {said}");
            assert!(!said.contains("made-up-secret"), "{said}");
        }
    }

    #[test]
    fn a_file_that_is_none_of_docker_is_refused_without_its_content() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("config.json");
        for (text, why) in [
            (
                "{\"auths\": made-up-secret}",
                "not JSON: expected value at line 1",
            ),
            ("[\"made-up-secret\"]", "not a configuration of Docker"),
        ] {
            std::fs::write(&file, text).expect("a file");
            let found = stored(&file, "localhost:5000").map(drop);
            let said = found.expect_err("it is refused");
            assert!(said.contains(why) && !said.contains("secret"), "{said}");
        }
        std::fs::write(&file, "{}").expect("a file");
        let found = stored(&file, "localhost:5000").expect("none are needed");
        assert_eq!(found.auth, RegistryAuth::Anonymous);
    }
}
