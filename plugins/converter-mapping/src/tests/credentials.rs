//! A source's credentials do not become attributes.

use leadhost_sdk::serde_json::json;

use super::converted;

#[test]
fn credentials_do_not_become_attributes_at_any_depth_or_in_any_shape() {
    let body = json!({
        "nome": "Caio Reis",
        "telefone": "11900000043",
        "refresh_token": "valor-1",
        "auth": {"usuario": "valor-1"},
        "pwd": 1234,
        "jwt": ["valor-1"],
        "cookie": true,
        "cabecalhos": [{"X-Auth-Token": "valor-1", "Accept": "tudo"}],
        "pares": [{"name": "token", "value": "valor-1"}, {"name": "cor", "value": "azul"}],
        "origem_url": "https://example.com/?utm=1&token=valor-1#fim",
        "texto_json": "{\"senha\": \"valor-1\", \"cor\": \"azul\"}",
        "autor": "Ana",
        "authorized_by": "Bia",
        "cookies_accepted": true,
    });
    let (items, _) = converted(json!({}), &body.to_string());
    let expect = json!([
        ["authorized_by", "Bia"],
        ["autor", "Ana"],
        ["cabecalhos", [{"Accept": "tudo"}]],
        ["cookies_accepted", true],
        ["origem_url", "https://example.com/?utm=1&token=***#fim"],
        ["pares", [{"name": "cor", "value": "azul"}]],
        ["texto_json", "{\"cor\":\"azul\"}"],
    ]);
    assert_eq!(items[0]["lead"]["attributes"], expect);
}

#[test]
fn answers_to_questions_for_credentials_do_not_become_attributes() {
    let answers = json!([
        {"name": "email", "value": "caio@example.com"},
        {"name": "csrf_token", "value": "valor-1"},
        {"name": "x1", "label": "Senha", "value": "valor-1"},
        {"name": "pagina", "value": "https://example.com/?api_key=valor-1"},
    ]);
    let body = json!({ "answers": answers });
    let (items, _) = converted(json!({}), &body.to_string());
    let expect = json!([["pagina", "https://example.com/?api_key=***"]]);
    assert_eq!(items[0]["lead"]["attributes"], expect);
}
