//! A partner makes a deal: for which person, about which product, with which first message.

use leadhost_domain::key::KeyKind;
use leadhost_store::ChangedBy;
use leadhost_tests::{Answer, Declared, Host, On, Options, fields, has, until};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use super::{Seat, check_places, refusal, text};
use crate::notifications::{instance, welcomed};

leadhost_tests::on_every_store! {
    a_name_and_a_phone_or_an_address_make_a_deal,
    every_given_field_is_kept_and_shown,
    a_product_is_named_by_either_id_and_an_unknown_one_is_refused_unless_bypassed,
    a_template_begins_a_conversation_and_the_worker_sends_it,
    an_instance_is_one_of_the_workspace,
    a_template_that_does_not_fit_or_is_not_there_makes_no_deal,
    the_same_deal_twice_under_a_key_is_one,
    a_partner_that_hangs_up_has_its_deal,
    a_notification_s_fields_count_for_the_first_message,
}

/// A seat with an instance `bot` on a sandbox with this configuration.
struct Talk {
    seat: Seat,
    declared: Declared,
}

impl Talk {
    async fn new(on: On, config: Value) -> Self {
        let host = Host::working_with(Options::patient(on)).await;
        host.activate("adapter-sandbox").await;
        let declared = host.declare(&instance("bot", &config)).await;
        let seat = Seat::at(host).await;
        Self { seat, declared }
    }

    fn bot(&self) -> i64 {
        self.declared.instance("bot")
    }

    /// A deal whose conversation begins with a template.
    fn body(&self) -> Value {
        welcomed(self.bot())
    }

    /// Returns the exported row with this id.
    async fn row(&self, entity: &str, id: &str) -> Value {
        let mut rows = self.seat.rows(entity).await.into_iter();
        let row = rows.find(|row| row["id"] == id);
        row.unwrap_or_else(|| panic!("{id} is one of the {entity}"))
    }

    async fn delivered(&self, answer: &Answer) -> Value {
        let id = answer.header("x-message-id").to_owned();
        assert!(!id.is_empty(), "{answer:?}");
        until("the message is delivered", async || {
            let message = self.row("messages", &id).await;
            (message["metadata"]["status"] == "delivered").then_some(message)
        })
        .await
    }

    async fn is_empty(&self) {
        for entity in ["deals", "contacts", "conversations", "messages"] {
            assert!(self.seat.rows(entity).await.is_empty(), "{entity}");
        }
    }
}

fn welcome() -> Value {
    json!({"templates": [
        {"name": "welcome", "language": "pt_BR", "text": "Olá {{1}}, podemos conversar?"},
        {"name": "tired", "language": "pt_BR", "text": "Oi", "status": "paused"},
    ]})
}

#[track_caller]
fn deal_of(answer: &Answer) -> String {
    text(&answer.json()["dealId"])
}

async fn a_name_and_a_phone_or_an_address_make_a_deal(on: On) {
    let seat = Seat::new(on).await;
    for (body, query) in [
        (
            json!({"name": " Ana ", "phoneNumber": "(11) 98765-4321"}),
            "phone=11987654321",
        ),
        (
            json!({"name": "Bia", "email": "BIA@example.com"}),
            "email=bia@example.com",
        ),
    ] {
        let answer = seat.create(body.clone()).await.expect(201);
        let deal = deal_of(&answer);
        let expect = json!({"success": true, "dealId": deal, "conversationId": null});
        assert_eq!(answer.json(), expect);
        for header in ["x-message-id", "x-message-status", "idempotency-replayed"] {
            assert_eq!(answer.header(header), "");
        }
        let found = seat.find(query).await;
        assert_eq!(found.len(), 1, "{query}");
        let view = &found[0];
        fields!(view, {
            "deal.id": deal.as_str(), "deal.status": "open",
            "deal.createdAt": seat.host.now().text(), "deal.updatedAt": view["deal"]["createdAt"],
            "deal.props.externalIntegrationId": null, "person.name": text(&body["name"]).trim(),
            "property": {"id": null, "name": null, "externalId": null},
        });
        // The workspace's first agent.
        assert!(view["agent"]["id"].is_i64());
        let row = seat.exported(&deal).await;
        fields!(row, {"stage_code": "in_qualification", "person_id": view["person"]["id"]});
        let past = seat.past(deal.parse().unwrap()).await;
        assert_eq!(past.history.len(), 1);
        assert!(matches!(past.history[0].by, ChangedBy::Partner { .. }));
    }
    assert_eq!(seat.rows("conversations").await.len(), 0);
}

