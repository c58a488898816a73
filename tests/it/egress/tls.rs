//! Outgoing TLS: names are checked against certificates, connections are kept
//! and sessions resumed, and an error before the request was sent says so.

use leadhost_tests::has;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leadhost_domain::exchange::UrlScheme;
use leadhost_egress::{Egress, EgressError, EgressSettings};
use tokio::io::AsyncWriteExt as _;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{HandshakeKind, ServerConfig, crypto};

use super::remote_server::{PATIENCE, RemoteServer, hasty, reset, until_closed};

struct Secured {
    far: RemoteServer,
    trusted: Vec<u8>,
    handshakes: Arc<Mutex<Vec<HandshakeKind>>>,
}

impl Secured {
    async fn named(name: &str) -> Self {
        let own = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        let trusted = own.cert.der().to_vec();
        let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
        let provider = Arc::new(crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let handshakes = Arc::new(Mutex::new(Vec::new()));
        let done = Arc::clone(&handshakes);
        let far = RemoteServer::start(move |_, stream, seen| {
            let (acceptor, done) = (acceptor.clone(), Arc::clone(&done));
            async move {
                let Ok(mut stream) = acceptor.accept(stream).await else {
                    return;
                };
                let kind = stream.get_ref().1.handshake_kind().unwrap();
                done.lock().unwrap().push(kind);
                while seen.request(&mut stream).await {
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                    stream.write_all(answer).await.unwrap();
                    stream.flush().await.unwrap();
                }
            }
        })
        .await;
        Self {
            far,
            trusted,
            handshakes,
        }
    }

    fn egress(&self, idle_timeout: Duration) -> Egress {
        Egress::with(EgressSettings {
            idle_timeout,
            trusted: vec![self.trusted.clone()],
            ..EgressSettings::new(PATIENCE)
        })
    }
}

#[track_caller]
fn unreachable(error: EgressError) -> String {
    let EgressError::Unreachable { reason, .. } = error else {
        panic!("{error}");
    };
    reason
}

#[tokio::test]
async fn a_connection_over_tls_is_kept() {
    let secured = Secured::named("localhost").await;
    let egress = secured.egress(PATIENCE);
    for number in 0..20 {
        let body = number.to_string();
        let response = secured.far.call(&egress, "POST", UrlScheme::Https, &body);
        let response = response.await;
        assert_eq!(response.unwrap().body, b"ok");
    }
    assert_eq!(
        (secured.far.accepted(), secured.far.requests().len()),
        (1, 20)
    );
}

#[tokio::test]
async fn a_further_connection_resumes_the_session() {
    let secured = Secured::named("localhost").await;
    let egress = secured.egress(Duration::ZERO);
    for _ in 0..3 {
        secured
            .far
            .call(&egress, "POST", UrlScheme::Https, "x")
            .await
            .unwrap();
    }
    let handshakes = secured.handshakes.lock().unwrap().clone();
    assert_eq!(handshakes[0], HandshakeKind::Full);
    assert_eq!(handshakes[1..], [HandshakeKind::Resumed; 2]);
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused_before_anything_is_sent() {
    let secured = Secured::named("elsewhere.example").await;
    let egress = secured.egress(PATIENCE);
    let error = secured.far.call(&egress, "POST", UrlScheme::Https, "x");
    let error = error.await.unwrap_err();
    has!(unreachable(error), "certificate");
    assert!(secured.far.requests().is_empty());
}

#[tokio::test]
async fn an_untrusted_certificate_is_refused() {
    let secured = Secured::named("localhost").await;
    let error = secured
        .far
        .call(
            &super::remote_server::egress(),
            "POST",
            UrlScheme::Https,
            "x",
        )
        .await;
    has!(unreachable(error.unwrap_err()), "certificate");
    assert!(secured.far.requests().is_empty());
}

#[tokio::test]
async fn a_remote_server_that_hangs_or_breaks_off_before_the_handshake_got_nothing() {
    let hanging =
        RemoteServer::start(|_, mut stream, _| async move { until_closed(&mut stream).await });
    let error = hanging.await;
    let error = error.call(&hasty(), "POST", UrlScheme::Https, "x").await;
    unreachable(error.unwrap_err());
    let breaking = RemoteServer::start(|_, stream, _| async move { reset(stream) }).await;
    let error = breaking
        .call(
            &super::remote_server::egress(),
            "POST",
            UrlScheme::Https,
            "x",
        )
        .await;
    unreachable(error.unwrap_err());
}
