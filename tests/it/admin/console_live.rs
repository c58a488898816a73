//! Pages of the console that follow the service: server-sent events.

use leadhost_tests::{On, eventually, has};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::console::{Browser, ask, revoke};
use super::{Operator, TOKEN};

leadhost_tests::on_every_store! {
    a_live_page_shows_a_new_delivery_until_its_session_ends,
    a_live_page_ends_with_its_key,
    a_live_page_ends_when_the_service_stops,
    more_live_pages_than_may_follow_are_refused_until_one_closes,
}

struct LiveStream {
    stream: tokio::net::TcpStream,
    text: String,
}

impl LiveStream {
    /// Asks for a stream, and reads the answer up to its first event or its end.
    async fn open(browser: &Browser<'_>) -> Self {
        let address = browser.operator.host.admin_address();
        let stream = tokio::net::TcpStream::connect(address).await;
        let mut stream = stream.expect("it connects");
        let request = format!(
            "GET /console/live HTTP/1.1\r\nhost: {address}\r\ncookie: {}\r\nconnection: close\r\n\r\n",
            browser.cookie
        );
        stream
            .write_all(request.as_bytes())
            .await
            .expect("it is sent");
        let text = String::new();
        let mut live = Self { stream, text };
        while !live.text.contains("retry: ") && live.read().await {}
        live
    }

    /// Reads on. Returns false at the end of the answer.
    async fn read(&mut self) -> bool {
        let mut piece = [0; 4_096];
        let length = self.stream.read(&mut piece).await.expect("it is read");
        self.text += &String::from_utf8_lossy(&piece[..length]);
        length > 0
    }

    fn is_open(&self) -> bool {
        self.text.starts_with("HTTP/1.1 200 ")
            && self.text.contains("content-type: text/event-stream")
            && self.text.contains("retry: ")
    }

    /// Reads to the end, for which a stream that does not end waits for ever.
    async fn ends(mut self) {
        while self.read().await {}
    }
}

async fn a_live_page_shows_a_new_delivery_until_its_session_ends(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    // A browser without a session must not ask again.
    assert_eq!(ask(&operator, "GET", "/live").send().await.status, 204);
    let browser = Browser::signed_in(&operator).await;
    let mut live = LiveStream::open(&browser).await;
    assert!(live.is_open(), "{}", live.text);
    operator.lead(&report, TOKEN, "1").await.expect(200);
    while !live.text.contains("event: changed") {
        assert!(live.read().await, "{}", live.text);
    }
    browser.follow("/sign-out", &[]).await;
    live.ends().await;
    assert_eq!(browser.get("/live").await.status, 204);
}

async fn a_live_page_ends_with_its_key(on: On) {
    let operator = Operator::new(on).await;
    let browser = Browser::with_role(&operator, "viewer").await;
    let live = LiveStream::open(&browser).await;
    assert!(live.is_open(), "{}", live.text);
    revoke(&operator, "viewer").await;
    live.ends().await;
    assert_eq!(browser.get("/live").await.status, 204);
}

async fn a_live_page_ends_when_the_service_stops(on: On) {
    let operator = Operator::new(on).await;
    let browser = Browser::signed_in(&operator).await;
    let live = LiveStream::open(&browser).await;
    assert!(live.is_open(), "{}", live.text);
    // It does not hold up the end: nothing is left when the time is over.
    let left = operator.host.stop(std::time::Duration::from_secs(60)).await;
    assert_eq!(left, 0);
    live.ends().await;
}

async fn more_live_pages_than_may_follow_are_refused_until_one_closes(on: On) {
    let operator = Operator::new(on).await;
    let browser = Browser::signed_in(&operator).await;
    let mut streams = Vec::new();
    for _ in 0..leadhost_domain::limits::CONSOLE_STREAMS {
        let live = LiveStream::open(&browser).await;
        assert!(live.is_open(), "{}", live.text);
        streams.push(live);
    }
    let refused = browser.get("/live").await;
    assert_eq!(refused.status, 503);
    let words = "24 open pages of this host already receive updates";
    has!(refused, words);
    // Pages are answered all the same.
    browser.page("/deliveries").await;
    streams.pop();
    eventually("a place is free", async || {
        let live = LiveStream::open(&browser).await;
        live.is_open()
    })
    .await;
}