async fn every_given_field_is_kept_and_shown(on: On) {
    let seat = Seat::new(on).await;
    let agents = seat.host.store().agents(seat.seeded.workspace).await;
    let agents = agents.unwrap();
    let body = json!({
        "name": "Ana Prado",
        "phoneNumber": "+351 912 345 678",
        "email": "ana@example.com",
        "productExternalId": "AP-1",
        "instanceId": agents[0].id,
        "source": "fair",
        "externalId": "crm/17",
        "conversionIdentifier": "campaign-7",
        "bypassProductCheck": false,
        // No message is sent, so these two fields have no effect.
        "ignoreTransferToDeskIfUnanswered": true,
        "specialInstructions": "Seja breve.",
    });
    let deal = deal_of(&seat.create(body).await.expect(201));
    for query in [
        "phoneNumber=%2B351912345678",
        "email=ana@example.com",
        "externalId=crm/17",
        &format!("id={deal}&email=ana@example.com&externalIntegrationId=crm%2F17"),
    ] {
        let found = seat.find(query).await;
        assert_eq!(found.len(), 1, "{query}");
        assert_eq!(found[0]["deal"]["id"], deal.as_str());
    }
    let view = seat.shown(&deal).await;
    assert_eq!(
        view["deal"]["props"],
        json!({
            "source": "fair",
            "conversionIdentifier": "campaign-7",
            "externalIntegrationId": "crm/17",
            "contact": {
                "name": "Ana Prado",
                "phones": ["+351912345678"],
                "emails": ["ana@example.com"],
            },
        })
    );
    assert_eq!(view["property"]["externalId"], "AP-1");
    assert_eq!(view["agent"]["id"], json!(agents[0].id));
    assert_eq!(view["person"]["phoneNumber"], "+351912345678");
    fields!(seat.exported(&deal).await, {"external_id": "crm/17", "agent_id": view["agent"]["id"]});
    // The partner's own id is of one deal.
    let again = json!({"name": "Ana", "email": "ana@example.com", "externalId": "crm/17"});
    let taken = seat.create(again).await.expect(409).json();
    fields!(taken, {"statusCode": 409, "code": "external_id_taken", "dealId": deal});
    assert_eq!(seat.find("externalId=crm/17").await.len(), 1);
}

async fn a_product_is_named_by_either_id_and_an_unknown_one_is_refused_unless_bypassed(on: On) {
    let seat = Seat::new(on).await;
    let with = |fields: Value| {
        let mut body = json!({"name": "Ana", "email": "ana@example.com"});
        for (name, value) in fields.as_object().expect("an object") {
            body[name] = value.clone();
        }
        body
    };
    let first = seat.create(with(json!({"productExternalId": " AP-1 "})));
    let first = first.await;
    let view = seat.shown(deal_of(&first.expect(201))).await;
    let id = text(&view["property"]["id"]);
    for fields in [
        json!({"productId": id}),
        json!({"productId": id, "productExternalId": "AP-1"}),
    ] {
        let answer = seat.create(with(fields)).await.expect(201);
        let view = seat.shown(deal_of(&answer)).await;
        assert_eq!(view["property"]["name"], "Two rooms");
    }
    let missing = "not found";
    for (fields, named, why) in [
        (json!({"productExternalId": "AP-9"}), "'AP-9'", missing),
        (json!({"productId": super::NOBODY}), super::NOBODY, missing),
        (json!({"productId": "AP-1"}), "'AP-1'", missing),
        (
            json!({"productId": id, "productExternalId": "AP-2"}),
            "'AP-2'",
            "two products",
        ),
    ] {
        let before = seat.rows("deals").await.len();
        let message = refusal(&seat.create(with(fields.clone())).await, 404);
        has!(message, named, why);
        assert_eq!(seat.rows("deals").await.len(), before);
        let mut bypassed = fields.clone();
        bypassed["bypassProductCheck"] = json!(true);
        let answer = seat.create(with(bypassed)).await.expect(201);
        let view = seat.shown(deal_of(&answer)).await;
        assert_eq!(view["property"]["id"], Value::Null);
        // The fields that the partner sent are kept.
        for (name, value) in fields.as_object().expect("an object") {
            assert_eq!(&view["deal"]["props"][name], value, "{view}");
        }
    }
    let known = json!({"productExternalId": "AP-1", "bypassProductCheck": true});
    let view = seat
        .shown(deal_of(&seat.create(with(known)).await.expect(201)))
        .await;
    assert_eq!(view["property"]["externalId"], "AP-1");
}

