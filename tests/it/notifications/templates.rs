//! Checks against the provider's list of templates, before anything is stored.

use leadhost_pipeline::templates;
use leadhost_tests::{On, Options, eventually, has, until};
use serde_json::{Value, json};

use super::answers::templates as listed;
use super::{Bot, issues, refusal};

leadhost_tests::on_every_store! {
    an_unknown_or_unapproved_template_is_refused_and_nothing_is_stored,
    parameters_are_counted_before_anything_is_stored,
    a_template_that_is_newer_than_the_list_is_asked_for,
    the_list_is_renewed_from_time_to_time,
}

fn asking(bot: &Bot, template: &Value) -> Value {
    let mut body = bot.body();
    body["template"] = template.clone();
    body
}

async fn an_unknown_or_unapproved_template_is_refused_and_nothing_is_stored(on: On) {
    let bot = Bot::new(on, listed()).await;
    let check = async |name: &str, language: &str, expect: &str| {
        let template = json!({"name": name, "language": {"code": language}});
        let answer = bot.send(&asking(&bot, &template)).await;
        assert_eq!(refusal(&answer, 500), expect);
    };
    check("nothing", "pt_BR", "Template 'nothing' not found").await;
    let other = "Template 'welcome' not found in the language en: it has pt_BR";
    check("welcome", "en", other).await;
    check("tired", "pt_BR", "Template 'tired' is paused").await;
    check("tired", "PT-br", "Template 'tired' is paused").await;
    let mut legacy = bot.body();
    legacy
        .as_object_mut()
        .expect("an object")
        .remove("template");
    legacy["messageTemplate"] = json!("nothing");
    let answer = bot.send(&legacy).await;
    assert_eq!(refusal(&answer, 500), "Template 'nothing' not found");
    for entity in ["contacts", "conversations", "messages"] {
        let rows = bot.host.rows(&bot.declared, entity).await;
        assert!(rows.is_empty(), "{entity}");
    }
}

async fn parameters_are_counted_before_anything_is_stored(on: On) {
    let bot = Bot::new(on, listed()).await;
    let template = |name: &str, components: Value| json!({"name": name, "language": {"code": "pt_BR"}, "components": components});
    let texts = |texts: &[&str]| -> Vec<Value> {
        let text = |text: &&str| json!({"type": "text", "text": text});
        texts.iter().map(text).collect()
    };
    let check = async |template: Value, code: &str, path: &str, words: &str| {
        let found = issues(&bot.send(&asking(&bot, &template)).await);
        assert_eq!(found.len(), 1, "{found:?}");
        let (found_code, found_path, message) = &found[0];
        assert_eq!((found_code.as_str(), found_path.as_str()), (code, path));
        has!(message, words);
    };
    let body = |parameters: Vec<Value>| json!([{"type": "body", "parameters": parameters}]);
    let at = "template.components.0.parameters";
    let one = "The body of template 'welcome' (pt_BR) takes 1 parameter, but ";
    check(template("welcome", body(vec![])), "too_small", at, one).await;
    check(
        template("welcome", body(texts(&["a", "b"]))),
        "too_big",
        at,
        one,
    )
    .await;
    check(
        template("welcome", json!([])),
        "too_small",
        "template.components",
        one,
    )
    .await;
    let named = |name: &str| json!({"type": "text", "text": "x", "parameter_name": name});
    check(
        template("visit", body(vec![named("nome"), named("nome")])),
        "invalid_enum_value",
        "template.components.0.parameters.1.parameter_name",
        "nome, imovel",
    )
    .await;
    let header = json!([{"type": "header", "parameters": texts(&["a"])}]);
    check(
        template("photo", header),
        "invalid_enum_value",
        "template.components.0.parameters.0.type",
        "takes a parameter of type image",
    )
    .await;
    let mut legacy = bot.body();
    legacy
        .as_object_mut()
        .expect("an object")
        .remove("template");
    legacy["messageTemplate"] = json!("welcome");
    let found = issues(&bot.send(&legacy).await);
    assert_eq!(found[0].1, "replacements");
    legacy["messageTemplate"] = json!("photo");
    let found = issues(&bot.send(&legacy).await);
    let modern = "takes 1 parameter of type image, but 0 were given: `messageTemplate` fills only the body, so \
                  send the message with `template`";
    has!(found[0].2, modern);
    assert!(bot.host.rows(&bot.declared, "contacts").await.is_empty());
}

async fn a_template_that_is_newer_than_the_list_is_asked_for(on: On) {
    let mut bot = Bot::unasked(Options::patient(on), json!({"templates": []})).await;
    // A request waits only a moment for the list: on a busy machine a later one gets
    // it.
    let answered = async |bot: &Bot, status: u16| {
        until("the list is asked for", async || {
            let answer = bot.send(&bot.body()).await;
            (answer.status == status).then_some(answer)
        })
        .await
    };
    refusal(&answered(&bot, 500).await, 500);
    bot.configure(listed()).await;
    // A list that was just renewed is not requested again.
    refusal(&bot.send(&bot.body()).await, 500);
    bot.host.advance(61).await;
    answered(&bot, 200).await;
}

async fn the_list_is_renewed_from_time_to_time(on: On) {
    let mut bot = Bot::unasked(Options::patient(on), json!({"templates": []})).await;
    let id = bot.host.store().connections(None).await.expect("a store");
    let id = id
        .into_iter()
        .find(|one| one.name == "bot")
        .expect("bot")
        .id;
    let count = async |bot: &Bot| {
        let connections = &bot.host.app.pipeline.connections;
        let live = connections.get(&id).await.expect("a store").expect("there");
        let list = templates::list(&bot.host.app.pipeline, &live).await;
        let list = list.expect("a store");
        list.synced_at.map(|_| list.templates.len())
    };
    eventually("the list is asked for", async || {
        count(&bot).await == Some(0)
    })
    .await;
    bot.configure(listed()).await;
    bot.host.advance(16 * 60).await;
    eventually("the list is renewed", async || count(&bot).await == Some(4)).await;
}
