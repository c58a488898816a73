//! The server against clients that are slow, odd or hostile, the headers of every
//! answer, and its stop.

use std::time::{Duration, Instant};

use leadhost_tests::{Ask, Host, LONG, On, Options, figures, has};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

leadhost_tests::on_every_store! {
    a_connection_that_says_nothing_is_closed,
    headers_that_trickle_in_are_cut_off_and_others_are_served_meanwhile,
    connections_past_the_bound_wait_while_all_are_being_served,
    requests_that_are_not_http_are_refused_in_the_familys_format,
    line_feeds_in_bodies_and_requests_one_after_the_other_are_taken,
    a_body_with_ambiguous_chunks_is_refused_with_a_reason,
    a_head_behind_another_request_is_held_to_the_same_rules,
    surfaces_on_separate_addresses_serve_only_their_own_paths,
    every_other_method_gets_the_allowed_ones,
    head_is_get_without_the_body,
    every_answer_carries_the_requests_id,
    health_and_metrics_report_the_state_of_the_host,
    a_drain_finishes_running_requests_and_accepts_no_new_ones,
    a_drain_drops_requests_that_take_too_long,
    a_client_that_is_still_sending_can_read_the_refusal,
    a_body_past_the_limit_is_refused_before_it_is_read,
    a_body_that_does_not_arrive_is_given_up,
}

/// Reads what the server still sends, until it closes the connection.
async fn rest(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    // A reset is an end too.
    let read = timeout(LONG, stream.read_to_end(&mut text)).await;
    let _ = read.expect("the server closes the connection");
    String::from_utf8(text).expect("UTF-8")
}

async fn say(stream: &mut TcpStream, text: &str) {
    stream.write_all(text.as_bytes()).await.expect("open");
}

async fn impatient(on: On) -> Host {
    Host::start(Options::on(on).with("server.header_seconds", 3)).await
}

async fn a_connection_that_says_nothing_is_closed(on: On) {
    let host = impatient(on).await;
    let mut stream = host.raw().await;
    assert_eq!(rest(&mut stream).await, "");
}

