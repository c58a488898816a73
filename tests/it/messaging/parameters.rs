//! Each valid form of a template's components, as it is sent, and each invalid
//! one, which is refused before anything is sent.

use leadhost_tests::On;
use serde_json::{Value, json};

use super::fixture::{PHONE, WhatsAppFixture, body, refusal, template};

leadhost_tests::on_every_store! {
    every_form_of_a_component_goes_out,
    a_quick_reply_without_parameters_is_left_to_the_provider,
    a_component_of_a_wrong_form_is_refused,
    components_that_the_template_does_not_have_are_refused,
    mistakes_that_only_the_provider_can_detect_are_refused_by_it,
}

fn with_components(name: &str, components: Value) -> Value {
    json!({"name": name, "language": {"code": "pt_BR"}, "components": components})
}

fn header(kind: &str, media: Value) -> Value {
    json!({"type": "header", "parameters": [{"type": kind, kind: media}]})
}

fn table(more: &[Value]) -> Value {
    let link = json!({"link": "https://imoveis.example/t.pdf", "filename": "tabela.pdf"});
    let mut components = vec![
        header("document", link),
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
    assert_eq!(
        components[0]["parameters"][0]["document"]["filename"],
        "tabela.pdf"
    );
    assert_eq!(components[2]["sub_type"], "url");
    assert_eq!(components[2]["parameters"][0]["text"], "ap-10");
}

async fn a_quick_reply_without_parameters_is_left_to_the_provider(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let reply = json!({"type": "button", "sub_type": "quick_reply", "index": 1});
    let request = desk.notification(PHONE, table(&[reply]));
    desk.notify(&request).send().await.expect(200);
    let send = desk.whatsapp.sends()[0].json().expect("JSON");
    let components = send["template"]["components"].as_array().expect("a list");
    assert!(
        components
            .iter()
            .all(|component| component["sub_type"] != "quick_reply"),
        "an empty list would be refused"
    );
}

/// Returns the paths of the issues in a refusal.
fn paths(message: &str) -> Vec<String> {
    let issues: Value = serde_json::from_str(message)
        .unwrap_or_else(|error| panic!("{error}: {message} lists no issues"));
    let issues = issues.as_array().expect("a list");
    let path = |issue: &Value| {
        let parts = issue["path"].as_array().expect("a path");
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

async fn a_component_of_a_wrong_form_is_refused(on: On) {
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
    let parameter = |parameter: Value| {
        with_components(
            "boas_vindas",
            json!([{"type": "body", "parameters": [parameter]}]),
        )
    };
    check(json!({"language": {"code": "pt_BR"}}), "template.name").await;
    check(json!({"name": "aviso"}), "template.language").await;
    check(
        json!({"name": "aviso", "language": {}}),
        "template.language.code",
    )
    .await;
    check(
        json!({"name": 7, "language": {"code": "pt_BR"}}),
        "template.name",
    )
    .await;
    check(with_components("aviso", json!({})), "template.components").await;
    check(
        with_components("aviso", json!([{}])),
        "template.components.0.type",
    )
    .await;
    check(
        with_components("aviso", json!([{"type": "footer"}])),
        "template.components.0.type",
    )
    .await;
    check(
        with_components("aviso", json!([{"type": "button", "sub_type": "call"}])),
        "template.components.0.sub_type",
    )
    .await;
    check(
        with_components(
            "aviso",
            json!([{"type": "button", "sub_type": "url", "index": "first"}]),
        ),
        "template.components.0.index",
    )
    .await;
    check(
        with_components("aviso", json!([{"type": "body", "parameters": "Ilda"}])),
        "template.components.0.parameters",
    )
    .await;
    check(
        parameter(json!({"type": "currency"})),
        "template.components.0.parameters.0.type",
    )
    .await;
    check(
        parameter(json!({"type": "text"})),
        "template.components.0.parameters.0.text",
    )
    .await;
    check(
        parameter(json!({"type": "text", "text": 7})),
        "template.components.0.parameters.0.text",
    )
    .await;
    check(
        parameter(json!({"type": "document"})),
        "template.components.0.parameters.0.document",
    )
    .await;
    check(
        parameter(json!({"type": "document", "document": {"link": "no address"}})),
        "template.components.0.parameters.0.document.link",
    )
    .await;
    assert!(desk.whatsapp.sends().is_empty());
    assert!(desk.messages().await.is_empty(), "nothing is stored");
}

async fn components_that_the_template_does_not_have_are_refused(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    for (template, why) in [
        (template("boas_vindas", &["Ilda"]), "one too few"),
        (
            template("boas_vindas", &["Ilda", "Casa", "Verde"]),
            "one too many",
        ),
        (template("boas_vindas", &[]), "none"),
        (template("aviso", &["Ilda"]), "none is asked for"),
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
        assert!(message.contains(say), "{message}");
    };
    check(
        template("boas_vindas", &["Ilda"]),
        400,
        "number of localizable_params (1)",
    )
    .await;
    check(template("boas_vindas", &["a\nb", "c"]), 400, "new-line").await;
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
    assert_eq!(desk.whatsapp.sends().len(), 5);
    assert!(desk.whatsapp.accepted().is_empty());
}
