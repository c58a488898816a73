//! Sends: accepted and refused.

mod webhooks;

use super::*;
use crate::double::testing::ask;

fn double() -> WhatsApp {
    WhatsApp::start(Cloud::default(), 1_894_708_800).expect("a free port on loopback")
}

fn post(double: &WhatsApp, path: &str, token: &str, body: &str) -> Option<(u16, String)> {
    let token = format!("Bearer {token}");
    let answer = ask(double.address(), "POST", path, &token, body)?;
    Some((answer.status, answer.body))
}

fn send(double: &WhatsApp, body: &Value) -> Option<(u16, Value)> {
    let (path, token) = (double.messages_path(), double.options().tokens[0].clone());
    let (status, body) = post(double, &path, &token, &body.to_string())?;
    Some((status, serde_json::from_str(&body).unwrap_or(Value::Null)))
}

fn to(recipient: &str, name: &str, language: &str, components: Value) -> Value {
    json!({
        "messaging_product": "whatsapp",
        "to": recipient,
        "type": "template",
        "template": {"name": name, "language": {"code": language}, "components": components},
    })
}

fn words(texts: &[&str]) -> Value {
    let parameters: Vec<Value> = texts
        .iter()
        .map(|text| json!({"type": "text", "text": text}))
        .collect();
    json!({"type": "body", "parameters": parameters})
}

fn greeting(recipient: &str) -> Value {
    to(
        recipient,
        "boas_vindas",
        "pt_BR",
        json!([words(&["Ilda", "Casa Verde"])]),
    )
}

fn code(answer: &Option<(u16, Value)>) -> (u16, u64) {
    let (status, body) = answer.as_ref().expect("an answer");
    (*status, body["error"]["code"].as_u64().unwrap_or_default())
}

fn details(answer: &Option<(u16, Value)>) -> String {
    let (_, body) = answer.as_ref().expect("an answer");
    let details = &body["error"]["error_data"]["details"];
    details.as_str().unwrap_or_default().to_owned()
}

#[test]
fn the_envelope_is_checked() {
    let double = double();
    let good = greeting("5511987650101");
    let check = |change: &dyn Fn(&mut Value), expect: (u16, u64)| {
        let mut body = good.clone();
        change(&mut body);
        let answer = send(&double, &body);
        assert_eq!(code(&answer), expect, "{body}");
    };
    let without = |field: &'static str| {
        move |body: &mut Value| {
            body.as_object_mut().expect("an object").remove(field);
        }
    };
    for field in ["messaging_product", "to", "type", "template"] {
        check(&without(field), (400, 100));
    }
    check(&|body| body["to"] = json!("Ilda"), (400, 131_009));
    check(&|body| body["to"] = json!("123"), (400, 131_026));
    check(&|body| body["to"] = json!("551130000042"), (400, 131_021));
    check(&|body| body["type"] = json!("text"), (400, 131_051));
    check(
        &|body| {
            body.as_object_mut().expect("an object").remove("to");
            body["recipient"] = json!("Ilda");
        },
        (400, 131_009),
    );
    let long = "x".repeat(513);
    check(
        &|body| body["biz_opaque_callback_data"] = json!(long),
        (400, 100),
    );
    assert!(double.accepted().is_empty());
}

#[test]
fn token_and_number_are_checked_first() {
    let double = double();
    let path = double.messages_path();
    let answer = |path: &str, token: &str| {
        let (status, body) = post(&double, path, token, "{}").expect("an answer");
        let body: Value = serde_json::from_str(&body).expect("JSON");
        let error = &body["error"];
        assert!(error["error_data"].is_null());
        (
            status,
            error["code"].as_u64(),
            error["error_subcode"].as_u64(),
        )
    };
    assert_eq!(answer(&path, "other"), (401, Some(190), Some(463)));
    assert_eq!(
        answer("/v23.0/999/messages", &double.options().tokens[0]),
        (400, Some(100), Some(33))
    );
}

