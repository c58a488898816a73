use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};

use super::finding::Findings;
use crate::cli::client::ServiceFile;
use crate::cli::prelude::*;
use leadhost_config::ServerSection;
use leadhost_http::listen;

const ABOUT: &str = "address";

/// Tries to bind each configured address. A running service may have been started with others: its own
/// are in the file in its data folder, and are named too.
pub async fn check(server: &ServerSection, running: Option<&ServiceFile>, findings: &mut Findings) {
    let served = running.is_some();
    if let Some(running) = running {
        findings.ok(
            ABOUT,
            format!(
                "The running service serves the gateway on {}, the data API on {} and the admin API on {}.",
                running.gateway, running.data, running.admin
            ),
        );
    }
    let keys = [
        ("server.listen", &server.listen),
        ("server.data_listen", &server.data_listen),
        ("server.admin_listen", &server.admin_listen),
    ];
    for (key, address) in keys.into_iter().filter(|(_, address)| !address.is_empty()) {
        match listen::bind(address).await {
            Ok(_) if served => findings.ok(
                ABOUT,
                format!("{key} = {address} is free: the running service uses other addresses."),
            ),
            Ok(_) => findings.ok(ABOUT, format!("{key} = {address} is free.")),
            Err(error) => {
                let asked = address.clone();
                let has_tls = server.has_tls() && key != "server.admin_listen";
                let answers = !has_tls
                    && tokio::task::spawn_blocking(move || is_leadhost(&asked))
                        .await
                        .unwrap_or(false);
                if answers && served {
                    findings.ok(ABOUT, format!("{key} = {address} is served by a Leadhost."));
                } else if answers {
                    findings.problem(
                        ABOUT,
                        format!("{key} = {address} is in use by another Leadhost."),
                        "Stop that service, or choose another address.",
                    );
                } else if has_tls && served {
                    findings.ok(
                        ABOUT,
                        format!("{key} = {address} is in use, with TLS, while the service runs."),
                    );
                } else {
                    findings.problem(
                        ABOUT,
                        format!("{key} = {address} cannot be used: {error}."),
                        "End the other program, or choose another address.",
                    );
                }
            }
        }
    }
}

fn is_leadhost(address: &str) -> bool {
    let Some(address) = address
        .to_socket_addrs()
        .ok()
        .and_then(|mut all| all.next())
    else {
        return false;
    };
    ask(address, limits::DOCTOR_DEADLINE)
        .is_ok_and(|answer| answer.contains(r#"{"status":"live"}"#))
}

fn ask(address: SocketAddr, within: Duration) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, within)?;
    stream.set_read_timeout(Some(within))?;
    stream.set_write_timeout(Some(within))?;
    write!(
        stream,
        "GET /health/live HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    stream.take(4_096).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
