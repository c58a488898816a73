//! Mistakes of clients, and the limits of valid input.

use std::io::Write as _;

use leadhost_domain::id::DealId;
use leadhost_tests::{Ask, On, fields, has};
use serde_json::{Value, json};

use super::{Seat, check_places, note, refusal, text};

leadhost_tests::on_every_store! {
    the_longest_texts_are_kept_and_one_more_character_is_an_issue,
    texts_come_back_as_they_were_written,
    a_body_that_is_no_json_is_refused,
    a_body_of_another_content_type_or_encoding_is_refused,
    large_and_deep_requests_are_refused_in_the_gateways_format,
}

/// A new deal with every field except a message's.
fn whole() -> Value {
    json!({
        "name": "Ana Prado", "phoneNumber": "+55 11 98765-4321", "email": "ana@example.com",
        "productExternalId": "AP-1", "source": "fair", "externalId": "crm-17",
        "conversionIdentifier": "campaign-7", "bypassProductCheck": true,
        "ignoreTransferToDeskIfUnanswered": true, "specialInstructions": "Seja breve.",
    })
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text).expect("it fits");
    gzip.finish().expect("it packs")
}

fn with(body: &Value, field: &str, value: Value) -> Value {
    let mut body = body.clone();
    body[field] = value;
    body
}

async fn the_longest_texts_are_kept_and_one_more_character_is_an_issue(on: On) {
    let seat = Seat::new(on).await;
    let lengths = [
        ("name", 255),
        ("productId", 512),
        ("productExternalId", 512),
        ("source", 255),
        ("externalId", 512),
        ("conversionIdentifier", 255),
        ("specialInstructions", 4_000),
    ];
    let texts = |more: usize| {
        let mut body = whole();
        for (field, longest) in lengths {
            body[field] = json!("é".repeat(longest + more));
        }
        body
    };
    let deal = text(&seat.create(texts(0)).await.expect(201).json()["dealId"]);
    let view = seat.shown(&deal).await;
    fields!(view, {"person.name": "é".repeat(255), "deal.props.source": "é".repeat(255)});
    let answer = seat.create(texts(1)).await;
    let mut found: Vec<_> = super::places(&answer)
        .into_iter()
        .map(|(code, field)| (field, code))
        .collect();
    found.sort();
    let mut expect = lengths.map(|(field, _)| (field.to_owned(), "too_big".to_owned()));
    expect.sort();
    assert_eq!(found, expect);
    for (field, longest) in [("type", 64), ("subject", 255), ("description", 4_000_usize)] {
        let noted = |more| {
            seat.log(
                &deal,
                with(&note(), field, json!("é".repeat(longest + more))),
            )
        };
        noted(0).await.expect(201);
        check_places(&noted(1).await, &[("too_big", field)], field);
    }
}

async fn texts_come_back_as_they_were_written(on: On) {
    let seat = Seat::new(on).await;
    for (number, odd) in [
        "שלום \u{202e}עולם\u{202c}",
        "Ana 👩‍👩‍👧‍👦 \u{1f3e1}",
        "a\u{1}b\u{1f}c\u{7f}\u{85}d",
        "line\nbreak\ttab\r\nend",
        "e\u{301} \u{feff}x\u{200b}y \u{ffff} \u{10ffff}",
        "'); drop table deals; -- \\ \" {{1}} %00 <b>&amp;</b>",
    ]
    .into_iter()
    .enumerate()
    {
        let body = json!({
            "name": odd, "email": format!("p{number}@example.com"), "source": odd,
            "externalId": odd, "conversionIdentifier": odd, "productExternalId": odd,
            "bypassProductCheck": true,
        });
        let deal = text(&seat.create(body).await.expect(201).json()["dealId"]);
        let noted = json!({"type": odd, "subject": odd, "description": odd,
            "metadata": {odd: [odd, null, 1.5, {"a": odd}]}});
        seat.log(&deal, noted.clone()).await.expect(201);
        let view = seat.shown(&deal).await;
        assert_eq!(view["person"]["name"], odd);
        let props = &view["deal"]["props"];
        for key in [
            "source",
            "conversionIdentifier",
            "productExternalId",
            "externalIntegrationId",
        ] {
            assert_eq!(props[key], odd, "{key}");
        }
        fields!(props, {"logs.0.subject": odd, "logs.0.metadata": noted["metadata"]});
        let id: DealId = deal.parse().unwrap();
        let expect = Some(odd);
        assert_eq!(seat.past(id).await.logs[0].description.as_deref(), expect);
        assert_eq!(seat.exported(&deal).await["external_id"], odd);
        let query = percent_encoded(odd);
        assert_eq!(
            seat.find(&format!("externalId={query}")).await.len(),
            1,
            "{odd:?}"
        );
        let refused = seat.patch(&deal, json!({"propertyExternalId": odd})).await;
        assert!(refusal(&refused, 404).contains(odd), "{odd:?}");
    }
    // Characters that no text may contain are refused inside JSON values too.
    let deal = seat.ana().await;
    let wrong = json!({"a\0": ["b\0"]});
    let refused = seat.log(deal, with(&note(), "metadata", wrong)).await;
    assert!(refusal(&refused, 400).contains("metadata"));
    let metadata = json!({"a": ["b", "\\u0000"]});
    let noted = seat
        .log(deal, with(&note(), "metadata", metadata.clone()))
        .await;
    noted.expect(201);
    let view = seat.shown(deal).await;
    assert_eq!(view["deal"]["props"]["logs"][0]["metadata"], metadata);
}

