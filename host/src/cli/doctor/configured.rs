use tokio::net::TcpStream;
use url::Url;

use super::finding::Findings;
use crate::cli::prelude::*;

/// Checks that the inbox exists, and that the collector accepts connections from this machine. No request
/// is sent.
pub async fn check(config: &Config, findings: &mut Findings) {
    inbox(&config.plugins.inbox, findings);
    collector(&config.telemetry.otlp_endpoint, findings).await;
}

fn inbox(folder: &str, findings: &mut Findings) {
    const ABOUT: &str = "inbox";
    if folder.is_empty() {
        return;
    }
    match std::fs::read_dir(Path::new(folder)) {
        Ok(_) => findings.ok(ABOUT, format!("The inbox of plugins {folder} can be read.")),
        Err(error) => findings.problem(
            ABOUT,
            format!("The inbox of plugins {folder} cannot be read: {error}."),
            "Create the folder for the user of the service, or remove plugins.inbox.",
        ),
    }
}

async fn collector(endpoint: &str, findings: &mut Findings) {
    const ABOUT: &str = "telemetry";
    let url = Url::parse(endpoint).ok();
    let address =
        url.and_then(|url| Some((url.host_str()?.to_owned(), url.port_or_known_default()?)));
    let Some((host, port)) = address else {
        return;
    };
    // The resolver takes an IPv6 address without its brackets.
    let name = host.trim_matches(['[', ']']);
    let opened = TcpStream::connect((name, port));
    let why = match tokio::time::timeout(limits::DOCTOR_DEADLINE, opened).await {
        Ok(Ok(_)) => {
            let what = format!("The collector {host}:{port} accepts connections.");
            return findings.ok(ABOUT, what);
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no connection within {:?}", limits::DOCTOR_DEADLINE),
    };
    findings.problem(
        ABOUT,
        format!("The collector {host}:{port} cannot be reached from this machine: {why}."),
        "Start it, or correct telemetry.otlp_endpoint: until then nothing is exported.",
    );
}

#[cfg(test)]
mod tests {
    use super::super::finding::FindingState;
    use super::*;

    #[tokio::test]
    async fn a_missing_inbox_and_a_collector_that_does_not_listen_are_problems() {
        let mut findings = Findings::default();
        inbox("", &mut findings);
        collector("", &mut findings).await;
        assert!(findings.all().is_empty());
        let folder = tempfile::tempdir().expect("a folder");
        let there = folder.path().to_string_lossy().into_owned();
        inbox(&there, &mut findings);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("an address");
        let address = listener.local_addr().expect("an address");
        let endpoint = format!("http://{address}");
        collector(&endpoint, &mut findings).await;
        assert_eq!(findings.number(FindingState::Problem), 0);
        drop(listener);
        inbox(&format!("{there}/none"), &mut findings);
        collector(&endpoint, &mut findings).await;
        assert_eq!(findings.number(FindingState::Problem), 2);
    }
}
