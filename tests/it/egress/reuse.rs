//! Connections are kept, reused, and replaced if the remote server has closed them,
//! without an error for the caller and without sending a request twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use leadhost_domain::exchange::UrlScheme;
use leadhost_egress::EgressError;
use leadhost_egress::seal::Secrets;
use leadhost_tests::eventually;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::remote_server::{
    PATIENCE, RemoteServer, RemoteServerLog, egress, hasty, kept_for, reset, until_closed,
};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

#[tokio::test]
async fn many_calls_take_one_connection() {
    let far = RemoteServer::answering(OK).await;
    let egress = egress();
    for number in 0..50 {
        let response = far.post(&egress, &number.to_string()).await.unwrap();
        assert_eq!((response.status, &*response.body), (200, &b"ok"[..]));
    }
    assert_eq!(far.accepted(), 1);
    let connections = egress.connections();
    assert_eq!(
        (connections.opened, connections.reused, connections.idle),
        (1, 49, 1)
    );
    let bodies: Vec<String> = (0..50).map(|number| number.to_string()).collect();
    assert_eq!(far.requests(), bodies);
}

#[tokio::test]
async fn calls_at_once_take_a_connection_each_and_later_ones_take_those() {
    let far = Arc::new(RemoteServer::answering(OK).await);
    let egress = egress();
    for _ in 0..5 {
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let (far, egress) = (Arc::clone(&far), egress.clone());
            calls.spawn(async move { far.post(&egress, "x").await });
        }
        for result in calls.join_all().await {
            assert_eq!(result.unwrap().status, 200);
        }
    }
    assert!(far.accepted() <= 8, "{}", far.accepted());
}

#[tokio::test]
async fn a_chunked_answer_comes_whole_and_its_connection_is_kept() {
    let answer =
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    let far = RemoteServer::answering(answer).await;
    let egress = egress();
    for _ in 0..3 {
        assert_eq!(far.post(&egress, "x").await.unwrap().body, b"abcde");
    }
    assert_eq!(far.accepted(), 1);
}

#[tokio::test]
async fn a_connection_that_the_remote_server_does_not_keep_is_not_reused() {
    for answer in [
        "HTTP/1.0 200 OK\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\n\r\nok",
    ] {
        let far = RemoteServer::answering_once(answer).await;
        let egress = egress();
        for _ in 0..3 {
            assert_eq!(
                far.post(&egress, "x").await.unwrap().body,
                b"ok",
                "{answer}"
            );
        }
        assert_eq!(far.accepted(), 3, "{answer}");
        assert_eq!(egress.connections().idle, 0);
    }
}

