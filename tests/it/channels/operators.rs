//! Operators' actions on instances and messages, over the admin API.

use leadhost_domain::key::PlainKey;
use leadhost_tests::{Answer, Declared, Host, Json, On, fields, guests, has, until};
use serde_json::{Value, json};

use super::{events, inbound, voice, with_voice};

leadhost_tests::on_every_store! {
    an_instance_is_shown_with_its_address_and_templates,
    an_instance_is_paused_and_resumed_by_any_of_its_names,
    a_simulated_failure_is_reported_with_its_reason,
    a_channel_that_leaves_the_file_stays_and_is_a_warning_until_it_is_paused,
    a_contact_of_the_sandbox_can_be_simulated,
    only_the_sandbox_can_be_simulated,
    only_a_waiting_or_an_unknown_message_can_be_resolved,
    an_unknown_message_is_sent_again_or_given_up_as_the_operator_decides,
    a_webhook_s_delivery_names_the_instance,
    a_message_names_the_version_that_sent_or_read_it,
}

struct ChannelOperator {
    host: Host,
    declared: Declared,
    key: PlainKey,
}

impl ChannelOperator {
    async fn new(on: On) -> Self {
        let (host, declared) = voice(on).await;
        let key = host.admin_key().await;
        Self {
            host,
            declared,
            key,
        }
    }

    async fn ask(&self, method: &str, path: &str, body: &Value) -> Answer {
        let ask = self.host.admin(method, &format!("/admin/v1{path}"));
        ask.bearer(&self.key).json(body).send().await
    }

    async fn get(&self, path: &str) -> Value {
        self.ask("GET", path, &json!({})).await.expect(200).json()
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, body).await
    }

    /// A partner sends the template. Returns the message and its state.
    async fn notify(&self) -> (String, String) {
        let body = json!({
            "name": "Ana Prado", "phoneNumber": "+5511900000001",
            "instanceId": self.declared.instance("voice"), "source": "crm",
            "messageTemplate": "welcome", "replacements": ["Ana", "AP-7"],
        });
        let ask = self.host.post("/send-notification").json(&body);
        let ask = ask.header("x-service-api-key", &self.declared.key("partner"));
        let answer = ask.send().await.expect(200);
        let of = |name: &str| answer.header(name).to_owned();
        (of("x-message-id"), of("x-message-status"))
    }

    async fn becomes(&self, message: &str, state: &str) {
        until(&format!("{message} becomes {state}"), async || {
            let found = self.outbox().await;
            let is = |one: &&Value| one["id"] == message && one["metadata"]["status"] == state;
            found.iter().find(is).map(|_| ())
        })
        .await;
    }

    async fn outbox(&self) -> Vec<Value> {
        let found = self.get("/outbox").await;
        found["messages"].list().clone()
    }
}

async fn an_instance_is_shown_with_its_address_and_templates(on: On) {
    let operator = ChannelOperator::new(on).await;
    let number = operator.declared.instance("voice");
    let found = operator.get("/instances").await;
    let instances = found["instances"].list();
    let desk = &instances[0];
    assert_eq!(desk["name"], "desk");
    assert!(desk["webhook"].is_null() && desk["adapter"].is_null());
    let voice = &instances[1];
    assert_eq!(voice["id"], number);
    assert_eq!(voice["webhook"], operator.declared.webhook("voice"));
    assert_eq!(voice["channel"], "sandbox");
    assert_eq!(voice["unansweredAfterSeconds"], 7_200);

    let synced = operator
        .post("/instances/voice/sync-templates", &json!({}))
        .await;
    assert_eq!(synced.expect(200).json()["approved"], 1);
    let shown = operator.get(&format!("/instances/{number}")).await;
    let template = &shown["templates"]["list"][0];
    assert_eq!(
        (template["name"].as_str(), template["status"].as_str()),
        (Some("welcome"), Some("approved"))
    );
    operator
        .post("/instances/desk/sync-templates", &json!({}))
        .await
        .expect(409);
    operator
        .post("/instances/nobody/sync-templates", &json!({}))
        .await
        .expect(404);
}

async fn a_simulated_failure_is_reported_with_its_reason(on: On) {
    let operator = ChannelOperator::new(on).await;
    let (message, _) = operator.notify().await;
    let path = format!("/outbox/{message}/status");
    let failed = operator.post(&path, &json!({"status": "failed"})).await;
    failed.expect(200);
    let report = "/v1/reports/message_errors?updated_since=2030-01-15T00:00:00Z";
    let key = format!("Bearer {}", operator.declared.key("workspace"));
    let ask = operator.host.get(report).header("authorization", &key);
    let rows = ask.send().await.expect(200).json()["data"].clone();
    assert_eq!(rows[0]["error_code"], "undeliverable", "{rows}");
    let why = "The message cannot be delivered: simulated by an operator";
    assert_eq!(rows[0]["error_description"], why);
}

