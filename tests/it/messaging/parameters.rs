//! Each valid form of a template's components, as it is sent, and each invalid
//! one, which is refused before anything is sent.

use leadhost_tests::{Answer, Json, On, fields, has, until};
use serde_json::{Value, json};

use super::fixture::{PHONE, WA_ID, WhatsAppFixture, body, refusal, template};

leadhost_tests::on_every_store! {
    every_form_of_a_component_goes_out,
    a_quick_reply_without_parameters_is_left_to_the_provider,
    a_quick_reply_sends_its_payload_as_it_is,
    white_space_in_a_parameter_is_folded_in_each_place_and_format,
    a_parameter_that_cannot_be_mended_is_refused_before_anything_is_stored,
    a_payload_or_a_reply_where_the_template_has_none_is_refused,
    components_that_the_template_does_not_have_are_refused,
    mistakes_that_only_the_provider_can_detect_are_refused_by_it,
}

fn with_components(name: &str, components: Value) -> Value {
    json!({"name": name, "language": {"code": "pt_BR"}, "components": components})
}

fn header(kind: &str, media: Value) -> Value {
    json!({"type": "header", "parameters": [{"type": kind, kind: media}]})
}

fn header_file() -> Value {
    let link = json!({"link": "https://imoveis.example/t.pdf", "filename": "tabela.pdf"});
    header("document", link)
}

fn table(more: &[Value]) -> Value {
    let mut components = vec![
        header_file(),
        body(&["Ilda", "Casa Verde"]),
        json!({"type": "button", "sub_type": "url", "index": 0, "parameters": [{"type": "text", "text": "ap-10"}]}),
    ];
    components.extend_from_slice(more);
    with_components("tabela", json!(components))
}

async fn every_form_of_a_component_goes_out(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let named =
        |name: &str, text: &str| json!({"type": "text", "text": text, "parameter_name": name});
    let good = [
        table(&[]),
        table(&[json!({"type": "button", "sub_type": "quick_reply", "index": "1"})]),
        with_components(
            "fachada",
            json!([header(
                "image",
                json!({"link": "https://imoveis.example/f.jpg"})
            ),]),
        ),
        with_components("fachada", json!([header("image", json!({"id": "900001"}))])),
        with_components(
            "passeio",
            json!([header(
                "video",
                json!({"link": "https://imoveis.example/v.mp4"})
            )]),
        ),
        with_components(
            "oferta",
            json!([
                {"type": "header", "parameters": [{"type": "text", "text": "sexta"}]},
                body(&["Ilda"]),
            ]),
        ),
        with_components(
            "retorno",
            json!([{"type": "body", "parameters": [named("imovel", "AP-10"), named("nome", "Ilda")]}]),
        ),
        template("aviso", &[]),
        with_components("aviso", json!([])),
        with_components("aviso", json!([{"type": "body", "parameters": []}])),
        json!({"name": "aviso", "language": {"code": "en_US"}}),
    ];
    for (number, template) in good.iter().enumerate() {
        let request = desk.notification(PHONE, template.clone());
        let answer = desk.notify(&request).send().await;
        assert_eq!(answer.status, 200, "{template}: {:?}", answer.body);
        assert_eq!(
            answer.header("x-message-status"),
            "accepted",
            "{template}: {:?}",
            desk.whatsapp.sends().last().map(|send| send.json())
        );
        assert_eq!(desk.whatsapp.accepted().len(), number + 1);
    }
    let sends = desk.whatsapp.sends();
    let components = &sends[0].json().expect("JSON")["template"]["components"];
    fields!(components, {
        "0.parameters.0.document.filename": "tabela.pdf", "2.sub_type": "url",
        "2.parameters.0.text": "ap-10",
    });
}

async fn a_quick_reply_without_parameters_is_left_to_the_provider(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let reply = json!({"type": "button", "sub_type": "quick_reply", "index": 1});
    let request = desk.notification(PHONE, table(&[reply]));
    desk.notify(&request).send().await.expect(200);
    let send = desk.whatsapp.sends()[0].json().expect("JSON");
    let components = send["template"]["components"].list();
    assert!(
        components
            .iter()
            .all(|component| component["sub_type"] != "quick_reply"),
        "an empty list would be refused"
    );
}

async fn a_quick_reply_sends_its_payload_as_it_is(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let payload = "visit:{\"unit\":  \"AP-10\"}\n";
    for kind in ["payload", "text"] {
        let reply = json!({"type": "button", "sub_type": "quick_reply", "index": 1,
            "parameters": [{"type": kind, kind: payload}]});
        let request = desk.notification(PHONE, table(&[reply]));
        let answer = desk.notify(&request).send().await.expect(200);
        let sent = desk.whatsapp.sends().pop().expect("a send");
        let sent = sent.json().expect("JSON");
        let expect = json!([{"type": "payload", "payload": payload}]);
        let parameters = &sent["template"]["components"][3]["parameters"];
        assert_eq!(*parameters, expect, "{kind}");
        // The export says what the button sends.
        let row = desk.row("messages", &desk.sent(&answer).message).await;
        let kept = row["metadata"]["template"]["components"].as_array();
        let kept = kept.expect("the values that the text does not show");
        assert_eq!(kept.last().expect("the button")["parameters"], expect);
    }
}

