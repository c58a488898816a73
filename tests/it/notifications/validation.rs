//! Validation of a notification's body, and the issue for each mistake.

use leadhost_tests::{On, fields};
use serde_json::{Value, json};

use super::{Bot, issues, refusal};

leadhost_tests::on_every_store! {
    each_mistake_is_an_issue_with_its_path,
    all_mistakes_are_reported_at_once,
    one_format_is_given_and_not_both,
    a_body_that_is_no_json_object_is_refused,
    an_instance_that_cannot_send_is_not_found,
    every_error_has_the_shape_of_this_endpoint,
}

/// Returns a body with another value at a dotted path of names and numbers;
/// null removes the member.
fn with(mut body: Value, path: &str, value: &Value) -> Value {
    let mut at = &mut body;
    let mut steps = path.split('.').peekable();
    while let Some(step) = steps.next() {
        if steps.peek().is_none() && value.is_null() {
            at.as_object_mut().expect("an object").remove(step);
            return body;
        }
        at = match step.parse::<usize>() {
            Ok(index) => &mut at[index],
            Err(_) => &mut at[step],
        };
    }
    *at = value.clone();
    body
}

const PARAMETER: &str = "template.components.0.parameters.0";

async fn each_mistake_is_an_issue_with_its_path(on: On) {
    let bot = Bot::new(on, json!({})).await;
    let check = async |code: &str, path: &str, value: Value, message: &str| {
        let mut body = bot.body();
        if path.ends_with("index") || path.ends_with("sub_type") {
            // Only a button has these.
            body = with(body, "template.components.0.type", &json!("button"));
            body = with(body, "template.components.0.sub_type", &json!("url"));
        }
        let answer = bot.send(&with(body, path, &value)).await;
        let expect = [(code.to_owned(), path.to_owned(), message.to_owned())];
        assert_eq!(issues(&answer), expect, "{path} = {value}");
    };
    let [kind, text, named] =
        ["type", "text", "parameter_name"].map(|name| format!("{PARAMETER}.{name}"));
    let required = "name phoneNumber instanceId source template.name template.language \
        template.language.code template.components.0.type";
    for path in required.split(' ').chain([&*kind, &text]) {
        check("invalid_type", path, Value::Null, "Required").await;
    }
    let number = "Expected string, received number";
    let texts = "name phoneNumber email source specialInstructions template.name \
        template.language.code";
    for path in texts.split(' ').chain([&*text, &named]) {
        check("invalid_type", path, json!(7), number).await;
    }
    let component = |field: &str| format!("template.components.0{field}");
    let at = ["", ".parameters", ".index", ".type"].map(component);
    let [first, parameters, index, of_type] = at.each_ref().map(String::as_str);
    let ignore = "ignoreTransferToDeskIfUnanswered";
    let known = "'header' | 'body' | 'button', received number";
    for (path, value, expected) in [
        ("instanceId", json!("7"), "number, received string"),
        ("instanceId", json!(7.5), "integer, received float"),
        (ignore, json!("yes"), "boolean, received string"),
        ("template", json!("welcome"), "object, received string"),
        ("template.language", json!(""), "object, received string"),
        ("template.components", json!({}), "array, received object"),
        (first, json!([]), "object, received array"),
        (parameters, json!("x"), "array, received string"),
        (index, json!("first"), "number, received string"),
        (of_type, json!(7), known),
    ] {
        check("invalid_type", path, value, &format!("Expected {expected}")).await;
    }
    let sub_type = component(".sub_type");
    for (path, given, known) in [
        (of_type, "footer", "'header' | 'body' | 'button'"),
        (&sub_type, "call", "'url' | 'quick_reply'"),
        (&kind, "currency", "'text' | 'document' | 'image' | 'video'"),
    ] {
        let message = format!("Invalid enum value. Expected {known}, received '{given}'");
        check("invalid_enum_value", path, json!(given), &message).await;
    }
    let least = "String must contain at least 1 character(s)";
    let named = "name source template.name template.language.code";
    for path in named.split(' ').chain([&*text]) {
        check("too_small", path, json!(""), least).await;
    }
    check("too_small", "name", json!(" \t"), least).await;
    for unseen in [" \n\t", "\u{a0}\u{2028}", "\u{200b}"] {
        check("too_small", &text, json!(unseen), least).await;
    }
    for (path, most) in [
        ("name", 255),
        ("source", 255),
        ("specialInstructions", 4_000),
        ("template.name", 512),
        (&text, 1_024),
    ] {
        let message = format!("String must contain at most {most} character(s)");
        check("too_big", path, json!("é".repeat(most + 1)), &message).await;
    }
    let negative = "Number must be greater than or equal to 0";
    check("too_small", index, json!(-1), negative).await;
    let emails = "ana|.a@b.co|a..b@c.co|a@b..co|a@-x.com|a@1.2.3.4|a@x.c|a@x.123|a@ex_ample.com| a@b.co|joão@example.com";
    for email in emails.split('|') {
        check("invalid_string", "email", json!(email), "Invalid email").await;
    }
    let phones = "|12|no phone|+0|+55 11 00000-0000|(00) 12345-6789|99999999999999999999";
    for phone in phones.split('|') {
        let message = "Invalid phone number";
        check("invalid_string", "phoneNumber", json!(phone), message).await;
    }
    for path in ["name", "source", "template.name", &text] {
        let message = "The character U+0000 is not allowed";
        check("invalid_string", path, json!("a\0b"), message).await;
    }

    let parameter = async |value: Value, expect: &[(&str, &str, &str)]| {
        let answer = bot.send(&with(bot.body(), PARAMETER, &value)).await;
        let expect: Vec<_> = expect
            .iter()
            .map(|(code, at, message)| {
                let at = format!("{PARAMETER}.{at}");
                ((*code).to_owned(), at, (*message).to_owned())
            })
            .collect();
        assert_eq!(issues(&answer), expect, "{value}");
    };
    let missing = "invalid_type";
    for kind in ["document", "image", "video"] {
        parameter(json!({"type": kind}), &[(missing, kind, "Required")]).await;
        let at = format!("{kind}.link");
        for link in [
            "no link",
            "javascript:alert(1)",
            "file:///etc/hosts",
            "ftp://files.example.com/a.pdf",
        ] {
            let bad = json!({"type": kind, kind: {"link": link, "filename": "a.pdf"}});
            parameter(bad, &[("invalid_string", &at, "Invalid url")]).await;
        }
    }
    let empty = json!({"type": "document", "document": {}});
    let both = ["document.link", "document.filename"].map(|at| (missing, at, "Required"));
    parameter(empty, &both).await;
    for kind in ["image", "video"] {
        let neither = json!({"type": kind, kind: {}});
        parameter(neither, &[("invalid_union", kind, "Invalid input")]).await;
    }
}

