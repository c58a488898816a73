//! Each valid form of a template's components, as it is sent, and each invalid
//! one, which is refused before anything is sent.

use leadhost_tests::{Answer, Json, On, eventually, fields};
use serde_json::{Value, json};

use super::fixture::{PHONE, WA_ID, WhatsAppFixture, body, refusal, template};
use crate::gateway::path;

leadhost_tests::on_every_store! {
    every_form_of_a_component_goes_out,
    white_space_in_a_parameter_is_folded_in_each_place_and_format,
    a_parameter_that_cannot_be_mended_is_refused_before_anything_is_stored,
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
    let image = |media: Value| with_components("fachada", json!([header("image", media)]));
    let video = json!({"link": "https://imoveis.example/v.mp4"});
    let header_text = json!({"type": "header", "parameters": [{"type": "text", "text": "sexta"}]});
    let names = [named("imovel", "AP-10"), named("nome", "Ilda")];
    let empty = json!([{"type": "body", "parameters": []}]);
    let reply = json!({"type": "button", "sub_type": "quick_reply", "index": "1"});
    let good = [
        table(&[]),
        table(&[reply]),
        image(json!({"link": "https://imoveis.example/f.jpg"})),
        image(json!({"id": "900001"})),
        with_components("passeio", json!([header("video", video)])),
        with_components("oferta", json!([header_text, body(&["Ilda"])])),
        with_components("retorno", json!([{"type": "body", "parameters": names}])),
        template("aviso", &[]),
        with_components("aviso", json!([])),
        with_components("aviso", empty),
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
                        header_file(), body(&[typed, "Casa"]),
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
            eventually("the provider has the message", async || {
                desk.whatsapp.accepted_for(WA_ID) > before
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
#[track_caller]
fn paths(message: &str) -> Vec<String> {
    let issues: Value = serde_json::from_str(message)
        .unwrap_or_else(|error| panic!("{error}: {message} lists no issues"));
    issues.list().iter().map(path).collect()
}