async fn an_instance_is_paused_and_resumed_by_any_of_its_names(on: On) {
    let operator = ChannelOperator::new(on).await;
    let number = operator.declared.instance("voice").to_string();
    for name in ["voice", "demo%2Fvoice", &number] {
        let path = format!("/instances/{name}");
        let pause = json!({ "reason": "the number moves" });
        operator
            .post(&format!("{path}/pause"), &pause)
            .await
            .expect(200);
        let shown = operator.get(&path).await;
        assert_eq!(shown["paused"]["reason"], "the number moves");
        // Incoming events are still accepted.
        events(
            &operator.host,
            &operator.declared,
            &[inbound("+5511900000001", "Oi")],
        )
        .await
        .expect(200);
        operator
            .post(&format!("{path}/resume"), &json!({}))
            .await
            .expect(200);
        assert!(operator.get(&path).await["paused"].is_null());
    }
    operator
        .post("/instances/desk/pause", &json!({}))
        .await
        .expect(409);
    // A command for connections does not apply to an instance.
    operator
        .post("/connections/voice/pause", &json!({}))
        .await
        .expect(404);
}

async fn a_channel_that_leaves_the_file_stays_and_is_a_warning_until_it_is_paused(on: On) {
    let operator = ChannelOperator::new(on).await;
    let without_adapter = "[[instances]]\nname = \"voice\"\n";
    for (file, path, part) in [
        (without_adapter, "instances[1].adapter", "has no adapter in"),
        ("", "instances", "is not in"),
    ] {
        let report = operator.host.declare(file).await.report;
        let [warning] = &report.warnings[..] else {
            panic!("{:?}", report.warnings);
        };
        assert_eq!(warning.path, path);
        let channel = format!("instance `voice` {part} this file, and its channel `sandbox` stays");
        has!(warning.message, &channel);
        let advice = "`leadhost instance pause demo/voice`";
        has!(warning.message, advice);
    }
    let (message, _) = operator.notify().await;
    operator.host.pass(60).await;
    operator.becomes(&message, "delivered").await;

    let pause = operator.post("/instances/voice/pause", &json!({})).await;
    pause.expect(200);
    let report = operator.host.declare("").await.report;
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
}

async fn a_contact_of_the_sandbox_can_be_simulated(on: On) {
    let operator = ChannelOperator::new(on).await;
    let reply = json!({ "to": "(11) 90000-0001", "text": "Tem vaga?" });
    let answer = operator.post("/outbox/reply", &reply).await;
    let answer = answer.expect(200).json();
    assert_eq!(answer["status"], "converted");
    let outbox = operator.outbox().await;
    assert_eq!(outbox.len(), 1);
    let message = &outbox[0];
    assert_eq!(message["content"], "Tem vaga?");
    assert_eq!(message["phoneNumber"], "+5511900000001");
    assert_eq!(message["instanceId"], operator.declared.instance("voice"));
    // The same contact writes again, addressed by a message.
    operator.host.advance(1).await;
    let again = json!({ "to": message["id"], "text": "Alô?" });
    operator.post("/outbox/reply", &again).await.expect(200);
    assert_eq!(operator.outbox().await.len(), 2);
    assert_eq!(
        operator
            .host
            .rows(&operator.declared, "conversations")
            .await
            .len(),
        1
    );
    let received = operator
        .get("/outbox?instance=voice&state=received&limit=1")
        .await;
    assert_eq!(received["messages"][0]["content"], "Alô?");
    let next = received["next"].text();
    let rest = operator.get(&format!("/outbox?before={next}")).await;
    assert_eq!(rest["messages"][0]["id"], message["id"]);

    for (wrong, status) in [
        (json!({ "to": "nobody", "text": "Oi" }), 400),
        (json!({ "to": "+5511900000001", "text": " " }), 400),
        (
            json!({ "to": "+5511900000001", "text": "Oi", "instance": "desk" }),
            409,
        ),
        (
            json!({ "to": "018f0000-0000-7000-8000-000000000000", "text": "Oi" }),
            404,
        ),
    ] {
        operator.post("/outbox/reply", &wrong).await.expect(status);
    }
    operator
        .post("/outbox/x/status", &json!({ "status": "read" }))
        .await
        .expect(404);
    let path = format!("/outbox/{}/status", message["id"].text());
    operator
        .post(&path, &json!({ "status": "seen" }))
        .await
        .expect(400);
}

