//! Why a TLS connection to a service was not made, and what to do.

use std::io;

use tokio_rustls::rustls::{CertificateError, Error};

use super::target::AdminTarget;
use crate::cli::failure::CommandFailure;
use crate::cli::lines::failed_line;

/// How the reason is named for which a certificate is refused that may sign others.
const OF_AUTHORITY: &str = "CaUsedAsEndEntity";

pub fn failure(target: &AdminTarget, error: &io::Error) -> CommandFailure {
    let authority = &target.authority;
    let cause = error
        .get_ref()
        .and_then(|cause| cause.downcast_ref::<Error>());
    let (what, hint) = match cause {
        Some(Error::InvalidCertificate(CertificateError::UnknownIssuer)) => (
            "its certificate is from an authority that is not trusted here".to_owned(),
            "if it is one of your own, pass its certificate with --ca FILE (PEM)".to_owned(),
        ),
        Some(Error::InvalidCertificate(why)) if why.to_string().contains(OF_AUTHORITY) => (
            "its certificate is a certificate authority's, which a server must not use".to_owned(),
            "make one without CA:TRUE; `openssl req -x509` needs -addext basicConstraints=critical,CA:FALSE".to_owned(),
        ),
        Some(Error::InvalidCertificate(why)) => (
            format!("its certificate is not valid for this address: {why}"),
            "write the name that the certificate has; for a certificate of your own, pass it, or its authority's, with --ca FILE (PEM)".to_owned(),
        ),
        Some(Error::InvalidMessage(_)) => (
            "it does not speak TLS".to_owned(),
            format!(
                "if it is plain HTTP, as the admin API itself is, write http://{authority}; HTTPS needs a proxy in front of it"
            ),
        ),
        _ => (
            format!("the handshake failed: {error}"),
            "the address may not be one of HTTPS; --ca FILE trusts further certificates".to_owned(),
        ),
    };
    failed_line!("no TLS with {authority}: {what}").hint(hint)
}

#[cfg(test)]
mod tests {
    use tokio_rustls::rustls::InvalidMessage;

    use super::*;

    #[test]
    fn a_fault_of_tls_is_named_with_what_to_do() {
        let target = AdminTarget::parse("https://leads.example").expect("an address");
        let says = |error: io::Error, parts: [&str; 2]| {
            let said = failure(&target, &error).to_string();
            assert!(said.contains("no TLS with leads.example: "), "{said}");
            for part in parts {
                assert!(said.contains(part), "{part}: {said}");
            }
        };
        let of = |error: Error| io::Error::new(io::ErrorKind::InvalidData, error);
        says(
            of(Error::InvalidCertificate(CertificateError::UnknownIssuer)),
            ["not trusted", "--ca FILE"],
        );
        says(
            of(Error::InvalidCertificate(CertificateError::Expired)),
            ["xpired", "--ca FILE"],
        );
        says(
            of(Error::InvalidMessage(InvalidMessage::InvalidContentType)),
            ["does not speak TLS", "http://leads.example"],
        );
        says(
            io::Error::from(io::ErrorKind::UnexpectedEof),
            ["the handshake failed", "HTTPS"],
        );
    }
}
