//! Mistakes of clients, and the limits of valid input: every field of every body, and
//! everything around the body.

use leadhost_domain::id::DealId;
use leadhost_tests::{Answer, Ask, On, fields, has};
use serde_json::{Value, json};

use super::{NOBODY, Seat, check_places, note, refusal, text};

leadhost_tests::on_every_store! {
    each_field_of_a_new_deal_may_be_wrong_in_its_own_way,
    names_of_ten_kilobytes_are_refused,
    texts_come_back_as_they_were_written,
    a_body_that_is_no_json_is_refused,
    a_body_of_another_content_type_or_encoding_is_refused,
    large_deep_and_wrong_method_requests_are_refused_in_the_gateways_format,
    invalid_ids_find_nothing,
    the_key_is_checked_before_anything_is_revealed,
}

/// A new deal with every field except for those of a message.
fn whole() -> Value {
    json!({
        "name": "Ana Prado",
        "phoneNumber": "+55 11 98765-4321",
        "email": "ana@example.com",
        "productExternalId": "AP-1",
        "source": "fair",
        "externalId": "crm-17",
        "conversionIdentifier": "campaign-7",
        "bypassProductCheck": true,
        "ignoreTransferToDeskIfUnanswered": true,
        "specialInstructions": "Seja breve.",
    })
}

fn with(body: &Value, field: &str, value: Value) -> Value {
    let mut body = body.clone();
    body[field] = value;
    body
}

fn without(body: &Value, fields: &[&str]) -> Value {
    let mut body = body.clone();
    for field in fields {
        body.as_object_mut().expect("an object").remove(*field);
    }
    body
}

async fn each_field_of_a_new_deal_may_be_wrong_in_its_own_way(on: On) {
    let seat = Seat::new(on).await;
    let check = async |body: Value, expect: &[(&str, &str)]| {
        check_places(&seat.create(body.clone()).await, expect, body);
    };
    let texts = [
        ("name", 255),
        ("productId", 512),
        ("productExternalId", 512),
        ("source", 255),
        ("externalId", 512),
        ("conversionIdentifier", 255),
    ];
    let other = [
        ("phoneNumber", 64),
        ("email", 254),
        ("specialInstructions", 4_000),
    ];
    let wrong = async |field: &str, value: Value, code: &str| {
        check(with(&whole(), field, value), &[(code, field)]).await;
    };
    let [null, object] = [json!(null), json!({"a": 1})];
    for (field, longest) in texts.into_iter().chain(other) {
        for value in [&null, &json!(7), &json!(true), &json!([]), &object] {
            wrong(field, value.clone(), "invalid_type").await;
        }
        wrong(field, json!("é".repeat(longest + 1)), "too_big").await;
        wrong(field, json!("a\0b"), "invalid_string").await;
    }
    for (field, longest) in texts {
        for blank in ["", " ", "\n\t"] {
            wrong(field, json!(blank), "too_small").await;
        }
        let long = with(&whole(), field, json!("é".repeat(longest)));
        seat.create(long).await.expect(201);
    }
    for phone in ["12", "none", ""] {
        wrong("phoneNumber", json!(phone), "invalid_string").await;
    }
    for email in ["ana", "ana@", "a b@example.com", "", "a@b@example.com"] {
        wrong("email", json!(email), "invalid_string").await;
    }
    for field in ["bypassProductCheck", "ignoreTransferToDeskIfUnanswered"] {
        for value in [&null, &json!("true"), &json!(1)] {
            wrong(field, value.clone(), "invalid_type").await;
        }
    }
    for value in [&null, &json!("1"), &json!(1.5), &json!([1])] {
        wrong("instanceId", value.clone(), "invalid_type").await;
    }
    check(without(&whole(), &["name"]), &[("invalid_type", "name")]).await;
    let nobody = without(&whole(), &["phoneNumber", "email"]);
    check(nobody, &[("invalid_union", "")]).await;
    let optional = "email phoneNumber source externalId bypassProductCheck";
    for field in optional.split(' ') {
        seat.create(without(&whole(), &[field])).await.expect(201);
    }
    // With a template, the phone and the instance are required, and there is one
    // template only.
    let template = json!({"name": "welcome", "language": {"code": "pt_BR"}});
    let written = with(&whole(), "template", template);
    let instance = ("invalid_type", "instanceId");
    check(written.clone(), &[instance]).await;
    let nowhere = without(&written, &["phoneNumber"]);
    check(nowhere, &[("invalid_type", "phoneNumber"), instance]).await;
    let both = with(&written, "messageTemplate", json!("x"));
    check(
        with(&both, "instanceId", json!(1)),
        &[("invalid_union", "")],
    )
    .await;
    let numbered = with(&whole(), "instanceId", json!(1));
    let name = with(&numbered, "template", json!("welcome"));
    check(name, &[("invalid_type", "template")]).await;
    let parts = json!({"name": "", "language": {}, "components": 1});
    let expect = [
        ("too_small", "template.name"),
        ("invalid_type", "template.language.code"),
        ("invalid_type", "template.components"),
    ];
    check(with(&numbered, "template", parts), &expect).await;
    let legacy = with(&numbered, "messageTemplate", null);
    check(legacy, &[("invalid_type", "messageTemplate")]).await;
    let legacy = with(&numbered, "messageTemplate", json!("welcome"));
    let replaced = with(&legacy, "replacements", json!(["a", 1, null]));
    let expect = ["replacements.1", "replacements.2"].map(|path| ("invalid_type", path));
    check(replaced, &expect).await;
    let all = json!({"phoneNumber": "12", "email": "ana", "bypassProductCheck": 0});
    let expect = [
        ("invalid_type", "name"),
        ("invalid_string", "email"),
        ("invalid_type", "bypassProductCheck"),
        ("invalid_string", "phoneNumber"),
    ];
    check(all, &expect).await;
}

