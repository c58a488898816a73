//! Many concurrent requests over one connection, in clear text with prior
//! knowledge.

use leadhost_tests::{Host, LONG, On, Options, guests};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::{Http2Client, get, json, request};

const SOURCE: &str =
    "\n[[connections]]\nname = \"form\"\npartner = \"acme\"\nplugin = \"mapping\"\n";

#[tokio::test]
async fn leads_come_in_side_by_side_over_one_connection() {
    let host = Host::working(On::Sqlite).await;
    host.converter(guests::rust_component("converter-mapping"))
        .await;
    let address = host.declare(SOURCE).await.address("form");
    let mut client = Http2Client::over(host.raw().await).await;
    let mut asked = Vec::new();
    for number in 0..20 {
        let body = format!(r#"{{"id":"l-{number}","phone":"+55119876543{number:02}"}}"#);
        asked.push(client.ask(request("POST", &address, &body)).await);
    }
    for asked in asked {
        let answer = asked.await.expect("an answer");
        assert_eq!(answer.status(), 200, "{answer:?}");
        assert_eq!(json(&answer)["status"], "converted");
    }
    assert_eq!(host.count("select count(*) from deals").await, 20);
}

#[tokio::test]
async fn answers_are_those_of_http_1() {
    let host = Host::new(On::Sqlite).await;
    let mut client = Http2Client::over(host.raw().await).await;
    for (target, status) in [
        ("/health/live", 200),
        ("/deal", 401),
        ("/v1/whoami", 401),
        ("/nothing", 404),
        ("/openapi.json", 200),
    ] {
        let answer = client.ask(get(target)).await.await.expect("an answer");
        let first = host.get(target).header("accept-encoding", "identity");
        let first = first.send().await.expect(status);
        assert_eq!(answer.status(), status, "{target}");
        assert_eq!(answer.body(), &first.body, "{target}");
        for header in ["x-request-id", "cache-control", "x-content-type-options"] {
            assert!(answer.headers().contains_key(header), "{target}: {header}");
        }
    }
    let long = "x".repeat(9_000);
    let answer = client.ask(get(&format!("/deal?email={long}"))).await.await;
    assert_eq!(answer.expect("an answer").status(), 414);
}

#[tokio::test]
async fn a_host_that_is_not_the_authority_is_refused() {
    let host = Host::new(On::Sqlite).await;
    let mut client = Http2Client::over(host.raw().await).await;
    let with = |name: &'static str| {
        let mut request = get("/health/live");
        request
            .headers_mut()
            .insert("host", name.parse().expect("a name"));
        request
    };
    let same = client.ask(with("leadhost.test")).await.await;
    assert_eq!(same.expect("an answer").status(), 200);
    let other = client.ask(with("other.test")).await.await;
    assert_eq!(other.expect("an answer").status(), 400);
}

#[tokio::test]
async fn a_drain_answers_running_requests_and_ends_the_connection() {
    let host = Host::working(On::Sqlite).await;
    host.converter(guests::rust_component("converter-mapping"))
        .await;
    let address = host.declare(SOURCE).await.address("form");
    let mut client = Http2Client::over(host.raw().await).await;
    let asked = client
        .ask(request("POST", &address, r#"{"phone":"+5511987654321"}"#))
        .await;
    let (cut, answer) = tokio::join!(host.stop(LONG), asked);
    assert_eq!(cut, 0);
    let answer = answer.expect("an answer");
    assert_eq!(answer.status(), 200);
    assert!(!answer.headers().contains_key("connection"));
    let ended = timeout(LONG, client.connection).await.expect("it ends");
    ended.expect("no panic").expect("it ends in order");
}

#[tokio::test]
async fn a_client_that_asks_nothing_is_disconnected() {
    let host = Host::start(Options::on(On::Sqlite).with("server.header_seconds", 1)).await;
    let mut stream = host.raw().await;
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .await
        .expect("open");
    stream.write_all(&settings).await.expect("open");
    let mut said = Vec::new();
    // A reset is an end too.
    let read = timeout(LONG, stream.read_to_end(&mut said)).await;
    let _ = read.expect("the server closes the connection");
    assert_eq!(said.get(3), Some(&4), "its settings come first: {said:?}");
}

#[tokio::test]
async fn the_admin_address_speaks_http_1_alone() {
    let host = Host::new(On::Sqlite).await;
    let stream = tokio::net::TcpStream::connect(host.addresses.admin).await;
    let mut stream = stream.expect("the host listens");
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    stream.write_all(preface).await.expect("open");
    let mut said = Vec::new();
    // A reset is an end too.
    let read = timeout(LONG, stream.read_to_end(&mut said)).await;
    let _ = read.expect("the server closes the connection");
    assert!(said.is_empty(), "no settings come: {said:?}");
}
