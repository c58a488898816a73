//! A provider's webhook is handled like a source's delivery: durable before the
//! answer, checked, and kept whatever its outcome.

use leadhost_domain::delivery::DeliveryStatus;
use leadhost_pipeline::replay::{self, ReplayOptions};
use leadhost_tests::guests::AdapterVariant;
use leadhost_tests::{Host, Json, Log, On, fields, guests, has, until};
use serde_json::{Value, json};

use super::{VOICE, events, inbound, voice, with_voice};

leadhost_tests::on_every_store! {
    only_its_own_address_leads_to_an_instance,
    a_webhook_is_answered_with_nothing_once_it_is_kept,
    a_webhook_that_the_adapter_cannot_read_is_refused_and_kept,
    an_event_that_cannot_be_read_does_not_harm_the_others,
    a_webhook_without_proof_is_quarantined_until_it_can_be_proven,
    webhooks_that_fail_only_with_a_new_version_of_the_adapter_name_it,
    a_replay_shows_the_messages_that_it_would_store,
}

async fn only_its_own_address_leads_to_an_instance(on: On) {
    let host = Host::working(on).await;
    host.converter(leadhost_tests::guests::example_form()).await;
    let form = "[[connections]]\nname = \"form\"\npartner = \"acme\"\nplugin = \"example-form\"\n";
    let other = VOICE.replace("\"voice\"", "\"other\"");
    let other = other.replace("00000\"", "00009\"");
    let declared = with_voice(&host, &format!("{other}{form}")).await;
    let body = json!({ "events": [] });
    let (instance, token) = (declared.instance("voice"), declared.channel("voice"));
    let right = format!("/channel-webhook/{instance}/{token}");
    assert_eq!(declared.webhook("voice"), right);
    host.post(&right).json(&body).send().await.expect(200);
    let form = declared.id("form");
    for wrong in [
        format!("/channel-webhook/{}/{token}", declared.instance("other")),
        format!("/channel-webhook/{instance}/{}", declared.channel("other")),
        format!("/channel-webhook/{instance}/{form}"),
        format!("/channel-webhook/{}/{token}", instance + 1_000),
        format!("/channel-webhook/{instance}/short"),
        format!("/channel-webhook/voice/{token}"),
        format!("/channel-webhook/{instance}/AAAAAAAAAAAAAAAAAAAAAA"),
        format!("/ingest-lead/{token}"),
    ] {
        let answer = host.post(&wrong).json(&body).send().await.expect(404);
        assert_eq!(answer.json()["statusCode"], 404, "{wrong}");
        host.get(&wrong).send().await.expect(404);
    }
    // The address for leads still accepts leads.
    let lead = json!({ "id": "1", "nome": "Ana", "telefone": "11 90000-0001" });
    let ask = host.post(&declared.address("form")).json(&lead);
    assert_eq!(ask.send().await.expect(200).json()["status"], "converted");
}