async fn names_of_ten_kilobytes_are_refused(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    let long = "n".repeat(10 << 10);
    let created = seat.create(with(&whole(), "name", json!(long))).await;
    check_places(&created, &[("too_big", "name")], "a name");
    let logged = seat.log(deal, with(&note(), "subject", json!(long))).await;
    check_places(&logged, &[("too_big", "subject")], "a subject");
    // A field's name may be long too: the answer shortens it.
    let patched = seat.patch(deal, json!({"status": "won", &long: 1})).await;
    check_places(&patched, &[("unrecognized_keys", "")], "a key");
    assert!(patched.body.len() < 2_000, "{}", patched.body.len());
    let many: Value = (0..2_000)
        .map(|number| (format!("f{number}"), json!(1)))
        .collect();
    let patched = seat.patch(deal, many).await;
    assert_eq!(patched.status, 400);
    assert!(patched.body.len() < 10_000, "{}", patched.body.len());
    for query in [
        format!("email={long}@example.com"),
        format!("externalId={long}"),
    ] {
        let ask = seat.host.get(&format!("/deal?{query}"));
        let answer = ask.partner(&seat.seeded.partner_key).send().await;
        refusal(&answer, 414);
    }
    let ask = seat
        .host
        .get(&format!("/deal?externalId={}", "n".repeat(7_000)));
    let answer = ask.partner(&seat.seeded.partner_key).send().await;
    assert!(refusal(&answer, 400).contains("longer than the 1024 bytes"));
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
            "name": odd,
            "email": format!("p{number}@example.com"),
            "source": odd,
            "externalId": odd,
            "conversionIdentifier": odd,
            "productExternalId": odd,
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
        assert_eq!(
            seat.past(id).await.logs[0].description.as_deref(),
            Some(odd)
        );
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
    [
        (seat.creating(), whole(), 201),
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
            "\u{feff}{}",
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
        ] {
            let message = refusal(&send("content-type", other).await, 415);
            has!(message, "application/json");
        }
        for encoding in ["gzip", "br", "deflate", "identity, gzip"] {
            let message = refusal(&send("content-encoding", encoding).await, 415);
            has!(message, "compressed");
        }
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
    for (name, value) in [("content-type", "text/plain"), ("content-encoding", "gzip")] {
        let answer = ask().header(name, value).send().await.expect(415).json();
        fields!(answer, {"success": false, "statusCode": 415});
    }
    ask().send().await.expect(400);
}