async fn headers_that_trickle_in_are_cut_off_and_others_are_served_meanwhile(on: On) {
    let host = impatient(on.clone()).await;
    let begun = Instant::now();
    let mut stream = host.raw().await;
    say(&mut stream, "GET /health/live HTTP/1.1\r\nHost: a\r\n").await;
    let (mut reader, mut writer) = stream.split();
    let trickle = async {
        // Until the server closes the connection.
        while writer.write_all(b"X-A: b\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let read = async {
        let mut text = Vec::new();
        let read = timeout(LONG, reader.read_to_end(&mut text)).await;
        let _ = read.expect("an end");
        text
    };
    let served = async { host.get("/health/live").send().await.expect(200) };
    let (text, _) = tokio::join!(
        async {
            tokio::select! {
                text = read => text,
                () = trickle => Vec::new(),
            }
        },
        served
    );
    assert!(!text.starts_with(b"HTTP/1.1 2"), "{text:?}");
    let figure = format!(
        "headers that trickle in are cut off after {:.1} s of 3 allowed, others are served meanwhile",
        begun.elapsed().as_secs_f64()
    );
    figures::record("slow", Some(&on), None, &figure);
}

async fn connections_past_the_bound_wait_while_all_are_being_served(on: On) {
    let host = Host::start(Options::on(on).with("server.connections", 1)).await;
    let seeded = host.workspace("demo").await;
    let mut first = host.raw().await;
    let head = format!(
        "POST /ingest-lead/{} HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\
         Expect: 100-continue\r\n\r\n",
        seeded.connection
    );
    say(&mut first, &head).await;
    let mut byte = [0; 1];
    // The request is being served: the client was asked to continue.
    timeout(LONG, first.peek(&mut byte))
        .await
        .expect("a word")
        .expect("open");
    let mut second = host.raw().await;
    say(&mut second, "GET /health/live HTTP/1.0\r\n\r\n").await;
    let early = timeout(Duration::from_millis(100), second.peek(&mut byte)).await;
    assert!(early.is_err(), "it was served in parallel with the first");
    // Operators are admitted anyway.
    host.admin("GET", "/health/live").send().await.expect(200);
    drop(first);
    assert!(rest(&mut second).await.starts_with("HTTP/1.0 200 OK\r\n"));
}

async fn requests_that_are_not_http_are_refused_in_the_familys_format(on: On) {
    let host = Host::new(on).await;
    let long = "x".repeat(70_000);
    for (text, status) in [
        ("\u{16}\u{3}\u{1} not http at all\r\n\r\n".to_owned(), 400),
        ("GET /deal\r\n\r\n".to_owned(), 400),
        ("GET /deal HTTP/3.7\r\nHost: a\r\n\r\n".to_owned(), 400),
        ("GET  /deal HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), 400),
        ("GET /deal HTTP/1.1\r\n\r\n".to_owned(), 400),
        (
            "GET /deal HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".to_owned(),
            400,
        ),
        (
            "GET /deal HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n".to_owned(),
            400,
        ),
        ("GET /deal HTTP/1.1\r\nHost : a\r\n\r\n".to_owned(), 400),
        (
            "GET /deal HTTP/1.1\r\nHost: a b/c@d\r\n\r\n".to_owned(),
            400,
        ),
        ("GET /deal HTTP/1.1\nHost: a\n\n".to_owned(), 400),
        ("GET /deal HTTP/1.1\r\nHost: a\n\r\n".to_owned(), 400),
        ("GET /deal HTTP/1.1\r\nHost: a\r\n\n".to_owned(), 400),
        (
            "POST /deal HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"
                .to_owned(),
            400,
        ),
        (
            "POST /deal HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n".to_owned(),
            501,
        ),
        (
            "POST /deal HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
             Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"
                .to_owned(),
            501,
        ),
        (
            "POST /deal HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
             Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"
                .to_owned(),
            501,
        ),
        (
            format!("GET /deal HTTP/1.1\r\nHost: a\r\nx: {long}\r\n\r\n"),
            431,
        ),
    ] {
        let mut stream = host.raw().await;
        say(&mut stream, &text).await;
        // A request whose only fault is its hosts leaves its connection open.
        stream.shutdown().await.expect("open");
        let said = rest(&mut stream).await;
        assert!(
            said.starts_with(&format!("HTTP/1.1 {status} "))
                || said.starts_with(&format!("HTTP/1.0 {status} ")),
            "{text:.60?}: {said}"
        );
        let (head, body) = said.split_once("\r\n\r\n").expect("a head");
        has!(head, "\r\nx-request-id: "; "{text:.60?}");
        let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
        assert_eq!(body["statusCode"], status, "{text:.60?}");
        assert!(body["message"].is_string(), "{text:.60?}");
    }
}

async fn line_feeds_in_bodies_and_requests_one_after_the_other_are_taken(on: On) {
    let host = Host::new(on).await;
    let mut stream = host.raw().await;
    let unknown = "{\n\"a\": 1\n}\n";
    for close in ["", "Connection: close\r\n"] {
        let ask = format!(
            "POST /ingest-lead/{} HTTP/1.1\r\nHost: a\r\n{close}Content-Length: {}\r\n\r\n",
            "x".repeat(22),
            unknown.len()
        );
        say(&mut stream, &ask).await;
        let mut answer = Vec::new();
        // The answer is sent before the body is read, and the body is not read as a
        // request.
        while !answer.ends_with(b"}") {
            let mut bytes = [0; 1024];
            let count = timeout(LONG, stream.read(&mut bytes)).await;
            let count = count.expect("an answer").expect("open");
            assert!(count > 0, "closed after {answer:?}");
            answer.extend_from_slice(&bytes[..count]);
        }
        assert!(answer.starts_with(b"HTTP/1.1 404 "), "{answer:?}");
        say(&mut stream, unknown).await;
    }
}

async fn a_body_with_ambiguous_chunks_is_refused_with_a_reason(on: On) {
    let host = Host::new(on).await;
    let address = format!("/ingest-lead/{}", host.workspace("demo").await.connection);
    for chunks in [
        "3\n{\n}\r\n0\r\n\r\n",
        "3\r\n{\n}\n0\r\n\r\n",
        "x\r\n{}\r\n0\r\n\r\n",
    ] {
        for at_once in [true, false] {
            let mut stream = host.raw().await;
            let head =
                format!("POST {address} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
            if at_once {
                say(&mut stream, &format!("{head}{chunks}")).await;
            } else {
                say(&mut stream, &head).await;
                say(&mut stream, chunks).await;
            }
            let said = rest(&mut stream).await;
            assert!(said.starts_with("HTTP/1.1 400 "), "{chunks:?}: {said}");
            has!(said, "is not in chunks"; "{chunks:?}");
        }
    }
}

async fn a_head_behind_another_request_is_held_to_the_same_rules(on: On) {
    let host = Host::new(on).await;
    let unknown = format!("/ingest-lead/{}", "x".repeat(22));
    for first in [
        "GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        format!("POST {unknown} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n{{\n}}"),
        format!(
            "POST {unknown} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
             3\r\n{{\n}}\r\n0\r\n\r\n"
        ),
    ] {
        let mut stream = host.raw().await;
        let good = "GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n";
        let bad = "GET /health/live HTTP/1.1\nHost: a\r\n\r\n";
        say(&mut stream, &format!("{first}{good}{bad}{good}")).await;
        let said = rest(&mut stream).await;
        let answers: Vec<_> = said.matches("HTTP/1.1 ").collect();
        assert_eq!(answers.len(), 3, "{said}");
        assert_eq!(said.matches("HTTP/1.1 400 ").count(), 1, "{said}");
        let (_, last) = said.rsplit_once("HTTP/1.1 ").expect("answers");
        assert!(last.starts_with("400 "), "{said}");
    }
}

async fn surfaces_on_separate_addresses_serve_only_their_own_paths(on: On) {
    let host = Host::start(Options::on(on).with("server.data_listen", "127.0.0.1:0")).await;
    assert_ne!(host.addresses.gateway, host.addresses.data);
    let ask = |to, target| Ask::new(to, "GET".parse().expect("a method"), target).send();
    let (gateway, data) = (host.addresses.gateway, host.addresses.data);
    ask(gateway, "/deal").await.expect(401);
    ask(gateway, "/v1/whoami").await.expect(404);
    ask(data, "/v1/whoami").await.expect(401);
    let answer = ask(data, "/deal").await.expect(404);
    assert!(answer.json()["error"].is_string());
    for path in ["/metrics", "/admin/v1/anything"] {
        ask(gateway, path).await.expect(404);
        ask(data, path).await.expect(404);
    }
}

async fn every_other_method_gets_the_allowed_ones(on: On) {
    let host = Host::new(on).await;
    for method in ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
        let answer = host.ask(method, "/deal").send().await.expect(405);
        assert_eq!(answer.header("allow"), "GET, HEAD, POST", "{method}");
        assert_eq!(answer.json()["statusCode"], 405);
    }
    for (path, allowed) in [
        ("/ingest-lead/abc", "GET, HEAD, POST"),
        ("/deal/abc", "GET, HEAD, PATCH"),
        ("/api/v1/deals/abc/log", "GET, HEAD, POST"),
    ] {
        let answer = host.ask("DELETE", path).send().await.expect(405);
        assert_eq!(answer.header("allow"), allowed, "{path}");
    }
    let mut stream = host.raw().await;
    let connect = "CONNECT example.com:443 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    say(&mut stream, connect).await;
    let text = rest(&mut stream).await;
    assert!(text.starts_with("HTTP/1.1 405 "), "{text}");
    has!(text, "\r\nallow: GET, ");
}

async fn head_is_get_without_the_body(on: On) {
    let host = Host::new(on).await;
    let get = host.get("/health/live").send().await.expect(200);
    let head = host.ask("HEAD", "/health/live").send().await.expect(200);
    assert_eq!(head.body.len(), 0);
    assert_eq!(head.header("content-length"), get.body.len().to_string());
    assert_eq!(head.header("content-type"), get.header("content-type"));
    host.ask("HEAD", "/v1/whoami").send().await.expect(401);
}

async fn every_answer_carries_the_requests_id(on: On) {
    let host = Host::new(on).await;
    for target in ["/health/live", "/deal", "/v1/whoami", "/nothing"] {
        let made = host.get(target).send().await;
        assert_eq!(made.header("x-request-id").len(), 32, "{target}");
        let ask = host.get(target).header("x-request-id", "my/own:1");
        let kept = ask.send().await;
        assert_eq!(kept.header("x-request-id"), "my/own:1", "{target}");
        let ask = host.get(target).header("x-request-id", "two words");
        let unfit = ask.send().await;
        assert_eq!(unfit.header("x-request-id").len(), 32, "{target}");
    }
}

async fn health_and_metrics_report_the_state_of_the_host(on: On) {
    let host = Host::new(on).await;
    assert_eq!(
        host.get("/health/ready").send().await.expect(200).json()["status"],
        "ready"
    );
    host.get("/nothing").send().await.expect(404);
    let metrics = host.admin("GET", "/metrics").send().await.expect(200);
    has!(metrics, "leadhost_requests_total{route=\"health-ready\",status=\"2xx\"} 1", "leadhost_requests_total{route=\"none\",status=\"4xx\"} 1", "leadhost_backlog{status=\"queued\"} 0"; "\n");
}

async fn a_drain_finishes_running_requests_and_accepts_no_new_ones(on: On) {
    // Long enough for a request on a busy machine.
    let host = Host::start(Options::on(on).with("server.linger_ms", 3_000)).await;
    let mut begun = host.raw().await;
    say(&mut begun, "GET /health/live HTTP/1.1\r\n").await;
    let mut idle = host.raw().await;
    say(&mut idle, "GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let mut byte = [0; 1];
    timeout(LONG, idle.peek(&mut byte))
        .await
        .expect("served")
        .expect("open");

    let app = host.app.clone();
    let drain = tokio::spawn(async move { app.core.shutdown.drain(LONG).await });
    host.app.core.shutdown.begun().await;
    // A client that sends one more request is answered with the notice that the
    // connection ends.
    say(&mut idle, "GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let text = rest(&mut idle).await;
    assert_eq!(text.matches("HTTP/1.1 200").count(), 2, "{text}");
    assert_eq!(
        text.matches("\r\nconnection: close\r\n").count(),
        1,
        "{text}"
    );
    // Operators see that it drains, and why it is not ready.
    let ready = host.admin("GET", "/health/ready").send().await.expect(503);
    assert_eq!(ready.json()["reasons"][0], "draining");
    while TcpStream::connect(host.addresses.gateway).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(!drain.is_finished());
    say(&mut begun, "Host: a\r\n\r\n").await;
    let text = rest(&mut begun).await;
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    has!(text, "\r\nconnection: close\r\n");
    assert_eq!(drain.await.expect("no panic"), 0);
}

async fn a_drain_drops_requests_that_take_too_long(on: On) {
    let host = Host::new(on).await;
    let mut begun = host.raw().await;
    say(&mut begun, "GET /health/live HTTP/1.1\r\n").await;
    // A later connection was served, so this one is certainly accepted.
    host.get("/health/live").send().await.expect(200);
    // Long enough for that connection to end on a busy machine.
    assert_eq!(host.stop(Duration::from_secs(2)).await, 1);
    assert_eq!(rest(&mut begun).await, "");
}

async fn a_client_that_is_still_sending_can_read_the_refusal(on: On) {
    let host = Host::new(on).await;
    let mut stream = host.raw().await;
    let body = vec![b'x'; 6 << 20];
    let head = format!(
        "PUT /deal HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    say(&mut stream, &head).await;
    stream.write_all(&body).await.expect("the body is taken");
    assert!(rest(&mut stream).await.starts_with("HTTP/1.1 405 "));
}

async fn a_body_past_the_limit_is_refused_before_it_is_read(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let mut stream = host.raw().await;
    let head = format!(
        "POST /ingest-lead/{} HTTP/1.1\r\nHost: a\r\nContent-Length: 4194305\r\n\
         Expect: 100-continue\r\nConnection: close\r\n\r\n",
        seeded.connection
    );
    say(&mut stream, &head).await;
    let text = rest(&mut stream).await;
    assert!(text.starts_with("HTTP/1.1 413 "), "{text}");
    has!(text, "\"statusCode\":413");
}

async fn a_body_that_does_not_arrive_is_given_up(on: On) {
    let host = Host::start(Options::on(on.clone()).with("server.body_seconds", 2)).await;
    let seeded = host.workspace("demo").await;
    let begun = Instant::now();
    let mut stream = host.raw().await;
    let head = format!(
        "POST /ingest-lead/{} HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf",
        seeded.connection
    );
    say(&mut stream, &head).await;
    let text = rest(&mut stream).await;
    assert!(text.starts_with("HTTP/1.1 408 "), "{text}");
    let figure = format!(
        "a body that does not arrive is refused, and its connection closed, after {:.1} s; 2 are allowed for the body",
        begun.elapsed().as_secs_f64()
    );
    figures::record("slow", Some(&on), None, &figure);
}