async fn all_mistakes_are_reported_at_once(on: On) {
    let bot = Bot::new(on, json!({})).await;
    let body = json!({
        "phoneNumber": "12",
        "email": "ana",
        "instanceId": bot.instance("bot"),
        "source": null,
        "template": {"name": 1, "namespace": "x", "components": [{"type": "body"}, {"type": "hat"}]},
        "unknown": {"fields": ["are", "ignored"]},
    });
    let found = issues(&bot.send(&body).await).into_iter();
    let found: Vec<_> = found
        .map(|(code, path, _)| format!("{code} {path}"))
        .collect();
    let expect = [
        "invalid_type name",
        "invalid_string email",
        "invalid_type source",
        "invalid_type template.name",
        "invalid_type template.language",
        "invalid_enum_value template.components.1.type",
        "invalid_string phoneNumber",
    ];
    assert_eq!(found, expect);
    // The format of Zod's issues, member by member.
    let message = refusal(&bot.send(&body).await, 400);
    let all: Vec<Value> = serde_json::from_str(&message).expect("JSON");
    assert_eq!(
        all[0],
        json!({"code": "invalid_type", "expected": "string", "received": "undefined",
            "path": ["name"], "message": "Required"})
    );
    fields!(all, {"1.validation": "email", "2.received": "null"});
}