async fn large_deep_and_wrong_method_requests_are_refused_in_the_gateways_format(on: On) {
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
    let allowed = |answer: &Answer| answer.header("allow").to_owned();
    for (path, there, wrong) in [
        (
            "/deal".to_owned(),
            "GET, HEAD, POST",
            ["PUT", "PATCH", "DELETE", "OPTIONS"],
        ),
        (
            format!("/deal/{deal}"),
            "GET, HEAD, PATCH",
            ["POST", "PUT", "DELETE", "OPTIONS"],
        ),
        (
            format!("/api/v1/deals/{deal}/log"),
            "GET, HEAD, POST",
            ["PUT", "PATCH", "DELETE", "OPTIONS"],
        ),
    ] {
        for method in wrong {
            let answer = seat.host.ask(method, &path).send().await.expect(405);
            assert_eq!(allowed(&answer), there, "{method} {path}");
            if method != "HEAD" {
                refusal(&answer, 405);
            }
        }
    }
    let head = seat.host.ask("HEAD", &format!("/deal?dealId={deal}"));
    let head = head
        .partner(&seat.seeded.partner_key)
        .send()
        .await
        .expect(200);
    assert!(head.body.is_empty());
    let length: usize = head.header("content-length").parse().unwrap();
    assert!(length > 100, "{length}");
    let long = "x".repeat(9_000);
    for (method, path) in [
        ("PATCH", format!("/deal/{long}")),
        ("POST", format!("/api/v1/deals/{long}/log")),
    ] {
        refusal(&seat.host.ask(method, &path).send().await, 414);
    }
    for path in [
        "/deal/",
        "/deals",
        "/api/v1/deals",
        "/api/v1/deals//log",
        "/api/v1/deals/x/logs",
    ] {
        refusal(&seat.host.get(path).send().await, 404);
    }
}

async fn invalid_ids_find_nothing(on: On) {
    let seat = Seat::new(on).await;
    seat.ana().await;
    for id in [
        "17",
        NOBODY,
        "%00",
        "%F0%9F%8F%A1",
        "null",
        "-1",
        "1e3",
        "'",
    ] {
        refusal(&seat.patch(id, json!({"status": "won"})).await, 404);
        refusal(&seat.log(id, note()).await, 404);
        assert_eq!(seat.find(&format!("dealId={id}")).await.len(), 0, "{id}");
        assert_eq!(
            seat.find(&format!("externalId={id}")).await.len(),
            0,
            "{id}"
        );
    }
    for phone in [
        "abc",
        "0",
        "%2B",
        "999999999999999999999",
        "%F0%9F%8F%A1",
        "%00",
    ] {
        assert_eq!(
            seat.find(&format!("phoneNumber={phone}")).await.len(),
            0,
            "{phone}"
        );
    }
}

async fn the_key_is_checked_before_anything_is_revealed(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    let log = format!("/api/v1/deals/{deal}/log");
    for (method, path) in [
        ("POST", "/deal"),
        ("PATCH", "/deal/17"),
        ("POST", log.as_str()),
    ] {
        let ask = || seat.host.ask(method, path);
        let nothing = refusal(&ask().send().await, 401);
        for ask in [
            ask().body("{"),
            ask().header("content-type", "text/plain").body("x"),
            ask().header("idempotency-key", ""),
            ask().json(&json!({})),
        ] {
            assert_eq!(refusal(&ask.send().await, 401), nothing, "{method} {path}");
        }
    }
}