/// A new deal whose conversation begins with this message.
async fn new_deal(desk: &WhatsAppFixture, message: &[(&str, Value)]) -> Answer {
    let mut deal = json!({"name": "Ilda Prates", "phoneNumber": PHONE,
        "instanceId": desk.instance()});
    for (field, value) in message {
        deal[field] = value.clone();
    }
    let ask = desk.host.post("/deal").json(&deal);
    let ask = ask.header("x-service-api-key", &desk.declared.key("partner"));
    ask.send().await
}

async fn white_space_in_a_parameter_is_folded_in_each_place_and_format(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    // Returns the texts of the newest message as the provider got them.
    let newest = || {
        let sent = desk.whatsapp.sends().pop().expect("a send");
        let sent = sent.json().expect("JSON");
        let components = sent["template"]["components"].list();
        let parameters = components.iter().flat_map(|component| {
            let parameters = component["parameters"].as_array();
            parameters.cloned().unwrap_or_default()
        });
        let texts = parameters.filter_map(|one| one["text"].as_str().map(str::to_owned));
        texts.collect::<Vec<_>>()
    };
    for (typed, folded) in [
        ("linha 1\nlinha 2     fim\t!", "linha 1 linha 2 fim !"),
        ("Ana\r\nSouza", "Ana Souza"),
        ("  Ana \u{b}\u{c}", "Ana"),
        ("Ana\u{a0}\u{2028}\u{2029}\u{200b}\u{85} Lima", "Ana Lima"),
    ] {
        let text = json!({"type": "text", "text": typed});
        let header = json!({"type": "header", "parameters": [text]});
        let everywhere = [
            (
                with_components("oferta", json!([header, body(&[typed])])),
                2,
            ),
            (template("boas_vindas", &[typed, "Casa"]), 2),
            (
                with_components(
                    "tabela",
                    json!([
                        header_file(),
                        body(&[typed, "Casa"]),
                        {"type": "button", "sub_type": "url", "index": 0, "parameters": [text]},
                    ]),
                ),
                3,
            ),
        ];
        for (template, count) in everywhere {
            let request = desk.notification(PHONE, template.clone());
            let answer = desk.notify(&request).send().await.expect(200);
            let state = answer.header("x-message-status");
            assert_eq!(state, "accepted", "{typed:?}: {template}");
            let texts = newest();
            assert_eq!(texts.len(), count);
            let of_typed = texts.iter().filter(|text| *text != "Casa");
            for text in of_typed {
                assert_eq!(text, folded, "{typed:?}");
            }
        }
        let legacy = [
            ("messageTemplate", json!("boas_vindas")),
            ("replacements", json!([typed, "Casa"])),
        ];
        let modern = [("template", template("boas_vindas", &[typed, "Casa"]))];
        for message in [&legacy[..], &modern] {
            let before = desk.whatsapp.accepted_for(WA_ID);
            new_deal(&desk, message).await.expect(201);
            until("the provider has the message", async || {
                (desk.whatsapp.accepted_for(WA_ID) > before).then_some(())
            })
            .await;
            assert_eq!(newest(), [folded, "Casa"], "{typed:?}");
        }
        let shown = desk.messages().await;
        let shown = shown
            .iter()
            .filter_map(|message| message.content.as_deref());
        let expect = format!("Olá {folded}, aqui é da Casa.");
        assert_eq!(shown.filter(|text| *text == expect).count(), 3, "{typed:?}");
    }
}

async fn a_parameter_that_cannot_be_mended_is_refused_before_anything_is_stored(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let long = "x".repeat(1_025);
    for typed in ["", "   ", "\n\t", "\u{a0}\u{2028}", "\u{200b}", &long] {
        let text = json!({"type": "text", "text": typed});
        let one = |kind: &str| json!({"type": kind, "parameters": [text]});
        let url = json!({"type": "button", "sub_type": "url", "index": 0, "parameters": [text]});
        let payload = json!({"type": "payload", "payload": typed});
        let reply = json!({"type": "button", "sub_type": "quick_reply", "index": 1,
            "parameters": [payload]});
        for (part, field) in [
            (one("header"), "text"),
            (one("body"), "text"),
            (url, "text"),
            (reply, "payload"),
        ] {
            let template = with_components("oferta", json!([part]));
            let path = format!("template.components.0.parameters.0.{field}");
            let request = desk.notification(PHONE, template.clone());
            let message = refusal(desk.notify(&request).send().await, 400);
            assert_eq!(paths(&message), [path.as_str()], "{typed:?}: {part}");
            let answer = new_deal(&desk, &[("template", template)]).await.expect(400);
            let message = answer.json()["message"].text().to_owned();
            assert_eq!(paths(&message), [path.as_str()], "{typed:?}: {part}");
        }
        let legacy = [
            ("messageTemplate", json!("boas_vindas")),
            ("replacements", json!(["Ana", typed])),
        ];
        let answer = new_deal(&desk, &legacy).await.expect(400);
        let message = answer.json()["message"].text().to_owned();
        assert_eq!(paths(&message), ["replacements.1"], "{typed:?}");
    }
    assert!(desk.whatsapp.sends().is_empty());
    for entity in ["deals", "contacts", "conversations", "messages"] {
        let rows = desk.host.rows(&desk.declared, entity).await;
        assert!(rows.is_empty(), "{entity}");
    }
}