#[tokio::test]
async fn a_short_keep_alive_of_the_remote_server_is_respected() {
    let answer = "HTTP/1.1 200 OK\r\nkeep-alive: max=9, timeout=1\r\ncontent-length: 2\r\n\r\nok";
    let far = RemoteServer::answering(answer).await;
    let egress = egress();
    for _ in 0..2 {
        far.post(&egress, "x").await.unwrap();
    }
    assert_eq!(far.accepted(), 2);
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_meanwhile_is_replaced_without_an_error() {
    // It closes the connection without announcing that.
    let far = RemoteServer::answering_once(OK).await;
    let egress = egress();
    for number in 0..5 {
        far.post(&egress, &number.to_string()).await.unwrap();
        eventually("the end is seen", async || egress.connections().idle == 0).await;
    }
    assert_eq!(far.requests(), ["0", "1", "2", "3", "4"]);
}

#[tokio::test]
async fn a_kept_connection_that_was_reset_meanwhile_is_replaced_without_an_error() {
    let answered = Arc::new(Notify::new());
    let may_reset = Arc::clone(&answered);
    let far = RemoteServer::start(move |_, mut stream, seen| {
        let may_reset = Arc::clone(&may_reset);
        async move {
            seen.request(&mut stream).await;
            stream.write_all(OK.as_bytes()).await.unwrap();
            may_reset.notified().await;
            reset(stream);
        }
    })
    .await;
    let egress = egress();
    for number in 0..5 {
        far.post(&egress, &number.to_string()).await.unwrap();
        answered.notify_one();
        eventually("the end is seen", async || egress.connections().idle == 0).await;
    }
    assert_eq!(far.requests(), ["0", "1", "2", "3", "4"]);
}

#[tokio::test]
async fn a_remote_server_that_closes_after_each_answer_gets_no_request_twice() {
    let far = RemoteServer::answering_once(OK).await;
    let egress = egress();
    for number in 0..200 {
        // The close may cross with the next request.
        match far.post(&egress, &number.to_string()).await {
            Ok(response) => assert_eq!(response.status, 200),
            Err(error) => assert!(error.may_be_sent(), "{error}"),
        }
    }
    let mut requests = far.requests();
    let came = requests.len();
    requests.dedup();
    assert_eq!(requests.len(), came);
}

#[tokio::test]
async fn an_unanswered_request_on_a_kept_connection_is_repeated_only_if_that_is_safe() {
    let serve = |number: usize, mut stream: TcpStream, seen: Arc<RemoteServerLog>| async move {
        seen.request(&mut stream).await;
        stream.write_all(OK.as_bytes()).await.unwrap();
        // The first connection takes a second request and dies with it.
        if seen.request(&mut stream).await && number > 0 {
            stream.write_all(OK.as_bytes()).await.unwrap();
            until_closed(&mut stream).await;
        }
    };
    let far = RemoteServer::start(serve).await;
    let egress = egress();
    far.post(&egress, "first").await.unwrap();
    let error = far.post(&egress, "second").await.unwrap_err();
    assert!(matches!(error, EgressError::NoAnswer { .. }), "{error}");
    assert_eq!(far.requests(), ["first", "second"]);

    let far = RemoteServer::start(serve).await;
    far.call(&egress, "GET", UrlScheme::Http, "").await.unwrap();
    far.call(&egress, "GET", UrlScheme::Http, "").await.unwrap();
    assert_eq!((far.requests().len(), far.accepted()), (3, 2));

    // `call_once` does not repeat even a GET: some gateways send a message on a GET.
    let far = RemoteServer::start(serve).await;
    let request = far.request("GET", UrlScheme::Http, "");
    let allow = far.allowed(UrlScheme::Http, true);
    let secrets = Secrets::default();
    let send = async || egress.call_once(&request, &secrets, &allow, || true).await;
    send().await.unwrap();
    let error = send().await.unwrap_err();
    assert!(matches!(error, EgressError::NoAnswer { .. }), "{error}");
    assert_eq!((far.requests().len(), far.accepted()), (2, 1));
}

#[tokio::test]
async fn unsolicited_bytes_end_a_kept_connection() {
    let twice = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n";
    let far = RemoteServer::answering(twice).await;
    let egress = egress();
    for _ in 0..3 {
        assert_eq!(far.post(&egress, "x").await.unwrap().status, 200);
        eventually("it is given up", async || egress.connections().idle == 0).await;
    }
    assert_eq!(far.accepted(), 3);
}

#[tokio::test]
async fn an_unused_connection_is_closed() {
    let far = RemoteServer::answering(OK).await;
    let egress = kept_for(Duration::from_millis(20));
    far.post(&egress, "x").await.unwrap();
    eventually("it is closed", async || egress.connections().idle == 0).await;
    far.post(&egress, "x").await.unwrap();
    assert_eq!(far.accepted(), 2);
}

#[tokio::test]
async fn the_remote_server_sees_the_end_of_an_unused_connection() {
    let (ended, end) = tokio::sync::oneshot::channel();
    let ended = std::sync::Mutex::new(Some(ended));
    let far = RemoteServer::start(move |_, mut stream, seen| {
        let ended = ended.lock().unwrap().take();
        async move {
            seen.request(&mut stream).await;
            stream.write_all(OK.as_bytes()).await.unwrap();
            until_closed(&mut stream).await;
            let _ = ended.unwrap().send(());
        }
    })
    .await;
    let egress = kept_for(Duration::from_millis(20));
    far.post(&egress, "x").await.unwrap();
    end.await.unwrap();
}

#[tokio::test]
async fn whether_a_request_is_wanted_is_asked_on_a_new_and_on_a_kept_connection() {
    let far = RemoteServer::answering(OK).await;
    let egress = egress();
    let request = far.request("POST", UrlScheme::Http, "x");
    let allow = far.allowed(UrlScheme::Http, true);
    let asked = AtomicUsize::new(0);
    let secrets = Secrets::default();
    let call = async |is_wanted: bool| {
        let wanted = || {
            asked.fetch_add(1, Ordering::SeqCst);
            is_wanted
        };
        egress.call(&request, &secrets, &allow, wanted).await
    };
    let error = call(false).await.unwrap_err();
    assert!(matches!(error, EgressError::TooLate), "{error}");
    call(true).await.unwrap();
    let error = call(false).await.unwrap_err();
    assert!(matches!(error, EgressError::TooLate), "{error}");
    call(true).await.unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 4);
    assert_eq!((far.requests().len(), far.accepted()), (2, 1));
}

