//! A host that dies in the middle of a send: the message is stored with an
//! unknown outcome and is never sent again.

use leadhost_tests::provider::{Callback, Misbehaviour, Taken};
use leadhost_tests::whatsapp::WhatsApp;
use leadhost_tests::{Hosts, Json, On, Service, guests, until};
use serde_json::json;

use super::fixture::{WA_ID, body, instance};

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    a_send_whose_host_is_killed_is_unknown_and_not_repeated,
}

/// A claim of a dead host expires after this time, which is short here.
const FLAGS: [&str; 2] = ["--set", "worker.lease_seconds=2"];

const WORKSPACE: &str = r#"
[workspace]
slug = "demo"
name = "Demo"

[[partners]]
name = "acme"
"#;

/// Waits until an exported message is in this state. The data API has a rate
/// limit, so the wait is slow on purpose.
async fn becomes(hosts: &Hosts, service: &Service, state: &str) {
    until(&format!("a message becomes {state}"), async || {
        let ask = hosts.client(service, "/v1/export/messages");
        let answer = ask.send().await;
        let page = (answer.status == 200).then(|| answer.json())?;
        let rows = page["data"].list();
        rows.iter()
            .any(|row| row["metadata"]["status"] == state)
            .then_some(())
    })
    .await;
}

async fn a_send_whose_host_is_killed_is_unknown_and_not_repeated(on: On) {
    let whatsapp = WhatsApp::start();
    let hosts = Hosts::on(on)
        .component(guests::rust_component("adapter-whatsapp-cloud"))
        .workspace(WORKSPACE)
        .workspace(&instance("front", &whatsapp))
        .flags(&FLAGS)
        .apply()
        .await;
    let mut service = hosts.start(0).await;

    whatsapp.next_sends(1, Misbehaviour::Hang(Taken::Yes));
    let request = json!({
        "name": "Ilda Prates",
        "phoneNumber": "(11) 98765-0101",
        "instanceId": hosts.instance("front"),
        "source": "site",
        "template": {
            "name": "boas_vindas",
            "language": {"code": "pt_BR"},
            "components": [body(&["Ilda", "Casa Verde"])],
        },
    });
    let key = hosts.partner_key();
    let ask = service.ask("gateway", "POST", "/send-notification");
    let ask = ask.json(&request).header("x-service-api-key", key);
    let asking = tokio::spawn(ask.clone().try_send());
    whatsapp.hangs(1).await;
    service.kill();
    assert!(asking.await.expect("no panic").is_none());
    whatsapp.release();

    let service = hosts.start(0).await;
    becomes(&hosts, &service, "unknown").await;
    // Other messages go out, so this one had time to go out too.
    let mut other = request.clone();
    other["phoneNumber"] = json!("(21) 99876-0202");
    let ask = service.ask("gateway", "POST", "/send-notification");
    let ask = ask.json(&other).header("x-service-api-key", key);
    ask.send().await.expect(200);
    assert_eq!(whatsapp.accepted_for(WA_ID), 1);

    let url = hosts.webhook(&service, "front");
    whatsapp.call_back(Callback::to(&url));
    whatsapp.status(&whatsapp.accepted()[0].id, "delivered");
    super::fixture::taken(&whatsapp.flush().await);
    becomes(&hosts, &service, "delivered").await;
    assert_eq!(whatsapp.accepted_for(WA_ID), 1);
    assert!(service.stop());
}
