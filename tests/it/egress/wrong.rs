//! Remote servers that misbehave, and what is then known about the request.

use std::time::Duration;

use leadhost_domain::exchange::UrlScheme;
use leadhost_egress::seal::Secrets;
use leadhost_egress::{Egress, EgressError};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use super::remote_server::{RemoteServer, egress, reset, until_closed};

const DEADLINE: Duration = Duration::from_secs(3);

#[track_caller]
fn no_answer(error: &EgressError) {
    assert!(matches!(error, EgressError::NoAnswer { .. }), "{error}");
    assert!(error.may_be_sent() && error.is_transient());
}

#[track_caller]
fn unreachable(error: &EgressError) {
    assert!(matches!(error, EgressError::Unreachable { .. }), "{error}");
    assert!(!error.may_be_sent() && error.is_transient());
}

/// Ends at a deadline by which the request has been sent even on a busy
/// machine.
async fn post_hastily(far: &RemoteServer, egress: &Egress, body: &str) -> EgressError {
    let (request, allow) = (
        far.request("POST", UrlScheme::Http, body),
        far.allowed(UrlScheme::Http, true),
    );
    let secrets = Secrets::default();
    let called = egress.call_within(DEADLINE, &request, &secrets, &allow, || true);
    called.await.unwrap_err()
}

#[tokio::test]
async fn a_refused_connection_sends_nothing() {
    let far = RemoteServer::answering("").await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut request = far.request("POST", UrlScheme::Http, "x");
    request.authority = listener.local_addr().unwrap().to_string();
    drop(listener);
    let mut allow = far.allowed(UrlScheme::Http, true);
    allow[0].authority.clone_from(&request.authority);
    let egress = egress();
    let error = egress
        .call(&request, &Secrets::default(), &allow, || true)
        .await;
    unreachable(&error.unwrap_err());
    assert_eq!(egress.connections().opened, 0);
}

#[tokio::test]
async fn a_reset_before_the_request_was_read_is_transient() {
    let far = RemoteServer::start(|_, stream, _| async move { reset(stream) }).await;
    let error = far.post(&egress(), "x").await.unwrap_err();
    // The bytes may have been in flight when the reset arrived.
    assert!(error.is_transient(), "{error}");
    assert!(far.requests().is_empty());
}

#[tokio::test]
async fn a_reset_after_the_request_leaves_the_outcome_unknown() {
    let far = RemoteServer::start(|_, mut stream, seen| async move {
        seen.request(&mut stream).await;
        reset(stream);
    })
    .await;
    no_answer(&far.post(&egress(), "x").await.unwrap_err());
    assert_eq!(far.requests(), ["x"]);
}

#[tokio::test]
async fn a_close_instead_of_an_answer_leaves_the_outcome_unknown() {
    let far = RemoteServer::answering_once("").await;
    no_answer(&far.post(&egress(), "x").await.unwrap_err());
    let far = RemoteServer::answering_once("HTTP/1.1 200 OK\r\ncontent-le").await;
    no_answer(&far.post(&egress(), "x").await.unwrap_err());
}

#[tokio::test]
async fn half_an_answer_leaves_the_outcome_unknown() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhal",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
    ] {
        let far = RemoteServer::answering_once(answer).await;
        no_answer(&far.post(&egress(), "x").await.unwrap_err());
    }
}

#[tokio::test]
async fn an_answer_that_is_no_http_leaves_the_outcome_unknown() {
    for answer in [
        "220 mail.example.com ready\r\n\r\n",
        "\0\0\0\0\0\0\0\0\r\n\r\n",
    ] {
        let far = RemoteServer::answering_once(answer).await;
        no_answer(&far.post(&egress(), "x").await.unwrap_err());
    }
}

#[tokio::test]
async fn a_remote_server_that_hangs_is_given_up_at_the_deadline_with_an_unknown_outcome() {
    let far = RemoteServer::start(|_, mut stream, seen| async move {
        seen.request(&mut stream).await;
        until_closed(&mut stream).await;
    })
    .await;
    let egress = egress();
    no_answer(&post_hastily(&far, &egress, "x").await);
    // Also in the middle of an answer, and on a kept connection.
    let far = RemoteServer::start(|_, mut stream, seen| async move {
        seen.request(&mut stream).await;
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        stream.write_all(answer).await.unwrap();
        seen.request(&mut stream).await;
        stream.write_all(&answer[..answer.len() - 1]).await.unwrap();
        until_closed(&mut stream).await;
    })
    .await;
    far.post(&egress, "x").await.unwrap();
    no_answer(&post_hastily(&far, &egress, "y").await);
    assert_eq!(far.requests(), ["x", "y"]);
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_not_read_to_its_end() {
    let far = RemoteServer::start(|_, mut stream, seen| async move {
        seen.request(&mut stream).await;
        let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head).await.unwrap();
        let mut chunk = b"10000\r\n".to_vec();
        chunk.resize(chunk.len() + 0x10000, b'x');
        chunk.extend(b"\r\n");
        // Until the client stops reading.
        while stream.write_all(&chunk).await.is_ok() {}
    })
    .await;
    no_answer(&far.post(&egress(), "x").await.unwrap_err());
}

#[tokio::test]
async fn an_answer_that_comes_before_the_request_is_read_is_an_answer() {
    let far = RemoteServer::start(|_, mut stream, _| async move {
        let answer = b"HTTP/1.1 413 Too large\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).await.unwrap();
        until_closed(&mut stream).await;
    })
    .await;
    let egress = egress();
    let response = far.post(&egress, &"x".repeat(8 << 20)).await.unwrap();
    assert_eq!(response.status, 413);
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let elsewhere = RemoteServer::answering("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let answer = format!(
        "HTTP/1.1 302 Found\r\nlocation: http://{}/\r\ncontent-length: 0\r\n\r\n",
        elsewhere.address
    );
    let far = RemoteServer::answering(answer.leak()).await;
    let response = far.post(&egress(), "x").await.unwrap();
    assert_eq!(response.status, 302);
    assert_eq!(elsewhere.accepted(), 0);
}

#[tokio::test]
async fn addresses_that_are_not_allowed_or_not_public_are_never_connected_to() {
    let far = RemoteServer::answering("").await;
    let (egress, secrets) = (egress(), Secrets::default());
    let request = far.request("POST", UrlScheme::Http, "x");
    let refused = egress.call(&request, &secrets, &[], || true).await;
    let refused = refused.unwrap_err();
    let expected = matches!(refused, EgressError::NotAllowed { .. });
    assert!(expected, "{refused}");
    let allow = far.allowed(UrlScheme::Http, false);
    let refused = egress.call(&request, &secrets, &allow, || true).await;
    let refused = refused.unwrap_err();
    let expected = matches!(refused, EgressError::NotPublic { .. });
    assert!(expected, "{refused}");
    assert!(!refused.is_transient());
    assert_eq!(far.accepted(), 0);
}
