//! A deal that is made after its conversation: the conversation belongs to it at once.

use leadhost_tests::{On, fields, guests, until};
use serde_json::{Value, json};

use super::{Desk, E164, text};

leadhost_tests::on_every_store! {
    a_conversation_belongs_to_the_deal_that_a_partner_makes_after_it,
    a_conversation_belongs_to_the_deal_of_a_lead_that_comes_after_it,
    a_conversation_that_waits_for_people_gets_its_deal_with_its_ticket,
    a_deal_of_a_large_delivery_takes_its_conversation,
}

/// Creates a deal for the contact. Returns its id.
async fn deal(desk: &Desk, more: Value) -> String {
    let mut body = json!({"name": "Ilda Prates", "phoneNumber": E164});
    let fields = body.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    let ask = desk.host.post("/deal").json(&body);
    let ask = ask.header("x-service-api-key", &desk.declared.key("partner"));
    text(&ask.send().await.expect(201).json()["dealId"])
}

async fn change(desk: &Desk, deal: &str, body: Value) {
    let ask = desk.host.ask("PATCH", &format!("/deal/{deal}"));
    let ask = ask.header("x-service-api-key", &desk.declared.key("partner"));
    ask.json(&body).send().await.expect(202);
}

async fn a_conversation_belongs_to_the_deal_that_a_partner_makes_after_it(on: On) {
    let desk = Desk::new(on).await;
    let instance = json!({"instanceId": desk.declared.instance("voice")});
    belongs(&desk, async || deal(&desk, instance.clone()).await).await;
}

async fn a_conversation_belongs_to_the_deal_of_a_lead_that_comes_after_it(on: On) {
    let desk = Desk::new(on).await;
    belongs(&desk, async || desk.lead("L-1", E164).await).await;
}

async fn belongs(desk: &Desk, make: impl AsyncFn() -> String) {
    let conversation = desk.notify(json!({})).await;
    desk.contact_writes("Quero visitar").await;
    let made = make().await;
    assert_eq!(desk.conversation(&conversation).await["deal_id"], made);
    let now = desk.host.now().text();
    change(desk, &made, json!({"stageCode": "visit_scheduled"})).await;
    let row = desk.conversation(&conversation).await;
    assert_eq!(row["appointment_at"], now);
    change(desk, &made, json!({"stageCode": "transferred"})).await;
    let row = desk.conversation(&conversation).await;
    assert_eq!(row["transferred_at"], now);
    fields!(desk.ticket().await, {"conversationId": conversation, "dealId": made});
    change(desk, &made, json!({"status": "won"})).await;
    let row = desk.conversation(&conversation).await;
    let expect = (now, &json!("closed"));
    assert_eq!((text(&row["closed_at"]), &row["status"]), expect);

    desk.host.advance(900).await;
    desk.host.count_analytics().await;
    let ask = desk.host.get("/v1/analytics/conversations/day");
    let key = format!("Bearer {}", desk.declared.key("workspace"));
    let ask = ask.header("authorization", &key);
    let counted = &ask.send().await.expect(200).json()["data"][0];
    for measure in ["conversations_started", "appointments", "transferred"] {
        assert_eq!(counted[measure], 1, "{measure}");
    }
}

async fn a_conversation_that_waits_for_people_gets_its_deal_with_its_ticket(on: On) {
    let desk = Desk::new(on).await;
    let conversation = desk.notify(json!({})).await;
    desk.host.advance(7_201).await;
    let ticket = desk.ticket().await;
    assert!(ticket["dealId"].is_null());
    let made = deal(&desk, json!({})).await;
    let ticket = desk.ticket().await;
    fields!(ticket, {"dealId": made, "conversationId": conversation});
    // A transfer finds it handed over.
    desk.transfer(&made).await;
    assert_eq!(desk.ticket().await["id"], ticket["id"]);
}

async fn a_deal_of_a_large_delivery_takes_its_conversation(on: On) {
    let desk = Desk::new(on).await;
    desk.host
        .converter(guests::rust_component("converter-mapping"))
        .await;
    let portal = "[[connections]]\nname = \"portal\"\npartner = \"acme\"\nplugin = \"mapping\"\n\
        config = { items = [\"leads[*]\"], fields = { externalId = \"id\", phones = \"phone\" } }\n";
    let declared = desk.host.declare(&format!("{}{portal}", super::FILE)).await;
    let conversation = desk.notify(json!({})).await;
    let lead = |number: u32| json!({"id": number, "phone": format!("+55119876502{number:02}")});
    let mut leads: Vec<_> = (0..60).map(lead).collect();
    leads.push(json!({"id": 60, "phone": E164}));
    let ask = desk.host.post(&declared.address("portal"));
    let ask = ask.json(&json!({"leads": leads}));
    assert_eq!(ask.send().await.expect(200).json()["status"], "queued");
    let deal_id = until("the conversation has its deal", async || {
        let row = desk.conversation(&conversation).await;
        row["deal_id"].as_str().map(str::to_owned)
    });
    let deal_id = deal_id.await;
    let made = desk.host.row(&desk.declared, "deals", deal_id).await;
    assert_eq!(made["external_id"], "60");
}
