//! Bodies that their senders compressed.

use std::io::Write as _;

use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::limits;
use leadhost_pipeline::replay;
use leadhost_tests::host_actions::signature;
use leadhost_tests::{Host, On, guests, has};

use serde_json::json;

use super::{FORM, form, lead, replay_options};

leadhost_tests::on_every_store! {
    each_content_coding_is_decoded_to_the_original_body,
    a_signature_is_over_the_bytes_as_they_were_sent,
    a_word_that_is_no_coding_is_passed_over_at_both_addresses,
    a_body_of_an_unknown_coding_is_kept_until_it_can_be_read,
    unreadable_bodies_are_refused_and_kept_and_oversized_ones_are_not,
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text).expect("it fits");
    gzip.finish().expect("it packs")
}

fn deflate(text: &[u8]) -> Vec<u8> {
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    zlib.write_all(text).expect("it fits");
    zlib.finish().expect("it packs")
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(text, 1).expect("it packs")
}

async fn each_content_coding_is_decoded_to_the_original_body(on: On) {
    let (host, declared) = form(on).await;
    for coding in ["gzip", "deflate", "zstd"] {
        let pack = match coding {
            "gzip" => gzip,
            "deflate" => deflate,
            _ => zstd,
        };
        let body = lead(coding, "Ana", "11 98888-0003").to_string();
        let ask = host.post(&declared.address("form"));
        let ask = ask.header("content-encoding", coding);
        let answer = ask.body(pack(body.as_bytes())).send().await.expect(200);
        assert_eq!(answer.json()["status"], "converted", "{coding}");
        // The stored body is decompressed, so that it can be read and converted
        // again.
        let stored = host.delivery(&answer).await;
        assert_eq!(stored.request.body, body.as_bytes(), "{coding}");
        let headers = stored.request.headers;
        let names_coding = headers.iter().any(|(name, _)| name == "content-encoding");
        assert!(!names_coding, "{coding}: {headers:?}");
    }
}

async fn a_signature_is_over_the_bytes_as_they_were_sent(on: On) {
    let host = Host::working(on).await;
    host.converter(guests::example_form()).await;
    let with = |key: &str| format!("{FORM}secrets = {{ form-key = \"{key}\" }}\n");
    let declared = host.declare(&with("made-up-key")).await;
    let address = declared.address("form");
    let send = async |id: &str, key: &str, over_plain: bool| {
        let plain = lead(id, "Ana", "11 98888-0003").to_string().into_bytes();
        let packed = gzip(&plain);
        let signed = signature(key, if over_plain { &plain } else { &packed });
        let ask = host.post(&address).header("content-encoding", "gzip");
        let ask = ask.header("x-form-signature", &signed).body(packed);
        ask.send().await
    };
    let answer = send("f-1", "made-up-key", false).await.expect(200);
    assert_eq!(answer.json()["status"], "converted");
    send("f-2", "made-up-key", true).await.expect(401);
    // A quarantined delivery is checked later over the bytes as they were sent.
    send("f-3", "another-key", false).await.expect(401);
    host.declare(&with("another-key")).await;
    let mut released = 0;
    for id in host.with_status(DeliveryStatus::Quarantined).await {
        let options = replay_options(true, true);
        released += usize::from(replay::one(&host.app.pipeline, id, options).await.is_ok());
    }
    assert_eq!(released, 1);
    assert_eq!(host.deals(&declared, "externalId=f-3").await.len(), 1);
    assert!(host.deals(&declared, "externalId=f-2").await.is_empty());
}

/// Senders put a charset into this header, and proxies leave the coding of what they have decompressed.
async fn a_word_that_is_no_coding_is_passed_over_at_both_addresses(on: On) {
    let host = Host::working(on).await;
    host.converter(guests::example_form()).await;
    host.converter(guests::sandbox()).await;
    let signed = format!("{FORM}secrets = {{ form-key = \"made-up-key\" }}\n");
    let file = format!("{signed}{}", crate::channels::VOICE);
    let declared = host.declare(&file).await;
    let webhook = json!({"events": [{"inbound": {"from": "+5511987650101", "text": "Oi"}}]});
    for (number, words) in [
        "UTF-8",
        "utf8",
        "utf-8, gzip",
        "iso-8859-1",
        "none",
        "binary",
        "8bit",
        "identity",
        "application/json",
        "gzip",
        "deflate",
        "zstd",
        "br",
    ]
    .into_iter()
    .enumerate()
    {
        let pack = |body: String| match words {
            "utf-8, gzip" => gzip(body.as_bytes()),
            _ => body.into_bytes(),
        };
        let body = pack(lead(&format!("f-{number}"), "Ana", "11 98888-0003").to_string());
        let ask = host.post(&declared.address("form"));
        let ask = ask.header("content-encoding", words);
        let ask = ask.header("x-form-signature", &signature("made-up-key", &body));
        let answer = ask.body(body).send().await.expect(200).json();
        assert_eq!(answer["status"], "converted", "{words}: {answer}");
        let ask = host.post(&declared.webhook("voice"));
        let ask = ask.header("content-encoding", words);
        ask.body(pack(webhook.to_string())).send().await.expect(200);
    }
    let messages = host.rows(&declared, "messages").await;
    assert_eq!(messages.len(), 13);
}

