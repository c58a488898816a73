//! The commands that call a service behind HTTPS: a fault of TLS is named, and a certificate that is
//! trusted is taken by every command.

use leadhost_tests::has;
use std::net::SocketAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use leadhost_domain::key::{KeyKind, PlainKey};
use leadhost_tests::service::command;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, crypto};

const ANSWER: &str = "HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 29\r\nconnection: close\r\n\r\n{\"error\":\"no such thing: xy\"}";

/// A server that refuses every request, and its certificate if it speaks TLS.
async fn start(name: Option<&str>) -> (SocketAddr, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (acceptor, certificate) = match name {
        Some(name) => {
            let own = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
            let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
            let provider = Arc::new(crypto::ring::default_provider());
            let config = ServerConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(vec![own.cert.der().clone()], key)
                .unwrap();
            (
                Some(TlsAcceptor::from(Arc::new(config))),
                pem(own.cert.der()),
            )
        }
        None => (None, String::new()),
    };
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            match &acceptor {
                // The client may go away in the handshake.
                Some(acceptor) => {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        refuse(stream).await;
                    }
                }
                None => refuse(stream).await,
            }
        }
    });
    (address, certificate)
}

fn pem(certificate: &[u8]) -> String {
    let lines = STANDARD.encode(certificate);
    format!("-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n")
}

async fn refuse(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let mut request = [0; 4096];
    let _ = stream.read(&mut request).await;
    let _ = stream.write_all(ANSWER.as_bytes()).await;
    let _ = stream.shutdown().await;
}

#[tokio::test]
async fn a_fault_of_tls_is_named_and_every_command_takes_a_certificate_to_trust() {
    let folder = tempfile::tempdir().unwrap();
    let (own, certificate) = start(Some("localhost")).await;
    let (other, others) = start(Some("leads.example")).await;
    let (plain, _) = start(None).await;
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, certificate + &others).unwrap();
    let ca = ca.to_string_lossy().into_owned();
    let key = PlainKey::generate(KeyKind::Admin).reveal().to_owned();
    let says = async |arguments: Vec<String>, parts: &[&str]| {
        let path = folder.path().to_owned();
        let key = key.clone();
        let run = spawn_blocking(move || {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let mut command = command(&path, &arguments);
            command.env("LEADHOST_ADMIN_KEY", key).output().unwrap()
        });
        let output = run.await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        for part in parts {
            has!(said, part);
        }
    };
    let at = |words: &str, address: SocketAddr, ca: Option<&str>| {
        let mut all: Vec<String> = words.split(' ').map(str::to_owned).collect();
        all.push("--admin".to_owned());
        all.push(format!("https://localhost:{}", address.port()));
        for word in ca.map(|ca| ["--ca", ca]).into_iter().flatten() {
            all.push(word.to_owned());
        }
        all
    };
    says(at("status", own, None), &["not trusted", "--ca FILE"]).await;
    let given = ["does not speak TLS", "http://localhost"];
    says(at("status", plain, None), &given).await;
    let named = ["not valid for this address", "leads.example"];
    says(at("status", other, Some(&ca)), &named).await;
    // The answer of the server arrives.
    for words in [
        "status",
        "plugin rollback ana",
        "plugin list",
        "delivery export 019cae2b-3f60-7c11-b0de-1f2a5b7c9d01 --golden x/y",
    ] {
        says(at(words, own, Some(&ca)), &["no such thing: xy"]).await;
    }
    let mut plainly = at("status", own, None);
    plainly[2] = format!("localhost:{}", own.port());
    says(plainly, &["write https://localhost"]).await;
}