fn percent_encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// A valid request for each address that takes a body.
fn requests(seat: &Seat, deal: DealId) -> [(Ask, Value, u16); 3] {
    let mut new = whole();
    // An external id is of one deal.
    new.as_object_mut().expect("an object").remove("externalId");
    [
        (seat.creating(), new, 201),
        (seat.patching(deal), json!({"status": "won"}), 202),
        (seat.logging(deal), note(), 201),
    ]
}

async fn a_body_that_is_no_json_is_refused(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    for (ask, _, _) in requests(&seat, deal) {
        for wrong in [
            "",
            " ",
            "{",
            "name=Ana",
            "{\"name\": \"Ana\",}",
            "{\"name\": 'Ana'}",
            "{} {}",
            "{\"a\": \"\\ud800\"}",
            "nul",
        ] {
            let message = refusal(&ask.clone().body(wrong).send().await, 400);
            has!(message, "not JSON"; "{wrong}");
        }
        let message = refusal(
            &ask.clone().body(&b"{\"name\": \"\xff\"}"[..]).send().await,
            400,
        );
        has!(message, "not JSON");
        for wrong in ["[]", "null", "\"x\"", "7", "true", "[{}]"] {
            let answer = ask.clone().body(wrong).send().await;
            check_places(&answer, &[("invalid_type", "")], wrong);
        }
    }
}

async fn a_body_of_another_content_type_or_encoding_is_refused(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    for (ask, body, status) in requests(&seat, deal) {
        let send = async |name: &str, value: &str| {
            let ask = ask.clone().header(name, value);
            ask.body(body.to_string()).send().await
        };
        for other in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/xml",
            "nonsense",
            "application/json; charset=iso-8859-1",
        ] {
            let message = refusal(&send("content-type", other).await, 415);
            has!(message, "application/json");
        }
        let coded = async |coding: &str, body: Vec<u8>| {
            let ask = ask.clone().header("content-encoding", coding);
            ask.body(body).send().await
        };
        let packed = gzip(body.to_string().as_bytes());
        let message = refusal(&coded("br", packed.clone()).await, 415);
        has!(message, "compressed as `br`", "gzip, deflate, zstd");
        let cut = packed[..packed.len() - 4].to_vec();
        has!(
            refusal(&coded("gzip", cut).await, 400),
            "cannot be decompressed"
        );
        let bomb = gzip(format!("{}{body}", " ".repeat(1 << 20)).as_bytes());
        refusal(&coded("gzip", bomb).await, 413);
        coded("gzip", packed).await.expect(status);
        // A proxy may have decompressed it; editors write a byte order mark.
        let marked = format!("\u{feff}{body}").into_bytes();
        coded("gzip", marked).await.expect(status);
        for json in [
            "application/json",
            "application/json; charset=utf-8",
            "APPLICATION/JSON",
            "application/vnd.api+json",
            "text/json",
        ] {
            send("content-type", json).await.expect(status);
        }
        send("content-encoding", "identity").await.expect(status);
        ask.clone()
            .body(body.to_string())
            .send()
            .await
            .expect(status);
    }
    // Notifications follow the same rule, in their own format.
    let ask = || {
        let ask = seat.host.post("/send-notification");
        ask.partner(&seat.seeded.partner_key).body("{}")
    };
    let answer = ask().header("content-type", "text/plain").send().await;
    fields!(answer.expect(415).json(), {"success": false, "statusCode": 415});
    ask().send().await.expect(400);
}

async fn large_and_deep_requests_are_refused_in_the_gateways_format(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    for (ask, body, status) in requests(&seat, deal) {
        let large = format!("{}{body}", " ".repeat(1 << 20));
        refusal(&ask.clone().body(large).send().await, 413);
        let text = body.to_string();
        let most = format!("{}{text}", " ".repeat((1 << 20) - text.len()));
        ask.clone().body(most).send().await.expect(status);
        let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
        let message = refusal(&ask.clone().body(deep).send().await, 400);
        has!(message, "nested deeper");
        let deepest = format!("{}{}", "[".repeat(64), "]".repeat(64));
        let answer = ask.clone().body(deepest).send().await;
        check_places(&answer, &[("invalid_type", "")], "64 levels");
        let long = "x".repeat(9_000);
        let mut heavy = ask.clone();
        for number in 0..5 {
            heavy = heavy.header(&format!("x-filler-{number}"), &long);
        }
        refusal(&heavy.json(&body).send().await, 431);
    }
    let long = "x".repeat(9_000);
    for (method, path) in [
        ("PATCH", format!("/deal/{long}")),
        ("POST", format!("/api/v1/deals/{long}/log")),
    ] {
        refusal(&seat.host.ask(method, &path).send().await, 414);
    }
    for path in [
        "/deals",
        "/api/v1/deals",
        "/api/v1/deals//log",
        "/api/v1/deals/x/logs",
    ] {
        refusal(&seat.host.get(path).send().await, 404);
    }
}