async fn a_template_begins_a_conversation_and_the_worker_sends_it(on: On) {
    let talk = Talk::new(on, welcome()).await;
    let answer = talk.seat.create(talk.body()).await.expect(201);
    let deal = deal_of(&answer);
    let conversation = text(&answer.json()["conversationId"]);
    assert_eq!(answer.header("x-message-status"), "waiting");
    let message = talk.delivered(&answer).await;
    assert_eq!(message["conversation_id"], conversation.as_str());
    assert_eq!(message["content"], "Olá Ana, podemos conversar?");
    let conversation = talk.row("conversations", &conversation).await;
    assert_eq!(conversation["deal_id"], deal.as_str());
    assert_eq!(conversation["agent_id"], talk.bot());
    assert_eq!(conversation["source"], "landing-page");
    assert_eq!(conversation["status"], "open");
    let view = talk.seat.shown(&deal).await;
    assert_eq!(conversation["contact_id"], view["person"]["id"]);
    assert_eq!(view["agent"]["id"], talk.bot());
    // The next deal of the same person, in the legacy format, continues the open conversation.
    let mut body = talk.body();
    body.as_object_mut().unwrap().remove("template");
    body["messageTemplate"] = json!("welcome");
    body["replacements"] = json!(["Bia {{1}}"]);
    let next = talk.seat.create(body).await.expect(201);
    assert_ne!(deal_of(&next), deal);
    assert_eq!(next.json()["conversationId"], conversation["id"]);
    let message = talk.delivered(&next).await;
    assert_eq!(message["content"], "Olá Bia {{1}}, podemos conversar?");
}

async fn an_instance_is_one_of_the_workspace(on: On) {
    let talk = Talk::new(on, json!({})).await;
    let stranger = talk.seat.host.workspace("stranger").await;
    let agents = talk.seat.host.store().agents(stranger.workspace).await;
    let agents = agents.unwrap();
    let theirs = agents[0].id.0;
    let mute = talk.declared.instance("desk");
    let without = |instance: i64| json!({"name": "Ana", "phoneNumber": "11 98765-4321", "instanceId": instance});
    let with = |instance: i64| {
        let mut body = talk.body();
        body["instanceId"] = json!(instance);
        body
    };
    for body in [
        with(theirs),
        with(mute),
        with(0),
        with(-1),
        with(i64::MAX),
        without(theirs),
        without(0),
        without(i64::MIN),
    ] {
        let answer = talk.seat.create(body.clone()).await;
        assert_eq!(refusal(&answer, 400), "Instance not found", "{body}");
    }
    talk.is_empty().await;
    // An agent that cannot send can still have deals.
    let view = talk.seat.create(without(mute)).await.expect(201);
    assert_eq!(talk.seat.shown(deal_of(&view)).await["agent"]["id"], mute);
}

async fn a_template_that_does_not_fit_or_is_not_there_makes_no_deal(on: On) {
    let talk = Talk::new(on, welcome()).await;
    let with = |path: &str, value: Value| {
        let mut body = talk.body();
        *body.pointer_mut(path).expect("it is there") = value;
        body
    };
    let misfit = talk.seat.create(with("/template/components", json!([])));
    let misfit = misfit.await;
    let given = [("too_small", "template.components")];
    check_places(&misfit, &given, "no parameter");
    let mut legacy = talk.body();
    legacy.as_object_mut().unwrap().remove("template");
    legacy["messageTemplate"] = json!("welcome");
    let misfit = talk.seat.create(legacy).await;
    check_places(&misfit, &[("too_small", "replacements")], "no replacement");
    let send = async |key: &str, body: Value| {
        let ask = talk.seat.creating().header("idempotency-key", key);
        ask.json(&body).send().await
    };
    let unknown = with("/template/name", json!("later"));
    let first = send("k-1", unknown.clone()).await;
    assert_eq!(refusal(&first, 500), "Template 'later' not found");
    let again = send("k-1", unknown).await;
    assert_eq!(refusal(&again, 500), "Template 'later' not found");
    assert_eq!(again.header("idempotency-replayed"), "true");
    let tired = talk.seat.create(with("/template/name", json!("tired")));
    let tired = tired.await;
    assert_eq!(refusal(&tired, 500), "Template 'tired' is paused");
    talk.is_empty().await;
    refusal(&send("k-1", talk.body()).await, 422);
    // A refusal is not stored under the key.
    let wrong = with("/template/components", json!([]));
    refusal(&send("k-2", wrong).await, 400);
    send("k-2", talk.body()).await.expect(201);
}

