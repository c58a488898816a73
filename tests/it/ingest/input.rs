//! Input that is odd, broken, too large or cut off.

use std::time::Instant;

use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::limits;
use leadhost_tests::{On, eventually, fields, has, until};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;

use super::{form, lead, misbehaving};

leadhost_tests::on_every_store! {
    an_unknown_connection_is_not_found_in_the_gateways_shape,
    bodies_that_are_no_json_are_refused_and_kept,
    a_body_that_is_no_utf_8_is_read_in_its_legacy_encoding,
    a_body_over_the_limit_is_too_large_and_one_of_that_size_is_not,
    a_body_nested_without_end_is_refused_at_once,
    ids_keep_all_their_digits,
    a_phone_that_cannot_be_read_is_kept_and_noted,
    blank_texts_are_absent_and_a_lead_of_them_alone_makes_no_deal,
    a_sender_that_hangs_up_after_its_body_loses_nothing,
    an_incomplete_body_leaves_nothing,
    a_sender_that_does_not_wait_for_a_slow_conversion_loses_nothing,
}

async fn an_unknown_connection_is_not_found_in_the_gateways_shape(on: On) {
    let (host, _) = form(on).await;
    for id in ["AAAAAAAAAAAAAAAAAAAAAA", "x", "..", "%00"] {
        let target = format!("/ingest-lead/{id}");
        for ask in [host.post(&target), host.get(&target)] {
            let answer = ask.send().await.expect(404).json();
            fields!(answer, {"statusCode": 404, "error": "Not Found"}; "{id}");
        }
    }
}

async fn bodies_that_are_no_json_are_refused_and_kept(on: On) {
    let (host, declared) = form(on).await;
    let bodies: [&[u8]; 3] = [b"", b"nome=Ana", b"\xff\xfe{}"];
    for body in bodies {
        let ask = host.post(&declared.address("form")).body(body.to_vec());
        ask.send().await.expect(400);
    }
    let kept = host.with_status(DeliveryStatus::Rejected).await;
    assert_eq!(kept.len(), bodies.len());
}

async fn blank_texts_are_absent_and_a_lead_of_them_alone_makes_no_deal(on: On) {
    let (host, declared) = misbehaving(on, "source", "blank", 0).await;
    let ask = host.post(&declared.address("source")).body("{}");
    let answer = ask.send().await.expect(200);
    let said = answer.json();
    fields!(said, {"problems.0.item": 0, "problems.0.status": "invalid"});
    assert_eq!(said["leads"].as_array().map(Vec::len), Some(1), "{said}");
    assert_eq!(host.rows(&declared, "contacts").await.len(), 1);
    let deals = host.rows(&declared, "deals").await;
    assert_eq!(deals.len(), 1);
    let props = &deals[0]["props"];
    fields!(props, {
        "contact": {"phones": ["+5511987654321"]}, "attributes": {"x": 1, "budget": "10 mil"},
        "source": "source",
    });
    for absent in "message listings campaign unreadPhones unreadEmails".split(' ') {
        assert!(props.get(absent).is_none(), "{absent}: {props}");
    }
    let notes = host.delivery(&answer).await.notes.join(" ");
    has!(notes, "not JSON", "budget");
}

async fn a_body_that_is_no_utf_8_is_read_in_its_legacy_encoding(on: On) {
    let (host, declared) = form(on).await;
    let body = b"{\"id\":\"f-1\",\"nome\":\"Jos\xe9\",\"telefone\":\"11 98888-0001\"}";
    let ask = host.post(&declared.address("form")).body(&body[..]);
    let answer = ask.send().await.expect(200);
    assert_eq!(answer.json()["status"], "converted");
    assert_eq!(host.delivery(&answer).await.request.body, body);
    let deals = host.deals(&declared, "externalId=f-1").await;
    assert_eq!(deals[0]["person"]["name"], "José");
}