#[test]
fn the_template_has_to_be_approved_in_the_language() {
    let double = double();
    let check = |name: &str, language: &str, expect: (u16, u64)| {
        let answer = send(
            &double,
            &to("5511987650101", name, language, json!([words(&["Ilda"])])),
        );
        assert_eq!(code(&answer), expect, "{name} {language}");
    };
    check("nenhum", "pt_BR", (404, 132_001));
    check("boas_vindas", "en_US", (404, 132_001));
    check("pausado", "pt_BR", (400, 132_015));
    check("desligado", "pt_BR", (400, 132_016));
    check("recusado", "pt_BR", (404, 132_001));
    double.set_template_status("pausado", "pt_BR", "APPROVED");
    check("pausado", "pt_BR", (200, 0));
    assert_eq!(double.pending(), 1, "the webhook about it");
}

#[test]
fn the_components_have_to_fit_the_template() {
    let double = double();
    let document = json!({"type": "header", "parameters": [{"type": "document", "document": {"link": "https://imoveis.example/t.pdf", "filename": "t.pdf"}}]});
    let url = json!({"type": "button", "sub_type": "url", "index": "0", "parameters": [{"type": "text", "text": "a1"}]});
    let reply = json!({"type": "button", "sub_type": "quick_reply", "index": 1, "parameters": [{"type": "payload", "payload": "x"}]});
    let two = words(&["Ilda", "Casa Verde"]);
    let empty_reply =
        json!({"type": "button", "sub_type": "quick_reply", "index": 1, "parameters": []});
    let ninth = json!({"type": "button", "sub_type": "url", "index": 9, "parameters": []});
    let currency = json!({"type": "body", "parameters": [{"type": "currency"}, {"type": "text", "text": "x"}]});
    let no_link = json!({"type": "header", "parameters": [{"type": "image", "image": {}}]});
    let by_id = json!({"type": "header", "parameters": [{"type": "image", "image": {"id": "77"}}]});
    let named = |name: &str| json!({"type": "text", "text": "x", "parameter_name": name});
    let of = |parameters: Value| json!([{"type": "body", "parameters": parameters}]);
    #[rustfmt::skip]
    let cases = [
        ("tabela", json!([document, two, url, reply]), (200, 0), ""),
        ("tabela", json!([document, two, url]), (200, 0), ""),
        ("aviso", Value::Null, (200, 0), ""),
        ("boas_vindas", json!([]), (400, 132_000), "body: number of localizable_params (0) does not match the expected number of params (2)"),
        ("aviso", json!([two]), (400, 132_000), "(2) does not match the expected number of params (0)"),
        ("tabela", json!([two, url]), (400, 132_012), "header: Format mismatch, expected DOCUMENT, received UNKNOWN"),
        ("tabela", json!([document, two]), (400, 131_008), "Button at index 0 of type Url"),
        ("tabela", json!([document, two, url, empty_reply]), (400, 131_008), "QuickReply"),
        ("tabela", json!([document, two, url, ninth]), (400, 132_000), "index 9"),
        ("boas_vindas", json!([words(&["", "x"])]), (400, 131_008), "missing text value"),
        ("boas_vindas", json!([words(&["a\nb", "x"])]), (400, 132_018), "new-line"),
        ("boas_vindas", json!([{"type": "footer"}]), (400, 100), "['type'] must be one of"),
        ("boas_vindas", json!([currency]), (400, 100), "['parameters'][0]['type']"),
        ("fachada", json!([no_link]), (400, 131_008), "either a link or an id"),
        ("fachada", json!([by_id]), (200, 0), ""),
        ("retorno", of(json!([named("nome"), named("imovel")])), (200, 0), ""),
        ("retorno", json!([two]), (400, 100), "Parameter name is missing or empty"),
        ("retorno", of(json!([named("nome")])), (400, 132_000), "(1)"),
        ("retorno", of(json!([named("nome"), named("outro")])), (400, 132_012), "no parameter outro"),
    ];
    for (name, components, expect, say) in cases {
        let answer = send(&double, &to("5511987650101", name, "pt_BR", components));
        assert_eq!(code(&answer), expect, "{name} {say}");
        assert!(details(&answer).contains(say), "{name} {say}");
    }
}
