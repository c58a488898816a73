//! TLS: the certificate with its key, when it ends, and what stands in front of plain HTTP.

use std::net::SocketAddr;

use super::finding::Findings;
use crate::cli::client::ServiceFile;
use crate::cli::prelude::*;
use leadhost_config::ServerSection;
use leadhost_domain::clock::Clock as _;
use leadhost_http::tls::{self, Tls};

const ABOUT: &str = "tls";

/// Checks the TLS files, or the proxy that has to stand in front. A running service is judged by its own
/// addresses: flags may have given it others than the configuration that this command reads.
pub fn check(server: &ServerSection, running: Option<&ServiceFile>, findings: &mut Findings) {
    match running {
        Some(running) if running.tls && !server.has_tls() => findings.ok(
            ABOUT,
            "The running service speaks TLS with files that its start named; name them in the configuration file to have them checked here.",
        ),
        Some(running) if !running.tls => {
            plain(&[&running.gateway, &running.data], server, findings);
        }
        _ if server.has_tls() => files(server, findings),
        _ => plain(&[&server.listen, &server.data_listen], server, findings),
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
            "The certificate and its key match, but its dates cannot be read.",
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
            format!("The certificate expired at {last}."),
            "Renew it; the service reads the files again when they change.",
        );
    } else if ends.since(now) < limits::DOCTOR_CERTIFICATE_WARNING {
        findings.warning(
            ABOUT,
            format!("The certificate expires at {last}."),
            "Renew it; the service reads the files again when they change.",
        );
    } else {
        findings.ok(
            ABOUT,
            format!("The certificate and its key match; the certificate is valid until {last}."),
        );
    }
}

/// Without TLS of its own the service needs a proxy that has it. `addresses` are the gateway's and the data
/// API's.
fn plain(addresses: &[&String], server: &ServerSection, findings: &mut Findings) {
    let mut given: Vec<&str> = addresses.iter().map(|address| address.as_str()).collect();
    // Without an address of its own, the data API is on the gateway's.
    given.dedup();
    let given = given.into_iter().filter(|address| !address.is_empty());
    let (near, far): (Vec<&str>, Vec<&str>) = given.partition(|address| is_loopback(address));
    if !far.is_empty() {
        findings.warning(
            ABOUT,
            format!(
                "The gateway and the data API speak plain HTTP on {}, which other machines may reach.",
                far.join(" and ")
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
                "The gateway and the data API speak plain HTTP on {}, which only this machine reaches.",
                near.join(" and ")
            ),
        );
    }
}

fn is_loopback(address: &str) -> bool {
    let address = address.parse::<SocketAddr>();
    address.is_ok_and(|address| address.ip().is_loopback())
}