async fn a_webhook_is_answered_with_nothing_once_it_is_kept(on: On) {
    let (host, declared) = voice(on).await;
    let answer = events(&host, &declared, &[]).await.expect(200);
    assert!(answer.body.is_empty(), "{:?}", answer.body);
    let kept = host.with_status(DeliveryStatus::Ignored).await;
    let kept = host.stored(kept[0]).await;
    assert_eq!(kept.request.connection, declared.channel("voice"));
    assert_eq!(kept.request.body, br#"{"events":[]}"#);
}

async fn a_webhook_that_the_adapter_cannot_read_is_refused_and_kept(on: On) {
    let (host, declared) = voice(on).await;
    let ask = host.post(&declared.webhook("voice"));
    let answer = ask.body("{\"events\": 7}").send().await.expect(400);
    has!(answer, "list `events`");
    let kept = host.with_status(DeliveryStatus::Rejected).await;
    assert_eq!(host.stored(kept[0]).await.request.body, b"{\"events\": 7}");
}

async fn an_event_that_cannot_be_read_does_not_harm_the_others(on: On) {
    let (host, declared) = voice(on).await;
    let some = [json!({ "inbound": {} }), inbound("+5511900000001", "Oi")];
    events(&host, &declared, &some).await.expect(200);
    let kept = host.with_status(DeliveryStatus::Converted).await;
    let kept = host.stored(kept[0]).await;
    let words: Vec<_> = kept.items.iter().map(|item| item.status.as_str()).collect();
    assert_eq!(words, ["invalid", "converted"]);
    assert_eq!(host.rows(&declared, "messages").await.len(), 1);
}

const CHECKED: &str = r#"
[instances.secrets]
token = "made-up-word"
[[instances.checks]]
secret = "token"
scheme = "equals"
proof = { place = "header", name = "X-Token" }
"#;

async fn a_webhook_without_proof_is_quarantined_until_it_can_be_proven(on: On) {
    let host = Host::working(on).await;
    let declared = with_voice(&host, &CHECKED.replace("made-up-word", "misspelt")).await;
    let body = json!({ "events": [inbound("+5511900000001", "Oi")] });
    let ask = || host.post(&declared.webhook("voice")).json(&body);
    ask().send().await.expect(401);
    ask()
        .header("x-token", "made-up-word")
        .send()
        .await
        .expect(401);
    let kept = host.with_status(DeliveryStatus::Quarantined).await;
    assert_eq!(kept.len(), 2);

    with_voice(&host, CHECKED).await;
    let options = ReplayOptions {
        release: true,
        ..ReplayOptions::default()
    };
    // Only the one that had the right token from the start.
    let mut became = Vec::new();
    for id in kept {
        let released = replay::one(&host.app.pipeline, id, options).await;
        became.extend(released.ok().map(|outcome| outcome.status));
    }
    assert_eq!(became, [DeliveryStatus::Converted]);
    let ask = ask().header("x-token", "made-up-word");
    ask.send().await.expect(200);
    assert_eq!(host.rows(&declared, "messages").await.len(), 2);
}

/// An instance whose adapter reads webhooks in this way.
fn reading(word: &str, size: u32) -> String {
    format!(
        "[[instances]]\nname = \"bot\"\nnumber = \"+5511900000000\"\nadapter = \"misbehave-adapter\"\nconfig = {{ in = \"read-webhook\", do = \"{word}\", size = {size} }}\n"
    )
}

async fn a_replay_shows_the_messages_that_it_would_store(on: On) {
    let host = Host::working(on).await;
    host.converter(guests::misbehave_adapter()).await;
    let declared = host.declare(&reading("events", 0)).await;
    let webhook = declared.webhook("bot");
    host.post(&webhook).body("{}").send().await.expect(200);
    let [lost] = host.with_status(DeliveryStatus::Ignored).await[..] else {
        panic!("one webhook is kept without a message");
    };
    host.declare(&reading("long", 2)).await;

    let shown = replay::one(&host.app.pipeline, lost, ReplayOptions::default()).await;
    let shown = shown.expect("it is shown");
    assert_eq!(shown.status, DeliveryStatus::Converted);
    let fields = shown.items.iter().flat_map(|item| &item.diff);
    let fields: Vec<_> = fields.map(|diff| diff.field.as_str()).collect();
    assert_eq!(fields, ["message.created"]);
    assert_eq!(host.rows(&declared, "messages").await, Vec::<Value>::new());

    let apply = ReplayOptions {
        apply: true,
        ..ReplayOptions::default()
    };
    let stored = replay::one(&host.app.pipeline, lost, apply).await;
    stored.expect("it is stored");
    assert_eq!(host.rows(&declared, "messages").await.len(), 1);
    let again = replay::one(&host.app.pipeline, lost, ReplayOptions::default()).await;
    let again = again.expect("it is shown");
    assert!(again.items.iter().all(|item| item.diff.is_empty()));
}

async fn webhooks_that_fail_only_with_a_new_version_of_the_adapter_name_it(on: On) {
    let log = Log::capture();
    let host = Host::working(on).await;
    let version = |version, always| {
        AdapterVariant::version(version)
            .always(always)
            .check("")
            .component()
    };
    host.converter(version("1.0.0", "")).await;
    let file = "[[instances]]\nname = \"bot\"\nadapter = \"misbehave-adapter\"\nconfig = {}\n";
    let declared = host.declare(file).await;
    let wrong = host.converter(version("1.1.0", "read-webhook:trap")).await;
    for _ in 0..5 {
        let ask = host.post(&declared.webhook("bot")).json(&json!({}));
        ask.send().await.expect(200);
    }
    let key = host.admin_key().await;
    let change = until("the change is reported", async || {
        let ask = host.admin("GET", "/admin/v1/instances").bearer(&key);
        let answer = ask.send().await.expect(200).json();
        let mut instances = answer["instances"].list().iter();
        let bot = instances.find(|one| one["name"] == "bot");
        let change = bot.expect("the instance")["sourceChange"].clone();
        (!change.is_null()).then_some(change)
    })
    .await;
    fields!(change, {"cause": "version", "failing": true, "digest": wrong});
    let what = change["what"].text();
    let is_so = what.starts_with("failing deliveries: new in 1.1.0 (") && what.contains("converts");
    assert!(is_so, "{what}");
    let log = log.take();
    let mut lines = log.lines();
    let line = lines.find(|line| line.contains("deliveries keep failing"));
    let line = line.expect("it is logged");
    has!(line, "instance=\"bot\"");
    has!(line, "leadhost plugin rollback misbehave-adapter");
}