async fn only_the_sandbox_can_be_simulated(on: On) {
    let host = Host::working(on).await;
    host.converter(guests::rust_component("adapter-whatsapp-cloud"))
        .await;
    let real = r#"
[[instances]]
name = "real"
adapter = "whatsapp-cloud"
config = { phoneNumberId = "700100" }
secrets = { access-token = "made-up" }
"#;
    let declared = with_voice(&host, real).await;
    let key = host.admin_key().await;
    let operator = ChannelOperator {
        host,
        declared,
        key,
    };
    let reply = json!({ "to": "+5511900000001", "text": "Oi", "instance": "real" });
    let refused = operator.post("/outbox/reply", &reply).await.expect(409);
    has!(refused, "only with `sandbox`");
}

async fn only_a_waiting_or_an_unknown_message_can_be_resolved(on: On) {
    let operator = ChannelOperator::new(on).await;
    let reply = json!({ "to": "+5511900000001", "text": "Oi" });
    operator.post("/outbox/reply", &reply).await.expect(200);
    let outbox = operator.outbox().await;
    let path = format!("/outbox/{}/resolve", outbox[0]["id"].text());
    let refused = operator.post(&path, &json!({ "verdict": "give-up" })).await;
    let refused = refused.expect(409);
    has!(refused, "received");
    operator
        .post(&path, &json!({ "verdict": "perhaps" }))
        .await
        .expect(400);
    let unknown = "/outbox/018f0000-0000-7000-8000-000000000000/resolve";
    operator
        .post(unknown, &json!({ "verdict": "give-up" }))
        .await
        .expect(404);
}

/// Every call to the sandbox ends with an unknown outcome.
const CUT: &str = r#"
[[instances.config.outcomes]]
category = "unknown"
text = "The line was cut"
"#;

async fn an_unknown_message_is_sent_again_or_given_up_as_the_operator_decides(on: On) {
    let host = Host::working(on).await;
    let declared = with_voice(&host, CUT).await;
    let key = host.admin_key().await;
    let operator = ChannelOperator {
        host,
        declared,
        key,
    };
    let (message, state) = operator.notify().await;
    assert_eq!(state, "unknown");
    let unknown = operator.get("/outbox?state=unknown").await;
    assert_eq!(unknown["messages"][0]["id"], message);
    let path = format!("/outbox/{message}/resolve");
    let verdict = |word: &str| json!({ "verdict": word });
    let resolved = operator.post(&path, &verdict("send-again")).await;
    assert_eq!(resolved.expect(200).json()["state"], "waiting");
    // It was sent once more, again with an unknown outcome.
    operator.becomes(&message, "unknown").await;
    let resolved = operator.post(&path, &verdict("give-up")).await;
    assert_eq!(resolved.expect(200).json()["state"], "failed");
    operator
        .post(&path, &verdict("send-again"))
        .await
        .expect(409);
}

async fn a_webhook_s_delivery_names_the_instance(on: On) {
    let operator = ChannelOperator::new(on).await;
    let number = operator.declared.instance("voice");
    events(&operator.host, &operator.declared, &[])
        .await
        .expect(200);
    let list = operator.get("/deliveries?instance=voice").await;
    let delivery = &list["deliveries"][0];
    fields!(delivery, {"instanceId": number, "connection": "voice"});
    let shown = operator
        .get(&format!("/deliveries/{}", delivery["id"].text()))
        .await;
    assert_eq!(shown["instanceId"], number);
}

async fn a_message_names_the_version_that_sent_or_read_it(on: On) {
    let operator = ChannelOperator::new(on).await;
    let (sent, _) = operator.notify().await;
    operator.host.advance(1).await;
    let reply = json!({ "to": sent, "text": "Pode ser no sábado?" });
    operator.post("/outbox/reply", &reply).await.expect(200);
    let active = operator.host.app.pipeline.core.plugins.active("sandbox");
    let active = active.expect("the sandbox is active");
    let expected = json!({
        "plugin": "sandbox", "version": active.description.version,
        "digest": active.digest.to_string(), "contract": "leadhost:adapter@1.0.0",
        "configVersion": 1,
    });
    let outbox = operator.outbox().await;
    let actors: Vec<_> = outbox.iter().map(|message| &message["actor"]).collect();
    assert_eq!(actors, ["contact", "agent"]);
    for message in &outbox {
        assert_eq!(message["ran"], expected, "{message}");
    }

    // No adapter was called for a message that waits, and the export never names versions.
    let paused = operator.post("/instances/voice/pause", &json!({})).await;
    paused.expect(200);
    operator.host.advance(1).await;
    let (waiting, state) = operator.notify().await;
    assert_eq!(state, "waiting");
    fields!(operator.outbox().await, {"0.id": waiting, "0.ran": null});
    let rows = operator.host.rows(&operator.declared, "messages").await;
    assert!(rows.iter().all(|row| row["ran"].is_null()), "{rows:?}");
}