/// Returns the paths of the issues in a refusal.
fn paths(message: &str) -> Vec<String> {
    let issues: Value = serde_json::from_str(message)
        .unwrap_or_else(|error| panic!("{error}: {message} lists no issues"));
    let issues = issues.as_array().expect("a list");
    let path = |issue: &Value| {
        let parts = issue["path"].list();
        let words: Vec<String> = parts
            .iter()
            .map(|part| {
                part.as_str()
                    .map_or_else(|| part.to_string(), str::to_owned)
            })
            .collect();
        words.join(".")
    };
    issues.iter().map(path).collect()
}

async fn a_payload_or_a_reply_where_the_template_has_none_is_refused(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let check = async |template: Value, path: &str| {
        let request = desk.notification(PHONE, template.clone());
        let message = refusal(desk.notify(&request).send().await, 400);
        let paths = paths(&message);
        assert!(
            paths.iter().any(|found| found == path),
            "{template}: {paths:?}"
        );
    };
    let parameters = "template.components.0.parameters";
    let payload = json!({"type": "payload", "payload": "x"});
    let in_body = json!([{"type": "body", "parameters": [payload]}]);
    let kind = format!("{parameters}.0.type");
    check(with_components("boas_vindas", in_body), &kind).await;
    let reply = |template: &str, index: u32, parameters: Value| {
        let button = json!({"type": "button", "sub_type": "quick_reply", "index": index,
            "parameters": parameters});
        with_components(template, json!([button]))
    };
    let image = json!([{"type": "image", "image": {"id": "1"}}]);
    check(reply("tabela", 1, json!([payload, payload])), parameters).await;
    check(reply("tabela", 1, image), &kind).await;
    // The template has no buttons, or another button at this position.
    let no_reply = "template.components.0.sub_type";
    check(reply("aviso", 0, json!([])), no_reply).await;
    check(reply("aviso", 0, json!([payload])), no_reply).await;
    check(reply("tabela", 0, json!([])), no_reply).await;
    assert!(desk.whatsapp.sends().is_empty());
    assert!(desk.messages().await.is_empty(), "nothing is stored");
}

async fn components_that_the_template_does_not_have_are_refused(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    for (template, why) in [
        (with_components("fachada", json!([])), "no image"),
        (
            with_components("fachada", json!([header("video", json!({"id": "1"}))])),
            "another kind",
        ),
        (
            with_components("tabela", json!([body(&["Ilda", "Casa Verde"])])),
            "no document, no button",
        ),
    ] {
        let request = desk.notification(PHONE, template);
        let answer = desk.notify(&request).send().await;
        assert!(
            [400, 500].contains(&answer.status),
            "{why}: {:?}",
            answer.body
        );
        assert_eq!(answer.json()["success"], false, "{why}");
    }
    assert!(desk.whatsapp.accepted().is_empty());
}

async fn mistakes_that_only_the_provider_can_detect_are_refused_by_it(on: On) {
    let desk = WhatsAppFixture::unlisted(on).await;
    let check = async |template: Value, status: u16, say: &str| {
        let request = desk.notification(PHONE, template);
        let message = refusal(desk.notify(&request).send().await, status);
        has!(message, say);
    };
    check(
        template("boas_vindas", &["Ilda"]),
        400,
        "number of localizable_params (1)",
    )
    .await;
    check(
        with_components(
            "tabela",
            json!([
                header(
                    "document",
                    json!({"link": "https://imoveis.example/t.pdf", "filename": "t.pdf"})
                ),
                body(&["Ilda", "Casa Verde"]),
            ]),
        ),
        400,
        "Button at index 0",
    )
    .await;
    check(
        with_components("fachada", json!([])),
        500,
        "Template 'fachada'",
    )
    .await;
    check(template("nenhum", &[]), 500, "Template 'nenhum' not found").await;
    assert_eq!(desk.whatsapp.sends().len(), 4);
    assert!(desk.whatsapp.accepted().is_empty());
}
