//! One callback for many numbers: an event goes to the instance that its route names,
//! whichever address it was sent to.

use leadhost_domain::delivery::DeliveryStatus;
use leadhost_pipeline::replay::{self, ReplayOptions};
use leadhost_tests::{Declared, Host, On, guests, has};
use serde_json::{Value, json};

leadhost_tests::on_every_store! {
    an_event_goes_to_the_instance_that_has_its_number,
    a_delivery_with_an_event_of_an_unknown_number_is_kept_when_its_person_is_erased,
    a_change_of_a_template_counts_for_every_number_of_the_account,
    events_at_an_unchecked_address_are_not_routed_to_a_number_with_a_sender_check,
}

/// Two numbers of one account and one of another, on one app.
const NUMBERS: &str = r#"
[[instances]]
name = "sales"
adapter = "whatsapp-cloud"
config = { phoneNumberId = "700100", wabaId = "900" }
secrets = { access-token = "made-up", verify-token = "a-word" }
[[instances]]
name = "rentals"
adapter = "whatsapp-cloud"
config = { phoneNumberId = "700200", wabaId = "900" }
secrets = { access-token = "made-up" }
[[instances]]
name = "launches"
adapter = "whatsapp-cloud"
config = { phoneNumberId = "700300", wabaId = "901" }
secrets = { access-token = "made-up" }
"#;

/// The secret with which Meta signs the webhooks of `rentals`.
const APP_SECRET: &str = "a-made-up-app-secret";

async fn numbers(on: On) -> (Host, Declared) {
    numbers_of(on, NUMBERS).await
}

async fn numbers_of(on: On, file: &str) -> (Host, Declared) {
    let host = Host::start(leadhost_tests::Options::patient(on)).await;
    let adapter = guests::rust_component("adapter-whatsapp-cloud");
    host.converter(adapter).await;
    let declared = host.declare(file).await;
    (host, declared)
}

fn message(number: &str, id: &str) -> Value {
    json!({ "field": "messages", "value": {
        "messaging_product": "whatsapp",
        "metadata": { "display_phone_number": "5511900000000", "phone_number_id": number },
        "contacts": [{ "profile": { "name": "Rui" }, "wa_id": "5521988887777" }],
        "messages": [{
            "from": "5521988887777", "id": id, "timestamp": "1894708700",
            "type": "text", "text": { "body": "Bom dia" }
        }]
    } })
}

fn template_change() -> Value {
    json!({ "field": "message_template_status_update", "value": {
        "event": "PAUSED", "message_template_name": "welcome",
        "message_template_language": "pt_BR", "reason": "NONE"
    } })
}

async fn post(host: &Host, declared: &Declared, account: &str, changes: &[Value]) {
    let body = json!({
        "object": "whatsapp_business_account", "entry": [{"id": account, "changes": changes}],
    });
    let ask = host.post(&declared.webhook("sales")).json(&body);
    ask.send().await.expect(200);
}

async fn an_event_goes_to_the_instance_that_has_its_number(on: On) {
    let (host, declared) = numbers(on).await;
    let changes = [
        message("700200", "wamid.1"),
        message("700100", "wamid.2"),
        message("700999", "wamid.3"),
    ];
    post(&host, &declared, "900", &changes).await;
    let agents = |rows: &[Value]| {
        let mut agents: Vec<_> = rows
            .iter()
            .map(|row| row["agent_id"].as_i64().expect("an instance"))
            .collect();
        agents.sort_unstable();
        agents
    };
    let conversations = host.rows(&declared, "conversations").await;
    let expect = [declared.instance("sales"), declared.instance("rentals")];
    assert_eq!(agents(&conversations), expect);
    // The phone makes it one contact on both numbers.
    assert_eq!(host.rows(&declared, "contacts").await.len(), 1);
    let kept = host.with_status(DeliveryStatus::Converted).await;
    let kept = host.stored(kept[0]).await;
    let words: Vec<_> = kept.items.iter().map(|item| item.status.as_str()).collect();
    assert_eq!(words, ["converted", "converted", "unrouted"]);

    // An event of an unknown number is not stored as a message, and the provider must
    // not retry it.
    post(&host, &declared, "900", &[message("700999", "wamid.4")]).await;
    assert_eq!(host.with_status(DeliveryStatus::Unrouted).await.len(), 1);
}