async fn the_same_deal_twice_under_a_key_is_one(on: On) {
    let talk = Talk::new(on, json!({})).await;
    let send = async |key: &str, body: &Value| {
        let ask = talk.seat.creating().header("idempotency-key", key);
        ask.json(body).send().await
    };
    let first = send("k-1", &talk.body()).await.expect(201);
    talk.delivered(&first).await;
    talk.seat
        .patch(deal_of(&first), json!({"status": "won"}))
        .await
        .expect(202);
    let again = send("k-1", &talk.body()).await.expect(201);
    assert_eq!(again.body, first.body);
    for header in ["x-message-id", "x-message-status"] {
        assert_eq!(again.header(header), first.header(header));
    }
    assert_eq!(first.header("idempotency-replayed"), "");
    assert_eq!(again.header("idempotency-replayed"), "true");
    let mut other = talk.body();
    other["name"] = json!("Bia");
    has!(refusal(&send("k-1", &other).await, 422), "Idempotency-Key");
    // A key counts for its route and its partner.
    let ask = talk.seat.host.post("/send-notification");
    let ask = ask.partner(&talk.seat.seeded.partner_key);
    let ask = ask.header("idempotency-key", "k-1").json(&talk.body());
    ask.send().await.expect(200);
    let key = talk.seat.other(KeyKind::Partner).await;
    let ask = talk.seat.host.post("/deal").partner(&key);
    let ask = ask.header("idempotency-key", "k-1").json(&talk.body());
    let theirs = ask.send().await.expect(201);
    assert_ne!(theirs.body, first.body);
    assert_eq!(talk.seat.rows("deals").await.len(), 2);
    // The refusal of an unknown product is not stored under the key.
    let mut body = json!({"name": "Ana", "email": "ana@example.com", "productExternalId": "AP-9"});
    refusal(&send("k-2", &body).await, 404);
    body["bypassProductCheck"] = json!(true);
    send("k-2", &body).await.expect(201);
}

async fn a_partner_that_hangs_up_has_its_deal(on: On) {
    let seat = Seat::new(on).await;
    let mut stream = seat.host.raw().await;
    let body = json!({"name": "Ana", "email": "ana@example.com"}).to_string();
    let key = seat.seeded.partner_key.reveal();
    let request = format!(
        "POST /deal HTTP/1.1\r\nHost: a\r\nx-service-api-key: {key}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.expect("open");
    drop(stream);
    until("the deal is there", async || {
        seat.find("email=ana@example.com").await.pop()
    })
    .await;
}

async fn a_notification_s_fields_count_for_the_first_message(on: On) {
    let talk = Talk::new(on, json!({})).await;
    let mut body = talk.body();
    body["specialInstructions"] = json!("Seja breve. \u{202e}\u{1f3e1}");
    body["ignoreTransferToDeskIfUnanswered"] = json!(true);
    let answer = talk.seat.create(body).await.expect(201);
    talk.delivered(&answer).await;
    let id = text(&answer.json()["conversationId"]);
    let conversation = talk.row("conversations", &id).await;
    fields!(conversation, {"props.specialInstructions": "Seja breve. \u{202e}\u{1f3e1}"});
    talk.seat.host.advance(25 * 3_600).await;
    let conversation = until("no answer came in time", async || {
        talk.seat.host.app.pipeline.wake();
        let conversation = talk.row("conversations", &id).await;
        conversation["no_response_at"]
            .is_string()
            .then_some(conversation)
    })
    .await;
    assert!(conversation["transferred_at"].is_null());
}
