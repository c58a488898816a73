//! Sends: accepted and refused.

mod webhooks;

use super::*;
use crate::double::testing::ask;

const NOON: u64 = 1_894_708_800;

fn double() -> WhatsApp {
    let options = WhatsAppOptions {
        now: Some(NOON),
        ..WhatsAppOptions::default()
    };
    WhatsApp::start(options).expect("a free port on loopback")
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
<<<<<<< HEAD
fn a_message_is_accepted_and_counted() {
    let double = double();
    let mut body = greeting("+55 11 98765-0101");
    body["biz_opaque_callback_data"] = json!("m-1");
    let (status, answer) = send(&double, &body).expect("an answer");
    assert_eq!(status, 200);
    assert_eq!(answer["contacts"][0]["input"], "+55 11 98765-0101");
    assert_eq!(answer["contacts"][0]["wa_id"], "5511987650101");
    assert_eq!(answer["messages"][0]["message_status"], "accepted");
    let accepted = double.accepted();
    assert_eq!(answer["messages"][0]["id"], accepted[0].id);
    assert_eq!(double.accepted_as("m-1"), 1);
    assert_eq!(double.accepted_for("+55 11 98765-0101"), 1);
    assert_eq!(double.sends().len(), 1);
    assert_eq!(double.sends()[0].json(), Some(body));
}

#[test]
fn a_user_without_a_phone_is_a_recipient() {
    let double = double();
    let mut body = greeting("");
    body.as_object_mut().expect("an object").remove("to");
    body["recipient"] = json!("BR.4411");
    let (status, answer) = send(&double, &body).expect("an answer");
    assert_eq!(status, 200);
    assert_eq!(answer["contacts"][0]["wa_id"], "BR.4411");
    assert_eq!(double.accepted_for("BR.4411"), 1);
}

#[test]
=======
>>>>>>> h5
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
<<<<<<< HEAD

#[test]
fn the_list_of_templates_comes_in_pages() {
    let double = double();
    let token = &double.options().tokens[0];
    let get = |target: &str| -> (u16, Value) {
        let token = format!("Bearer {token}");
        let answer = ask(double.address(), "GET", target, &token, "").expect("an answer");
        (
            answer.status,
            serde_json::from_str(&answer.body).expect("JSON"),
        )
    };
    let list = format!("/v23.0/{}/message_templates", double.options().waba_id);
    let (mut names, mut after) = (Vec::new(), String::new());
    loop {
        let (status, page) = get(&format!("{list}?limit=5{after}"));
        assert_eq!(status, 200);
        for template in page["data"].as_array().expect("a list") {
            names.push(template["name"].clone());
        }
        if page["paging"]["next"].is_null() {
            break;
        }
        let cursor = page["paging"]["cursors"]["after"]
            .as_str()
            .expect("a cursor");
        after = format!("&after={cursor}");
    }
    assert_eq!(names.len(), double.options().templates.len());
    let (_, one) = get(&format!("{list}?name=aviso&language=en_US&fields=status"));
    assert_eq!(one["data"].as_array().map(Vec::len), Some(1));
    assert_eq!(one["data"][0]["status"], "APPROVED");
    assert!(one["data"][0]["components"].is_null());
    assert_eq!(get(&format!("{list}?after=nowhere")).0, 400);
    assert_eq!(get("/v23.0/1/message_templates").0, 400);
}

#[test]
fn misbehaviour_happens_as_often_as_it_was_planned() {
    let double = double();
    let recipient = "5511987650101";
    let one = |what: Misbehaviour| {
        double.next_sends(1, what);
        send(&double, &greeting(recipient))
    };
    assert_eq!(code(&one(Misbehaviour::Code(131_056))), (429, 131_056));
    let as_400 = Misbehaviour::CodeAs {
        code: 131_056,
        status: 400,
    };
    assert_eq!(code(&one(as_400)), (400, 131_056));
    assert_eq!(one(Misbehaviour::ResetUnread), None);
    assert_eq!(one(Misbehaviour::Reset(Taken::No)), None);
    assert_eq!(one(Misbehaviour::Close(Taken::No)), None);
    let html = one(Misbehaviour::Html(502, Taken::No));
    assert_eq!(html, Some((502, Value::Null)));
    let empty = one(Misbehaviour::Empty(503, Taken::No));
    assert_eq!(empty, Some((503, Value::Null)));
    let redirect = one(Misbehaviour::Redirect("http://10.0.0.1/".to_owned()));
    assert_eq!(redirect, Some((307, Value::Null)));
    assert!(double.accepted().is_empty());
    assert_eq!(double.sends().len(), 7, "one was never read");

    let no_id = one(Misbehaviour::NoId).expect("an answer");
    assert_eq!(no_id.1["messages"][0]["id"], Value::Null);
    assert_eq!(one(Misbehaviour::Reset(Taken::Yes)), None);
    assert_eq!(
        code(&one(Misbehaviour::Slow(Duration::from_millis(1)))),
        (200, 0)
    );
    assert_eq!(double.accepted_for(recipient), 3);

    double.next_sends(2, Misbehaviour::Code(1));
    assert_eq!(code(&send(&double, &greeting(recipient))).1, 1);
    double.behave();
    assert_eq!(code(&send(&double, &greeting(recipient))), (200, 0));
}

#[test]
fn a_limit_has_a_retry_after() {
    let double = double();
    let limit = Misbehaviour::Throttled {
        code: 130_429,
        retry_after: 17,
    };
    double.next_sends(1, limit);
    let body = greeting("5511987650101").to_string();
    let token = format!("Bearer {}", double.options().tokens[0]);
    let path = double.messages_path();
    let answer = ask(double.address(), "POST", &path, &token, &body).expect("an answer");
    assert_eq!(answer.status, 429);
    assert!(answer.head.contains("Retry-After: 17\r\n"), "{answer:?}");
}

#[test]
fn a_hanging_send_is_answered_when_it_is_released() {
    let double = double();
    double.next_sends(1, Misbehaviour::Hang(Taken::Yes));
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| send(&double, &greeting("5511987650101")));
        while double.hanging() == 0 {
            std::thread::yield_now();
        }
        assert_eq!(
            double.accepted().len(),
            1,
            "a status may come before the answer"
        );
        double.release();
        assert_eq!(code(&sending.join().expect("no panic")), (200, 0));
    });
}

#[test]
fn a_dropped_double_releases_the_hanging_sends() {
    let double = double();
    double.next_sends(1, Misbehaviour::Hang(Taken::No));
    let (path, token) = (double.messages_path(), double.options().tokens[0].clone());
    let (address, body) = (double.address(), greeting("5511987650101").to_string());
    let sending =
        std::thread::spawn(move || ask(address, "POST", &path, &format!("Bearer {token}"), &body));
    while double.hanging() == 0 {
        std::thread::yield_now();
    }
    drop(double);
    assert_eq!(sending.join().expect("no panic"), None);
}
=======
>>>>>>> h5