async fn a_delivery_with_an_event_of_an_unknown_number_is_kept_when_its_person_is_erased(on: On) {
    let (host, declared) = numbers(on).await;
    let other = message("700999", "wamid.2").to_string();
    let other = other.replace("5521988887777", "5521988886666");
    let other = serde_json::from_str(&other).expect("JSON");
    let changes = [message("700200", "wamid.1"), other];
    post(&host, &declared, "900", &changes).await;
    let id = host.with_status(DeliveryStatus::Converted).await[0];
    let contact = host.rows(&declared, "contacts").await[0]["id"].clone();
    let admin = host.admin_key().await;
    let erase = async |order: Value| {
        let ask = host.admin("POST", "/admin/v1/contacts/erase");
        let answer = ask.bearer(&admin).json(&order).send().await;
        answer.expect(200).json()
    };
    let left = json!([{ "id": id, "status": "converted" }]);
    let would = erase(json!({ "id": contact, "dryRun": true })).await;
    let receipt = erase(json!({ "id": contact })).await;
    for record in [&would, &receipt] {
        assert_eq!(record["remaining"]["deliveries"], left, "{record}");
        assert_eq!(record["erased"]["contacts"], 1);
        assert_eq!(record["erased"]["sharedDeliveries"], 0);
    }
    assert!(!host.stored(id).await.request.body.is_empty());
    // Once the number belongs to an instance, the other contact's message is created.
    let late = "[[instances]]\nname = \"late\"\nadapter = \"whatsapp-cloud\"\n\
        config = { phoneNumberId = \"700999\", wabaId = \"900\" }\n\
        secrets = { access-token = \"made-up\" }\n";
    let more = host.declare(&format!("{NUMBERS}{late}")).await;
    let apply = ReplayOptions {
        apply: true,
        release: false,
        ..ReplayOptions::default()
    };
    let again = replay::one(&host.app.pipeline, id, apply).await;
    again.expect("it is replayed");
    host.becomes(id, DeliveryStatus::Converted).await;
    let conversations = host.rows(&declared, "conversations").await;
    let late = more.instance("late");
    let is_so = conversations.iter().any(|row| row["agent_id"] == late);
    assert!(is_so, "{conversations:?}");
}

async fn a_change_of_a_template_counts_for_every_number_of_the_account(on: On) {
    let (host, declared) = numbers(on).await;
    post(&host, &declared, "900", &[template_change()]).await;
    let kept = host.with_status(DeliveryStatus::Converted).await;
    let kept = host.stored(kept[0]).await;
    assert_eq!(kept.items.len(), 2, "{:?}", kept.items);
}

async fn events_at_an_unchecked_address_are_not_routed_to_a_number_with_a_sender_check(on: On) {
    let rentals = "config = { phoneNumberId = \"700200\", wabaId = \"900\" }\n";
    let plain = format!("{rentals}secrets = {{ access-token = \"made-up\" }}");
    let signed = format!(
        "{rentals}secrets = {{ access-token = \"made-up\", app-secret = \"{APP_SECRET}\" }}"
    );
    let (host, declared) = numbers_of(on, &NUMBERS.replace(&plain, &signed)).await;
    let changes = [
        message("700200", "wamid.1"),
        template_change(),
        message("700300", "wamid.2"),
    ];
    post(&host, &declared, "900", &changes).await;
    let kept = host.with_status(DeliveryStatus::Converted).await;
    let kept = host.stored(kept[0]).await;
    let items: Vec<_> = kept
        .items
        .iter()
        .map(|item| (item.status.as_str(), item.message.as_deref()))
        .collect();
    // `launches` needs no proof either, and `sales` has the account's change.
    let words: Vec<_> = items.iter().map(|(word, _)| *word).collect();
    assert_eq!(words, ["unrouted", "updated", "unrouted", "converted"]);
    for index in [0, 2] {
        has!(items[index].1.expect("why"), "has a sender check");
    }
    let conversations = host.rows(&declared, "conversations").await;
    assert_eq!(conversations.len(), 1);
    assert_eq!(conversations[0]["agent_id"], declared.instance("launches"));
}
