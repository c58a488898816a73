//! The address of an admin API: plain HTTP, which is meant for loopback, or HTTPS.

use std::net::IpAddr;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::cli::prelude::*;

/// The address of an admin API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminTarget {
    /// The host, and the port unless it is the scheme's own: the Host header.
    pub authority: String,
    /// With HTTPS, the name that the certificate has to have.
    pub tls: Option<ServerName<'static>>,
}

impl AdminTarget {
    /// Reads `host:port`, `http://host:port` or `https://host`.
    pub fn parse(text: &str) -> CommandResult<Self> {
        let refused = || {
            CommandFailure::usage(format!(
                "`{text}` is not an address: expected host and port, such as 127.0.0.1:8081, or https://HOST"
            ))
        };
        let (is_tls, rest) = match text.strip_prefix("https://") {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix("http://").unwrap_or(text)),
        };
        let authority = rest.trim_end_matches('/');
        if authority.is_empty() || authority.contains(['/', '@', '?', '#']) {
            return Err(refused());
        }
        let mut target = Self {
            authority: authority.to_owned(),
            tls: None,
        };
        if is_tls {
            let name = ServerName::try_from(target.host().to_owned()).map_err(|_| refused())?;
            target.tls = Some(name);
        }
        Ok(target)
    }

    fn host(&self) -> &str {
        let (host, _) = split(&self.authority);
        host.trim_matches(['[', ']'])
    }

    pub fn address(&self) -> String {
        match (split(&self.authority).1, &self.tls) {
            (Some(_), _) => self.authority.clone(),
            (None, Some(_)) => format!("{}:443", self.authority),
            (None, None) => format!("{}:80", self.authority),
        }
    }

    /// Returns whether no one else can read what is sent there.
    pub fn is_private(&self) -> bool {
        let host = self.host();
        let is_loopback = || {
            host.parse()
                .is_ok_and(|address: IpAddr| address.is_loopback())
        };
        self.tls.is_some() || host.eq_ignore_ascii_case("localhost") || is_loopback()
    }
}

/// Splits host and port. An address of IPv6 is in brackets if it has a port.
fn split(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|one| one.is_ascii_digit()) => {
            (host, Some(port))
        }
        _ => (authority, None),
    }
}

/// Returns what makes TLS connections. `ca`: a file with certificates to trust as well.
pub fn connector(ca: Option<&Path>) -> CommandResult<TlsConnector> {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    if let Some(path) = ca {
        let refused = |what: &dyn std::fmt::Display| {
            failed!("{} has no certificates to trust: {what}", path.display())
        };
        let own: Vec<_> = CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect)
            .map_err(|error| refused(&error))?;
        let (added, _) = roots.add_parsable_certificates(own);
        if added == 0 {
            return Err(refused(&"expected a PEM file"));
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed!("TLS cannot be used: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_be_written_as_a_url() {
        let check = |text: &str, authority: &str, address: &str, private: bool| {
            let target = AdminTarget::parse(text).expect("an address");
            assert_eq!(target.authority, authority, "{text}");
            assert_eq!(target.address(), address, "{text}");
            assert_eq!(target.is_private(), private, "{text}");
        };
        check("http://127.0.0.1:1/", "127.0.0.1:1", "127.0.0.1:1", true);
        check("localhost:8081", "localhost:8081", "localhost:8081", true);
        check("[::1]:8081", "[::1]:8081", "[::1]:8081", true);
        check("10.0.0.7:8081", "10.0.0.7:8081", "10.0.0.7:8081", false);
        check(
            "http://leads.example",
            "leads.example",
            "leads.example:80",
            false,
        );
        check(
            "https://leads.example",
            "leads.example",
            "leads.example:443",
            true,
        );
        check(
            "https://leads.example:8443/",
            "leads.example:8443",
            "leads.example:8443",
            true,
        );
        for wrong in [
            "",
            "http://",
            "127.0.0.1:1/admin",
            "https://a b",
            "https://u:p@host",
        ] {
            assert!(AdminTarget::parse(wrong).is_err(), "{wrong}");
        }
    }
}