#[tokio::test]
async fn a_connection_to_a_private_address_serves_no_call_that_may_not_go_there() {
    let far = RemoteServer::answering(OK).await;
    let egress = egress();
    far.post(&egress, "x").await.unwrap();
    assert_eq!(egress.connections().idle, 1);
    let request = far.request("POST", UrlScheme::Http, "y");
    let allow = far.allowed(UrlScheme::Http, false);
    let refused = egress
        .call(&request, &Secrets::default(), &allow, || true)
        .await;
    let error = refused.unwrap_err();
    assert!(matches!(error, EgressError::NotPublic { .. }), "{error}");
    assert_eq!(far.requests(), ["x"]);
}

#[tokio::test]
async fn a_remote_server_that_hangs_leaves_room_for_the_others() {
    let hanging = Arc::new(
        RemoteServer::start(|_, mut stream, _| async move { until_closed(&mut stream).await })
            .await,
    );
    let egress = egress();
    let call = || {
        let (hanging, egress) = (hanging.clone(), egress.clone());
        tokio::spawn(async move { hanging.post(&egress, "x").await })
    };
    let calls: Vec<_> = (0..140).map(|_| call()).collect();
    eventually("every permit is taken", async || hanging.accepted() == 128).await;
    let far = RemoteServer::answering(OK).await;
    far.post(&egress, "x").await.unwrap();
    assert_eq!(hanging.accepted(), 128);
    for call in calls {
        call.abort();
    }
    // Their permits are free again.
    let late = call();
    eventually("it gets its turn", async || hanging.accepted() == 129).await;
    late.abort();
}

#[tokio::test]
async fn waiting_for_a_turn_past_the_deadline_sends_nothing() {
    let hanging = Arc::new(
        RemoteServer::start(|_, mut stream, _| async move { until_closed(&mut stream).await })
            .await,
    );
    let egress = hasty();
    let request = hanging.request("POST", UrlScheme::Http, "x");
    let allow = hanging.allowed(UrlScheme::Http, true);
    let calls: Vec<_> = (0..128)
        .map(|_| {
            let (egress, request, allow) = (egress.clone(), request.clone(), allow.clone());
            tokio::spawn(async move {
                let secrets = Secrets::default();
                egress
                    .call_within(PATIENCE, &request, &secrets, &allow, || true)
                    .await
            })
        })
        .collect();
    eventually("every permit is taken", async || hanging.accepted() == 128).await;
    let error = hanging.post(&egress, "x").await.unwrap_err();
    assert!(matches!(error, EgressError::Unreachable { .. }), "{error}");
    for call in calls {
        call.abort();
    }
}
