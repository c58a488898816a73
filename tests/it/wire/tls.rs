//! TLS from files: protocol negotiation, clients without TLS, and the renewal of
//! a certificate.

use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use leadhost_config::Config;
use leadhost_tests::service::serve;
use leadhost_tests::{Host, LONG, On, Options, has};
use rcgen::{CertifiedKey, KeyPair};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use super::{Http2Client, get, json};

const NAME: &str = "leadhost.test";

/// The files of a certificate that clients may trust.
struct CertificateFiles {
    folder: TempDir,
}

impl CertificateFiles {
    fn new() -> (Self, CertificateDer<'static>) {
        let files = Self {
            folder: tempfile::tempdir().expect("a folder"),
        };
        let certificate = files.renew();
        (files, certificate)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn renew(&self) -> CertificateDer<'static> {
        let made = certificate();
        self.write("key.pem", &key_of(&made));
        self.write("cert.pem", &pem("CERTIFICATE", made.cert.der()));
        made.cert.der().clone()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("written");
    }

    fn options(&self) -> Options {
        Options::on(On::Sqlite)
            .with("server.tls_certificate", self.path("cert.pem").display())
            .with("server.tls_key", self.path("key.pem").display())
    }
}

fn certificate() -> CertifiedKey<KeyPair> {
    rcgen::generate_simple_self_signed([NAME.to_owned()]).expect("a certificate")
}

fn key_of(made: &CertifiedKey<KeyPair>) -> String {
    pem("PRIVATE KEY", &made.signing_key.serialize_der())
}

fn pem(what: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    format!("-----BEGIN {what}-----\n{text}\n-----END {what}-----\n")
}

/// Opens a connection with the protocol that both sides prefer.
async fn connect(
    host: &Host,
    trusted: &CertificateDer<'static>,
    protocols: &[&[u8]],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).expect("a certificate");
    let provider = Arc::new(crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("known versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    let name = ServerName::try_from(NAME).expect("a name");
    let connector = TlsConnector::from(Arc::new(config));
    connector.connect(name, host.raw().await).await
}

async fn say(stream: &mut TlsStream<TcpStream>, text: &str) -> String {
    stream.write_all(text.as_bytes()).await.expect("open");
    let mut said = Vec::new();
    let read = timeout(LONG, stream.read_to_end(&mut said)).await;
    let _ = read.expect("the server closes the connection");
    String::from_utf8(said).expect("UTF-8")
}

#[tokio::test]
async fn a_client_gets_the_protocol_that_it_asks_for() {
    let (files, trusted) = CertificateFiles::new();
    let host = Host::start(files.options()).await;

    let stream = connect(&host, &trusted, &[b"h2", b"http/1.1"]).await;
    let stream = stream.expect("a connection");
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let mut client = Http2Client::over(stream).await;
    let answer = client.ask(get("/deal")).await.await.expect("an answer");
    assert_eq!(json(&answer)["statusCode"], 401);

    let ask = "GET /deal HTTP/1.1\r\nHost: leadhost.test\r\nConnection: close\r\n\r\n";
    for protocols in [&[&b"http/1.1"[..]][..], &[]] {
        let stream = connect(&host, &trusted, protocols).await;
        let mut stream = stream.expect("a connection");
        let said = say(&mut stream, ask).await;
        assert!(said.starts_with("HTTP/1.1 401 "), "{said}");
    }
    // The certificate covers one of the service's two names.
    let stranger = certificate().cert.der().clone();
    assert!(connect(&host, &stranger, &[]).await.is_err());
}

#[tokio::test]
async fn a_client_without_tls_gets_the_https_address() {
    let (files, _) = CertificateFiles::new();
    let host = Host::start(files.options()).await;
    let answer = host.get("/deal").send().await.expect(400);
    has!(answer.json()["message"].to_string(), "https://");
    // Operators connect on the machine itself.
    host.admin("GET", "/health/live").send().await.expect(200);
}

#[tokio::test]
async fn a_client_that_does_not_finish_the_handshake_is_disconnected() {
    let (files, _) = CertificateFiles::new();
    let host = Host::start(files.options().with("server.header_seconds", 1)).await;
    let mut stream = host.raw().await;
    stream.write_all(&[0x16, 3, 1]).await.expect("open");
    let mut said = Vec::new();
    let read = timeout(LONG, stream.read_to_end(&mut said)).await;
    let _ = read.expect("the server closes the connection");
}

#[tokio::test]
async fn a_certificate_that_changes_is_served_and_one_that_is_broken_is_not() {
    let (files, first) = CertificateFiles::new();
    let host = Host::start(files.options()).await;
    let stream = connect(&host, &first, &[b"h2"]).await;
    let mut client = Http2Client::over(stream.expect("a connection")).await;
    client.ask(get("/deal")).await.await.expect("an answer");

    // With a key that does not belong to the certificate, the previous one stays
    // in use.
    files.write("key.pem", &key_of(&certificate()));
    files.write("cert.pem", "no certificate");
    connect(&host, &first, &[]).await.expect("the one before");

    let second = files.renew();
    timeout(LONG, async {
        while connect(&host, &second, &[]).await.is_err() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("the new certificate is served");
    assert!(connect(&host, &first, &[]).await.is_err());
    // An open connection continues.
    client.ask(get("/deal")).await.await.expect("an answer");
}

#[test]
fn a_certificate_without_its_key_is_refused_by_name() {
    let only = [("server.tls_certificate".to_owned(), "cert.pem".to_owned())];
    let error = Config::load(None, &only).expect_err("refused").to_string();
    has!(error, "server.tls_key");
}

#[test]
fn a_start_names_the_file_that_is_no_certificate() {
    let (files, _) = CertificateFiles::new();
    files.write("key.pem", &key_of(&certificate()));
    let differ = "server.tls_certificate and server.tls_key cannot be used together: the key does not belong to the certificate";
    has!(refusal(&files), differ);
    files.write("cert.pem", "none");
    let no_pem = "cert.pem is not a PEM file with certificates";
    has!(refusal(&files), "server.tls_certificate = ", no_pem);
    std::fs::remove_file(files.path("key.pem")).expect("removed");
    has!(refusal(&files), "cannot read server.tls_key = ", "key.pem");
}

#[track_caller]
fn refusal(files: &CertificateFiles) -> String {
    let certificate = files.path("cert.pem");
    let certificate = format!("server.tls_certificate={}", certificate.display());
    let key = format!("server.tls_key={}", files.path("key.pem").display());
    let folder = tempfile::tempdir().expect("a folder");
    let output = serve(folder.path(), &["--set", &certificate, "--set", &key]);
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}
