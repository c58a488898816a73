//! Bodies that their senders compressed.

use std::io::Write as _;

use leadhost::domain::delivery::DeliveryStatus;
use leadhost::limits;
use leadhost::pipeline::replay::{self, ReplayOptions};
use leadhost_tests::host_actions::signature;
use leadhost_tests::{Host, On, guests};

use super::{FORM, form, lead};

leadhost_tests::on_every_store! {
    each_content_coding_is_decoded_to_the_original_body,
    a_signature_is_over_the_bytes_as_they_were_sent,
    unreadable_and_oversized_bodies_are_refused_and_not_kept,
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
        let ask = host
            .post(&declared.address("form"))
            .header("content-encoding", coding);
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
        let options = ReplayOptions {
            apply: true,
            release: true,
            ..ReplayOptions::default()
        };
        released += usize::from(replay::one(&host.app.pipeline, id, options).await.is_ok());
    }
    assert_eq!(released, 1);
    assert_eq!(host.deals(&declared, "externalId=f-3").await.len(), 1);
    assert!(host.deals(&declared, "externalId=f-2").await.is_empty());
}

async fn unreadable_and_oversized_bodies_are_refused_and_not_kept(on: On) {
    let (host, declared) = form(on).await;
    let send = async |coding: &str, body: Vec<u8>| {
        let ask = host.post(&declared.address("form"));
        let ask = ask.header("content-encoding", coding);
        ask.body(body).send().await
    };
    let text = lead("f-1", "Ana", "11 98888-0003").to_string().into_bytes();
    let unknown = send("br", text.clone()).await.expect(415).json();
    let message = unknown["message"].as_str().expect("a text").to_owned();
    assert!(message.contains("gzip, deflate, zstd"), "{message}");
    send("gzip, gzip", gzip(&gzip(&text))).await.expect(415);
    for coding in ["gzip", "deflate", "zstd"] {
        send(coding, text.clone()).await.expect(400);
    }
    let mut cut = gzip(&text);
    cut.truncate(cut.len() - 4);
    send("gzip", cut).await.expect(400);
    // Some kilobytes that decompress to more than a delivery may have.
    let bomb = vec![b' '; limits::DELIVERY_BYTES + 1];
    for packed in [("gzip", gzip(&bomb)), ("zstd", zstd(&bomb))] {
        assert!(packed.1.len() < bomb.len() / 100);
        send(packed.0, packed.1).await.expect(413);
    }
    for status in [
        DeliveryStatus::Rejected,
        DeliveryStatus::Queued,
        DeliveryStatus::Converted,
    ] {
        assert!(host.with_status(status).await.is_empty(), "{status:?}");
    }
    let answer = send("gzip", gzip(&text)).await.expect(200).json();
    assert_eq!(answer["status"], "converted");
}
