//! TLS: the certificate with its key, when it ends, and what stands in front of plain HTTP.

use std::net::SocketAddr;

use super::finding::Findings;
use crate::clock::{Clock as _, SystemClock};
use crate::config::ServerSection;
use crate::domain::time::micros;
use crate::http::tls::{self, Tls};
use crate::limits;

const ABOUT: &str = "tls";

/// Checks the TLS files, or the proxy that has to stand in front.
pub fn check(server: &ServerSection, findings: &mut Findings) {
    if server.has_tls() {
        files(server, findings);
    } else {
        in_front(server, findings);
    }
    if server.trusted_proxies.contain_everyone() {
        findings.problem(
            "proxies",
            "server.trusted_proxies contains every address, so each sender may claim any address.",
            "Name only the addresses of your own proxies.",
        );
    }
}

fn files(server: &ServerSection, findings: &mut Findings) {
    if let Err(error) = Tls::from_config(server) {
        findings.problem(
            ABOUT,
            format!("The TLS files cannot be used: {error}."),
            "Both must be PEM files that the user of the service may read: the certificate first in its chain, the key without a password.",
        );
        return;
    }
    let Some((begins, ends)) = tls::validity(server) else {
        findings.warning(
            ABOUT,
            "The certificate and its key fit, and its dates cannot be read.",
            "Look at them with openssl x509 -dates.",
        );
        return;
    };
    let now = SystemClock.now();
    let (first, last) = (begins.to_string(), ends.to_string());
    if now < begins {
        findings.problem(
            ABOUT,
            format!("The certificate is valid from {first} on."),
            "Check the clock, or use another certificate.",
        );
    } else if now >= ends {
        findings.problem(
            ABOUT,
            format!("The certificate ended at {last}."),
            "Renew it; the service reads the files again when they change.",
        );
    } else if ends.0 - now.0 < micros(limits::DOCTOR_CERTIFICATE_WARNING) {
        findings.warning(
            ABOUT,
            format!("The certificate ends at {last}."),
            "Renew it; the service reads the files again when they change.",
        );
    } else {
        findings.ok(
            ABOUT,
            format!("The certificate and its key fit, and are valid until {last}."),
        );
    }
}

/// Without TLS of its own the service needs a proxy that has it.
fn in_front(server: &ServerSection, findings: &mut Findings) {
    let is_loopback = server
        .listen
        .parse::<SocketAddr>()
        .is_ok_and(|address| address.ip().is_loopback());
    if !is_loopback {
        findings.warning(
            ABOUT,
            format!(
                "The gateway speaks plain HTTP on {}, which other machines may reach.",
                server.listen
            ),
            "Set server.tls_certificate and server.tls_key, or let only a proxy with TLS reach it.",
        );
    } else if server.public_url.starts_with("https://") && server.trusted_proxies.is_empty() {
        findings.warning(
            ABOUT,
            "A proxy stands in front (server.public_url), and server.trusted_proxies names none, so all senders share the limits of one address.",
            "Name the addresses of the proxy in server.trusted_proxies.",
        );
    } else {
        findings.ok(
            ABOUT,
            format!(
                "The gateway speaks plain HTTP on {}, which only this machine reaches.",
                server.listen
            ),
        );
    }
}
