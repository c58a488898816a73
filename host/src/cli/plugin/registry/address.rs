//! The address of a component in a registry: `oci://registry/name:tag`, or with `@sha256:…` after the
//! name or the tag.

use std::fmt;
use std::net::IpAddr;

use oci_client::Reference;

const SCHEME: &str = "oci://";

/// The name under which `docker login` keeps the credentials of Docker Hub.
const DOCKER_HUB_KEY: &str = "https://index.docker.io/v1/";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryAddress {
    reference: Reference,
    /// For a pinned address, the tag that led to it.
    tag: Option<String>,
}

impl RegistryAddress {
    /// Returns whether a person means an address, well-formed or not.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            format!(
                "`{text}` is not the address of a component in a registry: {why}; expected oci://REGISTRY/NAME:TAG or oci://REGISTRY/NAME@sha256:DIGEST"
            )
        };
        let rest = text
            .strip_prefix(SCHEME)
            .ok_or_else(|| wrong("it does not begin with oci://"))?;
        let (registry, name) = rest
            .split_once('/')
            .ok_or_else(|| wrong("it has no name"))?;
        // Other tools take a first part without these for a name at Docker Hub.
        if !registry.contains(['.', ':']) && registry != "localhost" {
            return Err(wrong("its first part is not the name of a host"));
        }
        if !name.contains([':', '@']) {
            return Err(wrong("it has neither a tag nor a digest"));
        }
        let reference: Reference = rest.parse().map_err(|_| wrong(form_fault(name)))?;
        let has_other_digest = reference
            .digest()
            .is_some_and(|digest| !digest.starts_with("sha256:"));
        if has_other_digest {
            return Err(wrong("its digest is not a SHA-256"));
        }
        Ok(Self {
            tag: reference.tag().map(str::to_owned),
            reference,
        })
    }

    pub fn parse_target(text: &str) -> Result<Self, String> {
        let address = Self::parse(text)?;
        match address.reference.digest() {
            None => Ok(address),
            Some(_) => Err(format!(
                "`{text}` has a digest, which only a stored component has: name a tag, as oci://REGISTRY/NAME:TAG"
            )),
        }
    }

    pub fn pinned(&self, digest: &str) -> Self {
        Self {
            reference: self.reference.clone_with_digest(digest.to_owned()),
            tag: self.tag.clone(),
        }
    }

    pub fn reference(&self) -> &Reference {
        &self.reference
    }

    pub fn registry(&self) -> &str {
        self.reference.registry()
    }

    pub fn resolved(&self) -> &str {
        self.reference.resolve_registry()
    }

    /// The name under which Docker keeps credentials for the registry.
    pub fn credentials_key(&self) -> &str {
        match self.registry() {
            "docker.io" | "index.docker.io" => DOCKER_HUB_KEY,
            registry => registry,
        }
    }

    /// The last part of the name: a name for its file.
    pub fn short_name(&self) -> &str {
        let name = self.reference.repository();
        name.rsplit_once('/').map_or(name, |(_, last)| last)
    }

    pub fn is_loopback(&self) -> bool {
        let registry = self.registry();
        let host = match registry.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => registry,
        };
        let address = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost"
            || address
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Display for RegistryAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reference = &self.reference;
        write!(
            f,
            "{SCHEME}{}/{}",
            reference.registry(),
            reference.repository()
        )?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        match reference.digest() {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

/// Returns what is wrong with the form of a name with its tag or digest.
fn form_fault(name: &str) -> &'static str {
    match name.split_once([':', '@']) {
        Some((name, _)) if name.contains(|one: char| one.is_ascii_uppercase()) => {
            "its name has upper-case letters, and registries take lower-case ones only"
        }
        _ => {
            "its form is wrong: a name has single `.`, `_`, `-` and `/` between lower-case letters and digits, a tag at most 128 letters, digits, `.`, `_` and `-`, beginning with a letter or a digit, and a digest sha256: and 64 hexadecimal digits"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:9b0f7a3c5d2e4f61820a7c9e1b3d5f7082a4c6e8091b2d3f4a5c6e7f8091a2b3";

    #[test]
    fn an_address_is_read_and_shown() {
        let check = |text: &str, name: &str, is_loopback: bool| {
            let address = RegistryAddress::parse(text).expect(text);
            assert_eq!(address.to_string(), text);
            assert_eq!(address.short_name(), name, "{text}");
            assert_eq!(address.is_loopback(), is_loopback, "{text}");
        };
        check("oci://registry.example.com/portal:1.2.0", "portal", false);
        check("oci://localhost:5000/plugins/portal:1", "portal", true);
        check("oci://localhost/portal:1", "portal", true);
        check("oci://127.0.0.1:5000/a/b/c:latest", "c", true);
        check("oci://127.0.0.1.example.com/a:1", "a", false);
        check(
            &format!("oci://registry.example.com:443/a/portal@{DIGEST}"),
            "portal",
            false,
        );
        check(
            &format!("oci://localhost:1/portal:1@{DIGEST}"),
            "portal",
            true,
        );
    }

    #[test]
    fn an_address_that_names_no_version_or_no_host_is_refused() {
        for text in [
            "registry.example.com/portal:1",
            "oci://registry.example.com",
            "oci://registry.example.com/portal",
            "oci://portal:1",
            "oci://plugins/portal:1",
            "oci://registry.example.com/Portal:1",
            "oci://registry.example.com/portal:",
            "oci://registry.example.com/portal@sha256:12",
            "oci://registry.example.com/portal:1?x=y",
        ] {
            let error = RegistryAddress::parse(text).expect_err(text);
            assert!(error.contains("oci://REGISTRY/NAME:TAG"), "{error}");
        }
        for (text, why) in [
            ("oci://registry.example.com/a/Portal:1", "lower-case"),
            ("oci://registry.example.com/por tal:1", "single"),
            ("oci://registry.example.com/portal:", "a tag"),
            ("oci://registry.example.com/portal@sha256:12", "64 hex"),
        ] {
            let error = RegistryAddress::parse(text).expect_err(text);
            assert!(error.contains(why), "{error}");
        }
        let pinned = format!("oci://registry.example.com/portal@{DIGEST}");
        let error = RegistryAddress::parse_target(&pinned).expect_err("it is pinned");
        assert!(error.contains("name a tag"), "{error}");
    }

    #[test]
    fn a_pinned_address_keeps_the_tag_that_led_to_it() {
        let address =
            RegistryAddress::parse("oci://localhost:5000/portal:1.2.0").expect("it is one");
        let pinned = address.pinned(DIGEST);
        assert_eq!(
            pinned.to_string(),
            format!("oci://localhost:5000/portal:1.2.0@{DIGEST}")
        );
        assert_eq!(pinned.reference().digest(), Some(DIGEST));
        assert_eq!(
            RegistryAddress::parse(&pinned.to_string()).map(|one| one.to_string()),
            Ok(pinned.to_string())
        );
    }

    #[test]
    fn the_credentials_of_docker_hub_have_a_name_of_their_own() {
        let key = |text: &str| {
            let address = RegistryAddress::parse(text).expect(text);
            address.credentials_key().to_owned()
        };
        assert_eq!(key("oci://docker.io/ana/portal:1"), DOCKER_HUB_KEY);
        assert_eq!(key("oci://localhost:5000/portal:1"), "localhost:5000");
    }
}
