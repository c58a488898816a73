//! Large answers: a client that does not read them takes no room from others.

use leadhost_domain::limits;
use leadhost_tests::{Ask, Host, LONG, On, Options, Seeded, eventually, figures, has};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

leadhost_tests::on_every_store! {
    a_client_that_does_not_read_large_answers_gets_no_more_of_them,
}

fn page(host: &Host, seeded: &Seeded) -> Ask {
    host.get("/v1/export/deals?limit=1000")
        .bearer(&seeded.workspace_key)
}

async fn a_client_that_does_not_read_large_answers_gets_no_more_of_them(on: On) {
    // Room for one page of the largest size, but not for two.
    let host = Host::start(Options::on(on.clone()).with("server.answers_mib", 1)).await;
    let seeded = host.workspace("demo").await;
    // As an earlier version stored them: more than the kernel buffers for a
    // client.
    let text = "x".repeat(limits::EXPORT_PAGE_BYTES * 3 / 10);
    for name in ["a", "b", "c"] {
        host.leads_with(&seeded, &[(name, "", "")], |lead| {
            lead.deal_props
                .insert("message".to_owned(), text.as_str().into());
        })
        .await;
    }
    host.advance(1).await;

    let mut idle = host.raw().await;
    let request = format!(
        "GET /v1/export/deals?limit=1000 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\n\r\n",
        seeded.workspace_key.reveal()
    );
    idle.write_all(request.as_bytes()).await.expect("open");
    let mut first = [0; 12];
    timeout(LONG, idle.read_exact(&mut first))
        .await
        .expect("an answer")
        .expect("open");
    assert_eq!(&first, b"HTTP/1.1 200");
    let refused = page(&host, &seeded).send().await;
    assert_eq!(refused.status, 503);
    assert_eq!(refused.header("retry-after"), "1");
    has!(refused, "Your address");
    // A small answer needs no room.
    let ask = host.get("/v1/whoami").bearer(&seeded.workspace_key);
    ask.send().await.expect(200);

    let mut rest = Vec::new();
    while rest.len() < 3 * text.len() {
        let count = timeout(LONG, idle.read_buf(&mut rest)).await;
        assert!(count.expect("an answer").expect("open") > 0);
    }
    eventually("the room is given back", async || {
        let answer = page(&host, &seeded).send().await;
        answer.status == 200
    })
    .await;
    let figure = "a client that does not read a large answer gets no second one (503); small answers of others are served meanwhile, and large ones once it has read";
    figures::record("slow", Some(&on), None, figure);
}