const BROTLI: &str =
    "ixyAeyJpZCI6ImYtMSIsIm5vbWUiOiJBbmEgU291emEiLCJ0ZWxlZm9uZSI6IjExIDk4ODg4LTAwMDMifQM=";

async fn a_body_of_an_unknown_coding_is_kept_until_it_can_be_read(on: On) {
    use base64::Engine as _;
    let host = Host::working(on).await;
    host.converter(guests::example_form()).await;
    host.converter(guests::sandbox()).await;
    let signed = format!("{FORM}secrets = {{ form-key = \"made-up-key\" }}\n");
    let file = format!("{signed}{}", crate::channels::VOICE);
    let declared = host.declare(&file).await;
    let brotli = base64::engine::general_purpose::STANDARD.decode(BROTLI);
    let brotli = brotli.expect("base64");
    let send = async |address: &str, coding: &str, key: &str| {
        let ask = host.post(address).header("content-encoding", coding);
        let ask = ask.header("x-form-signature", &signature(key, &brotli));
        ask.body(brotli.clone()).send().await
    };
    let form = declared.address("form");
    send(&form, "br", "another-key").await.expect(401);
    assert_eq!(host.with_status(DeliveryStatus::Quarantined).await.len(), 1);
    let answer = send(&form, "br", "made-up-key").await.expect(200);
    assert_eq!(answer.json()["status"], "queued");
    send(&form, "gzip, gzip", "made-up-key").await.expect(200);
    let reply = send(&declared.webhook("voice"), "br", "made-up-key").await;
    assert!(reply.expect(200).body.is_empty());
    assert_eq!(host.with_status(DeliveryStatus::Failed).await.len(), 3);
    let stored = host.delivery(&answer).await;
    assert_eq!(stored.request.body, brotli);
    assert_eq!(stored.summary.attempts, 0);
    let error = stored.summary.error.expect("a reason");
    has!(error, "`br`", "gzip, deflate, zstd");
    // A replay does not give the compressed bytes to the plugin either.
    let options = replay_options(true, false);
    replay::one(&host.app.pipeline, stored.summary.id, options)
        .await
        .expect("a replay");
    assert_eq!(host.with_status(DeliveryStatus::Failed).await.len(), 3);
}

async fn unreadable_bodies_are_refused_and_kept_and_oversized_ones_are_not(on: On) {
    let (host, declared) = form(on).await;
    let send = async |coding: &str, body: Vec<u8>| {
        let ask = host.post(&declared.address("form"));
        let ask = ask.header("content-encoding", coding);
        ask.body(body).send().await
    };
    let text = lead("f-1", "Ana", "11 98888-0003").to_string().into_bytes();
    let mut cut = gzip(&text);
    cut.truncate(cut.len() - 4);
    let binary = b"\x07 no coding begins so".to_vec();
    for (coding, body) in [
        ("gzip", &cut),
        ("gzip", &binary),
        ("deflate", &binary),
        ("zstd", &binary),
    ] {
        let refused = send(coding, body.clone()).await.expect(400).json();
        has!(refused["message"], "decompressed", "kept as");
    }
    let refused = send("gzip", b"no JSON".to_vec()).await.expect(400).json();
    has!(
        refused["message"],
        "not compressed as its Content-Encoding says"
    );
    let rejected = host.with_status(DeliveryStatus::Rejected).await;
    assert_eq!(rejected.len(), 5);
    // Some kilobytes that decompress to more than a delivery may have.
    let bomb = vec![b' '; limits::DELIVERY_BYTES + 1];
    for packed in [("gzip", gzip(&bomb)), ("zstd", zstd(&bomb))] {
        assert!(packed.1.len() < bomb.len() / 100);
        send(packed.0, packed.1).await.expect(413);
    }
    for status in [DeliveryStatus::Queued, DeliveryStatus::Converted] {
        assert!(host.with_status(status).await.is_empty(), "{status:?}");
    }
    assert_eq!(host.with_status(DeliveryStatus::Rejected).await, rejected);
    let answer = send("gzip", gzip(&text)).await.expect(200).json();
    assert_eq!(answer["status"], "converted");
}