async fn a_body_over_the_limit_is_too_large_and_one_of_that_size_is_not(on: On) {
    let (host, declared) = form(on).await;
    let mut body = lead("f-1", "Lia Prado", "11 98888-0001").to_string();
    body.push_str(&" ".repeat(limits::DELIVERY_BYTES - body.len()));
    let ask = |body: String| host.post(&declared.address("form")).body(body);
    let answer = ask(format!("{body} ")).send().await.expect(413);
    assert_eq!(answer.json()["statusCode"], 413);
    let answer = ask(body).send().await.expect(200);
    assert_eq!(answer.json()["status"], "converted");
}

async fn a_body_nested_without_end_is_refused_at_once(on: On) {
    let (host, declared) = form(on).await;
    for open in ["[", r#"{"a":"#] {
        let began = Instant::now();
        let ask = host.post(&declared.address("form"));
        let answer = ask.body(open.repeat(100_000)).send().await.expect(400);
        has!(answer, "64 levels");
        assert!(began.elapsed().as_secs() < 60, "it took its time");
    }
}

async fn ids_keep_all_their_digits(on: On) {
    let (host, declared) = form(on).await;
    let body =
        r#"{"id": 90071992547409931234, "telefone": "11 98888-0001", "anuncio": 9007199254740993}"#;
    let answer = host.post(&declared.address("form")).body(body).send().await;
    let answer = answer.expect(200).json();
    assert_eq!(answer["leads"][0]["externalId"], "90071992547409931234");
    let deals = host.deals(&declared, "externalId=90071992547409931234");
    let deals = deals.await;
    let attributes = &deals[0]["deal"]["props"]["attributes"];
    assert_eq!(attributes["anuncio"], "9007199254740993");
    let rows = host.rows(&declared, "deals").await;
    has!(rows[0].to_string(), "9007199254740993");
}

async fn a_phone_that_cannot_be_read_is_kept_and_noted(on: On) {
    let (host, declared) = form(on).await;
    for (id, phone, is_noted) in [("f-1", "123", true), ("f-2", "11 98888-0001", false)] {
        let ask = host.post(&declared.address("form"));
        let answer = ask.json(&lead(id, "Lia Prado", phone)).send().await;
        let notes = host.delivery(&answer.expect(200)).await.notes;
        let noted = notes.iter().any(|note| note.contains("`unreadPhones`"));
        assert_eq!(noted, is_noted, "{phone}: {notes:?}");
    }
}

async fn a_sender_that_hangs_up_after_its_body_loses_nothing(on: On) {
    let (host, declared) = form(on).await;
    let body = lead("f-1", "Lia Prado", "11 98888-0001").to_string();
    let mut stream = host.raw().await;
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}",
        declared.address("form"),
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    drop(stream);
    let deals: Vec<Value> = until("the lead is there", async || {
        let deals = host.deals(&declared, "externalId=f-1").await;
        (!deals.is_empty()).then_some(deals)
    })
    .await;
    assert_eq!(deals.len(), 1);
}

async fn an_incomplete_body_leaves_nothing(on: On) {
    let (host, declared) = form(on).await;
    let mut stream = host.raw().await;
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{{",
        declared.address("form")
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    drop(stream);
    let ask = host.post(&declared.address("form")).body("[]");
    ask.send().await.expect(200);
    let filter = leadhost_store::DeliveryFilter {
        limit: 10,
        ..Default::default()
    };
    let stored = host.store().deliveries(&filter).await.unwrap();
    assert_eq!(stored.len(), 1, "only the one that was whole");
}

async fn a_sender_that_does_not_wait_for_a_slow_conversion_loses_nothing(on: On) {
    let (host, declared) = misbehaving(on, "slow", "burn", 300_000_000).await;
    let mut stream = host.raw().await;
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{{}}",
        declared.address("slow")
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    drop(stream);
    eventually("the delivery is done", async || {
        let done = host.with_status(DeliveryStatus::Ignored).await;
        done.len() == 1
    })
    .await;
}