async fn one_format_is_given_and_not_both(on: On) {
    let bot = Bot::new(on, json!({})).await;
    let neither = with(bot.body(), "template", &Value::Null);
    let both = with(bot.body(), "messageTemplate", &json!("welcome"));
    let not_both = "Give template or messageTemplate, not both";
    for (body, message) in [(&neither, "Invalid input"), (&both, not_both)] {
        let expect = ("invalid_union", "", message);
        let found = issues(&bot.send(body).await);
        let found: Vec<_> = found
            .iter()
            .map(|(code, path, message)| (code.as_str(), path.as_str(), message.as_str()))
            .collect();
        assert_eq!(found, [expect], "{body}");
    }
    let legacy = with(neither, "messageTemplate", &json!("welcome"));
    let check = async |value: Value, at: &str| {
        let answer = bot
            .send(&with(legacy.clone(), "replacements", &value))
            .await;
        let paths = issues(&answer).into_iter().map(|(_, path, _)| path);
        let paths: Vec<_> = paths.collect();
        assert_eq!(paths, [at], "{value}");
    };
    check(json!("Ana"), "replacements").await;
    check(json!(["Ana", 7]), "replacements.1").await;
    check(json!(["Ana", " "]), "replacements.1").await;
    check(json!(["Ana", "x".repeat(1_025)]), "replacements.1").await;
    check(json!(vec!["x"; 101]), "replacements").await;
}

async fn a_body_that_is_no_json_object_is_refused(on: On) {
    let bot = Bot::new(on, json!({})).await;
    for body in ["", "{", "name=Ana", "{\"name\": \"\\ud800\"}"] {
        let answer = bot.ask().body(body.to_owned()).send().await;
        assert!(refusal(&answer, 400).contains("not JSON"), "{body}");
    }
    let answer = bot.ask().body(vec![b'[', 0xff, b']']).send().await;
    assert!(refusal(&answer, 400).contains("not JSON"));
    let deep = "[".repeat(10_000);
    let answer = bot.ask().body(deep).send().await;
    assert!(refusal(&answer, 400).contains("nested deeper"));
    let answer = bot.send(&json!([])).await;
    let expect = "Expected object, received array".to_owned();
    let expect = [("invalid_type".to_owned(), String::new(), expect)];
    assert_eq!(issues(&answer), expect);
}

async fn an_instance_that_cannot_send_is_not_found(on: On) {
    let bot = Bot::new(on, json!({})).await;
    let elsewhere = bot.host.workspace("elsewhere").await;
    let agents = bot.host.store().agents(elsewhere.workspace).await;
    let theirs = agents.expect("a store")[0].id.0;
    // `desk` has no adapter.
    for instance in [bot.instance("desk"), theirs, 9_999, -1, 0, i64::MAX] {
        let body = with(bot.body(), "instanceId", &json!(instance));
        let answer = bot.send(&body).await;
        assert_eq!(refusal(&answer, 400), "Instance not found", "{instance}");
    }
    let body = with(bot.body(), "instanceId", &json!(1e30));
    assert_eq!(refusal(&bot.send(&body).await, 400), "Instance not found");
}

async fn every_error_has_the_shape_of_this_endpoint(on: On) {
    let bot = Bot::new(on, json!({})).await;
    let host = &bot.host;
    let without_key = host.post("/send-notification").json(&bot.body());
    refusal(&without_key.send().await, 401);
    refusal(&host.get("/send-notification").send().await, 405);
    let large = bot.ask().body(vec![b' '; (1 << 20) + 1]);
    refusal(&large.send().await, 413);
    let odd_key = bot.ask().header("idempotency-key", "").json(&bot.body());
    refusal(&odd_key.send().await, 400);
    let long_key = bot.ask().header("idempotency-key", &"k".repeat(256));
    refusal(&long_key.json(&bot.body()).send().await, 400);
    let problem = bot.ask().header("accept", "application/problem+json");
    let problem = problem.json(&json!({})).send().await;
    assert_eq!(problem.json()["status"], 400);
}
